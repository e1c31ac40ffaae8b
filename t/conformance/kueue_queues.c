/* kueue_queues.c - scripts over the queues of waiting workloads */
#include "kueue_sched.h"

#include "kueue_parts.h"
#include "queue/plan_priv.h"
#include "value/quantity.h"
#include "value/time.h"

/* A script's world: what is stored, and the engine. */
struct script {
    struct sched s;
    struct str cq; /* that the running operation is about */
    const struct json *op, *args;
    struct json_arr results;     /* of the running operation */
    const struct queue_wl *last; /* workload that was named last */
    struct str last_key;
    size_t moved; /* by the last flush */
};

typedef void op_fn(struct script *x);

static const struct json *arg(const struct script *x, size_t i)
{
    return json_at(x->args, i);
}

/* An argument that is a workload, or {workload, ...}. */
static const struct json *workload_arg(const struct script *x)
{
    const struct json *a = arg(x, 0), *wl = json_getz(a, "workload");
    return json_has(wl) ? wl : a;
}

static void result(struct script *x, struct json v)
{
    arr_add(&x->results, v);
}

static void result_error(struct script *x)
{
    struct json_obj o = obj_in(x->s.t->arena);
    obj_setz(&o, "error", json_of_bool(true));
    result(x, obj_done(&o));
}

static struct str name_of(const struct json *o)
{
    return json_str(json_path(o, "metadata", "name", NULL));
}

static struct queue_cq *cq_of(struct script *x)
{
    struct queue_cq *cq = cq_find(x->s.e, x->cq);

    if (!cq) { /* a script about one nameless ClusterQueue */
        struct queue_cq_spec spec = {
            .name = x->cq, .weight = 1, .namespaces = {.is_set = true}};
        queue_put_cq(x->s.e, &spec, NULL);
        cq = cq_find(x->s.e, x->cq);
    }
    return cq;
}

/* ---- workloads ---- */

static void spec_of(struct script *x, const struct json *o, struct queue_workload_spec *spec)
{
    const struct json *hash = json_getz(arg(x, 0), "schedulingHash");

    queue_load_workload(x->s.t->arena, o, &x->s.loader, spec);
    if (json_has(hash))
        spec->shape_name = json_str(hash).len ? json_str(hash) : S("-");
}

static void remember(struct script *x, const struct json *o)
{
    x->last_key = sched_key(x->s.t->arena, o);
    x->last = wl_find(x->s.e, x->last_key);
}

/* Straight to the ClusterQueue of the operation: through a LocalQueue made for it. */
static enum queue_put push(struct script *x, const struct json *o)
{
    struct queue_workload_spec spec;
    struct queue_cq *cq = cq_of(x);

    spec_of(x, o, &spec);
    struct queue_lq *lq = lq_ref(x->s.e, spec.ns, spec.queue);
    if (!lq->exists || lq->cq != cq) {
        struct queue_lq_spec l = {.ns = spec.ns,
                                  .name = spec.queue,
                                  .cq = cq->name,
                                  .weight = lq->exists ? lq->weight : 1};
        queue_put_lq(x->s.e, &l);
    }
    enum queue_put put = queue_put_workload(x->s.e, &spec, x->s.now);
    remember(x, o);
    return put;
}

static void op_push(struct script *x)
{
    push(x, workload_arg(x));
}

static void op_delete(struct script *x)
{
    queue_delete_workload(x->s.e, json_str(arg(x, 0)));
    x->last_key = json_str(arg(x, 0));
    x->last = NULL;
}

static void op_pop(struct script *x)
{
    struct queue_wl *wl = pending_pop(x->s.e, cq_of(x));

    if (wl) {
        x->last_key = wl_key(x->s.t->arena, wl);
        x->last = wl;
        result(x, json_of_str(x->last_key));
    }
}

/* Known to the engine and in no queue, unless it is tracked already. */
static struct queue_wl *untracked(struct script *x, const struct json *o)
{
    struct queue_wl *wl = wl_find(x->s.e, sched_key(x->s.t->arena, o));
    bool was_tracked = wl && wl->state != WL_IDLE;

