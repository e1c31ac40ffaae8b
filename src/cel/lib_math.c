/* lib_math.c - the math library */
#include <math.h>

#include "cel/lib_priv.h"

CEL_FN(m_ceil)
{
    return cel_double(ceil(args[0].d));
}

CEL_FN(m_floor)
{
    return cel_double(floor(args[0].d));
}

CEL_FN(m_round)
{
    return cel_double(round(args[0].d));
}

CEL_FN(m_trunc)
{
    return cel_double(trunc(args[0].d));
}

CEL_FN(m_abs)
{
    struct cel_value v = args[0];

    if (v.kind == CEL_DOUBLE)
        return cel_double(fabs(v.d));
    if (v.kind == CEL_INT && v.i < 0)
        return v.i == INT64_MIN ? cel_fail(CEL_E_OVERFLOW) : cel_int(-v.i);
    return v;
}

CEL_FN(m_sign)
{
    struct cel_value v = args[0];

    if (v.kind == CEL_DOUBLE)
        return isnan(v.d) || v.d == 0 ? v : cel_double(v.d > 0 ? 1 : -1);
    if (v.kind == CEL_INT)
        return cel_int((v.i > 0) - (v.i < 0));
    return cel_uint(v.u > 0);
}

CEL_FN(m_is_nan)
{
    return cel_bool(isnan(args[0].d));
}

CEL_FN(m_is_inf)
{
    return cel_bool(isinf(args[0].d));
}

CEL_FN(m_is_finite)
{
    return cel_bool(isfinite(args[0].d));
}

static struct cel_value with_bits(struct cel_value like, uint64_t u)
{
    like.u = u;
    return like;
}

CEL_FN(m_and)
{
    return with_bits(args[0], args[0].u & args[1].u);
}

CEL_FN(m_or)
{
    return with_bits(args[0], args[0].u | args[1].u);
}

CEL_FN(m_xor)
{
    return with_bits(args[0], args[0].u ^ args[1].u);
}

CEL_FN(m_not)
{
    return with_bits(args[0], ~args[0].u);
}

CEL_FN(m_left)
{
    int64_t by = args[1].i;

    if (by < 0)
        return cel_fail_text(c->arena, "math.bitShiftLeft() negative offset: %lld",
                             (long long)by);
    return with_bits(args[0], by < 64 ? args[0].u << by : 0);
}

CEL_FN(m_right)
{
    int64_t by = args[1].i;

    if (by < 0)
        return cel_fail_text(c->arena, "math.bitShiftRight() negative offset: %lld",
                             (long long)by);
    return with_bits(args[0], by < 64 ? args[0].u >> by : 0);
}

CEL_FN(m_sqrt)
{
    struct cel_value v = args[0];

    return cel_double(sqrt(v.kind == CEL_DOUBLE ? v.d
                           : v.kind == CEL_INT  ? (double)v.i
                                                : (double)v.u));
}

/* The least (direction -1) or greatest (1); of equals the first. */
static struct cel_value extreme(struct cel_call *c, const struct cel_value *args, size_t n)
{
    bool is_max = c->data != NULL, is_list = n == 1 && args[0].kind == CEL_LIST;
    struct str name = is_max ? S("math.@max") : S("math.@min");
    size_t count = is_list ? args[0].len : n;
    struct cel_value best = {0};

    for (size_t i = 0; i < count; i++) {
        struct cel_value v = is_list ? cel_at(c->arena, args[0], (uint32_t)i) : args[i];
        if (!value_is_number(v))
            return cel_fail_name(CEL_E_NO_OVERLOAD, name);
        int order = best.kind == CEL_ABSENT ? 0 : cel_compare(v, best);
        if (best.kind == CEL_ABSENT || order == (is_max ? 1 : -1))
            best = v;
    }
    if (best.kind == CEL_ABSENT)
        return cel_fail_text(c->arena, "%.*s(list) argument must not be empty", STR_ARG(name));
    return best;
}

