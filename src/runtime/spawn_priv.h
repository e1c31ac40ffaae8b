/* spawn_priv.h - from a spec to a process that executes it
 *
 * The child is a copy of the keeper (which is small) that makes system calls only. What stops
 * it is written to a slot of shared memory before it exits, so that the keeper never waits:
 * a dead network file system blocks the child alone.
 */
#pragma once

#include <sys/resource.h>

#include "runtime/cgroup_priv.h"

enum spawn_stage {
    SPAWN_RAN, /* it got as far as the program */
    SPAWN_CGROUP,
    SPAWN_MOUNT_SOURCE,
    SPAWN_MOUNT_TARGET,
    SPAWN_MOUNT,
    SPAWN_USER,
    SPAWN_CWD,
    SPAWN_EXEC,
};

/* In memory that is shared with the child. */
struct spawn_slot {
    uint16_t stage;
    uint16_t index; /* of the mount */
    int32_t error;
};

struct spawn_env {
    int null_fd;          /* /dev/null, for reading and writing */
    int lock_fd;          /* the child must not hold it */
    int pid;              /* the keeper's */
    struct rlimit nofile; /* what children get back */
    bool reset_oom_score; /* ours is not what children should have */
};

/* Signals that the keeper ignores, and the child must not; all others have their default. */
#define SPAWN_N_IGNORED 6
extern const int spawn_ignored[SPAWN_N_IGNORED];

/* The pid, or -1 with errno. `out` and `err` are the writing ends (or null_fd). */
int spawn(const struct spawn_env *env, const struct runtime_spec *spec, const struct cgroup *cg,
          int out, int err, struct spawn_slot *slot);

/* A process that was made before its container came, and waits for it in its control groups
 * with its output open: most of what a start takes is done. */
struct spawn_ahead {
    int pid;
    int go;       /* one byte into it, and it becomes what the letter says */
    void *letter; /* shared with it */
};
#define SPAWN_LETTER ((size_t)64 << 10)
#define SPAWN_HEARD 'h'
#define SPAWN_MUTE 'm' /* its output is dropped */

/* 0, or -1 with nothing made. */
int spawn_ahead(const struct spawn_env *env, const struct cgroup *cg, int out, int err,
                struct spawn_ahead *s);
/* Its pid, or -1 where it cannot be this one, or is dead: then it never will be. `cg` are the
 * groups it was made in, and `tasks` those that it is still to enter. */
int spawn_let_go(struct spawn_ahead *s, const struct spawn_env *env,
                 const struct runtime_spec *spec, const struct cgroup *cg, bool has_output,
                 struct spawn_slot *slot);
/* Gives back our side; one that still waits ends by itself. */
void spawn_ahead_end(struct spawn_ahead *s);

/* The exit code that stands for this slot, and the sentence; 0 for SPAWN_RAN. */
int spawn_verdict(const struct spawn_slot *slot, const struct runtime_spec *spec,
                  struct buf *text);
