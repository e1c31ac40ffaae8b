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

/* An object whose fields get defaults; `out` is its copy once one of them has changed. */
struct filling {
    struct walk *w;
    const struct schema *s;
    const struct json *v;
    struct json_obj out; /* where it has changed */
    bool has_changed;
};

static struct json_obj *copy_of(struct filling *fill)
{
    if (!fill->has_changed)
        fill->out = obj_from(fill->w->a, fill->v);
    fill->has_changed = true;
    return &fill->out;
}

/* What the field becomes, of which `was` is given or NULL; was itself where nothing changes. */
static const struct json *fill_field(struct filling *x, const struct schema_field *f,
                                     const struct json *was, const struct json *known)
{
    const struct json *def = x->s->skip_defaults ? NULL : default_of(x->w, f->type), *now = was;

    if (f->gate && !f->gate->on)
        return was;
    if (def && is_absent(x->w, f, was)) {
        now = def;
        x->w->n_added++;
    }
    if (now && (now->type == JSON_OBJECT || now->type == JSON_ARRAY))
        now = fill(x->w, f->type, now, json_get(known, f->name));
    return now;
}

static const struct json *fill_object(struct walk *w, const struct schema *s,
                                      const struct json *v, const struct json *known)
{
    struct filling x;
    uint64_t asked = s->index ? s->index->defaulted : UINT64_MAX;

    if (s->defaults && !s->skip_defaults && w->is_native)
        v = s->defaults(w->a, v);
    x.w = w, x.s = s, x.v = v, x.has_changed = false;
    for (uint32_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        const struct schema_field *f = schema_field_of(s, m);
        size_t at = f ? (size_t)(f - s->fields) : 0;
        if (!f || (at < SCHEMA_SET_FIELDS && !(asked >> at & 1)))
            continue;
        const struct json *now = fill_field(&x, f, &m->value, known);
        if (now != &m->value)
            copy_of(&x)->members.at[i].value = *now;
        if (at < SCHEMA_SET_FIELDS)
            asked &= ~(UINT64_C(1) << at);
    }
    schema_each_in (i, s, asked) {
        const struct schema_field *f = &s->fields[i];
        if (i >= SCHEMA_SET_FIELDS && json_get(v, f->name))
            continue;
        const struct json *now = fill_field(&x, f, NULL, known);
        if (now)
            obj_add(copy_of(&x), f->name, *now);
    }
    return x.has_changed ? json_new(w->a, obj_done(&x.out)) : v;
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
