/* jobs.c - what Jobs cost: one decision, many pods of one Job, many Jobs, many CronJobs
 *
 *     bench-jobs              decisions, and a Job of 100,000 completions simulated
 *     bench-jobs --sim N [P]  the same of N completions, P (a hundredth of them) at a time
 *     bench-jobs --berth N    N one-pod Jobs (50000) at once on a durable berth, hollow nodes
 *     bench-jobs --cron N     N CronJobs (2000) due in the same minute, on the same
 */
#include "jobs.h"
#include "measure.h"
#include "own.h"

#include "api/kinds.h"
#include "client/kubeconfig.h"
#include "object/object.h"
#include "sim/sim.h"
#include "json/json.h"

#define COMPLETIONS 100000
#define A_TIME 100   /* so many parts of them are pods at a time */
#define NODES "1000" /* hollow ones */
#define IN_FLIGHT 256
#define SIM_MOST 100000 /* seconds */

static double wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- one Job, simulated ---- */

struct ending {
    struct io *io;
    bool is_over;
};

static void look_for_end(void *ctx, const struct watch_event *e)
{
    struct ending *w = ctx;
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    if (e->object &&
        json_has(json_path(object_tree(e->object, &a), "status", "completionTime", NULL))) {
        w->is_over = true;
        io_stop(w->io);
    }
}

static const struct json *job_body(struct arena *a, const char *name, int completions,
                                   int parallelism, const char *more)
{
    return json_parse(
        a,
        str_printf(
            a,
            "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
            "\"namespace\":\"default\"},\"spec\":{\"completions\":%d,\"parallelism\":%d,"
            "%s\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
            "\"name\":\"c\",\"image\":\"x\",\"command\":[\"x\"]}]}}}}",
            name, completions, parallelism, more),
        NULL, NULL);
}

static double own_rss_mib(void)
{
    struct usage u = {0};

    own_read_cpu(getpid(), &u);
    return u.rss_mib;
}

static void simulated(int n, int parallelism, const char *mode, const char *more)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct err err = {0};
    double cpu = cpu_ns();
    int64_t began = now_ns();
    struct sim *s = sim_new(&(struct sim_config){.seed = 1, .hollow_nodes = 100}, &err);
    struct client_target t = {.kind = &kind_job, .ns = S("default")};
    char name[96];

    if (!s || sim_apply(s, job_body(&a, "many", n, parallelism, more), &err) < 0)
        die("%s", err.text);
    struct ending w = {.io = sim_io(s)};
    struct client_watch *watch = client_watch(sim_client(s), &t, NULL, 0, look_for_end, &w);
    for (int i = 0; i < SIM_MOST && !w.is_over; i++)
        sim_run(s, span_s(1));
    if (!w.is_over)
        die("the simulated Job does not end");
    snprintf(name, sizeof(name), "jobs/%d completions, %d at a time, %s", n, parallelism, mode);
    tell(name, (double)(now_ns() - began) / 1e9, "s");
    tell("jobs/  processor, the digest's thread with it", (cpu_ns() - cpu) / 1e9, "s");
    tell("jobs/  events", (double)sim_events(s), "");
    tell("jobs/  resident at its end", own_rss_mib(), "MiB");
    client_watch_stop(watch);
    sim_free(s);
}

/* ---- many, on a durable berth ---- */

struct load {
    struct io *io;
    struct client *client;
    struct client_target target;
    const struct json *(*body)(struct arena *a, int i);
    int n, sent, running, over;
    double last; /* when the last one ended */
    MAP(bool) seen;
    struct arena arena;
};

static void send_more(struct load *l);

static void sent(void *ctx, const struct client_answer *answer)
{
    struct load *l = ctx;

    if (answer->err)
        die("%s", answer->err->text);
    l->running--;
    if (l->sent < l->n)
        send_more(l);
    else if (l->running == 0)
        io_stop(l->io);
}

static void send_more(struct load *l)
{
    scoped(arena_fini) struct arena a = arena_sized(8 << 10);

    while (l->running < IN_FLIGHT && l->sent < l->n) {
        l->running++;
        client_create(l->client, &l->target, l->body(&a, l->sent++), sent, l);
        arena_reset(&a);
    }
}

static void job_changed(void *ctx, const struct watch_event *e)
{
    struct load *l = ctx;
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    if (!e->object)
        return;
    struct str name = object_key(e->object).name;
    bool is_over = json_has(json_path(
        object_tree(e->object, &a), "status",
        l->target.kind == &kind_job ? "completionTime" : "uncountedTerminatedPods", NULL));
    if (l->target.kind != &kind_job) /* of CronJobs: their Jobs, once they have started */
        is_over = json_has(json_path(object_tree(e->object, &a), "status", "startTime", NULL));
    if (!is_over || map_get(&l->seen, name))
        return;
    *map_put(&l->seen, str_copy(&l->arena, name)) = true;
    l->last = wall_s();
    if (++l->over == l->n)
        io_stop(l->io);
}

