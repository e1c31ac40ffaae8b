/* job_pod.h - what the Job controller knows of one pod
 *
 * Made once for each version of a pod; decisions look at these records only, so that a Job with
 * ten thousand pods is judged without reading ten thousand objects again.
 */
#pragma once

#include "base/base.h"

struct job;
struct json;

#define JOB_FINALIZER "batch.kubernetes.io/job-tracking"
#define JOB_INDEX_KEY "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX_FAILURES_KEY "batch.kubernetes.io/job-index-failure-count"
#define JOB_INDEX_IGNORED_KEY "batch.kubernetes.io/job-index-ignored-failure-count"
#define JOB_NO_INDEX (-1)

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* What the Job's podFailurePolicy says of a pod. */
enum job_policy_action {
    JOB_POLICY_NONE, /* no policy, or no rule matches: counted */
    JOB_POLICY_COUNT,
    JOB_POLICY_IGNORE,
    JOB_POLICY_FAIL_INDEX,
    JOB_POLICY_FAIL_JOB,
};

struct job_pod {
    struct str name, uid;
    struct instant created;
    struct instant ready_since; /* the Ready condition's last change; 0: none */
    struct instant finished;    /* as the back-off counts it */
    int32_t index;              /* JOB_NO_INDEX where there is none */
    int32_t index_failures, index_ignored;
    int32_t restarts;      /* the highest of its main containers */
    int32_t init_restarts; /* the highest of its restartable init containers */
    int64_t all_restarts;  /* the sum over all of them */
    enum pod_phase phase : 8;
    enum job_policy_action action : 8;
    bool is_deleting, is_ready, is_assigned, has_finalizer;
    struct str failure; /* why the policy says FailJob; in the arena of the record */
};

/* The record of a pod, by the Job's policy, from its tree: of a whole view a twentieth would be
 * read. Strs are borrowed from the tree; `failure` is in the arena. */
struct job_pod job_pod_of(struct arena *a, const struct job *job, const struct json *pod);
/* Has it a Job's finalizer? */
bool job_pod_is_held(const struct json *pod);
/* When a pod finished, as the back-off counts it (jobs reference 1.14). */
struct instant job_pod_finish_time(const struct json *pod);
/* The rule of the policy that a pod meets; *message (may be NULL) says so in words for FailJob.
 */
enum job_policy_action job_policy_of(struct arena *a, const struct job *job,
                                     const struct json *pod, struct str *message);

static inline bool job_pod_is_terminal(const struct job_pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}
static inline bool job_pod_is_active(const struct job_pod *p)
{
    return !job_pod_is_terminal(p) && !p->is_deleting;
}
static inline bool job_pod_is_terminating(const struct job_pod *p)
{
    return !job_pod_is_terminal(p) && p->is_deleting;
}
