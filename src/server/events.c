/* events.c - Events go away by themselves after an hour, as upstream's do
 *
 * What is remembered of each is its path and when it was last written, in that order; at a
 * start all of them are as new. One timer, set only while there are any.
 */
#include "server/server_priv.h"

#include "io/io.h"

#define EVENT_TTL span_s(3600)
#define SWEEP_MAX 256 /* deleted at once */

struct due {
    uint64_t revision; /* a later write of the same Event has its own entry */
    struct instant when;
    struct str path; /* on the heap */
};

struct events {
    struct server *server;
    const struct kind *kind;
    struct io_timer *timer;
    VEC(struct due) queue; /* from `first` on */
    size_t first;
};

static void set_timer(struct events *e)
{
    if (e->first == e->queue.len)
        return;
    struct span left = instant_sub(e->queue.at[e->first].when, io_now(e->server->io));
    io_timer_set(e->timer, left);
}

static void add(struct events *e, const struct object *o)
{
    struct str path = object_path(o);
    char *copy = mem_alloc(path.len);

    memcpy(copy, path.at, path.len);
    if (e->first > 1024 && e->first > e->queue.len / 2) {
        /* What is done goes, so that the queue does not only grow. */
        memmove(e->queue.at, e->queue.at + e->first,
                (e->queue.len - e->first) * sizeof(*e->queue.at));
        e->queue.len -= e->first;
        e->first = 0;
    }
    vec_push(&e->queue, (struct due){.revision = object_revision(o),
                                     .when = instant_add(io_now(e->server->io), EVENT_TTL),
                                     .path = str_of(copy, path.len)});
    if (!io_timer_is_set(e->timer))
        set_timer(e);
}

static void see(void *ctx, const struct object *o, bool is_removed)
{
    if (!is_removed)
        add(ctx, o);
}

static void gone(void *ctx, uint64_t revision, const struct err *err)
{
    (void)ctx, (void)revision, (void)err; /* gone already, or written again */
}

/* As a lease that ends: nobody is asked, and a finalizer does not hold it. */
static void remove_one(struct events *e, const struct due *d)
{
    struct object *o = store_get(e->server->store, e->kind, d->path);

    if (!o || object_revision(o) != d->revision)
        return;
    struct object *last = object_again(o);
    store_delete(e->server->store, last, d->revision, gone, NULL);
    object_unref(last);
}

static void sweep(void *ctx)
{
    struct events *e = ctx;
    struct instant now = io_now(e->server->io);

    for (int n = 0; n < SWEEP_MAX && e->first < e->queue.len; n++) {
        struct due *d = &e->queue.at[e->first];
        if (instant_before(now, d->when))
            break;
        remove_one(e, d);
        free((void *)(uintptr_t)d->path.at);
        e->first++;
    }
    set_timer(e);
}

void events_start(struct server *s)
{
    const struct kind *k = kind_of_name(s, S(""), S("v1"), S("Event"));
    scoped(arena_fini) struct arena a = {0};
    struct object *o;

    if (!k || s->events)
        return;
    struct events *e = mem_zero(1, sizeof(*e));
    e->server = s;
    e->kind = k->storage;
    e->timer = io_timer_new(s->io, sweep, e);
    s->events = e;
    struct store_walk walk = store_walk(s->store, &a, e->kind, S(""), S(""), 0);
    while ((o = store_next(&walk)))
        add(e, o);
    store_hook(s->store, e->kind, see, e);
}

void events_stop(struct server *s)
{
    struct events *e = s->events;

    if (!e)
        return;
    store_unhook(s->store, e);
    io_timer_free(e->timer);
    for (size_t i = e->first; i < e->queue.len; i++)
        free((void *)(uintptr_t)e->queue.at[i].path.at);
    vec_fini(&e->queue);
    free(e);
    s->events = NULL;
}
