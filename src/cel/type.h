/* type.h - types of expressions
 *
 * A type is immutable. The simple ones are constants; lists, maps and the like are made in an
 * arena; a host's struct types are tables that it keeps for as long as the environment.
 */
#pragma once

#include "cel/value.h"

enum cel_type_kind {
    CEL_T_ERROR,
    CEL_T_DYN,
    CEL_T_ANY,
    CEL_T_PARAM, /* a variable: by number while checking, by name in signatures */
    CEL_T_NULL,
    CEL_T_BOOL,
    CEL_T_INT,
    CEL_T_UINT,
    CEL_T_DOUBLE,
    CEL_T_STRING,
    CEL_T_BYTES,
    CEL_T_TIMESTAMP,
    CEL_T_DURATION,
    CEL_T_LIST,
    CEL_T_MAP,
    CEL_T_TYPE,
    CEL_T_WRAPPER, /* of its one parameter; or null */
    CEL_T_OPAQUE,  /* by name, with parameters: optional_type(T), net.IP … */
    CEL_T_STRUCT,  /* by name, with fields */
    CEL_T_ENUM,
};

/* How a field of a message behaves. */
enum cel_field_kind {
    CEL_F_PLAIN, /* by its type */
    CEL_F_INT32, /* range of 32 bits */
    CEL_F_UINT32,
    CEL_F_FLOAT,
    CEL_F_ENUM,   /* an int of 32 bits; of its enum type where enums are strong */
    CEL_F_VALUE,  /* google.protobuf.Value: any JSON value */
    CEL_F_STRUCT, /* google.protobuf.Struct */
    CEL_F_LISTVALUE,
    CEL_F_ANY,
    CEL_F_MESSAGE, /* unset is the empty message */
};

struct cel_field {
    struct str name;
    const struct cel_type *type;
    uint8_t kind;               /* enum cel_field_kind; of the elements in lists and maps */
    bool has_presence;          /* set to its default, it is still present */
    uint8_t oneof;              /* fields of one number exclude each other; 0: none */
    struct cel_value otherwise; /* CEL_ABSENT: its type's zero */
    const struct cel_type *enum_type;
};

struct cel_enum_value {
    struct str name;
    int32_t number;
};

struct cel_type {
    uint8_t kind; /* enum cel_type_kind */
    uint8_t n_params;
    uint16_t n_fields;
    uint32_t id; /* number of a variable */
    struct str name;
    const struct cel_type *const *params;
    const struct cel_field *fields;      /* of a struct */
    const struct cel_enum_value *values; /* of an enum: n_fields of them */
    /* The host's own objects: a field's value (CEL_ABSENT: not set), equality. */
    struct cel_value (*field)(const struct cel_object *o, struct arena *a, struct str name);
    bool (*equal)(const struct cel_object *x, const struct cel_object *y);
    bool is_opaque_struct; /* no message literal */
    bool is_open;          /* there are variables among its parameters, or it is one */
    const void *host;      /* whatever its maker wants to find again */
};

/* Smallest and largest; what is not known reaches up to UINT64_MAX. */
struct cel_range {
    uint64_t min, max;
};

extern const struct cel_type cel_type_error, cel_type_dyn, cel_type_any, cel_type_null,
    cel_type_bool, cel_type_int, cel_type_uint, cel_type_double, cel_type_string,
    cel_type_bytes, cel_type_timestamp, cel_type_duration, cel_type_type, cel_type_list,
    cel_type_map, cel_type_quantity, cel_type_semver, cel_type_ip, cel_type_cidr, cel_type_url,
    cel_type_format, cel_type_optional, cel_type_any_enum;

const struct cel_type *cel_list_of(struct arena *a, const struct cel_type *item);
const struct cel_type *cel_map_type(struct arena *a, const struct cel_type *key,
                                    const struct cel_type *value);
const struct cel_type *cel_optional_of(struct arena *a, const struct cel_type *t);
const struct cel_type *cel_wrapper_of(struct arena *a, const struct cel_type *t);
const struct cel_type *cel_type_with(struct arena *a, enum cel_type_kind kind, struct str name,
                                     const struct cel_type *const *params, size_t n);
const struct cel_field *cel_type_field(const struct cel_type *t, struct str name);
/* Same kind, name and parameters. */
bool cel_type_eq(const struct cel_type *a, const struct cel_type *b);
/* "list(map(string, int))", as messages print it. */
struct str cel_type_text(struct arena *a, const struct cel_type *t);

/* What a function of a library or host gets. */
struct cel_call {
    struct cel_run *run;
    struct arena *arena;
    const struct cel_env *env;
    const void *data;     /* of the function's row */
    const void *prepared; /* what the plan made of a constant argument, or NULL */
};
/* Arguments have the kinds of the overload's signature and are neither errors nor unknown. */
typedef struct cel_value cel_fn(struct cel_call *c, const struct cel_value *args, size_t n);
