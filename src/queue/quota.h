/* quota.h - quota as a tree: cohorts inside cohorts, ClusterQueues as leaves
 *
 * A node holds one cell for each (flavor, resource) that it, or something below it, has quota
 * or usage of. What a node does not lend stays `local`; the rest is pooled at its parent, and
 * so is the usage that local quota does not cover:
 *
 *     root     subtree 12   usage 3      subtree = own nominal + what the children put in
 *      |-- a   nominal 10   lends 4      local 6: uses 8 of it, so 2 count at the root
 *      `-- b   nominal  8   lends all    local 0: uses 1, counted at the root
 *
 * Adding and removing usage touches only the path to the root and can be written to a log that
 * takes it back exactly. Numbers that change only with the quotas (subtree, potential, height)
 * are computed by quota_settle().
 *
 * 64 bytes a cell, 184 a node.
 */
#pragma once

#include "base/base.h"
#include "queue/amount.h"

#define QUOTA_MAX_DEPTH 128 /* cohorts above each other; deeper trees count as cycles */

/* A flavor and a resource, by their numbers. */
typedef uint32_t quota_fr;
#define QUOTA_FR(flavor, resource) ((quota_fr)(flavor) << 16 | (resource))
#define QUOTA_FLAVOR(fr) ((uint16_t)((fr) >> 16))
#define QUOTA_RESOURCE(fr) ((uint16_t)((fr)&0xffff))

struct quota_limit {
    quota_fr fr;
    bool has_borrow, has_lend;
    int64_t nominal, borrow, lend;
};

struct quota_amount {
    quota_fr fr;
    int64_t amount;
};

struct quota_cell {
    quota_fr fr;
    uint32_t up;   /* index of the same fr in the parent; set by quota_settle() */
    bool is_own;   /* the node itself names it in its quotas */
    bool is_quota; /* it, or something below it, does */
    bool has_borrow, has_lend;
    int64_t nominal, borrow, lend;
    int64_t subtree;   /* quota of the node and all below it that is lent upwards */
    int64_t local;     /* part of it that is never lent */
    int64_t potential; /* the most one could use on an empty tree */
    int64_t usage;
};

struct quota_node {
    struct quota_node *parent;
    VEC(struct quota_node *) children; /* of a cohort; ClusterQueues and cohorts */
    VEC(struct quota_node *) restless; /* those of them that are */
    VEC(struct quota_cell) cells;
    uint16_t *order; /* cells by fr */
    uint32_t order_cap;
    uint32_t slot; /* in the parent's children */
    bool is_leaf;  /* a ClusterQueue */
    bool is_dirty;
    bool is_restless;       /* see quota_stir() */
    uint32_t restless_slot; /* in the parent's */
    uint16_t height;        /* of a cohort: 1 + the highest child; 1 over ClusterQueues only */
    double weight;          /* of fair sharing */
    uint64_t stamp;         /* its owner's: when it last walked this tree */
    uint32_t mark;          /* its owner's, valid with the stamp */
    uint64_t computed;      /* how often the tree below a root was computed anew */
    uint64_t changes;       /* its owner's, of a root: when its tree last changed */
    VEC(struct quota_node *) resting; /* its owner's, of a root: leaves with nothing to do */
    int64_t gen_base; /* quota_generation() of a leaf is base + root's computed - joined */
    uint64_t gen_joined;
};

/* What was there before, newest last; quota_undo() takes it back. */
struct quota_log {
    VEC(struct quota_undo {
        struct quota_node *node;
        uint32_t cell;
        int64_t usage;
    })
    entries;
};

void quota_node_fini(struct quota_node *n);

/* ---- shape of the tree ---- */

