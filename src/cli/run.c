/* run.c - `berth run`: a command as a job, as if it ran here
 *
 * Makes a Job, says why while it waits, streams its output, and exits as it did. Ctrl-C deletes
 * the Job and waits until it has ended.
 */
#include "cli/logs.h"
#include "cli/state.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "api/batch_v1.h"
#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/codec.h"

#define EXIT_INTERRUPTED 130
#define LOOK_AGAIN span_s(2) /* at the latest: what no watch tells */
#define TOLD_MAX 512

/* What of the caller's environment goes along by itself; -e names more. */
static const char *const passed_on[] = {
    "PATH",   "HOME", "USER",        "LOGNAME",    "SHELL",           "LANG",
    "LC_ALL", "TERM", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH", "CONDA_PREFIX"};

struct run {
    struct session session;
    struct cli_args *args;
    struct str name, uid;                       /* the job's */
    char told[TOLD_MAX];                        /* the last reason for waiting */
    struct client_watch *pods, *job, *workload; /* while we wait: something changed */
    bool is_interrupted;
};

/* ---- the Job ---- */

static void add_env(struct arena *a, struct env_var *at, size_t *n, const char *name,
                    const char *value)
{
    (void)a;
    if (!value)
        return;
    SET(&at[*n], name, str_from(name));
    SET(&at[*n], value, str_from(value));
    (*n)++;
}

static struct env_var_list environment(struct cli_args *args)
{
    struct arena *a = args->arena;
    struct env_var *at =
        arena_array(a, struct env_var, countof(passed_on) + CLI_MAX_REPEATS * 8);
    size_t n = 0;

    for (size_t i = 0; i < countof(passed_on); i++)
        add_env(a, at, &n, passed_on[i], getenv(passed_on[i]));
    for (size_t f = 0; f < args->command->n_flags; f++) {
        if (strcmp(args->command->flags[f].name, "env") != 0)
            continue;
        vec_each (i, &args->repeats[f]) {
            struct str name, value;
            if (n + 1 >= countof(passed_on) + CLI_MAX_REPEATS * 8)
                break;
            bool has = str_cut(str_from(args->repeats[f].at[i]), '=', &name, &value);
            char *z = str_z(a, name);
            add_env(a, at, &n, z, has ? str_z(a, value) : getenv(z));
        }
    }
    return (struct env_var_list){at, n};
}

static struct resource_requirements *resources(struct cli_args *args)
{
    struct resource_requirements *r = arena_new(args->arena, struct resource_requirements);
    struct str_entry *at = arena_array(args->arena, struct str_entry, 2);
    const char *cpu = cli_value(args, "cpu"), *memory = cli_value(args, "memory");
    size_t n = 0;

    at[n++] = (struct str_entry){S("cpu"), str_from(cpu ? cpu : "1")};
    if (memory)
        at[n++] = (struct str_entry){S("memory"), str_from(memory)};
    SET(r, requests, (struct str_map){at, n});
    return r;
}

static struct container *container(struct cli_args *args)
{
    struct container *c = arena_new(args->arena, struct container);
    struct str *command = arena_array(args->arena, struct str, args->n_rest);
    char here[4096];

    for (size_t i = 0; i < args->n_rest; i++)
        command[i] = str_from(args->rest[i]);
    SET(c, name, S("main"));
    SET(c, image, S("host"));
    SET(c, command, (struct str_list){command, args->n_rest});
    if (getcwd(here, sizeof(here)))
        SET(c, working_dir, str_copy(args->arena, str_from(here)));
    SET(c, env, environment(args));
    SET(c, resources, resources(args));
    return c;
}

static struct json job_of(struct cli_args *args, struct str ns)
{
    struct arena *a = args->arena;
    struct job *job = arena_new(a, struct job);
    struct job_spec *spec = arena_new(a, struct job_spec);
    struct pod_template_spec *template = arena_new(a, struct pod_template_spec);
    struct pod_spec *pod = arena_new(a, struct pod_spec);
    struct object_meta *meta = arena_new(a, struct object_meta);
    struct str_entry *label = arena_array(a, struct str_entry, 1);
    const char *queue = cli_value(args, "queue"), *name = cli_value(args, "name");

    label[0] =
        (struct str_entry){S("kueue.x-k8s.io/queue-name"), str_from(queue ? queue : "default")};
    if (name)
        SET(meta, name, str_from(name));
    else
        SET(meta, generate_name, S("run-"));
    SET(meta, namespace, ns);
    SET(meta, labels, (struct str_map){label, 1});
    SET(pod, restart_policy, S("Never"));
    SET(pod, containers, (struct container_list){container(args), 1});
    SET(template, spec, pod);
    SET(spec, backoff_limit, 0);
    SET(spec, template, template);
    SET(job, api_version, kind_job.api_version);
    SET(job, kind, kind_job.kind);
    SET(job, metadata, meta);
    SET(job, spec, spec);
    return schema_encode(a, kind_job.schema, job);
}

/* ---- waiting ---- */

static void interrupted(void *ctx)
{
    struct run *r = ctx;

    r->is_interrupted = true;
    session_done(&r->session);
}

static void changed(void *ctx, const struct watch_event *e)
{
    (void)e;
    session_done(ctx);
}

/* Whatever makes the next look worth while ends a wait. */
static void watch(struct run *r)
{
    struct session *s = &r->session;
    struct client_select by_job = {.labels =
                                       str_printf(s->arena, "batch.kubernetes.io/job-name=%.*s",
                                                  STR_ARG(r->name))},
                         by_name = {.fields = str_printf(s->arena, "metadata.name=%.*s",
                                                         STR_ARG(r->name))},
                         by_uid = {.labels = state_workload_labels(s->arena, r->uid)};

    r->pods = client_watch(s->client, &(struct client_target){.kind = &kind_pod, .ns = s->ns},
                           &by_job, 0, changed, s);
    r->job = client_watch(s->client, &(struct client_target){.kind = &kind_job, .ns = s->ns},
                          &by_name, 0, changed, s);
    r->workload = client_watch(
        s->client, &(struct client_target){.kind = &kind_kueue_workload, .ns = s->ns}, &by_uid,
        0, changed, s);
}

static void unwatch(struct run *r)
{
    client_watch_stop(r->pods);
    client_watch_stop(r->job);
    client_watch_stop(r->workload);
    r->pods = r->job = r->workload = NULL;
}

static void tell_reason(struct run *r, const struct job_report *report)
{
    bool is_waiting = report->state == JOB_STATE_WAITING || report->state == JOB_STATE_STARTING;
    char text[TOLD_MAX];

    snprintf(text, sizeof(text), "%.*s", STR_ARG(report->sentence));
    if (!is_waiting || !*text || strcmp(text, r->told) == 0 ||
        str_eq(report->code, S("PendingEvaluation")))
        return; /* nothing that a person could act on */
    memcpy(r->told, text, sizeof(text));
    fprintf(stderr, "berth: %.*s waits: %s\n", STR_ARG(r->name), text);
}

static bool has_run(const struct json *pod)
{
    struct str phase = json_str(json_path(pod, "status", "phase", NULL));

    return phase.len && !str_eq(phase, S("Pending"));
}

/* The pod once it runs or has run; NULL where the job ended without, or we were interrupted. */
static const struct json *await_pod(struct run *r, struct err *err)
{
    struct job_report report;

    while (!r->is_interrupted) {
        struct arena_mark mark = arena_mark(r->session.arena);
        struct err none = {0};
        const struct json *pod = logs_pod_of_job(&r->session, r->name, &none);
        if (pod && has_run(pod))
            return pod;
        if (job_report(&r->session, r->session.ns, r->name, &report, err) < 0)
            return NULL;
        if (report.state == JOB_STATE_FAILED || report.state == JOB_STATE_COMPLETE) {
            err_set(err, ERR_INVALID, "job '%.*s' ended without running: %.*s",
                    STR_ARG(r->name), STR_ARG(report.sentence));
            return NULL;
        }
        tell_reason(r, &report);
        arena_rewind(r->session.arena, mark);
        session_run(&r->session, LOOK_AGAIN);
    }
    return NULL;
}

static int tell_ending(struct run *r, const struct json *ending)
{
    struct str text = logs_ending_text(r->session.arena, ending);

    if (text.len)
        fprintf(stderr, "berth: %.*s\n", STR_ARG(text));
    return (int)json_i64(json_getz(ending, "exitCode"), 1);
}

static int await_end(struct run *r, struct err *err)
{
    while (!r->is_interrupted) {
        struct arena_mark mark = arena_mark(r->session.arena);
        const struct json *pod = logs_pod_of_job(&r->session, r->name, err);
        if (!pod)
            return cli_fail(r->args, "%s", err->text);
        if (logs_ending(pod))
            return tell_ending(r, logs_ending(pod));
        arena_rewind(r->session.arena, mark);
        session_run(&r->session, LOOK_AGAIN);
    }
    return EXIT_INTERRUPTED;
}

static int stop_job(struct run *r)
{
    struct client_target t = {.kind = &kind_job, .ns = r->session.ns, .name = r->name};
    struct client_delete_options options = {.propagation = S("Foreground"), .grace_s = -1};
    struct session_answer answer;

    fprintf(stderr, "\nberth: stopping job %.*s\n", STR_ARG(r->name));
    r->is_interrupted = false;
    answer = session_delete(&r->session, &t, &options);
    object_unref(answer.object);
    if (answer.err.code != ERR_OK && answer.err.code != ERR_NOT_FOUND)
        cli_fail(r->args, "job '%.*s' goes on: %s", STR_ARG(r->name), answer.err.text);
    watch(r);
    while (answer.err.code == ERR_OK && !r->is_interrupted) { /* a second Ctrl-C leaves */
        answer = session_get(&r->session, &t);
        object_unref(answer.object);
        if (answer.err.code == ERR_OK)
            session_run(&r->session, LOOK_AGAIN);
    }
    unwatch(r);
    return EXIT_INTERRUPTED;
}

static int follow(struct run *r)
{
    struct logs_options o = {.follow = true, .tail = -1};
    struct err err = {0};
    int rc = 1;

    watch(r);
    const struct json *pod = await_pod(r, &err);
    unwatch(r); /* a change is no reason to stop reading the log */
    if (pod) {
        struct str name = json_str(json_path(pod, "metadata", "name", NULL));
        struct err log_err = {0};
        if (logs_stream(&r->session, name, &o, stdout, &log_err) < 0 && !r->is_interrupted)
            fprintf(stderr, "berth: no output of %.*s: %s\n", STR_ARG(name), log_err.text);
        watch(r);
        rc = await_end(r, &err);
        unwatch(r);
    } else if (!r->is_interrupted) {
        rc = cli_fail(r->args, "%s", err.text);
    }
    return r->is_interrupted ? stop_job(r) : rc;
}

/* The job's name and uid; 0, or 1 after one sentence. */
static int submit(struct run *r)
{
    struct client_target t = {.kind = &kind_job, .ns = r->session.ns};
    struct json body = job_of(r->args, r->session.ns);
    struct session_answer answer = session_create(&r->session, &t, &body);

    if (answer.err.code != ERR_OK)
        return cli_fail(r->args, "%s", answer.err.text);
    r->name = str_copy(r->args->arena, object_key(answer.object).name);
    r->uid = str_copy(r->args->arena, object_uid(answer.object));
    object_unref(answer.object);
    return 0;
}

/* From before the job is there a signal is about the job: it shall not be left behind. */
static int submit_and_follow(struct run *r)
{
    static const int signums[] = {SIGINT, SIGTERM};
    struct io_signal *signals[countof(signums)];

    for (size_t i = 0; i < countof(signums); i++)
        signals[i] = io_signal_new(r->session.io, signums[i], interrupted, r);
    int rc = submit(r);
    if (rc == 0)
        rc = follow(r);
    for (size_t i = 0; i < countof(signums); i++)
        io_signal_free(signals[i]);
    return rc;
}

static int run(struct cli_args *args)
{
    struct run r = {.args = args};
    int rc;

    if (args->n_rest == 0)
        return cli_misuse(args, "no command is given; it stands behind --");
    if ((rc = session_open(&r.session, args)))
        return rc;
    if (!cli_has(args, "detach"))
        rc = submit_and_follow(&r);
    else if ((rc = submit(&r)) == 0)
        printf("job/%.*s\n", STR_ARG(r.name));
    session_close(&r.session);
    return rc;
}

static const struct cli_flag flags[] = {
    CLI_SESSION_FLAGS,
    {'q', "queue",  "QUEUE",        "the LocalQueue to wait in (default)" },
    {'c', "cpu",    "CPU",          "how much it asks for (1)"            },
    {'m', "memory", "MEMORY",       "such as 512Mi"                       },
    {'e', "env",    "NAME[=VALUE]", "one more variable of the environment"},
    {0,   "name",   "NAME",         "of the job (run-XXXXX)"              },
    {'d', "detach", NULL,           "print the job's name and leave"      },
};

const struct cli_command cli_run = {
    .name = "run",
    .usage = "run [-q QUEUE] [-c CPU] [-m MEMORY] [--name NAME] [-d] -- COMMAND...",
    .help = "Run a command as a job: its output here, its exit code ours.",
    .example = "berth run -c 2 -m 1Gi -- python train.py",
    .flags = flags,
    .n_flags = countof(flags),
    .takes_rest = true,
    .run = run,
};
