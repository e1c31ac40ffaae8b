/* get.c - `berth get`: objects of one or several kinds as tables, JSON, YAML or names
 *
 *     words ─▶ asks (a kind, and names or all) ─▶ Tables: one grid an ask
 *                                              ─▶ objects: one, or a List of all
 */
#include "cli/grid.h"
#include "cli/session.h"

#include "api/kinds.h"
#include "client/client_http.h"
#include "schema/table.h"
#include "yaml/yaml.h"

#define AS_TABLE "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

/* What is asked about one kind. */
struct ask {
    const struct kind *kind;
    VEC(struct str) names; /* none: all there are */
};

struct get {
    struct session session;
    struct arena *arena;
    const char *form; /* NULL: a table */
    bool is_everywhere, is_wide;
    VEC(struct ask) asks;
};

/* ---- words ---- */

static struct ask *ask_of(struct get *g, const struct kind *k)
{
    vec_each (i, &g->asks)
        if (g->asks.at[i].kind == k)
            return &g->asks.at[i];
    vec_push_in(g->arena, &g->asks, (struct ask){.kind = k});
    return &vec_last(&g->asks);
}

static bool is_in_category(const struct kind *k, struct str category)
{
    for (size_t i = 0; i < k->n_categories; i++)
        if (str_eq(k->categories[i], category))
            return k->stored && k->served && k->storage == k;
    return false;
}

/* "jobs", or a category such as "all". */
static bool add_kinds(struct get *g, const struct cli_args *args, struct str word)
{
    size_t before = g->asks.len;

    for (int id = 0; id < KIND_COUNT; id++)
        if (is_in_category(kinds[id], word))
            ask_of(g, kinds[id]);
    if (g->asks.len > before)
        return true;
    const struct kind *k = session_kind(args, str_z(g->arena, word));
    if (k)
        ask_of(g, k);
    return k != NULL;
}

/* KIND[,KIND...] [NAME...] */
static int read_kinds(struct get *g, const struct cli_args *args)
{
    struct str left = str_from(args->words[0]), word;

    while (left.len) {
        str_cut(left, ',', &word, &left);
        if (!add_kinds(g, args, word))
            return EXIT_USAGE;
    }
    if (args->n_words > 1 && g->asks.len != 1)
        return cli_misuse(args, "'%s': names follow one kind; of several, write KIND/NAME",
                          args->words[0]);
    for (size_t i = 1; i < args->n_words; i++) {
        if (strchr(args->words[i], '/'))
            return cli_misuse(args, "'%s' follows '%s': write KIND NAME... or KIND/NAME...",
                              args->words[i], args->words[0]);
        vec_push_in(g->arena, &g->asks.at[0].names, str_from(args->words[i]));
    }
    return 0;
}

/* KIND/NAME... */
static int read_targets(struct get *g, const struct cli_args *args)
{
    for (size_t i = 0; i < args->n_words; i++) {
        struct str kind, name;
        if (!str_cut(str_from(args->words[i]), '/', &kind, &name) || name.len == 0)
            return cli_misuse(args, "'%s' is not KIND/NAME", args->words[i]);
        const struct kind *k = session_kind(args, str_z(g->arena, kind));
        if (!k)
            return EXIT_USAGE;
        struct ask *ask = ask_of(g, k);
        vec_push_in(g->arena, &ask->names, name);
    }
    return 0;
}

static int read_words(struct get *g, const struct cli_args *args)
{
    static const char *const forms[] = {"wide", "json", "yaml", "name"};
    bool is_known = !g->form;

    for (size_t i = 0; g->form && i < countof(forms); i++)
        is_known |= strcmp(g->form, forms[i]) == 0;
    if (!is_known)
        return cli_misuse(args, "--output: '%s' is none of wide, json, yaml, name", g->form);
    int rc = strchr(args->words[0], '/') ? read_targets(g, args) : read_kinds(g, args);
    if (rc)
        return rc;
    bool has_names = g->asks.at[0].names.len;
    if (has_names && (cli_has(args, "selector") || cli_has(args, "field-selector")))
        return cli_misuse(args, "a selector and names do not go together");
    if (has_names && g->is_everywhere)
        return cli_misuse(args, "a name is of one namespace: leave out -A, or the name");
    return 0;
}

