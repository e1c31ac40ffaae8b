/* grpc.h - gRPC calls on HTTP/2, the client's side
 *
 * A message is five bytes (a flag and its length) and what a protobuf writer made; what it
 * means is the caller's. No compression is offered. A channel connects when there is something
 * to ask, and again when its connection broke.
 */
#pragma once

#include "base/base.h"
#include "io/io.h"

struct tls_client;

#define GRPC_MAX_MESSAGE ((size_t)4 << 20) /* bytes, received; past it RESOURCE_EXHAUSTED */

#define GRPC_CODES(X)                                                                          \
    X(OK)                                                                                      \
    X(CANCELLED)                                                                               \
    X(UNKNOWN)                                                                                 \
    X(INVALID_ARGUMENT)                                                                        \
    X(DEADLINE_EXCEEDED)                                                                       \
    X(NOT_FOUND)                                                                               \
    X(ALREADY_EXISTS)                                                                          \
    X(PERMISSION_DENIED)                                                                       \
    X(RESOURCE_EXHAUSTED)                                                                      \
    X(FAILED_PRECONDITION)                                                                     \
    X(ABORTED)                                                                                 \
    X(OUT_OF_RANGE)                                                                            \
    X(UNIMPLEMENTED)                                                                           \
    X(INTERNAL)                                                                                \
    X(UNAVAILABLE)                                                                             \
    X(DATA_LOSS)                                                                               \
    X(UNAUTHENTICATED)

enum grpc_code {
#define GRPC_ENUM(name) GRPC_##name,
    GRPC_CODES(GRPC_ENUM)
#undef GRPC_ENUM
};
/* "UNAVAILABLE"; "UNKNOWN" for a number that has no name. */
const char *grpc_code_name(int code);

struct grpc_channel;
/* `address` as for io_connect(); `authority` "": "localhost". `tls` NULL: plain; else it must
 * outlive the channel. */
struct grpc_channel *grpc_channel_new(struct io *io, struct str address, struct str authority,
                                      struct tls_client *tls);
/* Calls under way are dropped without a word. Accepts NULL. */
void grpc_channel_free(struct grpc_channel *c);

struct grpc_call;

struct grpc_events {
    /* A message, borrowed for the call. */
    void (*message)(void *ctx, struct str bytes);
    /* The last callback: how it went, and the server's words. The call is gone. */
    void (*end)(void *ctx, enum grpc_code code, struct str text);
};

/* Starts "/package.Service/Method" with messages to follow by grpc_send(). `timeout` 0: none;
 * past it the call ends with DEADLINE_EXCEEDED. Callbacks come on later turns. */
struct grpc_call *grpc_start(struct grpc_channel *c, struct str method, struct span timeout,
                             const struct grpc_events *events, void *ctx);
void grpc_send(struct grpc_call *call, struct str message);
/* No message of ours follows. */
void grpc_send_end(struct grpc_call *call);
/* No callback follows. */
void grpc_cancel(struct grpc_call *call);

/* One message there, one back: the reply is "" unless the code is GRPC_OK; both strs are
 * borrowed for the call. */
typedef void grpc_done_fn(void *ctx, enum grpc_code code, struct str text, struct str reply);
struct grpc_call *grpc_unary(struct grpc_channel *c, struct str method, struct str message,
                             struct span timeout, grpc_done_fn *done, void *ctx);
