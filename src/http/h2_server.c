/* h2_server.c - HTTP/2 on one connection: many requests at once
 *
 * An exchange is the user data of its stream until the stream closes; nghttp2 asks us for the
 * bytes of an answer when flow control and the wire have room for them. Frames leave once a
 * turn, all together.
 */
#include "http/h2.h"
#include "http/server_priv.h"

#define MAX_BODIES ((size_t)64 << 20) /* bytes of unfinished bodies on one connection */

struct h2 {
    nghttp2_session *session;
    size_t n_streams, n_reading; /* open; of those, requests that are not whole */
    size_t body_bytes;           /* of unfinished bodies */
    bool runs;                   /* inside data(): frames leave at its end */
    bool send_due;
};

static const struct exchange_ops ops;

static struct h2 *h2_of(struct conn *c)
{
    return c->state;
}

static struct exchange *find(struct conn *c, int32_t stream_id)
{
    if (!c->wire)
        return NULL; /* closed inside a callback: the exchanges are told already */
    return nghttp2_session_get_stream_user_data(h2_of(c)->session, stream_id);
}

/* ---- sending ---- */

static void send_now(struct conn *c)
{
    struct h2 *h = h2_of(c);

    if (c->wire && !h2_send(h->session, c->wire))
        conn_close(c, true);
}

static void after(struct conn *c)
{
    struct h2 *h = h2_of(c);

    send_now(c);
    if (c->wire)
        conn_wait(c, h->n_reading ? CONN_READ_MAX_S : h->n_streams ? 0 : CONN_IDLE_MAX_S);
}

static void send_task(void *ctx)
{
    struct conn *c = ctx;

    h2_of(c)->send_due = false;
    after(c);
    conn_unref(c);
}

/* An answer goes with what the watches of its client see of it, which comes a turn later. */
static void gather_task(void *ctx)
{
    struct conn *c = ctx;

    io_later(c->io, send_task, c);
}

static void send_later(struct conn *c)
{
    struct h2 *h = h2_of(c);

    if (h->runs || h->send_due || !c->wire)
        return;
    h->send_due = true;
    io_later(c->io, gather_task, conn_ref(c));
}

/* The stream ends with the body, or with the trailers behind it. */
static void end_body(struct exchange *x, uint32_t *flags)
{
    struct arena *a = &x->arena;
    nghttp2_nv *nv = arena_array(a, nghttp2_nv, x->n_trailers + 1);

    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!x->n_trailers)
        return;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    for (size_t i = 0; i < x->n_trailers; i++)
        nv[i] = h2_header(a, x->trailers[i].name, x->trailers[i].value);
    nghttp2_submit_trailer(h2_of(x->conn)->session, x->stream_id, nv, x->n_trailers);
}

/* nghttp2 wants up to `size` bytes of an answer. */
static ssize_t give_bytes(nghttp2_session *session, int32_t stream_id, uint8_t *out,
                          size_t size, uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct exchange *x = find(ctx, stream_id);

    (void)session;
    (void)source;
    if (!x)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* broken off */
    size_t n = MIN(size, exchange_left(x));
    if (n) {
        memcpy(out, x->out.at + x->out_from, n);
        x->out_from += n;
    }
    if (!exchange_left(x)) {
        buf_fini(&x->out);
        x->out_from = 0;
        if (x->is_ended)
            end_body(x, flags);
        else
            exchange_drained_later(x);
    }
    if (n == 0 && !x->is_ended) {
        x->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)n;
}

/* ---- answers ---- */

static void start(struct exchange *x, int status, const struct http_header *headers, size_t n,
                  int64_t length)
{
    struct arena *a = &x->arena;
    nghttp2_nv *nv = arena_array(a, nghttp2_nv, n + 3);
    size_t n_nv = 0;
    bool has_body = length != 0 && !x->is_head && status != 204 && status != 304;

    nv[n_nv++] = h2_header(a, S(":status"), str_printf(a, "%d", status));
    for (size_t i = 0; i < n; i++)
        if (!h2_is_hop_header(headers[i].name))
            nv[n_nv++] = h2_header(a, headers[i].name, headers[i].value);
    nv[n_nv++] = h2_header(a, S("date"), str_copy(a, conn_date(x->conn)));
    if (length >= 0 && status != 204 && status != 304)
        nv[n_nv++] = h2_header(a, S("content-length"), str_printf(a, "%" PRIi64, length));
    nghttp2_data_provider provider = {.read_callback = give_bytes};
    nghttp2_submit_response(h2_of(x->conn)->session, x->stream_id, nv, n_nv,
                            has_body ? &provider : NULL);
    send_later(x->conn);
}

