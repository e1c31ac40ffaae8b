/* session.c - one command's talk with a running berth */
#include "cli/session.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include "api/find.h"
#include "cli/files.h"
#include "client/client_http.h"
#include "client/kubeconfig.h"
#include "http/http.h"
#include "io/io.h"
#include "object/object.h"

static void warn(void *ctx, struct str text)
{
    (void)ctx;
    fprintf(stderr, "warning: %.*s\n", STR_ARG(text));
}

/* A user has a namespace of their own, unless they started berth or are root. */
static struct str own_namespace(struct arena *a, struct str dir)
{
    const struct passwd *pw = getpwuid(getuid());

    if (getuid() == 0 || !pw || access(str_z(a, place_in(a, dir, "pki/ca.key")), R_OK) == 0)
        return S("default");
    return str_printf(a, "u-%s", pw->pw_name);
}

int session_open(struct session *s, struct cli_args *args)
{
    const char *ns = cli_value(args, "namespace");
    struct client_http_options options = {
        .name = S("berth"), .validation = S("Strict"), .warning = warn};
    struct kubeconfig config = {0};
    struct err err = {0};

    *s = (struct session){.args = args, .arena = args->arena};
    signal(SIGPIPE, SIG_IGN);
    s->dir = place_data(s->arena, cli_value(args, "data"));
    s->ns = ns ? str_from(ns) : own_namespace(s->arena, s->dir);
    struct str socket = place_in(s->arena, s->dir, "berth.sock");
    if (!file_is_there(s->arena, socket))
        return cli_fail(args,
                        "no berth runs in '%.*s'; start one by `berth up`, or name its "
                        "directory by --data or $BERTH_DATA",
                        STR_ARG(s->dir));
    config.server = str_printf(s->arena, "unix://%.*s", STR_ARG(socket));
    if (!(s->io = io_real_new(&err)) ||
        !(s->client = client_http_new(s->io, &config, &options, &err))) {
        io_free(s->io);
        return cli_fail(args, "%s", err.text);
    }
    return 0;
}

void session_close(struct session *s)
{
    client_free(s->client);
    io_free(s->io);
}

/* ---- waiting ---- */

static void time_is_up(void *ctx)
{
    struct session *s = ctx;

    io_stop(s->io);
}

bool session_run(struct session *s, struct span most)
{
    struct io_timer *timer = io_timer_new(s->io, time_is_up, s);

    if (most.ns > 0)
        io_timer_set(timer, most);
    io_run(s->io);
    bool in_time = most.ns <= 0 || io_timer_is_set(timer);
    io_timer_free(timer);
    return in_time;
}

void session_done(struct session *s)
{
    io_stop(s->io);
}

struct waiting {
    struct session *session;
    struct session_answer answer;
    bool is_done;
};

/* Until the answer is there, whatever else ends a turn meanwhile: it is written to our caller's
 * stack. */
static struct session_answer await(struct waiting *w)
{
    while (!w->is_done)
        session_run(w->session, (struct span){0});
    return w->answer;
}

static void answered(void *ctx, const struct client_answer *answer)
{
    struct waiting *w = ctx;

    w->is_done = true;
    w->answer.code = answer->code;
    if (answer->err)
        w->answer.err = *answer->err;
    if (answer->object)
        w->answer.object = object_ref(answer->object);
    session_done(w->session);
}

struct session_answer session_get(struct session *s, const struct client_target *t)
{
    struct waiting w = {.session = s};

    client_get(s->client, t, answered, &w);
    return await(&w);
}

struct session_answer session_create(struct session *s, const struct client_target *t,
                                     const struct json *body)
{
    struct waiting w = {.session = s};

    client_create(s->client, t, body, answered, &w);
    return await(&w);
}

struct session_answer session_patch(struct session *s, const struct client_target *t,
                                    enum client_patch type, const struct json *body,
                                    const struct client_patch_options *options)
{
    struct waiting w = {.session = s};

    client_patch(s->client, t, type, body, options, answered, &w);
    return await(&w);
}

struct session_answer session_delete(struct session *s, const struct client_target *t,
                                     const struct client_delete_options *options)
{
    struct waiting w = {.session = s};

    client_delete(s->client, t, options, answered, &w);
    return await(&w);
}

/* ---- lists ---- */

struct listing {
    struct session *session;
    bool is_done;
    VEC(const struct json *) trees;
    struct err err;
};

static void listed(void *ctx, const struct client_list_answer *answer)
{
    struct listing *l = ctx;
    struct arena *a = l->session->arena;

    l->is_done = true;
    if (answer->err)
        l->err = *answer->err;
    for (size_t i = 0; i < answer->n_items; i++)
        vec_push_in(a, &l->trees, json_copy(a, object_tree(answer->items[i], a)));
    session_done(l->session);
}

