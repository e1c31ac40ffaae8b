/* workload.c - a Workload's life between its Job and its quota
 *
 * workload_life() decides; here is what it looks at, and what its plan writes. Every end goes
 * through workload_finish() or that plan, by workload_finish_edit(), and nothing else writes
 * the Finished condition.
 */
#include "controllers/workload.h"

#include "controllers/admit.h"
#include "controllers/controllers_priv.h"
#include "controllers/finalizer.h"
#include "controllers/queue_job.h"
#include "controllers/workload_life.h"

#include "api/kinds.h"
#include "object/object.h"
#include "queue/queue.h"
#include "schema/codec.h"

/* What Workloads look at of a queue, read once for all of them: its view without the status. */
struct kept {
    struct str path; /* owned */
    struct arena arena;
    const void *view;
};
typedef MAP(struct kept *) kept_map;

struct workloads {
    struct control *control;
    struct controller *controller;
    struct admit *admit;
    struct workload_rules rules;
    struct cache *workloads, *lqs, *cqs;
    kept_map kept_lqs, kept_cqs; /* by path */
    struct cache_index *by_queue;
};

void workload_write(struct step *s, struct object *o, const struct workload_edit *e,
                    step_done_fn *done, void *ctx)
{
    struct object_key key = object_key(o);
    struct client_target t = {.kind = &kind_kueue_workload,
                              .ns = key.ns,
                              .name = key.name,
                              .subresource = S("status")};
    struct workload_request r = workload_request(e, (struct workload_request_options){0});

    step_patch(s, &t, r.type, r.body, &r.options, done, ctx);
}

void workload_write_condition(struct step *s, struct object *o, const struct workload_edit *e,
                              struct str type, struct str manager)
{
    struct object_key key = object_key(o);
    struct client_target t = {.kind = &kind_kueue_workload,
                              .ns = key.ns,
                              .name = key.name,
                              .subresource = S("status")};
    struct client_patch_options options = {.manager = manager, .force = true};
    struct kueue_workload *wl = arena_new(s->arena, struct kueue_workload);
    struct kueue_workload_status *status = arena_new(s->arena, struct kueue_workload_status);
    struct object_meta *meta = arena_new(s->arena, struct object_meta);
    struct condition *one = arena_new(s->arena, struct condition);

    *one = *workload_edit_condition(e, type);
    SET(status, conditions, (struct condition_list){one, 1});
    SET(meta, name, key.name);
    SET(meta, namespace, key.ns);
    SET(wl, api_version, kind_kueue_workload.api_version);
    SET(wl, kind, kind_kueue_workload.kind);
    SET(wl, metadata, meta);
    SET(wl, status, status);
    struct json body = schema_encode(s->arena, kind_kueue_workload.schema, wl);
    step_patch(s, &t, CLIENT_APPLY, &body, &options, NULL, NULL);
}

bool workload_finish(struct step *s, struct object *o, struct str reason, struct str message,
                     step_done_fn *done, void *ctx)
{
    struct workload_edit e = workload_edit(s->arena, object_view(o, s->arena), s->now);

    if (!workload_finish_edit(&e, reason, message))
        return false;
    workload_write(s, o, &e, done, ctx);
    return true;
}

void workload_drop_finalizer(struct step *s, struct object *o)
{
    finalizer_set(s, o, S(FINALIZER_IN_USE), false);
}

/* ---- the queues ---- */

static void kept_free(struct kept *k)
{
    free((char *)(uintptr_t)k->path.at);
    arena_fini(&k->arena);
    free(k);
}

static void kept_fini(kept_map *map)
{
    map_each (i, map)
        kept_free(*map_at(map, i));
    map_fini(map);
}

static struct kept *kept_new(kept_map *map, struct str path)
{
    struct kept *k = mem_zero(1, sizeof(*k));
    char *at = mem_alloc(path.len);

    memcpy(at, path.at, path.len);
    k->path = str_of(at, path.len);
    *map_put(map, k->path) = k;
    return k;
}

static bool is_status_only(struct cache_event *e)
{
    static const struct str parts[] = {S_INIT("uid"), S_INIT("generation"),
                                       S_INIT("deletionTimestamp")};

    if (!e->old)
        return false;
    const struct json *was = json_getz(cache_event_old(e), "metadata");
    const struct json *now = json_getz(cache_event_now(e), "metadata");
    for (size_t i = 0; i < countof(parts); i++)
        if (!json_eq(json_get(was, parts[i]), json_get(now, parts[i])))
            return false;
    return true;
}

