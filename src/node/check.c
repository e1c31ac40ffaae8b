/* check.c - commands, requests and connections that say how a container is */
#include "node/check.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/grpc.h"
#include "http/http.h"
#include "http/tls.h"
#include "io/io.h"
#include "runtime/runtime.h"

#define MAX_OUTPUT 512  /* bytes of what a command said, in the reason */
#define MAX_SERVICE 127 /* of a service's name: its length is one byte of a message then */

struct check {
    struct io *io;
    struct runtime *rt;
    struct arena arena;
    enum check_how how;
    check_done_fn *done;
    void *ctx;
    struct io_timer *timer;
    struct str id, log_path;
    struct http_client *client;
    struct tls_client *tls;
    struct grpc_channel *channel;
    struct connecting *connecting;
    bool is_over, is_fine;
    struct str why;
};

static void check_free(struct check *c)
{
    io_timer_free(c->timer);
    http_client_free(c->client);
    grpc_channel_free(c->channel);
    tls_client_free(c->tls);
    arena_fini(&c->arena);
    free(c);
}

static void tell(void *ctx)
{
    struct check *c = ctx;

    c->done(c->ctx, c->is_fine, c->why);
    check_free(c);
}

/* Once; what comes later says nothing any more. */
static void end(struct check *c, bool is_fine, struct str why)
{
    if (c->is_over)
        return;
    c->is_over = true;
    c->is_fine = is_fine;
    c->why = why;
    io_later(c->io, tell, c);
}

/* ---- commands ---- */

static void started(void *ctx, const struct runtime_status *s, const struct err *err)
{
    struct check *c = ctx;

    if (err)
        end(c, false, str_copy(&c->arena, str_from(err->text)));
    else if (s && s->state == RUNTIME_EXITED)
        check_ended(c, s);
}

void check_ended(struct check *c, const struct runtime_status *s)
{
    if (c->is_over)
        return;
    struct str said = runtime_log_last(&c->arena, c->log_path, 10, MAX_OUTPUT);
    if (s->exit_code == 0)
        end(c, true, S(""));
    else
        end(c, false,
            str_printf(&c->arena, "command ended with %d%s%.*s", s->exit_code,
                       said.len ? ": " : "", STR_ARG(said)));
    runtime_forget(c->rt, s->id);
}

static void start_command(struct check *c, const struct runtime_spec *spec)
{
    c->id = str_copy(&c->arena, spec->id);
    c->log_path = str_copy(&c->arena, spec->log_path);
    if (c->log_path.len)
        unlink(str_z(&c->arena, c->log_path)); /* what the last one said */
    runtime_start(c->rt, spec, started, c);
}

struct str check_id(const struct check *c)
{
    return c->id;
}

/* ---- requests ---- */

static void got_head(void *ctx, int status, const struct http_header *headers, size_t n)
{
    struct check *c = ctx;

    (void)headers, (void)n;
    end(c, status >= 200 && status < 400,
        status >= 200 && status < 400
            ? S("")
            : str_printf(&c->arena, "HTTP probe failed with statuscode: %d", status));
}

static void got_data(void *ctx, struct str bytes)
{
    (void)ctx, (void)bytes; /* the head has said it */
}

static void got_end(void *ctx, const struct err *err)
{
    struct check *c = ctx;

    end(c, false, str_copy(&c->arena, err ? str_from(err->text) : S("no answer")));
}

/* False where it has ended. */
static bool trust_anyone(struct check *c)
{
    struct err err;

    c->tls = tls_client_new(&(struct tls_client_options){.insecure = true}, &err);
    if (!c->tls)
        end(c, false, str_copy(&c->arena, str_from(err.text)));
    return c->tls != NULL;
}

static void start_request(struct check *c, const struct check_spec *spec)
{
    static const struct http_call_events events = {
        .head = got_head, .data = got_data, .end = got_end};
    struct http_client_options options = {
        .address = spec->address, .authority = spec->authority, .no_http2 = true};
    struct http_header *headers =
        arena_array(&c->arena, struct http_header, spec->n_headers + 1);

    if (spec->is_tls && !trust_anyone(c))
        return;
    options.tls = c->tls;
    for (size_t i = 0; i < spec->n_headers; i++)
        headers[i] = (struct http_header){spec->headers[i].name, spec->headers[i].value};
    c->client = http_client_new(c->io, &options);
    http_call(c->client,
              &(struct http_ask){.method = S("GET"),
                                 .target = spec->target,
                                 .headers = headers,
                                 .n_headers = spec->n_headers,
                                 .timeout = spec->timeout},
              &events, c);
}

/* ---- health over gRPC ---- */

/* The `status` of a HealthCheckResponse: field 1, a varint below 128; 0 where it is not told.
 */
