/* cel.c - the language's own cases, and cel-go's costs */
#include "cel_cases.h"

/* Environments differ by container and kind of enums; made once each. */
static struct cel_env *env_for(struct str container, bool is_strong)
{
    static struct {
        char container[64];
        bool is_strong;
        struct cel_env *env;
    } made[16];
    static size_t n;

    for (size_t i = 0; i < n; i++)
        if (str_eqz(container, made[i].container) && made[i].is_strong == is_strong)
            return made[i].env;
    struct cel_env_spec spec = {.kind = CEL_ENV_LANGUAGE,
                                .version = CEL_STORED,
                                .container = container,
                                .is_strong_enum = is_strong};
    assert(n < countof(made) && container.len < sizeof(made[0].container));
    snprintf(made[n].container, sizeof(made[n].container), "%.*s", STR_ARG(container));
    made[n].is_strong = is_strong;
    made[n].env = cel_env_new(&spec);
    case_messages(made[n].env);
    return made[n++].env;
}

static void declare(struct conf *t, struct cel_env *env, const struct json *types)
{
    struct err err = {0};

    json_each (i, types) {
        const struct json *d = json_at(types, i);
        struct str ident = json_str(json_getz(d, "ident"));
        const struct json *overloads = json_getz(d, "overloads");
        if (ident.len) {
            const struct cel_type *type =
                cel_env_type_of(env, json_str(json_getz(d, "type")), &err);
            if (type)
                cel_env_var(env, ident, type, 0, 0);
            else
                conf_fail(t, "type", err_str(&err), ident);
        }
        json_each (k, overloads) {
            const struct json *o = json_at(overloads, k), *params = json_getz(o, "params");
            struct buf b = buf_in(t->arena, 64);
            buf_byte(&b, '(');
            json_each (p, params)
                buf_printf(&b, "%s%.*s", p ? ", " : "", STR_ARG(json_str(json_at(params, p))));
            buf_printf(&b, ") %.*s", STR_ARG(json_str(json_getz(o, "result"))));
            if (cel_env_function(env, str_z(t->arena, json_str(json_getz(d, "function"))),
                                 str_z(t->arena, json_str(json_getz(o, "id"))),
                                 str_z(t->arena, buf_str(&b)), NULL, &err) < 0)
                conf_fail(t, "function", err_str(&err), buf_str(&b));
        }
    }
}

/* The bindings by the variables' indexes; false where a message's content is not told. */
static bool bind(struct conf *t, const struct json *types, const struct json *bindings,
                 struct cel_value *vars)
{
    size_t n = 0;

    json_each (i, types) {
        struct str ident = json_str(json_getz(json_at(types, i), "ident"));
        const struct json *b = json_get(bindings, ident);
        if (!ident.len)
            continue;
        vars[n] = b ? case_value(t, b) : (struct cel_value){0};
        if (b && vars[n].kind == CEL_ABSENT)
            return false;
        n++;
    }
    return true;
}

/* The cases write the short names of times. */
static struct str type_text(struct conf *t, const struct cel_type *type)
{
    if (type == &cel_type_timestamp || type == &cel_type_duration)
        return type == &cel_type_timestamp ? S("timestamp") : S("duration");
    return cel_type_text(t->arena, type);
}

static bool is_wire_format(struct str expr)
{
    return str_has(expr, S("type_url"));
}

static void run_case(struct conf *t, const struct json *c)
{
    struct str expr = json_str(json_getz(c, "expr")),
               section = json_str(json_getz(c, "section"));
    const struct json *expect = json_getz(c, "expect"), *types = json_getz(c, "type_env");
    const struct json *type = json_getz(expect, "type");
    struct cel_env *env = cel_env_extend(
        env_for(json_str(json_getz(c, "container")), str_starts(section, S("strong_"))));
    struct cel_compile opts = {.is_unchecked = json_bool(json_getz(c, "disable_check"), false),
                               .no_macros = json_bool(json_getz(c, "disable_macros"), false)};
    struct cel_issues issues = {.arena = t->arena};
    struct cel_value vars[16] = {0}, v;
    bool is_error = json_getz(expect, "error") != NULL;

    if (is_wire_format(expr)) {
        conf_skip(t, "messages in wire format (Any by type_url) are not read");
        cel_env_free(env);
        return;
    }
    if (str_has(expr, S("proto.getExt")) || str_has(expr, S("proto.hasExt")) ||
        str_starts(section, S("extensions_"))) {
        conf_skip(t, "extension fields of proto2 are not declared");
        cel_env_free(env);
        return;
    }
    declare(t, env, types);
    struct cel_program *p = cel_compile(env, expr, &opts, &issues);
    if (!p) {
        if (!is_error)
            conf_fail(t, "does not compile", cel_issues_text(t->arena, &issues, expr), expr);
        cel_env_free(env);
        return;
    }
    if (type)
        conf_same_str(t, "type", type_text(t, cel_program_type(p)), json_str(type));
    if (!json_bool(json_getz(c, "check_only"), false)) {
        if (!bind(t, types, json_getz(c, "bindings"), vars)) {
            conf_skip(t, "the case does not tell the content of a message");
        } else {
            struct cel_run run = {.arena = t->arena, .vars = vars};
            v = cel_eval(p, &run);
            if (is_error && v.kind != CEL_ERROR)
                conf_fail(t, "no error", cel_show(t->arena, v),
                          json_text(t->arena, json_getz(expect, "error")));
            else if (!is_error)
                case_same(t, "value", v, json_getz(expect, "value"));
        }
    }
    cel_program_free(p);
    cel_env_free(env);
}

