/* rules_priv.h - the functions that rules.c lists, by the file they stand in */
#pragma once

#include "api/rules.h"

/* job.c */
schema_check_fn job_spec_check;
schema_defaults_fn job_defaults, job_spec_defaults;
api_prepare_fn job_prepare;

/* defaults.c */
schema_defaults_fn container_defaults, crd_defaults, device_request_defaults,
    limit_range_item_defaults, namespace_defaults, node_status_defaults, pod_defaults,
    pod_spec_defaults, rbac_subject_defaults, secret_defaults, service_spec_defaults,
    volume_defaults;

/* pod.c */
api_prepare_fn pod_prepare;

/* cells.c */
column_cell_fn cell_age, cell_created_at, cell_namespace_status, cell_node_status,
    cell_node_roles;
column_cell_fn cell_job_status, cell_job_completions, cell_job_duration;
column_cell_fn cell_pod_ready, cell_pod_status, cell_pod_restarts;
