/* grpc.c - calls to a small server of ours, made of whole HTTP/2 answers */
#include "http/grpc.h"
#include "base/testing.h"
#include "http/http.h"

struct world {
    struct io *io;
    struct http_server *server;
    struct grpc_channel *channel;
    struct buf got;
    struct http_request *held;
    struct grpc_call *call;
    bool cancels;
    int closed;
};

static const struct http_header grpc_type = {S_INIT("content-type"),
                                             S_INIT("application/grpc")};

static void send_message(struct http_request *req, struct str message)
{
    struct buf b = {0};

    buf_byte(&b, 0);
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_byte(&b, (char)(message.len >> shift));
    buf_add(&b, message);
    http_respond_chunk(req, buf_str(&b));
    buf_fini(&b);
}

static void finish(struct http_request *req, const char *code, const char *text)
{
    struct http_header trailers[] = {
        {S("grpc-status"),  str_from(code)},
        {S("grpc-message"), str_from(text)}
    };
    http_respond_end_with(req, trailers, 2);
}

static void closed(void *ctx)
{
    ((struct world *)ctx)->closed++;
}

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;
    struct http_header only[] = {
        grpc_type,
        {S("grpc-status"),  S("5")                      },
        {S("grpc-message"), S("no%20such%20thing %zz%4")}
    };

    check_samez(http_header(req, S("te")), "trailers");
    check_samez(req->method, "POST");
    if (str_eq(req->path, S("/s/TrailersOnly"))) {
        http_respond(req, 200, only, 3, (struct str){0});
        return;
    }
    if (str_eq(req->path, S("/s/Html"))) {
        http_respond(req, 503, NULL, 0, S("<html>"));
        return;
    }
    if (str_eq(req->path, S("/s/NotGrpc"))) {
        http_respond(req, 200, NULL, 0, S("hello"));
        return;
    }
    if (str_eq(req->path, S("/s/Abort"))) {
        http_abort(req);
        return;
    }
    http_respond_start(req, 200, &grpc_type, 1);
    if (str_eq(req->path, S("/s/Hold"))) {
        w->held = req;
        http_on_closed(req, closed, w);
        buf_printf(&w->got, "timeout=%.*s ", STR_ARG(http_header(req, S("grpc-timeout"))));
        send_message(req, S("first"));
        return;
    }
    if (str_eq(req->path, S("/s/Compressed")))
        http_respond_chunk(req, S("\1\0\0\0\1x"));
    else if (str_eq(req->path, S("/s/Huge")))
        http_respond_chunk(req, S("\0\xff\0\0\0x"));
    else if (str_eq(req->path, S("/s/NoEnd")))
        http_respond_chunk(req, S("\0\0\0\0\1x"));
    else if (!str_eq(req->path, S("/s/None")))
        send_message(req, str_slice(req->body, 5, req->body.len)); /* Echo, Two */
    if (str_eq(req->path, S("/s/Two")))
        send_message(req, S("again"));
    if (str_eq(req->path, S("/s/NoEnd")))
        http_respond_end(req);
    else
        finish(req, "0", "");
}

static void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){.io = io_sim_new(seed, (struct instant){SECOND_NS})};
    w->server = http_server_new(w->io, S("unix:/d.sock"), 0, NULL, handle, w, NULL);
    w->channel = grpc_channel_new(w->io, S("unix:/d.sock"), S(""), NULL);
}
static void go(struct world *w, int64_t ms)
{
    io_run_until(w->io, instant_add(io_now(w->io), span_ms(ms)));
}
static void world_fini(struct world *w)
{
    grpc_channel_free(w->channel);
    http_server_free(w->server);
    io_run(w->io);
    io_free(w->io);
    buf_fini(&w->got);
}

static void done(void *ctx, enum grpc_code code, struct str text, struct str reply)
{
    struct world *w = ctx;
    buf_printf(&w->got, "%s '%.*s' [%.*s]", grpc_code_name((int)code), STR_ARG(text),
               STR_ARG(reply));
}

