/* quantity.c - amounts as Kubernetes writes them
 *
 * Parsing keeps the small form (int64 x 10^scale) exactly where upstream does, because some
 * answers depend on the form: CEL's isInteger(), kept spellings, the rounding of negatives.
 */
#include "value/quantity.h"

#define SMALL_DIGITS 18        /* decimal digits that always fit 64 bits */
#define SMALL_BINARY_DIGITS 14 /* digits left for a binary suffix, less 3 for each 2^10 */

static const int64_t pow10_i64[] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};
#define POW10_MAX 18

static const char bad_format[] = "quantities must match the regular expression "
                                 "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char bad_number[] = "unable to parse numeric part of quantity";
static const char bad_suffix[] = "unable to parse quantity's suffix";

struct suffix {
    int32_t exp;
    uint8_t format;
    bool is_known;
};

/* By the first letter; the second one, where there is one, is 'i'. */
static const struct suffix one_letter[128] = {
    ['n'] = {-9, QUANTITY_DECIMAL_SI, true},
      ['u'] = {-6, QUANTITY_DECIMAL_SI, true},
    ['m'] = {-3, QUANTITY_DECIMAL_SI, true},
      ['k'] = {3,  QUANTITY_DECIMAL_SI, true},
    ['M'] = {6,  QUANTITY_DECIMAL_SI, true},
      ['G'] = {9,  QUANTITY_DECIMAL_SI, true},
    ['T'] = {12, QUANTITY_DECIMAL_SI, true},
      ['P'] = {15, QUANTITY_DECIMAL_SI, true},
    ['E'] = {18, QUANTITY_DECIMAL_SI, true},
};
static const struct suffix with_i[128] = {
    ['K'] = {10, QUANTITY_BINARY_SI, true},
      ['M'] = {20, QUANTITY_BINARY_SI, true},
    ['G'] = {30, QUANTITY_BINARY_SI, true},
      ['T'] = {40, QUANTITY_BINARY_SI, true},
    ['P'] = {50, QUANTITY_BINARY_SI, true},
      ['E'] = {60, QUANTITY_BINARY_SI, true},
};

/* A text taken apart. `whole` has no leading zeros. */
struct parts {
    struct str whole, fraction, suffix;
    bool is_negative;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str take_digits(const char **p, const char *end)
{
    const char *from = *p;

    while (*p < end && is_digit(**p))
        (*p)++;
    return str_of(from, (size_t)(*p - from));
}

static const bool is_of_suffix[256] = {
    ['e'] = true, ['E'] = true, ['i'] = true, ['n'] = true, ['u'] = true, ['m'] = true,
    ['k'] = true, ['K'] = true, ['M'] = true, ['G'] = true, ['T'] = true, ['P'] = true,
};

/* False where the text is no quantity at all. A sign or a suffix without digits is zero, as
 * upstream reads it. */
static bool take_apart(struct str text, struct parts *out)
{
    const char *p = text.at, *end = p + text.len;
    *out = (struct parts){0};

    if (p < end && (*p == '-' || *p == '+'))
        out->is_negative = *p++ == '-';
    while (p < end && *p == '0')
        p++;
    out->whole = take_digits(&p, end);
    if (p < end && *p == '.') {
        p++;
        out->fraction = take_digits(&p, end);
    }
    out->suffix = str_of(p, (size_t)(end - p));
    while (p < end && is_of_suffix[(uint8_t)*p])
        p++;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    take_digits(&p, end);
    return p == end;
}

/* 1 where it is known, 0 where not, -1 where the exponent is past our limit. */
static int read_suffix(struct str s, struct suffix *out)
{
    int64_t exp;

    if (s.len == 0) {
        *out = (struct suffix){.is_known = true};
        return 1;
    }
    if (s.len == 1)
        *out = one_letter[(uint8_t)s.at[0] & 127];
    else if (s.len == 2 && s.at[1] == 'i')
        *out = with_i[(uint8_t)s.at[0] & 127];
    else
        *out = (struct suffix){0};
    if (out->is_known)
        return 1;
    if (s.len < 2 || (s.at[0] != 'e' && s.at[0] != 'E') ||
        !str_to_i64(str_slice(s, 1, s.len), &exp))
        return 0;
    *out = (struct suffix){.format = QUANTITY_DECIMAL_EXPONENT, .is_known = true};
    if (exp > DECIMAL_MAX_EXP || exp < -DECIMAL_MAX_EXP)
        return -1;
    out->exp = (int32_t)exp;
    return 1;
}

/* The spelling is one that servers keep. It is compared before the sign and the binary power
 * are applied. */
static void keep_spelling(struct quantity *q, struct str text, int64_t digits, bool has_whole)
{
    bool is_kept = q->format == QUANTITY_BINARY_SI
                       ? (digits & 7) != 0
                       : q->scale % 3 == 0 && has_whole && digits % 1000 != 0;

    if (is_kept) {
        q->text = text.at;
        q->text_len = (uint16_t)text.len;
    }
}

/* The form of 64 bits; false where the number wants the big one. */
static bool parse_small(struct str text, const struct parts *p, const struct suffix *s,
                        struct quantity *out)
{
    size_t n = MAX(p->whole.len, (size_t)1);
    int32_t scale = 0;
    int64_t v = 0, result;

