/* kubeconfig.c - kubectl's file, read and written */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base64.h"
#include "client/kubeconfig.h"
#include "value/url.h"
#include "yaml/yaml.h"

/* ---- files ---- */

static int read_file(struct arena *a, struct str path, struct str *out, struct err *err)
{
    scoped(close_fd) int fd = open(str_z(a, path), O_RDONLY | O_CLOEXEC);
    struct buf b = buf_in(a, 4096);

    if (fd < 0)
        return err_set(err, ERR_IO, "cannot open '%.*s': %s", STR_ARG(path), strerror(errno));
    for (;;) {
        ssize_t n = read(fd, buf_room(&b, 4096), 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "cannot read '%.*s': %s", STR_ARG(path),
                           strerror(errno));
        if (n == 0)
            break;
        b.len += (size_t)n;
        if (b.len > KUBECONFIG_MAX_FILE)
            return err_set(err, ERR_LIMIT, "'%.*s' is over %zu bytes", STR_ARG(path),
                           KUBECONFIG_MAX_FILE);
    }
    *out = buf_str(&b);
    return 0;
}

/* ---- reading ---- */

struct reader {
    struct arena *arena;
    struct str dir;
    struct err *err;
};

/* The part of the entry with that name in a list of {name, PART: {...}}. */
static const struct json *find(const struct json *list, struct str name, const char *part)
{
    json_each (i, list) {
        const struct json *entry = json_at(list, i);
        if (str_eq(json_str(json_getz(entry, "name")), name))
            return json_get(entry, str_from(part));
    }
    return NULL;
}

/* "certificate-authority-data" (base64) before "certificate-authority" (a file). */
static int read_text(struct reader *r, const struct json *part, const char *field,
                     struct str *out)
{
    struct arena *a = r->arena;
    struct str data = json_str(json_get(part, str_printf(a, "%s-data", field)));
    struct str path = json_str(json_get(part, str_from(field)));

    if (data.len) {
        if (base64_decode(a, data, out))
            return 0;
        return err_set(r->err, ERR_INVALID, "%s-data is not base64", field);
    }
    if (!path.len)
        return 0;
    if (path.at[0] != '/' && r->dir.len)
        path = str_printf(a, "%.*s/%.*s", STR_ARG(r->dir), STR_ARG(path));
    return read_file(a, path, out, r->err);
}

static int read_user(struct reader *r, const struct json *user, struct kubeconfig *out)
{
    struct str token_file = json_str(json_getz(user, "tokenFile"));

    if (read_text(r, user, "client-certificate", &out->cert) < 0 ||
        read_text(r, user, "client-key", &out->key) < 0)
        return -1;
    if (!out->cert.len != !out->key.len)
        return err_set(r->err, ERR_INVALID, "user '%.*s' has a client %s but no %s",
                       STR_ARG(out->user), out->cert.len ? "certificate" : "key",
                       out->cert.len ? "key" : "certificate");
    out->token = json_str(json_getz(user, "token"));
    if (!out->token.len && token_file.len) {
        if (read_file(r->arena, token_file, &out->token, r->err) < 0)
            return -1;
        out->token = str_trim(out->token);
    }
    if (!out->token.len && !out->cert.len &&
        (json_has(json_getz(user, "exec")) || json_has(json_getz(user, "auth-provider"))))
        return err_set(r->err, ERR_UNSUPPORTED,
                       "user '%.*s' gets its credentials from a plug-in, which is not "
                       "supported; use a token or a client certificate",
                       STR_ARG(out->user));
    return 0;
}

static int missing(struct reader *r, const char *what, struct str name)
{
    return err_set(r->err, ERR_NOT_FOUND, "there is no %s '%.*s'", what, STR_ARG(name));
}

static int read_context(struct reader *r, const struct json *tree, struct str name,
                        struct kubeconfig *out)
{
    struct kubeconfig k = {.context =
                               name.len ? name : json_str(json_getz(tree, "current-context"))};

    if (!k.context.len)
        return err_set(r->err, ERR_NOT_FOUND, "no current-context is set");
    const struct json *context = find(json_getz(tree, "contexts"), k.context, "context");
    if (!context)
        return missing(r, "context", k.context);
    k.cluster = json_str(json_getz(context, "cluster"));
    k.user = json_str(json_getz(context, "user"));
    k.ns = json_str(json_getz(context, "namespace"));
    const struct json *cluster = find(json_getz(tree, "clusters"), k.cluster, "cluster");
    const struct json *user = find(json_getz(tree, "users"), k.user, "user");
    if (!cluster)
        return missing(r, "cluster", k.cluster);
    if (!user && k.user.len)
        return missing(r, "user", k.user);
    k.server = json_str(json_getz(cluster, "server"));
    k.tls_server_name = json_str(json_getz(cluster, "tls-server-name"));
    k.insecure = json_bool(json_getz(cluster, "insecure-skip-tls-verify"), false);
    if (!k.server.len)
        return err_set(r->err, ERR_INVALID, "cluster '%.*s' has no server", STR_ARG(k.cluster));
    if (read_text(r, cluster, "certificate-authority", &k.ca) < 0 || read_user(r, user, &k) < 0)
        return -1;
    *out = k;
    return 0;
}

