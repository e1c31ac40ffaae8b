/* controller.c - runs a reconcile for each key that is ready, and awaits what it started
 *
 *     take ──▶ run: reconcile() ──▶ writes under way ──▶ last answer ──▶ done or back-off
 */
#include "control/cache_priv.h"
#include "control/controller_priv.h"
#include "control/workqueue.h"

#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"

#define DEFAULT_BUSY 64
#define RUNS_A_TURN UINT64_C(32) /* then others get their turn */
/* Of one run: each takes memory until it is answered, and many of them more than the processor
 * has at hand. */
#define WRITES_AT_ONCE 16
/* While many requests of clients are under way they come first: a controller runs when the loop
 * has nothing else to do, and in any case once for so many requests. */
#define ASKED_A_RUN 2

struct controller {
    struct control *control;
    struct controller_config config;
    struct workqueue *queue;
    struct list runs; /* those that await answers */
    uint64_t asked;   /* requests of clients when it last ran */
    bool is_resting;  /* work() comes when the loop has nothing else to do */
    VEC(struct source *) sources;
};

struct run {
    struct step step; /* first: a step is its run */
    struct arena arena;
    struct list in_runs;
    VEC(struct object *) held; /* in the arena */
    int n_pending;             /* writes not yet answered */
    int n_sent;                /* of them */
    struct list waiting;       /* the others */
    bool is_looking;           /* reconcile() has not returned */
    bool has_failed;
    struct span again; /* 0: not asked for */
};

enum write_verb { WRITE_GET, WRITE_CREATE, WRITE_UPDATE, WRITE_PATCH, WRITE_DELETE };

/* What it points to is in the run's arena, or in that of its caller where it is sent at once.
 */
struct write {
    struct run *run;
    struct list link; /* in run->waiting */
    enum write_verb verb;
    bool is_read;
    enum client_patch patch;
    struct client_target target;
    const struct json *body;
    struct client_patch_options patch_options;
    struct client_delete_options delete_options;
    struct str path, uid; /* for deletes */
    step_done_fn *done;
    void *ctx;
};

/* What turns a change of one kind into a key. */
struct source {
    struct controller *controller;
    const struct kind *kind;
};

static void work(void *ctx);
static void rested(void *ctx);

struct controller *controller_new(struct control *control,
                                  const struct controller_config *config)
{
    struct controller *c = mem_zero(1, sizeof(*c));

    *c = (struct controller){.control = control, .config = *config};
    if (c->config.max_busy == 0)
        c->config.max_busy = DEFAULT_BUSY;
    list_init(&c->runs);
    c->queue = workqueue_new(control_io(control), work, c);
    control_add_controller(control, c);
    return c;
}

static void run_free(struct run *r)
{
    list_del(&r->in_runs);
    vec_each (i, &r->held)
        object_unref(r->held.at[i]);
    arena_fini(&r->arena);
    free(r);
}

void controller_free(struct controller *c)
{
    io_later_cancel(control_io(c->control), work, c);
    io_later_cancel(control_io(c->control), rested, c);
    list_each (p, &c->runs)
        run_free(list_item(p, struct run, in_runs));
    workqueue_free(c->queue);
    vec_each (i, &c->sources)
        free(c->sources.at[i]);
    vec_fini(&c->sources);
    free(c);
}

struct str controller_name(const struct controller *c)
{
    return str_from(c->config.name);
}

void controller_start(struct controller *c)
{
    io_later(control_io(c->control), work, c);
}

/* ---- keys ---- */

void controller_queue(struct controller *c, struct str key)
{
    workqueue_add(c->queue, key);
}

void controller_queue_after(struct controller *c, struct str key, struct span after)
{
    workqueue_add_after(c->queue, key, after);
}

void controller_queue_object(struct controller *c, const struct object *o)
{
    controller_queue(c, object_path(o));
}

static void own_changed(void *ctx, struct cache_event *e)
{
    controller_queue_object(ctx, e->now ? e->now : e->old);
}

void controller_watch(struct controller *c, const struct kind *kind)
{
    cache_subscribe(control_cache(c->control, kind), own_changed, c);
}

static void queue_owner(struct source *s, struct object *o, const struct json *tree)
{
    scoped(arena_fini) struct arena a = arena_sized(512);
    const struct json *owners = json_path(tree, "metadata", "ownerReferences", NULL);

    json_each (i, owners) {
        const struct json *owner = json_at(owners, i);
        if (json_bool(json_getz(owner, "controller"), false) &&
            str_eq(json_str(json_getz(owner, "apiVersion")), s->kind->api_version) &&
            str_eq(json_str(json_getz(owner, "kind")), s->kind->kind))
            controller_queue(s->controller,
                             cache_path(&a, s->kind->namespaced ? object_key(o).ns : S(""),
                                        json_str(json_getz(owner, "name"))));
    }
}

