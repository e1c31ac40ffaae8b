/* macro.c - calls that stand for other expressions
 *
 * A macro is found by name, style and number of arguments alone. Loops become one node that
 * keeps both forms: as the language expands it (for checking and cost) and as it was written
 * (for planning and printing).
 */
#include "cel/env_priv.h"

struct macro {
    struct str name;
    uint8_t n_args; /* without the receiver */
    bool is_member;
    uint8_t lib;
    struct node *(*expand)(struct arena *a, struct node *call, const struct macro *m,
                           struct report *r);
    int kind; /* enum fold_kind */
};

#define ACCU S("@result")

/* ---- the parts of loops ---- */

static struct node *accu(struct arena *a, uint32_t pos)
{
    return ast_ident(a, ACCU, pos);
}

static struct node *list_of(struct arena *a, struct node *item, uint32_t pos)
{
    struct node *n = ast_new(a, N_LIST, pos);

    if (item) {
        n->entries = arena_new(a, struct entry);
        n->entries[0] = (struct entry){.value = item, .pos = item->pos};
        n->n = 1;
        ast_measure(n);
    }
    return n;
}

static struct node *boolean(struct arena *a, bool b, uint32_t pos)
{
    return ast_const(a, cel_bool(b), pos);
}

static struct node *ternary(struct arena *a, struct node *c, struct node *t, struct node *f,
                            uint32_t pos)
{
    return ast_call(a, S("_?_:_"), pos, 3, c, t, f);
}

/* A loop variable's name, or an empty str (reported). `cel.iterVar(0, 1)` is one too. */
static struct str variable(struct node *n, struct report *r, const char *why)
{
    if (n->kind != N_IDENT || n->is_root) {
        issue_report(r, n->pos, "%s", why);
        return str_of(NULL, 0);
    }
    if (str_eq(n->name, ACCU) || str_eqz(n->name, "__result__")) {
        issue_report(r, n->pos, "iteration variable overwrites accumulator variable");
        return str_of(NULL, 0);
    }
    return n->name;
}

static struct node *fold_node(struct arena *a, struct node *call, struct fold f)
{
    struct node *n = ast_new(a, N_FOLD, call->pos);

    n->fold = arena_copy(a, &f);
    n->written = call;
    ast_measure(n);
    return n;
}

static void expand_quantifier(struct arena *a, struct fold *f, uint32_t pos)
{
    struct node *acc = accu(a, pos), *one;

    switch (f->kind) {
    case FOLD_ALL:
        f->init = boolean(a, true, pos);
        f->cond = ast_call(a, S("@not_strictly_false"), pos, 1, acc);
        f->step = ast_call(a, S("_&&_"), pos, 2, accu(a, pos), f->pred);
        f->result = accu(a, pos);
        break;
    case FOLD_EXISTS:
        f->init = boolean(a, false, pos);
        f->cond =
            ast_call(a, S("@not_strictly_false"), pos, 1, ast_call(a, S("!_"), pos, 1, acc));
        f->step = ast_call(a, S("_||_"), pos, 2, accu(a, pos), f->pred);
        f->result = accu(a, pos);
        break;
    default: /* FOLD_EXISTS_ONE */
        one = ast_const(a, cel_int(1), pos);
        f->init = ast_const(a, cel_int(0), pos);
        f->cond = boolean(a, true, pos);
        f->step =
            ternary(a, f->pred, ast_call(a, S("_+_"), pos, 2, acc, one), accu(a, pos), pos);
        f->result = ast_call(a, S("_==_"), pos, 2, accu(a, pos), ast_const(a, cel_int(1), pos));
        break;
    }
}

/* `L.all(x, p)` and its kin, with one variable or two. */
static struct node *quantifier(struct arena *a, struct node *call, const struct macro *m,
                               struct report *r)
{
    bool has_two = m->n_args == 3;
    struct fold f = {.kind = (enum fold_kind)m->kind, .has_two = has_two, .accu = ACCU};

