/* ttl.h - when a finished Job's time is over */
#pragma once

#include "base/base.h"

struct job;

struct ttl_left {
    bool applies;     /* finished, with a TTL, not being deleted */
    bool has_no_time; /* the condition says no moment: an error */
    struct instant expires;
    struct span left; /* 0 or less: now */
};
struct ttl_left ttl_decide(const struct job *job, struct instant now);
