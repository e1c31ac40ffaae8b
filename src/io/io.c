/* io.c - what both worlds share: tasks, timers, the state of a stream
 *
 * Turns: tasks queued by io_later() and timers live here; an implementation decides when time
 * moves and what the world says, and calls io_run_ready() and io_run_timers().
 */
#include "io/io_priv.h"

static bool timer_less(const struct io_timer **a, const struct io_timer **b)
{
    const struct io_timer *x = *a, *y = *b;
    return x->due != y->due ? x->due < y->due : x->rank < y->rank;
}

static void timer_moved(struct io_timer **t, size_t index)
{
    (*t)->index = index;
}

void io_init(struct io *io, const struct io_ops *ops)
{
    io->ops = ops;
    io->timers.less = timer_less;
    io->timers.moved = timer_moved;
}

void io_fini(struct io *io)
{
    vec_fini(&io->ready);
    vec_fini(&io->running);
    vec_fini(&io->resting);
    heap_fini(&io->timers);
}

void io_free(struct io *io)
{
    if (io)
        io->ops->free(io);
}

bool io_is_sim(const struct io *io)
{
    return io->ops == &io_sim_ops;
}

/* ---- turns ---- */

void io_run(struct io *io)
{
    while (!io->stopped && io->ops->turn(io, true))
        ;
    io->stopped = false;
}

bool io_turn(struct io *io)
{
    return io->ops->turn(io, false);
}

void io_stop(struct io *io)
{
    io->stopped = true;
}

void io_later(struct io *io, io_fn *fn, void *ctx)
{
    vec_push(&io->ready, (struct io_task){fn, ctx});
}

void io_rest(struct io *io, io_fn *fn, void *ctx)
{
    if (io->resting.len == 0)
        io->rested = 0;
    vec_push(&io->resting, (struct io_task){fn, ctx});
}

static void take_back(io_tasks *tasks, size_t from, io_fn *fn, void *ctx)
{
    for (size_t i = from; i < tasks->len; i++)
        if (tasks->at[i].fn == fn && tasks->at[i].ctx == ctx)
            tasks->at[i].fn = NULL;
}

void io_later_cancel(struct io *io, io_fn *fn, void *ctx)
{
    take_back(&io->running, io->running_at, fn, ctx);
    take_back(&io->ready, 0, fn, ctx);
    take_back(&io->resting, 0, fn, ctx);
}

static void end_rest(struct io *io)
{
    if (io->resting.len == 0 || (io->ready.len && ++io->rested < IO_REST_TURNS))
        return;
    vec_each (i, &io->resting)
        vec_push(&io->ready, io->resting.at[i]);
    vec_clear(&io->resting);
    io->rest_ended = true;
}

void io_run_ready(struct io *io)
{
    io_tasks batch = io->ready;

    io->ready = io->running; /* empty; its memory is used again */
    io->running = batch;
    for (io->running_at = 0; io->running_at < io->running.len;) {
        struct io_task t = io->running.at[io->running_at++];
        if (t.fn)
            t.fn(t.ctx);
    }
    vec_clear(&io->running);
    io->running_at = 0;
    end_rest(io);
}

/* ---- clock and chance ---- */

static void read_clock(const struct io *io)
{
    if (!io->clock_is_read) {
        struct io *w = (struct io *)(uintptr_t)io; /* a cache: not seen from outside */
        w->ops->read_clock(w);
        w->clock_is_read = true;
    }
}

struct instant io_now(const struct io *io)
{
    read_clock(io);
    return io->now;
}

struct span io_uptime(const struct io *io)
{
    read_clock(io);
    return io->uptime;
}

struct span io_uptime_now(struct io *io)
{
    return (struct span){io->ops->uptime_now(io)};
}

uint64_t io_random(struct io *io)
{
    uint64_t x;
    io->ops->random_bytes(io, &x, sizeof(x));
    return x;
}

void io_random_bytes(struct io *io, void *out, size_t n)
{
    io->ops->random_bytes(io, out, n);
}

