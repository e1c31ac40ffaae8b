/* convert.h - one kind's versions: the same object as another version says it
 *
 * Most versions differ by their apiVersion alone. The others name a pair of functions in
 * kinds/ (`convert NAME`); what only one version can say is lost on the way to the other.
 */
#pragma once

#include "json/json.h"

struct kind;

/* A whole object of kind `from` as `to`; both are stored as the same kind. Shares what it can
 * with v. What cannot be converted is left as it is, for validation to find. */
const struct json *api_convert(struct arena *a, const struct json *v, const struct kind *from,
                               const struct kind *to);
