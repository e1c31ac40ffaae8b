/* job_check_status.c - what a Job's status may become
 *
 * Source: jobs reference 1.8. A rule runs only where the fields it is about changed, so that a
 * status which broke it before can still be written for other reasons.
 */
#include "api/job_check.h"

#include "api/batch_v1.h"
#include "api/index_list.h"
#include "value/time.h"

enum {
    COMPLETE = 1 << 0,
    FAILED = 1 << 1,
    FAILURE_TARGET = 1 << 2,
    CRITERIA_MET = 1 << 3,
    SUSPENDED = 1 << 4,
};

/* A Job's status, read once. */
struct told {
    const struct json *v;
    struct schema_values values;
    unsigned is_true; /* of the conditions above */
};

struct look {
    struct field_errors *e;
    struct schema_values spec;
    struct told now, was;
    struct field_path at, conditions_at;
    bool is_indexed;
    int32_t completions;
};

/* A field of look's `now` or `was`. */
#define STATUS(s, field) FIELD_VALUE(&(s)->values, job_status, field)
#define SPEC(l, field) FIELD_VALUE(&(l)->spec, job_spec, field)

static unsigned true_conditions(const struct json *list)
{
    static const struct str types[] = {S_INIT("Complete"), S_INIT("Failed"),
                                       S_INIT("FailureTarget"), S_INIT("SuccessCriteriaMet"),
                                       S_INIT("Suspended")};
    unsigned seen = 0, is_true = 0;

    json_each (i, list) {
        const struct json *c = json_at(list, i);
        struct str type = json_str(json_getz(c, "type"));
        size_t k = 0;
        while (k < countof(types) && !str_eq(types[k], type))
            k++;
        if (k == countof(types) || (seen >> k & 1))
            continue; /* the first of a type counts */
        seen |= 1u << k;
        if (str_eq(json_str(json_getz(c, "status")), S("True")))
            is_true |= 1u << k;
    }
    return is_true;
}

static void read_status(struct told *out, struct arena *a, const struct json *job)
{
    out->v = json_getz(job, "status");
    schema_values(&out->values, a, &schema_job_status, out->v);
    out->is_true = true_conditions(STATUS(out, conditions));
}

static bool is_true(const struct told *s, unsigned any)
{
    return (s->is_true & any) != 0;
}

/* Does it become true, or stop being so? */
static bool turns(const struct look *l, unsigned conditions)
{
    return ((l->now.is_true ^ l->was.is_true) & conditions) != 0;
}

static bool is_finished(const struct told *s)
{
    return is_true(s, COMPLETE | FAILED);
}

static bool differ(const struct json *now, const struct json *was)
{
    return json_has(now) != json_has(was) || (json_has(now) && !json_eq(now, was));
}

#define HAS_CHANGED(l, field) differ(STATUS(&(l)->now, field), STATUS(&(l)->was, field))
#define NUMBER(s, field) json_i64(STATUS(s, field), 0)

static void bad_conditions(const struct look *l, const char *why)
{
    field_invalid(l->e, &l->conditions_at, STATUS(&l->now, conditions), "%s", why);
}

/* One wrong field of the status. */
static void bad(const struct look *l, struct str name, const char *why)
{
    struct field_path at = field_child(&l->at, name);

    field_invalid(l->e, &at, json_get(l->now.v, name), "%s", why);
}

/* ---- always ---- */

static void check_uids(const struct look *l, struct str name, struct json_set *seen)
{
    struct field_path uncounted_at = field_child(&l->at, S("uncountedTerminatedPods"));
    struct field_path at = field_child(&uncounted_at, name);
    const struct json *list = json_get(STATUS(&l->now, uncounted_terminated_pods), name);

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
    bool met = is_true(&l->now, CRITERIA_MET), was = is_true(&l->was, CRITERIA_MET);

    if (met && is_true(&l->now, FAILED))
        bad_conditions(l, "cannot set Failed=True and SuccessCriteriaMet=true conditions");
    if (met && is_true(&l->now, FAILURE_TARGET))
        bad_conditions(l,
                       "cannot set FailureTarget=True and SuccessCriteriaMet=true conditions");
    if (was && !met)
        bad_conditions(l, "cannot disable the SuccessCriteriaMet=True condition");
    if (!was && met && is_true(&l->was, COMPLETE))
        bad_conditions(l, "cannot set SuccessCriteriaMet=True for Complete Job");
    if (json_has(SPEC(l, success_policy)) && is_true(&l->now, COMPLETE) && !met)
        bad_conditions(l, "cannot set Complete=True condition without the "
                          "SuccessCriteriaMet=true condition");
}

/* ---- transitions: counts and indexes ---- */

static void check_counts(const struct look *l)
{
    bool is_elastic = l->is_indexed && json_eq(SPEC(l, completions), SPEC(l, parallelism));

    if (NUMBER(&l->now, succeeded) < NUMBER(&l->was, succeeded) && !is_elastic)
        bad(l, S("succeeded"), "cannot decrease the succeeded counter");
    if (NUMBER(&l->now, failed) < NUMBER(&l->was, failed))
        bad(l, S("failed"), "cannot decrease the failed counter");
    if ((HAS_CHANGED(l, ready) || HAS_CHANGED(l, active)) &&
        NUMBER(&l->now, ready) > NUMBER(&l->now, active))
        bad(l, S("ready"), "cannot set more ready pods than active");
}

static void check_list(const struct look *l, struct str name)
{
    struct err err = {0};

    if (index_list_check(json_str(json_get(l->now.v, name)), l->completions, NULL, &err) == 0)
        return;
    struct field_path at = field_child(&l->at, name);
    field_invalid(l->e, &at, json_get(l->now.v, name), "error parsing %.*s: %s", STR_ARG(name),
                  err.text);
}

