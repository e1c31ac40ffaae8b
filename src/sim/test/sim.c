/* sim.c - the same seed gives the same day */
#include "sim/sim.h"

#include "base/testing.h"
#include "json/json.h"

static struct str job(struct arena *a, int i)
{
    return str_printf(
        a,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j%d\","
        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"default\"}},\"spec\":{\"template\":{"
        "\"metadata\":{\"annotations\":{\"berth.dev/run-for\":\"%ds\"}},\"spec\":{"
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"x\","
        "\"command\":[\"x\"],\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]}}}}",
        i, 10 + i % 7);
}

/* A day with twenty jobs on two nodes; its digest and how many ended Complete. */
static struct str day(struct arena *a, uint64_t seed, size_t *n_complete)
{
    struct sim_config config = {.seed = seed, .hollow_nodes = 2, .has_defaults = true};
    struct err err = {0};
    struct sim *s = sim_new(&config, &err);
    struct str digest;

    if (!check(s != NULL)) {
        fprintf(stderr, "    %s\n", err.text);
        return S("");
    }
    for (int i = 0; i < 20; i++)
        if (!check(sim_apply(s, json_parse(a, job(a, i), NULL, NULL), &err) == 0))
            fprintf(stderr, "    %s\n", err.text);
    sim_run(s, span_s(86400));
    struct buf dump = buf_in(a, 1 << 16);
    sim_dump(s, &dump);
    *n_complete = 0;
    struct str rest = buf_str(&dump), line;
    while (rest.len) {
        str_cut(rest, '\n', &line, &rest);
        *n_complete +=
            str_has(line, S("\"kind\":\"Job\"")) && str_has(line, S("\"completionTime\""));
    }
    digest = sim_digest(s, a);
    sim_free(s);
    return digest;
}

TEST(sim_is_deterministic)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    size_t n1, n2, n3;
    struct str first = day(&a, 7, &n1), again = day(&a, 7, &n2), other = day(&a, 8, &n3);

    check_int(n1, 20);
    check_int(n2, 20);
    check_int(n3, 20);
    check_same(again, first);
    check(!str_eq(other, first));
}
