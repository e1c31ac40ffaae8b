/* scheduler.c - binds pods to nodes, by the choice of sched/
 *
 *     pod without node ──▶ reconcile ──▶ sched_choose ──▶ assume, POST binding
 *                                             │ none fits
 *                                             ▼
 *                                   condition, Event, parked ◀── woken when a node changes or
 *                                                                gets room
 *
 * Pods with another schedulerName are left alone, gated ones wait aside.
 */
#include "controllers/controllers_priv.h"

#include "api/core_v1.h"
#include "api/kinds.h"
#include "object/object.h"
#include "sched/sched.h"
#include "schema/codec.h"

#define SCHEDULER_NAME "default-scheduler"
#define CLAIMS_MESSAGE                                                                         \
    "it asks for devices by resourceClaims, and nothing allocates claims here yet"
#define GATED_MESSAGE "Scheduling is blocked due to non-empty scheduling gates"

struct scheduler {
    struct control *control;
    struct cache *pods, *nodes;
    struct controller *controller;
    struct sched *sched;
};

/* ---- the condition of a pod that waits ---- */

static const struct pod_condition *scheduled_condition(const struct pod *pod)
{
    if (!pod->status)
        return NULL;
    for (size_t i = 0; i < pod->status->conditions.len; i++)
        if (str_eqz(pod->status->conditions.at[i].type, "PodScheduled"))
            return &pod->status->conditions.at[i];
    return NULL;
}

/* Says why, if the pod does not say it already. */
static bool write_waiting(struct step *s, const struct pod *pod, struct str reason,
                          struct str message)
{
    static const struct pod_condition_list none = {0};
    const struct pod_condition *was = scheduled_condition(pod);
    const struct pod_condition_list *old = pod->status ? &pod->status->conditions : &none;
    struct pod_condition_list all = {
        .at = arena_array(s->arena, struct pod_condition, old->len + 1)};
    struct pod_condition *c = arena_new(s->arena, struct pod_condition);

    if (was && str_eq(was->reason, reason) && str_eq(was->message, message))
        return false;
    SET(c, type, S("PodScheduled"));
    SET(c, observed_generation, pod->metadata->generation);
    SET(c, status, S("False"));
    SET(c, reason, reason);
    SET(c, message, message);
    SET(c, last_transition_time,
        was && str_eqz(was->status, "False") ? was->last_transition_time : s->now);
    for (size_t i = 0; i < old->len; i++)
        if (&old->at[i] != was)
            all.at[all.len++] = old->at[i];
    all.at[all.len++] = *c;
    struct pod_status *st = arena_new(s->arena, struct pod_status);
    SET(st, conditions, all);
    struct json_obj meta = obj_in(s->arena), body = obj_in(s->arena);
    obj_setz(&meta, "resourceVersion", json_of_str(pod->metadata->resource_version));
    obj_setz(&body, "metadata", obj_done(&meta));
    obj_setz(&body, "status", schema_encode(s->arena, &schema_pod_status, st));
    struct client_target t = {
        .kind = &kind_pod, .ns = s->ns, .name = s->name, .subresource = S("status")};
    struct json patch = obj_done(&body);
    step_patch(s, &t, CLIENT_PATCH_MERGE, json_new(s->arena, patch), NULL, NULL, NULL);
    return true;
}

/* ---- binding ---- */

static void bound(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct scheduler *sc = s->ctx;
    const struct pod *pod = ctx;

    if (!answer->err)
        return;
    /* The room that was assumed is free again, unless somebody else has bound it. */
    struct object *o = cache_get(sc->pods, s->ns, s->name);
    sched_remove_pod(sc->sched, pod->metadata->uid);
    if (o)
        sched_set_pod(sc->sched, object_view(o, s->arena));
}

static void bind(struct step *s, const struct pod *pod, struct str node)
{
    struct scheduler *sc = s->ctx;
    struct json_obj body = obj_in(s->arena), meta = obj_in(s->arena), to = obj_in(s->arena);
    struct client_target t = {.kind = &kind_pod,
                              .ns = s->ns,
                              .name = s->name,
                              .subresource = S("binding"),
                              .is_lent = true};

    obj_add(&meta, S("name"), json_of_str(s->name));
    obj_add(&meta, S("namespace"), json_of_str(s->ns));
    obj_add(&meta, S("uid"), json_of_str(pod->metadata->uid));
    obj_add(&to, S("apiVersion"), json_of_z("v1"));
    obj_add(&to, S("kind"), json_of_z("Node"));
    obj_add(&to, S("name"), json_of_str(node));
    obj_add(&body, S("apiVersion"), json_of_z("v1"));
    obj_add(&body, S("kind"), json_of_z("Binding"));
    obj_add(&body, S("metadata"), obj_done(&meta));
    obj_add(&body, S("target"), obj_done(&to));
    sched_assume(sc->sched, pod, node);
    sched_unpark(sc->sched, s->key);
    step_post(s, &t, json_new(s->arena, obj_done(&body)), bound, (void *)(uintptr_t)pod);
}

