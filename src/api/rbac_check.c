/* rbac_check.c - rules of roles and of who gets them
 *
 * Source: upstream's validation of rbac.authorization.k8s.io/v1. The table has what is required
 * everywhere and that a binding's role stays.
 */
#include "api/rules_priv.h"

#include "schema/table.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

/* ---- roles ---- */

static void check_rule(const struct schema_at *at, const struct field_path *p,
                       const struct json *rule)
{
    struct field_path urls_at = field_child(p, S("nonResourceURLs"));
    struct field_path groups_at = field_child(p, S("apiGroups"));
    struct field_path resources_at = field_child(p, S("resources"));
    const struct json *urls = json_getz(rule, "nonResourceURLs");
    size_t n_groups = json_len(json_getz(rule, "apiGroups"));
    size_t n_resources = json_len(json_getz(rule, "resources"));

    if (json_len(urls)) {
        if (at->kind->namespaced)
            field_invalid(at->errors, &urls_at, urls,
                          "namespaced rules cannot apply to non-resource URLs");
        if (n_groups || n_resources || json_len(json_getz(rule, "resourceNames")))
            field_invalid(at->errors, &urls_at, urls,
                          "rules cannot apply to both regular resources and non-resource URLs");
        return;
    }
    if (!n_groups)
        field_required(at->errors, &groups_at,
                       "resource rules must supply at least one api group");
    if (!n_resources)
        field_required(at->errors, &resources_at,
                       "resource rules must supply at least one resource");
}

void role_check(const struct schema_at *at)
{
    struct field_path rules_at = field_child(NULL, S("rules"));
    struct field_path aggregation_at = field_child(NULL, S("aggregationRule"));
    struct field_path selectors_at = field_child(&aggregation_at, S("clusterRoleSelectors"));
    const struct json *rules = json_getz(at->v, "rules");
    const struct json *aggregation = json_getz(at->v, "aggregationRule");

    json_each (i, rules) {
        struct field_path item = field_item(&rules_at, i);
        check_rule(at, &item, json_at(rules, i));
    }
    if (json_has(aggregation) && !json_len(json_getz(aggregation, "clusterRoleSelectors")))
        field_required(at->errors, &selectors_at,
                       "at least one clusterRoleSelector required if aggregationRule is "
                       "non-nil");
}

/* ---- bindings ---- */

static void check_subject(const struct schema_at *at, const struct field_path *p,
                          const struct json *subject)
{
    static const char *const kinds[] = {"ServiceAccount", "User", "Group"};
    static const char *const ours[] = {RBAC_GROUP}, *const core[] = {""};
    struct field_path kind_at = field_child(p, S("kind"));
    struct field_path group_at = field_child(p, S("apiGroup"));
    struct field_path name_at = field_child(p, S("name"));
    struct field_path ns_at = field_child(p, S("namespace"));
    const struct json *kind = json_getz(subject, "kind"), *name = json_getz(subject, "name");
    const struct json *group = json_getz(subject, "apiGroup");
    const struct json empty = json_of_z("");
    bool is_account = str_eqz(json_str(kind), "ServiceAccount");

    if (json_str(kind).len == 0 ||
        !field_one_of(at->errors, &kind_at, kind, kinds, countof(kinds)))
        return;
    field_one_of(at->errors, &group_at, group ? group : &empty, is_account ? core : ours, 1);
    if (!is_account)
        return;
    if (json_str(name).len)
        field_check_name(at->errors, &name_at, NAME_DNS_SUBDOMAIN, name);
    if (!at->kind->namespaced && json_str(json_getz(subject, "namespace")).len == 0)
        field_required(at->errors, &ns_at, "%s", "");
}

void role_binding_check(const struct schema_at *at)
{
    static const char *const kinds[] = {"Role", "ClusterRole"};
    static const char *const groups[] = {RBAC_GROUP};
    struct field_path ref_at = field_child(NULL, S("roleRef"));
    struct field_path group_at = field_child(&ref_at, S("apiGroup"));
    struct field_path kind_at = field_child(&ref_at, S("kind"));
    struct field_path name_at = field_child(&ref_at, S("name"));
    struct field_path subjects_at = field_child(NULL, S("subjects"));
    const struct json *ref = json_getz(at->v, "roleRef"), *kind = json_getz(ref, "kind");
    const struct json *subjects = json_getz(at->v, "subjects");
    bool is_cluster = !at->kind->namespaced; /* has cluster roles only */

    field_one_of(at->errors, &group_at, json_getz(ref, "apiGroup"), groups, countof(groups));
    if (json_str(kind).len)
        field_one_of(at->errors, &kind_at, kind, kinds + is_cluster,
                     countof(kinds) - is_cluster);
    if (json_str(json_getz(ref, "name")).len)
        field_check_name(at->errors, &name_at, NAME_PATH_SEGMENT, json_getz(ref, "name"));
    json_each (i, subjects) {
        struct field_path item = field_item(&subjects_at, i);
        check_subject(at, &item, json_at(subjects, i));
    }
}
