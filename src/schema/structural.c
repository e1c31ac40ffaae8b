/* structural.c - what a custom resource goes through */
#include "schema/structural.h"

#include "schema/conform.h"
#include "schema/table.h"

struct walk {
    struct arena *a;
    struct structural_paths *told;
    /* of coerce */
    const struct schema *meta;
    bool drop_invalid;
    struct field_errors *e;
};

static const struct str resource_names[] = {S_INIT("apiVersion"), S_INIT("kind"),
                                            S_INIT("metadata")};

static bool is_resource_name(struct str name)
{
    for (size_t i = 0; i < countof(resource_names); i++)
        if (str_eq(resource_names[i], name))
            return true;
    return false;
}

static void tell(struct walk *w, const struct field_path *p)
{
    if (w->told && w->told->list.len < CONFORM_MAX_FINDINGS)
        vec_push_in(w->told->arena, &w->told->list, field_path_text(w->told->arena, p));
}

/* ---- pruning ---- */

static const struct json *prune(struct walk *w, const struct schema *s, const struct json *v,
                                const struct field_path *p, bool is_resource, bool keeps);

static const struct json *prune_list(struct walk *w, const struct schema *s,
                                     const struct json *v, const struct field_path *p,
                                     bool keeps)
{
    struct json *items = arena_raw(w->a, size_mul(v->len + 1u, sizeof(*items)), 8);

    if (keeps && (!s || !s->item))
        return v;
    for (size_t i = 0; i < v->len; i++) {
        struct field_path child = field_item(p, i);
        const struct schema *item = s ? s->item : NULL;
        items[i] = *prune(w, item, &v->items[i], &child, item && item->embedded, keeps);
    }
    return json_new(w->a, (struct json){.type = JSON_ARRAY, .len = v->len, .items = items});
}

static const struct json *prune_object(struct walk *w, const struct schema *s,
                                       const struct json *v, const struct field_path *p,
                                       bool is_resource, bool keeps)
{
    struct json_obj out = obj_in(w->a);

    json_each_member (m, v) {
        const struct schema_field *f = s ? schema_field(s, m->name) : NULL;
        const struct schema *type = f ? f->type : s ? s->value : NULL;
        struct field_path child = field_child(p, m->name);
        bool is_declared = f || (s && s->additional != ADDITIONAL_UNSET);
        if (f && f->gate && !f->gate->on)
            continue;
        if (is_resource && is_resource_name(m->name))
            obj_add(&out, m->name, m->value);
        else if (is_declared)
            obj_add(&out, m->name,
                    *prune(w, type, &m->value, &child, type && type->embedded,
                           type && type->preserve_unknown));
        else if (keeps)
            obj_add(&out, m->name, m->value);
        else if (p || !is_resource_name(m->name))
            tell(w, &child);
    }
    return json_new(w->a, obj_done(&out));
}

static const struct json *prune(struct walk *w, const struct schema *s, const struct json *v,
                                const struct field_path *p, bool is_resource, bool keeps)
{
    keeps |= s && (s->preserve_unknown || s->type == SCHEMA_RAW || s->type == SCHEMA_FIELDS_V1);
    if (v->type == JSON_ARRAY)
        return prune_list(w, s, v, p, keeps);
    if (v->type == JSON_OBJECT)
        return prune_object(w, s, v, p, is_resource, keeps);
    return v;
}

const struct json *structural_prune(struct arena *a, const struct schema *s,
                                    const struct json *v, bool is_resource,
                                    struct structural_paths *dropped)
{
    struct walk w = {.a = a, .told = dropped};

    return prune(&w, s, v, NULL, is_resource || (s && s->embedded), false);
}

/* ---- nulls ---- */

static bool drops_null(const struct schema *s)
{
    return s && !s->nullable && !s->def;
}

const struct json *structural_prune_nulls(struct arena *a, const struct schema *s,
                                          const struct json *v)
{
    if (!s)
        return v;
    if (v->type == JSON_ARRAY && s->item) {
        struct json *items = arena_raw(a, size_mul(v->len + 1u, sizeof(*items)), 8);
        for (size_t i = 0; i < v->len; i++)
            items[i] = *structural_prune_nulls(a, s->item, &v->items[i]);
        return json_new(a, (struct json){.type = JSON_ARRAY, .len = v->len, .items = items});
    }
    if (v->type != JSON_OBJECT)
        return v;
    struct json_obj out = obj_in(a);
    json_each_member (m, v) {
        const struct schema *type = schema_member(s, m->name);
        if (m->value.type == JSON_NULL && drops_null(type))
            continue;
        obj_add(&out, m->name, *structural_prune_nulls(a, type, &m->value));
    }
    return json_new(a, obj_done(&out));
}

