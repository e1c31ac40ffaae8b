/* runtime.c - the keeper's client: finds it, starts it, and knows what it knows
 *
 *     CONNECT --hello, list--> READY
 *        | nobody there          | the stream ends
 *        v                       v
 *      SPAWN --'+'--> CONNECT  CONNECT ...       (back-off where a keeper cannot be had)
 */
#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/io.h"
#include "runtime/runtime_priv.h"
#include "runtime/wire_priv.h"

#define SPAWN_LIMIT_S 10
#define BACKOFF_FIRST_MS 100
#define BACKOFF_MAX_MS 10000
#define READY_FD 3

/* A container, as we were told. */
struct known {
    struct runtime_status st;
    char *error;
    bool is_told; /* in the list that is being read */
    char id[RUNTIME_MAX_ID + 1];
};

/* A start without an answer. */
struct pending {
    struct list link; /* in refused, where the answer is ours */
    runtime_start_fn *done;
    void *ctx;
    bool is_sent; /* to the keeper we are connected to */
    char id[RUNTIME_MAX_ID + 1];
};

struct runtime {
    struct io *io;
    struct arena arena;
    struct str data_dir;
    const struct runtime_events *events;
    void *ctx;
    int dir; /* DATA/keeper */
    struct io_stream *stream;
    struct buf in, out;
    bool is_ready, is_flushing, was_spawned;
    bool is_root;
    struct str condition;
    MAP(struct known *) known;
    MAP(struct pending *) pending;
    struct list refused, followers;
    int inotify; /* of the directories of logs that are followed; made at the first */
    struct io_poll *inotify_poll;
    struct io_timer *timer; /* the spawn's limit, or the back-off */
    int ready_fd;           /* of the keeper that is being started, or -1 */
    struct io_poll *ready_poll;
    int64_t backoff_ms;
};

static void connect_keeper(struct runtime *rt);

/* ---- what is known ---- */

const struct runtime_status *runtime_find(const struct runtime *rt, struct str id)
{
    struct known *const *k = map_get(&rt->known, id);

    return k ? &(*k)->st : NULL;
}

void runtime_list(const struct runtime *rt, runtime_each_fn *each, void *ctx)
{
    map_each (i, &rt->known)
        each(ctx, &(*map_at(&rt->known, i))->st);
}

bool runtime_is_ready(const struct runtime *rt)
{
    return rt->is_ready;
}

struct str runtime_condition(const struct runtime *rt)
{
    return rt->condition;
}

bool runtime_is_root(const struct runtime *rt)
{
    return rt->is_root;
}

static void drop_known(struct runtime *rt, struct known *k)
{
    map_del(&rt->known, k->st.id);
    free(k->error);
    free(k);
}

static struct known *get_known(struct runtime *rt, struct str id)
{
    struct known **at = map_get(&rt->known, id);

    if (at)
        return *at;
    struct known *k = mem_zero(1, sizeof(*k));
    memcpy(k->id, id.at, MIN(id.len, (size_t)RUNTIME_MAX_ID));
    k->st.id = str_from(k->id);
    *map_put(&rt->known, k->st.id) = k;
    return k;
}

static void files_changed(void *ctx)
{
    struct runtime *rt = ctx;
    _Alignas(struct inotify_event) char events[4096];
    ssize_t n;

    while ((n = read(rt->inotify, events, sizeof(events))) > 0) {
        for (char *at = events; at < events + n;) {
            const struct inotify_event *e = (struct inotify_event *)(void *)at;
            list_each (p, &rt->followers) {
                struct runtime_follower *f = list_item(p, struct runtime_follower, link);
                if (f->watch == e->wd)
                    f->wake(f);
            }
            at += sizeof(*e) + e->len;
        }
    }
}

void runtime_follow(struct runtime *rt, struct runtime_follower *f, const char *dir)
{
    f->rt = rt;
    list_add(&rt->followers, &f->link);
    if (rt->inotify < 0) {
        struct err err;
        rt->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        rt->inotify_poll =
            rt->inotify < 0 ? NULL : io_poll_new(rt->io, rt->inotify, files_changed, rt, &err);
    }
    f->watch = inotify_add_watch(rt->inotify, dir,
                                 IN_MODIFY | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO);
}

