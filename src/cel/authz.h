/* authz.h - the host's side of authorizer.…check(verb) in policies */
#pragma once

#include "cel/cel.h"

struct cel_authz;

struct cel_authz_question {
    const struct cel_authz *authz;
    struct str verb, path; /* path: not about a resource */
    struct str group, resource, subresource, namespace, name;
    struct str field_selector, label_selector;
    struct str account_namespace, account_name; /* asked for this account, where set */
};
struct cel_decision {
    bool is_allowed;
    struct str reason, error;
};
struct cel_authz {
    struct cel_decision (*decide)(const struct cel_authz *authz, struct arena *a,
                                  const struct cel_authz_question *q);
    const void *ctx;
};

extern const struct cel_type cel_type_authorizer, cel_type_path_check, cel_type_group_check,
    cel_type_resource_check, cel_type_decision;

/* The value of the variable `authorizer`; `authz` is borrowed. */
struct cel_value cel_authorizer(struct arena *a, const struct cel_authz *authz);
