/* cron.c - the next time of a schedule, also where clocks change */
#include "api/cron.h"

#include "base/testing.h"
#include "value/time.h"

/* A zone of this rule alone. */
static struct zone zone_of(const char *rule)
{
    static const char types[6];

    return (struct zone){.n_types = 1, .types = types, .rule = str_from(rule)};
}

TEST(cron_next_time)
{
    const char *new_york = "EST5EDT,M3.2.0,M11.1.0",
               *no_midnight = "<-03>3<-02>,M10.3.0/0,M2.3.0/0";
    const struct {
        const char *schedule, *rule, *after, *want;
    } cases[] = {
        {"*/15 * * * *",  "UTC0",      "2030-01-01T00:00:00Z",   "2030-01-01T00:15:00Z"},
        {"*/15 * * * *",  "UTC0",      "2030-01-01T00:14:59Z",   "2030-01-01T00:15:00Z"},
        {"0 0 29 2 *",    "UTC0",      "2030-01-01T00:00:00Z",   "2032-02-29T00:00:00Z"},
        {"0 0 30 2 *",    "UTC0",      "2030-01-01T00:00:00Z",   "never"               },
        {", * * * *",     "UTC0",      "2030-01-01T00:00:00Z",   "never"               },
        {"59 23 31 12 *", "UTC0",      "2030-12-31T23:59:00Z",   "2031-12-31T23:59:00Z"},
        {"0 0 1 * 1",     "UTC0",      "2030-01-01T00:00:00Z",   "2030-01-07T00:00:00Z"},
        {"0 0 * * 1",     "UTC0",      "2030-01-01T00:00:00Z",   "2030-01-07T00:00:00Z"},
        {"0 9 * * *",     "JST-9",     "2030-01-01T00:00:00Z",   "2030-01-02T00:00:00Z"},
        {"@every 90s",    "UTC0",      "2030-01-01T00:00:00.5Z", "2030-01-01T00:01:30Z"},
        {"@hourly",       "IST-5:30",  "2030-01-01T00:00:00Z",   "2030-01-01T00:30:00Z"},
 /* 2:30 is not there on March 10th, 1:30 comes twice on November 3rd */
        {"30 2 * * *",    new_york,    "2030-03-10T05:00:00Z",   "2030-03-11T06:30:00Z"},
        {"30 1 * * *",    new_york,    "2030-11-03T04:00:00Z",   "2030-11-03T05:30:00Z"},
        {"30 1 * * *",    new_york,    "2030-11-03T05:30:00Z",   "2030-11-03T06:30:00Z"},
        {"30 1 * * *",    new_york,    "2030-11-03T06:30:00Z",   "2030-11-04T06:30:00Z"},
 /* the 20th of October begins at 1:00 */
        {"0 * 20 * *",    no_midnight, "2030-10-19T12:00:00Z",   "2030-10-20T03:00:00Z"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(1024);
        struct zone zone = zone_of(cases[i].rule);
        struct cron_schedule s = {0};
        struct instant t = {0};
        test_case(cases[i].schedule);
        check(cron_parse(str_from(cases[i].schedule), &s, NULL) == 0);
        time_parse(str_from(cases[i].after), &t, NULL);
        t = cron_next(&s, &zone, t);
        check_samez(instant_is_set(t) ? time_text(&a, t) : S("never"), cases[i].want);
    }
}

/* A byte 0 ends no text of ours. */
TEST(cron_with_a_null_byte)
{
    struct cron_schedule s = {0};
    struct err err = {0};

    check(cron_parse(str_of("* * * * \0", 9), &s, &err) < 0);
    check(cron_parse(str_of("\0\0\0\0", 4), &s, &err) < 0);
    check(cron_parse(str_of("*\v* *\f* \r*", 10), &s, NULL) == 0);
}
