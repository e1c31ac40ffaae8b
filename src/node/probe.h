/* probe.h - how often a container is asked, and what the answers add up to (pure)
 *
 *     startup ──passed──▶ readiness: is it ready now?
 *        │                liveness:  is it alive? ──no──▶ it is ended, and started again
 *        └──failed────────────────────────────────▲
 */
#pragma once

#include "base/base.h"

struct container;
struct probe;

enum probe_kind { PROBE_STARTUP, PROBE_LIVENESS, PROBE_READINESS, PROBE_KINDS };

struct probe_state {
    int32_t n_same; /* answers of one kind in a row */
    bool last_was_good;
    bool is_good;        /* by the thresholds; readiness and startup begin bad */
    struct instant next; /* when it is due; zero: not asked yet */
};

const char *probe_name(enum probe_kind kind); /* "Startup" ... */
/* NULL where the container has none. */
const struct probe *probe_of(const struct container *c, enum probe_kind kind);
/* As a run begins at `started`. */
struct probe_state probe_begin(enum probe_kind kind, const struct probe *p,
                               struct instant started);
/* An answer. True where is_good changed, or a bad one ends the run (startup, liveness). */
bool probe_take(struct probe_state *s, enum probe_kind kind, const struct probe *p,
                bool is_fine, struct instant now);
