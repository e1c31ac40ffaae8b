/* store.c - putting: judged when queued, visible in that order once durable
 *
 *     store_put → judge → ops (in order) → backend → store_ready → index, ring, watches → done
 *
 * An op that was judged wrong waits its turn as well, so that answers come in the order of
 * queueing.
 */
#include "store/store_priv.h"

#include "io/io.h"

#define SWEEP_AFTER 256 /* values that came, at least, between two sweeps of the warm cache */
#define COOL_STEPS 1024 /* objects looked at in one go when the warm cache is too full */

/* ---- racks ---- */

struct rack *store_rack_named(struct store *s, struct str name)
{
    struct rack **found = map_get(&s->by_name, name);

    if (found)
        return *found;
    struct rack *r = mem_zero(1, sizeof(*r));
    char *copy = mem_alloc(name.len);
    memcpy(copy, name.at, name.len);
    r->name = str_of(copy, name.len);
    r->gone = s->start;
    list_init(&r->watches);
    vec_push(&s->racks, r);
    *map_put(&s->by_name, r->name) = r;
    return r;
}

struct rack *store_rack(const struct store *s, const struct kind *kind)
{
    struct store *mine = (struct store *)(uintptr_t)s; /* a lookup cache behind const */
    int id = object_kind_id(kind);

    if (id >= 0 && (size_t)id < s->by_id.len && s->by_id.at[id])
        return s->by_id.at[id];

    char name[OBJECT_KIND_NAME_MAX];
    struct rack *r = store_rack_named(mine, object_kind_name(kind, name));
    if (!r->kind)
        r->kind = kind;
    if (id >= 0) {
        while (mine->by_id.len <= (size_t)id)
            vec_push(&mine->by_id, NULL);
        mine->by_id.at[id] = r;
    }
    return r;
}

void store_adopt(struct store *s, const struct kind *kind)
{
    struct rack *r = store_rack(s, kind);

    r->kind = kind;
    vec_each (i, &r->chunks) {
        for (size_t j = 0; j < r->chunks.at[i].len; j++)
            object_set_kind(r->chunks.at[i].at[j], kind);
    }
    for (uint64_t i = r->first; i < r->last; i++) {
        struct past *p = &r->ring[i & (r->n_ring - 1)];
        object_set_kind(p->now, kind);
        if (p->before)
            object_set_kind(p->before, kind);
    }
}

/* ---- queueing ---- */

static void op_free(struct op *op)
{
    list_del(&op->link);
    object_unref(op->next);
    object_unref(op->before);
    free(op);
}

/* Fills op->err where the put does not fit what is there or on its way. */
static void judge(struct store *s, struct op *op, uint64_t expect)
{
    struct str path = object_path(op->next);
    struct op **flight = map_get(&op->rack->in_flight, path);
    struct object *now = NULL;

    if (flight)
        now = (*flight)->is_delete ? NULL : (*flight)->next;
    else
        now = index_get(op->rack, path);

    size_t size = object_rest(op->next).len;
    if (!op->is_delete && size > STORE_MAX_VALUE)
        err_set(&op->err, ERR_LIMIT, "object of %zu bytes is over the store's limit of %zu",
                size, STORE_MAX_VALUE);
    else if (!now && expect)
        err_set(&op->err, ERR_NOT_FOUND, "'%.*s' is gone", STR_ARG(path));
    else if (now && object_revision(now) != expect)
        err_set(&op->err, ERR_CONFLICT,
                expect ? "'%.*s' was changed by someone else" : "'%.*s' exists already",
                STR_ARG(path));
    if (op->err.code)
        return;

    if (now && !flight)
        op->before = object_ref(now);
    op->row = now ? object_row(now) : s->next_row++;
    if (flight)
        op->row = (*flight)->is_delete ? s->next_row++ : (*flight)->row;
    if (op->before && object_home(op->before)) {
        /* The row will hold the next version before anyone here knows it. */
        object_set_home(op->before, NULL, op->row);
        s->warm_bytes -= MIN(s->warm_bytes, object_rest(op->before).len);
    }
}

