/* workload.h - how Workloads are written, and the one way in which they end */
#pragma once

#include "control/control.h"

struct admit;
struct object;
struct workload_edit;
struct workload_rules;
struct workloads;

/* `admit` must outlive it; the rules are copied. */
struct workloads *workloads_new(struct control *c, struct admit *admit,
                                const struct workload_rules *rules);
void workloads_free(struct workloads *w); /* after control_free(); accepts NULL */

/* Through which every Workload ends, whatever the cause: sets Finished with the reason and
 * message, strict about the version seen. False where it is finished already: nothing is sent,
 * and the first reason stays. */
bool workload_finish(struct step *s, struct object *o, struct str reason, struct str message,
                     step_done_fn *done, void *ctx);
/* Sends an edit of the Workload's status. */
void workload_write(struct step *s, struct object *o, const struct workload_edit *e,
                    step_done_fn *done, void *ctx);
/* Sends one condition of an edit, as its own manager. */
void workload_write_condition(struct step *s, struct object *o, const struct workload_edit *e,
                              struct str type, struct str manager);
/* Lets the object go; nothing where the finalizer is away. */
void workload_drop_finalizer(struct step *s, struct object *o);
