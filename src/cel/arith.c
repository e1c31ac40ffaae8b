/* arith.c - the operators on plain values */
#include <math.h>

#include "cel/plan_priv.h"

static struct cel_value checked_i(bool overflows, int64_t i)
{
    return overflows ? cel_fail(CEL_E_OVERFLOW) : cel_int(i);
}

static struct cel_value checked_u(bool overflows, uint64_t u)
{
    return overflows ? cel_fail(CEL_E_UOVERFLOW) : cel_uint(u);
}

static struct cel_value checked_span(bool overflows, int64_t ns)
{
    return overflows ? cel_fail(CEL_E_OVERFLOW) : cel_duration(ns);
}

/* ---- times ---- */

static struct cel_value time_plus(struct cel_value t, int64_t ns, bool is_minus)
{
    int64_t s = ns / SECOND_NS, n = ns % SECOND_NS, seconds, nanos;

    if (is_minus)
        s = -s, n = -n;
    nanos = (int64_t)t.len + n;
    if (__builtin_add_overflow(t.i, s, &seconds))
        return cel_fail(CEL_E_TIME_OVERFLOW);
    if (nanos < 0)
        nanos += SECOND_NS, seconds--;
    else if (nanos >= SECOND_NS)
        nanos -= SECOND_NS, seconds++;
    if (seconds < STAMP_MIN || seconds > STAMP_MAX)
        return cel_fail(CEL_E_TIME_OVERFLOW);
    return cel_time(seconds, (uint32_t)nanos, t.aux);
}

static struct cel_value time_minus_time(struct cel_value x, struct cel_value y)
{
    int64_t s, ns;

    if (__builtin_sub_overflow(x.i, y.i, &s) || __builtin_mul_overflow(s, SECOND_NS, &ns) ||
        __builtin_add_overflow(ns, (int64_t)x.len - (int64_t)y.len, &ns))
        return cel_fail(CEL_E_OVERFLOW);
    return cel_duration(ns);
}

/* ---- + ---- */

static struct cel_value concat(struct arena *a, struct cel_value x, struct cel_value y)
{
    size_t n = (size_t)x.len + y.len;
    char *at;

    if (n > CEL_MAX_BYTES)
        return cel_fail(CEL_E_MEMORY);
    at = arena_raw(a, MAX(n, (size_t)1), 1);
    if (x.len)
        memcpy(at, x.s, x.len);
    if (y.len)
        memcpy(at + x.len, y.s, y.len);
    x.form &= y.form;
    x.len = (uint32_t)n;
    x.s = at;
    return x;
}

#define MAX_COPIED 16 /* elements of a short list: copied, a longer one is linked */

static struct cel_value add_lists(struct arena *a, struct cel_value x, struct cel_value y)
{
    struct cel_cat cat = {x, y};

    if (x.form == CEL_HOSTED && x.host->ops->add)
        return x.host->ops->add(x.host, a, y);
    if (y.len == 0)
        return x;
    if (x.len == 0)
        return y;
    if ((uint64_t)x.len + y.len > CEL_MAX_ITEMS)
        return cel_fail(CEL_E_MEMORY);
    if (x.len + y.len <= MAX_COPIED) {
        struct cel_value *items = arena_array(a, struct cel_value, x.len + y.len);
        for (uint32_t i = 0; i < x.len; i++)
            items[i] = cel_at(a, x, i);
        for (uint32_t i = 0; i < y.len; i++)
            items[x.len + i] = cel_at(a, y, i);
        return cel_list(items, x.len + y.len);
    }
    return (struct cel_value){
        .kind = CEL_LIST, .form = CEL_CAT, .len = x.len + y.len, .cat = arena_copy(a, &cat)};
}

struct cel_value value_add(struct arena *a, struct cel_value x, struct cel_value y)
{
    struct cel_value r = {0};
    bool is_over;

    if (x.kind == CEL_TIMESTAMP && y.kind == CEL_DURATION)
        return time_plus(x, y.i, false);
    if (x.kind == CEL_DURATION && y.kind == CEL_TIMESTAMP)
        return time_plus(y, x.i, false);
    if (x.kind != y.kind)
        return cel_fail_name(CEL_E_NO_OVERLOAD, S("_+_"));
    switch (x.kind) {
    case CEL_INT:
        is_over = __builtin_add_overflow(x.i, y.i, &r.i);
        return checked_i(is_over, r.i);
    case CEL_UINT:
        is_over = __builtin_add_overflow(x.u, y.u, &r.u);
        return checked_u(is_over, r.u);
    case CEL_DOUBLE:
        return cel_double(x.d + y.d);
    case CEL_STRING:
    case CEL_BYTES:
        return concat(a, x, y);
    case CEL_LIST:
        return add_lists(a, x, y);
    case CEL_DURATION:
        is_over = __builtin_add_overflow(x.i, y.i, &r.i);
        return checked_span(is_over, r.i);
    default:
        return cel_fail_name(CEL_E_NO_OVERLOAD, S("_+_"));
    }
}

