/* h1_server.c - HTTP/1.1 on one connection: a request, its answer, the next
 *
 *     HEAD ──▶ BODY ──▶ ANSWER ──▶ HEAD …      one request at a time; those that are sent
 *       │        │         │                   ahead wait in `in`, up to MAX_AHEAD
 *       └────────┴─────────┼──────▶ CLOSING    our last answer is on its way; what comes now
 *                          │                   is thrown away until the client has read it
 *                          └──────▶ TUNNEL     another protocol took over
 */
#include "http/h1.h"
#include "http/server_priv.h"

#define MAX_AHEAD ((size_t)64 << 10)
#define PIECE ((size_t)256 << 10) /* of a long answer, handed to the wire at a time */
#define WHOLE ((size_t)1 << 20)   /* an answer up to this is handed over without a copy */

enum h1_state { HEAD, BODY, ANSWER, CLOSING, TUNNEL };

struct http_tunnel {
    struct conn *conn; /* counted */
    const struct http_tunnel_events *events;
    void *ctx;
    bool has_ended;
};

struct h1 {
    enum h1_state state;
    struct buf in;
    size_t scan; /* of the head in `in` */
    struct exchange *x;
    struct h1_chunked *chunked; /* in the request's arena; NULL: by length */
    uint64_t left;              /* of a body with a length */
    struct http_tunnel *tunnel; /* NULL: none, or closed by its owner */
    bool keep_alive, is_1_0, runs;
};

static const struct exchange_ops ops;

void h1_server_init(struct conn *c)
{
    c->state = mem_zero(1, sizeof(struct h1));
}

static void h1_free(struct conn *c)
{
    struct h1 *h = c->state;

    buf_fini(&h->in);
    free(h);
}

/* ---- reading requests ---- */

static void start_closing(struct conn *c)
{
    struct h1 *h = c->state;

    h->state = CLOSING;
    buf_fini(&h->in);
    if (!c->wire)
        return;
    wire_resume(c->wire);
    wire_shutdown(c->wire);
    conn_wait(c, CONN_LINGER_S);
}

static int code_of(const struct err *err, const struct h1_head *head)
{
    if (err->code == ERR_LIMIT)
        return 431;
    if (err->code == ERR_UNSUPPORTED && head->status)
        return head->status;
    return 400;
}

/* Answers what cannot be served and ends the connection after it. */
static void refuse(struct conn *c, int status, struct str message)
{
    struct h1 *h = c->state;

    h->keep_alive = false;
    h->state = ANSWER;
    if (!h->x)
        h->x = exchange_new(c->io, c, &ops);
    h->x->owner = h;
    exchange_refuse(h->x, status, message);
}

static void dispatch(struct conn *c)
{
    struct h1 *h = c->state;
    void *ctx;
    http_handler_fn *handler = conn_handler(c, &ctx);

    h->state = ANSWER;
    h->chunked = NULL;
    conn_wait(c, 0);
    exchange_dispatch(h->x, handler, ctx);
}

/* The head is read: is there a body, and do we want it? */
static void start_body(struct conn *c, const struct h1_head *head)
{
    struct h1 *h = c->state;
    struct exchange *x = h->x;

    if (head->length > HTTP_MAX_BODY) {
        refuse(c, 413, S("Request entity too large: limit is 3145728"));
        return;
    }
    if (head->body == H1_BODY_NONE) {
        dispatch(c);
        return;
    }
    h->state = BODY;
    h->left = head->length;
    if (head->body == H1_BODY_CHUNKED)
        h->chunked = arena_new(&x->arena, struct h1_chunked);
    if (head->expects_continue && !head->minor)
        return;
    if (head->expects_continue)
        wire_write(c->wire, S("HTTP/1.1 100 Continue\r\n\r\n"));
}

