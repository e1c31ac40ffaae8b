/* body_priv.h - a request's body as a tree */
#pragma once

#include "server/options_priv.h"

/* Without parameters. */
struct str media_type(struct str header);
bool patch_type_of(struct str media, enum patch_type *out);
/* NULL with err. */
const struct json *body_parse(struct request *r, struct str type, struct err *err);
/* Fills r->body from r->body_text; 0, or -1 after the failure was answered. */
int body_read(struct request *r, struct str content_type);
