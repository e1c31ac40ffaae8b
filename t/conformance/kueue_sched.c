/* kueue_sched.c - whole scheduling cycles, and preemption */
#include "kueue_sched.h"

#include "api/kinds.h"
#include "kueue_parts.h"
#include "schema/codec.h"
#include "schema/table.h"
#include "value/quantity.h"
#include "value/time.h"

/* ---- comparing ---- */

static int by_text(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

static bool is_quantity_map(struct str name)
{
    static const char *const names[] = {"requests", "limits", "resourceUsage", "resources"};

    for (size_t i = 0; i < countof(names); i++)
        if (str_eqz(name, names[i]))
            return true;
    return false;
}

static struct json normal_quantity(struct arena *a, const struct json *v)
{
    struct quantity q;
    struct buf b = buf_in(a, 32);

    if (!json_is(v, JSON_STRING) || quantity_parse(a, json_str(v), &q, NULL) < 0)
        return *v;
    q = quantity_of_decimal(a, quantity_decimal(a, &q), QUANTITY_DECIMAL_SI);
    quantity_write_canonical(&b, &q);
    return json_of_str(buf_str(&b));
}

static bool is_left_out(struct str name)
{
    static const char *const names[] = {"message", "resourceVersion", "managedFields",
                                        "creationTimestamp"};

    for (size_t i = 0; i < countof(names); i++)
        if (str_eqz(name, names[i]))
            return true;
    return false;
}

static bool is_empty(const struct json *v)
{
    return v->type == JSON_NULL ||
           ((v->type == JSON_OBJECT || v->type == JSON_ARRAY) && json_len(v) == 0);
}

static struct json normal_at(struct arena *a, const struct json *v, struct str name)
{
    if (v->type == JSON_ARRAY) {
        struct json_arr out = arr_in(a);
        json_each (i, v)
            arr_add(&out, normal_at(a, json_at(v, i), S("")));
        if (str_eq(name, S("conditions")))
            vec_sort(&out.items, by_text);
        return arr_done(&out);
    }
    if (v->type == JSON_OBJECT) {
        struct json_obj out = obj_in(a);
        json_each_member (m, v) {
            struct json x = is_quantity_map(name) ? normal_quantity(a, &m->value)
                                                  : normal_at(a, &m->value, m->name);
            if (!is_left_out(m->name) && !is_empty(&x))
                obj_add(&out, m->name, x);
        }
        return obj_done(&out);
    }
    return *v;
}

const struct json *sched_normal(struct arena *a, const struct json *v)
{
    return v ? json_new(a, normal_at(a, v, S(""))) : NULL;
}

bool sched_same(struct sched *s, const char *what, const struct json *got,
                const struct json *want)
{
    struct arena *a = s->t->arena;
    struct str label =
        s->label.len ? str_printf(a, "%s (%.*s)", what, STR_ARG(s->label)) : str_from(what);
    struct json_obj empty = obj_in(a);
    const struct json *none = json_new(a, obj_done(&empty));

    got = sched_normal(a, got), want = sched_normal(a, want);
    if (!got || is_empty(got))
        got = none;
    if (!want || is_empty(want))
        want = none;
    return conf_same(s->t, str_z(a, label), got, want);
}

struct str sched_key(struct arena *a, const struct json *wl)
{
    return str_printf(a, "%.*s/%.*s",
                      STR_ARG(json_str(json_path(wl, "metadata", "namespace", NULL))),
                      STR_ARG(json_str(json_path(wl, "metadata", "name", NULL))));
}

static int by_key(const struct json *const *a, const struct json *const *b)
{
    int order = str_cmp(json_str(json_path(*a, "metadata", "namespace", NULL)),
                        json_str(json_path(*b, "metadata", "namespace", NULL)));
    return order ? order
                 : str_cmp(json_str(json_path(*a, "metadata", "name", NULL)),
                           json_str(json_path(*b, "metadata", "name", NULL)));
}

bool sched_same_workloads(struct sched *s)
{
    const struct json *want = json_getz(s->want, "workloads");
    bool ok = true;

    if (!want)
        return true;
    vec_sort(&s->store, by_key);
    if (s->store.len != json_len(want))
        conf_fail(s->t, "number of workloads", S(""), S(""));
    json_each (i, want) {
        const struct json *got = i < s->store.len ? s->store.at[i] : NULL;
        ok &= sched_same(s, "workload",
                         got ? json_without(s->t->arena, got, "apiVersion", NULL) : NULL,
                         json_without(s->t->arena, json_at(want, i), "apiVersion", NULL));
    }
    return ok;
}

/* ---- the world ---- */

static void set_gates(struct queue_config *c, const struct json *gates)
{
    json_each_member (m, gates)
        queue_config_gate(c, m->name, json_bool(&m->value, false));
}

static struct span span_of(const struct json *v)
{
    struct span d = {0};

    if (json_str(v).len)
        span_parse(json_str(v), &d, NULL);
    return d;
}

static void configure_fair(struct sched *s, const struct json *fair)
{
    const struct json *strategies = json_getz(fair, "preemptionStrategies");

    s->config.fair_sharing = json_is(fair, JSON_OBJECT);
    if (json_len(strategies) == 1) {
        bool is_final =
            str_eq(json_str(json_at(strategies, 0)), S("LessThanOrEqualToFinalShare"));
        s->config.fair_final_only = is_final;
        s->config.fair_initial_only = !is_final;
    }
}

static void configure_resources(struct sched *s, const struct json *config)
{
    struct arena *a = s->t->arena;
    const struct json *list = json_getz(config, "resourceTransformations");
    struct pod_transform *at = arena_array(a, struct pod_transform, json_len(list));

    json_each (i, list) {
        const struct json *x = json_at(list, i);
        at[i] = (struct pod_transform){
            .input = json_str(json_getz(x, "input")),
            .multiply_by = json_str(json_getz(x, "multiplyBy")),
            .is_replace = str_eq(json_str(json_getz(x, "strategy")), S("Replace")),
            .outputs = resource_list_of(a, json_getz(x, "outputs")),
        };
    }
    s->loader.rules.transforms = at;
    s->loader.rules.n_transforms = json_len(list);
}

static const struct json *const *list_of(struct sched *s, const char *name, size_t *n)
{
    const struct json *list = json_path(s->c, "objects", name, NULL);
    const struct json **at = arena_array(s->t->arena, const struct json *, json_len(list));

    json_each (i, list)
        at[i] = json_at(list, i);
    *n = json_len(list);
    return at;
}

void sched_configure(struct sched *s, const struct json *gates, const struct json *when)
{
    const struct json *config = json_getz(s->c, "config");
    const struct json *afs = json_getz(config, "admissionFairSharing");
    const struct json *weights = json_getz(afs, "resourceWeights");
    struct queue_weight *w = arena_array(s->t->arena, struct queue_weight, json_len(weights));

    s->config = queue_config_default();
    set_gates(&s->config, gates);
    set_gates(&s->config, when);
    configure_fair(s, json_getz(config, "fairSharing"));
    s->config.afs = json_is(afs, JSON_OBJECT);
    s->config.afs_half_life = span_of(json_getz(afs, "usageHalfLifeTime"));
    s->config.afs_sampling = json_has(json_getz(afs, "usageSamplingInterval"))
                                 ? span_of(json_getz(afs, "usageSamplingInterval"))
                                 : span_s(300);
    json_each_member (m, weights)
        w[s->config.n_afs_weights++] = (struct queue_weight){m->name, json_f64(&m->value, 1)};
    s->config.afs_weights = w;
    s->config.order_by_creation =
        str_eq(json_str(json_getz(config, "podsReadyRequeuingTimestamp")), S("Creation"));
    s->config.block_admission =
        json_bool(json_path(config, "waitForPodsReady", "blockAdmission", NULL), false);
    s->config.ignore_undeclared =
        str_eq(json_str(json_getz(config, "quotaCheckStrategy")), S("IgnoreUndeclared"));
    s->loader.config = &s->config;
    s->loader.rules.limit_ranges = list_of(s, "limitRanges", &s->loader.rules.n_limit_ranges);
    s->loader.rules.runtime_classes =
        list_of(s, "runtimeClasses", &s->loader.rules.n_runtime_classes);
    configure_resources(s, config);
    time_parse(json_str(json_getz(s->c, "now")), &s->now, NULL);
}

static void load(struct sched *s, const char *name)
{
    const struct json *list = json_path(s->c, "objects", name, NULL);

    json_each (i, list)
        queue_put_object(s->e, s->t->arena, json_at(list, i), &s->loader, s->now);
}

static void seed_usage(struct sched *s)
{
    json_each_member (m, json_path(s->c, "input", "localQueueUsage", NULL)) {
        struct arena *a = s->t->arena;
        struct queue_consumed *at = arena_array(a, struct queue_consumed, json_len(&m->value));
        size_t n = 0;
        for (const struct json_member *r = m->value.members;
             r < m->value.members + m->value.len; r++) {
            struct quantity q = {0};
            quantity_parse(a, json_str(&r->value), &q, NULL);
            at[n++] = (struct queue_consumed){r->name, quantity_units(&q, 0), 0};
        }
        queue_afs_seed(s->e, S("default"), m->name, at, n, s->now);
    }
}

static void run_variant(struct conf *t, const struct json *c, const struct json *when,
                        const struct json *want, sched_fn *run)
{
    static const char *const lists[] = {"namespaces",      "topologies", "resourceFlavors",
                                        "admissionChecks", "cohorts",    "clusterQueues",
                                        "localQueues"};
    struct sched s = {.t = t, .c = c, .want = want};
    const struct json *workloads = json_path(c, "objects", "workloads", NULL);

    if (when)
        s.label = json_text(t->arena, when);
    sched_configure(&s, json_getz(c, "gates"), when);
    s.e = queue_new(&s.config);
    for (size_t i = 0; i < countof(lists); i++)
        load(&s, lists[i]);
    seed_usage(&s);
    struct instant now = s.now;
    s.now = instant_add(now, span_s(-60)); /* so that second passes are due */
    json_each (i, workloads)
        sched_store(&s, json_at(workloads, i));
    s.now = now;
    run(&s);
    queue_free(s.e);
    vec_fini(&s.store);
    vec_fini(&s.events);
}

/* The variant's answers over those of the case. */
static const struct json *merged(struct arena *a, const struct json *base,
                                 const struct json *over)
{
    struct json_obj o = obj_from(a, base);

    json_each_member (m, over)
        obj_set(&o, m->name, m->value);
    return json_new(a, obj_done(&o));
}

void sched_each(struct conf *t, const struct json *c, sched_fn *run)
{
    const struct json *variants = json_getz(c, "gate_variants"), *want = json_getz(c, "want");

    run_variant(t, c, NULL, want, run);
    json_each (i, variants) {
        const struct json *v = json_at(variants, i), *when = json_getz(v, "when");
        json_each (k, when)
            run_variant(t, c, json_at(when, k), merged(t->arena, want, json_getz(v, "want")),
                        run);
    }
}

size_t sched_find(const struct sched *s, struct str key)
{
    vec_each (i, &s->store)
        if (str_eq(sched_key(s->t->arena, s->store.at[i]), key))
            return i;
    return SIZE_MAX;
}

void sched_store(struct sched *s, const struct json *wl)
{
    size_t i = sched_find(s, sched_key(s->t->arena, wl));
    struct queue_workload_spec spec;

    if (i == SIZE_MAX)
        vec_push(&s->store, wl);
    else
        s->store.at[i] = wl;
    queue_load_workload(s->t->arena, wl, &s->loader, &spec);
    queue_put_workload(s->e, &spec, s->now);
}

/* ---- a cycle and its writes ---- */

static void event(struct sched *s, struct str object, struct str reason, const char *type)
{
    struct json_obj o = obj_in(s->t->arena);

    obj_setz(&o, "object", json_of_str(object));
    obj_setz(&o, "reason", json_of_str(reason));
    obj_setz(&o, "type", json_of_str(str_from(type)));
    vec_push(&s->events, json_new(s->t->arena, obj_done(&o)));
}

struct workload_edit sched_edit(struct sched *s, size_t at)
{
    struct arena *a = s->t->arena;

    return workload_edit(a, schema_decode(a, kind_kueue_workload.schema, s->store.at[at]),
                         s->now);
}

const struct json *sched_edited(struct sched *s, size_t at, const struct workload_edit *e)
{
    const struct schema *type = schema_member(kind_kueue_workload.schema, S("status"));

    if (!e->has_changed)
        return s->store.at[at];
    return json_with(s->t->arena, s->store.at[at], schema_encode(s->t->arena, type, e->status),
                     "status", NULL);
}

const struct json *sched_decided(struct sched *s, size_t at, const struct queue_decision *d)
{
    struct workload_edit e = sched_edit(s, at);

    workload_decide(&e, s->store.at[at], d, &s->loader);
    return sched_edited(s, at, &e);
}

static bool write_fails(const struct sched *s, bool *is_gone)
{
    struct str inject = json_str(json_path(s->c, "config", "inject", NULL));

    *is_gone = str_eq(inject, S("workloadStatusWriteFailsNotFound"));
    return inject.len > 0;
}

static bool is_condition(const struct json *wl, const char *type)
{
    const struct json *list = json_path(wl, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eqz(json_str(json_getz(json_at(list, i), "type")), type))
            return str_eq(json_str(json_getz(json_at(list, i), "status")), S("True"));
    return false;
}

static void write_admission(struct sched *s, const struct queue_decision *d, size_t at)
{
    const struct json *next = sched_decided(s, at, d);
    bool is_gone;

    if (write_fails(s, &is_gone)) {
        queue_admission_failed(s->e, d->key, is_gone, s->now);
        return;
    }
    event(s, d->key, S("QuotaReserved"), "Normal");
    if (is_condition(next, "Admitted"))
        event(s, d->key, S("Admitted"), "Normal");
    sched_store(s, next);
    size_t old = d->replaces.len ? sched_find(s, d->replaces) : SIZE_MAX;
    if (old != SIZE_MAX) {
        struct workload_edit e = sched_edit(s, old);
        workload_finish_edit(&e, S("WorkloadSliceReplaced"), S("replaced"));
        sched_store(s, sched_edited(s, old, &e));
        event(s, d->replaces, S("WorkloadSliceReplaced"), "Normal");
    }
}

static void write_evictions(struct sched *s, const struct queue_decision *d)
{
    struct arena *a = s->t->arena;

    for (size_t i = 0; i < d->n_victims; i++) {
        const struct queue_victim *v = &d->victims[i];
        size_t at = sched_find(s, v->key);
        if (v->is_under_way || at == SIZE_MAX)
            continue;
        struct workload_edit e = sched_edit(s, at);
        if (v->reason == FLAVOR_MIGRATION) {
            workload_evict_edit(&e, S("FlavorMigration"), S("migrated"), S(""));
            sched_store(s, sched_edited(s, at, &e));
            event(s, v->key, S("EvictedDueToFlavorMigration"), "Normal");
            continue;
        }
        struct str message = queue_preempted_message(
            a, S(""), S(""), v->reason, queue_path(s->e, a, d->cq), queue_path(s->e, a, v->cq));
        workload_preempt_edit(&e, queue_victim_reason_text(v->reason), message);
        sched_store(s, sched_edited(s, at, &e));
        event(s, v->key, S("EvictedDueToPreempted"), "Normal");
        event(s, v->key, S("Preempted"), "Normal");
        event(s, d->key, S("PreemptedWorkload"), "Normal");
    }
}

void sched_cycle(struct sched *s)
{
    struct queue_plan plan = queue_cycle(s->e, s->t->arena, s->now);

    for (size_t i = 0; i < plan.len; i++) {
        const struct queue_decision *d = &plan.at[i];
        size_t at = sched_find(s, d->key);
        if (at == SIZE_MAX)
            continue;
        if (d->outcome == OUTCOME_ADMITTED) {
            write_admission(s, d, at);
            continue;
        }
        if (d->outcome == OUTCOME_PREEMPTING || d->outcome == OUTCOME_REPLACING)
            write_evictions(s, d);
        s->store.at[at] = sched_decided(s, at, d);
        if (d->is_second_pass)
            event(s, d->key, S("SecondPassFailed"), "Warning");
        else if (d->reason != QUEUE_NONE)
            event(s, d->key, queue_reason_text(d->reason), "Warning");
    }
    s->plan = plan;
}

/* ---- what is left ---- */

const struct json *sched_left(struct sched *s, bool parked)
{
    struct arena *a = s->t->arena;
    const struct json *cqs = json_path(s->c, "objects", "clusterQueues", NULL);
    struct json_obj out = obj_in(a);

    json_each (i, cqs) {
        struct str name = json_str(json_path(json_at(cqs, i), "metadata", "name", NULL));
        const struct queue_pending *list;
        size_t n = queue_list(s->e, a, name, &list);
        struct json_arr keys = arr_in(a);
        for (size_t k = 0; k < n; k++)
            if (list[k].is_parked == parked)
                arr_add(&keys, json_of_str(list[k].key));
        vec_sort(&keys.items, by_text);
        if (keys.items.len)
            obj_set(&out, name, arr_done(&keys));
    }
    return json_new(a, obj_done(&out));
}

static const struct json *sorted_lists(struct arena *a, const struct json *map)
{
    struct json_obj out = obj_in(a);

    json_each_member (m, map) {
        struct json_arr list = arr_in(a);
        json_each (i, &m->value)
            arr_add(&list, *json_at(&m->value, i));
        vec_sort(&list.items, by_text);
        obj_set(&out, m->name, arr_done(&list));
    }
    return json_new(a, obj_done(&out));
}

static const struct json *assignments(struct sched *s)
{
    struct json_obj out = obj_in(s->t->arena);

    vec_each (i, &s->store) {
        const struct json *wl = s->store.at[i];
        const struct json *admission = json_path(wl, "status", "admission", NULL);
        if (is_condition(wl, "QuotaReserved") && json_has(admission) &&
            !is_condition(wl, "Finished"))
            obj_set(&out, sched_key(s->t->arena, wl), *admission);
    }
    return json_new(s->t->arena, obj_done(&out));
}

static void compare_events(struct sched *s)
{
    const struct json *want = json_getz(s->want, "events");
    struct json_arr got = arr_in(s->t->arena), all = arr_in(s->t->arena);

    if (!want)
        return;
    vec_each (i, &s->events)
        arr_add(&got, *s->events.at[i]);
    json_each (i, want)
        arr_add(&all, *json_at(want, i));
    vec_sort(&got.items, by_text);
    vec_sort(&all.items, by_text);
    sched_same(s, "events", json_new(s->t->arena, arr_done(&got)),
               json_new(s->t->arena, arr_done(&all)));
}

static const struct queue_counter *counter_of(const struct sched *s, struct str cq)
{
    static const struct queue_counter none = {0};

    for (size_t i = 0; i < s->plan.n_counters; i++)
        if (str_eq(s->plan.counters[i].cq, cq))
            return &s->plan.counters[i];
    return &none;
}

static void compare_counters(struct sched *s)
{
    static const char *const results[] = {"deferred_fit", "new_targets", "skipped"};

    json_each_member (m, json_getz(s->want, "skippedPreemptions"))
        if (json_i64(&m->value, 0) != counter_of(s, m->name)->skipped)
            conf_fail(s->t, "skipped preemptions", m->name, json_text(s->t->arena, &m->value));
    json_each_member (m, json_getz(s->want, "preemptionTargetRecomputations"))
        for (size_t i = 0; i < countof(results); i++) {
            const struct queue_counter *n = counter_of(s, m->name);
            const uint32_t got[] = {n->deferred_fit, n->new_targets, n->recompute_skipped};
            const struct json *x = json_get(&m->value, str_from(results[i]));
            if (x && json_i64(x, 0) != got[i])
                conf_fail(s->t, results[i], m->name, json_text(s->t->arena, x));
        }
}

static void compare_all(struct sched *s)
{
    struct arena *a = s->t->arena;

    sched_same_workloads(s);
    if (json_getz(s->want, "assignments"))
        sched_same(s, "assignments", assignments(s), json_getz(s->want, "assignments"));
    if (json_getz(s->want, "left"))
        sched_same(s, "left", sched_left(s, false),
                   sorted_lists(a, json_getz(s->want, "left")));
    if (json_getz(s->want, "inadmissibleLeft"))
        sched_same(s, "inadmissibleLeft", sched_left(s, true),
                   sorted_lists(a, json_getz(s->want, "inadmissibleLeft")));
    compare_events(s);
    compare_counters(s);
}

static void one_cycle(struct sched *s)
{
    sched_cycle(s);
    compare_all(s);
}

void kueue_schedule(struct conf *t, const struct json *c)
{
    sched_each(t, c, one_cycle);
}

/* ---- two cycles ---- */

static void two_cycles(struct sched *s)
{
    const struct json *gone = json_path(s->c, "input", "deleteWorkloads", NULL);

    sched_cycle(s);
    sched_same_workloads(s);
    json_each (i, gone) {
        size_t at = sched_find(s, json_str(json_at(gone, i)));
        queue_delete_workload(s->e, json_str(json_at(gone, i)));
        if (at != SIZE_MAX)
            vec_remove(&s->store, at);
    }
    sched_cycle(s);
    sched_same(s, "assignments after the second cycle", assignments(s),
               json_getz(s->want, "assignmentsAfterSecondCycle"));
}

void kueue_two_cycles(struct conf *t, const struct json *c)
{
    sched_each(t, c, two_cycles);
}

/* ---- admission fair sharing ---- */

static void many_cycles(struct sched *s)
{
    int64_t n = json_i64(json_path(s->c, "input", "cycles", NULL), 1);

    /* input.deleteLocalQueue takes away the object only: the queue knows its weight by then. */
    for (int64_t i = 0; i < n; i++)
        sched_cycle(s);
    sched_same_workloads(s);
}

void kueue_schedule_afs(struct conf *t, const struct json *c)
{
    sched_each(t, c, many_cycles);
}
