/* topology_assignment.c - which pods of a podset go where */
#include "api/topology_assignment.h"

/* ---- spelling out ---- */

static int64_t slice_domains(const struct json *slice)
{
    int64_t n = json_i64(json_getz(slice, "domainCount"), 0);

    return MAX(n, INT64_C(0));
}

int64_t topology_domain_count(const struct json *stored)
{
    const struct json *slices = json_getz(stored, "slices");
    int64_t sum = 0;

    json_each (i, slices)
        if (__builtin_add_overflow(sum, slice_domains(json_at(slices, i)), &sum))
            return INT64_MAX;
    return sum;
}

/* The value of domain i at one level of a slice. */
static struct str value_at(struct arena *a, const struct json *level, size_t i)
{
    const struct json *one = json_getz(level, "individual");

    if (!json_has(one))
        return json_str(json_getz(level, "universal"));
    struct str prefix = json_str(json_getz(one, "prefix"));
    struct str suffix = json_str(json_getz(one, "suffix"));
    struct str root = json_str(json_at(json_getz(one, "roots"), i));
    if (prefix.len == 0 && suffix.len == 0)
        return root;
    struct str parts[] = {prefix, root, suffix};
    return str_join(a, parts, countof(parts), S(""));
}

static int64_t count_at(const struct json *slice, size_t i)
{
    const struct json *counts = json_getz(slice, "podCounts");
    const struct json *list = json_getz(counts, "individual");

    return json_i64(list ? json_at(list, i) : json_getz(counts, "universal"), 0);
}

int topology_decode(struct arena *a, const struct json *stored, struct topology_assignment *out,
                    struct err *err)
{
    const struct json *slices = json_getz(stored, "slices");
    struct str_list levels = str_list_of(a, json_getz(stored, "levels"));
    int64_t total = topology_domain_count(stored);

    if (total > TOPOLOGY_MAX_DOMAINS)
        return err_set(err, ERR_LIMIT,
                       "a topology assignment of %" PRId64 " domains is over the limit of %d",
                       total, TOPOLOGY_MAX_DOMAINS);
    struct topology_domain *at = arena_array(a, struct topology_domain, (size_t)total);
    size_t n = 0;
    json_each (s, slices) {
        const struct json *slice = json_at(slices, s);
        const struct json *values = json_getz(slice, "valuesPerLevel");
        for (size_t i = 0; i < (size_t)slice_domains(slice); i++) {
            struct str *v = arena_array(a, struct str, levels.len);
            for (size_t k = 0; k < levels.len; k++)
                v[k] = value_at(a, json_at(values, k), i);
            at[n++] = (struct topology_domain){v, count_at(slice, i)};
        }
    }
    *out = (struct topology_assignment){levels, at, n};
    return 0;
}

bool topology_has_node(struct arena *a, const struct json *stored, struct str node)
{
    const struct json *levels = json_getz(stored, "levels"),
                      *slices = json_getz(stored, "slices");
    size_t lowest = json_len(levels) - 1;

    if (!json_len(levels) || !str_eq(json_str(json_at(levels, lowest)), S(TOPOLOGY_HOSTNAME)))
        return false;
    json_each (s, slices) {
        const struct json *slice = json_at(slices, s);
        const struct json *level = json_at(json_getz(slice, "valuesPerLevel"), lowest);
        bool is_one = !json_has(json_getz(level, "individual"));
        size_t n = (size_t)MIN(slice_domains(slice), (int64_t)TOPOLOGY_MAX_SLICE_DOMAINS);
        for (size_t i = 0; i < n; i++) {
            if (count_at(slice, i) > 0 && str_eq(value_at(a, level, i), node))
                return true;
            if (is_one && count_at(slice, i) > 0)
                break;
        }
    }
    return false;
}

bool topology_is_inside(struct str id, struct str target)
{
    return target.len == 0 ||
           (str_starts(id, target) && (id.len == target.len || id.at[target.len] == ','));
}

struct str topology_node_of(struct str id, struct str_list levels)
{
    struct str above, name;

    if (levels.len == 0 || !str_eq(levels.at[levels.len - 1], S(TOPOLOGY_HOSTNAME)))
        return S("");
    return str_rcut(id, ',', &above, &name) ? name : id;
}

/* ---- storing ---- */

static size_t common_prefix(struct str x, struct str y)
{
    size_t n = 0;

    while (n < x.len && n < y.len && x.at[n] == y.at[n])
        n++;
    return n;
}

static size_t common_suffix(struct str x, struct str y)
{
    size_t n = 0;

    while (n < x.len && n < y.len && x.at[x.len - 1 - n] == y.at[y.len - 1 - n])
        n++;
    return n;
}

/* One level of a run of domains. */
static struct json level_json(struct arena *a, const struct topology_domain *d, size_t n,
                              size_t level)
{
    struct str first = d[0].values[level];
    size_t prefix = first.len, suffix = first.len, shortest = first.len;
    struct json_obj o = obj_in(a), one = obj_in(a);
    struct json_arr roots = arr_in(a);
    bool are_equal = true;

    for (size_t i = 1; i < n; i++) {
        struct str v = d[i].values[level];
        are_equal = are_equal && str_eq(v, first);
        prefix = MIN(prefix, common_prefix(first, v));
        suffix = MIN(suffix, common_suffix(first, v));
        shortest = MIN(shortest, v.len);
    }
    if (are_equal) {
        obj_setz(&o, "universal", json_of_str(first));
        return obj_done(&o);
    }
    if (prefix + suffix > shortest)
        prefix = shortest - suffix;
    if (prefix)
        obj_setz(&one, "prefix", json_of_str(str_slice(first, 0, prefix)));
    for (size_t i = 0; i < n; i++) {
        struct str v = d[i].values[level];
        arr_add(&roots, json_of_str(str_slice(v, prefix, v.len - suffix)));
    }
    obj_setz(&one, "roots", arr_done(&roots));
    if (suffix)
        obj_setz(&one, "suffix", json_of_str(str_slice(first, first.len - suffix, first.len)));
    obj_setz(&o, "individual", obj_done(&one));
    return obj_done(&o);
}

