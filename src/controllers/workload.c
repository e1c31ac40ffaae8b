/* workload.c - a Workload's life between its Job and its quota
 *
 * Source: Kueue reference 7.2; the steps keep their numbers. Every end goes through
 * workload_finish(), and nothing else writes the Finished condition.
 */
#include "controllers/workload.h"

#include "controllers/controllers_priv.h"
#include "controllers/queue_job.h"
#include "controllers/workload_edit.h"

#include "api/kinds.h"
#include "object/object.h"

struct workloads {
    struct control *control;
    struct controller *controller;
    struct cache *workloads, *lqs, *cqs;
    struct cache_index *by_queue;
};

static struct client_target target_of(struct step *s, struct str subresource)
{
    return (struct client_target){
        .kind = &kind_kueue_workload, .ns = s->ns, .name = s->name, .subresource = subresource};
}

void workload_write(struct step *s, struct object *o, const struct workload_edit *e,
                    step_done_fn *done, void *ctx)
{
    struct object_key key = object_key(o);
    struct client_target t = {.kind = &kind_kueue_workload,
                              .ns = key.ns,
                              .name = key.name,
                              .subresource = S("status")};
    struct workload_request r = workload_request(e, (struct workload_request_options){0});

    step_patch(s, &t, r.type, r.body, &r.options, done, ctx);
}

bool workload_finish(struct step *s, struct object *o, struct str reason, struct str message,
                     step_done_fn *done, void *ctx)
{
    struct workload_edit e = workload_edit(s->arena, object_view(o, s->arena), s->now);

    if (!workload_finish_edit(&e, reason, message))
        return false;
    workload_write(s, o, &e, done, ctx);
    return true;
}

void workload_drop_finalizer(struct step *s, struct object *o)
{
    struct arena *a = s->arena;
    const struct json *tree = object_tree(o, a);
    const struct json *list = json_path(tree, "metadata", "finalizers", NULL);
    struct json_arr left = arr_in(a);
    struct json_obj meta = obj_in(a), root = obj_in(a);
    struct object_key key = object_key(o);
    struct client_target t = {.kind = &kind_kueue_workload, .ns = key.ns, .name = key.name};

    json_each (i, list)
        if (!str_eq(json_str(json_at(list, i)), S(WORKLOAD_FINALIZER)))
            arr_add(&left, *json_at(list, i));
    if (json_len(list) == left.items.len)
        return;
    obj_setz(&meta, "finalizers", arr_done(&left));
    obj_setz(&root, "metadata", obj_done(&meta));
    struct json body = obj_done(&root);
    step_patch(s, &t, CLIENT_PATCH_MERGE, &body, &(struct client_patch_options){0}, NULL, NULL);
}

/* ---- 7, 8: activity ---- */

static void set_inactive(struct step *s)
{
    struct json_obj spec = obj_in(s->arena), root = obj_in(s->arena);
    struct client_target t = target_of(s, S(""));

    obj_setz(&spec, "active", json_of_bool(false));
    obj_setz(&root, "spec", obj_done(&spec));
    struct json body = obj_done(&root);
    step_patch(s, &t, CLIENT_PATCH_MERGE, &body, &(struct client_patch_options){0}, NULL, NULL);
}

static void evict(struct step *s, struct object *o, struct workload_edit *e, const char *reason,
                  struct str message, struct str cause)
{
    workload_evict_edit(e, str_from(reason), message, cause);
    workload_write(s, o, e, NULL, NULL);
    if (e->was->status && e->was->status->admission)
        step_event(s, o, "Normal",
                   str_z(s->arena, str_printf(s->arena, "EvictedDueTo%s%s%.*s", reason,
                                              cause.len ? "DueTo" : "", STR_ARG(cause))),
                   "%.*s", STR_ARG(message));
}

