/* uids.c - sets of fields that differ in one uid */
#include "schema/uids.h"

#define FIRST_DASH 8 /* of a uid */

static bool is_uid(const char *at)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; i < UID_LEN; i++) {
        bool is_hex = (at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f');
        if (form[i] == '-' ? at[i] != '-' : !is_hex)
            return false;
    }
    return true;
}

struct str uid_find(struct str text)
{
    for (size_t from = FIRST_DASH; from < text.len;) {
        size_t dash = str_index(str_slice(text, from, text.len), '-');
        if (dash == STR_NONE)
            break;
        size_t start = from + dash - FIRST_DASH;
        if (text.len - start >= UID_LEN && is_uid(text.at + start))
            return str_slice(text, start, start + UID_LEN);
        from += dash + 1;
    }
    return str_of(NULL, 0);
}

struct str uid_swap(struct arena *a, struct str text, struct str from, struct str to)
{
    char *copy = arena_raw(a, text.len, 1);
    struct str rest = text;

    assert(from.len == to.len);
    if (text.len)
        memcpy(copy, text.at, text.len);
    for (size_t at; (at = str_find(rest, from)) != STR_NONE;) {
        rest = str_slice(rest, at + from.len, rest.len);
        memcpy(copy + (rest.at - text.at) - to.len, to.at, to.len);
    }
    return str_of(copy, text.len);
}

/* What is no plain value might. */
static bool value_has(const struct json *v, struct str uid)
{
    return v->type > JSON_STRING || str_has(json_str(v), uid);
}

static bool element_has(const struct element *e, struct str uid)
{
    if (e->kind == ELEMENT_VALUE)
        return value_has(&e->value, uid);
    for (uint32_t i = 0; e->kind == ELEMENT_KEY && i < e->n; i++)
        if (value_has(&e->keys[i].value, uid))
            return true;
    return false;
}

bool uid_is_alone(struct fieldset set, struct str uid)
{
    for (size_t i = 0; i < set.n; i++) {
        const struct element *e = &set.at[i].e;
        if ((e->kind == ELEMENT_FIELD && str_has(e->name, uid)) ||
            (set.n > 1 && element_has(e, uid)) || !uid_is_alone(set.at[i].below, uid))
            return false;
    }
    return true;
}