static void queue(struct store *s, struct object *next, uint64_t expect, bool is_delete,
                  store_done_fn *done, void *ctx)
{
    struct op *op = mem_zero(1, sizeof(*op));

    op->rack = store_rack(s, object_key(next).kind);
    op->next = object_ref(next);
    op->is_delete = is_delete;
    op->done = done;
    op->ctx = ctx;
    judge(s, op, expect);
    list_add(&s->ops, &op->link);
    s->n_ops++;
    if (op->err.code) {
        op->is_ready = true;
        store_ready_later(s);
        return;
    }
    object_set_revision(next, ++s->issued);
    *map_put(&op->rack->in_flight, object_path(next)) = op;
    op->is_sent = true;
    s->backend->send(s, op);
}

void store_put(struct store *s, struct object *next, uint64_t expect, store_done_fn *done,
               void *ctx)
{
    queue(s, next, expect, false, done, ctx);
}

void store_delete(struct store *s, struct object *last, uint64_t expect, store_done_fn *done,
                  void *ctx)
{
    queue(s, last, expect, true, done, ctx);
}

size_t store_in_flight(const struct store *s)
{
    return s->n_ops;
}

struct store_counts store_counts(const struct store *s)
{
    return (struct store_counts){.writes = s->revision - s->start, .commits = s->commits};
}

/* ---- becoming visible ---- */

/* From now on the value may be given back, unless the row is about to hold the next one. */
static void settle(struct store *s, struct op *op)
{
    struct op **flight = map_get(&op->rack->in_flight, object_path(op->next));
    struct object_home *home = flight && *flight != op ? NULL : s->home;

    object_set_home(op->next, home, op->row);
    if (home)
        store_warmed(s, op->next);
}

static void publish(struct store *s, struct op *op)
{
    struct rack *r = op->rack;
    struct object *old;

    if (op->is_delete) {
        old = index_del(r, object_path(op->next));
        object_set_home(op->next, NULL, 0);
    } else {
        old = index_put(r, object_ref(op->next));
        settle(s, op);
    }
    s->revision = object_revision(op->next);
    struct past event = {.revision = s->revision,
                         .now = object_ref(op->next),
                         .before = old,
                         .when = io_now(s->io),
                         .is_removal = op->is_delete};
    history_add(s, r, event);
    vec_each (i, &s->hooks) {
        if (s->hooks.at[i].rack == r)
            s->hooks.at[i].fn(s->hooks.at[i].ctx, op->next, op->is_delete);
    }
    if (s->tap) {
        struct store_event e = event_of(&event);
        s->tap(s->tap_ctx, &e);
    }
    watches_wake(s, r, object_path(op->next));
}

/* The map's key is borrowed from the op's object: it moves to the newest op of the path. */
static void landed(struct op *op)
{
    struct str path = object_path(op->next);
    struct op **flight = map_get(&op->rack->in_flight, path);

    if (flight && *flight == op)
        map_del(&op->rack->in_flight, path);
}

void store_ready(struct store *s)
{
    list_each (link, &s->ops) {
        struct op *op = list_item(link, struct op, link);
        if (!op->is_ready)
            break;
        uint64_t revision = op->err.code ? 0 : object_revision(op->next);
        if (revision)
            publish(s, op);
        if (op->is_sent)
            landed(op);
        list_del(&op->link);
        s->n_ops--;
        if (op->done)
            op->done(op->ctx, revision, revision ? NULL : &op->err);
        op_free(op);
    }
    store_cool(s);
}

static void kicked(void *ctx)
{
    struct store *s = ctx;

    s->is_kicked = false;
    store_ready(s);
}

void store_ready_later(struct store *s)
{
    if (!s->is_kicked)
        io_later(s->io, kicked, s);
    s->is_kicked = true;
}

void store_forget_flights(struct store *s)
{
    list_each (link, &s->ops) {
        struct op *op = list_item(link, struct op, link);
        if (!op->is_ready)
            landed(op);
    }
}

/* ---- reading ---- */

