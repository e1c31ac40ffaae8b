/* queue.h - the door of queue/: who may start, on whose quota, and why not
 *
 * An engine is a value its owner holds. It knows quotas (ClusterQueues, Cohorts,
 * ResourceFlavors), queues (LocalQueues) and workloads, and changes only by the events below.
 * queue_cycle() looks at one head of each queue and decides: admit, preempt, or wait with a
 * reason. What it decides it takes into account at once; its owner writes it to the API and
 * gives back what then happened (the updated workload, or queue_admission_failed()).
 *
 * Pure: no clock, no I/O, no globals; `now` is an argument; the same events give the same
 * decisions. Inputs are copied. Every function takes names as the API spells them; workloads
 * are named "namespace/name".
 */
#pragma once

#include "base/base.h"
#include "queue/amount.h"
#include "queue/match.h"

struct queue_engine;

/* ---- configuration ---- */

/* Feature gates that change decisions; the defaults are QUEUE_GATES_DEFAULT. */
#define QUEUE_GATES(X)                                                                         \
    X(PARTIAL_ADMISSION, "PartialAdmission", 1)                                                \
    X(FLAVOR_FUNGIBILITY, "FlavorFungibility", 1)                                              \
    X(PRIORITY_SORTING, "PrioritySortingWithinCohort", 1)                                      \
    X(FAIR_WITHIN_NOMINAL, "FairSharingPreemptWithinNominal", 1)                               \
    X(FAIR_NON_BORROWING, "FairSharingPrioritizeNonBorrowing", 1)                              \
    X(TOPOLOGY, "TopologyAwareScheduling", 1)                                                  \
    X(TAS_FAIL_FAST, "TASFailedNodeReplacementFailFast", 1)                                    \
    X(TAS_RECOMPUTE, "TASRecomputeAssignmentWithinSchedulingCycle", 1)                         \
    X(AFS, "AdmissionFairSharing", 1)                                                          \
    X(ELASTIC, "ElasticJobsViaWorkloadSlices", 1)                                              \
    X(ELASTIC_TAS, "ElasticJobsViaWorkloadSlicesWithTAS", 0)                                   \
    X(RECLAIMABLE_PODS, "ReclaimablePods", 1)                                                  \
    X(EQUIVALENCE, "SchedulingEquivalenceHashing", 1)                                          \
    X(ADMISSION_GATED, "AdmissionGatedBy", 1)                                                  \
    X(QUOTA_CHECK_STRATEGY, "QuotaCheckStrategy", 1)                                           \
    X(OBSERVABILITY, "UnadmittedWorkloadsObservability", 1)                                    \
    X(KEEP_PROGRESS, "FlavorFungibilityPreserveScanProgress", 1)                               \
    X(RECOMPUTE_OVERLAP, "RecomputeAssignmentUponPreemptionTargetsOverlap", 1)                 \
    X(PRIORITY_BOOST, "PriorityBoost", 0)                                                      \
    X(CONCURRENT_ADMISSION, "ConcurrentAdmission", 0)                                          \
    X(ORCHESTRATED_PREEMPTION, "MultiKueueOrchestratedPreemption", 0)                          \
    X(PREEMPTORS_FIRST, "PrioritizePreemptorWorkloads", 0)

enum queue_gate {
#define QUEUE_GATE_ENUM(name, text, on) QUEUE_GATE_##name,
    QUEUE_GATES(QUEUE_GATE_ENUM)
#undef QUEUE_GATE_ENUM
        QUEUE_GATE_COUNT,
};
#define QUEUE_GATE_DEFAULT_BIT(name, text, on) | ((uint32_t)(on) << QUEUE_GATE_##name)
#define QUEUE_GATES_DEFAULT (0u QUEUE_GATES(QUEUE_GATE_DEFAULT_BIT))

struct queue_weight {
    struct str resource;
    double weight;
};

