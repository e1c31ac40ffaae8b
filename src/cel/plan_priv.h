/* plan_priv.h - a program: the flat form that is evaluated
 *
 * Operations are 32 bytes; the operands of one stand next to each other. The program's memory
 * is one arena, which holds all of it but compiled patterns.
 */
#pragma once

#include "cel/device.h"
#include "cel/env_priv.h"
#include "cel/value_priv.h"
#include "value/value.h"

enum op_code {
    OP_CONST,
    OP_VAR,
    OP_LOCAL,
    OP_LAZY, /* a binding: evaluated when it is first read */
    OP_ATTR, /* a chain of selections */
    OP_COND,
    OP_AND,
    OP_OR,
    OP_NOT,
    OP_NEG,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_IN,
    OP_IN_SET,
    OP_CALL,
    OP_OR_ELSE, /* optional.or() and orValue() */
    OP_LIST,
    OP_MAP,
    OP_MESSAGE,
    OP_FOLD,
    OP_BLOCK,
    OP_FAIL,
    OP_SLOT,
    OP_SLOT_TEST, /* has() and `in` of a slot's name */
    OP_SLOT_CMP,  /* slot OP constant; slot.isGreaterThan(constant) */
    OP_ENUM,      /* E(x) of a strong enum */
};

struct op;

struct call_info {
    const struct function *function;
    const struct overload *const *overloads;
    uint32_t n_overloads;
    const void *prepared;    /* a compiled pattern, a zone */
    bool is_prepared_strict; /* evaluation of arguments stops at the first error */
};

struct qualifier {
    struct cel_value key;
    const struct op *op; /* in place of key */
    bool is_opt, is_test, is_field;
};

struct attr {
    const struct op *root;
    uint32_t n;
    bool has_opt;
    bool is_plain; /* constant selections on a variable: nothing optional, no test */
    struct qualifier quals[];
};

struct fold_info {
    enum fold_kind kind;
    bool has_two;
    uint32_t local; /* accumulator, variables */
    const struct op *range, *pred, *body;
    uint16_t init_cost; /* of the empty list or map */
    uint16_t item_cost; /* of [t] */
};

struct block_info {
    uint32_t n;
    uint32_t *locals; /* of its lazy expressions */
    const struct op *body;
};

struct list_info {
    const bool *is_opt; /* NULL: none is */
    const struct cel_type *type;
    const uint16_t *fields; /* of a message: by argument */
};

/* A set of constants: strings, ints, bools, by hash. */
struct const_set {
    uint32_t mask;
    const uint32_t *index;
    const struct cel_value *items;
    bool is_plain; /* no strings: look through */
    uint32_t n;
};

struct slot_cmp {
    struct cel_value constant;
    uint16_t slot;
    uint8_t op;          /* enum op_code: OP_EQ … OP_GE */
    uint8_t rule;        /* of the cost: COST_EQUAL, COST_ORDER, COST_ONE */
    bool is_call;        /* isGreaterThan() and isLessThan() of quantities and versions */
    uint32_t chain_cost; /* of reading the slot and the constant */
    uint32_t size;       /* of the constant */
    uint32_t full_cost;  /* where both sides are as large */
};

struct op {
    uint8_t code;
    uint8_t cost;   /* enum cost of a call */
    bool is_folded; /* OP_CONST: costs nothing and may be part of a larger constant */
    bool is_test;
    uint32_t n; /* operands; index of a variable, local or slot; OP_CONST: what it costs */
    uint32_t from, to;
    union {
        struct cel_value value;
        struct {
            const struct op *args;
            union {
                const void *info;
                const struct call_info *call;
                const struct attr *attr;
                const struct fold_info *fold;
                const struct block_info *block;
                const struct list_info *list;
                const struct const_set *set;
                const struct slot_cmp *cmp;
                const struct str *name;
                const struct cel_type *type;
            };
        };
    };
};
_Static_assert(sizeof(struct op) == 32, "an operation is half a cache line");

struct cel_program {
    struct arena arena;
    const struct cel_env *env;
    struct str text;
    struct op root;
    uint32_t n_locals;
    const struct cel_type *type;
    struct cel_range estimate;
    const struct op **lazies; /* by local: what a binding is made of */
    struct cel_slot *slots;
    uint32_t n_slots;
    bool needs_device;
    int device_var;
    VEC(struct regex *) patterns; /* on the heap */
    uint64_t limit;
    bool test_is_free;
    bool has_device; /* variables may be the device's */
};

