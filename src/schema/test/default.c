/* default.c - what tables fill in, by style */
#include "schema/default.h"

#include "base/testing.h"
#include "schema/compile.h"
#include "schema/table.h"

static const struct json *mark(struct arena *a, const struct json *v)
{
    struct json_obj out = obj_from(a, v);

    obj_setz(&out, "mark", json_of_i64(7));
    return json_new(a, obj_done(&out));
}

static const struct json three = {.type = JSON_INT, .i = 3};
static const struct json always = {.type = JSON_STRING, .len = 6, .s = "Always"};
static const struct json empty = {.type = JSON_OBJECT};

static const struct schema plain = {.type = SCHEMA_INT32, .def = &three};
static const struct schema native = {.type = SCHEMA_STRING, .def = &always, .def_native = true};

static const struct schema_field inner_fields[] = {
    {.name = S_INIT("n"), .type = &plain},
    {.name = S_INIT("p"), .type = &plain, .flags = FIELD_POINTER},
    {.name = S_INIT("s"),                   .type = &native              },
};
static const struct schema inner = {
    .type = SCHEMA_OBJECT, .n_fields = 3, .fields = inner_fields, .defaults = mark};
static const struct schema skipped = {.type = SCHEMA_OBJECT,
                                      .n_fields = 3,
                                      .fields = inner_fields,
                                      .skip_defaults = true,
                                      .defaults = mark};
static const struct schema made = {
    .type = SCHEMA_OBJECT, .n_fields = 3, .fields = inner_fields, .def = &empty};
static const struct schema list = {.type = SCHEMA_LIST, .item = &made};
static const struct schema map = {
    .type = SCHEMA_MAP, .additional = ADDITIONAL_SCHEMA, .value = &plain};

static const struct schema_gate off = {.name = S_INIT("Off")};
static const struct schema_field fields[] = {
    {.name = S_INIT("a"), .type = &inner},
    {.name = S_INIT("b"), .type = &made },
    {.name = S_INIT("g"), .type = &plain, .gate = &off},
    {.name = S_INIT("l"),                   .type = &list              },
    {.name = S_INIT("m"),                   .type = &map},
    {.name = S_INIT("x"),                   .type = &skipped              },
};
static const struct schema object = {.type = SCHEMA_OBJECT, .n_fields = 6, .fields = fields};

TEST(default_by_style)
{
    static const struct {
        const char *name, *given, *custom, *native;
    } cases[] = {
        {"an absent object gets nothing",           "{\"b\":null}",                                   "{\"b\":{\"n\":3,\"p\":3}}",
         "{\"b\":{\"n\":3,\"p\":3,\"s\":\"Always\"}}"                                                                                                                                                                                    },
        {"fields of one that is there",             "{\"b\":{},\"a\":{}}",
         "{\"b\":{\"n\":3,\"p\":3},\"a\":{\"n\":3,\"p\":3}}",                                                                                                                            "{\"b\":{\"n\":3,\"p\":3,\"s\":\"Always\"},"
         "\"a\":{\"mark\":7,\"n\":3,\"p\":3,\"s\":\"Always\"}}"                                                                                                             },
        {"a zero that Go cannot tell from nothing", "{\"b\":{\"n\":0,\"p\":0,\"s\":\"\"}}",
         "{\"b\":{\"n\":0,\"p\":0,\"s\":\"\"}}",                                                                                                                                         "{\"b\":{\"n\":3,\"p\":0,\"s\":\"Always\"}}"    },
        {"null is nothing",                         "{\"b\":{\"n\":null,\"p\":1,\"s\":\"x\"}}",
         "{\"b\":{\"n\":3,\"p\":1,\"s\":\"x\"}}",                                                                                                                                        "{\"b\":{\"n\":3,\"p\":1,\"s\":\"x\"}}"         },
        {"null items and values",
         "{\"b\":{\"n\":1,\"p\":1,\"s\":\"x\"},\"l\":[null],"
         "\"m\":{\"k\":null}}",                                                                       "{\"b\":{\"n\":1,\"p\":1,\"s\":\"x\"},\"l\":[{\"n\":3,\"p\":3}],\"m\":{\"k\":3}}",
         "{\"b\":{\"n\":1,\"p\":1,\"s\":\"x\"},\"l\":[{\"n\":3,\"p\":3,\"s\":\"Always\"}],"
         "\"m\":{\"k\":3}}"                                                                                                                                                                                                              },
        {"where they are skipped",                  "{\"b\":{\"n\":1,\"p\":1,\"s\":\"x\"},\"x\":{}}",
         "{\"b\":{\"n\":1,\"p\":1,\"s\":\"x\"},\"x\":{}}",                                                                                                                               "{\"b\":{\"n\":1,\"p\":1,\"s\":\"x\"},\"x\":{}}"},
        {"wrong types are left",                    "{\"b\":3,\"l\":{},\"m\":[]}",                    "{\"b\":3,\"l\":{},\"m\":[]}",
         "{\"b\":3,\"l\":{},\"m\":[]}"                                                                                                                                                                                                   },
    };
    const struct kind custom = {.style = KIND_CUSTOM, .schema = &object};
    const struct kind builtin = {.style = KIND_NATIVE, .schema = &object};

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        const struct json *v = json_parse(&a, str_from(cases[i].given), NULL, NULL);
        test_case(cases[i].name);
        check_samez(json_text(&a, kind_default(&a, &custom, v, NULL)), cases[i].custom);
        check_samez(json_text(&a, kind_default(&a, &builtin, v, NULL)), cases[i].native);
        check_samez(json_text(&a, schema_default(&a, &object, v, NULL, false)),
                    cases[i].custom);
    }
}

TEST(default_shares_what_is_whole)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *v = json_parse(&a, S("{\"b\":{\"n\":1,\"p\":1},\"l\":[]}"), NULL, NULL);

    check(schema_default(&a, &object, v, NULL, false) == v);
}

/* More fields than a set has bits. */
TEST(default_of_many_fields)
{
    static const struct {
        const char *given, *want;
    } cases[] = {
        {"{}",                           "{\"p3\":3,\"p63\":63,\"p64\":64,\"p79\":79}"},
        {"{\"p64\":1}",                  "{\"p64\":1,\"p3\":3,\"p63\":63,\"p79\":79}" },
        {"{\"p79\":null}",               "{\"p79\":79,\"p3\":3,\"p63\":63,\"p64\":64}"},
        {"{\"p63\":1,\"p0\":0,\"x\":5}",
         "{\"p63\":1,\"p0\":0,\"x\":5,\"p3\":3,\"p64\":64,\"p79\":79}"                },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct buf b = buf_in(&a, 4096);

    buf_add(&b, S("{\"type\":\"object\",\"properties\":{"));
    for (int i = 0; i < 80; i++) {
        bool has_default = i == 3 || i == 63 || i == 64 || i == 79;
        buf_printf(&b, "%s\"p%d\":{\"type\":\"integer\"", i ? "," : "", i);
        if (has_default)
            buf_printf(&b, ",\"default\":%d", i);
        buf_byte(&b, '}');
    }
    buf_add(&b, S("}}"));
    const struct schema *s = schema_compile(&a, json_parse(&a, buf_str(&b), NULL, NULL), NULL);
    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *v = json_parse(&a, str_from(cases[i].given), NULL, NULL);
        test_case(cases[i].given);
        check_samez(json_text(&a, schema_default(&a, s, v, NULL, false)), cases[i].want);
    }
    schema_compiled_free(s);
}