    if (s->format == QUANTITY_BINARY_SI) {
        if (p->fraction.len || n + (size_t)(s->exp * 3 / 10) > SMALL_BINARY_DIGITS)
            return false;
    } else {
        if (n + p->fraction.len > SMALL_DIGITS)
            return false;
        scale = s->exp - (int32_t)p->fraction.len;
        if (scale < QUANTITY_NANO)
            return false;
    }
    for (size_t i = 0; i < p->whole.len; i++)
        v = v * 10 + (p->whole.at[i] - '0');
    for (size_t i = 0; i < p->fraction.len; i++)
        v = v * 10 + (p->fraction.at[i] - '0');
    result = p->is_negative ? -v : v;
    if (s->format == QUANTITY_BINARY_SI &&
        __builtin_mul_overflow(result, INT64_C(1) << s->exp, &result))
        return false;
    *out = (struct quantity){.value = result, .scale = scale, .format = s->format};
    keep_spelling(out, text, v, p->whole.len > 0);
    return true;
}

/* What most are: a few digits and a suffix of at most two letters. False: it is something else,
 * or not one of these for sure. */
static bool parse_usual(struct str text, struct quantity *out)
{
    static const struct suffix none = {.is_known = true};
    const char *p = text.at, *end = p + text.len;
    const struct suffix *s = &none;
    int64_t v = 0, result;

    while (p < end && is_digit(*p) && p < text.at + SMALL_BINARY_DIGITS)
        v = v * 10 + (*p++ - '0');
    if (v == 0 || text.at[0] == '0' || end - p > 2)
        return false;
    if (p < end)
        s = end - p == 1  ? &one_letter[*p & 127]
            : p[1] == 'i' ? &with_i[*p & 127]
                          : &one_letter[0];
    if (!s->is_known || (p < end && *p < 0))
        return false;
    result = v;
    if (s->format == QUANTITY_BINARY_SI &&
        (p - text.at + s->exp * 3 / 10 > SMALL_BINARY_DIGITS ||
         __builtin_mul_overflow(v, INT64_C(1) << s->exp, &result)))
        return false;
    *out = quantity_of(result, s->format == QUANTITY_BINARY_SI ? 0 : s->exp, s->format);
    keep_spelling(out, text, v, true);
    return true;
}

#define CANONICAL_DIGITS 6 /* from m to T and from Ki to Ti they stay in 64 bits */

bool quantity_is_canonical(struct str text)
{
    size_t n = 0;
    uint32_t v = 0;

    while (n < text.len && n <= CANONICAL_DIGITS && is_digit(text.at[n]))
        v = v * 10 + (uint32_t)(text.at[n++] - '0');
    if (n == 0 || n > CANONICAL_DIGITS || text.at[0] == '0')
        return false;
    if (n == text.len)
        return v % 1000 != 0;
    if (text.at[n] < 0)
        return false;
    const struct suffix *s = &one_letter[(uint8_t)text.at[n]];
    if (n + 1 == text.len)
        return s->is_known && s->exp >= QUANTITY_MILLI && s->exp <= 12 && v % 1000 != 0;
    s = &with_i[(uint8_t)text.at[n]];
    return n + 2 == text.len && text.at[n + 1] == 'i' && s->is_known && s->exp <= 40 &&
           v % 1024 != 0;
}

static struct quantity of_big(struct arena *a, struct decimal d, enum quantity_format format)
{
    return (struct quantity){
        .format = (uint8_t)format, .is_big = true, .big = arena_copy(a, &d)};
}

static struct quantity parse_big(struct arena *a, const struct parts *p, const struct suffix *s)
{
    bool is_binary = s->format == QUANTITY_BINARY_SI;
    int32_t exp = (is_binary ? 0 : s->exp) - (int32_t)p->fraction.len;
    struct decimal d = decimal_of_digits(a, false, p->whole, p->fraction, exp);
    enum quantity_format format = s->format;

