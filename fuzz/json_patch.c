/* The first line is a document, the rest a patch: both inputs stay as they are, a result is no
 * deeper than a text may be, and a merge patch made from two documents makes one of the other.
 */
#include "json/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_result(struct arena *a, const struct json *v)
{
    if (v)
        assert(json_parse(a, json_text(a, v), NULL, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct str head, tail;

    str_cut(str_of((const char *)data, size), '\n', &head, &tail);
    const struct json *doc = json_parse(&a, head, NULL, NULL);
    const struct json *patch = json_parse(&a, tail, NULL, NULL);
    if (!doc || !patch)
        return 0;
    struct str doc_before = json_text(&a, doc), patch_before = json_text(&a, patch);
    check_result(&a, json_patch(&a, doc, patch, NULL));
    check_result(&a, json_merge_patch(&a, doc, patch));
    const struct json *diff = json_merge_diff(&a, doc, patch);
    if (json_is(doc, JSON_OBJECT) && json_is(patch, JSON_OBJECT)) {
        const struct json *made = json_merge_patch(&a, doc, diff);
        assert(json_len(json_merge_diff(&a, made, json_merge_patch(&a, doc, diff))) == 0);
    }
    assert(str_eq(json_text(&a, doc), doc_before));
    assert(str_eq(json_text(&a, patch), patch_before));
    return 0;
}
