/* message.c - values of struct types that expressions can make: T{field: value}
 *
 * A field that was not given reads as its default. The well-known messages of protobuf are the
 * values they stand for: wrappers their content, Struct a map, Timestamp a timestamp.
 */
#include <math.h>

#include "cel/env_priv.h"
#include "cel/value_priv.h"

struct cel_message {
    const struct cel_type *type;
    const struct cel_value *fields; /* CEL_ABSENT: not set */
    bool is_strong;
};

#define MAX_DEPTH 100

static struct cel_value new_message(struct arena *a, const struct cel_type *t,
                                    const struct cel_value *fields, bool is_strong)
{
    struct cel_message m = {t, fields, is_strong};

    return (struct cel_value){.kind = CEL_MESSAGE, .message = arena_copy(a, &m)};
}

const struct cel_type *message_type(struct cel_value v)
{
    return v.message->type;
}

/* ---- well-known types ---- */

static const struct cel_type *const p_bool[] = {&cel_type_bool};
static const struct cel_type *const p_int[] = {&cel_type_int};
static const struct cel_type *const p_uint[] = {&cel_type_uint};
static const struct cel_type *const p_double[] = {&cel_type_double};
static const struct cel_type *const p_string[] = {&cel_type_string};
static const struct cel_type *const p_bytes[] = {&cel_type_bytes};
static const struct cel_type *const p_string_dyn[] = {&cel_type_string, &cel_type_dyn};
static const struct cel_type *const p_dyn[] = {&cel_type_dyn};

#define WRAPPER(p)                                                                             \
    {                                                                                          \
        .kind = CEL_T_WRAPPER, .name = S_INIT("wrapper"), .n_params = 1, .params = p           \
    }
const struct cel_type cel_wrapper_bool = WRAPPER(p_bool), cel_wrapper_int = WRAPPER(p_int),
                      cel_wrapper_uint = WRAPPER(p_uint),
                      cel_wrapper_double = WRAPPER(p_double),
                      cel_wrapper_string = WRAPPER(p_string),
                      cel_wrapper_bytes = WRAPPER(p_bytes);
static const struct cel_type struct_map = {
    .kind = CEL_T_MAP, .name = S_INIT("map"), .n_params = 2, .params = p_string_dyn};
static const struct cel_type value_list = {
    .kind = CEL_T_LIST, .name = S_INIT("list"), .n_params = 1, .params = p_dyn};
static const struct cel_type string_list = {
    .kind = CEL_T_LIST, .name = S_INIT("list"), .n_params = 1, .params = p_string};

#define VALUE(type_, kind_)                                                                    \
    {                                                                                          \
        {                                                                                      \
            .name = S_INIT("value"), .type = &(type_), .kind = (kind_)                         \
        }                                                                                      \
    }
static const struct cel_field f_bool[] = VALUE(cel_type_bool, CEL_F_PLAIN),
                              f_int32[] = VALUE(cel_type_int, CEL_F_INT32),
                              f_int64[] = VALUE(cel_type_int, CEL_F_PLAIN),
                              f_uint32[] = VALUE(cel_type_uint, CEL_F_UINT32),
                              f_uint64[] = VALUE(cel_type_uint, CEL_F_PLAIN),
                              f_float[] = VALUE(cel_type_double, CEL_F_FLOAT),
                              f_double[] = VALUE(cel_type_double, CEL_F_PLAIN),
                              f_string[] = VALUE(cel_type_string, CEL_F_PLAIN),
                              f_bytes[] = VALUE(cel_type_bytes, CEL_F_PLAIN);
#define FIELD(name_, type_, kind_, oneof_)                                                     \
    {                                                                                          \
        .name = S_INIT(name_), .type = &(type_), .kind = (kind_), .oneof = (oneof_)            \
    }
