/* vec.c - growing arrays and a stable sort */
#include "base/base.h"

void *vec_grow_(struct arena *a, void *at, size_t len, size_t *cap, size_t size)
{
    size_t next = *cap ? *cap * 2 : 8;

    if (a)
        at = arena_grow(a, at, len * size, size_mul(next, size), 16);
    else
        at = mem_grow(at, size_mul(next, size));
    *cap = next;
    return at;
}

struct sorting {
    size_t size; /* of an element */
    sort_with_fn *fn;
    void *ctx;
};

static void merge(char *out, const char *l, size_t nl, const char *r, size_t nr,
                  const struct sorting *s)
{
    size_t size = s->size;

    while (nl && nr) {
        bool left = s->fn(s->ctx, l, r) <= 0;
        memcpy(out, left ? l : r, size);
        out += size;
        l += left ? size : 0;
        nl -= left;
        r += left ? 0 : size;
        nr -= !left;
    }
    memcpy(out, nl ? l : r, (nl + nr) * size);
}

static void sort_halves(char *at, char *spare, size_t n, const struct sorting *s)
{
    size_t half = n / 2, size = s->size;

    if (n < 2)
        return;
    sort_halves(at, spare, half, s);
    sort_halves(at + half * size, spare, n - half, s);
    if (s->fn(s->ctx, at + (half - 1) * size, at + half * size) <= 0)
        return; /* already in order */
    memcpy(spare, at, n * size);
    merge(at, spare, half, spare + half * size, n - half, s);
}

void sort_with(void *base, size_t n, size_t size, sort_with_fn *fn, void *ctx)
{
    const struct sorting s = {size, fn, ctx};
    char small[2048];

    if (n < 2)
        return;
    char *spare = n * size <= sizeof(small) ? small : mem_alloc(size_mul(n, size));
    sort_halves(base, spare, n, &s);
    if (spare != small)
        free(spare);
}

static int without_context(void *ctx, const void *a, const void *b)
{
    return (*(sort_fn **)ctx)(a, b);
}

void sort_stable(void *base, size_t n, size_t size, sort_fn *fn)
{
    sort_with(base, n, size, without_context, &fn);
}
