/* preempt.c - whom to evict: priorities and borrowed quota
 *
 * Candidates stand in three lists: those over which the preemptor has a hierarchical advantage
 * (its request fits the quota of a cohort that they are outside of), other ClusterQueues of the
 * tree, and its own. They are taken one by one until the request fits; then those that were not
 * needed are given back. A heap yields them in order, because few are looked at in the end.
 */
#include "queue/preempt_priv.h"

enum list_rank { LIST_HIERARCHICAL, LIST_PRIORITY, LIST_SAME };
enum variant { WITHIN_CQ, HIERARCHICAL, RECLAIM_NO_BORROW, RECLAIM_BORROW };

struct candidate {
    struct queue_wl *wl;
    int64_t priority, reserved_ns;
    const struct quota_node *lca; /* cohort that joins it and the preemptor; NULL: own queue */
    uint8_t rank;                 /* 3 lists of evicted ones, then 3 of the others */
    uint8_t list, variant;
};

struct search {
    const struct preempt_input *in;
    VEC(struct candidate) heap;    /* not visited yet */
    VEC(struct candidate) visited; /* in order */
    size_t n_hier, n_prio;
};

/* ---- usage taken out for a while ---- */

void snapshot_remove(struct queue_engine *e, struct queue_wl *wl)
{
    struct wl_extra *x = wl->extra;

    wl_holder(wl)->is_removed = true;
    vec_each (i, &x->usage)
        quota_remove(&x->holds->node, x->usage.at[i].fr, x->usage.at[i].amount, &e->log);
}

void snapshot_add(struct queue_engine *e, struct queue_wl *wl)
{
    struct wl_extra *x = wl->extra;

    wl_holder(wl)->is_removed = false;
    vec_each (i, &x->usage)
        quota_add(&x->holds->node, x->usage.at[i].fr, x->usage.at[i].amount, &e->log);
}

/* ---- who may be a candidate ---- */

bool policy_allows(enum queue_policy policy, int64_t priority, int64_t order_ns,
                   int64_t candidate_priority, int64_t candidate_order_ns)
{
    switch (policy) {
    case POLICY_UNSET:
    case POLICY_NEVER:
        return false;
    case POLICY_ANY:
        return true;
    case POLICY_LOWER:
        return priority > candidate_priority;
    case POLICY_LOWER_OR_NEWER:
        return priority > candidate_priority ||
               (priority == candidate_priority && order_ns < candidate_order_ns);
    }
    return false;
}

uint32_t needed_bits(const struct queue_cq *cq, const quota_fr *needed, size_t n)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        const struct quota_cell *c = quota_cell(&cq->node, needed[i]);
        if (c)
            bits |= holder_bit((size_t)(c - cq->node.cells.at));
    }
    return bits;
}

bool holder_uses(const struct cq_holder *h, uint32_t bits, const quota_fr *needed, size_t n)
{
    bits &= h->fr_bits;
    if (!bits || bits & ~HOLDER_SHARED_BIT)
        return bits;
    const struct wl_extra *x = h->wl->extra; /* the last bit stands for many */
    vec_each (i, &x->usage)
        for (size_t k = 0; k < n; k++)
            if (x->usage.at[i].fr == needed[k])
                return true;
    return false;
}

bool holder_allowed(const struct preempt_input *in, const struct cq_holder *h,
                    enum queue_policy policy)
{
    if (h->is_removed)
        return false;
    if (policy == POLICY_ANY)
        return true;
    if (policy == POLICY_LOWER_OR_NEWER && in->priority == h->priority)
        return in->wl->order_ns < h->wl->order_ns;
    return policy_allows(policy, in->priority, 0, h->priority, 0);
}

static enum variant variant_of(const struct preempt_input *in, const struct cq_holder *h,
                               bool has_advantage)
{
    const struct queue_cq_spec *q = &in->cq->spec;

    if (has_advantage)
        return HIERARCHICAL;
    if (q->borrow == POLICY_UNSET || q->borrow == POLICY_NEVER)
        return RECLAIM_NO_BORROW;
    if (h->priority >= in->priority || (q->has_threshold && h->priority > q->threshold))
        return RECLAIM_NO_BORROW;
    return RECLAIM_BORROW;
}

static void push_candidate(struct search *s, const struct cq_holder *h, enum list_rank list,
                           enum variant variant, const struct quota_node *lca)
{
    struct candidate c = {
        .wl = h->wl,
        .priority = h->priority,
        .reserved_ns = h->reserved_ns ? h->reserved_ns : s->in->now.ns,
        .lca = lca,
        .rank = (uint8_t)(list + (h->is_evicted ? 0 : 3)),
        .list = (uint8_t)list,
        .variant = (uint8_t)variant,
    };
    vec_push_in(s->in->a, &s->heap, c);
}

