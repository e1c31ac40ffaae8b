/* request.h - what a URL asks for
 *
 * Every request becomes a verb on a resource, or a path that is none. Authorization, routing
 * and audit look at nothing else of the URL.
 */
#pragma once

#include "value/value.h"

struct request_info {
    struct str path; /* decoded */
    bool is_resource;
    struct str verb;   /* get list watch create update patch delete deletecollection; for other
                          paths the method in lower case; "" for a method that means nothing */
    struct str prefix; /* api or apis */
    struct str group, version;
    struct str ns, resource, subresource, name;
    struct str_list parts;          /* resource, name, subresource and what follows */
    struct str label_selector;      /* unparsed; only for list, watch, deletecollection */
    struct str field_selector;      /* the same */
    struct str_map query;           /* decoded, in the order of the URL */
    bool is_deprecated_verb_prefix; /* /watch/ or /proxy/ in the path: not served */
};

#define REQUEST_MAX_TARGET ((size_t)64 << 10) /* bytes of path and query */

/* `target` is a request line's path with its query. ERR_SYNTAX where it cannot be decoded,
 * ERR_LIMIT past REQUEST_MAX_TARGET. Texts are borrowed from target or live in the arena. */
int request_parse(struct arena *a, struct str method, struct str target,
                  struct request_info *out, struct err *err);

/* The first value of a query parameter; NULL where it is absent. */
static inline const struct str *request_query(const struct request_info *r, struct str name)
{
    return str_map_find(&r->query, name);
}
/* A flag: present and neither "0" nor "false". */
bool request_flag(const struct request_info *r, struct str name);