/* ---- requests ---- */

/* One object or a list, or a Table of it; NULL with err. */
static const struct json *fetch(struct get *g, const struct kind *k, struct str name,
                                struct str accept, struct err *err)
{
    struct session *s = &g->session;
    struct client_target t = {
        .kind = k, .name = name, .ns = k->namespaced && !g->is_everywhere ? s->ns : S("")};
    const char *labels = cli_value(s->args, "selector");
    const char *fields = cli_value(s->args, "field-selector");
    struct buf path = buf_in(g->arena, 256);
    struct str body;

    buf_add(&path, client_path(g->arena, &t));
    if (labels)
        client_query(&path, S("labelSelector"), str_from(labels));
    if (fields)
        client_query(&path, S("fieldSelector"), str_from(fields));
    if (!session_http(s, "GET", buf_str(&path), accept, NULL, NULL, &body, err))
        return NULL;
    const struct json *v = json_parse(g->arena, body, NULL, err);
    if (!v)
        err_wrap(err, "the server's answer cannot be read");
    return v;
}

/* fn for each answer to the ask. 1 where something was not there, and said so. */
static int each_answer(struct get *g, const struct ask *ask, struct str accept,
                       void (*fn)(struct get *g, const struct ask *ask, const struct json *v,
                                  void *ctx),
                       void *ctx)
{
    int rc = 0;

    for (size_t i = 0; i < MAX(ask->names.len, (size_t)1); i++) {
        struct str name = ask->names.len ? ask->names.at[i] : S("");
        struct err err = {0};
        const struct json *v = fetch(g, ask->kind, name, accept, &err);
        if (v)
            fn(g, ask, v, ctx);
        else
            rc = cli_fail(g->session.args, "%s", err.text);
        if (err.code != ERR_OK && err.code != ERR_NOT_FOUND)
            return rc;
    }
    return rc;
}

/* ---- tables and names ---- */

static void add_table(struct get *g, const struct ask *ask, const struct json *v, void *ctx)
{
    struct grid_view view = {.is_wide = g->is_wide,
                             .has_namespace = g->is_everywhere && ask->kind->namespaced};

    if (g->asks.len > 1)
        view.name_lead = session_display(g->arena, ask->kind, S(""));
    grid_add(ctx, v, &view);
}

static void say_empty(struct get *g)
{
    fprintf(stderr, "no ");
    vec_each (i, &g->asks)
        fprintf(stderr, "%s%.*s", i ? ", " : "", STR_ARG(g->asks.at[i].kind->plural));
    if (!g->is_everywhere && g->asks.at[0].kind->namespaced)
        fprintf(stderr, " in namespace %.*s", STR_ARG(g->session.ns));
    fputc('\n', stderr);
}

static int show_tables(struct get *g)
{
    struct buf out = buf_in(g->arena, 4096);
    int rc = 0;

    vec_each (i, &g->asks) {
        struct grid grid = {.arena = g->arena};
        int failed = each_answer(g, &g->asks.at[i], S(AS_TABLE), add_table, &grid);
        rc = rc ? rc : failed;
        if (grid_rows(&grid) == 0)
            continue;
        if (out.len)
            buf_byte(&out, '\n');
        grid_write(&grid, &out);
    }
    fwrite(out.at, 1, out.len, stdout);
    if (out.len == 0 && rc == 0)
        say_empty(g);
    return rc;
}

static void print_names(struct get *g, const struct ask *ask, const struct json *v, void *ctx)
{
    const struct json *rows = json_getz(v, "rows");

    (void)ctx;
    json_each (i, rows) {
        struct str name =
            json_str(json_path(json_at(rows, i), "object", "metadata", "name", NULL));
        printf("%.*s\n", STR_ARG(session_display(g->arena, ask->kind, name)));
    }
}

