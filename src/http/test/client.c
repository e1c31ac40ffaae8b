/* client.c - our client against our server, over every protocol, in a simulated world
 *
 * The same rows run over HTTP/1.1, HTTP/2, both over TLS, and through a handler in this
 * process; each under several seeds, which cut the bytes differently.
 */
#include "base/testing.h"
#include "http/http.h"
#include "http/tls.h"

enum way { H1, H2, H1_TLS, H2_TLS, LOCAL, N_WAYS };
static const char *const way_names[] = {"HTTP/1.1", "HTTP/2", "HTTP/1.1 over TLS",
                                        "HTTP/2 over TLS", "in process"};

struct world {
    struct io *io;
    enum way way;
    struct arena arena;
    struct tls_server *tls;
    struct tls_client *tls_client;
    struct http_server *server;
    struct http_client *client;
    struct http_request *held;
    int closed, drained;
};

struct answer {
    struct world *w;
    struct http_call *call;
    struct buf got;
    int status, ended;
    struct err err; /* code OK: whole */
    bool cancel_at_data;
};

/* ---- the server's side ---- */

static void closed(void *ctx)
{
    ((struct world *)ctx)->closed++;
}
static void drained(void *ctx)
{
    ((struct world *)ctx)->drained++;
}

static const struct http_header text[] = {
    {S_INIT("Content-Type"), S_INIT("text/plain")},
    {S_INIT("x-two"),        S_INIT("a\r\nb")    }
};

static void respond_big(struct http_request *req)
{
    uint64_t n = 0;
    struct buf b = {0};

    str_to_u64(req->query, &n);
    memset(buf_room(&b, n), 'x', n);
    b.len = n;
    http_respond_buf(req, 200, text, 1, &b);
}

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;

    if (str_eq(req->path, S("/hold"))) {
        w->held = req;
        http_on_closed(req, closed, w);
        http_on_drained(req, drained, w);
        http_respond_start(req, 200, text, 2);
    } else if (str_eq(req->path, S("/cut"))) {
        http_respond_start(req, 200, text, 1);
        http_respond_chunk(req, S("half"));
        http_abort(req);
    } else if (str_eq(req->path, S("/abort"))) {
        http_abort(req);
    } else if (str_eq(req->path, S("/big"))) {
        respond_big(req);
    } else if (str_eq(req->path, S("/empty"))) {
        http_respond(req, 204, NULL, 0, (struct str){0});
    } else if (str_eq(req->path, S("/who"))) {
        struct str group = req->peer->n_cert_groups ? req->peer->cert_groups[0] : S("nobody");
        http_respond(req, 200, text, 2,
                     str_printf(req->arena, "%.*s %.*s %zu", STR_ARG(req->peer->cert_name),
                                STR_ARG(group), req->peer->cert_digest.len));
    } else {
        http_respond(req, str_eq(req->path, S("/404")) ? 404 : 200, text, 2,
                     str_printf(req->arena, "%.*s %.*s %.*s [%.*s]", STR_ARG(req->method),
                                STR_ARG(req->path), STR_ARG(http_header(req, S("x-one"))),
                                STR_ARG(req->body)));
    }
}

/* ---- the world ---- */

static void make_tls(struct world *w)
{
    static struct tls_pem ca, server, client; /* made once: keys cost time */
    static const struct str groups[] = {S_INIT("system:masters")};
    static const struct str host = S_INIT("berth.test");
    static struct arena kept;
    struct instant now = io_now(w->io);
    struct err err;

    if (!ca.cert.len) {
        tls_ca_new(&kept, S("ca"), now, &ca, &err);
        tls_cert_new(
            &kept, &ca,
            &(struct tls_ask){.name = S("s"), .hosts = &host, .n_hosts = 1, .is_server = true},
            now, &server, &err);
        tls_cert_new(
            &kept, &ca,
            &(struct tls_ask){
                .name = S("admin"), .groups = groups, .n_groups = 1, .is_client = true},
            now, &client, &err);
    }
    w->tls = tls_server_new(&server, ca.cert, &err);
    w->tls_client = tls_client_new(
        &(struct tls_client_options){.ca = ca.cert, .own = client, .server_name = host}, &err);
    check(w->tls && w->tls_client);
}

