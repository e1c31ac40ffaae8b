/* typed_merge.c - a config over a live value
 *
 * A node that stays as it is is the live node itself, so that comparing afterwards costs
 * nothing where nothing happened.
 */
#include "schema/typed_priv.h"

static int merge(struct walk *w, const struct schema *s, const struct json *l,
                 const struct json *r, const struct typed_at *at, struct json *out);

static bool is_same_node(const struct json *a, const struct json *b)
{
    return a->type == b->type && a->len == b->len && a->i == b->i;
}

/* ---- maps ---- */

static int merge_maps(struct walk *w, const struct schema *s, const struct json *l,
                      const struct json *r, const struct typed_at *at, struct json *out)
{
    struct json_names in_l = {0};
    struct json_obj o = obj_from(w->arena, l);
    bool is_changed = false, declared;

    json_each_member (m, r) {
        size_t hint = (size_t)(m - r->members), i;
        struct element e = element_field(m->name);
        struct typed_at here = {at, &e};
        const struct schema *type = typed_member(s, m, &declared);
        struct json merged;
        if (!type)
            return typed_fail(w, &here, "field not declared in schema");
        if (hint < l->len && str_eq(l->members[hint].name, m->name))
            i = hint;
        else
            i = json_names_find(w->arena, &in_l, l->members, l->len, m->name);
        if (merge(w, type, i == STR_NONE ? NULL : &l->members[i].value, &m->value, &here,
                  &merged) < 0)
            return -1;
        if (i == STR_NONE)
            obj_add(&o, m->name, merged);
        else if (is_same_node(&merged, &o.members.at[i].value))
            continue;
        else
            o.members.at[i].value = merged;
        is_changed = true;
    }
    *out = is_changed ? obj_done(&o) : *l;
    return 0;
}

/* ---- lists ---- */

struct list_merge {
    struct walk *w;
    const struct schema *s;
    const struct typed_at *at;
    struct items l, r;
    size_t *r_of_l; /* for each live item its place in the config, or STR_NONE */
    size_t *l_of_r; /* and the other way round: the first one */
    bool *twice;    /* for each item of the config: live holds it more than once */
    bool *done;     /* for each item of the config: it is in the result */
    size_t next;    /* the next item of the config that live has, too */
    struct json *out;
    uint32_t n;
    bool is_changed;
};

static int match(struct list_merge *m)
{
    struct arena *a = m->w->arena;
    uint32_t count;

    m->r_of_l = arena_raw(a, (m->l.n + m->r.n) * sizeof(size_t), _Alignof(size_t));
    m->l_of_r = m->r_of_l + m->l.n;
    m->twice = arena_alloc(a, 2 * (size_t)m->r.n, 1);
    m->done = m->twice + m->r.n;
    for (uint32_t i = 0; i < m->l.n; i++) {
        bool hint = i < m->r.n && element_cmp(&m->l.e[i], &m->r.e[i]) == 0;
        m->r_of_l[i] = hint ? i : typed_items_find(&m->r, &m->l.e[i], &count);
    }
    for (uint32_t j = 0; j < m->r.n; j++) {
        struct typed_at here = {m->at, &m->r.e[j]};
        if (typed_items_find(&m->r, &m->r.e[j], &count) != j || count > 1)
            return typed_fail(m->w, &here, "duplicate entries for key");
        m->l_of_r[j] = typed_items_find(&m->l, &m->r.e[j], &count);
        m->twice[j] = count > 1;
    }
    return 0;
}

static void find_next(struct list_merge *m, size_t from)
{
    for (m->next = from; m->next < m->r.n && m->l_of_r[m->next] == STR_NONE;)
        m->next++;
}

static void emit(struct list_merge *m, struct json v)
{
    if (m->n >= m->l.n || !is_same_node(&v, &m->l.list->items[m->n]))
        m->is_changed = true;
    m->out[m->n++] = v;
}

static int emit_merged(struct list_merge *m, size_t j)
{
    static const struct json null = {.type = JSON_NULL};
    struct typed_at here = {m->at, &m->r.e[j]};
    const struct json *l = m->l_of_r[j] == STR_NONE ? NULL
                           : m->twice[j]            ? &null
                                                    : &m->l.list->items[m->l_of_r[j]];
    struct json v;

    if (merge(m->w, typed_item(m->s), l, &m->r.list->items[j], &here, &v) < 0)
        return -1;
    emit(m, v);
    m->done[j] = true;
    if (m->next == j)
        find_next(m, j + 1);
    return 0;
}

