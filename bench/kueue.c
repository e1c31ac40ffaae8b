/* kueue.c - the load shapes of Kueue's performance test on a whole berth
 *
 *     bench-kueue [SHAPE...]        a durable `berth up` of its own, over its unix socket
 *     bench-kueue --sim [SHAPE...]  on simulated io, twice
 *
 * Shapes: baseline, large-scale, cohort (a fifth of baseline), smoke; none named: smoke. $BERTH
 * is the program (build/berth), $TMPDIR where its directory goes. Berth's processor time is its
 * own (utime and stime), the generator's comes beside it. What is added to a wait is measured
 * from the arrival that the shape demands, so a late generator counts, too.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kueue.h"
#include "measure.h"

#include "client/client_http.h"
#include "client/kubeconfig.h"
#include "io/io.h"
#include "sim/sim.h"

#define READY_MAX_S 20
#define SIM_MAX_S 3600

extern char **environ;

struct berth {
    pid_t pid;
    char dir[256];
    struct str socket; /* its path */
};

struct bench {
    struct io *io;
    struct client *client; /* for the load */
    const struct kueue_shape *shape;
    struct kueue_load *load;
    struct berth berth;
    bool is_ready, is_over;
};

/* ---- a berth of our own ---- */

/* Waits until it says that it is ready. */
static void await_ready(int fd)
{
    char text[4096];
    size_t len = 0;

    while (len < sizeof(text)) {
        ssize_t n = read(fd, text + len, sizeof(text) - len);
        if (n <= 0)
            die("berth up did not start");
        len += (size_t)n;
        if (str_has(str_of(text, len), S("\nready")))
            return;
    }
}

static int start(pid_t *pid, const char *const *args, int out)
{
    posix_spawn_file_actions_t files;

    posix_spawn_file_actions_init(&files);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    int rc = posix_spawnp(pid, args[0], &files, NULL, (char *const *)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static void berth_start(struct berth *b, struct arena *a)
{
    const char *program = getenv("BERTH"), *tmp = getenv("TMPDIR");
    int out[2];

    snprintf(b->dir, sizeof(b->dir), "%s/berth-bench.XXXXXX", tmp ? tmp : "/var/tmp");
    if (!mkdtemp(b->dir) || pipe2(out, O_CLOEXEC) < 0)
        die("no directory for berth at '%s'", b->dir);
    const char *args[] = {program ? program : "build/berth",
                          "up",
                          "--data",
                          b->dir,
                          "--listen",
                          "127.0.0.1:0",
                          "--no-defaults",
                          "--no-node",
                          "--hollow-nodes",
                          "1",
                          NULL};
    if (start(&b->pid, args, out[1]) != 0)
        die("cannot start '%s'", args[0]);
    close(out[1]);
    await_ready(out[0]);
    close(out[0]);
    b->socket = str_printf(a, "%s/berth.sock", b->dir);
}

static void berth_stop(struct berth *b)
{
    const char *args[] = {"rm", "-rf", b->dir, NULL};
    pid_t pid;

    kill(b->pid, SIGTERM);
    waitpid(b->pid, NULL, 0);
    if (start(&pid, args, -1) == 0)
        waitpid(pid, NULL, 0);
}

struct usage {
    double cpu_ms, rss_mib;
    uint64_t writes, commits;
};

static void read_cpu(pid_t pid, struct usage *u)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    long rss = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!(f = fopen(path, "re")))
        return;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = 0;
    const char *at = strrchr(text, ')');
    if (!at || sscanf(at + 1,
                      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d "
                      "%*d %*d %*u %*u %ld",
                      &user, &system, &rss) != 3)
        return;
    u->cpu_ms = (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK);
    u->rss_mib = (double)rss * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* ---- what berth counts itself ---- */

struct asking {
    struct io *io;
    struct buf text;
};

static void got(void *ctx, struct str bytes)
{
    struct asking *q = ctx;

    buf_add(&q->text, bytes);
}

static void got_all(void *ctx, const struct err *err)
{
    struct asking *q = ctx;

    if (err)
        die("no metrics: %s", err->text);
    io_stop(q->io);
}

static uint64_t metric(struct str text, const char *name)
{
    uint64_t v = 0;
    struct str line;

    while (text.len) {
        str_cut(text, '\n', &line, &text);
        struct str head, value;
        if (str_cut(line, ' ', &head, &value) && str_eqz(head, name))
            str_to_u64(value, &v);
    }
    return v;
}

static struct usage usage(struct bench *b)
{
    static const struct http_call_events events = {.data = got, .end = got_all};
    struct asking q = {.io = b->io};
    struct usage u = {0};

    client_http_call(b->client, &(struct http_ask){.method = S("GET"), .target = S("/metrics")},
                     &events, &q);
    io_run(b->io);
    u.writes = metric(buf_str(&q.text), "berth_store_writes_total");
    u.commits = metric(buf_str(&q.text), "berth_store_commits_total");
    buf_fini(&q.text);
    read_cpu(b->berth.pid, &u);
    return u;
}

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

    berth_start(&b.berth, &a);
    struct kubeconfig config = {.server =
                                    str_printf(&a, "unix://%.*s", STR_ARG(b.berth.socket))};
    struct client_http_options options = {.name = S("kueue-load")};
    if (!(b.io = io_real_new(&err)) ||
        !(b.client = client_http_new(b.io, &config, &options, &err)))
        die("%s", err.text);
    b.load = kueue_load_new(b.io, b.client, shape, ready, &b);
    while (!b.is_ready)
        io_run(b.io);
    struct usage from = usage(&b);
    double own = cpu_ns();
    kueue_load_go(b.load, over);
    while (!b.is_over)
        io_run(b.io);
    own = cpu_ns() - own;
    struct usage to = usage(&b);
    tell_waits(shape, kueue_load_result(b.load));
    tell_berth(shape, from, to, kueue_load_result(b.load), own / 1e6);
    kueue_load_free(b.load);
    client_free(b.client);
    io_free(b.io);
    berth_stop(&b.berth);
}

/* The digest over all events. */
static struct str simulated(const struct kueue_shape *shape, struct arena *a, bool is_told)
{
    struct err err = {0};
    struct sim *s = sim_new(&(struct sim_config){.seed = 1, .hollow_nodes = 1}, &err);
    struct bench b = {.shape = shape};
    double start = cpu_ns();

    if (!s)
        die("%s", err.text);
    b.io = sim_io(s);
    b.load = kueue_load_new(b.io, sim_client(s), shape, ready, &b);
    for (int i = 0; i < SIM_MAX_S && !b.is_ready; i++)
        sim_run(s, span_s(1));
    kueue_load_go(b.load, over);
    for (int i = 0; i < SIM_MAX_S && !b.is_over; i++)
        sim_run(s, span_s(1));
    if (!b.is_over)
        die("the simulated load does not end");
    if (is_told) {
        tell_waits(shape, kueue_load_result(b.load));
        tell_of(shape, "simulated, processor", (cpu_ns() - start) / 1e9, "s");
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
