/* body.c - a request's body as a tree: JSON, YAML or Kubernetes' protobuf */
#include "server/body_priv.h"

#include "api/accept.h"
#include "schema/protobuf.h"
#include "yaml/yaml.h"

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

/* What a body may be, in the order in which clients are told. */
static const struct str object_types[] = {S_INIT("application/json"),
                                          S_INIT("application/yaml"), S_INIT(PROTOBUF_TYPE)};
/* In the order of enum patch_type; custom kinds know no strategic merge. */
static const struct str patch_types[] = {
    S_INIT("application/json-patch+json"), S_INIT("application/merge-patch+json"),
    S_INIT("application/strategic-merge-patch+json"), S_INIT("application/apply-patch+yaml")};
static const struct str custom_patch_types[] = {S_INIT("application/json-patch+json"),
                                                S_INIT("application/merge-patch+json"),
                                                S_INIT("application/apply-patch+yaml")};

/* ---- protobuf ---- */

static const struct kind *kind_in_body(struct request *r, struct str api_version,
                                       struct str kind)
{
    struct str group = {0}, version;

    if (!str_cut(api_version, '/', &group, &version)) {
        version = group;
        group = str_of(NULL, 0);
    }
    return kind_of_name(r->server, group, version, kind);
}

static const struct json *from_protobuf(struct request *r, struct err *err)
{
    struct arena *a = r->arena;
    struct protobuf_envelope e;

    if (protobuf_open(r->body_text, &e, err) < 0)
        return NULL;
    const struct kind *k = kind_in_body(r, e.api_version, e.kind);
    if (!k && str_eqz(e.kind, "DeleteOptions"))
        k = kind_of_name(r->server, S(""), S("v1"), S("DeleteOptions"));
    if (!k) {
        err_set(err, ERR_SYNTAX, "no kind \"%.*s\" is registered for version \"%.*s\"",
                STR_ARG(e.kind), STR_ARG(e.api_version));
        return NULL;
    }
    const struct json *v = protobuf_decode(a, k->schema, e.raw, err);
    if (!v)
        return NULL;
    struct json_obj o = obj_in(a);
    obj_setz(&o, "apiVersion", json_of_str(e.api_version));
    obj_setz(&o, "kind", json_of_str(e.kind));
    json_each_member (m, v) {
        if (!str_eqz(m->name, "apiVersion") && !str_eqz(m->name, "kind"))
            obj_add(&o, m->name, m->value);
    }
    return json_new(a, obj_done(&o));
}

/* ---- any ---- */

static const struct json *parse_as(struct request *r, struct str type, struct err *err)
{
    if (str_eqz(type, PROTOBUF_TYPE) || (!type.len && protobuf_is(r->body_text)))
        return from_protobuf(r, err);
    if (str_eqz(type, "application/yaml") || str_eqz(type, "application/apply-patch+yaml")) {
        /* JSON is YAML, and our own parser for it is the faster one. */
        struct str text = str_trim(r->body_text);
        if (!text.len || text.at[0] != '{')
            return yaml_parse_one(r->arena, r->body_text, &r->dups, err);
    }
    return json_parse(r->arena, r->body_text, &r->dups, err);
}

/* NULL after the failure was answered: 400 also where it is nested too deep. */
static const struct json *body_parse(struct request *r, struct str type)
{
    struct err err = {0};
    const struct json *v = parse_as(r, type, &err);

    if (!v) {
        fail_bad_request(r, "%s", err.text);
    } else if (json_count(v, BODY_MAX_VALUES) > BODY_MAX_VALUES) {
        err_set(&err, ERR_LIMIT, "Request entity too large: limit is %d values",
                BODY_MAX_VALUES);
        fail_err(r, &err);
        v = NULL;
    }
    return v;
}

/* apiVersion and kind of a body must be those of the path. Subresources may take another kind.
 */
static int check_type(struct request *r)
{
    struct str version = json_str(json_getz(r->body, "apiVersion"));
    struct str kind = json_str(json_getz(r->body, "kind"));
    const struct kind *k = r->kind;

    if (r->subresource.len && !str_eqz(r->subresource, "status") &&
        !str_eqz(r->subresource, "finalize"))
        return 0;
    bool must_say = k->style == KIND_CUSTOM || r->verb == VERB_PATCH;
    if (must_say && (!kind.len || !version.len))
        return fail_bad_request(r, "Object '%s' is missing", kind.len ? "apiVersion" : "Kind");
    if (version.len && !str_eq(version, k->api_version))
        return fail_bad_request(
            r,
            "the API version in the data (%.*s) does not match the expected "
            "API version (%.*s)",
            STR_ARG(version), STR_ARG(k->api_version));
    if (kind.len && !str_eq(kind, k->kind))
        return fail_bad_request(r,
                                "the kind in the data (%.*s) does not match the expected kind "
                                "(%.*s)",
                                STR_ARG(kind), STR_ARG(k->kind));
    r->body = body_named(r->arena, r->body, k);
    return 0;
}

/* The body as one of the types that objects come in; NULL after the failure was answered. */
static const struct json *read_any(struct request *r, struct str content_type)
{
    struct err err = {0};
    size_t i;

    if (content_type_match(content_type, object_types, countof(object_types), &i, &err) < 0) {
        fail_err(r, &err);
        return NULL;
    }
    return body_parse(r, object_types[i]);
}

static int read_object(struct request *r, struct str content_type)
{
    r->body = read_any(r, content_type);
    if (!r->body)
        return -1;
    if (!json_is(r->body, JSON_OBJECT))
        return fail_bad_request(r, "the body of the request is not an object");
    return check_type(r);
}

static int read_delete(struct request *r, struct str content_type)
{
    const struct json *body = NULL;

    if (str_trim(r->body_text).len) {
        body = read_any(r, content_type);
        if (!body)
            return -1;
    }
    return options_of_delete(r, body);
}

bool patch_type_of(struct str content_type, enum patch_type *out)
{
    size_t i;

    if (!content_type.len ||
        content_type_match(content_type, patch_types, countof(patch_types), &i, NULL) < 0)
        return false;
    *out = (enum patch_type)i;
    return true;
}

static int read_patch(struct request *r, struct str content_type)
{
    bool is_custom = r->kind->style == KIND_CUSTOM;
    const struct str *types = is_custom ? custom_patch_types : patch_types;
    size_t n = is_custom ? countof(custom_patch_types) : countof(patch_types), i;
    struct err err = {0};

    /* No type at all is none of these. */
    if (content_type_match(content_type.len ? content_type : S("none"), types, n, &i, &err) <
        0) {
        struct api_error e = api_error_of(r->arena, &err, (struct status_subject){0});
        enum patch_type other;
        e.has_details = !patch_type_of(content_type, &other);
        return fail_api(r, &e);
    }
    r->body = body_parse(r, types[i]);
    if (!r->body)
        return -1;
    return r->patch_type == PATCH_APPLY ? check_type(r) : 0;
}

int body_read(struct request *r, struct str content_type)
{
    switch (r->verb) {
    case VERB_CREATE:
    case VERB_UPDATE:
        return read_object(r, content_type);
    case VERB_PATCH:
        return read_patch(r, content_type);
    case VERB_DELETE:
    case VERB_DELETECOLLECTION:
        return read_delete(r, content_type);
    default:
        return 0;
    }
}
