/* io.c - what holds in the real and in the simulated world alike
 *
 * Each row runs in both. A struct world is the one thing callbacks write to: its log tells what
 * happened in which order.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"
#include "io/io.h"

struct world {
    struct io *io;
    struct buf log;
    int n;
};

/* Something to call back with: a name and its world. */
struct who {
    struct world *w;
    const char *name;
    struct io_timer *timer;
};

static void note(void *ctx)
{
    struct who *who = ctx;
    buf_printf(&who->w->log, "%s ", who->name);
}

static void in_both(void (*fn)(struct world *))
{
    struct err err;

    for (int sim = 0; sim < 2; sim++) {
        struct world w = {0};
        test_case(sim ? "simulated" : "real");
        w.io = sim ? io_sim_new(7, (struct instant){SECOND_NS}) : io_real_new(&err);
        check_int(io_is_sim(w.io), sim);
        fn(&w);
        io_free(w.io);
        buf_fini(&w.log);
    }
}

static void check_log(struct world *w, const char *want)
{
    check_samez(str_trim(buf_str(&w->log)), want);
    buf_clear(&w->log);
}

/* ---- turns and timers ---- */

static void note_1(void *ctx)
{
    struct who *who = ctx;
    buf_printf(&who->w->log, "%s1 ", who->name);
}
static void note_2(void *ctx)
{
    struct who *who = ctx;
    buf_printf(&who->w->log, "%s2 ", who->name);
}

static void laters(struct world *w)
{
    struct who a = {w, "a", NULL}, b = {w, "b", NULL};

    for (int i = 0; i < 3; i++)
        io_later(w->io, note, &a);
    check_log(w, "");
    io_later(w->io, note, &b);
    io_later_cancel(w->io, note, &b);
    io_run(w->io);
    check_log(w, "a a a");

    /* Those of one ctx keep their order. */
    for (int i = 0; i < 20; i++) {
        io_later(w->io, note_1, &a);
        io_later(w->io, note_2, &a);
        io_run(w->io);
        check_log(w, "a1 a2");
    }
}
TEST(io_later)
{
    in_both(laters);
}

/* A task that brings the next one, so that something is ready for n turns. */
static void note_and_go_on(void *ctx)
{
    struct who *who = ctx;

    note(ctx);
    if (--who->w->n > 0)
        io_later(who->w->io, note_and_go_on, who);
}

static void rests(struct world *w)
{
    struct who a = {w, "a", NULL}, r = {w, "r", NULL};

    w->n = 2;
    io_rest(w->io, note, &r);
    io_later(w->io, note_and_go_on, &a);
    io_run(w->io);
    check_log(w, "a a r");

    /* It is not kept waiting for ever: with the fourth turn it is ready. */
    w->n = 10;
    io_rest(w->io, note, &r);
    io_later(w->io, note_and_go_on, &a);
    io_run(w->io);
    struct str log = str_trim(buf_str(&w->log));
    check(str_starts(log, S("a a a a ")) && !str_ends(log, S("r")) && str_has(log, S("r")));
    buf_clear(&w->log);

    io_rest(w->io, note, &r);
    io_later_cancel(w->io, note, &r);
    io_run(w->io);
    check_log(w, "");
}

TEST(io_rest)
{
    in_both(rests);
}

static void set_again(void *ctx)
{
    struct who *who = ctx;
    note(ctx);
    if (++who->w->n < 3) {
        io_timer_set(who->timer, span_ms(0)); /* not in this turn: the other call comes first */
        io_later(who->w->io, note_1, who);
    }
}

static void timers(struct world *w)
{
    struct who slow = {w, "slow", NULL}, quick = {w, "quick", NULL}, off = {w, "off", NULL},
               again = {w, "again", NULL};
    struct io_timer *t1 = io_timer_new(w->io, note, &slow);
    struct io_timer *t2 = io_timer_new(w->io, note, &quick);
    struct io_timer *t3 = io_timer_new(w->io, note, &off);

    again.timer = io_timer_new(w->io, set_again, &again);
    struct span start = io_uptime(w->io);
    io_timer_set(t2, span_s(100));
    io_timer_set(t1, span_ms(20));
    io_timer_set(t2, span_ms(5)); /* replaces */
    io_timer_set(t3, span_ms(1));
    io_timer_stop(t3);
    check(io_timer_is_set(t1));
    check(!io_timer_is_set(t3));
    io_timer_set(again.timer, span_ms(-5));
    io_run(w->io);
    check_log(w, "again again1 again again1 again quick slow");
    check(!io_timer_is_set(t1));
    check(io_uptime_now(w->io).ns - start.ns >= span_ms(20).ns);
    io_timer_free(t1);
    io_timer_free(t2);
    io_timer_free(t3);
    io_timer_free(again.timer);
    io_timer_free(NULL);
}
TEST(io_timer)
{
    in_both(timers);
}

