/* openapi.h - types and kinds as OpenAPI 3.0 documents
 *
 * Enough for kubectl to explain, validate and patch: every struct type once under
 * components.schemas, and for each kind a patch operation with its parameters and body types.
 * Source: api-server reference 3.3.
 */
#pragma once

#include "json/json.h"

struct kind;
struct schema;

/* The document of one group and version. In the arena. */
const struct json *openapi_document(struct arena *a, const struct kind *const *kinds, size_t n,
                                    struct str title);
/* One type without what it refers to; struct types appear as $ref. */
struct json openapi_schema(struct arena *a, const struct schema *s);
/* Its name under components.schemas: io.k8s.api.batch.v1.JobSpec. */
struct str openapi_name(struct arena *a, const struct schema *s);
