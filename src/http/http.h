/* http.h - requests and answers, on the wire or in this process
 *
 * A server hands each complete request to one handler; the handler answers now or later, at
 * once or in pieces. A client starts calls whose answers come in pieces. Both speak HTTP/1.1
 * and HTTP/2, plain or over TLS, and know nothing about what the messages mean. All callbacks
 * are turns of the loop.
 */
#pragma once

#include "base/base.h"
#include "io/io.h"

struct tls_server;
struct tls_client;

struct http_header {
    struct str name; /* in lower case where we read it */
    struct str value;
};

#define HTTP_MAX_BODY ((size_t)3 << 20) /* bytes of a request's body: 413 past it */
#define HTTP_MAX_BACKLOG                                                                       \
    ((size_t)16 << 20)                     /* bytes of a streamed answer that wait for a slow  \
                                              reader; past it the answer is cut off */
#define HTTP_MAX_CONNS 16384               /* of one server: further ones are closed at once */
#define HTTP_GZIP_FROM ((size_t)128 << 10) /* shorter bodies are never compressed */

/* Who sent a request. */
struct http_peer {
    struct io_peer io;
    bool is_tls;
    struct str cert_name; /* subject's common name of a verified client certificate, or "" */
    const struct str *cert_groups; /* the subject's organisations */
    size_t n_cert_groups;
    struct str cert_digest; /* SHA-256 of the certificate in hex, or "" */
    struct str cert_error;  /* why a certificate that was shown does not count, or "" */
};

/* ---- serving ---- */

struct http_request {
    struct str method;
    struct str target;    /* as sent: path and query */
    struct str path;      /* before the '?', not decoded */
    struct str query;     /* after it, not decoded */
    struct str authority; /* Host, or :authority */
    const struct http_header *headers;
    size_t n_headers;
    struct str body;
    const struct http_peer *peer;
    int version;         /* 1 or 2; 0: in this process */
    uint64_t id;         /* counts up in this process */
    struct arena *arena; /* lives as long as the request; the handler may use it */
};

/* The first value of a header (its name in lower case), or "". */
struct str http_header(const struct http_request *req, struct str name);
struct str http_find(const struct http_header *headers, size_t n, struct str name);

/* Owns the request until it ends it, exactly once, by http_respond(), http_respond_buf(),
 * http_respond_end() or http_abort(): also when the client has gone meanwhile. */
typedef void http_handler_fn(void *ctx, struct http_request *req);

/* Answers at once. Strs are copied. Content-Length and Date are ours to write; a body is
 * compressed where the client asked for it and it is long enough. */
void http_respond(struct http_request *req, int status, const struct http_header *headers,
                  size_t n_headers, struct str body);
/* The same; takes over a heap buffer, which is empty afterwards. */
void http_respond_buf(struct http_request *req, int status, const struct http_header *headers,
                      size_t n_headers, struct buf *body);
/* Answers in pieces: the head leaves at once, then each chunk. */
void http_respond_start(struct http_request *req, int status, const struct http_header *headers,
                        size_t n_headers);
void http_respond_chunk(struct http_request *req, struct str bytes);
void http_respond_end(struct http_request *req);
/* The same with headers behind the body (gRPC says there how it went). */
void http_respond_end_with(struct http_request *req, const struct http_header *trailers,
                           size_t n_trailers);
/* Breaks the answer off, so that the client can tell it is not whole. */
void http_abort(struct http_request *req);

/* Bytes of this answer that the client has not taken yet. */
size_t http_respond_queued(const struct http_request *req);
/* fn(ctx) whenever that has become 0 again. */
void http_on_drained(struct http_request *req, io_fn *fn, void *ctx);
/* fn(ctx) once, when the client goes before the answer has ended (or was cut off for being too
 * slow). The request stays the handler's to end. */
void http_on_closed(struct http_request *req, io_fn *fn, void *ctx);
bool http_is_closed(const struct http_request *req);

/* ---- other protocols on the same connection (HTTP/1.1 only) ---- */

