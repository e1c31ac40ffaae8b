/* real_stream.c - TCP and unix sockets on libuv
 *
 * The stream that the caller holds and the handle that libuv holds are two allocations: a
 * closed stream is gone at once, its handle (struct link) when libuv lets go of it.
 *
 *     struct real_stream  ──link──▶  struct link (uv handle)
 *            │        ◀──owner──
 *            └──dial──▶  struct dial (only while it connects: names, addresses to try)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/real_priv.h"

#include "io/address.h"

#define BACKLOG 1024
#define KEEPALIVE_S 60
#define FLUSH_MAX_S 10 /* how long a closed stream may take to send what it was given */

struct link {
    union {
        uv_handle_t any;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } h;
    struct real_stream *owner; /* NULL: closed; only flushes */
    struct io_timer *deadline; /* of the flush */
    uv_shutdown_t shut;
};

struct real_stream {
    struct io_stream s; /* first */
    struct link *link;  /* NULL: not connected yet, or never */
    struct dial *dial;
    bool wants_data;
    struct buf waiting; /* written before it was connected */
};

struct dial {
    struct real_stream *owner; /* NULL: closed meanwhile */
    struct link *link;         /* on its way */
    uv_getaddrinfo_t dns;
    uv_connect_t req;
    struct addrinfo *found, *next;
    char address[64 + IO_MAX_HOST];
};

struct write_req {
    uv_write_t req;
    struct link *link;
    struct buf b;
};

static uv_loop_t *loop_of(struct io *io)
{
    return &((struct real *)io)->loop;
}

/* ---- links ---- */

static void link_free(uv_handle_t *h)
{
    struct link *l = h->data;
    free(l);
}

static void link_close(struct link *l)
{
    io_timer_free(l->deadline);
    l->deadline = NULL;
    if (!uv_is_closing(&l->h.any))
        uv_close(&l->h.any, link_free);
}

static struct link *link_new(struct io *io, struct real_stream *owner, bool is_unix)
{
    struct link *l = mem_zero(1, sizeof(*l));
    int rc = is_unix ? uv_pipe_init(loop_of(io), &l->h.pipe, 0)
                     : uv_tcp_init(loop_of(io), &l->h.tcp);

    assert(rc == 0);
    l->h.any.data = l;
    l->owner = owner;
    return l;
}

static void sockaddr_text(const struct sockaddr_storage *sa, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";

    if (sa->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(out, size, "%s:%u", host, ntohs(in->sin_port));
    } else if (sa->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)sa;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        snprintf(out, size, "[%s]:%u", host, ntohs(in->sin6_port));
    } else {
        snprintf(out, size, "@");
    }
}

