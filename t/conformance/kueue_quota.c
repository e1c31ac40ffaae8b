/* kueue_quota.c - the quota cache: trees, usage, activeness, snapshots */
#include <math.h>

#include "kueue_sched.h"

#include "kueue_parts.h"
#include "queue/plan_priv.h"

static void put(struct sched *s, const struct json *o)
{
    queue_put_object(s->e, s->t->arena, o, &s->loader, s->now);
}

static void put_all(struct sched *s, const struct json *list)
{
    json_each (i, list)
        put(s, json_at(list, i));
}

static struct str name_of(const struct json *o)
{
    return json_str(json_path(o, "metadata", "name", NULL));
}

static const struct json *in(const struct sched *s, const char *name)
{
    return json_get(json_getz(s->c, "in"), str_from(name));
}

static void same_bool(struct sched *s, const char *name, bool got)
{
    if (got != json_bool(json_get(s->want, str_from(name)), false))
        conf_fail(s->t, name, got ? S("true") : S("false"), S("the other"));
}

static void same_text(struct sched *s, const char *name, struct str got)
{
    conf_same_str(s->t, name, got, json_str(json_get(s->want, str_from(name))));
}

static int by_value(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

/* ---- maps of amounts: "flavor/resource" -> number ---- */

static struct str fr_text(struct sched *s, quota_fr fr)
{
    return str_printf(s->t->arena, "%.*s/%.*s",
                      STR_ARG(intern_name(&s->e->flavor_names, QUOTA_FLAVOR(fr))),
                      STR_ARG(intern_name(&s->e->resources, QUOTA_RESOURCE(fr))));
}

static quota_fr fr_from(struct sched *s, struct str text)
{
    struct str flavor, resource;

    str_cut(text, '/', &flavor, &resource);
    return QUOTA_FR(flavor_number(s->e, flavor), intern_add(&s->e->resources, resource));
}

static struct json amount_json(int64_t v)
{
    return v == AMOUNT_UNLIMITED ? json_of_z("unlimited") : json_of_i64(v);
}

static int64_t amount_from(const struct json *v)
{
    return str_eq(json_str(v), S("unlimited")) ? AMOUNT_UNLIMITED : json_i64(v, 0);
}

static void add_usage(struct sched *s, struct queue_cq *cq, const struct json *map, int sign)
{
    json_each_member (m, map) {
        if (sign > 0)
            quota_add(&cq->node, fr_from(s, m->name), amount_from(&m->value), NULL);
        else
            quota_remove(&cq->node, fr_from(s, m->name), amount_from(&m->value), NULL);
    }
}

enum what { WHAT_AVAILABLE, WHAT_POTENTIAL, WHAT_SUBTREE, WHAT_USAGE };

static struct json cell_map(struct sched *s, const struct quota_node *n, enum what what)
{
    struct json_obj out = obj_in(s->t->arena);

    vec_each (i, &n->cells) {
        const struct quota_cell *c = &n->cells.at[i];
        int64_t v = what == WHAT_AVAILABLE   ? quota_available(n, c->fr)
                    : what == WHAT_POTENTIAL ? c->potential
                    : what == WHAT_SUBTREE   ? c->subtree
                                             : c->usage;
        if (what == WHAT_AVAILABLE && n->is_leaf)
            v = MAX((int64_t)0, v);
        if (what != WHAT_USAGE && !c->is_quota)
            continue;
        if (what == WHAT_USAGE && !v)
            continue;
        obj_set(&out, fr_text(s, c->fr), amount_json(v));
    }
    return obj_done(&out);
}

/* ---- available ---- */

static const struct json *all_cqs(struct sched *s, enum what what)
{
    struct json_obj out = obj_in(s->t->arena);

    map_each (i, &s->e->cqs) {
        struct queue_cq *cq = *map_at(&s->e->cqs, i);
        quota_settle(&cq->node);
        obj_set(&out, cq->name, cell_map(s, &cq->node, what));
    }
    return json_new(s->t->arena, obj_done(&out));
}

static void available(struct sched *s)
{
    put_all(s, in(s, "cohorts"));
    put_all(s, in(s, "clusterQueues"));
    sched_same(s, "potentiallyAvailable", all_cqs(s, WHAT_POTENTIAL),
               json_getz(s->want, "potentiallyAvailable"));
    const struct json *before = all_cqs(s, WHAT_AVAILABLE);
    json_each_member (m, in(s, "usage"))
        add_usage(s, cq_find(s->e, m->name), &m->value, 1);
    sched_same(s, "available", all_cqs(s, WHAT_AVAILABLE), json_getz(s->want, "available"));
    json_each_member (m, in(s, "usage"))
        add_usage(s, cq_find(s->e, m->name), &m->value, -1);
    sched_same(s, "available as before", all_cqs(s, WHAT_AVAILABLE), before);
}

/* ---- shares ---- */

static int64_t share_number(struct quota_share share)
{
    double v = quota_share_value(share);
    return isinf(v) || v >= 9.2e18 ? INT64_MAX : (int64_t)ceil(v);
}

static struct json share_json(struct sched *s, const struct quota_node *n, struct str name)
{
    struct quota_share share = quota_share(n, &s->e->resources);
    struct json_obj o = obj_in(s->t->arena);

    obj_setz(&o, "borrowing", json_of_bool(share.is_borrowing));
    if (share.ratio > 0)
        obj_setz(&o, "drName", json_of_str(intern_name(&s->e->resources, share.resource)));
    obj_setz(&o, "drValue", json_of_i64(share_number(share)));
    obj_setz(&o, "name", json_of_str(name));
    obj_setz(&o, "nodeType", json_of_str(n->is_leaf ? S("clusterQueue") : S("cohort")));
    return obj_done(&o);
}

static void shares(struct sched *s)
{
    struct arena *a = s->t->arena;
    struct json_arr got = arr_in(a), want = arr_in(a);
    const struct json *list = json_getz(s->want, "result");

    put_all(s, in(s, "cohorts"));
    put(s, in(s, "clusterQueue"));
    if (json_has(in(s, "lendingClusterQueue")))
        put(s, in(s, "lendingClusterQueue"));
    struct queue_cq *cq = cq_find(s->e, name_of(in(s, "clusterQueue")));
    quota_settle(&cq->node);
    add_usage(s, cq, in(s, "usage"), 1);
    add_usage(s, cq, in(s, "flvResQ"), 1);
    map_each (i, &s->e->cqs) {
        struct queue_cq *x = *map_at(&s->e->cqs, i);
        arr_add(&got, share_json(s, &x->node, x->name));
    }
    map_each (i, &s->e->cohorts) {
        struct queue_cohort *x = *map_at(&s->e->cohorts, i);
        arr_add(&got, share_json(s, &x->node, x->name));
    }
    json_each (i, list)
        arr_add(&want, *json_at(list, i));
    vec_sort(&got.items, by_value);
    vec_sort(&want.items, by_value);
    sched_same(s, "shares", json_new(a, arr_done(&got)), json_new(a, arr_done(&want)));
}

static void borrowing_on(struct sched *s)
{
    static const char text[] =
        "[{\"metadata\":{\"name\":\"cq\"},\"kind\":\"ClusterQueue\",\"spec\":{\"cohortName\":"
        "\"all\",\"resourceGroups\":[{\"flavors\":[{\"name\":\"default\",\"resources\":[{"
        "\"name\":\"cpu\",\"nominalQuota\":2},{\"name\":\"example.com/gpu\",\"nominalQuota\":5}"
        "]}]}]}},{\"metadata\":{\"name\":\"lending-cq\"},\"kind\":\"ClusterQueue\",\"spec\":{"
        "\"cohortName\":\"all\",\"resourceGroups\":[{\"flavors\":[{\"name\":\"default\","
        "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":8},{\"name\":\"example.com/gpu\","
        "\"nominalQuota\":5}]}]}]}}]";
    const struct json *requested = in(s, "requestedFRs");
    VEC(struct quota_amount) frs = {0};

    put_all(s, json_parse(s->t->arena, str_from(text), NULL, NULL));
    struct queue_cq *cq = cq_find(s->e, S("cq"));
    quota_settle(&cq->node);
    add_usage(s, cq, in(s, "usage"), 1);
    json_each (i, requested) {
        const struct json *x = json_at(requested, i);
        quota_fr fr =
            json_is(x, JSON_STRING)
                ? fr_from(s, json_str(x))
                : QUOTA_FR(flavor_number(s->e, json_str(json_getz(x, "flavor"))),
                           intern_add(&s->e->resources, json_str(json_getz(x, "resource"))));
        vec_push_in(s->t->arena, &frs, (struct quota_amount){fr, 1});
    }
    json_each_member (m, requested)
        vec_push_in(s->t->arena, &frs,
                    (struct quota_amount){fr_from(s, m->name), amount_from(&m->value)});
    same_bool(s, "borrowing", quota_share(&cq->node, &s->e->resources).is_borrowing);
    same_bool(s, "borrowingOnRequested", quota_borrows_on(&cq->node, frs.at, frs.len));
}

static void share_spelling(struct sched *s)
{
    const struct json *drs = in(s, "drs");
    struct quota_share share = {.ratio = json_f64(json_getz(drs, "unweightedRatio"), 0),
                                .weight = json_f64(json_getz(drs, "fairWeight"), 1)};
    double v = quota_share_value(share);
    struct json number = json_of_f64(v);

    same_text(s, "result", isinf(v) ? S("+Inf") : json_text(s->t->arena, &number));
}

/* ---- snapshots ---- */

static struct json quotas_json(struct sched *s, const struct quota_node *n)
{
    struct json_obj out = obj_in(s->t->arena);

    vec_each (i, &n->cells) {
        const struct quota_cell *c = &n->cells.at[i];
        struct json_obj o = obj_in(s->t->arena);
        if (!c->is_own)
            continue;
        obj_setz(&o, "nominal", amount_json(c->nominal));
        if (c->has_borrow)
            obj_setz(&o, "borrowingLimit", amount_json(c->borrow));
        if (c->has_lend)
            obj_setz(&o, "lendingLimit", amount_json(c->lend));
        obj_set(&out, fr_text(s, c->fr), obj_done(&o));
    }
    return obj_done(&out);
}

static void node_json(struct sched *s, const struct quota_node *n, struct json_obj *o)
{
    obj_setz(o, "fairWeight", json_of_f64(n->weight));
    obj_setz(o, "quotas", quotas_json(s, n));
    obj_setz(o, "subtreeQuota", cell_map(s, n, WHAT_SUBTREE));
    obj_setz(o, "usage", cell_map(s, n, WHAT_USAGE));
}

static struct json cq_json(struct sched *s, struct queue_cq *cq)
{
    struct arena *a = s->t->arena;
    struct json_obj o = obj_in(a);
    struct json_arr keys = arr_in(a);

    node_json(s, &cq->node, &o);
    obj_setz(&o, "allocatableResourceGeneration", json_of_i64(quota_generation(&cq->node)));
    obj_setz(&o, "available", cell_map(s, &cq->node, WHAT_AVAILABLE));
    if (cq->spec.cohort.len)
        obj_setz(&o, "cohort", json_of_str(cq->spec.cohort));
    vec_each (i, &cq->holders)
        arr_add(&keys, json_of_str(wl_key(a, cq->holders.at[i].wl)));
    vec_sort(&keys.items, by_value);
    if (keys.items.len)
        obj_setz(&o, "workloads", arr_done(&keys));
    return obj_done(&o);
}

static const struct json *snapshot_json(struct sched *s)
{
    struct arena *a = s->t->arena;
    struct json_obj out = obj_in(a), cqs = obj_in(a), cohorts = obj_in(a);
    struct json_arr inactive = arr_in(a);

    map_each (i, &s->e->cqs) {
        struct queue_cq *cq = *map_at(&s->e->cqs, i);
        if (!cq->exists)
            continue;
        quota_settle(&cq->node);
        if (cq_gives_heads(cq))
            obj_set(&cqs, cq->name, cq_json(s, cq));
        else
            arr_add(&inactive, json_of_str(cq->name));
    }
    map_each (i, &s->e->cohorts) {
        struct queue_cohort *c = *map_at(&s->e->cohorts, i);
        struct json_obj o = obj_in(a);
        if (quota_has_cycle(&c->node))
            continue;
        quota_settle(&c->node);
        node_json(s, &c->node, &o);
        obj_set(&cohorts, c->name, obj_done(&o));
    }
    vec_sort(&inactive.items, by_value);
    obj_setz(&out, "clusterQueues", obj_done(&cqs));
    obj_setz(&out, "cohorts", obj_done(&cohorts));
    obj_setz(&out, "inactive", arr_done(&inactive));
    return json_new(a, obj_done(&out));
}

/* Numbers that are 0 say the same as absent ones; policies are what was given. */
static const struct json *comparable(struct arena *a, const struct json *v)
{
    struct json_obj out = obj_in(a);

    if (!json_is(v, JSON_OBJECT))
        return v;
    json_each_member (m, v) {
        bool is_given = str_eq(m->name, S("flavorFungibility")) ||
                        str_eq(m->name, S("preemption")) || str_eq(m->name, S("fairSharing"));
        bool is_number = m->value.type == JSON_INT || m->value.type == JSON_DOUBLE;
        if (is_given ||
            (is_number && json_f64(&m->value, 0) == 0 && !str_eq(m->name, S("nominal"))))
            continue;
        obj_add(&out, m->name, *comparable(a, &m->value));
    }
    return json_new(a, obj_done(&out));
}

static void compare_snapshot(struct sched *s)
{
    struct arena *a = s->t->arena;

    sched_same(s, "snapshot", comparable(a, snapshot_json(s)),
               comparable(a, json_getz(s->want, "snapshot")));
}

static void snapshot(struct sched *s)
{
    put_all(s, in(s, "topologies"));
    put_all(s, in(s, "rfs"));
    put_all(s, in(s, "cohorts"));
    put_all(s, in(s, "cqs"));
    put_all(s, in(s, "cohorts")); /* as upstream's table does: Cohorts are put again, twice, */
    put_all(s, in(s, "cohorts")); /* which counts as two computations */
    put_all(s, in(s, "wls"));
    compare_snapshot(s);
}

static const struct json *cached_workload(struct sched *s, struct str key)
{
    const struct json *list = in(s, "cachedWorkloads");

    json_each (i, list)
        if (str_eq(sched_key(s->t->arena, json_at(list, i)), key))
            return json_at(list, i);
    list = in(s, "workloads");
    json_each (i, list)
        if (str_eq(sched_key(s->t->arena, json_at(list, i)), key))
            return json_at(list, i);
    return NULL;
}

/* The generation counts what left the cache for good; a snapshot's give and take does not. */
static void add_remove(struct sched *s)
{
    const struct json *removed = in(s, "remove"), *added = in(s, "add");

    put_all(s, in(s, "flavors"));
    put_all(s, in(s, "clusterQueues"));
    put_all(s, in(s, "cachedWorkloads"));
    json_each (i, removed) {
        struct queue_wl *wl = wl_find(s->e, json_str(json_at(removed, i)));
        if (!wl || !wl->extra || !wl->extra->holds)
            continue;
        struct queue_cq *cq = wl->extra->holds;
        cache_release(s->e, wl);
        cq->node.gen_base--;
    }
    json_each (i, added) {
        const struct json *wl = cached_workload(s, json_str(json_at(added, i)));
        struct queue_wl *known = wl_find(s->e, json_str(json_at(added, i)));
        if (wl && !(known && known->extra && known->extra->holds))
            put(s, wl);
    }
    compare_snapshot(s);
}

/* ---- ancestors ---- */

static void same_ancestors(struct sched *s, struct queue_cohort *c, bool with_root)
{
    struct arena *a = s->t->arena;
    struct json_arr names = arr_in(a);
    bool has_cycle = c && quota_has_cycle(&c->node);

    for (const struct quota_node *n = c && !has_cycle ? &c->node : NULL; n; n = n->parent)
        if (with_root || n->parent)
            arr_add(&names, json_of_str(((const struct queue_cohort *)(const void *)n)->name));
    same_bool(s, "err", has_cycle);
    sched_same(s, "ancestors", json_new(a, arr_done(&names)), json_getz(s->want, "ancestors"));
}

static void ancestors(struct sched *s)
{
    put_all(s, in(s, "cohorts"));
    same_ancestors(s, cohort_find(s->e, json_str(in(s, "cohortName"))), true);
}

static void cq_ancestors(struct sched *s)
{
    put_all(s, in(s, "cohorts"));
    same_ancestors(
        s, cohort_find(s->e, json_str(json_path(in(s, "cq"), "spec", "cohortName", NULL))),
        false);
}

static void workload_ancestors(struct sched *s)
{
    struct queue_cq *cq;

    put_all(s, in(s, "cohorts"));
    put_all(s, in(s, "cqs"));
    cq = cq_find(s->e,
                 json_str(json_path(in(s, "wl"), "status", "admission", "clusterQueue", NULL)));
    same_ancestors(s, cq ? cohort_find(s->e, cq->spec.cohort) : NULL, true);
}

/* ---- active or not ---- */

static void terminate(struct sched *s, struct str name)
{
    struct queue_cq *cq = cq_find(s->e, name);

    if (!cq)
        return;
    cq->is_terminating = true;
    cq_refresh_active(s->e, cq);
}

static void readiness(struct sched *s)
{
    struct str name = json_str(in(s, "clusterQueueName"));

    put_all(s, in(s, "resourceFlavors"));
    put_all(s, in(s, "admissionChecks"));
    put_all(s, in(s, "clusterQueues"));
    bool terminating = json_bool(in(s, "terminate"), false);
    if (terminating)
        terminate(s, name);
    struct queue_cq_view v = queue_cq_look(s->e, s->t->arena, name);
    same_text(s, "reason", v.active_reason);
    same_text(s, "status", v.is_active ? S("True") : S("False"));
    same_bool(s, "active", v.is_active);
    same_bool(s, "terminating", v.is_known && terminating);
}

static void put_checks(struct sched *s)
{
    json_each_member (m, in(s, "admissionChecks"))
        queue_put_check(s->e, m->name, json_str(json_getz(&m->value, "controller")),
                        json_bool(json_getz(&m->value, "active"), false));
}

static struct str status_of(const struct queue_cq *cq)
{
    return cq->is_terminating ? S("terminating") : cq->is_active ? S("active") : S("pending");
}

static void update_with_checks(struct sched *s)
{
    struct str name = name_of(in(s, "cq"));

    put(s, in(s, "cq"));
    if (str_eq(json_str(in(s, "cqStatus")), S("terminating")))
        terminate(s, name);
    put_checks(s);
    put(s, in(s, "cq"));
    same_text(s, "status", status_of(cq_find(s->e, name)));
    same_text(s, "reason", queue_cq_look(s->e, s->t->arena, name).active_reason);
}

static void update_with_flavors(struct sched *s)
{
    put(s, in(s, "cq"));
    json_each_member (m, in(s, "flavors"))
        put(s, &m->value);
    if (str_eq(json_str(in(s, "curStatus")), S("terminating")))
        terminate(s, name_of(in(s, "cq")));
    same_text(s, "status", status_of(cq_find(s->e, name_of(in(s, "cq")))));
}

static void readiness_with_topology(struct sched *s)
{
    static const struct str levels[] = {S_INIT("cloud.com/block"), S_INIT("cloud.com/rack"),
                                        S_INIT("kubernetes.io/hostname")};
    struct queue_flavor_spec f = {.name = S("tas-flavor"), .topology = S("example-topology")};

    queue_put_flavor(s->e, &f);
    if (!json_bool(in(s, "skipTopology"), false))
        queue_put_topology(s->e, f.topology, levels, countof(levels));
    queue_put_check(s->e, S("mk-check"), S("kueue.x-k8s.io/multikueue"), true);
    put(s, in(s, "cq"));
    if (json_has(in(s, "updatedCq")))
        put(s, in(s, "updatedCq"));
    same_text(s, "reason", queue_cq_look(s->e, s->t->arena, S("cq")).active_reason);
}

static void update_generation(struct sched *s)
{
    put_all(s, in(s, "resourceFlavors"));
    put(s, in(s, "cq"));
    put(s, in(s, "newcq"));
    int64_t got = quota_generation(&cq_find(s->e, name_of(in(s, "cq")))->node);
    if (got != json_i64(json_getz(s->want, "lastAssignmentGeneration"), 0))
        conf_fail(s->t, "generation", str_printf(s->t->arena, "%" PRId64, got), S("another"));
}

/* ---- usage ---- */

static struct json usage_json(struct sched *s, const struct queue_usage_line *lines, size_t n,
                              bool with_borrowed)
{
    struct arena *a = s->t->arena;
    struct json_arr out = arr_in(a);

    for (size_t i = 0; i < n;) {
        struct json_obj flavor = obj_in(a);
        struct json_arr resources = arr_in(a);
        struct str name = lines[i].flavor;
        for (; i < n && str_eq(lines[i].flavor, name); i++) {
            struct json_obj o = obj_in(a);
            obj_setz(&o, "name", json_of_str(lines[i].resource));
            obj_setz(&o, "total",
                     json_of_str(resource_units_text(a, lines[i].resource, lines[i].used)));
            if (with_borrowed)
                obj_setz(
                    &o, "borrowed",
                    json_of_str(resource_units_text(a, lines[i].resource, lines[i].borrowed)));
            arr_add(&resources, obj_done(&o));
        }
        obj_setz(&flavor, "name", json_of_str(name));
        obj_setz(&flavor, "resources", arr_done(&resources));
        arr_add(&out, obj_done(&flavor));
    }
    return arr_done(&out);
}

static void same_int(struct sched *s, const char *name, int64_t got)
{
    if (got != json_i64(json_get(s->want, str_from(name)), 0))
        conf_fail(s->t, name, str_printf(s->t->arena, "%" PRId64, got),
                  json_text(s->t->arena, json_get(s->want, str_from(name))));
}

static void cq_usage(struct sched *s)
{
    struct arena *a = s->t->arena;

    put(s, in(s, "clusterQueue"));
    put_all(s, in(s, "workloads"));
    struct queue_cq_view v = queue_cq_look(s->e, a, name_of(in(s, "clusterQueue")));
    sched_same(s, "reservedResources", json_new(a, usage_json(s, v.reserved, v.n_lines, true)),
               json_getz(s->want, "reservedResources"));
    sched_same(s, "usedResources", json_new(a, usage_json(s, v.in_use, v.n_lines, true)),
               json_getz(s->want, "usedResources"));
    same_int(s, "reservingWorkloads", v.reserving);
    same_int(s, "admittedWorkloads", v.admitted);
}

static bool is_listed(const struct json *list, struct str name)
{
    json_each (i, list)
        if (str_eq(json_str(json_at(list, i)), name))
            return true;
    return false;
}

static void lq_usage(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *lq = in(s, "localQueue"), *wls = in(s, "wls");

    put(s, in(s, "cq"));
    put(s, lq);
    json_each (i, wls)
        if (!is_listed(in(s, "inAdmissibleWl"), name_of(json_at(wls, i))))
            put(s, json_at(wls, i));
    struct queue_lq_view v = queue_lq_look(
        s->e, a, json_str(json_path(lq, "metadata", "namespace", NULL)), name_of(lq));
    sched_same(s, "usage", json_new(a, usage_json(s, v.reserved, v.n_lines, false)),
               json_getz(s->want, "usage"));
}

/* ---- who uses what ---- */

typedef bool uses_fn(struct sched *s, const struct queue_cq *cq);

static void same_users(struct sched *s, const char *name, uses_fn *uses)
{
    struct arena *a = s->t->arena;
    struct json_arr got = arr_in(a), want = arr_in(a);
    const struct json *list = json_get(s->want, str_from(name));

    map_each (i, &s->e->cqs)
        if (uses(s, *map_at(&s->e->cqs, i)))
            arr_add(&got, json_of_str((*map_at(&s->e->cqs, i))->name));
    json_each (i, list)
        arr_add(&want, *json_at(list, i));
    vec_sort(&got.items, by_value);
    vec_sort(&want.items, by_value);
    sched_same(s, name, json_new(a, arr_done(&got)), json_new(a, arr_done(&want)));
}

static bool covers_one(struct sched *s, const struct queue_cq *cq)
{
    const struct json *names = in(s, "resourceNames");

    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t r = 0; r < cq->groups[g].n_resources; r++)
            if (is_listed(names, intern_name(&s->e->resources, cq->groups[g].resources[r])))
                return true;
    return false;
}

