/* value.c - what values have in common: sizes, parts, equality, order, text */
#include "cel/value_priv.h"

#include <math.h>

#include "cel/type.h"
#include "value/value.h"

#define MAX_SMALL_MAP 8 /* entries looked through without an index */
#define MAX_EQUAL_DEPTH 1000

/* ---- making ---- */

bool text_is_ascii(struct str s)
{
    size_t i = 0;
    uint64_t w;

    for (; i + 8 <= s.len; i += 8) {
        memcpy(&w, s.at + i, 8);
        if (w & UINT64_C(0x8080808080808080))
            return false;
    }
    for (; i < s.len; i++)
        if (s.at[i] & 0x80)
            return false;
    return true;
}

struct cel_value cel_text(struct str s)
{
    struct cel_value v = cel_string(s);

    v.form = text_is_ascii(s) ? CEL_ASCII : 0;
    return v;
}

struct cel_value cel_some(struct arena *a, struct cel_value v)
{
    return (struct cel_value){.kind = CEL_OPTIONAL, .len = 1, .items = arena_copy(a, &v)};
}

struct cel_value cel_fail_text(struct arena *a, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    return cel_fail_name(CEL_E_TEXT,
                         str_copy(a, str_of(text, MIN((size_t)n, sizeof(text) - 1))));
}

struct cel_value cel_unknown_of(struct arena *a, struct str path)
{
    struct cel_unknown *u = arena_new(a, struct cel_unknown);

    u->path = path;
    return (struct cel_value){.kind = CEL_UNKNOWN, .unknown = u};
}

struct cel_value unknown_merge(struct arena *a, struct cel_value x, struct cel_value y)
{
    struct cel_value all = x;

    if (x.kind != CEL_UNKNOWN)
        return y;
    if (y.kind != CEL_UNKNOWN)
        return x;
    for (const struct cel_unknown *u = y.unknown; u; u = u->next) {
        const struct cel_unknown *have = all.unknown;
        while (have && !str_eq(have->path, u->path))
            have = have->next;
        if (have)
            continue;
        struct cel_unknown *more = arena_new(a, struct cel_unknown);
        *more = (struct cel_unknown){u->path, all.unknown};
        all.unknown = more;
    }
    return all;
}

struct cel_value cel_of_json(const struct json *v)
{
    if (!v)
        return cel_null();
    switch ((enum json_type)v->type) {
    case JSON_BOOL:
        return cel_bool(v->boolean);
    case JSON_INT:
        return cel_int(v->i);
    case JSON_DOUBLE:
        return cel_double(v->d);
    case JSON_STRING:
        return cel_string(str_of(v->s, v->len));
    case JSON_ARRAY:
        return (struct cel_value){
            .kind = CEL_LIST, .form = CEL_JSON, .len = v->len, .json = v->items};
    case JSON_OBJECT:
        return (struct cel_value){
            .kind = CEL_MAP, .form = CEL_JSON, .len = v->len, .members = v->members};
    default:
        return cel_null();
    }
}

/* ---- lists ---- */

struct cel_value cel_at(struct arena *a, struct cel_value list, uint32_t i)
{
    while (list.form == CEL_CAT) {
        uint32_t n = list.cat->left.len;
        if (i < n) {
            list = list.cat->left;
        } else {
            list = list.cat->right;
            i -= n;
        }
    }
    if (list.form == CEL_ARRAY)
        return list.items[i];
    if (list.form == CEL_JSON)
        return cel_of_json(&list.json[i]);
    return list.host->ops->at(list.host, a, i);
}

/* ---- maps ---- */

/* The same number as an int or uint where that loses nothing. */
static bool as_int(struct cel_value v, struct cel_value *out)
{
    if (v.kind == CEL_UINT && v.u <= INT64_MAX)
        *out = cel_int((int64_t)v.u);
    else if (v.kind == CEL_DOUBLE && v.d >= -0x1p63 && v.d < 0x1p63 && v.d == trunc(v.d))
        *out = cel_int((int64_t)v.d);
    else
        return false;
    return true;
}

