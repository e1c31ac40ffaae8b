/* client_http.c - single calls over HTTP, and the life of the client */
#include "api/find.h"
#include "client/client_http_priv.h"
#include "client/kubeconfig.h"
#include "schema/table.h"

#define MAX_HEADERS 16

/* ---- talks ---- */

static const struct http_call_events talk_events;

struct http_call *remote_call(struct remote *r, const struct http_ask *ask,
                              const struct http_call_events *events, void *ctx)
{
    struct http_header headers[MAX_HEADERS + 3];
    struct http_ask with = *ask;
    size_t n = 0;

    assert(ask->n_headers <= MAX_HEADERS);
    for (size_t i = 0; i < ask->n_headers; i++)
        headers[n++] = ask->headers[i];
    headers[n++] = (struct http_header){S("user-agent"), r->name};
    if (r->bearer.len)
        headers[n++] = (struct http_header){S("authorization"), r->bearer};
    if (!http_find(ask->headers, ask->n_headers, S("accept")).len)
        headers[n++] = (struct http_header){S("accept"), S("application/json")};
    with.headers = headers;
    with.n_headers = n;
    return http_call(r->http, &with, events, ctx);
}

void talk_init(struct talk *t, struct remote *r, struct str method,
               const struct client_target *target)
{
    struct arena *a = &t->arena;

    t->remote = r;
    t->method = method;
    t->retry_after_s = -1;
    list_add(&r->talks, &t->link);
    t->target = buf_in(a, 256);
    buf_add(&t->target, r->prefix);
    buf_add(&t->target, client_path(a, target));
}

void talk_fini(struct talk *t)
{
    list_del(&t->link);
    if (t->call)
        http_call_cancel(t->call);
    io_timer_free(t->again);
    buf_fini(&t->answer);
    arena_fini(&t->arena);
}

static void start_again(void *ctx)
{
    struct talk *t = ctx;
    struct http_header type = {S("content-type"), t->content_type};

    t->code = 0;
    t->retry_after_s = -1;
    t->is_too_long = false;
    buf_clear(&t->answer);
    t->call = remote_call(t->remote,
                          &(struct http_ask){
                              .method = t->method,
                              .target = buf_str(&t->target),
                              .headers = &type,
                              .n_headers = t->content_type.len ? 1 : 0,
                              .body = t->body,
                          },
                          &talk_events, t);
}

void talk_start(struct talk *t)
{
    t->tries = 0;
    start_again(t);
}

/* `299 - "text"`: the text, with its escapes taken out. */
static struct str warning_text(struct arena *a, struct str value)
{
    size_t from = str_index(value, '"'), to = str_rindex(value, '"');
    struct buf b = buf_in(a, value.len);

    if (!str_starts(value, S("299 ")) || from == STR_NONE || to <= from)
        return (struct str){0};
    for (size_t i = from + 1; i < to; i++) {
        if (value.at[i] == '\\' && i + 1 < to)
            i++;
        buf_byte(&b, value.at[i]);
    }
    return buf_str(&b);
}

void remote_warnings(struct remote *r, const struct http_header *headers, size_t n)
{
    scoped(arena_fini) struct arena a = arena_sized(256);

    for (size_t i = 0; r->warning && i < n; i++) {
        if (!str_eq(headers[i].name, S("warning")))
            continue;
        struct str text = warning_text(&a, headers[i].value);
        if (text.len)
            r->warning(r->warning_ctx, text);
    }
}

static void talk_head(void *ctx, int status, const struct http_header *headers, size_t n)
{
    struct talk *t = ctx;
    struct str after = http_find(headers, n, S("retry-after"));

    t->code = status;
    if (!str_to_i64(after, &t->retry_after_s) || t->retry_after_s < 0)
        t->retry_after_s = -1;
    remote_warnings(t->remote, headers, n);
}

