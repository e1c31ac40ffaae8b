/* estimate.c - what an expression may cost at least and at most, before it runs
 *
 * The same walk and the same formulas as cel-go's estimator with Kubernetes' rules, over ranges
 * of sizes. A size comes from what a call yields, from literals, from the host (asked with the
 * path of the value), from the type, from the variables of loops; otherwise it is unbounded.
 */
#include <math.h>

#include "cel/plan_priv.h"

#define MAX_PATH 64

struct entries {
    bool is_known, is_map;
    struct cel_range key, value;
};

/* What is known of a node, or of a loop's variable. */
struct size_info {
    struct cel_range cost;
    bool has_size;
    struct cel_range size;
    struct entries entries;
    const struct str *path;
    uint32_t n_path;
};

struct local {
    struct str name;
    struct size_info info;
    struct local *up;
};

struct coster {
    struct arena *a;
    const struct cel_env *env;
    const struct cel_size_hook *sizes;
    struct local *locals;
};

static struct cel_range cost_of(struct coster *c, struct node *n);

/* ---- ranges ---- */

static uint64_t sat_add(uint64_t x, uint64_t y)
{
    uint64_t r;

    return __builtin_add_overflow(x, y, &r) ? UINT64_MAX : r;
}

static uint64_t sat_mul(uint64_t x, uint64_t y)
{
    uint64_t r;

    return __builtin_mul_overflow(x, y, &r) ? UINT64_MAX : r;
}

static struct cel_range fixed(uint64_t n)
{
    return (struct cel_range){n, n};
}

static struct cel_range unbounded(void)
{
    return (struct cel_range){0, UINT64_MAX};
}

static struct cel_range add(struct cel_range x, struct cel_range y)
{
    return (struct cel_range){sat_add(x.min, y.min), sat_add(x.max, y.max)};
}

static struct cel_range mul(struct cel_range x, struct cel_range y)
{
    return (struct cel_range){sat_mul(x.min, y.min), sat_mul(x.max, y.max)};
}

static struct cel_range times(struct cel_range x, double factor)
{
    return (struct cel_range){cost_scale(x.min, factor), cost_scale(x.max, factor)};
}

static struct cel_range join(struct cel_range x, struct cel_range y)
{
    return (struct cel_range){MIN(x.min, y.min), MAX(x.max, y.max)};
}

/* ---- sizes ---- */

static struct size_info *info_of(struct coster *c, struct node *n)
{
    if (!n->size)
        n->size = arena_new(c->a, struct size_info);
    return n->size;
}

static void set_size(struct coster *c, struct node *n, struct cel_range size)
{
    struct size_info *info = info_of(c, n);

    info->has_size = true;
    info->size = size;
}

static void set_path(struct coster *c, struct node *n, const struct str *base, uint32_t n_base,
                     struct str step)
{
    struct size_info *info = info_of(c, n);
    struct str *path;

    if (n_base + 1 > MAX_PATH)
        return;
    path = arena_array(c->a, struct str, n_base + 1);
    if (n_base)
        memcpy(path, base, n_base * sizeof(*path));
    path[n_base] = step;
    info->path = path;
    info->n_path = n_base + 1;
}

static struct local *local_named(struct coster *c, const struct node *n)
{
    if (n->kind != N_IDENT || n->is_root)
        return NULL;
    for (struct local *l = c->locals; l; l = l->up)
        if (str_eq(l->name, n->name))
            return l;
    return NULL;
}

static bool is_scalar(const struct cel_type *t)
{
    switch (t->kind) {
    case CEL_T_BOOL:
    case CEL_T_INT:
    case CEL_T_UINT:
    case CEL_T_DOUBLE:
    case CEL_T_TIMESTAMP:
    case CEL_T_DURATION:
        return true;
    case CEL_T_OPAQUE:
        return t->n_params == 1 && str_eq(t->name, cel_type_optional.name) &&
               is_scalar(t->params[0]);
    default:
        return false;
    }
}

