/* table.c - finding a field by its name, matching a pattern */
#include "schema/table.h"

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
    const struct schema_field *f = NULL;

    if (*hint < s->n_fields && name.len == s->fields[*hint].name.len &&
        bytes_eq(name.at, s->fields[*hint].name.at, name.len))
        f = &s->fields[*hint];
    else
        f = schema_field(s, name);
    if (f)
        *hint = (size_t)(f - s->fields) + 1;
    return f;
}

const struct json **schema_values(struct arena *a, const struct schema *s, const struct json *v)
{
    const struct json **out = arena_array(a, const struct json *, s->n_fields + 1u);
    size_t hint = 0;

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
