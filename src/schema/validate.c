/* validate.c - everything that is wrong with a tree, by its schema */
#include "schema/validate.h"

#include "schema/format.h"
#include "schema/table.h"

struct check {
    struct field_errors *e;
    bool is_custom; /* OpenAPI's words and types */
    bool is_judged; /* what is shared with the old was judged by this schema, */
    bool is_known;  /*   and by the functions that are named */
    bool is_new;    /* nothing is old: `old` only shows what was judged */
    const struct json *root, *old_root;
    const struct kind *kind;
    int depth;
};

static void check_value(struct check *c, const struct schema *s, const struct field_path *p,
                        const struct json *v, const struct json *old);

/* Without a look into it. */
static inline bool is_right(const struct check *c, const struct schema *s, const struct json *v,
                            const struct json *old)
{
    return (s->no_rules && !c->is_custom) || (c->is_judged && json_is_shared(v, old)) ||
           (v->type == JSON_NULL && (s->nullable || !c->is_custom));
}

static inline void check_node(struct check *c, const struct schema *s,
                              const struct field_path *p, const struct json *v,
                              const struct json *old)
{
    if (!is_right(c, s, v, old))
        check_value(c, s, p, v, old);
}

/* "spec.x in body ", which OpenAPI's words begin with; nothing for native kinds. */
static struct str in_body(struct check *c, const struct field_path *p)
{
    if (!c->is_custom)
        return S("");
    return str_printf(c->e->arena, "%.*s in body ", STR_ARG(field_path_text(c->e->arena, p)));
}

/* ---- types ---- */

static const char *type_word(const struct schema *s)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        return "boolean";
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return "integer";
    case SCHEMA_DOUBLE:
        return "number";
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
    case SCHEMA_FIELDS_V1:
        return "object";
    case SCHEMA_LIST:
        return "array";
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
        return "integer,string";
    default:
        return "string";
    }
}

static bool is_whole(const struct json *v)
{
    const double most = 9007199254740991.0;

    return v->type == JSON_INT || (v->type == JSON_DOUBLE && v->d >= -most && v->d <= most &&
                                   v->d == (double)(int64_t)v->d);
}

static inline bool has_type(const struct schema *s, const struct json *v)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_ANY:
    case SCHEMA_RAW:
        return true;
    case SCHEMA_BOOL:
        return v->type == JSON_BOOL;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return is_whole(v);
    case SCHEMA_DOUBLE:
        return v->type == JSON_INT || v->type == JSON_DOUBLE;
    case SCHEMA_OBJECT:
        return v->type == JSON_OBJECT || (s->untyped && v->type != JSON_NULL);
    case SCHEMA_MAP:
        return v->type == JSON_OBJECT;
    case SCHEMA_FIELDS_V1:
        return v->type == JSON_OBJECT || v->type == JSON_RAW;
    case SCHEMA_LIST:
        return v->type == JSON_ARRAY;
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
        return v->type == JSON_STRING || is_whole(v);
    default:
        return v->type == JSON_STRING;
    }
}

rare static void type_error(struct check *c, const struct schema *s, const struct field_path *p,
                            const struct json *v)
{
    static const char *const words[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "boolean",  [JSON_INT] = "integer",
        [JSON_DOUBLE] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array",
        [JSON_OBJECT] = "object",
    };
    struct json shown = json_of_str(str_from(words[v->type]));

    field_type_invalid(c->e, p, &shown, "%.*smust be of type %s: \"%s\"",
                       STR_ARG(in_body(c, p)), type_word(s), words[v->type]);
}

/* ---- rules of one value ---- */

static void check_number(struct check *c, const struct schema_rules *r,
                         const struct field_path *p, const struct json *v)
{
    struct arena *a = c->e->arena;

    if (r->has & RULE_MINIMUM) {
        int order = json_cmp(v, &r->minimum);
        bool is_exclusive = r->has & RULE_EXCLUSIVE_MINIMUM;
        if (order < 0 || (order == 0 && is_exclusive))
            field_invalid(c->e, p, v, "%.*s%s be greater than %s%.*s", STR_ARG(in_body(c, p)),
                          c->is_custom ? "should" : "must", is_exclusive ? "" : "or equal to ",
                          STR_ARG(json_text(a, &r->minimum)));
    }
    if (r->has & RULE_MAXIMUM) {
        int order = json_cmp(v, &r->maximum);
        bool is_exclusive = r->has & RULE_EXCLUSIVE_MAXIMUM;
        if (order > 0 || (order == 0 && is_exclusive))
            field_invalid(c->e, p, v, "%.*s%s be less than %s%.*s", STR_ARG(in_body(c, p)),
                          c->is_custom ? "should" : "must", is_exclusive ? "" : "or equal to ",
                          STR_ARG(json_text(a, &r->maximum)));
    }
    if (r->has & RULE_MULTIPLE_OF) {
        double by = json_f64(&r->multiple_of, 0), x = json_f64(v, 0) / (by != 0 ? by : 1);
        if (x != (double)(int64_t)x)
            field_invalid(c->e, p, v, "%.*sshould be a multiple of %.*s",
                          STR_ARG(in_body(c, p)), STR_ARG(json_text(a, &r->multiple_of)));
    }
}

