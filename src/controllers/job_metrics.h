/* job_metrics.h - how the Job controller does, by upstream's names (jobs reference 1.23) */
#pragma once

#include "controllers/job_decide.h"

struct cache_event;
struct job_metrics;

struct job_metrics *job_metrics_new(void);
void job_metrics_free(struct job_metrics *m);
void job_metrics_write(const struct job_metrics *m, struct buf *out);

/* One look, from its start to its last write. */
void job_metrics_sync(struct job_metrics *m, const struct job *job, const struct job_plan *plan,
                      struct span took, bool has_failed);
void job_metrics_created(struct job_metrics *m, const struct job *job,
                         const struct job_plan *plan, size_t n_ok, size_t n_failed);
/* A status was written over another: what it counts more. */
void job_metrics_counted(struct job_metrics *m, const struct job *job,
                         const struct job_status *was, const struct job_status *now);
/* A failed pod was judged by the policy. */
void job_metrics_policy(struct job_metrics *m, enum job_policy_action action);
/* `end` is JOB_SUCCEEDS or JOB_FAILS. */
void job_metrics_finished(struct job_metrics *m, const struct job *job, enum job_outcome end,
                          struct str reason);
/* A Job of another controller was seen for the first time. */
void job_metrics_external(struct job_metrics *m, struct str manager);
/* A pod came, changed or went: those that ended and hold the finalizer. */
void job_metrics_pod(struct job_metrics *m, struct cache_event *e);
