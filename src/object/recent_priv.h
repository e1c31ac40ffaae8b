/* recent_priv.h - trees and views of the objects that were read last
 *
 * One change of an object has many readers within a few turns: the answer, watches, caches,
 * several controllers. The first one parses, the others share. Entries are counted: an arena
 * that was given a tree holds it, whatever becomes of the entry and of the object. At most
 * RECENT_SETS * RECENT_WAYS entries of RECENT_MAX_BYTES, whose memory is used again. For one
 * thread.
 */
#pragma once

#include "base/base.h"

struct json;
struct object;

#define RECENT_SETS 32 /* a power of two */
#define RECENT_WAYS 4
/* Of an object's text: larger ones are not kept. */
#define RECENT_MAX_BYTES ((uint32_t)8 << 10)
/* Of an entry's memory, for its next object. */
#define RECENT_MAX_KEPT ((size_t)48 << 10)

struct recent {
    const struct object *owner; /* NULL: no longer among the recent ones */
    uint32_t refs;
    uint64_t used; /* counts up */
    struct arena arena;
    const struct json *tree;
    const void *view; /* NULL: nobody asked */
};

/* The object's entry, or NULL. Borrowed until the next recent_make(). */
struct recent *recent_find(const struct object *o);
/* An empty entry for an object that has none. */
struct recent *recent_make(const struct object *o);
/* The object changes, or goes. */
void recent_drop(const struct object *o);
void recent_hold(struct recent *r, struct arena *a);
