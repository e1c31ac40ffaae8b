/* workload_life.c - what one look at a Workload decides of its life */
#include "controllers/workload_life.h"

#include "controllers/queue_job.h"

#define BACKOFF_BASE span_s(60)
#define BACKOFF_MAX span_s(3600)

struct workload_rules workload_rules_default(void)
{
    return (struct workload_rules){.backoff_base = BACKOFF_BASE, .backoff_max = BACKOFF_MAX};
}

struct look {
    struct arena *a;
    const struct kueue_workload *wl;
    const struct workload_seen *seen;
    const struct workload_rules *rules;
    struct workload_plan *plan;
    struct workload_edit *e; /* the plan's */
};

/* ---- small decisions ---- */

enum workload_word workload_word(const struct kueue_workload *wl)
{
    static const struct {
        struct str type;
        enum workload_word word;
    } words[] = {
        {S_INIT("Finished"),      WORKLOAD_FINISHED},
        {S_INIT("Admitted"),      WORKLOAD_ADMITTED},
        {S_INIT("QuotaReserved"), WORKLOAD_RESERVED},
    };

    for (size_t i = 0; i < countof(words); i++)
        if (workload_is(wl, words[i].type))
            return words[i].word;
    return WORKLOAD_PENDING;
}

bool workload_is_back(enum workload_word was, enum workload_word is)
{
    return (was == WORKLOAD_RESERVED || was == WORKLOAD_ADMITTED) && is == WORKLOAD_PENDING;
}

const struct condition *workload_evicted_by(const struct kueue_workload *wl, struct str reason,
                                            bool is_prefix)
{
    const struct condition *c = workload_condition(wl, S("Evicted"));
    bool is_it = c && str_eq(c->status, S("True")) &&
                 (is_prefix ? str_starts(c->reason, reason) : str_eq(c->reason, reason));

    return is_it ? c : NULL;
}

bool workload_is_on_hold(const struct kueue_workload *wl)
{
    const struct condition *c = workload_condition(wl, S("QuotaReserved"));

    return c && str_eq(c->status, S("False")) && str_eq(c->reason, S("OnHold"));
}

bool workload_has_other_priority(const struct kueue_workload *was,
                                 const struct kueue_workload *is)
{
    const struct kueue_priority_class_ref *x = was->spec->priority_class_ref;
    const struct kueue_priority_class_ref *y = is->spec->priority_class_ref;

    if ((x && str_eq(x->kind, S("PriorityClass"))) || !y ||
        !str_eq(y->kind, S("WorkloadPriorityClass")))
        return false;
    return !x || !str_eq(x->name, y->name) || was->spec->priority != is->spec->priority;
}

struct span workload_ran_for(const struct kueue_workload *wl)
{
    const struct condition *from = workload_condition(wl, S("Admitted"));
    const struct condition *to = workload_condition(wl, S("Finished"));

    if (!workload_is(wl, S("Admitted")) || !workload_is(wl, S("Finished")))
        return (struct span){0};
    return (struct span){span_s(wl->status->accumulated_past_execution_time_seconds).ns +
                         instant_sub(to->last_transition_time, from->last_transition_time).ns};
}

/* ---- checks ---- */

static bool has_name(const struct str *at, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(at[i], name))
            return true;
    return false;
}

static int by_name(const struct str *a, const struct str *b)
{
    return str_cmp(*a, *b);
}

static struct str_list flavors_of_queue(struct arena *a, const struct kueue_cluster_queue *cq)
{
    VEC(struct str) out = {0};

    for (size_t i = 0; i < cq->spec->resource_groups.len; i++) {
        const struct kueue_resource_group *g = &cq->spec->resource_groups.at[i];
        for (size_t k = 0; k < g->flavors.len; k++)
            if (!has_name(out.at, out.len, g->flavors.at[k].name))
                vec_push_in(a, &out, g->flavors.at[k].name);
    }
    return (struct str_list){out.at, out.len};
}

static bool uses_flavor(const struct kueue_admission *admission, struct str flavor)
{
    for (size_t i = 0; i < admission->pod_set_assignments.len; i++) {
        const struct str_map *m = &admission->pod_set_assignments.at[i].flavors;
        for (size_t k = 0; k < m->len; k++)
            if (str_eq(m->at[k].value, flavor))
                return true;
    }
    return false;
}

