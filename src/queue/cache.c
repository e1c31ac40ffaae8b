/* cache.c - flavors, checks, cohorts and ClusterQueues, and the workloads that use quota
 *
 * A record of a ClusterQueue or Cohort may stand for a name that is only referred to: then
 * `exists` (of a cohort: is_explicit) is false. Workloads that hold quota in a ClusterQueue
 * that was deleted stay with its record and count again when it comes back.
 */
#include "queue/preempt_priv.h"

#define MULTIKUEUE S("kueue.x-k8s.io/multikueue")
#define PROVISIONING S("kueue.x-k8s.io/provisioning-request")

/* ---- names ---- */

struct queue_flavor *flavor_find(const struct queue_engine *e, struct str name)
{
    uint16_t id = intern_find(&e->flavor_names, name);
    struct queue_flavor *f = id < e->flavors.len ? e->flavors.at[id] : NULL;
    return f && f->exists ? f : NULL;
}

static struct queue_flavor *flavor_ref(struct queue_engine *e, struct str name)
{
    uint16_t id = intern_add(&e->flavor_names, name);

    if (id == INTERN_NONE)
        return NULL;
    while (e->flavors.len <= id)
        vec_push(&e->flavors, NULL);
    if (!e->flavors.at[id]) {
        e->flavors.at[id] = mem_zero(1, sizeof(struct queue_flavor));
        e->flavors.at[id]->id = id;
    }
    return e->flavors.at[id];
}

uint16_t flavor_number(struct queue_engine *e, struct str name)
{
    struct queue_flavor *f = flavor_ref(e, name);
    return f ? f->id : INTERN_NONE;
}

struct queue_cq *cq_find(const struct queue_engine *e, struct str name)
{
    struct queue_cq **cq = map_get(&e->cqs, name);
    return cq && (*cq)->exists ? *cq : NULL;
}

struct queue_cq *cq_ref(struct queue_engine *e, struct str name)
{
    struct queue_cq **found = map_get(&e->cqs, name);

    if (found)
        return *found;
    struct queue_cq *cq = mem_zero(1, sizeof(*cq));
    cq->name = str_copy(&e->arena, name);
    cq->index = e->next_cq++;
    cq->node.is_leaf = true;
    cq->node.weight = 1;
    cq->ready_slot = UINT32_MAX;
    cq->flush_cycle = -1;
    *map_put(&e->cqs, cq->name) = cq;
    return cq;
}

struct queue_cohort *cohort_find(const struct queue_engine *e, struct str name)
{
    struct queue_cohort **c = map_get(&e->cohorts, name);
    return c ? *c : NULL;
}

static struct queue_cohort *cohort_ref(struct queue_engine *e, struct str name)
{
    struct queue_cohort *c = cohort_find(e, name);

    if (c)
        return c;
    c = mem_zero(1, sizeof(*c));
    c->name = str_copy(&e->arena, name);
    *map_put(&e->cohorts, c->name) = c;
    return c;
}

/* An implicit cohort lives as long as something points at it. */
static void cohort_release(struct queue_engine *e, struct quota_node *n)
{
    struct queue_cohort *c = container_of(n, struct queue_cohort, node);

    if (!n || c->is_explicit || n->children.len)
        return;
    quota_set_parent(n, NULL);
    map_del(&e->cohorts, c->name);
    quota_node_fini(n);
    free(c);
}

struct queue_ns *ns_find(const struct queue_engine *e, struct str name)
{
    struct queue_ns **ns = map_get(&e->namespaces, name);
    return ns && (*ns)->exists ? *ns : NULL;
}

struct queue_ns *lq_ns(const struct queue_engine *e, struct queue_lq *lq)
{
    if (!lq->ns_record)
        lq->ns_record = ns_find(e, lq->ns);
    return lq->ns_record && lq->ns_record->exists ? lq->ns_record : NULL;
}

/* ---- is a ClusterQueue active? ---- */

