/* crd_schema_check.c - what every OpenAPI schema of a custom resource must hold, structural or
 * not
 *
 *     check_node(s): words that are refused, types, lists and maps, then all schemas inside
 */
#include "api/crd_check_priv.h"

#include "schema/compile.h"
#include "schema/table.h"

struct walk {
    struct field_errors *e;
    const struct crd_rules *rules;
};

/* Where a node stands. */
struct place {
    bool is_root;
    bool is_in_meta;        /* inside apiVersion, kind or metadata of a resource */
    const char *no_default; /* why there must be no default, or NULL */
};

static bool flag(const struct json *s, const char *name)
{
    return json_bool(json_get(s, str_from(name)), false);
}

static struct str text(const struct json *s, const char *name)
{
    return json_str(json_get(s, str_from(name)));
}

static bool is_there(const struct json *s, const char *name)
{
    return json_has(json_get(s, str_from(name)));
}

bool crd_is_said(const struct json *v)
{
    if (!json_has(v))
        return false;
    if (v->type == JSON_BOOL)
        return v->boolean;
    return v->type == JSON_INT || v->type == JSON_DOUBLE || v->len > 0;
}

bool crd_is_meta_name(struct str name)
{
    return str_eqz(name, "apiVersion") || str_eqz(name, "kind") || str_eqz(name, "metadata");
}

/* ---- schemas inside schemas ---- */

enum form {
    FORM_ONE,
    FORM_LIST,
    FORM_MAP,
    FORM_ONE_OR_LIST,
};

static const struct {
    struct str word;
    enum form form;
} children[] = {
    {S_INIT("properties"),           FORM_MAP        },
    {S_INIT("additionalProperties"), FORM_ONE        },
    {S_INIT("patternProperties"),    FORM_MAP        },
    {S_INIT("items"),                FORM_ONE_OR_LIST},
    {S_INIT("additionalItems"),      FORM_ONE        },
    {S_INIT("not"),                  FORM_ONE        },
    {S_INIT("allOf"),                FORM_LIST       },
    {S_INIT("oneOf"),                FORM_LIST       },
    {S_INIT("anyOf"),                FORM_LIST       },
    {S_INIT("definitions"),          FORM_MAP        },
    {S_INIT("dependencies"),         FORM_MAP        },
};

void crd_each_child(const struct json *schema, const struct field_path *at, crd_child_fn *fn,
                    void *ctx)
{
    for (size_t i = 0; i < countof(children); i++) {
        struct str word = children[i].word;
        const struct json *v = json_get(schema, word);
        struct field_path word_at = field_child(at, word);

        if (children[i].form == FORM_MAP) {
            json_each_member (m, v) {
                struct field_path p = field_key(&word_at, m->name);
                if (m->value.type == JSON_OBJECT)
                    fn(ctx, &p, word, m->name, &m->value);
            }
        } else if (children[i].form != FORM_LIST && json_is(v, JSON_OBJECT)) {
            fn(ctx, &word_at, word, S(""), v);
        } else if (children[i].form != FORM_ONE) {
            json_each (k, v) {
                struct field_path p = field_item(&word_at, k);
                if (json_at(v, k)->type == JSON_OBJECT)
                    fn(ctx, &p, word, S(""), json_at(v, k));
            }
        }
    }
}

/* ---- words that are refused ---- */

static void check_words(struct walk *w, const struct field_path *at, const struct json *s)
{
    static const struct {
        const char *word;
        bool may_be_empty; /* {} says nothing */
    } refused[] = {
        {"id",                true },
        {"additionalItems",   false},
        {"patternProperties", true },
        {"definitions",       true },
        {"dependencies",      false},
        {"$ref",              false},
    };
    struct field_path items_at = field_child(at, S("items"));
    struct field_path unique_at = field_child(at, S("uniqueItems"));
    struct field_path keeps_at = field_child(at, S("x-kubernetes-preserve-unknown-fields"));
    const struct json *items = json_getz(s, "items");
    const struct json *keeps = json_getz(s, "x-kubernetes-preserve-unknown-fields");

    for (size_t i = 0; i < countof(refused); i++) {
        const char *word = refused[i].word;
        struct field_path p = field_child(at, str_from(word));
        if (refused[i].may_be_empty ? crd_says(s, word) : is_there(s, word))
            field_forbidden(w->e, &p, "%s is not supported", word);
    }
    if (json_is(items, JSON_ARRAY) && items->len)
        field_forbidden(w->e, &items_at, "items must be a schema object and not an array");
    if (flag(s, "uniqueItems"))
        field_forbidden(w->e, &unique_at,
                        "uniqueItems cannot be set to true since the runtime complexity "
                        "becomes quadratic");
    if (json_is(keeps, JSON_BOOL) && !keeps->boolean)
        field_invalid(w->e, &keeps_at, keeps, "must be true or undefined");
}

