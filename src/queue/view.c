/* view.c - what is told of the engine's state: who waits, who uses what, why a queue is
 * inactive */
#include "queue/engine_priv.h"

static int by_place(void *cq, const void *a, const void *b)
{
    return pending_cmp(cq, *(struct queue_wl *const *)a, *(struct queue_wl *const *)b);
}

size_t queue_in_order(struct queue_engine *e, struct arena *a, struct queue_cq *cq,
                      struct queue_wl ***out)
{
    struct queue_wl **at = arena_array(a, struct queue_wl *, cq->n_active + cq->n_parked);
    size_t len = 0;

    (void)e;
    vec_each (i, &cq->lqs) {
        const struct queue_lq *lq = cq->lqs.at[i];
        for (size_t g = 0; lq->is_attached && g < lq->groups.len; g++)
            for (size_t h = 0; h < 2; h++)
                for (uint32_t k = 0; k < lq->groups.at[g]->heaps[h].len; k++)
                    at[len++] = lq->groups.at[g]->heaps[h].at[k];
    }
    sort_with(at, len, sizeof(struct queue_wl *), by_place, cq);
    *out = at;
    return len;
}

static void view_reason(struct arena *a, const struct queue_cq *cq, const struct queue_wl *wl,
                        struct queue_pending *p)
{
    const struct wl_answer *last = wl->extra ? wl->extra->answer : NULL;
    enum queue_reason shape = pending_shape_reason(cq, wl->group->shape->class);

    if (last && last->reason) {
        p->reason = last->reason;
        p->causes = last->causes;
        p->n_causes = last->n_causes;
        p->message =
            queue_message(a, last->outcome, last->causes, last->n_causes, last->n_victims);
    } else if (p->is_parked && shape) {
        struct queue_cause c = {.code = CAUSE_SAME_SHAPE};
        p->reason = shape;
        p->message = queue_cause_text(a, &c);
    }
}

size_t queue_list(struct queue_engine *e, struct arena *a, struct str name,
                  const struct queue_pending **out)
{
    struct queue_cq *cq = cq_find(e, name);
    struct queue_wl **order;
    struct queue_pending *at;
    uint32_t *seen;
    size_t n;

    if (!cq)
        return 0;
    n = queue_in_order(e, a, cq, &order);
    at = arena_array(a, struct queue_pending, n);
    seen = arena_array(a, uint32_t, e->next_lq);
    for (size_t i = 0; i < n; i++) {
        const struct queue_lq *lq = order[i]->group->lq;
        at[i] = (struct queue_pending){.key = wl_key(a, order[i]),
                                       .lq = lq->key,
                                       .priority = order[i]->group->shape->priority,
                                       .position_cq = (uint32_t)i,
                                       .position_lq = seen[lq->id]++,
                                       .is_parked = pending_is_parked(order[i])};
        view_reason(a, cq, order[i], &at[i]);
    }
    *out = at;
    return n;
}

static int64_t sum_of(const usage_sums *sums, quota_fr fr)
{
    vec_each (i, sums)
        if (sums->at[i].fr == fr)
            return (int64_t)MIN(sums->at[i].amount, (__int128)INT64_MAX);
    return 0;
}

static struct queue_usage_line line_of(const struct queue_engine *e, const struct queue_cq *cq,
                                       quota_fr fr, int64_t used)
{
    const struct quota_cell none = {0}, *c = quota_cell(&cq->node, fr);
    struct queue_usage_line l = {
        .flavor = intern_name(&e->flavor_names, QUOTA_FLAVOR(fr)),
        .resource = intern_name(&e->resources, QUOTA_RESOURCE(fr)),
        .used = used,
        .borrow_limit = -1,
        .lend_limit = -1,
    };

    c = c ? c : &none;
    l.nominal = c->nominal;
    l.subtree = c->subtree;
    if (c->has_borrow)
        l.borrow_limit = c->borrow;
    if (c->has_lend)
        l.lend_limit = c->lend;
    if (cq->node.parent)
        l.borrowed = MAX((int64_t)0, amount_sub(used, c->nominal));
    l.available = MAX((int64_t)0, quota_available(&cq->node, fr));
    return l;
}

/* Codes of Active=False in the order in which the first one is the reason. */
static const struct str inactive_texts[] = {
#define INACTIVE_TEXT(name, text) S_INIT(text),
    CAUSES_INACTIVE(INACTIVE_TEXT)
#undef INACTIVE_TEXT
};

