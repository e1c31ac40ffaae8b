/* runtime.c - a real keeper in a directory of its own */
#include "base/testing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/io.h"
#include "runtime/keeper.h"
#include "runtime/runtime.h"
#include "runtime/wire_priv.h"

#define WAIT_S 20 /* before a test gives up */

/* The keeper is this program, started anew. */
__attribute__((constructor)) static void be_keeper(int argc, char **argv)
{
    if (keeper_is_asked(argc, argv))
        _exit(keeper_main(argc, argv));
}

struct world {
    char dir[64];
    struct io *io;
    struct runtime *rt;
    struct io_timer *limit;
    struct arena arena;
    bool is_ready, timed_out;
    int n_exits, n_answers;
    enum err_code answer;
    struct runtime_status exited; /* the last */
    char error[ERR_TEXT_MAX];
};

static void on_ready(void *ctx)
{
    struct world *w = ctx;

    w->is_ready = true;
    io_stop(w->io);
}

static void on_exit_told(void *ctx, const struct runtime_status *s)
{
    struct world *w = ctx;

    w->n_exits++;
    w->exited = *s;
    snprintf(w->error, sizeof(w->error), "%.*s", STR_ARG(s->error));
    io_stop(w->io);
}

static void on_failed(void *ctx, const struct err *err)
{
    (void)ctx;
    fprintf(stderr, "# %s\n", err->text);
}

static const struct runtime_events events = {
    .ready = on_ready, .exited = on_exit_told, .failed = on_failed};

static void on_limit(void *ctx)
{
    struct world *w = ctx;

    w->timed_out = true;
    io_stop(w->io);
}

