/* spawn.c - clone3 into the control group, then what stands between it and the program
 *
 *     spawn():       clone ──▶ settle_in ──────────────────────────────▶ become ──▶ the program
 *     spawn_ahead(): clone ──▶ settle_in ──▶ waits for spawn_let_go() ──▶ become ──▶ the
 * program
 *
 * No pidfd is kept: the keeper is the parent, so a pid stays the child's until the keeper
 * itself has waited for it.
 */
#include "runtime/spawn_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const int spawn_ignored[SPAWN_N_IGNORED] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ, SIGTSTP};

/* What the child reads: all of it, C strings too, is in memory that was made before the clone
 * or is shared with the child. */
struct child {
    const struct spawn_env *env;
    struct runtime_spec spec; /* argv, env and the texts of mounts stand below */
    int tasks[N_TREES];       /* to enter; -1 */
    struct spawn_slot *slot;
    char **argv, **envp;
    const char *path; /* PATH of the environment */
    char *cwd;
    char **sources, **targets;
};

static no_return void stop(const struct child *c, enum spawn_stage stage, size_t index)
{
    c->slot->error = errno;
    c->slot->index = (uint16_t)index;
    c->slot->stage = (uint16_t)stage;
    _exit(stage == SPAWN_EXEC && errno == ENOENT ? 127 : 126);
}

static void enter_groups(const struct child *c)
{
    for (int t = 0; t < N_TREES; t++)
        if (c->tasks[t] >= 0 && write(c->tasks[t], "0", 1) < 0)
            stop(c, SPAWN_CGROUP, (size_t)t);
}

static void reset_signals(void)
{
    struct sigaction sa = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (size_t i = 0; i < countof(spawn_ignored); i++)
        sigaction(spawn_ignored[i], &sa, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_oom_score(const struct child *c)
{
    char text[16];

    if (!c->spec.oom_score && !c->env->reset_oom_score)
        return;
    int n = snprintf(text, sizeof(text), "%d", (int)c->spec.oom_score);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, text, (size_t)n) < 0 && c->env->reset_oom_score)
        n = (int)write(fd, "0", 1); /* lowering it needs a right; never keep the keeper's */
    close_fd(&fd);
}

/* Makes the directories (or the empty file) that a mount goes on, with the user's own rights.
 */
static void make_target(char *target, bool is_dir)
{
    for (char *slash = strchr(target + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(target, 0755);
        *slash = '/';
    }
    if (is_dir)
        mkdir(target, 0755);
    else {
        int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        close_fd(&fd);
    }
}

/* Source and target are looked up with the file rights of the user, so that a mount shows
 * nobody what they could not reach; the mount itself needs ours. No path is looked up twice. */
static void mount_one(const struct child *c, size_t i)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID};
    struct stat st;

    int source = open(c->sources[i], O_PATH | O_CLOEXEC);
    if (source < 0 || fstat(source, &st) < 0)
        stop(c, SPAWN_MOUNT_SOURCE, i);
    int target = open(c->targets[i], O_PATH | O_CLOEXEC);
    if (target < 0) {
        make_target(c->targets[i], S_ISDIR(st.st_mode));
        target = open(c->targets[i], O_PATH | O_CLOEXEC);
    }
    if (target < 0)
        stop(c, SPAWN_MOUNT_TARGET, i);
    if (c->spec.mounts[i].read_only)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    int tree = open_tree(source, "",
                         OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
    if (tree < 0 ||
        mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0 ||
        move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        stop(c, SPAWN_MOUNT, i);
    close(tree);
    close(source);
    close(target);
}

static void set_groups(const struct child *c)
{
    if (syscall(SYS_setgroups, c->spec.n_groups, c->spec.groups) < 0)
        stop(c, SPAWN_USER, 0);
}

static void make_mounts(const struct child *c)
{
    const struct runtime_spec *s = &c->spec;
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (s->n_mounts == 0)
        return;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        stop(c, SPAWN_MOUNT, 0);
    if (s->has_user) {
        set_groups(c);
        setfsgid(s->gid);
        setfsuid(s->uid);
    }
    for (size_t i = 0; i < s->n_mounts; i++)
        mount_one(c, i);
    setfsuid(uid);
    setfsgid(gid);
}

static void become_user(const struct child *c)
{
    const struct runtime_spec *s = &c->spec;

    /* A file tree that the user shaped must not meet a program that trusts it as root. */
    if (s->no_new_privs || (s->n_mounts && s->has_user && s->uid != 0))
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!s->has_user)
        return;
    if (geteuid() != 0 && s->uid == geteuid() && s->gid == getegid())
        return; /* as we are already; groups are the kernel's */
    set_groups(c);
    if (syscall(SYS_setresgid, s->gid, s->gid, s->gid) < 0 ||
        syscall(SYS_setresuid, s->uid, s->uid, s->uid) < 0)
        stop(c, SPAWN_USER, 0);
}

