/* request.c - what a URL asks for */
#include "api/request.h"

#include "api/list_options.h"

static bool is_flag_set(struct str v)
{
    return !str_eq(v, S("0")) && !str_eq_nocase(v, S("false"));
}

bool request_flag(const struct request_info *r, struct str name)
{
    const struct str *v = request_query(r, name);

    return v && is_flag_set(*v);
}

static struct str_list split_path(struct arena *a, struct str path)
{
    VEC(struct str) v = {0};
    struct str part;

    while (str_starts(path, S("/")))
        path = str_slice(path, 1, path.len);
    while (str_ends(path, S("/")))
        path.len--;
    for (bool has_more = path.len > 0; has_more;) {
        has_more = str_cut(path, '/', &part, &path);
        vec_push_in(a, &v, part);
    }
    return (struct str_list){v.at, v.len};
}

static void drop(struct str_list *l, size_t n)
{
    l->at += n;
    l->len -= n;
}

static struct str verb_of(struct str method)
{
    static const struct {
        struct str method, verb;
    } verbs[] = {
        {S_INIT("POST"),   S_INIT("create")},
        {S_INIT("GET"),    S_INIT("get")   },
        {S_INIT("HEAD"),   S_INIT("get")   },
        {S_INIT("PUT"),    S_INIT("update")},
        {S_INIT("PATCH"),  S_INIT("patch") },
        {S_INIT("DELETE"), S_INIT("delete")},
    };

    for (size_t i = 0; i < countof(verbs); i++)
        if (str_eq(method, verbs[i].method))
            return verbs[i].verb;
    return S("");
}

/* /namespaces/NS in front of a resource names its namespace; alone it is the object itself, and
 * the namespace too. */
static void take_namespace(struct request_info *r, struct str_list *parts)
{
    if (!str_eq(parts->at[0], S("namespaces")) || parts->len < 2)
        return;
    r->ns = parts->at[1];
    if (parts->len > 2 && !str_eq(parts->at[2], S("status")) &&
        !str_eq(parts->at[2], S("finalize")))
        drop(parts, 2);
}

/* A read of a collection is a list or a watch; a selector of one name names it. */
static void classify_read(struct arena *a, struct request_info *r)
{
    struct list_options o = {0};
    struct str name;

    if (list_options_parse(a, &r->query, &o, NULL) < 0) {
        o = (struct list_options){0};
        o.watch = request_flag(r, S("watch"));
    }
    r->verb = o.watch ? S("watch") : S("list");
    if (field_selector_exact(&o.fields, S("metadata.name"), &name) &&
        name_is(NAME_PATH_SEGMENT, name))
        r->name = name;
}

static void keep_selectors(struct request_info *r)
{
    const struct str *v;

    if (r->is_deprecated_verb_prefix ||
        !(str_eq(r->verb, S("list")) || str_eq(r->verb, S("watch")) ||
          str_eq(r->verb, S("deletecollection"))))
        return;
    if ((v = request_query(r, S("labelSelector"))))
        r->label_selector = *v;
    if ((v = request_query(r, S("fieldSelector"))))
        r->field_selector = *v;
}

/* Of /api/v1/... and /apis/GROUP/VERSION/...; `parts` begins at the version. */
static int classify(struct arena *a, struct str method, struct str_list parts,
                    struct request_info *r, struct err *err)
{
    r->is_resource = true;
    r->version = parts.at[0];
    drop(&parts, 1);
    if (str_eq(parts.at[0], S("proxy")) || str_eq(parts.at[0], S("watch"))) {
        r->is_deprecated_verb_prefix = true;
        r->verb = parts.at[0];
        drop(&parts, 1);
        if (parts.len == 0)
            return err_set(err, ERR_SYNTAX,
                           "unable to determine kind and namespace from url '%.*s'",
                           STR_ARG(r->path));
    } else {
        r->verb = verb_of(method);
    }
    take_namespace(r, &parts);
    r->parts = parts;
    r->resource = parts.at[0];
    if (parts.len > 1)
        r->name = parts.at[1];
    if (parts.len > 2 && !str_eq(r->verb, S("proxy")))
        r->subresource = parts.at[2];
    if (r->name.len == 0 && str_eq(r->verb, S("get")))
        classify_read(a, r);
    else if (r->name.len == 0 && str_eq(r->verb, S("delete")))
        r->verb = S("deletecollection");
    keep_selectors(r);
    return 0;
}

int request_parse(struct arena *a, struct str method, struct str target,
                  struct request_info *out, struct err *err)
{
    struct request_info r = {0};
    struct url u = {0};

    if (target.len > REQUEST_MAX_TARGET)
        return err_set(err, ERR_LIMIT, "a URL of %zu bytes is over the limit of %zu",
                       target.len, REQUEST_MAX_TARGET);
    str_cut(target, '?', &u.path, &u.query);
    if (!url_unescape(a, u.path, false, &r.path))
        return err_set(err, ERR_SYNTAX, "invalid URL escape in path");
    r.query = url_query(a, &u);
    r.verb = str_lower(a, method);

    struct str_list parts = split_path(a, r.path);
    *out = r;
    if (parts.len < 3 || !(str_eq(parts.at[0], S("api")) || str_eq(parts.at[0], S("apis"))))
        return 0;
    r.prefix = parts.at[0];
    drop(&parts, 1);
    if (str_eq(r.prefix, S("apis"))) {
        if (parts.len < 3) {
            out->prefix = r.prefix;
            return 0;
        }
        r.group = parts.at[0];
        drop(&parts, 1);
    }
    if (classify(a, method, parts, &r, err) < 0)
        return -1;
    *out = r;
    return 0;
}
