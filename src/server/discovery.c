/* discovery.c - which groups, versions and resources there are, in both forms
 *
 * Groups come in the order in which kinds were added; versions with the preferred one first.
 */
#include "server/discovery_priv.h"
#include "server/front_priv.h"

#include "api/accept.h"
#include "http/http.h"

/* ---- order of versions: GA > beta > alpha, then major, then minor ---- */

struct version_rank {
    int stage; /* 3 GA, 2 beta, 1 alpha, 0 none of these */
    int64_t major, minor;
};

static struct version_rank rank_of(struct str v)
{
    struct version_rank r = {0};
    size_t i = 1;

    if (v.len < 2 || v.at[0] != 'v')
        return r;
    while (i < v.len && v.at[i] >= '0' && v.at[i] <= '9')
        i++;
    if (!str_to_i64(str_slice(v, 1, i), &r.major))
        return r;
    struct str rest = str_slice(v, i, v.len);
    if (!rest.len)
        r.stage = 3;
    else if (str_starts(rest, S("beta")) && str_to_i64(str_slice(rest, 4, rest.len), &r.minor))
        r.stage = 2;
    else if (str_starts(rest, S("alpha")) && str_to_i64(str_slice(rest, 5, rest.len), &r.minor))
        r.stage = 1;
    return r;
}

/* Negative where a comes first. */
int version_cmp(struct str a, struct str b)
{
    struct version_rank x = rank_of(a), y = rank_of(b);

    if (!x.stage && !y.stage)
        return str_cmp(a, b);
    if (x.stage != y.stage)
        return y.stage - x.stage;
    if (x.major != y.major)
        return x.major > y.major ? -1 : 1;
    return x.minor == y.minor ? 0 : x.minor > y.minor ? -1 : 1;
}

static int version_cmp_p(const struct str *a, const struct str *b)
{
    return version_cmp(*a, *b);
}

size_t groups_of(const struct server *s, struct arena *a, struct str **out)
{
    VEC(struct str) groups = {0};

    vec_each (i, &s->kinds) {
        bool is_new = true;
        vec_each (j, &groups)
            is_new &= !str_eq(groups.at[j], s->kinds.at[i]->group);
        if (is_new)
            vec_push_in(a, &groups, s->kinds.at[i]->group);
    }
    *out = groups.at;
    return groups.len;
}

size_t versions_of(const struct server *s, struct arena *a, struct str group, struct str **out)
{
    VEC(struct str) versions = {0};

    vec_each (i, &s->kinds) {
        if (!str_eq(s->kinds.at[i]->group, group))
            continue;
        bool is_new = true;
        vec_each (j, &versions)
            is_new &= !str_eq(versions.at[j], s->kinds.at[i]->version);
        if (is_new)
            vec_push_in(a, &versions, s->kinds.at[i]->version);
    }
    vec_sort(&versions, version_cmp_p);
    *out = versions.at;
    return versions.len;
}

/* ---- resources ---- */

static const struct str default_verbs[] = {
    S_INIT("create"), S_INIT("delete"), S_INIT("deletecollection"), S_INIT("get"),
    S_INIT("list"),   S_INIT("patch"),  S_INIT("update"),           S_INIT("watch"),
};
static const struct str part_verbs[] = {S_INIT("get"), S_INIT("patch"), S_INIT("update")};

static struct json strs_json(struct arena *a, const struct str *at, size_t n)
{
    struct json_arr arr = arr_in(a);

    for (size_t i = 0; i < n; i++)
        arr_add(&arr, json_of_str(at[i]));
    return arr_done(&arr);
}

static struct json verbs_json(struct arena *a, const struct kind *k)
{
    if (k->n_verbs)
        return strs_json(a, k->verbs, k->n_verbs);
    return strs_json(a, default_verbs, countof(default_verbs));
}

struct part {
    struct str name, group, version, kind;
    const struct str *verbs;
    size_t n_verbs;
};

/* status, scale and the others of a kind, in the order of their names. */
static int part_cmp(const struct part *a, const struct part *b)
{
    return str_cmp(a->name, b->name);
}