static bool as_uint(struct cel_value v, struct cel_value *out)
{
    if (v.kind == CEL_INT && v.i >= 0)
        *out = cel_uint((uint64_t)v.i);
    else if (v.kind == CEL_DOUBLE && v.d >= 0 && v.d < 0x1p64 && v.d == trunc(v.d))
        *out = cel_uint((uint64_t)v.d);
    else
        return false;
    return true;
}

static uint64_t key_hash(struct cel_value v)
{
    struct cel_value whole;

    switch (v.kind) {
    case CEL_STRING:
    case CEL_BYTES:
        return str_hash(cel_str(v));
    case CEL_BOOL:
        return v.b ? 0x9E37 : 0x7F4A;
    case CEL_DOUBLE: /* as the int or uint it equals */
        return as_int(v, &whole) || as_uint(v, &whole) ? key_hash(whole) : v.kind;
    case CEL_INT:
    case CEL_UINT:
        return v.u * UINT64_C(0x9E3779B97F4A7C15) >> 7;
    default:
        return v.kind;
    }
}

static void index_put(uint32_t *index, uint32_t mask, struct cel_value key, uint32_t i)
{
    uint32_t at = (uint32_t)key_hash(key) & mask;

    while (index[at])
        at = (at + 1) & mask;
    index[at] = i + 1;
}

/* Of n entries, at most half full; NULL where they are few enough to look through. */
static uint32_t *index_new(struct arena *a, const struct cel_entry *entries, size_t n,
                           uint32_t *mask)
{
    uint32_t *index, size = 16;

    if (n <= MAX_SMALL_MAP)
        return NULL;
    while (size < n * 2)
        size *= 2;
    index = arena_array(a, uint32_t, size);
    *mask = size - 1;
    for (uint32_t i = 0; i < n; i++)
        index_put(index, *mask, entries[i].key, i);
    return index;
}

struct cel_value cel_map_of(struct arena *a, const struct cel_entry *entries, size_t n)
{
    struct cel_map *m = arena_new(a, struct cel_map);

    m->entries = entries;
    m->index = index_new(a, entries, n, &m->mask);
    return (struct cel_value){.kind = CEL_MAP, .len = (uint32_t)n, .map = m};
}

struct map_maker map_maker_in(struct arena *a, bool is_across, uint32_t cap)
{
    return (struct map_maker){.arena = a,
                              .is_across = is_across,
                              .cap = cap,
                              .entries = cap ? arena_array(a, struct cel_entry, cap) : NULL};
}

static bool is_entry(const struct map_maker *m, uint32_t i, struct cel_value key)
{
    struct cel_value k = m->entries[i].key;

    return (m->is_across || k.kind == key.kind) && cel_same(m->arena, k, key);
}

uint32_t map_maker_find(const struct map_maker *m, struct cel_value key)
{
    if (!m->index) {
        uint32_t i = 0;
        while (i < m->n && !is_entry(m, i, key))
            i++;
        return i;
    }
    for (uint32_t at = (uint32_t)key_hash(key) & m->mask; m->index[at]; at = (at + 1) & m->mask)
        if (is_entry(m, m->index[at] - 1, key))
            return m->index[at] - 1;
    return m->n;
}

void map_maker_add(struct map_maker *m, struct cel_value key, struct cel_value value)
{
    if (m->n == m->cap) {
        uint32_t cap = m->cap ? m->cap * 2 : 8;
        size_t size = sizeof(struct cel_entry);
        m->entries = arena_grow(m->arena, m->entries, m->cap * size, cap * size, 16);
        m->cap = cap;
    }
    m->entries[m->n] = (struct cel_entry){key, value};
    if (m->index && m->n * 2 < m->mask)
        index_put(m->index, m->mask, key, m->n++);
    else if (++m->n > MAX_SMALL_MAP) /* with room for as many again */
        m->index = index_new(m->arena, m->entries, m->n, &m->mask);
}

