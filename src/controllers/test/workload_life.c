/* workload_life.c - the tests of what one look at a Workload decides */
#include "controllers/workload_life.h"

#include "api/kinds.h"
#include "base/testing.h"
#include "schema/codec.h"
#include "value/time.h"

#define NOW "2026-01-01T01:00:00Z"
#define C(type, status, reason)                                                                \
    "{'type':'" type "','status':'" status "','reason':'" reason                               \
    "','lastTransitionTime':'2026-01-01T00:59:00Z'}"
#define RESERVED                                                                               \
    "'admission':{'clusterQueue':'cq','podSetAssignments':[{'name':'main',"                    \
    "'flavors':{'cpu':'f'}}]}"
#define QUOTA C("QuotaReserved", "True", "QuotaReserved")
#define NOT_ADMITTED                                                                           \
    "{'type':'Admitted','status':'False','reason':'NoReservation','message':'The workload "    \
    "has "                                                                                     \
    "no reservation'}"
#define ADMITTED C("Admitted", "True", "Admitted")

static const struct json *read_json(struct arena *a, struct str text)
{
    char *at = str_z(a, text);

    for (char *p = at; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return json_parse(a, str_from(at), NULL, NULL);
}

static const struct json *workload_tree(struct arena *a, const char *spec, const char *status)
{
    struct str text = str_printf(
        a,
        "{'metadata':{'name':'w','namespace':'n','ownerReferences':[{'name':'j','kind':'Job',"
        "'apiVersion':'batch/v1','uid':'u'}]},'spec':{'queueName':'lq'%s},'status':{%s}}",
        spec, status);

    return read_json(a, text);
}

static const struct kueue_workload *workload(struct arena *a, const char *spec,
                                             const char *status)
{
    return schema_decode(a, kind_kueue_workload.schema, workload_tree(a, spec, status));
}

static const struct kueue_cluster_queue *cluster_queue(struct arena *a, const char *checks)
{
    struct str text = str_printf(
        a,
        "{'metadata':{'name':'cq'},'spec':{'resourceGroups':[{'coveredResources':['cpu'],"
        "'flavors':[{'name':'f'},{'name':'g'}]}],'admissionChecksStrategy':{'admissionChecks':"
        "[%s]}}}",
        checks);

    return schema_decode(a, kind_kueue_cluster_queue.schema, read_json(a, text));
}

/* "write Type=Status/Reason ...; Event ...; again 5s", or "rest". */
static struct str told(struct arena *a, const struct workload_plan *p)
{
    static const char *const acts[] = {"write", "replace", "deactivate", "let-go", "delete"};
    const struct condition_list *l = &p->edit.status->conditions;
    struct buf b = buf_in(a, 256);

    for (size_t i = 0; i < countof(acts); i++)
        if (p->acts >> i & 1)
            buf_printf(&b, "%s ", acts[i]);
    if (p->acts & (WORKLOAD_WRITE | WORKLOAD_REPLACE))
        for (size_t i = 0; i < l->len; i++)
            if (l->at[i].last_transition_time.ns == p->edit.now.ns)
                buf_printf(&b, "%.*s=%.*s/%.*s ", STR_ARG(l->at[i].type),
                           STR_ARG(l->at[i].status), STR_ARG(l->at[i].reason));
    for (size_t i = 0; p->acts & WORKLOAD_REPLACE && i < p->edit.status->admission_checks.len;
         i++)
        buf_printf(&b, "check %.*s ", STR_ARG(p->edit.status->admission_checks.at[i].name));
    for (size_t i = 0; i < p->n_events; i++)
        buf_printf(&b, "event %.*s ", STR_ARG(p->events[i].reason));
    if (p->again.ns)
        buf_printf(&b, "again %.*s", STR_ARG(span_text(a, p->again)));
    struct str out = str_trim(buf_str(&b));
    return out.len ? out : S("rest");
}

TEST(workload_life)
{
    /* clang-format off */
    static const struct {
        const char *name, *spec, *status, *queue, *want;
    } cases[] = {
        {"a new one in a good queue is left alone", "", "", "", "rest"},
        {"no LocalQueue", "",
         "",
         "no-lq",
         "write QuotaReserved=False/Misconfigured Admitted=False/NoReservation"},
        {"a stopped ClusterQueue", "",
         "",
         "inactive",
         "write QuotaReserved=False/Suspended Admitted=False/NoReservation"},
        {"what a decision said stays", "",
         "'conditions':[" C("QuotaReserved", "False", "WaitingForQuota") "," NOT_ADMITTED "]",
         "",
         "rest"},
        {"a trouble that is over makes it wait for a look", "",
         "'conditions':[" C("QuotaReserved", "False", "Suspended") "]",
         "",
         "write Admitted=False/NoReservation"},
        {"a word of an older client becomes ours", "",
         "'conditions':[" C("QuotaReserved", "False", "Pending") "," NOT_ADMITTED "]",
         "",
         "write"},
        {"not while it may start again at once", "",
         "'conditions':[" C("QuotaReserved", "False", "Pending") "," NOT_ADMITTED "]",
         "silent",
         "rest"},
        {"reserved, no checks: admitted", "",
         RESERVED ",'conditions':[" QUOTA "]",
         "",
         "write Admitted=True/Admitted event Admitted"},
        {"a check of the queue gets its state first", "",
         RESERVED ",'conditions':[" QUOTA "]",
         "checks {'name':'c'}",
         "replace check c"},
        {"a check of another flavor does not count", "",
         RESERVED ",'conditions':[" QUOTA "]",
         "checks {'name':'c','onFlavors':['g']}",
         "write Admitted=True/Admitted event Admitted"},
        {"a check that is ready admits", "",
         RESERVED ",'conditions':[" QUOTA "],'admissionChecks':[{'name':'c','state':'Ready'}]",
         "checks {'name':'c'}",
         "write Admitted=True/Admitted event Admitted"},
        {"a check that says Retry evicts", "",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "],'admissionChecks':[{'name':'c','state':'Retry'}]",
         "checks {'name':'c'}",
         "write Evicted=True/AdmissionCheck event EvictedDueToAdmissionCheck"},
        {"a check that rejects wants it deactivated", "",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "],'admissionChecks':[{'name':'c','state':'Rejected'}]",
         "checks {'name':'c'}",
         "write DeactivationTarget=True/AdmissionCheck event AdmissionCheckRejected"},
        {"which is done", "",
         "'conditions':[" C("DeactivationTarget", "True", "AdmissionCheck") "]",
         "",
         "deactivate"},
        {"deactivated: evicted", ",'active':false",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "]",
         "",
         "write Evicted=True/Deactivated event EvictedDueToDeactivated"},
        {"active again: it may queue", "",
         "'conditions':[" C("Requeued", "False", "Deactivated") "]",
         "",
         "write Requeued=True/Reactivated"},
        {"its back-off is waited for", "",
         "'requeueState':{'count':1,'requeueAt':'2026-01-01T01:00:07Z'}",
         "",
         "again 7s"},
        {"drained: evicted", "",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "]",
         "drain",
         "write Evicted=True/ClusterQueueStopped event EvictedDueToClusterQueueStopped"},
        {"held: who is admitted stays", "",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "]",
         "hold",
         "rest"},
        {"held: who has only reserved gives it back", "",
         RESERVED ",'conditions':[" QUOTA "],'admissionChecks':[{'name':'c','state':'Pending'}]",
         "hold checks {'name':'c'}",
         "write QuotaReserved=False/Suspended Admitted=False/NoReservation"},
        {"its time is over", ",'maximumExecutionTimeSeconds':60",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "]",
         "",
         "write DeactivationTarget=True/MaximumExecutionTimeExceeded event MaximumExecutionTimeExceeded"},
        {"its time is not over", ",'maximumExecutionTimeSeconds':100",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "]",
         "",
         "again 40s"},
        {"what it ran before counts", ",'maximumExecutionTimeSeconds':100",
         RESERVED ",'accumulatedPastExecutionTimeSeconds':30,'conditions':[" QUOTA "," ADMITTED "]",
         "",
         "again 10s"},
        {"pods that are not ready in time", "",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "," C("PodsReady", "False", "WaitForStart") "]",
         "pods 60",
         "write Evicted=True/PodsReadyTimeout event EvictedDueToPodsReadyTimeout"},
        {"pods that have time left", "",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "]",
         "pods 90",
         "again 30s"},
        {"too often", "",
         RESERVED ",'requeueState':{'count':2},'conditions':[" QUOTA "," ADMITTED "]",
         "pods 60",
         "write DeactivationTarget=True/RequeuingLimitExceeded"},
        {"the end is kept for a while", "",
         "'conditions':[" C("Finished", "True", "Succeeded") "]",
         "keep 100",
         "again 40s"},
        {"and then all goes", "",
         "'conditions':[" C("Finished", "True", "Succeeded") "]",
         "keep 60",
         "let-go delete event Deleted"},
    };
    /* clang-format on */
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct instant now;

    time_parse(S(NOW), &now, NULL);
    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct str queue = str_from(cases[i].queue), first, arg, checks;
        bool has_checks = str_has(queue, S("checks "));
        size_t at = has_checks ? str_find(queue, S("checks ")) + 7 : queue.len;
        checks = str_slice(queue, at, queue.len);
        str_cut(queue, ' ', &first, &arg);
        int64_t n = 0;
        str_to_i64(arg, &n);
        struct workload_rules rules = workload_rules_default();
        rules.waits_for_pods = str_eqz(first, "pods");
        rules.start_within = rules.recover_within = span_s(n);
        rules.has_requeue_limit = true;
        rules.requeue_limit = 2;
        rules.has_retention = str_eqz(first, "keep");
        rules.keep_finished = span_s(n);
        struct str stop = str_eqz(first, "drain")  ? S("HoldAndDrain")
                          : str_eqz(first, "hold") ? S("Hold")
                                                   : S("None");
        struct workload_seen seen = {.has_lq = !str_eqz(first, "no-lq"),
                                     .has_cq = true,
                                     .is_cq_active =
                                         str_eqz(stop, "None") && !str_eqz(first, "inactive"),
                                     .cq_name = S("cq"),
                                     .cq_stop = stop,
                                     .is_silent = str_eqz(first, "silent"),
                                     .cq = cluster_queue(&a, str_z(&a, checks))};
        struct workload_plan p =
            workload_life(&a, workload(&a, cases[i].spec, cases[i].status), &seen, &rules, now);
        check_samez(told(&a, &p), cases[i].want);
        if (workload_rests(workload_tree(&a, cases[i].spec, cases[i].status), &seen, &rules))
            check_samez(S("rest"), cases[i].want);
    }
}

