/* fair.c - whom to evict under fair sharing
 *
 * ClusterQueues give up workloads in the order of their dominant resource share: the tree is
 * walked from the root into the child with the highest share. Whether a ClusterQueue has to
 * give one up is decided by comparing the two children of the lowest common ancestor, on the
 * preemptor's side and on the target's.
 */
#include "queue/preempt_priv.h"

struct fair_target {
    struct queue_cq *cq;
    VEC(struct victim_key) queue; /* best victim first */
    size_t next;
};

struct fair_search {
    const struct preempt_input *in;
    struct fair_order order;
    VEC(struct fair_target) targets;
    victim_list *out;
};

/* ---- the order of ClusterQueues ---- */

static bool is_pruned(const struct fair_order *o, const struct quota_node *n)
{
    return n->stamp == o->stamp;
}

static void prune(const struct fair_order *o, struct quota_node *n)
{
    n->stamp = o->stamp;
}

static bool is_on_path(const struct fair_order *o, const struct quota_node *n)
{
    for (const struct quota_node *x = &o->own->node; x; x = x->parent)
        if (x == n)
            return true;
    return false;
}

static struct queue_cq *order_step(struct fair_order *o, struct quota_node *n)
{
    struct quota_node *best_cq = NULL, *best_cohort = NULL;
    struct quota_share cq_share = {0}, cohort_share = {0};

    vec_each (i, &n->children) {
        struct quota_node *child = n->children.at[i];
        if (is_pruned(o, child))
            continue;
        struct quota_share share = quota_share(child, &o->e->resources);
        if (!child->is_leaf) {
            if (!share.is_borrowing && !is_on_path(o, child))
                prune(o, child);
            else if (!best_cohort || quota_share_cmp(share, cohort_share) >= 0)
                best_cohort = child, cohort_share = share;
            continue;
        }
        struct queue_cq *cq = container_of(child, struct queue_cq, node);
        const struct victim_key *first = o->first(o->ctx, cq);
        if (!first || (!share.is_borrowing && cq != o->own)) {
            prune(o, child);
            continue;
        }
        int order = best_cq ? quota_share_cmp(share, cq_share) : 1;
        if (order == 0) {
            struct queue_cq *other = container_of(best_cq, struct queue_cq, node);
            order = victim_cmp(o->in, first, o->first(o->ctx, other)) < 0 ? 1 : -1;
        }
        if (order > 0)
            best_cq = child, cq_share = share;
    }
    if (!best_cq && !best_cohort) {
        prune(o, n);
        return NULL;
    }
    if (best_cohort && (!best_cq || quota_share_cmp(cohort_share, cq_share) >= 0))
        return order_step(o, best_cohort);
    return container_of(best_cq, struct queue_cq, node);
}

struct queue_cq *fair_order_next(struct fair_order *o)
{
    struct quota_node *root = quota_root(&o->own->node);

    if (!root || root == &o->own->node)
        return o->first(o->ctx, o->own) ? o->own : NULL;
    while (!is_pruned(o, root)) {
        struct queue_cq *cq = order_step(o, root);
        if (cq)
            return cq;
    }
    return NULL;
}

/* ---- candidates ---- */

static struct fair_target *target_of(const struct fair_search *s, const struct queue_cq *cq)
{
    if (cq->scratch >= s->targets.len || s->targets.at[cq->scratch].cq != cq)
        return NULL;
    return &s->targets.at[cq->scratch];
}

static const struct victim_key *first_of(void *ctx, struct queue_cq *cq)
{
    const struct fair_target *t = target_of(ctx, cq);
    return t && t->next < t->queue.len ? &t->queue.at[t->next] : NULL;
}

