/* controller.c - one key at a time: look, write, await, come back
 *
 * The reconcile of these tests writes down each run and does what the row says.
 */
#include "control/test/fake.h"

struct world {
    struct fake fake;
    struct control *control;
    struct controller *controller;
    void (*act)(struct world *w, struct step *s);
    bool fails;
    struct step *step; /* the last one whose writes are awaited */
};

static int reconcile(struct step *s, struct err *err)
{
    struct world *w = s->ctx;

    buf_printf(&w->fake.log, "run %.*s@%" PRId64 " ", STR_ARG(s->key),
               io_uptime(w->fake.io).ns / (SECOND_NS / 1000));
    check_same(str_printf(s->arena, "%.*s/%.*s", STR_ARG(s->ns), STR_ARG(s->name)), s->key);
    if (w->act)
        w->act(w, s);
    return w->fails ? err_set(err, ERR_INVALID, "no") : 0;
}

static void start(struct world *w, size_t max_busy)
{
    *w = (struct world){0};
    fake_init(&w->fake);
    w->control = control_new(w->fake.io, &w->fake.client, S("test"));
    w->controller = controller_new(
        w->control,
        &(struct controller_config){
            .name = "tests", .reconcile = reconcile, .ctx = w, .max_busy = max_busy});
}

static void stop(struct world *w)
{
    control_free(w->control);
    fake_fini(&w->fake);
}

static void queue(struct world *w, const char *key)
{
    controller_queue(w->controller, str_from(key));
}

TEST(controller_waits_for_its_caches)
{
    struct world w;

    start(&w, 0);
    controller_watch(w.controller, &kind_config_map);
    queue(&w, "n/x");
    fake_run(&w.fake, 10);
    fake_check(&w.fake, "list@0");
    fake_listed(&w.fake, 5, "a:4");
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "watch>5 run n/x@10 run n/a@10");
    fake_event(&w.fake, WATCH_DELETED, 6, fake_object(&w.fake, "a", 6, NULL));
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/a@10");
    stop(&w);
}

static void queues_owners(struct world *w, const char *more, const char *want)
{
    fake_event(&w->fake, WATCH_ADDED, 9, fake_object(&w->fake, more ? "b" : "c", 9, more));
    fake_run(&w->fake, 0);
    fake_check(&w->fake, want);
}

TEST(controller_watch_owned)
{
    struct world w;

    start(&w, 0);
    controller_watch_owned(w.controller, &kind_config_map, &kind_job);
    fake_run(&w.fake, 0);
    fake_listed(&w.fake, 5, "");
    buf_clear(&w.fake.log);
    test_case("the controlling owner of the kind is queued");
    queues_owners(
        &w,
        ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
        "\"j\",\"controller\":true}]",
        "run n/j@0");
    test_case("no owner, nobody");
    queues_owners(&w, NULL, "");
    test_case("a change of owner is told to the old one, too");
    fake_event(
        &w.fake, WATCH_MODIFIED, 10,
        fake_object(&w.fake, "b", 10,
                    ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                    "\"name\":\"k\",\"controller\":true}]"));
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/k@0 run n/j@0");
    test_case("one who does not control, and another kind, are not");
    fake_event(
        &w.fake, WATCH_ADDED, 11,
        fake_object(&w.fake, "d", 11,
                    ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                    "\"name\":\"j\"},{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":"
                    "\"p\",\"controller\":true}]"));
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "");
    stop(&w);
}

static void create(struct world *w, struct step *s)
{
    const struct json *body =
        json_parse(s->arena, S("{\"metadata\":{\"name\":\"made\"}}"), NULL, NULL);

    step_create(s, &(struct client_target){.kind = &kind_config_map, .ns = s->ns}, body, NULL,
                NULL);
    w->step = s;
}

TEST(controller_awaits_its_writes)
{
    struct world w;

    start(&w, 0);
    w.act = create;
    queue(&w, "n/a");
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/a@0 create n/made");
    test_case("events meanwhile are merged into one more run");
    queue(&w, "n/a");
    queue(&w, "n/a");
    fake_run(&w.fake, 50);
    fake_check(&w.fake, "");
    w.act = NULL;
    fake_answer(&w.fake, ERR_OK, NULL);
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/a@50");
    stop(&w);
}

static void create_many(struct world *w, struct step *s)
{
    for (int i = 0; i < 20; i++)
        create(w, s);
}

TEST(controller_sends_so_many_writes_of_a_run_at_once)
{
    struct world w;

    start(&w, 0);
    w.act = create_many;
    queue(&w, "n/a");
    fake_run(&w.fake, 0);
    check_int(w.fake.n_calls, 16);
    test_case("each answer sends one of those that wait");
    for (size_t i = 1; i <= 20; i++) {
        fake_answer(&w.fake, ERR_OK, NULL);
        check_int(w.fake.n_calls, MIN(16 + i, (size_t)20));
    }
    test_case("the run ends with the last answer");
    w.act = NULL;
    buf_clear(&w.fake.log);
    queue(&w, "n/a");
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/a@0");
    test_case("those that wait go with the controller");
    w.act = create_many;
    queue(&w, "n/b");
    fake_run(&w.fake, 0);
    stop(&w);
}

