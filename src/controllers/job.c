/* job.c - runs a Job's pods until enough have succeeded
 *
 * Looks at the Job and its pods, decides (job_decide.c), and acts in phases, each of which
 * begins when all writes of the one before are answered:
 *
 *     delete, create ──▶ status ──▶ take finalizers ──▶ status again, when that changes it
 *
 * A crash between two of them leaves the rest to the next look. Before that, pods are adopted
 * and released by the selector (job_claim.c); what is known of them is kept between looks
 * (job_known.c), so that one pod's change does not read the others again.
 */
#include "controllers/controllers_priv.h"
#include "controllers/job_birth.h"
#include "controllers/job_claim.h"
#include "controllers/job_decide.h"
#include "controllers/job_known.h"
#include "controllers/job_metrics.h"

#include "api/batch_v1.h"
#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/codec.h"
#include "value/selector.h"

/* How long a look may wait for more changes: as upstream's does for all of them. */
#define JOB_COUNT_DELAY span_s(1)
#define JOB_DELAY_EACH ((struct span){10000}) /* 10 us for each pod of the Job */
#define JOB_REFUSED_MOST_S 60
#define JOB_MAX_BUSY 256 /* Jobs looked at at once: what they write shares commits */
#define SUSPENDED_DELAY span_ms(100)
#define JOB_DELAY_LEAST span_ms(1) /* less is not waited for */

struct jobs {
    struct control *control;
    struct controller *controller, *orphans;
    struct cache *job_cache, *pod_cache;
    struct cache_index *by_owner, *loose, *by_selector, *tracked;
    struct job_memory memory;
    struct job_metrics *metrics;
    struct span backoff_first, backoff_most;
};

/* One run. */
struct job_run {
    struct step *step;
    struct jobs *jobs;
    struct object *object; /* the Job as looked at */
    const struct json *tree;
    const struct job *job;
    struct job_known *known;
    struct selector selector;
    struct job_claim claim;
    struct job_look look;
    struct job_plan plan;
    struct job_mould mould; /* where pods are created */
    struct job_done done;
    struct job_settled settled;
    struct job_concluded end;
    VEC(uint32_t) gone;
    size_t n_pending;
    size_t n_born;     /* creations started */
    uint64_t revision; /* of the Job, as our own writes moved it */
    struct span began; /* by the clock that never goes back */
    bool has_failed_let_go;
};

/* ---- writes ---- */

static struct client_target pod_target(struct job_run *r, uint32_t at)
{
    return (struct client_target){
        .kind = &kind_pod, .ns = r->step->ns, .name = r->look.pods[at].name};
}

static const struct json *finalizer_patch(struct arena *a)
{
    struct json_obj meta = obj_in(a), root = obj_in(a);
    struct json_arr gone = arr_in(a);

    arr_add(&gone, json_of_z(JOB_FINALIZER));
    obj_setz(&meta, "$deleteFromPrimitiveList/finalizers", arr_done(&gone));
    obj_setz(&root, "metadata", obj_done(&meta));
    return json_new(a, obj_done(&root));
}

static bool is_fine(const struct client_answer *answer)
{
    return !answer->err || answer->err->code == ERR_NOT_FOUND;
}

struct pod_write {
    struct job_run *run;
    uint32_t at;
};

static struct pod_write *pod_write(struct job_run *r, uint32_t at)
{
    struct pod_write *w = arena_new(r->step->arena, struct pod_write);

    *w = (struct pod_write){r, at};
    r->n_pending++;
    return w;
}

static void start_births(struct job_run *r);
static void settle(struct job_run *r);
static void conclude(struct job_run *r);

/* Where a creation failed, those not yet started are left to the next look. */
static void acted(struct job_run *r)
{
    size_t left = r->plan.n_create - r->n_born;

    if (--r->n_pending)
        return;
    if (left && r->done.n_create_failed == 0) {
        start_births(r);
        return;
    }
    if (left)
        r->done.n_create_failed += left;
    settle(r);
}