static void cqs_for_resources(struct sched *s)
{
    put(s, in(s, "defaultRf"));
    put_all(s, in(s, "clusterQueues"));
    same_users(s, "cqNames", covers_one);
}

static bool uses_check(struct sched *s, const struct queue_cq *cq)
{
    for (size_t i = 0; i < cq->spec.n_checks; i++)
        if (str_eq(cq->spec.checks[i].name, json_str(in(s, "check"))))
            return true;
    return false;
}

static void cqs_using_check(struct sched *s)
{
    put_all(s, in(s, "checks"));
    put_all(s, in(s, "clusterQueues"));
    same_users(s, "inUseClusterQueueNames", uses_check);
}

static bool uses_x86(struct sched *s, const struct queue_cq *cq)
{
    uint16_t id = flavor_number(s->e, name_of(in(s, "x86Rf")));

    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t i = 0; i < cq->groups[g].n_flavors; i++)
            if (cq->groups[g].flavors[i] == id)
                return true;
    return false;
}

static void cqs_using_flavor(struct sched *s)
{
    put(s, in(s, "x86Rf"));
    put(s, in(s, "aarch64Rf"));
    put_all(s, in(s, "clusterQueues"));
    same_users(s, "inUseClusterQueueNames", uses_x86);
}

static void get_lq(struct sched *s)
{
    const struct json *lq = in(s, "getLq");

    put(s, in(s, "cq"));
    put(s, in(s, "lq"));
    struct queue_cq *cq = cq_find(s->e, json_str(in(s, "getCQReference")));
    struct queue_lq_view v = queue_lq_look(
        s->e, s->t->arena, json_str(json_path(lq, "metadata", "namespace", NULL)), name_of(lq));
    same_bool(s, "err", !cq || !v.is_known);
}

