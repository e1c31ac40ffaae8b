/* watch.c - a collection as a stream of events
 *
 *     initial objects (as of one revision, in slices) ─▶ bookmark ─▶ events as they come
 *
 * A reader that is slow stops the pump, not the writers; when it falls out of the store's
 * window it gets 410 and ends.
 */
#include "server/filter_priv.h"
#include "server/watch_priv.h"
#include "server/write_priv.h"

#include "io/io.h"

#define SLICE 256 /* initial objects between two looks at the reader */

struct watching {
    struct list link; /* in server->watches */
    struct request *r;
    struct filter filter;
    struct store_watch *events;
    uint64_t start;
    bool is_initial;   /* objects of `start` are still to be sent */
    bool marks_end;    /* with a bookmark behind them */
    struct buf after;  /* path of the last one sent */
    struct span ends;  /* uptime at which it ends; 0: never */
    struct span spoke; /* uptime of the last thing sent */
};

/* ---- sending ---- */

static void send_event(struct watching *w, enum event_type type, struct object *o,
                       uint64_t revision)
{
    struct request *r = w->r;

    w->spoke = io_uptime(r->server->io);
    if (object_key(o).kind == r->kind) {
        r->reply->watch_event(r, type, o, revision, false);
        return;
    }
    scoped(arena_fini) struct arena a = {0};
    struct object *as = as_kind(&a, o, r->kind);
    r->reply->watch_event(r, type, as, revision, false);
    object_unref(as);
}

static void send_bookmark(struct watching *w, uint64_t revision, bool is_initial_end)
{
    w->spoke = io_uptime(w->r->server->io);
    w->r->reply->watch_event(w->r, EVENT_BOOKMARK, NULL, revision, is_initial_end);
}

static void end(struct watching *w)
{
    struct request *r = w->r;

    store_watch_free(w->events);
    list_del(&w->link);
    buf_fini(&w->after);
    r->watching = NULL;
    free(w);
    request_fini(r);
}

void watching_cancel(struct request *r)
{
    if (r->watching)
        end(r->watching);
}

void watching_end(struct request *r)
{
    r->reply->watch_end(r);
    watching_cancel(r);
}

static void fail(struct watching *w, const struct err *err)
{
    struct request *r = w->r;
    struct api_error e = api_error_of(r->arena, err, subject_of(r));

    r->reply->watch_fail(r, json_new(r->arena, status_json(r->arena, &e)), err);
    watching_cancel(r);
}

/* ---- the pump ---- */

/* True where there may be more. */
static bool pump_initial(struct watching *w)
{
    scoped(arena_fini) struct arena a = {0};
    struct request *r = w->r;
    struct err err = {0};
    struct object *o = NULL;

    if (store_check(r->server->store, r->kind->storage, w->start, &err) < 0) {
        fail(w, &err);
        return false;
    }
    struct store_walk walk =
        store_walk(r->server->store, &a, r->kind->storage, r->ns, buf_str(&w->after), w->start);
    for (int i = 0; i < SLICE && (o = store_next(&walk)); i++) {
        buf_clear(&w->after);
        buf_add(&w->after, object_path(o));
        if (filter_matches(&w->filter, o))
            send_event(w, EVENT_ADDED, o, object_revision(o));
    }
    if (o)
        return true;
    w->is_initial = false;
    if (w->marks_end)
        send_bookmark(w, w->start, true);
    return true;
}

static void send_change(struct watching *w, const struct store_event *e)
{
    bool was = e->before && filter_matches(&w->filter, e->before);
    bool is = e->verb != STORE_REMOVED && filter_matches(&w->filter, e->now);

    if (is)
        send_event(w, was ? EVENT_MODIFIED : EVENT_ADDED, e->now, e->revision);
    else if (was)
        send_event(w, EVENT_DELETED, e->verb == STORE_REMOVED ? e->now : e->before,
                   e->revision);
}

