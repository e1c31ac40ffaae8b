/* policy_check.c - rules of admission policies and of what puts them in force
 *
 * Source: upstream's validation of admissionregistration.k8s.io/v1. Expressions are text here;
 * whoever runs a policy compiles them.
 */
#include "api/rules_priv.h"

#include "base/regex.h"

#define CONDITIONS_MAX 64
#define ANNOTATIONS_MAX 20
#define VALUE_EXPRESSION_MAX 5120 /* bytes */

static struct str text(const struct json *v, const char *name)
{
    return json_str(json_get(v, str_from(name)));
}

static bool has_lines(struct str s)
{
    return str_index(s, '\n') != STR_NONE || str_index(s, '\r') != STR_NONE;
}

/* An expression that says something. */
static void check_expression(struct field_errors *e, const struct field_path *at,
                             const struct json *holder, const char *name, const char *why)
{
    struct field_path p = field_child(at, str_from(name));

    if (str_trim(text(holder, name)).len == 0)
        field_required(e, &p, "%s", why);
}

/* ---- what a rule matches ---- */

/* A list of words that is not empty, and "*" alone if at all. */
static void check_list(struct field_errors *e, const struct field_path *at,
                       const struct json *rule, const char *name, bool may_be_empty_text,
                       const char *what)
{
    struct field_path p = field_child(at, str_from(name));
    const struct json *list = json_get(rule, str_from(name));
    bool has_all = false;

    if (json_len(list) == 0)
        field_required(e, &p, "%s", "");
    json_each (i, list) {
        struct field_path item = field_item(&p, i);
        has_all |= str_eqz(json_str(json_at(list, i)), "*");
        if (!may_be_empty_text && json_str(json_at(list, i)).len == 0)
            field_required(e, &item, "%s", "");
    }
    if (has_all && json_len(list) > 1)
        field_invalid(e, &p, list, "if '*' is present, must not specify other %s", what);
}

static void check_match_rule(struct field_errors *e, const struct field_path *at,
                             const struct json *rule)
{
    struct field_path names_at = field_child(at, S("resourceNames"));
    const struct json *names = json_getz(rule, "resourceNames");
    MAP(bool) seen = {0};

    json_each (i, names) {
        struct field_path item = field_item(&names_at, i);
        bool *was = map_put(&seen, json_str(json_at(names, i)));
        field_check_name(e, &item, NAME_PATH_SEGMENT, json_at(names, i));
        if (*was)
            field_duplicate(e, &item, json_at(names, i));
        *was = true;
    }
    map_fini(&seen);
    check_list(e, at, rule, "operations", false, "operations");
    check_list(e, at, rule, "apiGroups", true, "API groups");
    check_list(e, at, rule, "apiVersions", false, "API versions");
    check_list(e, at, rule, "resources", false, "resources");
}

static void check_match(struct field_errors *e, const struct field_path *at,
                        const struct json *match)
{
    static const char *const lists[] = {"resourceRules", "excludeResourceRules"};

    for (size_t k = 0; k < countof(lists); k++) {
        struct field_path list_at = field_child(at, str_from(lists[k]));
        const struct json *list = json_get(match, str_from(lists[k]));
        json_each (i, list) {
            struct field_path item = field_item(&list_at, i);
            check_match_rule(e, &item, json_at(list, i));
        }
    }
}

/* ---- policies ---- */

static void check_validation(struct field_errors *e, const struct field_path *at,
                             const struct json *v)
{
    static const char *const reasons[] = {"Forbidden", "Invalid", "RequestEntityTooLarge",
                                          "Unauthorized"};
    struct field_path message_at = field_child(at, S("message"));
    struct field_path expression_at = field_child(at, S("messageExpression"));
    struct field_path reason_at = field_child(at, S("reason"));
    struct str message = text(v, "message"), expression = text(v, "messageExpression");

    check_expression(e, at, v, "expression", "expression is not specified");
    if (expression.len && str_trim(expression).len == 0)
        field_invalid(e, &expression_at, json_getz(v, "messageExpression"),
                      "must be non-empty if specified");
    if (message.len && str_trim(message).len == 0)
        field_invalid(e, &message_at, json_getz(v, "message"),
                      "message must be non-empty if specified");
    else if (has_lines(str_trim(message)))
        field_invalid(e, &message_at, json_getz(v, "message"),
                      "message must not contain line breaks");
    else if (!message.len && has_lines(str_trim(text(v, "expression"))))
        field_required(e, &message_at,
                       "message must be specified if expression contains line breaks");
    if (json_has(json_getz(v, "reason")))
        field_one_of(e, &reason_at, json_getz(v, "reason"), reasons, countof(reasons));
}

