/* workload_life.h - what one look at a Workload decides of its life
 *
 * Pure: a Workload, its queues as they are and the rules in, a plan out; workload.c writes it.
 * Source: Kueue reference 7.2 (its steps keep their numbers), 3.9, 7.5, 7.7, 7.8 and 7.9.
 */
#pragma once

#include "controllers/workload_edit.h"

#define WORKLOAD_GATED_BY "kueue.x-k8s.io/admission-gated-by" /* an annotation */

/* ---- rules: what the configuration and the gates say ---- */

struct workload_rules {
    bool is_coarse;       /* UnadmittedWorkloadsObservability is off */
    bool is_explicit;     /* UnadmittedWorkloadsExplicitStatus */
    bool keeps_orphans;   /* FinishOrphanedWorkloads is off */
    bool ignores_gates;   /* AdmissionGatedBy is off */
    bool mirrors_gates;   /* MultiKueueOrchestratedPreemption */
    bool refuses_devices; /* KueueDRAIntegration is off, and its Workloads are refused */
    bool waits_for_pods;  /* waitForPodsReady, and: */
    struct span start_within, recover_within; /* the second 0: no limit */
    bool has_requeue_limit;
    int32_t requeue_limit;
    struct span backoff_base, backoff_max;
    bool has_retention; /* objectRetentionPolicies.workloads.afterFinished, and: */
    struct span keep_finished;
};

/* All gates at their defaults, nothing configured. */
struct workload_rules workload_rules_default(void);

/* ---- what is seen around it ---- */

struct workload_seen {
    bool has_lq;        /* there, and not being deleted */
    struct str lq_stop; /* its stopPolicy */
    bool has_cq;        /* the LocalQueue's is there and not being deleted */
    bool is_cq_active;  /* it takes new Workloads */
    struct str cq_name; /* which that is, there or not */
    struct str cq_stop;
    struct str misfit;       /* why the queue cannot take it (namespace, limits); "" */
    struct str equal_failed; /* the reason why an equal one was refused, where this one was
                                parked with it; "" */
    bool is_silent;          /* workload_silence() has not passed */
    const struct kueue_cluster_queue *cq; /* its checks; NULL: unknown */
};

/* ---- the plan ---- */

enum workload_act {
    WORKLOAD_WRITE = 1 << 0,      /* the edit, as an apply of the status */
    WORKLOAD_REPLACE = 1 << 1,    /* the edit, as an update of the whole status */
    WORKLOAD_DEACTIVATE = 1 << 2, /* spec.active = false */
    WORKLOAD_LET_GO = 1 << 3,     /* take our finalizer away */
    WORKLOAD_DELETE = 1 << 4,
};

#define WORKLOAD_EVENTS_MAX 4
struct workload_event {
    const char *type;
    struct str reason, note;
};

struct workload_plan {
    uint32_t acts; /* enum workload_act */
    struct workload_edit edit;
    struct workload_event events[WORKLOAD_EVENTS_MAX]; /* once all is written */
    size_t n_events;
    struct span again; /* look again after that; 0: no need */
};

/* Would a look at this version change nothing, now or later, until something around it changes?
 * False says nothing. */
bool workload_rests(const struct json *wl, const struct workload_seen *seen,
                    const struct workload_rules *rules);
struct workload_plan workload_life(struct arena *a, const struct kueue_workload *wl,
                                   const struct workload_seen *seen,
                                   const struct workload_rules *rules, struct instant now);

/* ---- pieces of it, and small decisions ---- */

/* Checks of the ClusterQueue that apply: to the flavors it was given, or, where it has none
 * yet, those that every flavor has. Sorted by name. */
struct str_list workload_checks(struct arena *a, const struct kueue_workload *wl,
                                const struct kueue_cluster_queue *cq);
/* Wanted checks that have no state get one (Pending), others lose theirs; sorted. True where
 * something was added or dropped. */
bool workload_sync_checks(struct workload_edit *e, struct str_list wanted);
/* When the latest of the checks that say Retry may be tried again; 0: none says so. */
struct instant workload_retry_time(const struct kueue_workload *wl);
/* requeueAt is never put back to an earlier time. True where something changed. */
bool workload_set_requeue(struct workload_edit *e, struct instant at, bool counts);
/* How long its pods may still take to be ready, and the cause of the eviction after that; false
 * where no limit holds. */
bool workload_pods_left(const struct kueue_workload *wl, const struct workload_rules *rules,
                        struct instant now, struct span *left, struct str *cause);
/* What the condition PodsReady is to say (7.5). */
struct workload_readiness {
    bool is_ready;
    struct str reason, message;
};
struct workload_readiness workload_readiness(const struct kueue_workload *wl,
                                             bool all_are_ready);
/* How long it is not to be told yet why it waits, beyond what whoever took its quota back said,
 * nor that it was passed over with an equal one: it may start again at once. */
#define WORKLOAD_SILENCE span_s(3)
struct span workload_silence(const struct kueue_workload *wl, struct instant now);
/* How long it held quota as admitted, in all; 0 where it is not both admitted and finished. */
struct span workload_ran_for(const struct kueue_workload *wl);

/* The Event of an eviction; "": none, where it held nothing. */
struct str workload_evicted_event(struct arena *a, const struct kueue_workload *wl,
                                  struct str reason, struct str cause);

enum workload_word {
    WORKLOAD_PENDING,
    WORKLOAD_RESERVED,
    WORKLOAD_ADMITTED,
    WORKLOAD_FINISHED
};
enum workload_word workload_word(const struct kueue_workload *wl);
/* It held quota, and waits again. */
bool workload_is_back(enum workload_word was, enum workload_word is);
/* Evicted, and by that: a reason, or with is_prefix all that begin so. NULL: no. */
const struct condition *workload_evicted_by(const struct kueue_workload *wl, struct str reason,
                                            bool is_prefix);
bool workload_is_on_hold(const struct kueue_workload *wl);
/* Was its own WorkloadPriorityClass changed? Not where it had or has a pod's class. */
bool workload_has_other_priority(const struct kueue_workload *was,
                                 const struct kueue_workload *is);
