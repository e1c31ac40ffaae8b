/* measure.h - how every bench program measures and prints
 *
 * One figure a line, `name value unit`; the smallest of several rounds counts. Processor time
 * of this process, since others may be busy.
 */
#pragma once

#include <stdio.h>
#include <time.h>

#include "base/base.h"

#define MEASURE_ROUNDS 9

static inline double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void tell(const char *name, double value, const char *unit)
{
    printf("%-52s %10.2f %s\n", name, value, unit);
}

/* Keeps a result, so that its computation stays. */
static inline void use(int64_t v)
{
    __asm__ volatile("" ::"r"(v) : "memory");
}

/* Runs `body` n times a round; how long each took, in units of `unit_ns` nanoseconds. */
#define MEASURE_EACH(name, n, unit_ns, unit, body)                                             \
    do {                                                                                       \
        double best = 1e18;                                                                    \
        for (int round = 0; round < MEASURE_ROUNDS; round++) {                                 \
            double start = cpu_ns(), each;                                                     \
            for (size_t i = 0; i < (n); i++) {                                                 \
                body;                                                                          \
            }                                                                                  \
            each = (cpu_ns() - start) / (double)(n) / (unit_ns);                               \
            best = each < best ? each : best;                                                  \
        }                                                                                      \
        tell(name, best, unit);                                                                \
    } while (0)

#define MEASURE_NS(name, n, body) MEASURE_EACH(name, n, 1, "ns", body)
/* In microseconds; the arena is emptied after each. */
#define MEASURE_US(a, name, n, body)                                                           \
    MEASURE_EACH(name, n, 1e3, "us", {                                                         \
        struct arena_mark mark = arena_mark(a);                                                \
        body;                                                                                  \
        arena_rewind((a), mark);                                                               \
    })
