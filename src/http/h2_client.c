/* h2_client.c - calls over HTTP/2: all of them on one connection */
#include "http/client_priv.h"
#include "http/h2.h"

struct h2 {
    nghttp2_session *session;
    bool runs, send_due;
};

static struct h2 *h2_of(struct link *l)
{
    return l->state;
}

static struct http_call *find(struct link *l, int32_t stream_id)
{
    if (!l->wire)
        return NULL; /* closed inside a callback */
    return nghttp2_session_get_stream_user_data(h2_of(l)->session, stream_id);
}

/* ---- sending ---- */

static void send_now(struct link *l)
{
    if (l->wire && !h2_send(h2_of(l)->session, l->wire))
        link_close(l, NULL);
}

static void send_task(void *ctx)
{
    struct link *l = ctx;

    h2_of(l)->send_due = false;
    send_now(l);
    link_unref(l);
}

static void send_later(struct link *l)
{
    struct h2 *h = h2_of(l);

    if (h->runs || h->send_due || !l->wire)
        return;
    h->send_due = true;
    io_later(l->io, send_task, link_ref(l));
}

/* nghttp2 wants up to `size` bytes of a call's body. */
static ssize_t give_bytes(nghttp2_session *session, int32_t stream_id, uint8_t *out,
                          size_t size, uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct http_call *call = find(ctx, stream_id);

    (void)session;
    (void)source;
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    struct str left = str_slice(call->ask.body, call->body_sent, call->ask.body.len);
    size_t n = MIN(size, left.len);
    if (n) {
        memcpy(out, left.at, n);
        call->body_sent += n;
    } else if (call->up.len) {
        n = MIN(size, call->up.len);
        memcpy(out, call->up.at, n);
        buf_drop(&call->up, n);
    }
    bool is_all = call->body_sent == call->ask.body.len && !call->up.len;
    if (is_all && !call->is_open)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (n == 0) {
        call->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)n;
}

static void h2_more(struct link *l, struct http_call *call)
{
    if (call->deferred) {
        call->deferred = false;
        nghttp2_session_resume_data(h2_of(l)->session, call->stream_id);
    }
    send_later(l);
}

static void h2_call(struct link *l, struct http_call *call)
{
    struct h2 *h = h2_of(l);
    struct arena *a = &call->arena;
    const struct http_ask *ask = &call->ask;
    nghttp2_nv *nv = arena_array(a, nghttp2_nv, ask->n_headers + 5);
    size_t n = 0;

    nv[n++] = h2_header(a, S(":method"), ask->method);
    nv[n++] = h2_header(a, S(":scheme"), wire_is_tls(l->wire) ? S("https") : S("http"));
    nv[n++] = h2_header(a, S(":authority"), link_authority(l));
    nv[n++] = h2_header(a, S(":path"), ask->target);
    for (size_t i = 0; i < ask->n_headers; i++)
        if (!h2_is_hop_header(ask->headers[i].name))
            nv[n++] = h2_header(a, ask->headers[i].name, ask->headers[i].value);
    if (ask->body.len && !ask->is_open)
        nv[n++] = h2_header(a, S("content-length"), str_printf(a, "%zu", ask->body.len));
    nghttp2_data_provider provider = {.read_callback = give_bytes};
    call->stream_id = nghttp2_submit_request(
        h->session, NULL, nv, n, ask->body.len || ask->is_open ? &provider : NULL, call);
    if (call->stream_id < 0) { /* the connection has used up its numbers */
        struct err err;
        err_set(&err, ERR_UNAVAILABLE, "the call cannot start: %s",
                nghttp2_strerror(call->stream_id));
        l->is_draining = true;
        call_end(call, &err);
        link_has_room(l);
        return;
    }
    send_later(l);
}

static void h2_cancel(struct link *l, struct http_call *call)
{
    nghttp2_session_set_stream_user_data(h2_of(l)->session, call->stream_id, NULL);
    nghttp2_submit_rst_stream(h2_of(l)->session, NGHTTP2_FLAG_NONE, call->stream_id,
                              NGHTTP2_CANCEL);
    call_free(call);
    send_later(l);
    link_has_room(l);
}