/* ---- timers ---- */

struct io_timer *io_timer_new(struct io *io, io_fn *fn, void *ctx)
{
    struct io_timer *t = mem_zero(1, sizeof(*t));
    *t = (struct io_timer){.io = io, .fn = fn, .ctx = ctx, .index = IO_TIMER_OFF};
    return t;
}

void io_timer_set(struct io_timer *t, struct span after)
{
    struct io *io = t->io;

    io_timer_stop(t);
    int64_t now = io_uptime(io).ns;
    if (after.ns <= 0)
        after.ns = 1; /* not in this turn, whose clock stands still */
    if (__builtin_add_overflow(now, after.ns, &t->due))
        t->due = INT64_MAX;
    t->rank = io->ops->timer_rank(io);
    heap_push(&io->timers, t);
}

void io_timer_stop(struct io_timer *t)
{
    if (t->index == IO_TIMER_OFF)
        return;
    heap_remove(&t->io->timers, t->index);
    t->index = IO_TIMER_OFF;
}

bool io_timer_is_set(const struct io_timer *t)
{
    return t->index != IO_TIMER_OFF;
}

void io_timer_free(struct io_timer *t)
{
    if (!t)
        return;
    io_timer_stop(t);
    free(t);
}

void io_run_timers(struct io *io)
{
    if (!io->timers.len)
        return;

    int64_t now = io_uptime(io).ns;
    while (io->timers.len && io->timers.at[0]->due <= now) {
        struct io_timer *t = io->timers.at[0];
        io_timer_stop(t);
        t->fn(t->ctx);
    }
}

/* ---- streams ---- */

struct io_stream *io_connect(struct io *io, struct str address,
                             const struct io_stream_events *events, void *ctx)
{
    struct io_stream *s = io->ops->connect(io, address);
    io_stream_attach(s, events, ctx);
    return s;
}

struct io_listener *io_listen(struct io *io, struct str address, uint32_t mode,
                              io_accept_fn *accept, void *ctx, struct err *err)
{
    return io->ops->listen(io, address, mode, accept, ctx, err);
}

struct str io_listener_address(const struct io_listener *l)
{
    return str_from(l->address);
}

void io_listener_close(struct io_listener *l)
{
    if (l)
        l->io->ops->listener_close(l);
}

void io_stream_attach(struct io_stream *s, const struct io_stream_events *events, void *ctx)
{
    s->events = events;
    s->ctx = ctx;
    if (!s->is_paused && !s->is_ended)
        s->io->ops->stream_reading(s, true);
}

struct io_peer io_stream_peer(const struct io_stream *s)
{
    return s->peer;
}

static void drained_task(void *ctx)
{
    struct io_stream *s = ctx;

    s->drain_due = false;
    if (s->events && s->events->drained && !s->is_broken && !io_stream_queued(s))
        s->events->drained(s->ctx);
}

void io_stream_drained(struct io_stream *s)
{
    if (s->drain_due || !s->events || !s->events->drained)
        return;
    s->drain_due = true;
    io_later(s->io, drained_task, s);
}

void io_stream_end_now(struct io_stream *s, const struct err *err)
{
    if (s->is_ended)
        return;
    s->is_ended = true;
    if (err)
        s->is_broken = true;
    if (s->events && s->events->end)
        s->events->end(s->ctx, err);
}

static void end_task(void *ctx)
{
    struct io_stream *s = ctx;
    scoped(free_ptr) struct err *why = s->why;

    s->end_due = false;
    s->why = NULL;
    s->is_ended = false;
    io_stream_end_now(s, why);
}

void io_stream_fail(struct io_stream *s, const struct err *err)
{
    if (err)
        s->is_broken = true;
    if (s->is_ended)
        return;
    s->is_ended = true;
    s->end_due = true;
    if (err) {
        s->why = mem_alloc(sizeof(*err));
        *s->why = *err;
    }
    s->io->ops->stream_reading(s, false);
    io_later(s->io, end_task, s);
}

