/* real.c - the real world on libuv: loop, clock, chance, pool, wake-ups, descriptors, signals
 *
 * libuv's own timers are not used but for one alarm, set to our first timer before the loop
 * waits: with no timer set and nothing ready the process sleeps until the kernel has news.
 */
#include <errno.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include "io/real_priv.h"

#define TURNS_UNPOLLED 4 /* in a row, where tasks bring tasks */

static void before_poll(uv_prepare_t *h)
{
    struct real *r = h->data;
    io_clock_stale(&r->io);
}

static void alarm_rang(uv_timer_t *h)
{
    (void)h; /* the turn after the poll finds what is due */
}

/* ---- clock and chance ---- */

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

static void real_read_clock(struct io *io)
{
    io->now.ns = clock_ns(CLOCK_REALTIME);
    io->uptime.ns = clock_ns(CLOCK_MONOTONIC);
}

static int64_t real_uptime_now(struct io *io)
{
    (void)io;
    return clock_ns(CLOCK_MONOTONIC);
}

static void kernel_random(uint8_t *out, size_t n)
{
    while (n) {
        ssize_t got = getrandom(out, n, 0);
        if (got < 0 && errno != EINTR)
            die("the kernel gives no random bytes: %s", strerror(errno));
        if (got > 0) {
            out += got;
            n -= (size_t)got;
        }
    }
}

static void real_random_bytes(struct io *io, void *out, size_t n)
{
    struct real *r = (struct real *)io;

    if (n > sizeof(r->pool)) {
        kernel_random(out, n);
        return;
    }
    if (r->pool_left < n) {
        kernel_random(r->pool, sizeof(r->pool));
        r->pool_left = sizeof(r->pool);
    }
    r->pool_left -= n;
    memcpy(out, r->pool + r->pool_left, n);
    memset(r->pool + r->pool_left, 0, n); /* given out once */
}

static uint64_t real_timer_rank(struct io *io)
{
    static uint64_t n; /* timers due at one moment run in the order of setting */
    (void)io;
    return n++;
}

/* ---- turns ---- */

/* Sets the alarm to the first timer; false where it is due already. */
static bool arm(struct real *r)
{
    int64_t due, now;

    if (!r->io.timers.len)
        return true;
    due = r->io.timers.at[0]->due;
    now = clock_ns(CLOCK_MONOTONIC);
    if (due <= now)
        return false;
    /* libuv counts whole milliseconds of the same clock: the first that is not before `due`. */
    uint64_t due_ms = (uint64_t)due / 1000000 + ((uint64_t)due % 1000000 != 0);
    uv_update_time(&r->loop);
    uint64_t now_ms = uv_now(&r->loop);
    uv_timer_start(&r->alarm, alarm_rang, due_ms > now_ms ? due_ms - now_ms : 0, 0);
    return true;
}

/* Tasks that follow from tasks: the world is not asked before each of them. */
static bool goes_on(struct real *r)
{
    if (r->io.ready.len && !r->io.rest_ended && ++r->unpolled < TURNS_UNPOLLED)
        return true;
    r->unpolled = 0;
    r->io.rest_ended = false;
    return false;
}

static bool real_turn(struct io *io, bool wait)
{
    struct real *r = (struct real *)io;

    io_clock_stale(io);
    io_run_timers(io);
    io_run_ready(io);
    if (io->stopped || goes_on(r))
        return true;
    bool alive = uv_loop_alive(&r->loop);
    if (!io->ready.len && !io->timers.len && !alive)
        return false;
    if (wait && !io->ready.len && arm(r)) {
        uv_run(&r->loop, UV_RUN_ONCE);
        uv_timer_stop(&r->alarm);
    } else if (alive) {
        uv_run(&r->loop, UV_RUN_NOWAIT);
    }
    return true;
}

static void end_flush(uv_handle_t *h, void *ctx)
{
    (void)ctx;
    real_end_flush(h);
}

static void real_free(struct io *io)
{
    struct real *r = (struct real *)io;

    uv_run(&r->loop, UV_RUN_NOWAIT); /* the last chance of streams that flush */
    uv_walk(&r->loop, end_flush, NULL);
    uv_close((uv_handle_t *)&r->alarm, NULL);
    uv_close((uv_handle_t *)&r->before_poll, NULL);
    uv_run(&r->loop, UV_RUN_NOWAIT);
    int rc = uv_loop_close(&r->loop);
    assert(rc == 0); /* everything made with it was freed or closed */
    io_fini(io);
    free(r);
}

/* ---- the pool ---- */

struct job {
    uv_work_t req;
    io_fn *work, *done;
    void *ctx;
};

static void job_work(uv_work_t *req)
{
    struct job *j = (struct job *)req;
    j->work(j->ctx);
}

static void job_done(uv_work_t *req, int status)
{
    struct job *j = (struct job *)req;

    (void)status;
    j->done(j->ctx);
    free(j);
}

