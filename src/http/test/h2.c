/* h2.c - what a server does with frames that no good client sends
 *
 * Frames are written by hand. What comes back is a line of its frames: "SETTINGS PING+ack
 * HEADERS/1 DATA/1=11".
 */
#include "http/h2.h"
#include "base/testing.h"
#include "http/http.h"

enum { DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION };
static const char *const names[] = {"DATA", "HEADERS", "PRIORITY", "RST",    "SETTINGS",
                                    "PUSH", "PING",    "GOAWAY",   "WINDOW", "CONTINUATION"};
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

struct world {
    struct io *io;
    struct http_server *server;
    struct io_stream *s;
    struct buf out, in;
    struct http_request *held[H2_MAX_STREAMS + 1];
    size_t n_held;
    bool holds, ended;
};

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;
    static const struct http_header text = {S_INIT("content-type"), S_INIT("text/plain")};

    if (w->holds) {
        w->held[w->n_held++] = req;
        return;
    }
    if (str_eq(req->path, S("/big"))) {
        struct buf b = {0};
        memset(buf_room(&b, 1 << 20), 'x', 1 << 20);
        b.len = 1 << 20;
        http_respond_buf(req, 200, &text, 1, &b);
        return;
    }
    http_respond(req, 200, &text, 1, req->body);
}

static void came(void *ctx, struct str bytes)
{
    buf_add(&((struct world *)ctx)->in, bytes);
}
static void ended(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    (void)err;
    w->ended = true;
}
static const struct io_stream_events events = {came, ended, NULL};

static void frame(struct world *w, int type, int flags, uint32_t stream, struct str payload)
{
    const uint8_t head[9] = {(uint8_t)(payload.len >> 16),
                             (uint8_t)(payload.len >> 8),
                             (uint8_t)payload.len,
                             (uint8_t)type,
                             (uint8_t)flags,
                             (uint8_t)(stream >> 24),
                             (uint8_t)(stream >> 16),
                             (uint8_t)(stream >> 8),
                             (uint8_t)stream};
    buf_add(&w->out, str_of((const char *)head, sizeof(head)));
    buf_add(&w->out, payload);
}

/* HPACK: a literal that is not put into the table; lengths below 127. */
static void literal(struct buf *b, struct str name, struct str value)
{
    buf_byte(b, 0);
    buf_byte(b, (char)name.len);
    buf_add(b, name);
    buf_byte(b, (char)value.len);
    buf_add(b, value);
}

static void request_head(struct buf *b, const char *path)
{
    literal(b, S(":method"), S("GET"));
    literal(b, S(":scheme"), S("http"));
    literal(b, S(":authority"), S("h"));
    literal(b, S(":path"), str_from(path));
}

static void request(struct world *w, uint32_t stream, const char *path, int flags)
{
    struct buf b = {0};

    request_head(&b, path);
    frame(w, HEADERS, END_HEADERS | flags, stream, buf_str(&b));
    buf_fini(&b);
}

