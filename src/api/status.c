/* status.c - metav1.Status, in the words clients know */
#include "api/status.h"

struct str group_resource(struct arena *a, struct str group, struct str resource)
{
    return group.len ? str_printf(a, "%.*s.%.*s", STR_ARG(resource), STR_ARG(group)) : resource;
}

/* `jobs.batch "a"`, or without the name where there is none. */
static struct str named(struct arena *a, struct status_subject about)
{
    struct str gr = group_resource(a, about.group, about.resource);

    return about.name.len ? str_printf(a, "%.*s \"%.*s\"", STR_ARG(gr), STR_ARG(about.name))
                          : gr;
}

void api_error_cause(struct arena *a, struct api_error *e, struct str reason,
                     struct str message, struct str field)
{
    e->has_details = true;
    vec_push_in(a, &e->causes, (struct status_cause){reason, message, field});
}

/* ---- by what went wrong ---- */

static struct api_error plain(int code, const char *reason, struct str message)
{
    return (struct api_error){.code = code, .reason = str_from(reason), .message = message};
}

static struct api_error about(int code, const char *reason, struct str message,
                              struct status_subject subject)
{
    struct api_error e = plain(code, reason, message);

    e.has_details = true;
    e.about = subject;
    return e;
}

struct api_error api_error_bad_request(struct str message)
{
    return plain(400, "BadRequest", message);
}

struct api_error api_error_unauthorized(void)
{
    return plain(401, "Unauthorized", S("Unauthorized"));
}

struct api_error api_error_not_found(struct arena *a, struct status_subject subject)
{
    return about(404, "NotFound",
                 str_printf(a, "%.*s \"%.*s\" not found",
                            STR_ARG(group_resource(a, subject.group, subject.resource)),
                            STR_ARG(subject.name)),
                 subject);
}

struct api_error api_error_no_resource(void)
{
    return about(404, "NotFound", S("the server could not find the requested resource"),
                 (struct status_subject){0});
}

struct api_error api_error_method(void)
{
    return about(405, "MethodNotAllowed",
                 S("the server does not allow this method on the requested resource"),
                 (struct status_subject){0});
}

struct api_error api_error_exists(struct arena *a, struct status_subject subject)
{
    return about(409, "AlreadyExists",
                 str_printf(a, "%.*s already exists", STR_ARG(named(a, subject))), subject);
}

struct api_error api_error_name_taken(struct arena *a, struct status_subject subject)
{
    struct api_error e = api_error_exists(a, subject);

    e.message = str_printf(a,
                           "%.*s, the server was not able to generate a unique name for the "
                           "object",
                           STR_ARG(e.message));
    e.retry_after_seconds = 1;
    return e;
}

struct api_error api_error_conflict(struct arena *a, struct status_subject subject,
                                    struct str why)
{
    return about(409, "Conflict",
                 str_printf(a, "Operation cannot be fulfilled on %.*s: %.*s",
                            STR_ARG(named(a, subject)), STR_ARG(why)),
                 subject);
}

struct api_error api_error_forbidden(struct arena *a, struct status_subject subject,
                                     struct str why)
{
    return about(
        403, "Forbidden",
        str_printf(a, "%.*s is forbidden: %.*s", STR_ARG(named(a, subject)), STR_ARG(why)),
        subject);
}

struct api_error api_error_terminating(struct arena *a, struct status_subject subject,
                                       struct str ns)
{
    struct str why = str_printf(a,
                                "unable to create new content in namespace %.*s because it "
                                "is being terminated",
                                STR_ARG(ns));
    struct api_error e = api_error_forbidden(a, subject, why);

    api_error_cause(a, &e, S("NamespaceTerminating"),
                    str_printf(a, "namespace %.*s is being terminated", STR_ARG(ns)),
                    S("metadata.namespace"));
    return e;
}

/* Who may not do what; what users wrote is made harmless for HTML. */
static struct str denied_text(struct arena *a, const struct access *x, struct str reason)
{
    struct buf raw = buf_in(a, 128), out = buf_in(a, 160);

