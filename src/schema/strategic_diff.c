/* strategic_diff.c - making strategic merge patches from two and from three documents */
#include "schema/strategic_priv.h"

struct diff {
    struct smp smp;
    bool changes, deletions, order; /* what the patch may say */
};

static const struct json empty = {.type = JSON_OBJECT};

static bool diff_maps(struct diff *d, const struct schema *s, const struct json *from,
                      const struct json *to, bool retains, struct json *out);

static bool fail_unknown(struct diff *d, struct str name)
{
    return smp_fail(&d->smp, "unable to find api field '%.*s'", STR_ARG(name));
}

/* Scalars as texts, which is how upstream compares and sorts them. */
static struct str text_of(struct smp *w, const struct json *v)
{
    return v->type == JSON_STRING ? json_str(v) : json_text(w->arena, v);
}

/* ---- lists of scalars ---- */

struct texted {
    struct str text;
    const struct json *v;
};

typedef VEC(struct texted) texted_list;

static int cmp_texted(const struct texted *a, const struct texted *b)
{
    return str_cmp(a->text, b->text);
}

static texted_list by_text(struct smp *w, const struct json *list, struct str key)
{
    texted_list out = {0};

    json_each (i, list) {
        const struct json *v = &list->items[i];
        const struct json *k = v->type == JSON_OBJECT ? json_get(v, key) : v;
        vec_push_in(w->arena, &out, (struct texted){text_of(w, k), v});
    }
    vec_sort(&out, cmp_texted);
    return out;
}

static bool is_sorted_from(const texted_list *from, const struct json *to)
{
    if (from->len != to->len)
        return false;
    vec_each (i, from)
        if (!smp_same(from->at[i].v, &to->items[i]))
            return false;
    return true;
}

static void set_order(struct diff *d, struct json_obj *o, struct str name, struct json order)
{
    obj_set(o, str_printf(d->smp.arena, "%s/%.*s", SMP_ORDER, STR_ARG(name)), order);
}

static bool diff_scalars(struct diff *d, struct str name, const struct json *from,
                         const struct json *to, struct json_obj *o)
{
    struct smp *w = &d->smp;
    texted_list a = by_text(w, from, S("")), b = by_text(w, to, S(""));
    smp_list added = {0}, deleted = {0};
    size_t i = 0, j = 0;

    while (i < a.len || j < b.len) {
        int order = i == a.len ? 1 : j == b.len ? -1 : str_cmp(a.at[i].text, b.at[j].text);
        if (order > 0 && d->changes)
            vec_push_in(w->arena, &added, *b.at[j].v);
        if (order < 0 && d->deletions)
            vec_push_in(w->arena, &deleted, *a.at[i].v);
        i += order <= 0;
        j += order >= 0;
    }
    if (!smp_sort(w, &added, to, S("")) || !smp_uniq(w, &deleted, &deleted.len))
        return false;
    if (added.len)
        obj_set(
            o, name,
            (struct json){.type = JSON_ARRAY, .len = (uint32_t)added.len, .items = added.at});
    if (deleted.len)
        obj_set(o, str_printf(w->arena, "%s/%.*s", SMP_DELETE_LIST, STR_ARG(name)),
                (struct json){
                    .type = JSON_ARRAY, .len = (uint32_t)deleted.len, .items = deleted.at});
    if (d->order && to->len && (deleted.len || (d->changes && !is_sorted_from(&a, to))))
        set_order(d, o, name, *to);
    return true;
}

/* ---- lists of objects ---- */

static struct json key_only(struct smp *w, struct str key, const struct json *v,
                            const char *directive)
{
    struct json_obj o = obj_in(w->arena);

    if (directive)
        obj_add(&o, S(SMP_PATCH), json_of_str(str_from(directive)));
    obj_add(&o, key, *json_get(v, key));
    return obj_done(&o);
}

/* An item on both sides: what changed, with its key. */
static bool diff_item(struct diff *d, const struct smp_field *f, const struct json *from,
                      const struct json *to, smp_list *changed)
{
    struct json_obj o;
    struct json patch;

    if (!diff_maps(d, f->item, from, to, f->retains, &patch))
        return false;
    if (patch.len == 0)
        return true;
    o = obj_from(d->smp.arena, &patch);
    obj_set(&o, f->key, *json_get(to, f->key));
    vec_push_in(d->smp.arena, changed, obj_done(&o));
    return true;
}

