/* kueue_requests.c - pods as numbers: requests, bounds, arithmetic, priorities, topologies */
#include "conformance.h"

#include "api/priority.h"
#include "api/workload_requests.h"
#include "kueue_parts.h"
#include "queue/amount.h"
#include "queue/load.h"

static struct str field(const struct json *c, const char *name)
{
    return json_str(json_get(c, str_from(name)));
}

static const struct json *in_of(const struct json *c)
{
    return json_getz(c, "in");
}

static const struct json *want_of(const struct json *c, const char *name)
{
    return json_get(json_getz(c, "want"), str_from(name));
}

static bool gate(const struct json *c, const char *name, bool otherwise)
{
    return json_bool(json_get(json_getz(c, "gates"), str_from(name)), otherwise);
}

static void same_i64(struct conf *t, const char *what, int64_t got, const struct json *want)
{
    struct json v = json_of_i64(got), zero = json_of_i64(0);

    conf_same(t, what, &v, want ? want : &zero);
}

static void same_bool(struct conf *t, const char *what, bool got, const struct json *want)
{
    struct json v = json_of_bool(got), no = json_of_bool(false);

    conf_same(t, what, &v, want ? want : &no);
}

/* Runs the row whose name ends the case's source, behind ":Test". */
struct test {
    const char *name;
    conf_fn *run;
};

static void run_test(struct conf *t, const struct json *c, const struct test *tests, size_t n)
{
    struct str source = field(c, "source"), file, name;

    str_rcut(source, ':', &file, &name);
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, str_printf(t->arena, "Test%s", tests[i].name))) {
            tests[i].run(t, c);
            return;
        }
    conf_fail(t, "no such test", name, S(""));
}

/* ---- numbers by resource ---- */

/* {cpu: 500} with numbers as they are counted. */
static struct resource_numbers numbers(struct arena *a, const struct json *map)
{
    struct resource_list l = {0};

    json_each_member (m, map)
        resource_list_put(a, &l, m->name,
                          resource_quantity(m->name, json_i64(&m->value, 0), false));
    return resource_numbers_of(a, &l);
}

static const struct json *numbers_json(struct arena *a, const struct resource_numbers *n)
{
    struct json_obj o = obj_in(a);

    for (size_t i = 0; i < n->len; i++)
        obj_add(&o, n->at[i].name, json_of_i64(n->at[i].n));
    return json_new(a, obj_done(&o));
}

/* An empty object and an absent one are equal. */
static void same_map(struct conf *t, const char *what, const struct json *got,
                     const struct json *want)
{
    if (json_len(got) || json_len(want))
        conf_same(t, what, got, want);
}

/* Two objects of quantities by value. */
static void same_quantities(struct conf *t, const char *what, const struct json *got,
                            const struct json *want)
{
    struct resource_list x = resource_list_of(t->arena, got);
    struct resource_list y = resource_list_of(t->arena, want);
    bool same = x.len == y.len && y.len == json_len(want);

    for (size_t i = 0; i < x.len && same; i++) {
        const struct quantity *q = resource_list_get(&y, x.at[i].name);
        same = q && quantity_cmp(q, &x.at[i].q) == 0;
    }
    static const struct json none = {.type = JSON_NULL};
    if (!same)
        conf_fail(t, what, json_text(t->arena, got ? got : &none),
                  json_text(t->arena, want ? want : &none));
}

static const struct json *names_json(struct arena *a, struct str_list names)
{
    struct json_arr list = arr_in(a);

    for (size_t i = 0; i < names.len; i++)
        arr_add(&list, json_of_str(names.at[i]));
    return json_new(a, arr_done(&list));
}

/* ---- resource-arithmetic ---- */

static void amount_as_float(struct conf *t, const struct json *c)
{
    struct str resource = field(in_of(c), "resource");
    const struct json *v = json_getz(in_of(c), "amount"), *want = want_of(c, "result");
    int64_t amount = json_is(v, JSON_STRING) ? AMOUNT_UNLIMITED : json_i64(v, 0);
    double got = amount_f64(amount, amount_scale(resource));
    double expected = str_eq(json_str(want), S("+Inf")) ? __builtin_inf() : json_f64(want, 0);

    if (!(got == expected))
        conf_fail(t, "result", str_printf(t->arena, "%g", got), json_text(t->arena, want));
}

static void amount_from_quantity(struct conf *t, const struct json *c)
{
    int64_t got = queue_quota_amount(t->arena, field(in_of(c), "resource"),
                                     json_getz(in_of(c), "quantity"));
    bool is_unlimited = got == AMOUNT_UNLIMITED;

    same_bool(t, "unlimited", is_unlimited, want_of(c, "unlimited"));
    same_i64(t, "value", is_unlimited ? 0 : got, want_of(c, "value"));
}

