/* fieldset.c - sets of fields: FieldsV1, order, algebra */
#include "schema/fieldset.h"
#include "thing_priv.h"

/* Read as a tree, and as the text that it is written as. */
static struct fieldset set_of(struct arena *a, const char *z)
{
    struct fieldset s = {0}, from_text = {0};
    struct err err = {0};
    const struct json *v = thing_parse(a, z);
    struct json raw = json_of_raw(json_text(a, v));

    if (fieldset_read(a, v, &s, &err) < 0 || fieldset_read(a, &raw, &from_text, &err) < 0)
        check_same(err_str(&err), S(""));
    check(fieldset_eq(s, from_text));
    return s;
}

static void check_set(struct arena *a, struct fieldset got, const char *want)
{
    struct json v = fieldset_write(a, got);

    check_same(json_text(a, &v), json_text(a, thing_parse(a, want)));
}

TEST(fieldset_read)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"fields are sorted",                            "{'f:b':{},'f:a':{'f:c':{},'.':{}}}",
         "{'f:a':{'.':{},'f:c':{}},'f:b':{}}"                                                                                                                                           },
        {"kinds in their order",                         "{'i:1':{},'v:1':{},'k:{\\'a\\':1}':{},'f:x':{}}",
         "{'f:x':{},'k:{\\'a\\':1}':{},'v:1':{},'i:1':{}}"                                                                                                                              },
        {"one element by two names",                     "{'v:3':{'f:a':{}},'v: 3':{},'v:3.0':{'f:b':{}}}",
         "{'v:3':{'.':{},'f:b':{}}}"                                                                                                                                                    },
        {"keys are sorted by name",                      "{'k:{\\'b\\':1, \\'a\\':\\'x\\'}':{}}",
         "{'k:{\\'a\\':\\'x\\',\\'b\\':1}':{}}"                                                                                                                                         },
        {"kinds of the future are ignored",              "{'f:a':{'z:b':{}},'y:c':{}}",                     "{'f:a':{}}"                                                                },
        {"null is a leaf",                               "{'f:a':null}",                                    "{'f:a':{}}"                                                                },
        {"the root is no member",                        "{'.':{},'f:a':{}}",                               "{'f:a':{}}"                                                                },
        {"numbers by value, then texts, booleans, null",
         "{'v:null':{},'v:true':{},'v:\\'a\\'':{},'v:10':{},'v:9.5':{},'v:false':{}}",                      "{'v:9.5':{},'v:10':{},'v:\\'a\\'':{},'v:false':{},'v:true':{},'v:null':{}}"},
        {"what HTML minds is escaped inside values",     "{'v:\\'<&\\'':{},'f:<':{}}",
         "{'f:<':{},'v:\\'\\\\u003c\\\\u0026\\'':{}}"                                                                                                                                   },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_set(&a, set_of(&a, cases[i].text), cases[i].want);
    }
}

TEST(fieldset_read_deep)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct buf text = buf_in(&a, 4096);

    for (int i = 0; i < 300; i++)
        buf_add(&text, S("{'f:a':"));
    buf_add(&text, S("{}"));
    for (int i = 0; i < 300; i++)
        buf_add(&text, S("}"));
    buf_byte(&text, 0);
    check_int(fieldset_count(set_of(&a, text.at)), 1);
}

TEST(fieldset_names_any)
{
    static const struct {
        const char *fields, *set;
        bool is_any;
    } rows[] = {
        {"{'f:a':{}}",                                  "{'f:a':{}}",                   true },
        {"{'f:a':{}}",                                  "{'f:b':{}}",                   false},
        {"{'f:a':{'f:x':{}},'f:b':{'f:y':{}}}",         "{'f:b':{'f:z':{}}}",           false},
        {"{'f:a':{'f:x':{}},'f:b':{'f:y':{}}}",         "{'f:b':{'f:y':{}}}",           true },
        {"{'f:a':{'f:x':{}},'f:b':{'f:y':{}}}",         "{'f:a':{'.':{},'f:z':{}}}",    true },
        {"{'f:a':{'k:{\\'n\\':\\'}\\'}':{}},'f:b':{}}", "{'f:b':{}}",                   true },
        {"{'f:a':{'k:{\\'n\\':\\'}\\'}':{}},'f:b':{}}", "{'f:a':{'f:n':{}}}",           false},
        {"{'f:a':{'k:{\\'n\\':\\'}\\'}':{}},'f:b':{}}", "{'f:a':{'k:{\\'n\\':1}':{}}}", true },
        {"{'f:a':{'.':{},'f:b':{}}}",                   "{'f:a':{'f:c':{}}}",           false},
        {"{'f:':{'f:a':{}}}",                           "{'f:':{'f:a':{}}}",            true },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(rows); i++) {
        struct json raw = json_of_raw(json_text(&a, thing_parse(&a, rows[i].fields)));
        test_case(rows[i].set);
        check(fieldset_names_any(&raw, set_of(&a, rows[i].set)) == rows[i].is_any);
        test_case("a tree is not looked through");
        check(fieldset_names_any(thing_parse(&a, rows[i].fields), set_of(&a, rows[i].set)));
    }
}

