/* wire.h - a byte stream that may be wrapped in TLS; the protocols write to it
 *
 * The same events as a struct io_stream, after the handshake. Closing it from inside one of
 * its own events is allowed.
 */
#pragma once

#include "base/base.h"
#include "http/http.h"

struct wire;

struct wire_events {
    /* Ready for bytes (plain: on the first turn after it is made or connected). */
    void (*ready)(void *ctx);
    void (*data)(void *ctx, struct str bytes);
    void (*end)(void *ctx, const struct err *err); /* as io_stream's; also a failed handshake */
    void (*drained)(void *ctx);
};

/* Takes over the stream. */
struct wire *wire_server(struct io *io, struct io_stream *s, struct tls_server *tls,
                         const struct wire_events *events, void *ctx);
struct wire *wire_client(struct io *io, struct str address, struct tls_client *tls, bool http2,
                         const struct wire_events *events, void *ctx);

/* Was HTTP/2 agreed on (ALPN)? Known from ready() on. */
bool wire_is_http2(const struct wire *w);
bool wire_is_tls(const struct wire *w);
/* Fills in all of it; strs in the arena. From ready() on. */
void wire_peer(const struct wire *w, struct arena *a, struct http_peer *out);

void wire_write(struct wire *w, struct str bytes);
void wire_write_buf(struct wire *w, struct buf *b);
size_t wire_queued(const struct wire *w);
void wire_pause(struct wire *w);
void wire_resume(struct wire *w);
/* Sends what is queued, then our end. */
void wire_shutdown(struct wire *w);
void wire_close(struct wire *w, bool flush);
