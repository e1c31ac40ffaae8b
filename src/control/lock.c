/* lock.c - looking for a Lease, taking it, renewing it, giving it back
 *
 *     attempt ─▶ held: put, by the revision we saw ──▶ refused
 *        │                                              │
 *        └─▶ not held: ─────────▶ get ◀─────────────────┘
 *                                  ├─▶ another's, and not run out: look again later
 *                                  └─▶ none: create    else: put
 *
 * One call is under way at a time. What counts as the time of a renewal is the moment before
 * the call left: nobody saw the change earlier.
 */
#include "control/lock.h"

#include "api/kinds.h"
#include "client/client.h"
#include "io/io.h"
#include "object/object.h"
#include "value/time.h"
#include "json/json.h"

#define RELEASE_TRIES 3

struct lock {
    struct io *io;
    struct client *client;
    struct lock_config c;
    struct arena arena;     /* of c's strs */
    struct io_timer *again; /* the next attempt */
    struct io_timer *end;   /* the deadline, while it is held */
    struct object *seen;    /* the Lease as we saw it last; NULL: never, or there is none */
    struct buf holder;      /* its word */
    struct span changed;    /* uptime when its spec was last seen to change */
    struct span sent;       /* uptime when the call under way left */
    struct span renewed;    /* the same of our last good one */
    bool is_held, is_busy, is_freed;
    bool is_giving; /* the put under way has nobody's name in it */
    int n_tries;    /* to give it back */
    void (*released)(void *ctx);
    void *released_ctx;
};

bool lock_is_held(const struct lock *l)
{
    return l->is_held && io_uptime_now(l->io).ns - l->renewed.ns < l->c.deadline.ns;
}

struct str lock_holder(const struct lock *l)
{
    return buf_str(&l->holder);
}

/* ---- what we know ---- */

static const struct json *spec_of(const struct object *o, struct arena *a)
{
    return o ? json_getz(object_tree(o, a), "spec") : NULL;
}

/* A change of labels is no sign of life. */
static void see(struct lock *l, struct object *o)
{
    scoped(arena_fini) struct arena a = {0};
    const struct json *spec = spec_of(o, &a);

    if (!l->seen || !spec || !json_eq(spec, spec_of(l->seen, &a)))
        l->changed = io_uptime(l->io);
    object_unref(l->seen);
    l->seen = o ? object_ref(o) : NULL;
    buf_clear(&l->holder);
    buf_add(&l->holder, json_str(json_getz(spec, "holderIdentity")));
}

static bool is_ours(const struct lock *l)
{
    return str_eq(lock_holder(l), l->c.identity);
}

/* Somebody else has it, and it has not run out. */
static bool is_taken(const struct lock *l)
{
    scoped(arena_fini) struct arena a = {0};
    const struct json *lasts = json_getz(spec_of(l->seen, &a), "leaseDurationSeconds");

    return lock_holder(l).len && !is_ours(l) &&
           io_uptime(l->io).ns - l->changed.ns < span_s(json_i64(lasts, 0)).ns;
}

/* ---- held, lost ---- */

static void lose(void *ctx)
{
    struct lock *l = ctx;

    if (!l->is_held)
        return;
    l->is_held = false;
    io_timer_stop(l->end);
    log_debug("lease lost", "name=%.*s/%.*s identity=%.*s holder=%.*s", STR_ARG(l->c.ns),
              STR_ARG(l->c.name), STR_ARG(l->c.identity), STR_ARG(lock_holder(l)));
    if (l->c.lost)
        l->c.lost(l->c.ctx);
}

static void hold(struct lock *l)
{
    struct span left = {l->sent.ns + l->c.deadline.ns - io_uptime(l->io).ns};

    if (left.ns <= 0)
        return; /* the answer took too long to be of use */
    l->renewed = l->sent;
    io_timer_set(l->end, left);
    if (l->is_held)
        return;
    l->is_held = true;
    if (l->c.taken)
        l->c.taken(l->c.ctx);
}

/* Those who look do not all look at the same moment. */
static void try_again(struct lock *l)
{
    int64_t after = l->c.retry.ns;

    if (!l->is_held)
        after += (int64_t)(io_random(l->io) % (uint64_t)after);
    io_timer_set(l->again, (struct span){after});
}

static void finish_release(struct lock *l)
{
    void (*released)(void *ctx) = l->released;

    l->released = NULL;
    released(l->released_ctx);
}

/* ---- the body ---- */

static struct json metadata_of(struct lock *l, struct arena *a)
{
    const struct json *was = l->seen ? json_getz(object_tree(l->seen, a), "metadata") : NULL;
    struct json_obj o = was ? obj_from(a, was) : obj_in(a);

    obj_setz(&o, "namespace", json_of_str(l->c.ns));
    obj_setz(&o, "name", json_of_str(l->c.name));
    return obj_done(&o);
}

/* What is there, in our name and of now; its revision makes the put strict. */
static struct json body_of(struct lock *l, struct arena *a)
{
    const struct json *was = spec_of(l->seen, a);
    struct json_obj o = obj_in(a), spec = was ? obj_from(a, was) : obj_in(a);
    int64_t hands = json_i64(json_getz(was, "leaseTransitions"), 0);
    struct json now = json_of_str(time_text_micro(a, io_now(l->io)));