static size_t parts_of(struct arena *a, const struct kind *k, struct part **out)
{
    VEC(struct part) parts = {0};

    if (k->status)
        vec_push_in(a, &parts,
                    (struct part){S("status"), k->group, k->version, k->kind, part_verbs, 3});
    if (k->scale)
        vec_push_in(
            a, &parts,
            (struct part){S("scale"), S("autoscaling"), S("v1"), S("Scale"), part_verbs, 3});
    for (size_t i = 0; i < k->n_subresources; i++) {
        const struct kind_subresource *p = &k->subresources[i];
        vec_push_in(
            a, &parts,
            (struct part){p->name, p->group, p->version, p->kind, p->verbs, p->n_verbs});
    }
    vec_sort(&parts, part_cmp);
    *out = parts.at;
    return parts.len;
}

static void add_resource(struct arena *a, struct json_arr *all, const struct kind *k)
{
    struct json_obj o = obj_in(a);
    struct part *parts;
    size_t n = parts_of(a, k, &parts);

    obj_setz(&o, "name", json_of_str(k->plural));
    obj_setz(&o, "singularName", json_of_str(k->singular));
    obj_setz(&o, "namespaced", json_of_bool(k->namespaced));
    obj_setz(&o, "kind", json_of_str(k->kind));
    obj_setz(&o, "verbs", verbs_json(a, k));
    if (k->n_short_names)
        obj_setz(&o, "shortNames", strs_json(a, k->short_names, k->n_short_names));
    if (k->n_categories)
        obj_setz(&o, "categories", strs_json(a, k->categories, k->n_categories));
    arr_add(all, obj_done(&o));
    for (size_t i = 0; i < n; i++) {
        const struct part *p = &parts[i];
        struct json_obj sub = obj_in(a);
        bool is_other = !str_eq(p->group, k->group) || !str_eq(p->version, k->version);
        obj_setz(&sub, "name",
                 json_of_str(str_printf(a, "%.*s/%.*s", STR_ARG(k->plural), STR_ARG(p->name))));
        obj_setz(&sub, "singularName", json_of_z(""));
        obj_setz(&sub, "namespaced", json_of_bool(k->namespaced));
        if (is_other && p->group.len)
            obj_setz(&sub, "group", json_of_str(p->group));
        if (is_other && p->version.len)
            obj_setz(&sub, "version", json_of_str(p->version));
        obj_setz(&sub, "kind", json_of_str(p->kind.len ? p->kind : k->kind));
        obj_setz(&sub, "verbs", strs_json(a, p->verbs, p->n_verbs));
        arr_add(all, obj_done(&sub));
    }
}

static struct str group_version(struct arena *a, struct str group, struct str version)
{
    return group.len ? str_printf(a, "%.*s/%.*s", STR_ARG(group), STR_ARG(version)) : version;
}

static const struct json *resource_list(const struct server *s, struct arena *a,
                                        struct str group, struct str version)
{
    struct json_obj o = obj_in(a);
    struct json_arr all = arr_in(a);

    vec_each (i, &s->kinds) {
        const struct kind *k = s->kinds.at[i];
        if (str_eq(k->group, group) && str_eq(k->version, version))
            add_resource(a, &all, k);
    }
    obj_setz(&o, "kind", json_of_z("APIResourceList"));
    if (group.len)
        obj_setz(&o, "apiVersion", json_of_z("v1"));
    obj_setz(&o, "groupVersion", json_of_str(group_version(a, group, version)));
    obj_setz(&o, "resources", arr_done(&all));
    return json_new(a, obj_done(&o));
}

/* ---- groups ---- */

static struct json version_json(struct arena *a, struct str group, struct str version)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "groupVersion", json_of_str(group_version(a, group, version)));
    obj_setz(&o, "version", json_of_str(version));
    return obj_done(&o);
}

static struct json group_json(const struct server *s, struct arena *a, struct str group,
                              bool is_alone)
{
    struct json_obj o = obj_in(a);
    struct json_arr versions = arr_in(a);
    struct str *v;
    size_t n = versions_of(s, a, group, &v);

    if (is_alone) {
        obj_setz(&o, "kind", json_of_z("APIGroup"));
        obj_setz(&o, "apiVersion", json_of_z("v1"));
    }
    obj_setz(&o, "name", json_of_str(group));
    for (size_t i = 0; i < n; i++)
        arr_add(&versions, version_json(a, group, v[i]));
    obj_setz(&o, "versions", arr_done(&versions));
    obj_setz(&o, "preferredVersion", version_json(a, group, v[0]));
    return obj_done(&o);
}

