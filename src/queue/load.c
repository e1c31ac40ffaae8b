/* load.c - Kubernetes objects as trees -> what the engine takes */
#include "queue/load.h"

#include "api/priority.h"
#include "value/time.h"

#define CPU_UNLIMITED (INT64_MAX / 1000) /* cores from which a quota of cpu is unlimited */

/* ---- amounts ---- */

static bool parse_amount(struct arena *a, struct str resource, const struct json *v,
                         struct quantity *q)
{
    struct json_member m = {resource, v ? *v : json_of_null()};
    struct json map = {.type = JSON_OBJECT, .len = 1, .members = &m};
    struct resource_list l = resource_list_of(a, &map);

    if (l.len)
        *q = l.at[0].q;
    return l.len > 0;
}

int64_t queue_request_amount(struct arena *a, struct str resource, const struct json *v)
{
    struct quantity q;

    return parse_amount(a, resource, v, &q) ? resource_units(resource, &q) : 0;
}

int64_t queue_quota_amount(struct arena *a, struct str resource, const struct json *v)
{
    struct quantity q;

    if (!parse_amount(a, resource, v, &q))
        return 0;
    if (str_eq(resource, S("cpu")) && quantity_units(&q, 0) >= CPU_UNLIMITED)
        return AMOUNT_UNLIMITED;
    return resource_units(resource, &q);
}

static double load_weight(struct arena *a, const struct json *spec)
{
    const struct json *w = json_path(spec, "fairSharing", "weight", NULL);
    struct quantity q;

    return json_has(w) && parse_amount(a, S("weight"), w, &q) ? quantity_f64(&q) : 1;
}

/* ---- small parts ---- */

static struct str name_of(const struct json *o)
{
    return json_str(json_path(o, "metadata", "name", NULL));
}
static struct str ns_of(const struct json *o)
{
    return json_str(json_path(o, "metadata", "namespace", NULL));
}

struct queue_labels queue_load_labels(struct arena *a, const struct json *map)
{
    struct queue_label *at = arena_array(a, struct queue_label, json_len(map));
    size_t n = 0;

    json_each_member (m, map)
        at[n++] = (struct queue_label){m->name, json_str(&m->value)};
    return (struct queue_labels){at, n};
}

static const struct str *load_strs(struct arena *a, const struct json *list, size_t *n)
{
    struct str *at = arena_array(a, struct str, json_len(list));

    *n = 0;
    json_each (i, list)
        at[(*n)++] = json_str(json_at(list, i));
    return at;
}

static struct queue_term load_term(struct arena *a, const struct json *expressions,
                                   const struct json *labels)
{
    struct queue_requirement *at =
        arena_array(a, struct queue_requirement, json_len(expressions) + json_len(labels));
    size_t n = 0;

    json_each_member (m, labels) {
        struct str *value = arena_new(a, struct str);
        *value = json_str(&m->value);
        at[n++] = (struct queue_requirement){m->name, MATCH_IN, value, 1};
    }
    json_each (i, expressions) {
        const struct json *x = json_at(expressions, i);
        struct queue_requirement *r = &at[n++];
        r->key = json_str(json_getz(x, "key"));
        r->op = match_op_from(json_str(json_getz(x, "operator")));
        r->values = load_strs(a, json_getz(x, "values"), &r->n_values);
    }
    return (struct queue_term){at, n};
}

static struct queue_selector load_selector(struct arena *a, const struct json *s)
{
    return (struct queue_selector){
        .is_set = json_is(s, JSON_OBJECT),
        .term = load_term(a, json_getz(s, "matchExpressions"), json_getz(s, "matchLabels"))};
}

static const struct queue_toleration *load_tolerations(struct arena *a, const struct json *list,
                                                       size_t *n)
{
    struct queue_toleration *at = arena_array(a, struct queue_toleration, json_len(list));

    *n = 0;
    json_each (i, list) {
        const struct json *t = json_at(list, i);
        at[(*n)++] = (struct queue_toleration){
            json_str(json_getz(t, "key")), json_str(json_getz(t, "value")),
            json_str(json_getz(t, "effect")),
            str_eq(json_str(json_getz(t, "operator")), S("Exists"))};
    }
    return at;
}

/* ---- quotas and queues ---- */

