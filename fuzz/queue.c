/* Objects from bytes into the loader and the engine, deleted while used, amounts that overflow,
 * cohorts in circles, a clock that jumps: nothing hangs, sums are what one would compute anew,
 * and once all workloads are gone no quota is used. */
#include "choose.h"
#include "queue/engine_priv.h"
#include "queue/load.h"
#include "json/json.h"

#define MAX_OPS 300
#define MAX_CYCLES 100
#define WORKLOADS 8

static const char *const amounts[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "7",
                                      "500m",
                                      "-5",
                                      "0.0001",
                                      "1Ki",
                                      "9223372036854775807",
                                      "9223372036854775",
                                      "9223372036854775806",
                                      "1E",
                                      "1e30",
                                      "x"};
static const char *const policies[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority",
                                       "Any", "Sometimes"};
static const char *const resources[] = {"cpu", "memory", "gpu"};
static const char *const spaces[] = {"n0", "n1"};

struct world {
    struct bytes in;
    struct arena a;
    struct queue_config config;
    struct queue_loader loader;
    struct queue_engine *e;
    struct instant now;
};

static const char *one_of(struct world *w, const char *const *list, size_t n)
{
    return list[take(&w->in, (unsigned)n)];
}
#define ONE_OF(w, list) one_of((w), (list), countof(list))

static void put(struct world *w, struct str text)
{
    const struct json *o = json_parse(&w->a, text, NULL, NULL);

    if (o)
        queue_put_object(w->e, &w->a, o, &w->loader, w->now);
}

/* ---- objects ---- */

static void add_amount(struct world *w, struct buf *b, const char *name)
{
    buf_printf(b, ",\"%s\":\"%s\"", name, ONE_OF(w, amounts));
}

static void add_groups(struct world *w, struct buf *b)
{
    unsigned n_flavors = take(&w->in, 4), covered = 1 + take(&w->in, 3);

    buf_printf(b, "\"resourceGroups\":[{\"coveredResources\":[");
    for (unsigned r = 0; r < covered; r++)
        buf_printf(b, "%s\"%s\"", r ? "," : "", resources[r]);
    buf_printf(b, "],\"flavors\":[");
    for (unsigned f = 0; f < n_flavors; f++) {
        buf_printf(b, "%s{\"name\":\"f%u\",\"resources\":[", f ? "," : "", take(&w->in, 4));
        for (unsigned r = 0; r < covered; r++) {
            buf_printf(b, "%s{\"name\":\"%s\"", r ? "," : "", resources[r]);
            add_amount(w, b, "nominalQuota");
            if (take(&w->in, 3) == 0)
                add_amount(w, b, "borrowingLimit");
            if (take(&w->in, 3) == 0)
                add_amount(w, b, "lendingLimit");
            buf_printf(b, "}");
        }
        buf_printf(b, "]}");
    }
    buf_printf(b, "]}]");
}

static void put_cq(struct world *w)
{
    struct buf b = buf_in(&w->a, 1024);

    buf_printf(&b, "{\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"q%u\"},\"spec\":{",
               take(&w->in, 4));
    if (take(&w->in, 4))
        buf_printf(&b, "\"cohortName\":\"c%u\",", take(&w->in, 4));
    buf_printf(&b, "\"queueingStrategy\":\"%s\",\"namespaceSelector\":{%s},",
               take(&w->in, 3) ? "BestEffortFIFO" : "StrictFIFO",
               take(&w->in, 8) ? "" : "\"matchLabels\":{\"a\":\"b\"}");
    buf_printf(&b, "\"stopPolicy\":\"%s\",", take(&w->in, 8) ? "None" : "HoldAndDrain");
    buf_printf(&b,
               "\"flavorFungibility\":{\"whenCanBorrow\":\"%s\",\"whenCanPreempt\":\"%s\"},",
               take(&w->in, 2) ? "MayStopSearch" : "TryNextFlavor",
               take(&w->in, 2) ? "MayStopSearch" : "TryNextFlavor");
    buf_printf(&b, "\"preemption\":{\"withinClusterQueue\":\"%s\"", ONE_OF(w, policies));
    buf_printf(&b, ",\"reclaimWithinCohort\":\"%s\"", ONE_OF(w, policies));
    buf_printf(&b, ",\"borrowWithinCohort\":{\"policy\":\"%s\",\"maxPriorityThreshold\":%d}},",
               ONE_OF(w, policies), (int)take(&w->in, 5) - 2);
    buf_printf(&b, "\"fairSharing\":{\"weight\":\"%s\"},", ONE_OF(w, amounts));
    add_groups(w, &b);
    buf_printf(&b, "}}");
    put(w, buf_str(&b));
}