static bool same_keys(const struct json *a, const struct json *b, struct str key)
{
    if (a->len != b->len)
        return false;
    json_each (i, a)
        if (!smp_same(json_get(&a->items[i], key), json_get(&b->items[i], key)))
            return false;
    return true;
}

static bool have_keys(struct smp *w, const struct json *list, struct str key)
{
    json_each (i, list)
        if (!smp_key(w, &list->items[i], key))
            return false;
    return true;
}

static bool diff_objects(struct diff *d, struct str name, const struct smp_field *f,
                         const struct json *from, const struct json *to, struct json_obj *o)
{
    struct smp *w = &d->smp;
    smp_list changed = {0}, deleted = {0};
    struct json_arr order;
    size_t i = 0, j = 0;

    if (f->key.len == 0)
        return smp_fail(w, "cannot merge lists without merge key");
    if (!have_keys(w, from, f->key) || !have_keys(w, to, f->key))
        return false;
    texted_list a = by_text(w, from, f->key), b = by_text(w, to, f->key);
    while (i < a.len || j < b.len) {
        int side = i == a.len ? 1 : j == b.len ? -1 : str_cmp(a.at[i].text, b.at[j].text);
        if (side == 0 && !diff_item(d, f, a.at[i].v, b.at[j].v, &changed))
            return false;
        if (side > 0 && d->changes)
            vec_push_in(w->arena, &changed, *b.at[j].v);
        if (side < 0 && d->deletions)
            vec_push_in(w->arena, &deleted, key_only(w, f->key, a.at[i].v, "delete"));
        i += side <= 0;
        j += side >= 0;
    }
    if (!smp_sort(w, &changed, to, f->key))
        return false;
    vec_each (k, &deleted)
        vec_push_in(w->arena, &changed, deleted.at[k]);
    if (changed.len)
        obj_set(o, name,
                (struct json){
                    .type = JSON_ARRAY, .len = (uint32_t)changed.len, .items = changed.at});
    if (!d->order || to->len == 0 ||
        !((d->changes && (changed.len || !same_keys(from, to, f->key))) ||
          (d->deletions && changed.len)))
        return true;
    order = arr_in(w->arena);
    json_each (k, to)
        arr_add(&order, key_only(w, f->key, &to->items[k], NULL));
    set_order(d, o, name, arr_done(&order));
    return true;
}

static bool diff_lists(struct diff *d, struct str name, const struct smp_field *f,
                       const struct json *from, const struct json *to, struct json_obj *o)
{
    enum json_type type;

    if (from->len == 0) {
        if (d->changes && to->len)
            obj_set(o, name, *to);
        return true;
    }
    if (!smp_element_type(&d->smp, from, to, &type))
        return false;
    return type == JSON_OBJECT ? diff_objects(d, name, f, from, to, o)
                               : diff_scalars(d, name, from, to, o);
}

/* ---- maps ---- */

static bool diff_member(struct diff *d, const struct schema *s, struct str name,
                        const struct json *from, const struct json *to, struct json_obj *o)
{
    bool is_map = from && from->type == JSON_OBJECT, is_list = from && from->type == JSON_ARRAY;
    struct smp_field f;
    struct json below;

    if (from && str_eq(name, S(SMP_PATCH))) {
        if (from->type != JSON_STRING || to->type != JSON_STRING)
            return smp_fail(&d->smp, "%s must be a text", SMP_PATCH);
        if (!json_eq(from, to))
            obj_set(o, name, *to);
        return true;
    }
    if (from && from->type == to->type && (is_map || is_list)) {
        if (!smp_find(s, name, is_list, &f))
            return json_eq(from, to) ? true : fail_unknown(d, name);
        if (is_list && f.merges)
            return diff_lists(d, name, &f, from, to, o);
        if (is_map && !f.replaces) {
            if (!diff_maps(d, f.s, from, to, f.retains, &below))
                return false;
            if (below.len)
                obj_set(o, name, below);
            return true;
        }
        if (is_map && d->changes) {
            obj_set(o, name, *to);
            return true;
        }
    }
    if (d->changes && (!from || !smp_same(from, to)))
        obj_set(o, name, *to);
    return true;
}

static int cmp_names(const struct str *a, const struct str *b)
{
    return str_cmp(*a, *b);
}

