/* why.c - why a workload waits, and the smallest change that would let it start
 *
 * The workload is judged by the same functions as in a cycle, alone and on the tree as it is.
 * A change is made to a copy of its shape (or for a moment to the quota), judged the same way,
 * and told only where the judgement was yes.
 */
#include "queue/plan_priv.h"
#include "queue/preempt_priv.h"

#include "api/resource_list.h"

struct trial {
    struct cycle cycle;
    struct queue_wl *wl;
    struct arena *a;
    VEC(struct queue_change) changes;
};

struct verdict {
    const struct assignment *as;
    size_t n_victims;
    bool starts; /* at once, or once its victims are gone */
};

/* ---- judging ---- */

static struct verdict judge(struct trial *t, struct queue_cq *cq,
                            const struct queue_shape *shape)
{
    struct queue_engine *e = t->cycle.e;
    struct queue_ns *ns = lq_ns(e, t->wl->group->lq);
    struct verdict v = {0};
    victim_list victims = {0};

    if (!cq->exists || !cq_gives_heads(cq) || !ns ||
        !match_selector(&cq->spec.namespaces, ns->labels))
        return v;
    quota_settle(&cq->node);
    v.as = cycle_judge(&t->cycle, cq, t->wl, shape, &victims, &v.starts);
    v.n_victims = victims.len;
    return v;
}

/* A copy whose podsets may be changed. */
static struct queue_shape *copy_shape(struct trial *t, const struct queue_shape *shape)
{
    struct queue_shape *s = arena_new(t->a, struct queue_shape);

    *s = *shape;
    s->podsets = arena_array(t->a, struct shape_podset, s->n_podsets);
    for (size_t i = 0; i < s->n_podsets; i++) {
        s->podsets[i] = shape->podsets[i];
        s->podsets[i].requests =
            arena_array(t->a, struct shape_request, s->podsets[i].n_requests);
        if (s->podsets[i].n_requests)
            memcpy(s->podsets[i].requests, shape->podsets[i].requests,
                   s->podsets[i].n_requests * sizeof(struct shape_request));
    }
    return s;
}

static void offer(struct trial *t, struct queue_change c, const struct verdict *v)
{
    c.evicts = (uint32_t)v->n_victims;
    vec_push_in(t->a, &t->changes, c);
}

/* ---- ask less ---- */

static struct shape_request *find_request(struct shape_podset *ps, uint16_t resource)
{
    for (size_t i = 0; i < ps->n_requests; i++)
        if (ps->requests[i].resource == resource)
            return &ps->requests[i];
    return NULL;
}

/* The most of one resource that one podset can ask for; whole amounts for each pod. */
static void ask_less(struct trial *t, struct queue_cq *cq, const struct queue_shape *shape,
                     size_t podset, uint16_t resource)
{
    struct queue_shape *s = copy_shape(t, shape);
    struct shape_request *r = find_request(&s->podsets[podset], resource);
    int32_t pods = MAX(s->podsets[podset].spec.count, 1);
    int64_t was = r ? r->amount / pods : 0, low = 0, high = was; /* low starts, high does not */
    struct verdict v, best = {0};

    if (!r || was <= 0)
        return;
    r->amount = 0;
    best = judge(t, cq, s);
    if (!best.starts || best.n_victims)
        return;
    while (high - low > 1) {
        int64_t mid = low + (high - low) / 2;
        r->amount = sat_mul(mid, pods);
        v = judge(t, cq, s);
        if (v.starts && !v.n_victims)
            low = mid, best = v;
        else
            high = mid;
    }
    if (low == 0)
        return; /* only asking for none would do: no change that anybody wants */
    offer(t,
          (struct queue_change){.kind = CHANGE_ASK_LESS,
                                .podset = s->podsets[podset].spec.name,
                                .resource = intern_name(&t->cycle.e->resources, resource),
                                .from = sat_mul(was, pods),
                                .to = sat_mul(low, pods)},
          &best);
}