static void put_cohort(struct world *w)
{
    struct buf b = buf_in(&w->a, 1024);

    buf_printf(&b, "{\"kind\":\"Cohort\",\"metadata\":{\"name\":\"c%u\"},\"spec\":{",
               take(&w->in, 4));
    if (take(&w->in, 3))
        buf_printf(&b, "\"parentName\":\"c%u\",", take(&w->in, 4));
    add_groups(w, &b);
    buf_printf(&b, "}}");
    put(w, buf_str(&b));
}

static void put_lq(struct world *w)
{
    put(w, str_printf(&w->a,
                      "{\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"l%u\",\"namespace\":"
                      "\"%s\"},\"spec\":{\"clusterQueue\":\"q%u\",\"stopPolicy\":\"%s\"}}",
                      take(&w->in, 4), ONE_OF(w, spaces), take(&w->in, 4),
                      take(&w->in, 6) ? "None" : "Hold"));
}

static void put_flavor(struct world *w)
{
    put(w, str_printf(&w->a,
                      "{\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f%u\"},\"spec\":{"
                      "\"nodeTaints\":[%s]}}",
                      take(&w->in, 4),
                      take(&w->in, 4) ? "" : "{\"key\":\"k\",\"effect\":\"NoSchedule\"}"));
}

static void put_namespace(struct world *w)
{
    put(w, str_printf(&w->a,
                      "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\",\"labels\":{%s}}}",
                      ONE_OF(w, spaces), take(&w->in, 2) ? "\"a\":\"b\"" : ""));
}

static void add_podsets(struct world *w, struct buf *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        buf_printf(b, "%s{\"name\":\"p%u\",\"count\":%u", i ? "," : "", i, take(&w->in, 5));
        if (take(&w->in, 3) == 0)
            buf_printf(b, ",\"minCount\":%u", take(&w->in, 4));
        buf_printf(b,
                   ",\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{");
        for (unsigned r = 0; r < 3; r++)
            if (r == 0 || take(&w->in, 3) == 0)
                buf_printf(b, "%s\"%s\":\"%s\"", r ? "," : "", resources[r],
                           ONE_OF(w, amounts));
        buf_printf(b, "}}}]}}}");
    }
}

static void add_admission(struct world *w, struct buf *b, unsigned n)
{
    buf_printf(b, "\"admission\":{\"clusterQueue\":\"q%u\",\"podSetAssignments\":[",
               take(&w->in, 4));
    for (unsigned i = 0; i < n; i++) {
        buf_printf(b, "%s{\"name\":\"p%u\",\"count\":%u,\"flavors\":{", i ? "," : "", i,
                   take(&w->in, 5));
        for (unsigned r = 0; r < 3; r++)
            buf_printf(b, "%s\"%s\":\"f%u\"", r ? "," : "", resources[r], take(&w->in, 5));
        buf_printf(b, "},\"resourceUsage\":{");
        for (unsigned r = 0; r < 3; r++)
            buf_printf(b, "%s\"%s\":\"%s\"", r ? "," : "", resources[r], ONE_OF(w, amounts));
        buf_printf(b, "}}");
    }
    buf_printf(b, "]},");
}

static void add_conditions(struct world *w, struct buf *b)
{
    static const char *const types[] = {"QuotaReserved", "Admitted", "Evicted",
                                        "Requeued",      "Finished", "PodsReady"};

    buf_printf(b, "\"conditions\":[");
    for (unsigned i = 0, n = take(&w->in, 4); i < n; i++)
        buf_printf(b,
                   "%s{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"%s\","
                   "\"lastTransitionTime\":\"2026-01-01T00:00:%02uZ\"}",
                   i ? "," : "", ONE_OF(w, types), take(&w->in, 3) ? "True" : "False",
                   take(&w->in, 2) ? "Preempted" : "OnHold", take(&w->in, 60));
    buf_printf(b, "]");
}

