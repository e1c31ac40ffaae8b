/* time.c - moments, spans and ages as text */
#include "value/time.h"
#include "base/testing.h"

TEST(time_parse)
{
    static const struct {
        const char *name, *text, *want; /* want: with microseconds; "" is an error */
    } cases[] = {
        {"seconds",                "2024-02-29T12:30:45Z",           "2024-02-29T12:30:45.000000Z"},
        {"a fraction",             "2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00.123456Z"},
        {"an offset",              "2024-01-01T01:00:00+02:30",      "2023-12-31T22:30:00.000000Z"},
        {"before 1970",            "1969-12-31T23:59:59.5Z",         "1969-12-31T23:59:59.500000Z"},
        {"no leap day",            "2023-02-29T00:00:00Z",           ""                           },
        {"a century without one",  "1900-02-29T00:00:00Z",           ""                           },
        {"no zone",                "2024-01-01T00:00:00",            ""                           },
        {"hour 24",                "2024-01-01T24:00:00Z",           ""                           },
        {"a leap second",          "2016-12-31T23:59:60Z",           ""                           },
        {"rest behind it",         "2024-01-01T00:00:00Zz",          ""                           },
        {"a point without digits", "2024-01-01T00:00:00.Z",          ""                           },
        {"nothing",                "",                               ""                           },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct instant t = {0};
        struct err err = {0};
        test_case(cases[i].name);
        int rc = time_parse(str_from(cases[i].text), &t, &err);
        check_samez(rc < 0 ? S("") : time_text_micro(&a, t), cases[i].want);
    }
}

TEST(time_micro_wants_six_digits)
{
    struct instant t;

    check_int(time_parse_micro(S("2024-01-01T00:00:00.000001Z"), &t, NULL), 0);
    check_int(time_parse_micro(S("2024-01-01T00:00:00Z"), &t, NULL), -1);
    check_int(time_parse_micro(S("2024-01-01T00:00:00.1234567Z"), &t, NULL), -1);
}

TEST(time_ends)
{
    struct instant t = {5};

    check_int(time_parse(S("0001-01-01T00:00:00Z"), &t, NULL), 0);
    check(!instant_is_set(t));
    check_int(time_parse(S("9999-12-31T23:59:59Z"), &t, NULL), 0);
    check_int(t.ns, INT64_MAX);

    /* Found by fuzzing: its second begins before it. */
    scoped(arena_fini) struct arena a = {0};
    check_int(time_parse(S("0260-01-02T03:04:05.5+05:30"), &t, NULL), 0);
    check_int(t.ns, INT64_MIN);
    check_samez(time_text(&a, t), "1677-09-21T00:12:43Z");
    check_samez(time_text_micro(&a, t), "1677-09-21T00:12:43.145224Z");
    check_int(time_civil(t).nanosecond, 145224192);
}

TEST(time_civil)
{
    for (int64_t day = -106000; day < 106000; day += 13) {
        struct instant t = {day * 86400 * SECOND_NS};
        struct time_civil c = time_civil(t);
        check_int(time_days(c.year, c.month, c.day), day);
        check_int(c.yearday, day - time_days(c.year, 1, 1) + 1);
        if (c.day > time_month_days(c.year, c.month))
            check_int(c.day, 0);
    }
    check_int(time_civil((struct instant){0}).weekday, 4); /* a Thursday */
}

TEST(span_text)
{
    static const struct {
        const char *text, *want; /* "" is an error */
    } cases[] = {
        {"1h30m",                     "1h30m0s"                  },
        {"0",                         "0s"                       },
        {"1.5s",                      "1.5s"                     },
        {"300ms",                     "300ms"                    },
        {"-2m",                       "-2m0s"                    },
        {"1us",                       "1\xC2\xB5s"               },
        {"7ns",                       "7ns"                      },
        {"100h",                      "100h0m0s"                 },
        {".5s",                       "500ms"                    },
        {"1m1.25s",                   "1m1.25s"                  },
        {"5",                         ""                         },
        {"s",                         ""                         },
        {"1x",                        ""                         },
        {"",                          ""                         },
        {"1.s",                       "1s"                       },
        {"9999999h",                  ""                         },
        {"-2562047h47m16.854775808s", "-2562047h47m16.854775808s"},
        {"2562047h47m16.854775807s",  "2562047h47m16.854775807s" },
        {"2562047h47m16.854775808s",  ""                         },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct span d = {0};
        test_case(cases[i].text);
        int rc = span_parse(str_from(cases[i].text), &d, NULL);
        check_samez(rc < 0 ? S("") : span_text(&a, d), cases[i].want);
    }
}

TEST(age_text)
{
    static const struct {
        int64_t seconds;
        const char *want;
    } cases[] = {
        {0,            "0s"       },
        {-1,           "0s"       },
        {-2,           "<invalid>"},
        {119,          "119s"     },
        {120,          "2m"       },
        {599,          "9m59s"    },
        {3600,         "60m"      },
        {3 * 3600,     "3h"       },
        {8 * 3600,     "8h"       },
        {50 * 3600,    "2d2h"     },
        {9 * 86400,    "9d"       },
        {729 * 86400,  "729d"     },
        {731 * 86400,  "2y1d"     },
        {3000 * 86400, "8y"       },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].want);
        check_samez(age_text(&a, span_s(cases[i].seconds)), cases[i].want);
    }
    check_samez(age_since(&a, (struct instant){0}, (struct instant){5}), "<unknown>");
}

/* What it says is true: such a text is read, and written as it was. Each byte of a good one is
 * spoilt in turn. */
TEST(time_is_canonical)
{
    static const struct {
        const char *text;
        bool is_micro, want;
    } cases[] = {
        {"2030-01-02T03:04:05Z",        false, true },
        {"2000-02-28T23:59:59Z",        false, true },
        {"2199-12-30T00:00:00Z",        false, true },
        {"2030-01-02T03:04:05.123456Z", true,  true },
        {"2030-01-02T03:04:05.123456Z", false, false},
        {"2030-01-02T03:04:05Z",        true,  false},
        {"0001-01-01T00:00:00Z",        false, false},
        {"1970-01-01T00:00:00Z",        false, false},
        {"2262-12-01T00:00:00Z",        false, false},
        {"2030-02-30T00:00:00Z",        false, false},
        {"2030-13-01T00:00:00Z",        false, false},
        {"2030-01-00T00:00:00Z",        false, false},
        {"2030-01-01T24:00:00Z",        false, false},
        {"2030-01-01T00:60:00Z",        false, false},
        {"2030-01-01T00:00:60Z",        false, false},
        {"2030-01-02T03:04:05+00:00",   false, false},
        {"",                            false, false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct str text = str_from(cases[i].text);
        test_case(cases[i].text);
        check(time_is_canonical(text, cases[i].is_micro) == cases[i].want);
        for (size_t at = 0; at < text.len; at++)
            for (int c = 1; c < 256; c++) {
                char *spoilt = str_z(&a, text);
                struct instant t = {0};
                spoilt[at] = (char)c;
                struct str s = str_of(spoilt, text.len);
                if (!time_is_canonical(s, cases[i].is_micro))
                    continue;
                bool is_read =
                    (cases[i].is_micro ? time_parse_micro : time_parse)(s, &t, NULL) == 0;
                check(is_read && instant_is_set(t));
                check_same(cases[i].is_micro ? time_text_micro(&a, t) : time_text(&a, t), s);
                arena_reset(&a);
            }
    }
}
