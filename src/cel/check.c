/* check.c - types, names and overloads
 *
 * In lenient mode (unchecked expressions) names that are not known and calls that do not fit
 * stay in the tree, to be errors when they are evaluated.
 */
#include "cel/env_priv.h"
#include "cel/unify_priv.h"
#include "cel/value_priv.h"

#define MAX_LOCALS 4096

struct scope {
    struct str name;
    const struct cel_type *type;
    int local;
    struct scope *up;
};

struct checker {
    struct arena *arena;
    const struct cel_env *env;
    struct report *report;
    bool is_lenient;
    struct unifier types;
    struct scope *scope;
    int n_locals;
    bool has_failed;
};

static const struct cel_type *check_node(struct checker *c, struct node *n);

/* ---- messages ---- */

static struct str show(struct checker *c, const struct cel_type *t)
{
    struct str s = cel_type_text(c->arena, type_settled(&c->types, t, false));

    return str_eqz(s, "null_type") ? S("null") : s;
}

static const struct cel_type *complain(struct checker *c, uint32_t pos, const char *format, ...)
    like_printf(3, 4);
static const struct cel_type *complain(struct checker *c, uint32_t pos, const char *format, ...)
{
    char text[768];
    va_list ap;

    c->has_failed = true;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    issue_report(c->report, pos, "%s", text);
    return &cel_type_error;
}

static const struct cel_type *undeclared(struct checker *c, const struct node *n,
                                         struct str name)
{
    if (c->is_lenient)
        return &cel_type_dyn;
    struct str hint = env_hint(c->arena, c->env, name);
    return complain(c, n->pos, "undeclared reference to '%.*s' (in container '%.*s')%.*s",
                    STR_ARG(name), STR_ARG(c->env->spec.container), STR_ARG(hint));
}

static void mismatch(struct checker *c, uint32_t pos, const struct cel_type *want,
                     const struct cel_type *got)
{
    if (c->is_lenient)
        return;
    struct str w = show(c, want), g = show(c, got);
    complain(c, pos, "expected type '%.*s' but found '%.*s'", STR_ARG(w), STR_ARG(g));
}

/* ---- names ---- */

static const struct scope *local_named(struct checker *c, struct str name)
{
    for (const struct scope *s = c->scope; s; s = s->up)
        if (str_eq(s->name, name))
            return s;
    return NULL;
}

static const struct cel_type *type_value_type(struct checker *c, const struct cel_type *t)
{
    return cel_type_with(c->arena, CEL_T_TYPE, S("type"), &t, 1);
}

/* A value of an enum type by its full name. */
static const struct cel_value *enum_constant(struct checker *c, struct str name,
                                             const struct cel_type **type)
{
    struct str head, tail;

    if (!str_rcut(name, '.', &head, &tail))
        return NULL;
    const struct cel_type *t = env_type(c->env, head);
    for (size_t i = 0; t && t->kind == CEL_T_ENUM && i < t->n_fields; i++) {
        if (!str_eq(t->values[i].name, tail))
            continue;
        struct cel_value v = cel_int(t->values[i].number);
        *type = &cel_type_int;
        if (c->env->spec.is_strong_enum) {
            v = (struct cel_value){.kind = CEL_ENUM, .len = (uint32_t)v.i, .type = t};
            *type = t;
        }
        return arena_copy(c->arena, &v);
    }
    return NULL;
}

/* What a name means outside loops: a variable, type or enum value. */
static const struct cel_type *resolve(struct checker *c, struct node *n, struct str name,
                                      bool is_root)
{
    struct str names[MAX_CONTAINER];
    size_t n_names = env_candidates(c->arena, c->env, name, is_root, names);

    for (size_t i = 0; i < n_names; i++) {
        const struct env_var *v = env_var(c->env, names[i]);
        const struct cel_type *t;
        if (v) {
            n->var = v->index;
            return v->type;
        }
        if ((t = env_type(c->env, names[i])) != NULL) {
            struct cel_value tv = cel_of_type(t);
            n->constant = arena_copy(c->arena, &tv);
            return type_value_type(c, t);
        }
        if ((n->constant = enum_constant(c, names[i], &t)) != NULL)
            return t;
    }
    return NULL;
}

