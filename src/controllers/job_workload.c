/* job_workload.c - one Workload for each queued Job: made, kept equal, started, stopped, ended
 *
 * Source: Kueue reference 8.2 and 8.3; the steps keep their numbers. A pass writes one thing
 * and returns; the change it makes brings it back.
 */
#include "controllers/controllers_priv.h"
#include "controllers/job_known.h"
#include "controllers/job_news.h"
#include "controllers/kueue_config.h"
#include "controllers/queue_job.h"
#include "controllers/workload.h"
#include "controllers/workload_edit.h"

#include "api/batch_v1.h"
#include "api/kinds.h"
#include "api/scheduling_v1.h"
#include "object/object.h"
#include "schema/codec.h"

struct job_workloads {
    struct control *control;
    struct controller *controller;
    bool tells_ready; /* waitForPodsReady */
    struct cache *jobs, *workloads, *flavors, *classes, *pod_classes, *namespaces;
    struct cache_index *by_owner, *pods_by_owner;
};

struct pass {
    struct step *step;
    struct job_workloads *all;
    struct object *object; /* the Job */
    const struct job *job;
    const struct json *tree;
};

static void job_event(struct pass *p, const char *type, const char *reason, struct str note)
{
    step_event(p->step, p->object, type, reason, "%.*s", STR_ARG(note));
}

/* ---- the Job's own conditions ---- */

static const struct job_condition *end_condition(const struct job *job)
{
    for (size_t i = 0; job->status && i < job->status->conditions.len; i++) {
        const struct job_condition *c = &job->status->conditions.at[i];
        bool is_end = str_eq(c->type, JOB_CONDITION_TYPE_COMPLETE) ||
                      str_eq(c->type, JOB_CONDITION_TYPE_FAILED);
        if (is_end && str_eq(c->status, S("True")))
            return c;
    }
    return NULL;
}

static bool is_active(const struct job *job)
{
    return job->status && job->status->active != 0;
}

/* ---- patches of the Job ---- */

static void patch_job(struct pass *p, struct str subresource, const struct json *body,
                      step_done_fn *done, void *ctx)
{
    struct client_target t = {.kind = &kind_job,
                              .ns = p->step->ns,
                              .name = p->step->name,
                              .subresource = subresource};

    step_patch(p->step, &t, CLIENT_PATCH_MERGE, body, &(struct client_patch_options){0}, done,
               ctx);
}

struct stop {
    struct pass *pass;
    const struct json *pod_set; /* to restore; NULL: not known */
};

/* 3. What the queue added to the template goes. */
static void restore(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct stop *stop = ctx;
    struct pass *p = stop->pass;

    if (answer && answer->err)
        return;
    const struct json *tree =
        answer && answer->object ? object_tree(answer->object, s->arena) : p->tree;
    if (stop->pod_set)
        patch_job(p, S(""), job_restore_patch(s->arena, p->job, tree, stop->pod_set), NULL,
                  NULL);
}

/* 2. The start time stands in the way of changes to the template. */
static void clear_start(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct stop *stop = ctx;
    struct pass *p = stop->pass;
    struct json_obj status = obj_in(s->arena), root = obj_in(s->arena);

    if (answer && answer->err)
        return;
    if (!p->job->status || !instant_is_set(p->job->status->start_time)) {
        restore(s, stop, answer);
        return;
    }
    obj_setz(&status, "startTime", json_of_null());
    obj_setz(&root, "status", obj_done(&status));
    struct json body = obj_done(&root);
    patch_job(p, S("status"), json_new(s->arena, body), restore, stop);
}

static void stop_job(struct pass *p, const struct json *wl_tree, struct str message)
{
    struct arena *a = p->step->arena;
    struct stop *stop = arena_new(a, struct stop);
    struct json_obj notes = obj_in(a), meta = obj_in(a), spec = obj_in(a), root = obj_in(a);

    *stop = (struct stop){p, json_at(json_path(wl_tree, "spec", "podSets", NULL), 0)};
    if (p->job->spec->suspend) {
        if (!job_is_suspended(p->job))
            clear_start(p->step, stop, NULL);
        return;
    }
    obj_setz(&notes, QUEUE_STOPPING, json_of_z("true"));
    obj_setz(&meta, "annotations", obj_done(&notes));
    obj_setz(&spec, "suspend", json_of_bool(true));
    obj_setz(&root, "metadata", obj_done(&meta));
    obj_setz(&root, "spec", obj_done(&spec));
    struct json body = obj_done(&root);
    patch_job(p, S(""), json_new(a, body), clear_start, stop);
    job_event(p, "Normal", "Stopped", message);
}

