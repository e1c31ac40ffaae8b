/* device_check.c - rules that claims, classes and slices share */
#include "api/device_check_priv.h"

#include "cel/device.h"

#define SELECTOR_COST_MAX 1000000

void device_driver_check(struct field_errors *e, const struct field_path *p,
                         const struct json *v)
{
    struct json lower = json_of_str(str_lower(e->arena, json_str(v)));

    if (json_str(v).len == 0)
        return;
    if (json_str(v).len > DEVICE_DOMAIN_MAX)
        field_too_long(e, p, v, DEVICE_DOMAIN_MAX);
    field_check_name(e, p, NAME_DNS_SUBDOMAIN, &lower);
}

void device_pool_check(struct field_errors *e, const struct field_path *p, const struct json *v)
{
    struct str rest = json_str(v), one;

    if (rest.len > DEVICE_POOL_MAX)
        field_too_long(e, p, v, DEVICE_POOL_MAX);
    for (bool more = rest.len > 0 && rest.len <= DEVICE_POOL_MAX; more;) {
        more = str_cut(rest, '/', &one, &rest);
        struct json part = json_of_str(one);
        field_check_name(e, p, NAME_DNS_SUBDOMAIN, &part);
    }
}

void device_name_check(struct field_errors *e, const struct field_path *p, struct str name,
                       bool is_full)
{
    struct json v = json_of_str(name), part;
    struct str domain = {0}, id = name;
    bool has_domain = str_cut(name, '/', &domain, &id);

    if (is_full && (!has_domain || str_index(id, '/') != STR_NONE)) {
        field_invalid(
            e, p, &v,
            "a fully qualified name must be a domain and a name separated by a slash");
        return;
    }
    if (!has_domain)
        id = name;
    if (has_domain && str_index(id, '/') != STR_NONE) {
        field_invalid(e, p, &v, "must not contain more than one slash");
        return;
    }
    part = json_of_str(domain);
    if (has_domain && domain.len == 0)
        field_invalid(e, p, &v, "the domain must not be empty");
    else if (domain.len > DEVICE_DOMAIN_MAX)
        field_too_long(e, p, &part, DEVICE_DOMAIN_MAX);
    else if (has_domain)
        field_check_name(e, p, NAME_DNS_SUBDOMAIN, &part);
    part = json_of_str(id);
    if (id.len == 0)
        field_invalid(e, p, &v, "the name must not be empty");
    else if (id.len > DEVICE_ID_MAX)
        field_too_long(e, p, &part, DEVICE_ID_MAX);
    else
        field_check_name(e, p, NAME_C_IDENTIFIER, &part);
}

void device_raw_check(struct field_errors *e, const struct field_path *p, const struct json *v)
{
    if (!json_has(v))
        field_required(e, p, "%s", "");
    else if (json_text(e->arena, v).len > DEVICE_PARAMETERS_MAX)
        field_too_long(e, p, NULL, DEVICE_PARAMETERS_MAX);
    else if (v->type != JSON_OBJECT)
        field_invalid(e, p, v, "must be a valid JSON object");
}

void device_config_check(struct field_errors *e, const struct field_path *at,
                         const struct json *config)
{
    struct field_path p = field_child(at, S("opaque"));
    struct field_path driver_at = field_child(&p, S("driver"));
    struct field_path parameters_at = field_child(&p, S("parameters"));
    const struct json *opaque = json_getz(config, "opaque");
    const struct json *parameters = json_getz(opaque, "parameters");

    if (!json_has(opaque)) {
        field_required(e, &p, "%s", "");
        return;
    }
    device_driver_check(e, &driver_at, json_getz(opaque, "driver"));
    if (json_has(parameters)) /* else told by the table */
        device_raw_check(e, &parameters_at, parameters);
}

/* What may be written by users of this release. */
static const struct cel_env *selector_env(void)
{
    static struct cel_env *env; /* a constant, made when it is first needed */

    if (!env)
        env = cel_env_new(&(struct cel_env_spec){.kind = CEL_ENV_DEVICE,
                                                 .version = 36,
                                                 .release = 37,
                                                 .gates = CEL_GATE_DEVICE_MULTI});
    return env;
}

static void check_selector(struct field_errors *e, const struct field_path *p,
                           const struct json *v)
{
    struct str text = json_str(v);
    struct cel_issues issues = {.arena = e->arena};
    struct err err = {0};

    if (text.len == 0)
        return; /* told by the table */
    if (text.len > DEVICE_EXPRESSION_MAX) {
        field_too_long(e, p, NULL, DEVICE_EXPRESSION_MAX);
        return;
    }
    struct cel_program *program = cel_compile(selector_env(), text, NULL, &issues);
    if (!program)
        field_invalid(e, p, v, "compilation failed: %.*s",
                      STR_ARG(cel_issues_text(e->arena, &issues, text)));
    else if (cel_selector_check(program, &err) < 0)
        field_invalid(e, p, v, "%.*s", STR_ARG(err_str(&err)));
    else if (cel_program_estimate(program).max > SELECTOR_COST_MAX)
        field_forbidden(e, p, "too complex, exceeds cost limit");
    cel_program_free(program);
}

void device_selectors_check(struct field_errors *e, const struct field_path *at,
                            const struct json *selectors)
{
    json_each (i, selectors) {
        struct field_path item = field_item(at, i);
        struct field_path cel_at = field_child(&item, S("cel"));
        struct field_path p = field_child(&cel_at, S("expression"));
        const struct json *cel = json_getz(json_at(selectors, i), "cel");
        if (!json_has(cel))
            field_required(e, &cel_at, "%s", "");
        else
            check_selector(e, &p, json_getz(cel, "expression"));
    }
}

size_t device_one_of_check(struct field_errors *e, const struct field_path *p,
                           const struct json *v, const char *const *names, size_t n,
                           const char *what)
{
    struct buf all = buf_in(e->arena, 64), set = buf_in(e->arena, 64);
    size_t n_set = 0;

    for (size_t i = 0; i < n; i++) {
        const struct json *member = json_get(v, str_from(names[i]));
        bool is_set = json_has(member) && !(member->type == JSON_ARRAY && member->len == 0);
        buf_printf(&all, "%s`%s`", i ? ", " : "", names[i]);
        if (is_set)
            buf_printf(&set, "%s%s", n_set++ ? ", " : "", names[i]);
    }
    struct json shown = json_of_str(buf_str(&set));
    if (n_set == 0)
        field_required(e, p, "exactly one of %.*s is required%s", STR_ARG(buf_str(&all)), what);
    else if (n_set > 1)
        field_invalid(e, p, &shown,
                      "exactly one of %.*s is required%s, but multiple fields are set",
                      STR_ARG(buf_str(&all)), what);
    return n_set;
}
