/* requests.c - pods and Workloads as numbers */
#include "api/priority.h"
#include "api/workload_requests.h"
#include "base/testing.h"

/* JSON with ' for ". */
static const struct json *tree(struct arena *a, const char *text)
{
    char *at = str_z(a, str_from(text));

    for (char *p = at; *p; p++)
        if (*p == '\'')
            *p = '"';
    return json_parse(a, str_from(at), NULL, NULL);
}

/* "cpu=500m memory=1Gi", sorted by name. */
static struct str text_of(struct arena *a, struct resource_list l)
{
    struct buf b = buf_in(a, 64);

    resource_list_sort(&l);
    for (size_t i = 0; i < l.len; i++) {
        buf_printf(&b, "%s%.*s=", i ? " " : "", STR_ARG(l.at[i].name));
        quantity_write_canonical(&b, &l.at[i].q);
    }
    return buf_str(&b);
}

TEST(pod_spec_requests)
{
    static const struct {
        const char *name, *spec, *want;
    } cases[] = {
        {"nothing",                                "{}",                                      ""                    },
        {"containers run together",
         "{'containers':[{'resources':{'requests':{'cpu':'1'}}},"
         "{'resources':{'requests':{'cpu':'500m','memory':'1Gi'}}}]}",                        "cpu=1500m memory=1Gi"},
        {"init containers run before",
         "{'initContainers':[{'resources':{'requests':{'cpu':'3'}}}],"
         "'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",                            "cpu=3"               },
        {"sidecars run beside",
         "{'initContainers':[{'restartPolicy':'Always','resources':{'requests':{'cpu':'2'}}},"
         "{'resources':{'requests':{'cpu':'2'}}}],"
         "'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",                            "cpu=4"               },
        {"several sidecars add up",
         "{'initContainers':[{'restartPolicy':'Always','resources':{'requests':{'cpu':'1'}}},"
         "{'restartPolicy':'Always','resources':{'requests':{'cpu':'1'}}},"
         "{'resources':{'requests':{'cpu':'2'}}}],"
         "'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",                            "cpu=4"               },
        {"the pod's own requests replace the sum",
         "{'resources':{'requests':{'cpu':'5'}},"
         "'containers':[{'resources':{'requests':{'cpu':'1','memory':'1Gi'}}}]}",             "cpu=5 memory=1Gi"    },
        {"overhead comes on top",
         "{'overhead':{'cpu':'100m'},'containers':[{'resources':{'requests':{'cpu':'1'}}}]}", "cpu=1100m"           },
        {"numbers count as quantities",
         "{'containers':[{'resources':{'requests':{'cpu':2,'x':'bad'}}}]}",                   "cpu=2"               },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(text_of(&a, pod_spec_requests(&a, tree(&a, cases[i].spec))), cases[i].want);
    }
}

TEST(pod_requests_rules)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *ranges[] = {
        tree(&a, "{'metadata':{'namespace':'n'},'spec':{'limits':[{'type':'Container',"
                 "'default':{'cpu':'4'},'defaultRequest':{'memory':'1Gi'}}]}}"),
        tree(&a, "{'metadata':{'namespace':'other'},'spec':{'limits':[{'type':'Container',"
                 "'defaultRequest':{'memory':'9Gi'}}]}}"),
    };
    const struct json *classes[] = {
        tree(&a, "{'metadata':{'name':'vm'},'overhead':{'podFixed':{'cpu':'1'}}}")};
    struct str prefixes[] = {S("net.example.com/")};
    struct pod_transform transforms[] = {
        {S("gpumem"), S("gpu"), true,  resource_list_of(&a, tree(&a, "{'total':'2'}")) },
        {S("gpu"),    S(""),    false, resource_list_of(&a, tree(&a, "{'total':'-1'}"))},
    };
    struct pod_rules rules = {
        .limit_ranges = ranges,
        .n_limit_ranges = 2,
        .runtime_classes = classes,
        .n_runtime_classes = 1,
        .exclude_prefixes = {prefixes, 1},
        .transforms = transforms,
        .n_transforms = 2
    };
    const struct json *spec =
        tree(&a, "{'runtimeClassName':'vm','containers':[{'resources':{'requests':{'gpu':'2',"
                 "'gpumem':'10','net.example.com/x':'1'}}}]}");
    const struct json *plain = tree(&a, "{'containers':[{'resources':{'requests':{'cpu':'1'},"
                                        "'limits':{'cpu':'1'}}}]}");

    check_samez(text_of(&a, pod_requests(&a, spec, &rules, S("n"))),
                "cpu=5 gpu=2 memory=1Gi total=38");
    struct pod_transform less = {S("x"), S(""), false,
                                 resource_list_of(&a, tree(&a, "{'x':-1}"))};
    struct resource_list five = resource_list_of(&a, tree(&a, "{'x':5}"));
    struct pod_rules debt = {.transforms = &less, .n_transforms = 1};
    check_samez(text_of(&a, pod_requests_transform(&a, &five, &debt)), "x=5");
    struct pod_rules none = {0};
    check_samez(text_of(&a, pod_requests(&a, plain, &none, S("n"))), "cpu=1");
}

