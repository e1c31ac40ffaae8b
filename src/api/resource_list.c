/* resource_list.c - amounts by resource */
#include "api/resource_list.h"

static bool read_amount(struct arena *a, const struct json *v, struct quantity *out)
{
    if (json_is(v, JSON_INT)) {
        *out = quantity_of(v->i, 0, QUANTITY_DECIMAL_SI);
        return true;
    }
    struct str text = json_is(v, JSON_DOUBLE) ? json_text(a, v) : json_str(v);
    return quantity_parse(a, text, out, NULL) == 0;
}

struct resource_list resource_list_of(struct arena *a, const struct json *map)
{
    struct resource_list l = {0};
    struct quantity q;

    json_each_member (m, map)
        if (read_amount(a, &m->value, &q))
            resource_list_put(a, &l, m->name, q);
    return l;
}

struct json resource_list_json(struct arena *a, const struct resource_list *l)
{
    struct json_obj o = obj_in(a);

    for (size_t i = 0; i < l->len; i++)
        obj_add(&o, l->at[i].name, json_of_str(quantity_text(a, &l->at[i].q)));
    return obj_done(&o);
}

struct quantity *resource_list_get(const struct resource_list *l, struct str name)
{
    for (size_t i = 0; i < l->len; i++)
        if (str_eq(l->at[i].name, name))
            return &l->at[i].q;
    return NULL;
}

void resource_list_put(struct arena *a, struct resource_list *l, struct str name,
                       struct quantity q)
{
    struct quantity *old = resource_list_get(l, name);

    if (old)
        *old = q;
    else
        vec_push_in(a, l, (struct resource_amount){name, q});
}

void resource_list_del(struct resource_list *l, struct str name)
{
    for (size_t i = 0; i < l->len; i++)
        if (str_eq(l->at[i].name, name)) {
            vec_remove(l, i);
            return;
        }
}

static int by_name(const struct resource_amount *x, const struct resource_amount *y)
{
    return str_cmp(x->name, y->name);
}

void resource_list_sort(struct resource_list *l)
{
    vec_sort(l, by_name);
}

void resource_list_merge(struct arena *a, struct resource_list *to,
                         const struct resource_list *from, enum resource_merge how)
{
    for (size_t i = 0; i < from->len; i++) {
        struct resource_amount x = from->at[i];
        struct quantity *old = resource_list_get(to, x.name);
        if (!old)
            resource_list_put(a, to, x.name, x.q);
        else if (how == RESOURCE_SUM)
            *old = quantity_add(a, old, &x.q);
        else if ((how == RESOURCE_MAX && quantity_cmp(&x.q, old) > 0) ||
                 (how == RESOURCE_MIN && quantity_cmp(&x.q, old) < 0))
            *old = x.q;
    }
}

struct resource_list resource_list_scale(struct arena *a, const struct resource_list *l,
                                         double f)
{
    struct decimal by = decimal_of_f64(a, f);
    struct resource_list out = {0};

    for (size_t i = 0; i < l->len; i++) {
        struct decimal d = decimal_mul(a, quantity_decimal(a, &l->at[i].q), by);
        if (d.exp < QUANTITY_NANO)
            d = decimal_rescale(a, d, QUANTITY_NANO, DECIMAL_TOWARDS_ZERO, NULL);
        resource_list_put(a, &out, l->at[i].name, quantity_of_decimal(a, d, l->at[i].q.format));
    }
    return out;
}

static int by_text(const struct str *x, const struct str *y)
{
    return str_cmp(*x, *y);
}

struct str_list resource_list_greater(struct arena *a, const struct resource_list *x,
                                      const struct resource_list *y)
{
    VEC(struct str) names = {0};

    for (size_t i = 0; i < x->len; i++) {
        const struct quantity *other = resource_list_get(y, x->at[i].name);
        if (other && quantity_cmp(&x->at[i].q, other) > 0)
            vec_push_in(a, &names, x->at[i].name);
    }
    vec_sort(&names, by_text);
    return (struct str_list){names.at, names.len};
}

/* ---- numbers ---- */

static int32_t unit_of(struct str name)
{
    return str_eq(name, S("cpu")) ? QUANTITY_MILLI : 0;
}

int64_t resource_units(struct str name, const struct quantity *q)
{
    return quantity_units(q, unit_of(name));
}

struct quantity resource_quantity(struct str name, int64_t units, bool counts_bytes)
{
    bool is_binary = counts_bytes || str_eq(name, S("memory")) ||
                     str_eq(name, S("ephemeral-storage")) || str_starts(name, S("hugepages-"));

    return quantity_of(units, unit_of(name),
                       is_binary && units % 1024 == 0 ? QUANTITY_BINARY_SI
                                                      : QUANTITY_DECIMAL_SI);
}

struct str resource_units_text(struct arena *a, struct str name, int64_t units)
{
    struct quantity q = resource_quantity(name, units, false);

    return quantity_text(a, &q);
}

bool resource_is_extended(struct str name)
{
    return str_index(name, '/') != STR_NONE && !str_starts(name, S("kubernetes.io/")) &&
           !str_starts(name, S("hugepages-"));
}
