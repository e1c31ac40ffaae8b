/* crash.c - the controllers die after their first, second, ... write, and begin anew
 *
 * What they wrote is durable, what they were about to write is not; no answer to a write that
 * was under way reaches them. Whatever the moment, the end is the same: no pod is made twice,
 * each is counted once, no finalizer stays behind.
 */
#include "client/client.h"
#include "control/control.h"
#include "controllers/controllers.h"
#include "io/io.h"
#include "node/hollow.h"
#include "object/object.h"
#include "server/server.h"

#include "api/find.h"
#include "api/kinds.h"
#include "base/testing.h"
#include "json/json.h"

#define FINALIZER "batch.kubernetes.io/job-tracking"
#define RUN_MOST span_s(3600)
#define WRITES_MOST 400 /* of one story */

/* ---- a client whose owner dies ---- */

struct call;

struct life {
    struct client client; /* first */
    struct client *inner;
    struct io *io;
    size_t writes_left;
    bool is_dead;
    VEC(struct call *) unsent; /* what came too late: canceled in the end, as clients promise */
};

struct call {
    struct life *life;
    client_done_fn *done;
    client_list_fn *listed;
    void *ctx;
};

static struct life *life_of(struct client *c)
{
    return (struct life *)(void *)c;
}

static struct call *call_new(struct life *l, client_done_fn *done, void *ctx)
{
    struct call *call = mem_zero(1, sizeof(*call));

    *call = (struct call){.life = l, .done = done, .ctx = ctx};
    return call;
}

/* Who is dead hears nothing of how it ended. */
static void answered(void *ctx, const struct client_answer *answer)
{
    const struct err gone = {.code = ERR_CANCELED};
    struct client_answer canceled = {.err = &gone};
    struct call *call = ctx;

    if (call->done)
        call->done(call->ctx, call->life->is_dead ? &canceled : answer);
    free(call);
}

static void listed(void *ctx, const struct client_list_answer *answer)
{
    struct call *call = ctx;

    if (!call->life->is_dead)
        call->listed(call->ctx, answer);
    free(call);
}

/* The call to write with, or NULL where that comes too late. */
static struct call *write_new(struct life *l, client_done_fn *done, void *ctx)
{
    struct call *call = call_new(l, done, ctx);

    if (!l->is_dead && l->writes_left-- > 0)
        return call;
    vec_push(&l->unsent, call);
    if (!l->is_dead)
        io_stop(l->io);
    l->is_dead = true;
    return NULL;
}

static void life_get(struct client *c, const struct client_target *t, client_done_fn *done,
                     void *ctx)
{
    struct call *call = call_new(life_of(c), done, ctx);

    if (life_of(c)->is_dead)
        vec_push(&life_of(c)->unsent, call);
    else
        client_get(life_of(c)->inner, t, answered, call);
}

static void life_create(struct client *c, const struct client_target *t,
                        const struct json *body, client_done_fn *done, void *ctx)
{
    struct call *call = write_new(life_of(c), done, ctx);

    if (call)
        client_create(life_of(c)->inner, t, body, answered, call);
}

static void life_update(struct client *c, const struct client_target *t,
                        const struct json *body, client_done_fn *done, void *ctx)
{
    struct call *call = write_new(life_of(c), done, ctx);

    if (call)
        client_update(life_of(c)->inner, t, body, answered, call);
}

static void life_patch(struct client *c, const struct client_target *t, enum client_patch type,
                       const struct json *body, const struct client_patch_options *options,
                       client_done_fn *done, void *ctx)
{
    struct call *call = write_new(life_of(c), done, ctx);

    if (call)
        client_patch(life_of(c)->inner, t, type, body, options, answered, call);
}

static void life_remove(struct client *c, const struct client_target *t,
                        const struct client_delete_options *options, client_done_fn *done,
                        void *ctx)
{
    struct call *call = write_new(life_of(c), done, ctx);

    if (call)
        client_delete(life_of(c)->inner, t, options, answered, call);
}

static void life_list(struct client *c, const struct client_target *t,
                      const struct client_select *sel, client_list_fn *done, void *ctx)
{
    struct call *call = call_new(life_of(c), NULL, ctx);

    call->listed = done;
    client_list(life_of(c)->inner, t, sel, listed, call);
}

static struct client_watch *life_watch(struct client *c, const struct client_target *t,
                                       const struct client_select *sel, uint64_t revision,
                                       client_watch_fn *event, void *ctx)
{
    return client_watch(life_of(c)->inner, t, sel, revision, event, ctx);
}

