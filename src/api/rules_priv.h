/* rules_priv.h - the functions that kinds/ and rules.c name, by the file they stand in */
#pragma once

#include "api/rules.h"

/* job.c */
schema_defaults_fn job_defaults, job_spec_defaults;
api_prepare_fn job_prepare;
struct str_list job_warnings(struct arena *a, const struct json *tree, const struct json *old);

/* defaults.c */
schema_defaults_fn container_defaults, crd_defaults, device_request_defaults,
    limit_range_item_defaults, namespace_defaults, node_status_defaults, own_spec_defaults,
    pod_spec_defaults, rbac_subject_defaults, secret_defaults, service_spec_defaults,
    volume_defaults;

/* pod.c */
api_prepare_fn pod_prepare;

/* job_check.c, cron_job_check.c, small_checks.c */
schema_check_fn cron_job_check, cron_job_spec_check, job_check, job_spec_check,
    label_selector_check, pod_template_spec_check;

/* pod_check.c, data_check.c */
schema_check_fn config_map_check, env_var_check, node_selector_requirement_check, pod_check,
    pod_resource_claim_check, pod_spec_check, priority_class_check, probe_check,
    resource_requirements_check, secret_check, toleration_check, volume_check,
    volume_projection_check;

/* Amounts by resource: none is negative, and those of other domains are whole. */
void amounts_check(struct field_errors *e, const struct field_path *at,
                   const struct json *amounts);

/* core_check.c, quota_check.c */
schema_check_fn event_check, events_event_check, limit_range_check, limit_range_item_check,
    namespace_check, node_check, resource_quota_check;

/* rbac_check.c, policy_check.c */
schema_check_fn admission_policy_binding_check, admission_policy_check, role_binding_check,
    role_check;

/* device_claim_check.c, device_slice_check.c */
schema_check_fn dra_device_class_check, dra_resource_claim_check,
    dra_resource_claim_template_check, dra_resource_slice_check;

/* crd_check.c */
schema_check_fn crd_check;
api_prepare_fn crd_prepare;

/* kueue_check.c */
schema_check_fn kueue_cluster_queue_check, kueue_cohort_check, kueue_resource_flavor_check,
    kueue_workload_check;

/* prepare.c */
api_prepare_fn device_taint_rule_prepare, namespace_prepare, resource_slice_prepare;

/* cells.c */
column_cell_fn cell_age, cell_created_at, cell_namespace_status, cell_node_status,
    cell_node_roles;
column_cell_fn cell_job_status, cell_job_completions, cell_job_duration;
column_cell_fn cell_pod_ready, cell_pod_status, cell_pod_restarts;

/* cells_workload.c */
column_cell_fn cell_job_containers, cell_job_images, cell_job_selector,
    cell_cron_job_containers, cell_cron_job_images, cell_cron_job_selector,
    cell_cron_job_timezone, cell_cron_job_suspend, cell_cron_job_active,
    cell_cron_job_last_schedule, cell_pod_ip, cell_pod_node, cell_pod_nominated_node,
    cell_pod_readiness_gates, cell_pod_template_containers, cell_pod_template_images,
    cell_pod_template_labels, cell_node_internal_ip, cell_node_external_ip, cell_node_os_image,
    cell_node_kernel_version, cell_node_container_runtime;
/* Labels as `a=b,c=d`, or "<none>". */
struct json labels_cell(struct arena *a, const struct json *labels);

/* cells_object.c */
column_cell_fn cell_event_first_seen, cell_event_last_seen, cell_event_object,
    cell_event_source, cell_event_message, cell_event_count, cell_config_map_data,
    cell_secret_data, cell_service_cluster_ip, cell_service_external_ip, cell_service_ports,
    cell_service_selector, cell_pvc_status, cell_pvc_capacity, cell_pvc_access_modes,
    cell_pvc_storage_class, cell_pvc_attributes_class, cell_pvc_volume_mode,
    cell_resource_quota_request, cell_resource_quota_limit, cell_binding_role,
    cell_binding_users, cell_binding_groups, cell_binding_service_accounts,
    cell_resource_claim_state, cell_policy_validations, cell_policy_param_kind,
    cell_policy_param_ref;
