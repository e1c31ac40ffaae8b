/* topology_priv.h - where topology-aware scheduling takes part in flavor assignment
 *
 * The placement itself is not built yet: podsets that ask for a topology are refused with a
 * reason instead of being placed as if they had not asked.
 */
#pragma once

#include "queue/engine_priv.h"

/* May this podset use this flavor as far as topology goes? *code says why not. */
bool topology_accepts(const struct assign_input *in, const struct shape_podset *ps,
                      const struct cq_group *group, const struct queue_flavor *f,
                      enum queue_cause_code *code);
/* Places podsets whose flavors have a topology; may lower modes. */
void topology_assign(const struct assign_input *in, struct assignment *as);
/* Every flavor of every group has a topology. */
bool topology_only(const struct queue_engine *e, const struct queue_cq *cq);
