/* fake.h - an API server of a hundred lines, for the tests of node/
 *
 * Objects by kind and path, one revision counter, watches with one field selector
 * (spec.nodeName=NAME), merge patches, deletion with a grace period for bound pods. Answers and
 * events are later turns.
 */
#pragma once

#include "base/testing.h"

#include "api/kinds.h"
#include "client/client.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/table.h"
#include "json/json.h"
#include "json/patch.h"

struct fake {
    struct client client; /* first */
    struct io *io;
    uint64_t revision;
    MAP(struct object *) objects; /* by "Kind/ns/name"; keys in `arena` */
    VEC(struct fake_watch *) watches;
    struct arena arena;
    int n_writes, n_clients;
    struct buf log; /* "patch pods/a; ..." */
};

struct fake_watch {
    struct client_watch base; /* first */
    struct fake *fake;
    const struct kind *kind;
    struct str node; /* "" any */
    client_watch_fn *event;
    void *ctx;
    bool stopped;
};

/* One thing that is told later. */
struct fake_note {
    struct fake *fake;
    struct object *object;
    struct err err;
    client_done_fn *done;
    client_list_fn *list;
    struct fake_watch *watch;
    enum watch_event_type type;
    void *ctx;
    int code, for_client;
    uint64_t revision;
    const struct kind *kind;
    struct str node;
};

static inline struct str fake_key(struct arena *a, const struct kind *k, struct str ns,
                                  struct str name)
{
    return str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(k->kind), STR_ARG(ns), STR_ARG(name));
}

static inline bool fake_selects(const struct fake_watch *w, struct object *o)
{
    scoped(arena_fini) struct arena a = {0};

    return object_key(o).kind == w->kind &&
           (!w->node.len ||
            str_eq(json_str(json_path(object_tree(o, &a), "spec", "nodeName", NULL)), w->node));
}

static inline void fake_tell(void *ctx)
{
    struct fake_note *n = ctx;

    if (n->watch) {
        struct watch_event e = {.type = n->type, .object = n->object, .revision = n->revision};
        if (!n->watch->stopped)
            n->watch->event(n->watch->ctx, &e);
    } else if (n->list && n->for_client == n->fake->n_clients) {
        VEC(struct object *) found = {0};
        struct fake_watch w = {.kind = n->kind, .node = n->node};
        map_each (i, &n->fake->objects)
            if (fake_selects(&w, *map_at(&n->fake->objects, i)))
                vec_push(&found, *map_at(&n->fake->objects, i));
        struct client_list_answer answer = {
            .items = found.at, .n_items = found.len, .revision = n->fake->revision};
        n->list(n->ctx, &answer);
        vec_fini(&found);
    } else if (n->done && n->for_client == n->fake->n_clients) {
        struct client_answer answer = {
            .code = n->code, .object = n->object, .err = n->err.code ? &n->err : NULL};
        n->done(n->ctx, &answer);
    }
    object_unref(n->object);
    free(n);
}

/* The context of io_later: one for each fake, so that order is kept. */
static inline struct fake_note *fake_later(struct fake *f, struct object *o)
{
    struct fake_note *n = mem_zero(1, sizeof(*n));

    n->fake = f;
    n->object = o ? object_ref(o) : NULL;
    n->revision = f->revision;
    n->for_client = f->n_clients;
    io_later(f->io, fake_tell, n);
    return n;
}

static inline void fake_answer(struct fake *f, struct object *o, client_done_fn *done,
                               void *ctx, enum err_code code)
{
    struct fake_note *n = fake_later(f, o);

    n->done = done;
    n->ctx = ctx;
    n->code = code ? 400 : 200;
    if (code)
        err_set(&n->err, code, "fake: %s", err_name(code));
}

static inline void fake_event(struct fake *f, struct object *o, enum watch_event_type type)
{
    vec_each (i, &f->watches) {
        if (!fake_selects(f->watches.at[i], o))
            continue;
        struct fake_note *n = fake_later(f, o);
        n->watch = f->watches.at[i];
        n->type = type;
    }
}

/* Stores the tree as the newest version. */
static inline struct object *fake_put(struct fake *f, const struct kind *k, struct str ns,
                                      struct str name, const struct json *tree)
{
    struct str key = fake_key(&f->arena, k, ns, name);
    struct object **at = map_get(&f->objects, key);
    struct object *o = object_new(k, tree);
    bool is_new = !at;

    object_set_revision(o, ++f->revision);
    if (at)
        object_unref(*at);
    else
        at = map_put(&f->objects, key);
    *at = o;
    f->n_writes++;
    fake_event(f, o, is_new ? WATCH_ADDED : WATCH_MODIFIED);
    return o;
}