void map_maker_del(struct map_maker *m, uint32_t i)
{
    memmove(&m->entries[i], &m->entries[i + 1], (--m->n - i) * sizeof(m->entries[0]));
    m->index = index_new(m->arena, m->entries, m->n, &m->mask);
}

struct cel_value map_maker_done(const struct map_maker *m)
{
    struct cel_map map = {m->entries, m->index, m->mask};

    return (struct cel_value){.kind = CEL_MAP, .len = m->n, .map = arena_copy(m->arena, &map)};
}

/* Keys of the very same kind; whole numbers by value. */
static inline bool key_eq(struct cel_value x, struct cel_value y)
{
    if (x.kind != y.kind)
        return false;
    if (x.kind == CEL_STRING || x.kind == CEL_BYTES)
        return x.len == y.len && bytes_eq(x.s, y.s, x.len);
    if (x.kind == CEL_BOOL)
        return x.b == y.b;
    if (x.kind == CEL_INT || x.kind == CEL_UINT)
        return x.u == y.u;
    return x.kind == CEL_NULL || (x.kind == CEL_DOUBLE && x.d == y.d);
}

static struct cel_value map_find(const struct cel_map *m, uint32_t n, struct cel_value key)
{
    if (!m->index) {
        for (uint32_t i = 0; i < n; i++)
            if (key_eq(m->entries[i].key, key))
                return m->entries[i].value;
        return (struct cel_value){0};
    }
    for (uint32_t at = (uint32_t)key_hash(key) & m->mask; m->index[at]; at = (at + 1) & m->mask)
        if (key_eq(m->entries[m->index[at] - 1].key, key))
            return m->entries[m->index[at] - 1].value;
    return (struct cel_value){0};
}

static struct cel_value get_exact(struct arena *a, struct cel_value map, struct cel_value key)
{
    if (map.form == CEL_ARRAY)
        return map_find(map.map, map.len, key);
    if (map.form == CEL_HOSTED)
        return map.host->ops->get(map.host, a, key);
    if (key.kind == CEL_STRING)
        for (uint32_t i = 0; i < map.len; i++)
            if (str_eq(map.members[i].name, cel_str(key)))
                return cel_of_json(&map.members[i].value);
    return (struct cel_value){0};
}

struct cel_value cel_get(struct arena *a, struct cel_value map, struct cel_value key)
{
    struct cel_value v = {0}, other;

    if (likely(key.kind == CEL_STRING))
        return get_exact(a, map, key);

    if (key.kind != CEL_DOUBLE)
        v = get_exact(a, map, key);
    if (v.kind == CEL_ABSENT && as_int(key, &other))
        v = get_exact(a, map, other);
    if (v.kind == CEL_ABSENT && as_uint(key, &other))
        v = get_exact(a, map, other);
    return v;
}

struct cel_value cel_key(struct arena *a, struct cel_value map, uint32_t i)
{
    if (map.form == CEL_ARRAY)
        return map.map->entries[i].key;
    if (map.form == CEL_JSON)
        return cel_string(map.members[i].name);
    return map.host->ops->at(map.host, a, i);
}

struct cel_value value_entry(struct arena *a, struct cel_value map, uint32_t i)
{
    if (map.form == CEL_ARRAY)
        return map.map->entries[i].value;
    if (map.form == CEL_JSON)
        return cel_of_json(&map.members[i].value);
    return map.host->ops->get(map.host, a, map.host->ops->at(map.host, a, i));
}

/* ---- sizes ---- */

uint64_t string_size(struct cel_value v)
{
    struct str s = cel_str(v);
    size_t n = 0;

    if (v.form & CEL_ASCII)
        return v.len;
    for (size_t i = 0; i < s.len; i++)
        n += (s.at[i] & 0xC0) != 0x80;
    return n;
}

uint64_t cel_size(struct cel_value v)
{
    switch (v.kind) {
    case CEL_STRING:
        return string_size(v);
    case CEL_BYTES:
    case CEL_LIST:
    case CEL_MAP:
        return v.len;
    case CEL_IP:
        return ip_is_v4(v.ip) ? 4 : 16;
    case CEL_CIDR:
        return ((uint64_t)cidr_bits(v.cidr) + 7) / 8;
    default:
        return 1;
    }
}

