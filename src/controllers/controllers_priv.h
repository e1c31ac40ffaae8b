/* controllers_priv.h - each controller's start and end, for the table of controllers.c */
#pragma once

#include "control/control.h"

void *garbage_start(struct control *c);
void garbage_free(void *state);
void *job_start(struct control *c);
void job_free(void *state);
void *namespace_start(struct control *c);
void namespace_free(void *state);
void *scheduler_start(struct control *c);
void scheduler_free(void *state);
void *ttl_start(struct control *c);
void ttl_free(void *state);
