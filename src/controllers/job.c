/* job.c - runs a Job's pods until enough have succeeded
 *
 * Looks at the Job and its pods, decides (job_decide.c), and acts in phases, each of which
 * begins when all writes of the one before are answered:
 *
 *     delete, create ──▶ status ──▶ take finalizers ──▶ status again, when that changes it
 *
 * A crash between two of them leaves the rest to the next look. Records of pods are kept
 * between looks, so that one pod's change does not read the others again.
 */
#include "controllers/controllers_priv.h"
#include "controllers/job_decide.h"

#include "api/batch_v1.h"
#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/codec.h"
#include "value/selector.h"

#define RUN_AS "berth.dev/run-as"
#define ENV_INDEX "JOB_COMPLETION_INDEX"

/* A pod's record, for as long as the pod has this revision and its Job this generation. */
struct known_pod {
    uint64_t revision, job_generation;
    struct job_pod record; /* strs are in the arena */
    struct arena arena;
    char uid[64];
};

/* What is remembered of a Job between looks. */
struct known_job {
    struct job_backoff backoff;
    char uid[64];
};

struct jobs {
    struct control *control;
    struct controller *controller, *orphans;
    struct cache *job_cache, *pod_cache;
    struct cache_index *by_owner;
    MAP(struct known_pod *) pods;
    MAP(struct known_job *) memory;
};

/* One run. */
struct job_run {
    struct step *step;
    struct jobs *jobs;
    struct object *object; /* the Job as looked at */
    const struct json *tree;
    const struct job *job;
    struct job_look look;
    struct job_plan plan;
    struct job_done done;
    struct job_settled settled;
    struct job_concluded end;
    VEC(uint32_t) gone;
    size_t n_pending;
    uint64_t revision; /* of the Job, as our own writes moved it */
    bool has_failed_let_go;
};

/* ---- records ---- */

static const struct job_pod *record_of(struct jobs *js, const struct job *job,
                                       struct object *pod)
{
    struct str uid = object_uid(pod);
    struct known_pod **found = map_get(&js->pods, uid), *k = found ? *found : NULL;
    uint64_t generation = (uint64_t)job->metadata->generation;

    if (k && k->revision == object_revision(pod) && k->job_generation == generation)
        return &k->record;
    if (uid.len >= sizeof(k->uid))
        return NULL; /* no uid of ours */
    if (!k) {
        k = mem_zero(1, sizeof(*k));
        memcpy(k->uid, uid.at, uid.len);
        *map_put(&js->pods, str_of(k->uid, uid.len)) = k;
    }
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct job_pod r = job_pod_of(&a, job, object_view(pod, &a));
    arena_reset(&k->arena);
    if (!k->arena.next_size)
        k->arena = arena_sized(256);
    r.name = str_copy(&k->arena, r.name);
    r.uid = str_of(k->uid, uid.len);
    r.failure = str_copy(&k->arena, r.failure);
    k->record = r;
    k->revision = object_revision(pod);
    k->job_generation = generation;
    return &k->record;
}

static void forget_pod(struct jobs *js, struct str uid)
{
    struct known_pod **found = map_get(&js->pods, uid);

    if (!found)
        return;
    struct known_pod *k = *found;
    map_del(&js->pods, uid);
    arena_fini(&k->arena);
    free(k);
}

static struct known_job *memory_of(struct jobs *js, const struct job *job)
{
    struct str uid = job->metadata->uid;
    struct known_job **found = map_get(&js->memory, uid);

    if (found)
        return *found;
    struct known_job *k = mem_zero(1, sizeof(*k));
    size_t n = MIN(uid.len, sizeof(k->uid));
    memcpy(k->uid, uid.at, n);
    *map_put(&js->memory, str_of(k->uid, n)) = k;
    return k;
}

static void forget_job(struct jobs *js, struct str uid)
{
    struct known_job **found = map_get(&js->memory, uid);
    struct known_job *k = found ? *found : NULL;

    if (k) {
        map_del(&js->memory, uid);
        free(k);
    }
}

/* ---- pods of a Job ---- */

static bool is_controlled_by(const struct json *meta, struct str uid)
{
    const struct json *owners = json_getz(meta, "ownerReferences");

    json_each (i, owners)
        if (json_bool(json_getz(json_at(owners, i), "controller"), false))
            return str_eq(json_str(json_getz(json_at(owners, i), "uid")), uid);
    return false;
}

