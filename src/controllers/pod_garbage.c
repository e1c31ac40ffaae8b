/* pod_garbage.c - pods that nobody else will ever take away
 *
 * Every POD_GARBAGE_EVERY: pods of a node that has been gone for POD_GARBAGE_QUARANTINE, pods
 * that go and have no node, and of those that have ended the oldest past POD_GARBAGE_KEPT. One
 * of a lost node is ended first, so that its Job knows. Source: jobs reference 2.8.
 */
#include "controllers/controllers_priv.h"
#include "controllers/disrupt.h"

#include "api/core_v1.h"
#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "value/time.h"

#define POD_GARBAGE_EVERY span_s(20)
#define POD_GARBAGE_QUARANTINE span_s(40)
#define POD_GARBAGE_KEPT 12500
#define SWEEP "sweep" /* the one key */

struct pod_garbage {
    struct control *control;
    struct cache *pods, *nodes;
    struct cache_index *by_node, *ended;
    struct controller *controller;
    MAP(struct lost *) lost; /* names of nodes that are gone and have pods */
};

/* A node that is not there. */
struct lost {
    struct instant since;
    char name[];
};

static bool has_ended(const struct json *pod)
{
    struct str phase = json_str(json_path(pod, "status", "phase", NULL));

    return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

static void ended_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    (void)o;
    if (has_ended(tree))
        vec_push(&out->keys, S("ended"));
}

/* ---- lost nodes ---- */

static void note_lost(struct pod_garbage *g, struct str node, struct instant now)
{
    if (map_get(&g->lost, node))
        return;
    struct lost *l = mem_zero(1, sizeof(*l) + node.len + 1);
    l->since = now;
    memcpy(l->name, node.at, node.len);
    *map_put(&g->lost, str_from(l->name)) = l;
}

static void forget_lost(struct pod_garbage *g, struct str node)
{
    struct lost **l = map_get(&g->lost, node);
    struct lost *gone = l ? *l : NULL;

    if (gone) {
        map_del(&g->lost, node);
        free(gone);
    }
}