static inline bool order_is(enum op_code op, int order)
{
    switch (op) {
    case OP_EQ:
        return order == 0;
    case OP_NE:
        return order != 0;
    case OP_LT:
        return order < 0;
    case OP_LE:
        return order <= 0;
    case OP_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* The usual comparisons of a slot's value; false: they need slot_compare(). */
static inline bool slot_cmp_fast(const struct slot_cmp *cmp, struct cel_value v, bool *out,
                                 uint64_t *cost)
{
    const struct cel_value *c = &cmp->constant;

    if (unlikely(v.kind != c->kind))
        return false;
    *cost = cmp->full_cost;
    switch (v.kind) {
    case CEL_STRING:
        if (cmp->op > OP_NE || !(v.form & CEL_ASCII))
            return false;
        if (v.len != c->len) {
            *out = cmp->op == OP_NE;
            *cost = cmp->chain_cost + (MIN(v.len, cmp->size) + 9) / 10;
            return true;
        }
        *out = bytes_eq(v.s, c->s, v.len) == (cmp->op == OP_EQ);
        return true;
    case CEL_INT:
        *out = order_is((enum op_code)cmp->op, (v.i > c->i) - (v.i < c->i));
        return true;
    case CEL_QUANTITY:
        if (!cmp->is_call)
            return false;
        *out = order_is((enum op_code)cmp->op, quantity_cmp(v.quantity, c->quantity));
        return true;
    default:
        return false;
    }
}

/* What one evaluation knows. */
struct ctx {
    const struct cel_program *p;
    struct cel_run *run;
    struct arena *arena;
    const struct cel_value *slots;
    const struct cel_device *device;
    struct cel_value *locals;
    uint64_t cost, limit;
    uint64_t steps;
    size_t memory;
    uint64_t stop_cost;    /* where the limit was crossed */
    struct cel_value stop; /* an error nothing absorbs; CEL_ABSENT: none */
    struct trace *trace;
};

struct cel_value op_eval(struct ctx *c, const struct op *op);
void ctx_init(struct ctx *c, const struct cel_program *p, struct cel_run *run,
              struct cel_value *locals);
uint64_t cost_run(enum cost rule, const struct cel_value *args, size_t n,
                  struct cel_value result);
/* The rule that a call with these overloads is charged by. */
enum cost cost_rule(const struct cel_env *env, const struct function *f,
                    const struct overload *const *overloads, uint32_t n);
uint64_t cost_up(double cost);                  /* rounded up, to what 64 bits hold at most */
uint64_t cost_scale(uint64_t n, double factor); /* the same of a product */

struct cel_value value_add(struct arena *a, struct cel_value x, struct cel_value y);
struct cel_value value_arith(struct arena *a, enum op_code op, struct cel_value x,
                             struct cel_value y);
struct cel_value value_in(struct arena *a, struct cel_value x, struct cel_value y);
struct cel_value value_neg(struct cel_value x);
struct cel_value value_order(enum op_code op, struct cel_value x, struct cel_value y);
struct cel_value value_select(struct arena *a, struct cel_value v, struct cel_value key,
                              bool is_field);
/* Like value_select(), but CEL_ABSENT where there is nothing. */
struct cel_value value_peek(struct arena *a, struct cel_value v, struct cel_value key,
                            bool is_field);
bool set_has(const struct const_set *s, struct cel_value v);
/* {keys: values} with what the environment says of duplicates and odd keys. Pairs follow each
 * other. */
struct cel_value value_map(struct arena *a, const struct cel_env *env,
                           const struct cel_value *pairs, size_t n);

/* ---- device.c ---- */

uint64_t device_hash(struct str domain, struct str name);
/* The kind of value that the variable's map holds (`attributes.int` …), or -1. */
int device_named_kind(uint32_t var);
bool device_has_var(const struct cel_env *env, uint32_t var);
/* `device` or one of `attributes.…` as a value. */
struct cel_value device_value(struct ctx *c, uint32_t var);
