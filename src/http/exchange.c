/* exchange.c - one request and its answer, whatever carries it */
#include <zlib.h>

#include "http/server_priv.h"

#define REQUEST_ARENA 2048 /* bytes of its first block */
#define GZIP_LEVEL 1
#define COPY_MAX ((size_t)32 << 10) /* a body up to this leaves in one piece with its head */

struct exchange *exchange_new(struct io *io, struct conn *c, const struct exchange_ops *ops)
{
    static uint64_t last_id;
    struct exchange *x = mem_zero(1, sizeof(*x));

    x->io = io;
    x->ops = ops;
    x->arena = arena_sized(REQUEST_ARENA);
    x->req.arena = &x->arena;
    x->req.id = ++last_id;
    if (c) {
        x->conn = conn_ref(c);
        x->req.peer = &c->peer;
        list_add(&c->exchanges, &x->link);
    }
    return x;
}

static void pump_task(void *ctx)
{
    struct exchange *x = ctx;

    x->pump_due = false;
    if (!x->is_gone)
        x->ops->pump(x);
}

void exchange_pump_later(struct exchange *x)
{
    if (x->pump_due)
        return;
    x->pump_due = true;
    io_later(x->io, pump_task, x);
}

static void gone_task(void *ctx)
{
    struct exchange *x = ctx;

    x->gone_due = false;
    exchange_gone(x);
}

void exchange_gone_later(struct exchange *x)
{
    if (x->gone_due)
        return;
    x->gone_due = true;
    io_later(x->io, gone_task, x);
}

static void drained_task(void *ctx)
{
    struct exchange *x = ctx;

    x->drained_due = false;
    if (!x->is_gone)
        exchange_drained(x);
}

void exchange_drained_later(struct exchange *x)
{
    if (x->drained_due || !x->drained_fn)
        return;
    x->drained_due = true;
    io_later(x->io, drained_task, x);
}

/* Later, because the handler is in the middle of a call. */
static void cut_task(void *ctx)
{
    struct exchange *x = ctx;

    x->cut_due = false;
    if (!x->is_gone)
        x->ops->abort(x);
}

void exchange_free(struct exchange *x)
{
    struct conn *c = x->conn;

    if (x->pump_due)
        io_later_cancel(x->io, pump_task, x);
    if (x->cut_due)
        io_later_cancel(x->io, cut_task, x);
    if (x->gone_due)
        io_later_cancel(x->io, gone_task, x);
    if (x->drained_due)
        io_later_cancel(x->io, drained_task, x);
    list_del(&x->link);
    buf_fini(&x->body);
    buf_fini(&x->out);
    arena_fini(&x->arena);
    free(x);
    if (c)
        conn_unref(c);
}

void exchange_dispatch(struct exchange *x, http_handler_fn *handler, void *ctx)
{
    struct http_request *req = &x->req;

    if (!str_cut(req->target, '?', &req->path, &req->query))
        req->query = (struct str){0};
    req->body = buf_str(&x->body);
    x->is_head = str_eq(req->method, S("HEAD"));
    x->is_handed = true;
    handler(ctx, req);
}

void exchange_tell_closed(struct exchange *x)
{
    io_fn *fn = x->closed_fn;

    if (x->is_closed_told || !x->is_handed || x->is_ended)
        return;
    x->is_closed_told = true;
    if (fn)
        fn(x->closed_ctx);
}

void exchange_gone(struct exchange *x)
{
    if (x->is_gone)
        return;
    x->is_gone = true;
    buf_fini(&x->out);
    x->out_from = 0;
    list_del(&x->link);
    if (!x->is_handed || x->is_ended)
        exchange_free(x);
    else
        exchange_tell_closed(x); /* which may end, and so free it */
}

void exchange_drained(struct exchange *x)
{
    if (!x->drain_wanted || x->is_ended || !x->drained_fn || http_respond_queued(&x->req))
        return;
    x->drain_wanted = false;
    x->drained_fn(x->drained_ctx);
}

