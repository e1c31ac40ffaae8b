/* embedded.h - whole objects inside custom resources: their apiVersion, kind and metadata
 *
 * Source: API server reference 12.2.
 */
#pragma once

#include "value/field_error.h"

struct schema;

/* Checks every embedded resource below v (not v itself). `s` may be NULL. */
void embedded_check(struct field_errors *e, const struct schema *s,
                    const struct field_path *path, const struct json *v);
/* Checks one. */
void embedded_check_one(struct field_errors *e, const struct field_path *path,
                        const struct json *v);
