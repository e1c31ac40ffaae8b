/* workload_decide.h - a decision of the quota engine as a change of the Workload's status
 *
 * Pure. Source: Kueue reference 3.6, 6.9 and 7.1.
 */
#pragma once

#include "controllers/workload_edit.h"
#include "queue/load.h"

/* Where it was admitted: the admission and its conditions, and Admitted where no check stands
 * in the way. Else, where the decision has a reason, as workload_wait(). `tree` is the Workload
 * as stored. */
void workload_decide(struct workload_edit *e, const struct json *tree,
                     const struct queue_decision *d, const struct queue_loader *l);
/* QuotaReserved=False for that reason, and what the Workload asks for. */
void workload_wait(struct workload_edit *e, const struct json *tree, enum queue_reason reason,
                   struct str message, bool is_gated, const struct queue_loader *l);
