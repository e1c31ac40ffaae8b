/* lib_format.c - string.format
 *
 * Two generations of output: the one Kubernetes has (grouped digits, superscript exponents,
 * quoted parts of lists) and the language's current one.
 */
#include <math.h>

#include "cel/format_string_priv.h"
#include "cel/lib_priv.h"

#define MAX_PRECISION 100     /* of the current generation */
#define MAX_OLD_PRECISION 300 /* digits printf gives; the rest would be zeros */

/* ---- reading a clause ---- */

/* The clause behind the '%' at *i; false with an error in *bad. */
bool format_clause(struct arena *a, struct str s, size_t *i, bool is_old,
                   struct format_clause *out, struct cel_value *bad)
{
    int64_t precision = -1;

    if (*i >= s.len) {
        *bad = cel_fail_name(CEL_E_TEXT, S("unexpected end of string"));
        return false;
    }
    if (s.at[*i] == '.') {
        size_t from = ++*i;
        while (*i < s.len && s.at[*i] >= '0' && s.at[*i] <= '9')
            (*i)++;
        if (*i >= s.len) {
            *bad = cel_fail_name(CEL_E_TEXT,
                                 S("could not parse formatting clause: error while parsing "
                                   "precision: could not find end of precision specifier"));
            return false;
        }
        if (!str_to_i64(str_slice(s, from, *i), &precision)) {
            *bad = cel_fail_name(CEL_E_TEXT, S("could not parse formatting clause: error while "
                                               "parsing precision: error while converting "
                                               "precision to integer"));
            return false;
        }
        if (!is_old && precision > MAX_PRECISION) {
            *bad = cel_fail_text(a,
                                 "could not parse formatting clause: precision %lld exceeds "
                                 "maximum allowed precision %d",
                                 (long long)precision, MAX_PRECISION);
            return false;
        }
    }
    out->precision = (int)MIN(precision, (int64_t)MAX_OLD_PRECISION);
    out->verb = s.at[(*i)++];
    if (!out->verb || !strchr("sdfebxXo", out->verb)) {
        size_t from = *i - 1, to = from;
        str_rune(s, &to);
        *bad = cel_fail_text(a,
                             "could not parse formatting clause: unrecognized formatting "
                             "clause \"%.*s\"",
                             STR_ARG(str_slice(s, from, to)));
        return false;
    }
    return true;
}

/* ---- which values a verb takes ---- */

#define BIT(k) (1u << (k))
#define INTS (BIT(CEL_INT) | BIT(CEL_UINT))
#define TEXTS                                                                                  \
    (BIT(CEL_BOOL) | INTS | BIT(CEL_DOUBLE) | BIT(CEL_STRING) | BIT(CEL_BYTES) |               \
     BIT(CEL_NULL) | BIT(CEL_TYPE) | BIT(CEL_TIMESTAMP) | BIT(CEL_DURATION) | BIT(CEL_LIST) |  \
     BIT(CEL_MAP))

static const struct verb {
    char verb;
    uint32_t old_kinds, kinds;
    const char *old_text, *text;
} verbs[] = {
    {'s', TEXTS,                                   TEXTS,
     "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
     "types, durations, and timestamps",                                                                                                   "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
     "types, durations, and timestamps"                                                                                                                             },
    {'d', INTS,                                    INTS | BIT(CEL_DOUBLE),                  "decimal clause can only be used on integers",
     "decimal clause can only be used on ints, uints, and doubles"                                                                                                                                          },
    {'f', BIT(CEL_DOUBLE) | BIT(CEL_STRING),       INTS | BIT(CEL_DOUBLE),
     "fixed-point clause can only be used on doubles",                                                                                     "fixed-point clause can only be used on ints, uints, and doubles"},
    {'e', BIT(CEL_DOUBLE) | BIT(CEL_STRING),       INTS | BIT(CEL_DOUBLE),
     "scientific clause can only be used on doubles",                                                                                      "scientific clause can only be used on ints, uints, and doubles" },
    {'b', INTS | BIT(CEL_BOOL),                    INTS | BIT(CEL_BOOL),
     "only integers and bools can be formatted as binary",                                                                                 "only ints, uints, and bools can be formatted as binary"         },
    {'x', INTS | BIT(CEL_STRING) | BIT(CEL_BYTES), INTS | BIT(CEL_STRING) | BIT(CEL_BYTES),
     "only integers, byte buffers, and strings can be formatted as hex",                                                                   "only ints, uints, bytes, and strings can be formatted as hex"   },
    {'X', INTS | BIT(CEL_STRING) | BIT(CEL_BYTES), INTS | BIT(CEL_STRING) | BIT(CEL_BYTES),
     "only integers, byte buffers, and strings can be formatted as hex",                                                                   "only ints, uints, bytes, and strings can be formatted as hex"   },
    {'o', INTS,                                    INTS,                                    "octal clause can only be used on integers",
     "octal clause can only be used on ints and uints"                                                                                                                                                      },
};

