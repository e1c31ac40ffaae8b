/* compile.h - OpenAPI v3 schemas of custom resources, as tables
 *
 * The same struct schema that kindc writes; everything lives in the arena but compiled
 * patterns, which schema_compiled_free() gives back. What a table cannot hold (that a schema is
 * not structural) is checked on the text (structural.h).
 */
#pragma once

#include "json/json.h"

struct schema;

#define COMPILE_MAX_DEPTH 100
#define COMPILE_MAX_NODES 50000 /* schemas inside schemas, all together */
#define COMPILE_MAX_KEYS 64     /* of one list of type map */

/* `openapi` NULL or null: a schema that says nothing, but keeps nothing either. NULL with
 * ERR_LIMIT. */
const struct schema *schema_compile(struct arena *a, const struct json *openapi,
                                    struct err *err);
/* Frees compiled patterns below s. Accepts NULL. */
void schema_compiled_free(const struct schema *s);