static void real_work(struct io *io, io_fn *work, io_fn *done, void *ctx)
{
    struct real *r = (struct real *)io;
    struct job *j = mem_zero(1, sizeof(*j));

    *j = (struct job){.work = work, .done = done, .ctx = ctx};
    int rc = uv_queue_work(&r->loop, &j->req, job_work, job_done);
    assert(rc == 0);
}

/* ---- wake-ups, descriptors, signals ---- */

struct real_wake {
    struct io_wake wake; /* first */
    uv_async_t async;
};

struct real_poll {
    struct io_poll poll; /* first */
    uv_poll_t uv;
};

struct real_signal {
    struct io_signal signal; /* first */
    uv_signal_t uv;
};

static void free_handle_data(uv_handle_t *h)
{
    free(h->data);
}

static void wake_came(uv_async_t *h)
{
    struct real_wake *w = h->data;
    w->wake.fn(w->wake.ctx);
}

static struct io_wake *real_wake_new(struct io *io)
{
    struct real *r = (struct real *)io;
    struct real_wake *w = mem_zero(1, sizeof(*w));

    int rc = uv_async_init(&r->loop, &w->async, wake_came);
    if (rc)
        die("cannot make a wake-up: %s", uv_strerror(rc));
    w->async.data = w;
    return &w->wake;
}

static void real_wake_send(struct io_wake *wake)
{
    struct real_wake *w = (struct real_wake *)wake;
    uv_async_send(&w->async);
}

static void real_wake_free(struct io_wake *wake)
{
    struct real_wake *w = (struct real_wake *)wake;
    uv_close((uv_handle_t *)&w->async, free_handle_data);
}

static void poll_came(uv_poll_t *h, int status, int events)
{
    struct real_poll *p = h->data;

    (void)status; /* an error is something to read, too */
    (void)events;
    p->poll.fn(p->poll.ctx);
}

static struct io_poll *real_poll_new(struct io *io, int fd, struct err *err)
{
    struct real *r = (struct real *)io;
    struct real_poll *p = mem_zero(1, sizeof(*p));

    int rc = uv_poll_init(&r->loop, &p->uv, fd);
    if (rc) {
        free(p);
        err_set(err, ERR_IO, "cannot watch descriptor %d: %s", fd, uv_strerror(rc));
        return NULL;
    }
    p->uv.data = p;
    rc = uv_poll_start(&p->uv, UV_READABLE, poll_came);
    assert(rc == 0);
    return &p->poll;
}

static void real_poll_free(struct io_poll *poll)
{
    struct real_poll *p = (struct real_poll *)poll;
    uv_close((uv_handle_t *)&p->uv, free_handle_data);
}

static void signal_came(uv_signal_t *h, int signum)
{
    struct real_signal *s = h->data;

    (void)signum;
    s->signal.fn(s->signal.ctx);
}

static struct io_signal *real_signal_new(struct io *io, int signum)
{
    struct real *r = (struct real *)io;
    struct real_signal *s = mem_zero(1, sizeof(*s));

    uv_signal_init(&r->loop, &s->uv);
    s->uv.data = s;
    int rc = uv_signal_start(&s->uv, signal_came, signum);
    if (rc)
        die("cannot watch signal %d: %s", signum, uv_strerror(rc));
    return &s->signal;
}

static void real_signal_free(struct io_signal *sig)
{
    struct real_signal *s = (struct real_signal *)sig;
    uv_close((uv_handle_t *)&s->uv, free_handle_data);
}

static const struct io_ops real_ops = {
    .free = real_free,
    .turn = real_turn,
    .read_clock = real_read_clock,
    .uptime_now = real_uptime_now,
    .random_bytes = real_random_bytes,
    .timer_rank = real_timer_rank,
    .connect = real_connect,
    .listen = real_listen,
    .listener_close = real_listener_close,
    .stream_reading = real_stream_reading,
    .stream_write = real_stream_write,
    .stream_try = real_stream_try,
    .stream_queued = real_stream_queued,
    .stream_shutdown = real_stream_shutdown,
    .stream_close = real_stream_close,
    .work = real_work,
    .wake_new = real_wake_new,
    .wake_send = real_wake_send,
    .wake_free = real_wake_free,
    .poll_new = real_poll_new,
    .poll_free = real_poll_free,
    .signal_new = real_signal_new,
    .signal_free = real_signal_free,
};

struct io *io_real_new(struct err *err)
{
    struct real *r = mem_zero(1, sizeof(*r));

    io_init(&r->io, &real_ops);
    int rc = uv_loop_init(&r->loop);
    if (rc) {
        free(r);
        err_set(err, ERR_IO, "cannot start the event loop: %s", uv_strerror(rc));
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN); /* a broken stream is an error of that stream */
    uv_timer_init(&r->loop, &r->alarm);
    uv_prepare_init(&r->loop, &r->before_poll);
    r->before_poll.data = r;
    uv_prepare_start(&r->before_poll, before_poll);
    uv_unref((uv_handle_t *)&r->before_poll);
    return &r->io;
}
