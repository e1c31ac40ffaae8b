/* jsonpath.c - finding the first value along a path */
#include "schema/jsonpath.h"

#include "base/testing.h"
#include "schema/columns.h"

static const char object[] =
    "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a.b/c\":\"x\"}},"
    "\"spec\":{\"n\":3,\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"b\",\"v\":2}]},"
    "\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"False\"},"
    "{\"type\":\"Ready\",\"status\":\"True\"}]}}";

TEST(jsonpath_first)
{
    static const struct {
        const char *path, *want; /* "" : nothing */
    } cases[] = {
        {".metadata.name",                                 "\"n\""   },
        {"{.metadata.name}",                               "\"n\""   },
        {"$.spec.n",                                       "3"       },
        {".metadata.labels['a.b/c']",                      "\"x\""   },
        {".metadata.labels.a\\.b/c",                       "\"x\""   },
        {".spec.list[1].v",                                "2"       },
        {".spec.list[-1].k",                               "\"b\""   },
        {".spec.list[*].v",                                "1"       },
        {".spec.list[2].v",                                ""        },
        {".status.conditions[?(@.type=='Ready')].status",  "\"True\""},
        {".status.conditions[?(@.type==\"None\")].status", ""        },
        {".spec.missing.deeper",                           ""        },
        {"spec",                                           ""        },
        {".spec.list[",                                    ""        },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *v = json_parse(&a, str_from(object), NULL, NULL);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].path);
        const struct json *got = jsonpath_first(&a, v, str_from(cases[i].path));
        check_samez(got ? json_text(&a, got) : S(""), cases[i].want);
    }
}

TEST(jsonpath_check)
{
    struct err err = {0};

    check_int(jsonpath_check(S(".status.conditions[?(@.type=='A')].status"), &err), 0);
    check_int(jsonpath_check(S("status"), &err), -1);
    check_err(&err, ERR_SYNTAX, "JSONPath 'status' cannot be read");
    check_int(jsonpath_check(S(".a[?(@.b=c)]"), NULL), -1);
}

TEST(column_cell)
{
    static const struct {
        const char *type, *value, *want;
    } cases[] = {
        {"string",  "\"x\"",                    "\"x\""        },
        {"string",  "1",                        "null"         },
        {"integer", "3.7",                      "3"            },
        {"integer", "\"3\"",                    "null"         },
        {"number",  "1.5",                      "1.5"          },
        {"boolean", "true",                     "true"         },
        {"boolean", "1",                        "null"         },
        {"date",    "\"\"",                     "\"<unknown>\""},
        {"date",    "\"x\"",                    "\"<invalid>\""},
        {"date",    "\"1970-01-01T00:00:10Z\"", "\"5s\""       },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *v = json_parse(&a, str_from(cases[i].value), NULL, NULL);
        struct json got =
            column_cell(&a, str_from(cases[i].type), v, (struct instant){15 * SECOND_NS});
        test_case(cases[i].value);
        check_samez(json_text(&a, &got), cases[i].want);
    }
}