static struct json counts_json(struct arena *a, const struct topology_domain *d, size_t n)
{
    struct json_obj o = obj_in(a);
    struct json_arr list = arr_in(a);
    bool are_equal = true;

    for (size_t i = 0; i < n; i++) {
        are_equal = are_equal && d[i].count == d[0].count;
        arr_add(&list, json_of_i64(d[i].count));
    }
    if (are_equal)
        obj_setz(&o, "universal", json_of_i64(d[0].count));
    else
        obj_setz(&o, "individual", arr_done(&list));
    return obj_done(&o);
}

static struct json slice_json(struct arena *a, const struct topology_domain *d, size_t n,
                              size_t n_levels)
{
    struct json_obj o = obj_in(a);
    struct json_arr values = arr_in(a);

    for (size_t k = 0; k < n_levels; k++)
        arr_add(&values, level_json(a, d, n, k));
    obj_setz(&o, "domainCount", json_of_i64((int64_t)n));
    obj_setz(&o, "podCounts", counts_json(a, d, n));
    obj_setz(&o, "valuesPerLevel", arr_done(&values));
    return obj_done(&o);
}

/* ---- runs of host names ---- */

/* Where the prefixes of a name end that others may share: behind each '-' but a final one. */
static size_t candidate_end(struct str name, size_t n)
{
    for (size_t i = 0; i + 1 < name.len; i++)
        if (name.at[i] == '-' && n-- == 0)
            return i + 1;
    return 0;
}

static size_t n_candidates(struct str name)
{
    size_t n = 0;

    while (candidate_end(name, n))
        n++;
    return n;
}

/* The longest of a name's first `depth` prefixes that another domain has too; "" for none. */
static struct str run_key(const void *reusable, struct str name, size_t depth)
{
    const MAP(size_t) *seen = reusable;

    for (size_t n = MIN(depth, n_candidates(name)); n-- > 0;) {
        struct str prefix = str_slice(name, 0, candidate_end(name, n));
        const size_t *times = map_get(seen, prefix);
        if (times && *times > 1)
            return prefix;
    }
    return S("");
}

/* Ends of the runs at one depth; 0 where they are more than are allowed. */
static size_t runs_at(const void *reusable, const struct topology_assignment *t, size_t depth,
                      size_t *ends)
{
    size_t n = 0, from = 0, lowest = t->levels.len - 1;
    struct str key = run_key(reusable, t->at[0].values[lowest], depth);

    for (size_t i = 1; i <= t->len; i++) {
        struct str next = i < t->len ? run_key(reusable, t->at[i].values[lowest], depth) : key;
        if (i < t->len && str_eq(next, key) && i - from < TOPOLOGY_MAX_SLICE_DOMAINS)
            continue;
        if (n == TOPOLOGY_MAX_SLICES)
            return 0;
        ends[n++] = i;
        from = i;
        key = next;
    }
    return n;
}

static size_t find_runs(const struct topology_assignment *t, size_t *ends)
{
    MAP(size_t) seen = {0};
    size_t most = 0, n = 0, lowest = t->levels.len - 1;

    for (size_t i = 0; i < t->len; i++) {
        struct str name = t->at[i].values[lowest];
        size_t mine = n_candidates(name);
        most = MAX(most, mine);
        for (size_t k = 0; k < mine; k++)
            ++*map_put(&seen, str_slice(name, 0, candidate_end(name, k)));
    }
    for (size_t depth = most; depth > 0 && n == 0; depth--)
        n = runs_at(&seen, t, depth, ends);
    map_fini(&seen);
    return n;
}

struct json topology_encode(struct arena *a, const struct topology_assignment *t,
                            enum topology_form form)
{
    bool has_hosts =
        t->levels.len && str_eq(t->levels.at[t->levels.len - 1], S(TOPOLOGY_HOSTNAME));
    size_t *ends = arena_array(a, size_t, TOPOLOGY_MAX_SLICES), n = 0, from = 0;
    struct json_arr levels = arr_in(a), slices = arr_in(a), whole = arr_in(a);
    struct json_obj o = obj_in(a);

    for (size_t i = 0; i < t->levels.len; i++)
        arr_add(&levels, json_of_str(t->levels.at[i]));
    obj_setz(&o, "levels", arr_done(&levels));
    if (t->len)
        arr_add(&whole, slice_json(a, t->at, t->len, t->levels.len));
    struct json one = arr_done(&whole), list = one;
    if (form != TOPOLOGY_ONE_SLICE && has_hosts && t->len >= 2)
        n = find_runs(t, ends);
    if (n > 1) {
        for (size_t i = 0; i < n; from = ends[i++])
            arr_add(&slices, slice_json(a, t->at + from, ends[i] - from, t->levels.len));
        list = arr_done(&slices);
        if (form == TOPOLOGY_SHORTER && t->len <= TOPOLOGY_MAX_SLICE_DOMAINS &&
            json_text(a, &one).len < json_text(a, &list).len)
            list = one;
    }
    obj_setz(&o, "slices", list);
    return obj_done(&o);
}
