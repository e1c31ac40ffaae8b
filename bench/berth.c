/* berth.c - the main job end to end, beside what this machine needs at least
 *
 * Starts build/berth on directories of its own and asks it over its socket, as any client
 * would: each row says what was measured, what it must and should be, and the floor measured in
 * the same run. Time of the clock: on a busy machine only the ratio to the floor holds.
 *
 *     bench-berth [JOBS [SECONDS [PART...]]]   how many Jobs "100,000" are; how long "60 s"
 * are; submit bulk creates start idle pending simulated
 */
#include <dirent.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include "floor.h"
#include "http/http.h"
#include "measure.h"

#define SUBMITS 100 /* one after another */
#define BULK_JOBS 2000
#define BULK_SLOTS 64
#define SERIAL_CREATES 1000
#define LISTED 10000
#define CREATES_IN_FLIGHT 256
#define STARTS 5
#define READY_MOST 300000 /* ms */

static char root[64], dir[96], stamp[96], self[4096], program[4096 + 16], stamper[4096 + 16];
static int64_t n_many = 100000, idle_s = 60;

/* ---- the table ---- */

static void row(const char *work, const char *figure, const char *must, const char *aim,
                const char *floor)
{
    printf("%-46s %14s  %-16s %-12s %s\n", work, figure, must, aim, floor);
    fflush(stdout);
}

/* A text that lives as long as the program. */
like_printf(1, 2) static const char *text(const char *format, ...)
{
    va_list list;
    char *out;

    va_start(list, format);
    if (vasprintf(&out, format, list) < 0)
        die("no memory");
    va_end(list);
    return out;
}

/* ---- a berth ---- */

struct berth {
    pid_t pid;
    double ready_ms;
};

/* Reads until it says that it is ready; its pipe stays open, so that it may say more. */
static void await_ready(int fd)
{
    char text[1024];
    size_t n = 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};

    while (!memmem(text, n, "\nready", 6)) {
        ssize_t got = poll(&p, 1, READY_MOST) > 0 ? read(fd, text + n, sizeof(text) - n) : 0;
        if (got <= 0)
            die("'%s up' did not become ready", program);
        n += (size_t)got;
    }
}

static struct berth start(const char *more)
{
    char *argv[] = {program,
                    (char[]){"up"},
                    (char[]){"--data"},
                    dir,
                    (char[]){"--listen"},
                    (char[]){"127.0.0.1:0"},
                    (char *)(uintptr_t)more,
                    NULL};
    posix_spawn_file_actions_t files;
    struct berth b;
    int out[2];

    if (pipe2(out, O_CLOEXEC) < 0)
        die("cannot make a pipe");
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    int64_t began = now_ns();
    if (posix_spawn(&b.pid, program, &files, NULL, argv, environ) != 0)
        die("cannot start '%s'", program);
    posix_spawn_file_actions_destroy(&files);
    close(out[1]);
    await_ready(out[0]);
    b.ready_ms = (double)(now_ns() - began) / 1e6;
    return b;
}

static void stop(struct berth b)
{
    kill(b.pid, SIGTERM);
    waitpid(b.pid, NULL, 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void forget(void)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A number of a file of /proc/PID, behind a word. */
static int64_t proc_number(pid_t pid, const char *file, const char *word)
{
    char path[64], line[256];
    int64_t v = 0;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, word, strlen(word)) == 0)
            v = strtoll(line + strlen(word), NULL, 10);
    if (f)
        fclose(f);
    return v;
}

/* Of all its threads. */
static int64_t wake_ups(pid_t pid)
{
    char path[64];
    int64_t n = 0;
    struct dirent *e;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    while (tasks && (e = readdir(tasks)))
        if (e->d_name[0] != '.')
            n += proc_number((pid_t)strtol(e->d_name, NULL, 10), "status",
                             "voluntary_ctxt_switches:");
    if (tasks)
        closedir(tasks);
    return n;
}