void queue_load_flavor(struct arena *a, const struct json *o, struct queue_flavor_spec *out)
{
    const struct json *spec = json_getz(o, "spec"), *taints = json_getz(spec, "nodeTaints");
    struct queue_taint *t = arena_array(a, struct queue_taint, json_len(taints));

    *out = (struct queue_flavor_spec){
        .name = name_of(o),
        .topology = json_str(json_getz(spec, "topologyName")),
        .labels = queue_load_labels(a, json_getz(spec, "nodeLabels")),
        .taints = t,
    };
    out->tolerations = load_tolerations(a, json_getz(spec, "tolerations"), &out->n_tolerations);
    json_each (i, taints) {
        const struct json *x = json_at(taints, i);
        t[out->n_taints++] =
            (struct queue_taint){json_str(json_getz(x, "key")), json_str(json_getz(x, "value")),
                                 json_str(json_getz(x, "effect"))};
    }
}

static void load_quota(struct arena *a, const struct json *o, struct queue_quota_spec *q)
{
    const struct json *borrow = json_getz(o, "borrowingLimit");
    const struct json *lend = json_getz(o, "lendingLimit");

    q->resource = json_str(json_getz(o, "name"));
    q->nominal = queue_quota_amount(a, q->resource, json_getz(o, "nominalQuota"));
    q->has_borrow = json_has(borrow);
    q->borrow = queue_quota_amount(a, q->resource, borrow);
    q->has_lend = json_has(lend);
    q->lend = queue_quota_amount(a, q->resource, lend);
}

static const struct queue_group_spec *load_groups(struct arena *a, const struct json *groups,
                                                  size_t *n)
{
    struct queue_group_spec *out = arena_array(a, struct queue_group_spec, json_len(groups));

    *n = json_len(groups);
    json_each (g, groups) {
        const struct json *group = json_at(groups, g), *flavors = json_getz(group, "flavors");
        struct queue_group_flavor *f =
            arena_array(a, struct queue_group_flavor, json_len(flavors));
        out[g].resources =
            load_strs(a, json_getz(group, "coveredResources"), &out[g].n_resources);
        out[g].flavors = f;
        out[g].n_flavors = json_len(flavors);
        json_each (i, flavors) {
            const struct json *quotas = json_getz(json_at(flavors, i), "resources");
            struct queue_quota_spec *q =
                arena_array(a, struct queue_quota_spec, json_len(quotas));
            f[i] = (struct queue_group_flavor){json_str(json_getz(json_at(flavors, i), "name")),
                                               q, json_len(quotas)};
            json_each (k, quotas)
                load_quota(a, json_at(quotas, k), &q[k]);
        }
    }
    return out;
}

static enum queue_policy load_policy(const struct json *v)
{
    static const struct {
        const char *name;
        enum queue_policy policy;
    } rows[] = {
        {"Never",                     POLICY_NEVER         },
        {"Any",                       POLICY_ANY           },
        {"LowerPriority",             POLICY_LOWER         },
        {"LowerOrNewerEqualPriority", POLICY_LOWER_OR_NEWER},
    };

    for (size_t i = 0; i < countof(rows); i++)
        if (str_eqz(json_str(v), rows[i].name))
            return rows[i].policy;
    return POLICY_UNSET;
}

static enum queue_stop load_stop(const struct json *v)
{
    if (str_eq(json_str(v), S("Hold")))
        return STOP_HOLD;
    return str_eq(json_str(v), S("HoldAndDrain")) ? STOP_DRAIN : STOP_NONE;
}

static const struct queue_check_ref *load_checks(struct arena *a, const struct json *list,
                                                 size_t *n)
{
    struct queue_check_ref *out = arena_array(a, struct queue_check_ref, json_len(list));

    *n = json_len(list);
    json_each (i, list) {
        out[i].name = json_str(json_getz(json_at(list, i), "name"));
        out[i].on_flavors =
            load_strs(a, json_getz(json_at(list, i), "onFlavors"), &out[i].n_on_flavors);
    }
    return out;
}

