/* convert.c - one kind's versions: the same object as another version says it */
#include "api/convert.h"

#include "api/topology_assignment.h"
#include "schema/table.h"

/* `is_up`: towards the stored version. */
typedef const struct json *convert_fn(struct arena *a, const struct json *v, bool is_up);

/* ---- helpers ---- */

struct rename {
    const char *old, *stored;
};

static const struct json *rename_members(struct arena *a, const struct json *v,
                                         const struct rename *rows, size_t n, bool is_up)
{
    struct json_obj o = obj_in(a);

    if (!json_is(v, JSON_OBJECT))
        return v;
    json_each_member (m, v) {
        struct str name = m->name;
        for (size_t i = 0; i < n; i++) {
            if (str_eqz(m->name, is_up ? rows[i].old : rows[i].stored))
                name = str_from(is_up ? rows[i].stored : rows[i].old);
        }
        obj_set(&o, name, m->value);
    }
    return json_new(a, obj_done(&o));
}

/* v with the member replaced by fn of it, where it is there. */
static const struct json *with(struct arena *a, const struct json *v, const char *name,
                               convert_fn *fn, bool is_up)
{
    const struct json *member = json_get(v, str_from(name));

    if (!json_has(member))
        return v;
    struct json_obj o = obj_from(a, v);
    obj_set(&o, str_from(name), *fn(a, member, is_up));
    return json_new(a, obj_done(&o));
}

static const struct json *each(struct arena *a, const struct json *list, convert_fn *fn,
                               bool is_up)
{
    struct json_arr out = arr_in(a);

    if (!json_is(list, JSON_ARRAY))
        return list;
    json_each (i, list)
        arr_add(&out, *fn(a, json_at(list, i), is_up));
    return json_new(a, arr_done(&out));
}

static const struct json *drop(struct arena *a, const struct json *v, const char *name)
{
    struct json_obj o;

    if (!json_get(v, str_from(name)))
        return v;
    o = obj_from(a, v);
    obj_del(&o, str_from(name));
    return json_new(a, obj_done(&o));
}

/* ---- Event: events.k8s.io and core ---- */

static const struct json *event(struct arena *a, const struct json *v, bool is_up)
{
    static const struct rename rows[] = {
        {"note",                     "message"           },
        {"regarding",                "involvedObject"    },
        {"reportingController",      "reportingComponent"},
        {"deprecatedSource",         "source"            },
        {"deprecatedFirstTimestamp", "firstTimestamp"    },
        {"deprecatedLastTimestamp",  "lastTimestamp"     },
        {"deprecatedCount",          "count"             },
    };

    return rename_members(a, v, rows, countof(rows), is_up);
}

/* ---- Kueue: v1beta1 and v1beta2 ---- */

static const struct json *fungibility(struct arena *a, const struct json *v, bool is_up)
{
    static const struct {
        const char *field, *old;
    } rows[] = {
        {"whenCanBorrow",  "Borrow" },
        {"whenCanPreempt", "Preempt"}
    };

    for (size_t i = 0; i < countof(rows) && is_up; i++) {
        if (!str_eqz(json_str(json_get(v, str_from(rows[i].field))), rows[i].old))
            continue;
        struct json_obj o = obj_from(a, v);
        obj_set(&o, str_from(rows[i].field), json_of_z("MayStopSearch"));
        v = json_new(a, obj_done(&o));
    }
    return v;
}

/* spec.admissionChecks: names, without flavors. */
static const struct json *checks_as_strategy(struct arena *a, const struct json *spec)
{
    const struct json *names = json_getz(spec, "admissionChecks");
    struct json_arr all = arr_in(a);
    struct json_obj strategy = obj_in(a);

    if (!json_len(names) || json_has(json_getz(spec, "admissionChecksStrategy")))
        return drop(a, spec, "admissionChecks");
    json_each (i, names) {
        struct json_obj one = obj_in(a);
        obj_setz(&one, "name", *json_at(names, i));
        arr_add(&all, obj_done(&one));
    }
    obj_setz(&strategy, "admissionChecks", arr_done(&all));
    struct json_obj o = obj_from(a, drop(a, spec, "admissionChecks"));
    obj_setz(&o, "admissionChecksStrategy", obj_done(&strategy));
    return json_new(a, obj_done(&o));
}

