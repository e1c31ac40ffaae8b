/* client_http_watch.c - watches that outlive their connections
 *
 * A request watches for some minutes; when it ends, or breaks, the next one goes on after the
 * last revision that was told. Only an error that asking again cannot heal is told to the
 * caller: 410 above all, after which it must list again.
 */
#include "client/client_http_priv.h"
#include "schema/table.h"

#define TIMEOUT_MIN_S                                                                          \
    300 /* of one request, and up to twice that: so that not all end at once */
#define BACKOFF_MIN_MS 800
#define BACKOFF_MAX_MS 30000
#define SHORT_NS (SECOND_NS) /* a request that ended sooner, without an event, backs off */

struct watch {
    struct client_watch watch; /* first */
    struct list link;          /* in remote->watches */
    struct remote *remote;
    struct arena arena; /* of the path */
    const struct kind *kind;
    struct str path; /* with the selectors */
    uint64_t revision;
    client_watch_fn *event;
    void *ctx;
    struct http_call *call;
    struct io_timer *again;
    int code; /* of the answer under way */
    struct buf line;
    struct span started;
    int64_t backoff_ms;
    bool had_event;
    bool is_ended;   /* told by WATCH_ERROR; the caller has yet to stop it */
    bool is_stopped; /* inside a callback: freed when that returns */
    int calls;
};

static const struct http_call_events events;

static void watch_free(struct watch *w)
{
    io_timer_free(w->again);
    buf_fini(&w->line);
    arena_fini(&w->arena);
    free(w);
}

static void leave(struct watch *w)
{
    if (--w->calls == 0 && w->is_stopped)
        watch_free(w);
}

static void tell(struct watch *w, const struct watch_event *e)
{
    if (w->is_stopped || w->is_ended)
        return;
    w->is_ended = e->type == WATCH_ERROR;
    w->event(w->ctx, e);
}

static void fail(struct watch *w, const struct err *err)
{
    tell(w, &(struct watch_event){.type = WATCH_ERROR, .err = err});
}

/* ---- asking ---- */

static void ask(void *ctx)
{
    struct watch *w = ctx;
    struct remote *r = w->remote;
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct buf target = buf_in(&a, 512);
    unsigned seconds = TIMEOUT_MIN_S + (unsigned)(io_random(r->io) % TIMEOUT_MIN_S);

    buf_add(&target, w->path);
    client_query(&target, S("watch"), S("true"));
    client_query(&target, S("allowWatchBookmarks"), S("true"));
    client_query(&target, S("resourceVersion"), str_printf(&a, "%" PRIu64, w->revision));
    client_query(&target, S("timeoutSeconds"), str_printf(&a, "%u", seconds));
    w->code = 0;
    w->had_event = false;
    w->started = io_uptime(r->io);
    buf_clear(&w->line);
    w->call = remote_call(r, &(struct http_ask){.method = S("GET"), .target = buf_str(&target)},
                          &events, w);
}

static void ask_again(struct watch *w, bool in_order)
{
    int64_t lasted = io_uptime(w->remote->io).ns - w->started.ns;

    if (w->had_event || lasted >= SHORT_NS) {
        w->backoff_ms = 0;
        if (in_order) {
            ask(w);
            return;
        }
    }
    w->backoff_ms =
        MIN(MAX(w->backoff_ms * 2, (int64_t)BACKOFF_MIN_MS), (int64_t)BACKOFF_MAX_MS);
    if (!w->again)
        w->again = io_timer_new(w->remote->io, ask, w);
    /* Up to half more, so that many watchers do not come back at once. */
    int64_t jitter = (int64_t)(io_random(w->remote->io) % (uint64_t)(w->backoff_ms / 2 + 1));
    io_timer_set(w->again, span_ms(w->backoff_ms + jitter));
}

/* ---- events ---- */

static const struct {
    const char *name;
    enum watch_event_type type;
} types[] = {
    {"ADDED",    WATCH_ADDED   },
    {"MODIFIED", WATCH_MODIFIED},
    {"DELETED",  WATCH_DELETED },
    {"BOOKMARK", WATCH_BOOKMARK},
    {"ERROR",    WATCH_ERROR   },
};

static void take_object(struct watch *w, struct arena *a, enum watch_event_type type,
                        const struct json *tree)
{
    struct err err;

    if (!str_eq(json_str(json_getz(tree, "kind")), w->kind->kind))
        return; /* not what was asked for: client-go drops it, too */
    struct object *o = remote_object(a, w->kind, tree, &err);
    if (!o) {
        fail(w, &err);
        return;
    }
    w->had_event = true;
    w->revision = MAX(w->revision, object_revision(o));
    tell(w, &(struct watch_event){.type = type, .object = o, .revision = object_revision(o)});
    object_unref(o);
}