void runtime_unfollow(struct runtime_follower *f)
{
    bool shared = false;

    if (!f->link.next)
        return;
    list_del(&f->link);
    list_each (p, &f->rt->followers)
        shared = shared || list_item(p, struct runtime_follower, link)->watch == f->watch;
    if (!shared && f->watch >= 0)
        inotify_rm_watch(f->rt->inotify, f->watch);
}

bool runtime_may_write(const struct runtime *rt, struct str id)
{
    const struct runtime_status *s = runtime_find(rt, id);

    return s ? s->state != RUNTIME_EXITED : !rt->is_ready || map_get(&rt->pending, id) != NULL;
}

static void tell_exit(struct runtime *rt, const struct known *k)
{
    list_each (p, &rt->followers) {
        struct runtime_follower *f = list_item(p, struct runtime_follower, link);
        if (str_eq(f->id, k->st.id))
            f->wake(f);
    }
    if (rt->events->exited)
        rt->events->exited(rt->ctx, &k->st);
}

/* ---- sending ---- */

static void flush(void *ctx)
{
    struct runtime *rt = ctx;

    rt->is_flushing = false;
    if (rt->stream && rt->is_ready && rt->out.len)
        io_stream_write_buf(rt->stream, &rt->out);
}

static void send_later(struct runtime *rt)
{
    if (rt->is_flushing)
        return;
    rt->is_flushing = true;
    io_later(rt->io, flush, rt);
}

static void say_hello(struct runtime *rt)
{
    scoped(buf_fini) struct buf b = {0};
    size_t begun = wire_begin(&b, WIRE_HELLO);

    wire_u64(&b, TAG_VERSION, WIRE_VERSION);
    wire_end(&b, begun);
    io_stream_write(rt->stream, buf_str(&b));
}

/* ---- starts ---- */

static void answer_refused(void *ctx)
{
    struct runtime *rt = ctx;
    struct err err;

    while (!list_empty(&rt->refused)) {
        struct pending *p = list_item(rt->refused.next, struct pending, link);
        list_del(&p->link);
        err_set(&err, ERR_EXISTS, "container '%s' has been started already", p->id);
        if (p->done)
            p->done(p->ctx, runtime_find(rt, str_from(p->id)), &err);
        free(p);
    }
}

void runtime_start(struct runtime *rt, const struct runtime_spec *spec, runtime_start_fn *done,
                   void *ctx)
{
    struct pending *p = mem_zero(1, sizeof(*p));

    p->done = done;
    p->ctx = ctx;
    memcpy(p->id, spec->id.at, MIN(spec->id.len, (size_t)RUNTIME_MAX_ID));
    if (map_get(&rt->known, spec->id) || map_get(&rt->pending, spec->id)) {
        list_add(&rt->refused, &p->link);
        io_later(rt->io, answer_refused, rt);
        return;
    }
    *map_put(&rt->pending, str_from(p->id)) = p;
    p->is_sent = true;
    size_t begun = wire_begin(&rt->out, WIRE_START);
    wire_put_spec(&rt->out, spec);
    wire_end(&rt->out, begun);
    send_later(rt);
}

void runtime_start_cancel(struct runtime *rt, void *ctx)
{
    map_each (i, &rt->pending) {
        struct pending *p = *map_at(&rt->pending, i);
        if (p->ctx == ctx)
            p->done = NULL;
    }
    list_each (at, &rt->refused) {
        struct pending *p = list_item(at, struct pending, link);
        if (p->ctx != ctx)
            continue;
        list_del(&p->link);
        free(p);
    }
}

static void answer_start(struct runtime *rt, struct pending *p, const struct runtime_status *s,
                         const struct err *err)
{
    map_del(&rt->pending, str_from(p->id));
    if (p->done)
        p->done(p->ctx, s, err);
    free(p);
}

void runtime_stop(struct runtime *rt, struct str id, struct span grace)
{
    size_t begun = wire_begin(&rt->out, WIRE_STOP);

    wire_str(&rt->out, TAG_ID, id);
    wire_u64(&rt->out, TAG_GRACE_MS, (uint64_t)MAX(grace.ns / 1000000, INT64_C(0)));
    wire_end(&rt->out, begun);
    send_later(rt);
}