/* What comes by most often is seen at once. */
TEST(workload_rests)
{
    /* clang-format off */
    static const struct {
        const char *name, *spec, *status;
        bool want;
    } cases[] = {
        {"just made", "", "", true},
        {"waiting", "",
         "'conditions':[" C("QuotaReserved", "False", "WaitingForQuota") "," NOT_ADMITTED "]",
         true},
        {"admitted", "", RESERVED ",'conditions':[" QUOTA "," ADMITTED "]", true},
        {"finished", "", "'conditions':[" C("Finished", "True", "Succeeded") "]", true},
        {"reserved", "", RESERVED ",'conditions':[" QUOTA "]", false},
        {"with a deadline", ",'maximumExecutionTimeSeconds':5",
         RESERVED ",'conditions':[" QUOTA "," ADMITTED "]", false},
        {"not active", ",'active':false", "", false},
        {"its back-off is over", "",
         "'conditions':[" C("Requeued", "False", "PodsReadyTimeout") "]", false},
    };
    /* clang-format on */
    scoped(arena_fini) struct arena a = {0};
    struct workload_rules rules = workload_rules_default();
    struct kueue_cluster_queue_spec spec = {0};
    struct kueue_cluster_queue cq = {.spec = &spec};
    struct workload_seen seen = {
        .has_lq = true, .has_cq = true, .is_cq_active = true, .cq = &cq};

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check(workload_rests(workload_tree(&a, cases[i].spec, cases[i].status), &seen,
                             &rules) == cases[i].want);
    }
}

