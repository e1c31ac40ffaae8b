/* pod_source.c - what containers are told */
#include "base/testing.h"

#include "api/core_v1.h"
#include "node/node_priv.h"
#include "node/pod_source.h"
#include "schema/codec.h"
#include "json/json.h"

TEST(env_expand)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"nothing to do",        "abc",         "abc"        },
        {"a variable",           "x $(A) y",    "x 1 y"      },
        {"two",                  "$(A)$(B)",    "12"         },
        {"the empty one",        "[$(E)]",      "[]"         },
        {"an unknown one stays", "$(X)",        "$(X)"       },
        {"an escaped one stays", "$$(A)",       "$(A)"       },
        {"a doubled dollar",     "$$A",         "$A"         },
        {"three of them",        "$$$(A)",      "$1"         },
        {"not closed",           "$(A",         "$(A"        },
        {"a dollar at the end",  "a$",          "a$"         },
        {"no shell",             "$A ${A} `A`", "$A ${A} `A`"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        struct env e = {.arena = &a};
        test_case(cases[i].name);
        env_set(&e, S("A"), S("0"));
        env_set(&e, S("B"), S("2"));
        env_set(&e, S("A"), S("1"));
        env_set(&e, S("E"), S(""));
        check_samez(env_expand(&e, str_from(cases[i].text)), cases[i].want);
    }
}

static const struct pod *pod_of(struct arena *a, const char *spec)
{
    struct str text = str_printf(a,
                                 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":"
                                 "\"u\",\"labels\":{\"b\":\"2\","
                                 "\"a\":\"x\\\"y\"},\"annotations\":{\"n\":\"note\"}},\"spec\":"
                                 "{\"nodeName\":\"node\",%s}}",
                                 spec);
    struct err err = {0};
    const struct json *v = json_parse(a, text, NULL, &err);

    if (!v) {
        fprintf(stderr, "%s\n%.*s\n", err.text, STR_ARG(text));
        abort();
    }
    return schema_decode(a, &schema_pod, v);
}

static struct pod_facts facts_of(const struct pod *pod)
{
    static struct str_entry data[] = {
        {S_INIT("k"), S_INIT("v")},
        {S_INIT("l"), S_INIT("w")}
    };
    static struct str_entry binary[] = {
        {S_INIT("bin"), S_INIT("\1\2")}
    };
    static const struct pod_source sources[] = {
        {SOURCE_CONFIG_MAP, S_INIT("cm"), false, {data, 2}, {binary, 1}},
        {SOURCE_SECRET,     S_INIT("se"), false, {data, 1}, {NULL, 0}  },
        {SOURCE_SECRET,     S_INIT("no"), true,  {NULL, 0}, {NULL, 0}  },
    };

    return (struct pod_facts){.pod = pod,
                              .sources = sources,
                              .n_sources = countof(sources),
                              .host_ip = S("10.1.1.1"),
                              .node_cpu_millis = 8000,
                              .node_memory = 1 << 30};
}

