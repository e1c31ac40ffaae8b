/* text.c - values as text: numbers, quotes, base64 */
#include <math.h>

#include "base/base64.h"
#include "cel/value_priv.h"
#include "value/value.h"

/* ---- doubles ---- */

/* The n digits with a point before the one at `point`. */
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

static struct str double_text(struct arena *a, double d, bool is_fixed)
{
    struct buf b = buf_in(a, 32);
    char digits[18];
    int exponent, n;

    if (isnan(d))
        return S("NaN");
    if (isinf(d) && is_fixed)
        return d < 0 ? S("-Infinity") : S("Infinity");
    if (isinf(d))
        return d < 0 ? S("-Inf") : S("+Inf");
    if (signbit(d))
        buf_byte(&b, '-');
    n = (int)json_f64_digits(d, digits, &exponent);
    if (is_fixed || (exponent >= -4 && exponent < 6)) {
        fixed(&b, digits, n, exponent + 1);
        return buf_str(&b);
    }
    buf_byte(&b, digits[0]);
    if (n > 1) {
        buf_byte(&b, '.');
        buf_add(&b, str_of(digits + 1, (size_t)n - 1));
    }
    buf_printf(&b, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    return buf_str(&b);
}

struct str text_double_fixed(struct arena *a, double d)
{
    return double_text(a, d, true);
}

struct str text_double(struct arena *a, double d)
{
    return double_text(a, d, false);
}

/* ---- base64 ---- */

struct str text_base64(struct arena *a, struct str bytes)
{
    struct buf b = buf_in(a, bytes.len / 3 * 4 + 8);

    base64_encode(&b, bytes);
    return buf_str(&b);
}

/* ---- quotes ---- */

bool text_escape(struct buf *out, char c)
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
            if (!text_escape(out, s.at[from]))
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
        if (text_escape(out, s.at[i]))
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
