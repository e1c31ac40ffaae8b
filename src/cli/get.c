/* get.c - `berth get`: objects as a table, JSON or YAML */
#include "cli/session.h"

#include "client/client_http.h"
#include "schema/table.h"
#include "yaml/yaml.h"

#define AS_TABLE "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

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

struct grid {
    struct arena *a;
    struct str *cells; /* row by row */
    size_t n_columns, n_rows;
};

static void print_grid(const struct grid *g)
{
    for (size_t r = 0; r < g->n_rows; r++) {
        for (size_t c = 0; c < g->n_columns; c++) {
            struct str s = g->cells[r * g->n_columns + c];
            size_t width = 0;
            for (size_t k = 0; k < g->n_rows; k++)
                width = MAX(width, str_runes(g->cells[k * g->n_columns + c]));
            bool is_last = c + 1 == g->n_columns;
            int pad = is_last ? 0 : (int)(width - str_runes(s) + 3);
            printf("%.*s%*s", STR_ARG(s), pad, "");
        }
        putchar('\n');
    }
}

static void print_table(struct arena *a, const struct json *table, bool is_wide, bool has_ns)
{
    const struct json *columns = json_getz(table, "columnDefinitions");
    const struct json *rows = json_getz(table, "rows");
    size_t *shown = arena_array(a, size_t, json_len(columns) + 1), n = 0;
    struct grid g = {.a = a};

    json_each (i, columns)
        if (is_wide || json_i64(json_getz(json_at(columns, i), "priority"), 0) == 0)
            shown[n++] = i;
    g.n_columns = n + has_ns;
    g.n_rows = json_len(rows) + 1;
    g.cells = arena_array(a, struct str, g.n_columns * g.n_rows);
    struct str *at = g.cells;
    if (has_ns)
        *at++ = S("NAMESPACE");
    for (size_t i = 0; i < n; i++)
        *at++ = upper(a, json_str(json_getz(json_at(columns, shown[i]), "name")));
    json_each (r, rows) {
        const struct json *row = json_at(rows, r);
        if (has_ns)
            *at++ = json_str(json_path(row, "object", "metadata", "namespace", NULL));
        for (size_t i = 0; i < n; i++)
            *at++ = cell_text(a, json_at(json_getz(row, "cells"), shown[i]));
    }
    print_grid(&g);
}

static int print_as(struct session *s, const struct json *v, const char *form)
{
    struct buf out = buf_in(s->arena, 4096);

    if (strcmp(form, "json") == 0) {
        json_write_pretty(&out, v);
        buf_byte(&out, '\n');
    } else {
        yaml_write(&out, v);
    }
    fwrite(out.at, 1, out.len, stdout);
    return 0;
}

static int print_names(struct session *s, const struct kind *k, const struct json *table)
{
    const struct json *rows = json_getz(table, "rows");

    json_each (i, rows) {
        struct str name =
            json_str(json_path(json_at(rows, i), "object", "metadata", "name", NULL));
        printf("%.*s\n", STR_ARG(session_display(s->arena, k, name)));
    }
    return 0;
}

static int show(struct session *s, const struct kind *k, const char *name, const char *form,
                bool all)
{
    bool is_text = !form || strcmp(form, "wide") == 0 || strcmp(form, "name") == 0;
    struct client_target t = {.kind = k, .ns = k->namespaced && !all ? s->ns : S("")};
    const char *labels = cli_value(s->args, "selector");
    struct err err = {0};
    struct str body;

    if (name)
        t.name = str_from(name);
    struct buf path = buf_in(s->arena, 256);
    buf_add(&path, client_path(s->arena, &t));
    if (labels)
        client_query(&path, S("labelSelector"), str_from(labels));
    if (!session_http(s, "GET", buf_str(&path), is_text ? S(AS_TABLE) : S("application/json"),
                      NULL, NULL, &body, &err))
        return cli_fail(s->args, "%s", err.text);
    const struct json *v = json_parse(s->arena, body, NULL, &err);
    if (!v)
        return cli_fail(s->args, "the server's answer cannot be read: %s", err.text);
    if (!is_text)
        return print_as(s, v, form);
    if (form && strcmp(form, "name") == 0)
        return print_names(s, k, v);
    if (json_len(json_getz(v, "rows")) == 0) {
        fprintf(stderr, "no %.*s%s%.*s\n", STR_ARG(k->plural), t.ns.len ? " in namespace " : "",
                STR_ARG(t.ns));
        return 0;
    }
    print_table(s->arena, v, form && strcmp(form, "wide") == 0, all && k->namespaced);
    return 0;
}

static int get(struct cli_args *args)
{
    const char *form = cli_value(args, "output");
    bool all = cli_has(args, "all-namespaces");
    struct session s;
    int rc;

    static const char *const forms[] = {"wide", "json", "yaml", "name"};
    bool is_known = !form;
    for (size_t i = 0; form && i < countof(forms); i++)
        is_known |= strcmp(form, forms[i]) == 0;
    if (!is_known)
        return cli_misuse(args, "--output: '%s' is none of wide, json, yaml, name", form);
    struct str kind_word, name;
    bool has_slash = str_cut(str_from(args->words[0]), '/', &kind_word, &name);
    const struct kind *k = session_kind(args, str_z(args->arena, kind_word));
    if (!k)
        return EXIT_USAGE;
    if ((rc = session_open(&s, args)))
        return rc;
    if (has_slash)
        rc = show(&s, k, str_z(args->arena, name), form, all);
    else if (args->n_words == 1)
        rc = show(&s, k, NULL, form, all);
    for (size_t i = 1; i < args->n_words && rc == 0; i++)
        rc = show(&s, k, args->words[i], form, all);
    session_close(&s);
    return rc;
}

static const struct cli_flag flags[] = {
    CLI_SESSION_FLAGS,
    {'A', "all-namespaces", NULL,     "in every namespace"                         },
    {'o', "output",         "FORM",   "wide, json, yaml or name"                   },
    {'l', "selector",       "LABELS", "only those with these labels, such as app=x"},
};

const struct cli_command cli_get = {
    .name = "get",
    .usage = "get KIND [NAME...] [-n NAMESPACE | -A] [-o wide|json|yaml|name]",
    .help = "Show objects.",
    .example = "berth get jobs -A -o wide",
    .flags = flags,
    .n_flags = countof(flags),
    .least_words = 1,
    .most_words = -1,
    .run = get,
};
