/* number.c - JSON numbers: text to value, doubles to their shortest digits */
#include <math.h>

#include "json/json_priv.h"
#include "json/number_priv.h"

#define NUMBER_SHORT 64     /* bytes; longer ones are copied to the heap */
#define POW10_EXACT 22      /* the largest power of ten that a double holds exactly */
#define DIGITS_SAFE 15      /* decimal digits that every normal double keeps */
#define EXPONENT_MAX 100000 /* digits of an exponent past this change nothing */

static const double pow10_exact[POW10_EXACT + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

struct scan {
    const char *at, *end;
    uint64_t mantissa; /* of all digits, while it fits */
    int exponent;      /* of ten */
    bool is_negative, is_integer, is_exact;
};

static bool is_digit(const struct scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static void take_digits(struct scan *s, bool is_fraction)
{
    for (; is_digit(s); s->at++) {
        uint64_t next;
        if (s->mantissa > UINT64_MAX / 10 - 1) {
            s->is_exact = false;
            continue;
        }
        next = s->mantissa * 10 + (uint64_t)(*s->at - '0');
        s->mantissa = next;
        s->exponent -= is_fraction;
    }
}

static bool take_exponent(struct scan *s)
{
    bool is_negative = false;
    int e = 0;

    s->at++;
    if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
        is_negative = *s->at++ == '-';
    if (!is_digit(s))
        return false;
    for (; is_digit(s); s->at++)
        if (e < EXPONENT_MAX)
            e = e * 10 + (*s->at - '0');
    s->exponent += is_negative ? -e : e;
    return true;
}

/* The grammar: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static bool take_number(struct scan *s)
{
    if (s->at < s->end && *s->at == '-') {
        s->is_negative = true;
        s->at++;
    }
    if (!is_digit(s))
        return false;
    if (*s->at == '0')
        s->at++;
    else
        take_digits(s, false);
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        s->is_integer = false;
        if (!is_digit(s))
            return false;
        take_digits(s, true);
    }
    if (s->at < s->end && (*s->at | 0x20) == 'e') {
        s->is_integer = false;
        return take_exponent(s);
    }
    return true;
}

static double slow_double(struct str text)
{
    char small[NUMBER_SHORT];
    char *z = text.len < sizeof(small) ? small : mem_alloc(text.len + 1);

    memcpy(z, text.at, text.len);
    z[text.len] = 0;
    double d = strtod(z, NULL);
    if (z != small)
        free(z);
    return d;
}

static double to_double(const struct scan *s, struct str text)
{
    double d;

    if (!s->is_exact || s->mantissa > UINT64_C(1) << 53 || s->exponent < -POW10_EXACT ||
        s->exponent > POW10_EXACT)
        return slow_double(text);
    d = (double)s->mantissa;
    d = s->exponent < 0 ? d / pow10_exact[-s->exponent] : d * pow10_exact[s->exponent];
    return s->is_negative ? -d : d;
}

const char *json_number(const char *at, const char *end, struct json *out, bool *is_huge)
{
    struct scan s = {.at = at, .end = end, .is_integer = true, .is_exact = true};

    *is_huge = false;
    if (!take_number(&s))
        return NULL;
    if (s.is_integer && s.is_exact && s.mantissa <= (uint64_t)INT64_MAX + s.is_negative) {
        *out = json_of_i64((int64_t)(s.is_negative ? 0 - s.mantissa : s.mantissa));
        return s.at;
    }
    *out = json_of_f64(to_double(&s, str_of(at, (size_t)(s.at - at))));
    *is_huge = isinf(out->d);
    return s.at;
}

/* "d.ddde±xx" to its digits without trailing zeros. */
static size_t digits_of(const char *text, char digits[18], int *exponent)
{
    size_t n = 0;

    for (; *text != 'e'; text++)
        if (*text != '.')
            digits[n++] = *text;
    *exponent = (int)strtol(text + 1, NULL, 10);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

size_t json_f64_digits(double d, char digits[18], int *exponent)
{
    char text[40];

    d = fabs(d);
    /* Below the normal range fewer digits than DIGITS_SAFE may be enough. */
    for (int n = d < 0x1p-1022 ? 1 : DIGITS_SAFE;; n++) {
        snprintf(text, sizeof(text), "%.*e", n - 1, d);
        if (n >= 17 || strtod(text, NULL) == d)
            return digits_of(text, digits, exponent);
    }
}
