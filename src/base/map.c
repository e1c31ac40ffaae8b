/* map.c - open addressing over an array in insertion order
 *
 *     slots:   [ 2 | 0 | 1 | 0 | 3 ... ]     index + 1 into entries
 *     entries: [ a | (removed) | c ... ]     values lie beside them, same index
 */
#include "base/base.h"

static bool is_removed(const struct map_entry *e)
{
    return e->key.len == SIZE_MAX;
}

static uint32_t *find_slot(const struct map_core *m, struct str key, uint32_t hash)
{
    uint32_t mask = m->n_slots - 1;

    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &m->slots[i];
        if (*slot == 0)
            return slot;
        const struct map_entry *e = &m->entries[*slot - 1];
        if (e->hash == hash && !is_removed(e) && str_eq(e->key, key))
            return slot;
    }
}

static void pack(struct map_core *m, size_t size)
{
    uint32_t to = 0;

    for (uint32_t i = 0; i < m->used; i++) {
        if (is_removed(&m->entries[i]))
            continue;
        if (to != i) {
            m->entries[to] = m->entries[i];
            memcpy((char *)m->values + to * size, (char *)m->values + i * size, size);
        }
        to++;
    }
    m->used = to;
}

static void rebuild(struct map_core *m, size_t size)
{
    pack(m, size);
    uint32_t want = 8;
    while (want < m->len * 3 + 3)
        want *= 2;
    if (want != m->n_slots) {
        free(m->slots);
        m->slots = mem_zero(want, sizeof(*m->slots));
        m->n_slots = want;
    } else {
        memset(m->slots, 0, want * sizeof(*m->slots));
    }
    for (uint32_t i = 0; i < m->used; i++) {
        uint32_t at = m->entries[i].hash & (want - 1);
        while (m->slots[at])
            at = (at + 1) & (want - 1);
        m->slots[at] = i + 1;
    }
    m->cap = want / 2 + want / 8;
    m->entries = mem_grow(m->entries, m->cap * sizeof(*m->entries));
    m->values = mem_grow(m->values, size_mul(m->cap, size));
}

void *map_get_(const struct map_core *m, struct str key, size_t size)
{
    if (m->len == 0)
        return NULL;
    uint32_t slot = *find_slot(m, key, (uint32_t)str_hash(key));

    return slot ? (char *)m->values + (slot - 1) * size : NULL;
}

void *map_put_(struct map_core *m, struct str key, size_t size)
{
    uint32_t hash = (uint32_t)str_hash(key);

    assert(m->len < UINT32_MAX / 8);
    if (m->used == m->cap)
        rebuild(m, size);
    uint32_t *slot = find_slot(m, key, hash);
    if (*slot)
        return (char *)m->values + (*slot - 1) * size;

    uint32_t i = m->used++;
    m->entries[i] = (struct map_entry){key, hash};
    m->len++;
    *slot = i + 1;
    return memset((char *)m->values + i * size, 0, size);
}

bool map_del_(struct map_core *m, struct str key, size_t size)
{
    (void)size;
    if (m->len == 0)
        return false;
    uint32_t slot = *find_slot(m, key, (uint32_t)str_hash(key));

    if (!slot)
        return false;
    m->entries[slot - 1].key = (struct str){NULL, SIZE_MAX};
    if (--m->len == 0)
        map_clear_(m);
    return true;
}

size_t map_next_(const struct map_core *m, size_t from)
{
    while (from < m->used && is_removed(&m->entries[from]))
        from++;
    return from;
}

void map_clear_(struct map_core *m)
{
    m->used = 0;
    m->len = 0;
    if (m->slots)
        memset(m->slots, 0, m->n_slots * sizeof(*m->slots));
}

void map_fini_(struct map_core *m)
{
    free(m->values);
    free(m->entries);
    free(m->slots);
    *m = (struct map_core){0};
}
