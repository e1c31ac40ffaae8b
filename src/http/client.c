/* client.c - calls, the connections they share, and what happens when one breaks */
#include "http/client_priv.h"

struct http_client {
    struct io *io;
    struct http_client_options options; /* strs are ours */
    struct arena arena;
    struct list links, waiting;
    size_t n_links;
    bool is_assigning; /* a task */
};

static const struct wire_events link_events;

/* ---- calls ---- */

struct http_call *call_new(const struct http_ask *ask, const struct http_call_events *events,
                           void *ctx, void (*cancel)(struct http_call *))
{
    struct http_call *call = mem_zero(1, sizeof(*call));
    struct arena *a = &call->arena;

    *a = arena_sized(512 + ask->body.len);
    struct http_header *headers = arena_array(a, struct http_header, ask->n_headers + 1);
    for (size_t i = 0; i < ask->n_headers; i++)
        headers[i] = (struct http_header){str_lower(a, ask->headers[i].name),
                                          str_copy(a, ask->headers[i].value)};
    call->ask = *ask;
    call->ask.method = str_copy(a, ask->method);
    call->ask.target = str_copy(a, ask->target);
    call->ask.body = str_copy(a, ask->body);
    call->ask.headers = headers;
    call->events = events;
    call->ctx = ctx;
    call->cancel = cancel;
    call->is_open = ask->is_open;
    return call;
}

void call_free(struct http_call *call)
{
    list_del(&call->list);
    if (call->link)
        call->link->n_calls--;
    io_timer_free(call->timer);
    buf_fini(&call->up);
    arena_fini(&call->arena);
    free(call);
}

void call_head(struct http_call *call, int status, const struct http_header *headers, size_t n)
{
    call->has_head = true;
    io_timer_free(call->timer);
    call->timer = NULL;
    if (call->link)
        call->link->was_used = true;
    if (call->events->head)
        call->events->head(call->ctx, status, headers, n);
}

void call_end(struct http_call *call, const struct err *err)
{
    const struct http_call_events *events = call->events;
    void *ctx = call->ctx;

    call_free(call);
    events->end(ctx, err);
}

static void cancel_call(struct http_call *call)
{
    struct link *l = call->link;

    if (l)
        l->speak->cancel(l, call);
    else
        call_free(call);
}

static void took_too_long(void *ctx)
{
    struct http_call *call = ctx;
    const struct http_call_events *events = call->events;
    void *call_ctx = call->ctx;
    struct err err;

    err_set(&err, ERR_TIMEOUT, "%.*s %.*s: no answer within %" PRIi64 " ms",
            STR_ARG(call->ask.method), STR_ARG(call->ask.target),
            call->ask.timeout.ns / 1000000);
    cancel_call(call);
    events->end(call_ctx, &err);
}

/* ---- links ---- */

struct link *link_ref(struct link *l)
{
    l->refs++;
    return l;
}

/* Whoever uses it afterwards holds another reference, which the compiler cannot see. */
not_inline void link_unref(struct link *l)
{
    if (--l->refs)
        return;
    if (l->speak)
        l->speak->free(l);
    free(l);
}

struct str link_authority(const struct link *l)
{
    return l->client ? l->client->options.authority : (struct str){0};
}

static void assign_later(struct http_client *c);

static bool may_retry(const struct link *l, const struct http_call *call)
{
    return l->was_used &&
           (str_eq(call->ask.method, S("GET")) || str_eq(call->ask.method, S("HEAD")));
}

bool call_retry(struct http_call *call)
{
    struct http_client *c = call->client;

    if (call->was_retried || call->has_head || call->ask.is_open || !call->link ||
        !call->link->client)
        return false;
    list_del(&call->list);
    list_add(&c->waiting, &call->list);
    call->link->n_calls--;
    call->link = NULL;
    call->was_retried = true;
    call->body_sent = 0;
    call->head_len = 0;
    vec_clear(&call->headers);
    assign_later(c);
    return true;
}

static void end_calls(struct link *l, const struct err *err)
{
    while (!list_empty(&l->calls)) {
        struct http_call *call = list_item(l->calls.next, struct http_call, list);
        if (!may_retry(l, call) || !call_retry(call))
            call_end(call, err);
    }
}

/* Did it end as soon as it stood, or never stand? Then those who wait would only meet the same.
 * Any other connection costs a call its end or its one retry, so none are made for ever. (One
 * that nobody needed for a while says nothing.) */
