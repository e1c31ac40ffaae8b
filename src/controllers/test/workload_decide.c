/* workload_decide.c - the tests of what a decision writes */
#include "controllers/workload_decide.h"

#include "api/kinds.h"
#include "base/testing.h"
#include "schema/codec.h"

#define ASKS(cpu) "{'name':'main','resources':{'cpu':'" cpu "'}}"

static const struct json *tree(struct arena *a, const char *text)
{
    char *at = str_z(a, str_from(text));

    for (char *p = at; *p; p++)
        if (*p == '\'')
            *p = '"';
    return json_parse(a, str_from(at), NULL, NULL);
}

/* Three pods of 500m cpu, with this status. */
static const struct json *workload(struct arena *a, const char *status)
{
    return tree(
        a, str_z(a, str_printf(
                        a,
                        "{'metadata':{'name':'w','namespace':'n','generation':2},'spec':{"
                        "'podSets':[{'name':'main','count':3,'template':{'spec':{'containers':["
                        "{'name':'c','resources':{'requests':{'cpu':'500m'}}}]}}}]},"
                        "'status':%s}",
                        status)));
}

/* "Type=Status/Reason ...; admission; requests", or "same". */
static struct str told(struct arena *a, const struct workload_edit *e)
{
    struct json status =
        schema_encode(a, schema_member(kind_kueue_workload.schema, S("status")), e->status);
    const struct json *conditions = json_getz(&status, "conditions");
    struct buf b = buf_in(a, 256);

    if (!e->has_changed)
        return S("same");
    json_each (i, conditions) {
        const struct json *c = json_at(conditions, i);
        buf_printf(&b, "%s%.*s=%.*s/%.*s", i ? " " : "",
                   STR_ARG(json_str(json_getz(c, "type"))),
                   STR_ARG(json_str(json_getz(c, "status"))),
                   STR_ARG(json_str(json_getz(c, "reason"))));
    }
    if (json_has(json_getz(&status, "admission")))
        buf_printf(&b, "; %.*s", STR_ARG(json_text(a, json_getz(&status, "admission"))));
    if (json_has(json_getz(&status, "resourceRequests")))
        buf_printf(&b, "; %.*s", STR_ARG(json_text(a, json_getz(&status, "resourceRequests"))));
    return buf_str(&b);
}

TEST(workload_decide)
{
    static const struct queue_assigned_flavor flavor = {S_INIT("cpu"), S_INIT("f"), MODE_FIT,
                                                        -1};
    static const struct queue_request asked = {S_INIT("cpu"), 1500};
    static const struct queue_assigned_podset podset = {.name = S_INIT("main"),
                                                        .count = 3,
                                                        .flavors = &flavor,
                                                        .n_flavors = 1,
                                                        .requests = &asked,
                                                        .n_requests = 1};
    static const struct str checks[] = {S_INIT("check")};
    static const struct {
        const char *name, *status;
        enum queue_outcome outcome;
        enum queue_reason reason;
        size_t n_checks;
        const char *want;
    } cases[] = {
        {"who is admitted is told where",       "{'resourceRequests':[" ASKS("1500m") "]}",
         OUTCOME_ADMITTED,                                                                                    QUEUE_NONE,              0,
         "QuotaReserved=True/QuotaReserved Admitted=True/Admitted; {'clusterQueue':'q',"
         "'podSetAssignments':[{'name':'main','flavors':{'cpu':'f'},'resourceUsage':"
         "{'cpu':'1500m'},'count':3}]}"                                                                                                         },
        {"a check without a state comes first", "{}",                                       OUTCOME_ADMITTED, QUEUE_NONE,              1,
         "QuotaReserved=True/QuotaReserved; {'clusterQueue':'q','podSetAssignments':[{"
         "'name':'main','flavors':{'cpu':'f'},'resourceUsage':{'cpu':'1500m'},'count':3}]}"                                                     },
        {"who waits says what it asks for",     "{}",                                       OUTCOME_NO_FIT,   QUEUE_WAITING_FOR_QUOTA, 0,
         "QuotaReserved=False/WaitingForQuota Admitted=False/NoReservation; [" ASKS(
             "1500m") "]"                                                                                                                       },
        {"and again where that has changed",
         "{'conditions':[{'type':'QuotaReserved','status':'False','reason':'WaitingForQuota',"
         "'observedGeneration':2}],'resourceRequests':[" ASKS("1") "]}",
         OUTCOME_NO_FIT,                                                                                      QUEUE_WAITING_FOR_QUOTA, 0,
         "QuotaReserved=False/WaitingForQuota Admitted=False/NoReservation; [" ASKS(
             "1500m") "]"                                                                                                                       },
        {"a closed gate is told too",           "{}",                                       OUTCOME_GATED,    QUEUE_ADMISSION_GATED,   0,
         "QuotaReserved=False/AdmissionGated Admitted=False/NoReservation "
         "BlockedOnPreemptionGates=True/PreemptionGated; [" ASKS("1500m") "]"                                                                   },
        {"no reason, no write",                 "{}",                                       OUTCOME_NO_FIT,   QUEUE_NONE,              0, "same"},
    };
    const struct queue_config config = queue_config_default();
    const struct queue_loader loader = {.config = &config};

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(8 << 10);
        const struct json *wl = workload(&a, cases[i].status);
        struct workload_edit e = workload_edit(
            &a, schema_decode(&a, kind_kueue_workload.schema, wl), (struct instant){SECOND_NS});
        struct queue_decision d = {.cq = S("q"),
                                   .outcome = cases[i].outcome,
                                   .reason = cases[i].reason,
                                   .podsets = &podset,
                                   .n_podsets = 1,
                                   .checks = checks,
                                   .n_checks = cases[i].n_checks};
        char *want = str_z(&a, str_from(cases[i].want));

        test_case(cases[i].name);
        for (char *p = want; *p; p++)
            if (*p == '\'')
                *p = '"';
        workload_decide(&e, wl, &d, &loader);
        check_samez(told(&a, &e), want);
    }
}

TEST(workload_preempt_edit)
{
    scoped(arena_fini) struct arena a = arena_sized(8 << 10);
    const struct json *wl = workload(&a, "{'admission':{'clusterQueue':'q'}}");
    struct workload_edit e = workload_edit(
        &a, schema_decode(&a, kind_kueue_workload.schema, wl), (struct instant){SECOND_NS});

    workload_preempt_edit(&e, S("InClusterQueue"), S("for another"));
    check_samez(told(&a, &e), "Preempted=True/InClusterQueue Evicted=True/Preempted; "
                              "{\"clusterQueue\":\"q\"}");
    check_int(workload_edit_condition(&e, S("Preempted"))->observed_generation, 0);
    check_int(workload_edit_condition(&e, S("Evicted"))->observed_generation, 2);
}
