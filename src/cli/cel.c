/* cel.c - `berth cel`: an expression's value, type and cost, and where it went wrong
 *
 * The same environments as the server's: a selector that matches here matches there. Variables
 * are YAML; for devices they are the API's own object.
 */
#include "cli/cli.h"

#include "cel/device.h"
#include "cli/files.h"
#include "yaml/yaml.h"

static const struct cli_flag flags[] = {
    {'v', "var",     "NAME=VALUE", "A variable; the value is YAML. May be repeated."                },
    {'f', "file",    "FILE",       "Variables from the members of a YAML file; - is standard input."},
    {'e', "env",     "ENV",        "base, crd, admission, match, device, named or language [base]." },
    {0,   "new",     "VERSION",    "As a new expression of 1.VERSION, not as a stored one."         },
    {'c', "cost",    NULL,         "Print the cost and its estimate."                               },
    {'x', "explain", NULL,         "Print which parts decided."                                     },
    {'q', "quiet",   NULL,         "Print nothing: exit 0 where it is true, 1 where not."           },
};

static const struct {
    const char *name;
    enum cel_env_kind kind;
} kinds[] = {
    {"base",      CEL_ENV_BASE     },
    {"crd",       CEL_ENV_CRD      },
    {"admission", CEL_ENV_ADMISSION},
    {"match",     CEL_ENV_MATCH    },
    {"device",    CEL_ENV_DEVICE   },
    {"named",     CEL_ENV_NAMED    },
    {"language",  CEL_ENV_LANGUAGE },
};

#define MAX_KNOWN 16 /* variables that an environment has of its own */

struct variables {
    struct json_obj members;
};

static int add_word(struct cli_args *args, struct variables *v, const char *word)
{
    struct str name, text;
    struct err err = {0};

    if (!str_cut(str_from(word), '=', &name, &text) || !name.len)
        return cli_misuse(args, "'%s' is no NAME=VALUE", word);
    const struct json *value = yaml_parse_one(args->arena, text, NULL, &err);
    if (!value)
        return cli_misuse(args, "value of '%.*s': %s", STR_ARG(name), err.text);
    obj_set(&v->members, name, *value);
    return 0;
}

static int add_file(struct cli_args *args, struct variables *v, const char *path)
{
    struct err err = {0};
    struct str text;
    const struct json *doc;

    if (file_read(args->arena, str_from(path), &text, &err) < 0)
        return cli_fail(args, "%s", err.text);
    doc = yaml_parse_one(args->arena, text, NULL, &err);
    if (!doc)
        return cli_fail(args, "'%s': %s", path, err.text);
    if (doc->type != JSON_OBJECT)
        return cli_fail(args, "'%s' is no mapping of names to values", path);
    json_each_member (m, doc)
        obj_set(&v->members, m->name, m->value);
    return 0;
}

static int read_variables(struct cli_args *args, struct variables *v)
{
    int rc = 0;

    v->members = obj_in(args->arena);
    if (cli_value(args, "file"))
        rc = add_file(args, v, cli_value(args, "file"));
    for (size_t i = 0; rc == 0 && i < args->repeats[0].len; i++)
        rc = add_word(args, v, args->repeats[0].at[i]);
    return rc;
}

static int make_env(struct cli_args *args, struct cel_env **out, enum cel_env_kind *kind)
{
    const char *name = cli_value(args, "env");
    struct cel_env_spec spec = {.version = CEL_STORED};
    int64_t version = 0;
    size_t i = 0;

    if (!cli_number(args, "new", 0, 99, &version))
        return EXIT_USAGE;
    while (name && i < countof(kinds) && strcmp(kinds[i].name, name) != 0)
        i++;
    if (i == countof(kinds))
        return cli_misuse(args, "there is no environment '%s'", name);
    *kind = spec.kind = kinds[i].kind;
    if (version)
        spec.version = (int)version;
    *out = cel_env_new(&spec);
    return 0;
}

/* Their values by index: those the environment knows have its types, others are dyn. */
static const struct cel_value *bind(struct cli_args *args, struct cel_env *env,
                                    const struct variables *v)
{
    size_t n = v->members.members.len;
    struct cel_value *values = arena_array(args->arena, struct cel_value, n + MAX_KNOWN);

    for (size_t i = 0; i < n; i++) {
        const struct json_member *m = &v->members.members.at[i];
        int index = cel_env_index(env, m->name);
        if (index < 0)
            index = cel_env_var(env, m->name, &cel_type_dyn, 0, 0);
        values[index] = cel_of_json(&m->value);
    }
    return values;
}