static size_t read_head(struct conn *c, struct str in)
{
    struct h1 *h = c->state;
    struct h1_head head = {0};
    struct err err;
    size_t skipped = 0;

    if (!h->scan) {
        while (skipped < in.len && (in.at[skipped] == '\r' || in.at[skipped] == '\n'))
            skipped++; /* empty lines before a request are read over (RFC 9112, 2.2) */
        if (skipped)
            return skipped;
    }
    ssize_t len = h1_head_len(in, &h->scan, &err);
    if (len == 0)
        return 0;
    h->scan = 0;
    h->keep_alive = false;
    h->is_1_0 = false;
    if (len < 0) {
        refuse(c, code_of(&err, &head), err_str(&err));
        return in.len;
    }
    h->x = exchange_new(c->io, c, &ops);
    h->x->owner = h;
    struct http_request *req = &h->x->req;
    if (h1_parse_request(&h->x->arena, str_slice(in, 0, (size_t)len), &head, &err) < 0) {
        refuse(c, code_of(&err, &head), err_str(&err));
        return in.len;
    }
    h->keep_alive = head.keep_alive && !c->is_stopping;
    h->is_1_0 = head.minor == 0;
    h->x->wants_upgrade = head.wants_upgrade && !h->is_1_0;
    req->version = 1;
    req->method = head.method;
    req->target = head.target;
    req->headers = head.headers;
    req->n_headers = head.n_headers;
    req->authority = http_find(head.headers, head.n_headers, S("host"));
    start_body(c, &head);
    return (size_t)len;
}

static size_t read_body(struct conn *c, struct str in)
{
    struct h1 *h = c->state;
    struct exchange *x = h->x;
    struct str rest = in, data;
    struct err err;

    if (!h->chunked) {
        data = str_slice(in, 0, MIN(h->left, (uint64_t)in.len));
        buf_add(&x->body, data);
        h->left -= data.len;
        if (!h->left)
            dispatch(c);
        return data.len;
    }
    while (rest.len && h->chunked->state != H1_CHUNK_DONE) {
        if (h1_chunked_next(h->chunked, &rest, &data, &err) < 0) {
            refuse(c, 400, err_str(&err));
            return in.len;
        }
        if (x->body.len + data.len > HTTP_MAX_BODY) {
            refuse(c, 413, S("Request entity too large: limit is 3145728"));
            return in.len;
        }
        buf_add(&x->body, data);
    }
    if (h->chunked->state == H1_CHUNK_DONE)
        dispatch(c);
    return in.len - rest.len;
}

static size_t tunnel_data(struct h1 *h, struct str bytes)
{
    if (h->tunnel)
        h->tunnel->events->data(h->tunnel->ctx, bytes);
    return bytes.len;
}

/* Takes as many requests off `in` as are there and can be answered now; what was used. */
static size_t run(struct conn *c, struct str in)
{
    struct h1 *h = c->state;
    size_t used = 0;

    h->runs = true;
    while (used < in.len && c->wire) {
        struct str rest = str_slice(in, used, in.len);
        size_t n = 0;
        if (h->state == HEAD)
            n = read_head(c, rest);
        else if (h->state == BODY)
            n = read_body(c, rest);
        else if (h->state == CLOSING)
            n = rest.len;
        else if (h->state == TUNNEL)
            n = tunnel_data(h, rest);
        if (n == 0)
            break;
        used += n;
    }
    h->runs = false;
    return used;
}

static void after_run(struct conn *c)
{
    struct h1 *h = c->state;

    if (!c->wire)
        return;
    if (h->in.len == 0)
        buf_fini(&h->in); /* idle connections keep nothing */
    if (h->state == HEAD)
        conn_wait(c, h->in.len ? CONN_READ_MAX_S : CONN_IDLE_MAX_S);
    else if (h->state == BODY)
        conn_wait(c, CONN_READ_MAX_S);
    if (h->state == TUNNEL)
        return; /* its owner pauses and resumes */
    if (h->state == ANSWER && h->in.len > MAX_AHEAD)
        wire_pause(c->wire);
    else
        wire_resume(c->wire);
}

static void run_again(void *ctx)
{
    struct conn *c = ctx;
    struct h1 *h = c->state;

    if (c->wire) {
        size_t used = run(c, buf_str(&h->in));
        if (h->in.len)
            buf_drop(&h->in, used);
        after_run(c);
    }
    conn_unref(c);
}

