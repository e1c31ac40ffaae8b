/* metrics.h - how the queues do, in Prometheus' text, by Kueue's names
 *
 * Counters count what was seen to change since the start; gauges are asked of the engine when
 * somebody looks. Nothing is kept for each Workload.
 */
#pragma once

#include "base/base.h"

struct admit;
struct control;
struct metrics;

/* `admit` must outlive it. */
struct metrics *metrics_new(struct control *c, struct admit *admit);
void metrics_free(struct metrics *m); /* after control_free(); accepts NULL */
void metrics_write(struct metrics *m, struct buf *out);
