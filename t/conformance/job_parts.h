/* job_parts.h - the adapters of suite job that stand in files of their own */
#pragma once

#include "conformance.h"

conf_fn job_cron_next, job_cron_schedule, job_cron_sync, job_cron_cleanup, job_validation,
    job_schedule_format, job_timezones, job_indexes_format;
