/* engine.c - the engine as a whole: made, woken, freed */
#include "queue/engine_priv.h"

/* ---- configuration ---- */

struct queue_config queue_config_default(void)
{
    return (struct queue_config){.gates = QUEUE_GATES_DEFAULT};
}

bool queue_gate(const struct queue_config *c, enum queue_gate g)
{
    return c->gates >> g & 1;
}

bool queue_config_gate(struct queue_config *c, struct str name, bool on)
{
    static const struct str names[] = {
#define GATE_NAME(id, text, on) S_INIT(text),
        QUEUE_GATES(GATE_NAME)
#undef GATE_NAME
    };

    for (size_t i = 0; i < countof(names); i++)
        if (str_eq(names[i], name)) {
            c->gates = on ? c->gates | 1u << i : c->gates & ~(1u << i);
            return true;
        }
    return false;
}

/* ---- life ---- */

struct queue_engine *queue_new(const struct queue_config *config)
{
    struct queue_engine *e = mem_zero(1, sizeof(*e));
    struct queue_weight *weights;

    e->config = *config;
    e->arena = arena_sized(4096);
    e->scratch = arena_sized(64 << 10);
    weights = arena_array(&e->arena, struct queue_weight, config->n_afs_weights);
    for (size_t i = 0; i < config->n_afs_weights; i++)
        weights[i] = (struct queue_weight){str_copy(&e->arena, config->afs_weights[i].resource),
                                           config->afs_weights[i].weight};
    e->config.afs_weights = weights;
    return e;
}

static void free_workloads(struct queue_engine *e)
{
    struct slab *s = e->slabs, *next;

    for (uint32_t i = 0; i < e->n_table; i++)
        for (struct queue_wl *wl = e->table[i]; wl; wl = wl->next)
            wl_extra_free(wl);
    for (; s; s = next) {
        next = *(struct slab **)(void *)s; /* its first member */
        free(s);
    }
    free(e->table);
}

static void free_queues(struct queue_engine *e)
{
    map_each (i, &e->groups) {
        struct queue_group *g = *map_at(&e->groups, i);
        free(g->heaps[0].at);
        free(g->heaps[1].at);
        free(g);
    }
    map_each (i, &e->shapes) {
        arena_fini(&(*map_at(&e->shapes, i))->arena);
        free(*map_at(&e->shapes, i));
    }
    map_each (i, &e->lqs) {
        struct queue_lq *lq = *map_at(&e->lqs, i);
        vec_fini(&lq->groups);
        vec_fini(&lq->reserved);
        vec_fini(&lq->admitted);
        afs_ledger_fini(&lq->ledger);
        free(lq);
    }
    map_each (i, &e->cqs) {
        struct queue_cq *cq = *map_at(&e->cqs, i);
        quota_node_fini(&cq->node);
        arena_fini(&cq->arena);
        vec_fini(&cq->holders);
        vec_fini(&cq->ranks);
        vec_fini(&cq->admitted);
        vec_fini(&cq->lqs);
        vec_fini(&cq->heap);
        vec_fini(&cq->parked);
        free(cq->bulk.at);
        free(cq);
    }
}

static void free_objects(struct queue_engine *e)
{
    map_each (i, &e->cohorts) {
        quota_node_fini(&(*map_at(&e->cohorts, i))->node);
        free(*map_at(&e->cohorts, i));
    }
    map_each (i, &e->checks) {
        arena_fini(&(*map_at(&e->checks, i))->arena);
        free(*map_at(&e->checks, i));
    }
    map_each (i, &e->topologies) {
        arena_fini(&(*map_at(&e->topologies, i))->arena);
        free(*map_at(&e->topologies, i));
    }
    map_each (i, &e->namespaces) {
        arena_fini(&(*map_at(&e->namespaces, i))->arena);
        free(*map_at(&e->namespaces, i));
    }
    vec_each (i, &e->flavors)
        if (e->flavors.at[i]) {
            arena_fini(&e->flavors.at[i]->arena);
            free(e->flavors.at[i]);
        }
    vec_fini(&e->flavors);
}