static struct str missing_flavors(struct queue_engine *e, struct arena *a,
                                  const struct queue_cq *cq)
{
    VEC(struct str) names = {0};

    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t i = 0; i < cq->groups[g].n_flavors; i++)
            if (!e->flavors.at[cq->groups[g].flavors[i]]->exists)
                vec_push_in(a, &names, intern_name(&e->flavor_names, cq->groups[g].flavors[i]));
    return str_join(a, names.at, names.len, S(","));
}

static int name_cmp(const struct str *a, const struct str *b)
{
    return str_cmp(*a, *b);
}

/* Names of checks that a reason is about. */
static struct str checks_of(struct queue_engine *e, struct arena *a, const struct queue_cq *cq,
                            enum cq_inactive why, const char *separator)
{
    VEC(struct str) names = {0};

    for (size_t i = 0; i < cq->spec.n_checks; i++) {
        struct str name = cq->spec.checks[i].name;
        struct queue_check **c = map_get(&e->checks, name);
        bool exists = c && (*c)->exists;
        bool is_multikueue = exists && str_eq((*c)->controller, S("kueue.x-k8s.io/multikueue"));
        bool is_provisioning =
            exists && str_eq((*c)->controller, S("kueue.x-k8s.io/provisioning-request"));
        bool is_named = why == INACTIVE_CHECK_NOT_FOUND  ? !exists
                        : why == INACTIVE_CHECK_INACTIVE ? exists && !(*c)->is_active
                        : why == INACTIVE_MULTIKUEUE_PROVISIONING
                            ? is_multikueue || is_provisioning
                            : is_multikueue;
        if (is_named)
            vec_push_in(a, &names, name);
    }
    vec_sort(&names, name_cmp);
    return str_join(a, names.at, names.len, str_from(separator));
}

static struct str inactive_part(struct queue_engine *e, struct arena *a,
                                const struct queue_cq *cq, enum cq_inactive why)
{
    switch (why) {
    case INACTIVE_STOPPED:
        return S("is stopped");
    case INACTIVE_FLAVOR_NOT_FOUND:
        return str_printf(a, "references missing ResourceFlavor(s): %.*s",
                          STR_ARG(missing_flavors(e, a, cq)));
    case INACTIVE_CHECK_NOT_FOUND:
        return str_printf(a, "references missing AdmissionCheck(s): %.*s",
                          STR_ARG(checks_of(e, a, cq, why, ",")));
    case INACTIVE_CHECK_INACTIVE:
        return str_printf(a, "references inactive AdmissionCheck(s): %.*s",
                          STR_ARG(checks_of(e, a, cq, why, ",")));
    case INACTIVE_MULTIPLE_MULTIKUEUE:
        return str_printf(a,
                          "Cannot use multiple MultiKueue AdmissionChecks on the same "
                          "ClusterQueue, found: %.*s",
                          STR_ARG(checks_of(e, a, cq, why, ",")));
    case INACTIVE_MULTIKUEUE_PER_FLAVOR:
        return str_printf(a, "Cannot specify MultiKueue AdmissionCheck per flavor, found: %.*s",
                          STR_ARG(checks_of(e, a, cq, why, ",")));
    case INACTIVE_MULTIKUEUE_PROVISIONING:
        return str_printf(a,
                          "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks "
                          "together, found: %.*s",
                          STR_ARG(checks_of(e, a, cq, why, ", ")));
    case INACTIVE_TOPOLOGY_NOT_FOUND:
        for (size_t g = 0; g < cq->n_groups; g++)
            for (size_t i = 0; i < cq->groups[g].n_flavors; i++) {
                const struct queue_flavor *f = e->flavors.at[cq->groups[g].flavors[i]];
                struct queue_topology **t = map_get(&e->topologies, f->spec.topology);
                if (f->exists && f->spec.topology.len && (!t || !(*t)->exists))
                    return str_printf(a,
                                      "there is no Topology \"%.*s\" for TAS flavor \"%.*s\"",
                                      STR_ARG(f->spec.topology), STR_ARG(f->spec.name));
            }
        break;
    case INACTIVE_TERMINATING:
    case INACTIVE_COUNT:
        break;
    }
    return S("");
}

void cq_active_view(struct queue_engine *e, struct arena *a, const struct queue_cq *cq,
                    struct str *reason, struct str *message)
{
    VEC(struct str) parts = {0};

