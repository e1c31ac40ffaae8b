/* grpc.c - gRPC calls on HTTP/2 */
#include "http/grpc.h"
#include "http/http.h"

#define PREFIX 5 /* bytes before each message: flag, length */

struct grpc_channel {
    struct io *io;
    struct http_client *http;
    bool is_tls;
    struct list calls;
};

struct grpc_call {
    struct grpc_channel *channel;
    struct list link;
    struct http_call *http; /* NULL: ended */
    struct arena arena;     /* of the texts that arrive */
    const struct grpc_events *events;
    void *ctx;
    struct io_timer *deadline;
    struct buf in; /* bytes of messages that are not whole */
    int status;    /* of HTTP */
    bool is_grpc, has_code;
    int code;
    struct str text;
    bool is_closed; /* inside a callback: freed when that returns */
    int calls;
    /* of grpc_unary() */
    grpc_done_fn *done;
    struct buf reply;
    size_t n_replies;
};

const char *grpc_code_name(int code)
{
    static const char *const names[] = {
#define GRPC_NAME(name) #name,
        GRPC_CODES(GRPC_NAME)
#undef GRPC_NAME
    };
    return code >= 0 && (size_t)code < countof(names) ? names[code] : "UNKNOWN";
}

/* ---- channels ---- */

struct grpc_channel *grpc_channel_new(struct io *io, struct str address, struct str authority,
                                      struct tls_client *tls)
{
    struct grpc_channel *c = mem_zero(1, sizeof(*c));

    c->io = io;
    c->is_tls = tls != NULL;
    list_init(&c->calls);
    c->http = http_client_new(io, &(struct http_client_options){
                                      .address = address,
                                      .authority = authority.len ? authority : S("localhost"),
                                      .tls = tls,
                                      .plain_http2 = true,
                                  });
    return c;
}

static void call_free(struct grpc_call *call)
{
    io_timer_free(call->deadline);
    buf_fini(&call->in);
    buf_fini(&call->reply);
    arena_fini(&call->arena);
    free(call);
}

/* Out of everything; freed at once, or when the callback that runs returns. */
static void call_close(struct grpc_call *call)
{
    if (call->is_closed)
        return;
    call->is_closed = true;
    list_del(&call->link);
    io_timer_stop(call->deadline);
    if (call->http)
        http_call_cancel(call->http);
    call->http = NULL;
    if (!call->calls)
        call_free(call);
}

void grpc_channel_free(struct grpc_channel *c)
{
    if (!c)
        return;
    while (!list_empty(&c->calls))
        call_close(list_item(c->calls.next, struct grpc_call, link));
    http_client_free(c->http);
    free(c);
}

/* ---- how it went ---- */

static void leave(struct grpc_call *call)
{
    if (--call->calls == 0 && call->is_closed)
        call_free(call);
}

/* From inside a call that leave() ends. */
static void tell_end(struct grpc_call *call, enum grpc_code code, struct str text)
{
    if (call->is_closed)
        return;
    assert(call->calls);
    call_close(call);
    if (call->done && code == GRPC_OK && call->n_replies != 1)
        call->done(call->ctx, GRPC_INTERNAL, S("the server did not send one message"), S(""));
    else if (call->done)
        call->done(call->ctx, code, text,
                   code == GRPC_OK ? buf_str(&call->reply) : (struct str){0});
    else
        call->events->end(call->ctx, code, text);
}

static enum grpc_code code_of_status(int status)
{
    static const struct {
        int status;
        enum grpc_code code;
    } codes[] = {
        {400, GRPC_INTERNAL         },
        {401, GRPC_UNAUTHENTICATED  },
        {403, GRPC_PERMISSION_DENIED},
        {404, GRPC_UNIMPLEMENTED    },
        {429, GRPC_UNAVAILABLE      },
        {502, GRPC_UNAVAILABLE      },
        {503, GRPC_UNAVAILABLE      },
        {504, GRPC_UNAVAILABLE      },
    };
    for (size_t i = 0; i < countof(codes); i++)
        if (codes[i].status == status)
            return codes[i].code;
    return GRPC_UNKNOWN;
}