static void count_in(struct conf *t, const struct json *c)
{
    struct resource_numbers capacity = numbers(t->arena, json_getz(in_of(c), "capacity"));
    struct resource_numbers requests = numbers(t->arena, json_getz(in_of(c), "requests"));
    const struct json *want = json_getz(c, "want");
    struct str limiting;
    int64_t got = resource_numbers_fit(&capacity, &requests, &limiting);

    if (json_getz(want, "result")) {
        same_i64(t, "result", got, json_getz(want, "result"));
        return;
    }
    same_i64(t, "count", got, json_getz(want, "count"));
    conf_same_str(t, "limitingResource", limiting, field(want, "limitingResource"));
}

static void floor_to_zero(struct conf *t, const struct json *c)
{
    struct resource_numbers n = numbers(t->arena, json_getz(in_of(c), "requests"));

    resource_numbers_floor(&n);
    same_map(t, "result", numbers_json(t->arena, &n), want_of(c, "result"));
}

static void greater_keys(struct conf *t, const struct json *c)
{
    struct resource_numbers x = numbers(t->arena, json_getz(in_of(c), "a"));
    struct resource_numbers y = numbers(t->arena, json_getz(in_of(c), "b"));
    struct str_list names = resource_numbers_greater(t->arena, &x, &y);

    if (names.len || json_len(want_of(c, "result")))
        conf_same(t, "result", names_json(t->arena, names), want_of(c, "result"));
}

/* Names without a '/' that no standard resource has come from counters of devices. */
static bool counts_bytes(struct str name)
{
    return str_index(name, '/') == STR_NONE && !str_eq(name, S("cpu")) &&
           !str_eq(name, S("pods"));
}

static void quantity_round_trips(struct conf *t, const struct json *c)
{
    struct str name = field(in_of(c), "resource");
    struct quantity q =
        resource_quantity(name, json_i64(json_getz(in_of(c), "value"), 0), counts_bytes(name));

    conf_same_str(t, "result", quantity_text(t->arena, &q), json_str(want_of(c, "result")));
    same_i64(t, "back", resource_units(name, &q), json_getz(in_of(c), "value"));
}

static void resource_value(struct conf *t, const struct json *c)
{
    struct quantity q = {0};

    quantity_parse(t->arena, field(in_of(c), "quantity"), &q, NULL);
    same_i64(t, "result", resource_units(field(in_of(c), "resource"), &q),
             want_of(c, "result"));
}

static void saturation(struct conf *t, const struct json *c)
{
    struct resource_numbers x = numbers(t->arena, json_getz(in_of(c), "start"));
    struct resource_numbers y = numbers(t->arena, json_getz(in_of(c), "other"));
    bool is_sub = json_bool(json_getz(in_of(c), "sub"), false);

    x = resource_numbers_add(t->arena, &x, &y, is_sub ? -1 : 1);
    same_map(t, "result", numbers_json(t->arena, &x), want_of(c, "result"));
}

static void safe_value(struct conf *t, const struct json *c)
{
    struct quantity q = {0};

    quantity_parse(t->arena, field(in_of(c), "q"), &q, NULL);
    same_i64(t, "result", quantity_units(&q, 0), want_of(c, "result"));
}

static void saturating(struct conf *t, const struct json *c)
{
    int64_t x = json_i64(json_getz(in_of(c), "a"), 0),
            y = json_i64(json_getz(in_of(c), "b"), 0);
    struct str source = field(c, "source");
    int64_t got = str_ends(source, S("Mul"))   ? sat_mul(x, y)
                  : str_ends(source, S("Add")) ? sat_add(x, y)
                                               : sat_sub(x, y);

    same_i64(t, "result", got, want_of(c, "result"));
}

static void merge_lists(struct conf *t, const struct json *c)
{
    static const struct {
        const char *name;
        enum resource_merge how;
    } ops[] = {
        {"merge", RESOURCE_FIRST},
        {"max",   RESOURCE_MAX  },
        {"min",   RESOURCE_MIN  },
        {"sum",   RESOURCE_SUM  }
    };
    struct resource_list x = resource_list_of(t->arena, json_getz(in_of(c), "a"));
    struct resource_list y = resource_list_of(t->arena, json_getz(in_of(c), "b"));

    for (size_t i = 0; i < countof(ops); i++)
        if (str_eqz(field(in_of(c), "op"), ops[i].name))
            resource_list_merge(t->arena, &x, &y, ops[i].how);
    struct json got = resource_list_json(t->arena, &x);
    same_quantities(t, "result", &got, want_of(c, "result"));
}

