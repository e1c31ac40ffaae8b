/* crd_check_priv.h - the parts of what is checked of a CustomResourceDefinition
 *
 * Source: API server reference 12.2.
 */
#pragma once

#include "value/field_error.h"
#include "json/json.h"

struct schema;

/* Which rules hold. On update one is dropped where the stored definition breaks it already. */
struct crd_rules {
    bool needs_schema;
    bool structural;
    bool known_types;
    bool pruned_defaults;
    bool atomic_sets;
    bool given_keys;     /* keys of lists are required or have defaults; nothing is nullable */
    bool known_review;   /* of a webhook: a version of the question that the server speaks */
    bool few_selectable; /* at most CRD_MAX_SELECTABLE */
};

#define CRD_MAX_SELECTABLE 8

/* `stored` is status.storedVersions, `versions` is spec.versions. */
void crd_stored_versions_check(struct field_errors *e, const struct field_path *at,
                               const struct json *stored, const struct json *versions);

/* ---- crd_schema_check.c ---- */

/* What is wrong with one OpenAPI schema; `at` is its path. */
void crd_schema_check(struct field_errors *e, const struct field_path *at,
                      const struct json *schema, bool has_status,
                      const struct crd_rules *rules);

/* Takes from `rules` those that the schema (may be NULL) breaks. */
void crd_rules_drop(struct crd_rules *rules, const struct json *schema);

/* Does the schema or one inside it say `default`; or one of the extensions that need it to be
 * structural? */
bool crd_schema_has_default(const struct json *schema);
bool crd_schema_has_extension(const struct json *schema);

/* ---- crd_structural_check.c ---- */

/* Is the schema structural? `at` is its path. */
void crd_structural_check(struct field_errors *e, const struct field_path *at,
                          const struct json *schema);
/* A keyword somewhere in it that no structural schema can hold, or NULL. */
const char *crd_unstructural_word(const struct json *schema);

/* ---- crd_default_check.c ---- */

/* The defaults of a structural schema; `s` is the same, compiled. */
void crd_default_check(struct field_errors *e, const struct field_path *at,
                       const struct schema *s, bool must_be_pruned);

/* ---- schemas inside schemas (crd_schema_check.c) ---- */

/* `word` is the keyword that holds the child, `name` its name in there or "". */
typedef void crd_child_fn(void *ctx, const struct field_path *p, struct str word,
                          struct str name, const struct json *child);
void crd_each_child(const struct json *schema, const struct field_path *at, crd_child_fn *fn,
                    void *ctx);

/* Neither absent, null, "", false, [] nor {}. */
bool crd_is_said(const struct json *v);
static inline bool crd_says(const struct json *schema, const char *word)
{
    return crd_is_said(json_get(schema, str_from(word)));
}

/* Is it one of apiVersion, kind, metadata? */
bool crd_is_meta_name(struct str name);
