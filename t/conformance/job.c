/* job.c - what a Job controller decides */
#include "conformance.h"
#include "job_parts.h"

#include "api/batch_v1.h"
#include "api/kinds.h"
#include "controllers/job_decide.h"
#include "schema/codec.h"
#include "value/time.h"

static struct instant time_of(const struct json *v)
{
    struct instant t = {0};

    if (json_str(v).len)
        time_parse(json_str(v), &t, NULL);
    return t;
}

/* Objects in cases may lack what a server always puts in. */
static const struct job *job_from(struct conf *t, const struct json *v)
{
    static const struct json none = {.type = JSON_OBJECT};
    struct job *job = schema_decode(t->arena, kind_job.schema, v ? v : &none);

    if (!job->metadata)
        job->metadata = arena_new(t->arena, struct object_meta);
    if (!job->spec)
        job->spec = arena_new(t->arena, struct job_spec);
    if (!IS_SET(job->spec, parallelism))
        job->spec->parallelism = 1;
    if (!IS_SET(job->spec, backoff_limit))
        job->spec->backoff_limit = INT32_MAX;
    return job;
}

static const struct pod *pod_from(struct conf *t, const struct json *v)
{
    struct pod *pod = schema_decode(t->arena, kind_pod.schema, v);

    if (!pod->metadata)
        pod->metadata = arena_new(t->arena, struct object_meta);
    return pod;
}

static struct job_pod *pods_from(struct conf *t, const struct job *job, const struct json *list,
                                 size_t *n)
{
    struct job_pod *pods = arena_array(t->arena, struct job_pod, json_len(list) + 1);

    *n = json_len(list);
    for (size_t i = 0; i < *n; i++)
        pods[i] = job_pod_of(t->arena, job, pod_from(t, json_at(list, i)));
    return pods;
}

static struct str *strs_from(struct conf *t, const struct json *list, size_t *n)
{
    struct str *at = arena_array(t->arena, struct str, json_len(list) + 1);

    *n = json_len(list);
    for (size_t i = 0; i < *n; i++)
        at[i] = json_str(json_at(list, i));
    return at;
}

static struct job_look look_from(struct conf *t, const struct json *c)
{
    const struct json *record = json_getz(c, "backoffRecord");
    struct job_look look = {.job = job_from(t, json_getz(c, "job")),
                            .now = time_of(json_getz(c, "now"))};

    look.pods = pods_from(t, look.job, json_getz(c, "pods"), &look.n_pods);
    look.backoff.failures = (int32_t)json_i64(json_getz(record, "failuresAfterLastSuccess"), 0);
    look.backoff.last_failure = time_of(json_getz(record, "lastFailureTime"));
    const struct json *expected = json_getz(c, "expectations");
    look.is_waiting = json_i64(json_getz(expected, "creations"), 0) > 0 ||
                      json_i64(json_getz(expected, "deletions"), 0) > 0;
    look.let_go = strs_from(t, json_getz(c, "expectedFinalizerRemovals"), &look.n_let_go);
    return look;
}

/* ---- comparing ---- */