static const struct verb *verb_of(char c)
{
    for (size_t i = 0; i < countof(verbs); i++)
        if (verbs[i].verb == c)
            return &verbs[i];
    return &verbs[0];
}

uint32_t format_kinds(char verb, bool is_old)
{
    const struct verb *v = verb_of(verb);

    return is_old ? v->old_kinds : v->kinds;
}

const char *format_complaint(char verb, bool is_old)
{
    const struct verb *v = verb_of(verb);

    return is_old ? v->old_text : v->text;
}

static struct cel_value refuse(struct arena *a, char verb, bool is_old, struct cel_value v)
{
    struct str type = cel_type_of(v)->name;

    return cel_fail_text(a, "error during formatting: %s, was given %.*s",
                         format_complaint(verb, is_old), STR_ARG(type));
}

/* ---- numbers ---- */

static struct str grouped(struct arena *a, struct str digits)
{
    struct buf b = buf_in(a, digits.len * 2);
    size_t whole = str_index(digits, '.'), from = digits.at[0] == '-';

    if (whole == STR_NONE)
        whole = digits.len;
    for (size_t i = 0; i < digits.len; i++) {
        if (i > from && i < whole && (whole - i) % 3 == 0)
            buf_byte(&b, ',');
        buf_byte(&b, digits.at[i]);
    }
    return buf_str(&b);
}

static struct str special(double d, bool is_old)
{
    if (isnan(d))
        return S("NaN");
    if (is_old)
        return d < 0 ? S("-\xe2\x88\x9e") : S("\xe2\x88\x9e");
    return d < 0 ? S("-Infinity") : S("Infinity");
}

/* 2.7e+00 as 2.7 x 10 with superscript digits, between narrow spaces. */
static struct str superscript(struct arena *a, const char *text)
{
    static const char *const digits[] = {
        "\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",     "\xe2\x81\xb4",
        "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7", "\xe2\x81\xb8", "\xe2\x81\xb9",
    };
    struct buf b = buf_in(a, 64);
    const char *e = strchr(text, 'e');

    buf_add(&b, str_of(text, (size_t)(e - text)));
    buf_add(&b, S("\xe2\x80\xaf\xc3\x97\xe2\x80\xaf"
                  "10"));
    for (e++; *e; e++) {
        if (*e == '-')
            buf_add(&b, S("\xe2\x81\xbb"));
        else if (*e >= '0' && *e <= '9')
            buf_add(&b, str_from(digits[*e - '0']));
    }
    return buf_str(&b);
}

static bool as_double(struct cel_value v, double *out)
{
    static const struct {
        struct str text;
        double value;
    } words[] = {
        {S_INIT("NaN"),       NAN      },
        {S_INIT("Infinity"),  INFINITY },
        {S_INIT("-Infinity"), -INFINITY}
    };

    if (v.kind == CEL_DOUBLE)
        *out = v.d;
    else if (v.kind == CEL_INT)
        *out = (double)v.i;
    else if (v.kind == CEL_UINT)
        *out = (double)v.u;
    else
        for (size_t i = 0; i < countof(words); i++) {
            if (str_eq(words[i].text, cel_str(v))) {
                *out = words[i].value;
                return true;
            }
        }
    return v.kind != CEL_STRING;
}

static struct cel_value put_double(struct arena *a, struct buf *b, struct format_clause f,
                                   bool is_old, struct cel_value v)
{
    int precision = f.precision < 0 ? 6 : f.precision;
    char text[512 + MAX_OLD_PRECISION];
    double d = 0;

    if (!as_double(v, &d))
        return refuse(a, f.verb, is_old, v);
    if (!isfinite(d)) {
        buf_add(b, special(d, is_old));
        return cel_null();
    }
    if (f.verb == 'f') {
        snprintf(text, sizeof(text), "%.*f", precision, d);
        buf_add(b, is_old ? grouped(a, str_from(text)) : str_from(text));
        return cel_null();
    }
    snprintf(text, sizeof(text), "%.*e", precision, d);
    buf_add(b, is_old ? superscript(a, text) : str_from(text));
    return cel_null();
}