static void pump(void *ctx)
{
    struct watching *w = ctx;
    struct request *r = w->r;

    while (!r->reply->watch_is_full(r)) {
        struct store_event e;
        struct err err = {0};
        if (w->is_initial) {
            if (!pump_initial(w))
                return;
            continue;
        }
        int rc = store_watch_next(w->events, &e, &err);
        if (rc < 0) {
            fail(w, &err);
            return;
        }
        if (rc == 0)
            return;
        send_change(w, &e);
        if (r->watching != w)
            return; /* the reader ended it meanwhile */
    }
}

void watching_drained(struct request *r)
{
    if (r->watching)
        pump(r->watching);
}

/* ---- time: deadlines, bookmarks, signs of life ---- */

void watching_tick(struct request *r)
{
    struct watching *w = r->watching;
    struct span now = io_uptime(r->server->io);
    bool is_idle = now.ns - w->spoke.ns >= WATCH_KEEPALIVE.ns;

    if (w->ends.ns && now.ns >= w->ends.ns) {
        watching_end(r);
        return;
    }
    if (!is_idle || w->is_initial)
        return;
    if (r->options.list.allow_watch_bookmarks)
        send_bookmark(w, store_watch_revision(w->events), false);
    else if (r->reply->watch_alive)
        r->reply->watch_alive(r);
    if (r->watching == w)
        w->spoke = now;
}

/* ---- the start ---- */

static int check_watch(struct request *r)
{
    struct field_errors errors = field_errors_in(r->arena);

    r->options.list.watch = true;
    list_options_check(&errors, &r->options.list, true);
    return errors.list.len ? fail_options(r, "ListOptions", &errors) : 0;
}

static struct span deadline(struct request *r)
{
    int64_t seconds = r->options.list.timeout_seconds;

    if (seconds <= 0 && !r->http)
        return (struct span){0};
    if (seconds <= 0)
        seconds = WATCH_MIN_S + (int64_t)(io_random(r->server->io) % WATCH_MIN_S);
    return (struct span){io_uptime(r->server->io).ns + span_s(seconds).ns};
}

static void begin(struct request *r, const struct filter *f, uint64_t version, bool is_initial)
{
    struct server *s = r->server;
    struct watching *w = mem_zero(1, sizeof(*w));

    w->r = r;
    w->filter = *f;
    w->is_initial = is_initial;
    w->marks_end = r->options.list.send_initial_events && r->options.list.allow_watch_bookmarks;
    w->start = is_initial ? store_revision(s->store) : version;
    w->ends = deadline(r);
    w->spoke = io_uptime(s->io);
    r->watching = w;
    list_add(&s->watches, &w->link);
    if (w->ends.ns || r->http)
        server_tick_soon(s);
    r->reply->watch_start(r);
    w->events =
        store_watch_new(s->store, r->kind->storage, r->kind->namespaced ? r->ns : S(""),
                        r->ns.len || !r->kind->namespaced ? f->name : S(""), w->start, pump, w);
    if (is_initial)
        pump(w);
    /* The first look at what is there already comes by the store's own call. */
}

void verb_watch(struct request *r)
{
    struct filter f;
    struct err err = {0};
    uint64_t version = 0;
    struct str text = r->options.list.resource_version;

    if (check_watch(r) < 0)
        goto end;
    if (filter_init(&f, r->kind, &r->options.list, &err) < 0) {
        fail_err(r, &err);
        goto end;
    }
    if (text.len && !str_to_u64(text, &version)) {
        /* Upstream answers 500 here. */
        fail_with(r, 500, "",
                  str_printf(r->arena,
                             "Internal error occurred: resourceVersion: Invalid value: "
                             "\"%.*s\"",
                             STR_ARG(text)));
        goto end;
    }
    bool is_initial = r->options.list.has_send_initial_events
                          ? r->options.list.send_initial_events
                          : version == 0;
    if (r->options.list.has_send_initial_events && !r->options.list.send_initial_events &&
        version == 0)
        version = store_revision(r->server->store);
    begin(r, &f, version, is_initial);
    return;
end:
    request_fini(r);
}

void watches_end_all(struct server *s)
{
    while (!list_empty(&s->watches))
        watching_end(list_item(s->watches.next, struct watching, link)->r);
}

void watches_tick_all(struct server *s)
{
    list_each (link, &s->watches) {
        struct watching *w = list_item(link, struct watching, link);
        watching_tick(w->r);
    }
}