static double rss_kib(pid_t pid)
{
    return (double)proc_number(pid, "status", "VmRSS:");
}

/* ---- requests ---- */

struct load {
    struct io *io;
    struct http_client *client;
    struct arena arena; /* of one body */
    struct str method, target;
    void (*body)(struct load *l, int64_t i, struct buf *out); /* NULL: none */
    const char *queue;                                        /* of the jobs, or NULL */
    const char *command, *cpu, *prefix;
    bool is_suspended;
    int64_t next, n, running;
    int status;
    struct buf answer;
    bool keeps_answer;
};

static void ask(struct load *l);

static void got_head(void *ctx, int status, const struct http_header *headers, size_t n)
{
    (void)headers, (void)n;
    ((struct load *)ctx)->status = status;
}

static void got_data(void *ctx, struct str bytes)
{
    struct load *l = ctx;

    if (l->keeps_answer)
        buf_add(&l->answer, bytes);
    else if (l->status >= 300)
        die("%.*s", STR_ARG(bytes));
}

static void got_end(void *ctx, const struct err *err)
{
    struct load *l = ctx;

    if (err)
        die("a call failed: %s", err->text);
    l->running--;
    if (l->next < l->n)
        ask(l);
    else if (l->running == 0)
        io_stop(l->io);
}

static const struct http_call_events events = {got_head, got_data, got_end, NULL};

static void ask(struct load *l)
{
    static const struct http_header headers[] = {
        {S_INIT("accept"),       S_INIT("application/json")},
        {S_INIT("content-type"), S_INIT("application/json")},
    };
    struct http_ask a = {.method = l->method,
                         .target = l->target,
                         .headers = headers,
                         .n_headers = countof(headers)};
    struct arena_mark mark = arena_mark(&l->arena);
    struct buf body = buf_in(&l->arena, 1024);

    if (l->body)
        l->body(l, l->next, &body);
    a.body = buf_str(&body);
    l->next++;
    l->running++;
    http_call(l->client, &a, &events, l);
    arena_rewind(&l->arena, mark);
}

static void load_init(struct load *l)
{
    struct err err;

    *l = (struct load){.arena = arena_sized(64 << 10), .command = "true", .prefix = "j"};
    if (!(l->io = io_real_new(&err)))
        die("%s", err.text);
    l->client =
        http_client_new(l->io, &(struct http_client_options){
                                   .address = str_printf(&l->arena, "unix:%s/berth.sock", dir),
                                   .authority = S("x")});
}

static void load_fini(struct load *l)
{
    http_client_free(l->client);
    io_free(l->io);
    buf_fini(&l->answer);
    arena_fini(&l->arena);
}

/* n requests, so many at a time; how long all of them took, in ns. */
static int64_t load_run(struct load *l, int64_t n, int64_t in_flight)
{
    int64_t began = now_ns();

    l->next = 0;
    l->n = n;
    while (l->next < MIN(n, in_flight))
        ask(l);
    io_run(l->io);
    return now_ns() - began;
}

static void job_body(struct load *l, int64_t i, struct buf *out)
{
    buf_printf(
        out, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s-%lld\"",
        l->prefix, (long long)i);
    if (l->queue)
        buf_printf(out, ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"%s\"}", l->queue);
    buf_printf(out,
               "},\"spec\":{\"suspend\":%s,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
               "\"containers\":[{\"name\":\"c\",\"image\":\"host\",\"command\":[%s]",
               l->is_suspended ? "true" : "false", l->command);
    if (l->cpu)
        buf_printf(out, ",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}", l->cpu);
    buf_printf(out, "}]}}}}");
}

static void jobs(struct load *l, const char *prefix)
{
    l->method = S("POST");
    l->target = S("/apis/batch/v1/namespaces/default/jobs");
    l->body = job_body;
    l->prefix = prefix;
    l->keeps_answer = false;
}

