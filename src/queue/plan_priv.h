/* plan_priv.h - a running cycle, and what is told of it */
#pragma once

#include "queue/engine_priv.h"

struct cycle_charge {
    struct queue_cq *cq;
    struct quota_amount amount;
    bool starts; /* uses it from now on, not later */
};

/* Those preempted so far in one tree, and what they use, queue by queue. */
struct cycle_sum {
    struct queue_cq *cq;
    struct quota_amount amount;
};
struct cycle_taken {
    const struct quota_node *root;
    VEC(struct queue_wl *) workloads;
    VEC(struct cycle_sum) sums;
};

struct cycle {
    struct queue_engine *e;
    struct arena *a;       /* of the plan */
    struct arena *scratch; /* of the cycle */
    struct instant now;
    entry_list heads;                 /* all that were taken */
    entry_list entries;               /* those that got an assignment */
    entry_list done;                  /* in the order in which they were processed */
    VEC(struct queue_wl *) taken;     /* preempted so far */
    VEC(struct cycle_taken) taken_in; /* the same by tree */
    VEC(struct cycle_charge) charges; /* what the log holds, in order */
    bool is_unsafe;                   /* one of them is negative */
    uint32_t n_admitted;
    struct { /* the last search of the running assignment: often asked for again */
        bool is_set;
        struct quota_amount request;
        victim_list victims;
    } found;
};

/* Victims by the configured algorithm. */
void cycle_victims(const struct preempt_input *in, victim_list *out);
/* The judgement of one workload (or a changed shape of it) in one ClusterQueue, on the tree as
 * it is; *starts: at once or once the victims are gone. */
const struct assignment *cycle_judge(struct cycle *c, struct queue_cq *cq, struct queue_wl *wl,
                                     const struct queue_shape *shape, victim_list *victims,
                                     bool *starts);
/* Is remembered scan progress of no use any more? */
bool progress_outdated(const struct queue_engine *e, const struct wl_progress *p,
                       uint64_t class, int64_t generation);
/* How much of `usage` a blocked preemptor may keep free for itself. */
int64_t reserve_amount(const struct queue_cq *cq, quota_fr fr, int64_t usage, bool borrows);

/* Partial admission: by how many pods a shape can shrink; its counts after `step` of `total`
 * steps; the smallest step in [0, total] that is accepted, or -1. */
int64_t reducer_total(const struct queue_shape *shape);
void reducer_counts(const struct queue_shape *shape, int64_t step, int64_t total,
                    uint32_t *counts);
typedef bool reducer_fn(void *ctx, int64_t step);
int64_t reducer_search(int64_t total, reducer_fn *accepts, void *ctx);

/* ---- plan.c ---- */

/* The checks of the ClusterQueue that apply to the assigned flavors. */
void entry_checks(struct cycle *c, struct entry *x);
/* The assignment as usage and admission in the extra. */
void entry_admission(struct cycle *c, struct entry *x, struct wl_extra *extra);
struct queue_plan plan_make(struct cycle *c);
/* The reason that is told: without the gate UnadmittedWorkloadsObservability a coarse one. */
enum queue_reason reason_shown(const struct queue_engine *e, enum queue_outcome outcome,
                               enum queue_reason reason);
