/* managers.h - who owns which fields of one object, and how that changes
 *
 * Pure: the state is a list of managers, each with the set it owns at one version of the kind.
 * How those are kept in metadata.managedFields is apply.h's.
 */
#pragma once

#include "schema/typed.h"

struct manager {
    struct str id;      /* equal: the same manager */
    struct str version; /* at which `set` names fields */
    bool is_apply;
    bool is_apart;       /* its set was not read: the write touches nothing of it */
    uint32_t tag;        /* the caller's; kept */
    struct fieldset set; /* never empty, but where it is apart */
};

struct managers {
    VEC(struct manager) list; /* in an arena */
};

/* How one kind looks in its versions. The functions are pure; `ctx` is theirs. */
struct versions {
    void *ctx;
    /* NULL: the version is not known (any more). */
    const struct schema *(*schema)(void *ctx, struct str version);
    /* `v` at another known version, NULL on an error. Not called for equal versions. */
    const struct json *(*convert)(void *ctx, struct arena *a, const struct json *v,
                                  struct str from, struct str to, struct err *err);
    /* Fields at the version that nobody owns where the write comes in. May be NULL. */
    struct fieldset (*ignored)(void *ctx, struct str version);
};

/* Fields that a write without force would take from another manager. */
struct conflict {
    struct str id;
    struct fieldset set;
};

struct conflicts {
    VEC(struct conflict) list; /* in the order of the managers */
};

struct managers_write {
    const struct versions *versions;
    struct str id;           /* of the writer */
    struct str version;      /* of live and of what is written */
    const struct json *live; /* {} where there is none */
    bool force;              /* apply only */
    bool fits;               /* the managers' sets were recorded under these schemas */
    struct fieldset applied; /* what the config of an apply owns; empty: it is found out */
    /* What managers_changes() told, or NULL: it is found out. */
    const struct typed_changes *changed;
};

/* What a typed_difference() at w->version comes to, without what is ignored. */
struct typed_changes managers_changes(struct arena *a, const struct managers_write *w,
                                      struct str difference);

/* Records a write that is no apply: `next` as it will be stored. What it changes is the
 * writer's, and nobody else's any more. 0; -1: managers as before. */
int managers_update(struct arena *a, const struct managers_write *w, const struct json *next,
                    struct managers *managers, struct err *err);

/* The object after an apply of `config`; the live node itself where nothing changes, null (the
 * JSON value) where nothing is left of it. NULL:
 * managers as before; ERR_CONFLICT with `conflicts` filled where it is not forced. */
const struct json *managers_apply(struct arena *a, const struct managers_write *w,
                                  const struct json *config, struct managers *managers,
                                  struct conflicts *conflicts, struct err *err);

/* The entry of that id, or NULL. */
struct manager *managers_find(struct managers *m, struct str id);
