/* heap.h - the smallest first
 *
 *     HEAP(struct timer *) h = {.less = timer_less, .moved = timer_moved};
 *     heap_push(&h, t);
 *     while (h.len && due(h.at[0])) run(heap_pop(&h));
 *
 * moved(), where given, learns each element's new index, so that heap_remove() and heap_fix()
 * can be told where it stands.
 */
#pragma once

#include "base/arena.h"

#define HEAP(type)                                                                             \
    struct {                                                                                   \
        type *at;                                                                              \
        size_t len, cap;                                                                       \
        bool (*less)(const type *, const type *);                                              \
        void (*moved)(type *, size_t index);                                                   \
    }

/* Puts the last element of at[] (just written there) in its place. */
#define heap_push(h, ...)                                                                      \
    do {                                                                                       \
        if ((h)->len == (h)->cap)                                                              \
            (h)->at = vec_grow_(NULL, (h)->at, (h)->len, &(h)->cap, sizeof(*(h)->at));         \
        (h)->at[(h)->len++] = (__VA_ARGS__);                                                   \
        heap_up_(HEAP_ARGS_(h), (h)->len - 1);                                                 \
    } while (0)
#define heap_pop(h)                                                                            \
    ({                                                                                         \
        typeof(*(h)->at) heap_x_ = (h)->at[0];                                                 \
        heap_remove(h, 0);                                                                     \
        heap_x_;                                                                               \
    })
/* Takes out the element at index i. */
#define heap_remove(h, i)                                                                      \
    do {                                                                                       \
        heap_remove_(HEAP_ARGS_(h), (i));                                                      \
        (h)->len--;                                                                            \
    } while (0)
/* The element at index i has another rank now. */
#define heap_fix(h, i) heap_fix_(HEAP_ARGS_(h), (i))
#define heap_fini(h) (free((h)->at), (void)((h)->at = NULL, (h)->len = (h)->cap = 0))

#define HEAP_ARGS_(h)                                                                          \
    (h)->at, (h)->len, sizeof(*(h)->at), (heap_less_fn *)(void *)(h)->less,                    \
        (heap_moved_fn *)(void *)(h)->moved

typedef bool heap_less_fn(const void *a, const void *b);
typedef void heap_moved_fn(void *element, size_t index);
void heap_up_(void *at, size_t len, size_t size, heap_less_fn *, heap_moved_fn *, size_t i);
void heap_fix_(void *at, size_t len, size_t size, heap_less_fn *, heap_moved_fn *, size_t i);
void heap_remove_(void *at, size_t len, size_t size, heap_less_fn *, heap_moved_fn *, size_t i);
