/* collection.c - DELETE of a collection: each object by itself, as its own request
 *
 * The requests run one after the other, so that a large collection never fills the queue of
 * writes; what was found at the start is what goes.
 */
#include "server/filter_priv.h"
#include "server/write_priv.h"

struct sweep {
    struct request *r;
    struct object **items; /* ours */
    size_t n, at;
    uint64_t revision;
    bool is_running; /* in sweep_run(): an answer that comes at once goes on there */
    bool is_failed;
};

static void sweep_run(struct sweep *w);

static void one_done(struct request *one)
{
    struct sweep *w = one->ctx;

    w->at++;
    if (!w->is_running)
        sweep_run(w);
}

static void one_object(struct request *one, int code, struct object *o)
{
    (void)code, (void)o;
    one_done(one);
}

static void one_tree(struct request *one, int code, const struct json *tree)
{
    (void)code, (void)tree;
    one_done(one);
}

/* One that is gone meanwhile is as good as deleted; any other failure ends the sweep. */
static void one_fail(struct request *one, const struct json *status, const struct err *err)
{
    struct sweep *w = one->ctx;

    if (err->code != ERR_NOT_FOUND && err->code != ERR_CONFLICT) {
        w->is_failed = true;
        w->r->reply->fail(w->r, json_copy(w->r->arena, status), err);
    }
    one_done(one);
}

static const struct reply one_reply = {
    .object = one_object, .tree = one_tree, .fail = one_fail};

static void sweep_end(struct sweep *w)
{
    struct list_result l = {
        .items = w->items, .n = w->n, .revision = w->revision, .remaining = -1};
    struct request *r = w->r;

    if (!w->is_failed)
        r->reply->list(r, &l);
    for (size_t i = 0; i < l.n; i++)
        object_unref(l.items[i]);
    request_fini(r);
}

static void delete_one(struct sweep *w)
{
    struct request *r = w->r, *one = request_new(r->server, &one_reply);

    one->ctx = w;
    one->user = r->user;
    one->verb = VERB_DELETE;
    one->kind = r->kind;
    one->options = r->options;
    one->ns = str_copy(one->arena, object_key(w->items[w->at]).ns);
    one->name = str_copy(one->arena, object_key(w->items[w->at]).name);
    verb_delete(one);
}

static void sweep_run(struct sweep *w)
{
    w->is_running = true;
    while (w->at < w->n && !w->is_failed) {
        size_t at = w->at;
        delete_one(w);
        if (w->at == at) {
            /* Its answer comes on a later turn. */
            w->is_running = false;
            return;
        }
    }
    sweep_end(w);
}

void verb_deletecollection(struct request *r)
{
    struct filter f;
    struct err err = {0};
    struct object *o;

    if (filter_init(&f, r->kind, &r->options.list, &err) < 0) {
        fail_err(r, &err);
        request_fini(r);
        return;
    }
    VEC(struct object *) items = {0};
    struct store_walk walk =
        store_walk(r->server->store, r->arena, r->kind->storage, r->ns, S(""), 0);
    while ((o = store_next(&walk))) {
        if (filter_matches(&f, o))
            vec_push_in(r->arena, &items, object_ref(o));
    }
    struct sweep *w = arena_new(r->arena, struct sweep);
    *w = (struct sweep){.r = r,
                        .items = items.at,
                        .n = items.len,
                        .revision = store_revision(r->server->store)};
    sweep_run(w);
}
