/* many.c - one program over the rows of a table
 *
 * A conjunction is evaluated term by term over whole columns: a row that a term refuses is
 * done, one where a term errs stays open, because a later false absorbs the error. Terms that
 * compare a slot with a constant are tight loops; others are evaluated row by row.
 */
#include "cel/trace_priv.h"

#define STACK_SLOTS 64
#define ROWS_BYTES ((size_t)1 << 20) /* of results in the arena, before it is cleared */
#define MAX_TERM_COST 10000 /* of a slot's comparison; below it the limit plays no part */

/* Of a row beside enum cel_match, while others go on: an error that nothing absorbs. */
#define MATCH_STOPPED 0x80

struct batch {
    struct ctx *c;
    const struct cel_value *const *columns;
    struct cel_value *row; /* slots of the row at hand */
    size_t n;
    uint8_t *out;
};

/* No later term changes a row that is refused or stopped. */
static inline bool is_done(uint8_t out)
{
    return out == CEL_MATCH_NO || out > CEL_MATCH_ERROR;
}

static void keep(uint8_t *out, struct cel_value v)
{
    if (v.kind == CEL_BOOL) {
        if (!v.b)
            *out = CEL_MATCH_NO;
        return;
    }
    *out = CEL_MATCH_ERROR;
}

/* Of the usual kinds without a call a row. */
static void compare(struct batch *b, const struct slot_cmp *cmp)
{
    const struct cel_value *column = b->columns[cmp->slot];
    uint64_t cost;
    bool is_true;

    for (size_t i = 0; i < b->n; i++) {
        if (is_done(b->out[i]))
            continue;
        if (likely(slot_cmp_fast(cmp, column[i], &is_true, &cost))) {
            if (!is_true)
                b->out[i] = CEL_MATCH_NO;
            continue;
        }
        keep(&b->out[i], slot_compare(b->c, cmp, column[i], &cost));
    }
}

static void read(struct batch *b, uint32_t slot, bool is_test)
{
    const struct cel_value *column = b->columns[slot];

    for (size_t i = 0; i < b->n; i++) {
        struct cel_value v = column[i];
        if (is_done(b->out[i]))
            continue;
        if (is_test && v.kind != CEL_UNKNOWN)
            v = cel_bool(v.kind != CEL_ABSENT);
        keep(&b->out[i], v);
    }
}

static void evaluate(struct batch *b, const struct op *op)
{
    struct ctx *c = b->c;
    struct arena_mark mark = arena_mark(c->arena);
    size_t total = c->arena->total;

    for (size_t i = 0; i < b->n; i++) {
        if (is_done(b->out[i]))
            continue;
        for (uint32_t s = 0; s < c->p->n_slots; s++)
            b->row[s] = b->columns[s][i];
        ctx_init(c, c->p, c->run, c->locals); /* each row has the limits of one evaluation */
        c->slots = b->row;
        struct cel_value v = op_eval(c, op);
        if (c->stop.kind != CEL_ABSENT)
            b->out[i] = MATCH_STOPPED;
        else
            keep(&b->out[i], v);
        if (c->arena->total > total + ROWS_BYTES)
            arena_rewind(c->arena, mark);
    }
}

static void term(struct batch *b, const struct op *op)
{
    switch (op->code) {
    case OP_SLOT_CMP:
        compare(b, op->cmp);
        break;
    case OP_SLOT:
        read(b, op->n & 0xFFFF, false);
        break;
    case OP_SLOT_TEST:
        read(b, op->n & 0xFFFF, true);
        break;
    default:
        evaluate(b, op);
    }
}

static bool is_light(const struct op *op)
{
    return op->code == OP_SLOT_CMP || op->code == OP_SLOT || op->code == OP_SLOT_TEST;
}

/* May the terms be taken one by one? Not where their costs could add up to the limit, nor their
 * steps: only loops take any. */
static bool is_separable(const struct ctx *c, const struct op *terms, uint32_t n)
{
    uint32_t n_heavy = 0;

    for (uint32_t i = 0; i < n; i++)
        n_heavy += !is_light(&terms[i]);
    if ((uint64_t)n * MAX_TERM_COST >= c->limit)
        return false;
    if (n_heavy && c->p->estimate.max >= c->limit)
        return false;
    return n_heavy <= 1 || c->p->n_locals == 0;
}

void cel_eval_many(const struct cel_program *p, struct cel_run *run,
                   const struct cel_value *const *columns, size_t n, uint8_t *out)
{
    bool is_and = p->root.code == OP_AND;
    const struct op *terms = is_and ? p->root.args : &p->root;
    uint32_t n_terms = is_and ? p->root.n : 1;
    struct cel_value row[STACK_SLOTS], *locals = NULL;
    struct ctx c;

    if (p->n_locals)
        locals = arena_array(run->arena, struct cel_value, p->n_locals);
    ctx_init(&c, p, run, locals);
    struct batch b = {&c, columns, row, n, out};
    if (p->n_slots > STACK_SLOTS)
        b.row = arena_array(run->arena, struct cel_value, p->n_slots);
    c.slots = b.row;
    memset(out, CEL_MATCH_YES, n);
    if (is_separable(&c, terms, n_terms))
        for (uint32_t i = 0; i < n_terms; i++)
            term(&b, &terms[i]);
    else
        evaluate(&b, &p->root);
    for (size_t i = 0; i < n; i++)
        if (out[i] == MATCH_STOPPED)
            out[i] = CEL_MATCH_ERROR;
}
