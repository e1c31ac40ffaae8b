/* strategic.c - applying a strategic merge patch */
#include "schema/strategic_priv.h"

/* ---- small things ---- */

bool smp_fail(struct smp *w, const char *format, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err_set(w->err, ERR_INVALID, "%s", text);
    return false;
}

bool smp_spend(struct smp *w, size_t steps)
{
    w->steps += steps;
    if (w->steps <= STRATEGIC_MAX_WORK)
        return true;
    err_set(w->err, ERR_LIMIT, "the patch needs more than %d steps", STRATEGIC_MAX_WORK);
    return false;
}

static bool holds_objects(const struct schema *s)
{
    return s->type == SCHEMA_OBJECT || s->type == SCHEMA_MAP || s->type == SCHEMA_ANY ||
           s->type == SCHEMA_RAW || s->type == SCHEMA_FIELDS_V1;
}

bool smp_find(const struct schema *s, struct str name, bool is_list, struct smp_field *out)
{
    const struct schema_field *f = s && s->type == SCHEMA_OBJECT ? schema_field(s, name) : NULL;

    if (!f || !f->type)
        return false;
    s = f->type;
    *out = (struct smp_field){
        .s = s,
        .item = s->type == SCHEMA_LIST ? s->item : s, /* a list where an object was declared */
        .merges = s->merge == MERGE_MERGE,
        .replaces = s->merge == MERGE_REPLACE,
        .retains = s->retain_keys,
        .key = s->merge_key,
    };
    if (is_list)
        return s->type == SCHEMA_LIST || s->type == SCHEMA_ANY || s->type == SCHEMA_RAW ||
               (s->type == SCHEMA_OBJECT && s->merge == MERGE_MERGE);
    return holds_objects(s);
}

bool smp_same(const struct json *a, const struct json *b)
{
    return a->type == b->type && json_eq(a, b);
}

bool smp_element_type(struct smp *w, const struct json *a, const struct json *b,
                      enum json_type *out)
{
    const struct json *first = json_len(a) ? a->items : json_len(b) ? b->items : NULL;

    if (!first)
        return smp_fail(w, "no elements in any of the given lists");
    for (const struct json *l = a;; l = b) {
        json_each (i, l)
            if (l->items[i].type != first->type)
                return smp_fail(w, "the elements of a list have different types");
        if (l == b)
            break;
    }
    if (first->type == JSON_ARRAY)
        return smp_fail(w, "lists of lists cannot be merged");
    *out = first->type;
    return true;
}

const struct json *smp_key(struct smp *w, const struct json *item, struct str key)
{
    const struct json *v = json_get(item, key);

    if (!v)
        smp_fail(w, "map: %.*s does not contain declared merge key: %.*s",
                 STR_ARG(str_slice(json_text(w->arena, item), 0, 200)), STR_ARG(key));
    return v;
}

size_t smp_index(struct smp *w, const struct json *list, const struct json *item,
                 struct str key)
{
    const struct json *want = item->type == JSON_OBJECT ? json_get(item, key) : item;

    w->steps += json_len(list);
    json_each (i, list) {
        const struct json *v = &list->items[i];
        if (item->type == JSON_OBJECT)
            v = json_get(v, key);
        if (v && want && smp_same(v, want))
            return i;
    }
    return STR_NONE;
}

static bool has_directive(const struct json *item, struct str directive)
{
    return str_eq(json_str(json_getz(item, SMP_PATCH)), directive);
}

static struct json list_of(const smp_list *l)
{
    return (struct json){.type = JSON_ARRAY, .len = (uint32_t)l->len, .items = l->at};
}

static bool is_named(struct str name, struct str directive)
{
    return str_starts(name, directive);
}

/* The LIST of "$directive/LIST". */
static bool list_name(struct smp *w, struct str name, struct str directive, struct str *out)
{
    struct str head;

    if (str_cut(name, '/', &head, out) && str_eq(head, directive))
        return true;
    return smp_fail(w, "'%.*s' is no directive", STR_ARG(name));
}