static void life_watch_stop(struct client_watch *w)
{
    struct life *l = life_of(w->client);

    w->client = l->inner;
    client_watch_stop(w);
}

static void life_free(struct client *c)
{
    struct life *l = life_of(c);

    vec_each (i, &l->unsent)
        answered(l->unsent.at[i], NULL);
    vec_fini(&l->unsent);
    free(l);
}

static const struct client_ops life_ops = {
    .get = life_get,
    .create = life_create,
    .update = life_update,
    .patch = life_patch,
    .remove = life_remove,
    .list = life_list,
    .watch = life_watch,
    .watch_stop = life_watch_stop,
    .free = life_free,
};

/* ---- a world ---- */

/* One pod that ever was, by its uid. */
struct spied {
    char phase[16];
    bool has_finalizer, is_there;
};

struct world {
    struct arena arena;
    struct io *io;
    struct server *server;
    struct client *client; /* its user's, who lives */
    struct life *life;
    VEC(struct life *) lives; /* answers under way still come to those that are over */
    struct control *control;
    struct controllers *controllers;
    struct hollow *hollow;
    MAP(struct spied) pods;
    const struct json *job; /* as it was last */
    bool is_done;
    struct err err;
};

static void see_pod(struct world *w, const struct json *pod, bool is_there)
{
    struct str uid = json_str(json_path(pod, "metadata", "uid", NULL));
    struct str phase = json_str(json_path(pod, "status", "phase", NULL));
    const struct json *finalizers = json_path(pod, "metadata", "finalizers", NULL);
    struct spied *p = map_get(&w->pods, uid);

    if (!p)
        p = map_put(&w->pods, str_copy(&w->arena, uid));
    snprintf(p->phase, sizeof(p->phase), "%.*s", STR_ARG(phase));
    p->is_there = is_there;
    p->has_finalizer = false;
    json_each (i, finalizers)
        p->has_finalizer |= str_eqz(json_str(json_at(finalizers, i)), FINALIZER);
}

static void tap(void *ctx, const char *verb, uint64_t revision, const struct object *o)
{
    struct world *w = ctx;
    const struct kind *kind = object_key(o).kind;
    const struct json *v;
    bool is_there = strcmp(verb, "DELETED") != 0;

    (void)revision;
    if (kind == &kind_pod) {
        see_pod(w, json_parse(&w->arena, object_bytes(o, &w->arena), NULL, NULL), is_there);
    } else if (kind == &kind_job) {
        v = json_parse(&w->arena, object_bytes(o, &w->arena), NULL, NULL);
        w->job = is_there ? v : NULL;
    }
}

static void done(void *ctx, const struct err *err)
{
    struct world *w = ctx;

    w->is_done = true;
    if (err)
        w->err = *err;
    io_stop(w->io);
}

static void stored(void *ctx, const struct client_answer *answer)
{
    done(ctx, answer->err);
}

static void run(struct world *w, struct span span)
{
    io_run_until(w->io, instant_add(io_now(w->io), span));
}

/* The same, also where a death on the way stops the loop. */
static void let_pass(struct world *w, struct span span)
{
    struct instant end = instant_add(io_now(w->io), span);

    while (instant_before(io_now(w->io), end))
        io_run_until(w->io, end);
}

static void await(struct world *w)
{
    for (int i = 0; i < 100 && !w->is_done; i++)
        run(w, span_s(1));
    if (!check(w->is_done && !w->err.code))
        fprintf(stderr, "    %s\n", w->err.text);
    w->is_done = false;
    w->err = (struct err){0};
}

static void begin(struct world *w, size_t n_writes)
{
    struct controllers_config which = {0};
    struct err err = {0};

    w->life = mem_zero(1, sizeof(*w->life));
    *w->life = (struct life){
        .client.ops = &life_ops, .inner = w->client, .io = w->io, .writes_left = n_writes};
    vec_push(&w->lives, w->life);
    w->control = control_new(w->io, &w->life->client, S("berth"));
    w->controllers = controllers_start(w->control, &which, &err);
    w->hollow = hollow_new(w->control);
}

static void end(struct world *w)
{
    hollow_free(w->hollow);
    control_free(w->control);
    controllers_free(w->controllers);
    w->hollow = NULL;
    w->life->is_dead = true;
}

