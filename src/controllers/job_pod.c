/* job_pod.c - reading one pod for the Job controller */
#include "controllers/job_pod.h"

#include "api/batch_v1.h"

/* ---- container states ---- */

static const struct container_state_terminated *terminated(const struct container_status *c)
{
    return c->state ? c->state->terminated : NULL;
}

static bool is_restartable_init(const struct pod *pod, struct str name)
{
    const struct container_list *l = pod->spec ? &pod->spec->init_containers : NULL;

    for (size_t i = 0; l && i < l->len; i++)
        if (str_eq(l->at[i].name, name))
            return str_eq(l->at[i].restart_policy, S("Always"));
    return false;
}

/* The latest end of all of these; 0 where there are none or one has not ended. */
static struct instant last_end(const struct pod *pod, const struct container_status_list *l,
                               bool only_restartable, bool *has_all)
{
    struct instant last = {0};

    for (size_t i = 0; i < l->len; i++) {
        if (only_restartable && !is_restartable_init(pod, l->at[i].name))
            continue;
        const struct container_state_terminated *t = terminated(&l->at[i]);
        if (!t || !instant_is_set(t->finished_at)) {
            *has_all = false;
            return (struct instant){0};
        }
        if (instant_before(last, t->finished_at))
            last = t->finished_at;
    }
    return last;
}

static const struct pod_condition *condition_of(const struct pod *pod, struct str type)
{
    const struct pod_condition_list *l = pod->status ? &pod->status->conditions : NULL;

    for (size_t i = 0; l && i < l->len; i++)
        if (str_eq(l->at[i].type, type))
            return &l->at[i];
    return NULL;
}

struct instant job_pod_finish_time(const struct pod *pod)
{
    const struct pod_condition *ready = condition_of(pod, S("Ready"));
    const struct object_meta *meta = pod->metadata;
    bool has_all = true;

    if (pod->status && pod->status->container_statuses.len) {
        struct instant main = last_end(pod, &pod->status->container_statuses, false, &has_all);
        struct instant init =
            has_all ? last_end(pod, &pod->status->init_container_statuses, true, &has_all)
                    : (struct instant){0};
        if (has_all)
            return instant_before(main, init) ? init : main;
    }
    if (ready && str_eq(ready->status, S("False")) &&
        instant_is_set(ready->last_transition_time))
        return ready->last_transition_time;
    if (instant_is_set(meta->deletion_timestamp))
        return instant_add(meta->deletion_timestamp,
                           span_s(-meta->deletion_grace_period_seconds));
    return meta->creation_timestamp;
}

/* ---- podFailurePolicy ---- */

static bool code_matches(const struct pod_failure_policy_on_exit_codes_requirement *r,
                         int32_t code)
{
    bool is_in = false;

    for (size_t i = 0; i < r->values.len && !is_in; i++)
        is_in = r->values.at[i] == code;
    if (str_eq(r->operator, S("In")))
        return is_in;
    return str_eq(r->operator, S("NotIn")) && !is_in;
}

static const struct container_status *
container_matching(const struct pod_failure_policy_on_exit_codes_requirement *r,
                   const struct container_status_list *l)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct container_state_terminated *t = terminated(&l->at[i]);
        if (IS_SET(r, container_name) && !str_eq(r->container_name, l->at[i].name))
            continue;
        if (t && t->exit_code && code_matches(r, t->exit_code))
            return &l->at[i];
    }
    return NULL;
}

static const struct pod_condition *
pod_condition_matching(const struct pod_failure_policy_rule *rule, const struct pod *pod)
{
    for (size_t i = 0; i < rule->on_pod_conditions.len; i++) {
        const struct pod_failure_policy_on_pod_conditions_pattern *p =
            &rule->on_pod_conditions.at[i];
        const struct pod_condition *c = condition_of(pod, p->type);
        if (c && str_eq(c->status, p->status))
            return c;
    }
    return NULL;
}

static const struct {
    struct str word;
    enum job_policy_action action;
} actions[] = {
    {S_INIT("FailJob"),   JOB_POLICY_FAIL_JOB  },
    {S_INIT("FailIndex"), JOB_POLICY_FAIL_INDEX},
    {S_INIT("Ignore"),    JOB_POLICY_IGNORE    },
    {S_INIT("Count"),     JOB_POLICY_COUNT     },
};

static enum job_policy_action action_of(struct str word)
{
    for (size_t i = 0; i < countof(actions); i++)
        if (str_eq(actions[i].word, word))
            return actions[i].action;
    return JOB_POLICY_NONE; /* an unknown action never matches */
}