static bool applies(const struct kueue_admission_check_strategy_rule *rule,
                    const struct str_list *flavors, const struct kueue_admission *admission)
{
    struct str_list on = rule->on_flavors.len
                             ? (struct str_list){rule->on_flavors.at, rule->on_flavors.len}
                             : *flavors;

    for (size_t i = 0; admission && i < on.len; i++)
        if (uses_flavor(admission, on.at[i]))
            return true;
    for (size_t i = 0; !admission && i < flavors->len; i++)
        if (!has_name(on.at, on.len, flavors->at[i]))
            return false;
    return !admission;
}

struct str_list workload_checks(struct arena *a, const struct kueue_workload *wl,
                                const struct kueue_cluster_queue *cq)
{
    const struct kueue_admission_checks_strategy *strategy =
        cq->spec->admission_checks_strategy;
    const struct kueue_admission *admission = wl->status ? wl->status->admission : NULL;
    struct str_list flavors = flavors_of_queue(a, cq);
    VEC(struct str) out = {0};

    for (size_t i = 0; strategy && i < strategy->admission_checks.len; i++) {
        const struct kueue_admission_check_strategy_rule *r = &strategy->admission_checks.at[i];
        if (applies(r, &flavors, admission) && !has_name(out.at, out.len, r->name))
            vec_push_in(a, &out, r->name);
    }
    if (out.len > 1)
        vec_sort(&out, by_name);
    return (struct str_list){out.at, out.len};
}