/* Room for n more, so that a long list is not copied as it grows. */
static void expect(struct search *s, size_t n)
{
    size_t size = sizeof(struct candidate), cap = s->heap.len + n;

    if (cap <= s->heap.cap)
        return;
    cap = MAX(cap, 2 * s->heap.cap);
    struct candidate *at = arena_raw(s->in->a, size_mul(cap, size), _Alignof(struct candidate));
    if (s->heap.len)
        memcpy(at, s->heap.at, s->heap.len * size);
    s->heap.at = at;
    s->heap.cap = cap;
}

static void collect_own(struct search *s)
{
    const struct preempt_input *in = s->in;
    uint32_t bits = needed_bits(in->cq, in->needed, in->n_needed);

    if (in->cq->spec.within == POLICY_UNSET || in->cq->spec.within == POLICY_NEVER)
        return;
    expect(s, in->cq->holders.len);

    vec_each (i, &in->cq->holders) {
        const struct cq_holder *h = &in->cq->holders.at[i];
        if (holder_uses(h, bits, in->needed, in->n_needed) &&
            holder_allowed(in, h, in->cq->spec.within))
            push_candidate(s, h, LIST_SAME, WITHIN_CQ, NULL);
    }
}

static void collect(struct search *s, struct quota_node *n, const struct quota_node *skip,
                    const struct quota_node *lca, bool has_advantage)
{
    const struct preempt_input *in = s->in;

    vec_each (k, &n->children) {
        struct quota_node *child = n->children.at[k];
        if (child == skip || child == &in->cq->node ||
            quota_within(child, in->needed, in->n_needed))
            continue;
        if (!child->is_leaf) {
            collect(s, child, NULL, lca, has_advantage);
            continue;
        }
        const struct queue_cq *cq = container_of(child, struct queue_cq, node);
        uint32_t bits = needed_bits(cq, in->needed, in->n_needed);
        expect(s, cq->holders.len);
        vec_each (i, &cq->holders) {
            const struct cq_holder *h = &cq->holders.at[i];
            if (!holder_uses(h, bits, in->needed, in->n_needed) ||
                !holder_allowed(in, h, in->cq->spec.reclaim))
                continue;
            push_candidate(s, h, has_advantage ? LIST_HIERARCHICAL : LIST_PRIORITY,
                           variant_of(in, h, has_advantage), lca);
            s->n_hier += has_advantage;
            s->n_prio += !has_advantage;
        }
    }
}

static void collect_others(struct search *s)
{
    const struct preempt_input *in = s->in;
    struct quota_amount *rest = arena_array(in->a, struct quota_amount, in->n_requests);
    enum queue_policy policy = in->cq->spec.reclaim;
    const struct quota_node *skip = NULL;

    if (policy == POLICY_UNSET || policy == POLICY_NEVER)
        return;
    bool advantage = quota_fits_within(&in->cq->node, in->requests, in->n_requests, rest);
    for (struct quota_node *a = in->cq->node.parent; a; a = a->parent) {
        collect(s, a, skip, a, advantage);
        advantage |= quota_fits_within(a, rest, in->n_requests, rest);
        skip = a;
    }
}

/* ---- their order ---- */

int candidate_afs_cmp(const struct preempt_input *in, const struct queue_wl *a,
                      const struct queue_wl *b)
{
    const struct queue_lq *x = a->group->lq, *y = b->group->lq;

    if (x == y || !cq_uses_afs(in->e, in->cq) || !x->ledger.exists || !y->ledger.exists ||
        x->afs_usage == y->afs_usage)
        return 0;
    return x->afs_usage > y->afs_usage ? -1 : 1;
}

int victim_cmp(const struct preempt_input *in, const struct victim_key *a,
               const struct victim_key *b)
{
    int order;

    if (a->is_evicted != b->is_evicted)
        return a->is_evicted ? -1 : 1;
    if (a->is_own != b->is_own)
        return a->is_own ? 1 : -1;
    if (a->cq == b->cq && (order = candidate_afs_cmp(in, a->wl, b->wl)) != 0)
        return order;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->reserved_ns != b->reserved_ns)
        return a->reserved_ns > b->reserved_ns ? -1 : 1;
    return wl_uid_cmp(a->wl, b->wl);
}

static bool before(const struct search *s, const struct candidate *a, const struct candidate *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (unlikely(s->in->e->config.afs)) {
        const struct queue_cq *x = a->wl->extra->holds, *y = b->wl->extra->holds;
        int order = x == y ? candidate_afs_cmp(s->in, a->wl, b->wl) : 0;
        if (order)
            return order < 0;
    }
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->reserved_ns != b->reserved_ns)
        return a->reserved_ns > b->reserved_ns;
    return wl_uid_cmp(a->wl, b->wl) < 0;
}

