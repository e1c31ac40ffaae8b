/* heap.c - a binary heap over elements of any size */
#include "base/base.h"

static void *slot(void *at, size_t size, size_t i)
{
    return (char *)at + i * size;
}

static void swap(void *at, size_t size, heap_moved_fn *moved, size_t i, size_t j)
{
    char tmp[256], *a = slot(at, size, i), *b = slot(at, size, j);

    assert(size <= sizeof(tmp));
    memcpy(tmp, a, size);
    memcpy(a, b, size);
    memcpy(b, tmp, size);
    if (moved) {
        moved(a, i);
        moved(b, j);
    }
}

void heap_up_(void *at, size_t len, size_t size, heap_less_fn *less, heap_moved_fn *moved,
              size_t i)
{
    (void)len;
    if (moved)
        moved(slot(at, size, i), i);
    for (; i && less(slot(at, size, i), slot(at, size, (i - 1) / 2)); i = (i - 1) / 2)
        swap(at, size, moved, i, (i - 1) / 2);
}

static void down(void *at, size_t len, size_t size, heap_less_fn *less, heap_moved_fn *moved,
                 size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < len; c++)
            if (less(slot(at, size, c), slot(at, size, least)))
                least = c;
        if (least == i)
            return;
        swap(at, size, moved, i, least);
        i = least;
    }
}

void heap_fix_(void *at, size_t len, size_t size, heap_less_fn *less, heap_moved_fn *moved,
               size_t i)
{
    heap_up_(at, len, size, less, moved, i);
    down(at, len, size, less, moved, i);
}

void heap_remove_(void *at, size_t len, size_t size, heap_less_fn *less, heap_moved_fn *moved,
                  size_t i)
{
    assert(i < len);
    if (i == len - 1)
        return;
    swap(at, size, moved, i, len - 1);
    heap_fix_(at, len - 1, size, less, moved, i);
}