static const struct cel_field f_time[] = {
    FIELD("seconds", cel_type_int, CEL_F_PLAIN, 0),
    FIELD("nanos", cel_type_int, CEL_F_INT32, 0),
};
static const struct cel_field f_struct[] = {
    FIELD("fields", struct_map, CEL_F_VALUE, 0),
};
static const struct cel_field f_list[] = {
    FIELD("values", value_list, CEL_F_VALUE, 0),
};
static const struct cel_field f_value[] = {
    FIELD("null_value", cel_type_int, CEL_F_ENUM, 1),
    FIELD("number_value", cel_type_double, CEL_F_PLAIN, 1),
    FIELD("string_value", cel_type_string, CEL_F_PLAIN, 1),
    FIELD("bool_value", cel_type_bool, CEL_F_PLAIN, 1),
    FIELD("struct_value", struct_map, CEL_F_STRUCT, 1),
    FIELD("list_value", value_list, CEL_F_LISTVALUE, 1),
};
static const struct cel_field f_any[] = {
    FIELD("type_url", cel_type_string, CEL_F_PLAIN, 0),
    FIELD("value", cel_type_bytes, CEL_F_PLAIN, 0),
};
static const struct cel_field f_mask[] = {
    FIELD("paths", string_list, CEL_F_PLAIN, 0),
};

#define WELL(name_, fields_, as)                                                               \
    {                                                                                          \
        .kind = CEL_T_STRUCT, .name = S_INIT("google.protobuf." name_),                        \
        .n_fields = countof(fields_), .fields = fields_, .host = as                            \
    }
#define WELL_NO_FIELDS(name_)                                                                  \
    {                                                                                          \
        .kind = CEL_T_STRUCT, .name = S_INIT("google.protobuf." name_)                         \
    }
enum well {
    WELL_BOOL,
    WELL_INT32,
    WELL_INT64,
    WELL_UINT32,
    WELL_UINT64,
    WELL_FLOAT,
    WELL_DOUBLE,
    WELL_STRING,
    WELL_BYTES,
    WELL_TIMESTAMP,
    WELL_DURATION,
    WELL_STRUCT,
    WELL_LIST,
    WELL_VALUE,
    WELL_ANY,
    WELL_MASK,
    WELL_EMPTY,
    WELL_COUNT,
};
static const struct cel_type well_known[] = {
    [WELL_BOOL] = WELL("BoolValue", f_bool, &cel_wrapper_bool),
    [WELL_INT32] = WELL("Int32Value", f_int32, &cel_wrapper_int),
    [WELL_INT64] = WELL("Int64Value", f_int64, &cel_wrapper_int),
    [WELL_UINT32] = WELL("UInt32Value", f_uint32, &cel_wrapper_uint),
    [WELL_UINT64] = WELL("UInt64Value", f_uint64, &cel_wrapper_uint),
    [WELL_FLOAT] = WELL("FloatValue", f_float, &cel_wrapper_double),
    [WELL_DOUBLE] = WELL("DoubleValue", f_double, &cel_wrapper_double),
    [WELL_STRING] = WELL("StringValue", f_string, &cel_wrapper_string),
    [WELL_BYTES] = WELL("BytesValue", f_bytes, &cel_wrapper_bytes),
    [WELL_TIMESTAMP] = WELL("Timestamp", f_time, &cel_type_timestamp),
    [WELL_DURATION] = WELL("Duration", f_time, &cel_type_duration),
    [WELL_STRUCT] = WELL("Struct", f_struct, &struct_map),
    [WELL_LIST] = WELL("ListValue", f_list, &value_list),
    [WELL_VALUE] = WELL("Value", f_value, &cel_type_dyn),
    [WELL_ANY] = WELL("Any", f_any, &cel_type_any),
    [WELL_MASK] = WELL("FieldMask", f_mask, NULL),
    [WELL_EMPTY] = WELL_NO_FIELDS("Empty"),
};

static const struct cel_enum_value null_values[] = {
    {S_INIT("NULL_VALUE"), 0}
};
static const struct cel_type null_value_type = {.kind = CEL_T_ENUM,
                                                .name = S_INIT("google.protobuf.NullValue"),
                                                .n_fields = 1,
                                                .values = null_values};

