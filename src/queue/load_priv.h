/* load_priv.h - what the two halves of the loader share */
#pragma once

#include "queue/load.h"

struct queue_term load_term(struct arena *a, const struct json *expressions,
                            const struct json *labels);
const struct queue_toleration *load_tolerations(struct arena *a, const struct json *list,
                                                size_t *n);
