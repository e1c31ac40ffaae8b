/* saturate.h - whole numbers that stop at the ends of 64 bits instead of overflowing */
#pragma once

#include <stdint.h>

static inline int64_t sat_add(int64_t x, int64_t y)
{
    int64_t r;
    if (__builtin_add_overflow(x, y, &r))
        return y < 0 ? INT64_MIN : INT64_MAX;
    return r;
}
static inline int64_t sat_sub(int64_t x, int64_t y)
{
    int64_t r;
    if (__builtin_sub_overflow(x, y, &r))
        return y < 0 ? INT64_MAX : INT64_MIN;
    return r;
}
static inline int64_t sat_mul(int64_t x, int64_t y)
{
    int64_t r;
    if (__builtin_mul_overflow(x, y, &r))
        return (x < 0) == (y < 0) ? INT64_MAX : INT64_MIN;
    return r;
}
