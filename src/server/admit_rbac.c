/* admit_rbac.c - nobody grants what they do not have
 *
 * Who writes a role must hold what it grants, or the verb escalate on it; who binds one, what
 * the bound role grants, or the verb bind.
 */
#include "server/admit_priv.h"

#include "api/rbac.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

static struct access ask(struct write *w, const char *verb, struct str resource, struct str ns,
                         struct str name)
{
    struct access access = access_of_request(w->r, str_from(verb));

    access.group = S(RBAC_GROUP);
    access.resource = resource;
    access.subresource = str_of(NULL, 0);
    access.ns = ns;
    access.name = name;
    return access;
}

static int check_grant(struct write *w, struct rbac_rules wanted)
{
    const struct server_user *u = w->r->user;
    struct access_user me = {
        .name = u->name, .groups = {(struct str *)(uintptr_t)u->groups, u->n_groups}
    };
    struct rbac_rules owned =
        rbac_rules_for(server_rbac(w->r->server), w->arena, &me, w->r->ns);
    struct str missing = {0};

    if (rbac_covers(w->arena, owned, wanted, &missing))
        return 0;
    struct buf groups = buf_in(w->arena, 64);
    for (size_t i = 0; i < u->n_groups; i++)
        buf_printf(&groups, "%s\"%.*s\"", i ? " " : "", STR_ARG(u->groups[i]));
    return fail_forbidden_named(w,
                                "user \"%.*s\" (groups=[%.*s]) is attempting to grant RBAC "
                                "permissions not currently held:\n%.*s",
                                STR_ARG(u->name), STR_ARG(buf_str(&groups)), STR_ARG(missing));
}

static int check_role(struct write *w)
{
    const struct json *rules = json_getz(w->tree, "rules"), *was = json_getz(w->old, "rules");
    struct access escalate = ask(w, "escalate", w->kind->plural, w->r->ns, w->name);

    if (was && rules && json_eq(was, rules))
        return 0;
    if (user_may(w->r->server, &escalate))
        return 0;
    return check_grant(w, rbac_rules_of(w->arena, rules));
}

static int check_binding(struct write *w)
{
    const struct json *ref = json_getz(w->tree, "roleRef");
    struct str name = json_str(json_getz(ref, "name"));
    bool is_cluster = str_eqz(json_str(json_getz(ref, "kind")), "ClusterRole");
    struct access bind =
        ask(w, "bind", is_cluster ? S("clusterroles") : S("roles"), w->r->ns, name);

    if (w->old &&
        json_eq(
            json_getz(w->tree, "subjects") ? json_getz(w->tree, "subjects") : &(struct json){0},
            json_getz(w->old, "subjects") ? json_getz(w->old, "subjects") : &(struct json){0}))
        return 0;
    if (user_may(w->r->server, &bind))
        return 0;
    return check_grant(w, rbac_role_rules(server_rbac(w->r->server),
                                          is_cluster ? str_of(NULL, 0) : w->r->ns, name));
}

int admit_rbac(struct write *w)
{
    if (!str_eqz(w->kind->group, RBAC_GROUP) || user_is_master(w->r->user))
        return 0;
    if (str_ends(w->kind->kind, S("Role")))
        return check_role(w);
    return str_ends(w->kind->kind, S("Binding")) ? check_binding(w) : 0;
}