    if (!was_tracked || wl->state == WL_INFLIGHT) {
        push(x, o);
        wl = wl_find(x->s.e, sched_key(x->s.t->arena, o));
    }
    if (!was_tracked) { /* it comes from an attempt */
        pending_remove(x->s.e, wl);
        wl->evaluated = wl->generation;
    }
    remember(x, o);
    return wl;
}

static void set_progress(struct script *x, struct queue_wl *wl)
{
    const struct json *idx =
        json_getz(json_getz(arg(x, 0), "lastAssignment"), "lastTriedFlavorIdx");
    bool is_pending = false;

    if (!json_has(idx))
        return;
    json_each (i, idx)
        json_each_member (m, json_at(idx, i))
            is_pending |= json_i64(&m->value, -1) != -1;
    struct wl_progress *p = mem_zero(1, sizeof(*p));
    p->is_pending = is_pending;
    free(wl_extra(wl)->progress);
    wl->extra->progress = p;
}

static enum queue_requeue requeue_of(struct str name)
{
    static const char *const names[] = {
        [REQUEUE_GENERIC] = "",
        [REQUEUE_FAILED_AFTER_NOMINATION] = "FailedAfterNomination",
        [REQUEUE_PENDING_PREEMPTION] = "PendingPreemption",
        [REQUEUE_PENDING_MIGRATION] = "PendingMigration",
        [REQUEUE_PREEMPTION_FAILED] = "PreemptionFailed",
        [REQUEUE_NO_FIT] = "NoFit",
        [REQUEUE_NO_CANDIDATES] = "PreemptionNoCandidates",
        [REQUEUE_PREEMPTION_GATED] = "PreemptionGated",
        [REQUEUE_NAMESPACE] = "NamespaceMismatch",
    };

    for (size_t i = 0; i < countof(names); i++)
        if (str_eqz(name, names[i]))
            return (enum queue_requeue)i;
    return REQUEUE_GENERIC;
}

static enum queue_reason reason_of(struct str name)
{
    for (int i = 0; i < QUEUE_REASON_COUNT; i++)
        if (str_eq(queue_reason_text((enum queue_reason)i), name))
            return (enum queue_reason)i;
    return QUEUE_PENDING_EVALUATION;
}

static void op_requeue(struct script *x)
{
    struct queue_wl *wl = untracked(x, workload_arg(x));

    set_progress(x, wl);
    result(x, json_of_bool(pending_requeue(x->s.e, wl, requeue_of(json_str(arg(x, 1))),
                                           reason_of(json_str(arg(x, 2))), x->s.now)));
}

static void op_requeue_as(struct script *x)
{
    struct queue_wl *wl = untracked(x, workload_arg(x));

    set_progress(x, wl);
    result(x, json_of_bool(pending_requeue_as(x->s.e, wl, json_bool(arg(x, 1), false),
                                              requeue_of(json_str(arg(x, 2))),
                                              reason_of(json_str(arg(x, 3))), x->s.now)));
}

/* ---- what is there ---- */