static bool check_covers_all(const struct queue_cq *cq, const struct queue_check_ref *ref)
{
    size_t all = 0, named = 0;

    if (!ref->n_on_flavors)
        return true;
    for (size_t g = 0; g < cq->spec.n_groups; g++)
        for (size_t f = 0; f < cq->spec.groups[g].n_flavors; f++, all++)
            for (size_t i = 0; i < ref->n_on_flavors; i++)
                named += str_eq(ref->on_flavors[i], cq->spec.groups[g].flavors[f].flavor);
    return named == all;
}

static uint32_t inactive_by_checks(const struct queue_engine *e, const struct queue_cq *cq,
                                   bool *has_multikueue)
{
    size_t n_multikueue = 0, n_provisioning = 0;
    uint32_t bits = 0;

    for (size_t i = 0; i < cq->spec.n_checks; i++) {
        const struct queue_check_ref *ref = &cq->spec.checks[i];
        struct queue_check **found = map_get(&e->checks, ref->name);
        if (!found || !(*found)->exists) {
            bits |= 1u << INACTIVE_CHECK_NOT_FOUND;
            continue;
        }
        if (!(*found)->is_active)
            bits |= 1u << INACTIVE_CHECK_INACTIVE;
        n_provisioning += str_eq((*found)->controller, PROVISIONING);
        if (str_eq((*found)->controller, MULTIKUEUE)) {
            n_multikueue++;
            if (!check_covers_all(cq, ref))
                bits |= 1u << INACTIVE_MULTIKUEUE_PER_FLAVOR;
        }
    }
    if (n_multikueue > 1)
        bits |= 1u << INACTIVE_MULTIPLE_MULTIKUEUE;
    if (n_multikueue && n_provisioning)
        bits |= 1u << INACTIVE_MULTIKUEUE_PROVISIONING;
    *has_multikueue = n_multikueue > 0;
    return bits;
}

static uint32_t inactive_bits(const struct queue_engine *e, const struct queue_cq *cq)
{
    bool has_multikueue;
    uint32_t bits = inactive_by_checks(e, cq, &has_multikueue);

    if (cq->is_terminating)
        bits |= 1u << INACTIVE_TERMINATING;
    if (cq->spec.stop != STOP_NONE)
        bits |= 1u << INACTIVE_STOPPED;
    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t i = 0; i < cq->groups[g].n_flavors; i++) {
            const struct queue_flavor *f = e->flavors.at[cq->groups[g].flavors[i]];
            if (!f->exists) {
                bits |= 1u << INACTIVE_FLAVOR_NOT_FOUND;
                continue;
            }
            struct queue_topology **t = map_get(&e->topologies, f->spec.topology);
            if (f->spec.topology.len && gate(e, QUEUE_GATE_TOPOLOGY) && !has_multikueue &&
                (!t || !(*t)->exists))
                bits |= 1u << INACTIVE_TOPOLOGY_NOT_FOUND;
        }
    return bits;
}

void cq_refresh_active(struct queue_engine *e, struct queue_cq *cq)
{
    bool was_active = cq->is_active;

    cq->inactive = inactive_bits(e, cq);
    cq->is_active = cq->exists && !cq->inactive;
    if (cq->is_active && !was_active)
        engine_want_flush(e, &cq->node);
}

static void refresh_all(struct queue_engine *e)
{
    engine_change_all(e);
    map_each (i, &e->cqs)
        if ((*map_at(&e->cqs, i))->exists)
            cq_refresh_active(e, *map_at(&e->cqs, i));
}

bool cq_gives_heads(const struct queue_cq *cq)
{
    return cq->is_active && !quota_has_cycle(&cq->node);
}

/* ---- flavors, checks, topologies, namespaces ---- */

struct queue_labels labels_copy(struct arena *a, struct queue_labels l)
{
    struct queue_label *at = arena_array(a, struct queue_label, l.len);

    for (size_t i = 0; i < l.len; i++)
        at[i] = (struct queue_label){str_copy(a, l.at[i].key), str_copy(a, l.at[i].value)};
    return (struct queue_labels){at, l.len};
}

