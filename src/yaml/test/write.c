/* write.c - the YAML we print is kubectl's, and reads back */
#include "base/testing.h"
#include "yaml/yaml.h"

static struct str written(struct arena *a, const struct json *v)
{
    struct buf b = buf_in(a, 256);

    yaml_write(&b, v);
    return buf_str(&b);
}

TEST(yaml_write)
{
    static const struct {
        const char *name, *json, *want;
    } cases[] = {
        {"keys are sorted, lists are not indented",
         "{\"spec\":{\"list\":[{\"b\":1,\"a\":[2]},[]]},\"kind\":\"Job\"}",                                    "kind: Job\nspec:\n  list:\n  - a:\n    - 2\n    b: 1\n  - []\n"  },
        {"empty ones",                              "{\"a\":{},\"b\":[],\"c\":\"\",\"d\":null}",
         "a: {}\nb: []\nc: \"\"\nd: null\n"                                                                                                                                      },
        {"quotes where it would be another type",   "[\"true\",\"1\",\"1e3\",\"~\",\"x\"]",
         "- \"true\"\n- \"1\"\n- \"1e3\"\n- \"~\"\n- x\n"                                                                                                                        },
        {"quotes around times",                     "[\"2026-01-02T03:04:05Z\",\"12:30\"]",
         "- \"2026-01-02T03:04:05Z\"\n- \"12:30\"\n"                                                                                                                             },
        {"quotes where plain has no form",          "[\"a: b\",\"- x\",\"#c\",\"*y\",\"a #b\"]",
         "- 'a: b'\n- '- x'\n- '#c'\n- '*y'\n- 'a #b'\n"                                                                                                                         },
        {"several lines",                           "{\"a\":\"x\\n y\\n\",\"b\":\"x\\ny\"}",
         "a: |\n  x\n   y\nb: |-\n  x\n  y\n"                                                                                                                                    },
        {"numbers",                                 "[1,-2.5,1e21,1e-7,9223372036854775808,1234567.5,0.0001]",
         "- 1\n- -2.5\n- 1e+21\n- 1e-07\n- 9.223372036854776e+18\n- 1.2345675e+06\n- 0.0001\n"                                                                                   },
        {"natural order",
         "{\"a10\":1,\"a9\":2,\"f:x\":3,\".\":4,\"a\":5,\"B\":6,\"k:{\\\"name\\\":\\\"c\\\"}\":"
         "7}",                                                                                                 ".: 4\nB: 6\na: 5\na9: 2\na10: 1\nf:x: 3\nk:{\"name\":\"c\"}: 7\n"},
        {"a text alone",                            "\"x\"",                                                   "x\n"                                                             },
        {"invalid UTF-8 is mended",                 "\"a\xFF\"",                                               "a\xEF\xBF\xBD\n"                                                 },
        {"a tab needs an escape",                   "\"a\\tb\"",                                               "\"a\\tb\"\n"                                                     },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *v = json_parse(&a, str_from(cases[i].json), NULL, NULL);
        test_case(cases[i].name);
        check_samez(written(&a, v), cases[i].want);
        check(json_eq(yaml_parse_one(&a, written(&a, v), NULL, NULL), v));
    }
}

TEST(yaml_write_long)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct buf b = buf_in(&a, 4096);

    for (int i = 0; i < 60; i++)
        buf_printf(&b, "word%d ", i);
    struct json v = json_of_str(str_trim(buf_str(&b)));
    struct str text = written(&a, &v);
    check(str_index(text, '\n') < 100); /* folded */
    check(json_eq(yaml_parse_one(&a, text, NULL, NULL), &v));
}
