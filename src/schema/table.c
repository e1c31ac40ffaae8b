/* table.c - finding a field by its name, matching a pattern */
#include "schema/table.h"

const struct schema_index schema_no_index = {
    .always = UINT64_MAX,
    .defaulted = UINT64_MAX,
    .has_def = UINT64_MAX,
    .judged = UINT64_MAX,
    .ruled = UINT64_MAX,
    .fixed = UINT64_MAX,
};

const struct schema_field *schema_field(const struct schema *s, struct str name)
{
    const struct schema_index *x = s->index;

    if (x) {
        for (uint32_t slot = str_sketch(name) & x->mask; x->slots[slot];
             slot = (slot + 1) & x->mask) {
            const struct schema_field *f = &s->fields[x->slots[slot] - 1];
            if (f->name.len == name.len && bytes_eq(f->name.at, name.at, name.len))
                return f;
        }
        return NULL;
    }
    for (size_t i = 0; i < s->n_fields; i++)
        if (s->fields[i].name.len == name.len &&
            bytes_eq(s->fields[i].name.at, name.at, name.len))
            return &s->fields[i];
    return NULL;
}

void schema_values(struct schema_values *out, struct arena *a, const struct schema *s,
                   const struct json *v)
{
    schema_values_in(out, a, s, v, UINT64_MAX);
}

void schema_values_in(struct schema_values *out, struct arena *a, const struct schema *s,
                      const struct json *v, uint64_t wanted)
{
    out->given = 0;
    out->more = s->n_fields > SCHEMA_SET_FIELDS
                    ? arena_array(a, const struct json *, s->n_fields)
                    : NULL;
    if (!json_is(v, JSON_OBJECT))
        return;
    const struct json_member *m = v->members;
    for (uint32_t n = v->len; n; n--, m++) {
        const struct schema_field *f = schema_field_of(s, m);
        if (!f)
            continue;
        size_t i = (size_t)(f - s->fields);
        if (i >= SCHEMA_SET_FIELDS) {
            out->more[i] = &m->value;
            continue;
        }
        if (!(wanted >> i & 1))
            continue;
        out->at[i] = &m->value;
        out->given |= UINT64_C(1) << i;
    }
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
