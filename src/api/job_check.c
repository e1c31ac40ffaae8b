/* job_check.c - rules of a Job's spec, and what a new Job must be */
#include "api/job_check.h"

#include "api/batch_v1.h"
#include "api/index_list.h"
#include "api/kueue_check.h"
#include "api/rules_priv.h"
#include "value/names.h"
#include "value/selector.h"

#define MAX_PARALLEL 100000 /* of an Indexed Job */
#define MAX_FAILED_INDEXES 100000
#define MANY_COMPLETIONS 100000 /* above it, with a limit for each index, these hold: */
#define MAX_PARALLEL_OF_MANY 10000
#define MAX_FAILED_OF_MANY 10000
#define MANAGED_BY_MAX 63
#define MAX_SUCCESS_RULES 20
#define MAX_SUCCESS_INDEXES 65536 /* bytes of a list */

static const struct str generated[] = {
    S_INIT("batch.kubernetes.io/controller-uid"),
    S_INIT("batch.kubernetes.io/job-name"),
    S_INIT("controller-uid"),
    S_INIT("job-name"),
};

static void at_most(struct field_errors *e, const struct field_path *at, const struct json *v,
                    int64_t most, const char *when)
{
    if (json_i64(v, 0) > most)
        field_invalid(e, at, v, "must be less than or equal to %" PRId64 "%s", most, when);
}

/* A field of a spec's values. */
#define SPEC(spec, field) FIELD_VALUE(spec, job_spec, field)

/* ---- completion modes ---- */

static void check_indexed(struct field_errors *e, const struct field_path *path,
                          const struct schema_values *spec)
{
    struct field_path completions_at = field_child(path, S("completions"));
    struct field_path parallelism_at = field_child(path, S("parallelism"));
    struct field_path failed_at = field_child(path, S("maxFailedIndexes"));
    const struct json *completions = SPEC(spec, completions);
    const struct json *parallelism = SPEC(spec, parallelism);
    const struct json *failed = SPEC(spec, max_failed_indexes);
    bool per_index = json_has(SPEC(spec, backoff_limit_per_index));

    if (!json_has(completions))
        field_required(e, &completions_at, "when completion mode is Indexed");
    at_most(e, &parallelism_at, parallelism, MAX_PARALLEL, " when completion mode is Indexed");
    if (json_has(failed) && json_has(completions))
        at_most(e, &failed_at, failed, json_i64(completions, 0), "");
    at_most(e, &failed_at, failed, MAX_FAILED_INDEXES, "");
    if (json_i64(completions, 0) <= MANY_COMPLETIONS || !per_index)
        return;
    if (!json_has(failed))
        field_required(e, &failed_at, "must be specified when completions is above %d",
                       MANY_COMPLETIONS);
    at_most(e, &failed_at, failed, MAX_FAILED_OF_MANY,
            " when completions are above 100000 and used with backoff limit per index");
    at_most(e, &parallelism_at, parallelism, MAX_PARALLEL_OF_MANY,
            " when completions are above 100000 and used with backoff limit per index");
}

static void needs_indexed(struct field_errors *e, const struct field_path *path,
                          struct str name, const struct json *v)
{
    struct field_path at = field_child(path, name);

    if (json_has(v))
        field_invalid(e, &at, v, "requires indexed completion mode");
}

static void check_mode(struct field_errors *e, const struct field_path *path,
                       const struct schema_values *spec)
{
    struct field_path per_index_at = field_child(path, S("backoffLimitPerIndex"));
    struct str mode = json_str(SPEC(spec, completion_mode));

    if (str_eqz(mode, "Indexed")) {
        check_indexed(e, path, spec);
    } else {
        if (!mode.len || str_eqz(mode, "NonIndexed")) {
            needs_indexed(e, path, S("backoffLimitPerIndex"),
                          SPEC(spec, backoff_limit_per_index));
            needs_indexed(e, path, S("maxFailedIndexes"), SPEC(spec, max_failed_indexes));
        }
        needs_indexed(e, path, S("successPolicy"), SPEC(spec, success_policy));
    }
    if (json_has(SPEC(spec, max_failed_indexes)) &&
        !json_has(SPEC(spec, backoff_limit_per_index)))
        field_required(e, &per_index_at, "when maxFailedIndexes is specified");
}

