/* event_told.c - three books of what was said lately
 *
 *     similar    teller uid type reason        the different notes, when the last one came
 *     told       [... and note]                how often
 *     allowance  teller uid type               when all that was spent will be there again
 */
#include "control/event_told.h"

#define KEY_ROOM 2048 /* bytes: a key fits, unless its names are very long */

struct memory {
    MAP(struct remembered *) by_key;
    struct list order; /* the one not used for longest first */
};

struct similar {
    struct remembered in_book;
    struct span last;
    size_t n;
    uint64_t notes[TOLD_SIMILAR_MAX - 1]; /* digests */
};

struct allowance {
    struct remembered in_book;
    struct span full; /* an uptime */
};

struct told_book {
    struct memory similar, told, allowances;
};

/* ---- records ---- */

typedef void forget_fn(struct remembered *r);

static struct remembered *recall(struct memory *m, struct str key)
{
    struct remembered **found = map_get(&m->by_key, key);

    if (!found)
        return NULL;
    list_del(&(*found)->in_order);
    list_add(&m->order, &(*found)->in_order);
    return *found;
}

static void forget(struct memory *m, struct remembered *r, forget_fn *fn)
{
    map_del(&m->by_key, r->key);
    list_del(&r->in_order);
    fn(r);
}

/* A new record of so many bytes, zeroed. */
static struct remembered *remember(struct memory *m, struct str key, size_t size, forget_fn *fn)
{
    if (map_len(&m->by_key) >= TOLD_MAX)
        forget(m, list_item(m->order.next, struct remembered, in_order), fn);
    char *at = mem_zero(1, size + key.len);
    struct remembered *r = (struct remembered *)(void *)at;
    memcpy(at + size, key.at, key.len);
    r->key = str_of(at + size, key.len);
    list_add(&m->order, &r->in_order);
    *map_put(&m->by_key, r->key) = r;
    return r;
}

static void forget_all(struct memory *m, forget_fn *fn)
{
    list_each (p, &m->order)
        fn(list_item(p, struct remembered, in_order));
    map_fini(&m->by_key);
}

static void forget_record(struct remembered *r)
{
    free(r);
}

static void forget_told(struct remembered *r)
{
    told_unref(container_of(r, struct told, in_book));
}

/* ---- the book ---- */

struct told_book *told_book_new(void)
{
    struct told_book *b = mem_zero(1, sizeof(*b));

    list_init(&b->similar.order);
    list_init(&b->told.order);
    list_init(&b->allowances.order);
    return b;
}

void told_book_free(struct told_book *b)
{
    if (!b)
        return;
    forget_all(&b->similar, forget_record);
    forget_all(&b->told, forget_told);
    forget_all(&b->allowances, forget_record);
    free(b);
}

struct told *told_ref(struct told *t)
{
    t->refs++;
    return t;
}

void told_unref(struct told *t)
{
    if (--t->refs)
        return;
    free(t->combined);
    free(t->name);
    free(t);
}

/* Is it one of so many that they are combined? A note that has an Event of its own goes on
 * there. */
static bool is_one_of_many(struct told_book *b, struct str key, struct str note,
                           struct span now)
{
    struct remembered *found = recall(&b->similar, key);
    struct similar *x =
        container_of(found ? found : remember(&b->similar, key, sizeof(*x), forget_record),
                     struct similar, in_book);
    uint64_t digest = str_digest(note);

    if (now.ns - x->last.ns > TOLD_SIMILAR_SPAN.ns)
        x->n = 0;
    x->last = now;
    for (size_t i = 0; i < x->n; i++)
        if (x->notes[i] == digest)
            return false;
    if (x->n == countof(x->notes))
        return true;
    x->notes[x->n++] = digest;
    return false;
}

/* Its words are the parts of its key. */
static struct told *told_new(struct told_book *b, struct str key, const struct said *s)
{
    struct told *t =
        container_of(remember(&b->told, key, sizeof(*t), forget_told), struct told, in_book);
    size_t type = s->teller.len + 1 + s->uid.len + 1, reason = type + s->type.len + 1;
    size_t note = reason + s->reason.len + 1;

    t->refs = 1;
    t->type = str_slice(t->in_book.key, type, reason - 1);
    t->reason = str_slice(t->in_book.key, reason, note - 1);
    t->note = str_slice(t->in_book.key, note, note + s->note.len);
    return t;
}

static void combine(struct told *t, struct str note)
{
    char room[KEY_ROOM];
    scoped(arena_fini) struct arena a = arena_over(room, sizeof(room));

    free(t->combined);
    t->combined = str_own(str_concat(&a, S(TOLD_COMBINED), note));
    t->note = str_from(t->combined);
}

struct told *told_count(struct told_book *b, const struct said *s, struct span now)
{
    char room[KEY_ROOM];
    scoped(arena_fini) struct arena a = arena_over(room, sizeof(room));
    struct str key = str_concat(&a, s->teller, S("\0"), s->uid, S("\0"), s->type, S("\0"),
                                s->reason, S("\0"), s->note);
    struct str of_similar = str_slice(key, 0, key.len - s->note.len - 1);
    bool is_combined = is_one_of_many(b, of_similar, s->note, now);
    if (is_combined)
        key = of_similar;
    struct remembered *found = recall(&b->told, key);
    struct told *t = found ? container_of(found, struct told, in_book) : told_new(b, key, s);
    t->count++;
    if (is_combined)
        combine(t, s->note);
    return t;
}

bool told_spend(struct told_book *b, const struct said *s, struct span now)
{
    char room[KEY_ROOM];
    scoped(arena_fini) struct arena a = arena_over(room, sizeof(room));
    struct str key = str_concat(&a, s->teller, S("\0"), s->uid, S("\0"), s->type);
    struct remembered *found = recall(&b->allowances, key);
    struct allowance *x =
        container_of(found ? found : remember(&b->allowances, key, sizeof(*x), forget_record),
                     struct allowance, in_book);
    int64_t full = MAX(x->full.ns, now.ns) + TOLD_OBJECT_REFILL.ns;

    if (full - now.ns > TOLD_OBJECT_BURST * TOLD_OBJECT_REFILL.ns)
        return false;
    x->full.ns = full;
    return true;
}