static void owned_changed(void *ctx, struct cache_event *e)
{
    if (e->now)
        queue_owner(ctx, e->now, cache_event_now(e));
    if (e->old)
        queue_owner(ctx, e->old, cache_event_old(e));
}

void controller_watch_owned(struct controller *c, const struct kind *owned,
                            const struct kind *kind)
{
    struct source *s = mem_zero(1, sizeof(*s));

    *s = (struct source){c, kind};
    vec_push(&c->sources, s);
    cache_subscribe(control_cache(c->control, owned), owned_changed, s);
}

/* ---- runs ---- */

static void end_run(struct run *r)
{
    struct controller *c = r->step.controller;

    if (r->again.ns && !r->has_failed)
        workqueue_add_after(c->queue, r->step.key, r->again);
    workqueue_done(c->queue, r->step.key, r->has_failed);
    run_free(r);
    if (workqueue_busy(c->queue) + 1 == c->config.max_busy)
        io_later(control_io(c->control), work, c); /* a place is free again */
}

static void start_run(struct controller *c, struct str key)
{
    struct run *r = mem_zero(1, sizeof(*r));
    struct err err = {0};

    r->arena = arena_sized(8 << 10);
    r->step = (struct step){.controller = c,
                            .control = c->control,
                            .ctx = c->config.ctx,
                            .arena = &r->arena,
                            .key = key,
                            .now = io_now(control_io(c->control))};
    if (!str_cut(key, '/', &r->step.ns, &r->step.name)) {
        r->step.name = key;
        r->step.ns = S("");
    }
    list_init(&r->waiting);
    list_add(&c->runs, &r->in_runs);
    r->is_looking = true;
    if (c->config.reconcile(&r->step, &err) < 0) {
        log_debug("reconcile failed", "controller=%s key=%.*s why=\"%s\"", c->config.name,
                  STR_ARG(key), err.text);
        r->has_failed = true;
    }
    r->is_looking = false;
    if (r->n_pending == 0)
        end_run(r);
}

static void rested(void *ctx)
{
    struct controller *c = ctx;

    c->is_resting = false;
    work(c);
}

/* How many may start now. */
static uint64_t runs_of_turn(struct controller *c, bool *is_pressed)
{
    struct client_load load = client_load(control_client(c->control));
    uint64_t asked = load.so_far - c->asked;

    c->asked = load.so_far;
    *is_pressed = control_is_pressed(c->control);
    return *is_pressed ? MIN(1 + asked / ASKED_A_RUN, RUNS_A_TURN) : RUNS_A_TURN;
}

static void come_back(struct controller *c, bool is_pressed)
{
    if (!is_pressed)
        io_later(control_io(c->control), work, c);
    else if (!c->is_resting)
        io_rest(control_io(c->control), rested, c);
    c->is_resting |= is_pressed;
}

static void work(void *ctx)
{
    struct controller *c = ctx;
    struct str key;
    bool is_pressed;

    if (!control_is_ready(c->control))
        return; /* controller_start() follows */
    uint64_t most = runs_of_turn(c, &is_pressed);
    for (uint64_t n = 0; workqueue_busy(c->queue) < c->config.max_busy; n++) {
        if (n == most) {
            come_back(c, is_pressed);
            return;
        }
        if (!workqueue_take(c->queue, &key))
            return;
        start_run(c, key);
    }
}

void step_again(struct step *s, struct span after)
{
    struct run *r = container_of(s, struct run, step);

    if (r->again.ns == 0 || after.ns < r->again.ns)
        r->again = (struct span){MAX(after.ns, INT64_C(1))};
}

struct object *step_hold(struct step *s, struct object *o)
{
    struct run *r = container_of(s, struct run, step);

    vec_push_in(s->arena, &r->held, object_ref(o));
    return o;
}

void step_ignore_error(struct step *s)
{
    container_of(s, struct run, step)->has_failed = false;
}

/* ---- writes ---- */

static void keep_cache_fresh(struct write *w, const struct client_answer *answer)
{
    struct cache *cache = control_cache_if_any(w->run->step.control, w->target.kind);

    if (!cache || answer->err || w->is_read)
        return;
    if (answer->object)
        cache_offer(cache, answer->object);
    else if (w->verb == WRITE_DELETE)
        cache_forget(cache, w->path, w->uid);
}

static void send(struct write *w);

static void send_next(struct run *r)
{
    if (list_empty(&r->waiting))
        return;
    struct write *w = list_item(r->waiting.next, struct write, link);
    list_del(&w->link);
    send(w);
}