const struct queue_toleration *tolerations_copy(struct arena *a,
                                                const struct queue_toleration *in, size_t n)
{
    struct queue_toleration *t = arena_array(a, struct queue_toleration, n);

    for (size_t i = 0; i < n; i++)
        t[i] = (struct queue_toleration){str_copy(a, in[i].key), str_copy(a, in[i].value),
                                         str_copy(a, in[i].effect), in[i].is_exists};
    return t;
}

void queue_put_flavor(struct queue_engine *e, const struct queue_flavor_spec *spec)
{
    struct queue_flavor *f = flavor_ref(e, spec->name);
    struct queue_taint *taints;

    if (!f)
        return; /* over INTERN_MAX: as if it did not exist */
    arena_reset(&f->arena);
    f->exists = true;
    f->spec = *spec;
    f->spec.name = intern_name(&e->flavor_names, f->id);
    f->spec.topology = str_copy(&f->arena, spec->topology);
    f->spec.labels = labels_copy(&f->arena, spec->labels);
    f->spec.tolerations = tolerations_copy(&f->arena, spec->tolerations, spec->n_tolerations);
    f->spec.taints = taints = arena_array(&f->arena, struct queue_taint, spec->n_taints);
    for (size_t i = 0; i < spec->n_taints; i++)
        taints[i] = (struct queue_taint){str_copy(&f->arena, spec->taints[i].key),
                                         str_copy(&f->arena, spec->taints[i].value),
                                         str_copy(&f->arena, spec->taints[i].effect)};
    refresh_all(e);
}

void queue_delete_flavor(struct queue_engine *e, struct str name)
{
    struct queue_flavor *f = flavor_find(e, name);

    if (!f)
        return;
    f->exists = false;
    refresh_all(e);
}

void queue_put_check(struct queue_engine *e, struct str name, struct str controller,
                     bool is_active)
{
    struct queue_check **found = map_get(&e->checks, name), *c = found ? *found : NULL;

    if (!c) {
        c = mem_zero(1, sizeof(*c));
        c->name = str_copy(&e->arena, name);
        *map_put(&e->checks, c->name) = c;
    }
    arena_reset(&c->arena);
    c->exists = true;
    c->is_active = is_active;
    c->controller = str_copy(&c->arena, controller);
    refresh_all(e);
}

void queue_delete_check(struct queue_engine *e, struct str name)
{
    struct queue_check **found = map_get(&e->checks, name);

    if (!found)
        return;
    (*found)->exists = false;
    refresh_all(e);
}

void queue_put_topology(struct queue_engine *e, struct str name, const struct str *levels,
                        size_t n_levels)
{
    struct queue_topology **found = map_get(&e->topologies, name), *t = found ? *found : NULL;
    struct str *copy;

    if (!t) {
        t = mem_zero(1, sizeof(*t));
        t->name = str_copy(&e->arena, name);
        *map_put(&e->topologies, t->name) = t;
    }
    arena_reset(&t->arena);
    t->exists = true;
    t->levels = copy = arena_array(&t->arena, struct str, n_levels);
    t->n_levels = n_levels;
    for (size_t i = 0; i < n_levels; i++)
        copy[i] = str_copy(&t->arena, levels[i]);
    refresh_all(e);
}

void queue_delete_topology(struct queue_engine *e, struct str name)
{
    struct queue_topology **t = map_get(&e->topologies, name);

    if (!t)
        return;
    (*t)->exists = false;
    refresh_all(e);
}

void queue_put_namespace(struct queue_engine *e, struct str name, struct queue_labels labels)
{
    struct queue_ns **found = map_get(&e->namespaces, name), *ns = found ? *found : NULL;

    if (!ns) {
        ns = mem_zero(1, sizeof(*ns));
        ns->name = str_copy(&e->arena, name);
        *map_put(&e->namespaces, ns->name) = ns;
    }
    struct arena old_arena = ns->arena;
    struct queue_labels old = ns->exists ? ns->labels : (struct queue_labels){0};
    bool was = ns->exists;
    engine_change_all(e);
    ns->arena = (struct arena){0};
    ns->labels = labels_copy(&ns->arena, labels);
    ns->exists = true;
    map_each (i, &e->cqs) {
        struct queue_cq *cq = *map_at(&e->cqs, i);
        if (cq->parked.len && match_selector(&cq->spec.namespaces, ns->labels) &&
            !(was && match_selector(&cq->spec.namespaces, old)))
            engine_want_flush(e, &cq->node);
    }
    arena_fini(&old_arena);
}

