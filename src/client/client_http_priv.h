/* client_http_priv.h - what calls, lists and watches over HTTP share */
#pragma once

#include "client/client_http.h"
#include "http/tls.h"
#include "object/object.h"

struct remote {
    struct client client; /* first */
    struct io *io;
    struct arena arena; /* of the strs below */
    struct http_client *http;
    struct tls_client *tls;
    struct str prefix; /* of all paths: the server's URL may have one */
    struct str name, bearer, validation;
    void (*warning)(void *ctx, struct str text);
    void *warning_ctx;
    struct list talks, watches;
};

/* One question whose answer is read whole, again where the server says "later". */
struct talk {
    struct remote *remote;
    struct list link; /* in remote->talks */
    struct arena arena;
    struct str method, content_type, body;
    struct buf target; /* path and query; in the arena */
    struct http_call *call;
    struct io_timer *again;
    int tries, code;
    int64_t retry_after_s; /* -1: the answer has none */
    struct buf answer;
    bool is_too_long;
    /* The answer is in code and answer, or err says why there is none. Frees the talk, or
     * starts it again. */
    void (*done)(struct talk *, const struct err *err);
};

void talk_init(struct talk *t, struct remote *r, struct str method,
               const struct client_target *target);
void talk_start(struct talk *t);
void talk_fini(struct talk *t);

/* Starts a call with our headers. */
struct http_call *remote_call(struct remote *r, const struct http_ask *ask,
                              const struct http_call_events *events, void *ctx);
/* Hands the server's Warning headers on. */
void remote_warnings(struct remote *r, const struct http_header *headers, size_t n);
/* The object of a tree the server sent; apiVersion and kind are put in where items of lists
 * lack them. NULL with ERR_SYNTAX where it is none. */
struct object *remote_object(struct arena *a, const struct kind *kind, const struct json *tree,
                             struct err *err);
uint64_t remote_revision(const struct json *tree);

void remote_list(struct client *c, const struct client_target *t,
                 const struct client_select *sel, client_list_fn *done, void *ctx);
struct client_watch *remote_watch(struct client *c, const struct client_target *t,
                                  const struct client_select *sel, uint64_t revision,
                                  client_watch_fn *event, void *ctx);
void remote_watch_stop(struct client_watch *w);
struct client_watch *remote_first_watch(const struct remote *r);
