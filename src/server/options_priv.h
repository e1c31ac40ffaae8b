/* options_priv.h - the query of a request, and DELETE's body, as options */
#pragma once

#include "server/server_priv.h"

#define MANAGER_MAX 128 /* bytes of a field manager's name */

struct str query_decode(struct arena *a, struct str s);
/* As in a path: '+' stays. */
struct str query_path_decode(struct arena *a, struct str s);
/* A copy that the request keeps. */
struct str query_copy(struct arena *a, struct str query);
/* The first value of a parameter, decoded. */
bool query_find(struct arena *a, struct str query, const char *name, struct str *out);
/* As Go reads booleans; the empty text is true. */
bool option_bool(struct str s, bool *out);
/* Fills r->options; 0, or -1 after the failure was answered. */
int options_read(struct request *r, struct str query);
int options_of_delete(struct request *r, const struct json *body);
