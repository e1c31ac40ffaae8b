/* job_news.c - which changes of a queued Job and its Workload its controller has to look at */
#include "controllers/job_news.h"

#include "json/json.h"

static bool differ(const struct json *was, const struct json *now, const char *const *fields,
                   size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!json_eq(json_get(was, str_from(fields[i])), json_get(now, str_from(fields[i]))))
            return true;
    return false;
}
#define DIFFER(was, now, fields) differ((was), (now), (fields), countof(fields))

/* Conditions that a pass looks at, by place; NULL where there is none. */
#define MAX_SEEN 5

static void find_conditions(const struct json *status, const struct str *types, size_t n,
                            const struct json **out)
{
    const struct json *list = json_getz(status, "conditions");

    memset(out, 0, MAX_SEEN * sizeof(*out));
    json_each (i, list) {
        struct str type = json_str(json_getz(json_at(list, i), "type"));
        for (size_t k = 0; k < n; k++)
            if (str_eq(type, types[k]))
                out[k] = json_at(list, i);
    }
}

static bool is_true(const struct json *condition)
{
    return str_eqz(json_str(json_getz(condition, "status")), "True");
}

/* Is one of the first n_truths true that was not, or the other way round; or is one of the
 * others not what it was in every part? */
static bool conditions_differ(const struct json *was, const struct json *now,
                              const struct str *types, size_t n_truths, size_t n)
{
    const struct json *old[MAX_SEEN], *new[MAX_SEEN];

    assert(n <= MAX_SEEN);
    if (json_is_shared(json_getz(was, "conditions"), json_getz(now, "conditions")))
        return false;
    find_conditions(was, types, n, old);
    find_conditions(now, types, n, new);
    for (size_t i = 0; i < n; i++)
        if (i < n_truths ? is_true(old[i]) != is_true(new[i]) : !json_eq(old[i], new[i]))
            return true;
    return false;
}

static int64_t active_of(const struct json *status)
{
    return json_i64(json_getz(status, "active"), 0);
}

bool job_is_news(const struct json *was, const struct json *now, bool tells_ready)
{
    static const char *const of_meta[] = {"labels", "annotations", "deletionTimestamp", "uid"};
    static const char *const of_many[] = {"succeeded", "completedIndexes", "failedIndexes"};
    static const char *const of_ready[] = {"succeeded", "ready", "uncountedTerminatedPods"};
    static const struct str ends[] = {S_INIT("Complete"), S_INIT("Failed")};
    const struct json *old = json_getz(was, "status"), *status = json_getz(now, "status");
    const struct json *spec = json_getz(now, "spec");
    bool is_many = json_i64(json_getz(spec, "parallelism"), 1) > 1;
    bool is_stopped = json_bool(json_getz(spec, "suspend"), false);

    return !json_eq(json_getz(was, "spec"), spec) ||
           DIFFER(json_getz(was, "metadata"), json_getz(now, "metadata"), of_meta) ||
           conditions_differ(old, status, ends, countof(ends), countof(ends)) ||
           (is_stopped && active_of(old) && !active_of(status)) || /* its quota may go */
           (is_many && DIFFER(old, status, of_many)) ||            /* some of it may */
           (tells_ready && DIFFER(old, status, of_ready));
}

bool job_workload_is_news(const struct json *was, const struct json *now)
{
    static const char *const of_meta[] = {"ownerReferences", "deletionTimestamp", "uid"};
    static const char *const of_status[] = {"admission", "reclaimablePods"};
    /* Why it waits is told again and again; a pass asks whether it waits. */
    static const struct str types[] = {S_INIT("Finished"), S_INIT("QuotaReserved"),
                                       S_INIT("Admitted"), S_INIT("Evicted"),
                                       S_INIT("PodsReady")};
    const struct json *old = json_getz(was, "metadata"), *meta = json_getz(now, "metadata");

    return !json_eq(json_getz(was, "spec"), json_getz(now, "spec")) ||
           DIFFER(old, meta, of_meta) ||
           json_len(json_getz(meta, "finalizers")) > json_len(json_getz(old, "finalizers")) ||
           DIFFER(json_getz(was, "status"), json_getz(now, "status"), of_status) ||
           conditions_differ(json_getz(was, "status"), json_getz(now, "status"), types, 3,
                             countof(types));
}
