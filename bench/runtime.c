/* runtime.c - how soon a process starts under the keeper, and how many a second
 *
 * Prints one figure a line, `name value unit`, each beside the floor of the same machine: a
 * plain posix_spawn of the same program.
 */
#include <ftw.h>
#include <poll.h>
#include <sys/stat.h>

#include "floor.h"
#include "io/io.h"
#include "runtime/keeper.h"
#include "runtime/runtime.h"

#define SERIAL 200
#define BULK 2000
#define IN_FLIGHT 64
#define REST_MS 10

static char dir[64], stamp[96], self[4096];

/* The keeper, and the program that is started: it leaves the time of its first instruction. */
__attribute__((constructor)) static void be_another(int argc, char **argv)
{
    int64_t now = now_ns();

    if (keeper_is_asked(argc, argv))
        _exit(keeper_main(argc, argv));
    if (argc == 3 && strcmp(argv[1], "stamp") == 0) {
        int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        _exit(write(fd, &now, sizeof(now)) == sizeof(now) ? 0 : 1);
    }
}

static int64_t read_stamp(void)
{
    int64_t at = 0;
    scoped(close_fd) int fd = open(stamp, O_RDONLY | O_CLOEXEC);

    if (read(fd, &at, sizeof(at)) != sizeof(at))
        die("the child left no time");
    return at;
}

static double floor_start(int rest_ms)
{
    char *argv[] = {self, (char[]){"stamp"}, stamp, NULL};
    int64_t v[SERIAL];

    for (size_t i = 0; i < SERIAL; i++) {
        poll(NULL, 0, rest_ms);
        int64_t began = now_ns();
        spawn_plain(argv);
        waitpid(-1, NULL, 0);
        v[i] = read_stamp() - began;
    }
    return median_us(v, SERIAL);
}

/* ---- under the keeper ---- */

struct bench {
    struct io *io;
    struct runtime *rt;
    int started, ended, n;
    bool is_serial, with_limits;
};

static void start_one(struct bench *b)
{
    static int count;
    char id[32];
    snprintf(id, sizeof(id), "b%d", count++);
    struct str argv[] = {str_from(self), S("stamp"), str_from(stamp)},
               bulk[] = {S("/bin/true")};
    struct str env[] = {S("PATH=/bin:/usr/bin")};
    struct runtime_spec spec = {.id = str_from(id),
                                .argv = b->is_serial ? argv : bulk,
                                .n_argv = b->is_serial ? 3 : 1,
                                .env = env,
                                .n_env = 1,
                                .log_path = str_from("/tmp/berth-bench-no-output/log"),
                                .limits.cpu_weight_millis = b->with_limits ? 1000 : 0};

    b->started++;
    runtime_start(b->rt, &spec, NULL, NULL);
}

static void ready(void *ctx)
{
    io_stop(((struct bench *)ctx)->io);
}

static void ended(void *ctx, const struct runtime_status *s)
{
    struct bench *b = ctx;

    runtime_forget(b->rt, s->id);
    b->ended++;
    if (!b->is_serial && b->started < b->n)
        start_one(b);
    if (b->is_serial || b->ended == b->n)
        io_stop(b->io);
}

static double start_us(struct bench *b, bool with_limits, int rest_ms)
{
    int64_t v[SERIAL];

    b->is_serial = true;
    b->with_limits = with_limits;
    for (size_t i = 0; i < SERIAL; i++) {
        poll(NULL, 0, rest_ms);
        int64_t began = now_ns();
        start_one(b);
        io_run(b->io);
        v[i] = read_stamp() - began;
    }
    return median_us(v, SERIAL);
}

static double rate(struct bench *b, bool with_limits)
{
    b->is_serial = false;
    b->with_limits = with_limits;
    b->started = b->ended = 0;
    b->n = BULK;
    int64_t began = now_ns();
    for (int i = 0; i < IN_FLIGHT; i++)
        start_one(b);
    io_run(b->io);
    return BULK / ((double)(now_ns() - began) / 1e9);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

int main(void)
{
    static const struct runtime_events events = {.ready = ready, .exited = ended};
    struct bench b = {0};
    struct err err;

    snprintf(dir, sizeof(dir), "/tmp/berth-bench-XXXXXX");
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0 || !mkdtemp(dir))
        die("cannot make a directory in /tmp");
    snprintf(stamp, sizeof(stamp), "%s/stamp", dir);
    b.io = io_real_new(&err);
    b.rt = runtime_new(b.io, str_from(dir), &events, &b, &err);
    io_run(b.io);
    printf("%-44s %10.1f us\n", "floor: spawn to first instruction, p50", floor_start(0));
    printf("%-44s %10.1f us\n", "runtime: start to first instruction, p50",
           start_us(&b, false, 0));
    printf("%-44s %10.1f us\n", "runtime: the same with a cpu share", start_us(&b, true, 0));
    printf("%-44s %10.1f us\n", "floor: spawn after a rest", floor_start(REST_MS));
    printf("%-44s %10.1f us\n", "runtime: start after a rest, a cpu share",
           start_us(&b, true, REST_MS));
    printf("%-44s %10.1f /s\n", "floor: true, 8 in flight", floor_spawn_rate());
    printf("%-44s %10.1f /s\n", "runtime: true, 64 in flight", rate(&b, false));
    printf("%-44s %10.1f /s\n", "runtime: the same with a cpu share", rate(&b, true));
    runtime_free(b.rt);
    io_run(b.io);
    io_free(b.io);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
