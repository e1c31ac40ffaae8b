/* pod_check.c - rules of pods, their containers and volumes
 *
 * Source: Kubernetes' validation of core/v1, as its server answers. The table has what is
 * required and the limits of single fields.
 */
#include "api/rules_priv.h"

#include "api/core_v1.h"
#include "api/resource_list.h"
#include "value/quantity.h"

static bool is_in_status(const struct field_path *p)
{
    while (p && p->parent)
        p = p->parent;
    return p && str_eqz(p->name, "status");
}

/* The names of a list's items. */
static struct json_set names_of(struct arena *a, const struct json *list)
{
    struct json_set names = {.arena = a};

    json_each (i, list)
        json_set_put(&names, json_getz(json_at(list, i), "name"));
    return names;
}

/* ---- amounts ---- */

static bool amount(struct field_errors *e, const struct json *v, struct quantity *out)
{
    return json_has(v) && quantity_parse(e->arena, json_str(v), out, NULL) == 0;
}

void amounts_check(struct field_errors *e, const struct field_path *at,
                   const struct json *amounts)
{
    json_each_member (m, amounts) {
        struct field_path item = field_key(at, m->name);
        struct quantity q, whole;
        struct str text = json_str(&m->value);
        if (quantity_is_canonical(text) && text.at[text.len - 1] != 'm')
            continue; /* whole and above zero, as most */
        if (!amount(e, &m->value, &q))
            continue;
        whole = quantity_round(e->arena, &q, 0, NULL);
        if (quantity_sign(&q) < 0)
            field_invalid(e, &item, &m->value, "must be greater than or equal to 0");
        else if (resource_is_extended(m->name) && quantity_cmp(&q, &whole) != 0)
            field_invalid(e, &item, &m->value, "must be an integer");
    }
}

void resource_requirements_check(const struct schema_at *at)
{
    struct field_path limits_at = field_child(at->path, S("limits"));
    struct field_path requests_at = field_child(at->path, S("requests"));
    const struct json *limits = FIELD_VALUE(at->values, resource_requirements, limits);
    const struct json *requests = FIELD_VALUE(at->values, resource_requirements, requests);
    struct json_names in_limits = {0};

    if (is_in_status(at->path))
        return;
    amounts_check(at->errors, &limits_at, limits);
    amounts_check(at->errors, &requests_at, requests);
    json_each_member (m, requests) {
        const struct json *limit = json_find(at->errors->arena, &in_limits, limits, m->name);
        struct quantity q, most;
        if (str_eq(json_str(&m->value), json_str(limit)))
            continue; /* as mostly */
        if (!amount(at->errors, &m->value, &q) || !amount(at->errors, limit, &most))
            continue;
        if (resource_is_extended(m->name) && quantity_cmp(&q, &most) != 0)
            field_invalid(at->errors, &requests_at, &m->value,
                          "must be equal to %.*s limit of %.*s", STR_ARG(m->name),
                          STR_ARG(json_str(limit)));
        else if (quantity_cmp(&q, &most) > 0)
            field_invalid(at->errors, &requests_at, &m->value,
                          "must be less than or equal to %.*s limit of %.*s", STR_ARG(m->name),
                          STR_ARG(json_str(limit)));
    }
}

/* ---- one of several ---- */

/* Exactly one member besides `name`: none is required on the whole, each after the first is
 * forbidden. */
static void one_source(const struct schema_at *at, const char *const *others, size_t n_others,
                       const char *missing, const char *several)
{
    size_t n = 0;

    json_each_member (m, at->v) {
        struct field_path member = field_child(at->path, m->name);
        bool is_other = !json_has(&m->value);
        for (size_t i = 0; i < n_others; i++)
            is_other |= str_eqz(m->name, others[i]);
        if (!is_other && n++)
            field_forbidden(at->errors, &member, "%s", several);
    }
    if (!n)
        field_required(at->errors, at->path, "%s", missing);
}

void volume_check(const struct schema_at *at)
{
    static const char *const others[] = {"name"};

    one_source(at, others, countof(others), "must specify a volume type",
               "may not specify more than 1 volume type");
}

void volume_projection_check(const struct schema_at *at)
{
    one_source(at, NULL, 0, "must specify a projection type",
               "may not specify more than 1 volume type per source");
}

void probe_check(const struct schema_at *at)
{
    static const char *const others[] = {
        "initialDelaySeconds", "timeoutSeconds",   "periodSeconds",
        "successThreshold",    "failureThreshold", "terminationGracePeriodSeconds"};

    one_source(at, others, countof(others), "must specify a handler type",
               "may not specify more than 1 handler type");
}

