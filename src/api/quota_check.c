/* quota_check.c - rules of LimitRanges and ResourceQuotas
 *
 * Source: upstream's validation of core/v1.
 */
#include "api/rules_priv.h"

#include "value/quantity.h"

static bool amount(struct field_errors *e, const struct json *amounts, struct str name,
                   struct quantity *out)
{
    const struct json *v = json_get(amounts, name);

    return json_has(v) && quantity_parse(e->arena, json_str(v), out, NULL) == 0;
}

/* Names without a domain are known ones. */
static void check_resource(struct field_errors *e, const struct field_path *p, struct str name,
                           const char *const *known, size_t n, const char *const *prefixes,
                           size_t n_prefixes, const char *what)
{
    struct json v = json_of_str(name);
    bool is_known = str_index(name, '/') != STR_NONE || str_is_one_of(name, known, n);

    if (!field_check_name(e, p, NAME_LABEL_KEY, &v))
        return;
    for (size_t i = 0; i < n_prefixes; i++)
        is_known |= str_starts(name, str_from(prefixes[i]));
    if (!is_known)
        field_invalid(e, p, &v, "%s", what);
}

/* ---- LimitRange ---- */

static const char *const words[] = {"max", "min", "default", "defaultRequest",
                                    "maxLimitRequestRatio"};

/* Amounts of one resource that must not fall: `low` is at most `high`, else the one at `told`
 * is wrong. */
static const struct {
    const char *low, *high, *told, *low_words, *high_words;
} orders[] = {
    {"min",            "max",            "min",            "min value",             "max value"            },
    {"min",            "defaultRequest", "defaultRequest", "min value",             "default request value"},
    {"defaultRequest", "max",            "defaultRequest", "default request value", "max value"            },
    {"defaultRequest", "default",        "defaultRequest", "default request value",
     "default limit value"                                                                                 },
    {"min",            "default",        "default",        "min value",             "default value"        },
    {"default",        "max",            "default",        "default value",         "max value"            },
};

/* The ratio of limit to request: at least 1, and one that max and min leave room for. */
static void check_ratio(struct field_errors *e, const struct field_path *item_at,
                        const struct json *item, struct str name)
{
    struct field_path ratios_at = field_child(item_at, S("maxLimitRequestRatio"));
    struct field_path p = field_key(&ratios_at, name);
    const struct json *ratios = json_getz(item, "maxLimitRequestRatio");
    struct quantity ratio, min, max, one = quantity_of(1, 0, QUANTITY_DECIMAL_SI);

    if (!amount(e, ratios, name, &ratio))
        return;
    if (quantity_cmp(&ratio, &one) < 0)
        field_invalid(e, &p, json_get(ratios, name), "ratio %.*s is less than 1",
                      STR_ARG(json_str(json_get(ratios, name))));
    if (!amount(e, json_getz(item, "min"), name, &min) ||
        !amount(e, json_getz(item, "max"), name, &max) || quantity_sign(&min) <= 0)
        return;
    double most = quantity_f64(&max) / quantity_f64(&min);
    if (quantity_f64(&ratio) > most)
        field_invalid(e, &p, json_get(ratios, name), "ratio %.*s is greater than max/min = %f",
                      STR_ARG(json_str(json_get(ratios, name))), most);
}

static void check_limits_of(struct field_errors *e, const struct field_path *item_at,
                            const struct json *item, struct str name)
{
    for (size_t i = 0; i < countof(orders); i++) {
        struct field_path list_at = field_child(item_at, str_from(orders[i].told));
        struct field_path p = field_key(&list_at, name);
        const struct json *told = json_get(json_get(item, str_from(orders[i].told)), name);
        struct str low_text = json_str(json_get(json_get(item, str_from(orders[i].low)), name));
        struct str high_text =
            json_str(json_get(json_get(item, str_from(orders[i].high)), name));
        struct quantity low, high;
        if (amount(e, json_get(item, str_from(orders[i].low)), name, &low) &&
            amount(e, json_get(item, str_from(orders[i].high)), name, &high) &&
            quantity_cmp(&low, &high) > 0)
            field_invalid(e, &p, told, "%s %.*s is greater than %s %.*s", orders[i].low_words,
                          STR_ARG(low_text), orders[i].high_words, STR_ARG(high_text));
    }
    check_ratio(e, item_at, item, name);
}

