/* engine_priv.h - what an engine is made of (for queue/ only)
 *
 *     lq --- groups --- workloads          a group: workloads of one LocalQueue and one shape
 *      |       |
 *      '----- cq ----- quota node          a cq: a heap of its groups with somebody active
 *
 * A group has two heaps, the active and the parked one, and says which is which. To park all
 * workloads of a shape, or to wake them, is to swap the two.
 */
#pragma once

#include "queue/afs.h"
#include "queue/intern.h"
#include "queue/queue.h"
#include "queue/quota.h"

struct queue_cq;
struct queue_lq;
struct queue_group;
struct queue_wl;

/* ---- configuration objects ---- */

struct queue_flavor {
    uint16_t id;
    bool exists;
    struct arena arena;
    struct queue_flavor_spec spec;
};

struct queue_check {
    struct str name, controller;
    bool exists, is_active;
    struct arena arena;
};

struct queue_topology {
    struct str name;
    bool exists;
    struct arena arena;
    const struct str *levels; /* node labels, the widest first */
    size_t n_levels;
};

struct queue_ns {
    struct str name;
    bool exists;
    struct arena arena;
    struct queue_labels labels;
};

struct queue_cohort {
    struct quota_node node; /* first */
    struct str name;
    bool is_explicit;
};

/* One resource group of a ClusterQueue. */
struct cq_group {
    const uint16_t *resources;
    size_t n_resources;
    const uint16_t *flavors; /* in their order */
    size_t n_flavors;
};

#define CAUSES_INACTIVE(X)                                                                     \
    X(STOPPED, "Stopped")                                                                      \
    X(FLAVOR_NOT_FOUND, "FlavorNotFound")                                                      \
    X(CHECK_NOT_FOUND, "AdmissionCheckNotFound")                                               \
    X(CHECK_INACTIVE, "AdmissionCheckInactive")                                                \
    X(MULTIPLE_MULTIKUEUE, "MultipleMultiKueueAdmissionChecks")                                \
    X(MULTIKUEUE_PER_FLAVOR, "MultiKueueAdmissionCheckAppliedPerFlavor")                       \
    X(MULTIKUEUE_PROVISIONING, "MultiKueueWithProvisioningRequest")                            \
    X(TOPOLOGY_NOT_FOUND, "TopologyNotFound")                                                  \
    X(TERMINATING, "Terminating")

enum cq_inactive {
#define CQ_INACTIVE_ENUM(name, text) INACTIVE_##name,
    CAUSES_INACTIVE(CQ_INACTIVE_ENUM)
#undef CQ_INACTIVE_ENUM
        INACTIVE_COUNT,
};

/* A sum over workloads; wide, so that what was added can be taken away again. */
struct usage_sum {
    quota_fr fr;
    __int128 amount;
};
typedef VEC(struct usage_sum) usage_sums;

/* A workload that uses quota, with what ranks it as a victim. 32 bytes. */
struct cq_holder {
    struct queue_wl *wl;
    int64_t priority;
    int64_t reserved_ns; /* 0: no time known, counts as now */
    uint64_t uid_head;
    uint32_t fr_bits; /* cells it uses: see preempt_priv.h */
    bool is_evicted;
    bool is_removed; /* taken out of the tree for a moment */
};

/* Shapes that were parked as a whole since the last flush: open addressing by their class. */
struct bulk {
    struct bulk_entry {
        uint64_t class; /* 0: free */
        enum queue_reason reason;
    } * at;
    uint32_t len, cap; /* cap is a power of two or 0 */
};

