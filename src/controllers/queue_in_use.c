/* queue_in_use.c - a ClusterQueue goes when nobody holds its quota, a flavor when no queue has
 * it
 *
 * Both carry a finalizer from the start. A ClusterQueue that is being deleted admits nobody
 * (the engine knows); it goes with the last workload that uses it. Source: Kueue reference 1.1
 * and 1.4.
 */
#include "controllers/admit.h"
#include "controllers/controllers_priv.h"
#include "controllers/finalizer.h"

#include "api/kinds.h"
#include "api/kueue_v1beta2.h"
#include "object/object.h"
#include "queue/queue.h"

struct in_use {
    struct admit *admit;
    struct cache *cqs, *flavors;
    struct controller *cq_controller, *flavor_controller;
    size_t n_going; /* ClusterQueues that are being deleted */
};

static bool has_deletion(const struct json *tree)
{
    return json_has(json_path(tree, "metadata", "deletionTimestamp", NULL));
}

static bool is_going(struct arena *a, struct object *o)
{
    return has_deletion(object_tree(o, a));
}

static int reconcile_cq(struct step *s, struct err *err)
{
    struct in_use *u = s->ctx;
    struct object *o = cache_find(u->cqs, s->key);

    (void)err;
    if (!o)
        return 0;
    step_hold(s, o);
    bool goes = is_going(s->arena, o) &&
                queue_cq_look(admit_engine(u->admit), s->arena, s->name).reserving == 0;
    if (goes || !is_going(s->arena, o))
        finalizer_set(s, o, S(FINALIZER_IN_USE), !goes);
    return 0;
}

static bool has_flavor(const struct kueue_cluster_queue *cq, struct str flavor)
{
    for (size_t i = 0; i < cq->spec->resource_groups.len; i++) {
        const struct kueue_resource_group *g = &cq->spec->resource_groups.at[i];
        for (size_t k = 0; k < g->flavors.len; k++)
            if (str_eq(g->flavors.at[k].name, flavor))
                return true;
    }
    return false;
}

static bool is_flavor_used(struct in_use *u, struct arena *a, struct str flavor)
{
    cache_each(i, u->cqs)
    {
        if (has_flavor(object_view(cache_at(u->cqs, i), a), flavor))
            return true;
    }
    return false;
}

static int reconcile_flavor(struct step *s, struct err *err)
{
    struct in_use *u = s->ctx;
    struct object *o = cache_find(u->flavors, s->key);

    (void)err;
    if (!o)
        return 0;
    step_hold(s, o);
    bool goes = is_going(s->arena, o) && !is_flavor_used(u, s->arena, s->name);
    if (goes || !is_going(s->arena, o))
        finalizer_set(s, o, S(FINALIZER_IN_USE), !goes);
    return 0;
}

/* ---- wiring ---- */

static void numbers_changed(void *ctx, struct str cq, struct str lq unused)
{
    struct in_use *u = ctx;
    scoped(arena_fini) struct arena a = {0};
    struct object *o = cq.len && u->n_going ? cache_find(u->cqs, cq) : NULL;

    if (o && is_going(&a, o))
        controller_queue(u->cq_controller, cq);
}

/* Flavors that wait to go look again when a queue lets one go. */
static void cq_changed(void *ctx, struct cache_event *e)
{
    struct in_use *u = ctx;

    u->n_going += has_deletion(cache_event_now(e));
    u->n_going -= has_deletion(cache_event_old(e));
    if (!e->old || (e->now && json_eq(json_path(cache_event_old(e), "spec", NULL),
                                      json_path(cache_event_now(e), "spec", NULL))))
        return;
    cache_each(i, u->flavors)
    {
        if (is_going(e->arena, cache_at(u->flavors, i)))
            controller_queue_object(u->flavor_controller, cache_at(u->flavors, i));
    }
}

struct in_use *queue_in_use_new(struct control *c, struct admit *admit)
{
    struct in_use *u = mem_zero(1, sizeof(*u));

    u->admit = admit;
    u->cqs = control_cache(c, &kind_kueue_cluster_queue);
    u->flavors = control_cache(c, &kind_kueue_resource_flavor);
    u->cq_controller = controller_new(
        c, &(struct controller_config){
               .name = "clusterqueue-in-use", .reconcile = reconcile_cq, .ctx = u});
    u->flavor_controller = controller_new(
        c, &(struct controller_config){
               .name = "flavor-in-use", .reconcile = reconcile_flavor, .ctx = u});
    controller_watch(u->cq_controller, &kind_kueue_cluster_queue);
    controller_watch(u->flavor_controller, &kind_kueue_resource_flavor);
    cache_subscribe(u->cqs, cq_changed, u);
    admit_on_change(admit, numbers_changed, u);
    return u;
}

void queue_in_use_free(struct in_use *u)
{
    free(u);
}
