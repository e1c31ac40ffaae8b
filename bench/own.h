/* own.h - a durable berth of a bench program's own, and what it costs
 *
 * $BERTH is the program (build/berth), $TMPDIR where its directory goes.
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/client_http.h"
#include "io/io.h"

#define OWN_MAX_ARGS 16

extern char **environ;

struct berth {
    pid_t pid;
    char dir[256];
    struct str socket; /* its path */
};

/* ---- a berth of our own ---- */

/* Waits until it says that it is ready. */
static inline void own_await_ready(int fd)
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

static inline int own_start(pid_t *pid, const char *const *args, int out)
{
    posix_spawn_file_actions_t files;

    posix_spawn_file_actions_init(&files);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    int rc = posix_spawnp(pid, args[0], &files, NULL, (char *const *)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* `how` are more arguments, ended by NULL. */
static inline void berth_start(struct berth *b, struct arena *a, const char *const *how)
{
    const char *program = getenv("BERTH"), *tmp = getenv("TMPDIR");
    int out[2];

    snprintf(b->dir, sizeof(b->dir), "%s/berth-bench.XXXXXX", tmp ? tmp : "/var/tmp");
    if (!mkdtemp(b->dir) || pipe2(out, O_CLOEXEC) < 0)
        die("no directory for berth at '%s'", b->dir);
    const char *args[OWN_MAX_ARGS + 8] = {
        program ? program : "build/berth", "up", "--data", b->dir, "--listen", "127.0.0.1:0"};
    for (size_t i = 0; how[i] && i < OWN_MAX_ARGS; i++)
        args[6 + i] = how[i];
    if (own_start(&b->pid, args, out[1]) != 0)
        die("cannot start '%s'", args[0]);
    close(out[1]);
    own_await_ready(out[0]);
    close(out[0]);
    b->socket = str_printf(a, "%s/berth.sock", b->dir);
}

static inline void berth_stop(struct berth *b)
{
    const char *args[] = {"rm", "-rf", b->dir, NULL};
    pid_t pid;

    kill(b->pid, SIGTERM);
    waitpid(b->pid, NULL, 0);
    if (own_start(&pid, args, -1) == 0)
        waitpid(pid, NULL, 0);
}

struct usage {
    double cpu_ms, rss_mib;
    uint64_t writes, commits;
};

static inline void own_read_cpu(pid_t pid, struct usage *u)
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

struct own_asking {
    struct io *io;
    struct buf text;
};

static inline void own_got(void *ctx, struct str bytes)
{
    struct own_asking *q = ctx;

    buf_add(&q->text, bytes);
}

static inline void own_got_all(void *ctx, const struct err *err)
{
    struct own_asking *q = ctx;

    if (err)
        die("no metrics: %s", err->text);
    io_stop(q->io);
}

static inline uint64_t own_metric(struct str text, const char *name)
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

static inline struct usage usage_of(struct io *io, struct client *client, pid_t pid)
{
    static const struct http_call_events events = {.data = own_got, .end = own_got_all};
    struct own_asking q = {.io = io};
    struct usage u = {0};

    client_http_call(client, &(struct http_ask){.method = S("GET"), .target = S("/metrics")},
                     &events, &q);
    io_run(io);
    u.writes = own_metric(buf_str(&q.text), "berth_store_writes_total");
    u.commits = own_metric(buf_str(&q.text), "berth_store_commits_total");
    buf_fini(&q.text);
    own_read_cpu(pid, &u);
    return u;
}
