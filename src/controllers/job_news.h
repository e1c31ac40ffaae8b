/* job_news.h - which changes of a queued Job and its Workload its controller has to look at
 *
 * Most are its own writes seen again, or counts that only the status tells: a pass over them
 * would find nothing to do. What a pass of job_workload.c comes to read must stand here, too.
 */
#pragma once

#include "base/base.h"

struct json;

/* A version of a Job after another, as trees. `tells_ready`: its Workload is told when its pods
 * are ready. A new Job is news, and so is one that is gone: do not ask. */
bool job_is_news(const struct json *was, const struct json *now, bool tells_ready);
/* The same of its Workload. */
bool job_workload_is_news(const struct json *was, const struct json *now);