static void talk_data(void *ctx, struct str bytes)
{
    struct talk *t = ctx;

    if (t->answer.len + bytes.len > CLIENT_MAX_ANSWER)
        t->is_too_long = true;
    else
        buf_add(&t->answer, bytes);
}

static void talk_end(void *ctx, const struct err *err)
{
    struct talk *t = ctx;
    struct err too_long;

    t->call = NULL;
    if (!err && (t->code == 429 || t->code >= 500) && t->retry_after_s >= 0 &&
        ++t->tries < CLIENT_MAX_TRIES) {
        if (!t->again)
            t->again = io_timer_new(t->remote->io, start_again, t);
        io_timer_set(t->again, span_s(MIN(t->retry_after_s, (int64_t)60)));
        return;
    }
    if (!err && t->is_too_long) {
        err_set(&too_long, ERR_LIMIT, "the answer is over %zu bytes", CLIENT_MAX_ANSWER);
        err = &too_long;
    }
    t->done(t, err);
}

static const struct http_call_events talk_events = {talk_head, talk_data, talk_end};

/* ---- objects of answers ---- */

uint64_t remote_revision(const struct json *tree)
{
    uint64_t n = 0;

    str_to_u64(json_str(json_path(tree, "metadata", "resourceVersion", NULL)), &n);
    return n;
}

struct object *remote_object(struct arena *a, const struct kind *kind, const struct json *tree,
                             struct err *err)
{
    if (!json_is(tree, JSON_OBJECT) || json_len(json_getz(tree, "metadata")) == 0 ||
        !json_is(json_getz(tree, "metadata"), JSON_OBJECT)) {
        err_set(err, ERR_SYNTAX, "the server sent no %.*s", STR_ARG(kind->kind));
        return NULL;
    }
    if (!json_getz(tree, "kind") || !json_getz(tree, "apiVersion")) {
        struct json_obj o = obj_in(a);
        obj_setz(&o, "apiVersion", json_of_str(kind->api_version));
        obj_setz(&o, "kind", json_of_str(kind->kind));
        json_each_member (m, tree)
            obj_set(&o, m->name, m->value);
        tree = json_new(a, obj_done(&o));
    }
    struct object *o = object_new(kind, tree);
    object_set_revision(o, remote_revision(tree));
    return o;
}

/* ---- single calls ---- */

struct call {
    struct talk talk; /* first */
    const struct kind *kind;
    client_done_fn *done;
    void *ctx;
};

static void call_answer(struct call *c, const struct client_answer *answer)
{
    client_done_fn *done = c->done;
    void *ctx = c->ctx;

    done(ctx, answer);
    talk_fini(&c->talk);
    free(c);
}

static void call_done(struct talk *t, const struct err *err)
{
    struct call *c = (struct call *)t;
    struct arena *a = &t->arena;
    struct client_answer answer = {.code = t->code, .err = err};
    struct err why;

    if (err) {
        answer.code = 0;
        call_answer(c, &answer);
        return;
    }
    const struct json *tree = json_parse(a, buf_str(&t->answer), NULL, NULL);
    struct str kind = json_str(json_getz(tree, "kind"));
    if (t->code >= 300) {
        client_error(t->code, tree, buf_str(&t->answer), &why);
        answer.status = str_eq(kind, S("Status")) ? tree : NULL;
        answer.err = &why;
    } else if (!tree && str_trim(buf_str(&t->answer)).len) {
        err_set(&why, ERR_SYNTAX, "the server's answer cannot be read");
        answer.err = &why;
    } else {
        const struct kind *known = str_eq(kind, c->kind->kind)
                                       ? c->kind
                                       : kind_of(json_str(json_getz(tree, "apiVersion")), kind);
        if (known && !str_eq(kind, S("Status")))
            answer.object = remote_object(a, known, tree, &why);
        if (!answer.object)
            answer.status = tree;
    }
    call_answer(c, &answer);
    object_unref(answer.object);
}