static void check_place(struct walk *w, const struct field_path *at, const struct json *s,
                        const struct place *place)
{
    struct field_path default_at = field_child(at, S("default"));
    struct field_path embedded_at = field_child(at, S("x-kubernetes-embedded-resource"));
    struct field_path more_at = field_child(at, S("additionalProperties"));
    const struct json *more = json_getz(s, "additionalProperties");
    bool is_open = json_is(more, JSON_BOOL) && more->boolean;

    if (place->no_default && is_there(s, "default"))
        field_forbidden(w->e, &default_at, "must not be set %s", place->no_default);
    if (place->is_in_meta && flag(s, "x-kubernetes-embedded-resource"))
        field_forbidden(w->e, &embedded_at, "must not be used inside of resource meta");
    if (json_has(more) && crd_says(s, "properties") && !is_open)
        field_forbidden(w->e, &more_at,
                        "additionalProperties and properties are mutual exclusive");
}

/* ---- types ---- */

static const struct json types[] = {
    {.type = JSON_STRING, .len = 5, .s = "array"  },
    {.type = JSON_STRING, .len = 7, .s = "boolean"},
    {.type = JSON_STRING, .len = 7, .s = "integer"},
    {.type = JSON_STRING, .len = 6, .s = "number" },
    {.type = JSON_STRING, .len = 6, .s = "object" },
    {.type = JSON_STRING, .len = 6, .s = "string" },
};

static bool has_unknown_type(const struct json *s)
{
    const struct json *type = json_getz(s, "type");

    if (json_str(type).len == 0)
        return false;
    for (size_t i = 0; i < countof(types); i++)
        if (json_eq(&types[i], type))
            return false;
    return true;
}

static void check_type(struct walk *w, const struct field_path *at, const struct json *s)
{
    struct field_path p = field_child(at, S("type"));

    if (str_eqz(text(s, "type"), "null"))
        field_forbidden(w->e, &p, "type cannot be set to null, use nullable as an alternative");
    if (w->rules->known_types && has_unknown_type(s))
        field_not_supported(w->e, &p, json_getz(s, "type"), types, countof(types));
}

/* A merge word that stands on the wrong type. */
static bool must_be(struct walk *w, const struct field_path *at, const struct json *s,
                    const char *type, const char *why)
{
    struct field_path p = field_child(at, S("type"));
    struct str is = text(s, "type");

    if (str_eqz(is, type))
        return true;
    if (is.len == 0)
        field_required(w->e, &p, "must be %s if %s is specified", type, why);
    else
        field_invalid(w->e, &p, json_getz(s, "type"), "must be %s if %s is specified", type,
                      why);
    return false;
}

/* ---- lists and maps ---- */

static void check_map_type(struct walk *w, const struct field_path *at, const struct json *s)
{
    static const char *const words[] = {"atomic", "granular"};
    struct field_path p = field_child(at, S("x-kubernetes-map-type"));
    const struct json *type = json_getz(s, "x-kubernetes-map-type");

    if (!json_has(type))
        return;
    must_be(w, at, s, "object", "x-kubernetes-map-type");
    field_one_of(w->e, &p, type, words, countof(words));
}

/* Items of a set are merged as wholes. */
static void check_set(struct field_errors *e, const struct field_path *at, const struct json *s)
{
    const struct json *item = json_getz(s, "items");
    struct field_path items_at = field_child(at, S("items"));
    struct field_path list_at = field_child(&items_at, S("x-kubernetes-list-type"));
    struct field_path map_at = field_child(&items_at, S("x-kubernetes-map-type"));
    const struct json *list = json_getz(item, "x-kubernetes-list-type");
    const struct json *map = json_getz(item, "x-kubernetes-map-type");
    static const char why[] =
        "must be atomic as item of a list with x-kubernetes-list-type=set";

    if (!str_eqz(text(s, "x-kubernetes-list-type"), "set") || !json_is(item, JSON_OBJECT))
        return;
    if (str_eqz(text(item, "type"), "array") && json_has(list) &&
        !str_eqz(json_str(list), "atomic"))
        field_invalid(e, &list_at, list, "%s", why);
    if (str_eqz(text(item, "type"), "object") && !str_eqz(json_str(map), "atomic"))
        field_invalid(e, &map_at, map, "%s", why);
}

