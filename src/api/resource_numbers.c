/* resource_numbers.c - amounts by resource as whole numbers */
#include "api/resource_numbers.h"

static int by_name(const struct resource_number *x, const struct resource_number *y)
{
    return str_cmp(x->name, y->name);
}

struct resource_numbers resource_numbers_of(struct arena *a, const struct resource_list *l)
{
    VEC(struct resource_number) v = {0};

    for (size_t i = 0; i < l->len; i++)
        vec_push_in(a, &v,
                    (struct resource_number){l->at[i].name,
                                             resource_units(l->at[i].name, &l->at[i].q)});
    vec_sort(&v, by_name);
    return (struct resource_numbers){v.at, v.len};
}

struct resource_list resource_numbers_list(struct arena *a, const struct resource_numbers *n)
{
    struct resource_list l = {0};

    for (size_t i = 0; i < n->len; i++)
        resource_list_put(a, &l, n->at[i].name,
                          resource_quantity(n->at[i].name, n->at[i].n, false));
    return l;
}

int64_t resource_numbers_get(const struct resource_numbers *n, struct str name, bool *is_there)
{
    size_t from = 0, to = n->len;

    if (is_there)
        *is_there = false;
    while (from < to) {
        size_t mid = (from + to) / 2;
        int order = str_cmp(n->at[mid].name, name);
        if (order == 0) {
            if (is_there)
                *is_there = true;
            return n->at[mid].n;
        }
        if (order < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return 0;
}

struct resource_numbers resource_numbers_add(struct arena *a, const struct resource_numbers *x,
                                             const struct resource_numbers *y, int64_t by)
{
    struct resource_numbers out = {arena_array(a, struct resource_number, x->len + y->len), 0};
    size_t i = 0, k = 0;

    while (i < x->len || k < y->len) {
        int order = i == x->len ? 1 : k == y->len ? -1 : str_cmp(x->at[i].name, y->at[k].name);
        struct resource_number r = order <= 0 ? x->at[i++] : (struct resource_number){0};
        if (order >= 0) {
            struct resource_number other = y->at[k++];
            r.name = other.name;
            r.n = by == -1 ? sat_sub(r.n, other.n) : sat_add(r.n, sat_mul(other.n, by));
        }
        out.at[out.len++] = r;
    }
    return out;
}

void resource_numbers_floor(struct resource_numbers *n)
{
    for (size_t i = 0; i < n->len; i++)
        n->at[i].n = MAX(n->at[i].n, INT64_C(0));
}

int64_t resource_numbers_fit(const struct resource_numbers *capacity,
                             const struct resource_numbers *request, struct str *limiting)
{
    int64_t least = 0;

    if (limiting)
        *limiting = (struct str){0};
    for (size_t i = 0; i < request->len; i++) {
        struct resource_number r = request->at[i];
        int64_t have = resource_numbers_get(capacity, r.name, NULL);
        int64_t times = r.n <= 0 ? INT32_MAX : MAX(have, INT64_C(0)) / r.n;
        times = MIN(times, (int64_t)INT32_MAX);
        if (i > 0 && times >= least)
            continue;
        least = times;
        if (limiting)
            *limiting = r.name;
    }
    return least;
}

struct str_list resource_numbers_greater(struct arena *a, const struct resource_numbers *x,
                                         const struct resource_numbers *y)
{
    VEC(struct str) names = {0};

    for (size_t i = 0; i < x->len; i++) {
        bool is_there;
        int64_t other = resource_numbers_get(y, x->at[i].name, &is_there);
        if (is_there && x->at[i].n > other)
            vec_push_in(a, &names, x->at[i].name);
    }
    return (struct str_list){names.at, names.len};
}