/* ---- members that go ---- */

#define GONE 255 /* in place of a type, until all of a patch's members were merged */

/* Taking out each at once would move the others each time. */
static void take_out(struct json_obj *o, struct str name)
{
    if (obj_get(o, name))
        obj_set(o, name, (struct json){.type = GONE});
}

static void drop_gone(struct json_obj *o)
{
    size_t n = 0;

    vec_each (i, &o->members)
        if (o->members.at[i].value.type != GONE)
            o->members.at[n++] = o->members.at[i];
    o->members.len = n;
    o->names = (struct json_names){0};
}

/* ---- what a new value leaves behind ---- */

/* *gone where the value as a whole goes: a map that holds `$patch`. */
static struct json strip(struct smp *w, const struct json *v, bool *gone)
{
    bool below = false;

    *gone = v->type == JSON_OBJECT && json_getz(v, SMP_PATCH);
    if (v->type == JSON_OBJECT) {
        struct json_obj o = obj_in(w->arena);
        json_each_member (m, v) {
            struct json x = strip(w, &m->value, &below);
            if (!below && (x.type != JSON_NULL || w->is_joining))
                obj_add(&o, m->name, x);
        }
        return obj_done(&o);
    }
    if (v->type != JSON_ARRAY)
        return *v;
    struct json_arr l = arr_in(w->arena);
    json_each (i, v) {
        struct json x = strip(w, &v->items[i], &below);
        if (!below)
            arr_add(&l, x);
    }
    return arr_done(&l);
}

/* ---- lists ---- */

bool smp_sort(struct smp *w, smp_list *list, const struct json *order, struct str key)
{
    smp_list sorted = {0}, last = {0};
    VEC(size_t) at = {0};

    vec_each (i, list) {
        const struct json *item = &list->at[i];
        if (item->type == JSON_OBJECT && !smp_key(w, item, key))
            return false;
        if (has_directive(item, S("delete"))) {
            vec_push_in(w->arena, &last, *item);
            continue;
        }
        size_t index = smp_index(w, order, item, key), j = sorted.len;
        vec_push_in(w->arena, &sorted, *item);
        vec_push_in(w->arena, &at, index);
        for (; j > 0; j--) {
            bool both = index != STR_NONE && at.at[j - 1] != STR_NONE;
            if (both && index >= at.at[j - 1])
                break;
            sorted.at[j] = sorted.at[j - 1], at.at[j] = at.at[j - 1];
        }
        sorted.at[j] = *item, at.at[j] = index;
        if (!smp_spend(w, sorted.len - j))
            return false;
    }
    vec_each (i, &last)
        vec_push_in(w->arena, &sorted, last.at[i]);
    *list = sorted;
    return true;
}

/* Merges two queues, both in their order. While both have a head, the server-only one goes
 * first only if both are in `pos` and it is earlier there. */
static struct json interleave(struct smp *w, const smp_list *server_only, const smp_list *patch,
                              const struct json *pos, struct str key)
{
    struct json_arr out = arr_in(w->arena);
    size_t i = 0, j = 0;

    while (i < server_only->len && j < patch->len) {
        size_t a = smp_index(w, pos, &server_only->at[i], key);
        size_t b = smp_index(w, pos, &patch->at[j], key);
        bool first = a != STR_NONE && b != STR_NONE && a < b;
        arr_add(&out, first ? server_only->at[i++] : patch->at[j++]);
    }
    while (i < server_only->len)
        arr_add(&out, server_only->at[i++]);
    while (j < patch->len)
        arr_add(&out, patch->at[j++]);
    return arr_done(&out);
}

