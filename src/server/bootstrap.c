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
};

/* ---- view, edit, admin ---- */

enum { READ = 1, WRITE = 2, POST = 4 };
static const struct {
    uint8_t bit;
    const char *verbs;
} verb_sets[] = {
    {READ,  "get list watch"                             },
    {WRITE, "create delete deletecollection patch update"},
    {POST,  "create patch update"                        },
};

enum level { VIEW, EDIT, ADMIN, N_LEVELS };
static const char *const level_names[N_LEVELS] = {"view", "edit", "admin"};

/* What each level may do in its namespace. Words are separated by spaces. */
static const struct {
    const char *group, *resources;
    uint8_t may[N_LEVELS];
} rules[] = {
    {"",
     "pods pods/log pods/status configmaps events limitranges persistentvolumeclaims "
     "podtemplates resourcequotas serviceaccounts services namespaces", {READ, READ, READ}                },
    {"",                          "secrets",                            {0, READ, READ}                   },
    {"",
     "pods configmaps secrets persistentvolumeclaims podtemplates serviceaccounts services "
     "pods/eviction",                                                   {0, WRITE, WRITE}                 },
    {"",                          "events",                             {0, POST, POST}                   },
    {"batch",                     "*",                                  {READ, READ | WRITE, READ | WRITE}},
    {"kueue.x-k8s.io",
     "workloads workloads/status workloads/why localqueues localqueues/status "
     "localqueues/quota",                                               {READ, READ, READ}                },
    {"kueue.x-k8s.io",            "workloads",                          {0, WRITE, WRITE}                 },
    {"kueue.x-k8s.io",            "localqueues",                        {0, 0, WRITE}                     },
    {"visibility.kueue.x-k8s.io", "*",                                  {READ, READ, READ}                },
    {"resource.k8s.io",
     "resourceclaims resourceclaimtemplates",                           {READ, READ | WRITE, READ | WRITE}},
    {"coordination.k8s.io",       "leases",                             {0, READ | WRITE, READ | WRITE}   },
    {"events.k8s.io",             "events",                             {READ, READ, READ}                },
    {"rbac.authorization.k8s.io", "roles rolebindings",                 {0, 0, READ | WRITE}              },
};

static void add_words(struct json_arr *out, const char *words)
{
    struct str rest = str_from(words), word;

    while (rest.len) {
        str_cut(rest, ' ', &word, &rest);
        arr_add(out, json_of_str(word));
    }
}

static struct json words_json(struct arena *a, const char *words)
{
    struct json_arr out = arr_in(a);

    add_words(&out, words);
    return arr_done(&out);
}

static struct json rule_json(struct arena *a, size_t i, uint8_t may)
{
    struct json_obj o = obj_in(a);
    struct json_arr groups = arr_in(a), verbs = arr_in(a);

    arr_add(&groups, json_of_str(str_from(rules[i].group)));
    for (size_t v = 0; v < countof(verb_sets); v++)
        if (may & verb_sets[v].bit)
            add_words(&verbs, verb_sets[v].verbs);
    obj_setz(&o, "apiGroups", arr_done(&groups));
    obj_setz(&o, "resources", words_json(a, rules[i].resources));
    obj_setz(&o, "verbs", arr_done(&verbs));
    return obj_done(&o);
}

static const struct json *level_tree(struct arena *a, enum level level)
{
    struct str head = str_printf(a,
                                 "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":"
                                 "\"ClusterRole\",\"metadata\":{\"name\":\"%s\"," DEFAULTS "}}",
                                 level_names[level]);
    struct json_obj o = obj_from(a, json_parse(a, head, NULL, NULL));
    struct json_arr list = arr_in(a);

    for (size_t i = 0; i < countof(rules); i++)
        if (rules[i].may[level])
            arr_add(&list, rule_json(a, i, rules[i].may[level]));
    obj_setz(&o, "rules", arr_done(&list));
    return json_new(a, obj_done(&o));
}

/* ---- making them ---- */

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

/* Where it is served and not there yet. */
static void make(struct bootstrap *b, const struct json *tree)
{
    struct str name = json_str(json_path(tree, "metadata", "name", NULL));
    const struct kind *k = kind_of_tree(b->server, tree);

    if (!k || store_get(b->server->store, k->storage, name))
        return;
    b->n_left++;
    client_create(b->client, &(struct client_target){.kind = k}, tree, made, b);
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
        make(b, tree);
    }
    for (int level = 0; level < N_LEVELS; level++)
        make(b, level_tree(&a, (enum level)level));
    made(b, &(struct client_answer){.code = 200});
}
