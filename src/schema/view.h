/* view.h - what the C structs of kinds are made of
 *
 * kindc writes a struct a type (api/batch_v1.h); schema/table.h says how its members lie. Every
 * one begins with two presence maps, read and written by name:
 *
 *     if (IS_SET(job->spec, completions))      given, or defaulted by the server
 *     SET(spec, suspend, false);               a value, also an empty one
 *     CLEAR(spec, suspend);                    in a merge patch: take the field out
 *     UNSET(spec, suspend);                    say nothing about it
 *
 * Members may be read without asking: an unset one holds its default, or zero.
 */
#pragma once

#include "value/int_or_string.h"
#include "value/strs.h"
#include "json/json.h"

/* The number of a field's bit: generated structs carry it as the size of an empty array. */
#define FIELD_BIT(p, field) (sizeof((p)->field##_bit_[0]) - 1)
#define FIELD_MASK(p, field) (UINT64_C(1) << FIELD_BIT(p, field))

/* The same of a type. FIELD_VALUE() reads a field's value where schema_values() has read them.
 */
#define FIELD_OF(type, field) FIELD_BIT((const struct type *)NULL, field)
#define FIELD_VALUE(values, type, field) schema_value((values), FIELD_OF(type, field))

#define IS_SET(p, field) (((p)->set & FIELD_MASK(p, field)) != 0)
#define IS_CLEARED(p, field) (((p)->null & FIELD_MASK(p, field)) != 0)
#define SET(p, field, ...)                                                                     \
    do {                                                                                       \
        (p)->field = (__VA_ARGS__);                                                            \
        (p)->set |= FIELD_MASK(p, field);                                                      \
        (p)->null &= ~FIELD_MASK(p, field);                                                    \
    } while (0)
#define UNSET(p, field)                                                                        \
    do {                                                                                       \
        memset(&(p)->field, 0, sizeof((p)->field));                                            \
        (p)->set &= ~FIELD_MASK(p, field);                                                     \
        (p)->null &= ~FIELD_MASK(p, field);                                                    \
    } while (0)
#define CLEAR(p, field)                                                                        \
    do {                                                                                       \
        UNSET(p, field);                                                                       \
        (p)->null |= FIELD_MASK(p, field);                                                     \
    } while (0)

/* Lists and maps of what is no struct. Those of structs are generated: struct container_list.
 */
struct i32_list {
    int32_t *at;
    size_t len;
};
struct i64_list {
    int64_t *at;
    size_t len;
};
struct bool_list {
    bool *at;
    size_t len;
};
struct double_list {
    double *at;
    size_t len;
};
struct instant_list {
    struct instant *at;
    size_t len;
};
struct json_list {
    struct json *at;
    size_t len;
};

struct i32_entry {
    struct str key;
    int32_t value;
};
struct i32_map {
    struct i32_entry *at;
    size_t len;
};
struct instant_entry {
    struct str key;
    struct instant value;
};
struct instant_map {
    struct instant_entry *at;
    size_t len;
};
struct json_entry {
    struct str key;
    struct json value;
};
struct json_map {
    struct json_entry *at;
    size_t len;
};
struct str_list_entry {
    struct str key;
    struct str_list value;
};
struct str_list_map {
    struct str_list_entry *at;
    size_t len;
};

static inline bool str_map_has(const struct str_map *m, struct str key)
{
    for (size_t i = 0; i < m->len; i++) {
        if (str_eq(m->at[i].key, key))
            return true;
    }
    return false;
}
