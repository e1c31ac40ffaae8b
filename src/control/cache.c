/* cache.c - all objects of one kind, fed by list and watch
 *
 * `told` is the highest revision that the watch told of. An answer to our own write is taken
 * only where it is newer: what is older and not here was deleted meanwhile.
 *
 *     entry ── member ── bucket "uid-1"        one member for each key of each index
 *          └── member ── bucket "uid-2"
 */
#include "control/cache_priv.h"

#include "io/io.h"
#include "object/object.h"

struct bucket {
    struct object **objects; /* what callers see */
    struct member **members; /* same order */
    uint32_t len, cap;
    size_t key_len;
    char key[];
};

struct member {
    struct member *next; /* of the same entry */
    struct cache_index *index;
    struct bucket *bucket;
    uint32_t at; /* in the bucket */
    bool is_kept;
};

struct entry {
    struct object *object;
    struct member *members;
    bool is_listed; /* seen by the list under way */
    size_t path_len;
    char path[];
};

struct cache_index {
    struct cache *cache;
    const char *name;
    cache_keys_fn *fn;
    MAP(struct bucket *) buckets;
};

struct subscriber {
    cache_event_fn *fn;
    void *ctx;
};

struct cache {
    struct control *control;
    const struct kind *kind;
    struct buf fields; /* the field selector; "": all objects */
    MAP(struct entry *) entries;
    VEC(struct cache_index *) indexes;
    VEC(struct subscriber) subscribers;
    struct cache_keys keys; /* of the index that is asked */
    struct client_watch *watch;
    struct io_timer *retry;
    uint64_t told;
    int n_failed;
    bool is_ready;
    /* the first list, as far as it is not taken in yet; each holds a reference */
    VEC(struct object *) listed;
    size_t n_taken;
};

/* Objects of the first list a turn: whoever asks the server something at its start does not
 * wait for all of them. */
#define LIST_SLICE 128

/* ---- indexes ---- */

static struct bucket *bucket_of(struct cache_index *x, struct str key)
{
    struct bucket **found = map_get(&x->buckets, key);

    if (found)
        return *found;
    struct bucket *b = mem_zero(1, sizeof(*b) + key.len);
    b->key_len = key.len;
    memcpy(b->key, key.at, key.len);
    *map_put(&x->buckets, str_of(b->key, b->key_len)) = b;
    return b;
}

static void bucket_free(struct bucket *b)
{
    free(b->objects);
    free(b->members);
    free(b);
}

static void join(struct entry *e, struct cache_index *x, struct str key)
{
    struct bucket *b = bucket_of(x, key);
    struct member *m = mem_zero(1, sizeof(*m));

    if (b->len == b->cap) {
        b->cap = b->cap ? b->cap * 2 : 2;
        b->objects = mem_grow(b->objects, b->cap * sizeof(*b->objects));
        b->members = mem_grow(b->members, b->cap * sizeof(*b->members));
    }
    *m = (struct member){.next = e->members, .index = x, .bucket = b, .at = b->len};
    m->is_kept = true;
    e->members = m;
    b->objects[b->len] = e->object;
    b->members[b->len++] = m;
}

static void leave(struct member *m)
{
    struct bucket *b = m->bucket;

    b->len--;
    b->objects[m->at] = b->objects[b->len];
    b->members[m->at] = b->members[b->len];
    b->members[m->at]->at = m->at;
    if (b->len == 0) {
        map_del(&m->index->buckets, str_of(b->key, b->key_len));
        bucket_free(b);
    }
    free(m);
}

static struct member *member_of(struct entry *e, const struct cache_index *x, struct str key)
{
    for (struct member *m = e->members; m; m = m->next)
        if (m->index == x && str_eq(str_of(m->bucket->key, m->bucket->key_len), key))
            return m;
    return NULL;
}

static void index_entry(struct cache_index *x, struct entry *e, const struct json *tree,
                        struct arena *a)
{
    struct cache_keys *keys = &x->cache->keys;

