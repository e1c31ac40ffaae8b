/* h1.c - HTTP/1.1 heads and chunked bodies: any bytes are read or refused, never crash; how the
 * bytes arrive changes nothing */
#include "http/h1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What comes of a chunked body fed `step` bytes at a time: a digest, and where it stopped. */
static uint64_t unchunk(struct arena *a, struct str in, size_t step, size_t *end)
{
    struct h1_chunked c = {0};
    struct buf body = buf_in(a, in.len + 1);
    struct err err;
    size_t at = 0;

    while (at < in.len && c.state != H1_CHUNK_DONE) {
        struct str piece = str_slice(in, at, at + step), rest = piece, part;
        while (rest.len && c.state != H1_CHUNK_DONE) {
            if (h1_chunked_next(&c, &rest, &part, &err) < 0) {
                *end = SIZE_MAX;
                return str_digest(buf_str(&body));
            }
            buf_add(&body, part);
        }
        at += piece.len - rest.len;
    }
    *end = at;
    return str_digest(buf_str(&body));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct str in = {(const char *)data, size};
    struct h1_head head;
    struct err err;
    size_t scan = 0, slow = 0, end, slow_end;

    ssize_t len = h1_head_len(in, &scan, &err), slow_len = 0;
    for (size_t n = 0; n <= size && slow_len == 0; n++)
        slow_len = h1_head_len(str_slice(in, 0, n), &slow, &err);
    assert(len == slow_len);
    if (len > 0) {
        struct str text = str_slice(in, 0, (size_t)len);
        if (h1_parse_request(&a, text, &head, &err) == 0)
            assert(head.target.len && head.n_headers <= H1_MAX_HEADERS);
        h1_parse_response(&a, text, size & 1, &head, &err);
    }
    uint64_t whole = unchunk(&a, in, size + 1, &end);
    for (size_t step = 1; step <= 3; step++) {
        uint64_t pieces = unchunk(&a, in, step, &slow_end);
        assert(pieces == whole && slow_end == end);
    }
    return 0;
}