    if (is_binary)
        d = decimal_shl(a, d, (uint32_t)s->exp);
    if (d.n)
        d = decimal_rescale(a, d, QUANTITY_NANO, DECIMAL_AWAY_FROM_ZERO, NULL);
    if (is_binary) {
        struct decimal most = decimal_of(a, INT64_MAX, 0);
        if (decimal_cmp(d, most) > 0)
            d = most;
        if (d.n && decimal_cmp(d, decimal_of(a, 1, 0)) < 0)
            format = QUANTITY_DECIMAL_SI;
    }
    return of_big(a, p->is_negative ? decimal_neg(d) : d, format);
}

int quantity_parse(struct arena *a, struct str text, struct quantity *out, struct err *err)
{
    struct parts p;
    struct suffix s;

    if (text.len && parse_usual(text, out))
        return 0;
    if (text.len > QUANTITY_MAX_TEXT)
        return err_set(err, ERR_LIMIT, "a quantity of %zu bytes is over the limit of %d",
                       text.len, QUANTITY_MAX_TEXT);
    if (text.len == 0 || !take_apart(text, &p))
        return err_set(err, ERR_SYNTAX, "%s", bad_format);
    int known = read_suffix(p.suffix, &s);
    if (known < 0)
        return err_set(err, ERR_LIMIT, "a quantity's exponent is over the limit of %d",
                       DECIMAL_MAX_EXP);
    if (known == 0)
        return err_set(err, ERR_SYNTAX, "%s", bad_suffix);
    if (parse_small(text, &p, &s, out))
        return 0;
    const char *number = text.at + (text.at[0] == '-' || text.at[0] == '+');
    if (!is_digit(number[0]) && p.fraction.len == 0)
        return err_set(err, ERR_SYNTAX, "%s", bad_number);
    *out = parse_big(a, &p, &s);
    return 0;
}

struct quantity quantity_of(int64_t value, int32_t scale, enum quantity_format format)
{
    return (struct quantity){.value = value, .scale = scale, .format = (uint8_t)format};
}

struct quantity quantity_of_decimal(struct arena *a, struct decimal d,
                                    enum quantity_format format)
{
    int64_t v;

    if (decimal_limbs_i64(d, &v))
        return quantity_of(v, d.exp, format);
    return of_big(a, d, format);
}

struct decimal quantity_decimal(struct arena *a, const struct quantity *q)
{
    return q->is_big ? *q->big : decimal_of(a, q->value, q->scale);
}

const char *quantity_format_name(enum quantity_format format)
{
    static const char *const names[] = {"DecimalSI", "BinarySI", "DecimalExponent"};

    return names[format];
}

/* ---- writing ---- */

static void write_suffix(struct buf *out, int32_t exp, enum quantity_format format)
{
    static const char decimal[] = "num\0kMGTPE";

    if (exp == 0)
        return;
    if (format == QUANTITY_DECIMAL_SI && exp >= -9 && exp <= 18)
        buf_byte(out, decimal[exp / 3 + 3]);
    else
        buf_printf(out, "e%" PRId32, exp); /* past E there is no letter */
}

/* Digits without trailing zeros and a power that is a multiple of three. */
static void write_decimal(struct buf *out, struct decimal d, enum quantity_format format)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    uint32_t rest = 0;
    int32_t exp = d.exp;

    for (struct decimal next; d.n; d = next, exp++) {
        next = decimal_div_small(&a, d, 10, &rest);
        if (rest)
            break;
    }
    int32_t over = ((exp % 3) + 3) % 3;
    d.exp = exp;
    d = decimal_rescale(&a, d, exp - over, DECIMAL_TOWARDS_ZERO, NULL);
    decimal_write_limbs(out, d);
    write_suffix(out, exp - over, format);
}