static void check_string(struct check *c, const struct schema_rules *r,
                         const struct field_path *p, const struct json *v)
{
    struct str text = json_str(v);
    bool has_limit = r->has & (RULE_MAX_LENGTH | RULE_MIN_LENGTH);
    int64_t n = has_limit ? (int64_t)str_runes(text) : 0;

    if ((r->has & RULE_MAX_LENGTH) && n > r->max_length) {
        field_too_long(c->e, p, v, r->max_length);
    } else if ((r->has & RULE_MAX_BYTES) && (int64_t)text.len > r->max_bytes) {
        field_too_long(c->e, p, v, r->max_bytes);
    } else if ((r->has & RULE_MIN_LENGTH) && n < r->min_length) {
        field_invalid(c->e, p, v, "%.*sshould be at least %" PRId64 " chars long",
                      STR_ARG(in_body(c, p)), r->min_length);
    } else if (r->pattern) {
        if (!schema_pattern_matches(r->pattern, text))
            field_invalid(c->e, p, v, "%.*sshould match '%.*s'", STR_ARG(in_body(c, p)),
                          STR_ARG(r->pattern->text));
    }
    if (r->format.len)
        format_check(c->e, r->format, c->is_custom, p, v);
}

static void check_sizes(struct check *c, const struct schema_rules *r,
                        const struct field_path *p, const struct json *v)
{
    int64_t n = (int64_t)json_len(v);
    bool is_list = v->type == JSON_ARRAY;
    int64_t least = is_list ? r->min_items : r->min_properties;
    int64_t most = is_list ? r->max_items : r->max_properties;

    if ((r->has & (is_list ? RULE_MIN_ITEMS : RULE_MIN_PROPERTIES)) && n < least)
        field_invalid(c->e, p, v, "%.*sshould have at least %" PRId64 " %s",
                      STR_ARG(in_body(c, p)), least, is_list ? "items" : "properties");
    if ((r->has & (is_list ? RULE_MAX_ITEMS : RULE_MAX_PROPERTIES)) && n > most)
        field_too_many(c->e, p, n, most);
}

static void check_exactly_one(struct check *c, const struct schema_rules *r,
                              const struct field_path *p, const struct json *v)
{
    size_t n = 0;
    struct str names = str_join(c->e->arena, r->exactly_one, r->n_exactly_one, S(", "));

    for (size_t i = 0; i < r->n_exactly_one; i++)
        n += json_has(json_get(v, r->exactly_one[i]));
    if (n == 0)
        field_required(c->e, p, "exactly one of %.*s is required", STR_ARG(names));
    else if (n > 1)
        field_forbidden(c->e, p, "may not specify more than one of %.*s", STR_ARG(names));
}

/* Of none at all everything is. */
static bool is_one_of(const struct json *all, size_t n, const struct json *v)
{
    for (size_t i = 0; i < n; i++) {
        if (v->type != JSON_STRING ? json_eq(&all[i], v)
                                   : all[i].type == JSON_STRING && all[i].len == v->len &&
                                         bytes_eq(all[i].s, v->s, v->len))
            return true;
    }
    return n == 0;
}

not_inline static void check_rules(struct check *c, const struct schema_rules *r,
                                   const struct field_path *p, const struct json *v)
{
    bool is_allowed = is_one_of(r->enums, r->n_enums, v);

    if (!is_allowed)
        field_not_supported(c->e, p, v, r->enums, r->n_enums);
    if (v->type == JSON_INT || v->type == JSON_DOUBLE)
        check_number(c, r, p, v);
    else if (v->type == JSON_STRING && is_allowed)
        check_string(c, r, p, v);
    else if (v->type == JSON_ARRAY || v->type == JSON_OBJECT)
        check_sizes(c, r, p, v);
    if (r->n_exactly_one && v->type == JSON_OBJECT)
        check_exactly_one(c, r, p, v);
}

