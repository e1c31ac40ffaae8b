/* spacing.c - how often something may run that costs the same however little has changed */
#include "controllers/spacing.h"

void spacing_ran(struct spacing *s, struct span began, struct span ended)
{
    int64_t took = MAX(ended.ns - began.ns, INT64_C(0));

    s->next.ns = ended.ns + MIN(took * SPACING_TIMES, SPACING_MOST.ns);
}

struct span spacing_left(const struct spacing *s, struct span now, bool is_pressed)
{
    return (struct span){is_pressed ? MAX(s->next.ns - now.ns, INT64_C(0)) : 0};
}
