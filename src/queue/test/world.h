/* world.h - a random world of queues, and a slow, obvious model of its quota
 *
 * The model knows the specs and who runs where, and computes everything anew from the text of
 * the rules; nothing of the engine is in it.
 */
#pragma once

#include "base/testing.h"
#include "queue/queue.h"

#define NOW ((struct instant){1767225600 * SECOND_NS})
#define MAX_CQS 6
#define MAX_COHORTS 3
#define MAX_JOBS 24
#define FLAVORS 2
#define RESOURCES 2
#define FRS (FLAVORS * RESOURCES)
#define NO_NODE (-1)

static const struct str world_resources[RESOURCES] = {S_INIT("cpu"), S_INIT("gpu")};
static const struct str world_flavors[FLAVORS] = {S_INIT("f0"), S_INIT("f1")};

struct podset {
    int32_t pods, least; /* least: 0 where all must start */
    int64_t each[RESOURCES];
    /* while it runs */
    int32_t given;
    int flavor;
};

struct job {
    char name[16];
    int cq;
    struct podset podsets[2];
    int n_podsets;
    int64_t priority, created;
    bool is_gone, runs, is_evicted;
    int lingers;         /* cycles for which it still runs after its eviction */
    uint64_t skipped_at; /* engine_changes() when it last lost its room to others */
};

/* Nodes are numbered: cohorts, then ClusterQueues. */
struct world {
    struct arena a;
    uint64_t seed;
    int n_cqs, n_cohorts, n_jobs;
    struct queue_cq_spec cqs[MAX_CQS];
    struct queue_cohort_spec cohorts[MAX_COHORTS];
    struct job jobs[MAX_JOBS];
    int parents[MAX_COHORTS + MAX_CQS]; /* NO_NODE: none */
};

/* ---- chance ---- */

static inline uint64_t world_next(struct world *w)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return w->seed;
}

static inline int64_t below(struct world *w, int64_t n)
{
    return (int64_t)(world_next(w) % (uint64_t)n);
}

static inline bool one_in(struct world *w, int64_t n)
{
    return below(w, n) == 0;
}

/* ---- the model ---- */

static inline int node_of_cq(const struct world *w, int cq)
{
    return w->n_cohorts + cq;
}

static inline int parent_of(const struct world *w, int node)
{
    return w->parents[node];
}

static inline int world_cohort(const struct world *w, struct str name)
{
    for (int i = 0; i < w->n_cohorts; i++)
        if (name.len && str_eq(w->cohorts[i].name, name))
            return i;
    return NO_NODE;
}

/* To be called once all is built. */
static inline void world_link(struct world *w)
{
    for (int i = 0; i < w->n_cohorts; i++)
        w->parents[i] = world_cohort(w, w->cohorts[i].parent);
    for (int i = 0; i < w->n_cqs; i++)
        w->parents[node_of_cq(w, i)] = world_cohort(w, w->cqs[i].cohort);
}

/* The node's quota of a flavor and resource; all zero where it names none. */
static inline struct queue_quota_spec quota_of(const struct world *w, int node, int fr)
{
    bool is_cohort = node < w->n_cohorts;
    const struct queue_group_spec *g =
        is_cohort ? w->cohorts[node].groups : w->cqs[node - w->n_cohorts].groups;
    size_t n = is_cohort ? w->cohorts[node].n_groups : 1;

    if (!n || (size_t)(fr / RESOURCES) >= g->n_flavors)
        return (struct queue_quota_spec){0};
    return g->flavors[fr / RESOURCES].quotas[fr % RESOURCES];
}

static inline int64_t model_local(const struct world *w, int node, int fr);

static inline int64_t model_subtree(const struct world *w, int node, int fr)
{
    int64_t sum = quota_of(w, node, fr).nominal;

    for (int i = 0; i < w->n_cohorts + w->n_cqs; i++)
        if (parent_of(w, i) == node)
            sum += model_subtree(w, i, fr) - model_local(w, i, fr);
    return sum;
}

static inline int64_t model_local(const struct world *w, int node, int fr)
{
    struct queue_quota_spec q = quota_of(w, node, fr);
    return q.has_lend ? MAX((int64_t)0, model_subtree(w, node, fr) - q.lend) : 0;
}

static inline int64_t job_usage(const struct job *j, int fr)
{
    int64_t sum = 0;

    for (int i = 0; i < j->n_podsets; i++)
        if (j->podsets[i].flavor == fr / RESOURCES)
            sum += j->podsets[i].given * j->podsets[i].each[fr % RESOURCES];
    return sum;
}

static inline int64_t model_usage(const struct world *w, int node, int fr)
{
    int64_t sum = 0;

    for (int i = 0; node >= w->n_cohorts && i < w->n_jobs; i++)
        if (w->jobs[i].runs && node_of_cq(w, w->jobs[i].cq) == node)
            sum += job_usage(&w->jobs[i], fr);
    for (int i = 0; node < w->n_cohorts && i < w->n_cohorts + w->n_cqs; i++)
        if (parent_of(w, i) == node)
            sum += MAX((int64_t)0, model_usage(w, i, fr) - model_local(w, i, fr));
    return sum;
}

static inline int64_t model_available(const struct world *w, int node, int fr)
{
    struct queue_quota_spec q = quota_of(w, node, fr);
    int64_t subtree = model_subtree(w, node, fr), usage = model_usage(w, node, fr);
    int64_t local = model_local(w, node, fr);
    int parent = parent_of(w, node);

    if (parent == NO_NODE)
        return subtree - usage;
    int64_t above = model_available(w, parent, fr);
    if (q.has_borrow)
        above = MIN(above, subtree - local - MAX((int64_t)0, usage - local) + q.borrow);
    return MAX((int64_t)0, local - usage) + above;
}

/* Room for what the job's podsets say, beside all that run. */
static inline bool model_fits(const struct world *w, const struct job *j)
{
    for (int fr = 0; fr < FRS; fr++) {
        int64_t v = job_usage(j, fr);
        if (v && v > MAX((int64_t)0, model_available(w, node_of_cq(w, j->cq), fr)))
            return false;
    }
    return true;
}

static inline bool model_over(const struct world *w, int node, int fr)
{
    return model_usage(w, node, fr) > model_subtree(w, node, fr);
}

/* May its priority and time let the one take the other's place? */
static inline bool model_policy(const struct world *w, const struct job *by,
                                const struct job *victim)
{
    const struct queue_cq_spec *q = &w->cqs[by->cq];

    switch (by->cq == victim->cq ? q->within : q->reclaim) {
    case POLICY_ANY:
        return true;
    case POLICY_LOWER:
        return by->priority > victim->priority;
    case POLICY_LOWER_OR_NEWER:
        return by->priority > victim->priority ||
               (by->priority == victim->priority && by->created < victim->created);
    case POLICY_UNSET:
    case POLICY_NEVER:
        break;
    }
    return false;
}
