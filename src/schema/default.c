/* default.c - filling in what was not said */
#include "schema/default.h"

#include "schema/table.h"

static const struct json *default_object(struct arena *a, const struct schema *s,
                                         const struct json *v)
{
    struct json_obj out = {0};
    bool has_changed = false;

    for (size_t i = 0; i < s->n_fields; i++) {
        const struct schema_field *f = &s->fields[i];
        const struct json *was = json_get(v, f->name), *now = was;
        if (f->gate && !f->gate->on)
            continue;
        if ((!was || (was->type == JSON_NULL && !f->type->nullable)) && f->type->def)
            now = f->type->def;
        if (now)
            now = schema_default(a, f->type, now);
        if (now == was)
            continue;
        if (!has_changed)
            out = obj_from(a, v);
        has_changed = true;
        obj_set(&out, f->name, *now);
    }
    return has_changed ? json_new(a, obj_done(&out)) : v;
}

static const struct json *default_list(struct arena *a, const struct schema *s,
                                       const struct json *v)
{
    struct json *items = NULL;

    for (size_t i = 0; i < v->len; i++) {
        const struct json *was = &v->items[i], *now = was;
        if (was->type == JSON_NULL && !s->item->nullable && s->item->def)
            now = s->item->def;
        now = schema_default(a, s->item, now);
        if (now == was)
            continue;
        if (!items) {
            items = arena_raw(a, v->len * sizeof(*items), _Alignof(struct json));
            memcpy(items, v->items, v->len * sizeof(*items));
        }
        items[i] = *now;
    }
    return items ? json_new(a, (struct json){.type = JSON_ARRAY, .len = v->len, .items = items})
                 : v;
}

static const struct json *default_map(struct arena *a, const struct schema *s,
                                      const struct json *v)
{
    struct json_obj out = {0};
    bool has_changed = false;

    json_each_member (m, v) {
        const struct json *now = &m->value;
        if (now->type == JSON_NULL && !s->value->nullable && s->value->def)
            now = s->value->def;
        now = schema_default(a, s->value, now);
        if (now == &m->value)
            continue;
        if (!has_changed)
            out = obj_from(a, v);
        has_changed = true;
        obj_set(&out, m->name, *now);
    }
    return has_changed ? json_new(a, obj_done(&out)) : v;
}

const struct json *schema_default(struct arena *a, const struct schema *s, const struct json *v)
{
    if (v->type == JSON_ARRAY && s->item)
        return default_list(a, s, v);
    if (v->type != JSON_OBJECT)
        return v;
    if (s->n_fields)
        v = default_object(a, s, v);
    if (s->value)
        v = default_map(a, s, v);
    return v;
}
