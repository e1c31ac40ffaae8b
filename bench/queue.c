/* queue.c - what a scheduling decision costs, with many waiting and many running
 *
 * Prints one figure a line, `name value unit`; times are of the processor, the smallest of
 * several rounds. `bench-queue rows` lists what `bench-queue count ROW` runs once, so that
 * scripts/bench can count the instructions of its decisions.
 */
#include "queue/queue.h"
#include "measure.h"
#include <malloc.h>

#define NOW ((struct instant){1767225600 * SECOND_NS})
#define SHAPES 8

static size_t heap_used(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static void add_cq(struct queue_engine *e, struct str name, struct str cohort, int64_t cpu,
                   bool can_preempt)
{
    static const struct str resources[] = {S_INIT("cpu")};
    struct queue_quota_spec quota = {.resource = S("cpu"), .nominal = cpu};
    struct queue_group_flavor flavor = {S("default"), &quota, 1};
    struct queue_group_spec group = {resources, 1, &flavor, 1};
    struct queue_cq_spec spec = {
        .name = name,
        .cohort = cohort,
        .groups = &group,
        .n_groups = 1,
        .namespaces = {.is_set = true},
        .has_preemption = can_preempt,
        .within = can_preempt ? POLICY_LOWER : POLICY_NEVER,
        .reclaim = can_preempt ? POLICY_ANY : POLICY_NEVER,
        .weight = 1,
    };
    struct queue_lq_spec lq = {.ns = S("ns"), .name = name, .cq = name, .weight = 1};

    queue_put_cq(e, &spec, NULL);
    queue_put_lq(e, &lq);
}

static struct queue_engine *engine(const struct queue_config *config)
{
    struct queue_engine *e = queue_new(config);
    struct queue_flavor_spec f = {.name = S("default")};

    queue_put_flavor(e, &f);
    queue_put_namespace(e, S("ns"), (struct queue_labels){0});
    return e;
}

struct want {
    struct str queue;
    int64_t cpu, priority;
    bool runs;
    size_t number;
};

static void add_workload(struct queue_engine *e, const struct want *w)
{
    char name[40], uid[40];
    struct queue_request request = {S("cpu"), w->cpu};
    struct queue_podset_spec ps = {
        .name = S("main"), .count = 1, .requests = &request, .n_requests = 1};
    struct queue_flavor_use use = {S("cpu"), S("default"), w->cpu};
    struct queue_podset_admission ad = {S("main"), 1, &use, 1};
    struct queue_workload_spec spec = {.ns = S("ns"),
                                       .queue = w->queue,
                                       .podsets = &ps,
                                       .n_podsets = 1,
                                       .generation = 1,
                                       .priority = w->priority};

    snprintf(name, sizeof(name), "job-%07zu", w->number);
    snprintf(uid, sizeof(uid), "%08zx-0000-4000-8000-%012zx",
             w->number * 2654435761u % 0xffffffff, w->number);
    spec.name = str_from(name);
    spec.uid = str_from(uid);
    spec.order_time.ns = NOW.ns - (int64_t)(10000000 - w->number) * 1000000;
    if (w->runs) {
        spec.flags = WL_RESERVED | WL_ADMITTED | WL_PODS_READY;
        spec.admitted_to = w->queue;
        spec.admission = &ad;
        spec.n_admission = 1;
        spec.reserved_at = spec.order_time;
    }
    queue_put_workload(e, &spec, NOW);
}

static void add_many(struct queue_engine *e, size_t from, size_t to, size_t shapes)
{
    for (size_t i = from; i < to; i++)
        add_workload(e, &(struct want){S("q"), 100 + (int64_t)(i % shapes), 0, false, i});
}

/* Cycles over one queue; each looks at one head. */
static size_t decide(struct queue_engine *e, size_t cycles)
{
    struct arena a = arena_sized(64 << 10);
    size_t n = 0;

    for (size_t i = 0; i < cycles; i++) {
        arena_reset(&a);
        n += queue_cycle(e, &a, NOW).len;
    }
    arena_fini(&a);
    return n;
}

static double per_decision(struct queue_engine *e, size_t cycles)
{
    double best = 1e18;

    for (int round = 0; round < 5; round++) {
        double start = cpu_ns();
        size_t n = decide(e, cycles);
        if (n)
            best = MIN(best, (cpu_ns() - start) / (double)n / 1000);
    }
    return best;
}

static struct queue_engine *with_pending(int64_t quota, size_t pending, size_t shapes)
{
    struct queue_config config = queue_config_default();
    struct queue_engine *e = engine(&config);

    add_cq(e, S("q"), S(""), quota, false);
    add_many(e, 0, pending, shapes);
    return e;
}

static void admit(size_t pending, size_t cycles)
{
    struct queue_engine *e = with_pending(INT64_C(1) << 50, 0, 1);
    char name[64];

    double start = cpu_ns();
    add_many(e, 0, pending, SHAPES);
    double put = (cpu_ns() - start) / (double)pending / 1000;
    snprintf(name, sizeof(name), "admit, %zu pending", pending);
    tell(name, per_decision(e, cycles), "us");
    snprintf(name, sizeof(name), "a new workload, %zu pending", pending);
    tell(name, put, "us");
    queue_free(e);
}

/* What each further workload takes. The engine itself, and the first of each shape, do not
 * count where shapes are few. */
static void memory(size_t pending, size_t shapes)
{
    size_t first = shapes < pending ? shapes : 0;
    struct queue_engine *e = with_pending(10, first, shapes);
    size_t before = heap_used();
    struct instant later;
    char name[64];

    add_many(e, first, pending, shapes);
    snprintf(name, sizeof(name), "memory of one of %zu pending, %zu shapes", pending, shapes);
    tell(name, (double)(heap_used() - before) / (double)(pending - first), "bytes");
    if (shapes == pending) {
        while (queue_has_heads(e, NOW, &later))
            decide(e, 1);
        tell("and once it was refused", (double)(heap_used() - before) / (double)pending,
             "bytes");
    }
    queue_free(e);
}

/* Every workload has a shape of its own and never fits: each is judged once and parked. */
static void refuse(size_t pending, size_t cycles)
{
    struct queue_engine *e = with_pending(10, pending, pending);
    char name[64];

    snprintf(name, sizeof(name), "refuse, %zu pending of as many shapes", pending);
    tell(name, per_decision(e, cycles), "us");
    queue_free(e);
}

/* Many queues of one cohort, a head of each in every cycle. */
static void many_queues(size_t queues, size_t each, bool fair)
{
    struct queue_config config = queue_config_default();
    struct queue_engine *e;
    char names[32], label[64];
    size_t n = 0;

    config.fair_sharing = fair;
    e = engine(&config);
    for (size_t q = 0; q < queues; q++) {
        snprintf(names, sizeof(names), "q%zu", q);
        add_cq(e, str_from(names), S("all"), INT64_C(1) << 40, false);
        for (size_t i = 0; i < each; i++)
            add_workload(e, &(struct want){str_from(names), 100, 0, false, n++});
    }
    snprintf(label, sizeof(label), "admit, a head of each of %zu queues%s", queues,
             fair ? ", fair" : "");
    tell(label, per_decision(e, each / 5), "us");
    queue_free(e);
}

static double cycle_us(struct queue_engine *e, int rounds)
{
    struct arena a = arena_sized(1 << 20);
    double best = 1e18;

    for (int i = 0; i < rounds; i++) {
        arena_reset(&a);
        double start = cpu_ns();
        struct queue_plan p = queue_cycle(e, &a, NOW);
        double took = (cpu_ns() - start) / 1000;
        if (p.len == 1 && p.at[0].outcome == OUTCOME_PREEMPTING)
            best = MIN(best, took);
    }
    arena_fini(&a);
    return best;
}

static void preempt(size_t candidates)
{
    struct queue_config config = queue_config_default();
    struct queue_engine *e = engine(&config);

    add_cq(e, S("q"), S(""), (int64_t)candidates * 1000, true);
    for (size_t i = 0; i < candidates; i++)
        add_workload(e, &(struct want){S("q"), 1000, (int64_t)(i % 7), true, i});
    add_workload(e, &(struct want){S("q"), 3000, 100, false, candidates});
    tell("preemption of 3 among 10000 candidates", cycle_us(e, 40), "us");
    queue_free(e);
}

static void preempt_fair(size_t candidates)
{
    struct queue_config config = queue_config_default();
    struct queue_engine *e;
    char name[16];

    config.fair_sharing = true;
    e = engine(&config);
    for (int q = 0; q < 10; q++) {
        snprintf(name, sizeof(name), "q%d", q);
        add_cq(e, str_from(name), S("all"), 5000, true);
    }
    add_cq(e, S("own"), S("all"), (int64_t)candidates * 1000 - 50000, true);
    for (size_t i = 0; i < candidates; i++) {
        snprintf(name, sizeof(name), "q%zu", i % 10);
        add_workload(e, &(struct want){str_from(name), 1000, 0, true, i});
    }
    add_workload(e, &(struct want){S("own"), 1000, 0, false, candidates});
    tell("fair sharing, 1 of 100 candidates", cycle_us(e, 200), "us");
    queue_free(e);
}

/* One of a cohort's workloads ends: what waits for quota there is woken, and judged again. */
static void wake(size_t parked)
{
    struct queue_config config = queue_config_default();
    struct queue_engine *e = engine(&config);
    struct arena a = arena_sized(64 << 10);
    double best = 1e18;

    add_cq(e, S("q"), S(""), 1000, false);
    for (size_t i = 0; i < parked; i++)
        add_workload(e, &(struct want){S("q"), 5000 + (int64_t)(i % SHAPES), 0, false, i});
    for (int i = 0; i < 2 * SHAPES; i++)
        queue_cycle(e, &a, NOW);
    for (int i = 0; i < 50; i++) {
        arena_reset(&a);
        double start = cpu_ns();
        queue_wake(e, S("q"), NOW);
        best = MIN(best, (cpu_ns() - start) / 1000);
        for (int k = 0; k < SHAPES; k++)
            queue_cycle(e, &a, NOW);
    }
    tell("waking 1000000 parked of 8 shapes", best, "us");
    arena_fini(&a);
    queue_free(e);
}

/* One queue of many in a cohort has somebody parked: the others cost a wake-up nothing. */
static void wake_one_of(size_t queues)
{
    struct queue_config config = queue_config_default();
    struct queue_engine *e = engine(&config);
    double best = 1e18;
    char name[32];

    for (size_t q = 0; q < queues; q++) {
        snprintf(name, sizeof(name), "q%zu", q);
        add_cq(e, str_from(name), S("all"), 0, false);
    }
    add_workload(e, &(struct want){S("q7"), 5000, 0, false, 1});
    for (int i = 0; i < 50; i++) {
        decide(e, 1);
        double start = cpu_ns();
        queue_wake(e, S("q7"), NOW);
        best = MIN(best, (cpu_ns() - start) / 1000);
    }
    tell("waking 1 parked in a cohort of 10000 queues", best, "us");
    queue_free(e);
}

/* ---- what is counted ---- */

static const struct row {
    const char *name;
    int64_t quota;
    size_t pending, shapes, decisions;
} rows[] = {
    {"admit, 1000 pending",                     INT64_C(1) << 50, 1000,   SHAPES, 800  },
    {"admit, 100000 pending",                   INT64_C(1) << 50, 100000, SHAPES, 10000},
    {"refuse, 10000 pending of as many shapes", 10,               10000,  10000,  5000 },
};

static int count(const char *name)
{
    for (size_t i = 0; i < countof(rows); i++) {
        const struct row *r = &rows[i];
        if (strcmp(r->name, name) != 0)
            continue;
        struct queue_engine *e = with_pending(r->quota, r->pending, r->shapes);
        printf("%zu\n", decide(e, r->decisions));
        queue_free(e);
        return 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "count") == 0)
        return count(argv[2]);
    for (size_t i = 0; argc == 2 && i < countof(rows); i++)
        puts(rows[i].name);
    if (argc > 1)
        return 0;
    admit(1000, 150);
    admit(100000, 15000);
    admit(1000000, 100000);
    memory(1000, SHAPES);
    memory(100000, SHAPES);
    memory(1000000, SHAPES);
    memory(10000, 10000);
    refuse(10000, 1500);
    refuse(100000, 15000);
    many_queues(1000, 20, false);
    many_queues(10000, 5, false);
    many_queues(1000, 20, true);
    many_queues(10000, 5, true);
    preempt(10000);
    preempt_fair(100);
    wake(1000000);
    wake_one_of(10000);
    return 0;
}
