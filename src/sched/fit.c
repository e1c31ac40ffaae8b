/* fit.c - taints, tolerations, node selectors and affinity */
#include "sched/fit_priv.h"

#include "sched/sched.h"

static bool compare_numbers(struct str op, struct str taint, struct str toleration)
{
    int64_t x, y;

    if (!str_to_i64(taint, &x) || !str_to_i64(toleration, &y))
        return false;
    return str_eqz(op, "Lt") ? x < y : x > y;
}

static bool tolerates(const struct toleration *t, const struct taint *taint)
{
    if (t->effect.len && !str_eq(t->effect, taint->effect))
        return false;
    if (t->key.len && !str_eq(t->key, taint->key))
        return false;
    if (str_eqz(t->operator, "Exists"))
        return true;
    if (!t->key.len)
        return false;
    if (str_eqz(t->operator, "Lt") || str_eqz(t->operator, "Gt"))
        return compare_numbers(t->operator, taint->value, t->value);
    return str_eq(t->value, taint->value);
}

static bool is_tolerated(const struct toleration_list *l, const struct taint *taint)
{
    for (size_t i = 0; i < l->len; i++)
        if (tolerates(&l->at[i], taint))
            return true;
    return false;
}

const struct taint *fit_untolerated(const struct taint_list *taints,
                                    const struct toleration_list *tolerations)
{
    for (size_t i = 0; i < taints->len; i++) {
        const struct taint *t = &taints->at[i];
        if (!str_eqz(t->effect, "PreferNoSchedule") && !is_tolerated(tolerations, t))
            return t;
    }
    return NULL;
}

size_t fit_soft_taints(const struct taint_list *taints,
                       const struct toleration_list *tolerations)
{
    size_t n = 0;

    for (size_t i = 0; i < taints->len; i++)
        n += str_eqz(taints->at[i].effect, "PreferNoSchedule") &&
             !is_tolerated(tolerations, &taints->at[i]);
    return n;
}

bool fit_cordoned(bool unschedulable, const struct toleration_list *tolerations)
{
    const struct taint cordon = {.key = S("node.kubernetes.io/unschedulable"),
                                 .effect = S("NoSchedule")};

    return unschedulable && !is_tolerated(tolerations, &cordon);
}

/* One requirement on a value that may be absent (NULL). */
static bool holds(const struct node_selector_requirement *r, const struct str *value)
{
    int64_t x, y;

    if (str_eqz(r->operator, "In"))
        return value && str_list_has(&r->values, *value);
    if (str_eqz(r->operator, "NotIn"))
        return !value || !str_list_has(&r->values, *value);
    if (str_eqz(r->operator, "Exists"))
        return value != NULL;
    if (str_eqz(r->operator, "DoesNotExist"))
        return value == NULL;
    if (!value || r->values.len != 1 || !str_to_i64(*value, &x) ||
        !str_to_i64(r->values.at[0], &y))
        return false;
    return str_eqz(r->operator, "Gt") ? x > y : str_eqz(r->operator, "Lt") && x < y;
}

static bool term_matches(const struct node_selector_term *t, struct str node,
                         const struct str_map *labels)
{
    if (!t->match_expressions.len && !t->match_fields.len)
        return false;
    for (size_t i = 0; i < t->match_expressions.len; i++) {
        const struct node_selector_requirement *r = &t->match_expressions.at[i];
        if (!holds(r, str_map_find(labels, r->key)))
            return false;
    }
    for (size_t i = 0; i < t->match_fields.len; i++) {
        const struct node_selector_requirement *r = &t->match_fields.at[i];
        if (!holds(r, str_eqz(r->key, "metadata.name") ? &node : NULL))
            return false;
    }
    return true;
}

bool fit_selected(const struct pod_spec *spec, struct str node, const struct str_map *labels)
{
    for (size_t i = 0; i < spec->node_selector.len; i++) {
        const struct str *value = str_map_find(labels, spec->node_selector.at[i].key);
        if (!value || !str_eq(*value, spec->node_selector.at[i].value))
            return false;
    }
    if (!spec->affinity || !spec->affinity->node_affinity)
        return true;
    const struct node_selector *required =
        spec->affinity->node_affinity->required_during_scheduling_ignored_during_execution;
    if (!required)
        return true;
    for (size_t i = 0; i < required->node_selector_terms.len; i++)
        if (term_matches(&required->node_selector_terms.at[i], node, labels))
            return true;
    return false;
}

int64_t fit_preference(const struct pod_spec *spec, struct str node,
                       const struct str_map *labels)
{
    int64_t sum = 0;

    if (!spec->affinity || !spec->affinity->node_affinity)
        return 0;
    const struct preferred_scheduling_term_list *l =
        &spec->affinity->node_affinity->preferred_during_scheduling_ignored_during_execution;
    for (size_t i = 0; i < l->len; i++)
        if (l->at[i].preference && term_matches(l->at[i].preference, node, labels))
            sum += l->at[i].weight;
    return sum;
}

struct span sched_may_stay(const struct pod *pod, const struct node *node)
{
    const struct taint_list *taints = &node->spec->taints;
    const struct toleration_list *l = &pod->spec->tolerations;
    struct span least = {-1};

    for (size_t i = 0; i < taints->len; i++) {
        const struct toleration *t = NULL;
        if (!str_eqz(taints->at[i].effect, "NoExecute"))
            continue;
        for (size_t k = 0; k < l->len && !t; k++)
            t = tolerates(&l->at[k], &taints->at[i]) ? &l->at[k] : NULL;
        if (!t)
            return (struct span){0};
        if (!IS_SET(t, toleration_seconds))
            continue;
        struct span stays = span_s(MAX(t->toleration_seconds, INT64_C(0)));
        least = least.ns < 0 || stays.ns < least.ns ? stays : least;
    }
    return least;
}