struct queue_cq {
    struct quota_node node; /* first; a leaf */
    struct str name;
    uint32_t index; /* in the order of creation */
    bool exists, is_active, is_terminating;
    uint32_t inactive;  /* bits of enum cq_inactive */
    struct arena arena; /* holds spec and groups */
    struct queue_cq_spec spec;
    const struct cq_group *groups;
    size_t n_groups;
    const quota_fr *frs; /* in the order of the spec */
    size_t n_frs;
    /* workloads with quota */
    VEC(struct cq_holder) holders;
    VEC(struct queue_wl *) ranks; /* the same, where is_ranked: see rank.c */
    bool is_ranked;
    uint32_t n_admitted;
    usage_sums admitted; /* usage of admitted ones */
    /* waiting */
    VEC(struct queue_lq *) lqs;       /* that point here, existing or not */
    VEC(struct queue_group *) heap;   /* groups with active members, best first */
    VEC(struct queue_group *) parked; /* groups with parked members */
    struct bulk bulk;
    struct queue_wl *inflight; /* popped, not yet requeued */
    uint32_t n_active, n_parked;
    int64_t pop_cycle, flush_cycle;
    /* the workload that waits for its preemptions */
    struct queue_wl *preemptor;
    bool is_sticky, wants_flush;
    bool is_lender, has_freed; /* in e->lenders; quota of it came back since it was woken */
    uint64_t turn_cycle;       /* e->cycle when it last admitted one, or was woken first */
    bool is_waking;            /* the heap is out of order until all of them stand in it */
    uint32_t preemptor_generation;
    uint32_t ready_slot;          /* in e->ready or, where it rests, its root's; UINT32_MAX */
    struct quota_node *rests_in;  /* the root that it rests in, or NULL */
    uint32_t scratch;             /* an index of the function that runs */
    struct queue_counter counter; /* of the running cycle */
    /* The last head that stayed, and engine_changes() when it was judged: no need to look
     * again, unless it has more flavors to scan; how often it was looked at since. */
    const struct queue_wl *judged;
    uint64_t judged_changes, judged_events;
    bool has_lost; /* others were admitted in that cycle: the next event looks at it again */
    uint32_t scans;
    bool has_more;
    bool owes_scan;           /* to somebody parked here, over all flavors */
    uint64_t retried_changes; /* engine_changes() when it last gave one */
};

struct queue_lq {
    struct str key; /* "namespace/name" */
    struct str ns, name, cq_name;
    uint32_t id;
    struct queue_ns *ns_record; /* once known */
    bool exists, is_stopped;
    bool is_attached; /* its groups stand in cq's heap */
    double weight;
    struct queue_cq *cq; /* that it points to, existing or not */
    uint32_t slot;       /* in cq->lqs */
    VEC(struct queue_group *) groups;
    uint32_t pending; /* items, in flight ones left out */
    uint32_t n_holding, n_admitted;
    usage_sums reserved, admitted;
    struct afs_ledger ledger;
    double afs_usage; /* of the heap's order; recomputed when the ledger changes */
};

/* ---- workloads ---- */

struct shape_request {
    uint16_t resource;
    int64_t amount; /* for all pods */
};

struct shape_podset {
    struct queue_podset_spec spec;  /* strings and lists in the shape's arena; no requests */
    struct shape_request *requests; /* sorted by resource name */
    size_t n_requests;
};

/* What workloads that are judged alike have in common. */
struct queue_shape {
    struct str key; /* canonical bytes, in the arena */
    struct arena arena;
    uint32_t refs, id;
    uint64_t class; /* equal: judged alike; 0: never known to be */
    int64_t priority;
    struct shape_podset *podsets;
    size_t n_podsets;
    struct str allowed_flavors;
};

struct wl_heap {
    struct queue_wl **at;
    uint32_t len, cap;
};

struct queue_group {
    struct str key; /* of e->groups: the bytes of lq_id and shape_id */
    uint32_t lq_id, shape_id;
    uint32_t refs; /* workloads */
    struct queue_lq *lq;
    struct queue_shape *shape;
    struct wl_heap heaps[2];
    uint8_t active;     /* which of the two */
    uint32_t n_backoff; /* members with a time before which none wakes them */
    uint32_t lq_slot, heap_slot, parked_slot; /* UINT32_MAX: not there */
};

enum wl_state {
    WL_IDLE,     /* not in any queue */
    WL_WAITING,  /* in its group; active or parked if the group's queue has a cq */
    WL_INFLIGHT, /* the running cycle's head */
};

/* What a podset was given. */
struct held_use {
    uint16_t resource, flavor; /* flavor INTERN_NONE: counted nowhere */
    int64_t amount;
};
struct held_podset {
    struct str name;
    int32_t count;
    size_t n_uses;
    struct held_use *uses;
};

