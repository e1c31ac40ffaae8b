/* client_priv.h - what the client's protocols share
 *
 *     http_client ──▶ link ──▶ wire (plain or TLS)
 *          │           │ speak: h1_client or h2_client
 *          └ waiting   └ calls under way (HTTP/1.1: at most one)
 *
 * A link is counted: by its open wire and by each turn of ours that may call our owner.
 */
#pragma once

#include "http/http.h"
#include "http/wire.h"

#define CLIENT_MAX_LINKS 128    /* connections of HTTP/1.1; more calls wait */
#define CLIENT_MAX_STREAMS 200  /* calls on one connection of HTTP/2 */
#define CLIENT_IDLE_MAX_S 90    /* an unused connection is closed */
#define CLIENT_CONNECT_MAX_S 15 /* TCP and TLS */
#define CLIENT_PING_AFTER_S 30  /* of silence on HTTP/2 with calls under way */
#define CLIENT_PING_ANSWER_S 15 /* and then the connection counts as broken */

struct link;

struct http_call {
    struct http_client *client; /* NULL: in this process */
    void (*cancel)(struct http_call *);
    struct arena arena;
    struct http_ask ask; /* in the arena */
    const struct http_call_events *events;
    void *ctx;
    struct list list;  /* in client->waiting, or link->calls */
    struct link *link; /* NULL: waits */
    void *owner;       /* where there is no client */
    struct io_timer *timer;
    bool has_head, was_retried;
    int32_t stream_id; /* HTTP/2 */
    int status;        /* HTTP/2: of the head that is coming */
    size_t head_len, body_sent;
    VEC(struct http_header) headers; /* HTTP/2: of the head, then of the trailers */
    struct buf up;                   /* of a body that is open: what has not left */
    bool is_open, deferred;          /* more may follow; nghttp2 waits for it */
};

struct speak {
    void (*start)(struct link *); /* the wire is ready */
    void (*send)(struct link *, struct http_call *);
    void (*cancel)(struct link *, struct http_call *);
    /* There is more in call->up, or it is no longer open; NULL: never. */
    void (*more)(struct link *, struct http_call *);
    void (*data)(struct link *, struct str bytes);
    void (*end)(struct link *, const struct err *err);
    void (*drained)(struct link *);
    void (*ping)(struct link *); /* may be NULL */
    void (*free)(struct link *);
};

extern const struct speak h1_client_speak, h2_client_speak;

struct link {
    struct http_client *client; /* NULL: it was freed */
    struct io *io;
    struct wire *wire; /* NULL: closed */
    const struct speak *speak;
    void *state;
    struct list list; /* in client->links */
    struct list calls;
    size_t n_calls, refs;
    bool is_ready, is_draining; /* draining: no new calls */
    bool was_used;              /* an answer came: a break may only mean that it idled */
    bool has_carried;           /* a call was given to it */
    bool is_pinged;
    struct io_timer *timer;
    struct span heard; /* uptime of the last bytes */
};

struct link *link_ref(struct link *l);
void link_unref(struct link *l);
/* Closes the wire; its calls are retried where that is safe, or end with `err`. */
void link_close(struct link *l, const struct err *err);
/* The call's answer is whole (err NULL) or broken: last callback, then it is freed. */
void call_end(struct http_call *call, const struct err *err);
/* The server has not touched it: it waits for another link, once. False: it was there before.
 */
bool call_retry(struct http_call *call);
void call_head(struct http_call *call, int status, const struct http_header *headers, size_t n);
/* A call left the link: it may take another one, or idle. */
void link_has_room(struct link *l);
/* Copies the ask; cancels by `cancel`. */
struct http_call *call_new(const struct http_ask *ask, const struct http_call_events *events,
                           void *ctx, void (*cancel)(struct http_call *));
void call_free(struct http_call *call);
/* The Host header, or :authority. */
struct str link_authority(const struct link *l);
