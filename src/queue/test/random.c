/* random.c - random worlds against the slow model: nothing is over its limits, what is kept is
 * what one would compute anew, nobody starts or evicts where the model says no, and decisions
 * stop when inputs do
 *
 * QUEUE_ROUNDS=n runs n worlds of each kind, QUEUE_SEED=s starts at world s.
 *
 * The rules themselves let one world in 1,000 or so go round for ever (README.md, "Going
 * round"): those are counted, and shown with what would end them. In the orderly kinds, which
 * have most of these cures, one in 25,000 may.
 */
#include "queue/engine_priv.h"
#include "world.h"

#define MAX_CYCLES 400
#define DEFAULT_ROUNDS 500

enum kind { CLASSICAL, FAIR, ORDERLY_CLASSICAL, ORDERLY_FAIR };

/* What keeps a world from going round; each alone is tried on one that does. */
#define CURES(X)                                                                               \
    X(FIRST, "PrioritizePreemptorWorkloads")                                                   \
    X(NEXT, "no MayStopSearch")                                                                \
    X(NO_ANY, "no reclaiming from a higher priority")                                          \
    X(NO_BORROW, "no borrowWithinCohort")                                                      \
    X(WHOLE, "no partial admission")                                                           \
    X(ONE, "no second podset")

enum cure {
#define CURE_ENUM(name, text) CURE_##name,
    CURES(CURE_ENUM)
#undef CURE_ENUM
        CURE_COUNT,
};
#define ORDERLY (1u << CURE_FIRST | 1u << CURE_NEXT | 1u << CURE_NO_BORROW | 1u << CURE_WHOLE)

struct run {
    struct world w;
    struct queue_engine *e;
    enum kind kind;
    uint32_t cures; /* bits of enum cure */
    struct queue_config config;
    int evictions, admissions, changes;
    bool may_fail;   /* writes, as long as there are inputs */
    uint64_t digest; /* of all decisions */
};

/* ---- building ---- */

static const struct queue_group_spec *random_group(struct world *w, bool has_parent)
{
    struct queue_group_spec *g = arena_new(&w->a, struct queue_group_spec);
    struct queue_group_flavor *f = arena_array(&w->a, struct queue_group_flavor, FLAVORS);

    for (int i = 0; i < FLAVORS; i++) {
        struct queue_quota_spec *q = arena_array(&w->a, struct queue_quota_spec, RESOURCES);
        for (int r = 0; r < RESOURCES; r++) {
            q[r] = (struct queue_quota_spec){.resource = world_resources[r],
                                             .nominal = below(w, 7)};
            q[r].has_borrow = has_parent && one_in(w, 3);
            q[r].borrow = below(w, 5);
            q[r].has_lend = has_parent && one_in(w, 3);
            q[r].lend = q[r].nominal ? below(w, q[r].nominal + 1) : 0;
        }
        f[i] = (struct queue_group_flavor){world_flavors[i], q, RESOURCES};
    }
    *g = (struct queue_group_spec){world_resources, RESOURCES, f, (size_t)(1 + below(w, 2))};
    return g;
}

static bool is_cured(const struct run *r, enum cure c)
{
    return r->cures >> c & 1;
}

static enum queue_policy random_policy(struct run *r, bool is_within)
{
    static const enum queue_policy within[] = {POLICY_NEVER, POLICY_LOWER,
                                               POLICY_LOWER_OR_NEWER};
    static const enum queue_policy reclaim[] = {POLICY_NEVER, POLICY_LOWER, POLICY_ANY};
    enum queue_policy p = (is_within ? within : reclaim)[below(&r->w, 3)];

    return p == POLICY_ANY && is_cured(r, CURE_NO_ANY) ? POLICY_LOWER : p;
}

static void build_cohorts(struct run *r)
{
    struct world *w = &r->w;

    w->n_cohorts = (int)below(w, MAX_COHORTS + 1);
    for (int i = 0; i < w->n_cohorts; i++) {
        struct queue_cohort_spec *c = &w->cohorts[i];
        c->name = str_printf(&w->a, "c%d", i);
        c->weight = 1;
        if (i > 0 && !one_in(w, 3))
            c->parent = w->cohorts[below(w, i)].name;
        c->groups = random_group(w, c->parent.len > 0);
        c->n_groups = (size_t)below(w, 2);
        queue_put_cohort(r->e, c, NULL);
    }
}

