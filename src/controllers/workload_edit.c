/* workload_edit.c - changing a Workload's status, and the request that writes the change */
#include "controllers/workload_edit.h"

#include "api/kinds.h"
#include "schema/codec.h"

/* What the manager owns of the conditions, in the order in which it sends them. */
static const struct str owned_conditions[] = {
    S_INIT("QuotaReserved"),
    S_INIT("BlockedOnPreemptionGates"),
    S_INIT("Evicted"),
    S_INIT("Admitted"),
    S_INIT("Preempted"),
    S_INIT("Requeued"),
    S_INIT("DeactivationTarget"),
    S_INIT("Finished"),
    S_INIT("PodsReady"),
};

struct workload_edit workload_edit(struct arena *a, const struct kueue_workload *wl,
                                   struct instant now)
{
    struct workload_edit e = {.a = a, .was = wl, .now = now};
    struct condition_list *l;

    e.status = arena_new(a, struct kueue_workload_status);
    if (wl->status)
        *e.status = *wl->status;
    l = &e.status->conditions;
    struct condition *copy = arena_array(a, struct condition, l->len + 8);
    if (l->len)
        memcpy(copy, l->at, l->len * sizeof(*copy));
    l->at = copy;
    return e;
}

/* ---- what holds ---- */

static struct condition *find(const struct condition_list *l, struct str type)
{
    for (size_t i = 0; i < l->len; i++)
        if (str_eq(l->at[i].type, type))
            return &l->at[i];
    return NULL;
}

static bool is_true(const struct condition *c)
{
    return c && str_eq(c->status, S("True"));
}

const struct condition *workload_condition(const struct kueue_workload *wl, struct str type)
{
    return wl->status ? find(&wl->status->conditions, type) : NULL;
}

bool workload_is(const struct kueue_workload *wl, struct str type)
{
    return is_true(workload_condition(wl, type));
}

bool workload_is_active(const struct kueue_workload *wl)
{
    return !IS_SET(wl->spec, active) || wl->spec->active;
}

const struct condition *workload_edit_condition(const struct workload_edit *e, struct str type)
{
    return find(&e->status->conditions, type);
}

bool workload_edit_is(const struct workload_edit *e, struct str type)
{
    return is_true(workload_edit_condition(e, type));
}

/* ---- conditions ---- */

struct str workload_clip(struct arena *a, struct str message)
{
    if (message.len <= WORKLOAD_MESSAGE_MAX)
        return message;
    return str_printf(a, "%.*s ...", STR_ARG(str_slice(message, 0, WORKLOAD_MESSAGE_MAX - 4)));
}

static bool set_condition(struct workload_edit *e, struct str type, bool holds,
                          struct str reason, struct str message, int64_t generation)
{
    struct condition_list *l = &e->status->conditions;
    struct condition *was = find(l, type), next = {0};
    struct str status = holds ? S("True") : S("False");

    message = workload_clip(e->a, message);
    if (was && str_eq(was->status, status) && str_eq(was->reason, reason) &&
        str_eq(was->message, message) && was->observed_generation == generation)
        return false;
    SET(&next, type, type);
    SET(&next, status, status);
    if (generation)
        SET(&next, observed_generation, generation);
    SET(&next, last_transition_time,
        was && str_eq(was->status, status) ? was->last_transition_time : e->now);
    SET(&next, reason, reason);
    SET(&next, message, message);
    if (was)
        *was = next;
    else
        l->at[l->len++] = next;
    SET(e->status, conditions, *l);
    e->has_changed = true;
    return true;
}

bool workload_set_condition(struct workload_edit *e, struct str type, bool holds,
                            struct str reason, struct str message)
{
    return set_condition(e, type, holds, reason, message, e->was->metadata->generation);
}

bool workload_drop_condition(struct workload_edit *e, struct str type)
{
    struct condition_list *l = &e->status->conditions;
    struct condition *was = find(l, type);

    if (!was)
        return false;
    size_t at = (size_t)(was - l->at);
    memmove(was, was + 1, (l->len - at - 1) * sizeof(*was));
    l->len--;
    e->has_changed = true;
    return true;
}

/* ---- 7.1: reservation and admission ---- */

