/* typed_compare.c - which fields differ between two values */
#include "schema/typed_priv.h"

enum { REMOVED, MODIFIED, ADDED, N_KINDS };

/* What differs at one node, by kind: itself, and below it. */
struct change {
    bool self[N_KINDS];
    struct fieldset below[N_KINDS];
};

struct levels {
    fieldset_level of[N_KINDS];
};

static int compare(struct walk *w, const struct schema *s, const struct json *l,
                   const struct json *r, const struct typed_at *at, struct change *out);

static void note(struct walk *w, struct levels *levels, const struct element *e,
                 const struct change *c)
{
    for (int k = 0; k < N_KINDS; k++)
        if (c->self[k] || c->below[k].n)
            vec_push_in(w->arena, &levels->of[k],
                        (struct fieldset_entry){
                            .e = *e, .below = c->below[k], .is_member = c->self[k]});
}

static void note_self(struct walk *w, struct levels *levels, const struct element *e, int kind)
{
    struct change c = {0};

    c.self[kind] = true;
    note(w, levels, e, &c);
}

/* Later notes about one element may join earlier ones: where the two sides have different
 * forms, both are walked. */
static void finish(struct walk *w, struct levels *levels, struct change *out)
{
    for (int k = 0; k < N_KINDS; k++)
        if (levels->of[k].len)
            out->below[k] =
                fieldset_union(w->arena, out->below[k], fieldset_of(w->arena, &levels->of[k]));
}

/* ---- maps ---- */

static int compare_entry(struct walk *w, const struct schema *s, const struct json_member *m,
                         const struct json *l, const struct json *r, const struct typed_at *at,
                         struct levels *levels)
{
    struct element e = element_field(m->name);
    struct typed_at here = {at, &e};
    struct change c = {0};
    bool declared;
    const struct schema *type = typed_member(s, m, &declared);

    if (!type)
        return typed_fail(w, &here, "field not declared in schema");
    if (compare(w, type, l, r, &here, &c) < 0)
        return -1;
    note(w, levels, &e, &c);
    return 0;
}

/* As most members of two versions are. False says nothing of objects and lists. */
static bool is_same(const struct json *l, const struct json *r)
{
    return json_is_shared(l, r) ||
           (l->type != JSON_OBJECT && l->type != JSON_ARRAY && json_eq(l, r));
}

