/* accept.h - in which form an answer is wanted */
#pragma once

#include "base/base.h"

enum accept_form {
    ACCEPT_OBJECT,
    ACCEPT_TABLE,
    ACCEPT_METADATA, /* PartialObjectMetadata and its list */
    ACCEPT_DISCOVERY /* aggregated, v2 */
};
struct accept {
    enum accept_form form;
    bool is_yaml;
    bool is_pretty;
    bool is_v1beta1; /* of Table and metadata: the version asked for */
};

/* What a handler offers beside plain objects. */
enum { ACCEPT_OFFER_TABLE = 1, ACCEPT_OFFER_METADATA = 2, ACCEPT_OFFER_DISCOVERY = 4 };

/* The best clause that can be satisfied; false: none (406). */
bool accept_parse(struct str header, unsigned offers, struct accept *out);
