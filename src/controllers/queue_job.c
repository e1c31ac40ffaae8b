/* queue_job.c - what a batch Job asks of its queue */
#include "controllers/queue_job.h"

#include <openssl/sha.h>

#include "api/batch_v1.h"
#include "api/kueue_v1beta2.h"
#include "controllers/job_index.h"

#define NAME_MAX_BYTES 253
#define HASH_DIGITS 5

static const struct str generated_labels[] = {S_INIT("job-name"), S_INIT("controller-uid"),
                                              S_INIT("batch.kubernetes.io/controller-uid")};
static const struct str kept_labels[] = {S_INIT("job-name"), S_INIT("controller-uid"),
                                         S_INIT("batch.kubernetes.io/job-name"),
                                         S_INIT("batch.kubernetes.io/controller-uid")};

struct str job_queue_name(const struct job *job)
{
    return str_map_get(&job->metadata->labels, S(QUEUE_LABEL));
}

struct str job_workload_name(struct arena *a, const struct job *job)
{
    unsigned char sum[SHA_DIGEST_LENGTH];
    struct str text =
        str_concat(a, S("Job\nbatch\n"), job->metadata->name, S("\n"), job->metadata->uid);
    struct str prefix = str_concat(a, S("job-"), job->metadata->name);

    SHA1((const unsigned char *)text.at, text.len, sum);
    prefix = str_slice(prefix, 0, NAME_MAX_BYTES - 1 - HASH_DIGITS);
    return str_printf(a, "%.*s-%02x%02x%x", STR_ARG(prefix), sum[0], sum[1], sum[2] >> 4);
}

int32_t job_pods_count(const struct job *job)
{
    int32_t n = job->spec->parallelism;

    return IS_SET(job->spec, completions) ? MIN(n, job->spec->completions) : n;
}

static struct str note_of(const struct job *job, const char *key)
{
    return str_map_get(&job->metadata->annotations, str_from(key));
}

bool job_is_suspended(const struct job *job)
{
    return job->spec->suspend && !str_eq(note_of(job, QUEUE_STOPPING), S("true"));
}

/* ---- the pod set ---- */

static const struct json *without_generated(struct arena *a, const struct json *template)
{
    const struct json *labels = json_path(template, "metadata", "labels", NULL);
    struct json_obj left = obj_in(a);

    if (!labels)
        return template;
    json_each_member (m, labels) {
        bool is_generated = false;
        for (size_t i = 0; i < countof(generated_labels); i++)
            is_generated |= str_eq(m->name, generated_labels[i]);
        if (!is_generated)
            obj_add(&left, m->name, m->value);
    }
    if (left.members.len == 0)
        return json_without(a, template, "metadata", "labels", NULL);
    return json_with(a, template, obj_done(&left), "metadata", "labels", NULL);
}

/* A variable that is there twice stands once: the last value, at the first one's place. */
static struct json merged_env(struct arena *a, const struct json *env)
{
    struct json_arr out = arr_in(a);

    json_each (i, env) {
        const struct json *one = json_at(env, i), *name = json_getz(one, "name");
        size_t at = 0;
        while (at < out.items.len && !json_eq(json_getz(&out.items.at[at], "name"), name))
            at++;
        if (at < out.items.len)
            out.items.at[at] = *one;
        else
            arr_add(&out, *one);
    }
    return arr_done(&out);
}

static bool names_twice(const struct json *env)
{
    json_each (i, env)
        for (size_t k = 0; k < i; k++)
            if (json_eq(json_getz(json_at(env, k), "name"), json_getz(json_at(env, i), "name")))
                return true;
    return false;
}

static const struct json *with_merged_env(struct arena *a, const struct json *template,
                                          const char *list)
{
    const struct json *was = json_path(template, "spec", list, NULL);
    struct json_arr out = arr_in(a);
    bool is_merged = true;

    json_each (i, was)
        is_merged &= !names_twice(json_getz(json_at(was, i), "env"));
    if (is_merged)
        return template;
    json_each (i, was) {
        const struct json *c = json_at(was, i), *env = json_getz(c, "env");
        arr_add(&out, env ? *json_with(a, c, merged_env(a, env), "env", NULL) : *c);
    }
    return json_with(a, template, arr_done(&out), "spec", list, NULL);
}

