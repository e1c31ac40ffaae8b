/* access.c - RBAC and the node authorizer */
#include "api/node_authorizer.h"
#include "api/rbac.h"
#include "base/testing.h"

/* JSON with ' for ". */
static const struct json *tree(struct arena *a, const char *text)
{
    struct str s = str_copy(a, str_from(text));
    char *at = str_z(a, s);

    for (char *p = at; *p; p++)
        if (*p == '\'')
            *p = '"';
    return json_parse(a, str_from(at), NULL, NULL);
}

/* "USER GROUP VERB RESOURCE[/SUB] NS NAME", '-' for nothing; a resource that begins with '/' is
 * a path. */
static struct access ask(struct arena *a, const char *text)
{
    struct str part[6], rest = str_from(text);
    struct access x = {.is_resource = true};

    for (int i = 0; i < 6; i++) {
        str_cut(rest, ' ', &part[i], &rest);
        if (str_eq(part[i], S("-")))
            part[i] = S("");
    }
    x.user.name = part[0];
    x.user.groups = (struct str_list){arena_copy(a, &part[1]), 1};
    x.verb = part[2];
    if (str_starts(part[3], S("/"))) {
        x.is_resource = false;
        x.path = part[3];
    } else {
        str_cut(part[3], '/', &x.resource, &x.subresource);
    }
    x.ns = part[4];
    x.name = part[5];
    return x;
}

