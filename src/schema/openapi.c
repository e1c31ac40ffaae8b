/* openapi.c - types and kinds as OpenAPI 3.0 documents */
#include "schema/openapi.h"

#include "schema/table.h"

/* ---- one node ---- */

static const struct {
    const char *type, *format;
} words[SCHEMA_N_TYPES] = {
    [SCHEMA_BOOL] = {"boolean", NULL           },
    [SCHEMA_INT32] = {"integer", "int32"        },
    [SCHEMA_INT64] = {"integer", "int64"        },
    [SCHEMA_DOUBLE] = {"number",  "double"       },
    [SCHEMA_STRING] = {"string",  NULL           },
    [SCHEMA_BYTES] = {"string",  "byte"         },
    [SCHEMA_QUANTITY] = {NULL,      NULL           },
    [SCHEMA_TIME] = {"string",  "date-time"    },
    [SCHEMA_MICRO_TIME] = {"string",  "date-time"    },
    [SCHEMA_DURATION] = {"string",  NULL           },
    [SCHEMA_INT_OR_STRING] = {NULL,      "int-or-string"},
    [SCHEMA_OBJECT] = {"object",  NULL           },
    [SCHEMA_LIST] = {"array",   NULL           },
    [SCHEMA_MAP] = {"object",  NULL           },
    [SCHEMA_FIELDS_V1] = {"object",  NULL           },
    [SCHEMA_RAW] = {"object",  NULL           },
};

static const struct {
    const char *group, *prefix;
} groups[] = {
    {"meta", "io.k8s.apimachinery.pkg.apis.meta"},
    {"",     "io.k8s.api.core"                  },
};

struct str openapi_name(struct arena *a, const struct schema *s)
{
    struct str group, version;

    if (!str_cut(s->group_version, '/', &group, &version)) {
        version = group;
        group = S("");
    }
    for (size_t i = 0; i < countof(groups); i++)
        if (str_eqz(group, groups[i].group))
            return str_printf(a, "%s.%.*s.%.*s", groups[i].prefix, STR_ARG(version),
                              STR_ARG(s->name));
    if (str_has(group, S(".x-k8s.io")) || !str_has(group, S(".k8s.io"))) {
        if (str_has(group, S("."))) /* as upstream names CRDs: the group backwards */
            return str_printf(a, "io.x-k8s.%.*s.%.*s.%.*s",
                              STR_ARG(str_slice(group, 0, str_find(group, S(".x-k8s.io")))),
                              STR_ARG(version), STR_ARG(s->name));
    }
    size_t dot = str_index(group, '.');
    return str_printf(a, "io.k8s.api.%.*s.%.*s.%.*s", STR_ARG(str_slice(group, 0, dot)),
                      STR_ARG(version), STR_ARG(s->name));
}

static struct json texts(struct arena *a, const struct str *at, size_t n)
{
    struct json_arr out = arr_in(a);

    for (size_t i = 0; i < n; i++)
        arr_add(&out, json_of_str(at[i]));
    return arr_done(&out);
}

