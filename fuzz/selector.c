/* A selector is refused, or what is printed of it reads back and prints the same; a selector
 * made of labels matches them. */
#include "value/selector.h"

static struct str get(void *ctx, struct str field)
{
    (void)field;
    return *(struct str *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct str text = str_of((const char *)data, size), value = S("x");
    struct selector s, again;
    struct field_selector f, f_again;
    const struct json *tree;

    if (selector_parse(&a, text, &s, NULL) == 0) {
        struct str once = selector_text(&a, &s);
        assert(selector_parse(&a, once, &again, NULL) == 0);
        assert(str_eq(selector_text(&a, &again), once));
        selector_matches_json(&s, NULL);
    }
    if (field_selector_parse(&a, text, &f, NULL) == 0) {
        /* parts are sorted as they are written: the second text is the stable one */
        struct str once = field_selector_text(&a, &f);
        assert(field_selector_parse(&a, once, &f_again, NULL) == 0);
        assert(f_again.len == f.len);
        once = field_selector_text(&a, &f_again);
        assert(field_selector_parse(&a, once, &f_again, NULL) == 0);
        assert(str_eq(field_selector_text(&a, &f_again), once));
        field_selector_matches(&f, get, &value);
    }
    if ((tree = json_parse(&a, text, NULL, NULL))) {
        struct field_errors e = field_errors_in(&a);
        struct str_map labels = str_map_of(&a, tree);
        s = selector_of_map(&a, &labels);
        assert(selector_matches(&s, &labels));
        selector_check_json(&e, NULL, tree);
        if (selector_of_json(&a, tree, &s, NULL) == 0)
            selector_matches_json(&s, tree);
    }
    return 0;
}
