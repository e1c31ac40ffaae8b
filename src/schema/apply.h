/* apply.h - server-side apply on whole objects: metadata.managedFields for every write
 *
 * A server calls one of two functions for each write: apply_update() for all that is no apply
 * (create, update, the other patches), apply_config() for an apply. Both are pure: the time is
 * an argument. The trees keep their order and share what they can.
 */
#pragma once

#include "schema/managers.h"
#include "schema/sets.h"
#include "schema/shapes.h"
#include "schema/steps.h"

#define APPLY_MAX_UPDATERS 10  /* entries of updates; older ones are merged */
#define APPLY_MAX_ENTRIES 1000 /* of one object's managedFields that are read */

struct kind;

/* Other versions of a kind, for objects whose fields are owned in several. All may be NULL:
 * then only the kind itself is known, and entries of others are dropped. */
struct apply_versions {
    void *ctx;
    /* The kind at another apiVersion, NULL where there is none. */
    const struct kind *(*kind)(void *ctx, const struct kind *of, struct str api_version);
    /* A whole object at another version; NULL on an error. */
    const struct json *(*convert)(void *ctx, struct arena *a, const struct json *v,
                                  const struct kind *from, const struct kind *to,
                                  struct err *err);
};

struct apply_write {
    const struct kind *kind; /* of the request; live and next are at its version */
    const struct apply_versions *versions; /* or NULL */
    struct str manager;                    /* fieldManager, or what stands for it */
    struct str subresource;                /* "" for the object itself */
    struct instant now;
    struct shapes *shapes; /* what was written before, or NULL: all is found out each time */
    struct sets *sets;     /* what was read before; NULL without `shapes` */
    struct steps *steps;   /* what followed before; likewise */
    bool force;            /* apply only */
    bool is_known;         /* live was stored by these functions under these very tables */
};

/* `next` (as it will be stored, apart from this) with the managedFields that follow: what
 * differs from `live` (NULL: it is created) belongs to w->manager now. The request's own
 * managedFields stand in `next`; where they cannot be read, or at a subresource, live's count,
 * and an empty list forgets all. An object without managers that is updated keeps none. Never
 * fails: fields that cannot be compared change no owner. */
const struct json *apply_update(struct arena *a, const struct apply_write *w,
                                const struct json *live, const struct json *next);

struct apply_cause {
    struct str message; /* conflict with "kubectl-edit" using batch/v1 */
    struct str field;   /* .spec.parallelism */
};

struct apply_conflicts {
    struct str message; /* the whole sentence */
    VEC(struct apply_cause) causes;
};

/* The object after an apply of `config`, not defaulted; `live` may be NULL. The very node
 * `live` where nothing changes at all (then nothing is to be written). NULL: ERR_CONFLICT with
 * `conflicts` filled; ERR_SYNTAX where config holds managedFields; ERR_INVALID where it does
 * not fit the schema. */
const struct json *apply_config(struct arena *a, const struct apply_write *w,
                                const struct json *live, const struct json *config,
                                struct apply_conflicts *conflicts, struct err *err);