/* A connection handed over: bytes both ways, until it is closed. */
struct http_tunnel;
struct http_tunnel_events {
    void (*data)(void *ctx, struct str bytes); /* borrowed for the call */
    /* The client's end (err NULL), or the connection broke. The last call but drained(). */
    void (*end)(void *ctx, const struct err *err);
    void (*drained)(void *ctx); /* all that was written has left; may be NULL */
};
/* Did the client ask to go on with this protocol ("websocket")? */
bool http_wants_upgrade(const struct http_request *req, struct str protocol);
/* Answers 101 with these headers (Connection and Upgrade are ours) and hands the connection
 * over; the request has ended. NULL where the request did not ask for it or cannot have it:
 * then it is still the handler's to answer. */
struct http_tunnel *http_upgrade(struct http_request *req, struct str protocol,
                                 const struct http_header *headers, size_t n_headers,
                                 const struct http_tunnel_events *events, void *ctx);
void http_tunnel_write(struct http_tunnel *t, struct str bytes);
/* No callback follows; what was written is still sent. Frees it. */
void http_tunnel_close(struct http_tunnel *t);

struct http_server;
/* Listens at `address` (unix sockets get `mode`); `tls` NULL: plain. `tls` must outlive the
 * server. NULL with the errors of io_listen(). */
struct http_server *http_server_new(struct io *io, struct str address, uint32_t mode,
                                    struct tls_server *tls, http_handler_fn *handler, void *ctx,
                                    struct err *err);
/* With the real port. */
struct str http_server_address(const struct http_server *s);
/* Takes no new connection and lets those there are end after their answers; done(ctx) follows
 * on a later turn, when none is left. */
void http_server_stop(struct http_server *s, io_fn *done, void *ctx);
/* Closes everything. Requests still with the handler are told by on_closed() during this call,
 * and stay valid until ended. Accepts NULL. */
void http_server_free(struct http_server *s);

/* ---- asking ---- */

struct http_ask {
    struct str method;
    struct str target;
    const struct http_header *headers; /* Host and Content-Length are ours */
    size_t n_headers;
    struct str body;
    struct span timeout; /* until the head of the answer; 0: none */
    bool is_open;        /* more of the body follows by http_call_send() (HTTP/2 only) */
};

struct http_call_events {
    /* The answer's head; headers are borrowed for the call. May be NULL. */
    void (*head)(void *ctx, int status, const struct http_header *headers, size_t n_headers);
    /* A piece of its body, borrowed for the call. */
    void (*data)(void *ctx, struct str bytes);
    /* The last callback. err NULL: the answer is whole; ERR_UNAVAILABLE (no connection, or it
     * broke), ERR_TIMEOUT, ERR_SYNTAX, ERR_LIMIT. The call is gone afterwards. */
    void (*end)(void *ctx, const struct err *err);
    /* Headers behind the body, just before end(). May be NULL. */
    void (*trailers)(void *ctx, const struct http_header *headers, size_t n_headers);
};

struct http_call;
struct http_client;

struct http_client_options {
    struct str address;     /* as for io_connect() */
    struct str authority;   /* the Host header; "" takes the address */
    struct tls_client *tls; /* NULL: plain. Must outlive the client */
    bool plain_http2;       /* HTTP/2 by prior knowledge where there is no TLS */
    bool no_http2;          /* never offer it */
};
/* Connects when there is something to ask; connections are kept and used again. */
struct http_client *http_client_new(struct io *io, const struct http_client_options *options);
/* No callback follows; calls under way are dropped. Accepts NULL. */
void http_client_free(struct http_client *c);

/* Strs are copied; `events` must outlive the call. Callbacks come on later turns. */
struct http_call *http_call(struct http_client *c, const struct http_ask *ask,
                            const struct http_call_events *events, void *ctx);
/* No callback follows. */
void http_call_cancel(struct http_call *call);
/* More of the body of a call that is_open, and its end. */
void http_call_send(struct http_call *call, struct str bytes);
void http_call_send_end(struct http_call *call);

/* Runs a request through a handler of this process, without a connection. `peer` must outlive
 * the call. */
struct http_call *http_call_local(struct io *io, http_handler_fn *handler, void *handler_ctx,
                                  const struct http_peer *peer, const struct http_ask *ask,
                                  const struct http_call_events *events, void *ctx);

/* ---- words ---- */

/* "Not Found"; "Unknown" for a code without one. */
const char *http_reason(int status);
