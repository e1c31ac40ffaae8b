/* cron_job_check.c - rules of CronJobs */
#include "api/cron.h"
#include "api/job_check.h"
#include "api/rules_priv.h"
#include "value/zone.h"

#define NAME_MAX_BYTES 52 /* eleven more make a Job's name */
#define ZONE_PART_MAX 14

static void check_schedule(struct field_errors *e, const struct field_path *path,
                           const struct json *spec, const struct json *old)
{
    struct field_path at = field_child(path, S("schedule"));
    const struct json *v = json_getz(spec, "schedule");
    struct str text = json_str(v), was = json_str(json_getz(old, "schedule"));
    bool has_zone = json_has(json_getz(spec, "timeZone"));
    struct cron_schedule parsed;
    struct err err = {0};

    if (!text.len)
        return; /* required: the table says so */
    if (cron_parse(text, &parsed, &err) < 0)
        field_invalid(e, &at, v, "%s", err.text);
    if (!str_has(text, S("TZ")))
        return;
    if (!str_has(was, S("TZ")))
        field_invalid(e, &at, v,
                      "cannot use TZ or CRON_TZ in schedule, use timeZone field "
                      "instead");
    else if (has_zone)
        field_invalid(e, &at, v,
                      "cannot use both timeZone field and TZ or CRON_TZ in schedule");
}

static bool is_zone_part(struct str part)
{
    if (!part.len || part.len > ZONE_PART_MAX || part.at[0] == '-' || str_eqz(part, ".") ||
        str_eqz(part, ".."))
        return false;
    for (size_t i = 0; i < part.len; i++) {
        char c = part.at[i];
        bool is_alnum =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && !(c && strchr("._+-", c)))
            return false;
    }
    return true;
}

static void check_zone(struct field_errors *e, const struct field_path *path,
                       const struct json *v)
{
    struct field_path at = field_child(path, S("timeZone"));
    struct str name = json_str(v), rest = name;
    bool has_more = true;

    if (!name.len) {
        field_invalid(e, &at, v, "timeZone must be nil or non-empty string");
        return;
    }
    while (has_more) {
        struct str part;
        has_more = str_cut(rest, '/', &part, &rest);
        if (!is_zone_part(part)) {
            field_invalid(e, &at, v, "unknown time zone %.*s", STR_ARG(name));
            return;
        }
    }
    if (str_eq_nocase(name, S("local")))
        field_invalid(e, &at, v,
                      "timeZone must be an explicit time zone as defined in "
                      "https://www.iana.org/time-zones");
    if (!zone_is_known(name))
        field_invalid(e, &at, v, "unknown time zone %.*s", STR_ARG(name));
}

/* What a Job's own rules would make of what only the server may set. */
static void check_template(struct field_errors *e, const struct field_path *path,
                           const struct json *spec)
{
    static const struct json no = {.type = JSON_BOOL};
    struct field_path template_at = field_child(path, S("jobTemplate"));
    struct field_path job_at = field_child(&template_at, S("spec"));
    struct field_path selector_at = field_child(&job_at, S("selector"));
    struct field_path manual_at = field_child(&job_at, S("manualSelector"));
    const struct json *job = json_path(spec, "jobTemplate", "spec", NULL);

    if (json_has(json_getz(job, "selector")))
        field_invalid(e, &selector_at, json_getz(job, "selector"),
                      "`selector` will be auto-generated");
    if (json_bool(json_getz(job, "manualSelector"), false))
        field_not_supported(e, &manual_at, json_getz(job, "manualSelector"), &no, 1);
}

void cron_job_check_spec(struct field_errors *e, const struct field_path *path,
                         const struct json *spec, const struct json *old)
{
    const struct json *zone = json_getz(spec, "timeZone"), *was = json_getz(old, "timeZone");

    check_schedule(e, path, spec, old);
    if (json_has(zone) && (!old || !json_has(was) || !json_eq(zone, was)))
        check_zone(e, path, zone);
    check_template(e, path, spec);
}

/* ---- by the names that the tables use ---- */

void cron_job_spec_check(const struct schema_at *at)
{
    cron_job_check_spec(at->errors, at->path, at->v, at->old);
}

void cron_job_check(const struct schema_at *at)
{
    struct field_path meta_at = field_child(NULL, S("metadata"));
    struct field_path name_at = field_child(&meta_at, S("name"));
    const struct json *name = json_path(at->v, "metadata", "name", NULL);

    if (!at->old && json_str(name).len > NAME_MAX_BYTES)
        field_invalid(at->errors, &name_at, name, "must be no more than %d characters",
                      NAME_MAX_BYTES);
}