static void add_rules(struct arena *a, const struct schema_rules *r, struct json_obj *o)
{
    const struct {
        uint32_t has;
        const char *name;
        struct json v;
    } rows[] = {
        {RULE_MINIMUM,           "minimum",          r->minimum                    },
        {RULE_MAXIMUM,           "maximum",          r->maximum                    },
        {RULE_MULTIPLE_OF,       "multipleOf",       r->multiple_of                },
        {RULE_EXCLUSIVE_MINIMUM, "exclusiveMinimum", json_of_bool(true)            },
        {RULE_EXCLUSIVE_MAXIMUM, "exclusiveMaximum", json_of_bool(true)            },
        {RULE_MIN_LENGTH,        "minLength",        json_of_i64(r->min_length)    },
        {RULE_MAX_LENGTH,        "maxLength",        json_of_i64(r->max_length)    },
        {RULE_MIN_ITEMS,         "minItems",         json_of_i64(r->min_items)     },
        {RULE_MAX_ITEMS,         "maxItems",         json_of_i64(r->max_items)     },
        {RULE_MIN_PROPERTIES,    "minProperties",    json_of_i64(r->min_properties)},
        {RULE_MAX_PROPERTIES,    "maxProperties",    json_of_i64(r->max_properties)},
    };

    for (size_t i = 0; i < countof(rows); i++)
        if (r->has & rows[i].has)
            obj_set(o, str_from(rows[i].name), rows[i].v);
    if (r->pattern)
        obj_setz(o, "pattern", json_of_str(r->pattern->text));
    if (r->n_enums) {
        struct json allowed = {
            .type = JSON_ARRAY, .len = (uint32_t)r->n_enums, .items = r->enums};
        obj_setz(o, "enum", allowed);
    }
    if (r->n_cel) {
        struct json_arr rules = arr_in(a);
        for (size_t i = 0; i < r->n_cel; i++) {
            struct json_obj rule = obj_in(a);
            obj_setz(&rule, "rule", json_of_str(r->cel[i].rule));
            if (r->cel[i].message.len)
                obj_setz(&rule, "message", json_of_str(r->cel[i].message));
            arr_add(&rules, obj_done(&rule));
        }
        obj_setz(o, "x-kubernetes-validations", arr_done(&rules));
    }
}

