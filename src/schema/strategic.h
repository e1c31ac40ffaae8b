/* strategic.h - strategic merge patch
 *
 * A merge patch that knows the schema: lists with a merge key are merged item by item, and
 * directives (`$patch`, `$retainKeys`, `$setElementOrder/LIST`,
 * `$deleteFromPrimitiveList/LIST`) say what a merge alone cannot. A server applies; making
 * patches is a client's work. Results share what they can with their inputs.
 */
#pragma once

#include "schema/table.h"

#define STRATEGIC_MAX_WORK 50000000 /* elements compared in all */

/* The object after the patch; `live` may be NULL. NULL: ERR_SYNTAX where one of them is no
 * object, ERR_INVALID where the patch breaks a rule, ERR_LIMIT past the work. */
const struct json *schema_strategic_apply(struct arena *a, const struct schema *s,
                                          const struct json *live, const struct json *patch,
                                          struct err *err);

/* The patch that makes `to` of `from`; either may be NULL. NULL: the same errors. */
const struct json *schema_strategic_diff(struct arena *a, const struct schema *s,
                                         const struct json *from, const struct json *to,
                                         struct err *err);

/* The patch that carries the change original -> modified over to current, as a client's apply
 * computes it. Any may be NULL. NULL: the same errors, and ERR_CONFLICT where current was
 * changed by someone else in a place that the patch changes too, unless `overwrite`. */
const struct json *schema_strategic_three_way(struct arena *a, const struct schema *s,
                                              const struct json *original,
                                              const struct json *modified,
                                              const struct json *current, bool overwrite,
                                              struct err *err);
