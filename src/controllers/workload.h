/* workload.h - how Workloads are written, and the one way in which they end */
#pragma once

#include "control/control.h"

struct object;
struct workload_edit;
struct workloads;

struct workloads *workloads_new(struct control *c);
void workloads_free(struct workloads *w); /* after control_free(); accepts NULL */

/* Through which every Workload ends, whatever the cause: sets Finished with the reason and
 * message, strict about the version seen. False where it is finished already: nothing is sent,
 * and the first reason stays. */
bool workload_finish(struct step *s, struct object *o, struct str reason, struct str message,
                     step_done_fn *done, void *ctx);
/* Sends an edit of the Workload's status. */
void workload_write(struct step *s, struct object *o, const struct workload_edit *e,
                    step_done_fn *done, void *ctx);
/* Lets the object go; nothing where the finalizer is away. */
void workload_drop_finalizer(struct step *s, struct object *o);