static bool literal_size(const struct node *n, struct cel_range *out)
{
    if (n->kind == N_LIST || n->kind == N_MAP) {
        *out = fixed(n->n);
        return true;
    }
    if (n->kind != N_CONST || n->value.kind == CEL_NULL)
        return false;
    *out = fixed(cel_size(n->value));
    return true;
}

static bool host_size(struct coster *c, const struct str *path, uint32_t n_path,
                      const struct cel_type *t, struct cel_range *out)
{
    return c->sizes->fn && c->sizes->fn(c->sizes->ctx, path, n_path, t, out);
}

/* The first rule that answers. */
static bool size_of(struct coster *c, struct node *n, struct cel_range *out)
{
    struct size_info *info = info_of(c, n);
    struct local *l;

    if (info->has_size) {
        *out = info->size;
        return true;
    }
    if (literal_size(n, out))
        return true;
    if (host_size(c, info->path, info->n_path, n->type, out)) {
        set_size(c, n, *out);
        return true;
    }
    if (is_scalar(n->type)) {
        *out = fixed(1);
        return true;
    }
    if ((l = local_named(c, n)) != NULL && l->info.has_size) {
        *out = l->info.size;
        return true;
    }
    return false;
}

static struct cel_range size_or_all(struct coster *c, struct node *n)
{
    struct cel_range r;

    return size_of(c, n, &r) ? r : unbounded();
}

static struct entries entries_of(struct coster *c, struct node *n)
{
    struct size_info *info = info_of(c, n);
    struct local *l = local_named(c, n);

    if (info->entries.is_known)
        return info->entries;
    return l ? l->info.entries : (struct entries){0};
}

/* What the host says of the elements of a list, whatever the literal holds. */
static struct cel_range element_size(struct coster *c, struct node *list)
{
    struct size_info *info = info_of(c, list);
    struct cel_range r;
    struct str path[MAX_PATH + 1];

    if (info->n_path)
        memcpy(path, info->path, info->n_path * sizeof(path[0]));
    path[info->n_path] = S("@items");
    const struct cel_type *t =
        list->type->kind == CEL_T_LIST ? list->type->params[0] : &cel_type_dyn;
    return host_size(c, path, info->n_path + 1, t, &r) ? r : unbounded();
}

/* ---- names and selections ---- */

static struct cel_range cost_ident(struct coster *c, struct node *n, struct str name)
{
    struct local *l = n->kind == N_IDENT ? local_named(c, n) : NULL;
    struct size_info *info = info_of(c, n);

    if (l) {
        info->path = l->info.path;
        info->n_path = l->info.n_path;
    } else {
        set_path(c, n, NULL, 0, name);
    }
    return fixed(1);
}

static struct cel_range cost_select(struct coster *c, struct node *n)
{
    struct cel_range sum;
    uint8_t kind;

    if (!n->is_test && !n->is_opt && (n->var >= 0 || n->constant))
        return cost_ident(c, n, ast_qualified(c->a, n));
    sum = cost_of(c, n->target);
    if (n->is_test)
        return c->env->test_is_free ? sum : add(sum, fixed(1));
    if (n->is_opt)
        return add(sum, fixed(1));
    kind = n->target->type->kind;
    if (kind == CEL_T_MAP || kind == CEL_T_STRUCT || kind == CEL_T_PARAM)
        sum = add(sum, fixed(1));
    struct size_info *target = info_of(c, n->target);
    set_path(c, n, target->path, target->n_path, n->name);
    return sum;
}

/* ---- literals ---- */

static struct cel_range cost_list(struct coster *c, struct node *n)
{
    struct cel_range sum = fixed(10), size = {n->n ? UINT64_MAX : 0, 0};

    for (uint32_t i = 0; i < n->n; i++) {
        sum = add(sum, cost_of(c, n->entries[i].value));
        size = join(size, size_or_all(c, n->entries[i].value));
    }
    info_of(c, n)->entries = (struct entries){true, false, fixed(1), size};
    return sum;
}

