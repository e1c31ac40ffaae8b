/* commits.c - how many commits a Job waits for, one after another, before its process starts
 *
 * A commit takes ten milliseconds here and everything else no time, so the moment at which a
 * pod has its node tells how many there were.
 */
#include "sim/sim.h"

#include "base/testing.h"
#include "json/json.h"

#define COMMIT_MS 10
#define MOST_MS 1000

static bool has_bound_pod(struct sim *s)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct buf dump = buf_in(&a, 1 << 16);
    struct str rest, line;

    sim_dump(s, &dump);
    rest = buf_str(&dump);
    while (str_cut(rest, '\n', &line, &rest)) {
        const struct json *o = json_parse(&a, line, NULL, NULL);
        if (str_eqz(json_str(json_getz(o, "kind")), "Pod") &&
            json_has(json_path(o, "spec", "nodeName", NULL)))
            return true;
    }
    return false;
}

TEST(commits_before_the_first_instruction)
{
    static const struct {
        const char *name, *labels;
        int64_t commits;
    } cases[] = {
  /* the Job; its pod; the pod's node */
        {"a Job in no queue: three", "",                                          3},
 /* the Job; its Workload; the admission; the Job's start; its pod; the pod's node */
        {"a Job in a queue: six",    "\"kueue.x-k8s.io/queue-name\":\"default\"", 6},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);

    for (size_t i = 0; i < countof(cases); i++) {
        struct sim_config config = {
            .seed = 1, .hollow_nodes = 1, .has_defaults = true, .commit = span_ms(COMMIT_MS)};
        struct err err = {0};
        struct sim *s = sim_new(&config, &err);

        test_case(cases[i].name);
        if (!check(s != NULL))
            continue;
        sim_run(s, span_s(60)); /* all is quiet */
        struct str job = str_printf(
            &a,
            "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
            "\"labels\":{%s}},\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
            "\"berth.dev/run-for\":\"1h\"}},\"spec\":{\"restartPolicy\":\"Never\","
            "\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"command\":[\"x\"]}]}}}}",
            cases[i].labels);
        struct instant sent = sim_now(s);
        check_int(sim_apply(s, json_parse(&a, job, NULL, NULL), &err), 0);
        int64_t ms = 0;
        while (!has_bound_pod(s) && ms < MOST_MS) {
            sim_run(s, span_ms(1));
            ms = instant_sub(sim_now(s), sent).ns / (SECOND_NS / 1000);
        }
        check_int(ms, cases[i].commits * COMMIT_MS);
        sim_free(s);
    }
}