    keys->arena = a;
    vec_clear(&keys->keys);
    x->fn(e->object, tree, keys);
    vec_each (i, &keys->keys) {
        struct member *m = member_of(e, x, keys->keys.at[i]);
        if (m) {
            m->is_kept = true;
            m->bucket->objects[m->at] = e->object;
        } else {
            join(e, x, keys->keys.at[i]);
        }
    }
}

/* Puts the entry under the keys of its present object and nowhere else. */
static void index_all(struct cache *c, struct entry *e, const struct json *tree,
                      struct arena *a)
{
    for (struct member *m = e->members; m; m = m->next)
        m->is_kept = false;
    for (size_t i = 0; tree && i < c->indexes.len; i++)
        index_entry(c->indexes.at[i], e, tree, a);
    for (struct member **p = &e->members; *p;) {
        struct member *m = *p;
        if (m->is_kept) {
            p = &m->next;
            continue;
        }
        *p = m->next;
        leave(m);
    }
}

struct cache_index *cache_index(struct cache *c, const char *name, cache_keys_fn *fn)
{
    vec_each (i, &c->indexes)
        if (strcmp(c->indexes.at[i]->name, name) == 0)
            return c->indexes.at[i];
    struct cache_index *x = mem_zero(1, sizeof(*x));

    *x = (struct cache_index){.cache = c, .name = name, .fn = fn};
    vec_push(&c->indexes, x);
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    map_each (i, &c->entries) {
        struct entry *e = *map_at(&c->entries, i);
        index_entry(x, e, object_tree(e->object, &a), &a);
        arena_reset(&a);
    }
    return x;
}

size_t cache_indexed(const struct cache_index *x, struct str key, struct object *const **out)
{
    struct bucket **b = map_get(&x->buckets, key);

    *out = b ? (*b)->objects : NULL;
    return b ? (*b)->len : 0;
}

static void owner_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    const struct json *owners = json_path(tree, "metadata", "ownerReferences", NULL);

    (void)o;
    json_each (i, owners)
        vec_push(&out->keys, json_str(json_getz(json_at(owners, i), "uid")));
}

struct cache_index *cache_by_owner(struct cache *c)
{
    return cache_index(c, "owner", owner_keys);
}

static void namespace_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    (void)tree;
    vec_push(&out->keys, object_key(o).ns);
}

struct cache_index *cache_by_namespace(struct cache *c)
{
    return cache_index(c, "namespace", namespace_keys);
}

/* ---- events ---- */

const struct json *cache_event_now(struct cache_event *e)
{
    if (!e->now_tree && e->now)
        e->now_tree = object_tree(e->now, e->arena);
    return e->now_tree;
}

const struct json *cache_event_old(struct cache_event *e)
{
    if (!e->old_tree && e->old)
        e->old_tree = object_tree(e->old, e->arena);
    return e->old_tree;
}

const struct json *cache_event_any(struct cache_event *e)
{
    return e->now ? cache_event_now(e) : cache_event_old(e);
}

void cache_subscribe(struct cache *c, cache_event_fn *fn, void *ctx)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    vec_push(&c->subscribers, (struct subscriber){fn, ctx});
    map_each (i, &c->entries) {
        struct cache_event e = {.now = (*map_at(&c->entries, i))->object, .arena = &a};
        fn(ctx, &e);
        arena_reset(&a);
    }
}

static void tell(struct cache *c, struct cache_event *e)
{
    vec_each (i, &c->subscribers)
        c->subscribers.at[i].fn(c->subscribers.at[i].ctx, e);
}

/* ---- changes ---- */

struct str cache_path(struct arena *a, struct str ns, struct str name)
{
    if (ns.len == 0)
        return name;
    return str_concat(a, ns, S("/"), name);
}

static struct entry *entry_of(const struct cache *c, struct str path)
{
    struct entry **e = map_get(&c->entries, path);

    return e ? *e : NULL;
}

