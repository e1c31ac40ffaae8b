/* workload.c - workloads and LocalQueues come, change and go */
#include "queue/engine_priv.h"

#define SECOND_PASS_FIRST span_s(1)
#define SECOND_PASS_MAX_SHIFT 5 /* 1 s doubles up to SECOND_PASS_LAST */
#define SECOND_PASS_LAST span_s(30)

/* ---- LocalQueues ---- */

void queue_put_lq(struct queue_engine *e, const struct queue_lq_spec *spec)
{
    struct queue_lq *lq = lq_ref(e, spec->ns, spec->name);
    struct queue_cq *cq = cq_ref(e, spec->cq);
    bool was_attached = lq->is_attached;

    if (lq->cq && lq->cq != cq)
        engine_change(e, lq->cq);
    engine_change(e, cq);
    if (lq->cq != cq || spec->is_stopped) {
        lq_detach(e, lq);
        was_attached = false;
    }
    if (lq->cq != cq) {
        if (lq->cq) {
            struct queue_lq *last = vec_pop(&lq->cq->lqs);
            if (last != lq) {
                lq->cq->lqs.at[lq->slot] = last;
                last->slot = lq->slot;
            }
        }
        lq->cq = cq;
        lq->slot = (uint32_t)cq->lqs.len;
        vec_push(&cq->lqs, lq);
    }
    lq->exists = true;
    lq->is_stopped = spec->is_stopped;
    lq->weight = spec->weight;
    afs_refresh(e, lq);
    if (!was_attached)
        lq_attach(e, lq);
}

void queue_delete_lq(struct queue_engine *e, struct str ns, struct str name)
{
    struct queue_lq *lq = lq_ref(e, ns, name);

    if (lq->cq)
        engine_change(e, lq->cq);
    lq_detach(e, lq);
    lq->exists = false;
    lq->weight = 1;
    afs_refresh(e, lq);
}

/* ---- second pass ---- */

bool wl_needs_second_pass(const struct queue_wl *wl)
{
    uint32_t f = wl_flags(wl);

    if (!(f & WL_RESERVED) || f & (WL_FINISHED | WL_EVICTED | WL_ON_HOLD))
        return false;
    if (f & WL_ADMITTED)
        return f & WL_UNHEALTHY;
    return (f & WL_CHECKS_READY) && (f & WL_DELAYED_TOPOLOGY);
}

void second_pass_forget(struct queue_engine *e, struct queue_wl *wl)
{
    if (!wl->extra || (!wl->extra->is_prequeued && !wl->extra->is_ready))
        return;
    wl->extra->is_prequeued = wl->extra->is_ready = false;
    vec_each (i, &e->second_pass)
        if (e->second_pass.at[i] == wl) {
            vec_remove(&e->second_pass, i);
            return;
        }
}

bool second_pass_queue(struct queue_engine *e, struct queue_wl *wl, uint32_t iteration,
                       struct instant now)
{
    if (!wl_needs_second_pass(wl)) {
        if (iteration > 0)
            second_pass_forget(e, wl);
        return false;
    }
    struct wl_extra *x = wl_extra(wl);
    if (x->is_prequeued)
        return false;
    if (!x->is_ready)
        vec_push(&e->second_pass, wl);
    x->is_prequeued = true;
    x->iteration = iteration + 1;
    x->due = instant_add(now, iteration < SECOND_PASS_MAX_SHIFT
                                  ? (struct span){SECOND_PASS_FIRST.ns << iteration}
                                  : SECOND_PASS_LAST);
    return true;
}

/* ---- workloads ---- */

bool wl_is_queueable(const struct queue_engine *e, uint32_t flags)
{
    uint32_t out = WL_FINISHED | WL_INACTIVE | WL_RESERVED | WL_ON_HOLD | WL_WAITS_FOR_PODS;

    if (gate(e, QUEUE_GATE_ADMISSION_GATED))
        out |= WL_GATED;
    return !(flags & out);
}

static bool needs_extra(const struct queue_workload_spec *spec)
{
    return spec->flags || spec->requeue_at.ns || spec->replaces.len || spec->parent.len;
}

static void add_usage(struct wl_extra *x, quota_fr fr, int64_t amount)
{
    size_t i = 0;

    while (i < x->usage.len && x->usage.at[i].fr != fr)
        i++;
    if (i == x->usage.len)
        vec_push(&x->usage, (struct quota_amount){fr, 0});
    x->usage.at[i].amount = sat_add(x->usage.at[i].amount, amount);
}

