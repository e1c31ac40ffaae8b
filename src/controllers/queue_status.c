/* queue_status.c - what ClusterQueues and LocalQueues show of themselves
 *
 * Written only where something changed, and for one queue at most every QUEUE_STATUS_EVERY: a
 * thousand admissions are not a thousand writes of the same numbers.
 */
#include "controllers/controllers_priv.h"

#include "api/kinds.h"
#include "api/kueue_v1beta2.h"
#include "api/resource_list.h"
#include "controllers/admit.h"
#include "object/object.h"
#include "queue/queue.h"
#include "schema/codec.h"

#define QUEUE_STATUS_EVERY span_ms(200)

struct queue_status {
    struct admit *admit;
    struct cache *cqs, *lqs;
    struct controller *cq_controller, *lq_controller;
};

/* ---- parts ---- */

static struct condition_list with_condition(struct step *s, const struct condition_list *was,
                                            int64_t generation, bool holds, struct str reason,
                                            struct str message)
{
    struct condition_list out = {arena_array(s->arena, struct condition, was->len + 1), 0};
    struct condition next = {0};
    const struct condition *old = NULL;

    for (size_t i = 0; i < was->len; i++) {
        out.at[out.len++] = was->at[i];
        if (str_eq(was->at[i].type, S("Active")))
            old = &was->at[i];
    }
    struct str status = holds ? S("True") : S("False");
    SET(&next, type, S("Active"));
    SET(&next, status, status);
    SET(&next, observed_generation, generation);
    SET(&next, last_transition_time,
        old && str_eq(old->status, status) ? old->last_transition_time : s->now);
    SET(&next, reason, reason);
    SET(&next, message, message);
    if (old)
        out.at[old - was->at] = next;
    else
        out.at[out.len++] = next;
    return out;
}

static struct kueue_resource_usage usage(struct arena *a, const struct queue_usage_line *l)
{
    struct kueue_resource_usage u = {0};

    SET(&u, name, l->resource);
    SET(&u, total, resource_units_text(a, l->resource, l->used));
    SET(&u, borrowed, resource_units_text(a, l->resource, l->borrowed));
    return u;
}

/* Lines of one flavor stand together. */
static struct kueue_flavor_usage_list flavors(struct arena *a,
                                              const struct queue_usage_line *lines, size_t n)
{
    struct kueue_flavor_usage_list out = {arena_array(a, struct kueue_flavor_usage, n + 1), 0};

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && str_eq(lines[end].flavor, lines[i].flavor);)
            end++;
        struct kueue_resource_usage *at = arena_array(a, struct kueue_resource_usage, end - i);
        for (size_t k = i; k < end; k++)
            at[k - i] = usage(a, &lines[k]);
        struct kueue_flavor_usage *f = &out.at[out.len++];
        *f = (struct kueue_flavor_usage){0};
        SET(f, name, lines[i].flavor);
        SET(f, resources, (struct kueue_resource_usage_list){at, end - i});
    }
    return out;
}

static struct kueue_local_queue_flavor_usage_list
local_flavors(struct arena *a, const struct queue_usage_line *lines, size_t n)
{
    struct kueue_local_queue_flavor_usage_list out = {
        arena_array(a, struct kueue_local_queue_flavor_usage, n + 1), 0};

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && str_eq(lines[end].flavor, lines[i].flavor);)
            end++;
        struct kueue_local_queue_resource_usage *at =
            arena_array(a, struct kueue_local_queue_resource_usage, end - i);
        for (size_t k = i; k < end; k++) {
            SET(&at[k - i], name, lines[k].resource);
            SET(&at[k - i], total, resource_units_text(a, lines[k].resource, lines[k].used));
        }
        struct kueue_local_queue_flavor_usage *f = &out.at[out.len++];
        *f = (struct kueue_local_queue_flavor_usage){0};
        SET(f, name, lines[i].flavor);
        SET(f, resources, (struct kueue_local_queue_resource_usage_list){at, end - i});
    }
    return out;
}

/* Writes the status where it differs from what is stored. */
static void write_if_changed(struct step *s, const struct kind *kind, struct object *o,
                             struct json status)
{
    const struct json *tree = object_tree(o, s->arena);

    if (json_eq(json_getz(tree, "status"), &status))
        return;
    step_update(s, kind, s->ns, s->name, S("status"),
                json_with(s->arena, tree, status, "status", NULL), NULL, NULL);
}

static const struct schema *status_schema(const struct kind *kind)
{
    return schema_member(kind->schema, S("status"));
}

/* ---- one queue ---- */

