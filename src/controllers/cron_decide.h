/* cron_decide.h - one look at one CronJob, as pure functions
 *
 *     cron_begin() ──▶ cron_history(): finished Jobs to delete
 *                        │ done: cron_deleted() for each
 *                        ▼
 *                      cron_lost(): Jobs that run and are not listed: read the CronJob anew
 *                        │
 *                        ▼
 *                      cron_children(), cron_missing(): listed Jobs to look up
 *                        │ those that are gone: cron_gone()
 *                        ▼
 *                      cron_decide(): what to replace and to create, when to come back
 *                        │ done: cron_deleted(), cron_created()
 *                        ▼
 *                      `written`, where must_write
 *
 * Source: jobs reference 1.26.
 */
#pragma once

#include "base/base.h"
#include "value/zone.h"

struct cron_job;
struct cron_job_status;
struct job;
struct object_reference;
struct json;

#define CRON_MANY_MISSED 100 /* times missed; more are told of */
#define CRON_SCHEDULED_AT "batch.kubernetes.io/cronjob-scheduled-timestamp"

/* To be told of, in this order. */
struct cron_event {
    const char *type, *reason;
    struct str note;
};

struct cron_sync {
    struct arena *arena;
    const struct cron_job *cron;   /* as looked at */
    const struct job *const *jobs; /* controlled by it */
    size_t n_jobs;
    struct instant now;

    struct cron_job_status *status;  /* what decisions go by */
    struct cron_job_status *written; /* the same, unless a newer copy had to be read */
    bool must_write;
    VEC(struct cron_event) events;
};

/* Everything is borrowed until the look is over. */
void cron_begin(struct cron_sync *s, struct arena *a, const struct cron_job *cron,
                const struct job *const *jobs, size_t n_jobs, struct instant now);

/* Places in s->jobs that the limits of history no longer keep; their number. */
size_t cron_history(struct cron_sync *s, const uint32_t **out);
/* A Job that was deleted is no longer listed. */
void cron_deleted(struct cron_sync *s, struct str name, struct str uid);

/* A Job runs that is not listed: our copy may be old. */
bool cron_lost(const struct cron_sync *s);
/* Takes note of what became of the Jobs. `fresh`: the CronJob read anew, or NULL. */
void cron_children(struct cron_sync *s, const struct cron_job *fresh);
/* Jobs listed and not among s->jobs; their number. */
size_t cron_missing(struct cron_sync *s, const struct object_reference **out);
/* One of them is gone. */
void cron_gone(struct cron_sync *s, const struct object_reference *ref);

struct cron_plan {
    const struct object_reference *replace; /* to delete before the new one is made */
    size_t n_replace;
    bool must_create;
    struct instant scheduled;
    struct str name; /* of the Job to create */
    bool comes_again;
    struct span again; /* 0 or less: now */
};
struct cron_plan cron_decide(struct cron_sync *s);
/* The Job was created, or one of that name was there and is ours. */
void cron_created(struct cron_sync *s, const struct cron_plan *plan, struct str ns,
                  struct str name, struct str uid);

/* ---- parts ---- */

enum cron_missed { CRON_NONE_MISSED, CRON_FEW_MISSED, CRON_MANY_TIMES_MISSED };

/* A schedule with the zone it is meant in. */
struct cron_clock;
struct cron_due {
    struct instant earliest; /* from where it was looked */
    struct instant last;     /* latest time not met; not set: none */
    enum cron_missed missed;
};
/* ERR_SYNTAX: the schedule, ERR_NOT_FOUND: its zone. */
int cron_clock_of(struct arena *a, const struct cron_job *cron, struct cron_clock **out,
                  struct err *err);
/* `by_deadline`: what is older than the starting deadline does not count. ERR_INVALID: a
 * schedule that is never due. */
int cron_due(const struct cron_clock *clock, const struct cron_job *cron,
             const struct cron_job_status *status, struct instant now, bool by_deadline,
             struct cron_due *out, struct err *err);
/* From now to just after the next time. */
struct span cron_until_next(const struct cron_clock *clock, const struct cron_job *cron,
                            const struct cron_job_status *status, struct instant now);
/* NAME-MINUTES since 1970 */
struct str cron_job_name(struct arena *a, const struct cron_job *cron,
                         struct instant scheduled);
/* The Job for a time, from the CronJob's tree. ERR_NOT_FOUND: its zone. */
const struct json *cron_job_body(struct arena *a, const struct json *cron,
                                 struct instant scheduled, struct err *err);
