/* recent.c - entries in the order of use; where they are too many the last one goes */
#include "object/recent_priv.h"

#define TREE_PER_TEXT 3 /* what a tree takes, about, of memory for each byte of its text */

/* Per process: only the loop's thread makes and reads objects. */
static struct list all = {&all, &all}; /* the one used last at the end */
static size_t total;
static struct recent *spares[RECENT_SPARES];
static size_t n_spares;

static void count(struct recent *r, size_t now)
{
    total = total - r->counted + now;
    r->counted = now;
}

static void end(struct recent *r)
{
    arena_reset(&r->arena);
    if (n_spares < RECENT_SPARES && r->arena.total <= RECENT_SPARE_BYTES) {
        spares[n_spares++] = r;
        return;
    }
    arena_fini(&r->arena);
    free(r);
}

static void unref(void *what)
{
    struct recent *r = what;

    if (!--r->refs)
        end(r);
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
    struct recent *r = n_spares ? spares[--n_spares] : NULL;

    if (!r) {
        r = mem_zero(1, sizeof(*r));
        r->arena = arena_sized(MAX(text * TREE_PER_TEXT, (size_t)1024));
    }
    *r = (struct recent){.owner = owner, .refs = 1, .arena = r->arena};
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
