/* default.h - filling in what was not said
 *
 * First the functions that a table names (they see what was given), then the lines' defaults.
 */
#pragma once

#include "json/json.h"

struct kind;
struct schema;

#define DEFAULT_MAX_ADDED 4000000 /* members and items given a default in one object */

/* v with every default that its schema declares: in objects that are there (an absent object
 * gets nothing, unless it has a default itself). Where nothing is missing, v itself. In native
 * kinds an empty value of a field that is no pointer counts as absent. `known` is a tree that
 * has its defaults, such as the one v follows, or NULL: what v shares with it at the same place
 * is not looked at. NULL past DEFAULT_MAX_ADDED: a few bytes of a list may ask for many. */
const struct json *schema_default(struct arena *a, const struct schema *s, const struct json *v,
                                  const struct json *known, bool is_native);
const struct json *kind_default(struct arena *a, const struct kind *k, const struct json *v,
                                const struct json *known);
