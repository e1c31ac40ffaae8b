/* managers.c - how ownership of fields moves with each write */
#include "schema/managers.h"

#define VERSIONS_MAX 16 /* in which managers of one object may own fields */

/* An object at a version. */
struct versioned {
    const struct json *v;
    struct str version;
};

/* One write under way. The list of managers is a copy until it has succeeded. */
struct work {
    struct arena *a;
    const struct managers_write *w;
    struct managers managers;
    struct conflicts *conflicts;
    struct err *err;
};

struct manager *managers_find(struct managers *m, struct str id)
{
    vec_each (i, &m->list)
        if (str_eq(m->list.at[i].id, id))
            return &m->list.at[i];
    return NULL;
}

static struct managers copy_of(struct arena *a, const struct managers *m)
{
    struct managers out = {0};

    vec_each (i, &m->list)
        vec_push_in(a, &out.list, m->list.at[i]);
    return out;
}

static const struct schema *schema_at(const struct work *w, struct str version)
{
    return w->w->versions->schema(w->w->versions->ctx, version);
}

static struct fieldset ignored_at(const struct work *w, struct str version)
{
    const struct versions *v = w->w->versions;

    return v->ignored ? v->ignored(v->ctx, version) : (struct fieldset){0};
}

/* 1: *out is v at the version; 0: the version is not known; -1. */
static int convert(struct work *w, struct versioned v, struct str version,
                   struct versioned *out)
{
    *out = (struct versioned){v.v, version};
    if (!schema_at(w, version))
        return 0;
    if (!str_eq(v.version, version))
        out->v =
            w->w->versions->convert(w->w->versions->ctx, w->a, v.v, v.version, version, w->err);
    return out->v ? 1 : -1;
}

static void drop_manager(struct managers *m, size_t i)
{
    vec_remove(&m->list, i);
}

/* Sets that were recorded under an older schema are made to fit; those of forgotten versions
 * go. */
static void reconcile(struct work *w)
{
    for (size_t i = 0; i < w->managers.list.len;) {
        struct manager *m = &w->managers.list.at[i];
        if (m->is_apart) {
            i++;
            continue;
        }
        const struct schema *s = schema_at(w, m->version);
        if (!s) {
            drop_manager(&w->managers, i);
            continue;
        }
        typed_reconcile(w->a, s, m->set, &m->set);
        i++;
    }
}

/* ---- what a write changes, in each version ---- */

struct change {
    struct str version;
    struct typed_changes at;
    struct fieldset touched; /* modified and added */
};

struct changes {
    struct change of[VERSIONS_MAX];
    size_t n;
};

static struct typed_changes tracked(struct work *w, struct str version, struct typed_changes c)
{
    struct fieldset ignored = ignored_at(w, version);

    return (struct typed_changes){fieldset_recursive_difference(w->a, c.removed, ignored),
                                  fieldset_recursive_difference(w->a, c.modified, ignored),
                                  fieldset_recursive_difference(w->a, c.added, ignored)};
}

static int compare_at(struct work *w, struct versioned from, struct versioned to,
                      struct change *out)
{
    struct typed_changes *c = &out->at;

    if (w->w->changed && str_eq(from.version, w->w->version)) {
        *c = *w->w->changed;
    } else {
        if (typed_compare(w->a, schema_at(w, from.version), from.v, to.v, c, w->err) < 0)
            return -1;
        *c = tracked(w, from.version, *c);
    }
    out->version = from.version;
    out->touched = fieldset_union(w->a, c->modified, c->added);
    return 0;
}

struct typed_changes managers_changes(struct arena *a, const struct managers_write *write,
                                      struct str difference)
{
    struct work w = {.a = a, .w = write};

    return tracked(&w, write->version, typed_changes_of(a, difference));
}

/* 1: *out; 0: the version is not known; -1. */
static int change_at(struct work *w, struct changes *all, struct versioned from,
                     struct versioned to, struct str version, struct change **out)
{
    struct versioned x, y;
    int known;

    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->of[i].version, version)) {
            *out = &all->of[i];
            return 1;
        }
    if ((known = convert(w, from, version, &x)) <= 0 ||
        (known = convert(w, to, version, &y)) <= 0)
        return known;
    if (all->n == VERSIONS_MAX)
        return err_set(w->err, ERR_LIMIT, "fields are owned in more than %d versions",
                       VERSIONS_MAX);
    *out = &all->of[all->n];
    if (compare_at(w, x, y, *out) < 0)
        return -1;
    all->n++;
    return 1;
}

/* Takes from every manager but the writer what the write changes or removes; *own is what it
 * changes at its version. */
static int settle(struct work *w, const struct json *next, bool force,
                  struct typed_changes *own)
{
    struct versioned from = {w->w->live, w->w->version}, to = {next, w->w->version};
    struct managers left = {0};
    struct changes all = {0};
    struct change *c;

