/* status.c - what a decision writes into a Workload's status */
#include "queue/status.h"

#include "queue/engine_priv.h"
#include "value/time.h"

/* A status under construction. */
struct edit {
    struct arena *a;
    const struct json *wl;
    struct instant now;
};

static const struct json *status_get(const struct edit *e, struct str name)
{
    return json_get(json_getz(e->wl, "status"), name);
}

static void status_set(struct edit *e, const char *name, struct json v)
{
    e->wl = json_with(e->a, e->wl, v, "status", name, NULL);
}

static void status_drop(struct edit *e, const char *name)
{
    if (status_get(e, str_from(name)))
        e->wl = json_without(e->a, e->wl, "status", name, NULL);
}

/* ---- conditions ---- */

static const struct json *condition(const struct edit *e, const char *type)
{
    const struct json *list = status_get(e, S("conditions"));

    json_each (i, list)
        if (str_eqz(json_str(json_getz(json_at(list, i), "type")), type))
            return json_at(list, i);
    return NULL;
}

static bool is_true(const struct json *c)
{
    return str_eq(json_str(json_getz(c, "status")), S("True"));
}

static struct json condition_json(struct edit *e, const struct json *was, const char *type,
                                  bool holds, struct str reason, struct str message,
                                  bool has_generation)
{
    struct json_obj o = obj_in(e->a);
    const struct json *since = json_getz(was, "lastTransitionTime");
    int64_t generation = json_i64(json_path(e->wl, "metadata", "generation", NULL), 0);

    obj_setz(&o, "type", json_of_str(str_from(type)));
    obj_setz(&o, "status", json_of_str(holds ? S("True") : S("False")));
    if (has_generation && generation)
        obj_setz(&o, "observedGeneration", json_of_i64(generation));
    obj_setz(&o, "lastTransitionTime",
             was && is_true(was) == holds && since ? *since
                                                   : json_of_str(time_text(e->a, e->now)));
    obj_setz(&o, "reason", json_of_str(reason));
    obj_setz(&o, "message", json_of_str(message));
    return obj_done(&o);
}

/* By the usual rule: the time moves only with the status. */
static void set_condition_as(struct edit *e, const char *type, bool holds, struct str reason,
                             struct str message, bool has_generation)
{
    const struct json *list = status_get(e, S("conditions")), *was = condition(e, type);
    struct json_arr out = arr_in(e->a);
    struct json next = condition_json(e, was, type, holds, reason, message, has_generation);

    json_each (i, list)
        arr_add(&out, json_at(list, i) == was ? next : *json_at(list, i));
    if (!was)
        arr_add(&out, next);
    status_set(e, "conditions", arr_done(&out));
}

static void set_condition(struct edit *e, const char *type, bool holds, struct str reason,
                          struct str message)
{
    set_condition_as(e, type, holds, reason, message, true);
}

/* ---- Admitted ---- */

static bool checks_ready(const struct edit *e)
{
    const struct json *checks = status_get(e, S("admissionChecks"));

    json_each (i, checks)
        if (!str_eq(json_str(json_getz(json_at(checks, i), "state")), S("Ready")))
            return false;
    return true;
}

static bool topology_ready(const struct edit *e)
{
    const struct json *list = json_getz(status_get(e, S("admission")), "podSetAssignments");

    json_each (i, list)
        if (str_eq(json_str(json_getz(json_at(list, i), "delayedTopologyRequest")),
                   S("Pending")) &&
            !json_has(json_getz(json_at(list, i), "topologyAssignment")))
            return false;
    return true;
}

static void add_past_seconds(struct edit *e, const struct json *was)
{
    int64_t past = json_i64(status_get(e, S("accumulatedPastExecutionTimeSeconds")), 0);
    struct instant since;

    if (time_parse(json_str(json_getz(was, "lastTransitionTime")), &since, NULL) < 0)
        return;
    past += instant_sub(e->now, since).ns / SECOND_NS;
    status_set(e, "accumulatedPastExecutionTimeSeconds", json_of_i64(past));
}

