/* server.c - whole conversations over HTTP/1.1 in a simulated world, under many cuttings */
#include "base/testing.h"
#include "http/http.h"

struct world {
    struct io *io;
    struct http_server *server;
    struct io_stream *s;
    struct buf got;
    bool ended;
    struct http_request *held;
    int closed, drained;
};

/* ---- the handler: /echo, /stream, /hold, /big?N, /cut ---- */

static void closed(void *ctx)
{
    ((struct world *)ctx)->closed++;
}
static void drained(void *ctx)
{
    ((struct world *)ctx)->drained++;
}

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;
    static const struct http_header text = {S_INIT("content-type"), S_INIT("text/plain")};

    if (str_eq(req->path, S("/stream"))) {
        http_respond_start(req, 200, &text, 1);
        http_respond_chunk(req, S("one "));
        http_respond_chunk(req, S("two"));
        http_respond_end(req);
    } else if (str_eq(req->path, S("/trailers"))) {
        http_respond_start(req, 200, &text, 1);
        http_respond_chunk(req, S("one"));
        http_respond_end_with(req, &(struct http_header){S("X-End"), S("fine")}, 1);
    } else if (str_eq(req->path, S("/hold"))) {
        w->held = req;
        http_on_closed(req, closed, w);
        http_on_drained(req, drained, w);
        http_respond_start(req, 200, &text, 1);
    } else if (str_eq(req->path, S("/cut"))) {
        http_respond_start(req, 200, &text, 1);
        http_respond_chunk(req, S("half"));
        http_abort(req);
    } else if (str_eq(req->path, S("/big"))) {
        uint64_t n = 0;
        struct buf b = {0};
        str_to_u64(req->query, &n);
        memset(buf_room(&b, n), 'x', n);
        b.len = n;
        http_respond_buf(req, 200, &text, 1, &b);
    } else {
        struct str body = str_printf(req->arena, "%.*s %.*s [%.*s]", STR_ARG(req->method),
                                     STR_ARG(req->target), STR_ARG(req->body));
        http_respond(req, str_eq(req->path, S("/404")) ? 404 : 200, &text, 1, body);
    }
}

/* ---- a client of bytes ---- */

static void came(void *ctx, struct str bytes)
{
    buf_add(&((struct world *)ctx)->got, bytes);
}
static void end(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    (void)err;
    w->ended = true;
}
static const struct io_stream_events events = {came, end, NULL};

static void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){.io = io_sim_new(seed, (struct instant){SECOND_NS})};
    w->server = http_server_new(w->io, S("sim:s"), 0, NULL, handle, w, NULL);
    w->s = io_connect(w->io, S("sim:s"), &events, w);
}

/* For a while: idle connections end after minutes. */
static void go(struct world *w)
{
    io_run_until(w->io, instant_add(io_now(w->io), span_s(1)));
}

static void world_fini(struct world *w)
{
    if (w->s)
        io_stream_close(w->s, false);
    http_server_free(w->server);
    io_run(w->io);
    io_free(w->io);
    buf_fini(&w->got);
}

/* The answer without its date and with \r\n as '/'. */
static struct str show(struct arena *a, struct str got)
{
    struct buf b = buf_in(a, got.len + 1);

    for (size_t i = 0; i < got.len; i++) {
        struct str rest = str_slice(got, i, got.len);
        if (str_starts(rest, S("date: ")))
            i += str_find(rest, S("\r\n")) + 1;
        else if (str_starts(rest, S("\r\n")))
            buf_byte(&b, '/'), i++;
        else
            buf_byte(&b, got.at[i]);
    }
    return buf_str(&b);
}

#define OK "HTTP/1.1 200 OK/content-type: text/plain/"
#define H "Host: h\r\n\r\n"