void queue_delete_namespace(struct queue_engine *e, struct str name)
{
    struct queue_ns *ns = ns_find(e, name);

    engine_change_all(e);
    if (ns)
        ns->exists = false;
}

/* ---- quotas of cohorts and ClusterQueues ---- */

/* Flavors and resources of the groups get numbers. -1 with ERR_LIMIT. */
static int limits_of(struct queue_engine *e, struct arena *a, struct str name,
                     const struct queue_group_spec *groups, size_t n_groups,
                     struct quota_limit **out, size_t *count, struct err *err)
{
    VEC(struct quota_limit) limits = {0};

    for (size_t g = 0; g < n_groups; g++)
        for (size_t f = 0; f < groups[g].n_flavors; f++) {
            const struct queue_group_flavor *gf = &groups[g].flavors[f];
            struct queue_flavor *flavor = flavor_ref(e, gf->flavor);
            for (size_t r = 0; r < gf->n_quotas; r++) {
                const struct queue_quota_spec *q = &gf->quotas[r];
                uint16_t resource = intern_add(&e->resources, q->resource);
                if (!flavor || resource == INTERN_NONE)
                    return err_set(err, ERR_LIMIT,
                                   "'%.*s' names more than %d flavors or resources",
                                   STR_ARG(name), INTERN_MAX);
                vec_push_in(a, &limits,
                            (struct quota_limit){QUOTA_FR(flavor->id, resource), q->has_borrow,
                                                 q->has_lend, q->nominal, q->borrow, q->lend});
            }
        }
    *out = limits.at;
    *count = limits.len;
    return 0;
}

static int cycle_error(const struct quota_node *n, const char *kind, struct str name,
                       struct err *err)
{
    if (!quota_has_cycle(n))
        return 0;
    return err_set(err, ERR_INVALID,
                   "%s '%.*s' stands in a cohort cycle: nothing in it is admitted until one "
                   "edge is removed",
                   kind, STR_ARG(name));
}

int queue_put_cohort(struct queue_engine *e, const struct queue_cohort_spec *spec,
                     struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct quota_limit *limits;
    size_t n;

    if (limits_of(e, &a, spec->name, spec->groups, spec->n_groups, &limits, &n, err) < 0)
        return -1;
    struct queue_cohort *c = cohort_ref(e, spec->name);
    struct quota_node *old = c->node.parent;
    struct quota_node *parent = spec->parent.len ? &cohort_ref(e, spec->parent)->node : NULL;

    engine_change_all(e);
    c->is_explicit = true;
    c->node.weight = spec->weight;
    quota_set_limits(&c->node, limits, n);
    if (old != parent) {
        quota_set_parent(&c->node, parent);
        if (old)
            cohort_release(e, old);
    } else {
        quota_touch(&c->node);
    }
    engine_want_flush(e, &c->node);
    return cycle_error(&c->node, "cohort", c->name, err);
}

void queue_delete_cohort(struct queue_engine *e, struct str name)
{
    struct queue_cohort *c = cohort_find(e, name);

    if (!c || !c->is_explicit)
        return;
    struct quota_node *old = c->node.parent;
    engine_change_all(e);
    c->is_explicit = false;
    c->node.weight = 0;
    quota_set_limits(&c->node, NULL, 0);
    if (old)
        quota_set_parent(&c->node, NULL);
    else
        quota_touch(&c->node);
    if (old && old != &c->node) /* else it was its own parent */
        cohort_release(e, old);
    cohort_release(e, &c->node);
}

/* ---- ClusterQueues ---- */