    if (cq->is_active) {
        *reason = S("Ready");
        *message = S("Can admit new workloads");
        return;
    }
    *reason = S("Unknown");
    *message = S("Can't admit new workloads.");
    if (cq->inactive >> INACTIVE_TERMINATING & 1) {
        *reason = inactive_texts[INACTIVE_TERMINATING];
        *message = S("Can't admit new workloads; clusterQueue is terminating");
        return;
    }
    for (int i = INACTIVE_TERMINATING; i-- > 0;)
        if (cq->inactive >> i & 1)
            *reason = inactive_texts[i];
    for (int i = 0; i < INACTIVE_TERMINATING; i++)
        if (cq->inactive >> i & 1)
            vec_push_in(a, &parts, inactive_part(e, a, cq, (enum cq_inactive)i));
    if (parts.len)
        *message = str_printf(a, "Can't admit new workloads: %.*s.",
                              STR_ARG(str_join(a, parts.at, parts.len, S(", "))));
}

struct queue_cq_view queue_cq_look(struct queue_engine *e, struct arena *a, struct str name)
{
    struct queue_cq *cq = cq_find(e, name);
    struct queue_cq_view v = {0};

    if (!cq) {
        v.active_reason = S("NotFound");
        v.active_message = S("ClusterQueue not found");
        return v;
    }
    quota_settle(&cq->node);
    v.is_known = true;
    v.is_active = cq->is_active;
    cq_active_view(e, a, cq, &v.active_reason, &v.active_message);
    v.pending_active = cq->n_active + (cq->inflight != NULL);
    v.pending_parked = cq->n_parked;
    v.reserving = (uint32_t)cq->holders.len;
    v.admitted = cq->n_admitted;
    v.n_lines = cq->n_frs;
    struct queue_usage_line *reserved = arena_array(a, struct queue_usage_line, v.n_lines);
    struct queue_usage_line *in_use = arena_array(a, struct queue_usage_line, v.n_lines);
    for (size_t i = 0; i < v.n_lines; i++) {
        reserved[i] = line_of(e, cq, cq->frs[i], quota_usage(&cq->node, cq->frs[i]));
        in_use[i] = line_of(e, cq, cq->frs[i], sum_of(&cq->admitted, cq->frs[i]));
    }
    v.reserved = reserved;
    v.in_use = in_use;
    v.share = quota_share_value(quota_share(&cq->node, &e->resources));
    return v;
}

enum queue_reason queue_equal_failed(const struct queue_engine *e, struct str key)
{
    const struct queue_wl *wl = wl_find(e, key);
    const struct wl_answer *last = wl && wl->extra ? wl->extra->answer : NULL;

    if (!queue_is_waiting(e, key) || (last && last->reason) || !pending_is_parked(wl))
        return QUEUE_NONE;
    return pending_shape_reason(wl_cq(wl), wl->group->shape->class);
}

bool queue_is_active(const struct queue_engine *e, struct str cq)
{
    const struct queue_cq *q = cq_find(e, cq);

    return q && q->is_active;
}

struct str queue_lq_target(const struct queue_engine *e, struct str path)
{
    const struct queue_lq *lq = lq_find(e, path);

    return lq && lq->exists && lq->cq ? lq->cq->name : S("");
}

struct queue_lq_view queue_lq_look(struct queue_engine *e, struct arena *a, struct str ns,
                                   struct str name)
{
    struct queue_lq *lq = lq_find(e, str_printf(a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name)));
    struct queue_lq_view v = {0};

    if (!lq || !lq->exists)
        return v;
    const struct queue_cq *cq = lq->cq;
    v.is_known = true;
    v.is_active = !lq->is_stopped && cq->is_active;
    v.pending = lq->is_stopped ? 0 : lq->pending;
    v.pending += lq->is_attached && cq->inflight && cq->inflight->group->lq == lq;
    v.reserving = lq->n_holding;
    v.admitted = lq->n_admitted;
    v.n_lines = cq->n_frs;
    struct queue_usage_line *reserved = arena_array(a, struct queue_usage_line, v.n_lines);
    struct queue_usage_line *in_use = arena_array(a, struct queue_usage_line, v.n_lines);
    for (size_t i = 0; i < v.n_lines; i++) {
        reserved[i] = line_of(e, cq, cq->frs[i], sum_of(&lq->reserved, cq->frs[i]));
        in_use[i] = line_of(e, cq, cq->frs[i], sum_of(&lq->admitted, cq->frs[i]));
    }
    v.reserved = reserved;
    v.in_use = in_use;
    return v;
}
