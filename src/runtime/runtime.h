/* runtime.h - the processes of containers, which outlive us
 *
 * A container is a process and all it starts, run by the *keeper*: a small process of its own,
 * one for each data directory, parent of every container, owner of their logs and exit codes.
 * It stays when berth ends, however it ends; the next berth finds it, and learns what happened
 * meanwhile. Where the keeper itself dies, its containers die with it and are reported `lost`.
 *
 * An id is started once, ever: asking again is refused with ERR_EXISTS, which is how nothing
 * runs twice. Everything here is asynchronous; every callback is a later turn of the loop.
 */
#pragma once

#include "base/base.h"

struct io;
struct runtime;

#define RUNTIME_MAX_ID 240
#define RUNTIME_MAX_STRINGS 16384 /* arguments plus environment */
#define RUNTIME_MAX_GROUPS 1024
#define RUNTIME_MAX_MOUNTS 1024

struct runtime_mount {
    struct str source, target; /* absolute paths */
    bool read_only;
};

struct runtime_limits {
    int64_t cpu_millis;        /* at most this much; 0: no limit */
    int64_t cpu_weight_millis; /* share under contention; 0: the system's default */
    int64_t memory;            /* bytes; 0: no limit */
    int64_t pids;              /* 0: no limit */
};

/* What to run. Every str is copied by runtime_start(). */
struct runtime_spec {
    struct str id; /* 1..RUNTIME_MAX_ID of [A-Za-z0-9._-], never used before */
    const struct str *argv;
    size_t n_argv; /* at least 1; argv[0] is searched in the environment's PATH */
    const struct str *env;
    size_t n_env;        /* NAME=value */
    struct str cwd;      /* "" is / */
    bool cwd_may_fail;   /* / instead, where it cannot be entered */
    struct str log_path; /* absolute; directories are made at the first byte; "" drops output */
    int64_t log_max;     /* bytes before a log file is rotated; 0: RUNTIME_LOG_MAX */
    int64_t log_files;   /* files kept, the newest included; 0: RUNTIME_LOG_FILES */
    bool has_user;       /* false: as the keeper's own user */
    uint32_t uid, gid;
    const uint32_t *groups; /* supplementary */
    size_t n_groups;
    struct runtime_limits limits;
    const struct runtime_mount *mounts; /* root only: bind mounts in a private namespace */
    size_t n_mounts;
    bool no_new_privs;
    int32_t oom_score; /* -1000..1000; 0 leaves it */
};

#define RUNTIME_LOG_MAX (INT64_C(10) << 20)
#define RUNTIME_LOG_FILES 5

enum runtime_state {
    RUNTIME_RUNNING,
    RUNTIME_STOPPING, /* asked to end, still there */
    RUNTIME_EXITED,
};

/* A container as the keeper knows it. Strs are borrowed for the call, or until the container
 * is forgotten. */
struct runtime_status {
    struct str id;
    enum runtime_state state;
    int32_t pid;
    struct instant started, finished;
    int32_t exit_code; /* 128 + n where signal n killed it; 127 not found, 126 not executable */
    int32_t signal;    /* n, or 0 */
    bool oom_killed;   /* the memory limit did it */
    bool lost;         /* its keeper died: what became of it is not known, and it was killed */
    struct str error;  /* why it could not be started at all, or "" */
};

struct runtime_events {
    /* The keeper answered and told all it knows; again after it was lost and replaced. */
    void (*ready)(void *ctx);
    /* A container ended (also one that was started by an earlier berth). */
    void (*exited)(void *ctx, const struct runtime_status *s);
    /* No keeper can be had; it is tried again with back-off. */
    void (*failed)(void *ctx, const struct err *err);
};

/* Finds the keeper of this data directory or starts one (`berth keeper DIR`, see keeper.h).
 * `events` must outlive it. NULL: ERR_IO where the directory cannot be used. */
struct runtime *runtime_new(struct io *io, struct str data_dir,
                            const struct runtime_events *events, void *ctx, struct err *err);
/* Containers run on. Not from within one of its callbacks. Accepts NULL. */
void runtime_free(struct runtime *rt);

bool runtime_is_ready(const struct runtime *rt);
/* What the keeper cannot do here, as a sentence for a condition; "" where all is well. */
struct str runtime_condition(const struct runtime *rt);
/* True where containers may run as other users, and mounts work. */
bool runtime_is_root(const struct runtime *rt);

/* `s` on success, else `err`: ERR_EXISTS (s is what is known of that id), ERR_INVALID,
 * ERR_IO, ERR_UNAVAILABLE where the keeper was lost before it answered. A program that cannot
 * be executed has started and exits at once, with `error` in its status. `done` may be NULL. */
typedef void runtime_start_fn(void *ctx, const struct runtime_status *s, const struct err *err);
void runtime_start(struct runtime *rt, const struct runtime_spec *spec, runtime_start_fn *done,
                   void *ctx);
/* No done() follows any more from starts with this ctx. */
void runtime_start_cancel(struct runtime *rt, void *ctx);

/* SIGTERM to its process group, and SIGKILL to all it started after `grace` (0: at once). A
 * later call may only shorten the grace. exited() tells the end. Unknown ids are ignored. */
void runtime_stop(struct runtime *rt, struct str id, struct span grace);
/* The record of an exited container is dropped, by the keeper too. */
void runtime_forget(struct runtime *rt, struct str id);

/* NULL where there is none. Borrowed until the loop next turns. */
const struct runtime_status *runtime_find(const struct runtime *rt, struct str id);
typedef void runtime_each_fn(void *ctx, const struct runtime_status *s);
void runtime_list(const struct runtime *rt, runtime_each_fn *each, void *ctx);

/* ---- logs ---- */

struct runtime_log_options {
    bool follow; /* until the container ends */
    bool timestamps;
    int64_t tail;         /* the last lines only; -1 all */
    int64_t limit_bytes;  /* -1 none */
    struct instant since; /* zero: from the start */
    bool only_stdout, only_stderr;
};

struct runtime_log_events {
    void (*data)(void *ctx, struct str bytes); /* borrowed for the call */
    void (*end)(void *ctx, const struct err *err);
};

struct runtime_log;
/* Reads what a container with this log_path wrote, oldest first, over rotated files. A log
 * that does not exist is an empty one. `rt` may be NULL where follow is false. */
struct runtime_log *runtime_log_open(struct io *io, struct runtime *rt, struct str id,
                                     struct str log_path, const struct runtime_log_options *o,
                                     const struct runtime_log_events *events, void *ctx);
/* The last lines of the newest file, at most `bytes` of them, at once: for a message. */
struct str runtime_log_last(struct arena *a, struct str log_path, int64_t lines, size_t bytes);
void runtime_log_pause(struct runtime_log *l);
void runtime_log_resume(struct runtime_log *l);
/* No callback follows. Accepts NULL. */
void runtime_log_close(struct runtime_log *l);
