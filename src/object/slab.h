/* slab.h - memory for many small things that live long
 *
 * Heads of objects stand between texts that come and go. Taken from the same heap, they keep
 * the holes of those texts from joining, and the process stays as large as it ever was. Here
 * they get pages of their own, by size. Nothing is given back to the system. For one thread.
 */
#pragma once

#include "base/base.h"

#define SLAB_MAX 1024 /* bytes; larger ones come from the heap */

void *slab_alloc(size_t size);
/* `size` as it was asked for. */
void slab_free(void *p, size_t size);