/* Live items keep their places; items of both go by the config's order, and what the config
 * adds stands behind what it follows there. */
static int merge_items(struct list_merge *m)
{
    size_t i = 0, j = 0;

    find_next(m, 0);
    while (i < m->l.n || j < m->r.n) {
        size_t in_r = i < m->l.n ? m->r_of_l[i] : STR_NONE;
        if (i < m->l.n && j < m->r.n) {
            if (in_r == j) {
                if (emit_merged(m, j) < 0)
                    return -1;
                i++, j++;
                continue;
            }
            if (in_r != STR_NONE && m->next < m->r.n && m->next != in_r) {
                i++; /* it comes later, where the config has it */
                continue;
            }
        }
        if (i < m->l.n && in_r == STR_NONE) {
            emit(m, m->l.list->items[i++]);
            continue;
        }
        if (i < m->l.n && m->done[in_r])
            i++;
        if (j < m->r.n && emit_merged(m, j++) < 0)
            return -1;
    }
    return 0;
}

static int merge_lists(struct walk *w, const struct schema *s, const struct json *l,
                       const struct json *r, const struct typed_at *at, struct json *out)
{
    struct list_merge m = {.w = w, .s = s, .at = at};

    if (typed_items(w, s, l, at, &m.l) < 0 || typed_items(w, s, r, at, &m.r) < 0 ||
        match(&m) < 0)
        return -1;
    m.out = arena_raw(w->arena, size_mul((size_t)m.l.n + m.r.n, sizeof(*m.out)),
                      _Alignof(struct json));
    if (merge_items(&m) < 0)
        return -1;
    if (m.is_changed || m.n != l->len)
        *out = (struct json){.type = JSON_ARRAY, .len = m.n, .items = m.out};
    else
        *out = *l;
    return 0;
}

/* ---- nodes ---- */

/* Does a config's list hold an item twice, anywhere in a value that live lacks? */
static int check_new(struct walk *w, const struct schema *s, const struct json *r,
                     const struct typed_at *at)
{
    enum form form = typed_form(s, r);
    const struct json *contents = typed_contents(r, form);
    struct items items;
    bool declared;
    uint32_t count;

    if (!contents || typed_is_atomic(s, form))
        return 0;
    if (form == FORM_MAP) {
        json_each_member (m, r) {
            struct element e = element_field(m->name);
            struct typed_at here = {at, &e};
            const struct schema *type = typed_member(s, m, &declared);
            if (!type)
                return typed_fail(w, &here, "field not declared in schema");
            if (check_new(w, type, &m->value, &here) < 0)
                return -1;
        }
        return 0;
    }
    if (typed_items(w, s, r, at, &items) < 0)
        return -1;
    for (uint32_t i = 0; i < items.n; i++) {
        struct typed_at here = {at, &items.e[i]};
        if (typed_items_find(&items, &items.e[i], &count) != i || count > 1)
            return typed_fail(w, &here, "duplicate entries for key");
        if (check_new(w, typed_item(s), &r->items[i], &here) < 0)
            return -1;
    }
    return 0;
}

static int merge(struct walk *w, const struct schema *s, const struct json *l,
                 const struct json *r, const struct typed_at *at, struct json *out)
{
    enum form form = typed_form(s, r);
    const struct json *lc = NULL, *rc = typed_contents(r, form);

    if (l && typed_form(s, l) == form)
        lc = typed_contents(l, form);
    if (typed_is_atomic(s, form) || (!lc && !rc)) {
        *out = l && json_eq(l, r) ? *l : *r;
        return 0;
    }
    if (!rc) { /* nothing to say about what live has */
        *out = *l;
        return 0;
    }
    if (!lc) {
        *out = *r;
        return check_new(w, s, r, at);
    }
    return form == FORM_LIST ? merge_lists(w, s, lc, rc, at, out)
                             : merge_maps(w, s, lc, rc, at, out);
}

const struct json *typed_merge(struct arena *a, const struct schema *s, const struct json *live,
                               const struct json *config, struct err *err)
{
    struct walk w = {a, err};
    struct json out;

    if (!live)
        return check_new(&w, s, config, NULL) < 0 ? NULL : config;
    if (merge(&w, s, live, config, NULL, &out) < 0)
        return NULL;
    return is_same_node(&out, live) ? live : json_new(a, out);
}
