/* check.h - one question asked of a container: a command, a request, a connection, a pause
 *
 * Commands run beside the container as processes of their own, with its user, environment and
 * mounts. Requests and connections come from the agent. Of gRPC it is the standard question,
 * grpc.health.v1.Health/Check.
 */
#pragma once

#include "base/base.h"

struct check;
struct io;
struct runtime;
struct runtime_spec;
struct runtime_status;

enum check_how { CHECK_EXEC, CHECK_HTTP, CHECK_TCP, CHECK_GRPC, CHECK_PAUSE };

struct check_header {
    struct str name, value;
};

struct check_spec {
    enum check_how how;
    struct span timeout; /* it has failed by then; of a pause, how long it is */
    const struct runtime_spec *exec;
    struct str address;   /* host:port */
    struct str authority; /* what a request names; "": the address */
    struct str target;    /* a path; of gRPC the service asked about, or "" */
    bool is_tls;          /* any certificate is believed */
    const struct check_header *headers;
    size_t n_headers;
};

/* `why` says what went wrong; "" where it is fine. Called once, on a later turn; the check is
 * gone then. */
typedef void check_done_fn(void *ctx, bool is_fine, struct str why);
/* Everything is copied. */
struct check *check_start(struct io *io, struct runtime *rt, const struct check_spec *spec,
                          check_done_fn *done, void *ctx);
/* Nobody is told; a command is ended. Accepts NULL. */
void check_cancel(struct check *c);
/* The process of a command has ended: for whoever hears of it from the runtime. */
void check_ended(struct check *c, const struct runtime_status *s);
/* The id of its command; "" for the others. */
struct str check_id(const struct check *c);
