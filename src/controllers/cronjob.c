/* cronjob.c - makes Jobs when their time has come
 *
 * Decides in cron_decide.c and acts in phases, each of which begins when the answers of the
 * one before are in; the status is written last, also where something failed on the way.
 *
 * A look comes back when the next time is due, by a clock that never jumps. Where the other
 * one, by which times are meant, was set, all are looked at anew.
 */
#include "controllers/controllers_priv.h"
#include "controllers/cron_decide.h"

#include "api/batch_v1.h"
#include "api/core_v1.h"
#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/codec.h"

#define CLOCK_EVERY span_s(30)
#define CLOCK_LEAST span_s(1) /* of a jump: less is a clock that is being corrected */
#define MAX_BUSY 512          /* their time comes at once: more in one commit */

struct crons {
    struct control *control;
    struct cache *crons, *jobs;
    struct cache_index *by_owner;
    struct controller *controller;
    struct io_timer *clock; /* set while there are CronJobs */
    int64_t offset;         /* of the two clocks, when it was last looked at */
};

/* One run. */
struct cron_run {
    struct step *step;
    struct object *object;
    const struct json *tree;
    struct cron_sync sync;
    struct cron_plan plan;
    size_t n_told; /* events sent */
    size_t n_pending;
    bool is_stopped; /* something failed: the status, and no more */
};

/* What a call is about. */
struct cron_call {
    struct cron_run *run;
    struct str name, uid;
    const struct object_reference *ref;
};

static struct cron_call *call_new(struct cron_run *r, struct str name, struct str uid)
{
    struct cron_call *call = arena_new(r->step->arena, struct cron_call);

    *call = (struct cron_call){.run = r, .name = name, .uid = uid};
    r->n_pending++;
    return call;
}

static struct client_target job_target(const struct cron_run *r, struct str name)
{
    return (struct client_target){.kind = &kind_job, .ns = r->step->ns, .name = name};
}

/* ---- the end ---- */

static void tell(struct cron_run *r)
{
    for (; r->n_told < r->sync.events.len; r->n_told++) {
        const struct cron_event *e = &r->sync.events.at[r->n_told];
        step_event(r->step, r->object, e->type, e->reason, "%.*s", STR_ARG(e->note));
    }
}

static void finish(struct cron_run *r)
{
    struct arena *a = r->step->arena;

    tell(r);
    if (!r->is_stopped && r->plan.comes_again && r->plan.again.ns != INT64_MIN)
        step_again(r->step, r->plan.again);
    if (!r->sync.must_write)
        return;
    const struct schema_field *f = schema_field(kind_cron_job.schema, S("status"));
    const struct json *body =
        json_with(a, r->tree, schema_encode(a, f->type, r->sync.written), "status", NULL);
    step_update(r->step, &kind_cron_job, r->step->ns, r->step->name, S("status"), body, NULL,
                NULL);
}

/* ---- creating ---- */

static bool is_controlled_by(const struct json *meta, struct str uid)
{
    const struct json *owners = json_getz(meta, "ownerReferences");

    json_each (i, owners) {
        const struct json *o = json_at(owners, i);
        if (json_bool(json_getz(o, "controller"), false))
            return str_eq(json_str(json_getz(o, "uid")), uid);
    }
    return false;
}

static void adopt(struct cron_run *r, struct object *job)
{
    struct object_key key = object_key(job);

    cron_created(&r->sync, &r->plan, key.ns, key.name, object_uid(job));
}

/* A Job of that name was there: ours, if an earlier look failed to write it down. */
static void found(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct cron_run *r = ctx;

    r->is_stopped = true;
    if (!answer->err) {
        const struct json *meta = json_getz(object_tree(answer->object, s->arena), "metadata");
        bool is_listed = false;
        for (size_t i = 0; i < r->sync.status->active.len; i++)
            is_listed |= str_eq(r->sync.status->active.at[i].uid, object_uid(answer->object));
        if (!is_listed && is_controlled_by(meta, object_uid(r->object))) {
            adopt(r, answer->object);
            r->is_stopped = false;
        }
    }
    finish(r);
}

