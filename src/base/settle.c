/* settle.c - giving memory back when a long-lived process has started */
#include <malloc.h>
#include <sys/mman.h>

#include "base/base.h"

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