/* ---- errors of our own ---- */

static const struct {
    int status;
    const char *text, *reason; /* reason: as a Kubernetes Status names it */
} words[] = {
    {100, "Continue",                        ""                     },
    {101, "Switching Protocols",             ""                     },
    {200, "OK",                              ""                     },
    {201, "Created",                         ""                     },
    {202, "Accepted",                        ""                     },
    {204, "No Content",                      ""                     },
    {301, "Moved Permanently",               ""                     },
    {302, "Found",                           ""                     },
    {304, "Not Modified",                    ""                     },
    {307, "Temporary Redirect",              ""                     },
    {400, "Bad Request",                     "BadRequest"           },
    {401, "Unauthorized",                    "Unauthorized"         },
    {403, "Forbidden",                       "Forbidden"            },
    {404, "Not Found",                       "NotFound"             },
    {405, "Method Not Allowed",              "MethodNotAllowed"     },
    {406, "Not Acceptable",                  "NotAcceptable"        },
    {408, "Request Timeout",                 "Timeout"              },
    {409, "Conflict",                        "Conflict"             },
    {410, "Gone",                            "Gone"                 },
    {413, "Request Entity Too Large",        "RequestEntityTooLarge"},
    {415, "Unsupported Media Type",          "UnsupportedMediaType" },
    {417, "Expectation Failed",              "BadRequest"           },
    {422, "Unprocessable Entity",            "Invalid"              },
    {429, "Too Many Requests",               "TooManyRequests"      },
    {431, "Request Header Fields Too Large", "RequestEntityTooLarge"},
    {500, "Internal Server Error",           "InternalError"        },
    {501, "Not Implemented",                 "BadRequest"           },
    {503, "Service Unavailable",             "ServiceUnavailable"   },
    {504, "Gateway Timeout",                 "Timeout"              },
    {505, "HTTP Version Not Supported",      "BadRequest"           },
};

const char *http_reason(int status)
{
    for (size_t i = 0; i < countof(words); i++)
        if (words[i].status == status)
            return words[i].text;
    return "Unknown";
}

struct str exchange_error_body(struct arena *a, int status, struct str message)
{
    struct buf b = buf_in(a, 256);
    const char *reason = "";

    for (size_t i = 0; i < countof(words); i++)
        if (words[i].status == status)
            reason = words[i].reason;
    buf_add(&b, S("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                  "\"status\":\"Failure\",\"message\":\""));
    for (size_t i = 0; i < message.len; i++) {
        unsigned char c = (unsigned char)message.at[i];
        if (c == '"' || c == '\\')
            buf_byte(&b, '\\');
        buf_byte(&b, c < ' ' || c >= 0x7f ? '?' : (char)c);
    }
    buf_printf(&b, "\",\"reason\":\"%s\",\"code\":%d}\n", reason, status);
    return buf_str(&b);
}

void exchange_refuse(struct exchange *x, int status, struct str message)
{
    static const struct http_header json = {S_INIT("content-type"), S_INIT("application/json")};

    x->is_handed = true; /* ours now, as if we were its handler */
    http_respond(&x->req, status, &json, 1, exchange_error_body(&x->arena, status, message));
}

/* ---- headers ---- */

struct str http_find(const struct http_header *headers, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(headers[i].name, name))
            return headers[i].value;
    return (struct str){0};
}

struct str http_header(const struct http_request *req, struct str name)
{
    return http_find(req->headers, req->n_headers, name);
}

/* ---- compression ---- */

/* "gzip;q=0" does not want it; "*" is not enough of a wish. */
static bool wants_gzip(struct str accept)
{
    struct str one, name, params;

    while (accept.len) {
        str_cut(accept, ',', &one, &accept);
        str_cut(one, ';', &name, &params);
        params = str_trim(params);
        if (str_eq_nocase(str_trim(name), S("gzip")))
            return !str_eq(params, S("q=0")) && !str_starts(params, S("q=0.0"));
    }
    return false;
}

