/* client.h - one way to talk to an API server: get, list, watch, write
 *
 * A struct client is an interface with two implementations: over HTTP (client_http_new(), for
 * commands, nodes elsewhere and `berth controller`) and in process (made by server/). Both meet
 * the same admission, validation and conflict rules. Every call starts something and returns;
 * its answer is a later turn of the loop.
 */
#pragma once

#include "base/base.h"
#include "json/json.h"

struct client;
struct kind;
struct object;

/* What a call is about. Strs are copied by the call. */
struct client_target {
    const struct kind *kind;
    struct str ns;          /* "" for cluster-scoped, and for lists over all namespaces */
    struct str name;        /* "" for list, watch and create with generateName */
    struct str subresource; /* "", "status", "scale", "eviction", "log" ... */
    bool is_lent; /* the body, and all that it is made of, stays until the answer, or until the
                     client is freed: it need not be copied */
};

struct client_answer {
    int code;              /* HTTP status; 0: no answer came (err says why) */
    struct object *object; /* the object as it is now; NULL for failures, Status answers, lists;
                              borrowed for the call: object_ref() to keep */
    const struct json *status; /* the metav1.Status of a failure, or NULL; borrowed */
    const struct err *err; /* NULL on success; ERR_CONFLICT, ERR_NOT_FOUND, ERR_EXISTS ... */
};
typedef void client_done_fn(void *ctx, const struct client_answer *answer);

void client_get(struct client *c, const struct client_target *t, client_done_fn *done,
                void *ctx);
/* `body` is the whole object (apiVersion and kind are filled in where missing). */
void client_create(struct client *c, const struct client_target *t, const struct json *body,
                   client_done_fn *done, void *ctx);
/* Replaces; metadata.resourceVersion in the body makes it strict. */
void client_update(struct client *c, const struct client_target *t, const struct json *body,
                   client_done_fn *done, void *ctx);

enum client_patch {
    CLIENT_PATCH_JSON,
    CLIENT_PATCH_MERGE,
    CLIENT_PATCH_STRATEGIC,
    CLIENT_APPLY
};
struct client_patch_options {
    struct str manager; /* required for CLIENT_APPLY; "" else: the client's own name */
    bool force;         /* CLIENT_APPLY only */
    bool dry_run;
};
/* `options` may be NULL but for CLIENT_APPLY, whose manager must be named. */
void client_patch(struct client *c, const struct client_target *t, enum client_patch type,
                  const struct json *body, const struct client_patch_options *options,
                  client_done_fn *done, void *ctx);

struct client_delete_options {
    struct str propagation;      /* "", "Background", "Foreground", "Orphan" */
    struct str uid;              /* precondition, "" none */
    struct str resource_version; /* precondition, "" none */
    int64_t grace_s;             /* -1: the object's own */
};
/* `options` may be NULL: the object's own ways. */
void client_delete(struct client *c, const struct client_target *t,
                   const struct client_delete_options *options, client_done_fn *done,
                   void *ctx);

/* ---- lists and watches ---- */

struct client_select {
    struct str labels; /* selector texts; "" selects all */
    struct str fields;
};

struct client_list_answer {
    struct object *const *items; /* borrowed for the call */
    size_t n_items;
    uint64_t revision; /* to watch from */
    const struct err *err;
};
typedef void client_list_fn(void *ctx, const struct client_list_answer *answer);
/* `sel` may be NULL, here and below. The whole list, in key order (pages are asked for and put
 * together underneath). */
void client_list(struct client *c, const struct client_target *t,
                 const struct client_select *sel, client_list_fn *done, void *ctx);

enum watch_event_type {
    WATCH_ADDED,
    WATCH_MODIFIED,
    WATCH_DELETED,
    WATCH_BOOKMARK,
    WATCH_ERROR
};
struct watch_event {
    enum watch_event_type type;
    struct object *object; /* ADDED, MODIFIED, DELETED (its last version); borrowed */
    uint64_t revision;
    const struct err *err; /* WATCH_ERROR: ERR_GONE asks for a new list; no event follows */
};
typedef void client_watch_fn(void *ctx, const struct watch_event *e);
struct client_watch;
/* Events after `revision`, in order, until client_watch_stop() or WATCH_ERROR. */
struct client_watch *client_watch(struct client *c, const struct client_target *t,
                                  const struct client_select *sel, uint64_t revision,
                                  client_watch_fn *event, void *ctx);
/* No event follows. Accepts NULL. */
void client_watch_stop(struct client_watch *w);

/* Requests of clients elsewhere to the server that this client is part of. */
struct client_load {
    size_t under_way;
    uint64_t so_far;
};
struct client_load client_load(struct client *c);

/* ---- the interface that an implementation fills in ---- */

struct client_ops {
    void (*get)(struct client *, const struct client_target *, client_done_fn *, void *);
    void (*create)(struct client *, const struct client_target *, const struct json *,
                   client_done_fn *, void *);
    void (*update)(struct client *, const struct client_target *, const struct json *,
                   client_done_fn *, void *);
    void (*patch)(struct client *, const struct client_target *, enum client_patch,
                  const struct json *, const struct client_patch_options *, client_done_fn *,
                  void *);
    void (*remove)(struct client *, const struct client_target *,
                   const struct client_delete_options *, client_done_fn *, void *);
    void (*list)(struct client *, const struct client_target *, const struct client_select *,
                 client_list_fn *, void *);
    struct client_watch *(*watch)(struct client *, const struct client_target *,
                                  const struct client_select *, uint64_t, client_watch_fn *,
                                  void *);
    void (*watch_stop)(struct client_watch *);
    struct client_load (*load)(struct client *); /* NULL: it is in another process */
    void (*free)(struct client *);
};
struct client {
    const struct client_ops *ops;
};
/* The first member of an implementation's own watch; client.c fills it in. */
struct client_watch {
    struct client *client;
};
/* Ends it; calls under way are answered with ERR_CANCELED first. Accepts NULL. */
void client_free(struct client *c);
