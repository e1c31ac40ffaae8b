/* controllers.h - all controllers, by name
 *
 * Each controller is one file with a row in the table of controllers.c: it takes its caches
 * from control/ and acts through client/. What it owns between runs hangs on its `state`.
 */
#pragma once

#include "json/json.h"

struct control;
struct controllers;

struct controllers_config {
    /* Upstream's names, comma-separated: "*" all, "-job-controller" all but; "" is "*". */
    struct str names;
    struct span job_backoff_first, job_backoff_most; /* 0: 10 s and 10 min */
    const struct json *queueing; /* Kueue's Configuration (kueue_config.h); NULL: none */
};

/* NULL: ERR_INVALID for a name nobody has, with the names there are, or for what is wrong in
 * `queueing`. `c` must outlive it. */
struct controllers *controllers_start(struct control *c,
                                      const struct controllers_config *config, struct err *err);
/* After control_free(). Accepts NULL. */
void controllers_free(struct controllers *cs);

/* How the controllers that are on do, in Prometheus' text. */
void controllers_metrics(struct controllers *cs, struct buf *out);

/* Why a Workload waits (why.h). False: nobody knows it, or the queues are off. */
bool controllers_why(struct controllers *cs, struct arena *a, struct str ns, struct str name,
                     struct json *out);

/* The tree of quotas (quota.h) in which the LocalQueue, or with `ns` "" the ClusterQueue or
 * Cohort, of that name stands. False: there is none, or the queues are off. */
bool controllers_quota(struct controllers *cs, struct arena *a, struct str ns, struct str name,
                       struct json *out);

/* The rows, for help and discovery. */
struct controller_row {
    const char *name;
    const char *help;
    void *(*start)(struct control *c); /* its state */
    void (*free)(void *state);
    void (*metrics)(void *state, struct buf *out); /* NULL where it counts nothing */
};
extern const struct controller_row controller_rows[];
extern const size_t controller_n_rows;