static const struct queue_group_spec *groups_copy(struct arena *a,
                                                  const struct queue_group_spec *in, size_t n)
{
    struct queue_group_spec *out = arena_array(a, struct queue_group_spec, n);

    for (size_t g = 0; g < n; g++) {
        struct str *resources = arena_array(a, struct str, in[g].n_resources);
        struct queue_group_flavor *flavors =
            arena_array(a, struct queue_group_flavor, in[g].n_flavors);
        for (size_t i = 0; i < in[g].n_resources; i++)
            resources[i] = str_copy(a, in[g].resources[i]);
        for (size_t f = 0; f < in[g].n_flavors; f++) {
            const struct queue_group_flavor *from = &in[g].flavors[f];
            struct queue_quota_spec *q =
                arena_array(a, struct queue_quota_spec, from->n_quotas);
            for (size_t r = 0; r < from->n_quotas; r++) {
                q[r] = from->quotas[r];
                q[r].resource = str_copy(a, q[r].resource);
            }
            flavors[f] =
                (struct queue_group_flavor){str_copy(a, from->flavor), q, from->n_quotas};
        }
        out[g] =
            (struct queue_group_spec){resources, in[g].n_resources, flavors, in[g].n_flavors};
    }
    return out;
}

static bool groups_equal(const struct queue_group_spec *a, size_t n_a,
                         const struct queue_group_spec *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t g = 0; g < n_a; g++) {
        if (a[g].n_flavors != b[g].n_flavors || a[g].n_resources != b[g].n_resources)
            return false;
        for (size_t i = 0; i < a[g].n_resources; i++)
            if (!str_eq(a[g].resources[i], b[g].resources[i]))
                return false;
        for (size_t f = 0; f < a[g].n_flavors; f++) {
            const struct queue_group_flavor *x = &a[g].flavors[f], *y = &b[g].flavors[f];
            if (!str_eq(x->flavor, y->flavor) || x->n_quotas != y->n_quotas)
                return false;
            for (size_t r = 0; r < x->n_quotas; r++) {
                const struct queue_quota_spec *p = &x->quotas[r], *q = &y->quotas[r];
                if (!str_eq(p->resource, q->resource) || p->nominal != q->nominal ||
                    p->has_borrow != q->has_borrow || p->borrow != q->borrow ||
                    p->has_lend != q->has_lend || p->lend != q->lend)
                    return false;
            }
        }
    }
    return true;
}

static struct queue_selector selector_copy(struct arena *a, struct queue_selector s)
{
    struct queue_requirement *at = arena_array(a, struct queue_requirement, s.term.len);

    for (size_t i = 0; i < s.term.len; i++) {
        struct str *values = arena_array(a, struct str, s.term.at[i].n_values);
        at[i] = s.term.at[i];
        at[i].key = str_copy(a, at[i].key);
        for (size_t k = 0; k < at[i].n_values; k++)
            values[k] = str_copy(a, s.term.at[i].values[k]);
        at[i].values = values;
    }
    return (struct queue_selector){
        s.is_set, {at, s.term.len}
    };
}

static const struct queue_check_ref *checks_copy(struct arena *a,
                                                 const struct queue_check_ref *in, size_t n)
{
    struct queue_check_ref *out = arena_array(a, struct queue_check_ref, n);

    for (size_t i = 0; i < n; i++) {
        struct str *on = arena_array(a, struct str, in[i].n_on_flavors);
        for (size_t k = 0; k < in[i].n_on_flavors; k++)
            on[k] = str_copy(a, in[i].on_flavors[k]);
        out[i] = (struct queue_check_ref){str_copy(a, in[i].name), on, in[i].n_on_flavors};
    }
    return out;
}

