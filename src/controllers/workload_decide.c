/* workload_decide.c - a decision of the quota engine as a change of the Workload's status */
#include "controllers/workload_decide.h"

/* ---- admitted ---- */

static const struct queue_request *request_of(const struct queue_assigned_podset *p,
                                              struct str resource)
{
    for (size_t i = 0; i < p->n_requests; i++)
        if (str_eq(p->requests[i].resource, resource))
            return &p->requests[i];
    return NULL;
}

static struct kueue_pod_set_assignment assignment_of(struct arena *a,
                                                     const struct queue_assigned_podset *p)
{
    struct kueue_pod_set_assignment out = {0};
    struct str_entry *flavors = arena_array(a, struct str_entry, p->n_flavors);
    struct str_entry *usage = arena_array(a, struct str_entry, p->n_flavors);
    size_t n_usage = 0;

    for (size_t i = 0; i < p->n_flavors; i++) {
        struct str resource = p->flavors[i].resource;
        const struct queue_request *r = request_of(p, resource);
        flavors[i] = (struct str_entry){resource, p->flavors[i].flavor};
        if (r)
            usage[n_usage++] =
                (struct str_entry){resource, resource_units_text(a, resource, r->amount)};
    }
    SET(&out, name, p->name);
    if (p->n_flavors)
        SET(&out, flavors, (struct str_map){flavors, p->n_flavors});
    if (n_usage)
        SET(&out, resource_usage, (struct str_map){usage, n_usage});
    SET(&out, count, p->count);
    return out;
}

static const struct kueue_admission *admission_of(struct arena *a,
                                                  const struct queue_decision *d)
{
    struct kueue_admission *out = arena_new(a, struct kueue_admission);
    struct kueue_pod_set_assignment *sets =
        arena_array(a, struct kueue_pod_set_assignment, d->n_podsets);

    for (size_t i = 0; i < d->n_podsets; i++)
        sets[i] = assignment_of(a, &d->podsets[i]);
    SET(out, cluster_queue, d->cq);
    SET(out, pod_set_assignments, (struct kueue_pod_set_assignment_list){sets, d->n_podsets});
    return out;
}

/* Every check that applies has a state already. */
static bool lists_checks(const struct workload_edit *e, const struct queue_decision *d)
{
    const struct kueue_admission_check_state_list *l = &e->status->admission_checks;

    for (size_t i = 0; i < d->n_checks; i++) {
        bool is_there = false;
        for (size_t k = 0; k < l->len; k++)
            is_there |= str_eq(l->at[k].name, d->checks[i]);
        if (!is_there)
            return false;
    }
    return true;
}

/* ---- waiting ---- */

static bool same_texts(const struct str_map *x, const struct str_map *y)
{
    if (x->len != y->len)
        return false;
    for (size_t i = 0; i < x->len; i++) {
        const struct str *other = str_map_find(y, x->at[i].key);
        if (!other || !str_eq(*other, x->at[i].value))
            return false;
    }
    return true;
}

static bool same_requests(const struct kueue_pod_set_request_list *x,
                          const struct kueue_pod_set_request_list *y)
{
    if (x->len != y->len)
        return false;
    for (size_t i = 0; i < x->len; i++)
        if (!str_eq(x->at[i].name, y->at[i].name) ||
            !same_texts(&x->at[i].resources, &y->at[i].resources))
            return false;
    return true;
}

static struct kueue_pod_set_request request_of_podset(struct arena *a,
                                                      const struct queue_podset_spec *p)
{
    struct kueue_pod_set_request out = {0};
    struct str_entry *at = arena_array(a, struct str_entry, p->n_requests);

    for (size_t i = 0; i < p->n_requests; i++)
        at[i] = (struct str_entry){
            p->requests[i].resource,
            resource_units_text(a, p->requests[i].resource, p->requests[i].amount)};
    SET(&out, name, p->name);
    if (p->n_requests)
        SET(&out, resources, (struct str_map){at, p->n_requests});
    return out;
}

static void set_requests(struct workload_edit *e, const struct json *tree,
                         const struct queue_loader *l)
{
    const struct queue_podset_spec *podsets;
    size_t n = queue_load_requests(e->a, tree, l, &podsets);
    struct kueue_pod_set_request_list next = {
        arena_array(e->a, struct kueue_pod_set_request, n), n};

    for (size_t i = 0; i < n; i++)
        next.at[i] = request_of_podset(e->a, &podsets[i]);
    if (same_requests(&next, &e->status->resource_requests))
        return;
    SET(e->status, resource_requests, next);
    e->has_changed = true;
}

void workload_wait(struct workload_edit *e, const struct json *tree, enum queue_reason reason,
                   struct str message, bool is_gated, const struct queue_loader *l)
{
    workload_unreserve(e, queue_reason_text(reason), message);
    set_requests(e, tree, l);
    if (is_gated)
        workload_set_condition(e, S("BlockedOnPreemptionGates"), true, S("PreemptionGated"),
                               S("Workload requires preemption, but it's gated"));
}

void workload_decide(struct workload_edit *e, const struct json *tree,
                     const struct queue_decision *d, const struct queue_loader *l)
{
    e->is_coarse = !queue_gate(l->config, QUEUE_GATE_OBSERVABILITY);
    if (d->outcome == OUTCOME_ADMITTED) {
        workload_reserve(e, d->is_second_pass ? e->status->admission : admission_of(e->a, d));
        if (lists_checks(e, d))
            workload_sync_admitted(e);
        return;
    }
    if (d->is_second_pass || d->reason == QUEUE_NONE)
        return;
    workload_wait(e, tree, d->reason,
                  queue_message(e->a, d->outcome, d->causes, d->n_causes, d->n_victims),
                  d->outcome == OUTCOME_GATED, l);
}
