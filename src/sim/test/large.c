/* large.c - a Job of many pods that fails while its last ones are being made (J05) */
#include "sim/sim.h"

#include "api/kinds.h"
#include "base/testing.h"
#include "client/client.h"
#include "object/object.h"
#include "json/json.h"

#define PODS 1200 /* three looks' worth */
#define WRONG "1100"
#define TRACKING "batch.kubernetes.io/job-tracking"

struct state {
    struct sim *sim;
    size_t made, held;
    bool has_failed;
};

static void answered(void *ctx, const struct client_answer *answer)
{
    (void)ctx;
    check(answer->err == NULL);
}

/* The pod of one index fails as soon as it is there. */
static void pod_came(void *ctx, const struct watch_event *e)
{
    struct state *s = ctx;
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    const struct json *tree = e->object ? object_tree(e->object, &a) : NULL;
    struct str index = json_str(json_path(tree, "metadata", "annotations",
                                          "batch.kubernetes.io/job-completion-index", NULL));

    s->made += e->type == WATCH_ADDED;
    if (e->type != WATCH_ADDED || !str_eqz(index, WRONG))
        return;
    struct client_target t = {.kind = &kind_pod,
                              .ns = S("default"),
                              .name = object_key(e->object).name,
                              .subresource = S("status")};
    s->has_failed = true;
    client_patch(sim_client(s->sim), &t, CLIENT_PATCH_MERGE,
                 json_parse(&a, S("{\"status\":{\"phase\":\"Failed\"}}"), NULL, NULL), NULL,
                 answered, s);
}

static void counted(void *ctx, const struct client_list_answer *answer)
{
    struct state *s = ctx;

    for (size_t i = 0; i < answer->n_items; i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        const struct json *list =
            json_path(object_tree(answer->items[i], &a), "metadata", "finalizers", NULL);
        json_each (k, list)
            s->held += str_eqz(json_str(json_at(list, k)), TRACKING);
    }
}

static void job_read(void *ctx, const struct client_answer *answer)
{
    struct state *s = ctx;
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    const struct json *status = json_getz(object_tree(answer->object, &a), "status");
    const struct json *conditions = json_getz(status, "conditions");

    check_int(json_i64(json_getz(status, "failed"), 0), (int64_t)s->made);
    check_int(json_i64(json_getz(status, "succeeded"), 0), 0);
    check_samez(json_str(json_getz(json_at(conditions, json_len(conditions) - 1), "type")),
                "Failed");
}

TEST(a_large_job_fails_while_it_grows)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct sim_config config = {.seed = 5, .hollow_nodes = PODS / 100};
    struct client_target jobs = {.kind = &kind_job, .ns = S("default"), .name = S("j")};
    struct client_target pods = {.kind = &kind_pod, .ns = S("default")};
    struct err err = {0};
    struct state s = {.sim = sim_new(&config, &err)};
    struct str job = str_printf(
        &a,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"},\"spec\":{"
        "\"completions\":%d,\"parallelism\":%d,\"completionMode\":\"Indexed\",\"backoffLimit\":"
        "0,"
        "\"template\":{\"metadata\":{\"annotations\":{\"berth.dev/run-for\":\"1h\"}},\"spec\":{"
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"x\","
        "\"command\":[\"x\"]}]}}}}",
        PODS, PODS);

    struct client_watch *watch = client_watch(sim_client(s.sim), &pods, NULL, 0, pod_came, &s);
    check(sim_apply(s.sim, json_parse(&a, job, NULL, NULL), &err) == 0);
    sim_run(s.sim, span_s(300));
    check(s.has_failed);
    check(s.made > 1000);
    client_list(sim_client(s.sim), &pods, NULL, counted, &s);
    client_get(sim_client(s.sim), &jobs, job_read, &s);
    sim_run(s.sim, span_s(1));
    check_int(s.held, 0);
    client_watch_stop(watch);
    sim_free(s.sim);
}
