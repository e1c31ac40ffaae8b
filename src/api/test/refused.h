/* refused.h - what the tests of checks share: objects with single quotes, errors as
 * `TYPE FIELD` */
#pragma once

#include "schema/default.h"
#include "schema/table.h"
#include "schema/validate.h"

/* The errors in their order, between commas. */
static inline struct str refused_text(struct arena *a, const struct field_errors *e)
{
    struct buf b = buf_in(a, 64);

    vec_each (i, &e->list) {
        struct str reason = field_error_reason(e->list.at[i].type);
        buf_printf(&b, "%s%.*s %.*s", b.len ? ", " : "",
                   STR_ARG(str_slice(reason, strlen("FieldValue"), reason.len)),
                   STR_ARG(e->list.at[i].path));
    }
    return buf_str(&b);
}

/* The tree of a text in which single quotes stand for double ones. */
static inline const struct json *quoted(struct arena *a, struct str text)
{
    char *copy = str_z(a, text);

    for (size_t i = 0; i < text.len; i++)
        if (copy[i] == '\'')
            copy[i] = '"';
    return json_parse(a, str_of(copy, text.len), NULL, NULL);
}

/* What is wrong with an object after defaults; `old` is what it replaces, or NULL. */
static inline struct str refused_object(struct arena *a, const struct kind *k,
                                        const struct json *v, const struct json *old)
{
    struct field_errors e = field_errors_in(a);

    kind_validate(&e, k, kind_default(a, k, v, NULL),
                  old ? kind_default(a, k, old, NULL) : NULL);
    return refused_text(a, &e);
}
