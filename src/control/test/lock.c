/* lock.c - tests of control/lock.c: two who want one Lease, and what happens to them */
#include "control/lock.h"

#include "api/kinds.h"
#include "base/testing.h"
#include "client/client.h"
#include "io/io.h"
#include "object/object.h"
#include "json/json.h"

/* A server that knows one Lease. */
struct world {
    struct client client; /* first */
    struct io *io;
    struct object *lease;
    uint64_t revision;
    struct span slow; /* until a call arrives, and again until its answer does */
    bool is_down;     /* every call fails */
    struct buf told;  /* "a+15 " after 15 s, "a-" ... */
    struct span began;
    struct lock *locks[2];
};

struct call {
    struct world *w;
    struct io_timer *timer;
    struct arena arena;
    const struct json *body; /* NULL: get */
    bool is_create, has_arrived;
    client_done_fn *done;
    void *ctx;
    struct client_answer answer;
    struct err err;
};

static void arrive(struct call *c)
{
    struct world *w = c->w;
    struct str version = json_str(json_path(c->body, "metadata", "resourceVersion", NULL));
    uint64_t expect = 0;

    c->answer.err = &c->err;
    if (w->is_down)
        err_set(&c->err, ERR_UNAVAILABLE, "nobody listens");
    else if (c->is_create && w->lease)
        err_set(&c->err, ERR_EXISTS, "it is there");
    else if (!c->is_create && !w->lease)
        err_set(&c->err, ERR_NOT_FOUND, "there is none");
    else if (c->body && !c->is_create &&
             (!str_to_u64(version, &expect) || expect != w->revision))
        err_set(&c->err, ERR_CONFLICT, "it has changed");
    else
        c->answer.err = NULL;
    if (c->answer.err)
        return;
    if (c->body) {
        object_unref(w->lease);
        w->lease = object_new(&kind_lease, c->body);
        object_set_revision(w->lease, ++w->revision);
    }
    c->answer.object = object_ref(w->lease);
}

static void call_moves(void *ctx)
{
    struct call *c = ctx;

    if (!c->has_arrived) {
        c->has_arrived = true;
        arrive(c);
        io_timer_set(c->timer, c->w->slow);
        return;
    }
    c->done(c->ctx, &c->answer);
    object_unref(c->answer.object);
    io_timer_free(c->timer);
    arena_fini(&c->arena);
    free(c);
}

static struct call *call(struct client *client, const struct json *body, client_done_fn *done,
                         void *ctx)
{
    struct call *c = mem_zero(1, sizeof(*c));

    *c = (struct call){.w = (struct world *)client, .done = done, .ctx = ctx};
    c->body = body ? json_copy(&c->arena, body) : NULL;
    c->timer = io_timer_new(c->w->io, call_moves, c);
    io_timer_set(c->timer, c->w->slow);
    return c;
}

static void get(struct client *client, const struct client_target *t unused,
                client_done_fn *done, void *ctx)
{
    call(client, NULL, done, ctx);
}

static void create(struct client *client, const struct client_target *t unused,
                   const struct json *body, client_done_fn *done, void *ctx)
{
    call(client, body, done, ctx)->is_create = true;
}

static void update(struct client *client, const struct client_target *t unused,
                   const struct json *body, client_done_fn *done, void *ctx)
{
    call(client, body, done, ctx);
}

static const struct client_ops ops = {.get = get, .create = create, .update = update};

static void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){.client = {&ops}, .io = io_sim_new(seed, (struct instant){SECOND_NS})};
    w->slow = span_ms(1);
    w->began = io_uptime(w->io);
}

static void run(struct world *w, int64_t s)
{
    io_run_until(w->io, instant_add(io_now(w->io), span_s(s)));
}

static void world_fini(struct world *w)
{
    lock_free(w->locks[0]);
    lock_free(w->locks[1]);
    run(w, 1000); /* calls are answered */
    object_unref(w->lease);
    buf_fini(&w->told);
    io_free(w->io);
}

static void tell(struct world *w, const char *what)
{
    int64_t ns = io_uptime(w->io).ns - w->began.ns;

    buf_printf(&w->told, "%s%" PRId64 " ", what, ns / SECOND_NS);
    check(!(w->locks[0] && w->locks[1] && lock_is_held(w->locks[0]) &&
            lock_is_held(w->locks[1])));
}

static void a_taken(void *ctx)
{
    tell(ctx, "a+");
}
static void a_lost(void *ctx)
{
    tell(ctx, "a-");
}
static void b_taken(void *ctx)
{
    tell(ctx, "b+");
}
static void b_lost(void *ctx)
{
    tell(ctx, "b-");
}

static void join(struct world *w, int i)
{
    struct lock_config c = {.ns = S("kube-system"),
                            .name = S("l"),
                            .identity = i ? S("b") : S("a"),
                            .taken = i ? b_taken : a_taken,
                            .lost = i ? b_lost : a_lost,
                            .ctx = w};

    w->locks[i] = lock_new(w->io, &w->client, &c);
}

static void leave(struct world *w, int i)
{
    lock_free(w->locks[i]);
    w->locks[i] = NULL;
}

static void check_told(struct world *w, const char *want)
{
    check_samez(str_trim(buf_str(&w->told)), want);
    buf_clear(&w->told);
    w->began = io_uptime(w->io);
}