struct wl_texts {
    struct str replaces, parent, invalid;
};

/* What the last cycle that looked at it said; one block, with the causes' texts behind it. */
struct wl_answer {
    enum queue_reason reason;
    enum queue_outcome outcome;
    uint32_t n_victims, n_causes;
    struct queue_cause causes[];
};

/* What only some workloads have. 112 bytes. */
struct wl_extra {
    /* quota */
    struct queue_cq *holds; /* NULL: uses none */
    VEC(struct quota_amount) usage;
    struct held_podset *held; /* one block, with its uses and names */
    uint32_t n_held, holder_slot;
    struct instant reserved_at, requeue_at;
    uint32_t flags;
    /* second pass */
    uint32_t iteration;
    struct instant due;
    struct wl_progress *progress; /* of scans over flavors */
    struct wl_texts *texts;       /* NULL where it has none; one block */
    struct wl_answer *answer;     /* NULL: not looked at yet */
    bool is_prequeued, is_ready;
    bool is_assumed, was_asked; /* admitted by us, not seen written; asked to go */
    bool is_taken;              /* preempted in the running cycle */
};

struct wl_progress {
    int64_t generation; /* of the ClusterQueue */
    uint64_t cycle, class;
    struct progress_entry {
        uint16_t podset, resource;
        int32_t tried;
    } * at;
    size_t len;
    bool is_pending; /* some scan did not end at its last flavor */
};

/* 56 bytes and the name, then the uid: 16 bytes where it is a canonical UUID, else its text. */
struct queue_wl {
    struct queue_wl *next; /* same bucket of e->table */
    struct queue_group *group;
    struct wl_extra *extra; /* NULL for most */
    int64_t order_ns;
    uint32_t hash, digest, state_digest;
    uint32_t pos; /* in its heap */
    uint32_t generation, evaluated;
    uint8_t state; /* enum wl_state */
    uint8_t heap : 1, is_uuid : 1, is_backoff : 1;
    uint8_t name_len, uid_len;
    char text[];
};

struct queue_engine {
    struct queue_config config;
    struct arena arena; /* names that live as long as the engine */
    struct intern flavor_names, resources;
    VEC(struct queue_flavor *) flavors; /* by id */
    MAP(struct queue_check *) checks;
    MAP(struct queue_topology *) topologies;
    MAP(struct queue_ns *) namespaces;
    MAP(struct queue_cohort *) cohorts;
    MAP(struct queue_cq *) cqs;
    MAP(struct queue_lq *) lqs;
    MAP(struct queue_shape *) shapes;
    MAP(struct queue_group *) groups;
    uint32_t next_cq, next_lq, next_shape;
    struct queue_wl **table;
    uint32_t n_table, n_wls;
    struct slab *slabs;
    void *slab_free[64];
    char *slab_at, *slab_end;
    size_t slab_total;
    VEC(struct queue_cq *) ready;   /* cqs with active workloads that may have to be judged */
    VEC(struct queue_cq *) flushes; /* want a flush of their trees */
    VEC(struct queue_cq *) lenders; /* the same, once they have taken what is their own */
    VEC(struct queue_cq *) retries; /* of their own, once nothing else is to be done */
    uint64_t stamp;
    uint32_t n_not_ready; /* holders whose pods are not ready */
    VEC(struct queue_wl *) second_pass;
    bool has_named_shapes; /* shapes whose class is not their own */
    struct quota_log log;
    uint64_t cycle;
    uint64_t events;      /* of workloads so far */
    uint64_t changes;     /* so far, of what judgements depend on */
    uint64_t changes_all; /* the last one that may concern every queue */
    uint32_t n_resting;   /* cqs with active workloads, all judged as things are */
    struct arena scratch; /* emptied by each cycle */
};

static inline bool gate(const struct queue_engine *e, enum queue_gate g)
{
    return e->config.gates >> g & 1;
}

/* ---- wl.c: records of workloads ---- */

