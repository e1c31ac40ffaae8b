/* box.c - one container's life in the keeper
 *
 *     START -> journaled -> cloned -> its process ends -> all it left is killed
 *           -> its pipes are read to the end -> journaled -> told -> FORGET -> gone
 */
#include "runtime/keeper_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK "BERTH_CONTAINER=" /* in the environment of each: finds strays without cgroups */

static void journal_box(struct keeper *k, const struct box *b)
{
    scoped(buf_fini) struct buf dirs = {0};

    if (b->st.state != RUNTIME_EXITED)
        cgroup_dirs(&k->host, b->id, &b->cgroup, &dirs);
    buf_clear(&k->frame);
    size_t begun = wire_begin(&k->frame, WIRE_STATUS);
    wire_put_status(&k->frame, &b->st, buf_str(&dirs));
    wire_end(&k->frame, begun);
    journal_add(&k->journal, buf_str(&k->frame));
}

static void set_deadline(struct keeper *k, struct box *b, int64_t at)
{
    list_del(&b->timed);
    b->deadline = at;
    list_add(&k->timed, &b->timed);
}

/* ---- birth ---- */

static struct box *new_box(struct keeper *k, struct str id)
{
    struct box *b = mem_zero(1, sizeof(*b));

    b->arena = arena_sized(512);
    b->id = str_z(&b->arena, id);
    b->st.id = str_from(b->id);
    cgroup_clear(&b->cgroup);
    b->log.fd = -1;
    for (int i = 0; i < 2; i++)
        b->pipes[i] = (struct box_pipe){
            .watched.type = WATCH_PIPE,
            .box = b,
            .log = {.fd = -1, .epoll = k->epoll, .is_stderr = i == 1}
        };
    list_add(&k->boxes, &b->link);
    *map_put(&k->by_id, b->st.id) = b;
    k->n_boxes++;
    return b;
}

static void free_box(struct keeper *k, struct box *b)
{
    struct box **known = map_get(&k->by_id, b->st.id);

    if (known && *known == b)
        map_del(&k->by_id, b->st.id);
    list_del(&b->link);
    list_del(&b->starting);
    list_del(&b->timed);
    cgroup_started(&b->cgroup);
    logfile_fini(&b->log);
    arena_fini(&b->arena);
    free(b);
    k->n_boxes--;
}

static void copy_strs(struct arena *a, const struct str **at, size_t n, struct str more)
{
    struct str *to = arena_array(a, struct str, n + (more.len > 0));

    for (size_t i = 0; i < n; i++)
        to[i] = str_copy(a, (*at)[i]);
    if (more.len)
        to[n] = more;
    *at = to;
}

/* The spec lives in the box's arena until the clone. */
static void copy_spec(struct box *b, const struct runtime_spec *spec)
{
    struct arena *a = &b->arena;
    struct runtime_spec *s = &b->spec;

    *s = *spec;
    s->id = b->st.id;
    copy_strs(a, &s->argv, s->n_argv, (struct str){0});
    copy_strs(a, &s->env, s->n_env, str_printf(a, MARK "%s", b->id));
    s->n_env++;
    s->cwd = str_copy(a, s->cwd);
    uint32_t *groups = arena_array(a, uint32_t, s->n_groups + 1);
    if (s->n_groups)
        memcpy(groups, s->groups, s->n_groups * sizeof(*groups));
    s->groups = groups;
    struct runtime_mount *mounts = arena_array(a, struct runtime_mount, s->n_mounts + 1);
    for (size_t i = 0; i < s->n_mounts; i++) {
        mounts[i] = s->mounts[i];
        mounts[i].source = str_copy(a, mounts[i].source);
        mounts[i].target = str_copy(a, mounts[i].target);
    }
    s->mounts = mounts;
}

void box_add(struct keeper *k, const struct runtime_spec *spec)
{
    struct box *b = new_box(k, spec->id);

    b->st.state = RUNTIME_RUNNING;
    b->st.started = keeper_now();
    copy_spec(b, spec);
    logfile_init(&b->log, spec->log_path, spec->log_max, spec->log_files);
    if (!spare_take(k, b))
        cgroup_make(&k->host, b->id, &spec->limits, &b->cgroup);
    list_add(&k->starting, &b->starting);
    journal_box(k, b);
}

