/* write.c - tree to text */
#include <math.h>

#include "json/json_priv.h"

#define INDENT 2     /* spaces a level, in the pretty form */
#define STR_AROUND 4 /* of a string: quotes, a sign before and after it */

static inline char *space(struct buf *out, size_t n)
{
    return likely(out->cap - out->len >= n) ? out->at + out->len : buf_room(out, n);
}

static inline void put(struct buf *out, char c)
{
    *space(out, 1) = c;
    out->len++;
}

/* ---- strings ---- */

static void escape(struct buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char names[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    char *at = buf_room(out, 6);

    *at++ = '\\';
    if (c >= 0x20 || names[c]) {
        *at = c >= 0x20 ? (char)c : names[c];
        out->len += 2;
        return;
    }
    memcpy(at, "u00", 3);
    at[3] = hex[c >> 4];
    at[4] = hex[c & 15];
    out->len += 6;
}

/* A text with bytes that cannot be shown as they are. */
static not_inline void write_escaped(struct buf *out, const char *at, const char *end)
{
    while (at < end) {
        const char *plain = json_plain(at, end);
        buf_add(out, str_of(at, (size_t)(plain - at)));
        at = plain;
        if (at == end)
            break;
        if ((unsigned char)*at < 0x80) {
            escape(out, (unsigned char)*at++);
            continue;
        }
        size_t i = 0;
        int32_t rune = str_rune(str_of(at, (size_t)(end - at)), &i);
        if (rune < 0)
            buf_add(out, S("\xEF\xBF\xBD"));
        else
            buf_add(out, str_of(at, i));
        at += i;
    }
}

/* Copies a text that is plain throughout, as most are; false where it is not. */
static inline bool copy_plain(char *to, const char *at, size_t n)
{
    const size_t whole = sizeof(json_bytes);

    if (n >= whole) {
        for (size_t i = 0; i + whole <= n; i += whole) {
            json_bytes x = json_bytes_at(at + i);
            memcpy(to + i, &x, whole);
            if (json_plain_of(x) < whole)
                return false;
        }
        json_bytes last = json_bytes_at(at + n - whole); /* some of them again */
        memcpy(to + n - whole, &last, whole);
        return json_plain_of(last) == whole;
    }
    /* Shorter ones as two halves that may overlap. */
    if (n >= 8) {
        uint64_t first, last;
        memcpy(&first, at, 8), memcpy(&last, at + n - 8, 8);
        memcpy(to, &first, 8), memcpy(to + n - 8, &last, 8);
        return json_plain_of((json_bytes)(json_halves){first, last}) == whole;
    }
    if (n >= 4) {
        uint32_t first, last;
        memcpy(&first, at, 4), memcpy(&last, at + n - 4, 4);
        memcpy(to, &first, 4), memcpy(to + n - 4, &last, 4);
        return !json_not_plain((uint64_t)first << 32 | last);
    }
    for (size_t i = 0; i < n; i++) {
        if (!json_byte_is_plain((unsigned char)at[i]))
            return false;
        to[i] = at[i];
    }
    return true;
}

/* `to` is where the buffer ends, with room for the text and STR_AROUND; what follows it. */
static inline char *put_str(struct buf *out, char *to, struct str s)
{
    *to++ = '"';
    if (unlikely(!copy_plain(to, s.at, s.len))) {
        out->len = (size_t)(to - out->at);
        write_escaped(out, s.at, s.at + s.len);
        to = space(out, STR_AROUND);
    } else {
        to += s.len;
    }
    *to++ = '"';
    return to;
}

static inline void write_str(struct buf *out, struct str s)
{
    out->len = (size_t)(put_str(out, space(out, s.len + STR_AROUND), s) - out->at);
}

void json_write_str(struct buf *out, struct str s)
{
    write_str(out, s);
}

/* ---- numbers ---- */

/* The places of Go's encoder: 'e' form below 1e-6 and from 1e21 on. */
void json_write_f64(struct buf *out, double d)
{
    char digits[18];
    int exponent, n;

    if (!isfinite(d)) {
        buf_add(out, S("null")); /* JSON has no word for it */
        return;
    }
    if (signbit(d))
        buf_byte(out, '-');
    n = (int)json_f64_digits(d, digits, &exponent);
    if (d != 0 && (exponent < -6 || exponent >= 21)) {
        buf_byte(out, digits[0]);
        if (n > 1)
            buf_printf(out, ".%.*s", n - 1, digits + 1);
        buf_printf(out, "e%c%d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        buf_printf(out, "0.%.*s%.*s", -exponent - 1, "00000", n, digits);
        return;
    }
    buf_add(out, str_of(digits, (size_t)MIN(n, exponent + 1)));
    for (int i = n; i <= exponent; i++)
        buf_byte(out, '0');
    if (n > exponent + 1)
        buf_printf(out, ".%.*s", n - exponent - 1, digits + exponent + 1);
}

/* ---- values ---- */

/* What a copy of it takes is added up on the way: that costs a few instructions a node. */
static void write_value(struct buf *out, struct json_room *room, const struct json *v);

static void write_scalar(struct buf *out, struct json_room *room, const struct json *v)
{
    switch ((enum json_type)v->type) {
    case JSON_BOOL:
        buf_add(out, v->boolean ? S("true") : S("false"));
        return;
    case JSON_INT:
        buf_i64(out, v->i);
        return;
    case JSON_DOUBLE:
        json_write_f64(out, v->d);
        return;
    case JSON_STRING:
        room->texts += v->len;
        write_str(out, str_of(v->s, v->len));
        return;
    case JSON_RAW:
        room->texts += v->len;
        buf_add(out, str_of(v->s, v->len));
        return;
    default:
        buf_add(out, S("null"));
    }
}

static void write_array(struct buf *out, struct json_room *room, const struct json *v)
{
    char sign = '[';

    room->nodes += v->len * sizeof(*v->items);
    for (uint32_t i = 0; i < v->len; i++, sign = ',') {
        put(out, sign);
        write_value(out, room, &v->items[i]);
    }
    if (!v->len)
        put(out, sign);
    put(out, ']');
}

static void write_object(struct buf *out, struct json_room *room, const struct json *v)
{
    char sign = '{';

    room->nodes += v->len * sizeof(*v->members);
    for (uint32_t i = 0; i < v->len; i++, sign = ',') {
        const struct json_member *m = &v->members[i];
        json_measure_name(room, m->name);
        char *to = space(out, m->name.len + STR_AROUND);
        *to++ = sign;
        to = put_str(out, to, m->name);
        *to++ = ':';
        out->len = (size_t)(to - out->at);
        if (m->value.type != JSON_STRING) {
            write_value(out, room, &m->value);
            continue;
        }
        room->texts += m->value.len;
        write_str(out, str_of(m->value.s, m->value.len));
    }
    if (!v->len)
        put(out, sign);
    put(out, '}');
}

static void write_value(struct buf *out, struct json_room *room, const struct json *v)
{
    if (v->type == JSON_OBJECT)
        write_object(out, room, v);
    else if (v->type == JSON_ARRAY)
        write_array(out, room, v);
    else
        write_scalar(out, room, v);
}

void json_write_measured(struct buf *out, struct json_room *room, const struct json *v)
{
    if (v)
        write_value(out, room, v);
    else
        buf_add(out, S("null"));
}

void json_write(struct buf *out, const struct json *v)
{
    struct json_room room = {0};

    json_write_measured(out, &room, v);
}

struct str json_text(struct arena *a, const struct json *v)
{
    struct buf b = buf_in(a, 256);

    json_write(&b, v);
    return buf_str(&b);
}

/* ---- pretty ---- */

static void new_line(struct buf *out, int spaces)
{
    char *at = buf_room(out, (size_t)spaces + 1);

    *at = '\n';
    memset(at + 1, ' ', (size_t)spaces);
    out->len += (size_t)spaces + 1;
}

static void write_pretty(struct buf *out, const struct json *v, int indent, int step)
{
    bool is_object = v->type == JSON_OBJECT;

    if (v->type == JSON_RAW) {
        scoped(arena_fini) struct arena own = {0};
        write_pretty(out, json_whole(&own, v), indent, step);
        return;
    }
    if ((!is_object && v->type != JSON_ARRAY) || v->len == 0) {
        json_write(out, v);
        return;
    }
    buf_byte(out, is_object ? '{' : '[');
    for (uint32_t i = 0; i < v->len; i++) {
        if (i)
            buf_byte(out, ',');
        new_line(out, indent + step);
        if (is_object) {
            json_write_str(out, v->members[i].name);
            buf_add(out, S(": "));
        }
        write_pretty(out, is_object ? &v->members[i].value : &v->items[i], indent + step, step);
    }
    new_line(out, indent);
    buf_byte(out, is_object ? '}' : ']');
}

void json_write_pretty(struct buf *out, const struct json *v)
{
    json_write_indented(out, v, INDENT);
}

void json_write_indented(struct buf *out, const struct json *v, int spaces)
{
    if (v)
        write_pretty(out, v, 0, spaces);
    else
        buf_add(out, S("null"));
}
