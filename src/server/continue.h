/* continue.h - tokens that say where a list goes on
 *
 * base64url of {"v":"meta.k8s.io/v1","rv":R,"start":"PATH\0"}, as upstream's.
 */
#pragma once

#include "base/base.h"

/* revision -1: the newest. `after` is the last path that was given out. */
struct str continue_text(struct arena *a, int64_t revision, struct str after);
/* *revision 0: the newest. -1 with ERR_SYNTAX. */
int continue_parse(struct arena *a, struct str token, uint64_t *revision, struct str *after,
                   struct err *err);
