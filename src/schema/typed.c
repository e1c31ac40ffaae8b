/* typed.c - forms, path elements, validation, and the set of a value's fields */
#include "schema/typed_priv.h"

#define KEYS_MAX 8      /* of one list */
#define ITEMS_LINEAR 16 /* lists past this find their items by a sorted index */
#define ERROR_PATH_MAX 64

const struct schema typed_atomic = {
    .type = SCHEMA_ANY, .list_type = LIST_ATOMIC, .map_type = MAP_ATOMIC};
const struct schema typed_deduced = {
    .type = SCHEMA_ANY, .list_type = LIST_ATOMIC, .map_type = MAP_GRANULAR};

/* ---- forms ---- */

const struct schema *typed_item(const struct schema *s)
{
    if (s->item)
        return s->item;
    return typed_is_any(s) && s->list_type == LIST_SET ? s : &typed_atomic;
}

/* What stands under a name that is no field's. */
static const struct schema *other_member(const struct schema *s)
{
    if (s->value)
        return s->value;
    if (typed_is_any(s))
        return s;
    return s->preserve_unknown || s->embedded || s->additional == ADDITIONAL_TRUE
               ? &typed_deduced
               : NULL;
}

const struct schema *typed_member(const struct schema *s, const struct json_member *m,
                                  bool *declared)
{
    const struct schema_field *f = s->n_fields ? schema_field_of(s, m) : NULL;

    *declared = f != NULL;
    return f ? f->type : other_member(s);
}

const struct schema *typed_named_member(const struct schema *s, struct str name, bool *declared)
{
    const struct schema_field *f = s->n_fields ? schema_field(s, name) : NULL;

    *declared = f != NULL;
    return f ? f->type : other_member(s);
}

bool typed_fits_scalar(const struct schema *s, const struct json *v)
{
    if (v->type == JSON_NULL)
        return true;
    if (v->type == JSON_OBJECT || v->type == JSON_ARRAY)
        return false;
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        return v->type == JSON_BOOL;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
        return v->type == JSON_INT || v->type == JSON_DOUBLE;
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
        return v->type == JSON_STRING;
    default:
        return s->type != SCHEMA_LIST && !typed_is_map(s);
    }
}

int typed_fail(struct walk *w, const struct typed_at *at, const char *format, ...)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct element path[ERROR_PATH_MAX];
    char text[ERR_TEXT_MAX];
    size_t n = ERROR_PATH_MAX;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (; at && at->e && n > 0; at = at->up)
        path[--n] = *at->e;
    struct str where = element_path(&a, path + n, ERROR_PATH_MAX - n);
    return err_set(w->err, ERR_INVALID, "%.*s%s%s", STR_ARG(where), where.len ? ": " : "",
                   text);
}

/* ---- items of lists ---- */

static const char *const type_names[] = {
    [JSON_NULL] = "null",     [JSON_BOOL] = "boolean",  [JSON_INT] = "number",
    [JSON_DOUBLE] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "list",
    [JSON_OBJECT] = "map",
};

static int key_element(struct walk *w, const struct schema *s, const struct json *item,
                       const struct typed_at *at, struct element *out)
{
    const struct schema *type = typed_item(s);
    struct json_member *keys;
    uint32_t n = 0;

    if (item->type != JSON_OBJECT)
        return typed_fail(w, at, "associative list with keys may not contain a %s",
                          type_names[item->type]);
    if (s->n_keys > KEYS_MAX)
        return typed_fail(w, at, "a list may have %d keys at most", KEYS_MAX);
    keys = arena_raw(w->arena, s->n_keys * sizeof(*keys), _Alignof(struct json_member));
    for (uint32_t i = 0; i < s->n_keys; i++) {
        const struct json *v = json_get(item, s->keys[i]);
        if (!v) {
            const struct schema_field *f =
                type->n_fields ? schema_field(type, s->keys[i]) : NULL;
            v = f && f->type ? f->type->def : NULL;
        }
        if (!v)
            continue;
        uint32_t j = n++;
        for (; j > 0 && str_cmp(s->keys[i], keys[j - 1].name) < 0; j--)
            keys[j] = keys[j - 1];
        keys[j] = (struct json_member){s->keys[i], *v};
    }
    if (n == 0)
        return typed_fail(w, at,
                          "associative list with keys has an element that omits all key fields "
                          "(and doesn't have default values for any key fields)");
    *out = (struct element){.kind = ELEMENT_KEY, .n = n, .keys = keys};
    return 0;
}

static int item_element(struct walk *w, const struct schema *s, const struct json *item,
                        const struct typed_at *at, struct element *out)
{
    if (s->list_type == LIST_MAP)
        return key_element(w, s, item, at, out);
    if (item->type == JSON_NULL || item->type == JSON_OBJECT || item->type == JSON_ARRAY)
        return typed_fail(w, at, "a set may not contain a %s", type_names[item->type]);
    *out = (struct element){.kind = ELEMENT_VALUE, .value = *item};
    return 0;
}

