/* recent_priv.h - trees and views of the objects that were made or read last
 *
 * One change of an object has many readers within a few turns: the answer, watches, caches,
 * several controllers. They share one tree. Entries are counted: an arena that was given a tree
 * holds it, whatever becomes of the entry and of the object. Together they take
 * RECENT_MAX_TOTAL; past that the one that was not used for longest goes. For one thread.
 */
#pragma once

#include "json/json.h"

struct object;

#define RECENT_MAX_TOTAL ((size_t)64 << 20) /* bytes */
/* Of an object's text: larger ones are not kept. */
#define RECENT_MAX_BYTES ((uint32_t)64 << 10)

struct recent {
    struct list link;      /* in the order of use */
    struct recent **owner; /* the object's; NULL: its memory is only held by readers */
    uint32_t refs;
    size_t counted; /* of its bytes, in the total */
    struct arena arena;
    const struct json *tree; /* NULL: nobody asked */
    struct json *metadata;   /* of a tree that has no revision yet: there is room for it */
    const void *view;        /* NULL: nobody asked */
    /* The spec, which most writes leave alone: the next version takes over nodes and text. Of a
     * tree that was read from bytes nothing is known of it: it has no home. */
    struct json spec;
    struct recent *spec_home; /* whose arena its nodes are in: this one, or one that it holds */
    uint32_t spec_at, spec_len; /* of its text in the object's bytes at rest */
};

/* An empty entry, put into *owner, which is NULL. `text` is how many bytes the object has. */
struct recent *recent_make(struct recent **owner, size_t text);
/* It was used, and may have grown. */
void recent_touch(struct recent *r);
/* Few will read it: the first to go where there are too many. */
void recent_age(struct recent *r);
/* The object changes, or goes. */
void recent_drop(struct recent **owner);
void recent_hold(struct recent *r, struct arena *a);
/* Its spec is that of `from`, which is held for as long. */
void recent_share_spec(struct recent *r, const struct recent *from);
