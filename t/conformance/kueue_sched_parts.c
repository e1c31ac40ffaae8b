/* kueue_sched_parts.c - single decisions inside a cycle: victims, orders, reservations */
#include <math.h>

#include "kueue_sched.h"

#include "kueue_parts.h"
#include "queue/plan_priv.h"
#include "queue/preempt_priv.h"
#include "value/time.h"

static enum queue_mode mode_of(struct str name)
{
    static const char *const names[] = {"NoFit", "Preempt", "DeferredFit", "Fit"};

    for (size_t i = 0; i < countof(names); i++)
        if (str_eqz(name, names[i]))
            return (enum queue_mode)i;
    return MODE_NO_FIT;
}

static bool is_reserved(const struct json *wl)
{
    const struct json *list = json_path(wl, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eq(json_str(json_getz(json_at(list, i), "type")), S("QuotaReserved")))
            return str_eq(json_str(json_getz(json_at(list, i), "status")), S("True"));
    return false;
}

static const struct json *without_times(struct arena *a, const struct json *status)
{
    const struct json *list = json_getz(status, "conditions");
    struct json_arr out = arr_in(a);

    json_each (i, list)
        arr_add(&out, *json_without(a, json_at(list, i), "lastTransitionTime", NULL));
    return list ? json_with(a, status, arr_done(&out), "conditions", NULL) : status;
}

/* ---- victims ---- */

/* The assignment of the case, as the search takes it. */
static struct assignment *given_assignment(struct sched *s, const struct queue_shape *shape,
                                           const struct json *list)
{
    struct arena *a = s->t->arena;
    struct queue_engine *e = s->e;
    struct assignment *as = arena_new(a, struct assignment);

    as->n_podsets = shape->n_podsets;
    as->podsets = arena_array(a, struct assigned_podset, as->n_podsets);
    json_each (i, list) {
        const struct json *o = json_at(list, i), *flavors = json_getz(o, "flavors");
        struct assigned_podset *ps = &as->podsets[i];
        const struct shape_podset *sp = &shape->podsets[i];
        ps->count = (uint32_t)json_i64(json_getz(o, "count"), 1);
        ps->requests = arena_array(a, struct shape_request, sp->n_requests);
        for (size_t k = 0; k < sp->n_requests; k++)
            ps->requests[ps->n_requests++] = (struct shape_request){
                sp->requests[k].resource,
                request_for(sp->requests[k].amount, sp->spec.count, ps->count)};
        ps->flavors = arena_array(a, struct assigned_flavor, json_len(flavors));
        json_each_member (m, flavors)
            ps->flavors[ps->n_flavors++] = (struct assigned_flavor){
                intern_add(&e->resources, m->name),
                flavor_number(e, json_str(json_getz(&m->value, "name"))),
                (uint8_t)mode_of(json_str(json_getz(&m->value, "mode"))), -1};
    }
    return as;
}

static void find_victims(struct sched *s, victim_list *out)
{
    struct arena *a = s->t->arena;
    const struct json *input = json_getz(s->c, "input");
    struct queue_cq *cq = cq_find(s->e, json_str(json_getz(input, "clusterQueue")));
    struct queue_workload_spec spec;
    struct preempt_input in = {.e = s->e, .a = a, .cq = cq, .now = s->now};
    VEC(quota_fr) needed = {0};

    queue_load_workload(
        a, /* it is in no cache, whatever its status says */
        json_without(a, json_getz(input, "incoming"), "status", "admission", NULL), &s->loader,
        &spec);
    spec.name = spec.name.len ? spec.name : S("incoming");
    queue_put_workload(s->e, &spec, s->now);
    in.wl = wl_find_in(s->e, spec.ns, spec.name);
    in.priority = spec.priority;
    struct assign_input asked = {.e = s->e, .a = a, .cq = cq, .shape = in.wl->group->shape};
    struct assignment *as = given_assignment(s, asked.shape, json_getz(input, "assignment"));
    in.requests = assignment_requests(&asked, as, &in.n_requests);
    for (size_t i = 0; i < as->n_podsets; i++)
        for (size_t k = 0; k < as->podsets[i].n_flavors; k++)
            if (as->podsets[i].flavors[k].mode == MODE_PREEMPT)
                vec_push_in(a, &needed,
                            QUOTA_FR(as->podsets[i].flavors[k].flavor,
                                     as->podsets[i].flavors[k].resource));
    in.needed = needed.at;
    in.n_needed = needed.len;
    quota_settle(&cq->node);
    cycle_victims(&in, out);
    if (s->e->log.entries.len)
        conf_fail(s->t, "usage left changed", S(""), S(""));
}

