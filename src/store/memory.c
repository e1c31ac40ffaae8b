/* memory.c - the backend that forgets: puts become visible on the next turn */
#include "store/store_priv.h"

#include "io/io.h"

static void send(struct store *s, struct op *op)
{
    op->is_ready = true;
    store_ready_later(s);
}

static void memory_free(struct store *s)
{
    store_fini(s);
    free(s);
}

static const struct store_backend memory = {.send = send, .free = memory_free};

struct store *store_memory_new(struct io *io)
{
    struct store *s = mem_zero(1, sizeof(*s));

    store_init(s, io, &memory);
    return s;
}
