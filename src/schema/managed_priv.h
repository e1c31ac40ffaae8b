/* managed_priv.h - metadata.managedFields as managers with names and times */
#pragma once

#include "schema/apply.h"

#define MANAGED_APPLY "Apply"
#define MANAGED_UPDATE "Update"

/* What stands in an entry beside the set, by the manager's id. */
struct managed_entry {
    struct str id;
    struct str manager, subresource, version;
    struct str time;           /* as written, "" for none */
    struct fieldset set;       /* as it was read */
    const struct json *raw;    /* NULL for new ones */
    const struct json *before; /* its FieldsV1, or NULL */
    const struct json *after;  /* FieldsV1 that it gets, or NULL: the same, or not known */
    bool is_apply;
};

struct managed {
    VEC(struct managed_entry) entries;
    struct sets *sets; /* what was read before, or NULL */
};

/* An id: equal for entries that are one. An apply is one whatever its version. */
struct str managed_id(struct arena *a, struct str manager, bool is_apply,
                      struct str subresource, struct str version);
struct managed_entry *managed_find(struct managed *m, struct str id);
/* The entry of that id, made where it is missing. */
struct managed_entry *managed_put(struct arena *a, struct managed *m, struct managed_entry e);

/* What a write touches, of a list that was stored: the sets of others are not read. */
struct managed_touch {
    struct fieldset touched;
    struct str version; /* at which `touched` names fields */
    struct str own;     /* the writer's id */
};
bool managed_is_apart(const struct managed_touch *touch, const struct managed_entry *e);

/* All entries of a list without their sets. -1: ERR_SYNTAX, or two are one. */
int managed_heads(struct arena *a, const struct json *list, struct managed *m, struct err *err);

/* Reads a list of entries (may be NULL) into `m`, whose `sets` stay; `touch` may be NULL. -1:
 * ERR_SYNTAX. */
int managed_read(struct arena *a, const struct json *list, const struct managed_touch *touch,
                 struct managed *m, struct managers *managers, struct err *err);
/* The entries of `managers`, sorted; an empty list where there are none. Unchanged ones are
 * those that were read; of the others `after` is what is written. */
struct json managed_write(struct arena *a, struct managed *m, const struct managers *managers);
/* An entry as it is written, with its set as FieldsV1. */
struct json managed_entry_json(struct arena *a, const struct managed_entry *e,
                               struct json fields);
/* Past APPLY_MAX_UPDATERS entries of updates the oldest are merged, version by version. */
void managed_cap(struct arena *a, struct managed *m, struct managers *managers);
/* For a conflict: "kubectl-edit" with subresource "status" using batch/v1 */
struct str managed_words(struct arena *a, const struct managed_entry *e);
