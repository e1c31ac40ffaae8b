/* typed_compare.c - which fields differ between two values
 *
 * One walk writes down what differs, as bytes, and the sets are read from these: equal bytes
 * are equal changes.
 *
 *     node     MODIFIED, REMOVED tree, ADDED tree, GROUP entry... END: as many as hold
 *     entry    element node END
 *     tree     what is added or removed with it: nothing, or TREE branch... END
 *     branch   element tree END
 *     element  FIELD text, KEY count (FIELD text value)..., VALUE value
 */
#include "schema/typed_priv.h"

enum { REMOVED, MODIFIED, ADDED, N_KINDS };
enum { END = N_KINDS, GROUP, TREE, FIELD, KEY, VALUE };

#define SIZE_BYTES 5 /* of a number at most */
#define BYTES_FIRST 512

/* One comparison under way. */
struct work {
    struct walk walk;
    struct buf *out;
};

/* ---- writing bytes ---- */

static inline char *room(struct work *w, size_t n)
{
    struct buf *out = w->out;

    return likely(out->cap - out->len >= n) ? out->at + out->len : buf_room(out, n);
}

static inline void put(struct work *w, int what)
{
    *room(w, 1) = (char)what;
    w->out->len++;
}

/* Where there is room for it. */
static inline char *write_text(char *at, int what, struct str text)
{
    uint32_t n = (uint32_t)text.len;

    *at++ = (char)what;
    for (; unlikely(n >= 0x80); n >>= 7)
        *at++ = (char)(n | 0x80);
    *at++ = (char)n;
    if (text.len)
        memcpy(at, text.at, text.len);
    return at + text.len;
}

static inline void put_text(struct work *w, int what, struct str text)
{
    char *at = room(w, 1 + SIZE_BYTES + text.len);

    w->out->len = (size_t)(write_text(at, what, text) - w->out->at);
}

static void put_value(struct work *w, const struct json *v)
{
    switch ((enum json_type)v->type) {
    case JSON_NULL:
        put(w, JSON_NULL);
        break;
    case JSON_BOOL:
        put(w, JSON_BOOL);
        put(w, v->boolean);
        break;
    case JSON_INT:
    case JSON_DOUBLE: /* its bits */
        put(w, v->type);
        buf_add(w->out, str_of((const char *)&v->i, sizeof(v->i)));
        break;
    case JSON_STRING:
        put_text(w, JSON_STRING, json_str(v));
        break;
    default:
        put_text(w, JSON_RAW, json_text(w->walk.arena, v));
    }
}

static void put_element(struct work *w, const struct element *e)
{
    switch ((enum element_kind)e->kind) {
    case ELEMENT_FIELD:
        put_text(w, FIELD, e->name);
        break;
    case ELEMENT_KEY:
        put(w, KEY);
        put(w, (int)e->n);
        for (uint32_t i = 0; i < e->n; i++) {
            put_text(w, FIELD, e->keys[i].name);
            put_value(w, &e->keys[i].value);
        }
        break;
    default:
        assert(e->kind == ELEMENT_VALUE);
        put(w, VALUE);
        put_value(w, &e->value);
    }
}

/* An entry or a group under way: it goes again where nothing comes into it. */
struct open {
    size_t start, inner;
};

static struct open open_entry(struct work *w, const struct element *e)
{
    struct open o = {.start = w->out->len};

    put_element(w, e);
    o.inner = w->out->len;
    return o;
}

static struct open open_group(struct work *w)
{
    struct open o = {w->out->len, w->out->len + 1};

    put(w, GROUP);
    return o;
}

static void end(struct work *w, struct open o)
{
    if (w->out->len == o.inner)
        w->out->len = o.start;
    else
        put(w, END);
}

static int compare(struct work *w, const struct schema *s, const struct json *l,
                   const struct json *r, const struct typed_at *at);

/* ---- what is added or removed whole ---- */

static int put_tree(struct work *w, const struct schema *s, const struct json *v,
                    const struct typed_at *at);

