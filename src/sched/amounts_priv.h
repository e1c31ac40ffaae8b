/* amounts_priv.h - what a pod asks for and a node has, as numbers by resource */
#pragma once

#include "api/core_v1.h"

/* Resources by number: each name gets one when it is first seen. cpu counts in thousandths,
 * `pods` in pods. */
enum { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_PODS, RESOURCE_FIRST_OTHER };

struct resources {
    MAP(uint32_t) ids;
    VEC(struct str) names; /* in the arena */
    struct arena arena;
};

void resources_init(struct resources *r);
void resources_fini(struct resources *r);

struct amounts {
    int64_t *at; /* by number; absent ones are 0 */
    size_t len, cap;
};

void amounts_fini(struct amounts *m);
static inline int64_t amounts_get(const struct amounts *m, size_t id)
{
    return id < m->len ? m->at[id] : 0;
}
void amounts_add(struct amounts *m, size_t id, int64_t n);
/* to += sign * from; saturates. */
void amounts_add_all(struct amounts *to, const struct amounts *from, int sign);
/* A node's capacity. */
void amounts_of_list(struct resources *r, const struct str_map *list, struct amounts *out);
/* What a pod needs at its busiest: its containers with the sidecars, or an init container with
 * the sidecars before it, and the overhead; `pods` is 1. A limit without a request counts as
 * one. Pod-level requests replace the sums. */
void amounts_of_pod(struct resources *r, const struct pod_spec *spec, struct amounts *out);
