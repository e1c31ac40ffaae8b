/* node_authorizer.c - what a node's identity may touch
 *
 * The graph is flat: for each pod (or slice) the list of things it relates to its node, and for
 * each pair "NODE KIND NS/NAME" how many pods hold it.
 */
#include "api/node_authorizer.h"

struct holder {
    struct arena arena;
    struct str key;
    VEC(struct str) refs; /* keys in `counts` */
};

struct node_graph {
    MAP(struct holder *) holders; /* "pod NS/NAME", "slice NAME" */
    MAP(size_t) counts;
    MAP(char *) texts; /* owns the keys of counts */
};

struct node_graph *node_graph_new(void)
{
    return mem_zero(1, sizeof(struct node_graph));
}

static void holder_free(struct holder *h)
{
    arena_fini(&h->arena);
    free(h);
}

void node_graph_free(struct node_graph *g)
{
    if (!g)
        return;
    map_each (i, &g->holders)
        holder_free(*map_at(&g->holders, i));
    map_each (i, &g->texts)
        free(*map_at(&g->texts, i));
    map_fini(&g->holders);
    map_fini(&g->counts);
    map_fini(&g->texts);
    free(g);
}

/* ---- edges ---- */

static struct str ref_key(struct arena *a, struct str node, const char *kind, struct str ns,
                          struct str name)
{
    return str_printf(a, "%.*s %s %.*s/%.*s", STR_ARG(node), kind, STR_ARG(ns), STR_ARG(name));
}

static void count_up(struct node_graph *g, struct str key)
{
    size_t *n = map_get(&g->counts, key);

    if (!n) {
        char *text = mem_alloc(key.len + 1);
        memcpy(text, key.at, key.len);
        struct str own = {text, key.len};
        *map_put(&g->texts, own) = text;
        n = map_put(&g->counts, own);
    }
    ++*n;
}

static void count_down(struct node_graph *g, struct str key)
{
    size_t *n = map_get(&g->counts, key);

    if (--*n > 0)
        return;
    char *text = *map_get(&g->texts, key);
    map_del(&g->counts, key);
    map_del(&g->texts, key);
    free(text);
}

static void drop_holder(struct node_graph *g, struct str key)
{
    struct holder **found = map_get(&g->holders, key);
    struct holder *h = found ? *found : NULL;

    if (!h)
        return;
    map_del(&g->holders, key);
    vec_each (i, &h->refs)
        count_down(g, h->refs.at[i]);
    holder_free(h);
}

static struct holder *new_holder(struct node_graph *g, struct str key)
{
    struct holder *h = mem_zero(1, sizeof(*h));

    h->arena = arena_sized(512);
    h->key = str_copy(&h->arena, key);
    *map_put(&g->holders, h->key) = h;
    return h;
}

/* What one pod's references are about. */
struct edges {
    struct holder *h;
    struct str node, ns;
};

static void refer(struct edges *e, const char *kind, struct str name)
{
    if (name.len)
        vec_push_in(&e->h->arena, &e->h->refs,
                    ref_key(&e->h->arena, e->node, kind, e->ns, name));
}

static void refer_member(struct edges *e, const char *kind, const struct json *v,
                         const char *member)
{
    refer(e, kind, json_str(json_get(v, str_from(member))));
}

static void refer_projected(struct edges *e, const struct json *sources)
{
    json_each (i, sources) {
        const struct json *s = json_at(sources, i);
        refer_member(e, "secrets", json_getz(s, "secret"), "name");
        refer_member(e, "configmaps", json_getz(s, "configMap"), "name");
    }
}

static void refer_volumes(struct edges *e, const struct json *pod)
{
    static const char *const with_secret[] = {"cephfs",    "cinder",    "flexVolume",
                                              "rbd",       "iscsi",     "scaleIO",
                                              "storageos", "azureFile", "glusterfs"};
    const struct json *volumes = json_path(pod, "spec", "volumes", NULL);
    struct str pod_name = json_str(json_path(pod, "metadata", "name", NULL));

    json_each (i, volumes) {
        const struct json *v = json_at(volumes, i);
        refer_member(e, "secrets", json_getz(v, "secret"), "secretName");
        refer_member(e, "configmaps", json_getz(v, "configMap"), "name");
        refer_member(e, "persistentvolumeclaims", json_getz(v, "persistentVolumeClaim"),
                     "claimName");
        if (json_has(json_getz(v, "ephemeral")))
            refer(e, "persistentvolumeclaims",
                  str_printf(&e->h->arena, "%.*s-%.*s", STR_ARG(pod_name),
                             STR_ARG(json_str(json_getz(v, "name")))));
        refer_projected(e, json_path(v, "projected", "sources", NULL));
        refer_member(e, "secrets", json_path(v, "csi", "nodePublishSecretRef", NULL), "name");
        for (size_t k = 0; k < countof(with_secret); k++) {
            const struct json *source = json_get(v, str_from(with_secret[k]));
            refer_member(e, "secrets", json_getz(source, "secretRef"), "name");
            refer_member(e, "secrets", source, "secretName");
        }
    }
}