/* Elements that `order` names go by it, the others by `pos`. */
static bool arrange(struct smp *w, const struct json *merged, const struct json *order,
                    const struct json *pos, struct str key, struct json *out)
{
    smp_list server_only = {0}, named = {0};

    json_each (i, merged) {
        const struct json *item = &merged->items[i];
        if (smp_index(w, order, item, key) == STR_NONE)
            vec_push_in(w->arena, &server_only, *item);
        else
            vec_push_in(w->arena, &named, *item);
    }
    if (!smp_sort(w, &named, order, key) || !smp_sort(w, &server_only, pos, key))
        return false;
    *out = interleave(w, &server_only, &named, pos, key);
    return smp_spend(w, 0);
}

bool smp_uniq(struct smp *w, smp_list *list, size_t *n)
{
    size_t len = list->len;

    for (size_t i = 0; i < len; i++) {
        if (!smp_spend(w, len - i))
            return false;
        for (size_t j = i + 1; j < len;) {
            if (smp_same(&list->at[i], &list->at[j]))
                list->at[j] = list->at[--len];
            else
                j++;
        }
    }
    *n = len;
    return true;
}

static void push_all(struct smp *w, smp_list *to, const struct json *list)
{
    json_each (i, list)
        vec_push_in(w->arena, to, list->items[i]);
}

static bool merge_scalars(struct smp *w, const struct json *live, const struct json *patch,
                          struct json *out)
{
    smp_list all = {0};

    push_all(w, &all, live);
    push_all(w, &all, patch);
    if (!smp_uniq(w, &all, &all.len))
        return false;
    struct json merged = list_of(&all);
    return arrange(w, &merged, patch, live, S(""), out);
}

static bool have_keys(struct smp *w, const struct json *list, struct str key)
{
    json_each (i, list)
        if (list->items[i].type == JSON_OBJECT && !smp_key(w, &list->items[i], key))
            return false;
    return true;
}

/* Lists of objects while they are merged. */
struct merge {
    smp_list live, patch; /* patch: without element directives */
    size_t n_deleted;
    bool is_replaced;
};

static bool delete_items(struct smp *w, struct merge *m, const struct json *directive,
                         struct str key)
{
    const struct json *want = smp_key(w, directive, key);
    size_t n = 0;

    if (!want || !smp_spend(w, m->live.len))
        return false;
    vec_each (i, &m->live) {
        const struct json *v = json_get(&m->live.at[i], key);
        if (v && smp_same(v, want))
            m->n_deleted++;
        else
            m->live.at[n++] = m->live.at[i];
    }
    m->live.len = n;
    return true;
}

static bool take_directives(struct smp *w, struct merge *m, const struct json *patch,
                            struct str key)
{
    json_each (i, patch) {
        const struct json *item = &patch->items[i], *directive = json_getz(item, SMP_PATCH);
        if (!directive)
            vec_push_in(w->arena, &m->patch, *item);
        else if (has_directive(item, S("replace")))
            m->is_replaced = true;
        else if (!has_directive(item, S("delete")))
            return smp_fail(w, "a list element has an unknown $patch directive");
        else if (!delete_items(w, m, item, key))
            return false;
    }
    return true;
}

static bool merge_item(struct smp *w, struct merge *m, const struct smp_field *f,
                       const struct json *item)
{
    struct json list = list_of(&m->live), merged;
    size_t i;

    if (!smp_key(w, item, f->key))
        return false;
    i = smp_index(w, &list, item, f->key);
    if (i == STR_NONE) {
        vec_push_in(w->arena, &m->live, *item);
        return true;
    }
    if (!smp_merge_maps(w, f->item, &m->live.at[i], item, &merged))
        return false;
    m->live.at[i] = merged;
    return true;
}

