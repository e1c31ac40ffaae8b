/* fail.c - every "no" of a request, by the catalogue of api/status.h
 *
 * A failure ends its request. The same sentence goes to an HTTP client as metav1.Status and to
 * a client in this process as struct err.
 */
#include "server/server_priv.h"

/* Our codes for what the catalogue has by HTTP's code and a reason. */
static const struct {
    int code;
    const char *reason; /* NULL: any */
    enum err_code err;
} codes[] = {
    {400, NULL,            ERR_SYNTAX      },
    {401, NULL,            ERR_UNAUTHORIZED},
    {403, NULL,            ERR_FORBIDDEN   },
    {404, NULL,            ERR_NOT_FOUND   },
    {405, NULL,            ERR_METHOD      },
    {406, NULL,            ERR_NOT_ACCEPTED},
    {409, "AlreadyExists", ERR_EXISTS      },
    {409, NULL,            ERR_CONFLICT    },
    {410, NULL,            ERR_GONE        },
    {413, NULL,            ERR_LIMIT       },
    {415, NULL,            ERR_MEDIA_TYPE  },
    {422, NULL,            ERR_INVALID     },
    {429, NULL,            ERR_TOO_MANY    },
    {503, NULL,            ERR_UNAVAILABLE },
    {504, NULL,            ERR_TIMEOUT     },
};

static enum err_code err_of(const struct api_error *e)
{
    for (size_t i = 0; i < countof(codes); i++) {
        if (codes[i].code == e->code &&
            (!codes[i].reason || str_eqz(e->reason, codes[i].reason)))
            return codes[i].err;
    }
    return ERR_INTERNAL;
}

struct status_subject subject_of(const struct request *r)
{
    if (!r->kind)
        return (struct status_subject){0};
    return (struct status_subject){.group = r->kind->group,
                                   .resource = r->kind->plural,
                                   .kind = r->kind->kind,
                                   .name = r->name};
}

int fail_api(struct request *r, const struct api_error *e)
{
    struct err err = {0};

    err_set(&err, err_of(e), "%.*s", STR_ARG(e->message));
    r->retry_after = e->retry_after_seconds;
    r->reply->fail(r, json_new(r->arena, status_json(r->arena, e)), &err);
    return -1;
}

int fail_with(struct request *r, int code, const char *reason, struct str message)
{
    return fail_api(
        r, &(struct api_error){.code = code, .reason = str_from(reason), .message = message});
}

int fail_err(struct request *r, const struct err *err)
{
    struct api_error e = api_error_of(r->arena, err, subject_of(r));

    return fail_api(r, &e);
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

int fail_bad_request(struct request *r, const char *format, ...)
{
    struct str message;

    FORMAT(r, format, message);
    struct api_error e = api_error_bad_request(message);
    return fail_api(r, &e);
}

int fail_not_found(struct request *r)
{
    struct api_error e = r->kind && r->name.len ? api_error_not_found(r->arena, subject_of(r))
                                                : api_error_no_resource();

    return fail_api(r, &e);
}

int fail_too_large(struct request *r)
{
    return fail_err(r, &(struct err){ERR_LIMIT, "etcdserver: request is too large"});
}

int fail_exists(struct request *r, struct str name)
{
    struct status_subject about = subject_of(r);

    about.name = name;
    bool is_generated =
        !r->name.len && !json_str(json_path(r->body, "metadata", "name", NULL)).len;
    struct api_error e = is_generated ? api_error_name_taken(r->arena, about)
                                      : api_error_exists(r->arena, about);
    return fail_api(r, &e);
}

int fail_conflict(struct request *r, const char *format, ...)
{
    struct str why;

    FORMAT(r, format, why);
    struct api_error e = api_error_conflict(r->arena, subject_of(r), why);
    return fail_api(r, &e);
}

int fail_forbidden(struct request *r, const char *format, ...)
{
    struct str why;

    FORMAT(r, format, why);
    struct api_error e = api_error_forbidden(r->arena, subject_of(r), why);
    return fail_api(r, &e);
}

int fail_method(struct request *r)
{
    struct api_error e = api_error_method();

    return fail_api(r, &e);
}

int fail_invalid(struct request *r, struct str name, const struct field_errors *errors)
{
    struct status_subject about = subject_of(r);

    about.name = name;
    struct api_error e = api_error_invalid(r->arena, about, errors);
    return fail_api(r, &e);
}

int fail_options(struct request *r, const char *kind, const struct field_errors *errors)
{
    struct api_error e = api_error_options(r->arena, kind, errors);

    return fail_api(r, &e);
}

const struct json *success_of(struct request *r, struct status_subject about, struct str uid)
{
    return json_new(r->arena, status_success(r->arena, about, uid));
}
