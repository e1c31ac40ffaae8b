/* plan.c - what a cycle decided, as its owner is told */
#include "queue/plan_priv.h"

/* ---- checks ---- */

static bool check_applies(const struct queue_engine *e, const struct queue_check_ref *ref,
                          const struct assignment *as)
{
    if (!ref->n_on_flavors)
        return true;
    for (size_t i = 0; i < as->n_podsets; i++)
        for (size_t k = 0; k < as->podsets[i].n_flavors; k++)
            for (size_t f = 0; f < ref->n_on_flavors; f++)
                if (str_eq(ref->on_flavors[f],
                           intern_name(&e->flavor_names, as->podsets[i].flavors[k].flavor)))
                    return true;
    return false;
}

void entry_checks(struct cycle *c, struct entry *x)
{
    const struct queue_cq_spec *spec = &x->cq->spec;
    struct str *names = arena_array(c->a, struct str, spec->n_checks);

    for (size_t i = 0; i < spec->n_checks; i++)
        if (check_applies(c->e, &spec->checks[i], x->as))
            names[x->n_checks++] = spec->checks[i].name;
    x->checks = names;
}

/* ---- an assignment in names ---- */

static const int64_t *request_of(const struct assigned_podset *ps, uint16_t resource)
{
    for (size_t i = 0; i < ps->n_requests; i++)
        if (ps->requests[i].resource == resource)
            return &ps->requests[i].amount;
    return NULL;
}

void entry_admission(struct cycle *c, struct entry *x, struct wl_extra *extra)
{
    const struct assignment *as = x->as;
    struct held_podset *held = arena_array(c->scratch, struct held_podset, as->n_podsets);

    for (size_t i = 0; i < as->n_podsets; i++) {
        const struct assigned_podset *ps = &as->podsets[i];
        held[i].name = x->wl->group->shape->podsets[i].spec.name;
        held[i].count = (int32_t)ps->count;
        held[i].uses = arena_array(c->scratch, struct held_use, ps->n_flavors);
        for (size_t k = 0; k < ps->n_flavors; k++) {
            const int64_t *v = request_of(ps, ps->flavors[k].resource);
            if (v)
                held[i].uses[held[i].n_uses++] =
                    (struct held_use){ps->flavors[k].resource, ps->flavors[k].flavor, *v};
        }
    }
    wl_set_held(extra, held, as->n_podsets);
}

static struct queue_assigned_podset podset_view(struct queue_engine *e, struct arena *a,
                                                const struct assigned_podset *ps,
                                                struct str name)
{
    struct queue_assigned_flavor *flavors =
        arena_array(a, struct queue_assigned_flavor, ps->n_flavors);
    struct queue_request *requests = arena_array(a, struct queue_request, ps->n_requests);
    struct queue_attempt *attempts = arena_array(a, struct queue_attempt, ps->n_attempts);

    for (size_t i = 0; i < ps->n_flavors; i++)
        flavors[i] =
            (struct queue_assigned_flavor){intern_name(&e->resources, ps->flavors[i].resource),
                                           intern_name(&e->flavor_names, ps->flavors[i].flavor),
                                           ps->flavors[i].mode, ps->flavors[i].tried};
    for (size_t i = 0; i < ps->n_requests; i++)
        requests[i] = (struct queue_request){
            intern_name(&e->resources, ps->requests[i].resource), ps->requests[i].amount};
    for (size_t i = 0; i < ps->n_attempts; i++) {
        const struct attempt *at = &ps->attempts[i];
        attempts[i] =
            (struct queue_attempt){intern_name(&e->flavor_names, at->flavor),
                                   at->mode,
                                   at->was_simulated,
                                   (uint8_t)(at->possibility ? at->possibility - 1 : 0),
                                   at->borrow,
                                   at->reason,
                                   at->n_texts};
    }
    return (struct queue_assigned_podset){.name = str_copy(a, name),
                                          .error = str_from(ps->error),
                                          .count = (int32_t)ps->count,
                                          .flavors = flavors,
                                          .n_flavors = ps->n_flavors,
                                          .requests = requests,
                                          .n_requests = ps->n_requests,
                                          .attempts = attempts,
                                          .n_attempts = ps->n_attempts};
}

const struct queue_assigned_podset *assignment_view(struct queue_engine *e, struct arena *a,
                                                    const struct queue_shape *shape,
                                                    const struct assignment *as)
{
    struct queue_assigned_podset *out =
        arena_array(a, struct queue_assigned_podset, as->n_podsets);

    for (size_t i = 0; i < as->n_podsets; i++)
        out[i] = podset_view(e, a, &as->podsets[i], shape->podsets[i].spec.name);
    return out;
}

/* ---- causes ---- */

static struct queue_cause copy_cause(struct arena *a, const struct queue_cause *in)
{
    struct queue_cause c = *in; /* names of flavors and resources live with the engine */

