/* kueue_config.c - the tests of what a Configuration file says */
#include "controllers/kueue_config.h"

#include "base/testing.h"
#include "value/time.h"

static struct str told(struct arena *a, const char *text)
{
    struct buf doc = buf_in(a, 256);
    struct kueue_config c;
    struct err err = {0};

    buf_printf(&doc, "{'apiVersion':'config.kueue.x-k8s.io/v1beta2','kind':'Configuration'%s}",
               text);
    struct str s = buf_str(&doc);
    char *at = str_z(a, s);
    for (char *p = at; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (kueue_config_read(a, json_parse(a, str_from(at), NULL, NULL), &c, &err) < 0)
        return str_printf(a, "%s", err.text);
    struct workload_rules *l = &c.life;
    struct queue_config *q = &c.queue;
    struct buf b = buf_in(a, 128);
    if (l->waits_for_pods)
        buf_printf(
            &b, "pods %.*s/%.*s limit %d backoff %.*s..%.*s ",
            STR_ARG(span_text(a, l->start_within)), STR_ARG(span_text(a, l->recover_within)),
            l->has_requeue_limit ? l->requeue_limit : -1,
            STR_ARG(span_text(a, l->backoff_base)), STR_ARG(span_text(a, l->backoff_max)));
    buf_printf(&b, "%s%s%s%s%s%s%s%s", q->block_admission ? "blocks " : "",
               q->order_by_creation ? "by-creation " : "", q->fair_sharing ? "fair " : "",
               q->fair_initial_only ? "initial " : "", q->fair_final_only ? "final " : "",
               q->ignore_undeclared ? "undeclared " : "", l->is_coarse ? "coarse " : "",
               queue_gate(q, QUEUE_GATE_PREEMPTORS_FIRST) ? "preemptors-first " : "");
    if (q->afs)
        buf_printf(&b, "afs %.*s/%.*s weights %zu ", STR_ARG(span_text(a, q->afs_half_life)),
                   STR_ARG(span_text(a, q->afs_sampling)), q->n_afs_weights);
    if (l->has_retention)
        buf_printf(&b, "keeps %.*s ", STR_ARG(span_text(a, l->keep_finished)));
    return str_trim(buf_str(&b));
}

TEST(kueue_config)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"nothing said",                             "",                                                                 ""                                                      },
        {"an operator's own things say nothing",
         ",'webhook':{'port':9443},'leaderElection':{'leaderElect':true}",                                               ""                                                      },
        {"pods ready, by default",                   ",'waitForPodsReady':{}",
         "pods 30m0s/30m0s limit -1 backoff 1m0s..1h0m0s"                                                                                                                        },
        {"pods ready, in full",
         ",'waitForPodsReady':{'timeout':'5m','recoveryTimeout':'0s','blockAdmission':true,"
         "'requeuingStrategy':{'timestamp':'Creation','backoffLimitCount':3,"
         "'backoffBaseSeconds':1,'backoffMaxSeconds':9}}",                                                               "pods 5m0s/0s limit 3 backoff 1s..9s blocks by-creation"},
        {"fair sharing, both strategies",
         ",'fairSharing':{'preemptionStrategies':['LessThanOrEqualToFinalShare',"
         "'LessThanInitialShare']}",                                                                                     "fair"                                                  },
        {"fair sharing, one",
         ",'fairSharing':{'preemptionStrategies':['LessThanInitialShare']}",                                             "fair initial"                                          },
        {"fair sharing needs a strategy",            ",'fairSharing':{}",
         "fairSharing.preemptionStrategies: must name a strategy"                                                                                                                },
        {"admission fair sharing",
         ",'admissionFairSharing':{'usageHalfLifeTime':'168h','resourceWeights':{'cpu':2}}",                             "afs 168h0m0s/5m0s weights 1"                           },
        {"admission fair sharing without half life", ",'admissionFairSharing':{}",
         "admissionFairSharing.usageHalfLifeTime: is required"                                                                                                                   },
        {"retention",                                ",'objectRetentionPolicies':{'workloads':{'afterFinished':'24h'}}",
         "keeps 24h0m0s"                                                                                                                                                         },
        {"gates",
         ",'featureGates':{'UnadmittedWorkloadsObservability':false,"
         "'PrioritizePreemptorWorkloads':true,'LocalQueueMetrics':true}",                                                "coarse preemptors-first"                               },
        {"undeclared resources",                     ",'resources':{'quotaCheckStrategy':'IgnoreUndeclared'}",
         "undeclared"                                                                                                                                                            },
        {"what is not done is said",                 ",'resources':{'excludeResourcePrefixes':['x']}",
         "resources.excludeResourcePrefixes: is not done by this berth"                                                                                                          },
        {"a wrong time",                             ",'waitForPodsReady':{'timeout':'soon'}",
         "waitForPodsReady.timeout: must be a duration such as 5m, not below 0s"                                                                                                 },
        {"a wrong kind",                             ",'kind':'Job'",                                                    "kind: must be Configuration"                           },
    };
    scoped(arena_fini) struct arena a = arena_sized(8192);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(told(&a, cases[i].text), cases[i].want);
    }
}
