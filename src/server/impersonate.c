/* impersonate.c - acting as somebody else, for those who may (reference 13.2)
 *
 * Whoever is impersonated has no account of this machine, unless root asks: an administrator
 * elsewhere does not start processes as another user by saying so.
 */
#include "server/front_priv.h"

#include "http/http.h"

#define PREFIX "impersonate-"
#define SERVICE_ACCOUNT "system:serviceaccount:"

static bool may(struct server *s, const struct server_user *user, struct str group,
                struct str resource, struct str ns, struct str name)
{
    return server_may(s, user, S("impersonate"), group, resource, ns, name);
}

static bool may_be_user(struct server *s, const struct server_user *user, struct str name)
{
    struct str ns, account;

    if (!str_starts(name, S(SERVICE_ACCOUNT)))
        return may(s, user, S(""), S("users"), S(""), name);
    str_cut(str_slice(name, sizeof(SERVICE_ACCOUNT) - 1, name.len), ':', &ns, &account);
    return may(s, user, S(""), S("serviceaccounts"), ns, account);
}

static void add(struct arena *a, struct server_user *u, struct str group)
{
    struct str *groups = arena_array(a, struct str, u->n_groups + 1);

    for (size_t i = 0; i < u->n_groups; i++)
        groups[i] = u->groups[i];
    groups[u->n_groups++] = group;
    u->groups = groups;
}

static void default_groups(struct arena *a, struct server_user *u)
{
    struct str ns, account;
    bool is_anonymous = str_eqz(u->name, "system:anonymous");

    if (!u->n_groups && str_starts(u->name, S(SERVICE_ACCOUNT))) {
        str_cut(str_slice(u->name, sizeof(SERVICE_ACCOUNT) - 1, u->name.len), ':', &ns,
                &account);
        add(a, u, S("system:serviceaccounts"));
        add(a, u, str_printf(a, "system:serviceaccounts:%.*s", STR_ARG(ns)));
    }
    add(a, u, is_anonymous ? S("system:unauthenticated") : S("system:authenticated"));
}

static const struct server_user *refuse(struct http_request *q, const struct server_user *user,
                                        const char *what, struct str name)
{
    struct err err = {0};

    err_set(&err, ERR_FORBIDDEN,
            "%s \"%.*s\" is forbidden: User \"%.*s\" cannot impersonate it", what,
            STR_ARG(name), STR_ARG(user->name));
    server_refuse(q, &err);
    return NULL;
}

const struct server_user *impersonate(struct server *s, struct http_request *q,
                                      const struct server_user *user)
{
    struct server_user *as = arena_new(q->arena, struct server_user);
    bool is_asked = false;

    for (size_t i = 0; i < q->n_headers; i++) {
        const struct http_header *h = &q->headers[i];
        if (!str_starts(h->name, S(PREFIX)))
            continue;
        struct str what = str_slice(h->name, sizeof(PREFIX) - 1, h->name.len);
        is_asked = true;
        if (str_eqz(what, "user")) {
            if (!may_be_user(s, user, h->value))
                return refuse(q, user, "users", h->value);
            as->name = h->value;
        } else if (str_eqz(what, "group")) {
            if (!may(s, user, S(""), S("groups"), S(""), h->value))
                return refuse(q, user, "groups", h->value);
            add(q->arena, as, h->value);
        } else if (str_eqz(what, "uid")) {
            if (!may(s, user, S("authentication.k8s.io"), S("uids"), S(""), h->value))
                return refuse(q, user, "uids", h->value);
            as->uid = h->value;
        }
    }
    if (!is_asked)
        return user;
    if (!as->name.len) {
        struct err err = {0};
        err_set(&err, ERR_SYNTAX,
                "requested groups, uid or extra without impersonating a user");
        server_refuse(q, &err);
        return NULL;
    }
    default_groups(q->arena, as);
    if (user->has_account && user->account_uid == 0 && s->config.account)
        s->config.account(s->config.users_ctx, as->name, as);
    return as;
}
