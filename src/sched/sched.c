/* sched.c - nodes, what is used of them, and the choice */
#include "sched/sched.h"

#include "api/core_v1.h"
#include "api/resource_list.h"
#include "sched/fit_priv.h"
#include "sched/sched_priv.h"

#define SCORE_MAX 100
#define WEIGHT_TAINTS 3
#define WEIGHT_AFFINITY 2
/* What a container without a request counts as, in scores only. */
#define SCORE_CPU_MILLIS 100
#define SCORE_MEMORY (INT64_C(200) << 20)

struct sched *sched_new(void)
{
    struct sched *s = mem_zero(1, sizeof(*s));

    resources_init(&s->resources);
    return s;
}

static void free_node(struct sched_node *n)
{
    arena_fini(&n->arena);
    amounts_fini(&n->size);
    amounts_fini(&n->used);
    free(n->name);
    free(n);
}

static void free_pod(struct sched_pod *p)
{
    amounts_fini(&p->asks);
    free(p->uid);
    free(p);
}

void sched_free(struct sched *s)
{
    if (!s)
        return;
    vec_each (i, &s->nodes)
        free_node(s->nodes.at[i]);
    vec_fini(&s->nodes);
    map_fini(&s->by_name);
    map_each (i, &s->pods)
        free_pod(*map_at(&s->pods, i));
    map_fini(&s->pods);
    park_fini(s);
    resources_fini(&s->resources);
    free(s);
}

size_t sched_n_nodes(const struct sched *s)
{
    size_t n = 0;

    vec_each (i, &s->nodes)
        n += s->nodes.at[i]->is_known;
    return n;
}

static char *own(struct str s)
{
    char *z = mem_alloc(s.len + 1);

    if (s.len)
        memcpy(z, s.at, s.len);
    z[s.len] = 0;
    return z;
}

/* ---- nodes ---- */

static struct sched_node *get_node(struct sched *s, struct str name)
{
    struct sched_node **known = map_get(&s->by_name, name);
    size_t from = 0, to = s->nodes.len;

