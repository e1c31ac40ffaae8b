/* amounts.c - requests and capacities as numbers */
#include "sched/amounts_priv.h"

#include "value/quantity.h"
#include "value/saturate.h"

void resources_init(struct resources *r)
{
    static const struct str first[] = {S_INIT("cpu"), S_INIT("memory"), S_INIT("pods")};

    *r = (struct resources){.arena = {0}};
    for (uint32_t i = 0; i < countof(first); i++) {
        vec_push(&r->names, first[i]);
        *map_put(&r->ids, first[i]) = i;
    }
}

void resources_fini(struct resources *r)
{
    map_fini(&r->ids);
    vec_fini(&r->names);
    arena_fini(&r->arena);
}

static size_t id_of(struct resources *r, struct str name)
{
    uint32_t *known = map_get(&r->ids, name);

    if (known)
        return *known;
    struct str own = str_copy(&r->arena, name);
    vec_push(&r->names, own);
    *map_put(&r->ids, own) = (uint32_t)(r->names.len - 1);
    return r->names.len - 1;
}

void amounts_fini(struct amounts *m)
{
    free(m->at);
    *m = (struct amounts){0};
}

static void reach(struct amounts *m, size_t id)
{
    if (id < m->len)
        return;
    if (id >= m->cap) {
        m->cap = MAX(id + 1, m->cap * 2);
        m->at = mem_grow(m->at, size_mul(m->cap, sizeof(*m->at)));
    }
    memset(m->at + m->len, 0, (id + 1 - m->len) * sizeof(*m->at));
    m->len = id + 1;
}

void amounts_add(struct amounts *m, size_t id, int64_t n)
{
    reach(m, id);
    m->at[id] = sat_add(m->at[id], n);
}

void amounts_add_all(struct amounts *to, const struct amounts *from, int sign)
{
    for (size_t i = 0; i < from->len; i++)
        if (from->at[i])
            amounts_add(to, i, sign * from->at[i]);
}

static void raise_to(struct amounts *to, const struct amounts *from)
{
    for (size_t i = 0; i < from->len; i++) {
        reach(to, i);
        to->at[i] = MAX(to->at[i], from->at[i]);
    }
}

static int64_t parse(size_t id, struct str text)
{
    scoped(arena_fini) struct arena a = {0};
    struct quantity q;

    if (quantity_parse(&a, text, &q, NULL) < 0)
        return 0; /* the server has refused it long ago */
    return quantity_units(&q, id == RESOURCE_CPU ? QUANTITY_MILLI : 0);
}

void amounts_of_list(struct resources *r, const struct str_map *list, struct amounts *out)
{
    out->len = 0;
    for (size_t i = 0; i < list->len; i++) {
        size_t id = id_of(r, list->at[i].key);
        amounts_add(out, id, parse(id, list->at[i].value));
    }
}

static void add_requests(struct resources *r, const struct resource_requirements *rr,
                         struct amounts *out)
{
    if (!rr)
        return;
    for (size_t i = 0; i < rr->requests.len; i++) {
        size_t id = id_of(r, rr->requests.at[i].key);
        amounts_add(out, id, parse(id, rr->requests.at[i].value));
    }
    for (size_t i = 0; i < rr->limits.len; i++) {
        if (str_map_find(&rr->requests, rr->limits.at[i].key))
            continue;
        size_t id = id_of(r, rr->limits.at[i].key);
        amounts_add(out, id, parse(id, rr->limits.at[i].value));
    }
}

/* Init containers one by one, on top of the sidecars before them. */
static void add_init(struct resources *r, const struct container_list *l,
                     struct amounts *sidecars, struct amounts *busiest)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct container *c = &l->at[i];
        if (str_eqz(c->restart_policy, "Always")) {
            add_requests(r, c->resources, sidecars);
            continue;
        }
        struct amounts one = {0};
        add_requests(r, c->resources, &one);
        amounts_add_all(&one, sidecars, 1);
        raise_to(busiest, &one);
        amounts_fini(&one);
    }
}

void amounts_of_pod(struct resources *r, const struct pod_spec *spec, struct amounts *out)
{
    struct amounts sidecars = {0}, busiest = {0}, whole = {0};

    out->len = 0;
    for (size_t i = 0; i < spec->containers.len; i++)
        add_requests(r, spec->containers.at[i].resources, out);
    add_init(r, &spec->init_containers, &sidecars, &busiest);
    amounts_add_all(out, &sidecars, 1);
    raise_to(out, &busiest);
    add_requests(r, spec->resources, &whole);
    for (size_t i = 0; i < whole.len; i++)
        if (whole.at[i]) {
            reach(out, i);
            out->at[i] = whole.at[i];
        }
    for (size_t i = 0; i < spec->overhead.len; i++) {
        size_t id = id_of(r, spec->overhead.at[i].key);
        amounts_add(out, id, parse(id, spec->overhead.at[i].value));
    }
    reach(out, RESOURCE_PODS);
    out->at[RESOURCE_PODS] = 1;
    amounts_fini(&sidecars);
    amounts_fini(&busiest);
    amounts_fini(&whole);
}