static void chunk(struct exchange *x, struct str bytes)
{
    if (x->out_from > x->out.len / 2) {
        buf_drop(&x->out, x->out_from);
        x->out_from = 0;
    }
    buf_add(&x->out, bytes);
}

static void finish(struct exchange *x)
{
    (void)x; /* give_bytes() sees x->is_ended */
}

static void pump(struct exchange *x)
{
    if (x->deferred) {
        x->deferred = false;
        nghttp2_session_resume_data(h2_of(x->conn)->session, x->stream_id);
    }
    send_later(x->conn);
}

/* The stream no longer knows the exchange; the rest of what it brings is thrown away. */
static void forget(struct exchange *x)
{
    struct h2 *h = h2_of(x->conn);

    nghttp2_session_set_stream_user_data(h->session, x->stream_id, NULL);
    if (!x->is_read) {
        h->n_reading--;
        h->body_bytes -= x->body.len;
        x->is_read = true;
    }
}

static void cut_off(struct exchange *x)
{
    struct conn *c = conn_ref(x->conn);

    forget(x);
    nghttp2_submit_rst_stream(h2_of(c)->session, NGHTTP2_FLAG_NONE, x->stream_id,
                              NGHTTP2_INTERNAL_ERROR);
    send_later(c);
    exchange_gone(x);
    conn_unref(c);
}

static size_t queued(const struct exchange *x)
{
    (void)x; /* the wire is everybody's and has its own limit */
    return 0;
}

static const struct exchange_ops ops = {start, chunk, finish, pump, cut_off, queued, NULL};

/* ---- requests ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct conn *c = ctx;
    struct h2 *h = h2_of(c);

    if (!c->wire || frame->hd.type != NGHTTP2_HEADERS ||
        frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0; /* trailers */
    struct exchange *x = exchange_new(c->io, c, &ops);
    x->owner = h;
    x->stream_id = frame->hd.stream_id;
    x->req.version = 2;
    nghttp2_session_set_stream_user_data(session, x->stream_id, x);
    h->n_streams++;
    h->n_reading++;
    return 0;
}

static void set_target(struct exchange *x, struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.at[i] <= ' ' || (unsigned char)value.at[i] >= 0x7f ||
            value.at[i] == '#')
            x->refused = 400;
    x->req.target = value;
}

