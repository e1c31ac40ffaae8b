/* admit.h - the quota engine among the controllers
 *
 *     caches ──▶ engine (queue/) ──▶ cycle ──▶ plan ──▶ admissions, evictions, pending
 * conditions
 *
 * The engine is fed from caches; a cycle runs whenever there is a head to look at. What it
 * decides is written at once; a write that fails is told to the engine, which looks again.
 */
#pragma once

#include "json/json.h"

struct admit;
struct cache_index;
struct control;
struct queue_config;
struct queue_engine;

/* `config` is copied. */
struct admit *admit_new(struct control *c, const struct queue_config *config);
void admit_free(struct admit *ad); /* after control_free(); accepts NULL */
/* The engine, to look into. */
struct queue_engine *admit_engine(struct admit *ad);
/* Workloads by "ns/queue". */
struct cache_index *admit_by_queue(struct admit *ad);
/* Told when numbers may have changed: of one ClusterQueue and one LocalQueue ("ns/name"),
 * either of which may be ""; both "": of all. */
typedef void admit_changed_fn(void *ctx, struct str cq, struct str lq);
void admit_on_change(struct admit *ad, admit_changed_fn *fn, void *ctx);