static void build_cq(struct run *r, int i)
{
    struct world *w = &r->w;
    struct queue_cq_spec *q = &w->cqs[i];

    q->name = str_printf(&w->a, "q%d", i);
    q->weight = (double)(1 + below(w, 3));
    if (w->n_cohorts && !one_in(w, 4))
        q->cohort = w->cohorts[below(w, w->n_cohorts)].name;
    q->groups = random_group(w, q->cohort.len > 0);
    q->n_groups = 1;
    q->namespaces.is_set = true;
    q->is_strict = one_in(w, 4);
    q->borrow_try_next = one_in(w, 2);
    q->preempt_stop = one_in(w, 2) && !is_cured(r, CURE_NEXT);
    q->prefer_preemption = one_in(w, 3);
    q->has_preemption = true;
    q->within = random_policy(r, true);
    q->reclaim = random_policy(r, false);
    q->borrow = q->reclaim != POLICY_NEVER && one_in(w, 3) ? POLICY_LOWER : POLICY_UNSET;
    q->has_threshold = one_in(w, 2);
    q->threshold = (int32_t)below(w, 3);
    if (is_cured(r, CURE_NO_BORROW))
        q->borrow = POLICY_UNSET;
    queue_put_cq(r->e, q, NULL);
    struct queue_lq_spec lq = {.ns = S("ns"), .name = q->name, .cq = q->name, .weight = 1};
    queue_put_lq(r->e, &lq);
}

static void build(struct run *r)
{
    build_cohorts(r);
    r->w.n_cqs = 1 + (int)below(&r->w, MAX_CQS);
    for (int i = 0; i < r->w.n_cqs; i++)
        build_cq(r, i);
    world_link(&r->w);
}

/* ---- telling the engine ---- */

static struct queue_podset_spec podset_spec(struct world *w, const struct podset *ps, int i)
{
    struct queue_request *requests = arena_array(&w->a, struct queue_request, RESOURCES);
    struct queue_podset_spec s = {.name = i ? S("b") : S("a"),
                                  .count = ps->pods,
                                  .min_count = ps->least,
                                  .requests = requests};

    for (int k = 0; k < RESOURCES; k++)
        if (ps->each[k])
            requests[s.n_requests++] =
                (struct queue_request){world_resources[k], ps->pods * ps->each[k]};
    return s;
}

static struct queue_podset_admission podset_admission(struct world *w, const struct podset *ps,
                                                      int i)
{
    struct queue_flavor_use *uses = arena_array(&w->a, struct queue_flavor_use, RESOURCES);
    struct queue_podset_admission ad = {i ? S("b") : S("a"), ps->given, uses, 0};

    for (int k = 0; k < RESOURCES; k++)
        if (ps->each[k])
            uses[ad.n_uses++] = (struct queue_flavor_use){
                world_resources[k], world_flavors[ps->flavor], ps->given * ps->each[k]};
    return ad;
}

static void put(struct run *r, const struct job *j)
{
    struct arena_mark mark = arena_mark(&r->w.a);
    struct queue_podset_spec ps[2];
    struct queue_podset_admission ad[2];
    struct queue_workload_spec spec = {.ns = S("ns"),
                                       .name = str_from(j->name),
                                       .uid = str_from(j->name),
                                       .queue = r->w.cqs[j->cq].name,
                                       .generation = 1,
                                       .priority = j->priority,
                                       .order_time = {NOW.ns + j->created},
                                       .podsets = ps,
                                       .n_podsets = (size_t)j->n_podsets};

    for (int i = 0; i < j->n_podsets; i++)
        ps[i] = podset_spec(&r->w, &j->podsets[i], i);
    if (j->runs) {
        for (int i = 0; i < j->n_podsets; i++)
            ad[i] = podset_admission(&r->w, &j->podsets[i], i);
        spec.flags = WL_RESERVED | WL_ADMITTED | (j->is_evicted ? WL_EVICTED : 0);
        spec.admitted_to = r->w.cqs[j->cq].name;
        spec.reserved_at = NOW;
        spec.admission = ad;
        spec.n_admission = (size_t)j->n_podsets;
    }
    r->changes++;
    queue_put_workload(r->e, &spec, NOW);
    arena_rewind(&r->w.a, mark);
}

