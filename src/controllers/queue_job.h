/* queue_job.h - what a batch Job asks of its queue, as pure functions
 *
 * Source: Kueue reference 2.5, 8.3 to 8.7.
 */
#pragma once

#include "controllers/finalizer.h"
#include "json/json.h"

struct job;
struct kueue_workload;

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define QUEUE_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define QUEUE_MAX_SECONDS_LABEL "kueue.x-k8s.io/max-exec-time-seconds"
#define QUEUE_MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism"
#define QUEUE_SYNC_COMPLETIONS "kueue.x-k8s.io/job-completions-equal-parallelism"
#define QUEUE_STOPPING "kueue.x-k8s.io/stopping"
#define QUEUE_JOB_UID_LABEL "kueue.x-k8s.io/job-uid"
#define QUEUE_PREBUILT "kueue.x-k8s.io/prebuilt-workload-name"
#define QUEUE_PODSET_LABEL "kueue.x-k8s.io/podset"
#define QUEUE_WORKLOAD_NOTE "kueue.x-k8s.io/workload"
#define WORKLOAD_FINALIZER FINALIZER_IN_USE

/* The LocalQueue it names, or "". */
struct str job_queue_name(const struct job *job);
/* "job-NAME-1a2b3": the kind in lower case, the name, five digits of a hash over kind, group,
 * name and uid. */
struct str job_workload_name(struct arena *a, const struct job *job);
/* Pods that run at the same time. */
int32_t job_pods_count(const struct job *job);
/* Suspended, and no stop of ours is half done. */
bool job_is_suspended(const struct job *job);

/* The one pod set of a Job, from its tree. */
struct json job_pod_set(struct arena *a, const struct job *job, const struct json *tree);
/* Does the Workload (its tree) still say what the Job asks for? (8.3.1) */
bool job_matches_workload(struct arena *a, const struct job *job, const struct json *job_tree,
                          const struct kueue_workload *wl, const struct json *wl_tree);

/* What the queue adds to a started Job's template. */
struct job_start_info {
    const struct json *node_selector; /* objects of texts, or NULL */
    const struct json *labels, *annotations;
    const struct json *tolerations; /* a list, or NULL */
    int32_t count;
};
/* The merge patch that starts it; NULL with ERR_INVALID where the template says otherwise (then
 * it can never start). */
const struct json *job_start_patch(struct arena *a, const struct job *job,
                                   const struct json *tree, const struct job_start_info *info,
                                   struct err *err);
/* The merge patch that takes the additions away again: what the Workload's pod set says. */
const struct json *job_restore_patch(struct arena *a, const struct job *job,
                                     const struct json *tree, const struct json *pod_set);
/* Pods that succeeded and free their share, of `parallelism`; 0: none. */
int32_t job_reclaimable(struct arena *a, const struct job *job);
