/* http_client.c - a client whose server sends any bytes (HTTP/1.1 or HTTP/2) hears the end of
 * every call exactly once; it never crashes or hangs */
#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALLS 3

struct world {
    struct str bytes;
    int ended;
    VEC(struct io_stream *) streams;
};

static void came(void *ctx, struct str bytes)
{
    (void)ctx;
    (void)bytes;
}
static void gone(void *ctx, const struct err *err)
{
    (void)ctx;
    (void)err;
}
static const struct io_stream_events events = {came, gone, NULL};

static void accepted(void *ctx, struct io_stream *s)
{
    struct world *w = ctx;

    io_stream_attach(s, &events, w);
    io_stream_write(s, w->bytes);
    io_stream_shutdown(s);
    vec_push(&w->streams, s);
}

static void ended(void *ctx, const struct err *err)
{
    struct world *w = ctx;

    (void)err;
    w->ended++;
}
static const struct http_call_events call_events = {NULL, came, ended};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = {
        .bytes = {(const char *)data, size}
    };
    uint64_t seed = size ? data[size - 1] : 0;
    struct io *io = io_sim_new(seed, (struct instant){SECOND_NS});
    struct io_listener *l = io_listen(io, S("sim:s"), 0, accepted, &w, NULL);
    struct http_client *c = http_client_new(
        io, &(struct http_client_options){.address = S("sim:s"), .plain_http2 = seed & 1});
    for (int i = 0; i < CALLS; i++)
        http_call(c, &(struct http_ask){.method = S("GET"), .target = S("/")}, &call_events,
                  &w);
    io_run_until(io, (struct instant){400 * SECOND_NS});
    assert(w.ended == CALLS);
    http_client_free(c);
    vec_each (i, &w.streams)
        io_stream_close(w.streams.at[i], false);
    vec_fini(&w.streams);
    io_listener_close(l);
    io_run(io);
    io_free(io);
    return 0;
}
