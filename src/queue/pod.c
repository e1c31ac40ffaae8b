/* pod.c - a pod template as requests */
#include "queue/pod.h"

#include "value/quantity.h"

struct res {
    struct str name;
    struct quantity q;
};
struct res_list {
    struct res *at;
    size_t len, cap;
};

static struct quantity *res_get(const struct res_list *l, struct str name)
{
    for (size_t i = 0; i < l->len; i++)
        if (str_eq(l->at[i].name, name))
            return &l->at[i].q;
    return NULL;
}

static void res_put(struct arena *a, struct res_list *l, struct str name, struct quantity q)
{
    struct quantity *old = res_get(l, name);

    if (old)
        *old = q;
    else
        vec_push_in(a, l, (struct res){name, q});
}

static bool read_quantity(struct arena *a, const struct json *v, struct quantity *out)
{
    struct str text = json_str(v);

    if (json_is(v, JSON_INT)) {
        *out = quantity_of(v->i, 0, QUANTITY_DECIMAL_SI);
        return true;
    }
    if (json_is(v, JSON_DOUBLE))
        text = json_text(a, v);
    return text.len && quantity_parse(a, text, out, NULL) == 0;
}

static struct res_list res_of(struct arena *a, const struct json *map)
{
    struct res_list l = {0};
    struct quantity q;

    json_each_member (m, map)
        if (read_quantity(a, &m->value, &q))
            res_put(a, &l, m->name, q);
    return l;
}

static void res_sum(struct arena *a, struct res_list *to, const struct res_list *from)
{
    for (size_t i = 0; i < from->len; i++) {
        struct quantity *q = res_get(to, from->at[i].name);
        res_put(a, to, from->at[i].name,
                q ? quantity_add(a, q, &from->at[i].q) : from->at[i].q);
    }
}

static void res_max(struct arena *a, struct res_list *to, const struct res_list *from)
{
    for (size_t i = 0; i < from->len; i++) {
        struct quantity *q = res_get(to, from->at[i].name);
        if (!q || quantity_cmp(q, &from->at[i].q) < 0)
            res_put(a, to, from->at[i].name, from->at[i].q);
    }
}

/* ---- limit ranges ---- */

struct limits {
    bool exists;
    struct res_list max, min, defaults, default_requests;
};

static void merge_bound(struct arena *a, struct res_list *to, const struct json *map, int keep)
{
    struct res_list from = res_of(a, map);

    for (size_t i = 0; i < from.len; i++) {
        struct quantity *old = res_get(to, from.at[i].name);
        if (!old || (keep && quantity_cmp(&from.at[i].q, old) == keep))
            res_put(a, to, from.at[i].name, from.at[i].q);
    }
}

static struct limits limits_for(struct arena *a, const struct queue_loader *l, struct str ns,
                                struct str type)
{
    struct limits out = {0};

    for (size_t i = 0; i < l->n_limit_ranges; i++) {
        const struct json *o = l->limit_ranges[i];
        const struct json *items = json_path(o, "spec", "limits", NULL);
        if (!str_eq(json_str(json_path(o, "metadata", "namespace", NULL)), ns))
            continue;
        json_each (k, items) {
            const struct json *item = json_at(items, k);
            if (!str_eq(json_str(json_getz(item, "type")), type))
                continue;
            out.exists = true;
            merge_bound(a, &out.max, json_getz(item, "max"), -1);
            merge_bound(a, &out.min, json_getz(item, "min"), 1);
            merge_bound(a, &out.defaults, json_getz(item, "default"), 0);
            merge_bound(a, &out.default_requests, json_getz(item, "defaultRequest"), 0);
        }
    }
    return out;
}

/* ---- containers ---- */

struct box { /* of a container, or of the pod itself */
    struct res_list requests, limits;
    bool is_sidecar;
};

static void add_missing(struct arena *a, struct res_list *to, const struct res_list *from)
{
    for (size_t i = 0; i < from->len; i++)
        if (!res_get(to, from->at[i].name))
            res_put(a, to, from->at[i].name, from->at[i].q);
}

/* A limit given by the author is a request before any default is one. */
static struct box box_of(struct arena *a, const struct json *resources, const struct limits *lr)
{
    struct box b = {.requests = res_of(a, json_getz(resources, "requests")),
                    .limits = res_of(a, json_getz(resources, "limits"))};

    add_missing(a, &b.requests, &b.limits);
    add_missing(a, &b.limits, &lr->defaults);
    add_missing(a, &b.requests, &lr->default_requests);
    add_missing(a, &b.requests, &b.limits);
    return b;
}