/* ---- - * / % ---- */

static struct cel_value arith_int(enum op_code op, int64_t x, int64_t y)
{
    int64_t r = 0;
    bool is_over;

    switch (op) {
    case OP_SUB:
        is_over = __builtin_sub_overflow(x, y, &r);
        return checked_i(is_over, r);
    case OP_MUL:
        is_over = __builtin_mul_overflow(x, y, &r);
        return checked_i(is_over, r);
    case OP_DIV:
        if (y == 0)
            return cel_fail(CEL_E_DIVIDE);
        return x == INT64_MIN && y == -1 ? cel_fail(CEL_E_OVERFLOW) : cel_int(x / y);
    default:
        if (y == 0)
            return cel_fail(CEL_E_MODULUS);
        return x == INT64_MIN && y == -1 ? cel_fail(CEL_E_OVERFLOW) : cel_int(x % y);
    }
}

static struct cel_value arith_uint(enum op_code op, uint64_t x, uint64_t y)
{
    uint64_t r = 0;
    bool is_over;

    switch (op) {
    case OP_SUB:
        is_over = __builtin_sub_overflow(x, y, &r);
        return checked_u(is_over, r);
    case OP_MUL:
        is_over = __builtin_mul_overflow(x, y, &r);
        return checked_u(is_over, r);
    case OP_DIV:
        return y == 0 ? cel_fail(CEL_E_DIVIDE) : cel_uint(x / y);
    default:
        return y == 0 ? cel_fail(CEL_E_MODULUS) : cel_uint(x % y);
    }
}

static struct str op_name(enum op_code op)
{
    static const struct str names[] = {
        [OP_SUB] = S_INIT("_-_"), [OP_MUL] = S_INIT("_*_"), [OP_DIV] = S_INIT("_/_"),
        [OP_MOD] = S_INIT("_%_"), [OP_LT] = S_INIT("_<_"),  [OP_LE] = S_INIT("_<=_"),
        [OP_GT] = S_INIT("_>_"),  [OP_GE] = S_INIT("_>=_"),
    };

    return names[op];
}

struct cel_value value_arith(struct arena *a, enum op_code op, struct cel_value x,
                             struct cel_value y)
{
    int64_t ns = 0;

    if (op == OP_ADD)
        return value_add(a, x, y);
    if (x.kind == y.kind && x.kind == CEL_INT)
        return arith_int(op, x.i, y.i);
    if (x.kind == y.kind && x.kind == CEL_UINT)
        return arith_uint(op, x.u, y.u);
    if (x.kind == y.kind && x.kind == CEL_DOUBLE && op != OP_MOD)
        return cel_double(op == OP_SUB ? x.d - y.d : op == OP_MUL ? x.d * y.d : x.d / y.d);
    if (op == OP_SUB && x.kind == CEL_TIMESTAMP && y.kind == CEL_TIMESTAMP)
        return time_minus_time(x, y);
    if (op == OP_SUB && x.kind == CEL_TIMESTAMP && y.kind == CEL_DURATION)
        return time_plus(x, y.i, true);
    if (op == OP_SUB && x.kind == CEL_DURATION && y.kind == CEL_DURATION) {
        bool is_over = __builtin_sub_overflow(x.i, y.i, &ns);
        return checked_span(is_over, ns);
    }
    return cel_fail_name(CEL_E_NO_OVERLOAD, op_name(op));
}

struct cel_value value_neg(struct cel_value x)
{
    switch (x.kind) {
    case CEL_INT:
        return x.i == INT64_MIN ? cel_fail(CEL_E_OVERFLOW) : cel_int(-x.i);
    case CEL_DOUBLE:
        return cel_double(-x.d);
    case CEL_DURATION:
        return x.i == INT64_MIN ? cel_fail(CEL_E_OVERFLOW) : cel_duration(-x.i);
    default:
        return cel_fail_name(CEL_E_NO_OVERLOAD, S("-_"));
    }
}

struct cel_value value_order(enum op_code op, struct cel_value x, struct cel_value y)
{
    int c = cel_compare(x, y);

    if (c == CEL_INCOMPARABLE)
        return cel_fail_name(CEL_E_NO_OVERLOAD, op_name(op));
    if (c == CEL_UNORDERED)
        return cel_fail(CEL_E_NAN);
    return cel_bool(order_is(op, c));
}

