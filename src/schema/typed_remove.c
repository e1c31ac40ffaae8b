/* typed_remove.c - taking fields out of a value, or only them; sets under a schema */
#include "schema/typed_priv.h"

/* ---- remove and extract ---- */

struct cut {
    struct walk w;
    bool is_extract;
};

static const struct json null = {.type = JSON_NULL};

/* The value with the set taken out, or only the set; null where nothing is left. */
static struct json cut(struct cut *c, const struct schema *s, const struct json *v,
                       struct fieldset set);

/* What remains of one entry or item; false: nothing, and it goes. */
static bool cut_child(struct cut *c, const struct schema *type, const struct json *v,
                      const struct fieldset_entry *e, struct fieldset whole, struct json *out)
{
    bool is_member = e && e->is_member, has_below = e && e->below.n;

    *out = *v;
    if (!c->is_extract) {
        if (is_member)
            return false;
        if (has_below)
            *out = cut(c, type, v, e->below);
        return true;
    }
    if (is_member && whole.at)
        *out = cut(c, type, v, whole);
    else if (has_below)
        *out = cut(c, type, v, e->below);
    return is_member || has_below;
}

static struct json cut_list(struct cut *c, const struct schema *s, const struct json *v,
                            struct fieldset set)
{
    struct json_arr l = arr_in(c->w.arena);
    struct items items;
    struct json out;

    if (typed_items(&c->w, s, v, NULL, &items) < 0)
        return *v; /* what has no path cannot be named by a set */
    for (uint32_t i = 0; i < items.n; i++)
        if (cut_child(c, typed_item(s), &v->items[i], fieldset_find(set, &items.e[i]),
                      (struct fieldset){0}, &out))
            arr_add(&l, out);
    return l.items.len ? arr_done(&l) : null;
}

/* As upstream does it, an entry that is a member itself is extracted by the set of its parent,
 * so of a granular container mostly nothing is left: who extracts asks for leaves. */
static struct json cut_map(struct cut *c, const struct schema *s, const struct json *v,
                           struct fieldset set)
{
    struct json_obj o = obj_in(c->w.arena);
    struct json out;
    bool declared;

    json_each_member (m, v) {
        struct element e = element_field(m->name);
        const struct schema *type = typed_member(s, m, &declared);
        const struct fieldset_entry *entry = fieldset_find(set, &e);
        if (cut_child(c, type ? type : &typed_deduced, &m->value, entry, set, &out))
            obj_add(&o, m->name, out);
    }
    return o.members.len ? obj_done(&o) : null;
}

static struct json cut(struct cut *c, const struct schema *s, const struct json *v,
                       struct fieldset set)
{
    enum form form = typed_form(s, v);
    enum json_type type = form == FORM_LIST ? JSON_ARRAY : JSON_OBJECT;

    if (form == FORM_SCALAR || (v->type != type && v->type != JSON_NULL))
        return *v;
    if (v->type == JSON_NULL || v->len == 0)
        return c->is_extract ? *v : null;
    if (typed_is_atomic(s, form))
        return c->is_extract ? *v : null;
    return form == FORM_LIST ? cut_list(c, s, v, set) : cut_map(c, s, v, set);
}

const struct json *typed_remove(struct arena *a, const struct schema *s, const struct json *v,
                                struct fieldset set)
{
    struct cut c = {
        {a, NULL},
        false
    };

    return set.n || json_len(v) == 0 ? json_new(a, cut(&c, s, v, set)) : v;
}

/* ---- keys of list items ---- */

/* The key fields of each item that the value has and the set owns something of. `shared`: what
 * both own. */
static struct fieldset with_keys(struct arena *a, struct fieldset set, struct fieldset shared)
{
    fieldset_level level = {0};

    for (size_t i = 0; i < set.n; i++) {
        struct fieldset_entry x = set.at[i];
        const struct fieldset_entry *known = fieldset_find(shared, &x.e);
        if (known)
            x.below = with_keys(a, x.below, known->below);
        for (uint32_t k = 0; known && x.e.kind == ELEMENT_KEY && k < x.e.n; k++) {
            struct element key = element_field(x.e.keys[k].name);
            x.below = fieldset_with(a, x.below, &key, 1);
        }
        vec_push_in(a, &level, x);
    }
    return fieldset_of(a, &level);
}

const struct json *typed_extract(struct arena *a, const struct schema *s, const struct json *v,
                                 struct fieldset set, bool keys, struct err *err)
{
    struct cut c = {
        {a, err},
        true
    };
    struct fieldset own;

    if (keys) {
        if (typed_set(a, s, v, &own, err) < 0)
            return NULL;
        set = with_keys(a, set, fieldset_intersection(a, set, own));
    }
    return json_new(a, cut(&c, s, v, set));
}

/* ---- sets under a schema ---- */

/* What an element leads to; NULL: unknown. */
static const struct schema *step(const struct schema *s, const struct element *e,
                                 bool *declared)
{
    *declared = false;
    if (!s)
        return NULL;
    if (e->kind == ELEMENT_FIELD)
        return typed_is_any(s) || typed_is_map(s) ? typed_named_member(s, e->name, declared)
                                                  : NULL;
    if (e->kind == ELEMENT_KEY)
        return typed_is_any(s) || s->type == SCHEMA_LIST ? typed_item(s) : NULL;
    return NULL;
}

struct fieldset typed_named(struct arena *a, const struct schema *s, struct fieldset set)
{
    struct fieldset_entry *out =
        arena_raw(a, size_mul(set.n, sizeof(*out)), _Alignof(struct fieldset_entry));
    bool declared;