static void is_added(struct sched *s)
{
    const struct json *wl = json_getz(in(s, "workload"), "obj");
    struct queue_wl *known = wl_find(s->e, sched_key(s->t->arena, wl));

    same_bool(s, "result", known && known->extra && known->extra->holds);
}

/* ---- scripts ---- */

/* Names of ClusterQueues that an event made active. */
static struct json activated(struct sched *s, const bool *before)
{
    struct json_arr names = arr_in(s->t->arena);

    map_each (i, &s->e->cqs) {
        const struct queue_cq *cq = *map_at(&s->e->cqs, i);
        if (cq->is_active && !before[cq->index])
            arr_add(&names, json_of_str(cq->name));
    }
    vec_sort(&names.items, by_value);
    return arr_done(&names);
}

static void matching(struct sched *s, const struct json *labels, struct json_arr *out)
{
    struct json_arr names = arr_in(s->t->arena);

    map_each (i, &s->e->cqs) {
        const struct queue_cq *cq = *map_at(&s->e->cqs, i);
        if (match_selector(&cq->spec.namespaces, queue_load_labels(s->t->arena, labels)))
            arr_add(&names, json_of_str(cq->name));
    }
    vec_sort(&names.items, by_value);
    arr_add(out, arr_done(&names));
}

static void put_result(struct json_arr *out, bool failed, struct arena *a)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "error", json_of_bool(true));
    if (failed)
        arr_add(out, obj_done(&o));
}

