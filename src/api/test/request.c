/* request.c - URLs, Accept headers, list options and continue tokens */
#include "api/request.h"
#include "api/accept.h"
#include "api/field_manager.h"
#include "api/list_options.h"
#include "api/write_options.h"
#include "base/testing.h"

TEST(request_parse)
{
    static const struct {
        const char *name, *method, *target, *want; /* verb group version ns resource name sub */
    } cases[] = {
        {"a list",                          "GET",    "/apis/batch/v1/namespaces/a/jobs",               "list batch v1 a jobs - -"},
        {"one",                             "GET",    "/api/v1/namespaces/a/pods/p",                    "get - v1 a pods p -"     },
        {"its log",                         "GET",    "/api/v1/namespaces/a/pods/p/log?follow=1",       "get - v1 a pods p log"   },
        {"a watch",                         "GET",    "/api/v1/pods?watch=1",                           "watch - v1 - pods - -"   },
        {"not a watch",                     "GET",    "/api/v1/pods?watch=False",                       "list - v1 - pods - -"    },
        {"a collection goes",               "DELETE", "/api/v1/namespaces/a/pods",
         "deletecollection - v1 a pods - -"                                                                                       },
        {"a namespace itself",              "DELETE", "/api/v1/namespaces/a",
         "delete - v1 a namespaces a -"                                                                                           },
        {"finalize",                        "PUT",    "/api/v1/namespaces/a/finalize",
         "update - v1 a namespaces a finalize"                                                                                    },
        {"a name by selector",              "GET",    "/api/v1/nodes?fieldSelector=metadata.name%3Dn1",
         "list - v1 - nodes n1 -"                                                                                                 },
        {"no name that leads elsewhere",    "GET",
         "/api/v1/nodes?fieldSelector=metadata.name%3D..",                                              "list - v1 - nodes - -"   },
        {"a bad number: only watch counts", "GET",
         "/api/v1/nodes?watch=1&limit=x&fieldSelector=metadata.name%3Dn1",                              "watch - v1 - nodes - -"  },
        {"discovery",                       "GET",    "/apis/batch/v1",                                 "get - - - - - -"         },
        {"an encoded path",                 "GET",    "/api/v1/namespaces/a%20b/pods",                  "list - v1 a b pods - -"  },
        {"an unknown method",               "BREW",   "/api/v1/pods",                                   "- - v1 - pods - -"       },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct request_info r;
        struct buf b = buf_in(&a, 64);
        test_case(cases[i].name);
        check_int(
            request_parse(&a, str_from(cases[i].method), str_from(cases[i].target), &r, NULL),
            0);
        struct str parts[] = {r.verb,     r.group, r.version,    r.ns,
                              r.resource, r.name,  r.subresource};
        for (size_t k = 0; k < countof(parts); k++)
            buf_printf(&b, "%s%.*s", k ? " " : "", STR_ARG(parts[k].len ? parts[k] : S("-")));
        check_samez(buf_str(&b), cases[i].want);
    }
}

TEST(request_errors)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct request_info r;
    struct err err = {0};

    check_int(request_parse(&a, S("GET"), S("/api/v1/%zz/x"), &r, &err), -1);
    check_err(&err, ERR_SYNTAX, "escape");
    check_int(request_parse(&a, S("GET"), S("/api/v1/watch"), &r, &err), -1);
    check_err(&err, ERR_SYNTAX, "unable to determine");
}