/* ---- 8.4: making the Workload ---- */

static int64_t priority_of(struct pass *p, struct kueue_workload_spec *spec, struct err *err)
{
    struct str class = str_map_get(&p->job->metadata->labels, S(QUEUE_PRIORITY_LABEL));
    struct str pod_class = p->job->spec->template->spec->priority_class_name;
    struct kueue_priority_class_ref *ref =
        arena_new(p->step->arena, struct kueue_priority_class_ref);

    if (class.len) {
        struct object *o = cache_get(p->all->classes, S(""), class);
        if (!o) {
            job_event(p, "Warning", "WorkloadPriorityClassNotFound",
                      str_printf(p->step->arena, "WorkloadPriorityClass \"%.*s\" not found",
                                 STR_ARG(class)));
            return err_set(err, ERR_NOT_FOUND, "WorkloadPriorityClass \"%.*s\" not found",
                           STR_ARG(class));
        }
        const struct kueue_workload_priority_class *c = object_view(o, p->step->arena);
        SET(ref, group, S("kueue.x-k8s.io"));
        SET(ref, kind, S("WorkloadPriorityClass"));
        SET(ref, name, class);
        SET(spec, priority_class_ref, ref);
        SET(spec, priority, c->value);
        return 0;
    }
    SET(spec, priority, 0);
    struct object *o = pod_class.len ? cache_get(p->all->pod_classes, S(""), pod_class) : NULL;
    if (!o)
        return 0;
    const struct priority_class *c = object_view(o, p->step->arena);
    SET(ref, group, S("scheduling.k8s.io"));
    SET(ref, kind, S("PriorityClass"));
    SET(ref, name, pod_class);
    SET(spec, priority_class_ref, ref);
    SET(spec, priority, c->value);
    return 0;
}

static struct object_meta *workload_meta(struct pass *p)
{
    struct arena *a = p->step->arena;
    struct object_meta *m = arena_new(a, struct object_meta);
    struct str *finalizers = arena_array(a, struct str, 1);
    struct str_entry *label = arena_array(a, struct str_entry, 1);
    struct str_entry *note = arena_array(a, struct str_entry, 1);
    struct owner_reference *owner = arena_new(a, struct owner_reference);
    struct str run_as = str_map_get(&p->job->metadata->annotations, S("berth.dev/run-as"));

    SET(owner, api_version, S("batch/v1"));
    SET(owner, kind, S("Job"));
    SET(owner, name, p->job->metadata->name);
    SET(owner, uid, p->job->metadata->uid);
    SET(owner, controller, true);
    SET(owner, block_owner_deletion, true);
    finalizers[0] = S(WORKLOAD_FINALIZER);
    label[0] = (struct str_entry){S(QUEUE_JOB_UID_LABEL), p->job->metadata->uid};
    SET(m, name, job_workload_name(a, p->job));
    SET(m, namespace, p->step->ns);
    SET(m, labels, (struct str_map){label, 1});
    if (run_as.len) {
        note[0] = (struct str_entry){S("berth.dev/run-as"), run_as};
        SET(m, annotations, (struct str_map){note, 1});
    }
    SET(m, finalizers, (struct str_list){finalizers, 1});
    SET(m, owner_references, (struct owner_reference_list){owner, 1});
    return m;
}

