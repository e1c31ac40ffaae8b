/* fieldset.c - the algebra of sets of fields */
#include "schema/fieldset.h"

#define SORT_SHORT 24 /* levels up to this are sorted by insertion */

/* ---- order ---- */

static int value_rank(const struct json *v)
{
    static const uint8_t ranks[] = {
        [JSON_INT] = 0,   [JSON_DOUBLE] = 0, [JSON_STRING] = 1, [JSON_BOOL] = 2,
        [JSON_ARRAY] = 3, [JSON_OBJECT] = 4, [JSON_NULL] = 5,
    };

    return ranks[v->type];
}

int element_cmp_values(const struct json *a, const struct json *b)
{
    int order = value_rank(a) - value_rank(b);

    return order ? order : json_cmp(a, b);
}

/* Names mostly differ in their first byte. */
static inline int cmp_names(struct str a, struct str b)
{
    if (a.len && b.len && a.at[0] != b.at[0])
        return (unsigned char)a.at[0] < (unsigned char)b.at[0] ? -1 : 1;
    return str_cmp(a, b);
}

static int cmp_keys(const struct element *a, const struct element *b)
{
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        int order = cmp_names(a->keys[i].name, b->keys[i].name);
        if (!order)
            order = element_cmp_values(&a->keys[i].value, &b->keys[i].value);
        if (order)
            return order;
    }
    return (a->n > b->n) - (a->n < b->n);
}

int element_cmp(const struct element *a, const struct element *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    switch ((enum element_kind)a->kind) {
    case ELEMENT_FIELD:
        return cmp_names(a->name, b->name);
    case ELEMENT_KEY:
        return cmp_keys(a, b);
    case ELEMENT_VALUE:
        return element_cmp_values(&a->value, &b->value);
    default:
        return (a->index > b->index) - (a->index < b->index);
    }
}

static inline bool is_same_str(struct str a, struct str b)
{
    return a.len == b.len && bytes_eq(a.at, b.at, a.len);
}

static bool is_same_value(const struct json *a, const struct json *b)
{
    if (a->type == JSON_STRING && b->type == JSON_STRING)
        return is_same_str(json_str(a), json_str(b));
    return element_cmp_values(a, b) == 0;
}

bool element_eq(const struct element *a, const struct element *b)
{
    if (a->kind != b->kind)
        return false;
    switch ((enum element_kind)a->kind) {
    case ELEMENT_FIELD:
        return is_same_str(a->name, b->name);
    case ELEMENT_KEY:
        for (uint32_t i = 0; i < a->n && i < b->n; i++)
            if (!is_same_str(a->keys[i].name, b->keys[i].name) ||
                !is_same_value(&a->keys[i].value, &b->keys[i].value))
                return false;
        return a->n == b->n;
    case ELEMENT_VALUE:
        return is_same_value(&a->value, &b->value);
    default:
        return a->index == b->index;
    }
}

static int cmp_entries(const void *a, const void *b)
{
    const struct fieldset_entry *x = a, *y = b;

    return element_cmp(&x->e, &y->e);
}

