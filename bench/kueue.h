/* kueue.h - the load shapes of Kueue's performance test: what they are, how fast they could
 * be, and a generator that plays them against a server
 *
 * A shape is cohorts of ClusterQueues of one size, and for each queue sets of like workloads
 * that arrive at an even pace, run for their time once admitted, and end.
 */
#pragma once

#include "base/base.h"

struct client;
struct io;

#define KUEUE_CLASSES 3

struct kueue_class {
    const char *name;
    int count; /* for each queue */
    int every_ms, runs_ms, priority, cpu;
};

struct kueue_shape {
    const char *name;
    int cohorts, queues; /* queues of each cohort */
    int nominal, borrow; /* cpu of each queue */
    struct kueue_class classes[KUEUE_CLASSES];
};

const struct kueue_shape *kueue_shape(struct str name); /* NULL: there is none */
size_t kueue_workloads(const struct kueue_shape *s);    /* in all */

/* From arrival to the last admission, in milliseconds, by class. */
struct kueue_waits {
    VEC(double) of[KUEUE_CLASSES];
};
void kueue_waits_fini(struct kueue_waits *w);
double kueue_mean(const struct kueue_waits *w, size_t class);
double kueue_median(const struct kueue_waits *w, size_t class);

/* What a scheduler that takes no time would reach: the same policy (preemption of lower
 * priority in the queue, reclaiming in the cohort from whoever borrows), all of it at once. The
 * wall time in milliseconds. */
double kueue_ideal(const struct kueue_shape *s, struct kueue_waits *waits, size_t *evictions);

/* ---- the generator ---- */

struct kueue_load;

/* Makes flavor, ClusterQueues and LocalQueues, then calls ready(ctx). Workloads arrive by
 * `submit`; the part of the jobs is played by `jobs`: in a cluster these are others, who do not
 * stand in one line for a connection. Both may be the same. */
struct kueue_load *kueue_load_new(struct io *io, struct client *submit, struct client *jobs,
                                  const struct kueue_shape *s, void (*ready)(void *ctx),
                                  void *ctx);
/* Workloads arrive from now on; end(ctx) once the last has finished. */
void kueue_load_go(struct kueue_load *l, void (*end)(void *ctx));
struct kueue_result {
    double wall_ms;
    size_t finished, evictions, conflicts, errors; /* of our own writes */
    size_t relists;                                /* times the watch fell behind */
    struct kueue_waits waits;                      /* the load's */
};
const struct kueue_result *kueue_load_result(struct kueue_load *l);
void kueue_load_free(struct kueue_load *l); /* accepts NULL */
