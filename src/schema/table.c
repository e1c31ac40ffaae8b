/* table.c - finding a field by its name, matching a pattern */
#include "schema/table.h"

#define NEAR_FIELDS ((size_t)8) /* looked at one by one before a search */

static int by_length(struct str a, struct str b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    if (a.len && a.at[0] != b.at[0]) /* as names mostly do: no call then */
        return (unsigned char)a.at[0] < (unsigned char)b.at[0] ? -1 : 1;
    return memcmp(a.at, b.at, a.len);
}

const struct schema_field *schema_field(const struct schema *s, struct str name)
{
    size_t from = 0, to = s->n_fields;

    while (from < to) {
        size_t mid = (from + to) / 2;
        const struct schema_field *f = &s->fields[s->by_name[mid]];
        int order = by_length(name, f->name);
        if (order == 0)
            return f;
        if (order < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

const struct schema_field *schema_field_next(const struct schema *s, struct str name,
                                             size_t *hint)
{
    const struct schema_field *f = s->fields + *hint;
    const struct schema_field *end = f + MIN((size_t)(s->n_fields - *hint), NEAR_FIELDS);

    while (f < end && !(name.len == f->name.len && bytes_eq(name.at, f->name.at, name.len)))
        f++;
    if (f == end && !(f = schema_field(s, name)))
        return NULL;
    *hint = (size_t)(f - s->fields) + 1;
    return f;
}

/* Members in the order of fields, as conforming leaves them; false where one is not. */
static bool values_in_order(const struct schema *s, const struct json *v,
                            const struct json **out)
{
    const struct json_member *m = v->members, *end = m + v->len;

    for (size_t i = 0; i < s->n_fields; i++) {
        const struct str *name = &s->fields[i].name;
        bool is_here =
            m < end && m->name.len == name->len && bytes_eq(m->name.at, name->at, name->len);
        out[i] = is_here ? &m++->value : NULL;
    }
    return m == end;
}

const struct json **schema_values(struct arena *a, const struct schema *s, const struct json *v)
{
    size_t size = size_mul(s->n_fields + 1u, sizeof(const struct json *)), hint = 0;
    const struct json **out = arena_raw(a, size, _Alignof(const struct json *));

    if (json_is(v, JSON_OBJECT) && values_in_order(s, v, out))
        return out;
    memset(out, 0, size);
    json_each_member (m, v) {
        const struct schema_field *f = schema_field_next(s, m->name, &hint);
        if (f)
            out[f - s->fields] = &m->value;
    }
    return out;
}

const struct schema *schema_member(const struct schema *s, struct str name)
{
    const struct schema_field *f = schema_field(s, name);

    return f ? f->type : s->value;
}

bool schema_pattern_matches(const struct schema_pattern *p, struct str text)
{
    if (!*p->slot)
        *p->slot = regex_new(p->text, NULL);
    return *p->slot && regex_match(*p->slot, text);
}
