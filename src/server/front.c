/* front.c - from a request's bytes to a verb on a kind
 *
 *     authenticate → classify the path → what is no resource is answered here
 *                                      → a resource: kind, options, authorise, body, verb
 */
#include "server/body_priv.h"
#include "server/front_priv.h"
#include "server/write_priv.h"

#include "api/accept.h"
#include "api/request.h"
#include "http/http.h"
#include "io/io.h"

static bool verb_find(struct str name, enum verb *out)
{
    for (int v = 0; v < VERB_N; v++) {
        if (str_eq(verb_name((enum verb)v), name)) {
            *out = (enum verb)v;
            return true;
        }
    }
    return false;
}

/* ---- resources ---- */

static bool wants_pretty(const struct http_request *q, const struct request_info *info)
{
    struct str agent = http_header(q, S("user-agent"));

    if (request_query(info, S("pretty")))
        return request_flag(info, S("pretty"));
    return str_starts(agent, S("curl")) || str_starts(agent, S("Wget")) ||
           str_starts(agent, S("Mozilla/5.0"));
}

static const struct str answer_types[] = {S_INIT("application/json"),
                                          S_INIT("application/yaml")};

/* Upstream leaves the details out where only the conversion is not served. */
static int fail_accept(struct request *r, const struct http_request *q, const struct err *err)
{
    struct api_error e = api_error_of(r->arena, err, (struct status_subject){0});
    struct str rest = http_header(q, S("accept")), clause, type, tail;

    e.has_details = true;
    while (rest.len) {
        struct accepted got;
        str_cut(rest, ',', &clause, &rest);
        str_cut(clause, ';', &type, &tail);
        if (accept_negotiate(str_trim(type), answer_types, countof(answer_types), 0, &got,
                             NULL) == 0)
            e.has_details = false;
    }
    return fail_api(r, &e);
}

static int negotiate(struct request *r, const struct http_request *q,
                     const struct request_info *info)
{
    const unsigned forms =
        ACCEPT_BIT(ACCEPT_TABLE) | ACCEPT_BIT(ACCEPT_PARTIAL) | ACCEPT_BIT(ACCEPT_PARTIAL_LIST);
    struct accepted got;
    struct err err = {0};

    if (accept_negotiate(http_header(q, S("accept")), answer_types, countof(answer_types),
                         forms, &got, &err) < 0)
        return fail_accept(r, q, &err);
    r->style.form = got.as == ACCEPT_TABLE   ? FORM_TABLE
                    : got.as == ACCEPT_PLAIN ? FORM_OBJECT
                                             : FORM_METADATA;
    r->style.is_v1beta1 = str_eqz(got.version, "v1beta1");
    if (r->verb != VERB_WATCH) {
        r->style.is_yaml = got.index == 1;
        r->style.is_pretty = got.is_pretty || wants_pretty(q, info);
    }
    return 0;
}

/* The request outlives the HTTP request's arena. */
static struct str_map query_copy(struct arena *a, const struct str_map *query)
{
    struct str_map copy = {.at = arena_array(a, struct str_entry, query->len),
                           .len = query->len};