static void check_keys(struct walk *w, const struct field_path *at, const struct json *s)
{
    const struct json *item = json_getz(s, "items"),
                      *keys = json_getz(s, "x-kubernetes-list-map-keys");
    struct field_path items_at = field_child(at, S("items"));
    struct field_path members_at = field_child(&items_at, S("properties"));
    struct field_path keys_at = field_child(at, S("x-kubernetes-list-map-keys"));
    struct json_names in_properties = {0};
    struct json_set seen = {.arena = w->e->arena};

    json_each (i, keys) {
        struct str key = json_str(json_at(keys, i));
        const struct json *member =
            json_find(w->e->arena, &in_properties, json_getz(item, "properties"), key);
        struct field_path member_at = field_key(&members_at, key);
        struct field_path type_at = field_child(&member_at, S("type"));
        struct str type = text(member, "type");
        if (!member)
            field_invalid(w->e, &keys_at, keys, "entries must all be names of item properties");
        else if (str_eqz(type, "array") || str_eqz(type, "object"))
            field_invalid(w->e, &type_at, json_getz(member, "type"),
                          "must be a scalar type if parent array's x-kubernetes-list-type is "
                          "map");
        if (json_set_put(&seen, json_at(keys, i)))
            field_invalid(w->e, &keys_at, keys, "must not contain duplicate entries");
    }
}

static void check_list_of_map(struct walk *w, const struct field_path *at, const struct json *s)
{
    const struct json *item = json_getz(s, "items");
    struct field_path items_at = field_child(at, S("items"));
    struct field_path type_at = field_child(&items_at, S("type"));
    struct field_path keys_at = field_child(at, S("x-kubernetes-list-map-keys"));

    if (!crd_says(s, "x-kubernetes-list-map-keys"))
        field_required(w->e, &keys_at, "must not be empty if x-kubernetes-list-type is map");
    if (!json_has(item))
        field_required(w->e, &items_at, "must have a schema if x-kubernetes-list-type is map");
    else if (item->type != JSON_OBJECT)
        field_invalid(w->e, &items_at, item,
                      "must only have a single schema if x-kubernetes-list-type is map");
    else if (!str_eqz(text(item, "type"), "object"))
        field_invalid(w->e, &type_at, json_getz(item, "type"),
                      "must be object if parent array's x-kubernetes-list-type is map");
    else
        check_keys(w, at, s);
}

/* Keys are always there. */
static void check_given(struct field_errors *e, const struct field_path *at,
                        const struct json *s)
{
    struct str type = text(s, "x-kubernetes-list-type");
    const struct json *item = json_getz(s, "items"),
                      *keys = json_getz(s, "x-kubernetes-list-map-keys");
    const struct json *required = json_getz(item, "required");
    struct field_path items_at = field_child(at, S("items"));
    struct field_path null_at = field_child(&items_at, S("nullable"));
    struct field_path members_at = field_child(&items_at, S("properties"));
    bool is_map = str_eqz(type, "map");

    if (!json_is(item, JSON_OBJECT) || (!is_map && !str_eqz(type, "set")))
        return;
    if (flag(item, "nullable"))
        field_forbidden(e, &null_at, "cannot be nullable when x-kubernetes-list-type is %.*s",
                        STR_ARG(type));
    for (size_t i = 0; is_map && i < json_len(keys); i++) {
        struct str key = json_str(json_at(keys, i));
        const struct json *member = json_get(json_getz(item, "properties"), key);
        struct field_path member_at = field_key(&members_at, key);
        struct field_path default_at = field_child(&member_at, S("default"));
        struct field_path key_null_at = field_child(&member_at, S("nullable"));
        bool is_required = false;
        json_each (k, required)
            is_required |= str_eq(json_str(json_at(required, k)), key);
        if (member && !is_required && !is_there(member, "default"))
            field_required(e, &default_at,
                           "this property is in x-kubernetes-list-map-keys, so it must have a "
                           "default or be a required property");
        if (flag(member, "nullable"))
            field_forbidden(e, &key_null_at,
                            "this property is in x-kubernetes-list-map-keys, so it cannot be "
                            "nullable");
    }
}

