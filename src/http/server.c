/* server.c - the listener, its connections, and which protocol each of them speaks */
#include "http/server_priv.h"

struct http_server {
    struct io *io;
    struct io_listener *listener;
    struct tls_server *tls;
    http_handler_fn *handler;
    void *ctx;
    struct list conns;
    size_t n_conns;
    char address[128];
    bool is_stopping;
    io_fn *stopped;
    void *stopped_ctx;
    int64_t date_s; /* of the text */
    char date[40];
};

/* ---- one connection ---- */

struct conn *conn_ref(struct conn *c)
{
    c->refs++;
    return c;
}

/* Whoever uses it afterwards holds another reference, which the compiler cannot see. */
not_inline void conn_unref(struct conn *c)
{
    if (--c->refs)
        return;
    if (c->proto)
        c->proto->free(c);
    buf_fini(&c->preface);
    arena_fini(&c->arena);
    free(c);
}

static void server_may_be_done(struct http_server *s);

void conn_close(struct conn *c, bool flush)
{
    struct http_server *s = c->server;

    if (!c->wire)
        return;
    conn_ref(c);
    wire_close(c->wire, flush);
    c->wire = NULL;
    io_timer_free(c->timer);
    c->timer = NULL;
    list_del(&c->link);
    if (s)
        s->n_conns--;
    while (!list_empty(&c->exchanges))
        exchange_gone(list_item(c->exchanges.next, struct exchange, link));
    if (c->proto && c->proto->closed)
        c->proto->closed(c);
    if (s)
        server_may_be_done(s);
    conn_unref(c); /* the wire's */
    conn_unref(c);
}

static void set_timer(struct conn *c, int64_t now)
{
    c->timer_at = c->deadline;
    io_timer_set(c->timer, (struct span){c->deadline - now});
}

static void time_is_up(void *ctx)
{
    struct conn *c = ctx;
    int64_t now = io_uptime(c->io).ns;

    if (!c->deadline)
        return; /* whoever waits again sets it again */
    if (c->deadline <= now)
        conn_close(c, false);
    else
        set_timer(c, now);
}

void conn_wait(struct conn *c, int64_t s)
{
    int64_t now;

    if (!s) {
        c->deadline = 0; /* the timer finds out: setting it for each request costs more */
        return;
    }
    if (!c->wire)
        return;
    now = io_uptime(c->io).ns;
    c->deadline = now + s * SECOND_NS;
    if (!io_timer_is_set(c->timer) || c->deadline < c->timer_at)
        set_timer(c, now);
}

http_handler_fn *conn_handler(const struct conn *c, void **ctx)
{
    *ctx = c->server ? c->server->ctx : NULL;
    return c->server ? c->server->handler : NULL;
}

struct str conn_date(struct conn *c)
{
    struct http_server *s = c->server;
    int64_t now = io_now(c->io).ns / SECOND_NS;
    struct tm tm;

