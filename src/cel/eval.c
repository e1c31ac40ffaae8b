/* eval.c - evaluation
 *
 * A walk over the operations; recursion is bounded by the depth the parser allows. Errors and
 * unknowns are values that travel up and are absorbed where the language says. Each operation
 * charges its cost as it ends; an evaluation over its limits stops with an error that nothing
 * absorbs.
 */
#include "cel/eval_priv.h"

/* ---- chains ---- */

static struct cel_value resolve(struct ctx *c, const struct op *op);

static inline struct cel_value read_var(struct ctx *c, const struct op *op)
{
    struct cel_value v = {0};

    if (c->p->has_device && device_has_var(c->p->env, op->n))
        return device_value(c, op->n);
    if (c->run->vars)
        v = c->run->vars[op->n];
    else if (c->run->var)
        v = c->run->var(c->run, (int)op->n);
    if (unlikely(v.kind == CEL_ABSENT))
        return cel_fail_name(CEL_E_NO_VAR, str_slice(c->p->text, op->from, op->to));
    return v;
}

static struct cel_value read_lazy(struct ctx *c, uint32_t local)
{
    if (c->locals[local].kind == CEL_ABSENT)
        c->locals[local] = op_eval(c, c->p->lazies[local]);
    return c->locals[local];
}

static inline struct cel_value slot_value(struct ctx *c, uint32_t slot)
{
    if (c->slots)
        return c->slots[slot];
    if (c->device)
        return cel_device_slot(c->device, &c->p->slots[slot]);
    return (struct cel_value){0};
}

static struct cel_value read_slot(struct ctx *c, const struct op *op)
{
    struct cel_value v = slot_value(c, op->n & 0xFFFF);

    if (unlikely(v.kind == CEL_ABSENT))
        return cel_fail_name(CEL_E_NO_KEY, c->p->slots[op->n & 0xFFFF].name);
    return v;
}

static struct cel_value test_slot(struct ctx *c, const struct op *op)
{
    struct cel_value v = slot_value(c, op->n & 0xFFFF);

    return v.kind == CEL_UNKNOWN ? v : cel_bool(v.kind != CEL_ABSENT);
}

static bool has_parts(struct cel_value v)
{
    return v.kind == CEL_MAP || v.kind == CEL_LIST || v.kind == CEL_OPTIONAL ||
           v.kind == CEL_MESSAGE || v.kind == CEL_OBJECT;
}

/* An optional step: CEL_ABSENT where there is nothing. On what has no parts the language's
 * definition errs, cel-go finds nothing. */
static struct cel_value peek(struct ctx *c, struct cel_value v, struct cel_value key,
                             bool is_field)
{
    bool exists;

    if (v.kind == CEL_MESSAGE && key.kind == CEL_STRING &&
        !message_has(v, cel_str(key), &exists))
        return exists ? (struct cel_value){0} : cel_fail_name(CEL_E_NO_FIELD, cel_str(key));
    if (c->p->env->is_definition && !has_parts(v))
        return value_select(c->arena, v, key, is_field);
    return value_peek(c->arena, v, key, is_field);
}

/* has(): is the last step there? */
static struct cel_value test(struct ctx *c, struct cel_value v, struct cel_value key)
{
    bool is_field = true, is_set;

    while (v.kind == CEL_OPTIONAL) {
        if (v.len == 0)
            return cel_bool(false);
        v = v.items[0];
    }
    if (v.kind == CEL_MESSAGE) {
        is_set = message_has(v, cel_str(key), &is_field);
        return is_field ? cel_bool(is_set) : cel_fail_name(CEL_E_NO_FIELD, cel_str(key));
    }
    if (v.kind == CEL_MAP)
        return cel_bool(cel_get(c->arena, v, key).kind != CEL_ABSENT);
    if (c->p->env->is_definition && !has_parts(v))
        return value_select(c->arena, v, key, true);
    return cel_bool(value_peek(c->arena, v, key, true).kind != CEL_ABSENT);
}

/* A member of a small map, found without a call. */
static inline struct cel_value select_text(struct ctx *c, struct cel_value v,
                                           const struct qualifier *q)
{
    if (v.kind == CEL_MAP && v.form == CEL_ARRAY && q->key.kind == CEL_STRING &&
        !v.map->index) {
        for (uint32_t i = 0; i < v.len; i++) {
            const struct cel_entry *e = &v.map->entries[i];
            if (e->key.len == q->key.len && e->key.kind == CEL_STRING &&
                bytes_eq(e->key.s, q->key.s, q->key.len))
                return e->value;
        }
    }
    return value_select(c->arena, v, q->key, q->is_field);
}