static void add(struct world *w, const char *text)
{
    scoped(arena_fini) struct arena a = arena_sized(8 << 10);
    const struct json *v = json_parse(&a, str_from(text), NULL, NULL);
    const struct kind *k =
        kind_of(json_str(json_getz(v, "apiVersion")), json_str(json_getz(v, "kind")));
    struct client_target t = {.kind = k, .ns = k->namespaced ? S("default") : S("")};

    client_create(w->client, &t, v, stored, w);
    await(w);
}

static void open_world(struct world *w)
{
    *w = (struct world){.arena = arena_sized(64 << 10)};
    w->io = io_sim_new(1, (struct instant){INT64_C(1767225600) * SECOND_NS});
    w->server = server_new(w->io, &(struct server_config){0});
    server_bootstrap(w->server, done, w);
    await(w);
    w->client = server_client(w->server, &server_berth);
    hollow_make_nodes(w->client, 1, done, w);
    await(w);
    add(w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
           "\"metadata\":{\"name\":\"default\"}}");
    add(w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
           "\"metadata\":{\"name\":\"default\"},\"spec\":{\"namespaceSelector\":{},"
           "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":"
           "\"default\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    add(w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
           "{\"name\":\"default\"},\"spec\":{\"clusterQueue\":\"default\"}}");
    server_tap(w->server, tap, w);
}

static void close_world(struct world *w)
{
    client_free(w->client);
    server_free(w->server);
    vec_each (i, &w->lives)
        client_free(&w->lives.at[i]->client);
    vec_fini(&w->lives);
    io_free(w->io);
    map_fini(&w->pods);
    arena_fini(&w->arena);
}

/* ---- stories ---- */

struct story {
    const char *name, *labels, *spec, *notes, *more;
    const char *end; /* the condition; NULL: the Job is gone */
    int32_t succeeded, failed;
    int32_t pods;       /* that were made; at most so many where something happens meanwhile */
    const char *patch;  /* of the Job, while pods run */
    const char *delete; /* the same */
};

#define ACT_AFTER span_ms(1500)

#define TWO "\"completions\":2,\"parallelism\":2,"
#define THREE "\"completions\":3,\"parallelism\":2,"
#define INDEXED "\"completionMode\":\"Indexed\","
#define FAILS "\"berth.dev/exit-code\":\"1\","
#define ONE_IS_ENOUGH "\"successPolicy\":{\"rules\":[{\"succeededCount\":1}]},"
#define SELECTS_A "\"manualSelector\":true,\"selector\":{\"matchLabels\":{\"app\":\"a\"}},"
#define LOOSE_POD                                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"loose\",\"labels\":{"    \
    "\"app\":\"a\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","   \
    "\"image\":\"x\",\"command\":[\"x\"]}]}}"
#define SUSPEND "{\"spec\":{\"suspend\":true}}"
#define RESUME "{\"spec\":{\"suspend\":false}}"

/* clang-format off */
static const struct story stories[] = {
    {.name = "three, two at a time",
     .spec = THREE,
     .end = "Complete",
     .succeeded = 3,
     .pods = 3},
    {.name = "three indexes",
     .spec = INDEXED THREE,
     .end = "Complete",
     .succeeded = 3,
     .pods = 3},
    {.name = "two failures end it",
     .spec = "\"backoffLimit\":1,",
     .notes = FAILS,
     .end = "Failed",
     .failed = 2,
     .pods = 2},
    {.name = "each index fails twice",
     .spec = INDEXED "\"backoffLimitPerIndex\":1," TWO,
     .notes = FAILS,
     .end = "Failed",
     .failed = 4,
     .pods = 4},
    {.name = "through a queue",
     .labels = "\"kueue.x-k8s.io/queue-name\":\"default\"",
     .spec = TWO,
     .end = "Complete",
     .succeeded = 2,
     .pods = 2},
    {.name = "a pod that was there is adopted",
     .spec = SELECTS_A "\"completions\":2,",
     .more = LOOSE_POD,
     .end = "Complete",
     .succeeded = 2,
     .pods = 2},
    {.name = "the first success is enough",
     .spec = INDEXED ONE_IS_ENOUGH "\"completions\":3,\"parallelism\":1,",
     .end = "Complete",
     .succeeded = 1,
     .pods = 1},
    {.name = "suspended, and resumed later",
     .spec = TWO,
     .patch = SUSPEND,
     .end = "Complete",
     .succeeded = 2,
     .pods = 4},
    {.name = "deleted, its pods first", .spec = TWO, .delete = "Foreground", .pods = 2},
    {.name = "deleted, its pods afterwards", .spec = TWO, .delete = "Background", .pods = 2},
    {.name = "scaled down to one",
     .spec = INDEXED TWO,
     .patch = "{\"spec\":{\"completions\":1,\"parallelism\":1}}",
     .end = "Complete",
     .succeeded = 1,
     .pods = 2},
};
/* clang-format on */

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