/* One resource in all podsets: for each pod `share` of `whole` parts of what it asks for. */
static void scale_request(struct queue_shape *s, const struct queue_shape *from,
                          uint16_t resource, int64_t share, int64_t whole)
{
    for (size_t i = 0; i < s->n_podsets; i++) {
        struct shape_request *r = find_request(&s->podsets[i], resource);
        int32_t pods = MAX(s->podsets[i].spec.count, 1);
        if (!r)
            continue;
        int64_t was = find_request(&from->podsets[i], resource)->amount / pods;
        r->amount = sat_mul((int64_t)((__int128)was * share / whole), pods);
    }
}

/* The most that a pod of any podset asks of it. */
static int64_t largest_request(const struct queue_shape *shape, uint16_t resource)
{
    int64_t most = 0;

    for (size_t i = 0; i < shape->n_podsets; i++) {
        const struct shape_request *r = find_request(&shape->podsets[i], resource);
        int32_t pods = MAX(shape->podsets[i].spec.count, 1);
        if (r)
            most = MAX(most, r->amount / pods);
    }
    return most;
}

static bool starts_without_victims(struct trial *t, struct queue_cq *cq,
                                   const struct queue_shape *s, struct verdict *v)
{
    *v = judge(t, cq, s);
    return v->starts && !v->n_victims;
}

/* All resources that are short of somewhere, each as large as the others allow. */
static const struct queue_shape *shrink_together(struct trial *t, struct queue_cq *cq,
                                                 const struct queue_shape *shape,
                                                 const uint16_t *resources, size_t n,
                                                 struct verdict *v)
{
    struct queue_shape *s = copy_shape(t, shape);

    for (size_t i = 0; i < n; i++)
        scale_request(s, shape, resources[i], 0, 1);
    if (!starts_without_victims(t, cq, s, v))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        int64_t whole = largest_request(shape, resources[i]), low = 0, high = whole + 1;
        while (high - low > 1) {
            int64_t mid = low + (high - low) / 2;
            scale_request(s, shape, resources[i], mid, whole);
            if (starts_without_victims(t, cq, s, v))
                low = mid;
            else
                high = mid;
        }
        scale_request(s, shape, resources[i], low, MAX(whole, INT64_C(1)));
    }
    return starts_without_victims(t, cq, s, v) ? s : NULL;
}

/* What differs between the two; NULL where nothing does, or somebody would ask for none. */
static struct queue_change *differences(struct trial *t, const struct queue_shape *from,
                                        const struct queue_shape *to)
{
    struct queue_change *first = NULL, **end = &first;

    for (size_t i = 0; i < from->n_podsets; i++)
        for (size_t k = 0; k < from->podsets[i].n_requests; k++) {
            const struct shape_request *was = &from->podsets[i].requests[k];
            const struct shape_request *is = &to->podsets[i].requests[k];
            if (was->amount == is->amount)
                continue;
            if (!is->amount)
                return NULL;
            struct queue_change *c = arena_new(t->a, struct queue_change);
            *c = (struct queue_change){.kind = CHANGE_ASK_LESS,
                                       .podset = from->podsets[i].spec.name,
                                       .resource =
                                           intern_name(&t->cycle.e->resources, was->resource),
                                       .from = was->amount,
                                       .to = is->amount};
            *end = c;
            end = (struct queue_change **)(uintptr_t)&c->also;
        }
    return first;
}