/* ---- failure policy ---- */

static bool has_container(const struct json *pod_spec, struct str list_name, struct str name)
{
    const struct json *list = json_get(pod_spec, list_name);

    json_each (i, list) {
        if (str_eq(json_str(json_getz(json_at(list, i), "name")), name))
            return true;
    }
    return false;
}

static void check_codes(struct field_errors *e, const struct field_path *at,
                        const struct json *codes, bool is_in)
{
    struct json_set seen = {.arena = e->arena};
    bool is_falling = false;

    if (!json_len(codes))
        field_invalid(e, at, codes, "at least one value is required");
    json_each (i, codes) {
        struct field_path item = field_item(at, i);
        const struct json *code = json_at(codes, i);
        if (is_in && json_i64(code, 1) == 0)
            field_invalid(e, &item, code, "must not be 0 for the In operator");
        if (json_set_put(&seen, code))
            field_duplicate(e, &item, code);
        if (i && json_i64(json_at(codes, i - 1), 0) > json_i64(code, 0))
            is_falling = true;
    }
    if (is_falling)
        field_invalid(e, at, codes, "must be ordered");
}

static void check_exit_codes(struct field_errors *e, const struct field_path *rule_at,
                             const struct json *v, const struct json *pod_spec)
{
    struct field_path at = field_child(rule_at, S("onExitCodes"));
    struct field_path name_at = field_child(&at, S("containerName"));
    struct field_path values_at = field_child(&at, S("values"));
    const struct json *name = json_getz(v, "containerName");

    if (json_has(name) && !has_container(pod_spec, S("containers"), json_str(name)) &&
        !has_container(pod_spec, S("initContainers"), json_str(name)))
        field_invalid(
            e, &name_at, name,
            "must be one of the container or initContainer names in the pod template");
    check_codes(e, &values_at, json_getz(v, "values"),
                str_eqz(json_str(json_getz(v, "operator")), "In"));
}

static void check_conditions(struct field_errors *e, const struct field_path *rule_at,
                             const struct json *list)
{
    struct field_path at = field_child(rule_at, S("onPodConditions"));

    json_each (i, list) {
        struct field_path item = field_item(&at, i);
        struct field_path type_at = field_child(&item, S("type"));
        const struct json *type = json_getz(json_at(list, i), "type");
        struct name_faults faults = name_check(NAME_LABEL_KEY, json_str(type));
        for (size_t k = 0; k < faults.n; k++)
            field_invalid(e, &type_at, type ? type : json_new(e->arena, json_of_z("")), "%.*s",
                          STR_ARG(name_fault(e->arena, &faults, k)));
    }
}

static void check_failure_rule(struct field_errors *e, const struct field_path *at,
                               const struct json *rule, const struct schema_values *spec)
{
    struct field_path action_at = field_child(at, S("action"));
    const struct json *action = json_getz(rule, "action");
    const struct json *codes = json_getz(rule, "onExitCodes");
    const struct json *conditions = json_getz(rule, "onPodConditions");

    if (str_eqz(json_str(action), "FailIndex") &&
        !json_has(SPEC(spec, backoff_limit_per_index)))
        field_invalid(e, &action_at, action, "requires the backoffLimitPerIndex to be set");
    if (json_has(codes))
        check_exit_codes(e, at, codes, json_getz(SPEC(spec, template), "spec"));
    if (json_len(conditions))
        check_conditions(e, at, conditions);
    if (json_has(codes) && json_len(conditions))
        field_invalid(e, at, rule,
                      "specifying both OnExitCodes and OnPodConditions is not supported");
    if (!json_has(codes) && !json_len(conditions))
        field_invalid(e, at, rule,
                      "specifying one of OnExitCodes and OnPodConditions is required");
}

