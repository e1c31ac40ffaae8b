/* watch.c - watches: cursors into the ring of their kind
 *
 * A watch is told once that there is something, then takes events at its own pace. What it has
 * yet to take is kept for it, within bounds (history.c); one that is overtaken by the ring's
 * end is cut off; nobody waits for it.
 */
#include "store/store_priv.h"

#include "io/io.h"

#define WAKE_SLICE 64 /* watches told in one turn */
#define ASK_EVERY 64  /* events: there may be many watches */

struct store_watch {
    struct list link;  /* in rack->watches */
    struct list woken; /* in store->woken, while it is to be told */
    struct store *store;
    struct rack *rack;
    struct str ns, path; /* on the heap; "" all */
    uint64_t next;       /* event */
    uint64_t revision;   /* everything up to it was taken */
    bool is_waiting;     /* took all there was */
    bool is_gone;
    store_wake_fn *wake;
    void *ctx;
};

static void tell(void *ctx)
{
    struct store *s = ctx;

    for (size_t n = 0; n < WAKE_SLICE && !list_empty(&s->woken); n++) {
        struct store_watch *w = list_item(s->woken.next, struct store_watch, woken);
        list_del(&w->woken);
        w->wake(w->ctx);
    }
    if (!list_empty(&s->woken))
        io_later(s->io, tell, s);
}

static void tell_later(struct store *s, struct store_watch *w)
{
    if (list_empty(&s->woken))
        io_later(s->io, tell, s);
    list_add(&s->woken, &w->woken);
    w->is_waiting = false;
}

static bool matches(const struct store_watch *w, struct str path)
{
    if (w->path.len)
        return str_eq(path, w->path);
    return w->ns.len == 0 ||
           (path.len > w->ns.len && path.at[w->ns.len] == '/' && str_starts(path, w->ns));
}

void watches_wake(struct store *s, struct rack *r, struct str path)
{
    list_each (link, &r->watches) {
        struct store_watch *w = list_item(link, struct store_watch, link);
        if (!w->is_waiting)
            continue;
        if (matches(w, path))
            tell_later(s, w);
        else
            w->next = r->last;
    }
}

uint64_t watches_needed(struct rack *r)
{
    if (r->needed > r->first || r->last - r->asked < ASK_EVERY)
        return r->needed; /* they only go on from there */
    r->needed = r->asked = r->last;
    list_each (link, &r->watches) {
        const struct store_watch *w = list_item(link, struct store_watch, link);
        if (!w->is_gone && !w->is_waiting)
            r->needed = MIN(r->needed, w->next);
    }
    return r->needed;
}

static struct str heap_str(struct str s)
{
    char *copy = mem_alloc(s.len + 1);

    if (s.len)
        memcpy(copy, s.at, s.len);
    return str_of(copy, s.len);
}

struct store_watch *store_watch_new(struct store *s, const struct kind *kind, struct str ns,
                                    struct str name, uint64_t revision, store_wake_fn *wake,
                                    void *ctx)
{
    struct store_watch *w = mem_zero(1, sizeof(*w));
    scoped(arena_fini) struct arena a = {0};

    w->store = s;
    w->rack = store_rack(s, kind);
    w->ns = heap_str(ns);
    w->path = heap_str(name.len == 0 ? name
                       : ns.len      ? str_printf(&a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name))
                                     : name);
    w->revision = revision;
    w->wake = wake;
    w->ctx = ctx;
    w->is_gone = revision < w->rack->gone;
    w->next = history_after(w->rack, revision);
    w->rack->needed = MIN(w->rack->needed, w->next);
    list_add(&w->rack->watches, &w->link);
    if (w->is_gone || w->next < w->rack->last)
        tell_later(s, w);
    else
        w->is_waiting = true;
    return w;
}

int store_watch_next(struct store_watch *w, struct store_event *out, struct err *err)
{
    struct rack *r = w->rack;

    if (w->is_gone || w->next < r->first) {
        w->is_gone = true;
        return err_set(err, ERR_GONE, "too old resource version: %" PRIu64 " (%" PRIu64 ")",
                       w->revision, r->gone);
    }
    while (w->next < r->last) {
        const struct past *p = &r->ring[w->next++ & (r->n_ring - 1)];
        if (p->revision <= w->revision || !matches(w, object_path(p->now)))
            continue;
        w->revision = p->revision;
        *out = event_of(p);
        return 1;
    }
    w->is_waiting = list_empty(&w->woken);
    w->revision = MAX(w->revision, w->store->revision);
    return 0;
}

uint64_t store_watch_revision(const struct store_watch *w)
{
    return w->is_waiting ? MAX(w->revision, w->store->revision) : w->revision;
}

void store_watch_free(struct store_watch *w)
{
    if (!w)
        return;
    list_del(&w->link);
    list_del(&w->woken);
    free((void *)(uintptr_t)w->ns.at);
    free((void *)(uintptr_t)w->path.at);
    free(w);
}

void watches_fini(struct store *s)
{
    io_later_cancel(s->io, tell, s);
}

bool store_is_watched(const struct store *s, const struct kind *kind)
{
    return !list_empty(&store_rack(s, kind)->watches);
}