static uint32_t take_slot(struct keeper *k)
{
    if (k->free_slots.len)
        return vec_pop(&k->free_slots);
    return k->n_slots++;
}

void box_take_pipe(struct keeper *k, struct box *b, int i, int fd)
{
    b->pipes[i].log.fd = fd;
    keeper_watch(k, fd, &b->pipes[i].watched);
}

/* The writing end for the child; ours is watched. Without a pipe its output is dropped. */
static int open_pipe(struct keeper *k, struct box *b, int i)
{
    int ends[2];

    if (!b->log.path)
        return k->env.null_fd;
    if (keeper_pipe(ends) < 0) {
        log_error("no pipe for a container's output", "id=%s error='%s'", b->id,
                  strerror(errno));
        return k->env.null_fd;
    }
    box_take_pipe(k, b, i, ends[0]);
    return ends[1];
}

static int start_anew(struct keeper *k, struct box *b)
{
    int out = open_pipe(k, b, 0), err = open_pipe(k, b, 1);
    int pid = spawn(&k->env, &b->spec, &b->cgroup, out, err, &k->slots[b->slot]);
    int why = errno;

    if (out != k->env.null_fd)
        close(out);
    if (err != k->env.null_fd)
        close(err);
    errno = why;
    return pid;
}

static void finish(struct keeper *k, struct box *b);

static void start_box(struct keeper *k, struct box *b)
{
    b->slot = take_slot(k);
    b->st.started = keeper_now();
    int pid = spare_start(k, b);
    if (pid < 0)
        pid = start_anew(k, b);
    int why = errno;
    cgroup_started(&b->cgroup);
    if (pid < 0) {
        b->st.finished = b->st.started;
        b->st.exit_code = 128;
        b->st.error = str_printf(&b->arena, "cannot start a process: %s", strerror(why));
        finish(k, b);
        return;
    }
    b->st.pid = pid;
    b->is_running = true;
    k->n_running++;
    *map_put(&k->by_pid, str_of((char *)&b->st.pid, sizeof(b->st.pid))) = b;
    conn_tell_status(k, b);
}

void box_start_all(struct keeper *k)
{
    if (list_empty(&k->starting))
        return;
    journal_flush(&k->journal); /* known before it runs: it will never run twice */
    while (!list_empty(&k->starting)) {
        struct box *b = list_item(k->starting.next, struct box, starting);
        list_del(&b->starting);
        start_box(k, b);
    }
}

/* ---- death ---- */

/* Processes that left their group, and have our mark. Only where no control group finds them.
 */
