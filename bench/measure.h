/* measure.h - how every bench program measures and prints
 *
 * One figure a line, `name value unit`; the smallest of several rounds counts. Processor time
 * of this process, since others may be busy, where the row does not say that it is the clock's.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "value/time.h"

#define MEASURE_ROUNDS 9

static inline double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Of the clock, for what a user waits for. */
static inline int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
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

/* How often a row runs. scripts/bench --count runs one row (BENCH_ROW) some times (BENCH_TIMES)
 * and twice as often: the difference in instructions is what the row costs. */
static inline size_t measure_times(const char *name, size_t n)
{
    const char *row = getenv("BENCH_ROW"), *times = getenv("BENCH_TIMES");

    if (!row)
        return n;
    return strcmp(row, name) == 0 && times ? strtoul(times, NULL, 10) : 0;
}

/* Runs `body` n times a round; how long each took, in units of `unit_ns` nanoseconds. */
#define MEASURE_EACH(name, n, unit_ns, unit, body)                                             \
    do {                                                                                       \
        double best = 1e18;                                                                    \
        size_t times = measure_times((name), (n));                                             \
        for (int round = 0; times && round < (times == (n) ? MEASURE_ROUNDS : 1); round++) {   \
            double start = cpu_ns(), each;                                                     \
            for (size_t i = 0; i < times; i++) {                                               \
                body;                                                                          \
            }                                                                                  \
            each = (cpu_ns() - start) / (double)times / (unit_ns);                             \
            best = each < best ? each : best;                                                  \
        }                                                                                      \
        if (times)                                                                             \
            tell(name, best, unit);                                                            \
    } while (0)

#define MEASURE_NS(name, n, body) MEASURE_EACH(name, n, 1, "ns", body)
/* In microseconds; the arena is emptied after each. */
#define MEASURE_US(a, name, n, body)                                                           \
    MEASURE_EACH(name, n, 1e3, "us", {                                                         \
        struct arena_mark mark = arena_mark(a);                                                \
        body;                                                                                  \
        arena_rewind((a), mark);                                                               \
    })