static void collect_cq(struct fair_search *s, struct queue_cq *cq, enum queue_policy policy)
{
    const struct preempt_input *in = s->in;
    uint32_t bits = needed_bits(cq, in->needed, in->n_needed);
    struct fair_target t = {.cq = cq};

    vec_each (i, &cq->holders) {
        const struct cq_holder *h = &cq->holders.at[i];
        if (!holder_uses(h, bits, in->needed, in->n_needed) || !holder_allowed(in, h, policy))
            continue;
        struct victim_key k = {h->wl,         cq,
                               h->priority,   h->reserved_ns ? h->reserved_ns : in->now.ns,
                               h->is_evicted, cq == in->cq};
        vec_push_in(in->a, &t.queue, k);
    }
    if (!t.queue.len)
        return;
    cq->scratch = (uint32_t)s->targets.len;
    vec_push_in(in->a, &s->targets, t);
}

static bool borrows_needed(const struct preempt_input *in, const struct quota_node *n)
{
    for (size_t i = 0; i < in->n_needed; i++)
        if (quota_borrows_with(n, in->needed[i], 0))
            return true;
    return false;
}

static void collect_tree(struct fair_search *s, struct quota_node *n)
{
    vec_each (i, &n->children) {
        struct quota_node *child = n->children.at[i];
        if (!child->is_leaf)
            collect_tree(s, child);
        else if (child != &s->in->cq->node && borrows_needed(s->in, child))
            collect_cq(s, container_of(child, struct queue_cq, node), s->in->cq->spec.reclaim);
    }
}

static int by_victim(void *in, const void *a, const void *b)
{
    return victim_cmp(in, a, b);
}

static void collect_all(struct fair_search *s)
{
    const struct preempt_input *in = s->in;
    struct quota_node *root = quota_root(&in->cq->node);
    enum queue_policy reclaim = in->cq->spec.reclaim;

    collect_cq(s, in->cq, in->cq->spec.within);
    if (root && root != &in->cq->node && reclaim != POLICY_UNSET && reclaim != POLICY_NEVER)
        collect_tree(s, root);
    vec_each (i, &s->targets) {
        struct fair_target *t = &s->targets.at[i];
        sort_with(t->queue.at, t->queue.len, sizeof(*t->queue.at), by_victim,
                  (void *)(uintptr_t)in);
    }
}

/* ---- shares ---- */

/* The children of the lowest common ancestor on both sides. */
static void almost_lca(const struct quota_node *own, const struct quota_node *target,
                       const struct quota_node **own_side,
                       const struct quota_node **target_side)
{
    for (const struct quota_node *t = target; t; t = t->parent)
        for (const struct quota_node *o = own; o; o = o->parent)
            if (o->parent && o->parent == t->parent) {
                *own_side = o;
                *target_side = t;
                return;
            }
    *own_side = own;
    *target_side = target;
}

static bool is_infinite(struct quota_share s)
{
    return s.weight == 0 && s.ratio != 0;
}

/* ---- the strategies ---- */

static bool fits_now(struct fair_search *s)
{
    struct queue_engine *e = s->in->e;
    size_t mark = quota_mark(&e->log);

    for (size_t i = 0; i < s->in->n_requests; i++)
        quota_remove(&s->in->cq->node, s->in->requests[i].fr, s->in->requests[i].amount,
                     &e->log);
    bool fits = preempt_fits(s->in, true);
    quota_undo(&e->log, mark);
    return fits;
}

static bool take(struct fair_search *s, struct fair_target *t, enum queue_victim_reason reason)
{
    struct queue_wl *wl = t->queue.at[t->next++].wl;

    if (!wl_holder(wl)->is_removed)
        snapshot_remove(s->in->e, wl);
    vec_push_in(s->in->a, s->out, (struct victim){wl, reason});
    return fits_now(s);
}

static bool strategy_allows(bool by_final, struct quota_share own, struct quota_share old,
                            struct quota_share new)
{
    return by_final ? quota_share_cmp(own, new) <= 0 : quota_share_cmp(own, old) < 0;
}

/* One visit of a ClusterQueue; true where the preemptor fits now. */
static bool first_visit(struct fair_search *s, struct fair_target *t, bool by_final,
                        struct fair_target *retry)
{
    struct queue_engine *e = s->in->e;
    const struct quota_node *own_side, *target_side;

