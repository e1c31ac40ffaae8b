/* pod.h - a pod template as requests
 *
 * Kept apart until api/ has the same: then this file goes.
 */
#pragma once

#include "queue/load.h"

struct pod_requests {
    struct queue_request *at; /* for one pod; sorted by name */
    size_t len;
    struct str invalid; /* what is wrong with them, or "" */
};

/* `podset` is for messages: the index in spec.podSets. */
struct pod_requests pod_requests(struct arena *a, const struct queue_loader *l, struct str ns,
                                 const struct json *pod_spec, size_t podset);