/* Where no single one is enough. */
static void ask_less_of_several(struct trial *t, struct queue_cq *cq,
                                const struct queue_shape *shape)
{
    uint16_t *resources;
    size_t n = 0, total = 0;
    struct verdict v;

    for (size_t i = 0; i < shape->n_podsets; i++)
        total += shape->podsets[i].n_requests;
    resources = arena_array(t->a, uint16_t, total);
    for (size_t i = 0; i < shape->n_podsets; i++)
        for (size_t k = 0; k < shape->podsets[i].n_requests; k++) {
            size_t at = 0;
            while (at < n && resources[at] != shape->podsets[i].requests[k].resource)
                at++;
            if (at == n)
                resources[n++] = shape->podsets[i].requests[k].resource;
        }
    const struct queue_shape *s = shrink_together(t, cq, shape, resources, n, &v);
    const struct queue_change *c = s ? differences(t, shape, s) : NULL;
    if (c)
        offer(t, *c, &v);
}

static void try_asking_less(struct trial *t, struct queue_cq *cq,
                            const struct queue_shape *shape)
{
    size_t before = t->changes.len;

    for (size_t i = 0; i < shape->n_podsets; i++)
        for (size_t k = 0; k < shape->podsets[i].n_requests; k++)
            ask_less(t, cq, shape, i, shape->podsets[i].requests[k].resource);
    if (t->changes.len == before)
        ask_less_of_several(t, cq, shape);
}

/* ---- a higher priority ---- */

static int by_number(const int64_t *a, const int64_t *b)
{
    return *a < *b ? -1 : *a > *b;
}

static void add_priorities(struct trial *t, const struct quota_node *n, struct arena *a,
                           int64_t **at, size_t *len, size_t *cap)
{
    if (!n->is_leaf) {
        vec_each (i, &n->children)
            add_priorities(t, n->children.at[i], a, at, len, cap);
        return;
    }
    const struct queue_cq *cq = (const struct queue_cq *)(const void *)n;
    vec_each (i, &cq->holders) {
        if (*len == *cap)
            *at = vec_grow_(a, *at, *len, cap, sizeof(**at));
        (*at)[(*len)++] = cq->holders.at[i].priority;
    }
}

/* More is never worse: the lowest one that works is found by halving. */
static void try_priority(struct trial *t, struct queue_cq *cq, const struct queue_shape *shape)
{
    struct queue_shape *s = copy_shape(t, shape);
    const struct quota_node *root = quota_root(&cq->node);
    VEC(int64_t) prios = {0};
    size_t low = 0, high, n = 0;
    struct verdict v, best = {0};

    add_priorities(t, root ? root : &cq->node, t->a, &prios.at, &prios.len, &prios.cap);
    vec_sort(&prios, by_number);
    for (size_t i = 0; i < prios.len; i++) /* distinct ones not below ours */
        if (prios.at[i] >= shape->priority && prios.at[i] < INT32_MAX &&
            (!n || prios.at[n - 1] != prios.at[i]))
            prios.at[n++] = prios.at[i];
    high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        s->priority = prios.at[mid] + 1;
        v = judge(t, cq, s);
        if (v.starts)
            high = mid, best = v;
        else
            low = mid + 1;
    }
    if (best.starts)
        offer(t,
              (struct queue_change){
                  .kind = CHANGE_PRIORITY, .from = shape->priority, .to = prios.at[low] + 1},
              &best);
}

/* ---- another queue ---- */

static void try_queues(struct trial *t, struct queue_cq *own, const struct queue_shape *shape)
{
    struct queue_engine *e = t->cycle.e;
    size_t tried = 0;

    map_each (i, &e->lqs) {
        struct queue_lq *lq = *map_at(&e->lqs, i);
        if (!lq->is_attached || lq->cq == own || !str_eq(lq->ns, t->wl->group->lq->ns))
            continue;
        if (tried++ == QUEUE_WHY_MAX_QUEUES)
            return;
        struct verdict v = judge(t, lq->cq, shape);
        if (!v.starts || v.n_victims)
            continue;
        offer(t, (struct queue_change){.kind = CHANGE_QUEUE, .queue = lq->name}, &v);
        return;
    }
}

/* ---- nodes of a flavor that it keeps away from ---- */