void env_add_messages(struct cel_env *env)
{
    for (size_t i = 0; i < countof(well_known); i++) {
        const struct cel_type *t = &well_known[i];
        if (!env_type(env, t->name))
            cel_env_type(env, t, 0, 0);
    }
    cel_env_type(env, &null_value_type, 0, 0);
}

/* A timestamp's and duration's names are types of values already; their literals are found
 * here. */
const struct cel_type *message_literal_type(const struct cel_type *t)
{
    if (t == &cel_type_timestamp)
        return &well_known[WELL_TIMESTAMP];
    return t == &cel_type_duration ? &well_known[WELL_DURATION] : t;
}

/* ---- conversions ---- */

static struct cel_value to_value(struct arena *a, struct cel_value v, int depth);

static struct cel_value list_to_value(struct arena *a, struct cel_value v, int depth)
{
    struct cel_value *items = arena_array(a, struct cel_value, MAX(v.len, 1u));

    for (uint32_t i = 0; i < v.len; i++) {
        items[i] = to_value(a, cel_at(a, v, i), depth + 1);
        if (items[i].kind == CEL_ERROR)
            return items[i];
    }
    return cel_list(items, v.len);
}

static struct cel_value map_to_value(struct arena *a, struct cel_value v, int depth)
{
    struct cel_entry *entries = arena_array(a, struct cel_entry, MAX(v.len, 1u));

    for (uint32_t i = 0; i < v.len; i++) {
        entries[i].key = cel_key(a, v, i);
        if (entries[i].key.kind != CEL_STRING)
            return cel_fail_text(a, "bad key type");
        entries[i].value = to_value(a, value_entry(a, v, i), depth + 1);
        if (entries[i].value.kind == CEL_ERROR)
            return entries[i].value;
    }
    return cel_map_of(a, entries, v.len);
}

/* As google.protobuf.Value holds it: JSON's kinds only. */
static struct cel_value to_value(struct arena *a, struct cel_value v, int depth)
{
    struct json j;

    if (depth > MAX_DEPTH)
        return cel_fail_text(a, "value nested too deeply");
    switch (v.kind) {
    case CEL_NULL:
    case CEL_BOOL:
    case CEL_DOUBLE:
    case CEL_STRING:
        return v;
    case CEL_LIST:
        return list_to_value(a, v, depth);
    case CEL_MAP:
        return map_to_value(a, v, depth);
    default:
        break;
    }
    if (!cel_to_json(a, v, &j))
        return cel_fail_text(a, "unsupported field type");
    if (j.type == JSON_INT)
        return cel_double((double)j.i);
    return cel_of_json(json_new(a, j));
}

static struct cel_value range_error(struct arena *a, struct cel_value v)
{
    struct str s = cel_show(a, v);

    return cel_fail_text(a, "range error: %.*s", STR_ARG(s));
}

static struct cel_value bad_type(struct arena *a, const struct cel_field *f)
{
    return cel_fail_text(a, "unsupported field type for '%.*s'", STR_ARG(f->name));
}

