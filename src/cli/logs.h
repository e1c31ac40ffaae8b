/* logs.h - what a job or a pod wrote */
#pragma once

#include "cli/session.h"

struct logs_options {
    bool follow, previous, timestamps;
    const char *container; /* NULL: the only one */
    int64_t tail;          /* -1: all */
    int64_t since_s;       /* 0: all */
};
/* Copies the log to `out` until its end. -1 with err. */
int logs_stream(struct session *s, struct str pod, const struct logs_options *o, FILE *out,
                struct err *err);
/* The newest pod of a Job, or NULL with err (ERR_NOT_FOUND: there is none yet). */
const struct json *logs_pod_of_job(struct session *s, struct str job, struct err *err);
