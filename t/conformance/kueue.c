/* kueue.c - the suite of Kueue's decisions: a table; the adapters stand in kueue_*.c */
#include "conformance.h"

#include "kueue_parts.h"

static const struct conf_file files[] = {
    {.name = "schedule",                         .run = kueue_schedule               },
    {.name = "schedule-fair",                    .run = kueue_schedule               },
    {.name = "schedule-concurrent-admission",    .run = kueue_schedule               },
    {.name = "schedule-recompute-targets",       .run = kueue_schedule               },
    {.name = "schedule-two-cycles",              .run = kueue_two_cycles             },
    {.name = "schedule-afs",                     .run = kueue_schedule_afs           },
    {.name = "schedule-entry-order",             .run = kueue_entry_order            },
    {.name = "schedule-entry-order-fair",        .run = kueue_entry_order_fair       },
    {.name = "schedule-requeue",                 .run = kueue_requeue                },
    {.name = "schedule-reserve",                 .run = kueue_reserve                },
    {.name = "schedule-last-assignment",         .run = kueue_last_assignment        },
    {.name = "schedule-afs-entry-penalty",       .run = kueue_entry_penalty          },
    {.name = "preemption",                       .run = kueue_preemption             },
    {.name = "preemption-hierarchical",          .run = kueue_preemption             },
    {.name = "preemption-fair",                  .run = kueue_preemption             },
    {.name = "preemption-fair-infinite-share",   .run = kueue_preemption             },
    {.name = "preemption-fair-order",            .run = kueue_fair_order             },
    {.name = "preemption-candidates-order",      .run = kueue_candidates_order       },
    {.name = "preemption-policy",                .run = kueue_policy                 },
    {.name = "preemption-priority",              .run = kueue_preemption_priority    },
    {.name = "flavor-assignment",                .run = kueue_flavor_assignment      },
    {.name = "flavor-assignment-reclaim",        .run = kueue_flavor_assignment      },
    {.name = "flavor-assignment-hierarchical",   .run = kueue_flavor_assignment      },
    {.name = "flavor-assignment-allowed",        .run = kueue_flavor_assignment      },
    {.name = "flavor-assignment-deleted",        .run = kueue_flavor_assignment      },
    {.name = "flavor-assignment-nofit-reason",   .run = kueue_flavor_assignment      },
    {.name = "flavor-assignment-leader-worker",  .run = kueue_flavor_assignment      },
    {.name = "flavor-assignment-total-requests", .run = kueue_total_requests         },
    {.name = "flavor-preference",                .run = kueue_flavor_preference      },
    {.name = "flavor-podset-reducer",            .run = kueue_podset_reducer         },
    {.name = "priority",                         .run = kueue_priority               },
    {.name = "resource-arithmetic",              .run = kueue_resource_arithmetic    },
    {.name = "tas-encoding",                     .run = kueue_tas_encoding           },
    {.name = "webhook-clusterqueue",             .run = kueue_webhook_cluster_queue  },
    {.name = "webhook-resourceflavor",           .run = kueue_webhook_resource_flavor},
    {.name = "webhook-workload",                 .run = kueue_webhook_workload       },
    {.name = "workload-adjust-resources",        .run = kueue_adjust_resources       },
    {.name = "workload-finish",                  .run = kueue_workload_finish        },
    {.name = "workload-requests",                .run = kueue_workload_requests      },
};

const struct conf_suite suite_kueue = {"kueue", files, countof(files)};
