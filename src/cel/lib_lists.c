/* lib_lists.c - lists: the language's library, Kubernetes' own, and sets */
#include "cel/lib_priv.h"

static struct cel_value not_a_list(struct cel_call *c, const char *what)
{
    return cel_fail_name(CEL_E_TEXT, str_copy(c->arena, str_from(what)));
}

/* The elements as an array. */
static const struct cel_value *items_of(struct arena *a, struct cel_value list)
{
    struct cel_value *items;

    if (list.form == CEL_ARRAY)
        return list.items;
    items = arena_array(a, struct cel_value, MAX(list.len, 1u));
    for (uint32_t i = 0; i < list.len; i++)
        items[i] = cel_at(a, list, i);
    return items;
}

/* ---- the language's ---- */

CEL_FN(slice)
{
    int64_t from = args[1].i, to = args[2].i;
    const char *why = NULL;

    if (from < 0 || to < 0)
        why = "negative indexes not supported";
    else if (from > to)
        why = "start index must be less than or equal to end index";
    if (why)
        return cel_fail_text(c->arena, "cannot slice(%lld, %lld), %s", (long long)from,
                             (long long)to, why);
    if (to > args[0].len)
        return cel_fail_text(c->arena, "cannot slice(%lld, %lld), list is length %u",
                             (long long)from, (long long)to, args[0].len);
    return cel_list(items_of(c->arena, args[0]) + from, (size_t)(to - from));
}

struct values {
    VEC(struct cel_value) list;
};

static bool flatten_into(struct arena *a, struct cel_value list, int64_t depth,
                         struct values *out)
{
    for (uint32_t i = 0; i < list.len; i++) {
        struct cel_value v = cel_at(a, list, i);
        if (v.kind == CEL_LIST && depth > 0) {
            if (!flatten_into(a, v, depth - 1, out))
                return false;
        } else {
            vec_push_in(a, &out->list, v);
        }
        if (out->list.len > CEL_MAX_ITEMS)
            return false;
    }
    return true;
}

CEL_FN(flatten)
{
    int64_t depth = n == 2 ? args[1].i : 1;
    struct values out = {0};

    if (depth < 0)
        return not_a_list(c, "level must be non-negative");
    if (!flatten_into(c->arena, args[0], MIN(depth, (int64_t)1000), &out))
        return cel_fail(CEL_E_MEMORY);
    return cel_list(out.list.at, out.list.len);
}

CEL_FN(distinct)
{
    struct cel_value list = args[0];
    struct cel_value *out = arena_array(c->arena, struct cel_value, MAX(list.len, 1u));
    uint32_t k = 0, j;

    for (uint32_t i = 0; i < list.len; i++) {
        struct cel_value v = cel_at(c->arena, list, i);
        for (j = 0; j < k && !cel_same(c->arena, out[j], v);)
            j++;
        if (j == k)
            out[k++] = v;
    }
    return cel_list(out, k);
}

CEL_FN(reverse)
{
    struct cel_value list = args[0];
    struct cel_value *out = arena_array(c->arena, struct cel_value, MAX(list.len, 1u));

    for (uint32_t i = 0; i < list.len; i++)
        out[list.len - 1 - i] = cel_at(c->arena, list, i);
    return cel_list(out, list.len);
}

CEL_FN(range)
{
    int64_t count = MAX(args[0].i, (int64_t)0);
    struct cel_value *out;

    if (count > (int64_t)CEL_MAX_ITEMS)
        return cel_fail(CEL_E_MEMORY);
    out = arena_array(c->arena, struct cel_value, (size_t)MAX(count, (int64_t)1));
    for (int64_t i = 0; i < count; i++)
        out[i] = cel_int(i);
    return cel_list(out, (size_t)count);
}

struct keyed {
    struct cel_value key, value;
};

static int keyed_cmp(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    int order = cel_compare(a->key, b->key);

    return order == CEL_UNORDERED ? 0 : order;
}

/* `list` in the order of `keys`, which are as many. */
static struct cel_value sort_by(struct cel_call *c, struct cel_value list,
                                struct cel_value keys)
{
    struct keyed *pairs = arena_array(c->arena, struct keyed, MAX(list.len, 1u));
    struct cel_value *out = arena_array(c->arena, struct cel_value, MAX(list.len, 1u));

