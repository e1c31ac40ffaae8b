/* A text is refused, or what is written of its tree reads back and is written the same again.
 */
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct json_dups dups = {0};
    const struct json *v = json_parse(&a, str_of((const char *)data, size), &dups, NULL);

    if (!v)
        return 0;
    struct str text = json_text(&a, v);
    const struct json *again = json_parse(&a, text, NULL, NULL);
    assert(again);
    if (str_find(text, S("-0")) == STR_NONE) /* a negative zero comes back as an integer */
        assert(str_eq(json_text(&a, again), text));
    v = again; /* large whole doubles are integers now, as in Go */
    assert(json_eq(json_sorted(&a, v), json_copy(&a, v)));
    struct buf pretty = buf_in(&a, text.len);
    json_write_pretty(&pretty, v);
    assert(json_eq(v, json_parse(&a, buf_str(&pretty), NULL, NULL)));
    return 0;
}
