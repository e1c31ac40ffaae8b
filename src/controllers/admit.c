/* admit.c - runs the cycle and writes what it decides
 *
 * One key, "cycle": its reconcile runs once all caches are there, feeds the engine with all
 * there is, and from then on events feed it. Writes do not hold the cycle up.
 */
#include "controllers/admit.h"

#include "controllers/controllers_priv.h"
#include "controllers/queue_job.h"
#include "controllers/spacing.h"
#include "controllers/words.h"
#include "controllers/workload_decide.h"

#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "queue/status.h"
#include "schema/codec.h"

#define CYCLES_A_TURN 16 /* then others get their turn */
#define FEED_SLICE 128   /* Workloads of the start a turn */
#define PRESSED_BY 64    /* requests of clients under way */

/* What the engine knows, in the order in which it is told at first. */
static const struct kind *const fed[] = {
    &kind_namespace,         &kind_kueue_resource_flavor,
    &kind_kueue_topology,    &kind_kueue_admission_check,
    &kind_kueue_cohort,      &kind_kueue_cluster_queue,
    &kind_kueue_local_queue, &kind_kueue_workload,
};

struct feed {
    struct admit *admit;
    size_t which; /* in fed[] */
};

struct listener {
    admit_changed_fn *fn;
    void *ctx;
};

struct admit {
    struct io *io;
    struct control *control; /* freed before this */
    struct controller *controller;
    struct cache *caches[countof(fed)];
    struct feed feeds[countof(fed)];
    struct cache_index *by_queue; /* Workloads by "ns/queue" */
    struct cache_index *by_cq;    /* LocalQueues by ClusterQueue */
    struct cache_index *by_namespace;
    struct cache *limit_ranges, *runtime_classes;
    struct arena rules; /* holds the trees of these two, for the loader */
    struct queue_engine *engine;
    struct queue_config config;
    struct queue_loader loader;
    struct words *words; /* what those who wait are to be told */
    VEC(struct listener) listeners;
    struct list writes; /* under way */
    size_t n_outrun;    /* of them */
    bool has_started;
    bool is_waking; /* the cycle is about to be queued */
    struct spacing spacing;
    struct io_timer *wake; /* where it is to wait */
    VEC(struct object *)
    to_feed; /* Workloads of the start; from n_fed on each holds a reference */
    size_t n_fed;
};

enum { FED_WORKLOAD = countof(fed) - 1, FED_LQ = FED_WORKLOAD - 1, FED_CQ = FED_LQ - 1 };

/* ---- feeding the engine ---- */

static struct instant now_of(struct admit *ad)
{
    return io_now(ad->io);
}

/* By more than come at one moment: who arrives with some others is not to wait for that. */
static bool is_pressed(const struct admit *ad)
{
    return client_load(control_client(ad->control)).under_way >= PRESSED_BY;
}

static void run_cycle(void *ctx)
{
    struct admit *ad = ctx;
    struct span wait = spacing_left(&ad->spacing, io_uptime_now(ad->io), is_pressed(ad));

    if (wait.ns > 0) {
        io_timer_set(ad->wake, wait);
        return;
    }
    ad->is_waking = false;
    controller_queue(ad->controller, S("cycle"));
}

/* A cycle judges the heads of all queues of a tree anew: it waits for what else is on its way,
 * if only a little. Where clients wait for answers it waits longer, as what it decides is
 * written behind their requests: meanwhile some of those whom it would evict have ended. */
static void wake_cycle(struct admit *ad)
{
    if (ad->is_waking)
        return;
    ad->is_waking = true;
    io_rest(ad->io, run_cycle, ad);
}

static void decide_outrun(struct admit *ad, struct str key);

static void put(struct admit *ad, struct arena *a, const struct json *tree)
{
    queue_put_object(ad->engine, a, tree, &ad->loader, now_of(ad));
}

static void put_indexed(struct admit *ad, const struct cache_index *x, struct str key)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct object *const *list;
    size_t n = cache_indexed(x, key, &list);

    for (size_t i = 0; i < n; i++) {
        put(ad, &a, object_tree(list[i], &a));
        arena_reset(&a);
    }
}

/* Workloads of a LocalQueue that is new, or points elsewhere now. */
static void put_workloads_of(struct admit *ad, struct str lq_path)
{
    put_indexed(ad, ad->by_queue, lq_path);
}

