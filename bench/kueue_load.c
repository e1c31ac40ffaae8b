/* kueue_load.c - plays a shape against a server, and the part of the jobs behind its Workloads
 *
 *     a timer for each set ──▶ create          a watch of all Workloads ──▶ serve()
 *
 * A set's Workloads come one after the other, as Kueue's own generator makes them: one that is
 * late is sent when the one before is answered, and its wait counts from when it was due.
 * Whoever is admitted runs for its time and is finished then; whoever is evicted gives its
 * quota back at once, as a job does whose pods are gone. One write of a Workload is under way
 * at a time.
 */
#include "kueue.h"

#include "api/kinds.h"
#include "client/client.h"
#include "controllers/workload_edit.h"
#include "io/io.h"
#include "object/object.h"
#include "json/json.h"

#define NAMESPACE "default"
#define IN_FLIGHT 64 /* objects made at a time, before the load */

struct set {
    struct kueue_load *load;
    struct io_timer *timer;
    int queue; /* in all */
    size_t class;
    int made;
    bool is_creating;
};

struct work {
    struct kueue_load *load;
    struct str name;
    struct object *object; /* the newest version seen */
    struct io_timer *timer;
    struct span arrived, admitted;
    uint64_t sent; /* the version that the last write was made from */
    size_t class;
    bool is_writing, is_due, is_running, is_done;
};

struct kueue_load {
    struct io *io;
    struct client *submit, *jobs;
    const struct kueue_shape *shape;
    struct arena arena; /* names, works, sets */
    struct set *sets;
    size_t n_sets, n_queues;
    MAP(struct work *) works;
    struct client_watch *watch;
    size_t n_made, n_setup, in_flight; /* before the load */
    struct span start;
    void (*ready)(void *ctx), (*end)(void *ctx);
    void *ctx;
    struct kueue_result result;
};

static struct span since(const struct kueue_load *l)
{
    return (struct span){io_uptime(l->io).ns - l->start.ns};
}

static double as_ms(struct span s)
{
    return (double)s.ns / 1e6;
}

/* ---- before the load: flavor, ClusterQueues, LocalQueues ---- */

static struct str queue_text(struct kueue_load *l, struct arena *a, size_t i)
{
    const struct kueue_shape *s = l->shape;

    return str_printf(
        a,
        "{\"metadata\":{\"name\":\"cq-%zu\"},\"spec\":{\"cohortName\":\"cohort-%zu\","
        "\"namespaceSelector\":{},\"queueingStrategy\":\"BestEffortFIFO\",\"preemption\":{"
        "\"reclaimWithinCohort\":\"Any\",\"withinClusterQueue\":\"LowerPriority\"},"
        "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"rf\","
        "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%d\",\"borrowingLimit\":\"%d\"}]"
        "}]}]}}",
        i, i / (size_t)s->queues, s->nominal, s->borrow);
}

/* Number 0 is the flavor; then ClusterQueues; then their LocalQueues. */
static void setup_one(struct kueue_load *l, size_t n, client_done_fn *done)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct client_target t = {.kind = &kind_kueue_resource_flavor};
    struct str text = S("{\"metadata\":{\"name\":\"rf\"}}");

    if (n > l->n_queues) {
        t = (struct client_target){.kind = &kind_kueue_local_queue, .ns = S(NAMESPACE)};
        text = str_printf(
            &a, "{\"metadata\":{\"name\":\"lq-%zu\"},\"spec\":{\"clusterQueue\":\"cq-%zu\"}}",
            n - 1 - l->n_queues, n - 1 - l->n_queues);
    } else if (n > 0) {
        t.kind = &kind_kueue_cluster_queue;
        text = queue_text(l, &a, n - 1);
    }
    client_create(l->submit, &t, json_parse(&a, text, NULL, NULL), done, l);
}

static void changed(void *ctx, const struct watch_event *e);
static void take(struct kueue_load *l, struct object *o);

static void listed(void *ctx, const struct client_list_answer *answer)
{
    struct client_target t = {.kind = &kind_kueue_workload, .ns = S(NAMESPACE)};
    struct kueue_load *l = ctx;

    if (answer->err)
        die("cannot list Workloads: %s", answer->err->text);
    client_watch_stop(l->watch);
    l->watch = client_watch(l->jobs, &t, NULL, answer->revision, changed, l);
    for (size_t i = 0; i < answer->n_items; i++)
        take(l, answer->items[i]);
    if (!l->end)
        l->ready(l->ctx);
}

static void list(struct kueue_load *l)
{
    struct client_target t = {.kind = &kind_kueue_workload, .ns = S(NAMESPACE)};

    client_list(l->jobs, &t, NULL, listed, l);
}

