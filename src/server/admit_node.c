/* admit_node.c - admission of nodes, and of what nodes write
 *
 * Upstream's plugins TaintNodesByCondition and NodeRestriction.
 */
#include "server/admit_priv.h"

#include "api/node_authorizer.h"

#define NOT_READY "node.kubernetes.io/not-ready"

static bool is_node(const struct write *w)
{
    return !w->kind->group.len && str_eqz(w->kind->kind, "Node");
}

/* A new node is not ready until somebody says so. */
int admit_node_taint(struct write *w)
{
    struct json_arr all = arr_in(w->arena);
    struct json_obj taint = obj_in(w->arena);

    if (w->old || w->subresource.len || !is_node(w))
        return 0;
    const struct json *given = json_path(w->tree, "spec", "taints", NULL);
    json_each (i, given) {
        if (str_eqz(json_str(json_getz(json_at(given, i), "key")), NOT_READY))
            return 0;
        arr_add(&all, *json_at(given, i));
    }
    obj_setz(&taint, "key", json_of_z(NOT_READY));
    obj_setz(&taint, "effect", json_of_z("NoSchedule"));
    arr_add(&all, obj_done(&taint));
    spec_set(w, S("taints"), arr_done(&all));
    return 0;
}

/* ---- NodeRestriction ---- */

static struct str writer_node(const struct write *w)
{
    const struct server_user *u = w->r->user;

    return node_of_user(&(struct access_user){
        .name = u->name, .groups = {(struct str *)(uintptr_t)u->groups, u->n_groups}
    });
}

/* Labels of Kubernetes' own that a node may say about itself. */
static bool may_label(struct str key)
{
    static const char *const names[] = {
        "kubernetes.io/hostname",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    };
    struct str prefix, rest;

    if (!str_cut(key, '/', &prefix, &rest))
        return true;
    if (str_eqz(prefix, "node-restriction.kubernetes.io") ||
        str_ends(prefix, S(".node-restriction.kubernetes.io")))
        return false;
    for (size_t i = 0; i < countof(names); i++) {
        if (str_eqz(key, names[i]))
            return true;
    }
    if (str_eqz(prefix, "kubelet.kubernetes.io") || str_eqz(prefix, "node.kubernetes.io") ||
        str_ends(prefix, S(".kubelet.kubernetes.io")) ||
        str_ends(prefix, S(".node.kubernetes.io")))
        return true;
    return !str_eqz(prefix, "kubernetes.io") && !str_eqz(prefix, "k8s.io") &&
           !str_ends(prefix, S(".kubernetes.io")) && !str_ends(prefix, S(".k8s.io"));
}

static int restrict_node(struct write *w, struct str self)
{
    const struct json *labels = meta_get(w->tree, S("labels"));
    const struct json *was = meta_get(w->old, S("labels"));

    if (!str_eq(w->name, self))
        return fail_forbidden_named(w, "node \"%.*s\" is not allowed to modify node \"%.*s\"",
                                    STR_ARG(self), STR_ARG(w->name));
    json_each_member (m, labels) {
        const struct json *before = json_get(was, m->name);
        if ((!before || !json_eq(before, &m->value)) && !may_label(m->name))
            return fail_forbidden_named(w, "is not allowed to modify labels: %.*s",
                                        STR_ARG(m->name));
    }
    if (w->old) {
        const struct json *now = json_path(w->tree, "spec", "taints", NULL);
        const struct json *old = json_path(w->old, "spec", "taints", NULL);
        if ((json_len(now) || json_len(old)) && !(now && old && json_eq(now, old)))
            return fail_forbidden_named(w, "node \"%.*s\" is not allowed to modify taints",
                                        STR_ARG(self));
    }
    return 0;
}

static int restrict_pod(struct write *w, struct str self)
{
    const struct json *spec = json_getz(w->old ? w->old : w->tree, "spec");

    if (!str_eq(json_str(json_getz(spec, "nodeName")), self))
        return fail_forbidden_named(w,
                                    "node \"%.*s\" can only update pod status for pods with "
                                    "spec.nodeName set to itself",
                                    STR_ARG(self));
    if (!w->old && !json_has(json_path(w->tree, "metadata", "annotations",
                                       "kubernetes.io/config.mirror", NULL)))
        return fail_forbidden_named(w,
                                    "pod does not have \"kubernetes.io/config.mirror\" "
                                    "annotation, node \"%.*s\" can only create mirror pods",
                                    STR_ARG(self));
    return 0;
}

static int restrict_slice(struct write *w, struct str self)
{
    if (!w->old && !str_eq(json_str(json_path(w->tree, "spec", "nodeName", NULL)), self))
        return fail_forbidden_named(
            w, "can only create ResourceSlice with the same NodeName as the requesting node");
    return 0;
}

static int restrict_lease(struct write *w, struct str self)
{
    if (str_eqz(w->r->ns, "kube-node-lease") && !str_eq(w->name, self))
        return fail_forbidden_named(w, "can only access node lease with the same name as the "
                                       "requesting node");
    return 0;
}

int admit_node_restriction(struct write *w)
{
    static const struct {
        const char *group, *kind;
        int (*check)(struct write *w, struct str self);
    } rows[] = {
        {"",                    "Node",          restrict_node },
        {"",                    "Pod",           restrict_pod  },
        {"resource.k8s.io",     "ResourceSlice", restrict_slice},
        {"coordination.k8s.io", "Lease",         restrict_lease},
    };
    struct str self = writer_node(w);

    for (size_t i = 0; self.len && i < countof(rows); i++) {
        if (str_eqz(w->kind->group, rows[i].group) && str_eqz(w->kind->kind, rows[i].kind))
            return rows[i].check(w, self);
    }
    return 0;
}