static void put_workloads_of_cq(struct admit *ad, struct str cq)
{
    struct object *const *list;
    size_t n = cache_indexed(ad->by_cq, cq, &list);

    for (size_t i = 0; i < n; i++)
        put_workloads_of(ad, object_path(list[i]));
}

static void take_away(struct admit *ad, size_t which, struct object *o)
{
    struct object_key key = object_key(o);
    const struct kind *k = fed[which];

    if (k == &kind_namespace)
        queue_delete_namespace(ad->engine, key.name);
    else if (k == &kind_kueue_resource_flavor)
        queue_delete_flavor(ad->engine, key.name);
    else if (k == &kind_kueue_topology)
        queue_delete_topology(ad->engine, key.name);
    else if (k == &kind_kueue_admission_check)
        queue_delete_check(ad->engine, key.name);
    else if (k == &kind_kueue_cohort)
        queue_delete_cohort(ad->engine, key.name);
    else if (k == &kind_kueue_cluster_queue)
        queue_delete_cq(ad->engine, key.name);
    else if (k == &kind_kueue_local_queue)
        queue_delete_lq(ad->engine, key.ns, key.name);
    else {
        queue_delete_workload(ad->engine, object_path(o));
        words_forget(ad->words, object_path(o));
    }
}

static bool same_queue(struct cache_event *e)
{
    return e->old && json_eq(json_path(cache_event_old(e), "spec", "clusterQueue", NULL),
                             json_path(cache_event_now(e), "spec", "clusterQueue", NULL));
}

static void tell_listeners(struct admit *ad, struct str cq, struct str lq)
{
    vec_each (i, &ad->listeners)
        ad->listeners.at[i].fn(ad->listeners.at[i].ctx, cq, lq);
}

/* Where it waits, whose quota it held, and whose it holds. */
static void tell_queues_of(struct admit *ad, struct cache_event *e, struct str held)
{
    const struct json *tree = cache_event_any(e);
    struct object *o = e->now ? e->now : e->old;
    struct str queue = json_str(json_path(tree, "spec", "queueName", NULL));
    struct str lq = cache_path(e->arena, object_key(o).ns, queue);
    struct str cq = queue_lq_target(ad->engine, lq),
               holds = queue_holds(ad->engine, object_path(o));

    if (queue.len)
        tell_listeners(ad, cq, lq);
    if (held.len && !str_eq(held, cq))
        tell_listeners(ad, held, S(""));
    if (holds.len && !str_eq(holds, cq) && !str_eq(holds, held))
        tell_listeners(ad, holds, S(""));
}

/* A status written, of a kind of which the engine reads the spec alone. */
static bool is_status_only(const struct feed *f, struct cache_event *e)
{
    const struct kind *k = fed[f->which];
    const struct json *was, *now;

    if (!e->old || !e->now ||
        (k != &kind_kueue_cohort && k != &kind_kueue_cluster_queue &&
         k != &kind_kueue_local_queue))
        return false;
    was = json_getz(cache_event_old(e), "metadata");
    now = json_getz(cache_event_now(e), "metadata");
    return json_eq(json_getz(was, "generation"), json_getz(now, "generation")) &&
           json_eq(json_getz(was, "deletionTimestamp"), json_getz(now, "deletionTimestamp")) &&
           json_eq(json_getz(was, "uid"), json_getz(now, "uid"));
}

static void fed_changed(void *ctx, struct cache_event *e)
{
    struct feed *f = ctx;
    struct admit *ad = f->admit;
    struct str held = {0};

    if (!ad->has_started || is_status_only(f, e))
        return;
    if (f->which == FED_WORKLOAD)
        held = queue_holds(ad->engine, object_path(e->now ? e->now : e->old));
    if (e->now)
        queue_put_changed(ad->engine, e->arena, cache_event_now(e), &ad->loader, now_of(ad));
    else
        take_away(ad, f->which, e->old);
    if (e->now && f->which == FED_LQ && !same_queue(e))
        put_workloads_of(ad, object_path(e->now));
    if (e->now && f->which == FED_CQ && !e->old)
        put_workloads_of_cq(ad, object_key(e->now).name);
    if (f->which == FED_WORKLOAD) {
        decide_outrun(ad, object_path(e->now ? e->now : e->old));
        tell_queues_of(ad, e, held);
    } else {
        tell_listeners(ad, S(""), S(""));
    }
    wake_cycle(ad);
}