static void try_tolerating(struct trial *t, struct queue_cq *cq,
                           const struct queue_shape *shape, const struct queue_cause *cause)
{
    static const struct queue_toleration all = {.is_exists = true};
    struct queue_shape *s = copy_shape(t, shape);

    for (size_t i = 0; i < s->n_podsets; i++) {
        s->podsets[i].spec.tolerations = &all;
        s->podsets[i].spec.n_tolerations = 1;
    }
    struct verdict v = judge(t, cq, s);
    if (v.starts && !v.n_victims)
        offer(t,
              (struct queue_change){.kind = CHANGE_TOLERATE,
                                    .flavor = cause->flavor,
                                    .podset = cause->podset,
                                    .detail = str_copy(t->a, cause->detail)},
              &v);
}

static void try_anywhere(struct trial *t, struct queue_cq *cq, const struct queue_shape *shape,
                         const struct queue_cause *cause)
{
    struct queue_shape *s = copy_shape(t, shape);

    for (size_t i = 0; i < s->n_podsets; i++) {
        s->podsets[i].spec.node_selector.len = 0;
        s->podsets[i].spec.has_affinity = false;
    }
    struct verdict v = judge(t, cq, s);
    if (v.starts && !v.n_victims)
        offer(t,
              (struct queue_change){
                  .kind = CHANGE_SELECTOR, .flavor = cause->flavor, .podset = cause->podset},
              &v);
}

static void try_other_nodes(struct trial *t, struct queue_cq *cq,
                            const struct queue_shape *shape, const struct assignment *as)
{
    bool taint = false, affinity = false;

    for (size_t i = 0; as && i < as->causes.len; i++) {
        const struct queue_cause *c = &as->causes.at[i];
        if (c->code == CAUSE_TAINT && !taint)
            try_tolerating(t, cq, shape, c);
        if (c->code == CAUSE_AFFINITY && !affinity)
            try_anywhere(t, cq, shape, c);
        taint |= c->code == CAUSE_TAINT;
        affinity |= c->code == CAUSE_AFFINITY;
    }
}

/* ---- more quota ---- */

static void set_nominal(struct queue_cq *cq, quota_fr fr, int64_t nominal)
{
    struct quota_node *root = quota_root(&cq->node);

    quota_cell(&cq->node, fr)->nominal = nominal;
    root->is_dirty = true; /* not quota_touch(): it is put back before anybody counts */
    quota_settle(root);
}

static bool is_shortage(const struct queue_cause *c)
{
    return c->code == CAUSE_SHORT || c->code == CAUSE_OVER_CAPACITY;
}

/* Raises what this judgement says the flavor is short of; the ones raised are noted. False
 * where there was none. */
static bool raise_short(struct trial *t, struct queue_cq *cq, struct str flavor,
                        const struct assignment *as, struct queue_change **raised)
{
    struct queue_engine *e = t->cycle.e;
    bool any = false;

    for (size_t i = 0; as && i < as->causes.len; i++) {
        const struct queue_cause *c = &as->causes.at[i];
        quota_fr fr = QUOTA_FR(intern_find(&e->flavor_names, flavor),
                               intern_find(&e->resources, c->resource));
        const struct quota_cell *cell = quota_cell(&cq->node, fr);
        if (!is_shortage(c) || !str_eq(c->flavor, flavor) || !cell)
            continue;
        struct queue_change *x = *raised;
        while (x && !str_eq(x->resource, c->resource))
            x = (struct queue_change *)(uintptr_t)x->also;
        if (!x) {
            x = arena_new(t->a, struct queue_change);
            *x = (struct queue_change){.kind = CHANGE_QUOTA,
                                       .flavor = c->flavor,
                                       .resource = c->resource,
                                       .queue = cq->name,
                                       .from = cell->nominal,
                                       .also = *raised};
            *raised = x;
        }
        int64_t less = amount_sub(amount_add(c->before, c->asked),
                                  MAX((int64_t)0, quota_available(&cq->node, fr)));
        x->to = amount_add(cell->nominal, MAX(less, c->short_by));
        any |= x->to > cell->nominal;
        set_nominal(cq, fr, x->to);
    }
    return any;
}

