/* pace.c - how often something may run that costs the same however little has changed */
#include "controllers/pace.h"

void pace_ran(struct pace *p, struct span began, struct span ended)
{
    int64_t took = MAX(ended.ns - began.ns, INT64_C(0));

    p->next.ns = ended.ns + MIN(took, PACE_MOST.ns / PACE_SPACING) * PACE_SPACING;
}

struct span pace_left(const struct pace *p, struct span now, bool is_pressed)
{
    return (struct span){is_pressed ? MAX(p->next.ns - now.ns, INT64_C(0)) : 0};
}