static int show_names(struct get *g)
{
    int rc = 0;

    vec_each (i, &g->asks) {
        int failed = each_answer(g, &g->asks.at[i], S(AS_TABLE), print_names, NULL);
        rc = rc ? rc : failed;
    }
    return rc;
}

/* ---- objects ---- */

/* Items of a list do not say what they are. */
static struct json with_kind(struct arena *a, const struct kind *k, const struct json *item)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "apiVersion", json_of_str(k->api_version));
    obj_setz(&o, "kind", json_of_str(k->kind));
    json_each_member (m, item)
        obj_set(&o, m->name, m->value);
    return obj_done(&o);
}

/* Who owns which field is noise for people, and no part of what can be applied. */
static void keep(struct get *g, struct json_arr *items, struct json object)
{
    const struct json *o = json_new(g->arena, object);

    if (!cli_has(g->session.args, "show-managed-fields"))
        o = json_without(g->arena, o, "metadata", "managedFields", NULL);
    arr_add(items, *o);
}

static void gather(struct get *g, const struct ask *ask, const struct json *v, void *ctx)
{
    struct json_arr *items = ctx;
    const struct json *list = json_getz(v, "items");

    if (ask->names.len) {
        keep(g, items, *v);
        return;
    }
    json_each (i, list)
        keep(g, items, with_kind(g->arena, ask->kind, json_at(list, i)));
}

static void print_as(struct get *g, const struct json *v)
{
    struct buf out = buf_in(g->arena, 4096);

    if (strcmp(g->form, "json") == 0) {
        json_write_pretty(&out, v);
        buf_byte(&out, '\n');
    } else {
        yaml_write(&out, v);
    }
    fwrite(out.at, 1, out.len, stdout);
}

static int show_objects(struct get *g)
{
    struct json_arr items = arr_in(g->arena);
    struct json_obj list = obj_in(g->arena);
    bool is_one = g->asks.len == 1 && g->asks.at[0].names.len == 1;
    int rc = 0;

    vec_each (i, &g->asks) {
        int failed = each_answer(g, &g->asks.at[i], S("application/json"), gather, &items);
        rc = rc ? rc : failed;
    }
    struct json all = arr_done(&items);
    if (is_one) {
        if (json_len(&all))
            print_as(g, json_at(&all, 0));
        return rc;
    }
    obj_setz(&list, "apiVersion", json_of_z("v1"));
    obj_setz(&list, "kind", json_of_z("List"));
    obj_setz(&list, "items", all);
    struct json v = obj_done(&list);
    print_as(g, &v);
    return rc;
}

static int get(struct cli_args *args)
{
    struct get g = {.arena = args->arena, .form = cli_value(args, "output")};
    int rc;

    g.is_everywhere = cli_has(args, "all-namespaces");
    g.is_wide = g.form && strcmp(g.form, "wide") == 0;
    if ((rc = read_words(&g, args)) || (rc = session_open(&g.session, args)))
        return rc;
    if (!g.form || g.is_wide)
        rc = show_tables(&g);
    else if (strcmp(g.form, "name") == 0)
        rc = show_names(&g);
    else
        rc = show_objects(&g);
    session_close(&g.session);
    return rc;
}

static const struct cli_flag flags[] = {
    CLI_SESSION_FLAGS,
    {'A', "all-namespaces",      NULL,     "in every namespace"                                   },
    {'o', "output",              "FORM",   "wide, json, yaml or name"                             },
    {'l', "selector",            "LABELS", "only those with these labels, such as app=x"          },
    {0,   "field-selector",      "FIELDS", "only those with these values, such as metadata.name=x"},
    {0,   "show-managed-fields", NULL,     "also who owns which field"                            },
};

const struct cli_command cli_get = {
    .name = "get",
    .usage = "get KIND[,KIND...] [NAME...] | KIND/NAME... [-n NAMESPACE | -A] [-o FORM]",
    .help = "Show objects of one or several kinds; `all` is every kind of work.",
    .example = "berth get jobs,pods -A -o wide",
    .flags = flags,
    .n_flags = countof(flags),
    .least_words = 1,
    .most_words = -1,
    .words = CLI_WORDS_KINDS,
    .run = get,
};