void env_var_check(const struct schema_at *at)
{
    struct field_path name_at = field_child(at->path, S("name"));
    struct field_path from_at = field_child(at->path, S("valueFrom"));
    const struct json *name = FIELD_VALUE(at->values, env_var, name);
    const struct json *from = FIELD_VALUE(at->values, env_var, value_from);
    size_t n = 0;

    if (json_str(name).len)
        field_check_name(at->errors, &name_at, NAME_ENV_VAR_RELAXED, name);
    if (!json_has(from))
        return;
    json_each_member (m, from)
        n += json_has(&m->value);
    if (json_str(FIELD_VALUE(at->values, env_var, value)).len)
        field_invalid(at->errors, &from_at, from,
                      "may not be specified when `value` is not empty");
    if (n == 0)
        field_invalid(at->errors, &from_at, from,
                      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                      "`secretKeyRef` or `fileKeyRef`");
    else if (n > 1)
        field_invalid(at->errors, &from_at, from,
                      "may not have more than one field specified at a time");
}

/* By v1's names or by v1alpha2's `source`, and not both. */
void pod_resource_claim_check(const struct schema_at *at)
{
    struct field_path source_at = field_child(at->path, S("source"));
    const struct json *source = json_getz(at->v, "source");
    const struct json *holder = json_has(source) ? source : at->v;
    const struct field_path *holder_at = json_has(source) ? &source_at : at->path;
    size_t n_flat = json_has(json_getz(at->v, "resourceClaimName")) +
                    json_has(json_getz(at->v, "resourceClaimTemplateName"));
    size_t n = json_has(json_getz(holder, "resourceClaimName")) +
               json_has(json_getz(holder, "resourceClaimTemplateName"));

    if (json_has(source) && n_flat)
        field_invalid(at->errors, at->path, at->v,
                      "at most one of `source` and the flat names may be specified");
    else if (n != 1)
        field_invalid(at->errors, holder_at, holder,
                      "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
}

/* ---- placing ---- */

void toleration_check(const struct schema_at *at)
{
    struct field_path operator_at = field_child(at->path, S("operator"));
    struct field_path effect_at = field_child(at->path, S("effect"));
    struct str operator= json_str(json_getz(at->v, "operator"));
    const struct json *value = json_getz(at->v, "value");
    bool exists = str_eqz(operator, "Exists");

    if (!json_str(json_getz(at->v, "key")).len && !exists)
        field_invalid(at->errors, &operator_at, json_getz(at->v, "operator"),
                      "operator must be Exists when `key` is empty, which means \"match all "
                      "values and all keys\"");
    if (json_has(json_getz(at->v, "tolerationSeconds")) &&
        !str_eqz(json_str(json_getz(at->v, "effect")), "NoExecute"))
        field_invalid(at->errors, &effect_at, json_getz(at->v, "effect"),
                      "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (exists && json_str(value).len)
        field_invalid(at->errors, &operator_at, at->v,
                      "value must be empty when `operator` is 'Exists'");
    else if (!operator.len || str_eqz(operator, "Equal"))
        field_check_name(at->errors, &operator_at, NAME_LABEL_VALUE, value);
}

void node_selector_requirement_check(const struct schema_at *at)
{
    struct field_path values_at = field_child(at->path, S("values"));
    struct str operator= json_str(json_getz(at->v, "operator"));
    size_t n = json_len(json_getz(at->v, "values"));
    bool is_set = str_eqz(operator, "In") || str_eqz(operator, "NotIn");
    bool is_limit = str_eqz(operator, "Gt") || str_eqz(operator, "Lt");

    if (is_set && !n)
        field_required(at->errors, &values_at,
                       "must be specified when `operator` is 'In' or 'NotIn'");
    else if (is_limit && n != 1)
        field_required(at->errors, &values_at,
                       "must be specified single value when `operator` is 'Lt' or 'Gt'");
    else if (operator.len && !is_set && !is_limit && n)
        field_forbidden(at->errors, &values_at,
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
}

/* ---- a pod's spec ---- */

static void check_mounts(const struct schema_at *at, const struct field_path *container_at,
                         const struct json *container, const struct json_set *volumes)
{
    struct json_set paths = {.arena = at->errors->arena};
    struct field_path list_at = field_child(container_at, S("volumeMounts"));
    const struct json *list = json_getz(container, "volumeMounts");

    json_each (i, list) {
        const struct json *name = json_getz(json_at(list, i), "name");
        const struct json *path = json_getz(json_at(list, i), "mountPath");
        struct field_path item = field_item(&list_at, i);
        struct field_path name_at = field_child(&item, S("name"));
        struct field_path path_at = field_child(&item, S("mountPath"));
        if (json_str(name).len && !json_set_has(volumes, name))
            field_not_found(at->errors, &name_at, name);
        if (json_set_put(&paths, path))
            field_invalid(at->errors, &path_at, path, "must be unique");
    }
}

static void check_claims(const struct schema_at *at, const struct field_path *container_at,
                         const struct json *container, const struct json_set *claims)
{
    struct json_set seen = {.arena = at->errors->arena};
    struct field_path resources_at = field_child(container_at, S("resources"));
    struct field_path list_at = field_child(&resources_at, S("claims"));
    const struct json *list = json_path(container, "resources", "claims", NULL);

    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        const struct json *name = json_getz(json_at(list, i), "name");
        if (json_str(name).len && !json_set_has(claims, name))
            field_not_found(at->errors, &item, json_at(list, i));
        if (json_set_put(&seen, json_at(list, i)))
            field_duplicate(at->errors, &item, json_at(list, i));
    }
}

#define FEW_NAMES 8 /* which are compared with each other */

static size_t read_names(struct str *out, const struct json *list)
{
    size_t n = 0;

    json_each (i, list) {
        struct str name = json_str(json_getz(&list->items[i], "name"));
        if (name.len)
            out[n++] = name;
    }
    return n;
}

/* Are they few, and does none stand there twice? */
static bool are_few_that_differ(const struct json *list, const struct json *before)
{
    struct str names[FEW_NAMES];

    if (json_len(list) + json_len(before) > FEW_NAMES)
        return false;
    size_t n = read_names(names, list);
    n += read_names(names + n, before);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (names[i].len == names[j].len &&
                bytes_eq(names[i].at, names[j].at, names[i].len))
                return false;
    return true;
}

/* Names of a list that must differ; those of `before` count as taken. */
static void check_names(const struct schema_at *at, struct str list_name,
                        const struct json *list, const struct json *before)
{
    struct field_path list_at = field_child(at->path, list_name);

    if (!list || are_few_that_differ(list, before))
        return;
    struct json_set taken = names_of(at->errors->arena, before);
    json_each (i, list) {
        const struct json *name = json_getz(json_at(list, i), "name");
        struct field_path item = field_item(&list_at, i);
        struct field_path name_at = field_child(&item, S("name"));
        if (json_str(name).len && json_set_put(&taken, name))
            field_duplicate(at->errors, &name_at, name);
    }
}

void pod_spec_check(const struct schema_at *at)
{
    struct arena *a = at->errors->arena;
    const struct json *volumes = FIELD_VALUE(at->values, pod_spec, volumes);
    const struct json *claims = FIELD_VALUE(at->values, pod_spec, resource_claims);
    const struct json *containers = FIELD_VALUE(at->values, pod_spec, containers);
    const struct json *first = FIELD_VALUE(at->values, pod_spec, init_containers);
    const struct json *gates = FIELD_VALUE(at->values, pod_spec, scheduling_gates);
    struct json_set volume_names = names_of(a, volumes), claim_names = names_of(a, claims);
    const struct {
        struct str name;
        const struct json *list;
    } lists[] = {
        {S("initContainers"), first     },
        {S("containers"),     containers}
    };

    check_names(at, S("volumes"), volumes, NULL);
    check_names(at, S("containers"), containers, NULL);
    check_names(at, S("initContainers"), first, containers);
    check_names(at, S("resourceClaims"), claims, NULL);
    check_names(at, S("schedulingGates"), gates, NULL);
    for (size_t l = 0; l < countof(lists); l++) {
        struct field_path list_at = field_child(at->path, lists[l].name);
        json_each (i, lists[l].list) {
            struct field_path item = field_item(&list_at, i);
            check_mounts(at, &item, json_at(lists[l].list, i), &volume_names);
            check_claims(at, &item, json_at(lists[l].list, i), &claim_names);
        }
    }
}

/* ---- what may change in a pod ---- */

/* The containers with the images of the others. */
static const struct json *with_images(struct arena *a, const struct json *spec,
                                      const struct json *old, struct str list_name)
{
    const struct json *list = json_get(spec, list_name), *was = json_get(old, list_name);
    struct json_arr all = arr_in(a);

    if (json_len(list) != json_len(was) || !json_len(list))
        return spec;
    json_each (i, list)
        arr_add(&all, *json_with_as(a, json_at(list, i), json_at(was, i), S("image")));
    struct json_obj out = obj_from(a, spec);
    obj_set(&out, list_name, arr_done(&all));
    return json_new(a, obj_done(&out));
}

/* Every toleration stays, at most with another time; new ones may come. */
static void check_tolerations(struct field_errors *e, const struct field_path *spec_at,
                              const struct json *spec, const struct json *old)
{
    struct field_path at = field_child(spec_at, S("tolerations"));
    const struct json *list = json_getz(spec, "tolerations"),
                      *was = json_getz(old, "tolerations");

    struct json_set there = {.arena = e->arena};

    json_each (i, list)
        json_set_put(&there,
                     json_without(e->arena, json_at(list, i), "tolerationSeconds", NULL));
    json_each (i, was) {
        const struct json *v =
            json_without(e->arena, json_at(was, i), "tolerationSeconds", NULL);
        if (!json_set_has(&there, v)) {
            field_forbidden(e, &at,
                            "existing toleration can not be modified except its "
                            "tolerationSeconds");
            return;
        }
    }
}

static void check_gates(struct field_errors *e, const struct field_path *spec_at,
                        const struct json *spec, const struct json *old)
{
    struct field_path at = field_child(spec_at, S("schedulingGates"));
    const struct json *list = json_getz(spec, "schedulingGates");
    struct json_set was = names_of(e->arena, json_getz(old, "schedulingGates"));

    json_each (i, list) {
        struct field_path item = field_item(&at, i);
        struct field_path name_at = field_child(&item, S("name"));
        const struct json *name = json_getz(json_at(list, i), "name");
        if (!json_set_has(&was, name))
            field_forbidden(e, &name_at,
                            "only deletion is allowed, but found new scheduling gate "
                            "'%.*s'",
                            STR_ARG(json_str(name)));
    }
}

static void check_deadline(struct field_errors *e, const struct field_path *spec_at,
                           const struct json *spec, const struct json *old)
{
    struct field_path at = field_child(spec_at, S("activeDeadlineSeconds"));
    const struct json *now = json_getz(spec, "activeDeadlineSeconds");
    const struct json *was = json_getz(old, "activeDeadlineSeconds");

    if (!json_has(was) || json_eq(now, was))
        return;
    if (!json_has(now))
        field_invalid(e, &at, now, "must not update from a positive integer to nil value");
    else if (json_i64(now, 0) > json_i64(was, 0))
        field_invalid(e, &at, now, "must be less than or equal to previous value");
}

/* Is the name of its node all that came? So a binding leaves it. */
static bool is_as_bound(const struct json *spec, const struct json *old)
{
    uint32_t n_same = 0;

    if (json_len(spec) != json_len(old) + 1 || json_getz(old, "nodeName"))
        return false;
    json_each_member (m, spec) {
        if (str_eq(m->name, S("nodeName")))
            continue;
        if (!json_eq(&m->value, json_get_near(old, m->name, n_same++)))
            return false;
    }
    return n_same == json_len(old);
}

void pod_check(const struct schema_at *at)
{
    static const struct str free_fields[] = {S_INIT("activeDeadlineSeconds"),
                                             S_INIT("tolerations"), S_INIT("schedulingGates")};
    static const struct str while_gated[] = {S_INIT("nodeSelector"), S_INIT("affinity")};
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_errors *e = at->errors;
    const struct json *spec = json_getz(at->v, "spec"), *old = json_getz(at->old, "spec");
    const struct json *as_was = spec;

    if (!at->old || json_eq(spec, old) || is_as_bound(spec, old))
        return;
    check_deadline(e, &spec_at, spec, old);
    check_tolerations(e, &spec_at, spec, old);
    check_gates(e, &spec_at, spec, old);
    for (size_t i = 0; i < countof(free_fields); i++)
        as_was = json_with_as(e->arena, as_was, old, free_fields[i]);
    for (size_t i = 0; i < countof(while_gated) && json_len(json_getz(old, "schedulingGates"));
         i++)
        as_was = json_with_as(e->arena, as_was, old, while_gated[i]);
    as_was = with_images(e->arena, as_was, old, S("containers"));
    as_was = with_images(e->arena, as_was, old, S("initContainers"));
    /* A binding writes the node's name, once; and a negative grace may become 1. */
    if (!json_str(json_getz(old, "nodeName")).len)
        as_was = json_with_as(e->arena, as_was, old, S("nodeName"));
    if (json_i64(json_getz(old, "terminationGracePeriodSeconds"), 0) < 0 &&
        json_i64(json_getz(spec, "terminationGracePeriodSeconds"), 0) == 1)
        as_was = json_with_as(e->arena, as_was, old, S("terminationGracePeriodSeconds"));
    if (!json_eq(as_was, old))
        field_forbidden(e, &spec_at,
                        "pod updates may not change fields other than "
                        "`spec.containers[*].image`, `spec.initContainers[*].image`, "
                        "`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to "
                        "existing tolerations), `spec.terminationGracePeriodSeconds` (allow it "
                        "to be set to 1 if it was previously negative)");
}
