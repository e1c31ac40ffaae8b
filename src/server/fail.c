/* fail.c - every "no" as a Status, in the words clients expect
 *
 * A failure ends its request. The same sentence goes to an HTTP client as metav1.Status and to
 * a client in this process as struct err.
 */
#include "server/server_priv.h"

/* HTTP code, the reason of a Status, and our own code: one row each. */
static const struct {
    enum err_code err;
    int code;
    const char *reason;
} failures[] = {
    {ERR_INVALID,      422, "Invalid"              },
    {ERR_SYNTAX,       400, "BadRequest"           },
    {ERR_UNAUTHORIZED, 401, "Unauthorized"         },
    {ERR_FORBIDDEN,    403, "Forbidden"            },
    {ERR_NOT_FOUND,    404, "NotFound"             },
    {ERR_METHOD,       405, "MethodNotAllowed"     },
    {ERR_NOT_ACCEPTED, 406, "NotAcceptable"        },
    {ERR_EXISTS,       409, "AlreadyExists"        },
    {ERR_CONFLICT,     409, "Conflict"             },
    {ERR_GONE,         410, "Expired"              },
    {ERR_LIMIT,        413, "RequestEntityTooLarge"},
    {ERR_MEDIA_TYPE,   415, "UnsupportedMediaType" },
    {ERR_TOO_MANY,     429, "TooManyRequests"      },
    {ERR_TIMEOUT,      504, "Timeout"              },
    {ERR_CANCELED,     503, "ServiceUnavailable"   },
    {ERR_UNAVAILABLE,  503, "ServiceUnavailable"   },
    {ERR_IO,           500, "InternalError"        },
    {ERR_UNSUPPORTED,  501, "NotImplemented"       },
    {ERR_INTERNAL,     500, "InternalError"        },
};

int http_of_err(enum err_code code)
{
    for (size_t i = 0; i < countof(failures); i++) {
        if (failures[i].err == code)
            return failures[i].code;
    }
    return 500;
}

const char *reason_of_err(enum err_code code)
{
    for (size_t i = 0; i < countof(failures); i++) {
        if (failures[i].err == code)
            return failures[i].reason;
    }
    return "InternalError";
}

enum err_code err_of_http(int code, const char *reason)
{
    for (size_t i = 0; i < countof(failures); i++) {
        if (failures[i].code == code && (!reason || strcmp(failures[i].reason, reason) == 0))
            return failures[i].err;
    }
    for (size_t i = 0; i < countof(failures); i++) {
        if (failures[i].code == code)
            return failures[i].err;
    }
    return ERR_INTERNAL;
}

const struct json *status_of(struct arena *a, int code, const char *reason, struct str message,
                             const struct json *details)
{
    struct json_obj o = obj_in(a);
    struct json_obj none = obj_in(a);
    bool is_good = code < 400;

    obj_setz(&o, "kind", json_of_z("Status"));
    obj_setz(&o, "apiVersion", json_of_z("v1"));
    obj_setz(&o, "metadata", obj_done(&none));
    obj_setz(&o, "status", is_good ? json_of_z("Success") : json_of_z("Failure"));
    if (message.len)
        obj_setz(&o, "message", json_of_str(message));
    if (reason)
        obj_setz(&o, "reason", json_of_str(str_from(reason)));
    if (details)
        obj_setz(&o, "details", *details);
    if (!is_good)
        obj_setz(&o, "code", json_of_i64(code));
    return json_new(a, obj_done(&o));
}

struct str group_resource(struct arena *a, const struct kind *k)
{
    if (k->group.len == 0)
        return k->plural;
    return str_printf(a, "%.*s.%.*s", STR_ARG(k->plural), STR_ARG(k->group));
}

/* {name, group, kind}: kind is the resource, or for Invalid the Kind. */
static const struct json *details_of(struct arena *a, struct str name, const struct kind *k,
                                     struct str kind)
{
    struct json_obj d = obj_in(a);

    if (name.len)
        obj_setz(&d, "name", json_of_str(name));
    if (k && k->group.len)
        obj_setz(&d, "group", json_of_str(k->group));
    if (kind.len)
        obj_setz(&d, "kind", json_of_str(kind));
    return json_new(a, obj_done(&d));
}

int fail_with(struct request *r, int code, const char *reason, struct str message,
              const struct json *details)
{
    struct err err = {0};

    err_set(&err, err_of_http(code, reason), "%.*s", STR_ARG(message));
    r->reply->fail(r, status_of(r->arena, code, reason, message, details), &err);
    return -1;
}

#define FORMAT(r, format, out)                                                                 \
    do {                                                                                       \
        struct err text_ = {0};                                                                \
        va_list args_;                                                                         \
        va_start(args_, format);                                                               \
        vsnprintf(text_.text, sizeof(text_.text), format, args_);                              \
        va_end(args_);                                                                         \
        (out) = str_copy((r)->arena, str_from(text_.text));                                    \
    } while (0)

