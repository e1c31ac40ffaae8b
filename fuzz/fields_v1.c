/* A field set is refused, or written and read again it is the same set, whether its text was
 * parsed or not; and the algebra of two
 * sets (one a line) keeps its laws. */
#include "schema/fieldset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_set(struct arena *a, struct str text, struct fieldset *out)
{
    const struct json *v = json_parse(a, text, NULL, NULL);

    if (!v)
        return false;
    struct json raw = json_of_raw(json_text(a, v));
    struct fieldset x = {0};
    int as_tree = fieldset_read(a, v, out, NULL);
    if (v->type == JSON_OBJECT) {
        assert(fieldset_read(a, &raw, &x, NULL) == as_tree);
        assert(as_tree < 0 || fieldset_eq(x, *out));
        assert(as_tree < 0 || out->n == 0 || fieldset_names_any(&raw, *out));
    }
    return as_tree == 0;
}

static void check_again(struct arena *a, struct fieldset x)
{
    struct json v = fieldset_write(a, x);
    struct fieldset y = {0};

    assert(read_set(a, json_text(a, &v), &y));
    struct json w = fieldset_write(a, y);
    assert(str_eq(json_text(a, &v), json_text(a, &w)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct fieldset x = {0}, y = {0};
    struct str head, tail;

    str_cut(str_of((const char *)data, size), '\n', &head, &tail);
    if (!read_set(&a, head, &x))
        return 0;
    check_again(&a, x);
    if (!read_set(&a, tail, &y))
        return 0;
    struct fieldset both = fieldset_union(&a, x, y), common = fieldset_intersection(&a, x, y);
    assert(fieldset_eq(both, fieldset_union(&a, y, x)));
    assert(fieldset_within(x, both) && fieldset_within(common, x) &&
           fieldset_within(common, y));
    assert(fieldset_eq(fieldset_union(&a, fieldset_difference(&a, x, y), common), x));
    assert(fieldset_count(both) + fieldset_count(common) ==
           fieldset_count(x) + fieldset_count(y));
    assert(fieldset_within(fieldset_recursive_difference(&a, x, y),
                           fieldset_difference(&a, x, y)));
    assert(fieldset_within(fieldset_leaves(&a, x), x));
    return 0;
}
