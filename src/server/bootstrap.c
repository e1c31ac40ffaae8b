/* bootstrap.c - what every server has: namespaces, roles and bindings, priority classes
 *
 * Each is made where it is missing, through the front door, at every start.
 */
#include "server/server_priv.h"

#include "client/client.h"

#define DEFAULTS "\"labels\":{\"kubernetes.io/bootstrapping\":\"rbac-defaults\"}"

/* Objects as text, one a row; the kind's group and version are in apiVersion. */
static const char *const objects[] = {
#define NAMESPACE(name)                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" name "\"}}"
    NAMESPACE("default"),
    NAMESPACE("kube-system"),
    NAMESPACE("kube-public"),
    NAMESPACE("kube-node-lease"),

#define PRIORITY(name, value, text)                                                            \
    "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":"        \
    "{\"name\":\"" name "\"},\"value\":" value ",\"description\":\"" text "\"}"
    PRIORITY("system-node-critical", "2000001000", "What a node cannot do without."),
    PRIORITY("system-cluster-critical", "2000000000", "What the cluster cannot do without."),

#define ROLE(name, rules)                                                                      \
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\",\"metadata\":"  \
    "{\"name\":\"" name "\"," DEFAULTS "},\"rules\":[" rules "]}"
#define RULE(groups, resources, verbs)                                                         \
    "{\"apiGroups\":[" groups "],\"resources\":[" resources "],\"verbs\":[" verbs "]}"
#define BIND(name, group)                                                                      \
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRoleBinding\","        \
    "\"metadata\":{\"name\":\"" name "\"," DEFAULTS "},\"roleRef\":{\"apiGroup\":"             \
    "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"" name "\"},"           \
    "\"subjects\":[{\"kind\":\"Group\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":"   \
    "\"" group "\"}]}"
    ROLE("cluster-admin", RULE("\"*\"", "\"*\"", "\"*\"") ",{\"nonResourceURLs\":[\"*\"],"
                                                          "\"verbs\":[\"*\"]}"),
    BIND("cluster-admin", "system:masters"),
    ROLE("system:discovery",
         "{\"nonResourceURLs\":[\"/api\",\"/api/*\",\"/apis\",\"/apis/*\",\"/healthz\","
         "\"/livez\",\"/readyz\",\"/openapi\",\"/openapi/*\",\"/version\",\"/version/\"],"
         "\"verbs\":[\"get\"]}"),
    BIND("system:discovery", "system:authenticated"),
    ROLE("system:public-info-viewer",
         "{\"nonResourceURLs\":[\"/healthz\",\"/livez\",\"/readyz\",\"/version\","
         "\"/version/\"],\"verbs\":[\"get\"]}"),
    BIND("system:public-info-viewer", "system:unauthenticated"),
    ROLE("system:basic-user",
         RULE("\"authorization.k8s.io\"",
              "\"selfsubjectaccessreviews\",\"selfsubjectrulesreviews\"",
              "\"create\"") "," RULE("\"authentication.k8s.io\"", "\"selfsubjectreviews\"",
                                     "\"create\"")),
    BIND("system:basic-user", "system:authenticated"),
#define READ "\"get\",\"list\",\"watch\""
#define WRITE "\"create\",\"delete\",\"deletecollection\",\"patch\",\"update\""
#define WORK_CORE                                                                              \
    "\"pods\",\"pods/log\",\"pods/status\",\"configmaps\",\"events\",\"limitranges\","         \
    "\"persistentvolumeclaims\",\"podtemplates\",\"resourcequotas\",\"serviceaccounts\","      \
    "\"services\",\"namespaces\""
#define EDIT_CORE                                                                              \
    "\"pods\",\"configmaps\",\"secrets\",\"persistentvolumeclaims\",\"podtemplates\","         \
    "\"serviceaccounts\",\"services\",\"pods/eviction\""
    ROLE("view",
         RULE("\"\"", WORK_CORE, READ) "," RULE("\"batch\"", "\"*\"", READ) "," RULE(
             "\"kueue.x-k8s.io\"",
             "\"workloads\",\"workloads/status\",\"workloads/why\",\"localqueues\","
             "\"localqueues/status\"",
             READ) "," RULE("\"visibility.kueue.x-k8s.io\"", "\"*\"",
                            READ) "," RULE("\"resource.k8s.io\"",
                                           "\"resourceclaims\",\"resourceclaimtemplates\"",
                                           READ) "," RULE("\"events.k8s.io\"", "\"events\"",
                                                          READ)),
    ROLE(
        "edit",
        RULE("\"\"", WORK_CORE ",\"secrets\"", READ) "," RULE("\"\"", EDIT_CORE, WRITE) "," RULE("\"\"", "\"events\"", "\"create\",\"patch\",\"update\"") "," RULE(
            "\"batch\"", "\"*\"",
            READ
            "," WRITE) "," RULE("\"kueue.x-k8s.io\"",
                                "\"workloads\",\"workloads/status\",\"workloads/"
                                "why\",\"localqueues\","
                                "\"localqueues/status\"",
                                READ) "," RULE("\"kueue.x-k8s.io\"", "\"workloads\"",
                                               WRITE) "," RULE("\"visibility.kueue.x-k8s.io\"",
                                                               "\"*\"",
                                                               READ) "," RULE("\"resource.k8s."
                                                                              "io\"",
                                                                              "\"resourceclaims"
                                                                              "\","
                                                                              "\"resourceclaimt"
                                                                              "emplates\"",
                                                                              READ
                                                                              "," WRITE) "," RULE("\"coordination.k8s.io\"",
                                                                                                  "\"leases\"",
                                                                                                  READ
                                                                                                  "," WRITE) "," RULE("\"events.k8s.io\"",
                                                                                                                      "\"events\"",
                                                                                                                      READ)),
    ROLE(
        "admin",
        RULE("\"\"", WORK_CORE ",\"secrets\"", READ) "," RULE("\"\"", EDIT_CORE, WRITE) "," RULE("\"\"", "\"events\"", "\"create\",\"patch\",\"update\"") "," RULE(
            "\"batch\"", "\"*\"",
            READ
            "," WRITE) "," RULE("\"kueue.x-k8s.io\"",
                                "\"workloads\",\"workloads/status\",\"workloads/"
                                "why\",\"localqueues\","
                                "\"localqueues/status\"",
                                READ) "," RULE("\"kueue.x-k8s.io\"",
                                               "\"workloads\",\"localqueues\"",
                                               WRITE) "," RULE("\"visibility.kueue.x-k8s.io\"",
                                                               "\"*\"",
                                                               READ) "," RULE("\"resource.k8s."
                                                                              "io\"",
                                                                              "\"resourceclaims"
                                                                              "\","
                                                                              "\"resourceclaimt"
                                                                              "emplates\"",
                                                                              READ
                                                                              "," WRITE) "," RULE("\"coordination.k8s.io\"",
                                                                                                  "\"leases\"",
                                                                                                  READ
                                                                                                  "," WRITE) "," RULE("\"events.k8s.io\"",
                                                                                                                      "\"events\"",
                                                                                                                      READ) "," RULE("\"rbac.authorization.k8s.io\"",
                                                                                                                                     "\"roles\",\"rolebindings\"",
                                                                                                                                     READ
                                                                                                                                     "," WRITE)),
};

struct bootstrap {
    struct server *server;
    struct client *client;
    size_t n_left;
    struct err err; /* the first failure */
    void (*done)(void *ctx, const struct err *err);
    void *ctx;
};

static void end(struct bootstrap *b)
{
    b->done(b->ctx, b->err.code ? &b->err : NULL);
    free(b);
}

static void made(void *ctx, const struct client_answer *answer)
{
    struct bootstrap *b = ctx;

    if (answer->err && answer->err->code != ERR_EXISTS && !b->err.code) {
        b->err = *answer->err;
        err_wrap(&b->err, "cannot make what every server has");
    }
    if (--b->n_left == 0)
        end(b);
}

static const struct kind *kind_of_tree(struct server *s, const struct json *tree)
{
    struct str group = {0}, version;

    if (!str_cut(json_str(json_getz(tree, "apiVersion")), '/', &group, &version)) {
        version = group;
        group = str_of(NULL, 0);
    }
    return kind_of_name(s, group, version, json_str(json_getz(tree, "kind")));
}

void server_bootstrap(struct server *s, void (*done)(void *ctx, const struct err *err),
                      void *ctx)
{
    scoped(arena_fini) struct arena a = {0};
    struct bootstrap *b = mem_zero(1, sizeof(*b));

    b->server = s;
    b->done = done;
    b->ctx = ctx;
    if (!s->own)
        s->own = server_client(s, &server_berth);
    b->client = s->own;
    events_start(s);
    b->n_left = 1;
    for (size_t i = 0; i < countof(objects); i++) {
        const struct json *tree = json_parse(&a, str_from(objects[i]), NULL, NULL);
        assert(tree);
        const struct kind *k = kind_of_tree(s, tree);
        if (!k)
            continue; /* not served here */
        struct str name = json_str(json_path(tree, "metadata", "name", NULL));
        if (store_get(s->store, k->storage, name))
            continue;
        b->n_left++;
        client_create(b->client, &(struct client_target){.kind = k}, tree, made, b);
    }
    made(b, &(struct client_answer){.code = 200});
}
