/* kueue_check.c - what Kueue's webhooks refuse, as `TYPE FIELD` */
#include "api/kueue_check.h"

#include "api/find.h"
#include "api/rules.h"
#include "api/test/refused.h"
#include "base/testing.h"

#define GROUP(resource, flavor, limits)                                                        \
    "{\"coveredResources\":[\"" resource "\"],\"flavors\":[{\"name\":\"" flavor                \
    "\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"2\"" limits "}]}]}"

TEST(kueue_check_cluster_queue)
{
    static const struct {
        const char *name, *spec, *old, *want;
        /* clang-format off */
    } cases[] = {
        {"nothing wrong", "{\"resourceGroups\":[" GROUP("cpu", "f", "") "]}", NULL, ""},
        {"nobody to borrow from",
         "{\"resourceGroups\":[" GROUP("cpu", "f", ",\"borrowingLimit\":1") "]}", NULL,
         "Invalid spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit"},
        {"a lender lends what it has",
         "{\"cohortName\":\"c\",\"resourceGroups\":[" GROUP("cpu", "f", ",\"lendingLimit\":3")
         "]}",
         NULL, "Invalid spec.resourceGroups[0].flavors[0].resources[0].lendingLimit"},
        {"another resource than is covered",
         "{\"resourceGroups\":[" GROUP("gpu", "f", "") "]}", NULL,
         "Invalid spec.resourceGroups[0].flavors[0].resources[0].name"},
        {"one flavor in two groups",
         "{\"resourceGroups\":[" GROUP("cpu", "f", "") "," GROUP("cpu", "f", "") "]}", NULL,
         "Duplicate spec.resourceGroups[1].coveredResources[0], "
         "Duplicate spec.resourceGroups[1].flavors[0].name"},
        {"a weight next to nothing", "{\"fairSharing\":{\"weight\":\"1n\"}}", NULL,
         "Invalid spec.fairSharing"},
        {"a negative one", "{\"fairSharing\":{\"weight\":\"-1\"}}", NULL,
         "Invalid spec.fairSharing"},
        {"evicting others while not reclaiming",
         "{\"preemption\":{\"reclaimWithinCohort\":\"Never\",\"borrowWithinCohort\":"
         "{\"policy\":\"LowerPriority\"}}}",
         NULL, "Invalid spec.preemption"},
        {"a check for a flavor it has not",
         "{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\",\"onFlavors\":"
         "[\"f\"]}]}}",
         NULL, "NotSupported spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]"},
        {"which it had not before, either",
         "{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\",\"onFlavors\":"
         "[\"f\"]}]}}",
         "{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\",\"onFlavors\":"
         "[\"f\"]}]}}",
         ""},
        {"a policy taken away", "{}", "{\"concurrentAdmissionPolicy\":{}}",
         "Invalid spec.concurrentAdmissionPolicy"},
    };
    /* clang-format on */

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct field_errors e = field_errors_in(&a);
        const struct json *queue = json_with(
            &a, NULL, *json_parse(&a, str_from(cases[i].spec), NULL, NULL), "spec", NULL);
        const struct json *old = NULL;
        test_case(cases[i].name);
        if (cases[i].old)
            old = json_with(&a, NULL, *json_parse(&a, str_from(cases[i].old), NULL, NULL),
                            "spec", NULL);
        kueue_check_cluster_queue(&e, KUEUE_CHECK_DEFAULT, queue, old);
        check_samez(refused_text(&a, &e), cases[i].want);
    }
}

#define WL(annotations, set, status)                                                           \
    "{\"metadata\":{\"annotations\":{" annotations                                             \
    "}},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":3" set "}]},\"status\":{" status   \
    "}}"
#define RESERVED                                                                               \
    "\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":"              \
    "\"R\",\"lastTransitionTime\":\"2030-01-01T00:00:00Z\"}]"
#define ADMITTED(count, cpu)                                                                   \
    RESERVED ",\"admission\":{\"clusterQueue\":\"q\",\"podSetAssignments\":[{\"name\":"        \
             "\"main\",\"count\":" count ",\"resourceUsage\":{\"cpu\":\"" cpu "\"}}]}"
