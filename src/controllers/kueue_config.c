/* kueue_config.c - Kueue's own Configuration file, as far as it says how to queue */
#include "controllers/kueue_config.h"

#include "value/time.h"

#define AFS_SAMPLING span_s(300)
#define PODS_READY_WITHIN span_s(1800)

struct reader {
    struct arena *a;
    struct kueue_config *out;
    struct err *err;
};

struct kueue_config kueue_config_default(void)
{
    return (struct kueue_config){.queue = queue_config_default(),
                                 .life = workload_rules_default()};
}

/* ---- values ---- */

static int bad(struct reader *r, const char *path, const char *why)
{
    return err_set(r->err, ERR_INVALID, "%s: %s", path, why);
}

/* A duration such as 5m or 1h30m; untouched where it is absent. */
static int read_span(struct reader *r, const struct json *of, const char *name,
                     const char *path, struct span *out)
{
    const struct json *v = json_get(of, str_from(name));

    if (!json_has(v))
        return 0;
    if (!json_is(v, JSON_STRING) || span_parse(json_str(v), out, NULL) < 0 || out->ns < 0)
        return bad(r, path, "must be a duration such as 5m, not below 0s");
    return 0;
}

static int read_bool(struct reader *r, const struct json *of, const char *name,
                     const char *path, bool *out)
{
    const struct json *v = json_get(of, str_from(name));

    if (json_has(v) && !json_is(v, JSON_BOOL))
        return bad(r, path, "must be true or false");
    *out = json_bool(v, *out);
    return 0;
}

static int read_number(struct reader *r, const struct json *of, const char *name,
                       const char *path, int64_t *out)
{
    const struct json *v = json_get(of, str_from(name));

    if (!json_has(v))
        return 0;
    *out = json_i64(v, -1);
    if (*out < 0 || *out > INT32_MAX)
        return bad(r, path, "must be a whole number, not below 0");
    return 0;
}

/* ---- parts ---- */

static int read_requeuing(struct reader *r, const struct json *v)
{
    struct workload_rules *life = &r->out->life;
    struct str stamp = json_str(json_getz(v, "timestamp"));
    int64_t limit = -1, base = 60, most = 3600;

    if (stamp.len && !str_eqz(stamp, "Eviction") && !str_eqz(stamp, "Creation"))
        return bad(r, "waitForPodsReady.requeuingStrategy.timestamp",
                   "must be Eviction or Creation");
    if (read_number(r, v, "backoffLimitCount",
                    "waitForPodsReady.requeuingStrategy.backoffLimitCount", &limit) < 0 ||
        read_number(r, v, "backoffBaseSeconds",
                    "waitForPodsReady.requeuingStrategy.backoffBaseSeconds", &base) < 0 ||
        read_number(r, v, "backoffMaxSeconds",
                    "waitForPodsReady.requeuingStrategy.backoffMaxSeconds", &most) < 0)
        return -1;
    r->out->queue.order_by_creation = str_eqz(stamp, "Creation");
    life->has_requeue_limit = limit >= 0;
    life->requeue_limit = (int32_t)MAX(limit, INT64_C(0));
    life->backoff_base = span_s(base);
    life->backoff_max = span_s(most);
    return 0;
}

static int read_pods_ready(struct reader *r, const struct json *v)
{
    struct workload_rules *life = &r->out->life;

    if (!json_has(v))
        return 0;
    life->waits_for_pods = true;
    life->start_within = PODS_READY_WITHIN;
    if (read_span(r, v, "timeout", "waitForPodsReady.timeout", &life->start_within) < 0)
        return -1;
    life->recover_within = life->start_within;
    if (read_span(r, v, "recoveryTimeout", "waitForPodsReady.recoveryTimeout",
                  &life->recover_within) < 0 ||
        read_bool(r, v, "blockAdmission", "waitForPodsReady.blockAdmission",
                  &r->out->queue.block_admission) < 0)
        return -1;
    return read_requeuing(r, json_getz(v, "requeuingStrategy"));
}

static int read_fair(struct reader *r, const struct json *v)
{
    const struct json *list = json_getz(v, "preemptionStrategies");
    bool has_final = false, has_initial = false;

    if (!json_has(v))
        return 0;
    json_each (i, list) {
        struct str s = json_str(json_at(list, i));
        has_final |= str_eqz(s, "LessThanOrEqualToFinalShare");
        has_initial |= str_eqz(s, "LessThanInitialShare");
        if (!str_eqz(s, "LessThanOrEqualToFinalShare") && !str_eqz(s, "LessThanInitialShare"))
            return bad(r, "fairSharing.preemptionStrategies",
                       "each must be LessThanOrEqualToFinalShare or LessThanInitialShare");
    }
    if (!has_final && !has_initial)
        return bad(r, "fairSharing.preemptionStrategies", "must name a strategy");
    r->out->queue.fair_sharing = true;
    r->out->queue.fair_initial_only = !has_final;
    r->out->queue.fair_final_only = !has_initial;
    return 0;
}

