/* client_http.h - the client of an API server somewhere else, over HTTP
 *
 * Answers 429 and 5xx that carry Retry-After are asked again, as client-go does. A watch goes
 * on over broken connections and servers that restart, from the last revision it has seen; only
 * what a retry cannot heal ends it.
 */
#pragma once

#include "client/client.h"
#include "http/http.h"
#include "io/io.h"

struct kubeconfig;

#define CLIENT_MAX_TRIES 10                  /* of one call that the server puts off */
#define CLIENT_LARGE_PAGE 5000               /* where pages expired before the last was read */
#define CLIENT_RESTARTS 3                    /* of a list, before that is told as an error */
#define CLIENT_PAGE 500                      /* objects of a list asked for at a time */
#define CLIENT_MAX_ANSWER ((size_t)64 << 20) /* bytes of an answer, or of a page */
#define CLIENT_MAX_EVENT ((size_t)16 << 20)  /* bytes of one event of a watch */

struct client_http_options {
    struct str name;       /* User-Agent, and field manager where none is given */
    struct str validation; /* of fields: "Ignore", "Warn" or "Strict"; "": "Ignore" */
    /* Warnings of the server, one by one; NULL: dropped. */
    void (*warning)(void *ctx, struct str text);
    void *warning_ctx;
};
/* A client of the kubeconfig's server, with its credentials. NULL with ERR_INVALID where those
 * cannot be used. Nothing is connected before the first call. */
struct client *client_http_new(struct io *io, const struct kubeconfig *config,
                               const struct client_http_options *options, struct err *err);

/* Any other request to the same server with the same credentials: discovery, logs, Tables.
 * `target` is a path with its query. Only for clients made by client_http_new(). */
struct http_call *client_http_call(struct client *c, const struct http_ask *ask,
                                   const struct http_call_events *events, void *ctx);
/* "/apis/batch/v1/namespaces/default/jobs/a/status", every part escaped. */
struct str client_path(struct arena *a, const struct client_target *t);
/* Appends "?name=value", or "&name=value", escaped. */
void client_query(struct buf *path, struct str name, struct str value);
/* What a failed answer says: from a metav1.Status, or from the bare code and text. */
void client_error(int code, const struct json *status, struct str body, struct err *err);