void workload_reserve(struct workload_edit *e, const struct kueue_admission *admission)
{
    static const struct str undone[] = {S_INIT("Evicted"), S_INIT("Preempted"),
                                        S_INIT("BlockedOnPreemptionGates")};

    SET(e->status, admission, (struct kueue_admission *)(uintptr_t)admission);
    UNSET(e->status, resource_requests);
    e->has_changed = true;
    workload_set_condition(
        e, S("QuotaReserved"), true, S("QuotaReserved"),
        str_concat(e->a, S("Quota reserved in ClusterQueue "), admission->cluster_queue));
    for (size_t i = 0; i < countof(undone); i++) {
        const struct condition *c = find(&e->status->conditions, undone[i]);
        if (is_true(c))
            workload_set_condition(e, undone[i], false, S("QuotaReserved"),
                                   str_concat(e->a, S("Previously: "), c->message));
    }
}

static bool are_checks_ready(const struct workload_edit *e)
{
    for (size_t i = 0; i < e->status->admission_checks.len; i++)
        if (!str_eq(e->status->admission_checks.at[i].state, S("Ready")))
            return false;
    return true;
}

static bool is_topology_ready(const struct workload_edit *e)
{
    const struct kueue_admission *admission = e->status->admission;

    for (size_t i = 0; admission && i < admission->pod_set_assignments.len; i++) {
        const struct kueue_pod_set_assignment *p = &admission->pod_set_assignments.at[i];
        if (str_eq(p->delayed_topology_request, S("Pending")) && !p->topology_assignment)
            return false;
    }
    return true;
}

static bool set_not_admitted(struct workload_edit *e, const char *reason, const char *message)
{
    return workload_set_condition(e, S("Admitted"), false, str_from(reason), str_from(message));
}

bool workload_sync_admitted(struct workload_edit *e)
{
    const struct condition *was = find(&e->status->conditions, S("Admitted"));
    const struct condition *quota = find(&e->status->conditions, S("QuotaReserved"));
    bool is_reserved = is_true(quota), is_ready = are_checks_ready(e), has_changed;
    bool was_admitted = is_true(was);
    bool is_admitted = is_reserved && is_ready && is_topology_ready(e);
    struct instant since = was ? was->last_transition_time : (struct instant){0};

    if (e->is_coarse ? was_admitted == is_admitted : !was && !quota)
        return false;
    if (is_admitted)
        has_changed = workload_set_condition(e, S("Admitted"), true, S("Admitted"),
                                             S("The workload is admitted"));
    else if (!is_reserved && !is_ready && e->is_coarse)
        has_changed =
            set_not_admitted(e, "NoReservationUnsatisfiedChecks",
                             "The workload has no reservation and not all checks ready");
    else if (!is_reserved)
        has_changed = set_not_admitted(e, "NoReservation", "The workload has no reservation");
    else if (!is_ready)
        has_changed = set_not_admitted(
            e, e->is_coarse ? "UnsatisfiedChecks" : "UnsatisfiedAdmissionChecks",
            "The workload has not all checks ready");
    else
        has_changed = set_not_admitted(e, "PendingDelayedTopologyRequests",
                                       "There are pending delayed topology requests");
    if (was_admitted && !is_admitted && instant_is_set(since)) {
        int32_t past = e->status->accumulated_past_execution_time_seconds;
        past += (int32_t)(instant_sub(e->now, since).ns / SECOND_NS);
        SET(e->status, accumulated_past_execution_time_seconds, past);
    }
    return has_changed;
}

void workload_unreserve(struct workload_edit *e, struct str reason, struct str message)
{
    workload_set_condition(e, S("QuotaReserved"), false, reason, message);
    if (e->status->admission)
        e->has_changed = true;
    UNSET(e->status, admission);
    workload_sync_admitted(e);
}

/* ---- 7.3: eviction ---- */

static void reset_checks(struct workload_edit *e)
{
    struct kueue_admission_check_state_list *l = &e->status->admission_checks;
    struct kueue_admission_check_state *copy =
        arena_array(e->a, struct kueue_admission_check_state, l->len + 1);

    for (size_t i = 0; i < l->len; i++) {
        const struct kueue_admission_check_state *was = &l->at[i];
        struct kueue_admission_check_state next = {0};
        if (str_eq(was->state, S("Pending"))) {
            copy[i] = *was;
            continue;
        }
        SET(&next, name, was->name);
        SET(&next, state, S("Pending"));
        SET(&next, last_transition_time, e->now);
        SET(&next, message,
            str_printf(e->a, "Reset to Pending after eviction. Previously: %.*s",
                       STR_ARG(was->state)));
        if (IS_SET(was, requeue_after_seconds))
            SET(&next, requeue_after_seconds, was->requeue_after_seconds);
        if (str_eq(was->state, S("Retry")))
            SET(&next, retry_count, was->retry_count + 1);
        copy[i] = next;
    }
    l->at = copy;
}

