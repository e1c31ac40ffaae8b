/* why.c - `berth why`: where a job stands, why, and what would change that */
#include "cli/logs.h"
#include "cli/state.h"

#include "api/kinds.h"
#include "object/object.h"

static void print_line(const char *name, struct str value)
{
    if (value.len)
        printf("%-10s %.*s\n", name, STR_ARG(value));
}

static struct str label(const struct json *object, const char *key)
{
    return json_str(json_path(object, "metadata", "labels", key, NULL));
}

/* The engine's own record, where the server has one; "" otherwise. */
static const struct json *record_of(struct session *s, const struct json *workload)
{
    struct err err = {0};
    struct str body;
    struct str path =
        str_printf(s->arena, "/apis/kueue.x-k8s.io/v1beta2/namespaces/%.*s/workloads/%.*s/why",
                   STR_ARG(json_str(json_path(workload, "metadata", "namespace", NULL))),
                   STR_ARG(json_str(json_path(workload, "metadata", "name", NULL))));

    if (!workload ||
        !session_http(s, "GET", path, S("application/json"), NULL, NULL, &body, &err))
        return NULL;
    return json_parse(s->arena, body, NULL, NULL);
}

/* Where its condition says nothing of substance, the record does: it was put aside with an
 * equal one. */
static void take_reason(struct job_report *r, const struct json *record)
{
    struct str reason = json_str(json_getz(record, "reason"));

    if (!str_eqz(r->code, "PendingEvaluation") || !reason.len)
        return;
    r->code = reason;
    r->sentence = json_str(json_getz(record, "message"));
}

static int print_json(struct session *s, struct job_report *r, struct str name)
{
    struct json_obj o = obj_in(s->arena);
    struct buf out = buf_in(s->arena, 1024);
    const struct json *record = record_of(s, r->workload);

    take_reason(r, record);

    obj_setz(&o, "job", json_of_str(name));
    obj_setz(&o, "state", json_of_str(str_from(job_state_word(r->state))));
    obj_setz(&o, "code", json_of_str(r->code));
    obj_setz(&o, "message", json_of_str(r->sentence));
    if (r->managed_by.len)
        obj_setz(&o, "managedBy", json_of_str(r->managed_by));
    if (record)
        obj_setz(&o, "decision", *record);
    struct json v = obj_done(&o);
    json_write_pretty(&out, &v);
    printf("%.*s\n", STR_ARG(buf_str(&out)));
    return 0;
}

/* Those who hold what is short, and why nobody of them has to go. */
static void print_spared(const struct json *record)
{
    static const struct {
        const char *code, *text;
    } rows[] = {
        {"Eligible",         "could be evicted for it, but that frees too little"      },
        {"PolicyNever",      "may not be evicted for it: the queue's policy takes none"},
        {"PriorityNotLower", "may not be evicted for it: their priority is not lower"  },
        {"WithinNominal",    "may not be evicted for it: their queue uses only its own"},
    };
    const struct json *counts = json_getz(record, "spared");
    bool is_first = true;

    for (size_t i = 0; i < countof(rows); i++) {
        int64_t n = json_i64(json_get(counts, str_from(rows[i].code)), 0);
        if (n == 0)
            continue;
        printf("%-10s %" PRId64 " %s\n", is_first ? "held by" : "", n, rows[i].text);
        is_first = false;
    }
}

static void print_causes(const struct json *causes)
{
    json_each (i, causes) {
        const struct json *c = json_at(causes, i);
        print_line(i ? "" : "because", json_str(json_getz(c, "text")));
        print_line("", json_str(json_getz(c, "numbers")));
    }
}

static void print_record(struct session *s, const struct json *record)
{
    const struct json *changes = json_getz(record, "changes");

    print_causes(json_getz(record, "causes"));
    print_spared(record);
    if (json_getz(record, "position"))
        print_line("place", str_printf(s->arena, "%" PRId64 " in ClusterQueue %.*s",
                                       json_i64(json_getz(record, "position"), 0),
                                       STR_ARG(json_str(json_getz(record, "clusterQueue")))));
    json_each (i, changes)
        print_line(i ? "" : "would help", json_str(json_getz(json_at(changes, i), "text")));
    if (json_len(changes))
        print_line("", S("(each was tried just now; none reserves anything)"));
}

