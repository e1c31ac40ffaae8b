/* loop.c - evaluation: loops and bindings
 *
 * Each macro has a loop of its own, which charges what upstream's general one would.
 */
#include "cel/eval_priv.h"

/* What a loop collects. */
struct loop {
    struct cel_value stop; /* the error or unknown it ends in; CEL_ABSENT: none */
    VEC(struct cel_value) items;
    struct map_maker map;
};

static void bind_vars(struct ctx *c, const struct fold_info *f, struct cel_value range,
                      uint32_t i)
{
    struct cel_value *vars = &c->locals[f->local + 1];

    if (range.kind == CEL_LIST) {
        if (!f->has_two) {
            vars[0] =
                likely(range.form == CEL_ARRAY) ? range.items[i] : cel_at(c->arena, range, i);
            return;
        }
        vars[0] = cel_int(i);
        vars[1] = cel_at(c->arena, range, i);
        return;
    }
    vars[0] = cel_key(c->arena, range, i);
    if (f->has_two)
        vars[1] = value_entry(c->arena, range, i);
}

/* `all` decides at false, `exists` at true. */
static outlined struct cel_value eval_quantifier(struct ctx *c, const struct fold_info *f,
                                                 struct cel_value range, bool decides)
{
    struct cel_value accu = cel_bool(!decides);
    uint64_t cond = decides ? 3 : 2;

    for (uint32_t i = 0; i < range.len; i++) {
        if (step(c) || charge_units(c, cond))
            return c->stop;
        if (accu.kind == CEL_BOOL && accu.b == decides)
            break;
        if (charge(c, 1))
            return c->stop;
        bind_vars(c, f, range, i);
        struct cel_value v = op_eval(c, f->pred);
        if (likely(v.kind == CEL_BOOL)) {
            if (v.b == decides)
                accu = v;
            continue;
        }
        if (is_stopped(c))
            return c->stop;
        if (v.kind != CEL_UNKNOWN && v.kind != CEL_ERROR)
            v = no_overload();
        if (accu.kind == CEL_BOOL)
            accu = v;
        else if (v.kind == CEL_UNKNOWN)
            accu = unknown_merge(c->arena, accu, v);
    }
    return charge(c, 1) ? c->stop : accu;
}

static outlined struct cel_value eval_exists_one(struct ctx *c, const struct fold_info *f,
                                                 struct cel_value range)
{
    struct cel_value accu = cel_int(0);

    for (uint32_t i = 0; i < range.len; i++) {
        if (step(c))
            return c->stop;
        bind_vars(c, f, range, i);
        struct cel_value v = op_eval(c, f->pred);
        if (is_stopped(c))
            return c->stop;
        if (v.kind != CEL_BOOL) {
            accu = cel_is_stop(v) ? v : no_overload();
        } else if (v.b) {
            if (charge_units(c, 2))
                return c->stop;
            accu.i += accu.kind == CEL_INT;
        }
    }
    if (charge_units(c, 2))
        return c->stop;
    return accu.kind == CEL_INT ? cel_bool(accu.i == 1) : accu;
}

/* One step of map, filter and transformList. */
static outlined void collect(struct ctx *c, const struct fold_info *f, struct loop *l)
{
    bool is_filter = f->kind == FOLD_FILTER;

    if (charge(c, 1)) /* the accumulator */
        return;
    struct cel_value v;
    if (is_filter) {
        v = c->locals[f->local + 1];
        charge(c, 1);
    } else {
        v = op_eval(c, f->body);
    }
    if (is_stopped(c) || charge(c, f->item_cost) || charge(c, 1))
        return;
    if (l->stop.kind != CEL_ABSENT)
        return; /* an error stays */
    if (cel_is_stop(v)) {
        l->stop = v;
        return;
    }
    vec_push_in(c->arena, &l->items, v);
}

static outlined void insert(struct ctx *c, struct loop *l, struct cel_value key,
                            struct cel_value value)
{
    struct str s;

    if (map_maker_find(&l->map, key) < l->map.n) {
        s = key.kind == CEL_STRING ? cel_str(key) : cel_show(c->arena, key);
        l->stop = cel_fail_text(c->arena, "insert failed: key %.*s already exists", STR_ARG(s));
        return;
    }
    map_maker_add(&l->map, key, value);
}

