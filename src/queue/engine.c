/* engine.c - the engine as a whole: made, woken, looked at, freed */
#include "queue/engine_priv.h"

/* ---- configuration ---- */

struct queue_config queue_config_default(void)
{
    return (struct queue_config){.gates = QUEUE_GATES_DEFAULT};
}

bool queue_gate(const struct queue_config *c, enum queue_gate g)
{
    return c->gates >> g & 1;
}

bool queue_config_gate(struct queue_config *c, struct str name, bool on)
{
    static const struct str names[] = {
#define GATE_NAME(id, text, on) S_INIT(text),
        QUEUE_GATES(GATE_NAME)
#undef GATE_NAME
    };

    for (size_t i = 0; i < countof(names); i++)
        if (str_eq(names[i], name)) {
            c->gates = on ? c->gates | 1u << i : c->gates & ~(1u << i);
            return true;
        }
    return false;
}

/* ---- life ---- */

struct queue_engine *queue_new(const struct queue_config *config)
{
    struct queue_engine *e = mem_zero(1, sizeof(*e));
    struct queue_weight *weights;

    e->config = *config;
    e->arena = arena_sized(4096);
    e->scratch = arena_sized(64 << 10);
    weights = arena_array(&e->arena, struct queue_weight, config->n_afs_weights);
    for (size_t i = 0; i < config->n_afs_weights; i++)
        weights[i] = (struct queue_weight){str_copy(&e->arena, config->afs_weights[i].resource),
                                           config->afs_weights[i].weight};
    e->config.afs_weights = weights;
    return e;
}

static void free_workloads(struct queue_engine *e)
{
    struct slab *s = e->slabs, *next;

    for (uint32_t i = 0; i < e->n_table; i++)
        for (struct queue_wl *wl = e->table[i]; wl; wl = wl->next)
            wl_extra_free(wl);
    for (; s; s = next) {
        next = *(struct slab **)(void *)s; /* its first member */
        free(s);
    }
    free(e->table);
}

static void free_queues(struct queue_engine *e)
{
    map_each (i, &e->groups) {
        struct queue_group *g = *map_at(&e->groups, i);
        free(g->heaps[0].at);
        free(g->heaps[1].at);
        free(g);
    }
    map_each (i, &e->shapes) {
        arena_fini(&(*map_at(&e->shapes, i))->arena);
        free(*map_at(&e->shapes, i));
    }
    map_each (i, &e->lqs) {
        struct queue_lq *lq = *map_at(&e->lqs, i);
        vec_fini(&lq->groups);
        vec_fini(&lq->reserved);
        vec_fini(&lq->admitted);
        afs_ledger_fini(&lq->ledger);
        free(lq);
    }
    map_each (i, &e->cqs) {
        struct queue_cq *cq = *map_at(&e->cqs, i);
        quota_node_fini(&cq->node);
        arena_fini(&cq->arena);
        vec_fini(&cq->holders);
        vec_fini(&cq->admitted);
        vec_fini(&cq->lqs);
        vec_fini(&cq->heap);
        vec_fini(&cq->parked);
        free(cq->bulk.at);
        free(cq);
    }
}

static void free_objects(struct queue_engine *e)
{
    map_each (i, &e->cohorts) {
        quota_node_fini(&(*map_at(&e->cohorts, i))->node);
        free(*map_at(&e->cohorts, i));
    }
    map_each (i, &e->checks) {
        arena_fini(&(*map_at(&e->checks, i))->arena);
        free(*map_at(&e->checks, i));
    }
    map_each (i, &e->topologies) {
        arena_fini(&(*map_at(&e->topologies, i))->arena);
        free(*map_at(&e->topologies, i));
    }
    map_each (i, &e->namespaces) {
        arena_fini(&(*map_at(&e->namespaces, i))->arena);
        free(*map_at(&e->namespaces, i));
    }
    vec_each (i, &e->flavors)
        if (e->flavors.at[i]) {
            arena_fini(&e->flavors.at[i]->arena);
            free(e->flavors.at[i]);
        }
    vec_fini(&e->flavors);
}