struct queue_config {
    uint32_t gates; /* bits 1 << enum queue_gate */
    /* Fair sharing between ClusterQueues, and its preemption strategies. */
    bool fair_sharing;
    bool fair_initial_only; /* [LessThanInitialShare] */
    bool fair_final_only;   /* [LessThanOrEqualToFinalShare] */
    /* Admission fair sharing between LocalQueues. */
    bool afs;
    struct span afs_half_life, afs_sampling;
    const struct queue_weight *afs_weights;
    size_t n_afs_weights;
    bool ignore_undeclared; /* quotaCheckStrategy IgnoreUndeclared */
    bool block_admission;   /* waitForPodsReady.blockAdmission */
    bool order_by_creation; /* requeuingStrategy.timestamp Creation */
};

/* All gates at their defaults, nothing switched on. */
struct queue_config queue_config_default(void);
bool queue_gate(const struct queue_config *c, enum queue_gate gate);
/* Sets the gate of that name; false where it is none of ours. */
bool queue_config_gate(struct queue_config *c, struct str name, bool on);

/* `config` is copied. Nothing in it can be changed later. */
struct queue_engine *queue_new(const struct queue_config *config);
void queue_free(struct queue_engine *e);

/* ---- what there is ---- */

struct queue_flavor_spec {
    struct str name, topology;
    struct queue_labels labels;
    const struct queue_taint *taints;
    size_t n_taints;
    const struct queue_toleration *tolerations;
    size_t n_tolerations;
};

struct queue_quota_spec {
    struct str resource;
    bool has_borrow, has_lend;
    int64_t nominal, borrow, lend;
};
struct queue_group_flavor {
    struct str flavor;
    const struct queue_quota_spec *quotas;
    size_t n_quotas;
};
struct queue_group_spec {
    const struct str *resources; /* covered */
    size_t n_resources;
    const struct queue_group_flavor *flavors;
    size_t n_flavors;
};

enum queue_policy {
    POLICY_UNSET,
    POLICY_NEVER,
    POLICY_LOWER,
    POLICY_LOWER_OR_NEWER,
    POLICY_ANY
};
enum queue_stop { STOP_NONE, STOP_HOLD, STOP_DRAIN };

struct queue_check_ref {
    struct str name;
    const struct str *on_flavors; /* none: all flavors */
    size_t n_on_flavors;
};

struct queue_cq_spec {
    struct str name, cohort;
    bool is_strict;      /* StrictFIFO */
    bool is_terminating; /* has a deletion time */
    const struct queue_group_spec *groups;
    size_t n_groups;
    struct queue_selector namespaces;
    /* flavorFungibility */
    bool borrow_try_next;   /* whenCanBorrow TryNextFlavor */
    bool preempt_stop;      /* whenCanPreempt MayStopSearch */
    bool prefer_preemption; /* preference PreemptionOverBorrowing */
    /* preemption; POLICY_UNSET where absent */
    bool has_preemption;
    enum queue_policy within, reclaim, borrow;
    bool has_threshold;
    int32_t threshold; /* borrowWithinCohort.maxPriorityThreshold */
    enum queue_stop stop;
    double weight;
    bool uses_afs;    /* admissionScope.admissionMode UsageBasedAdmissionFairSharing */
    bool keeps_first; /* concurrent admission: no variant replaces an admitted one */
    const struct queue_check_ref *checks;
    size_t n_checks;
    uint64_t digest; /* of the whole spec: a flush is due when it changes */
};

struct queue_cohort_spec {
    struct str name, parent;
    const struct queue_group_spec *groups;
    size_t n_groups;
    double weight;
};

struct queue_lq_spec {
    struct str ns, name, cq;
    bool is_stopped; /* stopPolicy is not None */
    double weight;
};

void queue_put_flavor(struct queue_engine *e, const struct queue_flavor_spec *spec);
void queue_delete_flavor(struct queue_engine *e, struct str name);
void queue_put_check(struct queue_engine *e, struct str name, struct str controller,
                     bool is_active);
