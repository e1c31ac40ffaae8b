/* history.c - the events of the last minutes, kind by kind, and reading as of an old revision
 *
 *     ring:  first → 17 create a | 19 change a (before: 17) | 23 remove a (before: 19) ← last
 *
 * What a path held at revision R is `before` of its first event after R, or what it holds now
 * where there was none.
 */
#include "store/store_priv.h"

#include "io/io.h"

#define RING_START 16

static struct past *past_at(const struct rack *r, uint64_t i)
{
    return &r->ring[i & (r->n_ring - 1)];
}

/* Bytes that only the ring holds. */
static size_t past_weight(const struct past *p)
{
    size_t n = p->before ? object_weight(p->before) : 0;

    return n + (p->is_removal ? object_weight(p->now) : 0);
}

static void drop_first(struct rack *r)
{
    struct past *p = past_at(r, r->first);

    r->past_bytes -= MIN(r->past_bytes, past_weight(p));
    r->gone = p->revision;
    object_unref(p->now);
    object_unref(p->before);
    r->first++;
}

static void ring_grow(struct rack *r)
{
    size_t n = r->n_ring ? r->n_ring * 2 : RING_START;
    struct past *ring = mem_alloc(n * sizeof(*ring));

    for (uint64_t i = r->first; i < r->last; i++)
        ring[i & (n - 1)] = *past_at(r, i);
    free(r->ring);
    r->ring = ring;
    r->n_ring = n;
}

/* A reader that is cut off lists everything again, which costs more than what it has not taken
 * yet. */
static bool is_too_heavy(const struct store *s, struct rack *r, size_t more)
{
    size_t bytes = r->past_bytes + more;

    return bytes > s->past_limit && (bytes > STORE_MAX_LAG || r->first < watches_needed(r));
}

void history_add(struct store *s, struct rack *r, struct past event)
{
    struct instant old = instant_add(event.when, (struct span){-STORE_MAX_AGE.ns});

    while (r->first < r->last &&
           (r->last - r->first >= STORE_MAX_EVENTS || is_too_heavy(s, r, past_weight(&event)) ||
            instant_before(past_at(r, r->first)->when, old)))
        drop_first(r);
    if (r->last - r->first == r->n_ring)
        ring_grow(r);
    r->last++;
    *past_at(r, r->last - 1) = event;
    r->past_bytes += past_weight(&event);
}

void history_fini(struct rack *r)
{
    while (r->first < r->last)
        drop_first(r);
    free(r->ring);
}

struct store_event event_of(const struct past *p)
{
    return (struct store_event){.verb = p->is_removal ? STORE_REMOVED
                                        : p->before   ? STORE_CHANGED
                                                      : STORE_CREATED,
                                .revision = p->revision,
                                .now = p->now,
                                .before = p->before};
}

uint64_t history_after(const struct rack *r, uint64_t revision)
{
    uint64_t lo = r->first, hi = r->last;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (past_at(r, mid)->revision <= revision)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int store_check(const struct store *s, const struct kind *kind, uint64_t revision,
                struct err *err)
{
    const struct rack *r = store_rack(s, kind);

    if (revision > s->revision)
        return err_set(err, ERR_TIMEOUT,
                       "Too large resource version: %" PRIu64 ", current: %" PRIu64, revision,
                       s->revision);
    if (revision < r->gone)
        return err_set(err, ERR_GONE, "too old resource version: %" PRIu64 " (%" PRIu64 ")",
                       revision, r->gone);
    return 0;
}

/* ---- walking ---- */

struct changed {
    struct str path;
    struct object *was;
};

static int changed_cmp(const struct changed *a, const struct changed *b)
{
    return path_cmp(a->path, b->path);
}

static bool in_namespace(struct str path, struct str ns)
{
    return ns.len == 0 || (path.len > ns.len && path.at[ns.len] == '/' && str_starts(path, ns));
}

/* What stood at each path that changed after `revision`. */
static void collect_changed(struct store_walk *w, struct arena *a, struct str after,
                            uint64_t revision)
{
    const struct rack *r = w->rack;
    VEC(struct changed) changed = {0};
    MAP(bool) seen = {0};

    for (uint64_t i = history_after(r, revision); i < r->last; i++) {
        const struct past *p = past_at(r, i);
        struct str path = object_path(p->now);
        if (!in_namespace(path, w->ns) || path_cmp(path, after) <= 0 || map_get(&seen, path))
            continue;
        *map_put(&seen, path) = true;
        vec_push_in(a, &changed, (struct changed){path, p->before});
    }
    map_fini(&seen);
    vec_sort(&changed, changed_cmp);
    struct object **past = arena_array(a, struct object *, changed.len);
    struct str *paths = arena_array(a, struct str, changed.len);
    vec_each (i, &changed) {
        past[i] = changed.at[i].was;
        paths[i] = changed.at[i].path;
    }
    w->past = past;
    w->changed = paths;
    w->n_past = changed.len;
}

struct store_walk store_walk(const struct store *s, struct arena *a, const struct kind *kind,
                             struct str ns, struct str after, uint64_t revision)
{
    struct store_walk w = {.store = s, .rack = store_rack(s, kind), .ns = ns};
    struct str from = after;

    if (ns.len) {
        struct str prefix = str_printf(a, "%.*s/", STR_ARG(ns));
        if (path_cmp(prefix, from) > 0)
            from = prefix;
    }
    if (index_find(w.rack, from, &w.chunk, &w.at) && from.len)
        w.at++;
    if (revision && revision < s->revision)
        collect_changed(&w, a, after, revision);
    return w;
}

/* What the index holds under the walk, or NULL at its end; the walk stays there. */
static struct object *walk_peek(struct store_walk *w)
{
    const struct rack *r = w->rack;

    while (w->chunk < r->chunks.len) {
        const struct chunk *c = &r->chunks.at[w->chunk];
        if (w->at < c->len) {
            struct object *o = c->at[w->at];
            return in_namespace(object_path(o), w->ns) ? o : NULL;
        }
        w->chunk++;
        w->at = 0;
    }
    return NULL;
}

struct object *store_next(struct store_walk *w)
{
    for (;;) {
        struct object *o = walk_peek(w);
        if (w->past_at == w->n_past) {
            w->at += o != NULL;
            return o;
        }
        int order = o ? path_cmp(w->changed[w->past_at], object_path(o)) : -1;
        if (order > 0) {
            w->at++;
            return o;
        }
        if (order == 0)
            w->at++;
        struct object *was = w->past[w->past_at++];
        if (was)
            return was;
    }
}

size_t store_rest(struct store_walk *w)
{
    const struct rack *r = w->rack;
    size_t n = 0, end_chunk = r->chunks.len, end_at = 0;

    if (w->n_past) {
        while (store_next(w))
            n++;
        return n;
    }
    if (w->ns.len) {
        /* Behind "NS/" comes what begins with "NS0": '0' follows '/'. */
        scoped(arena_fini) struct arena a = {0};
        index_find(r, str_printf(&a, "%.*s0", STR_ARG(w->ns)), &end_chunk, &end_at);
    }
    for (size_t i = w->chunk; i < r->chunks.len && i <= end_chunk; i++) {
        size_t from = i == w->chunk ? w->at : 0;
        size_t to = i == end_chunk ? end_at : r->chunks.at[i].len;
        n += to > from ? to - from : 0;
    }
    w->chunk = r->chunks.len;
    return n;
}