void queue_load_cq(struct arena *a, const struct json *o, struct queue_cq_spec *out)
{
    const struct json *spec = json_getz(o, "spec");
    const struct json *fungibility = json_getz(spec, "flavorFungibility");
    const struct json *preemption = json_getz(spec, "preemption");
    const struct json *borrow = json_getz(preemption, "borrowWithinCohort");
    const struct json *threshold = json_getz(borrow, "maxPriorityThreshold");

    *out = (struct queue_cq_spec){
        .name = name_of(o),
        .cohort = json_str(json_getz(spec, "cohortName")),
        .is_strict = str_eq(json_str(json_getz(spec, "queueingStrategy")), S("StrictFIFO")),
        .is_terminating = json_has(json_path(o, "metadata", "deletionTimestamp", NULL)),
        .namespaces = load_selector(a, json_getz(spec, "namespaceSelector")),
        .borrow_try_next =
            str_eq(json_str(json_getz(fungibility, "whenCanBorrow")), S("TryNextFlavor")),
        .preempt_stop =
            str_eq(json_str(json_getz(fungibility, "whenCanPreempt")), S("MayStopSearch")),
        .prefer_preemption = str_eq(json_str(json_getz(fungibility, "preference")),
                                    S("PreemptionOverBorrowing")),
        .has_preemption = json_is(preemption, JSON_OBJECT),
        .within = load_policy(json_getz(preemption, "withinClusterQueue")),
        .reclaim = load_policy(json_getz(preemption, "reclaimWithinCohort")),
        .borrow = load_policy(json_getz(borrow, "policy")),
        .has_threshold = json_has(threshold),
        .threshold = (int32_t)json_i64(threshold, 0),
        .stop = load_stop(json_getz(spec, "stopPolicy")),
        .weight = load_weight(a, spec),
        .uses_afs = str_eq(json_str(json_path(spec, "admissionScope", "admissionMode", NULL)),
                           S("UsageBasedAdmissionFairSharing")),
        .keeps_first = str_eq(
            json_str(json_path(spec, "concurrentAdmissionPolicy", "migration", "mode", NULL)),
            S("RetainFirstAdmission")),
        .digest = spec ? str_digest(json_text(a, spec)) : 1,
    };
    out->groups = load_groups(a, json_getz(spec, "resourceGroups"), &out->n_groups);
    out->checks = load_checks(
        a, json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL), &out->n_checks);
}

void queue_load_cohort(struct arena *a, const struct json *o, struct queue_cohort_spec *out)
{
    const struct json *spec = json_getz(o, "spec");

    *out = (struct queue_cohort_spec){.name = name_of(o),
                                      .parent = json_str(json_getz(spec, "parentName")),
                                      .weight = load_weight(a, spec)};
    out->groups = load_groups(a, json_getz(spec, "resourceGroups"), &out->n_groups);
}

void queue_load_lq(struct arena *a, const struct json *o, struct queue_lq_spec *out)
{
    const struct json *spec = json_getz(o, "spec");

    *out = (struct queue_lq_spec){
        .ns = ns_of(o),
        .name = name_of(o),
        .cq = json_str(json_getz(spec, "clusterQueue")),
        .is_stopped = load_stop(json_getz(spec, "stopPolicy")) != STOP_NONE,
        .weight = load_weight(a, spec),
    };
}

size_t queue_load_levels(struct arena *a, const struct json *o, const struct str **out)
{
    const struct json *levels = json_path(o, "spec", "levels", NULL);
    struct str *at = arena_array(a, struct str, json_len(levels));

    json_each (i, levels)
        at[i] = json_str(json_getz(json_at(levels, i), "nodeLabel"));
    *out = at;
    return json_len(levels);
}

/* ---- workloads: conditions ---- */

static const struct json *condition_of(const struct json *wl, const char *type)
{
    const struct json *list = json_path(wl, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eqz(json_str(json_getz(json_at(list, i), "type")), type))
            return json_at(list, i);
    return NULL;
}

static bool condition_is(const struct json *c, const char *status)
{
    return str_eqz(json_str(json_getz(c, "status")), status);
}

static struct instant time_of(const struct json *v)
{
    struct instant t = {0};

    if (!json_str(v).len || time_parse(json_str(v), &t, NULL) < 0)
        return (struct instant){0};
    return t;
}

int64_t queue_load_priority(const struct queue_config *config, const struct json *wl,
                            int64_t *base, int64_t *boost, bool *boost_ok)
{
    int ok = 0;

    *base = json_i64(json_path(wl, "spec", "priority", NULL), 0);
    *boost = 0;
    if (queue_gate(config, QUEUE_GATE_PRIORITY_BOOST))
        ok = priority_boost(json_path(wl, "metadata", "annotations", NULL), boost, NULL);
    if (boost_ok)
        *boost_ok = ok == 0;
    return *base + *boost;
}