static void check_failure_policy(struct field_errors *e, const struct field_path *path,
                                 const struct schema_values *spec)
{
    static const struct json failed = {.type = JSON_STRING, .len = 6, .s = "Failed"};
    struct field_path at = field_child(path, S("podFailurePolicy"));
    struct field_path rules_at = field_child(&at, S("rules"));
    struct field_path template_at = field_child(path, S("template"));
    struct field_path pod_at = field_child(&template_at, S("spec"));
    struct field_path restart_at = field_child(&pod_at, S("restartPolicy"));
    struct field_path replacement_at = field_child(path, S("podReplacementPolicy"));
    const struct json *rules = json_getz(SPEC(spec, pod_failure_policy), "rules");
    const struct json *restart = json_path(SPEC(spec, template), "spec", "restartPolicy", NULL);
    const struct json *replacement = SPEC(spec, pod_replacement_policy);

    if (!json_has(SPEC(spec, pod_failure_policy)))
        return;
    if (str_eqz(json_str(restart), "OnFailure"))
        field_invalid(e, &restart_at, restart,
                      "only \"Never\" is supported when podFailurePolicy is specified");
    if (str_eqz(json_str(replacement), "TerminatingOrFailed"))
        field_not_supported(e, &replacement_at, replacement, &failed, 1);
    json_each (i, rules) {
        struct field_path item = field_item(&rules_at, i);
        check_failure_rule(e, &item, json_at(rules, i), spec);
    }
}

/* ---- success policy ---- */

static void check_success_rule(struct field_errors *e, const struct field_path *at,
                               const struct json *rule, int32_t completions)
{
    struct field_path indexes_at = field_child(at, S("succeededIndexes"));
    struct field_path count_at = field_child(at, S("succeededCount"));
    const struct json *indexes = json_getz(rule, "succeededIndexes");
    const struct json *count = json_getz(rule, "succeededCount");
    int64_t n_listed = 0;
    struct err err = {0};

    if (!json_has(indexes) && !json_has(count))
        field_required(e, at,
                       "at least one of succeededCount or succeededIndexes must be "
                       "specified");
    if (json_str(indexes).len > MAX_SUCCESS_INDEXES)
        field_too_long(e, &indexes_at, indexes, MAX_SUCCESS_INDEXES);
    if (json_has(indexes) &&
        index_list_check(json_str(indexes), completions, &n_listed, &err) < 0)
        field_invalid(e, &indexes_at, indexes, "error parsing succeededIndexes: %s", err.text);
    if (!json_has(count))
        return;
    if (json_i64(count, 0) < 0)
        field_invalid(e, &count_at, count, "must be greater than or equal to 0");
    at_most(e, &count_at, count, completions, " (the number of specified completions)");
    if (json_has(indexes))
        at_most(e, &count_at, count, n_listed,
                " (the number of indexes in the specified succeededIndexes field)");
}

/* Where there are indexes: else the mode has said that there may be none of this. */
static void check_success_policy(struct field_errors *e, const struct field_path *path,
                                 const struct schema_values *spec)
{
    struct field_path at = field_child(path, S("successPolicy"));
    struct field_path rules_at = field_child(&at, S("rules"));
    const struct json *rules = json_getz(SPEC(spec, success_policy), "rules");
    int32_t completions = (int32_t)json_i64(SPEC(spec, completions), 0);

    if (!str_eqz(json_str(SPEC(spec, completion_mode)), "Indexed") ||
        !json_has(SPEC(spec, success_policy)))
        return;
    if (!json_len(rules))
        field_required(e, &rules_at,
                       "at least one rules must be specified when the successPolicy is "
                       "specified");
    if (json_len(rules) > MAX_SUCCESS_RULES)
        field_too_many(e, &rules_at, (int64_t)json_len(rules), MAX_SUCCESS_RULES);
    json_each (i, rules) {
        struct field_path item = field_item(&rules_at, i);
        check_success_rule(e, &item, json_at(rules, i), completions);
    }
}