static void sync_admitted(struct edit *e, const struct queue_config *c)
{
    bool observable = queue_gate(c, QUEUE_GATE_OBSERVABILITY);
    const struct json *was = condition(e, "Admitted");
    bool reserved = is_true(condition(e, "QuotaReserved")), checks = checks_ready(e);
    bool admitted = reserved && checks && topology_ready(e);

    if (observable ? !was && !condition(e, "QuotaReserved") : is_true(was) == admitted)
        return;
    if (admitted)
        set_condition(e, "Admitted", true, S("Admitted"), S("The workload is admitted"));
    else if (!reserved && !observable && !checks)
        set_condition(e, "Admitted", false, S("NoReservationUnsatisfiedChecks"),
                      S("The workload has no reservation and not all checks ready"));
    else if (!reserved)
        set_condition(e, "Admitted", false, S("NoReservation"),
                      S("The workload has no reservation"));
    else if (!checks)
        set_condition(e, "Admitted", false,
                      observable ? S("UnsatisfiedAdmissionChecks") : S("UnsatisfiedChecks"),
                      S("The workload has not all checks ready"));
    else
        set_condition(e, "Admitted", false, S("PendingDelayedTopologyRequests"),
                      S("There are pending delayed topology requests"));
    if (is_true(was) && !admitted)
        add_past_seconds(e, was);
}

/* ---- reserved ---- */

static struct json admission_json(struct arena *a, const struct queue_decision *d)
{
    struct json_obj admission = obj_in(a);
    struct json_arr list = arr_in(a);

    for (size_t i = 0; i < d->n_podsets; i++) {
        const struct queue_assigned_podset *ps = &d->podsets[i];
        struct json_obj psa = obj_in(a), flavors = obj_in(a), usage = obj_in(a);
        for (size_t k = 0; k < ps->n_flavors; k++) {
            obj_set(&flavors, ps->flavors[k].resource, json_of_str(ps->flavors[k].flavor));
            for (size_t r = 0; r < ps->n_requests; r++)
                if (str_eq(ps->requests[r].resource, ps->flavors[k].resource))
                    obj_set(&usage, ps->requests[r].resource,
                            json_of_str(resource_units_text(a, ps->requests[r].resource,
                                                            ps->requests[r].amount)));
        }
        obj_setz(&psa, "name", json_of_str(ps->name));
        if (ps->n_flavors) {
            obj_setz(&psa, "flavors", obj_done(&flavors));
            obj_setz(&psa, "resourceUsage", obj_done(&usage));
        }
        obj_setz(&psa, "count", json_of_i64(ps->count));
        arr_add(&list, obj_done(&psa));
    }
    obj_setz(&admission, "clusterQueue", json_of_str(d->cq));
    obj_setz(&admission, "podSetAssignments", arr_done(&list));
    return obj_done(&admission);
}

/* Every check that applies has a state already. */
static bool lists_checks(const struct edit *e, const struct queue_decision *d)
{
    const struct json *states = status_get(e, S("admissionChecks"));

    for (size_t i = 0; i < d->n_checks; i++) {
        bool is_there = false;
        json_each (k, states)
            is_there |= str_eq(json_str(json_getz(json_at(states, k), "name")), d->checks[i]);
        if (!is_there)
            return false;
    }
    return true;
}

static void reserve(struct edit *e, const struct queue_decision *d,
                    const struct queue_config *c)
{
    static const char *const undone[] = {"Evicted", "Preempted", "BlockedOnPreemptionGates"};

    if (!d->is_second_pass)
        status_set(e, "admission", admission_json(e->a, d));
    status_drop(e, "resourceRequests");
    set_condition(e, "QuotaReserved", true, S("QuotaReserved"),
                  str_printf(e->a, "Quota reserved in ClusterQueue %.*s", STR_ARG(d->cq)));
    for (size_t i = 0; i < countof(undone); i++) {
        const struct json *was = condition(e, undone[i]);
        if (is_true(was))
            set_condition(e, undone[i], false, S("QuotaReserved"),
                          str_printf(e->a, "Previously: %.*s",
                                     STR_ARG(json_str(json_getz(was, "message")))));
    }
    if (lists_checks(e, d))
        sync_admitted(e, c);
}

/* ---- waiting ---- */

