/* why.h - the engine's answer to "why does it wait, and what would change that", as JSON
 *
 *     {"clusterQueue", "localQueue", "holdsQuota", "waiting", "parked", "position", "behind",
 *      "reason", "message",
 *      "causes":     [{"code", "text", "numbers", "podSet", "flavor", "resource", "owner",
 * "asked", "used", "limit", "available", "shortBy"}], "candidates": [{"workload",
 * "clusterQueue", "priority", "spared"}], "spared":     {CODE: how many}, "changes": [{"text",
 * "podSet", "flavor", "resource", "queue", "from", "to", "evicts"}]}
 *
 * Fields that say nothing are left out. Codes are stable (queue.h); texts are for people.
 * Amounts count as the engine does: cpu in thousandths, all else in units.
 */
#pragma once

#include "json/json.h"

struct queue_engine;

/* False: the engine does not know the workload. */
bool why_json(struct queue_engine *e, struct arena *a, struct str ns, struct str name,
              struct instant now, struct json *out);