void queue_free(struct queue_engine *e)
{
    if (!e)
        return;
    free_workloads(e);
    free_queues(e);
    free_objects(e);
    map_fini(&e->checks);
    map_fini(&e->topologies);
    map_fini(&e->namespaces);
    map_fini(&e->cohorts);
    map_fini(&e->cqs);
    map_fini(&e->lqs);
    map_fini(&e->shapes);
    map_fini(&e->groups);
    intern_fini(&e->flavor_names);
    intern_fini(&e->resources);
    vec_fini(&e->ready);
    vec_fini(&e->flushes);
    vec_fini(&e->lenders);
    vec_fini(&e->retries);
    vec_fini(&e->second_pass);
    vec_fini(&e->log.entries);
    arena_fini(&e->scratch);
    arena_fini(&e->arena);
    free(e);
}

/* ---- what changed ---- */

void engine_change_all(struct queue_engine *e)
{
    e->changes_all = ++e->changes;
    for (size_t i = 0; e->n_resting && i < map_len(&e->cqs); i++) {
        struct queue_cq *cq = *map_at(&e->cqs, i);
        if (cq->rests_in)
            cq_ready(e, cq);
    }
}

void engine_change(struct queue_engine *e, struct queue_cq *cq)
{
    struct quota_node *root = quota_root(&cq->node);

    if (!root || e->config.block_admission) {
        engine_change_all(e);
        return;
    }
    root->changes = ++e->changes;
    if (root->resting.len)
        cq_ready(e, container_of(root->resting.at[0], struct queue_cq, node));
}

/* A slice or a variant depends on another workload, wherever that is. */
static bool looks_beyond(const struct queue_wl *wl)
{
    struct wl_texts t = wl ? wl_texts(wl) : (struct wl_texts){0};

    return t.replaces.len || t.parent.len;
}

uint64_t engine_changes(const struct queue_engine *e, const struct queue_cq *cq,
                        const struct queue_wl *head)
{
    const struct quota_node *root = quota_root(&cq->node);

    if (!root || looks_beyond(head))
        return e->changes;
    return MAX(e->changes_all, root->changes);
}

/* ---- waking ---- */

static struct queue_cq *first_leaf(struct quota_node *n)
{
    for (int depth = 0; n && depth < QUOTA_MAX_DEPTH; depth++) {
        if (n->is_leaf)
            return container_of(n, struct queue_cq, node);
        struct quota_node *next = NULL;
        vec_each (i, &n->children) {
            if (n->children.at[i]->is_leaf)
                return container_of(n->children.at[i], struct queue_cq, node);
            next = n->children.at[i];
        }
        n = next;
    }
    return NULL;
}

void engine_want_flush(struct queue_engine *e, struct quota_node *n)
{
    struct quota_node *root = quota_root(n);
    struct queue_cq *cq = first_leaf(n->is_leaf || !root ? n : root);

    if (!cq || cq->wants_flush)
        return;
    cq->wants_flush = true;
    vec_push(&e->flushes, cq);
}

void engine_freed(struct queue_engine *e, struct queue_cq *cq)
{
    cq->has_freed = true;
    if (cq->is_lender)
        return;
    cq->is_lender = true;
    vec_push(&e->lenders, cq);
}

/* One flush a tree and stamp. */
static void flush_tree(struct queue_engine *e, struct queue_cq *cq, uint64_t stamp,
                       struct instant now)
{
    struct quota_node *root = quota_root(&cq->node);

    if (!root || root->stamp == stamp)
        return;
    root->stamp = stamp;
    pending_flush_node(e, root, now);
}

static bool owns_more(const struct queue_cq *cq)
{
    for (size_t i = 0; i < cq->n_frs; i++)
        if (quota_usage(&cq->node, cq->frs[i]) < quota_nominal(&cq->node, cq->frs[i]))
            return true;
    return false;
}

/* Is it to be asked once more before the others of its tree are woken? */
static bool goes_first(struct queue_engine *e, struct queue_cq *cq, struct instant now)
{
    if (!cq_gives_heads(cq) || !cq->node.parent || !owns_more(cq))
        return false;
    if (cq->has_freed && (pending_flush(e, cq, now) || cq->spec.is_strict))
        cq->turn_cycle = e->cycle;
    cq->has_freed = false;
    return cq->heap.len && cq->turn_cycle == e->cycle;
}