static void write_small_decimal(struct buf *out, int64_t v, int32_t exp,
                                enum quantity_format format)
{
    scoped(arena_fini) struct arena a = arena_sized(256);

    for (; v % 10 == 0; exp++)
        v /= 10;
    int32_t over = ((exp % 3) + 3) % 3;
    int64_t scaled;
    if (__builtin_mul_overflow(v, pow10_i64[over], &scaled)) {
        write_decimal(out, decimal_of(&a, v, exp), format);
        return;
    }
    buf_i64(out, scaled);
    write_suffix(out, exp - over, format);
}

static void write_binary_suffix(struct buf *out, int power)
{
    static const char letters[] = "\0KMGTPE";

    if (power) {
        buf_byte(out, letters[power]);
        buf_byte(out, 'i');
    }
}

static void write_small_binary(struct buf *out, int64_t v)
{
    int power = 0;

    for (; power < 6 && v % 1024 == 0; power++)
        v /= 1024;
    buf_i64(out, v);
    write_binary_suffix(out, power);
}

static void write_binary(struct buf *out, struct decimal d)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    uint32_t rest;
    int power = 0;

    for (struct decimal next; power < 6; d = next, power++) {
        next = decimal_div_small(&a, d, 1024, &rest);
        if (rest || next.n == 0)
            break;
    }
    decimal_write_limbs(out, d);
    write_binary_suffix(out, power);
}

/* In powers of 1024; false where it would lose something, or is small enough to read as it is.
 */
static bool write_as_binary(struct buf *out, const struct quantity *q)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct quantity low = quantity_of(-1024, 0, QUANTITY_BINARY_SI);
    struct quantity high = quantity_of(1024, 0, QUANTITY_BINARY_SI);
    bool is_exact;

    if (quantity_cmp(q, &low) > 0 && quantity_cmp(q, &high) < 0)
        return false;
    if (!q->is_big && q->scale == 0) {
        write_small_binary(out, q->value);
        return true;
    }
    struct decimal whole =
        decimal_rescale(&a, quantity_decimal(&a, q), 0, DECIMAL_AWAY_FROM_ZERO, &is_exact);
    if (is_exact)
        write_binary(out, whole);
    return is_exact;
}

void quantity_write_canonical(struct buf *out, const struct quantity *q)
{
    enum quantity_format format = q->format;

    if (quantity_is_zero(q)) {
        buf_byte(out, '0');
        return;
    }
    if (format == QUANTITY_BINARY_SI) {
        if (write_as_binary(out, q))
            return;
        format = QUANTITY_DECIMAL_SI;
    }
    if (q->is_big)
        write_decimal(out, *q->big, format);
    else
        write_small_decimal(out, q->value, q->scale, format);
}

void quantity_write(struct buf *out, const struct quantity *q)
{
    if (!q->is_big && q->text_len)
        buf_add(out, str_of(q->text, q->text_len));
    else
        quantity_write_canonical(out, q);
}

struct str quantity_text(struct arena *a, const struct quantity *q)
{
    struct buf out = buf_in(a, 24);

    quantity_write(&out, q);
    return buf_str(&out);
}

/* ---- comparing ---- */

const int64_t quantity_raise[2 * QUANTITY_NEAR + 1][2] = {
    {1,                            INT64_C(1000000000000000000)},
    {1,                            INT64_C(100000000000000000) },
    {1,                            INT64_C(10000000000000000)  },
    {1,                            INT64_C(1000000000000000)   },
    {1,                            INT64_C(100000000000000)    },
    {1,                            INT64_C(10000000000000)     },
    {1,                            INT64_C(1000000000000)      },
    {1,                            INT64_C(100000000000)       },
    {1,                            INT64_C(10000000000)        },
    {1,                            1000000000                  },
    {1,                            100000000                   },
    {1,                            10000000                    },
    {1,                            1000000                     },
    {1,                            100000                      },
    {1,                            10000                       },
    {1,                            1000                        },
    {1,                            100                         },
    {1,                            10                          },
    {1,                            1                           },
    {10,                           1                           },
    {100,                          1                           },
    {1000,                         1                           },
    {10000,                        1                           },
    {100000,                       1                           },
    {1000000,                      1                           },
    {10000000,                     1                           },
    {100000000,                    1                           },
    {1000000000,                   1                           },
    {INT64_C(10000000000),         1                           },
    {INT64_C(100000000000),        1                           },
    {INT64_C(1000000000000),       1                           },
    {INT64_C(10000000000000),      1                           },
    {INT64_C(100000000000000),     1                           },
    {INT64_C(1000000000000000),    1                           },
    {INT64_C(10000000000000000),   1                           },
    {INT64_C(100000000000000000),  1                           },
    {INT64_C(1000000000000000000), 1                           },
};

