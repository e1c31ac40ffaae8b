/* quantity.c - amounts: reading, writing, comparing, arithmetic */
#include "value/quantity.h"
#include "base/testing.h"

static struct quantity parse(struct arena *a, const char *text)
{
    struct quantity q = {0};
    struct err err = {0};

    if (!check_(quantity_parse(a, str_from(text), &q, &err) == 0, text, __FILE__, __LINE__))
        check_same(err_str(&err), S(""));
    return q;
}

TEST(quantity_parse)
{
    static const struct {
        const char *name, *text, *canonical;
        enum quantity_format format;
    } cases[] = {
        {"a whole number",                             "5",                              "5",                       QUANTITY_DECIMAL_SI      },
        {"milli of a cpu",                             "1500m",                          "1500m",                   QUANTITY_DECIMAL_SI      },
        {"a fraction becomes milli",                   "0.25",                           "250m",                    QUANTITY_DECIMAL_SI      },
        {"the largest suffix that loses nothing",      "12000k",                         "12M",                     QUANTITY_DECIMAL_SI      },
        {"binary",                                     "2048Ki",                         "2Mi",                     QUANTITY_BINARY_SI       },
        {"binary with a fraction",                     "1.5Gi",                          "1536Mi",                  QUANTITY_BINARY_SI       },
        {"binary that is not whole is shown in milli", "1.1Ki",                          "1126400m",                QUANTITY_BINARY_SI       },
        {"binary below 1024 has no suffix",            "1023",                           "1023",                    QUANTITY_DECIMAL_SI      },
        {"an exponent",                                "12e4",                           "120e3",                   QUANTITY_DECIMAL_EXPONENT},
        {"E alone is exa",                             "2E",                             "2E",                      QUANTITY_DECIMAL_SI      },
        {"below nano rounds away from zero",           "-3.5n",                          "-4n",                     QUANTITY_DECIMAL_SI      },
        {"a binary one is capped",                     "16Ei",                           "9223372036854775807",     QUANTITY_BINARY_SI       },
        {"a decimal one is not",                       "123456789012345678901234567890",
         "123456789012345678901234567890",                                                                          QUANTITY_DECIMAL_SI      },
        {"past E there is no letter",                  "12345678901234567890e12",        "12345678901234567890e12",
         QUANTITY_DECIMAL_EXPONENT                                                                                                           },
        {"thousands of E",                             "7000000E",                       "7e24",                    QUANTITY_DECIMAL_SI      },
        {"a sign alone is zero",                       "-",                              "0",                       QUANTITY_DECIMAL_SI      },
        {"leading zeros",                              "0007",                           "7",                       QUANTITY_DECIMAL_SI      },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct quantity q = parse(&a, cases[i].text);
        scoped(buf_fini) struct buf out = {0};
        quantity_write_canonical(&out, &q);
        check_samez(buf_str(&out), cases[i].canonical);
        check_int(q.format, cases[i].format);
    }
}

TEST(quantity_keeps_spelling)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"+5Gi",   "+5Gi"  },
        {"+8Gi",   "8Gi"   },
        {"2.500G", "2.500G"},
        {"2.5G",   "2500M" },
        {"1.",     "1."    },
        {"1000k",  "1M"    },
        {"0.001",  "1m"    },
        {"5.125T", "5.125T"},
        {"1E9",    "1E9"   },
        {"1.5Ki",  "1536"  },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].text);
        struct quantity q = parse(&a, cases[i].text);
        check_samez(quantity_text(&a, &q), cases[i].want);
    }
}

TEST(quantity_parse_errors)
{
    static const struct {
        const char *text, *want;
        enum err_code code;
    } cases[] = {
        {"",        "regular expression", ERR_SYNTAX},
        {"1 ",      "regular expression", ERR_SYNTAX},
        {"1.2.3",   "regular expression", ERR_SYNTAX},
        {"1Kg",     "regular expression", ERR_SYNTAX},
        {"1K",      "suffix",             ERR_SYNTAX},
        {"1ki",     "suffix",             ERR_SYNTAX},
        {"1e",      "suffix",             ERR_SYNTAX},
        {"1mi",     "suffix",             ERR_SYNTAX},
        {".e-20",   "numeric part",       ERR_SYNTAX},
        {"1e99999", "exponent",           ERR_LIMIT },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct quantity q = {.value = 42};

    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        test_case(cases[i].text);
        check_int(quantity_parse(&a, str_from(cases[i].text), &q, &err), -1);
        check_err(&err, cases[i].code, cases[i].want);
        check_int(q.value, 42);
    }
}

