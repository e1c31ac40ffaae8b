/* victim.c - a Workload that loses its place while its admission, or its end, is being written
 *
 * The disk is busy: a write waits for the commit before its own. So a second one may come, and
 * ask for the place of the first, before anybody but the engine knows that this has it, or
 * after it has ended and before the engine knows that.
 */
#include "sim/sim.h"

#include "api/kinds.h"
#include "base/testing.h"
#include "client/client.h"
#include "controllers/workload_edit.h"
#include "io/io.h"
#include "object/object.h"
#include "json/json.h"

#define COMMIT_MS 10
#define NOISE_MS 60 /* so long the disk is busy */

struct state {
    struct arena arena;
    struct sim *sim;
    struct client_watch *watch;
    struct object *low;                /* newest seen */
    int n_admitted, n_evicted, n_lost; /* of `low`: lost is a place that goes without a word */
    bool was_admitted, was_evicted, was_finished, is_high_admitted;
    bool is_end_written; /* the one who ran `low` was told so */
};

static bool is_true(const struct json *workload, const char *type)
{
    const struct json *list = json_path(workload, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eqz(json_str(json_getz(json_at(list, i), "type")), type))
            return str_eqz(json_str(json_getz(json_at(list, i), "status")), "True");
    return false;
}

static void changed(void *ctx, const struct watch_event *e)
{
    struct state *s = ctx;

    if (!e->object)
        return;
    const struct json *v = object_tree(e->object, &s->arena);
    if (!str_eqz(object_key(e->object).name, "low")) {
        s->is_high_admitted = is_true(v, "Admitted");
        return;
    }
    object_unref(s->low);
    s->low = object_ref(e->object);
    bool is_admitted = json_has(json_path(v, "status", "admission", NULL));
    bool is_evicted = is_true(v, "Evicted");
    s->n_admitted += is_admitted && !s->was_admitted;
    s->n_evicted += is_evicted && !s->was_evicted && is_admitted;
    s->n_lost += s->was_admitted && !is_admitted;
    s->was_admitted = is_admitted;
    s->was_evicted = is_evicted;
    s->was_finished = is_true(v, "Finished");
}

static void answered(void *ctx, const struct client_answer *answer)
{
    (void)ctx;
    check(answer->err == NULL || answer->err->code == ERR_CANCELED);
}

static void create(struct state *s, const struct kind *kind, const char *text)
{
    struct client_target t = {.kind = kind, .ns = S("default")};

    client_create(sim_client(s->sim), &t, json_parse(&s->arena, str_from(text), NULL, NULL),
                  answered, s);
}

static void create_workload(struct state *s, const char *name, int priority)
{
    create(s, &kind_kueue_workload,
           str_printf(&s->arena,
                      "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"queueName\":\"q\","
                      "\"priority\":%d,\"podSets\":[{\"name\":\"main\",\"count\":1,"
                      "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
                      "\"name\":\"c\",\"image\":\"x\",\"resources\":{\"requests\":{\"cpu\":"
                      "\"1\"}}}]}}}]}}",
                      name, priority)
               .at);
}

