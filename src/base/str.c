/* str.c - views of bytes, UTF-8 and hashes of them */
#include "base/base.h"

#include <endian.h>
#include <sys/random.h>

bool str_is_one_of(struct str s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eqz(s, words[i]))
            return true;
    return false;
}

int str_cmp(struct str a, struct str b)
{
    size_t n = MIN(a.len, b.len);
    int order = n ? memcmp(a.at, b.at, n) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.at[i]) != lower(b.at[i]))
            return false;
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_slice(s, 0, prefix.len), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len && str_eq(str_slice(s, s.len - suffix.len, s.len), suffix);
}

bool str_has(struct str s, struct str part)
{
    return str_find(s, part) != STR_NONE;
}

size_t str_index(struct str s, char c)
{
    const char *p = s.len ? memchr(s.at, c, s.len) : NULL;

    return p ? (size_t)(p - s.at) : STR_NONE;
}

size_t str_rindex(struct str s, char c)
{
    const char *p = s.len ? memrchr(s.at, c, s.len) : NULL;

    return p ? (size_t)(p - s.at) : STR_NONE;
}

size_t str_find(struct str s, struct str part)
{
    if (part.len == 0)
        return 0;
    const char *p = s.len ? memmem(s.at, s.len, part.at, part.len) : NULL;

    return p ? (size_t)(p - s.at) : STR_NONE;
}

struct str str_slice(struct str s, size_t from, size_t to)
{
    to = MIN(to, s.len);
    from = MIN(from, to);
    return s.at ? (struct str){s.at + from, to - from} : (struct str){0};
}

struct str str_trim(struct str s)
{
    while (s.len && str_is_space(s.at[0]))
        s = str_slice(s, 1, s.len);
    while (s.len && str_is_space(s.at[s.len - 1]))
        s.len--;
    return s;
}

static bool cut_at(struct str s, size_t i, struct str *head, struct str *tail)
{
    if (i == STR_NONE) {
        *head = s;
        *tail = (struct str){0};
        return false;
    }
    *head = str_slice(s, 0, i);
    *tail = str_slice(s, i + 1, s.len);
    return true;
}

bool str_cut(struct str s, char sep, struct str *head, struct str *tail)
{
    return cut_at(s, str_index(s, sep), head, tail);
}

bool str_rcut(struct str s, char sep, struct str *head, struct str *tail)
{
    return cut_at(s, str_rindex(s, sep), head, tail);
}

bool str_to_u64(struct str s, uint64_t *out)
{
    uint64_t v = 0;

    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.at[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

bool str_to_i64(struct str s, int64_t *out)
{
    bool negative = s.len && s.at[0] == '-';
    uint64_t v;

    if (s.len && (s.at[0] == '-' || s.at[0] == '+'))
        s = str_slice(s, 1, s.len);
    if (!str_to_u64(s, &v) || v > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

struct str str_copy(struct arena *a, struct str s)
{
    if (s.len == 0)
        return (struct str){"", 0};
    return (struct str){memcpy(arena_raw(a, s.len, 1), s.at, s.len), s.len};
}

char *str_z(struct arena *a, struct str s)
{
    char *z = arena_raw(a, s.len + 1, 1);

    if (s.len)
        memcpy(z, s.at, s.len);
    z[s.len] = 0;
    return z;
}

char *str_own(struct str s)
{
    char *z = mem_alloc(s.len + 1);

    if (s.len)
        memcpy(z, s.at, s.len);
    z[s.len] = 0;
    return z;
}

/* Most of what is printed fits on the stack: then it is formatted once, not measured first. */
#define PRINTF_ROOM 512

struct str str_printf(struct arena *a, const char *format, ...)
{
    char room[PRINTF_ROOM];
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(room, sizeof(room), format, args);
    va_end(args);
    assert(n >= 0);

    char *at = arena_raw(a, (size_t)n + 1, 1);
    if ((size_t)n < sizeof(room))
        memcpy(at, room, (size_t)n + 1);
    else
        vsnprintf(at, (size_t)n + 1, format, again);
    va_end(again);
    return (struct str){at, (size_t)n};
}

static char *put(char *p, struct str s)
{
    if (s.len)
        memcpy(p, s.at, s.len);
    return p + s.len;
}

struct str str_join(struct arena *a, const struct str *parts, size_t n, struct str sep)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++)
        len += parts[i].len + (i ? sep.len : 0);
    char *at = arena_raw(a, len + 1, 1), *p = at;
    for (size_t i = 0; i < n; i++) {
        if (i)
            p = put(p, sep);
        p = put(p, parts[i]);
    }
    return str_of(at, len);
}

struct str str_u64(char *end, uint64_t v)
{
    char *p = end;

    do
        *--p = (char)('0' + v % 10);
    while (v /= 10);
    return str_of(p, (size_t)(end - p));
}

struct str str_of_u64(struct arena *a, uint64_t v)
{
    return str_u64((char *)arena_raw(a, STR_U64_MAX, 1) + STR_U64_MAX, v);
}

struct str str_lower(struct arena *a, struct str s)
{
    char *at = arena_raw(a, s.len + 1, 1);

    for (size_t i = 0; i < s.len; i++)
        at[i] = lower(s.at[i]);
    return (struct str){at, s.len};
}

uint64_t str_sum(struct str s)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t h = s.len * odd, word;

    for (size_t i = 0; i < s.len; i += sizeof(word)) {
        word = 0;
        memcpy(&word, s.at + i, MIN(sizeof(word), s.len - i));
        h = (h ^ le64toh(word)) * odd;
        h ^= h >> 32;
    }
    return h;
}

uint64_t str_digest(struct str s)
{
    uint64_t h = 14695981039346656037ull;

    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (uint8_t)s.at[i]) * 1099511628211ull;
    return h;
}