int quantity_sign(const struct quantity *q)
{
    return q->is_big ? decimal_sign(*q->big) : (q->value > 0) - (q->value < 0);
}

static int cmp_big(const struct quantity *x, const struct quantity *y)
{
    scoped(arena_fini) struct arena a = arena_sized(128);

    return decimal_cmp(quantity_decimal(&a, x), quantity_decimal(&a, y));
}

int quantity_cmp_slow(const struct quantity *x, const struct quantity *y)
{
    uint32_t k = (uint32_t)x->scale - (uint32_t)y->scale + QUANTITY_NEAR;

    if (x->is_big || y->is_big)
        return cmp_big(x, y);
    if (k <= 2 * QUANTITY_NEAR) {
        __int128 a = (__int128)x->value * quantity_raise[k][0];
        __int128 b = (__int128)y->value * quantity_raise[k][1];
        return (a > b) - (a < b);
    }
    if (x->value == 0 || y->value == 0)
        return (x->value > y->value) - (x->value < y->value);
    if (x->scale > y->scale) /* x is past all 64 bits of y's units */
        return x->value > 0 ? 1 : -1;
    return y->value > 0 ? -1 : 1;
}

/* ---- arithmetic ---- */

/* v x 10^over in 64 bits; false where it does not fit. */
static bool scale_up(int64_t v, int32_t over, int64_t *out)
{
    if (v == 0 || over == 0) {
        *out = v;
        return true;
    }
    return over <= POW10_MAX && !__builtin_mul_overflow(v, pow10_i64[over], out);
}

static bool add_small(const struct quantity *x, const struct quantity *y, int64_t *v,
                      int32_t *scale)
{
    int64_t a, b;

    if (x->is_big || y->is_big)
        return false;
    if (x->value == 0 || y->value == 0) {
        const struct quantity *other = y->value == 0 ? x : y;
        *v = other->value, *scale = other->scale;
        return true;
    }
    *scale = MIN(x->scale, y->scale);
    return scale_up(x->value, x->scale - *scale, &a) &&
           scale_up(y->value, y->scale - *scale, &b) && !__builtin_add_overflow(a, b, v);
}

struct quantity quantity_add(struct arena *a, const struct quantity *x,
                             const struct quantity *y)
{
    enum quantity_format format = quantity_is_zero(x) ? y->format : x->format;
    int64_t v;
    int32_t scale;

    if (add_small(x, y, &v, &scale))
        return quantity_of(v, scale, format);
    return of_big(a, decimal_add(a, quantity_decimal(a, x), quantity_decimal(a, y)), format);
}

struct quantity quantity_neg(struct arena *a, const struct quantity *q)
{
    if (!q->is_big && q->value != INT64_MIN)
        return quantity_of(-q->value, q->scale, q->format);
    return of_big(a, decimal_neg(quantity_decimal(a, q)), q->format);
}

struct quantity quantity_sub(struct arena *a, const struct quantity *x,
                             const struct quantity *y)
{
    struct quantity minus = quantity_neg(a, y);

    return quantity_add(a, x, &minus);
}

struct quantity quantity_mul(struct arena *a, const struct quantity *q, int64_t by, bool *fits)
{
    int64_t v;

    if (fits)
        *fits = true;
    if (!q->is_big && !__builtin_mul_overflow(q->value, by, &v))
        return quantity_of(v, q->scale, q->format);
    struct decimal d = decimal_mul(a, quantity_decimal(a, q), decimal_of(a, by, 0));
    bool is_small = decimal_limbs_i64(d, &v);
    if (fits)
        *fits = is_small;
    return of_big(a, d, q->format);
}

