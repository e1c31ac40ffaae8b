/* cgroup.c - the two layouts behind one interface */
#include "runtime/cgroup_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_KILL_ROUNDS 16 /* of reading cgroup.procs, against what forks meanwhile */

/* ---- pure ---- */

static bool next_line(struct str *rest, struct str *line)
{
    if (rest->len == 0)
        return false;
    str_cut(*rest, '\n', line, rest);
    return true;
}

static bool list_has(struct str list, struct str word)
{
    struct str one;

    while (list.len) {
        str_cut(list, ',', &one, &list);
        if (str_eq(one, word))
            return true;
    }
    return false;
}

bool cgroup_own_path(struct str proc_self_cgroup, struct str controller, struct str *out)
{
    struct str line, id, names, path;

    while (next_line(&proc_self_cgroup, &line)) {
        if (!str_cut(line, ':', &id, &path) || !str_cut(path, ':', &names, &path))
            continue;
        if (controller.len ? list_has(names, controller) : str_eqz(id, "0")) {
            *out = path;
            return true;
        }
    }
    return false;
}

bool cgroup_mount(struct str mounts, struct str controller, struct str *out)
{
    struct str line, device, dir, type, options;

    while (next_line(&mounts, &line)) {
        str_cut(line, ' ', &device, &line);
        str_cut(line, ' ', &dir, &line);
        str_cut(line, ' ', &type, &line);
        str_cut(line, ' ', &options, &line);
        if (controller.len ? str_eqz(type, "cgroup") && list_has(options, controller)
                           : str_eqz(type, "cgroup2")) {
            *out = dir;
            return true;
        }
    }
    return false;
}

int64_t cgroup_shares(int64_t cpu_millis)
{
    return MIN(MAX(cpu_millis * 1024 / 1000, (int64_t)2), (int64_t)262144);
}

int64_t cgroup_weight(int64_t cpu_millis)
{
    return 1 + (cgroup_shares(cpu_millis) - 2) * 9999 / 262142;
}

int64_t cgroup_quota_us(int64_t cpu_millis)
{
    return MAX(cpu_millis * CGROUP_PERIOD_US / 1000, (int64_t)1000);
}

/* ---- small files ---- */

static int join(char out[CGROUP_PATH_MAX], const char *a, const char *b)
{
    int n = snprintf(out, CGROUP_PATH_MAX, "%s/%s", a, b);

    return n > 0 && n < CGROUP_PATH_MAX ? 0 : -1;
}

static int write_file(const char *dir, const char *name, const char *text)
{
    char path[CGROUP_PATH_MAX];
    int fd = join(path, dir, name) < 0 ? -1 : open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    int saved = errno;
    close(fd);
    errno = saved;
    return n < 0 ? -1 : 0;
}

static struct str read_file(const char *dir, const char *name, char *out, size_t room)
{
    char path[CGROUP_PATH_MAX];
    int fd = join(path, dir, name) < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n;

    if (fd < 0)
        return (struct str){0};
    while (len < room && (n = read(fd, out + len, room - len)) > 0)
        len += (size_t)n;
    close(fd);
    return str_of(out, len);
}

/* The number after `key ` at the start of a line. */
static int64_t keyed(struct str text, struct str key)
{
    struct str line, name, value;
    int64_t n = 0;

    while (next_line(&text, &line))
        if (str_cut(line, ' ', &name, &value) && str_eq(name, key))
            str_to_i64(str_trim(value), &n);
    return n;
}

/* ---- what the machine has ---- */

static bool is_delegated(const char *dir)
{
    char v[4] = "";

    return (getxattr(dir, "user.delegate", v, sizeof(v) - 1) > 0 && v[0] == '1') ||
           (getxattr(dir, "trusted.delegate", v, sizeof(v) - 1) > 0 && v[0] == '1');
}

static bool make_dir(const char *dir)
{
    return (mkdir(dir, 0755) == 0 || errno == EEXIST) && access(dir, W_OK) == 0;
}

