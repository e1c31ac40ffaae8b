/* random.c - random worlds: nothing is over its limits, what is kept is what one would compute
 * anew, and decisions stop when inputs do
 *
 * QUEUE_ROUNDS=n runs n worlds of each kind, QUEUE_SEED=s starts at world s.
 *
 * The rules themselves let one world in 1,000 or so go round for ever (README.md, "Going
 * round"): those are printed. In the kinds marked orderly none may.
 */
#include "base/testing.h"
#include "queue/engine_priv.h"

#define NOW ((struct instant){1767225600 * SECOND_NS})
#define MAX_CQS 6
#define MAX_COHORTS 3
#define MAX_WLS 24
#define MAX_CYCLES 400
#define DEFAULT_ROUNDS 1000

struct job {
    char name[16];
    int cq;
    int64_t cpu, gpu, priority, created;
    bool is_gone;
};

enum kind {
    CLASSICAL,
    FAIR,
    ORDERLY_CLASSICAL, /* preemptors first, no MayStopSearch, no borrowWithinCohort */
    ORDERLY_FAIR       /* and no reclaiming from a higher priority */
};

struct world {
    struct queue_engine *e;
    enum kind kind;
    struct queue_config config;
    struct arena a;
    uint64_t seed;
    int n_cqs, n_cohorts;
    struct queue_cq_spec cqs[MAX_CQS];
    struct queue_cohort_spec cohorts[MAX_COHORTS];
    struct job jobs[MAX_WLS];
    int n_jobs;
    int evictions, admissions;
    uint64_t digest; /* of all decisions */
};

static uint64_t next(struct world *w)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return w->seed;
}

static int64_t below(struct world *w, int64_t n)
{
    return (int64_t)(next(w) % (uint64_t)n);
}

/* ---- building ---- */

static const struct str resources[] = {S_INIT("cpu"), S_INIT("gpu")};

static const struct queue_group_spec *random_group(struct world *w, bool has_parent)
{
    struct queue_group_spec *g = arena_new(&w->a, struct queue_group_spec);
    struct queue_group_flavor *f = arena_array(&w->a, struct queue_group_flavor, 2);

    for (int i = 0; i < 2; i++) {
        struct queue_quota_spec *q = arena_array(&w->a, struct queue_quota_spec, 2);
        for (int r = 0; r < 2; r++) {
            q[r] = (struct queue_quota_spec){.resource = resources[r], .nominal = below(w, 7)};
            q[r].has_borrow = has_parent && below(w, 3) == 0;
            q[r].borrow = below(w, 5);
            q[r].has_lend = has_parent && below(w, 3) == 0;
            q[r].lend = q[r].nominal ? below(w, q[r].nominal + 1) : 0;
        }
        f[i] = (struct queue_group_flavor){i ? S("f1") : S("f0"), q, 2};
    }
    *g = (struct queue_group_spec){resources, 2, f, (size_t)(1 + below(w, 2))};
    return g;
}

static enum queue_policy random_policy(struct world *w, bool is_within)
{
    static const enum queue_policy within[] = {POLICY_NEVER, POLICY_LOWER,
                                               POLICY_LOWER_OR_NEWER};
    static const enum queue_policy reclaim[] = {POLICY_NEVER, POLICY_LOWER, POLICY_ANY};
    if (is_within)
        return within[below(w, 3)];
    return reclaim[below(w, w->kind == ORDERLY_FAIR ? 2 : 3)];
}