static const struct cel_type *check_ident(struct checker *c, struct node *n)
{
    const struct scope *s = n->is_root ? NULL : local_named(c, n->name);
    const struct cel_type *t;

    if (s) {
        n->local = s->local;
        return s->type;
    }
    t = resolve(c, n, n->name, n->is_root);
    return t ? t : undeclared(c, n, n->name);
}

/* ---- selection ---- */

static const struct node *head_of(const struct node *n)
{
    while (n->kind == N_SELECT && !n->is_test && !n->is_opt)
        n = n->target;
    return n;
}

static bool is_optional(const struct cel_type *t)
{
    return t->kind == CEL_T_OPAQUE && str_eq(t->name, cel_type_optional.name);
}

/* The type of a field's values: an enum's own where enums are strong. */
static const struct cel_type *type_of_field(struct checker *c, const struct cel_field *f)
{
    if (!c->env->spec.is_strong_enum || f->kind != CEL_F_ENUM || !f->enum_type)
        return f->type;
    if (f->type->kind == CEL_T_LIST)
        return cel_list_of(c->arena, f->enum_type);
    if (f->type->kind == CEL_T_MAP)
        return cel_map_type(c->arena, f->type->params[0], f->enum_type);
    return f->enum_type;
}

static const struct cel_type *field_type(struct checker *c, struct node *n,
                                         const struct cel_type *t)
{
    const struct cel_field *f;

    switch (t->kind) {
    case CEL_T_MAP:
        return t->params[1];
    case CEL_T_STRUCT:
        f = cel_type_field(t, n->name);
        if (!f && c->env->knows_keywords)
            f = cel_type_field(t, str_printf(c->arena, "__%.*s__", STR_ARG(n->name)));
        if (f)
            return type_of_field(c, f);
        if (c->is_lenient)
            return &cel_type_dyn;
        return complain(c, n->pos, "undefined field '%.*s'", STR_ARG(n->name));
    case CEL_T_PARAM:
        type_assignable(&c->types, &cel_type_dyn, t);
        return &cel_type_dyn;
    default:
        if (!type_is_dyn(t) && !c->is_lenient) {
            struct str s = show(c, t);
            complain(c, n->pos, "type '%.*s' does not support field selection", STR_ARG(s));
        }
        return &cel_type_dyn;
    }
}

static const struct cel_type *check_select(struct checker *c, struct node *n)
{
    const struct node *head = head_of(n);
    const struct cel_type *t;
    bool is_opt = n->is_opt;

    if (!n->is_test && !n->is_opt && head->kind == N_IDENT &&
        (head->is_root || !local_named(c, head->name)) && env_has_head(c->env, head->name)) {
        struct str name = ast_qualified(c->arena, n);
        t = resolve(c, n, name, head->is_root);
        if (t)
            return t;
    }
    t = type_settled(&c->types, check_node(c, n->target), false);
    if (is_optional(t)) {
        t = t->params[0];
        if (t->kind == CEL_T_PARAM)
            t = type_settled(&c->types, t, false);
        is_opt = true;
    }
    t = field_type(c, n, t);
    if (n->is_test)
        return &cel_type_bool;
    return is_opt ? cel_optional_of(c->arena, t) : t;
}

/* ---- calls ---- */

static bool overload_agrees(struct checker *c, const struct overload *o,
                            const struct cel_type **args, const struct cel_type **result)
{
    const struct cel_type *vars[16] = {0};
    size_t mark = c->types.trail.len;

    for (size_t i = 0; i < o->n_vars; i++)
        vars[i] = type_fresh(&c->types);
    for (size_t i = 0; i < o->n_params; i++) {
        const struct cel_type *p =
            o->n_vars ? type_instance(&c->types, o->params[i], vars) : o->params[i];
        if (!type_agrees(&c->types, args[i], p)) {
            type_rewind(&c->types, mark);
            return false;
        }
    }
    *result = o->n_vars
                  ? type_settled(&c->types, type_instance(&c->types, o->result, vars), false)
                  : o->result;
    return true;
}