struct instant queue_load_order_time(const struct queue_config *config, const struct json *wl)
{
    const struct json *evicted = condition_of(wl, "Evicted");
    const struct json *preempted = condition_of(wl, "Preempted");
    struct str reason = json_str(json_getz(evicted, "reason"));

    if (condition_is(evicted, "True") &&
        ((!config->order_by_creation && str_eq(reason, S("PodsReadyTimeout"))) ||
         str_eq(reason, S("AdmissionCheck"))))
        return time_of(json_getz(evicted, "lastTransitionTime"));
    if (!queue_gate(config, QUEUE_GATE_PRIORITY_SORTING) && condition_is(preempted, "True") &&
        str_eq(json_str(json_getz(preempted, "reason")), S("InCohortReclaimWhileBorrowing")))
        return instant_add(time_of(json_getz(preempted, "lastTransitionTime")), span_ms(1));
    return time_of(json_path(wl, "metadata", "creationTimestamp", NULL));
}

static uint32_t check_flags(const struct json *wl)
{
    const struct json *checks = json_path(wl, "status", "admissionChecks", NULL);
    bool all_ready = json_len(checks) > 0;
    uint32_t flags = 0;

    json_each (i, checks) {
        struct str state = json_str(json_getz(json_at(checks, i), "state"));
        if (str_eq(state, S("Retry")) || str_eq(state, S("Rejected")))
            flags |= WL_CHECKS_FAILED;
        all_ready &= str_eq(state, S("Ready"));
    }
    return flags | (all_ready ? (uint32_t)WL_CHECKS_READY : 0);
}

static bool any_gate_closed(const struct json *wl)
{
    const struct json *gates = json_path(wl, "spec", "preemptionGates", NULL);
    const struct json *states = json_path(wl, "status", "preemptionGates", NULL);

    json_each (i, gates) {
        bool is_open = false;
        json_each (k, states)
            if (str_eq(json_str(json_getz(json_at(states, k), "name")),
                       json_str(json_getz(json_at(gates, i), "name"))))
                is_open =
                    str_eq(json_str(json_getz(json_at(states, k), "position")), S("Open"));
        if (!is_open)
            return true;
    }
    return false;
}

static uint32_t load_flags(const struct json *wl)
{
    static const struct {
        const char *type, *status;
        uint32_t flag;
    } rows[] = {
        {"Finished",                  "True",  WL_FINISHED      },
        {"QuotaReserved",             "True",  WL_RESERVED      },
        {"Admitted",                  "True",  WL_ADMITTED      },
        {"Evicted",                   "True",  WL_EVICTED       },
        {"Requeued",                  "False", WL_BACKOFF       },
        {"WaitingForReplacementPods", "True",  WL_WAITS_FOR_PODS},
        {"PodsReady",                 "True",  WL_PODS_READY    },
    };
    const struct json *notes = json_path(wl, "metadata", "annotations", NULL);
    const struct json *reserved = condition_of(wl, "QuotaReserved");
    uint32_t flags = check_flags(wl);

    for (size_t i = 0; i < countof(rows); i++)
        if (condition_is(condition_of(wl, rows[i].type), rows[i].status))
            flags |= rows[i].flag;
    if (condition_is(reserved, "False") &&
        str_eq(json_str(json_getz(reserved, "reason")), S("OnHold")))
        flags |= WL_ON_HOLD;
    if (!json_bool(json_path(wl, "spec", "active", NULL), true))
        flags |= WL_INACTIVE;
    if (json_str(json_getz(notes, "kueue.x-k8s.io/admission-gated-by")).len)
        flags |= WL_GATED;
    if (any_gate_closed(wl))
        flags |= WL_PREEMPTION_GATED;
    if (json_len(json_path(wl, "status", "unhealthyNodes", NULL)))
        flags |= WL_UNHEALTHY;
    const struct json *psas = json_path(wl, "status", "admission", "podSetAssignments", NULL);
    json_each (i, psas)
        if (str_eq(json_str(json_getz(json_at(psas, i), "delayedTopologyRequest")),
                   S("Pending")) &&
            !json_has(json_getz(json_at(psas, i), "topologyAssignment")))
            flags |= WL_DELAYED_TOPOLOGY;
    return flags;
}

/* ---- workloads: podsets ---- */

static int64_t pods_of(const struct json *o, int64_t otherwise)
{
    int64_t n = json_i64(json_getz(o, "count"), otherwise);
    return MIN(MAX(n, INT64_C(0)), (int64_t)INT32_MAX);
}

