/* rules.c - what a kind's table cannot say: the functions of api/, by kind */
#include "api/rules.h"
#include "io/io.h"
#include "server/front_priv.h"
#include "server/write_priv.h"

int rules_prepare(struct write *w)
{
    struct api_prepare p = {.arena = w->arena,
                            .kind = w->kind,
                            .old = w->old,
                            .subresource = w->subresource,
                            .now = io_now(w->r->server->io)};

    w->tree = api_prepare(&p, w->tree);
    return 0;
}

struct column_cells cells_of_kinds(void)
{
    return api_cells;
}
