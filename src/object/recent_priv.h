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

#define RECENT_MAX_TOTAL ((size_t)56 << 20) /* bytes */
/* Of an object's text: larger ones are not kept. */
#define RECENT_MAX_BYTES ((uint32_t)64 << 10)

/* Parts of a tree that most writes leave alone, each in memory of its own, which all versions
 * hold that have it. It holds no other: no chain of versions grows. */
enum recent_name {
    RECENT_META, /* the metadata without resourceVersion and managedFields */
    RECENT_SPEC,
    RECENT_STATUS,
    RECENT_PARTS,
};

struct recent_part {
    uint32_t refs;
    size_t size; /* bytes it takes */
    struct json value;
    struct arena views;
    const void *view; /* of a spec; NULL: nobody asked */
    _Alignas(struct json_member) char memory[];
};

struct recent_text {
    uint32_t at, len;
};

#define RECENT_META_MOST 16u /* members of a metadata; one with more is not kept */

struct recent {
    struct list link;      /* in the order of use */
    struct recent **owner; /* the object's; NULL: its memory is only held by readers */
    uint32_t refs;
    size_t counted; /* of its bytes, in the total */
    struct arena arena;
    const struct json *tree; /* NULL: nobody asked */
    struct json *metadata;   /* of a tree that has no revision yet: there is room for it */
    const void *view;        /* NULL: nobody asked */
    /* What the next version takes over where its writer left it alone: nodes, and text in the
     * object's bytes at rest. Of a tree that was read from bytes nothing is known. */
    struct recent_part *parts[RECENT_PARTS];
    size_t parts_size; /* of them all */
    struct recent_text texts[RECENT_PARTS];
    const struct json_member *meta; /* of the metadata, without resourceVersion */
    uint32_t n_meta;
    uint32_t meta_at[RECENT_META_MOST + 1]; /* where each one's text begins, and one past the
                                               sign behind the last one */
};

/* An empty entry, put into *owner, which is NULL. It is going to take `size` bytes and what a
 * view takes. */
struct recent *recent_make(struct recent **owner, size_t size);
/* It was used, and may have grown. */
void recent_touch(struct recent *r);
/* Few will read it: the first to go where there are too many. */
void recent_age(struct recent *r);
/* The object changes, or goes. */
void recent_drop(struct recent **owner);
void recent_hold(struct recent *r, struct arena *a);
/* A part with that many bytes of memory, which is its; its value is the caller's to fill in. */
struct recent_part *recent_part_add(struct recent *r, enum recent_name name, size_t size);
/* It is the one of `from`. */
void recent_part_share(struct recent *r, enum recent_name name, const struct recent *from);