static void h1_data(struct conn *c, struct str bytes)
{
    struct h1 *h = c->state;

    if (h->in.len) {
        buf_add(&h->in, bytes);
        size_t used = run(c, buf_str(&h->in));
        if (h->in.len)
            buf_drop(&h->in, used);
    } else {
        size_t used = run(c, bytes); /* the usual way: nothing is copied */
        if (c->wire && h->state != CLOSING)
            buf_add(&h->in, str_slice(bytes, used, bytes.len));
    }
    after_run(c);
}

static void tunnel_end(struct h1 *h, const struct err *err)
{
    struct http_tunnel *t = h->tunnel;

    if (!t || t->has_ended)
        return;
    t->has_ended = true;
    t->events->end(t->ctx, err);
}

static void h1_end(struct conn *c, const struct err *err)
{
    struct h1 *h = c->state;

    if (h->state == TUNNEL && h->tunnel) {
        tunnel_end(h, err);
        return; /* the owner closes it */
    }

    /* A client that only closed its own side may still read the answer. */
    if (!err && h->state == ANSWER) {
        h->keep_alive = false;
        buf_fini(&h->in);
        exchange_tell_closed(h->x);
        return;
    }
    if (!err && h->state == BODY && h->x) {
        refuse(c, 400, S("the connection ended inside the request's body"));
        return;
    }
    conn_close(c, err == NULL);
}

static void h1_closed(struct conn *c)
{
    struct err err;

    err_set(&err, ERR_CANCELED, "the server closed the connection");
    tunnel_end(c->state, &err);
}

static void h1_stop(struct conn *c)
{
    struct h1 *h = c->state;

    h->keep_alive = false;
    if (h->state == TUNNEL) {
        conn_close(c, true);
        return;
    }
    if (h->state == HEAD && !h->in.len)
        conn_close(c, true);
}

/* ---- answering ---- */

static void finished(struct exchange *x)
{
    struct conn *c = conn_ref(x->conn);
    struct h1 *h = c->state;

    h->x = NULL;
    exchange_free(x);
    if (!c->wire) {
        conn_unref(c);
        return;
    }
    if (!h->keep_alive) {
        start_closing(c);
    } else {
        h->state = HEAD;
        h->scan = 0;
        if (!h->runs) {
            if (h->in.len)
                io_later(c->io, run_again, conn_ref(c));
            else
                after_run(c);
        }
    }
    conn_unref(c);
}

static void pump(struct exchange *x)
{
    struct conn *c = x->conn;

    while (exchange_left(x) && wire_queued(c->wire) < CONN_MAX_QUEUED) {
        if (x->out_from == 0 && x->out.len <= WHOLE) {
            wire_write_buf(c->wire, &x->out);
            break;
        }
        struct str piece =
            str_slice(buf_str(&x->out), x->out_from, MIN(x->out_from + PIECE, x->out.len));
        wire_write(c->wire, piece);
        x->out_from += piece.len;
    }
    if (exchange_left(x))
        return;
    buf_fini(&x->out);
    x->out_from = 0;
    if (x->is_ended)
        finished(x);
}

static void add_header(struct buf *b, struct str name, struct str value)
{
    buf_add(b, name);
    buf_add(b, S(": "));
    for (size_t i = 0; i < value.len; i++) /* nothing may start a header of its own */
        buf_byte(b, value.at[i] == '\r' || value.at[i] == '\n' ? ' ' : value.at[i]);
    buf_add(b, S("\r\n"));
}

