/* cache_priv.h - what control.c and controller.c do to caches */
#pragma once

#include "control/control.h"

struct cache *cache_new(struct control *c, const struct kind *kind, struct str fields);
void cache_free(struct cache *c);
/* Our own delete was answered: the object is gone if it is still the one with this uid. */
void cache_forget(struct cache *c, struct str path, struct str uid);
/* Called once, when the first list is in. */
void control_cache_ready(struct control *c);
/* The cache of the kind, or NULL where nobody asked for one. */
struct cache *control_cache_if_any(struct control *c, const struct kind *kind);