static void add_merge(struct arena *a, const struct schema *s, struct json_obj *o)
{
    static const char *const lists[] = {
        [LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map"};

    if (s->list_type != LIST_UNSET)
        obj_setz(o, "x-kubernetes-list-type", json_of_str(str_from(lists[s->list_type])));
    if (s->list_type == LIST_MAP)
        obj_setz(o, "x-kubernetes-list-map-keys", texts(a, s->keys, s->n_keys));
    if (s->map_type != MAP_UNSET)
        obj_setz(o, "x-kubernetes-map-type",
                 json_of_str(s->map_type == MAP_ATOMIC ? S("atomic") : S("granular")));
    if (s->merge != MERGE_DEFAULT || s->retain_keys) {
        struct str how = s->merge == MERGE_MERGE     ? S("merge")
                         : s->merge == MERGE_REPLACE ? S("replace")
                                                     : S("");
        if (s->retain_keys)
            how = how.len ? str_printf(a, "%.*s,retainKeys", STR_ARG(how)) : S("retainKeys");
        obj_setz(o, "x-kubernetes-patch-strategy", json_of_str(how));
    }
    if (s->merge_key.len)
        obj_setz(o, "x-kubernetes-patch-merge-key", json_of_str(s->merge_key));
}

static struct json reference(struct arena *a, const struct schema *s)
{
    struct json_obj o = obj_in(a);

    obj_setz(
        &o, "$ref",
        json_of_str(str_printf(a, "#/components/schemas/%.*s", STR_ARG(openapi_name(a, s)))));
    return obj_done(&o);
}

static struct json node(struct arena *a, const struct schema *s, struct str doc);

static bool is_named(const struct schema *s)
{
    return s->type == SCHEMA_OBJECT && s->name.len;
}

/* A struct type where it is used: by reference, with what the use adds. */
static struct json use(struct arena *a, const struct schema *s, struct str doc)
{
    if (!is_named(s))
        return node(a, s, doc);
    struct json_obj o = obj_in(a);
    struct json_arr all = arr_in(a);

    arr_add(&all, reference(a, s));
    obj_setz(&o, "allOf", arr_done(&all));
    if (doc.len)
        obj_setz(&o, "description", json_of_str(doc));
    obj_setz(&o, "default", obj_done(&(struct json_obj){.arena = a}));
    add_merge(a, s, &o);
    return obj_done(&o);
}

static void add_fields(struct arena *a, const struct schema *s, struct json_obj *o)
{
    struct json_obj properties = obj_in(a);
    struct json_arr required = arr_in(a);

    for (size_t i = 0; i < s->n_fields; i++) {
        const struct schema_field *f = &s->fields[i];
        if (f->gate && !f->gate->on)
            continue;
        obj_add(&properties, f->name, use(a, f->type, f->doc));
        if (f->flags & FIELD_REQUIRED)
            arr_add(&required, json_of_str(f->name));
    }
    obj_setz(o, "properties", obj_done(&properties));
    if (required.items.len)
        obj_setz(o, "required", arr_done(&required));
}

static struct json node(struct arena *a, const struct schema *s, struct str doc)
{
    struct json_obj o = obj_in(a);

    if (doc.len)
        obj_setz(&o, "description", json_of_str(doc));
    if (words[s->type].type)
        obj_setz(&o, "type", json_of_str(str_from(words[s->type].type)));
    if (words[s->type].format)
        obj_setz(&o, "format", json_of_str(str_from(words[s->type].format)));
    if (s->type == SCHEMA_INT_OR_STRING)
        obj_setz(&o, "x-kubernetes-int-or-string", json_of_bool(true));
    if (s->type == SCHEMA_QUANTITY) {
        struct json_arr both = arr_in(a);
        for (int i = 0; i < 2; i++) {
            struct json_obj one = obj_in(a);
            obj_setz(&one, "type", json_of_str(i ? S("number") : S("string")));
            arr_add(&both, obj_done(&one));
        }
        obj_setz(&o, "oneOf", arr_done(&both));
    }
    if (s->def)
        obj_setz(&o, "default", *s->def);
    if (s->nullable)
        obj_setz(&o, "nullable", json_of_bool(true));
    if (s->preserve_unknown)
        obj_setz(&o, "x-kubernetes-preserve-unknown-fields", json_of_bool(true));
    if (s->embedded)
        obj_setz(&o, "x-kubernetes-embedded-resource", json_of_bool(true));
    if (s->item)
        obj_setz(&o, "items", use(a, s->item, S("")));
    if (s->value)
        obj_setz(&o, "additionalProperties", use(a, s->value, S("")));
    if (s->rules)
        add_rules(a, s->rules, &o);
    add_merge(a, s, &o);
    if (s->n_fields)
        add_fields(a, s, &o);
    return obj_done(&o);
}

struct json openapi_schema(struct arena *a, const struct schema *s)
{
    return node(a, s, s->doc);
}

/* ---- a document ---- */

struct gather {
    struct arena *a;
    MAP(const struct schema *) types; /* by name */
};

static void gather_types(struct gather *g, const struct schema *s)
{
    if (!s)
        return;
    if (is_named(s)) {
        struct str name = openapi_name(g->a, s);
        if (map_get(&g->types, name))
            return;
        *map_put(&g->types, name) = s;
    }
    gather_types(g, s->item);
    gather_types(g, s->value);
    for (size_t i = 0; i < s->n_fields; i++)
        gather_types(g, s->fields[i].type);
}

static struct json gvk(struct arena *a, const struct kind *k)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "group", json_of_str(k->group));
    obj_setz(&o, "version", json_of_str(k->version));
    obj_setz(&o, "kind", json_of_str(k->kind));
    return obj_done(&o);
}

static struct json parameter(struct arena *a, const char *name, const char *in)
{
    struct json_obj o = obj_in(a), type = obj_in(a);

    obj_setz(&type, "type", json_of_z("string"));
    obj_setz(&o, "name", json_of_str(str_from(name)));
    obj_setz(&o, "in", json_of_str(str_from(in)));
    obj_setz(&o, "schema", obj_done(&type));
    if (strcmp(in, "path") == 0)
        obj_setz(&o, "required", json_of_bool(true));
    return obj_done(&o);
}

