/* validate.h - everything that is wrong with a tree, by its schema
 *
 * What a line of a .kind file or an OpenAPI schema says: types, required and fixed fields,
 * limits, patterns, formats, enums, uniqueness of list keys. Rules that need more are functions
 * of api/.
 */
#pragma once

#include "value/field_error.h"
#include "json/json.h"

struct kind;
struct schema;

#define VALIDATE_MAX_DEPTH 200

/* Adds every broken field of v. `old` is what it replaces (FIELD_FIXED is judged against it),
 * or NULL on create; what v shares with it at the same place was judged when it was stored and
 * is not judged again. `root` is the path of v, or NULL. The style decides the words. */
void schema_validate(struct field_errors *e, const struct schema *s, int style,
                     const struct field_path *root, const struct json *v,
                     const struct json *old);
void kind_validate(struct field_errors *e, const struct kind *k, const struct json *v,
                   const struct json *old);
/* The same where it is not known by which rules `old` was judged, and v is judged whole; but a
 * custom kind's schema lets pass what was not changed, whatever it is. */
void kind_validate_whole(struct field_errors *e, const struct kind *k, const struct json *v,
                         const struct json *old);
/* On create: what v shares at the same place with `like`, which was let pass by the same table,
 * or NULL, needs no second look. Functions that the table names are told of nothing old. */
void kind_validate_new(struct field_errors *e, const struct kind *k, const struct json *v,
                       const struct json *like);
/* Only the rules of the function that the kind names, if any; `known` is old or NULL. */
void kind_check(struct field_errors *e, const struct kind *k, const struct json *v,
                const struct json *old, const struct json *known);
