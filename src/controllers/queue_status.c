/* queue_status.c - what ClusterQueues and LocalQueues show of themselves
 *
 * Written only where something changed: QUEUE_STATUS_AFTER the change, and for one queue not
 * again before QUEUE_STATUS_EVERY, or longer where there are more than QUEUE_STATUS_MANY of
 * them; but once nothing changed for QUEUE_STATUS_QUIET. A thousand admissions are not a
 * thousand writes of the same numbers, and what is left at their end is told soon.
 *
 * Under admission fair sharing a LocalQueue's status keeps what it consumed, too: sampled at an
 * interval, and read back by the next process (reference/kueue.md 3.11).
 */
#include "controllers/controllers_priv.h"

#include "api/kinds.h"
#include "api/kueue_v1beta2.h"
#include "api/resource_list.h"
#include "controllers/admit.h"
#include "io/io.h"
#include "object/object.h"
#include "queue/queue.h"
#include "schema/codec.h"
#include "value/quantity.h"

#define QUEUE_STATUS_AFTER span_ms(100)
#define QUEUE_STATUS_EVERY span_s(2)
#define QUEUE_STATUS_QUIET span_ms(250)
#define QUEUE_STATUS_MANY 200

/* When a queue was last written, and whether it is to be looked at anyway. */
struct paced {
    struct instant last;
    bool is_due;
};
struct pace {
    MAP(struct paced) queues; /* by path, owned */
};

struct queue_status {
    struct admit *admit;
    struct control *control;
    struct cache *cqs, *lqs;
    struct controller *cq_controller, *lq_controller;
    struct pace cq_pace, lq_pace;
    struct io_timer *quiet; /* runs while a write is put off */
    struct span changed;    /* uptime of the newest change */
    bool shows_share;       /* fair sharing is on */
    bool samples;           /* admission fair sharing is, every: */
    struct span sampling;
};

/* ---- not too often ---- */

static struct paced *pace_of(struct pace *p, struct str path)
{
    struct paced *q = map_get(&p->queues, path);
    char *at;

    if (q)
        return q;
    at = mem_alloc(path.len);
    memcpy(at, path.at, path.len);
    return map_put(&p->queues, str_of(at, path.len));
}

static void pace_forget(struct pace *p, struct str path)
{
    map_each (i, &p->queues) {
        struct str key = map_key(&p->queues, i);
        if (!str_eq(key, path))
            continue;
        map_del(&p->queues, path);
        free((char *)(uintptr_t)key.at);
        return;
    }
}

static void pace_fini(struct pace *p)
{
    map_each (i, &p->queues)
        free((char *)(uintptr_t)map_key(&p->queues, i).at);
    map_fini(&p->queues);
}

/* How long the next write of it has to wait. */
static struct span pace_left(const struct pace *p, const struct paced *q, struct instant now)
{
    int64_t every =
        QUEUE_STATUS_EVERY.ns * (int64_t)(1 + map_len(&p->queues) / QUEUE_STATUS_MANY);

    return instant_is_set(q->last)
               ? (struct span){MAX(q->last.ns + every - now.ns, QUEUE_STATUS_AFTER.ns)}
               : QUEUE_STATUS_AFTER;
}

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
static void write_if_changed(struct step *s, struct pace *pace, const struct kind *kind,
                             struct object *o, struct json status)
{
    const struct json *tree = object_tree(o, s->arena);

    if (json_eq(json_getz(tree, "status"), &status))
        return;
    pace_of(pace, s->key)->last = s->now;
    step_update(s, kind, s->ns, s->name, S("status"),
                json_with(s->arena, tree, status, "status", NULL), NULL, NULL);
}

static const struct schema *status_schema(const struct kind *kind)
{
    return schema_member(kind->schema, S("status"));
}

/* ceil(share), and the largest number for who borrows at no weight. */
static struct kueue_fair_sharing_status *share_status(struct arena *a, double share)
{
    struct kueue_fair_sharing_status *out = arena_new(a, struct kueue_fair_sharing_status);
    double up = __builtin_ceil(share);

    SET(out, weighted_share, up < 0x1p63 ? (int64_t)up : INT64_MAX);
    return out;
}

/* ---- one queue ---- */

