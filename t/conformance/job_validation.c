/* job_validation.c - suite job: which Jobs and CronJobs are refused, and why */
#include "api/batch_v1.h"
#include "api/cron.h"
#include "api/find.h"
#include "api/index_list.h"
#include "api/job_check.h"
#include "api/metadata.h"
#include "api/rules.h"
#include "job_parts.h"
#include "schema/default.h"
#include "schema/table.h"
#include "schema/validate.h"
#include "value/zone.h"

static int by_text(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

/* Type and field of each error, sorted. */
static struct json sorted(struct arena *a, const struct json *list)
{
    VEC(struct json) all = {0};
    struct json_arr out = arr_in(a);

    json_each (i, list) {
        struct json_obj o = obj_in(a);
        obj_setz(&o, "field", *json_getz(json_at(list, i), "field"));
        obj_setz(&o, "type", *json_getz(json_at(list, i), "type"));
        vec_push(&all, obj_done(&o));
    }
    vec_sort(&all, by_text);
    vec_each (i, &all)
        arr_add(&out, all.at[i]);
    vec_fini(&all);
    return arr_done(&out);
}

static void compare(struct conf *t, const struct json *c, const struct field_errors *e)
{
    struct json_arr got = arr_in(t->arena);
    const struct json *want = json_path(c, "wantAfterDefaulting", "errors", NULL);

    if (!want)
        want = json_path(c, "want", "errors", NULL);
    vec_each (i, &e->list) {
        struct json_obj o = obj_in(t->arena);
        obj_setz(&o, "field", json_of_str(e->list.at[i].path));
        obj_setz(&o, "type", json_of_str(field_error_reason(e->list.at[i].type)));
        arr_add(&got, obj_done(&o));
    }
    struct json all = arr_done(&got), left = sorted(t->arena, &all),
                right = sorted(t->arena, want);
    conf_same(t, "errors", &left, &right);
}

static const struct json *defaulted(struct conf *t, const struct kind *k, const struct json *v)
{
    return v ? kind_default(t->arena, k, v, NULL) : NULL;
}

static uint32_t options_of(const struct json *c)
{
    static const struct {
        const char *name;
        uint32_t option;
    } options[] = {
        {"allowMutablePodResources",               JOB_CHECK_RESOURCES },
        {"allowMutableSchedulingDirectives",       JOB_CHECK_DIRECTIVES},
        {"rejectStartTimeUpdateForUnsuspendedJob", JOB_CHECK_START_TIME},
    };
    uint32_t all = 0;

    for (size_t i = 0; i < countof(options); i++) {
        if (json_bool(json_get(json_getz(c, "options"), str_from(options[i].name)), false))
            all |= options[i].option;
    }
    return all;
}

static void check_metadata(struct field_errors *e, const struct json *v, const struct json *old)
{
    struct field_path at = field_child(NULL, S("metadata"));
    struct metadata_rule rule = {.is_namespaced = true, .name = NAME_DNS_SUBDOMAIN};

    if (old)
        metadata_check_update(e, &at, json_getz(v, "metadata"), json_getz(old, "metadata"));
    else
        metadata_check_create(e, &at, json_getz(v, "metadata"), rule);
}

static void check_job(struct conf *t, const struct json *c, struct str op,
                      struct field_errors *e)
{
    const struct json *v = defaulted(t, &kind_job, json_getz(c, "object"));
    const struct json *old = defaulted(t, &kind_job, json_getz(c, "old"));

    struct field_path status_at = field_child(NULL, S("status"));

    check_metadata(e, v, old);
    if (str_eqz(op, "updateJobStatus")) {
        schema_validate(e, &schema_job_status, KIND_NATIVE, &status_at, json_getz(v, "status"),
                        json_getz(old, "status"));
        job_check_status(e, options_of(c), v, old);
        return;
    }
    schema_validate(e, kind_job.schema, KIND_NATIVE, NULL, v, old);
    if (str_eqz(op, "createJob"))
        job_check_create(e, v);
    else
        job_check_update(e, options_of(c), v, old, true);
}

static void check_cron_job(struct conf *t, const struct json *c, struct field_errors *e)
{
    const struct json *v = defaulted(t, &kind_cron_job, json_getz(c, "object"));
    const struct json *old = defaulted(t, &kind_cron_job, json_getz(c, "old"));

    kind_validate(e, &kind_cron_job, v, old);
    check_metadata(e, v, old);
}

/* A spec alone, after another. */
static void check_cron_spec(struct conf *t, const struct json *c, struct field_errors *e)
{
    const struct json *v = json_with(t->arena, NULL, *json_getz(c, "spec"), "spec", NULL);
    const struct json *old = json_with(t->arena, NULL, *json_getz(c, "old"), "spec", NULL);

    kind_validate(e, &kind_cron_job, defaulted(t, &kind_cron_job, v),
                  defaulted(t, &kind_cron_job, old));
}

void job_validation(struct conf *t, const struct json *c)
{
    struct field_errors e = field_errors_in(t->arena);
    struct str op = json_str(json_getz(c, "op"));

    if (str_eqz(op, "cronJobSpec"))
        check_cron_spec(t, c, &e);
    else if (str_has(op, S("CronJob")))
        check_cron_job(t, c, &e);
    else
        check_job(t, c, op, &e);
    compare(t, c, &e);
}

/* Only the schedule and the zone of a CronJob's spec. */
void job_schedule_format(struct conf *t, const struct json *c)
{
    struct field_path at = field_child(NULL, S("spec"));
    struct field_errors e = field_errors_in(t->arena);
    struct json_obj spec = obj_in(t->arena), old = obj_in(t->arena);

    obj_setz(&spec, "schedule", *json_getz(c, "schedule"));
    if (json_has(json_getz(c, "timeZone")))
        obj_setz(&spec, "timeZone", *json_getz(c, "timeZone"));
    if (json_bool(json_getz(c, "tzAllowedInSchedule"), false))
        obj_setz(&old, "schedule", *json_getz(c, "schedule"));
    struct json now = obj_done(&spec), was = obj_done(&old);
    cron_job_check_spec(&e, &at, &now, &was);
    compare(t, c, &e);
}

void job_timezones(struct conf *t, const struct json *c)
{
    const struct json *names = json_getz(c, "timeZones");

    json_each (i, names) {
        if (zone_is_known(json_str(json_at(names, i))) !=
            json_bool(json_path(c, "want", "valid", NULL), false))
            conf_fail(t, "zone", json_str(json_at(names, i)), S(""));
    }
}

void job_indexes_format(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    int32_t completions = (int32_t)json_i64(json_getz(c, "completions"), 0), index;
    int64_t total = 0;

    if (json_getz(c, "indexes")) {
        int rc = index_list_check(json_str(json_getz(c, "indexes")), completions, &total, NULL);
        if ((rc < 0) != json_has(json_getz(want, "error")))
            conf_fail(t, "error", rc < 0 ? S("an error") : S("none"), S("the other"));
        if (rc == 0 && total != json_i64(json_getz(want, "total"), 0))
            conf_fail(t, "total", str_printf(t->arena, "%" PRId64, total), S(""));
        return;
    }
    struct str one = json_str(json_getz(c, "completedIndexes"));
    struct str other = json_str(json_getz(c, "failedIndexes"));
    if (index_lists_overlap(one, other, completions, &index) !=
        json_bool(json_getz(want, "overlapOrMalformed"), false))
        conf_fail(t, "overlap", one, other);
}
