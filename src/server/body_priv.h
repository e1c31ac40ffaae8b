/* body_priv.h - what comes with a request: options and body */
#pragma once

#include "server/server_priv.h"

/* options.c: fills r->options; 0, or -1 after the failure was answered. */
int options_read(struct request *r, const struct str_map *query, struct str user_agent);
/* DELETE's body, or NULL, on top of the query; and the checks of both. */
int options_of_delete(struct request *r, const struct json *body);

/* Scalars, lists and objects in one body: 413 past it. Each may cost a hundred times its text
 * once it has defaults and owners; the largest objects that are known have a third of these. */
#define BODY_MAX_VALUES 250000

/* body.c: which patch a Content-Type names; false where it is none. */
bool patch_type_of(struct str content_type, enum patch_type *out);
/* Fills r->body from r->body_text; 0, or -1 after the failure was answered. */
int body_read(struct request *r, struct str content_type);
