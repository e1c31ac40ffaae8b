/* park.c - pods that found no node, and who is told when there is room
 *
 * A freed slot wakes as many as it has room for, and looks at no others: pods that ask for the
 * same with one priority stand in one line, in the order of parking, and only the heads of the
 * lines are compared.
 */
#include "sched/sched_priv.h"

struct parked {
    char *key;
    struct line *line;
    struct parked *next, *before;
    uint64_t place; /* in the order of parking, over all lines */
};

struct line {
    char *key; /* the priority and the amounts, as bytes */
    struct amounts asks;
    int32_t priority;
    struct parked *first, *last;
};

/* ---- lines ---- */

static struct str line_key(struct arena *a, const struct amounts *asks, int32_t priority)
{
    size_t n = asks->len;
    struct buf key = buf_in(a, sizeof(priority) + n * sizeof(*asks->at));

    while (n && asks->at[n - 1] == 0)
        n--;
    buf_add(&key, str_of((const char *)&priority, sizeof(priority)));
    if (n)
        buf_add(&key, str_of((const char *)asks->at, n * sizeof(*asks->at)));
    return buf_str(&key);
}

/* The line of those who ask for that; the amounts become its own, or go. */
static struct line *line_of(struct sched *s, struct amounts *asks, int32_t priority)
{
    scoped(arena_fini) struct arena a = {0};
    struct str key = line_key(&a, asks, priority);
    struct line **known = map_get(&s->lines, key), *l;

    if (known) {
        amounts_fini(asks);
        return *known;
    }
    l = mem_zero(1, sizeof(*l));
    l->key = str_own(key);
    l->asks = *asks;
    l->priority = priority;
    *map_put(&s->lines, str_of(l->key, key.len)) = l;
    return l;
}

static void line_free(struct line *l)
{
    amounts_fini(&l->asks);
    free(l->key);
    free(l);
}

/* Mostly at the end: only one that was parked before has an earlier place. */
static void line_join(struct line *l, struct parked *p)
{
    struct parked *before = l->last;

    while (before && before->place > p->place)
        before = before->before;
    p->line = l;
    p->before = before;
    p->next = before ? before->next : l->first;
    *(p->next ? &p->next->before : &l->last) = p;
    *(before ? &before->next : &l->first) = p;
}

/* An empty line goes. */
static void line_leave(struct sched *s, struct parked *p)
{
    scoped(arena_fini) struct arena a = {0};
    struct line *l = p->line;

    *(p->next ? &p->next->before : &l->last) = p->before;
    *(p->before ? &p->before->next : &l->first) = p->next;
    if (l->first)
        return;
    map_del(&s->lines, line_key(&a, &l->asks, l->priority));
    line_free(l);
}

/* ---- parking ---- */

void sched_park(struct sched *s, struct str key, const struct pod *pod)
{
    struct parked **known = map_get(&s->parked, key), *p;
    struct amounts asks = {0};

    amounts_of_pod(&s->resources, pod->spec, &asks);
    struct line *l = line_of(s, &asks, pod->spec->priority);
    if (known) {
        p = *known;
        if (p->line == l)
            return;
        line_leave(s, p);
    } else {
        p = mem_zero(1, sizeof(*p));
        p->key = str_own(key);
        p->place = ++s->last_place;
        *map_put(&s->parked, str_from(p->key)) = p;
    }
    line_join(l, p);
}

static void parked_free(struct parked *p)
{
    free(p->key);
    free(p);
}

void sched_unpark(struct sched *s, struct str key)
{
    struct parked **known = map_get(&s->parked, key);

    if (!known)
        return;
    struct parked *p = *known;
    map_del(&s->parked, key);
    line_leave(s, p);
    parked_free(p);
}

size_t sched_n_parked(const struct sched *s)
{
    return map_len(&s->parked);
}

void park_fini(struct sched *s)
{
    map_each (i, &s->parked)
        parked_free(*map_at(&s->parked, i));
    map_fini(&s->parked);
    map_each (i, &s->lines)
        line_free(*map_at(&s->lines, i));
    map_fini(&s->lines);
}

/* ---- waking ---- */

static bool has_room(const struct amounts *asks, const struct amounts *free)
{
    for (size_t i = 0; i < asks->len; i++)
        if (asks->at[i] && asks->at[i] > amounts_get(free, i))
            return false;
    return true;
}

/* Who is next in a line, of which the line itself may be gone once there is nobody. */
typedef VEC(struct parked *) heads;

static bool is_before(const struct parked *x, const struct parked *y)
{
    if (x->line->priority != y->line->priority)
        return x->line->priority > y->line->priority;
    return x->place < y->place;
}

static void drop_head(heads *h, size_t i)
{
    h->at[i] = vec_last(h);
    h->len--;
}

/* The first of those that there is room for; the heads of lines without it go, since room only
 * shrinks. STR_NONE: none. */
static size_t next_head(heads *h, const struct amounts *left)
{
    size_t best = STR_NONE;

    for (size_t i = 0; i < h->len;) {
        if (!has_room(&h->at[i]->line->asks, left)) {
            drop_head(h, i);
            continue;
        }
        if (best == STR_NONE || is_before(h->at[i], h->at[best]))
            best = i;
        i++;
    }
    return best;
}

/* Offers `left` to one after the other. */
static void offer(heads *h, struct amounts *left, sched_wake_fn *wake, void *ctx)
{
    struct amounts asks = {0};
    size_t i;

    while ((i = next_head(h, left)) != STR_NONE) {
        struct parked *p = h->at[i], *next = p->next;
        amounts_fini(&asks);
        amounts_add_all(&asks, &p->line->asks, 1); /* the call may unpark it */
        if (wake(ctx, str_from(p->key)))
            amounts_add_all(left, &asks, -1);
        if (next)
            h->at[i] = next;
        else
            drop_head(h, i);
    }
    amounts_fini(&asks);
}

void sched_wake(struct sched *s, struct str node, sched_wake_fn *wake, void *ctx)
{
    struct sched_node **known = map_get(&s->by_name, node);
    struct amounts left = {0};
    heads h = {0};

    if (!known || !(*known)->is_known || map_len(&s->parked) == 0)
        return;
    amounts_add_all(&left, &(*known)->size, 1);
    amounts_add_all(&left, &(*known)->used, -1);
    map_each (i, &s->lines)
        vec_push(&h, (*map_at(&s->lines, i))->first);
    offer(&h, &left, wake, ctx);
    vec_fini(&h);
    amounts_fini(&left);
}
