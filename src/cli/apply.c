/* apply.c - `berth apply` and `berth delete`: what files say, made so or taken away */
#include "cli/session.h"

#include "api/find.h"
#include "cli/files.h"
#include "object/object.h"
#include "schema/table.h"

#define MANAGER "berth-apply"

/* One object of a file, where it belongs. False after one sentence on stderr. */
static bool target_of(struct session *s, const char *file, size_t line, const struct json *v,
                      struct client_target *out)
{
    struct str version = json_str(json_getz(v, "apiVersion"));
    struct str kind = json_str(json_getz(v, "kind"));
    struct str ns = json_str(json_path(v, "metadata", "namespace", NULL));

    *out = (struct client_target){.kind = kind_of(version, kind)};
    if (version.len == 0 || kind.len == 0) {
        cli_fail(s->args, "%s:%zu: the object has no apiVersion and kind", file, line);
        return false;
    }
    if (!out->kind) {
        cli_fail(s->args, "%s:%zu: the server has no kind %.*s in %.*s", file, line,
                 STR_ARG(kind), STR_ARG(version));
        return false;
    }
    if (out->kind->namespaced)
        out->ns = ns.len ? ns : s->ns;
    out->name = json_str(json_path(v, "metadata", "name", NULL));
    return true;
}

typedef int each_fn(struct session *s, const char *file, size_t line, const struct json *v);

static int each_file(struct session *s, each_fn *fn)
{
    struct cli_args *args = s->args;
    int rc = 0;

    for (size_t f = 0; f < args->command->n_flags; f++) {
        if (strcmp(args->command->flags[f].name, "filename") != 0)
            continue;
        vec_each (i, &args->repeats[f]) {
            const char *file = args->repeats[f].at[i];
            struct file_objects objects;
            struct err err = {0};
            if (file_objects(s->arena, str_from(file), &objects, &err) < 0)
                return cli_fail(args, "%s", err.text);
            vec_each (d, &objects.list)
                rc |= fn(s, file, objects.list.at[d].line, objects.list.at[d].value);
        }
    }
    return rc;
}

/* ---- apply ---- */

static int report(struct session *s, const struct client_target *t,
                  const struct session_answer *answer, uint64_t before)
{
    struct str name = answer->object ? object_key(answer->object).name : t->name;
    const char *what = answer->code == 201 ? "created" : "configured";

    if (before && answer->object && object_revision(answer->object) == before)
        what = "unchanged";
    printf("%.*s %s\n", STR_ARG(session_display(s->arena, t->kind, name)), what);
    object_unref(answer->object);
    return 0;
}

static int apply_one(struct session *s, const char *file, size_t line, const struct json *v)
{
    struct client_patch_options options = {.manager = S(MANAGER),
                                           .force = cli_has(s->args, "force"),
                                           .dry_run = cli_has(s->args, "dry-run")};
    struct client_target t;
    struct session_answer answer, old = {0};
    uint64_t before = 0;

    if (!target_of(s, file, line, v, &t))
        return 1;
    if (t.name.len == 0) {
        if (json_str(json_path(v, "metadata", "generateName", NULL)).len == 0)
            return cli_fail(s->args, "%s:%zu: the object has no metadata.name", file, line);
        answer = session_create(s, &t, v);
    } else {
        old = session_get(s, &t);
        before = old.object ? object_revision(old.object) : 0;
        object_unref(old.object);
        answer = session_patch(s, &t, CLIENT_APPLY, v, &options);
    }
    if (answer.err.code != ERR_OK)
        return cli_fail(s->args, "%s:%zu: %s", file, line, answer.err.text);
    return report(s, &t, &answer, before);
}

static int run_on_files(struct cli_args *args, each_fn *fn)
{
    struct session s;
    int rc = session_open(&s, args);

    if (rc)
        return rc;
    rc = each_file(&s, fn);
    session_close(&s);
    return rc;
}

static int apply(struct cli_args *args)
{
    if (!cli_has(args, "filename"))
        return cli_misuse(args, "no file is given (-f FILE, or -f - for standard input)");
    return run_on_files(args, apply_one);
}

static const struct cli_flag apply_flags[] = {
    CLI_SESSION_FLAGS,
    {'f', "filename", "FILE", "YAML or JSON; - is standard input; may be given again"},
    {0,   "force",    NULL,   "take fields over from other managers"                 },
    {0,   "dry-run",  NULL,   "let the server check it, and store nothing"           },
};

const struct cli_command cli_apply = {
    .name = "apply",
    .usage = "apply -f FILE... [-n NAMESPACE] [--force] [--dry-run]",
    .help = "Make objects be as files say (server-side apply).",
    .example = "berth apply -f job.yaml",
    .flags = apply_flags,
    .n_flags = countof(apply_flags),
    .run = apply,
};

/* ---- delete ---- */

static int delete_target(struct session *s, const struct client_target *t)
{
    struct client_delete_options options = {.propagation = S("Background"), .grace_s = -1};

    if (!cli_number(s->args, "grace-period", 0, INT32_MAX, &options.grace_s))
        return EXIT_USAGE;
    struct session_answer answer = session_delete(s, t, &options);
    object_unref(answer.object);
    if (answer.err.code == ERR_NOT_FOUND && cli_has(s->args, "ignore-not-found"))
        return 0;
    if (answer.err.code != ERR_OK)
        return cli_fail(s->args, "%s", answer.err.text);
    printf("%.*s deleted\n", STR_ARG(session_display(s->arena, t->kind, t->name)));
    return 0;
}

static int delete_one(struct session *s, const char *file, size_t line, const struct json *v)
{
    struct client_target t;

    return target_of(s, file, line, v, &t) ? delete_target(s, &t) : 1;
}

static int delete_words(struct session *s)
{
    struct cli_args *args = s->args;
    const struct kind *k = NULL;
    size_t first = 0;
    int rc = 0;

    if (!strchr(args->words[0], '/')) {
        if (!(k = session_kind(args, args->words[0])))
            return EXIT_USAGE;
        first = 1;
        if (args->n_words == 1)
            return cli_misuse(args, "which %.*s? name one", STR_ARG(k->singular));
    }
    for (size_t i = first; i < args->n_words && rc == 0; i++) {
        struct client_target t;
        rc = session_target(s, args->words[i], k, &t) ? delete_target(s, &t) : EXIT_USAGE;
    }
    return rc;
}

static int delete_run(struct cli_args *args)
{
    struct session s;
    int rc;

    if (cli_has(args, "filename"))
        return run_on_files(args, delete_one);
    if (args->n_words == 0)
        return cli_misuse(args, "nothing is named");
    if ((rc = session_open(&s, args)))
        return rc;
    rc = delete_words(&s);
    session_close(&s);
    return rc;
}

static const struct cli_flag delete_flags[] = {
    CLI_SESSION_FLAGS,
    {'f', "filename",         "FILE",    "delete what the file names"      },
    {0,   "grace-period",     "SECONDS", "instead of the pod's own"        },
    {0,   "ignore-not-found", NULL,      "what is gone already is no error"},
};

const struct cli_command cli_delete = {
    .name = "delete",
    .usage = "delete KIND NAME... | KIND/NAME... | -f FILE",
    .help = "Delete objects; running jobs are asked to finish.",
    .example = "berth delete job/a",
    .flags = delete_flags,
    .n_flags = countof(delete_flags),
    .words = CLI_WORDS_KINDS,
    .most_words = -1,
    .run = delete_run,
};
