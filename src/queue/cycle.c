/* cycle.c - one scheduling cycle: heads, nominate, order, process, requeue
 *
 * The cycle works on the live tree and writes what it changes to the engine's log: the tree is
 * the snapshot. At the end everything is taken back, and only what was admitted is charged.
 */
#include "queue/preempt_priv.h"

#include "queue/plan_priv.h"

#define MAX_SCANS 64 /* of one head over its flavors, while nothing else changes */

/* ---- heads ---- */

static int by_index(struct queue_cq *const *a, struct queue_cq *const *b)
{
    return (*a)->index < (*b)->index ? -1 : (*a)->index > (*b)->index;
}

static struct entry *new_entry(struct cycle *c, struct queue_wl *wl, struct queue_cq *cq)
{
    struct entry *x = arena_new(c->scratch, struct entry);

    x->wl = wl;
    x->cq = cq;
    x->outcome = OUTCOME_REFUSED;
    vec_push_in(c->scratch, &c->heads, x);
    return x;
}

static void take_second_passes(struct cycle *c)
{
    struct queue_engine *e = c->e;

    for (size_t i = 0; i < e->second_pass.len;) {
        struct queue_wl *wl = e->second_pass.at[i];
        struct wl_extra *x = wl->extra;
        if (!x->is_ready && (!x->is_prequeued || instant_before(c->now, x->due))) {
            i++;
            continue;
        }
        x->is_prequeued = x->is_ready = false;
        vec_remove(&e->second_pass, i);
        if (wl_needs_second_pass(wl) && x->holds)
            new_entry(c, wl, x->holds)->is_second_pass = true;
    }
}

static void take_heads(struct cycle *c)
{
    struct queue_engine *e = c->e;
    VEC(struct queue_cq *) cqs = {0};

    take_second_passes(c);
    vec_each (i, &e->ready)
        if (e->ready.at[i]->is_active)
            vec_push_in(c->scratch, &cqs, e->ready.at[i]);
    if (cqs.len > 1)
        vec_sort(&cqs, by_index);
    vec_each (i, &cqs) {
        struct queue_cq *cq = cqs.at[i];
        if (cq_uses_afs(e, cq))
            pending_reorder(e, cq);
        struct queue_wl *wl = pending_pop(e, cq);
        struct entry *x = new_entry(c, wl, cq);
        x->changes = engine_changes(e, cq, wl);
        x->is_preemptor = cq->preemptor == wl && cq->preemptor_generation == wl->generation;
    }
}

/* ---- nominate ---- */

static void note(struct cycle *c, struct entry *x, enum queue_cause_code code,
                 struct str detail)
{
    vec_push_in(c->scratch, &x->causes,
                (struct queue_cause){.code = code, .owner = x->cq->name, .detail = detail});
}

static void refuse(struct cycle *c, struct entry *x, enum queue_reason reason,
                   enum queue_cause_code code, struct str detail)
{
    x->outcome = OUTCOME_REFUSED;
    x->reason = reason;
    note(c, x, code, detail);
}

/* What makes a head not worth looking at. */
static bool is_refused(struct cycle *c, struct entry *x)
{
    struct queue_engine *e = c->e;
    struct str ns_name = x->wl->group->lq->ns;
    struct queue_ns *ns = lq_ns(e, x->wl->group->lq);

    if (wl_flags(x->wl) & WL_CHECKS_FAILED) {
        refuse(c, x, QUEUE_PENDING_EVALUATION, CAUSE_CHECKS, S(""));
    } else if (!cq_gives_heads(x->cq)) {
        refuse(c, x, QUEUE_SUSPENDED, CAUSE_QUEUE_INACTIVE, S("ClusterQueue"));
    } else if (!ns) {
        refuse(c, x, QUEUE_MISCONFIGURED, CAUSE_NAMESPACE, ns_name);
    } else if (!match_selector(&x->cq->spec.namespaces, ns->labels)) {
        refuse(c, x, QUEUE_MISCONFIGURED, CAUSE_NAMESPACE, S(""));
        x->requeue = REQUEUE_NAMESPACE;
    } else if (wl_flags(x->wl) & WL_INVALID) {
        refuse(c, x, QUEUE_MISCONFIGURED, CAUSE_INVALID_REQUESTS, wl_texts(x->wl).invalid);
    } else {
        return false;
    }
    return true;
}

