/* str.h - a view of bytes, by value
 *
 * A str never owns what it shows: it lives as long as the arena, object or literal
 * behind it. It is not terminated; str_z() makes a C string at the system's edge.
 * The empty str may have at == NULL.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arena;

struct str {
    const char *at;
    size_t len;
};

/* A literal as a str; works in static initializers as {...} via S_INIT. */
#define S(literal) ((struct str){"" literal, sizeof(literal) - 1})
#define S_INIT(literal)                                                                        \
    {                                                                                          \
        "" literal, sizeof(literal) - 1                                                        \
    }

/* For printf's "%.*s". */
#define STR_ARG(s) (int)(s).len, (s).at ? (s).at : ""

/* A view of a C string; NULL gives the empty str. */
static inline struct str str_from(const char *z)
{
    return (struct str){z, z ? strlen(z) : 0};
}
static inline struct str str_of(const char *at, size_t len)
{
    return (struct str){at, len};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}
/* Equal bytes; short ones, which names are, without a call. For lengths that the compiler does
 * not know: where it does, memcmp() is none. */
static inline bool bytes_eq(const char *x, const char *y, size_t n)
{
    if (x == y)
        return true;
    if (n >= 8) {
        uint64_t a, b;
        for (size_t i = 0; i + 8 < n; i += 8) {
            memcpy(&a, x + i, 8), memcpy(&b, y + i, 8);
            if (a != b)
                return false;
        }
        memcpy(&a, x + n - 8, 8), memcpy(&b, y + n - 8, 8);
        return a == b;
    }
    if (n >= 4) {
        uint32_t a, b, c, d;
        memcpy(&a, x, 4), memcpy(&b, y, 4);
        memcpy(&c, x + n - 4, 4), memcpy(&d, y + n - 4, 4);
        return ((a ^ b) | (c ^ d)) == 0;
    }
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return false;
    return true;
}

static inline bool str_eqz(struct str a, const char *z)
{
    return str_eq(a, str_from(z));
}
bool str_is_one_of(struct str s, const char *const *words, size_t n);
/* Bytewise order, as memcmp; a prefix sorts first. */
int str_cmp(struct str a, struct str b);
/* ASCII case is ignored. */
bool str_eq_nocase(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
bool str_has(struct str s, struct str part);

#define STR_NONE SIZE_MAX
/* Index of the first (last) `c` or of the first `part`, or STR_NONE. */
size_t str_index(struct str s, char c);
size_t str_rindex(struct str s, char c);
size_t str_find(struct str s, struct str part);

/* Bytes [from, to); both are clamped to the length. */
struct str str_slice(struct str s, size_t from, size_t to);
static inline bool str_is_space(char c) /* of ASCII */
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
/* Without leading and trailing white space of ASCII. */
struct str str_trim(struct str s);
/* Splits at the first `sep`: *head is what stands before it, *tail what follows. Without a
 * `sep`, *head is all of s, *tail is empty, and false is returned. */
bool str_cut(struct str s, char sep, struct str *head, struct str *tail);
/* Like str_cut, at the last `sep`. */
bool str_rcut(struct str s, char sep, struct str *head, struct str *tail);

/* A whole decimal number and nothing else; false (out untouched) otherwise or when it does not
 * fit. The signed one takes a leading '-' or '+'. */
bool str_to_i64(struct str s, int64_t *out);
bool str_to_u64(struct str s, uint64_t *out);

/* Copies into the arena. str_z() adds a terminating 0. */
struct str str_copy(struct arena *a, struct str s);
char *str_z(struct arena *a, struct str s);
/* As str_z(), on the heap: the caller's to free(). */
char *str_own(struct str s);
struct str str_printf(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct str str_join(struct arena *a, const struct str *parts, size_t n, struct str sep);
/* str_concat(a, x, S("/"), y): one after the other; several times as quick as str_printf(). */
#define str_concat(a, ...)                                                                     \
    str_join((a), (const struct str[]){__VA_ARGS__},                                           \
             sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str), S(""))
struct str str_lower(struct arena *a, struct str s);
/* The decimal digits, put before `end`: STR_U64_MAX bytes at most. The other one
 * has them in the arena. */
#define STR_U64_MAX 20
struct str str_u64(char *end, uint64_t v);
struct str str_of_u64(struct arena *a, uint64_t v);

/* Well mixed and seeded at random for each process: never let its order be seen. */
uint64_t str_hash(struct str s);
/* As well mixed, from `h` on, which may be what the parts before gave: the same for every
 * process of one machine, and for memory alone. */
uint64_t str_hash_on(uint64_t h, struct str s);
/* The same for every process and machine (FNV-1a, 64 bits): for names and digests. */
uint64_t str_digest(struct str s);
/* The same for every process and machine, of a few of the bytes only: for tables of names that
 * are made when the program is. */
static inline uint32_t str_sketch(struct str s)
{
    uint32_t first = 0, last = 0;

    if (s.len >= sizeof(first)) {
        memcpy(&first, s.at, sizeof(first));
        memcpy(&last, s.at + s.len - sizeof(last), sizeof(last));
        first = le32toh(first), last = le32toh(last);
    } else {
        for (size_t i = 0; i < s.len; i++)
            first = first << 8 | (unsigned char)s.at[i];
    }
    uint64_t x = (uint64_t)last << 32 | first;
    return (uint32_t)((x + s.len) * UINT64_C(0x9E3779B97F4A7C15) >> 40);
}
/* The same for every process and machine, and quick for long texts: tells damage, not forgery.
 */
uint64_t str_sum(struct str s);

/* The next code point of valid UTF-8 at *i, which moves past it; -1 where it is not valid (then
 * *i moves by one). */
int32_t str_rune(struct str s, size_t *i);
/* Appends the code point as UTF-8 to out[4]; the number of bytes. Surrogates and values past
 * 0x10FFFF become U+FFFD. */
size_t str_put_rune(char out[4], int32_t rune);
bool str_is_utf8(struct str s);
/* Code points in valid UTF-8; an invalid byte counts as one. */
size_t str_runes(struct str s);
