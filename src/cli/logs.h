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
/* How its first container ended: reason, message and exit code; NULL while it has not. */
const struct json *logs_ending(const struct json *pod);
/* What a person is to know of an ending that its exit code does not tell: "cannot execute 'x':
 * command not found", "OOMKilled". "" where there is nothing. */
struct str logs_ending_text(struct arena *a, const struct json *ending);
/* The newest pod of a Job, or NULL with err (ERR_NOT_FOUND: there is none yet). */
const struct json *logs_pod_of_job(struct session *s, struct str job, struct err *err);