static int by_value(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

static void preemption(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *targets = json_getz(s->want, "targets");
    struct json_arr got = arr_in(a), want = arr_in(a);
    victim_list victims = {0};

    find_victims(s, &victims);
    vec_each (i, &victims) {
        struct json_obj o = obj_in(a);
        obj_setz(&o, "reason", json_of_str(queue_victim_reason_text(victims.at[i].reason)));
        obj_setz(&o, "workload", json_of_str(wl_key(a, victims.at[i].wl)));
        arr_add(&got, obj_done(&o));
    }
    json_each (i, targets)
        arr_add(&want, *json_at(targets, i));
    vec_sort(&got.items, by_value);
    vec_sort(&want.items, by_value);
    sched_same(s, "targets", json_new(a, arr_done(&got)), json_new(a, arr_done(&want)));
    if (json_has(json_getz(s->want, "preempted")) &&
        json_i64(json_getz(s->want, "preempted"), 0) != (int64_t)victims.len)
        conf_fail(s->t, "preempted", S(""), json_text(a, json_getz(s->want, "preempted")));
    vec_each (i, &victims) {
        size_t at = sched_find(s, wl_key(a, victims.at[i].wl));
        if (at == SIZE_MAX)
            conf_fail(s->t, "no such workload", wl_key(a, victims.at[i].wl), S(""));
        else if (!(wl_flags(victims.at[i].wl) & WL_EVICTED)) {
            struct workload_edit e = sched_edit(s, at);
            workload_preempt_edit(&e, queue_victim_reason_text(victims.at[i].reason), S(""));
            s->store.at[at] = sched_edited(s, at, &e);
        }
    }
    sched_same_workloads(s);
}

void kueue_preemption(struct conf *t, const struct json *c)
{
    sched_each(t, c, preemption);
}

/* ---- the order of victims ---- */

static struct queue_wl *put(struct sched *s, const struct json *wl, const char *name,
                            struct str held_in)
{
    struct queue_workload_spec spec;

    queue_load_workload(s->t->arena, wl, &s->loader, &spec);
    if (!spec.name.len)
        spec.name = str_from(name);
    if (held_in.len) {
        spec.flags |= WL_RESERVED;
        spec.admitted_to = held_in;
    }
    queue_put_workload(s->e, &spec, s->now);
    return wl_find_in(s->e, spec.ns, spec.name);
}

static void candidates_order(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *input = json_getz(s->c, "input");
    const struct json *list = json_getz(input, "candidates");
    struct str own = json_str(json_getz(input, "clusterQueue"));
    struct preempt_input in = {.e = s->e, .a = a, .cq = cq_ref(s->e, own), .now = s->now};
    struct victim_key *keys = arena_array(a, struct victim_key, json_len(list));
    struct json_arr order = arr_in(a);
    size_t n = 0;

    in.cq->exists = true;
    in.cq->spec.uses_afs = json_bool(json_getz(input, "admissionFairSharing"), false);
    s->e->config.afs |= in.cq->spec.uses_afs;
    json_each (i, list) {
        const struct json *c = json_at(list, i);
        struct str cq = json_str(json_getz(c, "clusterQueue"));
        struct queue_wl *wl = put(s, json_getz(c, "workload"), "x", cq);
        const struct json *usage = json_getz(c, "localQueueUsage");
        if (json_has(usage)) {
            wl->group->lq->ledger.exists = true;
            wl->group->lq->afs_usage = json_f64(usage, 0);
        }
        struct victim_key k = {
            wl,
            cq_ref(s->e, cq),
            wl->group->shape->priority,
            wl->extra && wl->extra->reserved_at.ns ? wl->extra->reserved_at.ns : s->now.ns,
            wl_flags(wl) & WL_EVICTED,
            str_eq(cq, own)};
        size_t at = n++;
        for (; at > 0 && victim_cmp(&in, &k, &keys[at - 1]) < 0; at--)
            keys[at] = keys[at - 1];
        keys[at] = k;
    }
    for (size_t i = 0; i < n; i++)
        arr_add(&order, json_of_str(wl_name(keys[i].wl)));
    sched_same(s, "order", json_new(a, arr_done(&order)), json_getz(s->want, "order"));
}

void kueue_candidates_order(struct conf *t, const struct json *c)
{
    sched_each(t, c, candidates_order);
}

/* ---- the order of ClusterQueues that give up workloads ---- */

struct givers {
    struct sched *s;
    struct victim_key *keys; /* per holder of the tree, in order of ClusterQueues */
    size_t *left;            /* per ClusterQueue index */
};

static const struct victim_key *first_left(void *ctx, struct queue_cq *cq)
{
    struct givers *g = ctx;
    static struct victim_key key;

    if (!g->left[cq->index])
        return NULL;
    const struct cq_holder *h = &cq->holders.at[cq->holders.len - g->left[cq->index]];
    key = (struct victim_key){h->wl, cq, h->priority, h->reserved_ns, h->is_evicted, false};
    return &key;
}

static void fair_order(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *input = json_getz(s->c, "input");
    const struct json *cqs = json_getz(input, "candidateClusterQueues");
    const struct json *actions = json_getz(input, "actions");
    struct queue_cq *own = cq_find(s->e, json_str(json_getz(input, "preemptorClusterQueue")));
    struct givers g = {.s = s, .left = arena_array(a, size_t, s->e->next_cq)};
    struct preempt_input in = {.e = s->e, .a = a, .cq = own, .now = s->now};
    struct fair_order o = {.e = s->e,
                           .in = &in,
                           .own = own,
                           .first = first_left,
                           .ctx = &g,
                           .stamp = ++s->e->stamp};
    struct json_arr order = arr_in(a);
    struct queue_cq *cq;

    quota_settle(&own->node);
    json_each (i, cqs) {
        cq = cq_find(s->e, json_str(json_at(cqs, i)));
        g.left[cq->index] = cq->holders.len;
    }
    for (size_t step = 0; (cq = fair_order_next(&o)); step++) {
        arr_add(&order, json_of_str(cq->name));
        if (str_eq(json_str(json_at(actions, step)), S("drop")))
            g.left[cq->index] = 0;
        else
            g.left[cq->index]--;
    }
    sched_same(s, "order", json_new(a, arr_done(&order)), json_getz(s->want, "order"));
}

void kueue_fair_order(struct conf *t, const struct json *c)
{
    sched_each(t, c, fair_order);
}

/* ---- policies and priorities ---- */

static void policy(struct sched *s)
{
    static const struct {
        const char *name;
        enum queue_policy policy;
    } rows[] = {
        {"Never",                     POLICY_NEVER         },
        {"Any",                       POLICY_ANY           },
        {"LowerPriority",             POLICY_LOWER         },
        {"LowerOrNewerEqualPriority", POLICY_LOWER_OR_NEWER},
    };
    const struct json *input = json_getz(s->c, "input");
    const struct json *p = json_getz(input, "preemptor"), *c = json_getz(input, "candidate");
    enum queue_policy by = POLICY_UNSET;
    int64_t base, boost;

    for (size_t i = 0; i < countof(rows); i++)
        if (str_eqz(json_str(json_getz(input, "policy")), rows[i].name))
            by = rows[i].policy;
    bool got = policy_allows(by, queue_load_priority(&s->config, p, &base, &boost, NULL),
                             queue_load_order_time(&s->config, p).ns,
                             queue_load_priority(&s->config, c, &base, &boost, NULL),
                             queue_load_order_time(&s->config, c).ns);
    if (got != json_bool(json_getz(s->want, "satisfies"), false))
        conf_fail(s->t, "satisfies", got ? S("true") : S("false"), S("the other"));
}

void kueue_policy(struct conf *t, const struct json *c)
{
    sched_each(t, c, policy);
}

static void priority(struct sched *s)
{
    struct json_obj o = obj_in(s->t->arena);
    int64_t base, boost;
    int64_t effective = queue_load_priority(
        &s->config, json_path(s->c, "input", "workload", NULL), &base, &boost, NULL);

    obj_setz(&o, "base", json_of_i64(base));
    obj_setz(&o, "boost", json_of_i64(boost));
    obj_setz(&o, "effective", json_of_i64(effective));
    sched_same(s, "priority", json_new(s->t->arena, obj_done(&o)), s->want);
}

void kueue_preemption_priority(struct conf *t, const struct json *c)
{
    sched_each(t, c, priority);
}

/* ---- the order of entries ---- */

static void entry_order(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *list = json_path(s->c, "input", "entries", NULL);
    entry_list entries = {0};
    struct json_arr order = arr_in(a);

    json_each (i, list) {
        const struct json *o = json_at(list, i);
        struct entry *x = arena_new(a, struct entry);
        x->wl = put(s, json_getz(o, "workload"), "x", S(""));
        x->as = arena_new(a, struct assignment);
        x->as->borrow = (uint32_t)json_i64(json_getz(o, "borrowing"), 0);
        x->is_preemptor = json_bool(json_getz(o, "isPreemptor"), false);
        x->is_second_pass =
            wl_flags(x->wl) & WL_RESERVED || is_reserved(json_getz(o, "workload"));
        vec_push_in(a, &entries, x);
    }
    order_classical(s->e, &entries);
    vec_each (i, &entries)
        arr_add(&order, json_of_str(wl_name(entries.at[i]->wl)));
    sched_same(s, "order", json_new(a, arr_done(&order)), json_getz(s->want, "order"));
}

void kueue_entry_order(struct conf *t, const struct json *c)
{
    sched_each(t, c, entry_order);
}

static bool borrows_on_requested(const struct json *o)
{
    const struct json *borrowing = json_getz(o, "borrowingOn");
    const struct json *requested = json_getz(o, "requested");

    json_each (i, borrowing)
        json_each (k, requested) {
            const struct json *b = json_at(borrowing, i), *r = json_at(requested, k);
            if (json_eq(json_getz(b, "flavor"), json_getz(r, "flavor")) &&
                json_eq(json_getz(b, "resource"), json_getz(r, "resource")) &&
                json_i64(json_getz(r, "amount"), 0) > 0)
                return true;
        }
    return false;
}

static struct contestant contestant_of(struct sched *s, const struct json *o)
{
    const struct json *wl = json_getz(o, "workload");
    double share = json_f64(json_getz(o, "share"), 0);
    int64_t base, boost;

    return (struct contestant){
        .share = {.ratio = share, .weight = 1, .is_borrowing = share > 0},
        .borrows = borrows_on_requested(o),
        .is_preemptor = json_bool(json_getz(o, "isPreemptor"), false),
        .priority = queue_load_priority(&s->config, wl, &base, &boost, NULL),
        .order_ns = queue_load_order_time(&s->config, wl).ns,
    };
}

static void entry_order_fair(struct sched *s)
{
    struct contestant x = contestant_of(s, json_path(s->c, "input", "a", NULL));
    struct contestant y = contestant_of(s, json_path(s->c, "input", "b", NULL));
    bool got = contestant_less(s->e, &x, &y);

    if (got != json_bool(json_getz(s->want, "aFirst"), false))
        conf_fail(s->t, "aFirst", got ? S("true") : S("false"), S("the other"));
}

void kueue_entry_order_fair(struct conf *t, const struct json *c)
{
    sched_each(t, c, entry_order_fair);
}

/* ---- after the cycle ---- */

static void requeued(struct sched *s)
{
    struct arena *a = s->t->arena;
    struct str status = json_str(json_path(s->c, "input", "outcome", "status", NULL));
    struct str reason =
        json_str(json_path(s->c, "input", "outcome", "quotaReservedReason", NULL));
    struct queue_decision d = {.key = S("ns1/w1"), .cq = S("cq"), .outcome = OUTCOME_REFUSED};
    bool is_plain = str_eq(status, S("nominated")) || str_eq(status, S("assumed"));
    struct queue_wl *wl = pending_pop(s->e, cq_find(s->e, S("cq")));
    size_t writes = 0;

    for (int i = 0; i < QUEUE_REASON_COUNT; i++)
        if (str_eq(queue_reason_text((enum queue_reason)i), reason))
            d.reason = (enum queue_reason)i;
    d.requeue = status.len == 0 ? REQUEUE_NO_FIT : REQUEUE_FAILED_AFTER_NOMINATION;
    if (str_eq(status, S("preemptionGated")))
        d.outcome = OUTCOME_GATED;
    pending_requeue(s->e, wl, d.requeue, d.reason, s->now);
    d.reason = reason_shown(s->e, d.outcome, d.reason);
    sched_same(s, "left", sched_left(s, false), json_getz(s->want, "left"));
    sched_same(s, "inadmissibleLeft", sched_left(s, true),
               json_getz(s->want, "inadmissibleLeft"));
    for (int i = 0; i < 2; i++) { /* the same outcome twice is one write */
        const struct json *next = is_plain ? s->store.at[0] : sched_decided(s, 0, &d);
        writes += !json_eq(next, s->store.at[0]);
        s->store.at[0] = next;
    }
    if ((int64_t)writes != json_i64(json_getz(s->want, "statusWrites"), 0))
        conf_fail(s->t, "status writes", str_printf(a, "%zu", writes),
                  json_text(a, json_getz(s->want, "statusWrites")));
    sched_same(s, "status", without_times(a, json_getz(s->store.at[0], "status")),
               json_getz(s->want, "status"));
}

void kueue_requeue(struct conf *t, const struct json *c)
{
    sched_each(t, c, requeued);
}

/* ---- reservations ---- */

static void add_usage(struct sched *s, struct queue_cq *cq, const struct json *list)
{
    json_each (i, list) {
        const struct json *u = json_at(list, i);
        quota_add(&cq->node,
                  QUOTA_FR(flavor_number(s->e, json_str(json_getz(u, "flavor"))),
                           intern_add(&s->e->resources, json_str(json_getz(u, "resource")))),
                  json_i64(json_getz(u, "amount"), 0), NULL);
    }
}

static void reserved(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *input = json_getz(s->c, "input");
    const struct json *usage = json_getz(input, "assignmentUsage");
    struct queue_cq *cq = cq_find(s->e, S("cq"));
    bool borrows = json_i64(json_getz(input, "borrowing"), 0) > 0;
    bool is_preempt = str_eq(json_str(json_getz(input, "mode")), S("Preempt"));
    struct json_arr got = arr_in(a), want = arr_in(a);

    quota_settle(&cq->node);
    add_usage(s, cq, json_getz(input, "clusterQueueUsage"));
    json_each (i, usage) {
        const struct json *u = json_at(usage, i);
        quota_fr fr =
            QUOTA_FR(flavor_number(s->e, json_str(json_getz(u, "flavor"))),
                     intern_add(&s->e->resources, json_str(json_getz(u, "resource"))));
        int64_t v = json_i64(json_getz(u, "amount"), 0);
        struct json_obj o = obj_from(a, u);
        obj_setz(&o, "amount",
                 json_of_i64(is_preempt ? reserve_amount(cq, fr, v, borrows) : v));
        arr_add(&got, obj_done(&o));
    }
    json_each (i, json_getz(s->want, "reserved"))
        arr_add(&want, *json_at(json_getz(s->want, "reserved"), i));
    vec_sort(&got.items, by_value);
    vec_sort(&want.items, by_value);
    sched_same(s, "reserved", json_new(a, arr_done(&got)), json_new(a, arr_done(&want)));
}

void kueue_reserve(struct conf *t, const struct json *c)
{
    sched_each(t, c, reserved);
}

/* ---- remembered progress ---- */

static uint64_t class_of(const struct json *o)
{
    struct str hash = json_str(json_getz(o, "schedulingHash"));
    return hash.len ? str_digest(hash) : 0;
}

static void last_assignment(struct sched *s)
{
    const struct json *last = json_path(s->c, "input", "last", NULL);
    const struct json *now = json_path(s->c, "input", "current", NULL);
    struct wl_progress p = {
        .generation = json_i64(json_getz(last, "clusterQueueGeneration"), 0),
        .cycle = (uint64_t)json_i64(json_getz(last, "schedulingCycle"), 0),
        .class = class_of(last),
    };

    s->e->cycle = (uint64_t)json_i64(json_getz(now, "schedulingCycle"), 0);
    bool got = progress_outdated(s->e, &p, class_of(now),
                                 json_i64(json_getz(now, "clusterQueueGeneration"), 0));
    if (got != json_bool(json_getz(s->want, "outdated"), false))
        conf_fail(s->t, "outdated", got ? S("true") : S("false"), S("the other"));
}

void kueue_last_assignment(struct conf *t, const struct json *c)
{
    sched_each(t, c, last_assignment);
}

/* ---- entry penalties ---- */

static void entry_penalty(struct sched *s)
{
    const struct json *input = json_getz(s->c, "input");
    struct queue_cq *cq = cq_ref(s->e, S("cq"));

    cq->exists = true;
    cq->spec.uses_afs = str_eq(json_str(json_getz(input, "admissionMode")),
                               S("UsageBasedAdmissionFairSharing"));
    bool got = cq_uses_afs(s->e, cq) && !is_reserved(json_getz(input, "workload"));
    if (got != json_bool(json_getz(s->want, "apply"), false))
        conf_fail(s->t, "apply", got ? S("true") : S("false"), S("the other"));
}

void kueue_entry_penalty(struct conf *t, const struct json *c)
{
    sched_each(t, c, entry_penalty);
}