static void set_object(struct cache *c, struct object *o)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct str path = object_path(o);
    struct entry *e = entry_of(c, path);
    struct cache_event event = {.now = o, .old = e ? e->object : NULL, .arena = &a};

    if (!e) {
        e = mem_zero(1, sizeof(*e) + path.len);
        e->path_len = path.len;
        memcpy(e->path, path.at, path.len);
        *map_put(&c->entries, str_of(e->path, e->path_len)) = e;
    }
    e->object = object_ref(o);
    e->is_listed = true;
    if (c->indexes.len)
        index_all(c, e, cache_event_now(&event), &a);
    tell(c, &event);
    if (event.old)
        object_outdated(event.old);
    object_unref(event.old);
}

static void remove_entry(struct cache *c, struct entry *e, struct object *last)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct cache_event event = {.old = last ? last : e->object, .arena = &a};

    index_all(c, e, NULL, &a);
    map_del(&c->entries, str_of(e->path, e->path_len));
    tell(c, &event);
    object_outdated(e->object);
    object_unref(e->object);
    free(e);
}

void cache_offer(struct cache *c, struct object *o)
{
    struct entry *e = entry_of(c, object_path(o));

    if (!c->is_ready || object_revision(o) <= c->told)
        return;
    if (e && object_revision(e->object) >= object_revision(o))
        return;
    set_object(c, o);
}

void cache_forget(struct cache *c, struct str path, struct str uid)
{
    struct entry *e = entry_of(c, path);

    if (e && str_eq(object_uid(e->object), uid))
        remove_entry(c, e, NULL);
}

/* ---- list and watch ---- */

static void start_list(void *ctx);

static void retry(struct cache *c)
{
    int64_t ms = 20ll << MIN(c->n_failed, 9);

    c->n_failed++;
    io_timer_set(c->retry, span_ms(MIN(ms, 10000)));
}

static void watch_ended(struct cache *c, const struct err *err)
{
    struct client_watch *w = c->watch;

    c->watch = NULL;
    client_watch_stop(w);
    log_debug("watch ended", "why=\"%s\"", err ? err->text : "");
    retry(c);
}

static void take_deleted(struct cache *c, struct object *o, uint64_t revision)
{
    struct entry *e = entry_of(c, object_path(o));

    if (e && object_revision(e->object) <= revision)
        remove_entry(c, e, o);
}

static void take_event(void *ctx, const struct watch_event *event)
{
    struct cache *c = ctx;
    struct entry *e;

    c->told = MAX(c->told, event->revision);
    if (event->type == WATCH_ERROR) {
        watch_ended(c, event->err);
        return;
    }
    if (event->type == WATCH_BOOKMARK)
        return;
    if (event->type == WATCH_DELETED) {
        take_deleted(c, event->object, event->revision);
        return;
    }
    e = entry_of(c, object_path(event->object));
    if (!e || object_revision(e->object) < object_revision(event->object))
        set_object(c, event->object); /* else our own answer was here first */
}

static void start_watch(struct cache *c)
{
    struct client_target t = {.kind = c->kind};

    c->watch = client_watch(control_client(c->control), &t,
                            &(struct client_select){.fields = buf_str(&c->fields)}, c->told,
                            take_event, c);
}

/* A list that comes after others: what it lacks is gone. */
static void take_again(struct cache *c, const struct client_list_answer *answer)
{
    map_each (i, &c->entries)
        (*map_at(&c->entries, i))->is_listed = false;
    for (size_t i = 0; i < answer->n_items; i++) {
        struct entry *e = entry_of(c, object_path(answer->items[i]));
        if (!e || object_revision(e->object) < object_revision(answer->items[i]))
            set_object(c, answer->items[i]);
        else
            e->is_listed = true;
    }
    map_each (i, &c->entries) {
        struct entry *e = *map_at(&c->entries, i);
        /* What our own write made after the list was read is not gone. */
        if (!e->is_listed && object_revision(e->object) <= answer->revision)
            remove_entry(c, e, NULL);
    }
}