/* Which keys the object keeps, where that says more than the patch itself. */
static void add_retain_keys(struct diff *d, const struct json *from, const struct json *to,
                            struct json_obj *o)
{
    struct arena *a = d->smp.arena;
    VEC(struct str) names = {0};
    struct json_arr list = arr_in(a);
    struct json_names in_to = {0};
    bool is_needed = o->members.len > 0;

    json_each_member (m, to)
        if (m->value.type != JSON_NULL)
            vec_push_in(a, &names, m->name);
    json_each_member (m, from)
        is_needed |= m->value.type != JSON_NULL && !json_find(a, &in_to, to, m->name);
    if (names.len == 0 || !is_needed)
        return;
    vec_sort(&names, cmp_names);
    vec_each (i, &names)
        arr_add(&list, json_of_str(names.at[i]));
    obj_set(o, S(SMP_RETAIN_KEYS), arr_done(&list));
}

static bool diff_maps(struct diff *d, const struct schema *s, const struct json *from,
                      const struct json *to, bool retains, struct json *out)
{
    struct arena *a = d->smp.arena;
    struct json_names in_from = {0}, in_to = {0};
    struct json_obj o = obj_in(a);

    json_each_member (m, to)
        if (!diff_member(d, s, m->name, json_find(a, &in_from, from, m->name), &m->value, &o))
            return false;
    json_each_member (m, from)
        if (d->deletions && !json_find(a, &in_to, to, m->name))
            obj_set(&o, m->name, json_of_null());
    if (retains)
        add_retain_keys(d, from, to, &o);
    *out = obj_done(&o);
    return true;
}

const struct json *schema_strategic_diff(struct arena *a, const struct schema *s,
                                         const struct json *from, const struct json *to,
                                         struct err *err)
{
    struct diff d = {
        {.arena = a, .err = err},
        true, true, true
    };
    struct json out;

    if (!smp_check_document(&d.smp, from, "document") ||
        !smp_check_document(&d.smp, to, "document") ||
        !diff_maps(&d, s, json_has(from) ? from : &empty, json_has(to) ? to : &empty, false,
                   &out))
        return NULL;
    return json_new(a, out);
}

/* ---- conflicts ---- */

/* Do two patches change one place to different values? -1 on an error. Lists of scalars that
 * are not merged are compared without their order, and upstream leaves them sorted in the
 * patch: *a becomes that. */
static int clash(struct smp *w, const struct schema *s, const struct smp_field *f,
                 struct json *a, const struct json *b);

static int clash_merged(struct smp *w, const struct smp_field *f, const struct json *a,
                        const struct json *b)
{
    if (!have_keys(w, a, f->key) || !have_keys(w, b, f->key))
        return -1;
    texted_list x = by_text(w, a, f->key), y = by_text(w, b, f->key);
    for (size_t i = 0, j = 0; i < x.len && j < y.len;) {
        int order = str_cmp(x.at[i].text, y.at[j].text);
        bool x_last = i + 1 == x.len || !str_eq(x.at[i].text, x.at[i + 1].text);
        bool y_last = j + 1 == y.len || !str_eq(y.at[j].text, y.at[j + 1].text);
        if (order < 0 || (order == 0 && !x_last)) {
            i++;
            continue;
        }
        if (order > 0 || !y_last) {
            j++;
            continue;
        }
        struct json item = *x.at[i].v;
        int found = clash(w, f->item, NULL, &item, y.at[j].v);
        if (found)
            return found;
        i++, j++;
    }
    return 0;
}

static bool sort_scalars(struct smp *w, const struct json *list, smp_list *out, size_t *n)
{
    json_each (i, list)
        vec_push_in(w->arena, out, list->items[i]);
    if (!smp_uniq(w, out, n))
        return false;
    struct json front = {.type = JSON_ARRAY, .len = (uint32_t)*n, .items = out->at};
    texted_list sorted = by_text(w, &front, S(""));
    smp_list moved = {0};
    vec_each (i, &sorted)
        vec_push_in(w->arena, &moved, *sorted.at[i].v);
    for (size_t i = *n; i < out->len; i++)
        vec_push_in(w->arena, &moved, out->at[i]);
    *out = moved;
    return true;
}

