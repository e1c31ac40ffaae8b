/* keeper.c - the keeper's start, its loop and its end
 *
 *     DATA/keeper/lock      held for as long as it lives: there is one
 *     DATA/keeper/socket    where berth finds it
 *     DATA/keeper/journal   what it knows
 *     DATA/keeper/log       what it has to say
 *
 * It ends when nobody is connected and nothing runs, or by SIGTERM (then all it runs is
 * killed). Several messages that come together share one journal write.
 */
#include "runtime/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime/keeper_priv.h"

#define READY_FD 3
#define MAX_EVENTS 64
#define LOCK_TRIES 200 /* of 10 ms: an earlier keeper is about to end */
#define OOM_SCORE "-900"

int64_t keeper_clock(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * SECOND_NS + ts.tv_nsec;
}

struct instant keeper_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (struct instant){ts.tv_sec * SECOND_NS + ts.tv_nsec};
}

static int64_t log_clock(void *ctx)
{
    (void)ctx;
    return keeper_now().ns;
}

int keeper_watch(struct keeper *k, int fd, struct watched *w)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = w};

    return epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &e);
}

int keeper_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return 0;
}

bool keeper_is_asked(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[1], "keeper") == 0;
}

/* ---- the start ---- */

static int lock(int dir, struct err *err)
{
    struct timespec wait = {.tv_nsec = 10000000};
    int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, ERR_IO, "cannot open its lock: %s", strerror(errno));
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd; /* held until the process ends */
        nanosleep(&wait, NULL);
    }
    close(fd);
    return err_set(err, ERR_EXISTS, "another keeper serves this directory");
}

static void set_stdio(struct keeper *k)
{
    int log = openat(k->dir, "log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    k->env.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(k->env.null_fd, 0);
    dup2(log >= 0 ? log : k->env.null_fd, 1);
    dup2(log >= 0 ? log : k->env.null_fd, 2);
    close_fd(&log);
    log_set_clock(log_clock, NULL);
}

static int listen_on(struct keeper *k, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "socket"};

    k->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink("socket"); /* we hold the lock: whoever made it is dead */
    mode_t was = umask(0177);
    int rc = bind(k->listener, (struct sockaddr *)&at, sizeof(at));
    umask(was);
    if (rc < 0 || listen(k->listener, 64) < 0)
        return err_set(err, ERR_IO, "cannot listen on its socket: %s", strerror(errno));
    k->listener_watch.type = WATCH_LISTEN;
    return keeper_watch(k, k->listener, &k->listener_watch);
}

static void take_signals(struct keeper *k)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    k->signals_watch.type = WATCH_SIGNALS;
    keeper_watch(k, k->signals, &k->signals_watch);
    for (int i = 1; i <= SIGRTMAX; i++)
        signal(i, SIG_DFL); /* whoever started berth may have ignored some */
    for (size_t i = 0; i < countof(spawn_ignored); i++)
        signal(spawn_ignored[i], SIG_IGN);
}

/* More descriptors for us (three a container), the same for the children; not the first to go
 * where memory is short. */
static void set_limits(struct keeper *k)
{
    struct rlimit more;

    getrlimit(RLIMIT_NOFILE, &k->env.nofile);
    more = k->env.nofile;
    more.rlim_cur = more.rlim_max;
    setrlimit(RLIMIT_NOFILE, &more);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    k->env.reset_oom_score = fd >= 0 && write(fd, OOM_SCORE, strlen(OOM_SCORE)) > 0;
    close_fd(&fd);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* strays come to us, not to init */
    prctl(PR_SET_NAME, "berth-keeper", 0, 0, 0);
}

