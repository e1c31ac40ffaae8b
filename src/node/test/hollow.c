/* hollow.c - a day of played pods in an instant */
#include "fake.h"

#include "control/control.h"
#include "node/hollow.h"
#include "value/time.h"

#define START INT64_C(1800000000)

struct world {
    struct io *io;
    struct fake *fake;
    struct control *control;
    struct hollow *hollow;
};

static void open_world(struct world *w)
{
    w->io = io_sim_new(7, (struct instant){START * SECOND_NS});
    w->fake = fake_new(w->io);
    w->control = control_new(w->io, &w->fake->client, S("test"));
    w->hollow = hollow_new(w->control);
}

static void close_world(struct world *w)
{
    control_free(w->control);
    hollow_free(w->hollow);
    client_free(&w->fake->client);
    io_free(w->io);
}

static void run_to(struct world *w, int64_t seconds)
{
    io_run_until(w->io, (struct instant){(START + seconds) * SECOND_NS});
}

static void add_node(struct world *w)
{
    fake_add(w->fake, &kind_node,
             "{\"metadata\":{\"name\":\"h\",\"annotations\":{\"berth.dev/hollow\":\"true\"}}}");
}

static void add_pod(struct world *w, const char *policy, const char *notes, const char *more)
{
    scoped(arena_fini) struct arena a = {0};

    fake_add(w->fake, &kind_pod,
             str_printf(&a,
                        "{\"metadata\":{\"name\":\"p\",\"annotations\":{%s}},"
                        "\"spec\":{\"nodeName\":\"h\",\"restartPolicy\":\"%s\","
                        "\"terminationGracePeriodSeconds\":30%s,"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}%c",
                        notes, policy, more, 0)
                 .at);
}

