/* kueue_small.c - the small decisions of a Workload's life, by the name of upstream's test */
#include "api/kinds.h"
#include "kueue_life.h"
#include "kueue_parts.h"
#include "queue/load.h"
#include "schema/codec.h"
#include "value/time.h"
#include "json/patch.h"

struct small {
    struct conf *t;
    const struct json *c, *in, *want;
    struct instant now;
};

static const struct json *encoded(struct small *s, const char *field,
                                  const struct kueue_workload_status *status)
{
    struct json v = schema_encode(
        s->t->arena, schema_member(kind_kueue_workload.schema, S("status")), status);

    return json_get(json_new(s->t->arena, v), str_from(field));
}

static void same_list(struct small *s, const char *what, const struct json *got,
                      const struct json *want)
{
    conf_same(s->t, what, case_untimed(s->t, got), case_untimed(s->t, want));
}

static void same_bool(struct small *s, const char *what, bool got)
{
    conf_same_str(s->t, what, got ? S("true") : S("false"),
                  json_bool(json_get(s->want, str_from(what)), false) ? S("true") : S("false"));
}

static const struct kueue_workload *workload(struct small *s, const char *name)
{
    return case_workload(s->t, json_get(s->in, str_from(name)));
}

static struct str time_or_none(struct arena *a, struct instant t)
{
    struct buf b = buf_in(a, 32);

    if (instant_is_set(t))
        time_write(&b, t);
    return buf_str(&b);
}

/* ---- conditions ---- */

static void sync_admitted(struct small *s)
{
    struct workload_edit e = workload_edit(s->t->arena, workload(s, "workload"), s->now);

    e.is_coarse =
        !json_bool(json_path(s->c, "gates", "UnadmittedWorkloadsObservability", NULL), true);
    same_bool(s, "change", workload_sync_admitted(&e));
    same_list(s, "conditions", encoded(s, "conditions", e.status),
              json_getz(s->want, "conditions"));
    int64_t time = json_i64(json_getz(s->want, "admittedTime"), 0);
    if (time && time != e.status->accumulated_past_execution_time_seconds)
        conf_fail(s->t, "admittedTime", S("another"), S("the wanted one"));
}

static void set_reservation(struct small *s)
{
    struct workload_edit e = workload_edit(s->t->arena, workload(s, "workload"), s->now);
    const struct json *wl =
        json_with(s->t->arena, json_getz(s->in, "workload"), *json_getz(s->in, "admission"),
                  "status", "admission", NULL);

    workload_reserve(&e, case_workload(s->t, wl)->status->admission);
    same_list(s, "conditions", encoded(s, "conditions", e.status),
              json_path(s->want, "result", "status", "conditions", NULL));
    conf_same(s->t, "admission", encoded(s, "admission", e.status),
              json_path(s->want, "result", "status", "admission", NULL));
}

static void set_requeue(struct small *s)
{
    struct workload_edit e = workload_edit(s->t->arena, workload(s, "workload"), s->now);
    bool counts = json_bool(json_getz(s->in, "incrementCount"), false);
    const struct json *state;

    same_bool(s, "updated",
              workload_set_requeue(&e, case_time(json_getz(s->in, "waitUntil")), counts));
    state = encoded(s, "requeueState", e.status);
    conf_same_str(s->t, "requeueAt", json_str(json_getz(state, "requeueAt")),
                  json_str(json_getz(s->want, "requeueAt")));
    if (json_i64(json_getz(state, "count"), 0) != json_i64(json_getz(s->want, "count"), 0))
        conf_fail(s->t, "count", S("another"), S("the wanted one"));
}

static void retry_time(struct small *s)
{
    struct instant at = workload_retry_time(workload(s, "workload"));

    conf_same_str(s->t, "retryTime", time_or_none(s->t->arena, at),
                  json_str(json_getz(s->want, "retryTime")));
}

static void evicted_by_deactivation(struct small *s)
{
    same_bool(s, "result",
              workload_evicted_by(workload(s, "workload"), S("Deactivated"), true) != NULL);
}