static void refer_containers(struct edges *e, const struct json *list)
{
    json_each (i, list) {
        const struct json *env = json_getz(json_at(list, i), "env");
        const struct json *from = json_getz(json_at(list, i), "envFrom");
        json_each (k, env) {
            const struct json *source = json_getz(json_at(env, k), "valueFrom");
            refer_member(e, "secrets", json_getz(source, "secretKeyRef"), "name");
            refer_member(e, "configmaps", json_getz(source, "configMapKeyRef"), "name");
        }
        json_each (k, from) {
            refer_member(e, "secrets", json_getz(json_at(from, k), "secretRef"), "name");
            refer_member(e, "configmaps", json_getz(json_at(from, k), "configMapRef"), "name");
        }
    }
}

static void refer_claims(struct edges *e, const struct json *pod)
{
    const struct json *claims = json_path(pod, "spec", "resourceClaims", NULL);
    const struct json *made = json_path(pod, "status", "resourceClaimStatuses", NULL);

    json_each (i, claims) {
        const struct json *c = json_at(claims, i);
        refer_member(e, "resourceclaims", c, "resourceClaimName");
        refer_member(e, "resourceclaims", json_getz(c, "source"), "resourceClaimName");
    }
    json_each (i, made)
        refer_member(e, "resourceclaims", json_at(made, i), "resourceClaimName");
    refer_member(e, "resourceclaims",
                 json_path(pod, "status", "extendedResourceClaimStatus", NULL),
                 "resourceClaimName");
}

static void refer_all(struct edges *e, const struct json *pod)
{
    const struct json *spec = json_getz(pod, "spec"),
                      *pull = json_getz(spec, "imagePullSecrets");

    refer_member(e, "serviceaccounts", spec, "serviceAccountName");
    json_each (i, pull)
        refer_member(e, "secrets", json_at(pull, i), "name");
    refer_volumes(e, pod);
    refer_containers(e, json_getz(spec, "initContainers"));
    refer_containers(e, json_getz(spec, "containers"));
    refer_containers(e, json_getz(spec, "ephemeralContainers"));
    refer_claims(e, pod);
}