static void sift_down(struct search *s, size_t i)
{
    struct candidate x = s->heap.at[i];

    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= s->heap.len)
            break;
        if (k + 1 < s->heap.len && before(s, &s->heap.at[k + 1], &s->heap.at[k]))
            k++;
        if (!before(s, &s->heap.at[k], &x))
            break;
        s->heap.at[i] = s->heap.at[k];
        i = k;
    }
    s->heap.at[i] = x;
}

/* The i-th candidate in order; NULL past the last. */
static const struct candidate *candidate_at(struct search *s, size_t i)
{
    if (i < s->visited.len)
        return &s->visited.at[i];
    if (!s->heap.len)
        return NULL;
    vec_push_in(s->in->a, &s->visited, s->heap.at[0]);
    s->heap.at[0] = vec_last(&s->heap);
    s->heap.len--;
    if (s->heap.len)
        sift_down(s, 0);
    return &s->visited.at[i];
}

/* ---- the search ---- */

bool preempt_fits(const struct preempt_input *in, bool may_borrow)
{
    const struct quota_node *n = &in->cq->node;

    for (size_t i = 0; i < in->n_requests; i++) {
        quota_fr fr = in->requests[i].fr;
        int64_t v = in->requests[i].amount;
        if (!may_borrow && n->parent && quota_borrows_with(n, fr, v))
            return false;
        if (v > MAX((int64_t)0, quota_available(n, fr)))
            return false;
    }
    return true;
}

static bool is_valid(const struct search *s, const struct candidate *c, bool may_borrow)
{
    const struct preempt_input *in = s->in;

    if (!c->lca)
        return true;
    if (may_borrow && c->variant == RECLAIM_NO_BORROW)
        return false;
    for (const struct quota_node *n = &c->wl->extra->holds->node; n && n != c->lca;
         n = n->parent)
        if (quota_within(n, in->needed, in->n_needed))
            return false;
    return true;
}

static enum queue_victim_reason reason_of(const struct candidate *c)
{
    switch ((enum variant)c->variant) {
    case WITHIN_CQ:
        return IN_CLUSTER_QUEUE;
    case HIERARCHICAL:
    case RECLAIM_NO_BORROW:
        return IN_COHORT_RECLAMATION;
    case RECLAIM_BORROW:
        break;
    }
    return IN_COHORT_BORROWING;
}

void preempt_fill_back(const struct preempt_input *in, victim_list *out, bool may_borrow)
{
    for (size_t i = out->len; i-- > 0;) {
        if (i + 1 >= out->len)
            continue; /* the one that made it fit */
        snapshot_add(in->e, out->at[i].wl);
        if (preempt_fits(in, may_borrow)) {
            out->at[i] = vec_last(out);
            out->len--;
        } else {
            snapshot_remove(in->e, out->at[i].wl);
        }
    }
}

void preempt_restore(const struct preempt_input *in, const victim_list *out, size_t mark)
{
    vec_each (i, out)
        wl_holder(out->at[i].wl)->is_removed = false;
    quota_undo(&in->e->log, mark);
}

static bool attempt(struct search *s, bool may_borrow, victim_list *out)
{
    const struct preempt_input *in = s->in;
    size_t mark = quota_mark(&in->e->log);
    const struct candidate *c;
    bool fits = false;

    out->len = 0;
    for (size_t i = 0; !fits && (c = candidate_at(s, i)); i++) {
        if (!is_valid(s, c, may_borrow))
            continue;
        snapshot_remove(in->e, c->wl);
        vec_push_in(in->a, out, (struct victim){c->wl, reason_of(c)});
        fits = preempt_fits(in, may_borrow);
    }
    if (fits)
        preempt_fill_back(in, out, may_borrow);
    preempt_restore(in, out, mark);
    if (!fits)
        out->len = 0;
    return fits;
}

static bool under_nominal(const struct preempt_input *in)
{
    for (size_t i = 0; i < in->n_needed; i++)
        if (quota_usage(&in->cq->node, in->needed[i]) >=
            quota_nominal(&in->cq->node, in->needed[i]))
            return false;
    return true;
}

void preempt_find(const struct preempt_input *in, victim_list *out)
{
    const struct queue_cq_spec *q = &in->cq->spec;
    bool forbidden = q->borrow == POLICY_UNSET || q->borrow == POLICY_NEVER;
    struct search s = {.in = in};

    out->len = 0;
    collect_own(&s);
    collect_others(&s);
    for (size_t i = s.heap.len / 2 + 1; i-- > 0;)
        if (i < s.heap.len)
            sift_down(&s, i);
    if (!s.heap.len)
        return;
    if ((!s.n_hier && !s.n_prio) || (forbidden && !under_nominal(in))) {
        attempt(&s, true, out);
        return;
    }
    bool first = !(forbidden && !s.n_hier); /* borrowing first? */
    if (!attempt(&s, first, out))
        attempt(&s, !first, out);
}
