/* quota.c - quota as a tree: cohorts inside cohorts, ClusterQueues as leaves */
#include "queue/quota.h"

#include <math.h>

#include "queue/intern.h"

#define SHARE_MAX_RESOURCES 256 /* of one ClusterQueue or cohort, as the API limits them */

void quota_node_fini(struct quota_node *n)
{
    vec_fini(&n->children);
    vec_fini(&n->restless);
    vec_fini(&n->resting);
    vec_fini(&n->cells);
    free(n->order);
    n->order = NULL;
    n->order_cap = 0;
}

/* ---- cells ---- */

/* The place of fr in n->order: where it is, or where it would go. */
static size_t cell_place(const struct quota_node *n, quota_fr fr)
{
    size_t low = 0, high = n->cells.len;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (n->cells.at[n->order[mid]].fr < fr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct quota_cell *quota_cell(const struct quota_node *n, quota_fr fr)
{
    if (n->cells.len <= 4) { /* the usual case needs no search */
        for (size_t i = 0; i < n->cells.len; i++)
            if (n->cells.at[i].fr == fr)
                return &n->cells.at[i];
        return NULL;
    }
    size_t i = cell_place(n, fr);
    if (i < n->cells.len && n->cells.at[n->order[i]].fr == fr)
        return &n->cells.at[n->order[i]];
    return NULL;
}

/* The cell, made with no quota where it is missing. Indexes of other cells stay. */
static struct quota_cell *cell_make(struct quota_node *n, quota_fr fr)
{
    struct quota_cell *c = quota_cell(n, fr);

    if (c)
        return c;
    size_t len = n->cells.len, place = cell_place(n, fr);
    if (len == n->order_cap) {
        n->order_cap = n->order_cap ? 2 * n->order_cap : 4;
        n->order = mem_grow(n->order, size_mul(n->order_cap, sizeof(*n->order)));
    }
    memmove(&n->order[place + 1], &n->order[place], (len - place) * sizeof(*n->order));
    n->order[place] = (uint16_t)len;
    vec_push(&n->cells, (struct quota_cell){.fr = fr, .up = UINT32_MAX});
    return &vec_last(&n->cells);
}

/* The same fr in the parent; made where usage of something without quota appears. */
static struct quota_cell *cell_up(const struct quota_node *n, struct quota_cell *c)
{
    struct quota_node *p = n->parent;

    if (c->up >= p->cells.len || p->cells.at[c->up].fr != c->fr)
        c->up = (uint32_t)(cell_make(p, c->fr) - p->cells.at);
    return &p->cells.at[c->up];
}

static int64_t cell_local_free(const struct quota_cell *c)
{
    return MAX((int64_t)0, amount_sub(c->local, c->usage));
}

/* ---- shape of the tree ---- */

struct quota_node *quota_root(const struct quota_node *n)
{
    for (int i = 0; i < QUOTA_MAX_DEPTH; i++, n = n->parent)
        if (!n->parent)
            return (struct quota_node *)(uintptr_t)n;
    return NULL;
}

bool quota_has_cycle(const struct quota_node *n)
{
    return quota_root(n) == NULL;
}

int64_t quota_generation(const struct quota_node *leaf)
{
    const struct quota_node *root = quota_root(leaf);
    return leaf->gen_base + (root ? (int64_t)(root->computed - leaf->gen_joined) : 0);
}

/* Every node below n (n first), parents before children. Cycles are entered once. */
typedef VEC(struct quota_node *) node_list;

static void list_below(struct quota_node *n, node_list *out)
{
    vec_push(out, n);
    for (size_t i = 0; i < out->len; i++)
        vec_each (k, &out->at[i]->children)
            if (out->at[i]->children.at[k] != n)
                vec_push(out, out->at[i]->children.at[k]);
}

/* Leaves below n count generations by their root: carry the count over when that changes. */
static void freeze_generations(const node_list *below)
{
    vec_each (i, below)
        if (below->at[i]->is_leaf) {
            below->at[i]->gen_base = quota_generation(below->at[i]);
            below->at[i]->gen_joined = 0;
        }
}

static void join_generations(const node_list *below, const struct quota_node *root)
{
    vec_each (i, below)
        if (below->at[i]->is_leaf)
            below->at[i]->gen_joined = root ? root->computed : 0;
}

void quota_stir(struct quota_node *n)
{
    for (; n && !n->is_restless; n = n->parent) {
        n->is_restless = true;
        if (!n->parent)
            return;
        n->restless_slot = (uint32_t)n->parent->restless.len;
        vec_push(&n->parent->restless, n);
    }
}

/* The parent no longer leads to it. */
static void leave_restless(struct quota_node *n)
{
    struct quota_node *p = n->parent;

    n->is_restless = false;
    if (!p)
        return;
    struct quota_node *last = vec_pop(&p->restless);
    if (last != n) {
        p->restless.at[n->restless_slot] = last;
        last->restless_slot = n->restless_slot;
    }
    quota_calm(p);
}

void quota_calm(struct quota_node *n)
{
    if (n->is_restless && !n->restless.len)
        leave_restless(n);
}

void quota_set_parent(struct quota_node *n, struct quota_node *parent)
{
    struct quota_node *old = n->parent;
    bool is_restless = n->is_restless;
    node_list below = {0};

    if (old == parent)
        return;
    if (quota_has_cycle(n)) { /* the list could not end; generations stand still in a cycle */
        vec_push(&below, n);
    } else {
        list_below(n, &below);
    }
    freeze_generations(&below);
    if (is_restless)
        leave_restless(n);
    if (old) {
        struct quota_node *last = vec_pop(&old->children);
        if (last != n) {
            old->children.at[n->slot] = last;
            last->slot = n->slot;
        }
        quota_touch(old);
    }
    n->parent = parent;
    if (parent) {
        n->slot = (uint32_t)parent->children.len;
        vec_push(&parent->children, n);
    }
    if (is_restless)
        quota_stir(n);
    vec_each (i, &n->cells)
        n->cells.at[i].up = UINT32_MAX;
    join_generations(&below, quota_root(n));
    vec_fini(&below);
    quota_touch(n);
}

void quota_touch(struct quota_node *n)
{
    struct quota_node *root = quota_root(n);

    if (!root)
        return;
    root->computed++;
    root->is_dirty = true;
}

void quota_set_limits(struct quota_node *n, const struct quota_limit *limits, size_t count)
{
    vec_each (i, &n->cells) {
        struct quota_cell *c = &n->cells.at[i];
        c->is_own = c->has_borrow = c->has_lend = false;
        c->nominal = c->borrow = c->lend = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct quota_cell *c = cell_make(n, limits[i].fr);
        c->is_own = true;
        c->nominal = limits[i].nominal;
        c->has_borrow = limits[i].has_borrow, c->borrow = limits[i].borrow;
        c->has_lend = limits[i].has_lend, c->lend = limits[i].lend;
    }
}

/* Adds what child puts into its parent's pool. */
static void pool_child(struct quota_node *child)
{
    struct quota_node *p = child->parent;

    vec_each (i, &child->cells) {
        struct quota_cell *c = &child->cells.at[i];
        c->local = c->has_lend ? MAX((int64_t)0, amount_sub(c->subtree, c->lend)) : 0;
        if (!c->is_quota && !c->usage)
            continue;
        struct quota_cell *up = cell_up(child, c);
        if (c->is_quota) {
            up->is_quota = true;
            up->subtree = amount_add(up->subtree, amount_sub(c->subtree, c->local));
        }
        up->usage = amount_add(up->usage, MAX((int64_t)0, amount_sub(c->usage, c->local)));
    }
    if (!child->is_leaf)
        p->height = MAX(p->height, (uint16_t)(child->height + 1));
    else
        p->height = MAX(p->height, (uint16_t)1);
}

static void set_potential(struct quota_node *n)
{
    vec_each (i, &n->cells) {
        struct quota_cell *c = &n->cells.at[i];
        if (!n->parent) {
            c->potential = c->subtree;
            c->local = 0;
            continue;
        }
        struct quota_cell *up = quota_cell(n->parent, c->fr);
        c->potential = amount_add(c->local, up ? up->potential : 0);
        if (c->has_borrow)
            c->potential = MIN(c->potential, amount_add(c->subtree, c->borrow));
    }
}

void quota_settle(struct quota_node *n)
{
    struct quota_node *root = quota_root(n);
    node_list all = {0};

    if (!root || !root->is_dirty)
        return;
    list_below(root, &all);
    vec_each (i, &all) {
        struct quota_node *x = all.at[i];
        x->height = 0;
        vec_each (k, &x->cells) {
            struct quota_cell *c = &x->cells.at[k];
            c->subtree = c->nominal;
            c->is_quota = c->is_own;
            if (!x->is_leaf)
                c->usage = 0;
        }
    }
    for (size_t i = all.len; i-- > 1;)
        pool_child(all.at[i]);
    vec_each (i, &all)
        set_potential(all.at[i]);
    root->is_dirty = false;
    vec_fini(&all);
}

/* ---- reading ---- */

int64_t quota_nominal(const struct quota_node *n, quota_fr fr)
{
    const struct quota_cell *c = quota_cell(n, fr);
    return c ? c->nominal : 0;
}

int64_t quota_usage(const struct quota_node *n, quota_fr fr)
{
    const struct quota_cell *c = quota_cell(n, fr);
    return c ? c->usage : 0;
}

static const struct quota_cell *peek_up(const struct quota_node *n, const struct quota_cell *c)
{
    const struct quota_node *p = n->parent;

    if (c->up < p->cells.len && p->cells.at[c->up].fr == c->fr)
        return &p->cells.at[c->up];
    return quota_cell(p, c->fr);
}

int64_t quota_available(const struct quota_node *n, quota_fr fr)
{
    const struct quota_cell *path[QUOTA_MAX_DEPTH];
    const struct quota_cell none = {.fr = fr, .up = UINT32_MAX};
    size_t depth = 0;

    for (const struct quota_cell *c = quota_cell(n, fr);;) {
        path[depth++] = c ? c : &none;
        if (!n->parent || depth == QUOTA_MAX_DEPTH)
            break;
        c = peek_up(n, path[depth - 1]);
        n = n->parent;
    }
    const struct quota_cell *root = path[--depth];
    int64_t free = amount_sub(root->subtree, root->usage);
    while (depth-- > 0) {
        const struct quota_cell *c = path[depth];
        if (c->has_borrow) {
            int64_t stored = amount_sub(c->subtree, c->local);
            int64_t used = MAX((int64_t)0, amount_sub(c->usage, c->local));
            free = MIN(free, amount_add(amount_sub(stored, used), c->borrow));
        }
        free = amount_add(cell_local_free(c), free);
    }
    return free;
}

int64_t quota_potential(const struct quota_node *n, quota_fr fr)
{
    for (; n; n = n->parent) {
        const struct quota_cell *c = quota_cell(n, fr);
        if (c)
            return c->potential;
    }
    return 0;
}

bool quota_borrows_with(const struct quota_node *n, quota_fr fr, int64_t amount)
{
    const struct quota_cell *c = quota_cell(n, fr);

    if (!c)
        return amount > 0;
    return amount_add(c->usage, amount) > (n->is_leaf ? c->nominal : c->subtree);
}

bool quota_within(const struct quota_node *n, const quota_fr *frs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct quota_cell *c = quota_cell(n, frs[i]);
        if (c && c->usage > c->subtree)
            return false;
    }
    return true;
}

uint32_t quota_lowest_fit(const struct quota_node *leaf, quota_fr fr, int64_t amount,
                          bool *may_reclaim)
{
    const struct quota_cell none = {.fr = fr, .up = UINT32_MAX};
    const struct quota_cell *c = quota_cell(leaf, fr);
    const struct quota_node *n = leaf;

    c = c ? c : &none;
    *may_reclaim = n->parent != NULL;
    if (!n->parent || amount_add(c->usage, amount) <= c->nominal)
        return 0;
    for (;;) {
        amount = amount_sub(amount, cell_local_free(c));
        c = peek_up(n, c);
        c = c ? c : &none;
        n = n->parent;
        *may_reclaim = n->parent != NULL;
        if (!n->parent || amount_add(c->usage, amount) <= c->subtree)
            break;
    }
    return n->height;
}

bool quota_fits_within(const struct quota_node *n, const struct quota_amount *req, size_t count,
                       struct quota_amount *rest)
{
    const struct quota_cell none = {0};
    bool fits = true;

    for (size_t i = 0; i < count; i++) {
        const struct quota_cell *c = quota_cell(n, req[i].fr);
        int64_t v = req[i].amount;
        c = c ? c : &none;
        if (amount_add(c->usage, v) > c->subtree)
            fits = false;
        rest[i].fr = req[i].fr;
        rest[i].amount = MAX((int64_t)0, amount_sub(v, cell_local_free(c)));
    }
    return fits;
}

/* ---- usage ---- */

static void set_usage(struct quota_node *n, struct quota_cell *c, int64_t usage,
                      struct quota_log *log)
{
    if (log)
        vec_push(&log->entries, (struct quota_undo){n, (uint32_t)(c - n->cells.at), c->usage});
    c->usage = usage;
}

void quota_add(struct quota_node *n, quota_fr fr, int64_t amount, struct quota_log *log)
{
    struct quota_cell *c = cell_make(n, fr);

    for (int i = 0; i < QUOTA_MAX_DEPTH; i++) {
        int64_t free = cell_local_free(c);
        set_usage(n, c, amount_add(c->usage, amount), log);
        if (!n->parent || amount <= free)
            return;
        amount = amount_sub(amount, free);
        c = cell_up(n, c);
        n = n->parent;
    }
}

void quota_remove(struct quota_node *n, quota_fr fr, int64_t amount, struct quota_log *log)
{
    struct quota_cell *c = cell_make(n, fr);

    for (int i = 0; i < QUOTA_MAX_DEPTH; i++) {
        int64_t stored = amount_sub(c->usage, c->local);
        set_usage(n, c, amount_sub(c->usage, amount), log);
        if (!n->parent || stored <= 0)
            return;
        amount = MIN(amount, stored);
        c = cell_up(n, c);
        n = n->parent;
    }
}

bool quota_is_full(const struct quota_node *n, quota_fr fr)
{
    for (int i = 0; n && i < QUOTA_MAX_DEPTH; i++, n = n->parent)
        if (quota_usage(n, fr) == AMOUNT_UNLIMITED)
            return true;
    return false;
}

void quota_reset(struct quota_node *leaf, quota_fr fr, int64_t usage)
{
    struct quota_node *root = quota_root(leaf);

    cell_make(leaf, fr)->usage = usage;
    if (!root)
        return;
    root->is_dirty = true; /* not quota_touch(): no quota changed */
    quota_settle(root);
}

void quota_undo(struct quota_log *log, size_t mark)
{
    while (log->entries.len > mark) {
        struct quota_undo u = vec_pop(&log->entries);
        u.node->cells.at[u.cell].usage = u.usage;
    }
}

/* ---- the dominant resource share ---- */

/* What could be borrowed of a resource from the point of view of parent p. */
static int64_t lendable_of(const struct quota_node *p, uint16_t resource)
{
    const struct quota_node *root = quota_root(p);
    int64_t sum = 0;

    for (size_t i = 0; root && i < root->cells.len; i++) {
        const struct quota_cell *c = &root->cells.at[i];
        if (c->is_quota && QUOTA_RESOURCE(c->fr) == resource)
            sum = amount_add(sum, quota_potential(p, c->fr));
    }
    return sum;
}

struct quota_share quota_share(const struct quota_node *n, const struct intern *names)
{
    struct quota_share s = {.weight = n->weight};
    struct {
        uint16_t resource;
        int64_t borrowed;
    } sums[SHARE_MAX_RESOURCES];
    size_t n_sums = 0, k;

    if (!n->parent)
        return s;
    vec_each (i, &n->cells) {
        const struct quota_cell *c = &n->cells.at[i];
        int64_t over = c->is_quota ? amount_sub(c->usage, c->subtree) : 0;
        if (over <= 0)
            continue;
        s.is_borrowing = true;
        for (k = 0; k < n_sums && sums[k].resource != QUOTA_RESOURCE(c->fr); k++)
            ;
        if (k == n_sums) {
            if (n_sums == countof(sums))
                continue;
            sums[n_sums].resource = QUOTA_RESOURCE(c->fr);
            sums[n_sums++].borrowed = 0;
        }
        sums[k].borrowed = amount_add(sums[k].borrowed, over);
    }
    bool any = false;
    for (k = 0; k < n_sums; k++) {
        int64_t lendable = lendable_of(n->parent, sums[k].resource);
        if (lendable <= 0)
            continue;
        double ratio = (double)sums[k].borrowed * 1000.0 / (double)lendable;
        bool is_smaller_name =
            any && ratio == s.ratio &&
            str_cmp(intern_name(names, sums[k].resource), intern_name(names, s.resource)) < 0;
        if (!any || ratio > s.ratio || is_smaller_name)
            s.ratio = ratio, s.resource = sums[k].resource;
        any = true;
    }
    return s;
}

double quota_share_value(struct quota_share s)
{
    if (s.ratio == 0)
        return 0;
    return s.weight == 0 ? (double)INFINITY : s.ratio / s.weight;
}

int quota_share_cmp(struct quota_share a, struct quota_share b)
{
    bool a_inf = a.weight == 0 && a.ratio != 0, b_inf = b.weight == 0 && b.ratio != 0;
    double x = quota_share_value(a), y = quota_share_value(b);

    if (a_inf != b_inf)
        return a_inf ? 1 : -1;
    if (a_inf)
        x = a.ratio, y = b.ratio;
    return x < y ? -1 : x > y;
}

bool quota_borrows_on(const struct quota_node *n, const struct quota_amount *frs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct quota_cell *c = quota_cell(n, frs[i].fr);
        if (frs[i].amount > 0 && n->parent && c && c->is_quota && c->usage > c->subtree)
            return true;
    }
    return false;
}