static void build(struct world *w)
{
    w->n_cohorts = (int)below(w, MAX_COHORTS + 1);
    for (int i = 0; i < w->n_cohorts; i++) {
        struct queue_cohort_spec *c = &w->cohorts[i];
        c->name = str_printf(&w->a, "c%d", i);
        c->weight = 1;
        if (i > 0 && below(w, 3))
            c->parent = w->cohorts[below(w, i)].name;
        c->groups = random_group(w, c->parent.len > 0);
        c->n_groups = (size_t)below(w, 2);
        queue_put_cohort(w->e, c, NULL);
    }
    w->n_cqs = 1 + (int)below(w, MAX_CQS);
    for (int i = 0; i < w->n_cqs; i++) {
        struct queue_cq_spec *q = &w->cqs[i];
        q->name = str_printf(&w->a, "q%d", i);
        q->weight = (double)(1 + below(w, 3));
        if (w->n_cohorts && below(w, 4))
            q->cohort = w->cohorts[below(w, w->n_cohorts)].name;
        q->groups = random_group(w, q->cohort.len > 0);
        q->n_groups = 1;
        q->namespaces.is_set = true;
        q->is_strict = below(w, 4) == 0;
        q->borrow_try_next = below(w, 2);
        q->preempt_stop = below(w, 2);
        if (w->kind >= ORDERLY_CLASSICAL)
            q->preempt_stop = false;
        q->has_preemption = true;
        q->within = random_policy(w, true);
        q->reclaim = random_policy(w, false);
        if (q->reclaim != POLICY_NEVER && below(w, 3) == 0 && w->kind == CLASSICAL)
            q->borrow = POLICY_LOWER;
        queue_put_cq(w->e, q, NULL);
        struct queue_lq_spec lq = {.ns = S("ns"), .name = q->name, .cq = q->name, .weight = 1};
        queue_put_lq(w->e, &lq);
    }
}

static void put(struct world *w, const struct job *j)
{
    struct queue_request requests[2] = {
        {S("cpu"), j->cpu},
        {S("gpu"), j->gpu}
    };
    struct queue_podset_spec ps = {
        .name = S("main"), .count = 1, .requests = requests, .n_requests = j->gpu ? 2 : 1};
    struct queue_workload_spec spec = {.ns = S("ns"),
                                       .name = str_from(j->name),
                                       .uid = str_from(j->name),
                                       .queue = w->cqs[j->cq].name,
                                       .generation = 1,
                                       .priority = j->priority,
                                       .order_time = {NOW.ns + j->created},
                                       .podsets = &ps,
                                       .n_podsets = 1};
    queue_put_workload(w->e, &spec, NOW);
}

static void submit(struct world *w)
{
    struct job *j = &w->jobs[w->n_jobs];

    *j = (struct job){.cq = (int)below(w, w->n_cqs),
                      .cpu = 1 + below(w, 6),
                      .gpu = below(w, 3),
                      .priority = below(w, 4),
                      .created = w->n_jobs * SECOND_NS};
    snprintf(j->name, sizeof(j->name), "w%02d", w->n_jobs++);
    put(w, j);
}

/* ---- a slow model of the quota ---- */

static int64_t slow_usage_of(struct queue_cq *cq, quota_fr fr)
{
    int64_t sum = 0;

    vec_each (i, &cq->holders) {
        const struct wl_extra *x = cq->holders.at[i].wl->extra;
        vec_each (k, &x->usage)
            if (x->usage.at[k].fr == fr)
                sum += x->usage.at[k].amount;
    }
    return sum;
}

static int64_t slow_usage(struct quota_node *n, quota_fr fr)
{
    int64_t sum = 0;

    if (n->is_leaf)
        return slow_usage_of(container_of(n, struct queue_cq, node), fr);
    vec_each (i, &n->children) {
        struct quota_node *child = n->children.at[i];
        const struct quota_cell *c = quota_cell(child, fr);
        sum += MAX((int64_t)0, slow_usage(child, fr) - (c ? c->local : 0));
    }
    return sum;
}

static void check_node(struct quota_node *n)
{
    vec_each (i, &n->cells) {
        const struct quota_cell *c = &n->cells.at[i];
        check_int(c->usage, slow_usage(n, c->fr));
        if (!n->parent)
            check(c->usage <= c->subtree);
        else if (c->has_borrow)
            check(c->usage <= c->subtree + c->borrow);
    }
    vec_each (i, &n->children)
        check_node(n->children.at[i]);
}

