/* settle.c - a long-lived process at rest: giving memory back, having some ready */
#include <malloc.h>
#include <sys/mman.h>

#include "base/base.h"

#define READY ((size_t)120 << 10) /* less than what malloc maps by itself, and trims */

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