/* ---- the rest of a spec ---- */

static void check_managed_by(struct field_errors *e, const struct field_path *path,
                             const struct json *v)
{
    struct field_path at = field_child(path, S("managedBy"));
    struct name_faults faults = name_check(NAME_DOMAIN_PATH, json_str(v));

    if (!json_has(v))
        return;
    if (!json_str(v).len) {
        field_required(e, &at, "%s", "");
        return;
    }
    for (size_t i = 0; i < faults.n; i++)
        field_invalid(e, &at, v, "%.*s", STR_ARG(name_fault(e->arena, &faults, i)));
    if (json_str(v).len > MANAGED_BY_MAX)
        field_too_long(e, &at, v, MANAGED_BY_MAX);
}

static void check_restart(struct field_errors *e, const struct field_path *path,
                          const struct schema_values *spec)
{
    static const struct json allowed[] = {
        {.type = JSON_STRING, .len = 9, .s = "OnFailure"},
        {.type = JSON_STRING, .len = 5, .s = "Never"    },
    };
    struct field_path template_at = field_child(path, S("template"));
    struct field_path pod_at = field_child(&template_at, S("spec"));
    struct field_path at = field_child(&pod_at, S("restartPolicy"));
    const struct json *v = json_path(SPEC(spec, template), "spec", "restartPolicy", NULL);

    if (!json_str(v).len || str_eqz(json_str(v), "Always"))
        field_required(e, &at, "valid values: \"OnFailure\", \"Never\"");
    else if (!json_eq(v, &allowed[0]) && !json_eq(v, &allowed[1]))
        field_not_supported(e, &at, v, allowed, countof(allowed));
}

/* Of a Job, or of one inside a CronJob. */
void job_spec_check(const struct schema_at *at)
{
    check_mode(at->errors, at->path, at->values);
    check_managed_by(at->errors, at->path, SPEC(at->values, managed_by));
    check_failure_policy(at->errors, at->path, at->values);
    check_success_policy(at->errors, at->path, at->values);
    check_restart(at->errors, at->path, at->values);
}

/* ---- a whole Job ---- */

/* An Indexed Job's last pod has to be called something. */
static void check_pod_names(struct field_errors *e, const struct json *job)
{
    struct field_path meta_at = field_child(NULL, S("metadata"));
    struct field_path at = field_child(&meta_at, S("name"));
    const struct json *name = json_path(job, "metadata", "name", NULL);
    const struct json *spec = json_getz(job, "spec");
    int64_t completions = json_i64(json_getz(spec, "completions"), 0);

    if (!str_eqz(json_str(json_getz(spec, "completionMode")), "Indexed") || completions <= 0)
        return;
    struct str pod =
        str_printf(e->arena, "%.*s-%" PRId64, STR_ARG(json_str(name)), completions - 1);
    struct name_faults faults = name_check(NAME_DNS_LABEL, pod);
    if (faults.n)
        field_invalid(e, &at, name, "will not able to create pod with invalid DNS label: %.*s",
                      STR_ARG(pod));
}

/* A Job's selector, and the labels that it must match. */
struct selection {
    const struct json *v, *labels; /* as the Job says them */
    struct selector selector;
    bool is_wrong; /* it is told elsewhere */
    struct field_path spec, at, template, meta, labels_at;
};

static void read_selection(struct selection *x, struct arena *a, const struct json *job)
{
    const struct json *spec = json_getz(job, "spec");

    x->v = json_getz(spec, "selector");
    x->labels = json_path(spec, "template", "metadata", "labels", NULL);
    x->selector = (struct selector){.matches_nothing = true};
    x->is_wrong = json_has(x->v) && selector_of_json(a, x->v, &x->selector, NULL) < 0;
    x->spec = field_child(NULL, S("spec"));
    x->at = field_child(&x->spec, S("selector"));
    x->template = field_child(&x->spec, S("template"));
    x->meta = field_child(&x->template, S("metadata"));
    x->labels_at = field_child(&x->meta, S("labels"));
}

