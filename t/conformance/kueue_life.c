/* kueue_life.c - one look at a Workload, its evictions, and the small decisions of its life */
#include "conformance.h"

#include "api/kinds.h"
#include "controllers/queue_job.h"
#include "kueue_life.h"
#include "kueue_parts.h"
#include "queue/load.h"
#include "schema/codec.h"
#include "value/time.h"
#include "json/patch.h"

/* ---- reading a case ---- */

struct instant case_time(const struct json *v)
{
    struct instant t = {0};

    if (json_str(v).len)
        time_parse(json_str(v), &t, NULL);
    return t;
}

struct span case_span(const struct json *v)
{
    struct span s = {0};

    if (json_str(v).len)
        span_parse(json_str(v), &s, NULL);
    return s;
}

struct kueue_workload *case_workload(struct conf *t, const struct json *tree)
{
    struct kueue_workload *wl = schema_decode(t->arena, kind_kueue_workload.schema, tree);

    if (!wl->metadata)
        wl->metadata = arena_new(t->arena, struct object_meta);
    if (!wl->spec)
        wl->spec = arena_new(t->arena, struct kueue_workload_spec);
    return wl;
}

struct kueue_cluster_queue *case_queue(struct conf *t, const struct json *tree)
{
    return schema_decode(t->arena, kind_kueue_cluster_queue.schema, tree);
}

static bool gate(const struct json *c, const char *name, bool otherwise)
{
    return json_bool(json_path(c, "gates", name, NULL), otherwise);
}

struct workload_rules case_rules(const struct json *c, const struct json *config)
{
    const struct json *pods = json_getz(config, "waitForPodsReady");
    const struct json *keep = json_path(config, "workloadRetention", "afterFinished", NULL);
    const struct json *limit = json_getz(pods, "requeuingBackoffLimitCount");
    struct workload_rules r = workload_rules_default();

    r.is_coarse = !gate(c, "UnadmittedWorkloadsObservability", true);
    r.is_explicit = gate(c, "UnadmittedWorkloadsExplicitStatus", false);
    r.keeps_orphans = !gate(c, "FinishOrphanedWorkloads", true);
    r.ignores_gates = !gate(c, "AdmissionGatedBy", true);
    r.mirrors_gates = gate(c, "MultiKueueOrchestratedPreemption", false);
    r.refuses_devices = !gate(c, "KueueDRAIntegration", true) &&
                        gate(c, "KueueDRARejectWorkloadsWhenDRADisabled", true);
    r.waits_for_pods = pods != NULL;
    r.start_within = case_span(json_getz(pods, "timeout"));
    r.recover_within = case_span(json_getz(pods, "recoveryTimeout"));
    r.has_requeue_limit = limit != NULL;
    r.requeue_limit = (int32_t)json_i64(limit, 0);
    r.backoff_base = span_s(json_i64(json_getz(pods, "requeuingBackoffBaseSeconds"), 60));
    r.has_retention = keep != NULL;
    r.keep_finished = case_span(keep);
    return r;
}

/* ---- comparing ---- */

const struct json *case_untimed(struct conf *t, const struct json *list)
{
    struct json_arr out = arr_in(t->arena);

    json_each (i, list) {
        const struct json *x = json_at(list, i);
        x = json_without(t->arena, x, "message", NULL);
        x = json_without(t->arena, x, "lastTransitionTime", NULL);
        arr_add(&out, *x);
    }
    return json_new(t->arena, arr_done(&out));
}

static int by_type(const void *a, const void *b)
{
    return str_cmp(json_str(json_getz(a, "type")), json_str(json_getz(b, "type")));
}