/* Who is there, and what every connection of ours has set. */
static void link_is_connected(struct link *l, struct io_peer *peer)
{
    uv_os_fd_t fd;

    if (l->h.any.type == UV_TCP) {
        struct sockaddr_storage sa = {0};
        int len = sizeof(sa);
        uv_tcp_getpeername(&l->h.tcp, (struct sockaddr *)&sa, &len);
        sockaddr_text(&sa, peer->address, sizeof(peer->address));
        uv_tcp_nodelay(&l->h.tcp, 1);
        uv_tcp_keepalive(&l->h.tcp, 1, KEEPALIVE_S);
        return;
    }
    struct ucred who = {.uid = UINT32_MAX, .gid = UINT32_MAX};
    socklen_t len = sizeof(who);
    snprintf(peer->address, sizeof(peer->address), "@");
    if (uv_fileno(&l->h.any, &fd) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
        *peer = (struct io_peer){true, who.uid, who.gid, who.pid, "@"};
}

/* ---- reading ---- */

static void give_buf(uv_handle_t *h, size_t hint, uv_buf_t *out)
{
    struct link *l = h->data;

    (void)hint;
    if (!l->owner)
        return; /* a NULL buffer: libuv says UV_ENOBUFS */
    struct real *r = (struct real *)l->owner->s.io;
    *out = uv_buf_init(r->read_buf, sizeof(r->read_buf));
}

static void broke(struct real_stream *s, int rc)
{
    struct err err;

    err_set(&err, ERR_UNAVAILABLE, "the connection to '%s' broke: %s", s->s.peer.address,
            uv_strerror(rc));
    io_stream_end_now(&s->s, &err);
}

static void came(uv_stream_t *h, ssize_t n, const uv_buf_t *b)
{
    struct link *l = h->data;
    struct real_stream *s = l->owner;

    if (!s || n == 0)
        return;
    if (n > 0) {
        s->s.events->data(s->s.ctx, str_of(b->base, (size_t)n));
        return;
    }
    uv_read_stop(h);
    if (n == UV_EOF)
        io_stream_end_now(&s->s, NULL);
    else
        broke(s, (int)n);
}

void real_stream_reading(struct io_stream *stream, bool on)
{
    struct real_stream *s = (struct real_stream *)stream;

    s->wants_data = on;
    if (!s->link)
        return;
    if (on)
        uv_read_start(&s->link->h.stream, give_buf, came);
    else
        uv_read_stop(&s->link->h.stream);
}

/* ---- writing ---- */

static void left(uv_write_t *req, int rc)
{
    struct write_req *w = (struct write_req *)req;
    struct real_stream *s = w->link->owner;

    buf_fini(&w->b);
    free(w);
    if (!s || rc == UV_ECANCELED)
        return;
    if (rc == 0) {
        if (!real_stream_queued(&s->s))
            io_stream_drained(&s->s);
        return;
    }
    /* What the other side said before it left may still be read; nothing more is written. */
    s->s.is_broken = true;
    if (!s->wants_data)
        broke(s, rc);
}

size_t real_stream_try(struct io_stream *stream, struct str bytes)
{
    struct real_stream *s = (struct real_stream *)stream;
    size_t taken = 0;

    if (!s->link)
        return 0;
    while (taken < bytes.len) {
        uv_buf_t b = uv_buf_init((char *)(uintptr_t)bytes.at + taken,
                                 (unsigned)MIN(bytes.len - taken, (size_t)1 << 30));
        int n = uv_try_write(&s->link->h.stream, &b, 1);
        if (n <= 0)
            return taken; /* an error comes again in real_stream_write() */
        taken += (size_t)n;
    }
    io_stream_drained(stream);
    return taken;
}

void real_stream_write(struct io_stream *stream, struct buf *b, size_t from)
{
    struct real_stream *s = (struct real_stream *)stream;

    if (!s->link) {
        buf_add(&s->waiting, str_slice(buf_str(b), from, b->len));
        buf_fini(b);
        return;
    }
    struct write_req *w = mem_zero(1, sizeof(*w));
    w->link = s->link;
    w->b = *b;
    uv_buf_t u = uv_buf_init(w->b.at + from, (unsigned)(w->b.len - from));
    int rc = uv_write(&w->req, &s->link->h.stream, &u, 1, left);
    assert(rc == 0 || rc == UV_EPIPE || rc == UV_EBADF);
    if (rc) {
        buf_fini(&w->b);
        free(w);
        s->s.is_broken = true;
    }
}

size_t real_stream_queued(const struct io_stream *stream)
{
    const struct real_stream *s = (const struct real_stream *)stream;

    if (!s->link)
        return s->waiting.len;
    return uv_stream_get_write_queue_size(&s->link->h.stream);
}

/* ---- ending ---- */

static void shut(uv_shutdown_t *req, int rc)
{
    struct link *l = container_of(req, struct link, shut);

    (void)rc; /* the reading side tells */
    if (!l->owner)
        link_close(l);
}

void real_stream_shutdown(struct io_stream *stream)
{
    struct real_stream *s = (struct real_stream *)stream;

    if (s->link)
        uv_shutdown(&s->link->shut, &s->link->h.stream, shut);
}

static void flush_took_too_long(void *ctx)
{
    link_close(ctx);
}

void real_stream_close(struct io_stream *stream, bool flush)
{
    struct real_stream *s = (struct real_stream *)stream;
    struct link *l = s->link;

    if (s->dial) {
        s->dial->owner = NULL; /* one of the callbacks frees it */
        if (s->dial->link)
            link_close(s->dial->link);
        else
            uv_cancel((uv_req_t *)&s->dial->dns);
    }
    if (l) {
        l->owner = NULL;
        uv_read_stop(&l->h.stream);
        if (flush && uv_stream_get_write_queue_size(&l->h.stream) &&
            (s->s.is_shut || uv_shutdown(&l->shut, &l->h.stream, shut) == 0)) {
            l->deadline = io_timer_new(stream->io, flush_took_too_long, l);
            io_timer_set(l->deadline, span_s(FLUSH_MAX_S));
        } else {
            link_close(l);
        }
    }
    buf_fini(&s->waiting);
    free(s);
}

void real_end_flush(uv_handle_t *h)
{
    struct link *l = h->data;

    if ((h->type == UV_TCP || h->type == UV_NAMED_PIPE) && !uv_is_closing(h) && l && !l->owner)
        link_close(l);
}

/* ---- connecting ---- */

static void try_next(struct dial *d, bool at_once);

static void dial_free(struct dial *d)
{
    uv_freeaddrinfo(d->found);
    free(d);
}

static void dial_fail(struct dial *d, const char *why, bool at_once)
{
    struct real_stream *s = d->owner;
    struct err err;

    err_set(&err, ERR_UNAVAILABLE, "cannot connect to '%s': %s", d->address, why);
    dial_free(d);
    if (!s)
        return;
    s->dial = NULL;
    if (at_once)
        io_stream_fail(&s->s, &err);
    else
        io_stream_end_now(&s->s, &err);
}

static void dial_done(struct dial *d, struct link *l)
{
    struct real_stream *s = d->owner;

    dial_free(d);
    s->dial = NULL;
    s->link = l;
    link_is_connected(l, &s->s.peer);
    if (s->wants_data)
        uv_read_start(&l->h.stream, give_buf, came);
    if (s->waiting.len) {
        struct buf b = s->waiting;
        s->waiting = (struct buf){0};
        real_stream_write(&s->s, &b, 0);
    }
    if (s->s.is_shut)
        uv_shutdown(&l->shut, &l->h.stream, shut);
}

static void connected(uv_connect_t *req, int rc)
{
    struct dial *d = container_of(req, struct dial, req);
    struct link *l = d->link;

    d->link = NULL;
    if (rc == 0 && d->owner) {
        dial_done(d, l);
        return;
    }
    l->owner = NULL;
    link_close(l);
    if (!d->owner)
        dial_free(d);
    else if (d->next)
        try_next(d, false);
    else
        dial_fail(d, uv_strerror(rc), false);
}

static void try_next(struct dial *d, bool at_once)
{
    struct io *io = d->owner->s.io;
    int rc = UV_EADDRNOTAVAIL;

    while (d->next) {
        struct addrinfo *ai = d->next;

        d->next = ai->ai_next;
        d->link = link_new(io, d->owner, false);
        rc = uv_tcp_connect(&d->req, &d->link->h.tcp, ai->ai_addr, connected);
        if (rc == 0)
            return;
        link_close(d->link);
    }
    dial_fail(d, uv_strerror(rc), at_once);
}

static void resolved(uv_getaddrinfo_t *req, int rc, struct addrinfo *found)
{
    struct dial *d = container_of(req, struct dial, dns);

    d->found = d->next = found;
    if (!d->owner)
        dial_free(d);
    else if (rc)
        dial_fail(d, uv_strerror(rc), false);
    else
        try_next(d, false);
}

static int connect_unix(struct dial *d, struct str path)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    scoped(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    memcpy(sa.sun_path, path.at, path.len);
    if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
        return -errno;
    struct link *l = link_new(d->owner->s.io, d->owner, true);
    int rc = uv_pipe_open(&l->h.pipe, fd);
    if (rc) {
        link_close(l);
        return rc;
    }
    fd = -1;
    dial_done(d, l);
    return 0;
}

struct io_stream *real_connect(struct io *io, struct str address)
{
    struct real_stream *s = mem_zero(1, sizeof(*s));
    struct dial *d = mem_zero(1, sizeof(*d));
    struct io_address a;
    struct err err;

    s->s.io = io;
    s->dial = d;
    d->owner = s;
    snprintf(d->address, sizeof(d->address), "%.*s", STR_ARG(address));
    snprintf(s->s.peer.address, sizeof(s->s.peer.address), "%.*s", STR_ARG(address));
    if (io_address_parse(address, &a, &err) < 0) {
        dial_fail(d, err.text, true);
        return &s->s;
    }
    if (a.type == IO_ADDRESS_SIM) {
        dial_fail(d, "there is no simulated world here", true);
        return &s->s;
    }
    if (a.type == IO_ADDRESS_UNIX) {
        int rc = connect_unix(d, a.host);
        if (rc)
            dial_fail(d, uv_strerror(rc), true);
        return &s->s;
    }

    char host[IO_MAX_HOST + 1], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    snprintf(host, sizeof(host), "%.*s", STR_ARG(a.host));
    snprintf(port, sizeof(port), "%u", a.port);
    /* A number needs no pool thread. */
    hints.ai_flags |= AI_NUMERICHOST;
    if (getaddrinfo(host, port, &hints, &d->found) == 0) {
        d->next = d->found;
        try_next(d, true);
        return &s->s;
    }
    hints.ai_flags &= ~AI_NUMERICHOST;
    int rc = uv_getaddrinfo(loop_of(io), &d->dns, resolved, host, port, &hints);
    if (rc)
        dial_fail(d, uv_strerror(rc), true);
    return &s->s;
}

/* ---- listening ---- */

struct real_listener {
    struct io_listener l; /* first */
    union {
        uv_handle_t any;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } h;
    char path[IO_MAX_UNIX_PATH + 1]; /* "" for TCP */
};

static void listener_free(uv_handle_t *h)
{
    free(h->data);
}

static void knocked(uv_stream_t *h, int status)
{
    struct real_listener *l = h->data;

    if (status < 0) {
        log_warn("connection not accepted", "address=%s error=\"%s\"", l->l.address,
                 uv_strerror(status));
        return;
    }
    struct real_stream *s = mem_zero(1, sizeof(*s));
    s->s.io = l->l.io;
    s->link = link_new(l->l.io, s, l->path[0] != 0);
    if (uv_accept(h, &s->link->h.stream)) {
        io_stream_close(&s->s, false);
        return;
    }
    link_is_connected(s->link, &s->s.peer);
    l->l.accept(l->l.ctx, &s->s);
}

static enum err_code listen_code(int error)
{
    switch (error) {
    case EADDRINUSE:
        return ERR_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_FORBIDDEN;
    case EADDRNOTAVAIL:
    case ENOENT:
    case ENOTDIR:
        return ERR_INVALID;
    default:
        return ERR_IO;
    }
}

static int bind_tcp(const struct io_address *a, struct str text, struct err *err)
{
    char host[IO_MAX_HOST + 1], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    int on = 1;

    snprintf(host, sizeof(host), "%.*s", STR_ARG(a->host));
    snprintf(port, sizeof(port), "%u", a->port);
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc)
        return err_set(err, ERR_INVALID, "cannot listen on '%.*s': %s", STR_ARG(text),
                       gai_strerror(rc));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        int why = errno;
        close_fd(&fd);
        freeaddrinfo(found);
        return err_set(err, listen_code(why), "cannot listen on '%.*s': %s", STR_ARG(text),
                       uv_strerror(-why));
    }
    freeaddrinfo(found);
    return fd;
}