#define GATED(names) "\"kueue.x-k8s.io/admission-gated-by\":\"" names "\""

TEST(kueue_check_workload)
{
    static const struct {
        const char *name, *workload, *old, *want;
        /* clang-format off */
    } cases[] = {
        {"nothing wrong", WL("", "", ""), NULL, ""},
        {"pods as a resource",
         WL("", ",\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":"
                "{\"pods\":1}}}]}}",
            ""),
         NULL, "Invalid spec.podSets[0].template.spec.containers[0].resources.limits[pods]"},
        {"less than nothing",
         WL("", ",\"template\":{\"spec\":{\"resources\":{\"requests\":{\"cpu\":-1}}}}", ""),
         NULL, "Invalid spec.podSets[0].template.spec.resources.requests[cpu]"},
        {"slices without a size",
         WL("", ",\"topologyRequest\":{\"podSetSliceRequiredTopology\":\"a\"}", ""), NULL,
         "Required spec.podSets[0].topologyRequest.podSetSliceSize"},
        {"reserved for nothing", WL("", "", RESERVED), NULL, "Required status.admission"},
        {"amounts that cannot be shared", WL("", "", ADMITTED("3", "1")), NULL,
         "Invalid status.admission.podSetAssignments[0].resourceUsage[cpu]"},
        {"milli cores can", WL("", "", ADMITTED("3", "300m")), NULL, ""},
        {"more back than there are",
         WL("", "", "\"reclaimablePods\":[{\"name\":\"main\",\"count\":4}]"), NULL,
         "Invalid status.reclaimablePods[main].count"},
        {"a check for nobody",
         WL("", "", "\"admissionChecks\":[{\"name\":\"c\",\"podSetUpdates\":[{\"name\":"
                    "\"x\"}]}]"),
         NULL, "NotSupported status.admissionChecks[0].podSetUpdates[0].name"},
        {"an empty gate", WL(GATED("a.b/c,,d.e/f"), "", ""), NULL,
         "Invalid metadata.annotations[kueue.x-k8s.io/admission-gated-by]"},
        {"a gate last and empty", WL(GATED("a.b/c,"), "", ""), NULL,
         "Invalid metadata.annotations[kueue.x-k8s.io/admission-gated-by]"},
        {"a gate twice", WL(GATED("a.b/c, a.b/c"), "", ""), NULL,
         "Invalid metadata.annotations[kueue.x-k8s.io/admission-gated-by]"},
        {"a gate taken away", WL(GATED("a.b/c"), "", ""), WL(GATED("x.y/z,a.b/c"), "", ""),
         ""},
        {"a gate added", WL(GATED("a.b/c,x.y/z"), "", ""), WL(GATED("a.b/c"), "", ""),
         "Forbidden metadata.annotations[kueue.x-k8s.io/admission-gated-by]"},
        {"pods changed while reserved", WL("", ",\"minCount\":1", ADMITTED("3", "3")),
         WL("", "", ADMITTED("3", "3")), "Invalid spec.podSets.0"},
        {"another admission", WL("", "", ADMITTED("3", "6")), WL("", "", ADMITTED("3", "3")),
         "Invalid status.admission"},
        {"less back than before",
         WL("", "", ADMITTED("3", "3") ",\"reclaimablePods\":[{\"name\":\"main\",\"count\":1}]"),
         WL("", "", ADMITTED("3", "3") ",\"reclaimablePods\":[{\"name\":\"main\",\"count\":2}]"),
         "Invalid status.reclaimablePods[main].count"},
        {"a cluster nobody named", WL("", "", "\"clusterName\":\"c\""),
         WL("", "", "\"nominatedClusterNames\":[\"d\"]"), "Invalid status.clusterName"},
    };
    /* clang-format on */

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct field_errors e = field_errors_in(&a);
        const struct json *workload = json_parse(&a, str_from(cases[i].workload), NULL, NULL);
        const struct json *old =
            cases[i].old ? json_parse(&a, str_from(cases[i].old), NULL, NULL) : NULL;
        test_case(cases[i].name);
        kueue_check_workload(&e, KUEUE_CHECK_DEFAULT, workload, old, true);
        check_samez(refused_text(&a, &e), cases[i].want);
    }
}

