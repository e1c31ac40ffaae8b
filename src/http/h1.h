/* h1.h - HTTP/1.1 messages as bytes (pure: no stream, no clock)
 *
 * Strict on purpose: what two programs could read in two ways is refused. Lines end with CRLF
 * only, a header never continues on the next line, Content-Length and Transfer-Encoding never
 * meet, and a length is written once.
 */
#pragma once

#include "http/http.h"

#define H1_MAX_HEAD ((size_t)256 << 10) /* bytes of request line and headers */
#define H1_MAX_HEADERS 200
#define H1_MAX_METHOD 32
#define H1_MAX_CHUNK_LINE 1024 /* size and extensions */
#define H1_MAX_TRAILER ((size_t)16 << 10)

/* Looks for the end of a head. `scan` is how far earlier calls looked (start with 0). Gives the
 * head's length with its last CRLF CRLF, 0 where more bytes are needed, or -1 with ERR_SYNTAX
 * (a bare LF) or ERR_LIMIT. */
ssize_t h1_head_len(struct str bytes, size_t *scan, struct err *err);

enum h1_body {
    H1_BODY_NONE,
    H1_BODY_LENGTH, /* `length` bytes */
    H1_BODY_CHUNKED,
    H1_BODY_TO_END, /* responses only: until the connection closes */
};

struct h1_head {
    struct str method, target; /* of a request; target in origin form */
    int status; /* of a response; ERR_UNSUPPORTED: what to answer (501, 505, 417) */
    int minor;  /* HTTP/1.minor */
    struct http_header *headers; /* names in lower case */
    size_t n_headers;
    enum h1_body body;
    uint64_t length;
    bool keep_alive;
    bool expects_continue;
    bool wants_upgrade; /* Connection: upgrade */
};

/* Reads a whole head (h1_head_len() bytes). Everything is copied into the arena. -1 with
 * ERR_SYNTAX (answer 400), ERR_UNSUPPORTED (answer out->status), ERR_LIMIT (431). */
int h1_parse_request(struct arena *a, struct str head, struct h1_head *out, struct err *err);
/* `no_body`: the request was a HEAD. */
int h1_parse_response(struct arena *a, struct str head, bool no_body, struct h1_head *out,
                      struct err *err);

/* ---- chunked bodies ---- */

enum h1_chunk_state {
    H1_CHUNK_SIZE, /* zero: the start */
    H1_CHUNK_DATA,
    H1_CHUNK_DATA_CR,
    H1_CHUNK_DATA_LF,
    H1_CHUNK_TRAILER,
    H1_CHUNK_DONE,
};

struct h1_chunked {
    enum h1_chunk_state state;
    uint64_t left;                /* of the chunk */
    size_t line_len;              /* bytes of the line so far */
    size_t trailer_len;           /* of all trailer lines */
    char line[H1_MAX_CHUNK_LINE]; /* without its end */
};

/* Takes bytes off *in: *data is the next piece of the body (may be empty), borrowed from *in.
 * Call again while *in is not empty and the state is not H1_CHUNK_DONE. -1 with ERR_SYNTAX or
 * ERR_LIMIT. */
int h1_chunked_next(struct h1_chunked *c, struct str *in, struct str *data, struct err *err);
