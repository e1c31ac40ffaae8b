/* kueue_check_workload.c - webhook rules of Workloads */
#include "api/kueue_check.h"

#include "api/kueue_check_priv.h"
#include "api/metadata.h"
#include "api/resource_list.h"
#include "value/names.h"
#include "value/quantity.h"
#include "value/selector.h"

#define ELASTIC "kueue.x-k8s.io/elastic-job"
#define GATED_BY "kueue.x-k8s.io/admission-gated-by"
#define PRIORITY_BOOST "kueue.x-k8s.io/priority-boost"
#define REPLACES "kueue.x-k8s.io/workload-slice-replacement-for"

struct check {
    struct field_errors *e;
    uint32_t gates;
    const struct json *workload, *old; /* old: NULL on create */
    const struct json *status, *was;   /* their statuses */
    const struct json *pod_sets, *old_sets;
    bool is_known; /* what is shared with the old passed these rules */
    bool is_elastic;
    bool is_reserved, was_reserved; /* by their conditions */
};

static struct str annotation(const struct json *workload, const char *name)
{
    return json_str(
        json_get(json_path(workload, "metadata", "annotations", NULL), str_from(name)));
}

static bool is_reserved(const struct json *conditions)
{
    json_each (i, conditions) {
        const struct json *c = json_at(conditions, i);
        if (str_eq(json_str(json_getz(c, "type")), S("QuotaReserved")))
            return str_eq(json_str(json_getz(c, "status")), S("True"));
    }
    return false;
}

/* The item of that name. */
static const struct json *named(const struct json *list, struct str name)
{
    json_each (i, list) {
        if (str_eq(json_str(json_getz(json_at(list, i), "name")), name))
            return json_at(list, i);
    }
    return NULL;
}

static const struct json *text_value(struct check *c, struct str s)
{
    return json_new(c->e->arena, json_of_str(s));
}

static void check_names(struct check *c, const struct field_path *at, enum name_rule rule,
                        struct str value)
{
    struct name_faults faults = name_check(rule, value);

    for (size_t i = 0; i < faults.n; i++)
        field_invalid(c->e, at, text_value(c, value), "%.*s",
                      STR_ARG(name_fault(c->e->arena, &faults, i)));
}

static bool amount(struct check *c, const struct json *v, struct quantity *out)
{
    struct str text = json_is(v, JSON_STRING) ? json_str(v) : json_text(c->e->arena, v);

    return json_has(v) && quantity_parse(c->e->arena, text, out, NULL) == 0;
}

static const struct json *amount_value(struct check *c, const struct quantity *q)
{
    struct buf b = buf_in(c->e->arena, 32);

    quantity_write_canonical(&b, q);
    return text_value(c, buf_str(&b));
}

/* ---- 1. pod sets ---- */

static void check_amounts(struct check *c, const struct field_path *at,
                          const struct json *amounts)
{
    json_each_member (m, amounts) {
        struct field_path item = field_key(at, m->name);
        struct quantity q;
        if (str_eqz(m->name, "pods"))
            field_invalid(c->e, &item, text_value(c, m->name),
                          "the key is reserved for internal kueue use");
        if ((c->gates & KUEUE_CHECK_NON_NEGATIVE) && amount(c, &m->value, &q) &&
            quantity_sign(&q) < 0)
            field_invalid(c->e, &item, amount_value(c, &q),
                          "must be greater than or equal to 0");
    }
}

static void check_resources(struct check *c, const struct field_path *holder_at,
                            const struct json *holder)
{
    struct field_path at = field_child(holder_at, S("resources"));
    struct field_path requests_at = field_child(&at, S("requests"));
    struct field_path limits_at = field_child(&at, S("limits"));

    check_amounts(c, &requests_at, json_path(holder, "resources", "requests", NULL));
    check_amounts(c, &limits_at, json_path(holder, "resources", "limits", NULL));
}

static void check_containers(struct check *c, const struct field_path *spec_at,
                             const struct json *spec, struct str list_name)
{
    struct field_path at = field_child(spec_at, list_name);
    const struct json *list = json_get(spec, list_name);

    json_each (i, list) {
        struct field_path item = field_item(&at, i);
        check_resources(c, &item, json_at(list, i));
    }
}

