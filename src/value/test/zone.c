/* zone.c - local time by a file of the time zone database, and by the rule at its end */
#include "value/zone.h"

#include "base/testing.h"
#include "value/time.h"

static void add_number(struct buf *b, int64_t v, int n)
{
    while (n--)
        buf_byte(b, (char)(v >> 8 * n));
}

static void add_header(struct buf *b, int n_times, int n_types, int n_chars)
{
    buf_add(b, S("TZif2"));
    for (int i = 0; i < 15; i++)
        buf_byte(b, 0);
    add_number(b, 0, 4);
    add_number(b, 0, 4);
    add_number(b, 0, 4);
    add_number(b, n_times, 4);
    add_number(b, n_types, 4);
    add_number(b, n_chars, 4);
}

/* 1 hour east until 2000, 2 hours east until 2001, then by the rule. */
static struct str file_of(struct arena *a, const char *rule)
{
    static const int64_t times[] = {946684800, 978307200};
    struct buf b = buf_in(a, 256);

    add_header(&b, 0, 0, 0);
    add_header(&b, 2, 2, 4);
    for (size_t i = 0; i < countof(times); i++)
        add_number(&b, times[i], 8);
    buf_byte(&b, 1);
    buf_byte(&b, 0);
    add_number(&b, 3600, 4);
    add_number(&b, 0, 2);
    add_number(&b, 7200, 4);
    add_number(&b, 1 << 8, 2);
    buf_add(&b, str_of("ABC", 4));
    buf_printf(&b, "\n%s\n", rule);
    return buf_str(&b);
}

static int64_t offset_at(const struct zone *z, const char *text)
{
    struct instant t = {0};

    time_parse(str_from(text), &t, NULL);
    return zone_at(z, t.ns / SECOND_NS);
}

TEST(zone_file)
{
    static const struct {
        const char *name, *rule, *at;
        int64_t want;
    } cases[] = {
        {"before the table",        "",                                     "1990-07-01T00:00:00Z", 3600  },
        {"a second before",         "",                                     "1999-12-31T23:59:59Z", 3600  },
        {"from the moment on",      "",                                     "2000-01-01T00:00:00Z", 7200  },
        {"behind, without a rule",  "",                                     "2030-07-01T00:00:00Z", 3600  },
        {"a rule of one offset",    "<-03>3",                               "2030-07-01T00:00:00Z", -10800},
        {"winter",                  "EST5EDT,M3.2.0,M11.1.0",               "2030-03-10T06:59:59Z", -18000},
        {"summer",                  "EST5EDT,M3.2.0,M11.1.0",               "2030-03-10T07:00:00Z", -14400},
        {"the end of summer",       "EST5EDT,M3.2.0,M11.1.0",               "2030-11-03T05:59:59Z", -14400},
        {"winter again",            "EST5EDT,M3.2.0,M11.1.0",               "2030-11-03T06:00:00Z", -18000},
        {"a last Sunday",           "CET-1CEST,M3.5.0,M10.5.0/3",           "2030-03-31T01:00:00Z", 7200  },
        {"before the last Sunday",  "CET-1CEST,M3.5.0,M10.5.0/3",           "2030-03-31T00:59:59Z", 3600  },
        {"summer in January",       "AEST-10AEDT,M10.1.0,M4.1.0/3",         "2030-01-15T00:00:00Z", 39600 },
        {"half an hour of summer",  "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
         "2030-01-15T00:00:00Z",                                                                    39600 },
        {"what is not understood",  "EST5EDT,J60,J300",                     "2030-07-01T00:00:00Z", 3600  },
        {"the table before a rule", "EST5EDT,M3.2.0,M11.1.0",               "2000-07-01T00:00:00Z", 7200  },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(1024);
        struct zone z = {0};
        test_case(cases[i].name);
        check(zone_parse(file_of(&a, cases[i].rule), &z, NULL) == 0);
        check_int(offset_at(&z, cases[i].at), cases[i].want);
    }
}

TEST(zone_refuses)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct str all = file_of(&a, "");
    struct zone z = {0};
    struct err err = {0};

    check_int(zone_at(&z, 0), 0);
    check(zone_load(&a, S("UTC"), &z, &err) == 0);
    check(zone_load(&a, S("../../etc/passwd"), &z, &err) < 0);
    check_err(&err, ERR_NOT_FOUND, "unknown time zone ../../etc/passwd");
    /* All but the rule at the end is needed. */
    for (size_t n = 0; n + 2 < all.len; n++)
        check(zone_parse(str_slice(all, 0, n), &z, NULL) < 0);
    check(zone_is_known(S("Europe/Rome")) && !zone_is_known(S("europe/rome")));
}
