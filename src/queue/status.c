/* status.c - what a Workload's status says of decisions, in words */
#include "queue/status.h"

#include "queue/engine_priv.h"

static const struct json *condition(const struct json *wl, const char *type)
{
    const struct json *list = json_path(wl, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eqz(json_str(json_getz(json_at(list, i), "type")), type))
            return json_at(list, i);
    return NULL;
}

void queue_unadmitted(const struct json *wl, struct str *reason, struct str *cause)
{
    const struct json *quota = condition(wl, "QuotaReserved");

    *cause = S("");
    *reason = json_str(json_getz(condition(wl, "Admitted"), "reason"));
    if (str_eqz(json_str(json_getz(quota, "status")), "True"))
        return;
    *reason = reason->len ? *reason : S("NoReservation");
    *cause = json_str(json_getz(quota, "reason"));
    *cause = cause->len ? *cause : S("PendingEvaluation");
}

struct str queue_preempted_message(struct arena *a, struct str uid, struct str job,
                                   enum queue_victim_reason reason, struct str preemptor_path,
                                   struct str victim_path)
{
    static const struct str texts[] = {
        [IN_CLUSTER_QUEUE] = S_INIT("prioritization in the ClusterQueue"),
        [IN_COHORT_RECLAMATION] = S_INIT("reclamation within the cohort"),
        [IN_COHORT_FAIR_SHARING] = S_INIT("Fair Sharing within the cohort"),
        [IN_COHORT_BORROWING] = S_INIT("reclamation within the cohort while borrowing"),
        [FLAVOR_MIGRATION] = S_INIT("migration to a more favorable flavor"),
    };

    uid = uid.len ? uid : S("UNKNOWN");
    job = job.len ? job : S("UNKNOWN");
    return str_concat(a, S("Preempted to accommodate a workload (UID: "), uid, S(", JobUID: "),
                      job, S(") due to "), texts[reason], S("; preemptor path: "),
                      preemptor_path, S("; preemptee path: "), victim_path);
}

struct str queue_path(struct queue_engine *e, struct arena *a, struct str name)
{
    struct queue_cq *cq = cq_find(e, name);
    struct str path = str_concat(a, S("/"), name);

    if (!cq || quota_has_cycle(&cq->node))
        return path;
    for (const struct quota_node *n = cq->node.parent; n; n = n->parent)
        path =
            str_concat(a, S("/"), ((const struct queue_cohort *)(const void *)n)->name, path);
    return path;
}
