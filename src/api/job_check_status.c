/* job_check_status.c - what a Job's status may become
 *
 * Source: jobs reference 1.8. A rule runs only where the fields it is about changed, so that a
 * status which broke it before can still be written for other reasons.
 */
#include "api/job_check.h"

#include "api/index_list.h"
#include "value/time.h"

struct look {
    struct field_errors *e;
    const struct json *spec, *now, *was; /* the statuses */
    struct field_path at, conditions_at;
    bool is_indexed;
    int32_t completions;
};

static bool is_true(const struct json *status, const char *type)
{
    const struct json *list = json_getz(status, "conditions");

    json_each (i, list) {
        const struct json *c = json_at(list, i);
        if (str_eqz(json_str(json_getz(c, "type")), type))
            return str_eqz(json_str(json_getz(c, "status")), "True");
    }
    return false;
}

/* Does it become true, or stop being so? */
static bool turns(const struct look *l, const char *type)
{
    return is_true(l->now, type) != is_true(l->was, type);
}

static bool is_finished(const struct json *status)
{
    return is_true(status, "Complete") || is_true(status, "Failed");
}

static bool has_changed(const struct look *l, struct str name)
{
    const struct json *now = json_get(l->now, name), *was = json_get(l->was, name);

    return json_has(now) != json_has(was) || (json_has(now) && !json_eq(now, was));
}

static int64_t number(const struct json *status, const char *name)
{
    return json_i64(json_get(status, str_from(name)), 0);
}

static void bad_conditions(const struct look *l, const char *why)
{
    field_invalid(l->e, &l->conditions_at, json_getz(l->now, "conditions"), "%s", why);
}

/* One wrong field of the status. */
static void bad(const struct look *l, struct str name, const char *why)
{
    struct field_path at = field_child(&l->at, name);

    field_invalid(l->e, &at, json_get(l->now, name), "%s", why);
}

/* ---- always ---- */

static void check_uids(const struct look *l, struct str name, struct json_set *seen)
{
    struct field_path uncounted_at = field_child(&l->at, S("uncountedTerminatedPods"));
    struct field_path at = field_child(&uncounted_at, name);
    const struct json *list = json_get(json_getz(l->now, "uncountedTerminatedPods"), name);

    json_each (i, list) {
        struct field_path item = field_item(&at, i);
        const struct json *uid = json_at(list, i);
        if (!json_str(uid).len)
            field_invalid(l->e, &item, uid, "must not be empty");
        else if (json_set_put(seen, uid))
            field_duplicate(l->e, &item, uid);
    }
}

static void check_success(const struct look *l)
{
    bool met = is_true(l->now, "SuccessCriteriaMet"),
         was = is_true(l->was, "SuccessCriteriaMet");

    if (met && is_true(l->now, "Failed"))
        bad_conditions(l, "cannot set Failed=True and SuccessCriteriaMet=true conditions");
    if (met && is_true(l->now, "FailureTarget"))
        bad_conditions(l,
                       "cannot set FailureTarget=True and SuccessCriteriaMet=true conditions");
    if (was && !met)
        bad_conditions(l, "cannot disable the SuccessCriteriaMet=True condition");
    if (!was && met && is_true(l->was, "Complete"))
        bad_conditions(l, "cannot set SuccessCriteriaMet=True for Complete Job");
    if (json_has(json_getz(l->spec, "successPolicy")) && is_true(l->now, "Complete") && !met)
        bad_conditions(l, "cannot set Complete=True condition without the "
                          "SuccessCriteriaMet=true condition");
}

/* ---- transitions: counts and indexes ---- */

static void check_counts(const struct look *l)
{
    bool is_elastic = l->is_indexed && json_eq(json_getz(l->spec, "completions"),
                                               json_getz(l->spec, "parallelism"));

    if (number(l->now, "succeeded") < number(l->was, "succeeded") && !is_elastic)
        bad(l, S("succeeded"), "cannot decrease the succeeded counter");
    if (number(l->now, "failed") < number(l->was, "failed"))
        bad(l, S("failed"), "cannot decrease the failed counter");
    if ((has_changed(l, S("ready")) || has_changed(l, S("active"))) &&
        number(l->now, "ready") > number(l->now, "active"))
        bad(l, S("ready"), "cannot set more ready pods than active");
}