bool progress_outdated(const struct queue_engine *e, const struct wl_progress *p,
                       uint64_t class, int64_t generation)
{
    if (gate(e, QUEUE_GATE_KEEP_PROGRESS)) {
        if (p->class && class && p->class != class)
            return true;
        if (p->cycle + 1 >= e->cycle)
            return false;
    }
    return generation > p->generation;
}

/* The older slice of an elastic job that it replaces, if that holds quota. */
static struct queue_wl *replaced_slice(struct cycle *c, const struct queue_wl *wl)
{
    struct str replaces = wl_texts(wl).replaces;

    if (!replaces.len || !gate(c->e, QUEUE_GATE_ELASTIC))
        return NULL;
    struct queue_wl *old = wl_find(c->e, replaces);
    return old && old->extra && old->extra->holds ? old : NULL;
}

static enum possibility simulate(void *ctx, quota_fr fr, int64_t amount, uint32_t *borrow)
{
    struct assign_input *in = ctx;
    struct cycle *c = in->cycle;
    struct quota_amount request = {fr, amount};
    struct preempt_input p = {.e = c->e,
                              .a = c->scratch,
                              .cq = in->cq,
                              .wl = in->wl,
                              .priority = in->shape->priority,
                              .now = c->now,
                              .requests = &request,
                              .n_requests = 1,
                              .needed = &fr,
                              .n_needed = 1};
    victim_list victims = {0};
    bool may_reclaim, is_own = false;
    size_t mark = quota_mark(&c->e->log);

    cycle_victims(&p, &victims);
    c->found.is_set = true;
    c->found.request = request;
    c->found.victims = victims;
    if (!victims.len)
        return POSSIBLE_NONE;
    vec_each (i, &victims) {
        is_own |= victims.at[i].wl->extra->holds == in->cq;
        snapshot_remove(c->e, victims.at[i].wl);
    }
    *borrow = quota_lowest_fit(&in->cq->node, fr, amount, &may_reclaim);
    preempt_restore(&p, &victims, mark);
    return is_own ? POSSIBLE_PREEMPT : POSSIBLE_RECLAIM;
}

void cycle_victims(const struct preempt_input *in, victim_list *out)
{
    if (in->e->config.fair_sharing)
        preempt_fair(in, out);
    else
        preempt_find(in, out);
}

/* Who would have to go for this assignment. */
static void find_victims(struct cycle *c, struct entry *x, const struct assign_input *in,
                         const struct assignment *as, victim_list *out)
{
    struct preempt_input p = {.e = c->e,
                              .a = c->scratch,
                              .cq = x->cq,
                              .wl = x->wl,
                              .priority = in->shape->priority,
                              .now = c->now};
    VEC(quota_fr) needed = {0};

    p.requests = assignment_requests(in, as, &p.n_requests);
    for (size_t i = 0; i < as->n_podsets; i++)
        for (size_t k = 0; k < as->podsets[i].n_flavors; k++) {
            const struct assigned_flavor *f = &as->podsets[i].flavors[k];
            if (f->mode == MODE_PREEMPT)
                vec_push_in(c->scratch, &needed, QUOTA_FR(f->flavor, f->resource));
        }
    p.needed = needed.at;
    p.n_needed = needed.len;
    if (c->found.is_set && p.n_requests == 1 && p.n_needed == 1 &&
        p.needed[0] == p.requests[0].fr && c->found.request.fr == p.requests[0].fr &&
        c->found.request.amount == p.requests[0].amount) {
        out->len = 0;
        vec_each (i, &c->found.victims)
            vec_push_in(c->scratch, out, c->found.victims.at[i]);
        return;
    }
    cycle_victims(&p, out);
}

static bool is_accepted(struct cycle *c, struct entry *x, const struct assign_input *in,
                        const struct assignment *as, victim_list *victims)
{
    victims->len = 0;
    if (as->mode == MODE_FIT)
        return true;
    if (as->mode != MODE_PREEMPT)
        return false;
    find_victims(c, x, in, as, victims);
    return victims->len > 0;
}