TEST(controller_comes_back)
{
    static const struct {
        const char *name;
        enum err_code answer; /* to its one write */
        const char *want;
    } cases[] = {
        {"a write that was refused: 5 ms",   ERR_CONFLICT, "run n/a@5 create n/made"},
        {"a write that was taken: no more",  ERR_OK,       ""                       },
        {"no answer at all",                 ERR_TIMEOUT,  "run n/a@5 create n/made"},
        {"the client has gone: nobody runs", ERR_CANCELED, ""                       },
    };
    struct world w;

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        start(&w, 0);
        w.act = create;
        queue(&w, "n/a");
        fake_run(&w.fake, 0);
        buf_clear(&w.fake.log);
        fake_answer(&w.fake, cases[i].answer, NULL);
        fake_run(&w.fake, 9);
        fake_check(&w.fake, cases[i].want);
        stop(&w);
    }
    test_case("a look that fails, again and again: 5 ms, 10, 20");
    start(&w, 0);
    w.fails = true;
    queue(&w, "n/a");
    fake_run(&w.fake, 35);
    fake_check(&w.fake, "run n/a@0 run n/a@5 run n/a@15 run n/a@35");
    stop(&w);
}

static void look(struct world *w, struct step *s)
{
    struct client_target t = {.kind = &kind_config_map, .ns = s->ns, .name = S("gone")};

    (void)w;
    step_get(s, &t, NULL, NULL);
    step_delete(s, &t, NULL, NULL, NULL);
}

TEST(controller_takes_what_is_gone_for_done)
{
    struct world w;

    start(&w, 0);
    w.act = look;
    queue(&w, "n/a");
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/a@0 get n/gone delete n/gone");
    fake_answer(&w.fake, ERR_NOT_FOUND, NULL);
    fake_answer(&w.fake, ERR_NOT_FOUND, NULL);
    fake_run(&w.fake, 100);
    fake_check(&w.fake, "");
    stop(&w);
}

static void forgive(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct world *w = ctx;

    buf_printf(&w->fake.log, "answered %d ", answer->code);
    step_ignore_error(s);
}

static void create_and_forgive(struct world *w, struct step *s)
{
    const struct json *body =
        json_parse(s->arena, S("{\"metadata\":{\"name\":\"made\"}}"), NULL, NULL);

    step_create(s, &(struct client_target){.kind = &kind_config_map, .ns = s->ns}, body,
                forgive, w);
    step_again(s, span_ms(30));
    step_again(s, span_ms(50)); /* the earlier counts */
}

TEST(controller_step_again)
{
    struct world w;

    start(&w, 0);
    w.act = create_and_forgive;
    queue(&w, "n/a");
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/a@0 create n/made");
    fake_answer(&w.fake, ERR_EXISTS, NULL);
    fake_check(&w.fake, "answered 409");
    w.act = NULL;
    fake_run(&w.fake, 100);
    fake_check(&w.fake, "run n/a@30");
    stop(&w);
}

TEST(controller_runs_so_many_at_once)
{
    struct world w;

    start(&w, 2);
    w.act = create;
    queue(&w, "n/a");
    queue(&w, "n/b");
    queue(&w, "n/c");
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/a@0 create n/made run n/b@0 create n/made");
    fake_answer(&w.fake, ERR_OK, NULL);
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "run n/c@0 create n/made");
    stop(&w);
}

/* Something that is always ready, until it has counted the runs of so many turns. */
struct turns {
    struct world *world;
    size_t runs[12], n;
};

static size_t n_runs(const struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i + 3 < w->fake.log.len; i++)
        n += memcmp(w->fake.log.at + i, "run", 3) == 0;
    return n;
}

static void next_turn(void *ctx)
{
    struct turns *t = ctx;

    t->runs[t->n++] = n_runs(t->world);
    if (t->n < countof(t->runs))
        io_later(t->world->fake.io, next_turn, t);
}

TEST(controller_lets_clients_go_first)
{
    static const struct {
        const char *name;
        struct client_load load;
        size_t least, most; /* runs when eight turns have gone by */
    } cases[] = {
        {"nobody asks",                               {0, 0},   40, 40},
        {"a few ask",                                 {15, 99}, 40, 40},
        {"many ask: when there is nothing else",      {16, 0},  1,  8 },
        {"many asked meanwhile: one for each second", {16, 20}, 11, 20},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct world w;
        struct turns turns = {.world = &w};
        test_case(cases[i].name);
        start(&w, 0);
        fake_run(&w.fake, 0);
        w.fake.load = cases[i].load;
        for (int k = 0; k < 40; k++)
            queue(&w, str_printf(&w.fake.arena, "n/%d", k).at);
        next_turn(&turns);
        fake_run(&w.fake, 0);
        check(turns.runs[8] >= cases[i].least);
        check(turns.runs[8] <= cases[i].most);
        check_int(n_runs(&w), 40); /* in the end all of them */
        buf_clear(&w.fake.log);
        stop(&w);
    }
}

TEST(controller_keeps_its_cache_fresh)
{
    struct world w;

    start(&w, 0);
    struct cache *cache = control_cache(w.control, &kind_config_map);
    fake_run(&w.fake, 0);
    fake_listed(&w.fake, 5, "made:3");
    w.act = create;
    queue(&w, "n/a");
    fake_run(&w.fake, 0);
    fake_answer(&w.fake, ERR_OK, fake_object(&w.fake, "made", 8, NULL));
    check_int(object_revision(cache_get(cache, S("n"), S("made"))), 8);

    test_case("an own delete takes it out before the watch tells");
    w.act = look;
    fake_event(&w.fake, WATCH_ADDED, 9, fake_object(&w.fake, "gone", 9, NULL));
    queue(&w, "n/b");
    fake_run(&w.fake, 0);
    fake_answer(&w.fake, ERR_OK, fake_object(&w.fake, "gone", 9, NULL)); /* the read */
    check(cache_get(cache, S("n"), S("gone")) != NULL);
    fake_answer(&w.fake, ERR_OK, NULL);
    check(cache_get(cache, S("n"), S("gone")) == NULL);
    stop(&w);
}