static int clash_plain(struct smp *w, enum json_type type, struct json *a, const struct json *b)
{
    smp_list x = {0}, y = {0};
    size_t n = a->len, n_b = b->len;

    if (a->len != b->len)
        return 1;
    if (type == JSON_OBJECT) {
        json_each (i, a)
            vec_push_in(w->arena, &x, a->items[i]);
        json_each (i, b)
            vec_push_in(w->arena, &y, b->items[i]);
    } else if (!sort_scalars(w, a, &x, &n) || !sort_scalars(w, b, &y, &n_b)) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        int found = i < n_b ? clash(w, NULL, NULL, &x.at[i], &y.at[i]) : 1;
        if (found)
            return found;
    }
    *a = (struct json){.type = JSON_ARRAY, .len = (uint32_t)x.len, .items = x.at};
    return 0;
}

static int clash_maps(struct smp *w, const struct schema *s, struct json *a,
                      const struct json *b)
{
    const struct json *x = json_getz(a, SMP_PATCH), *y = json_getz(b, SMP_PATCH);
    struct json_obj o = obj_from(w->arena, a);
    struct json_names in_b = {0};

    if ((x || y) && !(x && y && smp_same(x, y)))
        return 1;
    json_each_member (m, a) {
        const struct json *other = json_find(w->arena, &in_b, b, m->name);
        bool is_list = m->value.type == JSON_ARRAY;
        struct smp_field f = {0};
        struct json v = m->value;
        if (!other || str_eq(m->name, S(SMP_PATCH)) || str_eq(m->name, S(SMP_RETAIN_KEYS)))
            continue;
        if ((is_list || v.type == JSON_OBJECT) && !smp_find(s, m->name, is_list, &f)) {
            smp_fail(w, "unable to find api field '%.*s'", STR_ARG(m->name));
            return -1;
        }
        int found = clash(w, is_list ? f.item : f.s, &f, &v, other);
        if (found)
            return found;
        obj_set(&o, m->name, v);
    }
    *a = obj_done(&o);
    return 0;
}

static int clash(struct smp *w, const struct schema *s, const struct smp_field *f,
                 struct json *a, const struct json *b)
{
    enum json_type type;

    if (a->type != b->type)
        return 1;
    if (a->type == JSON_OBJECT)
        return f && f->replaces ? 0 : clash_maps(w, s, a, b);
    if (a->type != JSON_ARRAY)
        return !smp_same(a, b);
    if (!smp_element_type(w, a, b, &type))
        return 1;
    if (f && f->merges)
        return type == JSON_OBJECT ? clash_merged(w, f, a, b) : 0;
    return clash_plain(w, type, a, b);
}

static bool check_conflicts(struct diff *d, const struct schema *s, const struct json *original,
                            const struct json *current, struct json *patch)
{
    struct json changed;
    int found;

    d->changes = d->deletions = true, d->order = false;
    if (!diff_maps(d, s, original, current, false, &changed))
        return false;
    found = clash(&d->smp, s, NULL, patch, &changed);
    if (found > 0)
        err_set(d->smp.err, ERR_CONFLICT,
                "the patch changes what someone else has changed meanwhile");
    return found == 0;
}

const struct json *schema_strategic_three_way(struct arena *a, const struct schema *s,
                                              const struct json *original,
                                              const struct json *modified,
                                              const struct json *current, bool overwrite,
                                              struct err *err)
{
    struct diff d = {
        {.arena = a, .err = err},
        .changes = true, .order = true
    };
    struct json delta, gone, patch;

    if (!smp_check_document(&d.smp, original, "original") ||
        !smp_check_document(&d.smp, modified, "modified") ||
        !smp_check_document(&d.smp, current, "current"))
        return NULL;
    original = json_has(original) ? original : &empty;
    modified = json_has(modified) ? modified : &empty;
    current = json_has(current) ? current : &empty;
    if (!diff_maps(&d, s, current, modified, false, &delta))
        return NULL;
    d.changes = false, d.deletions = true;
    if (!diff_maps(&d, s, original, modified, false, &gone))
        return NULL;
    d.smp.is_joining = true;
    if (!smp_merge_maps(&d.smp, s, &gone, &delta, &patch))
        return NULL;
    d.smp.is_joining = false;
    if (!overwrite && !check_conflicts(&d, s, original, current, &patch))
        return NULL;
    return json_new(a, patch);
}
