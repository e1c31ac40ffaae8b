/* functions.h - what a table names and api/ does: defaults and rules that need more than one
 * field
 *
 * The engine is handed the list; it knows none of them itself.
 */
#pragma once

#include "value/field_error.h"
#include "json/json.h"

struct kind;

/* What a rule is asked about. */
struct schema_at {
    struct field_errors *errors;
    const struct field_path *path; /* of v; NULL at the root */
    const struct json *v;
    const struct json *old;             /* what it replaces, or NULL */
    const struct json *root, *old_root; /* the whole object, and what that replaces or NULL */
    const struct kind *kind; /* of the whole object; NULL where a schema stands alone */
};
typedef void schema_check_fn(const struct schema_at *at);
/* Fills in what depends on other fields; it sees what was given, before the lines' defaults. */
typedef const struct json *schema_defaults_fn(struct arena *a, const struct json *v);

struct schema_check {
    struct str name;
    schema_check_fn *fn;
};
struct schema_defaults {
    struct str name;
    schema_defaults_fn *fn;
};
struct schema_functions {
    const struct schema_check *checks;
    size_t n_checks;
    const struct schema_defaults *defaults;
    size_t n_defaults;
};

/* NULL where the list has none of that name. */
schema_check_fn *schema_check_find(const struct schema_functions *f, struct str name);
schema_defaults_fn *schema_defaults_find(const struct schema_functions *f, struct str name);
