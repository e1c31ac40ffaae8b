/* spacing.c - the tests of how often something costly may run */
#include "controllers/spacing.h"

#include "base/testing.h"

/* A moment so long after a second of uptime. */
static struct span us(int64_t after)
{
    return (struct span){span_s(1).ns + after * 1000};
}

TEST(spacing)
{
    static const struct {
        const char *name;
        int64_t began_us, ended_us, now_us;
        bool is_pressed;
        int64_t want_us;
    } cases[] = {
        {"it never ran",                  0,    0,      500,    true,  0     },
        {"it just ran",                   1000, 3000,   3000,   true,  18000 },
        {"a while ago",                   1000, 3000,   20000,  true,  1000  },
        {"long ago",                      1000, 3000,   30000,  true,  0     },
        {"nobody else waits",             1000, 3000,   3000,   false, 0     },
        {"it took no time",               1000, 1000,   1000,   true,  0     },
        {"a long one is waited for less", 0,    900000, 900000, true,  200000},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct spacing p = {0};
        test_case(cases[i].name);
        spacing_ran(&p, us(cases[i].began_us), us(cases[i].ended_us));
        check_int(spacing_left(&p, us(cases[i].now_us), cases[i].is_pressed).ns / 1000,
                  cases[i].want_us);
    }
}

TEST(steady_changes)
{
    struct spacing p = {0};
    int64_t at = 0, first_us = 0;
    int n = 0;

    test_case("a burst runs at once");
    for (; !spacing_left(&p, us(at), false).ns; n++)
        spacing_ran(&p, us(at), us(at));
    check_int(n, SPACING_BURST);
    test_case("then now and then");
    for (n = 0; at < 100000; at += 1000) {
        if (spacing_left(&p, us(at), false).ns)
            continue;
        first_us = first_us ? first_us : at;
        spacing_ran(&p, us(at), us(at));
        n++;
    }
    check_int(first_us, SPACING_EVERY.ns / 1000);
    check_int(n, span_ms(100).ns / SPACING_EVERY.ns - 1);
    test_case("after a rest there is room for the next burst");
    at += 50000;
    for (n = 0; !spacing_left(&p, us(at), false).ns; n++)
        spacing_ran(&p, us(at), us(at));
    check_int(n, SPACING_BURST);
}