void runtime_forget(struct runtime *rt, struct str id)
{
    struct known **k = map_get(&rt->known, id);

    if (!k || (*k)->st.state != RUNTIME_EXITED)
        return;
    size_t begun = wire_begin(&rt->out, WIRE_FORGET);
    wire_str(&rt->out, TAG_ID, id);
    wire_end(&rt->out, begun);
    drop_known(rt, *k);
    send_later(rt);
}

/* ---- what the keeper says ---- */

static void on_status(struct runtime *rt, struct str fields)
{
    struct runtime_status s;
    struct str cgroup;

    if (wire_get_status(fields, &s, &cgroup, NULL) < 0)
        return;
    bool was_known = map_get(&rt->known, s.id) != NULL;
    struct known *k = get_known(rt, s.id);
    bool has_ended = s.state == RUNTIME_EXITED && k->st.state != RUNTIME_EXITED;
    free(k->error);
    k->error = mem_alloc(s.error.len + 1);
    memcpy(k->error, s.error.at ? s.error.at : "", s.error.len);
    s.error = str_of(k->error, s.error.len);
    s.id = k->st.id;
    k->st = s;
    k->is_told = true;
    struct pending **p = map_get(&rt->pending, s.id);
    bool was_asked = p != NULL;
    if (p)
        answer_start(rt, *p, &k->st, NULL);
    /* Of what ended before we ever looked, ready() tells at once. */
    if (has_ended && (was_known || was_asked || rt->is_ready))
        tell_exit(rt, k);
}

static void on_refused(struct runtime *rt, struct str fields)
{
    struct err err = {.code = ERR_INTERNAL};
    struct str id = {0}, text = {0};
    struct wire_field f;

    while (wire_field(&fields, &f, NULL) > 0) {
        if (f.tag == TAG_ID)
            id = f.bytes;
        else if (f.tag == TAG_ERROR)
            text = f.bytes;
        else if (f.tag == TAG_CODE && wire_number(f) <= ERR_INTERNAL)
            err.code = (enum err_code)wire_number(f);
    }
    err_set(&err, err.code, "%.*s", STR_ARG(text));
    struct pending **p = map_get(&rt->pending, id);
    if (p)
        answer_start(rt, *p, runtime_find(rt, id), &err);
}

static void on_hello(struct runtime *rt, struct str fields)
{
    struct wire_field f;

    while (wire_field(&fields, &f, NULL) > 0) {
        if (f.tag == TAG_IS_ROOT)
            rt->is_root = wire_number(f) != 0;
        else if (f.tag == TAG_CONDITION)
            rt->condition = str_copy(&rt->arena, f.bytes);
    }
}

/* What we thought was there and is not: its record was lost with a keeper's journal. */
static void settle_missing(struct runtime *rt)
{
    struct err err;

    map_each (i, &rt->known) {
        struct known *k = *map_at(&rt->known, i);
        bool runs = k->st.state != RUNTIME_EXITED;
        if (k->is_told || !runs)
            continue;
        k->st.state = RUNTIME_EXITED;
        k->st.exit_code = 128 + SIGKILL;
        k->st.signal = SIGKILL;
        k->st.lost = true;
        k->st.finished = io_now(rt->io);
        tell_exit(rt, k);
    }
    map_each (i, &rt->pending) {
        struct pending *p = *map_at(&rt->pending, i);
        if (p->is_sent)
            continue;
        err_set(&err, ERR_UNAVAILABLE, "the keeper was lost before it started '%s'", p->id);
        answer_start(rt, p, NULL, &err);
    }
}

static void on_listed(struct runtime *rt)
{
    rt->is_ready = true;
    rt->backoff_ms = 0;
    rt->was_spawned = false;
    settle_missing(rt);
    io_timer_stop(rt->timer);
    if (rt->out.len)
        send_later(rt);
    if (rt->events->ready)
        rt->events->ready(rt->ctx);
}

