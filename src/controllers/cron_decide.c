/* cron_decide.c - see the header */
#include "controllers/cron_decide.h"

#include "api/batch_v1.h"
#include "api/core_v1.h"
#include "api/cron.h"
#include "api/run_as.h"
#include "value/time.h"

#define JUST_AFTER span_ms(100) /* clocks of two machines differ a little */

/* ---- Jobs ---- */

static const struct job_condition *end_of(const struct job *job)
{
    for (size_t i = 0; job->status && i < job->status->conditions.len; i++) {
        const struct job_condition *c = &job->status->conditions.at[i];
        bool is_end = str_eq(c->type, JOB_CONDITION_TYPE_COMPLETE) ||
                      str_eq(c->type, JOB_CONDITION_TYPE_FAILED);
        if (is_end && str_eqz(c->status, "True"))
            return c;
    }
    return NULL;
}

static bool has_ended(const struct job *job, struct str how)
{
    const struct job_condition *c = end_of(job);

    return c && str_eq(c->type, how);
}

/* ---- the status ---- */

static void tell(struct cron_sync *s, const char *type, const char *reason, struct str note)
{
    struct cron_event e = {type, reason, note};

    vec_push_in(s->arena, &s->events, e);
}

static struct cron_job_status *status_copy(struct arena *a, const struct cron_job *cron)
{
    struct cron_job_status *copy = arena_new(a, struct cron_job_status);

    if (cron->status)
        *copy = *cron->status;
    return copy;
}

static const struct object_reference *listed(const struct cron_job_status *status,
                                             struct str uid)
{
    for (size_t i = 0; i < status->active.len; i++) {
        if (str_eq(status->active.at[i].uid, uid))
            return &status->active.at[i];
    }
    return NULL;
}

static void set_active(struct cron_sync *s, struct object_reference *at, size_t n)
{
    struct object_reference_list list = {at, n};

    SET(s->status, active, list);
    if (n == 0)
        UNSET(s->status, active);
    s->must_write = true;
}

/* The list is copied: those before may still be read by others. */
static void drop(struct cron_sync *s, struct str uid)
{
    size_t n = s->status->active.len, left = 0;
    struct object_reference *at = arena_array(s->arena, struct object_reference, n + 1);

    for (size_t i = 0; i < n; i++) {
        if (!str_eq(s->status->active.at[i].uid, uid))
            at[left++] = s->status->active.at[i];
    }
    if (left < n)
        set_active(s, at, left);
}

void cron_begin(struct cron_sync *s, struct arena *a, const struct cron_job *cron,
                const struct job *const *jobs, size_t n_jobs, struct instant now)
{
    *s = (struct cron_sync){
        .arena = a, .cron = cron, .jobs = jobs, .n_jobs = n_jobs, .now = now};
    s->status = s->written = status_copy(a, cron);
}

void cron_deleted(struct cron_sync *s, struct str name, struct str uid)
{
    tell(s, "Normal", "SuccessfulDelete",
         str_printf(s->arena, "Deleted job %.*s", STR_ARG(name)));
    drop(s, uid);
    s->must_write = true;
}

/* ---- history ---- */

/* Oldest first; those that never started last. */
static bool is_older(const struct job *a, const struct job *b)
{
    struct instant x = a->status->start_time, y = b->status->start_time;

    if (x.ns != y.ns && instant_is_set(x) && instant_is_set(y))
        return instant_before(x, y);
    if (instant_is_set(x) != instant_is_set(y))
        return instant_is_set(x);
    return str_cmp(a->metadata->name, b->metadata->name) < 0;
}