static inline struct object *fake_find(struct fake *f, const struct kind *k, const char *ns,
                                       const char *name)
{
    struct object **o =
        map_get(&f->objects, fake_key(&f->arena, k, str_from(ns), str_from(name)));

    return o ? *o : NULL;
}

static inline void fake_remove_object(struct fake *f, struct str key)
{
    struct object *o = *map_get(&f->objects, key);

    map_del(&f->objects, key);
    f->revision++;
    fake_event(f, o, WATCH_DELETED);
    object_unref(o);
}

/* From text; metadata gets a uid, a namespace and a creation time. */
static inline struct object *fake_add(struct fake *f, const struct kind *k, const char *text)
{
    struct err err = {0};
    const struct json *v = json_parse(&f->arena, str_from(text), NULL, &err);

    if (!v) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    struct str name = json_str(json_path(v, "metadata", "name", NULL));
    struct str ns = k->namespaced ? S("default") : S("");
    v = json_with(&f->arena, v, json_of_str(k->api_version), "apiVersion", NULL);
    v = json_with(&f->arena, v, json_of_str(k->kind), "kind", NULL);
    if (k->namespaced)
        v = json_with(&f->arena, v, json_of_str(ns), "metadata", "namespace", NULL);
    if (!json_has(json_path(v, "metadata", "uid", NULL)))
        v = json_with(&f->arena, v,
                      json_of_str(str_printf(&f->arena, "uid-%.*s", STR_ARG(name))), "metadata",
                      "uid", NULL);
    return fake_put(f, k, ns, name, v);
}

/* ---- the interface ---- */

static inline void fake_create(struct client *c, const struct client_target *t,
                               const struct json *body, client_done_fn *done, void *ctx)
{
    struct fake *f = (struct fake *)c;
    struct str name = json_str(json_path(body, "metadata", "name", NULL));

    if (str_eqz(t->subresource, "binding")) {
        struct object *o = *map_get(&f->objects, fake_key(&f->arena, t->kind, t->ns, t->name));
        struct str node = json_str(json_path(body, "target", "name", NULL));
        const struct json *v = object_tree(o, &f->arena);
        if (json_str(json_path(v, "spec", "nodeName", NULL)).len) {
            fake_answer(f, NULL, done, ctx, ERR_CONFLICT);
            return;
        }
        v = json_with(&f->arena, v, json_of_str(str_copy(&f->arena, node)), "spec", "nodeName",
                      NULL);
        buf_printf(&f->log, "bind %.*s %.*s; ", STR_ARG(t->name), STR_ARG(node));
        fake_put(f, t->kind, t->ns, t->name, v);
        fake_answer(f, NULL, done, ctx, ERR_OK);
        return;
    }
    if (!name.len)
        name = str_printf(&f->arena, "made-%d", f->n_writes);
    if (map_get(&f->objects, fake_key(&f->arena, t->kind, t->ns, name))) {
        fake_answer(f, NULL, done, ctx, ERR_EXISTS);
        return;
    }
    const struct json *v = json_copy(&f->arena, body);
    v = json_with(&f->arena, v, json_of_str(name), "metadata", "name", NULL);
    if (t->ns.len)
        v = json_with(&f->arena, v, json_of_str(str_copy(&f->arena, t->ns)), "metadata",
                      "namespace", NULL);
    v = json_with(&f->arena, v, json_of_str(str_printf(&f->arena, "uid-%.*s", STR_ARG(name))),
                  "metadata", "uid", NULL);
    buf_printf(&f->log, "create %.*s; ", STR_ARG(t->kind->kind));
    fake_answer(f, fake_put(f, t->kind, t->ns, name, v), done, ctx, ERR_OK);
}

static inline void fake_patch(struct client *c, const struct client_target *t,
                              enum client_patch type, const struct json *body,
                              const struct client_patch_options *o, client_done_fn *done,
                              void *ctx)
{
    struct fake *f = (struct fake *)c;
    struct object **at = map_get(&f->objects, fake_key(&f->arena, t->kind, t->ns, t->name));
    scoped(arena_fini) struct arena a = {0};

    (void)o;
    check(type == CLIENT_PATCH_MERGE);
    if (!at) {
        fake_answer(f, NULL, done, ctx, ERR_NOT_FOUND);
        return;
    }
    const struct json *old = object_tree(*at, &a);
    struct str want = json_str(json_path(body, "metadata", "resourceVersion", NULL));
    if (want.len &&
        !str_eq(want, json_str(json_path(old, "metadata", "resourceVersion", NULL)))) {
        fake_answer(f, NULL, done, ctx, ERR_CONFLICT);
        return;
    }
    const struct json *v = json_merge_patch(&a, old, body);
    buf_printf(&f->log, "patch %.*s %.*s; ", STR_ARG(t->kind->kind), STR_ARG(t->subresource));
    fake_answer(f, fake_put(f, t->kind, t->ns, t->name, v), done, ctx, ERR_OK);
}