static void write_done(void *ctx, const struct client_answer *answer)
{
    struct write *w = ctx;

    if (answer->err && answer->err->code == ERR_CANCELED)
        return; /* the controller is gone, and its client goes */
    struct run *r = w->run;
    r->n_sent--;
    keep_cache_fresh(w, answer);
    bool may_miss = w->verb == WRITE_DELETE || w->is_read;
    if (answer->err && !(may_miss && answer->err->code == ERR_NOT_FOUND)) {
        log_debug("write failed", "controller=%s key=%.*s why=\"%s\"",
                  r->step.controller->config.name, STR_ARG(r->step.key), answer->err->text);
        r->has_failed = true;
    }
    if (w->done)
        w->done(&r->step, w->ctx, answer);
    send_next(r);
    if (--r->n_pending == 0 && !r->is_looking)
        end_run(r);
}

static void send(struct write *w)
{
    struct client *c = control_client(w->run->step.control);

    w->run->n_sent++;
    switch (w->verb) {
    case WRITE_GET:
        client_get(c, &w->target, write_done, w);
        return;
    case WRITE_CREATE:
        client_create(c, &w->target, w->body, write_done, w);
        return;
    case WRITE_UPDATE:
        client_update(c, &w->target, w->body, write_done, w);
        return;
    case WRITE_PATCH:
        client_patch(c, &w->target, w->patch, w->body, &w->patch_options, write_done, w);
        return;
    case WRITE_DELETE:
        client_delete(c, &w->target, &w->delete_options, write_done, w);
        return;
    }
}

/* Its turn comes when others are answered: until then it owns what it says. */
static void keep_waiting(struct write *w)
{
    struct arena *a = w->run->step.arena;

    w->target.ns = str_copy(a, w->target.ns);
    w->target.name = str_copy(a, w->target.name);
    w->target.subresource = str_copy(a, w->target.subresource);
    w->body = w->body && !w->target.is_lent ? json_copy(a, w->body) : w->body;
    w->patch_options.manager = str_copy(a, w->patch_options.manager);
    w->delete_options.propagation = str_copy(a, w->delete_options.propagation);
    w->delete_options.uid = str_copy(a, w->delete_options.uid);
    w->delete_options.resource_version = str_copy(a, w->delete_options.resource_version);
    list_add(&w->run->waiting, &w->link);
}

static void begin(struct step *s, struct write *what)
{
    struct write *w = arena_copy(s->arena, what);

    w->run = container_of(s, struct run, step);
    w->run->n_pending++;
    if (w->run->n_sent < WRITES_AT_ONCE)
        send(w);
    else
        keep_waiting(w);
}

void step_get(struct step *s, const struct client_target *t, step_done_fn *done, void *ctx)
{
    begin(s, &(struct write){
                 .verb = WRITE_GET, .is_read = true, .target = *t, .done = done, .ctx = ctx});
}

void step_create(struct step *s, const struct client_target *t, const struct json *body,
                 step_done_fn *done, void *ctx)
{
    begin(s, &(struct write){
                 .verb = WRITE_CREATE, .target = *t, .body = body, .done = done, .ctx = ctx});
}

/* What it answers is not the object itself. */
void step_post(struct step *s, const struct client_target *t, const struct json *body,
               step_done_fn *done, void *ctx)
{
    begin(s, &(struct write){.verb = WRITE_CREATE,
                             .is_read = true,
                             .target = *t,
                             .body = body,
                             .done = done,
                             .ctx = ctx});
}

void step_update(struct step *s, const struct kind *kind, struct str ns, struct str name,
                 struct str subresource, const struct json *body, step_done_fn *done, void *ctx)
{
    begin(s, &(struct write){
                 .verb = WRITE_UPDATE,
                 .target = {.kind = kind, .ns = ns, .name = name, .subresource = subresource},
                 .body = body,
                 .done = done,
                 .ctx = ctx
    });
}

void step_patch(struct step *s, const struct client_target *t, enum client_patch type,
                const struct json *body, const struct client_patch_options *options,
                step_done_fn *done, void *ctx)
{
    static const struct client_patch_options no_options = {.force = false};

    begin(s, &(struct write){.verb = WRITE_PATCH,
                             .patch = type,
                             .target = *t,
                             .body = body,
                             .patch_options = options ? *options : no_options,
                             .done = done,
                             .ctx = ctx});
}

void step_delete(struct step *s, const struct client_target *t,
                 const struct client_delete_options *options, step_done_fn *done, void *ctx)
{
    struct cache *cache = control_cache_if_any(s->control, t->kind);
    struct object *o = cache ? cache_get(cache, t->ns, t->name) : NULL;

    begin(s, &(struct write){.verb = WRITE_DELETE,
                             .target = *t,
                             .delete_options =
                                 options ? *options
                                         : (struct client_delete_options){.grace_s = -1},
                             .path = str_copy(s->arena, cache_path(s->arena, t->ns, t->name)),
                             .uid = o ? str_copy(s->arena, object_uid(o)) : S(""),
                             .done = done,
                             .ctx = ctx});
}