static bool put_cq_fails(struct sched *s, const struct json *o, bool is_update)
{
    struct queue_cq_spec spec;

    queue_load_cq(s->t->arena, o, &spec);
    if ((cq_find(s->e, spec.name) != NULL) != is_update)
        return true;
    return queue_put_cq(s->e, &spec, NULL) < 0;
}

static bool add_workload(struct sched *s, const struct json *o)
{
    struct queue_workload_spec spec;

    queue_load_workload(s->t->arena, o, &s->loader, &spec);
    bool reserves = (spec.flags & (WL_RESERVED | WL_FINISHED | WL_INACTIVE)) == WL_RESERVED;
    if (reserves && !cq_find(s->e, spec.admitted_to)) {
        if (!wl_find_in(s->e, spec.ns, spec.name)) /* stored: counts once the queue comes */
            queue_put_workload(s->e, &spec, s->now);
        return false;
    }
    return queue_put_workload(s->e, &spec, s->now) == QUEUE_PUT_HOLDS;
}

static void run_op(struct sched *s, const struct json *o, struct json_arr *out)
{
    struct arena *a = s->t->arena;
    struct str op = json_str(json_getz(o, "op"));
    const struct json *arg = json_at(json_getz(o, "args"), 0);
    bool *before = arena_array(a, bool, s->e->next_cq + 1);
    struct queue_cohort_spec cohort;

    map_each (i, &s->e->cqs)
        before[(*map_at(&s->e->cqs, i))->index] = (*map_at(&s->e->cqs, i))->is_active;
    if (str_ends(op, S(".AddClusterQueue"))) {
        put_result(out, put_cq_fails(s, arg, false), a);
    } else if (str_ends(op, S(".UpdateClusterQueue"))) {
        put_result(out, put_cq_fails(s, arg, true), a);
    } else if (str_ends(op, S(".DeleteClusterQueue"))) {
        queue_delete_cq(s->e, name_of(arg));
    } else if (str_ends(op, S(".AddOrUpdateCohort"))) {
        queue_load_cohort(a, arg, &cohort);
        put_result(out, queue_put_cohort(s->e, &cohort, NULL) < 0, a);
    } else if (str_ends(op, S(".DeleteCohort"))) {
        queue_delete_cohort(s->e, json_str(arg));
    } else if (str_ends(op, S(".AddOrUpdateWorkload"))) {
        arr_add(out, json_of_bool(add_workload(s, arg)));
    } else if (str_ends(op, S(".DeleteWorkload"))) {
        struct queue_wl *wl = wl_find(s->e, json_str(arg));
        bool is_lost = wl && wl->extra && wl->extra->holds && !wl->extra->holds->exists;
        put_result(out, is_lost, a);
        if (!is_lost)
            queue_delete_workload(s->e, json_str(arg));
    } else if (str_ends(op, S(".DeleteLocalQueue"))) {
        queue_delete_lq(s->e, json_str(json_path(arg, "metadata", "namespace", NULL)),
                        name_of(arg));
    } else if (str_ends(op, S(".DeleteAdmissionCheck"))) {
        queue_delete_check(s->e, name_of(arg));
        arr_add(out, activated(s, before));
    } else if (str_ends(op, S(".PodsReadyForAllAdmittedWorkloads"))) {
        arr_add(out, json_of_bool(s->e->n_not_ready == 0));
    } else if (str_ends(op, S(".MatchingClusterQueues"))) {
        matching(s, arg, out);
    } else {
        put(s, arg);
        if (str_ends(op, S("ResourceFlavor")) || str_ends(op, S("AdmissionCheck")))
            arr_add(out, activated(s, before));
    }
}

