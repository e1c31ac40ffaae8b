/* job_claim.c - adopting and releasing pods */
#include "controllers/job_claim.h"

#include "api/batch_v1.h"
#include "api/kinds.h"
#include "control/control.h"
#include "controllers/job_birth.h"
#include "controllers/job_known.h"
#include "object/object.h"
#include "json/json.h"

/* ---- indexes: "ns" and "ns key=value" ---- */

static struct str label_key(struct arena *a, struct str ns, struct str key,
                            const struct json *value)
{
    return str_concat(a, ns, S(" "), key, S("="), json_str(value));
}

static void loose_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    struct str ns = object_key(o).ns;

    if (job_controller_of(tree))
        return;
    vec_push(&out->keys, ns);
    json_each_member (m, json_path(tree, "metadata", "labels", NULL))
        vec_push(&out->keys, label_key(out->arena, ns, m->name, &m->value));
}

/* Under one of the labels that its pods must have; under the namespace where there is none. */
static struct str job_key(struct arena *a, struct str ns, const struct json *job)
{
    const struct json *labels = json_path(job, "spec", "selector", "matchLabels", NULL);

    json_each_member (m, labels)
        return label_key(a, ns, m->name, &m->value);
    return ns;
}

static void job_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    vec_push(&out->keys, job_key(out->arena, object_key(o).ns, tree));
}

struct cache_index *job_claim_loose_pods(struct cache *pods)
{
    return cache_index(pods, "loose", loose_keys);
}

struct cache_index *job_claim_jobs(struct cache *jobs)
{
    return cache_index(jobs, "selector", job_keys);
}

static void tell_jobs(const struct cache_index *jobs, struct str key, const struct json *labels,
                      job_claim_fn *fn, void *ctx)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    struct object *const *list;
    size_t n = cache_indexed(jobs, key, &list);

    for (size_t i = 0; i < n; i++) {
        const struct json *tree = object_tree(list[i], &a);
        struct selector selector;
        struct err err;
        if (selector_of_json(&a, json_path(tree, "spec", "selector", NULL), &selector, &err) ==
                0 &&
            selector_matches_json(&selector, labels))
            fn(ctx, list[i]);
    }
}

void job_claim_each_job(const struct cache_index *jobs, struct str ns, const struct json *pod,
                        job_claim_fn *fn, void *ctx)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 10);
    const struct json *labels = json_path(pod, "metadata", "labels", NULL);

    tell_jobs(jobs, ns, labels, fn, ctx);
    json_each_member (m, labels)
        tell_jobs(jobs, label_key(&a, ns, m->name, &m->value), labels, fn, ctx);
}

/* ---- writes ---- */

static void claimed(struct job_claim *c)
{
    if (--c->n_pending)
        return;
    if (c->has_failed)
        job_known_doubt(c->known); /* the step comes back and reads all again */
    else
        c->done(c->ctx);
}

static void answered(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct job_claim *c = ctx;

    if (answer->err && answer->err->code == ERR_NOT_FOUND)
        step_ignore_error(s);
    else if (answer->err)
        c->has_failed = true;
    claimed(c);
}

static void patch(struct job_claim *c, struct str name, struct json_obj *meta)
{
    struct arena *a = c->step->arena;
    struct client_target t = {.kind = &kind_pod, .ns = c->step->ns, .name = name};
    struct json_obj root = obj_in(a);

    obj_setz(&root, "metadata", obj_done(meta));
    c->n_pending++;
    step_patch(c->step, &t, CLIENT_PATCH_STRATEGIC, json_new(a, obj_done(&root)),
               &(struct client_patch_options){0}, answered, c);
}

static void adopt(struct job_claim *c, struct object *pod)
{
    struct arena *a = c->step->arena;
    struct json_arr owners = arr_in(a), guards = arr_in(a);
    struct json_obj meta = obj_in(a);

    arr_add(&owners, job_owner_reference(a, c->job));
    arr_add(&guards, json_of_z(JOB_FINALIZER));
    obj_setz(&meta, "uid", json_of_str(object_uid(pod)));
    obj_setz(&meta, "ownerReferences", arr_done(&owners));
    obj_setz(&meta, "finalizers", arr_done(&guards));
    patch(c, object_key(pod).name, &meta);
}

static void release(struct job_claim *c, struct str name)
{
    struct arena *a = c->step->arena;
    struct json_arr owners = arr_in(a), guards = arr_in(a);
    struct json_obj meta = obj_in(a), gone = obj_in(a);

    obj_setz(&gone, "$patch", json_of_z("delete"));
    obj_setz(&gone, "uid", json_of_str(c->job->metadata->uid));
    arr_add(&owners, obj_done(&gone));
    arr_add(&guards, json_of_z(JOB_FINALIZER));
    obj_setz(&meta, "ownerReferences", arr_done(&owners));
    obj_setz(&meta, "$deleteFromPrimitiveList/finalizers", arr_done(&guards));
    patch(c, name, &meta);
}

/* Adopting is for a Job that is there and not going: what the cache says may be old. */
static void read_anew(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct job_claim *c = ctx;
    const struct json *meta =
        answer->err ? NULL : json_getz(object_tree(answer->object, s->arena), "metadata");

    if (meta && str_eq(json_str(json_getz(meta, "uid")), c->job->metadata->uid) &&
        !json_has(json_getz(meta, "deletionTimestamp"))) {
        for (size_t i = 0; i < c->n_adopt; i++)
            adopt(c, c->adopt[i]);
    } else {
        c->has_failed = true; /* its own event brings the next look */
    }
    claimed(c);
}

/* ---- looking ---- */

static bool wants(const struct job_claim *c, struct object *pod)
{
    const struct json *meta = json_getz(object_tree(pod, c->step->arena), "metadata");

    return !json_has(json_getz(meta, "deletionTimestamp")) &&
           selector_matches_json(c->selector, json_getz(meta, "labels"));
}

static void find_loose(struct job_claim *c)
{
    struct arena *a = c->step->arena;
    struct object *const *list;
    size_t n =
        cache_indexed(c->loose, job_key(a, c->step->ns, object_tree(c->object, a)), &list);

    c->adopt = arena_array(a, struct object *, n + 1);
    for (size_t i = 0; i < n; i++)
        if (wants(c, list[i]))
            c->adopt[c->n_adopt++] = step_hold(c->step, list[i]);
}

bool job_claim_start(struct job_claim *c)
{
    struct client_target t = {.kind = &kind_job, .ns = c->step->ns, .name = c->step->name};

    if (instant_is_set(c->job->metadata->deletion_timestamp))
        return false;
    find_loose(c);
    if (c->n_adopt == 0 && c->known->strangers.len == 0)
        return false;
    c->n_pending = 1; /* ourselves, until all are started */
    if (c->n_adopt) {
        c->n_pending++;
        step_get(c->step, &t, read_anew, c);
    }
    vec_each (i, &c->known->strangers)
        release(c, str_copy(c->step->arena, str_from(c->known->strangers.at[i])));
    claimed(c);
    return true;
}