static void sweep_node(struct pod_garbage *g, struct step *s, const struct lost *l)
{
    static const struct disruption lost = {.reason = "DeletionByPodGC",
                                           .message = "PodGC: node no longer exists",
                                           .ends = true,
                                           .at_once = true};
    struct object *const *pods;
    size_t n = cache_indexed(g->by_node, str_from(l->name), &pods);
    struct object **copy = arena_array(s->arena, struct object *, n + 1);

    if (n)
        memcpy(copy, pods, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        disrupt_pod(s, copy[i], &lost);
}

static void sweep_lost(struct pod_garbage *g, struct step *s)
{
    struct object *const *pods;

    map_each (i, &g->lost) {
        const struct lost *l = *map_at(&g->lost, i);
        struct str name = str_from(l->name);
        if (cache_get(g->nodes, S(""), name) || cache_indexed(g->by_node, name, &pods) == 0)
            forget_lost(g, name);
        else if (instant_sub(s->now, l->since).ns >= POD_GARBAGE_QUARANTINE.ns)
            sweep_node(g, s, l);
    }
}

/* ---- too many that have ended ---- */

struct aged {
    struct object *pod;
    struct instant created;
};

static int by_age(const struct aged *x, const struct aged *y)
{
    if (x->created.ns != y->created.ns)
        return x->created.ns < y->created.ns ? -1 : 1;
    return str_cmp(object_key(x->pod).name, object_key(y->pod).name);
}

static void sweep_ended(struct pod_garbage *g, struct step *s)
{
    struct object *const *pods;
    size_t n = cache_indexed(g->ended, S("ended"), &pods);
    VEC(struct aged) all = {0};

    if (n <= POD_GARBAGE_KEPT)
        return;
    for (size_t i = 0; i < n; i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        struct aged one = {.pod = pods[i]};
        time_parse(json_str(json_path(object_tree(pods[i], &a), "metadata", "creationTimestamp",
                                      NULL)),
                   &one.created, NULL);
        vec_push(&all, one);
    }
    vec_sort(&all, by_age);
    for (size_t i = 0; i < n - POD_GARBAGE_KEPT; i++) {
        struct object_key key = object_key(all.at[i].pod);
        struct client_target t = {.kind = &kind_pod, .ns = key.ns, .name = key.name};
        struct client_delete_options options = {.uid = object_uid(all.at[i].pod)};
        step_delete(s, &t, &options, NULL, NULL);
    }
    vec_fini(&all);
}

/* ---- all ---- */

static int reconcile(struct step *s, struct err *err)
{
    struct pod_garbage *g = s->ctx;
    struct object *const *pods;

    (void)err;
    sweep_lost(g, s);
    sweep_ended(g, s);
    if (map_len(&g->lost) || cache_indexed(g->ended, S("ended"), &pods) > POD_GARBAGE_KEPT)
        step_again(s, POD_GARBAGE_EVERY);
    return 0;
}

static void pod_changed(void *ctx, struct cache_event *e)
{
    struct pod_garbage *g = ctx;
    struct str node = json_str(json_path(cache_event_now(e), "spec", "nodeName", NULL));
    struct object *const *pods;

    if (!e->now)
        return;
    if (node.len && cache_is_ready(g->nodes) && !cache_get(g->nodes, S(""), node)) {
        note_lost(g, node, io_now(control_io(g->control)));
        controller_queue_after(g->controller, S(SWEEP), POD_GARBAGE_EVERY);
    } else if (cache_indexed(g->ended, S("ended"), &pods) == POD_GARBAGE_KEPT + 1) {
        controller_queue_after(g->controller, S(SWEEP), POD_GARBAGE_EVERY);
    }
}

static void node_changed(void *ctx, struct cache_event *e)
{
    struct pod_garbage *g = ctx;
    struct str name = object_key(e->now ? e->now : e->old).name;
    struct object *const *pods;

    if (e->now) {
        forget_lost(g, name);
    } else if (cache_indexed(g->by_node, name, &pods)) {
        note_lost(g, name, io_now(control_io(g->control)));
        controller_queue_after(g->controller, S(SWEEP), POD_GARBAGE_EVERY);
    }
}

/* Nodes may have gone while nobody looked. */
static int look_at_all(struct step *s, struct err *err)
{
    struct pod_garbage *g = s->ctx;

    (void)err;
    cache_each(i, g->pods)
    {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        struct str node = json_str(
            json_path(object_tree(cache_at(g->pods, i), &a), "spec", "nodeName", NULL));
        if (node.len && !cache_get(g->nodes, S(""), node))
            note_lost(g, node, s->now);
    }
    controller_queue_after(g->controller, S(SWEEP), POD_GARBAGE_EVERY);
    return 0;
}

void *pod_garbage_start(struct control *c)
{
    struct pod_garbage *g = mem_zero(1, sizeof(*g));
    struct controller_config config = {.name = "pod-garbage", .reconcile = reconcile, .ctx = g};
    struct controller_config once = {
        .name = "pod-garbage-start", .reconcile = look_at_all, .ctx = g};

    g->control = c;
    g->pods = control_cache(c, &kind_pod);
    g->nodes = control_cache(c, &kind_node);
    g->by_node = pods_by_node(g->pods);
    g->ended = cache_index(g->pods, "ended", ended_keys);
    g->controller = controller_new(c, &config);
    controller_queue(controller_new(c, &once), S(SWEEP));
    cache_subscribe(g->nodes, node_changed, g);
    cache_subscribe(g->pods, pod_changed, g);
    return g;
}

void pod_garbage_free(void *state)
{
    struct pod_garbage *g = state;

    map_each (i, &g->lost)
        free(*map_at(&g->lost, i));
    map_fini(&g->lost);
    free(g);
}