TEST(server_conversations)
{
    static const struct {
        const char *name, *ask, *want;
        bool closes;
    } cases[] = {
        {"a request and its answer",                   "GET /a?b HTTP/1.1\r\n" H,
         OK "content-length: 11//GET /a?b []",                                                                       false},
        {"empty lines before it",                      "\r\n\r\nGET / HTTP/1.1\r\n" H,
         OK "content-length: 8//GET / []",                                                                           false},
        {"two, one after the other",                   "GET /1 HTTP/1.1\r\n" H "GET /2 HTTP/1.1\r\n" H,
         OK "content-length: 9//GET /1 []" OK "content-length: 9//GET /2 []",                                        false},
        {"a body by length",                           "POST / HTTP/1.1\r\nContent-Length: 5\r\n" H "hello",
         OK "content-length: 14//POST / [hello]",                                                                    false},
        {"a body in chunks",
         "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" H
         "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\nGET /2 HTTP/1.1\r\n" H,
         OK "content-length: 14//POST / [hello]" OK "content-length: 9//GET /2 []",                                  false},
        {"a body only when welcome",
         "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n" H "hi",
         "HTTP/1.1 100 Continue//" OK "content-length: 11//POST / [hi]",                                             false},
        {"an answer in pieces",                        "GET /stream HTTP/1.1\r\n" H "GET / HTTP/1.1\r\n" H,
         OK "transfer-encoding: chunked//4/one /3/two/0//" OK "content-length: 8//GET / []",
         false                                                                                                            },
        {"trailers come behind the pieces",            "GET /trailers HTTP/1.1\r\n" H,
         OK "transfer-encoding: chunked//3/one/0/x-end: fine//",                                                     false},
        {"pieces in HTTP/1.0 end with the connection", "GET /stream HTTP/1.0\r\n\r\n",
         OK "connection: close//one two",                                                                            true },
        {"HTTP/1.0 that keeps",                        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
         OK "content-length: 8/connection: keep-alive//GET / []",                                                    false},
        {"HEAD has no body",                           "HEAD / HTTP/1.1\r\n" H "HEAD /stream HTTP/1.1\r\n" H,
         OK "content-length: 9//" OK "transfer-encoding: chunked//",                                                 false},
        {"close is kept to",
         "GET / HTTP/1.1\r\nConnection: close\r\n" H "GET /no HTTP/1.1\r\n" H,
         OK "content-length: 8/connection: close//GET / []",                                                         true },
        {"an answer cut off",                          "GET /cut HTTP/1.1\r\n" H,                              NULL, true },
        {"a broken request",                           "GET / HTTP/1.1\r\nA : b\r\n" H "GET / HTTP/1.1\r\n" H,
         "HTTP/1.1 400 Bad Request/content-type: application/json/content-length: 133/"
         "connection: close//{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
         "\"status\":\"Failure\",\"message\":\"no header: 'A : b'\",\"reason\":\"BadRequest\","
         "\"code\":400}\n",                                                                                          true },
        {"too large a body, before it is sent",
         "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3145729\r\n" H,
         "HTTP/1.1 413 Request Entity Too Large/content-type: application/json/"
         "content-length: 168/connection: close//{\"kind\":\"Status\",\"apiVersion\":\"v1\","
         "\"metadata\":{},\"status\":\"Failure\",\"message\":\"Request entity too large: limit "
         "is 3145728\",\"reason\":\"RequestEntityTooLarge\",\"code\":413}\n",                                        true },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            scoped(arena_fini) struct arena a = arena_sized(4 << 10);
            struct world w;
            test_case(cases[i].name);
            world_init(&w, seed);
            io_stream_write(w.s, str_from(cases[i].ask));
            go(&w);
            if (cases[i].want)
                check_samez(show(&a, buf_str(&w.got)), cases[i].want);
            else
                check(!str_ends(buf_str(&w.got), S("0\r\n\r\n")));
            check_int(w.ended, cases[i].closes);
            world_fini(&w);
        }
    }
}

