/* metadata.h - what every object's metadata must hold, and what the server makes of it
 *
 * Trees in, errors or trees out. `at` is the path of the metadata, usually `metadata`.
 */
#pragma once

#include "value/value.h"

#define METADATA_ANNOTATIONS_MAX 262144 /* bytes of all keys and values */
#define METADATA_GENERATED_BASE_MAX 58  /* bytes of generateName that are used */
#define METADATA_GENERATE_TRIES 8       /* fresh suffixes before 409 */

/* How a kind may be called. */
struct metadata_rule {
    bool is_namespaced;
    enum name_rule name;      /* mostly NAME_DNS_SUBDOMAIN */
    const struct json *known; /* another object's; what is shared with it was judged; or NULL */
};

/* On create; the object has its final name and namespace. */
void metadata_check_create(struct field_errors *e, const struct field_path *at,
                           const struct json *meta, struct metadata_rule rule);
/* On update: `meta` follows `old`. */
void metadata_check_update(struct field_errors *e, const struct field_path *at,
                           const struct json *meta, const struct json *old);
/* The same where the version that `meta` follows is known otherwise, and not asked for.
 * `is_known`: what is shared with the old was judged by these rules. */
void metadata_check_write(struct field_errors *e, const struct field_path *at,
                          const struct json *meta, const struct json *old, bool is_known);

/* Parts of the above, on a path of their own. */
void annotations_check(struct field_errors *e, const struct field_path *at,
                       const struct json *annotations);
void owner_references_check(struct field_errors *e, const struct field_path *at,
                            const struct json *refs);
void managed_fields_check(struct field_errors *e, const struct field_path *at,
                          const struct json *list);
void field_manager_check(struct field_errors *e, const struct field_path *at, struct str name);
/* metav1.Condition, as objects of the API carry them. What is shared with `known`, which may be
 * NULL, was judged before. */
void conditions_check(struct field_errors *e, const struct field_path *at,
                      const struct json *list, const struct json *known);

/* A name from generateName and five random characters; `random` is 32 bits of chance. */
struct str metadata_generate_name(struct arena *a, struct str generate_name, uint32_t random);
/* A version 4 UUID as text from 16 random bytes. */
struct str metadata_uid(struct arena *a, const uint8_t random[16]);

/* Metadata with what the server writes itself: of a new object, which has a generation or none;
 * and of one that follows `old`, whose uid a patch has to say rightly itself. */
struct json metadata_of_new(struct arena *a, const struct json *meta, struct str uid,
                            struct str created, bool has_generation);
struct json metadata_following(struct arena *a, const struct json *meta, const struct json *old,
                               bool is_patch);

/* `refs` without exact repetitions, the first of each kept; the same tree where there is none.
 * *duplicate (may be NULL) is a uid that stood there twice, for the warning. */
const struct json *owner_references_dedup(struct arena *a, const struct json *refs,
                                          struct str *duplicate);

/* The namespace that a sent object gets: the request's where it names none, none for a
 * cluster-scoped request. ERR_SYNTAX (a 400) where they differ. */
int metadata_match_namespace(struct str request_ns, struct str object_ns, struct str *out,
                             struct err *err);

/* The preconditions of a delete or update: "" asks nothing. ERR_CONFLICT with the sentence that
 * stands behind `Operation cannot be fulfilled on ...: `. */
int metadata_check_preconditions(struct str want_uid, struct str want_version, struct str uid,
                                 struct str version, struct err *err);