/* The groups by numbers, and the order of their (flavor, resource) pairs. */
static void number_groups(struct queue_engine *e, struct queue_cq *cq)
{
    struct cq_group *groups = arena_array(&cq->arena, struct cq_group, cq->spec.n_groups);
    VEC(quota_fr) frs = {0};

    for (size_t g = 0; g < cq->spec.n_groups; g++) {
        const struct queue_group_spec *s = &cq->spec.groups[g];
        uint16_t *resources = arena_array(&cq->arena, uint16_t, s->n_resources);
        uint16_t *flavors = arena_array(&cq->arena, uint16_t, s->n_flavors);
        for (size_t i = 0; i < s->n_resources; i++)
            resources[i] = intern_add(&e->resources, s->resources[i]);
        for (size_t f = 0; f < s->n_flavors; f++) {
            flavors[f] = flavor_ref(e, s->flavors[f].flavor)->id;
            for (size_t r = 0; r < s->flavors[f].n_quotas; r++)
                vec_push_in(&cq->arena, &frs,
                            QUOTA_FR(flavors[f], intern_add(&e->resources,
                                                            s->flavors[f].quotas[r].resource)));
        }
        groups[g] = (struct cq_group){resources, s->n_resources, flavors, s->n_flavors};
    }
    cq->groups = groups;
    cq->n_groups = cq->spec.n_groups;
    cq->frs = frs.at;
    cq->n_frs = frs.len;
}

static void copy_spec(struct queue_engine *e, struct queue_cq *cq,
                      const struct queue_cq_spec *spec)
{
    struct arena old = cq->arena;

    cq->arena = arena_sized(1024);
    cq->spec = *spec;
    cq->spec.name = cq->name;
    cq->spec.cohort = str_copy(&cq->arena, spec->cohort);
    cq->spec.groups = groups_copy(&cq->arena, spec->groups, spec->n_groups);
    cq->spec.namespaces = selector_copy(&cq->arena, spec->namespaces);
    cq->spec.checks = checks_copy(&cq->arena, spec->checks, spec->n_checks);
    arena_fini(&old);
    number_groups(e, cq);
}

int queue_put_cq(struct queue_engine *e, const struct queue_cq_spec *spec, struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct quota_limit *limits;
    size_t n;

    if (limits_of(e, &a, spec->name, spec->groups, spec->n_groups, &limits, &n, err) < 0)
        return -1;
    struct queue_cq *cq = cq_ref(e, spec->name);
    bool is_new = !cq->exists;
    bool is_changed = is_new || !spec->digest || spec->digest != cq->spec.digest;
    bool quotas_changed = is_new || !groups_equal(cq->spec.groups, cq->spec.n_groups,
                                                  spec->groups, spec->n_groups);
    struct quota_node *old = cq->node.parent;
    struct quota_node *parent = spec->cohort.len ? &cohort_ref(e, spec->cohort)->node : NULL;

    engine_change_all(e);
    cq->exists = true;
    cq->is_terminating = cq->is_terminating || spec->is_terminating;
    copy_spec(e, cq, spec);
    cq->node.weight = spec->weight;
    if (quotas_changed)
        quota_set_limits(&cq->node, limits, n);
    if (old != parent) {
        quota_set_parent(&cq->node, parent);
        if (old)
            cohort_release(e, old);
    } else if (quotas_changed) {
        quota_touch(&cq->node);
    }
    cq_refresh_active(e, cq);
    if (is_new)
        vec_each (i, &cq->lqs)
            lq_attach(e, cq->lqs.at[i]);
    afs_refresh_cq(e, cq);
    if (is_changed)
        engine_want_flush(e, &cq->node);
    return cycle_error(&cq->node, "ClusterQueue", cq->name, err);
}

void queue_delete_cq(struct queue_engine *e, struct str name)
{
    struct queue_cq *cq = cq_find(e, name);

    if (!cq)
        return;
    engine_change_all(e);
    vec_each (i, &cq->lqs)
        lq_detach(e, cq->lqs.at[i]);
    struct quota_node *old = cq->node.parent;
    cq->exists = cq->is_active = cq->is_terminating = false;
    cq->spec = (struct queue_cq_spec){.name = cq->name};
    cq->n_groups = cq->n_frs = 0;
    arena_reset(&cq->arena);
    quota_set_limits(&cq->node, NULL, 0);
    pending_forget_shapes(cq);
    if (old) {
        quota_set_parent(&cq->node, NULL);
        cohort_release(e, old);
    }
    cq->node.gen_base = -(int64_t)cq->node.computed; /* a new one starts at 0 */
    cq->node.gen_joined = 0;
    cq->pop_cycle = 0;
    cq->flush_cycle = -1;
}

