/* recent.c - entries in the order of use; where they are too many the last one goes */
#include "object/recent_priv.h"
#include "object/slab.h"

/* What a tree takes, about, of memory for each byte of its text. */
#define TREE_OF_TEXT(n) ((n)*5 / 2)
#define STEP ((size_t)4000) /* by which it grows: a view takes as much */

/* Per process: only the loop's thread makes and reads objects. */
static struct list all = {&all, &all}; /* the one used last at the end */
static size_t total;

static void count(struct recent *r, size_t now)
{
    total = total - r->counted + now;
    r->counted = now;
}

static void unref(void *what)
{
    struct recent *r = what;

    if (--r->refs)
        return;
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

struct recent *recent_make(struct recent **owner, size_t text)
{
    struct recent *r = slab_alloc(sizeof(*r));

    *r = (struct recent){
        .owner = owner, .refs = 1, .arena = arena_sized(MAX(TREE_OF_TEXT(text), STEP))};
    list_add(&all, &r->link);
    *owner = r;
    return r;
}

/* The home of its spec may be nobody's any more, and then is in no other count. */
static size_t weight(const struct recent *r)
{
    bool is_guest = r->spec_home && r->spec_home != r;

    return r->arena.total + (is_guest ? r->spec_home->arena.total : 0);
}

void recent_touch(struct recent *r)
{
    if (all.prev != &r->link) {
        list_del(&r->link);
        list_add(&all, &r->link);
    }
    size_t now = weight(r);

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

/* A home owns its spec itself, so that it holds no other: no chain of versions grows. */
void recent_share_spec(struct recent *r, const struct recent *from)
{
    r->spec = from->spec;
    r->spec_home = from->spec_home;
    recent_hold(r->spec_home, &r->arena);
}