/* One value as the field holds it: CEL_ABSENT where null means "not set". */
static struct cel_value convert_one(struct arena *a, const struct cel_field *f,
                                    const struct cel_type *t, struct cel_value v,
                                    bool is_strong)
{
    if (f->kind == CEL_F_VALUE)
        return to_value(a, v, 0);
    if (f->kind == CEL_F_ANY)
        return v;
    if (f->kind == CEL_F_STRUCT)
        return v.kind == CEL_MAP ? map_to_value(a, v, 0) : bad_type(a, f);
    if (f->kind == CEL_F_LISTVALUE)
        return v.kind == CEL_LIST ? list_to_value(a, v, 0) : bad_type(a, f);
    if (v.kind == CEL_NULL) {
        bool may_be = t->kind == CEL_T_WRAPPER || t->kind == CEL_T_STRUCT ||
                      t->kind == CEL_T_TIMESTAMP || t->kind == CEL_T_DURATION;
        return may_be ? (struct cel_value){0} : bad_type(a, f);
    }
    if (v.kind == CEL_ENUM && f->kind == CEL_F_ENUM)
        return is_strong ? v : cel_int((int32_t)v.len);
    if (!(cel_type_kinds(t) >> v.kind & 1) && !(f->kind == CEL_F_ENUM && v.kind == CEL_INT))
        return bad_type(a, f);
    if ((f->kind == CEL_F_INT32 || f->kind == CEL_F_ENUM) &&
        (v.i < INT32_MIN || v.i > INT32_MAX))
        return range_error(a, v);
    if (f->kind == CEL_F_UINT32 && v.u > UINT32_MAX)
        return range_error(a, v);
    if (f->kind == CEL_F_FLOAT)
        return cel_double((double)(float)v.d);
    if (f->kind == CEL_F_ENUM && is_strong && f->enum_type)
        return (struct cel_value){.kind = CEL_ENUM, .len = (uint32_t)v.i, .type = f->enum_type};
    return v;
}

static struct cel_value convert_list(struct arena *a, const struct cel_field *f,
                                     struct cel_value v, bool is_strong)
{
    struct cel_value *items = arena_array(a, struct cel_value, MAX(v.len, 1u));
    uint32_t n = 0;

    for (uint32_t i = 0; i < v.len; i++) {
        struct cel_value one =
            convert_one(a, f, f->type->params[0], cel_at(a, v, i), is_strong);
        if (one.kind == CEL_ERROR)
            return one;
        if (one.kind != CEL_ABSENT)
            items[n++] = one;
    }
    return cel_list(items, n);
}

static struct cel_value convert_map(struct arena *a, const struct cel_field *f,
                                    struct cel_value v, bool is_strong)
{
    struct cel_entry *entries = arena_array(a, struct cel_entry, MAX(v.len, 1u));
    uint32_t n = 0;

    for (uint32_t i = 0; i < v.len; i++) {
        struct cel_value key = cel_key(a, v, i);
        struct cel_value one =
            convert_one(a, f, f->type->params[1], value_entry(a, v, i), is_strong);
        if (!(cel_type_kinds(f->type->params[0]) >> key.kind & 1))
            return bad_type(a, f);
        if (one.kind == CEL_ERROR)
            return one;
        if (one.kind != CEL_ABSENT)
            entries[n++] = (struct cel_entry){key, one};
    }
    return cel_map_of(a, entries, n);
}

static bool is_whole(const struct cel_field *f)
{
    return f->kind == CEL_F_STRUCT || f->kind == CEL_F_LISTVALUE;
}

static struct cel_value convert(struct arena *a, const struct cel_field *f, struct cel_value v,
                                bool is_strong)
{
    if (f->type->kind == CEL_T_LIST && !is_whole(f))
        return v.kind == CEL_LIST ? convert_list(a, f, v, is_strong) : bad_type(a, f);
    if (f->type->kind == CEL_T_MAP && !is_whole(f))
        return v.kind == CEL_MAP ? convert_map(a, f, v, is_strong) : bad_type(a, f);
    return convert_one(a, f, f->type, v, is_strong);
}

/* ---- defaults ---- */

static struct cel_value zero_of(struct arena *a, const struct cel_field *f, bool is_strong)
{
    const struct cel_type *t = f->type;