/* Names of resources in both with x > y, sorted, as "[a, b]"; "" for none. */
static struct str greater_names(struct arena *a, const struct res_list *x,
                                const struct res_list *y)
{
    VEC(struct str) names = {0};

    for (size_t i = 0; i < x->len; i++) {
        const struct quantity *q = res_get(y, x->at[i].name);
        if (!q || quantity_cmp(&x->at[i].q, q) <= 0)
            continue;
        size_t at = names.len;
        vec_push_in(a, &names, x->at[i].name);
        for (; at > 0 && str_cmp(names.at[at - 1], x->at[i].name) > 0; at--)
            names.at[at] = names.at[at - 1];
        names.at[at] = x->at[i].name;
    }
    if (!names.len)
        return S("");
    return str_printf(a, "[%.*s]", STR_ARG(str_join(a, names.at, names.len, S(", "))));
}

static void complain(struct arena *a, struct str *text, const char *prefix, struct str where,
                     struct str names, const char *what)
{
    if (!names.len)
        return;
    *text = text->len ? str_printf(a, "%.*s, %.*s: Invalid value: %.*s: %s", STR_ARG(*text),
                                   STR_ARG(where), STR_ARG(names), what)
                      : str_printf(a, "%s: %.*s: Invalid value: %.*s: %s", prefix,
                                   STR_ARG(where), STR_ARG(names), what);
}

static void check_bounds(struct arena *a, const struct box *b, const struct limits *lr,
                         struct str where, struct str *text)
{
    static const char prefix[] = "resources didn't satisfy LimitRange constraints";
    struct res_list high = {0}, low = {0};

    if (!lr->exists)
        return;
    res_max(a, &high, &b->requests);
    res_max(a, &high, &b->limits);
    for (size_t i = 0; i < b->requests.len; i++)
        res_put(a, &low, b->requests.at[i].name, b->requests.at[i].q);
    for (size_t i = 0; i < b->limits.len; i++) {
        struct quantity *q = res_get(&low, b->limits.at[i].name);
        if (!q || quantity_cmp(&b->limits.at[i].q, q) < 0)
            res_put(a, &low, b->limits.at[i].name, b->limits.at[i].q);
    }
    complain(a, text, prefix, where, greater_names(a, &high, &lr->max),
             "requests must not be above the limitRange max");
    complain(a, text, prefix, where, greater_names(a, &lr->min, &low),
             "requests must not be below the limitRange min");
}

/* ---- the pod ---- */

struct pod {
    struct box *init, *main;
    size_t n_init, n_main;
    struct box level; /* pod-level resources */
    bool has_level;
    struct res_list overhead;
};

static struct pod read_pod(struct arena *a, const struct queue_loader *l, struct str ns,
                           const struct json *spec)
{
    struct limits container = limits_for(a, l, ns, S("Container"));
    struct limits pod_limits = limits_for(a, l, ns, S("Pod"));
    const struct json *init = json_getz(spec, "initContainers");
    const struct json *main = json_getz(spec, "containers");
    const struct json *level = json_getz(spec, "resources");
    struct pod p = {.init = arena_array(a, struct box, json_len(init)),
                    .main = arena_array(a, struct box, json_len(main))};

    json_each (i, init) {
        const struct json *c = json_at(init, i);
        p.init[p.n_init] = box_of(a, json_getz(c, "resources"), &container);
        p.init[p.n_init++].is_sidecar =
            str_eq(json_str(json_getz(c, "restartPolicy")), S("Always"));
    }
    json_each (i, main)
        p.main[p.n_main++] = box_of(a, json_getz(json_at(main, i), "resources"), &container);
    if (json_len(json_getz(level, "requests")) || json_len(json_getz(level, "limits"))) {
        p.has_level = true;
        p.level = box_of(a, level, &pod_limits);
    }
    p.overhead = res_of(a, json_getz(spec, "overhead"));
    struct str class = json_str(json_getz(spec, "runtimeClassName"));
    for (size_t i = 0; !p.overhead.len && class.len && i < l->n_runtime_classes; i++)
        if (str_eq(json_str(json_path(l->runtime_classes[i], "metadata", "name", NULL)), class))
            p.overhead =
                res_of(a, json_path(l->runtime_classes[i], "overhead", "podFixed", NULL));
    return p;
}

/* The effective total: the init sequence or all at once, whichever is more, and the overhead.
 */
static struct res_list total_of(struct arena *a, const struct pod *p, bool of_limits)
{
    struct res_list sum = {0}, sidecars = {0}, init = {0};

#define SIDE(b) (of_limits ? &(b)->limits : &(b)->requests)
    for (size_t i = 0; i < p->n_main; i++)
        res_sum(a, &sum, SIDE(&p->main[i]));
    for (size_t i = 0; i < p->n_init; i++) {
        struct res_list at = {0};
        if (p->init[i].is_sidecar) {
            res_sum(a, &sum, SIDE(&p->init[i]));
            res_sum(a, &sidecars, SIDE(&p->init[i]));
            res_max(a, &init, &sidecars);
            continue;
        }
        res_sum(a, &at, &sidecars);
        res_sum(a, &at, SIDE(&p->init[i]));
        res_max(a, &init, &at);
    }
    res_max(a, &sum, &init);
    if (p->has_level)
        for (size_t i = 0; i < SIDE(&p->level)->len; i++)
            res_put(a, &sum, SIDE(&p->level)->at[i].name, SIDE(&p->level)->at[i].q);
#undef SIDE
    res_sum(a, &sum, &p->overhead);
    return sum;
}

