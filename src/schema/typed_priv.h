/* typed_priv.h - how a schema's nodes look to server-side apply */
#pragma once

#include "schema/typed.h"

enum form { FORM_SCALAR, FORM_LIST, FORM_MAP };

/* One step of the way from the root, on the C stack; only errors read it. */
struct typed_at {
    const struct typed_at *up;
    const struct element *e;
};

struct walk {
    struct arena *arena;
    struct err *err;
};

/* A list's items with their path elements. */
struct items {
    const struct json *list;
    struct element *e;
    uint32_t n;
    uint32_t *order; /* indexes sorted by element, where they are many; else NULL */
};

extern const struct schema typed_deduced; /* untyped: granular maps, atomic lists */
extern const struct schema typed_atomic;  /* untyped, and atomic in every form */

/* May it be anything? */
static inline bool typed_is_any(const struct schema *s)
{
    return s->type == SCHEMA_ANY || s->type == SCHEMA_RAW || s->type == SCHEMA_FIELDS_V1;
}

static inline bool typed_is_map(const struct schema *s)
{
    return s->type == SCHEMA_OBJECT || s->type == SCHEMA_MAP;
}

/* The form that the schema gives a value (NULL: absent). */
static inline enum form typed_form(const struct schema *s, const struct json *v)
{
    if (likely(!typed_is_any(s)))
        return typed_is_map(s) ? FORM_MAP : s->type == SCHEMA_LIST ? FORM_LIST : FORM_SCALAR;
    if (!v || v->type == JSON_NULL || v->type == JSON_OBJECT)
        return FORM_MAP;
    return v->type == JSON_ARRAY ? FORM_LIST : FORM_SCALAR;
}

static inline bool typed_is_atomic(const struct schema *s, enum form form)
{
    if (s->type == SCHEMA_RAW || s->type == SCHEMA_FIELDS_V1)
        return true;
    if (form == FORM_LIST)
        return s->list_type != LIST_SET && s->list_type != LIST_MAP;
    return form == FORM_SCALAR || s->map_type == MAP_ATOMIC;
}

/* What a list holds. */
const struct schema *typed_item(const struct schema *s);
/* What a map holds under the name; *declared where the name is a field's. NULL: nothing may. */
const struct schema *typed_member(const struct schema *s, const struct json_member *m,
                                  bool *declared);
const struct schema *typed_named_member(const struct schema *s, struct str name,
                                        bool *declared);
/* Is the scalar (or null) of the type? */
bool typed_fits_scalar(const struct schema *s, const struct json *v);

/* Always -1. */
int typed_fail(struct walk *w, const struct typed_at *at, const char *format, ...)
    like_printf(3, 4);
/* A container of the form that is not empty; NULL otherwise. */
static inline const struct json *typed_contents(const struct json *v, enum form form)
{
    enum json_type type = form == FORM_LIST ? JSON_ARRAY : JSON_OBJECT;

    return v && form != FORM_SCALAR && v->type == type && v->len ? v : NULL;
}
static inline bool typed_is_empty_map(const struct json *v)
{
    return v->type == JSON_NULL || (v->type == JSON_OBJECT && v->len == 0);
}

/* The path elements of all items of a granular list; `v` may be NULL. */
int typed_items(struct walk *w, const struct schema *s, const struct json *v,
                const struct typed_at *at, struct items *out);
/* The first item with the element, or STR_NONE; *count is how many have it. */
size_t typed_items_find(const struct items *x, const struct element *e, uint32_t *count);
/* The k-th of those, which are at least so many. */
size_t typed_items_next(const struct items *x, const struct element *e, size_t k);