static void set_requests(struct edit *e, const struct queue_loader *l)
{
    struct queue_workload_spec spec;
    struct json_arr list = arr_in(e->a);

    queue_load_workload(e->a, e->wl, l, &spec);
    for (size_t i = 0; i < spec.n_podsets; i++) {
        struct json_obj o = obj_in(e->a), resources = obj_in(e->a);
        const struct queue_podset_spec *ps = &spec.podsets[i];
        for (size_t k = 0; k < ps->n_requests; k++)
            obj_set(&resources, ps->requests[k].resource,
                    json_of_str(resource_units_text(e->a, ps->requests[k].resource,
                                                    ps->requests[k].amount)));
        obj_setz(&o, "name", json_of_str(ps->name));
        if (ps->n_requests)
            obj_setz(&o, "resources", obj_done(&resources));
        arr_add(&list, obj_done(&o));
    }
    if (spec.n_podsets)
        status_set(e, "resourceRequests", arr_done(&list));
}

static void keep_waiting(struct edit *e, const struct queue_decision *d,
                         const struct queue_loader *l)
{
    enum queue_reason reason = d->reason;

    if (!queue_gate(l->config, QUEUE_GATE_OBSERVABILITY))
        reason = d->outcome == OUTCOME_BLOCKED ? QUEUE_WAITING : QUEUE_PENDING;
    set_condition(e, "QuotaReserved", false, queue_reason_text(reason),
                  queue_message(e->a, d->outcome, d->causes, d->n_causes, d->n_victims));
    status_drop(e, "admission");
    sync_admitted(e, l->config);
    set_requests(e, l);
    if (d->outcome == OUTCOME_GATED)
        set_condition(e, "BlockedOnPreemptionGates", true, S("PreemptionGated"),
                      S("Workload requires preemption, but it's gated"));
}

const struct json *queue_status_decided(struct arena *a, const struct json *wl,
                                        const struct queue_decision *d,
                                        const struct queue_loader *l, struct instant now)
{
    struct edit e = {a, wl, now};

    if (d->outcome == OUTCOME_ADMITTED)
        reserve(&e, d, l->config);
    else if (!d->is_second_pass && d->reason != QUEUE_NONE)
        keep_waiting(&e, d, l);
    return e.wl;
}

/* ---- evicted ---- */

static struct json check_reset(struct edit *e, const struct json *check)
{
    struct str state = json_str(json_getz(check, "state"));
    struct json_obj o = obj_in(e->a);
    const struct json *after = json_getz(check, "requeueAfterSeconds");

    if (str_eq(state, S("Pending")))
        return *check;
    obj_setz(&o, "name", *json_getz(check, "name"));
    obj_setz(&o, "state", json_of_z("Pending"));
    obj_setz(&o, "lastTransitionTime", json_of_str(time_text(e->a, e->now)));
    obj_setz(&o, "message",
             json_of_str(str_printf(e->a, "Reset to Pending after eviction. Previously: %.*s",
                                    STR_ARG(state))));
    if (json_has(after))
        obj_setz(&o, "requeueAfterSeconds", *after);
    if (str_eq(state, S("Retry")))
        obj_setz(&o, "retryCount",
                 json_of_i64(json_i64(json_getz(check, "retryCount"), 0) + 1));
    return obj_done(&o);
}

static void close_gates(struct edit *e)
{
    const struct json *gates = status_get(e, S("preemptionGates"));
    struct json_arr out = arr_in(e->a);

    if (!json_len(gates))
        return;
    json_each (i, gates) {
        struct json_obj o = obj_from(e->a, json_at(gates, i));
        if (str_eq(json_str(json_getz(json_at(gates, i), "position")), S("Open"))) {
            obj_setz(&o, "position", json_of_z("Closed"));
            obj_setz(&o, "lastTransitionTime", json_of_str(time_text(e->a, e->now)));
        }
        arr_add(&out, obj_done(&o));
    }
    status_set(e, "preemptionGates", arr_done(&out));
}

static void count_eviction(struct edit *e, struct str reason, struct str cause)
{
    const struct json *list = json_getz(status_get(e, S("schedulingStats")), "evictions");
    struct json_arr out = arr_in(e->a);
    struct json_obj stats = obj_from(e->a, status_get(e, S("schedulingStats")));
    bool found = false;

    json_each (i, list) {
        const struct json *x = json_at(list, i);
        struct json_obj o = obj_from(e->a, x);
        if (str_eq(json_str(json_getz(x, "reason")), reason) &&
            str_eq(json_str(json_getz(x, "underlyingCause")), cause)) {
            found = true;
            obj_setz(&o, "count", json_of_i64(json_i64(json_getz(x, "count"), 0) + 1));
        }
        arr_add(&out, obj_done(&o));
    }
    if (!found) {
        struct json_obj o = obj_in(e->a);
        obj_setz(&o, "reason", json_of_str(reason));
        obj_setz(&o, "underlyingCause", json_of_str(cause));
        obj_setz(&o, "count", json_of_i64(1));
        arr_add(&out, obj_done(&o));
    }
    obj_setz(&stats, "evictions", arr_done(&out));
    status_set(e, "schedulingStats", obj_done(&stats));
}

