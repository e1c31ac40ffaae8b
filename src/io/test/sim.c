/* sim.c - what only a simulated world promises: jumps, one seed one history, faults */
#include "base/testing.h"
#include "io/io.h"

struct actor {
    struct world *w;
    char name;
    struct io_timer *timer;
    struct io_stream *s;
    int left;
};

struct world {
    struct io *io;
    struct buf trace;
    struct actor actors[4];
    struct io_stream *accepted[4];
    size_t n_accepted;
};

static void act(void *ctx)
{
    struct actor *x = ctx;
    buf_printf(&x->w->trace, "%c%" PRIi64 " ", x->name, io_uptime(x->w->io).ns / 1000000);
    if (x->left-- > 0) {
        io_timer_set(x->timer, span_ms((int64_t)(io_random(x->w->io) % 3)));
        io_later(x->w->io, act, x);
        if (x->s)
            io_stream_write(x->s, S("0123456789"));
    }
}

static void came(void *ctx, struct str bytes)
{
    struct world *w = ctx;
    buf_printf(&w->trace, "[%zu] ", bytes.len);
}
static void ended(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    buf_printf(&w->trace, err ? "broke " : "end ");
}
static const struct io_stream_events events = {came, ended, NULL};

static void accepted(void *ctx, struct io_stream *s)
{
    struct world *w = ctx;
    w->accepted[w->n_accepted++] = s;
    io_stream_attach(s, &events, w);
}

/* A small crowd that writes, waits and calls later; its trace. */
static struct str history(struct arena *a, uint64_t seed, struct io_sim_faults faults)
{
    struct world w = {.io = io_sim_new(seed, (struct instant){SECOND_NS})};
    struct io_listener *l = io_listen(w.io, S("sim:server"), 0, accepted, &w, NULL);

    io_sim_set_faults(w.io, faults);
    for (size_t i = 0; i < countof(w.actors); i++) {
        struct actor *x = &w.actors[i];
        *x = (struct actor){&w, (char)('a' + i), io_timer_new(w.io, act, x), NULL, 12};
        x->s = io_connect(w.io, S("sim:server"), &events, &w);
        io_timer_set(x->timer, span_ms(1));
    }
    io_run(w.io);
    for (size_t i = 0; i < countof(w.actors); i++) {
        io_timer_free(w.actors[i].timer);
        io_stream_close(w.actors[i].s, false);
    }
    for (size_t i = 0; i < w.n_accepted; i++)
        io_stream_close(w.accepted[i], false);
    io_listener_close(l);
    struct str got = str_copy(a, buf_str(&w.trace));
    buf_fini(&w.trace);
    io_free(w.io);
    return got;
}

TEST(sim_one_seed_one_history)
{
    static const struct {
        const char *name;
        struct io_sim_faults faults;
    } cases[] = {
        {"no faults",      {0}                     },
        {"late bytes",     {.max_delay = {2000000}}},
        {"broken streams", {.break_one_in = 5}     },
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct str one = history(&a, 1, cases[i].faults);
        check(one.len > 100);
        check_same(history(&a, 1, cases[i].faults), one);
        check(!str_eq(history(&a, 2, cases[i].faults), one));
    }
    check(str_has(history(&a, 1, cases[2].faults), S("broke")));
    check(!str_has(history(&a, 1, cases[0].faults), S("broke")));
}

static void count(void *ctx)
{
    (*(int *)ctx)++;
}

TEST(sim_time_jumps)
{
    struct io *io = io_sim_new(1, (struct instant){5 * SECOND_NS});
    int fired = 0;
    struct io_timer *t = io_timer_new(io, count, &fired);

    io_timer_set(t, span_s(86400));
    check_int(io_now(io).ns, 5 * SECOND_NS);
    io_run_until(io, (struct instant){10 * SECOND_NS});
    check_int(io_now(io).ns, 10 * SECOND_NS);
    check_int(io_uptime(io).ns, 5 * SECOND_NS);
    check_int(fired, 0);
    io_run(io);
    check_int(fired, 1);
    check_int(io_now(io).ns, 86405 * SECOND_NS);
    io_timer_free(t);
    io_free(io);
}

struct step {
    struct buf *out;
    const char *name;
};
static void step(void *ctx)
{
    struct step *s = ctx;
    buf_printf(s->out, "%s", s->name);
}

TEST(sim_order_is_chosen)
{
    bool seen_ab = false, seen_ba = false;

    for (uint64_t seed = 0; seed < 64; seed++) {
        struct io *io = io_sim_new(seed, (struct instant){1});
        struct buf out = {0};
        struct step a = {&out, "a"}, b = {&out, "b"};
        io_later(io, step, &a);
        io_later(io, step, &b);
        io_run(io);
        seen_ab |= str_eq(buf_str(&out), S("ab"));
        seen_ba |= str_eq(buf_str(&out), S("ba"));
        buf_fini(&out);
        io_free(io);
    }
    check(seen_ab);
    check(seen_ba);
}

TEST(sim_has_no_descriptors)
{
    struct io *io = io_sim_new(1, (struct instant){1});
    struct err err;

    check(!io_poll_new(io, 0, count, NULL, &err));
    check_err(&err, ERR_UNSUPPORTED, "cannot be watched in a simulation");
    io_signal_free(io_signal_new(io, 15, count, NULL));
    io_free(io);
}
