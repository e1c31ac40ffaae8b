/* http.c - what a turn, a timer, a request and a watch event cost, both sides in one process
 *
 * Real sockets of this machine; one loop plays client and server, so a figure holds the work of
 * both. Prints one figure a line, `name value unit`; the smallest of several rounds.
 */
#include "http/http.h"
#include "http/tls.h"

#define ROUNDS 5
#define CALLS 4000
#define IN_FLIGHT 32
#define WATCHERS 500
#define EVENTS 20

static void print(const char *name, double ns)
{
    printf("%-44s %10.1f ns\n", name, ns);
}

/* ---- io ---- */

static void count(void *ctx)
{
    ++*(size_t *)ctx;
}

static void turns(struct io *io)
{
    size_t n = 0, want = 100000;
    double best = 1e18;
    struct io_timer *t[100];

    for (int round = 0; round < ROUNDS; round++) {
        struct span start = io_uptime_now(io);
        for (n = 0; n < want;) {
            for (int i = 0; i < 100; i++)
                io_later(io, count, &n);
            io_turn(io);
        }
        best = MIN(best, (double)(io_uptime_now(io).ns - start.ns) / (double)want);
    }
    print("io/later, 100 a turn", best);

    best = 1e18;
    for (size_t i = 0; i < countof(t); i++)
        t[i] = io_timer_new(io, count, &n);
    for (int round = 0; round < ROUNDS; round++) {
        struct span start = io_uptime_now(io);
        for (size_t i = 0; i < want; i++)
            io_timer_set(t[i % countof(t)], span_s((int64_t)(i * 7919 % 1000 + 1)));
        best = MIN(best, (double)(io_uptime_now(io).ns - start.ns) / (double)want);
    }
    print("io/timer set, among 100", best);
    for (size_t i = 0; i < countof(t); i++)
        io_timer_free(t[i]);
}

/* ---- requests ---- */

struct world {
    struct io *io;
    struct tls_server *tls;
    struct tls_client *tls_client;
    struct http_request *watches[WATCHERS];
    size_t n_watches;
    struct http_client *client;
    bool is_local;
    size_t left, running, received;
};

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;
    static const struct http_header json = {S_INIT("content-type"), S_INIT("application/json")};

    if (str_eq(req->path, S("/watch"))) {
        w->watches[w->n_watches++] = req;
        http_respond_start(req, 200, &json, 1);
        return;
    }
    http_respond(req, 200, &json, 1, S("{\"kind\":\"Status\",\"status\":\"Success\"}"));
}

static void ask(struct world *w, const char *target);

static void got_data(void *ctx, struct str bytes)
{
    ((struct world *)ctx)->received += bytes.len;
}
static void got_end(void *ctx, const struct err *err)
{
    struct world *w = ctx;

    if (err)
        die("a call failed: %s", err->text);
    w->running--;
    if (w->left)
        ask(w, "/apis/batch/v1/namespaces/default/jobs/a");
    else if (!w->running)
        io_stop(w->io);
}
static const struct http_call_events events = {NULL, got_data, got_end, NULL};

static void ask(struct world *w, const char *target)
{
    static const struct http_header headers[] = {
        {S_INIT("accept"),     S_INIT("application/json")       },
        {S_INIT("user-agent"), S_INIT("kubectl/v1.37.0 (linux)")}
    };
    static const struct http_peer nobody;
    struct http_ask a = {.method = S("GET"),
                         .target = str_from(target),
                         .headers = headers,
                         .n_headers = countof(headers)};

    w->left -= w->left > 0;
    w->running++;
    if (w->is_local)
        http_call_local(w->io, handle, w, &nobody, &a, &events, w);
    else
        http_call(w->client, &a, &events, w);
}

static void requests(struct world *w, const char *name)
{
    double best = 1e18;

    for (int round = 0; round < ROUNDS; round++) {
        struct span start = io_uptime_now(w->io);
        w->left = CALLS;
        for (int i = 0; i < IN_FLIGHT; i++)
            ask(w, "/apis/batch/v1/namespaces/default/jobs/a");
        io_run(w->io);
        best = MIN(best, (double)(io_uptime_now(w->io).ns - start.ns) / CALLS);
    }
    print(name, best);
}

/* One event to all watchers, until all have it. */
static void watches(struct world *w, const char *name)
{
    static const char line[] = "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Job\"}}\n";
    size_t n = w->n_watches = 0;
    double best = 1e18;

    while (n < WATCHERS) {
        for (int i = 0; i < 100 && n < WATCHERS; i++, n++)
            ask(w, "/watch");
        while (w->n_watches < n)
            io_turn(w->io);
    }
    for (int round = 0; round < EVENTS; round++) {
        struct span start = io_uptime_now(w->io);
        w->received = 0;
        for (size_t i = 0; i < WATCHERS; i++)
            http_respond_chunk(w->watches[i], str_from(line));
        while (w->received < WATCHERS * (sizeof(line) - 1))
            io_turn(w->io);
        best = MIN(best, (double)(io_uptime_now(w->io).ns - start.ns) / WATCHERS);
    }
    for (size_t i = 0; i < WATCHERS; i++)
        http_respond_end(w->watches[i]);
    w->left = 0;
    io_run(w->io);
    print(name, best);
}

static void way(struct world *w, const char *name, bool http2, bool tls)
{
    struct err err;
    char text[64];
    struct http_server *s =
        http_server_new(w->io, S("127.0.0.1:0"), 0, tls ? w->tls : NULL, handle, w, &err);
    if (!s)
        die("%s", err.text);
    w->client = http_client_new(w->io, &(struct http_client_options){
                                           .address = http_server_address(s),
                                           .tls = tls ? w->tls_client : NULL,
                                           .plain_http2 = http2,
                                           .no_http2 = !http2,
                                       });
    snprintf(text, sizeof(text), "http/request, %s", name);
    requests(w, text);
    if (http2) {
        snprintf(text, sizeof(text), "http/event to one of %d watchers, %s", WATCHERS, name);
        watches(w, text);
    }
    http_client_free(w->client);
    http_server_free(s);
}

static void certificates(struct world *w, struct arena *a)
{
    static const struct str host = S_INIT("127.0.0.1");
    struct tls_pem ca, own;
    struct err err;
    struct span start = io_uptime_now(w->io);

    if (tls_ca_new(a, S("ca"), io_now(w->io), &ca, &err) < 0 ||
        tls_cert_new(
            a, &ca,
            &(struct tls_ask){.name = S("s"), .hosts = &host, .n_hosts = 1, .is_server = true},
            io_now(w->io), &own, &err) < 0)
        die("%s", err.text);
    print("tls/an authority and a certificate", (double)(io_uptime_now(w->io).ns - start.ns));
    w->tls = tls_server_new(&own, S(""), &err);
    w->tls_client =
        tls_client_new(&(struct tls_client_options){.ca = ca.cert, .server_name = host}, &err);
}

int main(void)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct world w = {0};
    struct err err;

    if (!(w.io = io_real_new(&err)))
        die("%s", err.text);
    turns(w.io);
    certificates(&w, &a);
    way(&w, "HTTP/1.1", false, false);
    way(&w, "HTTP/2", true, false);
    way(&w, "HTTP/1.1 over TLS", false, true);
    way(&w, "HTTP/2 over TLS", true, true);
    w.is_local = true;
    requests(&w, "http/request, in process");
    tls_server_free(w.tls);
    tls_client_free(w.tls_client);
    io_free(w.io);
    return 0;
}