static const struct json *one_pod(struct arena *a, int i)
{
    char name[32];

    snprintf(name, sizeof(name), "j%d", i);
    return job_body(a, name, 1, 1, "");
}

static const struct json *one_cron(struct arena *a, int i)
{
    return json_parse(
        a,
        str_printf(
            a,
            "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"c%d\","
            "\"namespace\":\"default\"},\"spec\":{\"schedule\":\"* * * * *\","
            "\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":"
            "\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"command\":[\"x\"]"
            "}]}}}}}}",
            i),
        NULL, NULL);
}

struct own {
    struct berth berth;
    struct load load;
    struct client_watch *watch;
    struct usage from;
};

static void own_open(struct own *o, int n)
{
    static const char *const how[] = {"--no-defaults", "--no-node", "--hollow-nodes", NODES,
                                      NULL};
    struct client_target jobs = {.kind = &kind_job, .ns = S("default")};
    struct client_http_options options = {.name = S("jobs-load")};
    struct load *l = &o->load;
    struct err err = {0};

    *o = (struct own){0};
    l->arena = arena_sized(64 << 10);
    l->n = n;
    berth_start(&o->berth, &l->arena, how);
    struct kubeconfig config = {
        .server = str_printf(&l->arena, "unix://%.*s", STR_ARG(o->berth.socket))};
    if (!(l->io = io_real_new(&err)) ||
        !(l->client = client_http_new(l->io, &config, &options, &err)))
        die("%s", err.text);
    o->watch = client_watch(l->client, &jobs, NULL, 0, job_changed, l);
    o->from = usage_of(l->io, l->client, o->berth.pid);
}

static void own_close(struct own *o)
{
    client_watch_stop(o->watch);
    client_free(o->load.client);
    io_free(o->load.io);
    berth_stop(&o->berth);
    map_fini(&o->load.seen);
    arena_fini(&o->load.arena);
}

static void tell_usage(struct own *o, int n)
{
    struct usage to = usage_of(o->load.io, o->load.client, o->berth.pid);
    double writes = (double)(to.writes - o->from.writes);

    tell("jobs/  processor of berth", (to.cpu_ms - o->from.cpu_ms) / 1e3, "s");
    tell("jobs/  writes for each", writes / n, "");
    tell("jobs/  commits", (double)(to.commits - o->from.commits), "");
    tell("jobs/  processor each write", (to.cpu_ms - o->from.cpu_ms) * 1e3 / writes, "us");
    tell("jobs/  resident at the end", to.rss_mib, "MiB");
}

static void many_jobs(int n, int parallelism unused)
{
    struct own o;
    char name[96];

    own_open(&o, n);
    o.load.target = (struct client_target){.kind = &kind_job, .ns = S("default")};
    o.load.body = one_pod;
    double began = wall_s();
    send_more(&o.load);
    io_run(o.load.io);
    double made = wall_s();
    while (o.load.over < n)
        io_run(o.load.io);
    snprintf(name, sizeof(name), "jobs/%d one-pod Jobs, all Complete", n);
    tell(name, o.load.last - began, "s");
    tell("jobs/  of it until the last was created", made - began, "s");
    tell_usage(&o, n);
    own_close(&o);
}

static void many_crons(int n, int parallelism unused)
{
    struct own o;
    struct timespec now;
    char name[96];

    own_open(&o, n);
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec % 60 > 30) /* all of them are to be there before their minute */
        sleep((unsigned)(61 - now.tv_sec % 60));
    o.load.target = (struct client_target){.kind = &kind_cron_job, .ns = S("default")};
    o.load.body = one_cron;
    send_more(&o.load);
    io_run(o.load.io);
    o.from = usage_of(o.load.io, o.load.client, o.berth.pid);
    while (o.load.over < n)
        io_run(o.load.io);
    clock_gettime(CLOCK_REALTIME, &now);
    double late = (double)(now.tv_sec % 60) + (double)now.tv_nsec / 1e9;
    snprintf(name, sizeof(name), "jobs/%d CronJobs of one minute, all started after", n);
    tell(name, late, "s");
    tell_usage(&o, n);
    own_close(&o);
}

static void decisions_and_simulations(int n, int parallelism)
{
    job_decisions();
    simulated(n, parallelism, "NonIndexed", "");
    simulated(n, parallelism, "Indexed", "\"completionMode\":\"Indexed\",");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *how;
        int64_t n;
        void (*run)(int n, int parallelism);
    } rows[] = {
        {"--sim",   COMPLETIONS, decisions_and_simulations},
        {"--berth", 50000,       many_jobs                },
        {"--cron",  2000,        many_crons               },
    };
    const char *how = argc > 1 ? argv[1] : "--sim";

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < countof(rows); i++) {
        int64_t n = rows[i].n, parallelism = 0;
        if (argc > 2)
            str_to_i64(str_from(argv[2]), &n);
        if (argc > 3)
            str_to_i64(str_from(argv[3]), &parallelism);
        if (strcmp(how, rows[i].how) == 0)
            rows[i].run((int)n, (int)(parallelism ? parallelism : n / A_TIME));
    }
    return 0;
}
