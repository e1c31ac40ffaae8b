/* job_check.h - rules of Jobs and CronJobs that a line of a table cannot say
 *
 * Source: jobs reference 1.3, 1.4, 1.8, 1.26. The table has limits of single numbers, enums and
 * lengths; errors of both together are upstream's.
 */
#pragma once

#include "value/field_error.h"

enum job_check_option {
    JOB_CHECK_DIRECTIVES = 1 << 0,  /* where pods go may change */
    JOB_CHECK_RESOURCES = 1 << 1,   /* what they ask for may change */
    JOB_CHECK_TRANSITIONS = 1 << 2, /* a status may not go back */
    JOB_CHECK_START_TIME = 1 << 3,  /* nor the start time change while it runs */
};
/* What an update of `old` may do. */
uint32_t job_check_options(const struct json *old);

/* A whole Job; job_spec_check() knows its spec. `is_known`: a spec shared with the old was
 * judged by these rules. */
void job_check_create(struct field_errors *e, const struct json *job);
void job_check_update(struct field_errors *e, uint32_t options, const struct json *job,
                      const struct json *old, bool is_known);
/* Its part about the spec: what was said once and for all. */
void job_check_fixed(struct field_errors *e, uint32_t options, const struct json *spec,
                     const struct json *old);
void job_check_status(struct field_errors *e, uint32_t options, const struct json *job,
                      const struct json *old);

/* The spec of a CronJob; `old` is the spec it replaces, or NULL. */
void cron_job_check_spec(struct field_errors *e, const struct field_path *path,
                         const struct json *spec, const struct json *old);
