/* rules.c - the lists of what the tables of kinds cannot say */
#include "api/rules.h"

#include "api/kinds.h"
#include "api/rules_priv.h"

static const struct schema_check checks[] = {
    {S_INIT("job_spec_check"), job_spec_check},
};

static const struct schema_defaults defaults[] = {
    {S_INIT("container_defaults"),        container_defaults       },
    {S_INIT("crd_defaults"),              crd_defaults             },
    {S_INIT("device_request_defaults"),   device_request_defaults  },
    {S_INIT("job_defaults"),              job_defaults             },
    {S_INIT("job_spec_defaults"),         job_spec_defaults        },
    {S_INIT("limit_range_item_defaults"), limit_range_item_defaults},
    {S_INIT("namespace_defaults"),        namespace_defaults       },
    {S_INIT("node_status_defaults"),      node_status_defaults     },
    {S_INIT("pod_defaults"),              pod_defaults             },
    {S_INIT("pod_spec_defaults"),         pod_spec_defaults        },
    {S_INIT("rbac_subject_defaults"),     rbac_subject_defaults    },
    {S_INIT("secret_defaults"),           secret_defaults          },
    {S_INIT("service_spec_defaults"),     service_spec_defaults    },
    {S_INIT("volume_defaults"),           volume_defaults          },
};

const struct schema_functions api_functions = {
    .checks = checks,
    .n_checks = countof(checks),
    .defaults = defaults,
    .n_defaults = countof(defaults),
};

static const struct column_cell cells[] = {
    {S_INIT("age"),              cell_age             },
    {S_INIT("created_at"),       cell_created_at      },
    {S_INIT("job_status"),       cell_job_status      },
    {S_INIT("job_completions"),  cell_job_completions },
    {S_INIT("job_duration"),     cell_job_duration    },
    {S_INIT("namespace_status"), cell_namespace_status},
    {S_INIT("node_status"),      cell_node_status     },
    {S_INIT("node_roles"),       cell_node_roles      },
    {S_INIT("pod_ready"),        cell_pod_ready       },
    {S_INIT("pod_status"),       cell_pod_status      },
    {S_INIT("pod_restarts"),     cell_pod_restarts    },
};
const struct column_cells api_cells = {cells, countof(cells)};

/* By kind; a kind without a row is left as it is. */
static const struct {
    const struct kind *kind;
    api_prepare_fn *fn;
} strategies[] = {
    {&kind_job, job_prepare},
    {&kind_pod, pod_prepare},
};

const struct json *api_prepare(const struct api_prepare *p, const struct json *tree)
{
    for (size_t i = 0; i < countof(strategies); i++)
        if (strategies[i].kind == p->kind)
            return strategies[i].fn(p, tree);
    return tree;
}
