/* json_priv.h - what the files of json/ share */
#pragma once

#include <endian.h>

#include "json/json.h"

/* How many bytes of [at, end) stand before the first that a JSON string cannot show as it is:
 * a control character, '"', '\\', or one that is not ASCII. Eight at a time; a borrow can only
 * blur bytes behind the first hit. */
static inline const char *json_plain(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;

    for (; end - at >= 8; at += 8) {
        uint64_t x;
        memcpy(&x, at, sizeof(x));
        x = le64toh(x);
        uint64_t hit =
            (((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) | (x - ones * 0x20) | x) &
            high;
        if (hit)
            return at + (__builtin_ctzll(hit) >> 3);
    }
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\')
        at++;
    return at;
}

/* The member's index in v's members, or STR_NONE. */
static inline size_t json_index(const struct json_member *members, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (members[i].name.len == name.len &&
            (name.len == 0 || memcmp(members[i].name.at, name.at, name.len) == 0))
            return i;
    return STR_NONE;
}

/* Pointers to the members of an object in the order of their names. The array is on the heap.
 */
const struct json_member **json_by_name(const struct json *v);
/* Exact order of two numbers. */
int json_cmp_numbers(const struct json *a, const struct json *b);
