/* floor.h - what this machine needs at least: below these figures nobody gets
 *
 * A commit that lasts, a process, a rate of processes; in time of the clock, since waiting is
 * what they are made of. Medians, as for what stands beside them.
 */
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define FLOOR_COMMITS 500
#define FLOOR_COMMIT_BYTES 4096
#define FLOOR_SPAWNS 200
#define FLOOR_BULK 2000
#define FLOOR_IN_FLIGHT 8

extern char **environ;

static inline int by_size(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return (a > b) - (a < b);
}

static inline double median_us(int64_t *v, size_t n)
{
    qsort(v, n, sizeof(*v), by_size);
    return (double)v[n / 2] / 1e3;
}

static inline void spawn_plain(char **argv)
{
    pid_t pid;

    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0)
        die("cannot spawn %s", argv[0]);
}

/* One page written and on disk, into room that is already the file's. */
static inline double floor_commit_us(const char *path)
{
    static const char page[FLOOR_COMMIT_BYTES] = {7};
    int64_t v[FLOOR_COMMITS];
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || posix_fallocate(fd, 0, (off_t)sizeof(page) * FLOOR_COMMITS) != 0 ||
        fsync(fd) < 0)
        die("cannot make '%s'", path);
    for (size_t i = 0; i < FLOOR_COMMITS; i++) {
        int64_t began = now_ns();
        if (pwrite(fd, page, sizeof(page), (off_t)(i * sizeof(page))) != sizeof(page) ||
            fdatasync(fd) < 0)
            die("cannot write '%s'", path);
        v[i] = now_ns() - began;
    }
    close(fd);
    unlink(path);
    return median_us(v, FLOOR_COMMITS);
}

/* /bin/true from its start until it has been waited for. */
static inline double floor_spawn_us(void)
{
    char *argv[] = {(char[]){"/bin/true"}, NULL};
    int64_t v[FLOOR_SPAWNS];

    for (size_t i = 0; i < FLOOR_SPAWNS; i++) {
        int64_t began = now_ns();
        spawn_plain(argv);
        waitpid(-1, NULL, 0);
        v[i] = now_ns() - began;
    }
    return median_us(v, FLOOR_SPAWNS);
}

/* How many of them a second, some at a time. */
static inline double floor_spawn_rate(void)
{
    char *argv[] = {(char[]){"/bin/true"}, NULL};
    int64_t began = now_ns();

    for (int started = 0, live = 0; started < FLOOR_BULK || live;) {
        for (; live < FLOOR_IN_FLIGHT && started < FLOOR_BULK; live++, started++)
            spawn_plain(argv);
        waitpid(-1, NULL, 0);
        live--;
    }
    return FLOOR_BULK / ((double)(now_ns() - began) / 1e9);
}