static void deleted(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct pod_write *w = ctx;
    struct job_run *r = w->run;
    const struct job_pod *p = &r->look.pods[w->at];

    (void)s;
    if (is_fine(answer)) {
        r->done.n_removed++;
        r->done.n_ready_removed += p->is_ready;
        step_event(r->step, r->object, "Normal", "SuccessfulDelete", "Deleted pod: %.*s",
                   STR_ARG(p->name));
    } else {
        r->done.is_all_removed = false;
        step_event(r->step, r->object, "Warning", "FailedDelete", "Error deleting: %s",
                   answer->err->text);
    }
    acted(r);
}

static void start_delete(struct pod_write *w)
{
    struct job_run *r = w->run;
    struct client_target t = pod_target(r, w->at);
    struct client_delete_options options = {
        .propagation = S("Background"), .uid = r->look.pods[w->at].uid, .grace_s = -1};

    step_delete(r->step, &t, &options, deleted, w);
}

static void stripped_first(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct pod_write *w = ctx;

    (void)s;
    if (is_fine(answer)) {
        job_known_let_go(w->run->known, w->run->look.pods[w->at].uid);
        start_delete(w);
        return;
    }
    w->run->done.is_all_removed = false;
    acted(w->run);
}

static void start_removals(struct job_run *r)
{
    for (size_t i = 0; i < r->plan.n_remove; i++) {
        struct pod_write *w = pod_write(r, r->plan.remove[i]);
        struct client_target t = pod_target(r, w->at);
        if (r->plan.remove_uncounted && r->look.pods[w->at].has_finalizer)
            step_patch(r->step, &t, CLIENT_PATCH_STRATEGIC, finalizer_patch(r->step->arena),
                       &(struct client_patch_options){0}, stripped_first, w);
        else
            start_delete(w);
    }
}

/* Where the namespace is going, a refused creation is no error. */
static bool is_namespace_going(const struct client_answer *answer)
{
    const struct json *causes = json_path(answer->status, "details", "causes", NULL);

    json_each (i, causes)
        if (str_eq(json_str(json_getz(json_at(causes, i), "reason")),
                   S("NamespaceTerminating")))
            return true;
    return false;
}

static void created(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct job_run *r = ctx;

    (void)s;
    if (!answer->err) {
        struct str name = answer->object ? object_key(answer->object).name : S("");
        step_event(r->step, r->object, "Normal", "SuccessfulCreate", "Created pod: %.*s",
                   STR_ARG(name));
    } else if (is_namespace_going(answer)) {
        step_ignore_error(r->step);
    } else {
        r->done.n_create_failed++;
        step_ignore_error(r->step); /* settle() says when it comes back */
        step_event(r->step, r->object, "Warning", "FailedCreate", "Error creating: %s",
                   answer->err->text);
    }
    acted(r);
}

/* The next batch of 1, 2, 4, 8 ... */
static void start_births(struct job_run *r)
{
    size_t n = MIN(r->plan.n_create - r->n_born, MAX(r->n_born, (size_t)1));
    struct client_target t = {.kind = &kind_pod, .ns = r->step->ns, .is_lent = true};

    if (r->n_born == 0)
        r->mould = job_mould_of(r->step->arena, r->job, r->tree);
    r->n_pending += n;
    for (size_t end = r->n_born + n; r->n_born < end; r->n_born++)
        step_create(r->step, &t,
                    job_birth_body(r->step->arena, &r->mould, &r->plan.create[r->n_born]),
                    created, r);
}

/* ---- status, finalizers, status ---- */

static const struct json *with_status(struct job_run *r, const struct job_status *status)
{
    struct arena *a = r->step->arena;
    const struct schema_field *f = schema_field(kind_job.schema, S("status"));
    struct json v = schema_encode(a, f->type, status);
    const struct json *body = json_with(a, r->tree, v, "status", NULL);

    return json_with(a, body, json_of_str(str_of_u64(a, r->revision)), "metadata",
                     "resourceVersion", NULL);
}

