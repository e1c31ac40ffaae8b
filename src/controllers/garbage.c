/* garbage.c - deletes what lost its owners, and carries foreground and orphan deletion out
 *
 * Every object whose owner references name something is a dependent. Source: API server
 * reference 6.5, jobs reference 1.25.
 *
 *     owner gone        → its dependents are looked at
 *     dependent changed → all owners gone: delete; some gone: drop those references
 *     owner being deleted, finalizer foregroundDeletion → dependents first, then the finalizer
 *     owner being deleted, finalizer orphan             → references first, then the finalizer
 *
 * Keys are "KIND-ID NS/NAME". That an owner is gone is asked of the server, never of a cache
 * alone.
 */
#include "controllers/controllers_priv.h"

#include "api/find.h"
#include "object/object.h"

struct garbage {
    struct control *control;
    struct controller *controller;
    struct cache *caches[KIND_COUNT];       /* NULL: not collected */
    struct cache_index *owners[KIND_COUNT]; /* dependents by owner's uid */
    struct source *sources[KIND_COUNT];
};

struct source {
    struct garbage *garbage;
    int id;
};

static bool is_collected(const struct kind *k)
{
    return k->stored && k->storage == k && k->id >= 0 && k != &kind_event &&
           !str_eq(k->group, S("events.k8s.io"));
}

/* ---- keys ---- */

static void queue(struct garbage *g, int id, struct str path)
{
    scoped(arena_fini) struct arena a = {0};

    controller_queue(g->controller, str_concat(&a, str_of_u64(&a, (uint64_t)id), S(" "), path));
}

static void queue_dependents(struct garbage *g, struct str uid)
{
    for (int id = 0; id < KIND_COUNT; id++) {
        struct object *const *list;
        size_t n = g->owners[id] ? cache_indexed(g->owners[id], uid, &list) : 0;
        for (size_t i = 0; i < n; i++)
            queue(g, id, object_path(list[i]));
    }
}

static bool has_finalizer(const struct json *tree, struct str name)
{
    const struct json *list = json_path(tree, "metadata", "finalizers", NULL);

    json_each (i, list)
        if (str_eq(json_str(json_at(list, i)), name))
            return true;
    return false;
}

static bool is_deleting(const struct json *tree)
{
    return json_has(json_path(tree, "metadata", "deletionTimestamp", NULL));
}

/* Nothing that hangs on owners has changed: they were looked at when it was new, and will be
 * again when one of them goes. */
static bool is_settled(struct cache_event *e, const struct json *owners)
{
    if (!e->old || is_deleting(cache_event_now(e)) || is_deleting(cache_event_old(e)))
        return false;
    return json_eq(owners, json_path(cache_event_old(e), "metadata", "ownerReferences", NULL));
}

/* The owner that a reference of `of` means, as far as the caches know it, or NULL; of which
 * kind. */
static struct object *owner_of(struct garbage *g, struct object *of, const struct json *ref,
                               const struct kind **kind)
{
    const struct kind *k =
        kind_of(json_str(json_getz(ref, "apiVersion")), json_str(json_getz(ref, "kind")));

    if (!k || !k->storage || k->storage->id < 0 || !g->caches[k->storage->id])
        return NULL;
    *kind = k->storage;
    return cache_get(g->caches[k->storage->id], k->namespaced ? object_key(of).ns : S(""),
                     json_str(json_getz(ref, "name")));
}

/* Every owner is there and stays, as a new dependent's mostly are. */
static bool has_solid_owners(struct garbage *g, struct cache_event *e,
                             const struct json *owners)
{
    json_each (i, owners) {
        const struct json *ref = json_at(owners, i);
        const struct kind *k;
        struct object *owner = owner_of(g, e->now, ref, &k);
        if (!owner || !str_eq(object_uid(owner), json_str(json_getz(ref, "uid"))) ||
            is_deleting(object_tree(owner, e->arena)))
            return false;
    }
    return true;
}

static void changed(void *ctx, struct cache_event *e)
{
    struct source *s = ctx;
    const struct json *tree = cache_event_any(e);
    const struct json *owners = json_path(tree, "metadata", "ownerReferences", NULL);

    if (!e->now) {
        queue_dependents(s->garbage, object_uid(e->old));
        json_each (i, owners) { /* one dependent fewer: an owner may be waiting for that */
            const struct kind *k;
            struct object *owner = owner_of(s->garbage, e->old, json_at(owners, i), &k);
            if (owner && is_deleting(object_tree(owner, e->arena)))
                queue(s->garbage, k->id, object_path(owner));
        }
        return;
    }
    if ((json_len(owners) || is_deleting(tree)) && !is_settled(e, owners) &&
        (is_deleting(tree) || !has_solid_owners(s->garbage, e, owners)))
        queue(s->garbage, s->id, object_path(e->now));
}

/* ---- one owner reference ---- */

enum owner_state { OWNER_SOLID, OWNER_WAITING, OWNER_GONE, OWNER_UNKNOWN };

