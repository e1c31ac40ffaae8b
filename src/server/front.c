/* front.c - from a request's bytes to a verb on a kind
 *
 *     authenticate → classify the path → what is no resource is answered here
 *                                      → a resource: kind, options, authorise, body, verb
 */
#include "server/body_priv.h"
#include "server/front_priv.h"
#include "server/write_priv.h"

#include "http/http.h"
#include "io/io.h"

#define SEGMENTS_MAX 16

/* A path under /api or /apis, taken apart (reference 1). */
struct place {
    bool is_resource;
    struct str group, version, ns, resource, name, subresource;
};

static size_t split(struct arena *a, struct str path, struct str out[SEGMENTS_MAX])
{
    size_t n = 0;
    struct str part;

    while (path.len && path.at[0] == '/')
        path = str_slice(path, 1, path.len);
    while (path.len && n < SEGMENTS_MAX) {
        str_cut(path, '/', &part, &path);
        out[n++] = query_path_decode(a, part);
    }
    return n;
}

static bool is_own_subresource(struct str s)
{
    return str_eqz(s, "status") || str_eqz(s, "finalize");
}

static struct place classify(struct arena *a, struct str path)
{
    struct str seg[SEGMENTS_MAX];
    size_t n = split(a, path, seg), i = 0;
    struct place p = {0};

    if (n < 3 || !(str_eqz(seg[0], "api") || str_eqz(seg[0], "apis")))
        return p;
    bool is_core = str_eqz(seg[0], "api");
    i = 1;
    if (!is_core) {
        if (n < 4)
            return p;
        p.group = seg[i++];
    }
    p.version = seg[i++];
    p.is_resource = true;
    if (str_eqz(seg[i], "namespaces") && i + 1 < n) {
        p.ns = seg[i + 1];
        if (n - i >= 3 && !is_own_subresource(seg[i + 2]))
            i += 2;
    }
    p.resource = seg[i++];
    if (i < n)
        p.name = seg[i++];
    if (i < n)
        p.subresource = seg[i++];
    return p;
}

static bool is_watch(struct arena *a, struct str query)
{
    struct str value;
    bool is = true;

    if (!query_find(a, query, "watch", &value))
        return false;
    return !option_bool(value, &is) || is;
}

static bool verb_of(struct arena *a, const struct http_request *q, const struct place *p,
                    enum verb *out)
{
    static const struct {
        const char *method;
        enum verb one, all;
    } methods[] = {
        {"GET",    VERB_GET,    VERB_LIST            },
        {"HEAD",   VERB_GET,    VERB_LIST            },
        {"POST",   VERB_CREATE, VERB_CREATE          },
        {"PUT",    VERB_UPDATE, VERB_UPDATE          },
        {"PATCH",  VERB_PATCH,  VERB_PATCH           },
        {"DELETE", VERB_DELETE, VERB_DELETECOLLECTION}
    };

    for (size_t i = 0; i < countof(methods); i++) {
        if (!str_eqz(q->method, methods[i].method))
            continue;
        *out = p->name.len ? methods[i].one : methods[i].all;
        if (*out == VERB_LIST && is_watch(a, q->query))
            *out = VERB_WATCH;
        return true;
    }
    return false;
}

/* ---- resources ---- */

/* The manager's name where none is given: the User-Agent up to '/'. */
static struct str default_manager(struct arena *a, const struct http_request *q)
{
    struct str agent = http_header(q, S("user-agent")), head, tail;
    struct buf out = buf_in(a, MANAGER_MAX + 1);

    str_cut(agent, '/', &head, &tail);
    for (size_t i = 0; i < head.len && out.len < MANAGER_MAX; i++) {
        if ((unsigned char)head.at[i] >= 0x20 && head.at[i] != 0x7f)
            buf_byte(&out, head.at[i]);
    }
    return out.len ? buf_str(&out) : S("unknown");
}

static bool wants_pretty(struct request *r, const struct http_request *q)
{
    struct str agent = http_header(q, S("user-agent")), value;
    bool is = false;

    if (query_find(r->arena, q->query, "pretty", &value))
        return option_bool(value, &is) && is;
    return str_starts(agent, S("curl")) || str_starts(agent, S("Wget")) ||
           str_starts(agent, S("Mozilla/5.0"));
}

static int negotiate(struct request *r, const struct http_request *q)
{
    bool is_pretty = wants_pretty(r, q);
    unsigned offers = ACCEPT_OFFER_TABLE | ACCEPT_OFFER_METADATA;

    if (!accept_parse(http_header(q, S("accept")), offers, &r->accept)) {
        r->accept = (struct accept){0};
        return fail_with(r, 406, "NotAcceptable",
                         S("only the following media types are accepted: application/json, "
                           "application/yaml"),
                         NULL);
    }
    if (r->verb == VERB_WATCH)
        r->accept.is_yaml = r->accept.is_pretty = false;
    else
        r->accept.is_pretty |= is_pretty;
    return 0;
}

