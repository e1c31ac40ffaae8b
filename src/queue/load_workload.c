/* load_workload.c - a Workload as a tree -> what the engine takes
 *
 * Nearly every version of a Workload has the podsets of the one before, and they cost more to
 * read than all the rest: queue_put_changed() asks the engine first whether it has them.
 */
#include "queue/load_priv.h"

#include "api/priority.h"
#include "value/time.h"

/* ---- conditions ---- */

enum seen {
    SEEN_FINISHED,
    SEEN_RESERVED,
    SEEN_ADMITTED,
    SEEN_EVICTED,
    SEEN_REQUEUED,
    SEEN_WAITS_FOR_PODS,
    SEEN_PODS_READY,
    SEEN_PREEMPTED,
    SEEN_COUNT,
};

/* One version's parts, found once, and its conditions by type; NULL where it has none. */
struct parts {
    const struct json *meta, *notes, *spec, *status;
    const struct json *at[SEEN_COUNT];
};

static struct parts parts_of(const struct json *wl)
{
    static const struct str types[SEEN_COUNT] = {
        [SEEN_FINISHED] = S_INIT("Finished"),
        [SEEN_RESERVED] = S_INIT("QuotaReserved"),
        [SEEN_ADMITTED] = S_INIT("Admitted"),
        [SEEN_EVICTED] = S_INIT("Evicted"),
        [SEEN_REQUEUED] = S_INIT("Requeued"),
        [SEEN_WAITS_FOR_PODS] = S_INIT("WaitingForReplacementPods"),
        [SEEN_PODS_READY] = S_INIT("PodsReady"),
        [SEEN_PREEMPTED] = S_INIT("Preempted"),
    };
    struct parts out = {.meta = json_getz(wl, "metadata"),
                        .spec = json_getz(wl, "spec"),
                        .status = json_getz(wl, "status")};
    const struct json *list = json_getz(out.status, "conditions");

    out.notes = json_getz(out.meta, "annotations");
    json_each (i, list) {
        struct str type = json_str(json_getz(json_at(list, i), "type"));
        for (size_t k = 0; k < SEEN_COUNT; k++)
            if (!out.at[k] && str_eq(type, types[k]))
                out.at[k] = json_at(list, i);
    }
    return out;
}

