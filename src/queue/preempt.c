/* preempt.c - whom to evict: priorities and borrowed quota
 *
 * Candidates stand in three lists: those over which the preemptor has a hierarchical advantage
 * (its request fits the quota of a cohort that they are outside of), other ClusterQueues of the
 * tree, and its own. They are taken one by one until the request fits; then those that were not
 * needed are given back. Few are looked at in the end: a heap of the first one of each
 * ClusterQueue yields them in order, and is not made where all of them together would not do.
 */
#include "queue/preempt_priv.h"

#define SUM_MAX 256 /* of its own that a search adds up, to know what may go */

enum list_rank { LIST_HIERARCHICAL, LIST_PRIORITY, LIST_SAME };
enum variant { WITHIN_CQ, HIERARCHICAL, RECLAIM_NO_BORROW, RECLAIM_BORROW };

/* Where the search stands in one ClusterQueue's ranks. */
struct source {
    struct queue_cq *cq;
    size_t next;   /* in its ranks */
    uint32_t bits; /* of what is needed */
    enum queue_policy policy;
    const struct quota_node *lca; /* cohort that joins it and the preemptor; NULL: own queue */
    enum list_rank list;
    bool is_spent; /* nobody of it may go: it, or a cohort below lca, borrows nothing more */
};

struct candidate {
    struct queue_wl *wl;
    int64_t priority, reserved_ns;
    uint64_t uid_head;
    uint32_t source; /* the next one of it follows where it has ranks */
    uint8_t rank;    /* 3 lists of evicted ones, then 3 of the others */
    uint8_t variant;
};