/* All that is controlled by the Job. Texts are copied: a pod may go while we wait. */
static void gather_pods(struct job_run *r)
{
    struct arena *a = r->step->arena;
    struct object *const *owned;
    size_t n = cache_indexed(r->jobs->by_owner, object_uid(r->object), &owned);
    struct job_pod *records = arena_array(a, struct job_pod, n + 1);

    for (size_t i = 0; i < n; i++) {
        const struct job_pod *k = record_of(r->jobs, r->job, owned[i]);
        if (!k || !str_eq(object_key(owned[i]).ns, r->step->ns))
            continue;
        struct job_pod *p = &records[r->look.n_pods++];
        *p = *k;
        p->name = str_copy(a, k->name);
        p->uid = str_copy(a, k->uid);
        p->failure = str_copy(a, k->failure);
    }
    r->look.pods = records;
}

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

static void settle(struct job_run *r);
static void conclude(struct job_run *r);

static void acted(struct job_run *r)
{
    if (--r->n_pending == 0)
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
        step_event(r->step, r->object, "Warning", "FailedCreate", "Error creating: %s",
                   answer->err->text);
    }
    acted(r);
}

/* ---- a pod from the template ---- */

static struct json owner_reference(struct arena *a, const struct job *job)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "apiVersion", json_of_z("batch/v1"));
    obj_setz(&o, "kind", json_of_z("Job"));
    obj_setz(&o, "name", json_of_str(job->metadata->name));
    obj_setz(&o, "uid", json_of_str(job->metadata->uid));
    obj_setz(&o, "controller", json_of_bool(true));
    obj_setz(&o, "blockOwnerDeletion", json_of_bool(true));
    return obj_done(&o);
}

static struct json number_text(struct arena *a, int32_t n)
{
    return json_of_str(str_printf(a, "%d", n));
}

static struct json pod_metadata(struct job_run *r, const struct json *template,
                                const struct job_birth *b)
{
    struct arena *a = r->step->arena;
    const struct json *was = json_getz(template, "metadata");
    const struct json *run_as = json_path(r->tree, "metadata", "annotations", RUN_AS, NULL);
    const struct json *finalizers = json_getz(was, "finalizers");
    struct json_obj meta = obj_in(a), labels = obj_from(a, json_getz(was, "labels"));
    struct json_obj notes = obj_from(a, json_getz(was, "annotations"));
    struct json_arr owners = arr_in(a), guards = arr_in(a);

    if (b->index != JOB_NO_INDEX) {
        obj_setz(&labels, JOB_INDEX_KEY, number_text(a, b->index));
        obj_setz(&notes, JOB_INDEX_KEY, number_text(a, b->index));
    }
    if (r->plan.is_per_index) {
        obj_setz(&notes, JOB_INDEX_FAILURES_KEY, number_text(a, b->index_failures));
        if (b->index_ignored)
            obj_setz(&notes, JOB_INDEX_IGNORED_KEY, number_text(a, b->index_ignored));
    }
    if (run_as)
        obj_setz(&notes, RUN_AS, *run_as);
    json_each (i, finalizers)
        arr_add(&guards, *json_at(finalizers, i));
    arr_add(&guards, json_of_z(JOB_FINALIZER));
    arr_add(&owners, owner_reference(a, r->job));
    obj_setz(&meta, "generateName",
             json_of_str(job_generate_name(a, r->job->metadata->name, b->index)));
    obj_setz(&meta, "labels", obj_done(&labels));
    if (notes.members.len)
        obj_setz(&meta, "annotations", obj_done(&notes));
    obj_setz(&meta, "finalizers", arr_done(&guards));
    obj_setz(&meta, "ownerReferences", arr_done(&owners));
    return obj_done(&meta);
}

/* The index as a variable, from the pod's own label; one that is there already stays. */
static struct json env_with_index(struct arena *a, const struct json *env)
{
    struct json_arr out = arr_in(a);
    const struct json *index = json_new(a, json_of_z(ENV_INDEX));
    bool has = false;

    json_each (i, env) {
        has |= json_eq(json_getz(json_at(env, i), "name"), index);
        arr_add(&out, *json_at(env, i));
    }
    if (!has) {
        struct json_obj one = obj_in(a), from = obj_in(a), field = obj_in(a);
        obj_setz(&field, "apiVersion", json_of_z("v1"));
        obj_setz(&field, "fieldPath", json_of_z("metadata.labels['" JOB_INDEX_KEY "']"));
        obj_setz(&from, "fieldRef", obj_done(&field));
        obj_setz(&one, "name", *index);
        obj_setz(&one, "valueFrom", obj_done(&from));
        arr_add(&out, obj_done(&one));
    }
    return arr_done(&out);
}

static const struct json *containers_with_index(struct arena *a, const struct json *spec,
                                                const char *list)
{
    const struct json *was = json_get(spec, str_from(list));
    struct json_arr out = arr_in(a);

    if (!was)
        return spec;
    json_each (i, was) {
        const struct json *c = json_at(was, i);
        arr_add(&out, *json_with(a, c, env_with_index(a, json_getz(c, "env")), "env", NULL));
    }
    return json_with(a, spec, arr_done(&out), list, NULL);
}

