/* field_error.c - what is wrong with which field, in Kubernetes' words */
#include "value/field_error.h"

#include "base/testing.h"

TEST(field_path_text)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct field_path spec = field_child(NULL, S("spec"));
    struct field_path list = field_child(&spec, S("containers"));
    struct field_path item = field_item(&list, 2);
    struct field_path limits = field_child(&item, S("limits"));
    struct field_path key = field_key(&limits, S("nvidia.com/gpu"));

    check_same(field_path_text(&a, &key), S("spec.containers[2].limits[nvidia.com/gpu]"));
    check_same(field_path_text(&a, NULL), S("<nil>"));
}

TEST(field_errors_read_as_upstream)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct field_errors e = field_errors_in(&a);
    struct field_path p = field_child(NULL, S("x"));
    struct json minus = json_of_i64(-1), text = json_of_z("a\"b");
    struct json allowed[] = {json_of_z("A"), json_of_z("B")};

    field_invalid(&e, &p, &minus, "must be greater than or equal to %d", 0);
    check_same(field_errors_text(&a, &e),
               S("x: Invalid value: -1: must be greater than or equal to 0"));
    field_required(&e, &p, "%s", "");
    field_not_supported(&e, &p, &text, allowed, 2);
    field_duplicate(&e, &p, &text);
    field_too_long(&e, &p, &text, 63);
    field_too_many(&e, &p, 9, 8);
    check_same(field_errors_text(&a, &e),
               S("[x: Invalid value: -1: must be greater than or equal to 0, "
                 "x: Required value, "
                 "x: Unsupported value: \"a\\\"b\": supported values: \"A\", \"B\", "
                 "x: Duplicate value: \"a\\\"b\", "
                 "x: Too long: may not be more than 63 bytes, "
                 "x: Too many: 9: must have at most 8 items]"));
    check_same(field_error_reason(e.list.at[2].type), S("FieldValueNotSupported"));
}

TEST(field_errors_are_bounded)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct field_errors e = field_errors_in(&a);
    struct field_path p = field_child(NULL, S("x"));

    for (int i = 0; i < FIELD_ERRORS_MAX + 5; i++)
        field_required(&e, &p, "%d", i);
    check_int(e.list.len, FIELD_ERRORS_MAX);
    check(str_ends(field_errors_text(&a, &e), S("Required value: 999, and 5 more]")));
}

/* What is wrong with each of many items may be told with the whole list. */
TEST(field_errors_are_bounded_in_bytes)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct field_errors e = field_errors_in(&a);
    struct field_path p = field_child(NULL, S("x"));
    struct json_arr list = arr_in(&a);

    for (int64_t i = 0; i < 50000; i++)
        arr_add(&list, json_of_i64(i));
    struct json v = arr_done(&list);
    for (int i = 0; i < 500; i++)
        field_invalid(&e, &p, &v, "item %d", i);
    check_int(e.list.len, 3); /* of 450,000 bytes each, by the count */
    check_int(e.n_dropped, 497);
    check(field_errors_text(&a, &e).len < 2 * FIELD_ERRORS_MAX_BYTES);
}