static void write_status(struct job_run *r, const struct job_status *status, step_done_fn *done)
{
    step_update(r->step, &kind_job, r->step->ns, r->step->name, S("status"),
                with_status(r, status), done, r);
}

static void let_go(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct pod_write *w = ctx;
    struct job_run *r = w->run;

    (void)s;
    if (is_fine(answer)) {
        vec_push_in(r->step->arena, &r->gone, w->at);
        job_known_let_go(r->known, r->look.pods[w->at].uid);
    } else
        r->has_failed_let_go = true;
    if (--r->n_pending == 0)
        conclude(r);
}

static void finish(struct job_run *r, bool has_failed)
{
    struct span now = io_uptime_now(control_io(r->jobs->control));

    job_metrics_sync(r->jobs->metrics, r->job, &r->plan, (struct span){now.ns - r->began.ns},
                     has_failed || r->has_failed_let_go || r->done.n_create_failed ||
                         !r->done.is_all_removed);
}

static void start_letting_go(struct job_run *r)
{
    if (r->settled.n_let_go == 0) {
        conclude(r);
        return;
    }
    for (size_t i = 0; i < r->settled.n_let_go; i++) {
        struct pod_write *w = pod_write(r, r->settled.let_go[i]);
        struct client_target t = pod_target(r, w->at);
        t.is_lent = true;
        step_patch(r->step, &t, CLIENT_PATCH_STRATEGIC, finalizer_patch(r->step->arena),
                   &(struct client_patch_options){0}, let_go, w);
    }
}

static void status_written(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct job_run *r = ctx;

    (void)s;
    if (answer->err) { /* nothing is let go before it is listed */
        finish(r, true);
        return;
    }
    job_metrics_counted(r->jobs->metrics, r->job, r->job->status, r->settled.status);
    if (answer->object)
        r->revision = object_revision(answer->object);
    if (r->settled.event)
        step_event(r->step, r->object, "Normal", r->settled.event,
                   strcmp(r->settled.event, "Suspended") == 0 ? "Job suspended"
                                                              : "Job resumed");
    start_letting_go(r);
}

/* Refused creations are tried again after 1, 2, 4 ... 60 s. */
static void come_back_later(struct job_run *r)
{
    struct job_known *k = r->known;

    if (r->done.n_create_failed == 0) {
        if (r->plan.n_create)
            k->n_refused = 0;
        return;
    }
    step_again(r->step, span_s(MIN(1 << k->n_refused, JOB_REFUSED_MOST_S)));
    k->n_refused = MIN(k->n_refused + 1, 6);
}

static void settle(struct job_run *r)
{
    struct job_metrics *m = r->jobs->metrics;

    come_back_later(r);
    job_metrics_created(m, r->job, &r->plan, r->plan.n_create - r->done.n_create_failed,
                        r->done.n_create_failed);
    r->settled = job_settle(r->step->arena, &r->look, &r->plan, &r->done);
    r->known->backoff = r->plan.backoff;
    for (size_t i = 0; i < r->settled.n_let_go; i++)
        job_metrics_policy(m, r->look.pods[r->settled.let_go[i]].action);
    if (r->settled.must_write)
        write_status(r, r->settled.status, status_written);
    else
        start_letting_go(r);
}

static void ended(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct job_run *r = ctx;

    (void)s;
    if (!answer->err)
        job_metrics_counted(r->jobs->metrics, r->job, r->settled.status, r->end.status);
    if (!answer->err && r->end.end != JOB_GOES_ON)
        job_metrics_finished(r->jobs->metrics, r->job, r->end.end, r->settled.reason);
    if (!answer->err && r->end.end == JOB_SUCCEEDS) {
        if (r->end.is_too_many)
            step_event(r->step, r->object, "Warning", "TooManySucceededPods",
                       "Too many succeeded pods running after completion count reached");
        step_event(r->step, r->object, "Normal", "Completed", "Job completed");
    } else if (!answer->err && r->end.end == JOB_FAILS) {
        step_event(r->step, r->object, "Warning", str_z(r->step->arena, r->settled.reason),
                   "%.*s", STR_ARG(r->settled.message));
    }
    finish(r, answer->err != NULL);
}

