/* kueue.c - the load shapes of Kueue's performance test on a whole berth
 *
 *     bench-kueue [SHAPE...]        a durable `berth up` of its own, over its unix socket
 *     bench-kueue --sim [SHAPE...]  on simulated io, twice
 *
 * Shapes: baseline, large-scale, one cohort of each (cohort, large-cohort), smoke; none named:
 * smoke. $BERTH
 * is the program (build/berth), $TMPDIR where its directory goes. Berth's processor time is its
 * own (utime and stime), the generator's comes beside it. What is added to a wait is measured
 * from the arrival that the shape demands, so a late generator counts, too.
 */

#include "kueue.h"
#include "measure.h"
#include "own.h"

#include "client/client_http.h"
#include "client/kubeconfig.h"
#include "io/io.h"
#include "sim/sim.h"

#define SIM_MAX_S 3600

struct bench {
    struct io *io;
    struct client *client, *jobs; /* for the load */
    const struct kueue_shape *shape;
    struct kueue_load *load;
    struct berth berth;
    bool is_ready, is_over;
};

/* ---- what is told ---- */

static void tell_of(const struct kueue_shape *s, const char *what, double value,
                    const char *unit)
{
    char name[96];

    snprintf(name, sizeof(name), "kueue/%s %s", s->name, what);
    tell(name, value, unit);
}

static void tell_waits(const struct kueue_shape *s, const struct kueue_result *r)
{
    struct kueue_waits ideal = {0};
    size_t evictions;
    double wall = kueue_ideal(s, &ideal, &evictions);

    tell_of(s, "wall", r->wall_ms / 1e3, "s");
    tell_of(s, "wall of an infinitely fast scheduler", wall / 1e3, "s");
    tell_of(s, "evictions", (double)r->evictions, "");
    tell_of(s, "evictions of an infinitely fast scheduler", (double)evictions, "");
    for (size_t c = 0; c < KUEUE_CLASSES; c++) {
        double was = kueue_mean(&ideal, c), is = kueue_mean(&r->waits, c);
        char what[64];
        snprintf(what, sizeof(what), "%s: mean wait", s->classes[c].name);
        tell_of(s, what, is, "ms");
        snprintf(what, sizeof(what), "%s: added to the mean", s->classes[c].name);
        tell_of(s, what, is - was, "ms");
        if (was > 0)
            tell_of(s, what, (is - was) / was * 100, "%");
        snprintf(what, sizeof(what), "%s: added to the median", s->classes[c].name);
        tell_of(s, what, kueue_median(&r->waits, c) - kueue_median(&ideal, c), "ms");
    }
    kueue_waits_fini(&ideal);
}

static void tell_berth(const struct kueue_shape *s, struct usage from, struct usage to,
                       const struct kueue_result *r, double own_ms)
{
    double cpu = to.cpu_ms - from.cpu_ms;
    uint64_t writes = to.writes - from.writes, commits = to.commits - from.commits;

    tell_of(s, "processor of berth", cpu / 1e3, "s");
    tell_of(s, "processor of the generator", own_ms / 1e3, "s");
    tell_of(s, "writes", (double)writes, "");
    tell_of(s, "commits", (double)commits, "");
    tell_of(s, "processor each write", cpu * 1e3 / (double)writes, "us");
    tell_of(s, "processor each commit", cpu * 1e3 / (double)commits, "us");
    tell_of(s, "writes a second", (double)writes / r->wall_ms * 1e3, "/s");
    tell_of(s, "resident at the end", to.rss_mib, "MiB");
    tell_of(s, "conflicts of the generator's writes", (double)r->conflicts, "");
    tell_of(s, "lists of a generator that fell behind", (double)r->relists, "");
    if (r->errors)
        die("%zu writes failed", r->errors);
}

/* ---- running ---- */

static void ready(void *ctx)
{
    struct bench *b = ctx;

    b->is_ready = true;
    io_stop(b->io);
}