static void keep(kept_map *map, struct cache_event *e)
{
    struct object *o = e->now ? e->now : e->old;
    struct kept **found = map_get(map, object_path(o)), *k = found ? *found : NULL;

    if (k && !e->now) {
        map_del(map, k->path);
        kept_free(k);
    }
    if (!e->now || (k && is_status_only(e)))
        return;
    k = k ? k : kept_new(map, object_path(o));
    arena_reset(&k->arena);
    const struct json *tree = json_without(e->arena, cache_event_now(e), "status", NULL);
    tree = json_without(e->arena, tree, "metadata", "managedFields", NULL);
    k->view = schema_decode(&k->arena, object_key(o).kind->schema, json_copy(&k->arena, tree));
}

static const void *kept_view(const kept_map *map, struct str path)
{
    struct kept *const *k = map_get(map, path);

    return k ? (*k)->view : NULL;
}

/* ---- what stands around it ---- */

static bool is_going(const struct object_meta *m)
{
    return instant_is_set(m->deletion_timestamp);
}

static struct workload_seen look_around(struct arena *a, struct workloads *w, struct str ns,
                                        const struct json *wl)
{
    struct str queue = json_str(json_path(wl, "spec", "queueName", NULL));
    const struct json *admission = json_path(wl, "status", "admission", NULL);
    const struct kueue_local_queue *lq = kept_view(&w->kept_lqs, cache_path(a, ns, queue));
    struct workload_seen seen = {0};

    if (lq) {
        seen.has_lq = !is_going(lq->metadata);
        seen.lq_stop = lq->spec->stop_policy;
        seen.cq_name = lq->spec->cluster_queue;
    }
    if (json_has(admission))
        seen.cq_name = json_str(json_getz(admission, "clusterQueue"));
    seen.cq = kept_view(&w->kept_cqs, seen.cq_name);
    if (seen.cq) {
        seen.has_cq = !is_going(seen.cq->metadata);
        seen.cq_stop = seen.cq->spec->stop_policy;
        seen.is_cq_active = queue_is_active(admit_engine(w->admit), seen.cq_name);
    }
    return seen;
}

/* ---- acting on the plan ---- */

static void patch_spec(struct step *s)
{
    struct json_obj spec = obj_in(s->arena), root = obj_in(s->arena);
    struct client_target t = {.kind = &kind_kueue_workload, .ns = s->ns, .name = s->name};

    obj_setz(&spec, "active", json_of_bool(false));
    obj_setz(&root, "spec", obj_done(&spec));
    struct json body = obj_done(&root);
    step_patch(s, &t, CLIENT_PATCH_MERGE, &body, &(struct client_patch_options){0}, NULL, NULL);
}

/* The whole status, so that what another manager set goes, too. */
static void replace_status(struct step *s, struct object *o, const struct workload_edit *e)
{
    struct json status = schema_encode(
        s->arena, schema_member(kind_kueue_workload.schema, S("status")), e->status);
    const struct json *body =
        json_with(s->arena, object_tree(o, s->arena), status, "status", NULL);

    step_update(s, &kind_kueue_workload, s->ns, s->name, S("status"), body, NULL, NULL);
}

static void delete_it(struct step *s, struct object *o)
{
    struct client_target t = {.kind = &kind_kueue_workload, .ns = s->ns, .name = s->name};

    step_delete(s, &t, &(struct client_delete_options){.uid = object_uid(o), .grace_s = -1},
                NULL, NULL);
}

static void act(struct step *s, struct object *o, const struct workload_plan *p)
{
    if (p->acts & WORKLOAD_WRITE)
        workload_write(s, o, &p->edit, NULL, NULL);
    if (p->acts & WORKLOAD_REPLACE)
        replace_status(s, o, &p->edit);
    if (p->acts & WORKLOAD_DEACTIVATE)
        patch_spec(s);
    if (p->acts & WORKLOAD_LET_GO)
        workload_drop_finalizer(s, o);
    if (p->acts & WORKLOAD_DELETE)
        delete_it(s, o);
    for (size_t i = 0; i < p->n_events; i++)
        step_event(s, o, p->events[i].type, str_z(s->arena, p->events[i].reason), "%.*s",
                   STR_ARG(p->events[i].note));
    if (p->again.ns)
        step_again(s, p->again);
}

