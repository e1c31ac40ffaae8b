/* spacing.c - the tests of how often something costly may run */
#include "controllers/spacing.h"

#include "base/testing.h"

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
        spacing_ran(&p, (struct span){cases[i].began_us * 1000},
                    (struct span){cases[i].ended_us * 1000});
        check_int(
            spacing_left(&p, (struct span){cases[i].now_us * 1000}, cases[i].is_pressed).ns /
                1000,
            cases[i].want_us);
    }
}