struct json job_pod_set(struct arena *a, const struct job *job, const struct json *tree)
{
    const struct json *template =
        without_generated(a, json_path(tree, "spec", "template", NULL));
    struct json_obj set = obj_in(a);
    int64_t least;

    template = with_merged_env(a, template, "containers");
    template = with_merged_env(a, template, "initContainers");
    obj_setz(&set, "name", json_of_z("main"));
    obj_setz(&set, "template", *template);
    obj_setz(&set, "count", json_of_i64(job_pods_count(job)));
    if (str_to_i64(note_of(job, QUEUE_MIN_PARALLELISM), &least))
        obj_setz(&set, "minCount", json_of_i64(least));
    return obj_done(&set);
}

static bool same_at(const struct json *x, const struct json *y, const char *list)
{
    const struct json *p = json_path(x, "template", "spec", list, NULL);
    const struct json *q = json_path(y, "template", "spec", list, NULL);

    return json_len(p) + json_len(q) == 0 || json_eq(p, q);
}

static int32_t admitted_count(const struct kueue_workload *wl)
{
    const struct kueue_admission *admission = wl->status ? wl->status->admission : NULL;

    if (!admission || admission->pod_set_assignments.len != 1 ||
        !IS_SET(&admission->pod_set_assignments.at[0], count))
        return -1;
    return admission->pod_set_assignments.at[0].count;
}

static bool is_condition_true(const struct kueue_workload *wl, struct str type)
{
    for (size_t i = 0; wl->status && i < wl->status->conditions.len; i++)
        if (str_eq(wl->status->conditions.at[i].type, type))
            return str_eq(wl->status->conditions.at[i].status, S("True"));
    return false;
}

bool job_matches_workload(struct arena *a, const struct job *job, const struct json *job_tree,
                          const struct kueue_workload *wl, const struct json *wl_tree)
{
    const struct json *sets = json_path(wl_tree, "spec", "podSets", NULL), *theirs;
    struct json ours = job_pod_set(a, job, job_tree);
    struct str seconds = str_map_get(&job->metadata->labels, S(QUEUE_MAX_SECONDS_LABEL));
    int64_t want_seconds = -1, count;

    if (json_len(sets) != 1)
        return false;
    theirs = json_at(sets, 0);
    str_to_i64(seconds, &want_seconds);
    if (want_seconds != (IS_SET(wl->spec, maximum_execution_time_seconds)
                             ? wl->spec->maximum_execution_time_seconds
                             : -1))
        return false;
    if (json_i64(json_getz(&ours, "minCount"), -1) !=
        json_i64(json_getz(theirs, "minCount"), -1))
        return false;
    if (!same_at(&ours, theirs, "containers") || !same_at(&ours, theirs, "initContainers"))
        return false;
    bool is_admitted = is_condition_true(wl, S("Admitted"));
    bool is_reserved = is_condition_true(wl, S("QuotaReserved"));
    if (!is_admitted && !is_reserved && !same_at(&ours, theirs, "tolerations"))
        return false;
    count = json_i64(json_getz(&ours, "count"), -1);
    if (count == json_i64(json_getz(theirs, "count"), -2) &&
        (!is_reserved || job->spec->suspend))
        return true;
    if (is_reserved && json_getz(theirs, "minCount") && admitted_count(wl) >= 0)
        return count == admitted_count(wl);
    return count == json_i64(json_getz(theirs, "count"), -2);
}

/* ---- starting ---- */

/* Adds the members of `more` to `was`; a key with two values is a conflict. */
static int merge_texts(struct arena *a, const struct json *was, const struct json *more,
                       const char *what, struct json_obj *out, struct err *err)
{
    (void)a;
    json_each_member (m, more) {
        const struct json *v = json_get(was, m->name);
        if (v && !json_eq(v, &m->value))
            return err_set(
                err, ERR_INVALID,
                "invalid admission check PodSetUpdate: conflict for %s: conflict for "
                "key=%.*s, value1=%.*s, value2=%.*s",
                what, STR_ARG(m->name), STR_ARG(json_str(v)), STR_ARG(json_str(&m->value)));
        obj_set(out, m->name, m->value);
    }
    return 0;
}