static struct cel_range cost_map(struct coster *c, struct node *n)
{
    struct cel_range sum = fixed(30), key = {n->n ? UINT64_MAX : 0, 0}, value = key;

    for (uint32_t i = 0; i < n->n; i++) {
        sum = add(sum, cost_of(c, n->entries[i].key));
        key = join(key, size_or_all(c, n->entries[i].key));
        sum = add(sum, cost_of(c, n->entries[i].value));
        value = join(value, size_or_all(c, n->entries[i].value));
    }
    info_of(c, n)->entries = (struct entries){true, true, key, value};
    return sum;
}

static struct cel_range cost_message(struct coster *c, struct node *n)
{
    struct cel_range sum = fixed(40);

    for (uint32_t i = 0; i < n->n; i++)
        sum = add(sum, cost_of(c, n->entries[i].value));
    return sum;
}

/* ---- calls ---- */

struct call {
    struct coster *c;
    struct node *n;
    const struct overload *o;
    struct cel_range *args; /* costs, by argument */
    bool has_size;
    struct cel_range size; /* of the result */
};

static struct cel_range arg_size(struct call *k, uint32_t i)
{
    return size_or_all(k->c, k->n->args[i]);
}

static void result(struct call *k, struct cel_range size)
{
    k->has_size = true;
    k->size = size;
}

static bool is_int_literal(const struct node *n, int64_t *out)
{
    if (n->kind != N_CONST || n->value.kind != CEL_INT)
        return false;
    *out = n->value.i;
    return true;
}

/* `==` of two of Kubernetes' own types; false: as any other. */
static bool own_equality(struct call *k, struct cel_range *out)
{
    static const struct cel_type *const ones[] = {&cel_type_ip, &cel_type_cidr,
                                                  &cel_type_quantity, &cel_type_semver};
    const struct cel_type *x = k->n->args[0]->type, *y = k->n->args[1]->type;
    struct cel_range r;

    if (!k->c->env->costs_k8s || !str_eqz(k->n->name, "_==_") || x->kind != CEL_T_OPAQUE ||
        !cel_type_eq(x, y))
        return false;
    *out = fixed(1);
    for (size_t i = 0; i < countof(ones); i++)
        if (str_eq(ones[i]->name, x->name))
            return true;
    if (str_starts(x->name, S("kubernetes.authorization.")))
        return true;
    if (str_eq(x->name, cel_type_format.name)) {
        *out = times((struct cel_range){1, 64}, 0.1);
        return true;
    }
    if (!str_eq(x->name, cel_type_url.name))
        return false;
    uint64_t most = size_of(k->c, k->n->args[1], &r) ? r.max : 1;
    *out = times((struct cel_range){1, MAX(most, (uint64_t)1)}, 0.1);
    return true;
}

static struct cel_range compare_cost(struct call *k)
{
    struct cel_range x, y, own;

    if (own_equality(k, &own))
        return own;
    x = arg_size(k, 0), y = arg_size(k, 1);
    uint64_t most = MIN(x.max, y.max);
    return times((struct cel_range){most > 0, most}, 0.1);
}

static struct cel_range traverse_cost(struct call *k, double otherwise)
{
    struct node *list = k->n->args[0];
    struct cel_range size = arg_size(k, 0), one = fixed(1);

    if (list->type->kind != CEL_T_LIST)
        return times(size, otherwise);
    uint8_t kind = list->type->params[0]->kind;
    if (kind == CEL_T_STRING || kind == CEL_T_BYTES)
        one = add(one, times(element_size(k->c, list), 0.1));
    return mul(size, one);
}

static void replace_size(struct call *k)
{
    struct cel_range s = arg_size(k, 0), old = arg_size(k, 1), with = arg_size(k, 2), r;

    if (old.min == 0)
        r.max = sat_add(sat_mul(sat_add(s.max, 1), with.max), s.max);
    else if (with.max <= old.min)
        r.max = s.max;
    else
        r.max = sat_mul(cost_up((double)s.max / (double)old.min), with.max);
    if (s.min == 0)
        r.min = 0;
    else if (old.min == 0 && old.max == 0)
        r.min = sat_add(sat_mul(sat_add(s.min, 1), with.min), s.min);
    else if (with.min >= old.max)
        r.min = s.min;
    else if (old.max == UINT64_MAX)
        r.min = 0;
    else
        r.min = sat_mul(cost_up((double)s.min / (double)old.max), with.min);
    result(k, r);
}

