/* rank.c - who holds a ClusterQueue's quota, in the order in which they would go
 *
 * Made when a search for victims first asks, kept from then on by whoever comes and goes, so
 * that a search looks at those it takes and not at all.
 */
#include "queue/engine_priv.h"

static int rank_cmp(const struct cq_holder *a, const struct cq_holder *b)
{
    if (a->is_evicted != b->is_evicted)
        return a->is_evicted ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->reserved_ns != b->reserved_ns)
        return a->reserved_ns > b->reserved_ns ? -1 : 1;
    return wl_head_cmp(a->uid_head, a->wl, b->uid_head, b->wl);
}

static int by_rank(struct queue_wl *const *a, struct queue_wl *const *b)
{
    return rank_cmp(wl_holder(*a), wl_holder(*b));
}

static void drop(struct queue_cq *cq)
{
    vec_fini(&cq->ranks);
    cq->is_ranked = false;
}

/* Where it stands, or would stand. */
static size_t place_of(const struct queue_cq *cq, const struct queue_wl *wl)
{
    const struct cq_holder *h = wl_holder(wl);
    size_t low = 0, high = cq->ranks.len;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (rank_cmp(wl_holder(cq->ranks.at[mid]), h) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool may_rank(const struct queue_engine *e, const struct queue_cq *cq)
{
    return cq->holders.len <= RANK_MAX && !e->config.afs;
}

bool rank_ready(const struct queue_engine *e, struct queue_cq *cq)
{
    if (cq->is_ranked || !may_rank(e, cq))
        return cq->is_ranked;
    vec_each (i, &cq->holders) {
        if (!cq->holders.at[i].reserved_ns) { /* it counts as now: its place moves */
            vec_clear(&cq->ranks);
            return false;
        }
        vec_push(&cq->ranks, cq->holders.at[i].wl);
    }
    vec_sort(&cq->ranks, by_rank);
    cq->is_ranked = true;
    return true;
}

void rank_add(const struct queue_engine *e, struct queue_cq *cq, struct queue_wl *wl)
{
    if (!cq->is_ranked)
        return;
    if (!may_rank(e, cq) || !wl_holder(wl)->reserved_ns) {
        drop(cq);
        return;
    }
    vec_insert(&cq->ranks, place_of(cq, wl), wl);
}

void rank_remove(struct queue_cq *cq, const struct queue_wl *wl)
{
    if (!cq->is_ranked)
        return;
    size_t i = place_of(cq, wl);
    while (cq->ranks.at[i] != wl) /* uids may be equal where nobody made them */
        i++;
    vec_remove(&cq->ranks, i);
}