static bool same_toleration(const struct json *x, const struct json *y)
{
    static const char *const fields[] = {"key", "value", "effect"};
    struct str p = json_str(json_getz(x, "operator")), q = json_str(json_getz(y, "operator"));

    for (size_t i = 0; i < countof(fields); i++)
        if (!str_eq(json_str(json_get(x, str_from(fields[i]))),
                    json_str(json_get(y, str_from(fields[i])))))
            return false;
    return str_eq(p.len ? p : S("Equal"), q.len ? q : S("Equal"));
}

static struct json merged_tolerations(struct arena *a, const struct json *was,
                                      const struct json *more)
{
    struct json_arr out = arr_in(a);

    json_each (i, was)
        arr_add(&out, *json_at(was, i));
    json_each (i, more) {
        bool has = false;
        for (size_t k = 0; k < out.items.len && !has; k++)
            has = same_toleration(&out.items.at[k], json_at(more, i));
        if (!has)
            arr_add(&out, *json_at(more, i));
    }
    return arr_done(&out);
}

static void set_version(struct arena *a, const struct json *tree, struct json_obj *body)
{
    const struct json *version = json_path(tree, "metadata", "resourceVersion", NULL);
    struct json_obj meta = obj_in(a);

    if (!version)
        return;
    obj_setz(&meta, "resourceVersion", *version);
    obj_setz(body, "metadata", obj_done(&meta));
}

const struct json *job_start_patch(struct arena *a, const struct job *job,
                                   const struct json *tree, const struct job_start_info *info,
                                   struct err *err)
{
    const struct json *template = json_path(tree, "spec", "template", NULL);
    const struct json *meta = json_getz(template, "metadata"),
                      *pod = json_getz(template, "spec");
    struct json_obj labels = obj_in(a), notes = obj_in(a), nodes = obj_in(a);
    struct json_obj pod_patch = obj_in(a), meta_patch = obj_in(a), body = obj_in(a);
    struct json_obj spec = obj_in(a), template_patch = obj_in(a);
    bool is_synced = str_eq(note_of(job, QUEUE_SYNC_COMPLETIONS), S("true"));

    if (merge_texts(a, json_getz(meta, "annotations"), info->annotations, "annotations", &notes,
                    err) < 0 ||
        merge_texts(a, json_getz(meta, "labels"), info->labels, "labels", &labels, err) < 0 ||
        merge_texts(a, json_getz(pod, "nodeSelector"), info->node_selector, "nodeSelector",
                    &nodes, err) < 0)
        return NULL;
    if (notes.members.len)
        obj_setz(&meta_patch, "annotations", obj_done(&notes));
    if (labels.members.len)
        obj_setz(&meta_patch, "labels", obj_done(&labels));
    if (nodes.members.len)
        obj_setz(&pod_patch, "nodeSelector", obj_done(&nodes));
    if (json_len(info->tolerations))
        obj_setz(&pod_patch, "tolerations",
                 merged_tolerations(a, json_getz(pod, "tolerations"), info->tolerations));
    if (meta_patch.members.len)
        obj_setz(&template_patch, "metadata", obj_done(&meta_patch));
    if (pod_patch.members.len)
        obj_setz(&template_patch, "spec", obj_done(&pod_patch));
    set_version(a, tree, &body);
    obj_setz(&spec, "suspend", json_of_bool(false));
    if (template_patch.members.len)
        obj_setz(&spec, "template", obj_done(&template_patch));
    if (str_map_has(&job->metadata->annotations, S(QUEUE_MIN_PARALLELISM)) && info->count > 0) {
        obj_setz(&spec, "parallelism", json_of_i64(info->count));
        if (is_synced)
            obj_setz(&spec, "completions", json_of_i64(info->count));
    }
    obj_setz(&body, "spec", obj_done(&spec));
    return json_new(a, obj_done(&body));
}

/* ---- stopping ---- */

/* A merge patch that turns `now` into `want`: keys that only `now` has become null. */
static struct json replace_texts(struct arena *a, const struct json *now,
                                 const struct json *want, bool keeps_generated)
{
    struct json_obj out = obj_in(a);

    json_each_member (m, now) {
        bool is_kept = false;
        for (size_t i = 0; keeps_generated && i < countof(kept_labels); i++)
            is_kept |= str_eq(m->name, kept_labels[i]);
        if (!json_get(want, m->name) && !is_kept)
            obj_add(&out, m->name, json_of_null());
    }
    json_each_member (m, want)
        if (!json_eq(json_get(now, m->name), &m->value))
            obj_set(&out, m->name, m->value);
    return obj_done(&out);
}