    if (known)
        return *known;
    struct sched_node *n = mem_zero(1, sizeof(*n));
    n->name = own(name);
    *map_put(&s->by_name, str_from(n->name)) = n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (str_cmp(str_from(s->nodes.at[mid]->name), name) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    vec_insert(&s->nodes, from, n);
    return n;
}

static void drop_node(struct sched *s, struct sched_node *n)
{
    vec_each (i, &s->nodes)
        if (s->nodes.at[i] == n) {
            vec_remove(&s->nodes, i);
            break;
        }
    map_del(&s->by_name, str_from(n->name));
    free_node(n);
}

static bool is_not_ready(const struct node_status *st)
{
    for (size_t i = 0; st && i < st->conditions.len; i++)
        if (str_eqz(st->conditions.at[i].type, "Ready"))
            return !str_eqz(st->conditions.at[i].status, "True");
    return false;
}

static void copy_node(struct sched_node *n, const struct node *node)
{
    const struct str_map *labels = &node->metadata->labels;
    struct arena *a = &n->arena;

    arena_reset(a);
    n->labels.at = arena_array(a, struct str_entry, labels->len + 1);
    n->labels.len = labels->len;
    for (size_t i = 0; i < labels->len; i++)
        n->labels.at[i] = (struct str_entry){str_copy(a, labels->at[i].key),
                                             str_copy(a, labels->at[i].value)};
    n->taints = (struct taint_list){0};
    n->is_unschedulable = node->spec && node->spec->unschedulable;
    if (!node->spec)
        return;
    const struct taint_list *taints = &node->spec->taints;
    n->taints.at = arena_array(a, struct taint, taints->len + 1);
    n->taints.len = taints->len;
    for (size_t i = 0; i < taints->len; i++)
        n->taints.at[i] = (struct taint){.key = str_copy(a, taints->at[i].key),
                                         .value = str_copy(a, taints->at[i].value),
                                         .effect = str_copy(a, taints->at[i].effect)};
}

void sched_set_node(struct sched *s, const struct node *node)
{
    static const struct str_map none = {0};
    struct sched_node *n = get_node(s, node->metadata->name);
    const struct node_status *st = node->status;

    n->is_known = true;
    n->points_for = 0;
    copy_node(n, node);
    n->is_not_ready = is_not_ready(st);
    amounts_of_list(&s->resources,
                    !st                   ? &none
                    : st->allocatable.len ? &st->allocatable
                                          : &st->capacity,
                    &n->size);
}

void sched_remove_node(struct sched *s, struct str name)
{
    struct sched_node **n = map_get(&s->by_name, name);

    if (!n)
        return;
    (*n)->is_known = false;
    if ((*n)->n_pods == 0)
        drop_node(s, *n);
}

/* ---- pods ---- */

static void count(struct sched_pod *p, int sign)
{
    struct sched_node *n = p->node;

    n->points_for = 0;
    amounts_add_all(&n->used, &p->asks, sign);
    n->scored_cpu += sign * p->scored_cpu;
    n->scored_memory += sign * p->scored_memory;
    n->n_pods += (size_t)sign;
}

static void score_asks(const struct pod_spec *spec, const struct amounts *asks, int64_t *cpu,
                       int64_t *memory)
{
    *cpu = amounts_get(asks, RESOURCE_CPU);
    *memory = amounts_get(asks, RESOURCE_MEMORY);
    for (size_t i = 0; i < spec->containers.len; i++) {
        const struct resource_requirements *rr = spec->containers.at[i].resources;
        if (!rr ||
            (!str_map_find(&rr->requests, S("cpu")) && !str_map_find(&rr->limits, S("cpu"))))
            *cpu += SCORE_CPU_MILLIS;
        if (!rr || (!str_map_find(&rr->requests, S("memory")) &&
                    !str_map_find(&rr->limits, S("memory"))))
            *memory += SCORE_MEMORY;
    }
}

static void place(struct sched *s, const struct pod *pod, struct str node, bool is_assumed)
{
    struct str uid = pod->metadata->uid;
    struct sched_pod **known = map_get(&s->pods, uid);
    struct sched_pod *p = known ? *known : NULL;

    if (p && str_eqz(node, p->node->name)) {
        p->is_assumed = p->is_assumed && is_assumed;
        return; /* requests of a bound pod do not change */
    }
    if (p)
        sched_remove_pod(s, uid);
    p = mem_zero(1, sizeof(*p));
    p->uid = own(uid);
    p->node = get_node(s, node);
    p->is_assumed = is_assumed;
    amounts_of_pod(&s->resources, pod->spec, &p->asks);
    score_asks(pod->spec, &p->asks, &p->scored_cpu, &p->scored_memory);
    *map_put(&s->pods, str_from(p->uid)) = p;
    count(p, 1);
}

void sched_set_pod(struct sched *s, const struct pod *pod)
{
    struct sched_pod **p = map_get(&s->pods, pod->metadata->uid);
    struct str phase = pod->status ? pod->status->phase : (struct str){0};

    if (str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed"))
        sched_remove_pod(s, pod->metadata->uid);
    else if (pod->spec->node_name.len)
        place(s, pod, pod->spec->node_name, false);
    else if (p && !(*p)->is_assumed)
        sched_remove_pod(s, pod->metadata->uid);
}

void sched_remove_pod(struct sched *s, struct str uid)
{
    struct sched_pod **known = map_get(&s->pods, uid);

    if (!known)
        return;
    struct sched_pod *p = *known;
    map_del(&s->pods, uid);
    count(p, -1);
    if (!p->node->is_known && p->node->n_pods == 0)
        drop_node(s, p->node);
    free_pod(p);
}

void sched_assume(struct sched *s, const struct pod *pod, struct str node)
{
    place(s, pod, node, true);
}

bool sched_confirm(struct sched *s, struct str uid, struct str node)
{
    struct sched_pod **p = map_get(&s->pods, uid);

    if (!p || !str_eqz(node, (*p)->node->name))
        return false;
    (*p)->is_assumed = false;
    return true;
}

bool sched_has_pod(const struct sched *s, struct str uid)
{
    return map_get(&s->pods, uid) != NULL;
}

/* ---- the choice ---- */

struct candidate {
    struct sched_node *node;
    int64_t preference, soft_taints;
};

struct choosing {
    const struct sched *s;
    struct arena *arena;
    const struct pod *pod;
    struct amounts asks;
    int64_t scored_cpu, scored_memory;
    bool has_wishes; /* of nodes: a selector, or an affinity */
    bool is_plain;   /* it asks for what s->asked holds, and nothing else */
    VEC(struct sched_reason) reasons;
    VEC(struct candidate) fit;
    size_t n_nodes;
    sched_allow_fn *allow;
    void *ctx;
};

static struct sched_reason *reason(struct choosing *c, const char *code, struct str text)
{
    vec_each (i, &c->reasons)
        if (str_eq(c->reasons.at[i].text, text)) {
            c->reasons.at[i].n_nodes++;
            return &c->reasons.at[i];
        }
    vec_push_in(c->arena, &c->reasons,
                (struct sched_reason){
                    .code = code, .text = text, .n_nodes = 1, .best_free = INT64_MIN});
    return &vec_last(&c->reasons);
}

/* All shortages are told, not only the first. */
static bool has_room(struct choosing *c, const struct sched_node *n)
{
    bool fits = true;

    if (c->is_plain && n->points_for == c->s->asker)
        return true; /* as when its points were counted, and it is what it was */
    for (size_t id = 0; id < c->asks.len; id++) {
        int64_t asked = c->asks.at[id];
        int64_t free = amounts_get(&n->size, id) - amounts_get(&n->used, id);
        if (asked == 0 || asked <= free)
            continue;
        struct str name = c->s->resources.names.at[id];
        struct str text = id == RESOURCE_PODS
                              ? S("Too many pods")
                              : str_printf(c->arena, "Insufficient %.*s", STR_ARG(name));
        struct sched_reason *r = reason(c, "NodeResourcesFit", text);
        r->resource = name;
        r->asked = asked;
        if (free > r->best_free) {
            r->best_free = free;
            r->best_size = amounts_get(&n->size, id);
            r->best_node = str_from(n->name);
        }
        fits = false;
    }
    return fits;
}

static bool fits(struct choosing *c, const struct sched_node *n)
{
    const struct pod_spec *spec = c->pod->spec;
    const struct taint *taint;
    struct str why;

    if (n->is_unschedulable && fit_cordoned(true, &spec->tolerations)) {
        reason(c, "NodeUnschedulable", S("node(s) were unschedulable"));
    } else if (n->is_not_ready) {
        reason(c, "NodeNotReady", S("node(s) were not ready"));
    } else if (n->taints.len &&
               (taint = fit_untolerated(&n->taints, &spec->tolerations)) != NULL) {
        reason(c, "TaintToleration",
               str_printf(c->arena, "node(s) had untolerated taint {%.*s: %.*s}",
                          STR_ARG(taint->key), STR_ARG(taint->value)));
    } else if (c->has_wishes && !fit_selected(spec, str_from(n->name), &n->labels)) {
        reason(c, "NodeAffinity", S("node(s) didn't match Pod's node affinity/selector"));
    } else if (has_room(c, n)) {
        if (!c->allow || c->allow(c->ctx, str_from(n->name), &why))
            return true;
        reason(c, "Claims", str_copy(c->arena, why));
    }
    return false;
}

static bool has_wishes(const struct pod *pod)
{
    return pod->spec->node_selector.len || pod->spec->affinity;
}

bool sched_fits_node(struct sched *s, const struct pod *pod, struct str node)
{
    scoped(arena_fini) struct arena a = {0};
    struct choosing c = {.s = s, .arena = &a, .pod = pod, .has_wishes = has_wishes(pod)};
    struct sched_node **n = map_get(&s->by_name, node);

    if (!n || !(*n)->is_known)
        return false;
    amounts_of_pod(&s->resources, pod->spec, &c.asks);
    bool yes = fits(&c, *n);
    amounts_fini(&c.asks);
    return yes;
}

/* 0..100: how much of it stays free. */
static int64_t least_allocated(int64_t size, int64_t used)
{
    return size <= 0 || used > size ? 0 : (size - used) * SCORE_MAX / size;
}

static int64_t balance(const struct sched_node *n, int64_t cpu, int64_t memory)
{
    int64_t size_cpu = amounts_get(&n->size, RESOURCE_CPU);
    int64_t size_memory = amounts_get(&n->size, RESOURCE_MEMORY);

    if (size_cpu <= 0 || size_memory <= 0)
        return 0;
    double x = MIN((double)cpu / (double)size_cpu, 1.0);
    double y = MIN((double)memory / (double)size_memory, 1.0);
    double off = x > y ? (x - y) / 2 : (y - x) / 2;
    return (int64_t)((1 - off) * SCORE_MAX);
}

static int64_t points_of(const struct choosing *c, const struct sched_node *n)
{
    int64_t cpu = n->scored_cpu + c->scored_cpu, memory = n->scored_memory + c->scored_memory;
    int64_t sum = (least_allocated(amounts_get(&n->size, RESOURCE_CPU), cpu) +
                   least_allocated(amounts_get(&n->size, RESOURCE_MEMORY), memory)) /
                  2;

    return sum +
           balance(n, amounts_get(&n->used, RESOURCE_CPU) + amounts_get(&c->asks, RESOURCE_CPU),
                   amounts_get(&n->used, RESOURCE_MEMORY) +
                       amounts_get(&c->asks, RESOURCE_MEMORY));
}

static int64_t score(const struct choosing *c, const struct candidate *k,
                     int64_t max_preference, int64_t max_soft)
{
    struct sched_node *n = k->node;

    if (n->points_for != c->s->asker) {
        n->points = points_of(c, n);
        n->points_for = c->s->asker;
    }
    int64_t sum = n->points;
    if (max_preference > 0)
        sum += WEIGHT_AFFINITY * (k->preference * SCORE_MAX / max_preference);
    sum += WEIGHT_TAINTS *
           (max_soft > 0 ? SCORE_MAX - k->soft_taints * SCORE_MAX / max_soft : SCORE_MAX);
    return sum;
}

static const struct sched_node *best(const struct choosing *c)
{
    int64_t max_preference = 0, max_soft = 0, most = -1;
    const struct sched_node *winner = NULL;

    vec_each (i, &c->fit) {
        max_preference = MAX(max_preference, c->fit.at[i].preference);
        max_soft = MAX(max_soft, c->fit.at[i].soft_taints);
    }
    vec_each (i, &c->fit) {
        int64_t points = score(c, &c->fit.at[i], max_preference, max_soft);
        if (points > most) {
            most = points;
            winner = c->fit.at[i].node;
        }
    }
    return winner;
}

static int by_text(const struct sched_reason *x, const struct sched_reason *y)
{
    return str_cmp(x->text, y->text);
}

/* As upstream sorts: by "<count> <text>" as strings. */
static int by_line(const struct str *x, const struct str *y)
{
    return str_cmp(*x, *y);
}

static struct str say(struct choosing *c)
{
    struct buf out = buf_in(c->arena, 256);
    VEC(struct str) lines = {0};

    if (c->n_nodes == 0)
        return S("no nodes available to schedule pods");
    vec_each (i, &c->reasons) {
        const struct sched_reason *r = &c->reasons.at[i];
        vec_push_in(c->arena, &lines,
                    str_printf(c->arena, "%zu %.*s", r->n_nodes, STR_ARG(r->text)));
    }
    vec_sort(&lines, by_line);
    buf_printf(&out, "0/%zu nodes are available: ", c->n_nodes);
    vec_each (i, &lines)
        buf_printf(&out, "%s%.*s", i ? ", " : "", STR_ARG(lines.at[i]));
    buf_add(&out, S("."));
    vec_each (i, &c->reasons) {
        const struct sched_reason *r = &c->reasons.at[i];
        if (!r->resource.len)
            continue;
        buf_printf(
            &out, " %.*s: %.*s asked, at most %.*s of %.*s free (node %.*s).",
            STR_ARG(r->resource), STR_ARG(resource_units_text(c->arena, r->resource, r->asked)),
            STR_ARG(resource_units_text(c->arena, r->resource, MAX(r->best_free, INT64_C(0)))),
            STR_ARG(resource_units_text(c->arena, r->resource, r->best_size)),
            STR_ARG(r->best_node));
    }
    return buf_str(&out);
}

static struct candidate candidate(const struct choosing *c, struct sched_node *n)
{
    const struct pod_spec *spec = c->pod->spec;
    struct candidate k = {.node = n};

    if (c->has_wishes)
        k.preference = fit_preference(spec, str_from(n->name), &n->labels);
    if (n->taints.len)
        k.soft_taints = (int64_t)fit_soft_taints(&n->taints, &spec->tolerations);
    return k;
}

/* Does it ask for what the last one asked for? */
static void note_asker(struct sched *s, const struct choosing *c)
{
    const int64_t asked[] = {c->scored_cpu, c->scored_memory,
                             amounts_get(&c->asks, RESOURCE_CPU),
                             amounts_get(&c->asks, RESOURCE_MEMORY)};

    _Static_assert(sizeof(asked) == sizeof(s->asked), "one number each");
    if (s->asker && memcmp(asked, s->asked, sizeof(asked)) == 0)
        return;
    memcpy(s->asked, asked, sizeof(asked));
    s->asker++;
}

static bool is_plain(const struct amounts *asks)
{
    for (size_t id = RESOURCE_FIRST_OTHER; id < asks->len; id++)
        if (asks->at[id])
            return false;
    return true;
}

struct sched_choice sched_choose(struct sched *s, struct arena *a, const struct pod *pod,
                                 sched_allow_fn *allow, void *ctx)
{
    struct choosing c = {.s = s,
                         .arena = a,
                         .pod = pod,
                         .has_wishes = has_wishes(pod),
                         .allow = allow,
                         .ctx = ctx};

    amounts_of_pod(&s->resources, pod->spec, &c.asks);
    score_asks(pod->spec, &c.asks, &c.scored_cpu, &c.scored_memory);
    note_asker(s, &c);
    c.is_plain = is_plain(&c.asks);
    c.fit.at = arena_raw(a, s->nodes.len * sizeof(*c.fit.at) + 1, _Alignof(struct candidate));
    c.fit.cap = s->nodes.len;
    vec_each (i, &s->nodes) {
        struct sched_node *n = s->nodes.at[i];
        if (!n->is_known)
            continue;
        c.n_nodes++;
        if (fits(&c, n))
            c.fit.at[c.fit.len++] = candidate(&c, n);
    }
    vec_sort(&c.reasons, by_text);
    const struct sched_node *n = best(&c);
    struct sched_choice out = {.node = n ? str_from(n->name) : (struct str){0},
                               .n_nodes = c.n_nodes,
                               .n_fit = c.fit.len,
                               .reasons = c.reasons.at,
                               .n_reasons = c.reasons.len};
    if (!n)
        out.message = say(&c);
    amounts_fini(&c.asks);
    return out;
}
