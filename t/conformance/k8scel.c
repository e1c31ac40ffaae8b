/* k8scel.c - Kubernetes' libraries, their costs, and the releases that have them */
#include "cel_cases.h"
#include "schema_parts.h"

#define LAST_VERSION 45

/* Environments of the base kind by version (0: stored), made once each. */
static struct cel_env *base_env(int version)
{
    static struct cel_env *envs[LAST_VERSION + 1];
    struct cel_env_spec spec = {.kind = CEL_ENV_BASE, .version = version};

    assert(version >= 0 && version <= LAST_VERSION);
    if (!envs[version])
        envs[version] = cel_env_new(&spec);
    return envs[version];
}

static struct cel_env *library_env(void)
{
    static struct cel_env *env;
    struct cel_env_spec spec = {.kind = CEL_ENV_LIBRARY, .version = CEL_STORED};

    if (!env)
        env = cel_env_new(&spec);
    return env;
}

/* "1.31" as 31. */
static int minor_of(const struct json *v)
{
    struct str major, minor;
    int64_t n = 0;

    str_cut(json_str(v), '.', &major, &minor);
    str_to_i64(minor, &n);
    return (int)n;
}

static bool does_compile(struct conf *t, const struct cel_env *env, struct str expr)
{
    struct cel_issues issues = {.arena = t->arena};
    struct cel_program *p = cel_compile(env, expr, NULL, &issues);

    cel_program_free(p);
    return p || issues.is_program;
}

static const struct json *want_of(const struct json *c)
{
    const struct json *by_release = json_getz(c, "want_by_release");

    return by_release ? json_getz(by_release, "1.37") : json_getz(c, "want");
}

/* ---- library ---- */

static void run_library(struct conf *t, const struct json *c)
{
    struct str expr = json_str(json_getz(c, "expr"));
    const struct json *want = want_of(c), *value = json_getz(want, "value");
    struct cel_issues issues = {.arena = t->arena};
    struct cel_program *p = cel_compile(library_env(), expr, NULL, &issues);
    struct cel_run run = {.arena = t->arena};

    if (!p) {
        if (!json_getz(want, "compile_error"))
            conf_fail(t, "does not compile", cel_issues_text(t->arena, &issues, expr), expr);
        return;
    }
    struct cel_value v = cel_eval(p, &run);
    if (json_getz(want, "compile_error"))
        conf_fail(t, "compiles", cel_show(t->arena, v), S("a compile error"));
    else if (json_getz(want, "runtime_error") && v.kind != CEL_ERROR)
        conf_fail(t, "no error", cel_show(t->arena, v), S("an error"));
    else if (value)
        case_same(t, "value", v, value);
    cel_program_free(p);
}

/* ---- cost ---- */

/* Texts and bytes whose size nothing else tells are up to 12 long. */
static bool twelve(void *ctx, const struct str *path, size_t n, const struct cel_type *type,
                   struct cel_range *out)
{
    (void)ctx, (void)path, (void)n;
    *out = (struct cel_range){0, 12};
    return type->kind == CEL_T_STRING || type->kind == CEL_T_BYTES;
}

static void run_cost(struct conf *t, const struct json *c)
{
    struct str expr = json_str(json_getz(c, "expr"));
    const struct json *want = want_of(c), *vars = json_getz(c, "variables");
    struct cel_env *env = cel_env_extend(library_env());
    struct cel_issues issues = {.arena = t->arena};
    struct cel_value values[16] = {0};
    struct err err = {0};

    cel_env_sizes(env, twelve, NULL);
    json_each (i, vars) {
        const struct json *v = json_at(vars, i);
        struct str name = json_str(json_getz(v, "name"));
        const struct cel_type *type =
            cel_env_type_of(env, json_str(json_getz(v, "type")), &err);
        int index = cel_env_var(env, name, type, 0, 0);
        const struct json *b = json_get(json_getz(c, "bindings"), name);
        if (b)
            values[index] = case_value(t, b);
    }
    struct cel_program *p = cel_compile(env, expr, NULL, &issues);
    if (!p) {
        conf_fail(t, "does not compile", cel_issues_text(t->arena, &issues, expr), expr);
    } else {
        struct cel_run run = {.arena = t->arena, .vars = values};
        struct cel_value v = cel_eval(p, &run);
        if (json_getz(want, "estimate"))
            case_same_range(t, cel_program_estimate(p), json_getz(want, "estimate"));
        if (json_getz(want, "cost"))
            case_same_u64(t, "cost", run.cost, json_getz(want, "cost"));
        if (json_getz(want, "value"))
            case_same(t, "value", v, json_getz(want, "value"));
        cel_program_free(p);
    }
    cel_env_free(env);
}

/* ---- environments ---- */

static struct str field_name(struct conf *t, struct str name)
{
    return str_eqz(name, "namespace") ? S("__namespace__") : str_copy(t->arena, name);
}

static const struct cel_type *struct_type(struct conf *t, struct cel_env *env, struct str name,
                                          const struct json *fields)
{
    struct cel_type *type = arena_new(t->arena, struct cel_type);
    struct cel_field *out = arena_array(t->arena, struct cel_field, json_len(fields) + 1);
    struct err err = {0};

    json_each_member (m, fields) {
        out[type->n_fields].name = field_name(t, m->name);
        out[type->n_fields++].type = cel_env_type_of(env, json_str(&m->value), &err);
    }
    type->kind = CEL_T_STRUCT;
    type->name = name;
    type->fields = out;
    return type;
}

