/* accept.h - which representation a client gets
 *
 * The Accept header against the media types that are served. A clause may ask for a conversion
 * (`as=Table;g=meta.k8s.io;v=v1`), which is served or the clause is passed over.
 */
#pragma once

#include "base/base.h"

enum accept_as {
    ACCEPT_PLAIN,
    ACCEPT_TABLE,
    ACCEPT_PARTIAL,        /* PartialObjectMetadata */
    ACCEPT_PARTIAL_LIST,   /* PartialObjectMetadataList */
    ACCEPT_GROUP_DISCOVERY /* APIGroupDiscoveryList */
};
/* Bits of the conversions that a place serves. */
#define ACCEPT_BIT(as) (1u << (as))

struct accepted {
    struct str media_type; /* one of those served */
    size_t index;          /* which */
    enum accept_as as;
    struct str version; /* of the conversion: v1, v1beta1, v2, v2beta1 */
    bool is_pretty;     /* pretty=1 */
    bool is_stream;     /* stream=watch */
};

#define ACCEPT_MAX_CLAUSES 64 /* of one header; what follows is not read */

/* `header`: the first Accept line, or "". Tables are made of JSON and YAML only.
 * ERR_NOT_ACCEPTED in the words of a 406. */
int accept_negotiate(struct str header, const struct str *served, size_t n_served,
                     unsigned conversions, struct accepted *out, struct err *err);
/* The first served type that a request's Content-Type names; parameters do not count; "" is
 * the first. ERR_MEDIA_TYPE in the words of a 415. */
int content_type_match(struct str header, const struct str *served, size_t n_served,
                       size_t *index, struct err *err);
