/* flavor.c - which flavors a workload gets
 *
 *     podsets -> units (podsets that must be placed together)
 *       each resource of a unit -> its resource group -> a scan over the group's flavors
 *         each flavor: may its nodes take the pods? is there quota, or could there be?
 *
 * A scan goes on while the queue's fungibility says so, keeps the best flavor, and is
 * remembered so that the next cycle goes on behind it.
 */
#include "queue/engine_priv.h"

#include "queue/topology_priv.h"

#define WORST_LEVEL UINT32_MAX

/* One scan: a unit's resources of one resource group. */
struct scan {
    const struct assign_input *in;
    struct assignment *as;
    const struct cq_group *group;
    const size_t *members; /* podsets of the unit */
    size_t n_members;
    struct scan_resource {
        uint16_t resource;
        int64_t request; /* of the unit, net of a replaced slice */
        enum possibility mode;
        uint32_t level;
    } * res, *best;
    size_t n_res;
    enum possibility best_mode;
    uint32_t best_level;
    uint16_t best_flavor;
    int32_t tried;
    VEC(struct attempt) attempts;
};

/* ---- requests ---- */

int64_t request_for(int64_t total, int32_t pods, uint32_t count)
{
    if ((uint32_t)pods == count || pods <= 0)
        return total;
    return sat_mul(total / pods, count);
}

static bool cq_covers(const struct queue_cq *cq, uint16_t resource)
{
    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t i = 0; i < cq->groups[g].n_resources; i++)
            if (cq->groups[g].resources[i] == resource)
                return true;
    return false;
}

static const struct cq_group *group_of(const struct queue_cq *cq, uint16_t resource)
{
    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t i = 0; i < cq->groups[g].n_resources; i++)
            if (cq->groups[g].resources[i] == resource)
                return &cq->groups[g];
    return NULL;
}

static void put_request(const struct intern *names, struct assigned_podset *ps,
                        struct shape_request r)
{
    size_t at = ps->n_requests++;

    for (; at > 0 && str_cmp(intern_name(names, ps->requests[at - 1].resource),
                             intern_name(names, r.resource)) > 0;
         at--)
        ps->requests[at] = ps->requests[at - 1];
    ps->requests[at] = r;
}

static void scale_requests(const struct assign_input *in, struct assignment *as)
{
    uint16_t pods = intern_find(&in->e->resources, S("pods"));
    bool counts_pods = pods != INTERN_NONE && cq_covers(in->cq, pods);

    for (size_t i = 0; i < as->n_podsets; i++) {
        const struct shape_podset *sp = &in->shape->podsets[i];
        struct assigned_podset *ps = &as->podsets[i];
        ps->count = in->counts ? in->counts[i] : (uint32_t)sp->spec.count;
        ps->requests = arena_array(in->a, struct shape_request, sp->n_requests + 1);
        for (size_t k = 0; k < sp->n_requests; k++) {
            if (counts_pods && sp->requests[k].resource == pods)
                continue;
            ps->requests[ps->n_requests++] = (struct shape_request){
                sp->requests[k].resource,
                request_for(sp->requests[k].amount, sp->spec.count, ps->count)};
        }
        if (counts_pods)
            put_request(&in->e->resources, ps, (struct shape_request){pods, ps->count});
    }
}

static const int64_t *podset_request(const struct assigned_podset *ps, uint16_t resource)
{
    for (size_t i = 0; i < ps->n_requests; i++)
        if (ps->requests[i].resource == resource)
            return &ps->requests[i].amount;
    return NULL;
}

/* What the older slice's podset of that name uses of a resource; NULL where nothing. */
static const struct held_use *replaced_use(const struct assign_input *in, size_t podset,
                                           uint16_t resource)
{
    const struct wl_extra *x = in->replaces ? in->replaces->extra : NULL;
    struct str name = in->shape->podsets[podset].spec.name;

    for (size_t i = 0; x && i < x->n_held; i++)
        if (str_eq(x->held[i].name, name))
            for (size_t k = 0; k < x->held[i].n_uses; k++)
                if (x->held[i].uses[k].resource == resource)
                    return &x->held[i].uses[k];
    return NULL;
}

/* ---- causes ---- */

