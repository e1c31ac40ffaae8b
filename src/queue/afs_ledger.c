/* afs_ledger.c - admission fair sharing inside the engine: ledgers of LocalQueues */
#include <math.h>

#include "queue/engine_priv.h"

#define NANO_PER_UNIT INT64_C(1000000000)

static __int128 to_nano(const struct queue_engine *e, uint16_t resource, int64_t amount)
{
    return (__int128)amount *
           (NANO_PER_UNIT / amount_scale(intern_name(&e->resources, resource)));
}

static double weight_of(const struct queue_engine *e, uint16_t resource)
{
    struct str name = intern_name(&e->resources, resource);

    for (size_t i = 0; i < e->config.n_afs_weights; i++)
        if (str_eq(e->config.afs_weights[i].resource, name))
            return e->config.afs_weights[i].weight;
    return 1;
}

double afs_usage_of(const struct queue_engine *e, const struct afs_ledger *l, double weight)
{
    struct afs_amounts sum = {0};
    double usage = 0;

    if (weight <= 0)
        return (double)INFINITY;
    vec_each (i, &l->consumed)
        *afs_at(&sum, l->consumed.at[i].resource) += l->consumed.at[i].nano;
    vec_each (i, &l->penalties)
        vec_each (k, &l->penalties.at[i].amounts)
            *afs_at(&sum, l->penalties.at[i].amounts.at[k].resource) +=
                l->penalties.at[i].amounts.at[k].nano;
    for (size_t done = 0; done < sum.len; done++) { /* in the order of names */
        size_t best = done;
        for (size_t i = done + 1; i < sum.len; i++)
            if (str_cmp(intern_name(&e->resources, sum.at[i].resource),
                        intern_name(&e->resources, sum.at[best].resource)) < 0)
                best = i;
        struct afs_amount x = sum.at[best];
        sum.at[best] = sum.at[done];
        sum.at[done] = x;
        usage += weight_of(e, x.resource) * ((double)x.nano / (double)NANO_PER_UNIT);
    }
    vec_fini(&sum);
    return usage / weight;
}

static bool lq_uses_afs(const struct queue_engine *e, const struct queue_lq *lq)
{
    return lq->cq && lq->cq->exists && cq_uses_afs(e, lq->cq);
}

void afs_refresh(struct queue_engine *e, struct queue_lq *lq)
{
    double usage = lq_uses_afs(e, lq) ? afs_usage_of(e, &lq->ledger, lq->weight) : 0;

    if (usage == lq->afs_usage)
        return;
    lq->afs_usage = usage;
    if (lq->is_attached)
        pending_reorder(e, lq->cq);
}

void afs_refresh_cq(struct queue_engine *e, struct queue_cq *cq)
{
    vec_each (i, &cq->lqs)
        afs_refresh(e, cq->lqs.at[i]);
}

/* ---- penalties ---- */

static uint64_t penalty_key(const struct queue_wl *wl)
{
    return str_hash_on(0, wl_name(wl));
}

static struct afs_penalty *find_penalty(struct afs_ledger *l, const struct queue_wl *wl)
{
    vec_each (i, &l->penalties)
        if (l->penalties.at[i].workload == penalty_key(wl))
            return &l->penalties.at[i];
    return NULL;
}

void afs_charge(struct queue_engine *e, struct queue_wl *wl)
{
    struct queue_lq *lq = wl->group->lq;
    double alpha = afs_alpha(e->config.afs_sampling, e->config.afs_half_life);
    struct afs_amounts amounts = {0};

    if (!wl->extra->holds || !cq_uses_afs(e, wl->extra->holds))
        return;
    for (size_t i = 0; i < wl->extra->n_held; i++)
        for (size_t k = 0; k < wl->extra->held[i].n_uses; k++) {
            const struct held_use *u = &wl->extra->held[i].uses[k];
            *afs_at(&amounts, u->resource) += to_nano(e, u->resource, u->amount);
        }
    vec_each (i, &amounts)
        amounts.at[i].nano = afs_scale(amounts.at[i].nano, alpha);
    afs_penalty_set(&lq->ledger, penalty_key(wl), amounts);
    afs_refresh(e, lq);
}

