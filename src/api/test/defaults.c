/* defaults.c - what the server adds to objects of built-in kinds */
#include "api/rules.h"

#include "api/find.h"
#include "base/testing.h"
#include "schema/conform.h"
#include "schema/default.h"

static struct str defaulted(struct arena *a, const char *api_version, const char *kind,
                            const char *text)
{
    const struct kind *k = kind_of(str_from(api_version), str_from(kind));
    struct err err = {0};
    const struct json *v = json_parse(a, str_from(text), NULL, &err);

    if (!check(k && v))
        return err_str(&err);
    v = kind_conform(a, k, v, NULL, NULL, &err);
    if (!check(v))
        return err_str(&err);
    return json_text(a, kind_default(a, k, v, NULL));
}

TEST(defaults)
{
    static const struct {
        const char *name, *api_version, *kind, *given, *has, *lacks;
    } cases[] = {
        {"one pod where nothing is said",             "batch/v1",                     "Job",                      "{\"spec\":{}}",
         "\"completions\":1",                                                                                                                                                                                                   NULL                           },
        {"parallelism alone leaves completions open", "batch/v1",                     "Job",
         "{\"spec\":{\"parallelism\":2}}",                                                                                                                       "\"parallelism\":2",                                           "\"completions\""              },
        {"six failures",                              "batch/v1",                     "Job",                      "{\"spec\":{}}",                               "\"backoffLimit\":6",                                          NULL                           },
        {"no limit of all where each index has one",  "batch/v1",                     "Job",
         "{\"spec\":{\"backoffLimitPerIndex\":0}}",                                                                                                              "\"backoffLimit\":2147483647",                                 NULL                           },
        {"replaced when failed, with a policy",       "batch/v1",                     "Job",
         "{\"spec\":{\"podFailurePolicy\":{\"rules\":[]}}}",                                                                                                     "\"podReplacementPolicy\":\"Failed\"",                         NULL                           },
        {"a pattern's status is True",                "batch/v1",                     "Job",
         "{\"spec\":{\"podFailurePolicy\":{\"rules\":[{\"action\":\"Ignore\","
         "\"onPodConditions\":[{\"type\":\"X\"}]}]}}}",                                                                                                          "{\"type\":\"X\",\"status\":\"True\"}",                        NULL                           },
        {"labels of the template",                    "batch/v1",                     "Job",
         "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}}}}}",                                                                                  "\"metadata\":{\"labels\":{\"a\":\"b\"}}",                     NULL                           },
        {"a given zero stays",                        "batch/v1",                     "Job",                      "{\"spec\":{\"parallelism\":0}}",
         "\"parallelism\":0",                                                                                                                                                                                                   NULL                           },
        {"a Job inside a CronJob waits for its own",  "batch/v1",                     "CronJob",
         "{\"spec\":{\"jobTemplate\":{\"spec\":{}}}}",                                                                                                           "\"concurrencyPolicy\":\"Allow\"",
         "backoffLimit"                                                                                                                                                                                                                                        },
        {"but its pods do not",                       "batch/v1",                     "CronJob",
         "{\"spec\":{\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{}}}}}}",                                                                                 "\"dnsPolicy\":\"ClusterFirst\"",                              "parallelism"                  },
        {"latest is pulled",                          "v1",                           "Pod",
         "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"r:5000/i\"}]}}",                                                                                "\"imagePullPolicy\":\"Always\"",                              NULL                           },
        {"a tag is kept",                             "v1",                           "Pod",
         "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"r:5000/i:1\"}]}}",                                                                              "\"imagePullPolicy\":\"IfNotPresent\"",                        NULL                           },
        {"a digest is kept",                          "v1",                           "Pod",
         "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i@sha256:0\"}]}}",                                                                              "\"imagePullPolicy\":\"IfNotPresent\"",                        NULL                           },
        {"limits are requests in a pod",              "v1",                           "Pod",
         "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":"
         "{\"cpu\":\"2\"}}}]}}",                                                                                                                                 "\"requests\":{\"cpu\":\"2\"}",                                NULL                           },
        {"and not in a template",                     "batch/v1",                     "Job",
         "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
         "\"resources\":{\"limits\":{\"cpu\":\"2\"}}}]}}}}",                                                                                                     "\"limits\":{\"cpu\":\"2\"}",                                  "\"requests\""                 },
        {"a pod asks what its containers ask",        "v1",                           "Pod",
         "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":"
         "{\"cpu\":\"500m\"}}},{\"name\":\"d\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
         "\"resources\":{\"limits\":{\"cpu\":\"3\",\"memory\":\"1Gi\"}}}}",                                                                                      "\"requests\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\"}",         NULL                           },
        {"ports of the host",                         "v1",                           "Pod",
         "{\"spec\":{\"hostNetwork\":true,\"containers\":[{\"name\":\"c\",\"ports\":"
         "[{\"containerPort\":80}]}]}}",                                                                                                                         "{\"containerPort\":80,\"hostPort\":80,\"protocol\":\"TCP\"}", NULL                           },
        {"the account by its old name",               "v1",                           "Pod",
         "{\"spec\":{\"containers\":[],\"serviceAccount\":\"a\"}}",                                                                                              "\"serviceAccountName\":\"a\"",                                NULL                           },
        {"a volume without source",                   "v1",                           "Pod",
         "{\"spec\":{\"containers\":[],\"volumes\":[{\"name\":\"v\"}]}}",                                                                                        "{\"name\":\"v\",\"emptyDir\":{}}",                            NULL                           },
        {"a volume with one",                         "v1",                           "Pod",
         "{\"spec\":{\"containers\":[],\"volumes\":[{\"name\":\"v\",\"secret\":"
         "{\"secretName\":\"s\"}}]}}",                                                                                                                           "\"secret\":{\"secretName\":\"s\",\"defaultMode\":420}",       "emptyDir"                     },
        {"a namespace carries its name",              "v1",                           "Namespace",                "{\"metadata\":{\"name\":\"n\"}}",
         "\"labels\":{\"kubernetes.io/metadata.name\":\"n\"}",                                                                                                                                                                  NULL                           },
        {"all of a node is usable",                   "v1",                           "Node",                     "{\"status\":{\"capacity\":{\"cpu\":\"4\"}}}",
         "\"allocatable\":{\"cpu\":\"4\"}",                                                                                                                                                                                     NULL                           },
        {"texts become data",                         "v1",                           "Secret",
         "{\"data\":{\"a\":\"eA==\",\"b\":\"eQ==\"},\"stringData\":{\"a\":\"z\"}}",                                                                              "\"data\":{\"a\":\"eg==\",\"b\":\"eQ==\"}",                    "stringData"                   },
        {"a service's own port",                      "v1",                           "Service",                  "{\"spec\":{\"ports\":[{\"port\":80}]}}",
         "\"targetPort\":80",                                                                                                                                                                                                   NULL                           },
        {"outside traffic",                           "v1",                           "Service",                  "{\"spec\":{\"type\":\"NodePort\"}}",
         "\"externalTrafficPolicy\":\"Cluster\"",                                                                                                                                                                               "allocateLoadBalancerNodePorts"},
        {"limits from the maximum",                   "v1",                           "LimitRange",
         "{\"spec\":{\"limits\":[{\"type\":\"Container\",\"max\":{\"cpu\":\"2\"},"
         "\"min\":{\"memory\":\"1Mi\"}}]}}",                                                                                                                     "\"defaultRequest\":{\"cpu\":\"2\",\"memory\":\"1Mi\"}",       NULL                           },
        {"a user's group",                            "rbac.authorization.k8s.io/v1", "RoleBinding",
         "{\"subjects\":[{\"kind\":\"User\",\"name\":\"u\"}]}",                                                                                                  "\"apiGroup\":\"rbac.authorization.k8s.io\"",                  NULL                           },
        {"names of a new kind",                       "apiextensions.k8s.io/v1",      "CustomResourceDefinition",
         "{\"spec\":{\"names\":{\"kind\":\"CronTab\"}}}",                                                                                                        "\"singular\":\"crontab\",\"listKind\":\"CronTabList\"",       NULL                           },
        {"one device",                                "resource.k8s.io/v1",           "ResourceClaim",
         "{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":"
         "{\"deviceClassName\":\"c\"}}]}}}",                                                                                                                     "\"allocationMode\":\"ExactCount\",\"count\":1",               NULL                           },
        {"all devices are not counted",               "resource.k8s.io/v1",           "ResourceClaim",
         "{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":"
         "{\"deviceClassName\":\"c\",\"allocationMode\":\"All\"}}]}}}",                                                                                          "\"allocationMode\":\"All\"",                                  "count"                        },
        {"a Workload's pods are as its CRD has them", "kueue.x-k8s.io/v1beta2",       "Workload",
         "{\"spec\":{\"podSets\":[{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
         "\"ports\":[{\"containerPort\":80}]}]}}}]}}",                                                                                                           "\"protocol\":\"TCP\"",                                        "dnsPolicy"                    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        test_case(cases[i].name);
        struct str got = defaulted(&a, cases[i].api_version, cases[i].kind, cases[i].given);
        if (!str_has(got, str_from(cases[i].has)))
            check_samez(got, cases[i].has);
        if (cases[i].lacks && str_has(got, str_from(cases[i].lacks)))
            check_samez(got, cases[i].lacks);
    }
}

/* What has its defaults is left as it is, node by node: a writer then shares it with the object
 * that is stored, and it is not looked at again. */
TEST(defaults_once)
{
    static const struct {
        const char *name, *api_version, *kind, *given;
    } cases[] = {
        {"a pod with limits", "v1",                      "Pod",
         "{\"spec\":{\"serviceAccountName\":\"a\",\"containers\":[{\"name\":\"c\",\"image\":"
         "\"i\","
         "\"resources\":{\"limits\":{\"cpu\":\"1\"}}}],\"resources\":{\"limits\":{\"cpu\":"
         "\"2\"}}}}"                                                                                                  },
        {"a pod of the host", "v1",                      "Pod",
         "{\"spec\":{\"serviceAccount\":\"a\",\"hostNetwork\":true,\"containers\":[{\"name\":"
         "\"c\",\"image\":\"i:1\",\"ports\":[{\"containerPort\":80}]}]}}"                                             },
        {"a Job",             "batch/v1",                "Job",
         "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{"
         "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"volumes\":[{\"name\":\"v\"}]}}}"
         "}"                                                                                                          },
        {"a namespace",       "v1",                      "Namespace",                "{\"metadata\":{\"name\":\"n\"}}"},
        {"a definition",      "apiextensions.k8s.io/v1", "CustomResourceDefinition",
         "{\"spec\":{\"names\":{\"kind\":\"A\",\"plural\":\"as\"}}}"                                                  },
        {"a zero by default", "autoscaling/v1",          "Scale",                    "{\"spec\":{\"replicas\":0}}"    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        const struct kind *k = kind_of(str_from(cases[i].api_version), str_from(cases[i].kind));
        const struct json *v = json_parse(&a, str_from(cases[i].given), NULL, NULL);
        struct err err = {0};
        test_case(cases[i].name);
        v = kind_default(&a, k, kind_conform(&a, k, v, NULL, NULL, &err), NULL);
        check(kind_default(&a, k, v, NULL) == v);
    }
}
