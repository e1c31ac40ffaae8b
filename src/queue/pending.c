/* pending.c - who waits, in which order, and what wakes whom
 *
 * Inside a ClusterQueue the order is: (usage of the LocalQueue, with admission fair sharing,)
 * the sticky preemptor, priority, time, uid. Members of a group agree on all but the last two
 * and the stickiness, so a ClusterQueue's heap holds groups and each group a heap of workloads.
 */
#include "queue/engine_priv.h"

#define NOWHERE UINT32_MAX
#define MANY_GROUPS                                                                            \
    16 /* woken at once: one pass over the heap is cheaper than a place for each */
#define BULK_KEPT 64 /* entries whose room stays when they are forgotten */
#define ARITY 4      /* children of a heap's element: a wide heap touches fewer cache lines */

bool cq_uses_afs(const struct queue_engine *e, const struct queue_cq *cq)
{
    return e->config.afs && gate(e, QUEUE_GATE_AFS) && cq->spec.uses_afs;
}

/* ---- order ---- */

static bool is_sticky(const struct queue_cq *cq, const struct queue_wl *wl)
{
    return cq && cq->is_sticky && cq->preemptor == wl;
}

/* Of workloads in one group. */
static bool wl_less(const struct queue_cq *cq, const struct queue_wl *a,
                    const struct queue_wl *b)
{
    if (unlikely(cq && cq->is_sticky) && is_sticky(cq, a) != is_sticky(cq, b))
        return is_sticky(cq, a);
    if (a->order_ns != b->order_ns)
        return a->order_ns < b->order_ns;
    return wl_uid_cmp(a, b) < 0;
}

int pending_cmp(const struct queue_cq *cq, const struct queue_wl *a, const struct queue_wl *b)
{
    const struct queue_group *ga = a->group, *gb = b->group;

    if (ga->lq->afs_usage != gb->lq->afs_usage) /* 0 without admission fair sharing */
        return ga->lq->afs_usage < gb->lq->afs_usage ? -1 : 1;
    if (is_sticky(cq, a) != is_sticky(cq, b))
        return is_sticky(cq, a) ? -1 : 1;
    if (ga->shape->priority != gb->shape->priority)
        return ga->shape->priority > gb->shape->priority ? -1 : 1;
    if (a->order_ns != b->order_ns)
        return a->order_ns < b->order_ns ? -1 : 1;
    return wl_uid_cmp(a, b);
}

/* ---- a group's heap of workloads ---- */

static void wl_set(struct wl_heap *h, uint32_t i, struct queue_wl *wl)
{
    h->at[i] = wl;
    wl->pos = i;
}

static void wl_up(const struct queue_cq *cq, struct wl_heap *h, uint32_t i)
{
    struct queue_wl *wl = h->at[i];

    while (i > 0 && wl_less(cq, wl, h->at[(i - 1) / ARITY])) {
        wl_set(h, i, h->at[(i - 1) / ARITY]);
        i = (i - 1) / ARITY;
    }
    wl_set(h, i, wl);
}

static void wl_down(const struct queue_cq *cq, struct wl_heap *h, uint32_t i)
{
    struct queue_wl *wl = h->at[i];

    for (;;) {
        uint32_t first = i * ARITY + 1, best;
        if (first >= h->len)
            break;
        uint32_t last = MIN(first + ARITY, h->len);
        for (uint32_t k = first; k < last; k++)
            __builtin_prefetch(h->at[k]);
        best = first;
        for (uint32_t k = first + 1; k < last; k++)
            if (wl_less(cq, h->at[k], h->at[best]))
                best = k;
        if (!wl_less(cq, h->at[best], wl))
            break;
        wl_set(h, i, h->at[best]);
        i = best;
    }
    wl_set(h, i, wl);
}