static bool merge_objects(struct smp *w, const struct smp_field *f, const struct json *live,
                          const struct json *patch, struct merge *m, struct json *out)
{
    struct json merged, order, pos;
    smp_list before = {0}; /* merging changes m->live in place */

    if (f->key.len == 0)
        return smp_fail(w, "cannot merge lists without merge key");
    push_all(w, &m->live, live);
    if (!take_directives(w, m, patch, f->key))
        return false;
    order = list_of(&m->patch);
    if (m->is_replaced) {
        *out = order;
        return have_keys(w, &order, f->key);
    }
    pos = list_of(&m->live);
    push_all(w, &before, &pos);
    pos = list_of(&before);
    vec_each (i, &m->patch)
        if (!merge_item(w, m, f, &m->patch.at[i]))
            return false;
    merged = list_of(&m->live);
    return arrange(w, &merged, &order, &pos, f->key, out);
}

static bool merge_lists(struct smp *w, const struct smp_field *f, const struct json *live,
                        const struct json *patch, struct merge *m, struct json *out)
{
    enum json_type type;

    *out = *live;
    if (live->len == 0 && patch->len == 0)
        return true;
    if (!smp_element_type(w, live, patch, &type))
        return false;
    if (type == JSON_OBJECT)
        return merge_objects(w, f, live, patch, m, out);
    return merge_scalars(w, live, patch, out);
}

/* ---- $setElementOrder ---- */

/* Every element of the patch stands in the order list, in the same relative order. */
static bool check_order(struct smp *w, const struct json *patch, const struct json *order,
                        struct str key)
{
    size_t i = 0, j = 0;

    if (json_len(patch) == 0 || json_len(order) == 0)
        return true;
    while (i < patch->len) {
        const struct json *p = &patch->items[i], *o;
        if (has_directive(p, S("delete"))) {
            i++;
            continue;
        }
        if (j == order->len)
            return smp_fail(w,
                            "the order in the patch list doesn't match $setElementOrder list");
        o = &order->items[j];
        if (json_getz(p, SMP_PATCH)) {
            i++;
            continue;
        }
        if (p->type == JSON_OBJECT && (!(p = smp_key(w, p, key)) || !(o = smp_key(w, o, key))))
            return false;
        i += smp_same(p, o);
        j++;
    }
    return true;
}

/* Where the items of the live list count as standing. After items were deleted, upstream reads
 * the list that new ones were already appended to. */
static struct json positions(struct smp *w, const struct json *live, const struct merge *m)
{
    smp_list pos = {0};

    if (m->n_deleted == 0 || m->is_replaced)
        return *live;
    for (size_t i = 0; i < m->live.len && i < live->len; i++)
        vec_push_in(w->arena, &pos, m->live.at[i]);
    return list_of(&pos);
}

static bool order_list(struct smp *w, struct json_obj *live_obj, struct json_obj *patch_obj,
                       const struct schema *s, struct str name, const struct json *order)
{
    static const struct json none = {.type = JSON_ARRAY};
    const struct json *live = obj_get(live_obj, name), *patch = obj_get(patch_obj, name);
    struct smp_field f;
    struct merge m = {0};
    struct json merged, pos, out;
    enum json_type type;
    bool gone = false;

    if (order->type != JSON_ARRAY || (live && live->type != JSON_ARRAY) ||
        (patch && patch->type != JSON_ARRAY))
        return smp_fail(w, "%s/%.*s: a list was expected", SMP_ORDER, STR_ARG(name));
    if (!smp_find(s, name, true, &f))
        return smp_fail(w, "unable to find api field '%.*s'", STR_ARG(name));
    if (!check_order(w, patch, order, f.key))
        return false;
    if (!live && !patch)
        return true;
    if (!patch) {
        merged = *live;
    } else if (!live) {
        bool was_joining = w->is_joining;
        w->is_joining = true; /* nulls stay */
        merged = strip(w, patch, &gone);
        w->is_joining = was_joining;
    } else if (!f.merges) {
        merged = *patch;
    } else if (!merge_lists(w, &f, live, patch, &m, &merged)) {
        return false;
    }
    live = live ? live : &none;
    if (!smp_element_type(w, live, patch ? patch : &none, &type))
        return false;
    if (type == JSON_OBJECT && (!have_keys(w, live, f.key) || !have_keys(w, &merged, f.key) ||
                                !have_keys(w, order, f.key)))
        return false;
    pos = positions(w, live, &m);
    if (!arrange(w, &merged, order, &pos, f.key, &out))
        return false;
    obj_set(live_obj, name, out);
    obj_del(patch_obj, name);
    return true;
}

