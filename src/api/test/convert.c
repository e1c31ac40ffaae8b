/* convert.c - the tests of api/convert.c: up to the stored version and back */
#include "api/convert.h"
#include "api/find.h"
#include "base/testing.h"

TEST(convert)
{
    static const struct {
        const char *name, *from, *kind, *to;
        const char *given, *want;
        bool is_one_way;
    } cases[] = {
        {"an event's words",            "events.k8s.io/v1",        "Event",             "v1",
         "\"note\":\"n\",\"regarding\":{\"name\":\"p\"},\"deprecatedCount\":2,\"reason\":\"r\"",                                                                                                        "\"message\":\"n\",\"involvedObject\":{\"name\":\"p\"},\"count\":2,\"reason\":\"r\"",
         false                                                                                                                                                                                                                                                                                     },
        {"a cohort's name",             "kueue.x-k8s.io/v1beta1",  "ClusterQueue",      "kueue.x-k8s.io/v1beta2",
         "\"spec\":{\"cohort\":\"c\"}",                                                                                                                                                                 "\"spec\":{\"cohortName\":\"c\"}",                                                    false},
        {"checks become a strategy",    "kueue.x-k8s.io/v1beta1",  "ClusterQueue",
         "kueue.x-k8s.io/v1beta2",                                                                                "\"spec\":{\"admissionChecks\":[\"a\"],\"flavorFungibility\":{\"whenCanBorrow\":"
         "\"Borrow\"}}",                                                                                                                                              "\"spec\":{\"flavorFungibility\":{\"whenCanBorrow\":\"MayStopSearch\"},"
         "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"a\"}]}}",                                                                                                                                                   true },
        {"usage of a local queue",      "kueue.x-k8s.io/v1beta1",  "LocalQueue",
         "kueue.x-k8s.io/v1beta2",                                                                                "\"status\":{\"flavorUsage\":[]}",
         "\"status\":{\"flavorsUsage\":[]}",                                                                                                                                                                                                                                                  false},
        {"a workload's priority class", "kueue.x-k8s.io/v1beta1",  "Workload",
         "kueue.x-k8s.io/v1beta2",                                                                                "\"spec\":{\"priorityClassName\":\"p\",\"priorityClassSource\":"
         "\"scheduling.k8s.io/priorityclass\"}",                                                                                                                      "\"spec\":{\"priorityClassRef\":{\"group\":\"scheduling.k8s.io\",\"kind\":"
         "\"PriorityClass\",\"name\":\"p\"}}",                                                                                                                                                              false},
        {"where its pods go",           "kueue.x-k8s.io/v1beta1",  "Workload",          "kueue.x-k8s.io/v1beta2",
         "\"status\":{\"admission\":{\"podSetAssignments\":[{\"name\":\"main\","
         "\"topologyAssignment\":{\"levels\":[\"rack\"],\"domains\":[{\"values\":[\"r1\"],"
         "\"count\":2}]}}]}}",                                                                                                                                                                          "\"status\":{\"admission\":{\"podSetAssignments\":[{\"name\":\"main\","
         "\"topologyAssignment\":{\"levels\":[\"rack\"],\"slices\":[{\"domainCount\":1,"
         "\"valuesPerLevel\":[{\"universal\":\"r1\"}],\"podCounts\":{\"universal\":2}}]}}]}}",                                                                                                                                                                  false},
        {"where another cluster is",    "kueue.x-k8s.io/v1beta1",  "MultiKueueCluster",
         "kueue.x-k8s.io/v1beta2",                                                                                "\"spec\":{\"kubeConfig\":{\"location\":\"l\"}}",
         "\"spec\":{\"clusterSource\":{\"kubeConfig\":{\"location\":\"l\"}}}",                                                                                                                                                                                                                false},
        {"a request for devices",       "resource.k8s.io/v1beta1", "ResourceClaim",
         "resource.k8s.io/v1",                                                                                    "\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"deviceClassName\":\"g\"}]}}",
         "\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
         "\"deviceClassName\":\"g\"}}]}}",                                                                                                                                                                                                                                                    false},
        {"devices of a slice",          "resource.k8s.io/v1beta1", "ResourceSlice",     "resource.k8s.io/v1",
         "\"spec\":{\"devices\":[{\"name\":\"d\",\"basic\":{\"attributes\":{}}}]}",                                                                                                                     "\"spec\":{\"devices\":[{\"name\":\"d\",\"attributes\":{}}]}",                        false},
    };
    scoped(arena_fini) struct arena a = {0};

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        const struct kind *from = kind_of(str_from(cases[i].from), str_from(cases[i].kind));
        const struct kind *to = kind_of(str_from(cases[i].to), str_from(cases[i].kind));
        const struct json *given =
            json_parse(&a,
                       str_printf(&a, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",%s}",
                                  cases[i].from, cases[i].kind, cases[i].given),
                       NULL, NULL);
        const struct json *want =
            json_parse(&a,
                       str_printf(&a, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",%s}", cases[i].to,
                                  cases[i].kind, cases[i].want),
                       NULL, NULL);
        if (!check(from && to && given && want))
            continue;
        const struct json *got = api_convert(&a, given, from, to);
        if (!json_eq(got, want))
            check_same(json_text(&a, got), json_text(&a, want));
        const struct json *back = api_convert(&a, got, to, from);
        if (!cases[i].is_one_way && !json_eq(back, given))
            check_same(json_text(&a, back), json_text(&a, given));
    }
}