    if (!s)
        return (struct str){0};
    if (s->date_s != now) {
        time_t t = (time_t)now;
        gmtime_r(&t, &tm);
        strftime(s->date, sizeof(s->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        s->date_s = now;
    }
    return str_from(s->date);
}

/* ---- which protocol ---- */

static void choose(struct conn *c, bool http2)
{
    c->proto = http2 ? &h2_server_proto : &h1_server_proto;
    if (http2)
        h2_server_init(c);
    else
        h1_server_init(c);
    if (c->is_stopping && c->wire)
        c->proto->stop(c);
}

static void ready(void *ctx)
{
    struct conn *c = ctx;

    wire_peer(c->wire, &c->arena, &c->peer);
    if (wire_is_http2(c->wire))
        choose(c, true);
    else if (wire_is_tls(c->wire))
        choose(c, false);
}

static void data(void *ctx, struct str bytes)
{
    struct conn *c = conn_ref(ctx);
    struct buf kept = {0};

    if (!c->proto) {
        /* Plain: HTTP/2 announces itself by bytes that are no HTTP/1.1 request. */
        struct str preface = S("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        buf_add(&c->preface, bytes);
        kept = c->preface;
        bytes = buf_str(&kept);
        if (bytes.len < preface.len && str_starts(preface, bytes)) {
            conn_unref(c);
            return;
        }
        c->preface = (struct buf){0};
        choose(c, str_starts(bytes, preface));
    }
    if (c->wire)
        c->proto->data(c, bytes);
    buf_fini(&kept);
    conn_unref(c);
}

static void end(void *ctx, const struct err *err)
{
    struct conn *c = conn_ref(ctx);

    if (err)
        log_debug("connection ended", "peer=%s error=\"%s\"", c->peer.io.address, err->text);
    if (c->proto)
        c->proto->end(c, err);
    else
        conn_close(c, true); /* an alert of TLS may wait */
    conn_unref(c);
}

static void drained(void *ctx)
{
    struct conn *c = conn_ref(ctx);

    if (c->proto)
        c->proto->drained(c);
    conn_unref(c);
}

static const struct wire_events events = {ready, data, end, drained};

static void accepted(void *ctx, struct io_stream *stream)
{
    struct http_server *s = ctx;

    if (s->n_conns >= HTTP_MAX_CONNS) {
        io_stream_close(stream, false);
        return;
    }
    struct conn *c = mem_zero(1, sizeof(*c));
    c->server = s;
    c->io = s->io;
    c->refs = 1; /* the wire's */
    list_init(&c->exchanges);
    list_add(&s->conns, &c->link);
    s->n_conns++;
    c->timer = io_timer_new(s->io, time_is_up, c);
    c->wire = wire_server(s->io, stream, s->tls, &events, c);
    conn_wait(c, CONN_READ_MAX_S);
}

/* ---- the server ---- */

struct http_server *http_server_new(struct io *io, struct str address, uint32_t mode,
                                    struct tls_server *tls, http_handler_fn *handler, void *ctx,
                                    struct err *err)
{
    struct http_server *s = mem_zero(1, sizeof(*s));

    s->io = io;
    s->tls = tls;
    s->handler = handler;
    s->ctx = ctx;
    list_init(&s->conns);
    s->listener = io_listen(io, address, mode, accepted, s, err);
    if (!s->listener) {
        free(s);
        return NULL;
    }
    snprintf(s->address, sizeof(s->address), "%.*s", STR_ARG(io_listener_address(s->listener)));
    return s;
}

struct str http_server_address(const struct http_server *s)
{
    return str_from(s->address);
}

static void stopped_task(void *ctx)
{
    struct http_server *s = ctx;
    io_fn *fn = s->stopped;

    s->stopped = NULL;
    if (fn)
        fn(s->stopped_ctx);
}

static void server_may_be_done(struct http_server *s)
{
    if (s->is_stopping && list_empty(&s->conns)) {
        io_later_cancel(s->io, stopped_task, s);
        io_later(s->io, stopped_task, s);
    }
}

void http_server_stop(struct http_server *s, io_fn *done, void *ctx)
{
    s->is_stopping = true;
    s->stopped = done;
    s->stopped_ctx = ctx;
    io_listener_close(s->listener);
    s->listener = NULL;
    list_each (l, &s->conns) {
        struct conn *c = list_item(l, struct conn, link);
        c->is_stopping = true;
        if (c->proto)
            c->proto->stop(c);
        else
            conn_close(c, false);
    }
    server_may_be_done(s);
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    io_listener_close(s->listener);
    s->is_stopping = false;
    while (!list_empty(&s->conns)) {
        struct conn *c = list_item(s->conns.next, struct conn, link);
        conn_ref(c);
        conn_close(c, true);
        c->server = NULL;
        conn_unref(c);
    }
    io_later_cancel(s->io, stopped_task, s);
    free(s);
}
