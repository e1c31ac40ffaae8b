/* plan.c - the checked tree as operations
 *
 * Constants are folded bottom-up where the environment folds (then they cost nothing) and made
 * beforehand where it does not (then they cost what making them would). Chains of selections
 * become one operation; the paths of a device become slots; comparisons of a slot with a
 * constant become one operation.
 */
#include "cel/planner_priv.h"
#include "cel/scan_priv.h"

static void plan_node(struct planner *p, const struct node *n, struct op *out);

static struct op *new_ops(struct planner *p, size_t n)
{
    return arena_array(p->a, struct op, MAX(n, (size_t)1));
}

/* Operands that may be folded away; kept by plan_keep_ops() where they are not. */
static struct op *scratch_ops(struct planner *p, size_t n)
{
    return arena_array(p->scratch, struct op, MAX(n, (size_t)1));
}

const struct op *plan_keep_ops(struct planner *p, const struct op *ops, size_t n)
{
    struct op *copy = new_ops(p, n);

    if (n)
        memcpy(copy, ops, n * sizeof(*ops));
    return copy;
}

/* ---- constants ---- */

static struct cel_value keep(struct planner *p, struct cel_value v)
{
    if (v.kind == CEL_STRING || v.kind == CEL_BYTES)
        v.s = str_copy(p->a, cel_str(v)).at;
    return v;
}

static void set_const(struct planner *p, const struct node *n, struct cel_value v,
                      uint32_t cost, struct op *out)
{
    op_set(out, OP_CONST, n);
    out->value = keep(p, v);
    out->n = cost;
    out->is_folded = cost == 0;
}

static bool is_folded(const struct op *op)
{
    return op_is_const(op) && op->is_folded;
}

/* ---- names and chains ---- */

static void plan_fail(struct planner *p, const struct node *n, struct str name, struct op *out)
{
    struct str copy = str_copy(p->a, name);

    op_set(out, OP_FAIL, n);
    out->name = arena_copy(p->a, &copy);
}

/* A name that means something by itself; false: a selection on something else. */
static bool plan_name(struct planner *p, const struct node *n, struct op *out)
{
    if (n->local >= 0) {
        bool is_lazy = p->p->lazies[n->local] != NULL;
        op_set(out, is_lazy ? OP_LAZY : OP_LOCAL, n);
        out->n = (uint32_t)n->local;
        return true;
    }
    if (n->constant) {
        set_const(p, n, *n->constant, 0, out);
        return true;
    }
    if (n->var >= 0) {
        op_set(out, OP_VAR, n);
        out->n = (uint32_t)n->var;
        return true;
    }
    return false;
}

/* A chain on what `op` is: the same chain longer, or a new one. */
static struct attr *attr_grow(struct planner *p, const struct op *op)
{
    const struct attr *old = op->code == OP_ATTR ? op->attr : NULL;
    uint32_t n = old ? old->n : 0;
    struct attr *attr = arena_alloc(
        p->scratch, sizeof(*attr) + (n + 1) * sizeof(attr->quals[0]), _Alignof(struct attr));

    if (old) {
        memcpy(attr, old, sizeof(*attr) + n * sizeof(attr->quals[0]));
    } else {
        attr->root = arena_copy(p->scratch, op);
    }
    attr->n = n + 1;
    return attr;
}

void plan_chain(struct planner *p, const struct node *n, const struct op *target,
                struct qualifier q, struct op *out)
{
    struct attr *attr = attr_grow(p, target);

    attr->quals[attr->n - 1] = q;
    attr->has_opt |= q.is_opt;
    op_set(out, OP_ATTR, n);
    out->attr = attr;
    out->is_test = q.is_test;
}

/* A chain as the program keeps it. */
static void keep_attr(struct planner *p, struct op *op)
{
    const struct attr *old = op->attr;
    size_t size = sizeof(*old) + old->n * sizeof(old->quals[0]);
    struct attr *attr = arena_alloc(p->a, size, _Alignof(struct attr));

    memcpy(attr, old, size);
    attr->root = arena_copy(p->a, old->root);
    attr->is_plain = old->root->code == OP_VAR || old->root->code == OP_LOCAL;
    for (uint32_t i = 0; i < attr->n; i++) {
        struct qualifier *q = &attr->quals[i];
        q->key = keep(p, q->key);
        attr->is_plain &= !q->op && !q->is_opt && !q->is_test;
    }
    op->attr = attr;
}