static struct json operation(struct arena *a, const struct kind *k, const char *verb,
                             const char *const *types, size_t n_types)
{
    static const char *const query[] = {"dryRun", "fieldManager", "fieldValidation"};
    struct json_obj op = obj_in(a), body = obj_in(a), content = obj_in(a);
    struct json_obj ok = obj_in(a), responses = obj_in(a);
    struct json_arr parameters = arr_in(a);
    struct json_obj none = obj_in(a);
    struct json empty = obj_done(&none);

    for (size_t i = 0; i < countof(query); i++)
        arr_add(&parameters, parameter(a, query[i], "query"));
    for (size_t i = 0; i < n_types; i++)
        obj_add(&content, str_from(types[i]), empty);
    obj_setz(&body, "content", obj_done(&content));
    obj_setz(&ok, "description", json_of_z("OK"));
    obj_setz(&responses, "200", obj_done(&ok));
    obj_setz(&op, "x-kubernetes-action", json_of_str(str_from(verb)));
    obj_setz(&op, "x-kubernetes-group-version-kind", gvk(a, k));
    obj_setz(&op, "parameters", arr_done(&parameters));
    obj_setz(&op, "requestBody", obj_done(&body));
    obj_setz(&op, "responses", obj_done(&responses));
    return obj_done(&op);
}

static void add_paths(struct arena *a, const struct kind *k, struct json_obj *paths)
{
    static const char *const patches[] = {
        "application/json-patch+json", "application/merge-patch+json",
        "application/apply-patch+yaml", "application/strategic-merge-patch+json"};
    static const char *const bodies[] = {"application/json", "application/yaml"};
    struct str base =
        str_printf(a, "/%s/%.*s%s/%.*s", k->group.len ? "apis" : "api", STR_ARG(k->api_version),
                   k->namespaced ? "/namespaces/{namespace}" : "", STR_ARG(k->plural));
    struct json_obj many = obj_in(a), one = obj_in(a);

    obj_setz(&many, "post", operation(a, k, "post", bodies, countof(bodies)));
    obj_add(paths, base, obj_done(&many));
    if (!k->stored)
        return;
    obj_setz(&one, "put", operation(a, k, "put", bodies, countof(bodies)));
    obj_setz(&one, "patch",
             operation(a, k, "patch", patches, countof(patches) - (k->style == KIND_CUSTOM)));
    obj_add(paths, str_printf(a, "%.*s/{name}", STR_ARG(base)), obj_done(&one));
}

const struct json *openapi_document(struct arena *a, const struct kind *const *kinds, size_t n,
                                    struct str title)
{
    struct gather g = {.a = a};
    struct json_obj doc = obj_in(a), info = obj_in(a), paths = obj_in(a), schemas = obj_in(a),
                    components = obj_in(a);

    for (size_t i = 0; i < n; i++) {
        add_paths(a, kinds[i], &paths);
        gather_types(&g, kinds[i]->schema);
    }
    map_each (i, &g.types) {
        const struct schema *s = *map_at(&g.types, i);
        struct json_arr which = arr_in(a);
        const struct json *type = json_new(a, openapi_schema(a, s));
        for (size_t k = 0; k < n; k++)
            if (kinds[k]->schema == s)
                arr_add(&which, gvk(a, kinds[k]));
        if (which.items.len)
            type =
                json_with(a, type, arr_done(&which), "x-kubernetes-group-version-kind", NULL);
        obj_add(&schemas, map_key(&g.types, i), *type);
    }
    map_fini(&g.types);
    obj_setz(&info, "title", json_of_str(title));
    obj_setz(&info, "version", json_of_z("1"));
    obj_setz(&components, "schemas", obj_done(&schemas));
    obj_setz(&doc, "openapi", json_of_z("3.0.0"));
    obj_setz(&doc, "info", obj_done(&info));
    obj_setz(&doc, "paths", obj_done(&paths));
    obj_setz(&doc, "components", obj_done(&components));
    return json_new(a, obj_done(&doc));
}