static struct queue_cause *add_cause(struct scan *s, enum queue_cause_code code,
                                     uint16_t flavor, uint16_t resource)
{
    struct queue_engine *e = s->in->e;
    struct queue_cause c = {
        .code = code,
        .podset = s->in->shape->podsets[s->members[0]].spec.name,
        .flavor = intern_name(&e->flavor_names, flavor),
        .resource = intern_name(&e->resources, resource),
        .owner = s->in->cq->name,
    };
    vec_push_in(s->in->a, &s->as->causes, c);
    return &vec_last(&s->as->causes);
}

/* ---- may the pods go to the flavor's nodes? ---- */

/* Only requirements on labels that the flavor has count; a term without any holds. */
static bool affinity_matches(const struct queue_podset_spec *ps, struct queue_labels labels)
{
    struct str value;

    for (size_t i = 0; i < ps->node_selector.len; i++)
        if (labels_get(labels, ps->node_selector.at[i].key, &value) &&
            !str_eq(value, ps->node_selector.at[i].value))
            return false;
    if (!ps->has_affinity || !ps->n_terms)
        return true;
    for (size_t t = 0; t < ps->n_terms; t++) {
        bool holds = true;
        for (size_t i = 0; i < ps->terms[t].len && holds; i++)
            if (labels_get(labels, ps->terms[t].at[i].key, &value))
                holds = match_requirement(&ps->terms[t].at[i], labels);
        if (holds)
            return true;
    }
    return false;
}

static bool is_hard(const struct queue_taint *t)
{
    return str_eq(t->effect, S("NoSchedule")) || str_eq(t->effect, S("NoExecute"));
}

static const struct queue_taint *untolerated(const struct queue_flavor *f,
                                             const struct queue_podset_spec *ps)
{
    for (size_t i = 0; i < f->spec.n_taints; i++) {
        const struct queue_taint *t = &f->spec.taints[i];
        if (is_hard(t) && !taint_tolerated(t, ps->tolerations, ps->n_tolerations) &&
            !taint_tolerated(t, f->spec.tolerations, f->spec.n_tolerations))
            return t;
    }
    return NULL;
}

/* The cause is recorded where a podset of the unit may not use it. */
static bool flavor_is_eligible(struct scan *s, const struct queue_flavor *f)
{
    const struct assign_input *in = s->in;

    if (!f->exists) {
        add_cause(s, CAUSE_FLAVOR_MISSING, f->id, INTERN_NONE);
        return false;
    }
    for (size_t m = 0; m < s->n_members; m++) {
        const struct shape_podset *sp = &in->shape->podsets[s->members[m]];
        if (gate(in->e, QUEUE_GATE_TOPOLOGY)) {
            enum queue_cause_code code;
            if (!topology_accepts(in, sp, s->group, f, &code)) {
                add_cause(s, code, f->id, INTERN_NONE);
                return false;
            }
        }
        const struct queue_taint *t = untolerated(f, &sp->spec);
        if (t) {
            struct queue_cause *c = add_cause(s, CAUSE_TAINT, f->id, INTERN_NONE);
            c->detail = str_printf(in->a, "{%.*s %.*s %.*s <nil>}", STR_ARG(t->key),
                                   STR_ARG(t->value), STR_ARG(t->effect));
            return false;
        }
        if (!affinity_matches(&sp->spec, f->spec.labels)) {
            add_cause(s, CAUSE_AFFINITY, f->id, INTERN_NONE);
            return false;
        }
    }
    return true;
}

/* ---- is there quota? ---- */

static int64_t usage_so_far(const struct assignment *as, quota_fr fr)
{
    for (size_t i = 0; i < as->usage.len; i++)
        if (as->usage.at[i].fr == fr)
            return as->usage.at[i].amount;
    return 0;
}

static bool may_preempt_while_borrowing(const struct assign_input *in)
{
    const struct queue_cq_spec *q = &in->cq->spec;

    if (q->borrow != POLICY_UNSET && q->borrow != POLICY_NEVER)
        return true;
    return in->e->config.fair_sharing && q->has_preemption && q->reclaim != POLICY_NEVER;
}

