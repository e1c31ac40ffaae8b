/* ws.c - WebSocket conversations, by frames written by hand
 *
 * Frames of the client: "t:hello" a text, "b:..." binary, "T:..." a text that goes on, "c:..."
 * a continuation that is the last, "C:..." one that is not, "p:..." a ping, "x:NNNNtext" a
 * close. The server echoes messages in capitals of their kind: what comes back is shown alike.
 */
#include "http/ws.h"
#include "base/testing.h"

struct world {
    struct io *io;
    struct http_server *server;
    struct io_stream *s;
    struct ws *ws;
    struct buf in, told;
    bool ended, closes;
    struct str want;
};

static void message(void *ctx, bool is_text, struct str bytes)
{
    struct world *w = ctx;

    buf_printf(&w->told, "%s:%.*s ", is_text ? "t" : "b", (int)MIN(bytes.len, (size_t)20),
               bytes.at);
    if (w->closes) {
        ws_close(w->ws, 1000, S("bye"));
        w->ws = NULL;
        return;
    }
    ws_send(w->ws, is_text, bytes);
}
static void end(void *ctx, int code, struct str reason)
{
    struct world *w = ctx;
    buf_printf(&w->told, "end:%d%.*s ", code, STR_ARG(reason));
}
static const struct ws_events ws_events = {message, end, NULL};

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;
    struct str protocol =
        ws_offers(req, S("v5.channel.k8s.io")) ? S("v5.channel.k8s.io") : S("");

    w->ws = ws_accept(req, protocol, &ws_events, w);
    if (!w->ws)
        http_respond(req, 400, NULL, 0, S("no websocket"));
}

static void came(void *ctx, struct str bytes)
{
    buf_add(&((struct world *)ctx)->in, bytes);
}
static void gone(void *ctx, const struct err *err)
{
    (void)err;
    ((struct world *)ctx)->ended = true;
}
static const struct io_stream_events events = {came, gone, NULL};

#define ASK                                                                                    \
    "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"   \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"             \
    "Sec-WebSocket-Protocol: v6.x, v5.channel.k8s.io\r\n\r\n"

static void world_init(struct world *w, uint64_t seed, const char *ask)
{
    *w = (struct world){.io = io_sim_new(seed, (struct instant){SECOND_NS})};
    w->server = http_server_new(w->io, S("sim:s"), 0, NULL, handle, w, NULL);
    w->s = io_connect(w->io, S("sim:s"), &events, w);
    io_stream_write(w->s, str_from(ask));
}
static void go(struct world *w)
{
    io_run_until(w->io, instant_add(io_now(w->io), span_s(1)));
}
static void world_fini(struct world *w)
{
    if (w->ws)
        ws_close(w->ws, 1001, S(""));
    io_stream_close(w->s, false);
    http_server_free(w->server);
    io_run(w->io);
    io_free(w->io);
    buf_fini(&w->in);
    buf_fini(&w->told);
}

/* One frame as a client sends it, masked. */
static void put_frame(struct buf *b, int first, struct str payload)
{
    static const uint8_t mask[4] = {1, 2, 3, 4};

    buf_byte(b, (char)first);
    if (payload.len < 126) {
        buf_byte(b, (char)(0x80 | payload.len));
    } else if (payload.len < 65536) {
        buf_byte(b, (char)(0x80 | 126));
        buf_byte(b, (char)(payload.len >> 8));
        buf_byte(b, (char)payload.len);
    } else {
        buf_byte(b, (char)(0x80 | 127));
        for (int shift = 56; shift >= 0; shift -= 8)
            buf_byte(b, (char)((uint64_t)payload.len >> shift));
    }
    buf_add(b, str_of((const char *)mask, 4));
    for (size_t i = 0; i < payload.len; i++)
        buf_byte(b, (char)(payload.at[i] ^ mask[i & 3]));
}

static void put(struct buf *b, struct str text)
{
    static const struct {
        char letter;
        int first;
    } kinds[] = {
        {'t', 0x81},
        {'b', 0x82},
        {'T', 0x01},
        {'c', 0x80},
        {'C', 0x00},
        {'p', 0x89},
        {'o', 0x8a},
        {'x', 0x88},
        {'r', 0xc1},
        {'?', 0x83},
        {'P', 0x09}
    };
    char close[130];

    for (size_t i = 0; i < countof(kinds); i++) {
        struct str payload = str_slice(text, 2, text.len);
        if (kinds[i].letter != text.at[0])
            continue;
        if (text.at[0] == 'x' && payload.len >= 4) {
            int64_t code = 0;
            str_to_i64(str_slice(payload, 0, 4), &code);
            close[0] = (char)(code >> 8);
            close[1] = (char)code;
            memcpy(close + 2, payload.at + 4, payload.len - 4);
            payload = str_of(close, payload.len - 2);
        }
        put_frame(b, kinds[i].first, payload);
    }
}

/* Frames of the server, after its head. */
static struct str show(struct arena *a, struct str in)
{
    struct buf b = buf_in(a, 256);
    const uint8_t *p;