    obj_setz(&spec, "holderIdentity", json_of_str(l->is_giving ? S("") : l->c.identity));
    obj_setz(&spec, "leaseDurationSeconds",
             json_of_i64(l->is_giving ? 1 : l->c.duration.ns / SECOND_NS));
    if (l->is_giving || !is_ours(l))
        obj_setz(&spec, "acquireTime", now);
    obj_setz(&spec, "renewTime", now);
    obj_setz(&spec, "leaseTransitions", json_of_i64(hands + (l->seen && !is_ours(l))));
    obj_setz(&o, "metadata", metadata_of(l, a));
    obj_setz(&o, "spec", obj_done(&spec));
    return obj_done(&o);
}

/* ---- calls ---- */

static void leave(struct lock *l)
{
    l->is_busy = true;
    l->sent = io_uptime(l->io);
}

/* After every answer: false where nobody wants to know any more. */
static bool is_wanted(struct lock *l)
{
    bool is_wanted = !l->is_freed;

    l->is_busy = false;
    if (!is_wanted)
        free(l);
    return is_wanted;
}

static void got(void *ctx, const struct client_answer *answer);
static void put_done(void *ctx, const struct client_answer *answer);

static void look(struct lock *l)
{
    struct client_target t = {.kind = &kind_lease, .ns = l->c.ns, .name = l->c.name};

    leave(l);
    client_get(l->client, &t, got, l);
}

static void put(struct lock *l)
{
    scoped(arena_fini) struct arena a = {0};
    struct client_target t = {.kind = &kind_lease, .ns = l->c.ns};
    struct json body = body_of(l, &a);

    leave(l);
    if (!l->seen) {
        client_create(l->client, &t, &body, put_done, l);
        return;
    }
    t.name = l->c.name;
    client_update(l->client, &t, &body, put_done, l);
}

static void got(void *ctx, const struct client_answer *answer)
{
    struct lock *l = ctx;

    if (!is_wanted(l))
        return;
    bool is_known = !answer->err || answer->err->code == ERR_NOT_FOUND;
    if (is_known)
        see(l, answer->object);
    if (l->released) {
        l->is_giving = true;
        if (is_known && l->seen && is_ours(l))
            put(l);
        else
            finish_release(l);
        return;
    }
    if (is_known && !is_ours(l))
        lose(l);
    if (is_known && !is_taken(l))
        put(l);
    else
        try_again(l);
}

static void put_done(void *ctx, const struct client_answer *answer)
{
    struct lock *l = ctx;

    if (!is_wanted(l))
        return;
    if (!answer->err)
        see(l, answer->object);
    if (l->released) {
        bool is_over = l->is_giving && (!answer->err || answer->err->code != ERR_CONFLICT);
        if (is_over || l->n_tries++ == RELEASE_TRIES)
            finish_release(l);
        else
            look(l);
        return;
    }
    if (answer->err && l->is_held) {
        look(l); /* who wrote it? */
        return;
    }
    if (!answer->err)
        hold(l);
    try_again(l);
}

static void attempt(void *ctx)
{
    struct lock *l = ctx;

    if (l->is_busy)
        return;
    if (l->is_held && l->seen)
        put(l);
    else
        look(l);
}

/* ---- life ---- */

struct lock *lock_new(struct io *io, struct client *client, const struct lock_config *config)
{
    struct lock *l = mem_zero(1, sizeof(*l));

    *l = (struct lock){.io = io, .client = client, .c = *config};
    l->c.ns = str_copy(&l->arena, config->ns);
    l->c.name = str_copy(&l->arena, config->name);
    l->c.identity = str_copy(&l->arena, config->identity);
    if (!l->c.duration.ns)
        l->c.duration = LOCK_DURATION;
    if (!l->c.deadline.ns)
        l->c.deadline = LOCK_DEADLINE;
    if (!l->c.retry.ns)
        l->c.retry = LOCK_RETRY;
    assert(l->c.duration.ns > l->c.deadline.ns && l->c.duration.ns % SECOND_NS == 0);
    assert(l->c.deadline.ns * 5 >= l->c.retry.ns * 6);
    l->again = io_timer_new(io, attempt, l);
    l->end = io_timer_new(io, lose, l);
    io_timer_set(l->again, (struct span){0});
    return l;
}

void lock_release(struct lock *l, void (*done)(void *ctx), void *ctx)
{
    l->released = done;
    l->released_ctx = ctx;
    l->is_held = false;
    io_timer_stop(l->again);
    io_timer_stop(l->end);
    if (!l->is_busy)
        look(l);
}

void lock_free(struct lock *l)
{
    if (!l)
        return;
    io_timer_free(l->again);
    io_timer_free(l->end);
    object_unref(l->seen);
    buf_fini(&l->holder);
    arena_fini(&l->arena);
    l->is_freed = true;
    if (!l->is_busy)
        free(l);
}