static void set_up(void *ctx, const struct client_answer *answer)
{
    struct kueue_load *l = ctx;
    size_t all = 1 + 2 * l->n_queues;

    if (answer && answer->err)
        die("cannot set up: %s", answer->err->text);
    l->in_flight -= answer != NULL;
    while (l->n_setup < all && l->in_flight < IN_FLIGHT) {
        l->in_flight++;
        setup_one(l, l->n_setup++, set_up);
    }
    if (l->n_setup == all && l->in_flight == 0)
        list(l);
}

struct kueue_load *kueue_load_new(struct io *io, struct client *submit, struct client *jobs,
                                  const struct kueue_shape *s, void (*ready)(void *ctx),
                                  void *ctx)
{
    struct kueue_load *l = mem_zero(1, sizeof(*l));

    *l = (struct kueue_load){.io = io,
                             .submit = submit,
                             .jobs = jobs,
                             .shape = s,
                             .arena = arena_sized(1 << 20),
                             .n_queues = (size_t)(s->cohorts * s->queues),
                             .ready = ready,
                             .ctx = ctx};
    l->n_sets = l->n_queues * KUEUE_CLASSES;
    l->sets = arena_array(&l->arena, struct set, l->n_sets);
    set_up(l, NULL);
    return l;
}

void kueue_load_free(struct kueue_load *l)
{
    if (!l)
        return;
    client_watch_stop(l->watch);
    for (size_t i = 0; i < l->n_sets; i++)
        io_timer_free(l->sets[i].timer);
    map_each (i, &l->works) {
        struct work *w = *map_at(&l->works, i);
        io_timer_free(w->timer);
        object_unref(w->object);
    }
    map_fini(&l->works);
    kueue_waits_fini(&l->result.waits);
    arena_fini(&l->arena);
    free(l);
}

const struct kueue_result *kueue_load_result(struct kueue_load *l)
{
    return &l->result;
}

/* ---- one Workload ---- */

static void serve(struct work *w);

static void see(struct work *w, struct object *o)
{
    if (w->is_done || (w->object && object_revision(o) <= object_revision(w->object)))
        return;
    object_unref(w->object);
    w->object = object_ref(o);
}

static void written(void *ctx, const struct client_answer *answer)
{
    struct work *w = ctx;
    struct kueue_load *l = w->load;

    if (answer->err && answer->err->code == ERR_CANCELED)
        return;
    w->is_writing = false;
    if (answer->err && answer->err->code == ERR_CONFLICT)
        l->result.conflicts++; /* the version that won is on its way */
    else if (answer->err && l->result.errors++ == 0)
        fprintf(stderr, "a write failed: %s\n", answer->err->text);
    if (answer->object)
        see(w, answer->object);
    if (w->object && object_revision(w->object) > w->sent)
        serve(w);
}

static void send(struct work *w, const struct workload_edit *e)
{
    struct client_target t = {.kind = &kind_kueue_workload,
                              .ns = S(NAMESPACE),
                              .name = w->name,
                              .subresource = S("status")};
    struct workload_request r = workload_request(e, (struct workload_request_options){0});

    w->is_writing = true;
    w->sent = object_revision(w->object);
    client_patch(w->load->jobs, &t, r.type, r.body, &r.options, written, w);
}

static void finished(struct work *w)
{
    struct kueue_load *l = w->load;
    struct kueue_result *r = &l->result;

    w->is_done = true;
    object_unref(w->object);
    w->object = NULL;
    vec_push(&r->waits.of[w->class], as_ms(w->admitted) - as_ms(w->arrived));
    if (++r->finished < kueue_workloads(l->shape))
        return;
    r->wall_ms = as_ms(since(l));
    l->end(l->ctx);
}

static void due(void *ctx)
{
    struct work *w = ctx;

    w->is_due = true;
    serve(w);
}

static void run(struct work *w)
{
    if (w->is_running)
        return;
    w->is_running = true;
    w->admitted = since(w->load);
    w->timer = w->timer ? w->timer : io_timer_new(w->load->io, due, w);
    io_timer_set(w->timer, span_ms(w->load->shape->classes[w->class].runs_ms));
}

/* What a job whose pods are gone does with its evicted Workload. */
static void give_back(struct work *w, struct workload_edit *e)
{
    const struct condition *why = workload_edit_condition(e, S("Evicted"));

    w->load->result.evictions++;
    w->is_running = w->is_due = false;
    if (w->timer) /* else it was evicted before it was seen to run */
        io_timer_stop(w->timer);
    workload_requeue_edit(e, why->reason, why->message);
    workload_unreserve(e, S("PendingEvaluation"), why->message);
    send(w, e);
}