static void add_job(struct world *w, const struct story *s)
{
    if (s->more)
        add(w, s->more);
    add(w,
        str_printf(&w->arena,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
                   "\"labels\":{%s}},\"spec\":{%s\"template\":{\"metadata\":{\"labels\":{"
                   "\"app\":\"a\"},\"annotations\":{%s\"berth.dev/run-for\":\"3s\"}},\"spec\":{"
                   "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":"
                   "\"x\",\"command\":[\"x\"],\"resources\":{\"requests\":{\"cpu\":\"1\"}}"
                   "}]}}}}%c",
                   or_nothing(s->labels), s->spec, or_nothing(s->notes), 0)
            .at);
}

static bool has_condition(const struct json *job, const char *type)
{
    const struct json *all = json_path(job, "status", "conditions", NULL);

    json_each (i, all)
        if (str_eqz(json_str(json_getz(json_at(all, i), "type")), type))
            return str_eqz(json_str(json_getz(json_at(all, i), "status")), "True");
    return false;
}

static int64_t count_of(const struct json *job, const char *field)
{
    return json_i64(json_get(json_getz(job, "status"), str_from(field)), 0);
}

static void judge(struct world *w, const struct story *s)
{
    int32_t n_living = 0, n_held = 0, n_there = 0;

    map_each (i, &w->pods) {
        const struct spied *p = map_at(&w->pods, i);
        n_living += p->is_there && strcmp(p->phase, "Succeeded") && strcmp(p->phase, "Failed");
        n_held += p->is_there && p->has_finalizer;
        n_there += p->is_there;
    }
    if (s->patch || s->delete)
        check(map_len(&w->pods) <= (size_t)s->pods);
    else
        check_int(map_len(&w->pods), (size_t)s->pods);
    check_int(n_living, 0);
    check_int(n_held, 0);
    if (!s->end) {
        check(w->job == NULL);
        check_int(n_there, 0);
        return;
    }
    check(has_condition(w->job, s->end));
    check_int(count_of(w->job, "succeeded"), s->succeeded);
    check_int(count_of(w->job, "failed"), s->failed);
    check_int(count_of(w->job, "active"), 0);
}

static void patch_job(struct world *w, const char *text)
{
    struct client_target t = {.kind = &kind_job, .ns = S("default"), .name = S("j")};
    const struct json *v = json_parse(&w->arena, str_from(text), NULL, NULL);

    client_patch(w->client, &t, CLIENT_PATCH_MERGE, v, NULL, stored, w);
    await(w);
}

static void act(struct world *w, const struct story *s)
{
    struct client_target t = {.kind = &kind_job, .ns = S("default"), .name = S("j")};
    struct client_delete_options options = {.grace_s = -1};

    let_pass(w, ACT_AFTER);
    if (s->patch)
        patch_job(w, s->patch);
    if (!s->delete)
        return;
    options.propagation = str_from(s->delete);
    client_delete(w->client, &t, &options, stored, w);
    await(w);
}

/* True where the controllers came to the end before they had written so often. */
static bool tell_with_death_after(const struct story *s, size_t n_writes)
{
    struct world w;
    bool is_whole;

    open_world(&w);
    begin(&w, n_writes);
    add_job(&w, s);
    act(&w, s);
    let_pass(&w, span_s(60));
    is_whole = !w.life->is_dead;
    end(&w);
    begin(&w, n_writes % 5); /* and once more, soon */
    let_pass(&w, span_s(60));
    end(&w);
    begin(&w, SIZE_MAX);
    if (s->patch && strcmp(s->patch, SUSPEND) == 0)
        patch_job(&w, RESUME);
    let_pass(&w, RUN_MOST);
    end(&w);
    judge(&w, s);
    close_world(&w);
    return is_whole;
}

TEST(death_between_any_two_writes)
{
    for (size_t i = 0; i < countof(stories); i++) {
        size_t n = 0;
        char name[128];
        do {
            snprintf(name, sizeof(name), "%s: dies after write %zu", stories[i].name, n);
            test_case(name);
        } while (!tell_with_death_after(&stories[i], n) && ++n < WRITES_MOST);
        check(n < WRITES_MOST);
    }
}
