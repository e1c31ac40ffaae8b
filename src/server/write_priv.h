/* write_priv.h - the steps of a write, file by file */
#pragma once

#include "server/server_priv.h"

#define CONFLICT_WHY                                                                           \
    "the object has been modified; please apply your changes to the latest version and try "   \
    "again"

/* A tree on its way to the store. */
struct write {
    struct request *r;
    struct arena *arena;      /* until it is in the store: warnings are in the request's */
    const struct kind *kind;  /* of the tree */
    const struct json *tree;  /* what is to be */
    const struct json *old;   /* what it replaces, as `kind`; NULL on create */
    const struct json *known; /* `old`, where this server's own rules let it pass; or NULL */
    const struct json
        *has_defaults; /* a tree that needs none: `known`, then what the tree was */
    struct str subresource;
    struct str name;
    struct field_errors errors;
    /* Of a creation: others like it (alike.c). */
    struct alike *alike; /* NULL: none is sought */
    const struct json
        *made; /* parts that conforming leaves as they are; those that were judged, too; */
    const struct json *judged;            /*   NULL: none are known */
    const struct json *asked, *conformed; /* it as it was sent, and with its defaults */
    bool is_alike;                        /* all of its spec was known */
    bool has_findings;                    /* its writer is told of it */
};

/* Completes a tree and puts it: `body` is the whole object as its writer wants it, `old` (with
 * r->current) what it replaces. Answers and ends the request. */
void write_tree(struct request *r, const struct json *body, const struct json *old);
/* The object of a tree of the request's kind, as it will be stored. */
struct object *object_at_rest(struct request *r, const struct json *tree);
/* Did this program let r->current pass? What is shared with it then needs no second look. Rules
 * change with the program, so what an earlier one stored is looked at whole when it is first
 * written. */
bool is_by_these_rules(const struct request *r);
/* Another writer was first: starts the verb again, where the request allows that. */
bool write_again(struct request *r);
int fail_put(struct request *r, const struct err *err);

/* metadata.NAME, or NULL. */
const struct json *meta_get(const struct json *tree, struct str name);
const struct json *meta_set(struct arena *a, const struct json *tree, struct str name,
                            struct json v);
const struct json *without_version(struct arena *a, const struct json *tree);

/* Steps: 0, or -1 after the failure was answered. */
void meta_validate(struct write *w); /* meta.c */
int alike_find(struct write *w);     /* alike.c: puts what is known in for what was asked */
/* Of a write that was let pass: for the next ones. */
void alike_keep(struct write *w);
void alike_free(struct server *s);
int rules_prepare(struct write *w);  /* rules.c: what a kind's table cannot say */
int admit_mutating(struct write *w); /* admit.c */
int admit_validating(struct write *w);
/* Is each name of the list a plugin's? -1 with ERR_INVALID, which says which there are. */
int admit_check_names(struct str names, struct err *err);
int managed_fields(struct write *w); /* managed.c */

/* audit.c: one line for a write that was answered; code 0: refused. */
void audit_write(struct request *r, int code, const struct object *o);

/* update.c: the newest version into r->current; false where there is none. */
bool load_current(struct request *r);
/* r->current as the asked kind. */
const struct json *current_tree(struct request *r);
/* uid and resourceVersion of a body against r->current. */
int check_preconditions(struct request *r, const struct json *body);

/* get.c: 0, or -1 after the failure was answered: a resourceVersion that cannot be read or is
 * still to come. */
int check_not_older(struct request *r);

/* patch.c: JSON, merge or strategic patch of any tree. NULL with err. */
const struct json *patch_tree(struct request *r, const struct json *old, struct err *err);
/* sub.c */
const struct json *with_scheduled(struct request *r, const struct json *pod);
const struct json *with_disruption(struct request *r, const struct json *pod);
/* managed.c: NULL with err where the patch does not apply. */
const struct json *patch_strategic(struct request *r, const struct json *old, struct err *err);
/* managed.c: server-side apply. */
void verb_apply(struct request *r);