/* What its last pod died of. */
static void print_ending(struct session *s, struct str name)
{
    struct err none = {0};
    const struct json *pod = logs_pod_of_job(s, name, &none), *ending = logs_ending(pod);

    if (!ending)
        return;
    struct str text = logs_ending_text(s->arena, ending);
    print_line("ended", str_printf(s->arena,
                                   "exit code %" PRId64
                                   "%s%.*s; `berth logs job/%.*s` shows what it wrote",
                                   json_i64(json_getz(ending, "exitCode"), 1),
                                   text.len ? ", " : "", STR_ARG(text), STR_ARG(name)));
}

static int why_job(struct session *s, const struct client_target *t, bool is_json)
{
    struct job_report r;
    struct err err = {0};

    if (job_report(s, t->ns, t->name, &r, &err) < 0)
        return cli_fail(s->args, "%s", err.text);
    if (is_json)
        return print_json(s, &r, t->name);
    print_line("job", t->name);
    print_line("state", str_from(job_state_word(r.state)));
    print_line("queue", label(r.job, "kueue.x-k8s.io/queue-name"));
    if (r.managed_by.len)
        print_line("managed by", str_printf(s->arena, "%.*s (our controller leaves it alone)",
                                            STR_ARG(r.managed_by)));
    const struct json *record = r.state == JOB_STATE_WAITING ? record_of(s, r.workload) : NULL;
    take_reason(&r, record);
    if (r.code.len && r.sentence.len)
        print_line("why",
                   str_printf(s->arena, "%.*s (%.*s)", STR_ARG(r.sentence), STR_ARG(r.code)));
    if (record)
        print_record(s, record);
    if (r.state == JOB_STATE_FAILED)
        print_ending(s, t->name);
    return 0;
}

/* Any other object: what its conditions say. */
static int why_object(struct session *s, const struct client_target *t)
{
    struct session_answer answer = session_get(s, t);

    if (answer.err.code != ERR_OK)
        return cli_fail(s->args, "%s", answer.err.text);
    const struct json *tree = object_tree(answer.object, s->arena);
    const struct json *list = json_path(tree, "status", "conditions", NULL);
    json_each (i, list) {
        const struct json *c = json_at(list, i);
        printf("%-20.*s %-6.*s %.*s: %.*s\n", STR_ARG(json_str(json_getz(c, "type"))),
               STR_ARG(json_str(json_getz(c, "status"))),
               STR_ARG(json_str(json_getz(c, "reason"))),
               STR_ARG(json_str(json_getz(c, "message"))));
    }
    if (json_len(list) == 0)
        printf("%.*s says nothing of itself\n",
               STR_ARG(session_display(s->arena, t->kind, t->name)));
    if (t->kind == &kind_kueue_workload)
        print_record(s, record_of(s, tree));
    object_unref(answer.object);
    return 0;
}

static int why(struct cli_args *args)
{
    const char *form = cli_value(args, "output");
    bool is_json = form && strcmp(form, "json") == 0;
    struct client_target t;
    struct session s;
    int rc;

    if (form && !is_json)
        return cli_misuse(args, "--output: '%s' is not json", form);
    if ((rc = session_open(&s, args)))
        return rc;
    if (!session_target(&s, args->words[0], &kind_job, &t))
        rc = EXIT_USAGE;
    else if (t.kind == &kind_job)
        rc = why_job(&s, &t, is_json);
    else
        rc = why_object(&s, &t);
    session_close(&s);
    return rc;
}

static const struct cli_flag flags[] = {
    CLI_SESSION_FLAGS,
    {'o', "output", "json", "with stable codes, for programs"},
};

const struct cli_command cli_why = {
    .name = "why",
    .usage = "why KIND/NAME [-o json]",
    .help = "Say where a job stands, why, and what would change that.",
    .example = "berth why job/train",
    .flags = flags,
    .n_flags = countof(flags),
    .words = CLI_WORDS_TARGETS,
    .least_words = 1,
    .most_words = 1,
    .run = why,
};
