/* hollow.h - nodes that are played, not real
 *
 * Any Node annotated `berth.dev/hollow: "true"` is one: one agent plays all of them, with
 * timers only, so that it works in a simulation too. A pod that is bound to one runs for its
 * annotation `berth.dev/run-for` (a Go duration, 1s without it) and ends with
 * `berth.dev/exit-code` (0 without it); init containers end at once, sidecars stay. Restart
 * policies, deadlines and deletion are those of real nodes (pod_plan.h).
 *
 * A hollow node is Ready. What its status does not say is filled in: capacity (8 CPUs, 32Gi,
 * 110 pods), allocatable (as capacity), addresses.
 */
#pragma once

#include "base/base.h"

struct client;
struct control;
struct hollow;

#define HOLLOW_ANNOTATION "berth.dev/hollow"
#define HOLLOW_RUN_FOR "berth.dev/run-for"
#define HOLLOW_EXIT_CODE "berth.dev/exit-code"
#define HOLLOW_MAX_NODES 100000

/* Plays the hollow nodes that `c` sees. Must not outlive it. */
struct hollow *hollow_new(struct control *c);
/* After control_free() or before: no callback follows. Accepts NULL. */
void hollow_free(struct hollow *h);

/* Is the node of that name played by this agent? Its pods write nothing. */
bool hollow_plays(const struct hollow *h, struct str node);

/* Called once: err is NULL where hollow-0 ... hollow-(n-1) are all there. */
typedef void hollow_made_fn(void *ctx, const struct err *err);
/* Creates hollow-0 ... hollow-(n-1); those that exist are left as they are. */
void hollow_make_nodes(struct client *client, int n, hollow_made_fn *done, void *ctx);
