/* ws.c - WebSocket frames
 *
 *     byte 0   FIN, three reserved bits, opcode
 *     byte 1   MASK (always set by a client), length: 0-125, or 126/127 for 16/64 bits more
 *     4 bytes  mask
 *     ...      payload, each byte xor mask[i % 4]
 */
#include <openssl/evp.h>

#include "base/base64.h"
#include "http/ws.h"

#define MAX_HEAD 14
#define MAX_CONTROL 125

enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, WS_PING = 9, PONG = 10 };
enum { BAD_PROTOCOL = 1002, NO_CODE = 1005, BROKEN = 1006, BAD_TEXT = 1007, TOO_BIG = 1009 };

struct ws {
    struct http_tunnel *tunnel;
    const struct ws_events *events;
    void *ctx;
    struct buf in;      /* bytes of frames that are not whole */
    struct buf message; /* fragments so far */
    int opcode;         /* of the message under way; 0: none */
    bool has_ended;     /* end() was called, or ws_close() */
    bool is_closed;     /* inside a callback: freed when that returns */
    int calls;
};

struct frame {
    bool fin;
    int opcode;
    size_t head, len;
    uint8_t mask[4];
};

/* ---- sending ---- */

static void send_frame(struct ws *w, int opcode, struct str payload)
{
    struct buf b = {0};

    buf_byte(&b, (char)(0x80 | opcode));
    if (payload.len <= 125) {
        buf_byte(&b, (char)payload.len);
    } else if (payload.len <= UINT16_MAX) {
        buf_byte(&b, 126);
        buf_byte(&b, (char)(payload.len >> 8));
        buf_byte(&b, (char)payload.len);
    } else {
        buf_byte(&b, 127);
        for (int shift = 56; shift >= 0; shift -= 8)
            buf_byte(&b, (char)((uint64_t)payload.len >> shift));
    }
    buf_add(&b, payload);
    http_tunnel_write(w->tunnel, buf_str(&b));
    buf_fini(&b);
}

static void send_close(struct ws *w, int code, struct str reason)
{
    char payload[MAX_CONTROL];
    size_t n = MIN(reason.len, sizeof(payload) - 2);

    payload[0] = (char)(code >> 8);
    payload[1] = (char)code;
    if (n)
        memcpy(payload + 2, reason.at, n);
    send_frame(w, CLOSE, str_of(payload, code == NO_CODE ? 0 : n + 2));
}

void ws_send(struct ws *w, bool is_text, struct str bytes)
{
    if (!w->has_ended)
        send_frame(w, is_text ? TEXT : BINARY, bytes);
}

/* ---- ending ---- */

static void ws_free(struct ws *w)
{
    buf_fini(&w->in);
    buf_fini(&w->message);
    free(w);
}

static void leave(struct ws *w)
{
    if (--w->calls == 0 && w->is_closed)
        ws_free(w);
}

static void tell_end(struct ws *w, int code, struct str reason)
{
    if (w->has_ended)
        return;
    w->has_ended = true;
    w->events->end(w->ctx, code, reason);
}

/* What cannot be understood ends it, with a word to both sides. */
static void refuse(struct ws *w, int code, const char *reason)
{
    if (w->has_ended)
        return;
    send_close(w, code, str_from(reason));
    tell_end(w, code, str_from(reason));
}

void ws_close(struct ws *w, int code, struct str reason)
{
    if (!w->has_ended)
        send_close(w, code, reason);
    w->has_ended = w->is_closed = true;
    http_tunnel_close(w->tunnel);
    w->tunnel = NULL;
    if (!w->calls)
        ws_free(w);
}

/* ---- receiving ---- */

/* 1 where the frame is whole, 0 where more is needed, -1 where it is refused. */
static int read_frame(struct ws *w, struct str in, struct frame *f)
{
    const uint8_t *p = (const uint8_t *)in.at;
    uint64_t len;

    if (in.len < 2)
        return 0;
    *f = (struct frame){.fin = p[0] & 0x80, .opcode = p[0] & 0x0f, .head = 6};
    len = p[1] & 0x7f;
    bool is_control = f->opcode >= CLOSE;
    if ((p[0] & 0x70) || !(p[1] & 0x80) || f->opcode > PONG ||
        (f->opcode > BINARY && f->opcode < CLOSE) ||
        (is_control && (!f->fin || len > MAX_CONTROL))) {
        refuse(w, BAD_PROTOCOL, "no valid frame");
        return -1;
    }
    if (len == 126 || len == 127) {
        size_t more = len == 126 ? 2 : 8;
        f->head += more;
        if (in.len < f->head)
            return 0;
        len = 0;
        for (size_t i = 0; i < more; i++)
            len = len << 8 | p[2 + i];
    }
    if (len > WS_MAX_MESSAGE || w->message.len + len > WS_MAX_MESSAGE) {
        refuse(w, TOO_BIG, "the message is too long");
        return -1;
    }
    f->len = (size_t)len;
    if (in.len < f->head + f->len)
        return 0;
    memcpy(f->mask, p + f->head - 4, 4);
    return 1;
}

