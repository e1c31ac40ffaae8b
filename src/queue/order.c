/* order.c - in which order the heads of a cycle are served */
#include "queue/engine_priv.h"

/* ---- classical: one sort ---- */

static int64_t entry_priority(const struct entry *x)
{
    return x->wl->group->shape->priority;
}

static int classical_cmp(const struct queue_engine *e, const struct entry *a,
                         const struct entry *b)
{
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

static void merge_sort(const struct queue_engine *e, struct entry **at, struct entry **room,
                       size_t n)
{
    size_t half = n / 2, i = 0, k = half, out = 0;

    if (n < 2)
        return;
    merge_sort(e, at, room, half);
    merge_sort(e, at + half, room, n - half);
    memcpy(room, at, n * sizeof(struct entry *));
    while (i < half && k < n)
        at[out++] = classical_cmp(e, room[k], room[i]) < 0 ? room[k++] : room[i++];
    while (i < half)
        at[out++] = room[i++];
    while (k < n)
        at[out++] = room[k++];
}

void order_classical(struct queue_engine *e, entry_list *entries)
{
    struct entry **room = arena_array(&e->scratch, struct entry *, entries->len);
    merge_sort(e, entries->at, room, entries->len);
}

/* ---- fair sharing: a tournament from the leaves to the root ---- */

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

/* What an entry brings to each node above its ClusterQueue. */
struct player {
    struct entry *entry;
    size_t index;             /* in the list */
    struct contestant *level; /* [0] at the ClusterQueue's parent, then upwards */
};

struct seat { /* the best player so far at a cohort */
    struct quota_node *node;
    const struct player *best;
    size_t level; /* of the best: which of its contestants stands here */
    size_t depth;
};

struct tournament {
    struct queue_engine *e;
    uint64_t stamp;
    VEC(struct seat) seats;
};

static size_t depth_of(const struct quota_node *n)
{
    size_t depth = 0;

    for (; n->parent; n = n->parent)
        depth++;
    return depth;
}

static void enter(struct tournament *t, const struct player *p, size_t level,
                  struct quota_node *at)
{
    struct seat *seat;

    if (at->stamp != t->stamp) {
        at->stamp = t->stamp;
        at->mark = (uint32_t)t->seats.len;
        vec_push_in(&t->e->scratch, &t->seats,
                    (struct seat){.node = at, .depth = depth_of(at)});
    }
    seat = &t->seats.at[at->mark];
    if (!seat->best ||
        contestant_less(t->e, &p->level[level], &seat->best->level[seat->level])) {
        seat->best = p;
        seat->level = level;
    }
}

static struct player prepare(struct queue_engine *e, struct entry *x, size_t index)
{
    struct player p = {.entry = x, .index = index};
    size_t mark = quota_mark(&e->log), depth = depth_of(&x->cq->node), level = 0;

    p.level = arena_array(&e->scratch, struct contestant, depth);
    if (!x->is_second_pass)
        vec_each (i, &x->as->usage)
            quota_add(&x->cq->node, x->as->usage.at[i].fr, x->as->usage.at[i].amount, &e->log);
    for (const struct quota_node *n = &x->cq->node; n->parent; n = n->parent)
        p.level[level++] = (struct contestant){
            .share = quota_share(n, &e->resources),
            .borrows = quota_borrows_on(n, x->as->usage.at, x->as->usage.len),
            .is_preemptor = x->is_preemptor,
            .priority = entry_priority(x),
            .order_ns = x->wl->order_ns,
        };
    quota_undo(&e->log, mark);
    return p;
}

static int deeper_first(const struct seat *a, const struct seat *b)
{
    return a->depth > b->depth ? -1 : a->depth < b->depth;
}

static const struct player *winner(struct tournament *t, struct quota_node *root)
{
    /* Seats at the same depth do not meet; new seats are always above those already there. */
    for (;;) {
        struct seat *deepest = NULL;
        vec_each (i, &t->seats)
            if (t->seats.at[i].best && (!deepest || deeper_first(&t->seats.at[i], deepest) < 0))
                deepest = &t->seats.at[i];
        assert(deepest != NULL);
        const struct player *p = deepest->best;
        if (deepest->node == root)
            return p;
        size_t level = deepest->level + 1;
        struct quota_node *parent = deepest->node->parent;
        deepest->best = NULL;
        enter(t, p, level, parent);
    }
}

static struct entry *take(entry_list *entries, size_t i)
{
    struct entry *x = entries->at[i];
    vec_remove(entries, i);
    return x;
}

struct entry *order_fair_next(struct queue_engine *e, entry_list *entries)
{
    struct tournament t = {.e = e, .stamp = ++e->stamp};
    VEC(struct player) players = {0};

    if (!entries->len)
        return NULL;
    struct quota_node *root = quota_root(&entries->at[0]->cq->node);
    if (root == &entries->at[0]->cq->node)
        return take(entries, 0);
    vec_each (i, entries)
        if (quota_root(&entries->at[i]->cq->node) == root)
            vec_push_in(&e->scratch, &players, prepare(e, entries->at[i], i));
    vec_each (i, &players)
        enter(&t, &players.at[i], 0, players.at[i].entry->cq->node.parent);
    return take(entries, winner(&t, root)->index);
}