static int64_t reclaimable_of(const struct queue_loader *l, const struct json *wl,
                              struct str name)
{
    const struct json *list = json_path(wl, "status", "reclaimablePods", NULL);

    if (!queue_gate(l->config, QUEUE_GATE_RECLAIMABLE_PODS))
        return 0;
    json_each (i, list)
        if (str_eq(json_str(json_getz(json_at(list, i), "name")), name))
            return pods_of(json_at(list, i), 0);
    return 0;
}

static struct queue_topology_request load_topology(const struct json *r)
{
    struct queue_topology_request t = {
        .is_required = json_has(json_getz(r, "required")),
        .is_preferred = json_has(json_getz(r, "preferred")),
        .is_unconstrained = json_bool(json_getz(r, "unconstrained"), false),
        .group = json_str(json_getz(r, "podSetGroupName")),
        .slice_level = json_str(json_getz(r, "podSetSliceRequiredTopology")),
        .slice_size = (int32_t)json_i64(json_getz(r, "podSetSliceSize"), 0),
    };
    t.level = t.is_required ? json_str(json_getz(r, "required"))
                            : json_str(json_getz(r, "preferred"));
    t.is_explicit = t.is_required || t.is_preferred ||
                    json_has(json_getz(r, "unconstrained")) || t.slice_level.len ||
                    t.slice_size ||
                    json_len(json_getz(r, "podsetSliceRequiredTopologyConstraints"));
    return t;
}

static void add_part(struct buf *b, const struct json *v)
{
    if (json_has(v))
        json_write(b, v);
    buf_byte(b, '|');
}

/* What of a template decides where its pods may run. */
static void load_digest(struct arena *a, const struct json *spec, uint64_t out[2])
{
    static const char *const fields[] = {"nodeSelector",
                                         "tolerations",
                                         "runtimeClassName",
                                         "priority",
                                         "topologySpreadConstraints",
                                         "overhead",
                                         "resourceClaims",
                                         "affinity",
                                         "resources"};
    static const char *const lists[] = {"initContainers", "containers"};
    struct buf b = buf_in(a, 512);

    for (size_t i = 0; i < countof(lists); i++) {
        const struct json *list = json_get(spec, str_from(lists[i]));
        json_each (k, list) {
            const struct json *c = json_at(list, k);
            add_part(&b, json_path(c, "resources", "requests", NULL));
            add_part(&b, json_path(c, "resources", "claims", NULL));
            add_part(&b, json_getz(c, "ports"));
            add_part(&b, json_getz(c, "restartPolicy"));
        }
        buf_byte(&b, ';');
    }
    for (size_t i = 0; i < countof(fields); i++)
        add_part(&b, json_get(spec, str_from(fields[i])));
    out[0] = str_digest(buf_str(&b));
    buf_byte(&b, '#');
    out[1] = str_digest(buf_str(&b)) ^ b.len;
}

static void load_terms(struct arena *a, const struct json *spec, struct queue_podset_spec *ps)
{
    const struct json *required =
        json_path(spec, "affinity", "nodeAffinity",
                  "requiredDuringSchedulingIgnoredDuringExecution", NULL);
    const struct json *list = json_getz(required, "nodeSelectorTerms");
    struct queue_term *terms = arena_array(a, struct queue_term, json_len(list));

    ps->has_affinity = json_is(required, JSON_OBJECT);
    ps->n_terms = json_len(list);
    ps->terms = terms;
    json_each (i, list)
        terms[i] = load_term(a, json_getz(json_at(list, i), "matchExpressions"), NULL);
}

static void load_raw_resources(struct arena *a, const struct json *spec,
                               struct queue_podset_spec *ps)
{
    static const char *const lists[] = {"initContainers", "containers"};
    VEC(struct str) names = {0};

    for (size_t i = 0; i < countof(lists); i++) {
        const struct json *list = json_get(spec, str_from(lists[i]));
        json_each (k, list)
            json_each_member (m, json_path(json_at(list, k), "resources", "requests", NULL))
                vec_push_in(a, &names, m->name);
    }
    json_each_member (m, json_path(spec, "resources", "requests", NULL))
        vec_push_in(a, &names, m->name);
    ps->raw_resources = names.at;
    ps->n_raw_resources = names.len;
}

