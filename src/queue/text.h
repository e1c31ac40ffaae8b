/* text.h - decisions in words and numbers that a person can act on */
#pragma once

#include "queue/queue.h"

/* As a Kubernetes quantity: "1500m" or "2" cpu, "3Gi" memory, "8" of other things. */
struct str amount_text(struct arena *a, struct str resource, int64_t amount);
