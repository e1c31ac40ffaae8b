/* span.c - Go's duration text, and ages as `kubectl get` shows them */
#include "value/time.h"

/* ---- reading ---- */

struct unit {
    struct str name;
    int64_t ns;
};

static const struct unit units[] = {
    {S_INIT("ns"),        1               },
    {S_INIT("us"),        1000            },
    {S_INIT("\xC2\xB5s"), 1000            }, /* the micro sign */
    {S_INIT("\xCE\xBCs"), 1000            }, /* the Greek letter */
    {S_INIT("ms"),        1000000         },
    {S_INIT("s"),         SECOND_NS       },
    {S_INIT("m"),         60 * SECOND_NS  },
    {S_INIT("h"),         3600 * SECOND_NS},
};

static const struct unit *find_unit(struct str name)
{
    for (size_t i = 0; i < countof(units); i++)
        if (str_eq(units[i].name, name))
            return &units[i];
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int invalid(struct err *err, const char *what, struct str text)
{
    return err_set(err, ERR_SYNTAX, "time: %s duration \"%.*s\"", what,
                   (int)MIN(text.len, (size_t)128), text.at ? text.at : "");
}

#define SPAN_LIMIT (UINT64_C(1) << 63) /* its negative is the least span */

/* One number and its unit at *i, added to *sum. */
static int take_term(struct str s, size_t *i, uint64_t *sum, struct str text, struct err *err)
{
    uint64_t whole = 0, fraction = 0;
    double scale = 1;
    size_t from = *i, digits;

    for (; *i < s.len && is_digit(s.at[*i]); ++*i)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(s.at[*i] - '0'), &whole) ||
            whole > SPAN_LIMIT)
            return invalid(err, "invalid", text);
    digits = *i - from;
    if (*i < s.len && s.at[*i] == '.') {
        for (++*i; *i < s.len && is_digit(s.at[*i]); ++*i, digits++)
            if (fraction < SPAN_LIMIT / 10 - 1) { /* what is beyond no longer counts */
                fraction = fraction * 10 + (uint64_t)(s.at[*i] - '0');
                scale *= 10;
            }
    }
    if (digits == 0)
        return invalid(err, "invalid", text);

    from = *i;
    while (*i < s.len && s.at[*i] != '.' && !is_digit(s.at[*i]))
        ++*i;
    struct str name = str_slice(s, from, *i);
    const struct unit *u = find_unit(name);
    if (name.len == 0)
        return invalid(err, "missing unit in", text);
    if (!u)
        return err_set(err, ERR_SYNTAX, "time: unknown unit \"%.*s\" in duration \"%.*s\"",
                       (int)MIN(name.len, (size_t)64), name.at, (int)MIN(text.len, (size_t)128),
                       text.at);
    if (__builtin_mul_overflow(whole, (uint64_t)u->ns, &whole) ||
        __builtin_add_overflow(whole, (uint64_t)((double)fraction * ((double)u->ns / scale)),
                               &whole) ||
        __builtin_add_overflow(*sum, whole, sum) || *sum > SPAN_LIMIT)
        return invalid(err, "invalid", text);
    return 0;
}

int span_parse(struct str text, struct span *out, struct err *err)
{
    bool is_negative = text.len && text.at[0] == '-';
    struct str s = text;
    uint64_t sum = 0;

    if (text.len && (text.at[0] == '-' || text.at[0] == '+'))
        s = str_slice(text, 1, text.len);
    if (s.len == 0)
        return invalid(err, "invalid", text);
    if (!str_eq(s, S("0")))
        for (size_t i = 0; i < s.len;)
            if (take_term(s, &i, &sum, text, err) < 0)
                return -1;
    if (sum == SPAN_LIMIT && !is_negative)
        return invalid(err, "invalid", text);
    out->ns = (int64_t)(is_negative ? 0 - sum : sum);
    return 0;
}

/* ---- writing ---- */

/* ns / unit with as many digits of fraction as it takes. */
static void write_fraction(struct buf *out, uint64_t ns, uint64_t unit)
{
    uint64_t rest = ns % unit;

    buf_printf(out, "%" PRIu64, ns / unit);
    if (rest)
        buf_byte(out, '.');
    while (rest) {
        unit /= 10;
        buf_byte(out, (char)('0' + rest / unit));
        rest %= unit;
    }
}

void span_write(struct buf *out, struct span d)
{
    uint64_t ns = d.ns < 0 ? 0 - (uint64_t)d.ns : (uint64_t)d.ns;
    uint64_t seconds = ns / (uint64_t)SECOND_NS;

    if (d.ns < 0)
        buf_byte(out, '-');
    if (ns == 0) {
        buf_add(out, S("0s"));
    } else if (ns < 1000) {
        buf_printf(out, "%" PRIu64 "ns", ns);
    } else if (ns < 1000000) {
        write_fraction(out, ns, 1000);
        buf_add(out, S("\xC2\xB5s"));
    } else if (seconds == 0) {
        write_fraction(out, ns, 1000000);
        buf_add(out, S("ms"));
    } else {
        if (seconds >= 3600)
            buf_printf(out, "%" PRIu64 "h", seconds / 3600);
        if (seconds >= 60)
            buf_printf(out, "%" PRIu64 "m", seconds / 60 % 60);
        write_fraction(out, ns % (60 * (uint64_t)SECOND_NS), (uint64_t)SECOND_NS);
        buf_byte(out, 's');
    }
}

struct str span_text(struct arena *a, struct span d)
{
    struct buf out = buf_in(a, 32);

    span_write(&out, d);
    return buf_str(&out);
}

/* ---- ages ---- */

static void write_two(struct buf *out, int64_t big, char big_unit, int64_t small,
                      char small_unit)
{
    buf_printf(out, "%" PRId64 "%c", big, big_unit);
    if (small)
        buf_printf(out, "%" PRId64 "%c", small, small_unit);
}

void age_write(struct buf *out, struct span d)
{
    int64_t seconds = d.ns / SECOND_NS, minutes = seconds / 60, hours = minutes / 60;
    int64_t days = hours / 24, years = days / 365;

    if (seconds < -1)
        buf_add(out, S("<invalid>"));
    else if (seconds < 0)
        buf_add(out, S("0s"));
    else if (seconds < 120)
        write_two(out, seconds, 's', 0, 0);
    else if (minutes < 10)
        write_two(out, minutes, 'm', seconds % 60, 's');
    else if (hours < 3)
        write_two(out, minutes, 'm', 0, 0);
    else if (hours < 8)
        write_two(out, hours, 'h', minutes % 60, 'm');
    else if (hours < 48)
        write_two(out, hours, 'h', 0, 0);
    else if (days < 8)
        write_two(out, days, 'd', hours % 24, 'h');
    else if (years < 2)
        write_two(out, days, 'd', 0, 0);
    else if (years < 8)
        write_two(out, years, 'y', days % 365, 'd');
    else
        write_two(out, years, 'y', 0, 0);
}

struct str age_text(struct arena *a, struct span d)
{
    struct buf out = buf_in(a, 24);

    age_write(&out, d);
    return buf_str(&out);
}

struct str age_since(struct arena *a, struct instant t, struct instant now)
{
    return instant_is_set(t) ? age_text(a, instant_sub(now, t)) : S("<unknown>");
}