/* ---- being answered ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *ctx)
{
    struct http_call *call = find(ctx, frame->hd.stream_id);
    struct str n = {(const char *)name, name_len}, v = {(const char *)value, value_len};
    uint64_t status;

    (void)session;
    (void)flags;
    if (!call)
        return 0;
    if (str_eq(n, S(":status")) && str_to_u64(v, &status)) {
        call->status = (int)status;
        return 0;
    }
    call->head_len += n.len + v.len + 32;
    if (call->head_len > H2_MAX_HEAD || call->headers.len == H2_MAX_HEADERS)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* resets the stream */
    vec_push_in(&call->arena, &call->headers,
                (struct http_header){str_copy(&call->arena, n), str_copy(&call->arena, v)});
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct link *l = ctx;

    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        l->is_draining = true;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct http_call *call = find(l, frame->hd.stream_id);
    if (!call)
        return 0;
    struct http_header *headers = call->headers.at;
    size_t n = call->headers.len;
    /* What follows is another block: trailers, or the head after an interim answer. */
    memset(&call->headers, 0, sizeof(call->headers));
    call->head_len = 0;
    if (call->has_head && call->events->trailers)
        call->events->trailers(call->ctx, headers, n);
    else if (!call->has_head && call->status >= 200)
        call_head(call, call->status, headers, n);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id,
                   const uint8_t *at, size_t n, void *ctx)
{
    struct http_call *call = find(ctx, stream_id);

    (void)session;
    (void)flags;
    if (call && n)
        call->events->data(call->ctx, str_of((const char *)at, n));
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t code,
                           void *ctx)
{
    struct link *l = ctx;
    struct http_call *call = find(l, stream_id);
    struct err err;

    if (!call)
        return 0;
    nghttp2_session_set_stream_user_data(session, stream_id, NULL);
    if (code == NGHTTP2_REFUSED_STREAM && call_retry(call))
        return 0;
    if (code != NGHTTP2_NO_ERROR || !call->has_head)
        err_set(&err, ERR_UNAVAILABLE, "the server broke off its answer: %s",
                nghttp2_http2_strerror(code));
    call_end(call, code == NGHTTP2_NO_ERROR && call->has_head ? NULL : &err);
    link_has_room(l);
    return 0;
}

/* ---- the protocol ---- */

static void h2_data(struct link *l, struct str bytes)
{
    struct h2 *h = h2_of(l);
    struct err err;

    h->runs = true;
    ssize_t n = nghttp2_session_mem_recv(h->session, (const uint8_t *)bytes.at, bytes.len);
    h->runs = false;
    if (n < 0 && l->wire) {
        err_set(&err, ERR_SYNTAX, "the answer cannot be read: %s", nghttp2_strerror((int)n));
        link_close(l, &err);
        return;
    }
    send_now(l);
    if (l->is_draining)
        link_has_room(l); /* which ends one without calls */
}

static void h2_end(struct link *l, const struct err *err)
{
    link_close(l, err);
}

static void h2_ping(struct link *l)
{
    nghttp2_submit_ping(h2_of(l)->session, NGHTTP2_FLAG_NONE, NULL);
    send_now(l);
}

static void h2_free(struct link *l)
{
    struct h2 *h = l->state;

    nghttp2_session_del(h->session);
    free(h);
}

static void h2_start(struct link *l)
{
    struct h2 *h = mem_zero(1, sizeof(*h));
    nghttp2_session_callbacks *cb;

    nghttp2_session_callbacks_new(&cb);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    l->state = h;
    h->session = h2_session_new(false, cb, l);
    nghttp2_session_callbacks_del(cb);
    send_later(l);
}

const struct speak h2_client_speak = {
    .start = h2_start,
    .send = h2_call,
    .cancel = h2_cancel,
    .more = h2_more,
    .data = h2_data,
    .end = h2_end,
    .drained = send_now,
    .ping = h2_ping,
    .free = h2_free,
};