static void take_line(struct watch *w, struct str line)
{
    scoped(arena_fini) struct arena a = arena_sized(8 << 10);
    struct err err;

    line = str_trim(line);
    if (!line.len)
        return; /* keeps the connection alive */
    const struct json *tree = json_parse(&a, line, NULL, &err);
    const struct json *object = json_getz(tree, "object");
    struct str name = json_str(json_getz(tree, "type"));
    for (size_t i = 0; i < countof(types); i++) {
        if (!str_eqz(name, types[i].name))
            continue;
        if (types[i].type == WATCH_ERROR) {
            client_error((int)json_i64(json_getz(object, "code"), 500), object, (struct str){0},
                         &err);
            fail(w, &err);
        } else if (types[i].type == WATCH_BOOKMARK) {
            uint64_t revision = remote_revision(object);
            w->revision = MAX(w->revision, revision);
            tell(w, &(struct watch_event){.type = WATCH_BOOKMARK, .revision = revision});
        } else {
            take_object(w, &a, types[i].type, object);
        }
        return;
    }
    if (tree)
        err_set(&err, ERR_SYNTAX, "no event: '%.*s'", (int)MIN(line.len, (size_t)64), line.at);
    err_wrap(&err, "the server's watch cannot be read");
    fail(w, &err);
}

/* ---- the call's events ---- */

static void got_head(void *ctx, int status, const struct http_header *headers, size_t n)
{
    struct watch *w = ctx;

    (void)headers;
    (void)n;
    w->code = status;
}

static void got_data(void *ctx, struct str bytes)
{
    struct watch *w = ctx;
    struct str line;
    struct err err;

    w->calls++;
    while (w->code == 200 && str_index(bytes, '\n') != STR_NONE && !w->is_stopped &&
           !w->is_ended) {
        str_cut(bytes, '\n', &line, &bytes);
        if (!w->line.len) {
            take_line(w, line);
            continue;
        }
        buf_add(&w->line, line);
        struct buf whole = w->line;
        w->line = (struct buf){0};
        take_line(w, buf_str(&whole));
        buf_fini(&whole);
    }
    buf_add(&w->line, bytes);
    if (w->line.len > CLIENT_MAX_EVENT) {
        err_set(&err, ERR_LIMIT, "an event of a watch is over %zu bytes", CLIENT_MAX_EVENT);
        fail(w, &err);
        buf_clear(&w->line);
    }
    if (w->is_ended && w->call && !w->is_stopped) {
        http_call_cancel(w->call);
        w->call = NULL;
    }
    leave(w);
}

/* Would asking again help? */
static bool can_heal(const struct watch *w, const struct err *err)
{
    return w->code == 0 || w->code == 429 || w->code >= 500 || err->code == ERR_UNAVAILABLE;
}

static void got_end(void *ctx, const struct err *err)
{
    struct watch *w = ctx;
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct err why;

    w->call = NULL;
    w->calls++;
    if (!err && w->code == 200) {
        if (w->line.len)
            take_line(w, buf_str(&w->line));
        if (!w->is_ended && !w->is_stopped)
            ask_again(w, true);
    } else {
        if (!err)
            client_error(w->code, json_parse(&a, buf_str(&w->line), NULL, NULL),
                         buf_str(&w->line), &why);
        else
            why = *err;
        if (can_heal(w, &why))
            ask_again(w, false);
        else
            fail(w, &why);
    }
    leave(w);
}

static const struct http_call_events events = {got_head, got_data, got_end};

/* ---- the door ---- */

struct client_watch *remote_watch(struct client *c, const struct client_target *t,
                                  const struct client_select *sel, uint64_t revision,
                                  client_watch_fn *event, void *ctx)
{
    struct watch *w = mem_zero(1, sizeof(*w));
    struct arena *a = &w->arena;
    struct buf path = buf_in(a, 256);

    w->remote = (struct remote *)c;
    w->kind = t->kind;
    w->revision = revision;
    w->event = event;
    w->ctx = ctx;
    list_add(&w->remote->watches, &w->link);
    buf_add(&path, w->remote->prefix);
    struct client_target at = *t;
    at.name = (struct str){0};
    buf_add(&path, client_path(a, &at));
    if (t->name.len)
        client_query(&path, S("fieldSelector"),
                     str_printf(a, "metadata.name=%.*s%s%.*s", STR_ARG(t->name),
                                sel->fields.len ? "," : "", STR_ARG(sel->fields)));
    else if (sel->fields.len)
        client_query(&path, S("fieldSelector"), sel->fields);
    if (sel->labels.len)
        client_query(&path, S("labelSelector"), sel->labels);
    w->path = buf_str(&path);
    ask(w);
    return &w->watch;
}

void remote_watch_stop(struct client_watch *watch)
{
    struct watch *w = (struct watch *)watch;

    if (w->is_stopped)
        return;
    w->is_stopped = true;
    list_del(&w->link);
    io_timer_free(w->again);
    w->again = NULL;
    if (w->call)
        http_call_cancel(w->call);
    w->call = NULL;
    if (!w->calls)
        watch_free(w);
}

struct client_watch *remote_first_watch(const struct remote *r)
{
    return &list_item(r->watches.next, struct watch, link)->watch;
}
