/* eval_priv.h - what the files of the evaluation share: charging, and who evaluates what */
#pragma once

#include "cel/trace_priv.h"

/* Handlers stay functions of their own: the walk between them keeps a small frame. */
#define outlined __attribute__((noinline))

#define CHECK_EVERY 100 /* iterations between looks at the cancel flag and the memory used */

static inline struct cel_value no_overload(void)
{
    return cel_fail(CEL_E_NO_OVERLOAD);
}

/* True where the evaluation must stop. */
static inline bool charge(struct ctx *c, uint64_t n)
{
    c->cost += n;
    if (likely(c->cost <= c->limit))
        return false;
    if (c->stop.kind == CEL_ABSENT) {
        c->stop = cel_fail(CEL_E_COST);
        c->stop_cost = c->cost;
    }
    return true;
}

/* Charges of one each: the first over the limit is the last. */
static inline bool charge_units(struct ctx *c, uint64_t n)
{
    if (unlikely(c->cost + n > c->limit)) {
        c->cost = c->limit;
        return charge(c, 1);
    }
    c->cost += n;
    return false;
}

static inline bool is_stopped(const struct ctx *c)
{
    return c->stop.kind != CEL_ABSENT;
}

/* Once an iteration. */
static inline bool step(struct ctx *c)
{
    if (is_stopped(c))
        return true;
    if (unlikely(c->steps == 0)) {
        c->stop = cel_fail(CEL_E_STEPS);
        return true;
    }
    if (--c->steps % CHECK_EVERY == 0) {
        if (c->run->cancel && *(const volatile bool *)c->run->cancel)
            c->stop = cel_fail(CEL_E_CANCELED);
        else if (c->arena && c->arena->total > c->memory)
            c->stop = cel_fail(CEL_E_MEMORY);
    }
    return is_stopped(c);
}

/* ---- build.c ---- */

struct cel_value eval_list(struct ctx *c, const struct op *op);
struct cel_value eval_map(struct ctx *c, const struct op *op);
struct cel_value eval_message(struct ctx *c, const struct op *op);
struct cel_value eval_enum(struct ctx *c, const struct op *op);

/* ---- loop.c ---- */

struct cel_value eval_fold(struct ctx *c, const struct op *op);
struct cel_value eval_block(struct ctx *c, const struct op *op);