TEST(env_of_container)
{
    static const struct {
        const char *name, *container, *want;
    } cases[] = {
        {"plain",                                             "\"env\":[{\"name\":\"A\",\"value\":\"1\"}]",      "A=1 "                                         },
        {"later ones win, in the first's place",
         "\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"2\"},{\"name\":"
         "\"A\","
         "\"value\":\"3\"}]",                                                                                    "A=3 B=2 "                                     },
        {"all of a ConfigMap, with a prefix; no binary data",
         "\"envFrom\":[{\"prefix\":\"P_\",\"configMapRef\":{\"name\":\"cm\"}}]",                                 "P_k=v P_l=w "                                 },
        {"env over envFrom",
         "\"envFrom\":[{\"secretRef\":{\"name\":\"se\"}}],\"env\":[{\"name\":\"k\",\"value\":"
         "\"[$(k)]\"}]",                                                                                         "k=[v] "                                       },
        {"a missing source",                                  "\"envFrom\":[{\"secretRef\":{\"name\":\"no\"}}]",
         "secret \"no\" not found"                                                                                                                              },
        {"that may be missing",
         "\"envFrom\":[{\"secretRef\":{\"name\":\"no\",\"optional\":true}}]",                                    ""                                             },
        {"a missing key that may be",
         "\"env\":[{\"name\":\"A\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"cm\",\"key\":"
         "\"z\","
         "\"optional\":true}}}]",                                                                                ""                                             },
        {"a missing key that may not be",
         "\"env\":[{\"name\":\"A\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"cm\",\"key\":"
         "\"z\"}}}]",                                                                                            "couldn't find key z in ConfigMap ns/cm"       },
        {"a label",
         "\"env\":[{\"name\":\"A\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata."
         "labels['b']\"}}}]",                                                                                    "A=2 "                                         },
        {"the node",
         "\"env\":[{\"name\":\"A\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec."
         "nodeName\"}}}]",                                                                                       "A=node "                                      },
        {"an unknown field",
         "\"env\":[{\"name\":\"A\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.x\"}}}]",                   "field 'spec.x' of a pod cannot be referred to"},
        {"a limit, rounded up",
         "\"resources\":{\"limits\":{\"cpu\":\"1500m\"}},\"env\":[{\"name\":\"A\","
         "\"valueFrom\":"
         "{\"resourceFieldRef\":{\"resource\":\"limits.cpu\"}}}]",                                               "A=2 "                                         },
        {"in other units",
         "\"resources\":{\"limits\":{\"memory\":\"10Mi\"}},\"env\":[{\"name\":\"A\","
         "\"valueFrom\":"
         "{\"resourceFieldRef\":{\"resource\":\"limits.memory\",\"divisor\":\"1Mi\"}}}]",                        "A=10 "                                        },
        {"without a limit, what the node has",
         "\"env\":[{\"name\":\"A\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits."
         "cpu\"}}}]",                                                                                            "A=8 "                                         },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        const struct pod *pod = pod_of(
            &a,
            str_printf(&a, "\"containers\":[{\"name\":\"c\",%s}]%c", cases[i].container, 0).at);
        struct pod_facts f = facts_of(pod);
        struct env e = {.arena = &a};
        struct err err = {0};
        struct buf out = buf_in(&a, 64);
        test_case(cases[i].name);
        if (env_of_container(&e, &f, &pod->spec->containers.at[0], &err) < 0)
            buf_add(&out, err_str(&err));
        const struct str *strings = env_strings(&e);
        for (size_t k = 0; !err.code && k < e.vars.len; k++)
            buf_printf(&out, "%.*s ", STR_ARG(strings[k]));
        check_samez(buf_str(&out), cases[i].want);
    }
}

TEST(volume_files)
{
    static const struct {
        const char *name, *volume, *want;
    } cases[] = {
        {"all keys of a ConfigMap",           "\"configMap\":{\"name\":\"cm\"}",
         "k:644=v l:644=w bin:644=\1\2 "                                                                                                  },
        {"some, under other names and modes",
         "\"configMap\":{\"name\":\"cm\",\"defaultMode\":256,\"items\":[{\"key\":\"k\","
         "\"path\":\"d/f\"},"
         "{\"key\":\"l\",\"path\":\"g\",\"mode\":448}]}",                                             "d/f:400=v g:700=w "                },
        {"a Secret",                          "\"secret\":{\"secretName\":\"se\"}",                   "k:644=v "                          },
        {"one that is missing",               "\"secret\":{\"secretName\":\"no\"}",
         "secret \"no\" not found"                                                                                                        },
        {"and may be",                        "\"secret\":{\"secretName\":\"no\",\"optional\":true}", ""                                  },
        {"no way out",
         "\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"k\",\"path\":\"a/../../f\"}]}",        "path 'a/../../f' leaves the volume"},
        {"no absolute path",
         "\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"k\",\"path\":\"/etc/f\"}]}",           "path '/etc/f' leaves the volume"   },
        {"fields",
         "\"downwardAPI\":{\"items\":[{\"path\":\"l\",\"fieldRef\":{\"fieldPath\":\"metadata."
         "labels\"}}]}",                                                                              "l:644=a=\"x\\\"y\"\nb=\"2\" "      },
        {"several in one",
         "\"projected\":{\"sources\":[{\"secret\":{\"name\":\"se\"}},{\"downwardAPI\":{"
         "\"items\":[{"
         "\"path\":\"n\",\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}]}}]}",                       "k:644=v n:644=p "                  },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        const struct pod *pod = pod_of(
            &a, str_printf(&a, "\"volumes\":[{\"name\":\"v\",%s}]%c", cases[i].volume, 0).at);
        struct pod_facts f = facts_of(pod);
        struct volume_files files;
        struct err err = {0};
        struct buf out = buf_in(&a, 64);
        test_case(cases[i].name);
        if (volume_files_of(&a, &f, &pod->spec->volumes.at[0], &files, &err) < 0)
            buf_add(&out, err_str(&err));
        for (size_t k = 0; !err.code && k < files.files.len; k++)
            buf_printf(&out, "%.*s:%o=%.*s ", STR_ARG(files.files.at[k].path),
                       (unsigned)files.files.at[k].mode, STR_ARG(files.files.at[k].bytes));
        check_samez(buf_str(&out), cases[i].want);
    }
}