static int compare_maps(struct walk *w, const struct schema *s, const struct json *l,
                        const struct json *r, const struct typed_at *at, struct change *out)
{
    static const struct json empty = {.type = JSON_OBJECT};
    struct json_names in_l = {0}, in_r = {0};
    struct levels levels = {0};
    size_t i;

    l = l ? l : &empty, r = r ? r : &empty;
    json_each_member (m, l) {
        size_t hint = (size_t)(m - l->members); /* mostly both have one order */
        if (hint < r->len && str_eq(r->members[hint].name, m->name))
            i = hint;
        else
            i = json_names_find(w->arena, &in_r, r->members, r->len, m->name);
        if (i != STR_NONE && is_same(&m->value, &r->members[i].value))
            continue;
        if (compare_entry(w, s, m, &m->value, i == STR_NONE ? NULL : &r->members[i].value, at,
                          &levels) < 0)
            return -1;
    }
    json_each_member (m, r) {
        size_t hint = (size_t)(m - r->members);
        if (hint < l->len && str_eq(l->members[hint].name, m->name))
            continue;
        if (json_names_find(w->arena, &in_l, l->members, l->len, m->name) == STR_NONE &&
            compare_entry(w, s, m, NULL, &m->value, at, &levels) < 0)
            return -1;
    }
    finish(w, &levels, out);
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
static int compare_items(struct walk *w, const struct schema *s, const struct items *l,
                         size_t i, uint32_t n_l, const struct items *r, size_t j, uint32_t n_r,
                         const struct typed_at *at, struct levels *levels)
{
    const struct element *e = i != STR_NONE ? &l->e[i] : &r->e[j];
    const struct json *left = n_l == 1 ? &l->list->items[i] : NULL;
    const struct json *right = n_r == 1 ? &r->list->items[j] : NULL;
    struct typed_at here = {at, e};
    struct change c = {0};

    if (n_l > 1 && n_r > 1) {
        if (n_l != n_r || !same_items(l, r, e, n_l))
            note_self(w, levels, e, MODIFIED);
        return 0;
    }
    if ((left || right) && compare(w, typed_item(s), left, right, &here, &c) < 0)
        return -1;
    if (n_l > 1)
        c.self[REMOVED] = true;
    if (n_r > 1)
        c.self[ADDED] = true;
    note(w, levels, e, &c);
    return 0;
}

/* Have both the same elements at the same places, and none of them twice? So it mostly is. */
static bool is_in_step(const struct items *l, const struct items *r)
{
    if (l->n != r->n || l->order)
        return false;
    for (uint32_t i = 0; i < l->n; i++) {
        if (element_cmp(&l->e[i], &r->e[i]) != 0)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (element_cmp(&l->e[i], &l->e[j]) == 0)
                return false;
    }
    return true;
}

static int compare_in_step(struct walk *w, const struct schema *s, const struct items *l,
                           const struct items *r, const struct typed_at *at, struct change *out)
{
    struct levels levels = {0};

    for (uint32_t i = 0; i < l->n; i++)
        if (!is_same(&l->list->items[i], &r->list->items[i]) &&
            compare_items(w, s, l, i, 1, r, i, 1, at, &levels) < 0)
            return -1;
    finish(w, &levels, out);
    return 0;
}

static int compare_lists(struct walk *w, const struct schema *s, const struct json *l,
                         const struct json *r, const struct typed_at *at, struct change *out)
{
    struct items left, right;
    struct levels levels = {0};
    uint32_t n_l, n_r;

    if (typed_items(w, s, l, at, &left) < 0 || typed_items(w, s, r, at, &right) < 0)
        return -1;
    if (is_in_step(&left, &right))
        return compare_in_step(w, s, &left, &right, at, out);
    for (uint32_t i = 0; i < left.n; i++) {
        if (typed_items_find(&left, &left.e[i], &n_l) != i)
            continue;
        size_t j = typed_items_find(&right, &left.e[i], &n_r);
        if (compare_items(w, s, &left, i, n_l, &right, j, n_r, at, &levels) < 0)
            return -1;
    }
    for (uint32_t j = 0; j < right.n; j++) {
        if (typed_items_find(&right, &right.e[j], &n_r) != j ||
            typed_items_find(&left, &right.e[j], &n_l) != STR_NONE)
            continue;
        if (compare_items(w, s, &left, STR_NONE, 0, &right, j, n_r, at, &levels) < 0)
            return -1;
    }
    finish(w, &levels, out);
    return 0;
}

/* ---- nodes ---- */

static int compare_as(struct walk *w, const struct schema *s, enum form form,
                      const struct json *l, const struct json *r, const struct typed_at *at,
                      struct change *out)
{
    const struct json *lc = typed_contents(l, form), *rc = typed_contents(r, form);

    if (form == FORM_SCALAR && !typed_fits_scalar(s, l) && !typed_fits_scalar(s, r))
        return typed_fail(w, at, "a scalar was expected");
    if (typed_is_atomic(s, form) || (!lc && !rc)) {
        out->self[MODIFIED] |= !json_eq(l, r);
        return 0;
    }
    return form == FORM_LIST ? compare_lists(w, s, lc, rc, at, out)
                             : compare_maps(w, s, lc, rc, at, out);
}

static int compare(struct walk *w, const struct schema *s, const struct json *l,
                   const struct json *r, const struct typed_at *at, struct change *out)
{
    enum form form;

    if (json_is_shared(l, r))
        return 0;
    if (!l || !r) {
        int kind = l ? REMOVED : ADDED;
        out->self[kind] = true;
        return typed_all_below(w, s, l ? l : r, at, &out->below[kind]);
    }
    form = typed_form(s, r);
    if (typed_form(s, l) != form && compare_as(w, s, typed_form(s, l), l, r, at, out) < 0)
        return -1;
    return compare_as(w, s, form, l, r, at, out);
}

int typed_compare(struct arena *a, const struct schema *s, const struct json *from,
                  const struct json *to, struct typed_changes *out, struct err *err)
{
    struct walk w = {a, err};
    struct change c = {0};

    if ((from || to) && compare(&w, s, from, to, NULL, &c) < 0)
        return -1;
    *out = (struct typed_changes){c.below[REMOVED], c.below[MODIFIED], c.below[ADDED]};
    return 0;
}