static int put_branch(struct work *w, const struct schema *s, const struct element *e,
                      const struct json *v, const struct typed_at *up)
{
    struct typed_at here = {up, e};

    put_element(w, e);
    if (v && put_tree(w, s, v, &here) < 0)
        return -1;
    put(w, END);
    return 0;
}

/* Does every item stand there but once? So it mostly is. */
static bool is_unique(const struct items *x)
{
    for (uint32_t i = 1; i < x->n && x->order; i++)
        if (element_eq(&x->e[x->order[i - 1]], &x->e[x->order[i]]))
            return false;
    for (uint32_t i = 1; i < x->n && !x->order; i++)
        for (uint32_t j = 0; j < i; j++)
            if (element_eq(&x->e[i], &x->e[j]))
                return false;
    return true;
}

/* The item with the element, which mostly stands at `hint`, of a list whose items are unique.
 */
static size_t find_near(const struct items *x, const struct element *e, size_t hint)
{
    uint32_t count;

    return hint < x->n && element_eq(&x->e[hint], e) ? hint : typed_items_find(x, e, &count);
}

static int put_items(struct work *w, const struct schema *s, const struct json *v,
                     const struct typed_at *at)
{
    struct items items;
    uint32_t count;

    if (typed_items(&w->walk, s, v, at, &items) < 0)
        return -1;
    bool are_unique = is_unique(&items);

    for (uint32_t i = 0; i < items.n; i++) {
        count = 1;
        if (!are_unique && typed_items_find(&items, &items.e[i], &count) != i)
            continue;
        if (put_branch(w, typed_item(s), &items.e[i], count == 1 ? &v->items[i] : NULL, at) < 0)
            return -1;
    }
    return 0;
}

static int put_members(struct work *w, const struct schema *s, const struct json *v,
                       const struct typed_at *at)
{
    bool declared;

    json_each_member (m, v) {
        struct element e = element_field(m->name);
        const struct schema *type = typed_member(s, m, &declared);
        if (!type)
            return typed_fail(&w->walk, &(struct typed_at){at, &e},
                              "field not declared in schema");
        if (put_branch(w, type, &e, &m->value, at) < 0)
            return -1;
    }
    return 0;
}

/* Every field below a value, containers among them. */
static int put_tree(struct work *w, const struct schema *s, const struct json *v,
                    const struct typed_at *at)
{
    enum form form = typed_form(s, v);

    if (typed_is_atomic(s, form) || !typed_contents(v, form))
        return 0;
    put(w, TREE);
    if ((form == FORM_LIST ? put_items(w, s, v, at) : put_members(w, s, v, at)) < 0)
        return -1;
    put(w, END);
    return 0;
}

/* ---- maps ---- */

static int compare_entry(struct work *w, const struct schema *s, const struct json_member *m,
                         const struct json *l, const struct json *r, const struct typed_at *at)
{
    struct element e = element_field(m->name);
    struct typed_at here = {at, &e};
    bool declared;
    const struct schema *type = typed_member(s, m, &declared);

    if (!type)
        return typed_fail(&w->walk, &here, "field not declared in schema");
    struct open entry = open_entry(w, &e);
    if (compare(w, type, l, r, &here) < 0)
        return -1;
    end(w, entry);
    return 0;
}

/* As most members of two versions are. False says nothing of objects and lists. */
static inline bool is_same(const struct json *l, const struct json *r)
{
    if (json_is_shared(l, r))
        return true;
    if (l->type == JSON_STRING && r->type == JSON_STRING)
        return l->len == r->len && bytes_eq(l->s, r->s, l->len);
    return l->type != JSON_OBJECT && l->type != JSON_ARRAY && json_eq(l, r);
}

static inline bool is_at(const struct json *map, size_t i, struct str name)
{
    return i < map->len && map->members[i].name.len == name.len &&
           bytes_eq(map->members[i].name.at, name.at, name.len);
}

