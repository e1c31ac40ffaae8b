/* object.h - one immutable version of one thing
 *
 * Counted and shared by store, watches and caches. At rest an object is its bytes (compact
 * JSON, defaults included), reached only through object_bytes(), so that cold ones may be
 * compressed, shared or left on disk. Trees and typed views are made in the caller's arena. To
 * change an object is to make the next one.
 *
 * About 130 bytes an object, its key and uid, and its bytes while they are in memory.
 */
#pragma once

#include "base/base.h"
#include "json/json.h"

struct kind;

/* The narrow part, known without the value. All strs live as long as the object. */
struct object_key {
    const struct kind *kind; /* the storage kind */
    struct str ns, name;     /* ns "" for cluster-scoped */
};

/* The kind's name in the store, "batch/v1/Job"; in `out`. */
#define OBJECT_KIND_NAME_MAX 512
struct str object_kind_name(const struct kind *kind, char out[OBJECT_KIND_NAME_MAX]);
/* Dense from 0 for built-in kinds, -1 for others. */
int object_kind_id(const struct kind *kind);

struct object;

/* From a tree whose metadata is complete. Revision 0 until the store gives one; it is not part
 * of the bytes at rest (object_tree() and object_bytes() put it in as
 * metadata.resourceVersion). */
struct object *object_new(const struct kind *kind, const struct json *tree);
/* The version after `before` (NULL for none; of the same kind and key), of which the tree may
 * share nodes. Where somebody will read it soon, what object_tree() will be is made now:
 * copying the tree it was made from is cheaper than reading the bytes. */
struct object *object_after(const struct object *before, const struct kind *kind,
                            const struct json *tree, bool is_read_soon);
/* A newer version took its place, and who watches was told: its tree is the first to go. */
void object_outdated(struct object *o);
/* Another one with the same bytes, of revision 0 and without a home. */
struct object *object_again(const struct object *o);
struct object *object_ref(struct object *o);
void object_unref(struct object *o); /* accepts NULL */

struct object_key object_key(const struct object *o);
/* "NS/NAME", or "NAME" for cluster-scoped: lists are in the order of these bytes. */
struct str object_path(const struct object *o);
uint64_t object_revision(const struct object *o);
struct str object_uid(const struct object *o);
/* The same object with its revision; used by store/ once, before anyone else sees it. */
void object_set_revision(struct object *o, uint64_t revision);

/* Compact JSON with metadata.resourceVersion; in the arena. */
struct str object_bytes(const struct object *o, struct arena *a);
/* The same, appended. */
void object_write(const struct object *o, struct buf *out);
/* The same with another revision: a watch's DELETED shows that of the removal. */
void object_write_at(const struct object *o, uint64_t revision, struct buf *out);
/* Without apiVersion and kind, as items of lists. */
void object_write_untyped(const struct object *o, struct buf *out);
/* The tree, which lives as long as the arena. Never fails: what was stored can be read. What
 * was read last is kept and shared (recent_priv.h): trees and views are never changed. Its
 * managedFields' fieldsV1 may be raw texts (json_whole() where somebody looks into them). */
const struct json *object_tree(const struct object *o, struct arena *a);
/* The typed view (`struct job *` for kind Job), which lives as long as the arena; see schema/.
 * It has no managedFields. */
const void *object_view(const struct object *o, struct arena *a);
/* Bytes it holds in memory. */
size_t object_weight(const struct object *o);

/* ---- for store/: bytes that may be elsewhere ---- */

/* Where an object's bytes are while they are not in memory. */
struct object_home {
    /* Reads them into the arena. A home that cannot ends the process with a sentence: an
     * acknowledged object is lost. */
    struct str (*read)(struct object_home *h, const struct object *o, struct arena *a);
    /* They are in memory again: for a warm cache's books. */
    void (*loaded)(struct object_home *h, const struct object *o);
    /* Is there room for that many bytes? Where there is none, bytes that are only passed on do
     * not come to stay: a long list would push out everything else, and its own beginning. */
    bool (*has_room)(struct object_home *h, size_t n);
};

/* An object known by its narrow part only. `row` is the home's name for it. */
struct object *object_at_home(const struct kind *kind, struct str path, struct str uid,
                              uint64_t revision, struct object_home *home, uint64_t row);
/* Its bytes can be had from `home` from now on; NULL: only from memory, where they are then. */
void object_set_home(struct object *o, struct object_home *home, uint64_t row);
/* The home it has, or NULL. */
struct object_home *object_home(const struct object *o);
/* A newer table of the same kind. */
void object_set_kind(struct object *o, const struct kind *kind);
uint64_t object_row(const struct object *o);
/* Bytes at rest, without the revision; borrowed until object_cool(). */
struct str object_rest(const struct object *o);
bool object_is_warm(const struct object *o); /* its bytes are in memory */
/* Forgets bytes that are in memory and were not used since the last call; the number given
 * back. For objects with a home only. */
size_t object_cool(struct object *o);
