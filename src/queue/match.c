/* match.c - labels, requirements, taints: may this go there? */
#include "queue/match.h"

bool labels_get(struct queue_labels l, struct str key, struct str *value)
{
    for (size_t i = 0; i < l.len; i++)
        if (str_eq(l.at[i].key, key)) {
            *value = l.at[i].value;
            return true;
        }
    return false;
}

static bool is_listed(const struct queue_requirement *r, struct str value)
{
    for (size_t i = 0; i < r->n_values; i++)
        if (str_eq(r->values[i], value))
            return true;
    return false;
}

bool match_requirement(const struct queue_requirement *r, struct queue_labels l)
{
    struct str value = {0};
    bool has = labels_get(l, r->key, &value);
    int64_t x, limit;

    switch (r->op) {
    case MATCH_IN:
        return has && is_listed(r, value);
    case MATCH_NOT_IN:
        return !has || !is_listed(r, value);
    case MATCH_EXISTS:
        return has;
    case MATCH_ABSENT:
        return !has;
    case MATCH_GT:
    case MATCH_LT:
        if (!has || r->n_values != 1 || !str_to_i64(value, &x) ||
            !str_to_i64(r->values[0], &limit))
            return false;
        return r->op == MATCH_GT ? x > limit : x < limit;
    case MATCH_BAD:
        break;
    }
    return false;
}

bool match_selector(const struct queue_selector *s, struct queue_labels l)
{
    if (!s->is_set)
        return false;
    for (size_t i = 0; i < s->term.len; i++)
        if (!match_requirement(&s->term.at[i], l))
            return false;
    return true;
}

enum match_op match_op_from(struct str name)
{
    static const char *const names[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};

    for (size_t i = 0; i < countof(names); i++)
        if (str_eqz(name, names[i]))
            return (enum match_op)i;
    return MATCH_BAD;
}

bool taint_tolerated(const struct queue_taint *t, const struct queue_toleration *tolerations,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct queue_toleration *x = &tolerations[i];
        if (x->effect.len && !str_eq(x->effect, t->effect))
            continue;
        if (x->key.len && !str_eq(x->key, t->key))
            continue;
        if (x->is_exists || (x->key.len && str_eq(x->value, t->value)))
            return true;
    }
    return false;
}