static void kill_strays(const char *id)
{
    char path[300], text[8192], mark[RUNTIME_MAX_ID + 32];
    DIR *proc = opendir("/proc");
    struct dirent *e;
    int64_t pid;

    snprintf(mark, sizeof(mark), MARK "%s", id);
    while (proc && (e = readdir(proc)) != NULL) {
        if (!str_to_i64(str_from(e->d_name), &pid) || pid == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/%s/environ", e->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t len = 0;
        ssize_t n;
        bool ours = false;
        while (fd >= 0 && !ours && (n = read(fd, text + len, sizeof(text) - len)) > 0) {
            len += (size_t)n;
            ours = memmem(text, len, mark, strlen(mark) + 1) != NULL; /* with its 0 */
            size_t keep = MIN(len, sizeof(mark));
            memmove(text, text + len - keep, keep);
            len = keep;
        }
        close_fd(&fd);
        if (ours)
            kill((pid_t)pid, SIGKILL);
    }
    if (proc)
        closedir(proc);
}

static void kill_box(struct keeper *k, struct box *b)
{
    if (b->is_running)
        kill(b->st.pid, SIGKILL);
    if (b->st.pid > 1)
        kill(-b->st.pid, SIGKILL);
    if (b->cgroup.made)
        cgroup_kill(&k->host, b->id, &b->cgroup);
}

static void drop_spec(struct box *b)
{
    struct str error = b->st.error;
    struct arena small = arena_sized(256);

    /* The key of by_id moves with it: the caller has taken it out, and puts it back. */
    b->id = str_z(&small, b->st.id);
    b->st.id = str_from(b->id);
    b->st.error = str_copy(&small, error);
    arena_fini(&b->arena);
    b->arena = small;
    b->spec = (struct runtime_spec){0};
}

static void remove_group(struct keeper *k, struct box *b)
{
    bool gone = cgroup_remove(&k->host, b->id, &b->cgroup);

    if (b->old_dirs.len && cgroup_clear_dirs(b->old_dirs))
        b->old_dirs = (struct str){0};
    if (gone && !b->old_dirs.len) {
        list_del(&b->timed);
        if (b->is_forgotten)
            free_box(k, b);
    } else {
        set_deadline(k, b, keeper_clock() + BOX_REMOVE_NS);
    }
}

/* Its process is gone and its output is read: the record is made, and told. */
static void finish(struct keeper *k, struct box *b)
{
    for (int i = 0; i < 2; i++)
        if (b->pipes[i].log.fd >= 0)
            logpipe_end(&b->pipes[i].log, &b->log);
    logfile_fini(&b->log);
    b->st.state = RUNTIME_EXITED;
    if (b->st.exit_code != 0 && cgroup_oom_kills(&k->host, b->id, &b->cgroup) > 0)
        b->st.oom_killed = true;
    journal_box(k, b);
    conn_tell_status(k, b);
    map_del(&k->by_id, b->st.id);
    drop_spec(b);
    if (!b->is_forgotten)
        *map_put(&k->by_id, b->st.id) = b;
    remove_group(k, b);
}

static bool drain(struct box *b)
{
    bool ended = true;

    for (int i = 0; i < 2; i++) {
        int more = b->pipes[i].log.fd < 0 ? -1 : 1;
        while (more > 0)
            more = logpipe_read(&b->pipes[i].log, &b->log);
        ended = ended && more < 0;
    }
    return ended;
}

static void process_ended(struct keeper *k, struct box *b, const siginfo_t *info)
{
    scoped(buf_fini) struct buf error = {0};
    struct spawn_slot *slot = &k->slots[b->slot];

    map_del(&k->by_pid, str_of((char *)&b->st.pid, sizeof(b->st.pid)));
    b->is_running = false;
    k->n_running--;
    b->st.finished = keeper_now();
    if (info->si_code == CLD_EXITED) {
        b->st.exit_code = info->si_status;
    } else {
        b->st.signal = info->si_status;
        b->st.exit_code = 128 + info->si_status;
    }
    int verdict = spawn_verdict(slot, &b->spec, &error);
    if (verdict) {
        b->st.exit_code = verdict;
        b->st.error = str_copy(&b->arena, buf_str(&error));
    }
    vec_push(&k->free_slots, b->slot);
    kill_box(k, b);
    if (drain(b))
        finish(k, b);
    else
        set_deadline(k, b, keeper_clock() + BOX_LINGER_NS);
}

void box_reap(struct keeper *k)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
            return;
        int32_t pid = info.si_pid;
        struct box **b = map_get(&k->by_pid, str_of((char *)&pid, sizeof(pid)));
        if (b)
            process_ended(k, *b, &info);
        else
            spare_ended(k, pid); /* or an orphan of a container, which we adopted */
    }
}

void box_pipe_ready(struct keeper *k, struct box_pipe *p)
{
    struct box *b = p->box;

    if (p->log.fd < 0 || logpipe_read(&p->log, &b->log) >= 0)
        return;
    if (!b->is_running && b->st.state != RUNTIME_EXITED && b->pipes[0].log.fd < 0 &&
        b->pipes[1].log.fd < 0) {
        list_del(&b->timed);
        finish(k, b);
    }
}

void box_stop(struct keeper *k, struct box *b, int64_t grace_ms)
{
    if (!b->is_running)
        return;
    int64_t at = keeper_clock() + grace_ms * (SECOND_NS / 1000);
    if (b->st.state == RUNTIME_RUNNING) {
        b->st.state = RUNTIME_STOPPING;
        if (grace_ms > 0 && kill(-b->st.pid, SIGTERM) < 0)
            kill(b->st.pid, SIGTERM); /* just cloned: it has not made its group yet */
        kill(-b->st.pid, SIGCONT);    /* a stopped one would not hear it */
    } else if (b->deadline && at >= b->deadline) {
        return;
    }
    if (grace_ms <= 0)
        kill_box(k, b);
    else
        set_deadline(k, b, at);
}

