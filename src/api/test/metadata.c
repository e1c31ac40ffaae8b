/* metadata.c - metadata's rules, deletion, and the Status that says what is wrong */
#include "api/metadata.h"
#include "api/graceful_delete.h"
#include "api/status.h"
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

static struct str texts(struct arena *a, const struct field_errors *e)
{
    struct buf b = buf_in(a, 128);

    vec_each (i, &e->list)
        buf_printf(&b, "%s%.*s", i ? "; " : "", STR_ARG(field_error_text(a, &e->list.at[i])));
    return buf_str(&b);
}

TEST(metadata_check_create)
{
    static const struct {
        const char *name, *meta, *want;
    } cases[] = {
        {"fine",                  "{'name':'a','namespace':'b'}",                     ""                                                                  },
        {"no name",               "{'namespace':'b'}",
         "metadata.name: Required value: name or generateName is required"                                                                                },
        {"no namespace",          "{'name':'a'}",                                     "metadata.namespace: Required value"                                },
        {"a finalizer",           "{'name':'a','namespace':'b','finalizers':['/x']}",
         "metadata.finalizers: Invalid value: \"/x\": prefix part must be non-empty"                                                                      },
        {"two ways to end",
         "{'name':'a','namespace':'b','finalizers':['orphan','foregroundDeletion']}", "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer "
         "orphan and foregroundDeletion cannot be both set"          },
        {"an owner without uid",
         "{'name':'a','namespace':'b','ownerReferences':[{'apiVersion':'v1',"
         "'kind':'Pod','name':'p'}]}",                                                "metadata.ownerReferences[0].uid: Required value: must not be empty"},
        {"a negative generation", "{'name':'a','namespace':'b','generation':-1}",
         "metadata.generation: Invalid value: -1: must be greater than or equal to 0"                                                                     },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct field_path at = field_child(NULL, S("metadata"));

    for (size_t i = 0; i < countof(cases); i++) {
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].name);
        metadata_check_create(&e, &at, tree(&a, cases[i].meta),
                              (struct metadata_rule){true, NAME_DNS_SUBDOMAIN});
        check_samez(texts(&a, &e), cases[i].want);
    }
}

TEST(metadata_check_update)
{
    static const struct {
        const char *name, *old, *meta, *want;
    } cases[] = {
        {"labels may change",                "{'name':'a'}",
         "{'name':'a','resourceVersion':'1','labels':{'x':'y'}}",                                                                               ""                                                           },
        {"an empty uid is as none",          "{'name':'a'}",
         "{'name':'a','resourceVersion':'1','uid':null}",                                                                                       ""                                                           },
        {"nor an empty namespace",           "{'name':'a'}",
         "{'name':'a','namespace':'','resourceVersion':'1'}",                                                                                   ""                                                           },
        {"but a set one may not be emptied", "{'name':'a','namespace':'n'}",
         "{'name':'a','namespace':'','resourceVersion':'1'}",                                                                                   "metadata.namespace: Invalid value: \"\": field is immutable"},
        {"names do not",                     "{'name':'a'}",                 "{'name':'b','resourceVersion':'1'}",
         "metadata.name: Invalid value: \"b\": field is immutable"                                                                                                                                           },
        {"a version is demanded",            "{'name':'a'}",                 "{'name':'a'}",
         "metadata.resourceVersion: Invalid value: \"\": must be specified for an update"                                                                                                                    },
        {"no new finalizers at the end",
         "{'name':'a','deletionTimestamp':'2030-01-01T00:00:00Z'}",          "{'name':'a','resourceVersion':'1',"
         "'deletionTimestamp':'2030-01-01T00:00:00Z','finalizers':['x/y']}", "deleted, found new finalizers []string{\"x/y\"}"            },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct field_path at = field_child(NULL, S("metadata"));

    for (size_t i = 0; i < countof(cases); i++) {
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].name);
        metadata_check_update(&e, &at, tree(&a, cases[i].meta), tree(&a, cases[i].old));
        if (e.list.len == 0)
            check_samez(S(""), cases[i].want);
        else
            check(str_ends(texts(&a, &e), str_from(cases[i].want)));
    }
}

/* Who wrote what is judged once: an entry that is the very node of before is not looked at,
 * another one like it is. */
