/* large.c - what is long, deep or grows: done in time that grows with it, or refused before it
 * is given memory. A look at each pair of items would need minutes here. */
#include "base/testing.h"
#include "schema/compile.h"
#include "schema/conform.h"
#include "schema/default.h"
#include "schema/judge.h"
#include "schema/strategic.h"
#include "schema/structural.h"
#include "schema/table.h"
#include "schema/typed.h"
#include "schema/validate.h"

#define MANY 50000

static const struct json *parsed(struct arena *a, const char *text)
{
    struct err err = {0};
    const struct json *v = json_parse(a, str_from(text), NULL, &err);

    check_same(err_str(&err), S(""));
    return v;
}

static const struct schema *compiled(struct arena *a, const char *text)
{
    return schema_compile(a, parsed(a, text), NULL);
}

/* {"l": [item, item, ...]}: a # in the item is its number. */
static const struct json *list_of(struct arena *a, size_t n, const char *item, bool backwards)
{
    struct buf b = buf_in(a, n * 32);

    buf_add(&b, S("{\"l\":["));
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_byte(&b, ',');
        for (const char *c = item; *c; c++)
            if (*c == '#')
                buf_printf(&b, "%zu", backwards ? n - 1 - i : i);
            else
                buf_byte(&b, *c);
    }
    buf_add(&b, S("]}"));
    return parsed(a, str_z(a, buf_str(&b)));
}

static const char map_list[] =
    "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\","
    "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"k\"],\"items\":"
    "{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"},\"v\":"
    "{\"type\":\"integer\",\"maximum\":1000000}}}}}}";

TEST(a_long_list_in_another_order)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    const struct schema *s = compiled(&a, map_list);
    const struct json *v = list_of(&a, MANY, "{\"k\":\"x#\",\"v\":#}", false);
    const struct json *old = list_of(&a, MANY, "{\"k\":\"x#\",\"v\":#}", true);
    struct field_errors e = field_errors_in(&a);
    struct typed_changes c;
    struct err err = {0};

    schema_validate(&e, s, KIND_NATIVE, NULL, v, old);
    schema_validate(&e, s, KIND_CUSTOM, NULL, v, old);
    structural_check_lists(&e, s, NULL, v);
    check_int(e.list.len, 0);
    check_int(typed_compare(&a, s, old, v, &c, &err), 0);
    check_int(c.modified.n + c.added.n + c.removed.n, 0);
    schema_compiled_free(s);
}

/* What an item shares with the one it was is not judged again, wherever that stood. */
TEST(items_that_moved_are_known)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    const struct schema *s = compiled(&a, map_list);
    const struct json *v = list_of(&a, MANY, "{\"k\":\"x#\",\"v\":2000000}", false);
    const struct json *l = json_getz(v, "l");
    struct json_arr moved = arr_in(&a);
    struct field_errors e = field_errors_in(&a);

    json_each (i, l)
        arr_add(&moved, *json_at(l, l->len - 1 - i));
    schema_validate(&e, s, KIND_CUSTOM, NULL, json_with(&a, v, arr_done(&moved), "l", NULL), v);
    check_int(e.list.len, 0);
    schema_validate(&e, s, KIND_CUSTOM, NULL, v, NULL);
    check(e.list.len > 100);
    schema_compiled_free(s);
}

TEST(a_long_list_of_repeated_keys)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    const struct schema *s = compiled(&a, map_list);
    const struct json *same = list_of(&a, MANY, "{\"k\":\"x\",\"v\":1}", false);
    const struct json *other = list_of(&a, MANY, "{\"k\":\"x\",\"v\":1}", true);
    struct field_errors e = field_errors_in(&a);
    struct typed_changes c;

    check_int(typed_compare(&a, s, same, other, &c, NULL), 0);
    check_int(c.modified.n, 0);
    structural_check_lists(&e, s, NULL, same);
    check_int(e.list.len, 1); /* a key is told once */
    schema_compiled_free(s);
}

TEST(a_set_of_large_objects)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    const struct schema *s =
        compiled(&a, "{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":"
                     "{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\"}}");
    struct json_obj up = obj_in(&a), down = obj_in(&a);
    struct json_arr set = arr_in(&a);
    struct field_errors e = field_errors_in(&a);

    for (int i = 0; i < MANY; i++) {
        obj_add(&up, str_printf(&a, "m%d", i), json_of_i64(i));
        obj_add(&down, str_printf(&a, "m%d", MANY - 1 - i), json_of_i64(MANY - 1 - i));
    }
    arr_add(&set, obj_done(&up));
    arr_add(&set, obj_done(&down));
    struct json v = arr_done(&set);
    structural_check_lists(&e, s, NULL, &v);
    check_int(e.list.len, 1);
    schema_compiled_free(s);
}

TEST(a_patch_that_takes_out_many_members)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    static const struct schema any = {.type = SCHEMA_STRING};
    static const struct schema map = {
        .type = SCHEMA_MAP, .additional = ADDITIONAL_SCHEMA, .value = &any};
    struct json_obj live = obj_in(&a), patch = obj_in(&a);
    struct err err = {0};

    for (int i = 0; i < MANY; i++) {
        struct str name = str_printf(&a, "m%d", i);
        obj_add(&live, name, json_of_z("x"));
        if (i != 7)
            obj_add(&patch, name, json_of_null());
    }
    const struct json *l = json_new(&a, obj_done(&live)), *p = json_new(&a, obj_done(&patch));
    const struct json *got = schema_strategic_apply(&a, &map, l, p, &err);
    check_samez(json_text(&a, got), "{\"m7\":\"x\"}");
    check_int(json_len(schema_strategic_diff(&a, &map, l, got, &err)), MANY - 1);
}