static bool condition_is(const struct json *c, struct str status)
{
    return str_eq(json_str(json_getz(c, "status")), status);
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

static struct instant order_time(const struct queue_config *config, const struct parts *p)
{
    const struct json *evicted = p->at[SEEN_EVICTED];
    const struct json *preempted = p->at[SEEN_PREEMPTED];
    struct str reason = json_str(json_getz(evicted, "reason"));

    if (condition_is(evicted, S("True")) &&
        ((!config->order_by_creation && str_eq(reason, S("PodsReadyTimeout"))) ||
         str_eq(reason, S("AdmissionCheck"))))
        return time_of(json_getz(evicted, "lastTransitionTime"));
    if (!queue_gate(config, QUEUE_GATE_PRIORITY_SORTING) &&
        condition_is(preempted, S("True")) &&
        str_eq(json_str(json_getz(preempted, "reason")), S("InCohortReclaimWhileBorrowing")))
        return instant_add(time_of(json_getz(preempted, "lastTransitionTime")), span_ms(1));
    return time_of(json_getz(p->meta, "creationTimestamp"));
}

struct instant queue_load_order_time(const struct queue_config *config, const struct json *wl)
{
    struct parts p = parts_of(wl);

    return order_time(config, &p);
}

static uint32_t check_flags(const struct parts *p)
{
    const struct json *checks = json_getz(p->status, "admissionChecks");
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

static bool any_gate_closed(const struct parts *p)
{
    const struct json *gates = json_getz(p->spec, "preemptionGates");
    const struct json *states = gates ? json_getz(p->status, "preemptionGates") : NULL;

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

static uint32_t load_flags(const struct parts *p)
{
    static const struct {
        enum seen condition;
        struct str status;
        uint32_t flag;
    } rows[] = {
        {SEEN_FINISHED,       S_INIT("True"),  WL_FINISHED      },
        {SEEN_RESERVED,       S_INIT("True"),  WL_RESERVED      },
        {SEEN_ADMITTED,       S_INIT("True"),  WL_ADMITTED      },
        {SEEN_EVICTED,        S_INIT("True"),  WL_EVICTED       },
        {SEEN_REQUEUED,       S_INIT("False"), WL_BACKOFF       },
        {SEEN_WAITS_FOR_PODS, S_INIT("True"),  WL_WAITS_FOR_PODS},
        {SEEN_PODS_READY,     S_INIT("True"),  WL_PODS_READY    },
    };
    const struct json *reserved = p->at[SEEN_RESERVED];
    uint32_t flags = check_flags(p);

    for (size_t i = 0; i < countof(rows); i++)
        if (condition_is(p->at[rows[i].condition], rows[i].status))
            flags |= rows[i].flag;
    if (condition_is(reserved, S("False")) &&
        str_eq(json_str(json_getz(reserved, "reason")), S("OnHold")))
        flags |= WL_ON_HOLD;
    if (!json_bool(json_getz(p->spec, "active"), true))
        flags |= WL_INACTIVE;
    if (json_str(json_getz(p->notes, "kueue.x-k8s.io/admission-gated-by")).len)
        flags |= WL_GATED;
    if (any_gate_closed(p))
        flags |= WL_PREEMPTION_GATED;
    if (json_len(json_getz(p->status, "unhealthyNodes")))
        flags |= WL_UNHEALTHY;
    const struct json *psas = json_path(p->status, "admission", "podSetAssignments", NULL);
    json_each (i, psas)
        if (str_eq(json_str(json_getz(json_at(psas, i), "delayedTopologyRequest")),
                   S("Pending")) &&
            !json_has(json_getz(json_at(psas, i), "topologyAssignment")))
            flags |= WL_DELAYED_TOPOLOGY;
    return flags;
}

/* ---- podsets ---- */

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

static struct str podset_name(const struct json *podset)
{
    const struct json *name = json_getz(podset, "name");

    return json_has(name) ? json_str(name) : S("main");
}

/* Of its pods, those that still count. */
static int32_t podset_count(const struct queue_loader *l, const struct json *wl,
                            const struct json *podset)
{
    int64_t count = pods_of(podset, 1);

    return (int32_t)(count - MIN(reclaimable_of(l, wl, podset_name(podset)), count));
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

/* Digests are made of trees as they are, member by member: their texts are not needed. */
static uint64_t add_value(uint64_t h, const struct json *v)
{
    struct str text = S("");

    if (!json_has(v))
        return str_hash_on(h, text);
    h += v->type;
    switch ((enum json_type)v->type) {
    case JSON_STRING:
    case JSON_RAW:
        return str_hash_on(h, str_of(v->s, v->len));
    case JSON_ARRAY:
        json_each (i, v)
            h = add_value(h, json_at(v, i));
        break;
    case JSON_OBJECT:
        json_each_member (m, v)
            h = add_value(str_hash_on(h, m->name), &m->value);
        break;
    case JSON_BOOL:
        h += v->boolean;
        break;
    case JSON_INT:
    case JSON_DOUBLE:
        text = str_of((const char *)&v->i, sizeof(v->i));
        break;
    case JSON_NULL:
        break;
    }
    return str_hash_on(h + v->len, text);
}

/* What of a template decides where its pods may run. */
static void load_digest(const struct json *spec, uint64_t out[2])
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
    uint64_t h = 0;

    for (size_t i = 0; i < countof(lists); i++) {
        const struct json *list = json_get(spec, str_from(lists[i]));
        json_each (k, list) {
            const struct json *c = json_at(list, k);
            h = add_value(h, json_path(c, "resources", "requests", NULL));
            h = add_value(h, json_path(c, "resources", "claims", NULL));
            h = add_value(h, json_getz(c, "ports"));
            h = add_value(h, json_getz(c, "restartPolicy"));
        }
        h = str_hash_on(h, S(";"));
    }
    for (size_t i = 0; i < countof(fields); i++)
        h = add_value(h, json_get(spec, str_from(fields[i])));
    out[0] = h;
    out[1] = str_hash_on(h, S("#"));
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

    ps->name = podset_name(o);
    ps->count = podset_count(l, wl, o);
    if (queue_gate(l->config, QUEUE_GATE_PARTIAL_ADMISSION))
        ps->min_count = (int32_t)MIN(MAX(json_i64(json_getz(o, "minCount"), 0), INT64_C(0)),
                                     (int64_t)ps->count);
    load_requests(a, l, filled, ps);
    ps->node_selector = queue_load_labels(a, json_getz(spec, "nodeSelector"));
    load_terms(a, spec, ps);
    ps->tolerations = load_tolerations(a, json_getz(spec, "tolerations"), &ps->n_tolerations);
    ps->topology = load_topology(json_getz(o, "topologyRequest"));
    load_raw_resources(a, spec, ps);
    load_digest(spec, ps->digest);
    if (invalid.len && !(out->flags & WL_INVALID)) {
        out->flags |= WL_INVALID;
        out->invalid_text = invalid;
    }
}

/* ---- admission ---- */

static const struct json *podset_named(const struct json *wl, struct str name)
{
    const struct json *list = json_path(wl, "spec", "podSets", NULL);

    json_each (i, list)
        if (str_eq(podset_name(json_at(list, i)), name))
            return json_at(list, i);
    return NULL;
}

static void load_assignment(struct arena *a, const struct json *wl,
                            const struct queue_loader *l, const struct json *psa,
                            struct queue_podset_admission *out)
{
    const struct json *usage = json_getz(psa, "resourceUsage"), *spec;
    struct queue_flavor_use *uses = arena_array(a, struct queue_flavor_use, json_len(usage));

    out->name = podset_name(psa);
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

    if (!admission)
        return;
    struct queue_podset_admission *at =
        arena_array(a, struct queue_podset_admission, json_len(list));
    out->admitted_to = json_str(json_getz(admission, "clusterQueue"));
    out->admission = at;
    out->n_admission = json_len(list);
    json_each (i, list)
        load_assignment(a, wl, l, json_at(list, i), &at[i]);
}

/* Of everything whose change brings a parked workload back: of its spec and what was made of
 * that. */
static uint32_t spec_digest(const struct json *wl, const struct queue_workload_spec *spec)
{
    uint64_t h = spec->flags & WL_INVALID;

    for (size_t i = 0; i < spec->n_podsets;
         i++) /* LimitRanges and RuntimeClasses change them */
        for (size_t k = 0; k < spec->podsets[i].n_requests; k++)
            h = str_hash_on(h + (uint64_t)spec->podsets[i].requests[k].amount,
                            spec->podsets[i].requests[k].resource);
    h = add_value(h, json_getz(wl, "spec"));
    return (uint32_t)(h ^ h >> 32);
}

/* And of the rest; of most there is nothing. */
static uint32_t state_digest(const struct parts *p, bool is_gated)
{
    const struct json *boost = json_getz(p->notes, "kueue.x-k8s.io/priority-boost");
    const struct json *reclaimable = json_getz(p->status, "reclaimablePods");
    uint64_t h = is_gated;

    if (!json_has(boost) && !json_has(reclaimable) && !p->at[SEEN_EVICTED] &&
        !p->at[SEEN_REQUEUED])
        return is_gated;
    h = add_value(h, boost);
    h = add_value(h, reclaimable);
    h = add_value(h, p->at[SEEN_EVICTED]);
    h = add_value(h, p->at[SEEN_REQUEUED]);
    return (uint32_t)(h ^ h >> 32);
}

/* The Workload that owns it. */
static struct str parent_of(const struct parts *p)
{
    const struct json *owners = json_getz(p->meta, "ownerReferences");

    json_each (i, owners) {
        const struct json *o = json_at(owners, i);
        if (str_eq(json_str(json_getz(o, "kind")), S("Workload")))
            return json_str(json_getz(o, "name"));
    }
    return S("");
}

/* All but the podsets and what is said of them. */
static void load_state(struct arena *a, const struct json *wl, const struct queue_loader *l,
                       struct queue_workload_spec *out)
{
    struct parts p = parts_of(wl);
    int64_t base, boost;

    *out = (struct queue_workload_spec){
        .ns = json_str(json_getz(p.meta, "namespace")),
        .name = json_str(json_getz(p.meta, "name")),
        .uid = json_str(json_getz(p.meta, "uid")),
        .queue = json_str(json_getz(p.spec, "queueName")),
        .generation = json_i64(json_getz(p.meta, "generation"), 0),
        .flags = load_flags(&p),
        .priority = queue_load_priority(l->config, wl, &base, &boost, NULL),
        .order_time = order_time(l->config, &p),
        .requeue_at = time_of(json_path(p.status, "requeueState", "requeueAt", NULL)),
        .replaces =
            json_str(json_getz(p.notes, "kueue.x-k8s.io/workload-slice-replacement-for")),
        .allowed_flavors =
            json_str(json_getz(p.notes, "kueue.x-k8s.io/workload-allowed-resource-flavors")),
    };
    if (out->flags & WL_RESERVED)
        out->reserved_at = time_of(json_getz(p.at[SEEN_RESERVED], "lastTransitionTime"));
    if (out->allowed_flavors.len)
        out->parent = parent_of(&p);
    out->state_digest = state_digest(&p, (out->flags & WL_PREEMPTION_GATED) != 0);
    load_admission(a, wl, l, out);
}

static void load_podsets(struct arena *a, const struct json *wl, const struct queue_loader *l,
                         struct queue_workload_spec *out)
{
    const struct json *podsets = json_path(wl, "spec", "podSets", NULL);
    struct queue_podset_spec *ps = arena_array(a, struct queue_podset_spec, json_len(podsets));

    out->podsets = ps;
    out->n_podsets = json_len(podsets);
    json_each (i, podsets)
        load_podset(a, wl, l, i, &ps[i], out);
    out->digest = spec_digest(wl, out);
}

void queue_load_workload(struct arena *a, const struct json *wl, const struct queue_loader *l,
                         struct queue_workload_spec *out)
{
    load_state(a, wl, l, out);
    load_podsets(a, wl, l, out);
}

size_t queue_load_requests(struct arena *a, const struct json *wl, const struct queue_loader *l,
                           const struct queue_podset_spec **out)
{
    const struct json *podsets = json_path(wl, "spec", "podSets", NULL);
    struct str ns = json_str(json_path(wl, "metadata", "namespace", NULL));
    struct queue_podset_spec *ps = arena_array(a, struct queue_podset_spec, json_len(podsets));

    *out = ps;
    json_each (i, podsets) {
        const struct json *o = json_at(podsets, i);
        ps[i].name = podset_name(o);
        ps[i].count = podset_count(l, wl, o);
        load_requests(a, l, filled_in(a, json_path(o, "template", "spec", NULL), l, ns),
                      &ps[i]);
    }
    return json_len(podsets);
}

/* ---- a next version ---- */

static bool is_known(struct queue_engine *e, struct arena *a, const struct json *wl,
                     const struct queue_loader *l, const struct queue_workload_spec *spec)
{
    const struct json *podsets = json_path(wl, "spec", "podSets", NULL);
    int32_t *counts = arena_array(a, int32_t, json_len(podsets));

    json_each (i, podsets)
        counts[i] = podset_count(l, wl, json_at(podsets, i));
    return queue_has_spec(e, &(struct queue_spec_id){.ns = spec->ns,
                                                     .name = spec->name,
                                                     .uid = spec->uid,
                                                     .queue = spec->queue,
                                                     .allowed_flavors = spec->allowed_flavors,
                                                     .generation = spec->generation,
                                                     .priority = spec->priority,
                                                     .counts = counts,
                                                     .n_podsets = json_len(podsets)});
}

bool queue_put_changed(struct queue_engine *e, struct arena *a, const struct json *o,
                       const struct queue_loader *l, struct instant now)
{
    struct queue_workload_spec spec;

    if (!str_eqz(json_str(json_getz(o, "kind")), "Workload"))
        return queue_put_object(e, a, o, l, now);
    load_state(a, o, l, &spec);
    spec.is_same_spec = is_known(e, a, o, l, &spec);
    if (!spec.is_same_spec)
        load_podsets(a, o, l, &spec);
    queue_put_workload(e, &spec, now);
    return true;
}
