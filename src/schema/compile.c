/* compile.c - OpenAPI v3 schemas of custom resources, as tables */
#include "schema/compile.h"

#include "schema/table.h"

struct compile {
    struct arena *a;
    struct err *err;
};

static const struct schema *node(struct compile *c, const struct json *o);

/* ---- types ---- */

static const struct {
    struct str word;
    enum schema_type type;
} types[] = {
    {S_INIT("boolean"), SCHEMA_BOOL  },
    {S_INIT("integer"), SCHEMA_INT64 },
    {S_INIT("number"),  SCHEMA_DOUBLE},
    {S_INIT("string"),  SCHEMA_STRING},
    {S_INIT("object"),  SCHEMA_OBJECT},
    {S_INIT("array"),   SCHEMA_LIST  },
};

static bool flag(const struct json *o, const char *name)
{
    return json_bool(json_get(o, str_from(name)), false);
}

static enum schema_type type_of(const struct json *o, bool *untyped)
{
    struct str word = json_str(json_getz(o, "type"));

    *untyped = false;
    if (flag(o, "x-kubernetes-int-or-string"))
        return SCHEMA_INT_OR_STRING;
    if (str_eq(word, S("integer")) && str_eq(json_str(json_getz(o, "format")), S("int32")))
        return SCHEMA_INT32;
    for (size_t i = 0; i < countof(types); i++)
        if (str_eq(types[i].word, word))
            return types[i].type;
    *untyped = true;
    return json_getz(o, "properties") ? SCHEMA_OBJECT : SCHEMA_ANY;
}

/* ---- rules ---- */

static void number_rules(const struct json *o, struct schema_rules *r)
{
    const struct {
        const char *name;
        uint32_t has;
        struct json *to;
    } rows[] = {
        {"minimum",    RULE_MINIMUM,     &r->minimum    },
        {"maximum",    RULE_MAXIMUM,     &r->maximum    },
        {"multipleOf", RULE_MULTIPLE_OF, &r->multiple_of}
    };

    for (size_t i = 0; i < countof(rows); i++) {
        const struct json *v = json_get(o, str_from(rows[i].name));
        if (!v || (v->type != JSON_INT && v->type != JSON_DOUBLE))
            continue;
        r->has |= rows[i].has;
        *rows[i].to = *v;
    }
    r->has |= flag(o, "exclusiveMinimum") ? RULE_EXCLUSIVE_MINIMUM : 0;
    r->has |= flag(o, "exclusiveMaximum") ? RULE_EXCLUSIVE_MAXIMUM : 0;
}

static void size_rules(const struct json *o, struct schema_rules *r)
{
    const struct {
        const char *name;
        uint32_t has;
        int64_t *to;
    } rows[] = {
        {"minLength",     RULE_MIN_LENGTH,     &r->min_length    },
        {"maxLength",     RULE_MAX_LENGTH,     &r->max_length    },
        {"minItems",      RULE_MIN_ITEMS,      &r->min_items     },
        {"maxItems",      RULE_MAX_ITEMS,      &r->max_items     },
        {"minProperties", RULE_MIN_PROPERTIES, &r->min_properties},
        {"maxProperties", RULE_MAX_PROPERTIES, &r->max_properties}
    };

    for (size_t i = 0; i < countof(rows); i++) {
        const struct json *v = json_get(o, str_from(rows[i].name));
        if (!v || v->type != JSON_INT)
            continue;
        r->has |= rows[i].has;
        *rows[i].to = v->i;
    }
    r->has |= flag(o, "uniqueItems") ? RULE_UNIQUE_ITEMS : 0;
}

static const struct schema *const *branches(struct compile *c, const struct json *list,
                                            size_t *n)
{
    const struct schema **at = arena_array(c->a, const struct schema *, json_len(list) + 1);

    *n = 0;
    json_each (i, list) {
        if (!(at[*n] = node(c, json_at(list, i))))
            return NULL;
        (*n)++;
    }
    return at;
}

static const struct schema_cel_rule *cel_rules(struct compile *c, const struct json *list,
                                               size_t *n)
{
    struct schema_cel_rule *at = arena_array(c->a, struct schema_cel_rule, json_len(list) + 1);

    *n = json_len(list);
    json_each (i, list) {
        const struct json *o = json_at(list, i);
        at[i] = (struct schema_cel_rule){
            .rule = json_str(json_getz(o, "rule")),
            .message = json_str(json_getz(o, "message")),
            .message_expression = json_str(json_getz(o, "messageExpression")),
            .reason = json_str(json_getz(o, "reason")),
            .field_path = json_str(json_getz(o, "fieldPath")),
            .optional_old_self = flag(o, "optionalOldSelf"),
            .message_set = json_getz(o, "message") != NULL,
            .slot = arena_new(c->a, void *),
        };
    }
    return at;
}