static void evicted_by_kueue(struct small *s)
{
    same_bool(s, "result",
              workload_evicted_by(workload(s, "workload"), S("DeactivatedDueTo"), true) !=
                  NULL);
}

static void evicted_by_timeout(struct small *s)
{
    same_bool(s, "evictedByTimeout",
              workload_evicted_by(workload(s, "workload"), S("PodsReadyTimeout"), false) !=
                  NULL);
}

static void evicted_by_check(struct small *s)
{
    same_bool(s, "evictedByCheck",
              workload_evicted_by(workload(s, "workload"), S("AdmissionCheck"), false) != NULL);
}

static void on_hold(struct small *s)
{
    same_bool(s, "result", workload_is_on_hold(workload(s, "wl")));
}

static void total_time(struct small *s)
{
    struct span ran = workload_ran_for(workload(s, "wl"));

    conf_same_str(s->t, "result", ran.ns ? span_text(s->t->arena, ran) : S("0s"),
                  json_getz(s->want, "result") ? json_str(json_getz(s->want, "result"))
                                               : S("0s"));
}

static void priority_changed(struct small *s)
{
    same_bool(
        s, "changed",
        workload_has_other_priority(workload(s, "oldWorkload"), workload(s, "newWorkload")));
}

static enum workload_word word(const struct json *v)
{
    static const char *const words[] = {"pending", "quotaReserved", "admitted", "finished"};

    for (size_t i = 0; i < countof(words); i++)
        if (str_eqz(json_str(v), words[i]))
            return (enum workload_word)i;
    return WORKLOAD_PENDING;
}

static void back_to_pending(struct small *s)
{
    same_bool(s, "result",
              workload_is_back(word(json_getz(s->in, "prev")), word(json_getz(s->in, "new"))));
}

static void order_time(struct small *s)
{
    static const char *const settings[] = {"Creation", "Eviction"};

    for (size_t i = 0; i < countof(settings); i++) {
        struct queue_config config = queue_config_default();
        const struct json *gates = json_getz(s->c, "gates");
        config.order_by_creation = i == 0;
        json_each_member (m, gates)
            queue_config_gate(&config, m->name, json_bool(&m->value, false));
        struct str got =
            time_or_none(s->t->arena, queue_load_order_time(&config, json_getz(s->in, "wl")));
        conf_same_str(s->t, settings[i], got,
                      json_str(json_path(s->want, "result", settings[i], NULL)));
    }
}

/* ---- checks ---- */

static const struct json *names_json(struct small *s, struct str_list names)
{
    struct json_arr out = arr_in(s->t->arena);

    for (size_t i = 0; i < names.len; i++)
        arr_add(&out, json_of_str(names.at[i]));
    return json_new(s->t->arena, arr_done(&out));
}

static void which_checks(struct small *s)
{
    const struct json *cq = json_getz(s->in, "cq");
    const struct json *want = json_getz(s->want, "admissionChecks");
    struct json none = arr_done(&(struct json_arr){0});

    cq = cq ? cq : json_getz(s->in, "clusterQueue");
    conf_same(
        s->t, "admissionChecks",
        names_json(s, workload_checks(s->t->arena, workload(s, "wl"), case_queue(s->t, cq))),
        want ? want : &none);
}

static void sync_queue_checks(struct small *s)
{
    const struct kueue_workload *wl = workload(s, "wl");
    struct workload_edit e = workload_edit(s->t->arena, wl, s->now);

    workload_sync_checks(
        &e, workload_checks(s->t->arena, wl, case_queue(s->t, json_getz(s->in, "cq"))));
    same_list(s, "checks", encoded(s, "admissionChecks", e.status),
              json_getz(s->want, "checks"));
}

