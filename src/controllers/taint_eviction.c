/* taint_eviction.c - pods leave nodes whose taints say NoExecute
 *
 * At once, or as late as their tolerations let them: a pod tolerates a node that is not ready,
 * or not heard of, for five minutes where nobody says otherwise.
 */
#include "controllers/controllers_priv.h"
#include "controllers/disrupt.h"

#include "api/core_v1.h"
#include "api/kinds.h"
#include "object/object.h"
#include "sched/sched.h"

struct evictions {
    struct cache *pods, *nodes;
    struct cache_index *by_node;
    struct controller *controller;
};

/* When the first of the taints was added. */
static struct instant tainted_since(const struct node *node, struct instant now)
{
    const struct taint_list *l = &node->spec->taints;
    struct instant first = now;

    for (size_t i = 0; i < l->len; i++)
        if (str_eqz(l->at[i].effect, "NoExecute") && instant_is_set(l->at[i].time_added) &&
            instant_before(l->at[i].time_added, first))
            first = l->at[i].time_added;
    return first;
}

static int reconcile(struct step *s, struct err *err)
{
    struct evictions *e = s->ctx;
    struct object *o = cache_find(e->pods, s->key);
    const struct pod *pod = o ? object_view(o, s->arena) : NULL;
    struct object *n = pod && pod->spec->node_name.len
                           ? cache_get(e->nodes, S(""), pod->spec->node_name)
                           : NULL;

    (void)err;
    if (!n || IS_SET(pod->metadata, deletion_timestamp) ||
        (pod->status &&
         (str_eqz(pod->status->phase, "Succeeded") || str_eqz(pod->status->phase, "Failed"))))
        return 0;
    const struct node *node = object_view(n, s->arena);
    struct span stays = node->spec ? sched_may_stay(pod, node) : (struct span){-1};
    if (stays.ns < 0)
        return 0;
    struct instant end = instant_add(tainted_since(node, s->now), stays);
    if (instant_before(s->now, end)) {
        step_again(s, instant_sub(end, s->now));
        return 0;
    }
    step_event(s, o, "Normal", "TaintManagerEviction", "Marking for deletion Pod %.*s",
               STR_ARG(s->key));
    disrupt_pod(
        s, o,
        &(struct disruption){.reason = "DeletionByTaintManager",
                             .message = "Taint manager: deleting due to NoExecute taint"});
    return 0;
}

static bool has_no_execute(const struct json *node)
{
    const struct json *taints = json_path(node, "spec", "taints", NULL);

    json_each (i, taints)
        if (str_eqz(json_str(json_getz(json_at(taints, i), "effect")), "NoExecute"))
            return true;
    return false;
}

static void node_changed(void *ctx, struct cache_event *ev)
{
    struct evictions *e = ctx;
    struct object *const *pods;

    if (!ev->now || !has_no_execute(cache_event_now(ev)))
        return;
    size_t n = cache_indexed(e->by_node, object_key(ev->now).name, &pods);
    for (size_t i = 0; i < n; i++)
        controller_queue_object(e->controller, pods[i]);
}

/* Only a pod that has just come to its node: its node's changes bring the others. */
static void pod_changed(void *ctx, struct cache_event *ev)
{
    struct evictions *e = ctx;
    struct str was = json_str(json_path(cache_event_old(ev), "spec", "nodeName", NULL));
    struct str is = json_str(json_path(cache_event_now(ev), "spec", "nodeName", NULL));
    struct object *node = is.len && !was.len ? cache_get(e->nodes, S(""), is) : NULL;

    if (node && has_no_execute(object_tree(node, ev->arena)))
        controller_queue_object(e->controller, ev->now);
}

void *taint_eviction_start(struct control *c)
{
    struct evictions *e = mem_zero(1, sizeof(*e));
    struct controller_config config = {
        .name = "taint-eviction", .reconcile = reconcile, .ctx = e};

    e->pods = control_cache(c, &kind_pod);
    e->nodes = control_cache(c, &kind_node);
    e->by_node = pods_by_node(e->pods);
    e->controller = controller_new(c, &config);
    cache_subscribe(e->nodes, node_changed, e);
    cache_subscribe(e->pods, pod_changed, e);
    return e;
}

void taint_eviction_free(void *state)
{
    free(state);
}
