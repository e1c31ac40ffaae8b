/* probe.c - thresholds and periods of probes */
#include "node/probe.h"

#include "api/core_v1.h"

const char *probe_name(enum probe_kind kind)
{
    static const char *const names[] = {
        [PROBE_STARTUP] = "Startup",
        [PROBE_LIVENESS] = "Liveness",
        [PROBE_READINESS] = "Readiness",
    };

    return names[kind];
}

const struct probe *probe_of(const struct container *c, enum probe_kind kind)
{
    const struct probe *all[] = {
        [PROBE_STARTUP] = c->startup_probe,
        [PROBE_LIVENESS] = c->liveness_probe,
        [PROBE_READINESS] = c->readiness_probe,
    };

    return all[kind];
}

struct probe_state probe_begin(enum probe_kind kind, const struct probe *p,
                               struct instant started)
{
    return (struct probe_state){.is_good = kind == PROBE_LIVENESS,
                                .next = instant_add(started, span_s(p->initial_delay_seconds))};
}

bool probe_take(struct probe_state *s, enum probe_kind kind, const struct probe *p,
                bool is_fine, struct instant now)
{
    int32_t needed = is_fine ? p->success_threshold : p->failure_threshold;
    bool was_good = s->is_good;

    s->n_same = s->n_same && s->last_was_good == is_fine ? s->n_same + 1 : 1;
    s->last_was_good = is_fine;
    s->next = instant_add(now, span_s(MAX(p->period_seconds, 1)));
    if (s->n_same < MAX(needed, 1))
        return false;
    s->is_good = is_fine;
    return was_good != is_fine || (!is_fine && kind == PROBE_STARTUP);
}
