/* unify.c - which types agree, and what their variables stand for
 *
 * Gradual: whatever is dyn agrees with anything. Variables are numbers bound in one array with
 * a trail, so that a speculative unification is undone by rewinding it.
 */
#include "cel/unify_priv.h"

/* ---- type variables ---- */

const struct cel_type *type_fresh(struct unifier *u)
{
    struct cel_type *t = arena_new(u->arena, struct cel_type);

    t->kind = CEL_T_PARAM;
    t->is_open = true;
    t->id = (uint32_t)u->bound.len;
    vec_push_in(u->arena, &u->bound, NULL);
    return t;
}

static void bind_var(struct unifier *u, const struct cel_type *var, const struct cel_type *t)
{
    struct type_step step = {var->id, u->bound.at[var->id]};

    vec_push_in(u->arena, &u->trail, step);
    u->bound.at[var->id] = t;
}

void type_rewind(struct unifier *u, size_t mark)
{
    while (u->trail.len > mark) {
        struct type_step t = vec_pop(&u->trail);
        u->bound.at[t.var] = t.old;
    }
}

const struct cel_type *type_settled(struct unifier *u, const struct cel_type *t, bool to_dyn)
{
    const struct cel_type *params[UINT8_MAX];
    bool is_same = true;

    if (t->kind == CEL_T_PARAM) {
        if (u->bound.at[t->id])
            return type_settled(u, u->bound.at[t->id], to_dyn);
        return to_dyn ? &cel_type_dyn : t;
    }
    if (!t->is_open)
        return t;
    for (size_t i = 0; i < t->n_params; i++) {
        params[i] = type_settled(u, t->params[i], to_dyn);
        is_same &= params[i] == t->params[i];
    }
    return is_same ? t : cel_type_with(u->arena, t->kind, t->name, params, t->n_params);
}

const struct cel_type *type_instance(struct unifier *u, const struct cel_type *t,
                                     const struct cel_type *const *vars)
{
    const struct cel_type *params[UINT8_MAX];
    bool is_same = true;

    if (t->kind == CEL_T_PARAM)
        return vars[t->id];
    if (!t->is_open)
        return t;
    for (size_t i = 0; i < t->n_params; i++) {
        params[i] = type_instance(u, t->params[i], vars);
        is_same &= params[i] == t->params[i];
    }
    return is_same ? t : cel_type_with(u->arena, t->kind, t->name, params, t->n_params);
}

static bool occurs(struct unifier *u, const struct cel_type *var, const struct cel_type *in)
{
    if (in->kind == CEL_T_PARAM) {
        if (in->id == var->id)
            return true;
        return u->bound.at[in->id] && occurs(u, var, u->bound.at[in->id]);
    }
    for (size_t i = 0; in->is_open && i < in->n_params; i++)
        if (occurs(u, var, in->params[i]))
            return true;
    return false;
}

/* ---- agreement ---- */

bool type_is_dyn(const struct cel_type *t)
{
    return t->kind == CEL_T_DYN || t->kind == CEL_T_ANY || t->kind == CEL_T_ERROR;
}

static bool is_nullable(const struct cel_type *t)
{
    switch (t->kind) {
    case CEL_T_NULL:
    case CEL_T_OPAQUE:
    case CEL_T_STRUCT:
    case CEL_T_TIMESTAMP:
    case CEL_T_DURATION:
    case CEL_T_WRAPPER:
    case CEL_T_ANY:
        return true;
    default:
        return false;
    }
}

static bool is_no_more_specific(const struct cel_type *a, const struct cel_type *b)
{
    if (a->kind == CEL_T_DYN || a->kind == CEL_T_PARAM)
        return true;
    if (b->kind == CEL_T_DYN || b->kind == CEL_T_PARAM)
        return false;
    if (b->kind == CEL_T_NULL)
        return is_nullable(a);
    if (a->kind == CEL_T_WRAPPER && cel_type_eq(a->params[0], b))
        return true;
    if (a->kind != b->kind || a->n_params != b->n_params)
        return false;
    if (a->kind == CEL_T_TYPE)
        return true;
    if (!str_eq(a->name, b->name))
        return false;
    for (size_t i = 0; i < a->n_params; i++)
        if (!is_no_more_specific(a->params[i], b->params[i]))
            return false;
    return true;
}

const struct cel_type *type_more_general(const struct cel_type *a, const struct cel_type *b)
{
    return is_no_more_specific(a, b) ? a : b;
}

/* May `t` stand for the variable? *was_bound says whether it stood for something already. */
static bool stands_for(struct unifier *u, const struct cel_type *t, const struct cel_type *var,
                       bool *was_bound)
{
    const struct cel_type *old = u->bound.at[var->id];

    *was_bound = true;
    if (t->kind == CEL_T_PARAM && t->id == var->id)
        return true;
    if (!old) {
        *was_bound = false;
        if (occurs(u, var, t))
            return false;
        bind_var(u, var, t);
        return true;
    }
    if (cel_type_eq(t, old))
        return true;
    if (!type_agrees(u, t, old))
        return false;
    const struct cel_type *now = type_more_general(t, old);
    if (now != old && !occurs(u, var, now))
        bind_var(u, var, now);
    return true;
}

bool type_agrees(struct unifier *u, const struct cel_type *a, const struct cel_type *b)
{
    bool was_bound;

    if (a == b)
        return true;
    if (b->kind == CEL_T_PARAM) {
        if (stands_for(u, a, b, &was_bound))
            return true;
        if (was_bound)
            return false;
    }
    if (a->kind == CEL_T_PARAM)
        return stands_for(u, b, a, &was_bound);
    if (type_is_dyn(a) || type_is_dyn(b))
        return true;
    if (a->kind == CEL_T_NULL)
        return is_nullable(b);
    if (b->kind == CEL_T_NULL)
        return is_nullable(a);
    if (a->kind == CEL_T_WRAPPER && b->kind != CEL_T_WRAPPER)
        return cel_type_eq(a->params[0], b);
    if (b->kind == CEL_T_WRAPPER && a->kind != CEL_T_WRAPPER)
        return cel_type_eq(b->params[0], a);
    if (a->kind != b->kind)
        return false;
    if (a->kind == CEL_T_TYPE || (a->kind == CEL_T_ENUM && (!a->name.len || !b->name.len)))
        return true; /* an enum without a name is any */
    if (!str_eq(a->name, b->name) || a->n_params != b->n_params)
        return false;
    for (size_t i = 0; i < a->n_params; i++)
        if (!type_agrees(u, a->params[i], b->params[i]))
            return false;
    return true;
}

bool type_assignable(struct unifier *u, const struct cel_type *a, const struct cel_type *b)
{
    size_t mark = u->trail.len;

    if (type_agrees(u, a, b))
        return true;
    type_rewind(u, mark);
    return false;
}