    buf_printf(&raw, "User \"%.*s\" cannot %.*s ", STR_ARG(x->user.name), STR_ARG(x->verb));
    if (x->is_resource) {
        buf_printf(&raw, "resource \"%.*s%s%.*s\" in API group \"%.*s\"", STR_ARG(x->resource),
                   x->subresource.len ? "/" : "", STR_ARG(x->subresource), STR_ARG(x->group));
        if (x->ns.len)
            buf_printf(&raw, " in the namespace \"%.*s\"", STR_ARG(x->ns));
        else
            buf_add(&raw, S(" at the cluster scope"));
    } else {
        buf_printf(&raw, "path \"%.*s\"", STR_ARG(x->path));
    }
    if (reason.len)
        buf_printf(&raw, ": %.*s", STR_ARG(reason));
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.at[i];
        if (c == '&' || c == '<' || c == '>')
            buf_add(&out, c == '&' ? S("&amp;") : c == '<' ? S("&lt;") : S("&gt;"));
        else
            buf_byte(&out, c);
    }
    return buf_str(&out);
}

struct api_error api_error_denied(struct arena *a, const struct access *access,
                                  struct str reason)
{
    struct status_subject subject = {
        .group = access->group, .resource = access->resource, .name = access->name};
    struct str why = denied_text(a, access, reason);

    if (!access->is_resource)
        return about(403, "Forbidden", str_printf(a, "forbidden: %.*s", STR_ARG(why)),
                     (struct status_subject){0});
    return api_error_forbidden(a, subject, why);
}

/* `Job.batch "a" is invalid: why`. */
static struct api_error invalid(struct arena *a, struct status_subject subject, struct str why)
{
    struct api_error e =
        about(422, "Invalid",
              str_printf(a, "%.*s \"%.*s\" is invalid: %.*s",
                         STR_ARG(group_resource(a, subject.group, subject.kind)),
                         STR_ARG(subject.name), STR_ARG(why)),
              subject);

    e.details_name_kind = true;
    return e;
}

struct api_error api_error_invalid(struct arena *a, struct status_subject subject,
                                   const struct field_errors *errors)
{
    struct api_error e = invalid(a, subject, field_errors_text(a, errors));

    vec_each (i, &errors->list) {
        const struct field_error *one = &errors->list.at[i];
        api_error_cause(a, &e, field_error_reason(one->type), field_error_body(a, one),
                        one->path);
    }
    return e;
}

struct api_error api_error_options(struct arena *a, const char *kind,
                                   const struct field_errors *errors)
{
    return api_error_invalid(
        a, (struct status_subject){.group = S("meta.k8s.io"), .kind = str_from(kind)}, errors);
}

struct api_error api_error_expired(struct str message, struct str continue_token)
{
    struct api_error e = plain(410, "Expired", message);

    e.continue_token = continue_token;
    return e;
}

struct api_error api_error_too_large_version(struct arena *a, uint64_t wanted, uint64_t current)
{
    struct api_error e = plain(
        504, "Timeout",
        str_printf(a, "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64,
                   wanted, current));

    api_error_cause(a, &e, S("ResourceVersionTooLarge"), S("Too large resource version"),
                    S(""));
    e.retry_after_seconds = 1;
    return e;
}

struct api_error api_error_internal(struct arena *a, struct str why)
{
    struct api_error e = plain(500, "InternalError",
                               str_printf(a, "Internal error occurred: %.*s", STR_ARG(why)));

    api_error_cause(a, &e, S(""), why, S(""));
    return e;
}