static bool order_lists(struct smp *w, struct json_obj *live, struct json_obj *patch,
                        const struct schema *s, const struct json *members)
{
    struct str name;

    json_each_member (m, members) {
        if (!is_named(m->name, S(SMP_ORDER)))
            continue;
        if (!list_name(w, m->name, S(SMP_ORDER), &name))
            return false;
        if (w->is_joining) {
            const struct json *was = obj_get(live, m->name);
            if (was && !json_eq(was, &m->value))
                return smp_fail(w, "two patches disagree about %.*s", STR_ARG(m->name));
            obj_set(live, m->name, m->value);
        }
        obj_del(patch, m->name);
        if (!order_list(w, live, patch, s, name, &m->value))
            return false;
    }
    return true;
}

/* ---- $retainKeys ---- */

static bool is_listed(const struct json *keys, struct str name)
{
    json_each (i, keys)
        if (str_eq(json_str(&keys->items[i]), name))
            return true;
    return false;
}

static bool retain_keys(struct smp *w, struct json_obj *live, struct json_obj *patch)
{
    const struct json *keys = obj_get(patch, S(SMP_RETAIN_KEYS)), *was;
    struct json list;

    if (!keys)
        return true;
    list = *keys;
    obj_del(patch, S(SMP_RETAIN_KEYS));
    if (w->is_joining) {
        was = obj_get(live, S(SMP_RETAIN_KEYS));
        if (was && !json_eq(was, &list))
            return smp_fail(w, "two patches disagree about %s", SMP_RETAIN_KEYS);
        obj_set(live, S(SMP_RETAIN_KEYS), list);
        return true;
    }
    if (list.type != JSON_ARRAY)
        return smp_fail(w, "%s must be a list", SMP_RETAIN_KEYS);
    json_each (i, &list)
        if (list.items[i].type != JSON_STRING)
            return smp_fail(w, "%s must hold texts", SMP_RETAIN_KEYS);
    if (!smp_spend(w, (live->members.len + patch->members.len) * list.len))
        return false;
    vec_each (i, &patch->members) {
        const struct json_member *m = &patch->members.at[i];
        if (m->value.type != JSON_NULL && !is_named(m->name, S(SMP_ORDER)) &&
            !is_named(m->name, S(SMP_DELETE_LIST)) && !is_listed(&list, m->name))
            return smp_fail(w, "%s does not list '%.*s', which the patch sets", SMP_RETAIN_KEYS,
                            STR_ARG(m->name));
    }
    vec_each (i, &live->members)
        if (!is_listed(&list, live->members.at[i].name))
            live->members.at[i].value.type = GONE;
    drop_gone(live);
    return true;
}

/* ---- maps ---- */

static bool delete_scalars(struct smp *w, struct json_obj *live, const struct json_member *m,
                           const struct schema *s)
{
    const struct json *list;
    struct smp_field f;
    struct json_arr left;
    enum json_type type;
    struct str name;

    if (w->is_joining) {
        obj_set(live, m->name, m->value);
        return true;
    }
    if (!list_name(w, m->name, S(SMP_DELETE_LIST), &name))
        return false;
    if (m->value.type == JSON_NULL) {
        take_out(live, name);
        return true;
    }
    list = obj_get(live, name);
    if (!json_is(list, JSON_ARRAY) || m->value.type != JSON_ARRAY)
        return true;
    if (!smp_find(s, name, true, &f))
        return smp_fail(w, "unable to find api field '%.*s'", STR_ARG(name));
    if (list->len == 0 && m->value.len == 0)
        return true;
    if (!smp_element_type(w, list, &m->value, &type) ||
        !smp_spend(w, (size_t)list->len * m->value.len))
        return false;
    if (type == JSON_OBJECT)
        return smp_fail(w, "%.*s: no primitive list", STR_ARG(m->name));
    left = arr_in(w->arena);
    json_each (i, list)
        if (smp_index(w, &m->value, &list->items[i], S("")) == STR_NONE)
            arr_add(&left, list->items[i]);
    obj_set(live, name, arr_done(&left));
    return true;
}

