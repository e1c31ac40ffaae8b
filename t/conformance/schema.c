/* schema.c - structural OpenAPI schemas of custom resources */
#include "conformance.h"

#include "api/apiextensions_v1.h"
#include "api/crd_check_priv.h"
#include "api/embedded.h"
#include "api/kinds.h"
#include "schema/columns.h"
#include "schema/compile.h"
#include "schema/conform.h"
#include "schema/default.h"
#include "schema/judge.h"
#include "schema/structural.h"
#include "schema/table.h"
#include "schema/validate.h"
#include "schema_parts.h"

static const struct json null_value = {.type = JSON_NULL};

static int by_text(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

static struct json sorted(struct arena *a, const struct json *list)
{
    VEC(struct json) all = {0};

    json_each (i, list)
        vec_push_in(a, &all, *json_at(list, i));
    vec_sort(&all, by_text);
    return (struct json){.type = JSON_ARRAY, .len = (uint32_t)all.len, .items = all.at};
}

/* A type may be written with or without its "FieldValue". */
static struct str plain_type(struct str type)
{
    return str_starts(type, S("FieldValue")) ? str_slice(type, 10, type.len) : type;
}

/* Type and field of each error, as a multiset. */
static struct json plain_errors(struct arena *a, const struct json *list)
{
    struct json_arr out = arr_in(a);

    json_each (i, list) {
        struct json_obj o = obj_in(a);
        const struct json *e = json_at(list, i);
        obj_setz(&o, "field", json_of_str(json_str(json_getz(e, "field"))));
        obj_setz(&o, "type", json_of_str(plain_type(json_str(json_getz(e, "type")))));
        arr_add(&out, obj_done(&o));
    }
    struct json v = arr_done(&out);
    return sorted(a, &v);
}

void schema_same_errors(struct conf *t, const struct field_errors *e, const struct json *want)
{
    struct json_arr got = arr_in(t->arena);

    vec_each (i, &e->list) {
        struct json_obj o = obj_in(t->arena);
        obj_setz(&o, "field", json_of_str(e->list.at[i].path));
        obj_setz(&o, "type", json_of_str(field_error_reason(e->list.at[i].type)));
        arr_add(&got, obj_done(&o));
    }
    struct json v = arr_done(&got), g = plain_errors(t->arena, &v);
    struct json w = plain_errors(t->arena, want);
    conf_same(t, "errors", &g, &w);
}

/* NULL where the case has no schema. */
static const struct schema *schema_of(struct conf *t, const struct json *c)
{
    const struct json *text = json_getz(c, "schema");
    struct err err = {0};
    const struct schema *s = text ? schema_compile(t->arena, text, &err) : NULL;

    if (text && !s)
        conf_fail(t, "the schema cannot be compiled", err_str(&err), S(""));
    return s;
}

static const struct json *value_of(const struct json *c)
{
    const struct json *v = json_getz(c, "value");

    if (!v)
        v = json_getz(c, "object");
    return v ? v : &null_value;
}

static struct json paths_json(struct arena *a, const struct structural_paths *p)
{
    struct json_arr out = arr_in(a);

    vec_each (i, &p->list)
        arr_add(&out, json_of_str(p->list.at[i]));
    struct json v = arr_done(&out);
    return sorted(a, &v);
}

static void check_defaults(struct conf *t, const struct json *c, const struct json *want)
{
    const struct schema *s = schema_of(t, c);
    const struct json *v = value_of(c);

    conf_same(t, "value", s ? schema_default(t->arena, s, v, NULL, false) : v, want);
    schema_compiled_free(s);
}

static void check_nulls(struct conf *t, const struct json *c, const struct json *want)
{
    const struct schema *s = schema_of(t, c);

    conf_same(t, "value", structural_prune_nulls(t->arena, s, value_of(c)), want);
    schema_compiled_free(s);
}

static void check_pruned(struct conf *t, const struct json *c, bool is_resource,
                         const struct json *want, const struct json *paths)
{
    const struct schema *s = schema_of(t, c);
    struct structural_paths dropped = {.arena = t->arena};
    const struct json *got = structural_prune(t->arena, s, value_of(c), is_resource, &dropped);
    struct json g = paths_json(t->arena, &dropped), w = sorted(t->arena, paths);

    conf_same(t, "value", got, want);
    conf_same(t, "pruned", &g, &w);
    schema_compiled_free(s);
}

static void check_lists(struct conf *t, const struct json *c, const struct field_path *root,
                        const struct json *want)
{
    const struct schema *s = schema_of(t, c);
    struct field_errors e = field_errors_in(t->arena);

    structural_check_lists(&e, s, root, value_of(c));
    schema_same_errors(t, &e, want);
    schema_compiled_free(s);
}

static void check_coerced(struct conf *t, const struct json *c, bool is_resource, bool drops,
                          const struct json *want, const struct json *unknown,
                          const struct json *error)
{
    const struct schema *s = schema_of(t, c);
    const struct schema *meta = schema_member(kind_pod.schema, S("metadata"));
    struct structural_paths told = {.arena = t->arena};
    struct field_errors e = field_errors_in(t->arena);
    const struct json *got =
        structural_coerce(t->arena, s, meta, value_of(c), is_resource, drops, &told, NULL, &e);

    if (!got != json_has(error))
        conf_fail(t, "error", field_errors_text(t->arena, &e),
                  error ? json_text(t->arena, error) : S(""));
    if (got && want) {
        struct json g = paths_json(t->arena, &told), w = sorted(t->arena, unknown);
        conf_same(t, "value", got, want);
        conf_same(t, "unknown", &g, &w);
    }
    schema_compiled_free(s);
}

/* ---- suite schema ---- */

static void run_defaulting(struct conf *t, const struct json *c)
{
    const struct json *want = json_path(c, "want", "value", NULL);

    if (str_eq(json_str(json_getz(c, "op")), S("pruneNulls")))
        check_nulls(t, c, want);
    else
        check_defaults(t, c, want);
}

static void run_pruning(struct conf *t, const struct json *c)
{
    check_pruned(t, c, json_bool(json_getz(c, "resourceRoot"), false),
                 json_path(c, "want", "value", NULL), json_path(c, "want", "pruned", NULL));
}

static void run_list_types(struct conf *t, const struct json *c)
{
    struct field_path root = field_child(NULL, S("root"));

    check_lists(t, c, &root, json_path(c, "want", "errors", NULL));
}

static void run_validation(struct conf *t, const struct json *c)
{
    const struct schema *s = schema_of(t, c);
    struct field_errors e = field_errors_in(t->arena);

    if (s)
        judge(&e, s, NULL, value_of(c));
    schema_same_errors(t, &e, json_path(c, "want", "errors", NULL));
    schema_compiled_free(s);
}

static void run_field_path(struct conf *t, const struct json *c)
{
    const struct schema *s = schema_of(t, c);
    bool has =
        structural_has_path(t->arena, s, json_str(json_getz(c, "fieldPath")), false, NULL);

    conf_same(t, "valid", json_new(t->arena, json_of_bool(has)),
              json_path(c, "want", "valid", NULL));
    schema_compiled_free(s);
}

static void run_table_cells(struct conf *t, const struct json *c)
{
    struct json got =
        column_cell(t->arena, json_str(json_getz(c, "type")), json_getz(c, "value"),
                    (struct instant){INT64_C(1767225600) * SECOND_NS});

    conf_same(t, "cell", &got, json_path(c, "want", "cell", NULL));
}

static void check_embedded(struct conf *t, const struct json *c, bool is_one,
                           const struct json *want)
{
    const struct schema *s = schema_of(t, c);
    struct field_errors e = field_errors_in(t->arena);

    if (is_one)
        embedded_check_one(&e, NULL, value_of(c));
    else
        embedded_check(&e, s, NULL, value_of(c));
    schema_same_errors(t, &e, want);
    schema_compiled_free(s);
}

static void run_metadata(struct conf *t, const struct json *c)
{
    struct str op = json_str(json_getz(c, "op"));
    const struct json *want = json_getz(c, "want");

    if (str_eq(op, S("coerce")))
        check_coerced(t, c, json_bool(json_getz(c, "includeRoot"), false),
                      json_bool(json_getz(c, "dropInvalid"), false), json_getz(want, "value"),
                      json_getz(want, "unknownFields"), json_getz(want, "error"));
    else
        check_embedded(t, c, str_eq(op, S("validateEmbedded")), json_getz(want, "errors"));
}

/* ---- whole CustomResourceDefinitions ---- */

/* In the form that the server stores. */
static const struct json *crd_of(struct conf *t, const struct json *v)
{
    const struct kind *k = &kind_crd_custom_resource_definition;
    struct err err = {0};

    if (!v)
        return NULL;
    const struct json *out = schema_conform(t->arena, k->schema, v, NULL, NULL, &err);
    if (!out)
        conf_fail(t, "the definition does not decode", err_str(&err), S(""));
    return kind_default(t->arena, k, out ? out : v, NULL);
}

static void run_crd(struct conf *t, const struct json *c)
{
    struct field_path status = field_child(NULL, S("status"));
    struct field_path stored = field_child(&status, S("storedVersions"));
    struct field_errors e = field_errors_in(t->arena);
    const struct json *names = json_getz(c, "versions");
    struct str storage = json_str(json_getz(c, "storageVersion"));
    struct json_arr versions = arr_in(t->arena);

    if (!str_eqz(json_str(json_getz(c, "op")), "storedVersions")) {
        kind_validate(&e, &kind_crd_custom_resource_definition, crd_of(t, json_getz(c, "crd")),
                      crd_of(t, json_getz(c, "old")));
        schema_same_errors(t, &e, json_path(c, "want", "errors", NULL));
        return;
    }
    json_each (i, names) {
        struct json_obj o = obj_in(t->arena);
        obj_setz(&o, "name", *json_at(names, i));
        obj_setz(&o, "storage", json_of_bool(str_eq(json_str(json_at(names, i)), storage)));
        arr_add(&versions, obj_done(&o));
    }
    struct json all = arr_done(&versions);
    crd_stored_versions_check(&e, &stored, json_getz(c, "storedVersions"), &all);
    schema_same_errors(t, &e, json_path(c, "want", "errors", NULL));
}

static void run_crd_schema(struct conf *t, const struct json *c)
{
    struct field_path spec = field_child(NULL, S("spec"));
    struct field_path validation = field_child(&spec, S("validation"));
    struct field_path at = field_child(&validation, S("openAPIV3Schema"));
    static const struct json none = {.type = JSON_OBJECT};
    const struct json *schema = json_getz(c, "schema"), *options = json_getz(c, "options");
    struct field_errors e = field_errors_in(t->arena);
    struct crd_rules rules = {
        .structural = true,
        .known_types = json_bool(json_getz(options, "requireValidPropertyType"), false),
        .pruned_defaults = json_bool(json_getz(options, "requirePrunedDefaults"), false),
        .atomic_sets = json_bool(json_getz(options, "requireAtomicSetType"), false),
        .given_keys =
            json_bool(json_getz(options, "requireMapListKeysMapSetValidation"), false),
    };

    crd_schema_check(&e, &at, schema ? schema : &none,
                     json_bool(json_getz(c, "statusEnabled"), false), &rules);
    schema_same_errors(t, &e, json_path(c, "want", "errors", NULL));
}

/* ---- suite k8scel, structural ---- */

void schema_structural(struct conf *t, const struct json *c)
{
    struct str op = json_str(json_getz(c, "op"));
    const struct json *want = json_getz(c, "want"), *object = json_getz(want, "object");
    bool root = json_bool(json_getz(c, "root"), false);
    struct field_path root_path = field_child(NULL, S("root"));

    if (str_eq(op, S("prune")))
        check_pruned(t, c, root, object, json_getz(want, "pruned"));
    else if (str_eq(op, S("default")))
        check_defaults(t, c, object);
    else if (str_eq(op, S("prune-nulls")))
        check_nulls(t, c, object);
    else if (str_eq(op, S("list-type")))
        check_lists(t, c, &root_path, json_getz(want, "errors"));
    else
        check_coerced(t, c, root, json_bool(json_getz(c, "drop_invalid"), false), object,
                      json_getz(want, "unknown"), json_getz(want, "error"));
}

static const struct conf_file files[] = {
    {.name = "crd",         .run = run_crd        },
    {.name = "crd-schema",  .run = run_crd_schema },
    {.name = "defaulting",  .run = run_defaulting },
    {.name = "field-path",  .run = run_field_path },
    {.name = "list-types",  .run = run_list_types },
    {.name = "metadata",    .run = run_metadata   },
    {.name = "pruning",     .run = run_pruning    },
    {.name = "table-cells", .run = run_table_cells},
    {.name = "validation",  .run = run_validation },
};

const struct conf_suite suite_schema = {"schema", files, countof(files)};