/* More quota of several resources of one flavor, where more of one is not enough. A judgement
 * ends at the first podset that gets nothing: the next one may find another shortage. */
static bool try_quotas(struct trial *t, struct queue_cq *cq, const struct queue_shape *shape,
                       struct str flavor)
{
    struct queue_engine *e = t->cycle.e;
    struct queue_change *raised = NULL;
    struct verdict v = judge(t, cq, shape);

    for (size_t i = 0; i < QUEUE_WHY_MAX_RAISES && (!v.starts || v.n_victims) &&
                       raise_short(t, cq, flavor, v.as, &raised);
         i++)
        v = judge(t, cq, shape);
    for (const struct queue_change *c = raised; c; c = c->also)
        set_nominal(cq,
                    QUOTA_FR(intern_find(&e->flavor_names, flavor),
                             intern_find(&e->resources, c->resource)),
                    c->from);
    if (!raised || !v.starts || v.n_victims)
        return false;
    offer(t, *raised, &v);
    return true;
}

/* Enough for all that one flavor is short of. */
static void try_quota(struct trial *t, struct queue_cq *cq, const struct queue_shape *shape,
                      const struct assignment *as)
{
    struct queue_engine *e = t->cycle.e;

    for (size_t i = 0; as && i < as->causes.len; i++) {
        const struct queue_cause *c = &as->causes.at[i];
        quota_fr fr = QUOTA_FR(intern_find(&e->flavor_names, c->flavor),
                               intern_find(&e->resources, c->resource));
        const struct quota_cell *cell = quota_cell(&cq->node, fr);
        if (!is_shortage(c) || !cell)
            continue;
        int64_t was = cell->nominal;
        int64_t less = amount_sub(amount_add(c->before, c->asked),
                                  MAX((int64_t)0, quota_available(&cq->node, fr)));
        int64_t to = amount_add(was, MAX(less, c->short_by));
        set_nominal(cq, fr, to);
        struct verdict v = judge(t, cq, shape);
        set_nominal(cq, fr, was);
        if (!v.starts || v.n_victims)
            continue;
        offer(t,
              (struct queue_change){.kind = CHANGE_QUOTA,
                                    .flavor = c->flavor,
                                    .resource = c->resource,
                                    .queue = cq->name,
                                    .from = was,
                                    .to = to},
              &v);
        return;
    }
    for (size_t i = 0; as && i < as->causes.len; i++)
        if (is_shortage(&as->causes.at[i]) && try_quotas(t, cq, shape, as->causes.at[i].flavor))
            return;
}

/* ---- candidates ---- */

struct census {
    struct trial *t;
    struct queue_why *why;
    struct preempt_input in;
    VEC(struct queue_candidate) named;
};

static enum queue_spared spared(const struct census *c, const struct queue_cq *cq,
                                const struct cq_holder *h)
{
    const struct queue_cq_spec *q = &c->in.cq->spec;
    enum queue_policy policy = cq == c->in.cq ? q->within : q->reclaim;
    uint32_t bits = needed_bits(cq, c->in.needed, c->in.n_needed);

    if (!holder_uses(h, bits, c->in.needed, c->in.n_needed))
        return SPARED_OTHER_FLAVOR;
    if (policy == POLICY_UNSET || policy == POLICY_NEVER)
        return SPARED_POLICY_NEVER;
    if (!holder_allowed(&c->in, h, policy))
        return SPARED_PRIORITY;
    if (cq != c->in.cq && quota_within(&cq->node, c->in.needed, c->in.n_needed))
        return SPARED_WITHIN_NOMINAL;
    return SPARED_ELIGIBLE;
}

