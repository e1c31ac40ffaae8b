/* disrupt.h - takes a pod away for a reason that is not its own
 *
 * Its condition DisruptionTarget is written before it is deleted, so that a Job can tell the
 * two kinds of failure apart (jobs reference 2.2).
 */
#pragma once

#include "base/base.h"

struct cache;
struct cache_index;
struct object;
struct step;

struct disruption {
    const char *reason, *message;
    bool ends;    /* nobody else will: its phase becomes Failed, unless it has ended */
    bool at_once; /* without grace: nobody is there to end it */
};
/* Starts the writes; the step awaits them. */
void disrupt_pod(struct step *s, struct object *pod, const struct disruption *d);

/* Pods by the name of the node they are bound to. */
struct cache_index *pods_by_node(struct cache *pods);
