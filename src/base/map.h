/* map.h - tables by string key, walked in the order of insertion
 *
 *     MAP(struct thing *) things = {0};
 *     *map_put(&things, key) = thing;           the key is borrowed: it must outlive the entry
 *     struct thing **t = map_get(&things, key); NULL where there is none
 *     map_each(i, &things) use(map_key(&things, i), *map_at(&things, i));
 *     map_fini(&things);
 *
 * Pointers to values hold until the next map_put(). Removing entries while walking is allowed;
 * adding is not. 28 bytes an entry and the value.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct map_entry {
    struct str key; /* at == NULL and len == SIZE_MAX: removed */
    uint32_t hash;
};

struct map_core {
    void *values; /* first: aliases the typed pointer of MAP() */
    struct map_entry *entries;
    uint32_t *slots;  /* index + 1 of an entry; 0 is empty */
    size_t len;       /* live entries */
    uint32_t used;    /* entries with holes */
    uint32_t n_slots; /* a power of two, or 0 */
    uint32_t cap;     /* of entries and values */
};

#define MAP(type)                                                                              \
    union {                                                                                    \
        type *values;                                                                          \
        struct map_core core;                                                                  \
    }

#define map_get(m, key) ((typeof((m)->values))map_get_(&(m)->core, (key), sizeof(*(m)->values)))
/* The value of `key`, zeroed where it is new. */
#define map_put(m, key) ((typeof((m)->values))map_put_(&(m)->core, (key), sizeof(*(m)->values)))
/* True where it was there. */
#define map_del(m, key) map_del_(&(m)->core, (key), sizeof(*(m)->values))
#define map_len(m) ((m)->core.len)
#define map_each(i, m)                                                                         \
    for (size_t i = map_next_(&(m)->core, 0); i < (m)->core.used;                              \
         i = map_next_(&(m)->core, i + 1))
#define map_key(m, i) ((m)->core.entries[i].key)
#define map_at(m, i) (&(m)->values[i])
#define map_clear(m) map_clear_(&(m)->core)
#define map_fini(m) map_fini_(&(m)->core)

void *map_get_(const struct map_core *m, struct str key, size_t size);
void *map_put_(struct map_core *m, struct str key, size_t size);
bool map_del_(struct map_core *m, struct str key, size_t size);
size_t map_next_(const struct map_core *m, size_t from);
void map_clear_(struct map_core *m);
void map_fini_(struct map_core *m);