static void world_init(struct world *w, enum way way, uint64_t seed)
{
    bool tls = way == H1_TLS || way == H2_TLS;
    /* OpenSSL looks at the real clock. */
    *w = (struct world){
        .io = io_sim_new(seed, (struct instant){(int64_t)time(NULL) * SECOND_NS}), .way = way};
    if (tls)
        make_tls(w);
    w->server = http_server_new(w->io, S("sim:s"), 0, w->tls, handle, w, NULL);
    w->client = http_client_new(w->io, &(struct http_client_options){
                                           .address = S("sim:s"),
                                           .tls = w->tls_client,
                                           .plain_http2 = way == H2,
                                           .no_http2 = way == H1_TLS,
                                       });
}

static void go(struct world *w)
{
    io_run_until(w->io, instant_add(io_now(w->io), span_ms(100)));
}

static void world_fini(struct world *w)
{
    http_client_free(w->client);
    http_server_free(w->server);
    io_run(w->io);
    tls_server_free(w->tls);
    tls_client_free(w->tls_client);
    io_free(w->io);
    arena_fini(&w->arena);
}

static void got_head(void *ctx, int status, const struct http_header *headers, size_t n)
{
    struct answer *x = ctx;

    check_int(x->status, 0);
    x->status = status;
    if (status == 200 && http_find(headers, n, S("x-two")).len && x->w->way != LOCAL)
        check_samez(http_find(headers, n, S("x-two")), "a  b");
}
static void got_data(void *ctx, struct str bytes)
{
    struct answer *x = ctx;

    buf_add(&x->got, bytes);
    if (x->cancel_at_data)
        http_call_cancel(x->call);
}
static void got_end(void *ctx, const struct err *err)
{
    struct answer *x = ctx;

    x->ended++;
    x->call = NULL;
    if (err)
        x->err = *err;
}
static const struct http_call_events events = {got_head, got_data, got_end};

static void ask(struct world *w, struct answer *x, const char *method, const char *target,
                struct str body)
{
    static const struct http_peer nobody;
    static const struct http_header one = {S_INIT("X-One"), S_INIT("1")};
    struct http_ask a = {.method = str_from(method),
                         .target = str_from(target),
                         .headers = &one,
                         .n_headers = 1,
                         .body = body};

    *x = (struct answer){.w = w};
    x->call = w->way == LOCAL ? http_call_local(w->io, handle, w, &nobody, &a, &events, x)
                              : http_call(w->client, &a, &events, x);
}

static void each_way(void (*fn)(struct world *), uint64_t seeds)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 10);

    for (enum way way = 0; way < N_WAYS; way++) {
        for (uint64_t seed = 0; seed < seeds; seed++) {
            struct world w;
            test_case(str_z(&a, str_printf(&a, "%s, seed %" PRIu64, way_names[way], seed)));
            world_init(&w, way, seed);
            fn(&w);
            world_fini(&w);
        }
    }
}

/* ---- rows ---- */

static void conversations(struct world *w)
{
    static const struct {
        const char *method, *target, *body;
        int status;
        const char *want;
    } cases[] = {
        {"GET",    "/a?b=c", "",      200, "GET /a 1 []"      },
        {"POST",   "/p",     "hello", 200, "POST /p 1 [hello]"},
        {"GET",    "/404",   "",      404, "GET /404 1 []"    },
        {"DELETE", "/empty", "",      204, ""                 },
        {"HEAD",   "/a",     "",      200, ""                 },
        {"PUT",    "/p",     "",      200, "PUT /p 1 []"      },
    };
    struct answer all[countof(cases)], one;

    for (size_t i = 0; i < countof(cases); i++) { /* one after the other */
        ask(w, &one, cases[i].method, cases[i].target, str_from(cases[i].body));
        check_int(one.status, 0);
        go(w);
        check_int(one.ended, 1);
        check_int(one.err.code, ERR_OK);
        check_int(one.status, cases[i].status);
        if (w->way != LOCAL || !str_eqz(S("HEAD"), cases[i].method))
            check_samez(buf_str(&one.got), cases[i].want);
        buf_fini(&one.got);
    }
    for (size_t i = 0; i < countof(cases); i++) /* and all at once */
        ask(w, &all[i], cases[i].method, cases[i].target, str_from(cases[i].body));
    go(w);
    for (size_t i = 0; i < countof(cases); i++) {
        check_int(all[i].ended, 1);
        check_int(all[i].status, cases[i].status);
        buf_fini(&all[i].got);
    }
}
TEST(client_conversations)
{
    each_way(conversations, 10);
}

