/* structural.c - schemas from OpenAPI text: what they prune, judge and refuse */
#include "schema/structural.h"

#include "base/testing.h"
#include "schema/compile.h"
#include "schema/judge.h"

static const struct json *parsed(struct arena *a, const char *text)
{
    const struct json *v = json_parse(a, str_from(text), NULL, NULL);

    check(v);
    return v;
}

static const struct schema *compiled(struct arena *a, const char *text)
{
    struct err err = {0};
    const struct schema *s = schema_compile(a, parsed(a, text), &err);

    check_same(err_str(&err), S(""));
    return s;
}

static struct str error_lines(struct arena *a, const struct field_errors *e)
{
    struct buf b = buf_in(a, 64);

    vec_each (i, &e->list)
        buf_printf(&b, "%s%s %s", i ? "; " : "", str_z(a, e->list.at[i].path),
                   str_z(a, field_error_reason(e->list.at[i].type)));
    return buf_str(&b);
}

TEST(pruning_keeps_what_is_declared)
{
    static const struct {
        const char *schema, *value, *want;
    } rows[] = {
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}",
         "{\"a\":\"x\",\"b\":1}",                                                                                   "{\"a\":\"x\"}"             },
        {"{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":"
         "{\"a\":{\"type\":\"object\"}}}",                            "{\"a\":{\"c\":1},\"b\":{\"d\":2}}", "{\"a\":{},\"b\":{\"d\":2}}"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"object\"}}",               "[{\"q\":1},2]",                     "[{},2]"                    },
    };

    for (size_t i = 0; i < countof(rows); i++) {
        scoped(arena_fini) struct arena a = {0};
        const struct schema *s = compiled(&a, rows[i].schema);
        const struct json *got =
            structural_prune(&a, s, parsed(&a, rows[i].value), false, NULL);
        check_samez(json_text(&a, got), rows[i].want);
        schema_compiled_free(s);
    }
}

TEST(judging_names_every_broken_field)
{
    static const struct {
        const char *schema, *value, *want;
    } rows[] = {
        {"{\"type\":\"integer\",\"maximum\":3}",                                                 "3",                                         ""                                                                               },
        {"{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"b\":{\"type\":"
         "\"integer\","
         "\"minimum\":2}}}",                                                            "{\"b\":1}",                                 "b FieldValueInvalid; a FieldValueRequired"                                      },
        {"{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\",\"pattern\":\"^a+$\","
         "\"maxLength\":2}}}",                                                          "{\"s\":\"aaa\"}",                           "s FieldValueTooLong"                                                            },
        {"{\"type\":\"object\",\"properties\":{\"e\":{\"type\":\"string\",\"enum\":[\"x\"]}}}",
         "{\"e\":\"y\"}",                                                                                                                     "e FieldValueNotSupported"                                                       },
        {"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\",\"nullable\":true}}}",
         "{\"n\":null}",                                                                                                                      ""                                                                               },
        {"{\"properties\":{\"a\":{\"allOf\":[{\"minItems\":1}]},\"b\":{\"allOf\":[{"
         "\"minItems\":1}]}}}",                                                         "{\"a\":[],\"b\":[]}",
         "a FieldValueInvalid; <nil> FieldValueInvalid; b FieldValueInvalid; <nil> "
         "FieldValueInvalid"                                                                                                                                                                                                   },
        {"{\"oneOf\":[{},{}]}",                                                                  "1",                                         "<nil> FieldValueInvalid"                                                        },
        {"{\"type\":\"number\",\"enum\":[1,0.5]}",                                               "1.75",
         ""                                                                                                                                                                                                                    }, /* cut, as upstream converts it */
        {"{\"type\":\"number\",\"enum\":[1,0.5]}",                                               "0.75",                                      "<nil> FieldValueNotSupported"                                                   },
        {"{\"items\":{\"format\":\"ipv4\"}}",                                                    "[\"1.2.3.4\",\"1.2.3\",4,[]]",
         "[1] FieldValueTypeInvalid; [2] FieldValueTypeInvalid"                                                                                                                                                                },
        {"{\"items\":{\"format\":\"hostname\"}}",
         "[\"a\",\"a-b\",\"aa-b\",\"a.b-c.de\",\"a.b.c\",\"a.1\"]",                                                                           "[2] FieldValueTypeInvalid; [4] FieldValueTypeInvalid; [5] FieldValueTypeInvalid"},
        {"{\"items\":{\"format\":\"uuid4\"}}",
         "[\"5f0c2f1e-9d6c-4a0d-8d86-0c3d2f8a9b11\",\"5F0C2F1E9D6C4A0D8D860C3D2F8A9B11\","
         "\"5f0c2f1e-9d6c-3a0d-8d86-0c3d2f8a9b11\"]",                                                                                         "[2] FieldValueTypeInvalid"                                                      },
        {"{\"items\":{\"format\":\"isbn\"}}",
         "[\"0321751043\",\"978-0321751041\",\"0321751044\"]",                                                                                "[2] FieldValueTypeInvalid"                                                      },
        {"{\"items\":{\"format\":\"creditcard\"}}",
         "[\"4111 1111 1111 1111\",\"4111111111111112\"]",                                                                                    "[1] FieldValueTypeInvalid"                                                      },
        {"{\"items\":{\"format\":\"email\"}}",                                                   "[\"a@b.c\",\"A B <a@b>\",\"a\",\"a b@c\"]",
         "[2] FieldValueTypeInvalid; [3] FieldValueTypeInvalid"                                                                                                                                                                },
        {"{\"items\":{\"format\":\"rgbcolor\"}}",                                                "[\"rgb(1, 20,255)\",\"rgb(1,2,256)\"]",
         "[1] FieldValueTypeInvalid"                                                                                                                                                                                           },
        {"{\"items\":{\"format\":\"mac\"}}",
         "[\"00:00:5e:00:53:01\",\"0000.5e00.5301\",\"00:00:5e:00:53\"]",                                                                     "[2] FieldValueTypeInvalid"                                                      },
    };

    for (size_t i = 0; i < countof(rows); i++) {
        scoped(arena_fini) struct arena a = {0};
        const struct schema *s = compiled(&a, rows[i].schema);
        struct field_errors e = field_errors_in(&a);
        judge(&e, s, NULL, parsed(&a, rows[i].value));
        check_samez(error_lines(&a, &e), rows[i].want);
        schema_compiled_free(s);
    }
}