static void check_selector(struct field_errors *e, const struct selection *x)
{
    if (!json_has(x->v))
        field_required(e, &x->at, "%s", "");
    else if (x->is_wrong)
        return;
    if (!selector_matches_json(&x->selector, x->labels))
        field_invalid(e, &x->labels_at, x->labels,
                      "`selector` does not match template `labels`");
}

static void check_generated(struct field_errors *e, const struct json *job,
                            const struct selection *x)
{
    const struct json *meta = json_getz(job, "metadata");
    struct str uid = json_str(json_getz(meta, "uid")), name = json_str(json_getz(meta, "name"));
    struct str values[] = {uid, name, uid, name};
    struct field_path meta_at = field_child(NULL, S("metadata"));
    struct field_path uid_at = field_child(&meta_at, S("uid"));
    struct json_member wanted[countof(generated)];
    struct json all = {.type = JSON_OBJECT, .len = countof(wanted), .members = wanted};

    if (!json_has(x->v) || json_bool(json_path(job, "spec", "manualSelector", NULL), false))
        return;
    if (!uid.len)
        field_required(e, &uid_at, "%s", "");
    for (size_t i = 0; i < countof(generated); i++) {
        struct field_path at = field_key(&x->labels_at, generated[i]);
        const struct json *label = json_get(x->labels, generated[i]);
        if (!label)
            field_required(e, &at, "must be '%.*s'", STR_ARG(values[i]));
        else if (!str_eq(json_str(label), values[i]))
            field_invalid(e, &at, label, "must be '%.*s'", STR_ARG(values[i]));
        wanted[i] = (struct json_member){generated[i], json_of_str(values[i])};
    }
    if (!x->is_wrong && !selector_matches_json(&x->selector, &all))
        field_invalid(e, &x->at, x->v, "`selector` not auto-generated");
}

void job_check_create(struct field_errors *e, const struct json *job)
{
    struct selection x;

    check_pod_names(e, job);
    read_selection(&x, e->arena, job);
    check_selector(e, &x);
    check_generated(e, job, &x);
}

void job_check_update(struct field_errors *e, uint32_t options, const struct json *job,
                      const struct json *old, bool is_known)
{
    const struct json *spec = json_getz(job, "spec"), *was = json_getz(old, "spec");
    struct selection x;

    if (is_known && json_is_shared(spec, was))
        return; /* the name stays */
    check_pod_names(e, job);
    read_selection(&x, e->arena, job);
    check_selector(e, &x);
    job_check_fixed(e, options, spec, was);
}

/* ---- by the names that the tables use ---- */

/* Has nothing changed of what Kueue's rules read, since they let it pass? */
static bool is_same_request(const struct json *job, const struct json *known)
{
    static const struct str names[] = {S_INIT("labels"), S_INIT("annotations"),
                                       S_INIT("ownerReferences")};
    const struct json *meta = json_getz(job, "metadata"), *was = json_getz(known, "metadata");
    bool is_same = known && json_is_shared(json_getz(job, "spec"), json_getz(known, "spec"));

    for (size_t i = 0; is_same && i < countof(names); i++)
        is_same = json_eq(json_get(meta, names[i]), json_get(was, names[i]));
    return is_same;
}

void job_check(const struct schema_at *at)
{
    uint32_t options = at->old ? job_check_options(at->old) : 0;

    if (at->old) {
        job_check_update(at->errors, options, at->v, at->old, at->known != NULL);
        if (!json_eq(json_getz(at->v, "status"), json_getz(at->old, "status")))
            job_check_status(at->errors, options | JOB_CHECK_TRANSITIONS | JOB_CHECK_START_TIME,
                             at->v, at->old);
    } else {
        job_check_create(at->errors, at->v);
    }
    /* Kueue's webhook comes after the server's own rules, and only where they hold; it does not
     * see the status. */
    if (at->errors->list.len == 0 && !is_same_request(at->v, at->known))
        kueue_check_job(at->errors, KUEUE_CHECK_DEFAULT, at->v, at->old, false);
}
