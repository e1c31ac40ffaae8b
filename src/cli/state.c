/* state.c - where a job stands */
#include "cli/state.h"

#include "api/kinds.h"
#include "controllers/queue_job.h"
#include "object/object.h"
#include "queue/status.h"

const char *job_state_word(enum job_state state)
{
    static const char *const words[] = {
        [JOB_STATE_WAITING] = "Waiting",   [JOB_STATE_STARTING] = "Starting",
        [JOB_STATE_RUNNING] = "Running",   [JOB_STATE_COMPLETE] = "Complete",
        [JOB_STATE_FAILED] = "Failed",     [JOB_STATE_SUSPENDED] = "Suspended",
        [JOB_STATE_GOING] = "Terminating",
    };

    return words[state];
}

const struct json *state_condition(const struct json *object, struct str type)
{
    const struct json *list = json_path(object, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eq(json_str(json_getz(json_at(list, i), "type")), type))
            return json_at(list, i);
    return NULL;
}

bool state_holds(const struct json *object, struct str type)
{
    return str_eq(json_str(json_getz(state_condition(object, type), "status")), S("True"));
}

static void say(struct job_report *r, const struct json *condition)
{
    r->code = json_str(json_getz(condition, "reason"));
    r->sentence = json_str(json_getz(condition, "message"));
}

static bool is_owned_by(const struct json *object, struct str uid)
{
    const struct json *owners = json_path(object, "metadata", "ownerReferences", NULL);

    json_each (i, owners)
        if (str_eq(json_str(json_getz(json_at(owners, i), "uid")), uid))
            return true;
    return false;
}

struct str state_workload_labels(struct arena *a, struct str uid)
{
    return str_printf(a, "%s=%.*s", QUEUE_JOB_UID_LABEL, STR_ARG(uid));
}

/* One that was there before its Job, and is named by it. */
static void find_prebuilt(struct session *s, struct str ns, struct job_report *r)
{
    struct str name = json_str(json_path(r->job, "metadata", "labels", QUEUE_PREBUILT, NULL));
    struct client_target t = {.kind = &kind_kueue_workload, .ns = ns, .name = name};

    if (name.len == 0)
        return;
    struct session_answer answer = session_get(s, &t);
    if (answer.err.code == ERR_OK)
        r->workload = json_copy(s->arena, object_tree(answer.object, s->arena));
    object_unref(answer.object);
}

static int find_workload(struct session *s, struct str ns, struct job_report *r,
                         struct err *err)
{
    struct client_target t = {.kind = &kind_kueue_workload, .ns = ns};
    struct str uid = json_str(json_path(r->job, "metadata", "uid", NULL));
    const struct json **list;
    size_t n;

    struct client_select sel = {.labels = state_workload_labels(s->arena, uid)};
    if (session_list(s, &t, &sel, &list, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (is_owned_by(list[i], uid))
            r->workload = list[i];
    if (!r->workload)
        find_prebuilt(s, ns, r);
    return 0;
}

/* Pods that wait for a node, or for their container, say why themselves. */
static void look_at_pods(struct session *s, struct str ns, struct str job, struct job_report *r)
{
    struct client_target t = {.kind = &kind_pod, .ns = ns};
    struct client_select sel = {
        .labels = str_printf(s->arena, "batch.kubernetes.io/job-name=%.*s", STR_ARG(job))};
    const struct json **pods;
    struct err err = {0};
    size_t n;

    if (session_list(s, &t, &sel, &pods, &n, &err) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        struct str phase = json_str(json_path(pods[i], "status", "phase", NULL));
        const struct json *placed = state_condition(pods[i], S("PodScheduled"));
        const struct json *containers = json_path(pods[i], "status", "containerStatuses", NULL);
        if (str_eq(phase, S("Running")))
            r->state = JOB_STATE_RUNNING;
        if (!str_eq(phase, S("Pending")))
            continue;
        if (placed && !state_holds(pods[i], S("PodScheduled")))
            say(r, placed);
        json_each (k, containers) {
            const struct json *waiting =
                json_path(json_at(containers, k), "state", "waiting", NULL);
            if (json_str(json_getz(waiting, "message")).len)
                say(r, waiting);
        }
    }
}

static void judge_waiting(struct job_report *r)
{
    if (!r->workload) {
        r->state = JOB_STATE_SUSPENDED;
        r->code = S("Suspended");
        r->sentence = S("the job is suspended and in no queue; resume it by "
                        "`kubectl patch job NAME -p '{\"spec\":{\"suspend\":false}}'`");
        return;
    }
    if (state_holds(r->workload, S("Admitted"))) {
        r->state = JOB_STATE_STARTING;
        return;
    }
    r->state = JOB_STATE_WAITING;
    bool is_reserved = state_holds(r->workload, S("QuotaReserved"));
    const struct json *told =
        state_condition(r->workload, is_reserved ? S("Admitted") : S("QuotaReserved"));
    struct str reason, cause;
    if (told)
        say(r, told);
    else
        r->sentence = is_reserved ? S("quota is reserved; its admission checks are not ready")
                                  : S("nobody has looked at it yet");
    queue_unadmitted(r->workload, &reason, &cause);
    r->code = cause.len ? cause : reason;
}

static void judge(struct session *s, struct str ns, struct str name, struct job_report *r)
{
    const struct json *spec = json_getz(r->job, "spec");

    r->managed_by = json_str(json_getz(spec, "managedBy"));
    if (state_holds(r->job, S("Complete"))) {
        r->state = JOB_STATE_COMPLETE;
        say(r, state_condition(r->job, S("Complete")));
    } else if (state_holds(r->job, S("Failed"))) {
        r->state = JOB_STATE_FAILED;
        say(r, state_condition(r->job, S("Failed")));
    } else if (json_has(json_path(r->job, "metadata", "deletionTimestamp", NULL))) {
        r->state = JOB_STATE_GOING;
    } else if (json_bool(json_getz(spec, "suspend"), false)) {
        judge_waiting(r);
    } else {
        r->state = JOB_STATE_STARTING;
        look_at_pods(s, ns, name, r);
    }
}

int job_report(struct session *s, struct str ns, struct str name, struct job_report *out,
               struct err *err)
{
    struct client_target t = {.kind = &kind_job, .ns = ns, .name = name};
    struct session_answer answer = session_get(s, &t);

    *out = (struct job_report){0};
    if (answer.err.code != ERR_OK) {
        *err = answer.err;
        return -1;
    }
    out->job = json_copy(s->arena, object_tree(answer.object, s->arena));
    object_unref(answer.object);
    if (find_workload(s, ns, out, err) < 0)
        return -1;
    judge(s, ns, name, out);
    return 0;
}
