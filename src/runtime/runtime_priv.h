/* runtime_priv.h - what the client of the keeper and the reader of logs share */
#pragma once

#include "base/base.h"
#include "runtime/runtime.h"

/* One who follows a log: woken when something happens in the log's directory, when its
 * container ends, and when `rt` is freed (rt is NULL then). */
struct runtime_follower {
    struct list link;
    struct runtime *rt;
    struct str id;
    int watch; /* of the directory, by inotify; -1: look again now and then */
    void (*wake)(struct runtime_follower *f);
};

void runtime_follow(struct runtime *rt, struct runtime_follower *f, const char *dir);
void runtime_unfollow(struct runtime_follower *f); /* may be called again */
/* True while the container runs, or may run: the keeper has not told yet. */
bool runtime_may_write(const struct runtime *rt, struct str id);