/* Fills mode and level of one resource; *reason where it does not fit. */
static void fits_quota(struct scan *s, struct scan_resource *r, uint16_t flavor,
                       enum queue_reason *reason, bool *was_simulated)
{
    const struct assign_input *in = s->in;
    const struct quota_node *node = &in->cq->node;
    quota_fr fr = QUOTA_FR(flavor, r->resource);
    int64_t before = usage_so_far(s->as, fr);
    int64_t value = amount_add(before, r->request);
    int64_t potential = quota_potential(node, fr);
    struct queue_cause *c;
    bool may_reclaim;

    r->level = 0;
    *reason = QUEUE_NONE;
    if (value > potential) {
        r->mode = POSSIBLE_NO_FIT;
        *reason = QUEUE_EXCEEDS_MAX_QUOTA;
        c = add_cause(s, CAUSE_OVER_CAPACITY, flavor, r->resource);
        c->asked = r->request, c->before = before, c->limit = potential;
        c->used = quota_usage(node, fr), c->short_by = amount_sub(value, potential);
        return;
    }
    r->level = quota_lowest_fit(node, fr, value, &may_reclaim);
    int64_t available = MAX((int64_t)0, quota_available(node, fr));
    if (value <= available) {
        r->mode = POSSIBLE_FIT;
        return;
    }
    c = add_cause(s, CAUSE_SHORT, flavor, r->resource);
    c->asked = r->request, c->before = before, c->limit = potential;
    c->used = quota_usage(node, fr), c->available = available;
    c->short_by = amount_sub(value, available);
    if (quota_nominal(node, fr) >= value || may_reclaim || may_preempt_while_borrowing(in)) {
        *was_simulated = true;
        r->mode = in->simulate(in->ctx, fr, value, &r->level);
        return;
    }
    r->mode = POSSIBLE_NO_FIT;
    *reason = QUEUE_WAITING_FOR_QUOTA;
}

bool mode_is_preferred(const struct queue_cq_spec *spec, enum possibility a, uint32_t a_level,
                       enum possibility b, uint32_t b_level)
{
    if (a == POSSIBLE_NO_FIT)
        return false;
    if (b == POSSIBLE_NO_FIT)
        return true;
    if ((a == POSSIBLE_NONE) != (b == POSSIBLE_NONE))
        return b == POSSIBLE_NONE;
    if (spec->prefer_preemption)
        return a_level != b_level ? a_level < b_level : a > b;
    return a != b ? a > b : a_level < b_level;
}

static bool try_next(const struct queue_cq_spec *spec, enum possibility mode, uint32_t level)
{
    if (mode == POSSIBLE_NO_FIT || mode == POSSIBLE_NONE)
        return true;
    if ((mode == POSSIBLE_PREEMPT || mode == POSSIBLE_RECLAIM) && !spec->preempt_stop)
        return true;
    return level > 0 && spec->borrow_try_next;
}

static int severity(enum queue_reason r)
{
    switch ((int)r) {
    case QUEUE_NO_MATCHING_FLAVOR:
        return 4;
    case QUEUE_EXCEEDS_MAX_QUOTA:
        return 3;
    case QUEUE_WAITING_FOR_QUOTA:
        return 2;
    case QUEUE_TOPOLOGY:
        return 1;
    default:
        return 0;
    }
}

static enum queue_reason more_severe(enum queue_reason a, enum queue_reason b)
{
    return severity(b) > severity(a) ? b : a;
}

static enum queue_mode public_mode(enum possibility p)
{
    return p == POSSIBLE_FIT ? MODE_FIT : p == POSSIBLE_NO_FIT ? MODE_NO_FIT : MODE_PREEMPT;
}

/* ---- slices of elastic jobs ---- */

/* The flavor must be the one that the older slice has; requests become differences. */
static bool slice_allows(struct scan *s, uint16_t flavor)
{
    const struct intern *names = &s->in->e->flavor_names;

    if (!s->in->replaces)
        return true;
    for (size_t m = 0; m < s->n_members; m++)
        for (size_t r = 0; r < s->n_res; r++) {
            const struct held_use *u = replaced_use(s->in, s->members[m], s->res[r].resource);
            if (u && u->flavor != flavor) {
                struct queue_cause *c = add_cause(s, CAUSE_SLICE_FLAVOR, flavor, INTERN_NONE);
                c->detail = intern_name(names, u->flavor);
                return false;
            }
        }
    return true;
}