/* ---- costs ---- */

struct max_sizes {
    const struct json *sizes;
    bool all_bytes; /* of unknown size: 12 */
};

static bool max_size(void *ctx, const struct str *path, size_t n, const struct cel_type *type,
                     struct cel_range *out)
{
    const struct max_sizes *m = ctx;
    char text[256];
    size_t len = 0;

    for (size_t i = 0; i < n && len < sizeof(text) - 64; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s", i ? "." : "",
                                STR_ARG(path[i]));
    const struct json *v = n ? json_get(m->sizes, str_of(text, len)) : NULL;
    *out = (struct cel_range){0, v ? case_u64(v) : 12};
    return v || (m->all_bytes && type->kind == CEL_T_BYTES);
}

static void run_cost(struct conf *t, const struct json *c)
{
    static struct cel_env *envs[2];
    bool has_cost = json_bool(json_getz(c, "has_cost"), true);
    struct str expr = json_str(json_getz(c, "expr"));
    const struct json *vars = json_getz(c, "vars"), *want = json_getz(c, "want");
    bool is_run = str_eqz(json_str(json_getz(c, "kind")), "runtime");
    struct max_sizes sizes = {json_getz(c, "max_sizes"), !is_run};
    struct cel_issues issues = {.arena = t->arena};
    struct cel_value values[16] = {0};
    struct err err = {0};

    if (!envs[has_cost]) {
        struct cel_env_spec spec = {
            .kind = CEL_ENV_GO, .version = CEL_STORED, .presence_costs = has_cost};
        envs[has_cost] = cel_env_new(&spec);
        case_messages(envs[has_cost]);
    }
    struct cel_env *env = cel_env_extend(envs[has_cost]);
    cel_env_sizes(env, max_size, &sizes);
    cel_env_cost(env, "getFullYear", "timestamp_to_year", 7);
    json_each (i, vars) {
        const struct json *v = json_at(vars, i);
        struct str name = json_str(json_getz(v, "name"));
        const struct cel_type *type =
            cel_env_type_of(env, json_str(json_getz(v, "type")), &err);
        const struct json *b = json_get(json_getz(c, "bindings"), name);
        int index = cel_env_var(env, name, type, 0, 0);
        if (b)
            values[index] = case_value(t, b);
        if (b && values[index].kind == CEL_ABSENT)
            conf_skip(t, "the case does not tell the content of a message");
    }
    struct cel_program *p = cel_compile(env, expr, NULL, &issues);
    if (!p) {
        conf_fail(t, "does not compile", cel_issues_text(t->arena, &issues, expr), expr);
    } else {
        if (json_getz(want, "estimate"))
            case_same_range(t, cel_program_estimate(p), json_getz(want, "estimate"));
        if (is_run) {
            struct cel_run run = {.arena = t->arena, .vars = values};
            run.limit = case_u64(json_getz(c, "limit"));
            struct cel_value v = cel_eval(p, &run);
            bool is_over = v.kind == CEL_ERROR && v.form == CEL_E_COST;
            if (is_over != json_bool(json_getz(want, "limit_exceeded"), false))
                conf_fail(t, "limit", cel_show(t->arena, v), S(""));
            if (json_getz(want, "cost"))
                case_same_u64(t, "cost", run.cost, json_getz(want, "cost"));
        }
        cel_program_free(p);
    }
    cel_env_free(env);
}

static const struct conf_file files[] = {
    {.name = "cases*", .run = run_case},
    {.name = "cost*",  .run = run_cost},
};
const struct conf_suite suite_cel = {"cel", files, countof(files)};
