/* kueue_check.h - what upstream's Kueue checks in webhooks: rules beside the schemas
 *
 * Source: kueue reference 1.14. Errors come in its order; the schema's own rules (limits,
 * patterns, CEL) are not repeated here.
 */
#pragma once

#include "value/field_error.h"

/* Feature gates that change the rules. */
enum kueue_check_gate {
    KUEUE_CHECK_ADMISSION_GATED_BY = 1 << 0,
    KUEUE_CHECK_CONCURRENT_ADMISSION = 1 << 1,
    KUEUE_CHECK_ELASTIC_JOBS = 1 << 2,     /* ElasticJobsViaWorkloadSlices */
    KUEUE_CHECK_NON_NEGATIVE = 1 << 3,     /* WorkloadValidateResourcesAreNonNegative */
    KUEUE_CHECK_POD_SET_METADATA = 1 << 4, /* WorkloadValidationForPodSetMetadata */
    KUEUE_CHECK_PRIORITY_BOOST = 1 << 5,
    KUEUE_CHECK_REJECT_ON_FLAVORS = 1 << 6, /* RejectUpdatesToCQWithInvalidOnFlavors */
    KUEUE_CHECK_SLICE_SIZE = 1 << 7,        /* TASValidateWorkloadSliceSize */
    KUEUE_CHECK_TOPOLOGY = 1 << 8,          /* TopologyAwareScheduling */
    KUEUE_CHECK_MULTI_LAYER = 1 << 9,       /* TASMultiLayerTopology */
    KUEUE_CHECK_IDENTIFIERS = 1 << 10,      /* WorkloadIdentifierAnnotations */
};
#define KUEUE_CHECK_DEFAULT                                                                    \
    (KUEUE_CHECK_ADMISSION_GATED_BY | KUEUE_CHECK_ELASTIC_JOBS | KUEUE_CHECK_NON_NEGATIVE |    \
     KUEUE_CHECK_POD_SET_METADATA | KUEUE_CHECK_SLICE_SIZE | KUEUE_CHECK_TOPOLOGY |            \
     KUEUE_CHECK_MULTI_LAYER | KUEUE_CHECK_IDENTIFIERS)
/* The gate by upstream's name, or 0. */
uint32_t kueue_check_gate_find(struct str name);

/* Whole objects; `old` is what the new one replaces, or NULL on create. */
/* `is_known`: what is shared with the old passed these rules. */
void kueue_check_workload(struct field_errors *e, uint32_t gates, const struct json *workload,
                          const struct json *old, bool is_known);
void kueue_check_cluster_queue(struct field_errors *e, uint32_t gates, const struct json *queue,
                               const struct json *old);
void kueue_check_cohort(struct field_errors *e, const struct json *cohort);
void kueue_check_resource_flavor(struct field_errors *e, const struct json *flavor);
/* A batch Job; `has_default_queue`: its namespace has a LocalQueue called default. */
void kueue_check_job(struct field_errors *e, uint32_t gates, const struct json *job,
                     const struct json *old, bool has_default_queue);
/* The part that every kind of job has: on create, or (`old` given) what an update adds. */
void kueue_check_any_job(struct field_errors *e, uint32_t gates, struct str kind,
                         const struct json *job, const struct json *old,
                         bool has_default_queue);
/* Topology annotations of a pod template whose metadata is at `meta_at`; `count` pods, or -1
 * where slices are not to be measured. */
void kueue_check_template(struct field_errors *e, uint32_t gates,
                          const struct field_path *meta_at, const struct json *annotations,
                          bool elastic, int64_t count);
/* A pod spec that must keep its shape. */
void kueue_check_pod_shape(struct field_errors *e, const struct field_path *at,
                           const struct json *spec, const struct json *old);
