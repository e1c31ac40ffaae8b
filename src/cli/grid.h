/* grid.h - tables on a terminal: columns as wide as their widest cell */
#pragma once

#include "base/base.h"
#include "json/json.h"

struct grid {
    struct arena *arena;
    size_t n_columns;
    VEC(struct str) cells; /* row by row, in the arena; the first row is the head */
};

/* The head and the rows of a meta.k8s.io Table. Rows of further Tables of one kind go below. */
struct grid_view {
    bool is_wide;         /* columns of a priority, too */
    bool has_namespace;   /* a column of its own in front */
    struct str name_lead; /* in front of each name: "job.batch/" */
};
void grid_add(struct grid *g, const struct json *table, const struct grid_view *view);
size_t grid_rows(const struct grid *g); /* without the head */
void grid_write(const struct grid *g, struct buf *out);