/* The whole Workload as a tree: the pod set comes from the Job's tree. NULL with err. */
static const struct json *new_workload(struct pass *p, struct err *err)
{
    struct arena *a = p->step->arena;
    struct kueue_workload *wl = arena_new(a, struct kueue_workload);
    struct kueue_workload_spec *spec = arena_new(a, struct kueue_workload_spec);
    struct str seconds = str_map_get(&p->job->metadata->labels, S(QUEUE_MAX_SECONDS_LABEL));
    struct json_arr sets = arr_in(a);
    int64_t limit;

    if (priority_of(p, spec, err) < 0)
        return NULL;
    SET(spec, queue_name, job_queue_name(p->job));
    SET(spec, active, true);
    if (str_to_i64(seconds, &limit) && limit > 0 && limit <= INT32_MAX)
        SET(spec, maximum_execution_time_seconds, (int32_t)limit);
    SET(wl, metadata, workload_meta(p));
    SET(wl, spec, spec);
    arr_add(&sets, job_pod_set(a, p->job, p->tree));
    struct json tree = schema_encode(a, kind_kueue_workload.schema, wl);
    return json_with(a, json_new(a, tree), arr_done(&sets), "spec", "podSets", NULL);
}

static void created(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct pass *p = ctx;

    if (answer->err && answer->err->code == ERR_EXISTS) {
        step_ignore_error(s);
        step_again(s, span_ms(20)); /* the watch is behind */
        return;
    }
    if (!answer->err && answer->object)
        job_event(p, "Normal", "CreatedWorkload",
                  str_printf(s->arena, "Created Workload: %.*s",
                             STR_ARG(object_path(answer->object))));
}

/* ---- 8.3: one Workload that says what the Job asks for ---- */

static void delete_workload(struct pass *p, struct object *o)
{
    struct object_key key = object_key(o);
    struct client_target t = {.kind = &kind_kueue_workload, .ns = key.ns, .name = key.name};
    struct client_delete_options options = {
        .propagation = S("Background"), .uid = object_uid(o), .grace_s = -1};

    workload_drop_finalizer(p->step, o);
    step_delete(p->step, &t, &options, NULL, NULL);
    job_event(p, "Normal", "DeletedWorkload",
              str_printf(p->step->arena, "Deleted not matching Workload: %.*s",
                         STR_ARG(object_path(o))));
}

/* Rewrites the spec of a Workload that holds nothing yet. */
static int update_workload(struct pass *p, struct object *o, struct err *err)
{
    struct arena *a = p->step->arena;
    const struct json *fresh = new_workload(p, err), *tree = object_tree(o, a);

    if (!fresh)
        return -1;
    const struct json *active = json_path(tree, "spec", "active", NULL);
    const struct json *spec = json_getz(fresh, "spec");
    if (active)
        spec = json_with(a, spec, *active, "active", NULL);
    step_update(p->step, &kind_kueue_workload, p->step->ns, object_key(o).name, S(""),
                json_with(a, tree, *spec, "spec", NULL), NULL, NULL);
    job_event(p, "Normal", "UpdatedWorkload",
              str_printf(a, "Updated not matching Workload for suspended job: %.*s",
                         STR_ARG(object_path(o))));
    return 0;
}

/* Another class than the Workload was made with, where it may be changed. 1: written; -1 with
 * err: the class is missing. */
static int sync_priority(struct pass *p, struct object *o, struct err *err)
{
    struct arena *a = p->step->arena;
    const struct kueue_workload *wl = object_view(o, a);
    const struct kueue_priority_class_ref *was = wl->spec->priority_class_ref;
    struct str class = str_map_get(&p->job->metadata->labels, S(QUEUE_PRIORITY_LABEL));
    struct kueue_workload_spec *spec = arena_new(a, struct kueue_workload_spec);

    if ((!was && workload_is(wl, S("QuotaReserved"))) ||
        (was && str_eq(was->kind, S("PriorityClass"))) ||
        str_eq(class, was ? was->name : S("")))
        return 0;
    if (priority_of(p, spec, err) < 0)
        return -1;
    struct json next =
        schema_encode(a, schema_member(kind_kueue_workload.schema, S("spec")), spec);
    const struct json *tree = object_tree(o, a), *ref = json_getz(&next, "priorityClassRef");
    tree = json_with(a, tree, json_of_i64(spec->priority), "spec", "priority", NULL);
    tree = ref ? json_with(a, tree, *ref, "spec", "priorityClassRef", NULL)
               : json_without(a, tree, "spec", "priorityClassRef", NULL);
    step_update(p->step, &kind_kueue_workload, p->step->ns, object_key(o).name, S(""), tree,
                NULL, NULL);
    job_event(p, "Normal", "UpdatedWorkload",
              str_printf(a, "Updated workload priority class: %.*s", STR_ARG(object_path(o))));
    return 1;
}

