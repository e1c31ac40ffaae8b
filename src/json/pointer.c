/* pointer.c - JSON pointers (RFC 6901) */
#include "json/json.h"

struct str json_pointer_unescape(struct arena *a, struct str token)
{
    struct buf b;

    if (str_index(token, '~') == STR_NONE)
        return token;
    b = buf_in(a, token.len);
    for (size_t i = 0; i < token.len; i++) {
        bool is_escape = token.at[i] == '~' && i + 1 < token.len &&
                         (token.at[i + 1] == '0' || token.at[i + 1] == '1');
        buf_byte(&b, !is_escape ? token.at[i] : token.at[i + 1] == '0' ? '~' : '/');
        i += is_escape;
    }
    return buf_str(&b);
}

/* Does the escaped token mean this name? Without memory. */
static bool token_is(struct str token, struct str name)
{
    size_t at = 0;

    for (size_t i = 0; i < token.len; i++, at++) {
        char c = token.at[i];
        if (c == '~' && i + 1 < token.len && (token.at[i + 1] | 1) == '1')
            c = token.at[++i] == '0' ? '~' : '/';
        if (at >= name.len || name.at[at] != c)
            return false;
    }
    return at == name.len;
}

bool json_pointer_index(struct str token, size_t *out)
{
    uint64_t i;

    if (token.len == 0 || (token.len > 1 && token.at[0] == '0') || !str_to_u64(token, &i))
        return false;
    *out = i;
    return true;
}

static const struct json *step(const struct json *v, struct str token)
{
    size_t i;

    if (json_is(v, JSON_ARRAY))
        return json_pointer_index(token, &i) ? json_at(v, i) : NULL;
    json_each_member (m, v)
        if (token_is(token, m->name))
            return &m->value;
    return NULL;
}

const struct json *json_pointer(const struct json *v, struct str pointer)
{
    struct str token;

    if (pointer.len == 0)
        return v;
    if (pointer.at[0] != '/')
        return NULL;
    pointer = str_slice(pointer, 1, pointer.len);
    for (bool is_more = true; is_more && v;) {
        is_more = str_cut(pointer, '/', &token, &pointer);
        v = step(v, token);
    }
    return v;
}