static void check_template(struct check *c, const struct field_path *set_at,
                           const struct json *template)
{
    struct field_path at = field_child(set_at, S("template"));
    struct field_path meta_at = field_child(&at, S("metadata"));
    struct field_path labels_at = field_child(&meta_at, S("labels"));
    struct field_path annotations_at = field_child(&meta_at, S("annotations"));
    struct field_path spec_at = field_child(&at, S("spec"));
    const struct json *spec = json_getz(template, "spec");

    if (c->gates & KUEUE_CHECK_POD_SET_METADATA) {
        labels_check(c->e, &labels_at, json_path(template, "metadata", "labels", NULL));
        annotations_check(c->e, &annotations_at,
                          json_path(template, "metadata", "annotations", NULL));
    }
    check_containers(c, &spec_at, spec, S("initContainers"));
    check_containers(c, &spec_at, spec, S("containers"));
    check_resources(c, &spec_at, spec);
}

static void check_topology(struct check *c, const struct field_path *set_at,
                           const struct json *request)
{
    struct field_path at = field_child(set_at, S("topologyRequest"));
    struct field_path size_at = field_child(&at, S("podSetSliceSize"));
    struct field_path list_at = field_child(&at, S("podsetSliceRequiredTopologyConstraints"));
    const struct json *size = json_getz(request, "podSetSliceSize");
    const struct json *list = json_getz(request, "podsetSliceRequiredTopologyConstraints");
    bool has_topology = json_has(json_getz(request, "podSetSliceRequiredTopology"));

    if (!(c->gates & KUEUE_CHECK_SLICE_SIZE) || !json_has(request))
        return;
    if (has_topology && !json_has(size))
        field_required(c->e, &size_at, "must be set when podSetSliceRequiredTopology is set");
    else if (has_topology && json_i64(size, 0) <= 0)
        field_invalid(c->e, &size_at, size, "must be greater than 0");
    else if (!has_topology && json_has(size))
        field_forbidden(c->e, &size_at, "may not be set without podSetSliceRequiredTopology");
    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        struct field_path item_size_at = field_child(&item, S("size"));
        const struct json *n = json_getz(json_at(list, i), "size");
        if (json_i64(n, 0) <= 0)
            field_invalid(c->e, &item_size_at, n, "must be greater than 0");
    }
}

static void check_pod_sets(struct check *c, const struct field_path *spec_at)
{
    struct field_path at = field_child(spec_at, S("podSets"));
    size_t n_variable = 0;

    json_each (i, c->pod_sets) {
        const struct json *set = json_at(c->pod_sets, i);
        struct field_path item = field_item(&at, i);
        if (!c->is_known || !json_is_shared(set, json_at(c->old_sets, i))) {
            check_template(c, &item, json_getz(set, "template"));
            check_topology(c, &item, json_getz(set, "topologyRequest"));
        }
        n_variable += json_has(json_getz(set, "minCount"));
    }
    if (n_variable == 0)
        return;
    const struct json *shown = json_new(c->e->arena, json_of_i64((int64_t)n_variable));
    if (n_variable > 1)
        field_invalid(c->e, &at, shown, "at most one podSet can use minCount");
    if (c->is_elastic)
        field_invalid(c->e, &at, shown, "minCount cannot be used with elastic jobs");
}

/* ---- 3. admission ---- */

static void check_assignment(struct check *c, const struct field_path *at,
                             const struct json *assignment)
{
    struct field_path name_at = field_child(at, S("name"));
    struct field_path usage_at = field_child(at, S("resourceUsage"));
    const struct json *name = json_getz(assignment, "name");
    const struct json *usage = json_getz(assignment, "resourceUsage");
    int64_t count = json_i64(json_getz(assignment, "count"), 0);

    if (!named(c->pod_sets, json_str(name)))
        field_not_found(c->e, &name_at, name);
    if (count <= 0)
        return;
    json_each_member (m, usage) {
        struct field_path item = field_key(&usage_at, m->name);
        struct quantity q;
        if (amount(c, &m->value, &q) && resource_units(m->name, &q) % count != 0)
            field_invalid(c->e, &item, amount_value(c, &q), "is not a multiple of %" PRId64,
                          count);
    }
}