/* Nodes that are those of the old Workload passed before: what stands in them alone is not
 * looked at again, what also depends on something else is. */
TEST(kueue_check_workload_once)
{
    static const char *const wrong =
        WL("",
           ",\"minCount\":1,\"template\":{\"spec\":{\"resources\":{\"requests\":{\"cpu\":"
           "-1}}}}",
           "\"conditions\":[{\"type\":\"A\"},{\"type\":\"A\"}]");
    static const char *const sets = "Invalid spec.podSets[0].template.spec.resources.requests"
                                    "[cpu]",
                             *const conditions = "Duplicate status.conditions[1]";
    static const struct {
        const char *name, *path[3];
        bool is_known, is_copy;
        bool has_sets, has_conditions, has_elastic;
    } cases[] = {
        {"nothing is new",            {"metadata", "x"},            true,  false, false, false, false},
        {"but not known to be right", {"metadata", "x"},            false, false, true,  true,  false},
        {"all is made anew",          {"metadata", "x"},            true,  true,  true,  true,  false},
        {"more in the status",        {"status", "x"},              true,  false, false, false, false},
        {"it becomes elastic",
         {"metadata", "annotations", "kueue.x-k8s.io/elastic-job"},
         true,                                                             false,
         false,                                                                          false,
         true                                                                                        },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct field_errors e = field_errors_in(&a);
        const struct json *old = json_parse(&a, str_from(wrong), NULL, NULL);
        const struct json *now = json_with(&a, old, json_of_z("true"), cases[i].path[0],
                                           cases[i].path[1], cases[i].path[2], NULL);
        test_case(cases[i].name);
        if (cases[i].is_copy)
            now = json_copy(&a, now);
        kueue_check_workload(&e, KUEUE_CHECK_DEFAULT, now, old, cases[i].is_known);
        struct str got = refused_text(&a, &e);
        check(str_has(got, str_from(sets)) == cases[i].has_sets);
        check(str_has(got, str_from(conditions)) == cases[i].has_conditions);
        check((str_has(got, S("Invalid spec.podSets,")) || str_ends(got, S("spec.podSets"))) ==
              cases[i].has_elastic);
    }
}

#define QUEUE "\"kueue.x-k8s.io/"

/* Members of labels, annotations, spec and the template's annotations, parted by '|'. */
static const struct json *job_of(struct arena *a, const char *parts)
{
    struct str part[4], rest = str_from(parts);

    for (int i = 0; i < 4; i++)
        str_cut(rest, '|', &part[i], &rest);
    struct str text =
        str_printf(a,
                   "{\"metadata\":{\"labels\":{%.*s},\"annotations\":{%.*s}},\"spec\":{%.*s%s"
                   "\"template\":{\"metadata\":{\"annotations\":{%.*s}}}}}",
                   STR_ARG(part[0]), STR_ARG(part[1]), STR_ARG(part[2]), part[2].len ? "," : "",
                   STR_ARG(part[3]));
    return json_parse(a, text, NULL, NULL);
}

