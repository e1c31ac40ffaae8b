/* local.c - the client in this process: the same requests, without bytes
 *
 * A call becomes a request on a later turn; answers hand over objects by reference. With
 * BERTH_CLIENT=bytes in the environment bodies and answers go through text, and the final state
 * must be the same.
 */
#include "server/watch_priv.h"
#include "server/write_priv.h"

#include "client/client.h"
#include "io/io.h"

struct local {
    struct client client; /* first */
    struct list link;     /* in server->clients */
    struct server *server;
    const struct server_user *user; /* the server's */
    struct list calls;
    bool is_bytes;
};

enum call_type { CALL_OBJECT, CALL_LIST, CALL_WATCH };

struct call {
    struct client_watch watch; /* first, for watches */
    struct list link;          /* in local->calls */
    struct local *local;
    struct request *r; /* NULL once it has ended */
    enum call_type type;
    bool is_started;
    bool is_stopped; /* nothing more is told */
    struct err err;  /* found while it was made */
    union {
        client_done_fn *done;
        client_list_fn *list;
        client_watch_fn *event;
    };
    void *ctx;
};

static struct call *call_of(struct request *r)
{
    return r->ctx;
}

static void call_free(struct call *c)
{
    list_del(&c->link);
    free(c);
}

/* ---- answers ---- */

/* The object as a client over HTTP would have read it. */
static struct object *through_bytes(struct request *r, struct object *o)
{
    if (!call_of(r)->local->is_bytes)
        return object_ref(o);
    struct arena *a = r->arena;
    struct object *copy = object_new(object_key(o).kind, object_tree(o, a));
    object_set_revision(copy, object_revision(o));
    return copy;
}

static void answer(struct call *c, const struct client_answer *answer)
{
    if (!c->is_stopped)
        c->done(c->ctx, answer);
    call_free(c);
}

static void reply_object(struct request *r, int code, struct object *o)
{
    struct object *given = through_bytes(r, o);

    answer(call_of(r), &(struct client_answer){.code = code, .object = given});
    object_unref(given);
}

static void reply_tree(struct request *r, int code, const struct json *tree)
{
    answer(call_of(r), &(struct client_answer){.code = code, .status = tree});
}

static void reply_fail(struct request *r, const struct json *status, const struct err *err)
{
    struct call *c = call_of(r);
    int code = (int)json_i64(json_getz(status, "code"), 500);

    if (c->type == CALL_OBJECT) {
        answer(c, &(struct client_answer){.code = code, .status = status, .err = err});
        return;
    }
    if (!c->is_stopped && c->type == CALL_LIST)
        c->list(c->ctx, &(struct client_list_answer){.err = err});
    else if (!c->is_stopped)
        c->event(c->ctx, &(struct watch_event){.type = WATCH_ERROR, .err = err});
    c->r = NULL;
    if (c->type == CALL_LIST || c->is_stopped)
        call_free(c);
}

static void reply_list(struct request *r, const struct list_result *l)
{
    struct call *c = call_of(r);
    struct object **items = l->items;

    if (c->type == CALL_OBJECT) { /* deletecollection */
        answer(c, &(struct client_answer){.code = 200});
        return;
    }
    bool is_same = !c->local->is_bytes && r->kind == r->kind->storage;
    if (!is_same) {
        items = arena_array(r->arena, struct object *, l->n);
        for (size_t i = 0; i < l->n; i++) {
            struct object *as = as_kind(r->arena, l->items[i], r->kind);
            items[i] = through_bytes(r, as);
            object_unref(as);
        }
    }
    if (!c->is_stopped)
        c->list(c->ctx, &(struct client_list_answer){
                            .items = items, .n_items = l->n, .revision = l->revision});
    for (size_t i = 0; !is_same && i < l->n; i++)
        object_unref(items[i]);
    call_free(c);
}

static void reply_watch_start(struct request *r)
{
    (void)r;
}

static void reply_watch_event(struct request *r, enum event_type type, struct object *o,
                              uint64_t revision, bool is_initial_end)
{
    static const enum watch_event_type types[] = {[EVENT_ADDED] = WATCH_ADDED,
                                                  [EVENT_MODIFIED] = WATCH_MODIFIED,
                                                  [EVENT_DELETED] = WATCH_DELETED,
                                                  [EVENT_BOOKMARK] = WATCH_BOOKMARK};
    struct call *c = call_of(r);
    struct object *given = o ? through_bytes(r, o) : NULL;

    (void)is_initial_end;
    if (!c->is_stopped)
        c->event(c->ctx, &(struct watch_event){
                             .type = types[type], .object = given, .revision = revision});
    object_unref(given);
}

