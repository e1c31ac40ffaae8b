/* io.h - the only door to clock, chance and the world
 *
 * One struct io is one event loop, one thread, one world. Two implementations stand behind this
 * door: the real one (libuv) and the simulated one, where time jumps to the next timer and
 * every choice (randomness, which of several ready callbacks runs first, how a byte stream is
 * cut) comes from one seed. Nothing calls back into its caller: every callback is a later turn.
 */
#pragma once

#include "base/base.h"

struct io;
typedef void io_fn(void *ctx);

/* NULL with ERR_IO. SIGPIPE is ignored from here on: whoever executes a program sets it back.
 */
struct io *io_real_new(struct err *err);
/* Starts at `start`. */
struct io *io_sim_new(uint64_t seed, struct instant start);
/* Everything made with it must have been freed or closed. NULL is accepted. */
void io_free(struct io *io);
bool io_is_sim(const struct io *io);

/* Runs turns until io_stop(), or until nothing is left that could happen. */
void io_run(struct io *io);
/* Simulated only: runs until the clock stands at `until`, or io_stop(). */
void io_run_until(struct io *io, struct instant until);
/* Simulated only: what goes wrong, chosen by the seed. Set before any stream is made. */
struct io_sim_faults {
    uint32_t break_one_in; /* deliveries of bytes; 0: streams never break */
    struct span max_delay; /* of each delivery */
};
void io_sim_set_faults(struct io *io, struct io_sim_faults faults);
/* Simulated only: somebody sets the wall clock. The uptime, and with it every timer, goes on.
 * Not within io_run_until(). */
void io_sim_set_clock(struct io *io, struct instant now);
/* Runs what is ready now, without waiting; true where something is left. For tests. */
bool io_turn(struct io *io);
void io_stop(struct io *io);

/* ---- clock and chance ---- */

/* The wall clock, read once a turn. */
struct instant io_now(const struct io *io);
/* Never goes back: for intervals. Read once a turn. */
struct span io_uptime(const struct io *io);
/* The same, read now: for measuring. In a simulation it equals io_uptime(). */
struct span io_uptime_now(struct io *io);
uint64_t io_random(struct io *io);
void io_random_bytes(struct io *io, void *out, size_t n);

/* ---- turns and timers ---- */

/* Calls fn(ctx) on a later turn. Calls with one ctx keep their order; a simulation may reorder
 * those of different ctx. */
void io_later(struct io *io, io_fn *fn, void *ctx);
/* The same, but when nothing else is ready; at the latest after IO_REST_TURNS turns. For work
 * that gains from what is still on its way, as a commit does. */
#define IO_REST_TURNS 4
void io_rest(struct io *io, io_fn *fn, void *ctx);
/* Takes back every io_later(fn, ctx) and io_rest(fn, ctx) that has not run. */
void io_later_cancel(struct io *io, io_fn *fn, void *ctx);

struct io_timer;
struct io_timer *io_timer_new(struct io *io, io_fn *fn, void *ctx);
/* Fires once, `after` from this turn (0 or less: on a later turn); replaces what was set. */
void io_timer_set(struct io_timer *t, struct span after);
void io_timer_stop(struct io_timer *t);
bool io_timer_is_set(const struct io_timer *t);
void io_timer_free(struct io_timer *t); /* accepts NULL */

/* ---- byte streams ---- */

struct io_stream;
struct io_listener;

struct io_stream_events {
    /* Bytes came; borrowed for the call. */
    void (*data)(void *ctx, struct str bytes);
    /* The other side closed its writing end (err NULL), or the stream broke. Called once; the
     * stream is still ours to close. */
    void (*end)(void *ctx, const struct err *err);
    /* All that was written has left, also where nothing had to wait; may be NULL. */
    void (*drained)(void *ctx);
};

/* Who is on the other side. */
struct io_peer {
    bool is_local; /* a unix socket: uid, gid and pid are the kernel's word */
    uint32_t uid, gid;
    int32_t pid;
    char address[64]; /* "127.0.0.1:4711" or "@" */
};

#define IO_MAX_QUEUED                                                                          \
    ((size_t)64 << 20) /* bytes waiting on one stream: past it, it is broken */

/* Addresses: "unix:PATH", "HOST:PORT" (a number or a name; port 0: any), "sim:NAME". In a
 * simulation all of them are names in the simulated world. */
/* Starts to connect; the stream may be written to at once. end() tells a failure
 * (ERR_UNAVAILABLE). `events` must outlive the stream. */
struct io_stream *io_connect(struct io *io, struct str address,
                             const struct io_stream_events *events, void *ctx);
/* A new connection; the callee sets its events by io_stream_attach(), or closes it. */
typedef void io_accept_fn(void *ctx, struct io_stream *s);
/* NULL: ERR_EXISTS where the address is taken, ERR_FORBIDDEN, ERR_INVALID, ERR_IO. `mode` is
 * the file mode of a unix socket; a stale socket file nobody listens on is replaced. */
struct io_listener *io_listen(struct io *io, struct str address, uint32_t mode,
                              io_accept_fn *accept, void *ctx, struct err *err);
/* The address in use, with the real port. */
struct str io_listener_address(const struct io_listener *l);
void io_listener_close(struct io_listener *l); /* accepts NULL */

void io_stream_attach(struct io_stream *s, const struct io_stream_events *events, void *ctx);
struct io_peer io_stream_peer(const struct io_stream *s);
/* Copies the bytes. */
void io_stream_write(struct io_stream *s, struct str bytes);
/* Takes over a heap buffer (buf_fini() is the stream's): no copy. *b is empty afterwards. */
void io_stream_write_buf(struct io_stream *s, struct buf *b);
/* Bytes written and not yet taken by the other side's kernel. */
size_t io_stream_queued(const struct io_stream *s);
void io_stream_pause(struct io_stream *s);
void io_stream_resume(struct io_stream *s);
/* Sends what is queued, then our end. */
void io_stream_shutdown(struct io_stream *s);
/* No callback follows; queued bytes are still sent where `flush` (not those of a stream that
 * still connects). Frees the stream. */
void io_stream_close(struct io_stream *s, bool flush);

/* ---- real only: work, wake-ups, descriptors, signals ---- */

/* Runs work(ctx) on the small pool (on a later turn of a simulation), then done(ctx) here. */
void io_work(struct io *io, io_fn *work, io_fn *done, void *ctx);

struct io_wake;
/* io_wake_send() may be called from any thread; fn(ctx) follows here, at least once after the
 * last send. */
struct io_wake *io_wake_new(struct io *io, io_fn *fn, void *ctx);
void io_wake_send(struct io_wake *w);
void io_wake_free(struct io_wake *w);

struct io_poll;
/* Calls fn(ctx) whenever the descriptor is readable (a pidfd: the process ended). It stays the
 * caller's to close, after io_poll_free(). NULL with ERR_IO; ERR_UNSUPPORTED in a simulation.
 */
struct io_poll *io_poll_new(struct io *io, int fd, io_fn *fn, void *ctx, struct err *err);
void io_poll_free(struct io_poll *p);

struct io_signal;
struct io_signal *io_signal_new(struct io *io, int signum, io_fn *fn, void *ctx);
void io_signal_free(struct io_signal *s);