/* The matching Workload, or NULL; *busy: something was written, the pass is over. */
static struct object *one_workload(struct pass *p, bool *busy, struct err *err, int *rc)
{
    struct object *const *list, *match = NULL, *other = NULL;
    size_t n = cache_indexed(p->all->by_owner, object_uid(p->object), &list);
    struct object **copy = arena_array(p->step->arena, struct object *, n + 1);

    if (n)
        memcpy(copy, list, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        struct object *o = step_hold(p->step, copy[i]);
        const struct kueue_workload *wl = object_view(o, p->step->arena);
        bool is_same = workload_is(wl, S("Finished")) ||
                       job_matches_workload(p->step->arena, p->job, p->tree, wl,
                                            object_tree(o, p->step->arena));
        if (is_same && !match)
            match = o;
        else if (!other)
            other = o;
    }
    if (match && !workload_is(object_view(match, p->step->arena), S("Finished"))) {
        *rc = sync_priority(p, match, err);
        *busy = *rc != 0;
        *rc = MIN(*rc, 0);
    }
    if (match || !other)
        return match;
    *busy = true;
    const struct kueue_workload *wl = object_view(other, p->step->arena);
    if (job_is_suspended(p->job) && !workload_is(wl, S("QuotaReserved"))) {
        *rc = update_workload(p, other, err);
        return NULL;
    }
    if (!job_is_suspended(p->job) && !end_condition(p->job))
        stop_job(p, object_tree(other, p->step->arena),
                 S("No matching Workload; restoring pod templates according to existent "
                   "Workload"));
    delete_workload(p, other);
    return NULL;
}

/* ---- 8.5: starting ---- */

static const struct json *flavor_of(struct pass *p, struct str name)
{
    struct object *o = cache_get(p->all->flavors, S(""), name);

    return o ? object_tree(o, p->step->arena) : NULL;
}

static bool is_listed(const struct str *names, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(names[i], name))
            return true;
    return false;
}

/* What the assigned flavors add: their node labels and tolerations. */
static struct job_start_info start_info(struct pass *p, const struct kueue_workload *wl,
                                        struct object *wl_object)
{
    struct arena *a = p->step->arena;
    struct json_obj nodes = obj_in(a), labels = obj_in(a), notes = obj_in(a);
    struct json_arr tolerations = arr_in(a);
    struct job_start_info info = {0};
    const struct kueue_admission *admission = wl->status->admission;

    if (!admission || admission->pod_set_assignments.len == 0)
        return info;
    const struct kueue_pod_set_assignment *set = &admission->pod_set_assignments.at[0];
    struct str *seen = arena_array(a, struct str, set->flavors.len + 1);
    size_t n_seen = 0;
    for (size_t i = 0; i < set->flavors.len; i++) {
        struct str name = set->flavors.at[i].value;
        if (is_listed(seen, n_seen, name))
            continue;
        seen[n_seen++] = name;
        const struct json *flavor = flavor_of(p, name);
        const struct json *node_labels = json_path(flavor, "spec", "nodeLabels", NULL);
        const struct json *tolerated = json_path(flavor, "spec", "tolerations", NULL);
        json_each_member (m, node_labels)
            obj_set(&nodes, m->name, m->value);
        json_each (k, tolerated)
            arr_add(&tolerations, *json_at(tolerated, k));
    }
    obj_setz(&labels, QUEUE_PODSET_LABEL, json_of_str(set->name));
    obj_setz(&notes, QUEUE_WORKLOAD_NOTE, json_of_str(object_key(wl_object).name));
    info.count = IS_SET(set, count) ? set->count : job_pods_count(p->job);
    info.node_selector = json_new(a, obj_done(&nodes));
    info.labels = json_new(a, obj_done(&labels));
    info.annotations = json_new(a, obj_done(&notes));
    info.tolerations = json_new(a, arr_done(&tolerations));
    return info;
}

