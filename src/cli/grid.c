/* grid.c - tables on a terminal */
#include "cli/grid.h"

#define GAP 3 /* between columns */

static struct str cell_text(struct arena *a, const struct json *v)
{
    if (!json_has(v))
        return S("");
    return v->type == JSON_STRING ? json_str(v) : json_text(a, v);
}

static struct str upper(struct arena *a, struct str s)
{
    char *at = str_z(a, s);

    for (size_t i = 0; i < s.len; i++)
        if (at[i] >= 'a' && at[i] <= 'z')
            at[i] = (char)(at[i] - 32);
    return str_of(at, s.len);
}

static void add(struct grid *g, struct str cell)
{
    vec_push_in(g->arena, &g->cells, cell);
}

static void add_head(struct grid *g, const struct json *columns, const struct grid_view *view,
                     const size_t *shown, size_t n)
{
    if (view->has_namespace)
        add(g, S("NAMESPACE"));
    for (size_t i = 0; i < n; i++)
        add(g, upper(g->arena, json_str(json_getz(json_at(columns, shown[i]), "name"))));
}

void grid_add(struct grid *g, const struct json *table, const struct grid_view *view)
{
    const struct json *columns = json_getz(table, "columnDefinitions");
    const struct json *rows = json_getz(table, "rows");
    size_t *shown = arena_array(g->arena, size_t, json_len(columns) + 1), n = 0;

    json_each (i, columns)
        if (view->is_wide || json_i64(json_getz(json_at(columns, i), "priority"), 0) == 0)
            shown[n++] = i;
    if (g->cells.len == 0) {
        g->n_columns = n + view->has_namespace;
        add_head(g, columns, view, shown, n);
    }
    assert(g->n_columns == n + view->has_namespace);
    json_each (r, rows) {
        const struct json *row = json_at(rows, r);
        if (view->has_namespace)
            add(g, json_str(json_path(row, "object", "metadata", "namespace", NULL)));
        for (size_t i = 0; i < n; i++) {
            struct str text = cell_text(g->arena, json_at(json_getz(row, "cells"), shown[i]));
            add(g,
                i == 0 && view->name_lead.len
                    ? str_printf(g->arena, "%.*s%.*s", STR_ARG(view->name_lead), STR_ARG(text))
                    : text);
        }
    }
}

size_t grid_rows(const struct grid *g)
{
    return g->n_columns ? g->cells.len / g->n_columns - 1 : 0;
}

void grid_write(const struct grid *g, struct buf *out)
{
    size_t *widths = arena_array(g->arena, size_t, g->n_columns + 1);

    vec_each (i, &g->cells) {
        size_t *width = &widths[i % g->n_columns];
        *width = MAX(*width, str_runes(g->cells.at[i]));
    }
    vec_each (i, &g->cells) {
        size_t column = i % g->n_columns;
        bool is_last = column + 1 == g->n_columns;
        buf_add(out, g->cells.at[i]);
        for (size_t k = str_runes(g->cells.at[i]); !is_last && k < widths[column] + GAP; k++)
            buf_byte(out, ' ');
        if (is_last)
            buf_byte(out, '\n');
    }
}