/* ---- metadata of whole objects ---- */

static int bad_meta(struct walk *w, const struct field_path *p, const struct json *v,
                    const char *what)
{
    field_invalid(w->e, p, v, "%s", what);
    return -1;
}

/* Each field of ObjectMeta by itself: those that do not decode are left out. */
static const struct json *good_parts(struct walk *w, const struct json *v)
{
    struct json_obj out = obj_in(w->a);

    json_each_member (m, v) {
        struct json_obj one = obj_in(w->a);
        obj_add(&one, m->name, m->value);
        struct json alone = obj_done(&one);
        const struct json *ok = schema_conform(w->a, w->meta, &alone, NULL, NULL, NULL);
        json_each_member (k, ok)
            obj_set(&out, k->name, k->value);
    }
    return json_new(w->a, obj_done(&out));
}

/* Unknown fields of metadata, as a path below p. */
static void tell_unknown(struct walk *w, const struct schema_unknown *u,
                         const struct field_path *p)
{
    for (size_t i = 0; w->told && i < u->paths.len; i++)
        vec_push_in(w->told->arena, &w->told->list,
                    str_printf(w->told->arena, "%.*s.%.*s",
                               STR_ARG(field_path_text(w->told->arena, p)),
                               STR_ARG(u->paths.at[i])));
}

static const struct json *coerce_meta(struct walk *w, const struct json *v,
                                      const struct field_path *p)
{
    struct schema_unknown unknown = {.arena = w->a};
    const struct json *out = NULL;

    if (v->type == JSON_OBJECT)
        out = schema_conform(w->a, w->meta, v, NULL, &unknown, NULL);
    tell_unknown(w, &unknown, p);
    if (out || !w->drop_invalid)
        return out ? out : (bad_meta(w, p, v, "must decode as metadata"), NULL);
    return v->type == JSON_OBJECT ? good_parts(w, v) : v;
}

static const struct json *coerce(struct walk *w, const struct schema *s, const struct json *v,
                                 const struct field_path *p, bool is_resource);

/* One of the three names of a whole object: 1 kept in *x, 0 dropped, -1 with err. */
static int coerce_name(struct walk *w, struct str name, const struct json **x,
                       const struct field_path *p)
{
    if (str_eq(name, S("metadata")))
        return (*x = coerce_meta(w, *x, p)) ? 1 : -1;
    if ((*x)->type == JSON_STRING)
        return 1;
    return w->drop_invalid ? 0 : bad_meta(w, p, *x, "must be a string");
}

static const struct json *coerce_object(struct walk *w, const struct schema *s,
                                        const struct json *v, const struct field_path *p,
                                        bool is_resource)
{
    struct json_obj out = obj_in(w->a);

    json_each_member (m, v) {
        struct field_path child = field_child(p, m->name);
        const struct schema *type = s ? schema_member(s, m->name) : NULL;
        const struct json *x = &m->value;
        if (is_resource && is_resource_name(m->name)) {
            int keep = coerce_name(w, m->name, &x, &child);
            if (keep < 0)
                return NULL;
            if (keep == 0)
                continue;
        } else if (type && !(x = coerce(w, type, x, &child, type->embedded))) {
            return NULL;
        }
        obj_add(&out, m->name, *x);
    }
    return json_new(w->a, obj_done(&out));
}

static const struct json *coerce(struct walk *w, const struct schema *s, const struct json *v,
                                 const struct field_path *p, bool is_resource)
{
    if (v->type == JSON_OBJECT)
        return coerce_object(w, s, v, p, is_resource);
    if (v->type != JSON_ARRAY || !s || !s->item)
        return v;
    struct json *items = arena_raw(w->a, size_mul(v->len + 1u, sizeof(*items)), 8);
    for (size_t i = 0; i < v->len; i++) {
        struct field_path child = field_item(p, i);
        const struct json *x = coerce(w, s->item, &v->items[i], &child, s->item->embedded);
        if (!x)
            return NULL;
        items[i] = *x;
    }
    return json_new(w->a, (struct json){.type = JSON_ARRAY, .len = v->len, .items = items});
}

