/* afs.h - admission fair sharing: who used how much lately
 *
 * A LocalQueue's ledger holds what it consumed, decayed by half every half-life, in billionths
 * of a unit (so that decay loses nothing that upstream would keep), and a penalty for each
 * workload that was admitted and is not yet counted.
 */
#pragma once

#include "base/base.h"

/* A decimal with 9 digits after the point, in base units (cores, bytes). */
struct afs_amount {
    uint16_t resource;
    __int128 nano;
};
struct afs_amounts {
    struct afs_amount *at;
    size_t len, cap;
};

struct afs_penalty {
    uint64_t workload; /* digest of its key */
    struct afs_amounts amounts;
};

struct afs_ledger {
    bool exists;
    bool is_status_counted; /* amounts of the API's status were added */
    struct instant updated;
    struct afs_amounts consumed;
    VEC(struct afs_penalty) penalties;
};

void afs_ledger_fini(struct afs_ledger *l);
/* 1 - 0.5^(elapsed / half_life); 0 where half_life is 0. */
double afs_alpha(struct span elapsed, struct span half_life);
/* nano * f, cut towards zero after 9 decimals; f is taken as the shortest decimal that reads
 * back to it. */
__int128 afs_scale(__int128 nano, double f);
/* The resource's entry, made with 0 where missing. */
__int128 *afs_at(struct afs_amounts *l, uint16_t resource);
/* consumed = (1 - alpha) * consumed + alpha * usage, each part cut on its own. */
void afs_decay(struct afs_amounts *consumed, const struct afs_amounts *usage, double alpha);
/* Replaces the workload's penalty; the amounts are taken over. */
void afs_penalty_set(struct afs_ledger *l, uint64_t workload, struct afs_amounts amounts);
/* False where it has none. */
bool afs_penalty_drop(struct afs_ledger *l, uint64_t workload);