static void count_candidates(struct census *c, const struct quota_node *n)
{
    if (!n->is_leaf) {
        vec_each (i, &n->children)
            count_candidates(c, n->children.at[i]);
        return;
    }
    const struct queue_cq *cq = (const struct queue_cq *)(const void *)n;
    vec_each (i, &cq->holders) {
        const struct cq_holder *h = &cq->holders.at[i];
        enum queue_spared why = spared(c, cq, h);
        c->why->counts[why]++;
        if (why != SPARED_OTHER_FLAVOR && c->named.len < QUEUE_WHY_MAX_CANDIDATES)
            vec_push_in(
                c->t->a, &c->named,
                (struct queue_candidate){wl_key(c->t->a, h->wl), cq->name, h->priority, why});
    }
}

static void look_at_candidates(struct trial *t, struct queue_why *why, struct queue_cq *cq,
                               const struct queue_shape *shape, const struct assignment *as)
{
    struct queue_engine *e = t->cycle.e;
    const struct quota_node *root = quota_root(&cq->node);
    struct census c = {.t = t, .why = why};
    VEC(quota_fr) needed = {0};

    for (size_t i = 0; as && i < as->causes.len; i++)
        if (as->causes.at[i].code == CAUSE_SHORT)
            vec_push_in(t->a, &needed,
                        QUOTA_FR(intern_find(&e->flavor_names, as->causes.at[i].flavor),
                                 intern_find(&e->resources, as->causes.at[i].resource)));
    if (!needed.len)
        return;
    c.in = (struct preempt_input){.e = e,
                                  .a = t->a,
                                  .cq = cq,
                                  .wl = t->wl,
                                  .priority = shape->priority,
                                  .now = t->cycle.now,
                                  .needed = needed.at,
                                  .n_needed = needed.len};
    count_candidates(&c, root ? root : &cq->node);
    why->candidates = c.named.at;
    why->n_candidates = c.named.len;
}

/* ---- the answer ---- */

static void keep_causes(struct trial *t, struct queue_why *why, const struct verdict *v)
{
    struct queue_cause *at = arena_array(t->a, struct queue_cause, v->as->causes.len + 1);

    for (size_t i = 0; i < v->as->causes.len; i++)
        at[why->n_causes++] = v->as->causes.at[i];
    if (v->as->mode == MODE_PREEMPT && !v->n_victims)
        at[why->n_causes++] = (struct queue_cause){.code = CAUSE_NO_VICTIM};
    why->causes = at;
    why->reason = v->as->mode == MODE_NO_FIT ? v->as->no_fit : QUEUE_WAITING_FOR_QUOTA;
    why->message =
        queue_message(t->a, v->as->mode == MODE_NO_FIT ? OUTCOME_NO_FIT : OUTCOME_NO_VICTIMS,
                      why->causes, why->n_causes, v->n_victims);
}

static void look_ahead(struct trial *t, struct queue_why *why, struct queue_cq *cq)
{
    struct queue_wl **order;
    size_t n = queue_in_order(t->cycle.e, t->a, cq, &order);

    for (size_t i = 0; i < n && order[i] != t->wl; i++)
        why->ahead += cq->spec.is_strict || !pending_is_parked(order[i]);
    if (cq->spec.is_strict && n && order[0] != t->wl)
        why->behind = wl_key(t->a, order[0]);
}

static const struct wl_answer *last_answer(const struct queue_wl *wl)
{
    return wl->extra ? wl->extra->answer : NULL;
}

static void add_cause(struct trial *t, struct queue_why *why, struct queue_cause c)
{
    struct queue_cause *at = arena_array(t->a, struct queue_cause, why->n_causes + 1);

    for (size_t i = 0; i < why->n_causes; i++)
        at[i] = why->causes[i];
    at[why->n_causes++] = c;
    why->causes = at;
    if (!why->message.len)
        why->message = queue_cause_text(t->a, &c);
}

