/* decimal.c - whole numbers of any size times a power of ten, exactly */
#include "value/decimal.h"

#define BASE UINT32_C(1000000000)
#define BASE_DIGITS 9

static const uint32_t pow10_small[BASE_DIGITS + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

/* Takes leading zero limbs off and gives the decimal. */
static struct decimal done(const uint32_t *limb, size_t n, int32_t exp, bool is_negative)
{
    while (n && limb[n - 1] == 0)
        n--;
    return (struct decimal){
        .limb = limb, .n = (uint32_t)n, .exp = exp, .is_negative = is_negative && n > 0};
}

struct decimal decimal_of(struct arena *a, int64_t v, int32_t exp)
{
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    uint32_t *limb = arena_array(a, uint32_t, 3);

    for (int i = 0; i < 3; i++, rest /= BASE)
        limb[i] = (uint32_t)(rest % BASE);
    return done(limb, 3, exp, v < 0);
}

struct decimal decimal_of_digits(struct arena *a, bool is_negative, struct str whole,
                                 struct str fraction, int32_t exp)
{
    size_t n_digits = whole.len + fraction.len, n = n_digits / BASE_DIGITS + 1;
    uint32_t *limb = arena_array(a, uint32_t, n);

    for (size_t i = 0; i < n_digits; i++) { /* i counts from the last digit */
        size_t at = n_digits - 1 - i;
        char c = at < whole.len ? whole.at[at] : fraction.at[at - whole.len];
        limb[i / BASE_DIGITS] += (uint32_t)(c - '0') * pow10_small[i % BASE_DIGITS];
    }
    return done(limb, n, exp, is_negative);
}

struct decimal decimal_of_f64(struct arena *a, double v)
{
    char text[40], *end;

    if (!__builtin_isfinite(v))
        return (struct decimal){0};
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision - 1, v);
        if (strtod(text, &end) == v)
            break;
    }
    struct str mantissa, exponent, whole, fraction;
    int64_t exp = 0;
    bool is_negative = text[0] == '-';
    str_cut(str_from(text + is_negative), 'e', &mantissa, &exponent);
    str_to_i64(exponent, &exp);
    str_cut(mantissa, '.', &whole, &fraction);
    return decimal_of_digits(a, is_negative, whole, fraction,
                             (int32_t)(exp - (int64_t)fraction.len));
}

/* x times 10^power. */
static struct decimal shift_up(struct arena *a, struct decimal x, uint32_t power)
{
    size_t skip = power / BASE_DIGITS, n = x.n + skip + 1;
    uint32_t by = pow10_small[power % BASE_DIGITS];
    uint32_t *limb;
    uint64_t carry = 0;