static void submit(struct run *r)
{
    struct world *w = &r->w;
    struct job *j = &w->jobs[w->n_jobs];

    *j = (struct job){.skipped_at = UINT64_MAX,
                      .cq = (int)below(w, w->n_cqs),
                      .priority = below(w, 4),
                      .created = w->n_jobs * SECOND_NS,
                      .n_podsets = one_in(w, 4) ? 2 : 1};
    for (int i = 0; i < j->n_podsets; i++) {
        struct podset *ps = &j->podsets[i];
        ps->pods = one_in(w, 2) ? 1 : 1 + (int32_t)below(w, 3);
        ps->least = one_in(w, 3) && !is_cured(r, CURE_WHOLE) ? 1 : 0;
        ps->each[0] = 1 + below(w, ps->pods > 1 ? 3 : 6);
        ps->each[1] = one_in(w, 2) ? below(w, 3) : 0;
    }
    if (is_cured(r, CURE_ONE))
        j->n_podsets = 1;
    snprintf(j->name, sizeof(j->name), "w%02d", w->n_jobs++);
    put(r, j);
}

/* ---- what is kept against what the model computes ---- */

static int fr_index(const struct run *r, quota_fr fr)
{
    int f = str_eq(intern_name(&r->e->flavor_names, QUOTA_FLAVOR(fr)), world_flavors[1]);
    int k = str_eq(intern_name(&r->e->resources, QUOTA_RESOURCE(fr)), world_resources[1]);
    return f * RESOURCES + k;
}

static void check_node(const struct run *r, int node, const struct quota_node *n)
{
    const struct world *w = &r->w;

    vec_each (i, &n->cells) {
        const struct quota_cell *c = &n->cells.at[i];
        int fr = fr_index(r, c->fr);
        int64_t usage = model_usage(w, node, fr), subtree = model_subtree(w, node, fr);
        check_int(c->usage, usage);
        check_int(c->subtree, subtree);
        check_int(quota_available(n, c->fr), model_available(w, node, fr));
        if (!n->parent)
            check(usage <= subtree);
        else if (quota_of(w, node, fr).has_borrow)
            check(usage <= subtree + quota_of(w, node, fr).borrow);
    }
}

/* Each holder once, in the order in which candidates go: the first place differs from the next.
 */
static void check_ranks(const struct queue_engine *e, struct queue_cq *cq)
{
    if (!rank_ready(e, cq))
        return;
    check_int(cq->ranks.len, cq->holders.len);
    vec_each (i, &cq->ranks) {
        const struct cq_holder *h = wl_holder(cq->ranks.at[i]);
        check(h->wl == cq->ranks.at[i]);
        if (i + 1 == cq->ranks.len)
            return;
        const struct cq_holder *n = wl_holder(cq->ranks.at[i + 1]);
        check(h->is_evicted >= n->is_evicted);
        if (h->is_evicted != n->is_evicted)
            continue;
        check(h->priority < n->priority ||
              (h->priority == n->priority && h->reserved_ns >= n->reserved_ns));
    }
}

static void check_quota(const struct run *r)
{
    for (int i = 0; i < r->w.n_cohorts; i++) {
        struct queue_cohort *c = cohort_find(r->e, r->w.cohorts[i].name);
        quota_settle(&c->node);
        check_node(r, i, &c->node);
    }
    for (int i = 0; i < r->w.n_cqs; i++) {
        struct queue_cq *cq = cq_find(r->e, r->w.cqs[i].name);
        quota_settle(&cq->node);
        check_node(r, node_of_cq(&r->w, i), &cq->node);
        check_ranks(r->e, cq);
        check_int(cq->n_active + cq->n_parked + (cq->inflight != NULL), cq->lqs.at[0]->pending);
    }
    check_int(r->e->log.entries.len, 0);
}

/* ---- each decision against the model ---- */

static struct job *job_named(struct world *w, struct str key)
{
    for (int i = 0; i < w->n_jobs; i++)
        if (str_eqz(str_slice(key, 3, key.len), w->jobs[i].name))
            return &w->jobs[i];
    return NULL;
}

static void note(struct run *r, const struct queue_decision *d)
{
    r->digest = r->digest * 31 + str_digest(d->key);
    r->digest = r->digest * 31 + (uint64_t)d->outcome;
    for (size_t i = 0; i < d->n_victims; i++)
        r->digest = r->digest * 31 + str_digest(d->victims[i].key);
}

/* The job as the decision would have it. */
static struct job assigned(const struct job *j, const struct queue_decision *d)
{
    struct job given = *j;

    for (size_t i = 0; i < d->n_podsets; i++) {
        const struct queue_assigned_podset *ps = &d->podsets[i];
        given.podsets[i].given = ps->count;
        for (size_t k = 0; k < ps->n_flavors; k++)
            given.podsets[i].flavor = str_eq(ps->flavors[k].flavor, world_flavors[1]);
    }
    return given;
}

