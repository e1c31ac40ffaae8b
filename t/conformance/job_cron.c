/* job_cron.c - suite job: when CronJobs are due, and what they do */
#include "api/batch_v1.h"
#include "api/core_v1.h"
#include "api/cron.h"
#include "api/kinds.h"
#include "controllers/cron_decide.h"
#include "job_parts.h"
#include "schema/codec.h"
#include "value/time.h"

static struct instant time_of(const struct json *v)
{
    struct instant t = {0};

    if (json_str(v).len)
        time_parse(json_str(v), &t, NULL);
    return t;
}

/* "+05:30" */
static struct zone fixed_zone(struct str text)
{
    struct str hours, minutes;
    int64_t h = 0, m = 0;

    str_cut(str_slice(text, 1, text.len), ':', &hours, &minutes);
    str_to_i64(hours, &h);
    str_to_i64(minutes, &m);
    int64_t offset = h * 3600 + m * 60;
    return (struct zone){.fixed = text.at[0] == '-' ? -offset : offset};
}

void job_cron_next(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want"), *offset = json_getz(c, "zoneOffset");
    struct cron_schedule s;
    struct zone zone = {0};
    struct err err = {0};
    bool is_bad = json_has(json_getz(want, "error"));

    if (cron_parse(json_str(json_getz(c, "schedule")), &s, &err) < 0) {
        if (!is_bad)
            conf_fail(t, "schedule", str_from(err.text), S(""));
        return;
    }
    if (is_bad) {
        conf_fail(t, "schedule", S("accepted"), S("an error"));
        return;
    }
    if (!json_has(json_getz(c, "after")))
        return;
    struct str name = s.has_zone ? s.zone : json_str(json_getz(c, "timeZone"));
    if (json_has(offset) && !s.has_zone)
        zone = fixed_zone(json_str(offset));
    else if (zone_load(t->arena, name, &zone, &err) < 0)
        conf_fail(t, "zone", str_from(err.text), S(""));
    struct instant next = cron_next(&s, &zone, time_of(json_getz(c, "after")));
    struct str got = instant_is_set(next) ? time_text(t->arena, next) : S("never");
    struct instant wanted = time_of(json_getz(want, "next"));
    conf_same_str(t, "next", got,
                  instant_is_set(wanted) ? time_text(t->arena, wanted) : S("never"));
}

/* ---- what is due ---- */

/* Objects in cases may lack what a server always puts in. */
static const struct cron_job *cron_from(struct conf *t, const struct json *v)
{
    struct cron_job *cron = schema_decode(t->arena, kind_cron_job.schema, v);

    if (!cron->metadata)
        cron->metadata = arena_new(t->arena, struct object_meta);
    if (!cron->spec)
        cron->spec = arena_new(t->arena, struct cron_job_spec);
    return cron;
}

static void same_time(struct conf *t, const char *what, struct instant got,
                      const struct json *want)
{
    struct instant wanted = time_of(want);

    conf_same_str(t, what, instant_is_set(got) ? time_text(t->arena, got) : S("none"),
                  instant_is_set(wanted) ? time_text(t->arena, wanted) : S("none"));
}

static void job_from_template(struct conf *t, const struct json *c)
{
    struct err err = {0};
    const struct json *want = json_getz(c, "want");
    const struct json *body = cron_job_body(t->arena, json_getz(c, "cronJob"),
                                            time_of(json_getz(c, "scheduledTime")), &err);
    const struct json *meta = json_getz(body, "metadata");

    if (!body) {
        conf_fail(t, "error", str_from(err.text), S(""));
        return;
    }
    conf_same(t, "name", json_getz(meta, "name"), json_getz(want, "name"));
    conf_same(t, "labels", json_getz(meta, "labels"), json_getz(want, "labels"));
    conf_same(t, "annotations", json_getz(meta, "annotations"), json_getz(want, "annotations"));
}

static void same_seconds(struct conf *t, const char *what, const struct span *got,
                         const struct json *want)
{
    struct str left = S("none"), right = S("none");

    if (got)
        left = str_printf(t->arena, "%.3f", (double)got->ns / SECOND_NS);
    if (json_has(want))
        right = str_printf(t->arena, "%.3f", json_f64(want, 0));
    conf_same_str(t, what, left, right);
}

void job_cron_schedule(struct conf *t, const struct json *c)
{
    static const char *const words[] = {"none", "few", "many"};
    struct str op = json_str(json_getz(c, "op"));
    const struct json *want = json_getz(c, "want");
    struct instant now = time_of(json_getz(c, "now"));
    struct cron_clock *clock;
    struct cron_due due;
    struct err err = {0};

    if (str_eqz(op, "jobFromTemplate")) {
        job_from_template(t, c);
        return;
    }
    const struct cron_job *cron = cron_from(t, json_getz(c, "cronJob"));
    bool by_deadline =
        str_eqz(op, "next") || json_bool(json_getz(c, "useStartingDeadline"), false);
    if (cron_clock_of(t->arena, cron, &clock, &err) < 0 ||
        cron_due(clock, cron, cron->status, now, by_deadline, &due, &err) < 0) {
        if (!json_has(json_getz(want, "error")))
            conf_fail(t, "error", str_from(err.text), S(""));
        return;
    }
    if (json_has(json_getz(want, "error"))) {
        conf_fail(t, "error", S("none"), S("an error"));
    } else if (str_eqz(op, "mostRecent")) {
        same_time(t, "earliest", due.earliest, json_getz(want, "earliest"));
        same_time(t, "mostRecent", due.last, json_getz(want, "mostRecent"));
        conf_same_str(t, "missed", str_from(words[due.missed]),
                      json_str(json_getz(want, "missed")));
    } else if (str_eqz(op, "next")) {
        same_time(t, "time", due.last, json_getz(want, "time"));
    } else {
        struct span left = cron_until_next(clock, cron, cron->status, now);
        same_seconds(t, "seconds", &left, json_getz(want, "seconds"));
    }
}

