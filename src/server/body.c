/* body.c - a request's body as a tree: JSON, YAML or Kubernetes' protobuf */
#include "server/body_priv.h"

#include "schema/protobuf.h"
#include "yaml/yaml.h"

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

struct str media_type(struct str header)
{
    struct str type, rest;

    str_cut(header, ';', &type, &rest);
    return str_trim(type);
}

static int fail_media(struct request *r, const char *known)
{
    return fail_with(r, 415, "UnsupportedMediaType",
                     str_printf(r->arena,
                                "the body of the request was in an unknown format - accepted "
                                "media types include: %s",
                                known),
                     NULL);
}

static int fail_decode(struct request *r, const struct err *err)
{
    if (err->code == ERR_LIMIT)
        return fail_err(r, err);
    return fail_bad_request(r, "%s", err->text);
}

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

const struct json *body_parse(struct request *r, struct str type, struct err *err)
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

static bool is_object_type(struct str type)
{
    return !type.len || str_eqz(type, "application/json") ||
           str_eqz(type, "application/yaml") || str_eqz(type, PROTOBUF_TYPE);
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
    if (k->style == KIND_CUSTOM && !kind.len)
        return fail_bad_request(r, "Object 'Kind' is missing");
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

static int read_object(struct request *r, struct str type)
{
    struct err err = {0};

    if (!is_object_type(type))
        return fail_media(r, "application/json, application/yaml, " PROTOBUF_TYPE);
    r->body = body_parse(r, type, &err);
    if (!r->body)
        return fail_decode(r, &err);
    if (!json_is(r->body, JSON_OBJECT))
        return fail_bad_request(r, "the body of the request is not an object");
    return check_type(r);
}

static int read_delete(struct request *r, struct str type)
{
    struct err err = {0};

    if (!str_trim(r->body_text).len)
        return 0;
    if (!is_object_type(type))
        return fail_media(r, "application/json, application/yaml, " PROTOBUF_TYPE);
    const struct json *body = body_parse(r, type, &err);
    if (!body)
        return fail_decode(r, &err);
    return options_of_delete(r, body);
}

bool patch_type_of(struct str media, enum patch_type *out)
{
    static const struct {
        const char *name;
        enum patch_type is;
    } types[] = {
        {"application/json-patch+json",            PATCH_JSON     },
        {"application/merge-patch+json",           PATCH_MERGE    },
        {"application/strategic-merge-patch+json", PATCH_STRATEGIC},
        {"application/apply-patch+yaml",           PATCH_APPLY    }
    };

    for (size_t i = 0; i < countof(types); i++) {
        if (str_eqz(media, types[i].name)) {
            *out = types[i].is;
            return true;
        }
    }
    return false;
}

static int read_patch(struct request *r, struct str type)
{
    struct err err = {0};

    if (!patch_type_of(type, &r->patch_type) ||
        (r->patch_type == PATCH_STRATEGIC && r->kind->style == KIND_CUSTOM))
        return fail_media(r, r->kind->style == KIND_CUSTOM
                                 ? "application/json-patch+json, application/merge-patch+json, "
                                   "application/apply-patch+yaml"
                                 : "application/json-patch+json, application/merge-patch+json, "
                                   "application/apply-patch+yaml, "
                                   "application/strategic-merge-patch+json");
    r->body = body_parse(r, type, &err);
    if (!r->body)
        return fail_decode(r, &err);
    return r->patch_type == PATCH_APPLY ? check_type(r) : 0;
}

int body_read(struct request *r, struct str content_type)
{
    struct str type = media_type(content_type);

    r->dups.paths.len = 0;
    switch (r->verb) {
    case VERB_CREATE:
    case VERB_UPDATE:
        return read_object(r, type);
    case VERB_PATCH:
        return read_patch(r, type);
    case VERB_DELETE:
    case VERB_DELETECOLLECTION:
        return read_delete(r, type);
    default:
        return 0;
    }
}