TEST(pod_spec_checks)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *spec =
        tree(&a, "{'containers':[{'resources':{'requests':{'cpu':'3','memory':'1Gi'},"
                 "'limits':{'cpu':'2'}}}]}");
    const struct json *range =
        tree(&a, "{'spec':{'limits':[{'type':'Container','max':{'cpu':'2'},"
                 "'min':{'memory':'2Gi'}},{'type':'Pod','max':{'memory':'512Mi'}}]}}");
    struct limit_summary s = limit_summary_of(&a, &range, 1, S(""));
    struct field_errors e = field_errors_in(&a);
    struct field_path at = field_child(NULL, S("spec"));

    pod_spec_check_limits(&e, &at, spec);
    check_samez(field_errors_text(&a, &e), "spec.containers[0]: Invalid value: [\"cpu\"]: "
                                           "requests must not exceed its limits");
    e = field_errors_in(&a);
    pod_spec_check_bounds(&e, &at, spec, &s);
    check_int(e.list.len, 3);
    check_samez(e.list.at[0].detail, "requests must not be above the limitRange max");
    check_samez(e.list.at[1].detail, "requests must not be below the limitRange min");
    check_samez(e.list.at[2].path, "spec");
}

TEST(resource_numbers)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct resource_list have = resource_list_of(&a, tree(&a, "{'memory':'10Gi','cpu':'4'}"));
    struct resource_list want =
        resource_list_of(&a, tree(&a, "{'cpu':'1500m','memory':'1Gi'}"));
    struct resource_numbers x = resource_numbers_of(&a, &have);
    struct resource_numbers y = resource_numbers_of(&a, &want);
    struct str limiting;

    check_samez(x.at[0].name, "cpu");
    check_int(resource_numbers_get(&x, S("cpu"), NULL), 4000);
    check_int(resource_numbers_fit(&x, &y, &limiting), 2);
    check_samez(limiting, "cpu");
    struct resource_numbers left = resource_numbers_add(&a, &x, &y, -2);
    check_int(resource_numbers_get(&left, S("cpu"), NULL), 1000);
    check_int(resource_numbers_get(&left, S("memory"), NULL), INT64_C(8) << 30);
    check_samez(resource_units_text(&a, S("cpu"), 1500), "1500m");
    check_samez(resource_units_text(&a, S("cpu"), 2000), "2");
    check_samez(resource_units_text(&a, S("memory"), INT64_C(3) << 30), "3Gi");
    check_samez(resource_units_text(&a, S("memory"), 1000), "1k");
    check_samez(resource_units_text(&a, S("gpu"), 8), "8");
    check_int(sat_mul(INT64_MAX, -2), INT64_MIN);
    check_int(sat_add(INT64_MAX, 1), INT64_MAX);
    check_int(sat_sub(0, INT64_MIN), INT64_MAX);
}

/* What random assignments must hold: every form reads back as what was written. */
TEST(topology_round_trip)
{
    struct str level = S(TOPOLOGY_HOSTNAME);
    uint64_t seed = 7;

    for (int round = 0; round < 300; round++) {
        scoped(arena_fini) struct arena a = arena_sized(1 << 14);
        size_t n = 1 + seed % 12;
        struct topology_domain *d = arena_array(&a, struct topology_domain, n);
        struct topology_assignment in =
                                       {
                                           {arena_copy(&a, &level), 1},
                                           d, n
        },
                                   out;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            struct str *v = arena_new(&a, struct str);
            *v = str_printf(&a, "n%u-pool-%u%s", (unsigned)(seed >> 60 & 3),
                            (unsigned)(seed >> 40 & 31), seed >> 33 & 1 ? ".local" : "");
            d[i] = (struct topology_domain){v, (int64_t)(seed >> 50 & 3) + 1};
        }
        for (int form = TOPOLOGY_ONE_SLICE; form <= TOPOLOGY_SHORTER; form++) {
            struct json stored = topology_encode(&a, &in, (enum topology_form)form);
            check_int(topology_decode(&a, &stored, &out, NULL), 0);
            check_int(out.len, n);
            check_int(topology_domain_count(&stored), (int64_t)n);
            for (size_t i = 0; i < n && i < out.len; i++) {
                check_same(out.at[i].values[0], d[i].values[0]);
                check_int(out.at[i].count, d[i].count);
                check(topology_has_node(&a, &stored, d[i].values[0]));
            }
            check(!topology_has_node(&a, &stored, S("nobody")));
        }
    }
}