void wl_set_held(struct wl_extra *x, const struct held_podset *podsets, size_t n)
{
    size_t n_uses = 0, text = 0;

    free(x->held);
    x->held = NULL;
    x->n_held = (uint32_t)n;
    vec_clear(&x->usage);
    if (!n)
        return;
    for (size_t i = 0; i < n; i++)
        n_uses += podsets[i].n_uses, text += podsets[i].name.len;
    struct held_podset *at =
        mem_alloc(size_mul(n, sizeof(*at)) + size_mul(n_uses, sizeof(struct held_use)) + text);
    struct held_use *use = (struct held_use *)(at + n);
    char *name = (char *)(use + n_uses);
    for (size_t i = 0; i < n; i++) {
        at[i] = podsets[i];
        at[i].name.at =
            memcpy(name, podsets[i].name.at ? podsets[i].name.at : "", podsets[i].name.len);
        name += at[i].name.len;
        at[i].uses = use;
        for (size_t k = 0; k < podsets[i].n_uses; k++) {
            *use = podsets[i].uses[k];
            if (use->flavor != INTERN_NONE && use->resource != INTERN_NONE)
                add_usage(x, QUOTA_FR(use->flavor, use->resource), use->amount);
            use++;
        }
    }
    x->held = at;
}

static void set_held_from(struct queue_engine *e, struct wl_extra *x,
                          const struct queue_workload_spec *spec)
{
    scoped(arena_fini) struct arena a = arena_sized(512);
    struct held_podset *at = arena_array(&a, struct held_podset, spec->n_admission);

    for (size_t i = 0; i < spec->n_admission; i++) {
        const struct queue_podset_admission *ad = &spec->admission[i];
        at[i] = (struct held_podset){ad->name, ad->count, ad->n_uses,
                                     arena_array(&a, struct held_use, ad->n_uses)};
        for (size_t k = 0; k < ad->n_uses; k++) {
            const struct queue_flavor_use *u = &ad->uses[k];
            at[i].uses[k] = (struct held_use){
                intern_add(&e->resources, u->resource),
                u->flavor.len ? flavor_number(e, u->flavor) : INTERN_NONE, u->amount};
        }
    }
    wl_set_held(x, at, spec->n_admission);
}

static struct str keep(char **at, struct str s)
{
    struct str kept = {*at, s.len};

    if (s.len)
        memcpy(*at, s.at, s.len);
    *at += s.len;
    return kept;
}

static void set_texts(struct wl_extra *x, const struct queue_workload_spec *spec)
{
    struct wl_texts *was = x->texts;
    struct str invalid = spec->is_same_spec && was ? was->invalid : spec->invalid_text;
    size_t len = spec->replaces.len + spec->parent.len + invalid.len;

    x->texts = NULL;
    if (len) {
        x->texts = mem_alloc(sizeof(*x->texts) + len);
        char *at = (char *)(x->texts + 1);
        x->texts->replaces = keep(&at, spec->replaces);
        x->texts->parent = keep(&at, spec->parent);
        x->texts->invalid = keep(&at, invalid);
    }
    free(was);
}

/* What of the spec goes into the extra; the usage too. */
static void set_extra(struct queue_engine *e, struct queue_wl *wl,
                      const struct queue_workload_spec *spec)
{
    struct wl_extra *x = wl_extra(wl);

    x->flags = spec->flags | (spec->is_same_spec ? x->flags & WL_INVALID : 0);
    x->requeue_at = spec->requeue_at;
    x->reserved_at = spec->reserved_at;
    set_texts(x, spec);
    set_held_from(e, x, spec);
}