static const struct json *cluster_queue_spec(struct arena *a, const struct json *v, bool is_up)
{
    static const struct rename rows[] = {
        {"cohort", "cohortName"}
    };

    v = rename_members(a, v, rows, countof(rows), is_up);
    v = with(a, v, "flavorFungibility", fungibility, is_up);
    return is_up ? checks_as_strategy(a, v) : drop(a, v, "concurrentAdmissionPolicy");
}

static const struct json *cluster_queue_status(struct arena *a, const struct json *v,
                                               bool is_up)
{
    return is_up ? drop(a, v, "pendingWorkloadsStatus") : v;
}

static const struct json *cluster_queue(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, with(a, v, "spec", cluster_queue_spec, is_up), "status",
                cluster_queue_status, is_up);
}

static const struct json *local_queue_status(struct arena *a, const struct json *v, bool is_up)
{
    static const struct rename rows[] = {
        {"flavorUsage", "flavorsUsage"}
    };

    v = rename_members(a, v, rows, countof(rows), is_up);
    return is_up ? drop(a, v, "flavors") : v;
}

static const struct json *local_queue(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "status", local_queue_status, is_up);
}

static const struct json *check_spec(struct arena *a, const struct json *v, bool is_up)
{
    return is_up ? drop(a, v, "retryDelayMinutes") : v;
}

static const struct json *admission_check(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "spec", check_spec, is_up);
}

static const struct json *cluster_spec(struct arena *a, const struct json *v, bool is_up)
{
    static const char *const parts[] = {"kubeConfig", "clusterProfileRef"};
    const struct json *from = is_up ? v : json_getz(v, "clusterSource");
    struct json_obj out = obj_from(a, drop(a, v, "clusterSource")), source = obj_in(a);

    for (size_t i = 0; i < countof(parts); i++) {
        const struct json *part = json_get(from, str_from(parts[i]));
        obj_del(&out, str_from(parts[i]));
        if (json_has(part))
            obj_set(is_up ? &source : &out, str_from(parts[i]), *part);
    }
    if (is_up)
        obj_setz(&out, "clusterSource", obj_done(&source));
    return json_new(a, obj_done(&out));
}

static const struct json *multi_kueue_cluster(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "spec", cluster_spec, is_up);
}

/* ---- Workload ---- */

static const struct {
    const char *source, *group, *kind;
} priority_rows[] = {
    {"kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io",    "WorkloadPriorityClass"},
    {"scheduling.k8s.io/priorityclass",      "scheduling.k8s.io", "PriorityClass"        },
};

static const struct json *priority_up(struct arena *a, const struct json *v)
{
    struct str name = json_str(json_getz(v, "priorityClassName"));
    struct str source = json_str(json_getz(v, "priorityClassSource"));
    struct json_obj out = obj_from(a, v), ref = obj_in(a);

    obj_del(&out, S("priorityClassName"));
    obj_del(&out, S("priorityClassSource"));
    for (size_t i = 0; i < countof(priority_rows) && name.len; i++) {
        if (!str_eqz(source, priority_rows[i].source))
            continue;
        obj_setz(&ref, "group", json_of_str(str_from(priority_rows[i].group)));
        obj_setz(&ref, "kind", json_of_str(str_from(priority_rows[i].kind)));
        obj_setz(&ref, "name", json_of_str(name));
        obj_setz(&out, "priorityClassRef", obj_done(&ref));
        break;
    }
    return json_new(a, obj_done(&out));
}