static struct str signature_of(struct checker *c, const struct node *n,
                               const struct cel_type **args)
{
    struct buf b = buf_in(c->arena, 64);
    uint32_t first = n->is_member;

    if (n->is_member) {
        buf_add(&b, show(c, args[0]));
        buf_byte(&b, '.');
    }
    buf_byte(&b, '(');
    for (uint32_t i = first; i < n->n; i++) {
        if (i > first)
            buf_add(&b, S(", "));
        buf_add(&b, show(c, args[i]));
    }
    buf_byte(&b, ')');
    return buf_str(&b);
}

/* "; it takes int.(string) or …" */
static struct str candidates_of(struct checker *c, const struct function *f)
{
    struct buf b = buf_in(c->arena, 128);
    size_t n = MIN(f->overloads.len, (size_t)4);

    for (size_t i = 0; i < n; i++) {
        const struct overload *o = f->overloads.at[i];
        buf_add(&b, i ? S(" or ") : S("; it takes "));
        for (size_t k = 0; k < o->n_params; k++) {
            if (k == (size_t)o->is_member)
                buf_byte(&b, '(');
            else if (k)
                buf_add(&b, S(", "));
            buf_add(&b, cel_type_text(c->arena, o->params[k]));
            if (k == 0 && o->is_member)
                buf_byte(&b, '.');
        }
        if (o->n_params == (size_t)o->is_member)
            buf_byte(&b, '(');
        buf_byte(&b, ')');
    }
    if (f->overloads.len > n)
        buf_add(&b, S(" …"));
    return buf_str(&b);
}

static const struct cel_type *no_overload(struct checker *c, struct node *n,
                                          const struct function *f,
                                          const struct cel_type **args)
{
    for (uint32_t i = 0; i < n->n; i++)
        if (args[i]->kind == CEL_T_ERROR)
            return &cel_type_error;
    struct str s = signature_of(c, n, args), more = candidates_of(c, f);
    bool is_operator = f->name.at[0] == '_' || f->name.at[0] == '!' || f->name.at[0] == '-' ||
                       f->name.at[0] == '@';
    return complain(c, n->pos, "found no matching overload for '%.*s' applied to '%.*s'%.*s",
                    STR_ARG(f->name), STR_ARG(s), is_operator ? 0 : (int)more.len, more.at);
}

static const struct cel_type *check_logic(struct checker *c, struct node *n,
                                          const struct function *f,
                                          const struct cel_type **args)
{
    for (uint32_t i = 0; i < n->n; i++)
        if (!type_assignable(&c->types, args[i], &cel_type_bool))
            mismatch(c, n->args[i]->pos, &cel_type_bool, args[i]);
    n->overloads = arena_array(c->arena, const struct overload *, 1);
    n->overloads[0] = f->overloads.at[0];
    n->n_overloads = 1;
    return &cel_type_bool;
}

/* The overloads that fit and the type they yield. */
static const struct cel_type *pick_overloads(struct checker *c, struct node *n,
                                             const struct function *f)
{
    const struct cel_type **args = arena_array(c->arena, const struct cel_type *, n->n + 1);
    const struct cel_type *type = NULL, *t;
    VEC(const struct overload *) found = {0};

    for (uint32_t i = 0; i < n->n; i++)
        args[i] = type_settled(&c->types, n->args[i]->type, false);
    n->function = f;
    if (str_eqz(f->name, "_&&_") || str_eqz(f->name, "_||_"))
        return check_logic(c, n, f, args);
    vec_each (i, &f->overloads) {
        const struct overload *o = f->overloads.at[i];
        if (o->is_member != n->is_member || o->n_params != n->n)
            continue;
        if (c->is_lenient) {
            vec_push_in(c->arena, &found, o);
            type = &cel_type_dyn;
            continue;
        }
        if (!overload_agrees(c, o, args, &t))
            continue;
        vec_push_in(c->arena, &found, o);
        if (!type)
            type = t;
        else if (!cel_type_eq(type, t))
            type = &cel_type_dyn;
    }
    n->overloads = found.at;
    n->n_overloads = (uint32_t)found.len;
    if (type)
        return type;
    return c->is_lenient ? &cel_type_dyn : no_overload(c, n, f, args);
}