static bool was_in_vain(const struct link *l)
{
    return !l->is_ready || (!l->has_carried && io_uptime(l->io).ns - l->heard.ns < SECOND_NS);
}

/* A connection in vain: those who wait for it hear why. */
static void end_waiting(struct http_client *c, const struct err *err)
{
    struct list waiting;

    list_init(&waiting);
    list_each (p, &c->waiting) {
        list_del(p);
        list_add(&waiting, p);
    }
    while (!list_empty(&waiting))
        call_end(list_item(waiting.next, struct http_call, list), err);
}

void link_close(struct link *l, const struct err *err)
{
    struct http_client *c = l->client;
    bool in_vain = was_in_vain(l);
    struct err gone;

    if (!l->wire)
        return;
    if (!err) {
        err_set(&gone, ERR_UNAVAILABLE, "the server closed the connection");
        err = &gone;
    }
    link_ref(l);
    wire_close(l->wire, false);
    l->wire = NULL;
    io_timer_free(l->timer);
    l->timer = NULL;
    list_del(&l->list);
    if (c)
        c->n_links--;
    /* Callbacks may free the client, which sets l->client to NULL. */
    if (c && in_vain)
        end_waiting(c, err);
    end_calls(l, err);
    if (l->client && !list_empty(&l->client->waiting))
        assign_later(l->client);
    link_unref(l); /* the wire's */
    link_unref(l);
}

static void on_time(void *ctx)
{
    struct link *l = ctx;
    struct err err;
    struct span quiet = {io_uptime(l->io).ns - l->heard.ns};

    if (!l->is_ready) {
        err_set(&err, ERR_TIMEOUT, "cannot connect to '%.*s': no answer within %d s",
                STR_ARG(l->client->options.address), CLIENT_CONNECT_MAX_S);
        err.code = ERR_UNAVAILABLE;
        link_close(l, &err);
    } else if (!l->n_calls) {
        link_close(l, NULL);
    } else if (!l->speak->ping) {
        return;
    } else if (l->is_pinged && quiet.ns >= span_s(CLIENT_PING_ANSWER_S).ns) {
        err_set(&err, ERR_UNAVAILABLE, "the server has not answered for %" PRIi64 " s",
                quiet.ns / SECOND_NS);
        link_close(l, &err);
    } else if (quiet.ns < span_s(CLIENT_PING_AFTER_S).ns) {
        l->is_pinged = false;
        io_timer_set(l->timer, (struct span){span_s(CLIENT_PING_AFTER_S).ns - quiet.ns});
    } else {
        l->is_pinged = true;
        l->speak->ping(l);
        if (l->wire)
            io_timer_set(l->timer, span_s(CLIENT_PING_ANSWER_S));
    }
}

static void ready(void *ctx)
{
    struct link *l = link_ref(ctx);
    const struct http_client_options *o = &l->client->options;

    l->is_ready = true;
    l->heard = io_uptime(l->io);
    l->speak = wire_is_http2(l->wire) || (!o->tls && o->plain_http2) ? &h2_client_speak
                                                                     : &h1_client_speak;
    l->speak->start(l);
    io_timer_set(l->timer, span_s(CLIENT_IDLE_MAX_S));
    assign_later(l->client);
    link_unref(l);
}

static void data(void *ctx, struct str bytes)
{
    struct link *l = link_ref(ctx);

    l->heard = io_uptime(l->io);
    l->is_pinged = false;
    l->speak->data(l, bytes);
    link_unref(l);
}

static void end(void *ctx, const struct err *err)
{
    struct link *l = link_ref(ctx);

    if (l->speak)
        l->speak->end(l, err);
    else
        link_close(l, err);
    link_unref(l);
}

static void drained(void *ctx)
{
    struct link *l = link_ref(ctx);

    if (l->speak)
        l->speak->drained(l);
    link_unref(l);
}

static const struct wire_events link_events = {ready, data, end, drained};

static void link_new(struct http_client *c)
{
    struct link *l = mem_zero(1, sizeof(*l));

    l->client = c;
    l->io = c->io;
    l->refs = 1; /* the wire's */
    list_init(&l->calls);
    list_add(&c->links, &l->list);
    c->n_links++;
    l->timer = io_timer_new(c->io, on_time, l);
    io_timer_set(l->timer, span_s(CLIENT_CONNECT_MAX_S));
    l->wire = wire_client(c->io, c->options.address, c->options.tls, !c->options.no_http2,
                          &link_events, l);
}

/* ---- who goes where ---- */

