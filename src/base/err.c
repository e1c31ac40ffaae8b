/* err.c - errors as sentences */
#include "base/base.h"

like_printf(2, 0) static void put(struct err *err, const char *format, va_list args)
{
    int n = vsnprintf(err->text, sizeof(err->text), format, args);

    if (n >= (int)sizeof(err->text))
        memcpy(err->text + sizeof(err->text) - 4, "...", 4);
}

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list args;

    if (!err)
        return -1;
    err->code = code;
    va_start(args, format);
    put(err, format, args);
    va_end(args);
    return -1;
}

int err_wrap(struct err *err, const char *format, ...)
{
    char was[ERR_TEXT_MAX];
    va_list args;

    if (!err)
        return -1;
    memcpy(was, err->text, sizeof(was));
    va_start(args, format);
    put(err, format, args);
    va_end(args);
    size_t at = strlen(err->text);
    snprintf(err->text + at, sizeof(err->text) - at, ": %.*s", ERR_TEXT_MAX - 1, was);
    return -1;
}

const char *err_name(enum err_code code)
{
    static const char *const names[] = {
#define ERR_NAME(name) #name,
        ERR_CODES(ERR_NAME)
#undef ERR_NAME
    };

    assert((size_t)code < countof(names));
    return names[code];
}

struct str err_str(const struct err *err)
{
    return str_from(err->text);
}