static bool same_usage(const struct wl_extra *x, const struct quota_amount *old, size_t n)
{
    if (x->usage.len != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (x->usage.at[i].fr != old[i].fr || x->usage.at[i].amount != old[i].amount)
            return false;
    return true;
}

static void drop_progress(struct queue_wl *wl)
{
    if (!wl->extra)
        return;
    free(wl->extra->progress);
    wl->extra->progress = NULL;
}

static void regroup(struct queue_engine *e, struct queue_wl *wl, struct queue_group *g)
{
    struct queue_group *old = wl->group;

    if (old == g)
        return;
    if (old && old->shape->class && g->shape->class && old->shape->class != g->shape->class)
        drop_progress(wl);
    g->refs++;
    wl->group = g;
    if (old)
        group_unref(e, old);
}

/* What was there before a new version, to see what changed. */
struct before {
    enum pending_was was;
    uint32_t flags, all_flags;
    int64_t order_ns;
    struct instant reserved_at;
    uint32_t digest, state_digest, evaluated;
    struct queue_cq *held;
    struct queue_lq *lq;
    int64_t priority;
    VEC(struct quota_amount) usage;
};

static void take_out(struct queue_engine *e, struct queue_wl *wl, struct before *b)
{
    b->flags = b->all_flags = wl_flags(wl);
    b->order_ns = wl->order_ns;
    b->reserved_at = wl->extra ? wl->extra->reserved_at : (struct instant){0};
    if (wl->extra && wl->extra->is_assumed)
        b->flags &= ~(uint32_t)WL_ADMITTED; /* by us only: the API says it now */
    b->digest = wl->digest;
    b->state_digest = wl->state_digest;
    b->evaluated = wl->evaluated;
    b->lq = wl->group->lq;
    b->priority = wl->group->shape->priority;
    if (wl->state == WL_WAITING) {
        b->was = pending_is_parked(wl) ? WAS_PARKED : WAS_ACTIVE;
        pending_remove(e, wl);
    }
    if (wl->extra && wl->extra->holds) {
        b->held = wl->extra->holds;
        vec_each (i, &wl->extra->usage)
            vec_push(&b->usage, wl->extra->usage.at[i]);
        cache_release(e, wl);
    }
}

/* The quota side: who holds, what was freed. */
static void put_quota(struct queue_engine *e, struct queue_wl *wl, const struct before *b,
                      struct queue_cq *cq, struct instant now)
{
    bool holds = cq != NULL;
    struct wl_extra *x = wl->extra;
    uint32_t done = WL_FINISHED | WL_INACTIVE;

    if (holds) {
        x->is_assumed = false;
        if (x->flags & WL_EVICTED)
            x->was_asked = false;
        cache_hold(e, cq, wl);
        if (b->held && (b->held != cq || !same_usage(x, b->usage.at, b->usage.len) ||
                        b->priority != wl->group->shape->priority))
            engine_freed(e, b->held);
    } else if (b->held) {
        engine_freed(e, b->held);
        x->is_assumed = x->was_asked = false;
    }
    if (b->lq && b->lq != wl->group->lq)
        afs_drop(e, b->lq, wl);
    if (holds && (x->flags & WL_ADMITTED) && !(b->flags & WL_ADMITTED))
        afs_settle(e, wl, now);
    else if (!holds && (wl_flags(wl) & done) && !(b->flags & WL_FINISHED))
        afs_drop(e, wl->group->lq, wl);
}

/* Is it, as a holder of quota, what it was for others? */
static bool holds_the_same(const struct queue_wl *wl, const struct before *b)
{
    const struct wl_extra *x = wl->extra;

    return b->held == x->holds && same_usage(x, b->usage.at, b->usage.len) &&
           !((b->all_flags ^ x->flags) & ~(uint32_t)WL_ADMITTED) && b->lq == wl->group->lq &&
           b->priority == wl->group->shape->priority && b->order_ns == wl->order_ns &&
           b->reserved_at.ns == x->reserved_at.ns;
}

/* Who is to be judged anew. */
static void note_change(struct queue_engine *e, struct queue_wl *wl, const struct before *b)
{
    struct queue_cq *holds = wl->extra ? wl->extra->holds : NULL, *cq = wl_cq(wl);

    if (cq && cq->judged == wl)
        cq->judged = NULL;
    if (b->lq && b->lq != wl->group->lq && b->lq->cq)
        engine_change(e, b->lq->cq);
    if (b->held && b->held != holds)
        engine_change(e, b->held);
    if (holds && !holds_the_same(wl, b))
        engine_change(e, holds);
}

static enum queue_put put_pending(struct queue_engine *e, struct queue_wl *wl,
                                  const struct before *b, struct instant now)
{
    struct queue_lq *lq = wl->group->lq;

    if (wl->state == WL_INFLIGHT)
        return QUEUE_PUT_QUEUED; /* its requeue takes the new version */
    pending_update(e, wl, b->lq == lq ? b->was : WAS_OUT,
                   b->digest != wl->digest || b->state_digest != wl->state_digest ||
                       (b->evaluated && b->evaluated != wl->generation),
                   now);
    if (lq->is_attached)
        return QUEUE_PUT_QUEUED;
    return lq->exists && !lq->is_stopped ? QUEUE_PUT_NO_CQ : QUEUE_PUT_NO_QUEUE;
}

bool queue_has_spec(const struct queue_engine *e, const struct queue_spec_id *id)
{
    const struct queue_wl *wl = wl_find_in(e, id->ns, id->name);

    if (!wl || !id->generation || wl->generation != (uint32_t)id->generation ||
        !wl_has_uid(wl, id->uid))
        return false;
    const struct queue_shape *shape = wl->group->shape;
    if (!str_eq(wl->group->lq->name, id->queue) || shape->priority != id->priority ||
        !str_eq(shape->allowed_flavors, id->allowed_flavors) ||
        shape->n_podsets != id->n_podsets)
        return false;
    for (size_t i = 0; i < id->n_podsets; i++)
        if (shape->podsets[i].spec.count != id->counts[i])
            return false;
    return true;
}

/* The group of workloads that it joins; with a reference. */
static struct queue_group *group_of(struct queue_engine *e,
                                    const struct queue_workload_spec *spec,
                                    const struct queue_wl *wl)
{
    struct queue_group *g = wl ? wl->group : NULL;

    if (!spec->is_same_spec) {
        struct queue_shape *shape = shape_get(e, spec);
        g = group_get(e, lq_ref(e, spec->ns, spec->queue), shape);
        shape_unref(e, shape);
    }
    assert(g);
    g->refs++;
    return g;
}

enum queue_put queue_put_workload(struct queue_engine *e,
                                  const struct queue_workload_spec *spec, struct instant now)
{
    struct queue_wl *wl = wl_find_in(e, spec->ns, spec->name);
    struct queue_group *g = group_of(e, spec, wl); /* while the record is exchanged */
    struct before b = {0};
    enum queue_put result = QUEUE_PUT_OUT;

    e->events++;
    e->has_named_shapes |= spec->shape_name.len > 0;
    if (wl && !spec->is_same_spec && !wl_has_uid(wl, spec->uid)) { /* another of that name */
        wl_discard(e, wl);
        wl = NULL;
    }
    if (wl)
        take_out(e, wl, &b);
    else
        wl = wl_make(e, spec);
    if (wl->state == WL_INFLIGHT && b.lq != g->lq)
        pending_remove(e, wl);
    if (b.lq && b.lq != g->lq)
        cq_forget_preemptor(b.lq->cq, wl);
    regroup(e, wl, g);
    wl->order_ns = spec->order_time.ns;
    wl->generation = (uint32_t)spec->generation;
    if (!spec->is_same_spec)
        wl->digest = spec->digest;
    wl->state_digest = spec->state_digest;
    if (!gate(e, QUEUE_GATE_KEEP_PROGRESS))
        drop_progress(wl);
    if (wl->extra || needs_extra(spec))
        set_extra(e, wl, spec);

    bool holds = (spec->flags & (WL_RESERVED | WL_FINISHED | WL_INACTIVE)) == WL_RESERVED &&
                 spec->admitted_to.len;
    put_quota(e, wl, &b, holds ? cq_ref(e, spec->admitted_to) : NULL, now);
    note_change(e, wl, &b);
    if (wl_is_queueable(e, spec->flags)) {
        result = put_pending(e, wl, &b, now);
    } else {
        pending_remove(e, wl);
        cq_forget_preemptor(wl_cq(wl), wl);
        if (holds)
            result = QUEUE_PUT_HOLDS;
    }
    if (wl->extra)
        second_pass_queue(e, wl, 0, now);
    vec_fini(&b.usage);
    group_unref(e, g);
    return result;
}

void wl_discard(struct queue_engine *e, struct queue_wl *wl)
{
    struct queue_group *g = wl->group;

    pending_remove(e, wl);
    cq_forget_preemptor(g->lq->cq, wl);
    second_pass_forget(e, wl);
    if (wl->extra && wl->extra->holds) {
        engine_change(e, wl->extra->holds);
        engine_freed(e, wl->extra->holds);
        cache_release(e, wl);
    }
    if (g->lq->cq && g->lq->cq->judged == wl)
        g->lq->cq->judged = NULL;
    afs_drop(e, g->lq, wl);
    wl_free(e, wl);
    group_unref(e, g);
}

struct str queue_holds(const struct queue_engine *e, struct str key)
{
    const struct queue_wl *wl = wl_find(e, key);

    return wl && wl->extra && wl->extra->holds ? wl->extra->holds->name : S("");
}

bool queue_is_waiting(const struct queue_engine *e, struct str key)
{
    const struct queue_wl *wl = wl_find(e, key);

    return wl && wl->state == WL_WAITING && wl->group->lq->is_attached;
}

void queue_delete_workload(struct queue_engine *e, struct str key)
{
    struct queue_wl *wl = wl_find(e, key);

    e->events++;
    if (wl)
        wl_discard(e, wl);
}
