/* arena.h - memory that is given back all at once
 *
 * One arena for one request or one reconcile. Its creator frees it; nothing in it is freed
 * alone. Allocation never fails to its caller: running out of memory ends the process with one
 * line, so input is bounded before it is given memory.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

struct arena_block;
struct arena_hold;

struct arena {
    char *at, *end;            /* what is left of the newest block */
    struct arena_block *block; /* newest first */
    size_t next_size;          /* of the next block; doubles up to ARENA_MAX_STEP */
    size_t total;              /* bytes in all blocks */
    struct arena_hold *holds;  /* newest first */
};

#define ARENA_MAX_STEP ((size_t)4 << 20)

/* An arena whose first block holds `size` bytes; nothing is allocated before it is used. The
 * zero value is an empty arena too. */
struct arena arena_sized(size_t size);
/* One that begins in memory of the caller's and goes on on the heap; `total` counts only the
 * latter. Not for arena_reset() and arena_rewind(). */
struct arena arena_over(void *memory, size_t size);
void arena_fini(struct arena *a);
/* Empties it and keeps the largest block for the next use. */
void arena_reset(struct arena *a);

/* A new block that holds so many bytes at least, so aligned: for arena_raw(). */
void arena_add_block(struct arena *a, size_t size, size_t align);

/* `size` bytes, not zeroed. `align` is a power of two up to 64. */
static inline void *arena_raw(struct arena *a, size_t size, size_t align)
{
    size_t pad = (size_t)(-(uintptr_t)a->at & (align - 1));

    if (unlikely((size_t)(a->end - a->at) < pad || (size_t)(a->end - a->at) - pad < size)) {
        arena_add_block(a, size, align);
        pad = (size_t)(-(uintptr_t)a->at & (align - 1));
    }
    /* No bytes of an empty arena are at NULL, which C adds nothing to. */
    uintptr_t p = (uintptr_t)a->at + pad;
    a->at = (char *)(p + size);
    return (void *)p;
}
/* The same, zeroed. */
void *arena_alloc(struct arena *a, size_t size, size_t align) __attribute__((malloc));
/* Grows the newest allocation in place where it can, copies where it cannot. */
void *arena_grow(struct arena *a, void *old, size_t old_size, size_t size, size_t align);

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type), _Alignof(type)))
#define arena_array(a, type, n)                                                                \
    ((type *)arena_alloc((a), size_mul((n), sizeof(type)), _Alignof(type)))
/* A copy of a value in the arena: arena_copy(a, &thing). */
#define arena_copy(a, p)                                                                       \
    ((typeof(*(p)) *)memcpy(arena_raw((a), sizeof(*(p)), _Alignof(typeof(*(p)))), (p),         \
                            sizeof(*(p))))

/* Everything allocated after the mark is given back by arena_rewind(). */
struct arena_mark {
    struct arena_block *block;
    char *at;
    struct arena_hold *holds;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark mark);

/* Something that lives elsewhere and must live as long as the arena's memory: release(what) is
 * called by arena_fini(), arena_reset() and arena_rewind(), the newest first. */
void arena_hold(struct arena *a, void (*release)(void *what), void *what);
/* Blocks of arenas that ended are kept for the next ones, up to 8 MiB of each thread's: back to
 * the heap with this thread's. */
void arena_give_back(void);

no_return rare void size_overflow(size_t n, size_t size);
/* n * size; ends the process where that overflows. */
static inline size_t size_mul(size_t n, size_t size)
{
    size_t all;

    if (unlikely(__builtin_mul_overflow(n, size, &all)))
        size_overflow(n, size);
    return all;
}
/* malloc, calloc and realloc that end the process with one line when there is no memory. */
void *mem_alloc(size_t size) __attribute__((malloc));
void *mem_zero(size_t n, size_t size) __attribute__((malloc));
void *mem_grow(void *old, size_t size);
/* Gives back what only the start needed: free heap, and code that comes back from its file when
 * it runs again. */
void mem_settle(void);
/* Makes the memory that malloc will give out next present: where nobody waits, the kernel's
 * part in it costs nothing. */
void mem_ready(void);
/* The next `size` bytes of the heap (1 GiB at most) in large pages, where the system has them:
 * for a process that is going to fill them and goes far and wide in them. Nothing of them is
 * touched yet. */
void mem_large(size_t size);
