/* choose.h - choices from a target's input, and the count of what it held
 *
 * An execution is one property held on one thing made of the input; a target that holds several
 * of an input counts each, and the sum is printed as it ends.
 */
#pragma once

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *at, *end;
};

/* Below n; 0 once the input is used up. */
static inline unsigned take(struct bytes *b, unsigned n)
{
    return b->at < b->end ? *b->at++ % n : 0;
}

__attribute__((weak)) uint64_t executions; /* one for target and main() */

static inline void print_executions(void)
{
    fprintf(stderr, "executions: %llu\n", (unsigned long long)executions);
}

static inline void held(void)
{
    if (executions++ == 0)
        atexit(print_executions);
}