/* To be called once for each operation that is part of the program. */
static void settle(struct planner *p, struct op *op)
{
    plan_settle_slot(p, op);
    if (op->code == OP_ATTR)
        keep_attr(p, op);
}

static void settle_all(struct planner *p, struct op *args, size_t n)
{
    for (size_t i = 0; i < n; i++)
        settle(p, &args[i]);
}

/* ---- selections ---- */

static void plan_select(struct planner *p, const struct node *n, struct op *out)
{
    struct op target;
    struct str name = n->name;
    struct qualifier q = {.is_opt = n->is_opt, .is_test = n->is_test, .is_field = true};

    if (!n->is_test && !n->is_opt && plan_name(p, n, out))
        return;
    plan_node(p, n->target, &target);
    if (p->env->knows_keywords && n->target->type && n->target->type->kind == CEL_T_STRUCT &&
        !cel_type_field(n->target->type, name)) {
        struct str escaped = str_printf(p->scratch, "__%.*s__", STR_ARG(name));
        if (cel_type_field(n->target->type, escaped))
            name = escaped;
    }
    q.key = cel_text(name);
    plan_chain(p, n, &target, q, out);
}

static void plan_index(struct planner *p, const struct node *n, bool is_opt, struct op *out)
{
    struct op target, key;
    struct qualifier q = {.is_opt = is_opt};

    plan_node(p, n->args[0], &target);
    if (n->args[1]->kind == N_CONST) {
        q.key = n->args[1]->value;
    } else {
        plan_node(p, n->args[1], &key);
        settle(p, &key);
        q.op = arena_copy(p->a, &key);
    }
    plan_chain(p, n, &target, q, out);
}

/* ---- lists, maps, messages ---- */

/* A literal whose parts are all constant, as a value. */
static bool fold_literal(struct planner *p, const struct node *n, const struct op *args,
                         size_t n_args, uint32_t base, struct op *out)
{
    uint32_t cost = p->env->folds ? 0 : base;
    struct cel_value v;

    for (uint32_t i = 0; i < n->n; i++)
        if (n->entries[i].is_opt)
            return false;
    for (size_t i = 0; i < n_args; i++) {
        if (!op_is_const(&args[i]) || (p->env->folds && !is_folded(&args[i])))
            return false;
        cost += args[i].n;
    }
    if (n->kind == N_LIST) {
        struct cel_value *items = arena_array(p->a, struct cel_value, MAX(n_args, (size_t)1));
        for (size_t i = 0; i < n_args; i++)
            items[i] = args[i].value;
        v = cel_list(items, n_args);
    } else {
        struct cel_value *values = arena_array(p->a, struct cel_value, MAX(n_args, (size_t)1));
        for (size_t i = 0; i < n_args; i++)
            values[i] = args[i].value;
        v = value_map(p->a, p->env, values, n_args / 2);
        if (v.kind == CEL_ERROR)
            return false;
    }
    set_const(p, n, v, cost, out);
    return true;
}

static void plan_literal(struct planner *p, const struct node *n, struct op *out)
{
    bool is_map = n->kind == N_MAP, has_opt = false;
    size_t n_args = is_map ? 2 * (size_t)n->n : n->n;
    struct op *args = scratch_ops(p, n_args);
    bool *opts = arena_array(p->scratch, bool, MAX(n->n, 1u));
    struct list_info info = {0};

    for (uint32_t i = 0; i < n->n; i++) {
        opts[i] = n->entries[i].is_opt;
        has_opt |= opts[i];
        if (is_map)
            plan_node(p, n->entries[i].key, &args[2 * i]);
        plan_node(p, n->entries[i].value, &args[is_map ? 2 * i + 1 : i]);
    }
    settle_all(p, args, n_args);
    if (fold_literal(p, n, args, n_args, is_map ? 30 : 10, out))
        return;
    op_set(out, is_map ? OP_MAP : OP_LIST, n);
    out->n = n->n;
    out->args = plan_keep_ops(p, args, n_args);
    if (has_opt)
        info.is_opt = memcpy(arena_array(p->a, bool, n->n), opts, n->n);
    out->list = arena_copy(p->a, &info);
}

