/* controllers_priv.h - each controller's start and end, for the table of controllers.c */
#pragma once

#include "control/control.h"

void *cronjob_start(struct control *c);
void cronjob_free(void *state);
void *garbage_start(struct control *c);
void garbage_free(void *state);
void *job_start(struct control *c);
void job_free(void *state);
/* How long a failed pod's replacement waits: at first, and at most. */
void job_set_backoff(void *state, struct span first, struct span most);
void job_write_metrics(void *state, struct buf *out);
void *namespace_start(struct control *c);
void namespace_free(void *state);
void *node_start(struct control *c);
void node_free(void *state);
void *scheduler_start(struct control *c);
void scheduler_free(void *state);
void *pod_garbage_start(struct control *c);
void pod_garbage_free(void *state);
void *taint_eviction_start(struct control *c);
void taint_eviction_free(void *state);
void *ttl_start(struct control *c);
void ttl_free(void *state);

struct kueue_config;
void *kueue_start(struct control *c);
void *kueue_start_as(struct control *c, const struct kueue_config *config);
void kueue_free(void *state);
void kueue_metrics(void *state, struct buf *out);
bool kueue_why(void *state, struct arena *a, struct str ns, struct str name, struct json *out);
bool kueue_ledger(void *state, struct arena *a, struct str ns, struct str name,
                  struct json *out);
/* Parts of the one above. */
void *job_workload_start(struct control *c, const struct kueue_config *config);
void job_workload_free(void *state);
struct admit;
struct in_use;
struct in_use *queue_in_use_new(struct control *c, struct admit *admit);
void queue_in_use_free(struct in_use *u);
struct queue_status;
struct queue_config;
struct queue_status *queue_status_new(struct control *c, struct admit *admit,
                                      const struct queue_config *config);
void queue_status_free(struct queue_status *qs);
