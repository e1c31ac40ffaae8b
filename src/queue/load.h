/* load.h - Kubernetes objects as trees -> what the engine takes
 *
 * Objects may be such as never passed defaulting or admission: what is absent has its default,
 * what is malformed counts as absent. Everything in a result lives in the arena or in the tree.
 */
#pragma once

#include "api/pod_requests.h"
#include "queue/queue.h"
#include "json/json.h"

/* What turns a pod template into requests, beside the template. */
struct queue_loader {
    const struct queue_config *config;
    struct pod_rules rules;
};

void queue_load_flavor(struct arena *a, const struct json *o, struct queue_flavor_spec *out);
void queue_load_cq(struct arena *a, const struct json *o, struct queue_cq_spec *out);
void queue_load_cohort(struct arena *a, const struct json *o, struct queue_cohort_spec *out);
void queue_load_lq(struct arena *a, const struct json *o, struct queue_lq_spec *out);
/* `now` decides nothing but the time of conditions that have none. */
void queue_load_workload(struct arena *a, const struct json *o, const struct queue_loader *l,
                         struct queue_workload_spec *out);
/* Of its podsets only names, counts and requests, which cost a third of all that; their number.
 */
size_t queue_load_requests(struct arena *a, const struct json *o, const struct queue_loader *l,
                           const struct queue_podset_spec **out);
struct queue_labels queue_load_labels(struct arena *a, const struct json *map);
/* Levels of a Topology; their number. */
size_t queue_load_levels(struct arena *a, const struct json *o, const struct str **out);

/* Puts an object of any kind the engine knows into it: Namespace, ResourceFlavor, Topology,
 * AdmissionCheck, Cohort, ClusterQueue, LocalQueue, Workload. False for other kinds. */
bool queue_put_object(struct queue_engine *e, struct arena *a, const struct json *o,
                      const struct queue_loader *l, struct instant now);

/* The same for a next version: of a Workload whose spec the engine has only the rest is read.
 * Not where the loader's rules are others than those of the version before. */
bool queue_put_changed(struct queue_engine *e, struct arena *a, const struct json *o,
                       const struct queue_loader *l, struct instant now);

/* A quantity as an amount of quota: too large ones are unlimited. */
int64_t queue_quota_amount(struct arena *a, struct str resource, const struct json *q);
/* A quantity as a request: clamped to int64_t. */
int64_t queue_request_amount(struct arena *a, struct str resource, const struct json *q);
/* base + boost of a Workload; *boost_ok (may be NULL): the annotation is a number or absent. */
int64_t queue_load_priority(const struct queue_config *config, const struct json *wl,
                            int64_t *base, int64_t *boost, bool *boost_ok);
/* By which time it stands in line. */
struct instant queue_load_order_time(const struct queue_config *config, const struct json *wl);
