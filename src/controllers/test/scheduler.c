/* scheduler.c - pods come, nodes change, and who is bound where */
#include "node/test/fake.h"

#include "control/control.h"
#include "controllers/controllers.h"

#define START INT64_C(1800000000)

struct world {
    struct io *io;
    struct fake *fake;
    struct control *control;
    struct controllers *controllers;
};

static void open_world(struct world *w)
{
    struct controllers_config config = {.names = S("scheduler")};
    struct err err;

    w->io = io_sim_new(3, (struct instant){START * SECOND_NS});
    w->fake = fake_new(w->io);
    w->control = control_new(w->io, &w->fake->client, S("test"));
    w->controllers = controllers_start(w->control, &config, &err);
    check(w->controllers != NULL);
}

static void close_world(struct world *w)
{
    control_free(w->control);
    controllers_free(w->controllers);
    client_free(&w->fake->client);
    io_free(w->io);
}

static void run_to(struct world *w, int64_t seconds)
{
    io_run_until(w->io, (struct instant){(START + seconds) * SECOND_NS});
}

static void add_node(struct world *w, const char *name, int cpu)
{
    fake_add(w->fake, &kind_node,
             str_printf(&w->fake->arena,
                        "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":"
                        "{\"cpu\":\"%d\",\"pods\":\"9\"}}}%c",
                        name, cpu, 0)
                 .at);
}

static void add_pod(struct world *w, const char *name, int cpu, const char *more)
{
    fake_add(w->fake, &kind_pod,
             str_printf(&w->fake->arena,
                        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s\"containers\":[{\"name\":"
                        "\"c\",\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}}%c",
                        name, more, cpu, 0)
                 .at);
}

static void finish_pod(struct world *w, const char *name)
{
    struct object *o = fake_find(w->fake, &kind_pod, "default", name);
    const struct json *v = object_tree(o, &w->fake->arena);

    v = json_with(&w->fake->arena, v, json_of_z("Succeeded"), "status", "phase", NULL);
    fake_put(w->fake, &kind_pod, S("default"), str_from(name), v);
}

/* What was written since, in order. */
static void wrote(struct world *w, const char *want)
{
    check_samez(buf_str(&w->fake->log), want);
    buf_clear(&w->fake->log);
}

TEST(scheduler_binds)
{
    struct world w;

    open_world(&w);
    add_node(&w, "a", 4);
    add_pod(&w, "p", 3, "");
    run_to(&w, 1);
    wrote(&w, "bind p a; ");

    test_case("what does not fit says so, once");
    add_pod(&w, "q", 2, "");
    add_pod(&w, "r", 9, "");
    run_to(&w, 2);
    struct object *q = fake_find(w.fake, &kind_pod, "default", "q");
    check_same(fake_text(w.fake, q, "/status/conditions/0/reason"), S("Unschedulable"));
    check_same(fake_text(w.fake, q, "/status/conditions/0/message"),
               S("0/1 nodes are available: 1 Insufficient cpu. cpu: 2 asked, at most 1 of 4 "
                 "free (node a)."));
    buf_clear(&w.fake->log);
    run_to(&w, 100);
    wrote(&w, "");

    test_case("room that becomes free wakes whom it suits");
    finish_pod(&w, "p");
    run_to(&w, 101);
    wrote(&w, "bind q a; ");

    test_case("a new node, too");
    add_node(&w, "b", 16);
    run_to(&w, 102);
    wrote(&w, "bind r b; ");

    test_case("many that came together are not put on one another");
    for (int i = 0; i < 8; i++)
        add_pod(&w, str_printf(&w.fake->arena, "s%d%c", i, 0).at, 1, "");
    run_to(&w, 103);
    check_int(w.fake->revision > 0, 1);
    check(!str_has(buf_str(&w.fake->log), S("patch")));
    close_world(&w);
}

TEST(scheduler_leaves_alone)
{
    static const struct {
        const char *name, *more, *want;
    } cases[] = {
        {"another's pod",   "\"schedulerName\":\"mine\",",              ""                  },
        {"our own by name", "\"schedulerName\":\"default-scheduler\",", "bind p a; "        },
        {"a bound one",     "\"nodeName\":\"b\",",                      ""                  },
        {"a gated one",     "\"schedulingGates\":[{\"name\":\"g\"}],",  "patch Pod status; "},
        {"one with claims", "\"resourceClaims\":[{\"name\":\"c\"}],",
         "patch Pod status; create Event; "                                                 },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct world w;
        test_case(cases[i].name);
        open_world(&w);
        add_node(&w, "a", 4);
        add_pod(&w, "p", 1, cases[i].more);
        run_to(&w, 5);
        wrote(&w, cases[i].want);
        close_world(&w);
    }
}