static uint64_t hash_seed(void)
{
    static uint64_t seed; /* orders never show, so it may differ between runs */

    while (unlikely(seed == 0))
        if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
            seed = (uint64_t)(uintptr_t)&seed;
    return seed;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t word_before(const char *end)
{
    uint64_t word;

    memcpy(&word, end - sizeof(word), sizeof(word));
    return word;
}

/* Of fewer than eight bytes, each in it. */
static uint64_t short_word(const char *p, size_t n)
{
    uint32_t first, last;

    if (n < sizeof(first))
        return (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
               (unsigned char)p[n - 1];
    memcpy(&first, p, sizeof(first));
    memcpy(&last, p + n - sizeof(last), sizeof(last));
    return (uint64_t)first << 32 | last;
}

static inline uint64_t hash_on(uint64_t h, struct str s)
{
    const char *p = s.at;
    size_t n = s.len;
    uint64_t word;

    h ^= s.len * 0x9E3779B97F4A7C15ull;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = mix(h ^ word, 0xA0761D6478BD642Full);
    }
    if (n) {
        word = s.len >= 8 ? word_before(p + n) : short_word(p, n);
        h = mix(h ^ word, 0xE7037ED1A0B428DBull);
    }
    return mix(h, 0x8EBC6AF09C88C6E3ull);
}

uint64_t str_hash(struct str s)
{
    return hash_on(hash_seed(), s);
}

uint64_t str_hash_on(uint64_t h, struct str s)
{
    return hash_on(h + 0xA0761D6478BD642Full, s);
}

int32_t str_rune(struct str s, size_t *i)
{
    const uint8_t *p = (const uint8_t *)s.at + *i;
    size_t left = s.len - *i;
    int32_t rune = p[0];

    if (rune < 0x80) {
        *i += 1;
        return rune;
    }
    size_t n = rune >= 0xF0 ? 4 : rune >= 0xE0 ? 3 : 2;
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

    if (rune < 0xC2 || rune > 0xF4 || left < n)
        goto bad;
    rune &= 0xFF >> (n + 1);
    for (size_t k = 1; k < n; k++) {
        if ((p[k] & 0xC0) != 0x80)
            goto bad;
        rune = rune << 6 | (p[k] & 0x3F);
    }
    if (rune < least[n] || rune > 0x10FFFF || (rune >= 0xD800 && rune <= 0xDFFF))
        goto bad;
    *i += n;
    return rune;
bad:
    *i += 1;
    return -1;
}

size_t str_put_rune(char out[4], int32_t rune)
{
    if (rune < 0 || rune > 0x10FFFF || (rune >= 0xD800 && rune <= 0xDFFF))
        rune = 0xFFFD;
    if (rune < 0x80) {
        out[0] = (char)rune;
        return 1;
    }
    size_t n = rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t k = n - 1; k > 0; k--, rune >>= 6)
        out[k] = (char)(0x80 | (rune & 0x3F));
    out[0] = (char)(lead[n] | rune);
    return n;
}

bool str_is_utf8(struct str s)
{
    for (size_t i = 0; i < s.len;) {
        uint64_t word = UINT64_C(0x8080808080808080);
        if (s.len - i >= sizeof(word))
            memcpy(&word, s.at + i, sizeof(word));
        if (!(word & UINT64_C(0x8080808080808080))) /* ASCII, which most texts are */
            i += sizeof(word);
        else if (str_rune(s, &i) < 0)
            return false;
    }
    return true;
}

size_t str_runes(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; n++)
        str_rune(s, &i);
    return n;
}