/* ---- numbers ---- */

static int order(double x, double y)
{
    return (x > y) - (x < y);
}

static int compare_di(double d, int64_t i)
{
    if (isnan(d))
        return CEL_UNORDERED;
    if (d < -0x1p63)
        return -1;
    return d > 0x1p63 ? 1 : order(d, (double)i);
}

static int compare_du(double d, uint64_t u)
{
    if (isnan(d))
        return CEL_UNORDERED;
    if (d < 0)
        return -1;
    return d > 0x1p64 ? 1 : order(d, (double)u);
}

static int compare_iu(int64_t i, uint64_t u)
{
    if (i < 0 || u > INT64_MAX)
        return -1;
    return (i > (int64_t)u) - (i < (int64_t)u);
}

static int flip(int c)
{
    return c == CEL_UNORDERED ? c : -c;
}

#define PAIR(x, y) ((x) << 5 | (y))

static int compare_numbers(struct cel_value x, struct cel_value y)
{
    switch (PAIR(x.kind, y.kind)) {
    case PAIR(CEL_INT, CEL_INT):
        return (x.i > y.i) - (x.i < y.i);
    case PAIR(CEL_UINT, CEL_UINT):
        return (x.u > y.u) - (x.u < y.u);
    case PAIR(CEL_DOUBLE, CEL_DOUBLE):
        return isnan(x.d) || isnan(y.d) ? CEL_UNORDERED : order(x.d, y.d);
    case PAIR(CEL_INT, CEL_UINT):
        return compare_iu(x.i, y.u);
    case PAIR(CEL_UINT, CEL_INT):
        return -compare_iu(y.i, x.u);
    case PAIR(CEL_DOUBLE, CEL_INT):
        return compare_di(x.d, y.i);
    case PAIR(CEL_INT, CEL_DOUBLE):
        return flip(compare_di(y.d, x.i));
    case PAIR(CEL_DOUBLE, CEL_UINT):
        return compare_du(x.d, y.u);
    case PAIR(CEL_UINT, CEL_DOUBLE):
        return flip(compare_du(y.d, x.u));
    default:
        return CEL_INCOMPARABLE;
    }
}

int cel_compare(struct cel_value x, struct cel_value y)
{
    if (value_is_number(x) && value_is_number(y))
        return compare_numbers(x, y);
    if (x.kind != y.kind)
        return CEL_INCOMPARABLE;
    switch (x.kind) {
    case CEL_BOOL:
        return (int)x.b - (int)y.b;
    case CEL_STRING:
    case CEL_BYTES:
        return str_cmp(cel_str(x), cel_str(y));
    case CEL_TIMESTAMP:
        if (x.i != y.i)
            return x.i < y.i ? -1 : 1;
        return (x.len > y.len) - (x.len < y.len);
    case CEL_DURATION:
        return (x.i > y.i) - (x.i < y.i);
    default:
        return CEL_INCOMPARABLE;
    }
}

/* ---- equality ---- */

static struct cel_value equal(struct arena *a, struct cel_value x, struct cel_value y,
                              int depth);

static struct cel_value lists_equal(struct arena *a, struct cel_value x, struct cel_value y,
                                    int depth)
{
    if (x.form == CEL_HOSTED && x.host->ops->equal)
        return x.host->ops->equal(x.host, a, y);
    if (x.len != y.len)
        return cel_bool(false);
    for (uint32_t i = 0; i < x.len; i++) {
        struct cel_value e = equal(a, cel_at(a, x, i), cel_at(a, y, i), depth);
        if (!cel_is_true(e))
            return e;
    }
    return cel_bool(true);
}