/* Adds the oldest that ended so, as many as are too many. */
static size_t too_many(struct cron_sync *s, struct str how, int64_t limit, uint32_t *out)
{
    uint32_t *all = arena_array(s->arena, uint32_t, s->n_jobs + 1);
    size_t n = 0, n_out = 0;

    for (size_t i = 0; i < s->n_jobs; i++) {
        size_t at = n;
        if (!has_ended(s->jobs[i], how))
            continue;
        while (at > 0 && is_older(s->jobs[i], s->jobs[all[at - 1]]))
            at--;
        memmove(&all[at + 1], &all[at], (n - at) * sizeof(*all));
        all[at] = (uint32_t)i;
        n++;
    }
    while (n_out < n && (int64_t)(n - n_out) > limit) {
        out[n_out] = all[n_out];
        n_out++;
    }
    return n_out;
}

size_t cron_history(struct cron_sync *s, const uint32_t **out)
{
    const struct cron_job_spec *spec = s->cron->spec;
    uint32_t *at = arena_array(s->arena, uint32_t, s->n_jobs + 1);
    size_t n = 0;

    if (IS_SET(spec, successful_jobs_history_limit))
        n += too_many(s, JOB_CONDITION_TYPE_COMPLETE, spec->successful_jobs_history_limit, at);
    if (IS_SET(spec, failed_jobs_history_limit))
        n += too_many(s, JOB_CONDITION_TYPE_FAILED, spec->failed_jobs_history_limit, at + n);
    *out = at;
    return n;
}

/* ---- what became of the Jobs ---- */

bool cron_lost(const struct cron_sync *s)
{
    for (size_t i = 0; i < s->n_jobs; i++) {
        if (!end_of(s->jobs[i]) && !listed(s->status, s->jobs[i]->metadata->uid))
            return true;
    }
    return false;
}

static void note_success(struct cron_sync *s, const struct job *job)
{
    struct instant done = job->status->completion_time;

    if (!instant_is_set(done) || (instant_is_set(s->status->last_successful_time) &&
                                  !instant_before(s->status->last_successful_time, done)))
        return;
    SET(s->status, last_successful_time, done);
    s->must_write = true;
}

void cron_children(struct cron_sync *s, const struct cron_job *fresh)
{
    for (size_t i = 0; i < s->n_jobs; i++) {
        const struct job *job = s->jobs[i];
        const struct job_condition *end = end_of(job);
        bool is_listed = listed(s->status, job->metadata->uid);
        if (!is_listed && !end) {
            /* A newer copy that knows the Job is gone on with; the first one is written, so
             * that what changes from here on waits for the next look. */
            if (fresh && fresh->status && listed(fresh->status, job->metadata->uid)) {
                s->status = status_copy(s->arena, fresh);
                continue;
            }
            tell(s, "Warning", "UnexpectedJob",
                 str_printf(s->arena,
                            "Saw a job that the controller did not create or forgot: "
                            "%.*s",
                            STR_ARG(job->metadata->name)));
        } else if (is_listed && end) {
            drop(s, job->metadata->uid);
            tell(s, "Normal", "SawCompletedJob",
                 str_printf(s->arena, "Saw completed job: %.*s, status: %.*s",
                            STR_ARG(job->metadata->name), STR_ARG(end->type)));
        }
        if (has_ended(job, JOB_CONDITION_TYPE_COMPLETE))
            note_success(s, job);
    }
}

size_t cron_missing(struct cron_sync *s, const struct object_reference **out)
{
    size_t n = 0;
    struct object_reference *at =
        arena_array(s->arena, struct object_reference, s->status->active.len + 1);

    for (size_t i = 0; i < s->status->active.len; i++) {
        const struct object_reference *ref = &s->status->active.at[i];
        bool is_there = false;
        for (size_t k = 0; k < s->n_jobs && !is_there; k++)
            is_there = str_eq(s->jobs[k]->metadata->uid, ref->uid);
        if (!is_there)
            at[n++] = *ref;
    }
    *out = at;
    return n;
}

void cron_gone(struct cron_sync *s, const struct object_reference *ref)
{
    tell(s, "Normal", "MissingJob",
         str_printf(s->arena, "Active job went missing: %.*s", STR_ARG(ref->name)));
    drop(s, ref->uid);
}

/* ---- when it is due ---- */

struct cron_clock {
    struct cron_schedule schedule;
    struct zone zone;
};