/* Moves everything that runs directly in `dir` to dir/main: only leaves of the v2 tree may
 * hold processes once controllers are passed on. */
static void move_to_leaf(const char *dir)
{
    char leaf[CGROUP_PATH_MAX], procs[8192];
    struct str pid;

    if (join(leaf, dir, "main") < 0 || !make_dir(leaf))
        return;
    struct str list = read_file(dir, "cgroup.procs", procs, sizeof(procs));
    while (next_line(&list, &pid)) {
        char text[16];
        snprintf(text, sizeof(text), "%.*s", STR_ARG(pid));
        write_file(leaf, "cgroup.procs", text);
    }
}

static bool pass_on(const char *dir, struct str available, const char *controller)
{
    char plus[16];

    snprintf(plus, sizeof(plus), "+%s", controller);
    return str_has(available, str_from(controller)) &&
           write_file(dir, "cgroup.subtree_control", plus) == 0;
}

/* Controllers of the v2 tree, from `parent` down to our directory's children. */
static void pass_controllers(struct cgroup_host *h, const char *parent)
{
    char text[256];
    struct str have = read_file(parent, "cgroup.controllers", text, sizeof(text));
    const char *base = h->base[TREE_UNIFIED];

    h->unified_cpu = pass_on(parent, have, "cpu") && pass_on(base, have, "cpu");
    h->unified_memory = pass_on(parent, have, "memory") && pass_on(base, have, "memory");
    h->unified_pids = pass_on(parent, have, "pids") && pass_on(base, have, "pids");
}

static void find_unified(struct cgroup_host *h, struct str mounts, struct str own,
                         const char *name)
{
    struct str mount, path;
    char top[CGROUP_PATH_MAX], mine[CGROUP_PATH_MAX];
    char *base = h->base[TREE_UNIFIED];

    if (!cgroup_mount(mounts, S(""), &mount) || !cgroup_own_path(own, S(""), &path))
        return;
    snprintf(top, sizeof(top), "%.*s", STR_ARG(mount));
    snprintf(mine, sizeof(mine), "%.*s%.*s", STR_ARG(mount),
             STR_ARG(str_eqz(path, "/") ? S("") : path));
    if (str_ends(path, S("/main")))
        mine[strlen(mine) - strlen("/main")] = 0; /* an earlier keeper's move_to_leaf() */
    bool delegated = is_delegated(mine);
    /* Ours by delegation, or as root beside everything else, or at least below ourselves. */
    const char *parents[] = {delegated || geteuid() != 0 ? mine : top, mine};
    for (size_t i = 0; i < countof(parents); i++) {
        if (join(base, parents[i], name) == 0 && make_dir(base)) {
            if (delegated)
                move_to_leaf(parents[i]);
            pass_controllers(h, parents[i]);
            return;
        }
    }
    base[0] = 0;
}

static bool find_v1(struct cgroup_host *h, enum cgroup_tree tree, const char *controller,
                    struct str mounts, struct str own, const char *name)
{
    struct str mount, path;
    char *base = h->base[tree];

    if (!cgroup_mount(mounts, str_from(controller), &mount) ||
        !cgroup_own_path(own, str_from(controller), &path))
        return false;
    int n = snprintf(base, CGROUP_PATH_MAX, "%.*s%.*s/%s", STR_ARG(mount),
                     STR_ARG(str_eqz(path, "/") ? S("") : path), name);
    if (n < CGROUP_PATH_MAX && make_dir(base))
        return true;
    base[0] = 0;
    return false;
}

static void say_condition(struct cgroup_host *h)
{
    char missing[64] = "";
    const struct {
        bool can;
        const char *name;
    } rows[] = {
        {h->can_cpu,    "cpu"   },
        {h->can_memory, "memory"},
        {h->can_pids,   "pids"  },
    };

    for (size_t i = 0; i < countof(rows); i++)
        if (!rows[i].can)
            snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s%s",
                     missing[0] ? ", " : "", rows[i].name);
    if (missing[0])
        snprintf(h->condition, sizeof(h->condition),
                 "limits of %s are not enforced here: no control group with these controllers "
                 "can be made%s",
                 missing,
                 geteuid() == 0 ? ""
                                : " by this user; start berth as root or by "
                                  "'systemd-run --user --scope -p Delegate=yes'");
    else
        h->condition[0] = 0;
}

