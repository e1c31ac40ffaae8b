/* health.c - what a gRPC probe makes of what a server says of its health */
#include "node/check.h"

#include "base/testing.h"
#include "http/http.h"
#include "io/io.h"

struct world {
    struct io *io;
    const char *answer; /* which of the server's */
    struct buf got;
};

static void say_health(struct http_request *req, struct str message, const char *code)
{
    static const struct http_header type = {S_INIT("content-type"), S_INIT("application/grpc")};
    struct http_header trailers[] = {
        {S("grpc-status"), str_from(code)}
    };

    http_respond_start(req, 200, &type, 1);
    if (message.len)
        http_respond_chunk(req, message);
    http_respond_end_with(req, trailers, 1);
}

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;

    check_samez(req->path, "/grpc.health.v1.Health/Check");
    buf_printf(&w->got, "asked %zu ", req->body.len);
    if (str_eqz(str_from(w->answer), "well"))
        say_health(req, S("\0\0\0\0\2\x08\1"), "0");
    else if (str_eqz(str_from(w->answer), "ill"))
        say_health(req, S("\0\0\0\0\2\x08\2"), "0");
    else if (str_eqz(str_from(w->answer), "nothing"))
        say_health(req, S("\0\0\0\0\0"), "0");
    else if (str_eqz(str_from(w->answer), "no such service"))
        say_health(req, S(""), "5");
    else if (str_eqz(str_from(w->answer), "no such method"))
        say_health(req, S(""), "12");
    else
        http_respond(req, 404, NULL, 0, S("a web page"));
}

static void told(void *ctx, bool is_fine, struct str why)
{
    struct world *w = ctx;

    buf_printf(&w->got, "%s%.*s", is_fine ? "fine" : "", STR_ARG(why));
}

TEST(health_over_grpc)
{
    static const struct {
        const char *answer, *service, *want;
    } cases[] = {
        {"well",            "",   "asked 5 fine"                                              },
        {"well",            "db", "asked 9 fine"                                              },
        {"ill",             "",   "asked 5 service unhealthy (responded with \"NOT_SERVING\")"},
        {"nothing",         "",   "asked 5 service unhealthy (responded with \"UNKNOWN\")"    },
        {"no such service", "db", "asked 9 health rpc failed: NOT_FOUND: "                    },
        {"no such method",  "",
         "asked 5 this server does not implement the grpc health protocol "
         "(grpc.health.v1.Health)"                                                            },
        {"a page",          "",
         "asked 5 this server does not implement the grpc health protocol "
         "(grpc.health.v1.Health)"                                                            },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct world w = {.io = io_sim_new(i, (struct instant){SECOND_NS}),
                          .answer = cases[i].answer};
        struct http_server *server =
            http_server_new(w.io, S("unix:/h.sock"), 0, NULL, handle, &w, NULL);
        struct check_spec spec = {.how = CHECK_GRPC,
                                  .address = S("unix:/h.sock"),
                                  .target = str_from(cases[i].service),
                                  .timeout = span_s(1)};
        test_case(cases[i].answer);
        check_start(w.io, NULL, &spec, told, &w);
        io_run_until(w.io, instant_add(io_now(w.io), span_s(3)));
        check_samez(buf_str(&w.got), cases[i].want);
        http_server_free(server);
        io_run(w.io);
        io_free(w.io);
        buf_fini(&w.got);
    }
}

TEST(nobody_there_is_unhealthy)
{
    struct world w = {.io = io_sim_new(1, (struct instant){SECOND_NS})};
    struct check_spec spec = {
        .how = CHECK_GRPC, .address = S("unix:/nobody.sock"), .timeout = span_s(1)};

    check_start(w.io, NULL, &spec, told, &w);
    io_run_until(w.io, instant_add(io_now(w.io), span_s(3)));
    check(buf_str(&w.got).len > 0);
    check(!str_has(buf_str(&w.got), S("fine")));
    io_free(w.io);
    buf_fini(&w.got);
}
