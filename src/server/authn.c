/* authn.c - who asks: the socket's kernel, a certificate, a token, or nobody
 *
 * A wrong token is refused, never anonymous. Everybody known is of system:authenticated.
 */
#include "server/front_priv.h"

#include "http/http.h"

#include <pwd.h>

static const struct str group_all = S_INIT("system:authenticated");
static const struct str group_nobody = S_INIT("system:unauthenticated");
static const struct str group_masters = S_INIT("system:masters");

static void add_group(struct arena *a, struct server_user *u, struct str group)
{
    struct str *groups = arena_array(a, struct str, u->n_groups + 1);

    for (size_t i = 0; i < u->n_groups; i++) {
        if (str_eq(u->groups[i], group))
            return;
        groups[i] = u->groups[i];
    }
    groups[u->n_groups] = group;
    u->groups = groups;
    u->n_groups++;
}

static void add_account(struct server *s, struct server_user *u)
{
    if (s->config.account)
        s->config.account(s->config.users_ctx, u->name, u);
}

/* Over the local socket the caller is who the kernel says. Root and whoever started berth are
 * its administrators. */
static void by_socket(struct server *s, struct http_request *q, struct server_user *u)
{
    uint32_t uid = q->peer->io.uid;
    struct passwd *pw = getpwuid(uid);

    u->name =
        pw ? str_copy(q->arena, str_from(pw->pw_name)) : str_printf(q->arena, "uid:%u", uid);
    u->has_account = true;
    u->account_uid = uid;
    u->account_gid = q->peer->io.gid;
    if (uid == 0 || uid == s->config.starter_uid)
        add_group(q->arena, u, group_masters);
}

/* "Bearer TOKEN" */
static struct str bearer(const struct http_request *q)
{
    struct str kind, token;

    str_cut(str_trim(http_header(q, S("authorization"))), ' ', &kind, &token);
    return str_eq_nocase(kind, S("Bearer")) ? str_trim(token) : str_of(NULL, 0);
}

static void refuse(struct http_request *q)
{
    struct api_error e = api_error_unauthorized();

    answer_tree(q, e.code, json_new(q->arena, status_json(q->arena, &e)));
}

const struct server_user *authenticate(struct server *s, struct http_request *q)
{
    struct server_user *u = arena_new(q->arena, struct server_user);
    struct str token = bearer(q);

    if (q->peer && q->peer->cert_name.len) {
        u->name = q->peer->cert_name;
        u->groups = q->peer->cert_groups;
        u->n_groups = q->peer->n_cert_groups;
        add_account(s, u);
    } else if (token.len) {
        if (!s->config.token || !s->config.token(s->config.users_ctx, token, u)) {
            refuse(q);
            return NULL;
        }
        add_account(s, u);
    } else if (q->peer && q->peer->io.is_local) {
        by_socket(s, q, u);
    } else if (q->peer && q->peer->cert_error.len) {
        refuse(q);
        return NULL;
    } else {
        u->name = S("system:anonymous");
        add_group(q->arena, u, group_nobody);
        return u;
    }
    add_group(q->arena, u, group_all);
    return u;
}
