/* selector.c - label and field selectors: reading, printing, matching */
#include "value/selector.h"
#include "base/testing.h"

static struct str read_back(struct arena *a, const char *text)
{
    struct selector s;
    struct err err = {0};

    if (selector_parse(a, str_from(text), &s, &err) < 0)
        return str_copy(a, err_str(&err));
    return selector_text(a, &s);
}

TEST(selector_parse)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"equality, sorted by key",            "b=2,a=1",       "a=1,b=2"                                               },
        {"two signs",                          "a==1",          "a==1"                                                  },
        {"not",                                "a!=1",          "a!=1"                                                  },
        {"sets are sorted",                    "a in (y, x,x)", "a in (x,y)"                                            },
        {"not in a set",                       "a notin (x)",   "a notin (x)"                                           },
        {"there and not there",                "b,!a",          "!a,b"                                                  },
        {"numbers",                            "a>5,b<10",      "a>5,b<10"                                              },
        {"white space",                        " a = 1 ,\n b ", "a=1,b"                                                 },
        {"a key named in",                     "in in (in)",    "in in (in)"                                            },
        {"an empty value",                     "a=,b=1",        "a=,b=1"                                                },
        {"an empty set holds the empty value", "a in ()",       "a in ()"                                               },
        {"holes in a set",                     "a in (,x,)",    "a in (,x)"                                             },
        {"no number",                          "a>x",
         "unable to parse requirement: values[0]: Invalid value: \"x\": for "
         "'Gt', 'Lt' operators, the value must be an integer"                                                           },
        {"a bad value names its key",          "a=-x",
         "unable to parse requirement: values[0][a]: Invalid value: \"-x\": a valid label must "
         "be an "
         "empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
         "and end "
         "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "
         "used for "
         "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"                                                 },
        {"a comma at the end",                 "a=1,",          "found '', expected: identifier after ','"              },
        {"two words",                          "a b",
         "unable to parse requirement: found 'b', expected: in, notin, =, "
         "==, !=, gt, lt"                                                                                               },
        {"a value twice",                      "a=1=2",         "found '=', expected: ',' or 'end of string'"           },
        {"an open set",                        "a in (b",
         "unable to parse requirement: found '', expected: ',' or ')'"                                                  },
        {"two values in a set",                "a in (b c)",
         "unable to parse requirement: found 'c', expected: ',' or ')'"                                                 },
        {"an operator first",                  "=a",            "found '=', expected: !, identifier, or 'end of string'"},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(read_back(&a, cases[i].text), cases[i].want);
    }
}

TEST(selector_matches)
{
    static const struct {
        const char *selector, *labels;
        bool want;
    } cases[] = {
        {"",             "{}",                       true },
        {"a=1",          "{\"a\":\"1\"}",            true },
        {"a=1",          "{}",                       false},
        {"a!=1",         "{}",                       true },
        {"a notin (1)",  "{\"a\":\"1\"}",            false},
        {"a in (1,2),b", "{\"a\":\"2\",\"b\":\"\"}", true },
        {"!a",           "{\"a\":\"\"}",             false},
        {"a>5",          "{\"a\":\"6\"}",            true },
        {"a>5",          "{\"a\":\"5\"}",            false},
        {"a<5",          "{\"a\":\"x\"}",            false},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct selector s;
        test_case(cases[i].selector);
        const struct json *labels = json_parse(&a, str_from(cases[i].labels), NULL, NULL);
        struct str_map map = str_map_of(&a, labels);
        check_int(selector_parse(&a, str_from(cases[i].selector), &s, NULL), 0);
        check_int(selector_matches_json(&s, labels), cases[i].want);
        check_int(selector_matches(&s, &map), cases[i].want);
    }
}

TEST(selector_of_json)
{
    static const struct {
        const char *name, *object, *want;
    } cases[] = {
        {"nothing",                "null",                                                         ""                 },
        {"both parts",
         "{\"matchLabels\":{\"b\":\"1\"},\"matchExpressions\":[{\"key\":\"a\","
         "\"operator\":\"NotIn\",\"values\":[\"y\",\"x\"]}]}",                                     "a notin (x,y),b=1"},
        {"a value twice stays so",
         "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"c\",\"b\","
         "\"c\"]}]}",                                                                              "a in (b,c,c)"     },
        {"an unknown operator",    "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\"}]}",
         "\"Gt\" is not a valid label selector operator"                                                              },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct selector s;
        struct err err = {0};
        test_case(cases[i].name);
        int rc = selector_of_json(&a, json_parse(&a, str_from(cases[i].object), NULL, NULL), &s,
                                  &err);
        check_samez(rc < 0 ? err_str(&err) : selector_text(&a, &s), cases[i].want);
        if (rc == 0)
            check_int(selector_matches_json(&s, NULL), false);
    }
}

static struct str get_field(void *ctx, struct str field)
{
    return json_str(json_get(ctx, field));
}

TEST(field_selector)
{
    static const struct {
        const char *name, *text, *want;
        bool matches; /* {"metadata.name": "a,b"} */
    } cases[] = {
        {"everything",              "",                                "",                                                     true },
        {"one field",               "metadata.name==x",                "metadata.name=x",                                      false},
        {"signs alone ask nothing", "=,!=",                            "",                                                     true },
        {"an escaped comma",        "metadata.name=a\\,b",             "metadata.name=a\\,b",                                  true },
        {"what is absent is empty", "spec.nodeName=,metadata.name!=x",
         "metadata.name!=x,spec.nodeName=",                                                                                    true },
        {"no operator",             "x",                               "invalid selector: 'x'; can't understand 'x'",          false},
        {"an unknown escape",       "x=\\n",                           "invalid field selector: invalid escape sequence: \\n",
         false                                                                                                                      },
        {"two values",              "x=a=b",
         "invalid field selector: unescaped character in value: =",                                                            false},
        {"a backslash at the end",  "x=a\\",
         "invalid field selector: invalid escape sequence: \\",                                                                false},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct json *object = arena_new(&a, struct json);
    struct str value;

    *object = *json_parse(&a, S("{\"metadata.name\":\"a,b\"}"), NULL, NULL);
    for (size_t i = 0; i < countof(cases); i++) {
        struct field_selector s = {0};
        struct err err = {0};
        test_case(cases[i].name);
        int rc = field_selector_parse(&a, str_from(cases[i].text), &s, &err);
        check_samez(rc < 0 ? err_str(&err) : field_selector_text(&a, &s), cases[i].want);
        if (rc == 0)
            check_int(field_selector_matches(&s, get_field, object), cases[i].matches);
        if (i == 3)
            check(field_selector_exact(&s, S("metadata.name"), &value) &&
                  str_eqz(value, "a,b"));
    }
}