/* True where the pass ends here. */
static bool serve_inactive(struct step *s, struct object *o, struct workload_edit *e)
{
    const struct condition *why = workload_edit_condition(e, S("DeactivationTarget"));
    struct str message = S("The workload is deactivated");

    if (workload_is_active(e->was))
        return false;
    if (!workload_edit_is(e, S("Evicted"))) {
        struct str cause = why ? why->reason : S("");
        if (why)
            message = str_printf(s->arena, "The workload is deactivated due to %.*s",
                                 STR_ARG(why->message));
        workload_drop_condition(e, S("DeactivationTarget"));
        UNSET(e->status, requeue_state);
        evict(s, o, e, "Deactivated", message, cause);
        return true;
    }
    return false;
}

static bool flip_requeued(struct step *s, struct object *o, struct workload_edit *e,
                          const char *from, const char *to, const char *message)
{
    const struct condition *c = workload_edit_condition(e, S("Requeued"));

    if (!c || !str_eq(c->status, S("False")) || !str_eqz(c->reason, from))
        return false;
    workload_set_condition(e, S("Requeued"), true, str_from(to), str_from(message));
    workload_write(s, o, e, NULL, NULL);
    return true;
}

static bool serve_backoff(struct step *s, struct object *o, struct workload_edit *e)
{
    static const char *const waits[] = {"PodsReadyTimeout", "AdmissionCheck"};
    const struct kueue_requeue_state *state = e->status->requeue_state;

    if (state && instant_is_set(state->requeue_at)) {
        struct span left = instant_sub(state->requeue_at, s->now);
        if (left.ns > 0) {
            step_again(s, left);
            return true;
        }
    }
    if (flip_requeued(s, o, e, "Deactivated", "Reactivated", "The workload was reactivated"))
        return true;
    for (size_t i = 0; i < countof(waits); i++)
        if (flip_requeued(s, o, e, waits[i], "BackoffFinished",
                          "The workload backoff was finished"))
            return true;
    return false;
}

/* ---- 9, 11, 13: queues that stop ---- */

struct queues {
    struct object *lq, *cq;
    struct str lq_stop, cq_stop, cq_name;
};

static bool is_stopped(struct str policy)
{
    return policy.len && !str_eq(policy, S("None"));
}

static struct queues look_up_queues(struct step *s, struct workloads *w,
                                    const struct kueue_workload *wl)
{
    struct queues q = {.lq = cache_get(w->lqs, s->ns, wl->spec->queue_name)};

    if (q.lq) {
        const struct kueue_local_queue *lq = object_view(q.lq, s->arena);
        q.lq_stop = lq->spec->stop_policy;
        q.cq_name = lq->spec->cluster_queue;
    }
    if (wl->status && wl->status->admission)
        q.cq_name = wl->status->admission->cluster_queue;
    q.cq = q.cq_name.len ? cache_get(w->cqs, S(""), q.cq_name) : NULL;
    if (q.cq) {
        const struct kueue_cluster_queue *cq = object_view(q.cq, s->arena);
        q.cq_stop = cq->spec->stop_policy;
    }
    return q;
}

static bool serve_restarts(struct step *s, struct object *o, struct workload_edit *e,
                           const struct queues *q)
{
    if (q->lq && !is_stopped(q->lq_stop) &&
        flip_requeued(s, o, e, "LocalQueueStopped", "LocalQueueRestarted",
                      "The LocalQueue was restarted after being stopped"))
        return true;
    return q->cq && !is_stopped(q->cq_stop) &&
           flip_requeued(s, o, e, "ClusterQueueStopped", "ClusterQueueRestarted",
                         "The ClusterQueue was restarted after being stopped");
}

static bool unreserve(struct step *s, struct object *o, struct workload_edit *e,
                      const char *reason, struct str message)
{
    workload_unreserve(e, str_from(reason), message);
    workload_write(s, o, e, NULL, NULL);
    return true;
}