    for (size_t i = 0; i < set.n; i++) {
        const struct schema *below = step(s, &set.at[i].e, &declared);
        out[i] = set.at[i];
        if (out[i].below.n) {
            out[i].is_member |= declared;
            out[i].below = typed_named(a, below, out[i].below);
        }
    }
    return (struct fieldset){out, set.n};
}

/* Would typed_set() of a granular value find anything? */
static bool has_fields(const struct schema *s, const struct json *v, enum form form)
{
    bool declared;

    if (form == FORM_LIST)
        return json_len(v) != 0;
    json_each_member (m, v) {
        const struct schema *type = typed_member(s, m, &declared);
        enum form below = type ? typed_form(type, &m->value) : FORM_SCALAR;
        if (!type || !declared || typed_is_empty_map(&m->value) ||
            typed_is_atomic(type, below) || has_fields(type, &m->value, below))
            return true;
    }
    return false;
}

/* What of the entry is a field of the value under it. */
static int held_at(struct walk *w, const struct schema *s, const struct json *v,
                   struct fieldset_entry *e, bool is_declared);

static int held_in_list(struct walk *w, const struct schema *s, const struct json *v,
                        struct fieldset set, fieldset_level *level)
{
    struct items items;
    uint32_t count;

    if (typed_items(w, s, v, NULL, &items) < 0)
        return -1;
    for (size_t i = 0; i < set.n; i++) {
        struct fieldset_entry e = set.at[i];
        size_t at = typed_items_find(&items, &e.e, &count);
        if (at == STR_NONE)
            continue;
        if (count > 1)
            e.below = (struct fieldset){0};
        if (held_at(w, typed_item(s), &v->items[at], &e, false) < 0)
            return -1;
        vec_push_in(w->arena, level, e);
    }
    return 0;
}

static int held_in_map(struct walk *w, const struct schema *s, const struct json *v,
                       struct fieldset set, fieldset_level *level)
{
    bool declared;

    for (size_t i = 0; i < set.n; i++) {
        struct fieldset_entry e = set.at[i];
        const struct json *m = e.e.kind == ELEMENT_FIELD ? json_get(v, e.e.name) : NULL;
        const struct schema *type = m ? typed_named_member(s, e.e.name, &declared) : NULL;
        if (!type)
            continue;
        if (held_at(w, type, m, &e, declared) < 0)
            return -1;
        vec_push_in(w->arena, level, e);
    }
    return 0;
}

static int held_at(struct walk *w, const struct schema *s, const struct json *v,
                   struct fieldset_entry *e, bool is_declared)
{
    enum form form = typed_form(s, v);
    bool is_leaf = typed_is_atomic(s, form) || typed_is_empty_map(v);
    struct fieldset below = e->below;

    e->is_member &= is_leaf || !is_declared || has_fields(s, v, form);
    e->below = (struct fieldset){0};
    return is_leaf ? 0 : typed_held(w->arena, s, v, below, &e->below, w->err);
}

int typed_held(struct arena *a, const struct schema *s, const struct json *v,
               struct fieldset set, struct fieldset *out, struct err *err)
{
    enum form form = typed_form(s, v);
    fieldset_level level = {0};
    struct walk w = {a, err};

    if (set.n && typed_contents(v, form) &&
        (form == FORM_LIST ? held_in_list(&w, s, v, set, &level)
                           : held_in_map(&w, s, v, set, &level)) < 0)
        return -1;
    *out = fieldset_of(a, &level);
    return 0;
}

/* By the type alone. */
static enum form type_form(const struct schema *s)
{
    return typed_form(s, NULL);
}

static bool is_granular_any(const struct schema *s)
{
    return s->type == SCHEMA_ANY && s->map_type != MAP_ATOMIC;
}

/* A map of anything: under an older schema its fields were what is not known any more. */
static bool is_open(const struct schema *s)
{
    if (s->n_fields || s->type == SCHEMA_RAW || s->type == SCHEMA_FIELDS_V1)
        return false;
    if (s->value)
        return is_granular_any(s->value);
    return is_granular_any(s) || s->preserve_unknown;
}

/* *x is the entry of the node of schema s. True where it changed. */
static bool reconcile(struct arena *a, const struct schema *s, struct fieldset_entry *x)
{
    enum form form = type_form(s);
    fieldset_level level = {0};
    bool is_changed = false, declared;

    if (form == FORM_SCALAR || x->below.n == 0 || (form == FORM_MAP && is_open(s)))
        return false;
    if (typed_is_atomic(s, form)) {
        x->below = (struct fieldset){0};
        x->is_member = true;
        return true;
    }
    for (size_t i = 0; i < x->below.n; i++) {
        struct fieldset_entry e = x->below.at[i];
        const struct schema *below =
            form == FORM_MAP && e.e.kind != ELEMENT_FIELD ? NULL : step(s, &e.e, &declared);
        bool is_other = below && reconcile(a, below, &e);
        if (is_other && !is_changed)
            for (size_t j = 0; j < i; j++)
                vec_push_in(a, &level, x->below.at[j]);
        is_changed |= is_other;
        if (is_changed)
            vec_push_in(a, &level, e);
    }
    if (is_changed)
        x->below = fieldset_of(a, &level);
    return is_changed;
}

bool typed_reconcile(struct arena *a, const struct schema *s, struct fieldset set,
                     struct fieldset *out)
{
    struct fieldset_entry root = {.below = set};
    bool is_changed = reconcile(a, s, &root);

    *out = root.below;
    return is_changed;
}