static const struct function *function_named(struct checker *c, struct str name, bool is_root)
{
    struct str names[MAX_CONTAINER];
    size_t n = env_candidates(c->arena, c->env, name, is_root, names);

    for (size_t i = 0; i < n; i++) {
        const struct function *f = env_function(c->env, names[i]);
        if (f)
            return f;
    }
    return NULL;
}

/* `E(int)` and `E('NAME')` of a strong enum. */
static bool is_enum_call(struct checker *c, struct node *n, struct str name)
{
    struct str names[MAX_CONTAINER];
    size_t n_names;

    if (!c->env->spec.is_strong_enum || n->n - (name.len != n->name.len) > 1)
        return false;
    n_names = env_candidates(c->arena, c->env, name, false, names);
    for (size_t i = 0; i < n_names; i++) {
        const struct cel_type *t = env_type(c->env, names[i]);
        if (t && t->kind == CEL_T_ENUM) {
            struct cel_value v = cel_of_type(t);
            n->constant = arena_copy(c->arena, &v);
            return true;
        }
    }
    return false;
}

/* The receiver was part of a qualified name, which the call carries from now on. */
static void drop_receiver(struct node *n, struct str name)
{
    n->args++;
    n->n--;
    n->is_member = false;
    n->name = name;
}

static const struct cel_type *check_call(struct checker *c, struct node *n)
{
    const struct function *f;

    for (uint32_t i = n->is_member; i < n->n; i++)
        check_node(c, n->args[i]);
    if (!n->is_member) {
        if (is_enum_call(c, n, n->name))
            return n->constant->type;
        f = function_named(c, n->name, n->is_root);
        return f ? pick_overloads(c, n, f) : undeclared(c, n, n->name);
    }
    const struct node *head = head_of(n->args[0]);
    struct str prefix = {0};
    if (head->kind == N_IDENT && env_has_head(c->env, head->name))
        prefix = ast_qualified(c->arena, n->args[0]);
    if (prefix.at) {
        struct str name = str_printf(c->arena, "%.*s.%.*s", STR_ARG(prefix), STR_ARG(n->name));
        f = function_named(c, name, head_of(n->args[0])->is_root);
        if (f) {
            drop_receiver(n, f->name);
            return pick_overloads(c, n, f);
        }
        if (is_enum_call(c, n, name)) {
            drop_receiver(n, name);
            return n->constant->type;
        }
    }
    check_node(c, n->args[0]);
    f = env_function(c->env, n->name);
    return f ? pick_overloads(c, n, f) : undeclared(c, n, n->name);
}

/* ---- lists, maps, messages ---- */

static const struct cel_type *join(struct checker *c, const struct cel_type *have,
                                   const struct cel_type *t)
{
    if (!have)
        return t;
    return type_assignable(&c->types, have, t)
               ? type_more_general(type_settled(&c->types, have, false),
                                   type_settled(&c->types, t, false))
               : &cel_type_dyn;
}

/* What an optional entry contributes. */
static const struct cel_type *unwrap(struct checker *c, const struct entry *e,
                                     const struct cel_type *t)
{
    if (!e->is_opt)
        return t;
    t = type_settled(&c->types, t, false);
    if (is_optional(t))
        return t->params[0];
    if (!type_is_dyn(t))
        mismatch(c, e->value->pos, cel_optional_of(c->arena, t), t);
    return &cel_type_dyn;
}

static const struct cel_type *check_list(struct checker *c, struct node *n)
{
    const struct cel_type *item = NULL;

    for (uint32_t i = 0; i < n->n; i++)
        item = join(c, item, unwrap(c, &n->entries[i], check_node(c, n->entries[i].value)));
    return cel_list_of(c->arena, item ? item : type_fresh(&c->types));
}

