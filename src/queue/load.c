/* load.c - Kubernetes objects as trees -> what the engine takes */
#include "queue/load_priv.h"

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

static struct str load_name(const struct json *o)
{
    return json_str(json_path(o, "metadata", "name", NULL));
}

static struct str load_ns(const struct json *o)
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

struct queue_term load_term(struct arena *a, const struct json *expressions,
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

const struct queue_toleration *load_tolerations(struct arena *a, const struct json *list,
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
        .name = load_name(o),
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
        .name = load_name(o),
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

    *out = (struct queue_cohort_spec){.name = load_name(o),
                                      .parent = json_str(json_getz(spec, "parentName")),
                                      .weight = load_weight(a, spec)};
    out->groups = load_groups(a, json_getz(spec, "resourceGroups"), &out->n_groups);
}

void queue_load_lq(struct arena *a, const struct json *o, struct queue_lq_spec *out)
{
    const struct json *spec = json_getz(o, "spec");

    *out = (struct queue_lq_spec){
        .ns = load_ns(o),
        .name = load_name(o),
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

/* ---- any object ---- */

static bool put_namespace(struct queue_engine *e, struct arena *a, const struct json *o,
                          const struct queue_loader *l, struct instant now)
{
    (void)l, (void)now;
    queue_put_namespace(e, load_name(o),
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
    queue_put_topology(e, load_name(o), levels, n);
    return true;
}

static bool is_active(const struct json *o)
{
    const struct json *list = json_path(o, "status", "conditions", NULL);

    json_each (i, list) {
        const struct json *c = json_at(list, i);
        if (str_eqz(json_str(json_getz(c, "type")), "Active"))
            return str_eqz(json_str(json_getz(c, "status")), "True");
    }
    return false;
}

static bool put_check(struct queue_engine *e, struct arena *a, const struct json *o,
                      const struct queue_loader *l, struct instant now)
{
    (void)a, (void)l, (void)now;
    queue_put_check(e, load_name(o), json_str(json_path(o, "spec", "controllerName", NULL)),
                    is_active(o));
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
