/* default.c - filling in what was not said */
#include "schema/default.h"

#include "schema/table.h"

struct walk {
    struct arena *a;
    bool is_native;
    size_t n_added;
};

static const struct json *fill(struct walk *w, const struct schema *s, const struct json *v,
                               const struct json *known);

static bool is_zero(const struct json *v)
{
    switch (v->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v->boolean;
    case JSON_INT:
        return v->i == 0;
    case JSON_STRING:
        return v->len == 0;
    default:
        return false;
    }
}

static bool is_absent(const struct walk *w, const struct schema_field *f, const struct json *v)
{
    if (!v || (v->type == JSON_NULL && !f->type->nullable))
        return true;
    return w->is_native && !(f->flags & FIELD_POINTER) && is_zero(v);
}

static const struct json *default_of(const struct walk *w, const struct schema *s)
{
    return s->def_native && !w->is_native ? NULL : s->def;
}

static inline const struct json *fill_value(struct walk *w, const struct schema_field *f,
                                            const struct json *v, const struct json *known)
{
    if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
        return v;
    return fill(w, f->type, v, known ? json_get(known, f->name) : NULL);
}

/* What a given field becomes; v itself where nothing changes. */
static inline const struct json *fill_given(struct walk *w, const struct schema *s,
                                            const struct schema_field *f, const struct json *v,
                                            const struct json *known)
{
    const struct json *def = s->skip_defaults ? NULL : default_of(w, f->type);

    if (f->gate && !f->gate->on)
        return v;
    if (def && is_absent(w, f, v) && !json_eq(def, v)) {
        v = def;
        w->n_added++;
    }
    return fill_value(w, f, v, known);
}

/* What a field becomes that is not given, or NULL. */
static inline const struct json *fill_missing(struct walk *w, const struct schema_field *f,
                                              const struct json *known)
{
    const struct json *def = default_of(w, f->type);

    if (!def || (f->gate && !f->gate->on))
        return NULL;
    w->n_added++;
    return fill_value(w, f, def, known);
}

/* An object whose fields get defaults. */
struct filling {
    const struct schema *s;
    const struct json *v;
    struct json_member *members; /* a copy with room for defaults, once something has changed */
};

/* Member i becomes the field with that value. */
static void put_field(struct walk *w, struct filling *x, uint32_t i,
                      const struct schema_field *f, const struct json *v)
{
    if (!x->members) {
        size_t n_more = x->s->index ? x->s->index->n_defs : x->s->n_fields;
        x->members = arena_raw(w->a, size_mul(x->v->len + n_more, sizeof(*x->members)),
                               _Alignof(struct json_member));
        if (x->v->len)
            memcpy(x->members, x->v->members, x->v->len * sizeof(*x->members));
    }
    x->members[i] = (struct json_member){f->name, *v};
    x->members[i].value.place = (uint16_t)(f - x->s->fields + 1);
}

static const struct json *fill_object(struct walk *w, const struct schema *s,
                                      const struct json *v, const struct json *known)
{
    const struct schema_index *sets = schema_sets(s);
    uint64_t given = 0;

    if (s->defaults && !s->skip_defaults && w->is_native)
        v = s->defaults(w->a, v);
    struct filling x = {.s = s, .v = v};
    uint32_t n = v->len;
    for (uint32_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        const struct schema_field *f = schema_field_of(s, m);
        size_t at = f ? (size_t)(f - s->fields) : 0;
        uint64_t bit = at < SCHEMA_SET_FIELDS ? UINT64_C(1) << at : 0;
        if (!f || (bit && !(sets->defaulted & bit)))
            continue;
        given |= bit;
        const struct json *now = fill_given(w, s, f, &m->value, known);
        if (now != &m->value)
            put_field(w, &x, i, f, now);
    }
    schema_each_in (i, s, sets->has_def & ~given) {
        const struct schema_field *f = &s->fields[i];
        if (s->skip_defaults || (i >= SCHEMA_SET_FIELDS && json_get(v, f->name)))
            continue;
        const struct json *now = fill_missing(w, f, known);
        if (now)
            put_field(w, &x, n++, f, now);
    }
    if (!x.members)
        return v;
    return json_new(w->a, (struct json){.type = JSON_OBJECT, .len = n, .members = x.members});
}

static const struct json *fill_list(struct walk *w, const struct schema *s,
                                    const struct json *v, const struct json *known)
{
    struct json *items = NULL;

    for (size_t i = 0; i < v->len; i++) {
        const struct json *was = &v->items[i], *now = was;
        if (was->type == JSON_NULL && !s->item->nullable && default_of(w, s->item)) {
            now = default_of(w, s->item);
            w->n_added++;
        }
        now = fill(w, s->item, now, json_at(known, i));
        if (now == was)
            continue;
        if (!items) {
            items = arena_raw(w->a, v->len * sizeof(*items), _Alignof(struct json));
            memcpy(items, v->items, v->len * sizeof(*items));
        }
        items[i] = *now;
    }
    if (!items)
        return v;
    return json_new(w->a, (struct json){.type = JSON_ARRAY, .len = v->len, .items = items});
}

static const struct json *fill_map(struct walk *w, const struct schema *s, const struct json *v,
                                   const struct json *known)
{
    struct json_obj out = {0};
    struct json_names in_known = {0};
    bool has_changed = false;

    json_each_member (m, v) {
        const struct json *now = &m->value;
        if (schema_field(s, m->name))
            continue;
        if (now->type == JSON_NULL && !s->value->nullable && default_of(w, s->value)) {
            now = default_of(w, s->value);
            w->n_added++;
        }
        now = fill(w, s->value, now, json_find(w->a, &in_known, known, m->name));
        if (now == &m->value)
            continue;
        if (!has_changed)
            out = obj_from(w->a, v);
        has_changed = true;
        obj_set(&out, m->name, *now);
    }
    return has_changed ? json_new(w->a, obj_done(&out)) : v;
}

static const struct json *fill(struct walk *w, const struct schema *s, const struct json *v,
                               const struct json *known)
{
    if (s->no_defaults || json_is_shared(v, known) || w->n_added > DEFAULT_MAX_ADDED)
        return v;
    if (v->type == JSON_ARRAY && s->item)
        return fill_list(w, s, v, known);
    if (v->type != JSON_OBJECT)
        return v;
    if (s->n_fields)
        v = fill_object(w, s, v, known);
    if (s->value)
        v = fill_map(w, s, v, known);
    return v;
}

const struct json *schema_default(struct arena *a, const struct schema *s, const struct json *v,
                                  const struct json *known, bool is_native)
{
    struct walk w = {.a = a, .is_native = is_native};

    v = fill(&w, s, v, known);
    return w.n_added > DEFAULT_MAX_ADDED ? NULL : v;
}

const struct json *kind_default(struct arena *a, const struct kind *k, const struct json *v,
                                const struct json *known)
{
    return schema_default(a, k->schema, v, known, k->style == KIND_NATIVE);
}
