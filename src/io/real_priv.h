/* real_priv.h - the libuv loop, as real.c and real_stream.c see it */
#pragma once

/* Before base/, whose names it uses for other things. */
#include <uv.h>
#undef MIN
#undef MAX

#include "io/io_priv.h"

#define REAL_READ_SIZE (64 << 10)
#define REAL_POOL_SIZE 512 /* random bytes kept ready */

struct real {
    struct io io; /* first */
    uv_loop_t loop;
    uv_timer_t alarm; /* runs only while the loop waits for our first timer */
    uv_prepare_t before_poll;
    int unpolled; /* turns in a row that went on with what was ready */
    size_t pool_left;
    uint8_t pool[REAL_POOL_SIZE];
    char read_buf[REAL_READ_SIZE]; /* one for all streams: data() borrows it */
};

struct io_stream *real_connect(struct io *io, struct str address);
struct io_listener *real_listen(struct io *io, struct str address, uint32_t mode,
                                io_accept_fn *accept, void *ctx, struct err *err);
void real_listener_close(struct io_listener *l);
void real_stream_reading(struct io_stream *s, bool on);
void real_stream_write(struct io_stream *s, struct buf *b, size_t from);
size_t real_stream_try(struct io_stream *s, struct str bytes);
size_t real_stream_queued(const struct io_stream *s);
void real_stream_shutdown(struct io_stream *s);
void real_stream_close(struct io_stream *s, bool flush);
/* For uv_walk() at the end: closes the handle where it belongs to a closed stream. */
void real_end_flush(uv_handle_t *h);