struct queue_wl *wl_find(const struct queue_engine *e, struct str key);
struct queue_wl *wl_find_in(const struct queue_engine *e, struct str ns, struct str name);
bool wl_has_uid(const struct queue_wl *wl, struct str uid);
struct queue_wl *wl_make(struct queue_engine *e, const struct queue_workload_spec *spec);
void wl_free(struct queue_engine *e, struct queue_wl *wl);
struct wl_extra *wl_extra(struct queue_wl *wl); /* made where missing */
void wl_extra_free(struct queue_wl *wl);
static inline struct str wl_name(const struct queue_wl *wl)
{
    return str_of(wl->text, wl->name_len);
}
struct str wl_key(struct arena *a, const struct queue_wl *wl);
/* Order of UIDs as strings. */
int wl_uid_cmp(const struct queue_wl *a, const struct queue_wl *b);
/* Where two of them are not 0 and differ, UIDs have their order: what is kept of a workload
 * where it is compared often. */
uint64_t wl_uid_head(const struct queue_wl *wl);
static inline int wl_head_cmp(uint64_t a_head, const struct queue_wl *a, uint64_t b_head,
                              const struct queue_wl *b)
{
    if (a_head && b_head && a_head != b_head)
        return a_head < b_head ? -1 : 1;
    return wl_uid_cmp(a, b);
}
static inline struct queue_cq *wl_cq(const struct queue_wl *wl)
{
    return wl->group->lq->cq;
}
static inline uint32_t wl_flags(const struct queue_wl *wl)
{
    return wl->extra ? wl->extra->flags : 0;
}
/* All empty where it has none. */
static inline struct wl_texts wl_texts(const struct queue_wl *wl)
{
    return wl->extra && wl->extra->texts ? *wl->extra->texts : (struct wl_texts){0};
}

/* The shape of a spec, counted; its requests are kept in it. */
struct queue_shape *shape_get(struct queue_engine *e, const struct queue_workload_spec *spec);
void shape_unref(struct queue_engine *e, struct queue_shape *s);

/* ---- cache.c: quotas and what may use them ---- */

struct queue_cq *cq_find(const struct queue_engine *e, struct str name);
/* Made (not existing) where missing. */
struct queue_cq *cq_ref(struct queue_engine *e, struct str name);
struct queue_cohort *cohort_find(const struct queue_engine *e, struct str name);
struct queue_ns *ns_find(const struct queue_engine *e, struct str name);
/* The LocalQueue's namespace; NULL where it does not exist. */
struct queue_ns *lq_ns(const struct queue_engine *e, struct queue_lq *lq);
struct queue_flavor *flavor_find(const struct queue_engine *e, struct str name);
/* The flavor's number, known or not; INTERN_NONE over the limit. */
uint16_t flavor_number(struct queue_engine *e, struct str name);
/* May its heads be looked at: active and in no cycle. */
bool cq_gives_heads(const struct queue_cq *cq);
void cq_refresh_active(struct queue_engine *e, struct queue_cq *cq);
/* The workload uses what its extra's usage says; or no longer. */
void cache_hold(struct queue_engine *e, struct queue_cq *cq, struct queue_wl *wl);
void cache_release(struct queue_engine *e, struct queue_wl *wl);
/* ---- rank.c ---- */

#define RANK_MAX 16384 /* holders of a ClusterQueue; more are ordered by each search anew */
/* Are its ranks there, made now if need be? Not with more than RANK_MAX holders, nor where
 * admission fair sharing or a holder without a time moves them. */
bool rank_ready(const struct queue_engine *e, struct queue_cq *cq);
/* wl has become a holder; and is about to be none. */
void rank_add(const struct queue_engine *e, struct queue_cq *cq, struct queue_wl *wl);
void rank_remove(struct queue_cq *cq, const struct queue_wl *wl);

/* ---- cache.c, to copy specs ---- */

struct queue_labels labels_copy(struct arena *a, struct queue_labels l);
const struct queue_toleration *tolerations_copy(struct arena *a,
                                                const struct queue_toleration *in, size_t n);

/* ---- engine.c ---- */