static const struct json *group_list(const struct server *s, struct arena *a)
{
    struct json_obj o = obj_in(a);
    struct json_arr groups = arr_in(a);
    struct str *g;
    size_t n = groups_of(s, a, &g);

    for (size_t i = 0; i < n; i++) {
        if (g[i].len)
            arr_add(&groups, group_json(s, a, g[i], false));
    }
    obj_setz(&o, "kind", json_of_z("APIGroupList"));
    obj_setz(&o, "apiVersion", json_of_z("v1"));
    obj_setz(&o, "groups", arr_done(&groups));
    return json_new(a, obj_done(&o));
}

static const struct json *core_versions(const struct server *s, struct arena *a)
{
    struct json_obj o = obj_in(a), cidr = obj_in(a);
    struct json_arr versions = arr_in(a), cidrs = arr_in(a);

    arr_add(&versions, json_of_z("v1"));
    obj_setz(&cidr, "clientCIDR", json_of_z("0.0.0.0/0"));
    obj_setz(&cidr, "serverAddress", json_of_str(s->config.address));
    arr_add(&cidrs, obj_done(&cidr));
    obj_setz(&o, "kind", json_of_z("APIVersions"));
    obj_setz(&o, "versions", arr_done(&versions));
    obj_setz(&o, "serverAddressByClientCIDRs", arr_done(&cidrs));
    return json_new(a, obj_done(&o));
}

/* ---- aggregated ---- */

static struct json gvk_json(struct arena *a, struct str group, struct str version,
                            struct str kind)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "group", json_of_str(group));
    obj_setz(&o, "version", json_of_str(version));
    obj_setz(&o, "kind", json_of_str(kind));
    return obj_done(&o);
}

static struct json aggregated_resource(struct arena *a, const struct kind *k)
{
    struct json_obj o = obj_in(a);
    struct part *parts;
    size_t n = parts_of(a, k, &parts);

    obj_setz(&o, "resource", json_of_str(k->plural));
    /* Empty group and version: those of the list it stands in. */
    obj_setz(&o, "responseKind", gvk_json(a, S(""), S(""), k->kind));
    obj_setz(&o, "scope", k->namespaced ? json_of_z("Namespaced") : json_of_z("Cluster"));
    obj_setz(&o, "singularResource", json_of_str(k->singular));
    obj_setz(&o, "verbs", verbs_json(a, k));
    if (k->n_short_names)
        obj_setz(&o, "shortNames", strs_json(a, k->short_names, k->n_short_names));
    if (k->n_categories)
        obj_setz(&o, "categories", strs_json(a, k->categories, k->n_categories));
    if (n) {
        struct json_arr subs = arr_in(a);
        for (size_t i = 0; i < n; i++) {
            struct json_obj sub = obj_in(a);
            const struct part *p = &parts[i];
            obj_setz(&sub, "subresource", json_of_str(p->name));
            obj_setz(&sub, "responseKind",
                     str_eq(p->group, k->group) && str_eq(p->version, k->version)
                         ? gvk_json(a, S(""), S(""), p->kind)
                     : p->kind.len ? gvk_json(a, p->group, p->version, p->kind)
                                   : gvk_json(a, S(""), S(""), k->kind));
            obj_setz(&sub, "verbs", strs_json(a, p->verbs, p->n_verbs));
            arr_add(&subs, obj_done(&sub));
        }
        obj_setz(&o, "subresources", arr_done(&subs));
    }
    return obj_done(&o);
}

static struct json aggregated_group(const struct server *s, struct arena *a, struct str group)
{
    struct json_obj o = obj_in(a), m = obj_in(a);
    struct json_arr versions = arr_in(a);
    struct str *v;
    size_t n = versions_of(s, a, group, &v);