    if (f->otherwise.kind != CEL_ABSENT && !(f->kind == CEL_F_ENUM && is_strong))
        return f->otherwise;
    if (f->kind == CEL_F_VALUE && t->kind == CEL_T_DYN)
        return cel_null();
    if (f->kind == CEL_F_ENUM && is_strong && f->enum_type && t->kind != CEL_T_LIST &&
        t->kind != CEL_T_MAP)
        return (struct cel_value){
            .kind = CEL_ENUM, .len = (uint32_t)f->otherwise.i, .type = f->enum_type};
    switch ((enum cel_type_kind)t->kind) {
    case CEL_T_BOOL:
        return cel_bool(false);
    case CEL_T_INT:
    case CEL_T_ENUM:
        return cel_int(0);
    case CEL_T_UINT:
        return cel_uint(0);
    case CEL_T_DOUBLE:
        return cel_double(0);
    case CEL_T_STRING:
        return cel_text(S(""));
    case CEL_T_BYTES:
        return cel_bytes(S(""));
    case CEL_T_LIST:
        return cel_list(NULL, 0);
    case CEL_T_MAP:
        return cel_map_of(a, NULL, 0);
    case CEL_T_TIMESTAMP:
        return cel_time(0, 0, 0);
    case CEL_T_DURATION:
        return cel_duration(0);
    case CEL_T_STRUCT:
        return new_message(
            a, t, arena_array(a, struct cel_value, MAX(t->n_fields, (uint16_t)1)), is_strong);
    default:
        return cel_null();
    }
}

static bool is_zero(const struct cel_field *f, struct cel_value v)
{
    struct cel_value zero;

    if (f->type->kind == CEL_T_LIST || f->type->kind == CEL_T_MAP)
        return v.len == 0;
    if (v.kind == CEL_ENUM)
        return v.len == 0;
    zero = zero_of(NULL, f, false);
    return v.kind == zero.kind &&
           (v.kind == CEL_STRING || v.kind == CEL_BYTES ? v.len == 0 : v.u == zero.u);
}

static bool has_presence(const struct cel_field *f)
{
    if (f->has_presence || is_whole(f))
        return true;
    switch ((enum cel_type_kind)f->type->kind) {
    case CEL_T_STRUCT:
    case CEL_T_WRAPPER:
    case CEL_T_TIMESTAMP:
    case CEL_T_DURATION:
    case CEL_T_DYN:
    case CEL_T_ANY:
        return true;
    default:
        return false;
    }
}

static bool is_set(const struct cel_message *m, size_t i)
{
    const struct cel_field *f = &m->type->fields[i];
    bool is_many = (f->type->kind == CEL_T_LIST || f->type->kind == CEL_T_MAP) && !is_whole(f);

    if (m->fields[i].kind == CEL_ABSENT)
        return false;
    if (is_many)
        return m->fields[i].len > 0;
    return has_presence(f) || !is_zero(f, m->fields[i]);
}

/* ---- reading ---- */

static ptrdiff_t index_of(const struct cel_message *m, struct str name)
{
    const struct cel_field *f = cel_type_field(m->type, name);

    return f ? f - m->type->fields : -1;
}

struct cel_value message_field(struct arena *a, struct cel_value v, struct str name)
{
    ptrdiff_t i = index_of(v.message, name);

    if (i < 0)
        return (struct cel_value){0};
    if (v.message->fields[i].kind != CEL_ABSENT)
        return v.message->fields[i];
    return zero_of(a, &v.message->type->fields[i], v.message->is_strong);
}

bool message_has(struct cel_value v, struct str name, bool *is_field)
{
    ptrdiff_t i = index_of(v.message, name);

    *is_field = i >= 0;
    return i >= 0 && is_set(v.message, (size_t)i);
}

bool message_is_empty(struct cel_value v)
{
    for (size_t i = 0; i < v.message->type->n_fields; i++)
        if (is_set(v.message, i))
            return false;
    return true;
}

bool message_equal(struct arena *a, struct cel_value x, struct cel_value y)
{
    if (!str_eq(x.message->type->name, y.message->type->name))
        return false;
    for (size_t i = 0; i < x.message->type->n_fields; i++) {
        bool has = is_set(x.message, i);
        if (has != is_set(y.message, i))
            return false;
        if (has && !cel_same(a, x.message->fields[i], y.message->fields[i]))
            return false;
    }
    return true;
}

