/* io_priv.h - what the real and the simulated implementation share */
#pragma once

#include "io/io.h"

struct io_task {
    io_fn *fn; /* NULL: taken back */
    void *ctx;
};

typedef VEC(struct io_task) io_tasks;

struct io_timer {
    struct io *io;
    io_fn *fn;
    void *ctx;
    int64_t due;   /* on the uptime clock, in ns */
    uint64_t rank; /* order among those due at one moment */
    size_t index;  /* in the heap; IO_TIMER_OFF where not set */
};

#define IO_TIMER_OFF SIZE_MAX

struct io_ops {
    void (*free)(struct io *);
    /* One turn: what is ready, then the world (waiting for it where `wait`). False where
     * nothing is left that could happen. */
    bool (*turn)(struct io *, bool wait);
    void (*read_clock)(struct io *);
    int64_t (*uptime_now)(struct io *);
    void (*random_bytes)(struct io *, void *out, size_t n);
    uint64_t (*timer_rank)(struct io *);

    struct io_stream *(*connect)(struct io *, struct str address);
    struct io_listener *(*listen)(struct io *, struct str address, uint32_t mode,
                                  io_accept_fn *, void *ctx, struct err *err);
    void (*listener_close)(struct io_listener *);
    void (*stream_reading)(struct io_stream *, bool on);
    /* Takes over *b, whose first `from` bytes have left; neither broken nor over the limit. */
    void (*stream_write)(struct io_stream *, struct buf *b, size_t from);
    /* Writes what it can at once and gives the number of bytes taken (0 is fine). */
    size_t (*stream_try)(struct io_stream *, struct str bytes);
    size_t (*stream_queued)(const struct io_stream *);
    void (*stream_shutdown)(struct io_stream *);
    void (*stream_close)(struct io_stream *, bool flush);

    void (*work)(struct io *, io_fn *work, io_fn *done, void *ctx);
    struct io_wake *(*wake_new)(struct io *);
    void (*wake_send)(struct io_wake *);
    void (*wake_free)(struct io_wake *);
    struct io_poll *(*poll_new)(struct io *, int fd, struct err *err);
    void (*poll_free)(struct io_poll *);
    struct io_signal *(*signal_new)(struct io *, int signum);
    void (*signal_free)(struct io_signal *);
};

struct io {
    const struct io_ops *ops;
    bool stopped;
    bool clock_is_read; /* in this turn */
    struct instant now;
    struct span uptime;
    io_tasks ready;   /* for the next turn */
    io_tasks running; /* this turn's, from running_at on */
    size_t running_at;
    io_tasks resting; /* until nothing is ready */
    size_t rested;    /* for so many turns */
    bool rest_ended;  /* what rested is ready: the world is looked at before it runs */
    HEAP(struct io_timer *) timers;
};

struct io_stream {
    struct io *io;
    const struct io_stream_events *events;
    void *ctx;
    struct io_peer peer;
    bool is_paused;
    bool is_ended;   /* end() was called or is on its way */
    bool is_broken;  /* writes go nowhere */
    bool is_shut;    /* our end was announced */
    bool drain_due;  /* drained() is a task */
    bool end_due;    /* end() is a task */
    struct err *why; /* for the end() on its way; ours */
};

struct io_listener {
    struct io *io;
    io_accept_fn *accept;
    void *ctx;
    char address[128];
};

struct io_wake {
    struct io *io;
    io_fn *fn;
    void *ctx;
};

struct io_poll {
    struct io *io;
    io_fn *fn;
    void *ctx;
};

struct io_signal {
    struct io *io;
    io_fn *fn;
    void *ctx;
};

void io_init(struct io *io, const struct io_ops *ops);
void io_fini(struct io *io);
/* Runs the tasks that were there at the start; new ones wait. */
void io_run_ready(struct io *io);
/* Runs the timers that were due and set at the start. */
void io_run_timers(struct io *io);
/* Between one poll and the next the clock stands still; this lets it move. */
static inline void io_clock_stale(struct io *io)
{
    io->clock_is_read = false;
}

/* The stream's queue is empty: drained() follows on a later turn. */
void io_stream_drained(struct io_stream *s);
/* Breaks the stream (err NULL: its end came in order): end() follows on a later turn, after
 * data() for what came before. */
void io_stream_fail(struct io_stream *s, const struct err *err);
/* Calls end() now, unless it was. */
void io_stream_end_now(struct io_stream *s, const struct err *err);
/* Takes back the stream's tasks and frees what the core holds, not the stream itself. */
void io_stream_fini(struct io_stream *s);

extern const struct io_ops io_sim_ops;
