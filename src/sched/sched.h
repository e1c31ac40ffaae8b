/* sched.h - which node for a pod (pure)
 *
 * Knows the nodes and what the pods bound to them ask for; usage is kept incrementally. A
 * choice looks at every node once: taints, selectors and affinity, free amounts; the best by
 * upstream's scores wins (least allocated, balanced, preferred affinity, fewest soft taints),
 * the first by name among equals, so that the same state gives the same choice. 10,000 nodes
 * are a fraction of a millisecond.
 *
 * Not looked at: affinity and spreading between pods, volumes, host ports.
 */
#pragma once

#include "base/base.h"

struct node;
struct pod;
struct sched;

struct sched *sched_new(void);
void sched_free(struct sched *s); /* accepts NULL */

/* A node as it is now, and one that is gone. Views are read during the call only. */
void sched_set_node(struct sched *s, const struct node *node);
void sched_remove_node(struct sched *s, struct str name);
/* A pod as it is now: it counts against its node while it is bound and not finished. One that
 * was assumed stays so until it is seen bound or is gone. */
void sched_set_pod(struct sched *s, const struct pod *pod);
void sched_remove_pod(struct sched *s, struct str uid);
/* From the decision until the watch tells of the binding; sched_remove_pod() takes it back. */
void sched_assume(struct sched *s, const struct pod *pod, struct str node);
/* It is bound to that node. False where nobody assumed it there: then sched_set_pod() is
 * needed. */
bool sched_confirm(struct sched *s, struct str uid, struct str node);

/* It counts against a node: bound or assumed. */
bool sched_has_pod(const struct sched *s, struct str uid);

size_t sched_n_nodes(const struct sched *s);

/* Why nodes were not taken: so many of them, for one reason. */
struct sched_reason {
    const char *code;    /* NodeUnschedulable NodeNotReady NodeName TaintToleration NodeAffinity
                            NodeResourcesFit Claims */
    struct str text;     /* in upstream's words: "Insufficient cpu" */
    struct str resource; /* of NodeResourcesFit, else "" */
    int64_t asked, best_free, best_size; /* in units of the resource (cpu: thousandths) */
    struct str best_node;                /* the one with the most free */
    size_t n_nodes;
};

struct sched_choice {
    struct str node; /* "" where none fits; borrowed until the state changes */
    size_t n_nodes, n_fit;
    const struct sched_reason *reasons; /* by text, bytewise */
    size_t n_reasons;
    /* "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. cpu: 8 asked,
     * at most 3 of 4 free (node a)"; "" where one fits. */
    struct str message;
};

/* ---- pods that found no node ---- */

/* Remembers what a pod that did not fit asks for, under the caller's key. Parked again, it
 * keeps its place. */
void sched_park(struct sched *s, struct str key, const struct pod *pod);
void sched_unpark(struct sched *s, struct str key);
size_t sched_n_parked(const struct sched *s);
/* True where it takes the pod: the room it needs is then not offered to the next. The key is
 * borrowed for the call, which may unpark it, and park nothing. */
typedef bool sched_wake_fn(void *ctx, struct str key);
/* Something changed on the node: offers its free room to parked pods that would fit by amounts,
 * the highest priority first, then in the order of parking. */
void sched_wake(struct sched *s, struct str node, sched_wake_fn *wake, void *ctx);
/* May the pod be on this node now? */
bool sched_fits_node(struct sched *s, const struct pod *pod, struct str node);

/* How long a pod may stay on a node whose taints say NoExecute; -1 ns: for ever. */
struct span sched_may_stay(const struct pod *pod, const struct node *node);

/* Another opinion on a node that would fit (claims): false, and *why, where it may not be. */
typedef bool sched_allow_fn(void *ctx, struct str node, struct str *why);

/* `allow` may be NULL. The result is in the arena. */
struct sched_choice sched_choose(struct sched *s, struct arena *a, const struct pod *pod,
                                 sched_allow_fn *allow, void *ctx);