static void created(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct cron_run *r = ctx;

    if (answer->err && answer->err->code == ERR_EXISTS) {
        struct client_target t = job_target(r, r->plan.name);
        step_ignore_error(s);
        step_get(s, &t, found, r);
        return;
    }
    tell(r);
    if (answer->err) {
        r->is_stopped = true;
        step_event(s, r->object, "Warning", "FailedCreate", "Error creating job: %s",
                   answer->err->text);
    } else {
        adopt(r, answer->object);
        step_event(s, r->object, "Normal", "SuccessfulCreate", "Created job %.*s",
                   STR_ARG(r->plan.name));
    }
    finish(r);
}

static void create(struct cron_run *r)
{
    struct err err = {0};
    const struct json *body = NULL;
    struct client_target t = {.kind = &kind_job, .ns = r->step->ns};

    if (!r->is_stopped && r->plan.must_create)
        body = cron_job_body(r->step->arena, r->tree, r->plan.scheduled, &err);
    if (body)
        step_create(r->step, &t, body, created, r);
    else
        finish(r);
}

/* ---- deleting ---- */

static void note_deleted(struct cron_call *call, const struct client_answer *answer)
{
    struct cron_run *r = call->run;

    if (!answer->err)
        cron_deleted(&r->sync, call->name, call->uid);
    else if (answer->err->code != ERR_NOT_FOUND)
        step_event(r->step, r->object, "Warning", "FailedDelete", "Deleted job: %s",
                   answer->err->text);
}

static void start_delete(struct cron_call *call, step_done_fn *done)
{
    struct client_target t = job_target(call->run, call->name);
    struct client_delete_options options = {
        .propagation = S("Background"), .uid = call->uid, .grace_s = -1};

    step_delete(call->run->step, &t, &options, done, call);
}

static void replaced(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct cron_call *call = ctx;

    (void)s;
    note_deleted(call, answer);
    call->run->is_stopped |= answer->err != NULL;
    if (--call->run->n_pending == 0)
        create(call->run);
}

static void decide(struct cron_run *r)
{
    r->plan = cron_decide(&r->sync);
    tell(r);
    r->n_pending = 1; /* ourselves, until all are started */
    for (size_t i = 0; i < r->plan.n_replace; i++) {
        const struct object_reference *ref = &r->plan.replace[i];
        start_delete(call_new(r, ref->name, ref->uid), replaced);
    }
    if (--r->n_pending == 0)
        create(r);
}

/* ---- looking at what there is ---- */

static void looked_up(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct cron_call *call = ctx;
    struct cron_run *r = call->run;

    (void)s;
    if (answer->err && answer->err->code == ERR_NOT_FOUND)
        cron_gone(&r->sync, call->ref);
    else if (answer->err)
        r->is_stopped = true;
    if (--r->n_pending)
        return;
    if (r->is_stopped)
        finish(r);
    else
        decide(r);
}

static void look_at_children(struct cron_run *r, const struct cron_job *fresh)
{
    const struct object_reference *missing;

    cron_children(&r->sync, fresh);
    size_t n = cron_missing(&r->sync, &missing);
    if (n == 0) {
        decide(r);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct client_target t = job_target(r, missing[i].name);
        struct cron_call *call = call_new(r, missing[i].name, missing[i].uid);
        call->ref = &missing[i];
        step_get(r->step, &t, looked_up, call);
    }
}

static void read_anew(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct cron_run *r = ctx;

    if (answer->err) { /* gone, or it is tried again */
        r->is_stopped = true;
        finish(r);
        return;
    }
    look_at_children(r, object_view(step_hold(s, answer->object), s->arena));
}

static void look(struct cron_run *r)
{
    struct client_target t = {.kind = &kind_cron_job, .ns = r->step->ns, .name = r->step->name};

    if (cron_lost(&r->sync))
        step_get(r->step, &t, read_anew, r);
    else
        look_at_children(r, NULL);
}