static bool list_rules(struct compile *c, const struct json *o, struct schema_rules *r)
{
    const struct json *enums = json_getz(o, "enum"), *pattern = json_getz(o, "pattern");
    const struct json *not_ = json_getz(o, "not");

    r->format = json_str(json_getz(o, "format"));
    if (json_is(enums, JSON_ARRAY)) {
        r->enums = enums->items;
        r->n_enums = enums->len;
    }
    if (json_str(pattern).len) {
        struct schema_pattern *p = arena_new(c->a, struct schema_pattern);
        *p = (struct schema_pattern){json_str(pattern), arena_new(c->a, struct regex *)};
        r->pattern = p;
    }
    r->all_of = branches(c, json_getz(o, "allOf"), &r->n_all_of);
    r->any_of = branches(c, json_getz(o, "anyOf"), &r->n_any_of);
    r->one_of = branches(c, json_getz(o, "oneOf"), &r->n_one_of);
    if (!r->all_of || !r->any_of || !r->one_of)
        return false;
    if (json_is(not_, JSON_OBJECT) && !(r->not_ = node(c, not_)))
        return false;
    r->cel = cel_rules(c, json_getz(o, "x-kubernetes-validations"), &r->n_cel);
    return true;
}

static bool all_rules(struct compile *c, const struct json *o, struct schema *s)
{
    struct schema_rules *r = arena_new(c->a, struct schema_rules);
    const struct json *required = json_getz(o, "required");
    struct str *names = arena_array(c->a, struct str, json_len(required) + 1);

    number_rules(o, r);
    size_rules(o, r);
    if (!list_rules(c, o, r))
        return false;
    json_each (i, required)
        if (!schema_field(s, json_str(json_at(required, i))))
            names[r->n_required++] = json_str(json_at(required, i));
    r->required = names;
    s->rules = r;
    return true;
}

/* ---- fields ---- */

static bool may_hold_defaults(const struct schema *s)
{
    return s->def || s->n_fields || s->item || s->value;
}

static struct schema_index *index_of(struct arena *a, const struct schema_field *fields,
                                     size_t n)
{
    struct schema_index *x = arena_new(a, struct schema_index);
    uint32_t n_slots = 2;

    while (n_slots < 2 * n)
        n_slots *= 2;
    uint16_t *slots = arena_array(a, uint16_t, n_slots);
    x->ruled = UINT64_MAX; /* types, too, are judged in custom kinds */
    x->mask = n_slots - 1;
    x->slots = slots;
    for (size_t i = 0; i < n; i++) {
        uint32_t slot = str_sketch(fields[i].name) & x->mask;
        while (slots[slot])
            slot = (slot + 1) & x->mask;
        slots[slot] = (uint16_t)(i + 1);
        x->n_defs += fields[i].type->def != NULL;
        if (i >= SCHEMA_SET_FIELDS)
            continue;
        if (fields[i].type->def)
            x->has_def |= UINT64_C(1) << i;
        if (may_hold_defaults(fields[i].type))
            x->defaulted |= UINT64_C(1) << i;
    }
    return x;
}

static bool fields(struct compile *c, const struct json *o, struct schema *s)
{
    const struct json *properties = json_getz(o, "properties"),
                      *required = json_getz(o, "required");
    size_t n = json_is(properties, JSON_OBJECT) ? properties->len : 0;
    struct schema_field *at = arena_array(c->a, struct schema_field, n + 1);
    size_t i = 0;

    if (n >= UINT16_MAX) {
        err_set(c->err, ERR_LIMIT, "a schema has over %d properties", UINT16_MAX - 1);
        return false;
    }
    json_each_member (m, properties) {
        at[i] = (struct schema_field){.name = m->name,
                                      .type = node(c, &m->value),
                                      .doc = json_str(json_getz(&m->value, "description")),
                                      .flags = FIELD_POINTER};
        if (!at[i].type)
            return false;
        i++;
    }
    struct schema_index *index = index_of(c->a, at, n);
    s->fields = at;
    s->index = index;
    s->n_fields = (uint16_t)n;
    json_each (k, required) {
        const struct schema_field *f = schema_field(s, json_str(json_at(required, k)));
        if (!f)
            continue;
        at[f - at].flags |= FIELD_REQUIRED;
        if (f - at < SCHEMA_SET_FIELDS)
            index->judged |= UINT64_C(1) << (f - at);
    }
    return true;
}

static bool additional(struct compile *c, const struct json *o, struct schema *s)
{
    const struct json *v = json_getz(o, "additionalProperties");

    if (json_is(v, JSON_BOOL)) {
        s->additional = v->boolean ? ADDITIONAL_TRUE : ADDITIONAL_FALSE;
        return true;
    }
    if (!json_is(v, JSON_OBJECT))
        return true;
    s->additional = ADDITIONAL_SCHEMA;
    if (s->type == SCHEMA_OBJECT && s->n_fields == 0)
        s->type = SCHEMA_MAP;
    return (s->value = node(c, v)) != NULL;
}

