/* amount.h - quantities of quota as whole numbers
 *
 * cpu is counted in milli-units, everything else in whole units. Nothing overflows: sums stop
 * at the ends of int64_t, and the upper end means "unlimited".
 */
#pragma once

#include "base/compiler.h"
#include "base/str.h"
#include "value/saturate.h"

#define AMOUNT_UNLIMITED INT64_MAX

/* Arithmetic on amounts of quota, where unlimited swallows. */
static inline int64_t amount_add(int64_t a, int64_t b)
{
    return a == AMOUNT_UNLIMITED || b == AMOUNT_UNLIMITED ? AMOUNT_UNLIMITED : sat_add(a, b);
}
static inline int64_t amount_sub(int64_t a, int64_t b)
{
    if (a == AMOUNT_UNLIMITED)
        return b == AMOUNT_UNLIMITED ? 0 : AMOUNT_UNLIMITED;
    return b == AMOUNT_UNLIMITED ? INT64_MIN : sat_sub(a, b);
}

/* Milli-units a unit: 1000 for cpu, 1 for all others. */
static inline int64_t amount_scale(struct str resource)
{
    return str_eq(resource, S("cpu")) ? 1000 : 1;
}
/* In base units (cores, bytes); unlimited is +Inf. */
double amount_f64(int64_t amount, int64_t scale);
