/* homes.c - a place for each local user: namespace u-NAME, their rights there, a queue
 *
 * Made at the user's first request, which waits for it. The queue points to the ClusterQueue
 * of the queue `default` in namespace `default`; where there is none, none is made.
 */
#include "server/front_priv.h"
#include "server/write_priv.h"

#include "client/client.h"
#include "http/http.h"

struct waiting {
    struct http_request *q;
    const struct server_user *user;
};

struct home {
    struct server *server;
    struct str name, ns; /* on the heap */
    int n_left;          /* answers to come */
    VEC(struct waiting) waiting;
    bool is_made;
};

struct homes {
    MAP(struct home *) by_user;
};

static struct str heap_str(struct str s)
{
    char *copy = mem_alloc(s.len + 1);

    memcpy(copy, s.at, s.len);
    return str_of(copy, s.len);
}

static void let_in(struct home *h)
{
    h->is_made = true;
    vec_each (i, &h->waiting) {
        front_handle(h->server, h->waiting.at[i].q, h->waiting.at[i].user);
    }
    vec_fini(&h->waiting);
}

static void made(void *ctx, const struct client_answer *answer)
{
    struct home *h = ctx;

    if (answer->err && answer->err->code == ERR_CANCELED) {
        h->n_left--;
        return;
    }
    if (answer->err && answer->err->code != ERR_EXISTS)
        log_warn("cannot make a user's home", "user=%.*s reason=\"%s\"", STR_ARG(h->name),
                 answer->err->text);
    if (--h->n_left == 0)
        let_in(h);
}

/* The ClusterQueue that the queue `default` of namespace `default` points to. */
static struct str default_queue(struct server *s, struct arena *a)
{
    const struct kind *k = kind_of_name(s, S("kueue.x-k8s.io"), S("v1beta2"), S("LocalQueue"));
    struct object *o = k ? store_get(s->store, k->storage, S("default/default")) : NULL;

    return o ? json_str(json_path(object_tree(o, a), "spec", "clusterQueue", NULL))
             : str_of(NULL, 0);
}

static void make_one(struct home *h, const struct kind *k, struct str text)
{
    scoped(arena_fini) struct arena a = {0};
    struct err err = {0};
    const struct json *tree = json_parse(&a, text, NULL, &err);

    assert(tree);
    h->n_left++;
    client_create(h->server->own,
                  &(struct client_target){.kind = k, .ns = k->namespaced ? h->ns : S("")}, tree,
                  made, h);
}

/* Names hold no quotes: they are DNS labels, or users of this machine checked for that. */
static void make_rest(void *ctx, const struct client_answer *answer)
{
    struct home *h = ctx;
    struct server *s = h->server;
    scoped(arena_fini) struct arena a = {0};
    const struct kind *binding =
        kind_of_name(s, S("rbac.authorization.k8s.io"), S("v1"), S("RoleBinding"));
    const struct kind *queue =
        kind_of_name(s, S("kueue.x-k8s.io"), S("v1beta2"), S("LocalQueue"));
    struct str target = default_queue(s, &a);

    if (answer->err && answer->err->code == ERR_CANCELED)
        return;
    h->n_left = 1;
    if (binding)
        make_one(h, binding,
                 str_printf(&a,
                            "{\"metadata\":{\"name\":\"admin\"},\"roleRef\":{\"apiGroup\":"
                            "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":"
                            "\"admin\"},\"subjects\":[{\"kind\":\"User\",\"apiGroup\":"
                            "\"rbac.authorization.k8s.io\",\"name\":\"%.*s\"}]}",
                            STR_ARG(h->name)));
    if (queue && target.len)
        make_one(h, queue,
                 str_printf(&a,
                            "{\"metadata\":{\"name\":\"default\"},\"spec\":{\"clusterQueue\":"
                            "\"%.*s\"}}",
                            STR_ARG(target)));
    made(h, answer);
}

static void make(struct home *h)
{
    scoped(arena_fini) struct arena a = {0};
    struct server *s = h->server;
    const struct kind *k = kind_of_name(s, S(""), S("v1"), S("Namespace"));
    const struct json *tree = json_parse(
        &a, str_printf(&a, "{\"metadata\":{\"name\":\"%.*s\"}}", STR_ARG(h->ns)), NULL, NULL);

    if (!s->own)
        s->own = server_client(s, &server_berth);
    client_create(s->own, &(struct client_target){.kind = k}, tree, make_rest, h);
}

static bool needs_home(const struct server *s, const struct server_user *u, struct str ns)
{
    return u->has_account && u->account_uid != 0 && u->account_uid != s->config.starter_uid &&
           name_is(NAME_DNS_LABEL, ns) && kind_of_name(s, S(""), S("v1"), S("Namespace"));
}

bool home_waits(struct server *s, struct http_request *q, const struct server_user *user)
{
    struct str ns = str_printf(q->arena, "u-%.*s", STR_ARG(user->name));

    if (!needs_home(s, user, ns))
        return false;
    if (!s->homes)
        s->homes = mem_zero(1, sizeof(*s->homes));
    struct home **found = map_get(&s->homes->by_user, user->name);
    if (found && (*found)->is_made)
        return false;
    if (!found) {
        struct home *h = mem_zero(1, sizeof(*h));
        h->server = s;
        h->name = heap_str(user->name);
        h->ns = heap_str(ns);
        *map_put(&s->homes->by_user, h->name) = h;
        found = map_get(&s->homes->by_user, h->name);
        make(h);
    }
    vec_push(&(*found)->waiting, (struct waiting){q, user});
    return true;
}

void homes_free(struct server *s)
{
    struct err err = {0};

    if (!s->homes)
        return;
    err_set(&err, ERR_UNAVAILABLE, "the server is going down");
    map_each (i, &s->homes->by_user) {
        struct home *h = *map_at(&s->homes->by_user, i);
        vec_each (j, &h->waiting)
            server_refuse(h->waiting.at[j].q, &err);
        vec_fini(&h->waiting);
        free((void *)(uintptr_t)h->name.at);
        free((void *)(uintptr_t)h->ns.at);
        free(h);
    }
    map_fini(&s->homes->by_user);
    free(s->homes);
    s->homes = NULL;
}