static int compare_maps(struct work *w, const struct schema *s, const struct json *l,
                        const struct json *r, const struct typed_at *at)
{
    static const struct json empty = {.type = JSON_OBJECT};
    struct json_names in_l = {0}, in_r = {0};
    struct open group = open_group(w);
    size_t i, next = 0, n_both = 0; /* mostly both have one order */

    l = l ? l : &empty, r = r ? r : &empty;
    json_each_member (m, l) {
        i = is_at(r, next, m->name)
                ? next
                : json_names_find(w->walk.arena, &in_r, r->members, r->len, m->name);
        if (i != STR_NONE) {
            next = i + 1;
            n_both++;
            if (is_same(&m->value, &r->members[i].value))
                continue;
        }
        if (compare_entry(w, s, m, &m->value, i == STR_NONE ? NULL : &r->members[i].value, at) <
            0)
            return -1;
    }
    next = 0;
    for (uint32_t k = 0; n_both < r->len && k < r->len; k++) {
        const struct json_member *m = &r->members[k];
        i = is_at(l, next, m->name)
                ? next
                : json_names_find(w->walk.arena, &in_l, l->members, l->len, m->name);
        if (i != STR_NONE)
            next = i + 1;
        else if (compare_entry(w, s, m, NULL, &m->value, at) < 0)
            return -1;
    }
    end(w, group);
    return 0;
}

/* ---- lists ---- */

/* Do the n items with the element have the same values in the same order on both sides? */
static bool same_items(const struct items *l, const struct items *r, const struct element *e,
                       uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!json_eq(&l->list->items[typed_items_next(l, e, k)],
                     &r->list->items[typed_items_next(r, e, k)]))
            return false;
    return true;
}

/* i and j: the first items with the element, or STR_NONE; n_l and n_r: how many there are. An
 * item that stands there more than once is one atomic thing. */
static int compare_items(struct work *w, const struct schema *s, const struct items *l,
                         size_t i, uint32_t n_l, const struct items *r, size_t j, uint32_t n_r,
                         const struct typed_at *at)
{
    const struct element *e = i != STR_NONE ? &l->e[i] : &r->e[j];
    const struct json *left = n_l == 1 ? &l->list->items[i] : NULL;
    const struct json *right = n_r == 1 ? &r->list->items[j] : NULL;
    struct typed_at here = {at, e};
    struct open entry = open_entry(w, e);

    if (n_l > 1 && n_r > 1) {
        if (n_l != n_r || !same_items(l, r, e, n_l))
            put(w, MODIFIED);
        end(w, entry);
        return 0;
    }
    if ((left || right) && compare(w, typed_item(s), left, right, &here) < 0)
        return -1;
    if (n_l > 1)
        put(w, REMOVED);
    if (n_r > 1)
        put(w, ADDED);
    end(w, entry);
    return 0;
}

/* Have both the same few elements at the same places, and none of them twice? So it mostly is.
 */
static bool is_in_step(const struct items *l, const struct items *r)
{
    if (l->n != r->n || l->order)
        return false;
    for (uint32_t i = 0; i < l->n; i++)
        if (!element_eq(&l->e[i], &r->e[i]))
            return false;
    return is_unique(l);
}

static int compare_in_step(struct work *w, const struct schema *s, const struct items *l,
                           const struct items *r, const struct typed_at *at)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (!is_same(&l->list->items[i], &r->list->items[i]) &&
            compare_items(w, s, l, i, 1, r, i, 1, at) < 0)
            return -1;
    return 0;
}

/* Where none stands there twice. */
static int compare_unique(struct work *w, const struct schema *s, const struct items *l,
                          const struct items *r, const struct typed_at *at)
{
    for (uint32_t i = 0; i < l->n; i++) {
        size_t j = find_near(r, &l->e[i], i);
        if (compare_items(w, s, l, i, 1, r, j, j != STR_NONE, at) < 0)
            return -1;
    }
    for (uint32_t j = 0; j < r->n; j++)
        if (find_near(l, &r->e[j], j) == STR_NONE &&
            compare_items(w, s, l, STR_NONE, 0, r, j, 1, at) < 0)
            return -1;
    return 0;
}

