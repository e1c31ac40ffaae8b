/* sim_stream.c - byte streams between ends of one simulated world
 *
 * A connection is two halves; what is written to one waits in the other's `in` until a turn
 * delivers a piece of it, cut where the seed says:
 *
 *     client half                    server half
 *     in: [........]  ◀── write ──   in: [..........|.....]
 *                     ── write ──▶        taken by  | queued: past WINDOW
 *                                        its kernel |
 */
#include "io/address.h"
#include "io/sim_priv.h"

#define WINDOW ((size_t)64 << 10) /* bytes that the receiver's kernel would take */

struct half {
    struct io_stream s; /* first */
    struct half *other; /* NULL: gone */
    struct buf in;
    size_t in_from; /* bytes of `in` that were given out */
    bool in_end;    /* after `in`, the other side's end */
    bool is_reading;
    bool is_due;   /* delivery is a task, or a timer */
    bool was_full; /* somebody waits for drained() */
    bool in_call;  /* delivers now: close() leaves the freeing to it */
    bool is_closed;
    struct io_timer *delay;
    char target[sizeof(((struct io_listener *)0)->address)]; /* of a knock */
};

struct sim_listener {
    struct io_listener l; /* first */
    struct list link;
};

static void deliver(void *ctx);

static struct sim *sim_of(const struct half *h)
{
    return (struct sim *)h->s.io;
}

static size_t in_len(const struct half *h)
{
    return h->in.len - h->in_from;
}

static void schedule(struct half *h)
{
    struct sim *sim = sim_of(h);

    if (h->is_due || h->in_call || !h->is_reading || (!in_len(h) && !h->in_end))
        return;
    h->is_due = true;
    if (sim->faults.max_delay.ns <= 0) {
        io_later(h->s.io, deliver, h);
        return;
    }
    if (!h->delay)
        h->delay = io_timer_new(h->s.io, deliver, h);
    uint64_t ns = random_below(&sim->random, (uint64_t)sim->faults.max_delay.ns + 1);
    io_timer_set(h->delay, (struct span){(int64_t)ns});
}

static void half_free(struct half *h)
{
    io_timer_free(h->delay);
    buf_fini(&h->in);
    free(h);
}

static size_t cut(struct sim *sim, size_t len)
{
    switch (random_below(&sim->random, 4)) {
    case 0:
        return 1 + random_below(&sim->random, MIN(len, (size_t)16));
    case 1:
        return 1 + random_below(&sim->random, len);
    default:
        return len;
    }
}

static void break_half(struct half *h)
{
    struct err err;

    if (!h)
        return;
    err_set(&err, ERR_UNAVAILABLE, "the connection to '%s' broke: the simulation chose so",
            h->s.peer.address);
    buf_fini(&h->in);
    h->in_from = 0;
    if (h->other)
        h->other->other = NULL;
    h->other = NULL;
    io_stream_fail(&h->s, &err);
}

/* Hands one piece to its reader. The bytes leave `in` first: the reader may cause more. */
static void give_piece(struct half *h)
{
    struct sim *sim = sim_of(h);
    size_t n = cut(sim, in_len(h));
    struct buf piece = {0};

    if (h->in_from == 0 && n == h->in.len) {
        piece = h->in;
        h->in = (struct buf){0};
    } else {
        buf_add(&piece, str_slice(buf_str(&h->in), h->in_from, h->in_from + n));
        h->in_from += n;
        if (h->in_from > h->in.len / 2) {
            buf_drop(&h->in, h->in_from);
            h->in_from = 0;
        }
    }
    if (h->other && h->other->was_full && in_len(h) <= WINDOW) {
        h->other->was_full = false;
        io_stream_drained(&h->other->s);
    }
    h->s.events->data(h->s.ctx, buf_str(&piece));
    buf_fini(&piece);
}

static void deliver(void *ctx)
{
    struct half *h = ctx;
    struct sim *sim = sim_of(h);

    h->is_due = false;
    if (!h->is_reading || h->s.is_ended)
        return;
    if (in_len(h) && sim->faults.break_one_in &&
        random_below(&sim->random, sim->faults.break_one_in) == 0) {
        struct half *other = h->other;
        break_half(h);
        break_half(other);
        return;
    }
    h->in_call = true;
    if (in_len(h))
        give_piece(h);
    else if (h->in_end)
        io_stream_end_now(&h->s, NULL);
    h->in_call = false;
    if (h->is_closed)
        half_free(h);
    else
        schedule(h);
}

void sim_stream_reading(struct io_stream *s, bool on)
{
    struct half *h = (struct half *)s;

    h->is_reading = on;
    schedule(h);
}

size_t sim_stream_queued(const struct io_stream *s)
{
    const struct half *h = (const struct half *)s;

    return h->other && in_len(h->other) > WINDOW ? in_len(h->other) - WINDOW : 0;
}

