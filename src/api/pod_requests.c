/* pod_requests.c - what a pod asks for, from its spec */
#include "api/pod_requests.h"

/* ---- limit ranges ---- */

static void add_item(struct arena *a, struct limit_bounds *b, const struct json *item)
{
    static const struct {
        const char *name;
        size_t offset;
        enum resource_merge how;
    } parts[] = {
        {"max",                  offsetof(struct limit_bounds, max),              RESOURCE_MIN  },
        {"min",                  offsetof(struct limit_bounds, min),              RESOURCE_MAX  },
        {"default",              offsetof(struct limit_bounds, defaults),         RESOURCE_FIRST},
        {"defaultRequest",       offsetof(struct limit_bounds, default_requests), RESOURCE_FIRST},
        {"maxLimitRequestRatio", offsetof(struct limit_bounds, ratio),            RESOURCE_MIN  },
    };

    b->exists = true;
    for (size_t i = 0; i < countof(parts); i++) {
        struct resource_list from =
            resource_list_of(a, json_get(item, str_from(parts[i].name)));
        struct resource_list *to = (void *)((char *)b + parts[i].offset);
        resource_list_merge(a, to, &from, parts[i].how);
    }
}

struct limit_summary limit_summary_of(struct arena *a, const struct json *const *limit_ranges,
                                      size_t n, struct str ns)
{
    struct limit_summary s = {0};

    for (size_t i = 0; i < n; i++) {
        const struct json *items = json_path(limit_ranges[i], "spec", "limits", NULL);
        if (ns.len &&
            !str_eq(json_str(json_path(limit_ranges[i], "metadata", "namespace", NULL)), ns))
            continue;
        json_each (k, items) {
            struct str type = json_str(json_getz(json_at(items, k), "type"));
            if (str_eq(type, S("Container")))
                add_item(a, &s.container, json_at(items, k));
            else if (str_eq(type, S("Pod")))
                add_item(a, &s.pod, json_at(items, k));
        }
    }
    return s;
}

/* ---- filling in ---- */

/* `resources` with missing limits from the defaults, missing requests from the default requests
 * and then from limits; the same tree where nothing was missing. */
static const struct json *adjust_resources(struct arena *a, const struct json *resources,
                                           const struct limit_bounds *b)
{
    struct resource_list requests = resource_list_of(a, json_getz(resources, "requests"));
    struct resource_list limits = resource_list_of(a, json_getz(resources, "limits"));
    size_t n_requests = requests.len, n_limits = limits.len;

    resource_list_merge(a, &limits, &b->defaults, RESOURCE_FIRST);
    resource_list_merge(a, &requests, &b->default_requests, RESOURCE_FIRST);
    resource_list_merge(a, &requests, &limits, RESOURCE_FIRST);
    if (requests.len == n_requests && limits.len == n_limits)
        return resources;
    struct json_obj o = obj_from(a, resources);
    if (limits.len)
        obj_setz(&o, "limits", resource_list_json(a, &limits));
    if (requests.len)
        obj_setz(&o, "requests", resource_list_json(a, &requests));
    return json_new(a, obj_done(&o));
}

static void adjust_containers(struct arena *a, struct json_obj *spec, struct str name,
                              const struct json *list, const struct limit_bounds *b)
{
    struct json_arr out = arr_in(a);
    bool has_changed = false;

    json_each (i, list) {
        const struct json *c = json_at(list, i), *was = json_getz(c, "resources");
        const struct json *now = adjust_resources(a, was, b);
        if (now != was) {
            struct json_obj o = obj_from(a, c);
            obj_setz(&o, "resources", *now);
            c = json_new(a, obj_done(&o));
            has_changed = true;
        }
        arr_add(&out, *c);
    }
    if (has_changed)
        obj_set(spec, name, arr_done(&out));
}

static const struct json *class_overhead(const struct json *spec, const struct pod_rules *r)
{
    struct str class = json_str(json_getz(spec, "runtimeClassName"));

    for (size_t i = 0; class.len && i < r->n_runtime_classes; i++) {
        const struct json *c = r->runtime_classes[i];
        if (str_eq(json_str(json_path(c, "metadata", "name", NULL)), class))
            return json_path(c, "overhead", "podFixed", NULL);
    }
    return NULL;
}

static bool has_pod_level(const struct json *spec)
{
    const struct json *r = json_getz(spec, "resources");

    return json_len(json_getz(r, "requests")) || json_len(json_getz(r, "limits"));
}

const struct json *pod_spec_adjust(struct arena *a, const struct json *spec,
                                   const struct pod_rules *rules, struct str ns)
{
    struct limit_summary s =
        limit_summary_of(a, rules->limit_ranges, rules->n_limit_ranges, ns);
    const struct json *overhead = class_overhead(spec, rules);
    struct json_obj o = obj_from(a, spec);

    if (json_len(json_getz(spec, "overhead")) == 0 && json_len(overhead))
        obj_setz(&o, "overhead", *overhead);
    adjust_containers(a, &o, S("initContainers"), json_getz(spec, "initContainers"),
                      &s.container);
    adjust_containers(a, &o, S("containers"), json_getz(spec, "containers"), &s.container);
    if (has_pod_level(spec))
        obj_setz(&o, "resources", *adjust_resources(a, json_getz(spec, "resources"), &s.pod));
    return json_new(a, obj_done(&o));
}

