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

void topology_assign(const struct assign_input *in, struct assignment *as)
{
    for (size_t i = 0; i < as->n_podsets; i++) {
        struct assigned_podset *ps = &as->podsets[i];
        const struct queue_topology_request *r = &in->shape->podsets[i].spec.topology;
        bool has_topology = false;
        for (size_t k = 0; k < ps->n_flavors; k++)
            has_topology |= in->e->flavors.at[ps->flavors[k].flavor]->spec.topology.len > 0;
        if (r->is_explicit && ps->count && !has_topology) {
            ps->error = "workload requires Topology, but there is no TAS cache information";
            ps->mode = MODE_NO_FIT;
        }
    }
}
