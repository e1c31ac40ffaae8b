/* text.c - values as text: numbers, quotes, base64 */
#include <math.h>

#include "cel/value_priv.h"
#include "value/value.h"

/* ---- doubles ---- */

#define MAX_DIGITS 17

/* Shortest digits that read back: d = 0.D1D2… x 10^point. */
static int shortest(double d, char digits[32], int *point)
{
    char text[40];
    int n = 0;

    for (int precision = 1; precision <= MAX_DIGITS; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision - 1, fabs(d));
        if (strtod(text, NULL) == fabs(d))
            break;
    }
    for (const char *s = text; *s && *s != 'e'; s++)
        if (*s != '.')
            digits[n++] = *s;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    *point = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
    return n;
}

static void fixed(struct buf *b, const char *digits, int n, int point)
{
    if (point <= 0) {
        buf_add(b, S("0."));
        for (int i = point; i < 0; i++)
            buf_byte(b, '0');
        buf_add(b, str_of(digits, (size_t)n));
        return;
    }
    for (int i = 0; i < MAX(n, point); i++) {
        if (i == point)
            buf_byte(b, '.');
        buf_byte(b, i < n ? digits[i] : '0');
    }
}

struct str text_double_fixed(struct arena *a, double d)
{
    struct buf b = buf_in(a, 32);
    char digits[32];
    int point, n;

    if (isnan(d))
        return S("NaN");
    if (isinf(d))
        return d < 0 ? S("-Infinity") : S("Infinity");
    if (signbit(d))
        buf_byte(&b, '-');
    n = shortest(d, digits, &point);
    fixed(&b, digits, n, d == 0 ? 1 : point);
    return buf_str(&b);
}

struct str text_double(struct arena *a, double d)
{
    struct buf b = buf_in(a, 32);
    char digits[32];
    int point, n;

    if (isnan(d))
        return S("NaN");
    if (isinf(d))
        return d < 0 ? S("-Inf") : S("+Inf");
    if (signbit(d))
        buf_byte(&b, '-');
    n = shortest(d, digits, &point);
    if (d == 0 || (point - 1 >= -4 && point - 1 < 6)) {
        fixed(&b, digits, n, d == 0 ? 1 : point);
        return buf_str(&b);
    }
    buf_byte(&b, digits[0]);
    if (n > 1) {
        buf_byte(&b, '.');
        buf_add(&b, str_of(digits + 1, (size_t)n - 1));
    }
    buf_printf(&b, "e%c%02d", point - 1 < 0 ? '-' : '+', abs(point - 1));
    return buf_str(&b);
}

/* ---- base64 ---- */

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct str text_base64(struct arena *a, struct str s)
{
    struct buf b = buf_in(a, s.len / 3 * 4 + 8);

    for (size_t i = 0; i < s.len; i += 3) {
        uint32_t v = 0;
        size_t n = MIN(s.len - i, (size_t)3);
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (k < n ? (uint8_t)s.at[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buf_byte(&b, k <= n ? alphabet[v >> (18 - 6 * k) & 63] : '=');
    }
    return buf_str(&b);
}

int64_t text_base64_read(struct arena *a, struct str s, bool needs_padding, struct str *out)
{
    struct buf b = buf_in(a, s.len / 4 * 3 + 4);
    uint32_t v = 0, n = 0;
    size_t i = 0, pad = 0;

    for (; i < s.len && s.at[i] != '='; i++) {
        const char *at = s.at[i] ? strchr(alphabet, s.at[i]) : NULL;
        if (s.at[i] == '\n' || s.at[i] == '\r')
            continue;
        if (!at)
            return (int64_t)i;
        v = v << 6 | (uint32_t)(at - alphabet);
        if (++n % 4 == 0) {
            buf_byte(&b, (char)(v >> 16));
            buf_byte(&b, (char)(v >> 8));
            buf_byte(&b, (char)v);
        }
    }
    for (; i < s.len; i++, pad++)
        if (s.at[i] != '=')
            return (int64_t)i;
    if (n % 4 == 1 || pad > 2 || (pad && (n + pad) % 4) || (needs_padding && (n + pad) % 4))
        return (int64_t)s.len;
    if (n % 4 == 2) {
        buf_byte(&b, (char)(v >> 4));
    } else if (n % 4 == 3) {
        buf_byte(&b, (char)(v >> 10));
        buf_byte(&b, (char)(v >> 2));
    }
    *out = buf_str(&b);
    return -1;
}

/* ---- quotes ---- */

static bool escape(struct buf *out, char c)
{
    static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
    const char *at = c ? strchr(from, c) : NULL;

    if (!at)
        return false;
    buf_byte(out, '\\');
    buf_byte(out, to[at - from]);
    return true;
}

void text_quote(struct buf *out, struct str s)
{
    buf_byte(out, '"');
    for (size_t i = 0; i < s.len;) {
        size_t from = i;
        int32_t rune = str_rune(s, &i);
        if (rune < 0)
            buf_add(out, S("\xef\xbf\xbd"));
        else if (rune < 0x20 || rune == 0x7f || rune == '"' || rune == '\\') {
            if (!escape(out, s.at[from]))
                buf_printf(out, "\\x%02x", (unsigned)rune);
        } else
            buf_add(out, str_slice(s, from, i));
    }
    buf_byte(out, '"');
}

void text_quote_bytes(struct buf *out, struct str s)
{
    buf_add(out, S("b\""));
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = (uint8_t)s.at[i];
        if (escape(out, s.at[i]))
            continue;
        if (c < 0x20 || c >= 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_byte(out, (char)c);
    }
    buf_byte(out, '"');
}

/* ---- the rest ---- */

struct str text_plain(struct arena *a, struct cel_value v)
{
    struct buf b = buf_in(a, 40);

    switch (v.kind) {
    case CEL_TIMESTAMP:
        return stamp_text(a, v);
    case CEL_DURATION:
        return duration_text(a, v.i);
    case CEL_QUANTITY:
        return quantity_text(a, v.quantity);
    case CEL_SEMVER:
        semver_write(&b, v.semver);
        return buf_str(&b);
    case CEL_IP:
        return ip_text(a, v.ip);
    case CEL_CIDR:
        return cidr_text(a, v.cidr);
    case CEL_URL:
        return v.url->text;
    case CEL_TYPE:
        return v.type->name;
    case CEL_BOOL:
        return v.b ? S("true") : S("false");
    case CEL_INT:
        return str_printf(a, "%lld", (long long)v.i);
    case CEL_ENUM:
        return str_printf(a, "%d", (int32_t)v.len);
    default:
        return str_of("", 0);
    }
}

void show_opaque(struct arena *a, struct buf *b, struct cel_value v)
{
    static const struct {
        uint8_t kind;
        const char *call;
    } calls[] = {
        {CEL_TIMESTAMP, "timestamp"},
        {CEL_DURATION,  "duration" },
        {CEL_QUANTITY,  "quantity" },
        {CEL_SEMVER,    "semver"   },
        {CEL_IP,        "ip"       },
        {CEL_CIDR,      "cidr"     },
        {CEL_URL,       "url"      },
    };

    for (size_t i = 0; i < countof(calls); i++) {
        if (calls[i].kind != v.kind)
            continue;
        buf_printf(b, "%s(", calls[i].call);
        text_quote(b, text_plain(a, v));
        buf_byte(b, ')');
        return;
    }
    if (v.kind == CEL_FORMAT)
        format_show(b, v);
    else
        buf_add(b, text_plain(a, v));
}
