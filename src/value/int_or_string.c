/* int_or_string.c - fields that hold a number or a text, mostly a percentage */
#include "value/int_or_string.h"

struct int_or_string int_or_string_parse(struct str text)
{
    int64_t v;

    if (str_to_i64(text, &v) && v >= INT32_MIN && v <= INT32_MAX)
        return (struct int_or_string){.i = (int32_t)v};
    return (struct int_or_string){.is_string = true, .s = text};
}

int int_or_string_value(struct int_or_string v, int64_t *out, bool *is_percent, struct err *err)
{
    int64_t n;

    if (!v.is_string) {
        *out = v.i;
        *is_percent = false;
        return 0;
    }
    if (!str_ends(v.s, S("%")))
        return err_set(err, ERR_INVALID, "invalid type: string is not a percentage");
    if (!str_to_i64(str_slice(v.s, 0, v.s.len - 1), &n))
        return err_set(err, ERR_INVALID, "invalid value \"%.*s\"",
                       (int)MIN(v.s.len, (size_t)64), v.s.at);
    *out = n;
    *is_percent = true;
    return 0;
}

/* The double nearest to n that is whole, saturating. */
static int64_t whole(double n)
{
    if (n >= 9223372036854775807.0)
        return INT64_MAX;
    return n <= -9223372036854775808.0 ? INT64_MIN : (int64_t)n;
}

int int_or_string_scaled(struct int_or_string v, int64_t total, bool is_up, int64_t *out,
                         struct err *err)
{
    int64_t n = 0;
    bool is_percent = false;

    if (int_or_string_value(v, &n, &is_percent, err) < 0)
        return -1;
    if (is_percent) {
        double part = (double)n * (double)total / 100;
        n = whole(is_up ? __builtin_ceil(part) : __builtin_floor(part));
    }
    *out = n;
    return 0;
}