static void put_based(struct buf *b, struct cel_value v, unsigned bits, bool is_upper)
{
    const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
    bool is_negative = v.kind == CEL_INT && v.i < 0;
    uint64_t u = v.kind == CEL_BOOL ? v.b : is_negative ? 0 - v.u : v.u;
    char text[64];
    size_t at = sizeof(text);

    do
        text[--at] = digits[u & ((1u << bits) - 1)];
    while (u >>= bits);
    if (is_negative)
        buf_byte(b, '-');
    buf_add(b, str_of(text + at, sizeof(text) - at));
}

static void put_hex(struct buf *b, struct cel_value v, bool is_upper)
{
    if (v.kind == CEL_INT || v.kind == CEL_UINT) {
        put_based(b, v, 4, is_upper);
        return;
    }
    for (uint32_t i = 0; i < v.len; i++)
        buf_printf(b, is_upper ? "%02X" : "%02x", (uint8_t)v.s[i]);
}

/* ---- %s ---- */

static bool put_text(struct arena *a, struct buf *b, struct cel_value v, bool is_old,
                     bool is_inner, struct cel_value *bad, int depth);

static int text_cmp(const void *x, const void *y)
{
    const struct str *a = x, *b = y;

    return str_cmp(a[0], b[0]);
}

/* Entries by their rendered keys. */
static bool put_map(struct arena *a, struct buf *b, struct cel_value v, bool is_old,
                    struct cel_value *bad, int depth)
{
    struct str(*pairs)[2] =
        (struct str(*)[2])(void *)arena_array(a, struct str, 2 * (size_t)v.len + 2);

    for (uint32_t i = 0; i < v.len; i++) {
        struct cel_value key = cel_key(a, v, i);
        struct buf k = buf_in(a, 16), value = buf_in(a, 32);
        if (is_old && key.kind != CEL_STRING && key.kind != CEL_BOOL && key.kind != CEL_INT &&
            key.kind != CEL_UINT) {
            struct str t = cel_type_of(key)->name;
            *bad = cel_fail_text(a,
                                 "error during formatting: no formatting function for map key "
                                 "of type %.*s",
                                 STR_ARG(t));
            return false;
        }
        if (!put_text(a, &k, key, is_old, true, bad, depth) ||
            !put_text(a, &value, value_entry(a, v, i), is_old, true, bad, depth))
            return false;
        pairs[i][0] = buf_str(&k);
        pairs[i][1] = buf_str(&value);
    }
    sort_stable(pairs, v.len, sizeof(pairs[0]), text_cmp);
    buf_byte(b, '{');
    for (uint32_t i = 0; i < v.len; i++) {
        if (i)
            buf_add(b, S(", "));
        buf_add(b, pairs[i][0]);
        buf_add(b, is_old ? S(":") : S(": "));
        buf_add(b, pairs[i][1]);
    }
    buf_byte(b, '}');
    return true;
}

static void put_wrapped(struct buf *b, const char *name, struct str text, bool is_wrapped)
{
    if (!is_wrapped) {
        buf_add(b, text);
        return;
    }
    buf_printf(b, "%s(\"%.*s\")", name, STR_ARG(text));
}

static void put_plain_double(struct arena *a, struct buf *b, double d, bool is_old,
                             bool is_inner)
{
    if (!is_old) {
        buf_add(b, text_double_fixed(a, d));
    } else if (!is_inner) {
        buf_add(b, text_double(a, d));
    } else if (!isfinite(d)) {
        buf_printf(b, "\"%s\"", isnan(d) ? "NaN" : d < 0 ? "-Inf" : "+Inf");
    } else {
        buf_printf(b, "%.6f", d);
    }
}

#define MAX_DEPTH 100

