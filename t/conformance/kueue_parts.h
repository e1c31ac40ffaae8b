/* kueue_parts.h - the adapters of suite kueue that stand in files of their own */
#pragma once

#include "conformance.h"

conf_fn kueue_workload_finish, kueue_workload_reconcile, kueue_workload_evict;
conf_fn kueue_workload_small;
struct workload_request;
/* One request beside the wanted one, messages aside. */
void kueue_same_request(struct conf *t, const struct workload_request *r,
                        const struct json *want);
conf_fn kueue_schedule, kueue_two_cycles, kueue_schedule_afs;
conf_fn kueue_preemption, kueue_candidates_order, kueue_fair_order, kueue_policy;
conf_fn kueue_preemption_priority, kueue_entry_order, kueue_entry_order_fair, kueue_requeue;
conf_fn kueue_reserve, kueue_last_assignment, kueue_entry_penalty;
conf_fn kueue_flavor_assignment, kueue_total_requests, kueue_flavor_preference;
conf_fn kueue_flavor_scan;
conf_fn kueue_podset_reducer, kueue_queues, kueue_quota, kueue_afs;
conf_fn kueue_resource_arithmetic, kueue_adjust_resources, kueue_priority;
conf_fn kueue_workload_requests, kueue_tas_encoding;
conf_fn kueue_webhook_job, kueue_webhook_workload, kueue_webhook_cluster_queue,
    kueue_webhook_resource_flavor;
