/* The first line is an OpenAPI schema, the second (may be missing) the one it replaces, in an
 * otherwise good CustomResourceDefinition: both are judged without going astray, and one that
 * passes compiles. */
#include "api/apiextensions_v1.h"
#include "api/kinds.h"
#include "schema/compile.h"
#include "schema/default.h"
#include "schema/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json *definition(struct arena *a, const struct json *schema)
{
    const char *text =
        "{\"metadata\":{\"name\":\"things.x.org\"},\"spec\":{\"group\":\"x.org\",\"scope\":"
        "\"Cluster\",\"names\":{\"plural\":\"things\",\"kind\":\"Thing\"},\"versions\":[]},"
        "\"status\":{\"storedVersions\":[\"v1\"]}}";
    const struct json *v = json_parse(a, str_from(text), NULL, NULL);
    struct json_obj version = obj_in(a), holder = obj_in(a);
    struct json_arr versions = arr_in(a);

    obj_setz(&holder, "openAPIV3Schema", *schema);
    obj_setz(&version, "name", json_of_z("v1"));
    obj_setz(&version, "served", json_of_bool(true));
    obj_setz(&version, "storage", json_of_bool(true));
    obj_setz(&version, "schema", obj_done(&holder));
    arr_add(&versions, obj_done(&version));
    v = json_with(a, v, arr_done(&versions), "spec", "versions", NULL);
    return kind_default(a, &kind_crd_custom_resource_definition, v, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct field_errors e = field_errors_in(&a);
    const struct kind *k = &kind_crd_custom_resource_definition;
    struct str head, tail;

    str_cut(str_of((const char *)data, size), '\n', &head, &tail);
    const struct json *schema = json_parse(&a, head, NULL, NULL);
    const struct json *old = json_parse(&a, tail, NULL, NULL);
    if (!json_is(schema, JSON_OBJECT))
        return 0;
    const struct json *v = definition(&a, schema);
    kind_validate(&e, k, v, json_is(old, JSON_OBJECT) ? definition(&a, old) : NULL);
    if (e.list.len || e.n_dropped)
        return 0;
    const struct schema *s = schema_compile(&a, schema, NULL);
    assert(s);
    schema_compiled_free(s);
    return 0;
}
