/* status.h - what a decision writes into a Workload's status
 *
 * Trees in, trees out; the owner of the engine turns the difference into a request. Messages of
 * conditions are not cut here.
 */
#pragma once

#include "queue/load.h"

/* The Workload after a decision on it: admission and conditions where it was admitted, else
 * QuotaReserved=False with the reason, and what it asks for. The same tree where nothing
 * changes. */
const struct json *queue_status_decided(struct arena *a, const struct json *wl,
                                        const struct queue_decision *d,
                                        const struct queue_loader *l, struct instant now);
/* A victim after it was told to go: Evicted and Preempted, checks pending again, gates closed.
 * It keeps its quota until it has stopped. */
const struct json *queue_status_preempted(struct arena *a, const struct json *wl,
                                          enum queue_victim_reason reason, struct str message,
                                          struct instant now);
/* Evicted for another reason; `cause` may be "". */
const struct json *queue_status_evicted(struct arena *a, const struct json *wl,
                                        struct str reason, struct str message, struct str cause,
                                        struct instant now);
/* Finished, unless it is already. */
const struct json *queue_status_finished(struct arena *a, const struct json *wl,
                                         struct str reason, struct str message,
                                         struct instant now);
/* Why a Workload is not admitted: Admitted's reason or what it would be, and beneath it that of
 * QuotaReserved ("" with a reservation). */
void queue_unadmitted(const struct json *wl, struct str *reason, struct str *cause);
/* Why a victim had to go, as its condition says: who, by which rule, on which paths. */
struct str queue_preempted_message(struct arena *a, struct str preemptor_uid,
                                   struct str preemptor_job, enum queue_victim_reason reason,
                                   struct str preemptor_path, struct str victim_path);
/* "/root/../cohort/queue" of a ClusterQueue. */
struct str queue_path(struct queue_engine *e, struct arena *a, struct str cq);