/* Branches multiply with items: 300 x 50,000 x 2 nodes are over the limit. */
TEST(branches_that_multiply)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct buf b = buf_in(&a, 65536);
    struct field_errors e = field_errors_in(&a);

    buf_add(&b, S("{\"properties\":{\"l\":{\"items\":{\"anyOf\":["));
    for (int i = 0; i < 300; i++)
        buf_printf(&b, "%s{\"allOf\":[{\"enum\":[%d,\"x\"]}]}", i ? "," : "", -1 - i);
    buf_add(&b, S("]}}}}"));
    const struct schema *s = compiled(&a, str_z(&a, buf_str(&b)));
    check(!judge(&e, s, NULL, list_of(&a, MANY, "#", false)));
    check_int(e.list.len, 1);
    check_same(e.list.at[0].detail,
               S("it takes more than 10000000 steps to judge it by its schema"));
    e = field_errors_in(&a);
    check(judge(&e, s, NULL, list_of(&a, 5, "\"x\"", false)));
    check_int(e.list.len, 0);
    schema_compiled_free(s);
}

/* Each bad item would tell the long pattern, or all the words of a long enum. */
TEST(long_rules_of_many_items)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct buf pattern = buf_in(&a, MANY + 100), words = buf_in(&a, MANY * 4);

    buf_add(&pattern, S("{\"properties\":{\"l\":{\"items\":{\"pattern\":\"^"));
    buf_add(&words, S("{\"properties\":{\"l\":{\"items\":{\"enum\":[1"));
    for (int i = 0; i < MANY / 2; i++)
        buf_add(&words, S(",100"));
    for (int i = 0; i < MANY; i++)
        buf_byte(&pattern, 'a');
    buf_add(&pattern, S("$\"}}}}"));
    buf_add(&words, S("]}}}}"));
    for (int i = 0; i < 2; i++) {
        struct field_errors e = field_errors_in(&a);
        const struct schema *s = compiled(&a, str_z(&a, buf_str(i ? &words : &pattern)));
        size_t before = a.total;
        judge(&e, s, NULL, list_of(&a, MANY, "\"#\"", false));
        check(e.list.len >= 1 && e.n_bytes < 3 * FIELD_ERRORS_MAX_BYTES);
        check(a.total - before < (size_t)256 << 20);
        schema_compiled_free(s);
    }
}

/* Refused when they are counted, before the first node is made. */
TEST(schemas_of_too_many_nodes)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct json_obj properties = obj_in(&a), s = obj_in(&a);
    struct json_arr branches = arr_in(&a);
    struct err err = {0};

    for (int i = 0; i <= COMPILE_MAX_NODES; i++) {
        obj_add(&properties, str_printf(&a, "p%d", i), obj_done(&(struct json_obj){0}));
        arr_add(&branches, obj_done(&(struct json_obj){0}));
    }
    obj_setz(&s, "properties", obj_done(&properties));
    struct json wide = obj_done(&s);
    s = obj_in(&a);
    obj_setz(&s, "anyOf", arr_done(&branches));
    struct json branched = obj_done(&s);
    size_t before = a.total;
    check(!schema_compile(&a, &wide, &err));
    check_err(&err, ERR_LIMIT, "over 50000 nodes");
    check(!schema_compile(&a, &branched, &err));
    check_int(a.total, before);
}

/* 200 defaults for each of 50,000 items. */
TEST(defaults_that_multiply)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct buf b = buf_in(&a, 65536);

    buf_add(&b, S("{\"properties\":{\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
                  "\"properties\":{"));
    for (int i = 0; i < 200; i++)
        buf_printf(&b, "%s\"p%d\":{\"default\":\"some text\"}", i ? "," : "", i);
    buf_add(&b, S("}}}}}"));
    const struct schema *s = compiled(&a, str_z(&a, buf_str(&b)));
    check(!schema_default(&a, s, list_of(&a, MANY, "{}", false), NULL, false));
    check(a.total < (size_t)1 << 30);
    const struct json *few = schema_default(&a, s, list_of(&a, 2, "{}", false), NULL, false);
    check_int(json_len(json_at(json_getz(few, "l"), 1)), 200);
    schema_compiled_free(s);
}

/* A kind whose nodes form a cycle is as deep as the text says. */
TEST(depth_is_bounded)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    static struct schema_field fields[1];
    static const struct schema s = {
        .type = SCHEMA_OBJECT, .n_fields = 1, .fields = fields, .name = S_INIT("Thing")};
    struct json v = json_of_null();
    struct field_errors e = field_errors_in(&a);
    struct err err = {0};

    fields[0] = (struct schema_field){.name = S("x"), .type = &s, .flags = FIELD_POINTER};
    for (int i = 0; i < JSON_MAX_DEPTH; i++) {
        struct json_obj o = obj_in(&a);
        obj_setz(&o, "x", v);
        v = obj_done(&o);
    }
    check(!schema_conform(&a, &s, &v, NULL, NULL, &err));
    check_err(&err, ERR_LIMIT, "more than 100 deep");
    schema_validate(&e, &s, KIND_NATIVE, NULL, &v, NULL);
    check_int(e.list.len, 1);
    check_same(e.list.at[0].detail, S("nested more than 200 deep"));
    e = field_errors_in(&a);
    judge(&e, &s, NULL, &v);
    check_same(e.list.at[0].detail, S("is nested too deep"));
}