static struct cel_value maps_equal(struct arena *a, struct cel_value x, struct cel_value y,
                                   int depth)
{
    if (x.form == CEL_HOSTED && x.host->ops->equal)
        return x.host->ops->equal(x.host, a, y);
    if (x.len != y.len)
        return cel_bool(false);
    for (uint32_t i = 0; i < x.len; i++) {
        struct cel_value other = cel_get(a, y, cel_key(a, x, i));
        if (other.kind == CEL_ABSENT)
            return cel_bool(false);
        struct cel_value e = equal(a, value_entry(a, x, i), other, depth);
        if (!cel_is_true(e))
            return e;
    }
    return cel_bool(true);
}

static bool same_kind_equal(struct arena *a, struct cel_value x, struct cel_value y)
{
    switch (x.kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return x.b == y.b;
    case CEL_STRING:
    case CEL_BYTES:
        return x.len == y.len && bytes_eq(x.s, y.s, x.len);
    case CEL_TYPE:
        return x.type == y.type || str_eq(x.type->name, y.type->name);
    case CEL_TIMESTAMP:
        return x.i == y.i && x.len == y.len;
    case CEL_DURATION:
        return x.i == y.i;
    case CEL_ENUM:
        return x.len == y.len && str_eq(x.type->name, y.type->name);
    case CEL_MESSAGE:
        return message_equal(a, x, y);
    case CEL_OBJECT:
        return x.object->type == y.object->type && x.object->type->equal &&
               x.object->type->equal(x.object, y.object);
    default:
        return opaque_equal(x, y);
    }
}

/* What is not of one kind is not equal; what Kubernetes brought along errs instead. */
static struct cel_value kinds_differ(struct arena *a, struct cel_value x, struct cel_value y)
{
    bool has_parts = x.kind == CEL_LIST || x.kind == CEL_MAP;

    if (y.kind == CEL_NULL)
        return cel_bool(false);
    if (has_parts && x.form == CEL_HOSTED && x.host->ops->equal)
        return x.host->ops->equal(x.host, a, y);
    if (x.kind >= CEL_QUANTITY && x.kind <= CEL_FORMAT)
        return cel_fail(CEL_E_NO_OVERLOAD);
    return cel_bool(false);
}

static struct cel_value equal(struct arena *a, struct cel_value x, struct cel_value y,
                              int depth)
{
    if (depth > MAX_EQUAL_DEPTH)
        return cel_fail_text(a, "values nested too deeply to compare");
    if (value_is_number(x) && value_is_number(y))
        return cel_bool(compare_numbers(x, y) == 0);
    if (x.kind != y.kind)
        return kinds_differ(a, x, y);
    if (x.kind == CEL_LIST)
        return lists_equal(a, x, y, depth + 1);
    if (x.kind == CEL_MAP)
        return maps_equal(a, x, y, depth + 1);
    if (x.kind == CEL_OPTIONAL) {
        if (x.len != y.len || x.len == 0)
            return cel_bool(x.len == y.len);
        return equal(a, x.items[0], y.items[0], depth + 1);
    }
    return cel_bool(same_kind_equal(a, x, y));
}

struct cel_value cel_equal(struct arena *a, struct cel_value x, struct cel_value y)
{
    return equal(a, x, y, 0);
}

bool cel_same(struct arena *a, struct cel_value x, struct cel_value y)
{
    return cel_is_true(equal(a, x, y, 0));
}

/* ---- types ---- */

const struct cel_type *cel_type_of(struct cel_value v)
{
    static const struct cel_type *const types[CEL_KINDS] = {
        [CEL_NULL] = &cel_type_null,
        [CEL_BOOL] = &cel_type_bool,
        [CEL_INT] = &cel_type_int,
        [CEL_UINT] = &cel_type_uint,
        [CEL_DOUBLE] = &cel_type_double,
        [CEL_STRING] = &cel_type_string,
        [CEL_BYTES] = &cel_type_bytes,
        [CEL_LIST] = &cel_type_list,
        [CEL_MAP] = &cel_type_map,
        [CEL_TYPE] = &cel_type_type,
        [CEL_TIMESTAMP] = &cel_type_timestamp,
        [CEL_DURATION] = &cel_type_duration,
        [CEL_OPTIONAL] = &cel_type_optional,
        [CEL_QUANTITY] = &cel_type_quantity,
        [CEL_SEMVER] = &cel_type_semver,
        [CEL_IP] = &cel_type_ip,
        [CEL_CIDR] = &cel_type_cidr,
        [CEL_URL] = &cel_type_url,
        [CEL_FORMAT] = &cel_type_format,
    };

    if (v.kind == CEL_ENUM)
        return v.type;
    if (v.kind == CEL_OBJECT)
        return v.object->type;
    if (v.kind == CEL_MESSAGE)
        return message_type(v);
    return types[v.kind] ? types[v.kind] : &cel_type_error;
}