static void conclude(struct job_run *r)
{
    r->end = job_conclude(r->step->arena, &r->look, &r->settled, r->gone.at, r->gone.len,
                          !r->has_failed_let_go);
    if (r->end.must_write)
        write_status(r, r->end.status, ended);
    else
        finish(r, false);
}

/* ---- looking ---- */

/* Pods of a Job that is over or gone give their finalizer up. */
static void sweep(struct jobs *js, struct str uid)
{
    struct object *const *held;
    size_t n = cache_indexed(js->tracked, uid, &held);

    for (size_t i = 0; i < n; i++)
        controller_queue_object(js->orphans, held[i]);
}

/* Every pod is whose it should be: decides, and starts what was decided. */
static void look(void *ctx)
{
    struct job_run *r = ctx;
    struct step *s = r->step;
    struct jobs *js = r->jobs;

    job_known_refresh(r->known, r->job, &r->selector, js->pod_cache, js->by_owner);
    r->look = (struct job_look){.job = r->job,
                                .now = s->now,
                                .backoff = r->known->backoff,
                                .backoff_first = js->backoff_first,
                                .backoff_most = js->backoff_most,
                                .pods = r->known->pods.at,
                                .n_pods = r->known->pods.len};
    r->plan = job_decide(s->arena, &r->look);
    if (r->plan.again.ns >= 0)
        step_again(s, r->plan.again);
    if (r->plan.again_deadline.ns >= 0)
        step_again(s, r->plan.again_deadline);
    r->n_pending = 1; /* ourselves, until all are started */
    start_removals(r);
    acted(r);
}

static void claim(struct job_run *r)
{
    struct jobs *js = r->jobs;

    job_known_refresh(r->known, r->job, &r->selector, js->pod_cache, js->by_owner);
    r->claim = (struct job_claim){.step = r->step,
                                  .object = r->object,
                                  .job = r->job,
                                  .selector = &r->selector,
                                  .known = r->known,
                                  .loose = js->loose,
                                  .done = look,
                                  .ctx = r};
    if (!job_claim_start(&r->claim))
        look(r);
}

/* The one trace of a managedBy that is misspelt. */
static void tell_skipped(struct object *o, struct str manager, const char *what)
{
    log_debug("job skipped", "what=\"%s\" job=%.*s uid=%.*s managed-by=%.*s", what,
              STR_ARG(object_path(o)), STR_ARG(object_uid(o)), STR_ARG(manager));
}

static int reconcile(struct step *s, struct err *err)
{
    struct jobs *js = s->ctx;
    struct object *object = cache_find(js->job_cache, s->key);

    if (!object) { /* deleted: its pods go with their owner */
        job_memory_forget(&js->memory, s->key);
        return 0;
    }
    const struct json *tree = object_tree(object, s->arena);
    struct str manager = job_other_manager(tree);
    if (manager.len) {
        job_memory_forget(&js->memory, s->key);
        tell_skipped(object, manager, "sync");
        return 0;
    }
    if (job_is_finished(tree)) {
        job_memory_forget(&js->memory, s->key);
        sweep(js, object_uid(object));
        return 0;
    }
    const struct job *job = object_view(object, s->arena);
    struct job_run *r = arena_new(s->arena, struct job_run);
    *r = (struct job_run){.step = s,
                          .jobs = js,
                          .object = step_hold(s, object),
                          .tree = tree,
                          .job = job,
                          .known = job_memory_of(&js->memory, s->key, job->metadata->uid),
                          .revision = object_revision(object),
                          .began = io_uptime_now(control_io(js->control)),
                          .done = {.is_all_removed = true}};
    if (selector_of_json(s->arena, json_path(r->tree, "spec", "selector", NULL), &r->selector,
                         err) < 0)
        return -1;
    claim(r);
    return 0;
}