    f.range = call->args[0];
    f.iter = variable(call->args[1], r, "argument must be a simple name");
    if (has_two)
        f.iter2 = variable(call->args[2], r, "argument must be a simple name");
    if (!f.iter.at || (has_two && !f.iter2.at))
        return ast_new(a, N_ERROR, call->pos);
    if (has_two && str_eq(f.iter, f.iter2)) {
        issue_report(r, call->args[2]->pos, "duplicate variable name: %.*s", STR_ARG(f.iter));
        return ast_new(a, N_ERROR, call->pos);
    }
    f.pred = call->args[has_two ? 3 : 2];
    expand_quantifier(a, &f, call->pos);
    return fold_node(a, call, f);
}

static struct node *map_insert(struct arena *a, const struct fold *f, uint32_t pos)
{
    struct node *call = f->kind == FOLD_TO_MAP
                            ? ast_call(a, S("cel.@mapInsert"), pos, 3, accu(a, pos),
                                       ast_ident(a, f->iter, pos), f->body)
                            : ast_call(a, S("cel.@mapInsert"), pos, 2, accu(a, pos), f->body);
    return call;
}

/* map, filter, transformList, transformMap, transformMapEntry. */
static struct node *collector(struct arena *a, struct node *call, const struct macro *m,
                              struct report *r)
{
    bool has_two = m->kind >= FOLD_TO_LIST;
    struct fold f = {.kind = (enum fold_kind)m->kind, .has_two = has_two, .accu = ACCU};
    uint32_t n_vars = has_two ? 2 : 1, pos = call->pos;
    const char *why =
        has_two ? "argument must be a simple name" : "argument is not an identifier";

    f.range = call->args[0];
    f.iter = variable(call->args[1], r, why);
    if (has_two)
        f.iter2 = variable(call->args[2], r, why);
    if (!f.iter.at || (has_two && !f.iter2.at))
        return ast_new(a, N_ERROR, pos);
    if (has_two && str_eq(f.iter, f.iter2)) {
        issue_report(r, call->args[2]->pos, "duplicate variable name: %.*s", STR_ARG(f.iter));
        return ast_new(a, N_ERROR, pos);
    }
    f.body = call->args[call->n - 1];
    if (call->n - 1 > n_vars + 1)
        f.pred = call->args[n_vars + 1];
    if (f.kind == FOLD_FILTER) {
        f.pred = f.body;
        f.body = ast_ident(a, f.iter, call->args[1]->pos);
    }
    if (f.kind == FOLD_TO_MAP || f.kind == FOLD_TO_ENTRIES) {
        f.init = ast_new(a, N_MAP, pos);
        f.step = map_insert(a, &f, pos);
    } else {
        f.init = list_of(a, NULL, pos);
        f.step = ast_call(a, S("_+_"), pos, 2, accu(a, pos), list_of(a, f.body, pos));
    }
    if (f.pred)
        f.step = ternary(a, f.pred, f.step, accu(a, pos), pos);
    f.cond = boolean(a, true, pos);
    f.result = accu(a, pos);
    return fold_node(a, call, f);
}

static struct node *has(struct arena *a, struct node *call, const struct macro *m,
                        struct report *r)
{
    struct node *arg = call->args[0], *n;

    (void)m;
    if (arg->kind != N_SELECT || arg->is_opt || arg->is_test) {
        issue_report(r, arg->pos, "invalid argument to has() macro");
        return ast_new(a, N_ERROR, call->pos);
    }
    n = arena_copy(a, arg);
    n->is_test = true;
    n->is_name = false;
    n->pos = call->pos;
    n->written = call;
    return n;
}

/* ---- bindings ---- */

static struct node *bind(struct arena *a, struct str name, struct node *init, struct node *body,
                         struct node *call)
{
    struct fold f = {.kind = FOLD_BIND,
                     .iter = S("#unused"),
                     .accu = name,
                     .init = init,
                     .result = body,
                     .body = body};

    f.range = list_of(a, NULL, call->pos);
    f.cond = boolean(a, false, call->pos);
    f.step = ast_ident(a, name, call->pos);
    return fold_node(a, call, f);
}

static bool is_ident(const struct node *n, const char *name)
{
    return n->kind == N_IDENT && str_eqz(n->name, name);
}