static struct str fetch(struct load *l, struct str target)
{
    l->method = S("GET");
    l->target = target;
    l->body = NULL;
    l->keeps_answer = true;
    buf_clear(&l->answer);
    load_run(l, 1, 1);
    return buf_str(&l->answer);
}

static void queue_body(struct load *l, int64_t i, struct buf *out)
{
    bool is_local = str_has(l->target, S("localqueues"));

    (void)i;
    buf_printf(out,
               "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"%s\",\"metadata\":{"
               "\"name\":\"b\"},\"spec\":{",
               is_local ? "LocalQueue" : "ClusterQueue");
    if (is_local)
        buf_printf(out, "\"clusterQueue\":\"b\"}}");
    else
        buf_printf(out,
                   "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":["
                   "\"cpu\"],\"flavors\":[{\"name\":\"default\",\"resources\":[{\"name\":"
                   "\"cpu\",\"nominalQuota\":\"%s\"}]}]}]}}",
                   l->cpu);
}

/* A queue `b` with so much quota. */
static void make_queue(struct load *l, const char *cpu)
{
    l->method = S("POST");
    l->body = queue_body;
    l->cpu = cpu;
    l->target = S("/apis/kueue.x-k8s.io/v1beta2/clusterqueues");
    load_run(l, 1, 1);
    l->target = S("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues");
    load_run(l, 1, 1);
}

static void rest(int ms)
{
    poll(NULL, 0, ms);
}

/* ---- rows ---- */

static int64_t await_stamp(void)
{
    int64_t at;

    for (;; rest(1)) {
        scoped(close_fd) int fd = open(stamp, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (read(fd, &at, sizeof(at)) != sizeof(at))
            die("the job left no time");
        unlink(stamp);
        return at;
    }
}

/* One job after another, each when the one before has ended and all is quiet again. */
static double submit_us(const char *queue)
{
    int64_t v[SUBMITS];
    struct load l;
    char command[4400];

    load_init(&l);
    snprintf(command, sizeof(command), "\"%s\",\"%s\"", stamper, stamp);
    for (size_t i = 0; i < SUBMITS; i++) {
        jobs(&l, text("%s-%zu", queue ? "q" : "s", i));
        l.queue = queue;
        l.command = command;
        l.cpu = queue ? "100m" : NULL;
        int64_t began = now_ns();
        load_run(&l, 1, 1);
        v[i] = await_stamp() - began;
        rest(40);
    }
    load_fini(&l);
    return median_us(v, SUBMITS);
}

static void submits(void)
{
    double spawn_us = floor_spawn_us();
    struct berth b = start(NULL);
    static const struct {
        const char *work, *queue;
        int commits;
    } rows[] = {
        {"submit -> first instruction, p50, queued",   "default", 6},
        {"submit -> first instruction, p50, no queue", NULL,      3},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        double floor = rows[i].commits * floor_commit_us(stamp) + spawn_us;
        double us = submit_us(rows[i].queue);
        row(rows[i].work, text("%.2f ms", us / 1e3), text("<= %.2f ms", floor / 1e3 + 2),
            text("%.2f ms", floor / 1e3 + 0.7),
            text("%.2f ms: %d commits, 1 spawn", floor / 1e3, rows[i].commits));
    }
    stop(b);
    forget();
}

static int64_t n_finished(struct load *l)
{
    struct str left = fetch(l, S("/metrics")), line;
    int64_t n = 0;

    while (str_cut(left, '\n', &line, &left)) {
        struct str head, last;
        int64_t v;
        if (str_starts(line, S("kueue_finished_workloads_total{")) &&
            str_rcut(line, ' ', &head, &last) && str_to_i64(last, &v))
            n += v;
    }
    return n;
}

static void bulk(void)
{
    double spawn_rate = floor_spawn_rate();
    struct berth b = start(NULL);
    struct load l;

    load_init(&l);
    make_queue(&l, text("%dm", BULK_SLOTS));
    int64_t before = n_finished(&l), began = now_ns();
    jobs(&l, "bulk");
    l.queue = "b";
    l.cpu = "1m";
    l.command = "\"true\"";
    load_run(&l, BULK_JOBS, BULK_SLOTS);
    while (n_finished(&l) < before + BULK_JOBS)
        rest(20);
    double rate = BULK_JOBS / ((double)(now_ns() - began) / 1e9);
    row("`true` jobs in bulk, durable, 64 slots", text("%.0f/s", rate), ">= 400/s",
        text("%.0f/s", MAX(1000, spawn_rate / 2)), text("%.0f/s: spawns", spawn_rate));
    load_fini(&l);
    stop(b);
    forget();
}

static void lists(void);

static void creates(void)
{
    double commit_us = floor_commit_us(stamp);
    struct berth b = start(NULL);
    struct load l;

    load_init(&l);
    jobs(&l, "one");
    l.is_suspended = true;
    l.command = "\"true\"";
    double one = SERIAL_CREATES / ((double)load_run(&l, SERIAL_CREATES, 1) / 1e9);
    row("durable creates of Jobs, 1 client", text("%.0f/s", one), ">= 1000/s", "",
        text("%.0f/s: commits", 1e6 / commit_us));
    jobs(&l, "many");
    int64_t n = LISTED - SERIAL_CREATES;
    double many = (double)n / ((double)load_run(&l, n, CREATES_IN_FLIGHT) / 1e9);
    row("durable creates of Jobs, 256 in flight", text("%.0f/s", many), ">= 8000/s",
        "the store's", "");
    load_fini(&l);
    lists();
    stop(b);
    forget();
}

static void lists(void)
{
    struct load l;
    int64_t best = INT64_MAX;
    size_t bytes = 0;

    load_init(&l);
    for (int i = 0; i < STARTS; i++) {
        int64_t began = now_ns();
        bytes = fetch(&l, S("/apis/batch/v1/namespaces/default/jobs")).len;
        best = MIN(best, now_ns() - began);
    }
    char *from = mem_zero(bytes, 1), *to = mem_zero(bytes, 1);
    memset(from, 1, bytes);
    memset(to, 2, bytes); /* the pages are there */
    int64_t began = now_ns();
    memcpy(to, from, bytes);
    double copy_ms = (double)(now_ns() - began) / 1e6;
    use(to[bytes / 2]);
    free(from);
    free(to);
    row("list of 10,000 Jobs as JSON", text("%.1f ms", (double)best / 1e6), "<= 60 ms",
        "memcpy-like", text("%.1f ms: copying %.1f MB", copy_ms, (double)bytes / 1e6));
    load_fini(&l);
}

static void idle(void)
{
    struct berth b = start(NULL);
    pid_t pid = b.pid;

    rest(3000); /* the start is over */
    int64_t wakes = wake_ups(pid), writes = proc_number(pid, "io", "syscw:");
    rest((int)idle_s * 1000);
    wakes = wake_ups(pid) - wakes;
    writes = proc_number(pid, "io", "syscw:") - writes;
    row("resident, idle", text("%.1f MiB", rss_kib(pid) / 1024), "<= 14 MiB", "8 MiB", "");
    row(text("wake-ups, writes in %lld s without clients", (long long)idle_s),
        text("%lld, %lld", (long long)wakes, (long long)writes), "<= 60, 0", "0, 0", "");
    stop(b);
    forget();
}

static void empty_starts(void)
{
    double spawn_us = floor_spawn_us(), best = 1e18;

    for (int i = 0; i < STARTS; i++) {
        struct berth b = start(NULL);
        best = MIN(best, b.ready_ms);
        stop(b);
        forget();
    }
    row("start, empty directory -> ready", text("%.1f ms", best), "<= 60 ms", "20 ms",
        text("%.2f ms: 1 spawn", spawn_us / 1e3));
}

/* So many Jobs wait for one quota; then a start with them. */
static void pending(void)
{
    struct berth b = start("--no-node");
    struct load l;

    load_init(&l);
    rest(3000);
    make_queue(&l, "1");
    double before = rss_kib(b.pid);
    jobs(&l, "p");
    l.queue = "b";
    l.cpu = "1";
    l.command = "\"true\"";
    load_run(&l, n_many, CREATES_IN_FLIGHT);
    const char *want = text("\"pendingWorkloads\":%lld,", (long long)n_many - 1);
    for (;; rest(500)) { /* until each has been looked at */
        struct str queue = fetch(&l, S("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/b"));
        if (str_has(queue, str_from(want)))
            break;
    }
    rest(3000);
    row(text("memory of each of %lld pending Jobs", (long long)n_many),
        text("%.2f kB", (rss_kib(b.pid) - before) * 1.024 / (double)n_many), "<= 6 kB", "2 kB",
        "");
    load_fini(&l);
    stop(b);
    b = start("--no-node");
    row(text("start with %lld Jobs -> ready", (long long)n_many),
        text("%.2f s", b.ready_ms / 1e3), "<= 1.5 s", "0.3 s", "");
    stop(b);
    forget();
}

static void simulated(void)
{
    char file[128];
    struct load l = {.prefix = "j", .queue = "default", .cpu = "1", .command = "\"true\""};

    snprintf(file, sizeof(file), "%s/jobs.json", root);
    FILE *f = fopen(file, "we");
    fprintf(f, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
    for (int64_t i = 0; i < LISTED; i++) {
        struct buf body = {0};
        job_body(&l, i, &body);
        fprintf(f, "%s%.*s", i ? "," : "", STR_ARG(buf_str(&body)));
        buf_fini(&body);
    }
    fprintf(f, "]}");
    fclose(f);
    char *argv[] = {program, (char[]){"simulate"}, (char[]){"-f"}, file, NULL};
    int64_t began = now_ns();
    pid_t pid;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, program, &files, NULL, argv, environ) != 0)
        die("cannot start '%s'", program);
    posix_spawn_file_actions_destroy(&files);
    int status;
    waitpid(pid, &status, 0);
    row("10,000 Jobs through a simulated Berth",
        status ? "failed" : text("%.1f s", (double)(now_ns() - began) / 1e9), "<= 5 s", "1 s",
        "");
    unlink(file);
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"submit",    submits     },
    {"bulk",      bulk        },
    {"creates",   creates     },
    {"start",     empty_starts},
    {"idle",      idle        },
    {"pending",   pending     },
    {"simulated", simulated   },
};