/* What a stopped or missing queue does to who holds its quota. */
static bool serve_stops(struct step *s, struct object *o, struct workload_edit *e,
                        const struct queues *q)
{
    bool is_admitted = workload_edit_is(e, S("Admitted"));
    struct str lq = e->was->spec->queue_name;

    if (!workload_edit_is(e, S("QuotaReserved")) || workload_edit_is(e, S("Evicted")))
        return false;
    if (is_admitted) {
        if (str_eq(q->lq_stop, S("HoldAndDrain"))) {
            evict(s, o, e, "LocalQueueStopped", S("The LocalQueue is stopped"), S(""));
            return true;
        }
        if (str_eq(q->cq_stop, S("HoldAndDrain"))) {
            evict(s, o, e, "ClusterQueueStopped", S("The ClusterQueue is stopped"), S(""));
            return true;
        }
        return false;
    }
    if (!q->lq)
        return unreserve(
            s, o, e, "Misconfigured",
            str_printf(s->arena, "LocalQueue %.*s is terminating or missing", STR_ARG(lq)));
    if (is_stopped(q->lq_stop))
        return unreserve(s, o, e, "Suspended",
                         str_printf(s->arena, "LocalQueue %.*s is stopped", STR_ARG(lq)));
    if (!q->cq)
        return unreserve(s, o, e, "Misconfigured",
                         str_printf(s->arena, "ClusterQueue %.*s is terminating or missing",
                                    STR_ARG(q->cq_name)));
    if (is_stopped(q->cq_stop))
        return unreserve(
            s, o, e, "Suspended",
            str_printf(s->arena, "ClusterQueue %.*s is stopped", STR_ARG(q->cq_name)));
    return false;
}

/* Who waits where nobody looks at it is told why; the engine tells all others. */
static void say_why_unqueued(struct workload_edit *e, struct arena *a, const struct queues *q)
{
    struct str lq = e->was->spec->queue_name;

    if (!q->lq)
        workload_unreserve(e, S("Misconfigured"),
                           str_printf(a, "LocalQueue %.*s doesn't exist", STR_ARG(lq)));
    else if (is_stopped(q->lq_stop))
        workload_unreserve(e, S("Suspended"),
                           str_printf(a, "LocalQueue %.*s is inactive", STR_ARG(lq)));
    else if (!q->cq)
        workload_unreserve(
            e, S("Misconfigured"),
            str_printf(a, "ClusterQueue %.*s doesn't exist", STR_ARG(q->cq_name)));
}

/* ---- 13d: time is up ---- */

static void serve_deadline(struct step *s, struct object *o, struct workload_edit *e)
{
    const struct condition *admitted = workload_edit_condition(e, S("Admitted"));
    const struct kueue_workload_spec *spec = e->was->spec;

    if (!IS_SET(spec, maximum_execution_time_seconds) || !workload_edit_is(e, S("Admitted")) ||
        workload_edit_condition(e, S("DeactivationTarget")))
        return;
    int64_t limit = spec->maximum_execution_time_seconds -
                    e->status->accumulated_past_execution_time_seconds;
    struct span left = {span_s(limit).ns -
                        instant_sub(s->now, admitted->last_transition_time).ns};
    if (left.ns > 0) {
        step_again(s, left);
        return;
    }
    UNSET(e->status, accumulated_past_execution_time_seconds);
    workload_set_condition(e, S("DeactivationTarget"), true, S("MaximumExecutionTimeExceeded"),
                           S("exceeding the maximum execution time"));
    workload_write(s, o, e, NULL, NULL);
    step_event(s, o, "Warning", "MaximumExecutionTimeExceeded",
               "The maximum execution time (%ds) exceeded",
               spec->maximum_execution_time_seconds);
}

/* ---- one pass ---- */

static bool is_orphan(const struct kueue_workload *wl)
{
    return wl->metadata->owner_references.len == 0 &&
           (instant_is_set(wl->metadata->deletion_timestamp) ||
            str_map_get(&wl->metadata->labels, S(QUEUE_JOB_UID_LABEL)).len);
}