static void mul_by_float(struct conf *t, const struct json *c)
{
    struct resource_list l = resource_list_of(t->arena, json_getz(in_of(c), "rl"));

    l = resource_list_scale(t->arena, &l, json_f64(json_getz(in_of(c), "f"), 0));
    struct json got = resource_list_json(t->arena, &l);
    same_quantities(t, "result", &got, want_of(c, "result"));
}

static void quantity_to_float(struct conf *t, const struct json *c)
{
    struct quantity q = {0};

    quantity_parse(t->arena, field(in_of(c), "q"), &q, NULL);
    double got = quantity_f64(&q);
    if (!(got == json_f64(want_of(c, "result"), 0)))
        conf_fail(t, "result", str_printf(t->arena, "%.17g", got),
                  json_text(t->arena, want_of(c, "result")));
}

static void extended_name(struct conf *t, const struct json *c)
{
    const struct json *name = json_getz(in_of(c), "name");

    if (!name)
        name = json_getz(in_of(c), "resource");
    same_bool(t, "result", resource_is_extended(json_str(name)), want_of(c, "result"));
}

void kueue_resource_arithmetic(struct conf *t, const struct json *c)
{
    static const struct test tests[] = {
        {"AmountAsApproximateFloat64",                 amount_as_float     },
        {"AmountFromQuantity",                         amount_from_quantity},
        {"CountIn",                                    count_in            },
        {"CountInWithLimitingResource",                count_in            },
        {"FloorToZero",                                floor_to_zero       },
        {"GreaterKeys",                                greater_keys        },
        {"ResourceQuantityRoundTrips",                 quantity_round_trips},
        {"ResourceValueClampsOutsideInt64",            resource_value      },
        {"SliceRequests_SaturationMatchesMapRequests", saturation          },
        {"SafeValue",                                  safe_value          },
        {"SaturatingAdd",                              saturating          },
        {"SaturatingMul",                              saturating          },
        {"SaturatingSub",                              saturating          },
        {"Merge",                                      merge_lists         },
        {"MulByFloat",                                 mul_by_float        },
        {"QuantityToFloat",                            quantity_to_float   },
        {"IsExtendedResourceName",                     extended_name       },
    };

    run_test(t, c, tests, countof(tests));
}

/* ---- workload-adjust-resources ---- */

/* The elements of an array as pointers. */
static const struct json *const *pointers(struct arena *a, const struct json *list)
{
    const struct json **at = arena_array(a, const struct json *, json_len(list));

    json_each (i, list)
        at[i] = json_at(list, i);
    return at;
}

static void same_field_errors(struct conf *t, const struct field_errors *e,
                              const struct json *want)
{
    struct json_arr got = arr_in(t->arena);

    vec_each (i, &e->list) {
        struct json_obj o = obj_in(t->arena);
        obj_setz(&o, "badValue", e->list.at[i].value);
        obj_setz(&o, "field", json_of_str(e->list.at[i].path));
        obj_setz(&o, "type", json_of_str(field_error_reason(e->list.at[i].type)));
        arr_add(&got, obj_done(&o));
    }
    if (e->list.len || json_len(want))
        conf_same(t, "errors", json_new(t->arena, arr_done(&got)), want);
}

static void summarize(struct conf *t, const struct json *c)
{
    const struct json *ranges = json_getz(in_of(c), "ranges"), *want = want_of(c, "result");
    struct limit_summary s =
        limit_summary_of(t->arena, pointers(t->arena, ranges), json_len(ranges), S(""));
    const struct {
        const char *type;
        const struct limit_bounds *b;
    } types[] = {
        {"Container", &s.container},
        {"Pod",       &s.pod      }
    };

    for (size_t i = 0; i < countof(types); i++) {
        const struct json *w = json_get(want, str_from(types[i].type));
        const struct {
            const char *name;
            const struct resource_list *l;
        } parts[] = {
            {"max",                  &types[i].b->max             },
            {"min",                  &types[i].b->min             },
            {"default",              &types[i].b->defaults        },
            {"defaultRequest",       &types[i].b->default_requests},
            {"maxLimitRequestRatio", &types[i].b->ratio           }
        };
        for (size_t k = 0; k < countof(parts); k++) {
            struct json got = resource_list_json(t->arena, parts[k].l);
            same_quantities(t, parts[k].name, &got, json_get(w, str_from(parts[k].name)));
        }
    }
}

static struct limit_bounds bounds_of(struct arena *a, const struct json *v)
{
    return (struct limit_bounds){
        .exists = json_has(v),
        .max = resource_list_of(a, json_getz(v, "max")),
        .min = resource_list_of(a, json_getz(v, "min")),
    };
}

