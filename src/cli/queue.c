/* queue.c - `berth queue`: who runs, who waits, in which place, and why */
#include "cli/state.h"

#include "api/kinds.h"
#include "io/io.h"
#include "value/time.h"

struct line {
    const struct json *wl;
    struct str job, ns, queue, cq, state, why;
    int64_t priority;
    struct instant since;
    size_t place; /* from 1; 0: none */
};

static struct instant time_of(const struct json *v)
{
    struct instant t = {0};

    if (json_str(v).len)
        time_parse(json_str(v), &t, NULL);
    return t;
}

static struct str owner_of(const struct json *wl)
{
    const struct json *owners = json_path(wl, "metadata", "ownerReferences", NULL);

    return json_len(owners) ? json_str(json_getz(json_at(owners, 0), "name"))
                            : json_str(json_path(wl, "metadata", "name", NULL));
}

static bool line_of(const struct json *wl, struct line *out)
{
    const struct json *admitted = state_condition(wl, S("Admitted"));
    const struct json *quota = state_condition(wl, S("QuotaReserved"));
    bool is_admitted = state_holds(wl, S("Admitted"));

    if (state_holds(wl, S("Finished")))
        return false;
    *out = (struct line){.wl = wl,
                         .job = owner_of(wl),
                         .ns = json_str(json_path(wl, "metadata", "namespace", NULL)),
                         .queue = json_str(json_path(wl, "spec", "queueName", NULL)),
                         .priority = json_i64(json_path(wl, "spec", "priority", NULL), 0)};
    out->cq = json_str(json_path(wl, "status", "admission", "clusterQueue", NULL));
    out->state = is_admitted                           ? S("runs")
                 : state_holds(wl, S("QuotaReserved")) ? S("reserved")
                                                       : S("waits");
    out->since = is_admitted ? time_of(json_getz(admitted, "lastTransitionTime"))
                             : time_of(json_path(wl, "metadata", "creationTimestamp", NULL));
    if (!is_admitted)
        out->why = json_str(json_getz(quota, "message"));
    return true;
}

static int rank(const struct line *l)
{
    return str_eq(l->state, S("runs")) ? 0 : str_eq(l->state, S("reserved")) ? 1 : 2;
}

/* Runs first; who waits in the order in which queues look at them. */
static int by_place(const struct line *a, const struct line *b)
{
    if (rank(a) != rank(b))
        return rank(a) - rank(b);
    int queue = str_cmp(a->ns, b->ns);
    queue = queue ? queue : str_cmp(a->queue, b->queue);
    if (queue)
        return queue;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->since.ns != b->since.ns)
        return a->since.ns < b->since.ns ? -1 : 1;
    return str_cmp(a->job, b->job);
}

static void number(struct line *lines, size_t n)
{
    size_t place = 0;

    for (size_t i = 0; i < n; i++) {
        if (rank(&lines[i]) != 2)
            continue;
        bool is_new = i == 0 || rank(&lines[i - 1]) != 2 ||
                      !str_eq(lines[i].queue, lines[i - 1].queue) ||
                      !str_eq(lines[i].ns, lines[i - 1].ns);
        place = is_new ? 1 : place + 1;
        lines[i].place = place;
    }
}

static int print_lines(struct session *s, const struct line *lines, size_t n, bool all)
{
    bool has_colour = cli_has_colour(stdout);

    if (n == 0) {
        fprintf(stderr, "nothing runs and nothing waits%s\n", all ? "" : " in this namespace");
        return 0;
    }
    printf("%s%-24s %-12s %-8s %5s %6s  %s\n", all ? "NAMESPACE        " : "", "JOB", "QUEUE",
           "STATE", "PLACE", "SINCE", "WHY");
    for (size_t i = 0; i < n; i++) {
        const struct line *l = &lines[i];
        char place[24] = "-";
        const char *colour = !has_colour ? "" : rank(l) == 2 ? "\033[33m" : "\033[32m";
        struct str since = age_since(s->arena, l->since, io_now(s->io));
        if (l->place)
            snprintf(place, sizeof(place), "%zu", l->place);
        if (all)
            printf("%-16.*s ", STR_ARG(l->ns));
        printf("%-24.*s %-12.*s %s%-8.*s%s %5s %6.*s  %.*s\n", STR_ARG(l->job),
               STR_ARG(l->queue), colour, STR_ARG(l->state), *colour ? "\033[0m" : "", place,
               STR_ARG(since), STR_ARG(l->why));
    }
    return 0;
}

static int queue(struct cli_args *args)
{
    bool all = cli_has(args, "all-namespaces");
    const struct json **list;
    struct err err = {0};
    struct session s;
    size_t n, n_lines = 0;
    int rc = session_open(&s, args);

    if (rc)
        return rc;
    struct client_target t = {.kind = &kind_kueue_workload, .ns = all ? S("") : s.ns};
    if (session_list(&s, &t, &(struct client_select){0}, &list, &n, &err) < 0) {
        rc = cli_fail(args, "%s", err.text);
    } else {
        struct line *lines = arena_array(s.arena, struct line, n + 1);
        for (size_t i = 0; i < n; i++)
            n_lines += line_of(list[i], &lines[n_lines]);
        sort_stable(lines, n_lines, sizeof(*lines), (sort_fn *)(void *)by_place);
        number(lines, n_lines);
        rc = print_lines(&s, lines, n_lines, all);
    }
    session_close(&s);
    return rc;
}

static const struct cli_flag flags[] = {
    CLI_SESSION_FLAGS,
    {'A', "all-namespaces", NULL, "in every namespace"},
};

const struct cli_command cli_queue = {
    .name = "queue",
    .usage = "queue [-n NAMESPACE | -A]",
    .help = "Show who runs, who waits, in which place, and why.",
    .example = "berth queue -A",
    .flags = flags,
    .n_flags = countof(flags),
    .run = queue,
};