void queue_delete_check(struct queue_engine *e, struct str name);
/* `levels` are node labels, the widest first. */
void queue_put_topology(struct queue_engine *e, struct str name, const struct str *levels,
                        size_t n_levels);
void queue_delete_topology(struct queue_engine *e, struct str name);
void queue_put_namespace(struct queue_engine *e, struct str name, struct queue_labels labels);
void queue_delete_namespace(struct queue_engine *e, struct str name);
/* A cohort edge that closes a cycle is kept; err then says so and -1 is returned, and the
 * tree's queues are left out until another event opens it. ERR_LIMIT: more flavors or resources
 * than INTERN_MAX in all (the object is then as before). The same for ClusterQueues. */
int queue_put_cohort(struct queue_engine *e, const struct queue_cohort_spec *spec,
                     struct err *err);
void queue_delete_cohort(struct queue_engine *e, struct str name);
int queue_put_cq(struct queue_engine *e, const struct queue_cq_spec *spec, struct err *err);
void queue_delete_cq(struct queue_engine *e, struct str name);
void queue_put_lq(struct queue_engine *e, const struct queue_lq_spec *spec);
void queue_delete_lq(struct queue_engine *e, struct str ns, struct str name);

/* ---- workloads ---- */

struct queue_request {
    struct str resource;
    int64_t amount; /* for all pods of the podset */
};

/* What a podset asks of topology; its placement is decided in another file. */
struct queue_topology_request {
    bool is_explicit; /* required, preferred, unconstrained or a slice is given */
    bool is_required, is_preferred, is_unconstrained;
    struct str level; /* of required or preferred */
    struct str group; /* podSetGroupName */
    struct str slice_level;
    int32_t slice_size;
};

struct queue_podset_spec {
    struct str name;
    int32_t count;     /* pods that still count (reclaimable ones do not) */
    int32_t min_count; /* 0: none */
    const struct queue_request *requests;
    size_t n_requests;
    struct queue_labels node_selector;
    bool has_affinity; /* required node affinity: one of terms must hold */
    const struct queue_term *terms;
    size_t n_terms;
    const struct queue_toleration *tolerations;
    size_t n_tolerations;
    struct queue_topology_request topology;
    const struct str *raw_resources; /* names in the template's requests, all kinds */
    size_t n_raw_resources;
    uint64_t digest[2]; /* of the pod template: part of what makes a shape */
};

struct queue_podset_admission {
    struct str name;
    int32_t count;
    const struct queue_flavor_use {
        struct str resource, flavor; /* flavor "" : counted nowhere */
        int64_t amount;
    } * uses;
    size_t n_uses;
};

enum queue_wl_flag {
    WL_FINISHED = 1 << 0,
    WL_INACTIVE = 1 << 1, /* spec.active is false */
    WL_RESERVED = 1 << 2, /* QuotaReserved is True; it uses quota where it has an admission */
    WL_ADMITTED = 1 << 3,
    WL_EVICTED = 1 << 4,
    WL_BACKOFF = 1 << 5, /* Requeued is False */
    WL_ON_HOLD = 1 << 6,
    WL_WAITS_FOR_PODS = 1 << 7, /* WaitingForReplacementPods */
    WL_GATED = 1 << 8,          /* annotation admission-gated-by */
    WL_PREEMPTION_GATED = 1 << 9,
    WL_CHECKS_FAILED = 1 << 10,    /* a check says Retry or Rejected */
    WL_CHECKS_READY = 1 << 11,     /* there are checks and all are Ready */
    WL_DELAYED_TOPOLOGY = 1 << 12, /* a delayed topology request waits for its assignment */
    WL_UNHEALTHY = 1 << 13,        /* an assigned node is in status.unhealthyNodes */
    WL_PODS_READY = 1 << 14,
    WL_INVALID = 1 << 15, /* requests break limits: see invalid_text */
};