static const struct json *const *trees_of(struct arena *a, const struct cache *c, size_t *n)
{
    const struct json **at = arena_array(a, const struct json *, cache_len(c));

    *n = 0;
    cache_each(i, c) at[(*n)++] = object_tree(cache_at(c, i), a);
    return at;
}

static void read_rules(struct admit *ad)
{
    struct pod_rules *r = &ad->loader.rules;

    arena_reset(&ad->rules);
    r->limit_ranges = trees_of(&ad->rules, ad->limit_ranges, &r->n_limit_ranges);
    r->runtime_classes = trees_of(&ad->rules, ad->runtime_classes, &r->n_runtime_classes);
}

/* What pods of its namespace are charged may be different now. */
static void limit_range_changed(void *ctx, struct cache_event *e)
{
    struct admit *ad = ctx;

    if (!ad->has_started)
        return;
    read_rules(ad);
    put_indexed(ad, ad->by_namespace, object_key(e->now ? e->now : e->old).ns);
    wake_cycle(ad);
}

static void put_all(struct admit *ad, struct cache *c)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);

    cache_each(i, c)
    {
        put(ad, &a, object_tree(cache_at(c, i), &a));
        arena_reset(&a);
    }
}

static void runtime_class_changed(void *ctx, struct cache_event *e)
{
    struct admit *ad = ctx;

    (void)e;
    if (!ad->has_started)
        return;
    read_rules(ad);
    put_all(ad, ad->caches[FED_WORKLOAD]);
    wake_cycle(ad);
}

/* Queues and all else that is few, and which Workloads there are. What changes from here on is
 * told by fed_changed(). */
static void feed_first(struct admit *ad)
{
    struct cache *workloads = ad->caches[FED_WORKLOAD];

    read_rules(ad);
    for (size_t k = 0; k < FED_WORKLOAD; k++)
        put_all(ad, ad->caches[k]);
    cache_each(i, workloads) vec_push(&ad->to_feed, object_ref(cache_at(workloads, i)));
    ad->has_started = true;
}

static void put_newest(struct admit *ad, struct object *o)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct object *now = cache_find(ad->caches[FED_WORKLOAD], object_path(o));

    if (now)
        put(ad, &a, object_tree(now, &a));
    object_unref(o);
}

/* A slice of the Workloads a turn. */
static bool feed(void *ctx)
{
    struct admit *ad = ctx;

    if (!ad->has_started)
        feed_first(ad);
    size_t end = MIN(ad->n_fed + FEED_SLICE, ad->to_feed.len);
    for (; ad->n_fed < end; ad->n_fed++)
        put_newest(ad, ad->to_feed.at[ad->n_fed]);
    if (end < ad->to_feed.len)
        return false;
    vec_fini(&ad->to_feed);
    ad->n_fed = 0;
    tell_listeners(ad, S(""), S(""));
    wake_cycle(ad);
    return true;
}

/* ---- writing ---- */

enum write_kind { WRITE_ADMISSION, WRITE_EVICTION, WRITE_PENDING };

struct write {
    struct list in_writes;
    struct admit *admit;
    struct arena arena;
    enum write_kind kind;
    struct str key, preemptor;
    struct object *object; /* for events */
    struct str event, event_type, note;
    /* Of an admission: its place was given to the preemptor meanwhile. It is evicted as soon as
     * it is written: an eviction that knows of no admission would take that away without a
     * word. */
    bool is_victim;
    enum queue_victim_reason reason;
    struct str message;
    /* Of an eviction: another write came first, and what that left was not seen yet. */
    bool is_outrun;
};

static void write_free(struct write *w)
{
    list_del(&w->in_writes);
    w->admit->n_outrun -= w->is_outrun;
    object_unref(w->object);
    arena_fini(&w->arena);
    free(w);
}

static void evict(struct admit *ad, struct str key, struct str preemptor,
                  enum queue_victim_reason reason, struct str message);

static void failed(struct write *w, const struct err *err)
{
    struct admit *ad = w->admit;

    log_debug("admission write failed", "workload=%.*s why=\"%s\"", STR_ARG(w->key), err->text);
    if (w->kind == WRITE_ADMISSION)
        queue_admission_failed(ad->engine, w->key, err->code == ERR_NOT_FOUND, now_of(ad));
    if (w->kind == WRITE_EVICTION || w->is_victim)
        queue_preemption_failed(ad->engine, w->preemptor, w->key, now_of(ad));
    wake_cycle(ad);
}