static struct instant next(const struct cron_clock *c, struct instant t)
{
    return cron_next(&c->schedule, &c->zone, t);
}

int cron_clock_of(struct arena *a, const struct cron_job *cron, struct cron_clock **out,
                  struct err *err)
{
    struct cron_clock *c = arena_new(a, struct cron_clock);
    struct str zone = cron->spec->time_zone;

    if (cron_parse(cron->spec->schedule, &c->schedule, err) < 0)
        return -1;
    if (c->schedule.has_zone)
        zone = c->schedule.zone;
    if (zone_load(a, zone, &c->zone, err) < 0)
        return -1;
    *out = c;
    return 0;
}

static struct instant earliest_of(const struct cron_job *cron,
                                  const struct cron_job_status *status, struct instant now,
                                  bool by_deadline)
{
    struct instant t = status && instant_is_set(status->last_schedule_time)
                           ? status->last_schedule_time
                           : cron->metadata->creation_timestamp;

    if (by_deadline && IS_SET(cron->spec, starting_deadline_seconds)) {
        int64_t seconds = MIN(cron->spec->starting_deadline_seconds, INT64_MAX / SECOND_NS);
        struct instant first = instant_add(now, span_s(-seconds));
        if (instant_before(t, first))
            return first;
    }
    return t;
}

int cron_due(const struct cron_clock *clock, const struct cron_job *cron,
             const struct cron_job_status *status, struct instant now, bool by_deadline,
             struct cron_due *out, struct err *err)
{
    struct instant from = earliest_of(cron, status, now, by_deadline);
    struct instant first = next(clock, from), second = next(clock, first);

    *out = (struct cron_due){.earliest = from};
    if (instant_is_set(first) && instant_before(now, first))
        return 0;
    if (instant_is_set(second) && instant_before(now, second)) {
        out->last = first;
        return 0;
    }
    int64_t apart = instant_sub(second, first).ns / SECOND_NS;
    if (!instant_is_set(first) || !instant_is_set(second) || apart < 1)
        return err_set(err, ERR_INVALID,
                       "time difference between two schedules is less than 1 second");
    int64_t n = instant_sub(now, first).ns / SECOND_NS / apart + 1;
    out->missed = n > CRON_MANY_MISSED ? CRON_MANY_TIMES_MISSED : CRON_FEW_MISSED;
    struct instant t = next(clock, instant_add(first, span_s((n - 2) * apart)));
    while (instant_is_set(t) && !instant_before(now, t)) {
        out->last = t;
        t = next(clock, t);
    }
    return 0;
}

struct span cron_until_next(const struct cron_clock *clock, const struct cron_job *cron,
                            const struct cron_job_status *status, struct instant now)
{
    struct cron_due due;
    struct instant from = now;

    if (cron_due(clock, cron, status, now, false, &due, NULL) == 0) {
        if (instant_is_set(due.last))
            from = due.last;
        else if (due.missed == CRON_NONE_MISSED)
            from = due.earliest;
    }
    struct instant t = next(clock, from);
    if (!instant_is_set(t))
        return (struct span){INT64_MIN};
    return instant_sub(instant_add(t, JUST_AFTER), now);
}

/* ---- deciding ---- */

struct str cron_job_name(struct arena *a, const struct cron_job *cron, struct instant scheduled)
{
    int64_t seconds = scheduled.ns / SECOND_NS;

    return str_printf(a, "%.*s-%lld", STR_ARG(cron->metadata->name), (long long)(seconds / 60));
}

static bool is_processed(const struct cron_sync *s, struct instant scheduled, struct str name)
{
    for (size_t i = 0; i < s->status->active.len; i++) {
        const struct object_reference *ref = &s->status->active.at[i];
        if (str_eq(ref->name, name) && str_eq(ref->namespace, s->cron->metadata->namespace))
            return true;
    }
    return s->status->last_schedule_time.ns == scheduled.ns;
}