static struct node *cel_bind(struct arena *a, struct node *call, const struct macro *m,
                             struct report *r)
{
    (void)m;
    if (!is_ident(call->args[0], "cel"))
        return call;
    if (call->args[1]->kind != N_IDENT) {
        issue_report(r, call->args[1]->pos,
                     "cel.bind() variable names must be simple identifiers");
        return ast_new(a, N_ERROR, call->pos);
    }
    return bind(a, call->args[1]->name, call->args[2], call->args[3], call);
}

/* `o.optMap(v, e)` and `o.optFlatMap(v, e)`. */
static struct node *opt_map(struct arena *a, struct node *call, const struct macro *m,
                            struct report *r)
{
    struct node *target = call->args[0], *value, *body, *has_value, *n;
    uint32_t pos = call->pos;

    if (call->args[1]->kind != N_IDENT) {
        issue_report(r, call->args[1]->pos, "%.*s() variable name must be a simple identifier",
                     STR_ARG(m->name));
        return ast_new(a, N_ERROR, pos);
    }
    has_value = ast_call(a, S("hasValue"), pos, 1, target);
    has_value->is_member = true;
    value = ast_call(a, S("value"), pos, 1, target);
    value->is_member = true;
    body = bind(a, call->args[1]->name, value, call->args[2], call);
    if (m->kind == 0)
        body = ast_call(a, S("optional.of"), pos, 1, body);
    n = ternary(a, has_value, body, ast_call(a, S("optional.none"), pos, 0), pos);
    n->written = call;
    return n;
}

static struct node *sort_by(struct arena *a, struct node *call, const struct macro *m,
                            struct report *r)
{
    struct node *target = call->args[0], *keys, *n, *in, *map_call;
    uint32_t pos = call->pos;
    struct macro map = {.name = S("map"), .n_args = 2, .kind = FOLD_MAP};

    (void)m;
    if (target->kind != N_LIST && target->kind != N_IDENT && target->kind != N_SELECT &&
        target->kind != N_FOLD && target->kind != N_CALL) {
        issue_report(r, target->pos,
                     "sortBy can only be applied to a list, identifier, "
                     "comprehension, call or select expression");
        return ast_new(a, N_ERROR, pos);
    }
    in = ast_ident(a, S("@__sortBy_input__"), pos);
    map_call = ast_call(a, S("map"), pos, 3, in, call->args[1], call->args[2]);
    map_call->is_member = true;
    keys = collector(a, map_call, &map, r);
    if (keys->kind == N_ERROR)
        return keys;
    n = ast_call(a, S("@sortByAssociatedKeys"), pos, 2, ast_ident(a, in->name, pos), keys);
    n->is_member = true;
    return bind(a, in->name, target, n, call);
}

/* ---- cel.block and its names, as optimisers write them ---- */

static struct node *cel_block(struct arena *a, struct node *call, const struct macro *m,
                              struct report *r)
{
    struct node *list = call->args[1];
    struct fold f = {.kind = FOLD_BLOCK,
                     .iter = S("#unused"),
                     .accu = S("#unused"),
                     .body = call->args[2],
                     .result = call->args[2]};

    (void)m;
    if (!is_ident(call->args[0], "cel"))
        return call;
    if (list->kind != N_LIST) {
        issue_report(r, list->pos, "cel.block requires the first arg to be a list literal");
        return ast_new(a, N_ERROR, call->pos);
    }
    f.slots = arena_array(a, struct node *, MAX(list->n, 1u));
    f.slot_names = arena_array(a, struct str, MAX(list->n, 1u));
    f.slot_locals = arena_array(a, uint32_t, MAX(list->n, 1u));
    f.n_slots = list->n;
    for (uint32_t i = 0; i < list->n; i++) {
        f.slots[i] = list->entries[i].value;
        f.slot_names[i] = str_printf(a, "@index%u", i);
    }
    f.range = list_of(a, NULL, call->pos);
    f.init = list;
    f.cond = boolean(a, false, call->pos);
    f.step = list;
    return fold_node(a, call, f);
}