/* An eviction says what it was made from: one that did not would take the Finished away that
 * came just before it (upstream's does), and a finished Workload would hold quota for ever. It
 * waits for what came before it, to be decided anew. */
static bool waits_for_newer(struct write *w, const struct err *err)
{
    struct admit *ad = w->admit;
    struct object *o = cache_find(ad->caches[FED_WORKLOAD], w->key);

    if (w->kind != WRITE_EVICTION || err->code != ERR_CONFLICT || !o ||
        object_revision(o) != object_revision(w->object))
        return false;
    w->is_outrun = true;
    ad->n_outrun++;
    return true;
}

/* What came before an eviction is seen. */
static void decide_outrun(struct admit *ad, struct str key)
{
    if (!ad->n_outrun)
        return;
    list_each (p, &ad->writes) {
        struct write *w = list_item(p, struct write, in_writes);
        if (!w->is_outrun || !str_eq(w->key, key))
            continue;
        queue_preemption_failed(ad->engine, w->preemptor, key, now_of(ad));
        write_free(w);
    }
}

static void written(void *ctx, const struct client_answer *answer)
{
    struct write *w = ctx;

    if (answer->err && answer->err->code == ERR_CANCELED)
        return; /* freed with the rest */
    struct admit *ad = w->admit;
    if (answer->err && waits_for_newer(w, answer->err))
        return;
    if (answer->err)
        failed(w, answer->err);
    else if (w->event.len)
        control_event(ad->control, w->object, str_z(&w->arena, w->event_type),
                      str_z(&w->arena, w->event), "%.*s", STR_ARG(w->note));
    if (answer->object) /* what is written next is made from this version */
        cache_offer(ad->caches[FED_WORKLOAD], answer->object);
    if (w->is_victim && !answer->err)
        evict(ad, w->key, w->preemptor, w->reason, w->message);
    write_free(w);
}

static struct write *write_new(struct admit *ad, enum write_kind kind, struct object *o)
{
    struct write *w = mem_zero(1, sizeof(*w));

    *w = (struct write){.admit = ad, .kind = kind, .arena = arena_sized(8 << 10)};
    w->object = object_ref(o);
    w->key = object_path(o);
    list_add(&ad->writes, &w->in_writes);
    return w;
}

static void send(struct write *w, const struct workload_edit *e)
{
    struct object_key key = object_key(w->object);
    struct client_target t = {.kind = &kind_kueue_workload,
                              .ns = key.ns,
                              .name = key.name,
                              .subresource = S("status")};
    struct workload_request r = workload_request(e, (struct workload_request_options){0});

    client_patch(control_client(w->admit->control), &t, r.type, r.body, &r.options, written, w);
}

/* What a change of its status starts from: all but the spec, which no edit looks at. */
static const struct kueue_workload *view_to_edit(struct arena *a, struct object *o)
{
    const struct json *tree = object_tree(o, a);
    struct json_obj out = obj_in(a);

    obj_add(&out, S("metadata"),
            *json_without(a, json_getz(tree, "metadata"), "managedFields", NULL));
    if (json_getz(tree, "status"))
        obj_add(&out, S("status"), *json_getz(tree, "status"));
    return schema_decode(a, kind_kueue_workload.schema, json_new(a, obj_done(&out)));
}

/* ---- admissions ---- */

static void write_admission(struct admit *ad, struct object *o, const struct queue_decision *d)
{
    struct write *w = write_new(ad, WRITE_ADMISSION, o);
    struct arena *a = &w->arena;
    struct workload_edit e = workload_edit(a, view_to_edit(a, o), now_of(ad));
    struct span waited = instant_sub(e.now, e.was->metadata->creation_timestamp);

    workload_decide(&e, object_tree(o, a), d, &ad->loader);
    bool is_admitted = workload_edit_is(&e, S("Admitted"));
    w->event_type = S("Normal");
    w->event = is_admitted ? S("Admitted") : S("QuotaReserved");
    w->note =
        str_concat(a, is_admitted ? S("Admitted") : S("Quota reserved"), S(" by ClusterQueue "),
                   d->cq, S(", wait time since queued was "),
                   str_of_u64(a, (uint64_t)(MAX(waited.ns, INT64_C(0)) / SECOND_NS)), S("s"));
    send(w, &e);
}

/* ---- evictions ---- */