static const struct server_mount *mount_of(const struct server *s, const struct kind *k,
                                           struct str subresource)
{
    vec_each (i, &s->mounts) {
        const struct server_mount *m = &s->mounts.at[i];
        if (m->subresource.len && str_eq(m->subresource, subresource) &&
            str_eq(m->plural, k->plural) && str_eq(m->group, k->group))
            return m;
    }
    return NULL;
}

static void run_mount(struct request *r, const struct server_mount *m)
{
    struct http_request *q = r->http;
    struct server_about *about = arena_new(q->arena, struct server_about);

    *about = (struct server_about){.user = user_copy(q->arena, r->user),
                                   .ns = str_copy(q->arena, r->ns),
                                   .name = str_copy(q->arena, r->name),
                                   .subresource = str_copy(q->arena, r->subresource)};
    r->http = NULL;
    request_fini(r);
    m->handle(m->ctx, q, about);
}

static bool is_path_segment(struct str name)
{
    return !str_eqz(name, ".") && !str_eqz(name, "..") && str_index(name, '/') == STR_NONE &&
           str_index(name, '%') == STR_NONE;
}

static void resource(struct server *s, struct http_request *q, const struct server_user *user,
                     const struct place *p, enum verb verb)
{
    const struct kind *k = kind_of_plural(s, p->group, p->version, p->resource);
    struct request *r = request_new(s, &http_reply);
    struct arena *a = r->arena;

    r->http = q;
    r->user = user_copy(a, user);
    r->verb = verb;
    r->kind = k;
    r->ns = k && !k->namespaced ? str_of(NULL, 0) : str_copy(a, p->ns);
    r->name = str_copy(a, p->name);
    r->subresource = str_copy(a, p->subresource);
    r->started = io_now(s->io);
    r->body_text = str_copy(a, q->body);
    if (!k || !is_path_segment(r->name)) {
        r->kind = NULL;
        fail_not_found(r);
        request_fini(r);
        return;
    }
    if (k->namespaced && !r->ns.len && verb != VERB_LIST && verb != VERB_WATCH) {
        fail_method(r);
        request_fini(r);
        return;
    }
    if (verb == VERB_PATCH)
        patch_type_of(media_type(http_header(q, S("content-type"))), &r->patch_type);
    if (negotiate(r, q) < 0 || authorize(r) < 0 ||
        options_read(r, query_copy(a, q->query)) < 0 ||
        body_read(r, http_header(q, S("content-type"))) < 0) {
        request_fini(r);
        return;
    }
    bool is_apply = verb == VERB_PATCH && r->patch_type == PATCH_APPLY;
    if (!r->options.field_manager.len && !is_apply)
        r->options.field_manager = default_manager(a, q);
    const struct server_mount *m = p->subresource.len ? mount_of(s, k, p->subresource) : NULL;
    if (m)
        run_mount(r, m);
    else
        request_run(r);
}

/* ---- the rest ---- */

static const struct server_mount *mount_path(const struct server *s, struct str path)
{
    vec_each (i, &s->mounts) {
        const struct server_mount *m = &s->mounts.at[i];
        if (m->path.len && str_starts(path, m->path) &&
            (path.len == m->path.len || path.at[m->path.len] == '/'))
            return m;
    }
    return NULL;
}

static bool has_version(const struct server *s, struct str group, struct str version)
{
    vec_each (i, &s->kinds) {
        if (str_eq(s->kinds.at[i]->group, group) && str_eq(s->kinds.at[i]->version, version))
            return true;
    }
    return false;
}

void server_handle(void *server, struct http_request *q)
{
    struct server *s = server;
    const struct server_user *user = authenticate(s, q);
    enum verb verb;

    if (!user)
        return;
    struct place p = classify(q->arena, q->path);
    const struct server_mount *m = mount_path(s, q->path);
    if (m) {
        struct server_about *about = arena_new(q->arena, struct server_about);
        about->user = user;
        if (authorize_path(s, q, user) == 0)
            m->handle(m->ctx, q, about);
        return;
    }
    if (p.is_resource) {
        if (!has_version(s, p.group, p.version)) {
            answer_text(q, 404, S("404 page not found\n"));
            return;
        }
        if (verb_of(q->arena, q, &p, &verb)) {
            resource(s, q, user, &p, verb);
            return;
        }
        struct err err = {0};
        err_set(&err, ERR_METHOD,
                "the server does not allow this method on the requested resource");
        server_refuse(q, &err);
        return;
    }
    if (authorize_path(s, q, user) < 0)
        return;
    if (health_answer(s, q) || discovery_answer(s, q) || openapi_answer(s, q))
        return;
    answer_text(q, 404, S("404 page not found\n"));
}

struct str server_query(struct http_request *q, struct str name)
{
    struct str value = {0};
    char z[64];

    assert(name.len < sizeof(z));
    snprintf(z, sizeof(z), "%.*s", STR_ARG(name));
    query_find(q->arena, q->query, z, &value);
    return value;
}

void front_count(struct request *r, int code)
{
    (void)r, (void)code;
}
