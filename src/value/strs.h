/* strs.h - lists and maps of texts, as the C views of kinds hold them
 *
 * Labels, annotations, node selectors; also quantities and bytes, which a view keeps as text.
 * Both borrow all they show.
 */
#pragma once

#include "base/base.h"

struct json;

struct str_list {
    struct str *at;
    size_t len;
};
struct str_entry {
    struct str key, value;
};
struct str_map {
    struct str_entry *at;
    size_t len;
};

/* The value of a key, or NULL where there is none (a value may be empty). */
static inline const struct str *str_map_find(const struct str_map *m, struct str key)
{
    for (size_t i = 0; i < m->len; i++)
        if (str_eq(m->at[i].key, key))
            return &m->at[i].value;
    return NULL;
}
/* The value of a key, or the empty str. */
static inline struct str str_map_get(const struct str_map *m, struct str key)
{
    const struct str *v = str_map_find(m, key);

    return v ? *v : (struct str){0};
}
static inline bool str_list_has(const struct str_list *l, struct str s)
{
    for (size_t i = 0; i < l->len; i++)
        if (str_eq(l->at[i], s))
            return true;
    return false;
}
/* From a JSON object (array): members (elements) that are texts. Empty for NULL and others. */
struct str_map str_map_of(struct arena *a, const struct json *object);
struct str_list str_list_of(struct arena *a, const struct json *array);