/* ---- the scan ---- */

static bool is_pinned_out(const struct scan *s, uint16_t flavor)
{
    const struct assignment *pin = s->in->pinned;

    if (!pin)
        return false;
    for (size_t m = 0; m < s->n_members; m++) {
        const struct assigned_podset *ps = &pin->podsets[s->members[m]];
        for (size_t i = 0; i < ps->n_flavors; i++)
            if (ps->flavors[i].resource == s->res[0].resource &&
                ps->flavors[i].flavor == flavor)
                return false;
    }
    return true;
}

static bool is_listed(struct str list, struct str name)
{
    struct str head;

    while (list.len) {
        str_cut(list, ',', &head, &list);
        if (str_eq(str_trim(head), name))
            return true;
    }
    return false;
}

static bool variant_forbids(const struct scan *s, uint16_t flavor)
{
    struct str list = s->in->shape->allowed_flavors;

    return gate(s->in->e, QUEUE_GATE_CONCURRENT_ADMISSION) && list.len &&
           !is_listed(list, intern_name(&s->in->e->flavor_names, flavor));
}

static size_t scan_start(const struct scan *s)
{
    const struct wl_progress *p = s->in->progress;

    if (!gate(s->in->e, QUEUE_GATE_FLAVOR_FUNGIBILITY))
        return 0;
    for (size_t i = 0; p && i < p->len; i++)
        if (p->at[i].podset == s->members[0] && p->at[i].resource == s->res[0].resource)
            return (size_t)(p->at[i].tried + 1);
    return 0;
}

/* One eligible flavor: every resource against its quota. */
static struct attempt try_flavor(struct scan *s, uint16_t flavor)
{
    const struct queue_cq_spec *spec = &s->in->cq->spec;
    size_t first = s->as->causes.len;
    struct attempt at = {.flavor = flavor, .possibility = POSSIBLE_FIT};
    enum possibility mode = POSSIBLE_FIT;
    uint32_t level = 0;
    enum queue_reason reason;

    for (size_t r = 0; r < s->n_res; r++) {
        struct scan_resource *x = &s->res[r];
        bool was_simulated = false;
        fits_quota(s, x, flavor, &reason, &was_simulated);
        if (mode_is_preferred(spec, mode, level, x->mode, x->level) ||
            (x->mode == POSSIBLE_NO_FIT && mode != POSSIBLE_NO_FIT))
            mode = x->mode, level = x->level;
        at.borrow = MAX(at.borrow, x->level);
        at.reason = more_severe(at.reason, reason);
        at.was_simulated |= was_simulated;
    }
    at.possibility = (uint8_t)mode;
    at.mode = (uint8_t)public_mode(mode);
    at.n_texts = (uint32_t)(s->as->causes.len - first);

    bool is_better;
    if (gate(s->in->e, QUEUE_GATE_FLAVOR_FUNGIBILITY))
        is_better = !try_next(spec, mode, level) ||
                    mode_is_preferred(spec, mode, level, s->best_mode, s->best_level);
    else
        is_better = mode > s->best_mode;
    if (is_better) {
        s->best_mode = mode, s->best_level = level, s->best_flavor = flavor;
        memcpy(s->best, s->res, s->n_res * sizeof(*s->res));
    }
    return at;
}

static void scan_flavors(struct scan *s)
{
    const struct queue_cq_spec *spec = &s->in->cq->spec;
    bool is_fungible = gate(s->in->e, QUEUE_GATE_FLAVOR_FUNGIBILITY);
    size_t n = s->group->n_flavors, start = scan_start(s), ended = 0;

    s->as->is_partial |= start > 0;
    s->best_mode = POSSIBLE_NO_FIT;
    s->best_level = WORST_LEVEL;
    for (size_t i = start; i < n; i++) {
        uint16_t id = s->group->flavors[i];
        const struct queue_flavor *f = s->in->e->flavors.at[id];
        struct attempt at = {.flavor = id, .reason = QUEUE_NO_MATCHING_FLAVOR, .n_texts = 1};

        ended = i;
        if (is_pinned_out(s, id)) {
            add_cause(s, CAUSE_NOT_NOMINATED, id, s->res[0].resource);
            continue;
        }
        if (variant_forbids(s, id))
            continue;
        if (!flavor_is_eligible(s, f) || !slice_allows(s, id)) {
            vec_push_in(s->in->a, &s->attempts, at);
            continue;
        }
        at = try_flavor(s, id);
        vec_push_in(s->in->a, &s->attempts, at);
        if (is_fungible ? s->best_flavor == id && s->best_mode != POSSIBLE_NO_FIT &&
                              !try_next(spec, s->best_mode, s->best_level)
                        : s->best_mode == POSSIBLE_FIT)
            break;
    }
    s->tried = !is_fungible ? 0 : ended == n - 1 ? -1 : (int32_t)ended;
}