/* Without what is not compared; empty lists and objects left out. */
static const struct json *bare(struct conf *t, const struct json *wl)
{
    static const char *const dropped[] = {"resourceVersion", "managedFields"};
    struct arena *a = t->arena;

    for (size_t i = 0; i < countof(dropped); i++)
        wl = json_without(a, wl, "metadata", dropped[i], NULL);
    const struct json *conditions = json_path(wl, "status", "conditions", NULL);
    const struct json *checks = json_path(wl, "status", "admissionChecks", NULL);
    if (conditions) {
        struct json_arr sorted = arr_in(a);
        const struct json *list = case_untimed(t, conditions);
        struct json *at = arena_array(a, struct json, json_len(list) + 1);
        json_each (i, list)
            at[i] = *json_at(list, i);
        sort_stable(at, json_len(list), sizeof(*at), by_type);
        json_each (i, list)
            arr_add(&sorted, at[i]);
        wl = json_with(a, wl, arr_done(&sorted), "status", "conditions", NULL);
    }
    if (checks)
        wl = json_with(a, wl, *case_untimed(t, checks), "status", "admissionChecks", NULL);
    wl = json_without(a, wl, "status", "requeueState", "requeueAt", NULL);
    if (json_len(json_path(wl, "metadata", "finalizers", NULL)) == 0)
        wl = json_without(a, wl, "metadata", "finalizers", NULL);
    if (json_len(json_path(wl, "status", "admissionChecks", NULL)) == 0)
        wl = json_without(a, wl, "status", "admissionChecks", NULL);
    if (json_path(wl, "status", "requeueState", NULL) &&
        json_len(json_path(wl, "status", "requeueState", NULL)) == 0)
        wl = json_without(a, wl, "status", "requeueState", NULL);
    if (json_getz(wl, "status") && json_len(json_getz(wl, "status")) == 0)
        wl = json_without(a, wl, "status", NULL);
    return wl;
}

/* ---- upstream's test store: an apply of the status is a strategic merge ---- */

static const struct json *merged(struct arena *a, const struct json *was,
                                 const struct json *now, const char *key);

static const struct json *merged_list(struct arena *a, const struct json *was,
                                      const struct json *now, const char *key)
{
    struct json_arr out = arr_in(a);

    json_each (i, was) {
        const struct json *x = json_at(was, i), *found = NULL;
        json_each (k, now)
            if (json_eq(json_get(json_at(now, k), str_from(key)), json_get(x, str_from(key))))
                found = json_at(now, k);
        arr_add(&out, found ? *merged(a, x, found, "") : *x);
    }
    json_each (k, now) {
        bool is_there = false;
        json_each (i, was)
            is_there |= json_eq(json_get(json_at(was, i), str_from(key)),
                                json_get(json_at(now, k), str_from(key)));
        if (!is_there)
            arr_add(&out, *json_at(now, k));
    }
    return json_new(a, arr_done(&out));
}

static const struct json *merged(struct arena *a, const struct json *was,
                                 const struct json *now, const char *key)
{
    if (json_is(was, JSON_ARRAY) && json_is(now, JSON_ARRAY) && *key)
        return merged_list(a, was, now, key);
    if (!json_is(was, JSON_OBJECT) || !json_is(now, JSON_OBJECT))
        return now;
    json_each_member (m, now) {
        const char *k = str_eqz(m->name, "conditions")        ? "type"
                        : str_eqz(m->name, "admissionChecks") ? "name"
                                                              : "";
        const struct json *old = json_get(was, m->name);
        was = json_with(a, was, old ? *merged(a, old, &m->value, k) : m->value,
                        str_z(a, m->name), NULL);
    }
    return was;
}

/* ---- one look ---- */

static struct workload_seen seen_of(struct conf *t, const struct json *objects,
                                    const struct kueue_workload *wl)
{
    const struct json *lq = json_getz(objects, "localQueue");
    const struct json *cq = json_getz(objects, "clusterQueue");
    const struct json *conditions = json_path(cq, "status", "conditions", NULL);
    struct workload_seen s = {0};
    bool is_active = false;

    json_each (i, conditions)
        is_active |= str_eqz(json_str(json_getz(json_at(conditions, i), "type")), "Active") &&
                     str_eqz(json_str(json_getz(json_at(conditions, i), "status")), "True");
    s.has_lq = lq && !json_bool(json_getz(objects, "localQueueTerminating"), false);
    s.lq_stop = json_str(json_path(lq, "spec", "stopPolicy", NULL));
    s.cq_name = json_str(json_path(lq, "spec", "clusterQueue", NULL));
    if (wl->status && wl->status->admission)
        s.cq_name = wl->status->admission->cluster_queue;
    s.has_cq = cq && !json_bool(json_getz(objects, "clusterQueueTerminating"), false);
    s.cq_stop = json_str(json_path(cq, "spec", "stopPolicy", NULL));
    s.is_cq_active = is_active && (!s.cq_stop.len || str_eq(s.cq_stop, S("None")));
    s.cq = cq && lq ? case_queue(t, cq) : NULL;
    return s;
}