static void on_frame(struct runtime *rt, const struct wire_frame *f)
{
    switch ((enum wire_type)f->type) {
    case WIRE_HELLO:
        on_hello(rt, f->fields);
        break;
    case WIRE_STATUS:
        on_status(rt, f->fields);
        break;
    case WIRE_LISTED:
        on_listed(rt);
        break;
    case WIRE_REFUSED:
        on_refused(rt, f->fields);
        break;
    default:
        break; /* a newer keeper's */
    }
}

static void spawn_keeper(struct runtime *rt);

static void give_up(struct runtime *rt, const struct err *err)
{
    rt->backoff_ms = MIN(MAX(rt->backoff_ms * 2, BACKOFF_FIRST_MS), BACKOFF_MAX_MS);
    rt->was_spawned = false;
    io_timer_set(rt->timer, span_ms(rt->backoff_ms));
    if (rt->events->failed)
        rt->events->failed(rt->ctx, err);
}

static void lose_stream(struct runtime *rt)
{
    bool was_ready = rt->is_ready;

    io_stream_close(rt->stream, false);
    rt->stream = NULL;
    rt->is_ready = false;
    buf_fini(&rt->in);
    map_each (i, &rt->known)
        (*map_at(&rt->known, i))->is_told = false;
    if (was_ready) {
        /* What was queued for the old one is gone with it. */
        map_each (i, &rt->pending)
            (*map_at(&rt->pending, i))->is_sent = false;
        buf_fini(&rt->out);
        connect_keeper(rt);
    } else if (!rt->was_spawned) {
        spawn_keeper(rt);
    } else {
        struct err err;
        err_set(&err, ERR_UNAVAILABLE, "the keeper of '%.*s' does not answer",
                STR_ARG(rt->data_dir));
        give_up(rt, &err);
    }
}

static void stream_data(void *ctx, struct str bytes)
{
    struct runtime *rt = ctx;
    struct io_stream *stream = rt->stream;
    struct wire_frame f;
    struct err err;
    int rc = 0;

    buf_add(&rt->in, bytes);
    struct buf in = rt->in; /* a callback may lose the stream, and all that was read */
    rt->in = (struct buf){0};
    struct str rest = buf_str(&in);
    while (rt->stream == stream && (rc = wire_next(&rest, &f, &err)) > 0)
        on_frame(rt, &f);
    if (rt->stream == stream && rc >= 0)
        buf_add(&rt->in, rest);
    buf_fini(&in);
    if (rt->stream == stream && rc < 0) {
        log_error("the keeper said what cannot be read", "error='%s'", err.text);
        lose_stream(rt);
    }
}

static void stream_end(void *ctx, const struct err *err)
{
    struct runtime *rt = ctx;

    if (rt->is_ready)
        log_warn("lost the keeper", "error='%s'", err ? err->text : "it closed the connection");
    lose_stream(rt);
}

static const struct io_stream_events stream_events = {.data = stream_data, .end = stream_end};

/* ---- finding and starting it ---- */

static void connect_keeper(struct runtime *rt)
{
    char address[64];

    /* Through the descriptor: a socket's path may not be long, a data directory's may. */
    snprintf(address, sizeof(address), "unix:/proc/self/fd/%d/socket", rt->dir);
    rt->stream = io_connect(rt->io, str_from(address), &stream_events, rt);
    say_hello(rt);
}

static void end_spawn(struct runtime *rt)
{
    io_poll_free(rt->ready_poll);
    rt->ready_poll = NULL;
    close_fd(&rt->ready_fd);
    rt->ready_fd = -1;
    io_timer_stop(rt->timer);
}