/* Does the rule match? *message says how, for FailJob. */
static bool rule_matches(struct arena *a, const struct pod_failure_policy_rule *rule, size_t at,
                         const struct pod *pod, struct str *message)
{
    const struct object_meta *meta = pod->metadata;

    if (rule->on_exit_codes) {
        const struct container_status *c =
            container_matching(rule->on_exit_codes, &pod->status->container_statuses);
        if (!c)
            c = container_matching(rule->on_exit_codes, &pod->status->init_container_statuses);
        if (c && message)
            *message =
                str_printf(a,
                           "Container %.*s for pod %.*s/%.*s failed with exit code %d "
                           "matching %.*s rule at index %zu",
                           STR_ARG(c->name), STR_ARG(meta->namespace), STR_ARG(meta->name),
                           terminated(c)->exit_code, STR_ARG(rule->action), at);
        return c != NULL;
    }
    const struct pod_condition *c = pod_condition_matching(rule, pod);
    if (c && message)
        *message =
            str_printf(a, "Pod %.*s/%.*s has condition %.*s matching %.*s rule at index %zu",
                       STR_ARG(meta->namespace), STR_ARG(meta->name), STR_ARG(c->type),
                       STR_ARG(rule->action), at);
    return c != NULL;
}

enum job_policy_action job_policy_of(struct arena *a, const struct job *job,
                                     const struct pod *pod, struct str *message)
{
    const struct pod_failure_policy *policy = job->spec->pod_failure_policy;

    if (!policy || !pod->status)
        return JOB_POLICY_NONE;
    for (size_t i = 0; i < policy->rules.len; i++) {
        const struct pod_failure_policy_rule *rule = &policy->rules.at[i];
        enum job_policy_action action = action_of(rule->action);
        if (action != JOB_POLICY_NONE &&
            rule_matches(a, rule, i, pod, action == JOB_POLICY_FAIL_JOB ? message : NULL))
            return action;
    }
    return JOB_POLICY_NONE;
}

/* ---- the record ---- */

static const struct {
    struct str word;
    enum pod_phase phase;
} phases[] = {
    {S_INIT("Running"),   POD_RUNNING  },
    {S_INIT("Succeeded"), POD_SUCCEEDED},
    {S_INIT("Failed"),    POD_FAILED   },
    {S_INIT("Unknown"),   POD_UNKNOWN  },
};

static enum pod_phase phase_of(const struct pod *pod)
{
    for (size_t i = 0; pod->status && i < countof(phases); i++)
        if (str_eq(phases[i].word, pod->status->phase))
            return phases[i].phase;
    return POD_PENDING;
}

static int32_t number_of(const struct object_meta *meta, const char *key, int32_t otherwise)
{
    int64_t v;

    if (!str_to_i64(str_map_get(&meta->annotations, str_from(key)), &v) || v < 0 ||
        v > INT32_MAX)
        return otherwise;
    return (int32_t)v;
}

static void count_restarts(struct job_pod *p, const struct pod *pod)
{
    const struct container_status_list *main = &pod->status->container_statuses;
    const struct container_status_list *init = &pod->status->init_container_statuses;

    for (size_t i = 0; i < main->len; i++) {
        p->restarts = MAX(p->restarts, main->at[i].restart_count);
        p->all_restarts += main->at[i].restart_count;
    }
    for (size_t i = 0; i < init->len; i++) {
        p->all_restarts += init->at[i].restart_count;
        if (is_restartable_init(pod, init->at[i].name))
            p->init_restarts = MAX(p->init_restarts, init->at[i].restart_count);
    }
}

struct job_pod job_pod_of(struct arena *a, const struct job *job, const struct pod *pod)
{
    const struct object_meta *meta = pod->metadata;
    const struct pod_condition *ready = condition_of(pod, S("Ready"));
    struct job_pod p = {
        .name = meta->name,
        .uid = meta->uid,
        .created = meta->creation_timestamp,
        .finished = job_pod_finish_time(pod),
        .index = number_of(meta, JOB_INDEX_KEY, JOB_NO_INDEX),
        .index_failures = number_of(meta, JOB_INDEX_FAILURES_KEY, 0),
        .index_ignored = number_of(meta, JOB_INDEX_IGNORED_KEY, 0),
        .phase = phase_of(pod),
        .is_deleting = instant_is_set(meta->deletion_timestamp),
        .is_ready = ready && str_eq(ready->status, S("True")),
        .is_assigned = pod->spec && pod->spec->node_name.len,
    };

    if (p.is_ready)
        p.ready_since = ready->last_transition_time;
    for (size_t i = 0; i < meta->finalizers.len; i++)
        p.has_finalizer |= str_eq(meta->finalizers.at[i], S(JOB_FINALIZER));
    if (pod->status)
        count_restarts(&p, pod);
    p.action = job_policy_of(a, job, pod, &p.failure);
    return p;
}
