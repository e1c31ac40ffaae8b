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

static void merge(char *out, const char *l, size_t nl, const char *r, size_t nr, size_t size,
                  sort_fn *fn)
{
    while (nl && nr) {
        bool left = fn(l, r) <= 0;
        memcpy(out, left ? l : r, size);
        out += size;
        l += left ? size : 0;
        nl -= left;
        r += left ? 0 : size;
        nr -= !left;
    }
    memcpy(out, nl ? l : r, (nl + nr) * size);
}

static void sort_halves(char *at, char *spare, size_t n, size_t size, sort_fn *fn)
{
    size_t half = n / 2;

    if (n < 2)
        return;
    sort_halves(at, spare, half, size, fn);
    sort_halves(at + half * size, spare, n - half, size, fn);
    if (fn(at + (half - 1) * size, at + half * size) <= 0)
        return; /* already in order */
    memcpy(spare, at, n * size);
    merge(at, spare, half, spare + half * size, n - half, size, fn);
}

void sort_stable(void *base, size_t n, size_t size, sort_fn *fn)
{
    char small[2048];

    if (n < 2)
        return;
    char *spare = n * size <= sizeof(small) ? small : mem_alloc(size_mul(n, size));
    sort_halves(base, spare, n, size, fn);
    if (spare != small)
        free(spare);
}
