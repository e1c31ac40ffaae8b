/* logs.c - `berth logs`: what a job or a pod wrote */
#include "cli/logs.h"

#include "api/kinds.h"
#include "client/client_http.h"
#include "object/object.h"
#include "schema/table.h"

static void print_piece(void *ctx, struct str piece)
{
    fwrite(piece.at, 1, piece.len, ctx);
    fflush(ctx);
}

int logs_stream(struct session *s, struct str pod, const struct logs_options *o, FILE *out,
                struct err *err)
{
    struct client_target t = {
        .kind = &kind_pod, .ns = s->ns, .name = pod, .subresource = S("log")};
    struct buf path = buf_in(s->arena, 256);

    buf_add(&path, client_path(s->arena, &t));
    if (o->container)
        client_query(&path, S("container"), str_from(o->container));
    if (o->follow)
        client_query(&path, S("follow"), S("true"));
    if (o->previous)
        client_query(&path, S("previous"), S("true"));
    if (o->timestamps)
        client_query(&path, S("timestamps"), S("true"));
    if (o->tail >= 0)
        client_query(&path, S("tailLines"), str_printf(s->arena, "%" PRId64, o->tail));
    if (o->since_s > 0)
        client_query(&path, S("sinceSeconds"), str_printf(s->arena, "%" PRId64, o->since_s));
    return session_http(s, "GET", buf_str(&path), S(""), print_piece, out, NULL, err) ? 0 : -1;
}

const struct json *logs_ending(const struct json *pod)
{
    const struct json *list = json_path(pod, "status", "containerStatuses", NULL);

    return json_path(json_at(list, 0), "state", "terminated", NULL);
}

struct str logs_ending_text(struct arena *a, const struct json *ending)
{
    struct str reason = json_str(json_getz(ending, "reason"));
    struct str message = json_str(json_getz(ending, "message"));

    if (str_eqz(reason, "Completed") || str_eqz(reason, "Error"))
        return S("");
    if (str_eqz(reason, "ContainerCannotRun"))
        return message;
    return message.len ? str_concat(a, reason, S(": "), message) : reason;
}

static struct str created_at(const struct json *pod)
{
    return json_str(json_path(pod, "metadata", "creationTimestamp", NULL));
}

const struct json *logs_pod_of_job(struct session *s, struct str job, struct err *err)
{
    struct client_target t = {.kind = &kind_pod, .ns = s->ns};
    struct client_select sel = {
        .labels = str_printf(s->arena, "batch.kubernetes.io/job-name=%.*s", STR_ARG(job))};
    const struct json **pods, *newest = NULL;
    size_t n;

    if (session_list(s, &t, &sel, &pods, &n, err) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!newest || str_cmp(created_at(newest), created_at(pods[i])) <= 0)
            newest = pods[i];
    if (newest)
        return newest;
    struct client_target owner = {.kind = &kind_job, .ns = s->ns, .name = job};
    struct session_answer answer = session_get(s, &owner);
    object_unref(answer.object);
    if (answer.err.code != ERR_OK)
        *err = answer.err;
    else
        err_set(err, ERR_NOT_FOUND, "job '%.*s' has no pod yet; `berth why job/%.*s` says why",
                STR_ARG(job), STR_ARG(job));
    return NULL;
}

static bool is_there(struct session *s, const struct kind *kind, const struct client_target *t)
{
    struct client_target one = {.kind = kind, .ns = t->ns, .name = t->name};
    struct session_answer answer = session_get(s, &one);

    object_unref(answer.object);
    return answer.err.code == ERR_OK;
}

/* The pod whose log is meant: what is no pod's name may be a Job's. */
static int find_pod(struct session *s, const struct client_target *t, struct str *pod,
                    struct err *err)
{
    bool is_job =
        t->kind == &kind_job || (!is_there(s, &kind_pod, t) && is_there(s, &kind_job, t));
    const struct json *of = is_job ? logs_pod_of_job(s, t->name, err) : NULL;

    *pod = of ? json_str(json_path(of, "metadata", "name", NULL)) : t->name;
    return is_job && !of ? -1 : 0;
}

static int logs(struct cli_args *args)
{
    struct logs_options o = {.tail = -1,
                             .follow = cli_has(args, "follow"),
                             .previous = cli_has(args, "previous"),
                             .timestamps = cli_has(args, "timestamps"),
                             .container = cli_value(args, "container")};
    struct span since = {0};
    struct client_target t;
    struct err err = {0};
    struct session s;
    int rc;

    if (!cli_number(args, "tail", 0, INT32_MAX, &o.tail) || !cli_span(args, "since", &since))
        return EXIT_USAGE;
    o.since_s = since.ns / SECOND_NS;
    if ((rc = session_open(&s, args)))
        return rc;
    if (!session_target(&s, args->words[0], &kind_pod, &t)) {
        rc = EXIT_USAGE;
    } else if (t.kind != &kind_pod && t.kind != &kind_job) {
        rc = cli_misuse(args, "'%s' writes no log: name a job or a pod", args->words[0]);
    } else {
        struct str pod;
        if (find_pod(&s, &t, &pod, &err) < 0 || logs_stream(&s, pod, &o, stdout, &err) < 0)
            rc = cli_fail(args, "%s", err.text);
    }
    session_close(&s);
    return rc;
}

static const struct cli_flag flags[] = {
    CLI_SESSION_FLAGS,
    {'f', "follow",     NULL,    "go on until it ends"               },
    {'p', "previous",   NULL,    "of the run before the last restart"},
    {'t', "timestamps", NULL,    "each line with its time"           },
    {'c', "container",  "NAME",  "where a pod has several"           },
    {0,   "tail",       "LINES", "only the last lines"               },
    {0,   "since",      "SPAN",  "only what is younger, such as 5m"  },
};

const struct cli_command cli_logs = {
    .name = "logs",
    .usage = "logs JOB | POD [-f] [--tail LINES] [--since SPAN]",
    .help = "Print what a job or a pod wrote.",
    .example = "berth logs -f job/train",
    .flags = flags,
    .n_flags = countof(flags),
    .words = CLI_WORDS_TARGETS,
    .least_words = 1,
    .most_words = 1,
    .run = logs,
};