struct search {
    const struct preempt_input *in;
    VEC(struct source) sources;
    VEC(struct candidate) heap;    /* not visited yet */
    VEC(struct candidate) visited; /* in order */
    bool is_heap;                  /* not yet: in the order of collection */
    bool has_hier, has_prio;       /* candidates of these lists */
    bool has_left_out;             /* some of a spent source were not visited */
    /* What may go of each request's quota: of its own, and of others in its tree that may go
     * while it borrows, or only while it does not. At least what candidates use. */
    int64_t *own, *others, *kept;
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

static struct candidate candidate_of(const struct search *s, size_t source,
                                     const struct cq_holder *h)
{
    const struct source *from = &s->sources.at[source];
    bool is_own = from->list == LIST_SAME;

    return (struct candidate){
        .wl = h->wl,
        .priority = h->priority,
        .reserved_ns = h->reserved_ns ? h->reserved_ns : s->in->now.ns,
        .uid_head = h->uid_head,
        .source = (uint32_t)source,
        .rank = (uint8_t)(from->list + (h->is_evicted ? 0 : 3)),
        .variant =
            is_own ? WITHIN_CQ : (uint8_t)variant_of(s->in, h, from->list == LIST_HIERARCHICAL),
    };
}

static bool may_go(const struct search *s, const struct source *from, const struct cq_holder *h)
{
    const struct preempt_input *in = s->in;

    return holder_uses(h, from->bits, in->needed, in->n_needed) &&
           holder_allowed(in, h, from->policy);
}

/* The source's next candidate; false where it has none left. */
static bool next_of(struct search *s, size_t source, struct candidate *out)
{
    struct source *from = &s->sources.at[source];

    while (from->next < from->cq->ranks.len) {
        const struct cq_holder *h = wl_holder(from->cq->ranks.at[from->next++]);
        if (may_go(s, from, h)) {
            *out = candidate_of(s, source, h);
            return true;
        }
    }
    return false;
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

/* The first candidate of a ClusterQueue, or all of them where it has no ranks; are there any?
 */
static bool push_candidates(struct search *s, struct source from)
{
    size_t source = s->sources.len, before = s->heap.len;
    struct candidate c;

    vec_push_in(s->in->a, &s->sources, from);
    if (rank_ready(s->in->e, from.cq)) {
        if (next_of(s, source, &c))
            vec_push_in(s->in->a, &s->heap, c);
        return s->heap.len > before;
    }
    expect(s, from.cq->holders.len);
    vec_each (i, &from.cq->holders)
        if (may_go(s, &from, &from.cq->holders.at[i]))
            vec_push_in(s->in->a, &s->heap, candidate_of(s, source, &from.cq->holders.at[i]));
    return s->heap.len > before;
}

static void collect_own(struct search *s)
{
    const struct preempt_input *in = s->in;
    struct source own = {.cq = in->cq, .policy = in->cq->spec.within, .list = LIST_SAME};

    if (own.policy == POLICY_UNSET || own.policy == POLICY_NEVER)
        return;
    own.bits = needed_bits(in->cq, in->needed, in->n_needed);
    if (!push_candidates(s, own))
        return;
    if (in->cq->holders.len > SUM_MAX) { /* no more than all that its queue uses */
        for (size_t i = 0; i < in->n_requests; i++)
            s->own[i] = MAX((int64_t)0, quota_usage(&in->cq->node, in->requests[i].fr));
        return;
    }
    vec_each (h, &in->cq->holders) {
        if (!may_go(s, &own, &in->cq->holders.at[h]))
            continue;
        const struct wl_extra *x = in->cq->holders.at[h].wl->extra;
        for (size_t i = 0; i < in->n_requests; i++)
            vec_each (k, &x->usage)
                if (x->usage.at[k].fr == in->requests[i].fr)
                    s->own[i] = amount_add(s->own[i], MAX((int64_t)0, x->usage.at[k].amount));
    }
}

static bool forbids_borrowing(const struct preempt_input *in)
{
    const struct queue_cq_spec *q = &in->cq->spec;

    return q->borrow == POLICY_UNSET || q->borrow == POLICY_NEVER;
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
        struct queue_cq *cq = container_of(child, struct queue_cq, node);
        struct source from = {.cq = cq,
                              .bits = needed_bits(cq, in->needed, in->n_needed),
                              .policy = in->cq->spec.reclaim,
                              .lca = lca,
                              .list = has_advantage ? LIST_HIERARCHICAL : LIST_PRIORITY};
        if (!push_candidates(s, from))
            continue;
        s->has_hier |= has_advantage;
        s->has_prio |= !has_advantage;
        int64_t *sums = !has_advantage && forbids_borrowing(in) ? s->kept : s->others;
        for (size_t i = 0; i < in->n_requests; i++)
            sums[i] =
                amount_add(sums[i], MAX((int64_t)0, quota_usage(child, in->requests[i].fr)));
    }
}

static bool under_nominal(const struct preempt_input *in)
{
    for (size_t i = 0; i < in->n_needed; i++)
        if (quota_usage(&in->cq->node, in->needed[i]) >=
            quota_nominal(&in->cq->node, in->needed[i]))
            return false;
    return true;
}

/* Would the requests be within its own quota, were all of its own candidates gone? */
static bool may_stay_within(const struct search *s)
{
    const struct preempt_input *in = s->in;

    for (size_t i = 0; i < in->n_requests; i++)
        if (quota_borrows_with(&in->cq->node, in->requests[i].fr,
                               amount_sub(in->requests[i].amount, s->own[i])))
            return false;
    return true;
}

/* Are those of any use that may go only while it does not borrow? */
static bool may_reclaim(const struct search *s)
{
    return !forbids_borrowing(s->in) || (under_nominal(s->in) && may_stay_within(s));
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
    bool reclaims = may_reclaim(s);
    for (struct quota_node *a = in->cq->node.parent; a; a = a->parent) {
        if (advantage || reclaims)
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
    return wl_head_cmp(a->uid_head, a->wl, b->uid_head, b->wl) < 0;
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

static void make_heap(struct search *s)
{
    if (s->is_heap)
        return;
    s->is_heap = true;
    for (size_t i = s->heap.len / 2 + 1; i-- > 0;)
        if (i < s->heap.len)
            sift_down(s, i);
}

/* Takes the first one off the heap; the next one of its source comes in its place. */
static struct candidate pop(struct search *s)
{
    struct candidate c = s->heap.at[0];
    const struct source *from = &s->sources.at[c.source];

    if (from->is_spent || !from->cq->is_ranked || !next_of(s, c.source, &s->heap.at[0])) {
        s->heap.at[0] = vec_last(&s->heap);
        s->heap.len--;
    }
    if (s->heap.len)
        sift_down(s, 0);
    return c;
}

/* The i-th candidate in order, without those of spent sources; NULL past the last. */
static const struct candidate *candidate_at(struct search *s, size_t i)
{
    if (i < s->visited.len)
        return &s->visited.at[i];
    make_heap(s);
    while (s->heap.len) {
        struct candidate c = pop(s);
        if (s->sources.at[c.source].is_spent) {
            s->has_left_out = true;
            continue;
        }
        vec_push_in(s->in->a, &s->visited, c);
        return &s->visited.at[i];
    }
    return NULL;
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

/* A source is spent for the rest of an attempt, which only ever lowers what is used. */
static bool is_valid(struct search *s, const struct candidate *c, bool may_borrow)
{
    const struct preempt_input *in = s->in;
    struct source *from = &s->sources.at[c->source];

    if (!from->lca)
        return true;
    if (from->is_spent || (may_borrow && c->variant == RECLAIM_NO_BORROW))
        return false;
    for (const struct quota_node *n = &from->cq->node; n && n != from->lca; n = n->parent)
        from->is_spent |= quota_within(n, in->needed, in->n_needed);
    return !from->is_spent;
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

/* Could they fit if all that may go went? Who goes frees no more than it uses. */
static bool is_hopeless(const struct search *s, bool may_borrow)
{
    const struct preempt_input *in = s->in;

    for (size_t i = 0; i < in->n_requests; i++) {
        int64_t free = MAX((int64_t)0, quota_available(&in->cq->node, in->requests[i].fr));
        free = amount_add(free, amount_add(s->own[i], s->others[i]));
        if (!may_borrow)
            free = amount_add(free, s->kept[i]);
        if (in->requests[i].amount > free)
            return true;
    }
    return !may_borrow && in->cq->node.parent && !may_stay_within(s);
}

/* All usage is as it was: every candidate may go again. */
static void begin_again(struct search *s)
{
    struct search next = {.in = s->in, .own = s->own, .others = s->others, .kept = s->kept};
    size_t n = 3 * s->in->n_requests;

    if (!s->has_left_out) {
        vec_each (i, &s->sources)
            s->sources.at[i].is_spent = false;
        return;
    }
    memset(s->own, 0, n * sizeof(*s->own));
    *s = next;
    collect_own(s);
    collect_others(s);
}

static bool attempt(struct search *s, bool may_borrow, victim_list *out)
{
    const struct preempt_input *in = s->in;
    size_t mark = quota_mark(&in->e->log);
    const struct candidate *c;
    bool fits = false;

    out->len = 0;
    if (is_hopeless(s, may_borrow))
        return false;
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

void preempt_find(const struct preempt_input *in, victim_list *out)
{
    bool forbidden = forbids_borrowing(in);
    struct search s = {.in = in};

    out->len = 0;
    s.own = arena_array(in->a, int64_t, 3 * in->n_requests);
    s.others = s.own + in->n_requests;
    s.kept = s.others + in->n_requests;
    collect_own(&s);
    collect_others(&s);
    if (!s.heap.len)
        return;
    if ((!s.has_hier && !s.has_prio) || (forbidden && !under_nominal(in))) {
        attempt(&s, true, out);
        return;
    }
    bool first = !(forbidden && !s.has_hier); /* borrowing first? */
    if (attempt(&s, first, out))
        return;
    begin_again(&s);
    attempt(&s, !first, out);
}