/* False: it does nothing more and is not looked at again before it changes. */
static bool clock_of(struct cron_sync *s, struct cron_clock **clock)
{
    const struct cron_job_spec *spec = s->cron->spec;
    struct zone zone;
    struct err err = {0};

    if (instant_is_set(s->cron->metadata->deletion_timestamp))
        return false;
    if (IS_SET(spec, time_zone) && zone_load(s->arena, spec->time_zone, &zone, &err) < 0) {
        tell(s, "Warning", "UnknownTimeZone",
             str_printf(s->arena, "invalid timeZone: \"%.*s\": %s", STR_ARG(spec->time_zone),
                        err.text));
        return false;
    }
    if (spec->suspend)
        return false;
    if (str_has(spec->schedule, S("TZ")))
        tell(s, "Warning", "UnsupportedSchedule",
             str_printf(s->arena,
                        "a time zone within the schedule \"%.*s\" is not supported; use "
                        "timeZone",
                        STR_ARG(spec->schedule)));
    if (cron_clock_of(s->arena, s->cron, clock, &err) < 0) {
        tell(s, "Warning", "UnparseableSchedule",
             str_printf(s->arena, "unparseable schedule: \"%.*s\" : %s",
                        STR_ARG(spec->schedule), err.text));
        return false;
    }
    return true;
}

/* The time to meet now; false: none, or it may not be. */
static bool time_to_meet(struct cron_sync *s, const struct cron_due *due)
{
    const struct cron_job_spec *spec = s->cron->spec;

    if (due->missed == CRON_MANY_TIMES_MISSED)
        tell(s, "Warning", "TooManyMissedTimes",
             S("too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
               "check clock skew"));
    if (!instant_is_set(due->last))
        return false;
    if (IS_SET(spec, starting_deadline_seconds)) {
        int64_t seconds = MIN(spec->starting_deadline_seconds, INT64_MAX / SECOND_NS);
        if (instant_before(instant_add(due->last, span_s(seconds)), s->now)) {
            tell(s, "Warning", "MissSchedule",
                 str_printf(s->arena, "Missed scheduled time to start a job: %.*s",
                            STR_ARG(time_text(s->arena, due->last))));
            return false;
        }
    }
    if (is_processed(s, due->last, cron_job_name(s->arena, s->cron, due->last)))
        return false;
    if (str_eqz(spec->concurrency_policy, "Forbid") && s->status->active.len) {
        tell(s, "Normal", "JobAlreadyActive",
             S("Not starting job because prior execution is running and concurrency policy is "
               "Forbid"));
        return false;
    }
    return true;
}

struct cron_plan cron_decide(struct cron_sync *s)
{
    struct cron_plan p = {0};
    struct cron_clock *clock;
    struct cron_due due;
    struct err err = {0};

    if (!clock_of(s, &clock))
        return p;
    if (cron_due(clock, s->cron, s->status, s->now, true, &due, &err) < 0) {
        tell(s, "Warning", "InvalidSchedule",
             str_printf(s->arena, "invalid schedule: %.*s : %s",
                        STR_ARG(s->cron->spec->schedule), err.text));
        return p;
    }
    p.again = cron_until_next(clock, s->cron, s->status, s->now);
    p.comes_again = true;
    if (!time_to_meet(s, &due))
        return p;
    if (str_eqz(s->cron->spec->concurrency_policy, "Replace")) {
        p.replace = s->status->active.at;
        p.n_replace = s->status->active.len;
    }
    p.must_create = true;
    p.scheduled = due.last;
    p.name = cron_job_name(s->arena, s->cron, due.last);
    return p;
}

void cron_created(struct cron_sync *s, const struct cron_plan *plan, struct str ns,
                  struct str name, struct str uid)
{
    size_t n = s->status->active.len;
    struct object_reference *at = arena_array(s->arena, struct object_reference, n + 1);
    struct object_reference *ref = &at[n];