    for (size_t i = 0; i < query->len; i++)
        copy.at[i] =
            (struct str_entry){str_copy(a, query->at[i].key), str_copy(a, query->at[i].value)};
    return copy;
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

/* Versions on their way out, as upstream warns of them in every answer. */
static void warn_deprecated(struct request *r)
{
    static const struct {
        const char *group, *version, *since, *until;
    } rows[] = {
        {"resource.k8s.io", "v1beta1", "v1.35+", "v1.38+"},
        {"resource.k8s.io", "v1beta2", "v1.36+", "v1.39+"},
    };
    const struct kind *k = r->kind;
    bool is_list = r->verb == VERB_LIST || r->verb == VERB_DELETECOLLECTION;
    struct str name = is_list ? k->list_kind : k->kind;

    for (size_t i = 0; i < countof(rows); i++) {
        if (str_eqz(k->group, rows[i].group) && str_eqz(k->version, rows[i].version))
            request_warn(r, "%.*s %.*s is deprecated in %s, unavailable in %s",
                         STR_ARG(k->api_version), STR_ARG(name), rows[i].since, rows[i].until);
    }
}

static bool is_path_segment(struct str name)
{
    return !name.len || name_is(NAME_PATH_SEGMENT, name);
}

/* Counts the request in; -1 after a 429, which says when to ask again. */
static int admit_one_more(struct request *r)
{
    struct server *s = r->server;
    bool is_watch = r->verb == VERB_WATCH;
    size_t *count = is_watch ? &s->n_watched : &s->n_asked;
    size_t most = is_watch ? s->config.max_watches : s->config.max_requests;
    struct err err;

    if (most == 0)
        most = is_watch ? SERVER_MAX_WATCHES : SERVER_MAX_REQUESTS;
    if (*count >= most) {
        err_set(&err, ERR_TOO_MANY, "the server has its limit of %zu %s under way", most,
                is_watch ? "watches" : "requests");
        fail_err(r, &err);
        return -1;
    }
    ++*count;
    s->n_asked_ever += !is_watch;
    r->counted = count;
    return 0;
}

static void resource(struct server *s, struct http_request *q, const struct server_user *user,
                     const struct request_info *info, enum verb verb)
{
    const struct kind *k = kind_of_plural(s, info->group, info->version, info->resource);
    struct request *r = request_new(s, &http_reply);
    struct arena *a = r->arena;
    struct str type = http_header(q, S("content-type"));

    r->http = q;
    r->user = user_copy(a, user);
    r->verb = verb;
    r->kind = k;
    r->ns = k && !k->namespaced ? str_of(NULL, 0) : str_copy(a, info->ns);
    r->name =
        str_copy(a, verb == VERB_LIST || verb == VERB_WATCH ? str_of(NULL, 0) : info->name);
    r->asked_name = str_copy(a, info->name);
    r->subresource = str_copy(a, info->subresource);
    r->started = io_now(s->io);
    if (admit_one_more(r) < 0) {
        request_fini(r);
        return;
    }
    r->body_text = str_copy(a, q->body);
    if (!k || !is_path_segment(r->name) || info->is_deprecated_verb_prefix) {
        r->kind = NULL;
        fail_not_found(r);
        request_fini(r);
        return;
    }
    bool is_anywhere = verb == VERB_LIST || verb == VERB_WATCH;
    bool wants_name = verb == VERB_UPDATE || verb == VERB_PATCH;
    bool is_misplaced = (verb == VERB_CREATE && r->name.len && !r->subresource.len) ||
                        (wants_name && !r->name.len);
    if (is_misplaced || (k->namespaced && !r->ns.len && !is_anywhere)) {
        fail_method(r);
        request_fini(r);
        return;
    }
    if (verb == VERB_PATCH)
        patch_type_of(type, &r->patch_type);
    struct str_map query = query_copy(a, &info->query);
    if (negotiate(r, q, info) < 0 || authorize(r) < 0 ||
        options_read(r, &query, http_header(q, S("user-agent"))) < 0 ||
        body_read(r, type) < 0) {
        request_fini(r);
        return;
    }
    warn_deprecated(r);
    const struct server_mount *m = r->subresource.len ? mount_of(s, k, r->subresource) : NULL;
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

static void run_path_mount(struct server *s, struct http_request *q,
                           const struct server_user *user, const struct server_mount *m)
{
    struct server_about *about = arena_new(q->arena, struct server_about);

    about->user = user;
    if (authorize_path(s, q, user) == 0)
        m->handle(m->ctx, q, about);
}

static void other(struct server *s, struct http_request *q, const struct server_user *user)
{
    if (authorize_path(s, q, user) < 0)
        return;
    if (health_answer(s, q) || discovery_answer(s, q) || openapi_answer(s, q))
        return;
    answer_text(q, 404, S("404 page not found\n"));
}

void server_handle(void *server, struct http_request *q)
{
    const struct server_user *user = authenticate(server, q);

    if (user)
        user = impersonate(server, q, user);
    if (user && !home_waits(server, q, user))
        front_handle(server, q, user);
}

void front_handle(struct server *s, struct http_request *q, const struct server_user *user)
{
    struct request_info info;
    struct err err = {0};
    enum verb verb;

    if (request_parse(q->arena, q->method, q->target, &info, &err) < 0) {
        server_refuse(q, &err);
        return;
    }
    const struct server_mount *m = mount_path(s, q->path);
    if (m) {
        run_path_mount(s, q, user, m);
        return;
    }
    if (!info.is_resource) {
        other(s, q, user);
        return;
    }
    if (!has_version(s, info.group, info.version)) {
        answer_text(q, 404, S("404 page not found\n"));
        return;
    }
    if (verb_find(info.verb, &verb)) {
        resource(s, q, user, &info, verb);
        return;
    }
    err_set(&err, ERR_METHOD,
            "the server does not allow this method on the requested resource");
    server_refuse(q, &err);
}

struct str server_query(struct http_request *q, struct str name)
{
    struct request_info info;

    if (request_parse(q->arena, q->method, q->target, &info, NULL) < 0)
        return str_of(NULL, 0);
    return str_map_get(&info.query, name);
}