static void open_world(struct state *s)
{
    static const char *const texts[] = {
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{"
        "\"name\":\"f\"}}",
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{"
        "\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},\"preemption\":{"
        "\"withinClusterQueue\":\"LowerPriority\"},\"resourceGroups\":[{\"coveredResources\":"
        "[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
        "\"nominalQuota\":\"1\"}]}]}]}}",
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{"
        "\"name\":\"q\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"cq\"}}",
    };
    struct sim_config config = {.seed = 1, .hollow_nodes = 1, .commit = span_ms(COMMIT_MS)};
    struct client_target t = {.kind = &kind_kueue_workload, .ns = S("default")};
    struct err err = {0};

    *s = (struct state){.arena = arena_sized(1 << 20)};
    s->sim = sim_new(&config, &err);
    for (size_t i = 0; i < countof(texts); i++)
        check(sim_apply(s->sim, json_parse(&s->arena, str_from(texts[i]), NULL, NULL), &err) ==
              0);
    sim_run(s->sim, span_s(2));
    s->watch = client_watch(sim_client(s->sim), &t, NULL, 0, changed, s);
}

static void close_world(struct state *s)
{
    client_watch_stop(s->watch);
    object_unref(s->low);
    sim_free(s->sim);
    arena_fini(&s->arena);
}

TEST(a_victim_whose_admission_is_being_written)
{
    for (int after = 1; after < 40; after++) {
        struct state s;
        test_case(NULL);
        open_world(&s);
        for (int ms = 0; ms < NOISE_MS; ms++) {
            create(&s, &kind_config_map,
                   str_printf(&s.arena, "{\"metadata\":{\"name\":\"n%d\"}}", ms).at);
            if (ms == 3)
                create_workload(&s, "low", 1);
            if (ms == 3 + after)
                create_workload(&s, "high", 2);
            sim_run(s.sim, span_ms(1));
        }
        sim_run(s.sim, span_s(1));
        check_int(s.n_lost, 0);
        /* Either it was there too late, or it was admitted and then told that it has to go. */
        check_int(s.n_evicted, s.n_admitted);
        close_world(&s);
    }
}

static void end_written(void *ctx, const struct client_answer *answer)
{
    struct state *s = ctx;

    check(!answer->err || answer->err->code == ERR_CONFLICT ||
          answer->err->code == ERR_CANCELED);
    s->is_end_written = !answer->err;
}

/* As whoever runs a job does: from the newest version that it has seen, and only from that. */
static void finish_low(struct state *s)
{
    struct client_target t = {.kind = &kind_kueue_workload,
                              .ns = S("default"),
                              .name = S("low"),
                              .subresource = S("status")};
    struct workload_edit e =
        workload_edit(&s->arena, object_view(s->low, &s->arena), io_now(sim_io(s->sim)));

    workload_finish_edit(&e, S("ByTest"), S("done"));
    struct workload_request r = workload_request(&e, (struct workload_request_options){0});
    client_patch(sim_client(s->sim), &t, r.type, r.body, &r.options, end_written, s);
}

/* `low` runs; `high` comes, and then somebody writes to `low`. */
static void write_after(struct state *s, int after, void (*write)(struct state *s))
{
    test_case(NULL);
    open_world(s);
    create_workload(s, "low", 1);
    sim_run(s->sim, span_s(1));
    check(s->was_admitted);
    for (int ms = 0; ms < NOISE_MS; ms++) {
        create(s, &kind_config_map,
               str_printf(&s->arena, "{\"metadata\":{\"name\":\"n%d\"}}", ms).at);
        if (ms == 3)
            create_workload(s, "high", 2);
        if (ms == 3 + after)
            write(s);
        sim_run(s->sim, span_ms(1));
    }
    sim_run(s->sim, span_s(1));
}

TEST(a_victim_that_ends_as_it_is_to_go)
{
    int n_ended = 0;

    for (int after = 0; after < 40; after++) {
        struct state s;
        write_after(&s, after, finish_low);
        check(s.is_end_written || s.was_evicted);
        check_int(s.was_finished, s.is_end_written);
        check_int(s.is_high_admitted, s.is_end_written); /* nobody gives the other one back */
        n_ended += s.is_end_written;
        close_world(&s);
    }
    check(n_ended > 0);
}

static void label_low(struct state *s)
{
    struct client_target t = {
        .kind = &kind_kueue_workload, .ns = S("default"), .name = S("low")};

    client_patch(
        sim_client(s->sim), &t, CLIENT_PATCH_MERGE,
        json_parse(&s->arena, S("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), NULL, NULL), NULL,
        answered, s);
}

TEST(a_victim_that_is_written_to_as_it_is_to_go)
{
    for (int after = 0; after < 40; after++) {
        struct state s;
        write_after(&s, after, label_low);
        check(s.was_evicted);
        close_world(&s);
    }
}