static struct call *call_new(struct client *client, const char *method,
                             const struct client_target *t, client_done_fn *done, void *ctx)
{
    struct call *c = mem_zero(1, sizeof(*c));

    c->kind = t->kind;
    c->done = done;
    c->ctx = ctx;
    talk_init(&c->talk, (struct remote *)client, str_from(method), t);
    c->talk.done = call_done;
    return c;
}

/* The body as text; apiVersion and kind are put in where they are missing. */
static void call_body(struct call *c, const struct json *body, const struct kind *kind)
{
    struct arena *a = &c->talk.arena;

    if (kind && json_is(body, JSON_OBJECT) && !json_getz(body, "kind")) {
        struct json_obj o = obj_from(a, body);
        obj_setz(&o, "apiVersion", json_of_str(kind->api_version));
        obj_setz(&o, "kind", json_of_str(kind->kind));
        body = json_new(a, obj_done(&o));
    }
    c->talk.body = json_text(a, body);
    c->talk.content_type = S("application/json");
}

static void write_options(struct call *c, struct str manager, bool dry_run)
{
    struct remote *r = c->talk.remote;

    client_query(&c->talk.target, S("fieldManager"), manager.len ? manager : r->name);
    client_query(&c->talk.target, S("fieldValidation"), r->validation);
    if (dry_run)
        client_query(&c->talk.target, S("dryRun"), S("All"));
}

static void remote_get(struct client *client, const struct client_target *t,
                       client_done_fn *done, void *ctx)
{
    talk_start(&call_new(client, "GET", t, done, ctx)->talk);
}

static void remote_create(struct client *client, const struct client_target *t,
                          const struct json *body, client_done_fn *done, void *ctx)
{
    struct client_target at = *t;

    if (!t->subresource.len)
        at.name = (struct str){0}; /* the name stands in the body */
    struct call *c = call_new(client, "POST", &at, done, ctx);
    write_options(c, (struct str){0}, false);
    /* A subresource's body is of a kind of its own, which only the caller knows. */
    call_body(c, body, t->subresource.len ? NULL : t->kind);
    talk_start(&c->talk);
}

static void remote_update(struct client *client, const struct client_target *t,
                          const struct json *body, client_done_fn *done, void *ctx)
{
    struct call *c = call_new(client, "PUT", t, done, ctx);

    write_options(c, (struct str){0}, false);
    call_body(c, body, str_eq(t->subresource, S("scale")) ? NULL : t->kind);
    talk_start(&c->talk);
}

static void remote_patch(struct client *client, const struct client_target *t,
                         enum client_patch type, const struct json *body,
                         const struct client_patch_options *o, client_done_fn *done, void *ctx)
{
    static const struct str types[] = {
        [CLIENT_PATCH_JSON] = S_INIT("application/json-patch+json"),
        [CLIENT_PATCH_MERGE] = S_INIT("application/merge-patch+json"),
        [CLIENT_PATCH_STRATEGIC] = S_INIT("application/strategic-merge-patch+json"),
        [CLIENT_APPLY] = S_INIT("application/apply-patch+yaml"),
    };
    struct call *c = call_new(client, "PATCH", t, done, ctx);

    write_options(c, o->manager, o->dry_run);
    if (type == CLIENT_APPLY && o->force)
        client_query(&c->talk.target, S("force"), S("true"));
    call_body(c, body, type == CLIENT_APPLY ? t->kind : NULL);
    c->talk.content_type = types[type];
    talk_start(&c->talk);
}

