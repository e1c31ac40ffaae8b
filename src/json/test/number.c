/* number.c - numbers keep their value */
#include "base/testing.h"
#include "json/json.h"

static struct str again(struct arena *a, const char *text)
{
    struct err err = {0};
    const struct json *v = json_parse(a, str_from(text), NULL, &err);

    return v ? json_text(a, v) : S("refused");
}

TEST(json_numbers)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"0",                                                                  "0"                      },
        {"-0",                                                                 "0"                      },
        {"-0.0",                                                               "-0"                     },
        {"9223372036854775807",                                                "9223372036854775807"    },
        {"-9223372036854775808",                                               "-9223372036854775808"   },
        {"9223372036854775808",                                                "9223372036854776000"    },
        {"18446744073709551616",                                               "18446744073709552000"   },
        {"1.0",                                                                "1"                      },
        {"1E3",                                                                "1000"                   },
        {"0.1",                                                                "0.1"                    },
        {"0.30000000000000004",                                                "0.30000000000000004"    },
        {"1.5e-7",                                                             "1.5e-7"                 },
        {"0.000001",                                                           "0.000001"               },
        {"0.00000123",                                                         "0.00000123"             },
        {"1e20",                                                               "100000000000000000000"  },
        {"1e21",                                                               "1e+21"                  },
        {"123456789.125",                                                      "123456789.125"          },
        {"5e-324",                                                             "5e-324"                 },
        {"2.5e-310",                                                           "2.5e-310"               },
        {"1e-400",                                                             "0"                      },
        {"1.7976931348623157e308",                                             "1.7976931348623157e+308"},
        {"1e309",                                                              "refused"                },
        {"9007199254740993.0",                                                 "9007199254740992"       },
        {"0.1000000000000000055511151231257827021181583404541015625000000000", "0.1"                    },
        {"01",                                                                 "refused"                },
        {"-",                                                                  "refused"                },
        {"+1",                                                                 "refused"                },
        {".5",                                                                 "refused"                },
        {"1.",                                                                 "refused"                },
        {"1e",                                                                 "refused"                },
        {"1e+",                                                                "refused"                },
        {"0x10",                                                               "refused"                },
        {"NaN",                                                                "refused"                },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].text);
        check_samez(again(&a, cases[i].text), cases[i].want);
    }
}

/* Random bits: what is written reads back to the same double. */
TEST(json_doubles_read_back)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    uint64_t x = 88172645463325252u;

    for (int i = 0; i < 20000; i++) {
        double d;
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        memcpy(&d, &x, sizeof(d));
        if (d != d || d > 1.7e308 || d < -1.7e308)
            continue;
        struct json v = json_of_f64(d);
        struct str text = json_text(&a, &v);
        const struct json *back = json_parse(&a, text, NULL, NULL);
        if (!check(back && json_f64(back, 0) == d))
            return;
        arena_reset(&a);
    }
}

TEST(json_write_f64)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct buf b = buf_in(&a, 64);

    json_write_f64(&b, __builtin_nan(""));
    buf_byte(&b, ' ');
    json_write_f64(&b, -__builtin_inf());
    check_samez(buf_str(&b), "null null");
}
