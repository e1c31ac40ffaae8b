/* ws.c - a WebSocket that is sent any bytes hands on whole messages or closes; texts are UTF-8,
 * messages are bounded, and it ends once */
#include "http/ws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct ws *ws;
    int ended;
};

static void message(void *ctx, bool is_text, struct str bytes)
{
    struct world *w = ctx;

    assert(!w->ended && bytes.len <= WS_MAX_MESSAGE);
    assert(!is_text || str_is_utf8(bytes));
    ws_send(w->ws, is_text, bytes);
}
static void end(void *ctx, int code, struct str reason)
{
    struct world *w = ctx;

    (void)code;
    (void)reason;
    assert(++w->ended == 1);
}
static const struct ws_events ws_events = {message, end, NULL};

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;

    w->ws = ws_accept(req, S(""), &ws_events, w);
    assert(w->ws);
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct io_stream_events events = {came, gone, NULL};
    struct world w = {0};
    struct io *io = io_sim_new(size, (struct instant){SECOND_NS});
    struct http_server *s = http_server_new(io, S("sim:s"), 0, NULL, handle, &w, NULL);
    struct io_stream *c = io_connect(io, S("sim:s"), &events, NULL);

    io_stream_write(c, S("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\n"
                         "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                         "Sec-WebSocket-Key: a\r\n\r\n"));
    io_stream_write(c, str_of((const char *)data, size));
    io_run_until(io, (struct instant){2 * SECOND_NS});
    io_stream_close(c, false);
    io_run_until(io, (struct instant){9 * SECOND_NS});
    assert(w.ended == 1);
    ws_close(w.ws, 1000, S(""));
    http_server_free(s);
    io_run(io);
    io_free(io);
    return 0;
}
