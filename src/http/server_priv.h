/* server_priv.h - what the server's protocols share
 *
 *     http_server ──▶ conn ──▶ wire (plain or TLS)
 *                      │ proto: h1_server or h2_server
 *                      └─▶ exchange: one request and its answer
 *
 * A conn is counted: by its open wire, by each exchange and by each call that runs. An exchange
 * belongs to the handler from dispatch until it ends the answer, then to its protocol until the
 * last byte has left.
 */
#pragma once

#include "http/http.h"
#include "http/wire.h"

#define CONN_READ_MAX_S 30  /* a handshake, a head or a body takes longer: closed */
#define CONN_IDLE_MAX_S 180 /* nothing is asked for longer: closed */
#define CONN_LINGER_S 2     /* for a client to take our last answer before we close */
#define CONN_MAX_QUEUED ((size_t)256 << 10) /* bytes on the wire before an answer waits */

struct conn;
struct exchange;

struct proto {
    void (*data)(struct conn *, struct str bytes);
    /* The client's end, or the connection broke. */
    void (*end)(struct conn *, const struct err *err);
    void (*drained)(struct conn *);
    /* No new requests: close when the answers under way have ended. */
    void (*stop)(struct conn *);
    /* The wire is gone, the exchanges were told; may be NULL. */
    void (*closed)(struct conn *);
    void (*free)(struct conn *);
};

extern const struct proto h1_server_proto, h2_server_proto;
void h1_server_init(struct conn *c);
void h2_server_init(struct conn *c);

struct conn {
    struct http_server *server; /* NULL: it was freed */
    struct io *io;
    struct wire *wire; /* NULL: closed */
    struct list link;  /* in server->conns */
    struct list exchanges;
    const struct proto *proto; /* NULL: not known yet */
    void *state;               /* the protocol's */
    struct http_peer peer;
    struct arena arena; /* of the peer's strs */
    size_t refs;
    struct buf preface; /* bytes before the protocol was known */
    struct io_timer *timer;
    int64_t deadline; /* uptime in ns; 0: none */
    int64_t timer_at; /* when the timer fires; not always the deadline */
    bool is_stopping;
};

struct conn *conn_ref(struct conn *c);
void conn_unref(struct conn *c);
/* Closes the wire and tells the open exchanges. */
void conn_close(struct conn *c, bool flush);
/* Closes the connection unless this is called again within `s` seconds; 0: no limit. */
void conn_wait(struct conn *c, int64_t s);
http_handler_fn *conn_handler(const struct conn *c, void **ctx);
/* The value of a Date header. */
struct str conn_date(struct conn *c);

struct exchange_ops {
    /* The head leaves. `length` -1: the answer comes in pieces. */
    void (*start)(struct exchange *, int status, const struct http_header *, size_t n,
                  int64_t length);
    /* Appends a piece to x->out, framed as the protocol wants it. */
    void (*chunk)(struct exchange *, struct str bytes);
    /* The end of a streamed answer; trailers in x->trailers. */
    void (*finish)(struct exchange *);
    /* Sends from x->out what the wire takes; with x->is_ended and nothing left, the exchange
     * is over: exchange_free(). */
    void (*pump)(struct exchange *);
    /* Breaks the answer off, then exchange_gone(). */
    void (*abort)(struct exchange *);
    size_t (*queued)(const struct exchange *);
    /* http_upgrade(); NULL: never. */
    struct http_tunnel *(*upgrade)(struct exchange *, struct str protocol,
                                   const struct http_header *, size_t n,
                                   const struct http_tunnel_events *, void *ctx);
};

struct exchange {
    struct http_request req; /* first */
    struct io *io;
    struct arena arena;
    const struct exchange_ops *ops;
    struct conn *conn; /* NULL: in this process */
    void *owner;       /* the protocol's */
    struct list link;  /* in conn->exchanges */
    struct buf body;   /* of the request */
    struct buf out;    /* of the answer, from out_from on */
    size_t out_from;
    int32_t stream_id;  /* HTTP/2 */
    size_t head_len;    /* bytes of headers so far (HTTP/2) */
    int refused;        /* a status to answer once the request is read (HTTP/2), or 0 */
    bool wants_upgrade; /* Connection: upgrade (HTTP/1.1) */
    bool is_head;       /* of HEAD: no body is sent */
    bool is_handed;     /* the handler has it */
    bool is_started, is_streamed, is_ended;
    bool is_gone;        /* nobody reads the answer any more */
    bool is_closed_told; /* closed_fn was called, or would have been */
    bool pump_due, cut_due, gone_due, drained_due; /* tasks */
    bool drain_wanted;
    bool is_read, deferred;          /* HTTP/2: the request is whole; nghttp2 waits for bytes */
    VEC(struct http_header) headers; /* HTTP/2: so far */
    struct http_header *trailers;    /* in the arena */
    size_t n_trailers;
    io_fn *drained_fn, *closed_fn;
    void *drained_ctx, *closed_ctx;
};

struct exchange *exchange_new(struct io *io, struct conn *c, const struct exchange_ops *ops);
/* Out of its conn; frees it. */
void exchange_free(struct exchange *x);
/* Splits the target and hands the request to the handler. */
void exchange_dispatch(struct exchange *x, http_handler_fn *handler, void *ctx);
/* The client has left: the answer goes nowhere. The exchange may be freed by this. */
void exchange_gone(struct exchange *x);
/* Tells the handler that the client will not wait, though an answer could still be sent. */
void exchange_tell_closed(struct exchange *x);
void exchange_gone_later(struct exchange *x);
/* Nothing waits any more: tells who wants to know. */
void exchange_drained(struct exchange *x);
void exchange_drained_later(struct exchange *x);
/* Calls ops->pump on a later turn; several calls become one. */
void exchange_pump_later(struct exchange *x);
static inline size_t exchange_left(const struct exchange *x)
{
    return x->out.len - x->out_from;
}
/* A metav1.Status with the code, as all clients of this server understand it. */
struct str exchange_error_body(struct arena *a, int status, struct str message);
/* Answers with one. */
void exchange_refuse(struct exchange *x, int status, struct str message);
