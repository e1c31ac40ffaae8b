/* kueue_config.h - Kueue's own Configuration file, as far as it says how to queue
 *
 * Pure: a tree in, settings out. What only an operator's process has (webhooks, leader
 * election, client rates) is taken and ignored; what would change decisions and is not done
 * here is an error that names the field. Source: Kueue reference 10.5 and 10.6.
 */
#pragma once

#include "controllers/workload_life.h"
#include "queue/queue.h"

struct kueue_config {
    struct queue_config queue; /* arrays live in the arena of the reading */
    struct workload_rules life;
};

/* What holds where there is no file. */
struct kueue_config kueue_config_default(void);
/* -1: ERR_INVALID with the field's path. `tree` NULL is the default. */
int kueue_config_read(struct arena *a, const struct json *tree, struct kueue_config *out,
                      struct err *err);