static void deadline_passed(struct keeper *k, struct box *b)
{
    list_del(&b->timed);
    b->deadline = 0;
    if (b->is_running) {
        kill_box(k, b);
    } else if (b->st.state != RUNTIME_EXITED) {
        if (!b->cgroup.made)
            kill_strays(b->id);
        finish(k, b);
    } else {
        remove_group(k, b);
    }
}

int box_deadlines(struct keeper *k)
{
    int64_t now = keeper_clock(), next = INT64_MAX;
    size_t n = 0;

    list_each (p, &k->timed)
        n++;
    /* Each once: what is handled may set its next deadline, at the end of the list. */
    while (n-- > 0 && !list_empty(&k->timed)) {
        struct box *b = list_item(k->timed.next, struct box, timed);
        if (b->deadline <= now) {
            deadline_passed(k, b);
            continue;
        }
        list_del(&b->timed);
        list_add(&k->timed, &b->timed);
    }
    list_each (p, &k->timed)
        next = MIN(next, list_item(p, struct box, timed)->deadline);
    if (next == INT64_MAX)
        return -1;
    return (int)MIN(MAX((next - now) / 1000000 + 1, (int64_t)1), (int64_t)60000);
}

void box_forget(struct keeper *k, struct box *b)
{
    if (b->st.state != RUNTIME_EXITED || b->is_forgotten)
        return;
    buf_clear(&k->frame);
    size_t begun = wire_begin(&k->frame, WIRE_FORGET);
    wire_str(&k->frame, TAG_ID, b->st.id);
    wire_end(&k->frame, begun);
    journal_add(&k->journal, buf_str(&k->frame));
    map_del(&k->by_id, b->st.id);
    b->is_forgotten = true;
    if (!b->timed.next)
        free_box(k, b);
}

void box_kill_all(struct keeper *k)
{
    list_each (p, &k->boxes) {
        struct box *b = list_item(p, struct box, link);
        if (b->is_running)
            kill_box(k, b);
    }
}

/* ---- the journal ---- */

static void replay_status(struct keeper *k, struct str fields)
{
    struct runtime_status st;
    struct str dirs;

    if (wire_get_status(fields, &st, &dirs, NULL) < 0)
        return;
    struct box **known = map_get(&k->by_id, st.id);
    struct box *b = known ? *known : new_box(k, st.id);
    struct str id = b->st.id;
    b->st = st;
    b->st.id = id;
    b->st.error = str_copy(&b->arena, st.error);
    b->old_dirs = str_copy(&b->arena, dirs);
}

void box_replay(void *keeper, const struct wire_frame *frame)
{
    struct keeper *k = keeper;
    struct str fields = frame->fields;
    struct wire_field f;

    if (frame->type == WIRE_STATUS) {
        replay_status(k, fields);
    } else if (frame->type == WIRE_FORGET && wire_field(&fields, &f, NULL) > 0 &&
               f.tag == TAG_ID) {
        struct box **b = map_get(&k->by_id, f.bytes);
        if (b)
            free_box(k, *b);
    }
}

void box_settle_lost(struct keeper *k)
{
    list_each (p, &k->boxes) {
        struct box *b = list_item(p, struct box, link);
        if (b->st.state == RUNTIME_EXITED)
            continue;
        log_warn("container lost with its keeper", "id=%s", b->id);
        if (!b->old_dirs.len || cgroup_clear_dirs(b->old_dirs))
            b->old_dirs = (struct str){0};
        kill_strays(b->id);
        b->st.state = RUNTIME_EXITED;
        b->st.finished = keeper_now();
        b->st.exit_code = 137;
        b->st.signal = SIGKILL;
        b->st.lost = true;
        if (b->old_dirs.len)
            set_deadline(k, b, keeper_clock() + BOX_REMOVE_NS);
        journal_box(k, b);
    }
}

void box_compact(struct keeper *k)
{
    scoped(buf_fini) struct buf all = {0};

    if (!journal_is_large(&k->journal))
        return;
    journal_flush(&k->journal);
    list_each (p, &k->boxes) {
        struct box *b = list_item(p, struct box, link);
        if (b->is_forgotten)
            continue;
        journal_box(k, b);
        buf_add(&all, buf_str(&k->journal.pending));
        buf_clear(&k->journal.pending);
    }
    journal_rewrite(&k->journal, buf_str(&all));
}
