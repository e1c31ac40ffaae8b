/* protobuf.h - request bodies in Kubernetes' protobuf, as trees
 *
 * Decoding only: answers are JSON. The table knows each field's number and wire form; what JSON
 * flattens and what Go would leave out are handled as the api-server reference (2.3) says.
 */
#pragma once

#include "json/json.h"

struct schema;

#define PROTOBUF_MAX_DEPTH 64
#define PROTOBUF_MAX_ITEMS 1000000 /* elements of one message, all lists together */

/* What an envelope holds; strs point into the body. */
struct protobuf_envelope {
    struct str api_version, kind;
    struct str raw;          /* the message */
    struct str content_type; /* "" or what raw is when it is not protobuf */
};

/* Begins with the four magic bytes? */
bool protobuf_is(struct str body);
/* -1 with ERR_SYNTAX. */
int protobuf_open(struct str body, struct protobuf_envelope *out, struct err *err);
/* The message as a tree: without apiVersion and kind, which the envelope has. Strings point
 * into `raw`. NULL with ERR_SYNTAX or ERR_LIMIT. */
const struct json *protobuf_decode(struct arena *a, const struct schema *s, struct str raw,
                                   struct err *err);