/* Constant selections on a variable. */
static inline struct cel_value resolve_plain(struct ctx *c, const struct attr *attr)
{
    struct cel_value v =
        attr->root->code == OP_VAR ? read_var(c, attr->root) : c->locals[attr->root->n];
    uint32_t i = 0;

    for (; i < attr->n && !cel_is_stop(v); i++) {
        if (unlikely(v.kind == CEL_OPTIONAL))
            break;
        v = select_text(c, v, &attr->quals[i]);
    }
    if (unlikely(i < attr->n && v.kind == CEL_OPTIONAL))
        return (struct cel_value){0};
    return charge_units(c, i) ? c->stop : v;
}

/* The chain's value, its own charge of 1 left out. */
static outlined struct cel_value resolve_attr(struct ctx *c, const struct op *op)
{
    const struct attr *attr = op->attr;

    if (likely(attr->is_plain)) {
        struct cel_value plain = resolve_plain(c, attr);
        if (unlikely(plain.kind == CEL_UNKNOWN))
            return cel_unknown_of(c->arena, str_slice(c->p->text, op->from, op->to));
        if (plain.kind != CEL_ABSENT)
            return plain;
    }
    struct cel_value v =
        attr->root->code == OP_ATTR ? op_eval(c, attr->root) : resolve(c, attr->root);
    bool is_opt = false;

    if (v.kind == CEL_OPTIONAL && attr->n) {
        if (v.len == 0 && !attr->quals[0].is_test)
            return v;
        if (v.len) {
            is_opt = !attr->quals[0].is_test;
            v = v.items[0];
        }
    }
    for (uint32_t i = 0; i < attr->n; i++) {
        const struct qualifier *q = &attr->quals[i];
        struct cel_value key = q->key;
        if (cel_is_stop(v))
            return v;
        if (q->op) {
            key = resolve(c, q->op);
            if (cel_is_stop(key)) {
                charge(c, 1);
                return key;
            }
        }
        if (q->is_test) {
            charge(c, 1);
            return test(c, v, key);
        }
        if (is_opt || q->is_opt) {
            is_opt = true;
            v = peek(c, v, key, q->is_field);
            if (v.kind == CEL_ABSENT)
                return attr->quals[attr->n - 1].is_test ? cel_bool(false) : cel_none();
        } else {
            v = value_select(c->arena, v, key, q->is_field);
        }
        if (charge(c, 1))
            return c->stop;
    }
    if (is_opt && !cel_is_stop(v))
        return cel_some(c->arena, v);
    return v;
}

static outlined struct cel_value eval_cond(struct ctx *c, const struct op *op)
{
    struct cel_value v = op_eval(c, &op->args[0]);

    if (cel_is_stop(v))
        return v;
    if (v.kind != CEL_BOOL)
        return no_overload();
    const struct op *branch = &op->args[v.b ? 1 : 2];
    v = resolve(c, branch);
    if (unlikely(c->trace))
        trace_note(c, branch, v);
    return v;
}

/* The value of a chain that is part of another one or a branch: it does not pay for itself. */
static struct cel_value resolve(struct ctx *c, const struct op *op)
{
    switch (op->code) {
    case OP_VAR:
        return read_var(c, op);
    case OP_LOCAL:
        return c->locals[op->n];
    case OP_LAZY:
        return read_lazy(c, op->n);
    case OP_ATTR:
        return resolve_attr(c, op);
    case OP_SLOT:
        if (charge_units(c, op->n >> 16))
            return c->stop;
        return read_slot(c, op);
    case OP_SLOT_TEST:
        if (!op->is_test)
            return op_eval(c, op);
        if (charge_units(c, op->n >> 16))
            return c->stop;
        return test_slot(c, op);
    default:
        return op_eval(c, op);
    }
}

static outlined struct cel_value eval_attr(struct ctx *c, const struct op *op)
{
    struct cel_value v = resolve_attr(c, op);

    if (!op->is_test || !c->p->test_is_free)
        if (charge(c, 1))
            return c->stop;
    return v;
}

/* eval() of what is most often a leaf. */
static inline struct cel_value operand(struct ctx *c, const struct op *op)
{
    if (op->code == OP_CONST && op->n == 0)
        return op->value;
    if (op->code == OP_LOCAL && !c->trace && likely(c->cost < c->limit)) {
        c->cost++;
        return c->locals[op->n];
    }
    return op_eval(c, op);
}

/* ---- logic ---- */

