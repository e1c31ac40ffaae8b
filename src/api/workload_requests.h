/* workload_requests.h - what a Workload asks for, or holds, in numbers
 *
 * Of the tree as stored. Before admission the numbers come from the pod templates, after it
 * from the admission. cpu counts in thousandths, all others in whole units; sums stop at the
 * ends of 64 bits.
 */
#pragma once

#include "api/pod_requests.h"
#include "api/resource_numbers.h"
#include "api/topology_assignment.h"

struct workload_podset {
    struct str name;
    int64_t count;
    struct resource_numbers requests; /* of all its pods */
    struct str_map flavors;           /* of the admission; empty before it */
    struct topology_assignment topology;
    struct resource_numbers one_pod; /* where there is a topology: of the template as it is */
};

struct workload_record {
    struct str cluster_queue; /* of the admission, or "" */
    const struct workload_podset *at;
    size_t len;
};

/* What claims come to, for one pod of a podset. */
struct workload_claims {
    struct str podset;
    struct resource_list adds;
    struct str_list replaces; /* extended resources that a DeviceClass stands for */
};

/* The templates are taken as they are: adjust them first with pod_spec_adjust(). */
struct workload_record workload_record_of(struct arena *a, const struct json *workload,
                                          const struct pod_rules *rules,
                                          const struct workload_claims *claims,
                                          size_t n_claims);

/* Usage of one flavor's resource; flavor "" is a resource that has none assigned. */
struct workload_usage {
    struct str flavor, resource;
    int64_t n;
};
/* Summed over podsets, sorted by flavor and resource; *n of them. */
const struct workload_usage *workload_usage(struct arena *a, const struct workload_record *r,
                                            size_t *n);

/* Does status.resourceRequests differ from the record, by value? */
bool workload_requests_differ(struct arena *a, const struct json *workload,
                              const struct workload_record *r);
/* status.resourceRequests as the record says. */
struct json workload_requests_json(struct arena *a, const struct workload_record *r);

/* Nodes that an admitted Workload's pods are placed on, sorted, each once. */
struct str_list workload_nodes(struct arena *a, const struct json *workload);
/* Reclaimable pods cut to the size of their podsets; unknown podsets stay as they are. */
const struct json *workload_reclaimable_limit(struct arena *a, const struct json *workload,
                                              const struct json *reclaimable);
/* The same counts under the same names, in any order. */
bool workload_reclaimable_equal(const struct json *x, const struct json *y);
/* {name: count} of podsets; a Workload with such counts; has any podset in both fewer in x? */
struct json workload_counts(struct arena *a, const struct json *podsets);
const struct json *workload_with_counts(struct arena *a, const struct json *workload,
                                        const struct json *counts);
bool workload_counts_fewer(const struct json *x, const struct json *y);
/* Does any podset ask for a topology in so many words? */
bool workload_wants_topology(const struct json *podsets);
/* Equal for Workloads that are judged alike: effective priority and, for each podset, the shape
 * of its pods, its count and its requests. */
uint64_t workload_shape(struct arena *a, const struct json *workload,
                        const struct workload_record *r, int64_t priority);
