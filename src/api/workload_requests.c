/* workload_requests.c - what a Workload asks for, or holds, in numbers */
#include "api/workload_requests.h"

static struct str name_of(const struct json *v)
{
    return json_str(json_getz(v, "name"));
}

static const struct json *named_in(const struct json *list, struct str name)
{
    json_each (i, list)
        if (str_eq(name_of(json_at(list, i)), name))
            return json_at(list, i);
    return NULL;
}

/* ---- from the templates ---- */

static void apply_claims(struct arena *a, struct resource_list *l, struct str podset,
                         const struct workload_claims *claims, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(claims[i].podset, podset))
            continue;
        for (size_t k = 0; k < claims[i].replaces.len; k++)
            resource_list_del(l, claims[i].replaces.at[k]);
        resource_list_merge(a, l, &claims[i].adds, RESOURCE_SUM);
    }
}

static int64_t reclaimable_of(const struct json *workload, struct str podset)
{
    const struct json *list = json_path(workload, "status", "reclaimablePods", NULL);

    return json_i64(json_getz(named_in(list, podset), "count"), 0);
}

/* spec.count less what is reclaimable. */
static int64_t wanted_count(const struct json *workload, const struct json *podset)
{
    int64_t count = json_i64(json_getz(podset, "count"), 0);

    return count - MIN(reclaimable_of(workload, name_of(podset)), count);
}

static const struct json *spec_of(const struct json *podset)
{
    return json_path(podset, "template", "spec", NULL);
}

static struct workload_podset from_template(struct arena *a, const struct json *workload,
                                            const struct json *podset,
                                            const struct pod_rules *rules,
                                            const struct workload_claims *claims,
                                            size_t n_claims)
{
    struct workload_podset p = {.name = name_of(podset),
                                .count = wanted_count(workload, podset)};
    struct resource_list one = pod_spec_requests(a, spec_of(podset));

    one = pod_requests_transform(a, &one, rules);
    apply_claims(a, &one, p.name, claims, n_claims);
    p.requests = resource_numbers_of(a, &one);
    for (size_t i = 0; i < p.requests.len; i++)
        p.requests.at[i].n = sat_mul(MAX(p.requests.at[i].n, INT64_C(0)), p.count);
    return p;
}

/* ---- from the admission ---- */

/* Usage for `count` of the pods that it was counted for. */
static void scale_to(struct workload_podset *p, int64_t count)
{
    for (size_t i = 0; i < p->requests.len && p->count; i++)
        p->requests.at[i].n = sat_mul(p->requests.at[i].n / p->count, count);
    p->count = count;
}

static struct resource_numbers one_pod_of(struct arena *a, const struct json *podset,
                                          const struct workload_podset *p)
{
    struct resource_list l = {0};

    if (podset) {
        l = pod_spec_requests(a, spec_of(podset));
        return resource_numbers_of(a, &l);
    }
    struct resource_numbers n = {arena_array(a, struct resource_number, p->requests.len),
                                 p->requests.len};
    for (size_t i = 0; i < n.len; i++) {
        n.at[i] = p->requests.at[i];
        n.at[i].n = p->count ? n.at[i].n / p->count : 0;
    }
    return n;
}

static struct workload_podset from_assignment(struct arena *a, const struct json *workload,
                                              const struct json *assignment)
{
    const struct json *podsets = json_path(workload, "spec", "podSets", NULL);
    const struct json *podset = named_in(podsets, name_of(assignment));
    const struct json *topology = json_getz(assignment, "topologyAssignment");
    struct resource_list usage = resource_list_of(a, json_getz(assignment, "resourceUsage"));
    int64_t spec_count = json_i64(json_getz(podset, "count"), 0);
    int64_t wanted = podset ? wanted_count(workload, podset) : 0;
    struct workload_podset p = {
        .name = name_of(assignment),
        .count = json_i64(json_getz(assignment, "count"), spec_count),
        .requests = resource_numbers_of(a, &usage),
        .flavors = str_map_of(a, json_getz(assignment, "flavors")),
    };

    if (json_has(topology) && topology_decode(a, topology, &p.topology, NULL) == 0)
        p.one_pod = one_pod_of(a, podset, &p);
    if (wanted < p.count)
        scale_to(&p, wanted);
    return p;
}