/* Who starts has room beside all that run, and with more pods it would have none. */
static void check_start(const struct world *w, const struct job *j)
{
    const struct podset *ps = &j->podsets[0];

    check(model_fits(w, j));
    for (int i = 0; i < j->n_podsets; i++) {
        const struct podset *p = &j->podsets[i];
        check(p->given == p->pods || (p->least && p->given >= p->least && p->given < p->pods));
    }
    if (j->n_podsets > 1 || ps->given == ps->pods || w->cqs[j->cq].groups->n_flavors > 1)
        return;
    struct job more = *j;
    more.podsets[0].given++;
    check(!model_fits(w, &more));
}

/* Nobody but those whom its policies allow, and of other queues only who uses more than its
 * own of what is short; `later` has all of this cycle in place. */
static void check_victim(const struct world *w, const struct world *later, const struct job *by,
                         const struct job *v, const struct queue_decision *d)
{
    bool is_over = false, uses = false;

    check(v->runs);
    check(model_policy(w, by, v));
    for (int fr = 0; fr < FRS; fr++) {
        bool is_short = false;
        for (size_t i = 0; i < d->n_podsets; i++)
            for (size_t k = 0; k < d->podsets[i].n_flavors; k++) {
                const struct queue_assigned_flavor *f = &d->podsets[i].flavors[k];
                is_short |= f->mode == MODE_PREEMPT &&
                            str_eq(f->flavor, world_flavors[fr / RESOURCES]) &&
                            str_eq(f->resource, world_resources[fr % RESOURCES]);
            }
        if (!is_short)
            continue;
        int node = node_of_cq(w, v->cq);
        is_over |= model_over(w, node, fr) || model_over(later, node, fr);
        uses |= job_usage(v, fr) > 0;
    }
    check(uses);
    check(v->cq == by->cq || is_over);
}

/* With its victims gone there is room for each who asked for them, and for all together. */
static void check_preemptions(const struct world *before, const struct queue_plan *p)
{
    struct world w = *before, later = *before;

    for (size_t i = 0; i < p->len; i++) {
        struct job given = assigned(job_named(&w, p->at[i].key), &p->at[i]);
        given.runs = true;
        if (p->at[i].mode != MODE_NO_FIT) /* it took or kept some room in this cycle */
            *job_named(&later, p->at[i].key) = given;
        if (p->at[i].outcome == OUTCOME_ADMITTED)
            *job_named(&w, p->at[i].key) = given;
    }
    for (size_t i = 0; i < p->len; i++) {
        const struct queue_decision *d = &p->at[i];
        if (d->outcome != OUTCOME_PREEMPTING)
            continue;
        check(d->n_victims > 0);
        for (size_t k = 0; k < d->n_victims; k++)
            check_victim(before, &later, job_named(&w, d->key),
                         job_named(&w, d->victims[k].key), d);
    }
    for (size_t i = 0; i < p->len; i++)
        for (size_t k = 0; k < p->at[i].n_victims; k++)
            job_named(&w, p->at[i].victims[k].key)->runs = false;
    for (size_t i = 0; i < p->len; i++) {
        if (p->at[i].outcome != OUTCOME_PREEMPTING)
            continue;
        struct job *j = job_named(&w, p->at[i].key), given = assigned(j, &p->at[i]);
        check(model_fits(&w, &given));
        given.runs = true;
        *j = given;
    }
}

/* ---- what follows from them ---- */

static void stop(struct run *r, struct job *j)
{
    char key[24];

    r->changes++;
    snprintf(key, sizeof(key), "ns/%s", j->name);
    queue_delete_workload(r->e, str_from(key));
    j->runs = j->is_evicted = false;
    j->lingers = 0;
}

static void start(struct run *r, struct job *j, const struct queue_decision *d)
{
    struct job given = assigned(j, d);

    check_start(&r->w, &given);
    given.runs = true;
    *j = given;
    r->admissions++;
    r->changes++;
    if (r->may_fail && one_in(&r->w, 10)) {
        j->runs = false;
        queue_admission_failed(r->e, d->key, false, NOW);
    } else if (one_in(&r->w, 2)) {
        put(r, j); /* as the API says it */
    }
}