struct object *store_get(const struct store *s, const struct kind *kind, struct str path)
{
    return index_get(store_rack(s, kind), path);
}

uint64_t store_revision(const struct store *s)
{
    return s->revision;
}

size_t store_count(const struct store *s, const struct kind *kind)
{
    return store_rack(s, kind)->count;
}

void store_tap(struct store *s, store_tap_fn *tap, void *ctx)
{
    s->tap = tap;
    s->tap_ctx = ctx;
}

void store_hook(struct store *s, const struct kind *kind, store_hook_fn *hook, void *ctx)
{
    vec_push(&s->hooks, (struct hook){store_rack(s, kind), hook, ctx});
}

void store_unhook(struct store *s, void *ctx)
{
    for (size_t i = s->hooks.len; i-- > 0;) {
        if (s->hooks.at[i].ctx == ctx)
            vec_remove(&s->hooks, i);
    }
}

/* ---- the warm cache ---- */

void store_load(struct store *s, struct rack *r, struct object *o)
{
    struct object *old = index_put(r, o);

    if (old)
        object_unref(old);
    s->revision = MAX(s->revision, object_revision(o));
}

/* Versions that were replaced meanwhile have no home any more and are in nobody's books: they
 * must not wait, with their bytes, until the cache is full. */
static void sweep_replaced(struct store *s)
{
    size_t n = 0;

    for (size_t i = s->warm_first; i < s->warm.len; i++) {
        struct object *o = s->warm.at[i];
        if (object_home(o) == s->home)
            s->warm.at[n++] = o;
        else
            object_unref(o);
    }
    s->warm.len = n;
    s->warm_first = 0;
    s->warm_sweep = n + n / 4 + SWEEP_AFTER;
}

void store_warmed(struct store *s, struct object *o)
{
    if (s->warm.len >= s->warm_sweep)
        sweep_replaced(s);
    vec_push(&s->warm, object_ref(o));
    s->warm_bytes += object_rest(o).len;
}

/* Oldest first; one that was used since it came gets another round. */
void store_cool(struct store *s)
{
    for (size_t i = 0; s->warm_bytes > s->warm_limit && i < COOL_STEPS; i++) {
        if (s->warm_first == s->warm.len)
            return;
        struct object *o = s->warm.at[s->warm_first++];
        size_t given = object_home(o) == s->home ? object_cool(o) : 0;
        s->warm_bytes -= MIN(s->warm_bytes, given);
        if (object_home(o) == s->home && object_is_warm(o))
            vec_push(&s->warm, o);
        else
            object_unref(o);
    }
}

/* ---- life ---- */

void store_init(struct store *s, struct io *io, const struct store_backend *backend)
{
    s->io = io;
    s->backend = backend;
    s->next_row = 1;
    s->warm_limit = STORE_WARM_BYTES;
    s->past_limit = STORE_MAX_PAST;
    list_init(&s->ops);
    list_init(&s->woken);
}

void store_fini(struct store *s)
{
    struct err err = {0};

    io_later_cancel(s->io, kicked, s);
    err_set(&err, ERR_CANCELED, "the store was closed");
    list_each (link, &s->ops) {
        struct op *op = list_item(link, struct op, link);
        list_del(&op->link);
        if (op->done)
            op->done(op->ctx, 0, op->err.code ? &op->err : &err);
        op_free(op);
    }
    watches_fini(s);
    for (size_t i = s->warm_first; i < s->warm.len; i++)
        object_unref(s->warm.at[i]);
    vec_fini(&s->warm);
    vec_each (i, &s->racks) {
        struct rack *r = s->racks.at[i];
        assert(list_empty(&r->watches));
        history_fini(r);
        index_fini(r);
        map_fini(&r->in_flight);
        free((void *)(uintptr_t)r->name.at);
        free(r);
    }
    vec_fini(&s->racks);
    vec_fini(&s->hooks);
    vec_fini(&s->by_id);
    map_fini(&s->by_name);
}

void store_free(struct store *s)
{
    if (!s)
        return;
    s->backend->free(s);
}
