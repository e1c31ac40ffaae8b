/* fit_priv.h - may a pod be on a node, by taints and labels (pure) */
#pragma once

#include "api/core_v1.h"

/* The first taint with this effect ("" NoSchedule or NoExecute) that nothing tolerates, or
 * NULL. */
const struct taint *fit_untolerated(const struct taint_list *taints,
                                    const struct toleration_list *tolerations);
/* How many PreferNoSchedule taints are not tolerated. */
size_t fit_soft_taints(const struct taint_list *taints,
                       const struct toleration_list *tolerations);
/* spec.unschedulable, unless the pod tolerates it. */
bool fit_cordoned(bool unschedulable, const struct toleration_list *tolerations);
/* nodeSelector and required node affinity. */
bool fit_selected(const struct pod_spec *spec, struct str node, const struct str_map *labels);
/* Sum of the weights of the preferred terms that match. */
int64_t fit_preference(const struct pod_spec *spec, struct str node,
                       const struct str_map *labels);