/* ---- a look ---- */

static const struct job *const *jobs_from(struct conf *t, const struct json *list)
{
    const struct job **jobs = arena_array(t->arena, const struct job *, json_len(list) + 1);

    json_each (i, list)
        jobs[i] = schema_decode(t->arena, kind_job.schema, json_at(list, i));
    return jobs;
}

static void begin(struct conf *t, const struct json *c, struct cron_sync *s)
{
    const struct json *list = json_getz(c, "jobs");

    cron_begin(s, t->arena, cron_from(t, json_getz(c, "cronJob")), jobs_from(t, list),
               json_len(list), time_of(json_getz(c, "now")));
}

void job_cron_cleanup(struct conf *t, const struct json *c)
{
    struct cron_sync s;
    const uint32_t *out;
    struct json_arr names = arr_in(t->arena);

    begin(t, c, &s);
    size_t n = cron_history(&s, &out);
    for (size_t i = 0; i < n; i++)
        arr_add(&names, json_of_str(s.jobs[out[i]]->metadata->name));
    struct json got = arr_done(&names);
    conf_same(t, "deletedJobs", &got, json_path(c, "want", "deletedJobs", NULL));
}

static bool is_controlled_by(const struct json *job, struct str uid)
{
    const struct json *owners = json_path(job, "metadata", "ownerReferences", NULL);

    json_each (i, owners) {
        const struct json *o = json_at(owners, i);
        if (json_bool(json_getz(o, "controller"), false) &&
            str_eq(json_str(json_getz(o, "uid")), uid))
            return true;
    }
    return false;
}

struct store {
    const struct json *c;
    struct json_arr created, deleted;
    bool is_stopped; /* an error: nothing more is done */
};

/* A job of the store, where it has one of the name. */
static const struct json *stored_job(const struct store *st, struct str name)
{
    const struct json *job = json_getz(st->c, "jobInStore");

    return json_str(json_path(job, "metadata", "name", NULL)).len && name.len ? job : NULL;
}

static void replace(struct conf *t, struct store *st, struct cron_sync *s,
                    const struct cron_plan *plan)
{
    for (size_t i = 0; i < plan->n_replace && !st->is_stopped; i++) {
        if (!stored_job(st, plan->replace[i].name)) {
            st->is_stopped = true;
            return;
        }
        arr_add(&st->deleted, json_of_str(plan->replace[i].name));
        cron_deleted(s, plan->replace[i].name, plan->replace[i].uid);
    }
    (void)t;
}

static void create(struct conf *t, struct store *st, struct cron_sync *s,
                   const struct cron_plan *plan)
{
    struct str error = json_str(json_getz(st->c, "jobCreateError"));

    if (error.len) {
        const struct json *job = stored_job(st, plan->name), *meta = json_getz(job, "metadata");
        if (!str_has(error, S("already exists")) ||
            !is_controlled_by(job, s->cron->metadata->uid)) {
            st->is_stopped = true;
            return;
        }
        cron_created(s, plan, json_str(json_getz(meta, "namespace")),
                     json_str(json_getz(meta, "name")), json_str(json_getz(meta, "uid")));
        return;
    }
    const struct json *body =
        cron_job_body(t->arena, json_getz(st->c, "cronJob"), plan->scheduled, NULL);
    struct json meta = *json_getz(body, "metadata");
    meta = *json_without(t->arena, &meta, "ownerReferences", NULL);
    arr_add(&st->created, meta);
    cron_created(s, plan, S(""), plan->name, S("test-uid"));
}

static const struct json *or_nothing(struct conf *t, const struct json *v, bool is_list)
{
    struct json none = {.type = is_list ? JSON_ARRAY : JSON_OBJECT};

    return v ? v : json_new(t->arena, none);
}

void job_cron_sync(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want"), *stored = json_getz(c, "stored");
    struct store st = {c, arr_in(t->arena), arr_in(t->arena), false};
    struct cron_sync s;
    struct cron_plan plan = {0};
    const struct object_reference *missing;

    begin(t, c, &s);
    cron_children(&s, cron_lost(&s) && stored ? cron_from(t, stored) : NULL);
    size_t n = cron_missing(&s, &missing);
    for (size_t i = 0; i < n; i++) {
        if (!stored_job(&st, missing[i].name))
            cron_gone(&s, &missing[i]);
    }
    plan = cron_decide(&s);
    replace(t, &st, &s, &plan);
    if (plan.must_create && !st.is_stopped)
        create(t, &st, &s, &plan);
    struct json created = arr_done(&st.created), deleted = arr_done(&st.deleted);
    const struct schema_field *f = schema_field(kind_cron_job.schema, S("status"));
    struct json status = schema_encode(t->arena, f->type, s.written);
    conf_same(t, "createdJobs", &created, or_nothing(t, json_getz(want, "createdJobs"), true));
    conf_same(t, "deletedJobs", &deleted, or_nothing(t, json_getz(want, "deletedJobs"), true));
    conf_same(t, "status", &status, or_nothing(t, json_getz(want, "status"), false));
    if (s.must_write != json_bool(json_getz(want, "updateStatus"), false))
        conf_fail(t, "updateStatus", s.must_write ? S("true") : S("false"), S("the other"));
    bool comes_again = plan.comes_again && !st.is_stopped;
    same_seconds(t, "syncAgainAfter", comes_again ? &plan.again : NULL,
                 json_getz(want, "syncAgainAfter"));
}