TEST(quantity_cmp)
{
    static const struct {
        const char *x, *y;
        int want;
    } cases[] = {
        {"1",      "1000m",                0 },
        {"1Ki",    "1k",                   1 },
        {"-1",     "1n",                   -1},
        {"1e30",   "1E",                   1 },
        {"1E",     "1e30",                 -1},
        {"0",      "0Gi",                  0 },
        {"9E",     "9000P",                0 },
        {"1.5Gi",  "1536Mi",               0 },
        {"-5m",    "-4m",                  -1},
        {"1e100",  "1e99",                 1 },
        {"-1e100", "1",                    -1},
        {"0.1Ki",  "102400m",              0 },
        {"1e4000", "10e3999",              0 },
        {"1E",     "1n",                   1 }, /* 27 powers apart */
        {"-1E",    "1n",                   -1},
        {"9E",     "8999999999999999999m", 1 }, /* past 64 bits in either's units */
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].x);
        struct quantity x = parse(&a, cases[i].x), y = parse(&a, cases[i].y);
        check_int(quantity_cmp(&x, &y), cases[i].want);
        check_int(quantity_cmp(&y, &x), -cases[i].want);
    }
}

/* However far the scales are from each other: the quick way and the slow one say the same. */
TEST(quantity_cmp_scales)
{
    static const int64_t values[] = {0, 1, -1, 7, INT64_C(1) << 40, INT64_MAX};

    for (int scale = -60; scale <= 60; scale++)
        for (size_t i = 0; i < countof(values); i++)
            for (size_t k = 0; k < countof(values); k++) {
                struct quantity x = {.value = values[i], .scale = scale},
                                y = {.value = values[k]};
                int want = quantity_cmp_slow(&x, &y);
                check_int(quantity_cmp(&x, &y), want);
                check_int(quantity_cmp(&y, &x), -want);
            }
}

TEST(quantity_arithmetic)
{
    static const struct {
        const char *x, *y, *sum, *difference;
    } cases[] = {
        {"1",                   "500m",  "1500m",                                       "500m"               },
        {"0",                   "1Gi",   "1Gi",                                         "-1Gi"               },
        {"1Gi",                 "1G",    "2073741824",                                  "73741824"           },
        {"9E",                  "9E",    "18E",                                         "0"                  },
        {"9223372036854775807", "1",     "9223372036854775808",                         "9223372036854775806"},
        {"1e30",                "1n",    "1000000000000000000000000000000000000001e-9",
         "999999999999999999999999999999999999999e-9"                                                        },
        {"0.1Ki",               "0.1Ki", "204800m",                                     "0"                  },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].sum);
        struct quantity x = parse(&a, cases[i].x), y = parse(&a, cases[i].y);
        struct quantity sum = quantity_add(&a, &x, &y), less = quantity_sub(&a, &x, &y);
        check_samez(quantity_text(&a, &sum), cases[i].sum);
        check_samez(quantity_text(&a, &less), cases[i].difference);
    }
}

TEST(quantity_units)
{
    static const struct {
        const char *text;
        int32_t scale;
        int64_t want, upstream;
    } cases[] = {
        {"1500m",                   QUANTITY_MILLI, 1500,          1500                },
        {"1500m",                   0,              2,             2                   },
        {"-1500m",                  0,              -2,            -2                  },
        {"2",                       QUANTITY_MILLI, 2000,          2000                },
        {"1n",                      QUANTITY_MILLI, 1,             1                   },
        {"-5.2Ki",                  0,              -5325,         -5323               }, /* upstream's answer for big forms below zero */
        {"5.2Ki",                   0,              5325,          5325                },
        {"9E",                      QUANTITY_MILLI, INT64_MAX,     0                   },
        {"-9E",                     QUANTITY_MILLI, INT64_MIN,     0                   },
        {"1e30",                    18,             1000000000000, 1000000000000       },
        {"12k",                     6,              1,             1                   },
        {"9Ti",                     -6,             INT64_MAX,     -8551139423725551616},
        {"-493102609439925.012e-9", 14,             -1,            0                   },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].text);
        struct quantity q = parse(&a, cases[i].text);
        check_int(quantity_units(&q, cases[i].scale), cases[i].want);
        check_int(quantity_scaled_value(&q, cases[i].scale), cases[i].upstream);
    }
}

TEST(quantity_integer)
{
    static const struct {
        const char *text;
        bool is_integer;
    } cases[] = {
        {"1",       true },
        {"1.0",     false},
        {"1500m",   false},
        {"1.5Gi",   false},
        {"1Pi",     false},
        {"12E",     false},
        {"1.5k",    true },
        {"50.703k", true },
        {"1e3",     true },
        {"10Ti",    true },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        int64_t v;
        struct quantity q = parse(&a, cases[i].text);
        test_case(cases[i].text);
        check_int(quantity_integer(&q, &v), cases[i].is_integer);
    }
}

/* What random texts must hold: a canonical text reads back to the same value and the same
 * text, and sums undo. */
