/* local.c - a request through a handler of this process, without a connection
 *
 * The exchange and the call know each other until one of them ends; every event is a later
 * turn, as it would be over a connection.
 */
#include "http/client_priv.h"
#include "http/server_priv.h"

struct local {
    struct http_call *call; /* first end to go: NULL */
    struct exchange *x;     /* NULL: answered and freed */
    struct io *io;
    http_handler_fn *handler;
    void *handler_ctx;
    int status;
    struct arena arena; /* of the head */
    struct http_header *headers;
    size_t n_headers;
    struct http_header *trailers;
    size_t n_trailers;
    struct buf body; /* of the answer, on its way */
    bool head_due, is_whole, is_broken, task_due;
};

static void deliver(void *ctx);

static void wake(struct local *l)
{
    if (l->task_due)
        return;
    l->task_due = true;
    io_later(l->io, deliver, l);
}

static void local_free(struct local *l)
{
    if (l->call || l->x || l->task_due)
        return;
    arena_fini(&l->arena);
    buf_fini(&l->body);
    free(l);
}

/* ---- the handler's side ---- */

static void start(struct exchange *x, int status, const struct http_header *headers, size_t n,
                  int64_t length)
{
    struct local *l = x->owner;

    (void)length;
    l->status = status;
    l->headers = arena_array(&l->arena, struct http_header, n + 1);
    for (size_t i = 0; i < n; i++)
        l->headers[i] = (struct http_header){str_lower(&l->arena, headers[i].name),
                                             str_copy(&l->arena, headers[i].value)};
    l->n_headers = n;
    l->head_due = true;
    wake(l);
}

static void chunk(struct exchange *x, struct str bytes)
{
    buf_add(&x->out, bytes);
}

static void finish(struct exchange *x)
{
    struct local *l = x->owner;

    l->trailers = arena_array(&l->arena, struct http_header, x->n_trailers + 1);
    l->n_trailers = x->n_trailers;
    for (size_t i = 0; i < x->n_trailers; i++)
        l->trailers[i] = (struct http_header){str_copy(&l->arena, x->trailers[i].name),
                                              str_copy(&l->arena, x->trailers[i].value)};
}

static void pump(struct exchange *x)
{
    struct local *l = x->owner;

    if (!l->body.len) {
        buf_fini(&l->body);
        l->body = x->out;
        x->out = (struct buf){0};
    } else {
        buf_add(&l->body, buf_str(&x->out));
        buf_clear(&x->out);
    }
    if (x->is_ended) {
        l->is_whole = true;
        l->x = NULL;
        exchange_free(x);
    }
    wake(l);
}

static void cut_off(struct exchange *x)
{
    struct local *l = x->owner;

    l->is_broken = true;
    l->x = NULL;
    wake(l);
    exchange_gone(x);
}

static size_t queued(const struct exchange *x)
{
    return ((const struct local *)x->owner)->body.len;
}

static const struct exchange_ops ops = {start, chunk, finish, pump, cut_off, queued, NULL};

/* ---- the caller's side ---- */

static struct local *local_of(struct http_call *call)
{
    return call->owner;
}

static void cancel(struct http_call *call)
{
    struct local *l = local_of(call);

    l->call = NULL;
    call_free(call);
    wake(l);
}

static void end_call(struct local *l)
{
    struct http_call *call = l->call;
    struct err err;

    err_set(&err, ERR_UNAVAILABLE, "the answer was broken off");
    if (!l->is_broken && l->n_trailers && call->events->trailers)
        call->events->trailers(call->ctx, l->trailers, l->n_trailers);
    if (!l->call)
        return; /* canceled just now */
    l->call = NULL;
    call_end(call, l->is_broken ? &err : NULL);
}

static void deliver(void *ctx)
{
    struct local *l = ctx;
    struct buf body = l->body;

    if (!l->call) { /* canceled */
        if (l->x) {
            struct exchange *x = l->x;
            l->x = NULL;
            exchange_gone(x);
        }
        l->task_due = false;
        local_free(l);
        return;
    }
    if (l->head_due) {
        l->head_due = false;
        call_head(l->call, l->status, l->headers, l->n_headers);
    }
    l->body = (struct buf){0};
    if (body.len && l->call)
        l->call->events->data(l->call->ctx, buf_str(&body));
    buf_fini(&body);
    if (l->x && l->call)
        exchange_drained(l->x);
    if (l->call && !l->body.len && (l->is_whole || l->is_broken))
        end_call(l);
    l->task_due = false;
    if (l->body.len || (!l->call && l->x))
        wake(l);
    else
        local_free(l);
}

static void dispatch(void *ctx)
{
    struct local *l = ctx;

    l->task_due = false;
    if (l->call)
        exchange_dispatch(l->x, l->handler, l->handler_ctx);
    else
        deliver(l);
}

struct http_call *http_call_local(struct io *io, http_handler_fn *handler, void *handler_ctx,
                                  const struct http_peer *peer, const struct http_ask *ask,
                                  const struct http_call_events *events, void *ctx)
{
    struct local *l = mem_zero(1, sizeof(*l));
    struct exchange *x = exchange_new(io, NULL, &ops);
    struct arena *a = &x->arena;

    l->io = io;
    l->call = call_new(ask, events, ctx, cancel);
    l->call->owner = l;
    l->x = x;
    l->handler = handler;
    l->handler_ctx = handler_ctx;
    x->owner = l;
    x->req.method = str_copy(a, ask->method);
    x->req.target = str_copy(a, ask->target);
    x->req.peer = peer;
    struct http_header *headers = arena_array(a, struct http_header, ask->n_headers + 1);
    for (size_t i = 0; i < ask->n_headers; i++)
        headers[i] = (struct http_header){str_lower(a, ask->headers[i].name),
                                          str_copy(a, ask->headers[i].value)};
    x->req.headers = headers;
    x->req.n_headers = ask->n_headers;
    buf_add(&x->body, ask->body);
    l->task_due = true;
    io_later(io, dispatch, l);
    return l->call;
}