struct quantity quantity_round(struct arena *a, const struct quantity *q, int32_t scale,
                               bool *is_exact)
{
    bool exact = true;
    struct quantity r = *q;

    if (q->is_big) {
        r = of_big(a, decimal_rescale(a, *q->big, scale, DECIMAL_AWAY_FROM_ZERO, &exact),
                   q->format);
    } else if (q->scale < scale) {
        int32_t over = scale - q->scale;
        int64_t by = over > POW10_MAX ? 0 : pow10_i64[over];
        int64_t v = by ? q->value / by : 0, rest = by ? q->value % by : q->value;
        exact = rest == 0;
        r = quantity_of(v + (rest > 0) - (rest < 0), scale, q->format);
    }
    if (is_exact)
        *is_exact = exact;
    return r;
}

/* ---- numbers ---- */

static int64_t end_of(bool is_negative)
{
    return is_negative ? INT64_MIN : INT64_MAX;
}

int64_t quantity_units(const struct quantity *q, int32_t scale)
{
    scoped(arena_fini) struct arena a = arena_sized(256);
    int64_t v;

    if (q->is_big) {
        struct decimal d = *q->big;
        if ((int64_t)decimal_digits(d) + d.exp - scale > 20)
            return end_of(d.is_negative); /* no need to spell it out */
        d = decimal_rescale(&a, d, scale, DECIMAL_AWAY_FROM_ZERO, NULL);
        decimal_limbs_i64(d, &v);
        return v;
    }
    if (q->scale < scale)
        return quantity_round(NULL, q, scale, NULL).value;
    return scale_up(q->value, q->scale - scale, &v) ? v : end_of(q->value < 0);
}

/* Upstream multiplies by some powers at once, and then wraps; by others step by step, and then
 * gives 0. */
static int64_t scaled_small(const struct quantity *q, int32_t scale)
{
    int32_t over = q->scale - scale;
    bool is_one_step = (over >= 1 && over <= 3) || over == 6 || over == 9;
    int64_t v;

    if (over <= 0)
        return quantity_units(q, scale);
    if (scale_up(q->value, over, &v))
        return v;
    if (!is_one_step || q->value == INT64_MIN)
        return 0;
    return (int64_t)((uint64_t)q->value * (uint64_t)pow10_i64[over]);
}

int64_t quantity_scaled_value(const struct quantity *q, int32_t scale)
{
    scoped(arena_fini) struct arena a = arena_sized(256);
    int64_t low, whole;
    bool is_exact;

    if (!q->is_big)
        return scaled_small(q, scale);
    int32_t over = scale - q->big->exp;
    low = decimal_limbs_wrapped(*q->big);
    if (over <= 0)
        return -over > POW10_MAX ? 0 : (int64_t)((uint64_t)low * (uint64_t)pow10_i64[-over]);
    if ((q->big->is_negative || decimal_limbs_i64(*q->big, &whole)) && over <= POW10_MAX)
        return low / pow10_i64[over] + (low % pow10_i64[over] != 0);
    struct decimal d = decimal_rescale(&a, *q->big, scale, DECIMAL_TOWARDS_ZERO, &is_exact);
    return decimal_limbs_wrapped(d) + (!is_exact && !q->big->is_negative);
}

bool quantity_integer(const struct quantity *q, int64_t *out)
{
    return !q->is_big && q->scale >= 0 && scale_up(q->value, q->scale, out);
}

/* 10^n as Go's math.Pow10 rounds it: two table entries combined. */
static double pow10_f64(int32_t n)
{
    static const double ones[32] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10,
        1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
        1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    };
    static const double up[] = {
        1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288,
    };
    static const double down[] = {
        1e0, 1e-32, 1e-64, 1e-96, 1e-128, 1e-160, 1e-192, 1e-224, 1e-256, 1e-288, 1e-320,
    };

    if (n > 308)
        return __builtin_inf();
    if (n >= 0)
        return up[n / 32] * ones[n % 32];
    return n < -323 ? 0 : down[-n / 32] / ones[-n % 32];
}

double quantity_f64(const struct quantity *q)
{
    double base = (double)q->value;
    int32_t exp = q->scale;

    if (q->is_big) {
        scoped(buf_fini) struct buf text = {0};
        decimal_write_limbs(&text, *q->big);
        buf_byte(&text, 0);
        base = strtod(text.at, NULL);
        exp = q->big->exp;
    }
    return exp == 0 || base == 0 ? base : base * pow10_f64(exp);
}
