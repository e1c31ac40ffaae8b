/* discovery_priv.h - groups and versions that are served */
#pragma once

#include "server/server_priv.h"

/* In the arena; core is "". */
size_t groups_of(const struct server *s, struct arena *a, struct str **out);
/* The preferred one first. */
size_t versions_of(const struct server *s, struct arena *a, struct str group, struct str **out);
int version_cmp(struct str a, struct str b);
/* With an ETag; 304 where the client has it. */
void answer_cached(struct http_request *q, struct str type, const struct json *tree);