static void put_if_any(struct json_obj *o, struct str name, struct json v)
{
    if (v.len)
        obj_add(o, name, v);
}

const struct json *job_restore_patch(struct arena *a, const struct job *job,
                                     const struct json *tree, const struct json *pod_set)
{
    const struct json *now = json_path(tree, "spec", "template", NULL);
    const struct json *want = json_getz(pod_set, "template");
    const struct json *now_meta = json_getz(now, "metadata");
    const struct json *want_meta = json_getz(want, "metadata");
    static const char *const lists[] = {"tolerations", "schedulingGates"};
    struct json_obj meta = obj_in(a), pod = obj_in(a), template = obj_in(a), spec = obj_in(a);
    struct json_obj body = obj_in(a), notes = obj_in(a), job_meta = obj_in(a);

    put_if_any(&meta, S("annotations"),
               replace_texts(a, json_getz(now_meta, "annotations"),
                             json_getz(want_meta, "annotations"), false));
    put_if_any(
        &meta, S("labels"),
        replace_texts(a, json_getz(now_meta, "labels"), json_getz(want_meta, "labels"), true));
    put_if_any(&pod, S("nodeSelector"),
               replace_texts(a, json_path(now, "spec", "nodeSelector", NULL),
                             json_path(want, "spec", "nodeSelector", NULL), false));
    for (size_t i = 0; i < countof(lists); i++) {
        const struct json *x = json_path(now, "spec", lists[i], NULL);
        const struct json *y = json_path(want, "spec", lists[i], NULL);
        if (json_len(x) + json_len(y) && !json_eq(x, y))
            obj_add(&pod, str_from(lists[i]), json_len(y) ? *y : json_of_null());
    }
    struct json meta_patch = obj_done(&meta), pod_patch = obj_done(&pod);
    put_if_any(&template, S("metadata"), meta_patch);
    put_if_any(&template, S("spec"), pod_patch);
    put_if_any(&spec, S("template"), obj_done(&template));
    if (str_map_has(&job->metadata->annotations, S(QUEUE_MIN_PARALLELISM))) {
        int64_t count = json_i64(json_getz(pod_set, "count"), 0);
        if (count > 0 && count != job->spec->parallelism)
            obj_add(&spec, S("parallelism"), json_of_i64(count));
        if (str_eq(note_of(job, QUEUE_SYNC_COMPLETIONS), S("true")) && count > 0)
            obj_add(&spec, S("completions"), json_of_i64(count));
    }
    obj_setz(&notes, QUEUE_STOPPING, json_of_null());
    obj_setz(&job_meta, "annotations", obj_done(&notes));
    obj_setz(&body, "metadata", obj_done(&job_meta));
    put_if_any(&body, S("spec"), obj_done(&spec));
    return json_new(a, obj_done(&body));
}

/* ---- 8.7: reclaimable pods ---- */

static int64_t terminal_pods(struct arena *a, const struct job *job, int32_t completions)
{
    if (!job->status)
        return 0;
    if (!str_eq(job->spec->completion_mode, COMPLETION_MODE_INDEXED))
        return job->status->succeeded;
    struct index_set done = index_set_parse(a, job->status->completed_indexes, completions);
    struct index_set failed = index_set_parse(a, job->status->failed_indexes, completions);
    int64_t n = done.total;
    for (size_t i = 0; i < failed.len; i++)
        for (int64_t x = failed.at[i].first; x <= failed.at[i].last; x++)
            n += !index_set_has(&done, (int32_t)x);
    return n;
}

int32_t job_reclaimable(struct arena *a, const struct job *job)
{
    int32_t parallelism = job->spec->parallelism;
    int32_t completions = IS_SET(job->spec, completions) ? job->spec->completions : parallelism;
    int64_t terminal = terminal_pods(a, job, completions);
    int64_t left = MAX(completions - terminal, INT64_C(0));

    if (parallelism <= 1 || terminal <= 0 || left >= parallelism)
        return 0;
    return (int32_t)(parallelism - left);
}
