/* lib_authz.c - asking who may do what, from inside a policy
 *
 * The chain `authorizer.group(g).resource(r)…check(verb)` gathers a question; the host answers
 * it (cel_authz in the variable `authorizer`).
 */
#include "cel/authz.h"
#include "cel/lib_priv.h"

#define OPAQUE(n)                                                                              \
    {                                                                                          \
        .kind = CEL_T_OPAQUE, .name = S_INIT("kubernetes.authorization." n)                    \
    }
const struct cel_type cel_type_authorizer = OPAQUE("Authorizer"),
                      cel_type_path_check = OPAQUE("PathCheck"),
                      cel_type_group_check = OPAQUE("GroupCheck"),
                      cel_type_resource_check = OPAQUE("ResourceCheck"),
                      cel_type_decision = OPAQUE("Decision");

static struct cel_value object(struct arena *a, const struct cel_type *t, const void *data)
{
    struct cel_object o = {t, data};

    return (struct cel_value){.kind = CEL_OBJECT, .object = arena_copy(a, &o)};
}

struct cel_value cel_authorizer(struct arena *a, const struct cel_authz *authz)
{
    struct cel_authz_question q = {.authz = authz};

    return object(a, &cel_type_authorizer, arena_copy(a, &q));
}

/* The question so far, if the value is of the type. */
static const struct cel_authz_question *question(struct cel_value v, const struct cel_type *t)
{
    return v.object->type == t ? v.object->data : NULL;
}

static struct cel_value no_overload(void)
{
    return cel_fail(CEL_E_NO_OVERLOAD);
}

static struct cel_value fail(const char *text)
{
    return cel_fail_name(CEL_E_TEXT, str_from(text));
}

CEL_FN(a_path)
{
    const struct cel_authz_question *old = question(args[0], &cel_type_authorizer);

    if (!old)
        return no_overload();
    if (str_trim(cel_str(args[1])).len == 0)
        return fail("path must not be empty");
    struct cel_authz_question q = *old;
    q.path = cel_str(args[1]);
    return object(c->arena, &cel_type_path_check, arena_copy(c->arena, &q));
}

CEL_FN(a_group)
{
    const struct cel_authz_question *old = question(args[0], &cel_type_authorizer);

    if (!old)
        return no_overload();
    struct cel_authz_question q = *old;
    q.group = cel_str(args[1]);
    return object(c->arena, &cel_type_group_check, arena_copy(c->arena, &q));
}

CEL_FN(a_service_account)
{
    const struct cel_authz_question *old = question(args[0], &cel_type_authorizer);

    if (!old)
        return no_overload();
    if (!name_is(NAME_DNS_SUBDOMAIN, cel_str(args[2])))
        return fail("Invalid service account name");
    if (!name_is(NAME_DNS_LABEL, cel_str(args[1])))
        return fail("Invalid service account namespace");
    struct cel_authz_question q = *old;
    q.account_namespace = cel_str(args[1]);
    q.account_name = cel_str(args[2]);
    return object(c->arena, &cel_type_authorizer, arena_copy(c->arena, &q));
}

CEL_FN(g_resource)
{
    const struct cel_authz_question *old = question(args[0], &cel_type_group_check);

    if (!old)
        return no_overload();
    if (str_trim(cel_str(args[1])).len == 0)
        return fail("resource must not be empty");
    struct cel_authz_question q = *old;
    q.resource = cel_str(args[1]);
    return object(c->arena, &cel_type_resource_check, arena_copy(c->arena, &q));
}

/* subresource, namespace, name, fieldSelector, labelSelector: a text each. */
CEL_FN(r_with)
{
    const struct cel_authz_question *old = question(args[0], &cel_type_resource_check);

    if (!old)
        return no_overload();
    struct cel_authz_question q = *old;
    *(struct str *)((char *)&q + *(const size_t *)c->data) = cel_str(args[1]);
    return object(c->arena, &cel_type_resource_check, arena_copy(c->arena, &q));
}

