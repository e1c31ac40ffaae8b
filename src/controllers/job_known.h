/* job_known.h - what is remembered of a Job between two looks
 *
 * One record a pod that still matters, kept in one array and made anew only for pods that
 * changed: a look at a Job with ten thousand pods reads one of them. A pod that has ended and
 * was counted leaves the array. All of it can be made again from the caches at any time.
 */
#pragma once

#include "base/base.h"
#include "controllers/job_decide.h"
#include "value/selector.h"

struct cache;
struct cache_index;
struct object;

/* Where a record's texts are, and of which version of the pod it is. */
struct job_source {
    char *texts; /* owned: uid, name, failure */
    uint64_t revision;
};

/* A pod to read anew: not the version that told of it, whose bytes would stay in memory for as
 * long as the look waits. */
struct job_change {
    struct str uid, name;
};

struct job_known {
    struct job_backoff backoff;
    int n_refused;                  /* looks in a row whose creations were refused */
    VEC(struct job_pod) pods;       /* must not change while a run is under way */
    VEC(struct job_source) sources; /* the same order */
    MAP(uint32_t) at;               /* place by the pod's uid */
    VEC(struct job_change) changed;
    struct arena changes;  /* of their texts */
    MAP(char *) let_go;    /* uids whose finalizer we took, and caches may still show */
    VEC(char *) strangers; /* names of pods that the selector no longer selects */
    bool is_full;          /* every pod was read once */
    char uid[64], path[];
};

/* By the Job's "ns/name". The second belongs to the Job with this uid: what an earlier one of
 * the name left behind is dropped. */
struct job_memory {
    MAP(struct job_known *) by_path;
};
struct job_known *job_memory_find(const struct job_memory *m, struct str path);
struct job_known *job_memory_of(struct job_memory *m, struct str path, struct str uid);
void job_memory_forget(struct job_memory *m, struct str path);
void job_memory_fini(struct job_memory *m);

/* The pod is read anew at the next refresh. */
void job_known_changed(struct job_known *k, struct object *pod);
/* Reads what changed since the last time, from the cache; all pods of the Job at the first.
 * `owned` finds pods by the uid of an owner. */
void job_known_refresh(struct job_known *k, const struct job *job,
                       const struct selector *selector, const struct cache *pods,
                       const struct cache_index *owned);
/* The pod's finalizer is gone, whatever the caches say: it is counted, and never again. May be
 * called while a run is under way. */
void job_known_let_go(struct job_known *k, struct str uid);
/* Everything is read again at the next refresh. */
void job_known_doubt(struct job_known *k);

/* The reference of the controlling owner among `ownerReferences`, or NULL. */
const struct json *job_controller_of(const struct json *pod);
