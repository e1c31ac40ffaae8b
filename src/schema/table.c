/* table.c - finding a field by its name, matching a pattern */
#include "schema/table.h"

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
        if (str_eq(s->fields[i].name, name))
            return &s->fields[i];
    return NULL;
}

const struct json **schema_values(struct arena *a, const struct schema *s, const struct json *v,
                                  uint64_t *given)
{
    size_t size = size_mul(s->n_fields + 1u, sizeof(const struct json *));
    const struct json **out = arena_raw(a, size, _Alignof(const struct json *));

    memset(out, 0, size);
    json_each_member (m, v) {
        const struct schema_field *f = schema_field_of(s, m);
        if (!f)
            continue;
        size_t i = (size_t)(f - s->fields);
        out[i] = &m->value;
        if (i < SCHEMA_SET_FIELDS)
            *given |= UINT64_C(1) << i;
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