/* ---- who uses quota ---- */

static void add_sum(usage_sums *sums, quota_fr fr, __int128 amount)
{
    size_t i = 0;

    while (i < sums->len && sums->at[i].fr != fr)
        i++;
    if (i == sums->len)
        vec_push(sums, (struct usage_sum){fr, 0});
    sums->at[i].amount += amount;
}

/* Adds (sign 1) or takes away (-1) what wl uses from the sums kept beside the tree. */
static void count_holder(struct queue_engine *e, struct queue_cq *cq, struct queue_wl *wl,
                         int sign)
{
    struct wl_extra *x = wl->extra;
    struct queue_lq *lq = wl->group->lq;
    bool is_admitted = x->flags & WL_ADMITTED;

    vec_each (i, &x->usage) {
        __int128 v = (__int128)x->usage.at[i].amount * sign;
        add_sum(&lq->reserved, x->usage.at[i].fr, v);
        if (is_admitted) {
            add_sum(&cq->admitted, x->usage.at[i].fr, v);
            add_sum(&lq->admitted, x->usage.at[i].fr, v);
        }
    }
    lq->n_holding += (uint32_t)sign;
    if (is_admitted) {
        cq->n_admitted += (uint32_t)sign;
        lq->n_admitted += (uint32_t)sign;
    }
    if (!(x->flags & WL_PODS_READY))
        e->n_not_ready += (uint32_t)sign;
}

void cache_hold(struct queue_engine *e, struct queue_cq *cq, struct queue_wl *wl)
{
    struct wl_extra *x = wl_extra(wl);
    struct cq_holder h = {.wl = wl,
                          .priority = wl->group->shape->priority,
                          .reserved_ns = x->reserved_at.ns,
                          .uid_head = wl_uid_head(wl),
                          .is_evicted = x->flags & WL_EVICTED};

    if (x->holds)
        cache_release(e, wl);
    x->holds = cq;
    quota_settle(&cq->node);
    vec_each (i, &x->usage) {
        quota_add(&cq->node, x->usage.at[i].fr, x->usage.at[i].amount, NULL);
        h.fr_bits |=
            holder_bit((size_t)(quota_cell(&cq->node, x->usage.at[i].fr) - cq->node.cells.at));
    }
    x->holder_slot = (uint32_t)cq->holders.len;
    vec_push(&cq->holders, h);
    rank_add(e, cq, wl);
    count_holder(e, cq, wl, 1);
}

/* Sums that stood at their ceiling say nothing any more once something is taken away. */
static void sum_anew(struct queue_cq *cq, quota_fr fr)
{
    int64_t usage = 0;

    vec_each (i, &cq->holders) {
        const struct wl_extra *x = cq->holders.at[i].wl->extra;
        vec_each (k, &x->usage)
            if (x->usage.at[k].fr == fr)
                usage = amount_add(usage, x->usage.at[k].amount);
    }
    quota_reset(&cq->node, fr, usage);
}

void cache_release(struct queue_engine *e, struct queue_wl *wl)
{
    struct wl_extra *x = wl->extra;

    if (!x || !x->holds)
        return;
    struct queue_cq *cq = x->holds;
    bool is_full = false;
    quota_settle(&cq->node);
    vec_each (i, &x->usage) {
        is_full |= quota_is_full(&cq->node, x->usage.at[i].fr);
        quota_remove(&cq->node, x->usage.at[i].fr, x->usage.at[i].amount, NULL);
    }
    count_holder(e, cq, wl, -1);
    rank_remove(cq, wl);
    struct cq_holder last = vec_pop(&cq->holders);
    if (last.wl != wl) {
        cq->holders.at[x->holder_slot] = last;
        last.wl->extra->holder_slot = x->holder_slot;
    }
    x->holds = NULL;
    cq->node.gen_base++;
    for (size_t i = 0; is_full && i < x->usage.len; i++)
        sum_anew(cq, x->usage.at[i].fr);
}
