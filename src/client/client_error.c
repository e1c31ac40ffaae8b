/* client_error.c - what a failed answer means */
#include "client/client_http.h"

#define MAX_PLAIN 200 /* bytes of a body that is no Status */

/* The reason tells more than the code where it is known. */
static const struct {
    const char *reason;
    enum err_code code;
} reasons[] = {
    {"AlreadyExists",         ERR_EXISTS      },
    {"BadRequest",            ERR_SYNTAX      },
    {"Conflict",              ERR_CONFLICT    },
    {"Expired",               ERR_GONE        },
    {"Forbidden",             ERR_FORBIDDEN   },
    {"Gone",                  ERR_GONE        },
    {"InternalError",         ERR_INTERNAL    },
    {"Invalid",               ERR_INVALID     },
    {"MethodNotAllowed",      ERR_METHOD      },
    {"NotAcceptable",         ERR_NOT_ACCEPTED},
    {"NotFound",              ERR_NOT_FOUND   },
    {"RequestEntityTooLarge", ERR_LIMIT       },
    {"ServerTimeout",         ERR_TIMEOUT     },
    {"ServiceUnavailable",    ERR_UNAVAILABLE },
    {"Timeout",               ERR_TIMEOUT     },
    {"TooManyRequests",       ERR_TOO_MANY    },
    {"Unauthorized",          ERR_UNAUTHORIZED},
    {"UnsupportedMediaType",  ERR_MEDIA_TYPE  },
};

static const struct {
    int status;
    enum err_code code;
} codes[] = {
    {401, ERR_UNAUTHORIZED},
    {406, ERR_NOT_ACCEPTED},
};

void client_error(int code, const struct json *status, struct str body, struct err *err)
{
    struct str reason = json_str(json_getz(status, "reason"));
    struct str message = json_str(json_getz(status, "message"));
    enum err_code c = code >= 500 ? ERR_INTERNAL : ERR_INVALID;

    for (size_t i = 0; i < countof(codes); i++)
        if (codes[i].status == code)
            c = codes[i].code;
    for (size_t i = 0; i < countof(reasons); i++)
        if (str_eqz(reason, reasons[i].reason))
            c = reasons[i].code;
    if (message.len)
        err_set(err, c, "%.*s", STR_ARG(message));
    else if (str_trim(body).len && !json_is(status, JSON_OBJECT))
        err_set(err, c, "the server answered %d %s: %.*s", code, http_reason(code),
                (int)MIN(str_trim(body).len, (size_t)MAX_PLAIN), str_trim(body).at);
    else
        err_set(err, c, "the server answered %d %s", code, http_reason(code));
}
