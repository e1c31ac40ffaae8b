/* wait.c - `berth wait`: until something holds of an object
 *
 * Looks, and looks again whenever a watch tells of a change near the object.
 */
#include "cli/state.h"

#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/jsonpath.h"

#define LOOK_AGAIN span_ms(500) /* at the latest: what no watch tells */

struct goal {
    const char *text;     /* as given */
    struct str condition; /* of condition=X[=STATUS] */
    struct str status;
    struct str path, value; /* of jsonpath=PATH=VALUE */
    bool is_delete, is_state;
};

static bool parse_goal(struct cli_args *args, const char *text, struct goal *out)
{
    static const char *const states[] = {"Waiting", "Starting", "Running", "Complete",
                                         "Failed"};
    struct str head, tail;

    *out = (struct goal){.text = text, .status = S("True")};
    if (strcmp(text, "delete") == 0) {
        out->is_delete = true;
        return true;
    }
    for (size_t i = 0; i < countof(states); i++)
        out->is_state |= strcmp(text, states[i]) == 0;
    str_cut(str_from(text), '=', &head, &tail);
    if (str_eq(head, S("condition"))) {
        struct str status;
        if (str_cut(tail, '=', &out->condition, &status))
            out->status = status;
        return true;
    }
    if (str_eq(head, S("jsonpath"))) {
        if (str_rcut(tail, '=', &out->path, &out->value))
            return true;
        cli_misuse(args, "--for: jsonpath wants jsonpath=PATH=VALUE");
        return false;
    }
    out->condition = str_from(text);
    return true;
}

/* 1: it holds; 0: not yet; -1: it cannot any more, or err. */
static int holds(struct session *s, const struct client_target *t, const struct goal *g,
                 struct err *err)
{
    struct session_answer answer;

    if (g->is_state && t->kind == &kind_job) {
        struct job_report r;
        if (job_report(s, t->ns, t->name, &r, err) < 0)
            return -1;
        if (strcmp(job_state_word(r.state), g->text) == 0)
            return 1;
        bool is_over = r.state == JOB_STATE_COMPLETE || r.state == JOB_STATE_FAILED;
        if (is_over)
            return err_set(err, ERR_INVALID, "job '%.*s' has ended as %s (%.*s)",
                           STR_ARG(t->name), job_state_word(r.state), STR_ARG(r.sentence));
        return 0;
    }
    answer = session_get(s, t);
    if (answer.err.code == ERR_NOT_FOUND && g->is_delete)
        return 1;
    if (answer.err.code != ERR_OK) {
        *err = answer.err;
        return -1;
    }
    const struct json *tree = json_copy(s->arena, object_tree(answer.object, s->arena));
    object_unref(answer.object);
    if (g->is_delete)
        return 0;
    if (g->path.len) {
        const struct json *v = jsonpath_first(s->arena, tree, g->path);
        struct str text = !v                       ? S("")
                          : v->type == JSON_STRING ? json_str(v)
                                                   : json_text(s->arena, v);
        return v && str_eq(text, g->value);
    }
    const struct json *c = state_condition(tree, g->condition);
    return c && str_eq_nocase(json_str(json_getz(c, "status")), g->status);
}

static void changed(void *ctx, const struct watch_event *e)
{
    (void)e;
    session_done(ctx);
}

static int wait_for(struct session *s, const struct client_target *t, const struct goal *g,
                    struct span deadline)
{
    struct client_target all = {.kind = t->kind, .ns = t->ns};
    struct client_select one = {
        .fields = str_printf(s->arena, "metadata.name=%.*s", STR_ARG(t->name))};
    struct client_watch *watch = NULL;
    struct err err = {0};
    int rc;

    struct arena_mark mark = arena_mark(s->arena);
    while ((rc = holds(s, t, g, &err)) == 0) {
        arena_rewind(s->arena, mark);
        struct span left = {deadline.ns - io_uptime_now(s->io).ns};
        if (left.ns <= 0)
            break;
        if (!watch)
            watch = client_watch(s->client, &all, &one, 0, changed, s);
        session_run(s, (struct span){MIN(left.ns, LOOK_AGAIN.ns)});
    }
    client_watch_stop(watch);
    if (rc < 0)
        return cli_fail(s->args, "%s", err.text);
    if (rc == 0)
        return cli_fail(s->args, "%.*s is not %s in time",
                        STR_ARG(session_display(s->arena, t->kind, t->name)), g->text);
    printf("%.*s %s\n", STR_ARG(session_display(s->arena, t->kind, t->name)),
           g->is_delete ? "deleted" : "condition met");
    return 0;
}

static int wait_run(struct cli_args *args)
{
    const char *text = cli_value(args, "for");
    struct span timeout = span_s(30);
    struct session s;
    struct goal g;
    int rc;

    if (!text)
        return cli_misuse(args, "--for is missing: what to wait for");
    if (!parse_goal(args, text, &g) || !cli_span(args, "timeout", &timeout))
        return EXIT_USAGE;
    if ((rc = session_open(&s, args)))
        return rc;
    struct span deadline = {io_uptime_now(s.io).ns + timeout.ns};
    for (size_t i = 0; i < args->n_words && rc == 0; i++) {
        struct client_target t;
        rc = session_target(&s, args->words[i], NULL, &t) ? wait_for(&s, &t, &g, deadline)
                                                          : EXIT_USAGE;
    }
    session_close(&s);
    return rc;
}

static const struct cli_flag flags[] = {
    CLI_SESSION_FLAGS,
    {0, "for",     "WHAT", "Waiting, Running, Complete, a condition, jsonpath=P=V, delete"},
    {0, "timeout", "SPAN", "give up after (30s)"                                          },
};

const struct cli_command cli_wait = {
    .name = "wait",
    .usage = "wait KIND/NAME... --for WHAT [--timeout SPAN]",
    .help = "Wait until something holds.",
    .example = "berth wait job/a --for Complete --timeout 10m",
    .flags = flags,
    .n_flags = countof(flags),
    .words = CLI_WORDS_TARGETS,
    .least_words = 1,
    .most_words = -1,
    .run = wait_run,
};