static const struct json *pod_body(struct job_run *r, const struct job_birth *b)
{
    struct arena *a = r->step->arena;
    const struct json *template = json_path(r->tree, "spec", "template", NULL);
    const struct json *spec = json_getz(template, "spec");
    struct json_obj pod = obj_in(a);

    if (b->index != JOB_NO_INDEX) {
        spec = containers_with_index(a, spec, "containers");
        spec = containers_with_index(a, spec, "initContainers");
        struct str host = str_printf(a, "%.*s-%d", STR_ARG(r->job->metadata->name), b->index);
        spec = json_with(a, spec, json_of_str(host), "hostname", NULL);
    }
    obj_setz(&pod, "apiVersion", json_of_z("v1"));
    obj_setz(&pod, "kind", json_of_z("Pod"));
    obj_setz(&pod, "metadata", pod_metadata(r, template, b));
    obj_setz(&pod, "spec", *spec);
    return json_new(a, obj_done(&pod));
}

static void start_births(struct job_run *r)
{
    for (size_t i = 0; i < r->plan.n_create; i++) {
        r->n_pending++;
        step_create(r->step, &kind_pod, r->step->ns, pod_body(r, &r->plan.create[i]), created,
                    r);
    }
}

/* ---- status, finalizers, status ---- */

static const struct json *with_status(struct job_run *r, const struct job_status *status)
{
    struct arena *a = r->step->arena;
    const struct schema_field *f = schema_field(kind_job.schema, S("status"));
    struct json v = schema_encode(a, f->type, status);
    const struct json *body = json_with(a, r->tree, v, "status", NULL);

    return json_with(a, body, json_of_str(str_printf(a, "%" PRIu64, r->revision)), "metadata",
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
    if (is_fine(answer))
        vec_push_in(r->step->arena, &r->gone, w->at);
    else
        r->has_failed_let_go = true;
    if (--r->n_pending == 0)
        conclude(r);
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
        step_patch(r->step, &t, CLIENT_PATCH_STRATEGIC, finalizer_patch(r->step->arena),
                   &(struct client_patch_options){0}, let_go, w);
    }
}

static void status_written(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct job_run *r = ctx;

    (void)s;
    if (answer->err)
        return; /* nothing is let go before it is listed */
    if (answer->object)
        r->revision = object_revision(answer->object);
    if (r->settled.event)
        step_event(r->step, r->object, "Normal", r->settled.event,
                   strcmp(r->settled.event, "Suspended") == 0 ? "Job suspended"
                                                              : "Job resumed");
    start_letting_go(r);
}

static void settle(struct job_run *r)
{
    r->settled = job_settle(r->step->arena, &r->look, &r->plan, &r->done);
    memory_of(r->jobs, r->job)->backoff = r->plan.backoff;
    if (r->settled.must_write)
        write_status(r, r->settled.status, status_written);
    else
        start_letting_go(r);
}

static void ended(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct job_run *r = ctx;

    (void)s;
    if (!answer->err && r->end.end == JOB_SUCCEEDS) {
        if (r->end.is_too_many)
            step_event(r->step, r->object, "Warning", "TooManySucceededPods",
                       "Too many succeeded pods running after completion count reached");
        step_event(r->step, r->object, "Normal", "Completed", "Job completed");
    } else if (!answer->err && r->end.end == JOB_FAILS) {
        step_event(r->step, r->object, "Warning", str_z(r->step->arena, r->settled.reason),
                   "%.*s", STR_ARG(r->settled.message));
    }
}

static void conclude(struct job_run *r)
{
    r->end = job_conclude(r->step->arena, &r->look, &r->settled, r->gone.at, r->gone.len,
                          !r->has_failed_let_go);
    if (r->end.must_write)
        write_status(r, r->end.status, ended);
}

/* ---- looking ---- */

/* Pods of a Job that is over or gone give their finalizer up. */
static void sweep(struct step *s, struct jobs *js, struct str uid)
{
    struct object *const *owned;
    size_t n = cache_indexed(js->by_owner, uid, &owned);

    for (size_t i = 0; i < n; i++)
        controller_queue_object(js->orphans, owned[i]);
    (void)s;
}

