/* index.c - the objects of one kind in the order of their paths
 *
 *     chunks:  [a/a .. a/k] [a/m .. b/c] [b/d .. z/z]
 *
 * Pieces split when full and vanish when empty. A million objects are some four thousand
 * pieces: finding costs twenty comparisons, inserting at most one memmove() in each level.
 */
#include "store/store_priv.h"

int path_cmp(struct str a, struct str b)
{
    return str_cmp(a, b);
}

static struct str path_at(const struct chunk *c, size_t i)
{
    return object_path(c->at[i]);
}

/* The last chunk whose first path is not behind `path`; 0 where all are. */
static size_t chunk_find(const struct rack *r, struct str path)
{
    size_t lo = 0, hi = r->chunks.len;

    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (path_cmp(path_at(&r->chunks.at[mid], 0), path) <= 0)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

bool index_find(const struct rack *r, struct str path, size_t *chunk, size_t *at)
{
    *chunk = *at = 0;
    if (r->chunks.len == 0)
        return false;
    *chunk = chunk_find(r, path);

    const struct chunk *c = &r->chunks.at[*chunk];
    size_t lo = 0, hi = c->len;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = path_cmp(path_at(c, mid), path);
        if (order == 0) {
            *at = mid;
            return true;
        }
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    return false;
}

struct object *index_get(const struct rack *r, struct str path)
{
    size_t chunk, at;

    return index_find(r, path, &chunk, &at) ? r->chunks.at[chunk].at[at] : NULL;
}

/* Gives chunk i room for one more; it may have been split: true where `at` must be found
 * again. */
static bool chunk_room(struct rack *r, size_t i, size_t at)
{
    struct chunk *c = &r->chunks.at[i];

    if (c->len < c->cap)
        return false;
    if (c->cap < CHUNK_CAP) {
        c->cap = MIN(c->cap * 2, (uint32_t)CHUNK_CAP);
        c->at = mem_grow(c->at, c->cap * sizeof(*c->at));
        return false;
    }
    /* Paths often come in order: a split at the very end leaves the left piece full. */
    uint32_t keep = at == c->len && i + 1 == r->chunks.len ? c->len : c->len / 2;
    struct chunk right = {.len = c->len - keep, .cap = MAX(c->len - keep, (uint32_t)16)};
    if (keep < c->len)
        right.cap = CHUNK_CAP;
    right.at = mem_alloc(right.cap * sizeof(*right.at));
    memcpy(right.at, c->at + keep, right.len * sizeof(*right.at));
    c->len = keep;
    vec_insert(&r->chunks, i + 1, right);
    return true;
}

struct object *index_put(struct rack *r, struct object *o)
{
    struct str path = object_path(o);
    size_t i, at;

    if (index_find(r, path, &i, &at)) {
        struct object *old = r->chunks.at[i].at[at];
        r->chunks.at[i].at[at] = o;
        return old;
    }
    if (r->chunks.len == 0)
        vec_push(&r->chunks, (struct chunk){.cap = 4, .at = mem_alloc(4 * sizeof(o))});
    if (chunk_room(r, i, at)) {
        struct chunk *left = &r->chunks.at[i];
        if (at >= left->len) {
            at -= left->len;
            i++;
        }
    }
    struct chunk *c = &r->chunks.at[i];
    memmove(c->at + at + 1, c->at + at, (c->len - at) * sizeof(*c->at));
    c->at[at] = o;
    c->len++;
    r->count++;
    return NULL;
}

struct object *index_del(struct rack *r, struct str path)
{
    size_t i, at;

    if (!index_find(r, path, &i, &at))
        return NULL;
    struct chunk *c = &r->chunks.at[i];
    struct object *old = c->at[at];
    memmove(c->at + at, c->at + at + 1, (c->len - at - 1) * sizeof(*c->at));
    c->len--;
    r->count--;
    if (c->len == 0) {
        free(c->at);
        vec_remove(&r->chunks, i);
    }
    return old;
}

void index_fini(struct rack *r)
{
    vec_each (i, &r->chunks) {
        struct chunk *c = &r->chunks.at[i];
        for (size_t j = 0; j < c->len; j++)
            object_unref(c->at[j]);
        free(c->at);
    }
    vec_fini(&r->chunks);
}
