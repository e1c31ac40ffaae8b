/* plan_slot.c - what a device's paths become: slots, tests of them, comparisons with constants
 */
#include "cel/planner_priv.h"

static uint32_t slot_index(struct planner *p, struct cel_slot slot)
{
    vec_each (i, &p->slots) {
        const struct cel_slot *s = &p->slots.at[i];
        if (s->kind == slot.kind && s->value_kind == slot.value_kind &&
            str_eq(s->domain, slot.domain) && str_eq(s->name, slot.name))
            return (uint32_t)i;
    }
    slot.domain = str_copy(p->a, slot.domain);
    slot.name = str_copy(p->a, slot.name);
    slot.hash = device_hash(slot.domain, slot.name);
    vec_push_in(p->scratch, &p->slots, slot);
    return (uint32_t)p->slots.len - 1;
}

static bool is_text(const struct qualifier *q)
{
    return !q->op && !q->is_opt && q->key.kind == CEL_STRING;
}

/* The slot that a chain reads, `depth` selections in; false: it is none. */
static bool slot_of(struct planner *p, const struct op *op, struct cel_slot *out,
                    uint32_t *depth)
{
    const struct attr *attr = op->code == OP_ATTR ? op->attr : NULL;
    const struct op *root = attr ? attr->root : op;

    *out = (struct cel_slot){0};
    if (root->code != OP_VAR || !attr)
        return false;
    const struct qualifier *q = attr->quals;
    if (p->env->is_named) {
        int kind = device_named_kind(root->n);
        if (kind < 0 || !is_text(&q[0]))
            return false;
        *out = (struct cel_slot){
            .name = cel_str(q[0].key), .kind = CEL_SLOT_ATTRIBUTE, .value_kind = (uint8_t)kind};
        *depth = 1;
        return true;
    }
    if (!p->env->is_device || (int)root->n != p->p->device_var || !is_text(&q[0]))
        return false;
    struct str first = cel_str(q[0].key);
    *depth = 1;
    if (str_eqz(first, "driver"))
        out->kind = CEL_SLOT_DRIVER;
    else if (str_eqz(first, "allowMultipleAllocations"))
        out->kind = CEL_SLOT_MULTI;
    else if (attr->n >= 3 && is_text(&q[1]) && is_text(&q[2]))
        *out = (struct cel_slot){.domain = cel_str(q[1].key),
                                 .name = cel_str(q[2].key),
                                 .kind = str_eqz(first, "attributes") ? CEL_SLOT_ATTRIBUTE
                                                                      : CEL_SLOT_CAPACITY},
        *depth = 3;
    else
        return false;
    return true;
}

void plan_settle_slot(struct planner *p, struct op *op)
{
    struct cel_slot slot;
    uint32_t depth;

    if (!p->env->is_device && !p->env->is_named)
        return;
    if (op->code == OP_VAR && device_has_var(p->env, op->n))
        p->p->needs_device = true;
    if (op->code != OP_ATTR)
        return;
    if (!slot_of(p, op, &slot, &depth)) {
        if (op->attr->root->code == OP_VAR)
            p->p->needs_device = true;
        return;
    }
    const struct attr *attr = op->attr;
    if (attr->n == depth && (!op->is_test || slot.kind >= CEL_SLOT_ATTRIBUTE)) {
        bool is_test = op->is_test;
        op->n = slot_index(p, slot) | depth << 16;
        op->code = is_test ? OP_SLOT_TEST : OP_SLOT;
        op->info = NULL;
        op->cost = is_test && p->p->test_is_free ? (uint8_t)depth : (uint8_t)(depth + 1);
        return;
    }
    p->p->needs_device = true;
}

bool plan_slot_in(struct planner *p, const struct node *n, const struct op *args,
                  struct op *out)
{
    struct qualifier q = {.key = args[0].value};
    struct op longer;
    struct cel_slot slot;
    uint32_t depth;

    if ((!p->env->is_device && !p->env->is_named) || !op_is_const(&args[0]) ||
        args[0].value.kind != CEL_STRING)
        return false;
    if (args[1].code != OP_ATTR && !(p->env->is_named && args[1].code == OP_VAR))
        return false;
    plan_chain(p, n, &args[1], q, &longer);
    if (!slot_of(p, &longer, &slot, &depth) || longer.attr->n != depth ||
        slot.kind == CEL_SLOT_DRIVER || slot.kind == CEL_SLOT_MULTI)
        return false;
    op_set(out, OP_SLOT_TEST, n);
    out->n = slot_index(p, slot) | depth << 16;
    out->cost = (uint8_t)(depth - 1 + 1 + 1); /* the chain to the map, and the call */
    return true;
}

int plan_call_order(const struct node *n)
{
    if (str_eqz(n->name, "isGreaterThan"))
        return OP_GT;
    return str_eqz(n->name, "isLessThan") ? OP_LT : -1;
}

bool plan_slot_cmp(struct planner *p, const struct node *n, int code, const struct op *args,
                   enum cost rule, struct op *out)
{
    struct slot_cmp cmp = {.op = (uint8_t)code, .rule = (uint8_t)rule};
    uint8_t kind = args[1].value.kind;

    if (args[0].code != OP_SLOT || !op_is_const(&args[1]) || code < OP_EQ || code > OP_GE)
        return false;
    cmp.is_call = n->is_member;
    if (cmp.is_call ? kind != CEL_QUANTITY && kind != CEL_SEMVER
                    : kind != CEL_STRING && kind != CEL_INT && kind != CEL_BOOL)
        return false;
    cmp.constant = args[1].value;
    cmp.slot = (uint16_t)(args[0].n & 0xFFFF);
    cmp.chain_cost = args[0].cost + args[1].n;
    cmp.size = (uint32_t)cel_size(cmp.constant);
    cmp.full_cost = cmp.chain_cost + (rule == COST_ONE ? 1 : (cmp.size + 9) / 10);
    op_set(out, OP_SLOT_CMP, n);
    out->cmp = arena_copy(p->a, &cmp);
    out->args = plan_keep_ops(p, args, 2);
    out->n = 2;
    return true;
}