static int start(struct keeper *k, const char *data_dir, struct err *err)
{
    char name[32];
    struct stat st;

    if (chdir(data_dir) < 0 || chdir("keeper") < 0)
        return err_set(err, ERR_IO, "cannot enter '%s/keeper': %s", data_dir, strerror(errno));
    k->dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (k->dir < 0 || fstat(k->dir, &st) < 0)
        return err_set(err, ERR_IO, "cannot open '%s/keeper': %s", data_dir, strerror(errno));
    k->env.lock_fd = lock(k->dir, err);
    if (k->env.lock_fd < 0)
        return -1;
    set_stdio(k);
    k->env.pid = getpid();
    k->epoll = epoll_create1(EPOLL_CLOEXEC);
    take_signals(k);
    set_limits(k);
    k->slots = mmap(NULL, KEEPER_MAX_BOXES * sizeof(*k->slots), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (k->slots == MAP_FAILED)
        return err_set(err, ERR_IO, "cannot share memory: %s", strerror(errno));
    /* The directory's identity names our groups: the same for every keeper of it. */
    snprintf(name, sizeof(name), "berth-%" PRIx64 "-%" PRIx64, (uint64_t)st.st_dev,
             (uint64_t)st.st_ino);
    cgroup_host_find(&k->host, name, keeper_now().ns);
    if (journal_open(&k->journal, k->dir, box_replay, k, err) < 0)
        return -1;
    box_settle_lost(k);
    cgroup_host_sweep(&k->host);
    journal_flush(&k->journal);
    return listen_on(k, err);
}

static void say_ready(char answer)
{
    if (fcntl(READY_FD, F_GETFD) < 0)
        return;
    if (write(READY_FD, &answer, 1) < 0)
        log_debug("nobody waited for the keeper", "pid=%d", getpid());
    close(READY_FD);
}

/* ---- the loop ---- */

static void signals_ready(struct keeper *k)
{
    struct signalfd_siginfo info;

    while (read(k->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTERM && !k->is_ending) {
            log_warn("keeper told to end", "running=%zu", k->n_running);
            k->is_ending = true;
            box_kill_all(k);
        }
    }
    box_reap(k);
}

static void dispatch(struct keeper *k, const struct epoll_event *e)
{
    struct watched *w = e->data.ptr;

    switch (w->type) {
    case WATCH_LISTEN:
        conn_accept(k);
        break;
    case WATCH_SIGNALS:
        signals_ready(k);
        break;
    case WATCH_CONN:
        conn_ready(k, container_of(w, struct conn, watched), e->events);
        break;
    case WATCH_PIPE:
        box_pipe_ready(k, container_of(w, struct box_pipe, watched));
        break;
    }
}

static bool is_done(const struct keeper *k, int64_t started)
{
    if (k->n_running || !list_empty(&k->timed) || !list_empty(&k->starting))
        return false;
    if (k->is_ending)
        return true;
    return k->n_conns == 0 &&
           (k->had_conn || keeper_clock() - started > KEEPER_FIRST_CALL_S * SECOND_NS);
}

static void loop(struct keeper *k)
{
    struct epoll_event events[MAX_EVENTS];
    int64_t started = keeper_clock();

    while (!is_done(k, started)) {
        int wait = box_deadlines(k);
        box_start_all(k);
        journal_flush(&k->journal);
        conn_flush_all(k);
        box_compact(k);
        if (!k->had_conn && wait < 0)
            wait = KEEPER_FIRST_CALL_S * 1000;
        if (is_done(k, started))
            break;
        bool wants = spare_is_wanted(k);
        if (wants && (wait < 0 || wait > KEEPER_SPARE_MS))
            wait = KEEPER_SPARE_MS;
        int n = epoll_wait(k->epoll, events, MAX_EVENTS, wait);
        if (wants && n == 0)
            spare_make(k);
        /* Pipes first, signals last: a freed box has no event left in this round. */
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < n; i++)
                if ((((struct watched *)events[i].data.ptr)->type == WATCH_PIPE) == (pass == 0))
                    dispatch(k, &events[i]);
    }
}

int keeper_main(int argc, char **argv)
{
    static struct keeper k;
    struct err err = {0};

    if (!keeper_is_asked(argc, argv))
        return 2;
    list_init(&k.boxes);
    list_init(&k.starting);
    list_init(&k.timed);
    list_init(&k.conns);
    k.wants_spare = true;
    if (start(&k, argv[2], &err) < 0) {
        log_error("keeper cannot start", "error='%s'", err.text);
        say_ready(err.code == ERR_EXISTS ? 'x' : '-');
        return 1;
    }
    say_ready('+');
    loop(&k);
    spare_drop(&k);
    unlink("socket");
    journal_close(&k.journal);
    cgroup_host_leave(&k.host);
    return 0;
}