static void wl_insert(const struct queue_cq *cq, struct wl_heap *h, struct queue_wl *wl)
{
    if (h->len == h->cap) {
        h->cap = h->cap ? h->cap + h->cap / 2 + 1 : 1;
        h->at = mem_grow(h->at, size_mul(h->cap, sizeof(*h->at)));
    }
    h->at[h->len] = wl;
    wl_up(cq, h, h->len++);
}

static void wl_take(const struct queue_cq *cq, struct wl_heap *h, uint32_t i)
{
    struct queue_wl *last = h->at[--h->len];

    if (i == h->len)
        return;
    wl_set(h, i, last);
    wl_up(cq, h, i);
    wl_down(cq, h, last->pos);
}

static void wl_fix(const struct queue_cq *cq, struct wl_heap *h, uint32_t i)
{
    struct queue_wl *wl = h->at[i];
    wl_up(cq, h, i);
    wl_down(cq, h, wl->pos);
}

/* ---- a ClusterQueue's heap of groups ---- */

static struct wl_heap *active_of(struct queue_group *g)
{
    return &g->heaps[g->active];
}
static struct wl_heap *parked_of(struct queue_group *g)
{
    return &g->heaps[!g->active];
}

static bool group_less(const struct queue_cq *cq, struct queue_group *a, struct queue_group *b)
{
    return pending_cmp(cq, active_of(a)->at[0], active_of(b)->at[0]) < 0;
}

static void group_set(struct queue_cq *cq, uint32_t i, struct queue_group *g)
{
    cq->heap.at[i] = g;
    g->heap_slot = i;
}