    if (n)
        memcpy(at, s->status->active.at, n * sizeof(*at));
    SET(ref, api_version, S("batch/v1"));
    SET(ref, kind, S("Job"));
    SET(ref, name, str_copy(s->arena, name));
    SET(ref, uid, str_copy(s->arena, uid));
    if (ns.len)
        SET(ref, namespace, str_copy(s->arena, ns));
    set_active(s, at, n + 1);
    SET(s->status, last_schedule_time, plan->scheduled);
}

/* ---- the Job ---- */

/* RFC 3339, by the zone's clocks. */
static struct str local_text(struct arena *a, const struct zone *zone, struct instant t)
{
    int64_t offset = zone_at(zone, t.ns / SECOND_NS), minutes = offset / 60;
    struct time_civil c = time_civil(instant_add(t, span_s(offset)));
    struct buf b = buf_in(a, 32);

    buf_printf(&b, "%04lld-%02d-%02dT%02d:%02d:%02d", (long long)c.year, c.month, c.day, c.hour,
               c.minute, c.second);
    if (offset == 0)
        buf_byte(&b, 'Z');
    else
        buf_printf(&b, "%c%02lld:%02lld", offset < 0 ? '-' : '+',
                   (long long)(minutes < 0 ? -minutes : minutes) / 60,
                   (long long)(minutes < 0 ? -minutes : minutes) % 60);
    return buf_str(&b);
}

static struct json owner_of(struct arena *a, const struct json *meta)
{
    struct json_obj o = obj_in(a);
    const struct json *uid = json_getz(meta, "uid"), *name = json_getz(meta, "name");

    obj_setz(&o, "apiVersion", json_of_z("batch/v1"));
    obj_setz(&o, "kind", json_of_z("CronJob"));
    obj_setz(&o, "name", json_of_str(json_str(name)));
    obj_setz(&o, "uid", json_of_str(json_str(uid)));
    obj_setz(&o, "controller", json_of_bool(true));
    obj_setz(&o, "blockOwnerDeletion", json_of_bool(true));
    return obj_done(&o);
}

const struct json *cron_job_body(struct arena *a, const struct json *cron,
                                 struct instant scheduled, struct err *err)
{
    const struct json *meta = json_getz(cron, "metadata");
    const struct json *template = json_path(cron, "spec", "jobTemplate", NULL);
    const struct json *was = json_getz(template, "metadata");
    const struct json *labels = json_getz(was, "labels"), *spec = json_getz(template, "spec");
    const struct json *run_as = json_path(meta, "annotations", RUN_AS_ANNOTATION, NULL);
    struct json_obj job = obj_in(a), out = obj_in(a);
    struct json_obj notes = obj_from(a, json_getz(was, "annotations"));
    struct json_arr owners = arr_in(a);
    struct zone zone;

    if (zone_load(a, json_str(json_path(cron, "spec", "timeZone", NULL)), &zone, err) < 0)
        return NULL;
    obj_del(&notes, S(RUN_AS_ANNOTATION)); /* the CronJob's own, whatever its template says */
    if (run_as)
        obj_setz(&notes, RUN_AS_ANNOTATION, *run_as);
    obj_setz(&notes, CRON_SCHEDULED_AT, json_of_str(local_text(a, &zone, scheduled)));
    arr_add(&owners, owner_of(a, meta));
    obj_setz(&out, "name",
             json_of_str(str_printf(a, "%.*s-%lld", STR_ARG(json_str(json_getz(meta, "name"))),
                                    (long long)(scheduled.ns / SECOND_NS / 60))));
    if (json_len(labels))
        obj_setz(&out, "labels", *labels);
    obj_setz(&out, "annotations", obj_done(&notes));
    obj_setz(&out, "ownerReferences", arr_done(&owners));
    obj_setz(&job, "apiVersion", json_of_z("batch/v1"));
    obj_setz(&job, "kind", json_of_z("Job"));
    obj_setz(&job, "metadata", obj_done(&out));
    if (spec)
        obj_setz(&job, "spec", *spec);
    return json_new(a, obj_done(&job));
}