void node_graph_put_pod(struct node_graph *g, struct str ns, struct str name,
                        const struct json *object)
{
    scoped(arena_fini) struct arena a = arena_sized(512);
    struct str key = str_printf(&a, "pod %.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    struct str node = json_str(json_path(object, "spec", "nodeName", NULL));

    drop_holder(g, key);
    if (node.len == 0)
        return;
    struct edges e = {.h = new_holder(g, key), .node = node, .ns = ns};
    refer(&e, "pods", name);
    /* A mirror pod was written by the node: what it names gives the node no rights. */
    if (!json_has(
            json_path(object, "metadata", "annotations", "kubernetes.io/config.mirror", NULL)))
        refer_all(&e, object);
    vec_each (i, &e.h->refs)
        count_up(g, e.h->refs.at[i]);
}

void node_graph_put_slice(struct node_graph *g, struct str name, const struct json *object)
{
    scoped(arena_fini) struct arena a = arena_sized(512);
    struct str key = str_printf(&a, "slice %.*s", STR_ARG(name));
    struct str node = json_str(json_path(object, "spec", "nodeName", NULL));

    drop_holder(g, key);
    if (node.len == 0)
        node = json_str(json_getz(object, "nodeName")); /* v1alpha2 has no spec */
    if (node.len == 0)
        return;
    struct edges e = {.h = new_holder(g, key), .node = node};
    refer(&e, "resourceslices", name);
    vec_each (i, &e.h->refs)
        count_up(g, e.h->refs.at[i]);
}

/* ---- questions ---- */

#define USER_PREFIX "system:node:"

struct str node_of_user(const struct access_user *user)
{
    if (!str_starts(user->name, S(USER_PREFIX)) ||
        !str_list_has(&user->groups, S("system:nodes")))
        return S("");
    return str_slice(user->name, sizeof(USER_PREFIX) - 1, user->name.len);
}

/* What must hold beside verb, resource and subresource. */
enum demand {
    ANYTHING,
    RELATED,       /* the graph has an edge to it */
    OWN_NAME,      /* it is called like the node */
    OF_NODE,       /* RELATED, or a field selector spec.nodeName=<node> */
    NODE_SELECTED, /* the field selector alone */
    NODE_LEASE,    /* OWN_NAME in kube-node-lease */
    NODE_LEASES,   /* anything in kube-node-lease */
};

struct row {
    const char *group, *resource, *subresource, *verbs;
    enum demand demand;
};

#define READ "get list watch"
#define CHANGE "update patch"

static const struct row rows[] = {
    {"",                      "secrets",                    "",         READ,                          RELATED      },
    {"",                      "configmaps",                 "",         READ,                          RELATED      },
    {"",                      "persistentvolumeclaims",     "",         "get",                         RELATED      },
    {"",                      "persistentvolumeclaims",     "status",   CHANGE,                        RELATED      },
    {"",                      "serviceaccounts",            "token",    "create",                      RELATED      },
    {"",                      "serviceaccounts",            "",         "get",                         RELATED      },
    {"",                      "nodes",                      "",         "create " CHANGE,              ANYTHING     },
    {"",                      "nodes",                      "status",   CHANGE,                        ANYTHING     },
    {"",                      "nodes",                      "",         READ,                          OWN_NAME     },
    {"",                      "pods",                       "",         "get",                         RELATED      },
    {"",                      "pods",                       "",         "list watch",                  OF_NODE      },
    {"",                      "pods",                       "",         "create delete",               ANYTHING     },
    {"",                      "pods",                       "status",   CHANGE,                        ANYTHING     },
    {"",                      "pods",                       "eviction", "create",                      ANYTHING     },
    {"",                      "services",                   "",         READ,                          ANYTHING     },
    {"",                      "endpoints",                  "",         "get",                         ANYTHING     },
    {"",                      "events",                     "",         "create " CHANGE,              ANYTHING     },
    {"events.k8s.io",         "events",                     "",         "create " CHANGE,              ANYTHING     },
    {"resource.k8s.io",       "resourceclaims",             "",         "get",                         RELATED      },
    {"resource.k8s.io",       "resourceslices",             "",         "create",                      ANYTHING     },
    {"resource.k8s.io",       "resourceslices",             "",         "get delete " CHANGE,          RELATED      },
    {"resource.k8s.io",       "resourceslices",             "",         "list watch deletecollection", NODE_SELECTED},
    {"coordination.k8s.io",   "leases",                     "",         "create",                      NODE_LEASES  },
    {"coordination.k8s.io",   "leases",                     "",         "get delete " CHANGE,          NODE_LEASE   },
    {"storage.k8s.io",        "csinodes",                   "",         "create",                      ANYTHING     },
    {"storage.k8s.io",        "csinodes",                   "",         "get delete " CHANGE,          OWN_NAME     },
    {"storage.k8s.io",        "csidrivers",                 "",         READ,                          ANYTHING     },
    {"node.k8s.io",           "runtimeclasses",             "",         READ,                          ANYTHING     },
    {"certificates.k8s.io",   "certificatesigningrequests", "",         "create " READ,                ANYTHING     },
    {"certificates.k8s.io",   "podcertificaterequests",     "",         "create",                      ANYTHING     },
    {"certificates.k8s.io",   "podcertificaterequests",     "",         "list watch",                  NODE_SELECTED},
    {"authentication.k8s.io", "tokenreviews",               "",         "create",                      ANYTHING     },
    {"authorization.k8s.io",  "subjectaccessreviews",       "",         "create",                      ANYTHING     },
    {"authorization.k8s.io",  "localsubjectaccessreviews",  "",         "create",                      ANYTHING     },
};

static bool has_word(const char *words, struct str word)
{
    struct str rest = str_from(words), one;

    while (rest.len) {
        str_cut(rest, ' ', &one, &rest);
        if (str_eq(one, word))
            return true;
    }
    return false;
}

static bool is_related(const struct node_graph *g, struct str node, const struct access *x)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    bool is_namespaced = !str_eq(x->resource, S("resourceslices"));

    if (x->name.len == 0 || (is_namespaced && x->ns.len == 0))
        return false;
    const char *kind = str_z(&a, x->resource);
    return map_get(&g->counts, ref_key(&a, node, kind, x->ns, x->name)) != NULL;
}

static bool is_node_selected(struct str node, const struct access *x)
{
    struct str value;

    return field_selector_exact(&x->fields, S("spec.nodeName"), &value) && str_eq(value, node);
}

static bool is_met(const struct node_graph *g, struct str node, const struct access *x,
                   enum demand demand)
{
    bool in_lease_ns = str_eq(x->ns, S("kube-node-lease"));

    switch (demand) {
    case ANYTHING:
        return true;
    case RELATED:
        return is_related(g, node, x);
    case OWN_NAME:
        return str_eq(x->name, node);
    case OF_NODE:
        return is_node_selected(node, x) || is_related(g, node, x);
    case NODE_SELECTED:
        return is_node_selected(node, x);
    case NODE_LEASE:
        return in_lease_ns && str_eq(x->name, node);
    case NODE_LEASES:
        return in_lease_ns;
    }
    return false;
}

bool node_allows(const struct node_graph *g, const struct access *x)
{
    struct str node = node_of_user(&x->user);

    if (node.len == 0 || !x->is_resource)
        return false;
    for (size_t i = 0; i < countof(rows); i++) {
        const struct row *r = &rows[i];
        if (str_eqz(x->resource, r->resource) && str_eqz(x->group, r->group) &&
            str_eqz(x->subresource, r->subresource) && has_word(r->verbs, x->verb) &&
            is_met(g, node, x, r->demand))
            return true;
    }
    return false;
}