static int by_check_name(const void *a, const void *b)
{
    const struct kueue_admission_check_state *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

bool workload_sync_checks(struct workload_edit *e, struct str_list wanted)
{
    const struct kueue_admission_check_state_list *was = &e->status->admission_checks;
    struct kueue_admission_check_state_list next = {
        arena_array(e->a, struct kueue_admission_check_state, was->len + wanted.len + 1), 0};
    bool has_changed = false;

    if (wanted.len == 0) {
        has_changed = was->len != 0;
        UNSET(e->status, admission_checks);
        e->status->admission_checks.len = 0;
        e->has_changed |= has_changed;
        return has_changed;
    }
    for (size_t i = 0; i < was->len; i++)
        next.at[next.len++] = was->at[i];
    for (size_t i = 0; i < wanted.len; i++) {
        bool is_there = false;
        for (size_t k = 0; k < was->len; k++)
            is_there |= str_eq(was->at[k].name, wanted.at[i]);
        if (is_there)
            continue;
        struct kueue_admission_check_state *c = &next.at[next.len++];
        *c = (struct kueue_admission_check_state){0};
        SET(c, name, wanted.at[i]);
        SET(c, state, S("Pending"));
        SET(c, message, S("")); /* it must be there */
        SET(c, last_transition_time, e->now);
        has_changed = true;
    }
    if (next.len > wanted.len) {
        size_t n = 0;
        for (size_t i = 0; i < next.len; i++)
            if (has_name(wanted.at, wanted.len, next.at[i].name))
                next.at[n++] = next.at[i];
        has_changed |= n != next.len;
        next.len = n;
    }
    if (!has_changed)
        return false;
    sort_stable(next.at, next.len, sizeof(*next.at), by_check_name);
    SET(e->status, admission_checks, next);
    e->has_changed = true;
    return true;
}

struct instant workload_retry_time(const struct kueue_workload *wl)
{
    struct instant latest = {0};

    for (size_t i = 0; wl->status && i < wl->status->admission_checks.len; i++) {
        const struct kueue_admission_check_state *c = &wl->status->admission_checks.at[i];
        struct instant at =
            instant_add(c->last_transition_time, span_s(c->requeue_after_seconds));
        if (str_eq(c->state, S("Retry")) && IS_SET(c, requeue_after_seconds) &&
            instant_is_set(c->last_transition_time) && instant_before(latest, at))
            latest = at;
    }
    return latest;
}

/* The names of checks in a state, with their messages: `"a" (why); "b"`. */
static struct str checks_text(const struct look *l, const char *state, size_t *n)
{
    struct buf b = buf_in(l->a, 128);

    *n = 0;
    for (size_t i = 0; i < l->e->status->admission_checks.len; i++) {
        const struct kueue_admission_check_state *c = &l->e->status->admission_checks.at[i];
        if (!str_eqz(c->state, state))
            continue;
        buf_printf(&b, "%s\"%.*s\"", (*n)++ ? "; " : "", STR_ARG(c->name));
        if (c->message.len)
            buf_printf(&b, " (%.*s)", STR_ARG(c->message));
    }
    return buf_str(&b);
}

/* ---- coming back ---- */

bool workload_set_requeue(struct workload_edit *e, struct instant at, bool counts)
{
    const struct kueue_requeue_state *was = e->status->requeue_state;
    struct kueue_requeue_state *next = arena_new(e->a, struct kueue_requeue_state);
    bool is_later;

    if (was)
        *next = *was;
    is_later = instant_before(next->requeue_at, at);
    if (!is_later && !counts)
        return false;
    if (is_later)
        SET(next, requeue_at, at);
    if (counts)
        SET(next, count, next->count + 1);
    SET(e->status, requeue_state, next);
    e->has_changed = true;
    return true;
}

static void clear_requeue_time(struct workload_edit *e)
{
    struct kueue_requeue_state *next = arena_new(e->a, struct kueue_requeue_state);

    if (!e->status->requeue_state || !instant_is_set(e->status->requeue_state->requeue_at))
        return;
    *next = *e->status->requeue_state;
    UNSET(next, requeue_at);
    next->requeue_at = (struct instant){0};
    SET(e->status, requeue_state, next);
    e->has_changed = true;
}

/* base * 2^(count - 1), at most max. */
static struct span backoff(const struct workload_rules *r, int32_t count)
{
    int64_t ns = r->backoff_base.ns;

    for (int32_t i = 1; i < count && ns < r->backoff_max.ns; i++)
        ns *= 2;
    return (struct span){MIN(ns, r->backoff_max.ns)};
}

/* ---- the plan's parts ---- */

static void add_event(struct look *l, const char *type, struct str reason, struct str note)
{
    struct workload_plan *p = l->plan;

    assert(p->n_events < WORKLOAD_EVENTS_MAX);
    p->events[p->n_events++] = (struct workload_event){type, reason, note};
}

static void look_again(struct look *l, struct span after)
{
    if (!l->plan->again.ns || after.ns < l->plan->again.ns)
        l->plan->again = after;
}

static bool write_it(struct look *l)
{
    l->plan->acts |= WORKLOAD_WRITE;
    return true;
}

struct str workload_evicted_event(struct arena *a, const struct kueue_workload *wl,
                                  struct str reason, struct str cause)
{
    bool has_cause = str_eq(reason, S("Deactivated")) && cause.len;

    if (!wl->status || !wl->status->admission)
        return S("");
    return str_printf(a, "EvictedDueTo%.*s%s%.*s", STR_ARG(reason), has_cause ? "DueTo" : "",
                      STR_ARG(has_cause ? cause : S("")));
}

static bool evict(struct look *l, const char *reason, struct str message, struct str cause)
{
    struct str event = workload_evicted_event(l->a, l->wl, str_from(reason), cause);

    workload_evict_edit(l->e, str_from(reason), message, cause);
    if (event.len)
        add_event(l, "Normal", event, message);
    return write_it(l);
}

static bool is_stopped(struct str policy)
{
    return policy.len && !str_eq(policy, S("None"));
}

/* ---- 1, 2, 4: orphans, gates, the end ---- */

static bool is_being_deleted(const struct look *l)
{
    return instant_is_set(l->wl->metadata->deletion_timestamp);
}

/* True where the pass ends here. */
static bool serve_orphan(struct look *l)
{
    const struct object_meta *m = l->wl->metadata;
    bool has_job = str_map_get(&m->labels, S(QUEUE_JOB_UID_LABEL)).len != 0;
    bool finishes = !l->rules->keeps_orphans;

    if (m->owner_references.len || !(is_being_deleted(l) || (finishes && has_job)))
        return false;
    if (finishes && !is_being_deleted(l) &&
        workload_finish_edit(l->e, S("OwnerNotFound"),
                             S("The workload's owner no longer exists")))
        write_it(l);
    l->plan->acts |= WORKLOAD_LET_GO;
    return is_being_deleted(l) || !finishes;
}

static void mirror_gates(struct look *l)
{
    const struct kueue_preemption_gate_list *want = &l->wl->spec->preemption_gates;
    const struct kueue_preemption_gate_state_list *was = &l->e->status->preemption_gates;
    struct kueue_preemption_gate_state_list next = {
        arena_array(l->a, struct kueue_preemption_gate_state, was->len + want->len + 1), 0};
    size_t n_kept;

    for (size_t i = 0; i < was->len; i++)
        for (size_t k = 0; k < want->len; k++)
            if (str_eq(was->at[i].name, want->at[k].name))
                next.at[next.len++] = was->at[i];
    n_kept = next.len;
    for (size_t k = 0; k < want->len; k++) {
        bool is_there = false;
        for (size_t i = 0; i < n_kept; i++)
            is_there |= str_eq(next.at[i].name, want->at[k].name);
        if (is_there)
            continue;
        struct kueue_preemption_gate_state *g = &next.at[next.len++];
        *g = (struct kueue_preemption_gate_state){0};
        SET(g, name, want->at[k].name);
        SET(g, position, S("Closed"));
        SET(g, last_transition_time, l->e->now);
    }
    if (next.len == was->len && n_kept == was->len)
        return;
    SET(l->e->status, preemption_gates, next);
    l->e->has_changed = true;
    write_it(l);
}

static bool serve_finished(struct look *l)
{
    const struct condition *end = workload_edit_condition(l->e, S("Finished"));
    struct span left;

    if (!workload_edit_is(l->e, S("Finished")))
        return false;
    if (!l->rules->has_retention)
        return true;
    left.ns = l->rules->keep_finished.ns - instant_sub(l->e->now, end->last_transition_time).ns;
    if (left.ns > 0) {
        look_again(l, left);
        return true;
    }
    l->plan->acts |= WORKLOAD_LET_GO;
    if (is_being_deleted(l))
        return true;
    l->plan->acts |= WORKLOAD_DELETE;
    add_event(l, "Normal", S("Deleted"),
              S("Deleted finished workload due to elapsed retention"));
    return true;
}

/* ---- 5, 6 ---- */

static bool serve_retry_time(struct look *l)
{
    struct instant at = workload_retry_time(l->wl);

    return instant_before(l->e->now, at) && workload_set_requeue(l->e, at, false) &&
           write_it(l);
}

static bool uses_claims(const struct kueue_workload *wl)
{
    for (size_t i = 0; i < wl->spec->pod_sets.len; i++) {
        const struct kueue_pod_template_spec *t = wl->spec->pod_sets.at[i].template;
        if (t && t->spec && t->spec->resource_claims.len)
            return true;
    }
    return false;
}

static bool serve_devices(struct look *l)
{
    struct str why =
        S("Workload uses DRA resources but the KueueDRAIntegration feature gate is "
          "not enabled");

    if (!l->rules->refuses_devices || workload_word(l->wl) != WORKLOAD_PENDING ||
        !uses_claims(l->wl))
        return false;
    workload_unreserve(l->e, l->rules->is_coarse ? S("Inadmissible") : S("Misconfigured"), why);
    workload_set_condition(l->e, S("Requeued"), false, S("Inadmissible"), why);
    if (l->e->has_changed)
        write_it(l);
    return true;
}

/* ---- 7, 8: activity ---- */

static bool flip_requeued(struct look *l, const char *from, const char *to, const char *message)
{
    const struct condition *c = workload_edit_condition(l->e, S("Requeued"));

    if (!c || !str_eq(c->status, S("False")) || !str_eqz(c->reason, from))
        return false;
    workload_set_condition(l->e, S("Requeued"), true, str_from(to), str_from(message));
    return write_it(l);
}

static bool serve_active(struct look *l)
{
    const struct kueue_requeue_state *state = l->e->status->requeue_state;

    if (workload_edit_is(l->e, S("DeactivationTarget"))) {
        l->plan->acts |= WORKLOAD_DEACTIVATE;
        return true;
    }
    if (state && instant_is_set(state->requeue_at)) {
        struct span left = instant_sub(state->requeue_at, l->e->now);
        if (left.ns > 0) {
            look_again(l, left);
            return true;
        }
        if (workload_word(l->wl) == WORKLOAD_PENDING) {
            clear_requeue_time(l->e);
            return write_it(l);
        }
    }
    return flip_requeued(l, "Deactivated", "Reactivated", "The workload was reactivated") ||
           flip_requeued(l, "PodsReadyTimeout", "BackoffFinished",
                         "The workload backoff was finished") ||
           flip_requeued(l, "AdmissionCheck", "BackoffFinished",
                         "The workload backoff was finished");
}

static bool serve_inactive(struct look *l)
{
    const struct condition *why = workload_edit_condition(l->e, S("DeactivationTarget"));
    struct str message = S("The workload is deactivated"), cause = S("");

    if (!workload_edit_is(l->e, S("Evicted"))) {
        if (why) {
            cause = str_copy(l->a, why->reason);
            message = str_printf(l->a, "The workload is deactivated due to %.*s",
                                 STR_ARG(why->message));
        }
        workload_drop_condition(l->e, S("DeactivationTarget"));
        UNSET(l->e->status, requeue_state);
        l->e->status->requeue_state = NULL;
        return evict(l, "Deactivated", message, cause);
    }
    if (!l->e->status->requeue_state)
        return false;
    UNSET(l->e->status, requeue_state);
    l->e->status->requeue_state = NULL;
    workload_drop_condition(l->e, S("DeactivationTarget"));
    l->e->has_changed = true;
    return write_it(l);
}

/* ---- 9, 10, 11: queues that start again, gates, checks ---- */

static bool serve_gates(struct look *l)
{
    struct str by = str_map_get(&l->wl->metadata->annotations, S(WORKLOAD_GATED_BY));
    const struct condition *quota = workload_edit_condition(l->e, S("QuotaReserved"));
    bool is_gated = quota && str_eq(quota->reason, S("AdmissionGated"));
    struct str note = S("AdmissionGatedBy cleared, waiting for quota reservation");

    if (l->rules->ignores_gates || (by.len != 0) == is_gated)
        return false;
    if (by.len) {
        note = str_printf(l->a, "Admission is gated by: %.*s", STR_ARG(by));
        workload_unreserve(l->e, S("AdmissionGated"), note);
        add_event(l, "Normal", S("AdmissionGated"), note);
    } else {
        workload_unreserve(l->e, l->rules->is_coarse ? S("Pending") : S("PendingEvaluation"),
                           note);
        add_event(l, "Normal", S("AdmissionGateCleared"), note);
    }
    return write_it(l);
}

static bool serve_queues(struct look *l)
{
    const struct workload_seen *s = l->seen;

    if (s->has_lq && !is_stopped(s->lq_stop) &&
        flip_requeued(l, "LocalQueueStopped", "LocalQueueRestarted",
                      "The LocalQueue was restarted after being stopped"))
        return true;
    if (serve_gates(l))
        return true;
    if (!s->cq)
        return false;
    if (!is_stopped(s->cq_stop) &&
        flip_requeued(l, "ClusterQueueStopped", "ClusterQueueRestarted",
                      "The ClusterQueue was restarted after being stopped"))
        return true;
    if (!workload_sync_checks(l->e, workload_checks(l->a, l->wl, s->cq)))
        return false;
    l->plan->acts |= WORKLOAD_REPLACE;
    return true;
}

/* ---- 12: why it waits (3.9) ---- */

/* A reason that only a decision may change. */
static bool is_kept(struct str reason)
{
    static const struct str kept[] = {
        S_INIT("NoMatchingFlavor"),
        S_INIT("WaitingForQuota"),
        S_INIT("ExceedsMaxQuota"),
        S_INIT("TopologyPlacementFailed"),
        S_INIT("WaitingForPreemptedWorkloads"),
        S_INIT("WaitingForPodsReady"),
        S_INIT("PendingEvaluation"),
    };

    return has_name(kept, countof(kept), reason);
}

/* A reason that an equal one's failure replaces. */
static bool is_vague(struct str reason)
{
    static const struct str vague[] = {S_INIT(""), S_INIT("Pending"),
                                       S_INIT("PendingEvaluation"), S_INIT("Deactivated"),
                                       S_INIT("Suspended")};

    return has_name(vague, countof(vague), reason);
}

static void waits(struct look *l, const char *reason, struct str message)
{
    workload_unreserve(l->e, l->rules->is_coarse ? S("Inadmissible") : str_from(reason),
                       message);
}

/* What is wrong with its queues; true where something is. */
static bool say_queue(struct look *l)
{
    const struct workload_seen *s = l->seen;
    struct str lq = l->wl->spec->queue_name;

    if (!s->has_lq)
        waits(l, "Misconfigured",
              str_printf(l->a, "LocalQueue %.*s doesn't exist", STR_ARG(lq)));
    else if (is_stopped(s->lq_stop))
        waits(l, "Suspended", str_printf(l->a, "LocalQueue %.*s is inactive", STR_ARG(lq)));
    else if (!s->has_cq)
        waits(l, "Misconfigured",
              str_printf(l->a, "ClusterQueue %.*s doesn't exist", STR_ARG(s->cq_name)));
    else if (!s->is_cq_active)
        waits(l, "Suspended",
              str_printf(l->a, "ClusterQueue %.*s is inactive", STR_ARG(s->cq_name)));
    else
        return false;
    return true;
}

struct span workload_silence(const struct kueue_workload *wl, struct instant now)
{
    static const struct str given_back[] = {S_INIT("PendingEvaluation"), S_INIT("Pending")};
    const struct condition *quota = workload_condition(wl, S("QuotaReserved"));

    if (!quota || !has_name(given_back, countof(given_back), quota->reason))
        return (struct span){0};
    struct instant end = instant_add(quota->last_transition_time, WORKLOAD_SILENCE);
    return (struct span){MAX(instant_sub(end, now).ns, INT64_C(0))};
}

static void say_why(struct look *l)
{
    const struct condition *quota = workload_edit_condition(l->e, S("QuotaReserved"));
    struct str by = str_map_get(&l->wl->metadata->annotations, S(WORKLOAD_GATED_BY));
    struct str reason = quota ? quota->reason : S("");
    bool may_begin = quota || l->rules->is_explicit;

    if (l->rules->is_coarse) {
        say_queue(l);
        return;
    }
    if (!workload_is_active(l->wl)) {
        waits(l, "Deactivated", S("The workload is deactivated"));
        return;
    }
    if (workload_is_on_hold(l->wl) || say_queue(l))
        return;
    if (l->seen->is_silent && !l->seen->misfit.len && !by.len)
        return;
    if (l->seen->misfit.len)
        waits(l, "Misconfigured", l->seen->misfit);
    else if (by.len && !l->rules->ignores_gates)
        waits(l, "AdmissionGated",
              str_printf(l->a, "Admission is gated by: %.*s", STR_ARG(by)));
    else if (l->seen->equal_failed.len && may_begin && is_vague(reason))
        workload_unreserve(l->e, l->seen->equal_failed,
                           S("Bypassed scheduling evaluation because an equivalent workload "
                             "recently failed"));
    else if (may_begin && !is_kept(reason))
        waits(l, "PendingEvaluation",
              S("Workload is pending evaluation in the scheduling queue"));
}

static void serve_unadmitted(struct look *l)
{
    if (workload_edit_is(l->e, S("Admitted")))
        return;
    bool had_changed = l->e->has_changed;
    l->e->has_changed = false;
    if (!workload_edit_is(l->e, S("QuotaReserved")))
        say_why(l);
    workload_sync_admitted(l->e);
    if (l->e->has_changed)
        write_it(l);
    l->e->has_changed |= had_changed;
    if (workload_edit_is(l->e, S("Admitted")))
        add_event(
            l, "Normal", S("Admitted"),
            str_printf(l->a, "Admitted by ClusterQueue %.*s",
                       STR_ARG(l->e->status->admission ? l->e->status->admission->cluster_queue
                                                       : l->seen->cq_name)));
}

/* ---- 13: who holds quota ---- */

static bool serve_checks(struct look *l)
{
    size_t n;
    struct str rejected = checks_text(l, "Rejected", &n);

    if (n) {
        struct str text =
            str_printf(l->a, "%s in Rejected state: %.*s",
                       n == 1 ? "AdmissionCheck" : "AdmissionChecks", STR_ARG(rejected));
        if (workload_edit_is(l->e, S("DeactivationTarget")))
            return true;
        workload_set_condition(l->e, S("DeactivationTarget"), true, S("AdmissionCheck"), text);
        add_event(l, "Warning", S("AdmissionCheckRejected"),
                  str_printf(l->a, "Deactivated due to %.*s", STR_ARG(text)));
        return write_it(l);
    }
    struct str retried = checks_text(l, "Retry", &n);
    if (!n)
        return false;
    return evict(l, "AdmissionCheck",
                 str_printf(l->a, "Evicted due to %s in Retry state: %.*s",
                            n == 1 ? "AdmissionCheck" : "AdmissionChecks", STR_ARG(retried)),
                 S(""));
}

static bool unreserve(struct look *l, const char *reason, struct str message)
{
    waits(l, reason, message);
    return write_it(l);
}

static bool serve_stops(struct look *l)
{
    const struct workload_seen *s = l->seen;
    struct str lq = l->wl->spec->queue_name, drain = S("HoldAndDrain");

    if (workload_edit_is(l->e, S("Admitted"))) {
        if (workload_edit_is(l->e, S("Evicted")))
            return false;
        if (s->has_lq && str_eq(s->lq_stop, drain))
            return evict(l, "LocalQueueStopped", S("The LocalQueue is stopped"), S(""));
        if (str_eq(s->cq_stop, drain))
            return evict(l, "ClusterQueueStopped", S("The ClusterQueue is stopped"), S(""));
        return false;
    }
    if (!s->has_lq)
        return unreserve(
            l, "Misconfigured",
            str_printf(l->a, "LocalQueue %.*s is terminating or missing", STR_ARG(lq)));
    if (is_stopped(s->lq_stop))
        return unreserve(l, "Suspended",
                         str_printf(l->a, "LocalQueue %.*s is stopped", STR_ARG(lq)));
    if (!s->has_cq)
        return unreserve(l, "Misconfigured",
                         str_printf(l->a, "ClusterQueue %.*s is terminating or missing",
                                    STR_ARG(s->cq_name)));
    if (is_stopped(s->cq_stop))
        return unreserve(l, "Suspended",
                         str_printf(l->a, "ClusterQueue %.*s is stopped", STR_ARG(s->cq_name)));
    return false;
}

bool workload_pods_left(const struct kueue_workload *wl, const struct workload_rules *rules,
                        struct instant now, struct span *left, struct str *cause)
{
    const struct condition *ready = workload_condition(wl, S("PodsReady"));
    const struct condition *admitted = workload_condition(wl, S("Admitted"));
    struct span limit = rules->start_within;
    struct instant since;

    if (!rules->waits_for_pods || !workload_is(wl, S("Admitted")) || !workload_is_active(wl) ||
        workload_is(wl, S("Evicted")) || workload_is(wl, S("PodsReady")))
        return false;
    since = admitted->last_transition_time;
    struct str why = S("WaitForStart");
    if (ready && str_eq(ready->reason, S("WaitForRecovery"))) {
        limit = rules->recover_within;
        if (limit.ns == 0)
            return false;
        since = ready->last_transition_time;
        why = S("WaitForRecovery");
    } else if (ready && !str_eq(ready->reason, S("WaitForStart")) &&
               !str_eq(ready->reason, S("PodsReady"))) {
        return false;
    }
    *cause = why;
    left->ns = MAX(limit.ns - instant_sub(now, since).ns, INT64_C(0));
    return true;
}

struct workload_readiness workload_readiness(const struct kueue_workload *wl,
                                             bool all_are_ready)
{
    const struct condition *was = workload_condition(wl, S("PodsReady"));
    bool is_recovery = was && (str_eq(was->reason, S("WaitForRecovery")) ||
                               str_eq(was->reason, S("Recovered")));

    if (workload_is(wl, S("Admitted")) && all_are_ready)
        return (struct workload_readiness){
            true, is_recovery ? S("Recovered") : S("Started"),
            S("All pods reached readiness and the workload is running")};
    if (workload_is(wl, S("Admitted")) && was &&
        (str_eq(was->status, S("True")) || str_eq(was->reason, S("WaitForRecovery"))))
        return (struct workload_readiness){
            false, S("WaitForRecovery"),
            S("At least one pod has failed, waiting for recovery")};
    return (struct workload_readiness){false, S("WaitForStart"),
                                       S("Not all pods are ready or succeeded")};
}

/* 7.5; true where it was too long. */
static bool serve_pods(struct look *l)
{
    const struct kueue_requeue_state *state = l->e->status->requeue_state;
    int32_t count = (state ? state->count : 0) + 1;
    const struct object_meta *m = l->wl->metadata;
    struct span left;
    struct str cause;

    if (!workload_pods_left(l->wl, l->rules, l->e->now, &left, &cause))
        return false;
    if (left.ns > 0) {
        look_again(l, left);
        return false;
    }
    if (l->rules->has_requeue_limit && count > l->rules->requeue_limit) {
        workload_set_condition(l->e, S("DeactivationTarget"), true, S("RequeuingLimitExceeded"),
                               S("exceeding the maximum number of re-queuing retries"));
        return write_it(l);
    }
    workload_set_requeue(l->e, instant_add(l->e->now, backoff(l->rules, count)), true);
    return evict(l, "PodsReadyTimeout",
                 str_printf(l->a, "Exceeded the PodsReady timeout %.*s/%.*s",
                            STR_ARG(m->namespace), STR_ARG(m->name)),
                 cause);
}

/* 7.7 */
static void serve_deadline(struct look *l)
{
    const struct condition *admitted = workload_edit_condition(l->e, S("Admitted"));
    const struct kueue_workload_spec *spec = l->wl->spec;

    if (!IS_SET(spec, maximum_execution_time_seconds) ||
        !workload_edit_is(l->e, S("Admitted")) ||
        workload_edit_is(l->e, S("DeactivationTarget")))
        return;
    int64_t limit = spec->maximum_execution_time_seconds -
                    l->e->status->accumulated_past_execution_time_seconds;
    struct span left = {span_s(limit).ns -
                        instant_sub(l->e->now, admitted->last_transition_time).ns};
    if (left.ns > 0) {
        look_again(l, left);
        return;
    }
    UNSET(l->e->status, accumulated_past_execution_time_seconds);
    l->e->status->accumulated_past_execution_time_seconds = 0;
    workload_set_condition(l->e, S("DeactivationTarget"), true,
                           S("MaximumExecutionTimeExceeded"),
                           S("exceeding the maximum execution time"));
    add_event(l, "Warning", S("MaximumExecutionTimeExceeded"),
              str_printf(l->a, "The maximum execution time (%ds) exceeded",
                         spec->maximum_execution_time_seconds));
    write_it(l);
}

/* ---- one look ---- */

struct workload_plan workload_life(struct arena *a, const struct kueue_workload *wl,
                                   const struct workload_seen *seen,
                                   const struct workload_rules *rules, struct instant now)
{
    struct workload_plan p = {.edit = workload_edit(a, wl, now)};
    struct look l = {a, wl, seen, rules, &p, &p.edit};

    p.edit.is_coarse = rules->is_coarse;
    if (serve_orphan(&l)) /* 1 */
        return p;
    if (rules->mirrors_gates) /* 2 */
        mirror_gates(&l);
    if (serve_finished(&l) || serve_retry_time(&l) || serve_devices(&l)) /* 4, 5, 6 */
        return p;
    if (workload_is_active(wl) ? serve_active(&l) : serve_inactive(&l)) /* 7, 8 */
        return p;
    if (serve_queues(&l)) /* 9, 10, 11 */
        return p;
    serve_unadmitted(&l); /* 12 */
    if (!workload_edit_is(&p.edit, S("QuotaReserved")))
        return p;
    if (!workload_edit_is(&p.edit, S("Evicted")) && serve_checks(&l)) /* 13 */
        return p;
    if (serve_stops(&l) || serve_pods(&l))
        return p;
    serve_deadline(&l);
    return p;
}