static int compare_with_repeats(struct work *w, const struct schema *s, const struct items *l,
                                const struct items *r, const struct typed_at *at)
{
    uint32_t n_l, n_r;

    for (uint32_t i = 0; i < l->n; i++) {
        if (typed_items_find(l, &l->e[i], &n_l) != i)
            continue;
        size_t j = typed_items_find(r, &l->e[i], &n_r);
        if (compare_items(w, s, l, i, n_l, r, j, n_r, at) < 0)
            return -1;
    }
    for (uint32_t j = 0; j < r->n; j++) {
        if (typed_items_find(r, &r->e[j], &n_r) != j ||
            typed_items_find(l, &r->e[j], &n_l) != STR_NONE)
            continue;
        if (compare_items(w, s, l, STR_NONE, 0, r, j, n_r, at) < 0)
            return -1;
    }
    return 0;
}

static int compare_lists(struct work *w, const struct schema *s, const struct json *l,
                         const struct json *r, const struct typed_at *at)
{
    struct items left, right;
    int rc;

    if (typed_items(&w->walk, s, l, at, &left) < 0 ||
        typed_items(&w->walk, s, r, at, &right) < 0)
        return -1;
    struct open group = open_group(w);
    if (is_in_step(&left, &right))
        rc = compare_in_step(w, s, &left, &right, at);
    else if (is_unique(&left) && is_unique(&right))
        rc = compare_unique(w, s, &left, &right, at);
    else
        rc = compare_with_repeats(w, s, &left, &right, at);
    end(w, group);
    return rc;
}

/* ---- nodes ---- */

static int compare_as(struct work *w, const struct schema *s, enum form form,
                      const struct json *l, const struct json *r, const struct typed_at *at)
{
    const struct json *lc = typed_contents(l, form), *rc = typed_contents(r, form);

    if (form == FORM_SCALAR && !typed_fits_scalar(s, l) && !typed_fits_scalar(s, r))
        return typed_fail(&w->walk, at, "a scalar was expected");
    if (typed_is_atomic(s, form) || (!lc && !rc)) {
        if (!json_eq(l, r))
            put(w, MODIFIED);
        return 0;
    }
    return form == FORM_LIST ? compare_lists(w, s, lc, rc, at) : compare_maps(w, s, lc, rc, at);
}

static int compare(struct work *w, const struct schema *s, const struct json *l,
                   const struct json *r, const struct typed_at *at)
{
    enum form form;

    if (json_is_shared(l, r))
        return 0;
    if (!l || !r) {
        put(w, l ? REMOVED : ADDED);
        return put_tree(w, s, l ? l : r, at);
    }
    form = typed_form(s, r);
    if (typed_form(s, l) != form && compare_as(w, s, typed_form(s, l), l, r, at) < 0)
        return -1;
    return compare_as(w, s, form, l, r, at);
}

int typed_difference(struct arena *scratch, const struct schema *s, const struct json *from,
                     const struct json *to, struct buf *out, struct err *err)
{
    struct work w = {
        {scratch, err},
        out
    };
    size_t before = out->len;

    if ((from || to) && compare(&w, s, from, to, NULL) < 0) {
        out->len = before;
        return -1;
    }
    return 0;
}

/* ---- sets ---- */

/* Bytes that are being read; they are our own. */
struct reader {
    struct arena *arena;
    const char *at, *end;
};

/* What differs at one node, by kind: itself, and below it. */
struct change {
    bool self[N_KINDS];
    struct fieldset below[N_KINDS];
};

struct levels {
    fieldset_level of[N_KINDS];
};

static bool take(struct reader *r, int what)
{
    bool is_it = *r->at == (char)what;

    r->at += is_it;
    return is_it;
}

static struct str take_text(struct reader *r)
{
    uint32_t n = 0, shift = 0;