/* ---- orphans: pods whose Job is gone or over ---- */

static int release_orphan(struct step *s, struct err *err)
{
    struct jobs *js = s->ctx;
    struct object *pod = cache_find(js->pod_cache, s->key);

    (void)err;
    if (!pod)
        return 0;
    const struct json *tree = object_tree(pod, s->arena), *owner = job_controller_of(tree);
    if (!job_pod_is_held(tree) ||
        (owner && !str_eq(json_str(json_getz(owner, "kind")), S("Job"))))
        return 0;
    struct object *o =
        owner ? cache_get(js->job_cache, s->ns, json_str(json_getz(owner, "name"))) : NULL;
    if (o && str_eq(object_uid(o), json_str(json_getz(owner, "uid")))) {
        const struct json *job = object_tree(o, s->arena);
        struct str manager = job_other_manager(job);
        if (manager.len)
            tell_skipped(o, manager, "finalizer clean-up");
        if (manager.len || !job_is_finished(job))
            return 0;
    }
    struct client_target t = {.kind = &kind_pod, .ns = s->ns, .name = s->name};
    step_patch(s, &t, CLIENT_PATCH_STRATEGIC, finalizer_patch(s->arena),
               &(struct client_patch_options){0}, NULL, NULL);
    return 0;
}

/* ---- wiring ---- */

/* The Job that a controller reference names; no uid: none. */
struct job_ref {
    struct str name, uid;
};

static struct job_ref job_ref_of(const struct json *owner)
{
    if (!str_eqz(json_str(json_getz(owner, "kind")), "Job"))
        return (struct job_ref){{0}};
    return (struct job_ref){json_str(json_getz(owner, "name")),
                            json_str(json_getz(owner, "uid"))};
}

/* Pods that hold our finalizer, by the Job that controls them. */
static void tracked_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    struct str uid = {0};

    (void)o;
    if (job_pod_is_held(tree))
        uid = job_ref_of(job_controller_of(tree)).uid;
    if (uid.len)
        vec_push(&out->keys, uid);
}

/* The Job that a pod's reference means, and that is there; else NULL. */
static struct object *job_of(struct jobs *js, struct object *pod, struct job_ref ref)
{
    struct object *job =
        ref.uid.len ? cache_get(js->job_cache, object_key(pod).ns, ref.name) : NULL;

    return job && str_eq(object_uid(job), ref.uid) ? job : NULL;
}