static void check_admission(struct check *c, const struct field_path *status_at)
{
    struct field_path at = field_child(status_at, S("admission"));
    struct field_path list_at = field_child(&at, S("podSetAssignments"));
    const struct json *admission = json_getz(c->status, "admission");
    const struct json *list = json_getz(admission, "podSetAssignments");

    if (!c->is_reserved)
        return;
    if (!json_has(admission)) {
        bool was_so = c->was_reserved && !json_has(json_getz(c->was, "admission"));
        if (!was_so)
            field_required(c->e, &at, "must be set while the QuotaReserved condition is true");
        return;
    }
    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        check_assignment(c, &item, json_at(list, i));
    }
}

/* ---- 5. reclaimable pods ---- */

static const struct json *reclaimable(const struct json *status)
{
    return json_getz(status, "reclaimablePods");
}

static void check_reclaimable(struct check *c, const struct field_path *status_at)
{
    struct field_path at = field_child(status_at, S("reclaimablePods"));
    const struct json *list = reclaimable(c->status);

    json_each (i, list) {
        const struct json *entry = json_at(list, i);
        const struct json *name = json_getz(entry, "name"), *count = json_getz(entry, "count");
        struct field_path item = field_key(&at, json_str(name));
        struct field_path name_at = field_child(&item, S("name"));
        struct field_path count_at = field_child(&item, S("count"));
        const struct json *set = named(c->pod_sets, json_str(name));
        const struct json *was = named(reclaimable(c->was), json_str(name));
        bool is_old = c->is_elastic && was && json_eq(json_getz(was, "count"), count);
        if (!set)
            field_not_supported(c->e, &name_at, name, NULL, 0);
        else if (json_i64(count, 0) > json_i64(json_getz(set, "count"), 1) && !is_old)
            field_invalid(c->e, &count_at, count, "should be less or equal to %" PRId64,
                          json_i64(json_getz(set, "count"), 1));
    }
}

/* ---- 6. what checks add to pods ---- */

static void check_update_of_set(struct check *c, const struct field_path *at,
                                const struct json *update)
{
    struct field_path name_at = field_child(at, S("name"));
    struct field_path tolerations_at = field_child(at, S("tolerations"));
    struct field_path annotations_at = field_child(at, S("annotations"));
    struct field_path selector_at = field_child(at, S("nodeSelector"));
    struct field_path labels_at = field_child(at, S("labels"));
    const struct json *name = json_getz(update, "name");
    const struct json *tolerations = json_getz(update, "tolerations");

    if (!named(c->pod_sets, json_str(name)))
        field_not_supported(c->e, &name_at, name, NULL, 0);
    json_each (k, tolerations) {
        struct field_path item = field_item(&tolerations_at, k);
        struct field_path key_at = field_child(&item, S("key"));
        struct str key = json_str(json_getz(json_at(tolerations, k), "key"));
        if (key.len)
            check_names(c, &key_at, NAME_LABEL_KEY, key);
    }
    annotations_check(c->e, &annotations_at, json_getz(update, "annotations"));
    labels_check(c->e, &selector_at, json_getz(update, "nodeSelector"));
    labels_check(c->e, &labels_at, json_getz(update, "labels"));
}

static void check_pod_set_updates(struct check *c, const struct field_path *status_at)
{
    struct field_path at = field_child(status_at, S("admissionChecks"));
    const struct json *list = json_getz(c->status, "admissionChecks");

    json_each (i, list) {
        struct field_path item = field_item(&at, i);
        struct field_path updates_at = field_child(&item, S("podSetUpdates"));
        const struct json *updates = json_getz(json_at(list, i), "podSetUpdates");
        json_each (j, updates) {
            struct field_path update_at = field_item(&updates_at, j);
            check_update_of_set(c, &update_at, json_at(updates, j));
        }
    }
}

/* ---- 7, 8. annotations ---- */

