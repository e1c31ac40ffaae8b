/* rules.c - the lists of what the tables of kinds cannot say */
#include "api/rules.h"

#include "api/kinds.h"
#include "api/rules_priv.h"
#include "value/strs.h"

static const struct column_cell cells[] = {
    {S_INIT("age"),                      cell_age                     },
    {S_INIT("binding_groups"),           cell_binding_groups          },
    {S_INIT("binding_role"),             cell_binding_role            },
    {S_INIT("binding_service_accounts"), cell_binding_service_accounts},
    {S_INIT("binding_users"),            cell_binding_users           },
    {S_INIT("config_map_data"),          cell_config_map_data         },
    {S_INIT("created_at"),               cell_created_at              },
    {S_INIT("cron_job_active"),          cell_cron_job_active         },
    {S_INIT("cron_job_containers"),      cell_cron_job_containers     },
    {S_INIT("cron_job_images"),          cell_cron_job_images         },
    {S_INIT("cron_job_last_schedule"),   cell_cron_job_last_schedule  },
    {S_INIT("cron_job_selector"),        cell_cron_job_selector       },
    {S_INIT("cron_job_suspend"),         cell_cron_job_suspend        },
    {S_INIT("cron_job_timezone"),        cell_cron_job_timezone       },
    {S_INIT("event_count"),              cell_event_count             },
    {S_INIT("event_first_seen"),         cell_event_first_seen        },
    {S_INIT("event_last_seen"),          cell_event_last_seen         },
    {S_INIT("event_message"),            cell_event_message           },
    {S_INIT("event_object"),             cell_event_object            },
    {S_INIT("event_source"),             cell_event_source            },
    {S_INIT("job_completions"),          cell_job_completions         },
    {S_INIT("job_containers"),           cell_job_containers          },
    {S_INIT("job_duration"),             cell_job_duration            },
    {S_INIT("job_images"),               cell_job_images              },
    {S_INIT("job_selector"),             cell_job_selector            },
    {S_INIT("job_status"),               cell_job_status              },
    {S_INIT("namespace_status"),         cell_namespace_status        },
    {S_INIT("node_container_runtime"),   cell_node_container_runtime  },
    {S_INIT("node_external_ip"),         cell_node_external_ip        },
    {S_INIT("node_internal_ip"),         cell_node_internal_ip        },
    {S_INIT("node_kernel_version"),      cell_node_kernel_version     },
    {S_INIT("node_os_image"),            cell_node_os_image           },
    {S_INIT("node_roles"),               cell_node_roles              },
    {S_INIT("node_status"),              cell_node_status             },
    {S_INIT("pod_ip"),                   cell_pod_ip                  },
    {S_INIT("pod_node"),                 cell_pod_node                },
    {S_INIT("pod_nominated_node"),       cell_pod_nominated_node      },
    {S_INIT("pod_readiness_gates"),      cell_pod_readiness_gates     },
    {S_INIT("pod_ready"),                cell_pod_ready               },
    {S_INIT("pod_restarts"),             cell_pod_restarts            },
    {S_INIT("pod_status"),               cell_pod_status              },
    {S_INIT("pod_template_containers"),  cell_pod_template_containers },
    {S_INIT("pod_template_images"),      cell_pod_template_images     },
    {S_INIT("pod_template_labels"),      cell_pod_template_labels     },
    {S_INIT("policy_param_kind"),        cell_policy_param_kind       },
    {S_INIT("policy_param_ref"),         cell_policy_param_ref        },
    {S_INIT("policy_validations"),       cell_policy_validations      },
    {S_INIT("pvc_access_modes"),         cell_pvc_access_modes        },
    {S_INIT("pvc_attributes_class"),     cell_pvc_attributes_class    },
    {S_INIT("pvc_capacity"),             cell_pvc_capacity            },
    {S_INIT("pvc_status"),               cell_pvc_status              },
    {S_INIT("pvc_storage_class"),        cell_pvc_storage_class       },
    {S_INIT("pvc_volume_mode"),          cell_pvc_volume_mode         },
    {S_INIT("resource_claim_state"),     cell_resource_claim_state    },
    {S_INIT("resource_quota_limit"),     cell_resource_quota_limit    },
    {S_INIT("resource_quota_request"),   cell_resource_quota_request  },
    {S_INIT("secret_data"),              cell_secret_data             },
    {S_INIT("service_cluster_ip"),       cell_service_cluster_ip      },
    {S_INIT("service_external_ip"),      cell_service_external_ip     },
    {S_INIT("service_ports"),            cell_service_ports           },
    {S_INIT("service_selector"),         cell_service_selector        },
};
const struct column_cells api_cells = {cells, countof(cells)};

/* By kind; a kind without a row is left as it is. */
static const struct {
    const struct kind *kind;
    api_prepare_fn *fn;
} strategies[] = {
    {&kind_job,                            job_prepare              },
    {&kind_pod,                            pod_prepare              },
    {&kind_namespace,                      namespace_prepare        },
    {&kind_crd_custom_resource_definition, crd_prepare              },
    {&kind_dra_resource_slice,             resource_slice_prepare   },
    {&kind_dra_v1beta1_resource_slice,     resource_slice_prepare   },
    {&kind_dra_v1beta2_resource_slice,     resource_slice_prepare   },
    {&kind_dra_device_taint_rule,          device_taint_rule_prepare},
    {&kind_dra_v1beta2_device_taint_rule,  device_taint_rule_prepare},
};

const struct json *api_prepare(const struct api_prepare *p, const struct json *tree)
{
    for (size_t i = 0; i < countof(strategies); i++)
        if (strategies[i].kind == p->kind)
            return strategies[i].fn(p, tree);
    return tree;
}

struct str_list api_warnings(struct arena *a, const struct kind *kind, const struct json *tree,
                             const struct json *old)
{
    return kind == &kind_job ? job_warnings(a, tree, old) : (struct str_list){0};
}
