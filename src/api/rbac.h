/* rbac.h - roles and bindings: who may do what
 *
 * A long-lived index that its owner keeps up with the stored roles and bindings, and a
 * question. Rules only ever add; a binding to a role that is not there grants nothing. A
 * question looks at the cluster's bindings and those of its namespace.
 */
#pragma once

#include "api/access.h"

struct rbac_rule {
    struct str_list verbs, groups, resources, names, urls;
};
struct rbac_rules {
    const struct rbac_rule *at;
    size_t len;
};

/* From `rules` of a Role or ClusterRole; borrows the tree's texts. */
struct rbac_rules rbac_rules_of(struct arena *a, const struct json *rules);
bool rbac_rule_allows(const struct rbac_rule *r, const struct access *access);

struct rbac;
struct rbac *rbac_new(void);
void rbac_free(struct rbac *r);
/* Role and ClusterRole (ns ""), RoleBinding and ClusterRoleBinding (ns ""): `object` NULL takes
 * it out. Nothing of the tree is kept. */
void rbac_put_role(struct rbac *r, struct str ns, struct str name, const struct json *object);
void rbac_put_binding(struct rbac *r, struct str ns, struct str name,
                      const struct json *object);

/* `reason` (may be NULL) is told which binding allows it; in the arena. */
bool rbac_allows(const struct rbac *r, struct arena *a, const struct access *access,
                 struct str *reason);
/* Every rule that holds for the user in a namespace ("" means the cluster only); borrowed until
 * the index changes. */
struct rbac_rules rbac_rules_for(const struct rbac *r, struct arena *a,
                                 const struct access_user *user, struct str ns);
/* The rules of a role as they stand, empty where there is none. */
struct rbac_rules rbac_role_rules(const struct rbac *r, struct str ns, struct str name);

/* Do `owned` grant all that `wanted` grant? Where not, *missing lists what is left, as upstream
 * prints it: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`, one a line. */
bool rbac_covers(struct arena *a, struct rbac_rules owned, struct rbac_rules wanted,
                 struct str *missing);