    if (keys.len != list.len)
        return cel_fail_text(c->arena,
                             "@sortByAssociatedKeys() expected a list of the same size as the "
                             "associated keys list, but got %u and %u elements respectively",
                             list.len, keys.len);
    for (uint32_t i = 0; i < list.len; i++) {
        pairs[i].key = cel_at(c->arena, keys, i);
        pairs[i].value = cel_at(c->arena, list, i);
        if (cel_compare(pairs[i].key, pairs[i].key) == CEL_INCOMPARABLE)
            return not_a_list(c, "list elements must be comparable");
        if (pairs[i].key.kind != pairs[0].key.kind)
            return not_a_list(c, "list elements must have the same type");
    }
    sort_stable(pairs, list.len, sizeof(*pairs), keyed_cmp);
    for (uint32_t i = 0; i < list.len; i++)
        out[i] = pairs[i].value;
    return cel_list(out, list.len);
}

CEL_FN(sort)
{
    return sort_by(c, args[0], args[0]);
}

CEL_FN(sort_keys)
{
    return sort_by(c, args[0], args[1]);
}

/* ---- Kubernetes' ---- */

static struct cel_value compare_fails(struct cel_value x, struct cel_value y, int *order)
{
    *order = cel_compare(x, y);
    if (*order == CEL_UNORDERED)
        return cel_fail(CEL_E_NAN);
    if (*order == CEL_INCOMPARABLE)
        return cel_fail(CEL_E_NO_OVERLOAD);
    return cel_null();
}

CEL_FN(is_sorted)
{
    int order;

    for (uint32_t i = 1; i < args[0].len; i++) {
        struct cel_value e = compare_fails(cel_at(c->arena, args[0], i - 1),
                                           cel_at(c->arena, args[0], i), &order);
        if (e.kind == CEL_ERROR)
            return e;
        if (order > 0)
            return cel_bool(false);
    }
    return cel_bool(true);
}

CEL_FN(sum)
{
    struct cel_value all = *(const struct cel_value *)c->data;

    for (uint32_t i = 0; i < args[0].len && all.kind != CEL_ERROR; i++)
        all = value_add(c->arena, all, cel_at(c->arena, args[0], i));
    return all;
}

CEL_FN(extreme)
{
    int want = *(const int *)c->data, order;
    struct cel_value best;

    if (args[0].len == 0)
        return not_a_list(c,
                          want > 0 ? "max called on empty list" : "min called on empty list");
    best = cel_at(c->arena, args[0], 0);
    for (uint32_t i = 1; i < args[0].len; i++) {
        struct cel_value v = cel_at(c->arena, args[0], i), e = compare_fails(v, best, &order);
        if (e.kind == CEL_ERROR)
            return e;
        if (order == want)
            best = v;
    }
    return best;
}

CEL_FN(index_of)
{
    for (uint32_t i = 0; i < args[0].len; i++)
        if (cel_same(c->arena, cel_at(c->arena, args[0], i), args[1]))
            return cel_int(i);
    return cel_int(-1);
}

CEL_FN(last_index_of)
{
    for (uint32_t i = args[0].len; i-- > 0;)
        if (cel_same(c->arena, cel_at(c->arena, args[0], i), args[1]))
            return cel_int(i);
    return cel_int(-1);
}

CEL_FN(includes)
{
    if (args[0].kind != CEL_LIST)
        return cel_equal(c->arena, args[0], args[1]);
    return value_in(c->arena, args[1], args[0]);
}

#define MAX_INCLUDES_136 48

CEL_FN(includes_136)
{
    if (args[0].kind == CEL_LIST && args[0].len > MAX_INCLUDES_136)
        return cel_fail_text(c->arena,
                             "'includes' function cannot be applied to lists longer than %d "
                             "values",
                             MAX_INCLUDES_136);
    return includes(c, args, n);
}

/* ---- sets ---- */

static bool holds(struct arena *a, struct cel_value list, struct cel_value v)
{
    for (uint32_t i = 0; i < list.len; i++)
        if (cel_same(a, cel_at(a, list, i), v))
            return true;
    return false;
}

static bool holds_all(struct arena *a, struct cel_value list, struct cel_value all)
{
    for (uint32_t i = 0; i < all.len; i++)
        if (!holds(a, list, cel_at(a, all, i)))
            return false;
    return true;
}

CEL_FN(sets_contains)
{
    return cel_bool(holds_all(c->arena, args[0], args[1]));
}

CEL_FN(sets_equivalent)
{
    return cel_bool(holds_all(c->arena, args[0], args[1]) &&
                    holds_all(c->arena, args[1], args[0]));
}

CEL_FN(sets_intersects)
{
    for (uint32_t i = 0; i < args[0].len; i++)
        if (holds(c->arena, args[1], cel_at(c->arena, args[0], i)))
            return cel_bool(true);
    return cel_bool(false);
}