static bool merge_both(struct smp *w, struct json_obj *o, const struct json_member *m,
                       const struct schema *s, const struct json *live)
{
    bool is_list = live->type == JSON_ARRAY;
    struct merge lists = {0};
    struct json out = m->value;
    struct smp_field f;

    if (!smp_find(s, m->name, is_list, &f))
        return smp_fail(w, "unable to find api field '%.*s'", STR_ARG(m->name));
    if (is_list && f.merges && !merge_lists(w, &f, live, &m->value, &lists, &out))
        return false;
    if (!is_list && !f.replaces && !smp_merge_maps(w, f.s, live, &m->value, &out))
        return false;
    obj_set(o, m->name, out);
    return true;
}

static bool merge_member(struct smp *w, struct json_obj *o, const struct json_member *m,
                         const struct schema *s)
{
    const struct json *live;
    bool gone;

    if (is_named(m->name, S(SMP_DELETE_LIST)))
        return delete_scalars(w, o, m, s);
    if (m->value.type == JSON_NULL) {
        if (w->is_joining)
            obj_set(o, m->name, m->value);
        else
            take_out(o, m->name);
        return true;
    }
    live = obj_get(o, m->name);
    if (live && live->type == m->value.type &&
        (live->type == JSON_OBJECT || live->type == JSON_ARRAY))
        return merge_both(w, o, m, s, live);
    struct json v = strip(w, &m->value, &gone);
    if (!gone)
        obj_set(o, m->name, v);
    else
        take_out(o, m->name);
    return true;
}

static bool directive_map(struct smp *w, const struct json *patch, struct json *out)
{
    struct json_obj o;

    if (has_directive(patch, S("delete"))) {
        *out = (struct json){.type = JSON_OBJECT};
        return true;
    }
    if (!has_directive(patch, S("replace")))
        return smp_fail(w, "unknown %s directive", SMP_PATCH);
    o = obj_from(w->arena, patch);
    obj_del(&o, S(SMP_PATCH));
    *out = obj_done(&o);
    return true;
}

bool smp_merge_maps(struct smp *w, const struct schema *s, const struct json *live,
                    const struct json *patch, struct json *out)
{
    struct json_obj o, p;

    if (json_getz(patch, SMP_PATCH))
        return directive_map(w, patch, out);
    o = obj_from(w->arena, live);
    p = obj_from(w->arena, patch);
    if (!retain_keys(w, &o, &p) || !order_lists(w, &o, &p, s, patch))
        return false;
    vec_each (i, &p.members)
        if (!merge_member(w, &o, &p.members.at[i], s))
            return false;
    drop_gone(&o);
    *out = obj_done(&o);
    return true;
}

bool smp_check_document(struct smp *w, const struct json *v, const char *what)
{
    if (!json_has(v) || v->type == JSON_OBJECT)
        return true;
    err_set(w->err, ERR_SYNTAX, "the %s must be an object", what);
    return false;
}

const struct json *schema_strategic_apply(struct arena *a, const struct schema *s,
                                          const struct json *live, const struct json *patch,
                                          struct err *err)
{
    struct smp w = {.arena = a, .err = err};
    struct json out;

    if (!smp_check_document(&w, live, "document") || !smp_check_document(&w, patch, "patch") ||
        !smp_merge_maps(&w, s, live, patch, &out))
        return NULL;
    return json_new(a, out);
}
