/* http.c - the tables of what an API server answers (conformance/http/format.md)
 *
 * Conversations with a whole server are in http_server.c.
 */
#include "conformance.h"
#include "http_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "api/accept.h"
#include "api/field_manager.h"
#include "api/graceful_delete.h"
#include "api/list_options.h"
#include "api/metadata.h"
#include "api/node_authorizer.h"
#include "api/rbac.h"
#include "api/request.h"

static struct str field(const struct json *c, const char *name)
{
    return json_str(json_get(c, str_from(name)));
}

static bool flag(const struct json *c, const char *name)
{
    return json_bool(json_get(c, str_from(name)), false);
}

static void same_flag(struct conf *t, const char *what, bool got, bool want)
{
    if (got != want)
        conf_fail(t, what, got ? S("true") : S("false"), want ? S("true") : S("false"));
}

static void same_number(struct conf *t, const char *what, int64_t got, const struct json *want)
{
    struct json v = json_of_i64(got), zero = json_of_i64(0);

    conf_same(t, what, &v, want ? want : &zero);
}

/* ---- request-info ---- */

static void request_case(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want"), *parts = json_getz(want, "parts");
    struct request_info r = {0};
    struct err err = {0};
    int rc = request_parse(t->arena, field(c, "method"), field(c, "url"), &r, &err);
    const struct {
        const char *name;
        struct str got;
    } fields[] = {
        {"path",          r.path          },
        {"verb",          r.verb          },
        {"prefix",        r.prefix        },
        {"group",         r.group         },
        {"version",       r.version       },
        {"namespace",     r.ns            },
        {"resource",      r.resource      },
        {"subresource",   r.subresource   },
        {"objectName",    r.name          },
        {"labelSelector", r.label_selector},
        {"fieldSelector", r.field_selector},
    };

    if ((rc < 0) != flag(want, "error"))
        conf_fail(t, "error", err_str(&err), S("the other"));
    if (rc < 0)
        return;
    same_flag(t, "resourceRequest", r.is_resource, flag(want, "resourceRequest"));
    for (size_t i = 0; i < countof(fields); i++)
        conf_same_str(t, fields[i].name, fields[i].got, field(want, fields[i].name));
    conf_same_str(t, "parts", str_join(t->arena, r.parts.at, r.parts.len, S("/")),
                  str_join(t->arena, str_list_of(t->arena, parts).at, json_len(parts), S("/")));
}

/* ---- accept ---- */

static void accept_case(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct str_list lines = str_list_of(t->arena, json_getz(c, "accept"));
    struct str_list served = str_list_of(t->arena, json_getz(c, "served"));
    struct accepted got = {0};
    struct err err = {0};
    int rc =
        accept_negotiate(lines.len ? lines.at[0] : S(""), served.at, served.len, 0, &got, &err);

    same_flag(t, "notAcceptable", rc < 0, flag(want, "notAcceptable"));
    conf_same_str(t, "mediaType", got.media_type, field(want, "mediaType"));
}

/* ---- lists and pages ---- */

static struct list_options options_of(const struct json *c)
{
    return (struct list_options){
        .watch = flag(c, "watch"),
        .allow_watch_bookmarks = flag(c, "allowWatchBookmarks"),
        .has_send_initial_events = json_has(json_getz(c, "sendInitialEvents")),
        .send_initial_events = flag(c, "sendInitialEvents"),
        .limit = json_i64(json_getz(c, "limit"), 0),
        .resource_version = field(c, "resourceVersion"),
        .resource_version_match = field(c, "resourceVersionMatch"),
        .continue_token = field(c, "continue"),
    };
}

/* The case's {type, field} and ours, as multisets. */
static void same_errors(struct conf *t, const struct field_errors *got, const struct json *want)
{
    VEC(struct json) left = {0};
    struct buf extra = buf_in(t->arena, 64);

    json_each (i, want)
        vec_push_in(t->arena, &left, *json_at(want, i));
    vec_each (k, &got->list) {
        const struct field_error *e = &got->list.at[k];
        size_t i = 0;
        while (i < left.len &&
               !(str_eq(field(&left.at[i], "type"), field_error_reason(e->type)) &&
                 str_eq(field(&left.at[i], "field"), e->path)))
            i++;
        if (i < left.len)
            vec_remove(&left, i);
        else
            buf_printf(&extra, "%.*s; ", STR_ARG(field_error_text(t->arena, e)));
    }
    if (left.len || extra.len) {
        struct json_arr rest = arr_in(t->arena);
        vec_each (i, &left)
            arr_add(&rest, left.at[i]);
        struct json missing = arr_done(&rest);
        conf_fail(t, "errors", buf_str(&extra), json_text(t->arena, &missing));
    }
}