static void spawn_answered(void *ctx)
{
    struct runtime *rt = ctx;
    char answer = '-';
    struct err err;

    ssize_t n = read(rt->ready_fd, &answer, 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    end_spawn(rt);
    rt->was_spawned = true;
    if (n == 1 && answer != '-') { /* ready, or another one has the lock */
        connect_keeper(rt);
        return;
    }
    err_set(&err, ERR_IO, "the keeper did not start; '%.*s/keeper/log' says why",
            STR_ARG(rt->data_dir));
    give_up(rt, &err);
}

/* Two forks, so that it is nobody's child and no zombie of ours. */
static int fork_keeper(const char *data_dir, int ready)
{
    char *argv[] = {(char[]){"berth"}, (char[]){"keeper"}, (char *)(uintptr_t)data_dir, NULL};
    pid_t pid = fork();

    if (pid < 0)
        return -1;
    if (pid == 0) {
        sigset_t none;
        setsid();
        if (fork() != 0)
            _exit(0);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (ready == READY_FD)
            fcntl(ready, F_SETFD, 0);
        else
            dup2(ready, READY_FD);
        close_range(READY_FD + 1, ~0U, 0);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

static void spawn_keeper(struct runtime *rt)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct err err;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        err_set(&err, ERR_IO, "cannot start the keeper: %s", strerror(errno));
        give_up(rt, &err);
        return;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    rt->ready_fd = ends[0];
    rt->ready_poll = io_poll_new(rt->io, ends[0], spawn_answered, rt, &err);
    if (!rt->ready_poll || fork_keeper(str_z(&a, rt->data_dir), ends[1]) < 0) {
        if (rt->ready_poll)
            err_set(&err, ERR_IO, "cannot start the keeper: %s", strerror(errno));
        close(ends[1]);
        end_spawn(rt);
        give_up(rt, &err);
        return;
    }
    close(ends[1]);
    io_timer_set(rt->timer, span_s(SPAWN_LIMIT_S));
}

static void timer_fired(void *ctx)
{
    struct runtime *rt = ctx;

    if (rt->ready_poll) {
        struct err err;
        end_spawn(rt);
        err_set(&err, ERR_TIMEOUT, "the keeper did not start within %d seconds", SPAWN_LIMIT_S);
        give_up(rt, &err);
    } else if (!rt->stream) {
        connect_keeper(rt);
    }
}

/* ---- the whole ---- */

struct runtime *runtime_new(struct io *io, struct str data_dir,
                            const struct runtime_events *events, void *ctx, struct err *err)
{
    struct runtime *rt = mem_zero(1, sizeof(*rt));

    *rt =
        (struct runtime){.io = io, .events = events, .ctx = ctx, .ready_fd = -1, .inotify = -1};
    rt->data_dir = str_copy(&rt->arena, data_dir);
    list_init(&rt->refused);
    list_init(&rt->followers);
    const char *path =
        str_z(&rt->arena, str_printf(&rt->arena, "%.*s/keeper", STR_ARG(data_dir)));
    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        err_set(err, ERR_IO, "cannot make '%s': %s", path, strerror(errno));
        rt->dir = -1;
        runtime_free(rt);
        return NULL;
    }
    rt->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rt->dir < 0) {
        err_set(err, ERR_IO, "cannot open '%s': %s", path, strerror(errno));
        runtime_free(rt);
        return NULL;
    }
    rt->timer = io_timer_new(io, timer_fired, rt);
    if (faccessat(rt->dir, "socket", F_OK, 0) == 0)
        connect_keeper(rt);
    else
        spawn_keeper(rt);
    return rt;
}

void runtime_free(struct runtime *rt)
{
    if (!rt)
        return;
    list_each (p, &rt->followers) {
        struct runtime_follower *f = list_item(p, struct runtime_follower, link);
        runtime_unfollow(f);
        f->rt = NULL;
        f->wake(f);
    }
    if (rt->stream && rt->is_ready && rt->out.len)
        io_stream_write_buf(rt->stream, &rt->out);
    if (rt->stream)
        io_stream_close(rt->stream, true);
    if (rt->ready_poll)
        end_spawn(rt);
    io_poll_free(rt->inotify_poll);
    close_fd(&rt->inotify);
    io_timer_free(rt->timer);
    io_later_cancel(rt->io, flush, rt);
    io_later_cancel(rt->io, answer_refused, rt);
    map_each (i, &rt->known) {
        free((*map_at(&rt->known, i))->error);
        free(*map_at(&rt->known, i));
    }
    map_fini(&rt->known);
    map_each (i, &rt->pending)
        free(*map_at(&rt->pending, i));
    map_fini(&rt->pending);
    while (!list_empty(&rt->refused)) {
        struct pending *p = list_item(rt->refused.next, struct pending, link);
        list_del(&p->link);
        free(p);
    }
    buf_fini(&rt->in);
    buf_fini(&rt->out);
    close_fd(&rt->dir);
    arena_fini(&rt->arena);
    free(rt);
}