void cgroup_host_find(struct cgroup_host *h, const char *name, int64_t era)
{
    static char mounts_text[65536], own_text[8192];
    struct str mounts = read_file("/proc/self", "mounts", mounts_text, sizeof(mounts_text));
    struct str own = read_file("/proc/self", "cgroup", own_text, sizeof(own_text));

    *h = (struct cgroup_host){.era = era};
    find_unified(h, mounts, own, name);
    h->can_cpu = h->unified_cpu || find_v1(h, TREE_CPU, "cpu", mounts, own, name);
    h->can_memory = h->unified_memory || find_v1(h, TREE_MEMORY, "memory", mounts, own, name);
    h->can_pids = h->unified_pids || find_v1(h, TREE_PIDS, "pids", mounts, own, name);
    h->can_kill =
        h->base[TREE_UNIFIED][0] || find_v1(h, TREE_FREEZER, "freezer", mounts, own, name);
    say_condition(h);
}

void cgroup_host_sweep(const struct cgroup_host *h)
{
    struct dirent *e;

    for (int t = 0; t < N_TREES; t++) {
        DIR *d = h->base[t][0] ? opendir(h->base[t]) : NULL;
        while (d && (e = readdir(d)) != NULL)
            if (e->d_type == DT_DIR && e->d_name[0] != '.')
                unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        if (d)
            closedir(d);
    }
}

void cgroup_host_leave(struct cgroup_host *h)
{
    for (int t = 0; t < N_TREES; t++)
        if (h->base[t][0])
            rmdir(h->base[t]);
}

/* ---- one container ---- */

void cgroup_clear(struct cgroup *c)
{
    *c = (struct cgroup){.fd = -1, .share = -1};
    for (int t = 0; t < N_TREES; t++)
        c->tasks[t] = -1;
}

static bool path_of(const struct cgroup_host *h, int tree, const char *id,
                    const struct cgroup *c, char out[CGROUP_PATH_MAX])
{
    char ready[48];

    if (c->number) {
        snprintf(ready, sizeof(ready), "ready-%" PRIx64 "-%" PRIu32, h->era, c->number);
        id = ready;
    }
    return h->base[tree][0] && join(out, h->base[tree], id) == 0;
}

static void set(const char *dir, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64, value);
    if (write_file(dir, name, text) < 0)
        log_warn("limit not set", "file='%s/%s' value=%s error='%s'", dir, name, text,
                 strerror(errno));
}

/* Found and opened while nobody waited for it, where the groups were made ready. */
static void set_share(const struct cgroup *c, const char *dir, const char *name, int64_t value)
{
    if (c->share < 0 || dprintf(c->share, "%" PRId64, value) < 0)
        set(dir, name, value);
}

static void set_unified(const struct cgroup_host *h, const char *dir, const struct cgroup *c,
                        const struct runtime_limits *l)
{
    char text[48];

    if (h->unified_cpu && l->cpu_millis) {
        snprintf(text, sizeof(text), "%" PRId64 " %d", cgroup_quota_us(l->cpu_millis),
                 CGROUP_PERIOD_US);
        if (write_file(dir, "cpu.max", text) < 0)
            log_warn("limit not set", "file='%s/cpu.max' error='%s'", dir, strerror(errno));
    }
    if (h->unified_cpu && l->cpu_weight_millis)
        set_share(c, dir, "cpu.weight", cgroup_weight(l->cpu_weight_millis));
    if (h->unified_memory && l->memory) {
        set(dir, "memory.max", l->memory);
        write_file(dir, "memory.swap.max", "0"); /* absent without swap */
        set(dir, "memory.oom.group", 1);
    }
    if (h->unified_pids && l->pids)
        set(dir, "pids.max", l->pids);
}