/* ---- errors ---- */

struct str cel_error_text(struct arena *a, struct cel_value e)
{
    struct str s = cel_str(e);

    switch ((enum cel_err)e.form) {
    case CEL_E_NO_OVERLOAD:
        return s.len ? str_printf(a, "no such overload: %.*s", STR_ARG(s))
                     : S("no such overload");
    case CEL_E_NO_KEY:
        return str_printf(a, "no such key: %.*s", STR_ARG(s));
    case CEL_E_NO_FIELD:
        return str_printf(a, "no such field '%.*s'", STR_ARG(s));
    case CEL_E_NO_VAR:
        return str_printf(a, "no such attribute(s): %.*s", STR_ARG(s));
    case CEL_E_INDEX:
        return str_printf(a, "index out of bounds: %lld", (long long)e.i);
    case CEL_E_OVERFLOW:
        return S("integer overflow");
    case CEL_E_UOVERFLOW:
        return S("unsigned integer overflow");
    case CEL_E_TIME_OVERFLOW:
        return S("timestamp overflow");
    case CEL_E_DIVIDE:
        return S("division by zero");
    case CEL_E_MODULUS:
        return S("modulus by zero");
    case CEL_E_NAN:
        return S("NaN values cannot be ordered");
    case CEL_E_NONE:
        return S("optional.none() dereference");
    case CEL_E_RANGE:
        return str_printf(a, "got '%.*s', expected iterable type", STR_ARG(s));
    case CEL_E_COST:
        return S("operation cancelled: actual cost limit exceeded");
    case CEL_E_STEPS:
        return S("operation cancelled: step limit exceeded");
    case CEL_E_CANCELED:
        return S("operation interrupted");
    case CEL_E_MEMORY:
        return S("operation cancelled: memory limit exceeded");
    case CEL_E_UNDECLARED:
        return str_printf(a, "undeclared reference to '%.*s'", STR_ARG(s));
    default:
        return s;
    }
}

/* ---- JSON ---- */

#define MAX_JSON_INT ((INT64_C(1) << 53) - 1)

static bool list_to_json(struct arena *a, struct cel_value v, struct json *out)
{
    struct json_arr arr = arr_in(a);
    struct json item;

    for (uint32_t i = 0; i < v.len; i++) {
        if (!cel_to_json(a, cel_at(a, v, i), &item))
            return false;
        arr_add(&arr, item);
    }
    *out = arr_done(&arr);
    return true;
}

static bool map_to_json(struct arena *a, struct cel_value v, struct json *out)
{
    struct json_obj obj = obj_in(a);
    struct json item;

    for (uint32_t i = 0; i < v.len; i++) {
        struct cel_value key = cel_key(a, v, i);
        if (key.kind != CEL_STRING || !cel_to_json(a, value_entry(a, v, i), &item))
            return false;
        obj_set(&obj, cel_str(key), item);
    }
    *out = obj_done(&obj);
    return true;
}