static int by_text(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

static struct json sorted(struct conf *t, const struct json *list)
{
    VEC(struct json) v = {0};

    json_each (i, list)
        vec_push_in(t->arena, &v, *json_at(list, i));
    vec_sort(&v, by_text);
    return (struct json){.type = JSON_ARRAY, .len = (uint32_t)v.len, .items = v.at};
}

/* A status as cases show it: no messages, no probe times, lists of uids as sets. */
static const struct json *plain_status(struct conf *t, const struct json *s)
{
    struct arena *a = t->arena;
    const struct json *conditions = json_getz(s, "conditions");
    const struct json *listed = json_getz(s, "uncountedTerminatedPods");
    struct json_arr out = arr_in(a);

    if (!s || s->type == JSON_NULL)
        return s;
    json_each (i, conditions) {
        const struct json *one = json_at(conditions, i);
        one = json_without(a, one, "message", NULL);
        one = json_without(a, one, "lastProbeTime", NULL);
        one = json_without(a, one, "lastTransitionTime", NULL);
        if (json_str(json_getz(one, "reason")).len == 0)
            one = json_without(a, one, "reason", NULL);
        arr_add(&out, *one);
    }
    if (conditions)
        s = json_with(a, s, arr_done(&out), "conditions", NULL);
    if (json_getz(listed, "succeeded"))
        s = json_with(a, s, sorted(t, json_getz(listed, "succeeded")),
                      "uncountedTerminatedPods", "succeeded", NULL);
    if (json_getz(listed, "failed"))
        s = json_with(a, s, sorted(t, json_getz(listed, "failed")), "uncountedTerminatedPods",
                      "failed", NULL);
    static const char *const numbers[] = {"active", "succeeded", "failed"};
    for (size_t i = 0; i < countof(numbers); i++)
        if (json_i64(json_get(s, str_from(numbers[i])), 1) == 0)
            s = json_without(a, s, numbers[i], NULL);
    return s;
}

static const struct json *status_json(struct conf *t, const struct job_status *s)
{
    const struct schema_field *f = schema_field(kind_job.schema, S("status"));

    return json_new(t->arena, schema_encode(t->arena, f->type, s));
}

static struct json names_of(struct conf *t, const struct job_look *look, const uint32_t *at,
                            size_t n)
{
    struct json_arr out = arr_in(t->arena);

    for (size_t i = 0; i < n; i++)
        arr_add(&out, json_of_str(look->pods[at[i]].name));
    struct json v = arr_done(&out);
    return sorted(t, &v);
}

/* ---- sync ---- */

/* What a world that answers as the case says makes of a plan. */
struct world {
    const struct json *last_status;
    struct json_arr statuses;
    VEC(uint32_t) removed, stripped;
    size_t n_created;
    bool has_failed;
};

static struct job_done act(struct conf *t, const struct json *c, const struct job_look *look,
                           const struct job_plan *plan, struct world *w)
{
    bool is_broken = json_has(json_getz(c, "podControlError"));
    struct job_done done = {.is_all_removed = true};
    int64_t limit = json_i64(json_getz(c, "podCreateLimit"), INT64_MAX);

    for (size_t i = 0; i < plan->n_remove; i++) {
        const struct job_pod *p = &look->pods[plan->remove[i]];
        if (is_broken) {
            done.is_all_removed = false;
            w->has_failed = true;
        } else {
            done.n_removed++;
            done.n_ready_removed += p->is_ready;
            vec_push_in(t->arena, &w->removed, plan->remove[i]);
            if (plan->remove_uncounted && p->has_finalizer)
                vec_push_in(t->arena, &w->stripped, plan->remove[i]);
        }
    }
    w->n_created = plan->n_create;
    if (is_broken)
        w->n_created = 0;
    else if ((int64_t)plan->n_create > limit)
        w->n_created = (size_t)limit;
    done.n_create_failed = plan->n_create - w->n_created;
    w->has_failed |= done.n_create_failed > 0;
    return done;
}

static void write_status(struct conf *t, struct world *w, const struct job_status *s)
{
    w->last_status = status_json(t, s);
    arr_add(&w->statuses, *w->last_status);
}

static void compare_created(struct conf *t, const struct job_plan *plan, const struct world *w,
                            const struct json *want)
{
    conf_same(t, "created", json_new(t->arena, json_of_i64((int64_t)w->n_created)),
              json_new(t->arena, json_of_i64((int64_t)json_len(want))));
    for (size_t i = 0; i < w->n_created && i < json_len(want) && i < plan->n_create; i++) {
        const struct json *one = json_at(want, i), *index = json_getz(one, "index");
        const struct json *notes = json_getz(one, "annotations");
        const struct job_birth *b = &plan->create[i];
        int64_t fails, ignored = 0;
        if (index)
            conf_same_str(t, "index", str_printf(t->arena, "%d", b->index), json_str(index));
        struct str text = json_str(json_get(notes, S(JOB_INDEX_FAILURES_KEY)));
        if (text.len && str_to_i64(text, &fails))
            conf_same(t, "failures", json_new(t->arena, json_of_i64(b->index_failures)),
                      json_new(t->arena, json_of_i64(fails)));
        str_to_i64(json_str(json_get(notes, S(JOB_INDEX_IGNORED_KEY))), &ignored);
        conf_same(t, "ignored", json_new(t->arena, json_of_i64(b->index_ignored)),
                  json_new(t->arena, json_of_i64(ignored)));
    }
}

static void compare_again(struct conf *t, const struct job_plan *plan, const struct json *want)
{
    struct json_arr got = arr_in(t->arena);

    if (plan->again_deadline.ns >= 0)
        arr_add(&got, json_of_f64((double)plan->again_deadline.ns / 1e9));
    if (plan->again.ns >= 0)
        arr_add(&got, json_of_f64((double)plan->again.ns / 1e9));
    struct json a = arr_done(&got), g = sorted(t, &a), w = sorted(t, want);
    conf_same(t, "syncAgainAfter", &g, &w);
}

static void run_sync(struct conf *t, const struct json *c)
{
    struct job_look look = look_from(t, c);
    const struct json *want = json_getz(c, "want"), *count = json_getz(want, "deletedCount");
    struct world w = {.statuses = arr_in(t->arena)};

    if (!json_getz(c, "job") || job_is_managed_elsewhere(look.job) ||
        job_is_finished(look.job)) {
        conf_same(t, "status", NULL, json_getz(want, "status"));
        return;
    }
    struct job_plan plan = job_decide(t->arena, &look);
    struct job_done done = act(t, c, &look, &plan, &w);
    struct job_settled settled = job_settle(t->arena, &look, &plan, &done);
    if (settled.must_write)
        write_status(t, &w, settled.status);
    bool is_broken = json_has(json_getz(c, "podControlError"));
    if (!is_broken)
        for (size_t i = 0; i < settled.n_let_go; i++)
            vec_push_in(t->arena, &w.stripped, settled.let_go[i]);
    w.has_failed |= is_broken && settled.n_let_go;
    struct job_concluded end =
        job_conclude(t->arena, &look, &settled, settled.let_go,
                     is_broken ? 0 : settled.n_let_go, !is_broken || settled.n_let_go == 0);
    if (end.must_write)
        write_status(t, &w, end.status);

    conf_same(t, "status", plain_status(t, w.last_status),
              plain_status(t, json_getz(want, "status")));
    compare_created(t, &plan, &w, json_getz(want, "created"));
    struct json deleted = names_of(t, &look, w.removed.at, w.removed.len);
    struct json wanted = sorted(t, json_getz(want, "deleted"));
    if (count)
        conf_same(t, "deletedCount", json_new(t->arena, json_of_i64((int64_t)w.removed.len)),
                  count);
    else
        conf_same(t, "deleted", &deleted, &wanted);
    if (!count && !json_bool(json_getz(want, "finalizerRemovedSameAsDeleted"), false)) {
        struct json stripped = names_of(t, &look, w.stripped.at, w.stripped.len);
        wanted = sorted(t, json_getz(want, "finalizerRemoved"));
        conf_same(t, "finalizerRemoved", &stripped, &wanted);
    }
    compare_again(t, &plan, json_getz(want, "syncAgainAfter"));
    if (w.has_failed != json_has(json_getz(want, "error")))
        conf_fail(t, "error", w.has_failed ? S("an error") : S("none"), S("the other"));
}

/* ---- track ---- */

static void run_track(struct conf *t, const struct json *c)
{
    struct job_look look = look_from(t, c);
    const struct json *want = json_getz(c, "want"), *end = json_getz(c, "finishing");
    struct str type = json_str(json_getz(end, "type"));
    struct job_plan plan = job_decide(t->arena, &look);
    struct world w = {.statuses = arr_in(t->arena)};

    plan.completed = plan.stored_completed; /* run alone, the set is the stored one */
    if (type.len) {
        plan.outcome = str_eq(type, S("Failed")) || str_eq(type, S("FailureTarget"))
                           ? JOB_FAILS
                           : JOB_SUCCEEDS;
        plan.has_outcome_condition = str_eq(type, S("Failed")) || str_eq(type, S("Complete"));
    } else {
        plan.outcome = JOB_GOES_ON;
    }
    struct job_settled settled =
        job_track(t->arena, &look, &plan, json_bool(json_getz(c, "statusDirty"), false));
    bool is_unwritten = json_has(json_getz(c, "statusUpdateError"));
    bool is_unpatched = json_has(json_getz(c, "podPatchError"));
    if (settled.must_write)
        write_status(t, &w, settled.status);
    size_t n_stripped = settled.must_write && is_unwritten ? 0 : settled.n_let_go;
    bool has_failed = (settled.must_write && is_unwritten) || (n_stripped && is_unpatched);
    if (!(settled.must_write && is_unwritten)) {
        struct job_concluded done =
            job_conclude(t->arena, &look, &settled, settled.let_go,
                         is_unpatched ? 0 : n_stripped, !is_unpatched || n_stripped == 0);
        if (done.must_write)
            write_status(t, &w, done.status);
    }
    struct json got = arr_done(&w.statuses);
    const struct json *updates = json_getz(want, "statusUpdates");
    conf_same(t, "statusUpdates", json_new(t->arena, json_of_i64((int64_t)got.len)),
              json_new(t->arena, json_of_i64((int64_t)json_len(updates))));
    for (size_t i = 0; i < got.len && i < json_len(updates); i++)
        conf_same(t, "statusUpdate", plain_status(t, &got.items[i]),
                  plain_status(t, json_at(updates, i)));
    conf_same(
        t, "finalizersRemoved", json_new(t->arena, json_of_i64((int64_t)n_stripped)),
        json_new(t->arena, json_of_i64(json_i64(json_getz(want, "finalizersRemoved"), 0))));
    if (has_failed != json_has(json_getz(want, "error")))
        conf_fail(t, "error", has_failed ? S("an error") : S("none"), S("the other"));
}

static const struct conf_file files[] = {
    {.name = "indexes-format",  .run = job_indexes_format },
    {.name = "schedule-format", .run = job_schedule_format},
    {.name = "timezones",       .run = job_timezones      },
    {.name = "validation",      .run = job_validation     },
    {.name = "sync",            .run = run_sync           },
    {.name = "track",           .run = run_track          },
};

const struct conf_suite suite_job = {"job", files, countof(files)};
