/* pod_report.h - a pod's status, from what was seen and decided (pure) */
#pragma once

#include "base/base.h"

struct json;
struct pod;
struct pod_seen;
struct pod_todo;

struct pod_place {
    struct str host_ip; /* "" where the node has none */
};

/* The body of a merge patch of the pod's status: all we own, with what others wrote (their
 * conditions) kept, and the resourceVersion, so that a newer version is never overwritten. NULL
 * where the status says all that already. In the arena. */
const struct json *pod_report(struct arena *a, const struct pod *pod, const struct json *tree,
                              const struct pod_seen *seen, const struct pod_todo *todo,
                              const struct pod_place *place);