static int by_value(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

static struct json keys_of(struct script *x, struct queue_cq *cq, bool parked)
{
    struct arena *a = x->s.t->arena;
    struct json_arr keys = arr_in(a);
    struct queue_wl **order;
    size_t n = queue_in_order(x->s.e, a, cq, &order);

    for (size_t i = 0; i < n; i++)
        if (pending_is_parked(order[i]) == parked)
            arr_add(&keys, json_of_str(wl_key(a, order[i])));
    vec_sort(&keys.items, by_value);
    return arr_done(&keys);
}

static void dump(struct script *x, bool parked)
{
    struct json keys = keys_of(x, cq_of(x), parked);

    if (json_len(&keys))
        result(x, keys);
    result(x, json_of_bool(json_len(&keys) > 0));
}

static void op_dump(struct script *x)
{
    dump(x, false);
}

static void op_dump_parked(struct script *x)
{
    dump(x, true);
}

static void dump_all(struct script *x, bool parked)
{
    struct json_obj out = obj_in(x->s.t->arena);

    map_each (i, &x->s.e->cqs) {
        struct queue_cq *cq = *map_at(&x->s.e->cqs, i);
        struct json keys = cq->exists ? keys_of(x, cq, parked) : json_of_null();
        if (json_len(&keys))
            obj_set(&out, cq->name, keys);
    }
    if (out.members.len)
        result(x, obj_done(&out));
}

static void op_dump_all(struct script *x)
{
    dump_all(x, false);
}

static void op_dump_all_parked(struct script *x)
{
    dump_all(x, true);
}

static void op_pending(struct script *x)
{
    struct arena a = {0};
    struct queue_cq_view v = queue_cq_look(x->s.e, &a, cq_of(x)->name);

    arena_fini(&a);
    result(x, json_of_i64(v.pending_active));
    result(x, json_of_i64(v.pending_parked));
}

static void op_pending_total(struct script *x)
{
    struct arena a = {0};
    struct queue_cq_view v = queue_cq_look(x->s.e, &a, cq_of(x)->name);

    arena_fini(&a);
    result(x, json_of_i64(v.pending_active + v.pending_parked));
}

static void op_pending_in_lq(struct script *x)
{
    struct queue_cq *cq = cq_of(x);
    struct queue_wl **order;
    size_t n = queue_in_order(x->s.e, x->s.t->arena, cq, &order), parked = 0, active = 0;

    for (size_t i = 0; i < n; i++) {
        if (!str_eq(order[i]->group->lq->key, json_str(arg(x, 0))))
            continue;
        parked += pending_is_parked(order[i]);
        active += !pending_is_parked(order[i]);
    }
    active += cq->inflight && str_eq(cq->inflight->group->lq->key, json_str(arg(x, 0)));
    result(x, json_of_i64((int64_t)active));
    result(x, json_of_i64((int64_t)parked));
}

static void op_snapshot(struct script *x)
{
    struct arena *a = x->s.t->arena;
    struct json_arr keys = arr_in(a);
    struct queue_wl **order;
    struct queue_cq *cq = x->args ? cq_find(x->s.e, json_str(arg(x, 0))) : cq_of(x);
    size_t n = cq ? queue_in_order(x->s.e, a, cq, &order) : 0;

    for (size_t i = 0; i < n; i++)
        arr_add(&keys, json_of_str(wl_key(a, order[i])));
    result(x, arr_done(&keys));
}

static void op_info(struct script *x)
{
    struct queue_wl *wl = wl_find(x->s.e, json_str(arg(x, 0)));

    if (wl && wl->state != WL_IDLE && wl_cq(wl) == cq_of(x))
        result(x, json_of_str(wl_key(x->s.t->arena, wl)));
}

static void op_is_preemptor(struct script *x)
{
    struct queue_wl *wl = wl_find(x->s.e, sched_key(x->s.t->arena, workload_arg(x)));
    struct queue_cq *cq = cq_of(x);
    int64_t generation =
        json_i64(json_path(workload_arg(x), "metadata", "generation", NULL), 0);

    result(x, json_of_bool(wl && cq->preemptor == wl &&
                           cq->preemptor_generation == (uint32_t)generation));
}

static void op_no_fit_reason(struct script *x)
{
    struct queue_wl *wl = wl_find(x->s.e, json_str(arg(x, 0)));
    enum queue_reason r = QUEUE_NONE;

    if (wl && pending_is_parked(wl))
        r = pending_shape_reason(cq_of(x), wl->group->shape->class);
    result(x, json_of_str(queue_reason_text(r)));
    result(x, json_of_bool(r != QUEUE_NONE));
}

static void op_backoff(struct script *x)
{
    struct queue_wl *wl = untracked(x, workload_arg(x));
    result(x, json_of_bool(pending_may_run(wl, x->s.now)));
}

static void op_park_shape(struct script *x)
{
    struct str hash = json_str(arg(x, 0));
    struct queue_shape shape = {.class = hash.len ? str_digest(hash) : 0};

    x->s.e->has_named_shapes = true;
    result(x, json_of_i64((int64_t)pending_park_shape(x->s.e, cq_of(x), &shape,
                                                      QUEUE_WAITING_FOR_QUOTA)));
}

static void op_flush(struct script *x)
{
    if (json_str(arg(x, 0)).len)
        x->cq = json_str(arg(x, 0));
    x->moved = pending_flush(x->s.e, cq_of(x), x->s.now);
    result(x, json_of_i64((int64_t)x->moved));
}

static void op_notify(struct script *x)
{
    json_each (i, arg(x, 0))
        queue_wake(x->s.e, json_str(json_at(arg(x, 0), i)), x->s.now);
}

/* LocalQueues keep what is theirs: nothing is added twice. */
static void op_add_from_lq(struct script *x)
{
    size_t added = 0;

    map_each (i, &x->s.e->lqs) {
        struct queue_lq *lq = *map_at(&x->s.e->lqs, i);
        size_t before = lq->is_attached ? lq->pending : 0;
        lq_attach(x->s.e, lq);
        added += (lq->is_attached ? lq->pending : 0) - before;
    }
    result(x, json_of_bool(added > 0));
}

/* ---- the manager ---- */

static void put(struct script *x, const struct json *o)
{
    queue_put_object(x->s.e, x->s.t->arena, o, &x->s.loader, x->s.now);
}

static void op_update_one_cq(struct script *x)
{
    struct queue_cq_spec spec;

    queue_load_cq(x->s.t->arena, arg(x, 0), &spec);
    spec.name = spec.name.len ? spec.name : x->cq;
    x->cq = spec.name;
    queue_put_cq(x->s.e, &spec, NULL);
}

static void start_over(struct script *x);

static void op_add_cq(struct script *x)
{
    struct str name = name_of(arg(x, 0));

    if (cq_find(x->s.e, name) && !json_has(json_getz(x->op, "result")))
        start_over(x); /* the table's next test, with a manager of its own */
    if (cq_find(x->s.e, name))
        result_error(x);
    else
        put(x, arg(x, 0));
    if (str_starts(name, S("pending-"))) /* by its name: the cache does not know it */
        cq_find(x->s.e, name)->is_active = false;
}

static void op_update_cq(struct script *x)
{
    if (!cq_find(x->s.e, name_of(arg(x, 0))))
        result_error(x);
    else
        put(x, arg(x, 0));
}

static void op_delete_cq(struct script *x)
{
    queue_delete_cq(x->s.e, name_of(arg(x, 0)));
}

static void op_cohort(struct script *x)
{
    put(x, arg(x, 0));
}

static struct queue_lq *lq_arg(struct script *x)
{
    struct queue_lq_spec spec;

    queue_load_lq(x->s.t->arena, arg(x, 0), &spec);
    return lq_ref(x->s.e, spec.ns, spec.name);
}

static void op_add_lq(struct script *x)
{
    if (lq_arg(x)->exists)
        result_error(x);
    else
        put(x, arg(x, 0));
}

static void op_update_lq(struct script *x)
{
    if (!lq_arg(x)->exists)
        result_error(x);
    else
        put(x, arg(x, 0));
}

static void op_delete_lq(struct script *x)
{
    struct queue_lq *lq = lq_arg(x);
    queue_delete_lq(x->s.e, lq->ns, lq->name);
}

static void op_add_workload(struct script *x)
{
    struct queue_workload_spec spec;

    spec_of(x, workload_arg(x), &spec);
    if (queue_put_workload(x->s.e, &spec, x->s.now) != QUEUE_PUT_QUEUED)
        result_error(x);
    remember(x, workload_arg(x));
}

/* What is stored has a version. */
static bool is_stored(const struct json *wl)
{
    return json_has(json_path(wl, "metadata", "resourceVersion", NULL));
}

static void op_manager_requeue(struct script *x)
{
    struct arena *a = x->s.t->arena;
    const struct json *o = workload_arg(x);
    struct queue_workload_spec spec;
    struct queue_wl *wl = wl_find(x->s.e, sched_key(a, o));

    spec_of(x, o, &spec);
    struct queue_lq *lq = lq_ref(x->s.e, spec.ns, spec.queue);
    if (!is_stored(o) || !wl_is_queueable(x->s.e, spec.flags) || !lq->is_attached) {
        result(x, json_of_bool(false));
        return;
    }
    if (!wl || wl->state == WL_IDLE) {
        queue_put_workload(x->s.e, &spec, x->s.now);
        wl = wl_find(x->s.e, sched_key(a, o));
        pending_remove(x->s.e, wl);
    }
    result(x, json_of_bool(pending_requeue(x->s.e, wl, requeue_of(json_str(arg(x, 1))),
                                           reason_of(json_str(arg(x, 2))), x->s.now)));
}

static void op_heads(struct script *x)
{
    struct arena *a = x->s.t->arena;
    struct json_arr keys = arr_in(a);

    map_each (i, &x->s.e->cqs) {
        struct queue_cq *cq = *map_at(&x->s.e->cqs, i);
        struct queue_wl *wl = cq->exists && cq->is_active ? pending_pop(x->s.e, cq) : NULL;
        if (wl)
            arr_add(&keys, json_of_str(wl_key(a, wl)));
    }
    vec_sort(&keys.items, by_value);
    result(x, arr_done(&keys));
}

static void op_pending_workloads(struct script *x)
{
    struct queue_lq *lq = lq_arg(x);
    struct queue_lq_view v = queue_lq_look(x->s.e, x->s.t->arena, lq->ns, lq->name);

    result(x, json_of_i64(v.pending));
}

static void op_second_pass(struct script *x)
{
    const struct json *o = workload_arg(x);
    struct queue_wl *wl = wl_find(x->s.e, sched_key(x->s.t->arena, o));
    bool was_queued = wl && wl->extra && (wl->extra->is_prequeued || wl->extra->is_ready);
    struct queue_workload_spec spec;

    spec_of(x, o, &spec);
    if (was_queued && !spec.flags && !json_i64(arg(x, 1), 0)) { /* changes nothing */
        result(x, json_of_bool(false));
        return;
    }
    queue_put_workload(x->s.e, &spec, x->s.now);
    wl = wl_find(x->s.e, sched_key(x->s.t->arena, o));
    if (!was_queued)
        second_pass_forget(x->s.e, wl);
    result(x, json_of_bool(
                  second_pass_queue(x->s.e, wl, (uint32_t)json_i64(arg(x, 1), 0), x->s.now)));
}

static void op_nothing(struct script *x)
{
    (void)x;
}

static const struct {
    const char *name;
    op_fn *run;
} ops[] = {
    {"ClusterQueue.AddFromLocalQueue",         op_add_from_lq      },
    {"ClusterQueue.Delete",                    op_delete           },
    {"ClusterQueue.Dump",                      op_dump             },
    {"ClusterQueue.DumpInadmissible",          op_dump_parked      },
    {"ClusterQueue.GetNoFitReason",            op_no_fit_reason    },
    {"ClusterQueue.Info",                      op_info             },
    {"ClusterQueue.IsPreemptor",               op_is_preemptor     },
    {"ClusterQueue.Pending",                   op_pending          },
    {"ClusterQueue.PendingInLocalQueue",       op_pending_in_lq    },
    {"ClusterQueue.PendingTotal",              op_pending_total    },
    {"ClusterQueue.Pop",                       op_pop              },
    {"ClusterQueue.PushOrUpdate",              op_push             },
    {"ClusterQueue.RequeueIfNotPresent",       op_requeue          },
    {"ClusterQueue.Snapshot",                  op_snapshot         },
    {"ClusterQueue.Update",                    op_update_one_cq    },
    {"ClusterQueue.backoffWaitingTimeExpired", op_backoff          },
    {"ClusterQueue.handleInadmissibleHash",    op_park_shape       },
    {"ClusterQueue.requeueIfNotPresent",       op_requeue_as       },
    {"Manager.AddClusterQueue",                op_add_cq           },
    {"Manager.AddLocalQueue",                  op_add_lq           },
    {"Manager.AddOrUpdateCohort",              op_cohort           },
    {"Manager.AddOrUpdateWorkload",            op_add_workload     },
    {"Manager.DeleteAndForgetWorkload",        op_delete           },
    {"Manager.DeleteClusterQueue",             op_delete_cq        },
    {"Manager.DeleteLocalQueue",               op_delete_lq        },
    {"Manager.DeleteWorkload",                 op_delete           },
    {"Manager.Dump",                           op_dump_all         },
    {"Manager.DumpInadmissible",               op_dump_all_parked  },
    {"Manager.Heads",                          op_heads            },
    {"Manager.PendingWorkloads",               op_pending_workloads},
    {"Manager.PendingWorkloadsInfo",           op_snapshot         },
    {"Manager.QueueSecondPassIfNeeded",        op_second_pass      },
    {"Manager.RequeueWorkload",                op_manager_requeue  },
    {"Manager.UpdateClusterQueue",             op_update_cq        },
    {"Manager.UpdateLocalQueue",               op_update_lq        },
    {"Manager.UpdateUnadmittedWorkload",       op_nothing          }, /* a metric; `want` is compared */
    {"queue.NotifyRetryInadmissible",          op_notify           },
    {"queue.queueInadmissibleWorkloads",       op_flush            },
};

static void run_op(struct script *x, const struct json *o)
{
    struct arena *a = x->s.t->arena;
    struct str name = json_str(json_getz(o, "op"));

    x->op = o;
    x->args = json_getz(o, "args");
    x->results = arr_in(a);
    if (json_has(json_getz(o, "on")))
        x->cq = json_str(json_getz(o, "on"));
    for (size_t i = 0; i < countof(ops); i++) {
        if (!str_eqz(name, ops[i].name))
            continue;
        ops[i].run(x);
        sched_same(&x->s, str_z(a, name), json_new(a, arr_done(&x->results)),
                   json_getz(o, "result"));
        return;
    }
    conf_fail(x->s.t, "operation", name, S("a known one"));
}

/* ---- what is wanted at the end ---- */

static void want_bool(struct script *x, const char *name, bool got)
{
    const struct json *want = json_get(json_getz(x->s.c, "want"), str_from(name));

    if (json_is(want, JSON_BOOL) && want->boolean != got)
        conf_fail(x->s.t, name, got ? S("true") : S("false"), S("the other"));
}

static void want_int(struct script *x, const char *name, int64_t got)
{
    const struct json *want = json_get(json_getz(x->s.c, "want"), str_from(name));

    if (json_is(want, JSON_INT) && want->i != got)
        conf_fail(x->s.t, name, str_printf(x->s.t->arena, "%" PRId64, got),
                  json_text(x->s.t->arena, want));
}

static void want_places(struct script *x, struct queue_cq *cq)
{
    const struct queue_wl *wl = wl_find(x->s.e, x->last_key);
    bool is_waiting = wl && wl->state == WL_WAITING,
         parked = is_waiting && pending_is_parked(wl);

    want_bool(x, "inadmissible", parked);
    want_bool(x, "inInadmissible", parked);
    want_bool(x, "inHeap", is_waiting && !parked);
    want_bool(x, "inInflight", wl && wl->state == WL_INFLIGHT);
    want_bool(x, "sticky", cq->is_sticky);
    want_bool(x, "hash", cq->bulk.len > 0);
    want_int(x, "pendingActive", cq->n_active + (cq->inflight != NULL));
    want_int(x, "active", cq->n_active + (cq->inflight != NULL));
    want_int(x, "inadmissible", cq->n_parked);
    want_int(x, "activeWorkloads", cq->n_active);
    want_int(x, "inadmissibleWorkloads", cq->n_parked);
    want_int(x, "pending", cq->n_active + cq->n_parked + (cq->inflight != NULL));
    want_int(x, "inadmissibleWorkloadsRequeued", (int64_t)x->moved);
}

static void want_carried(struct script *x)
{
    struct queue_wl *wl = wl_find(x->s.e, x->last_key);

    if (json_getz(json_getz(x->s.c, "want"), "carried"))
        want_bool(x, "carried", wl && wl->extra && wl->extra->progress);
}

static void want_ready(struct script *x)
{
    struct arena *a = x->s.t->arena;
    const struct json *want = json_getz(x->s.c, "want");
    struct span passed = {0};
    struct json_arr keys = arr_in(a);

    if (!str_ends(json_str(json_getz(x->s.c, "name")), S("immediately")))
        passed = span_s(1);
    span_parse(json_str(json_path(x->s.c, "in", "passTime", NULL)), &passed, NULL);
    struct instant then = instant_add(x->s.now, passed);
    vec_each (i, &x->s.e->second_pass) {
        struct queue_wl *wl = x->s.e->second_pass.at[i];
        if (!instant_before(then, wl->extra->due) && wl_needs_second_pass(wl))
            arr_add(&keys, json_of_str(wl_key(a, wl)));
    }
    vec_sort(&keys.items, by_value);
    sched_same(&x->s, "ready", json_new(a, arr_done(&keys)), json_getz(want, "ready"));
}

static void want_unadmitted(struct script *x)
{
    struct arena *a = x->s.t->arena;
    struct json_obj o = obj_in(a);
    struct str reason, cause;
    const struct json *ops_list = json_getz(x->s.c, "ops"), *wl = NULL;

    json_each (i, ops_list)
        if (!wl && str_eq(json_str(json_getz(json_at(ops_list, i), "op")),
                          S("Manager.UpdateUnadmittedWorkload")))
            wl = json_at(json_getz(json_at(ops_list, i), "args"), 0);
    queue_unadmitted(wl, &reason, &cause);
    obj_setz(&o, "clusterQueue", json_of_z("cq"));
    obj_setz(&o, "localQueueName",
             json_of_str(json_str(json_path(wl, "spec", "queueName", NULL))));
    obj_setz(&o, "localQueueNamespace",
             json_of_str(json_str(json_path(wl, "metadata", "namespace", NULL))));
    obj_setz(&o, "reason", json_of_str(reason));
    if (cause.len)
        obj_setz(&o, "underlyingCause", json_of_str(cause));
    sched_same(&x->s, "status", json_new(a, obj_done(&o)),
               json_path(x->s.c, "want", "status", NULL));
}

/* ---- the set-up that scripts leave out ---- */

static bool is_from(const struct script *x, const char *test)
{
    return str_ends(json_str(json_getz(x->s.c, "source")), str_from(test));
}

static void seed(struct script *x, const char *lq, int64_t cpu)
{
    struct queue_consumed c = {S("cpu"), cpu, 0};
    queue_afs_seed(x->s.e, S("default"), str_from(lq), &c, 1, x->s.now);
}

static void set_up(struct script *x)
{
    const struct json *objects = json_getz(x->s.c, "objects");

    json_each (i, objects) {
        const struct json *o = json_at(objects, i);
        struct str kind = json_str(json_getz(o, "kind"));
        if (str_eq(kind, S("Namespace")))
            put(x, o);
        if (str_eq(kind, S("Workload")))
            sched_store(&x->s, o);
    }
    if (is_from(x, "TestPushOrUpdateRespectsInadmissibleHashes")) {
        struct queue_shape shape = {.class = str_digest(S("blocked"))};
        x->s.e->has_named_shapes = true;
        pending_park_shape(x->s.e, cq_of(x), &shape, QUEUE_WAITING_FOR_QUOTA);
    }
    if (is_from(x, "TestFsAdmission")) { /* lqA has used more */
        seed(x, "lqA", 10);
        seed(x, "lqB", 5);
    }
    if (str_has(json_str(json_getz(x->s.c, "source")), S("TestUpdateLocalQueueWeight"))) {
        seed(x, "lq-a", 10); /* the same by both, until a weight changes */
        seed(x, "lq-b", 10);
    }
    if (is_from(x, "TestPendingResourcesAfterLocalQueueResync") &&
        !str_has(json_str(json_getz(x->s.c, "name")), S("inflight"))) {
        /* default/workload is tracked as inadmissible */
        struct queue_workload_spec spec = {.ns = S("default"), .name = S("workload")};
        struct queue_lq_spec l = {.ns = S("default"), .cq = cq_of(x)->name, .weight = 1};
        queue_put_lq(x->s.e, &l);
        queue_put_workload(x->s.e, &spec, x->s.now);
        struct queue_wl *wl = wl_find(x->s.e, S("default/workload"));
        pending_remove(x->s.e, wl);
        pending_push(x->s.e, wl, true);
        x->last_key = S("default/workload");
    }
}

static void start_over(struct script *x)
{
    queue_free(x->s.e);
    vec_clear(&x->s.store);
    x->s.e = queue_new(&x->s.config);
    set_up(x);
}

static bool wants_afs(const struct script *x)
{
    return is_from(x, "TestFsAdmission") ||
           str_has(json_str(json_getz(x->s.c, "source")), S("TestUpdateLocalQueueWeight"));
}

/* Progress that the tracked workload is to have before the last operation. */
static void give_progress(struct script *x)
{
    struct queue_wl *wl = wl_find(x->s.e, x->last_key);

    if (!json_getz(json_getz(x->s.c, "want"), "carried") || !wl || wl_extra(wl)->progress)
        return;
    wl->extra->progress = mem_zero(1, sizeof(struct wl_progress));
    wl->extra->progress->class = wl->group->shape->class;
}

static void run_script(struct conf *t, const struct json *c)
{
    struct script x = {
        .s = {.t = t, .c = c, .want = json_getz(c, "want")},
          .cq = S("cq")
    };
    const struct json *list = json_getz(c, "ops");

    sched_configure(&x.s, json_getz(c, "gates"), NULL);
    if (wants_afs(&x)) {
        x.s.config.afs = true;
        x.s.config.afs_sampling = span_s(1);
    }
    if (str_ends(json_str(json_getz(c, "name")), S("always use the creation timestamp")))
        x.s.config.order_by_creation = true;
    x.s.e = queue_new(&x.s.config);
    set_up(&x);
    json_each (i, list) {
        if (i + 1 == json_len(list))
            give_progress(&x);
        run_op(&x, json_at(list, i));
    }
    want_places(&x, cq_of(&x));
    want_carried(&x);
    if (is_from(&x, "TestQueueSecondPassIfNeeded"))
        want_ready(&x);
    if (is_from(&x, "TestUpdateUnadmittedWorkload"))
        want_unadmitted(&x);
    queue_free(x.s.e);
    vec_fini(&x.s.store);
}

/* ---- the ledger of entry penalties ---- */

static void penalties(struct conf *t, const struct json *c)
{
    const struct json *list = json_path(c, "in", "ops", NULL), *want = json_getz(c, "want");
    struct afs_ledger ledger = {0};
    struct intern names = {0};
    struct json_obj milli = obj_in(t->arena);

    json_each (i, list) {
        const struct json *push = json_getz(json_at(list, i), "push");
        uint64_t key = str_digest(json_str(json_getz(json_at(list, i), "wl")));
        struct afs_amounts amounts = {0};
        json_each_member (m, push) {
            struct quantity q = {0};
            quantity_parse(t->arena, json_str(&m->value), &q, NULL);
            *afs_at(&amounts, intern_add(&names, m->name)) =
                (__int128)quantity_units(&q, QUANTITY_MILLI) * 1000000;
        }
        if (json_has(push))
            afs_penalty_set(&ledger, key, amounts);
        else
            afs_penalty_drop(&ledger, key);
    }
    vec_each (i, &ledger.penalties)
        vec_each (k, &ledger.penalties.at[i].amounts) {
            const struct afs_amount *x = &ledger.penalties.at[i].amounts.at[k];
            struct str name = intern_name(&names, x->resource);
            int64_t old = 0;
            vec_each (n, &milli.members)
                if (str_eq(milli.members.at[n].name, name))
                    old = milli.members.at[n].value.i;
            obj_set(&milli, name, json_of_i64(old + (int64_t)(x->nano / 1000000)));
        }
    bool has = ledger.penalties.len > 0;
    if (has != json_bool(json_getz(want, "has"), false))
        conf_fail(t, "has", has ? S("true") : S("false"), S("the other"));
    const struct json *none = json_getz(want, "milli");
    struct json got = obj_done(&milli);
    if (json_len(&got) || json_len(none))
        conf_same(t, "milli", &got, none);
    afs_ledger_fini(&ledger);
    intern_fini(&names);
}

void kueue_queues(struct conf *t, const struct json *c)
{
    if (str_has(json_str(json_getz(c, "source")), S("TestPenaltyBookkeeping")))
        penalties(t, c);
    else
        run_script(t, c);
}
