/* default.h - filling in what was not said
 *
 * Defaults of the table only: what depends on other fields is a function of api/.
 */
#pragma once

#include "json/json.h"

struct schema;

/* v with every default that its schema declares: in objects that are there (an absent object
 * gets nothing, unless it has a default itself). Where nothing is missing, v itself. */
const struct json *schema_default(struct arena *a, const struct schema *s,
                                  const struct json *v);