static enum grpc_code code_of_err(const struct err *err)
{
    if (str_has(err_str(err), S("CANCEL")))
        return GRPC_CANCELLED;
    if (str_has(err_str(err), S("ENHANCE_YOUR_CALM")))
        return GRPC_RESOURCE_EXHAUSTED;
    return err->code == ERR_UNAVAILABLE ? GRPC_UNAVAILABLE : GRPC_INTERNAL;
}

/* grpc-message is percent-encoded; a broken escape stands for itself. */
static struct str decode_text(struct arena *a, struct str s)
{
    static const char hex[] = "0123456789abcdef";
    struct buf b = buf_in(a, s.len + 1);

    for (size_t i = 0; i < s.len; i++) {
        const char *hi = NULL, *lo = NULL;
        if (s.at[i] == '%' && i + 2 < s.len) {
            hi = strchr(hex, s.at[i + 1] | 0x20);
            lo = strchr(hex, s.at[i + 2] | 0x20);
        }
        if (hi && lo && *hi && *lo) {
            buf_byte(&b, (char)((hi - hex) << 4 | (lo - hex)));
            i += 2;
        } else {
            buf_byte(&b, s.at[i]);
        }
    }
    return buf_str(&b);
}

static void read_code(struct grpc_call *call, const struct http_header *headers, size_t n)
{
    struct str code = http_find(headers, n, S("grpc-status"));
    uint64_t number;

    if (!code.len)
        return;
    call->has_code = true;
    call->code = str_to_u64(code, &number) && number <= GRPC_UNAUTHENTICATED ? (int)number
                                                                             : GRPC_UNKNOWN;
    call->text = decode_text(&call->arena, http_find(headers, n, S("grpc-message")));
}

/* ---- the call's events ---- */

static void got_head(void *ctx, int status, const struct http_header *headers, size_t n)
{
    struct grpc_call *call = ctx;

    call->status = status;
    call->is_grpc = str_starts(http_find(headers, n, S("content-type")), S("application/grpc"));
    read_code(call, headers, n); /* an answer may be nothing but its end */
}

static void got_trailers(void *ctx, const struct http_header *headers, size_t n)
{
    read_code(ctx, headers, n);
}

static void give(struct grpc_call *call, struct str message)
{
    if (!call->done) {
        call->events->message(call->ctx, message);
        return;
    }
    if (call->n_replies++ == 0)
        buf_add(&call->reply, message);
}

/* Hands on the whole messages in `in`; what was used. */
static size_t take_messages(struct grpc_call *call, struct str in)
{
    size_t used = 0;

    while (in.len - used >= PREFIX && !call->is_closed) {
        const uint8_t *p = (const uint8_t *)in.at + used;
        size_t len = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
        if (p[0] != 0) {
            tell_end(call, GRPC_INTERNAL, S("the server compressed a message unasked"));
            break;
        }
        if (len > GRPC_MAX_MESSAGE) {
            tell_end(call, GRPC_RESOURCE_EXHAUSTED, S("the server's message is over 4 MiB"));
            break;
        }
        if (in.len - used - PREFIX < len)
            break;
        give(call, str_slice(in, used + PREFIX, used + PREFIX + len));
        used += PREFIX + len;
    }
    return used;
}

static void got_data(void *ctx, struct str bytes)
{
    struct grpc_call *call = ctx;
    struct buf in;

    if (call->status != 200 || !call->is_grpc)
        return; /* a page of some proxy */
    call->calls++;
    buf_add(&call->in, bytes);
    in = call->in;
    call->in = (struct buf){0};
    size_t used = take_messages(call, buf_str(&in));
    if (!call->is_closed)
        buf_add(&call->in, str_slice(buf_str(&in), used, in.len));
    buf_fini(&in);
    leave(call);
}