static void validate_pod_spec(struct conf *t, const struct json *c)
{
    const struct json *summary = json_getz(in_of(c), "summary");
    struct limit_summary s = {
        .container = bounds_of(t->arena, json_getz(summary, "Container")),
        .pod = bounds_of(t->arena, json_getz(summary, "Pod")),
    };
    struct field_errors e = field_errors_in(t->arena);
    struct field_path at = field_child(NULL, field(in_of(c), "podSpecPath"));

    pod_spec_check_bounds(&e, &at, json_getz(in_of(c), "podSpec"), &s);
    same_field_errors(t, &e, want_of(c, "result"));
}

/* Quantities of two trees by value, the rest as it is. */
static void same_specs(struct conf *t, const struct json *got, const struct json *want)
{
    static const char *const lists[] = {"initContainers", "containers"};

    same_quantities(t, "overhead", json_getz(got, "overhead"), json_getz(want, "overhead"));
    for (int part = 0; part < 2; part++) {
        const char *name = part ? "limits" : "requests";
        same_quantities(t, name, json_get(json_getz(got, "resources"), str_from(name)),
                        json_get(json_getz(want, "resources"), str_from(name)));
        for (size_t k = 0; k < countof(lists); k++) {
            const struct json *x = json_get(got, str_from(lists[k]));
            const struct json *y = json_get(want, str_from(lists[k]));
            same_i64(t, lists[k], (int64_t)json_len(x),
                     json_new(t->arena, json_of_i64((int64_t)json_len(y))));
            json_each (i, y)
                same_quantities(
                    t, name, json_get(json_getz(json_at(x, i), "resources"), str_from(name)),
                    json_get(json_getz(json_at(y, i), "resources"), str_from(name)));
        }
    }
}

static void adjust_resources(struct conf *t, const struct json *c)
{
    const struct json *ranges = json_getz(in_of(c), "limitranges");
    const struct json *classes = json_getz(in_of(c), "runtimeClasses");
    struct pod_rules rules = {
        .limit_ranges = pointers(t->arena, ranges),
        .n_limit_ranges = json_len(ranges),
        .runtime_classes = pointers(t->arena, classes),
        .n_runtime_classes = json_len(classes),
    };
    const struct json *podsets = json_path(in_of(c), "wl", "spec", "podSets", NULL);
    const struct json *want = json_path(c, "want", "wl", "spec", "podSets", NULL);

    json_each (i, podsets)
        same_specs(t,
                   pod_spec_adjust(t->arena,
                                   json_path(json_at(podsets, i), "template", "spec", NULL),
                                   &rules, S("")),
                   json_path(json_at(want, i), "template", "spec", NULL));
}

/* All podsets of a workload through one check. */
static void validate_podsets(struct conf *t, const struct json *c, const struct json *workload,
                             const struct limit_summary *s)
{
    const struct json *podsets = json_path(workload, "spec", "podSets", NULL);
    struct field_errors e = field_errors_in(t->arena);
    struct field_path spec = field_child(NULL, S("spec"));
    struct field_path list = field_child(&spec, S("podSets"));

    json_each (i, podsets) {
        struct field_path item = field_item(&list, i);
        struct field_path template = field_child(&item, S("template"));
        struct field_path at = field_child(&template, S("spec"));
        const struct json *pod = json_path(json_at(podsets, i), "template", "spec", NULL);
        if (s)
            pod_spec_check_bounds(&e, &at, pod, s);
        else
            pod_spec_check_limits(&e, &at, pod);
    }
    same_field_errors(t, &e, want_of(c, "error"));
}

static void validate_limit_range(struct conf *t, const struct json *c)
{
    const struct json *range = json_getz(in_of(c), "limitRange");
    struct limit_summary s = limit_summary_of(t->arena, &range, json_has(range), S(""));

    validate_podsets(t, c, json_getz(in_of(c), "workload"), &s);
}

static void validate_resources(struct conf *t, const struct json *c)
{
    validate_podsets(t, c, json_path(in_of(c), "workloadInfo", "obj", NULL), NULL);
}

void kueue_adjust_resources(struct conf *t, const struct json *c)
{
    static const struct test tests[] = {
        {"Summarize",          summarize           },
        {"ValidatePodSpec",    validate_pod_spec   },
        {"AdjustResources",    adjust_resources    },
        {"ValidateLimitRange", validate_limit_range},
        {"ValidateResources",  validate_resources  },
    };

    run_test(t, c, tests, countof(tests));
}

/* ---- priority ---- */

static void default_class_exists(struct conf *t, const struct json *c)
{
    const struct json *items = json_path(in_of(c), "workloadPriorityClassList", "items", NULL);
    struct priority_source p;

    same_bool(t, "exist",
              priority_of_workload_class(pointers(t->arena, items), json_len(items),
                                         S("default"), &p, NULL) == 0,
              want_of(c, "exist"));
}

