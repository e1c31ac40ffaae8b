/* kueue_life.h - what the adapters of a Workload's life share */
#pragma once

#include "conformance.h"
#include "controllers/workload_life.h"

struct instant case_time(const struct json *v); /* RFC 3339; absent: none */
struct span case_span(const struct json *v);    /* a duration as Go writes it */
struct kueue_workload *case_workload(struct conf *t, const struct json *tree);
struct kueue_cluster_queue *case_queue(struct conf *t, const struct json *tree);
struct workload_rules case_rules(const struct json *c, const struct json *config);
/* A list of conditions or check states without messages and times. */
const struct json *case_untimed(struct conf *t, const struct json *list);