static bool put_text(struct arena *a, struct buf *b, struct cel_value v, bool is_old,
                     bool is_inner, struct cel_value *bad, int depth)
{
    bool is_wrapped = is_old && is_inner;

    if (!(TEXTS >> v.kind & 1) || depth > MAX_DEPTH) {
        *bad = refuse(a, 's', is_old, v);
        return false;
    }
    switch (v.kind) {
    case CEL_INT:
        buf_i64(b, v.i);
        return true;
    case CEL_NULL:
        buf_add(b, S("null"));
        return true;
    case CEL_STRING:
        put_wrapped(b, "", cel_str(v), false);
        if (is_wrapped) {
            b->len -= v.len;
            text_quote(b, cel_str(v));
        }
        return true;
    case CEL_BYTES:
        if (is_wrapped)
            text_quote_bytes(b, cel_str(v));
        else
            buf_add(b, cel_str(v));
        return true;
    case CEL_UINT:
        buf_printf(b, "%llu", (unsigned long long)v.u);
        return true;
    case CEL_DOUBLE:
        put_plain_double(a, b, v.d, is_old, is_inner);
        return true;
    case CEL_TIMESTAMP:
        if (!is_old)
            v.aux = 0;
        put_wrapped(b, "timestamp", stamp_text(a, v), is_wrapped);
        return true;
    case CEL_DURATION:
        put_wrapped(b, "duration", duration_text(a, v.i), is_wrapped);
        return true;
    case CEL_LIST:
        buf_byte(b, '[');
        for (uint32_t i = 0; i < v.len; i++) {
            if (i)
                buf_add(b, S(", "));
            if (!put_text(a, b, cel_at(a, v, i), is_old, true, bad, depth + 1))
                return false;
        }
        buf_byte(b, ']');
        return true;
    case CEL_MAP:
        return put_map(a, b, v, is_old, bad, depth + 1);
    default:
        buf_add(b, text_plain(a, v));
        return true;
    }
}

/* ---- the whole ---- */

static struct cel_value put_clause(struct arena *a, struct buf *b, struct format_clause f,
                                   bool is_old, struct cel_value v)
{
    struct cel_value bad = cel_null();

    if (!(format_kinds(f.verb, is_old) >> v.kind & 1))
        return refuse(a, f.verb, is_old, v);
    switch (f.verb) {
    case 's':
        put_text(a, b, v, is_old, false, &bad, 0);
        return bad;
    case 'd':
        if (v.kind == CEL_DOUBLE)
            buf_add(b, text_double_fixed(a, v.d));
        else if (v.kind == CEL_UINT)
            buf_printf(b, "%llu", (unsigned long long)v.u);
        else
            buf_i64(b, v.i);
        return bad;
    case 'f':
    case 'e':
        return put_double(a, b, f, is_old, v);
    case 'b':
        put_based(b, v, 1, false);
        return bad;
    case 'o':
        put_based(b, v, 3, false);
        return bad;
    default:
        put_hex(b, v, f.verb == 'X');
        return bad;
    }
}

/* The usual clauses without more ado; false: this one takes a closer look. */
static bool put_usual(struct buf *b, char verb, struct cel_value v)
{
    if (verb == 's' && v.kind == CEL_STRING)
        buf_add(b, cel_str(v));
    else if ((verb == 's' || verb == 'd') && v.kind == CEL_INT)
        buf_i64(b, v.i);
    else
        return false;
    return true;
}

/* Where the next '%' stands, or the end. */
static size_t next_clause(struct str s, size_t from)
{
    const char *at = memchr(s.at + from, '%', s.len - from);

    return at ? (size_t)(at - s.at) : s.len;
}

struct cel_value format_string(struct cel_call *c, struct str s, struct cel_value list)
{
    struct buf b = buf_in(c->arena, s.len + 64);
    bool is_old = c->env->old_format;
    struct format_clause f;
    struct cel_value v, bad;
    uint32_t used = 0;

    for (size_t i = 0, from = 0; from < s.len; from = i) {
        i = next_clause(s, from);
        buf_add(&b, str_slice(s, from, i));
        if (i == s.len)
            break;
        bool is_end = ++i == s.len;
        if (!is_end && s.at[i] == '%') {
            buf_byte(&b, '%');
            i++;
            continue;
        }
        if (!is_end && used == list.len)
            return cel_fail_text(c->arena, "index %u out of range", used);
        v = is_end ? cel_null() : cel_at(c->arena, list, used++);
        if (!is_end && put_usual(&b, s.at[i], v)) {
            i++;
        } else {
            if (!format_clause(c->arena, s, &i, is_old, &f, &bad))
                return bad;
            v = put_clause(c->arena, &b, f, is_old, v);
            if (v.kind == CEL_ERROR)
                return v;
        }
        if (b.len > CEL_MAX_BYTES)
            return cel_fail(CEL_E_MEMORY);
    }
    return cel_text(buf_str(&b));
}