/* Is there room for n more bytes? Breaks the stream where there is none. */
static bool has_room(struct io_stream *s, size_t n)
{
    struct err err;

    if (s->is_broken || s->is_shut || !n)
        return false;
    if (n <= IO_MAX_QUEUED && io_stream_queued(s) <= IO_MAX_QUEUED - n)
        return true;
    err_set(&err, ERR_LIMIT, "more than %zu bytes wait for '%s' to read them", IO_MAX_QUEUED,
            s->peer.address);
    io_stream_fail(s, &err);
    return false;
}

void io_stream_write(struct io_stream *s, struct str bytes)
{
    if (!has_room(s, bytes.len))
        return;

    size_t n = s->io->ops->stream_try(s, bytes);
    if (n == bytes.len)
        return;
    struct buf rest = {0};
    buf_add(&rest, str_slice(bytes, n, bytes.len));
    s->io->ops->stream_write(s, &rest, 0);
}

void io_stream_write_buf(struct io_stream *s, struct buf *b)
{
    assert(!b->arena);
    if (has_room(s, b->len)) {
        size_t n = s->io->ops->stream_try(s, buf_str(b));
        if (n < b->len) {
            s->io->ops->stream_write(s, b, n);
            *b = (struct buf){0};
            return;
        }
    }
    buf_fini(b);
    *b = (struct buf){0};
}

size_t io_stream_queued(const struct io_stream *s)
{
    return s->io->ops->stream_queued(s);
}

void io_stream_pause(struct io_stream *s)
{
    if (s->is_paused)
        return;
    s->is_paused = true;
    s->io->ops->stream_reading(s, false);
}

void io_stream_resume(struct io_stream *s)
{
    if (!s->is_paused)
        return;
    s->is_paused = false;
    if (s->events && !s->is_ended)
        s->io->ops->stream_reading(s, true);
}

void io_stream_shutdown(struct io_stream *s)
{
    if (s->is_shut || s->is_broken)
        return;
    s->is_shut = true;
    s->io->ops->stream_shutdown(s);
}

void io_stream_fini(struct io_stream *s)
{
    if (s->drain_due)
        io_later_cancel(s->io, drained_task, s);
    if (s->end_due)
        io_later_cancel(s->io, end_task, s);
    s->drain_due = s->end_due = false;
    s->is_ended = s->is_broken = true;
    s->events = NULL;
    free(s->why);
    s->why = NULL;
}

void io_stream_close(struct io_stream *s, bool flush)
{
    io_stream_fini(s);
    s->io->ops->stream_close(s, flush);
}

/* ---- work, wake-ups, descriptors, signals ---- */

void io_work(struct io *io, io_fn *work, io_fn *done, void *ctx)
{
    io->ops->work(io, work, done, ctx);
}

struct io_wake *io_wake_new(struct io *io, io_fn *fn, void *ctx)
{
    struct io_wake *w = io->ops->wake_new(io);
    *w = (struct io_wake){io, fn, ctx};
    return w;
}

void io_wake_send(struct io_wake *w)
{
    w->io->ops->wake_send(w);
}

void io_wake_free(struct io_wake *w)
{
    if (w)
        w->io->ops->wake_free(w);
}

struct io_poll *io_poll_new(struct io *io, int fd, io_fn *fn, void *ctx, struct err *err)
{
    struct io_poll *p = io->ops->poll_new(io, fd, err);
    if (p)
        *p = (struct io_poll){io, fn, ctx};
    return p;
}

void io_poll_free(struct io_poll *p)
{
    if (p)
        p->io->ops->poll_free(p);
}

struct io_signal *io_signal_new(struct io *io, int signum, io_fn *fn, void *ctx)
{
    struct io_signal *s = io->ops->signal_new(io, signum);
    *s = (struct io_signal){io, fn, ctx};
    return s;
}

void io_signal_free(struct io_signal *s)
{
    if (s)
        s->io->ops->signal_free(s);
}
