/* crash.c - kill -9 under load: nothing acknowledged is lost, no revision is used twice
 *
 * A child opens the store and puts, changes and removes as fast as it can, telling each
 * acknowledged step through a pipe. It is killed at a random moment; the next child goes on in
 * the same directory. ROUNDS (10) says how often.
 */
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/table.h"
#include "store/store.h"

#define N_KEYS 200
#define IN_FLIGHT 32

static const struct kind thing = {
    .api_version = S_INIT("v1"), .kind = S_INIT("Thing"), .id = -1};

static const struct kind *find_kind(void *ctx unused, struct str name unused)
{
    return &thing;
}

static int remove_one(const char *path, const struct stat *st unused, int flag unused,
                      struct FTW *ftw unused)
{
    return remove(path);
}

/* One acknowledged step, as the child tells it. */
struct told {
    uint64_t revision;
    uint32_t key;
    uint32_t is_removal;
};

/* ---- the child ---- */

struct child {
    struct io *io;
    struct store *store;
    int pipe;
    uint64_t seed;
    bool is_busy[N_KEYS];
};

struct step {
    struct child *child;
    uint32_t key;
    bool is_removal;
};

static uint32_t roll(struct child *c)
{
    c->seed = c->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(c->seed >> 33);
}

static void start_one(struct child *c);

static void done(void *ctx, uint64_t revision, const struct err *err)
{
    struct step *s = ctx;
    struct child *c = s->child;

    if (err)
        _exit(3); /* nobody else writes: every put must fit */
    struct told t = {revision, s->key, s->is_removal};
    if (write(c->pipe, &t, sizeof(t)) != sizeof(t))
        _exit(4);
    c->is_busy[s->key] = false;
    free(s);
    start_one(c);
}

static void start_one(struct child *c)
{
    scoped(arena_fini) struct arena a = {0};
    struct step *s = mem_zero(1, sizeof(*s));

    do
        s->key = roll(c) % N_KEYS;
    while (c->is_busy[s->key]);
    s->child = c;
    c->is_busy[s->key] = true;
    struct str name = str_printf(&a, "k%u", s->key);
    struct object *now = store_get(c->store, &thing, name);
    s->is_removal = now && roll(c) % 4 == 0;
    struct str text =
        str_printf(&a, "{\"metadata\":{\"name\":\"%.*s\",\"uid\":\"u\"},\"pad\":\"%0*u\"}",
                   STR_ARG(name), (int)(roll(c) % 3000) + 1, 0u);
    struct object *next = object_new(&thing, json_parse(&a, text, NULL, NULL));
    (s->is_removal ? store_delete : store_put)(c->store, next, now ? object_revision(now) : 0,
                                               done, s);
    object_unref(next);
}

static void run_child(const char *dir, int pipe, uint64_t seed)
{
    struct err err = {0};
    struct child c = {.pipe = pipe, .seed = seed};

    c.io = io_real_new(&err);
    c.store = store_sqlite_open(c.io, dir, find_kind, NULL, &err);
    if (!c.store)
        _exit(2);
    for (int i = 0; i < IN_FLIGHT; i++)
        start_one(&c);
    for (;;)
        io_turn(c.io);
}

/* ---- the parent ---- */

struct parent {
    char dir[64];
    uint64_t newest; /* revision that was acknowledged */
    uint64_t revisions[N_KEYS];
    bool is_there[N_KEYS];
    bool is_known[N_KEYS];
};

static void take(struct parent *p, const struct told *t)
{
    check(t->revision > p->newest);
    p->newest = t->revision;
    p->revisions[t->key] = t->revision;
    p->is_there[t->key] = !t->is_removal;
    p->is_known[t->key] = true;
}

static void read_all(struct parent *p, int fd)
{
    struct told t;

    while (read(fd, &t, sizeof(t)) == sizeof(t))
        take(p, &t);
}

static void problem(void *ctx unused, struct str sentence)
{
    check_samez(sentence, "");
}

/* What was acknowledged is there, or something newer that was not. */
static void look(struct parent *p)
{
    struct err err = {0};
    scoped(arena_fini) struct arena a = {0};
    struct io *io = io_real_new(&err);
    struct store *s = store_sqlite_open(io, p->dir, find_kind, NULL, &err);

    if (!check(s != NULL))
        return;
    check(store_revision(s) >= p->newest);
    for (uint32_t k = 0; k < N_KEYS; k++) {
        struct object *o = store_get(s, &thing, str_printf(&a, "k%u", k));
        if (!p->is_known[k])
            continue;
        if (p->is_there[k] && !o)
            check(store_revision(s) > p->revisions[k]); /* removed, unacknowledged */
        else if (p->is_there[k])
            check(object_revision(o) >= p->revisions[k]);
        else if (o)
            check(object_revision(o) > p->revisions[k]);
        if (o)
            check(object_tree(o, &a) != NULL);
    }
    p->newest = store_revision(s);
    store_free(s);
    io_free(io);
    check_int(store_fsck(p->dir, problem, NULL, &err), 0);
}

static void round_of(struct parent *p, int i)
{
    int fds[2], status;

    check_int(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        run_child(p->dir, fds[1], (uint64_t)i * 7919 + 1);
    }
    close(fds[1]);
    struct pollfd poll_fd = {.fd = fds[0], .events = POLLIN};
    int64_t n = 0, most = 1 + (i * 7919) % 1500;
    struct told t;
    while (n < most && poll(&poll_fd, 1, 10000) == 1 &&
           read(fds[0], &t, sizeof(t)) == sizeof(t)) {
        take(p, &t);
        n++;
    }
    usleep((useconds_t)(i * 613 % 5000));
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    check(WIFSIGNALED(status));
    read_all(p, fds[0]);
    close(fds[0]);
    check(n > 0);
}

TEST(killed_under_load)
{
    struct parent p = {0};
    const char *rounds = getenv("ROUNDS");
    int n = rounds ? (int)strtol(rounds, NULL, 10) : 10;

    snprintf(p.dir, sizeof(p.dir), "/tmp/berth-crash-XXXXXX");
    check(mkdtemp(p.dir) != NULL);
    for (int i = 1; i <= n; i++) {
        round_of(&p, i);
        look(&p);
    }
    nftw(p.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
