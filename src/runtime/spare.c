/* spare.c - one process that is ready before its container comes
 *
 *     nothing happens for a moment ──▶ groups, pipes, clone ──▶ waits ──▶ a container takes it
 *
 * Where many start one after the other there is no such moment, and each is made when it comes.
 */
#include "runtime/keeper_priv.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_pipes(int ends[2])
{
    close_fd(&ends[0]);
    close_fd(&ends[1]);
    ends[0] = ends[1] = -1;
}

/* The groups go when nothing is left in them. */
static void free_spare(struct keeper *k, struct spare *s)
{
    for (int i = 0; i < 2; i++)
        close_fd(&s->pipes[i]);
    cgroup_started(&s->cgroup);
    if (s->cgroup.made && !cgroup_remove(&k->host, "", &s->cgroup))
        log_warn("control group of a spare process stays", "number=%" PRIu32, s->cgroup.number);
    free(s);
}

static int start(struct keeper *k, struct spare *s)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1}, rc = -1;

    if (keeper_pipe(out) == 0 && keeper_pipe(err) == 0)
        rc = spawn_ahead(&k->env, &s->cgroup, out[1], err[1], &s->process);
    s->pipes[0] = rc < 0 ? -1 : out[0];
    s->pipes[1] = rc < 0 ? -1 : err[0];
    if (rc < 0) {
        close_pipes(out);
        close_pipes(err);
        return -1;
    }
    close(out[1]);
    close(err[1]);
    return 0;
}

bool spare_is_wanted(const struct keeper *k)
{
    return k->wants_spare && !k->spare && k->n_conns > 0 && !k->is_ending;
}

void spare_make(struct keeper *k)
{
    struct spare *s = mem_zero(1, sizeof(*s));

    k->wants_spare = false; /* until the next container, if this fails */
    s->pipes[0] = s->pipes[1] = -1;
    if (!cgroup_make_ready(&k->host, &s->cgroup) || start(k, s) < 0) {
        log_debug("no spare process", "error='%s'", strerror(errno));
        free_spare(k, s);
        return;
    }
    k->spare = s;
}

bool spare_take(struct keeper *k, struct box *b)
{
    struct spare *s = k->spare;

    k->wants_spare = true;
    if (!s || !cgroup_take_ready(&k->host, &b->spec.limits, &s->cgroup))
        return false;
    k->spare = NULL;
    b->spare = s;
    b->cgroup = s->cgroup; /* its descriptors, too */
    return true;
}

int spare_start(struct keeper *k, struct box *b)
{
    struct spare *s = b->spare;

    if (!s)
        return -1;
    b->spare = NULL;
    int pid = spawn_let_go(&s->process, &k->env, &b->spec, &b->cgroup, b->log.path != NULL,
                           &k->slots[b->slot]);
    spawn_ahead_end(&s->process);
    for (int i = 0; pid >= 0 && b->log.path && i < 2; i++) {
        box_take_pipe(k, b, i, s->pipes[i]);
        s->pipes[i] = -1;
    }
    cgroup_clear(&s->cgroup);
    free_spare(k, s);
    return pid;
}

void spare_ended(struct keeper *k, int pid)
{
    struct spare *s = k->spare;

    if (!s || s->process.pid != pid)
        return;
    k->spare = NULL;
    spawn_ahead_end(&s->process);
    free_spare(k, s);
}

void spare_drop(struct keeper *k)
{
    struct spare *s = k->spare;

    if (!s)
        return;
    kill(s->process.pid, SIGKILL);
    while (waitpid(s->process.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    spare_ended(k, s->process.pid);
}