/* cel.index(n), cel.iterVar(d, u), cel.accuVar(d, u): names that no source can spell. */
static struct node *block_name(struct arena *a, struct node *call, const struct macro *m,
                               struct report *r)
{
    struct str name;

    if (!is_ident(call->args[0], "cel"))
        return call;
    for (uint32_t i = 1; i < call->n; i++) {
        if (call->args[i]->kind != N_CONST || call->args[i]->value.kind != CEL_INT ||
            call->args[i]->value.i < 0) {
            issue_report(r, call->args[i]->pos, "%.*s requires non-negative int constants",
                         STR_ARG(m->name));
            return ast_new(a, N_ERROR, call->pos);
        }
    }
    long long d = (long long)call->args[1]->value.i;
    if (m->kind == 0)
        name = str_printf(a, "@index%lld", d);
    else
        name = str_printf(a, "@%s:%lld:%lld", m->kind == 1 ? "it" : "ac", d,
                          (long long)call->args[2]->value.i);
    struct node *n = ast_ident(a, name, call->pos);
    n->written = call;
    return n;
}

/* ---- math and proto ---- */

static bool is_number(const struct node *n)
{
    return n->kind != N_CONST || n->value.kind == CEL_INT || n->value.kind == CEL_UINT ||
           n->value.kind == CEL_DOUBLE;
}

/* math.least(…) and math.greatest(…). */
static struct node *math_extreme(struct arena *a, struct node *call, const struct macro *m,
                                 struct report *r)
{
    const char *what = m->kind ? "math.greatest()" : "math.least()";
    struct str name = m->kind ? S("math.@max") : S("math.@min");
    struct node *arg, *n;

    if (!is_ident(call->args[0], "math"))
        return call;
    if (call->n == 1) {
        issue_report(r, call->args[0]->pos, "%s requires at least one argument", what);
        return ast_new(a, N_ERROR, call->pos);
    }
    for (uint32_t i = 1; i < call->n; i++) {
        arg = call->args[i];
        bool is_list = call->n == 2 && arg->kind == N_LIST && arg->n > 0;
        for (uint32_t k = 0; is_list && k < arg->n; k++)
            is_list = is_number(arg->entries[k].value);
        bool is_bad = arg->kind == N_LIST || arg->kind == N_MAP || arg->kind == N_STRUCT;
        if (is_list || (!is_bad && is_number(arg)))
            continue;
        issue_report(r, arg->pos,
                     call->n == 2 ? "%s invalid single argument value"
                                  : "%s simple literal arguments must be numeric",
                     what);
        return ast_new(a, N_ERROR, call->pos);
    }
    if (call->n == 2) {
        n = ast_call(a, name, call->pos, 1, call->args[1]);
    } else if (call->n == 3) {
        n = ast_call(a, name, call->pos, 2, call->args[1], call->args[2]);
    } else {
        struct node *list = ast_new(a, N_LIST, call->pos);
        list->entries = arena_array(a, struct entry, call->n);
        for (uint32_t i = 1; i < call->n; i++) {
            list->entries[list->n++] =
                (struct entry){.value = call->args[i], .pos = call->args[i]->pos};
        }
        ast_measure(list);
        n = ast_call(a, name, call->pos, 1, list);
    }
    n->written = call;
    return n;
}

/* proto.getExt(m, a.b.c) and proto.hasExt(m, a.b.c): a field with a long name. */
static struct node *proto_ext(struct arena *a, struct node *call, const struct macro *m,
                              struct report *r)
{
    struct str name;
    struct node *n;

    if (!is_ident(call->args[0], "proto"))
        return call;
    name = call->args[2]->kind == N_SELECT ? ast_qualified(a, call->args[2]) : str_of(NULL, 0);
    if (!name.at) {
        issue_report(r, call->args[2]->pos, "invalid extension field");
        return ast_new(a, N_ERROR, call->pos);
    }
    n = ast_new(a, N_SELECT, call->pos);
    n->target = call->args[1];
    n->name = name;
    n->is_test = m->kind == 1;
    n->written = call;
    return n;
}