static bool has_room(const struct link *l)
{
    if (!l->is_ready || l->is_draining)
        return false;
    return l->speak == &h2_client_speak ? l->n_calls < CLIENT_MAX_STREAMS : l->n_calls == 0;
}

static struct link *find_link(struct http_client *c, size_t *n_connecting)
{
    *n_connecting = 0;
    list_each (p, &c->links) {
        struct link *l = list_item(p, struct link, list);
        if (has_room(l))
            return l;
        *n_connecting += !l->is_ready;
    }
    return NULL;
}

static bool may_speak_http2(const struct http_client *c)
{
    return c->options.tls ? !c->options.no_http2 : c->options.plain_http2;
}

static void assign(void *ctx)
{
    struct http_client *c = ctx;
    size_t n_connecting = 0, n_waiting = 0;

    c->is_assigning = false;
    while (!list_empty(&c->waiting)) {
        struct link *l = find_link(c, &n_connecting);
        if (!l)
            break;
        struct http_call *call = list_item(c->waiting.next, struct http_call, list);
        list_del(&call->list);
        list_add(&l->calls, &call->list);
        call->link = l;
        l->has_carried = true;
        l->n_calls++;
        if (l->speak->ping) /* else it only ends idle ones */
            io_timer_set(l->timer, span_s(CLIENT_PING_AFTER_S));
        l->speak->send(l, call);
    }
    list_each (p, &c->waiting)
        if (++n_waiting == CLIENT_MAX_LINKS) /* more have no links anyway */
            break;
    /* The first connection tells whether one is enough. */
    if (n_connecting && may_speak_http2(c))
        return;
    for (; n_connecting < n_waiting && c->n_links < CLIENT_MAX_LINKS; n_connecting++) {
        link_new(c);
        if (may_speak_http2(c) && c->n_links == 1)
            return;
    }
}

static void assign_later(struct http_client *c)
{
    if (c->is_assigning)
        return;
    c->is_assigning = true;
    io_later(c->io, assign, c);
}

void link_has_room(struct link *l)
{
    if (!l->client || !l->wire)
        return;
    if (l->is_draining && !l->n_calls) {
        link_close(l, NULL);
        return;
    }
    if (!l->n_calls)
        io_timer_set(l->timer, span_s(CLIENT_IDLE_MAX_S));
    if (!list_empty(&l->client->waiting))
        assign_later(l->client);
}

/* ---- the door ---- */

struct http_client *http_client_new(struct io *io, const struct http_client_options *options)
{
    struct http_client *c = mem_zero(1, sizeof(*c));

    c->io = io;
    c->options = *options;
    c->options.address = str_copy(&c->arena, options->address);
    c->options.authority = options->authority.len ? str_copy(&c->arena, options->authority)
                           : str_starts(options->address, S("unix:")) ? S("localhost")
                                                                      : c->options.address;
    list_init(&c->links);
    list_init(&c->waiting);
    return c;
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    if (c->is_assigning)
        io_later_cancel(c->io, assign, c);
    while (!list_empty(&c->waiting))
        call_free(list_item(c->waiting.next, struct http_call, list));
    while (!list_empty(&c->links)) {
        struct link *l = list_item(c->links.next, struct link, list);
        while (!list_empty(&l->calls))
            call_free(list_item(l->calls.next, struct http_call, list));
        link_ref(l);
        l->client = NULL;
        link_close(l, NULL);
        link_unref(l);
    }
    arena_fini(&c->arena);
    free(c);
}

struct http_call *http_call(struct http_client *c, const struct http_ask *ask,
                            const struct http_call_events *events, void *ctx)
{
    struct http_call *call = call_new(ask, events, ctx, cancel_call);

    call->client = c;
    list_add(&c->waiting, &call->list);
    if (ask->timeout.ns > 0) {
        call->timer = io_timer_new(c->io, took_too_long, call);
        io_timer_set(call->timer, ask->timeout);
    }
    assign_later(c);
    return call;
}

void http_call_cancel(struct http_call *call)
{
    call->cancel(call);
}

static void tell_more(struct http_call *call)
{
    if (call->link && call->link->speak->more)
        call->link->speak->more(call->link, call);
}

void http_call_send(struct http_call *call, struct str bytes)
{
    assert(call->is_open);
    buf_add(&call->up, bytes);
    tell_more(call);
}

void http_call_send_end(struct http_call *call)
{
    if (!call->is_open)
        return;
    call->is_open = false;
    tell_more(call);
}