    if (change_at(w, &all, from, to, w->w->version, &c) <= 0)
        return -1;
    vec_each (i, &w->managers.list) {
        struct manager m = w->managers.list.at[i];
        if (!str_eq(m.id, w->w->id) && !m.is_apart) {
            int known = change_at(w, &all, from, to, m.version, &c);
            if (known < 0)
                return -1;
            if (known == 0)
                continue;
            struct fieldset taken = fieldset_intersection(w->a, m.set, c->touched);
            if (taken.n && !force && w->conflicts)
                vec_push_in(w->a, &w->conflicts->list, (struct conflict){m.id, taken});
            m.set = fieldset_difference(w->a, m.set, taken);
            m.set = fieldset_difference(w->a, m.set, c->at.removed);
        }
        if (m.set.n || m.is_apart)
            vec_push_in(w->a, &left.list, m);
    }
    if (!force && w->conflicts && w->conflicts->list.len)
        return err_set(w->err, ERR_CONFLICT, "fields are owned by another manager");
    w->managers = left;
    *own = all.of[0].at;
    return 0;
}

/* ---- writes that are no apply ---- */

int managers_update(struct arena *a, const struct managers_write *write,
                    const struct json *next, struct managers *managers, struct err *err)
{
    struct work w = {a, write, copy_of(a, managers), NULL, err};
    struct typed_changes own;
    struct manager *m;
    struct fieldset set;

    if (!write->fits)
        reconcile(&w);
    if (settle(&w, next, true, &own) < 0)
        return -1;
    m = managers_find(&w.managers, write->id);
    set = m ? m->set : (struct fieldset){0};
    set = fieldset_difference(a, set, own.removed);
    set = fieldset_union(a, set, own.modified);
    set = fieldset_union(a, set, own.added);
    if (!m && set.n) {
        vec_push_in(a, &w.managers.list, (struct manager){.id = write->id});
        m = &vec_last(&w.managers.list);
    }
    if (m && set.n)
        *m = (struct manager){
            .id = write->id, .version = write->version, .tag = m->tag, .set = set};
    else if (m)
        drop_manager(&w.managers, (size_t)(m - w.managers.list.at));
    *managers = w.managers;
    return 0;
}

/* ---- apply: what nobody wants any more ---- */

static int set_of(struct work *w, struct versioned v, struct fieldset *out)
{
    const struct schema *s = schema_at(w, v.version);
    struct fieldset set;

    if (typed_set(w->a, s, v.v, &set, w->err) < 0)
        return -1;
    *out = typed_named(w->a, s, set);
    return 0;
}

/* All that managers [from, to) own at a version. By halves, so that no set is copied more than
 * log n times. */
static struct fieldset owned_at(struct work *w, struct str version, size_t from, size_t to)
{
    size_t mid = from + (to - from) / 2;

    if (to - from > 1)
        return fieldset_union(w->a, owned_at(w, version, from, mid),
                              owned_at(w, version, mid, to));
    if (to == from || !str_eq(w->managers.list.at[from].version, version))
        return (struct fieldset){0};
    return w->managers.list.at[from].set;
}

/* Puts back into *pruned what is owned at a version; both come out at that version. */
static int add_back_at(struct work *w, struct versioned *merged, struct versioned *pruned,
                       struct str version)
{
    const struct schema *s = schema_at(w, version);
    struct fieldset owned, in_merged, in_pruned, keep;
    struct versioned m, p;
    int known;

    owned = owned_at(w, version, 0, w->managers.list.len);
    if ((known = convert(w, *merged, version, &m)) <= 0 ||
        (known = convert(w, *pruned, version, &p)) <= 0)
        return known;
    if (set_of(w, m, &in_merged) < 0 || set_of(w, p, &in_pruned) < 0)
        return -1;
    keep = fieldset_union(w->a, in_pruned, typed_named(w->a, s, owned));
    *merged = m;
    *pruned = (struct versioned){
        typed_remove(w->a, s, m.v, fieldset_difference(w->a, in_merged, keep)), version};
    return 0;
}

static bool is_first_of_version(const struct managers *m, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (str_eq(m->list.at[j].version, m->list.at[i].version))
            return false;
    return true;
}

static int add_back_owned(struct work *w, struct versioned merged, struct versioned *pruned,
                          struct str first)
{
    bool is_owned = false;

    vec_each (i, &w->managers.list)
        is_owned |= str_eq(w->managers.list.at[i].version, first);
    if (is_owned && add_back_at(w, &merged, pruned, first) < 0)
        return -1;
    vec_each (i, &w->managers.list) {
        struct str version = w->managers.list.at[i].version;
        if (!str_eq(version, first) && is_first_of_version(&w->managers, i) &&
            add_back_at(w, &merged, pruned, version) < 0)
            return -1;
    }
    return 0;
}

static bool are_all_at(const struct managers *m, struct str version)
{
    vec_each (i, &m->list)
        if (!str_eq(m->list.at[i].version, version))
            return false;
    return true;
}

/* Does the set hold, with each member, all that this member lies in? */
static bool is_closed(struct fieldset set)
{
    for (size_t i = 0; i < set.n; i++)
        if (set.at[i].below.n && (!set.at[i].is_member || !is_closed(set.at[i].below)))
            return false;
    return true;
}

/* prune() where all sets are at the version of the write and `named`, the last one, is closed:
 * what goes is what of it stands there and is in no other set. Nothing that somebody owns can
 * then go with something that is nobody's, which is what the long way is about. */