/* Something that judgements in the tree of cq depend on has changed; or in every tree. */
void engine_change(struct queue_engine *e, struct queue_cq *cq);
void engine_change_all(struct queue_engine *e);
/* A number that is another one when this head of cq (NULL: any) may be judged otherwise. */
uint64_t engine_changes(const struct queue_engine *e, const struct queue_cq *cq,
                        const struct queue_wl *head);
/* What waits in the tree of n is to be woken before the next cycle. */
void engine_want_flush(struct queue_engine *e, struct quota_node *n);
/* Quota that was held in `cq` came back: see engine_flush(). */
void engine_freed(struct queue_engine *e, struct queue_cq *cq);
/* Wakes who was parked, where something changed for them. Quota that came back wakes its own
 * ClusterQueue first: as long as that admits one after the other within what it owns, the rest
 * of the tree sleeps on. Who borrowed it would be preempted for them in the next cycle. */
void engine_flush(struct queue_engine *e, struct instant now);

/* ---- view.c ---- */

/* Everything that waits, in order; the array is in the arena. */
size_t queue_in_order(struct queue_engine *e, struct arena *a, struct queue_cq *cq,
                      struct queue_wl ***out);
/* Reason and message of the Active condition. */
void cq_active_view(struct queue_engine *e, struct arena *a, const struct queue_cq *cq,
                    struct str *reason, struct str *message);

/* ---- workload.c ---- */

/* Queues a second pass where the workload needs one; true where it was newly queued. */
bool second_pass_queue(struct queue_engine *e, struct queue_wl *wl, uint32_t iteration,
                       struct instant now);
void second_pass_forget(struct queue_engine *e, struct queue_wl *wl);
bool wl_needs_second_pass(const struct queue_wl *wl);
/* May it stand in a queue: not finished, inactive, reserved, on hold or gated. */
bool wl_is_queueable(const struct queue_engine *e, uint32_t flags);
/* Out of everything, and freed. */
void wl_discard(struct queue_engine *e, struct queue_wl *wl);
/* Copies what was given into the extra, and its sums per (flavor, resource). */
void wl_set_held(struct wl_extra *x, const struct held_podset *podsets, size_t n);
/* The holder's place in its ClusterQueue; the workload holds quota. */
static inline struct cq_holder *wl_holder(const struct queue_wl *wl)
{
    return &wl->extra->holds->holders.at[wl->extra->holder_slot];
}

/* ---- afs_ledger.c ---- */

/* The LocalQueue's place in the order is computed anew. */
void afs_refresh(struct queue_engine *e, struct queue_lq *lq);
void afs_refresh_cq(struct queue_engine *e, struct queue_cq *cq);
/* Weighted use of consumed amounts and penalties; +Inf where weight is not above 0. */
double afs_usage_of(const struct queue_engine *e, const struct afs_ledger *l, double weight);
void afs_charge(struct queue_engine *e, struct queue_wl *wl);
void afs_drop(struct queue_engine *e, struct queue_lq *lq, const struct queue_wl *wl);
void afs_settle(struct queue_engine *e, struct queue_wl *wl, struct instant now);

/* ---- pending.c: who waits, in which order ---- */

struct queue_lq *lq_find(const struct queue_engine *e, struct str key);
struct queue_lq *lq_ref(struct queue_engine *e, struct str ns, struct str name);
void lq_attach(struct queue_engine *e, struct queue_lq *lq);
void lq_detach(struct queue_engine *e, struct queue_lq *lq);
/* Not counted for the caller: a workload that points to it adds 1 to refs. */
struct queue_group *group_get(struct queue_engine *e, struct queue_lq *lq,
                              struct queue_shape *shape);
void group_unref(struct queue_engine *e, struct queue_group *g);
/* Into its group, active or parked; it is idle or in flight. */
void pending_push(struct queue_engine *e, struct queue_wl *wl, bool is_parked);
/* Out of its group, or no longer in flight; idle then. */
void pending_remove(struct queue_engine *e, struct queue_wl *wl);
bool pending_is_parked(const struct queue_wl *wl);
/* The best one, now in flight; NULL where there is none. */
struct queue_wl *pending_pop(struct queue_engine *e, struct queue_cq *cq);
/* Did its last scan end before the last flavor? */
bool wl_has_pending_flavors(const struct queue_wl *wl);
/* Backoff over? */
bool pending_may_run(const struct queue_wl *wl, struct instant now);
/* Parks all of the shape, remembers why; how many moved. */
size_t pending_park_shape(struct queue_engine *e, struct queue_cq *cq,
                          const struct queue_shape *shape, enum queue_reason reason);
