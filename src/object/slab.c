/* slab.c - memory for many small things that live long */
#include "object/slab.h"

#ifdef __SANITIZE_ADDRESS__
#define HEAP_ONLY true /* so that a use after the end is seen */
#else
#define HEAP_ONLY false
#endif

#define STEP 16
#define PAGE ((size_t)32 << 10)

struct hole {
    struct hole *next;
};

/* Per process: only the loop's thread makes and ends objects. */
static struct {
    struct hole *holes;
    char *at, *end; /* of the newest page */
} classes[SLAB_MAX / STEP + 1];

void *slab_alloc(size_t size)
{
    size_t i = (size + STEP - 1) / STEP;

    if (HEAP_ONLY || size > SLAB_MAX)
        return mem_alloc(size);
    struct hole *hole = classes[i].holes;
    if (hole) {
        classes[i].holes = hole->next;
        return hole;
    }
    if ((size_t)(classes[i].end - classes[i].at) < i * STEP) {
        classes[i].at = mem_alloc(PAGE);
        classes[i].end = classes[i].at + PAGE;
    }
    void *p = classes[i].at;
    classes[i].at += i * STEP;
    return p;
}

void slab_free(void *p, size_t size)
{
    struct hole *hole = p;
    size_t i = (size + STEP - 1) / STEP;

    if (HEAP_ONLY || size > SLAB_MAX) {
        free(p);
        return;
    }
    hole->next = classes[i].holes;
    classes[i].holes = hole;
}