static void start_job(struct pass *p, const struct kueue_workload *wl, struct object *wl_object)
{
    struct job_start_info info = start_info(p, wl, wl_object);
    struct err why = {0};
    const struct json *patch = job_start_patch(p->step->arena, p->job, p->tree, &info, &why);

    if (!patch) {
        workload_finish(p->step, wl_object, S("FailedToStart"), err_str(&why), NULL, NULL);
        return;
    }
    patch_job(p, S(""), patch, NULL, NULL);
    job_event(p, "Normal", "Started",
              str_printf(p->step->arena, "Admitted by clusterQueue %.*s",
                         STR_ARG(wl->status->admission->cluster_queue)));
}

/* ---- steps ---- */

/* 1. The Job is gone, or going: its Workloads end with it. */
static int finalize(struct step *s, struct job_workloads *all, struct str uid, bool is_gone)
{
    struct object *const *list;
    size_t n = cache_indexed(all->by_owner, uid, &list);
    struct object **copy = arena_array(s->arena, struct object *, n + 1);

    if (n)
        memcpy(copy, list, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        struct object *o = step_hold(s, copy[i]);
        const struct kueue_workload *wl = object_view(o, s->arena);
        if (is_gone && !instant_is_set(wl->metadata->deletion_timestamp))
            workload_finish(s, o, S("OwnerNotFound"),
                            S("The workload's owner no longer exists"), NULL, NULL);
        workload_drop_finalizer(s, o);
    }
    return 0;
}

/* 10. */
static bool reclaim(struct pass *p, struct object *o, const struct kueue_workload *wl)
{
    struct arena *a = p->step->arena;
    int32_t n = job_reclaimable(a, p->job), was = 0;
    const struct kueue_reclaimable_pod_list *l =
        wl->status ? &wl->status->reclaimable_pods : NULL;

    for (size_t i = 0; l && i < l->len; i++)
        was += l->at[i].count;
    if (n <= was) /* what was given back stays given back */
        return false;
    struct kueue_reclaimable_pod *one = arena_new(a, struct kueue_reclaimable_pod);
    struct kueue_workload_status *status = arena_new(a, struct kueue_workload_status);
    struct kueue_workload *body = arena_new(a, struct kueue_workload);
    struct object_meta *meta = arena_new(a, struct object_meta);
    SET(one, name, S("main"));
    SET(one, count, n);
    SET(status, reclaimable_pods, (struct kueue_reclaimable_pod_list){one, 1});
    SET(meta, name, object_key(o).name);
    SET(meta, namespace, p->step->ns);
    SET(body, api_version, kind_kueue_workload.api_version);
    SET(body, kind, kind_kueue_workload.kind);
    SET(body, metadata, meta);
    SET(body, status, status);
    struct json tree = schema_encode(a, kind_kueue_workload.schema, body);
    struct client_target t = {.kind = &kind_kueue_workload,
                              .ns = p->step->ns,
                              .name = object_key(o).name,
                              .subresource = S("status")};
    struct client_patch_options options = {.manager = S("kueue-reclaimable-pods"),
                                           .force = true};
    step_patch(p->step, &t, CLIENT_APPLY, &tree, &options, NULL, NULL);
    return true;
}

/* 11. Whether its pods are ready, by the rules of 7.5. */
static bool tell_ready(struct pass *p, struct object *o, const struct kueue_workload *wl)
{
    struct arena *a = p->step->arena;
    const struct job_status *js = p->job->status;
    const struct condition *was = workload_condition(wl, S("PodsReady"));
    int64_t n = js ? js->succeeded + (int64_t)js->ready : 0;

    if (!p->all->tells_ready)
        return false;
    if (js && js->uncounted_terminated_pods)
        n += (int64_t)js->uncounted_terminated_pods->succeeded.len;
    struct workload_readiness next = workload_readiness(wl, n >= job_pods_count(p->job));
    if (was && str_eq(was->reason, next.reason) &&
        str_eq(was->status, next.is_ready ? S("True") : S("False")))
        return false;
    struct workload_edit e = workload_edit(a, wl, p->step->now);
    workload_set_condition(&e, S("PodsReady"), next.is_ready, next.reason, next.message);
    workload_write_condition(p->step, o, &e, S("PodsReady"),
                             S("kueue-job-controller-PodsReady"));
    return true;
}

