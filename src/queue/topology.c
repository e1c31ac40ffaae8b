/* topology.c - where topology-aware scheduling takes part in flavor assignment */
#include "queue/topology_priv.h"

bool topology_only(const struct queue_engine *e, const struct queue_cq *cq)
{
    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t i = 0; i < cq->groups[g].n_flavors; i++)
            if (!e->flavors.at[cq->groups[g].flavors[i]]->spec.topology.len)
                return false;
    return cq->n_groups > 0;
}

static bool touches_group(const struct queue_engine *e, const struct shape_podset *ps,
                          const struct cq_group *group)
{
    for (size_t i = 0; i < ps->spec.n_raw_resources; i++)
        for (size_t k = 0; k < group->n_resources; k++)
            if (str_eq(ps->spec.raw_resources[i],
                       intern_name(&e->resources, group->resources[k])))
                return true;
    return false;
}

static bool has_level(const struct queue_topology *t, struct str level)
{
    for (size_t i = 0; i < t->n_levels; i++)
        if (str_eq(t->levels[i], level))
            return true;
    return level.len == 0;
}

bool topology_accepts(const struct assign_input *in, const struct shape_podset *ps,
                      const struct cq_group *group, const struct queue_flavor *f,
                      enum queue_cause_code *code)
{
    const struct queue_topology_request *r = &ps->spec.topology;

    if (!r->is_explicit) {
        *code = CAUSE_TOPOLOGY_ONLY;
        return !f->spec.topology.len || topology_only(in->e, in->cq);
    }
    if (!f->spec.topology.len) {
        *code = CAUSE_TOPOLOGY_UNSUPPORTED;
        return !touches_group(in->e, ps, group);
    }
    struct queue_topology **t = map_get(&in->e->topologies, f->spec.topology);
    if (!t || !(*t)->exists) {
        *code = CAUSE_TOPOLOGY_MISSING;
        return false;
    }
    *code = CAUSE_TOPOLOGY_LEVEL;
    return has_level(*t, r->level) && has_level(*t, r->slice_level);
}

/* The topology flavors among the podset's; *second where there are two. */
static uint16_t topology_flavor(const struct queue_engine *e, const struct assigned_podset *ps,
                                uint16_t *second)
{
    uint16_t first = *second = INTERN_NONE;

    for (size_t i = 0; i < ps->n_flavors; i++) {
        uint16_t f = ps->flavors[i].flavor;
        if (!e->flavors.at[f]->spec.topology.len || f == first)
            continue;
        if (first == INTERN_NONE)
            first = f;
        else
            *second = f;
    }
    return first;
}

static bool has_topology_flavor(const struct queue_engine *e, const struct queue_cq *cq)
{
    for (size_t g = 0; g < cq->n_groups; g++)
        for (size_t i = 0; i < cq->groups[g].n_flavors; i++)
            if (e->flavors.at[cq->groups[g].flavors[i]]->spec.topology.len)
                return true;
    return false;
}

/* Why no place can be looked for, or NULL. */
static const char *request_error(const struct assign_input *in,
                                 const struct assigned_podset *ps)
{
    uint16_t second, first = topology_flavor(in->e, ps, &second);
    struct str x = intern_name(&in->e->flavor_names, first);
    struct str y = intern_name(&in->e->flavor_names, second);

    if (!has_topology_flavor(in->e, in->cq))
        return "workload requires Topology, but there is no TAS cache information";
    if (first == INTERN_NONE)
        return "no TAS flavor assigned";
    if (second == INTERN_NONE)
        return NULL;
    bool in_order = str_cmp(x, y) < 0;
    struct str text = str_printf(in->a, "more than one TAS flavor assigned: %.*s, %.*s",
                                 STR_ARG(in_order ? x : y), STR_ARG(in_order ? y : x));
    return str_z(in->a, text);
}

void topology_assign(const struct assign_input *in, struct assignment *as)
{
    bool is_implied = topology_only(in->e, in->cq);

    for (size_t i = 0; i < as->n_podsets; i++) {
        struct assigned_podset *ps = &as->podsets[i];
        const struct queue_topology_request *r = &in->shape->podsets[i].spec.topology;
        if (ps->error || !ps->count || !(r->is_explicit || is_implied))
            continue;
        ps->error = request_error(in, ps);
        if (ps->error)
            ps->mode = MODE_NO_FIT;
    }
}