int kubeconfig_parse(struct arena *a, struct str text, struct str dir, struct str context,
                     struct kubeconfig *out, struct err *err)
{
    struct reader r = {a, dir, err};
    const struct json *tree = yaml_parse_one(a, text, NULL, err);

    if (!tree)
        return -1;
    if (!json_is(tree, JSON_OBJECT))
        return err_set(err, ERR_SYNTAX, "a kubeconfig is a mapping");
    return read_context(&r, tree, str_copy(a, context), out);
}

int kubeconfig_load(struct arena *a, struct str path, struct str context,
                    struct kubeconfig *out, struct err *err)
{
    struct str text, dir = {0}, name;

    if (read_file(a, path, &text, err) < 0)
        return -1;
    str_rcut(path, '/', &dir, &name);
    if (!name.len)
        dir = (struct str){0};
    if (kubeconfig_parse(a, text, dir, context, out, err) < 0)
        return err_wrap(err, "kubeconfig '%.*s'", STR_ARG(path));
    return 0;
}

/* ---- writing ---- */

static void set_data(struct arena *a, struct json_obj *o, struct str name, struct str text)
{
    struct buf b = buf_in(a, text.len * 2);

    if (!text.len)
        return;
    base64_encode(&b, text);
    obj_set(o, name, json_of_str(buf_str(&b)));
}

static void set_text(struct json_obj *o, struct str name, struct str text)
{
    if (text.len)
        obj_set(o, name, json_of_str(text));
}

/* [{name, PART: value}] */
static struct json named(struct arena *a, struct str name, struct str part, struct json value)
{
    struct json_obj o = obj_in(a);
    struct json_arr list = arr_in(a);

    obj_setz(&o, "name", json_of_str(name));
    obj_set(&o, part, value);
    arr_add(&list, obj_done(&o));
    return arr_done(&list);
}

struct str kubeconfig_text(struct arena *a, const struct kubeconfig *k)
{
    struct str berth = S("berth");
    struct str cluster_name = k->cluster.len ? k->cluster : berth;
    struct str user_name = k->user.len ? k->user : berth;
    struct str context_name = k->context.len ? k->context : berth;
    struct json_obj top = obj_in(a), cluster = obj_in(a), user = obj_in(a), context = obj_in(a);
    struct buf out = buf_in(a, 4096);

    set_data(a, &cluster, S("certificate-authority-data"), k->ca);
    set_text(&cluster, S("server"), k->server);
    set_text(&cluster, S("tls-server-name"), k->tls_server_name);
    if (k->insecure)
        obj_setz(&cluster, "insecure-skip-tls-verify", json_of_bool(true));
    set_data(a, &user, S("client-certificate-data"), k->cert);
    set_data(a, &user, S("client-key-data"), k->key);
    set_text(&user, S("token"), k->token);
    obj_setz(&context, "cluster", json_of_str(cluster_name));
    obj_setz(&context, "user", json_of_str(user_name));
    set_text(&context, S("namespace"), k->ns);

    obj_setz(&top, "apiVersion", json_of_z("v1"));
    obj_setz(&top, "kind", json_of_z("Config"));
    obj_setz(&top, "clusters", named(a, cluster_name, S("cluster"), obj_done(&cluster)));
    obj_setz(&top, "users", named(a, user_name, S("user"), obj_done(&user)));
    obj_setz(&top, "contexts", named(a, context_name, S("context"), obj_done(&context)));
    obj_setz(&top, "current-context", json_of_str(context_name));
    struct json tree = obj_done(&top);
    yaml_write(&out, &tree);
    return buf_str(&out);
}

/* ---- the server's URL ---- */

static struct str without_slashes(struct str s)
{
    while (s.len && s.at[s.len - 1] == '/')
        s.len--;
    return s;
}

int kubeconfig_server(struct arena *a, const struct kubeconfig *k,
                      struct kubeconfig_server *out, struct err *err)
{
    struct kubeconfig_server s = {0};
    struct str text = k->server;
    struct url u;

    if (str_starts(text, S("unix://"))) {
        s.address = str_printf(a, "unix:%.*s", (int)text.len - 7, text.at + 7);
        s.host = s.authority = S("localhost");
        *out = s;
        return 0;
    }
    if (str_find(text, S("://")) == STR_NONE) /* as kubectl reads a bare host */
        text = str_printf(a, "http://%.*s", STR_ARG(text));
    if (url_parse(a, text, &u, err) < 0)
        return err_wrap(err, "server '%.*s'", STR_ARG(k->server));
    s.is_tls = str_eq(u.scheme, S("https"));
    if ((!s.is_tls && !str_eq(u.scheme, S("http"))) || !url_hostname(&u).len)
        return err_set(err, ERR_INVALID, "server '%.*s' is no URL of an API server",
                       STR_ARG(k->server));
    struct str port = url_port(&u);
    if (!port.len)
        port = s.is_tls ? S("443") : S("80");
    s.host = str_copy(a, url_hostname(&u));
    bool is_v6 = str_index(s.host, ':') != STR_NONE;
    s.address =
        str_printf(a, is_v6 ? "[%.*s]:%.*s" : "%.*s:%.*s", STR_ARG(s.host), STR_ARG(port));
    s.authority = str_copy(a, u.host);
    s.prefix = str_copy(a, without_slashes(u.path));
    *out = s;
    return 0;
}
