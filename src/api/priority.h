/* priority.h - a workload's rank: its class, its number, its boost */
#pragma once

#include "base/base.h"
#include "json/json.h"

#define PRIORITY_BOOST_ANNOTATION "kueue.x-k8s.io/priority-boost"

/* Where a priority came from; name "" is nowhere (then the value is 0). */
struct priority_source {
    struct str group, kind, name;
    int64_t value;
};

/* The PriorityClass called `name`; for "" the global default with the lowest value, if any.
 * `classes` are objects. ERR_NOT_FOUND. */
int priority_of_class(const struct json *const *classes, size_t n, struct str name,
                      struct priority_source *out, struct err *err);
/* The WorkloadPriorityClass called `name`. ERR_NOT_FOUND. */
int priority_of_workload_class(const struct json *const *classes, size_t n, struct str name,
                               struct priority_source *out, struct err *err);

/* The boost of a Workload's annotation, 0 where there is none. ERR_INVALID (and 0) where it is
 * no number of 32 bits. */
int priority_boost(const struct json *annotations, int64_t *out, struct err *err);
/* spec.priority and the boost where `has_boost` (the gate), in 64 bits; a boost that is no
 * number counts as 0. */
int64_t priority_effective(const struct json *workload, bool has_boost);