struct queue_workload_spec {
    struct str ns, name, uid, queue;
    int64_t generation;
    uint32_t flags;             /* enum queue_wl_flag */
    int64_t priority;           /* effective: base and boost */
    struct instant order_time;  /* by which it queues: creation, or an eviction's time */
    struct instant requeue_at;  /* zero: none */
    struct instant reserved_at; /* when QuotaReserved became True */
    const struct queue_podset_spec *podsets;
    size_t n_podsets;
    struct str admitted_to; /* ClusterQueue of status.admission */
    const struct queue_podset_admission *admission;
    size_t n_admission;
    struct str replaces;        /* key of the older slice of an elastic job */
    struct str allowed_flavors; /* of a variant: the flavors it may use, comma-separated */
    struct str parent;          /* of a variant */
    struct str shape_name;      /* replaces the computed shape's identity in tests; else "" */
    /* Of what moves a parked workload back when it changes: of its spec, and of its state. */
    uint32_t digest, state_digest;
    struct str invalid_text; /* what WL_INVALID means */
    bool is_same_spec;       /* podsets, digest and what WL_INVALID says are not given */
};

/* What of a version says whether its podsets are those of the version before. */
struct queue_spec_id {
    struct str ns, name, uid, queue, allowed_flavors;
    int64_t generation, priority;
    const int32_t *counts; /* of pods of each podset that still count */
    size_t n_podsets;
};
/* Does the engine have this spec of this workload? Then is_same_spec will do, as long as what
 * turns specs into requests is what it was. */
bool queue_has_spec(const struct queue_engine *e, const struct queue_spec_id *id);

enum queue_put {
    QUEUE_PUT_QUEUED,   /* waits in its ClusterQueue (or is already looked at) */
    QUEUE_PUT_HOLDS,    /* uses quota */
    QUEUE_PUT_OUT,      /* finished, inactive, on hold or gated: neither */
    QUEUE_PUT_NO_QUEUE, /* its LocalQueue is unknown or stopped */
    QUEUE_PUT_NO_CQ,    /* the LocalQueue's ClusterQueue is unknown */
};

enum queue_put queue_put_workload(struct queue_engine *e, const struct queue_workload_spec *wl,
                                  struct instant now);
void queue_delete_workload(struct queue_engine *e, struct str key);
/* The ClusterQueue whose quota it uses; "": none. */
struct str queue_holds(const struct queue_engine *e, struct str key);
/* In line, or parked, in a LocalQueue with a ClusterQueue. */
bool queue_is_waiting(const struct queue_engine *e, struct str key);
/* Why an equal one was refused, where it was parked with that one and not looked at itself;
 * NONE: it was not. */
enum queue_reason queue_equal_failed(const struct queue_engine *e, struct str key);
/* Puts all that waits as inadmissible in the tree of this ClusterQueue back in line. */
void queue_wake(struct queue_engine *e, struct str cq, struct instant now);

/* ---- deciding ---- */

/* Why a workload waits, as the API's condition says it. */
#define QUEUE_REASONS(X)                                                                       \
    X(NONE, "")                                                                                \
    X(NO_MATCHING_FLAVOR, "NoMatchingFlavor")                                                  \
    X(WAITING_FOR_QUOTA, "WaitingForQuota")                                                    \
    X(EXCEEDS_MAX_QUOTA, "ExceedsMaxQuota")                                                    \
    X(TOPOLOGY, "TopologyPlacementFailed")                                                     \
    X(WAITING_FOR_PREEMPTED, "WaitingForPreemptedWorkloads")                                   \
    X(WAITING_FOR_PODS_READY, "WaitingForPodsReady")                                           \
    X(PENDING_EVALUATION, "PendingEvaluation")                                                 \
    X(SUSPENDED, "Suspended")                                                                  \
    X(MISCONFIGURED, "Misconfigured")                                                          \
    X(ADMISSION_GATED, "AdmissionGated")                                                       \
    X(PENDING, "Pending")                                                                      \
    X(WAITING, "Waiting")                                                                      \
    X(INADMISSIBLE, "Inadmissible")

