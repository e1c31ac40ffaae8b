/* base64.c - bytes as text */
#include "base/base.h"

#include "base/base64.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, struct str bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.at;

    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = MIN(bytes.len - i, (size_t)3);
        uint32_t v = (uint32_t)p[i] << 16;
        if (n > 1)
            v |= (uint32_t)p[i + 1] << 8;
        if (n > 2)
            v |= p[i + 2];
        char *to = buf_room(out, 4);
        to[0] = alphabet[v >> 18];
        to[1] = alphabet[v >> 12 & 63];
        to[2] = n > 1 ? alphabet[v >> 6 & 63] : '=';
        to[3] = n > 2 ? alphabet[v & 63] : '=';
        out->len += 4;
    }
}

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct arena *a, struct str text, struct str *out)
{
    char *to = arena_raw(a, text.len / 4 * 3 + 3, 1);
    size_t len = 0, n_digits = 0, n_pads = 0;
    uint32_t v = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\n' || c == '\r')
            continue;
        if (c == '=') {
            n_pads++;
            continue;
        }
        int d = digit(c);
        if (d < 0 || n_pads)
            return false;
        v = v << 6 | (uint32_t)d;
        if (++n_digits % 4 == 0) {
            to[len++] = (char)(v >> 16);
            to[len++] = (char)(v >> 8);
            to[len++] = (char)v;
        }
    }
    size_t rest = n_digits % 4;
    if (rest == 1 || n_pads != (rest ? 4 - rest : 0))
        return false;
    if (rest == 2)
        to[len++] = (char)(v >> 4);
    if (rest == 3) {
        to[len++] = (char)(v >> 10);
        to[len++] = (char)(v >> 2);
    }
    *out = str_of(to, len);
    return true;
}

size_t base64_fault(struct str text)
{
    size_t n = 0, group_at = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\n' || c == '\r')
            continue;
        if (c == '=') /* too early, or followed by what may not follow */
            return n % 4 < 2 || i + 1 == text.len ? i : i + 1;
        if (digit(c) < 0)
            return i;
        if (n++ % 4 == 0)
            group_at = i;
    }
    return group_at;
}