/* Is this the socket file of a listener that is gone? */
static bool is_stale(const struct sockaddr_un *sa)
{
    struct stat st;
    scoped(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return lstat(sa->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && fd >= 0 &&
           connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0 && errno == ECONNREFUSED;
}

static int bind_unix(const struct io_address *a, uint32_t mode, struct err *err)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(sa.sun_path, a->host.at, a->host.len);
    /* The mode of the descriptor is what bind() gives the file, cut by the umask: it is never
     * open to more than asked for, and chmod() then gives all that was. */
    int rc = fd < 0 ? -1 : fchmod(fd, mode);
    if (rc == 0) {
        rc = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
        if (rc < 0 && errno == EADDRINUSE) {
            if (is_stale(&sa) && unlink(sa.sun_path) == 0)
                rc = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
            else
                errno = EADDRINUSE;
        }
    }
    if (rc < 0 || chmod(sa.sun_path, mode) < 0 || listen(fd, BACKLOG) < 0) {
        int why = errno;
        close_fd(&fd);
        return err_set(err, listen_code(why), "cannot listen on 'unix:%s': %s", sa.sun_path,
                       uv_strerror(-why));
    }
    return fd;
}

static void listener_init(struct real_listener *l, const struct io_address *a, int fd)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = sizeof(sa);
    int rc;

    if (a->type == IO_ADDRESS_UNIX) {
        snprintf(l->path, sizeof(l->path), "%.*s", STR_ARG(a->host));
        snprintf(l->l.address, sizeof(l->l.address), "unix:%s", l->path);
        uv_pipe_init(loop_of(l->l.io), &l->h.pipe, 0);
        rc = uv_pipe_open(&l->h.pipe, fd);
    } else {
        getsockname(fd, (struct sockaddr *)&sa, &len);
        sockaddr_text(&sa, l->l.address, sizeof(l->l.address));
        uv_tcp_init(loop_of(l->l.io), &l->h.tcp);
        rc = uv_tcp_open(&l->h.tcp, fd);
    }
    assert(rc == 0);
    l->h.any.data = l;
    rc = uv_listen(&l->h.stream, BACKLOG, knocked);
    assert(rc == 0);
}

struct io_listener *real_listen(struct io *io, struct str address, uint32_t mode,
                                io_accept_fn *accept, void *ctx, struct err *err)
{
    struct io_address a;

    if (io_address_parse(address, &a, err) < 0)
        return NULL;
    if (a.type == IO_ADDRESS_SIM) {
        err_set(err, ERR_INVALID, "cannot listen on '%.*s': there is no simulated world here",
                STR_ARG(address));
        return NULL;
    }
    int fd = a.type == IO_ADDRESS_UNIX ? bind_unix(&a, mode, err) : bind_tcp(&a, address, err);
    if (fd < 0)
        return NULL;

    struct real_listener *l = mem_zero(1, sizeof(*l));
    l->l = (struct io_listener){.io = io, .accept = accept, .ctx = ctx};
    listener_init(l, &a, fd);
    return &l->l;
}

void real_listener_close(struct io_listener *listener)
{
    struct real_listener *l = (struct real_listener *)listener;

    if (l->path[0])
        unlink(l->path);
    uv_close(&l->h.any, listener_free);
}