/* `&&` (decides at false) and `||` (decides at true). */
static outlined struct cel_value eval_logic(struct ctx *c, const struct op *op, bool decides)
{
    struct cel_value stop = {0};

    for (uint32_t i = 0; i < op->n; i++) {
        const struct op *arg = &op->args[i];
        struct cel_value v;
        uint64_t cost;
        bool b;
        if (arg->code == OP_SLOT_CMP && !c->trace &&
            slot_cmp_fast(arg->cmp, slot_value(c, arg->cmp->slot), &b, &cost)) {
            if (charge(c, cost))
                return c->stop;
            if (b == decides)
                return cel_bool(b);
            continue;
        }
        v = op_eval(c, arg);
        if (likely(v.kind == CEL_BOOL)) {
            if (v.b == decides)
                return v;
            continue;
        }
        if (is_stopped(c))
            return c->stop;
        if (v.kind == CEL_UNKNOWN)
            stop = unknown_merge(c->arena, stop, v);
        else if (stop.kind == CEL_ABSENT)
            stop = v.kind == CEL_ERROR ? v : no_overload();
    }
    return stop.kind == CEL_ABSENT ? cel_bool(!decides) : stop;
}

static outlined struct cel_value eval_not(struct ctx *c, const struct op *op)
{
    struct cel_value v = op_eval(c, op->args);

    if (charge(c, 1))
        return c->stop;
    if (likely(v.kind == CEL_BOOL))
        return cel_bool(!v.b);
    return cel_is_stop(v) ? v : no_overload();
}

/* ---- operators ---- */

/* What two operands that are not both plain come to. */
static struct cel_value first_stop(struct ctx *c, struct cel_value x, struct cel_value y)
{
    if (is_stopped(c))
        return c->stop;
    if (x.kind == CEL_UNKNOWN || y.kind == CEL_UNKNOWN)
        return unknown_merge(c->arena, x.kind == CEL_UNKNOWN ? x : y,
                             y.kind == CEL_UNKNOWN ? y : x);
    return x.kind == CEL_ERROR ? x : y;
}

static inline uint64_t binary_cost(uint8_t rule, const struct cel_value *args)
{
    if (rule == COST_ONE)
        return 1;
    if (rule == COST_EQUAL && args[0].kind == args[1].kind && args[0].kind >= CEL_BOOL &&
        args[0].kind <= CEL_DOUBLE)
        return 1;
    return cost_run((enum cost)rule, args, 2, args[0]);
}

static struct cel_value apply(struct ctx *c, enum op_code code, struct cel_value x,
                              struct cel_value y)
{
    struct cel_value v;

    switch (code) {
    case OP_EQ:
        return cel_equal(c->arena, x, y);
    case OP_NE:
        v = cel_equal(c->arena, x, y);
        return v.kind == CEL_BOOL ? cel_bool(!v.b) : v;
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        return value_order(code, x, y);
    case OP_IN:
        return value_in(c->arena, x, y);
    default:
        return value_arith(c->arena, code, x, y);
    }
}

/* Two ints, the most frequent case by far; false: not this one. */
static inline bool apply_ints(enum op_code code, int64_t x, int64_t y, struct cel_value *out)
{
    int64_t r;

    if (code >= OP_EQ && code <= OP_GE) {
        *out = cel_bool(order_is(code, (x > y) - (x < y)));
        return true;
    }
    if (code == OP_ADD && !__builtin_add_overflow(x, y, &r)) {
        *out = cel_int(r);
        return true;
    }
    if (code == OP_MUL && !__builtin_mul_overflow(x, y, &r)) {
        *out = cel_int(r);
        return true;
    }
    return false;
}

static outlined struct cel_value eval_binary_slow(struct ctx *c, const struct op *op,
                                                  struct cel_value x, struct cel_value y)
{
    struct cel_value args[2] = {x, y}, v;

    if (is_stopped(c))
        return c->stop;
    if (unlikely(cel_is_stop(x) || cel_is_stop(y)))
        v = first_stop(c, x, y);
    else
        v = apply(c, (enum op_code)op->code, x, y);
    if (charge(c, binary_cost(op->cost, args)))
        return c->stop;
    return v;
}

static outlined struct cel_value eval_binary(struct ctx *c, const struct op *op)
{
    struct cel_value x = operand(c, &op->args[0]), y = operand(c, &op->args[1]), v;

    if (x.kind == CEL_STRING && y.kind == CEL_STRING && op->code <= OP_NE &&
        (x.form & y.form & CEL_ASCII)) {
        bool is_same = x.len == y.len && bytes_eq(x.s, y.s, x.len);
        if (charge(c, (MIN(x.len, y.len) + 9) / 10))
            return c->stop;
        return cel_bool(is_same == (op->code == OP_EQ));
    }
    if (likely(x.kind == CEL_INT && y.kind == CEL_INT) &&
        apply_ints((enum op_code)op->code, x.i, y.i, &v))
        return charge_units(c, 1) ? c->stop : v;
    return eval_binary_slow(c, op, x, y);
}