static void large(struct world *w)
{
    static const size_t sizes[] = {1000, 200000, 5000000};
    struct answer x[countof(sizes)], up;
    char target[32];
    struct buf body = {0};

    for (size_t i = 0; i < countof(sizes); i++) {
        snprintf(target, sizeof(target), "/big?%zu", sizes[i]);
        ask(w, &x[i], "GET", target, (struct str){0});
    }
    memset(buf_room(&body, HTTP_MAX_BODY + 1), 'u', HTTP_MAX_BODY + 1);
    body.len = HTTP_MAX_BODY - 3;
    ask(w, &up, "POST", "/p", buf_str(&body));
    go(w);
    for (size_t i = 0; i < countof(sizes); i++) {
        check_int(x[i].got.len, sizes[i]);
        check_int(x[i].ended, 1);
        buf_fini(&x[i].got);
    }
    check_int(up.got.len, body.len + 12);
    buf_fini(&up.got);
    if (w->way != LOCAL) { /* one byte more than is read */
        body.len = HTTP_MAX_BODY + 1;
        ask(w, &up, "POST", "/p", buf_str(&body));
        go(w);
        check_int(up.status, 413);
        check(str_has(buf_str(&up.got), S("\"reason\":\"RequestEntityTooLarge\"")));
        buf_fini(&up.got);
    }
    buf_fini(&body);
}
TEST(client_large_bodies)
{
    each_way(large, 3);
}

static void streams(struct world *w)
{
    struct answer x, y;

    ask(w, &x, "GET", "/hold", (struct str){0});
    go(w);
    check_int(x.status, 200); /* the head comes before the first piece */
    for (int i = 0; i < 3; i++) {
        http_respond_chunk(w->held, S("tick "));
        go(w);
    }
    check_samez(buf_str(&x.got), "tick tick tick ");
    check(w->drained >= 1);
    ask(w, &y, "GET", "/a", (struct str){0}); /* another call is not held up */
    go(w);
    check_int(y.ended, 1);
    buf_fini(&y.got);
    http_respond_end(w->held);
    go(w);
    check_int(x.ended, 1);
    check_int(x.err.code, ERR_OK);
    buf_fini(&x.got);

    /* The caller cancels; the handler hears of it once and ends the request. */
    ask(w, &x, "GET", "/hold", (struct str){0});
    go(w);
    http_call_cancel(x.call);
    go(w);
    check_int(x.ended, 0);
    check_int(w->closed, 1);
    http_respond_chunk(w->held, S("void"));
    http_respond_end(w->held);
    ask(w, &x, "GET", "/hold", (struct str){0});
    x.cancel_at_data = true;
    go(w);
    http_respond_chunk(w->held, S("one"));
    go(w);
    check_int(x.ended, 0);
    check_int(w->closed, 2);
    http_abort(w->held);
    buf_fini(&x.got);
}
TEST(client_streams)
{
    each_way(streams, 5);
}

static void broken(struct world *w)
{
    struct answer x;

    ask(w, &x, "GET", "/cut", (struct str){0});
    go(w);
    check_int(x.ended, 1);
    check_int(x.err.code, ERR_UNAVAILABLE);
    buf_fini(&x.got);
    ask(w, &x, "POST", "/abort", S("body"));
    go(w);
    check_int(x.ended, 1);
    check_int(x.status, 0);
    check_int(x.err.code, ERR_UNAVAILABLE);
    ask(w, &x, "GET", "/a", (struct str){0}); /* and the next one works */
    go(w);
    check_int(x.status, 200);
    buf_fini(&x.got);
}
TEST(client_broken_answers)
{
    each_way(broken, 5);
}