static void reply_watch_fail(struct request *r, const struct json *status,
                             const struct err *err)
{
    struct call *c = call_of(r);

    (void)status;
    c->r = NULL; /* the watch is the caller's still, to be stopped */
    if (!c->is_stopped)
        c->event(c->ctx, &(struct watch_event){.type = WATCH_ERROR, .err = err});
}

static void reply_watch_end(struct request *r)
{
    struct err err = {0};

    err_set(&err, ERR_CANCELED, "the server ended the watch");
    reply_watch_fail(r, NULL, &err);
}

static bool reply_watch_is_full(struct request *r)
{
    return call_of(r)->is_stopped;
}

static const struct reply local_reply = {
    .object = reply_object,
    .tree = reply_tree,
    .fail = reply_fail,
    .list = reply_list,
    .watch_start = reply_watch_start,
    .watch_event = reply_watch_event,
    .watch_fail = reply_watch_fail,
    .watch_end = reply_watch_end,
    .watch_is_full = reply_watch_is_full,
};

/* ---- calls ---- */

static void start(void *ctx)
{
    struct call *c = ctx;

    c->is_started = true;
    if (c->is_stopped) {
        request_fini(c->r);
        call_free(c);
        return;
    }
    if (c->err.code) {
        struct request *r = c->r;
        fail_err(r, &c->err);
        request_fini(r);
        return;
    }
    request_begin(c->r);
}

static struct call *call_new(struct client *client, const struct client_target *t,
                             enum verb verb, const struct json *body, enum call_type type,
                             void *ctx)
{
    struct local *l = (struct local *)client;
    struct call *c = mem_zero(1, sizeof(*c));
    struct request *r = request_new(l->server, &local_reply);
    struct arena *a = r->arena;

    c->local = l;
    c->r = r;
    c->type = type;
    c->ctx = ctx;
    list_add(&l->calls, &c->link);
    r->ctx = c;
    r->user = l->user;
    r->verb = verb;
    r->kind = t->kind;
    r->ns = str_copy(a, t->ns);
    r->name = str_copy(a, t->name);
    r->subresource = str_copy(a, t->subresource);
    r->options.field_manager = l->user->name;
    r->options.validation = VALIDATION_IGNORE;
    if (body) {
        r->is_lent = t->is_lent && !l->is_bytes;
        r->body = l->is_bytes  ? json_parse(a, json_text(a, body), NULL, NULL)
                  : t->is_lent ? body
                               : json_copy(a, body);
        /* What the path says need not be said again. */
        if (verb == VERB_CREATE || verb == VERB_UPDATE)
            r->body = body_named(a, r->body, t->kind);
    }
    io_later(l->server->io, start, c);
    return c;
}

static void local_get(struct client *c, const struct client_target *t, client_done_fn *done,
                      void *ctx)
{
    call_new(c, t, VERB_GET, NULL, CALL_OBJECT, ctx)->done = done;
}

static void local_create(struct client *c, const struct client_target *t,
                         const struct json *body, client_done_fn *done, void *ctx)
{
    call_new(c, t, VERB_CREATE, body, CALL_OBJECT, ctx)->done = done;
}

static void local_update(struct client *c, const struct client_target *t,
                         const struct json *body, client_done_fn *done, void *ctx)
{
    call_new(c, t, VERB_UPDATE, body, CALL_OBJECT, ctx)->done = done;
}

static void local_patch(struct client *client, const struct client_target *t,
                        enum client_patch type, const struct json *body,
                        const struct client_patch_options *o, client_done_fn *done, void *ctx)
{
    static const enum patch_type types[] = {[CLIENT_PATCH_JSON] = PATCH_JSON,
                                            [CLIENT_PATCH_MERGE] = PATCH_MERGE,
                                            [CLIENT_PATCH_STRATEGIC] = PATCH_STRATEGIC,
                                            [CLIENT_APPLY] = PATCH_APPLY};
    struct call *c = call_new(client, t, VERB_PATCH, body, CALL_OBJECT, ctx);

    c->done = done;
    c->r->patch_type = types[type];
    if (type == CLIENT_APPLY)
        c->r->body = body_named(c->r->arena, c->r->body, t->kind);
    c->r->options.force = o->force;
    c->r->options.dry_run = o->dry_run;
    if (o->manager.len)
        c->r->options.field_manager = str_copy(c->r->arena, o->manager);
}

static void local_delete(struct client *client, const struct client_target *t,
                         const struct client_delete_options *o, client_done_fn *done, void *ctx)
{
    enum verb verb = t->name.len ? VERB_DELETE : VERB_DELETECOLLECTION;
    struct call *c = call_new(client, t, verb, NULL, CALL_OBJECT, ctx);
    struct delete_options *out = &c->r->options.remove;

    c->done = done;
    out->propagation_policy = str_copy(c->r->arena, o->propagation);
    out->want_uid = str_copy(c->r->arena, o->uid);
    out->want_version = str_copy(c->r->arena, o->resource_version);
    out->grace.has_grace = o->grace_s >= 0;
    out->grace.grace = o->grace_s;
}

