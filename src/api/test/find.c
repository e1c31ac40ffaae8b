/* find.c - built-in kinds by name */
#include "api/find.h"

#include "base/testing.h"

TEST(kind_find)
{
    static const struct {
        const char *api_version, *kind, *plural;
    } cases[] = {
        {"v1",                                "Pod",           "pods"           },
        {"v1",                                "Binding",       "bindings"       },
        {"batch/v1",                          "Job",           "jobs"           },
        {"batch/v1",                          "CronJob",       "cronjobs"       },
        {"events.k8s.io/v1",                  "Event",         "events"         },
        {"rbac.authorization.k8s.io/v1",      "ClusterRole",   "clusterroles"   },
        {"kueue.x-k8s.io/v1beta2",            "Workload",      "workloads"      },
        {"resource.k8s.io/v1",                "ResourceClaim", "resourceclaims" },
        {"resource.k8s.io/v1alpha2",          "ResourceClass", "resourceclasses"},
        {"visibility.kueue.x-k8s.io/v1beta2", "LocalQueue",    "localqueues"    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].kind);
        const struct kind *k = kind_of(str_from(cases[i].api_version), str_from(cases[i].kind));
        if (!check(k))
            continue;
        check_samez(k->kind, cases[i].kind);
        check_samez(k->plural, cases[i].plural);
        check(kind_by_resource(k->group, k->version, k->plural) == k);
        check(kinds[k->id] == k);
    }
}

TEST(kind_find_all)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const struct kind *k = kinds[i];
        test_case(k->kind.at);
        check(kind_find(k->group, k->version, k->kind) == k);
        check(kind_by_resource(k->group, k->version, k->plural) == k);
    }
}

TEST(kind_find_none)
{
    check(!kind_of(S("v1"), S("Job")));
    check(!kind_of(S("batch/v1"), S("job")));
    check(!kind_of(S("batch/v1/x"), S("Job")));
    check(!kind_of(S(""), S("")));
    check(!kind_by_resource(S("batch"), S("v1"), S("pods")));
}
