/* defaults.h - a flavor, a ClusterQueue and a LocalQueue named `default`, sized to this machine
 */
#pragma once

#include "base/base.h"

struct client;
struct io;

/* Makes what is missing; what is there stays as it is. done(ctx, NULL) follows on a later turn,
 * or the first error. */
void defaults_make(struct io *io, struct client *client,
                   void (*done)(void *ctx, const struct err *err), void *ctx);
