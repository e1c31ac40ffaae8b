/* recent.c - a few sets of entries; the one that was not used for longest gives way */
#include "object/recent_priv.h"

#define FIRST_SIZE ((size_t)8 << 10)

static struct recent *entries[RECENT_SETS][RECENT_WAYS];
static uint64_t uses;

static struct recent **set_of(const struct object *o)
{
    uint64_t n = (uint64_t)(uintptr_t)o >> 4;

    return entries[(n * UINT64_C(0x9E3779B97F4A7C15)) >> 59 & (RECENT_SETS - 1)];
}

static void unref(void *what)
{
    struct recent *r = what;

    if (--r->refs)
        return;
    arena_fini(&r->arena);
    free(r);
}

struct recent *recent_find(const struct object *o)
{
    struct recent **set = set_of(o);

    for (size_t i = 0; i < RECENT_WAYS; i++) {
        if (set[i] && set[i]->owner == o) {
            set[i]->used = ++uses;
            return set[i];
        }
    }
    return NULL;
}

/* Empty, and with no reader but us: its memory can be used again. */
static void empty(struct recent **at)
{
    struct recent *r = *at;

    r->owner = NULL;
    if (r->refs > 1) {
        *at = NULL;
        unref(r);
        return;
    }
    arena_reset(&r->arena);
    if (r->arena.total > RECENT_MAX_KEPT) {
        arena_fini(&r->arena);
        r->arena = arena_sized(FIRST_SIZE);
    }
    r->tree = NULL;
    r->view = NULL;
}

struct recent *recent_make(const struct object *o)
{
    struct recent **set = set_of(o);
    size_t oldest = 0;

    for (size_t i = 0; i < RECENT_WAYS; i++) {
        if (!set[i] || !set[i]->owner) {
            oldest = i;
            break;
        }
        if (set[i]->used < set[oldest]->used)
            oldest = i;
    }
    if (set[oldest] && set[oldest]->owner)
        empty(&set[oldest]);
    if (!set[oldest]) {
        set[oldest] = mem_zero(1, sizeof(struct recent));
        set[oldest]->refs = 1;
        set[oldest]->arena = arena_sized(FIRST_SIZE);
    }
    set[oldest]->owner = o;
    set[oldest]->used = ++uses;
    return set[oldest];
}

void recent_drop(const struct object *o)
{
    struct recent **set = set_of(o);

    for (size_t i = 0; i < RECENT_WAYS; i++)
        if (set[i] && set[i]->owner == o)
            empty(&set[i]);
}

void recent_hold(struct recent *r, struct arena *a)
{
    r->refs++;
    arena_hold(a, unref, r);
}