/* ---- a unit ---- */

struct unit {
    size_t *members;
    size_t n_members;
    struct assigned_flavor *flavors; /* one a resource */
    size_t n_flavors;
    VEC(struct attempt) attempts;
    size_t first_cause;
    bool has_failed;
};

static void merge_attempt(const struct assign_input *in, struct unit *u, struct attempt at)
{
    for (size_t i = 0; i < u->attempts.len; i++) {
        struct attempt *x = &u->attempts.at[i];
        if (x->flavor != at.flavor)
            continue;
        x->mode = MIN(x->mode, at.mode);
        if (at.was_simulated && (!x->was_simulated || at.possibility < x->possibility))
            x->possibility = at.possibility;
        x->was_simulated |= at.was_simulated;
        x->borrow = MAX(x->borrow, at.borrow);
        x->reason = more_severe(x->reason, at.reason);
        x->n_texts += at.n_texts;
        return;
    }
    vec_push_in(in->a, &u->attempts, at);
}

static bool has_attempt(const struct scan *s, uint16_t flavor)
{
    vec_each (i, &s->attempts)
        if (s->attempts.at[i].flavor == flavor)
            return true;
    return false;
}

static void merge_attempts(struct scan *s, struct unit *u)
{
    for (size_t i = 0; i < u->attempts.len; i++) {
        struct attempt *x = &u->attempts.at[i];
        for (size_t f = 0; f < s->group->n_flavors; f++)
            if (s->group->flavors[f] == x->flavor && !has_attempt(s, x->flavor)) {
                x->mode = MODE_NO_FIT;
                x->reason = more_severe(x->reason, QUEUE_NO_MATCHING_FLAVOR);
                x->n_texts++;
            }
    }
    vec_each (i, &s->attempts)
        merge_attempt(s->in, u, s->attempts.at[i]);
}

/* What the unit asks of each resource in the group of `resource`. */
static void scan_requests(struct scan *s)
{
    const struct assign_input *in = s->in;
    const struct intern *names = &in->e->resources;

    s->res = arena_array(in->a, struct scan_resource, s->group->n_resources);
    s->best = arena_array(in->a, struct scan_resource, s->group->n_resources);
    for (size_t i = 0; i < s->group->n_resources; i++) {
        uint16_t resource = s->group->resources[i];
        struct scan_resource r = {.resource = resource};
        bool is_asked = false;
        for (size_t m = 0; m < s->n_members; m++) {
            const int64_t *v = podset_request(&s->as->podsets[s->members[m]], resource);
            const struct held_use *old = replaced_use(in, s->members[m], resource);
            is_asked |= v != NULL;
            r.request = amount_add(r.request, v ? *v : 0);
            if (old && v)
                r.request = sat_sub(r.request, old->amount);
        }
        if (!is_asked)
            continue;
        size_t at = s->n_res++;
        for (; at > 0 && str_cmp(intern_name(names, s->res[at - 1].resource),
                                 intern_name(names, resource)) > 0;
             at--)
            s->res[at] = s->res[at - 1];
        s->res[at] = r;
    }
}

static const struct assigned_flavor *unit_flavor(const struct unit *u, uint16_t resource)
{
    for (size_t i = 0; i < u->n_flavors; i++)
        if (u->flavors[i].resource == resource)
            return &u->flavors[i];
    return NULL;
}

