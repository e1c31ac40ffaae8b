/* h1_client.c - calls over HTTP/1.1: one at a time on a connection */
#include "http/client_priv.h"
#include "http/h1.h"

enum h1_state { IDLE, HEAD, BODY };

struct h1 {
    enum h1_state state;
    struct buf in;
    size_t scan;
    struct http_call *call; /* NULL: idle, or canceled by a callback of its own */
    struct h1_head head;
    struct h1_chunked chunked;
    uint64_t left;
};

static void h1_start(struct link *l)
{
    l->state = mem_zero(1, sizeof(struct h1));
}

static void h1_free(struct link *l)
{
    struct h1 *h = l->state;

    buf_fini(&h->in);
    free(h);
}

/* ---- asking ---- */

static void add_header(struct buf *b, struct str name, struct str value)
{
    buf_add(b, name);
    buf_add(b, S(": "));
    for (size_t i = 0; i < value.len; i++) /* nothing may start a header of its own */
        buf_byte(b, value.at[i] == '\r' || value.at[i] == '\n' ? ' ' : value.at[i]);
    buf_add(b, S("\r\n"));
}

static void h1_send(struct link *l, struct http_call *call)
{
    struct h1 *h = l->state;
    const struct http_ask *ask = &call->ask;
    struct buf b = {0};

    if (ask->is_open) {
        struct err err;
        err_set(&err, ERR_UNSUPPORTED, "a body that stays open needs HTTP/2");
        call_end(call, &err);
        link_has_room(l);
        return;
    }
    h->state = HEAD;
    h->scan = 0;
    h->call = call;
    buf_printf(&b, "%.*s %.*s HTTP/1.1\r\n", STR_ARG(ask->method), STR_ARG(ask->target));
    add_header(&b, S("host"), link_authority(l));
    for (size_t i = 0; i < ask->n_headers; i++)
        add_header(&b, ask->headers[i].name, ask->headers[i].value);
    if (ask->body.len || str_eq(ask->method, S("POST")) || str_eq(ask->method, S("PUT")) ||
        str_eq(ask->method, S("PATCH")))
        buf_printf(&b, "content-length: %zu\r\n", ask->body.len);
    buf_add(&b, S("\r\n"));
    buf_add(&b, ask->body);
    wire_write_buf(l->wire, &b);
}

static void h1_cancel(struct link *l, struct http_call *call)
{
    struct h1 *h = l->state;

    h->call = NULL;
    call_free(call);
    link_close(l, NULL); /* there is no other way to stop an answer */
}

/* ---- being answered ---- */

static void done(struct link *l)
{
    struct h1 *h = l->state;
    struct http_call *call = h->call;
    bool keeps = h->head.keep_alive && !h->in.len;

    h->call = NULL;
    h->state = IDLE;
    link_ref(l);
    if (!keeps)
        l->is_draining = true;
    call_end(call, NULL);
    link_has_room(l);
    link_unref(l);
}

static size_t read_head(struct link *l, struct str in)
{
    struct h1 *h = l->state;
    struct http_call *call = h->call;
    struct err err;

    ssize_t len = h1_head_len(in, &h->scan, &err);
    if (len == 0)
        return 0;
    h->scan = 0;
    if (len < 0 || h1_parse_response(&call->arena, str_slice(in, 0, (size_t)len),
                                     str_eq(call->ask.method, S("HEAD")), &h->head, &err) < 0) {
        err_wrap(&err, "the answer cannot be read");
        link_close(l, &err);
        return in.len;
    }
    if (h->head.status < 200)
        return (size_t)len; /* 100 Continue: the answer is still to come */
    h->state = BODY;
    h->left = h->head.length;
    h->chunked = (struct h1_chunked){0};
    call_head(call, h->head.status, h->head.headers, h->head.n_headers);
    if (h->call && l->wire && h->head.body == H1_BODY_NONE)
        done(l);
    return (size_t)len;
}

static void give(struct h1 *h, struct str data)
{
    if (data.len && h->call)
        h->call->events->data(h->call->ctx, data);
}

static size_t read_chunks(struct link *l, struct str in)
{
    struct h1 *h = l->state;
    struct str rest = in, data;
    struct err err;

    while (rest.len && h->call && l->wire && h->chunked.state != H1_CHUNK_DONE) {
        if (h1_chunked_next(&h->chunked, &rest, &data, &err) < 0) {
            err_wrap(&err, "the answer cannot be read");
            link_close(l, &err);
            return in.len;
        }
        give(h, data);
    }
    if (h->call && l->wire && h->chunked.state == H1_CHUNK_DONE)
        done(l);
    return in.len - rest.len;
}

static size_t read_body(struct link *l, struct str in)
{
    struct h1 *h = l->state;

    if (h->head.body == H1_BODY_CHUNKED)
        return read_chunks(l, in);
    if (h->head.body == H1_BODY_TO_END) {
        give(h, in);
        return in.len;
    }
    struct str data = str_slice(in, 0, MIN(h->left, (uint64_t)in.len));
    h->left -= data.len;
    give(h, data);
    if (h->call && l->wire && !h->left)
        done(l);
    return data.len;
}

static size_t run(struct link *l, struct str in)
{
    struct h1 *h = l->state;
    size_t used = 0;

    while (used < in.len && l->wire && h->call) {
        struct str rest = str_slice(in, used, in.len);
        size_t n = h->state == HEAD ? read_head(l, rest) : read_body(l, rest);
        if (n == 0)
            break;
        used += n;
    }
    return used;
}

static void h1_data(struct link *l, struct str bytes)
{
    struct h1 *h = l->state;

    if (!h->call) { /* nobody asked */
        link_close(l, NULL);
        return;
    }
    if (h->in.len) {
        buf_add(&h->in, bytes);
        /* Taken out while it is read: a callback may start the next call on this link. */
        struct buf in = h->in;
        h->in = (struct buf){0};
        size_t used = run(l, buf_str(&in));
        buf_add(&h->in, str_slice(buf_str(&in), used, in.len));
        buf_fini(&in);
    } else {
        size_t used = run(l, bytes);
        buf_add(&h->in, str_slice(bytes, used, bytes.len));
    }
    if (h->in.len && !h->call && l->wire)
        link_close(l, NULL); /* more than was asked for */
    if (!h->in.len)
        buf_fini(&h->in);
}

static void h1_end(struct link *l, const struct err *err)
{
    struct h1 *h = l->state;

    if (!err && h->call && h->state == BODY && h->head.body == H1_BODY_TO_END)
        done(l);
    link_close(l, err);
}

static void h1_drained(struct link *l)
{
    (void)l;
}

const struct speak h1_client_speak = {
    .start = h1_start,
    .send = h1_send,
    .cancel = h1_cancel,
    .data = h1_data,
    .end = h1_end,
    .drained = h1_drained,
    .free = h1_free,
};