bool cel_to_json(struct arena *a, struct cel_value v, struct json *out)
{
    switch (v.kind) {
    case CEL_NULL:
        *out = json_of_null();
        return true;
    case CEL_BOOL:
        *out = json_of_bool(v.b);
        return true;
    case CEL_INT:
        *out = v.i > MAX_JSON_INT || v.i < -MAX_JSON_INT
                   ? json_of_str(str_printf(a, "%lld", (long long)v.i))
                   : json_of_i64(v.i);
        return true;
    case CEL_UINT:
        *out = v.u > MAX_JSON_INT ? json_of_str(str_printf(a, "%llu", (unsigned long long)v.u))
                                  : json_of_i64((int64_t)v.u);
        return true;
    case CEL_DOUBLE:
        *out = isfinite(v.d) ? json_of_f64(v.d) : json_of_str(text_double(a, v.d));
        return true;
    case CEL_STRING:
        *out = json_of_str(cel_str(v));
        return true;
    case CEL_BYTES:
        *out = json_of_str(text_base64(a, cel_str(v)));
        return true;
    case CEL_LIST:
        return list_to_json(a, v, out);
    case CEL_MAP:
        return map_to_json(a, v, out);
    case CEL_OPTIONAL:
        return v.len ? cel_to_json(a, v.items[0], out) : (*out = json_of_null(), true);
    case CEL_TIMESTAMP:
    case CEL_DURATION:
    case CEL_QUANTITY:
    case CEL_SEMVER:
    case CEL_IP:
    case CEL_CIDR:
    case CEL_URL:
        *out = json_of_str(text_plain(a, v));
        return true;
    case CEL_MESSAGE:
        return message_to_json(a, v, out);
    default:
        return false;
    }
}

/* ---- text ---- */

#define MAX_SHOW (1 << 20) /* bytes of one value's text */

static void show(struct arena *a, struct buf *b, struct cel_value v, int depth)
{
    if (depth > CEL_SHOW_DEPTH || b->len > MAX_SHOW) {
        buf_add(b, S("…"));
        return;
    }
    switch (v.kind) {
    case CEL_NULL:
        buf_add(b, S("null"));
        break;
    case CEL_UINT:
        buf_printf(b, "%lluu", (unsigned long long)v.u);
        break;
    case CEL_DOUBLE: {
        struct str s = text_double(a, v.d);
        buf_add(b, s);
        if (isfinite(v.d) && str_index(s, '.') == STR_NONE && str_index(s, 'e') == STR_NONE)
            buf_add(b, S(".0"));
        break;
    }
    case CEL_STRING:
        text_quote(b, cel_str(v));
        break;
    case CEL_BYTES:
        text_quote_bytes(b, cel_str(v));
        break;
    case CEL_LIST:
        buf_byte(b, '[');
        for (uint32_t i = 0; i < v.len; i++) {
            buf_add(b, i ? S(", ") : S(""));
            show(a, b, cel_at(a, v, i), depth + 1);
        }
        buf_byte(b, ']');
        break;
    case CEL_MAP:
        buf_byte(b, '{');
        for (uint32_t i = 0; i < v.len; i++) {
            buf_add(b, i ? S(", ") : S(""));
            show(a, b, cel_key(a, v, i), depth + 1);
            buf_add(b, S(": "));
            show(a, b, value_entry(a, v, i), depth + 1);
        }
        buf_byte(b, '}');
        break;
    case CEL_OPTIONAL:
        buf_add(b, v.len ? S("optional.of(") : S("optional.none()"));
        if (v.len) {
            show(a, b, v.items[0], depth + 1);
            buf_byte(b, ')');
        }
        break;
    case CEL_ERROR:
        buf_add(b, S("error: "));
        buf_add(b, cel_error_text(a, v));
        break;
    case CEL_UNKNOWN:
        buf_add(b, S("unknown"));
        for (const struct cel_unknown *u = v.unknown; u; u = u->next)
            buf_printf(b, "%s%.*s", u == v.unknown ? ": " : ", ", STR_ARG(u->path));
        break;
    case CEL_MESSAGE:
        message_show(a, b, v);
        break;
    case CEL_OBJECT:
        buf_add(b, v.object->type->name);
        break;
    default:
        show_opaque(a, b, v);
    }
}

struct str cel_show(struct arena *a, struct cel_value v)
{
    struct buf b = buf_in(a, 64);

    show(a, &b, v, 0);
    return buf_str(&b);
}
