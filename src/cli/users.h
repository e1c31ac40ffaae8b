/* users.h - who else may use this berth: DIR/users.json
 *
 *     {"users": [{"name": "ann", "groups": ["lab"], "tokenSHA256": "…"}]}
 *
 * Written by `berth user`, read by the server whenever the file has changed. Tokens are kept as
 * digests. A known user's work runs as the account of the same name on this machine, where
 * there is one; the starter's certificate stands for the starter.
 */
#pragma once

#include "base/base.h"

#define USERS_MAX 10000
#define USERS_ADMIN "berth-admin" /* the name in the starter's certificate */

struct io;
struct server_user;
struct users;

struct users *users_new(struct io *io, struct str dir, uint32_t starter_uid);
void users_free(struct users *u); /* accepts NULL */
/* For struct server_config: ctx is the users. */
bool users_account(void *ctx, struct str user, struct server_user *fill);
bool users_token(void *ctx, struct str token, struct server_user *fill);
bool users_sign(void *ctx, struct str bytes, uint8_t *out);

/* Adds the user, or changes its groups. With `token` a new token is made and given out once. -1
 * with ERR_INVALID (name), ERR_LIMIT, ERR_IO. */
int users_add(struct arena *a, struct str dir, struct str name, const struct str *groups,
              size_t n_groups, struct str *token, struct err *err);
