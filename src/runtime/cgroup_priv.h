/* cgroup_priv.h - groups of processes with limits, on v2, v1 and what lies between
 *
 * A machine may mount the controllers on v1 trees, on the v2 tree, or split them (hybrid: v1
 * limits and one v2 tree that can only kill and tell whether anybody lives). One container is
 * one directory of the same name in each tree that it needs: its id, or a number of groups that
 * were ready before it came.
 */
#pragma once

#include "base/base.h"
#include "runtime/runtime.h"

enum cgroup_tree {
    TREE_UNIFIED, /* v2: kill, populated; limits where its controllers are ours */
    TREE_CPU,     /* v1 */
    TREE_MEMORY,
    TREE_PIDS,
    TREE_FREEZER, /* v1 only: finds what to kill where there is no v2 */
    N_TREES,
};

#define CGROUP_PATH_MAX 1024

/* What this machine lets us do; found once. */
struct cgroup_host {
    char base[N_TREES]
             [CGROUP_PATH_MAX]; /* our directory in each tree; "" where there is none */
    bool unified_cpu, unified_memory, unified_pids; /* limits work on v2 */
    bool can_cpu, can_memory, can_pids, can_kill;
    char condition[ERR_TEXT_MAX]; /* what does not work and the way out, or "" */
    int64_t era;                  /* in the names of ready groups: no keeper has another's */
    uint32_t n_ready;             /* made so far */
};

/* `name` is our directory's, `era` a number that no earlier keeper of it had. */
void cgroup_host_find(struct cgroup_host *h, const char *name, int64_t era);
/* Removes what an earlier keeper left empty. */
void cgroup_host_sweep(const struct cgroup_host *h);
/* Removes our (empty) directories. */
void cgroup_host_leave(struct cgroup_host *h);

/* One container's groups. */
struct cgroup {
    uint8_t made;       /* a bit a tree */
    uint32_t number;    /* of those that were made ready; 0: named by the container */
    int fd;             /* of the v2 directory, for CLONE_INTO_CGROUP; -1 */
    int tasks[N_TREES]; /* `tasks` of the v1 trees, for the child to enter; -1 */
    int share;          /* of groups made ready: the file of their share of the processor; -1 */
};

/* Of no groups: what nothing has been made in yet. */
void cgroup_clear(struct cgroup *c);

/* Makes what the limits need. What cannot be made is left out and logged. */
void cgroup_make(const struct cgroup_host *h, const char *id, const struct runtime_limits *l,
                 struct cgroup *out);
/* Makes groups for a container that is still to come: those that nearly all need. False where
 * they cannot be made. */
bool cgroup_make_ready(struct cgroup_host *h, struct cgroup *out);
/* May these be a container's of such limits? Then they get them, and `tasks` stays only of the
 * trees that it needs. False: nothing was done. */
bool cgroup_take_ready(const struct cgroup_host *h, const struct runtime_limits *l,
                       struct cgroup *c);
/* Closes the descriptors, when the child has been started. */
void cgroup_started(struct cgroup *c);
/* SIGKILL to everything inside. */
void cgroup_kill(const struct cgroup_host *h, const char *id, const struct cgroup *c);
/* How often the kernel killed something for the memory limit. */
int64_t cgroup_oom_kills(const struct cgroup_host *h, const char *id, const struct cgroup *c);
/* True when all directories are gone; false while something in them still dies. */
bool cgroup_remove(const struct cgroup_host *h, const char *id, struct cgroup *c);
/* The directories, one a line, for the journal. */
void cgroup_dirs(const struct cgroup_host *h, const char *id, const struct cgroup *c,
                 struct buf *out);
/* What a dead keeper left: kills everything in these directories and removes them. False while
 * something still dies. */
bool cgroup_clear_dirs(struct str dirs);

/* ---- pure parts, for tests ---- */

/* The path of a controller ("" is v2) in /proc/self/cgroup. */
bool cgroup_own_path(struct str proc_self_cgroup, struct str controller, struct str *out);
/* Where a controller's tree is mounted, in /proc/self/mounts. "" is v2. */
bool cgroup_mount(struct str mounts, struct str controller, struct str *out);
int64_t cgroup_shares(int64_t cpu_millis); /* v1 cpu.shares */
int64_t cgroup_weight(int64_t cpu_millis); /* v2 cpu.weight */
int64_t cgroup_quota_us(int64_t cpu_millis);
#define CGROUP_PERIOD_US 100000