static void set_v1(int tree, const char *dir, const struct cgroup *c,
                   const struct runtime_limits *l)
{
    if (tree == TREE_CPU && l->cpu_millis) {
        set(dir, "cpu.cfs_period_us", CGROUP_PERIOD_US);
        set(dir, "cpu.cfs_quota_us", cgroup_quota_us(l->cpu_millis));
    }
    if (tree == TREE_CPU && l->cpu_weight_millis)
        set_share(c, dir, "cpu.shares", cgroup_shares(l->cpu_weight_millis));
    if (tree == TREE_MEMORY)
        set(dir, "memory.limit_in_bytes", l->memory);
    if (tree == TREE_PIDS)
        set(dir, "pids.max", l->pids);
}

static bool is_wanted(int tree, const struct runtime_limits *l)
{
    switch ((enum cgroup_tree)tree) {
    case TREE_CPU:
        return l->cpu_millis || l->cpu_weight_millis;
    case TREE_MEMORY:
        return l->memory;
    case TREE_PIDS:
        return l->pids;
    default:
        return true;
    }
}

/* One directory; false where it cannot be. An old one is taken over. */
static bool make_tree(int tree, const char *dir, struct cgroup *c)
{
    if (mkdir(dir, 0755) < 0 && errno != EEXIST) {
        log_warn("control group not made", "dir='%s' error='%s'", dir, strerror(errno));
        return false;
    }
    c->made |= (uint8_t)(1 << tree);
    if (tree == TREE_UNIFIED) {
        c->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return true;
    }
    /* `tasks`, not cgroup.procs: a thread that moves itself alone waits for nobody, where a
     * whole process waits some 10 ms for all processors. */
    char tasks[CGROUP_PATH_MAX];
    if (join(tasks, dir, "tasks") == 0)
        c->tasks[tree] = open(tasks, O_WRONLY | O_CLOEXEC);
    return true;
}

static void set_limits(const struct cgroup_host *h, int tree, const char *dir,
                       const struct cgroup *c, const struct runtime_limits *l)
{
    if (tree == TREE_UNIFIED)
        set_unified(h, dir, c, l);
    else
        set_v1(tree, dir, c, l);
}

static void open_share(const struct cgroup_host *h, int tree, const char *dir, struct cgroup *c)
{
    char path[CGROUP_PATH_MAX];
    const char *name = tree == TREE_CPU                         ? "cpu.shares"
                       : tree == TREE_UNIFIED && h->unified_cpu ? "cpu.weight"
                                                                : NULL;

    if (name && join(path, dir, name) == 0)
        c->share = open(path, O_WRONLY | O_CLOEXEC);
}

void cgroup_make(const struct cgroup_host *h, const char *id, const struct runtime_limits *l,
                 struct cgroup *c)
{
    char dir[CGROUP_PATH_MAX];

    cgroup_clear(c);
    for (int t = 0; t < N_TREES; t++)
        if (is_wanted(t, l) && path_of(h, t, id, c, dir) && make_tree(t, dir, c))
            set_limits(h, t, dir, c, l);
}

/* Weights are what a container of a pod has; a memory group is dear where nobody needs it. */
static const struct runtime_limits usual = {.cpu_weight_millis = 1};

bool cgroup_make_ready(struct cgroup_host *h, struct cgroup *c)
{
    char dir[CGROUP_PATH_MAX];
    bool is_good = true;

    cgroup_clear(c);
    c->number = ++h->n_ready;
    for (int t = 0; t < N_TREES; t++)
        if (is_wanted(t, &usual) && path_of(h, t, "", c, dir)) {
            is_good = make_tree(t, dir, c) && is_good;
            open_share(h, t, dir, c);
        }
    return is_good;
}

bool cgroup_take_ready(const struct cgroup_host *h, const struct runtime_limits *l,
                       struct cgroup *c)
{
    char dir[CGROUP_PATH_MAX];

