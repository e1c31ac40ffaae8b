/* conform.h - a tree as its kind lets it be
 *
 * What a decoder of the kind would have kept: unknown fields are reported and dropped, types
 * are checked, empty values are dropped or written as the kind's wire form asks, quantities and
 * times take their canonical spelling, members come in the order of the kind's fields.
 */
#pragma once

#include "json/json.h"

struct kind;
struct schema;

#define CONFORM_MAX_FINDINGS 100 /* upstream's cap on strict errors */
#define CONFORM_MAX_DEPTH 100    /* of structs inside structs */

/* What strict field validation would refuse, in the text's order, each once: the paths of
 * unknown fields. */
struct schema_unknown {
    struct arena *arena;
    VEC(struct str) paths;
};

/* Native kinds. NULL with ERR_SYNTAX: `json: cannot unmarshal string into Go struct field
 * JobSpec.spec.parallelism of type int32`. `unknown` may be NULL. What did not change is shared
 * with v, and may be v itself: it lives as long as the result. *err is zero before. `known` is
 * a tree that went through this before, such as the one v follows, or NULL: what v shares with
 * it at the same place is not looked at. */
const struct json *schema_conform(struct arena *a, const struct schema *s, const struct json *v,
                                  const struct json *known, struct schema_unknown *unknown,
                                  struct err *err);
/* Custom kinds: drops what the schema does not declare and keeps the rest as it is; metadata is
 * conformed. Wrong types stay: validation names them. */
const struct json *schema_prune(struct arena *a, const struct schema *s, const struct json *v,
                                const struct json *known, struct schema_unknown *unknown,
                                struct err *err);
/* The one that the kind's style asks for. */
const struct json *kind_conform(struct arena *a, const struct kind *k, const struct json *v,
                                const struct json *known, struct schema_unknown *unknown,
                                struct err *err);