/* ---- totals ---- */

static struct resource_list part_of(struct arena *a, const struct json *container,
                                    const char *part)
{
    return resource_list_of(a, json_get(json_getz(container, "resources"), str_from(part)));
}

static bool is_sidecar(const struct json *container)
{
    return str_eq(json_str(json_getz(container, "restartPolicy")), S("Always"));
}

static struct resource_list total_of(struct arena *a, const struct json *spec, const char *part)
{
    const struct json *init = json_getz(spec, "initContainers");
    const struct json *containers = json_getz(spec, "containers");
    struct resource_list sum = {0}, sidecars = {0}, most = {0}, one;

    json_each (i, containers) {
        one = part_of(a, json_at(containers, i), part);
        resource_list_merge(a, &sum, &one, RESOURCE_SUM);
    }
    json_each (i, init) {
        struct resource_list now = {0};
        one = part_of(a, json_at(init, i), part);
        if (is_sidecar(json_at(init, i))) {
            resource_list_merge(a, &sum, &one, RESOURCE_SUM);
            resource_list_merge(a, &sidecars, &one, RESOURCE_SUM);
            resource_list_merge(a, &most, &sidecars, RESOURCE_MAX);
            continue;
        }
        resource_list_merge(a, &now, &sidecars, RESOURCE_SUM);
        resource_list_merge(a, &now, &one, RESOURCE_SUM);
        resource_list_merge(a, &most, &now, RESOURCE_MAX);
    }
    resource_list_merge(a, &sum, &most, RESOURCE_MAX);
    one = part_of(a, spec, part);
    for (size_t i = 0; i < one.len; i++)
        resource_list_put(a, &sum, one.at[i].name, one.at[i].q);
    one = resource_list_of(a, json_getz(spec, "overhead"));
    resource_list_merge(a, &sum, &one, RESOURCE_SUM);
    return sum;
}

struct resource_list pod_spec_requests(struct arena *a, const struct json *spec)
{
    return total_of(a, spec, "requests");
}

struct resource_list pod_spec_limits(struct arena *a, const struct json *spec)
{
    return total_of(a, spec, "limits");
}

/* ---- exclusion and transformation ---- */

static bool is_excluded(const struct pod_rules *r, struct str name)
{
    for (size_t i = 0; i < r->exclude_prefixes.len; i++)
        if (str_starts(name, r->exclude_prefixes.at[i]))
            return true;
    return false;
}

static struct quantity times(struct arena *a, const struct quantity *x,
                             const struct quantity *y)
{
    struct decimal d = decimal_mul(a, quantity_decimal(a, x), quantity_decimal(a, y));

    return quantity_of_decimal(a, d, x->format);
}

/* Adds what one transformation makes of one input. */
static void transform_one(struct arena *a, const struct pod_transform *t,
                          const struct resource_list *in, const struct quantity *amount,
                          struct resource_list *made)
{
    const struct quantity *by =
        t->multiply_by.len ? resource_list_get(in, t->multiply_by) : NULL;
    struct resource_list out = {0};

    for (size_t i = 0; i < t->outputs.len; i++) {
        struct quantity q = times(a, amount, &t->outputs.at[i].q);
        if (by)
            q = times(a, &q, by);
        resource_list_put(a, &out, t->outputs.at[i].name, q);
    }
    resource_list_merge(a, made, &out, RESOURCE_SUM);
}

static void floor_at_zero(struct resource_list *l)
{
    for (size_t i = 0; i < l->len; i++)
        if (quantity_sign(&l->at[i].q) < 0)
            l->at[i].q = quantity_of(0, 0, l->at[i].q.format);
}

struct resource_list pod_requests_transform(struct arena *a, const struct resource_list *in,
                                            const struct pod_rules *rules)
{
    struct resource_list kept = {0}, made = {0};

    for (size_t i = 0; i < in->len; i++) {
        const struct resource_amount *x = &in->at[i];
        bool is_kept = true;
        if (is_excluded(rules, x->name))
            continue;
        for (size_t t = 0; t < rules->n_transforms; t++) {
            if (!str_eq(rules->transforms[t].input, x->name))
                continue;
            transform_one(a, &rules->transforms[t], in, &x->q, &made);
            is_kept = is_kept && !rules->transforms[t].is_replace;
        }
        if (is_kept)
            resource_list_put(a, &kept, x->name, x->q);
    }
    floor_at_zero(&made);
    resource_list_merge(a, &kept, &made, RESOURCE_SUM);
    floor_at_zero(&kept);
    return kept;
}

struct resource_list pod_requests(struct arena *a, const struct json *spec,
                                  const struct pod_rules *rules, struct str ns)
{
    struct resource_list total = pod_spec_requests(a, pod_spec_adjust(a, spec, rules, ns));

    total = pod_requests_transform(a, &total, rules);
    resource_list_sort(&total);
    return total;
}