void limit_range_item_check(const struct schema_at *at)
{
    static const char *const known[] = {"cpu", "memory", "storage", "ephemeral-storage"};
    static const char *const prefixes[] = {"hugepages-"};
    struct str type = json_str(json_getz(at->v, "type"));
    MAP(bool) names = {0};

    for (size_t i = 0; i < countof(words); i++) {
        struct field_path list_at = field_child(at->path, str_from(words[i]));
        const struct json *list = json_get(at->v, str_from(words[i]));
        if (str_eqz(type, "Pod") && str_starts(str_from(words[i]), S("default")) &&
            json_len(list))
            field_forbidden(at->errors, &list_at, "may not be specified when `type` is 'Pod'");
        json_each_member (m, list) {
            struct field_path p = field_key(&list_at, m->name);
            check_resource(at->errors, &p, m->name, known, countof(known), prefixes,
                           countof(prefixes),
                           "must be a standard resource type or fully qualified");
            *map_put(&names, m->name) = true;
        }
    }
    if (str_eqz(type, "PersistentVolumeClaim") &&
        !json_get(json_getz(at->v, "min"), S("storage")) &&
        !json_get(json_getz(at->v, "max"), S("storage")))
        field_required(at->errors, at->path,
                       "either minimum or maximum storage value is required, but neither was "
                       "provided");
    map_each (i, &names)
        check_limits_of(at->errors, at->path, at->v, map_key(&names, i));
    map_fini(&names);
}

void limit_range_check(const struct schema_at *at)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path limits_at = field_child(&spec_at, S("limits"));
    const struct json *limits = json_path(at->v, "spec", "limits", NULL);
    MAP(bool) seen = {0};

    json_each (i, limits) {
        struct field_path item = field_item(&limits_at, i);
        struct field_path p = field_child(&item, S("type"));
        const struct json *type = json_getz(json_at(limits, i), "type");
        bool *was = map_put(&seen, json_str(type));
        if (*was)
            field_duplicate(at->errors, &p, type);
        *was = true;
    }
    map_fini(&seen);
}

/* ---- ResourceQuota ---- */

static void check_hard(struct field_errors *e, const struct field_path *p,
                       const struct json *hard)
{
    static const char *const known[] = {"cpu",
                                        "memory",
                                        "storage",
                                        "ephemeral-storage",
                                        "requests.cpu",
                                        "requests.memory",
                                        "requests.storage",
                                        "requests.ephemeral-storage",
                                        "limits.cpu",
                                        "limits.memory",
                                        "limits.ephemeral-storage",
                                        "pods",
                                        "services",
                                        "replicationcontrollers",
                                        "resourcequotas",
                                        "secrets",
                                        "configmaps",
                                        "persistentvolumeclaims",
                                        "services.nodeports",
                                        "services.loadbalancers"};
    static const char *const prefixes[] = {"hugepages-", "requests.hugepages-"};

    json_each_member (m, hard) {
        struct field_path item = field_key(p, m->name);
        struct quantity q, whole;
        check_resource(e, &item, m->name, known, countof(known), prefixes, countof(prefixes),
                       "must be a standard resource for quota");
        if (!amount(e, hard, m->name, &q))
            continue;
        whole = quantity_round(e->arena, &q, 0, NULL);
        bool is_count = str_is_one_of(m->name, known + 11, countof(known) - 11) ||
                        str_starts(m->name, S("count/"));
        if (quantity_sign(&q) < 0)
            field_invalid(e, &item, &m->value, "must be greater than or equal to 0");
        else if (is_count && quantity_cmp(&q, &whole) != 0)
            field_invalid(e, &item, &m->value, "must be an integer");
    }
}