/* The victim is told who needs its place, and by which rule. */
static struct str victim_message(struct admit *ad, struct arena *a,
                                 const struct queue_decision *d, const struct queue_victim *v,
                                 struct object *preemptor)
{
    const struct json *labels =
        json_path(object_tree(preemptor, a), "metadata", "labels", NULL);

    return queue_preempted_message(
        a, object_uid(preemptor), json_str(json_getz(labels, QUEUE_JOB_UID_LABEL)), v->reason,
        queue_path(ad->engine, a, d->cq), queue_path(ad->engine, a, v->cq));
}

static void evict(struct admit *ad, struct str key, struct str preemptor,
                  enum queue_victim_reason reason, struct str message)
{
    struct object *o = cache_find(ad->caches[FED_WORKLOAD], key);

    if (!o)
        return;
    struct write *w = write_new(ad, WRITE_EVICTION, o);
    struct arena *a = &w->arena;
    struct workload_edit e = workload_edit(a, view_to_edit(a, o), now_of(ad));
    bool is_preempted = reason != FLAVOR_MIGRATION;

    w->preemptor = str_copy(a, preemptor);
    w->note = str_copy(a, message);
    if (is_preempted)
        workload_preempt_edit(&e, queue_victim_reason_text(reason), w->note);
    else
        workload_evict_edit(&e, queue_victim_reason_text(reason), w->note, S(""));
    w->event_type = S("Normal");
    w->event = is_preempted ? S("EvictedDueToPreempted") : S("EvictedDueToFlavorMigration");
    send(w, &e);
}

static struct write *admission_under_way(struct admit *ad, struct str key)
{
    list_each (p, &ad->writes) {
        struct write *w = list_item(p, struct write, in_writes);
        if (w->kind == WRITE_ADMISSION && str_eq(w->key, key))
            return w;
    }
    return NULL;
}

static void write_eviction(struct admit *ad, const struct queue_decision *d,
                           const struct queue_victim *v, struct object *preemptor)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);

    if (v->is_under_way)
        return;
    struct str message = victim_message(ad, &a, d, v, preemptor);
    struct write *w = admission_under_way(ad, v->key);
    if (!w) {
        evict(ad, v->key, d->key, v->reason, message);
        return;
    }
    w->is_victim = true;
    w->preemptor = str_copy(&w->arena, d->key);
    w->reason = v->reason;
    w->message = str_copy(&w->arena, message);
}

/* ---- waiting ---- */

static void write_pending(struct admit *ad, struct object *o, const struct word *word)
{
    struct write *w = write_new(ad, WRITE_PENDING, o);
    struct arena *a = &w->arena;
    struct workload_edit e = workload_edit(a, view_to_edit(a, o), now_of(ad));

    e.is_coarse = !queue_gate(&ad->config, QUEUE_GATE_OBSERVABILITY);
    workload_wait(&e, object_tree(o, a), word->reason, str_copy(a, word->message),
                  word->is_gated, &ad->loader);
    if (!e.has_changed) {
        write_free(w);
        return;
    }
    if (word->has_other_reason) {
        w->event_type = S("Normal");
        w->event = S("Pending");
        w->note = str_copy(a, word->message);
    }
    send(w, &e);
}

/* Tells those whose time has come why they wait; when to come again. */
static struct instant tell_waiting(struct admit *ad)
{
    struct instant next;
    struct word word;

    while (words_take(ad->words, now_of(ad), &word, &next)) {
        struct object *o = cache_find(ad->caches[FED_WORKLOAD], word.key);
        if (o && queue_is_waiting(ad->engine, word.key))
            write_pending(ad, o, &word);
    }
    return next;
}

static void say_pending(struct admit *ad, const struct queue_decision *d)
{
    scoped(arena_fini) struct arena a = {0};

    if (d->is_second_pass || d->reason == QUEUE_NONE)
        return;
    words_say(ad->words,
              &(struct word){.key = d->key,
                             .message = queue_message(&a, d->outcome, d->causes, d->n_causes,
                                                      d->n_victims),
                             .reason = d->reason,
                             .is_gated = d->outcome == OUTCOME_GATED},
              now_of(ad));
}

