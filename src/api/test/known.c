/* What a write shares with the stored object is not looked at again; all else is. */
#include "api/kinds.h"
#include "base/testing.h"
#include "schema/conform.h"
#include "schema/default.h"
#include "schema/strategic.h"
#include "schema/table.h"
#include "schema/validate.h"
#include "json/patch.h"

/* As no writer could have stored it, so that looking at it shows. */
static const char stored[] =
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"},"
    "\"spec\":{\"parallelism\":-1,\"unknown\":1,\"template\":{\"spec\":{}}},\"status\":{}}";

struct looked {
    size_t n_unknown, n_errors;
    bool has_default, is_same;
};

static struct looked look(struct arena *a, const struct json *v, const struct json *known)
{
    struct schema_unknown unknown = {.arena = a};
    struct field_errors errors = field_errors_in(a);
    struct err err = {0};
    const struct json *x = kind_conform(a, &kind_job, v, known, &unknown, &err);
    struct looked l = {.n_unknown = unknown.paths.len,
                       .is_same = json_is_shared(json_getz(x, "spec"), json_getz(v, "spec"))};

    check(x);
    x = kind_default(a, &kind_job, x, known);
    l.has_default = json_getz(json_getz(x, "spec"), "backoffLimit") != NULL;
    schema_validate(&errors, kind_job.schema, KIND_NATIVE, NULL, x, known);
    l.n_errors = errors.list.len;
    return l;
}

TEST(what_is_known)
{
    scoped(arena_fini) struct arena a = {0};
    const struct json *known = json_parse(&a, str_from(stored), NULL, NULL);
    const struct json *status =
        json_with(&a, known, json_of_i64(2), "status", "succeeded", NULL);
    const struct json *spec = json_with(&a, known, json_of_i64(2), "spec", "completions", NULL);
    struct looked l;

    test_case("nothing is known: everything is looked at");
    l = look(&a, known, NULL);
    check_int(l.n_unknown, 1);
    check(l.has_default && l.n_errors > 0 && !l.is_same);

    test_case("a spec that is shared is taken as it is");
    l = look(&a, status, known);
    check_int(l.n_unknown, 0);
    check(!l.has_default && l.n_errors == 0 && l.is_same);

    test_case("one that was changed is looked at, and what it shares is not");
    l = look(&a, spec, known);
    check_int(l.n_unknown, 1);
    check(l.has_default && !l.is_same);
}

/* The members know their places still. */
static const struct json *backwards(struct arena *a, const struct json *v)
{
    struct json_obj o = obj_in(a);

    for (uint32_t i = v->len; i-- > 0;)
        obj_add(&o, v->members[i].name, v->members[i].value);
    return json_new(a, obj_done(&o));
}

TEST(conform_is_done_once)
{
    static const struct {
        const char *name, *given, *want;
    } cases[] = {
        {"as it should be",            "{\"name\":\"a\",\"labels\":{\"k\":\"v\"}}",
         "{\"name\":\"a\",\"labels\":{\"k\":\"v\"}}"                                                                                                              },
        {"null says nothing",          "{\"name\":\"a\",\"uid\":null}",             "{\"name\":\"a\"}"                                                            },
        {"an empty value is left out", "{\"name\":\"a\",\"labels\":{}}",            "{\"name\":\"a\"}"                                                            },
        {"a null in a map is empty",   "{\"name\":\"a\",\"labels\":{\"k\":null}}",
         "{\"name\":\"a\",\"labels\":{\"k\":\"\"}}"                                                                                                               },
        {"fields in their order",      "{\"labels\":{\"k\":\"v\"},\"name\":\"a\"}",
         "{\"name\":\"a\",\"labels\":{\"k\":\"v\"}}"                                                                                                              },
        {"one item is spelled anew",
         "{\"name\":\"a\",\"managedFields\":[{\"manager\":\"x\",\"zz\":1},{\"manager\":\"y\"}]"
         "}",                                                                       "{\"name\":\"a\",\"managedFields\":[{\"manager\":\"x\"},{\"manager\":\"y\"}]}"},
    };

    const struct schema *meta = schema_field(kind_job.schema, S("metadata"))->type;

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        const struct json *v = json_parse(&a, str_from(cases[i].given), NULL, NULL);
        struct err err = {0};
        test_case(cases[i].name);
        const struct json *x = schema_conform(&a, meta, v, NULL, NULL, &err);
        check_samez(json_text(&a, x), cases[i].want);
        check(schema_conform(&a, meta, x, NULL, NULL, &err) == x);
        const struct json *back = backwards(&a, x);
        check_samez(json_text(&a, schema_conform(&a, meta, back, NULL, NULL, &err)),
                    cases[i].want);
    }
}

/* Conforming passes over what it has made itself; a patch works on what it has made. */
TEST(conform_sees_what_a_patch_did)
{
    static const char *const gone = "{\"name\":\"a\"}";
    static const struct {
        const char *name, *how, *patch, *want;
    } cases[] = {
        {"the last label goes",       "json",      "[{\"op\":\"remove\",\"path\":\"/labels/k\"}]",             NULL                                                              },
        {"the last label goes",       "merge",     "{\"labels\":{\"k\":null}}",                                NULL                                                              },
        {"the last label goes",       "strategic", "{\"labels\":{\"k\":null}}",                                NULL                                                              },
        {"all of them go",            "strategic", "{\"labels\":{\"$patch\":\"delete\"}}",                     NULL                                                              },
        {"a value that says nothing", "json",
         "[{\"op\":\"replace\",\"path\":\"/labels/k\",\"value\":null}]",                                       "{\"name\":\"a\",\"labels\":{\"k\":\"\"}}"                        },
        {"an empty text",             "json",      "[{\"op\":\"replace\",\"path\":\"/name\",\"value\":\"\"}]",
         "{\"labels\":{\"k\":\"v\"}}"                                                                                                                                            },
        {"an empty text",             "merge",     "{\"name\":\"\"}",                                          "{\"labels\":{\"k\":\"v\"}}"                                      },
        {"a field before others",     "json",
         "[{\"op\":\"add\",\"path\":\"/generateName\",\"value\":\"g\"}]",                                      "{\"name\":\"a\",\"generateName\":\"g\",\"labels\":{\"k\":\"v\"}}"},
        {"a field moved to another",  "json",
         "[{\"op\":\"move\",\"from\":\"/labels\",\"path\":\"/annotations\"}]",                                 "{\"name\":\"a\",\"annotations\":{\"k\":\"v\"}}"                  },
    };
    const struct schema *meta = schema_field(kind_job.schema, S("metadata"))->type;

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        const struct json *v =
            json_parse(&a, S("{\"labels\":{\"k\":\"v\"},\"name\":\"a\"}"), NULL, NULL);
        const struct json *patch = json_parse(&a, str_from(cases[i].patch), NULL, NULL);
        struct err err = {0};
        test_case(cases[i].name);
        v = schema_conform(&a, meta, v, NULL, NULL, &err);
        if (cases[i].how[0] == 'j')
            v = json_patch(&a, v, patch, &err);
        else if (cases[i].how[0] == 'm')
            v = json_merge_patch(&a, v, patch);
        else
            v = schema_strategic_apply(&a, meta, v, patch, &err);
        check(v);
        v = schema_conform(&a, meta, v, NULL, NULL, &err);
        check_samez(json_text(&a, v), cases[i].want ? cases[i].want : gone);
    }
}
