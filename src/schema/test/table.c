/* table.c - fields are found by name, in and out of order; presence maps */
#include "schema/table.h"
#include "base/testing.h"
#include "schema/view.h"

static const struct schema text = {.type = SCHEMA_STRING};
static const struct schema number = {.type = SCHEMA_INT32};

static const struct schema_field fields[] = {
    {.name = S_INIT("spec"),     .type = &text  },
    {.name = S_INIT("kind"),     .type = &number},
    {.name = S_INIT("a"),        .type = &text  },
    {.name = S_INIT("metadata"), .type = &text  },
};
static const struct schema object = {.type = SCHEMA_OBJECT, .n_fields = 4, .fields = fields};

TEST(table_field)
{
    static const char *const absent[] = {"", "b", "kine", "spea", "metadat", "metadata_"};

    for (size_t i = 0; i < countof(fields); i++) {
        test_case(fields[i].name.at);
        check(schema_field(&object, fields[i].name) == &fields[i]);
    }
    for (size_t i = 0; i < countof(absent); i++) {
        test_case(absent[i]);
        check(!schema_field(&object, str_from(absent[i])));
    }
}

TEST(table_values)
{
    static const struct {
        const char *text, *want; /* of each field, in their order */
    } cases[] = {
        {"{}",                                             "- - - - "},
        {"{\"spec\":1,\"kind\":2,\"a\":3,\"metadata\":4}", "1 2 3 4 "},
        {"{\"kind\":2,\"metadata\":4}",                    "- 2 - 4 "},
        {"{\"metadata\":4,\"a\":3,\"spec\":1}",            "1 - 3 4 "},
        {"{\"spec\":1,\"x\":9,\"a\":3}",                   "1 - 3 - "},
        {"{\"spec\":1,\"a\":3,\"x\":9}",                   "1 - 3 - "},
        {"[1]",                                            "- - - - "},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].text);
        const struct json *v = json_parse(&a, str_from(cases[i].text), NULL, NULL);
        uint64_t want = 0;
        struct schema_values values;
        schema_values(&values, &a, &object, v);
        struct buf b = buf_in(&a, 64);
        for (size_t k = 0; k < object.n_fields; k++) {
            const struct json *x = schema_value(&values, k);
            want |= x ? UINT64_C(1) << k : 0;
            buf_printf(&b, "%.*s ", STR_ARG(x ? json_text(&a, x) : S("-")));
        }
        check_same(buf_str(&b), str_from(cases[i].want));
        check_int((int64_t)values.given, (int64_t)want);
    }
}

TEST(table_place_is_a_hint)
{
    static const struct {
        const char *name;
        uint16_t place;
        const char *want;
    } cases[] = {
        {"kind", 0,     "- 5 - - "}, /* not known */
        {"kind", 2,     "- 5 - - "}, /* right */
        {"kind", 1,     "- 5 - - "}, /* of another object, whose field is as long */
        {"kind", 4,     "- 5 - - "},
        {"kind", 60000, "- 5 - - "},
        {"x",    3,     "- - - - "},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct json_member m = {str_from(cases[i].name), json_of_i64(5)};
        m.value.place = cases[i].place;
        struct json v = {.type = JSON_OBJECT, .len = 1, .members = &m};
        struct schema_values values;
        schema_values(&values, &a, &object, &v);
        struct buf b = buf_in(&a, 64);
        test_case(cases[i].want);
        for (size_t k = 0; k < object.n_fields; k++) {
            const struct json *x = schema_value(&values, k);
            buf_printf(&b, "%.*s ", STR_ARG(x ? json_text(&a, x) : S("-")));
        }
        check_same(buf_str(&b), str_from(cases[i].want));
    }
}

TEST(table_sets)
{
    static const struct {
        uint64_t set;
        int n_fields;
        const char *want;
    } cases[] = {
        {0,              3,  ""        },
        {0x5,            3,  "0 2 "    },
        {0x5,            2,  "0 "      },
        {1ull << 63 | 1, 64, "0 63 "   },
        {0x2,            66, "1 64 65 "}, /* what cannot be in a set is always met */
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct schema s = {.n_fields = (uint16_t)cases[i].n_fields};
        struct buf b = buf_in(&a, 64);
        test_case(cases[i].want);
        schema_each_in (k, &s, cases[i].set)
            buf_printf(&b, "%zu ", k);
        check_same(buf_str(&b), str_from(cases[i].want));
    }
}

TEST(table_member)
{
    static const struct schema map = {.type = SCHEMA_MAP, .value = &number};

    check(schema_member(&object, S("kind")) == &number);
    check(!schema_member(&object, S("x")));
    check(schema_member(&map, S("x")) == &number);
}

struct thing {
    uint64_t set, null;
    int32_t count;
    struct str name;
    char count_bit_[0][1], name_bit_[0][2];
};

TEST(view_presence)
{
    struct thing t = {0};

    check(!IS_SET(&t, count));
    SET(&t, name, S("a"));
    check_int(t.set, 2);
    CLEAR(&t, name);
    check_int(t.set, 0);
    check_int(t.null, 2);
    check(IS_CLEARED(&t, name) && t.name.len == 0);
    SET(&t, name, S("b"));
    check(IS_SET(&t, name) && !IS_CLEARED(&t, name));
    SET(&t, count, 0);
    check_int(t.set, 3);
    UNSET(&t, name);
    check_int(t.set, 1);
    check_int(sizeof(t), 40);
}