static void check_list_type(struct walk *w, const struct field_path *at, const struct json *s)
{
    static const char *const words[] = {"atomic", "set", "map"};
    struct field_path p = field_child(at, S("x-kubernetes-list-type"));
    const struct json *type = json_getz(s, "x-kubernetes-list-type");
    bool is_map = str_eqz(json_str(type), "map");

    if (json_has(type)) {
        if (must_be(w, at, s, "array", "x-kubernetes-list-type") && w->rules->atomic_sets)
            check_set(w->e, at, s);
        field_one_of(w->e, &p, type, words, countof(words));
    }
    if (crd_says(s, "x-kubernetes-list-map-keys") && !is_map) {
        static const char why[] = "must be map if x-kubernetes-list-map-keys is non-empty";
        if (!json_has(type))
            field_required(w->e, &p, "%s", why);
        else
            field_invalid(w->e, &p, type, "%s", why);
    }
    if (is_map)
        check_list_of_map(w, at, s);
    if (w->rules->given_keys)
        check_given(w->e, at, s);
}

/* ---- a node ---- */

static void check_node(struct walk *w, const struct field_path *at, const struct json *s,
                       struct place place);

struct inside {
    struct walk *w;
    const struct json *s;
    const struct place *place;
};

static void check_child(void *ctx, const struct field_path *p, struct str word, struct str name,
                        const struct json *child)
{
    const struct inside *in = ctx;
    struct place place = *in->place;
    bool is_resource = place.is_root || flag(in->s, "x-kubernetes-embedded-resource");

    if (str_eqz(word, "additionalProperties") && place.is_in_meta)
        place.no_default = "inside additionalProperties applying to object metadata";
    if (str_eqz(word, "properties") && is_resource && crd_is_meta_name(name)) {
        place.is_in_meta = true;
        if (place.is_root)
            place.no_default = "in top-level metadata, apiVersion and kind";
    }
    place.is_root = false;
    check_node(in->w, p, child, place);
}

static void check_node(struct walk *w, const struct field_path *at, const struct json *s,
                       struct place place)
{
    struct inside in = {w, s, &place};

    check_words(w, at, s);
    check_place(w, at, s, &place);
    check_type(w, at, s);
    check_map_type(w, at, s);
    check_list_type(w, at, s);
    crd_each_child(s, at, check_child, &in);
}

/* ---- the root ---- */

/* Words before `type` in upstream's order: the first one met is told, and no other. */
static const char *const early[] = {"id", "$schema", "$ref"};
static const char *const late[] = {"nullable",
                                   "default",
                                   "enum",
                                   "maxProperties",
                                   "minProperties",
                                   "allOf",
                                   "oneOf",
                                   "anyOf",
                                   "not",
                                   "additionalProperties",
                                   "patternProperties",
                                   "dependencies",
                                   "additionalItems",
                                   "definitions",
                                   "x-kubernetes-embedded-resource",
                                   "x-kubernetes-int-or-string",
                                   "x-kubernetes-list-map-keys",
                                   "x-kubernetes-list-type",
                                   "x-kubernetes-map-type"};

static bool says_one_of(const struct json *s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct json *v = json_get(s, str_from(words[i]));
        bool is_flag = json_is(v, JSON_BOOL);
        if (json_has(v) &&
            (!is_flag || v->boolean || str_eqz(str_from(words[i]), "additionalProperties")))
            return true;
    }
    return false;
}

/* The status is judged by properties["status"] alone where it is a subresource, so the root
 * must say nothing that goes over several members. */
static void check_root_of_status(struct field_errors *e, const struct field_path *at,
                                 const struct json *s)
{
    struct field_path type_at = field_child(at, S("type"));
    bool is_early = says_one_of(s, early, countof(early));

    if (!is_early && text(s, "type").len && !str_eqz(text(s, "type"), "object"))
        field_invalid(e, &type_at, json_getz(s, "type"),
                      "only \"object\" is allowed as the type at the root of the schema if the "
                      "status subresource is enabled");
    else if (is_early || says_one_of(s, late, countof(late)))
        field_invalid(e, at, s,
                      "only description, type, format, title, limits of values, required, "
                      "items, properties, externalDocs, example, "
                      "x-kubernetes-preserve-unknown-fields and x-kubernetes-validations are "
                      "allowed at the root of the schema if the status subresource is enabled");
}

/* Structural, and then its defaults. */
static void check_structure(struct field_errors *e, const struct field_path *at,
                            const struct json *schema, const struct schema *s,
                            const struct crd_rules *rules)
{
    struct json none = json_of_z("");
    const char *word = crd_unstructural_word(schema);
    size_t n = e->list.len;

    if (word && n == 0)
        field_invalid(e, at, &none, "OpenAPIV3 schema '%s' is not supported", word);
    if (word)
        return;
    struct field_errors own = field_errors_in(e->arena);
    crd_structural_check(&own, at, schema);
    if (own.list.len == 0)
        crd_default_check(&own, at, s, rules->pruned_defaults);
    field_errors_add(e, &own);
}

