/* job_pod.c - reading one pod for the Job controller */
#include "controllers/job_pod.h"

#include "api/batch_v1.h"
#include "value/time.h"
#include "json/json.h"

/* ---- container states ---- */

static const struct json *statuses_of(const struct json *pod, const char *list)
{
    return json_get(json_getz(pod, "status"), str_from(list));
}
#define MAIN "containerStatuses"
#define INIT "initContainerStatuses"

static struct instant time_at(const struct json *o, const char *field)
{
    struct instant t = {0};
    struct str text = json_str(json_get(o, str_from(field)));

    if (text.len && time_parse(text, &t, NULL) < 0)
        return (struct instant){0};
    return t;
}

static int32_t int_at(const struct json *o, const char *field)
{
    return (int32_t)json_i64(json_get(o, str_from(field)), 0);
}

static const struct json *terminated(const struct json *status)
{
    const struct json *end = json_path(status, "state", "terminated", NULL);

    return json_is(end, JSON_OBJECT) ? end : NULL;
}

static bool is_restartable_init(const struct json *pod, const struct json *name)
{
    const struct json *list = json_path(pod, "spec", "initContainers", NULL);

    json_each (i, list)
        if (json_eq(json_getz(json_at(list, i), "name"), name))
            return str_eqz(json_str(json_getz(json_at(list, i), "restartPolicy")), "Always");
    return false;
}

/* The latest end of all of these; 0 where there are none or one has not ended. */
static struct instant last_end(const struct json *pod, const struct json *list,
                               bool only_restartable, bool *has_all)
{
    struct instant last = {0};

    json_each (i, list) {
        const struct json *c = json_at(list, i);
        if (only_restartable && !is_restartable_init(pod, json_getz(c, "name")))
            continue;
        struct instant end = time_at(terminated(c), "finishedAt");
        if (!instant_is_set(end)) {
            *has_all = false;
            return (struct instant){0};
        }
        if (instant_before(last, end))
            last = end;
    }
    return last;
}

static const struct json *condition_of(const struct json *pod, struct str type)
{
    const struct json *list = json_path(pod, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eq(json_str(json_getz(json_at(list, i), "type")), type))
            return json_at(list, i);
    return NULL;
}

static bool condition_is(const struct json *condition, const char *status)
{
    return condition && str_eqz(json_str(json_getz(condition, "status")), status);
}

static struct instant finish_time(const struct json *pod, const struct json *ready)
{
    const struct json *main = statuses_of(pod, MAIN), *meta = json_getz(pod, "metadata");
    struct instant gone = time_at(meta, "deletionTimestamp");
    bool has_all = true;

    if (json_len(main)) {
        struct instant end = last_end(pod, main, false, &has_all);
        struct instant init = has_all ? last_end(pod, statuses_of(pod, INIT), true, &has_all)
                                      : (struct instant){0};
        if (has_all)
            return instant_before(end, init) ? init : end;
    }
    if (condition_is(ready, "False")) {
        struct instant since = time_at(ready, "lastTransitionTime");
        if (instant_is_set(since))
            return since;
    }
    if (instant_is_set(gone))
        return instant_add(gone,
                           span_s(-json_i64(json_getz(meta, "deletionGracePeriodSeconds"), 0)));
    return time_at(meta, "creationTimestamp");
}

