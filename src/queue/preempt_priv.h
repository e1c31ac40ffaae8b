/* preempt_priv.h - what the two searches for victims share */
#pragma once

#include "queue/engine_priv.h"

/* The bit of a cell's index in cq_holder.fr_bits; the last one is shared by all further cells.
 */
#define HOLDER_SHARED_BIT (1u << 31)
static inline uint32_t holder_bit(size_t cell)
{
    return cell < 31 ? 1u << cell : HOLDER_SHARED_BIT;
}

/* The bits of the needed (flavor, resource) pairs in this ClusterQueue's holders. */
uint32_t needed_bits(const struct queue_cq *cq, const quota_fr *needed, size_t n);
bool holder_uses(const struct cq_holder *h, uint32_t bits, const quota_fr *needed, size_t n);
/* Does the policy let the preemptor take this holder? Not while it is taken out already. */
bool holder_allowed(const struct preempt_input *in, const struct cq_holder *h,
                    enum queue_policy policy);

struct victim_key {
    struct queue_wl *wl;
    const struct queue_cq *cq;
    int64_t priority, reserved_ns;
    bool is_evicted, is_own;
};
/* Who goes first; 0 only for the same workload. */
int victim_cmp(const struct preempt_input *in, const struct victim_key *a,
               const struct victim_key *b);
/* Same ClusterQueue, different LocalQueues: the heavier user goes first. */
int candidate_afs_cmp(const struct preempt_input *in, const struct queue_wl *a,
                      const struct queue_wl *b);

/* Do the requests fit now? */
bool preempt_fits(const struct preempt_input *in, bool may_borrow);
/* Gives back who is not needed; the last one always is. */
void preempt_fill_back(const struct preempt_input *in, victim_list *out, bool may_borrow);
/* Usage as it was at the mark. */
void preempt_restore(const struct preempt_input *in, const victim_list *out, size_t mark);

/* ---- fair.c: the order in which ClusterQueues are asked to give something up ---- */

struct fair_order {
    struct queue_engine *e;
    const struct preempt_input *in;
    struct queue_cq *own;
    /* The ClusterQueue's best victim left, or NULL. */
    const struct victim_key *(*first)(void *ctx, struct queue_cq *cq);
    void *ctx;
    uint64_t stamp; /* fresh: marks what is pruned */
};
/* The same one is returned again while it has victims and is the highest. NULL at the end. */
struct queue_cq *fair_order_next(struct fair_order *o);