/* What the first in line is short of: " (needs 1 cpu, 0 free)". */
static struct str needs_text(struct trial *t, const struct queue_wl *first)
{
    const struct wl_answer *x = last_answer(first);

    for (size_t i = 0; x && i < x->n_causes; i++) {
        const struct queue_cause *c = &x->causes[i];
        if (c->code == CAUSE_SHORT)
            return str_printf(t->a, " (needs %.*s %.*s, %.*s free)",
                              STR_ARG(resource_units_text(t->a, c->resource, c->asked)),
                              STR_ARG(c->resource),
                              STR_ARG(resource_units_text(t->a, c->resource, c->available)));
    }
    return S("");
}

/* A queue in strict order: whoever is first blocks all others, whatever they ask for. */
static void note_first(struct trial *t, struct queue_why *why)
{
    if (!why->behind.len)
        return;
    struct str needs = needs_text(t, wl_find(t->cycle.e, why->behind));
    why->reason = why->reason ? why->reason : QUEUE_WAITING_FOR_QUOTA;
    add_cause(t, why,
              (struct queue_cause){.code = CAUSE_FIRST_IN_LINE,
                                   .owner = why->cq,
                                   .detail = str_printf(t->a, "%.*s%.*s", STR_ARG(why->behind),
                                                        STR_ARG(needs))});
}

/* Why nobody looks at it at all. */
static void note_queue(struct trial *t, struct queue_why *why)
{
    const struct queue_lq *lq = t->wl->group->lq;
    const struct queue_cq *cq = lq->cq;
    struct queue_cause c = {.code = CAUSE_QUEUE_MISSING, .detail = S("LocalQueue")};

    why->reason = QUEUE_MISCONFIGURED;
    c.owner = lq->name;
    if (lq->exists && lq->is_stopped) {
        c.code = CAUSE_QUEUE_INACTIVE;
        why->reason = QUEUE_SUSPENDED;
    } else if (lq->exists && !cq->exists) {
        c.detail = S("ClusterQueue");
        c.owner = cq->name;
    } else if (lq->exists && !cq_gives_heads(cq)) {
        c = (struct queue_cause){CAUSE_QUEUE_INACTIVE, .owner = cq->name,
                                 .detail = S("ClusterQueue")};
        why->reason = QUEUE_SUSPENDED;
    } else if (lq->exists) {
        c = (struct queue_cause){CAUSE_NAMESPACE, .owner = cq->name};
        if (!lq_ns(t->cycle.e, t->wl->group->lq))
            c.detail = lq->ns;
    }
    add_cause(t, why, c);
}

/* What its last judgement said, where the present one would be yes. */
static void keep_answer(struct trial *t, struct queue_why *why)
{
    const struct wl_answer *x = last_answer(t->wl);

    if (!x || !x->reason)
        return;
    struct queue_cause *at = arena_array(t->a, struct queue_cause, x->n_causes);
    for (size_t i = 0; i < x->n_causes; i++) {
        at[i] = x->causes[i];
        at[i].podset = str_copy(t->a, at[i].podset);
        at[i].detail = str_copy(t->a, at[i].detail);
    }
    why->causes = at;
    why->n_causes = x->n_causes;
    why->reason = x->reason;
    why->message = queue_message(t->a, x->outcome, at, x->n_causes, x->n_victims);
}

struct queue_why queue_why(struct queue_engine *e, struct arena *a, struct str key,
                           struct instant now)
{
    struct queue_wl *wl = wl_find(e, key);
    struct queue_why why = {.is_known = wl != NULL};