TEST(metadata_managers_are_judged_once)
{
    static const struct {
        const char *name;
        bool is_known, is_shared;
        size_t at;
        const char *want;
    } cases[] = {
        {"its node of other rules", false, true,  0, "metadata.managedFields[0].operation"},
        {"its node",                true,  true,  0, ""                                   },
        {"its node, as the second", true,  true,  1, "metadata.managedFields[1].operation"},
        {"an equal one",            true,  false, 0, "metadata.managedFields[0].operation"},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct field_path at = field_child(NULL, S("metadata"));
    const struct json *old =
        tree(&a, "{'name':'a','managedFields':[{'manager':'m','operation':'Bad'}]}");
    const struct json *bad = json_at(json_getz(old, "managedFields"), 0);
    const struct json *good = tree(&a, "{'manager':'n','operation':'Update'}");

    for (size_t i = 0; i < countof(cases); i++) {
        struct field_errors e = field_errors_in(&a);
        struct json_arr list = arr_in(&a);
        test_case(cases[i].name);
        if (cases[i].at == 1)
            arr_add(&list, *good);
        arr_add(&list, cases[i].is_shared ? *bad : *json_copy(&a, bad));
        const struct json *meta = json_with(&a, old, arr_done(&list), "managedFields", NULL);
        metadata_check_write(&e, &at, meta, old, cases[i].is_known);
        check_samez(e.list.len ? e.list.at[0].path : S(""), cases[i].want);
    }
}

TEST(metadata_that_the_server_writes)
{
    static const struct {
        const char *name, *meta, *old, *want; /* old "": it is new */
        bool is_patch;
    } cases[] = {
        {"a new object's",           "{'name':'a','labels':{'x':'y'}}",                   "",
         "{'name':'a','labels':{'x':'y'},'uid':'U','creationTimestamp':'T','generation':1}",                                                                                                                 false},
        {"in their places",
         "{'uid':'x','selfLink':'/','name':'a','generation':7,'deletionTimestamp':'x'}",  "",
         "{'uid':'U','name':'a','generation':1,'creationTimestamp':'T'}",                                                                                                                                    false},
        {"as the old one has them",
         "{'name':'a','uid':'x','resourceVersion':'1','generation':9}",                   "{'uid':'u','creationTimestamp':'t','generation':3,'name':'b'}",
         "{'name':'a','uid':'u','generation':3,'creationTimestamp':'t'}",                                                                                                                                    false},
        {"what it has not goes",
         "{'name':'a','deletionTimestamp':'x','deletionGracePeriodSeconds':3,'other':1}", "{'uid':'u','generation':null}",                                 "{'name':'a','other':1,'uid':'u'}",               false},
        {"a patch says its own uid", "{'uid':'x','name':'a'}",
         "{'uid':'u','creationTimestamp':'t'}",                                                                                                            "{'uid':'x','name':'a','creationTimestamp':'t'}", true },
        {"none at all",              "null",                                              "{'uid':'u'}",                                                   "{'uid':'u'}",                                    false},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *meta = tree(&a, cases[i].meta);
        struct json got = *cases[i].old ? metadata_following(&a, meta, tree(&a, cases[i].old),
                                                             cases[i].is_patch)
                                        : metadata_of_new(&a, meta, S("U"), S("T"), true);
        test_case(cases[i].name);
        check_same(json_text(&a, &got), json_text(&a, tree(&a, cases[i].want)));
    }
}

TEST(owner_references_dedup)
{
    scoped(arena_fini) struct arena a = {0};
    const struct json *once =
        json_parse(&a, S("[{\"uid\":\"1\"},{\"uid\":\"2\"}]"), NULL, NULL);
    const struct json *twice = json_parse(
        &a, S("[{\"uid\":\"1\"},{\"uid\":\"2\"},{\"uid\":\"1\"},{\"uid\":\"3\"}]"), NULL, NULL);
    struct str duplicate = {0};

    check(owner_references_dedup(&a, once, &duplicate) == once);
    check_int(duplicate.len, 0);
    check_samez(json_text(&a, owner_references_dedup(&a, twice, &duplicate)),
                "[{\"uid\":\"1\"},{\"uid\":\"2\"},{\"uid\":\"3\"}]");
    check_samez(duplicate, "1");
}

TEST(metadata_names)
{
    static const uint8_t random[16] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                       0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    scoped(arena_fini) struct arena a = arena_sized(4096);
    char base[80];

    memset(base, 'a', sizeof(base));
    check_samez(metadata_uid(&a, random), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    check_samez(metadata_generate_name(&a, S("job-"), 0), "job-bbbbb");
    check_int(metadata_generate_name(&a, str_of(base, 80), 12345).len, 63);
}

TEST(metadata_preconditions)
{
    struct err err = {0};
    struct str u = S("u"), v = S("v"), x = S("x");

    check_int(metadata_check_preconditions(S(""), S(""), u, v, &err), 0);
    check_int(metadata_check_preconditions(u, v, u, v, &err), 0);
    check_int(metadata_check_preconditions(x, v, u, v, &err), -1);
    check_err(&err, ERR_CONFLICT, "the UID in the precondition (x)");
    check_int(metadata_check_preconditions(u, x, u, v, &err), -1);
    check_err(&err, ERR_CONFLICT, "the ResourceVersion in the precondition (x)");
}

TEST(delete_decide)
{
    static const struct delete_state going = {
        .is_deleting = true, .timestamp = {130 * SECOND_NS}, .has_grace = true, .grace = 30};
    static const struct delete_state there = {.generation = 3};
    static const struct {
        const char *name;
        const struct delete_state *state;
        int asked; /* -1: nothing */
        bool can_wait, graceful, pending;
        int64_t grace; /* also seconds from now */
    } cases[] = {
        {"the default",                &there, -1, true,  true,  false, 30},
        {"what is asked",              &there, 5,  true,  true,  false, 5 },
        {"at once",                    &there, 0,  true,  false, false, 0 },
        {"a kind that does not wait",  &there, 5,  false, false, false, 0 },
        {"a shorter one",              &going, 10, true,  true,  false, 10},
        {"not a longer one",           &going, 40, true,  false, true,  30},
        {"asked again without a word", &going, -1, true,  false, true,  30},
    };
    struct instant now = {100 * SECOND_NS};

    for (size_t i = 0; i < countof(cases); i++) {
        struct delete_request r = {.has_grace = cases[i].asked >= 0, .grace = cases[i].asked};
        struct delete_decision d =
            delete_decide(*cases[i].state, r, cases[i].can_wait, 30, now);
        test_case(cases[i].name);
        check_int(d.is_graceful, cases[i].graceful);
        check_int(d.is_pending, cases[i].pending);
        if (d.is_graceful || d.is_pending) {
            check_int(d.state.timestamp.ns, now.ns + cases[i].grace * SECOND_NS);
            check_int(d.state.grace, cases[i].grace);
        }
        if (i == 1)
            check_int(d.state.generation, 4);
    }
}

TEST(delete_gc_finalizers)
{
    static const struct {
        const char *name;
        bool had_orphan, had_foreground;
        int orphan_option; /* -1: none */
        enum delete_policy asked, kind;
        bool orphan, foreground;
    } cases[] = {
        {"nothing said",           false, false, -1, DELETE_DEFAULT,    DELETE_BACKGROUND, false, false},
        {"a Job's default",        false, false, -1, DELETE_DEFAULT,    DELETE_ORPHAN,     true,  false},
        {"what it had stays",      false, true,  -1, DELETE_DEFAULT,    DELETE_ORPHAN,     false, true },
        {"a policy replaces it",   true,  false, -1, DELETE_FOREGROUND, DELETE_BACKGROUND, false,
         true                                                                                          },
        {"orphanDependents first", true,  false, 0,  DELETE_DEFAULT,    DELETE_ORPHAN,     false, false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct delete_finalizers now = {cases[i].had_orphan, cases[i].had_foreground};
        struct delete_finalizers got =
            delete_gc_finalizers(now, cases[i].orphan_option >= 0, cases[i].orphan_option > 0,
                                 cases[i].asked, cases[i].kind);
        test_case(cases[i].name);
        check_int(got.orphan, cases[i].orphan);
        check_int(got.foreground, cases[i].foreground);
    }
}

TEST(delete_pod_grace)
{
    check_int(delete_pod_grace(false, 0, 30, true, false), 30);
    check_int(delete_pod_grace(true, 7, 30, true, false), 7);
    check_int(delete_pod_grace(true, 7, 30, false, false), 0);
    check_int(delete_pod_grace(false, 0, 30, true, true), 0);
    check_int(delete_pod_grace(true, -3, 30, true, false), 1);
}

static void same_status(struct arena *a, const char *name, struct api_error e, const char *want)
{
    struct json v = status_json(a, &e);

    test_case(name);
    check_samez(json_text(a, &v), want);
}

TEST(status_json)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct status_subject job = {S("batch"), S("jobs"), S("Job"), S("a")};
    struct field_errors e = field_errors_in(&a);
    struct field_path spec = field_child(NULL, S("spec"));
    struct field_path n = field_child(&spec, S("parallelism"));
    struct json bad = json_of_i64(-1);

    field_invalid(&e, &n, &bad, "must be greater than or equal to %d", 0);
    field_required(&e, &spec, "%s", "");
    struct access x = {.user = {.name = S("<joe>")},
                       .verb = S("get"),
                       .is_resource = true,
                       .resource = S("pods"),
                       .subresource = S("log"),
                       .ns = S("x"),
                       .name = S("p")};
    struct access path = {.user = {.name = S("joe")}, .verb = S("get"), .path = S("/metrics")};
    struct err io = {0};
    err_set(&io, ERR_IO, "disk full");
    same_status(
        &a, "not found", api_error_not_found(&a, job),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"jobs.batch \\\"a\\\" not found\",\"reason\":\"NotFound\",\"details\":"
        "{\"name\":\"a\",\"group\":\"batch\",\"kind\":\"jobs\"},\"code\":404}");
    same_status(
        &a, "invalid", api_error_invalid(&a, job, &e),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"Job.batch \\\"a\\\" is invalid: [spec.parallelism: Invalid value: -1: "
        "must be greater than or equal to 0, spec: Required value]\",\"reason\":\"Invalid\","
        "\"details\":{\"name\":\"a\",\"group\":\"batch\",\"kind\":\"Job\",\"causes\":[{"
        "\"reason\":\"FieldValueInvalid\",\"message\":\"Invalid value: -1: must be greater "
        "than or equal to 0\",\"field\":\"spec.parallelism\"},{\"reason\":"
        "\"FieldValueRequired\",\"message\":\"Required value\",\"field\":\"spec\"}]},"
        "\"code\":422}");
    same_status(
        &a, "denied", api_error_denied(&a, &x, S("")),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"pods \\\"p\\\" is forbidden: User \\\"&lt;joe&gt;\\\" cannot get "
        "resource \\\"pods/log\\\" in API group \\\"\\\" in the namespace \\\"x\\\"\","
        "\"reason\":\"Forbidden\",\"details\":{\"name\":\"p\",\"kind\":\"pods\"},\"code\":"
        "403}");
    same_status(
        &a, "a path denied", api_error_denied(&a, &path, S("no")),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"forbidden: User \\\"joe\\\" cannot get path \\\"/metrics\\\": no\","
        "\"reason\":\"Forbidden\",\"details\":{},\"code\":403}");
    same_status(
        &a, "a version from the future", api_error_too_large_version(&a, 9, 5),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"Timeout: Too large resource version: 9, current: 5\",\"reason\":"
        "\"Timeout\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\","
        "\"message\":\"Too large resource version\"}],\"retryAfterSeconds\":1},\"code\":504}");
    same_status(
        &a, "gone, with a way on", api_error_expired(S("too old"), S("token")),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{\"continue\":\"token\"},"
        "\"status\":\"Failure\",\"message\":\"too old\",\"reason\":\"Expired\",\"code\":410}");
    same_status(
        &a, "an error of ours", api_error_of(&a, &io, job),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"Internal error occurred: disk full\",\"reason\":\"InternalError\","
        "\"details\":{\"causes\":[{\"message\":\"disk full\"}]},\"code\":500}");
}

TEST(api_error_of)
{
    static const struct {
        enum err_code code;
        int http;
        const char *reason;
    } cases[] = {
        {ERR_INVALID,      422, "Invalid"              },
        {ERR_SYNTAX,       400, "BadRequest"           },
        {ERR_UNAUTHORIZED, 401, "Unauthorized"         },
        {ERR_FORBIDDEN,    403, "Forbidden"            },
        {ERR_NOT_FOUND,    404, "NotFound"             },
        {ERR_METHOD,       405, "MethodNotAllowed"     },
        {ERR_NOT_ACCEPTED, 406, "NotAcceptable"        },
        {ERR_EXISTS,       409, "AlreadyExists"        },
        {ERR_CONFLICT,     409, "Conflict"             },
        {ERR_GONE,         410, "Expired"              },
        {ERR_LIMIT,        413, "RequestEntityTooLarge"},
        {ERR_MEDIA_TYPE,   415, "UnsupportedMediaType" },
        {ERR_TOO_MANY,     429, "TooManyRequests"      },
        {ERR_IO,           500, "InternalError"        },
        {ERR_TIMEOUT,      504, "Timeout"              },
        {ERR_UNAVAILABLE,  503, "ServiceUnavailable"   },
        {ERR_INTERNAL,     500, "InternalError"        },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        err_set(&err, cases[i].code, "why");
        struct api_error e = api_error_of(&a, &err, (struct status_subject){0});
        test_case(cases[i].reason);
        check_int(e.code, cases[i].http);
        check_samez(e.reason, cases[i].reason);
    }
}
