/* sim.c - the simulated world: time jumps, one seed chooses
 *
 * A turn runs what is ready; only when nothing is does the clock jump to the next timer. The
 * seed decides the order of ready tasks of different ctx, of timers due at one moment, whether
 * timers or tasks go first, how streams are cut and when they break. Nothing here depends on an
 * address or on the real clock, so one seed gives one history.
 */
#include "io/sim_priv.h"

static void sim_read_clock(struct io *io)
{
    (void)io; /* it moves by jumps only */
}

static int64_t sim_uptime_now(struct io *io)
{
    return io->uptime.ns;
}

static void sim_random_bytes(struct io *io, void *out, size_t n)
{
    struct sim *s = (struct sim *)io;
    char *at = out;

    while (n) {
        uint64_t x = random_next(&s->random);
        size_t take = MIN(n, sizeof(x));
        memcpy(at, &x, take);
        at += take;
        n -= take;
    }
}

static uint64_t sim_timer_rank(struct io *io)
{
    return random_next(&((struct sim *)io)->random);
}

/* ---- turns ---- */

/* Lets neighbours of different ctx pass each other, one sweep each way: those of one ctx keep
 * their order whatever is chosen. */
static void shuffle(struct sim *s, io_tasks *tasks)
{
    if (tasks->len < 2)
        return;
    uint64_t odds = random_below(&s->random, 3); /* of 4: a calm, a mixed or a wild turn */
    if (odds == 0)
        return;
    odds = odds == 1 ? 2 : 3;
    for (size_t i = 0; i + 1 < tasks->len; i++) {
        struct io_task *a = &tasks->at[i], *b = a + 1, t = *a;
        if (a->ctx != b->ctx && random_below(&s->random, 4) < odds) {
            *a = *b;
            *b = t;
        }
    }
    for (size_t i = tasks->len - 1; i > 0; i--) {
        struct io_task *b = &tasks->at[i], *a = b - 1, t = *a;
        if (a->ctx != b->ctx && random_below(&s->random, 4) < odds) {
            *a = *b;
            *b = t;
        }
    }
}

static void jump(struct io *io, int64_t uptime)
{
    io->now = instant_add(io->now, (struct span){uptime - io->uptime.ns});
    io->uptime.ns = uptime;
}

static bool sim_turn(struct io *io, bool wait)
{
    struct sim *s = (struct sim *)io;

    if (io->ready.len || io->resting.len) {
        shuffle(s, &io->ready);
        bool timers_first = random_next(&s->random) & 1;
        if (timers_first)
            io_run_timers(io);
        io_run_ready(io);
        if (!timers_first)
            io_run_timers(io);
        return wait || io->ready.len || io->timers.len;
    }
    if (!io->timers.len)
        return false;
    int64_t due = io->timers.at[0]->due;
    if (due > s->until)
        return false;
    if (!wait && due > io->uptime.ns + 1)
        return true;
    if (due > io->uptime.ns)
        jump(io, due);
    io_run_timers(io);
    return wait || io->ready.len || io->timers.len;
}

void io_run_until(struct io *io, struct instant until)
{
    assert(io_is_sim(io));
    struct sim *s = (struct sim *)io;
    struct span left = instant_sub(until, io->now);

    s->until = io->uptime.ns + MAX(left.ns, (int64_t)0);
    while (!io->stopped && sim_turn(io, true))
        ;
    if (!io->stopped)
        jump(io, s->until);
    io->stopped = false;
    s->until = INT64_MAX;
}

void io_sim_set_faults(struct io *io, struct io_sim_faults faults)
{
    assert(io_is_sim(io));
    ((struct sim *)io)->faults = faults;
}

void io_sim_set_clock(struct io *io, struct instant now)
{
    assert(io_is_sim(io));
    io->now = now;
}

static void sim_free(struct io *io)
{
    io_fini(io);
    free(io);
}

/* ---- work, wake-ups, descriptors, signals ---- */

struct sim_job {
    struct io *io;
    io_fn *work, *done;
    void *ctx;
};

static void job_done(void *ctx)
{
    struct sim_job *j = ctx;

    j->done(j->ctx);
    free(j);
}

static void job_work(void *ctx)
{
    struct sim_job *j = ctx;

    j->work(j->ctx);
    io_later(j->io, job_done, j);
}

static void sim_work(struct io *io, io_fn *work, io_fn *done, void *ctx)
{
    struct sim_job *j = mem_zero(1, sizeof(*j));

    *j = (struct sim_job){io, work, done, ctx};
    io_later(io, job_work, j);
}

static struct io_wake *sim_wake_new(struct io *io)
{
    (void)io;
    return mem_zero(1, sizeof(struct io_wake));
}

static void sim_wake_came(void *ctx)
{
    struct io_wake *w = ctx;
    w->fn(w->ctx);
}

static void sim_wake_send(struct io_wake *w)
{
    io_later_cancel(w->io, sim_wake_came, w); /* several sends may become one call */
    io_later(w->io, sim_wake_came, w);
}

static void sim_wake_free(struct io_wake *w)
{
    io_later_cancel(w->io, sim_wake_came, w);
    free(w);
}

static struct io_poll *sim_poll_new(struct io *io, int fd, struct err *err)
{
    (void)io;
    err_set(err, ERR_UNSUPPORTED, "descriptor %d cannot be watched in a simulation", fd);
    return NULL;
}

static void sim_poll_free(struct io_poll *p)
{
    free(p);
}

static struct io_signal *sim_signal_new(struct io *io, int signum)
{
    (void)io;
    (void)signum; /* nobody sends signals there */
    return mem_zero(1, sizeof(struct io_signal));
}

static void sim_signal_free(struct io_signal *s)
{
    free(s);
}

const struct io_ops io_sim_ops = {
    .free = sim_free,
    .turn = sim_turn,
    .read_clock = sim_read_clock,
    .uptime_now = sim_uptime_now,
    .random_bytes = sim_random_bytes,
    .timer_rank = sim_timer_rank,
    .connect = sim_connect,
    .listen = sim_listen,
    .listener_close = sim_listener_close,
    .stream_reading = sim_stream_reading,
    .stream_write = sim_stream_write,
    .stream_try = sim_stream_try,
    .stream_queued = sim_stream_queued,
    .stream_shutdown = sim_stream_shutdown,
    .stream_close = sim_stream_close,
    .work = sim_work,
    .wake_new = sim_wake_new,
    .wake_send = sim_wake_send,
    .wake_free = sim_wake_free,
    .poll_new = sim_poll_new,
    .poll_free = sim_poll_free,
    .signal_new = sim_signal_new,
    .signal_free = sim_signal_free,
};

struct io *io_sim_new(uint64_t seed, struct instant start)
{
    struct sim *s = mem_zero(1, sizeof(*s));

    io_init(&s->io, &io_sim_ops);
    s->random = random_seeded(seed);
    s->io.now = start;
    s->until = INT64_MAX;
    s->next_port = SIM_FIRST_PORT;
    list_init(&s->listeners);
    return &s->io;
}