TEST(accept_negotiate)
{
    static const struct {
        const char *name, *header, *want;
    } cases[] = {
        {"nothing",                      "",                                                              "application/json"                  },
        {"anything",                     "*/*",                                                           "application/json"                  },
        {"a subtype's star",             "application/*",                                                 "application/json"                  },
        {"q decides",                    "application/yaml;q=0.5,application/json;q=0.4",                 "application/yaml"                  },
        {"a name before a star",         "*/*,application/yaml",                                          "application/yaml"                  },
        {"a table",                      "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
         "application/json Table v1"                                                                                                          },
        {"an unknown version of it",     "application/json;as=Table;v=v9;g=meta.k8s.io",                  "406"                               },
        {"no such conversion: the next", "application/json;as=X;v=v1;g=y,application/yaml",
         "application/yaml"                                                                                                                   },
        {"protobuf first",               "application/vnd.kubernetes.protobuf,application/json",
         "application/json"                                                                                                                   },
        {"v=v2 is not v2beta1",
         "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",                     "application/json Discovery v2beta1"},
        {"only protobuf",                "application/vnd.kubernetes.protobuf",                           "406"                               },
        {"q=0 does not exclude",         "application/json;q=0",                                          "application/json"                  },
    };
    static const struct str served[] = {S_INIT("application/json"), S_INIT("application/yaml")};
    static const char *const as[] = {"", " Table", " Partial", " PartialList", " Discovery"};
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct accepted got;
        struct err err = {0};
        test_case(cases[i].name);
        if (accept_negotiate(str_from(cases[i].header), served, 2, ~0u, &got, &err) < 0) {
            check_err(&err, ERR_NOT_ACCEPTED, "application/json, application/yaml");
            check_samez(S("406"), cases[i].want);
            continue;
        }
        check_samez(str_printf(&a, "%.*s%s%s%.*s", STR_ARG(got.media_type), as[got.as],
                               got.version.len ? " " : "", STR_ARG(got.version)),
                    cases[i].want);
    }
}

TEST(content_type_match)
{
    static const struct str served[] = {S_INIT("application/json"), S_INIT("application/yaml")};
    struct err err = {0};
    size_t i = 7;

    check_int(content_type_match(S(""), served, 2, &i, &err), 0);
    check_int(i, 0);
    check_int(content_type_match(S("Application/YAML; charset=x"), served, 2, &i, &err), 0);
    check_int(i, 1);
    check_int(content_type_match(S("text/plain"), served, 2, &i, &err), -1);
    check_err(&err, ERR_MEDIA_TYPE, "unknown format");
}

TEST(continue_tokens)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct str key;
    int64_t revision;

    struct str token = continue_encode(&a, S("default/pod-1"), 42);
    check_int(continue_decode(&a, token, S("pods/"), &key, &revision, NULL), 0);
    check(str_eq(key, str_of("pods/default/pod-1\0", 19)));
    check_int(revision, 42);
    for (size_t i = 0; i < token.len; i++)
        check(token.at[i] != '+' && token.at[i] != '/' && token.at[i] != '=');
    check_int(continue_decode(&a, S("!"), S(""), &key, &revision, NULL), -1);
}

TEST(field_manager_name)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    char text[400];

    memset(text, 'x', sizeof(text));
    check_samez(field_manager_name(&a, S(""), S("kubectl/v1.32 (linux)")), "kubectl");
    check_samez(field_manager_name(&a, S("me"), S("kubectl")), "me");
    check_samez(field_manager_name(&a, S(""), S("a\tb\xC3\xA9")), "ab\xC3\xA9");
    check_int(field_manager_name(&a, S(""), str_of(text, sizeof(text))).len, 128);
}

TEST(write_options)
{
    static const struct {
        const char *query, *want;
    } cases[] = {
        {"/x?propagationPolicy=Foreground&gracePeriodSeconds=5", ""                                                                },
        {"/x?propagationPolicy=Never",
         "propagationPolicy: Unsupported value: \"Never\": supported values: \"Background\", "
         "\"Foreground\", \"Orphan\""                                                                                              },
        {"/x?propagationPolicy=Orphan&orphanDependents=true",
         "propagationPolicy: Invalid value: \"Orphan\": orphanDependents and "
         "deletionPropagation cannot be both set"                                                                                  },
        {"/x?dryRun=Some",                                       "dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct url u;
        struct delete_options o;
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].query);
        check_int(url_parse(&a, str_from(cases[i].query), &u, NULL), 0);
        struct str_map query = url_query(&a, &u);
        check_int(delete_options_of(&a, &query, &o, NULL), 0);
        delete_options_check(&e, &o);
        check_samez(e.list.len ? field_errors_text(&a, &e) : S(""), cases[i].want);
    }
}
