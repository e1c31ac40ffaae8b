/* set.c - values, each once
 *
 * Few are compared one by one; many stand in a table by hash. Equal numbers hash alike whether
 * they are integers or doubles, and so do objects whatever the order of their members.
 */
#include <math.h>

#include "json/json.h"

#define LINEAR_VALUES 8

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

/* By the seeded hash of texts, so that nobody can choose numbers that meet. */
static uint64_t hash_number(const struct json *v)
{
    int64_t whole = v->type == JSON_INT ? v->i : 0;

    if (v->type == JSON_DOUBLE && !(v->d >= -0x1p63 && v->d < 0x1p63 && v->d == trunc(v->d)))
        return str_hash(str_of((const char *)&v->d, sizeof(v->d)));
    if (v->type == JSON_DOUBLE)
        whole = (int64_t)v->d;
    return str_hash(str_of((const char *)&whole, sizeof(whole)));
}

static uint64_t hash(const struct json *v)
{
    uint64_t h = v ? v->type : JSON_NULL;

    if (!v)
        return h;
    switch ((enum json_type)v->type) {
    case JSON_BOOL:
        return mix(h, v->boolean);
    case JSON_INT:
    case JSON_DOUBLE:
        return mix(JSON_INT, hash_number(v));
    case JSON_STRING:
        return mix(h, str_hash(str_of(v->s, v->len)));
    case JSON_ARRAY:
        for (uint32_t i = 0; i < v->len; i++)
            h = mix(h, hash(&v->items[i]));
        return h;
    case JSON_OBJECT:
        for (uint32_t i = 0; i < v->len; i++)
            h += mix(str_hash(v->members[i].name), hash(&v->members[i].value));
        return mix(h, v->len);
    default:
        return h;
    }
}

/* The slot that holds an equal value, or the empty one where it would stand. */
static uint32_t *slot_of(const struct json_set *s, const struct json *v, uint64_t h)
{
    uint32_t mask = s->n_slots - 1, at = (uint32_t)(h >> 32) & mask;

    while (s->slots[at] && !(s->values.at[s->slots[at] - 1].hash == h &&
                             json_eq(s->values.at[s->slots[at] - 1].v, v)))
        at = (at + 1) & mask;
    return &s->slots[at];
}

static void learn(struct json_set *s)
{
    s->n_slots = MAX(s->n_slots * 4, 64u);
    s->slots = arena_array(s->arena, uint32_t, s->n_slots);
    vec_each (i, &s->values) {
        struct json_set_value *one = &s->values.at[i];
        one->hash = one->hash ? one->hash : hash(one->v);
        *slot_of(s, one->v, one->hash) = (uint32_t)i + 1;
    }
}

bool json_set_has(const struct json_set *s, const struct json *v)
{
    if (s->n_slots)
        return *slot_of(s, v, hash(v)) != 0;
    vec_each (i, &s->values)
        if (json_eq(s->values.at[i].v, v))
            return true;
    return false;
}

bool json_set_put(struct json_set *s, const struct json *v)
{
    struct json_set_value one = {.v = v};

    if (s->values.len >= LINEAR_VALUES) {
        if (2 * (s->values.len + 1) > s->n_slots)
            learn(s);
        one.hash = hash(v);
        uint32_t *slot = slot_of(s, v, one.hash);
        if (*slot)
            return true;
        *slot = (uint32_t)s->values.len + 1;
    } else if (json_set_has(s, v)) {
        return true;
    }
    vec_push_in(s->arena, &s->values, one);
    return false;
}
