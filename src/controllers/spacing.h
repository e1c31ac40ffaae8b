/* spacing.h - how often something may run that costs the same however little has changed
 *
 * Where others wait for the processor it takes a tenth of the time, and each run looks
 * at what several changes brought.
 */
#pragma once

#include "base/base.h"

#define SPACING_TIMES 9 /* times what the last run took */
#define SPACING_MOST span_ms(200)

/* Zero: it never ran. */
struct spacing {
    struct span next; /* uptime from which on it may run again */
};

void spacing_ran(struct spacing *s, struct span began, struct span ended);
/* How long it is to wait yet; 0 where it may run, or nobody else waits. */
struct span spacing_left(const struct spacing *s, struct span now, bool is_pressed);
