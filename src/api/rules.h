/* rules.h - what the tables of kinds cannot say, gathered for the server
 *
 * Cells of columns that are computed, and what a kind's own strategy does to an object on its
 * way in. Each stands in a file by its kind (job.c, pod.c ...); to add one, write the function
 * and its row. Rules and defaults that depend on more than one field need no row: the tables
 * hold the functions that kinds/ names.
 */
#pragma once

#include "schema/columns.h"
#include "schema/functions.h"

struct kind;
struct str_list;

extern const struct column_cells api_cells;

/* What a strategy is told. */
struct api_prepare {
    struct arena *arena;
    const struct kind *kind;
    const struct json *old; /* what it replaces; NULL on create */
    struct str subresource;
    struct instant now;
};
typedef const struct json *api_prepare_fn(const struct api_prepare *p, const struct json *tree);

/* The object as its kind's strategy leaves it: generated labels and selectors, the first
 * status. After defaults, before validation. */
const struct json *api_prepare(const struct api_prepare *p, const struct json *tree);

/* What is told to whoever writes it, although it is taken: sentences, in the arena. */
struct str_list api_warnings(struct arena *a, const struct kind *kind, const struct json *tree,
                             const struct json *old);
