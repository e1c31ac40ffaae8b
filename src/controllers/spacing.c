/* spacing.c - how often something may run that costs the same however little has changed */
#include "controllers/spacing.h"

void spacing_ran(struct spacing *s, struct span began, struct span ended)
{
    int64_t took = MAX(ended.ns - began.ns, INT64_C(0));
    int64_t saved = began.ns - SPACING_BURST * SPACING_EVERY.ns;

    s->pressed.ns = ended.ns + MIN(took * SPACING_TIMES, SPACING_MOST.ns);
    s->paid.ns = MAX(s->paid.ns, saved) + SPACING_EVERY.ns;
}

struct span spacing_left(const struct spacing *s, struct span now, bool is_pressed)
{
    int64_t next = s->paid.ns + SPACING_EVERY.ns;

    if (is_pressed)
        next = MAX(next, s->pressed.ns);
    return (struct span){MAX(next - now.ns, INT64_C(0))};
}