static void plan_message(struct planner *p, const struct node *n, struct op *out)
{
    struct op *args = new_ops(p, n->n);
    bool *opts = arena_array(p->a, bool, MAX(n->n, 1u));
    uint16_t *fields = arena_array(p->a, uint16_t, MAX(n->n, 1u));
    struct list_info info = {.is_opt = opts, .fields = fields};

    if (!n->constant) {
        plan_fail(p, n, n->name, out);
        return;
    }
    info.type = n->constant->type;
    for (uint32_t i = 0; i < n->n; i++) {
        const struct cel_field *f = cel_type_field(info.type, n->entries[i].field);
        if (!f) {
            plan_fail(p, n, n->entries[i].field, out);
            return;
        }
        fields[i] = (uint16_t)(f - info.type->fields);
        opts[i] = n->entries[i].is_opt;
        plan_node(p, n->entries[i].value, &args[i]);
    }
    settle_all(p, args, n->n);
    op_set(out, OP_MESSAGE, n);
    out->n = n->n;
    out->args = args;
    out->list = arena_copy(p->a, &info);
}

/* ---- calls ---- */

static const struct {
    struct str name;
    enum op_code code;
} operators[] = {
    {S_INIT("_==_"),  OP_EQ  },
    {S_INIT("_!=_"),  OP_NE  },
    {S_INIT("_<_"),   OP_LT  },
    {S_INIT("_<=_"),  OP_LE  },
    {S_INIT("_>_"),   OP_GT  },
    {S_INIT("_>=_"),  OP_GE  },
    {S_INIT("_+_"),   OP_ADD },
    {S_INIT("_-_"),   OP_SUB },
    {S_INIT("_*_"),   OP_MUL },
    {S_INIT("_/_"),   OP_DIV },
    {S_INIT("_%_"),   OP_MOD },
    {S_INIT("-_"),    OP_NEG },
    {S_INIT("!_"),    OP_NOT },
    {S_INIT("@in"),   OP_IN  },
    {S_INIT("_?_:_"), OP_COND},
    {S_INIT("_&&_"),  OP_AND },
    {S_INIT("_||_"),  OP_OR  },
};

static int operator_of(struct str name)
{
    if (name.len > 5 || name.len < 2)
        return -1;
    for (size_t i = 0; i < countof(operators); i++)
        if (str_eq(operators[i].name, name))
            return operators[i].code;
    return -1;
}

static bool is_logic(const struct node *n, struct str name)
{
    return n->kind == N_CALL && n->n == 2 && str_eq(n->name, name) && !n->is_member;
}

static size_t count_terms(const struct node *n, struct str name)
{
    return is_logic(n, name) ? count_terms(n->args[0], name) + count_terms(n->args[1], name)
                             : 1;
}

static struct op *plan_terms(struct planner *p, const struct node *n, struct str name,
                             struct op *out)
{
    if (is_logic(n, name)) {
        out = plan_terms(p, n->args[0], name, out);
        return plan_terms(p, n->args[1], name, out);
    }
    plan_node(p, n, out);
    settle(p, out);
    return out + 1;
}

/* `&&` and `||` of any shape as one operation: their order is the same. */
static void plan_logic(struct planner *p, const struct node *n, enum op_code code,
                       struct op *out)
{
    size_t n_terms = count_terms(n, n->name);
    struct op *args = new_ops(p, n_terms);

    plan_terms(p, n, n->name, args);
    op_set(out, code, n);
    out->n = (uint32_t)n_terms;
    out->args = args;
}

static bool is_conversion(struct str name)
{
    static const struct str names[] = {
        S_INIT("bool"), S_INIT("bytes"), S_INIT("double"), S_INIT("duration"),
        S_INIT("dyn"),  S_INIT("int"),   S_INIT("string"), S_INIT("timestamp"),
        S_INIT("type"), S_INIT("uint"),
    };

    for (size_t i = 0; i < countof(names); i++)
        if (str_eq(names[i], name))
            return true;
    return false;
}

/* A conversion of a constant; false with the reason reported where it cannot be. */
static bool fold_conversion(struct planner *p, const struct node *n, const struct op *call,
                            struct op *out)
{
    struct cel_run run = {.arena = p->a};
    struct ctx c;

    if (n->n != 1 || !is_folded(&call->args[0]) || !is_conversion(n->name) || !p->env->folds)
        return false;
    ctx_init(&c, p->p, &run, NULL);
    struct cel_value v = op_eval(&c, call);
    if (v.kind == CEL_ERROR) {
        struct str s = cel_error_text(p->a, v);
        issue_report(p->report, n->pos, "%.*s", STR_ARG(s));
        p->report->out->is_program = true;
    }
    if (cel_is_stop(v))
        return false;
    set_const(p, n, v, 0, out);
    return true;
}