static void close_gates(struct workload_edit *e)
{
    struct kueue_preemption_gate_state_list *l = &e->status->preemption_gates;
    struct kueue_preemption_gate_state *copy =
        arena_array(e->a, struct kueue_preemption_gate_state, l->len + 1);

    for (size_t i = 0; i < l->len; i++) {
        copy[i] = l->at[i];
        if (str_eq(copy[i].position, S("Closed")))
            continue;
        SET(&copy[i], position, S("Closed"));
        SET(&copy[i], last_transition_time, e->now);
    }
    l->at = copy;
}

static void count_eviction(struct workload_edit *e, struct str reason, struct str cause)
{
    const struct kueue_scheduling_stats *was = e->status->scheduling_stats;
    struct kueue_scheduling_stats *stats = arena_new(e->a, struct kueue_scheduling_stats);
    size_t n = was ? was->evictions.len : 0;
    struct kueue_workload_scheduling_stats_eviction_list l = {
        arena_array(e->a, struct kueue_workload_scheduling_stats_eviction, n + 1), n};

    if (n)
        memcpy(l.at, was->evictions.at, n * sizeof(*l.at));
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(l.at[i].reason, reason) || !str_eq(l.at[i].underlying_cause, cause))
            continue;
        SET(&l.at[i], count, l.at[i].count + 1);
        SET(stats, evictions, l);
        SET(e->status, scheduling_stats, stats);
        return;
    }
    struct kueue_workload_scheduling_stats_eviction *one = &l.at[l.len++];
    *one = (struct kueue_workload_scheduling_stats_eviction){0};
    SET(one, reason, reason);
    SET(one, underlying_cause, cause);
    SET(one, count, 1);
    SET(stats, evictions, l);
    SET(e->status, scheduling_stats, stats);
}

void workload_evict_edit(struct workload_edit *e, struct str reason, struct str message,
                         struct str cause)
{
    struct str full = reason;

    if (str_eq(reason, S("Deactivated")) && cause.len)
        full = str_printf(e->a, "DeactivatedDueTo%.*s", STR_ARG(cause));
    workload_set_condition(e, S("Evicted"), true, full, message);
    UNSET(e->status, cluster_name);
    UNSET(e->status, nominated_cluster_names);
    reset_checks(e);
    UNSET(e->status, unhealthy_nodes);
    if (workload_edit_is(e, S("BlockedOnPreemptionGates")))
        workload_set_condition(e, S("BlockedOnPreemptionGates"), false, full, message);
    close_gates(e);
    count_eviction(e, reason, cause);
    e->has_changed = true;
}

void workload_preempt_edit(struct workload_edit *e, struct str reason, struct str message)
{
    set_condition(e, S("Preempted"), true, reason, message, 0);
    workload_evict_edit(e, S("Preempted"), message, S(""));
}

void workload_requeue_edit(struct workload_edit *e, struct str reason, struct str message)
{
    static const struct str at_once[] = {S_INIT("Preempted"), S_INIT("NodeFailures")};
    bool is_now = false;

    for (size_t i = 0; i < countof(at_once); i++)
        is_now |= str_eq(reason, at_once[i]);
    workload_set_condition(e, S("Requeued"), is_now, reason, message);
}

bool workload_finish_edit(struct workload_edit *e, struct str reason, struct str message)
{
    if (workload_edit_is(e, S("Finished")))
        return false;
    return workload_set_condition(e, S("Finished"), true, reason, message);
}

/* ---- the request ---- */

static struct condition_list owned(const struct workload_edit *e)
{
    struct condition_list out = {arena_array(e->a, struct condition, countof(owned_conditions)),
                                 0};

    for (size_t i = 0; i < countof(owned_conditions); i++) {
        const struct condition *c = find(&e->status->conditions, owned_conditions[i]);
        if (c)
            out.at[out.len++] = *c;
    }
    return out;
}

static bool has_requeue_state(const struct kueue_workload_status *s)
{
    return s->requeue_state &&
           (IS_SET(s->requeue_state, count) || instant_is_set(s->requeue_state->requeue_at));
}

/* A check's time is now where it has none. */
static struct kueue_admission_check_state_list timed_checks(const struct workload_edit *e)
{
    struct kueue_admission_check_state_list l = e->status->admission_checks;
    struct kueue_admission_check_state *copy =
        arena_array(e->a, struct kueue_admission_check_state, l.len + 1);

    for (size_t i = 0; i < l.len; i++) {
        copy[i] = l.at[i];
        if (!instant_is_set(copy[i].last_transition_time))
            SET(&copy[i], last_transition_time, e->now);
    }
    l.at = copy;
    return l;
}