enum queue_reason {
#define QUEUE_REASON_ENUM(name, text) QUEUE_##name,
    QUEUE_REASONS(QUEUE_REASON_ENUM)
#undef QUEUE_REASON_ENUM
        QUEUE_REASON_COUNT,
};
struct str queue_reason_text(enum queue_reason r);

/* One thing that stood in the way: a stable code and the numbers behind it. */
#define QUEUE_CAUSES(X)                                                                        \
    X(FLAVOR_MISSING, "FlavorMissing") /* the flavor does not exist */                         \
    X(TAINT, "UntoleratedTaint")       /* detail: the taint */                                 \
    X(AFFINITY, "AffinityMismatch")                                                            \
    X(TOPOLOGY_LEVEL, "TopologyLevelMissing")                                                  \
    X(TOPOLOGY_UNSUPPORTED, "TopologyNotSupported")                                            \
    X(TOPOLOGY_ONLY, "TopologyOnly")                                                           \
    X(TOPOLOGY_MISSING, "TopologyInformationMissing")                                          \
    X(TOPOLOGY_NO_FIT, "TopologyNoFit")                                                        \
    X(SLICE_FLAVOR, "SliceNeedsOtherFlavor")                                                   \
    X(NOT_NOMINATED, "FlavorNotNominated")                                                     \
    X(NOT_COVERED, "ResourceNotCovered") /* the ClusterQueue has no such resource */           \
    X(OVER_CAPACITY, "OverCapacity")     /* more than it could ever have */                    \
    X(SHORT, "ShortOfQuota")             /* more than is free now */                           \
    X(LOST_RACE, "TakenInThisCycle")     /* others of this cycle took it */                    \
    X(OVERLAP, "VictimsShared")          /* another preempts the same victims */               \
    X(NO_VICTIM, "NoVictims")            /* nobody may be preempted for it */                  \
    X(QUEUE_INACTIVE, "QueueInactive")   /* detail: the owner's kind */                        \
    X(QUEUE_MISSING, "QueueMissing")                                                           \
    X(NAMESPACE, "NamespaceNotSelected")                                                       \
    X(INVALID_REQUESTS, "InvalidRequests")                                                     \
    X(CHECKS, "ChecksFailed")                                                                  \
    X(PODS_NOT_READY, "PodsNotReady")                                                          \
    X(GATE_CLOSED, "PreemptionGated")                                                          \
    X(FIRST_IN_LINE, "BehindOthers") /* StrictFIFO: `detail` is in front */                    \
    X(SAME_SHAPE, "SameShapeFailed") /* an equal workload was just refused */                  \
    X(VARIANT, "VariantAdmitted")

enum queue_cause_code {
#define QUEUE_CAUSE_ENUM(name, text) CAUSE_##name,
    QUEUE_CAUSES(QUEUE_CAUSE_ENUM)
#undef QUEUE_CAUSE_ENUM
        CAUSE_COUNT,
};
struct str queue_cause_name(enum queue_cause_code code);

struct queue_cause {
    enum queue_cause_code code;
    struct str podset, flavor, resource;
    struct str owner; /* the ClusterQueue or Cohort whose limit it is */
    int64_t asked;    /* by this podset (or the whole unit) */
    int64_t before;   /* by earlier podsets, same flavor and resource */
    int64_t limit;    /* what the owner could have */
    int64_t used;
    int64_t available;
    int64_t short_by;
    struct str detail;
};
/* The cause as one sentence, with the API's words where upstream has some. */
struct str queue_cause_text(struct arena *a, const struct queue_cause *c);

enum queue_mode { MODE_NO_FIT, MODE_PREEMPT, MODE_DEFERRED, MODE_FIT };

