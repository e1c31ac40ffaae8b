/* priority.c - a workload's rank */
#include "api/priority.h"

static const struct json *find_named(const struct json *const *classes, size_t n,
                                     struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(json_str(json_path(classes[i], "metadata", "name", NULL)), name))
            return classes[i];
    return NULL;
}

static const struct json *find_default(const struct json *const *classes, size_t n)
{
    const struct json *least = NULL;

    for (size_t i = 0; i < n; i++)
        if (json_bool(json_getz(classes[i], "globalDefault"), false) &&
            (!least || json_i64(json_getz(classes[i], "value"), 0) <
                           json_i64(json_getz(least, "value"), 0)))
            least = classes[i];
    return least;
}

static struct priority_source source_of(const struct json *class, struct str group,
                                        struct str kind)
{
    return (struct priority_source){
        .group = group,
        .kind = kind,
        .name = json_str(json_path(class, "metadata", "name", NULL)),
        .value = json_i64(json_getz(class, "value"), 0),
    };
}

int priority_of_class(const struct json *const *classes, size_t n, struct str name,
                      struct priority_source *out, struct err *err)
{
    const struct json *c = name.len ? find_named(classes, n, name) : find_default(classes, n);

    if (!c && name.len)
        return err_set(err, ERR_NOT_FOUND,
                       "priorityclasses.scheduling.k8s.io \"%.*s\" not found", STR_ARG(name));
    *out = c ? source_of(c, S("scheduling.k8s.io"), S("PriorityClass"))
             : (struct priority_source){0};
    return 0;
}

int priority_of_workload_class(const struct json *const *classes, size_t n, struct str name,
                               struct priority_source *out, struct err *err)
{
    const struct json *c = find_named(classes, n, name);

    if (!c)
        return err_set(err, ERR_NOT_FOUND,
                       "workloadpriorityclasses.kueue.x-k8s.io \"%.*s\" not found",
                       STR_ARG(name));
    *out = source_of(c, S("kueue.x-k8s.io"), S("WorkloadPriorityClass"));
    return 0;
}

int priority_boost(const struct json *annotations, int64_t *out, struct err *err)
{
    struct str text = json_str(json_get(annotations, S(PRIORITY_BOOST_ANNOTATION)));
    int64_t v = 0;

    *out = 0;
    if (text.len == 0)
        return 0;
    if (!str_to_i64(text, &v) || v < INT32_MIN || v > INT32_MAX)
        return err_set(err, ERR_INVALID, "annotation '%s' is no number of 32 bits: '%.*s'",
                       PRIORITY_BOOST_ANNOTATION, (int)MIN(text.len, (size_t)64), text.at);
    *out = v;
    return 0;
}

int64_t priority_effective(const struct json *workload, bool has_boost)
{
    int64_t boost = 0;

    if (has_boost)
        priority_boost(json_path(workload, "metadata", "annotations", NULL), &boost, NULL);
    return json_i64(json_path(workload, "spec", "priority", NULL), 0) + boost;
}