    c.podset = str_copy(a, c.podset);
    c.detail = str_copy(a, c.detail);
    return c;
}

static void view_causes(struct arena *a, const struct entry *x, struct queue_decision *d)
{
    size_t n = x->causes.len + (x->as ? x->as->causes.len : 0);
    struct queue_cause *out = arena_array(a, struct queue_cause, n);

    for (size_t i = 0; x->as && i < x->as->causes.len; i++)
        out[d->n_causes++] = copy_cause(a, &x->as->causes.at[i]);
    vec_each (i, &x->causes)
        out[d->n_causes++] = copy_cause(a, &x->causes.at[i]);
    d->causes = out;
}

static void keep_text(char **at, struct str *s)
{
    if (s->len)
        s->at = memcpy(*at, s->at, s->len);
    *at += s->len;
}

/* Remembers the answer for those who ask later. */
static void remember(struct entry *x, const struct queue_decision *d)
{
    struct wl_answer *last;
    size_t size = sizeof(*last) + size_mul(d->n_causes, sizeof(*d->causes));

    if (d->outcome == OUTCOME_ADMITTED) {
        if (x->wl->extra) {
            free(x->wl->extra->answer);
            x->wl->extra->answer = NULL;
        }
        return;
    }
    for (size_t i = 0; i < d->n_causes; i++)
        size += d->causes[i].podset.len + d->causes[i].detail.len;
    struct wl_extra *extra = wl_extra(x->wl);
    extra->answer = last = mem_grow(extra->answer, size);
    last->reason = d->reason;
    last->outcome = d->outcome;
    last->n_victims = (uint32_t)d->n_victims;
    last->n_causes = (uint32_t)d->n_causes;
    char *text = (char *)(last->causes + d->n_causes);
    for (size_t i = 0; i < d->n_causes; i++) {
        last->causes[i] = d->causes[i];
        keep_text(&text, &last->causes[i].podset);
        keep_text(&text, &last->causes[i].detail);
    }
}

/* ---- the plan ---- */

static struct queue_decision decision_of(struct cycle *c, struct entry *x)
{
    struct arena *a = c->a;
    struct queue_decision d = {
        .key = wl_key(a, x->wl),
        .lq = x->wl->group->lq->key,
        .cq = x->cq->name,
        .outcome = x->outcome,
        .requeue = x->requeue,
        .reason = x->reason,
        .is_second_pass = x->is_second_pass,
        .is_parked = x->is_parked,
        .checks = x->checks,
        .n_checks = x->n_checks,
    };

    if (x->as) {
        d.mode = x->as->mode;
        d.borrow = x->as->borrow;
        d.podsets = assignment_view(c->e, a, x->wl->group->shape, x->as);
        d.n_podsets = x->as->n_podsets;
    }
    struct queue_victim *victims = arena_array(a, struct queue_victim, x->victims.len);
    bool has_victims = x->outcome == OUTCOME_PREEMPTING || x->outcome == OUTCOME_REPLACING;
    for (size_t i = 0; has_victims && i < x->victims.len; i++)
        victims[i] = (struct queue_victim){
            wl_key(a, x->victims.at[i].wl), x->victims.at[i].wl->extra->holds->name,
            x->victims.at[i].reason, x->victims.at[i].is_under_way};
    d.victims = victims;
    d.n_victims = has_victims ? x->victims.len : 0;
    if (x->slice)
        d.replaces = wl_key(a, x->slice);
    view_causes(a, x, &d);
    remember(x, &d);
    return d;
}

static void view_counters(struct cycle *c, struct queue_plan *plan)
{
    struct queue_counter *out = arena_array(c->a, struct queue_counter, c->heads.len);

    vec_each (i, &c->heads) {
        struct queue_cq *cq = c->heads.at[i]->cq;
        struct queue_counter *n = &cq->counter;
        if (!n->skipped && !n->deferred_fit && !n->new_targets && !n->recompute_skipped)
            continue;
        out[plan->n_counters] = *n;
        out[plan->n_counters++].cq = cq->name;
        *n = (struct queue_counter){0};
    }
    plan->counters = out;
}

struct queue_plan plan_make(struct cycle *c)
{
    struct queue_decision *at = arena_array(c->a, struct queue_decision, c->heads.len);
    struct queue_plan plan = {.at = at};

    vec_each (i, &c->done)
        at[plan.len++] = decision_of(c, c->done.at[i]);
    vec_each (i, &c->heads) {
        struct entry *x = c->heads.at[i];
        if (!x->is_done && !x->is_dropped)
            at[plan.len++] = decision_of(c, x);
    }
    for (size_t i = 0; i < plan.len; i++)
        plan.has_progress |=
            at[i].outcome == OUTCOME_ADMITTED || at[i].outcome == OUTCOME_EVICTED;
    view_counters(c, &plan);
    return plan;
}