struct look {
    struct step *step;
    struct garbage *garbage;
    struct object *object;
    const struct json *tree, *owners;
    enum owner_state *states; /* by owner reference */
    struct client_target *targets;
    size_t n_pending;
};

struct ask {
    struct look *look;
    size_t owner;
};

static enum owner_state state_of(const struct json *tree, struct str uid)
{
    if (!str_eq(json_str(json_path(tree, "metadata", "uid", NULL)), uid))
        return OWNER_GONE;
    return is_deleting(tree) && has_finalizer(tree, S("foregroundDeletion")) ? OWNER_WAITING
                                                                             : OWNER_SOLID;
}

static void judge(struct look *l);

static void answered(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct ask *ask = ctx;
    struct look *l = ask->look;
    struct str uid = json_str(json_getz(json_at(l->owners, ask->owner), "uid"));

    if (answer->err)
        l->states[ask->owner] = answer->err->code == ERR_NOT_FOUND ? OWNER_GONE : OWNER_UNKNOWN;
    else
        l->states[ask->owner] = state_of(object_tree(answer->object, s->arena), uid);
    if (--l->n_pending == 0)
        judge(l);
}

/* By the cache where it knows the owner; else by a live read. */
static void look_up(struct look *l, size_t at)
{
    const struct json *o = json_at(l->owners, at);
    const struct kind *k =
        kind_of(json_str(json_getz(o, "apiVersion")), json_str(json_getz(o, "kind")));
    struct str ns = object_key(l->object).ns, name = json_str(json_getz(o, "name"));

    l->states[at] = OWNER_UNKNOWN;
    if (!k || !k->stored || (k->namespaced && ns.len == 0))
        return; /* nobody can tell: never collected */
    if (!k->namespaced)
        ns = S("");
    struct cache *cache = l->garbage->caches[k->storage->id];
    struct object *owner = cache ? cache_get(cache, ns, name) : NULL;
    if (owner && str_eq(object_uid(owner), json_str(json_getz(o, "uid")))) {
        l->states[at] = state_of(object_tree(owner, l->step->arena), object_uid(owner));
        return;
    }
    struct ask *ask = arena_new(l->step->arena, struct ask);
    struct client_target t = {.kind = k, .ns = ns, .name = name};
    *ask = (struct ask){l, at};
    l->n_pending++;
    step_get(l->step, &t, answered, ask);
}

/* ---- a dependent ---- */

static struct client_target target_of(struct object *o)
{
    struct object_key key = object_key(o);

    return (struct client_target){.kind = key.kind, .ns = key.ns, .name = key.name};
}

static void delete_it(struct step *s, struct object *o, struct str propagation)
{
    struct client_target t = target_of(o);
    struct client_delete_options options = {
        .propagation = propagation, .uid = object_uid(o), .grace_s = -1};

    step_delete(s, &t, &options, NULL, NULL);
}

/* Writes the list without what `drop` says; the uid makes it strict. */
static void drop_owners(struct look *l, const bool *drop)
{
    struct arena *a = l->step->arena;
    struct json_arr left = arr_in(a);
    struct json_obj meta = obj_in(a), root = obj_in(a);
    struct client_target t = target_of(l->object);

    json_each (i, l->owners)
        if (!drop[i])
            arr_add(&left, *json_at(l->owners, i));
    obj_setz(&meta, "uid", json_of_str(object_uid(l->object)));
    obj_setz(&meta, "resourceVersion", json_of_str(str_of_u64(a, object_revision(l->object))));
    obj_setz(&meta, "ownerReferences", arr_done(&left));
    obj_setz(&root, "metadata", obj_done(&meta));
    struct json body = obj_done(&root);
    step_patch(l->step, &t, CLIENT_PATCH_MERGE, &body, &(struct client_patch_options){0}, NULL,
               NULL);
}

static void judge(struct look *l)
{
    size_t n = json_len(l->owners), n_left = 0, n_waiting = 0, n_gone = 0;
    bool *drop = arena_array(l->step->arena, bool, n + 1);

    for (size_t i = 0; i < n; i++) {
        n_gone += drop[i] = l->states[i] == OWNER_GONE;
        n_waiting += l->states[i] == OWNER_WAITING;
        n_left += l->states[i] == OWNER_SOLID || l->states[i] == OWNER_UNKNOWN;
    }
    if (n_gone + n_waiting == 0 || is_deleting(l->tree))
        return;
    if (n_left == 0) {
        delete_it(l->step, l->object, n_waiting ? S("Foreground") : S("Background"));
        return;
    }
    for (size_t i = 0; i < n; i++)
        drop[i] |= l->states[i] == OWNER_WAITING;
    drop_owners(l, drop);
}

/* ---- an owner that waits ---- */

static void remove_finalizer(struct step *s, struct object *o, const struct json *tree,
                             struct str name)
{
    struct arena *a = s->arena;
    const struct json *list = json_path(tree, "metadata", "finalizers", NULL);
    struct json_arr left = arr_in(a);
    struct json_obj meta = obj_in(a), root = obj_in(a);
    struct client_target t = target_of(o);