static void slow_reader(struct world *w)
{
    struct answer x;
    char big[64 << 10];

    if (w->way != H1 && w->way != H2)
        return;
    memset(big, 'x', sizeof(big));
    ask(w, &x, "GET", "/hold", (struct str){0});
    go(w);
    /* Nothing is read while no turn runs: the backlog has its limit. */
    for (int i = 0; i < 300; i++)
        http_respond_chunk(w->held, str_of(big, sizeof(big)));
    go(w);
    check_int(w->closed, 1);
    check(http_is_closed(w->held));
    http_respond_end(w->held);
    go(w);
    check_int(x.ended, 1);
    check_int(x.err.code, ERR_UNAVAILABLE);
    buf_fini(&x.got);
}
TEST(client_slow_reader)
{
    each_way(slow_reader, 2);
}

static void server_stops(struct world *w)
{
    struct answer x, y;

    if (w->way == LOCAL)
        return;
    ask(w, &x, "GET", "/hold", (struct str){0});
    go(w);
    int done = 0;
    http_server_stop(w->server, closed, w);
    go(w);
    check_int(w->closed, 0); /* the stream is still there */
    ask(w, &y, "GET", "/a", (struct str){0});
    go(w);
    check_int(y.ended, 1);
    check_int(y.err.code, ERR_UNAVAILABLE);
    http_respond_end(w->held);
    go(w);
    check_int(x.ended, 1);
    check_int(x.err.code, ERR_OK);
    io_run_until(w->io, instant_add(io_now(w->io), span_s(5)));
    check_int(w->closed, 1);
    (void)done;
    buf_fini(&x.got);
}
TEST(client_server_stops)
{
    each_way(server_stops, 3);
}

static void reconnects(struct world *w)
{
    struct answer x;

    if (w->way == LOCAL)
        return;
    for (int i = 0; i < 3; i++) {
        ask(w, &x, "GET", "/a", (struct str){0});
        go(w);
        check_int(x.status, 200);
        buf_fini(&x.got);
        /* The server restarts; then both sides forget idle connections. */
        http_server_free(w->server);
        w->server = http_server_new(w->io, S("sim:s"), 0, w->tls, handle, w, NULL);
        if (i == 1)
            io_run_until(w->io, instant_add(io_now(w->io), span_s(400)));
    }
}
TEST(client_reconnects)
{
    each_way(reconnects, 5);
}

TEST(client_knows_the_certificate)
{
    for (enum way way = H1_TLS; way <= H2_TLS; way++) {
        struct world w;
        struct answer x;
        test_case(way_names[way]);
        world_init(&w, way, 1);
        ask(&w, &x, "GET", "/who", (struct str){0});
        go(&w);
        check_samez(buf_str(&x.got), "admin system:masters 64");
        buf_fini(&x.got);
        world_fini(&w);
    }
}

TEST(client_distrusts)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct tls_pem other;
    struct world w;
    struct answer x;
    struct err err;

    world_init(&w, H2_TLS, 1);
    tls_ca_new(&a, S("other"), io_now(w.io), &other, &err);
    tls_client_free(w.tls_client);
    http_client_free(w.client);
    w.tls_client = tls_client_new(
        &(struct tls_client_options){.ca = other.cert, .server_name = S("berth.test")}, &err);
    w.client = http_client_new(
        w.io, &(struct http_client_options){.address = S("sim:s"), .tls = w.tls_client});
    ask(&w, &x, "GET", "/a", (struct str){0});
    go(&w);
    check_int(x.ended, 1);
    check_err(&x.err, ERR_UNAVAILABLE, "is not trusted");
    world_fini(&w);

    world_init(&w, H2_TLS, 1); /* the right authority, another name */
    tls_client_free(w.tls_client);
    http_client_free(w.client);
    w.tls_client = tls_client_new(
        &(struct tls_client_options){.ca = other.cert, .server_name = S("x"), .insecure = true},
        &err);
    w.client = http_client_new(
        w.io, &(struct http_client_options){.address = S("sim:s"), .tls = w.tls_client});
    ask(&w, &x, "GET", "/a", (struct str){0});
    go(&w);
    check_int(x.status, 200); /* insecure believes anything */
    buf_fini(&x.got);
    world_fini(&w);
}