static void remote_delete(struct client *client, const struct client_target *t,
                          const struct client_delete_options *o, client_done_fn *done,
                          void *ctx)
{
    struct call *c = call_new(client, "DELETE", t, done, ctx);
    struct arena *a = &c->talk.arena;
    struct json_obj body = obj_in(a), pre = obj_in(a);

    obj_setz(&body, "apiVersion", json_of_z("v1"));
    obj_setz(&body, "kind", json_of_z("DeleteOptions"));
    if (o->propagation.len)
        obj_setz(&body, "propagationPolicy", json_of_str(o->propagation));
    if (o->grace_s >= 0)
        obj_setz(&body, "gracePeriodSeconds", json_of_i64(o->grace_s));
    if (o->uid.len)
        obj_setz(&pre, "uid", json_of_str(o->uid));
    if (o->resource_version.len)
        obj_setz(&pre, "resourceVersion", json_of_str(o->resource_version));
    if (pre.members.len)
        obj_setz(&body, "preconditions", obj_done(&pre));
    struct json tree = obj_done(&body);
    call_body(c, &tree, NULL);
    talk_start(&c->talk);
}

/* ---- life ---- */

static void remote_free(struct client *client)
{
    struct remote *r = (struct remote *)client;
    struct err err;

    err_set(&err, ERR_CANCELED, "the client was closed");
    while (!list_empty(&r->talks)) {
        struct talk *t = list_item(r->talks.next, struct talk, link);
        t->done(t, &err);
    }
    while (!list_empty(&r->watches)) /* their callers should have; no event follows */
        remote_watch_stop(remote_first_watch(r));
    http_client_free(r->http);
    tls_client_free(r->tls);
    arena_fini(&r->arena);
    free(r);
}

static const struct client_ops remote_ops = {
    .get = remote_get,
    .create = remote_create,
    .update = remote_update,
    .patch = remote_patch,
    .remove = remote_delete,
    .list = remote_list,
    .watch = remote_watch,
    .watch_stop = remote_watch_stop,
    .free = remote_free,
};

static int use_server(struct remote *r, const struct kubeconfig *k,
                      struct http_client_options *out, struct err *err)
{
    struct kubeconfig_server at;

    if (kubeconfig_server(&r->arena, k, &at, err) < 0)
        return -1;
    r->prefix = at.prefix;
    out->address = at.address;
    out->authority = at.authority;
    if (!at.is_tls)
        return 0;
    r->tls = tls_client_new(
        &(struct tls_client_options){
            .ca = k->ca,
            .own = {k->cert, k->key},
            .server_name = k->tls_server_name.len ? k->tls_server_name : at.host,
            .insecure = k->insecure,
    },
        err);
    out->tls = r->tls;
    return r->tls ? 0 : -1;
}

struct client *client_http_new(struct io *io, const struct kubeconfig *config,
                               const struct client_http_options *options, struct err *err)
{
    struct remote *r = mem_zero(1, sizeof(*r));
    struct arena *a = &r->arena;
    struct http_client_options http = {0};

    r->client.ops = &remote_ops;
    r->io = io;
    list_init(&r->talks);
    list_init(&r->watches);
    if (use_server(r, config, &http, err) < 0) {
        arena_fini(a);
        free(r);
        return NULL;
    }
    r->name = str_copy(a, options->name.len ? options->name : S("berth"));
    r->validation = options->validation.len ? str_copy(a, options->validation) : S("Ignore");
    r->warning = options->warning;
    r->warning_ctx = options->warning_ctx;
    /* Credentials travel only over TLS. */
    if (config->token.len && r->tls)
        r->bearer = str_printf(a, "Bearer %.*s", STR_ARG(config->token));
    r->http = http_client_new(io, &http);
    return &r->client;
}

struct http_call *client_http_call(struct client *c, const struct http_ask *ask,
                                   const struct http_call_events *events, void *ctx)
{
    struct remote *r = (struct remote *)c;
    struct http_ask with = *ask;
    scoped(arena_fini) struct arena a = arena_sized(512);

    assert(c->ops == &remote_ops);
    with.target = str_printf(&a, "%.*s%.*s", STR_ARG(r->prefix), STR_ARG(ask->target));
    return remote_call(r, &with, events, ctx);
}
