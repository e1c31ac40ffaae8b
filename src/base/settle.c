/* settle.c - what the heap is told: memory to give back, to have ready, or to have in large
 * pages
 */
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

#define READY ((size_t)120 << 10) /* less than what malloc maps by itself, and trims */
#define LARGE_PAGE ((size_t)2 << 20)
#define LARGE_BLOCK (8 << 20) /* bytes; larger ones malloc maps by themselves */

/* "START-END PERMS ... PATH": code of a file, which is never written to. */
static bool is_code(const char *line, unsigned long *start, unsigned long *end)
{
    char perms[8];

    return sscanf(line, "%lx-%lx %7s", start, end, perms) == 3 &&
           str_eqz(str_from(perms), "r-xp") && strchr(line, '/');
}

void mem_settle(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long start, end;
    char line[1024];

    arena_give_back();
    malloc_trim(0);
    if (!maps)
        return;
    while (fgets(line, sizeof(line), maps))
        if (is_code(line, &start, &end))
            madvise((void *)start, end - start, MADV_DONTNEED);
    fclose(maps);
}

void mem_ready(void)
{
    volatile char *p = mem_alloc(READY);

    for (size_t i = 0; i < READY; i += 4096)
        p[i] = 0;
    free((void *)(uintptr_t)p);
}

void mem_large(size_t size)
{
    char *end = sbrk(0);
    void *volatile p;

    assert(size <= (size_t)1 << 30);
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    mallopt(M_TRIM_THRESHOLD, (int)size);
    mallopt(M_TOP_PAD, (int)size);
    p = mem_alloc(LARGE_BLOCK / 2); /* more than what is free at the end of a young heap */
    free(p);
    mallopt(M_TOP_PAD, 128 << 10); /* malloc's own */
    char *from = (char *)(((uintptr_t)end + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1));
    if ((char *)sbrk(0) > from)
        madvise(from, (size_t)((char *)sbrk(0) - from), MADV_HUGEPAGE);
}
