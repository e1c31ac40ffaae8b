/* front_priv.h - between http/ and requests */
#pragma once

#include "schema/columns.h"
#include "server/server_priv.h"

extern const struct reply http_reply; /* answer.c */

/* Whole answers to what is no resource. */
void answer_tree(struct http_request *q, int code, const struct json *tree);
void answer_text(struct http_request *q, int code, struct str text);
/* The cells that no single field gives, for Tables. */
struct column_cells cells_of_kinds(void);

/* front.c: a request whose asker is known. */
void front_handle(struct server *s, struct http_request *q, const struct server_user *user);
/* homes.c: true where the request waits for its user's namespace to be made; it is handled
 * then. */
bool home_waits(struct server *s, struct http_request *q, const struct server_user *user);

/* authn.c: who asks; NULL after 401 was answered. In the request's arena. */
const struct server_user *authenticate(struct server *s, struct http_request *q);
/* Whose token of a service account that is; false where it is none of ours, or no longer holds.
 * What is filled in lives in the arena. */
bool token_user(struct server *s, struct arena *a, struct str token, struct server_user *u);

/* impersonate.c: the user itself where the request asks for no other; NULL after a refusal. */
const struct server_user *impersonate(struct server *s, struct http_request *q,
                                      const struct server_user *user);

/* discovery.c, openapi.c, health.c: what is no resource. True where it was answered. */
bool discovery_answer(struct server *s, struct http_request *q);
bool openapi_answer(struct server *s, struct http_request *q);
bool health_answer(struct server *s, struct http_request *q);
