/* steps_priv.h - a step taken again, and learnt */
#pragma once

#include "schema/managed_priv.h"
#include "schema/steps.h"

/* A write of an object whose entries were recorded under the tables of now. */
struct step_of {
    const struct kind *kind;
    struct str key;           /* step_key() and the typed_difference() after it */
    size_t n_head;            /* bytes before the latter */
    struct managed_entry own; /* the writer's, as a new one */
    const struct json *list;  /* the entries before */
};

/* What such a key begins with. */
struct buf step_key(struct arena *a, struct str subresource, struct str manager);

/* Takes the step where it is known: `m` and `managers` become what managed_write() is to write,
 * but for the writer's time; *is_taken where that is the time of the write. False: the step is
 * not known, and nothing was touched. */
bool steps_take(struct steps *s, struct arena *a, const struct step_of *of, struct managed *m,
                struct managers *managers, bool *is_taken);
/* What came of the write the long way: `m` as it was read of the list, and then written, and
 * the managers that are left. */
void steps_learn(struct steps *s, struct arena *scratch, const struct step_of *of,
                 struct managed *m, struct managers *managers, struct fieldset touched,
                 bool is_taken);