static void start(struct exchange *x, int status, const struct http_header *headers, size_t n,
                  int64_t length)
{
    struct h1 *h = x->owner;
    struct buf *b = &x->out;
    bool has_body = status >= 200 && status != 204 && status != 304;

    buf_room(b, 512);
    buf_printf(b, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
    for (size_t i = 0; i < n; i++)
        add_header(b, headers[i].name, headers[i].value);
    add_header(b, S("date"), conn_date(x->conn));
    if (length >= 0 && has_body)
        buf_printf(b, "content-length: %" PRIi64 "\r\n", length);
    else if (length < 0 && h->is_1_0)
        h->keep_alive = false; /* the body ends with the connection */
    else if (length < 0)
        buf_add(b, S("transfer-encoding: chunked\r\n"));
    if (!h->keep_alive)
        buf_add(b, S("connection: close\r\n"));
    else if (h->is_1_0)
        buf_add(b, S("connection: keep-alive\r\n"));
    buf_add(b, S("\r\n"));
}

static void chunk(struct exchange *x, struct str bytes)
{
    struct h1 *h = x->owner;

    if (x->out_from > x->out.len / 2) {
        buf_drop(&x->out, x->out_from);
        x->out_from = 0;
    }
    if (h->is_1_0 || x->is_head) {
        buf_add(&x->out, bytes);
        return;
    }
    buf_printf(&x->out, "%zx\r\n", bytes.len);
    buf_add(&x->out, bytes);
    buf_add(&x->out, S("\r\n"));
}

static void finish(struct exchange *x)
{
    struct h1 *h = x->owner;

    if (h->is_1_0 || x->is_head)
        return;
    buf_add(&x->out, S("0\r\n"));
    for (size_t i = 0; i < x->n_trailers; i++)
        add_header(&x->out, x->trailers[i].name, x->trailers[i].value);
    buf_add(&x->out, S("\r\n"));
}

/* ---- tunnels ---- */

static struct http_tunnel *upgrade(struct exchange *x, struct str protocol,
                                   const struct http_header *headers, size_t n,
                                   const struct http_tunnel_events *events, void *ctx)
{
    struct conn *c = x->conn;
    struct h1 *h = x->owner;
    struct http_tunnel *t = mem_zero(1, sizeof(*t));
    struct buf b = {0};

    *t = (struct http_tunnel){.conn = conn_ref(c), .events = events, .ctx = ctx};
    buf_add(&b, S("HTTP/1.1 101 Switching Protocols\r\n"));
    add_header(&b, S("connection"), S("Upgrade"));
    add_header(&b, S("upgrade"), protocol);
    for (size_t i = 0; i < n; i++)
        add_header(&b, headers[i].name, headers[i].value);
    buf_add(&b, S("\r\n"));
    wire_write_buf(c->wire, &b);
    h->state = TUNNEL;
    h->tunnel = t;
    h->x = NULL;
    exchange_free(x);
    if (!h->runs && h->in.len)
        io_later(c->io, run_again, conn_ref(c)); /* what was sent ahead */
    return t;
}

void http_tunnel_write(struct http_tunnel *t, struct str bytes)
{
    if (t->conn->wire)
        wire_write(t->conn->wire, bytes);
}

void http_tunnel_close(struct http_tunnel *t)
{
    struct conn *c = t->conn;
    struct h1 *h = c->state;

    h->tunnel = NULL;
    if (t->has_ended)
        conn_close(c, true);
    else if (c->wire)
        start_closing(c);
    free(t);
    conn_unref(c);
}

static void cut_off(struct exchange *x)
{
    struct conn *c = conn_ref(x->conn);

    conn_close(c, false);
    conn_unref(c);
}

static size_t queued(const struct exchange *x)
{
    return wire_queued(x->conn->wire);
}

static const struct exchange_ops ops = {start, chunk, finish, pump, cut_off, queued, upgrade};

static void h1_drained(struct conn *c)
{
    struct h1 *h = c->state;

    if (h->state == TUNNEL && h->tunnel && h->tunnel->events->drained)
        h->tunnel->events->drained(h->tunnel->ctx);
    if (h->state != ANSWER || !h->x || !h->x->is_started)
        return;
    if (exchange_left(h->x))
        pump(h->x);
    else
        exchange_drained(h->x);
}

const struct proto h1_server_proto = {h1_data, h1_end, h1_drained, h1_stop, h1_closed, h1_free};