static void class_of(struct conf *t, const struct json *c)
{
    const struct json *in = in_of(c);
    const struct json *mine = json_path(in, "workloadPriorityClassList", "items", NULL);
    const struct json *items = json_path(in, "priorityClassList", "items", NULL);
    struct priority_source p = {0};
    struct err err = {0};
    int rc = json_getz(in, "workloadPriorityClassList")
                 ? priority_of_workload_class(pointers(t->arena, mine), json_len(mine),
                                              field(in, "workloadPriorityClassName"), &p, &err)
                 : priority_of_class(pointers(t->arena, items), json_len(items),
                                     field(in, "priorityClassName"), &p, &err);
    const struct json *ref = want_of(c, "priorityClassRef");

    conf_same_str(t, "err", rc < 0 ? S("NotFound") : S(""), json_str(want_of(c, "err")));
    same_i64(t, "priorityClassValue", p.value, want_of(c, "priorityClassValue"));
    conf_same_str(t, "group", p.group, field(ref, "group"));
    conf_same_str(t, "kind", p.kind, field(ref, "kind"));
    conf_same_str(t, "name", p.name, field(ref, "name"));
}

static void effective_priority(struct conf *t, const struct json *c)
{
    const struct json *wl = json_getz(in_of(c), "workload");
    bool has_boost = gate(c, "PriorityBoost", false);
    int64_t boost;
    int rc = has_boost
                 ? priority_boost(json_path(wl, "metadata", "annotations", NULL), &boost, NULL)
                 : 0;

    same_i64(t, "priority", priority_effective(wl, has_boost), want_of(c, "priority"));
    if (want_of(c, "err"))
        same_bool(t, "err", rc < 0, want_of(c, "err"));
}

static void plain_priority(struct conf *t, const struct json *c)
{
    same_i64(t, "result", priority_effective(json_getz(in_of(c), "workload"), false),
             want_of(c, "result"));
}

static void boost_of(struct conf *t, const struct json *c)
{
    const struct json *wl = json_getz(in_of(c), "workload");
    int64_t boost = 0;
    int rc = gate(c, "PriorityBoost", false)
                 ? priority_boost(json_path(wl, "metadata", "annotations", NULL), &boost, NULL)
                 : 0;

    same_i64(t, "boost", boost, want_of(c, "boost"));
    same_bool(t, "err", rc < 0, want_of(c, "err"));
}

void kueue_priority(struct conf *t, const struct json *c)
{
    static const struct test tests[] = {
        {"DefaultWorkloadPriorityClassExist",    default_class_exists},
        {"EffectivePriority",                    effective_priority  },
        {"ParseEffectivePriority",               effective_priority  },
        {"GetPriorityFromPriorityClass",         class_of            },
        {"GetPriorityFromWorkloadPriorityClass", class_of            },
        {"Priority",                             plain_priority      },
        {"PriorityBoost",                        boost_of            },
    };

    run_test(t, c, tests, countof(tests));
}

/* ---- workload-requests ---- */

static struct pod_rules rules_of(struct arena *a, const struct json *options)
{
    const struct json *list = json_getz(options, "resourceTransformations");
    struct pod_transform *at = arena_array(a, struct pod_transform, json_len(list));
    struct pod_rules r = {
        .exclude_prefixes = str_list_of(a, json_getz(options, "excludedResourcePrefixes")),
        .transforms = at,
    };

    json_each_member (m, list)
        at[r.n_transforms++] = (struct pod_transform){
            .input = field(&m->value, "input"),
            .multiply_by = field(&m->value, "multiplyBy"),
            .is_replace = str_eq(field(&m->value, "strategy"), S("Replace")),
            .outputs = resource_list_of(a, json_getz(&m->value, "outputs")),
        };
    return r;
}

static struct workload_record record_of(struct arena *a, const struct json *workload,
                                        const struct json *options, const struct json *adds,
                                        const struct json *replaced)
{
    struct pod_rules rules = rules_of(a, options);
    struct workload_claims *claims = arena_array(a, struct workload_claims, json_len(adds));
    size_t n = 0;

    json_each_member (m, adds)
        claims[n++] = (struct workload_claims){
            .podset = m->name,
            .adds = resource_list_of(a, &m->value),
            .replaces = str_list_of(a, json_get(replaced, m->name)),
        };
    return workload_record_of(a, workload, &rules, claims, n);
}

static const struct json *domain_json(struct arena *a, const struct workload_podset *p,
                                      const struct topology_domain *d)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "count", json_of_i64(d->count));
    obj_setz(&o, "singlePodRequests", *numbers_json(a, &p->one_pod));
    struct json_arr values = arr_in(a);
    for (size_t i = 0; i < p->topology.levels.len; i++)
        arr_add(&values, json_of_str(d->values[i]));
    obj_setz(&o, "values", arr_done(&values));
    return json_new(a, obj_done(&o));
}

