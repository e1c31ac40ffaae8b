/* admission.c - what policies and match conditions know by name
 *
 * `object`, `oldObject` and `params` are whatever the API holds (dyn); `request` and
 * `namespaceObject` have declared fields; the host adds `variables`, where a policy has any.
 */
#include "cel/authz.h"
#include "cel/env_priv.h"

static const struct cel_type *const p_string[] = {&cel_type_string};
static const struct cel_type *const p_strings[] = {&cel_type_string, &cel_type_string};
static const struct cel_type strings = {
    .kind = CEL_T_LIST, .name = S_INIT("list"), .n_params = 1, .params = p_string};
static const struct cel_type labels = {
    .kind = CEL_T_MAP, .name = S_INIT("map"), .n_params = 2, .params = p_strings};
static const struct cel_type *const p_extra[] = {&cel_type_string, &strings};
static const struct cel_type extra = {
    .kind = CEL_T_MAP, .name = S_INIT("map"), .n_params = 2, .params = p_extra};

#define F(n, t)                                                                                \
    {                                                                                          \
        .name = S_INIT(n), .type = &(t)                                                        \
    }
#define STRUCT(var, n)                                                                         \
    static const struct cel_type var = {.kind = CEL_T_STRUCT,                                  \
                                        .name = S_INIT("kubernetes." n),                       \
                                        .n_fields = countof(var##_fields),                     \
                                        .fields = var##_fields,                                \
                                        .is_opaque_struct = true}

static const struct cel_field kind_fields[] = {
    F("group", cel_type_string),
    F("version", cel_type_string),
    F("kind", cel_type_string),
};
STRUCT(kind, "GroupVersionKind");

static const struct cel_field resource_fields[] = {
    F("group", cel_type_string),
    F("version", cel_type_string),
    F("resource", cel_type_string),
};
STRUCT(resource, "GroupVersionResource");

static const struct cel_field user_fields[] = {
    F("username", cel_type_string),
    F("uid", cel_type_string),
    F("groups", strings),
    F("extra", extra),
};
STRUCT(user, "UserInfo");

static const struct cel_field request_fields[] = {
    F("kind", kind),
    F("resource", resource),
    F("subResource", cel_type_string),
    F("requestKind", kind),
    F("requestResource", resource),
    F("requestSubResource", cel_type_string),
    F("name", cel_type_string),
    F("namespace", cel_type_string),
    F("operation", cel_type_string),
    F("userInfo", user),
    F("dryRun", cel_type_bool),
    F("options", cel_type_dyn),
};
STRUCT(request, "AdmissionRequest");

static const struct cel_field metadata_fields[] = {
    F("name", cel_type_string),
    F("generateName", cel_type_string),
    F("namespace", cel_type_string),
    F("labels", labels),
    F("annotations", labels),
    F("UID", cel_type_string),
    F("creationTimestamp", cel_type_timestamp),
    F("deletionGracePeriodSeconds", cel_type_int),
    F("deletionTimestamp", cel_type_timestamp),
    F("generation", cel_type_int),
    F("resourceVersion", cel_type_string),
    F("finalizers", strings),
};
STRUCT(metadata, "NamespaceMetadata");

static const struct cel_field spec_fields[] = {
    F("finalizers", strings),
};
STRUCT(spec, "NamespaceSpec");

static const struct cel_field condition_fields[] = {
    F("status", cel_type_string),
    F("type", cel_type_string),
    F("reason", cel_type_string),
    F("message", cel_type_string),
    F("lastTransitionTime", cel_type_timestamp),
};
STRUCT(condition, "NamespaceCondition");
static const struct cel_type *const p_condition[] = {&condition};
static const struct cel_type conditions = {
    .kind = CEL_T_LIST, .name = S_INIT("list"), .n_params = 1, .params = p_condition};

static const struct cel_field status_fields[] = {
    F("conditions", conditions),
    F("phase", cel_type_string),
};
STRUCT(status, "NamespaceStatus");

static const struct cel_field namespace_fields[] = {
    F("metadata", metadata),
    F("spec", spec),
    F("status", status),
};
STRUCT(namespace, "Namespace");

/* The variables, in the order of enum cel_admission_var; params only for policies. */
static const struct {
    struct str name;
    const struct cel_type *type;
    uint8_t since;
    bool is_policy;
} variables[] = {
    {S_INIT("object"),                     &cel_type_dyn,            0,  false},
    {S_INIT("oldObject"),                  &cel_type_dyn,            0,  false},
    {S_INIT("request"),                    &request,                 0,  false},
    {S_INIT("namespaceObject"),            &namespace,               0,  false},
    {S_INIT("authorizer"),                 &cel_type_authorizer,     27, false},
    {S_INIT("authorizer.requestResource"), &cel_type_resource_check, 27, false},
    {S_INIT("params"),                     &cel_type_dyn,            0,  true },
};

void env_add_admission(struct cel_env *env)
{
    for (size_t i = 0; i < countof(variables); i++)
        if (!variables[i].is_policy || env->spec.kind == CEL_ENV_ADMISSION)
            cel_env_var(env, variables[i].name, variables[i].type, variables[i].since, 0);
}