TEST(list_keys_stand_once)
{
    scoped(arena_fini) struct arena a = {0};
    const struct schema *s = compiled(
        &a, "{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-"
            "keys\":[\"k\"],\"items\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":"
            "\"string\"}}}}");
    struct field_errors e = field_errors_in(&a);
    struct field_path root = field_child(NULL, S("list"));

    structural_check_lists(&e, s, &root,
                           parsed(&a, "[{\"k\":\"a\"},{\"k\":\"b\"},{\"k\":\"a\"}]"));
    check_same(error_lines(&a, &e), S("list[2] FieldValueDuplicate"));
    schema_compiled_free(s);
}

TEST(field_paths_are_declared_or_not)
{
    scoped(arena_fini) struct arena a = {0};
    const struct schema *s =
        compiled(&a, "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
                     "\"properties\":{\"a.b\":{\"type\":\"string\"}}}}}");

    check(structural_has_path(&a, s, S(".spec['a.b']"), false, NULL));
    check(!structural_has_path(&a, s, S(".spec['a.b']"), true, NULL));
    check(!structural_has_path(&a, s, S(".spec.a"), false, NULL));
    check(!structural_has_path(&a, s, S("spec"), false, NULL));
    schema_compiled_free(s);
}

TEST(schemas_that_grow_too_deep_are_refused)
{
    scoped(arena_fini) struct arena a = {0};
    struct buf b = buf_in(&a, 4096);
    struct err err = {0};

    for (int i = 0; i <= COMPILE_MAX_DEPTH; i++)
        buf_add(&b, S("{\"type\":\"array\",\"items\":"));
    buf_add(&b, S("{}"));
    for (int i = 0; i <= COMPILE_MAX_DEPTH; i++)
        buf_add(&b, S("}"));
    const struct json *text = parsed(&a, str_z(&a, buf_str(&b)));
    check(!schema_compile(&a, text, &err));
    check_err(&err, ERR_LIMIT, "deep");
}