static bool is_ours(const struct pod *pod)
{
    struct str phase = pod->status ? pod->status->phase : (struct str){0};

    return !pod->spec->node_name.len && !IS_SET(pod->metadata, deletion_timestamp) &&
           !str_eqz(phase, "Succeeded") && !str_eqz(phase, "Failed") &&
           (!pod->spec->scheduler_name.len ||
            str_eqz(pod->spec->scheduler_name, SCHEDULER_NAME));
}

static int reconcile(struct step *s, struct err *err)
{
    struct scheduler *sc = s->ctx;
    struct object *o = cache_find(sc->pods, s->key);
    const struct pod *pod = o ? object_view(o, s->arena) : NULL;

    (void)err;
    if (!pod || !is_ours(pod)) {
        sched_unpark(sc->sched, s->key);
        return 0;
    }
    if (sched_has_pod(sc->sched, pod->metadata->uid))
        return 0; /* bound a moment ago: the watch will tell */
    if (pod->spec->scheduling_gates.len) {
        write_waiting(s, pod, S("SchedulingGated"), S(GATED_MESSAGE));
        return 0;
    }
    if (pod->spec->resource_claims.len) { /* never without its devices */
        if (write_waiting(s, pod, S("Unschedulable"), S(CLAIMS_MESSAGE)))
            step_event(s, o, "Warning", "FailedScheduling", "%s", CLAIMS_MESSAGE);
        return 0;
    }
    struct sched_choice choice = sched_choose(sc->sched, s->arena, pod, NULL, NULL);
    if (choice.node.len) {
        bind(s, pod, str_copy(s->arena, choice.node));
        return 0;
    }
    sched_park(sc->sched, s->key, pod);
    if (write_waiting(s, pod, S("Unschedulable"), choice.message))
        step_event(s, o, "Warning", "FailedScheduling", "%.*s", STR_ARG(choice.message));
    return 0;
}

/* ---- what happens ---- */

static bool wake(void *ctx, struct str key)
{
    struct scheduler *sc = ctx;

    controller_queue(sc->controller, key);
    return true;
}

struct waking {
    struct scheduler *sc;
    struct str node;
};

/* Room alone is not enough: labels and taints must suit, or the room is another's. */
static bool wake_if_it_suits(void *ctx, struct str key)
{
    struct waking *w = ctx;
    scoped(arena_fini) struct arena a = {0};
    struct object *o = cache_find(w->sc->pods, key);

    if (!o || !sched_fits_node(w->sc->sched, object_view(o, &a), w->node))
        return false;
    return wake(w->sc, key);
}

static void offer(struct scheduler *sc, struct str node)
{
    struct waking w = {.sc = sc, .node = node};

    if (sched_n_parked(sc->sched))
        sched_wake(sc->sched, node, wake_if_it_suits, &w);
}

static void node_changed(void *ctx, struct cache_event *e)
{
    struct scheduler *sc = ctx;
    struct str name = object_key(e->now ? e->now : e->old).name;

    if (!e->now) {
        sched_remove_node(sc->sched, name);
        return;
    }
    sched_set_node(sc->sched, object_view(e->now, e->arena));
    offer(sc, name);
}

static struct str node_of(const struct json *tree)
{
    return json_str(json_path(tree, "spec", "nodeName", NULL));
}

static bool is_finished(const struct json *tree)
{
    struct str phase = json_str(json_path(tree, "status", "phase", NULL));

    return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

static void pod_changed(void *ctx, struct cache_event *e)
{
    struct scheduler *sc = ctx;
    const struct json *old = e->old ? cache_event_old(e) : NULL;
    const struct json *now = e->now ? cache_event_now(e) : NULL;

    if (!now) {
        sched_remove_pod(sc->sched, object_uid(e->old));
        sched_unpark(sc->sched, object_path(e->old));
        offer(sc, node_of(old));
        return;
    }
    bool is_bound = node_of(now).len > 0, has_ended = is_finished(now);
    if (!is_bound && !has_ended)
        controller_queue_object(sc->controller, e->now);
    if (old && is_bound && node_of(old).len && has_ended == is_finished(old))
        return; /* nothing that counts */
    if (has_ended) {
        sched_remove_pod(sc->sched, object_uid(e->now));
        offer(sc, node_of(now));
    } else if (!is_bound || !sched_confirm(sc->sched, object_uid(e->now), node_of(now))) {
        sched_set_pod(sc->sched, object_view(e->now, e->arena));
    }
}

void *scheduler_start(struct control *c)
{
    struct scheduler *sc = mem_zero(1, sizeof(*sc));
    struct controller_config config = {.name = "scheduler", .reconcile = reconcile, .ctx = sc};

    sc->control = c;
    sc->sched = sched_new();
    sc->nodes = control_cache(c, &kind_node);
    sc->pods = control_cache(c, &kind_pod);
    sc->controller = controller_new(c, &config);
    cache_subscribe(sc->nodes, node_changed, sc);
    cache_subscribe(sc->pods, pod_changed, sc);
    return sc;
}

void scheduler_free(void *state)
{
    struct scheduler *sc = state;

    sched_free(sc->sched);
    free(sc);
}
