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

/* Borrows the selectors. ERR_SYNTAX for a field that the kind does not offer. */
int filter_init(struct filter *f, const struct kind *k, const struct list_options *o,
                struct err *err);
bool filter_matches(const struct filter *f, const struct object *o);
