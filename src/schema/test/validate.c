/* validate.c - lists whose items are known by keys: none twice, and each against its former
 * self
 */
#include "schema/validate.h"

#include "base/testing.h"
#include "schema/table.h"

static const struct schema text = {.type = SCHEMA_STRING};
static const struct schema number = {.type = SCHEMA_INT64};
static const struct schema_field fields[] = {
    {.name = S_INIT("k"), .type = &text,   .flags = FIELD_POINTER              },
    {.name = S_INIT("v"), .type = &number, .flags = FIELD_POINTER | FIELD_FIXED},
};
static const struct schema item = {.type = SCHEMA_OBJECT, .n_fields = 2, .fields = fields};
static const struct str key[] = {S_INIT("k")}, both[] = {S_INIT("k"), S_INIT("v")};
static const struct schema by_key = {
    .type = SCHEMA_LIST, .item = &item, .list_type = LIST_MAP, .keys = key, .n_keys = 1};
static const struct schema by_both = {
    .type = SCHEMA_LIST, .item = &item, .list_type = LIST_MAP, .keys = both, .n_keys = 2};
static const struct schema set = {.type = SCHEMA_LIST, .item = &text, .list_type = LIST_SET};

/* A letter an item: its key, or in a set its text; its value is the digit behind it, or 0. */
static const struct json *list_of(struct arena *a, const struct schema *s, const char *letters)
{
    struct json_arr all = arr_in(a);

    for (const char *c = letters; *c; c++) {
        struct json_obj o = obj_in(a);
        struct json k = json_of_str(str_of(c, 1));
        bool has_value = c[1] >= '0' && c[1] <= '9';
        obj_setz(&o, "k", k);
        obj_setz(&o, "v", json_of_i64(has_value ? c[1] - '0' : 0));
        arr_add(&all, s == &set ? k : obj_done(&o));
        c += has_value;
    }
    return json_new(a, arr_done(&all));
}

static struct str paths(struct arena *a, const struct field_errors *e)
{
    struct buf b = buf_in(a, 64);

    vec_each (i, &e->list)
        buf_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(e->list.at[i].path));
    return buf_str(&b);
}

TEST(items_that_stand_twice)
{
    static const struct {
        const char *name;
        const struct schema *schema;
        const char *items, *want;
    } cases[] = {
        {"none",                       &by_key,  "abc",          ""         },
        {"one of few",                 &by_key,  "abca",         "l[3]"     },
        {"each time",                  &by_key,  "aaba",         "l[1] l[3]"},
        {"one of many",                &by_key,  "abcdefghijkc", "l[11]"    },
        {"none of many",               &by_key,  "abcdefghijkl", ""         },
        {"by two keys: one differs",   &by_both, "a1a2b1",       ""         },
        {"by two keys: both the same", &by_both, "a1a2a1",       "l[2]"     },
        {"a set",                      &set,     "abab",         "l[2] l[3]"},
        {"a set of many",              &set,     "abcdefghija",  "l[10]"    },
        {"a set without",              &set,     "abcd",         ""         },
    };
    struct field_path at = field_child(NULL, S("l"));

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(8192);
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].name);
        schema_validate(&e, cases[i].schema, KIND_CUSTOM, &at,
                        list_of(&a, cases[i].schema, cases[i].items), NULL);
        check_samez(paths(&a, &e), cases[i].want);
    }
}

TEST(items_that_moved)
{
    static const struct {
        const char *name, *old, *now, *want;
    } cases[] = {
        {"in their places",         "a1b2c3",               "a1b2c3",               ""      },
        {"in others",               "a1b2c3",               "c3a1b2",               ""      },
        {"one with another value",  "a1b2c3",               "c3a9b2",               "l[1].v"},
        {"a new one is free",       "a1b2",                 "b2a1x9",               ""      },
        {"one in another's place",  "a1b2",                 "x1b2",                 ""      },
        {"of two alike, the first", "a1a2b3",               "b3x0a1",               ""      },
        {"many, in others",         "a1b2c3d4e5f6g7h8i9j1", "j1i9h8g7f6e5d4c3b2a1", ""      },
        {"many, one changed",       "a1b2c3d4e5f6g7h8i9j1", "j1i9h8g7f6e5d4c3b9a1", "l[8].v"},
    };
    struct field_path at = field_child(NULL, S("l"));

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(8192);
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].name);
        schema_validate(&e, &by_key, KIND_NATIVE, &at, list_of(&a, &by_key, cases[i].now),
                        list_of(&a, &by_key, cases[i].old));
        check_samez(paths(&a, &e), cases[i].want);
    }
}

/* ---- what was judged before ---- */

static const struct schema_rules above = {
    .has = RULE_MINIMUM, .minimum = {.type = JSON_INT, .i = 1}
};
static const struct schema positive = {.type = SCHEMA_INT64, .rules = &above};
static const struct schema_field part_fields[] = {
    {.name = S_INIT("n"), .type = &positive}
};

static void no_other(const struct schema_at *at)
{
    if (!json_is_shared(at->v, at->known))
        field_forbidden(at->errors, at->path, "it is new");
}

static const struct schema part = {
    .type = SCHEMA_OBJECT, .n_fields = 1, .fields = part_fields, .check = no_other};
static const struct schema_field whole_fields[] = {
    {.name = S_INIT("a"), .type = &part},
    {.name = S_INIT("b"), .type = &part},
};
static const struct schema whole = {
    .type = SCHEMA_OBJECT, .n_fields = 2, .fields = whole_fields};

TEST(what_is_shared)
{
    static const struct {
        const char *name;
        int style;
        bool is_whole;
        const char *want;
    } cases[] = {
        {"a native kind's is known",            KIND_NATIVE, false, "b"      },
        {"unless other rules let it pass",      KIND_NATIVE, true,  "a.n a b"},
        {"a custom kind's schema lets it pass", KIND_CUSTOM, false, ""       },
        {"whatever rules there were",           KIND_CUSTOM, true,  ""       },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *old =
        json_parse(&a, S("{\"a\":{\"n\":-1},\"b\":{\"n\":3}}"), NULL, NULL);
    const struct json *v = json_with(&a, old, json_of_i64(2), "b", "n", NULL);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct kind k = {.style = (uint8_t)cases[i].style, .schema = &whole};
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].name);
        (cases[i].is_whole ? kind_validate_whole : kind_validate)(&e, &k, v, old);
        check_samez(paths(&a, &e), cases[i].want);
    }
}
