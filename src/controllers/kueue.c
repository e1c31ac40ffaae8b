/* kueue.c - everything that queues Jobs for quota, as one controller of the table */
#include "controllers/controllers_priv.h"

#include "controllers/admit.h"
#include "controllers/kueue_config.h"
#include "controllers/metrics.h"
#include "controllers/quota.h"
#include "controllers/why.h"
#include "controllers/workload.h"
#include "io/io.h"
#include "queue/queue.h"

struct kueue {
    struct control *control;
    struct admit *admit;
    struct queue_status *status;
    struct in_use *in_use;
    struct workloads *workloads;
    void *jobs;
    struct metrics *metrics;
};

void *kueue_start(struct control *c)
{
    struct kueue_config config = kueue_config_default();

    return kueue_start_as(c, &config);
}

void *kueue_start_as(struct control *c, const struct kueue_config *config)
{
    struct kueue *k = mem_zero(1, sizeof(*k));

    k->control = c;
    k->admit = admit_new(c, &config->queue);
    k->status = queue_status_new(c, k->admit, &config->queue);
    k->in_use = queue_in_use_new(c, k->admit);
    k->workloads = workloads_new(c, k->admit, &config->life);
    k->jobs = job_workload_start(c, config);
    k->metrics = metrics_new(c, k->admit);
    return k;
}

void kueue_free(void *state)
{
    struct kueue *k = state;

    metrics_free(k->metrics);
    job_workload_free(k->jobs);
    workloads_free(k->workloads);
    queue_in_use_free(k->in_use);
    queue_status_free(k->status);
    admit_free(k->admit);
    free(k);
}

void kueue_metrics(void *state, struct buf *out)
{
    struct kueue *k = state;

    metrics_write(k->metrics, out);
}

bool kueue_why(void *state, struct arena *a, struct str ns, struct str name, struct json *out)
{
    struct kueue *k = state;

    return why_json(admit_engine(k->admit), a, ns, name, io_now(control_io(k->control)), out);
}

bool kueue_ledger(void *state, struct arena *a, struct str ns, struct str name,
                  struct json *out)
{
    struct kueue *k = state;
    struct queue_engine *e = admit_engine(k->admit);
    struct str lq = cache_path(a, ns, name);
    struct str of = ns.len ? queue_lq_target(e, lq) : name;

    return of.len && quota_json(e, a, of, out);
}