void engine_flush(struct queue_engine *e, struct instant now)
{
    uint64_t stamp = ++e->stamp;
    size_t kept = 0;

    vec_each (i, &e->flushes) {
        struct queue_cq *cq = e->flushes.at[i];
        cq->wants_flush = false;
        flush_tree(e, cq, stamp, now);
    }
    vec_clear(&e->flushes);
    vec_each (i, &e->lenders)
        if (!goes_first(e, e->lenders.at[i], now))
            flush_tree(e, e->lenders.at[i], stamp, now);
    vec_each (i, &e->lenders) { /* whose tree is awake goes first no more */
        struct queue_cq *cq = e->lenders.at[i];
        const struct quota_node *root = quota_root(&cq->node);
        cq->is_lender = root && root->stamp != stamp;
        if (cq->is_lender)
            e->lenders.at[kept++] = cq;
    }
    e->lenders.len = kept;
}

/* Nobody who goes first has anything to be judged: the others are woken. False where nobody
 * was waited for. */
static bool flush_others(struct queue_engine *e, struct instant now)
{
    if (!e->lenders.len)
        return false;
    vec_each (i, &e->lenders) {
        e->lenders.at[i]->is_lender = false;
        engine_want_flush(e, &e->lenders.at[i]->node);
    }
    vec_clear(&e->lenders);
    engine_flush(e, now);
    return true;
}

void queue_wake(struct queue_engine *e, struct str name, struct instant now)
{
    struct queue_cq *cq = cq_find(e, name);

    if (cq && pending_flush_node(e, &cq->node, now))
        engine_change(e, cq);
}

/* Whole scans that are owed, once there is nothing else to do; one for a state of things. */
static bool retry(struct queue_engine *e, struct instant now)
{
    size_t moved = 0;

    vec_each (i, &e->retries) {
        struct queue_cq *cq = e->retries.at[i];
        cq->owes_scan = false;
        uint64_t changes = engine_changes(e, cq, NULL);
        if (!cq->is_active || cq->retried_changes == changes)
            continue;
        cq->retried_changes = changes;
        moved += pending_flush(e, cq, now);
    }
    vec_clear(&e->retries);
    return moved > 0;
}

static const struct queue_wl *head_of(const struct queue_cq *cq)
{
    const struct queue_group *top = cq->heap.at[0];
    return top->heaps[top->active].at[0];
}

/* Is its head to be judged, as things have changed since it was? */
static bool is_due(const struct queue_engine *e, const struct queue_cq *cq)
{
    const struct queue_wl *head = head_of(cq);

    return cq->is_active && (cq->has_more || cq->judged != head ||
                             (cq->has_lost && cq->judged_events != e->events) ||
                             cq->judged_changes != engine_changes(e, cq, head));
}

/* A tree's queues rest together: who waits for its victims keeps their room from the others in
 * each cycle that looks at any of them. True where some have to be looked at. */
static bool has_due(struct queue_engine *e)
{
    uint64_t stamp = ++e->stamp;
    bool has_due = false;

    vec_each (i, &e->ready) {
        struct queue_cq *cq = e->ready.at[i];
        struct quota_node *root = quota_root(&cq->node);
        bool due = is_due(e, cq);
        has_due |= due;
        if (root && (due || looks_beyond(head_of(cq))))
            root->stamp = stamp;
    }
    for (size_t i = e->ready.len; i-- > 0;) {
        struct queue_cq *cq = e->ready.at[i];
        const struct quota_node *root = quota_root(&cq->node);
        if (root && root->stamp != stamp && !e->config.block_admission)
            cq_rest(e, cq);
    }
    return has_due;
}

bool queue_has_heads(struct queue_engine *e, struct instant now, struct instant *next)
{
    *next = (struct instant){0};
    engine_flush(e, now);
    vec_each (i, &e->second_pass) {
        struct instant due = e->second_pass.at[i]->extra->due;
        if (!instant_before(now, due))
            return true;
        if (!next->ns || instant_before(due, *next))
            *next = due;
    }
    return has_due(e) || (flush_others(e, now) && has_due(e)) || retry(e, now);
}
