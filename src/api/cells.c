/* cells.c - cells of tables that no single field holds
 *
 * Source: API server reference, tables.
 */
#include "api/rules_priv.h"

#include "value/time.h"

static struct instant time_at(const struct json *v)
{
    struct instant t = {0};

    if (json_str(v).len)
        time_parse(json_str(v), &t, NULL);
    return t;
}

static bool has_condition(const struct json *object, struct str type)
{
    const struct json *list = json_path(object, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eq(json_str(json_getz(json_at(list, i), "type")), type))
            return str_eq(json_str(json_getz(json_at(list, i), "status")), S("True"));
    return false;
}

static bool is_deleting(const struct json *object)
{
    return json_has(json_path(object, "metadata", "deletionTimestamp", NULL));
}

struct json cell_age(struct arena *a, const struct json *o, struct instant now)
{
    struct instant t = time_at(json_path(o, "metadata", "creationTimestamp", NULL));

    return json_of_str(instant_is_set(t) ? age_since(a, t, now) : S("<unknown>"));
}

struct json cell_created_at(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *v = json_path(o, "metadata", "creationTimestamp", NULL);

    (void)a, (void)now;
    return v ? *v : json_of_null();
}

struct json cell_namespace_status(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *v = json_path(o, "status", "phase", NULL);

    (void)a, (void)now;
    return v ? *v : json_of_null();
}

/* ---- nodes ---- */

struct json cell_node_status(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *list = json_path(o, "status", "conditions", NULL);
    struct str word = S("Unknown");

    (void)now;
    json_each (i, list) {
        const struct json *c = json_at(list, i);
        struct str status = json_str(json_getz(c, "status"));
        if (str_eq(json_str(json_getz(c, "type")), S("Ready")) && !str_eq(status, S("Unknown")))
            word = str_eq(status, S("True")) ? S("Ready") : S("NotReady");
    }
    if (json_bool(json_path(o, "spec", "unschedulable", NULL), false))
        word = str_printf(a, "%.*s,SchedulingDisabled", STR_ARG(word));
    return json_of_str(word);
}

struct json cell_node_roles(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *labels = json_path(o, "metadata", "labels", NULL);
    struct buf b = buf_in(a, 64);

    (void)now;
    json_each_member (m, labels) {
        struct str role = {0};
        if (str_starts(m->name, S("node-role.kubernetes.io/")))
            role = str_slice(m->name, 24, m->name.len);
        else if (str_eq(m->name, S("kubernetes.io/role")))
            role = json_str(&m->value);
        if (role.len)
            buf_printf(&b, "%s%.*s", b.len ? "," : "", STR_ARG(role));
    }
    return json_of_str(b.len ? buf_str(&b) : S("<none>"));
}

/* ---- Jobs ---- */

struct json cell_job_status(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    if (has_condition(o, S("Complete")))
        return json_of_z("Complete");
    if (has_condition(o, S("Failed")))
        return json_of_z("Failed");
    if (is_deleting(o))
        return json_of_z("Terminating");
    if (has_condition(o, S("Suspended")))
        return json_of_z("Suspended");
    if (has_condition(o, S("FailureTarget")))
        return json_of_z("FailureTarget");
    if (has_condition(o, S("SuccessCriteriaMet")))
        return json_of_z("SuccessCriteriaMet");
    return json_of_z("Running");
}

struct json cell_job_completions(struct arena *a, const struct json *o, struct instant now)
{
    int64_t done = json_i64(json_path(o, "status", "succeeded", NULL), 0);
    const struct json *want = json_path(o, "spec", "completions", NULL);
    int64_t parallelism = json_i64(json_path(o, "spec", "parallelism", NULL), 0);

    (void)now;
    if (json_has(want))
        return json_of_str(str_printf(a, "%" PRId64 "/%" PRId64, done, json_i64(want, 0)));
    if (parallelism > 1)
        return json_of_str(str_printf(a, "%" PRId64 "/1 of %" PRId64, done, parallelism));
    return json_of_str(str_printf(a, "%" PRId64 "/1", done));
}

