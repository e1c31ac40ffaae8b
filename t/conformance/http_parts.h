/* http_parts.h - the cases of suite http that stand in files of their own */
#pragma once

struct conf;
struct json;

/* http_server.c: a conversation with a whole server. */
void http_server_case(struct conf *t, const struct json *c);
/* The same with controllers running and no node: the requests play its part. */
void http_controllers_case(struct conf *t, const struct json *c);