static outlined struct cel_value eval_neg(struct ctx *c, const struct op *op)
{
    struct cel_value v = op_eval(c, op->args);

    if (charge(c, 1))
        return c->stop;
    return cel_is_stop(v) ? v : value_neg(v);
}

/* ---- slots ---- */

/* The comparison of a slot's value, and what it costs in all. */
struct cel_value slot_compare(struct ctx *c, const struct slot_cmp *cmp, struct cel_value v,
                              uint64_t *cost)
{
    struct cel_value args[] = {v, cmp->constant}, r;
    bool is_true;

    if (slot_cmp_fast(cmp, v, &is_true, cost))
        return cel_bool(is_true);
    if (v.kind == CEL_ABSENT)
        r = args[0] = cel_fail_name(CEL_E_NO_KEY, c->p->slots[cmp->slot].name);
    else if (cel_is_stop(v))
        r = v;
    else if (cmp->is_call && v.kind != cmp->constant.kind)
        r = cel_fail_name(CEL_E_NO_OVERLOAD,
                          cmp->op == OP_GT ? S("isGreaterThan") : S("isLessThan"));
    else if (cmp->is_call)
        r = cel_bool(order_is((enum op_code)cmp->op,
                              v.kind == CEL_SEMVER
                                  ? semver_cmp(v.semver, cmp->constant.semver)
                                  : quantity_cmp(v.quantity, cmp->constant.quantity)));
    else
        r = apply(c, (enum op_code)cmp->op, v, cmp->constant);
    *cost = cmp->chain_cost + (cmp->is_call ? 1 : binary_cost(cmp->rule, args));
    return r;
}

static outlined struct cel_value eval_slot_cmp(struct ctx *c, const struct op *op)
{
    struct cel_value slot = slot_value(c, op->cmp->slot), v;
    uint64_t cost;

    v = slot_compare(c, op->cmp, slot, &cost);
    if (unlikely(c->trace) && slot.kind != CEL_ABSENT)
        trace_note(c, &op->args[0], slot);
    return charge(c, cost) ? c->stop : v;
}

/* ---- calls ---- */

static bool fits(struct ctx *c, const struct overload *o, const struct cel_value *args,
                 size_t n)
{
    return overload_fits(c->arena, o, args, n);
}

struct cel_value op_call(struct ctx *c, const struct call_info *info,
                         const struct cel_value *args, size_t n)
{
    struct cel_call call = {
        .run = c->run, .arena = c->arena, .env = c->p->env, .prepared = info->prepared};

    for (uint32_t i = 0; i < info->n_overloads; i++) {
        const struct overload *o = info->overloads[i];
        if (!fits(c, o, args, n))
            continue;
        call.data = o->data;
        return o->fn ? o->fn(&call, args, n)
                     : cel_fail_text(c->arena, "'%.*s' has no implementation here",
                                     STR_ARG(info->function->name));
    }
    return cel_fail_name(CEL_E_NO_OVERLOAD, info->function->name);
}

static uint64_t cost_of_call(const struct op *op, const struct cel_value *args,
                             struct cel_value result)
{
    if (op->cost == COST_ONE)
        return 1;
    if (op->cost == COST_FIXED)
        return op->call->overloads[0]->fixed_cost;
    return cost_run((enum cost)op->cost, args, op->n, result);
}

static outlined struct cel_value eval_call(struct ctx *c, const struct op *op)
{
    struct cel_value args[MAX_ARGS], v = {0};
    bool is_strict = op->n > 2 || op->call->is_prepared_strict;

    for (uint32_t i = 0; i < op->n; i++) {
        args[i] = operand(c, &op->args[i]);
        if (unlikely(cel_is_stop(args[i]))) {
            if (is_stopped(c))
                return c->stop;
            if (v.kind == CEL_ABSENT)
                v = args[i];
            else
                v = first_stop(c, v, args[i]);
            if (is_strict && args[i].kind == CEL_ERROR)
                return args[i];
        }
    }
    if (v.kind == CEL_ABSENT)
        v = op_call(c, op->call, args, op->n);
    if (charge(c, cost_of_call(op, args, v)))
        return c->stop;
    return v;
}