const struct json *queue_status_evicted(struct arena *a, const struct json *wl,
                                        struct str reason, struct str message, struct str cause,
                                        struct instant now)
{
    struct edit e = {a, wl, now};
    const struct json *checks = status_get(&e, S("admissionChecks"));
    struct json_arr reset = arr_in(a);
    struct str said = reason;

    if (str_eq(reason, S("Deactivated")) && cause.len)
        said = str_printf(a, "DeactivatedDueTo%.*s", STR_ARG(cause));
    set_condition(&e, "Evicted", true, said, message);
    status_drop(&e, "clusterName");
    status_drop(&e, "nominatedClusterNames");
    status_drop(&e, "unhealthyNodes");
    json_each (i, checks)
        arr_add(&reset, check_reset(&e, json_at(checks, i)));
    if (json_len(checks))
        status_set(&e, "admissionChecks", arr_done(&reset));
    if (is_true(condition(&e, "BlockedOnPreemptionGates")))
        set_condition(&e, "BlockedOnPreemptionGates", false, said, message);
    close_gates(&e);
    count_eviction(&e, reason, cause);
    return e.wl;
}

const struct json *queue_status_preempted(struct arena *a, const struct json *wl,
                                          enum queue_victim_reason reason, struct str message,
                                          struct instant now)
{
    struct edit e = {a, wl, now};

    set_condition_as(&e, "Preempted", true, queue_victim_reason_text(reason), message, false);
    return queue_status_evicted(a, e.wl, S("Preempted"), message, S(""), now);
}

const struct json *queue_status_finished(struct arena *a, const struct json *wl,
                                         struct str reason, struct str message,
                                         struct instant now)
{
    struct edit e = {a, wl, now};

    if (!is_true(condition(&e, "Finished")))
        set_condition(&e, "Finished", true, reason, message);
    return e.wl;
}

void queue_unadmitted(const struct json *wl, struct str *reason, struct str *cause)
{
    struct edit e = {.wl = wl};
    const struct json *quota = condition(&e, "QuotaReserved");

    *cause = S("");
    *reason = json_str(json_getz(condition(&e, "Admitted"), "reason"));
    if (is_true(quota))
        return;
    *reason = reason->len ? *reason : S("NoReservation");
    *cause = json_str(json_getz(quota, "reason"));
    *cause = cause->len ? *cause : S("PendingEvaluation");
}

struct str queue_preempted_message(struct arena *a, struct str uid, struct str job,
                                   enum queue_victim_reason reason, struct str preemptor_path,
                                   struct str victim_path)
{
    static const char *const texts[] = {
        [IN_CLUSTER_QUEUE] = "prioritization in the ClusterQueue",
        [IN_COHORT_RECLAMATION] = "reclamation within the cohort",
        [IN_COHORT_FAIR_SHARING] = "Fair Sharing within the cohort",
        [IN_COHORT_BORROWING] = "reclamation within the cohort while borrowing",
    };

    uid = uid.len ? uid : S("UNKNOWN");
    job = job.len ? job : S("UNKNOWN");
    return str_printf(
        a,
        "Preempted to accommodate a workload (UID: %.*s, JobUID: %.*s) due to %s; "
        "preemptor path: %.*s; preemptee path: %.*s",
        STR_ARG(uid), STR_ARG(job), texts[reason], STR_ARG(preemptor_path),
        STR_ARG(victim_path));
}

struct str queue_path(struct queue_engine *e, struct arena *a, struct str name)
{
    struct queue_cq *cq = cq_find(e, name);
    struct str path = str_printf(a, "/%.*s", STR_ARG(name));

    if (!cq || quota_has_cycle(&cq->node))
        return path;
    for (const struct quota_node *n = cq->node.parent; n; n = n->parent)
        path = str_printf(a, "/%.*s%.*s",
                          STR_ARG(((const struct queue_cohort *)(const void *)n)->name),
                          STR_ARG(path));
    return path;
}