struct workload_record workload_record_of(struct arena *a, const struct json *workload,
                                          const struct pod_rules *rules,
                                          const struct workload_claims *claims, size_t n_claims)
{
    const struct json *admission = json_path(workload, "status", "admission", NULL);
    const struct json *list = json_has(admission)
                                  ? json_getz(admission, "podSetAssignments")
                                  : json_path(workload, "spec", "podSets", NULL);
    struct workload_podset *at = arena_array(a, struct workload_podset, json_len(list));

    json_each (i, list)
        at[i] = json_has(admission)
                    ? from_assignment(a, workload, json_at(list, i))
                    : from_template(a, workload, json_at(list, i), rules, claims, n_claims);
    return (struct workload_record){
        .cluster_queue = json_str(json_getz(admission, "clusterQueue")),
        .at = at,
        .len = json_len(list),
    };
}

/* ---- usage ---- */

static int by_flavor(const struct workload_usage *x, const struct workload_usage *y)
{
    int order = str_cmp(x->flavor, y->flavor);

    return order ? order : str_cmp(x->resource, y->resource);
}

const struct workload_usage *workload_usage(struct arena *a, const struct workload_record *r,
                                            size_t *n)
{
    VEC(struct workload_usage) v = {0};

    for (size_t i = 0; i < r->len; i++)
        for (size_t k = 0; k < r->at[i].requests.len; k++) {
            struct resource_number x = r->at[i].requests.at[k];
            struct str flavor = str_map_get(&r->at[i].flavors, x.name);
            size_t at = 0;
            while (at < v.len &&
                   !(str_eq(v.at[at].flavor, flavor) && str_eq(v.at[at].resource, x.name)))
                at++;
            if (at == v.len)
                vec_push_in(a, &v, (struct workload_usage){flavor, x.name, 0});
            v.at[at].n = sat_add(v.at[at].n, x.n);
        }
    vec_sort(&v, by_flavor);
    *n = v.len;
    return v.at;
}

/* ---- status.resourceRequests ---- */

bool workload_requests_differ(struct arena *a, const struct json *workload,
                              const struct workload_record *r)
{
    const struct json *stored = json_path(workload, "status", "resourceRequests", NULL);

    if (json_len(stored) != r->len)
        return true;
    for (size_t i = 0; i < r->len; i++) {
        struct resource_list was =
            resource_list_of(a, json_getz(json_at(stored, i), "resources"));
        struct resource_list now = resource_numbers_list(a, &r->at[i].requests);
        if (!str_eq(name_of(json_at(stored, i)), r->at[i].name) || was.len != now.len)
            return true;
        for (size_t k = 0; k < now.len; k++) {
            const struct quantity *q = resource_list_get(&was, now.at[k].name);
            if (!q || quantity_cmp(q, &now.at[k].q) != 0)
                return true;
        }
    }
    return false;
}

struct json workload_requests_json(struct arena *a, const struct workload_record *r)
{
    struct json_arr list = arr_in(a);

    for (size_t i = 0; i < r->len; i++) {
        struct json_obj o = obj_in(a);
        struct resource_list l = resource_numbers_list(a, &r->at[i].requests);
        obj_setz(&o, "name", json_of_str(r->at[i].name));
        obj_setz(&o, "resources", resource_list_json(a, &l));
        arr_add(&list, obj_done(&o));
    }
    return arr_done(&list);
}

/* ---- smaller questions ---- */

static bool has_condition(const struct json *workload, struct str type)
{
    const struct json *list = json_path(workload, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eq(json_str(json_getz(json_at(list, i), "type")), type))
            return str_eq(json_str(json_getz(json_at(list, i), "status")), S("True"));
    return false;
}

static int by_text(const struct str *x, const struct str *y)
{
    return str_cmp(*x, *y);
}

struct str_list workload_nodes(struct arena *a, const struct json *workload)
{
    const struct json *list =
        json_path(workload, "status", "admission", "podSetAssignments", NULL);
    VEC(struct str) v = {0};
    size_t n = 0;

