/* status.h - what a Workload's status says of decisions, in words
 *
 * Messages are not cut here.
 */
#pragma once

#include "queue/queue.h"
#include "json/json.h"

/* Why a Workload is not admitted: Admitted's reason or what it would be, and beneath it that of
 * QuotaReserved ("" with a reservation). */
void queue_unadmitted(const struct json *wl, struct str *reason, struct str *cause);
/* Why a victim had to go, as its condition says: who, by which rule, on which paths. */
struct str queue_preempted_message(struct arena *a, struct str preemptor_uid,
                                   struct str preemptor_job, enum queue_victim_reason reason,
                                   struct str preemptor_path, struct str victim_path);
/* "/root/../cohort/queue" of a ClusterQueue. */
struct str queue_path(struct queue_engine *e, struct arena *a, struct str cq);
