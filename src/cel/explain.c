/* explain.c - which parts of an expression made it what it is
 *
 * The evaluation is traced: the last value of each operation that yields a bool or an error is
 * kept, then the tree is walked from the top along what decided.
 */
#include "cel/trace_priv.h"

#define MAX_TRACED 4096
#define MAX_REASONS 64

struct note {
    const struct op *op;
    struct cel_value value;
};

struct trace {
    struct arena *arena;
    VEC(struct note) notes;
};

void trace_note(struct ctx *c, const struct op *op, struct cel_value v)
{
    struct trace *t = c->trace;
    struct note note = {op, v};

    for (size_t i = t->notes.len; i-- > 0;) {
        if (t->notes.at[i].op == op) {
            t->notes.at[i].value = v;
            return;
        }
    }
    if (t->notes.len < MAX_TRACED)
        vec_push_in(t->arena, &t->notes, note);
}

static const struct cel_value *value_of(const struct trace *t, const struct op *op)
{
    for (size_t i = 0; i < t->notes.len; i++)
        if (t->notes.at[i].op == op)
            return &t->notes.at[i].value;
    return NULL;
}

struct explainer {
    const struct cel_program *p;
    struct trace *trace;
    struct arena *arena;
    struct cel_reasons *out;
};

static struct str side(struct explainer *e, const struct op *op)
{
    const struct cel_value *v = value_of(e->trace, op);

    if (op->code == OP_CONST)
        return cel_show(e->arena, op->value);
    return v ? cel_show(e->arena, *v) : str_of(NULL, 0);
}

static void add(struct explainer *e, const struct op *op, struct cel_value v)
{
    struct cel_reason r = {.text = str_slice(e->p->text, op->from, op->to), .value = v};

    if (e->out->list.len >= MAX_REASONS)
        return;
    text_place(e->p->text, op->from, &r.line, &r.column);
    if (op->n == 2 && ((op->code >= OP_EQ && op->code <= OP_IN) || op->code == OP_SLOT_CMP)) {
        r.left = side(e, &op->args[0]);
        r.right = side(e, &op->args[1]);
    } else if (op->code == OP_CALL && op->n == 2) {
        r.left = side(e, &op->args[0]);
        r.right = side(e, &op->args[1]);
    }
    vec_push_in(e->arena, &e->out->list, r);
}

static void walk(struct explainer *e, const struct op *op);

/* Goes down where the part failed; false: it did not. */
static bool walk_failed(struct explainer *e, const struct op *part)
{
    const struct cel_value *v = part ? value_of(e->trace, part) : NULL;

    if (!v || v->kind != CEL_ERROR)
        return false;
    walk(e, part);
    return true;
}

static uint32_t count_operands(const struct op *op)
{
    switch ((enum op_code)op->code) {
    case OP_NOT:
    case OP_NEG:
        return 1;
    case OP_COND:
        return 3;
    case OP_OR_ELSE:
        return 2;
    case OP_MAP:
        return 2 * op->n;
    case OP_AND:
    case OP_OR:
    case OP_LIST:
    case OP_MESSAGE:
        return op->n;
    default:
        return op->code >= OP_EQ && op->code <= OP_CALL ? op->n : 0;
    }
}

/* The parts an operation's error came from; false: it is its own. */
static bool walk_error(struct explainer *e, const struct op *op)
{
    uint32_t n = count_operands(op);
    bool is_part = false;

    if (op->code == OP_BLOCK)
        return walk_failed(e, op->block->body);
    if (op->code == OP_FOLD)
        return walk_failed(e, op->fold->range) || walk_failed(e, op->fold->pred) ||
               walk_failed(e, op->fold->body);
    for (uint32_t i = 0; i < n; i++)
        is_part |= walk_failed(e, &op->args[i]);
    return is_part;
}

/* Goes down to what decided op's value. */
static void walk(struct explainer *e, const struct op *op)
{
    const struct cel_value *v = value_of(e->trace, op), *part;

    if (!v)
        return;
    if (v->kind == CEL_ERROR) {
        if (!walk_error(e, op))
            add(e, op, *v);
        return;
    }
    switch ((enum op_code)op->code) {
    case OP_AND:
    case OP_OR:
        for (uint32_t i = 0; i < op->n; i++) {
            part = value_of(e->trace, &op->args[i]);
            if (part && part->kind == v->kind && (part->kind != CEL_BOOL || part->b == v->b))
                walk(e, &op->args[i]);
        }
        return;
    case OP_NOT:
        walk(e, op->args);
        return;
    case OP_COND:
        part = value_of(e->trace, &op->args[0]);
        add(e, &op->args[0], part ? *part : *v);
        if (part && part->kind == CEL_BOOL)
            walk(e, &op->args[part->b ? 1 : 2]);
        return;
    default:
        add(e, op, *v);
    }
}

struct cel_value cel_explain(const struct cel_program *p, struct cel_run *run,
                             struct cel_reasons *out)
{
    struct trace t = {.arena = run->arena};
    struct explainer e = {p, &t, run->arena, out};
    struct cel_value v = op_run(p, run, NULL, &t);

    *out = (struct cel_reasons){0};
    walk(&e, &p->root);
    return v;
}
