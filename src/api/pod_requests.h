/* pod_requests.h - what a pod asks for, from its spec
 *
 *     spec -> RuntimeClass overhead -> LimitRange defaults -> requests from limits
 *          -> effective total -> exclusion -> transformation
 *
 * Trees in: specs of pods and templates as stored. `struct pod_rules` is what the cluster says
 * beside the spec; its owner keeps it up.
 */
#pragma once

#include "api/resource_list.h"

/* What all LimitRanges of a namespace say about one type. */
struct limit_bounds {
    bool exists;
    struct resource_list max, min, defaults, default_requests, ratio;
};
struct limit_summary {
    struct limit_bounds container, pod;
};

/* One of Kueue's resources.transformations. */
struct pod_transform {
    struct str input, multiply_by; /* multiply_by "": none */
    bool is_replace;               /* the input itself goes */
    struct resource_list outputs;  /* for one unit of the input */
};

struct pod_rules {
    const struct json *const *limit_ranges; /* LimitRange objects of any namespace */
    size_t n_limit_ranges;
    const struct json *const *runtime_classes;
    size_t n_runtime_classes;
    struct str_list exclude_prefixes;
    const struct pod_transform *transforms;
    size_t n_transforms;
};

/* Objects of other namespaces than `ns` do not count; "" counts all. */
struct limit_summary limit_summary_of(struct arena *a, const struct json *const *limit_ranges,
                                      size_t n, struct str ns);

/* The spec with overhead, defaults and requests filled in; shares what it does not change. */
const struct json *pod_spec_adjust(struct arena *a, const struct json *spec,
                                   const struct pod_rules *rules, struct str ns);

/* The effective request of a spec as it stands: the larger of the init sequence (with the
 * sidecars that run beside it) and all that runs together; pod-level requests instead, for the
 * resources that they name; and the overhead. */
struct resource_list pod_spec_requests(struct arena *a, const struct json *spec);
/* The same of limits. */
struct resource_list pod_spec_limits(struct arena *a, const struct json *spec);

/* Kueue's exclusion and transformations of one pod's requests. Exact; what is negative in the
 * end becomes 0. */
struct resource_list pod_requests_transform(struct arena *a, const struct resource_list *in,
                                            const struct pod_rules *rules);
/* All steps, for one pod, sorted by name. */
struct resource_list pod_requests(struct arena *a, const struct json *spec,
                                  const struct pod_rules *rules, struct str ns);

/* Requests above limits: of containers and of the pod itself. `at` is the spec's path. */
void pod_spec_check_limits(struct field_errors *e, const struct field_path *at,
                           const struct json *spec);
/* What breaks the bounds of LimitRanges. */
void pod_spec_check_bounds(struct field_errors *e, const struct field_path *at,
                           const struct json *spec, const struct limit_summary *s);

/* What placement sees of a spec: containers as {resources: {requests}, ports}, and these parts;
 * `resources` are the pod-level requests. Equal for pods that are judged alike. */
struct json pod_spec_shape(struct arena *a, const struct json *spec);
#define POD_SHAPE_N_PARTS 9
extern const struct str pod_shape_parts[POD_SHAPE_N_PARTS];