static void open_world(struct world *w, const char *dir)
{
    struct err err = {0};

    *w = (struct world){.arena = {0}};
    snprintf(w->dir, sizeof(w->dir), "%s", dir ? dir : "/tmp/berth-runtime-XXXXXX");
    if (!dir)
        check(mkdtemp(w->dir) != NULL);
    w->io = io_real_new(&err);
    w->limit = io_timer_new(w->io, on_limit, w);
    io_timer_set(w->limit, span_s(WAIT_S));
    w->rt = runtime_new(w->io, str_from(w->dir), &events, w, &err);
    check(w->rt != NULL);
    while (!w->is_ready && !w->timed_out)
        io_run(w->io);
    check(!w->timed_out);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void close_world(struct world *w, bool remove_dir)
{
    runtime_free(w->rt);
    io_timer_free(w->limit);
    io_run(w->io); /* until what was written has left */
    io_free(w->io);
    arena_fini(&w->arena);
    if (remove_dir)
        nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void on_started(void *ctx, const struct runtime_status *s, const struct err *err)
{
    struct world *w = ctx;

    check(err || s->pid > 0 || s->error.len);
    w->n_answers++;
    w->answer = err ? err->code : ERR_OK;
    if (err)
        snprintf(w->error, sizeof(w->error), "%s", err->text);
    io_stop(w->io);
}

static struct runtime_spec shell(struct world *w, const char *id, const char *script)
{
    struct str *argv = arena_array(&w->arena, struct str, 3);
    static const struct str env[] = {S_INIT("PATH=/bin:/usr/bin"), S_INIT("WHO=me")};

    argv[0] = S("sh");
    argv[1] = S("-c");
    argv[2] = str_from(script);
    return (struct runtime_spec){
        .id = str_from(id),
        .argv = argv,
        .n_argv = 3,
        .env = env,
        .n_env = 2,
        .log_path = str_printf(&w->arena, "%s/logs/%s/0.log", w->dir, id),
    };
}

static void start(struct world *w, const struct runtime_spec *spec)
{
    int before = w->n_answers;

    runtime_start(w->rt, spec, on_started, w);
    while (w->n_answers == before && !w->timed_out)
        io_run(w->io);
    check(!w->timed_out);
}

static void await_exit(struct world *w, int n)
{
    while (w->n_exits < n && !w->timed_out)
        io_run(w->io);
    check(!w->timed_out);
}

static void add_text(void *ctx, struct str bytes)
{
    buf_add(ctx, bytes);
}

static struct io *log_io;
static void end_text(void *ctx, const struct err *err)
{
    (void)ctx;
    (void)err;
    io_stop(log_io);
}

static const struct runtime_log_events text_events = {.data = add_text, .end = end_text};

/* Follows to its end. */
static struct str log_of(struct world *w, const struct runtime_spec *spec)
{
    struct buf text = buf_in(&w->arena, 64);
    struct runtime_log_options o = {.follow = true, .tail = -1, .limit_bytes = -1};

    log_io = w->io;
    struct runtime_log *l =
        runtime_log_open(w->io, w->rt, spec->id, spec->log_path, &o, &text_events, &text);
    io_run(w->io);
    runtime_log_close(l);
    return buf_str(&text);
}

static bool is_alive(pid_t pid)
{
    char path[64], text[512] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    const char *state = n > 0 ? strrchr(text, ')') : NULL;
    return state && state[2] != 'Z';
}

static void await_gone(pid_t pid)
{
    for (int i = 0; i < 500 && is_alive(pid); i++)
        usleep(10000);
    check(!is_alive(pid));
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512] = "";
    int64_t parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    check(n > 0);
    struct str rest = str_from(strrchr(text, ')') + 4), word;
    str_cut(rest, ' ', &word, &rest);
    check(str_to_i64(word, &parent));
    return (pid_t)parent;
}

TEST(runtime_ends)
{
    static const struct {
        const char *name, *script;
        int code, signal;
        const char *log;
    } cases[] = {
        {"success",             "true",                                    0,   0,  ""       },
        {"a code",              "exit 3",                                  3,   0,  ""       },
        {"killed by a signal",  "kill -TERM $$",                           143, 15, ""       },
        {"killed hard",         "kill -9 $$",                              137, 9,  ""       },
        {"output",              "echo out; echo err >&2",                  0,   0,  NULL     },
        {"its environment",     "echo $WHO $BERTH_CONTAINER",              0,   0,  "me c5\n"},
        {"it starts at /",      "pwd",                                     0,   0,  "/\n"    },
        {"nothing to read",     "cat; echo done",                          0,   0,  "done\n" },
        {"the rest is killed",  "sleep 1000 & setsid sleep 1001 & echo x", 0,   0,  "x\n"    },
        {"what it leaves open", "echo a; printf b",                        0,   0,  "a\nb"   },
    };
    struct world w;

    open_world(&w, NULL);
    for (size_t i = 0; i < countof(cases); i++) {
        char id[8];
        test_case(cases[i].name);
        snprintf(id, sizeof(id), "c%zu", i);
        struct runtime_spec spec = shell(&w, id, cases[i].script);
        start(&w, &spec);
        check_int(w.answer, ERR_OK);
        await_exit(&w, (int)i + 1);
        check_int(w.exited.exit_code, cases[i].code);
        check_int(w.exited.signal, cases[i].signal);
        check_same(w.exited.id, spec.id);
        check(w.exited.finished.ns >= w.exited.started.ns && w.exited.started.ns > 0);
        if (cases[i].log)
            check_samez(log_of(&w, &spec), cases[i].log);
    }
    close_world(&w, true);
}

TEST(runtime_cannot_start)
{
    static const struct {
        const char *name;
        struct str command, cwd;
        int code;
        const char *want;
    } cases[] = {
        {"not in PATH",       S_INIT("no-such-program"), {0},               127, "command not found"},
        {"not at its path",   S_INIT("/no/such"),        {0},               127, "command not found"},
        {"not executable",    S_INIT("/etc/passwd"),     {0},               126, "Permission denied"},
        {"a directory",       S_INIT("/etc"),            {0},               126, "Permission denied"},
        {"no such directory", S_INIT("true"),            S_INIT("/no/dir"), 128, "'/no/dir'"        },
        {"the empty command", S_INIT(""),                {0},               127, "cannot execute ''"},
    };
    struct world w;

    open_world(&w, NULL);
    for (size_t i = 0; i < countof(cases); i++) {
        char id[8];
        test_case(cases[i].name);
        snprintf(id, sizeof(id), "c%zu", i);
        struct runtime_spec spec = shell(&w, id, "");
        spec.argv = &cases[i].command;
        spec.n_argv = 1;
        spec.cwd = cases[i].cwd;
        start(&w, &spec);
        await_exit(&w, (int)i + 1);
        check_int(w.exited.exit_code, cases[i].code);
        check(str_has(str_from(w.error), str_from(cases[i].want)));
    }
    close_world(&w, true);
}

TEST(runtime_once)
{
    struct world w;

    open_world(&w, NULL);
    struct runtime_spec spec = shell(&w, "once", "echo x");
    start(&w, &spec);
    await_exit(&w, 1);
    start(&w, &spec);
    test_case("an id is started once");
    check_int(w.answer, ERR_EXISTS);
    test_case("an impossible spec is refused with the reason");
    spec = shell(&w, "two", "true");
    spec.log_path = S("relative");
    start(&w, &spec);
    check_int(w.answer, ERR_INVALID);
    check(str_has(str_from(w.error), S("not absolute")));
    test_case("a forgotten one is gone");
    runtime_forget(w.rt, S("once"));
    check(runtime_find(w.rt, S("once")) == NULL);
    char dir[64];
    snprintf(dir, sizeof(dir), "%s", w.dir);
    close_world(&w, false);
    open_world(&w, dir);
    check(runtime_find(w.rt, S("once")) == NULL);
    close_world(&w, true);
}

TEST(runtime_stop)
{
    static const struct {
        const char *name, *script;
        int grace_ms, code;
    } cases[] = {
        {"asked to end",              "sleep 1000",                            5000, 143},
        {"it may clean up",           "trap 'exit 9' TERM; sleep 1000 & wait", 5000, 9  },
        {"it will not hear",          "trap '' TERM; sleep 1000",              200,  137},
        {"at once",                   "sleep 1000",                            0,    137},
        {"stopped ones end too",      "kill -STOP $$",                         5000, 143},
        {"the one it waits for, too", "sleep 1000; exit 4",                    5000, 143},
    };
    struct world w;

    open_world(&w, NULL);
    for (size_t i = 0; i < countof(cases); i++) {
        char id[8];
        test_case(cases[i].name);
        snprintf(id, sizeof(id), "s%zu", i);
        struct runtime_spec spec = shell(&w, id, cases[i].script);
        start(&w, &spec);
        usleep(30000); /* the shell has set its trap */
        runtime_stop(w.rt, spec.id, span_ms(cases[i].grace_ms));
        await_exit(&w, (int)i + 1);
        check_int(w.exited.exit_code, cases[i].code);
    }
    close_world(&w, true);
}

/* A berth of its own that starts two containers and is killed. */
static void doomed_berth(const char *dir)
{
    struct world w;

    open_world(&w, dir);
    struct runtime_spec slow = shell(&w, "slow", "sleep 0.5; echo late; exit 7");
    struct runtime_spec quick = shell(&w, "quick", "exit 5");
    start(&w, &slow);
    runtime_start(w.rt, &quick, on_started, &w);
    while (w.n_answers < 2)
        io_run(w.io);
    kill(getpid(), SIGKILL);
}

TEST(runtime_survives_berth)
{
    struct world w;
    char dir[] = "/tmp/berth-runtime-XXXXXX";
    int status;

    check(mkdtemp(dir) != NULL);
    pid_t pid = fork();
    if (pid == 0)
        doomed_berth(dir);
    waitpid(pid, &status, 0);
    check(WIFSIGNALED(status));
    usleep(100000);

    open_world(&w, dir);
    const struct runtime_status *quick = runtime_find(w.rt, S("quick"));
    test_case("what ended meanwhile is told");
    check(quick != NULL);
    if (quick) {
        check_int(quick->state, RUNTIME_EXITED);
        check_int(quick->exit_code, 5);
    }
    test_case("what runs still runs");
    const struct runtime_status *slow = runtime_find(w.rt, S("slow"));
    check(slow && slow->state == RUNTIME_RUNNING);
    struct runtime_spec spec = shell(&w, "slow", "echo again");
    start(&w, &spec);
    check_int(w.answer, ERR_EXISTS);
    await_exit(&w, 1);
    check_int(w.exited.exit_code, 7);
    check_samez(log_of(&w, &spec), "late\n");
    close_world(&w, true);
}

TEST(runtime_keeper_lost)
{
    struct world w;

    open_world(&w, NULL);
    struct runtime_spec spec = shell(&w, "c", "sleep 1000 & setsid sleep 1000 & sleep 1000");
    struct runtime_spec done = shell(&w, "d", "exit 6");
    start(&w, &done);
    await_exit(&w, 1);
    start(&w, &spec);
    pid_t child = runtime_find(w.rt, S("c"))->pid;
    pid_t keeper = parent_of(child);
    check(keeper > 1);
    test_case("its containers die with it, and are told as lost");
    kill(keeper, SIGKILL);
    await_exit(&w, 2);
    check_same(w.exited.id, S("c"));
    check(w.exited.lost);
    check_int(w.exited.exit_code, 137);
    await_gone(child);
    test_case("what it knew is not lost");
    while (!runtime_is_ready(w.rt) && !w.timed_out)
        io_run(w.io);
    const struct runtime_status *d = runtime_find(w.rt, S("d"));
    check(d && d->exit_code == 6 && !d->lost);
    test_case("there is a new one");
    struct runtime_spec next = shell(&w, "e", "exit 8");
    start(&w, &next);
    await_exit(&w, 3);
    check_int(w.exited.exit_code, 8);
    close_world(&w, true);
}

/* The process that waits for the next container: of its keeper's name still, but no container.
 */
static pid_t spare_of(pid_t keeper)
{
    for (int i = 0; i < 500; i++, usleep(10000)) {
        DIR *proc = opendir("/proc");
        struct dirent *e;
        int64_t pid, found = 0;
        while (!found && (e = readdir(proc)) != NULL)
            if (str_to_i64(str_from(e->d_name), &pid) && is_alive((pid_t)pid) &&
                parent_of((pid_t)pid) == keeper)
                found = pid;
        closedir(proc);
        if (found)
            return (pid_t)found;
    }
    check(!"no process waits");
    return 0;
}

/* A descriptor that leads to such a thing. */
static bool holds(pid_t pid, const char *what)
{
    char dir[64], path[400], target[256];
    struct dirent *e;
    bool found = false;

    snprintf(dir, sizeof(dir), "/proc/%d/fd", pid);
    DIR *d = opendir(dir);
    while (d && (e = readdir(d)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[MAX(n, (ssize_t)0)] = 0;
        found = found || strstr(target, what);
    }
    if (d)
        closedir(d);
    return found;
}

/* It lets go of what it was born with, soon after. */
static bool lets_go_of_others(pid_t pid)
{
    for (int i = 0; i < 500; i++, usleep(10000))
        if (!holds(pid, "socket:") && !holds(pid, "anon_inode:") && !holds(pid, "/lock"))
            return true;
    return false;
}

TEST(runtime_spare)
{
    static const struct {
        const char *name, *script, *log;
        size_t more; /* bytes of environment */
        bool is_killed, is_mute, is_it;
    } cases[] = {
        {"it becomes the container",      "echo $WHO",                       "me\n",    0,      false, false, true },
        {"where nobody wants its output", "[ /proc/$$/fd/2 -ef /dev/null ]", NULL,      0,      false,
         true,                                                                                                true },
        {"a letter that is too long",     "echo ${#MORE}",                   "99995\n", 100000, false, false, false},
        {"it was killed meanwhile",       "echo again",                      "again\n", 0,      true,  false, false},
    };
    struct world w;

    open_world(&w, NULL);
    struct runtime_spec spec = shell(&w, "first", "sleep 0.1");
    start(&w, &spec);
    pid_t keeper = parent_of(runtime_find(w.rt, spec.id)->pid), spare = 0;
    await_exit(&w, 1);
    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        spec = shell(&w, str_z(&w.arena, str_printf(&w.arena, "s%zu", i)), cases[i].script);
        char *more = arena_array(&w.arena, char, cases[i].more + 1);
        memset(more, 'x', cases[i].more);
        memcpy(more, "MORE=", MIN(cases[i].more, (size_t)5));
        struct str env[] = {spec.env[0], spec.env[1], str_from(more)};
        spec.env = env;
        spec.n_env = cases[i].more ? 3 : 2;
        if (cases[i].is_mute)
            spec.log_path = S("");
        spare = spare_of(keeper);
        if (cases[i].is_killed) {
            kill(spare, SIGKILL);
            await_gone(spare);
        }
        start(&w, &spec);
        check_int(runtime_find(w.rt, spec.id)->pid == spare, cases[i].is_it);
        await_exit(&w, (int)i + 2);
        check_int(w.exited.exit_code, 0);
        if (cases[i].log)
            check_samez(log_of(&w, &spec), cases[i].log);
    }
    test_case("it holds nothing of others");
    spare = spare_of(keeper);
    check(lets_go_of_others(spare));
    test_case("it goes with its keeper");
    close_world(&w, true);
    await_gone(spare);
}

TEST(runtime_many)
{
    enum { N = 400 };
    struct world w;

    open_world(&w, NULL);
    static const struct str argv[] = {S_INIT("/bin/true")};
    struct span began = io_uptime_now(w.io);
    for (int i = 0; i < N; i++) {
        struct runtime_spec spec = {.id = str_printf(&w.arena, "m%d", i),
                                    .argv = argv,
                                    .n_argv = 1,
                                    .log_path = S("/tmp/berth-never-made/0.log")};
        runtime_start(w.rt, &spec, on_started, &w);
    }
    await_exit(&w, N);
    double s = (double)(io_uptime_now(w.io).ns - began.ns) / 1e9;
    fprintf(stderr, "# %d processes in %.3f s: %.0f a second\n", N, s, N / s);
    check_int(w.n_answers, N);
    close_world(&w, true);
}

/* Ticks of the processor that a process has used. */
static int64_t ticks_of(pid_t pid)
{
    char path[64], text[512] = "";
    int64_t ticks = 0, n;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    check(read(fd, text, sizeof(text) - 1) > 0);
    struct str rest = str_from(strrchr(text, ')') + 2), word;
    for (int field = 3; field <= 15; field++) {
        str_cut(rest, ' ', &word, &rest);
        if (field >= 14 && str_to_i64(word, &n)) /* utime, stime */
            ticks += n;
    }
    return ticks;
}

/* More answers than a socket holds, read only afterwards. */
TEST(runtime_slow_reader)
{
    enum { N = 8000 };
    struct world w;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct ucred keeper;
    socklen_t len = sizeof(keeper);
    struct buf hello = {0};
    char answers[4096];

    open_world(&w, NULL);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/keeper/socket", w.dir);
    check_int(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    check_int(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &keeper, &len), 0);
    for (int i = 0; i < N; i++)
        wire_end(&hello, wire_begin(&hello, WIRE_HELLO));
    check_int(write(fd, hello.at, hello.len), (int64_t)hello.len);
    buf_fini(&hello);
    struct timeval patience = {.tv_usec = 300000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    size_t total = 0;
    for (ssize_t n; (n = read(fd, answers, sizeof(answers))) > 0;)
        total += (size_t)n;
    check(total > (size_t)N * 16);
    test_case("once all is read, the keeper rests");
    int64_t before = ticks_of(keeper.pid);
    usleep(300000);
    check(ticks_of(keeper.pid) - before <= 2);
    close(fd);
    close_world(&w, true);
}

/* What a berth that knows nothing of an id would send. */
TEST(runtime_told_twice)
{
    struct world w;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct buf out = {0};
    char answers[4096];
    size_t n = 0;

    open_world(&w, NULL);
    struct runtime_spec spec = shell(&w, "twice", "true");
    start(&w, &spec);
    await_exit(&w, 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/keeper/socket", w.dir);
    check_int(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    wire_end(&out, wire_begin(&out, WIRE_HELLO));
    size_t begun = wire_begin(&out, WIRE_START);
    wire_put_spec(&out, &spec);
    wire_end(&out, begun);
    check_int(write(fd, out.at, out.len), (int64_t)out.len);
    buf_fini(&out);
    struct timeval patience = {.tv_sec = WAIT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    for (ssize_t got = 1; got > 0 && !memmem(answers, n, "started already", 15);
         n += (size_t)got)
        got = MAX(read(fd, answers + n, sizeof(answers) - n), (ssize_t)0);
    check(memmem(answers, n, "started already", 15) != NULL);
    close(fd);
    close_world(&w, true);
}

TEST(runtime_user)
{
    struct world w;
    static const uint32_t groups[] = {4242};

    if (test_skip_if(geteuid() != 0, "only root can become somebody else"))
        return;
    open_world(&w, NULL);
    struct runtime_spec spec =
        shell(&w, "u", "id -u; id -g; id -G; echo $$ > /proc/self/oom_score_adj");
    spec.has_user = true;
    spec.uid = 65534;
    spec.gid = 65533;
    spec.groups = groups;
    spec.n_groups = 1;
    start(&w, &spec);
    await_exit(&w, 1);
    check(str_starts(log_of(&w, &spec), S("65534\n65533\n65533 4242\n")));
    test_case("the keeper's death reaches other users' processes too");
    spec.id = S("v");
    static const struct str argv[] = {S_INIT("sleep"), S_INIT("1000")};
    spec.argv = argv;
    spec.n_argv = 2;
    start(&w, &spec);
    pid_t child = runtime_find(w.rt, S("v"))->pid;
    usleep(50000);
    kill(parent_of(child), SIGKILL);
    await_exit(&w, 2);
    check(w.exited.lost);
    await_gone(child);
    close_world(&w, true);
}

TEST(runtime_mounts)
{
    struct world w;

    if (test_skip_if(geteuid() != 0, "only root can mount"))
        return;
    open_world(&w, NULL);
    char from[96], secret[96];
    snprintf(from, sizeof(from), "%s/volume", w.dir);
    snprintf(secret, sizeof(secret), "%s/secret", w.dir);
    check_int(mkdir(from, 0755) | mkdir(secret, 0700), 0);
    snprintf(secret, sizeof(secret), "%s/secret/m", w.dir);
    check_int(chmod(w.dir, 0755), 0);
    const struct {
        const char *name, *script;
        struct runtime_mount mount;
        bool as_nobody;
        int code;
    } rows[] = {
        {"a directory",
         "echo hi > /tmp/berth-m/f; cat /tmp/berth-m/f", {.source = str_from(from), .target = S("/tmp/berth-m")},
         false, 0  },
        {"read only",
         "echo no > /tmp/berth-m/f || exit 3; exit 0",   {.source = str_from(from), .target = S("/tmp/berth-m"), .read_only = true},
         false, 3  },
        {"missing source",
         "exit 0",                                       {.source = S("/no/such"), .target = S("/tmp/berth-m")},
         false, 128},
        {"as a user: a place they may not make",
         "exit 0",                                       {.source = str_from(from), .target = str_from(secret)},
         true,  128},
        {"as a user: no new rights",
         "grep -q 'NoNewPrivs:.1' /proc/self/status",    {.source = str_from(from), .target = S("/tmp/berth-m")},
         true,  0  },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        test_case(rows[i].name);
        struct runtime_spec spec =
            shell(&w, str_printf(&w.arena, "m%zu%c", i, 0).at, rows[i].script);
        spec.mounts = &rows[i].mount;
        spec.n_mounts = 1;
        spec.has_user = rows[i].as_nobody;
        spec.uid = spec.gid = 65534;
        start(&w, &spec);
        await_exit(&w, (int)i + 1);
        check_int(w.exited.exit_code, rows[i].code);
    }
    test_case("the host does not see it");
    check_int(access("/tmp/berth-m/f", F_OK), -1);
    rmdir("/tmp/berth-m");
    close_world(&w, true);
}

TEST(runtime_memory_limit)
{
    struct world w;

    open_world(&w, NULL);
    if (!test_skip_if(str_has(runtime_condition(w.rt), S("memory")),
                      "no memory limits on this machine")) {
        struct runtime_spec spec = shell(&w, "oom", "tail /dev/zero");
        spec.limits = (struct runtime_limits){
            .memory = 16 << 20, .cpu_millis = 500, .cpu_weight_millis = 100, .pids = 100};
        start(&w, &spec);
        await_exit(&w, 1);
        check_int(w.exited.exit_code, 137);
        check(w.exited.oom_killed);
    }
    close_world(&w, true);
}