static int prune_plainly(struct work *w, struct fieldset named, struct versioned *merged)
{
    const struct schema *s = schema_at(w, merged->version);
    struct fieldset there;

    vec_each (i, &w->managers.list)
        if (named.n)
            named = fieldset_difference(w->a, named,
                                        typed_named(w->a, s, w->managers.list.at[i].set));
    if (named.n == 0)
        return 0;
    if (typed_held(w->a, s, merged->v, named, &there, w->err) < 0)
        return -1;
    merged->v = typed_remove(w->a, s, merged->v, there);
    return 0;
}

/* Takes out of *merged what the manager's last apply owned and nobody owns now. */
static int prune(struct work *w, const struct manager *last, struct versioned *merged)
{
    const struct schema *s = schema_at(w, last->version);
    struct fieldset named = typed_named(w->a, s, last->set), in_merged, in_pruned;
    struct versioned at_last, pruned, out;
    int known;

    if (str_eq(last->version, merged->version) && is_closed(named) &&
        are_all_at(&w->managers, merged->version))
        return prune_plainly(w, named, merged);
    known = convert(w, *merged, last->version, &at_last);
    if (known <= 0)
        return known;
    pruned = (struct versioned){typed_remove(w->a, s, at_last.v, named), last->version};
    if (add_back_owned(w, at_last, &pruned, last->version) < 0 ||
        (known = convert(w, pruned, last->version, &out)) <= 0)
        return known;
    if (set_of(w, at_last, &in_merged) < 0 || set_of(w, out, &in_pruned) < 0)
        return -1;
    in_merged = fieldset_difference(w->a, in_merged, in_pruned);
    in_merged = fieldset_intersection(w->a, in_merged, named);
    pruned.v = typed_remove(w->a, s, at_last.v, in_merged);
    pruned.version = last->version;
    known = convert(w, pruned, merged->version, &out);
    if (known > 0)
        *merged = out;
    return known < 0 ? -1 : 0;
}

/* Nothing can go where the last set lies within the new one, both at one version, and it was
 * there that every manager owns its fields. */
static bool nothing_dropped(const struct work *w, const struct manager *last,
                            const struct fieldset *set)
{
    return str_eq(last->version, w->w->version) && fieldset_within(last->set, *set);
}

/* Is a member of x one of y, or does it hold one? */
static bool meets(struct fieldset x, struct fieldset y)
{
    for (size_t i = 0, j = 0; i < x.n && j < y.n;) {
        int order = x.at == y.at ? 0 : element_cmp(&x.at[i].e, &y.at[j].e);
        if (order == 0 && ((x.at[i].is_member && (y.at[j].is_member || y.at[j].below.n)) ||
                           meets(x.at[i].below, y.at[j].below)))
            return true;
        i += order <= 0;
        j += order >= 0;
    }
    return false;
}

/* What an apply that drops nothing changes or adds is what it owns and what that lies in. Where
 * no other manager has any of that, nobody loses anything. */
static bool meets_others(const struct work *w, struct fieldset set)
{
    vec_each (i, &w->managers.list) {
        const struct manager *m = &w->managers.list.at[i];
        if (!str_eq(m->id, w->w->id) &&
            (!str_eq(m->version, w->w->version) || meets(m->set, set)))
            return true;
    }
    return false;
}

static int applied_by(struct work *w, const struct json *config, struct fieldset *out)
{
    *out = w->w->applied;
    if (out->n)
        return 0;
    if (typed_set(w->a, schema_at(w, w->w->version), config, out, w->err) < 0)
        return -1;
    *out = fieldset_recursive_difference(w->a, *out, ignored_at(w, w->w->version));
    return 0;
}

const struct json *managers_apply(struct arena *a, const struct managers_write *write,
                                  const struct json *config, struct managers *managers,
                                  struct conflicts *conflicts, struct err *err)
{
    struct work w = {a, write, copy_of(a, managers), conflicts, err};
    const struct schema *s = schema_at(&w, write->version);
    struct versioned next = {.version = write->version};
    struct manager last = {0}, *m;
    struct typed_changes own;
    struct fieldset set;

    if (!write->fits)
        reconcile(&w);
    next.v = typed_merge(a, s, write->live, config, err);
    if (!next.v || applied_by(&w, config, &set) < 0)
        return NULL;
    m = managers_find(&w.managers, write->id);
    if (m) {
        last = *m;
    } else {
        vec_push_in(a, &w.managers.list, (struct manager){0});
        m = &vec_last(&w.managers.list);
    }
    *m = (struct manager){.id = write->id,
                          .version = write->version,
                          .is_apply = true,
                          .tag = last.tag,
                          .set = set};
    bool drops = last.set.n && !nothing_dropped(&w, &last, &set);
    if (drops && prune(&w, &last, &next) < 0)
        return NULL;
    if ((drops || !set.n || meets_others(&w, set)) &&
        settle(&w, next.v, write->force, &own) < 0)
        return NULL;
    *managers = w.managers;
    return json_eq(next.v, write->live) ? write->live : next.v;
}
