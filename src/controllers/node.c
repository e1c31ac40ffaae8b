/* node.c - keeps nodes honest: taints by their conditions, Unknown where a lease ran out
 *
 * A node in this process and a hollow one have no Lease and are believed. One whose Lease is
 * not renewed in time is not ready as far as anybody knows.
 */
#include "controllers/controllers_priv.h"
#include "controllers/node_taints.h"

#include "api/coordination_v1.h"
#include "api/core_v1.h"
#include "api/kinds.h"
#include "object/object.h"
#include "value/time.h"

#define LEASE_NAMESPACE "kube-node-lease"

struct nodes {
    struct cache *nodes, *leases;
    struct controller *controller;
};

static struct node_lease lease_of(struct nodes *n, struct step *s)
{
    struct object *o = cache_get(n->leases, S(LEASE_NAMESPACE), s->name);
    struct node_lease lease = {.is_there = o != NULL};

    if (!o)
        return lease;
    const struct json *spec = json_getz(object_tree(o, s->arena), "spec");
    time_parse(json_str(json_getz(spec, "renewTime")), &lease.renewed, NULL);
    lease.lasts = span_s(json_i64(json_getz(spec, "leaseDurationSeconds"), 0));
    return lease;
}

/* The conditions with Ready being Unknown, or NULL where it is that already. */
static const struct json *with_unknown(struct step *s, const struct json *node)
{
    const struct json *was = json_path(node, "status", "conditions", NULL);
    struct json_arr all = arr_in(s->arena);
    struct json_obj c = obj_in(s->arena);

    json_each (i, was) {
        const struct json *one = json_at(was, i);
        if (!str_eqz(json_str(json_getz(one, "type")), "Ready")) {
            arr_add(&all, *one);
            continue;
        }
        if (str_eqz(json_str(json_getz(one, "status")), "Unknown"))
            return NULL;
        c = obj_from(s->arena, one);
    }
    obj_setz(&c, "type", json_of_z("Ready"));
    obj_setz(&c, "status", json_of_z("Unknown"));
    obj_setz(&c, "reason", json_of_z("NodeStatusUnknown"));
    obj_setz(&c, "message", json_of_z("the node stopped renewing its lease"));
    obj_setz(&c, "lastTransitionTime", json_of_str(time_text(s->arena, s->now)));
    arr_add(&all, obj_done(&c));
    return json_new(s->arena, arr_done(&all));
}

/* {metadata: {resourceVersion}, PART: {NAME: v}}: strict about the version it saw. */
static const struct json *patch_of(struct step *s, struct object *o, const char *part,
                                   const char *name, const struct json *v)
{
    struct json_obj p = obj_in(s->arena), m = obj_in(s->arena), inner = obj_in(s->arena);

    obj_setz(&m, "resourceVersion", json_of_str(str_of_u64(s->arena, object_revision(o))));
    obj_set(&inner, str_from(name), *v);
    obj_setz(&p, "metadata", obj_done(&m));
    obj_set(&p, str_from(part), obj_done(&inner));
    return json_new(s->arena, obj_done(&p));
}

static int reconcile(struct step *s, struct err *err unused)
{
    struct nodes *n = s->ctx;
    struct object *o = cache_find(n->nodes, s->key);
    struct client_target target = {.kind = &kind_node, .name = s->name};

    if (!o)
        return 0;
    const struct json *node = object_tree(o, s->arena);
    struct instant ends = node_lease_ends(lease_of(n, s));
    if (instant_is_set(ends) && !instant_before(s->now, ends)) {
        const struct json *conditions = with_unknown(s, node);
        target.subresource = S("status");
        if (conditions)
            step_patch(s, &target, CLIENT_PATCH_MERGE,
                       patch_of(s, o, "status", "conditions", conditions), NULL, NULL, NULL);
        if (conditions)
            return 0; /* its own event brings the taint */
        target.subresource = str_of(NULL, 0);
    } else if (instant_is_set(ends)) {
        step_again(s, instant_sub(ends, s->now));
    }
    const struct json *taints = node_taints_decide(s->arena, node, s->now);
    if (taints)
        step_patch(s, &target, CLIENT_PATCH_MERGE, patch_of(s, o, "spec", "taints", taints),
                   NULL, NULL, NULL);
    return 0;
}

static void on_lease(void *ctx, struct cache_event *e)
{
    struct nodes *n = ctx;
    struct object_key key = object_key(e->now ? e->now : e->old);

    /* A renewal only moves the end, which the run that waits for it will see. */
    if (str_eqz(key.ns, LEASE_NAMESPACE) && !(e->now && e->old))
        controller_queue(n->controller, key.name);
}

void *node_start(struct control *c)
{
    struct nodes *n = mem_zero(1, sizeof(*n));

    n->nodes = control_cache(c, &kind_node);
    n->leases = control_cache(c, &kind_lease);
    n->controller = controller_new(
        c, &(struct controller_config){.name = "node", .reconcile = reconcile, .ctx = n});
    controller_watch(n->controller, &kind_node);
    cache_subscribe(n->leases, on_lease, n);
    return n;
}

void node_free(void *state)
{
    free(state);
}
