/* authz.c - may they? */
#include "server/front_priv.h"
#include "server/write_priv.h"

#include "http/http.h"

bool user_is_master(const struct server_user *user)
{
    for (size_t i = 0; i < user->n_groups; i++) {
        if (str_eqz(user->groups[i], "system:masters"))
            return true;
    }
    return false;
}

int authorize(struct request *r)
{
    struct arena *a = r->arena;

    if (user_is_master(r->user))
        return 0;
    struct str where = r->ns.len ? str_printf(a, "in the namespace \"%.*s\"", STR_ARG(r->ns))
                                 : S("at the cluster scope");
    return fail_forbidden(
        r, "User \"%.*s\" cannot %.*s resource \"%.*s\" in API group \"%.*s\" %.*s",
        STR_ARG(r->user->name), STR_ARG(verb_name(r->verb)), STR_ARG(r->kind->plural),
        STR_ARG(r->kind->group), STR_ARG(where));
}

static bool has_group(const struct server_user *user, const char *group)
{
    for (size_t i = 0; i < user->n_groups; i++) {
        if (str_eqz(user->groups[i], group))
            return true;
    }
    return false;
}

int authorize_path(struct server *s, struct http_request *q, const struct server_user *user)
{
    static const char *const open_paths[] = {"/healthz", "/livez", "/readyz", "/version"};
    struct err err = {0};

    (void)s;
    if (has_group(user, "system:authenticated"))
        return 0;
    for (size_t i = 0; i < countof(open_paths); i++) {
        if (str_starts(q->path, str_from(open_paths[i])))
            return 0;
    }
    err_set(&err, ERR_FORBIDDEN, "forbidden: User \"%.*s\" cannot get path \"%.*s\"",
            STR_ARG(user->name), STR_ARG(q->path));
    server_refuse(q, &err);
    return -1;
}
