/* workqueue.h - keys that wait to be reconciled
 *
 * A key stands in it at most once; a key that is queued while it is busy is run once more
 * afterwards. Failures come back after 5 ms, 10 ms, 20 ms … 60 s.
 */
#pragma once

#include "base/base.h"

struct io;
struct workqueue;

/* `ready` is called on a later turn when a key became ready. */
struct workqueue *workqueue_new(struct io *io, void (*ready)(void *ctx), void *ctx);
void workqueue_free(struct workqueue *q);
void workqueue_add(struct workqueue *q, struct str key);
/* The earlier of two delays counts. */
void workqueue_add_after(struct workqueue *q, struct str key, struct span after);
/* The next ready key, now busy; the str lives until workqueue_done(). False where none is. */
bool workqueue_take(struct workqueue *q, struct str *out);
/* The key is no longer busy. After a failure it comes back by itself. */
void workqueue_done(struct workqueue *q, struct str key, bool has_failed);
/* Keys that wait, ready or delayed. */
size_t workqueue_len(const struct workqueue *q);
size_t workqueue_busy(const struct workqueue *q);