static void split_size(struct call *k)
{
    struct cel_range s = arg_size(k, 0);
    int64_t limit;

    if (k->n->n == 3 && is_int_literal(k->n->args[2], &limit) && limit >= 0)
        s.max = (uint64_t)limit;
    result(k, (struct cel_range){0, s.max});
}

static struct cel_range join_cost(struct call *k)
{
    struct cel_range n = arg_size(k, 0), item = element_size(k->c, k->n->args[0]), size;

    size = mul(n, item);
    if (k->n->n == 2) {
        struct cel_range sep = arg_size(k, 1);
        size.min = sat_add(size.min, sat_mul(n.min ? n.min - 1 : 0, sep.min));
        size.max = sat_add(size.max, sat_mul(n.max ? n.max - 1 : 0, sep.max));
    }
    result(k, size);
    return times(size, 0.1);
}

static struct cel_range contains_ip_cost(struct call *k)
{
    struct cel_range cost = times((struct cel_range){4, 16}, 0.2);

    if (k->n->args[1]->type->kind == CEL_T_STRING)
        cost = add(cost, times(arg_size(k, 1), 0.1));
    return cost;
}

static struct cel_range slice_cost(struct call *k)
{
    struct cel_range size = {0, arg_size(k, 0).max};
    int64_t from, to;

    if (is_int_literal(k->n->args[1], &from) && is_int_literal(k->n->args[2], &to) &&
        to >= from)
        size = fixed((uint64_t)to - (uint64_t)from);
    result(k, size);
    return add(size, fixed(11));
}

static struct cel_range range_cost(struct call *k)
{
    struct cel_range size = unbounded();
    int64_t n;

    if (is_int_literal(k->n->args[0], &n))
        size = fixed((uint64_t)MAX(n, (int64_t)0));
    result(k, size);
    return add(size, fixed(11));
}

static struct cel_range flatten_cost(struct call *k)
{
    struct cel_range depth = unbounded(), size = arg_size(k, 0);
    int64_t n = 1;

    if (k->n->n == 1 || is_int_literal(k->n->args[1], &n))
        depth = fixed((uint64_t)MAX(n, (int64_t)0));
    result(k, size);
    return add(mul(depth, size), fixed(11));
}

/* f x n^2; f is larger where keys are texts. */
static struct cel_range sort_cost(struct call *k, uint32_t keys, bool is_distinct)
{
    struct cel_range n = arg_size(k, keys), square = mul(n, n);
    const struct cel_type *t = k->o->params[keys];
    double f = 2;

    if (!is_distinct && t->kind == CEL_T_LIST &&
        (t->params[0]->kind == CEL_T_STRING || t->params[0]->kind == CEL_T_BYTES))
        f = 2.1;
    result(k, square);
    return add(times(square, f), fixed(11));
}

static struct cel_range sets_cost(struct call *k, uint64_t factor)
{
    return add(mul(mul(arg_size(k, 0), arg_size(k, 1)), fixed(factor)), fixed(1));
}

/* Rules of one argument's size, with the result's. */
static struct cel_range simple_cost(struct call *k, enum cost rule)
{
    struct cel_range s = arg_size(k, 0);

    switch (rule) {
    case COST_TO_BYTES:
        result(k, (struct cel_range){s.min, sat_mul(s.max, 4)});
        break;
    case COST_TO_STRING:
        result(k, (struct cel_range){s.min / 4, s.max});
        break;
    case COST_QUOTE:
        result(k, (struct cel_range){sat_add(s.min, 2), sat_add(sat_mul(s.max, 2), 2)});
        break;
    case COST_KEEP:
        result(k, s);
        break;
    default:
        break;
    }
    return times(s, 0.1);
}

