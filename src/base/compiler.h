/* compiler.h - names for what gcc and clang add to the language */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define must_check __attribute__((warn_unused_result))
#define like_printf(f, a) __attribute__((format(printf, f, a)))
#define no_return __attribute__((noreturn))
#define unused __attribute__((unused))
#define not_inline __attribute__((noinline))
/* Hardly ever called: what leads to it is kept out of the way of the rest. */
#define rare __attribute__((cold))
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* scoped(fini) struct thing t: calls fini(&t) when t goes out of scope. */
#define scoped(fini) __attribute__((cleanup(fini)))

#define countof(array) (sizeof(array) / sizeof((array)[0]))
#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

#define MIN(a, b)                                                                              \
    ({                                                                                         \
        typeof(a) min_a_ = (a);                                                                \
        typeof(b) min_b_ = (b);                                                                \
        min_a_ < min_b_ ? min_a_ : min_b_;                                                     \
    })
#define MAX(a, b)                                                                              \
    ({                                                                                         \
        typeof(a) max_a_ = (a);                                                                \
        typeof(b) max_b_ = (b);                                                                \
        max_a_ > max_b_ ? max_a_ : max_b_;                                                     \
    })

/* For scoped(): closes a descriptor that is not -1; frees what mem_alloc() gave. */
void close_fd(int *fd);
void free_ptr(void *pp);

/* What our own callers promised; stays on in releases. Input is never asserted. */
#undef assert
#define assert(ok) (likely(ok) ? (void)0 : assert_failed(#ok, __FILE__, __LINE__))
no_return void assert_failed(const char *what, const char *file, int line);
/* Ends the process with one line on stderr. */
no_return void die(const char *format, ...) like_printf(1, 2);