TEST(workload_readiness)
{
    /* clang-format off */
    static const struct {
        const char *name, *status, *want;
        bool all;
    } cases[] = {
        {"not admitted", 
         "",
         "False WaitForStart",
         true},
        {"admitted, all ready", 
         "'conditions':[" ADMITTED "]",
         "True Started",
         true},
        {"admitted, not yet", 
         "'conditions':[" ADMITTED "]",
         "False WaitForStart",
         false},
        {"one has failed", 
         "'conditions':[" ADMITTED "," C("PodsReady", "True", "Started") "]",
         "False WaitForRecovery",
         false},
        {"still", 
         "'conditions':[" ADMITTED "," C("PodsReady", "False", "WaitForRecovery") "]",
         "False WaitForRecovery",
         false},
        {"all are back", 
         "'conditions':[" ADMITTED "," C("PodsReady", "False", "WaitForRecovery") "]",
         "True Recovered",
         true},
        {"and stay", 
         "'conditions':[" ADMITTED "," C("PodsReady", "True", "Recovered") "]",
         "True Recovered",
         true},
    };
    /* clang-format on */
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct workload_readiness r =
            workload_readiness(workload(&a, "", cases[i].status), cases[i].all);
        check_samez(str_printf(&a, "%s %.*s", r.is_ready ? "True" : "False", STR_ARG(r.reason)),
                    cases[i].want);
    }
}

#define WAITS(reason) "'conditions':[" C("QuotaReserved", "False", reason) "]"

TEST(workload_silence)
{
    static const struct {
        int64_t after_s, want_s;
        const char *status, *name;
    } cases[] = {
        {0, 0, "",                         "nothing was said yet"                  },
        {0, 3, WAITS("PendingEvaluation"), "its quota was just given back"         },
        {2, 1, WAITS("PendingEvaluation"), "a moment later"                        },
        {9, 0, WAITS("PendingEvaluation"), "long ago"                              },
        {1, 2, WAITS("Pending"),           "it was, by a client with an older word"},
        {0, 0, WAITS("WaitingForQuota"),   "it has another reason"                 },
    };
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct instant then;

    check(time_parse(S("2026-01-01T00:59:00Z"), &then, NULL) == 0);
    for (size_t i = 0; i < countof(cases); i++) {
        struct instant now = instant_add(then, span_s(cases[i].after_s));
        test_case(cases[i].name);
        check_int(workload_silence(workload(&a, "", cases[i].status), now).ns,
                  span_s(cases[i].want_s).ns);
    }
}