int fail_err(struct request *r, const struct err *err)
{
    int code = http_of_err(err->code);
    struct str message = str_copy(r->arena, err_str(err));
    const struct json *details = NULL;

    if (err->code == ERR_TIMEOUT && str_has(message, S("Too large resource version"))) {
        /* Reflectors look for this cause. */
        struct json_obj cause = obj_in(r->arena), d = obj_in(r->arena);
        struct json_arr causes = arr_in(r->arena);
        obj_setz(&cause, "reason", json_of_z("ResourceVersionTooLarge"));
        obj_setz(&cause, "message", json_of_z("Too large resource version"));
        arr_add(&causes, obj_done(&cause));
        obj_setz(&d, "causes", arr_done(&causes));
        obj_setz(&d, "retryAfterSeconds", json_of_i64(1));
        details = json_new(r->arena, obj_done(&d));
        message = str_printf(r->arena, "Timeout: %.*s", STR_ARG(message));
    } else if (err->code == ERR_INTERNAL || err->code == ERR_IO) {
        struct json_obj cause = obj_in(r->arena), d = obj_in(r->arena);
        struct json_arr causes = arr_in(r->arena);
        obj_setz(&cause, "message", json_of_str(message));
        arr_add(&causes, obj_done(&cause));
        obj_setz(&d, "causes", arr_done(&causes));
        details = json_new(r->arena, obj_done(&d));
        message = str_printf(r->arena, "Internal error occurred: %.*s", STR_ARG(message));
    }
    return fail_with(r, code, reason_of_err(err->code), message, details);
}

int fail_bad_request(struct request *r, const char *format, ...)
{
    struct str message;

    FORMAT(r, format, message);
    return fail_with(r, 400, "BadRequest", message, NULL);
}

int fail_not_found(struct request *r)
{
    struct arena *a = r->arena;

    if (!r->kind || r->name.len == 0) {
        struct json_obj none = obj_in(a);
        return fail_with(r, 404, "NotFound",
                         S("the server could not find the requested resource"),
                         json_new(a, obj_done(&none)));
    }
    return fail_with(r, 404, "NotFound",
                     str_printf(a, "%.*s \"%.*s\" not found",
                                STR_ARG(group_resource(a, r->kind)), STR_ARG(r->name)),
                     details_of(a, r->name, r->kind, r->kind->plural));
}

int fail_exists(struct request *r, struct str name)
{
    struct arena *a = r->arena;

    return fail_with(r, 409, "AlreadyExists",
                     str_printf(a, "%.*s \"%.*s\" already exists",
                                STR_ARG(group_resource(a, r->kind)), STR_ARG(name)),
                     details_of(a, name, r->kind, r->kind->plural));
}

int fail_conflict(struct request *r, const char *format, ...)
{
    struct arena *a = r->arena;
    struct str why;

    FORMAT(r, format, why);
    return fail_with(r, 409, "Conflict",
                     str_printf(a, "Operation cannot be fulfilled on %.*s \"%.*s\": %.*s",
                                STR_ARG(group_resource(a, r->kind)), STR_ARG(r->name),
                                STR_ARG(why)),
                     details_of(a, r->name, r->kind, r->kind->plural));
}

int fail_forbidden(struct request *r, const char *format, ...)
{
    struct arena *a = r->arena;
    struct str why;

    FORMAT(r, format, why);
    if (!r->kind)
        return fail_with(r, 403, "Forbidden", str_printf(a, "forbidden: %.*s", STR_ARG(why)),
                         NULL);
    struct str what = group_resource(a, r->kind);
    if (r->name.len)
        what = str_printf(a, "%.*s \"%.*s\"", STR_ARG(what), STR_ARG(r->name));
    return fail_with(r, 403, "Forbidden",
                     str_printf(a, "%.*s is forbidden: %.*s", STR_ARG(what), STR_ARG(why)),
                     details_of(a, r->name, r->kind, r->kind->plural));
}

int fail_method(struct request *r)
{
    struct json_obj none = obj_in(r->arena);

    return fail_with(r, 405, "MethodNotAllowed",
                     S("the server does not allow this method on the requested resource"),
                     json_new(r->arena, obj_done(&none)));
}

static int invalid(struct request *r, struct str name, struct str group, struct str kind,
                   const struct field_errors *errors)
{
    struct arena *a = r->arena;
    struct json_arr causes = arr_in(a);
    struct json_obj details = obj_in(a);

    vec_each (i, &errors->list) {
        const struct field_error *e = &errors->list.at[i];
        struct json_obj cause = obj_in(a);
        obj_setz(&cause, "reason", json_of_str(field_error_reason(e->type)));
        obj_setz(&cause, "message", json_of_str(field_error_body(a, e)));
        obj_setz(&cause, "field", json_of_str(e->path));
        arr_add(&causes, obj_done(&cause));
    }
    if (name.len)
        obj_setz(&details, "name", json_of_str(name));
    if (group.len)
        obj_setz(&details, "group", json_of_str(group));
    obj_setz(&details, "kind", json_of_str(kind));
    obj_setz(&details, "causes", arr_done(&causes));
    struct str what =
        group.len ? str_printf(a, "%.*s.%.*s", STR_ARG(kind), STR_ARG(group)) : kind;
    return fail_with(r, 422, "Invalid",
                     str_printf(a, "%.*s \"%.*s\" is invalid: %.*s", STR_ARG(what),
                                STR_ARG(name), STR_ARG(field_errors_text(a, errors))),
                     json_new(a, obj_done(&details)));
}

int fail_invalid(struct request *r, struct str name, const struct field_errors *errors)
{
    return invalid(r, name, r->kind->group, r->kind->kind, errors);
}

int fail_options(struct request *r, const char *kind, const struct field_errors *errors)
{
    return invalid(r, str_of(NULL, 0), S("meta.k8s.io"), str_from(kind), errors);
}