    for (int t = 0; t < N_TREES; t++)
        if (is_wanted(t, l) && h->base[t][0] && !(c->made & (1 << t)))
            return false;
    for (int t = 0; t < N_TREES; t++) {
        if (is_wanted(t, l) && path_of(h, t, "", c, dir)) {
            set_limits(h, t, dir, c, l);
        } else if (c->tasks[t] >= 0) {
            close(c->tasks[t]);
            c->tasks[t] = -1;
        }
    }
    return true;
}

void cgroup_started(struct cgroup *c)
{
    close_fd(&c->fd);
    close_fd(&c->share);
    c->fd = c->share = -1;
    for (int t = 0; t < N_TREES; t++) {
        close_fd(&c->tasks[t]);
        c->tasks[t] = -1;
    }
}

/* Kills all in one directory; true where nothing was there. */
static bool kill_dir(const char *dir)
{
    char procs[16384];
    struct str pid;
    int64_t n;

    if (write_file(dir, "cgroup.kill", "1") == 0)
        return true;
    for (int round = 0; round < MAX_KILL_ROUNDS; round++) {
        struct str list = read_file(dir, "cgroup.procs", procs, sizeof(procs));
        if (list.len == 0)
            return true;
        while (next_line(&list, &pid))
            if (str_to_i64(pid, &n) && n > 1 && n != getpid())
                kill((pid_t)n, SIGKILL);
    }
    return false;
}

void cgroup_kill(const struct cgroup_host *h, const char *id, const struct cgroup *c)
{
    static const enum cgroup_tree order[] = {TREE_UNIFIED, TREE_FREEZER, TREE_PIDS, TREE_MEMORY,
                                             TREE_CPU};
    char dir[CGROUP_PATH_MAX];

    for (size_t i = 0; i < countof(order); i++) {
        if ((c->made & (1 << order[i])) && path_of(h, (int)order[i], id, c, dir)) {
            kill_dir(dir);
            return; /* every tree holds the same processes */
        }
    }
}

int64_t cgroup_oom_kills(const struct cgroup_host *h, const char *id, const struct cgroup *c)
{
    char dir[CGROUP_PATH_MAX], text[1024];

    if ((c->made & (1 << TREE_MEMORY)) && path_of(h, TREE_MEMORY, id, c, dir))
        return keyed(read_file(dir, "memory.oom_control", text, sizeof(text)), S("oom_kill"));
    if (h->unified_memory && path_of(h, TREE_UNIFIED, id, c, dir))
        return keyed(read_file(dir, "memory.events", text, sizeof(text)), S("oom_kill"));
    return 0;
}

bool cgroup_remove(const struct cgroup_host *h, const char *id, struct cgroup *c)
{
    char dir[CGROUP_PATH_MAX];

    for (int t = 0; t < N_TREES; t++) {
        if (!(c->made & (1 << t)) || !path_of(h, t, id, c, dir))
            continue;
        if (rmdir(dir) == 0 || errno == ENOENT)
            c->made &= (uint8_t) ~(1 << t);
    }
    return c->made == 0;
}

void cgroup_dirs(const struct cgroup_host *h, const char *id, const struct cgroup *c,
                 struct buf *out)
{
    char dir[CGROUP_PATH_MAX];

    for (int t = 0; t < N_TREES; t++)
        if ((c->made & (1 << t)) && path_of(h, t, id, c, dir))
            buf_printf(out, "%s\n", dir);
}

bool cgroup_clear_dirs(struct str dirs)
{
    struct str line;
    bool gone = true;

    while (next_line(&dirs, &line)) {
        char dir[CGROUP_PATH_MAX];
        if (line.len >= sizeof(dir))
            continue;
        snprintf(dir, sizeof(dir), "%.*s", STR_ARG(line));
        if (access(dir, F_OK) < 0)
            continue;
        kill_dir(dir);
        if (rmdir(dir) < 0 && errno != ENOENT)
            gone = false;
    }
    return gone;
}