static void check_indexes(const struct look *l)
{
    struct str completed = json_str(STATUS(&l->now, completed_indexes));
    const struct json *failed = STATUS(&l->now, failed_indexes);
    bool completed_changed = HAS_CHANGED(l, completed_indexes);
    bool failed_changed = HAS_CHANGED(l, failed_indexes);
    bool has_completions = json_has(SPEC(l, completions));
    bool per_index = json_has(SPEC(l, backoff_limit_per_index));
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

static struct instant time_of(const struct json *v)
{
    struct instant t = {0};
    struct str text = json_str(v);

    if (text.len)
        time_parse(text, &t, NULL);
    return t;
}

/* The controller sets the start anew when a Job is resumed. */
static bool is_resumed(const struct look *l)
{
    const struct json *list = STATUS(&l->now, conditions);
    bool is_false = false;

    json_each (i, list) {
        const struct json *c = json_at(list, i);
        if (str_eqz(json_str(json_getz(c, "type")), "Suspended"))
            is_false = str_eqz(json_str(json_getz(c, "status")), "False");
    }
    return is_true(&l->was, SUSPENDED) && is_false;
}

static void check_start(const struct look *l)
{
    if (!json_bool(SPEC(l, suspend), false) && json_has(STATUS(&l->was, start_time)) &&
        HAS_CHANGED(l, start_time) && !is_resumed(l))
        bad(l, S("startTime"), "field is immutable for unsuspended job once set");
}

static void check_times(const struct look *l)
{
    struct field_path completion_at = field_child(&l->at, S("completionTime"));
    bool has_end = json_has(STATUS(&l->now, completion_time));
    bool has_start = json_has(STATUS(&l->now, start_time));
    bool end_changed = HAS_CHANGED(l, completion_time);
    bool is_complete = is_true(&l->now, COMPLETE);

    if ((end_changed || HAS_CHANGED(l, start_time)) && has_end && has_start &&
        instant_before(time_of(STATUS(&l->now, completion_time)),
                       time_of(STATUS(&l->now, start_time))))
        bad(l, S("completionTime"), "must be equal to or after `startTime`");
    if (json_has(STATUS(&l->was, completion_time)) && has_end && end_changed)
        bad(l, S("completionTime"), "field is immutable");
    if (!end_changed && !turns(l, COMPLETE))
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
    const struct json *uncounted = STATUS(&l->now, uncounted_terminated_pods);
    bool ends = is_finished(&l->now) != is_finished(&l->was);
    bool is_paused = json_bool(SPEC(l, suspend), false) && json_has(SPEC(l, completions)) &&
                     l->completions == 0;

    if (!is_finished(&l->now))
        return;
    if ((ends || HAS_CHANGED(l, active)) && NUMBER(&l->now, active) > 0)
        bad(l, S("active"), "active>0 is invalid for finished job");
    if ((ends || HAS_CHANGED(l, start_time)) && !is_paused &&
        !json_has(STATUS(&l->now, start_time)))
        field_required(l->e, &start_at, "startTime is required for finished job");
    if ((ends || HAS_CHANGED(l, uncounted_terminated_pods)) &&
        json_len(json_getz(uncounted, "succeeded")) + json_len(json_getz(uncounted, "failed")))
        bad(l, S("uncountedTerminatedPods"), "must be empty for finished job");
    if ((ends || HAS_CHANGED(l, terminating)) && NUMBER(&l->now, terminating) > 0)
        bad(l, S("terminating"), "terminating>0 is invalid for finished job");
}

static void check_conditions(const struct look *l)
{
    static const struct {
        unsigned condition;
        const char *why;
    } sticky[] = {
        {FAILED,         "cannot disable the terminal Failed=True condition"       },
        {COMPLETE,       "cannot disable the terminal Complete=True condition"     },
        {FAILURE_TARGET, "cannot disable the terminal FailureTarget=True condition"},
    };
    bool is_complete = is_true(&l->now, COMPLETE), has_failed = is_true(&l->now, FAILED);
    bool will_fail = is_true(&l->now, FAILURE_TARGET);

    for (size_t i = 0; i < countof(sticky); i++) {
        if (is_true(&l->was, sticky[i].condition) && !is_true(&l->now, sticky[i].condition))
            bad_conditions(l, sticky[i].why);
    }
    if (turns(l, COMPLETE | FAILED) && is_complete && has_failed)
        bad_conditions(l, "cannot set Complete=True and Failed=true conditions");
    if (turns(l, COMPLETE | FAILURE_TARGET) && is_complete && will_fail)
        bad_conditions(l, "cannot set Complete=True and FailureTarget=true conditions");
    if ((turns(l, FAILED) || HAS_CHANGED(l, failed_indexes)) && has_failed && !will_fail)
        bad_conditions(l, "cannot set Failed=True condition without the FailureTarget=true "
                          "condition");
    if (turns(l, COMPLETE | CRITERIA_MET) && is_complete && !is_true(&l->now, CRITERIA_MET))
        bad_conditions(l, "cannot set Complete=True condition without the "
                          "SuccessCriteriaMet=true condition");
}

void job_check_status(struct field_errors *e, uint32_t options, const struct json *job,
                      const struct json *old)
{
    struct look l;

    l.e = e;
    schema_values(&l.spec, e->arena, &schema_job_spec, json_getz(job, "spec"));
    read_status(&l.now, e->arena, job);
    read_status(&l.was, e->arena, old);
    l.at = field_child(NULL, S("status"));
    l.conditions_at = field_child(&l.at, S("conditions"));
    l.completions = (int32_t)json_i64(SPEC(&l, completions), 0);
    l.is_indexed = str_eq(json_str(SPEC(&l, completion_mode)), S("Indexed"));
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