static const struct cel_type *check_map(struct checker *c, struct node *n)
{
    const struct cel_type *key = NULL, *value = NULL;

    for (uint32_t i = 0; i < n->n; i++) {
        key = join(c, key, check_node(c, n->entries[i].key));
        value = join(c, value, unwrap(c, &n->entries[i], check_node(c, n->entries[i].value)));
    }
    if (!key) {
        key = type_fresh(&c->types);
        value = type_fresh(&c->types);
    }
    return cel_map_type(c->arena, key, value);
}

static void check_field(struct checker *c, const struct cel_type *t, struct entry *e)
{
    const struct cel_type *value = unwrap(c, e, check_node(c, e->value));
    const struct cel_field *f = cel_type_field(t, e->field);

    if (!f) {
        if (!c->is_lenient)
            complain(c, e->pos, "undefined field '%.*s'", STR_ARG(e->field));
        return;
    }
    const struct cel_type *type = type_of_field(c, f);
    if (!c->is_lenient && !type_assignable(&c->types, type, value)) {
        struct str want = show(c, type), got = show(c, value);
        complain(c, e->pos,
                 "expected type of field '%.*s' is '%.*s' but provided type is '%.*s'",
                 STR_ARG(e->field), STR_ARG(want), STR_ARG(got));
    }
}

static const struct cel_type *literal_type(const struct cel_type *t);

static const struct cel_type *check_message(struct checker *c, struct node *n)
{
    struct str names[MAX_CONTAINER];
    size_t n_names = env_candidates(c->arena, c->env, n->name, n->is_root, names);
    const struct cel_type *t = NULL;

    for (size_t i = 0; i < n_names && !t; i++)
        t = env_type(c->env, names[i]);
    if (t && c->env->spec.kind == CEL_ENV_LANGUAGE)
        t = message_literal_type(t);
    if (!t || t->kind != CEL_T_STRUCT || t->is_opaque_struct) {
        for (uint32_t i = 0; i < n->n; i++)
            check_node(c, n->entries[i].value);
        if (!t)
            return undeclared(c, n, n->name);
        if (c->is_lenient)
            return &cel_type_dyn;
        return complain(c, n->pos, "'%.*s' is not a message type", STR_ARG(n->name));
    }
    struct cel_value v = cel_of_type(t);
    n->constant = arena_copy(c->arena, &v);
    for (uint32_t i = 0; i < n->n; i++)
        check_field(c, t, &n->entries[i]);
    return literal_type(t);
}

/* A well-known message is the value it stands for: its host field says which. */
static const struct cel_type *literal_type(const struct cel_type *t)
{
    return t->host ? t->host : t;
}

/* ---- loops ---- */

static struct scope *push(struct checker *c, struct str name, const struct cel_type *type)
{
    struct scope *s = arena_new(c->arena, struct scope);

    *s = (struct scope){name, type, c->n_locals++, c->scope};
    if (c->n_locals == MAX_LOCALS)
        complain(c, 0, "more than %d loop variables", MAX_LOCALS);
    c->scope = s;
    return s;
}

/* The types of a loop's variables by its range's. */
static void range_types(struct checker *c, struct fold *f, const struct cel_type **one,
                        const struct cel_type **two)
{
    const struct cel_type *t = type_settled(&c->types, f->range->type, false);

    *one = *two = &cel_type_dyn;
    switch (t->kind) {
    case CEL_T_LIST:
        *one = f->has_two ? &cel_type_int : t->params[0];
        *two = t->params[0];
        return;
    case CEL_T_MAP:
        *one = t->params[0];
        *two = t->params[1];
        return;
    case CEL_T_PARAM:
        type_assignable(&c->types, &cel_type_dyn, t);
        return;
    case CEL_T_DYN:
    case CEL_T_ERROR:
        return;
    default:
        if (!c->is_lenient) {
            struct str s = show(c, t);
            complain(c, f->range->pos,
                     "expression of type '%.*s' cannot be range of a comprehension (must be "
                     "list, map, or dynamic)",
                     STR_ARG(s));
        }
    }
}

