/* filter_priv.h - which objects a list or watch wants */
#pragma once

#include "server/server_priv.h"

struct filter {
    const struct kind *kind;
    struct selector labels;
    struct field_selector fields;
    struct str name; /* where the fields ask for just one */
    bool is_all;
    bool needs_tree;
};

/* Lives in the arena. ERR_SYNTAX for a selector that cannot be read or a field that the kind
 * does not offer. */
int filter_init(struct filter *f, struct arena *a, const struct kind *k, struct str labels,
                struct str fields, struct err *err);
bool filter_matches(const struct filter *f, const struct object *o);
