/* set.c - values, each once */
#include "base/testing.h"
#include "json/json.h"

TEST(json_set)
{
    static const struct {
        const char *name, *list, *repeated; /* indexes of what was there before */
    } cases[] = {
        {"nothing",                                   "[]",                                      ""        },
        {"a number and its text",                     "[1,\"1\"]",                               ""        },
        {"one number, written twice",                 "[1,1.0,10e-1]",                           "1 2 "    },
        {"fractions",                                 "[0.5,0.25,5e-1]",                         "2 "      },
        {"null, false and the empty ones",            "[null,false,0,\"\",[],{},null,{},[]]",    "6 7 8 "  },
        {"members in another order",                  "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1.0}]", "1 "      },
        {"items in another order",                    "[[1,2],[2,1]]",                           ""        },
        {"numbers past what is looked at one by one",
         "[1,2,3,4,5,6,7,8,9,9.0,10.5,0.105e2,-0.0,0]",                                          "9 11 13 "},
        {"members in another order past it",
         "[1,2,3,4,5,6,7,8,9,{\"a\":1,\"b\":2},{\"b\":2,\"a\":1},{\"a\":2,\"b\":1}]",            "10 "     },
        {"past what is looked at one by one",         "[1,2,3,4,5,6,7,8,9,1,8,9,10,[9],9]",
         "9 10 11 14 "                                                                                     },
    };
    scoped(arena_fini) struct arena a = arena_sized(16384);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        const struct json *list = json_parse(&a, str_from(cases[i].list), NULL, NULL);
        struct json_set s = {.arena = &a};
        struct buf b = buf_in(&a, 64);
        json_each (k, list) {
            if (json_set_put(&s, json_at(list, k)))
                buf_printf(&b, "%zu ", k);
            check(json_set_has(&s, json_at(list, k)));
        }
        check_same(buf_str(&b), str_from(cases[i].repeated));
    }
}

/* A table that is no table would need minutes. */
TEST(json_set_of_many)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct json_set s = {.arena = &a};
    size_t n_repeated = 0;

    for (int64_t i = 0; i < 1000000; i++)
        n_repeated += json_set_put(&s, json_new(&a, json_of_i64(i % 750000)));
    check_int(n_repeated, 250000);
    check(!json_set_has(&s, NULL));
    check(!json_set_put(&s, NULL));
    check(json_set_put(&s, NULL));
}