/* Somebody edits the Lease by hand. */
static void edit(struct world *w, const char *holder, const char *label)
{
    scoped(arena_fini) struct arena a = {0};
    const struct json *v = object_tree(w->lease, &a);

    if (holder)
        v = json_with(&a, v, json_of_str(str_from(holder)), "spec", "holderIdentity", NULL);
    if (label)
        v = json_with(&a, v, json_of_str(str_from(label)), "metadata", "labels", "l", NULL);
    object_unref(w->lease);
    w->lease = object_new(&kind_lease, v);
    object_set_revision(w->lease, ++w->revision);
}

static int64_t spec_number(struct world *w, const char *name)
{
    scoped(arena_fini) struct arena a = {0};
    const struct json *spec = json_getz(object_tree(w->lease, &a), "spec");

    return json_i64(json_get(spec, str_from(name)), -1);
}

/* The first comes, then the second; a minute goes by. */
static void two(struct world *w, uint64_t seed)
{
    world_init(w, seed);
    join(w, 0);
    run(w, 1);
    join(w, 1);
    run(w, 60);
    check_told(w, "a+0");
    check_samez(lock_holder(w->locks[1]), "a");
    check_int(spec_number(w, "leaseTransitions"), 0);
}

TEST(one_holds_it_and_the_other_waits)
{
    struct world w;

    two(&w, 1);
    check(lock_is_held(w.locks[0]));
    check(!lock_is_held(w.locks[1]));
    world_fini(&w);
}

TEST(a_holder_that_died_is_waited_for_and_followed)
{
    struct world w;

    for (uint64_t seed = 1; seed < 20; seed++) {
        two(&w, seed);
        leave(&w, 0);
        run(&w, 12);
        check_told(&w, ""); /* its last renewal was 2 s ago at most */
        run(&w, 7);
        check(lock_is_held(w.locks[1]));
        check_int(spec_number(&w, "leaseTransitions"), 1);
        world_fini(&w);
    }
}

static void count(void *ctx)
{
    ++*(int *)ctx;
}

TEST(what_is_given_back_is_taken_soon)
{
    struct world w;
    int n = 0;

    two(&w, 1);
    lock_release(w.locks[0], count, &n);
    check(!lock_is_held(w.locks[0]));
    run(&w, 4);
    check_int(n, 1);
    check(lock_is_held(w.locks[1]));
    lock_release(w.locks[0], count, &n); /* what is not ours stays as it is */
    run(&w, 30);
    check_int(n, 2);
    check(lock_is_held(w.locks[1]));
    world_fini(&w);
}

TEST(who_cannot_renew_gives_up_before_another_may_take_it)
{
    struct world w;

    two(&w, 1);
    w.is_down = true;
    run(&w, 7);
    check_told(&w, "");
    check(lock_is_held(w.locks[0]));
    run(&w, 60);
    check_told(&w, "a-2"); /* 10 s after the last renewal, up to 2 s before */
    w.is_down = false;
    run(&w, 5);
    check(lock_is_held(w.locks[0]) != lock_is_held(w.locks[1]));
    world_fini(&w);
}

TEST(a_clock_that_jumps_changes_nothing)
{
    static const int64_t jumps[] = {3600, -7200, 86400 * 365, -1};
    struct world w;

    two(&w, 1);
    for (size_t i = 0; i < countof(jumps); i++) {
        io_sim_set_clock(w.io, instant_add(io_now(w.io), span_s(jumps[i])));
        run(&w, 40);
        check(lock_is_held(w.locks[0]));
    }
    check_told(&w, "");
    world_fini(&w);
}

TEST(a_renewal_that_meets_an_edit_is_made_again)
{
    struct world w;

    two(&w, 1);
    for (int i = 0; i < 20; i++) {
        edit(&w, NULL, i % 2 ? "x" : "y");
        run(&w, 3);
        check(lock_is_held(w.locks[0]));
    }
    check_told(&w, "");
    edit(&w, "somebody",
         NULL); /* takes it away: known at the next renewal, not at the deadline */
    run(&w, 3);
    check(!lock_is_held(w.locks[0]));
    check_samez(lock_holder(w.locks[0]), "somebody");
    run(&w, 20); /* who never renews it */
    check(lock_is_held(w.locks[0]) != lock_is_held(w.locks[1]));
    world_fini(&w);
}

TEST(an_answer_that_comes_past_the_deadline_is_no_lock)
{
    struct world w;

    world_init(&w, 1);
    w.slow = span_s(6);
    join(&w, 0);
    run(&w, 100);
    check_told(&w, "");
    w.slow = span_s(1);
    run(&w, 30);
    check(lock_is_held(w.locks[0]));
    world_fini(&w);
}

TEST(whatever_happens_it_is_never_held_twice)
{
    int n_taken = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct world w;

        world_init(&w, seed);
        join(&w, 0);
        join(&w, 1);
        for (int i = 0; i < 60; i++) {
            uint64_t r = io_random(w.io);
            w.slow = span_ms((int64_t)(r % 4000));
            w.is_down = (r >> 16) % 4 == 0;
            if ((r >> 24) % 8 == 0)
                io_sim_set_clock(w.io,
                                 instant_add(io_now(w.io), span_s((int64_t)(r >> 32) % 999)));
            for (int s = 0; s < 10; s++) {
                run(&w, 1);
                check(!(lock_is_held(w.locks[0]) && lock_is_held(w.locks[1])));
                n_taken += lock_is_held(w.locks[0]) || lock_is_held(w.locks[1]);
            }
            if ((r >> 40) % 6 == 0) {
                leave(&w, (int)(r >> 50) % 2);
                join(&w, (int)(r >> 50) % 2);
            }
        }
        world_fini(&w);
    }
    check(n_taken > 200 * 600 / 3);
}
