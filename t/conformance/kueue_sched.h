/* kueue_sched.h - a world for one of Kueue's scheduler cases (for the adapters of that suite)
 */
#pragma once

#include "conformance.h"
#include "controllers/workload_decide.h"
#include "queue/status.h"

struct sched {
    struct conf *t;
    const struct json *c;    /* the case */
    const struct json *want; /* of the variant */
    struct queue_config config;
    struct queue_loader loader;
    struct queue_engine *e;
    struct instant now;
    VEC(const struct json *) store; /* workloads as they are now */
    VEC(const struct json *) events;
    struct queue_plan plan; /* of the last cycle */
    struct str label;       /* of the variant */
};

typedef void sched_fn(struct sched *s);
/* Runs the case, and each variant of its gates, in a world of its own: objects loaded. */
void sched_each(struct conf *t, const struct json *c, sched_fn *run);
/* Configuration and loader only; no engine. */
void sched_configure(struct sched *s, const struct json *gates, const struct json *when);
/* The stored workload's index; SIZE_MAX where there is none. */
size_t sched_find(const struct sched *s, struct str key);
struct str sched_key(struct arena *a, const struct json *wl);
/* One cycle, and everything that is written because of it. */
void sched_cycle(struct sched *s);
/* Stored and told to the engine. */
void sched_store(struct sched *s, const struct json *wl);
/* An edit of the status of the workload stored there; and the tree that it makes. */
struct workload_edit sched_edit(struct sched *s, size_t at);
const struct json *sched_edited(struct sched *s, size_t at, const struct workload_edit *e);
/* The same for a decision on it. */
const struct json *sched_decided(struct sched *s, size_t at, const struct queue_decision *d);
/* {cq: [keys]} of what waits, active or parked. */
const struct json *sched_left(struct sched *s, bool parked);
/* Compares with sets as sets, messages and volatile metadata left out. */
bool sched_same_workloads(struct sched *s);
bool sched_same(struct sched *s, const char *what, const struct json *got,
                const struct json *want);
/* A tree with conditions sorted, quantities in one spelling, empty things dropped. */
const struct json *sched_normal(struct arena *a, const struct json *v);
