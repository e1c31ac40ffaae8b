/* dra_cel.c - device selectors, derived attributes, and selectors of named resources */
#include "dra_cel.h"

#include "cel/device.h"
#include "cel_cases.h"

/* ---- environments ---- */

static struct cel_env *device_env(int release, bool is_stored, unsigned gates)
{
    static struct cel_env *envs[2][2][4];
    struct cel_env_spec spec = {.kind = CEL_ENV_DEVICE,
                                .version = is_stored ? CEL_STORED : release - 1,
                                .release = release,
                                .gates = gates};
    struct cel_env **env = &envs[release - 36][is_stored][gates & 3];

    if (!*env)
        *env = cel_env_new(&spec);
    return *env;
}

static unsigned gates_of(const struct json *features)
{
    unsigned gates = 0;

    json_each (i, features) {
        struct str s = json_str(json_at(features, i));
        if (str_eqz(s, "DRAListTypeAttributes"))
            gates |= CEL_GATE_DEVICE_LISTS;
        if (str_eqz(s, "DRAConsumableCapacity"))
            gates |= CEL_GATE_DEVICE_MULTI;
    }
    return gates;
}

/* ---- derived attributes ---- */

static const char *member_of(struct cel_value v)
{
    switch (v.kind) {
    case CEL_BOOL:
        return "bool";
    case CEL_INT:
        return "int";
    case CEL_STRING:
        return "string";
    case CEL_SEMVER:
        return "version";
    default:
        return NULL;
    }
}

static struct json plain(struct conf *t, struct cel_value v)
{
    struct json j = json_of_null();

    cel_to_json(t->arena, v, &j);
    return j;
}

/* The value as a DeviceAttribute, or NULL. */
static const struct json *derived(struct conf *t, struct cel_value v)
{
    const char *name = member_of(v);
    struct json_obj obj = obj_in(t->arena);
    struct json_arr arr = arr_in(t->arena);

    if (name) {
        obj_set(&obj, str_from(name), plain(t, v));
        return json_new(t->arena, obj_done(&obj));
    }
    if (v.kind != CEL_LIST)
        return NULL;
    for (uint32_t i = 0; i < v.len; i++) {
        struct cel_value item = cel_at(t->arena, v, i);
        if (!member_of(item) || (name && strcmp(name, member_of(item)) != 0))
            return NULL;
        name = member_of(item);
        arr_add(&arr, plain(t, item));
    }
    obj_set(&obj, str_printf(t->arena, "%ss", name ? name : "string"), arr_done(&arr));
    return json_new(t->arena, obj_done(&obj));
}

/* ---- cases ---- */

static void check_run(struct conf *t, const struct json *c, const struct json *want,
                      const struct cel_program *p, int release, unsigned gates)
{
    bool takes_lists = release >= 37 || (gates & CEL_GATE_DEVICE_LISTS);
    struct cel_run run = {.arena = t->arena,
                          .device = cel_device_of_json(
                              t->arena, json_str(json_getz(c, "driver")), c, takes_lists)};
    struct cel_value v = cel_eval(p, &run);
    const struct json *match = json_getz(want, "match"), *attr = json_getz(want, "attribute");

    if (json_getz(want, "cost"))
        case_same_u64(t, "cost", run.cost, json_getz(want, "cost"));
    if (json_bool(json_getz(want, "cost_limit"), false) &&
        !(v.kind == CEL_ERROR && v.form == CEL_E_COST))
        conf_fail(t, "cost limit", cel_show(t->arena, v), S(""));
    if (match && (v.kind != CEL_BOOL || v.b != json_bool(match, false)))
        conf_fail(t, "match", cel_show(t->arena, v), json_text(t->arena, match));
    if (attr)
        conf_same(t, "attribute", derived(t, v), attr);
    if (!json_bool(json_getz(want, "runtime_error"), false))
        return;
    bool is_derived = json_bool(json_getz(c, "derived_attribute"), false);
    if (is_derived ? derived(t, v) != NULL : v.kind == CEL_BOOL)
        conf_fail(t, "no error", cel_show(t->arena, v), S("an error"));
}

static void check_in(struct conf *t, const struct json *c, const struct json *want, int release,
                     bool is_stored)
{
    unsigned gates = gates_of(json_getz(c, "features"));
    bool is_derived = json_bool(json_getz(c, "derived_attribute"), false);
    struct str expr = json_str(json_getz(c, "expr"));
    struct cel_issues issues = {.arena = t->arena};
    struct err err = {0};
    struct cel_program *p =
        cel_compile(device_env(release, is_stored, gates), expr, NULL, &issues);
    bool is_good =
        p && (is_derived ? cel_derived_check(p, &err) : cel_selector_check(p, &err)) == 0;

    if (is_good == json_bool(json_getz(want, "compile_error"), false))
        conf_fail(t, "compiles", is_good ? S("yes") : S("no"),
                  p ? err_str(&err) : cel_issues_text(t->arena, &issues, expr));
    if (is_good && json_getz(want, "max_cost"))
        case_same_u64(t, "worst cost", cel_program_estimate(p).max,
                      json_getz(want, "max_cost"));
    if (is_good && !json_getz(want, "compiles"))
        check_run(t, c, want, p, release, gates);
    cel_program_free(p);
}

void conf_dra_cel(struct conf *t, const struct json *c)
{
    const struct json *releases = json_getz(c, "releases");
    const struct json *environments = json_getz(c, "environments");

    json_each (i, releases) {
        int release = str_eqz(json_str(json_at(releases, i)), "1.36") ? 36 : 37;
        const struct json *by = json_getz(c, "want_by_release");
        const struct json *want =
            by ? json_get(by, json_str(json_at(releases, i))) : json_getz(c, "want");
        json_each (k, environments)
            check_in(t, c, want, release,
                     str_eqz(json_str(json_at(environments, k)), "stored"));
    }
}

/* ---- named resources ---- */

void conf_dra_named_cel(struct conf *t, const struct json *c)
{
    static struct cel_env *env;
    struct cel_env_spec spec = {.kind = CEL_ENV_NAMED, .version = 29, .release = 30};
    const struct json *want = json_getz(c, "want");
    struct str expr = json_str(json_getz(c, "expr"));
    struct cel_issues issues = {.arena = t->arena};
    struct cel_run run = {.arena = t->arena,
                          .device = cel_instance_of_json(t->arena, json_getz(c, "attributes"))};

    if (!env)
        env = cel_env_new(&spec);
    struct cel_program *p = cel_compile(env, expr, NULL, &issues);
    bool wants_value = json_getz(want, "value") != NULL || json_getz(want, "runtime_error");
    bool is_good = p && (wants_value || cel_selector_check(p, NULL) == 0);
    if (is_good == json_bool(json_getz(want, "compile_error"), false)) {
        conf_fail(t, "compiles", is_good ? S("yes") : S("no"),
                  cel_issues_text(t->arena, &issues, expr));
    } else if (is_good) {
        struct cel_value v = cel_eval(p, &run);
        const struct json *match = json_getz(want, "match");
        if (match && (v.kind != CEL_BOOL || v.b != json_bool(match, false)))
            conf_fail(t, "match", cel_show(t->arena, v), json_text(t->arena, match));
        if (json_getz(want, "runtime_error") && v.kind != CEL_ERROR)
            conf_fail(t, "no error", cel_show(t->arena, v), S("an error"));
        if (json_getz(want, "value"))
            case_same(t, "value", v, json_getz(want, "value"));
    }
    cel_program_free(p);
}
