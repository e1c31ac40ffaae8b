/* authz.c - may they? system:masters always, nodes what is theirs, others by their roles
 *
 * The index of roles and bindings follows the store event by event; the nodes' graph is built
 * when the first node asks.
 */
#include "server/front_priv.h"
#include "server/write_priv.h"

#include "api/node_authorizer.h"
#include "api/rbac.h"
#include "http/http.h"

struct authz {
    struct rbac *rbac;
    struct node_graph *nodes; /* NULL until a node asks */
};

bool user_is_master(const struct server_user *user)
{
    for (size_t i = 0; i < user->n_groups; i++) {
        if (str_eqz(user->groups[i], "system:masters"))
            return true;
    }
    return false;
}

/* ---- the indexes ---- */

static void see_role(void *ctx, const struct object *o, bool is_removed)
{
    struct authz *z = ctx;
    scoped(arena_fini) struct arena a = {0};
    struct object_key key = object_key(o);

    rbac_put_role(z->rbac, key.ns, key.name, is_removed ? NULL : object_tree(o, &a));
}

static void see_binding(void *ctx, const struct object *o, bool is_removed)
{
    struct authz *z = ctx;
    scoped(arena_fini) struct arena a = {0};
    struct object_key key = object_key(o);

    rbac_put_binding(z->rbac, key.ns, key.name, is_removed ? NULL : object_tree(o, &a));
}

static void see_pod(void *ctx, const struct object *o, bool is_removed)
{
    struct authz *z = ctx;
    scoped(arena_fini) struct arena a = {0};
    struct object_key key = object_key(o);

    node_graph_put_pod(z->nodes, key.ns, key.name, is_removed ? NULL : object_tree(o, &a));
}

static void see_slice(void *ctx, const struct object *o, bool is_removed)
{
    struct authz *z = ctx;
    scoped(arena_fini) struct arena a = {0};

    node_graph_put_slice(z->nodes, object_key(o).name, is_removed ? NULL : object_tree(o, &a));
}

/* Shows `see` what is there, and then every event. */
static void follow(struct server *s, struct str group, struct str version, struct str kind,
                   store_hook_fn *see)
{
    const struct kind *k = kind_of_name(s, group, version, kind);
    scoped(arena_fini) struct arena a = {0};
    struct object *o;

    if (!k)
        return;
    struct store_walk walk = store_walk(s->store, &a, k->storage, S(""), S(""), 0);
    while ((o = store_next(&walk)))
        see(s->authz, o, false);
    store_hook(s->store, k->storage, see, s->authz);
}

void authz_start(struct server *s)
{
    static const struct str group = S_INIT("rbac.authorization.k8s.io"), v1 = S_INIT("v1");

    s->authz = mem_zero(1, sizeof(*s->authz));
    s->authz->rbac = rbac_new();
    follow(s, group, v1, S("Role"), see_role);
    follow(s, group, v1, S("ClusterRole"), see_role);
    follow(s, group, v1, S("RoleBinding"), see_binding);
    follow(s, group, v1, S("ClusterRoleBinding"), see_binding);
}

void authz_stop(struct server *s)
{
    if (!s->authz)
        return;
    store_unhook(s->store, s->authz);
    rbac_free(s->authz->rbac);
    node_graph_free(s->authz->nodes);
    free(s->authz);
}

static void start_nodes(struct server *s)
{
    if (s->authz->nodes)
        return;
    s->authz->nodes = node_graph_new();
    follow(s, S(""), S("v1"), S("Pod"), see_pod);
    follow(s, S("resource.k8s.io"), S("v1"), S("ResourceSlice"), see_slice);
}

/* ---- the question ---- */

static struct access access_of(const struct server_user *user)
{
    return (struct access){
        .user = {.name = user->name,
                 .uid = user->uid,
                 .groups = {(struct str *)(uintptr_t)user->groups, user->n_groups}}
    };
}

static bool is_allowed(struct server *s, const struct server_user *user,
                       const struct access *access)
{
    scoped(arena_fini) struct arena a = {0};

    if (user_is_master(user))
        return true;
    if (node_of_user(&access->user).len) {
        start_nodes(s);
        if (node_allows(s->authz->nodes, access))
            return true;
    }
    return rbac_allows(s->authz->rbac, &a, access, NULL);
}

bool user_may(struct server *s, const struct access *access)
{
    struct server_user user = {.groups = access->user.groups.at,
                               .n_groups = access->user.groups.len};

    return is_allowed(s, &user, access);
}

struct rbac *server_rbac(struct server *s)
{
    return s->authz->rbac;
}

struct access access_of_request(const struct request *r, struct str verb)
{
    struct access access = access_of(r->user);

    access.verb = verb;
    access.is_resource = true;
    access.group = r->kind->group;
    access.version = r->kind->version;
    access.resource = r->kind->plural;
    access.subresource = r->subresource;
    access.ns = r->ns;
    access.name = r->asked_name.len ? r->asked_name : r->name;
    access.fields = r->options.list.fields;
    access.labels = r->options.list.labels;
    return access;
}

static int refuse(struct request *r, const struct access *access)
{
    struct api_error e = api_error_denied(r->arena, access, str_of(NULL, 0));

    return fail_api(r, &e);
}

int authorize_verb(struct request *r, struct str verb)
{
    if (user_is_master(r->user))
        return 0;
    struct access access = access_of_request(r, verb);
    return is_allowed(r->server, r->user, &access) ? 0 : refuse(r, &access);
}

int authorize(struct request *r)
{
    return authorize_verb(r, verb_name(r->verb));
}

bool server_may(struct server *s, const struct server_user *user, struct str verb,
                struct str group, struct str resource, struct str ns, struct str name)
{
    struct access access = access_of(user);

    access.verb = verb;
    access.is_resource = true;
    access.group = group;
    access.resource = resource;
    access.ns = ns;
    access.name = name;
    return is_allowed(s, user, &access);
}

int authorize_path(struct server *s, struct http_request *q, const struct server_user *user)
{
    struct access access = access_of(user);

    access.verb = str_lower(q->arena, q->method);
    access.path = q->path;
    if (is_allowed(s, user, &access))
        return 0;
    struct api_error e = api_error_denied(q->arena, &access, str_of(NULL, 0));
    answer_tree(q, e.code, json_new(q->arena, status_json(q->arena, &e)));
    return -1;
}
