/* cron.h - the schedule of a CronJob
 *
 * Source: jobs reference 1.26, "Schedule text".
 */
#pragma once

#include "base/base.h"

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