/* The reason its shape was parked for, or QUEUE_NONE. */
enum queue_reason pending_shape_reason(const struct queue_cq *cq, uint64_t class);
/* No shape counts as refused any more. */
void pending_forget_shapes(struct queue_cq *cq);
/* Wakes what may be woken; how many moved. */
size_t pending_flush(struct queue_engine *e, struct queue_cq *cq, struct instant now);
/* The same for a whole tree. */
size_t pending_flush_node(struct queue_engine *e, struct quota_node *n, struct instant now);
/* Returns to line after an attempt; false where it was there already. */
bool pending_requeue(struct queue_engine *e, struct queue_wl *wl, enum queue_requeue why,
                     enum queue_reason reason, struct instant now);
/* The same, with the place said by the caller. */
bool pending_requeue_as(struct queue_engine *e, struct queue_wl *wl, bool is_immediate_now,
                        enum queue_requeue why, enum queue_reason reason, struct instant now);
/* Its first or next version has arrived; where it stood before it was taken out. */
enum pending_was { WAS_OUT, WAS_ACTIVE, WAS_PARKED };
void pending_update(struct queue_engine *e, struct queue_wl *wl, enum pending_was was,
                    bool is_changed, struct instant now);
/* The order inside a ClusterQueue. */
int pending_cmp(const struct queue_cq *cq, const struct queue_wl *a, const struct queue_wl *b);
/* Weights or ledgers of its LocalQueues changed. */
void pending_reorder(struct queue_engine *e, struct queue_cq *cq);
void cq_forget_preemptor(struct queue_cq *cq, const struct queue_wl *wl);
/* To be looked at with all of its tree, where it has active workloads; and not before the tree
 * changes. */
void cq_ready(struct queue_engine *e, struct queue_cq *cq);
void cq_rest(struct queue_engine *e, struct queue_cq *cq);
bool cq_uses_afs(const struct queue_engine *e, const struct queue_cq *cq);

/* ---- flavor.c: which flavors ---- */

enum possibility {
    POSSIBLE_NO_FIT,
    POSSIBLE_NONE,
    POSSIBLE_PREEMPT,
    POSSIBLE_RECLAIM,
    POSSIBLE_FIT
};

/* The answer of the preemption simulation for one flavor and resource. */
typedef enum possibility possibility_fn(void *ctx, quota_fr fr, int64_t amount,
                                        uint32_t *borrow);

struct assigned_flavor {
    uint16_t resource, flavor;
    uint8_t mode; /* enum queue_mode */
    int32_t tried;
};

struct attempt {
    uint16_t flavor;
    uint8_t mode; /* enum queue_mode */
    uint8_t possibility;
    bool was_simulated;
    uint32_t borrow;
    enum queue_reason reason;
    uint32_t n_texts;
};

struct assigned_podset {
    uint32_t count;
    struct shape_request *requests;
    size_t n_requests;
    struct assigned_flavor *flavors;
    size_t n_flavors;
    struct attempt *attempts;
    size_t n_attempts;
    size_t first_cause, n_causes;
    const char *error; /* an internal error of topology requests, or NULL */
    uint8_t mode;
};

struct assignment {
    struct assigned_podset *podsets;
    size_t n_podsets;
    VEC(struct quota_amount) usage; /* to be charged: per fr, summed */
    uint32_t borrow;
    uint8_t mode; /* enum queue_mode */
    enum queue_reason no_fit;
    VEC(struct queue_cause) causes;
    struct wl_progress *progress; /* to be remembered */
    bool is_partial;              /* some scan did not begin at the first flavor */
};