TEST(kueue_check_job)
{
    static const struct {
        const char *name, *job, *old, *want;
        /* clang-format off */
    } cases[] = {
        {"a plain Job", "", NULL, ""},
        {"a bad queue", QUEUE "queue-name\":\"a b\"", NULL,
         "Invalid metadata.labels[kueue.x-k8s.io/queue-name]"},
        {"time that is none", QUEUE "max-exec-time-seconds\":\"0\"", NULL,
         "Invalid metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]"},
        {"as many as there are is not partial", "|" QUEUE "job-min-parallelism\":\"3\"|\"parallelism\":3",
         NULL, "Invalid metadata.annotations[kueue.x-k8s.io/job-min-parallelism]"},
        {"partial", "|" QUEUE "job-min-parallelism\":\"2\"|\"parallelism\":3", NULL, ""},
        {"the queue of a running Job", QUEUE "queue-name\":\"b\"", QUEUE "queue-name\":\"a\"",
         "Invalid metadata.labels[kueue.x-k8s.io/queue-name]"},
        {"the queue of a suspended Job", QUEUE "queue-name\":\"b\"||\"suspend\":true",
         QUEUE "queue-name\":\"a\"", ""},
        {"suspended on the way to a stop is not",
         QUEUE "queue-name\":\"b\"|" QUEUE "stopping\":\"true\"|\"suspend\":true",
         QUEUE "queue-name\":\"a\"", "Invalid metadata.labels[kueue.x-k8s.io/queue-name]"},
        {"a class that goes", "", QUEUE "priority-class\":\"p\"",
         "Invalid metadata.labels[kueue.x-k8s.io/priority-class]"},
        {"two topologies",
         "|||" QUEUE "podset-required-topology\":\"a\"," QUEUE "podset-preferred-topology\":\"b\"",
         NULL, "Invalid spec.template.metadata.annotations"},
        {"a slice without a size", "|||" QUEUE "podset-slice-required-topology\":\"a\"", NULL,
         "Required spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-size]"},
        {"layers that do not divide",
         "|||" QUEUE "podset-slice-required-topology-constraints\":"
         "\"[{\\\"topology\\\":\\\"a\\\",\\\"size\\\":5},{\\\"topology\\\":\\\"b\\\",\\\"size\\\":2}]\"",
         NULL, "Invalid spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-required-"
               "topology-constraints][1].size"},
    };
    /* clang-format on */

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].name);
        kueue_check_job(&e, KUEUE_CHECK_DEFAULT, job_of(&a, cases[i].job),
                        cases[i].old ? job_of(&a, cases[i].old) : NULL, false);
        check_samez(refused_text(&a, &e), cases[i].want);
    }
}

TEST(kueue_check_pod_shape)
{
    static const struct {
        const char *name, *spec, *old, *want;
    } cases[] = {
        {"another image",        "{\"containers\":[{\"image\":\"b\"}]}",
         "{\"containers\":[{\"image\":\"a\"}]}",                                                                                          ""                                             },
        {"other requests",       "{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}",
         "{\"containers\":[{}]}",                                                                                                         "Invalid spec.containers[0].resources.requests"},
        {"one more",             "{\"containers\":[{},{}]}",                                          "{\"containers\":[{}]}",
         "Invalid spec.containers"                                                                                                                                                       },
        {"a selector that goes", "{}",                                                                "{\"nodeSelector\":{\"a\":\"b\"}}",
         "Invalid spec.nodeSelector"                                                                                                                                                     },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct field_errors e = field_errors_in(&a);
        struct field_path at = field_child(NULL, S("spec"));
        test_case(cases[i].name);
        kueue_check_pod_shape(&e, &at, json_parse(&a, str_from(cases[i].spec), NULL, NULL),
                              json_parse(&a, str_from(cases[i].old), NULL, NULL));
        check_samez(refused_text(&a, &e), cases[i].want);
    }
}

/* By the table: once, and only about what the schema lets pass. */
TEST(kueue_check_by_table)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct field_errors e = field_errors_in(&a);
    const struct kind *k = kind_of(S("kueue.x-k8s.io/v1beta2"), S("ClusterQueue"));
    const struct json *v =
        json_parse(&a, S("{\"spec\":{\"fairSharing\":{\"weight\":\"-1\"}}}"), NULL, NULL);

    kind_validate(&e, k, v, NULL);
    check_samez(refused_text(&a, &e), "Invalid spec.fairSharing");
    e = field_errors_in(&a);
    v = json_with(&a, v, json_of_z("Odd"), "spec", "stopPolicy", NULL);
    kind_validate(&e, k, v, NULL);
    check_samez(refused_text(&a, &e), "NotSupported spec.stopPolicy");
}