TEST(quantity_laws)
{
    static const char *const suffixes[] = {"",   "n",   "u",  "m",  "k",  "M",  "G",
                                           "T",  "P",   "E",  "Ki", "Mi", "Gi", "Ti",
                                           "e2", "e-4", "e7", "Pi", "Ei", "e20"};
    uint64_t seed = 12345;

    for (int i = 0; i < 20000; i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct quantity q[2], back, sum;
        for (int k = 0; k < 2; k++) {
            char text[80];
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int64_t v = (int64_t)seed >> (seed >> 33) % 63;
            int dot = (int)((seed >> 20) % 3);
            const char *suffix = suffixes[(seed >> 25) % countof(suffixes)];
            if (dot)
                snprintf(text, sizeof(text), "%" PRId64 ".%0*d%s", v, dot * 2,
                         (int)(seed >> 40) % 99, suffix);
            else
                snprintf(text, sizeof(text), "%" PRId64 "%s", v, suffix);
            q[k] = parse(&a, str_z(&a, str_from(text)));
        }
        scoped(buf_fini) struct buf first = {0}, second = {0};
        quantity_write_canonical(&first, &q[0]);
        struct err err = {0};
        if (quantity_parse(&a, buf_str(&first), &back, &err) < 0)
            check_same(buf_str(&first), S("a text that reads back"));
        quantity_write_canonical(&second, &back);
        if (q[0].format == QUANTITY_BINARY_SI || q[0].scale <= 18) /* e24 changes the format */
            check_same(buf_str(&second), buf_str(&first));
        check_int(quantity_cmp(&back, &q[0]), 0);
        sum = quantity_add(&a, &q[0], &q[1]);
        back = quantity_sub(&a, &sum, &q[1]);
        check_int(quantity_cmp(&back, &q[0]), 0);
        check_int(quantity_cmp(&sum, &q[0]), quantity_sign(&q[1]));
    }
}

/* A sign of plus changes nothing but which reader a number takes: both must agree, and so must
 * what they leave of a spelling. */
TEST(quantity_readers_agree)
{
    static const char *const suffixes[] = {"",   "n",  "u",  "m",  "k",  "M",  "G",  "T", "P",
                                           "E",  "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "i", "ki",
                                           "mi", "K",  "kk", "é",  "m ", "e1", "Mj"};
    static const char *const digits[] = {"1",
                                         "7",
                                         "8",
                                         "10",
                                         "99",
                                         "1000",
                                         "1001",
                                         "16",
                                         "24",
                                         "512",
                                         "1024",
                                         "65536",
                                         "123456",
                                         "99999999999999",
                                         "100000000000000",
                                         "5000"};

    for (size_t i = 0; i < countof(digits) * countof(suffixes); i++) {
        scoped(arena_fini) struct arena a = arena_sized(1024);
        const char *suffix = suffixes[i % countof(suffixes)];
        struct str slow = str_printf(&a, "+%s%s", digits[i / countof(suffixes)], suffix);
        struct quantity x = {0}, y = {0};
        struct err err = {0};
        test_case(slow.at);
        int fast_rc = quantity_parse(&a, str_slice(slow, 1, slow.len), &x, &err);
        check_int(fast_rc, quantity_parse(&a, slow, &y, &err));
        check_int(x.is_big, y.is_big);
        check_int(x.format, y.format);
        check_int(x.scale, y.scale);
        check_int(x.text_len, y.text_len ? y.text_len - 1 : 0);
        check_int(quantity_cmp(&x, &y), 0);
        if (!quantity_is_canonical(str_slice(slow, 1, slow.len)))
            continue;
        scoped(buf_fini) struct buf canonical = {0};
        check_int(fast_rc, 0);
        quantity_write_canonical(&canonical, &x);
        check_same(buf_str(&canonical), str_slice(slow, 1, slow.len));
    }
}

TEST(quantity_is_canonical)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"1",       true },
        {"500m",    true },
        {"200Mi",   true },
        {"1536Ki",  true },
        {"999999T", true },
        {"1000",    false}, /* 1k */
        {"1024Mi",  false}, /* 1Gi */
        {"0",       false},
        {"01",      false},
        {"",        false},
        {"m",       false},
        {"1i",      false},
        {"1234567", false}, /* it is, but long */
        {"1e3",     false},
        {"+1",      false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].text);
        check_int(quantity_is_canonical(str_from(cases[i].text)), cases[i].want);
    }
}

TEST(quantity_of_binary)
{
    static const struct {
        int64_t value;
        const char *want;
    } cases[] = {
        {INT64_C(1) << 60,    "1Ei"                },
        {-(INT64_C(1) << 50), "-1Pi"               },
        {INT64_MAX,           "9223372036854775807"},
        {1023,                "1023"               },
        {1024,                "1Ki"                },
        {-1536 * 1024,        "-1536Ki"            },
        {0,                   "0"                  },
    };
    scoped(arena_fini) struct arena a = arena_sized(1024);

    for (size_t i = 0; i < countof(cases); i++) {
        struct quantity q = quantity_of(cases[i].value, 0, QUANTITY_BINARY_SI);
        test_case(cases[i].want);
        check_samez(quantity_text(&a, &q), cases[i].want);
    }
}