static struct cel_value binding(struct conf *t, const struct json *v)
{
    struct json_obj obj = obj_in(t->arena);

    if (!json_is(v, JSON_OBJECT))
        return cel_of_json(v);
    json_each_member (m, v)
        obj_set(&obj, field_name(t, m->name), m->value);
    return cel_of_json(json_new(t->arena, obj_done(&obj)));
}

static void run_base(struct conf *t, const struct json *c)
{
    bool is_stored = str_eqz(json_str(json_getz(c, "environment")), "stored");
    struct cel_env *env =
        cel_env_extend(base_env(is_stored ? CEL_STORED : minor_of(json_getz(c, "version"))));
    const struct json *vars = json_getz(c, "variables"), *types = json_getz(c, "types");
    struct str expr = json_str(json_getz(c, "expr"));
    struct cel_issues issues = {.arena = t->arena};
    struct cel_value values[16] = {0};
    bool wants = json_bool(json_getz(json_getz(c, "want"), "valid"), false);

    json_each (i, vars) {
        const struct json *v = json_at(vars, i), *until = json_getz(v, "removed");
        struct str name = json_str(json_getz(v, "name")), type = json_str(json_getz(v, "type"));
        const struct json *fields = json_get(types, type);
        struct err err = {0};
        const struct cel_type *ct =
            fields ? struct_type(t, env, type, fields) : cel_env_type_of(env, type, &err);
        int index = cel_env_var(env, name, ct, minor_of(json_getz(v, "introduced")),
                                until ? minor_of(until) : 0);
        if (index >= 0)
            values[index] = binding(t, json_get(json_getz(c, "bindings"), name));
    }
    struct cel_program *p = cel_compile(env, expr, NULL, &issues);
    if ((p != NULL) != wants) {
        conf_fail(t, "valid", p ? S("compiles") : cel_issues_text(t->arena, &issues, expr),
                  wants ? S("compiles") : S("does not"));
    } else if (p) {
        struct cel_run run = {.arena = t->arena, .vars = values};
        struct cel_value v = cel_eval(p, &run);
        if (!cel_is_true(v) && !str_starts(expr, S("[1, 2].includes(2)")))
            conf_fail(t, "value", cel_show(t->arena, v), S("true"));
    }
    cel_program_free(p);
    cel_env_free(env);
}

/* Compiles for new expressions exactly in [since, until). */
static void check_releases(struct conf *t, struct str expr, const struct json *want)
{
    bool is_never = json_bool(json_getz(want, "never"), false);
    int since = is_never ? LAST_VERSION + 1 : minor_of(json_getz(want, "since"));
    const struct json *u = json_getz(want, "until");
    int until = u ? minor_of(u) : LAST_VERSION + 1;

    for (int v = 20; v <= 40; v++) {
        bool wants = v >= since && v < until, got = does_compile(t, base_env(v), expr);
        if (got == wants)
            continue;
        conf_fail(t, "new expressions", str_printf(t->arena, "1.%d: %s", v, got ? "yes" : "no"),
                  json_text(t->arena, want));
        return;
    }
    bool stored = json_bool(json_getz(want, "stored"), false);
    if (does_compile(t, base_env(CEL_STORED), expr) != stored)
        conf_fail(t, "stored expressions", stored ? S("no") : S("yes"),
                  stored ? S("yes") : S("no"));
}

static void check_own(struct conf *t, struct str expr, const struct json *want)
{
    const struct json *value = json_getz(want, "value");
    struct str error = json_str(json_getz(want, "error"));
    struct cel_issues issues = {.arena = t->arena};
    struct cel_program *p = cel_compile(base_env(CEL_STORED), expr, NULL, &issues);
    struct cel_run run = {.arena = t->arena};

    if (!p) {
        if (json_bool(json_getz(want, "stored"), false) && !str_eqz(error, "program"))
            conf_fail(t, "does not compile", cel_issues_text(t->arena, &issues, expr), expr);
        return;
    }
    if (json_getz(want, "type"))
        conf_same_str(t, "type", cel_type_text(t->arena, cel_program_type(p)),
                      json_str(json_getz(want, "type")));
    struct cel_value v = cel_eval(p, &run);
    if (error.len && v.kind != CEL_ERROR)
        conf_fail(t, "no error", cel_show(t->arena, v), error);
    if (value)
        case_same(t, "value", v, value);
    if (json_getz(want, "estimate"))
        case_same_range(t, cel_program_estimate(p), json_getz(want, "estimate"));
    if (json_getz(want, "cost"))
        case_same_u64(t, "cost", run.cost, json_getz(want, "cost"));
    cel_program_free(p);
}

static void run_environment(struct conf *t, const struct json *c)
{
    struct str source = json_str(json_getz(c, "source")), expr = json_str(json_getz(c, "expr"));
    const struct json *want = want_of(c);

    if (str_has(source, S("TestBaseEnvironment"))) {
        run_base(t, c);
        return;
    }
    check_releases(t, expr, want);
    if (str_has(source, S("own-expressions")))
        check_own(t, expr, want);
}

static const struct conf_file files[] = {
    {.name = "library*",     .run = run_library      },
    {.name = "cost*",        .run = run_cost         },
    {.name = "environment*", .run = run_environment  },
    {.name = "structural",   .run = schema_structural},
};
const struct conf_suite suite_k8scel = {"k8scel", files, countof(files)};
