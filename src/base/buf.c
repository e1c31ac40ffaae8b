/* buf.c - bytes that grow at the end */
#include "base/base.h"

struct buf buf_in(struct arena *a, size_t cap)
{
    return (struct buf){.at = cap ? arena_raw(a, cap, 1) : NULL, .cap = cap, .arena = a};
}

void buf_fini(struct buf *b)
{
    if (!b->arena)
        free(b->at);
    *b = (struct buf){0};
}

char *buf_room(struct buf *b, size_t n)
{
    if (b->cap - b->len < n) {
        size_t cap = MAX(b->cap * 2, b->len + n);
        cap = MAX(cap, (size_t)64);
        if (b->arena)
            b->at = arena_grow(b->arena, b->at, b->cap, cap, 1);
        else
            b->at = mem_grow(b->at, cap);
        b->cap = cap;
    }
    return b->at + b->len;
}

void buf_add(struct buf *b, struct str s)
{
    if (s.len == 0)
        return;
    memcpy(buf_room(b, s.len), s.at, s.len);
    b->len += s.len;
}

void buf_byte(struct buf *b, char c)
{
    *buf_room(b, 1) = c;
    b->len++;
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    size_t room = b->cap - b->len;
    int n = vsnprintf(b->at ? b->at + b->len : NULL, b->at ? room : 0, format, args);
    va_end(args);
    assert(n >= 0);
    if (!b->at || (size_t)n >= room)
        vsnprintf(buf_room(b, (size_t)n + 1), (size_t)n + 1, format, again);
    va_end(again);
    b->len += (size_t)n;
}

void buf_i64(struct buf *b, int64_t v)
{
    char text[24];

    if (v < 0)
        buf_byte(b, '-');
    buf_add(b, str_u64(text + sizeof(text), v < 0 ? 0 - (uint64_t)v : (uint64_t)v));
}

void buf_drop(struct buf *b, size_t n)
{
    assert(n <= b->len);
    if (n && b->len > n)
        memmove(b->at, b->at + n, b->len - n);
    b->len -= n;
}