/* The victims of a decision stop at once and wait again, or are seen to run for a while. */
static void evict(struct run *r, const struct queue_decision *d)
{
    for (size_t i = 0; i < d->n_victims; i++) {
        struct job *j = job_named(&r->w, d->victims[i].key);
        check_int(d->victims[i].is_under_way, j->is_evicted);
        if (j->is_evicted)
            continue;
        if (r->may_fail && one_in(&r->w, 10)) {
            queue_preemption_failed(r->e, d->key, d->victims[i].key, NOW);
            continue;
        }
        r->evictions++;
        if (one_in(&r->w, 3)) {
            j->is_evicted = true;
            j->lingers = 1 + (int)below(&r->w, 3);
            put(r, j);
        } else {
            stop(r, j);
            put(r, j);
        }
    }
}

static bool end_lingering(struct run *r)
{
    bool any = false;

    for (int i = 0; i < r->w.n_jobs; i++) {
        struct job *j = &r->w.jobs[i];
        any |= j->lingers > 0;
        if (j->lingers && !--j->lingers) {
            stop(r, j);
            put(r, j);
        }
    }
    return any;
}

/* False where there was nothing to look at. */
static bool cycle(struct run *r)
{
    struct arena_mark mark = arena_mark(&r->w.a);
    bool any = end_lingering(r);
    struct instant later;

    if (!queue_has_heads(r->e, NOW, &later))
        return any;
    struct queue_plan p = queue_cycle(r->e, &r->w.a, NOW);
    check_preemptions(&r->w, &p);
    for (size_t i = 0; i < p.len; i++) {
        struct job *j = job_named(&r->w, p.at[i].key);
        note(r, &p.at[i]);
        if (p.at[i].outcome == OUTCOME_ADMITTED)
            start(r, j, &p.at[i]);
    }
    for (size_t i = 0; i < p.len; i++)
        if (p.at[i].outcome == OUTCOME_SKIPPED)
            job_named(&r->w, p.at[i].key)->skipped_at =
                engine_changes(r->e, cq_find(r->e, p.at[i].cq), NULL);
    check_quota(r);
    for (size_t i = 0; i < p.len; i++)
        if (p.at[i].outcome == OUTCOME_PREEMPTING)
            evict(r, &p.at[i]);
    check_quota(r);
    arena_rewind(&r->w.a, mark);
    return true;
}

static void end_some(struct run *r)
{
    for (int i = 0; i < r->w.n_jobs; i++) {
        struct job *j = &r->w.jobs[i];
        if (j->runs && one_in(&r->w, 3)) {
            stop(r, j);
            j->is_gone = true;
        }
    }
}

/* Everybody asked why changes nothing. */
static void ask_all(struct run *r)
{
    struct arena_mark mark = arena_mark(&r->w.a);

    for (int i = 0; i < r->w.n_jobs; i++) {
        struct queue_why why =
            queue_why(r->e, &r->w.a, str_printf(&r->w.a, "ns/%s", r->w.jobs[i].name), NOW);
        for (size_t k = 0; k < why.n_changes; k++)
            check(queue_change_text(&r->w.a, &why.changes[k]).len > 0);
    }
    arena_rewind(&r->w.a, mark);
    check_quota(r);
}

/* Was it, the first in line of its queue, or an equal that it was parked with, kept from its
 * room by a reservation since the last change of its tree? */
static bool is_kept_out(const struct run *r, const struct job *j)
{
    uint64_t changes = engine_changes(r->e, cq_find(r->e, r->w.cqs[j->cq].name), NULL);

    for (int i = 0; i < r->w.n_jobs; i++)
        if (r->w.jobs[i].cq == j->cq && r->w.jobs[i].skipped_at == changes)
            return true;
    return false;
}

/* At rest, nobody waits who would fit: but behind a head in strict order, or behind the room
 * that such a head keeps for itself, or where MayStopSearch stopped at a flavor to preempt on.
 */
static void check_rest(const struct run *r)
{
    for (int i = 0; i < r->w.n_jobs; i++) {
        struct job j = r->w.jobs[i];
        if (j.runs || j.is_gone || j.n_podsets > 1 || r->w.cqs[j.cq].is_strict ||
            r->w.cqs[j.cq].preempt_stop || is_kept_out(r, &j))
            continue;
        j.podsets[0].given = j.podsets[0].least ? j.podsets[0].least : j.podsets[0].pods;
        for (size_t f = 0; f < r->w.cqs[j.cq].groups->n_flavors; f++) {
            j.podsets[0].flavor = (int)f;
            check(!model_fits(&r->w, &j));
        }
    }
}