static const char *const scopes[] = {"Terminating",   "NotTerminating",
                                     "BestEffort",    "NotBestEffort",
                                     "PriorityClass", "CrossNamespacePodAffinity"};

static bool has_text(const struct json *list, const char *text)
{
    json_each (i, list)
        if (str_eqz(json_str(json_at(list, i)), text))
            return true;
    return false;
}

static void check_scopes(const struct schema_at *at, const struct field_path *p,
                         const struct json *list)
{
    json_each (i, list) {
        struct field_path item = field_item(p, i);
        if (!str_is_one_of(json_str(json_at(list, i)), scopes, countof(scopes)))
            field_invalid(at->errors, &item, json_at(list, i), "unsupported scope");
    }
    for (size_t i = 0; i < 4; i += 2)
        if (has_text(list, scopes[i]) && has_text(list, scopes[i + 1]))
            field_invalid(at->errors, p, list, "conflicting scopes");
}

static void check_selector(const struct schema_at *at, const struct field_path *p,
                           const struct json *selector)
{
    static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist"};
    struct field_path list_at = field_child(p, S("matchExpressions"));
    const struct json *list = json_getz(selector, "matchExpressions");

    json_each (i, list) {
        const struct json *one = json_at(list, i), *name = json_getz(one, "scopeName");
        const struct json *operator= json_getz(one, "operator");
        struct field_path item = field_item(&list_at, i);
        struct field_path name_at = field_child(&item, S("scopeName"));
        struct field_path operator_at = field_child(&item, S("operator"));
        struct field_path values_at = field_child(&item, S("values"));
        size_t n = json_len(json_getz(one, "values"));
        bool is_set = str_is_one_of(json_str(operator), operators, 2);

        if (!str_is_one_of(json_str(name), scopes, countof(scopes)))
            field_invalid(at->errors, &name_at, name, "unsupported scope");
        if (!str_eqz(json_str(name), "PriorityClass") && !str_eqz(json_str(operator), "Exists"))
            field_invalid(at->errors, &operator_at, operator,
                          "must be 'Exist' when scope is any of Terminating, NotTerminating, "
                          "BestEffort, NotBestEffort or CrossNamespacePodAffinity");
        if (!str_is_one_of(json_str(operator), operators, countof(operators)))
            field_invalid(at->errors, &operator_at, operator, "not a valid selector operator");
        else if (is_set && !n)
            field_required(at->errors, &values_at,
                           "must be at least one value when `operator` is 'In' or 'NotIn' for "
                           "scope selector");
        else if (!is_set && n)
            field_invalid(at->errors, &values_at, json_getz(one, "values"),
                          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for "
                          "scope selector");
    }
}

void resource_quota_check(const struct schema_at *at)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path status_at = field_child(NULL, S("status"));
    struct field_path hard_at = field_child(&spec_at, S("hard"));
    struct field_path scopes_at = field_child(&spec_at, S("scopes"));
    struct field_path selector_at = field_child(&spec_at, S("scopeSelector"));
    struct field_path status_hard_at = field_child(&status_at, S("hard"));
    struct field_path used_at = field_child(&status_at, S("used"));
    const struct json *spec = json_getz(at->v, "spec"), *old = json_getz(at->old, "spec");
    const struct json *list = json_getz(spec, "scopes"), *was = json_getz(old, "scopes");

    check_hard(at->errors, &hard_at, json_getz(spec, "hard"));
    check_scopes(at, &scopes_at, list);
    check_selector(at, &selector_at, json_getz(spec, "scopeSelector"));
    check_hard(at->errors, &status_hard_at, json_path(at->v, "status", "hard", NULL));
    check_hard(at->errors, &used_at, json_path(at->v, "status", "used", NULL));
    if (!at->old || json_len(list) + json_len(was) == 0)
        return;
    bool is_same = json_len(list) == json_len(was);
    json_each (i, list)
        is_same =
            is_same && has_text(was, str_z(at->errors->arena, json_str(json_at(list, i))));
    if (!is_same)
        field_invalid(at->errors, &scopes_at, list, "field is immutable");
}