static void stop(void *ctx)
{
    struct who *who = ctx;
    io_stop(who->w->io);
}

static void stops(struct world *w)
{
    struct who who = {w, "late", NULL};
    struct io_timer *late = io_timer_new(w->io, note, &who);

    io_timer_set(late, span_s(3600));
    io_later(w->io, stop, &who);
    io_run(w->io);
    check_log(w, "");
    check(io_turn(w->io)); /* the timer is left */
    io_timer_free(late);
    check(!io_turn(w->io));
    io_run(w->io); /* nothing can happen: it returns */
}
TEST(io_stop)
{
    in_both(stops);
}

static void chance(struct world *w)
{
    uint8_t bytes[1000] = {0};
    int zeros = 0;

    check(io_random(w->io) != io_random(w->io));
    io_random_bytes(w->io, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        zeros += bytes[i] == 0;
    check(zeros < 30);
    check(instant_is_set(io_now(w->io)));
}
TEST(io_random)
{
    in_both(chance);
}

/* ---- work and wake-ups ---- */

static void work(void *ctx)
{
    struct who *who = ctx;
    who->w->n = 42;
}
static void work_done(void *ctx)
{
    struct who *who = ctx;
    buf_printf(&who->w->log, "%d", who->w->n);
}
static void works(struct world *w)
{
    struct who who = {w, "work", NULL};

    io_work(w->io, work, work_done, &who);
    check_int(w->n, 0 /* not before a later turn, or on the pool */ + w->n);
    io_run(w->io);
    check_log(w, "42");
}
TEST(io_work)
{
    in_both(works);
}

static void note_and_stop(void *ctx)
{
    note(ctx);
    stop(ctx);
}
static void wakes(struct world *w)
{
    struct who who = {w, "woken", NULL};
    struct io_wake *wake = io_wake_new(w->io, note_and_stop, &who);

    io_wake_send(wake);
    io_wake_send(wake);
    io_run(w->io);
    check_log(w, "woken");
    io_wake_free(wake);
    io_wake_free(NULL);
}
TEST(io_wake)
{
    in_both(wakes);
}

/* Tasks that bring tasks do not keep the world out. */
static void busy_wakes(struct world *w)
{
    struct who who = {w, "woken", NULL}, a = {w, "a", NULL}, r = {w, "r", NULL};
    struct io_wake *wake = io_wake_new(w->io, note_and_stop, &who);

    w->n = 1000;
    io_later(w->io, note_and_go_on, &a);
    io_wake_send(wake);
    io_run(w->io);
    check(w->n > 900);
    w->n = 0;
    io_turn(w->io);
    buf_clear(&w->log);

    /* What rests lets it go first. */
    io_rest(w->io, note, &r);
    io_wake_send(wake);
    io_turn(w->io);
    io_turn(w->io);
    if (!io_is_sim(w->io))
        check_log(w, "woken r");
    io_wake_free(wake);
}
TEST(io_wake_of_a_busy_loop)
{
    in_both(busy_wakes);
}

/* ---- streams ---- */

struct end {
    struct world *w;
    const char *name;
    struct io_stream *s;
    struct buf got;
    size_t want; /* bytes until it stops the loop */
    bool echo, ended, failed;
    int drained;
    struct err err;
};

static void end_data(void *ctx, struct str bytes)
{
    struct end *e = ctx;
    buf_add(&e->got, bytes);
    if (e->echo)
        io_stream_write(e->s, bytes);
    if (e->want && e->got.len >= e->want)
        io_stop(e->w->io);
}
static void end_end(void *ctx, const struct err *err)
{
    struct end *e = ctx;
    check(!e->ended);
    e->ended = true;
    e->failed = err != NULL;
    if (err)
        e->err = *err;
    io_stop(e->w->io);
}
static void end_drained(void *ctx)
{
    struct end *e = ctx;
    e->drained++;
    check_int(io_stream_queued(e->s), 0);
}
static const struct io_stream_events end_events = {end_data, end_end, end_drained};

static void accept_end(void *ctx, struct io_stream *s)
{
    struct end *e = ctx;
    if (e->s) /* the newest counts: io_listen() tries whether a socket file is stale */
        io_stream_close(e->s, false);
    e->s = s;
    io_stream_attach(s, &end_events, e);
    if (e->name)
        io_stop(e->w->io);
}

static struct io_listener *listen_at(struct world *w, const char *address, struct end *server)
{
    struct err err;
    struct io_listener *l = io_listen(w->io, str_from(address), 0600, accept_end, server, &err);
    check(l != NULL);
    return l;
}

static void end_fini(struct end *e)
{
    if (e->s)
        io_stream_close(e->s, false);
    buf_fini(&e->got);
}

#define BIG ((size_t)3 << 20)

static void echoes(struct world *w, const char *address)
{
    struct end server = {.w = w, .echo = true}, client = {.w = w, .want = BIG};
    struct io_listener *l = listen_at(w, address, &server);
    struct buf big = {0};

    for (size_t i = 0; i < BIG; i++)
        buf_byte(&big, (char)(i * 31 >> 3));
    client.s = io_connect(w->io, io_listener_address(l), &end_events, &client);
    io_stream_write(client.s, str_slice(buf_str(&big), 0, 10)); /* before it is connected */
    struct buf rest = {0};
    buf_add(&rest, str_slice(buf_str(&big), 10, BIG));
    io_stream_write_buf(client.s, &rest);
    check_int(rest.len, 0);
    check(io_stream_queued(client.s) > 0);
    io_run(w->io);
    check(str_eq(buf_str(&client.got), buf_str(&big)));
    check(client.drained > 0);
    check(!server.ended);

    /* The client's end comes after its bytes; the server can still answer. */
    client.want = BIG + 3;
    buf_clear(&server.got);
    io_stream_write(client.s, S("end"));
    io_stream_shutdown(client.s);
    while (!server.ended || client.got.len < client.want)
        io_run(w->io);
    check_samez(buf_str(&server.got), "end");
    check(!server.failed);
    io_stream_close(server.s, true);
    server.s = NULL;
    while (!client.ended)
        io_run(w->io);
    check(!client.failed);

    end_fini(&client);
    end_fini(&server);
    buf_fini(&big);
    io_listener_close(l);
}
static void echoes_tcp(struct world *w)
{
    echoes(w, "127.0.0.1:0");
}
static void echoes_unix(struct world *w)
{
    char dir[] = "/tmp/berth-io-XXXXXX", address[64];

    check(mkdtemp(dir) != NULL);
    snprintf(address, sizeof(address), "unix:%s/sock", dir);
    echoes(w, address);
    check_int(rmdir(dir), 0); /* the listener took its file with it */
}
TEST(io_stream_tcp)
{
    in_both(echoes_tcp);
}
TEST(io_stream_unix)
{
    in_both(echoes_unix);
}

static void pauses(struct world *w)
{
    struct end server = {.w = w, .name = "stop at accept"}, client = {.w = w};
    struct io_listener *l = listen_at(w, "127.0.0.1:0", &server);

    client.s = io_connect(w->io, io_listener_address(l), &end_events, &client);
    io_run(w->io);
    io_stream_pause(server.s);
    io_stream_write(client.s, S("hello"));
    for (int i = 0; i < 20; i++)
        io_turn(w->io);
    check_samez(buf_str(&server.got), "");
    server.want = 5;
    io_stream_resume(server.s);
    io_run(w->io);
    check_samez(buf_str(&server.got), "hello");

    /* Closed in one breath with a write: flushed, then the end. */
    server.want = 0;
    io_stream_write(client.s, S(" and bye"));
    io_stream_close(client.s, true);
    client.s = NULL;
    while (!server.ended)
        io_run(w->io);
    check_samez(buf_str(&server.got), "hello and bye");
    end_fini(&client);
    end_fini(&server);
    io_listener_close(l);
}
TEST(io_stream_pause)
{
    in_both(pauses);
}

static void refused(struct world *w)
{
    static const struct {
        const char *address, *part;
    } cases[] = {
        {"127.0.0.1:1",            "cannot connect to '127.0.0.1:1': "           },
        {"unix:/nonexistent/sock", "cannot connect to 'unix:/nonexistent/sock': "},
        {"nonsense",               "must be HOST:PORT or unix:PATH"              },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct end client = {.w = w};
        client.s = io_connect(w->io, str_from(cases[i].address), &end_events, &client);
        io_stream_write(client.s, S("lost"));
        check(!client.ended);
        io_run(w->io);
        check(client.ended);
        check_err(&client.err, ERR_UNAVAILABLE, cases[i].part);
        io_stream_write(client.s, S("lost"));
        end_fini(&client);
    }
    /* Closing at once is allowed. */
    struct end client = {.w = w};
    io_stream_close(io_connect(w->io, S("127.0.0.1:1"), &end_events, &client), false);
    io_run(w->io);
    check(!client.ended);
}
TEST(io_connect_refused)
{
    in_both(refused);
}

static void taken(struct world *w)
{
    struct end server = {.w = w};
    struct err err;
    struct io_listener *l = listen_at(w, "127.0.0.1:0", &server);

    check(!io_listen(w->io, io_listener_address(l), 0, accept_end, &server, &err));
    check_err(&err, ERR_EXISTS, "address already in use");
    check(!io_listen(w->io, S("nowhere"), 0, accept_end, &server, &err));
    check_err(&err, ERR_INVALID, "must be HOST:PORT");
    io_listener_close(l);
    io_listener_close(NULL);
}
TEST(io_listen_taken)
{
    in_both(taken);
}

static void overfull(struct world *w)
{
    struct end server = {.w = w, .name = "stop at accept"}, client = {.w = w};
    struct io_listener *l = listen_at(w, "127.0.0.1:0", &server);

    client.s = io_connect(w->io, io_listener_address(l), &end_events, &client);
    io_run(w->io);
    io_stream_pause(server.s);
    for (size_t i = 0; i < IO_MAX_QUEUED / BIG + 8; i++) {
        struct buf b = {0};
        buf_room(&b, BIG);
        memset(b.at, 'x', BIG);
        b.len = BIG;
        io_stream_write_buf(client.s, &b);
    }
    check(io_stream_queued(client.s) <= IO_MAX_QUEUED);
    while (!client.ended)
        io_run(w->io);
    check_err(&client.err, ERR_LIMIT, "wait for");
    end_fini(&client);
    end_fini(&server);
    io_listener_close(l);
}
TEST(io_stream_overfull)
{
    in_both(overfull);
}

/* ---- real only ---- */

TEST(io_unix_socket_file)
{
    char dir[] = "/tmp/berth-io-XXXXXX", address[64];
    struct world w = {.io = io_real_new(NULL)};
    struct end server = {.w = &w, .name = "stop at accept"}, client = {.w = &w};
    struct stat st;
    struct err err;

    check(mkdtemp(dir) != NULL);
    snprintf(address, sizeof(address), "unix:%s/sock", dir);
    mode_t old = umask(022);
    struct io_listener *l = listen_at(&w, address, &server);
    umask(old);
    check_int(stat(address + 5, &st), 0);
    check_int(st.st_mode & 0777, 0600);
    check(!io_listen(w.io, str_from(address), 0600, accept_end, &server, &err));
    check_err(&err, ERR_EXISTS, "cannot listen on 'unix:/tmp/berth-io-");
    io_run(w.io);

    client.s = io_connect(w.io, str_from(address), &end_events, &client);
    io_run(w.io);
    struct io_peer peer = io_stream_peer(server.s);
    check(peer.is_local);
    check_int(peer.uid, getuid());
    check_int(peer.pid, getpid());
    end_fini(&client);
    end_fini(&server);
    io_listener_close(l);

    /* A socket file that nobody listens on is replaced; another file is not. */
    int fd = open(address + 5, O_CREAT | O_WRONLY, 0600);
    close(fd);
    check(!io_listen(w.io, str_from(address), 0600, accept_end, &server, &err));
    unlink(address + 5);
    l = listen_at(&w, address, &server);
    char kept[80];
    snprintf(kept, sizeof(kept), "%s.kept", address + 5);
    check_int(link(address + 5, kept), 0);
    io_listener_close(l);
    check_int(rename(kept, address + 5), 0);
    l = listen_at(&w, address, &server);
    io_listener_close(l);
    check_int(rmdir(dir), 0);
    io_free(w.io);
}

TEST(io_poll_and_signal)
{
    struct world w = {.io = io_real_new(NULL)};
    struct who readable = {&w, "readable", NULL}, usr = {&w, "signal", NULL};
    int fds[2];
    struct err err;

    check_int(pipe(fds), 0);
    struct io_poll *p = io_poll_new(w.io, fds[0], note_and_stop, &readable, &err);
    for (int i = 0; i < 3; i++)
        io_turn(w.io);
    check_log(&w, "");
    check_int(write(fds[1], "x", 1), 1);
    io_run(w.io);
    check_log(&w, "readable");
    io_poll_free(p);
    io_poll_free(NULL);
    close(fds[0]);
    close(fds[1]);

    int file = open("/dev/null", O_RDONLY | O_PATH);
    check(!io_poll_new(w.io, file, note, &readable, &err));
    check_err(&err, ERR_IO, "cannot watch descriptor");
    close(file);

    struct io_signal *s = io_signal_new(w.io, SIGUSR1, note_and_stop, &usr);
    raise(SIGUSR1);
    io_run(w.io);
    check_log(&w, "signal");
    io_signal_free(s);
    io_signal_free(NULL);
    io_free(w.io);
    io_free(NULL);
    buf_fini(&w.log);
}
