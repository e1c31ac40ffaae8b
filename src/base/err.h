/* err.h - why something failed, as a sentence
 *
 * A plain value: no allocation, no global, nothing to free. The place that knows most sets it,
 * each caller wraps it with what it was doing, and the edge prints it once. On success it is
 * untouched.
 */
#pragma once

#include "base/compiler.h"
#include "base/str.h"

#define ERR_CODES(X)                                                                           \
    X(OK)           /* nothing failed */                                                       \
    X(INVALID)      /* the input breaks a rule (HTTP 422) */                                   \
    X(SYNTAX)       /* the input cannot be read at all (400) */                                \
    X(UNAUTHORIZED) /* nobody we know (401) */                                                 \
    X(FORBIDDEN)    /* known, and not allowed to (403) */                                      \
    X(NOT_FOUND)    /* (404) */                                                                \
    X(METHOD)       /* the verb does not exist there (405) */                                  \
    X(NOT_ACCEPTED) /* no representation that the caller accepts (406) */                      \
    X(EXISTS)       /* the name is taken (409) */                                              \
    X(CONFLICT)     /* somebody else wrote first (409) */                                      \
    X(GONE)         /* older than what is kept (410) */                                        \
    X(LIMIT)        /* over a limit of ours (413 where it is a body's size) */                 \
    X(MEDIA_TYPE)   /* a body of a kind we do not read (415) */                                \
    X(TOO_MANY)     /* asked too often, or not now: try again later (429) */                   \
    X(IO)           /* the system said no */                                                   \
    X(TIMEOUT)      /* took too long (504) */                                                  \
    X(CANCELED)     /* the caller no longer wants it */                                        \
    X(UNAVAILABLE)  /* the other side is not there now (503) */                                \
    X(UNSUPPORTED)  /* understood, and not built */                                            \
    X(INTERNAL)     /* a broken promise of our own (500) */

enum err_code {
#define ERR_ENUM(name) ERR_##name,
    ERR_CODES(ERR_ENUM)
#undef ERR_ENUM
};

#define ERR_TEXT_MAX 512

struct err {
    enum err_code code;
    char text[ERR_TEXT_MAX]; /* terminated; cut with "..." where it would be longer */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Sets code and text; err may be NULL. Always -1, so that `return err_set(...)` reads well. */
rare int err_set(struct err *err, enum err_code code, const char *format, ...)
    like_printf(3, 4);
/* Puts "what we were doing: " in front. Always -1. */
rare int err_wrap(struct err *err, const char *format, ...) like_printf(2, 3);
/* The code's name in capitals, such as "CONFLICT". */
const char *err_name(enum err_code code);
struct str err_str(const struct err *err);

#ifdef __cplusplus
}
#endif
