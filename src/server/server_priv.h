/* server_priv.h - a request on its way, and the steps that know it */
#pragma once

#include "api/access.h"
#include "api/list_options.h"
#include "api/status.h"
#include "api/write_options.h"
#include "object/object.h"
#include "schema/sets.h"
#include "schema/shapes.h"
#include "schema/steps.h"
#include "schema/table.h"
#include "server/server.h"
#include "store/store.h"
#include "value/field_error.h"
#include "value/selector.h"
#include "json/json.h"

struct request;

#define SERVER_RUNS_CACHED 256
#define SERVER_SPARE_REQUESTS 64

enum verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_UPDATE,
    VERB_PATCH,
    VERB_DELETE,
    VERB_DELETECOLLECTION,
    VERB_N
};
/* "get", "list" ... */
struct str verb_name(enum verb v);

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY };

enum validation { VALIDATION_WARN, VALIDATION_IGNORE, VALIDATION_STRICT };

/* What the query or the client's options ask; zero is the default. */
struct options {
    bool dry_run;
    struct str field_manager;
    enum validation validation;
    bool force;
    struct list_options list; /* of get, list, watch, deletecollection */
    struct delete_options remove;
    struct str include_object; /* of Tables */
};

struct server {
    struct io *io;
    struct store *store;
    bool owns_store;
    uint64_t first_revision; /* of the store when this server began */
    struct server_config config;
    VEC(const struct kind *) kinds;          /* served ones, in the order of discovery */
    MAP(const struct kind *) kind_by_plural; /* "group/version/plural" */
    MAP(const struct kind *) kind_by_name;   /* "group/version/Kind" */
    struct arena names;                      /* of those keys */
    VEC(struct server_mount) mounts;
    struct list watches; /* of requests, so that closing ends them */
    struct list clients;
    struct arena users; /* of those: their requests may outlive them */
    uint64_t n_requests;
    size_t n_asked, n_watched; /* of clients elsewhere: requests and watches under way */
    uint64_t n_asked_ever;
    struct request *spare[SERVER_SPARE_REQUESTS]; /* ended, for the next ones: only their arenas
                                                     count */
    size_t n_spare;
    struct shapes shapes; /* of what was written last */
    struct sets *sets;    /* of fields, that were read last */
    struct steps *steps;  /* of owners, that were taken last */
    struct alike *alike;  /* creations that came last; NULL: none yet */
    struct arena scratch; /* of the tree that is being written: never empty */
    server_tap_fn *tap;
    void *tap_ctx;
    struct client *own; /* for what it does by itself */
    struct authz *authz;
    struct events *events;           /* events.c */
    struct accounts *accounts;       /* authn.c */
    struct homes *homes;             /* of local users */
    int8_t runs[SERVER_RUNS_CACHED]; /* run_as.c: by kind number: 1 it does, -1 it does not */
    struct io_timer *ticker;         /* for the signs of life of watches */
    struct discovery *discovery;     /* documents that were made once */
};

#define SERVER_SCRATCH ((size_t)64 << 10) /* bytes of its blocks */

/* In which form an answer is wanted. */
enum answer_form { FORM_OBJECT, FORM_TABLE, FORM_METADATA };
struct answer_style {
    enum answer_form form;
    bool is_yaml, is_pretty;
    bool is_v1beta1; /* of Table and metadata: the version asked for */
};

/* ---- answering ---- */

struct list_result {
    struct object **items; /* ours until answered */
    size_t n;
    uint64_t revision;
    struct str continue_; /* "" at the end */
    int64_t remaining;    /* -1: not told */
};

enum event_type { EVENT_ADDED, EVENT_MODIFIED, EVENT_DELETED, EVENT_BOOKMARK };

/* How answers leave: as HTTP (answer.c) or to a client in this process (local.c). The request
 * stays the caller's, to be ended by request_fini(). */
struct reply {
    void (*object)(struct request *r, int code, struct object *o);
    void (*tree)(struct request *r, int code, const struct json *tree);
    void (*fail)(struct request *r, const struct json *status, const struct err *err);
    void (*list)(struct request *r, const struct list_result *l);
    void (*watch_start)(struct request *r);
    /* `o` at `revision`: a DELETED one has the revision of what it fell out by. */
    void (*watch_event)(struct request *r, enum event_type type, struct object *o,
                        uint64_t revision, bool is_initial_end);
    void (*watch_fail)(struct request *r, const struct json *status, const struct err *err);
    void (*watch_end)(struct request *r);
    bool (*watch_is_full)(struct request *r);
    void (*watch_alive)(struct request *r); /* a sign of life; may be NULL */
};

struct request {
    size_t *counted; /* n_asked or n_watched of the server, or NULL */
    struct server *server;
    struct arena *arena; /* own_arena */
    const struct reply *reply;
    void *ctx;                 /* reply's own */
    struct http_request *http; /* NULL in process, and once it was answered */
    struct arena own_arena;

    const struct server_user *user;
    enum verb verb;
    const struct kind *kind; /* as asked for; NULL for what is no kind */
    struct str ns, name, subresource;
    struct str asked_name; /* for authorisers: also of lists of one by name */
    struct options options;