TEST(fieldset_read_refuses)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"[]",           "must be an object"     },
        {"{'f:a':[]}",   "must be an object"     },
        {"{'f:a':1}",    "must be an object"     },
        {"{'x':{}}",     "is no name"            },
        {"{'':{}}",      "is no name"            },
        {"{'i:x':{}}",   "is no index"           },
        {"{'i: 1':{}}",  "is no index"           },
        {"{'k:[]':{}}",  "must be an object"     },
        {"{'k:{}x':{}}", "key of a list's item"  },
        {"{'v:':{}}",    "value of a list's item"},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        struct fieldset s;
        struct err err = {0};
        test_case(cases[i].text);
        check_int(fieldset_read(&a, thing_parse(&a, cases[i].text), &s, &err), -1);
        check_err(&err, ERR_SYNTAX, cases[i].why);
    }
}

TEST(fieldset_algebra)
{
    static const char x[] = "{'f:a':{'.':{},'f:b':{}},'f:c':{'f:d':{}},'v:1':{}}";
    static const char y[] = "{'f:a':{},'f:c':{'f:d':{'f:e':{}},'f:g':{}},'v:2':{}}";
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct fieldset s = set_of(&a, x), t = set_of(&a, y), none = {0};

    check_set(&a, fieldset_union(&a, s, t),
              "{'f:a':{'.':{},'f:b':{}},'f:c':{'f:d':{'.':{},'f:e':{}},'f:g':{}},"
              "'v:1':{},'v:2':{}}");
    check_set(&a, fieldset_intersection(&a, s, t), "{'f:a':{}}");
    check_set(&a, fieldset_difference(&a, s, t),
              "{'f:a':{'f:b':{}},'f:c':{'f:d':{}},'v:1':{}}");
    check_set(&a, fieldset_recursive_difference(&a, s, t), "{'f:c':{'f:d':{}},'v:1':{}}");
    check_set(&a, fieldset_leaves(&a, s), "{'f:a':{'f:b':{}},'f:c':{'f:d':{}},'v:1':{}}");
    check_set(&a, fieldset_difference(&a, s, s), "{}");
    check_set(&a, fieldset_union(&a, none, t), y);
    check_int(fieldset_count(s), 4);
    check(fieldset_within(fieldset_intersection(&a, s, t), s));
    check(!fieldset_within(s, t) && fieldset_within(none, t));
    check(fieldset_eq(s, set_of(&a, x)) && !fieldset_eq(s, t));
}

TEST(fieldset_include)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct fieldset s =
        set_of(&a, "{'f:spec':{'f:items':{'i:0':{'f:a':{},'f:b':{}},'i:1':{'f:b':{}}}},"
                   "'f:status':{'f:x':{}}}");
    struct err err = {0};
    struct fieldset out;

    check_int(fieldset_include(&a, s,
                               thing_parse(&a, "{'f:spec':{'f:items':{'*':{'f:a':{}}}}}"), &out,
                               &err),
              0);
    check_set(&a, out, "{'f:spec':{'f:items':{'i:0':{'f:a':{}}}}}");
    check_int(fieldset_include(&a, s, thing_parse(&a, "{'f:status':{}}"), &out, &err), 0);
    check_set(&a, out, "{'f:status':{'f:x':{}}}");
    check_int(fieldset_include(&a, s, thing_parse(&a, "{'status':{}}"), &out, &err), -1);
    check_err(&err, ERR_SYNTAX, "is no name");
}

static int join(void *ctx, const struct element *path, size_t n)
{
    scoped(arena_fini) struct arena a = arena_sized(256);

    buf_printf(ctx, "%.*s ", STR_ARG(element_path(&a, path, n)));
    return 0;
}

TEST(fieldset_each)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct buf b = buf_in(&a, 256);

    fieldset_each(set_of(&a, "{'f:a b':{'k:{\\'n\\':\\'x\\\\n\\',\\'p\\':8}':{'.':{},"
                             "'v:true':{}},'i:2':{}}}"),
                  join, &b);
    check_samez(buf_str(&b), ".a b[n=\"x\\n\",p=8] .a b[n=\"x\\n\",p=8][=true] .a b[2] ");
}

TEST(fieldset_with)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct element path[] = {element_field(S("a")), element_field(S("b"))};
    struct fieldset s = {0};

    s = fieldset_with(&a, s, path, 2);
    check_set(&a, s, "{'f:a':{'f:b':{}}}");
    s = fieldset_with(&a, s, path, 1);
    check_set(&a, s, "{'f:a':{'.':{},'f:b':{}}}");
    check(fieldset_eq(fieldset_with(&a, s, path, 2), s));
}
