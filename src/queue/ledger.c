/* ledger.c - a tree of quotas as arithmetic that adds up */
#include "queue/engine_priv.h"

#include "api/resource_list.h"

typedef VEC(struct queue_ledger_line) line_list;

struct ledger {
    struct queue_engine *e;
    struct arena *a;
    line_list lines;
};

static struct str node_name(struct quota_node *n)
{
    return n->is_leaf ? container_of(n, struct queue_cq, node)->name
                      : container_of(n, struct queue_cohort, node)->name;
}

/* ClusterQueues before cohorts, each by name. */
static int by_name(struct quota_node *const *a, struct quota_node *const *b)
{
    if ((*a)->is_leaf != (*b)->is_leaf)
        return (*a)->is_leaf ? -1 : 1;
    return str_cmp(node_name(*a), node_name(*b));
}

static struct queue_ledger_line line_of(struct ledger *l, struct quota_node *n,
                                        const struct quota_cell *c, uint32_t depth)
{
    int64_t from_below = 0, lent = 0;

    vec_each (i, &n->children) {
        const struct quota_cell *x = quota_cell(n->children.at[i], c->fr);
        if (!x)
            continue;
        from_below = amount_add(from_below, amount_sub(x->subtree, x->local));
        lent = amount_add(lent, MAX((int64_t)0, amount_sub(x->usage, x->subtree)));
    }
    return (struct queue_ledger_line){
        .name = node_name(n),
        .parent = n->parent ? node_name(n->parent) : S(""),
        .flavor = intern_name(&l->e->flavor_names, QUOTA_FLAVOR(c->fr)),
        .resource = intern_name(&l->e->resources, QUOTA_RESOURCE(c->fr)),
        .depth = depth,
        .is_queue = n->is_leaf,
        .nominal = c->nominal,
        .from_below = from_below,
        .borrowed = MAX((int64_t)0, amount_sub(c->usage, c->subtree)),
        .used = c->usage,
        .idle = MAX((int64_t)0, amount_sub(c->subtree, c->usage)),
        .lent = lent,
        .kept = n->parent ? c->local : c->subtree,
        .available = MAX((int64_t)0, quota_available(n, c->fr)),
    };
}

static void add_node(struct ledger *l, struct quota_node *n, uint32_t depth)
{
    VEC(struct quota_node *) children = {0};

    vec_each (i, &n->cells)
        if (n->cells.at[i].is_quota || n->cells.at[i].usage)
            vec_push_in(l->a, &l->lines, line_of(l, n, &n->cells.at[i], depth));
    vec_each (i, &n->children)
        vec_push_in(l->a, &children, n->children.at[i]);
    if (children.len > 1)
        vec_sort(&children, by_name);
    vec_each (i, &children)
        add_node(l, children.at[i], depth + 1);
}

typedef VEC(struct quota_node *) node_list;

static void add_root(struct arena *a, node_list *roots, struct quota_node *n)
{
    struct quota_node *root = quota_root(n);

    vec_each (i, roots)
        if (roots->at[i] == root)
            return;
    if (root)
        vec_push_in(a, roots, root);
}

size_t queue_ledger(struct queue_engine *e, struct arena *a, struct str name,
                    const struct queue_ledger_line **out)
{
    struct ledger l = {.e = e, .a = a};
    node_list roots = {0};

    map_each (i, &e->cohorts) {
        struct quota_node *n = &(*map_at(&e->cohorts, i))->node;
        if (name.len ? str_eq(node_name(n), name) : !n->parent)
            add_root(a, &roots, n);
    }
    map_each (i, &e->cqs) {
        struct queue_cq *cq = *map_at(&e->cqs, i);
        if (cq->exists && (name.len ? str_eq(cq->name, name) : !cq->node.parent))
            add_root(a, &roots, &cq->node);
    }
    if (roots.len > 1)
        vec_sort(&roots, by_name);
    vec_each (i, &roots) {
        quota_settle(roots.at[i]);
        add_node(&l, roots.at[i], 0);
    }
    *out = l.lines.at;
    return l.lines.len;
}

struct str queue_ledger_text(struct arena *a, const struct queue_ledger_line *line)
{
    struct str r = line->resource;
    struct buf b = buf_in(a, 160);

    buf_printf(&b, "%*s%.*s %.*s/%.*s: nominal %.*s", (int)(2 * MIN(line->depth, 16u)), "",
               STR_ARG(line->name), STR_ARG(line->flavor), STR_ARG(r),
               STR_ARG(resource_units_text(a, r, line->nominal)));
    if (!line->is_queue)
        buf_printf(&b, " + from below %.*s",
                   STR_ARG(resource_units_text(a, r, line->from_below)));
    buf_printf(&b, " + borrowed %.*s = used %.*s + idle %.*s; kept %.*s, available %.*s",
               STR_ARG(resource_units_text(a, r, line->borrowed)),
               STR_ARG(resource_units_text(a, r, line->used)),
               STR_ARG(resource_units_text(a, r, line->idle)),
               STR_ARG(resource_units_text(a, r, line->kept)),
               STR_ARG(resource_units_text(a, r, line->available)));
    return buf_str(&b);
}
