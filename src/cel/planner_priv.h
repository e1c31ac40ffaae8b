/* planner_priv.h - a plan in the making: what plan.c and plan_slot.c share */
#pragma once

#include "cel/plan_priv.h"

struct planner {
    struct arena *a;       /* the program's */
    struct arena *scratch; /* gone when the program is made */
    struct cel_program *p;
    const struct cel_env *env;
    struct report *report;
    VEC(struct cel_slot) slots;
};

static inline void op_set(struct op *out, enum op_code code, const struct node *n)
{
    *out = (struct op){.code = (uint8_t)code, .from = n->from, .to = n->to};
}

static inline bool op_is_const(const struct op *op)
{
    return op->code == OP_CONST;
}

/* ---- plan.c ---- */

const struct op *plan_keep_ops(struct planner *p, const struct op *ops, size_t n);
/* One selection more on what `target` is. */
void plan_chain(struct planner *p, const struct node *n, const struct op *target,
                struct qualifier q, struct op *out);

/* ---- plan_slot.c ---- */

/* Turns a finished chain over the device into a slot where it is one. */
void plan_settle_slot(struct planner *p, struct op *op);
/* `"name" in device.attributes["domain"]`: the same as a test of the slot. */
bool plan_slot_in(struct planner *p, const struct node *n, const struct op *args,
                  struct op *out);
/* The comparison that a call is: isGreaterThan() and isLessThan() of a slot; or -1. */
int plan_call_order(const struct node *n);
/* slot OP constant as one operation. */
bool plan_slot_cmp(struct planner *p, const struct node *n, int code, const struct op *args,
                   enum cost rule, struct op *out);