/* One step of transformMap and transformMapEntry. */
static outlined void collect_entry(struct ctx *c, const struct fold_info *f, struct loop *l)
{
    struct cel_value v;

    if (charge(c, 1))
        return;
    if (f->kind == FOLD_TO_MAP) {
        if (l->stop.kind != CEL_ABSENT)
            return;
        if (charge(c, 1))
            return;
        v = op_eval(c, f->body);
        if (is_stopped(c))
            return;
        if (cel_is_stop(v)) {
            l->stop = v;
            return;
        }
        if (!charge(c, 1))
            insert(c, l, c->locals[f->local + 1], v);
        return;
    }
    v = op_eval(c, f->body);
    if (is_stopped(c) || charge(c, 1) || l->stop.kind != CEL_ABSENT)
        return;
    if (v.kind != CEL_MAP) {
        l->stop = cel_is_stop(v) ? v : no_overload();
        return;
    }
    for (uint32_t i = 0; i < v.len && l->stop.kind == CEL_ABSENT; i++)
        insert(c, l, cel_key(c->arena, v, i), value_entry(c->arena, v, i));
}

static outlined struct cel_value eval_collector(struct ctx *c, const struct fold_info *f,
                                                struct cel_value range)
{
    bool is_map = f->kind == FOLD_TO_MAP || f->kind == FOLD_TO_ENTRIES;
    struct loop l = {.map = map_maker_in(c->arena, true, 0)};

    if (range.len)
        charge(c, f->init_cost);
    for (uint32_t i = 0; i < range.len; i++) {
        if (step(c))
            return c->stop;
        bind_vars(c, f, range, i);
        if (f->pred) {
            struct cel_value v = op_eval(c, f->pred);
            if (is_stopped(c))
                return c->stop;
            if (v.kind != CEL_BOOL) {
                l.stop = cel_is_stop(v) ? v : no_overload();
                continue;
            }
            if (!v.b)
                continue;
        }
        if (is_map)
            collect_entry(c, f, &l);
        else
            collect(c, f, &l);
    }
    if (range.len == 0)
        charge(c, f->init_cost);
    if (charge(c, 1) || is_stopped(c))
        return c->stop;
    if (l.stop.kind != CEL_ABSENT)
        return l.stop;
    return is_map ? map_maker_done(&l.map) : cel_list(l.items.at, l.items.len);
}

/* What cannot be walked over, by the name that cel-go has for it. */
static struct cel_value no_range(struct ctx *c, const struct fold_info *f, struct cel_value v)
{
    static const char *const names[CEL_KINDS] = {
        [CEL_NULL] = "types.Null",
        [CEL_BOOL] = "types.Bool",
        [CEL_INT] = "types.Int",
        [CEL_UINT] = "types.Uint",
        [CEL_DOUBLE] = "types.Double",
        [CEL_STRING] = "types.String",
        [CEL_BYTES] = "types.Bytes",
        [CEL_TYPE] = "*types.Type",
        [CEL_TIMESTAMP] = "types.Timestamp",
        [CEL_DURATION] = "types.Duration",
        [CEL_OPTIONAL] = "*types.Optional",
        [CEL_QUANTITY] = "cel.Quantity",
        [CEL_SEMVER] = "cel.Semver",
        [CEL_IP] = "cel.IP",
        [CEL_CIDR] = "cel.CIDR",
        [CEL_URL] = "cel.URL",
    };
    struct str name = names[v.kind] ? str_from(names[v.kind]) : cel_type_of(v)->name;

    if (f->has_two)
        return cel_fail_text(c->arena, "unsupported comprehension range type: %.*s",
                             STR_ARG(name));
    return cel_fail_name(CEL_E_RANGE, name);
}

struct cel_value eval_fold(struct ctx *c, const struct op *op)
{
    const struct fold_info *f = op->fold;
    struct cel_value range;

    if (f->kind == FOLD_BIND) {
        if (charge(c, f->init_cost))
            return c->stop;
        c->locals[f->local] = (struct cel_value){0};
        return op_eval(c, f->body);
    }
    range = op_eval(c, f->range);
    if (cel_is_stop(range))
        return range;
    if (range.kind != CEL_LIST && range.kind != CEL_MAP)
        return no_range(c, f, range);
    switch (f->kind) {
    case FOLD_ALL:
        return eval_quantifier(c, f, range, false);
    case FOLD_EXISTS:
        return eval_quantifier(c, f, range, true);
    case FOLD_EXISTS_ONE:
        return eval_exists_one(c, f, range);
    default:
        return eval_collector(c, f, range);
    }
}

struct cel_value eval_block(struct ctx *c, const struct op *op)
{
    for (uint32_t i = 0; i < op->block->n; i++)
        c->locals[op->block->locals[i]] = (struct cel_value){0};
    return op_eval(c, op->block->body);
}