static inline void fake_delete(struct client *c, const struct client_target *t,
                               const struct client_delete_options *o, client_done_fn *done,
                               void *ctx)
{
    struct fake *f = (struct fake *)c;
    struct str key = fake_key(&f->arena, t->kind, t->ns, t->name);

    if (!map_get(&f->objects, key)) {
        fake_answer(f, NULL, done, ctx, ERR_NOT_FOUND);
        return;
    }
    check_int(o->grace_s, 0);
    buf_printf(&f->log, "delete %.*s; ", STR_ARG(t->kind->kind));
    fake_answer(f, NULL, done, ctx, ERR_OK);
    fake_remove_object(f, key);
}

static inline void fake_list(struct client *c, const struct client_target *t,
                             const struct client_select *sel, client_list_fn *done, void *ctx)
{
    struct fake *f = (struct fake *)c;
    struct fake_note *n = fake_later(f, NULL);

    n->list = done;
    n->ctx = ctx;
    n->kind = t->kind;
    if (str_starts(sel->fields, S("spec.nodeName=")))
        n->node = str_copy(&f->arena, str_slice(sel->fields, 14, sel->fields.len));
}

static inline struct client_watch *fake_watch(struct client *c, const struct client_target *t,
                                              const struct client_select *sel,
                                              uint64_t revision, client_watch_fn *event,
                                              void *ctx)
{
    struct fake *f = (struct fake *)c;
    struct fake_watch *w = mem_zero(1, sizeof(*w));

    (void)revision;
    *w = (struct fake_watch){.fake = f, .kind = t->kind, .event = event, .ctx = ctx};
    if (str_starts(sel->fields, S("spec.nodeName=")))
        w->node = str_copy(&f->arena, str_slice(sel->fields, 14, sel->fields.len));
    vec_push(&f->watches, w);
    return &w->base;
}

static inline void fake_watch_stop(struct client_watch *base)
{
    ((struct fake_watch *)base)->stopped = true;
}

static inline void fake_get(struct client *c, const struct client_target *t,
                            client_done_fn *done, void *ctx)
{
    struct fake *f = (struct fake *)c;
    struct object **o = map_get(&f->objects, fake_key(&f->arena, t->kind, t->ns, t->name));

    fake_answer(f, o ? *o : NULL, done, ctx, o ? ERR_OK : ERR_NOT_FOUND);
}

static inline void fake_free(struct client *c)
{
    struct fake *f = (struct fake *)c;

    map_each (i, &f->objects)
        object_unref(*map_at(&f->objects, i));
    map_fini(&f->objects);
    vec_each (i, &f->watches)
        free(f->watches.at[i]);
    vec_fini(&f->watches);
    buf_fini(&f->log);
    arena_fini(&f->arena);
    free(f);
}

static inline struct fake *fake_new(struct io *io)
{
    static const struct client_ops ops = {.get = fake_get,
                                          .create = fake_create,
                                          .patch = fake_patch,
                                          .remove = fake_delete,
                                          .list = fake_list,
                                          .watch = fake_watch,
                                          .watch_stop = fake_watch_stop,
                                          .free = fake_free};
    struct fake *f = mem_zero(1, sizeof(*f));

    f->client.ops = &ops;
    f->io = io;
    return f;
}

/* A user's request: a pod that is bound gets its grace period. */
static inline void fake_ask_delete(struct fake *f, const char *name, int64_t grace_s)
{
    scoped(arena_fini) struct arena a = {0};
    struct object *o = fake_find(f, &kind_pod, "default", name);
    const struct json *v = object_tree(o, &a);

    v = json_with(&a, v, json_of_z("2030-01-01T00:00:00Z"), "metadata", "deletionTimestamp",
                  NULL);
    v = json_with(&a, v, json_of_i64(grace_s), "metadata", "deletionGracePeriodSeconds", NULL);
    fake_put(f, &kind_pod, S("default"), str_from(name), v);
}

/* The value at a pointer of an object, as text. */
static inline struct str fake_text(struct fake *f, struct object *o, const char *pointer)
{
    const struct json *v =
        o ? json_pointer(object_tree(o, &f->arena), str_from(pointer)) : NULL;

    if (!v)
        return S("");
    return v->type == JSON_STRING ? json_str(v) : json_text(&f->arena, v);
}