static struct cel_range match_cost(struct call *k, enum cost rule)
{
    struct cel_range s = arg_size(k, 0);

    if (rule == COST_FIND)
        result(k, (struct cel_range){0, s.max});
    return mul(times(add(s, fixed(1)), 0.1), times(arg_size(k, 1), 0.25));
}

static struct cel_range concat_cost(struct call *k, enum cost rule)
{
    struct cel_range size = add(arg_size(k, 0), arg_size(k, 1));

    result(k, size);
    return rule == COST_ADD_LIST ? fixed(1) : times(size, 0.1);
}

static struct cel_range overload_cost(struct call *k, enum cost rule)
{
    struct node *n = k->n;

    switch (rule) {
    case COST_EQUAL:
    case COST_ORDER:
        return compare_cost(k);
    case COST_CONCAT:
    case COST_ADD_LIST:
        return concat_cost(k, rule);
    case COST_NEEDLE:
        return times(arg_size(k, 1), 0.1);
    case COST_ARG:
    case COST_PARSE:
    case COST_FORMAT:
    case COST_TO_BYTES:
    case COST_TO_STRING:
    case COST_QUOTE:
    case COST_KEEP:
        return simple_cost(k, rule);
    case COST_ARG2:
        return times(arg_size(k, 0), 0.2);
    case COST_REPLACE:
        replace_size(k);
        return times(arg_size(k, 0), 0.2);
    case COST_SPLIT:
        split_size(k);
        return times(arg_size(k, 0), 0.2);
    case COST_JOIN:
        return join_cost(k);
    case COST_IN_LIST:
        return arg_size(k, 1);
    case COST_MATCH:
    case COST_FIND:
        return match_cost(k, rule);
    case COST_CONTAINS:
        return mul(times(arg_size(k, 0), 0.1), times(arg_size(k, 1), 0.1));
    case COST_TRAVERSE:
        return traverse_cost(k, 0.1);
    case COST_INCLUDES:
        return traverse_cost(k, 1);
    case COST_INCLUDES_136:
        return fixed(48);
    case COST_IP:
        return n->args[0]->type->kind == CEL_T_OPAQUE ? fixed(1) : times(arg_size(k, 0), 0.1);
    case COST_CONTAINS_IP:
        return contains_ip_cost(k);
    case COST_CONTAINS_CIDR:
        return add(contains_ip_cost(k), add(times((struct cel_range){4, 16}, 0.1), fixed(1)));
    case COST_VALIDATE:
        return mul(times(arg_size(k, 1), 0.1), times(fixed(128), 0.25));
    case COST_CHECK:
        return fixed(350000);
    case COST_SELECTOR:
        return add(fixed(10),
                   add(times(arg_size(k, 1), 0.1), mul(fixed(50), times(arg_size(k, 1), 0.5))));
    case COST_SLICE:
        return slice_cost(k);
    case COST_LIST_RANGE:
        return range_cost(k);
    case COST_LIST_REVERSE:
        result(k, arg_size(k, 0));
        return add(arg_size(k, 0), fixed(11));
    case COST_FLATTEN:
        return flatten_cost(k);
    case COST_DISTINCT:
        return sort_cost(k, 0, true);
    case COST_SORT:
        return sort_cost(k, 0, false);
    case COST_SORT_BY:
        return sort_cost(k, 1, false);
    case COST_SETS:
        return sets_cost(k, 1);
    case COST_SETS_TWICE:
        return sets_cost(k, 2);
    case COST_FIXED:
        return fixed(k->o->fixed_cost);
    default:
        return fixed(1);
    }
}

static struct cel_range cost_logic(struct coster *c, struct node *n)
{
    struct cel_range x = cost_of(c, n->args[0]), y = cost_of(c, n->args[1]);

    return (struct cel_range){x.min, sat_add(x.max, y.max)};
}

