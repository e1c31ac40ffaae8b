/* probe.c - what a row of answers adds up to
 *
 *     + fine, - not; after each answer: G good, b bad, ! a change that matters
 */
#include "node/probe.h"

#include "api/core_v1.h"
#include "base/testing.h"

TEST(probe_answers)
{
    static const struct {
        const char *name;
        enum probe_kind kind;
        int32_t success, failure;
        const char *answers, *want;
    } cases[] = {
        {"ready at the first good answer", PROBE_READINESS, 1, 3, "+",      "G!"     },
        {"not ready before",               PROBE_READINESS, 1, 3, "-",      "b"      },
        {"unready after three bad ones",   PROBE_READINESS, 1, 3, "+---",   "G!GGb!" },
        {"in a row",                       PROBE_READINESS, 1, 3, "+--+--", "G!GGGGG"},
        {"ready after two good ones",      PROBE_READINESS, 2, 1, "+-++",   "bbbG!"  },
        {"alive until three bad ones",     PROBE_LIVENESS,  1, 3, "+---",   "GGGb!"  },
        {"a bad start ends it",            PROBE_STARTUP,   1, 2, "--",     "bb!"    },
        {"a good one lets it go on",       PROBE_STARTUP,   1, 2, "-+",     "bG!"    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct probe p = {.success_threshold = cases[i].success,
                          .failure_threshold = cases[i].failure,
                          .period_seconds = 10};
        struct probe_state s = probe_begin(cases[i].kind, &p, (struct instant){SECOND_NS});
        struct instant now = {5 * SECOND_NS};
        scoped(arena_fini) struct arena a = arena_sized(512);
        struct buf got = buf_in(&a, 32);
        test_case(cases[i].name);
        for (const char *c = cases[i].answers; *c; c++) {
            bool matters = probe_take(&s, cases[i].kind, &p, *c == '+', now);
            buf_printf(&got, "%s%s", s.is_good ? "G" : "b", matters ? "!" : "");
        }
        check_samez(buf_str(&got), cases[i].want);
        check_int(s.next.ns, 15 * SECOND_NS);
    }
}

TEST(probe_begins_after_its_delay)
{
    struct probe p = {.initial_delay_seconds = 7};

    check_int(probe_begin(PROBE_LIVENESS, &p, (struct instant){SECOND_NS}).next.ns,
              8 * SECOND_NS);
    check(probe_begin(PROBE_LIVENESS, &p, (struct instant){0}).is_good);
    check(!probe_begin(PROBE_READINESS, &p, (struct instant){0}).is_good);
}