    enum patch_type patch_type;
    struct str body_text;    /* as it came, or empty */
    const struct json *body; /* decoded */
    struct json_dups dups;
    VEC(struct str) warnings;

    /* of writes */
    struct object *current; /* the version it follows, ours; NULL on create */
    struct object *next;    /* on its way, ours */
    int attempts;
    bool is_unconditional; /* a conflict is tried again */
    bool is_lent;          /* the body is its client's, and gone with it (NULL then) */
    bool is_removal;
    bool is_created;  /* an update or apply that made it */
    bool is_binding;  /* a pod's node and its condition are being set */
    bool is_eviction; /* a deletion that leaves its reason in the pod */
    bool is_finalize; /* spec.finalizers are being taken out */
    struct watching *watching;
    struct answer_style style; /* of HTTP */
    int64_t retry_after;       /* seconds, for the header; 0: none */
    bool has_columns;          /* a watch of Tables has told its columns */
    struct instant started;
};

#define WRITE_MAX_ATTEMPTS 20 /* of an unconditional write that meets others */

struct request *request_new(struct server *s, const struct reply *reply);
/* Frees what the request holds; the reply has been made. */
void request_fini(struct request *r);

/* Nobody waits for the answer any more. */
void request_abandon(struct request *r);
/* authz.c: 0, or -1 after 403 was answered. */
int authorize(struct request *r);
/* The same for another verb on the same thing: an apply that creates. */
int authorize_verb(struct request *r, struct str verb);
void authz_start(struct server *s);
void authz_stop(struct server *s);
struct access access_of_request(const struct request *r, struct str verb);
bool user_may(struct server *s, const struct access *access);
struct rbac *server_rbac(struct server *s);
/* The same for what is no resource; `q` was answered then. */
int authorize_path(struct server *s, struct http_request *q, const struct server_user *user);
bool user_is_master(const struct server_user *user);
/* Authorises it, then runs it. */
void request_begin(struct request *r);
/* apiVersion and kind where the body has none. */
const struct json *body_named(struct arena *a, const struct json *body, const struct kind *k);
const struct server_user *user_copy(struct arena *a, const struct server_user *user);
/* events.c: Events end after an hour. */
void events_start(struct server *s);
void events_stop(struct server *s);
void homes_free(struct server *s);
void known_accounts_free(struct server *s);
/* openapi.c: frees the documents that were made. */
void discovery_forget(struct server *s);
/* Watches want ticks. */
void server_tick_soon(struct server *s);

void request_warn(struct request *r, const char *format, ...) like_printf(2, 3);

/* ---- fail.c: each answers and ends the request; always -1 ---- */

int fail_err(struct request *r, const struct err *err);
int fail_bad_request(struct request *r, const char *format, ...) like_printf(2, 3);
int fail_not_found(struct request *r);
int fail_too_large(struct request *r); /* the object, for the store: in etcd's words */
int fail_exists(struct request *r, struct str name);
int fail_conflict(struct request *r, const char *format, ...) like_printf(2, 3);
int fail_forbidden(struct request *r, const char *format, ...) like_printf(2, 3);
int fail_method(struct request *r);
int fail_invalid(struct request *r, struct str name, const struct field_errors *errors);
/* Of options: kind "CreateOptions" of meta.k8s.io. */
int fail_options(struct request *r, const char *kind, const struct field_errors *errors);
int fail_api(struct request *r, const struct api_error *e);
/* Without details. */
int fail_with(struct request *r, int code, const char *reason, struct str message);
/* What the request is about, for the catalogue. */
struct status_subject subject_of(const struct request *r);
/* A Status of success; `about` may be zero. */
const struct json *success_of(struct request *r, struct status_subject about, struct str uid);

/* ---- kinds.c ---- */

const struct kind *kind_of_plural(const struct server *s, struct str group, struct str version,
                                  struct str plural);
const struct kind *kind_of_name(const struct server *s, struct str group, struct str version,
                                struct str kind);
void kinds_add(struct server *s, const struct kind *k);
const struct kind *kind_find_storage(void *server, struct str name); /* a store_kind_fn */
/* "NS/NAME" or "NAME". */
struct str path_of(struct arena *a, const struct kind *k, struct str ns, struct str name);
/* The stored object as the asked version; itself where it is that. A reference. */
struct object *as_kind(struct arena *a, struct object *o, const struct kind *k);
const struct json *tree_as_kind(struct arena *a, const struct json *tree,
                                const struct kind *from, const struct kind *to);

/* ---- verbs; each answers ---- */

void verb_get(struct request *r);
void verb_list(struct request *r);
void verb_watch(struct request *r);
void verb_create(struct request *r);
void verb_update(struct request *r);
void verb_patch(struct request *r);
void verb_delete(struct request *r);
void verb_deletecollection(struct request *r);
void scale_get(struct request *r);
void scale_update(struct request *r);
void scale_patch(struct request *r);
void binding_create(struct request *r);
void eviction_create(struct request *r);
void token_create(struct request *r);
void finalize_update(struct request *r);
/* Kinds that are answered and forgotten: access and token reviews. */
void review_create(struct request *r);
/* By verb, kind and subresource, after authorisation. */
void request_run(struct request *r);