/* Scans the resource's group; false where nothing fits. */
static bool scan_group(const struct assign_input *in, struct assignment *as, struct unit *u,
                       const struct cq_group *group)
{
    struct scan s = {
        .in = in, .as = as, .group = group, .members = u->members, .n_members = u->n_members};
    size_t first = as->causes.len;

    scan_requests(&s);
    scan_flavors(&s);
    if (s.best_mode == POSSIBLE_NO_FIT)
        u->attempts.len = 0;
    merge_attempts(&s, u);
    if (s.best_mode == POSSIBLE_NO_FIT) { /* only this scan's reasons stay */
        if (first > u->first_cause)
            memmove(&as->causes.at[u->first_cause], &as->causes.at[first],
                    (as->causes.len - first) * sizeof(*as->causes.at));
        as->causes.len -= first - u->first_cause;
        return false;
    }
    if (s.best_mode == POSSIBLE_FIT)
        as->causes.len = first;
    for (size_t r = 0; r < s.n_res; r++) {
        u->flavors[u->n_flavors++] = (struct assigned_flavor){
            s.best[r].resource, s.best_flavor, (uint8_t)public_mode(s.best[r].mode), s.tried};
        as->borrow = MAX(as->borrow, s.best[r].level);
    }
    return true;
}

static bool skips_uncovered(const struct assign_input *in, int64_t amount)
{
    return amount == 0 ||
           (in->e->config.ignore_undeclared && gate(in->e, QUEUE_GATE_QUOTA_CHECK_STRATEGY));
}

/* Flavors for all resources of the unit; has_failed where one gets none. */
static void assign_unit(const struct assign_input *in, struct assignment *as, struct unit *u)
{
    size_t total = 0;

    u->first_cause = as->causes.len;
    for (size_t m = 0; m < u->n_members; m++)
        total += as->podsets[u->members[m]].n_requests;
    u->flavors = arena_array(in->a, struct assigned_flavor, total);
    for (size_t m = 0; m < u->n_members && !u->has_failed; m++) {
        const struct assigned_podset *ps = &as->podsets[u->members[m]];
        for (size_t i = 0; i < ps->n_requests; i++) {
            uint16_t resource = ps->requests[i].resource;
            const struct cq_group *group = group_of(in->cq, resource);
            if (unit_flavor(u, resource) ||
                (!group && skips_uncovered(in, ps->requests[i].amount)))
                continue;
            if (!group) {
                struct scan s = {.in = in, .as = as, .members = u->members};
                as->causes.len = u->first_cause;
                add_cause(&s, CAUSE_NOT_COVERED, INTERN_NONE, resource);
                u->attempts.len = 0;
                u->has_failed = true;
                break;
            }
            if (!scan_group(in, as, u, group)) {
                u->has_failed = true;
                break;
            }
        }
    }
    if (u->has_failed)
        u->n_flavors = 0;
}

static int attempt_cmp_names(const struct intern *names, const struct attempt *a,
                             const struct attempt *b)
{
    return str_cmp(intern_name(names, a->flavor), intern_name(names, b->flavor));
}

static void sort_attempts(const struct intern *names, struct unit *u)
{
    for (size_t i = 1; i < u->attempts.len; i++) {
        struct attempt x = u->attempts.at[i];
        size_t k = i;
        for (; k > 0 && attempt_cmp_names(names, &u->attempts.at[k - 1], &x) > 0; k--)
            u->attempts.at[k] = u->attempts.at[k - 1];
        u->attempts.at[k] = x;
    }
}

static void worst_mode(struct assigned_podset *ps, bool has_failed)
{
    ps->mode = MODE_FIT;
    if (ps->error || has_failed) {
        ps->mode = MODE_NO_FIT;
        return;
    }
    if (!ps->n_causes)
        return;
    if (!ps->n_flavors)
        ps->mode = MODE_NO_FIT;
    for (size_t i = 0; i < ps->n_flavors; i++)
        ps->mode = MIN(ps->mode, ps->flavors[i].mode);
}

/* Hands the unit's flavors to its podsets; false where one of them has none for its requests.
 */