CEL_FN(check_it)
{
    const struct cel_authz_question *old = question(args[0], &cel_type_path_check);
    struct cel_decision d = {0};

    if (!old)
        old = question(args[0], &cel_type_resource_check);
    if (!old)
        return no_overload();
    struct cel_authz_question q = *old;
    q.verb = cel_str(args[1]);
    if (q.authz && q.authz->decide)
        d = q.authz->decide(q.authz, c->arena, &q);
    return object(c->arena, &cel_type_decision, arena_copy(c->arena, &d));
}

static const struct cel_decision *decision(struct cel_value v)
{
    return v.object->type == &cel_type_decision ? v.object->data : NULL;
}

CEL_FN(d_allowed)
{
    const struct cel_decision *d = decision(args[0]);

    return d ? cel_bool(d->is_allowed) : no_overload();
}

CEL_FN(d_errored)
{
    const struct cel_decision *d = decision(args[0]);

    return d ? cel_bool(d->error.len > 0) : no_overload();
}

CEL_FN(d_reason)
{
    const struct cel_decision *d = decision(args[0]);

    return d ? cel_text(d->reason) : no_overload();
}

CEL_FN(d_error)
{
    const struct cel_decision *d = decision(args[0]);

    return d ? cel_text(d->error) : no_overload();
}

static const size_t at_subresource = offsetof(struct cel_authz_question, subresource),
                    at_namespace = offsetof(struct cel_authz_question, namespace),
                    at_name = offsetof(struct cel_authz_question, name),
                    at_field = offsetof(struct cel_authz_question, field_selector),
                    at_label = offsetof(struct cel_authz_question, label_selector);
/* clang-format off */
#define K "kubernetes.authorization."

static const struct lib_row rows[] = {
    {"path",           "authorizer_path",           K "Authorizer.(string) " K "PathCheck",          a_path,            LIB_K8S_AUTHZ},
    {"group",          "authorizer_group",          K "Authorizer.(string) " K "GroupCheck",         a_group,           LIB_K8S_AUTHZ},
    {"serviceAccount", "authorizer_serviceaccount", K "Authorizer.(string, string) " K "Authorizer", a_service_account, LIB_K8S_AUTHZ},
    {"resource",       "groupcheck_resource",       K "GroupCheck.(string) " K "ResourceCheck",      g_resource,        LIB_K8S_AUTHZ},
    {"subresource",    "resourcecheck_subresource", K "ResourceCheck.(string) " K "ResourceCheck",   r_with,            LIB_K8S_AUTHZ,           COST_ONE, 0, 0, &at_subresource},
    {"namespace",      "resourcecheck_namespace",   K "ResourceCheck.(string) " K "ResourceCheck",   r_with,            LIB_K8S_AUTHZ,           COST_ONE, 0, 0, &at_namespace},
    {"name",           "resourcecheck_name",        K "ResourceCheck.(string) " K "ResourceCheck",   r_with,            LIB_K8S_AUTHZ,           COST_ONE, 0, 0, &at_name},
    {"fieldSelector",  "authorizer_fieldselector",  K "ResourceCheck.(string) " K "ResourceCheck",   r_with,            LIB_K8S_AUTHZ_SELECTORS, COST_ONE, 0, 0, &at_field},
    {"labelSelector",  "authorizer_labelselector",  K "ResourceCheck.(string) " K "ResourceCheck",   r_with,            LIB_K8S_AUTHZ_SELECTORS, COST_ONE, 0, 0, &at_label},
    {"check",          "pathcheck_check",           K "PathCheck.(string) " K "Decision",            check_it,          LIB_K8S_AUTHZ},
    {"check",          "resourcecheck_check",       K "ResourceCheck.(string) " K "Decision",        check_it,          LIB_K8S_AUTHZ},
    {"errored",        "decision_errored",          K "Decision.() bool",                            d_errored,         LIB_K8S_AUTHZ},
    {"error",          "decision_error",            K "Decision.() string",                          d_error,           LIB_K8S_AUTHZ},
    {"allowed",        "decision_allowed",          K "Decision.() bool",                            d_allowed,         LIB_K8S_AUTHZ},
    {"reason",         "decision_reason",           K "Decision.() string",                          d_reason,          LIB_K8S_AUTHZ},
};
/* clang-format on */
const struct lib_table cel_lib_authz = {rows, countof(rows)};