static void group_up(struct queue_cq *cq, uint32_t i)
{
    struct queue_group *g = cq->heap.at[i];

    while (i > 0 && group_less(cq, g, cq->heap.at[(i - 1) / 2])) {
        group_set(cq, i, cq->heap.at[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    group_set(cq, i, g);
}

static void group_down(struct queue_cq *cq, uint32_t i)
{
    struct queue_group *g = cq->heap.at[i];

    for (;;) {
        uint32_t best = 2 * i + 1;
        if (best >= cq->heap.len)
            break;
        if (best + 1 < cq->heap.len && group_less(cq, cq->heap.at[best + 1], cq->heap.at[best]))
            best++;
        if (!group_less(cq, cq->heap.at[best], g))
            break;
        group_set(cq, i, cq->heap.at[best]);
        i = best;
    }
    group_set(cq, i, g);
}

/* Out of e->ready, or of those that rest. */
static void leave_line(struct queue_engine *e, struct queue_cq *cq)
{
    if (cq->rests_in) {
        struct quota_node *last = vec_pop(&cq->rests_in->resting);
        if (last != &cq->node) {
            cq->rests_in->resting.at[cq->ready_slot] = last;
            container_of(last, struct queue_cq, node)->ready_slot = cq->ready_slot;
        }
        cq->rests_in = NULL;
        e->n_resting--;
    } else {
        struct queue_cq *last = vec_pop(&e->ready);
        if (last != cq) {
            e->ready.at[cq->ready_slot] = last;
            last->ready_slot = cq->ready_slot;
        }
    }
    cq->ready_slot = NOWHERE;
}

static void enter_line(struct queue_engine *e, struct queue_cq *cq)
{
    cq->ready_slot = (uint32_t)e->ready.len;
    vec_push(&e->ready, cq);
}

void cq_ready(struct queue_engine *e, struct queue_cq *cq)
{
    struct quota_node *root = cq->rests_in ? cq->rests_in : quota_root(&cq->node);

    if (cq->ready_slot != NOWHERE && !cq->heap.len)
        leave_line(e, cq);
    else if (cq->ready_slot == NOWHERE && cq->heap.len)
        enter_line(e, cq);
    while (root && root->resting.len) {
        struct quota_node *n = vec_last(&root->resting);
        leave_line(e, container_of(n, struct queue_cq, node));
        enter_line(e, container_of(n, struct queue_cq, node));
    }
}

void cq_rest(struct queue_engine *e, struct queue_cq *cq)
{
    struct quota_node *root = quota_root(&cq->node);

    if (!root)
        return;
    leave_line(e, cq);
    cq->rests_in = root;
    cq->ready_slot = (uint32_t)root->resting.len;
    vec_push(&root->resting, &cq->node);
    e->n_resting++;
}

/* The group's place in its ClusterQueue's heap and parked list, after its heaps changed. */
static void group_sync(struct queue_engine *e, struct queue_group *g)
{
    struct queue_cq *cq = g->lq->is_attached ? g->lq->cq : NULL;
    bool in_heap = g->heap_slot != NOWHERE, in_parked = g->parked_slot != NOWHERE;
    bool wants_heap = cq && active_of(g)->len, wants_parked = cq && parked_of(g)->len;

    if (wants_heap) {
        if (!in_heap) {
            vec_push(&cq->heap, g);
            group_set(cq, (uint32_t)cq->heap.len - 1, g);
        }
        if (!cq->is_waking) { /* else the whole heap is put in order at the end */
            group_up(cq, g->heap_slot);
            group_down(cq, g->heap_slot);
        }
    } else if (in_heap) {
        uint32_t slot = g->heap_slot;
        struct queue_cq *from = g->lq->cq;
        struct queue_group *last = vec_pop(&from->heap);
        g->heap_slot = NOWHERE;
        if (last != g) {
            group_set(from, slot, last);
            group_up(from, slot);
            group_down(from, last->heap_slot);
        }
    }
    if (wants_parked && !in_parked) {
        g->parked_slot = (uint32_t)cq->parked.len;
        vec_push(&cq->parked, g);
        quota_stir(&cq->node);
    } else if (in_parked && !wants_parked) {
        struct queue_cq *from = g->lq->cq;
        struct queue_group *last = vec_pop(&from->parked);
        if (last != g) {
            from->parked.at[g->parked_slot] = last;
            last->parked_slot = g->parked_slot;
        }
        g->parked_slot = NOWHERE;
    }
    if (g->lq->cq)
        cq_ready(e, g->lq->cq);
}

/* ---- LocalQueues and groups ---- */

struct queue_lq *lq_find(const struct queue_engine *e, struct str key)
{
    struct queue_lq **lq = map_get(&e->lqs, key);
    return lq ? *lq : NULL;
}

struct queue_lq *lq_ref(struct queue_engine *e, struct str ns, struct str name)
{
    char room[512];
    struct str key = {room, ns.len + 1 + name.len};

    if (key.len > sizeof(room)) {
        key.at = str_printf(&e->arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name)).at;
    } else {
        memcpy(room, ns.at ? ns.at : "", ns.len);
        room[ns.len] = '/';
        memcpy(room + ns.len + 1, name.at ? name.at : "", name.len);
    }
    struct queue_lq *lq = lq_find(e, key);
    if (lq)
        return lq;
    lq = mem_zero(1, sizeof(*lq));
    lq->key = str_copy(&e->arena, key);
    lq->ns = str_slice(lq->key, 0, ns.len);
    lq->name = str_slice(lq->key, ns.len + 1, lq->key.len);
    lq->id = e->next_lq++;
    lq->weight = 1;
    *map_put(&e->lqs, lq->key) = lq;
    return lq;
}

struct queue_group *group_get(struct queue_engine *e, struct queue_lq *lq,
                              struct queue_shape *shape)
{
    uint32_t ids[2] = {lq->id, shape->id};
    struct queue_group **found = map_get(&e->groups, str_of((const char *)ids, sizeof(ids)));

    if (found)
        return *found;
    struct queue_group *g = mem_zero(1, sizeof(*g));
    g->lq_id = ids[0], g->shape_id = ids[1];
    g->key = str_of((const char *)&g->lq_id, sizeof(ids));
    g->lq = lq;
    g->shape = shape;
    shape->refs++;
    g->heap_slot = g->parked_slot = NOWHERE;
    g->lq_slot = (uint32_t)lq->groups.len;
    vec_push(&lq->groups, g);
    *map_put(&e->groups, g->key) = g;
    return g;
}

void group_unref(struct queue_engine *e, struct queue_group *g)
{
    if (--g->refs)
        return;
    struct queue_group *last = vec_pop(&g->lq->groups);
    if (last != g) {
        g->lq->groups.at[g->lq_slot] = last;
        last->lq_slot = g->lq_slot;
    }
    map_del(&e->groups, g->key);
    free(g->heaps[0].at);
    free(g->heaps[1].at);
    shape_unref(e, g->shape);
    free(g);
}

/* Everything of one heap into the other; the smaller one moves. */
static void group_merge(struct queue_group *g, bool to_parked)
{
    struct queue_cq *cq = g->lq->cq;
    struct wl_heap *to = to_parked ? parked_of(g) : active_of(g);
    struct wl_heap *from = to_parked ? active_of(g) : parked_of(g);

    if (to->len < from->len) { /* move the few, then let the heaps change places */
        struct wl_heap *other = to;
        to = from;
        from = other;
        g->active = !g->active;
    }
    for (uint32_t i = 0; i < from->len; i++) {
        from->at[i]->heap = !from->at[i]->heap;
        wl_insert(cq, to, from->at[i]);
    }
    from->len = 0;
}

void lq_attach(struct queue_engine *e, struct queue_lq *lq)
{
    if (lq->is_attached || !lq->exists || lq->is_stopped || !lq->cq || !lq->cq->exists)
        return;
    lq->is_attached = true;
    vec_each (i, &lq->groups) {
        struct queue_group *g = lq->groups.at[i];
        group_merge(g, false);
        lq->cq->n_active += active_of(g)->len;
        group_sync(e, g);
    }
}

void cq_forget_preemptor(struct queue_cq *cq, const struct queue_wl *wl)
{
    if (cq && cq->preemptor == wl) {
        cq->preemptor = NULL;
        cq->is_sticky = false;
    }
}

void lq_detach(struct queue_engine *e, struct queue_lq *lq)
{
    struct queue_cq *cq = lq->cq;

    if (!lq->is_attached)
        return;
    if (cq->inflight && cq->inflight->group->lq == lq) {
        struct queue_wl *wl = cq->inflight;
        pending_remove(e, wl);
        pending_push(e, wl, false);
    }
    if (cq->preemptor && cq->preemptor->group->lq == lq)
        cq_forget_preemptor(cq, cq->preemptor);
    lq->is_attached = false;
    vec_each (i, &lq->groups) {
        struct queue_group *g = lq->groups.at[i];
        cq->n_active -= active_of(g)->len;
        cq->n_parked -= parked_of(g)->len;
        group_sync(e, g);
    }
}

/* ---- one workload in or out ---- */

bool pending_is_parked(const struct queue_wl *wl)
{
    return wl->state == WL_WAITING && wl->heap != wl->group->active;
}

bool pending_may_run(const struct queue_wl *wl, struct instant now)
{
    const struct wl_extra *x = wl->extra;

    if (!x)
        return true;
    return !(x->flags & WL_BACKOFF) && x->requeue_at.ns <= now.ns;
}

static bool has_backoff(const struct queue_wl *wl)
{
    return wl->extra && (wl->extra->flags & WL_BACKOFF || wl->extra->requeue_at.ns);
}

void pending_push(struct queue_engine *e, struct queue_wl *wl, bool is_parked)
{
    struct queue_group *g = wl->group;
    struct queue_lq *lq = g->lq;
    struct queue_cq *cq = lq->is_attached ? lq->cq : NULL;

    if (cq && cq->inflight == wl)
        cq->inflight = NULL;
    wl->state = WL_WAITING;
    if (is_parked && !active_of(g)->len && !parked_of(g)->cap)
        g->active = !g->active; /* one heap is enough for most groups */
    wl->heap = (uint8_t)(is_parked ? !g->active : g->active);
    wl_insert(cq, &g->heaps[wl->heap], wl);
    lq->pending++;
    wl->is_backoff = has_backoff(wl);
    g->n_backoff += wl->is_backoff;
    if (cq) {
        cq->n_active += !is_parked;
        cq->n_parked += is_parked;
    }
    group_sync(e, g);
}

void pending_remove(struct queue_engine *e, struct queue_wl *wl)
{
    struct queue_group *g = wl->group;
    struct queue_lq *lq = g->lq;
    struct queue_cq *cq = lq->is_attached ? lq->cq : NULL;

    if (wl->state == WL_INFLIGHT && lq->cq && lq->cq->inflight == wl)
        lq->cq->inflight = NULL;
    if (wl->state == WL_WAITING) {
        bool is_parked = pending_is_parked(wl);
        wl_take(cq, &g->heaps[wl->heap], wl->pos);
        lq->pending--;
        g->n_backoff -= wl->is_backoff;
        wl->is_backoff = 0;
        if (cq) {
            cq->n_active -= !is_parked;
            cq->n_parked -= is_parked;
        }
        group_sync(e, g);
    }
    wl->state = WL_IDLE;
}

struct queue_wl *pending_pop(struct queue_engine *e, struct queue_cq *cq)
{
    cq->pop_cycle++;
    quota_stir(&cq->node); /* a flush from now on is to be seen by its requeue */
    if (!cq->heap.len)
        return NULL;
    struct queue_wl *wl = active_of(cq->heap.at[0])->at[0];
    pending_remove(e, wl);
    if (cq->inflight)
        cq->inflight->state = WL_IDLE;
    cq->inflight = wl;
    wl->state = WL_INFLIGHT;
    wl->evaluated = wl->generation;
    return wl;
}

void pending_reorder(struct queue_engine *e, struct queue_cq *cq)
{
    (void)e;
    for (size_t i = cq->heap.len / 2 + 1; i-- > 0;)
        if (i < cq->heap.len)
            group_down(cq, (uint32_t)i);
}

/* ---- shapes that were refused ---- */

/* The entry of a class, or the free one where it would stand; there is one free at least. */
static struct bulk_entry *bulk_entry(const struct bulk *b, uint64_t class)
{
    uint32_t i = (uint32_t) class & (b->cap - 1);

    while (b->at[i].class && b->at[i].class != class)
        i = (i + 1) & (b->cap - 1);
    return &b->at[i];
}

enum queue_reason pending_shape_reason(const struct queue_cq *cq, uint64_t class)
{
    if (!class || !cq->bulk.len)
        return QUEUE_NONE;
    const struct bulk_entry *x = bulk_entry(&cq->bulk, class);
    return x->class ? x->reason : QUEUE_NONE;
}

static void bulk_grow(struct bulk *b)
{
    struct bulk old = *b;

    b->cap = old.cap ? 2 * old.cap : 8;
    b->at = mem_zero(b->cap, sizeof(*b->at));
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.at[i].class)
            *bulk_entry(b, old.at[i].class) = old.at[i];
    free(old.at);
}

static void bulk_note(struct bulk *b, uint64_t class, enum queue_reason reason)
{
    if (2 * (b->len + 1) > b->cap)
        bulk_grow(b);
    struct bulk_entry *x = bulk_entry(b, class);
    b->len += !x->class;
    *x = (struct bulk_entry){class, reason};
}

void pending_forget_shapes(struct queue_cq *cq)
{
    struct bulk *b = &cq->bulk;

    if (b->cap > BULK_KEPT) {
        free(b->at);
        *b = (struct bulk){0};
    } else if (b->len) {
        memset(b->at, 0, b->cap * sizeof(*b->at));
        b->len = 0;
    }
}

static size_t park_group(struct queue_engine *e, struct queue_cq *cq, struct queue_group *g)
{
    size_t n = active_of(g)->len;

    if (!n || !g->lq->is_attached || g->lq->cq != cq)
        return 0;
    group_merge(g, true);
    cq->n_active -= (uint32_t)n;
    cq->n_parked += (uint32_t)n;
    group_sync(e, g);
    return n;
}

static size_t park_shape(struct queue_engine *e, struct queue_cq *cq, uint64_t shape,
                         uint32_t shape_id)
{
    size_t moved = 0;

    if (!e->has_named_shapes && cq->lqs.len < cq->heap.len) {
        vec_each (i, &cq->lqs) { /* few queues, many shapes: ask each queue */
            uint32_t ids[2] = {cq->lqs.at[i]->id, shape_id};
            struct queue_group **g =
                map_get(&e->groups, str_of((const char *)ids, sizeof(ids)));
            if (g)
                moved += park_group(e, cq, *g);
        }
        return moved;
    }
    for (size_t i = cq->heap.len; i-- > 0;) /* a removal refills from the end: start again */
        if (i < cq->heap.len && cq->heap.at[i]->shape->class == shape) {
            moved += park_group(e, cq, cq->heap.at[i]);
            i = cq->heap.len;
        }
    return moved;
}

size_t pending_park_shape(struct queue_engine *e, struct queue_cq *cq,
                          const struct queue_shape *shape, enum queue_reason reason)
{
    if (!shape->class)
        return 0;
    quota_stir(&cq->node);
    bulk_note(&cq->bulk, shape->class, reason ? reason : QUEUE_PENDING_EVALUATION);
    return park_shape(e, cq, shape->class, shape->id);
}

/* ---- waking ---- */

static size_t wake_group(struct queue_engine *e, struct queue_cq *cq, struct queue_group *g,
                         struct instant now)
{
    struct queue_ns *ns = lq_ns(e, g->lq);
    struct wl_heap *parked = parked_of(g);
    size_t n = parked->len, moved = 0;

    if (!ns || !match_selector(&cq->spec.namespaces, ns->labels))
        return 0;
    if (!g->n_backoff) {
        group_merge(g, false);
        moved = n;
    } else {
        VEC(struct queue_wl *) may = {0};
        for (uint32_t i = 0; i < parked->len; i++)
            if (pending_may_run(parked->at[i], now))
                vec_push(&may, parked->at[i]);
        vec_each (i, &may) {
            struct queue_wl *wl = may.at[i];
            wl_take(cq, parked, wl->pos);
            wl->heap = g->active;
            wl_insert(cq, active_of(g), wl);
        }
        moved = may.len;
        vec_fini(&may);
    }
    cq->n_parked -= (uint32_t)moved;
    cq->n_active += (uint32_t)moved;
    group_sync(e, g);
    return moved;
}

size_t pending_flush(struct queue_engine *e, struct queue_cq *cq, struct instant now)
{
    size_t moved = 0;

    cq->flush_cycle = cq->pop_cycle;
    pending_forget_shapes(cq);
    cq->is_waking = cq->parked.len > MANY_GROUPS;
    for (size_t i = cq->parked.len; i-- > 0;)
        moved += wake_group(e, cq, cq->parked.at[i], now);
    if (cq->is_waking)
        pending_reorder(e, cq);
    cq->is_waking = false;
    if (moved)
        cq->judged = NULL; /* it may have been judged, and parked, since things changed */
    if (!cq->parked.len)
        quota_calm(&cq->node);
    return moved;
}

static size_t flush_below(struct queue_engine *e, struct quota_node *n, struct instant now)
{
    size_t moved = 0;

    if (n->is_leaf) {
        struct queue_cq *cq = container_of(n, struct queue_cq, node);
        return cq->exists ? pending_flush(e, cq, now) : 0;
    }
    for (size_t i = n->restless.len; i-- > 0;) /* who comes to rest makes room for the last */
        moved += flush_below(e, n->restless.at[i], now);
    return moved;
}

size_t pending_flush_node(struct queue_engine *e, struct quota_node *n, struct instant now)
{
    struct quota_node *root = quota_root(n);
    return root ? flush_below(e, root, now) : 0;
}

/* ---- coming back ---- */

bool wl_has_pending_flavors(const struct queue_wl *wl)
{
    return wl->extra && wl->extra->progress && wl->extra->progress->is_pending;
}

static bool is_immediate(const struct queue_cq *cq, enum queue_requeue why)
{
    switch (why) {
    case REQUEUE_FAILED_AFTER_NOMINATION:
    case REQUEUE_PENDING_PREEMPTION:
    case REQUEUE_PENDING_MIGRATION:
    case REQUEUE_PREEMPTION_FAILED:
        return true;
    case REQUEUE_NAMESPACE:
        return false;
    case REQUEUE_GENERIC:
    case REQUEUE_NO_FIT:
    case REQUEUE_NO_CANDIDATES:
    case REQUEUE_PREEMPTION_GATED:
        break;
    }
    return cq->spec.is_strict;
}

static void mark_preemptor(struct queue_engine *e, struct queue_cq *cq, struct queue_wl *wl)
{
    struct queue_wl *old = cq->preemptor;

    cq->preemptor = wl;
    cq->is_sticky = !cq->spec.is_strict;
    cq->preemptor_generation = wl->evaluated;
    if (old && old != wl && old->state == WL_WAITING && old->group->lq->cq == cq) {
        wl_fix(cq, &old->group->heaps[old->heap], old->pos);
        group_sync(e, old->group);
    }
}

bool pending_requeue_as(struct queue_engine *e, struct queue_wl *wl, bool is_immediate_now,
                        enum queue_requeue why, enum queue_reason reason, struct instant now)
{
    struct queue_cq *cq = wl_cq(wl);
    bool was_parked = pending_is_parked(wl);

    if (why == REQUEUE_PENDING_PREEMPTION || why == REQUEUE_PENDING_MIGRATION)
        mark_preemptor(e, cq, wl);
    if (cq->inflight == wl)
        cq->inflight = NULL;
    if (pending_may_run(wl, now) &&
        (is_immediate_now || cq->flush_cycle >= cq->pop_cycle || wl_has_pending_flavors(wl))) {
        if (wl->state == WL_WAITING && !was_parked)
            return false;
        pending_remove(e, wl);
        pending_push(e, wl, false);
        return true;
    }
    if (wl->state == WL_WAITING)
        return false;
    pending_push(e, wl, true);
    if (!cq->spec.is_strict && (why == REQUEUE_NO_FIT || why == REQUEUE_NO_CANDIDATES))
        pending_park_shape(e, cq, wl->group->shape, reason);
    return true;
}

bool pending_requeue(struct queue_engine *e, struct queue_wl *wl, enum queue_requeue why,
                     enum queue_reason reason, struct instant now)
{
    return pending_requeue_as(e, wl, is_immediate(wl_cq(wl), why), why, reason, now);
}

void pending_update(struct queue_engine *e, struct queue_wl *wl, enum pending_was was,
                    bool is_changed, struct instant now)
{
    struct queue_lq *lq = wl->group->lq;
    struct queue_cq *cq = lq->is_attached ? lq->cq : NULL;
    bool is_parked = false;

    if (cq && was == WAS_PARKED && !is_changed)
        is_parked = true;
    else if (cq && was != WAS_ACTIVE)
        is_parked = !pending_may_run(wl, now) ||
                    (!cq->spec.is_strict && pending_shape_reason(cq, wl->group->shape->class));
    pending_push(e, wl, is_parked);
}