/* ---- objects, lists ---- */

/* Go cannot tell an empty value of a plain field from an absent one. */
static bool is_empty(const struct json *v)
{
    if (!json_has(v))
        return true;
    if (v->type == JSON_INT)
        return v->i == 0;
    return (v->type == JSON_STRING || v->type == JSON_ARRAY) && v->len == 0;
}

/* Is the field missing, or has an update changed what it must not? */
static bool is_field_right(struct check *c, const struct schema_field *f,
                           const struct field_path *p, const struct json *v,
                           const struct json *old, bool is_needed)
{
    struct field_path child = field_child(p, f->name);

    if (is_needed) {
        field_required(c->e, &child, "%s", "");
        return false;
    }
    if ((f->flags & FIELD_FIXED) && !json_eq(v, old))
        field_invalid(c->e, &child, v, "field is immutable");
    else if ((f->flags & FIELD_FIXED_ONCE_SET) && json_has(old) && !json_eq(v, old))
        field_invalid(c->e, &child, v, "field is immutable once it is set");
    return true;
}

static inline void check_field(struct check *c, const struct schema_field *f,
                               const struct field_path *p, const struct json *v,
                               const struct json *old, bool is_update)
{
    static const struct json none = {.type = JSON_OBJECT};
    uint16_t needed = FIELD_REQUIRED | (c->is_custom ? FIELD_NEEDED : FIELD_EXPECTED);
    bool is_plain = !c->is_custom && !(f->flags & FIELD_POINTER);
    bool is_missing = is_plain ? is_empty(v) : !v || (!c->is_custom && v->type == JSON_NULL);
    bool is_needed = is_missing && (f->flags & needed);
    bool is_fixed = is_update && (f->flags & (FIELD_FIXED | FIELD_FIXED_ONCE_SET));

    if ((is_needed || is_fixed) && !is_field_right(c, f, p, v, old, is_needed))
        return;
    if (!v && !c->is_custom && (f->flags & FIELD_ALWAYS) && !(f->flags & FIELD_POINTER) &&
        f->type->type == SCHEMA_OBJECT)
        v = &none;
    if (!v || (is_plain && is_missing && v->type != JSON_OBJECT) ||
        is_right(c, f->type, v, old))
        return;
    struct field_path child = field_child(p, f->name);
    check_value(c, f->type, &child, v, old);
}

/* The rules that the table names. Those of native types say nothing in a custom kind. */
not_inline static void call_check(struct check *c, schema_check_fn *fn, bool is_root,
                                  const struct field_path *p, const struct json *v,
                                  const struct schema_values *values, const struct json *old)
{
    if (c->is_custom && !is_root)
        return;
    fn(&(struct schema_at){.errors = c->e,
                           .path = p,
                           .v = v,
                           .values = values,
                           .old = c->is_new ? NULL : old,
                           .known = c->is_known && !c->is_new ? old : NULL,
                           .root = c->root,
                           .old_root = c->old_root,
                           .kind = c->kind});
}

/* The field's old value, which mostly stands where the new one does. */
static inline const struct json *old_value(const struct json *v, const struct json *old,
                                           const struct schema_field *f, const struct json *now)
{
    if (!json_is(old, JSON_OBJECT))
        return NULL;
    size_t i = now ? (size_t)((const char *)now - (const char *)v->members) /
                         sizeof(struct json_member)
                   : old->len;
    if (i < old->len && old->members[i].name.len == f->name.len &&
        bytes_eq(old->members[i].name.at, f->name.at, f->name.len))
        return &old->members[i].value;
    return json_get(old, f->name);
}