#define ANY_ARGS 255

static const struct macro macros[] = {
    {S_INIT("has"),               1,        false, LIB_STD,      has,          0              },
    {S_INIT("all"),               2,        true,  LIB_STD,      quantifier,   FOLD_ALL       },
    {S_INIT("exists"),            2,        true,  LIB_STD,      quantifier,   FOLD_EXISTS    },
    {S_INIT("exists_one"),        2,        true,  LIB_STD,      quantifier,   FOLD_EXISTS_ONE},
    {S_INIT("existsOne"),         2,        true,  LIB_STD,      quantifier,   FOLD_EXISTS_ONE},
    {S_INIT("map"),               2,        true,  LIB_STD,      collector,    FOLD_MAP       },
    {S_INIT("map"),               3,        true,  LIB_STD,      collector,    FOLD_MAP       },
    {S_INIT("filter"),            2,        true,  LIB_STD,      collector,    FOLD_FILTER    },
    {S_INIT("all"),               3,        true,  LIB_TWO_VAR,  quantifier,   FOLD_ALL       },
    {S_INIT("exists"),            3,        true,  LIB_TWO_VAR,  quantifier,   FOLD_EXISTS    },
    {S_INIT("exists_one"),        3,        true,  LIB_TWO_VAR,  quantifier,   FOLD_EXISTS_ONE},
    {S_INIT("existsOne"),         3,        true,  LIB_TWO_VAR,  quantifier,   FOLD_EXISTS_ONE},
    {S_INIT("transformList"),     3,        true,  LIB_TWO_VAR,  collector,    FOLD_TO_LIST   },
    {S_INIT("transformList"),     4,        true,  LIB_TWO_VAR,  collector,    FOLD_TO_LIST   },
    {S_INIT("transformMap"),      3,        true,  LIB_TWO_VAR,  collector,    FOLD_TO_MAP    },
    {S_INIT("transformMap"),      4,        true,  LIB_TWO_VAR,  collector,    FOLD_TO_MAP    },
    {S_INIT("transformMapEntry"), 3,        true,  LIB_TWO_VAR,  collector,    FOLD_TO_ENTRIES},
    {S_INIT("transformMapEntry"), 4,        true,  LIB_TWO_VAR,  collector,    FOLD_TO_ENTRIES},
    {S_INIT("bind"),              3,        true,  LIB_BIND,     cel_bind,     0              },
    {S_INIT("optMap"),            2,        true,  LIB_OPTIONAL, opt_map,      0              },
    {S_INIT("optFlatMap"),        2,        true,  LIB_OPTIONAL, opt_map,      1              },
    {S_INIT("sortBy"),            2,        true,  LIB_LISTS,    sort_by,      0              },
    {S_INIT("block"),             2,        true,  LIB_BLOCK,    cel_block,    0              },
    {S_INIT("index"),             1,        true,  LIB_BLOCK,    block_name,   0              },
    {S_INIT("iterVar"),           2,        true,  LIB_BLOCK,    block_name,   1              },
    {S_INIT("accuVar"),           2,        true,  LIB_BLOCK,    block_name,   2              },
    {S_INIT("least"),             ANY_ARGS, true,  LIB_MATH,     math_extreme, 0              },
    {S_INIT("greatest"),          ANY_ARGS, true,  LIB_MATH,     math_extreme, 1              },
    {S_INIT("getExt"),            2,        true,  LIB_PROTO,    proto_ext,    0              },
    {S_INIT("hasExt"),            2,        true,  LIB_PROTO,    proto_ext,    1              },
};

struct node *macro_expand(struct arena *a, const struct cel_env *env, struct node *call,
                          struct report *r)
{
    uint32_t n_args = call->n - call->is_member;

    for (size_t i = 0; i < countof(macros); i++) {
        const struct macro *m = &macros[i];
        if (m->is_member == call->is_member && env_has(env, (enum lib)m->lib) &&
            (m->n_args == n_args || m->n_args == ANY_ARGS) && str_eq(m->name, call->name))
            return m->expand(a, call, m, r);
    }
    return call;
}