/* What is wrong with the requests of a spec that was filled in; "" where nothing is. */
static struct str invalid_requests(struct arena *a, const struct queue_loader *l, struct str ns,
                                   const struct json *spec, size_t index)
{
    static const struct {
        const char *prefix;
        bool bounds;
    } rows[] = {
        {"resources validation failed",                     false},
        {"resources didn't satisfy LimitRange constraints", true },
    };
    struct field_path root = field_child(NULL, S("spec")), sets, set, template, at;
    struct limit_summary limits =
        limit_summary_of(a, l->rules.limit_ranges, l->rules.n_limit_ranges, ns);

    sets = field_child(&root, S("podSets"));
    set = field_item(&sets, index);
    template = field_child(&set, S("template"));
    at = field_child(&template, S("spec"));
    for (size_t i = 0; i < countof(rows); i++) {
        struct field_errors e = field_errors_in(a);
        if (rows[i].bounds)
            pod_spec_check_bounds(&e, &at, spec, &limits);
        else
            pod_spec_check_limits(&e, &at, spec);
        if (e.list.len)
            return str_printf(a, "%s: %.*s", rows[i].prefix, STR_ARG(field_errors_text(a, &e)));
    }
    return S("");
}

static void load_requests(struct arena *a, const struct queue_loader *l,
                          const struct json *spec, struct queue_podset_spec *ps)
{
    struct resource_list all = pod_spec_requests(a, spec);
    struct resource_list made = pod_requests_transform(a, &all, &l->rules);
    struct queue_request *at = arena_array(a, struct queue_request, made.len);

    resource_list_sort(&made);
    for (size_t i = 0; i < made.len; i++)
        at[i] = (struct queue_request){
            made.at[i].name,
            sat_mul(MAX((int64_t)0, resource_units(made.at[i].name, &made.at[i].q)),
                    ps->count)};
    ps->requests = at;
    ps->n_requests = made.len;
}

/* As the pod will be. A limit without a request becomes one before the namespace's defaults are
 * looked at, as when the pod is made; Kueue charges the default there and the pod then uses
 * more (its issue 15020). */
static const struct json *filled_in(struct arena *a, const struct json *spec,
                                    const struct queue_loader *l, struct str ns)
{
    struct pod_rules own = l->rules;

    own.n_limit_ranges = 0;
    spec = pod_spec_adjust(a, spec, &own, ns);
    return l->rules.n_limit_ranges ? pod_spec_adjust(a, spec, &l->rules, ns) : spec;
}

static void load_podset(struct arena *a, const struct json *wl, const struct queue_loader *l,
                        size_t index, struct queue_podset_spec *ps,
                        struct queue_workload_spec *out)
{
    const struct json *o = json_at(json_path(wl, "spec", "podSets", NULL), index);
    const struct json *spec = json_path(o, "template", "spec", NULL);
    const struct json *filled = filled_in(a, spec, l, out->ns);
    struct str invalid = invalid_requests(a, l, out->ns, filled, index);

    ps->name = json_has(json_getz(o, "name")) ? json_str(json_getz(o, "name")) : S("main");
    int64_t count = pods_of(o, 1);
    count -= MIN(reclaimable_of(l, wl, ps->name), count);
    ps->count = (int32_t)count;
    if (queue_gate(l->config, QUEUE_GATE_PARTIAL_ADMISSION))
        ps->min_count =
            (int32_t)MIN(MAX(json_i64(json_getz(o, "minCount"), 0), INT64_C(0)), count);
    load_requests(a, l, filled, ps);
    ps->node_selector = queue_load_labels(a, json_getz(spec, "nodeSelector"));
    load_terms(a, spec, ps);
    ps->tolerations = load_tolerations(a, json_getz(spec, "tolerations"), &ps->n_tolerations);
    ps->topology = load_topology(json_getz(o, "topologyRequest"));
    load_raw_resources(a, spec, ps);
    load_digest(a, spec, ps->digest);
    if (invalid.len && !(out->flags & WL_INVALID)) {
        out->flags |= WL_INVALID;
        out->invalid_text = invalid;
    }
}

/* ---- workloads: admission ---- */

static const struct json *podset_named(const struct json *wl, struct str name)
{
    const struct json *list = json_path(wl, "spec", "podSets", NULL);

    json_each (i, list) {
        const struct json *n = json_getz(json_at(list, i), "name");
        if (str_eq(json_has(n) ? json_str(n) : S("main"), name))
            return json_at(list, i);
    }
    return NULL;
}