/* 12. */
static void serve_eviction(struct pass *p, struct object *o, const struct kueue_workload *wl)
{
    const struct condition *why = workload_condition(wl, S("Evicted"));

    if (!job_is_suspended(p->job)) {
        stop_job(p, object_tree(o, p->step->arena), why->message);
        return;
    }
    if (!workload_is(wl, S("QuotaReserved")) || is_active(p->job))
        return;
    struct workload_edit e = workload_edit(p->step->arena, wl, p->step->now);
    workload_requeue_edit(&e, why->reason, why->message);
    workload_unreserve(&e, S("PendingEvaluation"), why->message);
    workload_write(p->step, o, &e, NULL, NULL);
}

/* 8. */
static void serve_end(struct pass *p, struct object *o, const struct job_condition *end)
{
    bool is_fine = str_eq(end->type, JOB_CONDITION_TYPE_COMPLETE);

    if (!o)
        return;
    if (workload_finish(p->step, o, is_fine ? S("Succeeded") : S("Failed"), end->message, NULL,
                        NULL))
        job_event(p, "Normal", "FinishedWorkload",
                  str_printf(p->step->arena, "Workload '%.*s' is declared finished",
                             STR_ARG(object_path(o))));
}

/* The Job names another queue now. */
static void move_workload(struct pass *p, struct object *o)
{
    struct arena *a = p->step->arena;

    step_update(p->step, &kind_kueue_workload, p->step->ns, object_key(o).name, S(""),
                json_with(a, object_tree(o, a), json_of_str(job_queue_name(p->job)), "spec",
                          "queueName", NULL),
                NULL, NULL);
}

static int serve(struct pass *p, struct err *err)
{
    bool is_busy = false;
    int rc = 0;
    struct object *o = one_workload(p, &is_busy, err, &rc);
    const struct job_condition *end = end_condition(p->job);

    if (is_busy)
        return rc;
    const struct kueue_workload *wl = o ? object_view(o, p->step->arena) : NULL;
    if (wl && workload_is(wl, S("Finished"))) { /* 5 */
        workload_drop_finalizer(p->step, o);
        return 0;
    }
    if (wl && instant_is_set(wl->metadata->deletion_timestamp)) { /* 6 */
        if (!end)
            stop_job(p, object_tree(o, p->step->arena), S("Workload is deleted"));
        workload_drop_finalizer(p->step, o);
        return 0;
    }
    if (end) { /* 8 */
        serve_end(p, o, end);
        return 0;
    }
    if (!wl) { /* 9 */
        if (!job_is_suspended(p->job))
            stop_job(p, NULL, S("missing workload"));
        if (is_active(p->job))
            return 0;
        const struct json *body = new_workload(p, err);
        if (!body)
            return -1;
        struct client_target t = {.kind = &kind_kueue_workload, .ns = p->step->ns};
        step_create(p->step, &t, body, created, p);
        return 0;
    }
    if (reclaim(p, o, wl) || tell_ready(p, o, wl)) /* 10, 11 */
        return 0;
    if (workload_is(wl, S("Evicted"))) { /* 12 */
        serve_eviction(p, o, wl);
        return 0;
    }
    if (job_is_suspended(p->job)) { /* 13 */
        if (workload_is(wl, S("Admitted")))
            start_job(p, wl, o);
        else if (!str_eq(wl->spec->queue_name, job_queue_name(p->job)))
            move_workload(p, o);
        return 0;
    }
    if (!workload_is(wl, S("Admitted"))) /* 14 */
        stop_job(p, object_tree(o, p->step->arena), S("Not admitted by cluster queue"));
    return 0;
}

static int reconcile(struct step *s, struct err *err)
{
    struct job_workloads *all = s->ctx;
    struct object *o = cache_find(all->jobs, s->key);

    if (!o)
        return 0; /* job_changed() saw its uid */
    const struct job *job = object_view(step_hold(s, o), s->arena);
    if (job_queue_name(job).len == 0)
        return 0;
    if (instant_is_set(job->metadata->deletion_timestamp)) {
        struct object *const *pods;
        if (cache_indexed(all->pods_by_owner, job->metadata->uid, &pods))
            return 0; /* they use what it holds; pod_changed() comes back */
        return finalize(s, all, job->metadata->uid, false);
    }
    struct pass *p = arena_new(s->arena, struct pass);
    *p = (struct pass){.step = s, .all = all, .object = o, .job = job};
    p->tree = object_tree(o, s->arena);
    return serve(p, err);
}