TEST(hollow_pods)
{
    static const struct {
        const char *name, *policy, *notes, *more;
        int64_t at;       /* seconds after the start */
        const char *want; /* phase exit-code restarts reason */
    } cases[] = {
        {"it runs",                      "Never",     "",                               "",                                       0,    "Running  0 "                  },
        {"for a second",                 "Never",     "",                               "",                                       2,    "Succeeded 0 0 "               },
        {"as long as it is told",        "Never",     "\"berth.dev/run-for\":\"1h\"",   "",                                       3599,
         "Running  0 "                                                                                                                                                 },
        {"and then ends",                "Never",     "\"berth.dev/run-for\":\"1h\"",   "",                                       3601, "Succeeded 0 0 "               },
        {"what cannot be read is 1s",    "Never",     "\"berth.dev/run-for\":\"soon\"", "",                                       2,
         "Succeeded 0 0 "                                                                                                                                              },
        {"with the code it is told",     "Never",     "\"berth.dev/exit-code\":\"3\"",  "",                                       2,
         "Failed 3 0 "                                                                                                                                                 },
        {"a failure is repeated",        "OnFailure", "\"berth.dev/exit-code\":\"3\"",  "",                                       14,
         "Running  2 "                                                                                                                                                 },
        {"with pauses",                  "OnFailure", "\"berth.dev/exit-code\":\"3\"",  "",                                       5,    "Running  1 "                  },
        {"a success is not",             "OnFailure", "",                               "",                                       50,   "Succeeded 0 0 "               },
        {"init containers take no time", "Never",     "",                               ",\"initContainers\":[{\"name\":\"i\"}]",
         2,                                                                                                                             "Succeeded 0 0 "               },
        {"sidecars end with the rest",   "Never",     "",
         ",\"initContainers\":[{\"name\":\"i\",\"restartPolicy\":\"Always\"}]",                                                   2,
         "Succeeded 0 0 "                                                                                                                                              },
        {"deadlines hold",               "Never",     "\"berth.dev/run-for\":\"1h\"",
         ",\"activeDeadlineSeconds\":60",                                                                                         61,   "Failed 143 0 DeadlineExceeded"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct world w;
        test_case(cases[i].name);
        open_world(&w);
        add_node(&w);
        add_pod(&w, cases[i].policy, cases[i].notes, cases[i].more);
        run_to(&w, cases[i].at);
        struct object *o = fake_find(w.fake, &kind_pod, "default", "p");
        struct str status = str_printf(
            &w.fake->arena, "%.*s %.*s %.*s %.*s",
            STR_ARG(fake_text(w.fake, o, "/status/phase")),
            STR_ARG(
                fake_text(w.fake, o, "/status/containerStatuses/0/state/terminated/exitCode")),
            STR_ARG(fake_text(w.fake, o, "/status/containerStatuses/0/restartCount")),
            STR_ARG(fake_text(w.fake, o, "/status/reason")));
        check_samez(status, cases[i].want);
        close_world(&w);
    }
}

TEST(hollow_writes)
{
    struct world w;

    open_world(&w);
    add_node(&w);
    run_to(&w, 1);
    struct object *node = fake_find(w.fake, &kind_node, "", "h");
    test_case("the node is made ready, with what it has");
    check_same(fake_text(w.fake, node, "/status/capacity/cpu"), S("8"));
    check_same(fake_text(w.fake, node, "/status/allocatable/memory"), S("32Gi"));
    check_same(fake_text(w.fake, node, "/status/conditions/0/status"), S("True"));
    int before = w.fake->n_writes;
    add_pod(&w, "Never", "", "");
    run_to(&w, 100);
    test_case("a pod takes two writes beside its own");
    check_int(w.fake->n_writes - before, 3);
    struct object *pod = fake_find(w.fake, &kind_pod, "default", "p");
    check_same(fake_text(w.fake, pod, "/status/containerStatuses/0/state/terminated/startedAt"),
               S("2027-01-15T08:00:01Z"));
    check_same(
        fake_text(w.fake, pod, "/status/containerStatuses/0/state/terminated/finishedAt"),
        S("2027-01-15T08:00:02Z"));
    close_world(&w);
}

static void nobody_asks(void *ctx, const struct client_answer *answer)
{
    (void)ctx, (void)answer;
}

TEST(hollow_pods_that_others_change)
{
    static const struct {
        const char *name, *patch, *want;
        const char *end; /* when its container ended */
        int writes;      /* after the change */
    } cases[] = {
        {"a shorter time is heeded, from when it began",
         "{\"metadata\":{\"annotations\":{\"berth.dev/run-for\":\"20s\"}}}",                          "Succeeded",
         "2027-01-15T08:00:20Z",                                                                                       1},
        {"a deadline is, too",                           "{\"spec\":{\"activeDeadlineSeconds\":20}}", "Failed",
         "2027-01-15T08:00:20Z",                                                                                       1},
        {"a label brings a look and no word",            "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
         "Running",                                                                                                "", 0},
        {"a word of somebody else changes nothing",      "{\"status\":{\"message\":\"hello\"}}",
         "Running",                                                                                                "", 0},
        {"an end that somebody else tells stands",       "{\"status\":{\"phase\":\"Failed\"}}",
         "Failed",                                                                                                 "", 0},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct world w;
        test_case(cases[i].name);
        open_world(&w);
        add_node(&w);
        add_pod(&w, "Never", "\"berth.dev/run-for\":\"1h\"", "");
        run_to(&w, 10);
        struct client_target t = {.kind = &kind_pod, .ns = S("default"), .name = S("p")};
        client_patch(&w.fake->client, &t, CLIENT_PATCH_MERGE,
                     json_parse(&w.fake->arena, str_from(cases[i].patch), NULL, NULL), NULL,
                     nobody_asks, NULL);
        int before = w.fake->n_writes;
        run_to(&w, 60);
        struct object *pod = fake_find(w.fake, &kind_pod, "default", "p");
        check_samez(fake_text(w.fake, pod, "/status/phase"), cases[i].want);
        check_samez(
            fake_text(w.fake, pod, "/status/containerStatuses/0/state/terminated/finishedAt"),
            cases[i].end);
        check_int(w.fake->n_writes - before, cases[i].writes);
        close_world(&w);
    }
}

/* Its status says whole seconds; how long it runs is counted from the moment. */
TEST(hollow_parts_of_a_second)
{
    static const char *const change = "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}";
    static const struct {
        int64_t ms;
        const char *want;
    } moments[] = {
        {1300, "Running"  },
        {1600, "Succeeded"},
    };
    struct world w;

    open_world(&w);
    add_node(&w);
    io_run_until(w.io, (struct instant){START * SECOND_NS + span_ms(500).ns});
    add_pod(&w, "Never", "", "");
    io_run_until(w.io, (struct instant){START * SECOND_NS + span_ms(1200).ns});
    struct client_target t = {.kind = &kind_pod, .ns = S("default"), .name = S("p")};
    client_patch(&w.fake->client, &t, CLIENT_PATCH_MERGE,
                 json_parse(&w.fake->arena, str_from(change), NULL, NULL), NULL, nobody_asks,
                 NULL);
    for (size_t i = 0; i < countof(moments); i++) {
        io_run_until(w.io, (struct instant){START * SECOND_NS + span_ms(moments[i].ms).ns});
        check_samez(
            fake_text(w.fake, fake_find(w.fake, &kind_pod, "default", "p"), "/status/phase"),
            moments[i].want);
    }
    close_world(&w);
}

TEST(hollow_deletion)
{
    struct world w;

    open_world(&w);
    add_node(&w);
    add_pod(&w, "Never", "\"berth.dev/run-for\":\"1h\"", "");
    run_to(&w, 10);
    buf_clear(&w.fake->log);
    fake_ask_delete(w.fake, "p", 30);
    run_to(&w, 20);
    test_case("a deleted pod says how it ended, then goes");
    check_same(buf_str(&w.fake->log), S("patch Pod status; delete Pod; "));
    check(fake_find(w.fake, &kind_pod, "default", "p") == NULL);
    close_world(&w);
}

TEST(hollow_later)
{
    struct world w;

    open_world(&w);
    add_pod(&w, "Never", "", "");
    run_to(&w, 10);
    struct object *pod = fake_find(w.fake, &kind_pod, "default", "p");
    test_case("a pod on a node that is not hollow is left alone");
    check_same(fake_text(w.fake, pod, "/status/phase"), S(""));
    add_node(&w);
    run_to(&w, 20);
    pod = fake_find(w.fake, &kind_pod, "default", "p");
    check(hollow_plays(w.hollow, S("h")) && !hollow_plays(w.hollow, S("g")));
    test_case("until it is");
    check_same(fake_text(w.fake, pod, "/status/phase"), S("Succeeded"));
    close_world(&w);
}

static void made(void *ctx, const struct err *err)
{
    check(err == NULL);
    *(bool *)ctx = true;
}

TEST(hollow_make_nodes)
{
    struct world w;
    bool done = false;

    open_world(&w);
    hollow_make_nodes(&w.fake->client, 200, made, &done);
    run_to(&w, 1);
    check(done);
    done = false;
    test_case("those that exist are left as they are");
    hollow_make_nodes(&w.fake->client, 201, made, &done);
    run_to(&w, 2);
    check(done);
    struct object *last = fake_find(w.fake, &kind_node, "", "hollow-200");
    check_same(fake_text(w.fake, last, "/metadata/labels/kubernetes.io~1hostname"),
               S("hollow-200"));
    check_same(fake_text(w.fake, last, "/status/capacity/pods"), S("110"));
    close_world(&w);
}
