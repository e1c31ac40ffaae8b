/* finalizer.h - one finalizer of an object, put on or taken off */
#pragma once

#include "control/control.h"

struct object;

/* What Kueue's kinds carry while they are in use. */
#define FINALIZER_IN_USE "kueue.x-k8s.io/resource-in-use"

bool finalizer_is_on(struct arena *a, struct object *o, struct str name);
/* Sends a merge patch of metadata.finalizers; nothing where it is so already. */
void finalizer_set(struct step *s, struct object *o, struct str name, bool wanted);