struct ordered {
    const struct element *e;
    uint32_t i;
};

static int cmp_ordered(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    return element_cmp(x->e, y->e);
}

int typed_items(struct walk *w, const struct schema *s, const struct json *v,
                const struct typed_at *at, struct items *out)
{
    *out = (struct items){.list = v, .n = json_is(v, JSON_ARRAY) ? v->len : 0};
    if (out->n == 0)
        return 0;
    out->e = arena_raw(w->arena, size_mul(out->n, sizeof(*out->e)), _Alignof(struct element));
    for (uint32_t i = 0; i < out->n; i++)
        if (item_element(w, s, &v->items[i], at, &out->e[i]) < 0)
            return -1;
    if (out->n <= ITEMS_LINEAR)
        return 0;
    scoped(free_ptr) struct ordered *sorted = mem_alloc(size_mul(out->n, sizeof(*sorted)));
    for (uint32_t i = 0; i < out->n; i++)
        sorted[i] = (struct ordered){&out->e[i], i};
    sort_stable(sorted, out->n, sizeof(*sorted), cmp_ordered);
    out->order = arena_raw(w->arena, out->n * sizeof(uint32_t), _Alignof(uint32_t));
    for (uint32_t i = 0; i < out->n; i++)
        out->order[i] = sorted[i].i;
    return 0;
}

