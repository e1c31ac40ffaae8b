/* structural.h - what a custom resource goes through: pruning, nulls, metadata, list types
 *
 * Source: API server reference 12.2 (processing order). Built-in kinds of style custom and
 * compiled schemas alike; `s` may be NULL where there is no schema at all.
 */
#pragma once

#include "value/field_error.h"
#include "json/json.h"

struct schema;

/* Paths that were dropped, `a.b[0].c`. */
struct structural_paths {
    struct arena *arena;
    VEC(struct str) list;
};

/* Drops what the schema does not declare. `is_resource`: v is a whole object, whose apiVersion,
 * kind and metadata stay. `dropped` may be NULL. */
const struct json *structural_prune(struct arena *a, const struct schema *s,
                                    const struct json *v, bool is_resource,
                                    struct structural_paths *dropped);
/* Drops nulls where null is not allowed and there is no default. */
const struct json *structural_prune_nulls(struct arena *a, const struct schema *s,
                                          const struct json *v);

/* Brings metadata of embedded objects (and of the root with `is_resource`) into the form of
 * ObjectMeta (`meta`: its schema). NULL with one error below `at` where it does not decode,
 * unless `drop_invalid`; unknown fields are dropped and told (`unknown` may be NULL). */
const struct json *structural_coerce(struct arena *a, const struct schema *s,
                                     const struct schema *meta, const struct json *v,
                                     bool is_resource, bool drop_invalid,
                                     struct structural_paths *unknown,
                                     const struct field_path *at, struct field_errors *e);

/* Lists of type set and map hold nothing twice. */
void structural_check_lists(struct field_errors *e, const struct schema *s,
                            const struct field_path *path, const struct json *v);

/* Does the path (`.a['b.c'].d`) name a declared field? `dotted_only`: without brackets. The
 * field's schema in *out (may be NULL). */
bool structural_has_path(struct arena *a, const struct schema *s, struct str path,
                         bool dotted_only, const struct schema **out);
