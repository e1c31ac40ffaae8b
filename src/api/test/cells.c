/* cells.c - what `kubectl get` prints of built-in kinds */
#include "api/find.h"
#include "api/rules.h"
#include "base/testing.h"
#include "value/time.h"

/* The row of an object at 2030-01-01T00:10:00Z, cells by '|'. */
static struct str row(struct arena *a, const char *api_version, const char *kind,
                      const char *text)
{
    const struct kind *k = kind_of(str_from(api_version), str_from(kind));
    const struct json *v = json_parse(a, str_from(text), NULL, NULL);
    struct buf b = buf_in(a, 128);
    struct instant now;

    time_parse(S("2030-01-01T00:10:00Z"), &now, NULL);
    if (!check(k && v))
        return S("");
    const struct json *cells = columns_row(a, k, api_cells, v, now);
    json_each (i, cells) {
        const struct json *c = json_at(cells, i);
        struct str s = c->type == JSON_STRING ? json_str(c) : json_text(a, c);
        buf_printf(&b, "%s%.*s", i ? "|" : "", STR_ARG(s));
    }
    return buf_str(&b);
}

#define META "\"metadata\":{\"name\":\"n\",\"creationTimestamp\":\"2030-01-01T00:00:00Z\"}"

TEST(cells_rows)
{
    static const struct {
        const char *api_version, *kind, *object, *want;
    } cases[] = {
        {"batch/v1",                        "Job",
         "{" META
         ",\"spec\":{\"parallelism\":2,\"completions\":3,\"selector\":{\"matchLabels\":"
         "{\"a\":\"b\"}},\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
         "\"i\"},{\"name\":\"d\",\"image\":\"j\"}]}}},\"status\":{\"succeeded\":1,"
         "\"startTime\":\"2030-01-01T00:09:00Z\"}}",                                                                                            "n|Running|1/3|60s|10m|c,d|i,j|a=b"                                },
        {"batch/v1",                        "CronJob",
         "{" META ",\"spec\":{\"schedule\":\"* * * * *\",\"suspend\":true,\"jobTemplate\":"
         "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"
         "}}}}},\"status\":{\"active\":[{},{}],\"lastScheduleTime\":\"2030-01-01T00:09:30Z\"}}",                                                "n|* * * * *|<none>|True|2|30s|10m|c|i|<none>"                     },
        {"batch/v1",                        "CronJob",                          "{" META ",\"spec\":{\"timeZone\":\"UTC\"}}",
         "n||UTC|<unset>|0|<none>|10m|||<none>"                                                                                                                                                                    },
        {"v1",                              "Pod",
         "{" META ",\"spec\":{\"nodeName\":\"m\",\"containers\":[{}],\"readinessGates\":["
         "{\"conditionType\":\"x\"},{\"conditionType\":\"y\"}]},\"status\":{\"phase\":"
         "\"Running\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}],\"conditions\":[{\"type\":\"y\","
         "\"status\":\"True\"}]}}",                                                                                                             "n|0/1|Running|0|10m|10.0.0.1|m|<none>|1/2"                        },
        {"v1",                              "Pod",
         "{" META ",\"spec\":{\"containers\":[{}]},\"status\":{\"phase\":"
         "\"Pending\"}}",                                                                                                                       "n|0/1|Pending|0|10m|<none>|<none>|<none>|<none>"                  },
        {"v1",                              "Node",
         "{" META ",\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"v1\",\"osImage\":\"Linux\"},"
         "\"addresses\":[{\"type\":\"Hostname\",\"address\":\"h\"},{\"type\":\"InternalIP\","
         "\"address\":\"10.0.0.2\"}]}}",                                                                                                        "n|Unknown|<none>|10m|v1|10.0.0.2|<none>|Linux|<unknown>|<unknown>"},
        {"v1",                              "PodTemplate",
         "{" META ",\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\",\"c\":\"d\"}},\"spec\":"
         "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}",                                                                               "n|c|i|a=b,c=d"                                                    },
        {"v1",                              "Event",
         "{" META ",\"type\":\"Normal\",\"reason\":\"Started\",\"involvedObject\":{\"kind\":"
         "\"Pod\",\"name\":\"p\"},\"source\":{\"component\":\"kubelet\",\"host\":\"m\"},"
         "\"message\":\" it runs\\n\",\"firstTimestamp\":\"2030-01-01T00:00:00Z\","
         "\"lastTimestamp\":\"2030-01-01T00:09:00Z\",\"count\":4}",                                                                             "60s|Normal|Started|pod/p||kubelet, m|it runs|10m|4|n"             },
        {"events.k8s.io/v1",                "Event",
         "{" META ",\"type\":\"Normal\",\"reason\":\"R\",\"regarding\":{\"kind\":\"Job\","
         "\"name\":\"j\",\"fieldPath\":\"spec\"},\"reportingController\":\"c\",\"note\":\"x\","
         "\"eventTime\":\"2030-01-01T00:08:00.000000Z\",\"series\":{\"count\":7,"
         "\"lastObservedTime\":\"2030-01-01T00:09:50.000000Z\"}}",                                                                              "10s|Normal|R|job/j|spec|c|x|2m|7|n"                               },
        {"v1",                              "Event",                            "{" META "}",                                                   "<unknown>|||||||<unknown>|1|n"                                    },
        {"v1",                              "ConfigMap",                        "{" META ",\"data\":{\"a\":\"\"},\"binaryData\":{\"b\":\"\"}}",
         "n|2|10m"                                                                                                                                                                                                 },
        {"v1",                              "Secret",                           "{" META ",\"type\":\"Opaque\",\"data\":{\"a\":\"\"}}",
         "n|Opaque|1|10m"                                                                                                                                                                                          },
        {"v1",                              "LimitRange",                       "{" META "}",                                                   "n|2030-01-01T00:00:00Z"                                           },
        {"v1",                              "Service",
         "{" META ",\"spec\":{\"type\":\"NodePort\",\"clusterIP\":\"10.0.0.9\",\"ports\":["
         "{\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"},{\"port\":53,\"protocol\":"
         "\"UDP\"}],\"selector\":{\"a\":\"b\"}}}",                                                                                              "n|NodePort|10.0.0.9|<none>|80:30080/TCP,53/UDP|10m|a=b"           },
        {"v1",                              "Service",                          "{" META ",\"spec\":{\"type\":\"LoadBalancer\"}}",
         "n|LoadBalancer|<none>|<pending>|<none>|10m|<none>"                                                                                                                                                       },
        {"v1",                              "Service",
         "{" META ",\"spec\":{\"type\":\"LoadBalancer\",\"externalIPs\":[\"9.9.9.9\"]},"
         "\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"1.1.1.1\"},{\"hostname\":"
         "\"h\"}]}}}",                                                                                                                          "n|LoadBalancer|<none>|1.1.1.1,h,9.9.9.9|<none>|10m|<none>"        },
        {"v1",                              "PersistentVolumeClaim",
         "{" META
         ",\"spec\":{\"volumeName\":\"v\",\"storageClassName\":\"fast\",\"volumeMode\":"
         "\"Block\"},\"status\":{\"phase\":\"Bound\",\"capacity\":{\"storage\":\"1Gi\"},"
         "\"accessModes\":[\"ReadWriteMany\",\"ReadWriteOnce\"]}}",                                                                             "n|Bound|v|1Gi|RWO,RWX|fast|<unset>|10m|Block"                     },
        {"v1",                              "PersistentVolumeClaim",
         "{" META ",\"status\":{\"phase\":\"Pending\",\"accessModes\":[\"ReadWriteOnce\"]}}",
         "n|Pending|||||<unset>|10m|<unset>"                                                                                                                                                                       },
        {"v1",                              "ResourceQuota",
         "{" META ",\"status\":{\"hard\":{\"requests.cpu\":\"4\",\"pods\":\"9\","
         "\"limits.cpu\":\"8\"},\"used\":{\"pods\":\"1\"}}}",                                                                                   "n|pods: 1/9, requests.cpu: 0/4|limits.cpu: 0/8|10m"               },
        {"rbac.authorization.k8s.io/v1",    "RoleBinding",
         "{" META ",\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"},\"subjects\":[{\"kind\":"
         "\"User\",\"name\":\"u\"},{\"kind\":\"User\",\"name\":\"w\"},{\"kind\":\"Group\","
         "\"name\":\"g\"},{\"kind\":\"ServiceAccount\",\"name\":\"s\",\"namespace\":\"x\"}]}",                                                  "n|Role/r|10m|u, w|g|x/s"                                          },
        {"scheduling.k8s.io/v1",            "PriorityClass",
         "{" META ",\"value\":5,\"preemptionPolicy\":\"Never\"}",                                                                               "n|5|false|10m|Never"                                              },
        {"coordination.k8s.io/v1",          "Lease",                            "{" META "}",                                                   "n||10m"                                                           },
        {"resource.k8s.io/v1",              "ResourceClaim",                    "{" META "}",                                                   "n|pending|10m"                                                    },
        {"resource.k8s.io/v1",              "ResourceClaim",
         "{\"metadata\":{\"name\":\"n\",\"deletionTimestamp\":\"2030-01-01T00:00:00Z\"},"
         "\"status\":{\"allocation\":{},\"reservedFor\":[{}]}}",                                                                                "n|deleted,allocated,reserved|<unknown>"                           },
        {"resource.k8s.io/v1",              "ResourceSlice",
         "{" META ",\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":\"p\"}}}",                                                                    "n||d|p|10m"                                                       },
        {"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy",
         "{" META ",\"spec\":{\"validations\":[{}]}}",                                                                                          "n|1|<unset>|10m"                                                  },
        {"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
         "{" META ",\"spec\":{\"policyName\":\"p\",\"paramRef\":{\"name\":\"q\",\"namespace\":"
         "\"x\"}}}",                                                                                                                            "n|p|x/q|10m"                                                      },
        {"kueue.x-k8s.io/v1beta2",          "ClusterQueue",                     "{" META "}",                                                   "n|null|null|null|null"                                            },
        {"kueue.x-k8s.io/v1beta2",          "Workload",
         "{" META ",\"spec\":{\"queueName\":\"q\"},\"status\":{\"conditions\":[{\"type\":"
         "\"Admitted\",\"status\":\"True\"}]}}",                                                                                                "n|q|null|True|null|10m"                                           },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        test_case(cases[i].want);
        check_samez(row(&a, cases[i].api_version, cases[i].kind, cases[i].object),
                    cases[i].want);
    }
}

/* Each function that a column names is there, and each is named by some column. */
TEST(cells_are_named)
{
    for (size_t k = 0; k < KIND_COUNT; k++) {
        for (size_t c = 0; c < kinds[k]->n_columns; c++) {
            struct str name = kinds[k]->columns[c].cell;
            bool is_there = name.len == 0;
            for (size_t i = 0; i < api_cells.len; i++)
                is_there |= str_eq(api_cells.at[i].name, name);
            test_case(name.at);
            check(is_there);
        }
    }
    for (size_t i = 0; i < api_cells.len; i++) {
        bool is_named = false;
        for (size_t k = 0; k < KIND_COUNT; k++)
            for (size_t c = 0; c < kinds[k]->n_columns; c++)
                is_named |= str_eq(kinds[k]->columns[c].cell, api_cells.at[i].name);
        test_case(api_cells.at[i].name.at);
        check(is_named);
    }
}