static bool share_out(const struct assign_input *in, struct assignment *as, struct unit *u)
{
    bool ok = !u->has_failed;

    sort_attempts(&in->e->flavor_names, u);
    for (size_t m = 0; m < u->n_members; m++) {
        struct assigned_podset *ps = &as->podsets[u->members[m]];
        const struct shape_podset *sp = &in->shape->podsets[u->members[m]];

        ps->attempts = u->attempts.at;
        ps->n_attempts = u->attempts.len;
        ps->first_cause = u->first_cause;
        ps->n_causes = as->causes.len - u->first_cause;
        ps->flavors = arena_array(in->a, struct assigned_flavor, u->n_flavors);
        for (size_t i = 0; i < u->n_flavors; i++) {
            const int64_t *v = podset_request(ps, u->flavors[i].resource);
            const struct held_use *old =
                replaced_use(in, u->members[m], u->flavors[i].resource);
            const struct queue_flavor *f = in->e->flavors.at[u->flavors[i].flavor];
            if (!v &&
                !(ps->n_requests == 0 && sp->spec.topology.group.len && f->spec.topology.len))
                continue;
            ps->flavors[ps->n_flavors++] = u->flavors[i];
            if (!v)
                continue;
            int64_t amount = old ? sat_sub(*v, old->amount) : *v;
            quota_fr fr = QUOTA_FR(u->flavors[i].flavor, u->flavors[i].resource);
            size_t k = 0;
            while (k < as->usage.len && as->usage.at[k].fr != fr)
                k++;
            if (k == as->usage.len)
                vec_push_in(in->a, &as->usage, (struct quota_amount){fr, 0});
            as->usage.at[k].amount = amount_add(as->usage.at[k].amount, amount);
        }
        if (ps->n_requests && !ps->n_flavors && ps->n_causes)
            ok = false;
        worst_mode(ps, u->has_failed);
    }
    return ok;
}

/* ---- the whole workload ---- */

static struct unit *units_of(const struct assign_input *in, size_t *count)
{
    const struct queue_shape *shape = in->shape;
    struct unit *units = arena_array(in->a, struct unit, shape->n_podsets);
    size_t n = 0, u;

    for (size_t i = 0; i < shape->n_podsets; i++) {
        struct str group = shape->podsets[i].spec.topology.group;
        for (u = 0; u < n; u++)
            if (group.len &&
                str_eq(shape->podsets[units[u].members[0]].spec.topology.group, group))
                break;
        if (u == n) {
            units[n].members = arena_array(in->a, size_t, group.len ? shape->n_podsets : 1);
            n++;
        }
        units[u].members[units[u].n_members++] = i;
    }
    *count = n;
    return units;
}

/* The least severe reason within a resource group counts, then the most severe of the groups.
 */
static enum queue_reason podset_no_fit(const struct assign_input *in,
                                       const struct assigned_podset *ps)
{
    enum queue_reason worst = QUEUE_NONE;

    if (!ps->n_attempts)
        return QUEUE_NO_MATCHING_FLAVOR;
    for (size_t g = 0; g < in->cq->n_groups; g++) {
        enum queue_reason least = QUEUE_NONE;
        for (size_t i = 0; i < ps->n_attempts; i++) {
            const struct attempt *at = &ps->attempts[i];
            bool is_in = false;
            for (size_t f = 0; f < in->cq->groups[g].n_flavors; f++)
                is_in |= in->cq->groups[g].flavors[f] == at->flavor;
            if (!is_in || at->mode != MODE_NO_FIT || !severity(at->reason))
                continue;
            if (!least || severity(at->reason) < severity(least))
                least = at->reason;
        }
        worst = more_severe(worst, least);
    }
    return worst;
}

static void note_progress(const struct assign_input *in, struct assignment *as)
{
    size_t n = 0;

    for (size_t i = 0; i < as->n_podsets; i++)
        n += as->podsets[i].n_flavors;
    struct wl_progress *p = arena_new(in->a, struct wl_progress);
    p->at = arena_array(in->a, struct progress_entry, n);
    for (size_t i = 0; i < as->n_podsets; i++)
        for (size_t k = 0; k < as->podsets[i].n_flavors; k++) {
            const struct assigned_flavor *f = &as->podsets[i].flavors[k];
            p->at[p->len++] = (struct progress_entry){(uint16_t)i, f->resource, f->tried};
            p->is_pending |= f->tried != -1;
        }
    p->generation = quota_generation(&in->cq->node);
    p->class = in->shape->class;
    p->cycle = in->e->cycle;
    as->progress = p;
}