static int reconcile_cq(struct step *s, struct err *err)
{
    struct queue_status *qs = s->ctx;
    struct object *o = cache_find(qs->cqs, s->key);
    static const struct kueue_cluster_queue_status none;

    (void)err;
    if (!o) {
        pace_forget(&qs->cq_pace, s->key);
        return 0;
    }
    pace_of(&qs->cq_pace, s->key)->is_due = false;
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
    if (qs->shows_share)
        SET(&next, fair_sharing, share_status(s->arena, v.share));
    write_if_changed(s, &qs->cq_pace, &kind_kueue_cluster_queue, o,
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

/* Of amounts in the status: units and billionths. */
static struct queue_consumed consumed_of(struct step *s, struct str resource, struct str text)
{
    struct quantity q = {0};

    if (quantity_parse(s->arena, text, &q, NULL) < 0)
        return (struct queue_consumed){resource, 0, 0};
    int64_t units = quantity_units(&q, 0); /* rounded up */
    struct quantity whole = quantity_of(units, 0, QUANTITY_DECIMAL_SI);
    struct quantity over = quantity_sub(s->arena, &whole, &q);
    int64_t nanos = quantity_units(&over, QUANTITY_NANO);
    if (nanos == 0)
        return (struct queue_consumed){resource, units, 0};
    return (struct queue_consumed){resource, units - 1, (int32_t)(1000000000 - nanos)};
}

static struct str consumed_text(struct step *s, const struct queue_consumed *c)
{
    struct quantity units = quantity_of(c->units, 0, QUANTITY_DECIMAL_SI);
    struct quantity nanos = quantity_of(c->nanos, QUANTITY_NANO, QUANTITY_DECIMAL_SI);
    struct quantity q = quantity_add(s->arena, &units, &nanos);

    return quantity_text(s->arena, &q);
}

static void seed(struct queue_status *qs, struct step *s,
                 const struct kueue_local_queue_status *was)
{
    const struct kueue_local_queue_admission_fair_sharing_status *afs =
        was->fair_sharing ? was->fair_sharing->admission_fair_sharing_status : NULL;
    size_t n = afs ? afs->consumed_resources.len : 0;
    struct queue_consumed *at = arena_array(s->arena, struct queue_consumed, n);

    for (size_t i = 0; i < n; i++)
        at[i] = consumed_of(s, afs->consumed_resources.at[i].key,
                            afs->consumed_resources.at[i].value);
    queue_afs_seed(admit_engine(qs->admit), s->ns, s->name, at, n, s->now);
}

/* What it consumed until now, where it is time to say so. */
static void sample(struct queue_status *qs, struct step *s,
                   struct kueue_local_queue_status *next)
{
    struct queue_engine *e = admit_engine(qs->admit);
    struct instant due = queue_afs_due(e, s->ns, s->name);
    const struct queue_consumed *consumed;

    seed(qs, s, next);
    if (instant_before(s->now, due)) {
        step_again(s, instant_sub(due, s->now));
        return;
    }
    struct kueue_local_queue_fair_sharing_status *fair =
        arena_new(s->arena, struct kueue_local_queue_fair_sharing_status);
    struct kueue_local_queue_admission_fair_sharing_status *afs =
        arena_new(s->arena, struct kueue_local_queue_admission_fair_sharing_status);
    size_t n = queue_afs_sample(e, s->arena, s->ns, s->name, s->now, &consumed);
    struct str_entry *at = arena_array(s->arena, struct str_entry, n);
    for (size_t i = 0; i < n; i++)
        at[i] = (struct str_entry){consumed[i].resource, consumed_text(s, &consumed[i])};
    SET(afs, consumed_resources, (struct str_map){at, n});
    SET(afs, last_update, s->now);
    if (next->fair_sharing)
        *fair = *next->fair_sharing;
    SET(fair, weighted_share, fair->weighted_share);
    SET(fair, admission_fair_sharing_status, afs);
    SET(next, fair_sharing, fair);
    step_again(s, qs->sampling);
}

static int reconcile_lq(struct step *s, struct err *err)
{
    struct queue_status *qs = s->ctx;
    struct object *o = cache_find(qs->lqs, s->key);
    static const struct kueue_local_queue_status none;
    const char *message, *reason;

    (void)err;
    if (!o) {
        pace_forget(&qs->lq_pace, s->key);
        return 0;
    }
    pace_of(&qs->lq_pace, s->key)->is_due = false;
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
    if (qs->samples && !reason)
        sample(qs, s, &next);
    write_if_changed(s, &qs->lq_pace, &kind_kueue_local_queue, o,
                     schema_encode(s->arena, status_schema(&kind_kueue_local_queue), &next));
    return 0;
}

/* ---- wiring ---- */

static void queue_due(struct controller *c, const struct pace *p)
{
    map_each (i, &p->queues) {
        if (map_at(&p->queues, i)->is_due)
            controller_queue(c, map_key(&p->queues, i));
    }
}

static void look_for_quiet(void *ctx)
{
    struct queue_status *qs = ctx;
    struct io *io = control_io(qs->control);
    int64_t left = qs->changed.ns + QUEUE_STATUS_QUIET.ns - io_uptime(io).ns;

    if (left > 0) {
        io_timer_set(qs->quiet, (struct span){left});
        return;
    }
    queue_due(qs->cq_controller, &qs->cq_pace);
    queue_due(qs->lq_controller, &qs->lq_pace);
}

static void soon(struct queue_status *qs, struct controller *c, struct pace *p, struct str path)
{
    struct paced *q = pace_of(p, path);
    struct io *io = control_io(qs->control);

    qs->changed = io_uptime(io);
    if (q->is_due)
        return;
    q->is_due = true;
    struct span left = pace_left(p, q, io_now(io));
    controller_queue_after(c, path, left);
    if (left.ns > QUEUE_STATUS_QUIET.ns && !io_timer_is_set(qs->quiet))
        io_timer_set(qs->quiet, QUEUE_STATUS_QUIET);
}

static void changed(void *ctx, struct str cq, struct str lq)
{
    struct queue_status *qs = ctx;

    if (cq.len)
        soon(qs, qs->cq_controller, &qs->cq_pace, cq);
    if (lq.len)
        soon(qs, qs->lq_controller, &qs->lq_pace, lq);
    if (cq.len || lq.len)
        return;
    cache_each(i, qs->cqs)
        soon(qs, qs->cq_controller, &qs->cq_pace, object_path(cache_at(qs->cqs, i)));
    cache_each(i, qs->lqs)
        soon(qs, qs->lq_controller, &qs->lq_pace, object_path(cache_at(qs->lqs, i)));
}

struct queue_status *queue_status_new(struct control *c, struct admit *admit,
                                      const struct queue_config *config)
{
    struct queue_status *qs = mem_zero(1, sizeof(*qs));

    qs->admit = admit;
    qs->control = c;
    qs->quiet = io_timer_new(control_io(c), look_for_quiet, qs);
    qs->shows_share = config->fair_sharing;
    qs->samples = config->afs && queue_gate(config, QUEUE_GATE_AFS);
    qs->sampling = config->afs_sampling;
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
    pace_fini(&qs->cq_pace);
    pace_fini(&qs->lq_pace);
    io_timer_free(qs->quiet);
    free(qs);
}