void queue_free(struct queue_engine *e)
{
    if (!e)
        return;
    free_workloads(e);
    free_queues(e);
    free_objects(e);
    map_fini(&e->checks);
    map_fini(&e->topologies);
    map_fini(&e->namespaces);
    map_fini(&e->cohorts);
    map_fini(&e->cqs);
    map_fini(&e->lqs);
    map_fini(&e->shapes);
    map_fini(&e->groups);
    intern_fini(&e->flavor_names);
    intern_fini(&e->resources);
    vec_fini(&e->ready);
    vec_fini(&e->flushes);
    vec_fini(&e->second_pass);
    vec_fini(&e->log.entries);
    arena_fini(&e->scratch);
    arena_fini(&e->arena);
    free(e);
}

/* ---- waking ---- */

static struct queue_cq *first_leaf(struct quota_node *n)
{
    for (int depth = 0; n && depth < QUOTA_MAX_DEPTH; depth++) {
        if (n->is_leaf)
            return container_of(n, struct queue_cq, node);
        struct quota_node *next = NULL;
        vec_each (i, &n->children) {
            if (n->children.at[i]->is_leaf)
                return container_of(n->children.at[i], struct queue_cq, node);
            next = n->children.at[i];
        }
        n = next;
    }
    return NULL;
}

void engine_want_flush(struct queue_engine *e, struct quota_node *n)
{
    struct quota_node *root = quota_root(n);
    struct queue_cq *cq = first_leaf(n->is_leaf || !root ? n : root);

    if (!cq || cq->wants_flush)
        return;
    cq->wants_flush = true;
    vec_push(&e->flushes, cq);
}

void engine_flush(struct queue_engine *e, struct instant now)
{
    uint64_t stamp = ++e->stamp;

    vec_each (i, &e->flushes) {
        struct queue_cq *cq = e->flushes.at[i];
        struct quota_node *root = quota_root(&cq->node);
        cq->wants_flush = false;
        if (!root || root->stamp == stamp)
            continue;
        root->stamp = stamp;
        pending_flush_node(e, root, now);
    }
    vec_clear(&e->flushes);
}

void queue_wake(struct queue_engine *e, struct str name, struct instant now)
{
    struct queue_cq *cq = cq_find(e, name);

    if (cq)
        pending_flush_node(e, &cq->node, now);
}

bool queue_has_heads(struct queue_engine *e, struct instant now, struct instant *next)
{
    *next = (struct instant){0};
    engine_flush(e, now);
    vec_each (i, &e->second_pass) {
        struct instant due = e->second_pass.at[i]->extra->due;
        if (!instant_before(now, due))
            return true;
        if (!next->ns || instant_before(due, *next))
            *next = due;
    }
    vec_each (i, &e->ready) {
        const struct queue_cq *cq = e->ready.at[i];
        const struct queue_group *top = cq->heap.at[0];
        if (cq->is_active &&
            (cq->judged != top->heaps[top->active].at[0] || cq->judged_changes != e->changes))
            return true;
    }
    return false;
}

/* ---- looking ---- */

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

static int64_t amount_of(const struct quota_amount *at, size_t n, quota_fr fr)
{
    for (size_t i = 0; i < n; i++)
        if (at[i].fr == fr)
            return at[i].amount;
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
        in_use[i] = line_of(e, cq, cq->frs[i],
                            amount_of(cq->admitted.at, cq->admitted.len, cq->frs[i]));
    }
    v.reserved = reserved;
    v.in_use = in_use;
    v.share = quota_share_value(quota_share(&cq->node, &e->resources));
    return v;
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
        reserved[i] = line_of(e, cq, cq->frs[i],
                              amount_of(lq->reserved.at, lq->reserved.len, cq->frs[i]));
        in_use[i] = line_of(e, cq, cq->frs[i],
                            amount_of(lq->admitted.at, lq->admitted.len, cq->frs[i]));
    }
    v.reserved = reserved;
    v.in_use = in_use;
    return v;
}