static struct json podset_json(struct arena *a, const struct workload_podset *p)
{
    struct json_obj o = obj_in(a), flavors = obj_in(a), topology = obj_in(a);
    struct json_arr domains = arr_in(a);

    obj_setz(&o, "count", json_of_i64(p->count));
    for (size_t i = 0; i < p->flavors.len; i++)
        obj_set(&flavors, p->flavors.at[i].key, json_of_str(p->flavors.at[i].value));
    if (p->flavors.len)
        obj_setz(&o, "flavors", obj_done(&flavors));
    if (p->name.len)
        obj_setz(&o, "name", json_of_str(p->name));
    if (p->requests.len)
        obj_setz(&o, "requests", *numbers_json(a, &p->requests));
    if (p->topology.len) {
        for (size_t i = 0; i < p->topology.len; i++)
            arr_add(&domains, *domain_json(a, p, &p->topology.at[i]));
        obj_setz(&topology, "domainRequests", arr_done(&domains));
        obj_setz(&topology, "levels", *names_json(a, p->topology.levels));
        obj_setz(&o, "topologyRequest", obj_done(&topology));
    }
    return obj_done(&o);
}

static const struct json *podsets_json(struct arena *a, const struct workload_record *r)
{
    struct json_arr list = arr_in(a);

    for (size_t i = 0; i < r->len; i++)
        arr_add(&list, podset_json(a, &r->at[i]));
    return json_new(a, arr_done(&list));
}

static void same_record(struct conf *t, const struct workload_record *r,
                        const struct json *want)
{
    conf_same_str(t, "clusterQueue", r->cluster_queue, field(want, "clusterQueue"));
    conf_same(t, "totalRequests", podsets_json(t->arena, r), json_getz(want, "totalRequests"));
}

static void new_info(struct conf *t, const struct json *c)
{
    const struct json *in = in_of(c), *options = json_getz(in, "options");
    const struct json *adds = json_getz(in, "draResources");
    const struct json *replaced = json_getz(in, "replacedExtendedResources");
    struct workload_record r = record_of(
        t->arena, json_getz(in, "workload"), options,
        adds ? adds : json_path(options, "dra", "preprocessedDRAResources", NULL),
        adds ? replaced : json_path(options, "dra", "replacedExtendedResources", NULL));

    same_record(t, &r, want_of(c, "info"));
}

static void update_with_rebuild(struct conf *t, const struct json *c)
{
    const struct json *in = in_of(c), *updated = json_getz(in, "updated");
    const struct json *options = json_getz(in, "updateOptions");
    bool keeps = json_bool(json_getz(options, "preserveTotalRequests"), false) &&
                 !json_has(json_path(updated, "status", "admission", NULL));
    const struct json *from = keeps ? json_getz(in, "initialOptions") : options;
    struct workload_record r =
        record_of(t->arena, keeps ? json_getz(in, "initial") : updated, from,
                  json_path(from, "dra", "preprocessedDRAResources", NULL),
                  json_path(from, "dra", "replacedExtendedResources", NULL));

    conf_same(t, "requests", podsets_json(t->arena, &r), want_of(c, "requests"));
}

/* A record from the cases' own form of one. */
static struct workload_record record_from(struct arena *a, const struct json *info)
{
    const struct json *list = json_getz(info, "totalRequests");
    struct workload_podset *at = arena_array(a, struct workload_podset, json_len(list));

    json_each (i, list) {
        const struct json *p = json_at(list, i);
        at[i] = (struct workload_podset){
            .name = field(p, "name"),
            .count = json_i64(json_getz(p, "count"), 0),
            .requests = numbers(a, json_getz(p, "requests")),
            .flavors = str_map_of(a, json_getz(p, "flavors")),
        };
    }
    return (struct workload_record){.at = at, .len = json_len(list)};
}

static void propagate_requests(struct conf *t, const struct json *c)
{
    struct workload_record r = record_from(t->arena, json_getz(in_of(c), "info"));
    const struct json *wl = json_getz(in_of(c), "wl");
    struct json written = workload_requests_json(t->arena, &r);

    same_bool(t, "result", workload_requests_differ(t->arena, wl, &r), want_of(c, "result"));
    const struct json *after = json_with(t->arena, wl ? wl : json_new(t->arena, json_of_null()),
                                         written, "status", "resourceRequests", NULL);
    same_bool(t, "written and still different", workload_requests_differ(t->arena, after, &r),
              NULL);
}

