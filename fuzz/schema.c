/* The first line is an OpenAPI schema, the rest a value: whatever compiles judges, prunes and
 * defaults any value, and pruning twice changes nothing.
 */
#include "schema/compile.h"
#include "schema/default.h"
#include "schema/judge.h"
#include "schema/structural.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(struct arena *a, const struct schema *s, const struct json *v)
{
    struct field_errors e = field_errors_in(a);
    const struct json *pruned = structural_prune(a, s, v, true, NULL);

    assert(json_eq(pruned, structural_prune(a, s, pruned, true, NULL)));
    judge(&e, s, NULL, v);
    structural_check_lists(&e, s, NULL, v);
    structural_prune_nulls(a, s, schema_default(a, s, pruned, NULL, false));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct str head, tail;

    str_cut(str_of((const char *)data, size), '\n', &head, &tail);
    const struct json *openapi = json_parse(&a, head, NULL, NULL);
    const struct json *v = json_parse(&a, tail, NULL, NULL);
    if (!openapi || !v)
        return 0;
    const struct schema *s = schema_compile(&a, openapi, NULL);
    if (s) {
        check_value(&a, s, v);
        schema_compiled_free(s);
    }
    return 0;
}
