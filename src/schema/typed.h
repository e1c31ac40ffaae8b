/* typed.h - values seen through a schema, as server-side apply compares and merges them
 *
 * A node is a leaf (a scalar, or a list or map that is atomic) or granular: then its items and
 * entries are owned one by one. The schema's list and map types say which; an untyped value is
 * granular as a map and atomic as a list. All functions are pure; results share what they can
 * with their inputs. Errors are ERR_INVALID with the path: `.spec.foo: field not declared in
 * schema`.
 */
#pragma once

#include "schema/fieldset.h"
#include "schema/table.h"

/* Does the value fit? Lists with keys and sets may hold one key or value twice only where
 * `duplicates` allows it (stored objects may). 0 or -1. */
int typed_validate(const struct schema *s, const struct json *v, bool duplicates,
                   struct err *err);

/* All fields of the value. */
int typed_set(struct arena *a, const struct schema *s, const struct json *v,
              struct fieldset *out, struct err *err);
/* The same without a schema: items by their fields `key`, `id` and `name`, else by index. */
struct fieldset typed_guess(struct arena *a, const struct json *v);

struct typed_changes {
    struct fieldset removed, modified, added;
};
/* What differs between two values; either may be NULL (then every field of the other). */
int typed_compare(struct arena *a, const struct schema *s, const struct json *from,
                  const struct json *to, struct typed_changes *out, struct err *err);
/* The same as bytes, appended to `out`: where they are equal, so are the changes, whatever the
 * values. `out` is as it was on an error. */
int typed_difference(struct arena *scratch, const struct schema *s, const struct json *from,
                     const struct json *to, struct buf *out, struct err *err);
/* The changes that such bytes stand for. Names and values point into them or the arena. */
struct typed_changes typed_changes_of(struct arena *a, struct str difference);

/* The live value (may be NULL) with the config over it. What config leaves out stays. The very
 * node `live` where nothing changes. NULL on an error. */
const struct json *typed_merge(struct arena *a, const struct schema *s, const struct json *live,
                               const struct json *config, struct err *err);

/* Without the members of the set, and all below them. */
const struct json *typed_remove(struct arena *a, const struct schema *s, const struct json *v,
                                struct fieldset set);
/* Only the members of the set; with_keys: the key fields of list items come along. NULL on an
 * error. */
const struct json *typed_extract(struct arena *a, const struct schema *s, const struct json *v,
                                 struct fieldset set, bool with_keys, struct err *err);

/* The set, with every declared field that has something below it as a member. */
struct fieldset typed_named(struct arena *a, const struct schema *s, struct fieldset set);
/* What of the set is in the value: the intersection with typed_named() of typed_set(). */
int typed_held(struct arena *a, const struct schema *s, const struct json *v,
               struct fieldset set, struct fieldset *out, struct err *err);
/* A set that was recorded under an older schema, made to fit this one: below what is atomic now
 * nothing is owned alone. True where that changes it. */
bool typed_reconcile(struct arena *a, const struct schema *s, struct fieldset set,
                     struct fieldset *out);
