/* rbac.c - roles and bindings: who may do what
 *
 * Roles and bindings are kept by "NS/NAME"; each has an arena of its own with copies of its
 * texts. Bindings stand in a list for each namespace ("" is the cluster's).
 */
#include "api/rbac.h"

struct role {
    struct arena arena;
    struct str key;
    struct rbac_rules rules;
};

enum subject_kind { SUBJECT_USER, SUBJECT_GROUP, SUBJECT_ACCOUNT };

struct subject {
    enum subject_kind kind;
    struct str name; /* of an account: its whole user name */
};

struct binding {
    struct arena arena;
    struct str ns, name;
    struct str role_key;
    struct str role_kind, role_name;
    const struct subject *subjects;
    size_t n_subjects;
};

struct of_namespace {
    struct arena arena;
    struct str ns;
    VEC(struct binding *) bindings;
};

struct rbac {
    MAP(struct role *) roles;
    MAP(struct of_namespace *) namespaces;
};

/* ---- rules ---- */

struct rbac_rules rbac_rules_of(struct arena *a, const struct json *rules)
{
    struct rbac_rule *at = arena_array(a, struct rbac_rule, json_len(rules));
    size_t n = 0;

    json_each (i, rules) {
        const struct json *r = json_at(rules, i);
        at[n++] = (struct rbac_rule){
            .verbs = str_list_of(a, json_getz(r, "verbs")),
            .groups = str_list_of(a, json_getz(r, "apiGroups")),
            .resources = str_list_of(a, json_getz(r, "resources")),
            .names = str_list_of(a, json_getz(r, "resourceNames")),
            .urls = str_list_of(a, json_getz(r, "nonResourceURLs")),
        };
    }
    return (struct rbac_rules){at, n};
}

static bool has_or_all(const struct str_list *l, struct str s)
{
    return str_list_has(l, S("*")) || str_list_has(l, s);
}

/* `pods`, `pods/status`, a star for all of them, or a star, a slash and `status`. */
static bool has_resource(const struct str_list *l, struct str resource, struct str sub)
{
    struct str head, tail;

    for (size_t i = 0; i < l->len; i++) {
        struct str one = l->at[i];
        if (str_eq(one, S("*")))
            return true;
        str_cut(one, '/', &head, &tail);
        if (str_eq(tail, sub) && (str_eq(head, resource) || (sub.len && str_eq(head, S("*")))))
            return true;
    }
    return false;
}

static bool has_url(const struct str_list *l, struct str path)
{
    for (size_t i = 0; i < l->len; i++) {
        struct str one = l->at[i];
        if (str_eq(one, S("*")) || str_eq(one, path))
            return true;
        if (str_ends(one, S("*")) && str_starts(path, str_slice(one, 0, one.len - 1)))
            return true;
    }
    return false;
}

bool rbac_rule_allows(const struct rbac_rule *r, const struct access *access)
{
    if (!has_or_all(&r->verbs, access->verb))
        return false;
    if (!access->is_resource)
        return has_url(&r->urls, access->path);
    return has_or_all(&r->groups, access->group) &&
           has_resource(&r->resources, access->resource, access->subresource) &&
           (r->names.len == 0 || (access->name.len && str_list_has(&r->names, access->name)));
}

/* ---- the index ---- */

struct rbac *rbac_new(void)
{
    return mem_zero(1, sizeof(struct rbac));
}

static void role_free(struct role *r)
{
    arena_fini(&r->arena);
    free(r);
}

static void binding_free(struct binding *b)
{
    arena_fini(&b->arena);
    free(b);
}

void rbac_free(struct rbac *r)
{
    if (!r)
        return;
    map_each (i, &r->roles)
        role_free(*map_at(&r->roles, i));
    map_each (i, &r->namespaces) {
        struct of_namespace *n = *map_at(&r->namespaces, i);
        vec_each (k, &n->bindings)
            binding_free(n->bindings.at[k]);
        vec_fini(&n->bindings);
        arena_fini(&n->arena);
        free(n);
    }
    map_fini(&r->roles);
    map_fini(&r->namespaces);
    free(r);
}

static struct str key_of(struct arena *a, struct str ns, struct str name)
{
    return str_printf(a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
}

static struct role *find_role(const struct rbac *r, struct str key)
{
    struct role **found = map_get(&r->roles, key);

    return found ? *found : NULL;
}

void rbac_put_role(struct rbac *r, struct str ns, struct str name, const struct json *object)
{
    scoped(arena_fini) struct arena scratch = arena_sized(512);
    struct role *old = find_role(r, key_of(&scratch, ns, name));

    if (old) {
        map_del(&r->roles, old->key);
        role_free(old);
    }
    if (!object)
        return;
    struct role *role = mem_zero(1, sizeof(*role));
    role->arena = arena_sized(1024);
    role->key = key_of(&role->arena, ns, name);
    role->rules =
        rbac_rules_of(&role->arena, json_copy(&role->arena, json_getz(object, "rules")));
    *map_put(&r->roles, role->key) = role;
}

struct rbac_rules rbac_role_rules(const struct rbac *r, struct str ns, struct str name)
{
    scoped(arena_fini) struct arena scratch = arena_sized(512);
    struct role *role = find_role(r, key_of(&scratch, ns, name));