/* All that the manager owns, and nothing that is empty. */
static struct kueue_workload_status *owned_status(const struct workload_edit *e)
{
    const struct kueue_workload_status *s = e->status;
    struct kueue_workload_status *out = arena_new(e->a, struct kueue_workload_status);
    struct condition_list conditions = owned(e);

    if (s->admission)
        SET(out, admission, s->admission);
    if (has_requeue_state(s))
        SET(out, requeue_state, s->requeue_state);
    if (!s->admission && s->resource_requests.len)
        SET(out, resource_requests, s->resource_requests);
    if (conditions.len)
        SET(out, conditions, conditions);
    if (s->accumulated_past_execution_time_seconds)
        SET(out, accumulated_past_execution_time_seconds,
            s->accumulated_past_execution_time_seconds);
    if (s->scheduling_stats)
        SET(out, scheduling_stats, s->scheduling_stats);
    if (s->cluster_name.len)
        SET(out, cluster_name, s->cluster_name);
    if (s->nominated_cluster_names.len)
        SET(out, nominated_cluster_names, s->nominated_cluster_names);
    if (s->unhealthy_nodes.len)
        SET(out, unhealthy_nodes, s->unhealthy_nodes);
    if (s->preemption_gates.len)
        SET(out, preemption_gates, s->preemption_gates);
    if (s->admission_checks.len)
        SET(out, admission_checks, timed_checks(e));
    return out;
}

static struct object_meta *identity(const struct workload_edit *e, bool is_strict)
{
    const struct object_meta *was = e->was->metadata;
    struct object_meta *out = arena_new(e->a, struct object_meta);

    SET(out, name, was->name);
    if (was->namespace.len)
        SET(out, namespace, was->namespace);
    if (was->uid.len)
        SET(out, uid, was->uid);
    if (was->generation)
        SET(out, generation, was->generation);
    if (was->labels.len)
        SET(out, labels, was->labels);
    if (was->annotations.len)
        SET(out, annotations, was->annotations);
    if (is_strict && was->resource_version.len)
        SET(out, resource_version, was->resource_version);
    return out;
}

static const struct json *apply_body(const struct workload_edit *e, bool is_strict)
{
    struct kueue_workload *wl = arena_new(e->a, struct kueue_workload);

    SET(wl, api_version, kind_kueue_workload.api_version);
    SET(wl, kind, kind_kueue_workload.kind);
    SET(wl, metadata, identity(e, is_strict));
    SET(wl, status, owned_status(e));
    return json_new(e->a, schema_encode(e->a, kind_kueue_workload.schema, wl));
}

static bool is_empty(const struct json *v)
{
    return !json_has(v) ||
           ((v->type == JSON_OBJECT || v->type == JSON_ARRAY || v->type == JSON_STRING) &&
            v->len == 0);
}

/* Keys of the status that differ; lists go whole, what became empty as null. */
static const struct json *merge_body(const struct workload_edit *e)
{
    static const struct kueue_workload_status nothing;
    const struct schema *type = schema_member(kind_kueue_workload.schema, S("status"));
    struct json was = schema_encode(e->a, type, e->was->status ? e->was->status : &nothing);
    struct json now = schema_encode(e->a, type, e->status);
    struct json_obj status = obj_in(e->a), meta = obj_in(e->a), body = obj_in(e->a);

    for (size_t i = 0; i < type->n_fields; i++) {
        struct str name = type->fields[i].name;
        const struct json *x = json_get(&was, name), *y = json_get(&now, name);
        if (json_eq(x, y) || (is_empty(x) && is_empty(y)))
            continue;
        obj_add(&status, name, is_empty(y) ? json_of_null() : *y);
    }
    if (e->was->metadata->resource_version.len) {
        obj_setz(&meta, "resourceVersion", json_of_str(e->was->metadata->resource_version));
        obj_setz(&body, "metadata", obj_done(&meta));
    }
    obj_setz(&body, "status", obj_done(&status));
    return json_new(e->a, obj_done(&body));
}

struct workload_request workload_request(const struct workload_edit *e,
                                         struct workload_request_options options)
{
    if (options.use_merge_patch)
        return (struct workload_request){.type = CLIENT_PATCH_MERGE, .body = merge_body(e)};
    return (struct workload_request){
        .type = CLIENT_APPLY,
        .body = apply_body(e, !options.is_loose),
        .options = {.manager = S(WORKLOAD_MANAGER), .force = true},
    };
}
