/* prepare.c - what strategies add */
#include "api/find.h"
#include "api/rules.h"
#include "base/testing.h"
#include "value/time.h"

TEST(prepare)
{
    static const struct {
        const char *name, *api_version, *kind, *given, *old, *want;
    } cases[] = {
        {"a namespace is emptied first",  "v1",                      "Namespace",       "{\"spec\":{}}",                         NULL,
         "{\"spec\":{\"finalizers\":[\"kubernetes\"]}}"                   },
        {"beside others",                 "v1",                      "Namespace",       "{\"spec\":{\"finalizers\":[\"x/y\"]}}", NULL,
         "{\"spec\":{\"finalizers\":[\"x/y\",\"kubernetes\"]}}"           },
        {"not again once it is emptied",  "v1",                      "Namespace",       "{\"spec\":{}}",                         "{\"spec\":{}}",
         "{\"spec\":{}}"                                                  },
        {"a device's taint",              "resource.k8s.io/v1",      "ResourceSlice",
         "{\"spec\":{\"devices\":[{\"name\":\"d\",\"taints\":[{\"key\":\"k\"}]}]}}",                                             NULL,
         "{\"spec\":{\"devices\":[{\"name\":\"d\",\"taints\":[{\"key\":\"k\",\"timeAdded\":"
         "\"2030-01-01T00:00:00Z\"}]}]}}"                                 },
        {"the same in v1beta1",           "resource.k8s.io/v1beta1", "ResourceSlice",
         "{\"spec\":{\"devices\":[{\"basic\":{\"taints\":[{\"key\":\"k\"}]}}]}}",                                                NULL,
         "{\"spec\":{\"devices\":[{\"basic\":{\"taints\":[{\"key\":\"k\",\"timeAdded\":"
         "\"2030-01-01T00:00:00Z\"}]}}]}}"                                },
        {"a rule's taint keeps its time", "resource.k8s.io/v1",      "DeviceTaintRule",
         "{\"spec\":{\"taint\":{\"timeAdded\":\"2029-01-01T00:00:00Z\"}}}",                                                      NULL,
         "{\"spec\":{\"taint\":{\"timeAdded\":\"2029-01-01T00:00:00Z\"}}}"},
    };
    struct instant now;

    time_parse(S("2030-01-01T00:00:00.5Z"), &now, NULL);
    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct api_prepare p = {
            .arena = &a,
            .kind = kind_of(str_from(cases[i].api_version), str_from(cases[i].kind)),
            .old = cases[i].old ? json_parse(&a, str_from(cases[i].old), NULL, NULL) : NULL,
            .now = now,
        };
        test_case(cases[i].name);
        const struct json *v = json_parse(&a, str_from(cases[i].given), NULL, NULL);
        check_samez(json_text(&a, api_prepare(&p, v)), cases[i].want);
    }
}
