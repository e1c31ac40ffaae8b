/* state.h - where a job stands, in one word and one sentence */
#pragma once

#include "cli/session.h"

enum job_state {
    JOB_STATE_WAITING,  /* for quota, or for its queue */
    JOB_STATE_STARTING, /* admitted; its pods do not run yet */
    JOB_STATE_RUNNING,
    JOB_STATE_COMPLETE,
    JOB_STATE_FAILED,
    JOB_STATE_SUSPENDED, /* by its owner */
    JOB_STATE_GOING,     /* being deleted */
};

struct job_report {
    enum job_state state;
    struct str code;     /* stable, such as WaitingForQuota; "" where there is nothing to say */
    struct str sentence; /* why, for people; may be "" */
    const struct json *job, *workload; /* NULL where there is none */
    struct str managed_by;             /* another controller, or "" */
};

/* Reads the Job, its Workload and its pods. -1 with err. */
int job_report(struct session *s, struct str ns, struct str name, struct job_report *out,
               struct err *err);
/* The label selector of the Workload that is made for the Job with this uid. */
struct str state_workload_labels(struct arena *a, struct str uid);
const char *job_state_word(enum job_state state);
/* A condition of an object, or NULL. */
const struct json *state_condition(const struct json *object, struct str type);
/* It is there and its status is True. */
bool state_holds(const struct json *object, struct str type);