static void world_init(struct world *w)
{
    *w = (struct world){.io = io_sim_new(3, (struct instant){SECOND_NS})};
    w->server = http_server_new(w->io, S("sim:s"), 0, NULL, handle, w, NULL);
    w->s = io_connect(w->io, S("sim:s"), &events, w);
    buf_add(&w->out, S("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    frame(w, SETTINGS, 0, 0, (struct str){0});
}

static void go(struct world *w, int64_t seconds)
{
    io_stream_write(w->s, buf_str(&w->out));
    buf_clear(&w->out);
    io_run_until(w->io, instant_add(io_now(w->io), span_s(seconds)));
}

static void world_fini(struct world *w)
{
    io_stream_close(w->s, false);
    http_server_free(w->server);
    for (size_t i = 0; i < w->n_held; i++)
        http_respond(w->held[i], 200, NULL, 0, (struct str){0});
    io_run(w->io);
    io_free(w->io);
    buf_fini(&w->out);
    buf_fini(&w->in);
}

/* The frames that came, without those of the start; at most `max`. */
static struct str show(struct arena *a, struct world *w, size_t max)
{
    struct buf b = buf_in(a, 256);
    const uint8_t *p = (const uint8_t *)w->in.at;
    size_t left = w->in.len;

    while (left >= 9 && max) {
        size_t len = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
        uint32_t stream =
            (uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8];
        if (left < 9 + len)
            break;
        if (p[3] != SETTINGS && p[3] != WINDOW) {
            buf_printf(&b, "%s", p[3] < countof(names) ? names[p[3]] : "?");
            if (stream)
                buf_printf(&b, "/%u", stream);
            if (p[3] == DATA)
                buf_printf(&b, "=%zu", len);
            if (p[3] == PING && (p[4] & ACK))
                buf_add(&b, S("+ack"));
            if (p[3] == RST || p[3] == GOAWAY)
                buf_printf(&b, ":%s", nghttp2_http2_strerror(p[9 + (p[3] == GOAWAY ? 7 : 3)]));
            buf_byte(&b, ' ');
            max--;
        }
        p += 9 + len;
        left -= 9 + len;
    }
    buf_clear(&w->in);
    return str_trim(buf_str(&b));
}

TEST(h2_requests)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    struct world w;

    world_init(&w);
    frame(&w, PING, 0, 0, S("12345678"));
    request(&w, 1, "/", END_STREAM);
    request(&w, 3, "/", 0);
    frame(&w, DATA, 0, 3, S("hel"));
    frame(&w, DATA, END_STREAM, 3, S("lo"));
    go(&w, 1);
    check_samez(show(&a, &w, 9), "PING+ack HEADERS/1 HEADERS/3 DATA/3=5");
    request(&w, 5, "/a#b", END_STREAM); /* no valid target: a Status says so */
    go(&w, 1);
    check_samez(show(&a, &w, 9), "HEADERS/5 DATA/5=138");
    check(!w.ended);
    io_run_until(w.io, instant_add(io_now(w.io), span_s(200)));
    check(w.ended); /* idle for too long */
    world_fini(&w);
}

TEST(h2_flow_control)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    struct world w;

    /* The first 64 KiB - 1 leave, the rest waits for the client's word. */
    world_init(&w);
    request(&w, 1, "/big", END_STREAM);
    go(&w, 1);
    check_samez(show(&a, &w, 99),
                "HEADERS/1 DATA/1=16384 DATA/1=16384 DATA/1=16384 DATA/1=16383");
    frame(&w, WINDOW, 0, 0, S("\0\0\0\144"));
    frame(&w, WINDOW, 0, 1, S("\0\0\0\144"));
    go(&w, 1);
    check_samez(show(&a, &w, 99), "DATA/1=100");
    frame(&w, RST, 0, 1, S("\0\0\0\10"));
    go(&w, 1);
    check_samez(show(&a, &w, 99), "");
    check(!w.ended);
    world_fini(&w);
}

TEST(h2_limits)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct world w;
    struct buf b = {0};
    char big[120];

    memset(big, 'v', sizeof(big));
    test_case("more streams than are allowed");
    world_init(&w);
    w.holds = true;
    go(&w, 1);
    for (uint32_t i = 0; i < H2_MAX_STREAMS + 1; i++)
        request(&w, 2 * i + 1, "/", END_STREAM);
    go(&w, 1);
    check_samez(show(&a, &w, 9), "RST/501:REFUSED_STREAM");
    check_int(w.n_held, H2_MAX_STREAMS);
    world_fini(&w);

    test_case("headers over the limit");
    world_init(&w);
    request_head(&b, "/");
    for (int i = 0; i < H2_MAX_HEADERS + 1; i++)
        literal(&b, S("a"), S("b"));
    frame(&w, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
    go(&w, 1);
    check_samez(show(&a, &w, 9), "HEADERS/1 DATA/1=166");
    world_fini(&w);

    test_case("streams opened and reset, over and over");
    world_init(&w);
    for (uint32_t i = 0; i < 3000; i++) {
        request(&w, 2 * i + 1, "/", 0);
        frame(&w, RST, 0, 2 * i + 1, S("\0\0\0\10"));
    }
    go(&w, 10);
    struct str got = show(&a, &w, 9999);
    check(str_ends(got, S("GOAWAY:INTERNAL_ERROR")) ||
          str_ends(got, S("GOAWAY:ENHANCE_YOUR_CALM")));
    check(w.ended);
    world_fini(&w);

    test_case("headers that never end");
    world_init(&w);
    buf_clear(&b);
    request_head(&b, "/");
    frame(&w, HEADERS, 0, 1, buf_str(&b));
    buf_clear(&b);
    literal(&b, S("a"), str_of(big, sizeof(big)));
    for (int i = 0; i < 100; i++)
        frame(&w, CONTINUATION, 0, 1, buf_str(&b));
    go(&w, 10);
    check(w.ended);
    check_samez(show(&a, &w, 9), ""); /* not worth a word */
    world_fini(&w);

    test_case("a body that never ends");
    world_init(&w);
    request(&w, 1, "/", 0);
    go(&w, 29);
    check(!w.ended);
    go(&w, 2);
    check(w.ended);
    world_fini(&w);

    test_case("bytes that are no frames");
    world_init(&w);
    buf_add(&w.out, S("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    go(&w, 10);
    check_samez(show(&a, &w, 9), "GOAWAY:FRAME_SIZE_ERROR");
    check(w.ended);
    world_fini(&w);
    buf_fini(&b);
}
