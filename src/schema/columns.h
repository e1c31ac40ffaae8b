/* columns.h - objects as rows of a table: what `kubectl get` prints
 *
 * Source: api-server reference, tables. A column is a JSONPath with a type, or names a function
 * that api/ keeps in a list (a Pod's status is no single field).
 */
#pragma once

#include "json/json.h"

struct kind;
struct kind_column;

/* Computes one cell; `now` is for ages. */
typedef struct json column_cell_fn(struct arena *a, const struct json *object,
                                   struct instant now);
struct column_cell {
    struct str name; /* as kind_column.cell says */
    column_cell_fn *fn;
};
struct column_cells {
    const struct column_cell *at;
    size_t len;
};

/* The columns of a kind: its own, or Name and Age (Created At for native kinds). */
size_t columns_of(const struct kind *k, const struct kind_column **out);
/* One row: a cell for each column, in the arena. */
const struct json *columns_row(struct arena *a, const struct kind *k, struct column_cells cells,
                               const struct json *object, struct instant now);
/* The definitions, as metav1.Table has them. */
struct json columns_definitions(struct arena *a, const struct kind *k);
/* The cell of a value by the column's type: a date becomes an age, what does not fit null. */
struct json column_cell(struct arena *a, struct str type, const struct json *v,
                        struct instant now);