    return role ? role->rules : (struct rbac_rules){0};
}

static struct of_namespace *namespace_of(struct rbac *r, struct str ns)
{
    struct of_namespace **found = map_get(&r->namespaces, ns);

    if (found)
        return *found;
    struct of_namespace *n = mem_zero(1, sizeof(*n));
    n->arena = arena_sized(64);
    n->ns = str_copy(&n->arena, ns);
    *map_put(&r->namespaces, n->ns) = n;
    return n;
}

/* False for a subject that nobody can be. */
static bool read_subject(struct binding *b, const struct json *v, struct subject *out)
{
    struct str kind = json_str(json_getz(v, "kind")), name = json_str(json_getz(v, "name"));
    struct str ns = json_str(json_getz(v, "namespace"));

    out->name = name;
    if (str_eq(kind, S("User"))) {
        out->kind = SUBJECT_USER;
    } else if (str_eq(kind, S("Group"))) {
        out->kind = SUBJECT_GROUP;
    } else if (str_eq(kind, S("ServiceAccount"))) {
        ns = ns.len ? ns : b->ns;
        out->kind = SUBJECT_ACCOUNT;
        out->name = str_printf(&b->arena, "system:serviceaccount:%.*s:%.*s", STR_ARG(ns),
                               STR_ARG(name));
        return ns.len > 0;
    } else {
        return false;
    }
    return true;
}

static struct binding *read_binding(struct str ns, struct str name, const struct json *object)
{
    struct binding *b = mem_zero(1, sizeof(*b));
    b->arena = arena_sized(1024);
    const struct json *v = json_copy(&b->arena, object);
    const struct json *subjects = json_getz(v, "subjects");
    struct subject *list = arena_array(&b->arena, struct subject, json_len(subjects));

    b->ns = str_copy(&b->arena, ns);
    b->name = str_copy(&b->arena, name);
    b->role_kind = json_str(json_path(v, "roleRef", "kind", NULL));
    b->role_name = json_str(json_path(v, "roleRef", "name", NULL));
    bool is_cluster_role = str_eq(b->role_kind, S("ClusterRole"));
    b->role_key = key_of(&b->arena, is_cluster_role ? S("") : b->ns, b->role_name);
    json_each (i, subjects)
        b->n_subjects += read_subject(b, json_at(subjects, i), &list[b->n_subjects]);
    b->subjects = list;
    return b;
}

void rbac_put_binding(struct rbac *r, struct str ns, struct str name, const struct json *object)
{
    struct of_namespace *n = namespace_of(r, ns);

    vec_each (i, &n->bindings)
        if (str_eq(n->bindings.at[i]->name, name)) {
            binding_free(n->bindings.at[i]);
            vec_remove(&n->bindings, i);
            break;
        }
    if (object)
        vec_push(&n->bindings, read_binding(ns, name, object));
}

/* ---- questions ---- */

static const struct subject *subject_of(const struct binding *b, const struct access_user *u)
{
    for (size_t i = 0; i < b->n_subjects; i++) {
        const struct subject *s = &b->subjects[i];
        if (s->kind == SUBJECT_GROUP ? str_list_has(&u->groups, s->name)
                                     : str_eq(s->name, u->name))
            return s;
    }
    return NULL;
}

static void tell(struct arena *a, const struct binding *b, const struct subject *s,
                 struct str *reason)
{
    static const char *const kinds[] = {"User", "Group", "ServiceAccount"};