/* ---- checking ---- */

static void complain(struct field_errors *e, const struct field_path *at,
                     const struct resource_list *more, const struct resource_list *less,
                     const char *what)
{
    struct str_list names = resource_list_greater(e->arena, more, less);
    struct json_arr list = arr_in(e->arena);

    if (names.len == 0)
        return;
    for (size_t i = 0; i < names.len; i++)
        arr_add(&list, json_of_str(names.at[i]));
    struct json bad = arr_done(&list);
    field_invalid(e, at, &bad, "%s", what);
}

static void check_limits_of(struct field_errors *e, const struct field_path *at,
                            const struct json *holder)
{
    struct resource_list requests = part_of(e->arena, holder, "requests");
    struct resource_list limits = part_of(e->arena, holder, "limits");

    complain(e, at, &requests, &limits, "requests must not exceed its limits");
}

void pod_spec_check_limits(struct field_errors *e, const struct field_path *at,
                           const struct json *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};
    struct field_path level_at = field_child(at, S("resources"));

    for (size_t k = 0; k < countof(lists); k++) {
        struct field_path list_at = field_child(at, str_from(lists[k]));
        const struct json *list = json_get(spec, str_from(lists[k]));
        json_each (i, list) {
            struct field_path item = field_item(&list_at, i);
            check_limits_of(e, &item, json_at(list, i));
        }
    }
    check_limits_of(e, &level_at, spec);
}

static void check_bounds_of(struct field_errors *e, const struct field_path *at,
                            const struct resource_list *requests,
                            const struct resource_list *limits, const struct limit_bounds *b)
{
    struct resource_list high = {0}, low = {0};

    resource_list_merge(e->arena, &high, requests, RESOURCE_MAX);
    resource_list_merge(e->arena, &high, limits, RESOURCE_MAX);
    resource_list_merge(e->arena, &low, requests, RESOURCE_MIN);
    resource_list_merge(e->arena, &low, limits, RESOURCE_MIN);
    complain(e, at, &high, &b->max, "requests must not be above the limitRange max");
    complain(e, at, &b->min, &low, "requests must not be below the limitRange min");
}

void pod_spec_check_bounds(struct field_errors *e, const struct field_path *at,
                           const struct json *spec, const struct limit_summary *s)
{
    static const char *const lists[] = {"initContainers", "containers"};
    struct arena *a = e->arena;

    for (size_t k = 0; s->container.exists && k < countof(lists); k++) {
        struct field_path list_at = field_child(at, str_from(lists[k]));
        const struct json *list = json_get(spec, str_from(lists[k]));
        json_each (i, list) {
            struct field_path item = field_item(&list_at, i);
            struct resource_list requests = part_of(a, json_at(list, i), "requests");
            struct resource_list limits = part_of(a, json_at(list, i), "limits");
            check_bounds_of(e, &item, &requests, &limits, &s->container);
        }
    }
    if (s->pod.exists) {
        struct resource_list requests = pod_spec_requests(a, spec);
        struct resource_list limits = pod_spec_limits(a, spec);
        check_bounds_of(e, at, &requests, &limits, &s->pod);
    }
}

/* ---- shape ---- */

const struct str pod_shape_parts[POD_SHAPE_N_PARTS] = {
    S_INIT("nodeSelector"),     S_INIT("affinity"),       S_INIT("tolerations"),
    S_INIT("runtimeClassName"), S_INIT("priority"),       S_INIT("topologySpreadConstraints"),
    S_INIT("overhead"),         S_INIT("resourceClaims"), S_INIT("resources"),
};

static struct json container_shape(struct arena *a, const struct json *container)
{
    struct json_obj o = obj_in(a), resources = obj_in(a);
    const struct json *requests = json_path(container, "resources", "requests", NULL);
    const struct json *ports = json_getz(container, "ports");

    if (json_len(requests))
        obj_setz(&resources, "requests", *requests);
    obj_setz(&o, "resources", obj_done(&resources));
    if (json_len(ports))
        obj_setz(&o, "ports", *ports);
    return obj_done(&o);
}

static bool is_empty(const struct json *v)
{
    return !json_has(v) ||
           ((v->type == JSON_OBJECT || v->type == JSON_ARRAY || v->type == JSON_STRING) &&
            v->len == 0);
}

struct json pod_spec_shape(struct arena *a, const struct json *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};
    struct json_obj o = obj_in(a);

    for (size_t k = 0; k < countof(lists); k++) {
        const struct json *list = json_get(spec, str_from(lists[k]));
        struct json_arr out = arr_in(a);
        json_each (i, list)
            arr_add(&out, container_shape(a, json_at(list, i)));
        if (json_len(list))
            obj_set(&o, str_from(lists[k]), arr_done(&out));
    }
    for (size_t i = 0; i < POD_SHAPE_N_PARTS; i++) {
        const struct json *v = json_get(spec, pod_shape_parts[i]);
        if (str_eq(pod_shape_parts[i], S("resources")))
            v = json_getz(v, "requests");
        if (!is_empty(v))
            obj_set(&o, pod_shape_parts[i], *v);
    }
    return obj_done(&o);
}