static void load_assignment(struct arena *a, const struct json *wl,
                            const struct queue_loader *l, const struct json *psa,
                            struct queue_podset_admission *out)
{
    const struct json *usage = json_getz(psa, "resourceUsage"), *spec;
    struct queue_flavor_use *uses = arena_array(a, struct queue_flavor_use, json_len(usage));
    const struct json *name = json_getz(psa, "name");

    out->name = json_has(name) ? json_str(name) : S("main");
    spec = podset_named(wl, out->name);
    int64_t wanted = spec ? pods_of(spec, 1) : 0;
    int64_t count = pods_of(psa, wanted);
    int64_t left = wanted - MIN(reclaimable_of(l, wl, out->name), wanted);
    out->uses = uses;
    out->count = (int32_t)MIN(count, left);
    json_each_member (m, usage) {
        int64_t v = MAX(INT64_C(0), queue_request_amount(a, m->name, &m->value));
        if (left < count && count > 0)
            v = sat_mul(v / count, left);
        uses[out->n_uses++] = (struct queue_flavor_use){
            m->name, json_str(json_get(json_getz(psa, "flavors"), m->name)), v};
    }
}

static void load_admission(struct arena *a, const struct json *wl, const struct queue_loader *l,
                           struct queue_workload_spec *out)
{
    const struct json *admission = json_path(wl, "status", "admission", NULL);
    const struct json *list = json_getz(admission, "podSetAssignments");
    struct queue_podset_admission *at =
        arena_array(a, struct queue_podset_admission, json_len(list));

    out->admitted_to = json_str(json_getz(admission, "clusterQueue"));
    out->admission = at;
    out->n_admission = json_len(list);
    json_each (i, list)
        load_assignment(a, wl, l, json_at(list, i), &at[i]);
}

/* Of everything whose change brings a parked workload back. */
static uint32_t parked_digest(struct arena *a, const struct json *wl,
                              const struct queue_workload_spec *spec)
{
    struct buf b = buf_in(a, 1024);

    for (size_t i = 0; i < spec->n_podsets;
         i++) /* LimitRanges and RuntimeClasses change them */
        for (size_t k = 0; k < spec->podsets[i].n_requests; k++)
            buf_printf(&b, "%.*s=%" PRId64 "|", STR_ARG(spec->podsets[i].requests[k].resource),
                       spec->podsets[i].requests[k].amount);
    buf_byte(&b, spec->flags & WL_INVALID ? '1' : '0');
    add_part(&b, json_getz(wl, "spec"));
    add_part(&b, json_get(json_path(wl, "metadata", "annotations", NULL),
                          S("kueue.x-k8s.io/priority-boost")));
    add_part(&b, json_path(wl, "status", "reclaimablePods", NULL));
    add_part(&b, condition_of(wl, "Evicted"));
    add_part(&b, condition_of(wl, "Requeued"));
    buf_byte(&b, any_gate_closed(wl) ? '1' : '0');
    uint64_t h = str_digest(buf_str(&b));
    return (uint32_t)(h ^ h >> 32);
}

/* The Workload that owns it. */
static struct str parent_of(const struct json *wl)
{
    const struct json *owners = json_path(wl, "metadata", "ownerReferences", NULL);

    json_each (i, owners) {
        const struct json *o = json_at(owners, i);
        if (str_eq(json_str(json_getz(o, "kind")), S("Workload")))
            return json_str(json_getz(o, "name"));
    }
    return S("");
}

void queue_load_workload(struct arena *a, const struct json *wl, const struct queue_loader *l,
                         struct queue_workload_spec *out)
{
    const struct json *podsets = json_path(wl, "spec", "podSets", NULL);
    const struct json *notes = json_path(wl, "metadata", "annotations", NULL);
    struct queue_podset_spec *ps = arena_array(a, struct queue_podset_spec, json_len(podsets));
    int64_t base, boost;