static void execute(const struct child *c)
{
    const char *name = c->argv[0];
    char file[4096];
    int first = ENOENT;

    if (strchr(name, '/')) {
        execve(name, c->argv, c->envp);
        return;
    }
    for (const char *at = c->path; *name; at++) {
        const char *end = strchrnul(at, ':');
        int n = snprintf(file, sizeof(file), "%.*s%s%s", (int)(end - at), at,
                         end == at ? "./" : "/", name);
        if (n > 0 && n < (int)sizeof(file)) {
            execve(file, c->argv, c->envp);
            if (errno != ENOENT && errno != ENOTDIR && first == ENOENT)
                first = errno; /* found, and refused: what shells call 126 */
        }
        if (!*end)
            break;
        at = end;
    }
    errno = first;
}

static void die_with_keeper(const struct spawn_env *env)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != env->pid)
        _exit(137);
}

/* What every child does, whatever it is going to be. */
static void settle_in(const struct spawn_env *env, int out, int err)
{
    close(env->lock_fd);
    setsid();
    dup2(env->null_fd, 0);
    dup2(out, 1);
    dup2(err, 2);
    setrlimit(RLIMIT_NOFILE, &env->nofile);
    umask(022);
    reset_signals();
}

static no_return void become(struct child *c)
{
    enter_groups(c);
    set_oom_score(c);
    make_mounts(c);
    become_user(c);
    die_with_keeper(c->env); /* after the change of user, which clears it */
    if (chdir(c->cwd) < 0 && (!c->spec.cwd_may_fail || chdir("/") < 0))
        stop(c, SPAWN_CWD, 0);
    execute(c);
    stop(c, SPAWN_EXEC, 0);
}

static char **strings(struct arena *a, const struct str *s, size_t n)
{
    char **z = arena_array(a, char *, n + 1);

    for (size_t i = 0; i < n; i++)
        z[i] = str_z(a, s[i]);
    return z;
}

static const char *find_path(char **envp)
{
    const char *path = DEFAULT_PATH;

    for (; *envp; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            path = *envp + 5;
    return path;
}

static long clone_into(int cgroup_fd)
{
    struct clone_args args = {.exit_signal = SIGCHLD};

    if (cgroup_fd >= 0) {
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)cgroup_fd;
    }
    return syscall(SYS_clone3, &args, sizeof(args));
}

/* Where the kernel refuses to start there, the child is moved after its birth. */
static void move_into(int cgroup_fd, long pid)
{
    char text[16];
    int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    int n = snprintf(text, sizeof(text), "%ld", pid);

    if (fd < 0 || write(fd, text, (size_t)n) < 0)
        log_warn("container is outside its control group", "error='%s'", strerror(errno));
    close_fd(&fd);
}

/* All that the child needs, in the arena. */
static struct child *pack(struct arena *a, const struct spawn_env *env,
                          const struct runtime_spec *spec, const struct cgroup *cg,
                          struct spawn_slot *slot)
{
    struct child *c = arena_new(a, struct child);
    struct runtime_mount *mounts = arena_array(a, struct runtime_mount, spec->n_mounts + 1);
    uint32_t *groups = arena_array(a, uint32_t, spec->n_groups + 1);

    *c = (struct child){
        .env = env,
        .spec = *spec,
        .slot = slot,
        .argv = strings(a, spec->argv, spec->n_argv),
        .envp = strings(a, spec->env, spec->n_env),
        .cwd = spec->cwd.len ? str_z(a, spec->cwd) : str_z(a, S("/")),
        .sources = arena_array(a, char *, spec->n_mounts + 1),
        .targets = arena_array(a, char *, spec->n_mounts + 1),
    };
    memcpy(c->tasks, cg->tasks, sizeof(c->tasks));
    c->path = find_path(c->envp);
    if (spec->n_groups)
        memcpy(groups, spec->groups, spec->n_groups * sizeof(*groups));
    for (size_t i = 0; i < spec->n_mounts; i++) {
        mounts[i] = spec->mounts[i];
        c->sources[i] = str_z(a, mounts[i].source);
        c->targets[i] = str_z(a, mounts[i].target);
    }
    c->spec.groups = groups;
    c->spec.mounts = mounts;
    return c;
}