static int read_weights(struct reader *r, const struct json *map)
{
    struct queue_weight *at = arena_array(r->a, struct queue_weight, json_len(map) + 1);
    size_t n = 0;

    json_each_member (m, map) {
        double weight = json_f64(&m->value, -1);
        if (weight < 0)
            return bad(r, "admissionFairSharing.resourceWeights",
                       "each must be a number, not below 0");
        at[n++] = (struct queue_weight){str_copy(r->a, m->name), weight};
    }
    r->out->queue.afs_weights = at;
    r->out->queue.n_afs_weights = n;
    return 0;
}

static int read_admission_fair(struct reader *r, const struct json *v)
{
    struct queue_config *q = &r->out->queue;

    if (!json_has(v))
        return 0;
    q->afs = true;
    q->afs_sampling = AFS_SAMPLING;
    if (!json_has(json_getz(v, "usageHalfLifeTime")))
        return bad(r, "admissionFairSharing.usageHalfLifeTime", "is required");
    if (read_span(r, v, "usageHalfLifeTime", "admissionFairSharing.usageHalfLifeTime",
                  &q->afs_half_life) < 0 ||
        read_span(r, v, "usageSamplingInterval", "admissionFairSharing.usageSamplingInterval",
                  &q->afs_sampling) < 0)
        return -1;
    if (q->afs_sampling.ns == 0)
        return bad(r, "admissionFairSharing.usageSamplingInterval", "must be above 0s");
    return read_weights(r, json_getz(v, "resourceWeights"));
}

static int read_resources(struct reader *r, const struct json *v)
{
    static const char *const not_done[] = {"excludeResourcePrefixes", "transformations",
                                           "deviceClassMappings"};
    struct str check = json_str(json_getz(v, "quotaCheckStrategy"));

    for (size_t i = 0; i < countof(not_done); i++)
        if (json_len(json_get(v, str_from(not_done[i]))))
            return err_set(r->err, ERR_UNSUPPORTED, "resources.%s: is not done by this berth",
                           not_done[i]);
    if (check.len && !str_eqz(check, "BlockUndeclared") && !str_eqz(check, "IgnoreUndeclared"))
        return bad(r, "resources.quotaCheckStrategy",
                   "must be BlockUndeclared or IgnoreUndeclared");
    r->out->queue.ignore_undeclared = str_eqz(check, "IgnoreUndeclared");
    return 0;
}

static int read_retention(struct reader *r, const struct json *v)
{
    const struct json *w = json_getz(v, "workloads");

    if (json_has(json_getz(w, "afterDeactivatedByKueue")))
        return err_set(r->err, ERR_UNSUPPORTED,
                       "objectRetentionPolicies.workloads.afterDeactivatedByKueue: is not done "
                       "by this berth");
    r->out->life.has_retention = json_has(json_getz(w, "afterFinished"));
    return read_span(r, w, "afterFinished", "objectRetentionPolicies.workloads.afterFinished",
                     &r->out->life.keep_finished);
}

/* Gates that change nothing here are taken as they are. */
static int read_gates(struct reader *r, const struct json *map)
{
    struct workload_rules *life = &r->out->life;
    const struct {
        const char *name;
        bool *fact;
        bool when; /* the fact holds where the gate is this */
    } facts[] = {
        {"UnadmittedWorkloadsObservability",  &life->is_coarse,     false},
        {"UnadmittedWorkloadsExplicitStatus", &life->is_explicit,   true },
        {"FinishOrphanedWorkloads",           &life->keeps_orphans, false},
        {"AdmissionGatedBy",                  &life->ignores_gates, false},
        {"MultiKueueOrchestratedPreemption",  &life->mirrors_gates, true },
    };

    json_each_member (m, map) {
        if (!json_is(&m->value, JSON_BOOL))
            return bad(r, "featureGates", "each must be true or false");
        bool on = json_bool(&m->value, false);
        queue_config_gate(&r->out->queue, m->name, on);
        for (size_t i = 0; i < countof(facts); i++)
            if (str_eqz(m->name, facts[i].name))
                *facts[i].fact = on == facts[i].when;
    }
    return 0;
}

int kueue_config_read(struct arena *a, const struct json *tree, struct kueue_config *out,
                      struct err *err)
{
    static const struct {
        const char *name;
        int (*read)(struct reader *r, const struct json *v);
    } parts[] = {
        {"waitForPodsReady",        read_pods_ready    },
        {"fairSharing",             read_fair          },
        {"admissionFairSharing",    read_admission_fair},
        {"resources",               read_resources     },
        {"objectRetentionPolicies", read_retention     },
        {"featureGates",            read_gates         },
    };
    struct kueue_config read = kueue_config_default();
    struct reader r = {a, &read, err};

    if (tree &&
        !str_starts(json_str(json_getz(tree, "apiVersion")), S("config.kueue.x-k8s.io/")))
        return err_set(err, ERR_INVALID,
                       "apiVersion: must be config.kueue.x-k8s.io/v1beta1 or v1beta2");
    if (tree && !str_eqz(json_str(json_getz(tree, "kind")), "Configuration"))
        return err_set(err, ERR_INVALID, "kind: must be Configuration");
    if (json_bool(json_getz(tree, "manageJobsWithoutQueueName"), false))
        return err_set(err, ERR_UNSUPPORTED,
                       "manageJobsWithoutQueueName: is not done by this berth");
    for (size_t i = 0; i < countof(parts); i++)
        if (parts[i].read(&r, json_get(tree, str_from(parts[i].name))) < 0)
            return -1;
    *out = read;
    return 0;
}
