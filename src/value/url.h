/* url.h - URLs, as Go's net/url reads them */
#pragma once

#include "value/strs.h"

struct url {
    struct str scheme;   /* lower case */
    struct str opaque;   /* what follows the scheme where no '/' does */
    struct str userinfo; /* as written */
    struct str host;     /* decoded; with port and brackets */
    struct str path;     /* as written */
    struct str query;    /* as written, without '?' */
    struct str fragment; /* as written, without '#' */
    bool has_authority, has_userinfo, has_query, has_fragment;
};

#define URL_MAX_TEXT ((size_t)64 << 10) /* bytes */

/* An absolute URI or an absolute path. ERR_SYNTAX in Go's words:
 * `parse "x": invalid URI for request`; ERR_LIMIT past URL_MAX_TEXT. */
int url_parse(struct arena *a, struct str text, struct url *out, struct err *err);
/* The same for whatever may stand in a link: relative and empty ones, too. */
int url_parse_reference(struct arena *a, struct str text, struct url *out, struct err *err);
struct str url_hostname(const struct url *u); /* without port and brackets */
struct str url_port(const struct url *u);
/* The path with everything encoded that has to be. */
struct str url_escaped_path(struct arena *a, const struct url *u);
/* Pairs in the order of the text, decoded; pairs that cannot be decoded are left out. */
struct str_map url_query(struct arena *a, const struct url *u);
/* Put together again: what equality compares. */
struct str url_text(struct arena *a, const struct url *u);

/* %XX decoded, and '+' as a space where is_query. False where an escape is broken. */
bool url_unescape(struct arena *a, struct str s, bool is_query, struct str *out);