static void check_boost(struct check *c, const struct field_path *at)
{
    const struct json *v =
        json_get(json_path(c->workload, "metadata", "annotations", NULL), S(PRIORITY_BOOST));
    int64_t n;

    if (v && (!str_to_i64(json_str(v), &n) || n < INT32_MIN || n > INT32_MAX))
        field_invalid(c->e, at, v, "must be a signed integer of 32 bits");
}

/* ---- update ---- */

/* The pod set as far as it must not change. */
static const struct json *fixed_part(struct check *c, const struct json *set)
{
    return json_without(c->e->arena, set, "count", NULL);
}

static void check_sets_fixed(struct check *c, const struct field_path *spec_at)
{
    struct field_path at = field_child(spec_at, S("podSets"));
    const struct json *was = c->old_sets;

    if (!c->was_reserved || json_is_shared(was, c->pod_sets))
        return;
    if (json_len(was) != json_len(c->pod_sets)) {
        field_invalid(c->e, &at, c->pod_sets, "field is immutable");
        return;
    }
    json_each (i, was) {
        const struct json *a = json_at(was, i), *b = json_at(c->pod_sets, i);
        bool shrinks = (c->gates & KUEUE_CHECK_ELASTIC_JOBS) &&
                       json_i64(json_getz(b, "count"), 1) <= json_i64(json_getz(a, "count"), 1);
        if (json_is_shared(a, b) ||
            (shrinks ? json_eq(fixed_part(c, a), fixed_part(c, b)) : json_eq(a, b)))
            continue;
        struct field_path item =
            field_child(&at, str_of_u64(c->e->arena, i)); /* dotted, as upstream */
        field_invalid(c->e, &item, b, "field is immutable");
    }
}

/* A pod set of an elastic Workload that shrank below what was assigned. */
static bool has_shrunk(struct check *c, struct str name)
{
    const struct json *set = named(c->pod_sets, name);
    const struct json *assigned =
        named(json_path(c->status, "admission", "podSetAssignments", NULL), name);

    return c->is_elastic && set && assigned &&
           json_i64(json_getz(set, "count"), 1) < json_i64(json_getz(assigned, "count"), 0);
}

static void check_reclaimed(struct check *c, const struct field_path *status_at)
{
    struct field_path at = field_child(status_at, S("reclaimablePods"));
    const struct json *was = reclaimable(c->was);

    if (!c->was_reserved || !c->is_reserved)
        return;
    json_each (i, was) {
        struct str name = json_str(json_getz(json_at(was, i), "name"));
        struct field_path item = field_key(&at, name);
        struct field_path count_at = field_child(&item, S("count"));
        const struct json *now = named(reclaimable(c->status), name);
        const struct json *count = json_getz(now, "count");
        if (has_shrunk(c, name))
            continue;
        if (!now)
            field_required(c->e, &item, "cannot be removed");
        else if (json_i64(count, 0) < json_i64(json_getz(json_at(was, i), "count"), 0))
            field_invalid(c->e, &count_at, count, "cannot be less than before");
    }
}

/* An admission without what may still change in it. */
static const struct json *fixed_admission(struct check *c, const struct json *admission)
{
    struct arena *a = c->e->arena;
    const struct json *list = json_getz(admission, "podSetAssignments");
    struct json_arr all = arr_in(a);

    json_each (i, list) {
        struct json_obj one = obj_from(a, json_at(list, i));
        obj_del(&one, S("topologyAssignment"));
        obj_del(&one, S("delayedTopologyRequest"));
        arr_add(&all, obj_done(&one));
    }
    return json_with(a, admission, arr_done(&all), "podSetAssignments", NULL);
}

static void check_admission_fixed(struct check *c, const struct field_path *status_at)
{
    struct field_path at = field_child(status_at, S("admission"));
    const struct json *now = json_getz(c->status, "admission");
    const struct json *was = json_getz(c->was, "admission");

    if (!json_has(now) || !json_has(was) || json_is_shared(now, was))
        return;
    bool is_other_number = json_len(json_getz(now, "podSetAssignments")) !=
                           json_len(json_getz(was, "podSetAssignments"));
    if (((c->gates & KUEUE_CHECK_TOPOLOGY) && is_other_number) ||
        !json_eq(fixed_admission(c, now), fixed_admission(c, was)))
        field_invalid(c->e, &at, now, "field is immutable");
}