struct zip {
    struct exchange *x;
    int status;
    struct http_header *headers; /* in the request's arena, with room for two more */
    size_t n_headers;
    struct buf plain, packed;
};

static void zip_work(void *ctx) /* on the pool: touches only its own */
{
    struct zip *z = ctx;
    z_stream s = {0};

    if (deflateInit2(&s, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    size_t bound = deflateBound(&s, z->plain.len);
    s.next_in = (Bytef *)z->plain.at;
    s.avail_in = (uInt)z->plain.len;
    s.next_out = (Bytef *)buf_room(&z->packed, bound);
    s.avail_out = (uInt)bound;
    if (deflate(&s, Z_FINISH) == Z_STREAM_END)
        z->packed.len = s.total_out;
    deflateEnd(&s);
}

static void answer(struct exchange *x, int status, const struct http_header *headers, size_t n,
                   struct buf *body);

static void zip_done(void *ctx)
{
    struct zip *z = ctx;
    struct buf *body = &z->plain;

    if (z->packed.len) {
        body = &z->packed;
        z->headers[z->n_headers++] = (struct http_header){S("content-encoding"), S("gzip")};
        z->headers[z->n_headers++] = (struct http_header){S("vary"), S("Accept-Encoding")};
    }
    answer(z->x, z->status, z->headers, z->n_headers, body);
    buf_fini(&z->plain);
    buf_fini(&z->packed);
    free(z);
}

static void answer_zipped(struct exchange *x, int status, const struct http_header *headers,
                          size_t n, struct buf *body)
{
    struct zip *z = mem_zero(1, sizeof(*z));

    x->closed_fn = NULL; /* the handler is done with it */
    *z = (struct zip){.x = x, .status = status, .n_headers = n, .plain = *body};
    *body = (struct buf){0};
    z->headers = arena_array(&x->arena, struct http_header, n + 2);
    for (size_t i = 0; i < n; i++)
        z->headers[i] = (struct http_header){str_copy(&x->arena, headers[i].name),
                                             str_copy(&x->arena, headers[i].value)};
    io_work(x->io, zip_work, zip_done, z);
}

/* ---- answering ---- */

/* Takes over *body. */
static void answer(struct exchange *x, int status, const struct http_header *headers, size_t n,
                   struct buf *body)
{
    if (x->is_gone) {
        buf_fini(body);
        exchange_free(x);
        return;
    }
    x->is_started = true;
    x->ops->start(x, status, headers, n, (int64_t)body->len);
    if (exchange_left(x) && body->len > COPY_MAX)
        x->ops->pump(x); /* the head, so that the body need not be copied behind it */
    if (x->is_head) {
        buf_fini(body);
    } else if (!exchange_left(x)) {
        buf_fini(&x->out);
        x->out = *body;
        x->out_from = 0;
    } else {
        buf_add(&x->out, buf_str(body));
        buf_fini(body);
    }
    *body = (struct buf){0};
    x->is_ended = true;
    x->ops->pump(x);
}

void http_respond_buf(struct http_request *req, int status, const struct http_header *headers,
                      size_t n_headers, struct buf *body)
{
    struct exchange *x = (struct exchange *)req;

    assert(x->is_handed && !x->is_started && !body->arena);
    if (body->len >= HTTP_GZIP_FROM && body->len < UINT32_MAX && status == 200 && !x->is_gone &&
        !x->is_head && wants_gzip(http_header(req, S("accept-encoding"))) &&
        !http_find(headers, n_headers, S("content-encoding")).len) {
        x->is_started = true;
        answer_zipped(x, status, headers, n_headers, body);
        return;
    }
    answer(x, status, headers, n_headers, body);
}

void http_respond(struct http_request *req, int status, const struct http_header *headers,
                  size_t n_headers, struct str body)
{
    struct buf b = {0};

    buf_add(&b, body);
    http_respond_buf(req, status, headers, n_headers, &b);
}

void http_respond_start(struct http_request *req, int status, const struct http_header *headers,
                        size_t n_headers)
{
    struct exchange *x = (struct exchange *)req;

    assert(x->is_handed && !x->is_started);
    x->is_started = x->is_streamed = true;
    if (x->is_gone)
        return;
    x->ops->start(x, status, headers, n_headers, -1);
    x->ops->pump(x);
}

void http_respond_chunk(struct http_request *req, struct str bytes)
{
    struct exchange *x = (struct exchange *)req;

    assert(x->is_streamed && !x->is_ended);
    if (x->is_gone || x->is_head || x->cut_due || !bytes.len)
        return;
    if (exchange_left(x) + bytes.len > HTTP_MAX_BACKLOG) {
        log_info("reader too slow, cut off", "target=\"%.*s\" waiting=%zu",
                 STR_ARG(req->target), exchange_left(x));
        x->cut_due = true;
        io_later(x->io, cut_task, x);
        return;
    }
    x->drain_wanted = true;
    x->ops->chunk(x, bytes);
    exchange_pump_later(x);
}

void http_respond_end(struct http_request *req)
{
    http_respond_end_with(req, NULL, 0);
}

void http_respond_end_with(struct http_request *req, const struct http_header *trailers,
                           size_t n_trailers)
{
    struct exchange *x = (struct exchange *)req;

    assert(x->is_streamed && !x->is_ended);
    x->is_ended = true;
    if (x->is_gone) {
        exchange_free(x);
        return;
    }
    x->trailers = arena_array(&x->arena, struct http_header, n_trailers + 1);
    x->n_trailers = n_trailers;
    for (size_t i = 0; i < n_trailers; i++)
        x->trailers[i] = (struct http_header){str_lower(&x->arena, trailers[i].name),
                                              str_copy(&x->arena, trailers[i].value)};
    x->ops->finish(x);
    x->ops->pump(x);
}

void http_abort(struct http_request *req)
{
    struct exchange *x = (struct exchange *)req;

    assert(x->is_handed && !x->is_ended);
    x->is_ended = true;
    if (x->is_gone)
        exchange_free(x);
    else
        x->ops->abort(x);
}

bool http_wants_upgrade(const struct http_request *req, struct str protocol)
{
    const struct exchange *x = (const struct exchange *)req;
    struct str list = http_header(req, S("upgrade")), one;

    if (!x->ops->upgrade || !x->wants_upgrade)
        return false;
    while (list.len) {
        str_cut(list, ',', &one, &list);
        if (str_eq_nocase(str_trim(one), protocol))
            return true;
    }
    return false;
}

struct http_tunnel *http_upgrade(struct http_request *req, struct str protocol,
                                 const struct http_header *headers, size_t n_headers,
                                 const struct http_tunnel_events *events, void *ctx)
{
    struct exchange *x = (struct exchange *)req;

    assert(x->is_handed && !x->is_started);
    if (x->is_gone || !http_wants_upgrade(req, protocol))
        return NULL;
    return x->ops->upgrade(x, protocol, headers, n_headers, events, ctx);
}

size_t http_respond_queued(const struct http_request *req)
{
    const struct exchange *x = (const struct exchange *)req;

    return x->is_gone ? 0 : exchange_left(x) + x->ops->queued(x);
}

void http_on_drained(struct http_request *req, io_fn *fn, void *ctx)
{
    struct exchange *x = (struct exchange *)req;

    x->drained_fn = fn;
    x->drained_ctx = ctx;
}

void http_on_closed(struct http_request *req, io_fn *fn, void *ctx)
{
    struct exchange *x = (struct exchange *)req;

    x->closed_fn = fn;
    x->closed_ctx = ctx;
}

bool http_is_closed(const struct http_request *req)
{
    const struct exchange *x = (const struct exchange *)req;

    return x->is_gone || x->is_closed_told;
}