static int health_of(struct str reply)
{
    return reply.len >= 2 && reply.at[0] == 0x08 ? reply.at[1] : 0;
}

static void got_health(void *ctx, enum grpc_code code, struct str text, struct str reply)
{
    static const char *const names[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
    struct check *c = ctx;
    int health = health_of(reply);

    if (code == GRPC_UNIMPLEMENTED)
        end(c, false,
            S("this server does not implement the grpc health protocol "
              "(grpc.health.v1.Health)"));
    else if (code != GRPC_OK)
        end(c, false,
            str_printf(&c->arena, "health rpc failed: %s: %.*s", grpc_code_name(code),
                       STR_ARG(text)));
    else if (health == 1)
        end(c, true, S(""));
    else
        end(c, false,
            str_printf(&c->arena, "service unhealthy (responded with \"%s\")",
                       health > 0 && health < (int)countof(names) ? names[health] : names[0]));
}

static void start_health(struct check *c, const struct check_spec *spec)
{
    struct buf message = buf_in(&c->arena, MAX_SERVICE + 2);

    if (spec->target.len > MAX_SERVICE) {
        end(c, false,
            str_printf(&c->arena, "the service's name is over %d bytes", MAX_SERVICE));
        return;
    }
    if (spec->is_tls && !trust_anyone(c))
        return;
    if (spec->target.len) { /* field 1, a string */
        buf_byte(&message, 0x0a);
        buf_byte(&message, (char)spec->target.len);
        buf_add(&message, spec->target);
    }
    c->channel = grpc_channel_new(c->io, spec->address, spec->authority, c->tls);
    grpc_unary(c->channel, S("/grpc.health.v1.Health/Check"), buf_str(&message), spec->timeout,
               got_health, c);
}

/* ---- connections: beside the loop ---- */

struct connecting {
    struct check *check; /* NULL: nobody waits any more */
    char host[256], port[16];
    char why[128]; /* "" where it worked */
};

static void connect_it(void *ctx)
{
    struct connecting *x = ctx;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int rc = getaddrinfo(x->host, x->port, &hints, &found);
    int fd = rc == 0 ? socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

    if (rc != 0)
        snprintf(x->why, sizeof(x->why), "%s", gai_strerror(rc));
    else if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) < 0)
        snprintf(x->why, sizeof(x->why), "dial tcp %.100s: %s", x->host, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (found)
        freeaddrinfo(found);
}

static void connected(void *ctx)
{
    struct connecting *x = ctx;
    struct check *c = x->check;

    if (c) {
        c->connecting = NULL;
        end(c, x->why[0] == 0, str_copy(&c->arena, str_from(x->why)));
    }
    free(x);
}

static void start_connection(struct check *c, const struct check_spec *spec)
{
    struct connecting *x = mem_zero(1, sizeof(*x));
    struct str host, port;

    str_rcut(spec->address, ':', &host, &port);
    x->check = c;
    snprintf(x->host, sizeof(x->host), "%.*s", STR_ARG(host));
    snprintf(x->port, sizeof(x->port), "%.*s", STR_ARG(port));
    c->connecting = x;
    io_work(c->io, connect_it, connected, x);
}

/* ---- all ---- */

static void leave(struct check *c)
{
    if (c->id.len) {
        runtime_start_cancel(c->rt, c);
        runtime_stop(c->rt, c->id, (struct span){0});
    }
    if (c->connecting)
        c->connecting->check = NULL;
    c->connecting = NULL;
}

static void timed_out(void *ctx)
{
    struct check *c = ctx;

    if (c->is_over)
        return;
    leave(c);
    end(c, c->how == CHECK_PAUSE, c->how == CHECK_PAUSE ? S("") : S("timed out"));
}

struct check *check_start(struct io *io, struct runtime *rt, const struct check_spec *spec,
                          check_done_fn *done, void *ctx)
{
    struct check *c = mem_zero(1, sizeof(*c));

    *c = (struct check){.io = io, .rt = rt, .how = spec->how, .done = done, .ctx = ctx};
    c->timer = io_timer_new(io, timed_out, c);
    if (spec->timeout.ns > 0 || spec->how == CHECK_PAUSE)
        io_timer_set(c->timer, spec->timeout);
    if (spec->how == CHECK_EXEC)
        start_command(c, spec->exec);
    else if (spec->how == CHECK_HTTP)
        start_request(c, spec);
    else if (spec->how == CHECK_TCP)
        start_connection(c, spec);
    else if (spec->how == CHECK_GRPC)
        start_health(c, spec);
    return c;
}

void check_cancel(struct check *c)
{
    if (!c)
        return;
    io_later_cancel(c->io, tell, c);
    leave(c);
    check_free(c);
}
