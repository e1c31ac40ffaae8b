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
#define POD_GARBAGE_SLICE 500 /* deleted in one run: watches are to keep up */
#define SWEEP "sweep"         /* the one key */

/* A pod that has ended: a hundred bytes or so. */
struct ended {
    struct instant created;
    size_t at; /* in the heap */
    size_t path_len;
    char path[];
};

typedef struct ended *ended_ptr;

struct pod_garbage {
    struct control *control;
    struct cache *pods, *nodes;
    struct cache_index *by_node;
    struct controller *controller;
    MAP(struct lost *) lost;   /* names of nodes that are gone and have pods */
    MAP(struct ended *) ended; /* by path */
    HEAP(ended_ptr) by_age;    /* the same */
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

static struct str path_of(const struct ended *e)
{
    return str_of(e->path, e->path_len);
}

static bool is_older(const ended_ptr *x, const ended_ptr *y)
{
    if ((*x)->created.ns != (*y)->created.ns)
        return (*x)->created.ns < (*y)->created.ns;
    return str_cmp(path_of(*x), path_of(*y)) < 0;
}

static void ended_moved(ended_ptr *e, size_t at)
{
    (*e)->at = at;
}

static void note_ended(struct pod_garbage *g, struct object *pod, const struct json *tree)
{
    struct str path = object_path(pod);

    if (map_get(&g->ended, path))
        return;
    struct ended *e = mem_zero(1, sizeof(*e) + path.len);
    e->path_len = path.len;
    memcpy(e->path, path.at, path.len);
    time_parse(json_str(json_path(tree, "metadata", "creationTimestamp", NULL)), &e->created,
               NULL);
    *map_put(&g->ended, path_of(e)) = e;
    heap_push(&g->by_age, e);
}

static void forget_ended(struct pod_garbage *g, struct str path)
{
    struct ended **found = map_get(&g->ended, path), *e = found ? *found : NULL;

    if (!e)
        return;
    map_del(&g->ended, path);
    heap_remove(&g->by_age, e->at);
    free(e);
}

static size_t n_too_many(const struct pod_garbage *g)
{
    return g->by_age.len > POD_GARBAGE_KEPT ? g->by_age.len - POD_GARBAGE_KEPT : 0;
}

/* The oldest ones; an event takes each out when it is gone. */
static void sweep_ended(struct pod_garbage *g, struct step *s)
{
    size_t n = MIN(n_too_many(g), (size_t)POD_GARBAGE_SLICE);
    ended_ptr *oldest = arena_array(s->arena, ended_ptr, n + 1);

    if (n_too_many(g) > n)
        step_again(s, span_ms(1));
    for (size_t i = 0; i < n; i++)
        oldest[i] = heap_pop(&g->by_age);
    for (size_t i = 0; i < n; i++) {
        struct object *pod = cache_find(g->pods, path_of(oldest[i]));
        struct object_key key = object_key(pod);
        struct client_target t = {.kind = &kind_pod, .ns = key.ns, .name = key.name};
        struct client_delete_options options = {.uid = object_uid(pod)};
        heap_push(&g->by_age, oldest[i]);
        step_delete(s, &t, &options, NULL, NULL);
    }
}

/* ---- all ---- */

static int reconcile(struct step *s, struct err *err)
{
    struct pod_garbage *g = s->ctx;

    (void)err;
    sweep_lost(g, s);
    sweep_ended(g, s);
    if (map_len(&g->lost) || n_too_many(g))
        step_again(s, POD_GARBAGE_EVERY);
    return 0;
}

static void pod_changed(void *ctx, struct cache_event *e)
{
    struct pod_garbage *g = ctx;

    if (!e->now || !has_ended(cache_event_now(e)))
        forget_ended(g, object_path(e->now ? e->now : e->old));
    else
        note_ended(g, e->now, cache_event_now(e));
    if (!e->now)
        return;
    struct str node = json_str(json_path(cache_event_now(e), "spec", "nodeName", NULL));
    if (node.len && cache_is_ready(g->nodes) && !cache_get(g->nodes, S(""), node)) {
        note_lost(g, node, io_now(control_io(g->control)));
        controller_queue_after(g->controller, S(SWEEP), POD_GARBAGE_EVERY);
    } else if (n_too_many(g) == 1) {
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
    g->by_age.less = is_older;
    g->by_age.moved = ended_moved;
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
    map_each (i, &g->ended)
        free(*map_at(&g->ended, i));
    map_fini(&g->ended);
    heap_fini(&g->by_age);
    free(g);
}