bool message_to_json(struct arena *a, struct cel_value v, struct json *out)
{
    const struct cel_type *t = v.message->type;
    struct json_obj obj = obj_in(a);
    struct json item;

    if (t == &well_known[WELL_MASK]) {
        struct buf b = buf_in(a, 32);
        struct cel_value list = v.message->fields[0];
        for (uint32_t i = 0; list.kind == CEL_LIST && i < list.len; i++) {
            if (i)
                buf_byte(&b, ',');
            buf_add(&b, cel_str(cel_at(a, list, i)));
        }
        *out = json_of_str(buf_str(&b));
        return true;
    }
    for (size_t i = 0; i < t->n_fields; i++) {
        if (!is_set(v.message, i))
            continue;
        if (!cel_to_json(a, v.message->fields[i], &item))
            return false;
        obj_set(&obj, t->fields[i].name, item);
    }
    *out = obj_done(&obj);
    return true;
}

void message_show(struct arena *a, struct buf *b, struct cel_value v)
{
    const struct cel_type *t = v.message->type;
    bool is_first = true;

    buf_add(b, t->name);
    buf_byte(b, '{');
    for (size_t i = 0; i < t->n_fields; i++) {
        if (!is_set(v.message, i))
            continue;
        if (!is_first)
            buf_add(b, S(", "));
        is_first = false;
        buf_add(b, t->fields[i].name);
        buf_add(b, S(": "));
        buf_add(b, cel_show(a, v.message->fields[i]));
    }
    buf_byte(b, '}');
}

/* ---- making ---- */

/* The value that a well-known message stands for. */
static struct cel_value well_value(struct arena *a, enum well w, const struct cel_value *f)
{
    int64_t seconds = f[0].i, nanos = w == WELL_TIMESTAMP || w == WELL_DURATION ? f[1].i : 0;
    int64_t ns;

    switch (w) {
    case WELL_TIMESTAMP:
        if (seconds < STAMP_MIN || seconds > STAMP_MAX || nanos < 0 || nanos > 999999999)
            return cel_fail(CEL_E_TIME_OVERFLOW);
        return cel_time(seconds, (uint32_t)nanos, 0);
    case WELL_DURATION:
        if (__builtin_mul_overflow(seconds, SECOND_NS, &ns) ||
            __builtin_add_overflow(ns, nanos, &ns))
            return cel_fail(CEL_E_OVERFLOW);
        return cel_duration(ns);
    case WELL_STRUCT:
        return f[0].kind == CEL_ABSENT ? cel_map_of(a, NULL, 0) : f[0];
    case WELL_LIST:
        return f[0].kind == CEL_ABSENT ? cel_list(NULL, 0) : f[0];
    case WELL_VALUE:
        for (size_t i = 1; i < countof(f_value); i++)
            if (f[i].kind != CEL_ABSENT)
                return f[i];
        return cel_null();
    case WELL_ANY:
        return cel_fail_text(a, "messages in wire format are not read");
    default:
        return f[0].kind == CEL_ABSENT ? zero_of(a, well_known[w].fields, false) : f[0];
    }
}

struct cel_value message_make(struct arena *a, const struct cel_env *env,
                              const struct cel_type *t, const struct cel_value *values)
{
    struct cel_value *fields = arena_array(a, struct cel_value, MAX(t->n_fields, (uint16_t)1));
    bool is_strong = env->spec.is_strong_enum;

    for (size_t i = 0; i < t->n_fields; i++) {
        const struct cel_field *f = &t->fields[i];
        if (values[i].kind == CEL_ABSENT)
            continue;
        fields[i] = convert(a, f, values[i], is_strong);
        if (fields[i].kind == CEL_ERROR)
            return fields[i];
        for (size_t k = 0; f->oneof && fields[i].kind != CEL_ABSENT && k < i; k++)
            if (t->fields[k].oneof == f->oneof)
                fields[k] = (struct cel_value){0};
    }
    if (t->host && t >= well_known && t < well_known + countof(well_known))
        return well_value(a, (enum well)(t - well_known), fields);
    return new_message(a, t, fields, is_strong);
}
