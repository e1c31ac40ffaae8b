/* recent.c - entries in the order of use; where they are too many the last one goes */
#include "object/recent_priv.h"
#include "object/slab.h"

#define STEP ((size_t)4000) /* by which it grows: a view takes as much */

/* Per process: only the loop's thread makes and reads objects. */
static struct list all = {&all, &all}; /* the one used last at the end */
static size_t total;

static void count(struct recent *r, size_t now)
{
    total = total - r->counted + now;
    r->counted = now;
}

static void unref_part(struct recent_part *part)
{
    if (!part || --part->refs)
        return;
    arena_fini(&part->views);
    free(part);
}

static void unref(void *what)
{
    struct recent *r = what;

    if (--r->refs)
        return;
    for (size_t i = 0; i < RECENT_PARTS; i++)
        unref_part(r->parts[i]);
    arena_fini(&r->arena);
    slab_free(r, sizeof(*r));
}

void recent_drop(struct recent **owner)
{
    struct recent *r = *owner;

    if (!r)
        return;
    *owner = NULL;
    r->owner = NULL;
    list_del(&r->link);
    count(r, 0);
    unref(r);
}

static void make_room(const struct recent *newest)
{
    while (total > RECENT_MAX_TOTAL) {
        struct recent *oldest = list_item(all.next, struct recent, link);
        if (oldest == newest)
            return;
        recent_drop(oldest->owner);
    }
}

struct recent *recent_make(struct recent **owner, size_t size)
{
    struct recent *r = slab_alloc(sizeof(*r));

    *r = (struct recent){.owner = owner, .refs = 1, .arena = arena_sized(MAX(size, STEP))};
    list_add(&all, &r->link);
    *owner = r;
    return r;
}

void recent_touch(struct recent *r)
{
    if (all.prev != &r->link) {
        list_del(&r->link);
        list_add(&all, &r->link);
    }
    /* A part that several have is in the count of each. */
    size_t now = sizeof(*r) + r->arena.total + r->parts_size;

    r->arena.next_size = STEP;
    if (now != r->counted) {
        count(r, now);
        make_room(r);
    }
}

void recent_age(struct recent *r)
{
    list_del(&r->link);
    list_add(all.next, &r->link); /* before the one that was the oldest */
}

void recent_hold(struct recent *r, struct arena *a)
{
    r->refs++;
    arena_hold(a, unref, r);
}

static void put_part(struct recent *r, enum recent_name name, struct recent_part *part)
{
    r->parts[name] = part;
    r->parts_size += part->size;
}

struct recent_part *recent_part_add(struct recent *r, enum recent_name name, size_t size)
{
    struct recent_part *part = mem_alloc(sizeof(*part) + size);

    *part = (struct recent_part){.refs = 1, .size = sizeof(*part) + size};
    put_part(r, name, part);
    return part;
}

void recent_part_share(struct recent *r, enum recent_name name, const struct recent *from)
{
    from->parts[name]->refs++;
    put_part(r, name, from->parts[name]);
}
