/* memory.c - the backend that forgets: puts become visible on the next turn, or as slowly as on
 * a disk whose commits take a given time
 *
 *     sent ──▶ waiting ──▶ under way, all that wait in one commit ──▶ ready
 */
#include "store/store_priv.h"

#include "io/io.h"

struct memory {
    struct store store; /* first: a store is its memory */
    struct span commit;
    struct io_timer *timer; /* set while a commit is under way; NULL: commits take no time */
    VEC(struct op *) waiting, under_way;
};

static void begin(void *ctx)
{
    struct memory *m = ctx;

    if (m->waiting.len == 0 || m->under_way.len)
        return;
    vec_each (i, &m->waiting)
        vec_push(&m->under_way, m->waiting.at[i]);
    vec_clear(&m->waiting);
    io_timer_set(m->timer, m->commit);
}

static void committed(void *ctx)
{
    struct memory *m = ctx;

    vec_each (i, &m->under_way)
        m->under_way.at[i]->is_ready = true;
    vec_clear(&m->under_way);
    store_ready_later(&m->store);
    begin(m);
}

static void send(struct store *s, struct op *op)
{
    struct memory *m = container_of(s, struct memory, store);

    if (m->timer) {
        if (m->waiting.len == 0)
            io_rest(s->io, begin, m);
        vec_push(&m->waiting, op);
        return;
    }
    op->is_ready = true;
    store_ready_later(s);
}

static void memory_free(struct store *s)
{
    struct memory *m = container_of(s, struct memory, store);

    io_later_cancel(s->io, begin, m);
    io_timer_free(m->timer);
    vec_fini(&m->waiting);
    vec_fini(&m->under_way);
    store_fini(s);
    free(m);
}

static const struct store_backend memory = {.send = send, .free = memory_free};

struct store *store_memory_new(struct io *io, struct span commit)
{
    struct memory *m = mem_zero(1, sizeof(*m));

    m->commit = commit;
    if (commit.ns > 0)
        m->timer = io_timer_new(io, committed, m);
    store_init(&m->store, io, &memory);
    return &m->store;
}