    *out = (struct queue_workload_spec){
        .ns = ns_of(wl),
        .name = name_of(wl),
        .uid = json_str(json_path(wl, "metadata", "uid", NULL)),
        .queue = json_str(json_path(wl, "spec", "queueName", NULL)),
        .generation = json_i64(json_path(wl, "metadata", "generation", NULL), 0),
        .flags = load_flags(wl),
        .priority = queue_load_priority(l->config, wl, &base, &boost, NULL),
        .order_time = queue_load_order_time(l->config, wl),
        .requeue_at = time_of(json_path(wl, "status", "requeueState", "requeueAt", NULL)),
        .replaces =
            json_str(json_get(notes, S("kueue.x-k8s.io/workload-slice-replacement-for"))),
        .allowed_flavors =
            json_str(json_get(notes, S("kueue.x-k8s.io/workload-allowed-resource-flavors"))),
        .podsets = ps,
        .n_podsets = json_len(podsets),
    };
    if (out->flags & WL_RESERVED)
        out->reserved_at =
            time_of(json_getz(condition_of(wl, "QuotaReserved"), "lastTransitionTime"));
    if (out->allowed_flavors.len)
        out->parent = parent_of(wl);
    json_each (i, podsets)
        load_podset(a, wl, l, i, &ps[i], out);
    out->digest = parked_digest(a, wl, out);
    load_admission(a, wl, l, out);
}

/* ---- any object ---- */

static bool put_namespace(struct queue_engine *e, struct arena *a, const struct json *o,
                          const struct queue_loader *l, struct instant now)
{
    (void)l, (void)now;
    queue_put_namespace(e, name_of(o),
                        queue_load_labels(a, json_path(o, "metadata", "labels", NULL)));
    return true;
}

static bool put_flavor(struct queue_engine *e, struct arena *a, const struct json *o,
                       const struct queue_loader *l, struct instant now)
{
    struct queue_flavor_spec spec;

    (void)l, (void)now;
    queue_load_flavor(a, o, &spec);
    queue_put_flavor(e, &spec);
    return true;
}

static bool put_topology(struct queue_engine *e, struct arena *a, const struct json *o,
                         const struct queue_loader *l, struct instant now)
{
    const struct str *levels;
    size_t n = queue_load_levels(a, o, &levels);

    (void)l, (void)now;
    queue_put_topology(e, name_of(o), levels, n);
    return true;
}

static bool put_check(struct queue_engine *e, struct arena *a, const struct json *o,
                      const struct queue_loader *l, struct instant now)
{
    (void)a, (void)l, (void)now;
    queue_put_check(e, name_of(o), json_str(json_path(o, "spec", "controllerName", NULL)),
                    condition_is(condition_of(o, "Active"), "True"));
    return true;
}

static bool put_cohort(struct queue_engine *e, struct arena *a, const struct json *o,
                       const struct queue_loader *l, struct instant now)
{
    struct queue_cohort_spec spec;

    (void)l, (void)now;
    queue_load_cohort(a, o, &spec);
    queue_put_cohort(e, &spec, NULL);
    return true;
}

static bool put_cq(struct queue_engine *e, struct arena *a, const struct json *o,
                   const struct queue_loader *l, struct instant now)
{
    struct queue_cq_spec spec;

    (void)l, (void)now;
    queue_load_cq(a, o, &spec);
    queue_put_cq(e, &spec, NULL);
    return true;
}

static bool put_lq(struct queue_engine *e, struct arena *a, const struct json *o,
                   const struct queue_loader *l, struct instant now)
{
    struct queue_lq_spec spec;

    (void)l, (void)now;
    queue_load_lq(a, o, &spec);
    queue_put_lq(e, &spec);
    return true;
}

static bool put_workload(struct queue_engine *e, struct arena *a, const struct json *o,
                         const struct queue_loader *l, struct instant now)
{
    struct queue_workload_spec spec;

    queue_load_workload(a, o, l, &spec);
    queue_put_workload(e, &spec, now);
    return true;
}

bool queue_put_object(struct queue_engine *e, struct arena *a, const struct json *o,
                      const struct queue_loader *l, struct instant now)
{
    static const struct {
        const char *kind;
        bool (*put)(struct queue_engine *, struct arena *, const struct json *,
                    const struct queue_loader *, struct instant);
    } rows[] = {
        {"Namespace",      put_namespace},
        {"ResourceFlavor", put_flavor   },
        {"Topology",       put_topology },
        {"AdmissionCheck", put_check    },
        {"Cohort",         put_cohort   },
        {"ClusterQueue",   put_cq       },
        {"LocalQueue",     put_lq       },
        {"Workload",       put_workload },
    };
    struct str kind = json_str(json_getz(o, "kind"));

    for (size_t i = 0; i < countof(rows); i++)
        if (str_eqz(kind, rows[i].kind))
            return rows[i].put(e, a, o, l, now);
    return false;
}