struct cel_value value_in(struct arena *a, struct cel_value x, struct cel_value y)
{
    if (y.kind == CEL_MAP)
        return cel_bool(cel_get(a, y, x).kind != CEL_ABSENT);
    if (y.kind != CEL_LIST)
        return cel_fail_name(CEL_E_NO_OVERLOAD, S("@in"));
    for (uint32_t i = 0; i < y.len; i++)
        if (cel_same(a, x, cel_at(a, y, i)))
            return cel_bool(true);
    return cel_bool(false);
}

/* ---- selection ---- */

static bool list_index(struct cel_value key, int64_t *out)
{
    if (key.kind == CEL_INT)
        *out = key.i;
    else if (key.kind == CEL_UINT)
        *out = key.u > INT64_MAX ? INT64_MAX : (int64_t)key.u;
    else if (key.kind == CEL_DOUBLE && key.d == trunc(key.d) && fabs(key.d) < 0x1p62)
        *out = (int64_t)key.d;
    else
        return false;
    return true;
}

static struct cel_value object_field(struct arena *a, struct cel_value v, struct cel_value key)
{
    if (key.kind != CEL_STRING)
        return cel_fail(CEL_E_NO_OVERLOAD);
    if (v.kind == CEL_MESSAGE)
        return message_field(a, v, cel_str(key));
    if (!v.object->type->field)
        return (struct cel_value){0};
    return v.object->type->field(v.object, a, cel_str(key));
}

struct cel_value value_peek(struct arena *a, struct cel_value v, struct cel_value key,
                            bool is_field)
{
    int64_t i;

    switch (v.kind) {
    case CEL_MAP:
        if (v.form == CEL_HOSTED && v.host->ops->select)
            return v.host->ops->select(v.host, a, key);
        return cel_get(a, v, key);
    case CEL_LIST:
        if (is_field || !list_index(key, &i) || i < 0 || i >= v.len)
            return (struct cel_value){0};
        return cel_at(a, v, (uint32_t)i);
    case CEL_OPTIONAL:
        return v.len ? value_peek(a, v.items[0], key, is_field) : (struct cel_value){0};
    case CEL_MESSAGE:
    case CEL_OBJECT:
        return object_field(a, v, key);
    default:
        return (struct cel_value){0};
    }
}

static struct str key_text(struct arena *a, struct cel_value key)
{
    return key.kind == CEL_STRING ? cel_str(key) : cel_show(a, key);
}

static struct cel_value bad_index(struct arena *a, struct cel_value key)
{
    struct str s = cel_show(a, key), t = cel_type_of(key)->name;

    if (key.kind == CEL_DOUBLE)
        return cel_fail_text(a, "unsupported index value %.*s in list", STR_ARG(s));
    return cel_fail_text(a, "unsupported index type '%.*s' in list", STR_ARG(t));
}

struct cel_value value_select(struct arena *a, struct cel_value v, struct cel_value key,
                              bool is_field)
{
    struct cel_value r = value_peek(a, v, key, is_field);
    int64_t i;

    if (r.kind != CEL_ABSENT)
        return r;
    if (v.kind == CEL_LIST && !is_field) {
        if (!list_index(key, &i))
            return bad_index(a, key);
        struct cel_value e = cel_fail(CEL_E_INDEX);
        e.i = i;
        return e;
    }
    if (v.kind == CEL_MESSAGE)
        return cel_fail_name(CEL_E_NO_FIELD, key_text(a, key));
    if (v.kind == CEL_OPTIONAL)
        return cel_none();
    return cel_fail_name(CEL_E_NO_KEY, key_text(a, key));
}

/* ---- sets of constants ---- */

bool set_has(const struct const_set *s, struct cel_value v)
{
    if (v.kind == CEL_INT) {
        for (uint32_t i = 0; i < s->n; i++)
            if (s->items[i].kind == CEL_INT ? s->items[i].i == v.i
                                            : cel_same(NULL, s->items[i], v))
                return true;
        return false;
    }
    if (v.kind != CEL_STRING || s->is_plain) {
        for (uint32_t i = 0; i < s->n; i++)
            if (cel_same(NULL, s->items[i], v))
                return true;
        return false;
    }
    for (uint32_t at = (uint32_t)str_digest(cel_str(v)) & s->mask; s->index[at];
         at = (at + 1) & s->mask) {
        struct cel_value x = s->items[s->index[at] - 1];
        if (x.len == v.len && memcmp(x.s, v.s, x.len) == 0)
            return true;
    }
    return false;
}