void assignment_finish(const struct assign_input *in, struct assignment *as)
{
    as->mode = MODE_FIT;
    as->no_fit = QUEUE_NONE;
    for (size_t i = 0; i < as->n_podsets; i++)
        as->mode = MIN(as->mode, as->podsets[i].mode);
    if (as->mode != MODE_NO_FIT || !gate(in->e, QUEUE_GATE_OBSERVABILITY))
        return;
    for (size_t i = 0; i < as->n_podsets; i++)
        if (as->podsets[i].mode == MODE_NO_FIT)
            as->no_fit = more_severe(as->no_fit, podset_no_fit(in, &as->podsets[i]));
}

/* A workload that holds quota already keeps its flavors. */
static void reuse_admission(const struct assign_input *in, struct assignment *as)
{
    const struct wl_extra *x = in->wl->extra;

    for (size_t i = 0; i < as->n_podsets; i++) {
        struct assigned_podset *ps = &as->podsets[i];
        for (size_t k = 0; k < x->n_held; k++) {
            const struct held_podset *h = &x->held[k];
            if (!str_eq(h->name, in->shape->podsets[i].spec.name))
                continue;
            ps->count = (uint32_t)h->count;
            ps->flavors = arena_array(in->a, struct assigned_flavor, h->n_uses);
            for (size_t u = 0; u < h->n_uses; u++)
                if (h->uses[u].flavor != INTERN_NONE)
                    ps->flavors[ps->n_flavors++] = (struct assigned_flavor){
                        h->uses[u].resource, h->uses[u].flavor, MODE_FIT, -1};
        }
        ps->mode = MODE_FIT;
    }
}

struct assignment *assign_flavors(const struct assign_input *in)
{
    struct assignment *as = arena_new(in->a, struct assignment);
    struct unit *units;
    size_t n_units;

    as->n_podsets = in->shape->n_podsets;
    as->podsets = arena_array(in->a, struct assigned_podset, as->n_podsets);
    scale_requests(in, as);
    if (in->wl && in->wl->extra && in->wl->extra->holds) {
        reuse_admission(in, as);
        topology_assign(in, as);
        assignment_finish(in, as);
        return as;
    }
    units = units_of(in, &n_units);
    size_t done = 0;
    while (done < n_units) {
        assign_unit(in, as, &units[done]);
        if (!share_out(in, as, &units[done++]))
            break;
    }
    for (size_t u = done; u < n_units; u++) /* not evaluated: nothing to say about them */
        for (size_t m = 0; m < units[u].n_members; m++)
            as->podsets[units[u].members[m]].mode = MODE_FIT;
    note_progress(in, as);
    assignment_finish(in, as);
    if (as->mode != MODE_NO_FIT && gate(in->e, QUEUE_GATE_TOPOLOGY)) {
        topology_assign(in, as);
        assignment_finish(in, as);
    }
    if (done < n_units)
        as->n_podsets = as->mode == MODE_NO_FIT
                            ? units[done - 1].members[0] + units[done - 1].n_members
                            : as->n_podsets;
    return as;
}

struct quota_amount *assignment_requests(const struct assign_input *in,
                                         const struct assignment *as, size_t *count)
{
    struct quota_amount *out;
    size_t total = 0, n = 0;

    for (size_t i = 0; i < as->n_podsets; i++)
        total += as->podsets[i].n_flavors;
    out = arena_array(in->a, struct quota_amount, total);
    for (size_t i = 0; i < as->n_podsets; i++)
        for (size_t k = 0; k < as->podsets[i].n_flavors; k++) {
            const struct assigned_flavor *f = &as->podsets[i].flavors[k];
            const int64_t *v = podset_request(&as->podsets[i], f->resource);
            const struct held_use *old = replaced_use(in, i, f->resource);
            quota_fr fr = QUOTA_FR(f->flavor, f->resource);
            size_t at = 0;
            if (!v || (*v == 0 && !old))
                continue;
            while (at < n && out[at].fr != fr)
                at++;
            if (at == n)
                out[n++] = (struct quota_amount){fr, 0};
            out[at].amount = amount_add(out[at].amount, old ? sat_sub(*v, old->amount) : *v);
        }
    *count = n;
    return out;
}