static void check_param_kind(struct field_errors *e, const struct field_path *at,
                             const struct json *kind)
{
    struct field_path version_at = field_child(at, S("apiVersion"));
    struct field_path kind_at = field_child(at, S("kind"));
    const struct json *version = json_getz(kind, "apiVersion"), *name = json_getz(kind, "kind");
    struct json lower = json_of_str(str_lower(e->arena, json_str(name)));
    struct str group, rest;

    if (!json_has(kind))
        return;
    if (json_str(version).len == 0)
        field_required(e, &version_at, "%s", "");
    else if (str_cut(json_str(version), '/', &group, &rest) && str_index(rest, '/') != STR_NONE)
        field_invalid(e, &version_at, version, "unexpected GroupVersion string: %.*s",
                      STR_ARG(json_str(version)));
    if (json_str(name).len == 0)
        field_required(e, &kind_at, "%s", "");
    else if (!name_is(NAME_DNS_1035_LABEL, json_str(&lower)))
        field_invalid(e, &kind_at, name,
                      "may have mixed case, but should otherwise match: %.*s",
                      STR_ARG(json_str(name)));
}

static bool is_identifier(struct str s)
{
    static struct regex *re; /* a constant, made when it is first needed */

    if (!re)
        re = regex_new(S("[_a-zA-Z][_a-zA-Z0-9]*"), NULL);
    return regex_match_full(re, s);
}

static void check_variables(struct field_errors *e, const struct field_path *spec_at,
                            const struct json *list)
{
    struct field_path list_at = field_child(spec_at, S("variables"));

    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        struct field_path name_at = field_child(&item, S("name"));
        const struct json *name = json_getz(json_at(list, i), "name");
        if (json_str(name).len == 0)
            field_required(e, &name_at, "name is not specified");
        else if (!is_identifier(json_str(name)))
            field_invalid(e, &name_at, name, "name is not a valid CEL identifier");
        check_expression(e, &item, json_at(list, i), "expression",
                         "expression is not specified");
    }
    field_check_differ(e, &list_at, list, "name");
}

static void check_conditions(struct field_errors *e, const struct field_path *spec_at,
                             const struct json *list)
{
    struct field_path list_at = field_child(spec_at, S("matchConditions"));

    if (json_len(list) > CONDITIONS_MAX) {
        field_too_many(e, &list_at, (int64_t)json_len(list), CONDITIONS_MAX);
        return;
    }
    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        struct field_path name_at = field_child(&item, S("name"));
        const struct json *name = json_getz(json_at(list, i), "name");
        if (json_str(name).len == 0)
            field_required(e, &name_at, "%s", "");
        else
            field_check_name(e, &name_at, NAME_LABEL_KEY, name);
        check_expression(e, &item, json_at(list, i), "expression", "");
    }
    field_check_differ(e, &list_at, list, "name");
}

static void check_annotations(struct field_errors *e, const struct field_path *spec_at,
                              const struct json *list)
{
    struct field_path list_at = field_child(spec_at, S("auditAnnotations"));

    if (json_len(list) > ANNOTATIONS_MAX) {
        field_too_many(e, &list_at, (int64_t)json_len(list), ANNOTATIONS_MAX);
        return;
    }
    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        struct field_path key_at = field_child(&item, S("key"));
        struct field_path value_at = field_child(&item, S("valueExpression"));
        const struct json *key = json_getz(json_at(list, i), "key");
        const struct json *value = json_getz(json_at(list, i), "valueExpression");
        if (json_str(key).len == 0)
            field_required(e, &key_at, "%s", "");
        else
            field_check_name(e, &key_at, NAME_LABEL_KEY, key);
        if (json_str(value).len > VALUE_EXPRESSION_MAX)
            field_too_long(e, &value_at, value, VALUE_EXPRESSION_MAX);
        check_expression(e, &item, json_at(list, i), "valueExpression",
                         "valueExpression is not specified");
    }
    field_check_differ(e, &list_at, list, "key");
}

