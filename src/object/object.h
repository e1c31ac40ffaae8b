/* object.h - one immutable version of one thing
 *
 * Counted and shared by store, watches and caches. At rest an object is its bytes (compact
 * JSON, defaults included), reached only through object_bytes(), so that cold ones may be
 * compressed, shared or left on disk. Trees and typed views are made in the caller's arena. To
 * change an object is to make the next one.
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

struct object;

/* From a tree whose metadata is complete. Revision 0 until the store gives one; it is not part
 * of the bytes at rest (object_tree() and object_bytes() put it in as
 * metadata.resourceVersion). */
struct object *object_new(const struct kind *kind, const struct json *tree);
struct object *object_ref(struct object *o);
void object_unref(struct object *o); /* accepts NULL */

struct object_key object_key(const struct object *o);
uint64_t object_revision(const struct object *o);
struct str object_uid(const struct object *o);
/* The same object with its revision; used by store/ once, before anyone else sees it. */
void object_set_revision(struct object *o, uint64_t revision);

/* Compact JSON with metadata.resourceVersion; in the arena. */
struct str object_bytes(const struct object *o, struct arena *a);
/* The tree, in the arena. Never fails: what was stored can be read. */
const struct json *object_tree(const struct object *o, struct arena *a);
/* The typed view (`struct job *` for kind Job), in the arena; see schema/. */
const void *object_view(const struct object *o, struct arena *a);
/* Bytes it holds in memory. */
size_t object_weight(const struct object *o);