static struct cel_range cost_ternary(struct coster *c, struct node *n)
{
    struct cel_range cond = cost_of(c, n->args[0]), yes = cost_of(c, n->args[1]);
    struct cel_range no = cost_of(c, n->args[2]);
    struct entries x = entries_of(c, n->args[1]), y = entries_of(c, n->args[2]);

    set_size(c, n, join(size_or_all(c, n->args[1]), size_or_all(c, n->args[2])));
    if (x.is_known && y.is_known)
        info_of(c, n)->entries =
            (struct entries){true, x.is_map, join(x.key, y.key), join(x.value, y.value)};
    return add(cond, join(yes, no));
}

static struct cel_range cost_dyn(struct coster *c, struct node *n)
{
    struct cel_range cost = add(fixed(1), cost_of(c, n->args[0])), r;

    if (size_of(c, n->args[0], &r))
        set_size(c, n, r);
    info_of(c, n)->entries = entries_of(c, n->args[0]);
    return cost;
}

/* `a[i]`: an element of a, where a's are known; and the path to it. */
static void index_size(struct coster *c, struct node *n)
{
    struct entries e = entries_of(c, n->args[0]);
    struct size_info *base = info_of(c, n->args[0]);

    for (uint32_t i = 0; i < n->n_overloads; i++) {
        bool is_list = str_eqz(n->overloads[i]->id, "index_list");
        if (is_list || str_eqz(n->overloads[i]->id, "index_map"))
            set_path(c, n, base->path, base->n_path, is_list ? S("@items") : S("@values"));
    }
    if (e.is_known)
        set_size(c, n, e.value);
}

static bool is_call(const struct node *n, const char *name)
{
    return !n->is_member && str_eqz(n->name, name);
}

static enum cost rule_of(const struct overload *o, const struct function *f)
{
    enum cost cost = (enum cost)o->cost;

    if ((cost >= COST_INCLUDES_136 && cost <= COST_SETS_TWICE) || cost == COST_FIXED)
        return cost;
    return f->k8s_cost >= 0 ? (enum cost)f->k8s_cost : cost;
}

static struct cel_range cost_call(struct coster *c, struct node *n)
{
    struct cel_range sum = fixed(0), call = {UINT64_MAX, 0}, size = {UINT64_MAX, 0};
    bool has_size = false;

    if (!n->function || n->n_overloads == 0)
        return fixed(0);
    if (is_call(n, "_&&_") || is_call(n, "_||_"))
        return cost_logic(c, n);
    if (is_call(n, "_?_:_"))
        return cost_ternary(c, n);
    if (is_call(n, "dyn") && n->n == 1)
        return cost_dyn(c, n);
    for (uint32_t i = 0; i < n->n; i++)
        sum = add(sum, cost_of(c, n->args[i]));
    for (uint32_t i = 0; i < n->n_overloads; i++) {
        struct call k = {.c = c, .n = n, .o = n->overloads[i]};
        call = join(call, overload_cost(&k, rule_of(k.o, n->function)));
        if (k.has_size) {
            size = join(size, k.size);
            has_size = true;
        }
    }
    if (has_size)
        set_size(c, n, size);
    if (is_call(n, "_[_]"))
        index_size(c, n);
    if (is_call(n, "_+_")) {
        struct entries x = entries_of(c, n->args[0]), y = entries_of(c, n->args[1]);
        if (x.is_known && y.is_known)
            info_of(c, n)->entries =
                (struct entries){true, x.is_map, join(x.key, y.key), join(x.value, y.value)};
    }
    return add(sum, call);
}

/* ---- loops ---- */

static void push(struct coster *c, struct str name, struct size_info info)
{
    struct local l = {name, info, c->locals};

    c->locals = arena_copy(c->a, &l);
}

/* The accumulator or binding: the size and entries of its initialiser. */
static void push_init(struct coster *c, struct str name, struct node *init, bool has_path)
{
    struct size_info info = {0}, *of = info_of(c, init);

    info.has_size = size_of(c, init, &info.size);
    info.entries = entries_of(c, init);
    if (has_path) {
        info.path = of->path;
        info.n_path = of->n_path;
    }
    push(c, name, info);
}