static void check_quota(struct world *w)
{
    for (int i = 0; i < w->n_cqs; i++) {
        struct queue_cq *cq = cq_find(w->e, w->cqs[i].name);
        struct quota_node *root = quota_root(&cq->node);
        quota_settle(root);
        check_node(root);
        check_int(cq->n_active + cq->n_parked + (cq->inflight != NULL), cq->lqs.at[0]->pending);
    }
    check_int(w->e->log.entries.len, 0);
}

/* ---- running ---- */

static struct job *job_named(struct world *w, struct str key)
{
    struct str ns, name;

    str_cut(key, '/', &ns, &name);
    for (int i = 0; i < w->n_jobs; i++)
        if (str_eqz(name, w->jobs[i].name))
            return &w->jobs[i];
    return NULL;
}

static void note(struct world *w, const struct queue_decision *d)
{
    w->digest = w->digest * 31 + str_digest(d->key);
    w->digest = w->digest * 31 + (uint64_t)d->outcome;
    for (size_t i = 0; i < d->n_victims; i++)
        w->digest = w->digest * 31 + str_digest(d->victims[i].key);
}

/* The victims of one decision stop at once and wait again. */
static void evict(struct world *w, const struct queue_decision *d)
{
    for (size_t i = 0; i < d->n_victims; i++) {
        struct job *j = job_named(w, d->victims[i].key);
        check(!d->victims[i].is_under_way);
        queue_delete_workload(w->e, d->victims[i].key);
        put(w, j);
        w->evictions++;
    }
}

/* With its victims gone there is room for each who asked for them, and for all together. */
static void check_bought(struct world *w, const struct queue_plan *p)
{
    for (size_t i = 0; i < p->len; i++) {
        const struct queue_decision *d = &p->at[i];
        if (d->outcome != OUTCOME_PREEMPTING)
            continue;
        struct queue_cq *cq = cq_find(w->e, d->cq);
        const struct queue_assigned_podset *ps = &d->podsets[0];
        quota_settle(quota_root(&cq->node));
        for (size_t k = 0; k < ps->n_flavors; k++) {
            const struct queue_assigned_flavor *f = &ps->flavors[k];
            quota_fr fr = QUOTA_FR(intern_find(&w->e->flavor_names, f->flavor),
                                   intern_find(&w->e->resources, f->resource));
            int64_t amount = 0;
            for (size_t r = 0; r < ps->n_requests; r++)
                if (str_eq(ps->requests[r].resource, f->resource))
                    amount = ps->requests[r].amount;
            check(amount <= MAX((int64_t)0, quota_available(&cq->node, fr)));
            quota_add(&cq->node, fr, amount, &w->e->log);
        }
    }
    quota_undo(&w->e->log, 0);
}

/* False where there was nothing to look at. */
static bool cycle(struct world *w)
{
    struct arena_mark mark = arena_mark(&w->a);
    struct instant later;

    if (!queue_has_heads(w->e, NOW, &later))
        return false;
    struct queue_plan p = queue_cycle(w->e, &w->a, NOW);
    for (size_t i = 0; i < p.len; i++) {
        note(w, &p.at[i]);
        w->admissions += p.at[i].outcome == OUTCOME_ADMITTED;
    }
    check_quota(w);
    for (size_t i = 0; i < p.len; i++)
        if (p.at[i].outcome == OUTCOME_PREEMPTING)
            evict(w, &p.at[i]);
    check_bought(w, &p);
    arena_rewind(&w->a, mark);
    return true;
}

static void end_some(struct world *w)
{
    for (int i = 0; i < w->n_jobs; i++) {
        struct job *j = &w->jobs[i];
        struct str key = str_printf(&w->a, "ns/%s", j->name);
        struct queue_wl *wl = wl_find(w->e, key);
        if (!j->is_gone && wl && wl->extra && wl->extra->holds && below(w, 3) == 0) {
            j->is_gone = true;
            queue_delete_workload(w->e, key);
        }
    }
}

/* Everybody asked why changes nothing. */
static void ask_all(struct world *w)
{
    struct arena_mark mark = arena_mark(&w->a);

    for (int i = 0; i < w->n_jobs; i++) {
        struct queue_why why =
            queue_why(w->e, &w->a, str_printf(&w->a, "ns/%s", w->jobs[i].name), NOW);
        for (size_t k = 0; k < why.n_changes; k++)
            check(queue_change_text(&w->a, &why.changes[k]).len > 0);
    }
    arena_rewind(&w->a, mark);
    check_quota(w);
}

