/* keeper_conn.c - berth on the keeper's socket: what it asks, what it is told */
#include "runtime/keeper_priv.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 65536

static bool is_allowed(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

void conn_accept(struct keeper *k)
{
    int fd = accept4(k->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (!is_allowed(fd) || k->n_conns >= KEEPER_MAX_CONNS) {
        log_warn("keeper refused a connection", "connections=%zu", k->n_conns);
        close(fd);
        return;
    }
    struct conn *c = mem_zero(1, sizeof(*c));
    c->watched.type = WATCH_CONN;
    c->fd = fd;
    list_add(&k->conns, &c->link);
    k->n_conns++;
    k->had_conn = true;
    if (keeper_watch(k, fd, &c->watched) < 0)
        c->is_broken = true;
}

/* ---- what it is told ---- */

static void put_status(struct conn *c, const struct box *b)
{
    size_t begun = wire_begin(&c->out, WIRE_STATUS);

    wire_put_status(&c->out, &b->st, (struct str){0});
    wire_end(&c->out, begun);
    if (c->out.len > KEEPER_MAX_UNSENT)
        c->is_broken = true; /* it comes back and is told everything anew */
}

void conn_tell_status(struct keeper *k, const struct box *b)
{
    if (b->is_forgotten)
        return;
    list_each (p, &k->conns) {
        struct conn *c = list_item(p, struct conn, link);
        if (c->knows_version && !c->is_broken)
            put_status(c, b);
    }
}

static void refuse(struct conn *c, struct str id, const struct err *err)
{
    size_t begun = wire_begin(&c->out, WIRE_REFUSED);

    wire_str(&c->out, TAG_ID, id);
    wire_u64(&c->out, TAG_CODE, (uint64_t)err->code);
    wire_str(&c->out, TAG_ERROR, err_str(err));
    wire_end(&c->out, begun);
}

static void answer_hello(struct keeper *k, struct conn *c)
{
    size_t begun = wire_begin(&c->out, WIRE_HELLO);

    wire_u64(&c->out, TAG_VERSION, WIRE_VERSION);
    wire_u64(&c->out, TAG_PID, (uint64_t)getpid());
    wire_u64(&c->out, TAG_IS_ROOT, geteuid() == 0);
    wire_str(&c->out, TAG_CONDITION, str_from(k->host.condition));
    wire_end(&c->out, begun);
    c->knows_version = true;
    list_each (p, &k->boxes) {
        struct box *b = list_item(p, struct box, link);
        if (!b->is_forgotten && !b->starting.next)
            put_status(c, b); /* those that start now are told when they have */
    }
    begun = wire_begin(&c->out, WIRE_LISTED);
    wire_end(&c->out, begun);
}

/* ---- what it asks ---- */

static void ask_start(struct keeper *k, struct conn *c, struct str fields)
{
    scoped(arena_fini) struct arena a = arena_sized(8192);
    struct runtime_spec spec = {0};
    struct err err = {0};

    if (wire_get_spec(&a, fields, &spec, &err) < 0) {
        refuse(c, spec.id, &err);
    } else if (map_get(&k->by_id, spec.id)) {
        err_set(&err, ERR_EXISTS, "container '%.*s' has been started already",
                STR_ARG(spec.id));
        refuse(c, spec.id, &err);
    } else if (k->n_boxes >= KEEPER_MAX_BOXES || k->is_ending) {
        err_set(&err, ERR_LIMIT, "the keeper holds %zu containers already, the limit is %d",
                k->n_boxes, KEEPER_MAX_BOXES);
        refuse(c, spec.id, &err);
    } else {
        box_add(k, &spec);
    }
}

/* ID and the numbers of STOP and FORGET. */
static struct box *find_box(struct keeper *k, struct str fields, int64_t *grace_ms)
{
    struct wire_field f;
    struct box **b = NULL;

    while (wire_field(&fields, &f, NULL) > 0) {
        if (f.tag == TAG_ID)
            b = map_get(&k->by_id, f.bytes);
        else if (f.tag == TAG_GRACE_MS)
            *grace_ms = (int64_t)wire_number(f);
    }
    return b ? *b : NULL;
}

static void handle(struct keeper *k, struct conn *c, const struct wire_frame *f)
{
    int64_t grace_ms = 0;
    struct box *b;

    if (!c->knows_version && f->type != WIRE_HELLO) {
        c->is_broken = true;
        return;
    }
    switch ((enum wire_type)f->type) {
    case WIRE_HELLO:
        answer_hello(k, c);
        break;
    case WIRE_START:
        ask_start(k, c, f->fields);
        break;
    case WIRE_STOP:
        box_start_all(k); /* it may be one of those */
        b = find_box(k, f->fields, &grace_ms);
        if (b)
            box_stop(k, b, MIN(MAX(grace_ms, (int64_t)0), INT64_C(1) << 40));
        break;
    case WIRE_FORGET:
        b = find_box(k, f->fields, &grace_ms);
        if (b)
            box_forget(k, b);
        break;
    default:
        break; /* a newer berth's */
    }
}

void conn_ready(struct keeper *k, struct conn *c, uint32_t events)
{
    struct wire_frame f;
    struct err err = {0};
    int rc = 0;

    (void)events;
    ssize_t n = read(c->fd, buf_room(&c->in, READ_BYTES), READ_BYTES);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        c->is_broken = true;
        return;
    }
    c->in.len += n > 0 ? (size_t)n : 0;
    struct str rest = buf_str(&c->in);
    while (!c->is_broken && (rc = wire_next(&rest, &f, &err)) > 0)
        handle(k, c, &f);
    if (rc < 0) {
        log_error("keeper got what it cannot read", "error='%s'", err.text);
        c->is_broken = true;
    }
    buf_drop(&c->in, c->in.len - rest.len);
    if (c->in.len == 0 && c->in.cap > READ_BYTES * 2)
        buf_fini(&c->in);
}

/* ---- sending ---- */

static void flush(struct keeper *k, struct conn *c)
{
    ssize_t n = send(c->fd, c->out.at, c->out.len, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        c->is_broken = true;
    if (n > 0)
        buf_drop(&c->out, (size_t)n);
    bool is_waiting = c->out.len > 0;
    struct epoll_event e = {.events = EPOLLIN | (is_waiting ? EPOLLOUT : 0),
                            .data.ptr = &c->watched};
    if (is_waiting != c->is_waiting)
        epoll_ctl(k->epoll, EPOLL_CTL_MOD, c->fd, &e);
    c->is_waiting = is_waiting;
    if (c->out.len == 0 && c->out.cap > READ_BYTES)
        buf_fini(&c->out);
}

void conn_flush_all(struct keeper *k)
{
    list_each (p, &k->conns) {
        struct conn *c = list_item(p, struct conn, link);
        if (!c->is_broken && c->out.len)
            flush(k, c);
        if (!c->is_broken)
            continue;
        list_del(&c->link);
        epoll_ctl(k->epoll, EPOLL_CTL_DEL, c->fd, NULL);
        close(c->fd);
        buf_fini(&c->in);
        buf_fini(&c->out);
        free(c);
        k->n_conns--;
    }
}