void admission_policy_check(const struct schema_at *at)
{
    static const char why[] = "validations or auditAnnotations must contain at least one item";
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path param_at = field_child(&spec_at, S("paramKind"));
    struct field_path match_at = field_child(&spec_at, S("matchConstraints"));
    struct field_path rules_at = field_child(&match_at, S("resourceRules"));
    struct field_path list_at = field_child(&spec_at, S("validations"));
    struct field_path notes_at = field_child(&spec_at, S("auditAnnotations"));
    struct field_errors *e = at->errors;
    const struct json *spec = json_getz(at->v, "spec");
    const struct json *match = json_getz(spec, "matchConstraints");
    const struct json *list = json_getz(spec, "validations");
    const struct json *notes = json_getz(spec, "auditAnnotations");

    check_param_kind(e, &param_at, json_getz(spec, "paramKind"));
    if (!json_has(match))
        field_required(e, &match_at, "%s", "");
    else if (!json_len(json_getz(match, "resourceRules")))
        field_required(e, &rules_at, "%s", "");
    check_match(e, &match_at, match);
    if (!json_len(list) && !json_len(notes)) {
        field_required(e, &list_at, "%s", why);
        field_required(e, &notes_at, "%s", why);
    }
    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        check_validation(e, &item, json_at(list, i));
    }
    check_conditions(e, &spec_at, json_getz(spec, "matchConditions"));
    check_variables(e, &spec_at, json_getz(spec, "variables"));
    check_annotations(e, &spec_at, notes);
}

/* ---- what puts a policy in force ---- */

static void check_params(struct field_errors *e, const struct field_path *spec_at,
                         const struct json *ref)
{
    static const char *const actions[] = {"Allow", "Deny"};
    static const char *const either = "name and selector are mutually exclusive";
    struct field_path p = field_child(spec_at, S("paramRef"));
    struct field_path name_at = field_child(&p, S("name"));
    struct field_path selector_at = field_child(&p, S("selector"));
    struct field_path action_at = field_child(&p, S("parameterNotFoundAction"));
    const struct json *action = json_getz(ref, "parameterNotFoundAction");
    const struct json *name = json_getz(ref, "name");
    bool has_selector = json_has(json_getz(ref, "selector"));

    if (!json_has(ref))
        return;
    if (json_str(name).len)
        field_check_name(e, &name_at, NAME_PATH_SEGMENT, name);
    if (json_str(name).len && has_selector) {
        field_forbidden(e, &name_at, "%s", either);
        field_forbidden(e, &selector_at, "%s", either);
    } else if (!json_str(name).len && !has_selector) {
        field_required(e, &p, "one of name or selector must be specified");
    }
    if (!json_has(action))
        field_required(e, &action_at, "%s", "");
    else
        field_one_of(e, &action_at, action, actions, countof(actions));
}

void admission_policy_binding_check(const struct schema_at *at)
{
    static const char *const words[] = {"Deny", "Warn", "Audit"};
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path name_at = field_child(&spec_at, S("policyName"));
    struct field_path match_at = field_child(&spec_at, S("matchResources"));
    struct field_path actions_at = field_child(&spec_at, S("validationActions"));
    const struct json *spec = json_getz(at->v, "spec");
    const struct json *actions = json_getz(spec, "validationActions");
    bool has[countof(words)] = {false};

    if (text(spec, "policyName").len)
        field_check_name(at->errors, &name_at, NAME_DNS_SUBDOMAIN,
                         json_getz(spec, "policyName"));
    check_params(at->errors, &spec_at, json_getz(spec, "paramRef"));
    check_match(at->errors, &match_at, json_getz(spec, "matchResources"));
    json_each (i, actions) {
        struct field_path item = field_item(&actions_at, i);
        for (size_t k = 0; k < countof(words); k++) {
            if (!str_eqz(json_str(json_at(actions, i)), words[k]))
                continue;
            if (has[k])
                field_duplicate(at->errors, &item, json_at(actions, i));
            has[k] = true;
        }
    }
    if (has[0] && has[1])
        field_invalid(at->errors, &actions_at, actions,
                      "must not contain both Deny and Warn (repeating the same validation "
                      "failure information in the API response and headers serves no purpose)");
}
