/* simulate.c - `berth simulate`: what a day of these objects would look like */
#include "cli/cli.h"
#include "cli/files.h"

#include <dirent.h>

#include "sim/sim.h"

#define MAX_FILES 10000

static int by_name(const struct str *a, const struct str *b)
{
    return str_cmp(*a, *b);
}

/* The files of a directory in the order of their names, or the one file. -1 with err. */
static int files_of(struct arena *a, struct str path, struct str **out, size_t *n,
                    struct err *err)
{
    VEC(struct str) names = {0};
    DIR *dir = opendir(str_z(a, path));
    struct dirent *e;

    if (!dir) {
        *out = arena_copy(a, &path);
        *n = 1;
        return 0;
    }
    while ((e = readdir(dir))) {
        struct str name = str_from(e->d_name);
        bool is_ours = str_ends(name, S(".yaml")) || str_ends(name, S(".yml")) ||
                       str_ends(name, S(".json"));
        if (is_ours)
            vec_push_in(a, &names, place_in(a, path, str_z(a, name)));
    }
    closedir(dir);
    if (names.len == 0 || names.len > MAX_FILES)
        return err_set(err, ERR_NOT_FOUND, "'%.*s' holds %zu YAML or JSON files", STR_ARG(path),
                       names.len);
    vec_sort(&names, by_name);
    *out = names.at;
    *n = names.len;
    return 0;
}

static int apply_file(struct sim *s, struct arena *a, struct str file, struct err *err)
{
    struct file_objects objects;

    if (file_objects(a, file, &objects, err) < 0)
        return -1;
    vec_each (i, &objects.list)
        if (sim_apply(s, objects.list.at[i].value, err) < 0)
            return err_wrap(err, "%.*s:%zu", STR_ARG(file), objects.list.at[i].line);
    return 0;
}

static int apply_all(struct cli_args *args, struct sim *s, struct err *err)
{
    const char *path = cli_value(args, "filename");
    struct str *files = NULL;
    size_t n = 0;

    if (files_of(args->arena, str_from(path), &files, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (apply_file(s, args->arena, files[i], err) < 0)
            return -1;
    return 0;
}

static int report(struct cli_args *args, struct sim *s)
{
    const char *dump = cli_value(args, "dump");
    struct err err = {0};

    printf("events %" PRIu64 "\nhash   %.*s\n", sim_events(s),
           STR_ARG(sim_digest(s, args->arena)));
    if (!dump)
        return 0;
    struct buf out = buf_in(args->arena, 1 << 20);
    sim_dump(s, &out);
    if (file_write(args->arena, str_from(dump), 0644, buf_str(&out), &err) < 0)
        return cli_fail(args, "%s", err.text);
    return 0;
}

static int simulate(struct cli_args *args)
{
    struct sim_config config = {.seed = 1, .hollow_nodes = 4, .has_defaults = true};
    int64_t seed = 1, nodes = 4;
    struct span span = span_s(86400);
    struct err err = {0};

    if (!cli_has(args, "filename"))
        return cli_misuse(args, "-f is missing: a file or directory of objects");
    if (!cli_number(args, "seed", 0, INT64_MAX, &seed) ||
        !cli_number(args, "hollow-nodes", 0, 100000, &nodes) || !cli_span(args, "for", &span))
        return EXIT_USAGE;
    config.seed = (uint64_t)seed;
    config.hollow_nodes = (int)nodes;
    config.has_defaults = !cli_has(args, "no-defaults");
    struct sim *s = sim_new(&config, &err);
    if (!s)
        return cli_fail(args, "%s", err.text);
    int rc = 0;
    if (apply_all(args, s, &err) < 0) {
        rc = cli_fail(args, "%s", err.text);
    } else {
        sim_run(s, span);
        rc = report(args, s);
    }
    sim_free(s);
    return rc;
}

static const struct cli_flag flags[] = {
    {'f', "filename",     "PATH", "a file, or a directory whose files are applied in order"},
    {0,   "seed",         "N",    "from which every choice comes (1)"                      },
    {0,   "for",          "SPAN", "how much time goes by (24h)"                            },
    {0,   "hollow-nodes", "N",    "nodes of 8 cpu and 32Gi (4)"                            },
    {0,   "no-defaults",  NULL,   "no flavor and queues named `default`"                   },
    {0,   "dump",         "FILE", "where the final state goes, one object a line"          },
};

const struct cli_command cli_simulate = {
    .name = "simulate",
    .usage = "simulate -f PATH [--seed N] [--for SPAN] [--dump FILE]",
    .help = "Run a whole Berth on a virtual clock; the same seed gives the same day.",
    .example = "berth simulate --seed 7 --for 24h -f jobs/ --dump state.jsonl",
    .flags = flags,
    .n_flags = countof(flags),
    .run = simulate,
};