static void list_options_case(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct list_options o = options_of(c);
    struct list_start start = {0};
    struct err err = {0};

    if (str_eq(field(c, "op"), S("validate"))) {
        struct field_errors e = field_errors_in(t->arena);
        list_options_check(&e, &o, flag(c, "watchListEnabled"));
        same_errors(t, &e, json_getz(want, "errors"));
        return;
    }
    const struct json *recursive = json_getz(c, "recursive");
    int rc = list_options_resolve(t->arena, &o, field(c, "keyPrefix"),
                                  json_bool(recursive, true), &start, &err);
    same_flag(t, "error", rc < 0, flag(want, "error"));
    same_number(t, "atResourceVersion", start.revision, json_getz(want, "atResourceVersion"));
    conf_same_str(t, "continueKey", start.from_key, field(want, "continueKey"));
}

static void continue_case(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct str key = {0};
    struct err err = {0};
    int64_t revision = 0;
    int rc = continue_decode(t->arena, field(c, "token"), field(c, "keyPrefix"), &key,
                             &revision, &err);

    same_flag(t, "error", rc < 0, flag(want, "error"));
    conf_same_str(t, "fromKey", key, field(want, "fromKey"));
    same_number(t, "resourceVersion", revision, json_getz(want, "resourceVersion"));
}

/* ---- metadata ---- */

static void field_manager_case(struct conf *t, const struct json *c)
{
    conf_same_str(t, "manager",
                  field_manager_name(t->arena, field(c, "fieldManager"), field(c, "userAgent")),
                  json_str(json_path(c, "want", "manager", NULL)));
}

static void owner_references_case(struct conf *t, const struct json *c)
{
    conf_same(t, "ownerReferences",
              owner_references_dedup(t->arena, json_getz(c, "ownerReferences"), NULL),
              json_path(c, "want", "ownerReferences", NULL));
}

static void namespace_case(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct str ns = field(c, "objectNamespace");
    int rc = metadata_match_namespace(field(c, "requestNamespace"), ns, &ns, NULL);

    same_flag(t, "error", rc < 0, flag(want, "error"));
    conf_same_str(t, "objectNamespace", ns, field(want, "objectNamespace"));
}

static struct instant time_of(const struct json *c, const char *name)
{
    struct instant at = {0};

    time_parse(field(c, name), &at, NULL);
    return at;
}

static void graceful_delete_case(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want"), *options = json_getz(c, "options");
    const struct json *grace = json_getz(c, "deletionGracePeriodSeconds");
    const struct json *asked = json_getz(options, "gracePeriodSeconds");
    struct delete_state s = {
        .is_deleting = json_has(json_getz(c, "deletionTimestamp")),
        .timestamp = time_of(c, "deletionTimestamp"),
        .has_grace = json_has(grace),
        .grace = json_i64(grace, 0),
    };
    struct delete_request r = {.has_grace = json_has(asked), .grace = json_i64(asked, 0)};
    struct delete_decision d = delete_decide(s, r, true, 30, time_of(c, "now"));

    same_flag(t, "graceful", d.is_graceful, flag(want, "graceful"));
    same_flag(t, "pending", d.is_pending, flag(want, "pending"));
    if (json_has(json_getz(want, "deletionTimestamp")) || d.state.is_deleting)
        conf_same_str(t, "deletionTimestamp", time_text(t->arena, d.state.timestamp),
                      field(want, "deletionTimestamp"));
    same_number(t, "deletionGracePeriodSeconds", d.state.grace,
                json_getz(want, "deletionGracePeriodSeconds"));
    same_number(t, "optionsGracePeriodSeconds", d.request_grace,
                json_getz(want, "optionsGracePeriodSeconds"));
}

/* ---- authorizers ---- */

