/* job.c - what a Job controller decides */
#include "conformance.h"
#include "job_parts.h"

#include "api/batch_v1.h"
#include "api/kinds.h"
#include "controllers/job_decide.h"
#include "controllers/ttl.h"
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

static struct job_pod *pods_from(struct conf *t, const struct job *job, const struct json *list,
                                 size_t *n)
{
    struct job_pod *pods = arena_array(t->arena, struct job_pod, json_len(list) + 1);

    *n = json_len(list);
    for (size_t i = 0; i < *n; i++)
        pods[i] = job_pod_of(t->arena, job, json_at(list, i));
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

    if (!json_getz(c, "job") || job_other_manager(json_getz(c, "job")).len ||
        job_is_finished(json_getz(c, "job"))) {
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

/* ---- the parts ---- */

static const struct json *number(struct conf *t, int64_t n)
{
    return json_new(t->arena, json_of_i64(n));
}

/* An Indexed Job with per-index limits where the case has them. */
static struct job *indexed_job(struct conf *t, const struct json *c)
{
    struct job *job = (struct job *)(uintptr_t)job_from(t, json_getz(c, "job"));

    SET(job->spec, completion_mode, COMPLETION_MODE_INDEXED);
    if (json_getz(c, "completions"))
        SET(job->spec, completions, (int32_t)json_i64(json_getz(c, "completions"), 0));
    return job;
}

/* Pods given as {index, phase} only. */
static struct job_pod *bare_pods(struct conf *t, const struct json *list, size_t *n)
{
    struct job_pod *pods = arena_array(t->arena, struct job_pod, json_len(list) + 1);

    *n = json_len(list);
    for (size_t i = 0; i < *n; i++) {
        const struct json *one = json_at(list, i);
        int64_t index = JOB_NO_INDEX;
        bool is_running = str_eq(json_str(json_getz(one, "phase")), S("Running"));
        str_to_i64(json_str(json_getz(one, "index")), &index);
        pods[i] = (struct job_pod){.index = index < 0 ? JOB_NO_INDEX : (int32_t)index,
                                   .phase = is_running ? POD_RUNNING : POD_PENDING,
                                   .has_finalizer = true};
    }
    return pods;
}

static void check_duplicates(struct conf *t, const struct json *c)
{
    struct job *job = indexed_job(t, c);
    struct job_look look = {.job = job};
    struct json_arr removed = arr_in(t->arena);
    const struct json *list = json_getz(c, "pods");

    job->spec->parallelism = INT32_MAX;
    look.pods = bare_pods(t, list, &look.n_pods);
    struct job_plan plan = job_decide(t->arena, &look);
    for (size_t i = 0; i < plan.n_remove; i++)
        arr_add(&removed, *json_at(list, plan.remove[i]));
    struct json got = arr_done(&removed), set = sorted(t, &got);
    struct json want = sorted(t, json_path(c, "want", "remove", NULL));
    conf_same(t, "remove", &set, &want);
}

static void check_pending(struct conf *t, const struct json *c)
{
    const struct json *active = json_getz(c, "activePodIndexes");
    struct job *job = indexed_job(t, c);
    struct job_look look = {.job = job, .n_pods = json_len(active)};
    struct job_pod *pods = arena_array(t->arena, struct job_pod, look.n_pods + 1);
    struct job_status *status = arena_new(t->arena, struct job_status);
    struct json_arr got = arr_in(t->arena);

    for (size_t i = 0; i < look.n_pods; i++) {
        int64_t index;
        bool ok = str_to_i64(json_str(json_at(active, i)), &index) && index >= 0;
        pods[i] = (struct job_pod){.index = ok ? (int32_t)index : JOB_NO_INDEX};
        pods[i].is_deleting = !ok; /* keeps it out of what would be removed first */
    }
    look.pods = pods;
    int64_t n = json_i64(json_getz(c, "count"), 0);
    for (size_t i = 0; i < look.n_pods; i++)
        n += !pods[i].is_deleting;
    SET(job->spec, parallelism, (int32_t)n);
    SET(job->spec, backoff_limit, INT32_MAX);
    SET(job->spec, backoff_limit_per_index, 100);
    SET(status, completed_indexes, json_str(json_getz(c, "succeededIndexes")));
    SET(status, failed_indexes, json_str(json_getz(c, "failedIndexes")));
    job->status = status;
    struct job_plan plan = job_decide(t->arena, &look);
    for (size_t i = 0; i < plan.n_create; i++)
        arr_add(&got, json_of_i64(plan.create[i].index));
    struct json v = arr_done(&got);
    conf_same(t, "indexes", &v, json_path(c, "want", "indexes", NULL));
}

static void check_held(struct conf *t, const struct json *c)
{
    struct job_look look = {.job = indexed_job(t, c), .now = {SECOND_NS}};
    struct json_arr got = arr_in(t->arena);

    look.pods = pods_from(t, look.job, json_getz(c, "pods"), &look.n_pods);
    struct job_plan plan = job_decide(t->arena, &look);
    for (size_t i = 0; i < plan.n_held; i++)
        arr_add(&got, json_of_str(look.pods[plan.held[i]].uid));
    struct json v = arr_done(&got), set = sorted(t, &v);
    struct json want = sorted(t, json_path(c, "want", "uids", NULL));
    conf_same(t, "uids", &set, &want);
}

static void check_index_sets(struct conf *t, const struct json *c, bool is_failed)
{
    struct job_look look = {.job = indexed_job(t, c)};
    const struct json *want = json_getz(c, "want");

    look.pods = pods_from(t, look.job, json_getz(c, "pods"), &look.n_pods);
    struct job_plan plan = job_decide(t->arena, &look);
    conf_same_str(t, "all",
                  index_set_text(t->arena, is_failed ? &plan.failed_indexes : &plan.completed),
                  json_str(json_getz(want, "all")));
    if (!is_failed)
        conf_same_str(t, "fromStatus", index_set_text(t->arena, &plan.stored_completed),
                      json_str(json_getz(want, "fromStatus")));
}

static void check_index_failed(struct conf *t, const struct json *c)
{
    struct job *job = indexed_job(t, c);
    struct job_pod pod = job_pod_of(t->arena, job, json_getz(c, "pod"));
    struct job_look look = {.job = job, .pods = &pod, .n_pods = 1};
    struct job_plan plan = job_decide(t->arena, &look);

    if ((plan.failed_indexes.total > 0) !=
        json_bool(json_path(c, "want", "failed", NULL), false))
        conf_fail(t, "failed", index_set_text(t->arena, &plan.failed_indexes), S("the other"));
}

/* The replacement of lastPod carries its count on. */
static void check_new_counts(struct conf *t, const struct json *c)
{
    struct job *job = indexed_job(t, c);
    const struct json *last = json_getz(c, "lastPod"), *want = json_getz(c, "want");
    struct job_look look = {.job = job, .now = {INT64_MAX / 2}};
    struct job_pod pod;

    SET(job->spec, completions, 100);
    SET(job->spec, parallelism, 100);
    SET(job->spec, backoff_limit_per_index, 1000);
    if (last) {
        pod = job_pod_of(t->arena, job, last);
        pod.has_finalizer = true;
        look.pods = &pod;
        look.n_pods = 1;
    }
    struct job_plan plan = job_decide(t->arena, &look);
    const struct job_birth *b = NULL;
    for (size_t i = 0; i < plan.n_create; i++)
        if (plan.create[i].index == (last ? pod.index : 0))
            b = &plan.create[i];
    conf_same(t, "failures", number(t, b ? b->index_failures : -1),
              json_getz(want, "failures"));
    conf_same(t, "ignored", number(t, b ? b->index_ignored : -1), json_getz(want, "ignored"));
}

static void run_indexes(struct conf *t, const struct json *c)
{
    struct str op = json_str(json_getz(c, "op"));
    const struct json *want = json_getz(c, "want");

    if (str_eq(op, S("duplicates"))) {
        check_duplicates(t, c);
    } else if (str_eq(op, S("firstPending"))) {
        check_pending(t, c);
    } else if (str_eq(op, S("delayedDeletion"))) {
        check_held(t, c);
    } else if (str_eq(op, S("succeeded")) || str_eq(op, S("failed"))) {
        check_index_sets(t, c, str_eq(op, S("failed")));
    } else if (str_eq(op, S("isIndexFailed"))) {
        check_index_failed(t, c);
    } else if (str_eq(op, S("newFailureCounts"))) {
        check_new_counts(t, c);
    } else if (str_eq(op, S("failureCount"))) {
        struct job_pod p = job_pod_of(t->arena, job_from(t, NULL), json_getz(c, "pod"));
        conf_same(t, "count", number(t, p.index_failures), json_getz(want, "count"));
    } else if (str_eq(op, S("has"))) {
        struct index_set s =
            index_set_parse(t->arena, json_str(json_getz(c, "indexes")), INT32_MAX);
        bool has = index_set_has(&s, (int32_t)json_i64(json_getz(c, "index"), 0));
        conf_same(t, "has", json_new(t->arena, json_of_bool(has)), json_getz(want, "has"));
    } else {
        conf_same_str(t, "generateName",
                      job_generate_name(t->arena, json_str(json_getz(c, "jobName")),
                                        (int32_t)json_i64(json_getz(c, "index"), 0)),
                      json_str(json_getz(want, "generateName")));
    }
}

static struct span seconds_of(const struct json *v)
{
    return (struct span){(int64_t)(json_f64(v, 0) * 1e9)};
}

static struct job_look backoff_look(struct conf *t, const struct json *c)
{
    return (struct job_look){.job = job_from(t, NULL),
                             .now = time_of(json_getz(c, "now")),
                             .backoff_first = seconds_of(json_getz(c, "defaultSeconds")),
                             .backoff_most = seconds_of(json_getz(c, "maxSeconds"))};
}

static struct job_backoff record_from(const struct json *v)
{
    return (struct job_backoff){
        .failures = (int32_t)json_i64(json_getz(v, "failuresAfterLastSuccess"), 0),
        .last_failure = time_of(json_getz(v, "lastFailureTime"))};
}

static void check_record(struct conf *t, const struct json *c)
{
    const struct json *lists[] = {json_getz(c, "newSucceededFinishTimes"),
                                  json_getz(c, "newFailedFinishTimes")};
    struct job_look look = {.job = job_from(t, NULL),
                            .backoff = record_from(json_getz(c, "record"))};
    struct job_pod *pods =
        arena_array(t->arena, struct job_pod, json_len(lists[0]) + json_len(lists[1]) + 1);

    for (size_t k = 0; k < countof(lists); k++)
        json_each (i, lists[k])
            pods[look.n_pods++] = (struct job_pod){.index = JOB_NO_INDEX,
                                                   .phase = k ? POD_FAILED : POD_SUCCEEDED,
                                                   .has_finalizer = true,
                                                   .finished = time_of(json_at(lists[k], i))};
    look.pods = pods;
    struct job_backoff got = job_backoff_next(&look);
    struct job_backoff want = record_from(json_path(c, "want", "record", NULL));
    conf_same(t, "failures", number(t, got.failures), number(t, want.failures));
    conf_same(t, "last failure", number(t, got.last_failure.ns),
              number(t, want.last_failure.ns));
}

static void run_backoff(struct conf *t, const struct json *c)
{
    struct str op = json_str(json_getz(c, "op"));
    const struct json *want = json_getz(c, "want"), *last = json_getz(c, "lastFailedPod");
    struct job_look look = backoff_look(t, c);
    struct span left = {0};

    if (str_eq(op, S("newRecord"))) {
        check_record(t, c);
        return;
    }
    if (str_eq(op, S("finishedTime"))) {
        struct instant at = job_pod_finish_time(json_getz(c, "pod"));
        conf_same(t, "time", number(t, at.ns), number(t, time_of(json_getz(want, "time")).ns));
        return;
    }
    if (str_eq(op, S("remaining"))) {
        struct job_backoff record = record_from(json_getz(c, "record"));
        left = job_backoff_left(&look, &record);
    } else if (last) {
        struct job_pod p = job_pod_of(t->arena, look.job, last);
        left = job_index_backoff_left(&look, &p);
    }
    struct span wanted = seconds_of(json_getz(want, "seconds"));
    conf_same(t, "seconds", number(t, left.ns), number(t, wanted.ns));
}

static void run_success_policy(struct conf *t, const struct json *c)
{
    struct json_obj spec = obj_in(t->arena), root = obj_in(t->arena);
    int64_t completions = json_i64(json_getz(c, "completions"), 0);

    if (json_getz(c, "successPolicy"))
        obj_setz(&spec, "successPolicy", *json_getz(c, "successPolicy"));
    obj_setz(&spec, "completions", json_of_i64(completions));
    obj_setz(&root, "spec", obj_done(&spec));
    const struct job *job = job_from(t, json_new(t->arena, obj_done(&root)));
    struct index_set done = index_set_parse(
        t->arena, json_str(json_getz(c, "succeededIndexes")), (int32_t)completions);
    bool met = job_success_rule(t->arena, job, &done) >= 0;
    conf_same(t, "met", json_new(t->arena, json_of_bool(met)),
              json_path(c, "want", "met", NULL));
}

static void run_failure_policy(struct conf *t, const struct json *c)
{
    static const char *const words[] = {[JOB_POLICY_NONE] = "",
                                        [JOB_POLICY_COUNT] = "Count",
                                        [JOB_POLICY_IGNORE] = "Ignore",
                                        [JOB_POLICY_FAIL_INDEX] = "FailIndex",
                                        [JOB_POLICY_FAIL_JOB] = "FailJob"};
    struct json_obj spec = obj_in(t->arena), root = obj_in(t->arena);
    const struct json *want = json_getz(c, "want");

    if (json_getz(c, "podFailurePolicy"))
        obj_setz(&spec, "podFailurePolicy", *json_getz(c, "podFailurePolicy"));
    obj_setz(&root, "spec", obj_done(&spec));
    const struct job *job = job_from(t, json_new(t->arena, obj_done(&root)));
    enum job_policy_action action = job_policy_of(t->arena, job, json_getz(c, "pod"), NULL);
    conf_same_str(t, "action", str_from(words[action]), json_str(json_getz(want, "action")));
    conf_same(t, "failJob", json_new(t->arena, json_of_bool(action == JOB_POLICY_FAIL_JOB)),
              json_getz(want, "failJob"));
    conf_same(t, "count", json_new(t->arena, json_of_bool(action != JOB_POLICY_IGNORE)),
              json_getz(want, "count"));
}

static void run_ttl(struct conf *t, const struct json *c)
{
    static const char *const ends[][2] = {
        {"completedAt", "Complete"},
        {"failedAt",    "Failed"  }
    };
    const struct json *want = json_getz(c, "want"),
                      *ttl = json_getz(c, "ttlSecondsAfterFinished");
    struct job *job = (struct job *)(uintptr_t)job_from(t, NULL);
    struct job_status *status = arena_new(t->arena, struct job_status);
    struct job_condition *at = arena_array(t->arena, struct job_condition, 2);

    if (ttl)
        SET(job->spec, ttl_seconds_after_finished, (int32_t)json_i64(ttl, 0));
    for (size_t i = 0; i < countof(ends); i++) {
        const struct json *when = json_get(c, str_from(ends[i][0]));
        if (!when)
            continue;
        at[status->conditions.len++] =
            (struct job_condition){.type = str_from(ends[i][1]),
                                   .status = S("True"),
                                   .last_transition_time = time_of(when)};
    }
    status->conditions.at = at;
    job->status = status;
    struct ttl_left left = ttl_decide(job, time_of(json_getz(c, "now")));
    if (left.applies == json_bool(json_getz(want, "notApplicable"), false)) {
        conf_fail(t, "applies", left.applies ? S("yes") : S("no"), S("the other"));
        return;
    }
    if (!left.applies)
        return;
    struct span wanted = seconds_of(json_getz(want, "secondsLeft"));
    conf_same(t, "secondsLeft", number(t, left.left.ns), number(t, wanted.ns));
    conf_same(t, "expireAt", number(t, left.expires.ns),
              number(t, time_of(json_getz(want, "expireAt")).ns));
}

static const struct conf_file files[] = {
    {.name = "cron-next",          .run = job_cron_next      },
    {.name = "cron-schedule",      .run = job_cron_schedule  },
    {.name = "cron-sync",          .run = job_cron_sync      },
    {.name = "cron-cleanup",       .run = job_cron_cleanup   },
    {.name = "indexes-format",     .run = job_indexes_format },
    {.name = "schedule-format",    .run = job_schedule_format},
    {.name = "timezones",          .run = job_timezones      },
    {.name = "validation",         .run = job_validation     },
    {.name = "backoff",            .run = run_backoff        },
    {.name = "indexes",            .run = run_indexes        },
    {.name = "pod-failure-policy", .run = run_failure_policy },
    {.name = "success-policy",     .run = run_success_policy },
    {.name = "ttl",                .run = run_ttl            },
    {.name = "sync",               .run = run_sync           },
    {.name = "track",              .run = run_track          },
};

const struct conf_suite suite_job = {"job", files, countof(files)};