static bool merge_words(struct compile *c, const struct json *o, struct schema *s)
{
    static const char *const lists[] = {
        [LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map"};
    struct str list = json_str(json_getz(o, "x-kubernetes-list-type"));
    struct str map = json_str(json_getz(o, "x-kubernetes-map-type"));
    const struct json *keys = json_getz(o, "x-kubernetes-list-map-keys");

    if (json_len(keys) > COMPILE_MAX_KEYS) {
        err_set(c->err, ERR_LIMIT, "a list has over %d keys", COMPILE_MAX_KEYS);
        return false;
    }
    struct str *names = arena_array(c->a, struct str, json_len(keys) + 1);
    for (size_t i = LIST_ATOMIC; i < countof(lists); i++)
        if (str_eqz(list, lists[i]))
            s->list_type = (uint8_t)i;
    s->map_type = str_eq(map, S("atomic"))     ? MAP_ATOMIC
                  : str_eq(map, S("granular")) ? MAP_GRANULAR
                                               : MAP_UNSET;
    json_each (i, keys)
        names[i] = json_str(json_at(keys, i));
    s->keys = names;
    s->n_keys = (uint16_t)json_len(keys);
    return true;
}

static const struct schema *node(struct compile *c, const struct json *o)
{
    struct schema *s = arena_new(c->a, struct schema);
    bool untyped;

    s->type = type_of(o, &untyped);
    s->untyped = untyped;
    s->nullable = flag(o, "nullable");
    s->preserve_unknown = flag(o, "x-kubernetes-preserve-unknown-fields");
    s->embedded = flag(o, "x-kubernetes-embedded-resource");
    s->doc = json_str(json_getz(o, "description"));
    s->def = json_has(json_getz(o, "default")) ? json_getz(o, "default") : NULL;
    const struct json *items = json_getz(o, "items");
    if (!fields(c, o, s) || !additional(c, o, s))
        return NULL;
    if (json_is(items, JSON_OBJECT) && !(s->item = node(c, items)))
        return NULL;
    if (!merge_words(c, o, s) || !all_rules(c, o, s))
        return NULL;
    return s;
}

/* ---- limits ---- */

struct count {
    size_t n_nodes;
    int depth;
};

/* Are all schemas below o within the limits? Asked before any of them is given memory. */
static bool is_bounded(struct count *c, const struct json *o)
{
    static const char *const single[] = {"items", "additionalProperties", "not"};
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    const struct json *properties = json_getz(o, "properties");
    bool ok = ++c->n_nodes <= COMPILE_MAX_NODES && ++c->depth <= COMPILE_MAX_DEPTH;

    json_each_member (m, properties)
        ok = ok && is_bounded(c, &m->value);
    for (size_t i = 0; ok && i < countof(single); i++)
        if (json_is(json_get(o, str_from(single[i])), JSON_OBJECT))
            ok = is_bounded(c, json_get(o, str_from(single[i])));
    for (size_t i = 0; ok && i < countof(lists); i++) {
        const struct json *list = json_get(o, str_from(lists[i]));
        json_each (k, list)
            ok = ok && is_bounded(c, json_at(list, k));
    }
    c->depth--;
    return ok;
}

const struct schema *schema_compile(struct arena *a, const struct json *openapi,
                                    struct err *err)
{
    static const struct json none = {.type = JSON_OBJECT};
    struct compile c = {.a = a, .err = err};
    struct count count = {0};

    if (!is_bounded(&count, openapi)) {
        err_set(err, ERR_LIMIT, "the schema has over %d nodes, or is nested over %d deep",
                COMPILE_MAX_NODES, COMPILE_MAX_DEPTH);
        return NULL;
    }
    return node(&c, json_is(openapi, JSON_OBJECT) ? openapi : &none);
}

void schema_compiled_free(const struct schema *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_fields; i++)
        schema_compiled_free(s->fields[i].type);
    schema_compiled_free(s->item);
    schema_compiled_free(s->value);
    const struct schema_rules *r = s->rules;
    if (!r)
        return;
    if (r->pattern)
        regex_free(*r->pattern->slot);
    for (size_t i = 0; i < r->n_all_of; i++)
        schema_compiled_free(r->all_of[i]);
    for (size_t i = 0; i < r->n_any_of; i++)
        schema_compiled_free(r->any_of[i]);
    for (size_t i = 0; i < r->n_one_of; i++)
        schema_compiled_free(r->one_of[i]);
    schema_compiled_free(r->not_);
}