static void put_workload(struct world *w)
{
    struct buf b = buf_in(&w->a, 2048);
    unsigned name = take(&w->in, WORKLOADS), n = 1 + take(&w->in, 2);

    buf_printf(&b,
               "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w%u\",\"namespace\":\"%s\","
               "\"uid\":\"u%u\",\"generation\":%u,\"creationTimestamp\":"
               "\"2025-12-31T00:00:%02uZ\"},\"spec\":{\"queueName\":\"l%u\",\"active\":%s,"
               "\"priority\":%d,\"podSets\":[",
               name, spaces[name % 2], name + 8 * take(&w->in, 2), take(&w->in, 3),
               take(&w->in, 60), take(&w->in, 4), take(&w->in, 8) ? "true" : "false",
               (int)take(&w->in, 4));
    add_podsets(w, &b, n);
    buf_printf(&b, "]},\"status\":{");
    if (take(&w->in, 3) == 0)
        add_admission(w, &b, n);
    if (take(&w->in, 4) == 0)
        buf_printf(&b, "\"reclaimablePods\":[{\"name\":\"p0\",\"count\":%u}],",
                   take(&w->in, 6));
    if (take(&w->in, 6) == 0)
        buf_printf(&b, "\"requeueState\":{\"requeueAt\":\"2026-01-0%uT00:00:00Z\"},",
                   1 + take(&w->in, 9));
    add_conditions(w, &b);
    buf_printf(&b, "}}");
    put(w, buf_str(&b));
}

/* What is left of the input, as it is. */
static void put_raw(struct world *w)
{
    size_t n = MIN((size_t)take(&w->in, 200), (size_t)(w->in.end - w->in.at));

    put(w, str_of((const char *)w->in.at, n));
    w->in.at += n;
}

/* ---- what happens to them ---- */

static struct str workload_key(struct world *w, unsigned i)
{
    return str_printf(&w->a, "%s/w%u", spaces[i % 2], i);
}

static void delete_some(struct world *w)
{
    unsigned i = take(&w->in, 4);
    struct str n = str_printf(&w->a, "%u", i);

    switch (take(&w->in, 6)) {
    case 0:
        queue_delete_cq(w->e, str_printf(&w->a, "q%.*s", STR_ARG(n)));
        break;
    case 1:
        queue_delete_cohort(w->e, str_printf(&w->a, "c%.*s", STR_ARG(n)));
        break;
    case 2:
        queue_delete_lq(w->e, str_from(ONE_OF(w, spaces)), str_printf(&w->a, "l%u", i));
        break;
    case 3:
        queue_delete_flavor(w->e, str_printf(&w->a, "f%.*s", STR_ARG(n)));
        break;
    case 4:
        queue_delete_namespace(w->e, str_from(ONE_OF(w, spaces)));
        break;
    default:
        queue_delete_workload(w->e, workload_key(w, take(&w->in, WORKLOADS)));
    }
}

static void jump(struct world *w)
{
    static const int64_t seconds[] = {0, 1, -1, 3600, -3600, 86400 * 365, INT64_C(9000000000)};

    w->now.ns = sat_add(w->now.ns, sat_mul(seconds[take(&w->in, countof(seconds))], SECOND_NS));
}

static void cycle(struct world *w)
{
    struct queue_plan p = queue_cycle(w->e, &w->a, w->now);

    for (size_t i = 0; i < p.len; i++) {
        const struct queue_decision *d = &p.at[i];
        queue_message(&w->a, d->outcome, d->causes, d->n_causes, d->n_victims);
        if (d->outcome == OUTCOME_ADMITTED && take(&w->in, 4) == 0)
            queue_admission_failed(w->e, d->key, take(&w->in, 2), w->now);
        for (size_t v = 0; v < d->n_victims; v++)
            if (take(&w->in, 3) == 0)
                queue_preemption_failed(w->e, d->key, d->victims[v].key, w->now);
            else
                queue_delete_workload(w->e, d->victims[v].key);
    }
}

static void look(struct world *w)
{
    const struct queue_ledger_line *lines;
    const struct queue_pending *pending;
    struct queue_why why =
        queue_why(w->e, &w->a, workload_key(w, take(&w->in, WORKLOADS)), w->now);

    for (size_t i = 0; i < why.n_changes; i++)
        queue_change_text(&w->a, &why.changes[i]);
    queue_list(w->e, &w->a, S("q0"), &pending);
    queue_cq_look(w->e, &w->a, S("q1"));
    queue_lq_look(w->e, &w->a, S("n0"), S("l0"));
    size_t n = queue_ledger(w->e, &w->a, S(""), &lines);
    for (size_t i = 0; i < n; i++)
        queue_ledger_text(&w->a, &lines[i]);
}