/* What a cycle did with one head. */
enum queue_outcome {
    OUTCOME_ADMITTED,   /* uses quota from now on; `assignment` is to be written */
    OUTCOME_PREEMPTING, /* `victims` are to be evicted; it waits in line */
    OUTCOME_DEFERRED,   /* fits once preemptions under way are done */
    OUTCOME_NO_FIT,     /* no flavor fits */
    OUTCOME_NO_VICTIMS, /* would need preemption, and nobody may be preempted */
    OUTCOME_SKIPPED,    /* fitted, until others of this cycle were served */
    OUTCOME_GATED,      /* a preemption gate is closed */
    OUTCOME_BLOCKED,    /* all admission waits for pods to be ready */
    OUTCOME_REFUSED,    /* inactive queue, namespace, invalid requests, failed checks */
    OUTCOME_EVICTED,    /* a failed node could not be replaced: to be evicted */
    OUTCOME_REPLACING,  /* `victims` holds the one less favorable variant to be evicted */
};

/* How a parked workload comes back; upstream's requeue reasons. */
enum queue_requeue {
    REQUEUE_GENERIC,
    REQUEUE_FAILED_AFTER_NOMINATION,
    REQUEUE_PENDING_PREEMPTION,
    REQUEUE_PENDING_MIGRATION,
    REQUEUE_PREEMPTION_FAILED,
    REQUEUE_NO_FIT,
    REQUEUE_NO_CANDIDATES,
    REQUEUE_PREEMPTION_GATED,
    REQUEUE_NAMESPACE,
};

enum queue_victim_reason {
    IN_CLUSTER_QUEUE,
    IN_COHORT_RECLAMATION,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_BORROWING,
    FLAVOR_MIGRATION, /* a variant, for a more favorable one: no preemption */
};
struct str queue_victim_reason_text(enum queue_victim_reason r);

struct queue_victim {
    struct str key, cq;
    enum queue_victim_reason reason;
    bool is_under_way; /* evicted already, or asked before: nothing to write */
};

struct queue_assigned_flavor {
    struct str resource, flavor;
    enum queue_mode mode;
    int32_t tried; /* where the scan ended; -1: at the last flavor */
};
struct queue_attempt {
    struct str flavor;
    enum queue_mode mode;
    bool was_simulated;
    uint8_t possibility; /* 0 no candidates, 1 preempt, 2 reclaim */
    uint32_t borrow;
    enum queue_reason reason;
    size_t n_texts;
};
struct queue_assigned_podset {
    struct str name, error;
    int32_t count;
    const struct queue_assigned_flavor *flavors;
    size_t n_flavors;
    const struct queue_request *requests; /* for count pods */
    size_t n_requests;
    const struct queue_attempt *attempts;
    size_t n_attempts;
};

struct queue_decision {
    struct str key, lq, cq;
    enum queue_outcome outcome;
    enum queue_requeue requeue;
    enum queue_reason reason; /* of QuotaReserved=False; NONE where none is to be written */
    bool is_second_pass;
    bool is_parked; /* inadmissible now; otherwise it stays in line */
    enum queue_mode mode;
    uint32_t borrow; /* height of the subtree whose quota it needs; 0: the queue's own */
    const struct queue_assigned_podset *podsets;
    size_t n_podsets;
    const struct queue_victim *victims;
    size_t n_victims;
    const struct queue_cause *causes;
    size_t n_causes;
    struct str replaces;      /* older slice, to be finished once this is admitted */
    const struct str *checks; /* of the queue that apply: with any, it is not admitted yet */
    size_t n_checks;
};

/* The condition's message, as upstream words it. */
struct str queue_message(struct arena *a, enum queue_outcome outcome,
                         const struct queue_cause *causes, size_t n_causes, size_t n_victims);

struct queue_counter { /* of overlapping preemptions */
    struct str cq;
    uint32_t skipped, deferred_fit, new_targets, recompute_skipped;
};

struct queue_plan {
    const struct queue_decision *at; /* in the order in which they were made */
    size_t len;
    const struct queue_counter *counters; /* ClusterQueues with any */
    size_t n_counters;
    bool has_progress; /* somebody was admitted or evicted: call again at once */
};