int spawn(const struct spawn_env *env, const struct runtime_spec *spec, const struct cgroup *cg,
          int out, int err, struct spawn_slot *slot)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct child *c = pack(&a, env, spec, cg, slot);

    *slot = (struct spawn_slot){0};
    long pid = clone_into(cg->fd);
    bool moved = pid < 0 && cg->fd >= 0;
    if (moved)
        pid = clone_into(-1);
    if (pid == 0) {
        settle_in(env, out, err);
        become(c);
    }
    if (pid > 0 && moved)
        move_into(cg->fd, pid);
    return (int)pid;
}

/* ---- ahead of the container ---- */

static int by_number(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

/* Ours but these: a pipe of another container must not stay open for as long as this waits. */
static void close_others(int *keep, size_t n)
{
    int from = 3;

    qsort(keep, n, sizeof(*keep), by_number);
    for (size_t i = 0; i < n; i++) {
        if (keep[i] < from)
            continue;
        if (keep[i] > from)
            close_range((unsigned)from, (unsigned)keep[i] - 1, 0);
        from = keep[i] + 1;
    }
    close_range((unsigned)from, ~0U, 0);
}

static no_return void wait_for_letter(const struct spawn_env *env, const struct cgroup *cg,
                                      int out, int err, int go, void *letter)
{
    int keep[N_TREES + 2] = {go, env->null_fd};
    char byte;

    settle_in(env, out, err);
    memcpy(keep + 2, cg->tasks, sizeof(cg->tasks));
    close_others(keep, countof(keep));
    die_with_keeper(env);
    if (read(go, &byte, 1) != 1)
        _exit(0); /* nothing came for it */
    if (byte == SPAWN_MUTE) {
        dup2(env->null_fd, 1);
        dup2(env->null_fd, 2);
    }
    become(letter);
}

int spawn_ahead(const struct spawn_env *env, const struct cgroup *cg, int out, int err,
                struct spawn_ahead *s)
{
    int ends[2];

    s->letter =
        mmap(NULL, SPAWN_LETTER, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->letter == MAP_FAILED)
        return -1;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        munmap(s->letter, SPAWN_LETTER);
        return -1;
    }
    long pid = clone_into(cg->fd);
    if (pid == 0)
        wait_for_letter(env, cg, out, err, ends[0], s->letter);
    close(ends[0]);
    s->go = ends[1];
    s->pid = (int)pid;
    if (pid < 0)
        spawn_ahead_end(s);
    return pid < 0 ? -1 : 0;
}

int spawn_let_go(struct spawn_ahead *s, const struct spawn_env *env,
                 const struct runtime_spec *spec, const struct cgroup *cg, bool has_output,
                 struct spawn_slot *slot)
{
    scoped(arena_fini) struct arena a = arena_over(s->letter, SPAWN_LETTER);
    char byte = has_output ? SPAWN_HEARD : SPAWN_MUTE;

    pack(&a, env, spec, cg, slot);
    *slot = (struct spawn_slot){0};
    return a.total == 0 && write(s->go, &byte, 1) == 1 ? s->pid : -1;
}

void spawn_ahead_end(struct spawn_ahead *s)
{
    close(s->go);
    munmap(s->letter, SPAWN_LETTER);
}

int spawn_verdict(const struct spawn_slot *slot, const struct runtime_spec *spec,
                  struct buf *text)
{
    struct str program = spec->n_argv ? spec->argv[0] : (struct str){0};
    struct runtime_mount none = {0};
    const struct runtime_mount *m =
        slot->index < spec->n_mounts ? &spec->mounts[slot->index] : &none;
    const char *why = strerror(slot->error);

    switch ((enum spawn_stage)slot->stage) {
    case SPAWN_RAN:
        return 0;
    case SPAWN_EXEC:
        buf_printf(text, "cannot execute '%.*s': %s", STR_ARG(program),
                   slot->error == ENOENT ? "command not found" : why);
        return slot->error == ENOENT ? 127 : 126;
    case SPAWN_CWD:
        buf_printf(text, "cannot enter working directory '%.*s': %s", STR_ARG(spec->cwd), why);
        return 128;
    case SPAWN_USER:
        buf_printf(text, "cannot become user %u: %s", spec->uid, why);
        return 128;
    case SPAWN_CGROUP:
        buf_printf(text, "cannot enter the control group: %s", why);
        return 128;
    case SPAWN_MOUNT_SOURCE:
        buf_printf(text, "cannot mount '%.*s': %s", STR_ARG(m->source), why);
        return 128;
    case SPAWN_MOUNT_TARGET:
        buf_printf(text, "cannot make mount point '%.*s': %s", STR_ARG(m->target), why);
        return 128;
    case SPAWN_MOUNT:
        buf_printf(text, "cannot mount on '%.*s': %s", STR_ARG(m->target), why);
        return 128;
    }
    return 128;
}