/* Codes whose message is the text as it is. */
static const struct {
    enum err_code code;
    int http;
    const char *reason;
    int retry;
} plain_codes[] = {
    {ERR_SYNTAX,       400, "BadRequest",            0},
    {ERR_UNAUTHORIZED, 401, "Unauthorized",          0},
    {ERR_NOT_ACCEPTED, 406, "NotAcceptable",         0},
    {ERR_GONE,         410, "Expired",               0},
    {ERR_LIMIT,        413, "RequestEntityTooLarge", 0},
    {ERR_MEDIA_TYPE,   415, "UnsupportedMediaType",  0},
    {ERR_TOO_MANY,     429, "TooManyRequests",       1},
    {ERR_UNSUPPORTED,  501, "NotImplemented",        0},
    {ERR_UNAVAILABLE,  503, "ServiceUnavailable",    1},
    {ERR_TIMEOUT,      504, "Timeout",               1},
    {ERR_CANCELED,     504, "Timeout",               0},
};

struct api_error api_error_of(struct arena *a, const struct err *err,
                              struct status_subject subject)
{
    struct str why = str_copy(a, err_str(err));

    for (size_t i = 0; i < countof(plain_codes); i++)
        if (plain_codes[i].code == err->code) {
            struct api_error e = plain(plain_codes[i].http, plain_codes[i].reason, why);
            e.retry_after_seconds = plain_codes[i].retry;
            return e;
        }
    switch (err->code) {
    case ERR_FORBIDDEN:
        return api_error_forbidden(a, subject, why);
    case ERR_NOT_FOUND:
        return subject.name.len ? api_error_not_found(a, subject) : plain(404, "NotFound", why);
    case ERR_METHOD:
        return api_error_method();
    case ERR_EXISTS:
        return api_error_exists(a, subject);
    case ERR_CONFLICT:
        return api_error_conflict(a, subject, why);
    case ERR_INVALID:
        return invalid(a, subject, why);
    default:
        return api_error_internal(a, why);
    }
}

/* ---- writing ---- */

static void set_text(struct json_obj *o, const char *name, struct str text)
{
    if (text.len)
        obj_add(o, str_from(name), json_of_str(text));
}

static struct json details(struct arena *a, const struct api_error *e)
{
    struct json_obj o = obj_in(a);

    set_text(&o, "name", e->about.name);
    set_text(&o, "group", e->about.group);
    set_text(&o, "kind", e->details_name_kind ? e->about.kind : e->about.resource);
    set_text(&o, "uid", e->uid);
    if (e->causes.len) {
        struct json_arr list = arr_in(a);
        vec_each (i, &e->causes) {
            struct json_obj cause = obj_in(a);
            set_text(&cause, "reason", e->causes.at[i].reason);
            set_text(&cause, "message", e->causes.at[i].message);
            set_text(&cause, "field", e->causes.at[i].field);
            arr_add(&list, obj_done(&cause));
        }
        obj_add(&o, S("causes"), arr_done(&list));
    }
    if (e->retry_after_seconds)
        obj_add(&o, S("retryAfterSeconds"), json_of_i64(e->retry_after_seconds));
    return obj_done(&o);
}

static struct json_obj begin(struct arena *a, struct str continue_token, const char *status)
{
    struct json_obj o = obj_in(a), meta = obj_in(a);

    set_text(&meta, "continue", continue_token);
    obj_add(&o, S("kind"), json_of_z("Status"));
    obj_add(&o, S("apiVersion"), json_of_z("v1"));
    obj_add(&o, S("metadata"), obj_done(&meta));
    obj_add(&o, S("status"), json_of_str(str_from(status)));
    return o;
}

struct json status_json(struct arena *a, const struct api_error *e)
{
    struct json_obj o = begin(a, e->continue_token, "Failure");

    set_text(&o, "message", e->message);
    set_text(&o, "reason", e->reason);
    if (e->has_details || e->retry_after_seconds)
        obj_add(&o, S("details"), details(a, e));
    obj_add(&o, S("code"), json_of_i64(e->code));
    return obj_done(&o);
}

struct json status_success(struct arena *a, struct status_subject subject, struct str uid)
{
    struct json_obj o = begin(a, S(""), "Success");
    struct api_error e = {.about = subject, .uid = uid};

    obj_add(&o, S("details"), details(a, &e));
    return obj_done(&o);
}
