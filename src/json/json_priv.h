/* json_priv.h - what the files of json/ share */
#pragma once

#include <endian.h>

#include "json/json.h"

/* Marks of the bytes, of eight in their order, that a JSON string cannot show as they are:
 * control characters, '"', '\\', and what is not ASCII. Zero where there are none; the lowest
 * mark is exact, a borrow can only blur those above it. */
static inline uint64_t json_not_plain(uint64_t x)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;

    x = le64toh(x);
    return (((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) | (x - ones * 0x20) | x) &
           high;
}

static inline bool json_byte_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The same for sixteen at once: where the first mark is, or sixteen. */
typedef signed char json_bytes __attribute__((vector_size(16)));
typedef uint64_t json_halves __attribute__((vector_size(16)));

static inline json_bytes json_bytes_at(const char *at)
{
    json_bytes x;

    memcpy(&x, at, sizeof(x));
    return x;
}

static inline size_t json_plain_of(json_bytes x)
{
    const signed char quote = '"', escape = '\\', last_control = 0x1F;

    /* What is not ASCII is less than nothing. */
    json_halves plain = (json_halves)((x > last_control) & ~((x == quote) | (x == escape)));
    if (likely((plain[0] & plain[1]) == UINT64_MAX))
        return sizeof(x);
    return ~plain[0] ? (size_t)__builtin_ctzll(le64toh(~plain[0])) >> 3
                     : 8 + ((size_t)__builtin_ctzll(le64toh(~plain[1])) >> 3);
}

/* The first byte of [at, end) that is not plain, or end. */
static inline const char *json_plain(const char *at, const char *end)
{
    while (end - at >= (ptrdiff_t)sizeof(json_bytes)) {
        size_t n = json_plain_of(json_bytes_at(at));
        at += n;
        if (n < sizeof(json_bytes))
            return at;
    }
    for (; end - at >= 8; at += 8) {
        uint64_t x;
        memcpy(&x, at, sizeof(x));
        x = json_not_plain(x);
        if (x)
            return at + (__builtin_ctzll(x) >> 3);
    }
    while (at < end && json_byte_is_plain((unsigned char)*at))
        at++;
    return at;
}

/* The member's index in v's members, or STR_NONE. */
static inline size_t json_index(const struct json_member *members, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (members[i].name.len == name.len && bytes_eq(members[i].name.at, name.at, name.len))
            return i;
    return STR_NONE;
}

/* Pointers to the members of an object in the order of their names. The array is on the heap.
 */
const struct json_member **json_by_name(const struct json *v);
/* Exact order of two numbers. */
int json_cmp_numbers(const struct json *a, const struct json *b);

/* The program's own constants, as most names in trees that are built and not read, live as long
 * as it does: they are not copied. The linker gives both marks. */
extern const char __executable_start[], _end[];

static inline bool json_is_constant(const char *at)
{
    return (uintptr_t)at - (uintptr_t)__executable_start <
           (uintptr_t)_end - (uintptr_t)__executable_start;
}

static inline void json_measure_name(struct json_room *room, struct str name)
{
    if (!json_is_constant(name.at))
        room->texts += name.len;
}