static void run_ops(struct sched *s, size_t from, size_t to)
{
    const struct json *ops = json_getz(s->c, "ops");

    for (size_t i = from; i < to && i < json_len(ops); i++) {
        struct json_arr out = arr_in(s->t->arena);
        run_op(s, json_at(ops, i), &out);
        sched_same(s, str_z(s->t->arena, json_str(json_getz(json_at(ops, i), "op"))),
                   json_new(s->t->arena, arr_done(&out)), json_getz(json_at(ops, i), "result"));
    }
}

static const struct json *cohort_members(struct sched *s)
{
    struct arena *a = s->t->arena;
    struct json_obj out = obj_in(a);

    map_each (i, &s->e->cohorts) {
        const struct queue_cohort *c = *map_at(&s->e->cohorts, i);
        struct json_arr names = arr_in(a);
        vec_each (k, &c->node.children)
            if (c->node.children.at[k]->is_leaf)
                arr_add(&names,
                        json_of_str(
                            container_of(c->node.children.at[k], struct queue_cq, node)->name));
        vec_sort(&names.items, by_value);
        obj_set(&out, c->name, arr_done(&names));
    }
    return json_new(a, obj_done(&out));
}

static const struct json *lq_numbers(struct sched *s)
{
    struct arena *a = s->t->arena;
    struct json_obj out = obj_in(a);

    map_each (i, &s->e->lqs) {
        const struct queue_lq *lq = *map_at(&s->e->lqs, i);
        struct json_obj o = obj_in(a), reserved = obj_in(a), admitted = obj_in(a);
        if (!lq->exists || !lq->cq->exists)
            continue;
        vec_each (k, &lq->reserved)
            if (lq->reserved.at[k].amount)
                obj_set(&reserved, fr_text(s, lq->reserved.at[k].fr),
                        json_of_i64((int64_t)lq->reserved.at[k].amount));
        vec_each (k, &lq->admitted)
            if (lq->admitted.at[k].amount)
                obj_set(&admitted, fr_text(s, lq->admitted.at[k].fr),
                        json_of_i64((int64_t)lq->admitted.at[k].amount));
        obj_setz(&o, "admittedWorkloads", json_of_i64(lq->n_admitted));
        obj_setz(&o, "reservingWorkloads", json_of_i64(lq->n_holding));
        obj_setz(&o, "totalReserved", obj_done(&reserved));
        obj_setz(&o, "admittedUsage", obj_done(&admitted));
        obj_set(&out, lq->key, obj_done(&o));
    }
    return json_new(a, obj_done(&out));
}