static void resource_usage(struct conf *t, const struct json *c)
{
    struct workload_record r = record_from(t->arena, json_getz(in_of(c), "info"));
    const struct json *want = want_of(c, "result");
    struct json_obj assigned = obj_in(t->arena), unassigned = obj_in(t->arena);
    size_t n;
    const struct workload_usage *u = workload_usage(t->arena, &r, &n);

    for (size_t i = 0; i < n; i++)
        if (u[i].flavor.len)
            obj_set(
                &assigned,
                str_printf(t->arena, "%.*s/%.*s", STR_ARG(u[i].flavor), STR_ARG(u[i].resource)),
                json_of_i64(u[i].n));
        else
            obj_set(&unassigned, u[i].resource, json_of_i64(u[i].n));
    same_map(t, "assigned", json_new(t->arena, obj_done(&assigned)),
             json_getz(want, "assigned"));
    same_map(t, "unassigned", json_new(t->arena, obj_done(&unassigned)),
             json_getz(want, "unassigned"));
}

static void used_nodes(struct conf *t, const struct json *c)
{
    struct str_list nodes = workload_nodes(t->arena, json_getz(in_of(c), "wl"));

    if (nodes.len || json_len(want_of(c, "result")))
        conf_same(t, "result", names_json(t->arena, nodes), want_of(c, "result"));
}

static void limit_reclaimable(struct conf *t, const struct json *c)
{
    const struct json *got = workload_reclaimable_limit(t->arena, json_getz(in_of(c), "wl"),
                                                        json_getz(in_of(c), "reclaimablePods"));

    if (json_len(got) || json_len(want_of(c, "result")))
        conf_same(t, "result", got, want_of(c, "result"));
}

static void reclaimable_equal(struct conf *t, const struct json *c)
{
    same_bool(t, "result",
              workload_reclaimable_equal(json_getz(in_of(c), "a"), json_getz(in_of(c), "b")),
              want_of(c, "result"));
}

static void wants_topology(struct conf *t, const struct json *c)
{
    same_bool(t, "result", workload_wants_topology(json_getz(in_of(c), "podSets")),
              want_of(c, "result"));
}

static uint64_t shape_of(struct conf *t, const struct json *workload)
{
    struct pod_rules rules = {0};
    struct workload_record r = workload_record_of(t->arena, workload, &rules, NULL, 0);

    return workload_shape(t->arena, workload, &r, priority_effective(workload, false));
}

static void scheduling_hash(struct conf *t, const struct json *c)
{
    same_bool(t, "same",
              gate(c, "SchedulingEquivalenceHashing", true) &&
                  shape_of(t, json_getz(in_of(c), "wl1")) ==
                      shape_of(t, json_getz(in_of(c), "wl2")),
              want_of(c, "same"));
}

static void extract_counts(struct conf *t, const struct json *c)
{
    const struct json *podsets = json_getz(in_of(c), "podSets");
    const struct json *wl = json_getz(in_of(c), "workload");
    struct json got =
        workload_counts(t->arena, wl ? json_path(wl, "spec", "podSets", NULL) : podsets);

    same_map(t, "result", &got, want_of(c, "result"));
}

static void apply_counts(struct conf *t, const struct json *c)
{
    conf_same(t, "result",
              workload_with_counts(t->arena, json_getz(in_of(c), "wl"),
                                   json_getz(in_of(c), "counts")),
              want_of(c, "result"));
}

static void fewer_counts(struct conf *t, const struct json *c)
{
    same_bool(t, "result",
              workload_counts_fewer(json_getz(in_of(c), "c"),
                                    json_path(in_of(c), "args", "in", NULL)),
              want_of(c, "result"));
}

void kueue_workload_requests(struct conf *t, const struct json *c)
{
    static const struct test tests[] = {
        {"NewInfo",                                               new_info           },
        {"WithPreprocessedDRAResources",                          new_info           },
        {"WithPreprocessedDRAResourcesReplacesExtendedResources", new_info           },
        {"UpdateWithRebuild",                                     update_with_rebuild},
        {"PropagateResourceRequests",                             propagate_requests },
        {"ResourceUsage",                                         resource_usage     },
        {"UsedNodes",                                             used_nodes         },
        {"LimitReclaimablePodsToPodSetSizes",                     limit_reclaimable  },
        {"ReclaimablePodsAreEqual",                               reclaimable_equal  },
        {"IsExplicitlyRequestingTAS",                             wants_topology     },
        {"ExtractPodSetCounts",                                   extract_counts     },
        {"ExtractPodSetCountsFromWorkload",                       extract_counts     },
        {"ApplyPodSetCounts",                                     apply_counts       },
        {"PodSetsCounts_HasFewerReplicasThan",                    fewer_counts       },
        {"SchedulingHash",                                        scheduling_hash    },
    };

    run_test(t, c, tests, countof(tests));
}

/* ---- tas-encoding ---- */

