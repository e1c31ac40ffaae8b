/* lease.c - two who want one Lease, on a whole server
 *
 * control/test/lock.c tries what can happen to them; here the Lease itself must be as the API
 * has it: strict about the version, times in microseconds, hands counted.
 */
#include "control/lock.h"

#include "api/coordination_v1.h"
#include "api/kinds.h"
#include "base/testing.h"
#include "client/client.h"
#include "io/io.h"
#include "object/object.h"
#include "sim/sim.h"

static struct lock *join(struct sim *s, const char *identity)
{
    return lock_new(sim_io(s), sim_client(s),
                    &(struct lock_config){.ns = S("kube-system"),
                                          .name = S("controllers"),
                                          .identity = str_from(identity)});
}

static void keep(void *ctx, const struct client_answer *answer)
{
    if (check(!answer->err))
        *(struct object **)ctx = object_ref(answer->object);
}

static struct object *read_lease(struct sim *s)
{
    struct client_target t = {
        .kind = &kind_lease, .ns = S("kube-system"), .name = S("controllers")};
    struct object *o = NULL;

    client_get(sim_client(s), &t, keep, &o);
    sim_run(s, span_ms(1));
    return o;
}

static void check_lease(struct sim *s, const char *holder, int hands)
{
    scoped(arena_fini) struct arena a = {0};
    struct object *o = read_lease(s);
    const struct lease *v = object_view(o, &a);
    struct span age = instant_sub(sim_now(s), v->spec->renew_time);

    check_samez(v->spec->holder_identity, holder);
    check_int(v->spec->lease_transitions, hands);
    check(age.ns >= 0 && age.ns <= span_s(3).ns);
    object_unref(o);
}

TEST(a_lease_changes_hands)
{
    struct err err = {0};
    struct sim *s = sim_new(&(struct sim_config){.seed = 7}, &err);

    if (!check(s != NULL))
        return;
    struct lock *a = join(s, "a");
    sim_run(s, span_s(1));
    struct lock *b = join(s, "b");
    sim_run(s, span_s(600));
    check(lock_is_held(a) && !lock_is_held(b));
    check_lease(s, "a", 0);
    lock_free(a); /* its process dies */
    sim_run(s, span_s(20));
    check(lock_is_held(b));
    check_lease(s, "b", 1);
    io_sim_set_clock(sim_io(s), instant_add(sim_now(s), span_s(-86400)));
    sim_run(s, span_s(60));
    check(lock_is_held(b));
    check_lease(s, "b", 1);
    lock_free(b);
    sim_free(s);
}