/* quantity("1Ki"), ip("::1") and their kin: made once, charged each time as if they were not.
 */
static bool make_beforehand(struct planner *p, const struct node *n, const struct op *call,
                            struct op *out)
{
    struct cel_run run = {.arena = p->a, .limit = UINT32_MAX};
    struct ctx c;

    if (n->n_overloads != 1 || !n->overloads[0]->row ||
        n->overloads[0]->row->lib == LIB_K8S_AUTHZ || n->type->kind != CEL_T_OPAQUE)
        return false;
    for (uint32_t i = 0; i < n->n; i++)
        if (!op_is_const(&call->args[i]))
            return false;
    ctx_init(&c, p->p, &run, NULL);
    struct cel_value v = op_eval(&c, call);
    if (v.kind < CEL_QUANTITY || v.kind > CEL_FORMAT || c.cost > UINT32_MAX)
        return false;
    set_const(p, n, v, (uint32_t)c.cost, out);
    out->is_folded = false;
    return true;
}

static bool is_pattern_function(const struct function *f)
{
    return str_eqz(f->name, "matches") || str_eqz(f->name, "find") ||
           str_eqz(f->name, "findAll");
}

/* Compiles constant patterns once. */
static void prepare(struct planner *p, const struct node *n, const struct op *args,
                    struct call_info *info)
{
    struct err err = {0};

    if (!info->function || !is_pattern_function(info->function) || n->n < 2 ||
        !op_is_const(&args[1]) || args[1].value.kind != CEL_STRING)
        return;
    struct regex *re = regex_new(cel_str(args[1].value), &err);
    if (re) {
        vec_push(&p->p->patterns, re);
        struct pattern pattern = {re, scan_new(p->a, cel_str(args[1].value))};
        info->prepared = arena_copy(p->a, &pattern);
        info->is_prepared_strict = p->env->folds;
    } else if (p->env->folds) {
        issue_report(p->report, n->args[1]->pos, "%s", err.text);
        p->report->out->is_program = true;
    }
}

static void plan_call(struct planner *p, const struct node *n, const struct op *args,
                      struct op *out)
{
    struct call_info info = {.function = n->function, .n_overloads = n->n_overloads};
    const struct overload **copy =
        arena_array(p->scratch, const struct overload *, MAX(n->n_overloads, 1u));

    for (uint32_t i = 0; i < n->n_overloads; i++)
        copy[i] = n->overloads[i];
    info.overloads = copy;
    prepare(p, n, args, &info);
    op_set(out, OP_CALL, n);
    out->n = n->n;
    out->args = args;
    out->cost = (uint8_t)cost_rule(p->env, n->function, n->overloads, n->n_overloads);
    out->call = arena_copy(p->scratch, &info);
}

static const struct call_info *keep_call(struct planner *p, const struct call_info *call)
{
    struct call_info *copy = arena_new(p->a, struct call_info);
    const struct overload **all =
        arena_array(p->a, const struct overload *, MAX(call->n_overloads, 1u));

    for (uint32_t i = 0; i < call->n_overloads; i++)
        all[i] = call->overloads[i];
    *copy = *call;
    copy->overloads = all;
    return copy;
}

/* `x in [constants]`, where the checker knows what both are. */
static bool plan_in_set(struct planner *p, const struct node *n, const struct op *args,
                        struct op *out)
{
    struct const_set set_ = {0};
    struct cel_value list = args[1].value;
    const struct cel_type *t = n->args[1]->type, *x = n->args[0]->type;
    uint32_t *index, size = 4;

    if (!p->env->folds || !is_folded(&args[1]) || list.kind != CEL_LIST ||
        n->n_overloads != 1 || !t || t->kind != CEL_T_LIST)
        return false;
    if (list.len == 0) {
        set_const(p, n, cel_bool(false), 0, out);
        return true;
    }
    uint8_t kind = t->params[0]->kind;
    if (x->kind == CEL_T_DYN || x->kind == CEL_T_ANY ||
        (kind != CEL_T_BOOL && kind != CEL_T_INT && kind != CEL_T_UINT &&
         kind != CEL_T_DOUBLE && kind != CEL_T_STRING))
        return false;
    set_.items = list.items;
    set_.n = list.len;
    set_.is_plain = kind != CEL_T_STRING || list.len < 4;
    if (!set_.is_plain) {
        while (size < list.len * 2)
            size *= 2;
        index = arena_array(p->a, uint32_t, size);
        set_.mask = size - 1;
        for (uint32_t i = 0; i < list.len; i++) {
            uint32_t at = (uint32_t)str_digest(cel_str(list.items[i])) & set_.mask;
            while (index[at])
                at = (at + 1) & set_.mask;
            index[at] = i + 1;
        }
        set_.index = index;
    }
    op_set(out, OP_IN_SET, n);
    out->args = args;
    out->n = 1;
    out->set = arena_copy(p->a, &set_);
    return true;
}