static const struct json *member(const struct variables *v, const char *name)
{
    for (size_t i = 0; i < v->members.members.len; i++)
        if (str_eqz(v->members.members.at[i].name, name))
            return &v->members.members.at[i].value;
    return NULL;
}

static const struct cel_device *device_of(struct cli_args *args, enum cel_env_kind kind,
                                          const struct variables *v)
{
    if (kind == CEL_ENV_NAMED)
        return cel_instance_of_json(args->arena, member(v, "attributes"));
    const struct json *d = member(v, "device");
    return cel_device_of_json(args->arena, json_str(json_getz(d, "driver")), d, true);
}

static void print_reasons(struct cli_args *args, const struct cel_reasons *reasons)
{
    vec_each (i, &reasons->list) {
        const struct cel_reason *r = &reasons->list.at[i];
        printf("%.*s\n", STR_ARG(r->text));
        if (r->left.at)
            printf("    left   %.*s\n", STR_ARG(r->left));
        if (r->right.at)
            printf("    right  %.*s\n", STR_ARG(r->right));
        printf("    is     %.*s\n", STR_ARG(cel_show(args->arena, r->value)));
    }
}

/* The error with each place that it came from, a caret below; {NULL} where there is none, as
 * for limits. */
static struct str error_text(struct cli_args *args, const struct cel_reasons *reasons,
                             struct str text)
{
    struct cel_issues issues = {.arena = args->arena};

    vec_each (i, &reasons->list) {
        const struct cel_reason *r = &reasons->list.at[i];
        struct cel_issue issue = {r->line, r->column, cel_error_text(args->arena, r->value)};
        if (r->value.kind == CEL_ERROR)
            vec_push_in(args->arena, &issues.list, issue);
    }
    return issues.list.len ? cel_issues_text(args->arena, &issues, text) : str_of(NULL, 0);
}

static int fail(struct cli_args *args, const struct cel_reasons *reasons, struct str text,
                struct cel_value v)
{
    struct str s = error_text(args, reasons, text);

    if (s.at)
        return cli_fail(args, "\n%.*s", STR_ARG(s));
    return cli_fail(args, "%.*s", STR_ARG(cel_show(args->arena, v)));
}

static int evaluate(struct cli_args *args, const struct cel_program *p, struct str text,
                    struct cel_run *run)
{
    struct cel_reasons reasons = {0};
    struct cel_value v = cel_explain(p, run, &reasons);
    bool is_value = v.kind != CEL_ERROR && v.kind != CEL_UNKNOWN;

    if (cli_has(args, "quiet"))
        return !cel_is_true(v);
    if (is_value)
        printf("%.*s\n", STR_ARG(cel_show(args->arena, v)));
    if (cli_has(args, "cost")) {
        struct cel_range r = cel_program_estimate(p);
        struct str type = cel_type_text(args->arena, cel_program_type(p));
        printf("type      %.*s\ncost      %" PRIu64 "\nestimate  %" PRIu64 " to %" PRIu64 "\n",
               STR_ARG(type), run->cost, r.min, r.max);
    }
    if (cli_has(args, "explain"))
        print_reasons(args, &reasons);
    return is_value ? 0 : fail(args, &reasons, text, v);
}

static int run_cel(struct cli_args *args)
{
    struct str text = str_from(args->words[0]);
    struct cel_issues issues = {.arena = args->arena};
    struct cel_run run = {.arena = args->arena};
    struct variables v;
    struct cel_env *base = NULL, *env;
    enum cel_env_kind kind = CEL_ENV_BASE;
    int rc = read_variables(args, &v);

    if (rc == 0)
        rc = make_env(args, &base, &kind);
    if (rc)
        return rc;
    env = cel_env_extend(base);
    if (kind == CEL_ENV_DEVICE || kind == CEL_ENV_NAMED)
        run.device = device_of(args, kind, &v);
    else
        run.vars = bind(args, env, &v);
    struct cel_program *p = cel_compile(env, text, NULL, &issues);
    if (p)
        rc = evaluate(args, p, text, &run);
    else
        rc = cli_fail(args, "\n%.*s", STR_ARG(cel_issues_text(args->arena, &issues, text)));
    cel_program_free(p);
    cel_env_free(env);
    cel_env_free(base);
    return rc;
}

const struct cli_command cli_cel = {
    .name = "cel",
    .usage = "cel [-v NAME=VALUE]... [-f FILE] [-e ENV] [-c] [-x] EXPRESSION",
    .help = "Evaluate an expression as rules, policies and device selectors do.",
    .example = "berth cel -v 'self={replicas: 7, max: 5}' -x 'self.replicas <= self.max'",
    .flags = flags,
    .n_flags = countof(flags),
    .least_words = 1,
    .most_words = 1,
    .run = run_cel,
};