static void over(void *ctx)
{
    struct bench *b = ctx;

    b->is_over = true;
    io_stop(b->io);
}

static void on_berth(const struct kueue_shape *shape)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct bench b = {.shape = shape};
    struct err err = {0};

    static const char *const how[] = {"--no-defaults", "--no-node", "--hollow-nodes", "1",
                                      NULL};

    berth_start(&b.berth, &a, how);
    struct kubeconfig config = {.server =
                                    str_printf(&a, "unix://%.*s", STR_ARG(b.berth.socket))};
    struct client_http_options options = {.name = S("kueue-load")};
    if (!(b.io = io_real_new(&err)) ||
        !(b.client = client_http_new(b.io, &config, &options, &err)) ||
        !(b.jobs = client_http_new(b.io, &config, &options, &err)))
        die("%s", err.text);
    b.load = kueue_load_new(b.io, b.client, b.jobs, shape, ready, &b);
    while (!b.is_ready)
        io_run(b.io);
    struct usage from = usage_of(b.io, b.client, b.berth.pid);
    double own = cpu_ns();
    kueue_load_go(b.load, over);
    while (!b.is_over)
        io_run(b.io);
    own = cpu_ns() - own;
    struct usage to = usage_of(b.io, b.client, b.berth.pid);
    tell_waits(shape, kueue_load_result(b.load));
    tell_berth(shape, from, to, kueue_load_result(b.load), own / 1e6);
    kueue_load_free(b.load);
    client_free(b.client);
    client_free(b.jobs);
    io_free(b.io);
    berth_stop(&b.berth);
}

/* The digest over all events. */
static struct str simulated(const struct kueue_shape *shape, struct arena *a, bool is_told)
{
    struct err err = {0};
    struct sim *s = sim_new(&(struct sim_config){.seed = 1, .hollow_nodes = 1}, &err);
    struct bench b = {.shape = shape};
    double cpu = cpu_ns();
    int64_t began = now_ns();

    if (!s)
        die("%s", err.text);
    b.io = sim_io(s);
    b.load = kueue_load_new(b.io, sim_client(s), sim_client(s), shape, ready, &b);
    for (int i = 0; i < SIM_MAX_S && !b.is_ready; i++)
        sim_run(s, span_s(1));
    kueue_load_go(b.load, over);
    for (int i = 0; i < SIM_MAX_S && !b.is_over; i++)
        sim_run(s, span_s(1));
    if (!b.is_over)
        die("the simulated load does not end");
    if (is_told) {
        tell_of(shape, "simulated", (double)(now_ns() - began) / 1e9, "s");
        tell_of(shape, "simulated, processor", (cpu_ns() - cpu) / 1e9, "s");
        tell_waits(shape, kueue_load_result(b.load));
        tell_of(shape, "simulated, events", (double)sim_events(s), "");
    }
    struct str digest = sim_digest(s, a);
    kueue_load_free(b.load);
    sim_free(s);
    return digest;
}

static void on_sim(const struct kueue_shape *shape)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct str first = simulated(shape, &a, true), second = simulated(shape, &a, false);

    printf("# kueue/%s digest %.*s\n", shape->name, STR_ARG(first));
    if (!str_eq(first, second))
        die("the second run had other events: %.*s", STR_ARG(second));
}

int main(int argc, char **argv)
{
    bool is_sim = argc > 1 && strcmp(argv[1], "--sim") == 0;
    int first = is_sim ? 2 : 1;

    signal(SIGPIPE, SIG_IGN);
    for (int i = first; i < MAX(argc, first + 1); i++) {
        const char *name = i < argc ? argv[i] : "smoke";
        const struct kueue_shape *shape = kueue_shape(str_from(name));
        if (!shape)
            die("no shape is called '%s'", name);
        if (is_sim)
            on_sim(shape);
        else
            on_berth(shape);
    }
    return 0;
}
