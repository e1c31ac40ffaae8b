/* authn.c - who asks: the socket's kernel, a certificate, a token, or nobody
 *
 * A wrong token is refused, never anonymous. Everybody known is of system:authenticated.
 */
#include "server/front_priv.h"

#include "http/http.h"
#include "io/io.h"

#include <grp.h>
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

/* ---- the accounts of this machine ---- */

#define ACCOUNT_AGE span_s(60) /* after which the system is asked again */
#define ACCOUNT_MAX_GROUPS 256

/* What the system says about a uid, remembered: it reads files each time. */
struct account {
    uint32_t uid;
    char name[256];
    gid_t groups[ACCOUNT_MAX_GROUPS];
    int n_groups;
    struct span asked;
};

struct accounts {
    VEC(struct account *) list;
};

static void ask_system(struct account *a, uint32_t uid, uint32_t gid)
{
    struct passwd *pw = getpwuid(uid);

    a->uid = uid;
    a->n_groups = ACCOUNT_MAX_GROUPS;
    if (!pw) {
        snprintf(a->name, sizeof(a->name), "uid:%" PRIu32, uid);
        a->n_groups = 0;
        return;
    }
    snprintf(a->name, sizeof(a->name), "%s", pw->pw_name);
    if (getgrouplist(a->name, gid, a->groups, &a->n_groups) < 0)
        a->n_groups = ACCOUNT_MAX_GROUPS;
}

static const struct account *account_of(struct server *s, uint32_t uid, uint32_t gid)
{
    struct span now = io_uptime(s->io);
    struct account *found = NULL;

    if (!s->accounts)
        s->accounts = mem_zero(1, sizeof(*s->accounts));
    vec_each (i, &s->accounts->list) {
        if (s->accounts->list.at[i]->uid == uid)
            found = s->accounts->list.at[i];
    }
    if (!found) {
        found = mem_zero(1, sizeof(*found));
        vec_push(&s->accounts->list, found);
    } else if (now.ns - found->asked.ns < ACCOUNT_AGE.ns) {
        return found;
    }
    ask_system(found, uid, gid);
    found->asked = now;
    return found;
}

void known_accounts_free(struct server *s)
{
    if (!s->accounts)
        return;
    vec_each (i, &s->accounts->list)
        free(s->accounts->list.at[i]);
    vec_fini(&s->accounts->list);
    free(s->accounts);
}

/* Over the local socket the caller is who the kernel says. Root and whoever started berth are
 * its administrators. */
static void by_socket(struct server *s, struct http_request *q, struct server_user *u)
{
    const struct account *account = account_of(s, q->peer->io.uid, q->peer->io.gid);
    uint32_t *groups = arena_array(q->arena, uint32_t, (size_t)account->n_groups);

    for (int i = 0; i < account->n_groups; i++)
        groups[i] = account->groups[i];
    u->name = str_copy(q->arena, str_from(account->name));
    u->has_account = true;
    u->account_uid = q->peer->io.uid;
    u->account_gid = q->peer->io.gid;
    u->account_groups = groups;
    u->n_account_groups = (size_t)account->n_groups;
    if (u->account_uid == 0 || u->account_uid == s->config.starter_uid)
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
        if (s->config.token && s->config.token(s->config.users_ctx, token, u)) {
            add_account(s, u);
        } else if (!token_user(s, q->arena, token, u)) {
            refuse(q);
            return NULL;
        }
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