struct instant job_pod_finish_time(const struct json *pod)
{
    return finish_time(pod, condition_of(pod, S("Ready")));
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

static const struct json *
container_matching(const struct pod_failure_policy_on_exit_codes_requirement *r,
                   const struct json *list)
{
    json_each (i, list) {
        const struct json *c = json_at(list, i);
        int32_t code = int_at(terminated(c), "exitCode");
        if (IS_SET(r, container_name) &&
            !str_eq(r->container_name, json_str(json_getz(c, "name"))))
            continue;
        if (code && code_matches(r, code))
            return c;
    }
    return NULL;
}

static const struct json *pod_condition_matching(const struct pod_failure_policy_rule *rule,
                                                 const struct json *pod)
{
    for (size_t i = 0; i < rule->on_pod_conditions.len; i++) {
        const struct pod_failure_policy_on_pod_conditions_pattern *p =
            &rule->on_pod_conditions.at[i];
        const struct json *c = condition_of(pod, p->type);
        if (c && str_eq(json_str(json_getz(c, "status")), p->status))
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
                         const struct json *pod, struct str *message)
{
    const struct json *meta = json_getz(pod, "metadata");
    struct str ns = json_str(json_getz(meta, "namespace"));
    struct str name = json_str(json_getz(meta, "name"));

    if (rule->on_exit_codes) {
        const struct json *c = container_matching(rule->on_exit_codes, statuses_of(pod, MAIN));
        if (!c)
            c = container_matching(rule->on_exit_codes, statuses_of(pod, INIT));
        if (c && message)
            *message =
                str_printf(a,
                           "Container %.*s for pod %.*s/%.*s failed with exit code %d "
                           "matching %.*s rule at index %zu",
                           STR_ARG(json_str(json_getz(c, "name"))), STR_ARG(ns), STR_ARG(name),
                           int_at(terminated(c), "exitCode"), STR_ARG(rule->action), at);
        return c != NULL;
    }
    const struct json *c = pod_condition_matching(rule, pod);
    if (c && message)
        *message = str_printf(
            a, "Pod %.*s/%.*s has condition %.*s matching %.*s rule at index %zu", STR_ARG(ns),
            STR_ARG(name), STR_ARG(json_str(json_getz(c, "type"))), STR_ARG(rule->action), at);
    return c != NULL;
}

enum job_policy_action job_policy_of(struct arena *a, const struct job *job,
                                     const struct json *pod, struct str *message)
{
    const struct pod_failure_policy *policy = job->spec->pod_failure_policy;

    if (!policy || !json_has(json_getz(pod, "status")))
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

static enum pod_phase phase_of(const struct json *pod)
{
    struct str word = json_str(json_path(pod, "status", "phase", NULL));

    for (size_t i = 0; i < countof(phases); i++)
        if (str_eq(phases[i].word, word))
            return phases[i].phase;
    return POD_PENDING;
}

static int32_t number_of(const struct json *notes, const char *key, int32_t otherwise)
{
    int64_t v;

    if (!str_to_i64(json_str(json_get(notes, str_from(key))), &v) || v < 0 || v > INT32_MAX)
        return otherwise;
    return (int32_t)v;
}

static void count_restarts(struct job_pod *p, const struct json *pod)
{
    const struct json *main = statuses_of(pod, MAIN), *init = statuses_of(pod, INIT);

    json_each (i, main) {
        int32_t n = int_at(json_at(main, i), "restartCount");
        p->restarts = MAX(p->restarts, n);
        p->all_restarts += n;
    }
    json_each (i, init) {
        int32_t n = int_at(json_at(init, i), "restartCount");
        p->all_restarts += n;
        if (is_restartable_init(pod, json_getz(json_at(init, i), "name")))
            p->init_restarts = MAX(p->init_restarts, n);
    }
}

bool job_pod_is_held(const struct json *pod)
{
    const struct json *guards = json_path(pod, "metadata", "finalizers", NULL);

    json_each (i, guards)
        if (str_eqz(json_str(json_at(guards, i)), JOB_FINALIZER))
            return true;
    return false;
}

struct job_pod job_pod_of(struct arena *a, const struct job *job, const struct json *pod)
{
    const struct json *meta = json_getz(pod, "metadata");
    const struct json *notes = json_getz(meta, "annotations");
    const struct json *ready = condition_of(pod, S("Ready"));
    struct job_pod p = {
        .name = json_str(json_getz(meta, "name")),
        .uid = json_str(json_getz(meta, "uid")),
        .created = time_at(meta, "creationTimestamp"),
        .finished = finish_time(pod, ready),
        .index = number_of(notes, JOB_INDEX_KEY, JOB_NO_INDEX),
        .index_failures = number_of(notes, JOB_INDEX_FAILURES_KEY, 0),
        .index_ignored = number_of(notes, JOB_INDEX_IGNORED_KEY, 0),
        .phase = phase_of(pod),
        .is_deleting = json_has(json_getz(meta, "deletionTimestamp")),
        .is_ready = condition_is(ready, "True"),
        .is_assigned = json_str(json_path(pod, "spec", "nodeName", NULL)).len > 0,
        .has_finalizer = job_pod_is_held(pod),
    };

    if (p.is_ready)
        p.ready_since = time_at(ready, "lastTransitionTime");
    count_restarts(&p, pod);
    p.action = job_policy_of(a, job, pod, &p.failure);
    return p;
}