/* Everything an assignment depends on. */
struct assign_input {
    struct queue_engine *e;
    struct arena *a;
    struct queue_cq *cq;
    struct queue_wl *wl;
    const struct queue_shape *shape;
    const uint32_t *counts;             /* per podset; NULL: all */
    const struct wl_progress *progress; /* where scans go on; NULL: at the first flavor */
    const struct assignment *pinned;    /* only flavors nominated there */
    const struct queue_wl *replaces;    /* older slice */
    possibility_fn *simulate;
    void *ctx;
    struct cycle *cycle; /* of simulate */
};

struct assignment *assign_flavors(const struct assign_input *in);
/* Mode and reason of the whole from those of its podsets. */
void assignment_finish(const struct assign_input *in, struct assignment *as);
/* Usage of an assignment on top of requests: for the preemption search. */
struct quota_amount *assignment_requests(const struct assign_input *in,
                                         const struct assignment *as, size_t *count);
bool mode_is_preferred(const struct queue_cq_spec *spec, enum possibility a, uint32_t a_level,
                       enum possibility b, uint32_t b_level);
/* podset requests for `count` pods. */
int64_t request_for(int64_t total, int32_t pods, uint32_t count);

/* ---- preempt.c, fair.c: whom to evict ---- */

struct victim {
    struct queue_wl *wl;
    enum queue_victim_reason reason;
    bool is_under_way;
};
typedef VEC(struct victim) victim_list;

struct preempt_input {
    struct queue_engine *e;
    struct arena *a;
    struct queue_cq *cq;
    struct queue_wl *wl; /* the preemptor */
    int64_t priority;
    struct instant now;
    const struct quota_amount *requests;
    size_t n_requests;
    const quota_fr *needed; /* short ones */
    size_t n_needed;
};

/* Empty where no set of victims helps. Usage is as before when it returns. */
void preempt_find(const struct preempt_input *in, victim_list *out);
void preempt_fair(const struct preempt_input *in, victim_list *out);
/* Takes a holder's usage out of the tree, or puts it back. */
void snapshot_remove(struct queue_engine *e, struct queue_wl *wl);
void snapshot_add(struct queue_engine *e, struct queue_wl *wl);
bool policy_allows(enum queue_policy policy, int64_t priority, int64_t order_ns,
                   int64_t candidate_priority, int64_t candidate_order_ns);

/* ---- plan.c ---- */

const struct queue_assigned_podset *assignment_view(struct queue_engine *e, struct arena *a,
                                                    const struct queue_shape *shape,
                                                    const struct assignment *as);

/* ---- cycle.c, order.c ---- */

struct entry {
    struct queue_wl *wl;
    struct queue_cq *cq;
    struct assignment *as;
    victim_list victims;
    struct queue_wl *slice; /* older slice that it replaces */
    bool is_second_pass, is_preemptor, is_parked;
    uint64_t changes; /* engine_changes() before anybody was admitted in this cycle */
    const struct str *checks;
    size_t n_checks;
    enum queue_outcome outcome;
    enum queue_requeue requeue;
    enum queue_reason reason;
    bool keeps_progress;
    VEC(struct queue_cause) causes;
    bool is_dropped, is_done;
};
typedef VEC(struct entry *) entry_list;

/* Sorts for classical processing. */
void order_classical(struct queue_engine *e, entry_list *entries);
/* variant.c: the variant of the same parent that holds quota on a more (or a less) favorable
 * flavor; NULL without one, and for what is no variant. */
struct queue_wl *variant_sibling(struct queue_engine *e, const struct entry *x, bool is_better);

/* The fair-sharing tournament over entries of different ClusterQueues, in the scratch arena. */
struct tournament *order_fair(struct queue_engine *e, const entry_list *entries);
/* Who is next. Between two calls only usage of the ClusterQueue of the last one, and above it,
 * may change for good. NULL at the end. */
struct entry *order_fair_next(struct tournament *t);
/* Would a go before b at this node? */
struct contestant {
    struct quota_share share;
    bool borrows; /* on what it asks for */
    bool is_preemptor;
    int64_t priority, order_ns;
};
bool contestant_less(const struct queue_engine *e, const struct contestant *a,
                     const struct contestant *b);
