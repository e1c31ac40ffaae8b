/* admit.c - admission: what the rest of the world demands of a write
 *
 * A row a plugin, named as upstream names it, so that `--disable-admission` takes it out.
 */
#include "server/write_priv.h"

static const struct kind *namespace_kind(struct write *w)
{
    return kind_of_name(w->r->server, S(""), S("v1"), S("Namespace"));
}

/* New things need a namespace that is there to stay. */
static int namespace_lifecycle(struct write *w)
{
    struct request *r = w->r;
    const struct kind *k = namespace_kind(w);

    if (w->old || !w->kind->namespaced || !k)
        return 0;
    struct object *ns = store_get(r->server->store, k, r->ns);
    if (!ns) {
        struct json_obj d = obj_in(w->arena);
        obj_setz(&d, "name", json_of_str(r->ns));
        obj_setz(&d, "kind", json_of_z("namespaces"));
        return fail_with(r, 404, "NotFound",
                         str_printf(w->arena, "namespaces \"%.*s\" not found", STR_ARG(r->ns)),
                         json_new(w->arena, obj_done(&d)));
    }
    const struct json *tree = object_tree(ns, w->arena);
    if (!json_has(meta_get(tree, S("deletionTimestamp"))))
        return 0;
    struct json_obj cause = obj_in(w->arena), d = obj_in(w->arena);
    struct json_arr causes = arr_in(w->arena);
    struct str why = str_printf(w->arena, "namespace %.*s is being terminated", STR_ARG(r->ns));
    obj_setz(&cause, "reason", json_of_z("NamespaceTerminating"));
    obj_setz(&cause, "message", json_of_str(why));
    obj_setz(&cause, "field", json_of_z("metadata.namespace"));
    arr_add(&causes, obj_done(&cause));
    if (w->name.len)
        obj_setz(&d, "name", json_of_str(w->name));
    if (w->kind->group.len)
        obj_setz(&d, "group", json_of_str(w->kind->group));
    obj_setz(&d, "kind", json_of_str(w->kind->plural));
    obj_setz(&d, "causes", arr_done(&causes));
    return fail_with(r, 403, "Forbidden",
                     str_printf(w->arena,
                                "%.*s \"%.*s\" is forbidden: unable to create new content in "
                                "namespace %.*s because it is being terminated",
                                STR_ARG(group_resource(w->arena, w->kind)), STR_ARG(w->name),
                                STR_ARG(r->ns)),
                     json_new(w->arena, obj_done(&d)));
}

struct plugin {
    const char *name;
    int (*run)(struct write *w);
    bool is_mutating;
};

static const struct plugin plugins[] = {
    {"NamespaceLifecycle", namespace_lifecycle, true},
};

static bool is_disabled(const struct server *s, const char *name)
{
    struct str rest = s->config.disabled_admission, one;

    while (rest.len) {
        str_cut(rest, ',', &one, &rest);
        if (str_eqz(str_trim(one), name))
            return true;
    }
    return false;
}

static int admit(struct write *w, bool is_mutating)
{
    for (size_t i = 0; i < countof(plugins); i++) {
        const struct plugin *p = &plugins[i];
        if (p->is_mutating != is_mutating || is_disabled(w->r->server, p->name))
            continue;
        if (p->run(w) < 0)
            return -1;
    }
    return 0;
}

int admit_mutating(struct write *w)
{
    return admit(w, true);
}

int admit_validating(struct write *w)
{
    return admit(w, false);
}
