/* spacing.h - how often something may run that costs the same however little has changed
 *
 * Where others wait for the processor it takes a tenth of the time. Where they do not, it runs
 * at once, but under a steady stream of changes every SPACING_EVERY, SPACING_BURST times
 * excepted: then each run looks at what several changes brought.
 */
#pragma once

#include "base/base.h"

#define SPACING_TIMES 9 /* times what the last run took */
#define SPACING_MOST span_ms(200)
#define SPACING_EVERY span_ms(5)
#define SPACING_BURST 4

/* Zero: it never ran. Both are uptimes. */
struct spacing {
    struct span pressed; /* from which on it may run again, where others wait */
    struct span paid;    /* up to which runs are accounted for, SPACING_EVERY each */
};

void spacing_ran(struct spacing *s, struct span began, struct span ended);
/* How long it is to wait yet; 0 where it may run. */
struct span spacing_left(const struct spacing *s, struct span now, bool is_pressed);