int session_list(struct session *s, const struct client_target *t,
                 const struct client_select *sel, const struct json ***out, size_t *n,
                 struct err *err)
{
    struct listing l = {.session = s};

    client_list(s->client, t, sel, listed, &l);
    while (!l.is_done)
        session_run(s, (struct span){0});
    if (l.err.code != ERR_OK) {
        *err = l.err;
        return -1;
    }
    *out = l.trees.at;
    *n = l.trees.len;
    return 0;
}

/* ---- other requests ---- */

struct exchange {
    struct session *session;
    int code;
    void (*each)(void *ctx, struct str piece);
    void *ctx;
    struct buf body;
    struct err err;
    bool has_ended;
};

static void got_head(void *ctx, int status, const struct http_header *headers, size_t n)
{
    struct exchange *x = ctx;

    (void)headers, (void)n;
    x->code = status;
}

static void got_data(void *ctx, struct str bytes)
{
    struct exchange *x = ctx;

    if (x->each && x->code < 300)
        x->each(x->ctx, bytes);
    else
        buf_add(&x->body, bytes);
}

static void got_end(void *ctx, const struct err *err)
{
    struct exchange *x = ctx;

    x->has_ended = true;
    if (err)
        x->err = *err;
    session_done(x->session);
}

static const struct http_call_events exchange_events = {got_head, got_data, got_end};

int session_http(struct session *s, const char *method, struct str target, struct str accept,
                 void (*each)(void *ctx, struct str piece), void *ctx, struct str *body,
                 struct err *err)
{
    struct exchange x = {.session = s, .each = each, .ctx = ctx};
    struct http_header header = {S("accept"), accept};
    struct http_ask ask = {.method = str_from(method),
                           .target = target,
                           .headers = &header,
                           .n_headers = accept.len != 0};

    x.body = buf_in(s->arena, 4096);
    struct http_call *call = client_http_call(s->client, &ask, &exchange_events, &x);
    session_run(s, (struct span){0});
    if (!x.has_ended) { /* the command wants to go on: a signal came */
        http_call_cancel(call);
        err_set(err, ERR_CANCELED, "interrupted");
        return 0;
    }
    if (x.err.code != ERR_OK) {
        *err = x.err;
        return 0;
    }
    if (x.code >= 300) {
        client_error(x.code, json_parse(s->arena, buf_str(&x.body), NULL, NULL),
                     buf_str(&x.body), err);
        return 0;
    }
    if (body)
        *body = buf_str(&x.body);
    return x.code;
}

/* ---- words ---- */

static bool is_called(const struct kind *k, struct str word)
{
    if (str_eq_nocase(word, k->plural) || str_eq_nocase(word, k->singular) ||
        str_eq_nocase(word, k->kind))
        return true;
    for (size_t i = 0; i < k->n_short_names; i++)
        if (str_eq_nocase(word, k->short_names[i]))
            return true;
    return false;
}

const struct kind *session_kind(const struct cli_args *args, const char *word)
{
    struct str name, group;
    bool has_group = str_cut(str_from(word), '.', &name, &group);

    for (int id = 0; id < KIND_COUNT; id++) {
        const struct kind *k = kinds[id];
        if (k->stored && k->served && k->storage == k && is_called(k, name) &&
            (!has_group || str_eq(group, k->group)))
            return k;
    }
    cli_misuse(args, "the server has no kind '%s'", word);
    return NULL;
}

bool session_target(struct session *s, const char *word, const struct kind *otherwise,
                    struct client_target *out)
{
    struct str kind, name;

    *out = (struct client_target){.kind = otherwise};
    if (str_cut(str_from(word), '/', &kind, &name)) {
        if (!(out->kind = session_kind(s->args, str_z(s->arena, kind))))
            return false;
    } else {
        name = kind;
    }
    if (!out->kind || name.len == 0) {
        cli_misuse(s->args, "'%s' is not KIND/NAME", word);
        return false;
    }
    out->ns = out->kind->namespaced ? s->ns : S("");
    out->name = name;
    return true;
}

struct str session_display(struct arena *a, const struct kind *k, struct str name)
{
    struct str kind = str_lower(a, k->kind);

    if (k->group.len == 0)
        return str_printf(a, "%.*s/%.*s", STR_ARG(kind), STR_ARG(name));
    return str_printf(a, "%.*s.%.*s/%.*s", STR_ARG(kind), STR_ARG(k->group), STR_ARG(name));
}