void afs_drop(struct queue_engine *e, struct queue_lq *lq, const struct queue_wl *wl)
{
    if (afs_penalty_drop(&lq->ledger, penalty_key(wl)))
        afs_refresh(e, lq);
}

/* ---- consumption ---- */

static void decay_to(struct queue_engine *e, struct queue_lq *lq, struct instant now)
{
    struct span elapsed = instant_sub(now, lq->ledger.updated);
    struct afs_amounts usage = {0};

    vec_each (i, &lq->admitted) {
        uint16_t resource = QUOTA_RESOURCE(lq->admitted.at[i].fr);
        *afs_at(&usage, resource) += to_nano(e, resource, lq->admitted.at[i].amount);
    }
    if (elapsed.ns < 0)
        elapsed.ns = 0;
    afs_decay(&lq->ledger.consumed, &usage, afs_alpha(elapsed, e->config.afs_half_life));
    vec_fini(&usage);
    if (instant_before(lq->ledger.updated, now))
        lq->ledger.updated = now;
}

void afs_settle(struct queue_engine *e, struct queue_wl *wl, struct instant now)
{
    struct queue_lq *lq = wl->group->lq;
    struct afs_penalty *p = find_penalty(&lq->ledger, wl);

    if (!p || !wl->extra->holds || !cq_uses_afs(e, wl->extra->holds))
        return;
    if (!lq->ledger.exists) {
        lq->ledger.exists = true;
        lq->ledger.updated = now;
    }
    decay_to(e, lq, now);
    vec_each (i, &p->amounts)
        *afs_at(&lq->ledger.consumed, p->amounts.at[i].resource) += p->amounts.at[i].nano;
    afs_drop(e, lq, wl);
    afs_refresh(e, lq);
}

void queue_afs_seed(struct queue_engine *e, struct str ns, struct str name,
                    const struct queue_consumed *consumed, size_t n, struct instant now)
{
    struct queue_lq *lq = lq_ref(e, ns, name);
    struct afs_ledger *l = &lq->ledger;

    if (l->is_status_counted)
        return;
    l->is_status_counted = true;
    if (!l->exists)
        l->updated = now;
    l->exists = true;
    for (size_t i = 0; i < n; i++) {
        __int128 nano = (__int128)consumed[i].units * NANO_PER_UNIT + consumed[i].nanos;
        *afs_at(&l->consumed, intern_add(&e->resources, consumed[i].resource)) += nano;
    }
    afs_refresh(e, lq);
}

struct instant queue_afs_due(const struct queue_engine *e, struct str ns, struct str name)
{
    scoped(arena_fini) struct arena a = arena_sized(512);
    const struct queue_lq *lq = lq_find(e, str_concat(&a, ns, S("/"), name));

    if (!lq || !lq->ledger.exists || lq->ledger.penalties.len)
        return (struct instant){0};
    return instant_add(lq->ledger.updated, e->config.afs_sampling);
}

size_t queue_afs_sample(struct queue_engine *e, struct arena *a, struct str ns, struct str name,
                        struct instant now, const struct queue_consumed **out)
{
    struct queue_lq *lq = lq_ref(e, ns, name);
    struct afs_ledger *l = &lq->ledger;
    struct queue_consumed *at;

    if (!l->exists) {
        l->exists = true;
        l->updated = now;
    }
    if (e->config.afs_half_life.ns > 0)
        decay_to(e, lq, now);
    else
        vec_clear(&l->consumed);
    l->updated = instant_before(l->updated, now) ? now : l->updated;
    afs_refresh(e, lq);
    at = arena_array(a, struct queue_consumed, l->consumed.len);
    vec_each (i, &l->consumed)
        at[i] = (struct queue_consumed){intern_name(&e->resources, l->consumed.at[i].resource),
                                        (int64_t)(l->consumed.at[i].nano / NANO_PER_UNIT),
                                        (int32_t)(l->consumed.at[i].nano % NANO_PER_UNIT)};
    *out = at;
    return l->consumed.len;
}