static void add_header(struct exchange *x, struct str name, struct str value)
{
    struct http_request *req = &x->req;
    uint64_t length;

    if (str_eq(name, S(":method"))) {
        req->method = value;
    } else if (str_eq(name, S(":path"))) {
        set_target(x, value);
    } else if (str_eq(name, S(":authority"))) {
        req->authority = value;
    } else if (name.at[0] != ':') {
        if (str_eq(name, S("host")) && !req->authority.len)
            req->authority = value;
        if (str_eq(name, S("content-length")) && str_to_u64(value, &length) &&
            length > HTTP_MAX_BODY)
            x->refused = 413;
        vec_push_in(&x->arena, &x->headers, (struct http_header){name, value});
    }
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *ctx)
{
    struct exchange *x = find(ctx, frame->hd.stream_id);

    (void)session;
    (void)flags;
    if (!x || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    x->head_len += name_len + value_len + 32;
    if (x->head_len > H2_MAX_HEAD || x->headers.len == H2_MAX_HEADERS) {
        x->refused = 431;
        return 0;
    }
    add_header(x, str_copy(&x->arena, str_of((const char *)name, name_len)),
               str_copy(&x->arena, str_of((const char *)value, value_len)));
    return 0;
}

static void refuse(struct exchange *x)
{
    static const struct {
        int status;
        struct str message;
    } texts[] = {
        {400, S_INIT("no valid request target")                       },
        {413, S_INIT("Request entity too large: limit is 3145728")    },
        {429, S_INIT("too many unfinished requests on one connection")},
        {431, S_INIT("the request's headers are over the limit")      },
    };
    struct str message = {0};

    for (size_t i = 0; i < countof(texts); i++)
        if (texts[i].status == x->refused)
            message = texts[i].message;
    buf_fini(&x->body);
    exchange_refuse(x, x->refused, message);
}

/* The request is whole. */
static void dispatch(struct conn *c, struct exchange *x)
{
    struct h2 *h = h2_of(c);
    void *ctx;
    http_handler_fn *handler = conn_handler(c, &ctx);

    x->is_read = true;
    h->n_reading--;
    h->body_bytes -= x->body.len;
    if (x->is_handed)
        return; /* refused already */
    x->req.headers = x->headers.at;
    x->req.n_headers = x->headers.len;
    if (!x->req.target.len)
        x->refused = 400;
    if (x->refused)
        refuse(x);
    else
        exchange_dispatch(x, handler, ctx);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct conn *c = ctx;

    (void)session;
    if (!c->wire || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    struct exchange *x = find(c, frame->hd.stream_id);
    if (!x)
        return 0;
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        dispatch(c, x);
    else if (x->refused && !x->is_handed)
        refuse(x); /* at once: nobody wants the rest */
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id,
                   const uint8_t *at, size_t n, void *ctx)
{
    struct conn *c = ctx;
    struct h2 *h = h2_of(c);
    struct exchange *x = find(c, stream_id);

    (void)session;
    (void)flags;
    if (!x || x->is_handed || x->refused)
        return 0;
    if (x->body.len + n > HTTP_MAX_BODY || h->body_bytes + n > MAX_BODIES) {
        x->refused = x->body.len + n > HTTP_MAX_BODY ? 413 : 429;
        h->body_bytes -= x->body.len;
        buf_fini(&x->body);
        return 0;
    }
    buf_add(&x->body, str_of((const char *)at, n));
    h->body_bytes += n;
    return 0;
}

/* An answer that ended before its request did: the client need not send the rest. */
static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct exchange *x;

    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && (x = find(ctx, frame->hd.stream_id)) &&
        !x->is_read)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t code,
                           void *ctx)
{
    struct conn *c = ctx;
    struct exchange *x = find(c, stream_id);

    (void)session;
    (void)code;
    h2_of(c)->n_streams--;
    if (!x)
        return 0;
    forget(x);
    if (x->is_ended)
        exchange_free(x);
    else
        exchange_gone_later(
            x); /* frames are being sent or read: the handler hears of it after */
    return 0;
}

/* ---- the protocol ---- */

static void h2_data(struct conn *c, struct str bytes)
{
    struct h2 *h = h2_of(c);

    h->runs = true;
    ssize_t n = nghttp2_session_mem_recv(h->session, (const uint8_t *)bytes.at, bytes.len);
    h->runs = false;
    if (!c->wire)
        return;
    if (n < 0) {
        log_info("http/2 broken off", "peer=%s error=\"%s\"", c->peer.io.address,
                 nghttp2_strerror((int)n));
        h2_send(h->session, c->wire); /* GOAWAY says why */
        conn_close(c, true);
        return;
    }
    after(c);
}

static void h2_end(struct conn *c, const struct err *err)
{
    conn_close(c, err == NULL);
}

static void h2_stop(struct conn *c)
{
    struct h2 *h = h2_of(c);

    nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(h->session), NGHTTP2_NO_ERROR,
                          NULL, 0);
    send_later(c);
}

static void h2_free(struct conn *c)
{
    struct h2 *h = c->state;

    nghttp2_session_del(h->session);
    free(h);
}

const struct proto h2_server_proto = {h2_data, h2_end, after, h2_stop, NULL, h2_free};

void h2_server_init(struct conn *c)
{
    struct h2 *h = mem_zero(1, sizeof(*h));
    nghttp2_session_callbacks *cb;

    nghttp2_session_callbacks_new(&cb);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    c->state = h;
    h->session = h2_session_new(true, cb, c);
    nghttp2_session_callbacks_del(cb);
    send_later(c);
}
