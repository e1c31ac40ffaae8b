/* judge.h - a value against an OpenAPI schema, as upstream's validator judges it
 *
 * Collects every error, and counts what was right: of several branches that fail, the errors of
 * the one with the most right are told. Source: API server reference 12.2.
 */
#pragma once

#include "value/field_error.h"
#include "json/json.h"

struct schema;

#define JUDGE_MAX_DEPTH 200
#define JUDGE_MAX_WORK                                                                         \
    10000000 /* nodes looked at, of all branches, and what their rules compare */

/* Adds the errors of v below `path` (NULL: it is the root). Two equal errors count once. False,
 * with an error that says so, where it would take more than JUDGE_MAX_WORK: branches of a
 * schema multiply with the items of a list. */
bool judge(struct field_errors *e, const struct schema *s, const struct field_path *path,
           const struct json *v);
/* The same for a default in the schema itself, where upstream asks no type of a node that is
 * only said to be an integer or a string. */
bool judge_default(struct field_errors *e, const struct schema *s,
                   const struct field_path *path, const struct json *v);