    json_each (i, list) {
        struct topology_assignment t = {0};
        const struct json *stored = json_getz(json_at(list, i), "topologyAssignment");
        if (!has_condition(workload, S("Admitted")) ||
            topology_decode(a, stored, &t, NULL) < 0 || t.levels.len == 0 ||
            !str_eq(t.levels.at[t.levels.len - 1], S(TOPOLOGY_HOSTNAME)))
            continue;
        for (size_t k = 0; k < t.len; k++)
            vec_push_in(a, &v, t.at[k].values[t.levels.len - 1]);
    }
    vec_sort(&v, by_text);
    for (size_t i = 0; i < v.len; i++)
        if (n == 0 || !str_eq(v.at[n - 1], v.at[i]))
            v.at[n++] = v.at[i];
    return (struct str_list){v.at, n};
}

const struct json *workload_reclaimable_limit(struct arena *a, const struct json *workload,
                                              const struct json *reclaimable)
{
    const struct json *podsets = json_path(workload, "spec", "podSets", NULL);
    struct json_arr out = arr_in(a);

    json_each (i, reclaimable) {
        const struct json *r = json_at(reclaimable, i), *p = named_in(podsets, name_of(r));
        int64_t most = json_i64(json_getz(p, "count"), 0);
        if (p && json_i64(json_getz(r, "count"), 0) > most)
            r = json_with(a, r, json_of_i64(most), "count", NULL);
        arr_add(&out, *r);
    }
    return json_new(a, arr_done(&out));
}

bool workload_reclaimable_equal(const struct json *x, const struct json *y)
{
    if (json_len(x) != json_len(y))
        return false;
    json_each (i, x) {
        const struct json *other = named_in(y, name_of(json_at(x, i)));
        if (!other || json_i64(json_getz(json_at(x, i), "count"), 0) !=
                          json_i64(json_getz(other, "count"), 0))
            return false;
    }
    return true;
}

struct json workload_counts(struct arena *a, const struct json *podsets)
{
    struct json_obj o = obj_in(a);

    json_each (i, podsets)
        obj_set(&o, name_of(json_at(podsets, i)),
                json_of_i64(json_i64(json_getz(json_at(podsets, i), "count"), 0)));
    return obj_done(&o);
}

const struct json *workload_with_counts(struct arena *a, const struct json *workload,
                                        const struct json *counts)
{
    const struct json *podsets = json_path(workload, "spec", "podSets", NULL);
    struct json_arr out = arr_in(a);

    json_each (i, podsets) {
        const struct json *p = json_at(podsets, i), *n = json_get(counts, name_of(p));
        arr_add(&out, n ? *json_with(a, p, *n, "count", NULL) : *p);
    }
    return podsets ? json_with(a, workload, arr_done(&out), "spec", "podSets", NULL) : workload;
}

bool workload_counts_fewer(const struct json *x, const struct json *y)
{
    json_each_member (m, x)
        if (json_i64(&m->value, 0) < json_i64(json_get(y, m->name), 0))
            return true;
    return false;
}

bool workload_wants_topology(const struct json *podsets)
{
    json_each (i, podsets) {
        const struct json *r = json_getz(json_at(podsets, i), "topologyRequest");
        if (json_has(json_getz(r, "required")) || json_has(json_getz(r, "preferred")) ||
            json_bool(json_getz(r, "unconstrained"), false) ||
            json_has(json_getz(r, "podSetSliceRequiredTopology")))
            return true;
    }
    return false;
}

uint64_t workload_shape(struct arena *a, const struct json *workload,
                        const struct workload_record *r, int64_t priority)
{
    const struct json *podsets = json_path(workload, "spec", "podSets", NULL);
    struct buf b = buf_in(a, 1024);

    buf_printf(&b, "%" PRId64, priority);
    for (size_t i = 0; i < r->len; i++) {
        const struct json *p = named_in(podsets, r->at[i].name);
        struct json shape = pod_spec_shape(a, spec_of(p));
        buf_printf(&b, "\n%.*s %" PRId64 " ", STR_ARG(r->at[i].name), r->at[i].count);
        json_write(&b, &shape);
        for (size_t k = 0; k < r->at[i].requests.len; k++)
            buf_printf(&b, " %.*s=%" PRId64, STR_ARG(r->at[i].requests.at[k].name),
                       r->at[i].requests.at[k].n);
        if (json_has(json_getz(p, "minCount")))
            buf_printf(&b, " min %" PRId64, json_i64(json_getz(p, "minCount"), 0));
        if (json_has(json_getz(p, "topologyRequest")))
            json_write(&b, json_getz(p, "topologyRequest"));
    }
    return str_digest(buf_str(&b));
}
