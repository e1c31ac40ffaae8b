/* node_taints.h - the taints that a node's state asks for
 *
 * Pure. Source: upstream's node lifecycle controller.
 */
#pragma once

#include "json/json.h"

#define NODE_LEASE_GRACE span_s(40) /* without a renewal: nobody knows how the node is */

/* What its Lease says: nodes in process and hollow ones have none. */
struct node_lease {
    bool is_there;
    struct instant renewed;
    struct span lasts; /* leaseDurationSeconds; 0: NODE_LEASE_GRACE */
};
/* When the lease of a node runs out; no time where it has none. */
struct instant node_lease_ends(struct node_lease lease);

/* spec.taints as they should be, from the node's conditions and spec.unschedulable; those of
 * other keys stay. NULL where nothing is to change. New ones get `now`. */
const struct json *node_taints_decide(struct arena *a, const struct json *node,
                                      struct instant now);