/* Does more hang on the change than a count of the status: an end, a deletion, an owner? */
static bool is_urgent(struct cache_event *e)
{
    const struct json *now = cache_event_now(e), *old = cache_event_old(e);
    struct str phase = json_str(json_path(now, "status", "phase", NULL));

    if (!now || !old || str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed"))
        return true;
    return json_has(json_path(now, "metadata", "deletionTimestamp", NULL)) ||
           !json_eq(json_path(now, "metadata", "ownerReferences", NULL),
                    json_path(old, "metadata", "ownerReferences", NULL)) ||
           !json_eq(json_path(now, "metadata", "labels", NULL),
                    json_path(old, "metadata", "labels", NULL));
}

/* What only changes a count can wait for more of its kind; of many pods, ends can, too. */
static void queue_job(struct jobs *js, struct object *job, struct object *pod,
                      struct cache_event *e)
{
    struct job_known *k = job_memory_find(&js->memory, object_path(job));
    struct span wait = JOB_COUNT_DELAY;

    if (k)
        job_known_changed(k, pod);
    if (is_urgent(e))
        wait.ns = k ? MIN((int64_t)k->pods.len * JOB_DELAY_EACH.ns, JOB_COUNT_DELAY.ns) : 0;
    if (wait.ns < JOB_DELAY_LEAST.ns)
        controller_queue_object(js->controller, job);
    else
        controller_queue_after(js->controller, object_path(job), wait);
}

static void could_adopt(void *ctx, struct object *job)
{
    struct jobs *js = ctx;

    controller_queue_object(js->controller, job);
}

/* The Job that controlled it before, where its reference was another. */
static struct object *job_before(struct jobs *js, struct cache_event *e,
                                 const struct json *owner, struct job_ref ref)
{
    const struct json *before = e->old && e->now ? job_controller_of(cache_event_old(e)) : NULL;

    if (!before || json_is_shared(before, owner))
        return NULL;
    struct job_ref was = job_ref_of(before);
    if (!was.uid.len || (str_eq(was.uid, ref.uid) && str_eq(was.name, ref.name)))
        return NULL;
    return job_of(js, e->now, was);
}

static void pod_changed(void *ctx, struct cache_event *e)
{
    struct jobs *js = ctx;
    struct object *pod = e->now ? e->now : e->old;
    const struct json *owner = job_controller_of(cache_event_any(e));
    struct job_ref ref = job_ref_of(owner);
    struct object *job = job_of(js, pod, ref), *was = job_before(js, e, owner, ref);

    job_metrics_pod(js->metrics, e);
    if (was && was != job)
        queue_job(js, was, pod, e);
    if (job)
        queue_job(js, job, pod, e);
    else if (e->now && (!owner || ref.uid.len))
        controller_queue_object(js->orphans, pod);
    if (e->now && !owner)
        job_claim_each_job(js->by_selector, object_key(pod).ns, cache_event_now(e), could_adopt,
                           js);
}

static void count_external(struct jobs *js, const struct json *job)
{
    struct str manager = job_other_manager(job);

    if (manager.len)
        job_metrics_external(js->metrics, manager);
}

/* Made suspended, as all that queue are: mostly it is admitted at once, and nobody need write
 * that it was not. */
static bool is_made_suspended(struct cache_event *e)
{
    const struct json *job = e->old ? NULL : cache_event_now(e);

    return json_bool(json_path(job, "spec", "suspend", NULL), false) &&
           !json_has(json_path(job, "status", "conditions", NULL));
}

static void job_changed(void *ctx, struct cache_event *e)
{
    struct jobs *js = ctx;

    if (!e->now)
        sweep(js, object_uid(e->old));
    if (!e->old)
        count_external(js, cache_event_now(e));
    if (is_made_suspended(e))
        controller_queue_after(js->controller, object_path(e->now), SUSPENDED_DELAY);
    else
        controller_queue_object(js->controller, e->now ? e->now : e->old);
}

void *job_start(struct control *c)
{
    struct jobs *js = mem_zero(1, sizeof(*js));

    js->control = c;
    js->metrics = job_metrics_new();
    js->job_cache = control_cache(c, &kind_job);
    js->pod_cache = control_cache(c, &kind_pod);
    js->by_owner = cache_by_owner(js->pod_cache);
    js->tracked = cache_index(js->pod_cache, "tracked", tracked_keys);
    js->loose = job_claim_loose_pods(js->pod_cache);
    js->by_selector = job_claim_jobs(js->job_cache);
    js->controller = controller_new(
        c, &(struct controller_config){
               .name = "job", .reconcile = reconcile, .ctx = js, .max_busy = JOB_MAX_BUSY});
    js->orphans =
        controller_new(c, &(struct controller_config){
                              .name = "job-orphans", .reconcile = release_orphan, .ctx = js});
    cache_subscribe(js->job_cache, job_changed, js);
    cache_subscribe(js->pod_cache, pod_changed, js);
    return js;
}

void job_free(void *state)
{
    struct jobs *js = state;

    job_memory_fini(&js->memory);
    job_metrics_free(js->metrics);
    free(js);
}

void job_set_backoff(void *state, struct span first, struct span most)
{
    struct jobs *js = state;

    js->backoff_first = first;
    js->backoff_most = most;
}

void job_write_metrics(void *state, struct buf *out)
{
    const struct jobs *js = state;

    job_metrics_write(js->metrics, out);
}
