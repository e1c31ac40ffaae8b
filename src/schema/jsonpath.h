/* jsonpath.h - the part of JSONPath that columns and `wait` use
 *
 * `.a.b`, `['a.b']`, `[0]`, `[-1]`, `[*]` and one filter, `[?(@.type=='Ready')]`; an outer pair
 * of braces and a leading `$` are allowed. Escaped dots (`a\.b`) belong to the name.
 */
#pragma once

#include "json/json.h"

#define JSONPATH_MAX 512 /* bytes */

/* The first value that the path finds, or NULL. A path that cannot be read finds nothing. */
const struct json *jsonpath_first(struct arena *a, const struct json *v, struct str path);
/* Can the path be read? -1 with ERR_SYNTAX. */
int jsonpath_check(struct str path, struct err *err);