static void sync_states(struct small *s)
{
    const struct json *list = json_getz(s->in, "list"), *states = json_getz(s->in, "states");
    struct json_obj status = obj_in(s->t->arena), wl = obj_in(s->t->arena);
    struct str *names = arena_array(s->t->arena, struct str, json_len(list) + 1);

    json_each (i, list)
        names[i] = json_str(json_at(list, i));
    if (states)
        obj_setz(&status, "admissionChecks", *states);
    obj_setz(&wl, "status", obj_done(&status));
    struct json tree = obj_done(&wl);
    struct workload_edit e = workload_edit(s->t->arena, case_workload(s->t, &tree), s->now);
    same_bool(s, "change", workload_sync_checks(&e, (struct str_list){names, json_len(list)}));
    same_list(s, "states", encoded(s, "admissionChecks", e.status),
              json_getz(s->want, "states"));
}

/* ---- readiness ---- */

static void pods_left(struct small *s)
{
    struct workload_rules rules = case_rules(s->c, s->in);
    struct span left = {0};
    struct str cause = {0};

    if (!workload_pods_left(workload(s, "workload"), &rules, s->now, &left, &cause))
        left.ns = 0;
    conf_same_str(s->t, "recheckAfter", left.ns ? span_text(s->t->arena, left) : S("0s"),
                  json_str(json_getz(s->want, "recheckAfter")));
    conf_same_str(s->t, "underlyingCause", cause,
                  json_str(json_getz(s->want, "underlyingCause")));
}

/* ---- which ---- */

static const struct {
    const char *test;
    void (*run)(struct small *s);
} tests[] = {
    {"TestSyncAdmittedCondition",                sync_admitted          },
    {"TestSetQuotaReservation",                  set_reservation        },
    {"TestSetRequeueState",                      set_requeue            },
    {"TestGetMaxRetryTime",                      retry_time             },
    {"TestIsEvictedByDeactivation",              evicted_by_deactivation},
    {"TestIsEvictedDueToDeactivationByKueue",    evicted_by_kueue       },
    {"TestIsEvictedByPodsReadyTimeout",          evicted_by_timeout     },
    {"TestIsEvictedByAdmissionCheck",            evicted_by_check       },
    {"TestIsOnHold",                             on_hold                },
    {"TestTotalExecutionTime",                   total_time             },
    {"TestWorkloadPriorityClassChanged",         priority_changed       },
    {"TestFromQuotaReservedOrAdmittedToPending", back_to_pending        },
    {"TestGetQueueOrderTimestamp",               order_time             },
    {"TestAdmissionChecksForWorkload",           which_checks           },
    {"TestFilterChecksForAdmission",             which_checks           },
    {"TestReconcileSyncAdmissionChecks",         sync_queue_checks      },
    {"TestSyncCheckStates",                      sync_states            },
    {"TestAdmittedNotReadyWorkload",             pods_left              },
};

void kueue_workload_small(struct conf *t, const struct json *c)
{
    struct small s = {t, c, json_getz(c, "in"), json_getz(c, "want"),
                      case_time(json_getz(c, "now"))};
    struct str file, test;

    str_rcut(json_str(json_getz(c, "source")), ':', &file, &test);
    for (size_t i = 0; i < countof(tests); i++)
        if (str_eqz(test, tests[i].test)) {
            tests[i].run(&s);
            return;
        }
    conf_fail(t, "test", test, S("one that has an adapter"));
}

/* ---- evictions on the wire ---- */

void kueue_workload_evict(struct conf *t, const struct json *c)
{
    struct kueue_workload *wl = case_workload(t, json_path(c, "objects", "workload", NULL));
    struct str reason = json_str(json_path(c, "in", "reason", NULL));
    struct str cause = json_str(json_path(c, "in", "underlyingCause", NULL));
    struct workload_edit e = workload_edit(t->arena, wl, case_time(json_getz(c, "now")));
    const struct json *event = json_at(json_path(c, "want", "events", NULL), 0);
    struct workload_request_options options = {
        .use_merge_patch =
            json_bool(json_path(c, "gates", "WorkloadRequestUseMergePatch", NULL), false)};

    workload_evict_edit(&e, reason, S("as the case says"), cause);
    struct workload_request r = workload_request(&e, options);
    kueue_same_request(t, &r, json_at(json_path(c, "want", "requests", NULL), 0));
    conf_same_str(t, "event", workload_evicted_event(t->arena, wl, reason, cause),
                  json_str(json_getz(event, "reason")));
}
