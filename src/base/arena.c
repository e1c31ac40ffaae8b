/* arena.c - blocks of memory, freed together
 *
 *     block ──▶ [next][size][ bytes … at ──── end ]
 *        └─▶ older block …
 */
#include "base/base.h"

struct arena_block {
    struct arena_block *older;
    size_t size;                        /* of bytes[] */
    _Alignas(max_align_t) char bytes[]; /* as malloc aligns; who needs more is moved up */
};

/* In the arena itself. */
struct arena_hold {
    struct arena_hold *older;
    void (*release)(void *what);
    void *what;
};

#define FIRST_SIZE ((size_t)4 << 10)

void size_overflow(size_t n, size_t size)
{
    die("out of memory: %zu times %zu bytes", n, size);
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (!p)
        die("out of memory: %zu bytes", size);
    return p;
}

void *mem_zero(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);

    if (!p)
        die("out of memory: %zu times %zu bytes", n, size);
    return p;
}

void *mem_grow(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);

    if (!p)
        die("out of memory: %zu bytes", size);
    return p;
}

void free_ptr(void *pp)
{
    free(*(void **)pp);
}

/* ---- blocks ---- */

/* Under the address sanitizer, gcc's or clang's, so that a use after the end is seen. */
#ifdef __SANITIZE_ADDRESS__
#define HEAP_ONLY true
#elif defined(__has_feature)
#define HEAP_ONLY __has_feature(address_sanitizer)
#else
#define HEAP_ONLY false
#endif

/* Blocks of 4 to 40 KiB are whole ones; smaller ones live long, and take what they need. */
#define UNIT ((size_t)1 << 10)
#define LEAST_UNITS 4
#define MOST_UNITS 40
#define KEPT_MOST ((size_t)8 << 20) /* bytes of blocks that wait for their next use */

/* Blocks that were given back, by size: the next arena gets the one that was used last, which
 * the processor still has at hand. A thread has its own. */
static _Thread_local struct {
    struct arena_block *blocks[MOST_UNITS + 1];
    size_t bytes;
} kept;

/* 0: a size that is not kept. */
static size_t units_of(size_t size)
{
    size_t whole = sizeof(struct arena_block) + size;

    if (HEAP_ONLY || whole % UNIT || whole < LEAST_UNITS * UNIT || whole > MOST_UNITS * UNIT)
        return 0;
    return whole / UNIT;
}

/* Rounded up to what is kept, where it is neither small nor large. */
static size_t block_size(size_t size)
{
    size_t whole = sizeof(struct arena_block) + size;

    if (HEAP_ONLY || whole < LEAST_UNITS * UNIT || whole > MOST_UNITS * UNIT)
        return size;
    return (whole + UNIT - 1) / UNIT * UNIT - sizeof(struct arena_block);
}

static struct arena_block *block_new(size_t size)
{
    size_t units = units_of(size);
    struct arena_block *b = kept.blocks[units];

    if (units && b) {
        kept.blocks[units] = b->older;
        kept.bytes -= units * UNIT;
        return b;
    }
    b = mem_alloc(sizeof(*b) + size);
    b->size = size;
    return b;
}

static void block_free(struct arena_block *b)
{
    size_t units = units_of(b->size);

    if (!units || kept.bytes + units * UNIT > KEPT_MOST) {
        free(b);
        return;
    }
    b->older = kept.blocks[units];
    kept.blocks[units] = b;
    kept.bytes += units * UNIT;
}

void arena_give_back(void)
{
    for (size_t i = 1; i <= MOST_UNITS; i++) {
        for (struct arena_block *b = kept.blocks[i], *older; b; b = older) {
            older = b->older;
            free(b);
        }
        kept.blocks[i] = NULL;
    }
    kept.bytes = 0;
}

struct arena arena_sized(size_t size)
{
    return (struct arena){.next_size = size};
}

struct arena arena_over(void *memory, size_t size)
{
    return (struct arena){.at = memory, .end = (char *)memory + size};
}

static void free_blocks(struct arena_block *from, const struct arena_block *to)
{
    while (from != to) {
        struct arena_block *older = from->older;
        block_free(from);
        from = older;
    }
}

/* Until `to` is the newest. */
static void release_holds(struct arena *a, const struct arena_hold *to)
{
    while (a->holds != to) {
        struct arena_hold *h = a->holds;
        a->holds = h->older;
        h->release(h->what);
    }
}

void arena_hold(struct arena *a, void (*release)(void *what), void *what)
{
    struct arena_hold *h = arena_raw(a, sizeof(*h), _Alignof(struct arena_hold));

    *h = (struct arena_hold){.older = a->holds, .release = release, .what = what};
    a->holds = h;
}

void arena_fini(struct arena *a)
{
    release_holds(a, NULL);
    free_blocks(a->block, NULL);
    *a = (struct arena){0};
}

void arena_reset(struct arena *a)
{
    struct arena_block *largest = a->block;

    release_holds(a, NULL);
    if (!largest)
        return;
    for (struct arena_block *b = a->block; b; b = b->older)
        if (b->size > largest->size)
            largest = b;
    for (struct arena_block *b = a->block, *older; b; b = older) {
        older = b->older;
        if (b != largest)
            block_free(b);
    }
    largest->older = NULL;
    a->block = largest;
    a->at = largest->bytes;
    a->end = largest->bytes + largest->size;
    a->total = largest->size;
}

void arena_add_block(struct arena *a, size_t need, size_t align)
{
    size_t size = a->next_size ? a->next_size : FIRST_SIZE;

    if (need > SIZE_MAX / 2)
        die("out of memory: %zu bytes", need);
    a->next_size = MIN(size * 2, ARENA_MAX_STEP);
    size = block_size(MAX(size, need + align));
    struct arena_block *b = block_new(size);
    b->older = a->block;
    a->block = b;
    a->at = b->bytes;
    a->end = b->bytes + size;
    a->total += size;
}

void *arena_alloc(struct arena *a, size_t size, size_t align)
{
    void *p = arena_raw(a, size, align);

    if (size)
        memset(p, 0, size);
    return p;
}

void *arena_grow(struct arena *a, void *old, size_t old_size, size_t size, size_t align)
{
    if (old && (char *)old + old_size == a->at && size >= old_size &&
        (size_t)(a->end - (char *)old) >= size) {
        a->at = (char *)old + size;
        return old;
    }
    void *p = arena_raw(a, size, align);
    if (old_size)
        memcpy(p, old, MIN(old_size, size));
    return p;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){a->block, a->at, a->holds};
}

void arena_rewind(struct arena *a, struct arena_mark mark)
{
    release_holds(a, mark.holds);
    for (struct arena_block *b = a->block; b != mark.block; b = b->older)
        a->total -= b->size;
    free_blocks(a->block, mark.block);
    a->block = mark.block;
    a->at = mark.at;
    a->end = mark.block ? mark.block->bytes + mark.block->size : NULL;
}
