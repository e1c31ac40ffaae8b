/* workload_rest.c - which versions of a Workload need no look
 *
 * Most versions are told to whoever wrote them: just made, admitted, finished. Here the tree is
 * asked, which costs a tenth of a view of it and a plan that comes out empty.
 */
#include "controllers/workload_life.h"

#include "controllers/queue_job.h"

enum rest_condition { REST_FINISHED, REST_QUOTA, REST_ADMITTED, REST_REQUEUED, REST_COUNT };

/* What of the conditions matters; NULL where it has none. `is_odd`: one that wants a look. */
struct rest_conditions {
    const struct json *at[REST_COUNT];
    bool is_odd;
};

static bool has_status(const struct json *condition, struct str status)
{
    return str_eq(json_str(json_getz(condition, "status")), status);
}

static bool has_reason(const struct json *condition, struct str reason)
{
    return str_eq(json_str(json_getz(condition, "reason")), reason);
}

static struct rest_conditions read_conditions(const struct json *status)
{
    static const struct str types[REST_COUNT] = {
        [REST_FINISHED] = S_INIT("Finished"),
        [REST_QUOTA] = S_INIT("QuotaReserved"),
        [REST_ADMITTED] = S_INIT("Admitted"),
        [REST_REQUEUED] = S_INIT("Requeued"),
    };
    const struct json *list = json_getz(status, "conditions");
    struct rest_conditions out = {0};

    json_each (i, list) {
        struct str type = json_str(json_getz(json_at(list, i), "type"));
        for (size_t k = 0; k < REST_COUNT; k++)
            if (str_eq(type, types[k]))
                out.at[k] = json_at(list, i);
        out.is_odd |= str_eq(type, S("DeactivationTarget"));
    }
    out.is_odd |= has_status(out.at[REST_REQUEUED], S("False"));
    return out;
}

/* Rules under which only what is asked for below can change anything. */
static bool are_plain(const struct workload_rules *r)
{
    return !r->is_coarse && !r->is_explicit && !r->ignores_gates && !r->mirrors_gates &&
           !r->refuses_devices && !r->waits_for_pods && !r->has_retention;
}

/* Nobody deletes it, and it is no orphan of a Job. */
static bool is_owned(const struct json *meta)
{
    return !json_has(json_getz(meta, "deletionTimestamp")) &&
           (json_len(json_getz(meta, "ownerReferences")) ||
            !json_has(json_get(json_getz(meta, "labels"), S(QUEUE_JOB_UID_LABEL))));
}

static bool is_open(struct str stop_policy)
{
    return stop_policy.len == 0 || str_eq(stop_policy, S("None"));
}

/* Its queues take Workloads and ask for no checks. */
static bool are_queues_plain(const struct workload_seen *seen)
{
    return seen->has_lq && is_open(seen->lq_stop) && seen->has_cq && seen->cq &&
           is_open(seen->cq_stop) && !seen->cq->spec->admission_checks_strategy &&
           !seen->misfit.len;
}

/* It waits, and its status says so as it is. */
static bool waits_well(const struct rest_conditions *c, const struct json *meta,
                       const struct workload_seen *seen)
{
    static const struct str settled[] = {S_INIT("WaitingForQuota"), S_INIT("PendingEvaluation"),
                                         S_INIT("WaitingForPreemptedWorkloads"),
                                         S_INIT("ExceedsMaxQuota"), S_INIT("NoMatchingFlavor")};
    const struct json *quota = c->at[REST_QUOTA], *admitted = c->at[REST_ADMITTED];
    bool is_settled = false;

    if (!seen->is_cq_active)
        return false;
    if (!quota && !admitted)
        return true;
    for (size_t i = 0; i < countof(settled); i++)
        is_settled |= has_reason(quota, settled[i]);
    return is_settled && !seen->equal_failed.len && has_status(quota, S("False")) &&
           has_status(admitted, S("False")) && has_reason(admitted, S("NoReservation")) &&
           json_eq(json_getz(admitted, "observedGeneration"), json_getz(meta, "generation"));
}

bool workload_rests(const struct json *wl, const struct workload_seen *seen,
                    const struct workload_rules *rules)
{
    const struct json *meta = json_getz(wl, "metadata"), *spec = json_getz(wl, "spec");
    const struct json *status = json_getz(wl, "status");
    struct rest_conditions c = read_conditions(status);

    if (!are_plain(rules) || !is_owned(meta))
        return false;
    if (has_status(c.at[REST_FINISHED], S("True")))
        return true;
    if (c.is_odd || !are_queues_plain(seen) || !json_bool(json_getz(spec, "active"), true) ||
        json_has(json_getz(spec, "maximumExecutionTimeSeconds")) ||
        json_len(json_getz(status, "admissionChecks")) ||
        json_has(json_path(status, "requeueState", "requeueAt", NULL)) ||
        json_has(json_get(json_getz(meta, "annotations"), S(WORKLOAD_GATED_BY))) ||
        has_reason(c.at[REST_QUOTA], S("AdmissionGated")))
        return false;
    if (has_status(c.at[REST_ADMITTED], S("True")))
        return has_status(c.at[REST_QUOTA], S("True"));
    return waits_well(&c, meta, seen);
}