/* One cycle. Everything in the plan lives in `a`. */
struct queue_plan queue_cycle(struct queue_engine *e, struct arena *a, struct instant now);
/* Is there a head to look at now? Otherwise *next is when to look again (0: when told). */
bool queue_has_heads(struct queue_engine *e, struct instant now, struct instant *next);

/* The write of an admission failed: its quota is free again. Unless it is gone it is in line
 * again, too. */
void queue_admission_failed(struct queue_engine *e, struct str key, bool is_gone,
                            struct instant now);
/* The write of an eviction failed: the victim may be asked again. */
void queue_preemption_failed(struct queue_engine *e, struct str preemptor, struct str victim,
                             struct instant now);

/* ---- admission fair sharing ---- */

struct queue_consumed { /* units + nanos / 10^9, in base units */
    struct str resource;
    int64_t units;
    int32_t nanos;
};
/* What a LocalQueue's status says it consumed; counted once. */
void queue_afs_seed(struct queue_engine *e, struct str ns, struct str name,
                    const struct queue_consumed *consumed, size_t n, struct instant now);
/* When a LocalQueue's ledger is to be sampled next: an interval after it was brought up to date
 * last, or now (at the latest) where a penalty is not settled yet, or where it has no ledger.
 */
struct instant queue_afs_due(const struct queue_engine *e, struct str ns, struct str name);
/* Decays a LocalQueue's ledger to now; what its status should say. The array is in `a`. */
size_t queue_afs_sample(struct queue_engine *e, struct arena *a, struct str ns, struct str name,
                        struct instant now, const struct queue_consumed **out);

/* ---- looking ---- */

struct queue_pending {
    struct str key, lq;
    int64_t priority;
    uint32_t position_cq, position_lq; /* from 0 */
    bool is_parked;
    enum queue_reason reason; /* NONE: not looked at yet */
    struct str message;
    const struct queue_cause *causes; /* live until the next event */
    size_t n_causes;
};
/* Everything that waits in the ClusterQueue, in its order (heads of the last cycle that are
 * still being looked at left out). */
size_t queue_list(struct queue_engine *e, struct arena *a, struct str cq,
                  const struct queue_pending **out);

/* ---- why does it wait, and what would change that ---- */

#define QUEUE_WHY_MAX_CANDIDATES 20 /* named one by one; the others are counted */
#define QUEUE_WHY_MAX_QUEUES 64     /* of the namespace that are tried */
#define QUEUE_WHY_MAX_RAISES 16     /* of quotas, until a workload would start */

/* Why somebody who holds quota is no victim. */
#define QUEUE_SPARED(X)                                                                        \
    X(ELIGIBLE, "Eligible")        /* may be taken, but all of them free too little */         \
    X(OTHER_FLAVOR, "OtherFlavor") /* frees nothing of what is short */                        \
    X(POLICY_NEVER, "PolicyNever") /* the policy takes nobody there */                         \
    X(PRIORITY, "PriorityNotLower")                                                            \
    X(WITHIN_NOMINAL, "WithinNominal") /* its queue uses only what is its own */

enum queue_spared {
#define QUEUE_SPARED_ENUM(name, text) SPARED_##name,
    QUEUE_SPARED(QUEUE_SPARED_ENUM)
#undef QUEUE_SPARED_ENUM
        SPARED_COUNT,
};
struct str queue_spared_text(enum queue_spared s);

struct queue_candidate {
    struct str key, cq;
    int64_t priority;
    enum queue_spared why;
};

