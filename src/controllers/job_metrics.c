/* job_metrics.c - numbers of the Job controller */
#include "controllers/job_metrics.h"

#include "api/batch_v1.h"
#include "control/control.h"
#include "controllers/tally.h"
#include "json/json.h"

#include <ctype.h>

enum {
    SYNC_SECONDS,
    SYNCS,
    JOBS_FINISHED,
    PODS_FINISHED,
    EXTERNAL,
    BY_POLICY,
    HOLDING,
    INDEXES,
    CREATIONS,
};

static const struct tally_row rows[] = {
    [SYNC_SECONDS] = {"job_controller_job_sync_duration_seconds",             "How long a look took.",
                      0.004, 15},
    [SYNCS] = {"job_controller_job_syncs_total",                                                    "Looks at Jobs."                                                                          },
    [JOBS_FINISHED] = {"job_controller_jobs_finished_total","Jobs that have ended."},
    [PODS_FINISHED] = {"job_controller_job_pods_finished_total",                                             "Pods that were counted."                                                                                                                                    },
    [EXTERNAL] = {"job_controller_jobs_by_external_controller_total",
                      "Jobs that name another controller."},
    [BY_POLICY] = {"job_controller_pod_failures_handled_by_failure_policy_total",
                      "Failed pods that a rule of podFailurePolicy matched."                                                                                                                                                                      },
    [HOLDING] = {"job_controller_terminated_pods_tracking_finalizer_total",
                      "Ended pods that took or lost their finalizer."},
    [INDEXES] = {"job_controller_job_finished_indexes_total",        "Indexes that have ended."                                                                                                                                                                             },
    [CREATIONS] = {"job_controller_job_pods_creation_total",                     "Pods that were asked for."},
};

struct job_metrics {
    struct tally *tally;
};

struct job_metrics *job_metrics_new(void)
{
    struct job_metrics *m = mem_zero(1, sizeof(*m));

    m->tally = tally_new(rows, countof(rows));
    return m;
}

void job_metrics_free(struct job_metrics *m)
{
    tally_free(m->tally);
    free(m);
}

void job_metrics_write(const struct job_metrics *m, struct buf *out)
{
    tally_write(m->tally, out);
}

static const char *mode_of(const struct job *job)
{
    return str_eq(job->spec->completion_mode, COMPLETION_MODE_INDEXED) ? "Indexed"
                                                                       : "NonIndexed";
}

void job_metrics_sync(struct job_metrics *m, const struct job *job, const struct job_plan *plan,
                      struct span took, bool has_failed)
{
    const char *action = plan->n_remove   ? "pods_deleted"
                         : plan->n_create ? "pods_created"
                                          : "tracking";
    const char *result = has_failed ? "error" : "success";
    static const char *const labels = "completion_mode=\"%s\",result=\"%s\",action=\"%s\"";

    tally_observe(m->tally, SYNC_SECONDS, (double)took.ns / (double)SECOND_NS, labels,
                  mode_of(job), result, action);
    tally_count(m->tally, SYNCS, 1, labels, mode_of(job), result, action);
}

void job_metrics_created(struct job_metrics *m, const struct job *job,
                         const struct job_plan *plan, size_t n_ok, size_t n_failed)
{
    const char *reason = "new";

    if (str_eq(job->spec->pod_replacement_policy, POD_REPLACEMENT_POLICY_FAILED) &&
        plan->failed > 0)
        reason = "recreate_failed";
    else if (plan->failed > 0 || plan->terminating > 0)
        reason = "recreate_terminating_or_failed";
    if (n_ok)
        tally_count(m->tally, CREATIONS, n_ok, "reason=\"%s\",status=\"succeeded\"", reason);
    if (n_failed)
        tally_count(m->tally, CREATIONS, n_failed, "reason=\"%s\",status=\"failed\"", reason);
}

static void count_more(struct job_metrics *m, const struct job *job, int32_t was, int32_t now,
                       const char *result)
{
    if (now > was)
        tally_count(m->tally, PODS_FINISHED, (uint64_t)(now - was),
                    "completion_mode=\"%s\",result=\"%s\"", mode_of(job), result);
}

static void count_indexes(struct job_metrics *m, const struct job *job, struct str was,
                          struct str now, const char *status)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    int64_t more;

    if (str_eq(was, now))
        return;
    more = index_set_parse(&a, now, job->spec->completions).total -
           index_set_parse(&a, was, job->spec->completions).total;
    if (more > 0)
        tally_count(m->tally, INDEXES, (uint64_t)more, "status=\"%s\",backoffLimit=\"%s\"",
                    status, IS_SET(job->spec, backoff_limit_per_index) ? "perIndex" : "global");
}

void job_metrics_counted(struct job_metrics *m, const struct job *job,
                         const struct job_status *was, const struct job_status *now)
{
    static const struct job_status none = {0};

    was = was ? was : &none;
    count_more(m, job, was->succeeded, now->succeeded, "succeeded");
    count_more(m, job, was->failed, now->failed, "failed");
    count_indexes(m, job, was->completed_indexes, now->completed_indexes, "succeeded");
    count_indexes(m, job, was->failed_indexes, now->failed_indexes, "failed");
}

void job_metrics_policy(struct job_metrics *m, enum job_policy_action action)
{
    static const char *const words[] = {
        [JOB_POLICY_COUNT] = "Count",
        [JOB_POLICY_IGNORE] = "Ignore",
        [JOB_POLICY_FAIL_INDEX] = "FailIndex",
        [JOB_POLICY_FAIL_JOB] = "FailJob",
    };

    if (action != JOB_POLICY_NONE)
        tally_count(m->tally, BY_POLICY, 1, "action=\"%s\"", words[action]);
}

/* A reason that somebody else wrote may be any text. */
static bool is_word(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.at[i]))
            return false;
    return true;
}

void job_metrics_finished(struct job_metrics *m, const struct job *job, enum job_outcome end,
                          struct str reason)
{
    bool is_ok = end == JOB_SUCCEEDS;
    struct str why = is_ok || !is_word(reason) ? S("") : reason;

    tally_count(m->tally, JOBS_FINISHED, 1,
                "completion_mode=\"%s\",result=\"%s\",reason=\"%.*s\"", mode_of(job),
                is_ok ? "succeeded" : "failed", STR_ARG(why));
}

void job_metrics_external(struct job_metrics *m, struct str manager)
{
    tally_count(m->tally, EXTERNAL, 1, "controller_name=\"%.*s\"", STR_ARG(manager));
}

static bool is_holding(const struct json *pod)
{
    struct str phase = json_str(json_path(pod, "status", "phase", NULL));

    return (str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed")) && job_pod_is_held(pod);
}

void job_metrics_pod(struct job_metrics *m, struct cache_event *e)
{
    bool was = e->old && e->now && is_holding(cache_event_old(e));
    bool is = e->now ? is_holding(cache_event_now(e)) : is_holding(cache_event_old(e));

    if (!e->now && is)
        tally_count(m->tally, HOLDING, 1, "event=\"delete\"");
    else if (e->now && was != is)
        tally_count(m->tally, HOLDING, 1, "event=\"%s\"", is ? "add" : "delete");
}