static int reconcile(struct step *s, struct err *err)
{
    struct workloads *w = s->ctx;
    struct object *o = cache_find(w->workloads, s->key);

    (void)err;
    if (!o)
        return 0;
    step_hold(s, o);
    const struct json *tree = object_tree(o, s->arena);
    struct workload_seen seen = look_around(s->arena, w, s->ns, tree);
    seen.equal_failed = queue_reason_text(queue_equal_failed(admit_engine(w->admit), s->key));
    if (workload_rests(tree, &seen, &w->rules))
        return 0;
    const struct kueue_workload *wl = object_view(o, s->arena);
    struct span left = workload_silence(wl, s->now);
    seen.is_silent = left.ns > 0;
    if (seen.is_silent)
        step_again(s, left);
    struct workload_plan plan = workload_life(s->arena, wl, &seen, &w->rules, s->now);
    act(s, o, &plan);
    return 0;
}

/* ---- wiring ---- */

/* A version that rests comes to no run; who waits with a reason does, as another may be known
 * by then. A change of its queues looks at it again. */
static void workload_changed(void *ctx, struct cache_event *e)
{
    struct workloads *w = ctx;

    if (!e->now)
        return;
    struct workload_seen seen =
        look_around(e->arena, w, object_key(e->now).ns, cache_event_now(e));
    seen.equal_failed = S("unknown");
    if (!workload_rests(cache_event_now(e), &seen, &w->rules))
        controller_queue_object(w->controller, e->now);
}

static void queue_all_of(struct workloads *w, struct str lq_path)
{
    struct object *const *list;
    size_t n = cache_indexed(w->by_queue, lq_path, &list);

    for (size_t i = 0; i < n; i++)
        controller_queue_object(w->controller, list[i]);
}

/* Does it take Workloads, as its status says? */
static struct str active_word(const struct json *queue)
{
    const struct json *list = json_path(queue, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eqz(json_str(json_getz(json_at(list, i), "type")), "Active"))
            return json_str(json_getz(json_at(list, i), "status"));
    return S("");
}

/* Nothing that a Workload looks at: numbers in a status, say. */
static bool is_the_same(struct cache_event *e)
{
    static const char *const parts[] = {"stopPolicy", "admissionChecksStrategy",
                                        "clusterQueue"};

    if (!e->old || !e->now)
        return false;
    const struct json *was = cache_event_old(e), *now = cache_event_now(e);
    for (size_t i = 0; i < countof(parts); i++)
        if (!json_eq(json_path(was, "spec", parts[i], NULL),
                     json_path(now, "spec", parts[i], NULL)))
            return false;
    return str_eq(active_word(was), active_word(now)) &&
           json_has(json_path(was, "metadata", "deletionTimestamp", NULL)) ==
               json_has(json_path(now, "metadata", "deletionTimestamp", NULL));
}

static void lq_changed(void *ctx, struct cache_event *e)
{
    struct workloads *w = ctx;

    keep(&w->kept_lqs, e);
    if (!is_the_same(e))
        queue_all_of(w, object_path(e->now ? e->now : e->old));
}

static void cq_changed(void *ctx, struct cache_event *e)
{
    struct workloads *w = ctx;
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct str name = object_key(e->now ? e->now : e->old).name;

    keep(&w->kept_cqs, e);
    if (is_the_same(e))
        return;
    cache_each(i, w->lqs)
    {
        const struct json *tree = object_tree(cache_at(w->lqs, i), &a);
        if (str_eq(json_str(json_path(tree, "spec", "clusterQueue", NULL)), name))
            queue_all_of(w, object_path(cache_at(w->lqs, i)));
        arena_reset(&a);
    }
}

struct workloads *workloads_new(struct control *c, struct admit *admit,
                                const struct workload_rules *rules)
{
    struct workloads *w = mem_zero(1, sizeof(*w));

    w->control = c;
    w->admit = admit;
    w->rules = *rules;
    w->workloads = control_cache(c, &kind_kueue_workload);
    w->lqs = control_cache(c, &kind_kueue_local_queue);
    w->cqs = control_cache(c, &kind_kueue_cluster_queue);
    w->by_queue = admit_by_queue(admit);
    w->controller = controller_new(
        c, &(struct controller_config){.name = "workload", .reconcile = reconcile, .ctx = w});
    cache_subscribe(w->workloads, workload_changed, w);
    cache_subscribe(w->lqs, lq_changed, w);
    cache_subscribe(w->cqs, cq_changed, w);
    return w;
}

void workloads_free(struct workloads *w)
{
    kept_fini(&w->kept_lqs);
    kept_fini(&w->kept_cqs);
    free(w);
}