static int run(struct world *w)
{
    int cycles = 0;

    build(w);
    for (int i = 0; i < 4; i++) {
        for (int64_t n = below(w, 6); n > 0 && w->n_jobs < MAX_WLS; n--)
            submit(w);
        for (int k = 0; k < 3; k++)
            cycle(w);
        if (i == 2)
            end_some(w);
    }
    ask_all(w);
    while (cycles < MAX_CYCLES && cycle(w))
        cycles++;
    return cycles;
}

static struct world world_of(uint64_t seed, enum kind kind)
{
    struct world w = {.kind = kind, .seed = seed * 2654435761u + 88172645463325252u};

    w.a = arena_sized(16 << 10);
    w.config = queue_config_default();
    w.config.fair_sharing = kind == FAIR || kind == ORDERLY_FAIR;
    if (kind >= ORDERLY_CLASSICAL)
        w.config.gates |= 1u << QUEUE_GATE_PREEMPTORS_FIRST;
    w.e = queue_new(&w.config);
    struct queue_flavor_spec f0 = {.name = S("f0")}, f1 = {.name = S("f1")};
    queue_put_flavor(w.e, &f0);
    queue_put_flavor(w.e, &f1);
    queue_put_namespace(w.e, S("ns"), (struct queue_labels){0});
    return w;
}

static void world_fini(struct world *w)
{
    queue_free(w->e);
    arena_fini(&w->a);
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t v;

    return text && str_to_u64(str_from(text), &v) ? v : otherwise;
}

static void many(enum kind kind)
{
    uint64_t rounds = from_env("QUEUE_ROUNDS", DEFAULT_ROUNDS),
             first = from_env("QUEUE_SEED", 1);
    size_t loops = 0;

    for (uint64_t i = first; i < first + rounds; i++) {
        char name[32];
        snprintf(name, sizeof(name), "world %" PRIu64, i);
        test_case(name);
        struct world w = world_of(i, kind);
        int cycles = run(&w);
        if (cycles >= MAX_CYCLES) {
            printf("# world %" PRIu64 " does not come to rest: %d evictions\n", i, w.evictions);
            loops++;
        }
        world_fini(&w);
    }
    if (kind >= ORDERLY_CLASSICAL)
        check_int(loops, 0);
    else
        check(loops <= 3 + rounds / 300);
}

TEST(classical_worlds)
{
    many(CLASSICAL);
}

TEST(fair_worlds)
{
    many(FAIR);
}

TEST(preemptors_that_go_first_do_not_go_round)
{
    many(ORDERLY_CLASSICAL);
    many(ORDERLY_FAIR);
}

TEST(the_same_events_give_the_same_decisions)
{
    for (uint64_t i = 1; i < 60; i++) {
        struct world x = world_of(i, i % 4), y = world_of(i, i % 4);
        run(&x);
        run(&y);
        check_int((int64_t)x.digest, (int64_t)y.digest);
        world_fini(&x);
        world_fini(&y);
    }
}

TEST(the_order_in_a_queue_is_total)
{
    struct world w = world_of(7, CLASSICAL);

    build(&w);
    while (w.n_jobs < MAX_WLS)
        submit(&w);
    for (int i = 0; i < w.n_cqs; i++) {
        struct queue_cq *cq = cq_find(w.e, w.cqs[i].name);
        struct queue_wl **at;
        size_t n = queue_in_order(w.e, &w.a, cq, &at);
        for (size_t x = 0; x < n; x++)
            for (size_t y = 0; y < n; y++) {
                int xy = pending_cmp(cq, at[x], at[y]), yx = pending_cmp(cq, at[y], at[x]);
                check((xy < 0) == (yx > 0));
                check((xy == 0) == (x == y));
                check((xy < 0) == (x < y));
            }
    }
    world_fini(&w);
}