TEST(client_without_a_server)
{
    struct world w;
    struct answer x, y;

    world_init(&w, H1, 1);
    http_server_free(w.server);
    w.server = NULL;
    ask(&w, &x, "GET", "/a", (struct str){0});
    ask(&w, &y, "GET", "/b", (struct str){0});
    go(&w);
    check_err(&x.err, ERR_UNAVAILABLE, "cannot connect to 'sim:s': connection refused");
    check_int(y.ended, 1);
    world_fini(&w);
}

static void give_up(void *ctx)
{
    io_stop(ctx);
}

/* A refusal on a unix socket comes at once, before the request has a connection. */
TEST(client_without_a_server_really)
{
    struct err err;
    struct world w = {.io = io_real_new(&err), .way = H1};
    struct io_timer *timer = io_timer_new(w.io, give_up, w.io);
    struct answer x;

    w.client = http_client_new(
        w.io, &(struct http_client_options){.address = S("unix:/nowhere/berth-test.sock")});
    ask(&w, &x, "GET", "/a", (struct str){0});
    io_timer_set(timer, span_ms(300));
    io_run(w.io);
    check_int(x.ended, 1);
    check_err(&x.err, ERR_UNAVAILABLE, "cannot connect to 'unix:/nowhere/berth-test.sock'");
    io_timer_free(timer);
    world_fini(&w);
}

static void turn_away(void *ctx, struct io_stream *stream)
{
    ++*(int *)ctx;
    io_stream_close(stream, true);
}

static void is_turned_away(struct world *w)
{
    struct answer x[3];
    int n_accepted = 0;

    if (w->way == LOCAL)
        return;
    http_server_free(w->server);
    w->server = NULL;
    struct io_listener *l = io_listen(w->io, S("sim:s"), 0, turn_away, &n_accepted, NULL);
    for (size_t i = 0; i < countof(x); i++)
        ask(w, &x[i], "GET", "/a", (struct str){0});
    for (int i = 0; i < 10000 && io_turn(w->io); i++)
        ;
    for (size_t i = 0; i < countof(x); i++) {
        check_int(x[i].ended, 1);
        check_int(x[i].err.code, ERR_UNAVAILABLE);
    }
    check(n_accepted <= 3);
    io_listener_close(l);
}
TEST(client_is_turned_away)
{
    each_way(is_turned_away, 20);
}

static void never(void *ctx, struct http_request *req)
{
    ((struct world *)ctx)->held = req;
}
TEST(client_timeout)
{
    for (enum way way = H1; way <= H2; way++) {
        struct world w;
        struct answer x = {.w = &w};
        test_case(way_names[way]);
        world_init(&w, way, 1);
        http_server_free(w.server);
        w.server = http_server_new(w.io, S("sim:s"), 0, NULL, never, &w, NULL);
        http_call(
            w.client,
            &(struct http_ask){.method = S("GET"), .target = S("/"), .timeout = span_s(7)},
            &events, &x);
        io_run_until(w.io, instant_add(io_now(w.io), span_s(6)));
        check_int(x.ended, 0);
        io_run_until(w.io, instant_add(io_now(w.io), span_s(2)));
        check_err(&x.err, ERR_TIMEOUT, "GET /: no answer within 7000 ms");
        http_abort(w.held);
        world_fini(&w);
    }
}

TEST(client_under_faults)
{
    /* Streams break at random: every call ends, whole or with an error, and nothing leaks. */
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct world w;
        struct answer x[20];
        world_init(&w, seed % 2 ? H2 : H1, seed);
        io_sim_set_faults(w.io,
                          (struct io_sim_faults){.break_one_in = 20, .max_delay = span_ms(20)});
        for (size_t i = 0; i < countof(x); i++) {
            ask(&w, &x[i], i % 3 ? "GET" : "POST", i % 4 ? "/a" : "/big?100000", S("b"));
            if (i % 5 == 0)
                go(&w);
        }
        io_run_until(w.io, instant_add(io_now(w.io), span_s(60)));
        for (size_t i = 0; i < countof(x); i++) {
            check_int(x[i].ended, 1);
            check(x[i].status == 200 || x[i].err.code == ERR_UNAVAILABLE);
            buf_fini(&x[i].got);
        }
        world_fini(&w);
    }
}