    do
        n |= (uint32_t)(*r->at & 0x7f) << shift, shift += 7;
    while (*r->at++ & 0x80);
    r->at += n;
    return str_of(r->at - n, n);
}

static struct json take_value(struct reader *r)
{
    struct json v = {.type = (uint8_t)*r->at++};
    const struct json *parsed;

    switch ((enum json_type)v.type) {
    case JSON_NULL:
        return v;
    case JSON_BOOL:
        v.boolean = *r->at++;
        return v;
    case JSON_INT:
    case JSON_DOUBLE:
        memcpy(&v.i, r->at, sizeof(v.i));
        r->at += sizeof(v.i);
        return v;
    case JSON_STRING:
        return json_of_str(take_text(r));
    default:
        parsed = json_parse(r->arena, take_text(r), NULL, NULL);
        return parsed ? *parsed : json_of_null();
    }
}

static struct element take_element(struct reader *r)
{
    if (take(r, FIELD))
        return element_field(take_text(r));
    if (take(r, VALUE))
        return (struct element){.kind = ELEMENT_VALUE, .value = take_value(r)};
    r->at++; /* KEY */
    uint32_t n = (unsigned char)*r->at++;
    struct json_member *keys = arena_array(r->arena, struct json_member, n);
    for (uint32_t i = 0; i < n; i++) {
        r->at++; /* FIELD */
        keys[i].name = take_text(r);
        keys[i].value = take_value(r);
    }
    return (struct element){.kind = ELEMENT_KEY, .n = n, .keys = keys};
}

static struct fieldset take_tree(struct reader *r)
{
    fieldset_level level = {0};

    if (r->at == r->end || !take(r, TREE))
        return (struct fieldset){0};
    while (!take(r, END)) {
        struct fieldset_entry e = {.e = take_element(r), .is_member = true};
        e.below = take_tree(r);
        r->at++; /* END */
        vec_push_in(r->arena, &level, e);
    }
    return fieldset_of(r->arena, &level);
}

static void take_node(struct reader *r, struct change *out);

/* There may be several groups at one node: where the two sides have different forms, both are
 * walked. */
static void take_group(struct reader *r, struct change *out)
{
    struct levels levels = {0};

    while (!take(r, END)) {
        struct element e = take_element(r);
        struct change c = {0};
        take_node(r, &c);
        r->at++; /* END */
        for (int k = 0; k < N_KINDS; k++)
            if (c.self[k] || c.below[k].n)
                vec_push_in(r->arena, &levels.of[k],
                            (struct fieldset_entry){
                                .e = e, .below = c.below[k], .is_member = c.self[k]});
    }
    for (int k = 0; k < N_KINDS; k++)
        if (levels.of[k].len)
            out->below[k] =
                fieldset_union(r->arena, out->below[k], fieldset_of(r->arena, &levels.of[k]));
}

static void take_node(struct reader *r, struct change *out)
{
    while (r->at < r->end && *r->at != END) {
        int what = *r->at++;
        if (what == GROUP) {
            take_group(r, out);
            continue;
        }
        out->self[what] = true;
        if (what != MODIFIED)
            out->below[what] = fieldset_union(r->arena, out->below[what], take_tree(r));
    }
}

struct typed_changes typed_changes_of(struct arena *a, struct str difference)
{
    struct reader r = {a, difference.at, difference.at + difference.len};
    struct change c = {0};

    if (difference.len)
        take_node(&r, &c);
    return (struct typed_changes){c.below[REMOVED], c.below[MODIFIED], c.below[ADDED]};
}

int typed_compare(struct arena *a, const struct schema *s, const struct json *from,
                  const struct json *to, struct typed_changes *out, struct err *err)
{
    struct buf bytes = buf_in(a, BYTES_FIRST);

    if (typed_difference(a, s, from, to, &bytes, err) < 0)
        return -1;
    *out = typed_changes_of(a, buf_str(&bytes));
    return 0;
}