static const struct json *without_format(struct arena *a, const struct json *map)
{
    struct json_obj out = obj_in(a);

    json_each_member (m, map)
        obj_set(&out, m->name,
                *json_without(a, json_without(a, &m->value, "resourceFormatter", NULL), "key",
                              NULL));
    return json_new(a, obj_done(&out));
}

static const struct json *holders_by_cq(struct sched *s)
{
    struct arena *a = s->t->arena;
    struct json_obj out = obj_in(a);

    map_each (i, &s->e->cqs) {
        const struct queue_cq *cq = *map_at(&s->e->cqs, i);
        struct json_obj o = obj_in(a);
        struct json_arr keys = arr_in(a);
        vec_each (k, &cq->holders)
            arr_add(&keys, json_of_str(wl_key(a, cq->holders.at[k].wl)));
        vec_sort(&keys.items, by_value);
        obj_setz(&o, "usedResources", cell_map(s, &cq->node, WHAT_USAGE));
        obj_setz(&o, "workloads", arr_done(&keys));
        if (cq->exists)
            obj_set(&out, cq->name, obj_done(&o));
    }
    return json_new(a, obj_done(&out));
}

static void subtree_quotas(struct sched *s, const char *when)
{
    json_each_member (m, json_get(s->want, str_from(when))) {
        struct queue_cohort *c = cohort_find(s->e, m->name);
        if (!c) {
            conf_fail(s->t, when, S("no such cohort"), m->name);
            continue;
        }
        quota_settle(&c->node);
        sched_same(s, when, json_new(s->t->arena, cell_map(s, &c->node, WHAT_SUBTREE)),
                   &m->value);
    }
}