/* ---- what must hold ---- */

static int64_t held_of(const struct queue_cq *cq, quota_fr fr)
{
    int64_t sum = 0;

    vec_each (i, &cq->holders) {
        const struct wl_extra *x = cq->holders.at[i].wl->extra;
        vec_each (k, &x->usage)
            if (x->usage.at[k].fr == fr)
                sum = amount_add(sum, x->usage.at[k].amount);
    }
    return sum;
}

static void check_sums(struct world *w)
{
    map_each (i, &w->e->cqs) {
        const struct queue_cq *cq = *map_at(&w->e->cqs, i);
        uint32_t active = 0, parked = 0;
        vec_each (k, &cq->node.cells)
            assert(cq->node.cells.at[k].usage == held_of(cq, cq->node.cells.at[k].fr));
        vec_each (k, &cq->lqs)
            for (size_t g = 0; cq->lqs.at[k]->is_attached && g < cq->lqs.at[k]->groups.len;
                 g++) {
                const struct queue_group *group = cq->lqs.at[k]->groups.at[g];
                active += group->heaps[group->active].len;
                parked += group->heaps[!group->active].len;
            }
        assert(cq->n_active == active && cq->n_parked == parked && !cq->inflight);
    }
    assert(w->e->log.entries.len == 0);
    held();
}

static void end(struct world *w)
{
    const struct queue_ledger_line *lines;

    for (unsigned i = 0; i < WORKLOADS; i++)
        queue_delete_workload(w->e, workload_key(w, i));
    while (w->e->n_wls) /* of raw objects */
        for (uint32_t i = 0; i < w->e->n_table; i++)
            if (w->e->table[i])
                wl_discard(w->e, w->e->table[i]);
    size_t n = queue_ledger(w->e, &w->a, S(""), &lines);
    for (size_t i = 0; i < n; i++)
        assert(lines[i].used == 0);
    map_each (i, &w->e->cqs) {
        struct queue_cq *cq = *map_at(&w->e->cqs, i);
        assert(!cq->holders.len && !cq->n_admitted && !cq->n_active && !cq->n_parked);
        vec_each (k, &cq->admitted)
            assert(cq->admitted.at[k].amount == 0);
    }
    map_each (i, &w->e->lqs) {
        struct queue_lq *lq = *map_at(&w->e->lqs, i);
        assert(!lq->n_holding && !lq->n_admitted && !lq->pending && !lq->groups.len);
        vec_each (k, &lq->reserved)
            assert(lq->reserved.at[k].amount == 0);
    }
    assert(!w->e->n_not_ready && !map_len(&w->e->shapes) && !map_len(&w->e->groups));
    held();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const ops[])(struct world *) = {
        put_cq,        put_cq,       put_cohort,   put_lq,       put_lq, put_flavor,
        put_namespace, put_workload, put_workload, put_workload, cycle,  cycle,
        cycle,         delete_some,  delete_some,  jump,         look,   put_raw};
    struct world w = {
        .in = {data, data + size},
          .a = arena_sized(64 << 10), .now = {1767225600 * SECOND_NS   }
    };
    struct instant later;

    w.config = queue_config_default();
    w.config.fair_sharing = take(&w.in, 2);
    w.config.afs = take(&w.in, 3) == 0;
    w.config.afs_half_life = span_s(60);
    w.config.afs_sampling = span_s(10);
    w.config.gates ^= take(&w.in, 4) ? 0 : 1u << take(&w.in, QUEUE_GATE_COUNT);
    w.loader.config = &w.config;
    w.e = queue_new(&w.config);
    put(&w, S("{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n0\"}}"));
    for (int i = 0; i < MAX_OPS && w.in.at < w.in.end; i++) {
        struct arena_mark mark = arena_mark(&w.a);
        ops[take(&w.in, countof(ops))](&w);
        check_sums(&w);
        arena_rewind(&w.a, mark);
    }
    for (int i = 0; i < MAX_CYCLES && queue_has_heads(w.e, w.now, &later); i++)
        cycle(&w);
    check_sums(&w);
    end(&w);
    queue_free(w.e);
    arena_fini(&w.a);
    return 0;
}
