/* A pattern that one pass decides decides as RE2 does: the input is a pattern, a zero byte and
 * a text.
 */
#include "cel/scan_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 12);
    struct str all = {(const char *)data, size}, pattern, text;

    if (!str_cut(all, '\0', &pattern, &text) || !str_is_utf8(text) || size > 300)
        return 0;
    struct regex *re = regex_new(pattern, NULL);
    const struct scan *s = re ? scan_new(&a, pattern) : NULL;
    if (s)
        assert(scan_match(s, text) == regex_match(re, text));
    regex_free(re);
    return 0;
}