    if (!wl)
        return why;
    struct trial t = {
        .cycle = {.e = e, .a = a, .scratch = a, .now = now},
          .wl = wl, .a = a
    };
    const struct queue_shape *shape = wl->group->shape;
    struct queue_cq *cq = wl_cq(wl);
    engine_flush(e, now);
    why.lq = wl->group->lq->key;
    why.cq = cq ? cq->name : S("");
    why.holds_quota = wl->extra && wl->extra->holds;
    why.is_waiting = wl->state == WL_WAITING && wl->group->lq->is_attached;
    why.is_parked = pending_is_parked(wl);
    if (wl->state == WL_WAITING && !why.is_waiting)
        note_queue(&t, &why);
    if (why.holds_quota || !why.is_waiting)
        return why;

    look_ahead(&t, &why, cq);
    struct verdict v = judge(&t, cq, shape);
    if (v.starts) {
        keep_answer(&t, &why);
        offer(&t, (struct queue_change){.kind = CHANGE_NOTHING}, &v);
    } else {
        if (v.as)
            keep_causes(&t, &why, &v);
        else
            note_queue(&t, &why);
        look_at_candidates(&t, &why, cq, shape, v.as);
        try_asking_less(&t, cq, shape);
        try_priority(&t, cq, shape);
        try_queues(&t, cq, shape);
        try_other_nodes(&t, cq, shape, v.as);
        try_quota(&t, cq, shape, v.as);
    }
    note_first(&t, &why);
    why.changes = t.changes.at;
    why.n_changes = t.changes.len;
    return why;
}

/* ---- in words ---- */

struct str queue_spared_text(enum queue_spared s)
{
    static const struct str texts[] = {
#define SPARED_TEXT(name, text) S_INIT(text),
        QUEUE_SPARED(SPARED_TEXT)
#undef SPARED_TEXT
    };
    return s < countof(texts) ? texts[s] : S("");
}

static struct str change_text(struct arena *a, const struct queue_change *c)
{
    struct str from = resource_units_text(a, c->resource, c->from);
    struct str to = resource_units_text(a, c->resource, c->to);
    struct str evicts = S("");

    if (c->evicts)
        evicts = str_printf(a, " (evicts %u workload%s)", c->evicts, c->evicts == 1 ? "" : "s");
    switch (c->kind) {
    case CHANGE_NOTHING:
        return str_printf(a, "nothing: it starts when its turn comes%.*s", STR_ARG(evicts));
    case CHANGE_ASK_LESS:
        return str_printf(a, "ask %.*s of '%.*s' instead of %.*s in podset '%.*s'", STR_ARG(to),
                          STR_ARG(c->resource), STR_ARG(from), STR_ARG(c->podset));
    case CHANGE_PRIORITY:
        return str_printf(a, "priority %" PRId64 " instead of %" PRId64 "%.*s", c->to, c->from,
                          STR_ARG(evicts));
    case CHANGE_QUEUE:
        return str_printf(a, "submit to queue '%.*s'", STR_ARG(c->queue));
    case CHANGE_TOLERATE:
        return str_printf(a, "tolerate the taint %.*s of flavor '%.*s'", STR_ARG(c->detail),
                          STR_ARG(c->flavor));
    case CHANGE_SELECTOR:
        return str_printf(a, "drop the node selector and affinity, for flavor '%.*s'",
                          STR_ARG(c->flavor));
    case CHANGE_QUOTA:
        return str_printf(
            a,
            "nominal quota %.*s of '%.*s' instead of %.*s in ClusterQueue '%.*s', "
            "flavor '%.*s'",
            STR_ARG(to), STR_ARG(c->resource), STR_ARG(from), STR_ARG(c->queue),
            STR_ARG(c->flavor));
    }
    return S("");
}

struct str queue_change_text(struct arena *a, const struct queue_change *c)
{
    struct buf out = buf_in(a, 128);

    for (const struct queue_change *x = c; x; x = x->also) {
        struct str text = change_text(a, x);
        buf_printf(&out, "%s%.*s", x == c ? "" : x->also ? ", " : " and ", STR_ARG(text));
    }
    return buf_str(&out);
}
