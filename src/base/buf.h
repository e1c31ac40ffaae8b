/* buf.h - bytes that grow at the end
 *
 * On the heap (zero value; buf_fini() frees) or in an arena (buf_in(); nothing to free). A text
 * in an arena may be used as a str for as long as the arena lives, if nothing is appended to it
 * afterwards.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct buf {
    char *at;
    size_t len, cap;
    struct arena *arena; /* NULL: on the heap */
};

struct buf buf_in(struct arena *a, size_t cap);
void buf_fini(struct buf *b);
static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->at, b->len};
}
/* Room for n more bytes; where they go. The caller then adds to len. */
char *buf_room(struct buf *b, size_t n);
void buf_add(struct buf *b, struct str s);
void buf_byte(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) like_printf(2, 3);
void buf_i64(struct buf *b, int64_t v);
/* Takes n bytes off the front. */
void buf_drop(struct buf *b, size_t n);
static inline void buf_clear(struct buf *b)
{
    b->len = 0;
}