/* `o.or(e)`, `o.orValue(e)`: e is evaluated only where o is empty. */
static outlined struct cel_value eval_or_else(struct ctx *c, const struct op *op)
{
    struct cel_value v = op_eval(c, &op->args[0]);

    if (cel_is_stop(v))
        return v;
    if (v.kind != CEL_OPTIONAL)
        return no_overload();
    if (v.len)
        return op->n ? v.items[0] : v;
    v = op_eval(c, &op->args[1]);
    return op->n || cel_is_stop(v) || v.kind == CEL_OPTIONAL ? v : no_overload();
}

/* ---- the walk ---- */

static struct cel_value dispatch(struct ctx *c, const struct op *op)
{
    struct cel_value v;

    switch ((enum op_code)op->code) {
    case OP_CONST:
        if (op->n && charge(c, op->n))
            return c->stop;
        return op->value;
    case OP_VAR:
    case OP_LOCAL:
    case OP_LAZY:
        v = resolve(c, op);
        return charge(c, 1) ? c->stop : v;
    case OP_ATTR:
        return eval_attr(c, op);
    case OP_COND:
        return eval_cond(c, op);
    case OP_AND:
        return eval_logic(c, op, false);
    case OP_OR:
        return eval_logic(c, op, true);
    case OP_NOT:
        return eval_not(c, op);
    case OP_NEG:
        return eval_neg(c, op);
    case OP_IN_SET:
        v = op_eval(c, op->args);
        return cel_is_stop(v) ? v : cel_bool(set_has(op->set, v));
    case OP_CALL:
        return eval_call(c, op);
    case OP_OR_ELSE:
        return eval_or_else(c, op);
    case OP_LIST:
        return eval_list(c, op);
    case OP_MAP:
        return eval_map(c, op);
    case OP_MESSAGE:
        return eval_message(c, op);
    case OP_FOLD:
        return eval_fold(c, op);
    case OP_BLOCK:
        return eval_block(c, op);
    case OP_FAIL:
        charge(c, 1);
        return is_stopped(c) ? c->stop : cel_fail_name(CEL_E_UNDECLARED, *op->name);
    case OP_SLOT:
        return charge_units(c, op->cost) ? c->stop : read_slot(c, op);
    case OP_SLOT_TEST:
        return charge_units(c, op->cost) ? c->stop : test_slot(c, op);
    case OP_SLOT_CMP:
        return eval_slot_cmp(c, op);
    case OP_ENUM:
        return eval_enum(c, op);
    default:
        return eval_binary(c, op);
    }
}

struct cel_value op_eval(struct ctx *c, const struct op *op)
{
    struct cel_value v;

    if (likely(!c->trace))
        return dispatch(c, op);
    v = dispatch(c, op);
    trace_note(c, op, v);
    return v;
}

void ctx_init(struct ctx *c, const struct cel_program *p, struct cel_run *run,
              struct cel_value *locals)
{
    c->p = p;
    c->run = run;
    c->arena = run->arena;
    c->slots = NULL;
    c->device = run->device;
    c->locals = locals;
    c->cost = 0;
    c->limit = run->limit ? run->limit : p->limit;
    c->steps = run->steps ? run->steps : CEL_MAX_STEPS;
    c->memory = run->arena ? run->arena->total + CEL_MAX_BYTES : 0;
    c->stop = (struct cel_value){0};
    c->trace = NULL;
}

#define STACK_LOCALS 16

static inline struct cel_value run_root(struct ctx *c)
{
    struct cel_value v = c->device && c->device->broken.kind != CEL_ABSENT
                             ? c->device->broken
                             : op_eval(c, &c->p->root);

    bool is_over = c->stop.kind == CEL_ERROR && c->stop.form == CEL_E_COST;
    c->run->cost = is_over ? c->stop_cost : c->cost;
    return is_stopped(c) ? c->stop : v;
}

/* Loops have variables; the frame is larger. */
static __attribute__((noinline)) struct cel_value run_with_locals(struct ctx *c)
{
    struct cel_value locals[STACK_LOCALS];

    c->locals = c->p->n_locals > STACK_LOCALS
                    ? arena_array(c->arena, struct cel_value, c->p->n_locals)
                    : locals;
    return run_root(c);
}

struct cel_value op_run(const struct cel_program *p, struct cel_run *run,
                        const struct cel_value *slots, struct trace *trace)
{
    struct ctx c;

    ctx_init(&c, p, run, NULL);
    c.slots = slots;
    c.trace = trace;
    return p->n_locals ? run_with_locals(&c) : run_root(&c);
}

struct cel_value cel_eval(const struct cel_program *p, struct cel_run *run)
{
    return op_run(p, run, NULL, NULL);
}

struct cel_value cel_eval_bound(const struct cel_program *p, struct cel_run *run,
                                const struct cel_value *slots)
{
    return op_run(p, run, slots, NULL);
}
