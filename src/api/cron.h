/* cron.h - the schedule of a CronJob: its text, and when it is time
 *
 * Source: jobs reference 1.26, "Schedule text" and "Next time".
 */
#pragma once

#include "base/base.h"
#include "value/zone.h"

/* Which values of each field match: bit n for value n. */
struct cron_schedule {
    uint64_t minute, hour, day, month, weekday;
    bool any_day, any_weekday; /* the field has `*` or `?`: then the other alone decides */
    struct span every;         /* not 0: `@every`, and none of the above */
    bool has_zone;             /* `TZ=` or `CRON_TZ=` in front */
    struct str zone;           /* in the text; "" is UTC */
};

/* `min hour day month weekday`, `@hourly` and the like, `@every 1h30m`. ERR_SYNTAX. */
int cron_parse(struct str text, struct cron_schedule *out, struct err *err);

#define CRON_MAX_YEARS 5 /* looked ahead */

/* The first time after `t`, by the clocks of a zone; no time (not set) where there is none
 * within CRON_MAX_YEARS. A local time that a change of clocks leaves out is not made up; one
 * that comes twice counts twice. */
struct instant cron_next(const struct cron_schedule *s, const struct zone *zone,
                         struct instant t);