TEST(server_large_answers)
{
    static const size_t sizes[] = {1 << 10, 100 << 10, 3 << 20, 70 << 20};

    for (size_t i = 0; i < countof(sizes); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4 << 10);
        struct world w;
        world_init(&w, i);
        io_stream_write(w.s, str_printf(&a, "GET /big?%zu HTTP/1.1\r\n" H, sizes[i]));
        go(&w);
        size_t head = str_find(buf_str(&w.got), S("\r\n\r\n")) + 4;
        check_int(w.got.len - head, sizes[i]);
        world_fini(&w);
    }
}

TEST(server_streams_and_clients_that_go)
{
    struct world w;

    /* Pieces leave as they come, and the stream says when it is empty. */
    world_init(&w, 1);
    io_stream_write(w.s, S("GET /hold HTTP/1.1\r\n" H));
    go(&w);
    check(str_ends(buf_str(&w.got), S("\r\n\r\n")));
    http_respond_chunk(w.held, S("event\n"));
    go(&w);
    check(str_ends(buf_str(&w.got), S("6\r\nevent\n\r\n")));
    check_int(w.drained, 1);
    check_int(http_respond_queued(w.held), 0);

    /* The client goes: the handler is told once, and ends the request itself. */
    io_stream_close(w.s, false);
    w.s = NULL;
    check(!http_is_closed(w.held));
    go(&w);
    check_int(w.closed, 1);
    check(http_is_closed(w.held));
    http_respond_chunk(w.held, S("into the void"));
    http_respond_end(w.held);
    go(&w);
    world_fini(&w);

    /* A reader that never reads is cut off. */
    world_init(&w, 2);
    io_stream_write(w.s, S("GET /hold HTTP/1.1\r\n" H));
    go(&w);
    io_stream_pause(w.s);
    char megabyte[1 << 20];
    memset(megabyte, 'x', sizeof(megabyte));
    for (int i = 0; i < 20 && !w.closed; i++) {
        http_respond_chunk(w.held, str_of(megabyte, sizeof(megabyte)));
        io_turn(w.io);
        io_turn(w.io);
    }
    go(&w);
    check_int(w.closed, 1);
    http_abort(w.held);
    world_fini(&w);

    /* The server goes first. */
    world_init(&w, 3);
    io_stream_write(w.s, S("GET /hold HTTP/1.1\r\n" H));
    go(&w);
    http_server_free(w.server);
    w.server = NULL;
    check_int(w.closed, 1);
    http_respond_end(w.held);
    go(&w);
    check(w.ended);
    world_fini(&w);
}

TEST(server_idle_connections_end)
{
    struct world w;

    world_init(&w, 1);
    io_stream_write(w.s, S("GET / HTTP/1.1\r\n" H));
    io_run_until(w.io, instant_add(io_now(w.io), span_s(179)));
    check(!w.ended);
    io_run_until(w.io, instant_add(io_now(w.io), span_s(2)));
    check(w.ended);
    world_fini(&w);

    world_init(&w, 1); /* a head that never ends */
    io_stream_write(w.s, S("GET / HT"));
    io_run_until(w.io, instant_add(io_now(w.io), span_s(31)));
    check(w.ended);
    world_fini(&w);

    world_init(&w, 1); /* a stream may be idle for as long as it likes */
    io_stream_write(w.s, S("GET /hold HTTP/1.1\r\n" H));
    io_run_until(w.io, instant_add(io_now(w.io), span_s(3600)));
    check(!w.ended);
    http_respond_end(w.held);
    world_fini(&w);
}

static void count(void *ctx)
{
    (*(int *)ctx)++;
}

TEST(server_stops_in_order)
{
    struct world w;
    int done = 0;

    world_init(&w, 1);
    io_stream_write(w.s, S("GET /hold HTTP/1.1\r\n" H));
    go(&w);
    http_server_stop(w.server, count, &done);
    go(&w);
    check_int(done, 0);
    http_respond_end(w.held);
    go(&w);
    check(w.ended);
    io_stream_close(w.s, false);
    w.s = NULL;
    go(&w);
    check_int(done, 1);
    world_fini(&w);
}