/* Keys of a second controller: "ns/uid" of Jobs that are gone. */
static int reconcile_gone(struct step *s, struct err *err)
{
    (void)err;
    return finalize(s, s->ctx, s->name, true);
}

/* ---- wiring ---- */

struct wiring {
    struct job_workloads all;
    struct controller *gone;
};

/* Others are not the queue's. */
static bool names_queue(const struct json *job)
{
    const struct json *labels = json_path(job, "metadata", "labels", NULL);

    return json_str(json_get(labels, S(QUEUE_LABEL))).len > 0;
}

static void job_changed(void *ctx, struct cache_event *e)
{
    struct wiring *w = ctx;

    if (!e->now) {
        scoped(arena_fini) struct arena a = arena_sized(256);
        controller_queue(w->gone, cache_path(&a, object_key(e->old).ns, object_uid(e->old)));
        return;
    }
    if (!names_queue(cache_event_now(e)) ||
        (e->old && !job_is_news(cache_event_old(e), cache_event_now(e), w->all.tells_ready)))
        return;
    controller_queue_object(w->all.controller, e->now);
}

static void queue_owner(struct wiring *w, struct object *o, const struct json *tree)
{
    scoped(arena_fini) struct arena a = arena_sized(256);
    const struct json *owner = job_controller_of(tree);

    if (str_eq(json_str(json_getz(owner, "apiVersion")), kind_job.api_version) &&
        str_eq(json_str(json_getz(owner, "kind")), kind_job.kind))
        controller_queue(w->all.controller,
                         cache_path(&a, object_key(o).ns, json_str(json_getz(owner, "name"))));
}

static void workload_changed(void *ctx, struct cache_event *e)
{
    if (e->old && e->now && !job_workload_is_news(cache_event_old(e), cache_event_now(e)))
        return;
    if (e->now)
        queue_owner(ctx, e->now, cache_event_now(e));
    if (e->old)
        queue_owner(ctx, e->old, cache_event_old(e));
}

/* Was it the last pod of a Job that is going? */
static void pod_changed(void *ctx, struct cache_event *e)
{
    struct wiring *w = ctx;

    if (e->now)
        return;
    const struct json *owner = job_controller_of(cache_event_old(e));
    struct object *job =
        cache_get(w->all.jobs, object_key(e->old).ns, json_str(json_getz(owner, "name")));
    if (job &&
        json_has(json_path(object_tree(job, e->arena), "metadata", "deletionTimestamp", NULL)))
        controller_queue_object(w->all.controller, job);
}

void *job_workload_start(struct control *c, const struct kueue_config *config)
{
    struct wiring *w = mem_zero(1, sizeof(*w));
    struct job_workloads *all = &w->all;

    all->control = c;
    all->tells_ready = config->life.waits_for_pods;
    all->jobs = control_cache(c, &kind_job);
    all->workloads = control_cache(c, &kind_kueue_workload);
    all->flavors = control_cache(c, &kind_kueue_resource_flavor);
    all->classes = control_cache(c, &kind_kueue_workload_priority_class);
    all->pod_classes = control_cache(c, &kind_priority_class);
    all->by_owner = cache_by_owner(all->workloads);
    all->pods_by_owner = cache_by_owner(control_cache(c, &kind_pod));
    all->controller =
        controller_new(c, &(struct controller_config){
                              .name = "job-workload", .reconcile = reconcile, .ctx = all});
    w->gone = controller_new(c, &(struct controller_config){.name = "job-workload-gone",
                                                            .reconcile = reconcile_gone,
                                                            .ctx = all});
    cache_subscribe(all->jobs, job_changed, w);
    cache_subscribe(control_cache(c, &kind_pod), pod_changed, w);
    cache_subscribe(all->workloads, workload_changed, w);
    return w;
}

void job_workload_free(void *state)
{
    free(state);
}