int64_t reducer_total(const struct queue_shape *shape)
{
    int64_t total = 0;

    for (size_t i = 0; i < shape->n_podsets; i++) {
        const struct queue_podset_spec *ps = &shape->podsets[i].spec;
        total += ps->min_count ? MAX(0, ps->count - ps->min_count) : 0;
    }
    return total;
}

void reducer_counts(const struct queue_shape *shape, int64_t step, int64_t total,
                    uint32_t *counts)
{
    for (size_t i = 0; i < shape->n_podsets; i++) {
        const struct queue_podset_spec *ps = &shape->podsets[i].spec;
        int64_t delta = ps->min_count ? MAX(0, ps->count - ps->min_count) : 0;
        counts[i] = (uint32_t)(ps->count - delta * step / total);
    }
}

int64_t reducer_search(int64_t total, reducer_fn *accepts, void *ctx)
{
    int64_t low = 0, high = total + 1, good = -1;

    if (total == 0)
        return -1;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (accepts(ctx, mid)) {
            good = mid;
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return good == low ? good : -1;
}

/* What the search for a smaller size tries, and its last success. */
struct shrink {
    struct cycle *c;
    struct entry *x;
    struct assign_input *in;
    int64_t total;
    struct assignment *as;
    victim_list victims;
};

static bool shrunk_is_accepted(void *ctx, int64_t step)
{
    struct shrink *s = ctx;
    uint32_t *counts = arena_array(s->c->scratch, uint32_t, s->in->shape->n_podsets);
    victim_list victims = {0};

    if (step > s->total)
        return false;
    reducer_counts(s->in->shape, step, s->total, counts);
    s->in->counts = counts;
    struct assignment *as = assign_flavors(s->in);
    if (!is_accepted(s->c, s->x, s->in, as, &victims))
        return false;
    s->as = as;
    s->victims = victims;
    return true;
}

/* The full size, or the largest smaller one that is accepted; false where none is. */
static bool assign_best(struct cycle *c, struct entry *x, struct assign_input *in,
                        bool may_shrink)
{
    in->simulate = simulate;
    in->ctx = in;
    in->cycle = c;
    c->found.is_set = false;
    x->as = assign_flavors(in);
    x->victims = (victim_list){0};
    if (is_accepted(c, x, in, x->as, &x->victims))
        return true;
    if (!may_shrink || !gate(c->e, QUEUE_GATE_PARTIAL_ADMISSION))
        return false;
    struct shrink s = {c, x, in, reducer_total(in->shape), NULL, {0}};
    if (reducer_search(s.total, shrunk_is_accepted, &s) < 0)
        return false;
    x->as = s.as;
    x->victims = s.victims;
    return true;
}

/* Assignment and victims of the entry on the tree as it is now. */
static void assign_entry(struct cycle *c, struct entry *x, const struct assignment *pinned)
{
    struct queue_wl *slice = replaced_slice(c, x->wl);
    struct wl_progress *progress = x->wl->extra ? x->wl->extra->progress : NULL;
    struct assign_input in = {.e = c->e,
                              .a = c->scratch,
                              .cq = x->cq,
                              .wl = x->wl,
                              .shape = x->wl->group->shape,
                              .pinned = pinned,
                              .replaces = slice};

    if (progress && !pinned &&
        !progress_outdated(c->e, progress, in.shape->class, quota_generation(&x->cq->node)))
        in.progress = progress;
    x->slice = assign_best(c, x, &in, !x->is_second_pass) ? slice : NULL;
}

const struct assignment *cycle_judge(struct cycle *c, struct queue_cq *cq, struct queue_wl *wl,
                                     const struct queue_shape *shape, victim_list *victims,
                                     bool *starts)
{
    struct entry x = {.wl = wl, .cq = cq};
    struct assign_input in = {.e = c->e,
                              .a = c->scratch,
                              .cq = cq,
                              .wl = wl,
                              .shape = shape,
                              .replaces = replaced_slice(c, wl)};

    *starts = assign_best(c, &x, &in, true);
    *victims = x.victims;
    return x.as;
}

static void nominate(struct cycle *c)
{
    vec_each (i, &c->heads) {
        struct entry *x = c->heads.at[i];
        quota_settle(&x->cq->node);
        if (!x->is_second_pass && x->wl->extra && x->wl->extra->holds) {
            x->is_dropped = true;
            continue;
        }
        if (is_refused(c, x))
            continue;
        assign_entry(c, x, NULL);
        vec_push_in(c->scratch, &c->entries, x);
    }
}

/* ---- process ---- */

static bool overlaps(const struct cycle *c, const struct entry *x)
{
    (void)c;
    vec_each (i, &x->victims)
        if (x->victims.at[i].wl->extra->is_taken)
            return true;
    return false;
}

/* Those preempted in this cycle, of one tree: others free nothing there. */
static struct cycle_taken *taken_in(struct cycle *c, struct queue_cq *cq)
{
    const struct quota_node *root = quota_root(&cq->node);

    vec_each (i, &c->taken_in)
        if (c->taken_in.at[i].root == root)
            return &c->taken_in.at[i];
    return NULL;
}

static void add_sum(struct cycle *c, struct cycle_taken *t, struct queue_cq *cq,
                    struct quota_amount u)
{
    vec_each (i, &t->sums) {
        struct cycle_sum *s = &t->sums.at[i];
        if (s->cq == cq && s->amount.fr == u.fr) {
            s->amount.amount = amount_add(s->amount.amount, u.amount);
            return;
        }
    }
    vec_push_in(c->scratch, &t->sums, (struct cycle_sum){cq, u});
}

static void take(struct cycle *c, struct queue_wl *wl)
{
    struct queue_cq *cq = wl->extra->holds;
    struct cycle_taken *t = taken_in(c, cq);

    wl->extra->is_taken = true;
    vec_push_in(c->scratch, &c->taken, wl);
    if (!t) {
        vec_push_in(c->scratch, &c->taken_in,
                    (struct cycle_taken){.root = quota_root(&cq->node)});
        t = &vec_last(&c->taken_in);
    }
    vec_push_in(c->scratch, &t->workloads, wl);
    vec_each (i, &wl->extra->usage)
        add_sum(c, t, cq, wl->extra->usage.at[i]);
}

/* Takes what they use out of the tree, queue by queue: a hundred victims of one queue are one
 * change of it. quota_undo() puts it back. */
static void remove_sums(struct cycle *c, const struct cycle_taken *t)
{
    for (size_t i = 0; t && i < t->sums.len; i++)
        quota_remove(&t->sums.at[i].cq->node, t->sums.at[i].amount.fr,
                     t->sums.at[i].amount.amount, &c->e->log);
}

static void mark_removed(struct cycle_taken *t, bool is_removed)
{
    for (size_t i = 0; t && i < t->workloads.len; i++)
        wl_holder(t->workloads.at[i])->is_removed = is_removed;
}

static bool fits_in_cycle(struct cycle *c, const struct entry *x)
{
    size_t mark = quota_mark(&c->e->log);
    bool fits = true;

    if (x->is_second_pass)
        return true;
    remove_sums(c, taken_in(c, x->cq));
    vec_each (i, &x->victims)
        if (!x->victims.at[i].wl->extra->is_taken)
            snapshot_remove(c->e, x->victims.at[i].wl);
    if (x->slice && !x->slice->extra->is_taken && !wl_holder(x->slice)->is_removed)
        snapshot_remove(c->e, x->slice);
    vec_each (i, &x->as->usage) {
        int64_t free = quota_available(&x->cq->node, x->as->usage.at[i].fr);
        if (x->as->usage.at[i].amount > MAX((int64_t)0, free))
            fits = false;
    }
    if (x->slice)
        wl_holder(x->slice)->is_removed = false;
    vec_each (i, &x->victims)
        wl_holder(x->victims.at[i].wl)->is_removed = false;
    quota_undo(&c->e->log, mark);
    return fits;
}

/* Usage of an entry, from now on in the tree of this cycle. */
static void take_room(struct cycle *c, const struct entry *x, quota_fr fr, int64_t amount,
                      bool starts)
{
    struct cycle_charge u = {
        x->cq, {fr, amount},
         starts
    };

    quota_add(&u.cq->node, fr, amount, &c->e->log);
    vec_push_in(c->scratch, &c->charges, u);
    c->is_unsafe |= amount < 0;
}

static void charge(struct cycle *c, const struct entry *x, bool starts)
{
    if (x->is_second_pass)
        return;
    vec_each (i, &x->as->usage)
        take_room(c, x, x->as->usage.at[i].fr, x->as->usage.at[i].amount, starts);
}

/* The tree with victims taken out and their successors put in may have room that is not free
 * yet. Who starts needs room beside all who hold quota now and all who start in this cycle: the
 * tree is taken back, those are put in, and then everything again. */
static bool fits_now(struct cycle *c, const struct entry *x)
{
    struct quota_log *log = &c->e->log;
    bool fits = true;

    if (x->as->mode != MODE_FIT || x->is_second_pass || (!c->taken.len && !c->is_unsafe))
        return true;
    quota_undo(log, 0);
    vec_each (i, &c->charges)
        if (c->charges.at[i].starts)
            quota_add(&c->charges.at[i].cq->node, c->charges.at[i].amount.fr,
                      c->charges.at[i].amount.amount, log);
    if (x->slice)
        snapshot_remove(c->e, x->slice);
    vec_each (i, &x->as->usage)
        fits &= x->as->usage.at[i].amount <=
                MAX((int64_t)0, quota_available(&x->cq->node, x->as->usage.at[i].fr));
    if (x->slice)
        wl_holder(x->slice)->is_removed = false;
    quota_undo(log, 0);
    vec_each (i, &c->charges)
        quota_add(&c->charges.at[i].cq->node, c->charges.at[i].amount.fr,
                  c->charges.at[i].amount.amount, log);
    return fits;
}

int64_t reserve_amount(const struct queue_cq *cq, quota_fr fr, int64_t usage, bool borrows)
{
    const struct quota_cell *cell = quota_cell(&cq->node, fr);
    int64_t used = cell ? cell->usage : 0, nominal = cell ? cell->nominal : 0;

    if (!borrows)
        return MAX((int64_t)0, MIN(usage, amount_sub(nominal, used)));
    if (!cell || !cell->has_borrow)
        return usage;
    return MIN(usage, amount_sub(amount_add(nominal, cell->borrow), used));
}

/* Keeps room for one that waits for quota it has a right to, so that others of this cycle do
 * not take it. */
static void reserve(struct cycle *c, struct entry *x)
{
    bool insists = gate(c->e, QUEUE_GATE_PREEMPTORS_FIRST) && x->is_preemptor;

    if (x->cq->spec.reclaim == POLICY_ANY && !insists)
        return;
    vec_each (i, &x->as->usage) {
        struct quota_amount u = x->as->usage.at[i];
        take_room(c, x, u.fr, reserve_amount(x->cq, u.fr, u.amount, x->as->borrow > 0), false);
    }
}

static void recompute(struct cycle *c, struct entry *x)
{
    struct cycle_taken *t = taken_in(c, x->cq);
    size_t mark = quota_mark(&c->e->log);

    remove_sums(c, t);
    mark_removed(t, true);
    assign_entry(c, x, x->as);
    if (x->as->mode == MODE_FIT) {
        x->as->mode = MODE_DEFERRED;
        for (size_t i = 0; i < x->as->n_podsets; i++)
            x->as->podsets[i].mode = MODE_DEFERRED;
    }
    mark_removed(t, false);
    quota_undo(&c->e->log, mark);
}

static void finish_entry(struct entry *x, enum queue_outcome outcome,
                         enum queue_requeue requeue, enum queue_reason reason,
                         bool keeps_progress)
{
    x->outcome = outcome;
    x->requeue = requeue;
    x->reason = reason;
    x->keeps_progress = keeps_progress;
}

static void skip(struct cycle *c, struct entry *x, enum queue_cause_code code)
{
    finish_entry(x, OUTCOME_SKIPPED, REQUEUE_FAILED_AFTER_NOMINATION, QUEUE_WAITING_FOR_QUOTA,
                 gate(c->e, QUEUE_GATE_KEEP_PROGRESS));
    note(c, x, code, S(""));
    if (x->as->mode == MODE_PREEMPT)
        x->cq->counter.skipped++;
}

static void issue_preemptions(struct entry *x, enum queue_outcome outcome,
                              enum queue_requeue requeue)
{
    finish_entry(x, outcome, requeue, QUEUE_WAITING_FOR_PREEMPTED, false);
    vec_each (i, &x->victims) {
        struct wl_extra *v = x->victims.at[i].wl->extra;
        x->victims.at[i].is_under_way = v->was_asked || (v->flags & WL_EVICTED);
        v->was_asked = true;
    }
}

static bool gate_is_closed(const struct cycle *c, const struct entry *x)
{
    return (wl_flags(x->wl) & WL_PREEMPTION_GATED) &&
           (gate(c->e, QUEUE_GATE_CONCURRENT_ADMISSION) ||
            gate(c->e, QUEUE_GATE_ORCHESTRATED_PREEMPTION));
}

static bool is_waiting_for_pods(const struct cycle *c, const struct entry *x)
{
    return c->e->config.block_admission && !x->is_second_pass &&
           (c->n_admitted || c->e->n_not_ready);
}

static void process_fitting(struct cycle *c, struct entry *x)
{
    vec_each (i, &x->victims)
        take(c, x->victims.at[i].wl);
    bool waits = x->as->mode == MODE_FIT && is_waiting_for_pods(c, x);
    struct queue_wl *worse = x->as->mode == MODE_FIT ? variant_sibling(c->e, x, false) : NULL;
    charge(c, x, x->as->mode == MODE_FIT && !waits && !worse);
    if (x->as->mode == MODE_PREEMPT) {
        issue_preemptions(x, OUTCOME_PREEMPTING, REQUEUE_PENDING_PREEMPTION);
        return;
    }
    if (waits) {
        finish_entry(x, OUTCOME_BLOCKED, REQUEUE_FAILED_AFTER_NOMINATION,
                     QUEUE_WAITING_FOR_PODS_READY, false);
        note(c, x, CAUSE_PODS_NOT_READY, S(""));
        return;
    }
    if (worse) {
        vec_push_in(c->scratch, &x->victims, (struct victim){worse, FLAVOR_MIGRATION, false});
        issue_preemptions(x, OUTCOME_REPLACING, REQUEUE_PENDING_MIGRATION);
        return;
    }
    finish_entry(x, OUTCOME_ADMITTED, REQUEUE_GENERIC, QUEUE_NONE, false);
    c->n_admitted++;
}

static void process(struct cycle *c, struct entry *x)
{
    if (variant_sibling(c->e, x, true) ||
        (x->cq->spec.keeps_first && variant_sibling(c->e, x, false))) {
        finish_entry(x, OUTCOME_SKIPPED, REQUEUE_FAILED_AFTER_NOMINATION,
                     QUEUE_WAITING_FOR_QUOTA, gate(c->e, QUEUE_GATE_KEEP_PROGRESS));
        note(c, x, CAUSE_VARIANT, S(""));
        return;
    }
    bool fits = fits_in_cycle(c, x), recomputed = false;

    if (overlaps(c, x) && gate(c->e, QUEUE_GATE_RECOMPUTE_OVERLAP)) {
        recomputed = true;
        recompute(c, x);
        fits = fits_in_cycle(c, x);
    }
    bool overlap = overlaps(c, x);
    if (recomputed) {
        if (x->as->mode == MODE_DEFERRED)
            x->cq->counter.deferred_fit++;
        else if (x->victims.len && fits && !overlap)
            x->cq->counter.new_targets++;
        else
            x->cq->counter.recompute_skipped++;
    }
    if (x->is_second_pass && x->as->mode != MODE_FIT && (wl_flags(x->wl) & WL_UNHEALTHY) &&
        gate(c->e, QUEUE_GATE_TAS_FAIL_FAST)) {
        finish_entry(x, OUTCOME_EVICTED, REQUEUE_GENERIC, QUEUE_NONE, false);
    } else if (x->as->mode == MODE_NO_FIT) {
        finish_entry(x, OUTCOME_NO_FIT, REQUEUE_NO_FIT, x->as->no_fit, true);
    } else if (x->as->mode == MODE_PREEMPT && !x->victims.len) {
        finish_entry(x, OUTCOME_NO_VICTIMS, REQUEUE_NO_CANDIDATES, QUEUE_WAITING_FOR_QUOTA,
                     true);
        note(c, x, CAUSE_NO_VICTIM, S(""));
        reserve(c, x);
    } else if (x->as->mode == MODE_PREEMPT && gate_is_closed(c, x)) {
        finish_entry(x, OUTCOME_GATED, REQUEUE_PREEMPTION_GATED, QUEUE_ADMISSION_GATED, false);
        note(c, x, CAUSE_GATE_CLOSED, S(""));
    } else if (x->as->mode == MODE_DEFERRED) {
        finish_entry(x, OUTCOME_DEFERRED, REQUEUE_PENDING_PREEMPTION,
                     QUEUE_WAITING_FOR_PREEMPTED, false);
        note(c, x, CAUSE_OVERLAP, S(""));
        charge(c, x, false);
    } else if (overlap) {
        skip(c, x, CAUSE_OVERLAP);
    } else if (!fits || !fits_now(c, x)) {
        skip(c, x, CAUSE_LOST_RACE);
    } else {
        process_fitting(c, x);
    }
}

/* ---- after the walk ---- */

static void keep_progress(struct entry *x)
{
    struct wl_extra *extra = x->wl->extra;
    const struct wl_progress *p = x->keeps_progress && x->as ? x->as->progress : NULL;

    if (extra) {
        free(extra->progress);
        extra->progress = NULL;
    }
    if (!p)
        return;
    struct wl_progress *copy = mem_alloc(sizeof(*copy) + size_mul(p->len, sizeof(*p->at)));
    *copy = *p;
    copy->at = (struct progress_entry *)(copy + 1);
    memcpy(copy->at, p->at, p->len * sizeof(*p->at));
    wl_extra(x->wl)->progress = copy;
}

static void admit(struct cycle *c, struct entry *x)
{
    struct queue_engine *e = c->e;
    struct wl_extra *extra = wl_extra(x->wl);

    if (x->is_second_pass)
        return;
    engine_change(e, x->cq);
    pending_remove(e, x->wl);
    entry_admission(c, x, extra);
    extra->flags |= WL_RESERVED;
    extra->flags &= ~(uint32_t)(WL_EVICTED | WL_BACKOFF);
    if (!x->n_checks)
        extra->flags |= WL_ADMITTED;
    extra->reserved_at = c->now;
    extra->is_assumed = true;
    free(extra->progress);
    extra->progress = NULL;
    cq_forget_preemptor(x->cq, x->wl);
    cache_hold(e, x->cq, x->wl);
    x->cq->turn_cycle = e->cycle;
    afs_charge(e, x->wl);
}

/* Where some scan has flavors left the head is looked at again at once. Scans of several
 * podsets may be out of step for ever, and others wait behind it: after MAX_SCANS it has none
 * left. */
static void limit_scans(const struct queue_engine *e, const struct entry *x)
{
    struct queue_cq *cq = x->cq;
    uint64_t now = engine_changes(e, cq, x->wl);

    cq->has_lost = now != x->changes;
    cq->judged_events = e->events;
    if (cq->judged != x->wl || cq->judged_changes != now)
        cq->scans = 0;
    cq->has_more = wl_has_pending_flavors(x->wl) && ++cq->scans < MAX_SCANS;
    if (!cq->has_more && wl_has_pending_flavors(x->wl))
        x->wl->extra->progress->is_pending = false;
    cq->judged = x->wl;
    cq->judged_changes = now;
}

/* Somebody is parked who did not try its first flavors in its last scan: it lost them to others
 * of an earlier cycle, and they may be free. Upstream leaves it until quota is freed; here it
 * is woken once more before the engine rests. */
static void owe_whole_scan(struct queue_engine *e, struct queue_cq *cq)
{
    if (cq->owes_scan)
        return;
    cq->owes_scan = true;
    vec_push(&e->retries, cq);
}

static void requeue(struct cycle *c, struct entry *x)
{
    struct queue_engine *e = c->e;

    if (x->is_dropped) {
        pending_remove(e, x->wl);
        return;
    }
    if (x->outcome == OUTCOME_ADMITTED || x->outcome == OUTCOME_EVICTED)
        return;
    if (x->is_second_pass) {
        second_pass_queue(e, x->wl, x->wl->extra->iteration, c->now);
        return;
    }
    if (x->as)
        keep_progress(x);
    limit_scans(e, x);
    pending_requeue(e, x->wl, x->requeue, x->reason, c->now);
    x->is_parked = pending_is_parked(x->wl);
    if (x->is_parked && x->as && x->as->is_partial)
        owe_whole_scan(e, x->cq);
}

enum queue_reason reason_shown(const struct queue_engine *e, enum queue_outcome outcome,
                               enum queue_reason reason)
{
    if (gate(e, QUEUE_GATE_OBSERVABILITY) || outcome == OUTCOME_ADMITTED)
        return reason;
    return outcome == OUTCOME_BLOCKED ? QUEUE_WAITING : QUEUE_PENDING;
}

static void process_next(struct cycle *c, struct entry *x)
{
    vec_push_in(c->scratch, &c->done, x);
    x->is_done = true;
    process(c, x);
}

/* One entry a ClusterQueue, the last one; the others wait. */
static entry_list contestants(struct cycle *c)
{
    entry_list left = {0};

    vec_each (i, &c->entries)
        c->entries.at[i]->cq->scratch = (uint32_t)i;
    vec_each (i, &c->entries) {
        struct entry *x = c->entries.at[i];
        if (x->cq->scratch == i)
            vec_push_in(c->scratch, &left, x);
        else
            finish_entry(x, OUTCOME_SKIPPED, REQUEUE_GENERIC, QUEUE_WAITING_FOR_QUOTA, true);
    }
    return left;
}

static void run_order(struct cycle *c)
{
    struct entry *x;

    if (c->e->config.fair_sharing) {
        entry_list left = contestants(c);
        struct tournament *t = order_fair(c->e, &left);
        while ((x = order_fair_next(t)))
            process_next(c, x);
        return;
    }
    order_classical(c->e, &c->entries);
    vec_each (i, &c->entries)
        process_next(c, c->entries.at[i]);
}

struct queue_plan queue_cycle(struct queue_engine *e, struct arena *a, struct instant now)
{
    struct cycle c = {.e = e, .a = a, .scratch = &e->scratch, .now = now};
    struct queue_plan plan;

    /* 1. Who is looked at. */
    engine_flush(e, now);
    arena_reset(&e->scratch);
    e->cycle++;
    take_heads(&c);

    /* 2. What each would get on its own. */
    nominate(&c);

    /* 3. One after the other, each seeing what earlier ones took. */
    run_order(&c);

    /* 4. The tree as it was; then what was decided. */
    quota_undo(&e->log, 0);
    vec_each (i, &c.taken)
        c.taken.at[i]->extra->is_taken = false;
    vec_each (i, &c.done)
        if (c.done.at[i]->outcome == OUTCOME_ADMITTED) {
            entry_checks(&c, c.done.at[i]);
            admit(&c, c.done.at[i]);
        }
    vec_each (i, &c.heads)
        requeue(&c, c.heads.at[i]);
    vec_each (i, &c.heads)
        c.heads.at[i]->reason = reason_shown(e, c.heads.at[i]->outcome, c.heads.at[i]->reason);
    plan = plan_make(&c);
    return plan;
}

/* ---- what came of it ---- */

void queue_admission_failed(struct queue_engine *e, struct str key, bool is_gone,
                            struct instant now)
{
    struct queue_wl *wl = wl_find(e, key);

    if (!wl || !wl->extra || !wl->extra->is_assumed)
        return;
    struct queue_cq *cq = wl->extra->holds;
    engine_change(e, cq);
    cache_release(e, wl);
    afs_drop(e, wl->group->lq, wl);
    wl->extra->is_assumed = false;
    wl->extra->flags &= ~(uint32_t)(WL_RESERVED | WL_ADMITTED);
    wl_set_held(wl->extra, NULL, 0);
    engine_freed(e, cq);
    if (is_gone) {
        wl_discard(e, wl);
        return;
    }
    if (wl->group->lq->is_attached)
        pending_requeue(e, wl, REQUEUE_FAILED_AFTER_NOMINATION, QUEUE_NONE, now);
    else
        pending_push(e, wl, false);
}

void queue_preemption_failed(struct queue_engine *e, struct str preemptor, struct str victim,
                             struct instant now)
{
    struct queue_wl *v = wl_find(e, victim), *p = wl_find(e, preemptor);

    (void)now;
    if (v && v->extra)
        v->extra->was_asked = false;
    if (v && v->extra && v->extra->holds)
        engine_change(e, v->extra->holds);
    if (!p || !wl_cq(p))
        return;
    cq_forget_preemptor(wl_cq(p), p);
    engine_change(e, wl_cq(p));
}