static void forgotten(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct cron_call *call = ctx;

    (void)s;
    note_deleted(call, answer);
    if (--call->run->n_pending == 0)
        look(call->run);
}

static const struct job *const *children(struct step *s, struct crons *cs, struct object *cron,
                                         size_t *n)
{
    struct object *const *owned;
    size_t n_owned = cache_indexed(cs->by_owner, object_uid(cron), &owned);
    const struct job **jobs = arena_array(s->arena, const struct job *, n_owned + 1);

    *n = 0;
    for (size_t i = 0; i < n_owned; i++) {
        const struct json *meta = json_getz(object_tree(owned[i], s->arena), "metadata");
        if (str_eq(object_key(owned[i]).ns, s->ns) && is_controlled_by(meta, object_uid(cron)))
            jobs[(*n)++] = object_view(step_hold(s, owned[i]), s->arena);
    }
    return jobs;
}

static int reconcile(struct step *s, struct err *err)
{
    struct crons *cs = s->ctx;
    struct object *object = cache_find(cs->crons, s->key);
    const uint32_t *history;
    size_t n_jobs;

    (void)err;
    if (!object)
        return 0;
    struct cron_run *r = arena_new(s->arena, struct cron_run);
    *r = (struct cron_run){.step = s, .object = step_hold(s, object)};
    r->tree = object_tree(object, s->arena);
    const struct job *const *jobs = children(s, cs, object, &n_jobs);
    cron_begin(&r->sync, s->arena, object_view(object, s->arena), jobs, n_jobs, s->now);
    size_t n = cron_history(&r->sync, &history);
    r->n_pending = 1; /* ourselves, until all are started */
    for (size_t i = 0; i < n; i++) {
        const struct object_meta *meta = jobs[history[i]]->metadata;
        start_delete(call_new(r, meta->name, meta->uid), forgotten);
    }
    if (--r->n_pending == 0)
        look(r);
    return 0;
}

/* ---- the clock ---- */

static int64_t offset_now(const struct crons *cs)
{
    struct io *io = control_io(cs->control);

    return io_now(io).ns - io_uptime(io).ns;
}

static void watch_clock(void *ctx)
{
    struct crons *cs = ctx;
    int64_t jumped = offset_now(cs) - cs->offset;

    cs->offset += jumped;
    if (jumped > CLOCK_LEAST.ns || jumped < -CLOCK_LEAST.ns)
        cache_each(i, cs->crons)
            controller_queue_object(cs->controller, cache_at(cs->crons, i));
    if (cache_len(cs->crons))
        io_timer_set(cs->clock, CLOCK_EVERY);
}

static void cron_changed(void *ctx, struct cache_event *e)
{
    struct crons *cs = ctx;

    if (e->now && !io_timer_is_set(cs->clock)) {
        cs->offset = offset_now(cs);
        io_timer_set(cs->clock, CLOCK_EVERY);
    }
}

/* ---- all ---- */

void *cronjob_start(struct control *c)
{
    struct crons *cs = mem_zero(1, sizeof(*cs));
    struct controller_config config = {
        .name = "cronjob", .reconcile = reconcile, .ctx = cs, .max_busy = MAX_BUSY};

    cs->control = c;
    cs->crons = control_cache(c, &kind_cron_job);
    cs->jobs = control_cache(c, &kind_job);
    cs->by_owner = cache_by_owner(cs->jobs);
    cs->clock = io_timer_new(control_io(c), watch_clock, cs);
    cs->controller = controller_new(c, &config);
    controller_watch(cs->controller, &kind_cron_job);
    controller_watch_owned(cs->controller, &kind_job, &kind_cron_job);
    cache_subscribe(cs->crons, cron_changed, cs);
    return cs;
}

void cronjob_free(void *state)
{
    struct crons *cs = state;

    io_timer_free(cs->clock);
    free(cs);
}
