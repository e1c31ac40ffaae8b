/* vec.h - growing arrays
 *
 *     VEC(struct str) names = {0};
 *     vec_push(&names, S("a"));                 on the heap; vec_fini(&names) frees
 *     vec_push_in(arena, &names, S("a"));       in an arena; never vec_fini() that one
 */
#pragma once

#include "base/arena.h"

#define VEC(type)                                                                              \
    struct {                                                                                   \
        type *at;                                                                              \
        size_t len, cap;                                                                       \
    }

#define vec_push(v, ...)                                                                       \
    do {                                                                                       \
        if ((v)->len == (v)->cap)                                                              \
            (v)->at = vec_grow_(NULL, (v)->at, (v)->len, &(v)->cap, sizeof(*(v)->at));         \
        (v)->at[(v)->len++] = (__VA_ARGS__);                                                   \
    } while (0)
#define vec_push_in(a, v, ...)                                                                 \
    do {                                                                                       \
        if ((v)->len == (v)->cap)                                                              \
            (v)->at = vec_grow_((a), (v)->at, (v)->len, &(v)->cap, sizeof(*(v)->at));          \
        (v)->at[(v)->len++] = (__VA_ARGS__);                                                   \
    } while (0)
#define vec_pop(v) ((v)->at[--(v)->len])
#define vec_last(v) ((v)->at[(v)->len - 1])
#define vec_clear(v) ((void)((v)->len = 0))
/* Takes element i out, keeping the order. */
#define vec_remove(v, i)                                                                       \
    (memmove(&(v)->at[i], &(v)->at[(i) + 1], ((v)->len - (i)-1) * sizeof(*(v)->at)),           \
     (void)(v)->len--)
/* Puts x before element i. */
#define vec_insert(v, i, ...)                                                                  \
    do {                                                                                       \
        size_t vec_i_ = (i);                                                                   \
        vec_push(v, __VA_ARGS__);                                                              \
        typeof(*(v)->at) vec_x_ = vec_last(v);                                                 \
        memmove(&(v)->at[vec_i_ + 1], &(v)->at[vec_i_],                                        \
                ((v)->len - 1 - vec_i_) * sizeof(*(v)->at));                                   \
        (v)->at[vec_i_] = vec_x_;                                                              \
    } while (0)
#define vec_fini(v) (free((v)->at), (void)((v)->at = NULL, (v)->len = (v)->cap = 0))
#define vec_each(i, v) for (size_t i = 0; i < (v)->len; i++)
/* Sorts with int fn(const type *, const type *); equal elements keep their order. */
#define vec_sort(v, fn)                                                                        \
    ({                                                                                         \
        int (*vec_fn_)(const typeof(*(v)->at) *, const typeof(*(v)->at) *) = (fn);             \
        sort_stable((v)->at, (v)->len, sizeof(*(v)->at), (sort_fn *)(void *)vec_fn_);          \
    })

typedef int sort_fn(const void *a, const void *b);
/* A stable merge sort. */
void sort_stable(void *base, size_t n, size_t size, sort_fn *fn);
/* The same, for an order that depends on more than the two. */
typedef int sort_with_fn(void *ctx, const void *a, const void *b);
void sort_with(void *base, size_t n, size_t size, sort_with_fn *fn, void *ctx);

void *vec_grow_(struct arena *a, void *at, size_t len, size_t *cap, size_t size);