static int reconcile(struct step *s, struct err *err)
{
    struct workloads *w = s->ctx;
    struct object *o = cache_find(w->workloads, s->key);

    (void)err;
    if (!o)
        return 0;
    step_hold(s, o);
    const struct kueue_workload *wl = object_view(o, s->arena);
    if (is_orphan(wl)) { /* 1 */
        if (!instant_is_set(wl->metadata->deletion_timestamp))
            workload_finish(s, o, S("OwnerNotFound"),
                            S("The workload's owner no longer exists"), NULL, NULL);
        workload_drop_finalizer(s, o);
        return 0;
    }
    if (workload_is(wl, S("Finished"))) /* 4 */
        return 0;
    struct workload_edit e = workload_edit(s->arena, wl, s->now);
    if (workload_is_active(wl) && workload_edit_is(&e, S("DeactivationTarget"))) { /* 7a */
        set_inactive(s);
        return 0;
    }
    if (serve_inactive(s, o, &e))
        return 0;
    if (workload_is_active(wl) && serve_backoff(s, o, &e))
        return 0;
    struct queues q = look_up_queues(s, w, wl);
    if (serve_restarts(s, o, &e, &q) || serve_stops(s, o, &e, &q))
        return 0;
    bool was_admitted = workload_edit_is(&e, S("Admitted"));
    if (!workload_edit_is(&e, S("QuotaReserved")))
        say_why_unqueued(&e, s->arena, &q);
    if (!was_admitted) { /* 12 */
        workload_sync_admitted(&e);
        if (e.has_changed)
            workload_write(s, o, &e, NULL, NULL);
        if (workload_edit_is(&e, S("Admitted")))
            step_event(s, o, "Normal", "Admitted", "Admitted by ClusterQueue %.*s",
                       STR_ARG(q.cq_name));
        return 0;
    }
    serve_deadline(s, o, &e);
    return 0;
}

/* ---- wiring ---- */

static void queue_all_of(struct workloads *w, struct str lq_path)
{
    struct object *const *list;
    size_t n = cache_indexed(w->by_queue, lq_path, &list);

    for (size_t i = 0; i < n; i++)
        controller_queue_object(w->controller, list[i]);
}

static bool same_stop(struct cache_event *e)
{
    return e->old && e->now &&
           json_eq(json_path(cache_event_old(e), "spec", "stopPolicy", NULL),
                   json_path(cache_event_now(e), "spec", "stopPolicy", NULL));
}

static void lq_changed(void *ctx, struct cache_event *e)
{
    if (!same_stop(e)) /* a status says nothing to Workloads */
        queue_all_of(ctx, object_path(e->now ? e->now : e->old));
}

static void cq_changed(void *ctx, struct cache_event *e)
{
    struct workloads *w = ctx;
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct str name = object_key(e->now ? e->now : e->old).name;

    if (same_stop(e))
        return;
    cache_each(i, w->lqs)
    {
        const struct json *tree = object_tree(cache_at(w->lqs, i), &a);
        if (str_eq(json_str(json_path(tree, "spec", "clusterQueue", NULL)), name))
            queue_all_of(w, object_path(cache_at(w->lqs, i)));
        arena_reset(&a);
    }
}

static void queue_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    struct str queue = json_str(json_path(tree, "spec", "queueName", NULL));

    vec_push(&out->keys,
             str_printf(out->arena, "%.*s/%.*s", STR_ARG(object_key(o).ns), STR_ARG(queue)));
}

struct workloads *workloads_new(struct control *c)
{
    struct workloads *w = mem_zero(1, sizeof(*w));

    w->control = c;
    w->workloads = control_cache(c, &kind_kueue_workload);
    w->lqs = control_cache(c, &kind_kueue_local_queue);
    w->cqs = control_cache(c, &kind_kueue_cluster_queue);
    w->by_queue = cache_index(w->workloads, "queue", queue_keys);
    w->controller = controller_new(
        c, &(struct controller_config){.name = "workload", .reconcile = reconcile, .ctx = w});
    controller_watch(w->controller, &kind_kueue_workload);
    cache_subscribe(w->lqs, lq_changed, w);
    cache_subscribe(w->cqs, cq_changed, w);
    return w;
}

void workloads_free(struct workloads *w)
{
    free(w);
}
