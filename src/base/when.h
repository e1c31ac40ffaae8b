/* when.h - moments and spans, which do not mix by accident */
#pragma once

#include "base/compiler.h"

/* Nanoseconds since 1970-01-01T00:00:00Z. The zero value means "no time given". */
struct instant {
    int64_t ns;
};

/* Nanoseconds. */
struct span {
    int64_t ns;
};

#define SECOND_NS INT64_C(1000000000)

static inline struct span span_s(int64_t seconds)
{
    return (struct span){seconds * SECOND_NS};
}
static inline struct span span_ms(int64_t ms)
{
    return (struct span){ms * 1000000};
}
/* Both saturate. */
static inline struct instant instant_add(struct instant t, struct span d)
{
    int64_t ns;
    if (__builtin_add_overflow(t.ns, d.ns, &ns))
        ns = d.ns < 0 ? INT64_MIN : INT64_MAX;
    return (struct instant){ns};
}
static inline struct span instant_sub(struct instant a, struct instant b) /* a - b */
{
    int64_t ns;
    if (__builtin_sub_overflow(a.ns, b.ns, &ns))
        ns = a.ns < b.ns ? INT64_MIN : INT64_MAX;
    return (struct span){ns};
}
static inline bool instant_before(struct instant a, struct instant b)
{
    return a.ns < b.ns;
}
static inline bool instant_is_set(struct instant t)
{
    return t.ns != 0;
}