    if (group.len)
        obj_setz(&m, "name", json_of_str(group));
    obj_setz(&m, "creationTimestamp", json_of_null());
    obj_setz(&o, "metadata", obj_done(&m));
    for (size_t i = 0; i < n; i++) {
        struct json_obj one = obj_in(a);
        struct json_arr resources = arr_in(a);
        vec_each (j, &s->kinds) {
            const struct kind *k = s->kinds.at[j];
            if (str_eq(k->group, group) && str_eq(k->version, v[i]))
                arr_add(&resources, aggregated_resource(a, k));
        }
        obj_setz(&one, "version", json_of_str(v[i]));
        obj_setz(&one, "resources", arr_done(&resources));
        obj_setz(&one, "freshness", json_of_z("Current"));
        arr_add(&versions, obj_done(&one));
    }
    obj_setz(&o, "versions", arr_done(&versions));
    return obj_done(&o);
}

static const struct json *aggregated(const struct server *s, struct arena *a, bool is_core,
                                     struct str version)
{
    struct json_obj o = obj_in(a), m = obj_in(a);
    struct json_arr items = arr_in(a);
    struct str *g;
    size_t n = groups_of(s, a, &g);

    for (size_t i = 0; i < n; i++) {
        if ((g[i].len == 0) == is_core)
            arr_add(&items, aggregated_group(s, a, g[i]));
    }
    obj_setz(&o, "kind", json_of_z("APIGroupDiscoveryList"));
    obj_setz(&o, "apiVersion",
             json_of_str(str_printf(a, "apidiscovery.k8s.io/%.*s", STR_ARG(version))));
    obj_setz(&o, "metadata", obj_done(&m));
    obj_setz(&o, "items", arr_done(&items));
    return json_new(a, obj_done(&o));
}

/* ---- answering ---- */

/* With an ETag, so that clients revalidate instead of reading again. */
void answer_cached(struct http_request *q, struct str type, const struct json *tree)
{
    struct buf out = {0};

    json_write(&out, tree);
    buf_byte(&out, '\n');
    struct str tag = str_printf(q->arena, "\"%016" PRIX64 "\"", str_digest(buf_str(&out)));
    const struct http_header headers[] = {
        {S("content-type"),  type       },
        {S("etag"),          tag        },
        {S("vary"),          S("Accept")},
        {S("cache-control"), S("public")}
    };
    if (str_eq(http_header(q, S("if-none-match")), tag)) {
        buf_fini(&out);
        http_respond(q, 304, headers, countof(headers), S(""));
        return;
    }
    http_respond_buf(q, 200, headers, countof(headers), &out);
}

static bool answer_root(struct server *s, struct http_request *q, bool is_core)
{
    static const struct str types[] = {S_INIT("application/json")};
    struct accepted got;
    struct err err = {0};

    if (accept_negotiate(http_header(q, S("accept")), types, countof(types),
                         ACCEPT_BIT(ACCEPT_GROUP_DISCOVERY), &got, &err) < 0) {
        server_refuse(q, &err);
        return true;
    }
    if (got.as == ACCEPT_GROUP_DISCOVERY)
        answer_cached(
            q,
            str_printf(q->arena,
                       "application/json;g=apidiscovery.k8s.io;v=%.*s;as=APIGroupDiscoveryList",
                       STR_ARG(got.version)),
            aggregated(s, q->arena, is_core, got.version));
    else
        answer_cached(q, S("application/json"),
                      is_core ? core_versions(s, q->arena) : group_list(s, q->arena));
    return true;
}

bool discovery_answer(struct server *s, struct http_request *q)
{
    struct str path = q->path, *v, rest, group, version;

    if (path.len > 1 && path.at[path.len - 1] == '/')
        path.len--;
    if (str_eqz(path, "/api"))
        return answer_root(s, q, true);
    if (str_eqz(path, "/apis"))
        return answer_root(s, q, false);
    if (str_eqz(path, "/api/v1")) {
        answer_cached(q, S("application/json"), resource_list(s, q->arena, S(""), S("v1")));
        return true;
    }
    if (!str_starts(path, S("/apis/")))
        return false;
    rest = str_slice(path, 6, path.len);
    bool has_version = str_cut(rest, '/', &group, &version);
    size_t n = versions_of(s, q->arena, group, &v);
    if (!group.len || n == 0 || str_index(version, '/') != STR_NONE)
        return false;
    if (!has_version) {
        answer_cached(q, S("application/json"),
                      json_new(q->arena, group_json(s, q->arena, group, true)));
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(v[i], version))
            continue;
        answer_cached(q, S("application/json"), resource_list(s, q->arena, group, version));
        return true;
    }
    return false;
}