static const bool yes = true;
/* clang-format off */
#define EXTREME(name, id, data) \
    {name, id "_double", "(double) double", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_int", "(int) int", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_uint", "(uint) uint", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_double_double", "(double, double) double", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_int_int", "(int, int) int", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_uint_uint", "(uint, uint) uint", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_double_int", "(double, int) dyn", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_double_uint", "(double, uint) dyn", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_int_double", "(int, double) dyn", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_int_uint", "(int, uint) dyn", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_uint_double", "(uint, double) dyn", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_uint_int", "(uint, int) dyn", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_list_double", "(list(double)) double", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_list_int", "(list(int)) int", extreme, LIB_MATH, COST_ONE, 0, 0, data}, \
    {name, id "_list_uint", "(list(uint)) uint", extreme, LIB_MATH, COST_ONE, 0, 0, data}
#define BITS(name, id, fn) \
    {name, id "_int_int", "(int, int) int", fn, LIB_MATH, COST_ONE, 1}, \
    {name, id "_uint_uint", "(uint, uint) uint", fn, LIB_MATH, COST_ONE, 1}

static const struct lib_row rows[] = {
    EXTREME("math.@min", "math_@min", NULL),
    EXTREME("math.@max", "math_@max", &yes),
    {"math.ceil",          "math_ceil_double",            "(double) double",  m_ceil,      LIB_MATH, COST_ONE, 1},
    {"math.floor",         "math_floor_double",           "(double) double",  m_floor,     LIB_MATH, COST_ONE, 1},
    {"math.round",         "math_round_double",           "(double) double",  m_round,     LIB_MATH, COST_ONE, 1},
    {"math.trunc",         "math_trunc_double",           "(double) double",  m_trunc,     LIB_MATH, COST_ONE, 1},
    {"math.isInf",         "math_isInf_double",           "(double) bool",    m_is_inf,    LIB_MATH, COST_ONE, 1},
    {"math.isNaN",         "math_isNaN_double",           "(double) bool",    m_is_nan,    LIB_MATH, COST_ONE, 1},
    {"math.isFinite",      "math_isFinite_double",        "(double) bool",    m_is_finite, LIB_MATH, COST_ONE, 1},
    {"math.abs",           "math_abs_double",             "(double) double",  m_abs,       LIB_MATH, COST_ONE, 1},
    {"math.abs",           "math_abs_int",                "(int) int",        m_abs,       LIB_MATH, COST_ONE, 1},
    {"math.abs",           "math_abs_uint",               "(uint) uint",      m_abs,       LIB_MATH, COST_ONE, 1},
    {"math.sign",          "math_sign_double",            "(double) double",  m_sign,      LIB_MATH, COST_ONE, 1},
    {"math.sign",          "math_sign_int",               "(int) int",        m_sign,      LIB_MATH, COST_ONE, 1},
    {"math.sign",          "math_sign_uint",              "(uint) uint",      m_sign,      LIB_MATH, COST_ONE, 1},
    BITS("math.bitAnd", "math_bitAnd", m_and),
    BITS("math.bitOr", "math_bitOr", m_or),
    BITS("math.bitXor", "math_bitXor", m_xor),
    {"math.bitNot",        "math_bitNot_int_int",         "(int) int",        m_not,       LIB_MATH, COST_ONE, 1},
    {"math.bitNot",        "math_bitNot_uint_uint",       "(uint) uint",      m_not,       LIB_MATH, COST_ONE, 1},
    {"math.bitShiftLeft",  "math_bitShiftLeft_int_int",   "(int, int) int",   m_left,      LIB_MATH, COST_ONE, 1},
    {"math.bitShiftLeft",  "math_bitShiftLeft_uint_int",  "(uint, int) uint", m_left,      LIB_MATH, COST_ONE, 1},
    {"math.bitShiftRight", "math_bitShiftRight_int_int",  "(int, int) int",   m_right,     LIB_MATH, COST_ONE, 1},
    {"math.bitShiftRight", "math_bitShiftRight_uint_int", "(uint, int) uint", m_right,     LIB_MATH, COST_ONE, 1},
    {"math.sqrt",          "math_sqrt_double",            "(double) double",  m_sqrt,      LIB_MATH, COST_ONE, 2},
    {"math.sqrt",          "math_sqrt_int",               "(int) double",     m_sqrt,      LIB_MATH, COST_ONE, 2},
    {"math.sqrt",          "math_sqrt_uint",              "(uint) double",    m_sqrt,      LIB_MATH, COST_ONE, 2},
};
/* clang-format on */
const struct lib_table cel_lib_math = {rows, countof(rows)};