/* ---- tables ---- */

static const struct cel_value zero_int = {.kind = CEL_INT}, zero_uint = {.kind = CEL_UINT},
                              zero_double = {.kind = CEL_DOUBLE},
                              zero_duration = {.kind = CEL_DURATION};
static const int lowest = -1, highest = 1;
/* clang-format off */
#define SORT(type, id) \
    {"sort", "list_" id "_sort", "list(" type ").() list(" type ")", sort, LIB_LISTS, COST_SORT, 2}, \
    {"@sortByAssociatedKeys", "list_" id "_sortByAssociatedKeys", "list(A).(list(" type ")) list(A)", sort_keys, LIB_LISTS, COST_SORT_BY, 2}
#define ORDERED(type, id) \
    {"isSorted", "list_" id "_is_sorted_bool", "list(" type ").() bool", is_sorted, LIB_K8S_LISTS}, \
    {"max", "list_" id "_max_" id, "list(" type ").() " type, extreme, LIB_K8S_LISTS, COST_ONE, 0, 0, &highest}, \
    {"min", "list_" id "_min_" id, "list(" type ").() " type, extreme, LIB_K8S_LISTS, COST_ONE, 0, 0, &lowest}
#define SUM(type, zero) \
    {"sum", "list_" type "_sum_" type, "list(" type ").() " type, sum, LIB_K8S_LISTS, COST_ONE, 0, 0, &zero}

static const struct lib_row list_rows[] = {
    {"slice",       "list_slice",               "list(A).(int, int) list(A)", slice,         LIB_LISTS,           COST_SLICE},
    {"flatten",     "list_flatten",             "list(list(A)).() list(A)",   flatten,       LIB_LISTS,           COST_FLATTEN,      1},
    {"flatten",     "list_flatten_int",         "list(dyn).(int) list(dyn)",  flatten,       LIB_LISTS,           COST_FLATTEN,      1},
    {"lists.range", "lists_range",              "(int) list(int)",            range,         LIB_LISTS,           COST_LIST_RANGE,   2},
    {"distinct",    "list_distinct",            "list(A).() list(A)",         distinct,      LIB_LISTS,           COST_DISTINCT,     2},
    {"reverse",     "list_reverse",             "list(A).() list(A)",         reverse,       LIB_LISTS,           COST_LIST_REVERSE, 2},
    SORT("int", "int"),
    SORT("uint", "uint"),
    SORT("double", "double"),
    SORT("bool", "bool"),
    SORT("duration", "google.protobuf.Duration"),
    SORT("timestamp", "google.protobuf.Timestamp"),
    SORT("string", "string"),
    SORT("bytes", "bytes"),
    ORDERED("int", "int"),
    ORDERED("uint", "uint"),
    ORDERED("double", "double"),
    ORDERED("bool", "bool"),
    ORDERED("duration", "duration"),
    ORDERED("timestamp", "timestamp"),
    ORDERED("string", "string"),
    ORDERED("bytes", "bytes"),
    SUM("int", zero_int),
    SUM("uint", zero_uint),
    SUM("double", zero_double),
    SUM("duration", zero_duration),
    {"indexOf",     "list_a_index_of_int",      "list(A).(A) int",            index_of,      LIB_K8S_LISTS},
    {"lastIndexOf", "list_a_last_index_of_int", "list(A).(A) int",            last_index_of, LIB_K8S_LISTS},
    {"includes",    "list_includes_dyn_dyn",    "dyn.(dyn) bool",             includes,      LIB_K8S_INCLUDES},
    {"includes",    "dra_includes_dyn_dyn",     "dyn.(dyn) bool",             includes_136,  LIB_DEVICE_INCLUDES, COST_INCLUDES_136},
};
/* clang-format on */
/* clang-format off */
static const struct lib_row set_rows[] = {
    {"sets.contains",   "list_sets_contains_list",   "(list(A), list(A)) bool", sets_contains,   LIB_SETS, COST_SETS},
    {"sets.equivalent", "list_sets_equivalent_list", "(list(A), list(A)) bool", sets_equivalent, LIB_SETS, COST_SETS_TWICE},
    {"sets.intersects", "list_sets_intersects_list", "(list(A), list(A)) bool", sets_intersects, LIB_SETS, COST_SETS},
};
/* clang-format on */

const struct lib_table cel_lib_lists = {list_rows, countof(list_rows)},
                       cel_lib_sets = {set_rows, countof(set_rows)};