static void write_decision(struct admit *ad, const struct queue_decision *d)
{
    struct object *o = cache_find(ad->caches[FED_WORKLOAD], d->key);

    if (!o)
        return; /* its deletion is on its way to the engine */
    if (d->outcome == OUTCOME_ADMITTED) {
        words_forget(ad->words, d->key);
        write_admission(ad, o, d);
        return;
    }
    for (size_t i = 0; i < d->n_victims; i++)
        write_eviction(ad, d, &d->victims[i], o);
    say_pending(ad, d);
}

/* ---- the cycle ---- */

static int cycle(struct step *s, struct err *err)
{
    struct admit *ad = s->ctx;
    struct instant next = {0}, words;
    struct span began = io_uptime_now(ad->io);

    (void)err;
    for (int n = 0; queue_has_heads(ad->engine, s->now, &next); n++) {
        if (n == CYCLES_A_TURN) {
            step_again(s, (struct span){1});
            return 0;
        }
        struct queue_plan plan = queue_cycle(ad->engine, s->arena, s->now);
        for (size_t i = 0; i < plan.len; i++) {
            write_decision(ad, &plan.at[i]);
            tell_listeners(ad, plan.at[i].cq, plan.at[i].lq);
        }
    }
    words = tell_waiting(ad);
    spacing_ran(&ad->spacing, began, io_uptime_now(ad->io));
    if (!instant_is_set(next) || (instant_is_set(words) && instant_before(words, next)))
        next = words;
    if (instant_is_set(next))
        step_again(s, instant_sub(next, s->now));
    return 0;
}

/* ---- wiring ---- */

static void queue_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    struct str queue = json_str(json_path(tree, "spec", "queueName", NULL));

    vec_push(&out->keys, cache_path(out->arena, object_key(o).ns, queue));
}

static void cq_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    (void)o;
    vec_push(&out->keys, json_str(json_path(tree, "spec", "clusterQueue", NULL)));
}

struct admit *admit_new(struct control *c, const struct queue_config *config)
{
    struct admit *ad = mem_zero(1, sizeof(*ad));

    ad->io = control_io(c);
    ad->control = c;
    ad->wake = io_timer_new(ad->io, run_cycle, ad);
    list_init(&ad->writes);
    ad->config = *config;
    ad->config.afs_weights = NULL; /* the engine has its own */
    ad->config.n_afs_weights = 0;
    ad->engine = queue_new(config);
    ad->words = words_new();
    ad->loader = (struct queue_loader){.config = &ad->config};
    ad->controller = controller_new(
        c, &(struct controller_config){
               .name = "admission", .reconcile = cycle, .ctx = ad, .max_busy = 1});
    for (size_t i = 0; i < countof(fed); i++) {
        ad->caches[i] = control_cache(c, fed[i]);
        ad->feeds[i] = (struct feed){ad, i};
    }
    ad->by_queue = cache_index(ad->caches[FED_WORKLOAD], "queue", queue_keys);
    ad->by_cq = cache_index(ad->caches[FED_LQ], "clusterQueue", cq_keys);
    ad->by_namespace = cache_by_namespace(ad->caches[FED_WORKLOAD]);
    ad->limit_ranges = control_cache(c, &kind_limit_range);
    ad->runtime_classes = control_cache(c, &kind_runtime_class);
    for (size_t i = 0; i < countof(fed); i++)
        cache_subscribe(ad->caches[i], fed_changed, &ad->feeds[i]);
    cache_subscribe(ad->limit_ranges, limit_range_changed, ad);
    cache_subscribe(ad->runtime_classes, runtime_class_changed, ad);
    control_prepare(c, feed, ad);
    return ad;
}

void admit_free(struct admit *ad)
{
    if (!ad)
        return;
    io_later_cancel(ad->io, run_cycle, ad);
    io_timer_free(ad->wake);
    list_each (p, &ad->writes)
        write_free(list_item(p, struct write, in_writes));
    for (size_t i = ad->n_fed; i < ad->to_feed.len; i++)
        object_unref(ad->to_feed.at[i]);
    vec_fini(&ad->to_feed);
    queue_free(ad->engine);
    words_free(ad->words);
    vec_fini(&ad->listeners);
    arena_fini(&ad->rules);
    free(ad);
}

struct queue_engine *admit_engine(struct admit *ad)
{
    return ad->engine;
}

struct cache_index *admit_by_queue(struct admit *ad)
{
    return ad->by_queue;
}

void admit_on_change(struct admit *ad, admit_changed_fn *fn, void *ctx)
{
    vec_push(&ad->listeners, (struct listener){fn, ctx});
}