TEST(topology_overlap)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct str level = S("a"), values[] = {S("aba"), S("ababa")};
    struct topology_domain d[] = {
        {&values[0], 1},
        {&values[1], 1}
    };
    struct topology_assignment t = {
        {&level, 1},
        d, 2
    };
    struct json stored = topology_encode(&a, &t, TOPOLOGY_SHORTER);

    check_samez(json_text(&a, &stored),
                "{\"levels\":[\"a\"],\"slices\":[{\"domainCount\":2,\"podCounts\":{"
                "\"universal\":1},\"valuesPerLevel\":[{\"individual\":{\"roots\":[\"\",\"ab\"],"
                "\"suffix\":\"aba\"}}]}]}");
}

TEST(topology_limits)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct topology_assignment t;
    struct err err = {0};

    check_int(topology_decode(&a,
                              tree(&a, "{'levels':['a'],'slices':[{'domainCount':2000000}]}"),
                              &t, &err),
              -1);
    check_err(&err, ERR_LIMIT, "over the limit");
    check_int(topology_decode(&a, tree(&a, "{'levels':['a'],'slices':[{'domainCount':-5}]}"),
                              &t, &err),
              0);
    check_int(t.len, 0);
}

TEST(workload_record)
{
    static const struct {
        const char *name, *status, *want; /* count and cpu */
    } cases[] = {
        {"waiting",                  "{}",                                           "5 5000"},
        {"with reclaimable pods",    "{'reclaimablePods':[{'name':'m','count':2}]}", "3 3000"},
        {"admitted in part",
         "{'admission':{'podSetAssignments':[{'name':'m','count':3,'resourceUsage':{'cpu':'6'}}"
         "]}}",                                                                      "3 6000"},
        {"admitted and partly done",
         "{'reclaimablePods':[{'name':'m','count':4}],'admission':{'podSetAssignments':"
         "[{'name':'m','count':3,'resourceUsage':{'cpu':'6'}}]}}",                   "1 2000"},
        {"a podset that is gone",
         "{'admission':{'podSetAssignments':[{'name':'x','count':3,'resourceUsage':{'cpu':'6'}}"
         "]}}",                                                                      "0 0"   },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct pod_rules rules = {0};
    const struct json *workload =
        tree(&a, "{'spec':{'podSets':[{'name':'m','count':5,'template':{'spec':{'containers':"
                 "[{'resources':{'requests':{'cpu':'1'}}}]}}}]}}");

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        const struct json *wl =
            json_with(&a, workload, *tree(&a, cases[i].status), "status", NULL);
        struct workload_record r = workload_record_of(&a, wl, &rules, NULL, 0);
        check_int(r.len, 1);
        check_samez(str_printf(&a, "%" PRId64 " %" PRId64, r.at[0].count,
                               resource_numbers_get(&r.at[0].requests, S("cpu"), NULL)),
                    cases[i].want);
    }
}

TEST(priority)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *classes[] = {
        tree(&a, "{'metadata':{'name':'a'},'value':10,'globalDefault':true}"),
        tree(&a, "{'metadata':{'name':'b'},'value':5,'globalDefault':true}"),
    };
    struct priority_source p;
    struct err err = {0};
    int64_t boost;

    check_int(priority_of_class(classes, 2, S("a"), &p, &err), 0);
    check_int(p.value, 10);
    check_int(priority_of_class(classes, 2, S(""), &p, &err), 0);
    check_samez(p.name, "b"); /* the lowest of several defaults */
    check_int(priority_of_class(classes, 0, S(""), &p, &err), 0);
    check_int(p.value, 0);
    check_int(priority_of_class(classes, 2, S("x"), &p, &err), -1);
    check_err(&err, ERR_NOT_FOUND, "\"x\" not found");
    check_int(priority_boost(tree(&a, "{'kueue.x-k8s.io/priority-boost':'9999999999'}"), &boost,
                             &err),
              -1);
    check_int(boost, 0);
}