void crd_schema_check(struct field_errors *e, const struct field_path *at,
                      const struct json *schema, bool has_status, const struct crd_rules *rules)
{
    struct field_path null_at = field_child(at, S("nullable"));
    struct field_errors own = field_errors_in(e->arena);
    struct walk w = {.e = &own, .rules = rules};
    struct err err = {0};
    const struct schema *s = schema_compile(e->arena, schema, &err);
    struct json none = json_of_z("");

    if (!s) {
        field_invalid(e, at, &none, "%.*s", STR_ARG(err_str(&err)));
        return;
    }
    if (has_status)
        check_root_of_status(&own, at, schema);
    if (flag(schema, "nullable"))
        field_forbidden(&own, &null_at, "nullable cannot be true at the root");
    check_node(&w, at, schema, (struct place){.is_root = true});
    if (rules->structural)
        check_structure(&own, at, schema, s, rules);
    field_errors_add(e, &own);
    schema_compiled_free(s);
}

/* ---- questions about a whole schema ---- */

typedef bool ask_fn(const struct json *s);

struct question {
    ask_fn *ask;
    bool is_so;
};

static void ask_node(void *ctx, const struct field_path *p, unused struct str word,
                     unused struct str name, const struct json *s)
{
    struct question *q = ctx;

    q->is_so = q->is_so || q->ask(s);
    if (!q->is_so)
        crd_each_child(s, p, ask_node, q);
}

/* Is it so of the schema or of one inside it? */
static bool is_anywhere(const struct json *schema, ask_fn *ask)
{
    struct question q = {.ask = ask};

    if (json_is(schema, JSON_OBJECT))
        ask_node(&q, NULL, S(""), S(""), schema);
    return q.is_so;
}

static bool has_default(const struct json *s)
{
    return is_there(s, "default");
}

bool crd_schema_has_default(const struct json *schema)
{
    return is_anywhere(schema, has_default);
}

static bool has_extension(const struct json *s)
{
    return crd_says(s, "x-kubernetes-embedded-resource") ||
           crd_says(s, "x-kubernetes-int-or-string") ||
           is_there(s, "x-kubernetes-preserve-unknown-fields") ||
           crd_says(s, "x-kubernetes-list-map-keys") || is_there(s, "x-kubernetes-list-type") ||
           is_there(s, "x-kubernetes-map-type") || crd_says(s, "x-kubernetes-validations");
}

bool crd_schema_has_extension(const struct json *schema)
{
    return is_anywhere(schema, has_extension);
}

static bool breaks_sets(const struct json *s)
{
    scoped(arena_fini) struct arena a = {0};
    struct field_errors e = field_errors_in(&a);

    check_set(&e, NULL, s);
    return e.list.len > 0;
}

static bool breaks_keys(const struct json *s)
{
    scoped(arena_fini) struct arena a = {0};
    struct field_errors e = field_errors_in(&a);

    check_given(&e, NULL, s);
    return e.list.len > 0;
}

/* Does a structural schema have a default that pruning changes? */
static bool breaks_pruning(struct arena *a, const struct json *schema)
{
    struct field_errors strict = field_errors_in(a), lax = field_errors_in(a);
    const struct schema *s = schema_compile(a, schema, NULL);

    if (!s)
        return false;
    crd_default_check(&strict, NULL, s, true);
    crd_default_check(&lax, NULL, s, false);
    schema_compiled_free(s);
    return strict.list.len + strict.n_dropped > lax.list.len + lax.n_dropped;
}

void crd_rules_drop(struct crd_rules *rules, const struct json *schema)
{
    scoped(arena_fini) struct arena a = {0};
    struct field_errors e = field_errors_in(&a);

    if (!json_is(schema, JSON_OBJECT)) {
        rules->needs_schema = false;
        return;
    }
    rules->known_types &= !is_anywhere(schema, has_unknown_type);
    rules->atomic_sets &= !is_anywhere(schema, breaks_sets);
    rules->given_keys &= !is_anywhere(schema, breaks_keys);
    bool is_structural = !crd_unstructural_word(schema);
    if (is_structural) {
        crd_structural_check(&e, NULL, schema);
        is_structural = e.list.len == 0;
    }
    rules->structural &= is_structural;
    if (is_structural && crd_schema_has_default(schema))
        rules->pruned_defaults &= !breaks_pruning(&a, schema);
}