static int reconcile_cq(struct step *s, struct err *err)
{
    struct queue_status *qs = s->ctx;
    struct object *o = cache_find(qs->cqs, s->key);
    static const struct kueue_cluster_queue_status none;

    (void)err;
    if (!o)
        return 0;
    const struct kueue_cluster_queue *cq = object_view(step_hold(s, o), s->arena);
    struct queue_cq_view v = queue_cq_look(admit_engine(qs->admit), s->arena, s->name);
    if (!v.is_known)
        return 0;
    struct kueue_cluster_queue_status next = cq->status ? *cq->status : none;
    SET(&next, conditions,
        with_condition(s, &next.conditions, cq->metadata->generation, v.is_active,
                       v.active_reason, v.active_message));
    SET(&next, flavors_reservation, flavors(s->arena, v.reserved, v.n_lines));
    SET(&next, flavors_usage, flavors(s->arena, v.in_use, v.n_lines));
    SET(&next, pending_workloads, (int32_t)(v.pending_active + v.pending_parked));
    SET(&next, reserving_workloads, (int32_t)v.reserving);
    SET(&next, admitted_workloads, (int32_t)v.admitted);
    write_if_changed(s, &kind_kueue_cluster_queue, o,
                     schema_encode(s->arena, status_schema(&kind_kueue_cluster_queue), &next));
    return 0;
}

static const char *lq_reason(struct queue_status *qs, struct step *s,
                             const struct kueue_local_queue *lq, const char **message)
{
    struct queue_cq_view cq =
        queue_cq_look(admit_engine(qs->admit), s->arena, lq->spec->cluster_queue);
    bool is_stopped = lq->spec->stop_policy.len && !str_eq(lq->spec->stop_policy, S("None"));

    *message = "Can't submit new workloads to clusterQueue";
    if (is_stopped) {
        *message = "LocalQueue is stopped";
        return "Stopped";
    }
    if (!cq.is_known)
        return "ClusterQueueDoesNotExist";
    if (!cq.is_active)
        return "ClusterQueueIsInactive";
    *message = "Can submit new workloads to localQueue";
    return NULL;
}

static int reconcile_lq(struct step *s, struct err *err)
{
    struct queue_status *qs = s->ctx;
    struct object *o = cache_find(qs->lqs, s->key);
    static const struct kueue_local_queue_status none;
    const char *message, *reason;

    (void)err;
    if (!o)
        return 0;
    const struct kueue_local_queue *lq = object_view(step_hold(s, o), s->arena);
    struct queue_lq_view v = queue_lq_look(admit_engine(qs->admit), s->arena, s->ns, s->name);
    struct kueue_local_queue_status next = lq->status ? *lq->status : none;
    reason = lq_reason(qs, s, lq, &message);
    SET(&next, conditions,
        with_condition(s, &next.conditions, lq->metadata->generation, !reason,
                       str_from(reason ? reason : "Ready"), str_from(message)));
    SET(&next, pending_workloads, (int32_t)v.pending);
    SET(&next, reserving_workloads, (int32_t)v.reserving);
    SET(&next, admitted_workloads, (int32_t)v.admitted);
    SET(&next, flavors_reservation, local_flavors(s->arena, v.reserved, v.n_lines));
    SET(&next, flavors_usage, local_flavors(s->arena, v.in_use, v.n_lines));
    write_if_changed(s, &kind_kueue_local_queue, o,
                     schema_encode(s->arena, status_schema(&kind_kueue_local_queue), &next));
    return 0;
}

/* ---- wiring ---- */

static void changed(void *ctx, struct str cq)
{
    struct queue_status *qs = ctx;

    cache_each(i, qs->cqs)
    {
        struct str path = object_path(cache_at(qs->cqs, i));
        if (cq.len == 0 || str_eq(cq, path))
            controller_queue_after(qs->cq_controller, path, QUEUE_STATUS_EVERY);
    }
    cache_each(i, qs->lqs) controller_queue_after(
        qs->lq_controller, object_path(cache_at(qs->lqs, i)), QUEUE_STATUS_EVERY);
}

struct queue_status *queue_status_new(struct control *c, struct admit *admit)
{
    struct queue_status *qs = mem_zero(1, sizeof(*qs));

    qs->admit = admit;
    qs->cqs = control_cache(c, &kind_kueue_cluster_queue);
    qs->lqs = control_cache(c, &kind_kueue_local_queue);
    qs->cq_controller = controller_new(
        c, &(struct controller_config){
               .name = "clusterqueue-status", .reconcile = reconcile_cq, .ctx = qs});
    qs->lq_controller = controller_new(
        c, &(struct controller_config){
               .name = "localqueue-status", .reconcile = reconcile_lq, .ctx = qs});
    admit_on_change(admit, changed, qs);
    return qs;
}

void queue_status_free(struct queue_status *qs)
{
    free(qs);
}
