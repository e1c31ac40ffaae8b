/* quota.h - a tree of quotas as arithmetic, as JSON
 *
 *     {"tree": NAME of the root,
 *      "lines": [{"name", "kind": "ClusterQueue" or "Cohort", "parent", "depth", "flavor",
 *                 "resource", "nominal", "fromBelow", "borrowed", "used", "idle", "lent",
 * "kept", "available"}]}
 *
 * Amounts are quantities, as a status has them. In every line
 * nominal + fromBelow + borrowed = used + idle; parents come before their children.
 */
#pragma once

#include "json/json.h"

struct queue_engine;

/* The tree in which the ClusterQueue or Cohort of that name stands. False: there is none. */
bool quota_json(struct queue_engine *e, struct arena *a, struct str name, struct json *out);