TEST(pod_sources)
{
    scoped(arena_fini) struct arena a = {0};
    const struct pod *pod = pod_of(
        &a,
        "\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s1\"}},{\"name\":\"w\","
        "\"projected\":{\"sources\":[{\"configMap\":{\"name\":\"c1\"}},{\"secret\":{\"name\":"
        "\"s1\"}}]}},{\"name\":\"token\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
        "\"path\":\"t\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\"}}]}}],"
        "\"containers\":[{\"name\":\"c\",\"envFrom\":[{\"configMapRef\":{\"name\":\"c2\"}}]}]");
    struct pod_source *found;
    struct buf out = buf_in(&a, 64);

    size_t n = pod_sources(&a, pod, &found);
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%s %.*s; ", found[i].kind == SOURCE_SECRET ? "secret" : "configmap",
                   STR_ARG(found[i].name));
    test_case("each once; what only brings a token is left out");
    check_same(buf_str(&out), S("configmap c2; secret s1; configmap c1; "));
}

TEST(container_id)
{
    scoped(arena_fini) struct arena a = {0};
    struct str uid, name;
    int32_t attempt;

    check(node_container_id_parse(node_container_id(&a, S("u-1"), S("main"), 12), &uid, &name,
                                  &attempt));
    check_same(uid, S("u-1"));
    check_same(name, S("main"));
    check_int(attempt, 12);
    static const char *const bad[] = {"", "a", "a.b", "a.b.", "a.b.-1", "a.b.x"};
    for (size_t i = 0; i < countof(bad); i++) {
        test_case(bad[i]);
        check(!node_container_id_parse(str_from(bad[i]), &uid, &name, &attempt));
    }
}

TEST(checkpoint_parse)
{
    scoped(arena_fini) struct arena a = {0};
    struct str whole = checkpoint_text(&a, S("boot-1"));
    struct str newer_line = S("{\"version\":9,\"bootID\":\"b\"}");
    struct str more_line = S("{\"version\":1,\"new\":true,\"bootID\":\"b\"}");
    struct str torn = str_slice(whole, 0, whole.len - 2), none = {0};
    struct str changed =
        str_printf(&a, "{\"version\":2%.*s", (int)whole.len - 12, whole.at + 12);
    struct str more =
        str_printf(&a, "%.*s\nsum %016" PRIx64 "\n", STR_ARG(more_line), str_digest(more_line));
    struct str newer = str_printf(&a, "%.*s\nsum %016" PRIx64 "\n", STR_ARG(newer_line),
                                  str_digest(newer_line));
    const struct {
        const char *name;
        struct str bytes;
        const char *want;
        enum err_code code;
    } cases[] = {
        {"what was written",          whole,   "boot-1", ERR_OK         },
        {"nothing",                   none,    "",       ERR_OK         },
        {"a torn end",                torn,    "",       ERR_OK         },
        {"a changed byte",            changed, "",       ERR_OK         },
        {"a field that is new to us", more,    "b",      ERR_OK         },
        {"a newer version",           newer,   "",       ERR_UNSUPPORTED},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct str got;
        struct err err = {0};
        test_case(cases[i].name);
        checkpoint_parse(cases[i].bytes, &got, &err);
        check_int(err.code, cases[i].code);
        check_samez(got, cases[i].want);
    }
}
