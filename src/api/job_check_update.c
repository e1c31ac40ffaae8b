/* job_check_update.c - what may change in a Job's spec */
#include "api/job_check.h"

#include "api/rules_priv.h"

static bool has_condition(const struct json *job, const char *type)
{
    const struct json *list = json_path(job, "status", "conditions", NULL);

    json_each (i, list) {
        const struct json *c = json_at(list, i);
        if (str_eqz(json_str(json_getz(c, "type")), type))
            return str_eqz(json_str(json_getz(c, "status")), "True");
    }
    return false;
}

uint32_t job_check_options(const struct json *old)
{
    const struct json *status = json_getz(old, "status");
    bool is_still =
        json_bool(json_path(old, "spec", "suspend", NULL), false) &&
        json_i64(json_getz(status, "active"), 0) == 0 &&
        (!json_has(json_getz(status, "startTime")) || has_condition(old, "Suspended"));

    return is_still ? JOB_CHECK_DIRECTIVES | JOB_CHECK_RESOURCES : 0;
}

/* ---- the template ---- */

/* The old affinity, with the new one's wishes about nodes; null where none is left. */
static struct json affinity(struct arena *a, const struct json *now, const struct json *was)
{
    const struct json *merged = json_with_as(a, was, now, S("nodeAffinity"));

    if (!json_has(now) && merged->len == 0)
        return json_of_null();
    return *merged;
}

/* The old template as it would be had it asked for the same places from the start. */
static const struct json *with_directives(struct arena *a, const struct json *was,
                                          const struct json *now)
{
    static const struct str names[] = {S_INIT("nodeSelector"), S_INIT("tolerations"),
                                       S_INIT("schedulingGates")};
    const struct json *spec = json_getz(was, "spec"), *new_spec = json_getz(now, "spec");
    const struct json *meta = json_getz(was, "metadata"),
                      *new_meta = json_getz(now, "metadata");
    const struct json *wish = json_getz(new_spec, "affinity");

    for (size_t i = 0; i < countof(names); i++)
        spec = json_with_as(a, spec, new_spec, names[i]);
    if (json_has(wish) || json_has(json_getz(spec, "affinity"))) {
        struct json one = affinity(a, wish, json_getz(spec, "affinity"));
        struct json_obj out = obj_from(a, spec);
        if (one.type == JSON_NULL)
            obj_del(&out, S("affinity"));
        else
            obj_set(&out, S("affinity"), one);
        spec = json_new(a, obj_done(&out));
    }
    meta = json_with_as(a, meta, new_meta, S("labels"));
    meta = json_with_as(a, meta, new_meta, S("annotations"));
    was = json_with(a, was, *spec, "spec", NULL);
    return meta->len || json_has(new_meta) ? json_with(a, was, *meta, "metadata", NULL)
                                           : json_without(a, was, "metadata", NULL);
}

/* The old pod spec with the new one's resources, where containers stand as they stood. */
static const struct json *with_resources(struct arena *a, const struct json *was,
                                         const struct json *now, struct str list_name)
{
    const struct json *old = json_get(was, list_name), *list = json_get(now, list_name);
    struct json_arr all = arr_in(a);

    if (json_len(old) != json_len(list) || !json_len(list))
        return was;
    json_each (i, list) {
        const struct json *x = json_at(old, i), *y = json_at(list, i);
        if (!json_eq(json_getz(x, "name"), json_getz(y, "name")))
            return was;
        arr_add(&all, *json_with_as(a, x, y, S("resources")));
    }
    struct json_obj out = obj_from(a, was);
    obj_set(&out, list_name, arr_done(&all));
    return json_new(a, obj_done(&out));
}

static void check_template(struct field_errors *e, uint32_t options,
                           const struct field_path *spec_at, const struct json *now,
                           const struct json *was)
{
    struct field_path at = field_child(spec_at, S("template"));
    struct field_path pod_at = field_child(&at, S("spec"));

    if (options & JOB_CHECK_DIRECTIVES)
        was = with_directives(e->arena, was, now);
    if (options & JOB_CHECK_RESOURCES) {
        const struct json *spec = json_getz(was, "spec"), *new_spec = json_getz(now, "spec");
        spec = with_resources(e->arena, spec, new_spec, S("containers"));
        spec = with_resources(e->arena, spec, new_spec, S("initContainers"));
        if (!json_eq(spec, new_spec))
            field_invalid(e, &pod_at, new_spec, "field is immutable");
    } else if (!json_eq(was, now)) {
        field_invalid(e, &at, now, "field is immutable");
    }
}

/* ---- the rest ---- */

static void check_completions(struct field_errors *e, const struct field_path *spec_at,
                              const struct json *spec, const struct json *old)
{
    struct field_path at = field_child(spec_at, S("completions"));
    const struct json *now = json_getz(spec, "completions"),
                      *was = json_getz(old, "completions");

    if (json_eq(now, was))
        return;
    if (!str_eqz(json_str(json_getz(spec, "completionMode")), "Indexed"))
        field_invalid(e, &at, now, "field is immutable");
    else if (json_has(now) && !json_eq(now, json_getz(spec, "parallelism")))
        field_invalid(e, &at, now, "can only be modified in tandem with spec.parallelism");
}

/* One by one or all at once is decided when the Job is made. */
static void check_scheduling(struct field_errors *e, const struct field_path *spec_at,
                             const struct json *spec, const struct json *old)
{
    struct field_path scheduling_at = field_child(spec_at, S("scheduling"));
    struct field_path at = field_child(&scheduling_at, S("schedulingPolicy"));
    struct field_path gang_at = field_child(&at, S("gang"));
    struct field_path count_at = field_child(&gang_at, S("minCount"));
    const struct json *now = json_path(spec, "scheduling", "schedulingPolicy", NULL);
    const struct json *was = json_path(old, "scheduling", "schedulingPolicy", NULL);
    const struct json *count = json_path(now, "gang", "minCount", NULL);

    if (json_has(now) && json_has(was) &&
        json_has(json_getz(now, "gang")) != json_has(json_getz(was, "gang")))
        field_invalid(e, &at, now, "field is immutable");
    if (json_i64(count, 0) > json_i64(json_getz(spec, "parallelism"), 1))
        field_invalid(e, &count_at, count, "must be less than or equal to spec.parallelism");
}

void job_check_fixed(struct field_errors *e, uint32_t options, const struct json *spec,
                     const struct json *old)
{
    static const struct str fixed[] = {
        S_INIT("selector"),      S_INIT("completionMode"),       S_INIT("podFailurePolicy"),
        S_INIT("successPolicy"), S_INIT("backoffLimitPerIndex"), S_INIT("managedBy"),
    };
    struct field_path spec_at = field_child(NULL, S("spec"));

    check_completions(e, &spec_at, spec, old);
    for (size_t i = 0; i < countof(fixed); i++) {
        struct field_path at = field_child(&spec_at, fixed[i]);
        if (!json_eq(json_get(spec, fixed[i]), json_get(old, fixed[i])))
            field_invalid(e, &at, json_get(spec, fixed[i]), "field is immutable");
    }
    check_template(e, options, &spec_at, json_getz(spec, "template"),
                   json_getz(old, "template"));
    check_scheduling(e, &spec_at, spec, old);
}