static struct json events_json(struct conf *t, const struct workload_plan *p,
                               const struct kueue_workload *wl)
{
    struct json_arr out = arr_in(t->arena);

    for (size_t i = 0; i < p->n_events; i++) {
        struct json_obj o = obj_in(t->arena), key = obj_in(t->arena);
        obj_setz(&key, "name", json_of_str(wl->metadata->name));
        obj_setz(&key, "namespace", json_of_str(wl->metadata->namespace));
        obj_setz(&o, "eventType", json_of_str(str_from(p->events[i].type)));
        obj_setz(&o, "key", obj_done(&key));
        obj_setz(&o, "reason", json_of_str(p->events[i].reason));
        arr_add(&out, obj_done(&o));
    }
    return arr_done(&out);
}

/* What is stored after the plan; NULL: it is gone. */
static const struct json *after(struct conf *t, const struct json *c, const struct json *was,
                                const struct workload_plan *p)
{
    struct arena *a = t->arena;
    bool is_merge = gate(c, "WorkloadRequestUseMergePatch", false);

    if (p->acts & WORKLOAD_WRITE && is_merge) {
        struct workload_request r =
            workload_request(&p->edit, (struct workload_request_options){.use_merge_patch = 1});
        was = json_merge_patch(a, was, json_without(a, r.body, "metadata", NULL));
    } else if (p->acts & WORKLOAD_WRITE) {
        struct workload_request r =
            workload_request(&p->edit, (struct workload_request_options){0});
        const struct json *status = json_getz(was, "status");
        if (json_len(json_getz(r.body, "status")))
            was = json_with(a, was,
                            *(status ? merged(a, status, json_getz(r.body, "status"), "")
                                     : json_getz(r.body, "status")),
                            "status", NULL);
    }
    if (p->acts & WORKLOAD_REPLACE)
        was = json_with(a, was,
                        schema_encode(a, schema_member(kind_kueue_workload.schema, S("status")),
                                      p->edit.status),
                        "status", NULL);
    if (p->acts & WORKLOAD_DEACTIVATE)
        was = json_with(a, was, json_of_bool(false), "spec", "active", NULL);
    if (p->acts & WORKLOAD_LET_GO) {
        const struct json *list = json_path(was, "metadata", "finalizers", NULL);
        struct json_arr left = arr_in(a);
        json_each (i, list)
            if (!str_eq(json_str(json_at(list, i)), S(WORKLOAD_FINALIZER)))
                arr_add(&left, *json_at(list, i));
        was = json_with(a, was, arr_done(&left), "metadata", "finalizers", NULL);
    }
    bool is_going =
        p->acts & WORKLOAD_DELETE || json_path(was, "metadata", "deletionTimestamp", NULL);
    if (is_going && json_len(json_path(was, "metadata", "finalizers", NULL)) == 0)
        return NULL;
    return was;
}

void kueue_workload_reconcile(struct conf *t, const struct json *c)
{
    const struct json *objects = json_getz(c, "objects"), *want = json_getz(c, "want");
    const struct json *tree = json_getz(objects, "workload");
    struct kueue_workload *wl = case_workload(t, tree);
    struct workload_rules rules = case_rules(c, json_getz(c, "config"));
    struct workload_seen seen = seen_of(t, objects, wl);
    struct instant now = case_time(json_getz(c, "now"));
    const struct json *before = json_getz(c, "before");

    if (json_len(before) == 2) /* one is parked with a reason that it was told */
        seen.equal_failed = json_str(json_at(json_getz(json_at(before, 1), "args"), 2));
    struct workload_plan p = workload_life(t->arena, wl, &seen, &rules, now);
    const struct json *stored = after(t, c, tree, &p);
    struct json events = events_json(t, &p, wl);
    struct str again = p.again.ns ? span_text(t->arena, p.again) : S("");

    if (json_bool(json_getz(want, "deleted"), false))
        conf_same_str(t, "deleted", stored ? S("no") : S("yes"), S("yes"));
    if (json_getz(want, "workload"))
        conf_same(t, "workload", stored ? bare(t, stored) : NULL,
                  bare(t, json_getz(want, "workload")));
    conf_same(t, "events", &events,
              json_getz(want, "events") ? json_getz(want, "events")
                                        : json_new(t->arena, arr_done(&(struct json_arr){0})));
    conf_same_str(t, "requeueAfter", again,
                  json_str(json_path(want, "result", "requeueAfter", NULL)));
    if (json_getz(want, "error"))
        conf_same_str(t, "error", S("none"), S("one"));
}