not_inline static void check_object(struct check *c, const struct schema *s,
                                    const struct field_path *p, const struct json *v,
                                    const struct json *old)
{
    const struct schema_index *sets = schema_sets(s);
    /* A function may ask for any. */
    uint64_t wanted = c->is_custom || s->check ? UINT64_MAX : sets->judged | sets->ruled;
    bool is_update = old && !c->is_new;
    struct schema_values now;

    schema_values_in(&now, c->e->arena, s, v, wanted);
    uint64_t asked = c->is_custom ? now.given : now.given & sets->ruled;
    asked |= sets->judged | (is_update ? sets->fixed : 0);
    schema_each_in (i, s, asked) {
        const struct schema_field *f = &s->fields[i];
        if ((f->gate && !f->gate->on) || (f->flags & FIELD_TYPE_META))
            continue;
        const struct json *x = schema_value(&now, i);
        check_field(c, f, p, x, old ? old_value(v, old, f, x) : NULL, is_update);
    }
    if (s->rules)
        for (size_t i = 0; i < s->rules->n_required; i++) {
            struct field_path child = field_child(p, s->rules->required[i]);
            if (!json_get(v, s->rules->required[i]))
                field_required(c->e, &child, "%s", "");
        }
    struct json_names in_old = {0};
    for (uint32_t i = 0; s->value && i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        if (schema_field(s, m->name))
            continue;
        struct field_path child =
            c->is_custom ? field_child(p, m->name) : field_key(p, m->name);
        check_node(c, s->value, &child, &m->value,
                   json_find(c->e->arena, &in_old, old, m->name));
    }
    if (s->check)
        call_check(c, s->check, false, p, v, &now, old);
}

/* The items' key in a list of type map, as an object; the item itself in a set. */
static struct json key_of(struct check *c, const struct schema *s, const struct json *item)
{
    struct json_obj key = obj_in(c->e->arena);

    if (s->list_type == LIST_SET)
        return *item;
    for (size_t i = 0; i < s->n_keys; i++) {
        const struct json *v = json_get(item, s->keys[i]);
        const struct schema_field *f = v ? NULL : schema_field(s->item, s->keys[i]);
        if (!v && f)
            v = f->type->def;
        if (v)
            obj_add(&key, s->keys[i], *v);
    }
    return obj_done(&key);
}

#define FEW_ITEMS 8 /* which are compared with each other */

/* Are they few, with a text for their first key, and is it another each time? */
static bool are_few_that_differ(const struct schema *s, const struct json *v)
{
    const struct json *keys[FEW_ITEMS];

    if (v->len > FEW_ITEMS || (s->list_type != LIST_SET && s->n_keys == 0))
        return false;
    for (uint32_t i = 0; i < v->len; i++) {
        keys[i] = s->list_type == LIST_SET ? &v->items[i] : json_get(&v->items[i], s->keys[0]);
        if (!json_is(keys[i], JSON_STRING))
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (keys[j]->len == keys[i]->len && bytes_eq(keys[j]->s, keys[i]->s, keys[i]->len))
                return false;
    }
    return true;
}

not_inline static void check_unique(struct check *c, const struct schema *s,
                                    const struct field_path *p, const struct json *v)
{
    if (are_few_that_differ(s, v))
        return;
    scoped(arena_fini) struct arena a = arena_sized(4096);
    MAP(bool) seen = {0};

    for (size_t i = 0; i < v->len; i++) {
        struct json key = key_of(c, s, &v->items[i]);
        bool *was = map_put(&seen, json_text(&a, &key));
        struct field_path child = field_item(p, i);
        if (*was)
            field_duplicate(c->e, &child, json_new(c->e->arena, key));
        *was = true;
    }
    map_fini(&seen);
}

/* Where the items of the old list stand, by the text of their keys; made at the first item that
 * is not in its old place. */
struct old_items {
    const struct schema *s;
    const struct json *old;
    struct arena *a;
    MAP(const struct json *) by_key;
    bool is_made;
};

static void old_items_fini(struct old_items *o)
{
    map_fini(&o->by_key);
}

static bool has_key_of(const struct schema *s, const struct json *x, const struct json *item)
{
    for (size_t n = 0; n < s->n_keys; n++)
        if (!json_eq(json_get(x, s->keys[n]), json_get(item, s->keys[n])))
            return false;
    return true;
}

static struct str key_text(struct arena *a, const struct schema *s, const struct json *item)
{
    struct json_obj key = obj_in(a);

    for (size_t n = 0; n < s->n_keys; n++) {
        const struct json *v = json_get(item, s->keys[n]);
        if (v)
            obj_add(&key, s->keys[n], *v);
    }
    struct json v = obj_done(&key);
    return json_text(a, &v);
}

