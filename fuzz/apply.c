/* Two lines of JSON, a live Job and a config: an apply is refused, or the same apply again
 * gives back the very object; a recorded update leaves field sets that can be read, and the
 * same ones where it was made before; a strategic merge patch leaves its inputs as they were.
 */
#include "schema/apply.h"
#include "api/find.h"
#include "schema/strategic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sets(struct arena *a, const struct json *object)
{
    const struct json *list = json_path(object, "metadata", "managedFields", NULL);
    struct fieldset set;

    json_each (i, list)
        assert(fieldset_read(a, json_getz(&list->items[i], "fieldsV1"), &set, NULL) == 0);
}

/* The first is seen, the second learnt, the third is known. */
static void check_steps(struct arena *a, struct apply_write w, const struct json *live,
                        const struct json *next)
{
    static const struct json_raw_path stored = {
        {S_INIT("metadata"), S_INIT("managedFields"), S_INIT("fieldsV1")},
        3
    };
    struct steps *steps = steps_new();

    live = json_parse_raw(a, json_text(a, live), &stored, NULL);
    assert(live);
    const struct json *list = json_path(live, "metadata", "managedFields", NULL);
    if (list)
        next = json_with(a, next, *list, "metadata", "managedFields", NULL);
    w.manager = S("update");
    w.is_known = true;
    struct str plain = json_text(a, apply_update(a, &w, live, next));
    w.steps = steps;
    for (int i = 0; i < 3; i++)
        assert(str_eq(json_text(a, apply_update(a, &w, live, next)), plain));
    steps_free(steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    const struct kind *job = kind_find(S("batch"), S("v1"), S("Job"));
    struct apply_write w = {.kind = job, .manager = S("fuzz"), .now = {SECOND_NS}};
    struct apply_conflicts conflicts;
    struct str head, tail;

    str_cut(str_of((const char *)data, size), '\n', &head, &tail);
    const struct json *live = json_parse(&a, head, NULL, NULL);
    const struct json *config = json_parse(&a, tail, NULL, NULL);
    if (!json_is(live, JSON_OBJECT) || !json_is(config, JSON_OBJECT))
        return 0;
    struct str live_before = json_text(&a, live), config_before = json_text(&a, config);
    if (typed_validate(job->schema, live, true, NULL) == 0 &&
        typed_validate(job->schema, config, true, NULL) == 0) {
        check_sets(&a, apply_update(&a, &w, NULL, live));
        check_sets(&a, apply_update(&a, &w, live, config));
        w.force = true;
        const struct json *once = apply_config(&a, &w, live, config, &conflicts, NULL);
        if (once) {
            assert(apply_config(&a, &w, once, config, &conflicts, NULL) == once);
            check_steps(&a, w, once, live);
        }
        check_steps(&a, w, live, config);
    }
    schema_strategic_apply(&a, job->schema, live, config, NULL);
    const struct json *diff = schema_strategic_diff(&a, job->schema, live, config, NULL);
    if (diff)
        schema_strategic_apply(&a, job->schema, live, diff, NULL);
    schema_strategic_three_way(&a, job->schema, live, config, live, false, NULL);
    assert(str_eq(json_text(&a, live), live_before));
    assert(str_eq(json_text(&a, config), config_before));
    return 0;
}