static void check_ready_fixed(struct check *c, const struct field_path *status_at)
{
    struct field_path at = field_child(status_at, S("admissionChecks"));
    const struct json *was = json_getz(c->was, "admissionChecks");
    const struct json *list = json_getz(c->status, "admissionChecks");

    json_each (i, was) {
        struct field_path item = field_item(&at, i);
        struct field_path updates_at = field_child(&item, S("podSetUpdates"));
        const struct json *old = json_at(was, i);
        const struct json *now = named(list, json_str(json_getz(old, "name")));
        const struct json *updates = json_getz(now, "podSetUpdates");
        if (!str_eqz(json_str(json_getz(old, "state")), "Ready") ||
            !str_eqz(json_str(json_getz(now, "state")), "Ready"))
            continue;
        if (json_len(updates) + json_len(json_getz(old, "podSetUpdates")) &&
            !json_eq(updates, json_getz(old, "podSetUpdates")))
            field_invalid(c->e, &updates_at, updates, "field is immutable while Ready");
    }
}

static void check_cluster(struct check *c, const struct field_path *status_at)
{
    struct field_path at = field_child(status_at, S("clusterName"));
    const struct json *name = json_getz(c->status, "clusterName");
    const struct json *was = json_getz(c->was, "nominatedClusterNames");

    if (!json_has(name) || json_has(json_getz(c->was, "clusterName")))
        return;
    if ((c->gates & KUEUE_CHECK_ELASTIC_JOBS) && annotation(c->workload, REPLACES).len)
        return;
    json_each (i, was) {
        if (json_eq(json_at(was, i), name))
            return;
    }
    field_invalid(c->e, &at, name, "must be one of the nominated clusters");
}

void kueue_check_workload(struct field_errors *e, uint32_t gates, const struct json *workload,
                          const struct json *old, bool is_known)
{
    struct field_path meta_at = field_child(NULL, S("metadata"));
    struct field_path annotations_at = field_child(&meta_at, S("annotations"));
    struct field_path gated_at = field_key(&annotations_at, S(GATED_BY));
    struct field_path boost_at = field_key(&annotations_at, S(PRIORITY_BOOST));
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path status_at = field_child(NULL, S("status"));
    struct field_path conditions_at = field_child(&status_at, S("conditions"));
    struct check c = {.e = e,
                      .gates = gates,
                      .workload = workload,
                      .old = old,
                      .status = json_getz(workload, "status"),
                      .was = json_getz(old, "status"),
                      .pod_sets = json_path(workload, "spec", "podSets", NULL),
                      .old_sets = json_path(old, "spec", "podSets", NULL),
                      .is_known = is_known};
    const struct json *conditions = json_getz(c.status, "conditions");
    const struct json *old_conditions = json_getz(c.was, "conditions");

    c.is_reserved = is_reserved(conditions);
    c.was_reserved = is_reserved(old_conditions);
    c.is_elastic =
        (gates & KUEUE_CHECK_ELASTIC_JOBS) && str_eqz(annotation(workload, ELASTIC), "true");
    check_pod_sets(&c, &spec_at);
    check_admission(&c, &status_at);
    conditions_check(e, &conditions_at, conditions, is_known ? old_conditions : NULL);
    check_reclaimable(&c, &status_at);
    check_pod_set_updates(&c, &status_at);
    if (gates & KUEUE_CHECK_ADMISSION_GATED_BY)
        kueue_check_gated_by(e, &gated_at, annotation(workload, GATED_BY));
    if (gates & KUEUE_CHECK_PRIORITY_BOOST)
        check_boost(&c, &boost_at);
    if (!old)
        return;
    check_sets_fixed(&c, &spec_at);
    check_reclaimed(&c, &status_at);
    check_admission_fixed(&c, &status_at);
    check_ready_fixed(&c, &status_at);
    check_cluster(&c, &status_at);
    if (gates & KUEUE_CHECK_ADMISSION_GATED_BY) {
        kueue_check_gates_added(e, &gated_at, annotation(old, GATED_BY),
                                annotation(workload, GATED_BY));
        kueue_check_gated_by(e, &gated_at, annotation(workload, GATED_BY));
    }
}