    in = str_slice(in, str_find(in, S("\r\n\r\n")) + 4, in.len);
    while (in.len >= 2) {
        p = (const uint8_t *)in.at;
        size_t head = p[1] < 126 ? 2 : p[1] == 126 ? 4 : 10, len = p[1];
        if (head == 4)
            len = (size_t)p[2] << 8 | p[3];
        if (head == 10)
            len = (size_t)p[7] << 16 | (size_t)p[8] << 8 | p[9];
        struct str payload = str_slice(in, head, head + len);
        char letter = p[0] == 0x81 ? 't' : p[0] == 0x82 ? 'b' : p[0] == 0x8a ? 'o' : 'x';
        if (letter == 'x' && len >= 2)
            buf_printf(&b, "x:%d%.*s ", (uint8_t)payload.at[0] << 8 | (uint8_t)payload.at[1],
                       (int)len - 2, payload.at + 2);
        else if (len > 100)
            buf_printf(&b, "%c=%zu ", letter, len);
        else
            buf_printf(&b, "%c:%.*s ", letter, STR_ARG(payload));
        in = str_slice(in, head + len, in.len);
    }
    return str_trim(buf_str(&b));
}

TEST(ws_conversations)
{
    static const struct {
        const char *name, *frames, *back, *told;
    } cases[] = {
        {"messages are echoed",        "t:hi b:\x01 t:",  "t:hi b:\x01 t:",               "t:hi b:\x01 t:"        },
        {"fragments are put together", "T:a C:b p:? c:c", "o:? t:abc",                    "t:abc"                 },
        {"pongs are read over",        "o:x t:a",         "t:a",                          "t:a"                   },
        {"a close is answered",        "x:1000done t:no", "x:1000",                       "end:1000done"          },
        {"a close without a code",     "x:",              "x:",                           "end:1005"              },
        {"a close of one byte",        "x:1",             "x:1002no valid close",         "end:1002no valid close"},
        {"a reserved bit",             "r:a t:b",         "x:1002no valid frame",         "end:1002no valid frame"},
        {"an unknown opcode",          "?:a",             "x:1002no valid frame",         "end:1002no valid frame"},
        {"a fragmented ping",          "P:a",             "x:1002no valid frame",         "end:1002no valid frame"},
        {"a continuation of nothing",  "c:a",             "x:1002fragments out of order",
         "end:1002fragments out of order"                                                                         },
        {"a message inside another",   "T:a t:b",         "x:1002fragments out of order",
         "end:1002fragments out of order"                                                                         },
        {"a text that is none",        "t:\xff",          "x:1007a text is no UTF-8",
         "end:1007a text is no UTF-8"                                                                             },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        for (uint64_t seed = 0; seed < 10; seed++) {
            scoped(arena_fini) struct arena a = arena_sized(4 << 10);
            struct world w;
            struct buf out = {0};
            struct str rest = str_from(cases[i].frames), one;
            test_case(cases[i].name);
            world_init(&w, seed, ASK);
            while (rest.len) {
                str_cut(rest, ' ', &one, &rest);
                put(&out, one);
            }
            io_stream_write(w.s, buf_str(&out));
            go(&w);
            check_samez(show(&a, buf_str(&w.in)), cases[i].back);
            check_samez(str_trim(buf_str(&w.told)), cases[i].told);
            buf_fini(&out);
            world_fini(&w);
        }
    }
}

TEST(ws_handshake)
{
    struct world w;

    world_init(&w, 1, ASK);
    go(&w);
    check_samez(buf_str(&w.in), "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\n"
                                "upgrade: websocket\r\n"
                                "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                                "sec-websocket-protocol: v5.channel.k8s.io\r\n\r\n");
    check(!w.ended);
    io_stream_close(w.s, false); /* the client breaks off */
    w.s = io_connect(w.io, S("sim:s"), &events, &w);
    go(&w);
    check_samez(buf_str(&w.told), "end:1006 ");
    world_fini(&w);

    world_init(&w, 1,
               "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n\r\n");
    go(&w);
    check(str_starts(buf_str(&w.in), S("HTTP/1.1 400 "))); /* no Connection: upgrade */
    world_fini(&w);
}

TEST(ws_lengths_and_ends)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    static const size_t sizes[] = {125, 126, 65535, 65536, 1 << 20};
    struct world w;
    struct buf out = {0}, big = {0};

    memset(buf_room(&big, WS_MAX_MESSAGE + 1), 'x', WS_MAX_MESSAGE + 1);
    world_init(&w, 1, ASK);
    for (size_t i = 0; i < countof(sizes); i++)
        put_frame(&out, 0x82, str_of(big.at, sizes[i]));
    io_stream_write(w.s, buf_str(&out));
    go(&w);
    check_samez(show(&a, buf_str(&w.in)), "b=125 b=126 b=65535 b=65536 b=1048576");
    buf_clear(&out);
    put_frame(&out, 0x82, str_of(big.at, WS_MAX_MESSAGE + 1));
    io_stream_write(w.s, buf_str(&out));
    buf_clear(&w.told);
    go(&w);
    check_samez(buf_str(&w.told), "end:1009the message is too long ");
    world_fini(&w);

    test_case("the server closes from inside a message");
    world_init(&w, 1, ASK);
    w.closes = true;
    buf_clear(&out);
    put(&out, S("t:a"));
    put(&out, S("t:b"));
    io_stream_write(w.s, buf_str(&out));
    go(&w);
    check_samez(show(&a, buf_str(&w.in)), "x:1000bye");
    check_samez(buf_str(&w.told), "t:a ");
    check(w.ended);
    world_fini(&w);

    test_case("the server is freed first");
    world_init(&w, 1, ASK);
    go(&w);
    http_server_free(w.server);
    w.server = NULL;
    check(str_starts(buf_str(&w.told), S("end:1006")));
    ws_send(w.ws, true, S("into the void"));
    world_fini(&w);
    buf_fini(&out);
    buf_fini(&big);
}