static void got_end(void *ctx, const struct err *err)
{
    struct grpc_call *call = ctx;

    call->http = NULL;
    call->calls++;
    if (call->has_code)
        tell_end(call, (enum grpc_code)call->code, call->text);
    else if (err)
        tell_end(call, code_of_err(err), err_str(err));
    else if (call->status != 200)
        tell_end(call, code_of_status(call->status),
                 str_printf(&call->arena, "the server answered %d %s", call->status,
                            http_reason(call->status)));
    else
        tell_end(call, call->is_grpc ? GRPC_INTERNAL : GRPC_UNKNOWN,
                 call->is_grpc ? S("the server did not say how it went")
                               : S("the server does not speak gRPC"));
    leave(call);
}

static const struct http_call_events call_events = {got_head, got_data, got_end, got_trailers};

static void deadline(void *ctx)
{
    struct grpc_call *call = ctx;

    call->calls++;
    tell_end(call, GRPC_DEADLINE_EXCEEDED, S("the deadline has passed"));
    leave(call);
}

/* ---- the door ---- */

/* At most eight digits: milliseconds where they fit, else seconds. */
static struct str timeout_text(struct arena *a, struct span timeout)
{
    int64_t ms = (timeout.ns + 999999) / 1000000;

    if (ms < 100000000)
        return str_printf(a, "%" PRIi64 "m", ms);
    return str_printf(a, "%" PRIi64 "S", MIN(ms / 1000, (int64_t)99999999));
}

static struct grpc_call *start(struct grpc_channel *c, struct str method, struct str body,
                               bool is_open, struct span timeout, void *ctx)
{
    struct grpc_call *call = mem_zero(1, sizeof(*call));
    struct http_header headers[4] = {
        {S("te"),           S("trailers")        },
        {S("content-type"), S("application/grpc")},
        {S("user-agent"),   S("grpc-c-berth")    },
    };
    size_t n = 3;

    call->channel = c;
    call->ctx = ctx;
    list_add(&c->calls, &call->link);
    call->deadline = io_timer_new(c->io, deadline, call);
    if (timeout.ns > 0) {
        io_timer_set(call->deadline, timeout);
        headers[n++] =
            (struct http_header){S("grpc-timeout"), timeout_text(&call->arena, timeout)};
    }
    call->http = http_call(c->http,
                           &(struct http_ask){
                               .method = S("POST"),
                               .target = method,
                               .headers = headers,
                               .n_headers = n,
                               .body = body,
                               .is_open = is_open,
                           },
                           &call_events, call);
    return call;
}

struct grpc_call *grpc_start(struct grpc_channel *c, struct str method, struct span timeout,
                             const struct grpc_events *events, void *ctx)
{
    struct grpc_call *call = start(c, method, (struct str){0}, true, timeout, ctx);

    call->events = events;
    return call;
}

static void add_message(struct buf *b, struct str message)
{
    assert(message.len <= UINT32_MAX);
    buf_byte(b, 0); /* not compressed */
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_byte(b, (char)(message.len >> shift));
    buf_add(b, message);
}

void grpc_send(struct grpc_call *call, struct str message)
{
    struct buf b = {0};

    if (!call->http)
        return;
    add_message(&b, message);
    http_call_send(call->http, buf_str(&b));
    buf_fini(&b);
}

void grpc_send_end(struct grpc_call *call)
{
    if (call->http)
        http_call_send_end(call->http);
}

void grpc_cancel(struct grpc_call *call)
{
    call_close(call);
}

struct grpc_call *grpc_unary(struct grpc_channel *c, struct str method, struct str message,
                             struct span timeout, grpc_done_fn *done, void *ctx)
{
    struct buf b = {0};

    add_message(&b, message);
    struct grpc_call *call = start(c, method, buf_str(&b), false, timeout, ctx);
    call->done = done;
    buf_fini(&b);
    return call;
}