static const struct json *priority_down(struct arena *a, const struct json *v)
{
    const struct json *ref = json_getz(v, "priorityClassRef");
    struct json_obj out = obj_from(a, v);

    obj_del(&out, S("priorityClassRef"));
    obj_del(&out, S("preemptionGates"));
    for (size_t i = 0; i < countof(priority_rows); i++) {
        if (!str_eqz(json_str(json_getz(ref, "group")), priority_rows[i].group))
            continue;
        obj_setz(&out, "priorityClassName", *json_getz(ref, "name"));
        obj_setz(&out, "priorityClassSource", json_of_str(str_from(priority_rows[i].source)));
        break;
    }
    return json_new(a, obj_done(&out));
}

static const struct json *workload_spec(struct arena *a, const struct json *v, bool is_up)
{
    return is_up ? priority_up(a, v) : priority_down(a, v);
}

static const struct json *topology_up(struct arena *a, const struct json *v)
{
    const struct json *domains = json_getz(v, "domains");
    struct topology_domain *at = arena_array(a, struct topology_domain, json_len(domains));
    struct topology_assignment t = {
        .levels = str_list_of(a, json_getz(v, "levels")), .at = at, .len = json_len(domains)};

    json_each (i, domains) {
        struct str_list values = str_list_of(a, json_getz(json_at(domains, i), "values"));
        if (values.len != t.levels.len)
            return v;
        at[i].values = values.at;
        at[i].count = json_i64(json_getz(json_at(domains, i), "count"), 0);
    }
    return json_new(a, topology_encode(a, &t, TOPOLOGY_SHORTER));
}

static const struct json *topology_down(struct arena *a, const struct json *v)
{
    struct topology_assignment t;
    struct json_obj out = obj_in(a);
    struct json_arr levels = arr_in(a), domains = arr_in(a);

    if (topology_decode(a, v, &t, NULL) < 0)
        return v;
    for (size_t i = 0; i < t.levels.len; i++)
        arr_add(&levels, json_of_str(t.levels.at[i]));
    for (size_t i = 0; i < t.len; i++) {
        struct json_obj one = obj_in(a);
        struct json_arr values = arr_in(a);
        for (size_t j = 0; j < t.levels.len; j++)
            arr_add(&values, json_of_str(t.at[i].values[j]));
        obj_setz(&one, "values", arr_done(&values));
        obj_setz(&one, "count", json_of_i64(t.at[i].count));
        arr_add(&domains, obj_done(&one));
    }
    obj_setz(&out, "levels", arr_done(&levels));
    obj_setz(&out, "domains", arr_done(&domains));
    return json_new(a, obj_done(&out));
}

static const struct json *topology(struct arena *a, const struct json *v, bool is_up)
{
    return is_up ? topology_up(a, v) : topology_down(a, v);
}

static const struct json *pod_set_assignment(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "topologyAssignment", topology, is_up);
}

static const struct json *pod_set_assignments(struct arena *a, const struct json *v, bool is_up)
{
    return each(a, v, pod_set_assignment, is_up);
}

static const struct json *admission(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "podSetAssignments", pod_set_assignments, is_up);
}

static const struct json *workload_status(struct arena *a, const struct json *v, bool is_up)
{
    static const struct rename rows[] = {
        {"accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds"}
    };

    v = with(a, rename_members(a, v, rows, countof(rows), is_up), "admission", admission,
             is_up);
    return is_up ? v : drop(a, v, "preemptionGates");
}

static const struct json *workload(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, with(a, v, "spec", workload_spec, is_up), "status", workload_status, is_up);
}

/* ---- resource.k8s.io: v1beta1 and v1 ---- */