static struct str validate(struct arena *a, const struct queue_loader *l, struct str ns,
                           const struct pod *p, size_t podset)
{
    static const char prefix[] = "resources validation failed";
    static const char what[] = "requests must not exceed its limits";
    struct limits container = limits_for(a, l, ns, S("Container"));
    struct limits pod_limits = limits_for(a, l, ns, S("Pod"));
    struct str text = {0}, spec;

    spec = str_printf(a, "spec.podSets[%zu].template.spec", podset);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < p->n_init + p->n_main; i++) {
            const struct box *b = i < p->n_init ? &p->init[i] : &p->main[i - p->n_init];
            struct str where =
                i < p->n_init
                    ? str_printf(a, "%.*s.initContainers[%zu]", STR_ARG(spec), i)
                    : str_printf(a, "%.*s.containers[%zu]", STR_ARG(spec), i - p->n_init);
            if (pass == 0)
                complain(a, &text, prefix, where, greater_names(a, &b->requests, &b->limits),
                         what);
            else
                check_bounds(a, b, &container, where, &text);
        }
        if (pass == 0 && p->has_level)
            complain(a, &text, prefix, str_printf(a, "%.*s.resources", STR_ARG(spec)),
                     greater_names(a, &p->level.requests, &p->level.limits), what);
        if (pass == 1) {
            struct box total = {.requests = total_of(a, p, false),
                                .limits = total_of(a, p, true)};
            check_bounds(a, &total, &pod_limits, spec, &text);
        }
        if (text.len)
            break;
    }
    return text;
}

/* ---- exclusion and transformation ---- */

static bool is_excluded(const struct queue_loader *l, struct str name)
{
    for (size_t i = 0; i < l->n_exclude_prefixes; i++)
        if (str_starts(name, l->exclude_prefixes[i]))
            return true;
    return false;
}

static struct quantity times(struct arena *a, const struct quantity *x,
                             const struct quantity *y)
{
    struct decimal p = decimal_mul(a, quantity_decimal(a, x), quantity_decimal(a, y));
    return quantity_of_decimal(a, p, QUANTITY_DECIMAL_SI);
}

static struct res_list transform(struct arena *a, const struct queue_loader *l,
                                 const struct res_list *in)
{
    struct res_list kept = {0}, made = {0};
    struct quantity q;

    for (size_t i = 0; i < in->len; i++) {
        bool is_kept = true;
        if (is_excluded(l, in->at[i].name))
            continue;
        for (size_t t = 0; t < l->n_transforms; t++) {
            const struct queue_transform *x = &l->transforms[t];
            const struct quantity *by = x->multiply_by.len ? res_get(in, x->multiply_by) : NULL;
            if (!str_eq(x->input, in->at[i].name))
                continue;
            is_kept &= !x->is_replace;
            json_each_member (m, x->outputs) {
                if (!read_quantity(a, &m->value, &q))
                    continue;
                q = times(a, &in->at[i].q, &q);
                if (by)
                    q = times(a, &q, by);
                struct res_list one = {0};
                res_put(a, &one, m->name, q);
                res_sum(a, &made, &one);
            }
        }
        if (is_kept)
            res_put(a, &kept, in->at[i].name, in->at[i].q);
    }
    for (size_t i = 0; i < made.len; i++)
        if (quantity_sign(&made.at[i].q) < 0)
            made.at[i].q = quantity_of(0, 0, QUANTITY_DECIMAL_SI);
    res_sum(a, &kept, &made);
    return kept;
}

struct pod_requests pod_requests(struct arena *a, const struct queue_loader *l, struct str ns,
                                 const struct json *pod_spec, size_t podset)
{
    struct pod p = read_pod(a, l, ns, pod_spec);
    struct res_list total = total_of(a, &p, false);
    struct pod_requests out = {.invalid = validate(a, l, ns, &p, podset)};

    total = transform(a, l, &total);
    out.at = arena_array(a, struct queue_request, total.len);
    for (size_t i = 0; i < total.len; i++) {
        struct str name = total.at[i].name;
        int32_t scale = str_eq(name, S("cpu")) ? QUANTITY_MILLI : 0;
        int64_t v = MAX((int64_t)0, quantity_units(&total.at[i].q, scale));
        size_t at = out.len++;
        for (; at > 0 && str_cmp(out.at[at - 1].resource, name) > 0; at--)
            out.at[at] = out.at[at - 1];
        out.at[at] = (struct queue_request){name, v};
    }
    return out;
}
