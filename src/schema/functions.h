/* functions.h - what a table names and api/ does: defaults and rules that need more than one
 * field
 *
 * kindc writes the names that stand in kinds/ as these functions into the tables; one that
 * nobody wrote does not compile.
 */
#pragma once

#include "value/field_error.h"
#include "json/json.h"

struct kind;
struct schema_values;

/* What a rule is asked about. */
struct schema_at {
    struct field_errors *errors;
    const struct field_path *path; /* of v; NULL at the root */
    const struct json *v;
    const struct schema_values *values; /* of v by its fields; NULL where it is no object, or
                                           the whole one */
    const struct json *old;             /* what it replaces, or NULL */
    const struct json *known; /* that, where it was judged by these rules: what v shares with it
                                 at the same place need not be judged again; or NULL */
    const struct json *root, *old_root; /* the whole object, and what that replaces or NULL */
    const struct kind *kind; /* of the whole object; NULL where a schema stands alone */
};
typedef void schema_check_fn(const struct schema_at *at);
/* Fills in what depends on other fields; it sees what was given, before the lines' defaults. */
typedef const struct json *schema_defaults_fn(struct arena *a, const struct json *v);