/* A selector that cannot be read is answered when the call starts. */
static void select_copy(struct request *r, const struct client_select *sel)
{
    struct list_options *o = &r->options.list;
    struct err err = {0};

    if (selector_parse(r->arena, str_copy(r->arena, sel->labels), &o->labels, &err) < 0 ||
        field_selector_parse(r->arena, str_copy(r->arena, sel->fields), &o->fields, &err) < 0)
        call_of(r)->err = err;
}

static void local_list(struct client *client, const struct client_target *t,
                       const struct client_select *sel, client_list_fn *done, void *ctx)
{
    struct call *c = call_new(client, t, VERB_LIST, NULL, CALL_LIST, ctx);

    c->list = done;
    select_copy(c->r, sel);
}

static struct client_watch *local_watch(struct client *client, const struct client_target *t,
                                        const struct client_select *sel, uint64_t revision,
                                        client_watch_fn *event, void *ctx)
{
    struct call *c = call_new(client, t, VERB_WATCH, NULL, CALL_WATCH, ctx);

    c->event = event;
    select_copy(c->r, sel);
    c->r->options.list.resource_version = str_of_u64(c->r->arena, revision);
    return &c->watch;
}

/* Its own turn: the stop may come from inside an event. */
static void watch_cancel(void *ctx)
{
    struct call *c = ctx;

    if (c->r)
        watching_cancel(c->r);
    call_free(c);
}

static void local_watch_stop(struct client_watch *w)
{
    struct call *c = (struct call *)w;

    if (c->is_stopped)
        return;
    c->is_stopped = true;
    if (c->is_started)
        io_later(c->local->server->io, watch_cancel, c);
}

/* ---- life ---- */

/* Calls under way are answered ERR_CANCELED; their requests go on without them. */
static void call_cancel(struct call *c)
{
    struct err err = {0};

    err_set(&err, ERR_CANCELED, "the client was closed");
    if (c->type == CALL_OBJECT && !c->is_stopped)
        c->done(c->ctx, &(struct client_answer){.err = &err});
    else if (c->type == CALL_LIST && !c->is_stopped)
        c->list(c->ctx, &(struct client_list_answer){.err = &err});
    io_later_cancel(c->local->server->io, start, c);
    io_later_cancel(c->local->server->io, watch_cancel, c);
    if (!c->is_started)
        request_fini(c->r);
    else if (c->type == CALL_WATCH && c->r)
        watching_cancel(c->r);
    else if (c->r)
        request_abandon(c->r);
    call_free(c);
}

static void local_free(struct client *client)
{
    struct local *l = (struct local *)client;

    while (!list_empty(&l->calls))
        call_cancel(list_item(l->calls.next, struct call, link));
    list_del(&l->link);
    free(l);
}

static struct client_load local_load(struct client *client)
{
    const struct server *s = ((struct local *)client)->server;

    return (struct client_load){.under_way = s->n_asked, .so_far = s->n_asked_ever};
}

static const struct client_ops local_ops = {
    .get = local_get,
    .create = local_create,
    .update = local_update,
    .patch = local_patch,
    .remove = local_delete,
    .list = local_list,
    .watch = local_watch,
    .watch_stop = local_watch_stop,
    .load = local_load,
    .free = local_free,
};

const struct server_user *user_copy(struct arena *a, const struct server_user *user)
{
    struct server_user *copy = arena_new(a, struct server_user);
    struct str *groups = arena_array(a, struct str, user->n_groups);
    uint32_t *gids = arena_array(a, uint32_t, user->n_account_groups);

    *copy = *user;
    copy->name = str_copy(a, user->name);
    copy->uid = str_copy(a, user->uid);
    for (size_t i = 0; i < user->n_groups; i++)
        groups[i] = str_copy(a, user->groups[i]);
    for (size_t i = 0; i < user->n_account_groups; i++)
        gids[i] = user->account_groups[i];
    copy->groups = groups;
    copy->account_groups = gids;
    return copy;
}

struct client *server_client(struct server *s, const struct server_user *user)
{
    struct local *l = mem_zero(1, sizeof(*l));
    const char *mode = getenv("BERTH_CLIENT");

    l->client.ops = &local_ops;
    l->server = s;
    l->user = user_copy(&s->users, user);
    l->is_bytes = mode && strcmp(mode, "bytes") == 0;
    list_init(&l->calls);
    list_add(&s->clients, &l->link);
    return &l->client;
}