static void script(struct sched *s)
{
    const struct json *objects = json_getz(s->c, "objects");
    size_t n = json_len(json_getz(s->c, "ops"));

    put_all(s, objects);
    run_ops(s, 0, n ? n - 1 : 0);
    subtree_quotas(s, "before");
    run_ops(s, n ? n - 1 : 0, n);
    subtree_quotas(s, "after");
    if (json_getz(s->want, "cohorts"))
        sched_same(s, "cohorts", cohort_members(s), json_getz(s->want, "cohorts"));
    if (json_getz(s->want, "localQueues"))
        sched_same(s, "localQueues", comparable(s->t->arena, lq_numbers(s)),
                   comparable(s->t->arena,
                              without_format(s->t->arena, json_getz(s->want, "localQueues"))));
    if (json_getz(s->want, "results"))
        sched_same(s, "results", holders_by_cq(s), json_getz(s->want, "results"));
}

/* ---- the bare tree ---- */

static void tree_edge(struct sched *s, struct str child, struct str parent, bool is_cq)
{
    if (is_cq) {
        struct queue_cq_spec spec = {.name = child, .cohort = parent, .weight = 1};
        queue_put_cq(s->e, &spec, NULL);
    } else {
        struct queue_cohort_spec spec = {.name = child, .parent = parent, .weight = 1};
        queue_put_cohort(s->e, &spec, NULL);
    }
}

static struct str parent_name(const struct quota_node *n)
{
    return n->parent ? ((const struct queue_cohort *)(const void *)n->parent)->name : S("");
}

static void tree_op(struct sched *s, const struct json *o)
{
    struct str op = json_str(json_getz(o, "op"));
    struct str x = json_str(json_at(json_getz(o, "args"), 0));
    struct str y = json_str(json_at(json_getz(o, "args"), 1));
    struct queue_cohort *c = cohort_find(s->e, x);

    if (str_ends(op, S(".AddCohort")))
        tree_edge(s, x, c ? parent_name(&c->node) : S(""), false);
    else if (str_ends(op, S(".UpdateCohortEdge")))
        tree_edge(s, x, y, false);
    else if (str_ends(op, S(".DeleteCohort")))
        queue_delete_cohort(s->e, x);
    else if (str_ends(op, S(".DeleteClusterQueue")))
        queue_delete_cq(s->e, x);
    else
        tree_edge(s, x, y, true);
}