static void check_list(const struct look *l, struct str name)
{
    struct err err = {0};

    if (index_list_check(json_str(json_get(l->now, name)), l->completions, NULL, &err) == 0)
        return;
    struct field_path at = field_child(&l->at, name);
    field_invalid(l->e, &at, json_get(l->now, name), "error parsing %.*s: %s", STR_ARG(name),
                  err.text);
}

static void check_indexes(const struct look *l)
{
    struct str completed = json_str(json_getz(l->now, "completedIndexes"));
    const struct json *failed = json_getz(l->now, "failedIndexes");
    bool completed_changed = has_changed(l, S("completedIndexes"));
    bool failed_changed = has_changed(l, S("failedIndexes"));
    bool has_completions = json_has(json_getz(l->spec, "completions"));
    bool per_index = json_has(json_getz(l->spec, "backoffLimitPerIndex"));
    int32_t index;

    if (completed_changed && has_completions)
        check_list(l, S("completedIndexes"));
    if (completed_changed && completed.len && !l->is_indexed)
        bad(l, S("completedIndexes"),
            "cannot set non-empty completedIndexes when non-indexed completion mode");
    if (failed_changed && has_completions && per_index)
        check_list(l, S("failedIndexes"));
    if (failed_changed && json_has(failed) && !per_index)
        bad(l, S("failedIndexes"),
            "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    if ((completed_changed || failed_changed) && has_completions && json_has(failed) &&
        index_lists_overlap(completed, json_str(failed), l->completions, &index))
        bad(l, S("failedIndexes"),
            str_printf(l->e->arena, "failedIndexes and completedIndexes overlap at index: %d%c",
                       index, 0)
                .at);
}

/* ---- transitions: times ---- */

static struct instant time_of(const struct json *status, const char *name)
{
    struct instant t = {0};
    struct str text = json_str(json_get(status, str_from(name)));

    if (text.len)
        time_parse(text, &t, NULL);
    return t;
}

static bool is_suspended(const struct json *status)
{
    return is_true(status, "Suspended");
}

/* The controller sets the start anew when a Job is resumed. */
static bool is_resumed(const struct look *l)
{
    const struct json *list = json_getz(l->now, "conditions");
    bool is_false = false;

    json_each (i, list) {
        const struct json *c = json_at(list, i);
        if (str_eqz(json_str(json_getz(c, "type")), "Suspended"))
            is_false = str_eqz(json_str(json_getz(c, "status")), "False");
    }
    return is_suspended(l->was) && is_false;
}

static void check_start(const struct look *l)
{
    if (!json_bool(json_getz(l->spec, "suspend"), false) &&
        json_has(json_getz(l->was, "startTime")) && has_changed(l, S("startTime")) &&
        !is_resumed(l))
        bad(l, S("startTime"), "field is immutable for unsuspended job once set");
}

static void check_times(const struct look *l)
{
    struct field_path completion_at = field_child(&l->at, S("completionTime"));
    bool has_end = json_has(json_getz(l->now, "completionTime"));
    bool has_start = json_has(json_getz(l->now, "startTime"));
    bool end_changed = has_changed(l, S("completionTime"));
    bool is_complete = is_true(l->now, "Complete");

    if ((end_changed || has_changed(l, S("startTime"))) && has_end && has_start &&
        instant_before(time_of(l->now, "completionTime"), time_of(l->now, "startTime")))
        bad(l, S("completionTime"), "must be equal to or after `startTime`");
    if (json_has(json_getz(l->was, "completionTime")) && has_end && end_changed)
        bad(l, S("completionTime"), "field is immutable");
    if (!end_changed && !turns(l, "Complete"))
        return;
    if (has_end && !is_complete)
        bad(l, S("completionTime"),
            "cannot set completionTime when there is no Complete=True condition");
    if (is_complete && !has_end)
        field_required(l->e, &completion_at, "completionTime is required for Complete jobs");
}

