/* field_manager.c - under which name a write is recorded */
#include "api/field_manager.h"

#include "value/printable.h"

struct str field_manager_name(struct arena *a, struct str given, struct str user_agent)
{
    struct str product, rest;
    struct buf out = buf_in(a, FIELD_MANAGER_MAX);

    if (given.len)
        return given;
    str_cut(user_agent, '/', &product, &rest);
    for (size_t i = 0; i < product.len;) {
        size_t from = i;
        int32_t rune = str_rune(product, &i);
        struct str bytes = rune < 0 ? S("\xEF\xBF\xBD") : str_slice(product, from, i);
        if (!rune_is_printable(rune < 0 ? 0xFFFD : rune))
            continue;
        if (out.len + bytes.len > FIELD_MANAGER_MAX)
            break;
        buf_add(&out, bytes);
    }
    return buf_str(&out);
}