static void plan_operator(struct planner *p, const struct node *n, enum op_code code,
                          struct op *out)
{
    struct op *args = scratch_ops(p, n->n);
    enum cost rule = cost_rule(p->env, n->function, n->overloads, n->n_overloads);

    for (uint32_t i = 0; i < n->n; i++)
        plan_node(p, n->args[i], &args[i]);
    if (code == OP_IN && (plan_in_set(p, n, args, out) || plan_slot_in(p, n, args, out))) {
        if (out->code == OP_IN_SET) {
            settle(p, args);
            out->args = plan_keep_ops(p, args, 1);
        }
        return;
    }
    settle_all(p, args, n->n);
    if (n->n == 2 && plan_slot_cmp(p, n, code, args, rule, out))
        return;
    op_set(out, code, n);
    out->n = n->n;
    out->args = plan_keep_ops(p, args, n->n);
    out->cost = (uint8_t)rule;
}

static void plan_function(struct planner *p, const struct node *n, struct op *out)
{
    struct op *args, call;
    const struct str *name = &n->name;

    if (n->constant) { /* E(x) of a strong enum */
        args = new_ops(p, 1);
        plan_node(p, n->args[0], args);
        op_set(out, OP_ENUM, n);
        out->args = args;
        out->type = n->constant->type;
        return;
    }
    args = scratch_ops(p, n->n);
    for (uint32_t i = 0; i < n->n; i++)
        plan_node(p, n->args[i], &args[i]);
    settle_all(p, args, n->n);
    if (!n->function || n->n_overloads == 0) {
        plan_fail(p, n, n->function ? S("no such overload") : *name, out);
        if (n->function) {
            plan_call(p, n, plan_keep_ops(p, args, n->n), out);
            out->call = keep_call(p, out->call);
        }
        return;
    }
    if (n->is_member && n->n == 2 && (str_eqz(*name, "or") || str_eqz(*name, "orValue"))) {
        op_set(out, OP_OR_ELSE, n);
        out->args = plan_keep_ops(p, args, 2);
        out->n = str_eqz(*name, "orValue");
        return;
    }
    if (n->is_member && n->n == 2 &&
        plan_slot_cmp(p, n, plan_call_order(n), args,
                      cost_rule(p->env, n->function, n->overloads, n->n_overloads), out))
        return;
    plan_call(p, n, args, &call);
    if (!fold_conversion(p, n, &call, out) && !make_beforehand(p, n, &call, out)) {
        *out = call;
        out->args = plan_keep_ops(p, args, n->n);
        out->call = keep_call(p, call.call);
    }
}

static void plan_any_call(struct planner *p, const struct node *n, struct op *out)
{
    int code = n->is_member ? -1 : operator_of(n->name);

    if (!n->is_member && n->n == 2 && str_eqz(n->name, "_[_]"))
        plan_index(p, n, false, out);
    else if (!n->is_member && n->n == 2 && str_eqz(n->name, "_[?_]"))
        plan_index(p, n, true, out);
    else if (code == OP_AND || code == OP_OR)
        plan_logic(p, n, (enum op_code)code, out);
    else if (code >= 0 && n->function)
        plan_operator(p, n, (enum op_code)code, out);
    else
        plan_function(p, n, out);
}

/* ---- loops ---- */

static const struct op *plan_part(struct planner *p, const struct node *n)
{
    struct op *op;

    if (!n)
        return NULL;
    op = new_ops(p, 1);
    plan_node(p, n, op);
    settle(p, op);
    return op;
}

static void plan_bind(struct planner *p, const struct node *n, struct op *out)
{
    const struct fold *f = n->fold;
    struct fold_info info = {.kind = f->kind, .local = (uint32_t)n->local};

    p->p->lazies[n->local] = plan_part(p, f->init);
    info.init_cost = p->env->folds ? 0 : 10;
    info.body = plan_part(p, f->result);
    op_set(out, OP_FOLD, n);
    out->fold = arena_copy(p->a, &info);
}