static int run(struct run *r)
{
    int cycles = 0;

    build(r);
    r->may_fail = true;
    for (int i = 0; i < 4; i++) {
        for (int64_t n = below(&r->w, 6); n > 0 && r->w.n_jobs < MAX_JOBS; n--)
            submit(r);
        for (int k = 0; k < 3; k++)
            cycle(r);
        if (i == 2)
            end_some(r);
    }
    ask_all(r);
    r->may_fail = false;
    while (cycles < MAX_CYCLES && cycle(r))
        cycles++;
    if (cycles < MAX_CYCLES)
        check_rest(r);
    return cycles;
}

static struct run *run_new(uint64_t seed, enum kind kind, uint32_t cures)
{
    struct run *r = mem_zero(1, sizeof(*r));

    r->kind = kind;
    r->cures = cures | (kind >= ORDERLY_CLASSICAL ? ORDERLY : 0) |
               (kind == ORDERLY_FAIR ? 1u << CURE_NO_ANY : 0);
    r->w.seed = seed * 2654435761u + 88172645463325252u;
    r->w.a = arena_sized(16 << 10);
    r->config = queue_config_default();
    r->config.fair_sharing = kind == FAIR || kind == ORDERLY_FAIR;
    if (is_cured(r, CURE_FIRST))
        r->config.gates |= 1u << QUEUE_GATE_PREEMPTORS_FIRST;
    r->e = queue_new(&r->config);
    for (int i = 0; i < FLAVORS; i++) {
        struct queue_flavor_spec f = {.name = world_flavors[i]};
        queue_put_flavor(r->e, &f);
    }
    queue_put_namespace(r->e, S("ns"), (struct queue_labels){0});
    return r;
}

static void run_free(struct run *r)
{
    queue_free(r->e);
    arena_fini(&r->w.a);
    free(r);
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t v;

    return text && str_to_u64(str_from(text), &v) ? v : otherwise;
}

/* Says how many evictions it came to, and which single cures would end it. */
static void explain(uint64_t seed, enum kind kind, int evictions)
{
    static const char *const cures[] = {
#define CURE_TEXT(name, text) text,
        CURES(CURE_TEXT)
#undef CURE_TEXT
    };
    bool any = false;

    printf("# world %" PRIu64 " of kind %d goes round, %d evictions; ended by", seed, (int)kind,
           evictions);
    for (int c = 0; c < CURE_COUNT; c++) {
        struct run *r = run_new(seed, kind, 1u << c);
        if (run(r) < MAX_CYCLES) {
            printf("%s %s", any ? "," : "", cures[c]);
            any = true;
        }
        run_free(r);
    }
    puts(any ? "" : " none of them");
}

static void many(enum kind kind)
{
    uint64_t rounds = from_env("QUEUE_ROUNDS", DEFAULT_ROUNDS),
             first = from_env("QUEUE_SEED", 1);
    size_t loops = 0;

    for (uint64_t i = first; i < first + rounds; i++) {
        char name[40];
        snprintf(name, sizeof(name), "world %" PRIu64 " of kind %d", i, (int)kind);
        test_case(name);
        struct run *r = run_new(i, kind, 0);
        if (run(r) >= MAX_CYCLES) {
            explain(i, kind, r->evictions);
            loops++;
        }
        run_free(r);
    }
    if (kind >= ORDERLY_CLASSICAL)
        check(loops <= rounds / 12500);
    else
        check(loops <= 3 + rounds / 150);
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
        struct run *x = run_new(i, i % 4, 0), *y = run_new(i, i % 4, 0);
        run(x);
        run(y);
        check_int((int64_t)x->digest, (int64_t)y->digest);
        run_free(x);
        run_free(y);
    }
}

TEST(the_order_in_a_queue_is_total)
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct run *r = run_new(seed, CLASSICAL, 0);
        build(r);
        while (r->w.n_jobs < MAX_JOBS)
            submit(r);
        for (int i = 0; i < r->w.n_cqs; i++) {
            struct queue_cq *cq = cq_find(r->e, r->w.cqs[i].name);
            struct queue_wl **at;
            size_t n = queue_in_order(r->e, &r->w.a, cq, &at);
            for (size_t x = 0; x < n; x++)
                for (size_t y = 0; y < n; y++) {
                    int xy = pending_cmp(cq, at[x], at[y]), yx = pending_cmp(cq, at[y], at[x]);
                    check((xy < 0) == (yx > 0));
                    check((xy == 0) == (x == y));
                    check((xy < 0) == (x < y));
                }
        }
        run_free(r);
    }
}