static struct topology_assignment internal_of(struct arena *a, const struct json *v)
{
    const struct json *list = json_getz(v, "domains");
    struct topology_domain *at = arena_array(a, struct topology_domain, json_len(list));

    json_each (i, list)
        at[i] = (struct topology_domain){
            str_list_of(a, json_getz(json_at(list, i), "values")).at,
            json_i64(json_getz(json_at(list, i), "count"), 0),
        };
    return (struct topology_assignment){str_list_of(a, json_getz(v, "levels")), at,
                                        json_len(list)};
}

static void encode_topology(struct conf *t, const struct json *c)
{
    enum topology_form form = str_has(field(c, "source"), S("PrefixRuns")) ? TOPOLOGY_RUNS
                              : gate(c, "TASAssignmentsEncodingByHostnamePrefix", true)
                                  ? TOPOLOGY_SHORTER
                                  : TOPOLOGY_ONE_SLICE;
    struct topology_assignment in = internal_of(t->arena, json_getz(in_of(c), "internal"));
    struct json got = topology_encode(t->arena, &in, form);
    const struct json *want = want_of(c, "result");

    want = want ? want : want_of(c, "v1beta2");
    if (json_len(json_getz(&got, "slices")) == 0 && json_len(json_getz(want, "slices")) == 0)
        want = json_with(t->arena, want, *json_getz(&got, "slices"), "slices", NULL);
    conf_same(t, "result", &got, want);
}

static void decode_topology(struct conf *t, const struct json *c)
{
    const struct json *stored = json_getz(in_of(c), "v1beta2");
    struct topology_assignment got = {0};
    struct json_arr domains = arr_in(t->arena), counts = arr_in(t->arena);

    topology_decode(t->arena, stored, &got, NULL);
    for (size_t i = 0; i < got.len; i++) {
        struct json_obj o = obj_in(t->arena);
        struct str_list values = {arena_array(t->arena, struct str, got.levels.len),
                                  got.levels.len};
        for (size_t k = 0; k < values.len; k++)
            values.at[k] = got.at[i].values[k];
        obj_setz(&o, "count", json_of_i64(got.at[i].count));
        obj_setz(&o, "values", *names_json(t->arena, values));
        arr_add(&domains, obj_done(&o));
        arr_add(&counts, json_of_i64(got.at[i].count));
    }
    struct json list = arr_done(&domains), n = arr_done(&counts);
    if (want_of(c, "internal") &&
        (got.len || json_len(json_path(c, "want", "internal", "domains", NULL))))
        conf_same(t, "domains", &list, json_path(c, "want", "internal", "domains", NULL));
    if (want_of(c, "podCounts"))
        conf_same(t, "podCounts", &n, want_of(c, "podCounts"));
    if (want_of(c, "totalDomainCount"))
        same_i64(t, "totalDomainCount", topology_domain_count(stored),
                 want_of(c, "totalDomainCount"));
}

static void has_node(struct conf *t, const struct json *c)
{
    const struct json *one = json_path(in_of(c), "psa", "topologyAssignment", NULL);
    const struct json *list = json_path(in_of(c), "admission", "podSetAssignments", NULL);
    struct str node = field(in_of(c), "nodeName");
    bool got = topology_has_node(t->arena, one, node);

    json_each (i, list)
        got = got || topology_has_node(t->arena,
                                       json_getz(json_at(list, i), "topologyAssignment"), node);
    same_bool(t, "result", got, want_of(c, "result"));
}

static void domain_ids(struct conf *t, const struct json *c)
{
    struct str id = field(in_of(c), "domainID");

    if (str_ends(field(c, "source"), S("BelongsTo"))) {
        same_bool(t, "result", topology_is_inside(id, field(in_of(c), "targetDomain")),
                  want_of(c, "result"));
        return;
    }
    struct str node =
        topology_node_of(id, str_list_of(t->arena, json_getz(in_of(c), "levels")));
    same_bool(t, "ok", node.len > 0, want_of(c, "ok"));
    conf_same_str(t, "nodeName", node, json_str(want_of(c, "nodeName")));
}

void kueue_tas_encoding(struct conf *t, const struct json *c)
{
    static const struct test tests[] = {
        {"CompactTopologyAssignmentEncodingWithHostnamePrefixRuns", encode_topology},
        {"V1Beta2FromInternal",                                     encode_topology},
        {"InternalFromV1Beta2",                                     decode_topology},
        {"PodCounts",                                               decode_topology},
        {"TotalDomainCount",                                        decode_topology},
        {"HasNodeInPodSetAssignment",                               has_node       },
        {"HasTASAssignmentOnNode",                                  has_node       },
        {"BelongsTo",                                               domain_ids     },
        {"NodeNameFromDomainID",                                    domain_ids     },
    };

    run_test(t, c, tests, countof(tests));
}
