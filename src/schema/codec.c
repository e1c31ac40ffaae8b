/* codec.c - decoding trees into C structs and back
 *
 *     struct:  [ set | null | field at offset ... ]
 *     list:    [ at | len ] ──▶ [ element ][ element ] ...       element: item->size
 *     map:     [ at | len ] ──▶ [ key | value ][ key | value ]   value at MAP_VALUE_AT
 */
#include "schema/codec.h"

#include "base/base64.h"

#include "schema/table.h"
#include "schema/view.h"

#include "value/time.h"

struct presence {
    uint64_t set, null;
};

struct slice {
    void *at;
    size_t len;
};
static bool decode_element(struct arena *a, const struct schema *s, const struct json *v,
                           void *out);

static void *new_struct(struct arena *a, const struct schema *s)
{
    assert(s->type == SCHEMA_OBJECT && s->size);
    return arena_alloc(a, s->size, 8);
}

static void decode_fields(struct arena *a, const struct schema *s, const struct json *v,
                          char *out);

/* A field: as an element, but objects and free JSON stand behind a pointer. */
static bool decode_field(struct arena *a, const struct schema *s, const struct json *v,
                         void *out)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_OBJECT:
        if (v->type != JSON_OBJECT || !s->size)
            return false;
        void *to = new_struct(a, s);
        decode_fields(a, s, v, to);
        *(void **)out = to;
        return true;
    case SCHEMA_ANY:
    case SCHEMA_RAW:
    case SCHEMA_FIELDS_V1:
        *(const struct json **)out = v;
        return true;
    default:
        return decode_element(a, s, v, out);
    }
}

/* As most fields are. */
static inline bool decode_string(const struct json *v, void *out)
{
    bool is_string = v->type == JSON_STRING;

    *(struct str *)out = is_string ? str_of(v->s, v->len) : (struct str){0};
    return is_string;
}

static void decode_fields(struct arena *a, const struct schema *s, const struct json *v,
                          char *out)
{
    struct presence *has = (struct presence *)(void *)out;
    uint64_t seen = 0, asked = schema_sets(s)->has_def;

    const struct json_member *m = json_is(v, JSON_OBJECT) ? v->members : NULL;
    const struct json_member *end = m ? m + v->len : NULL;
    for (; m < end; m++) {
        const struct schema_field *f = schema_field_of(s, m);
        if (!f || !f->offset || m->value.type == JSON_NULL)
            continue;
        if (f->type->type == SCHEMA_STRING
                ? decode_string(&m->value, out + f->offset)
                : decode_field(a, f->type, &m->value, out + f->offset))
            seen |= UINT64_C(1) << f->bit;
    }
    has->set = seen;
    schema_each_in (i, s, asked) {
        const struct schema_field *f = &s->fields[i];
        if (f->type->def && f->offset && !(seen >> f->bit & 1))
            decode_field(a, f->type, f->type->def, out + f->offset);
    }
}

not_inline static bool decode_list(struct arena *a, const struct schema *item,
                                   const struct json *v, struct slice *out)
{
    size_t size = item->size;
    char *at = arena_alloc(a, size_mul(v->len, size), 8);

    for (size_t i = 0; i < v->len; i++)
        decode_element(a, item, &v->items[i], at + i * size);
    *out = (struct slice){at, v->len};
    return true;
}

static size_t entry_size(const struct schema *value)
{
    return (MAP_VALUE_AT + value->size + 7) & ~(size_t)7;
}

not_inline static bool decode_map(struct arena *a, const struct schema *value,
                                  const struct json *v, struct slice *out)
{
    size_t size = entry_size(value);
    char *at = arena_alloc(a, size_mul(v->len, size), 8), *entry = at;

    json_each_member (m, v) {
        memcpy(entry, &m->name, sizeof(struct str));
        decode_element(a, value, &m->value, entry + MAP_VALUE_AT);
        entry += size;
    }
    *out = (struct slice){at, v->len};
    return true;
}

not_inline static bool decode_time(const struct schema *s, const struct json *v,
                                   struct instant *out)
{
    bool is_micro = s->type == SCHEMA_MICRO_TIME;

    return v->type == JSON_STRING && v->len &&
           (is_micro ? time_parse_micro : time_parse)(json_str(v), out, NULL) == 0;
}

not_inline static bool decode_scalar(struct arena *a, const struct schema *s,
                                     const struct json *v, void *out)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        *(bool *)out = json_bool(v, false);
        return v->type == JSON_BOOL;
    case SCHEMA_INT32:
        *(int32_t *)out = (int32_t)json_i64(v, 0);
        return v->type == JSON_INT || v->type == JSON_DOUBLE;
    case SCHEMA_INT64:
        *(int64_t *)out = json_i64(v, 0);
        return v->type == JSON_INT || v->type == JSON_DOUBLE;
    case SCHEMA_DOUBLE:
        *(double *)out = json_f64(v, 0);
        return v->type == JSON_INT || v->type == JSON_DOUBLE;
    case SCHEMA_STRING:
        return decode_string(v, out);
    case SCHEMA_BYTES:
        return v->type == JSON_STRING && base64_decode(a, json_str(v), out);
    case SCHEMA_QUANTITY:
        *(struct str *)out = v->type == JSON_STRING ? json_str(v) : json_text(a, v);
        return v->type == JSON_STRING || v->type == JSON_INT || v->type == JSON_DOUBLE;
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return decode_time(s, v, out);
    case SCHEMA_DURATION:
        return v->type == JSON_STRING && span_parse(json_str(v), out, NULL) == 0;
    case SCHEMA_INT_OR_STRING:
        *(struct int_or_string *)out =
            (struct int_or_string){.is_string = v->type == JSON_STRING,
                                   .i = (int32_t)json_i64(v, 0),
                                   .s = json_str(v)};
        return v->type == JSON_STRING || v->type == JSON_INT;
    default:
        return false;
    }
}

