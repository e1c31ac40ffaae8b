/* quota.c - `berth quota`: the tree of quotas as arithmetic */
#include "cli/state.h"

#include "api/kinds.h"

#define GROUP_PATH "/apis/kueue.x-k8s.io/v1beta2/"

/* Trees as the server answered them, each once. */
struct trees {
    struct session *s;
    VEC(const struct json *) at;
};

static bool is_known(const struct trees *t, struct str name)
{
    vec_each (i, &t->at) {
        const struct json *lines = json_getz(t->at.at[i], "lines");
        json_each (k, lines)
            if (str_eq(json_str(json_getz(json_at(lines, k), "name")), name))
                return true;
    }
    return false;
}

/* The tree behind .../PLURAL/NAME/quota, unless it was asked for before. */
static int add_tree(struct trees *t, struct str ns, const char *plural, struct str name,
                    struct err *err)
{
    struct arena *a = t->s->arena;
    struct buf path = buf_in(a, 128);
    struct str body;

    buf_add(&path, S(GROUP_PATH));
    if (ns.len)
        buf_printf(&path, "namespaces/%.*s/", STR_ARG(ns));
    buf_printf(&path, "%s/%.*s/quota", plural, STR_ARG(name));
    if (!session_http(t->s, "GET", buf_str(&path), S("application/json"), NULL, NULL, &body,
                      err))
        return -1;
    const struct json *tree = json_parse(a, body, NULL, NULL);
    struct str root = json_str(json_getz(tree, "tree"));
    vec_each (i, &t->at)
        if (str_eq(json_str(json_getz(t->at.at[i], "tree")), root))
            return 0;
    vec_push_in(a, &t->at, tree);
    return 0;
}

static struct str name_of(const struct json *object)
{
    return json_str(json_path(object, "metadata", "name", NULL));
}

/* The trees in which objects of a kind stand. A LocalQueue that points nowhere has none. */
static int add_all(struct trees *t, const struct kind *kind, struct str ns, struct err *err)
{
    struct client_target target = {.kind = kind, .ns = ns};
    const struct json **list;
    size_t n;

    if (session_list(t->s, &target, NULL, &list, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct err one = {0};
        struct str name = name_of(list[i]);
        if (!ns.len && is_known(t, name))
            continue;
        if (add_tree(t, ns, str_z(t->s->arena, kind->plural), name, &one) < 0 &&
            one.code != ERR_NOT_FOUND) {
            *err = one;
            return -1;
        }
    }
    return 0;
}

static int look(struct trees *t, struct cli_args *args, struct err *err)
{
    if (args->n_words) {
        struct str name = str_from(args->words[0]);
        if (add_tree(t, S(""), "clusterqueues", name, err) == 0)
            return 0;
        return err->code == ERR_NOT_FOUND ? add_tree(t, S(""), "cohorts", name, err) : -1;
    }
    if (!cli_has(args, "all"))
        return add_all(t, &kind_kueue_local_queue, t->s->ns, err);
    if (add_all(t, &kind_kueue_cluster_queue, S(""), err) < 0)
        return -1;
    return add_all(t, &kind_kueue_cohort, S(""), err);
}

/* ---- as a table ---- */

static const struct {
    const char *title, *field;
} columns[] = {
    {"NOMINAL",    "nominal"  },
    {"FROM BELOW", "fromBelow"},
    {"BORROWED",   "borrowed" },
    {"USED",       "used"     },
    {"IDLE",       "idle"     },
    {"LENT",       "lent"     },
    {"AVAILABLE",  "available"},
};

static int longest_name(const struct trees *t)
{
    size_t most = strlen("COHORT / QUEUE");

    vec_each (i, &t->at) {
        const struct json *lines = json_getz(t->at.at[i], "lines");
        json_each (k, lines) {
            const struct json *l = json_at(lines, k);
            size_t depth = (size_t)json_i64(json_getz(l, "depth"), 0);
            most = MAX(most, 2 * depth + json_str(json_getz(l, "name")).len);
        }
    }
    return (int)MIN(most, (size_t)60);
}

static void print_line(const struct json *l, int width)
{
    int indent = 2 * (int)json_i64(json_getz(l, "depth"), 0);

    printf("%*s%-*.*s  %-12.*s %-12.*s", indent, "", MAX(width - indent, 1),
           STR_ARG(json_str(json_getz(l, "name"))), STR_ARG(json_str(json_getz(l, "flavor"))),
           STR_ARG(json_str(json_getz(l, "resource"))));
    for (size_t c = 0; c < countof(columns); c++) {
        struct str value = json_str(json_get(l, str_from(columns[c].field)));
        printf(" %10.*s", STR_ARG(value.len ? value : S("-")));
    }
    printf("\n");
}

static void print_table(const struct trees *t)
{
    int width = longest_name(t);

    printf("%-*s  %-12s %-12s", width, "COHORT / QUEUE", "FLAVOR", "RESOURCE");
    for (size_t c = 0; c < countof(columns); c++)
        printf(" %10s", columns[c].title);
    printf("\n");
    vec_each (i, &t->at) {
        const struct json *lines = json_getz(t->at.at[i], "lines");
        json_each (k, lines)
            print_line(json_at(lines, k), width);
    }
    fprintf(stderr, "nominal + from below + borrowed = used + idle, in every line\n");
}

static void print_json(const struct trees *t)
{
    struct json_arr list = arr_in(t->s->arena);
    struct buf out = buf_in(t->s->arena, 4096);

    vec_each (i, &t->at)
        arr_add(&list, *t->at.at[i]);
    struct json v = arr_done(&list);
    json_write_pretty(&out, &v);
    printf("%.*s\n", STR_ARG(buf_str(&out)));
}

static int quota(struct cli_args *args)
{
    const char *form = cli_value(args, "output");
    bool is_json = form && strcmp(form, "json") == 0;
    struct err err = {0};
    struct session s;
    int rc;

    if (form && !is_json)
        return cli_misuse(args, "--output: '%s' is not json", form);
    if (cli_has(args, "all") && args->n_words)
        return cli_misuse(args, "--all and a name say different things");
    if ((rc = session_open(&s, args)))
        return rc;
    struct trees t = {.s = &s};
    if (look(&t, args, &err) < 0)
        rc = cli_fail(args, "%s", err.text);
    else if (is_json)
        print_json(&t);
    else if (t.at.len == 0)
        fprintf(stderr, "no queue of namespace '%.*s' has any quota\n", STR_ARG(s.ns));
    else
        print_table(&t);
    session_close(&s);
    return rc;
}

static const struct cli_flag flags[] = {
    CLI_SESSION_FLAGS,
    {'A', "all",    NULL,   "of every ClusterQueue and Cohort"           },
    {'o', "output", "json", "a list of trees, with amounts as quantities"},
};

const struct cli_command cli_quota = {
    .name = "quota",
    .usage = "quota [-A | NAME] [-n NAMESPACE] [-o json]",
    .help = "Show quotas as arithmetic: what is owned, lent, borrowed, used and free.\n"
            "NAME is a ClusterQueue or a Cohort; none: those behind the namespace's queues.",
    .example = "berth quota research",
    .flags = flags,
    .n_flags = countof(flags),
    .most_words = 1,
    .run = quota,
};
