/* job_decide.h - one look at one Job, as pure functions
 *
 *     look ──▶ job_decide() ──▶ plan: pods to delete or create
 *                                 │ done, with what came of it
 *                                 ▼
 *              job_settle()  ──▶ status to write, pods to let go
 *                                 │ done
 *                                 ▼
 *              job_conclude() ─▶ status to write once more, how it ended
 *
 * Every case is a row. Source: jobs reference 1.9 to 1.20; step numbers are those of 1.10
 * to 1.12.
 */
#pragma once

#include "base/base.h"
#include "controllers/job_index.h"
#include "controllers/job_pod.h"

struct job;
struct job_condition;
struct job_status;

#define JOB_OUR_NAME "kubernetes.io/job-controller"
#define JOB_BACKOFF_FIRST span_s(10)
#define JOB_BACKOFF_MOST span_s(600)
#define JOB_MAX_PODS_A_SYNC 500 /* created or deleted */
#define JOB_MAX_UNCOUNTED 500   /* uids listed at once */

/* What the controller remembers of failures, in memory only. */
struct job_backoff {
    int32_t failures; /* since the last success */
    struct instant last_failure;
};

struct job_look {
    const struct job *job; /* with defaults where the server would have put them */
    const struct job_pod *pods;
    size_t n_pods;
    struct instant now;
    struct job_backoff backoff;
    struct span backoff_first, backoff_most; /* 0: JOB_BACKOFF_FIRST, JOB_BACKOFF_MOST */
    bool is_waiting;                         /* for creations or deletions still unseen */
    const struct str *let_go; /* uids of pods whose finalizer is known to be gone */
    size_t n_let_go;
};

enum job_outcome { JOB_GOES_ON, JOB_SUCCEEDS, JOB_FAILS };

/* A pod to create. */
struct job_birth {
    int32_t index; /* JOB_NO_INDEX for NonIndexed */
    int32_t index_failures, index_ignored;
};

struct job_plan {
    /* Pods to delete, by place in look->pods. */
    const uint32_t *remove;
    size_t n_remove;
    bool remove_uncounted; /* their finalizer goes first, so that they are not counted */
    const struct job_birth *create;
    size_t n_create;
    struct span again; /* come back after; -1: no need */
    struct span again_deadline;

    /* What job_settle() goes on with. */
    enum job_outcome outcome;
    struct str reason, message;
    bool has_outcome_condition; /* the interim one is True already */
    bool has_managed;           /* creating and deleting by count was considered */
    int32_t active, ready, terminating;
    int64_t succeeded, failed;
    struct job_backoff backoff; /* to remember once the status is written */
    struct index_set completed, failed_indexes, stored_completed;
    const uint32_t *held; /* pods kept for their failure count until replaced, by index */
    size_t n_held;
    const struct job_pod *const *idle; /* the pods that are not active; NULL: look at all */
    size_t n_idle;
    struct instant start_time;
    bool is_indexed, is_per_index, is_only_failed; /* of the spec */
};

/* What came of a plan. */
struct job_done {
    size_t n_removed;        /* deletes that succeeded (404 too) */
    int32_t n_ready_removed; /* of ready pods */
    size_t n_create_failed;  /* creates that failed, or were never tried */
    bool is_all_removed;
};

struct job_settled {
    const struct job_status *status; /* as it shall be written; never NULL */
    bool must_write;
    const uint32_t *let_go; /* pods to take the finalizer from, after the write */
    size_t n_let_go;
    const char *event; /* "Suspended", "Resumed" or NULL */
    enum job_outcome outcome;
    struct str reason, message;
    bool is_full; /* more pods wait for the next look */
    int32_t terminating;
};

struct job_concluded {
    const struct job_status *status;
    bool must_write;
    enum job_outcome end; /* JOB_GOES_ON: not finished */
    bool is_too_many;     /* more succeeded than asked for */
};

/* By its tree: what is asked of each version of a Job is not worth a view. */
bool job_is_finished(const struct json *job);
/* Another controller that it names, or "" (jobs reference 1.21). */
struct str job_other_manager(const struct json *job);

struct job_plan job_decide(struct arena *a, const struct job_look *look);
/* The pod that is held for an index, or NULL. */
const struct job_pod *job_plan_held(const struct job_look *look, const struct job_plan *plan,
                                    int32_t index);
struct job_settled job_settle(struct arena *a, const struct job_look *look,
                              const struct job_plan *plan, const struct job_done *done);
/* The counting alone (1.12), by the plan's outcome; `is_dirty`: something else changed. */
struct job_settled job_track(struct arena *a, const struct job_look *look,
                             const struct job_plan *plan, bool is_dirty);
/* `gone`: places in look->pods of those whose finalizer is away now. `all_gone`: none failed.
 */
struct job_concluded job_conclude(struct arena *a, const struct job_look *look,
                                  const struct job_settled *settled, const uint32_t *gone,
                                  size_t n_gone, bool all_gone);

/* ---- parts, as they are tested ---- */

struct job_backoff job_backoff_next(const struct job_look *look);
struct span job_backoff_left(const struct job_look *look, const struct job_backoff *b);
/* Of one index, by the last pod that failed there. */
struct span job_index_backoff_left(const struct job_look *look, const struct job_pod *last);
/* The rule that the succeeded indexes meet, or -1. */
int job_success_rule(struct arena *a, const struct job *job, const struct index_set *succeeded);
/* "<job>-<index>-", cut so that a name fits. */
struct str job_generate_name(struct arena *a, struct str job, int32_t index);