static const struct json *old_item(struct old_items *o, size_t i, const struct json *item)
{
    const struct json *same = json_at(o->old, i);

    if (!json_len(o->old) || o->s->list_type != LIST_MAP ||
        (same && has_key_of(o->s, same, item)))
        return same;
    if (json_len(o->old) <= FEW_ITEMS) {
        json_each (k, o->old)
            if (has_key_of(o->s, json_at(o->old, k), item))
                return json_at(o->old, k);
        return NULL;
    }
    if (!o->is_made)
        json_each (k, o->old) {
            const struct json **first =
                map_put(&o->by_key, key_text(o->a, o->s, json_at(o->old, k)));
            *first = *first ? *first : json_at(o->old, k);
        }
    o->is_made = true;
    const struct json **found = map_get(&o->by_key, key_text(o->a, o->s, item));
    return found ? *found : NULL;
}

not_inline static void check_items(struct check *c, const struct schema *s,
                                   const struct field_path *p, const struct json *v,
                                   const struct json *old)
{
    scoped(old_items_fini) struct old_items was = {.s = s, .old = old, .a = c->e->arena};

    for (size_t i = 0; i < v->len; i++) {
        struct field_path child = field_item(p, i);
        check_node(c, s->item, &child, &v->items[i], old_item(&was, i, &v->items[i]));
    }
}

not_inline static void check_new_items(struct check *c, const struct schema *s,
                                       const struct field_path *p, const struct json *v)
{
    for (size_t i = 0; i < v->len; i++) {
        struct field_path child = field_item(p, i);
        check_node(c, s->item, &child, &v->items[i], NULL);
    }
}

static void check_value(struct check *c, const struct schema *s, const struct field_path *p,
                        const struct json *v, const struct json *old)
{
    if (!has_type(s, v)) {
        type_error(c, s, p, v);
        return;
    }
    if (c->depth >= VALIDATE_MAX_DEPTH) {
        field_invalid(c->e, p, NULL, "nested more than %d deep", VALIDATE_MAX_DEPTH);
        return;
    }
    c->depth++;
    if (s->rules && !(s->rules_native && c->is_custom))
        check_rules(c, s->rules, p, v);
    if (v->type == JSON_OBJECT)
        check_object(c, s, p, v, old);
    else if (s->check)
        call_check(c, s->check, false, p, v, NULL, old);
    if (v->type == JSON_ARRAY && s->item) {
        if (json_len(old))
            check_items(c, s, p, v, old);
        else
            check_new_items(c, s, p, v);
        /* Built-in kinds take lists that repeat a key (env does); where they must not, a check
         * says so. */
        if (c->is_custom && (s->list_type == LIST_SET || s->list_type == LIST_MAP))
            check_unique(c, s, p, v);
    }
    c->depth--;
}

static void validate(struct check *c, const struct schema *s, const struct field_path *root,
                     const struct json *v, const struct json *old)
{
    c->root = v;
    c->old_root = c->is_new ? NULL : old;
    check_node(c, s, root, v, old);
}

void schema_validate(struct field_errors *e, const struct schema *s, int style,
                     const struct field_path *root, const struct json *v,
                     const struct json *old)
{
    struct check c = {
        .e = e, .is_custom = style == KIND_CUSTOM, .is_judged = true, .is_known = true};

    validate(&c, s, root, v, old);
}

static void validate_kind(struct field_errors *e, const struct kind *k, const struct json *v,
                          const struct json *old, bool is_known, bool is_new)
{
    bool is_custom = k->style == KIND_CUSTOM;
    struct check c = {.e = e,
                      .is_custom = is_custom,
                      .is_judged = is_known || is_custom,
                      .is_known = is_known,
                      .is_new = is_new,
                      .kind = k};
    size_t n = e->list.len;

    validate(&c, k->schema, NULL, v, old);
    if (is_custom && e->list.len > n)
        return; /* upstream asks webhooks only about what the schema lets pass */
    if (k->check)
        call_check(&c, k->check, true, NULL, v, NULL, old);
}

void kind_validate(struct field_errors *e, const struct kind *k, const struct json *v,
                   const struct json *old)
{
    validate_kind(e, k, v, old, true, false);
}

void kind_validate_whole(struct field_errors *e, const struct kind *k, const struct json *v,
                         const struct json *old)
{
    validate_kind(e, k, v, old, false, false);
}

void kind_validate_new(struct field_errors *e, const struct kind *k, const struct json *v,
                       const struct json *like)
{
    validate_kind(e, k, v, like, like != NULL, true);
}

void kind_check(struct field_errors *e, const struct kind *k, const struct json *v,
                const struct json *old, const struct json *known)
{
    struct check c = {.e = e, .kind = k, .root = v, .old_root = old, .is_known = known != NULL};

    if (k->check)
        call_check(&c, k->check, true, NULL, v, NULL, old);
}