/* Where the walk over parents ends; NULL in a cycle or deeper than QUOTA_MAX_DEPTH. */
struct quota_node *quota_root(const struct quota_node *n);
bool quota_has_cycle(const struct quota_node *n);
/* parent may be NULL. The two trees count as changed. */
void quota_set_parent(struct quota_node *n, struct quota_node *parent);
/* Replaces the node's own quotas and marks its tree as changed. */
void quota_set_limits(struct quota_node *n, const struct quota_limit *limits, size_t count);
/* The tree of n has changed quotas: counts as one computation. */
void quota_touch(struct quota_node *n);
/* Computes what depends on quotas for the tree of n, where it was touched. */
void quota_settle(struct quota_node *n);
/* Marks a leaf that is to be visited when quota is freed; its parents lead to it by their
 * `restless`, so that a walk over a large tree meets nobody else. And takes the mark away. */
void quota_stir(struct quota_node *leaf);
void quota_calm(struct quota_node *leaf);
/* How often a leaf's quotas or usage shrank or were recomputed (kept for scan progress). */
int64_t quota_generation(const struct quota_node *leaf);

/* ---- reading; the tree is settled ---- */

/* NULL where the node knows nothing of it. */
struct quota_cell *quota_cell(const struct quota_node *n, quota_fr fr);
int64_t quota_nominal(const struct quota_node *n, quota_fr fr);
int64_t quota_usage(const struct quota_node *n, quota_fr fr);
/* What could still be used now; below 0 where the tree is overused. */
int64_t quota_available(const struct quota_node *n, quota_fr fr);
/* The most that could be used on an empty tree. */
int64_t quota_potential(const struct quota_node *n, quota_fr fr);
/* Does `amount` more exceed what the node (with all below it) owns? */
bool quota_borrows_with(const struct quota_node *n, quota_fr fr, int64_t amount);
/* usage is at most the subtree's quota for every fr. */
bool quota_within(const struct quota_node *n, const quota_fr *frs, size_t count);

/* The height of the lowest subtree in whose quota `amount` more fits (0: the ClusterQueue's
 * own); *may_reclaim: that subtree lies strictly below the root. */
uint32_t quota_lowest_fit(const struct quota_node *leaf, quota_fr fr, int64_t amount,
                          bool *may_reclaim);
/* All of req fit the node's subtree; rest[i] is what is left of req[i] for the parent. req and
 * rest may be the same. */
bool quota_fits_within(const struct quota_node *n, const struct quota_amount *req, size_t count,
                       struct quota_amount *rest);

/* ---- usage ---- */

/* Adds (amount may be negative) to a leaf and what follows above it. log may be NULL. */
void quota_add(struct quota_node *n, quota_fr fr, int64_t amount, struct quota_log *log);
/* Takes away. */
void quota_remove(struct quota_node *n, quota_fr fr, int64_t amount, struct quota_log *log);
/* Does usage stand at its ceiling, here or above? */
bool quota_is_full(const struct quota_node *n, quota_fr fr);
/* A leaf's usage as its owner counted it; what is above is computed anew. */
void quota_reset(struct quota_node *leaf, quota_fr fr, int64_t usage);
static inline size_t quota_mark(const struct quota_log *log)
{
    return log->entries.len;
}
/* Back to the mark, exactly. */
void quota_undo(struct quota_log *log, size_t mark);

/* ---- the dominant resource share ---- */

struct quota_share {
    double ratio; /* borrowed * 1000 / lendable of the dominant resource */
    double weight;
    bool is_borrowing;
    uint16_t resource; /* dominant; meaningless where ratio is 0 */
};

/* `names` decides between equal resources (the smaller name); scratch comes from `a`. */
struct intern;
struct quota_share quota_share(const struct quota_node *n, const struct intern *names);
/* ratio / weight; +Inf where a borrower has weight 0. */
double quota_share_value(struct quota_share s);
/* <0, 0, >0; borrowers of weight 0 come last and among them the ratio decides. */
int quota_share_cmp(struct quota_share a, struct quota_share b);
/* Is the node above its subtree's quota in any of frs with an amount over 0? */
bool quota_borrows_on(const struct quota_node *n, const struct quota_amount *frs, size_t count);