    if (!reason)
        return;
    *reason = str_printf(a,
                         "RBAC: allowed by %sBinding \"%.*s%s%.*s\" of %.*s \"%.*s\" to %s "
                         "\"%.*s\"",
                         b->ns.len ? "Role" : "ClusterRole", STR_ARG(b->name),
                         b->ns.len ? "/" : "", STR_ARG(b->ns), STR_ARG(b->role_kind),
                         STR_ARG(b->role_name), kinds[s->kind], STR_ARG(s->name));
}

static bool namespace_allows(const struct rbac *r, struct arena *a, struct str ns,
                             const struct access *access, struct str *reason)
{
    struct of_namespace **n = map_get(&r->namespaces, ns);

    for (size_t i = 0; n && i < (*n)->bindings.len; i++) {
        const struct binding *b = (*n)->bindings.at[i];
        const struct subject *s = subject_of(b, &access->user);
        const struct role *role = s ? find_role(r, b->role_key) : NULL;
        for (size_t k = 0; role && k < role->rules.len; k++)
            if (rbac_rule_allows(&role->rules.at[k], access)) {
                tell(a, b, s, reason);
                return true;
            }
    }
    return false;
}

bool rbac_allows(const struct rbac *r, struct arena *a, const struct access *access,
                 struct str *reason)
{
    return namespace_allows(r, a, S(""), access, reason) ||
           (access->is_resource && access->ns.len &&
            namespace_allows(r, a, access->ns, access, reason));
}

struct rbac_rules rbac_rules_for(const struct rbac *r, struct arena *a,
                                 const struct access_user *user, struct str ns)
{
    VEC(struct rbac_rule) v = {0};
    struct str scopes[] = {S(""), ns};

    for (size_t i = 0; i < (ns.len ? 2 : 1); i++) {
        struct of_namespace **n = map_get(&r->namespaces, scopes[i]);
        for (size_t k = 0; n && k < (*n)->bindings.len; k++) {
            const struct binding *b = (*n)->bindings.at[k];
            const struct role *role = subject_of(b, user) ? find_role(r, b->role_key) : NULL;
            for (size_t m = 0; role && m < role->rules.len; m++)
                vec_push_in(a, &v, role->rules.at[m]);
        }
    }
    return (struct rbac_rules){v.at, v.len};
}

/* ---- escalation ---- */

/* One verb on one resource (of one name), or on one path. */
struct atom {
    struct str verb, group, resource, name, url;
};

static bool list_covers(const struct str_list *l, struct str s)
{
    return str_list_has(l, S("*")) || str_list_has(l, s);
}

static bool resource_covered(const struct str_list *l, struct str resource)
{
    struct str head, sub;

    if (list_covers(l, resource))
        return true;
    if (!str_cut(resource, '/', &head, &sub))
        return false;
    for (size_t i = 0; i < l->len; i++)
        if (str_starts(l->at[i], S("*/")) && str_eq(str_slice(l->at[i], 2, l->at[i].len), sub))
            return true;
    return false;
}

static bool url_covered(const struct str_list *l, struct str url)
{
    for (size_t i = 0; i < l->len; i++)
        if (str_eq(l->at[i], url) ||
            (str_ends(l->at[i], S("*")) &&
             str_starts(url, str_slice(l->at[i], 0, l->at[i].len - 1))))
            return true;
    return false;
}

static bool atom_covered(struct rbac_rules owned, const struct atom *t)
{
    for (size_t i = 0; i < owned.len; i++) {
        const struct rbac_rule *r = &owned.at[i];
        if (!list_covers(&r->verbs, t->verb))
            continue;
        if (t->url.len) {
            if (url_covered(&r->urls, t->url))
                return true;
        } else if (list_covers(&r->groups, t->group) &&
                   resource_covered(&r->resources, t->resource) &&
                   (r->names.len == 0 || (t->name.len && str_list_has(&r->names, t->name)))) {
            return true;
        }
    }
    return false;
}

static void write_atom(struct buf *out, const struct atom *t)
{
    if (out->len)
        buf_byte(out, '\n');
    if (t->url.len)
        buf_printf(out, "{NonResourceURLs:[\"%.*s\"], Verbs:[\"%.*s\"]}", STR_ARG(t->url),
                   STR_ARG(t->verb));
    else if (t->name.len)
        buf_printf(out,
                   "{APIGroups:[\"%.*s\"], Resources:[\"%.*s\"], ResourceNames:[\"%.*s\"], "
                   "Verbs:[\"%.*s\"]}",
                   STR_ARG(t->group), STR_ARG(t->resource), STR_ARG(t->name), STR_ARG(t->verb));
    else
        buf_printf(out, "{APIGroups:[\"%.*s\"], Resources:[\"%.*s\"], Verbs:[\"%.*s\"]}",
                   STR_ARG(t->group), STR_ARG(t->resource), STR_ARG(t->verb));
}

#define COVERS_MAX_ATOMS 100000 /* of one question; more is "not covered" */

static void miss(struct buf *out, struct rbac_rules owned, const struct atom *t, size_t *left)
{
    if (*left == 0)
        return;
    --*left;
    if (!atom_covered(owned, t))
        write_atom(out, t);
}

static void rule_missing(struct buf *out, struct rbac_rules owned, const struct rbac_rule *w,
                         size_t *left)
{
    for (size_t v = 0; v < w->verbs.len && *left; v++) {
        struct atom t = {.verb = w->verbs.at[v]};
        for (size_t u = 0; u < w->urls.len; u++) {
            t.url = w->urls.at[u];
            miss(out, owned, &t, left);
        }
        t.url = (struct str){0};
        for (size_t g = 0; g < w->groups.len; g++)
            for (size_t r = 0; r < w->resources.len; r++)
                for (size_t n = 0; n < MAX(w->names.len, (size_t)1); n++) {
                    t.group = w->groups.at[g];
                    t.resource = w->resources.at[r];
                    t.name = w->names.len ? w->names.at[n] : (struct str){0};
                    miss(out, owned, &t, left);
                }
    }
}

bool rbac_covers(struct arena *a, struct rbac_rules owned, struct rbac_rules wanted,
                 struct str *missing)
{
    struct buf out = buf_in(a, 256);
    size_t left = COVERS_MAX_ATOMS;

    for (size_t i = 0; i < wanted.len; i++)
        rule_missing(&out, owned, &wanted.at[i], &left);
    if (left == 0)
        buf_add(&out, S("\n... (too many permissions in one role)"));
    if (missing)
        *missing = buf_str(&out);
    return out.len == 0;
}