static void plan_block(struct planner *p, const struct node *n, struct op *out)
{
    const struct fold *f = n->fold;
    struct block_info info = {.n = f->n_slots};

    info.locals = arena_array(p->a, uint32_t, MAX(f->n_slots, 1u));
    for (uint32_t i = 0; i < f->n_slots; i++) {
        info.locals[i] = f->slot_locals[i];
        p->p->lazies[f->slot_locals[i]] = plan_part(p, f->slots[i]);
    }
    info.body = plan_part(p, f->body);
    op_set(out, OP_BLOCK, n);
    out->block = arena_copy(p->a, &info);
}

static void plan_fold(struct planner *p, const struct node *n, struct op *out)
{
    const struct fold *f = n->fold;
    struct fold_info info = {
        .kind = f->kind, .has_two = f->has_two, .local = (uint32_t)n->local};

    if (f->kind == FOLD_BIND) {
        plan_bind(p, n, out);
        return;
    }
    if (f->kind == FOLD_BLOCK) {
        plan_block(p, n, out);
        return;
    }
    info.range = plan_part(p, f->range);
    info.pred = plan_part(p, f->pred);
    info.body = plan_part(p, f->body);
    if (!p->env->folds)
        info.init_cost = f->kind == FOLD_TO_MAP || f->kind == FOLD_TO_ENTRIES ? 30 : 10;
    info.item_cost = p->env->folds && info.body && is_folded(info.body) ? 0 : 10;
    op_set(out, OP_FOLD, n);
    out->fold = arena_copy(p->a, &info);
}

static void plan_node(struct planner *p, const struct node *n, struct op *out)
{
    switch ((enum node_kind)n->kind) {
    case N_CONST:
        set_const(p, n, n->value, 0, out);
        break;
    case N_IDENT:
        if (!plan_name(p, n, out))
            plan_fail(p, n, n->name, out);
        break;
    case N_SELECT:
        plan_select(p, n, out);
        break;
    case N_CALL:
        plan_any_call(p, n, out);
        break;
    case N_LIST:
    case N_MAP:
        plan_literal(p, n, out);
        break;
    case N_STRUCT:
        plan_message(p, n, out);
        break;
    case N_FOLD:
        plan_fold(p, n, out);
        break;
    default:
        plan_fail(p, n, S("?"), out);
    }
}

/* ---- the whole ---- */

static const struct cel_type *copy_type(struct arena *a, const struct cel_type *t)
{
    const struct cel_type *params[UINT8_MAX];

    if (t->n_params == 0 || t->kind == CEL_T_STRUCT)
        return t;
    for (size_t i = 0; i < t->n_params; i++)
        params[i] = copy_type(a, t->params[i]);
    return cel_type_with(a, t->kind, t->name, params, t->n_params);
}

#define PROGRAM_BLOCK 1024

struct cel_program *ast_plan(const struct cel_env *env, struct node *root, int n_locals,
                             struct str text, struct arena *scratch, struct report *r)
{
    struct cel_program *p = mem_zero(1, sizeof(*p));
    struct planner pl = {.p = p, .env = env, .report = r, .scratch = scratch};
    size_t n_issues = r->out->list.len;

    p->arena = arena_sized(PROGRAM_BLOCK);
    pl.a = &p->arena;
    p->env = env;
    p->text = str_copy(&p->arena, text);
    p->n_locals = (uint32_t)n_locals;
    p->limit = env->limit;
    p->test_is_free = env->test_is_free;
    p->has_device = env->is_device || env->is_named;
    p->lazies = arena_array(&p->arena, const struct op *, (size_t)MAX(n_locals, 1));
    const struct env_var *device = env->is_device ? env_var(env, S("device")) : NULL;
    p->device_var = device ? device->index : -1;
    p->type = copy_type(&p->arena, root->type);
    plan_node(&pl, root, &p->root);
    settle(&pl, &p->root);
    if (pl.slots.len)
        p->slots = memcpy(arena_array(&p->arena, struct cel_slot, pl.slots.len), pl.slots.at,
                          pl.slots.len * sizeof(*p->slots));
    p->n_slots = (uint32_t)pl.slots.len;
    if (r->out->list.len != n_issues) {
        cel_program_free(p);
        return NULL;
    }
    return p;
}

void cel_program_free(struct cel_program *p)
{
    if (!p)
        return;
    vec_each (i, &p->patterns)
        regex_free(p->patterns.at[i]);
    vec_fini(&p->patterns);
    arena_fini(&p->arena);
    free(p);
}