static void take_slice(void *ctx)
{
    struct cache *c = ctx;
    size_t end = MIN(c->n_taken + LIST_SLICE, c->listed.len);

    for (; c->n_taken < end; c->n_taken++) {
        set_object(c, c->listed.at[c->n_taken]);
        object_unref(c->listed.at[c->n_taken]);
    }
    if (end < c->listed.len) {
        io_later(control_io(c->control), take_slice, c);
        return;
    }
    vec_fini(&c->listed);
    start_watch(c);
    c->is_ready = true;
    control_cache_ready(c->control);
}

static void take_list(void *ctx, const struct client_list_answer *answer)
{
    struct cache *c = ctx;

    if (answer->err && answer->err->code == ERR_CANCELED)
        return; /* the cache is gone, and its client goes */
    if (answer->err) {
        log_debug("list failed", "why=\"%s\"", answer->err->text);
        retry(c);
        return;
    }
    c->n_failed = 0;
    c->told = MAX(c->told, answer->revision);
    if (c->is_ready) {
        take_again(c, answer);
        start_watch(c);
        return;
    }
    for (size_t i = 0; i < answer->n_items; i++)
        vec_push(&c->listed, object_ref(answer->items[i]));
    take_slice(c);
}

static void start_list(void *ctx)
{
    struct cache *c = ctx;
    struct client_target t = {.kind = c->kind};

    client_list(control_client(c->control), &t,
                &(struct client_select){.fields = buf_str(&c->fields)}, take_list, c);
}

/* ---- life and reading ---- */

struct cache *cache_new(struct control *control, const struct kind *kind, struct str fields)
{
    struct cache *c = mem_zero(1, sizeof(*c));

    *c = (struct cache){.control = control, .kind = kind};
    buf_add(&c->fields, fields);
    c->retry = io_timer_new(control_io(control), start_list, c);
    start_list(c);
    return c;
}

void cache_free(struct cache *c)
{
    client_watch_stop(c->watch);
    io_timer_free(c->retry);
    io_later_cancel(control_io(c->control), take_slice, c);
    for (size_t i = c->n_taken; i < c->listed.len; i++)
        object_unref(c->listed.at[i]);
    vec_fini(&c->listed);
    buf_fini(&c->fields);
    map_each (i, &c->entries) {
        struct entry *e = *map_at(&c->entries, i);
        for (struct member *m = e->members, *next; m; m = next) {
            next = m->next;
            free(m);
        }
        object_unref(e->object);
        free(e);
    }
    map_fini(&c->entries);
    vec_each (i, &c->indexes) {
        struct cache_index *x = c->indexes.at[i];
        map_each (k, &x->buckets)
            bucket_free(*map_at(&x->buckets, k));
        map_fini(&x->buckets);
        free(x);
    }
    vec_fini(&c->indexes);
    vec_fini(&c->subscribers);
    vec_fini(&c->keys.keys);
    free(c);
}

bool cache_is_ready(const struct cache *c)
{
    return c->is_ready;
}

const struct kind *cache_kind(const struct cache *c)
{
    return c->kind;
}

size_t cache_len(const struct cache *c)
{
    return map_len(&c->entries);
}

struct object *cache_find(const struct cache *c, struct str path)
{
    struct entry *e = entry_of(c, path);

    return e ? e->object : NULL;
}

struct object *cache_get(const struct cache *c, struct str ns, struct str name)
{
    char room[512];
    struct str path = name;

    if (ns.len) {
        if (ns.len + name.len + 1 > sizeof(room))
            return NULL; /* no stored name is that long */
        memcpy(room, ns.at, ns.len);
        room[ns.len] = '/';
        if (name.len)
            memcpy(room + ns.len + 1, name.at, name.len);
        path = str_of(room, ns.len + 1 + name.len);
    }
    return cache_find(c, path);
}

size_t cache_next(const struct cache *c, size_t from)
{
    size_t i = map_next_(&c->entries.core, from);

    return i < c->entries.core.used ? i : SIZE_MAX;
}

struct object *cache_at(const struct cache *c, size_t i)
{
    return (*map_at(&c->entries, i))->object;
}
