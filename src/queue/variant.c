/* variant.c - concurrent admission: one workload in several variants, each for other flavors
 *
 * Variants of a parent stand in one ClusterQueue. A flavor is the more favorable the earlier
 * the ClusterQueue lists it.
 */
#include "queue/engine_priv.h"

#define NO_RANK SIZE_MAX

static size_t rank_of(const struct queue_cq *cq, uint16_t flavor)
{
    size_t rank = 0;

    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t i = 0; i < cq->groups[g].n_flavors; i++, rank++)
            if (cq->groups[g].flavors[i] == flavor)
                return rank;
    return NO_RANK;
}

/* Of what it was assigned, else the best that it may use. */
static size_t entry_rank(struct queue_engine *e, const struct entry *x)
{
    struct str list = x->wl->group->shape->allowed_flavors, head;
    size_t best = NO_RANK;

    if (x->as->n_podsets && x->as->podsets[0].n_flavors)
        return rank_of(x->cq, x->as->podsets[0].flavors[0].flavor);
    while (list.len) {
        str_cut(list, ',', &head, &list);
        size_t rank = rank_of(x->cq, intern_find(&e->flavor_names, str_trim(head)));
        best = MIN(best, rank);
    }
    return best;
}

struct queue_wl *variant_sibling(struct queue_engine *e, const struct entry *x, bool is_better)
{
    struct str parent = wl_texts(x->wl).parent;

    if (!gate(e, QUEUE_GATE_CONCURRENT_ADMISSION) || !parent.len)
        return NULL;
    size_t own = entry_rank(e, x);
    vec_each (i, &x->cq->holders) {
        struct queue_wl *wl = x->cq->holders.at[i].wl;
        if (wl == x->wl || !str_eq(wl->group->lq->ns, x->wl->group->lq->ns) ||
            !str_eq(wl_texts(wl).parent, parent) || !wl->extra->usage.len)
            continue;
        size_t rank = rank_of(x->cq, QUOTA_FLAVOR(wl->extra->usage.at[0].fr));
        if (is_better ? rank < own : rank > own)
            return wl;
    }
    return NULL;
}