static bool is_wanted(const char *name, char **names, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return n <= 0;
}

int main(int argc, char **argv)
{
    n_many = argc > 1 ? strtoll(argv[1], NULL, 10) : n_many;
    idle_s = argc > 2 ? strtoll(argv[2], NULL, 10) : idle_s;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0)
        die("cannot tell where this program is");
    int at = (int)(strrchr(self, '/') - self);
    snprintf(program, sizeof(program), "%.*s/../berth", at, self);
    snprintf(stamper, sizeof(stamper), "%.*s/bench-stamp", at, self);
    if (access(stamper, X_OK) < 0)
        die("%s is not built: scripts/bench berth builds it", stamper);
    snprintf(root, sizeof(root), "/var/tmp/berth-bench-XXXXXX");
    if (!mkdtemp(root))
        die("cannot make a directory in /var/tmp");
    snprintf(dir, sizeof(dir), "%s/data", root);
    snprintf(stamp, sizeof(stamp), "%s/stamp", root);
    signal(SIGPIPE, SIG_IGN);

    row("work", "figure", "must", "aim", "floor");
    for (size_t i = 0; i < countof(parts); i++) {
        if (is_wanted(parts[i].name, argv + 3, argc - 3))
            parts[i].run();
    }
    rmdir(root);
    return 0;
}
