/* http_server.c - a server that is sent any bytes (HTTP/1.1, and HTTP/2 by prior knowledge)
 * answers or closes; it never crashes, hangs or forgets a request */
#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void handle(void *ctx, struct http_request *req)
{
    (void)ctx;
    if (str_starts(req->path, S("/s"))) {
        http_respond_start(req, 200, req->headers, req->n_headers);
        http_respond_chunk(req, req->body);
        http_respond_end(req);
    } else if (str_starts(req->path, S("/a"))) {
        http_abort(req);
    } else {
        http_respond(req, 200, NULL, 0, req->target);
    }
}

static void came(void *ctx, struct str bytes)
{
    *(size_t *)ctx += bytes.len;
}
static void ended(void *ctx, const struct err *err)
{
    (void)ctx;
    (void)err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct io_stream_events events = {came, ended, NULL};
    struct str in = {(const char *)data, size};
    size_t got = 0;
    uint64_t seed = size ? data[0] : 0;
    struct io *io = io_sim_new(seed, (struct instant){SECOND_NS});
    struct http_server *s = http_server_new(io, S("sim:s"), 0, NULL, handle, NULL, NULL);
    struct io_stream *c = io_connect(io, S("sim:s"), &events, &got);

    if (seed & 1)
        io_stream_write(c, S("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"));
    io_stream_write(c, in);
    io_stream_shutdown(c);
    io_run_until(io, (struct instant){400 * SECOND_NS});
    io_stream_close(c, false);
    http_server_free(s);
    io_run(io);
    io_free(io);
    return 0;
}