const struct json *structural_coerce(struct arena *a, const struct schema *s,
                                     const struct schema *meta, const struct json *v,
                                     bool is_resource, bool drop_invalid,
                                     struct structural_paths *unknown,
                                     const struct field_path *at, struct field_errors *e)
{
    struct walk w = {
        .a = a, .told = unknown, .meta = meta, .drop_invalid = drop_invalid, .e = e};

    return coerce(&w, s, v, at, is_resource || (s && s->embedded));
}

/* ---- list types ---- */

/* The key of an item: absent, null and a value are three different things. */
static const struct json *item_key(struct arena *a, const struct schema *s,
                                   const struct json *item)
{
    struct json_arr key = arr_in(a);

    if (s->list_type == LIST_SET)
        return item;
    for (size_t i = 0; i < s->n_keys; i++) {
        const struct json *v = json_get(item, s->keys[i]);
        arr_add(&key, json_of_bool(v != NULL));
        arr_add(&key, v ? *v : json_of_null());
    }
    return json_new(a, arr_done(&key));
}

static void check_unique(struct field_errors *e, const struct schema *s,
                         const struct field_path *p, const struct json *v)
{
    struct json_set seen = {.arena = e->arena}, told = {.arena = e->arena};

    for (size_t i = 0; s->list_type == LIST_MAP && i < v->len; i++) {
        struct field_path child = field_item(p, i);
        if (v->items[i].type != JSON_OBJECT && v->items[i].type != JSON_NULL) {
            field_invalid(e, &child, &v->items[i], "must be an object");
            return; /* once, and alone for this list */
        }
    }
    for (size_t i = 0; i < v->len; i++) {
        struct field_path child = field_item(p, i);
        const struct json *key = item_key(e->arena, s, &v->items[i]);
        if (json_set_put(&seen, key) && !json_set_put(&told, key))
            field_duplicate(e, &child, &v->items[i]);
    }
}

void structural_check_lists(struct field_errors *e, const struct schema *s,
                            const struct field_path *path, const struct json *v)
{
    if (!s)
        return;
    if (v->type == JSON_ARRAY) {
        if (s->list_type == LIST_SET || s->list_type == LIST_MAP)
            check_unique(e, s, path, v);
        for (size_t i = 0; s->item && i < v->len; i++) {
            struct field_path child = field_item(path, i);
            structural_check_lists(e, s->item, &child, &v->items[i]);
        }
    }
    json_each_member (m, v) {
        const struct schema_field *f = schema_field(s, m->name);
        struct field_path child = f ? field_child(path, m->name) : field_key(path, m->name);
        structural_check_lists(e, f ? f->type : s->value, &child, &m->value);
    }
}

/* ---- field paths ---- */

static bool take_quoted(struct arena *a, struct str *path, struct str *out)
{
    static const char escapes[] = "'\\abfnrtv", values[] = "'\\\a\b\f\n\r\t\v";
    struct buf b = buf_in(a, path->len + 1);
    size_t i = 2; /* behind [' */

    for (; i < path->len && path->at[i] != '\''; i++) {
        const char *escape = NULL;
        if (path->at[i] == '\\') {
            if (i + 1 == path->len || !path->at[i + 1] ||
                !(escape = strchr(escapes, path->at[++i])))
                return false;
            buf_byte(&b, values[escape - escapes]);
        } else {
            buf_byte(&b, path->at[i]);
        }
    }
    if (i + 1 >= path->len || path->at[i + 1] != ']')
        return false;
    *out = buf_str(&b);
    *path = str_slice(*path, i + 2, path->len);
    return true;
}

static bool take_name(struct arena *a, struct str *path, bool dotted_only, struct str *out)
{
    size_t i = 1;

    if (str_starts(*path, S("['")))
        return !dotted_only && take_quoted(a, path, out);
    if (path->len == 0 || path->at[0] != '.')
        return false;
    while (i < path->len && path->at[i] != '.' && path->at[i] != '[' && path->at[i] != ']')
        i++;
    *out = str_slice(*path, 1, i);
    *path = str_slice(*path, i, path->len);
    return out->len > 0;
}

bool structural_has_path(struct arena *a, const struct schema *s, struct str path,
                         bool dotted_only, const struct schema **out)
{
    struct str name;

    if (path.len == 0 || !s)
        return false;
    while (path.len) {
        if (!take_name(a, &path, dotted_only, &name))
            return false;
        const struct schema_field *f = schema_field(s, name);
        s = f ? f->type : s->n_fields == 0 ? s->value : NULL;
        if (!s)
            return false;
    }
    if (out)
        *out = s;
    return true;
}
