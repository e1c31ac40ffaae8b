/* admit.c - admission: what the rest of the world demands of a write
 *
 * A row a plugin, named as upstream names it, so that `--disable-admission` takes it out.
 */
#include "server/admit_priv.h"
#include "server/run_as_priv.h"

static const struct kind *namespace_kind(struct write *w)
{
    return kind_of_name(w->r->server, S(""), S("v1"), S("Namespace"));
}

/* New things need a namespace that is there to stay. */
static int namespace_lifecycle(struct write *w)
{
    struct request *r = w->r;
    const struct kind *k = w->old || !w->kind->namespaced ? NULL : namespace_kind(w);

    if (!k)
        return 0;
    struct object *ns = store_get(r->server->store, k, r->ns);
    if (!ns) {
        struct status_subject about = {.resource = S("namespaces"), .name = r->ns};
        struct api_error e = api_error_not_found(w->arena, about);
        return fail_api(r, &e);
    }
    if (!json_has(meta_get(object_tree(ns, w->arena), S("deletionTimestamp"))))
        return 0;
    struct status_subject about = subject_of(r);
    about.name = w->name;
    struct api_error e = api_error_terminating(w->arena, about, r->ns);
    return fail_api(r, &e);
}

struct plugin {
    const char *name;
    int (*run)(struct write *w);
    bool is_mutating;
};

/* Mutating ones in upstream's order. */
static const struct plugin plugins[] = {
    {"NamespaceLifecycle",       namespace_lifecycle,    true },
    {"RunAs",                    run_as_admit,           true },
    {"LimitRanger",              admit_limits,           true },
    {"TaintNodesByCondition",    admit_node_taint,       true },
    {"Priority",                 admit_priority,         true },
    {"DefaultTolerationSeconds", admit_tolerations,      true },
    {"NodeRestriction",          admit_node_restriction, false},
    {"RBACEscalation",           admit_rbac,             false},
};

int fail_forbidden_named(struct write *w, const char *format, ...)
{
    struct status_subject about = subject_of(w->r);
    struct err err = {0};
    va_list args;

    va_start(args, format);
    vsnprintf(err.text, sizeof(err.text), format, args);
    va_end(args);
    about.name = w->name;
    struct api_error e =
        api_error_forbidden(w->arena, about, str_copy(w->arena, str_from(err.text)));
    return fail_api(w->r, &e);
}

int admit_check_names(struct str names, struct err *err)
{
    struct str one;

    while (names.len) {
        bool is_known = false;
        str_cut(names, ',', &one, &names);
        one = str_trim(one);
        for (size_t i = 0; i < countof(plugins); i++)
            is_known |= str_eqz(one, plugins[i].name);
        if (is_known || one.len == 0)
            continue;
        scoped(arena_fini) struct arena a = arena_sized(512);
        struct buf known = buf_in(&a, 256);
        for (size_t i = 0; i < countof(plugins); i++)
            buf_printf(&known, "%s%s", i ? ", " : "", plugins[i].name);
        return err_set(err, ERR_INVALID, "no admission plugin is called '%.*s'; there are %.*s",
                       STR_ARG(one), STR_ARG(buf_str(&known)));
    }
    return 0;
}

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
