/* write_options.h - how to create, update, patch or delete: what goes with the URL */
#pragma once

#include "api/graceful_delete.h"
#include "value/value.h"

struct create_options { /* also of update */
    struct str_list dry_run;
    struct str field_manager, field_validation;
};
struct patch_options {
    bool is_apply;
    bool has_force, force;
    struct str_list dry_run;
    struct str field_manager, field_validation;
};
struct delete_options {
    struct delete_request grace;
    bool has_orphan, orphan;       /* orphanDependents */
    struct str propagation_policy; /* "" where absent */
    struct str_list dry_run;
    struct str want_uid, want_version; /* preconditions */
};

/* From a URL's query. ERR_SYNTAX (a 400) where a number cannot be read. `is_apply` is the
 * caller's: it is the body's type. */
struct create_options create_options_of(struct arena *a, const struct str_map *query);
struct patch_options patch_options_of(struct arena *a, const struct str_map *query,
                                      bool is_apply);
int delete_options_of(struct arena *a, const struct str_map *query, struct delete_options *out,
                      struct err *err);
/* From a DeleteOptions body. ERR_SYNTAX where a member has the wrong type. */
int delete_options_of_json(struct arena *a, const struct json *body, struct delete_options *out,
                           struct err *err);

/* What is wrong with them, as the 422 of kind CreateOptions, PatchOptions ... shows it. */
void create_options_check(struct field_errors *e, struct create_options o);
void patch_options_check(struct field_errors *e, struct patch_options o);
void delete_options_check(struct field_errors *e, const struct delete_options *o);

/* dryRun=All. */
static inline bool is_dry_run(const struct str_list *dry_run)
{
    return str_list_has(dry_run, S("All"));
}