struct json cell_job_duration(struct arena *a, const struct json *o, struct instant now)
{
    struct instant start = time_at(json_path(o, "status", "startTime", NULL));
    struct instant end = time_at(json_path(o, "status", "completionTime", NULL));

    if (!instant_is_set(start))
        return json_of_z("");
    return json_of_str(age_text(a, instant_sub(instant_is_set(end) ? end : now, start)));
}

/* ---- Pods ---- */

struct json cell_pod_ready(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *list = json_path(o, "status", "containerStatuses", NULL);
    size_t n_ready = 0;

    (void)now;
    json_each (i, list)
        n_ready += json_bool(json_getz(json_at(list, i), "ready"), false);
    return json_of_str(
        str_printf(a, "%zu/%zu", n_ready, json_len(json_path(o, "spec", "containers", NULL))));
}

/* What a container's state says in one word, or "". */
static struct str state_word(struct arena *a, const struct json *status)
{
    const struct json *waiting = json_path(status, "state", "waiting", NULL);
    const struct json *ended = json_path(status, "state", "terminated", NULL);

    if (json_str(json_getz(waiting, "reason")).len)
        return json_str(json_getz(waiting, "reason"));
    if (!ended)
        return S("");
    if (json_str(json_getz(ended, "reason")).len)
        return json_str(json_getz(ended, "reason"));
    if (json_i64(json_getz(ended, "signal"), 0))
        return str_printf(a, "Signal:%" PRId64, json_i64(json_getz(ended, "signal"), 0));
    return str_printf(a, "ExitCode:%" PRId64, json_i64(json_getz(ended, "exitCode"), 0));
}

/* The first init container that is not through; "" where all are. */
static struct str init_word(struct arena *a, const struct json *o)
{
    const struct json *list = json_path(o, "status", "initContainerStatuses", NULL);
    size_t n = json_len(json_path(o, "spec", "initContainers", NULL));

    json_each (i, list) {
        const struct json *status = json_at(list, i);
        const struct json *ended = json_path(status, "state", "terminated", NULL);
        if (ended && json_i64(json_getz(ended, "exitCode"), 0) == 0)
            continue;
        if (json_bool(json_getz(status, "started"), false))
            continue;
        struct str word = state_word(a, status);
        if (word.len && !str_eq(word, S("PodInitializing")))
            return str_printf(a, "Init:%.*s", STR_ARG(word));
        return str_printf(a, "Init:%zu/%zu", i, n);
    }
    return S("");
}

struct json cell_pod_status(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *status = json_getz(o, "status");
    const struct json *list = json_getz(status, "containerStatuses");
    struct str phase = json_str(json_getz(status, "phase"));
    struct str word = json_str(json_getz(status, "reason"));
    bool is_running = false;

    (void)now;
    if (word.len == 0)
        word = phase;
    struct str init = init_word(a, o);
    if (init.len && !has_condition(o, S("Initialized"))) {
        word = init;
    } else {
        for (size_t i = json_len(list); i-- > 0;) {
            struct str one = state_word(a, json_at(list, i));
            if (one.len)
                word = one;
            is_running |= json_has(json_path(json_at(list, i), "state", "running", NULL));
        }
        if (str_eq(word, S("Completed")) && is_running)
            word = has_condition(o, S("Ready")) ? S("Running") : S("NotReady");
    }
    bool is_terminal = str_eq(phase, S("Succeeded")) || str_eq(phase, S("Failed"));
    if (is_deleting(o) && !is_terminal)
        word = S("Terminating");
    return json_of_str(word);
}

struct json cell_pod_restarts(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *list = json_path(o, "status", "containerStatuses", NULL);
    struct instant last = {0};
    int64_t n = 0;

    json_each (i, list) {
        const struct json *c = json_at(list, i);
        struct instant t = time_at(json_path(c, "lastState", "terminated", "finishedAt", NULL));
        n += json_i64(json_getz(c, "restartCount"), 0);
        last = instant_before(last, t) ? t : last;
    }
    if (n && instant_is_set(last))
        return json_of_str(
            str_printf(a, "%" PRId64 " (%.*s ago)", n, STR_ARG(age_since(a, last, now))));
    return json_of_str(str_printf(a, "%" PRId64, n));
}