static struct json edge_json(struct arena *a, struct str child, struct str parent)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "child", json_of_str(child));
    obj_setz(&o, "parent", json_of_str(parent));
    return obj_done(&o);
}

static const struct json *sorted(struct arena *a, const struct json *list)
{
    struct json_arr out = arr_in(a);

    json_each (i, list)
        arr_add(&out, *json_at(list, i));
    vec_sort(&out.items, by_value);
    return json_new(a, arr_done(&out));
}

static void same_list(struct sched *s, const char *name, struct json_arr *got)
{
    vec_sort(&got->items, by_value);
    sched_same(s, name, json_new(s->t->arena, arr_done(got)),
               sorted(s->t->arena, json_get(s->want, str_from(name))));
}

static void tree(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *ops = json_getz(s->c, "ops");
    struct json_arr cohorts = arr_in(a), cqs = arr_in(a), up = arr_in(a), leaves = arr_in(a);

    json_each (i, ops)
        tree_op(s, json_at(ops, i));
    if (json_getz(s->want, "cycles")) {
        json_each_member (m, json_getz(s->want, "cycles")) {
            struct queue_cohort *c = cohort_find(s->e, m->name);
            if (!c || quota_has_cycle(&c->node) != json_bool(&m->value, false))
                conf_fail(s->t, "cycle", m->name, S(""));
        }
        return;
    }
    map_each (i, &s->e->cohorts) {
        const struct queue_cohort *c = *map_at(&s->e->cohorts, i);
        arr_add(&cohorts, json_of_str(c->name));
        if (c->node.parent)
            arr_add(&up, edge_json(a, c->name, parent_name(&c->node)));
    }
    map_each (i, &s->e->cqs) {
        const struct queue_cq *cq = *map_at(&s->e->cqs, i);
        if (!cq->exists)
            continue;
        arr_add(&cqs, json_of_str(cq->name));
        if (cq->node.parent)
            arr_add(&leaves, edge_json(a, cq->name, parent_name(&cq->node)));
    }
    if (json_getz(s->want, "cohorts") || !json_len(json_getz(s->want, "cqs")))
        same_list(s, "cohorts", &cohorts);
    same_list(s, "cqs", &cqs);
    same_list(s, "cohortEdge", &up);
    if (json_getz(s->want, "cqEdge"))
        same_list(s, "cqEdge", &leaves);
}

/* ---- the table ---- */

static const struct {
    const char *test; /* the source's end */
    sched_fn *run;
} tests[] = {
    {":TestAvailable",                                 available              },
    {":TestDominantResourceShare",                     shares                 },
    {":TestIsBorrowingOn",                             borrowing_on           },
    {":TestPreciseWeightedShareSerialized",            share_spelling         },
    {":TestSnapshot",                                  snapshot               },
    {":TestSnapshotAddRemoveWorkload",                 add_remove             },
    {":TestSnapshotAddRemoveWorkloadWithLendingLimit", add_remove             },
    {":TestAncestors",                                 ancestors              },
    {":TestClusterQueueAncestors",                     cq_ancestors           },
    {":TestWorkloadAncestors",                         workload_ancestors     },
    {":TestClusterQueueReadiness",                     readiness              },
    {":TestClusterQueueReadinessWithTAS",              readiness_with_topology},
    {":TestClusterQueueUpdate",                        update_generation      },
    {":TestClusterQueueUpdateWithAdmissionCheck",      update_with_checks     },
    {":TestClusterQueueUpdateWithFlavors",             update_with_flavors    },
    {":TestClusterQueueUsage",                         cq_usage               },
    {":TestLocalQueueUsage",                           lq_usage               },
    {":TestClusterQueuesForResources",                 cqs_for_resources      },
    {":TestClusterQueuesUsingAdmissionChecks",         cqs_using_check        },
    {":TestClusterQueuesUsingFlavor",                  cqs_using_flavor       },
    {":TestGetCacheLQ",                                get_lq                 },
    {":TestIsAddedCheckWorkload",                      is_added               },
    {":TestManager",                                   tree                   },
    {":TestCycles",                                    tree                   },
    {":TestCacheClusterQueueOperations",               script                 },
    {":TestCachePodsReadyForAllAdmittedWorkloads",     script                 },
    {":TestCacheQueueOperations",                      script                 },
    {":TestCacheWorkloadOperations",                   script                 },
    {":TestCohortCycles",                              script                 },
    {":TestDeleteCohortUpdatesAncestorSubtreeQuota",   script                 },
    {":TestMatchingClusterQueues",                     script                 },
};

void kueue_quota(struct conf *t, const struct json *c)
{
    struct str source = json_str(json_getz(c, "source"));
    struct sched s = {.t = t, .c = c, .want = json_getz(c, "want")};

    sched_configure(&s, json_getz(c, "gates"), NULL);
    s.e = queue_new(&s.config);
    for (size_t i = 0; i < countof(tests); i++)
        if (str_ends(source, str_from(tests[i].test))) {
            tests[i].run(&s);
            queue_free(s.e);
            return;
        }
    conf_fail(t, "test", source, S("a known one"));
    queue_free(s.e);
}
