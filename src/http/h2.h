/* h2.h - what both sides of HTTP/2 share: one session of nghttp2 on one wire */
#pragma once

#include <nghttp2/nghttp2.h>

#include "http/wire.h"

#define H2_MAX_STREAMS 250              /* that a client may have open at once */
#define H2_STREAM_WINDOW (1 << 20)      /* bytes of a body under way */
#define H2_CONN_WINDOW (4 << 20)        /* bytes of all bodies under way */
#define H2_MAX_HEAD ((size_t)256 << 10) /* bytes of headers, each counted with 32 more */
#define H2_MAX_HEADERS 200
#define H2_MAX_QUEUED ((size_t)256 << 10) /* bytes on the wire before frames wait */

/* A session with our limits (resets, continuations, settings) and its first SETTINGS queued.
 * The caller frees it by nghttp2_session_del(). */
nghttp2_session *h2_session_new(bool is_server, const nghttp2_session_callbacks *callbacks,
                                void *ctx);
/* Sends what is due and the wire takes. False where the session has nothing more to say or to
 * hear: close the wire. */
bool h2_send(nghttp2_session *session, struct wire *w);
/* A header as nghttp2 wants it: name in lower case, no line breaks, in the arena. */
nghttp2_nv h2_header(struct arena *a, struct str name, struct str value);
/* Headers that HTTP/2 has no use for: connection, keep-alive, transfer-encoding ... */
bool h2_is_hop_header(struct str name);