/* A request is flat in v1beta1; v1 has the same members under `exactly`. */
static const struct json *device_request(struct arena *a, const struct json *v, bool is_up)
{
    const struct json *exactly = json_getz(v, "exactly");
    struct json_obj out = obj_in(a), inner = obj_in(a);

    if (is_up && !json_has(json_getz(v, "firstAvailable"))) {
        json_each_member (m, v) {
            obj_set(str_eqz(m->name, "name") ? &out : &inner, m->name, m->value);
        }
        struct json in = obj_done(&inner);
        if (in.len)
            obj_setz(&out, "exactly", in);
        return json_new(a, obj_done(&out));
    }
    if (is_up || !json_has(exactly))
        return v;
    out = obj_from(a, drop(a, v, "exactly"));
    json_each_member (m, exactly)
        obj_set(&out, m->name, m->value);
    return json_new(a, obj_done(&out));
}

static const struct json *device_requests(struct arena *a, const struct json *v, bool is_up)
{
    return each(a, v, device_request, is_up);
}

static const struct json *claim_devices(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "requests", device_requests, is_up);
}

static const struct json *claim_spec(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "devices", claim_devices, is_up);
}

static const struct json *resource_claim(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "spec", claim_spec, is_up);
}

static const struct json *template_spec(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "spec", claim_spec, is_up);
}

static const struct json *resource_claim_template(struct arena *a, const struct json *v,
                                                  bool is_up)
{
    return with(a, v, "spec", template_spec, is_up);
}

/* A device's own members stand under `basic` in v1beta1. */
static const struct json *slice_device(struct arena *a, const struct json *v, bool is_up)
{
    const struct json *basic = json_getz(v, "basic");
    struct json_obj out, inner = obj_in(a);

    if (is_up) {
        if (!json_has(basic))
            return v;
        out = obj_from(a, drop(a, v, "basic"));
        json_each_member (m, basic)
            obj_set(&out, m->name, m->value);
        return json_new(a, obj_done(&out));
    }
    out = obj_in(a);
    json_each_member (m, v) {
        obj_set(str_eqz(m->name, "name") ? &out : &inner, m->name, m->value);
    }
    obj_setz(&out, "basic", obj_done(&inner));
    return json_new(a, obj_done(&out));
}

static const struct json *slice_devices(struct arena *a, const struct json *v, bool is_up)
{
    return each(a, v, slice_device, is_up);
}

static const struct json *slice_spec(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "devices", slice_devices, is_up);
}

static const struct json *resource_slice(struct arena *a, const struct json *v, bool is_up)
{
    return with(a, v, "spec", slice_spec, is_up);
}

/* ---- the list ---- */

static const struct {
    struct str name; /* as kinds/ names it */
    convert_fn *fn;
} pairs[] = {
    {S_INIT("event"),                       event                  },
    {S_INIT("kueue_admission_check"),       admission_check        },
    {S_INIT("kueue_cluster_queue"),         cluster_queue          },
    {S_INIT("kueue_local_queue"),           local_queue            },
    {S_INIT("kueue_multi_kueue_cluster"),   multi_kueue_cluster    },
    {S_INIT("kueue_workload"),              workload               },
    {S_INIT("dra_resource_claim"),          resource_claim         },
    {S_INIT("dra_resource_claim_template"), resource_claim_template},
    {S_INIT("dra_resource_slice"),          resource_slice         },
};

static const struct json *run(struct arena *a, const struct json *v, struct str name,
                              bool is_up)
{
    for (size_t i = 0; i < countof(pairs); i++) {
        if (str_eq(pairs[i].name, name))
            return pairs[i].fn(a, v, is_up);
    }
    return v;
}

const struct json *api_convert(struct arena *a, const struct json *v, const struct kind *from,
                               const struct kind *to)
{
    if (from == to)
        return v;
    if (from->convert.len)
        v = run(a, v, from->convert, true);
    if (to->convert.len)
        v = run(a, v, to->convert, false);
    struct json_obj o = obj_from(a, v);
    obj_setz(&o, "apiVersion", json_of_str(to->api_version));
    obj_setz(&o, "kind", json_of_str(to->kind));
    return json_new(a, obj_done(&o));
}