static const struct cel_type *check_block(struct checker *c, struct node *n)
{
    struct fold *f = n->fold;
    struct scope *outer = c->scope;

    check_node(c, f->range);
    n->local = c->n_locals;
    for (uint32_t i = 0; i < f->n_slots; i++) {
        const struct cel_type *t = check_node(c, f->slots[i]);
        struct scope *s = push(c, f->slot_names[i], t);
        f->slot_locals[i] = (uint32_t)s->local;
    }
    const struct cel_type *t = check_node(c, f->body);
    c->scope = outer;
    return t;
}

static const struct cel_type *check_fold(struct checker *c, struct node *n)
{
    struct fold *f = n->fold;
    struct scope *outer = c->scope;
    const struct cel_type *one, *two, *init, *step;

    if (f->kind == FOLD_BLOCK)
        return check_block(c, n);
    check_node(c, f->range);
    init = check_node(c, f->init);
    range_types(c, f, &one, &two);
    n->local = c->n_locals; /* accumulator, first and second variable follow each other */
    struct scope *accu = push(c, f->accu, init);
    push(c, f->iter, one);
    if (f->has_two)
        push(c, f->iter2, two);
    const struct cel_type *cond = check_node(c, f->cond);
    if (!type_assignable(&c->types, cond, &cel_type_bool))
        mismatch(c, f->cond->pos, &cel_type_bool, cond);
    step = check_node(c, f->step);
    if (!type_assignable(&c->types, type_settled(&c->types, init, false), step))
        mismatch(c, f->step->pos, init, step);
    accu->up = outer;
    c->scope = accu;
    const struct cel_type *t = check_node(c, f->result);
    c->scope = outer;
    return type_settled(&c->types, t, false);
}

/* ---- the walk ---- */

static const struct cel_type *const_type(struct cel_value v)
{
    return v.kind == CEL_NULL ? &cel_type_null : cel_type_of(v);
}

static const struct cel_type *check_node(struct checker *c, struct node *n)
{
    switch ((enum node_kind)n->kind) {
    case N_CONST:
        n->type = const_type(n->value);
        break;
    case N_IDENT:
        n->type = check_ident(c, n);
        break;
    case N_SELECT:
        n->type = check_select(c, n);
        break;
    case N_CALL:
        n->type = check_call(c, n);
        break;
    case N_LIST:
        n->type = check_list(c, n);
        break;
    case N_MAP:
        n->type = check_map(c, n);
        break;
    case N_STRUCT:
        n->type = check_message(c, n);
        break;
    case N_FOLD:
        n->type = check_fold(c, n);
        break;
    default:
        n->type = &cel_type_error;
    }
    return n->type;
}

/* Replaces variables by what they stand for, everywhere. */
static void settle(struct checker *c, struct node *n)
{
    if (!n || !n->type)
        return;
    n->type = type_settled(&c->types, n->type, true);
    switch ((enum node_kind)n->kind) {
    case N_SELECT:
        settle(c, n->target);
        break;
    case N_CALL:
        for (uint32_t i = 0; i < n->n; i++)
            settle(c, n->args[i]);
        break;
    case N_LIST:
    case N_MAP:
    case N_STRUCT:
        for (uint32_t i = 0; i < n->n; i++) {
            settle(c, n->entries[i].key);
            settle(c, n->entries[i].value);
        }
        break;
    case N_FOLD:
        settle(c, n->fold->range);
        settle(c, n->fold->init);
        settle(c, n->fold->cond);
        settle(c, n->fold->step);
        settle(c, n->fold->result);
        for (uint32_t i = 0; i < n->fold->n_slots; i++)
            settle(c, n->fold->slots[i]);
        break;
    default:
        break;
    }
}

int ast_check(struct arena *a, const struct cel_env *env, struct node *root, bool is_lenient,
              struct report *r)
{
    struct checker c = {
        .arena = a, .env = env, .report = r, .is_lenient = is_lenient, .types = {.arena = a}};

    check_node(&c, root);
    if (c.has_failed)
        return -1;
    settle(&c, root);
    return c.n_locals;
}
