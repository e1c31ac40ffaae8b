/* order.c - in which order the heads of a cycle are served */
#include "queue/engine_priv.h"

/* ---- classical: one sort ---- */

static int64_t entry_priority(const struct entry *x)
{
    return x->wl->group->shape->priority;
}

static int classical_cmp(void *engine, const void *x, const void *y)
{
    const struct queue_engine *e = engine;
    const struct entry *a = *(struct entry *const *)x, *b = *(struct entry *const *)y;

    if (a->is_second_pass != b->is_second_pass)
        return a->is_second_pass ? -1 : 1;
    if (gate(e, QUEUE_GATE_PREEMPTORS_FIRST) && a->is_preemptor != b->is_preemptor)
        return a->is_preemptor ? -1 : 1;
    if (a->as->borrow != b->as->borrow)
        return a->as->borrow < b->as->borrow ? -1 : 1;
    if (gate(e, QUEUE_GATE_PRIORITY_SORTING) && entry_priority(a) != entry_priority(b))
        return entry_priority(a) > entry_priority(b) ? -1 : 1;
    if (a->wl->order_ns != b->wl->order_ns)
        return a->wl->order_ns < b->wl->order_ns ? -1 : 1;
    return 0;
}

void order_classical(struct queue_engine *e, entry_list *entries)
{
    sort_with(entries->at, entries->len, sizeof(struct entry *), classical_cmp, e);
}

/* ---- fair sharing: a tournament from the leaves to the root ---- */

struct seat;

bool contestant_less(const struct queue_engine *e, const struct contestant *a,
                     const struct contestant *b)
{
    int order;

    if (gate(e, QUEUE_GATE_PREEMPTORS_FIRST) && a->is_preemptor != b->is_preemptor)
        return a->is_preemptor;
    if (gate(e, QUEUE_GATE_FAIR_NON_BORROWING) && a->borrows != b->borrows)
        return !a->borrows;
    if ((order = quota_share_cmp(a->share, b->share)) != 0)
        return order < 0;
    if (gate(e, QUEUE_GATE_PRIORITY_SORTING) && a->priority != b->priority)
        return a->priority > b->priority;
    return a->order_ns < b->order_ns;
}

/* Who asks for quota of a ClusterQueue. What it brings to its ClusterQueue's
 * parent does not change: only its own turn changes that ClusterQueue. */
struct player {
    struct entry *entry;
    struct seat *seat; /* of the parent; NULL without one */
    struct contestant here;
    bool is_out;
};

/* A cohort. Its best and what that brings to the cohort above change only with a turn of
 * somebody below it. */
struct seat {
    struct quota_node *node;
    struct seat *above;
    VEC(struct player *) players; /* of its ClusterQueues, the best first */
    size_t next;                  /* of them */
    VEC(struct seat *) below;
    struct player *best;     /* NULL: nobody is left */
    struct contestant there; /* the best, at the cohort above */
    bool is_stale;
};

struct tournament {
    struct queue_engine *e;
    VEC(struct seat *) seats;
    struct player *players; /* in the order of the entries */
    size_t n_players, next;
    uint64_t stamp; /* only while it is made: a search for victims stamps nodes too */
};

/* ---- its seats ---- */

static struct seat *seat_of(struct tournament *t, struct quota_node *n)
{
    struct arena *a = &t->e->scratch;

    if (n->stamp == t->stamp)
        return t->seats.at[n->mark];
    struct seat *s = arena_new(a, struct seat);
    s->node = n;
    s->is_stale = true;
    n->stamp = t->stamp;
    n->mark = (uint32_t)t->seats.len;
    vec_push_in(a, &t->seats, s);
    if (n->parent) {
        s->above = seat_of(t, n->parent);
        vec_push_in(a, &s->above->below, s);
    }
    return s;
}

/* What the entry brings to the parent of n, which stands on its path. */
static struct contestant contestant_at(struct queue_engine *e, struct entry *x,
                                       const struct quota_node *n)
{
    size_t mark = quota_mark(&e->log);

    if (!x->is_second_pass)
        vec_each (i, &x->as->usage)
            quota_add(&x->cq->node, x->as->usage.at[i].fr, x->as->usage.at[i].amount, &e->log);
    struct contestant c = {
        .share = quota_share(n, &e->resources),
        .borrows = quota_borrows_on(n, x->as->usage.at, x->as->usage.len),
        .is_preemptor = x->is_preemptor,
        .priority = entry_priority(x),
        .order_ns = x->wl->order_ns,
    };
    quota_undo(&e->log, mark);
    return c;
}

static int by_contest(void *engine, const void *x, const void *y)
{
    const struct player *a = *(struct player *const *)x, *b = *(struct player *const *)y;

    if (contestant_less(engine, &a->here, &b->here))
        return -1;
    return contestant_less(engine, &b->here, &a->here);
}

struct tournament *order_fair(struct queue_engine *e, const entry_list *entries)
{
    struct tournament *t = arena_new(&e->scratch, struct tournament);

    t->e = e;
    t->stamp = ++e->stamp;
    t->n_players = entries->len;
    t->players = arena_array(&e->scratch, struct player, entries->len);
    vec_each (i, entries) {
        struct player *p = &t->players[i];
        p->entry = entries->at[i];
        struct quota_node *n = &p->entry->cq->node;
        if (!n->parent)
            continue;
        p->seat = seat_of(t, n->parent);
        p->here = contestant_at(e, p->entry, n);
        vec_push_in(&e->scratch, &p->seat->players, p);
    }
    vec_each (i, &t->seats)
        sort_with(t->seats.at[i]->players.at, t->seats.at[i]->players.len,
                  sizeof(struct player *), by_contest, e);
    return t;
}

/* ---- its turns ---- */

static void settle(struct tournament *t, struct seat *s)
{
    const struct contestant *best = NULL;

    if (!s->is_stale)
        return;
    s->is_stale = false;
    s->best = s->next < s->players.len ? s->players.at[s->next] : NULL;
    if (s->best)
        best = &s->best->here;
    vec_each (i, &s->below) {
        struct seat *child = s->below.at[i];
        settle(t, child);
        if (child->best && (!best || contestant_less(t->e, &child->there, best))) {
            best = &child->there;
            s->best = child->best;
        }
    }
    if (s->best && s->above)
        s->there = contestant_at(t->e, s->best->entry, s->node);
}

struct entry *order_fair_next(struct tournament *t)
{
    while (t->next < t->n_players && t->players[t->next].is_out)
        t->next++;
    if (t->next == t->n_players)
        return NULL;
    struct player *p = &t->players[t->next];
    if (p->seat) {
        struct seat *root = p->seat;
        while (root->above)
            root = root->above;
        settle(t, root);
        p = root->best;
        p->seat->next++;
    }
    p->is_out = true;
    for (struct seat *s = p->seat; s; s = s->above)
        s->is_stale = true;
    return p->entry;
}