TEST(rbac_allows)
{
    static const struct {
        const char *name, *ask;
        bool want;
    } cases[] = {
        {"by a role in its namespace",        "joe dev get pods a p",                          true },
        {"not in another one",                "joe dev get pods b p",                          false},
        {"a subresource is another resource", "joe dev get pods/log a p",                      false},
        {"every status",                      "ann ops get pods/status a p",                   true },
        {"every status is not the thing",     "ann ops get pods a p",                          false},
        {"a named one",                       "joe dev update configmaps a c1",                true },
        {"not one with another name",         "joe dev update configmaps a c2",                false},
        {"nor a list of all",                 "joe dev list configmaps a -",                   false},
        {"a group's binding everywhere",      "bob admins delete nodes - n",                   true },
        {"a service account",                 "system:serviceaccount:a:robot x list pods a -", true },
        {"a path",                            "bob admins get /metrics/x - -",                 true },
        {"a path by a role is nothing",       "joe dev get /metrics - -",                      false},
        {"nobody",                            "eve x get pods a p",                            false},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct rbac *r = rbac_new();
    struct str reason = {0};

    rbac_put_role(
        r, S("a"), S("reader"),
        tree(&a, "{'rules':[{'verbs':['get','list'],'apiGroups':[''],'resources':['pods'],"
                 "'nonResourceURLs':['/metrics']},{'verbs':['update','list'],'apiGroups':[''],"
                 "'resources':['configmaps'],'resourceNames':['c1']}]}"));
    rbac_put_role(
        r, S(""), S("statuses"),
        tree(&a, "{'rules':[{'verbs':['*'],'apiGroups':['*'],'resources':['*/status']}]}"));
    rbac_put_role(r, S(""), S("all"),
                  tree(&a, "{'rules':[{'verbs':['*'],'apiGroups':['*'],'resources':['*']},"
                           "{'verbs':['get'],'nonResourceURLs':['/metrics*']}]}"));
    rbac_put_binding(r, S("a"), S("readers"),
                     tree(&a,
                          "{'subjects':[{'kind':'User','name':'joe'},{'kind':'ServiceAccount',"
                          "'name':'robot'}],'roleRef':{'kind':'Role','name':'reader'}}"));
    rbac_put_binding(
        r, S("a"), S("ops"),
        tree(&a, "{'subjects':[{'kind':'Group','name':'ops'}],'roleRef':{'kind':'ClusterRole',"
                 "'name':'statuses'}}"));
    rbac_put_binding(r, S(""), S("admins"),
                     tree(&a, "{'subjects':[{'kind':'Group','name':'admins'}],"
                              "'roleRef':{'kind':'ClusterRole','name':'all'}}"));
    for (size_t i = 0; i < countof(cases); i++) {
        struct access x = ask(&a, cases[i].ask);
        test_case(cases[i].name);
        check_int(rbac_allows(r, &a, &x, &reason), cases[i].want);
    }
    struct access x = ask(&a, "joe dev get pods a p");
    rbac_allows(r, &a, &x, &reason);
    check_samez(reason, "RBAC: allowed by RoleBinding \"readers/a\" of Role \"reader\" to User "
                        "\"joe\"");
    check_int(rbac_rules_for(r, &a, &x.user, S("a")).len, 2);
    check_int(rbac_rules_for(r, &a, &x.user, S("")).len, 0);

    rbac_put_role(r, S("a"), S("reader"), NULL);
    check(!rbac_allows(r, &a, &x, NULL));
    rbac_put_binding(r, S(""), S("admins"), NULL);
    x = ask(&a, "bob admins delete nodes - n");
    check(!rbac_allows(r, &a, &x, NULL));
    rbac_free(r);
}

TEST(rbac_covers)
{
    static const struct {
        const char *name, *owned, *wanted, *missing;
    } cases[] = {
        {"the same",                "[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]",
         "[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]",                                                                                                ""                                                            },
        {"two halves make it",
         "[{'verbs':['get'],'apiGroups':[''],'resources':['pods']},{'verbs':['list'],"
         "'apiGroups':['*'],'resources':['*']}]",                                                "[{'verbs':['get','list'],'apiGroups':[''],'resources':['pods']}]", ""                                                            },
        {"one verb too many",       "[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]",
         "[{'verbs':['get','delete'],'apiGroups':[''],'resources':['pods']}]",                                                                                       "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}"},
        {"a name is less than all",
         "[{'verbs':['get'],'apiGroups':[''],'resources':['pods'],"
         "'resourceNames':['p']}]",                                                              "[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]",
         "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}"                                                                                                                                                               },
        {"paths",                   "[{'verbs':['*'],'nonResourceURLs':['/a/*']}]",
         "[{'verbs':['get'],'nonResourceURLs':['/a/b','/c']}]",                                                                                                      "{NonResourceURLs:[\"/c\"], Verbs:[\"get\"]}"                 },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct str missing = {0};
        test_case(cases[i].name);
        bool covers = rbac_covers(&a, rbac_rules_of(&a, tree(&a, cases[i].owned)),
                                  rbac_rules_of(&a, tree(&a, cases[i].wanted)), &missing);
        check_int(covers, cases[i].missing[0] == 0);
        check_samez(missing, cases[i].missing);
    }
}

TEST(node_allows)
{
    static const struct {
        const char *name, *ask;
        bool want;
    } cases[] = {
        {"a secret of its pod",     "system:node:n1 system:nodes get secrets a s1",      true },
        {"in an env",               "system:node:n1 system:nodes get configmaps a c1",   true },
        {"of another node",         "system:node:n2 system:nodes get secrets a s1",      false},
        {"without its group",       "system:node:n1 other get secrets a s1",             false},
        {"not all of them",         "system:node:n1 system:nodes list secrets a -",      false},
        {"its own node",            "system:node:n1 system:nodes get nodes - n1",        true },
        {"not another node",        "system:node:n1 system:nodes get nodes - n2",        false},
        {"a generated claim",       "system:node:n1 system:nodes get configmaps a made", false},
        {"what a mirror pod names", "system:node:n1 system:nodes get secrets a s2",      false},
        {"services",                "system:node:n1 system:nodes list services - -",     true },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct node_graph *g = node_graph_new();
    const struct json *pod =
        tree(&a, "{'metadata':{'name':'p'},'spec':{'nodeName':'n1','volumes':[{'name':'v',"
                 "'secret':{'secretName':'s1'}}],"
                 "'containers':[{'envFrom':[{'configMapRef':{'name':'c1'}}]}]}}");
    const struct json *mirror =
        tree(&a, "{'metadata':{'name':'m','annotations':{'kubernetes.io/config.mirror':'x'}},"
                 "'spec':{'nodeName':'n1','imagePullSecrets':[{'name':'s2'}]}}");

    node_graph_put_pod(g, S("a"), S("p"), pod);
    node_graph_put_pod(g, S("a"), S("p2"), pod);
    node_graph_put_pod(g, S("a"), S("m"), mirror);
    for (size_t i = 0; i < countof(cases); i++) {
        struct access x = ask(&a, cases[i].ask);
        test_case(cases[i].name);
        check_int(node_allows(g, &x), cases[i].want);
    }
    struct access x = ask(&a, "system:node:n1 system:nodes get secrets a s1");
    node_graph_put_pod(g, S("a"), S("p"), NULL);
    check(node_allows(g, &x)); /* the other pod holds it */
    node_graph_put_pod(g, S("a"), S("p2"), NULL);
    check(!node_allows(g, &x));
    node_graph_free(g);
}
