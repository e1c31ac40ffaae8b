/* lost.c - nodes that go, or say that nobody may stay, and the Jobs whose pods were there */
#include "sim/sim.h"

#include "api/kinds.h"
#include "base/testing.h"
#include "client/client.h"
#include "json/json.h"

struct state {
    struct arena arena;
    struct sim *sim;
    bool is_answered;
};

static void answered(void *ctx, const struct client_answer *answer)
{
    struct state *s = ctx;

    check(answer->err == NULL);
    s->is_answered = true;
}

static void apply(struct state *s, const char *text)
{
    struct err err = {0};

    if (!check(sim_apply(s->sim, json_parse(&s->arena, str_from(text), NULL, NULL), &err) == 0))
        fprintf(stderr, "    %s\n", err.text);
}

/* The first object of a kind in the dump whose text holds `part`, or NULL. */
static const struct json *find(struct state *s, const char *kind, const char *part)
{
    struct buf dump = buf_in(&s->arena, 1 << 16);
    struct str rest, line;

    sim_dump(s->sim, &dump);
    rest = buf_str(&dump);
    while (rest.len) {
        str_cut(rest, '\n', &line, &rest);
        const struct json *v = json_parse(&s->arena, line, NULL, NULL);
        if (str_eqz(json_str(json_getz(v, "kind")), kind) && str_has(line, str_from(part)))
            return v;
    }
    return NULL;
}

/* One pod of a minute, on hollow-0, which is alone until then; what a disruption does to it is
 * ignored. */
static void open_world(struct state *s)
{
    struct sim_config config = {.seed = 3, .hollow_nodes = 1};
    struct err err = {0};

    *s = (struct state){.arena = arena_sized(1 << 20)};
    s->sim = sim_new(&config, &err);
    apply(s,
          "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"},"
          "\"spec\":{\"backoffLimit\":0,\"podFailurePolicy\":{\"rules\":[{\"action\":"
          "\"Ignore\",\"onPodConditions\":[{\"type\":\"DisruptionTarget\"}]}]},\"template\":{"
          "\"metadata\":{\"annotations\":{\"berth.dev/run-for\":\"60s\"}},\"spec\":{"
          "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"x\","
          "\"command\":[\"x\"]}]}}}}");
    sim_run(s->sim, span_s(5));
    check(find(s, "Pod", "\"nodeName\":\"hollow-0\"") != NULL);
    apply(s, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"hollow-1\","
             "\"annotations\":{\"berth.dev/hollow\":\"true\"}}}");
}

static void close_world(struct state *s)
{
    sim_free(s->sim);
    arena_fini(&s->arena);
}

static void is_complete_elsewhere(struct state *s)
{
    const struct json *job = find(s, "Job", "completionTime");

    check(job != NULL);
    check_int(json_i64(json_path(job, "status", "failed", NULL), 0), 0);
    check(find(s, "Pod", "\"nodeName\":\"hollow-1\"") != NULL);
}

TEST(a_node_that_is_gone)
{
    struct state s;
    struct client_target t = {.kind = &kind_node, .name = S("hollow-0")};

    open_world(&s);
    client_delete(sim_client(s.sim), &t, NULL, answered, &s);
    sim_run(s.sim, span_s(30));
    check(s.is_answered);
    test_case("it may come back: nothing is taken for lost at once");
    check(find(&s, "Pod", "\"nodeName\":\"hollow-0\"") != NULL);
    sim_run(s.sim, span_s(40));
    test_case("after a while its pods are ended, with the reason");
    check(find(&s, "Pod", "\"nodeName\":\"hollow-0\"") == NULL);
    sim_run(s.sim, span_s(90));
    test_case("and their Jobs go on elsewhere");
    is_complete_elsewhere(&s);
    close_world(&s);
}

TEST(a_node_that_comes_back_in_time)
{
    struct state s;
    struct client_target t = {.kind = &kind_node, .name = S("hollow-0")};

    open_world(&s);
    client_delete(sim_client(s.sim), &t, NULL, answered, &s);
    sim_run(s.sim, span_s(20));
    apply(&s, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"hollow-0\","
              "\"annotations\":{\"berth.dev/hollow\":\"true\"}}}");
    sim_run(s.sim, span_s(120));
    check(find(&s, "Job", "completionTime") != NULL);
    check(find(&s, "Pod", "\"nodeName\":\"hollow-1\"") == NULL);
    close_world(&s);
}

TEST(a_node_where_nobody_may_stay)
{
    static const struct {
        const char *name, *key;
        int leaves_after_s;
    } cases[] = {
        {"not tolerated: at once",                "maintenance",                    0  },
        {"tolerated for five minutes by default", "node.kubernetes.io/unreachable", 300},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct state s;
        test_case(cases[i].name);
        open_world(&s);
        apply(&s, str_printf(&s.arena,
                             "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
                             "\"hollow-0\"},\"spec\":{\"taints\":[{\"key\":\"%s\",\"effect\":"
                             "\"NoExecute\"}]}}%c",
                             cases[i].key, 0)
                      .at);
        if (cases[i].leaves_after_s) { /* the pod has long succeeded by then */
            sim_run(s.sim, span_s(cases[i].leaves_after_s));
            check(find(&s, "Job", "completionTime") != NULL);
            check(find(&s, "Pod", "DeletionByTaintManager") == NULL);
        } else {
            sim_run(s.sim, span_s(90));
            is_complete_elsewhere(&s);
        }
        close_world(&s);
    }
}