size_t sim_stream_try(struct io_stream *s, struct str bytes)
{
    struct half *h = (struct half *)s, *to = h->other;

    if (!to)
        return bytes.len; /* into the void, as with a peer that left */
    size_t room = in_len(to) < WINDOW ? WINDOW - in_len(to) : 0;
    size_t n = MIN(room, bytes.len);
    buf_add(&to->in, str_slice(bytes, 0, n));
    schedule(to);
    if (n == bytes.len)
        io_stream_drained(s);
    return n;
}

void sim_stream_write(struct io_stream *s, struct buf *b, size_t from)
{
    struct half *h = (struct half *)s, *to = h->other;

    if (to) {
        buf_add(&to->in, str_slice(buf_str(b), from, b->len));
        h->was_full = in_len(to) > WINDOW;
        schedule(to);
    }
    buf_fini(b);
}

static void end_other(struct half *h)
{
    if (!h->other)
        return;
    h->other->in_end = true;
    schedule(h->other);
}

void sim_stream_shutdown(struct io_stream *s)
{
    end_other((struct half *)s);
}

void sim_stream_close(struct io_stream *s, bool flush)
{
    struct half *h = (struct half *)s;

    if (h->other) {
        struct half *to = h->other;
        if (!flush && in_len(to) > WINDOW)
            to->in.len = to->in_from + WINDOW;
        end_other(h);
        to->other = NULL;
    }
    if (h->is_due && !(h->delay && io_timer_is_set(h->delay)))
        io_later_cancel(s->io, deliver, h);
    h->is_closed = true;
    if (!h->in_call)
        half_free(h);
}

/* ---- connecting and listening ---- */

static struct sim_listener *find(struct sim *sim, const char *address)
{
    list_each (l, &sim->listeners) {
        struct sim_listener *x = list_item(l, struct sim_listener, link);
        if (str_eqz(str_from(address), x->l.address))
            return x;
    }
    return NULL;
}

/* The other half comes to its listener, or finds none. */
static void knock(void *ctx)
{
    struct half *h = ctx;
    struct sim_listener *l = find(sim_of(h), h->target);
    struct err err;

    if (l) {
        l->l.accept(l->l.ctx, &h->s);
        return;
    }
    err_set(&err, ERR_UNAVAILABLE, "cannot connect to '%s': connection refused", h->target);
    if (h->other) {
        h->other->other = NULL;
        io_stream_fail(&h->other->s, &err);
    }
    io_stream_fini(&h->s);
    half_free(h);
}

static void address_text(struct sim *sim, const struct io_address *a, struct str text,
                         char *out, size_t size)
{
    unsigned port = a->port;

    if (a->type != IO_ADDRESS_TCP) {
        snprintf(out, size, "%.*s", STR_ARG(text));
        return;
    }
    if (port == 0)
        port = sim->next_port++;
    if (str_eq(a->host, S("localhost")))
        snprintf(out, size, "127.0.0.1:%u", port);
    else
        snprintf(out, size, "%.*s:%u", STR_ARG(a->host), port);
}

static struct half *half_new(struct io *io, const struct io_address *a, uint64_t n)
{
    struct half *h = mem_zero(1, sizeof(*h));

    h->s.io = io;
    if (a->type == IO_ADDRESS_UNIX)
        h->s.peer = (struct io_peer){.is_local = true, .pid = 1, .address = "@"};
    else
        snprintf(h->s.peer.address, sizeof(h->s.peer.address), "sim:%" PRIu64, n);
    return h;
}

struct io_stream *sim_connect(struct io *io, struct str address)
{
    struct sim *sim = (struct sim *)io;
    struct io_address a = {0};
    struct err err;
    int rc = io_address_parse(address, &a, &err);
    struct half *client = half_new(io, &a, sim->n_streams++);

    if (rc < 0) {
        err.code = ERR_UNAVAILABLE;
        io_stream_fail(&client->s, &err);
        return &client->s;
    }
    struct half *server = half_new(io, &a, sim->n_streams++);
    address_text(sim, &a, address, server->target, sizeof(server->target));
    client->other = server;
    server->other = client;
    io_later(io, knock, server);
    return &client->s;
}

struct io_listener *sim_listen(struct io *io, struct str address, uint32_t mode,
                               io_accept_fn *accept, void *ctx, struct err *err)
{
    struct sim *sim = (struct sim *)io;
    struct sim_listener *l;
    struct io_address a;

    (void)mode;
    if (io_address_parse(address, &a, err) < 0)
        return NULL;
    l = mem_zero(1, sizeof(*l));
    l->l = (struct io_listener){.io = io, .accept = accept, .ctx = ctx};
    address_text(sim, &a, address, l->l.address, sizeof(l->l.address));
    if (find(sim, l->l.address)) {
        err_set(err, ERR_EXISTS, "cannot listen on '%.*s': address already in use",
                STR_ARG(address));
        free(l);
        return NULL;
    }
    list_add(&sim->listeners, &l->link);
    return &l->l;
}

void sim_listener_close(struct io_listener *listener)
{
    struct sim_listener *l = (struct sim_listener *)listener;

    list_del(&l->link);
    free(l);
}