/* One change that would let it start; each was tried on the engine's own decision. */
enum queue_change_kind {
    CHANGE_NOTHING,  /* it fits now and is looked at when its turn comes */
    CHANGE_ASK_LESS, /* of resource: `to` instead of `from`, for all pods of the podset */
    CHANGE_PRIORITY, /* `to` instead of `from`; evicts others */
    CHANGE_QUEUE,    /* submit to LocalQueue `queue` instead */
    CHANGE_TOLERATE, /* tolerate the taint `detail` of `flavor` */
    CHANGE_SELECTOR, /* drop node selectors and affinity, for `flavor` */
    CHANGE_QUOTA,    /* nominal quota `to` instead of `from` in ClusterQueue `queue` */
};
struct queue_change {
    enum queue_change_kind kind;
    struct str podset, flavor, resource, queue, detail;
    int64_t from, to;
    uint32_t evicts;                 /* workloads that would have to go */
    const struct queue_change *also; /* neither is enough without the other; NULL: this is */
};
/* "ask 4 cpu instead of 6 in podset main", with what also has to change. */
struct str queue_change_text(struct arena *a, const struct queue_change *c);

struct queue_why {
    bool is_known, holds_quota, is_waiting, is_parked;
    struct str cq, lq;
    uint32_t ahead;    /* workloads in front of it in its ClusterQueue */
    struct str behind; /* StrictFIFO: the head in front of it */
    enum queue_reason reason;
    struct str message;
    const struct queue_cause *causes;
    size_t n_causes;
    const struct queue_candidate *candidates; /* the first QUEUE_WHY_MAX_CANDIDATES */
    size_t n_candidates;
    uint32_t counts[SPARED_COUNT];      /* of all of them */
    const struct queue_change *changes; /* the smallest first; none where nothing helps */
    size_t n_changes;
};
/* Judges the workload as things are now, without changing anything. A `changes` entry is no
 * reservation: somebody else may be first. */
struct queue_why queue_why(struct queue_engine *e, struct arena *a, struct str key,
                           struct instant now);

struct queue_usage_line {
    struct str flavor, resource;
    int64_t nominal, subtree, used, borrowed, available;
    int64_t borrow_limit, lend_limit; /* -1: none */
};
struct queue_cq_view {
    bool is_known, is_active;
    struct str active_reason, active_message; /* of its Active condition */
    uint32_t pending_active, pending_parked, reserving, admitted;
    const struct queue_usage_line *reserved; /* flavors in their order */
    const struct queue_usage_line *in_use;   /* of admitted workloads only; same length */
    size_t n_lines;
    double share; /* weighted; fair sharing only */
};
struct queue_cq_view queue_cq_look(struct queue_engine *e, struct arena *a, struct str name);

/* One (flavor, resource) of a ClusterQueue or cohort:
 *
 *     nominal + from_below + borrowed = used + idle
 *
 * and for a cohort, summed over its children: from_below is what they do not keep, used is what
 * they use beyond that which they keep. (Unlimited quotas and a tree over its limits aside.) */
struct queue_ledger_line {
    struct str name, parent, flavor, resource;
    uint32_t depth; /* 0: a root */
    bool is_queue;
    int64_t nominal, from_below, borrowed, used, idle;
    int64_t lent;      /* of a cohort: what its children borrowed, together */
    int64_t kept;      /* never lent upwards */
    int64_t available; /* could still be used, borrowing included */
};
/* The whole tree in which a ClusterQueue or a Cohort of that name stands, or with "" all of
 * them: parents before children, by name. */
size_t queue_ledger(struct queue_engine *e, struct arena *a, struct str name,
                    const struct queue_ledger_line **out);
struct str queue_ledger_text(struct arena *a, const struct queue_ledger_line *line);

/* Does the ClusterQueue take new workloads? */
bool queue_is_active(const struct queue_engine *e, struct str cq);
/* The ClusterQueue of the LocalQueue "ns/name"; "" where there is none such. */
struct str queue_lq_target(const struct queue_engine *e, struct str path);
struct queue_lq_view {
    bool is_known, is_active;
    uint32_t pending, reserving, admitted;
    const struct queue_usage_line *reserved, *in_use;
    size_t n_lines;
};
struct queue_lq_view queue_lq_look(struct queue_engine *e, struct arena *a, struct str ns,
                                   struct str name);