static void unmask(char *at, size_t n, const uint8_t mask[4])
{
    for (size_t i = 0; i < n; i++)
        at[i] = (char)(at[i] ^ mask[i & 3]);
}

static void take_close(struct ws *w, struct str payload)
{
    int code = NO_CODE;

    if (payload.len == 1) {
        refuse(w, BAD_PROTOCOL, "no valid close");
        return;
    }
    if (payload.len >= 2) {
        code = (uint8_t)payload.at[0] << 8 | (uint8_t)payload.at[1];
        payload = str_slice(payload, 2, payload.len);
    }
    send_close(w, code, (struct str){0});
    tell_end(w, code, payload);
}

static void take_message(struct ws *w)
{
    struct buf message = w->message;
    bool is_text = w->opcode == TEXT;

    w->message = (struct buf){0};
    w->opcode = 0;
    if (is_text && !str_is_utf8(buf_str(&message)))
        refuse(w, BAD_TEXT, "a text is no UTF-8");
    else
        w->events->message(w->ctx, is_text, buf_str(&message));
    buf_fini(&message);
}

static void take_frame(struct ws *w, const struct frame *f, struct str payload)
{
    switch (f->opcode) {
    case CLOSE:
        take_close(w, payload);
        return;
    case WS_PING:
        send_frame(w, PONG, payload);
        return;
    case PONG:
        return;
    default:
        break;
    }
    /* A continuation goes on with what is under way; anything else starts anew. */
    if ((f->opcode == CONTINUATION) != (w->opcode != 0)) {
        refuse(w, BAD_PROTOCOL, "fragments out of order");
        return;
    }
    if (f->opcode != CONTINUATION)
        w->opcode = f->opcode;
    buf_add(&w->message, payload);
    if (f->fin)
        take_message(w);
}

static void came(void *ctx, struct str bytes)
{
    struct ws *w = ctx;
    struct frame f;
    size_t used = 0;

    w->calls++;
    buf_add(&w->in, bytes);
    /* Out of reach of callbacks while it is read. */
    struct buf in = w->in;
    w->in = (struct buf){0};
    while (!w->has_ended) {
        struct str rest = str_slice(buf_str(&in), used, in.len);
        if (read_frame(w, rest, &f) <= 0)
            break;
        unmask(in.at + used + f.head, f.len, f.mask);
        take_frame(w, &f, str_slice(rest, f.head, f.head + f.len));
        used += f.head + f.len;
    }
    if (!w->has_ended && used < in.len)
        buf_add(&w->in, str_slice(buf_str(&in), used, in.len));
    buf_fini(&in);
    leave(w);
}

static void ended(void *ctx, const struct err *err)
{
    struct ws *w = ctx;

    w->calls++;
    tell_end(w, BROKEN, err ? err_str(err) : (struct str){0});
    leave(w);
}

static void drained(void *ctx)
{
    struct ws *w = ctx;

    if (w->has_ended || !w->events->drained)
        return;
    w->calls++;
    w->events->drained(w->ctx);
    leave(w);
}

static const struct http_tunnel_events tunnel_events = {came, ended, drained};

/* ---- the handshake ---- */

static struct str accept_key(struct arena *a, struct str key)
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    struct str text = str_printf(a, "%.*s%s", STR_ARG(key), magic);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    struct buf b = buf_in(a, 64);

    EVP_Digest(text.at, text.len, digest, &n, EVP_sha1(), NULL);
    base64_encode(&b, str_of((const char *)digest, n));
    return buf_str(&b);
}

bool ws_offers(const struct http_request *req, struct str protocol)
{
    for (size_t i = 0; i < req->n_headers; i++) {
        struct str list = req->headers[i].value, one;
        if (!str_eq(req->headers[i].name, S("sec-websocket-protocol")))
            continue;
        while (list.len) {
            str_cut(list, ',', &one, &list);
            if (str_eq(str_trim(one), protocol))
                return true;
        }
    }
    return false;
}

struct ws *ws_accept(struct http_request *req, struct str protocol,
                     const struct ws_events *events, void *ctx)
{
    struct str key = http_header(req, S("sec-websocket-key"));
    struct http_header headers[2] = {
        {S("sec-websocket-accept"), accept_key(req->arena, key)},
        {S("sec-websocket-protocol"),                         protocol                   },
    };

    if (!key.len || !str_eq(http_header(req, S("sec-websocket-version")), S("13")) ||
        !str_eq(req->method, S("GET")))
        return NULL;
    struct ws *w = mem_zero(1, sizeof(*w));
    w->events = events;
    w->ctx = ctx;
    w->tunnel =
        http_upgrade(req, S("websocket"), headers, protocol.len ? 2 : 1, &tunnel_events, w);
    if (w->tunnel)
        return w;
    free(w);
    return NULL;
}