TEST(grpc_unary)
{
    static const struct {
        const char *method, *want;
    } cases[] = {
        {"/s/Echo",         "OK '' [hello]"                                                   },
        {"/s/TrailersOnly", "NOT_FOUND 'no such thing %zz%4' []"                              },
        {"/s/Html",         "UNAVAILABLE 'the server answered 503 Service Unavailable' []"    },
        {"/s/NotGrpc",      "UNKNOWN 'the server does not speak gRPC' []"                     },
        {"/s/Abort",        "UNAVAILABLE 'the server broke off its answer: INTERNAL_ERROR' []"},
        {"/s/Compressed",   "INTERNAL 'the server compressed a message unasked' []"           },
        {"/s/Huge",         "RESOURCE_EXHAUSTED 'the server's message is over 4 MiB' []"      },
        {"/s/NoEnd",        "INTERNAL 'the server did not say how it went' []"                },
        {"/s/None",         "INTERNAL 'the server did not send one message' []"               },
        {"/s/Two",          "INTERNAL 'the server did not send one message' []"               },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        for (uint64_t seed = 0; seed < 10; seed++) {
            struct world w;
            test_case(cases[i].method);
            world_init(&w, seed);
            grpc_unary(w.channel, str_from(cases[i].method), S("hello"), span_s(5), done, &w);
            check_samez(buf_str(&w.got), "");
            go(&w, 100);
            check_samez(buf_str(&w.got), cases[i].want);
            world_fini(&w);
        }
    }
}

static void message(void *ctx, struct str bytes)
{
    struct world *w = ctx;

    buf_printf(&w->got, "[%.*s] ", STR_ARG(bytes));
    if (w->cancels)
        grpc_cancel(w->call);
}
static void end(void *ctx, enum grpc_code code, struct str text)
{
    struct world *w = ctx;
    buf_printf(&w->got, "%s '%.*s'", grpc_code_name((int)code), STR_ARG(text));
}
static const struct grpc_events events = {message, end};

TEST(grpc_streams)
{
    struct world w;

    test_case("messages come one by one");
    world_init(&w, 1);
    w.call = grpc_start(w.channel, S("/s/Hold"), span_ms(1500), &events, &w);
    grpc_send(w.call, S("a"));
    go(&w, 10);
    grpc_send(w.call, S("bc"));
    grpc_send_end(w.call);
    go(&w, 100);
    check_same(w.held->body, S("\0\0\0\0\1a\0\0\0\0\2bc"));
    check_samez(buf_str(&w.got), "timeout=1500m [first] ");
    send_message(w.held, S("second"));
    go(&w, 100);
    finish(w.held, "10", "later%21");
    go(&w, 100);
    check_samez(buf_str(&w.got), "timeout=1500m [first] [second] ABORTED 'later!'");
    world_fini(&w);

    test_case("past its deadline");
    world_init(&w, 2);
    w.call = grpc_start(w.channel, S("/s/Hold"), span_ms(300), &events, &w);
    grpc_send_end(w.call);
    go(&w, 1000);
    check_samez(buf_str(&w.got),
                "timeout=300m [first] DEADLINE_EXCEEDED 'the deadline has passed'");
    check_int(w.closed, 1); /* the server was told */
    http_abort(w.held);
    world_fini(&w);

    test_case("canceled from inside a message");
    world_init(&w, 3);
    w.cancels = true;
    w.call = grpc_start(w.channel, S("/s/Hold"), span_ms(0), &events, &w);
    grpc_send_end(w.call);
    go(&w, 1000);
    check_samez(buf_str(&w.got), "timeout= [first] ");
    check_int(w.closed, 1);
    http_abort(w.held);
    world_fini(&w);

    test_case("nobody is there, then somebody is");
    world_init(&w, 4);
    http_server_free(w.server);
    grpc_unary(w.channel, S("/s/Echo"), S("x"), span_s(5), done, &w);
    go(&w, 100);
    check(str_starts(buf_str(&w.got), S("UNAVAILABLE 'cannot connect to 'unix:/d.sock'")));
    buf_clear(&w.got);
    w.server = http_server_new(w.io, S("unix:/d.sock"), 0, NULL, handle, &w, NULL);
    grpc_unary(w.channel, S("/s/Echo"), S("x"), span_s(5), done, &w);
    go(&w, 100);
    check_samez(buf_str(&w.got), "OK '' [x]");
    grpc_unary(w.channel, S("/s/Hold"), S("x"), span_s(5), done, &w); /* dropped by the free */
    world_fini(&w);
}