    if (power == 0 || x.n == 0) {
        x.exp -= (int32_t)power;
        return x;
    }
    limb = arena_array(a, uint32_t, n);
    for (size_t i = 0; i < x.n; i++) {
        carry += (uint64_t)x.limb[i] * by;
        limb[skip + i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
    limb[skip + x.n] = (uint32_t)carry;
    return done(limb, n, x.exp - (int32_t)power, x.is_negative);
}

/* x / 10^power cut towards zero; *is_exact tells whether a digit was lost. */
static struct decimal shift_down(struct arena *a, struct decimal x, uint64_t power,
                                 bool *is_exact)
{
    size_t skip = (size_t)MIN(power / BASE_DIGITS, (uint64_t)x.n);
    uint32_t by = pow10_small[power % BASE_DIGITS];
    uint32_t *limb = arena_array(a, uint32_t, x.n + 1);
    uint64_t rest = 0;

    *is_exact = true;
    for (size_t i = 0; i < skip; i++)
        *is_exact = *is_exact && x.limb[i] == 0;
    if (power / BASE_DIGITS >= x.n)
        return done(limb, 0, 0, false);
    for (size_t i = x.n; i-- > skip;) {
        rest = rest * BASE + x.limb[i];
        limb[i - skip] = (uint32_t)(rest / by);
        rest %= by;
    }
    *is_exact = *is_exact && rest == 0;
    return done(limb, x.n - skip, 0, x.is_negative);
}

/* |x| + |y|, or |x| - |y| where |x| >= |y|; both with one exp. */
static struct decimal add_magnitudes(struct arena *a, struct decimal x, struct decimal y)
{
    size_t n = MAX(x.n, y.n) + 1;
    uint32_t *limb = arena_array(a, uint32_t, n), carry = 0;

    for (size_t i = 0; i < n; i++) {
        carry += (i < x.n ? x.limb[i] : 0) + (i < y.n ? y.limb[i] : 0);
        limb[i] = carry % BASE;
        carry /= BASE;
    }
    return done(limb, n, x.exp, x.is_negative);
}

static struct decimal sub_magnitudes(struct arena *a, struct decimal x, struct decimal y)
{
    uint32_t *limb = arena_array(a, uint32_t, x.n + 1);
    int64_t borrow = 0;

    for (size_t i = 0; i < x.n; i++) {
        int64_t d = (int64_t)x.limb[i] - (i < y.n ? y.limb[i] : 0) - borrow;
        borrow = d < 0;
        limb[i] = (uint32_t)(d + borrow * (int64_t)BASE);
    }
    return done(limb, x.n, x.exp, x.is_negative);
}

static int cmp_limbs(struct decimal x, struct decimal y)
{
    if (x.n != y.n)
        return x.n < y.n ? -1 : 1;
    for (size_t i = x.n; i-- > 0;)
        if (x.limb[i] != y.limb[i])
            return x.limb[i] < y.limb[i] ? -1 : 1;
    return 0;
}

struct decimal decimal_add(struct arena *a, struct decimal x, struct decimal y)
{
    int32_t exp = MIN(x.exp, y.exp);

    x = shift_up(a, x, (uint32_t)(x.exp - exp));
    y = shift_up(a, y, (uint32_t)(y.exp - exp));
    if (x.is_negative == y.is_negative)
        return add_magnitudes(a, x, y);
    return cmp_limbs(x, y) < 0 ? sub_magnitudes(a, y, x) : sub_magnitudes(a, x, y);
}

struct decimal decimal_mul(struct arena *a, struct decimal x, struct decimal y)
{
    size_t n = (size_t)x.n + y.n;
    uint32_t *limb = arena_array(a, uint32_t, n + 1);

    for (size_t i = 0; i < x.n; i++) {
        uint64_t carry = 0;
        for (size_t k = 0; k < y.n || carry; k++) {
            carry += limb[i + k] + (k < y.n ? (uint64_t)x.limb[i] * y.limb[k] : 0);
            limb[i + k] = (uint32_t)(carry % BASE);
            carry /= BASE;
        }
    }
    return done(limb, n, x.exp + y.exp, x.is_negative != y.is_negative);
}

struct decimal decimal_neg(struct decimal x)
{
    x.is_negative = !x.is_negative && x.n > 0;
    return x;
}

struct decimal decimal_shl(struct arena *a, struct decimal x, uint32_t bits)
{
    for (; bits; bits -= MIN(bits, 29u)) { /* 2^29 is the largest power below the base */
        struct decimal by = decimal_of(a, INT64_C(1) << MIN(bits, 29u), 0);
        x = decimal_mul(a, x, by);
    }
    return x;
}

struct decimal decimal_rescale(struct arena *a, struct decimal x, int32_t exp,
                               enum decimal_round how, bool *is_exact)
{
    bool exact = true;
    struct decimal r;

    if (exp <= x.exp) {
        r = shift_up(a, x, (uint32_t)(x.exp - exp));
    } else {
        r = shift_down(a, x, (uint64_t)((int64_t)exp - x.exp), &exact);
        if (!exact && how == DECIMAL_AWAY_FROM_ZERO) {
            r.exp = 0;
            r.is_negative = x.is_negative;
            struct decimal one = decimal_of(a, x.is_negative ? -1 : 1, 0);
            r = add_magnitudes(a, one, r);
        }
    }
    r.exp = exp;
    if (is_exact)
        *is_exact = exact;
    return r;
}

struct decimal decimal_div_small(struct arena *a, struct decimal x, uint32_t d, uint32_t *rest)
{
    uint32_t *limb = arena_array(a, uint32_t, x.n + 1);
    uint64_t r = 0;

    for (size_t i = x.n; i-- > 0;) {
        r = r * BASE + x.limb[i];
        limb[i] = (uint32_t)(r / d);
        r %= d;
    }
    if (rest)
        *rest = (uint32_t)r;
    return done(limb, x.n, x.exp, x.is_negative);
}

int decimal_sign(struct decimal x)
{
    return x.n == 0 ? 0 : x.is_negative ? -1 : 1;
}

size_t decimal_digits(struct decimal x)
{
    size_t n = 0;

    if (x.n == 0)
        return 0;
    for (uint32_t top = x.limb[x.n - 1]; top; top /= 10)
        n++;
    return n + (x.n - 1) * BASE_DIGITS;
}

/* The digit of weight 10^at of the limbs alone; 0 outside of them. */
static uint32_t digit_at(struct decimal x, int64_t at)
{
    if (at < 0 || at / BASE_DIGITS >= x.n)
        return 0;
    return x.limb[at / BASE_DIGITS] / pow10_small[at % BASE_DIGITS] % 10;
}

static int cmp_magnitudes(struct decimal x, struct decimal y)
{
    int64_t x_top = (int64_t)decimal_digits(x) + x.exp;
    int64_t y_top = (int64_t)decimal_digits(y) + y.exp;

    if (x.exp == y.exp)
        return cmp_limbs(x, y);
    if (x_top != y_top)
        return x_top < y_top ? -1 : 1;
    for (int64_t at = x_top - 1, end = MIN(x.exp, y.exp); at >= end; at--) {
        uint32_t dx = digit_at(x, at - x.exp), dy = digit_at(y, at - y.exp);
        if (dx != dy)
            return dx < dy ? -1 : 1;
    }
    return 0;
}

int decimal_cmp(struct decimal x, struct decimal y)
{
    int sx = decimal_sign(x), sy = decimal_sign(y);

    if (sx != sy || sx == 0)
        return sx < sy ? -1 : sx > sy;
    return sx * cmp_magnitudes(x, y);
}

bool decimal_limbs_i64(struct decimal x, int64_t *out)
{
    uint64_t limit = (uint64_t)INT64_MAX + x.is_negative, v = 0;

    *out = x.is_negative ? INT64_MIN : INT64_MAX;
    if (x.n > 3)
        return false;
    for (size_t i = x.n; i-- > 0;)
        if (__builtin_mul_overflow(v, (uint64_t)BASE, &v) ||
            __builtin_add_overflow(v, (uint64_t)x.limb[i], &v))
            return false;
    if (v > limit)
        return false;
    *out = (int64_t)(x.is_negative ? 0 - v : v);
    return true;
}

int64_t decimal_limbs_wrapped(struct decimal x)
{
    uint64_t v = 0;

    for (size_t i = x.n; i-- > 0;)
        v = v * BASE + x.limb[i];
    return (int64_t)(x.is_negative ? 0 - v : v);
}

void decimal_write_limbs(struct buf *out, struct decimal x)
{
    if (x.n == 0) {
        buf_byte(out, '0');
        return;
    }
    buf_printf(out, "%s%" PRIu32, x.is_negative ? "-" : "", x.limb[x.n - 1]);
    for (size_t i = x.n - 1; i-- > 0;)
        buf_printf(out, "%09" PRIu32, x.limb[i]);
}

void decimal_write(struct buf *out, struct decimal x)
{
    int64_t digits = (int64_t)decimal_digits(x);
    int64_t top = MAX(digits, 1 - (int64_t)x.exp); /* at least one before the point */

    if (x.exp >= 0) {
        decimal_write_limbs(out, x);
        for (int32_t i = 0; x.n && i < x.exp; i++)
            buf_byte(out, '0');
        return;
    }
    if (x.is_negative)
        buf_byte(out, '-');
    for (int64_t at = top - 1; at >= 0; at--) {
        buf_byte(out, (char)('0' + digit_at(x, at)));
        if (at == -(int64_t)x.exp)
            buf_byte(out, '.');
    }
}