static void push_item(struct coster *c, struct str name, struct node *range, const char *step,
                      bool is_key)
{
    struct entries e = entries_of(c, range);
    struct size_info info = {0}, *base = info_of(c, range);
    struct node path = {.size = &info};

    set_path(c, &path, base->path, base->n_path, str_from(step));
    if (e.is_known) {
        info.has_size = true;
        info.size = is_key ? e.key : e.value;
    }
    push(c, name, info);
}

static void push_items(struct coster *c, const struct fold *f)
{
    uint8_t kind = f->range->type->kind;
    bool is_map = kind == CEL_T_MAP || (kind != CEL_T_LIST && entries_of(c, f->range).is_map);

    if (!f->has_two) {
        push_item(c, f->iter, f->range, is_map ? "@keys" : "@items", is_map);
        return;
    }
    push_item(c, f->iter, f->range, is_map ? "@keys" : "@indices", true);
    push_item(c, f->iter2, f->range, is_map ? "@values" : "@items", false);
}

static struct cel_range cost_bind(struct coster *c, struct node *n)
{
    struct fold *f = n->fold;
    struct local *outer = c->locals;
    struct cel_range sum = add(cost_of(c, f->range), cost_of(c, f->init)), r;

    push_init(c, f->accu, f->init, true);
    sum = add(sum, cost_of(c, f->result));
    if (size_of(c, f->result, &r))
        set_size(c, n, r);
    info_of(c, n)->entries = entries_of(c, f->result);
    c->locals = outer;
    return sum;
}

static struct cel_range cost_block(struct coster *c, struct node *n)
{
    struct fold *f = n->fold;
    struct local *outer = c->locals;
    struct cel_range sum = fixed(0);

    for (uint32_t i = 0; i < f->n_slots; i++) {
        sum = add(sum, cost_of(c, f->slots[i]));
        push_init(c, f->slot_names[i], f->slots[i], true);
    }
    sum = add(sum, cost_of(c, f->body));
    c->locals = outer;
    return sum;
}

static struct cel_range cost_fold(struct coster *c, struct node *n)
{
    struct fold *f = n->fold;
    struct local *outer = c->locals, *accu;
    struct cel_range sum, loop, size, r;

    if (f->kind == FOLD_BIND)
        return cost_bind(c, n);
    if (f->kind == FOLD_BLOCK)
        return cost_block(c, n);
    sum = add(cost_of(c, f->range), cost_of(c, f->init));
    push_init(c, f->accu, f->init, false);
    accu = c->locals;
    push_items(c, f);
    loop = cost_of(c, f->cond);
    loop = add(loop, cost_of(c, f->step));
    struct entries step = entries_of(c, f->step);
    c->locals = accu;
    sum = add(sum, cost_of(c, f->result));
    c->locals = outer;
    size = size_or_all(c, f->range);
    if (f->init->kind == N_CONST) {
        if (size_of(c, f->init, &r))
            set_size(c, n, r);
    } else {
        set_size(c, n, size);
        info_of(c, n)->entries = step;
    }
    return add(sum, mul(size, loop));
}

static struct cel_range cost_of(struct coster *c, struct node *n)
{
    n->size = NULL; /* nodes that macros share are counted anew */
    switch ((enum node_kind)n->kind) {
    case N_IDENT:
        return cost_ident(c, n, n->name);
    case N_SELECT:
        return cost_select(c, n);
    case N_CALL:
        return cost_call(c, n);
    case N_LIST:
        return cost_list(c, n);
    case N_MAP:
        return cost_map(c, n);
    case N_STRUCT:
        return cost_message(c, n);
    case N_FOLD:
        return cost_fold(c, n);
    default:
        return fixed(0);
    }
}

struct cel_range ast_estimate(struct arena *a, const struct cel_env *env, struct node *root,
                              const struct cel_size_hook *sizes)
{
    struct coster c = {.a = a, .env = env, .sizes = sizes};

    return cost_of(&c, root);
}