static struct access access_of(struct conf *t, const struct json *c)
{
    struct access x = {
        .user = {.name = field(c, "user"),
                 .groups = str_list_of(t->arena, json_getz(c, "groups"))},
        .verb = field(c, "verb"),
        .is_resource = json_bool(json_getz(c, "resourceRequest"), true),
        .group = field(c, "group"),
        .version = field(c, "version"),
        .resource = field(c, "resource"),
        .subresource = field(c, "subresource"),
        .ns = field(c, "namespace"),
        .name = field(c, "objectName"),
        .path = field(c, "path"),
    };
    struct str_list fields = str_list_of(t->arena, json_getz(c, "fieldSelector"));

    field_selector_parse(t->arena, str_join(t->arena, fields.at, fields.len, S(",")), &x.fields,
                         NULL);
    return x;
}

static void put_all(struct conf *t, struct rbac *r, const struct json *list, bool are_roles)
{
    json_each (i, list) {
        const struct json *o = json_at(list, i), *meta = json_getz(o, "metadata");
        struct str name = field(meta, "name");
        if (name.len == 0)
            name = str_printf(t->arena, "unnamed-%zu", i);
        (are_roles ? rbac_put_role : rbac_put_binding)(r, field(meta, "namespace"), name, o);
    }
}

static void ask_all(struct conf *t, const struct rbac *r, const struct json *list, bool want)
{
    json_each (i, list) {
        struct access x = access_of(t, json_at(list, i));
        if (rbac_allows(r, t->arena, &x, NULL) != want)
            conf_fail(t, want ? "denied" : "allowed", json_text(t->arena, json_at(list, i)),
                      S("the other"));
    }
}

static void rbac_case(struct conf *t, const struct json *c)
{
    struct rbac *r = rbac_new();

    put_all(t, r, json_getz(c, "roles"), true);
    put_all(t, r, json_getz(c, "clusterRoles"), true);
    put_all(t, r, json_getz(c, "roleBindings"), false);
    put_all(t, r, json_getz(c, "clusterRoleBindings"), false);
    ask_all(t, r, json_path(c, "want", "allowed", NULL), true);
    ask_all(t, r, json_path(c, "want", "denied", NULL), false);
    rbac_free(r);
}

/* The pods and slices that every case of node-authorizer knows: the file beside it. */
static const struct json *known_objects(struct conf *t)
{
    struct str dir, base, text;
    struct buf b = buf_in(t->arena, 1 << 16);
    ssize_t n;

    str_rcut(t->path, '/', &dir, &base);
    text = str_printf(t->arena, "%.*s/node-authorizer-objects.json", STR_ARG(dir));
    scoped(close_fd) int fd = open(str_z(t->arena, text), O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, buf_room(&b, 1 << 16), 1 << 16)) > 0)
        b.len += (size_t)n;
    return json_parse(t->arena, buf_str(&b), NULL, NULL);
}

static void node_authorizer_case(struct conf *t, const struct json *c)
{
    const struct json *objects = known_objects(t), *pods = json_getz(objects, "pods");
    const struct json *slices = json_getz(objects, "resourceSlices");
    struct node_graph *g = node_graph_new();
    struct access x = access_of(t, c);

    json_each (i, pods) {
        const struct json *meta = json_getz(json_at(pods, i), "metadata");
        node_graph_put_pod(g, field(meta, "namespace"), field(meta, "name"), json_at(pods, i));
    }
    json_each (i, slices) {
        const struct json *meta = json_getz(json_at(slices, i), "metadata");
        node_graph_put_slice(g, field(meta, "name"), json_at(slices, i));
    }
    conf_same_str(t, "decision", node_allows(g, &x) ? S("allow") : S("noOpinion"),
                  json_str(json_path(c, "want", "decision", NULL)));
    node_graph_free(g);
}

static const struct conf_file files[] = {
    {"request-info",     request_case,          NULL},
    {"accept",           accept_case,           NULL},
    {"list-options",     list_options_case,     NULL},
    {"continue",         continue_case,         NULL},
    {"field-manager",    field_manager_case,    NULL},
    {"owner-references", owner_references_case, NULL},
    {"namespace-match",  namespace_case,        NULL},
    {"graceful-delete",  graceful_delete_case,  NULL},
    {"rbac",             rbac_case,             NULL},
    {"node-authorizer",  node_authorizer_case,  NULL},
    {"server",           http_server_case,      NULL},
    {"controllers",      http_controllers_case, NULL},
};

const struct conf_suite suite_http = {
    .name = "http", .files = files, .n_files = countof(files)};
