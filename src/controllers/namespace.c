/* namespace.c - empties namespaces that are being deleted, then lets them go
 *
 * Source: API server reference 6.4 (last points). Everything in the namespace is deleted; when
 * nothing is left, spec.finalizers loses "kubernetes" by the finalize subresource.
 */
#include "controllers/controllers_priv.h"

#include "api/find.h"
#include "object/object.h"

struct namespaces {
    struct cache *cache;
    struct control *control;
    struct controller *controller;
    struct cache_index *inside[KIND_COUNT]; /* NULL: not namespaced or not stored */
};

/* Deletes all there is; the number of objects that were there. */
static size_t empty(struct step *s, struct namespaces *n)
{
    size_t left = 0;

    for (int id = 0; id < KIND_COUNT; id++) {
        struct object *const *list;
        size_t len = n->inside[id] ? cache_indexed(n->inside[id], s->name, &list) : 0;
        struct object **copy = arena_array(s->arena, struct object *, len + 1);
        if (len)
            memcpy(copy, list, len * sizeof(*copy));
        left += len;
        for (size_t i = 0; i < len; i++) {
            struct object *o = step_hold(s, copy[i]);
            const struct json *meta = json_getz(object_tree(o, s->arena), "metadata");
            struct client_target t = {
                .kind = kinds[id], .ns = s->name, .name = object_key(o).name};
            struct client_delete_options options = {
                .propagation = S("Background"), .uid = object_uid(o), .grace_s = -1};
            if (!json_has(json_getz(meta, "deletionTimestamp")))
                step_delete(s, &t, &options, NULL, NULL);
        }
    }
    return left;
}

static void finalize(struct step *s, const struct json *tree)
{
    const struct json *list = json_path(tree, "spec", "finalizers", NULL);
    struct json_arr left = arr_in(s->arena);

    json_each (i, list)
        if (!str_eq(json_str(json_at(list, i)), S("kubernetes")))
            arr_add(&left, *json_at(list, i));
    step_update(s, &kind_namespace, S(""), s->name, S("finalize"),
                json_with(s->arena, tree, arr_done(&left), "spec", "finalizers", NULL), NULL,
                NULL);
}

static int reconcile(struct step *s, struct err *err)
{
    struct namespaces *n = s->ctx;
    struct object *o = cache_find(n->cache, s->key);

    (void)err;
    if (!o)
        return 0;
    const struct json *tree = object_tree(step_hold(s, o), s->arena);
    if (!json_has(json_path(tree, "metadata", "deletionTimestamp", NULL)))
        return 0;
    if (empty(s, n))
        step_again(s, span_ms(50));
    else if (json_len(json_path(tree, "spec", "finalizers", NULL)))
        finalize(s, tree);
    return 0;
}

void *namespace_start(struct control *c)
{
    struct namespaces *n = mem_zero(1, sizeof(*n));

    n->control = c;
    n->cache = control_cache(c, &kind_namespace);
    for (int id = 0; id < KIND_COUNT; id++)
        if (kinds[id]->namespaced && kinds[id]->stored && kinds[id]->storage == kinds[id])
            n->inside[id] = cache_by_namespace(control_cache(c, kinds[id]));
    n->controller = controller_new(
        c, &(struct controller_config){.name = "namespace", .reconcile = reconcile, .ctx = n});
    controller_watch(n->controller, &kind_namespace);
    return n;
}

void namespace_free(void *state)
{
    free(state);
}