/* The first place in the order whose element is not below e, or, with `past`, is above it. */
static uint32_t place_of(const struct items *x, const struct element *e, bool past)
{
    uint32_t from = 0, to = x->n;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (element_cmp(&x->e[x->order[mid]], e) < past)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

size_t typed_items_find(const struct items *x, const struct element *e, uint32_t *count)
{
    size_t first = STR_NONE;

    *count = 0;
    if (x->order) {
        uint32_t from = place_of(x, e, false);
        if (from == x->n || !element_eq(&x->e[x->order[from]], e))
            return STR_NONE;
        *count = place_of(x, e, true) - from;
        return x->order[from]; /* the sort is stable */
    }
    for (uint32_t i = 0; i < x->n; i++)
        if (element_eq(&x->e[i], e) && (*count)++ == 0)
            first = i;
    return first;
}

size_t typed_items_next(const struct items *x, const struct element *e, size_t k)
{
    if (x->order)
        return x->order[place_of(x, e, false) + k];
    for (uint32_t i = 0; i < x->n; i++)
        if (element_eq(&x->e[i], e) && k-- == 0)
            return i;
    return STR_NONE;
}

/* ---- validation ---- */

struct check {
    struct walk w;
    bool duplicates;
};

static int validate(struct check *c, const struct schema *s, const struct json *v,
                    const struct typed_at *up);

static int validate_list(struct check *c, const struct schema *s, const struct json *v,
                         const struct typed_at *at)
{
    bool granular = !typed_is_atomic(s, FORM_LIST);
    struct arena_mark mark = arena_mark(c->w.arena);
    struct items items = {0};
    uint32_t count;

    if (granular && typed_items(&c->w, s, v, at, &items) < 0)
        return -1;
    for (uint32_t i = 0; i < v->len; i++) {
        struct element index = {.kind = ELEMENT_INDEX, .index = i};
        struct typed_at here = {at, granular ? &items.e[i] : &index};
        if (granular && !c->duplicates) {
            typed_items_find(&items, &items.e[i], &count);
            if (count > 1)
                return typed_fail(&c->w, &here, "duplicate entries for key");
        }
        if (validate(c, typed_item(s), &v->items[i], &here) < 0)
            return -1;
    }
    arena_rewind(c->w.arena, mark);
    return 0;
}

static int validate_map(struct check *c, const struct schema *s, const struct json *v,
                        const struct typed_at *at)
{
    bool declared;

    json_each_member (m, v) {
        struct element e = element_field(m->name);
        struct typed_at here = {at, &e};
        const struct schema *type = typed_member(s, m, &declared);
        if (!type)
            return typed_fail(&c->w, &here, "field not declared in schema");
        if (validate(c, type, &m->value, &here) < 0)
            return -1;
    }
    return 0;
}

static int validate(struct check *c, const struct schema *s, const struct json *v,
                    const struct typed_at *at)
{
    static const char *const wanted[] = {"scalar", "list", "map"};
    enum form form = typed_form(s, v);

    if (v->type == JSON_NULL)
        return 0;
    if (form == FORM_SCALAR) {
        if (typed_fits_scalar(s, v))
            return 0;
        return typed_fail(&c->w, at, "expected %s, got %s",
                          s->type == SCHEMA_BOOL                                ? "boolean"
                          : s->type == SCHEMA_STRING || s->type == SCHEMA_BYTES ? "string"
                          : s->type <= SCHEMA_DOUBLE && s->type >= SCHEMA_INT32 ? "number"
                                                                                : "scalar",
                          type_names[v->type]);
    }
    if (v->type != (form == FORM_LIST ? JSON_ARRAY : JSON_OBJECT))
        return typed_fail(&c->w, at, "expected %s, got %s", wanted[form], type_names[v->type]);
    return form == FORM_LIST ? validate_list(c, s, v, at) : validate_map(c, s, v, at);
}

int typed_validate(const struct schema *s, const struct json *v, bool duplicates,
                   struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct check c = {
        {&a, err},
        duplicates
    };

    return validate(&c, s, v, NULL);
}

/* ---- sets ---- */

static int set_below(struct walk *w, const struct schema *s, const struct json *v,
                     const struct typed_at *at, struct fieldset_entry *out);

static int set_of_list(struct walk *w, const struct schema *s, const struct json *v,
                       const struct typed_at *at, struct fieldset *out)
{
    fieldset_level level = {0};
    struct items items;
    uint32_t count;

    if (typed_items(w, s, v, at, &items) < 0)
        return -1;
    level.at =
        arena_raw(w->arena, items.n * sizeof(*level.at), _Alignof(struct fieldset_entry));
    for (uint32_t i = 0; i < items.n; i++) {
        struct fieldset_entry e = {.e = items.e[i]};
        struct typed_at here = {at, &items.e[i]};
        if (typed_items_find(&items, &items.e[i], &count) != i)
            continue;
        if (count == 1 && set_below(w, typed_item(s), &v->items[i], &here, &e) < 0)
            return -1;
        e.is_member = true;
        level.at[level.len++] = e;
    }
    *out = fieldset_of(w->arena, &level);
    return 0;
}

static int set_of_map(struct walk *w, const struct schema *s, const struct json *v,
                      const struct typed_at *at, struct fieldset *out)
{
    fieldset_level level = {0};
    bool declared;

    level.at = arena_raw(w->arena, v->len * sizeof(*level.at), _Alignof(struct fieldset_entry));
    json_each_member (m, v) {
        struct fieldset_entry e = {.e = element_field(m->name)};
        struct typed_at here = {at, &e.e};
        const struct schema *type = typed_member(s, m, &declared);
        if (!type)
            return typed_fail(w, &here, "field not declared in schema");
        if (set_below(w, type, &m->value, &here, &e) < 0)
            return -1;
        e.is_member |= !declared || typed_is_empty_map(&m->value);
        level.at[level.len++] = e;
    }
    *out = fieldset_of(w->arena, &level);
    return 0;
}

/* A leaf is a member; else out->below. */
static int set_below(struct walk *w, const struct schema *s, const struct json *v,
                     const struct typed_at *at, struct fieldset_entry *out)
{
    enum form form = typed_form(s, v);

    if (typed_is_atomic(s, form)) {
        out->is_member = true;
        return 0;
    }
    if (!typed_contents(v, form))
        return 0;
    return form == FORM_LIST ? set_of_list(w, s, v, at, &out->below)
                             : set_of_map(w, s, v, at, &out->below);
}

int typed_set(struct arena *a, const struct schema *s, const struct json *v,
              struct fieldset *out, struct err *err)
{
    struct walk w = {a, err};
    struct fieldset_entry root = {0};

    if (set_below(&w, s, v, NULL, &root) < 0)
        return -1;
    *out = root.below;
    return 0;
}

/* ---- without a schema ---- */

static struct element guess_item(struct arena *a, const struct json *item, size_t index)
{
    static const struct str names[] = {S_INIT("id"), S_INIT("key"), S_INIT("name")};
    struct json_member *keys = arena_array(a, struct json_member, countof(names));
    uint32_t n = 0;

    for (size_t i = 0; i < countof(names); i++) {
        const struct json *v = json_get(item, names[i]);
        if (json_has(v) && v->type != JSON_OBJECT && v->type != JSON_ARRAY)
            keys[n++] = (struct json_member){names[i], *v};
    }
    if (n)
        return (struct element){.kind = ELEMENT_KEY, .n = n, .keys = keys};
    return (struct element){.kind = ELEMENT_INDEX, .index = (int64_t)index};
}

static struct fieldset_entry guess(struct arena *a, struct element e, const struct json *v)
{
    bool is_leaf = v->type != JSON_OBJECT && v->type != JSON_ARRAY;

    return (struct fieldset_entry){.e = e, .below = typed_guess(a, v), .is_member = is_leaf};
}

struct fieldset typed_guess(struct arena *a, const struct json *v)
{
    fieldset_level level = {0};

    json_each_member (m, v)
        vec_push_in(a, &level, guess(a, element_field(m->name), &m->value));
    json_each (i, v)
        vec_push_in(a, &level, guess(a, guess_item(a, &v->items[i], i), &v->items[i]));
    fieldset_of(a, &level);
    size_t n = 0;
    for (size_t i = 0; i < level.len; i++) {
        struct fieldset_entry *last = n ? &level.at[n - 1] : NULL;
        if (last && element_cmp(&last->e, &level.at[i].e) == 0)
            last->below = fieldset_union(a, last->below, level.at[i].below);
        else
            level.at[n++] = level.at[i];
    }
    return (struct fieldset){level.at, n};
}