/* An element of a list or the value of a map. False where the value is not of the type; then
 * *out may hold zero. */
static bool decode_element(struct arena *a, const struct schema *s, const struct json *v,
                           void *out)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_OBJECT:
        if (v->type != JSON_OBJECT || !s->size)
            return false;
        decode_fields(a, s, v, out);
        return true;
    case SCHEMA_LIST:
        return v->type == JSON_ARRAY && decode_list(a, s->item, v, out);
    case SCHEMA_MAP:
        return v->type == JSON_OBJECT && decode_map(a, s->value, v, out);
    case SCHEMA_ANY:
    case SCHEMA_RAW:
    case SCHEMA_FIELDS_V1:
        *(struct json *)out = *v;
        return true;
    default:
        return decode_scalar(a, s, v, out);
    }
}

void *schema_decode(struct arena *a, const struct schema *s, const struct json *v)
{
    void *out = new_struct(a, s);

    decode_fields(a, s, v, out);
    return out;
}

void schema_view_put(void *out, const struct schema_field *f, const void *view)
{
    assert(f->type->type == SCHEMA_OBJECT && f->offset);
    *(const void **)(void *)((char *)out + f->offset) = view;
    ((struct presence *)out)->set |= UINT64_C(1) << f->bit;
}

/* ---- and back ---- */

static struct json encode_element(struct arena *a, const struct schema *s, const void *at);

static struct json encode_list(struct arena *a, const struct schema *item,
                               const struct slice *l)
{
    struct json *items = arena_raw(a, size_mul(l->len, sizeof(*items)), _Alignof(struct json));

    for (size_t i = 0; i < l->len; i++)
        items[i] = encode_element(a, item, (const char *)l->at + i * item->size);
    return (struct json){.type = JSON_ARRAY, .len = (uint32_t)l->len, .items = items};
}

static struct json encode_map(struct arena *a, const struct schema *value,
                              const struct slice *l)
{
    size_t size = entry_size(value);
    const char *entry = l->at;
    struct json_member *members =
        arena_raw(a, size_mul(l->len, sizeof(*members)), _Alignof(struct json_member));

    for (size_t i = 0; i < l->len; i++, entry += size) {
        memcpy(&members[i].name, entry, sizeof(struct str));
        members[i].value = encode_element(a, value, entry + MAP_VALUE_AT);
    }
    return (struct json){.type = JSON_OBJECT, .len = (uint32_t)l->len, .members = members};
}

static struct json encode_bytes(struct arena *a, struct str bytes)
{
    struct buf b = buf_in(a, bytes.len * 4 / 3 + 4);

    base64_encode(&b, bytes);
    return json_of_str(buf_str(&b));
}

static struct json encode_time(struct arena *a, const struct schema *s, struct instant t)
{
    if (!instant_is_set(t))
        return json_of_null();
    return json_of_str(s->type == SCHEMA_MICRO_TIME ? time_text_micro(a, t) : time_text(a, t));
}

static struct json encode_element(struct arena *a, const struct schema *s, const void *at)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        return json_of_bool(*(const bool *)at);
    case SCHEMA_INT32:
        return json_of_i64(*(const int32_t *)at);
    case SCHEMA_INT64:
        return json_of_i64(*(const int64_t *)at);
    case SCHEMA_DOUBLE:
        return json_of_f64(*(const double *)at);
    case SCHEMA_STRING:
    case SCHEMA_QUANTITY:
        return json_of_str(*(const struct str *)at);
    case SCHEMA_BYTES:
        return encode_bytes(a, *(const struct str *)at);
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return encode_time(a, s, *(const struct instant *)at);
    case SCHEMA_DURATION:
        return json_of_str(span_text(a, *(const struct span *)at));
    case SCHEMA_INT_OR_STRING: {
        const struct int_or_string *x = at;
        return x->is_string ? json_of_str(x->s) : json_of_i64(x->i);
    }
    case SCHEMA_OBJECT:
        return schema_encode(a, s, at);
    case SCHEMA_LIST:
        return encode_list(a, s->item, at);
    case SCHEMA_MAP:
        return encode_map(a, s->value, at);
    default:
        return *(const struct json *)at;
    }
}

static struct json encode_field(struct arena *a, const struct schema *s, const void *at)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_OBJECT:
    case SCHEMA_ANY:
    case SCHEMA_RAW:
    case SCHEMA_FIELDS_V1:
        at = *(const void *const *)at;
        return at ? encode_element(a, s, at) : json_of_null();
    default:
        return encode_element(a, s, at);
    }
}

struct json schema_encode(struct arena *a, const struct schema *s, const void *view)
{
    const struct presence *has = view;
    uint64_t all = has->set | has->null;
    struct json_member *members =
        arena_raw(a, size_mul((size_t)__builtin_popcountll(all), sizeof(*members)),
                  _Alignof(struct json_member));
    uint32_t n = 0;

    schema_each_in (i, s, all) { /* a field's bit is its place */
        const struct schema_field *f = &s->fields[i];
        members[n].name = f->name;
        members[n].value = has->null >> i & 1
                               ? json_of_null()
                               : encode_field(a, f->type, (const char *)view + f->offset);
        members[n++].value.place = (uint16_t)(i + 1);
    }
    return (struct json){.type = JSON_OBJECT, .len = n, .members = members};
}
