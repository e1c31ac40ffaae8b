/* sim_priv.h - the simulated world, as sim.c and sim_stream.c see it */
#pragma once

#include "io/io_priv.h"
#include "io/random.h"

#define SIM_FIRST_PORT 40000 /* given where port 0 is asked for */

struct sim {
    struct io io; /* first */
    struct random random;
    struct io_sim_faults faults;
    int64_t until; /* time does not jump past it (uptime) */
    struct list listeners;
    uint64_t n_streams; /* made so far: their names */
    uint16_t next_port;
};

struct io_stream *sim_connect(struct io *io, struct str address);
struct io_listener *sim_listen(struct io *io, struct str address, uint32_t mode,
                               io_accept_fn *accept, void *ctx, struct err *err);
void sim_listener_close(struct io_listener *l);
void sim_stream_reading(struct io_stream *s, bool on);
void sim_stream_write(struct io_stream *s, struct buf *b, size_t from);
size_t sim_stream_try(struct io_stream *s, struct str bytes);
size_t sim_stream_queued(const struct io_stream *s);
void sim_stream_shutdown(struct io_stream *s);
void sim_stream_close(struct io_stream *s, bool flush);