    almost_lca(&s->in->cq->node, &t->cq->node, &own_side, &target_side);
    struct quota_share own = quota_share(own_side, &e->resources);
    struct quota_share old = quota_share(target_side, &e->resources);
    if (is_infinite(own) && !is_infinite(old)) {
        for (; t->next < t->queue.len; t->next++)
            vec_push_in(s->in->a, &retry->queue, t->queue.at[t->next]);
        return false;
    }
    while (t->next < t->queue.len) {
        struct queue_wl *wl = t->queue.at[t->next].wl;
        size_t mark = quota_mark(&e->log);
        snapshot_remove(e, wl);
        struct quota_share new = quota_share(target_side, &e->resources);
        if (strategy_allows(by_final, own, old, new))
            return take(s, t, IN_COHORT_FAIR_SHARING);
        quota_undo(&e->log, mark);
        wl_holder(wl)->is_removed = false;
        vec_push_in(s->in->a, &retry->queue, t->queue.at[t->next++]);
    }
    return false;
}

static bool first_strategy(struct fair_search *s, bool by_final, struct fair_target *retry)
{
    const struct preempt_input *in = s->in;
    bool within =
        gate(in->e, QUEUE_GATE_FAIR_WITHIN_NOMINAL) && !borrows_needed(in, &in->cq->node);
    struct queue_cq *cq;

    while ((cq = fair_order_next(&s->order))) {
        struct fair_target *t = target_of(s, cq);
        bool fits;
        if (cq == in->cq)
            fits = take(s, t, IN_CLUSTER_QUEUE);
        else if (within)
            fits = take(s, t, IN_COHORT_RECLAMATION);
        else
            fits = first_visit(s, t, by_final, &retry[cq->scratch]);
        if (fits)
            return true;
    }
    return false;
}

static bool second_strategy(struct fair_search *s)
{
    struct queue_engine *e = s->in->e;
    struct queue_cq *cq;

    while ((cq = fair_order_next(&s->order))) {
        const struct quota_node *own_side, *target_side;
        struct fair_target *t = target_of(s, cq);
        almost_lca(&s->in->cq->node, &cq->node, &own_side, &target_side);
        struct quota_share own = quota_share(own_side, &e->resources);
        struct quota_share old = quota_share(target_side, &e->resources);
        if (quota_share_cmp(own, old) < 0 && take(s, t, IN_COHORT_FAIR_SHARING))
            return true;
        t->next = t->queue.len; /* at most one of each */
    }
    return false;
}

static void reset_order(struct fair_search *s)
{
    s->order = (struct fair_order){.e = s->in->e,
                                   .in = s->in,
                                   .own = s->in->cq,
                                   .first = first_of,
                                   .ctx = s,
                                   .stamp = ++s->in->e->stamp};
}

void preempt_fair(const struct preempt_input *in, victim_list *out)
{
    struct queue_engine *e = in->e;
    size_t mark = quota_mark(&e->log);
    struct fair_search s = {.in = in, .out = out};

    out->len = 0;
    collect_all(&s);
    if (!s.targets.len)
        return;
    for (size_t i = 0; i < in->n_requests; i++)
        quota_add(&in->cq->node, in->requests[i].fr, in->requests[i].amount, &e->log);
    struct fair_target *retry = arena_array(in->a, struct fair_target, s.targets.len);

    reset_order(&s);
    bool ok = first_strategy(&s, !e->config.fair_initial_only, retry);
    if (!ok && !e->config.fair_initial_only && !e->config.fair_final_only) {
        for (size_t i = 0; i < s.targets.len; i++) {
            retry[i].cq = s.targets.at[i].cq;
            s.targets.at[i] = retry[i];
        }
        reset_order(&s);
        ok = second_strategy(&s);
    }
    for (size_t i = 0; ok && i < in->n_requests; i++)
        quota_remove(&in->cq->node, in->requests[i].fr, in->requests[i].amount, &e->log);
    if (ok)
        preempt_fill_back(in, out, true);
    preempt_restore(in, out, mark);
    if (!ok)
        out->len = 0;
}
