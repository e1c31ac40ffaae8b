/* ws.h - WebSocket (RFC 6455), the server's side, on a tunnel
 *
 * Messages in, messages out: fragments are put together, pings answered, masks taken off,
 * closing handshakes done. No extension is spoken.
 */
#pragma once

#include "http/http.h"

#define WS_MAX_MESSAGE ((size_t)4 << 20) /* bytes; past it: closed with 1009 */

struct ws;

struct ws_events {
    /* A whole message, borrowed for the call; texts are valid UTF-8. */
    void (*message)(void *ctx, bool is_text, struct str bytes);
    /* The client closed with this code (1005: none, 1006: the connection broke). The last call
     * but drained(). */
    void (*end)(void *ctx, int code, struct str reason);
    void (*drained)(void *ctx); /* may be NULL */
};

/* Takes a request that asks for it: answers 101 with `protocol` (one of those offered; ""
 * none). NULL where it does not ask for a WebSocket of version 13: the request is still the
 * handler's to answer. */
struct ws *ws_accept(struct http_request *req, struct str protocol,
                     const struct ws_events *events, void *ctx);
/* Was this sub-protocol offered? */
bool ws_offers(const struct http_request *req, struct str protocol);
void ws_send(struct ws *w, bool is_text, struct str bytes);
/* Says goodbye with the code and reason (at most 123 bytes of it). No callback follows. */
void ws_close(struct ws *w, int code, struct str reason);