    json_each (i, list)
        if (!str_eq(json_str(json_at(list, i)), name))
            arr_add(&left, *json_at(list, i));
    obj_setz(&meta, "resourceVersion", json_of_str(str_of_u64(a, object_revision(o))));
    obj_setz(&meta, "finalizers", arr_done(&left));
    obj_setz(&root, "metadata", obj_done(&meta));
    struct json body = obj_done(&root);
    step_patch(s, &t, CLIENT_PATCH_MERGE, &body, &(struct client_patch_options){0}, NULL, NULL);
}

static bool blocks(const struct json *tree, struct str uid)
{
    const struct json *owners = json_path(tree, "metadata", "ownerReferences", NULL);

    json_each (i, owners)
        if (str_eq(json_str(json_getz(json_at(owners, i), "uid")), uid))
            return json_bool(json_getz(json_at(owners, i), "blockOwnerDeletion"), false);
    return false;
}

static void orphan_one(struct look *owner, struct object *dependent, const struct json *tree)
{
    struct look l = *owner;

    l.object = dependent;
    l.tree = tree;
    l.owners = json_path(tree, "metadata", "ownerReferences", NULL);
    bool *drop = arena_array(l.step->arena, bool, json_len(l.owners) + 1);
    json_each (i, l.owners)
        drop[i] =
            str_eq(json_str(json_getz(json_at(l.owners, i), "uid")), object_uid(owner->object));
    drop_owners(&l, drop);
}

/* True where nothing stands in the way of the finalizer any more. */
static bool work_off(struct look *l, bool is_orphan)
{
    bool is_free = true;

    for (int id = 0; id < KIND_COUNT; id++) {
        struct object *const *list;
        size_t n = l->garbage->owners[id]
                       ? cache_indexed(l->garbage->owners[id], object_uid(l->object), &list)
                       : 0;
        struct object **copy = arena_array(l->step->arena, struct object *, n + 1);
        if (n)
            memcpy(copy, list, n * sizeof(*copy));
        for (size_t i = 0; i < n; i++) {
            struct object *o = step_hold(l->step, copy[i]);
            const struct json *tree = object_tree(o, l->step->arena);
            if (is_orphan)
                orphan_one(l, o, tree);
            else if (!is_deleting(tree))
                delete_it(l->step, o, S("Foreground"));
            is_free &= !is_orphan && !blocks(tree, object_uid(l->object));
        }
    }
    return is_free;
}

static void serve_finalizers(struct look *l)
{
    if (!is_deleting(l->tree))
        return;
    if (has_finalizer(l->tree, S("orphan"))) {
        if (work_off(l, true))
            remove_finalizer(l->step, l->object, l->tree, S("orphan"));
        else
            step_again(l->step, span_ms(20));
    } else if (has_finalizer(l->tree, S("foregroundDeletion"))) {
        if (work_off(l, false))
            remove_finalizer(l->step, l->object, l->tree, S("foregroundDeletion"));
    }
}

static int reconcile(struct step *s, struct err *err)
{
    struct garbage *g = s->ctx;
    struct str id_text, path;
    int64_t id = -1;

    (void)err;
    str_cut(s->key, ' ', &id_text, &path);
    if (!str_to_i64(id_text, &id) || id < 0 || id >= KIND_COUNT || !g->caches[id])
        return 0;
    struct object *o = cache_find(g->caches[id], path);
    if (!o)
        return 0;
    struct look *l = arena_new(s->arena, struct look);
    *l = (struct look){.step = s, .garbage = g, .object = step_hold(s, o)};
    l->tree = object_tree(o, s->arena);
    l->owners = json_path(l->tree, "metadata", "ownerReferences", NULL);
    l->states = arena_array(s->arena, enum owner_state, json_len(l->owners) + 1);
    serve_finalizers(l);
    if (json_len(l->owners) == 0)
        return 0;
    l->n_pending = 1;
    json_each (i, l->owners)
        look_up(l, i);
    if (--l->n_pending == 0)
        judge(l);
    return 0;
}

void *garbage_start(struct control *c)
{
    struct garbage *g = mem_zero(1, sizeof(*g));

    g->control = c;
    g->controller = controller_new(
        c, &(struct controller_config){.name = "garbage", .reconcile = reconcile, .ctx = g});
    for (int id = 0; id < KIND_COUNT; id++) {
        if (!is_collected(kinds[id]))
            continue;
        g->caches[id] = control_cache(c, kinds[id]);
        g->owners[id] = cache_by_owner(g->caches[id]);
        g->sources[id] = mem_zero(1, sizeof(*g->sources[id]));
        *g->sources[id] = (struct source){g, id};
        cache_subscribe(g->caches[id], changed, g->sources[id]);
    }
    return g;
}

void garbage_free(void *state)
{
    struct garbage *g = state;

    for (int id = 0; id < KIND_COUNT; id++)
        free(g->sources[id]);
    free(g);
}