static int reconcile(struct step *s, struct err *err)
{
    struct jobs *js = s->ctx;
    struct object *object = cache_find(js->job_cache, s->key);

    (void)err;
    if (!object)
        return 0; /* deleted: its pods go with their owner */
    const struct job *job = object_view(object, s->arena);
    if (job_is_managed_elsewhere(job)) {
        log_debug("job skipped", "job=%.*s managed-by=%.*s", STR_ARG(s->key),
                  STR_ARG(job->spec->managed_by));
        return 0;
    }
    if (job_is_finished(job)) {
        forget_job(js, job->metadata->uid);
        sweep(s, js, job->metadata->uid);
        return 0;
    }
    struct job_run *r = arena_new(s->arena, struct job_run);
    *r = (struct job_run){.step = s,
                          .jobs = js,
                          .object = step_hold(s, object),
                          .tree = object_tree(object, s->arena),
                          .job = job,
                          .revision = object_revision(object),
                          .done = {.is_all_removed = true}};
    r->look =
        (struct job_look){.job = job, .now = s->now, .backoff = memory_of(js, job)->backoff};
    gather_pods(r);
    r->plan = job_decide(s->arena, &r->look);
    if (r->plan.again.ns >= 0)
        step_again(s, r->plan.again);
    if (r->plan.again_deadline.ns >= 0)
        step_again(s, r->plan.again_deadline);
    r->n_pending = 1; /* ourselves, until all are started */
    start_removals(r);
    start_births(r);
    acted(r);
    return 0;
}

/* ---- orphans: pods whose Job is gone or over ---- */

static const struct json *controller_of(const struct json *tree)
{
    const struct json *owners = json_path(tree, "metadata", "ownerReferences", NULL);

    json_each (i, owners)
        if (json_bool(json_getz(json_at(owners, i), "controller"), false))
            return json_at(owners, i);
    return NULL;
}

static int release_orphan(struct step *s, struct err *err)
{
    struct jobs *js = s->ctx;
    struct object *pod = cache_find(js->pod_cache, s->key);

    (void)err;
    if (!pod)
        return 0;
    const struct json *tree = object_tree(pod, s->arena), *owner = controller_of(tree);
    const struct json *finalizers = json_path(tree, "metadata", "finalizers", NULL);
    bool has_finalizer = false;
    json_each (i, finalizers)
        has_finalizer |= str_eq(json_str(json_at(finalizers, i)), S(JOB_FINALIZER));
    if (!has_finalizer || (owner && !str_eq(json_str(json_getz(owner, "kind")), S("Job"))))
        return 0;
    struct object *o =
        owner ? cache_get(js->job_cache, s->ns, json_str(json_getz(owner, "name"))) : NULL;
    if (o && str_eq(object_uid(o), json_str(json_getz(owner, "uid")))) {
        const struct job *job = object_view(o, s->arena);
        if (job_is_managed_elsewhere(job) || !job_is_finished(job))
            return 0;
    }
    struct client_target t = {.kind = &kind_pod, .ns = s->ns, .name = s->name};
    step_patch(s, &t, CLIENT_PATCH_STRATEGIC, finalizer_patch(s->arena),
               &(struct client_patch_options){0}, NULL, NULL);
    return 0;
}

/* ---- wiring ---- */

static void pod_changed(void *ctx, struct cache_event *e)
{
    struct jobs *js = ctx;
    const struct json *owner = controller_of(cache_event_any(e));
    struct object *pod = e->now ? e->now : e->old;

    if (!e->now)
        forget_pod(js, object_uid(pod));
    if (!owner) {
        if (e->now)
            controller_queue_object(js->orphans, pod);
        return;
    }
    if (!str_eq(json_str(json_getz(owner, "kind")), S("Job")))
        return;
    scoped(arena_fini) struct arena a = arena_sized(512);
    struct str name = json_str(json_getz(owner, "name"));
    struct str key = str_printf(&a, "%.*s/%.*s", STR_ARG(object_key(pod).ns), STR_ARG(name));
    struct object *job = cache_find(js->job_cache, key);
    if (job && is_controlled_by(json_getz(cache_event_any(e), "metadata"), object_uid(job)))
        controller_queue(js->controller, key);
    else if (e->now)
        controller_queue_object(js->orphans, pod);
}

static void job_changed(void *ctx, struct cache_event *e)
{
    struct jobs *js = ctx;

    if (!e->now) {
        forget_job(js, object_uid(e->old));
        sweep(NULL, js, object_uid(e->old));
    }
    controller_queue_object(js->controller, e->now ? e->now : e->old);
}

void *job_start(struct control *c)
{
    struct jobs *js = mem_zero(1, sizeof(*js));

    js->control = c;
    js->job_cache = control_cache(c, &kind_job);
    js->pod_cache = control_cache(c, &kind_pod);
    js->by_owner = cache_by_owner(js->pod_cache);
    js->controller = controller_new(
        c, &(struct controller_config){.name = "job", .reconcile = reconcile, .ctx = js});
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

    map_each (i, &js->pods) {
        arena_fini(&(*map_at(&js->pods, i))->arena);
        free(*map_at(&js->pods, i));
    }
    map_fini(&js->pods);
    map_each (i, &js->memory)
        free(*map_at(&js->memory, i));
    map_fini(&js->memory);
    free(js);
}
