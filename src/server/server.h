/* server.h - a request's path: who asks, may they, what is it, store it, answer
 *
 * The only room that writes to the store. Bytes reach it by server_handle() (an
 * http_handler_fn), controllers in the same process by server_client(); both meet the same
 * steps. It never calls up: what only other rooms know (logs of pods, metrics) is mounted.
 *
 * Wiring, as `berth up` does it:
 *
 *     struct server *s = server_open(io, dir, &(struct server_config){...}, &err);
 *     server_bootstrap(s, ready, ctx);                    namespaces, roles; then ready(ctx)
 *     server_mount(s, &(struct server_mount){.plural = S("pods"), .subresource = S("log"),
 *                                            .handle = pod_log, .ctx = node});
 *     struct client *c = server_client(s, &server_berth); for controllers
 *     http_server_new(io, address, 0, tls, server_handle, s, &err);   for everybody else
 *     http_server_new(io, S("unix:..."), 0666, NULL, server_handle, s, &err);
 *     ...
 *     client_free(c); server_free(s);
 */
#pragma once

#include "base/base.h"

struct client;
struct object;
struct http_request;
struct io;
struct json;
struct kind;
struct server;
struct store;

#define SERVER_VERSION_MINOR 37 /* of /version */

/* ---- who asks ---- */

/* All strs are borrowed by the call that is given one, and copied where they are kept. */
struct server_user {
    struct str name;
    struct str uid;
    const struct str *groups;
    size_t n_groups;
    /* The account of this machine behind it: work runs as this. */
    bool has_account;
    uint32_t account_uid, account_gid;
    const uint32_t *account_groups;
    size_t n_account_groups;
};

/* Our own controllers: system:berth, of system:masters. */
extern const struct server_user server_berth;

/* ---- making one ---- */

#define SERVER_MAX_REQUESTS 10000 /* of clients elsewhere, under way at once: 429 past it */
#define SERVER_MAX_WATCHES 50000  /* of clients elsewhere: 429 past it */

#define SERVER_SIGNATURE 32 /* bytes */
struct server_config {
    const struct kind *const *kinds; /* built in; NULL: api/kinds.h */
    size_t n_kinds;
    struct str address;                        /* "host:port", for discovery */
    struct str disabled_admission;             /* upstream's plugin names, comma-separated */
    void (*audit)(void *ctx, struct str line); /* one JSON line a write; NULL: none */
    void *audit_ctx;
    /* Who is behind a certificate's or token's user, where it has an account (berth user). */
    bool (*account)(void *ctx, struct str user, struct server_user *fill);
    /* Whose token that is: fills name, uid, groups; the strs live as long as the server. */
    bool (*token)(void *ctx, struct str token, struct server_user *fill);
    /* Signs with a key that is this server's own, the same after a restart; false where it has
     * none. NULL: service accounts get no tokens. */
    bool (*sign)(void *ctx, struct str bytes, uint8_t *out /* SERVER_SIGNATURE bytes */);
    void *users_ctx;
    struct span commit; /* how long a commit of server_new()'s store takes; 0: no time */
    size_t max_requests, max_watches; /* 0: the limits above */
    uint32_t starter_uid; /* started berth: an administrator by the socket, as root is */
};

/* On a store in memory (also simulated). */
struct server *server_new(struct io *io, const struct server_config *config);
/* On DIR/berth.db. NULL with err, as store_sqlite_open(); ERR_INVALID where a
 * name of disabled_admission is no plugin's. */
struct server *server_open(struct io *io, const char *dir, const struct server_config *config,
                           struct err *err);
/* Calls under way end; clients must have been freed. Accepts NULL. */
void server_free(struct server *s);
/* Makes what every server has (namespaces, roles, priority classes) where it is missing; then
 * done(ctx). */
void server_bootstrap(struct server *s, void (*done)(void *ctx, const struct err *err),
                      void *ctx);

/* ---- the file, without a server; for `berth backup` and `berth fsck` ---- */

/* A consistent copy of DIR's store in FILE, which must not exist; a server may be running. -1:
 * ERR_EXISTS, ERR_UNSUPPORTED (of a newer berth), ERR_IO. */
int server_backup(const char *dir, const char *file, struct err *err);
/* Looks at everything; tells each problem as a sentence and returns their number, or -1 where
 * the file cannot be read at all. */
int server_fsck(const char *dir, void (*problem)(void *ctx, struct str sentence), void *ctx,
                struct err *err);

/* ---- in process ---- */

/* A client of this server, with the rights of system:masters where `groups` say so; free it by
 * client_free(). */
struct client *server_client(struct server *s, const struct server_user *user);
/* Sees every event of every kind in order, as it becomes visible (for a simulation's hash):
 * verb is ADDED, MODIFIED or DELETED. */
typedef void server_tap_fn(void *ctx, const char *verb, uint64_t revision,
                           const struct object *o);
void server_tap(struct server *s, server_tap_fn *tap, void *ctx);

/* ---- by bytes ---- */

/* An http_handler_fn; ctx is the server. */
void server_handle(void *server, struct http_request *q);

/* ---- what other rooms answer ---- */

/* About a request that a mounted handler gets; lives as long as the request. */
struct server_about {
    const struct server_user *user;
    struct str ns, name, subresource;
};
struct server_mount {
    /* A subresource of a kind ("pods", "log"), or a path and all below it. */
    struct str group, plural, subresource;
    struct str path;
    /* Ends the request, now or later; the caller was authorised. */
    void (*handle)(void *ctx, struct http_request *q, const struct server_about *about);
    void *ctx;
};
void server_mount(struct server *s, const struct server_mount *m); /* strs are literals */
/* A query parameter, decoded, in the request's arena; "" where it is absent. */
struct str server_query(struct http_request *q, struct str name);
/* What was written, and in how many commits, in Prometheus' text. */
void server_metrics(const struct server *s, struct buf *out);
/* Answers with the error as a Status. */
void server_refuse(struct http_request *q, const struct err *err);
/* Whether that user may: for other rooms' own routes. */
bool server_may(struct server *s, const struct server_user *user, struct str verb,
                struct str group, struct str resource, struct str ns, struct str name);