static bool holds(const struct json *conditions, struct str type)
{
    json_each (i, conditions) {
        const struct json *c = json_at(conditions, i);
        if (str_eq(json_str(json_getz(c, "type")), type))
            return str_eq(json_str(json_getz(c, "status")), S("True"));
    }
    return false;
}

/* Nearly all versions ask for nothing: a view is made where something is to be written. */
static void serve(struct work *w)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    bool is_evicted;

    if (w->is_done || w->is_writing || !w->object)
        return;
    const struct json *conditions =
        json_path(object_tree(w->object, &a), "status", "conditions", NULL);
    if (holds(conditions, S("Finished"))) {
        finished(w);
        return;
    }
    is_evicted = holds(conditions, S("Evicted"));
    if (is_evicted ? !holds(conditions, S("QuotaReserved")) : !holds(conditions, S("Admitted")))
        return;
    if (!is_evicted)
        run(w);
    if (!is_evicted && !w->is_due)
        return;
    struct workload_edit e = workload_edit(&a, object_view(w->object, &a), io_now(w->load->io));
    if (is_evicted)
        give_back(w, &e);
    else if (workload_finish_edit(&e, S("ByTest"), S("Finished by the load")))
        send(w, &e);
}

static void take(struct kueue_load *l, struct object *o)
{
    struct work **w = map_get(&l->works, object_key(o).name);

    if (!w)
        return;
    see(*w, o);
    serve(*w);
}

static void changed(void *ctx, const struct watch_event *e)
{
    struct kueue_load *l = ctx;

    if (e->type == WATCH_ERROR && e->err->code == ERR_GONE) {
        l->result.relists++; /* fell too far behind: as any client does */
        list(l);
    } else if (e->type == WATCH_ERROR) {
        die("the watch ended: %s", e->err->text);
    } else if (e->type == WATCH_ADDED || e->type == WATCH_MODIFIED) {
        take(l, e->object);
    }
}

/* ---- arrivals ---- */

static void arrive(void *ctx);

static void created(void *ctx, const struct client_answer *answer)
{
    struct set *s = ctx;

    if (answer->err && answer->err->code == ERR_CANCELED)
        return;
    if (answer->err)
        die("cannot create a Workload: %s", answer->err->text);
    s->is_creating = false;
    arrive(s);
}

static void create(struct set *s)
{
    struct kueue_load *l = s->load;
    const struct kueue_class *c = &l->shape->classes[s->class];
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct client_target t = {.kind = &kind_kueue_workload, .ns = S(NAMESPACE)};
    struct work *w = arena_new(&l->arena, struct work);

    *w = (struct work){.load = l,
                       .name = str_printf(&l->arena, "%s-%d-%d", c->name, s->queue, s->made),
                       .class = s->class,
                       .arrived = span_ms((int64_t)(s->made + 1) * c->every_ms)};
    *map_put(&l->works, w->name) = w;
    struct str text = str_printf(
        &a,
        "{\"metadata\":{\"name\":\"%.*s\"},\"spec\":{\"queueName\":\"lq-%d\",\"priority\":%d,"
        "\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{"
        "\"name\":\"c\",\"image\":\"pause\",\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}],"
        "\"restartPolicy\":\"Never\"}}}]}}",
        STR_ARG(w->name), s->queue, c->priority, c->cpu);
    s->is_creating = true;
    s->made++;
    client_create(l->submit, &t, json_parse(&a, text, NULL, NULL), created, s);
}

/* The next one, once it is due and the one before is answered. */
static void arrive(void *ctx)
{
    struct set *s = ctx;
    const struct kueue_class *c = &s->load->shape->classes[s->class];
    int64_t left = span_ms((int64_t)(s->made + 1) * c->every_ms).ns - since(s->load).ns;

    if (s->is_creating || s->made == c->count)
        return;
    if (left > 0)
        io_timer_set(s->timer, (struct span){left});
    else
        create(s);
}

void kueue_load_go(struct kueue_load *l, void (*end)(void *ctx))
{
    l->end = end;
    l->start = io_uptime_now(l->io);
    for (size_t i = 0; i < l->n_sets; i++) {
        struct set *s = &l->sets[i];
        *s = (struct set){.load = l,
                          .queue = (int)(i / KUEUE_CLASSES),
                          .class = i % KUEUE_CLASSES,
                          .timer = io_timer_new(l->io, arrive, s)};
        arrive(s);
    }
}