/* ---- transitions: ends ---- */

static void check_finished(const struct look *l)
{
    struct field_path start_at = field_child(&l->at, S("startTime"));
    const struct json *uncounted = json_getz(l->now, "uncountedTerminatedPods");
    bool ends = is_finished(l->now) != is_finished(l->was);
    bool is_paused = json_bool(json_getz(l->spec, "suspend"), false) &&
                     json_has(json_getz(l->spec, "completions")) && l->completions == 0;

    if (!is_finished(l->now))
        return;
    if ((ends || has_changed(l, S("active"))) && number(l->now, "active") > 0)
        bad(l, S("active"), "active>0 is invalid for finished job");
    if ((ends || has_changed(l, S("startTime"))) && !is_paused &&
        !json_has(json_getz(l->now, "startTime")))
        field_required(l->e, &start_at, "startTime is required for finished job");
    if ((ends || has_changed(l, S("uncountedTerminatedPods"))) &&
        json_len(json_getz(uncounted, "succeeded")) + json_len(json_getz(uncounted, "failed")))
        bad(l, S("uncountedTerminatedPods"), "must be empty for finished job");
    if ((ends || has_changed(l, S("terminating"))) && number(l->now, "terminating") > 0)
        bad(l, S("terminating"), "terminating>0 is invalid for finished job");
}

static void check_conditions(const struct look *l)
{
    static const char *const sticky[] = {"Failed", "Complete", "FailureTarget"};
    bool is_complete = is_true(l->now, "Complete"), has_failed = is_true(l->now, "Failed");
    bool will_fail = is_true(l->now, "FailureTarget");

    for (size_t i = 0; i < countof(sticky); i++) {
        if (is_true(l->was, sticky[i]) && !is_true(l->now, sticky[i]))
            bad_conditions(l, str_z(l->e->arena,
                                    str_printf(l->e->arena,
                                               "cannot disable the terminal %s=True condition",
                                               sticky[i])));
    }
    if ((turns(l, "Complete") || turns(l, "Failed")) && is_complete && has_failed)
        bad_conditions(l, "cannot set Complete=True and Failed=true conditions");
    if ((turns(l, "Complete") || turns(l, "FailureTarget")) && is_complete && will_fail)
        bad_conditions(l, "cannot set Complete=True and FailureTarget=true conditions");
    if ((turns(l, "Failed") || has_changed(l, S("failedIndexes"))) && has_failed && !will_fail)
        bad_conditions(l, "cannot set Failed=True condition without the FailureTarget=true "
                          "condition");
    if ((turns(l, "Complete") || turns(l, "SuccessCriteriaMet")) && is_complete &&
        !is_true(l->now, "SuccessCriteriaMet"))
        bad_conditions(l, "cannot set Complete=True condition without the "
                          "SuccessCriteriaMet=true condition");
}

void job_check_status(struct field_errors *e, uint32_t options, const struct json *job,
                      const struct json *old)
{
    const struct json *spec = json_getz(job, "spec");
    struct look l = {.e = e,
                     .spec = spec,
                     .now = json_getz(job, "status"),
                     .was = json_getz(old, "status"),
                     .at = field_child(NULL, S("status")),
                     .completions = (int32_t)json_i64(json_getz(spec, "completions"), 0)};

    l.conditions_at = field_child(&l.at, S("conditions"));
    l.is_indexed = str_eqz(json_str(json_getz(spec, "completionMode")), "Indexed");
    struct json_set uids = {.arena = e->arena};
    check_uids(&l, S("succeeded"), &uids);
    check_uids(&l, S("failed"), &uids);
    if (options & JOB_CHECK_START_TIME)
        check_start(&l);
    if (options & JOB_CHECK_TRANSITIONS) {
        check_counts(&l);
        check_indexes(&l);
        check_times(&l);
        check_finished(&l);
        check_conditions(&l);
    }
    check_success(&l);
}
