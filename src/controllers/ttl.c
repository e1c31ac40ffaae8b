/* ttl.c - deletes finished Jobs when their time is over
 *
 * Source: jobs reference 1.24. Applies to Jobs of other controllers, too. The delete is
 * foreground and names the uid, so that a new Job of the same name is safe.
 */
#include "controllers/ttl.h"
#include "controllers/controllers_priv.h"

#include "api/batch_v1.h"
#include "api/kinds.h"
#include "object/object.h"

struct ttl {
    struct controller *controller;
    struct cache *jobs;
};

struct ttl_left ttl_decide(const struct job *job, struct instant now)
{
    const struct job_status *status = job->status;
    struct ttl_left left = {0};

    if (!IS_SET(job->spec, ttl_seconds_after_finished) ||
        instant_is_set(job->metadata->deletion_timestamp))
        return left;
    for (size_t i = 0; status && i < status->conditions.len; i++) {
        const struct job_condition *c = &status->conditions.at[i];
        bool is_end = str_eq(c->type, JOB_CONDITION_TYPE_COMPLETE) ||
                      str_eq(c->type, JOB_CONDITION_TYPE_FAILED);
        if (!is_end || !str_eq(c->status, S("True")))
            continue;
        left.applies = true;
        left.has_no_time = !instant_is_set(c->last_transition_time);
        left.expires =
            instant_add(c->last_transition_time, span_s(job->spec->ttl_seconds_after_finished));
        left.left = instant_sub(left.expires, now);
        return left;
    }
    return left;
}

static int reconcile(struct step *s, struct err *err)
{
    struct ttl *t = s->ctx;
    struct object *o = cache_find(t->jobs, s->key);

    if (!o)
        return 0;
    struct ttl_left left = ttl_decide(object_view(o, s->arena), s->now);
    if (!left.applies)
        return 0;
    if (left.has_no_time)
        return err_set(err, ERR_INVALID, "job '%.*s' has finished at no time", STR_ARG(s->key));
    if (left.left.ns > 0) {
        step_again(s, left.left);
        return 0;
    }
    struct client_target target = {.kind = &kind_job, .ns = s->ns, .name = s->name};
    struct client_delete_options options = {
        .propagation = S("Foreground"), .uid = object_uid(o), .grace_s = -1};
    step_delete(s, &target, &options, NULL, NULL);
    return 0;
}

/* Most Jobs stay. */
static void job_changed(void *ctx, struct cache_event *e)
{
    struct ttl *t = ctx;
    const struct json *spec = json_getz(cache_event_now(e), "spec");

    if (json_has(json_getz(spec, "ttlSecondsAfterFinished")))
        controller_queue_object(t->controller, e->now);
}

void *ttl_start(struct control *c)
{
    struct ttl *t = mem_zero(1, sizeof(*t));

    t->jobs = control_cache(c, &kind_job);
    t->controller = controller_new(
        c, &(struct controller_config){.name = "ttl", .reconcile = reconcile, .ctx = t});
    cache_subscribe(t->jobs, job_changed, t);
    return t;
}

void ttl_free(void *state)
{
    free(state);
}