const struct fieldset_entry *fieldset_find(struct fieldset s, const struct element *e)
{
    size_t from = 0, to = s.n;

    while (from < to) {
        size_t mid = (from + to) / 2;
        int order = element_cmp(e, &s.at[mid].e);
        if (order == 0)
            return &s.at[mid];
        if (order < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

static void sort_level(fieldset_level *level)
{
    size_t i = 1;

    while (i < level->len && element_cmp(&level->at[i - 1].e, &level->at[i].e) <= 0)
        i++; /* mostly it is sorted */
    if (i < level->len && level->len > SORT_SHORT) {
        sort_stable(level->at, level->len, sizeof(*level->at), cmp_entries);
        return;
    }
    for (; i < level->len; i++) {
        struct fieldset_entry x = level->at[i];
        size_t j = i;
        for (; j > 0 && element_cmp(&x.e, &level->at[j - 1].e) < 0; j--)
            level->at[j] = level->at[j - 1];
        level->at[j] = x;
    }
}

struct fieldset fieldset_of(struct arena *a, fieldset_level *level)
{
    size_t n = 0;

    (void)a;
    vec_each (i, level)
        if (level->at[i].is_member || level->at[i].below.n)
            level->at[n++] = level->at[i];
    level->len = n;
    sort_level(level);
    return (struct fieldset){level->at, n};
}

/* ---- algebra ---- */

/* What becomes of an element that is in both; of those in one only, by flags. */
struct op {
    bool keep_x, keep_y;
    struct fieldset_entry (*both)(struct arena *a, const struct fieldset_entry *x,
                                  const struct fieldset_entry *y);
};

static bool is_same_entry(const struct fieldset_entry *x, const struct fieldset_entry *y)
{
    return x->below.n == y->below.n && (x->below.n == 0 || x->below.at == y->below.at) &&
           x->is_member == y->is_member;
}

/* The very set x where nothing of it changes: then its text need not be written again. */
static struct fieldset combine(struct arena *a, struct fieldset x, struct fieldset y,
                               const struct op *op)
{
    struct fieldset_entry *out =
        arena_raw(a,
                  size_mul((op->keep_x ? x.n : 0) + (op->keep_y ? y.n : 0) +
                               (op->keep_x || op->keep_y ? 0 : MIN(x.n, y.n)),
                           sizeof(*out)),
                  _Alignof(struct fieldset_entry));
    size_t i = 0, j = 0, n = 0, n_same = 0;

    while (i < x.n || j < y.n) {
        int order = i == x.n ? 1 : j == y.n ? -1 : element_cmp(&x.at[i].e, &y.at[j].e);
        if (order < 0) {
            if (op->keep_x) {
                out[n++] = x.at[i];
                n_same++;
            }
            i++;
        } else if (order > 0) {
            if (op->keep_y)
                out[n++] = y.at[j];
            j++;
        } else {
            struct fieldset_entry e = op->both(a, &x.at[i], &y.at[j++]);
            n_same += is_same_entry(&e, &x.at[i++]);
            if (e.is_member || e.below.n)
                out[n++] = e;
        }
    }
    if (n == x.n && n_same == n)
        return x;
    return (struct fieldset){n ? out : NULL, n};
}

static struct fieldset_entry union_both(struct arena *a, const struct fieldset_entry *x,
                                        const struct fieldset_entry *y)
{
    return (struct fieldset_entry){.e = x->e,
                                   .below = fieldset_union(a, x->below, y->below),
                                   .is_member = x->is_member || y->is_member};
}

struct fieldset fieldset_union(struct arena *a, struct fieldset x, struct fieldset y)
{
    static const struct op op = {true, true, union_both};

    if (x.n == 0 || x.at == y.at)
        return y;
    return y.n == 0 ? x : combine(a, x, y, &op);
}

static struct fieldset_entry intersection_both(struct arena *a, const struct fieldset_entry *x,
                                               const struct fieldset_entry *y)
{
    return (struct fieldset_entry){.e = x->e,
                                   .below = fieldset_intersection(a, x->below, y->below),
                                   .is_member = x->is_member && y->is_member};
}

struct fieldset fieldset_intersection(struct arena *a, struct fieldset x, struct fieldset y)
{
    static const struct op op = {false, false, intersection_both};

    if (x.n == 0 || y.n == 0)
        return (struct fieldset){0};
    return x.at == y.at ? x : combine(a, x, y, &op);
}

static struct fieldset_entry difference_both(struct arena *a, const struct fieldset_entry *x,
                                             const struct fieldset_entry *y)
{
    return (struct fieldset_entry){.e = x->e,
                                   .below = fieldset_difference(a, x->below, y->below),
                                   .is_member = x->is_member && !y->is_member};
}

struct fieldset fieldset_difference(struct arena *a, struct fieldset x, struct fieldset y)
{
    static const struct op op = {true, false, difference_both};

    if (x.n == 0 || y.n == 0)
        return x;
    return x.at == y.at ? (struct fieldset){0} : combine(a, x, y, &op);
}

static struct fieldset_entry recursive_both(struct arena *a, const struct fieldset_entry *x,
                                            const struct fieldset_entry *y)
{
    if (y->is_member)
        return (struct fieldset_entry){0};
    return (struct fieldset_entry){.e = x->e,
                                   .below =
                                       fieldset_recursive_difference(a, x->below, y->below),
                                   .is_member = x->is_member};
}

struct fieldset fieldset_recursive_difference(struct arena *a, struct fieldset x,
                                              struct fieldset y)
{
    static const struct op op = {true, false, recursive_both};

    if (x.n == 0 || y.n == 0)
        return x;
    return combine(a, x, y, &op);
}

struct fieldset fieldset_leaves(struct arena *a, struct fieldset x)
{
    fieldset_level out = {0};

    for (size_t i = 0; i < x.n; i++)
        vec_push_in(a, &out,
                    (struct fieldset_entry){
                        .e = x.at[i].e,
                        .below = fieldset_leaves(a, x.at[i].below),
                        .is_member = x.at[i].is_member && x.at[i].below.n == 0,
                    });
    return fieldset_of(a, &out);
}

/* ---- questions ---- */

bool fieldset_eq(struct fieldset x, struct fieldset y)
{
    if (x.n != y.n)
        return false;
    for (size_t i = 0; i < x.n && x.at != y.at; i++)
        if (x.at[i].is_member != y.at[i].is_member || !element_eq(&x.at[i].e, &y.at[i].e) ||
            !fieldset_eq(x.at[i].below, y.at[i].below))
            return false;
    return true;
}

bool fieldset_within(struct fieldset x, struct fieldset y)
{
    size_t j = 0;

    for (size_t i = 0; i < x.n && x.at != y.at; i++) {
        while (j < y.n && element_cmp(&y.at[j].e, &x.at[i].e) < 0)
            j++;
        if (j == y.n || element_cmp(&y.at[j].e, &x.at[i].e) != 0 ||
            (x.at[i].is_member && !y.at[j].is_member) ||
            !fieldset_within(x.at[i].below, y.at[j].below))
            return false;
    }
    return true;
}

size_t fieldset_count(struct fieldset x)
{
    size_t n = 0;

    for (size_t i = 0; i < x.n; i++)
        n += x.at[i].is_member + fieldset_count(x.at[i].below);
    return n;
}

struct fieldset fieldset_with(struct arena *a, struct fieldset x, const struct element *path,
                              size_t n)
{
    struct fieldset_entry *e;

    for (; n > 0; n--) {
        struct fieldset one;
        e = arena_new(a, struct fieldset_entry);
        e->e = path[n - 1];
        e->is_member = true;
        one = (struct fieldset){e, 1};
        while (--n > 0) {
            e = arena_new(a, struct fieldset_entry);
            e->e = path[n - 1];
            e->below = one;
            one = (struct fieldset){e, 1};
        }
        return fieldset_union(a, x, one);
    }
    return x;
}

static int each(struct fieldset x, struct element *path, size_t depth, fieldset_fn *fn,
                void *ctx)
{
    int stop = 0;

    for (size_t i = 0; i < x.n && !stop; i++) {
        path[depth] = x.at[i].e;
        if (x.at[i].is_member)
            stop = fn(ctx, path, depth + 1);
        if (!stop && depth + 1 < JSON_MAX_DEPTH)
            stop = each(x.at[i].below, path, depth + 1, fn, ctx);
    }
    return stop;
}

int fieldset_each(struct fieldset x, fieldset_fn *fn, void *ctx)
{
    struct element path[JSON_MAX_DEPTH];

    return each(x, path, 0, fn, ctx);
}

/* ---- patterns ---- */

/* The pattern for an element: that of "*", else its own. NULL: none. */
static const struct json *pattern_of(struct arena *a, const struct json *patterns,
                                     const struct element *e, struct err *err)
{
    const struct json *any = json_getz(patterns, "*");
    struct element own;
    bool known;

    if (any)
        return any;
    json_each_member (m, patterns) {
        if (element_read(a, m->name, &own, &known, err) < 0)
            return NULL;
        if (known && element_cmp(&own, e) == 0)
            return &m->value;
    }
    return NULL;
}

int fieldset_include(struct arena *a, struct fieldset x, const struct json *patterns,
                     struct fieldset *out, struct err *err)
{
    fieldset_level level = {0};
    struct err bad = {0};

    if (json_len(patterns) == 0) {
        *out = x;
        return 0;
    }
    for (size_t i = 0; i < x.n; i++) {
        const struct json *p = pattern_of(a, patterns, &x.at[i].e, &bad);
        struct fieldset_entry e = x.at[i];
        if (bad.code)
            return err_set(err, bad.code, "%s", bad.text);
        if (!p)
            continue;
        if (fieldset_include(a, e.below, p, &e.below, err) < 0)
            return -1;
        vec_push_in(a, &level, e);
    }
    *out = fieldset_of(a, &level);
    return 0;
}
