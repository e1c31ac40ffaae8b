/* client.c - the calls of client.h, handed to the implementation behind them */
#include "client/client.h"

void client_get(struct client *c, const struct client_target *t, client_done_fn *done,
                void *ctx)
{
    c->ops->get(c, t, done, ctx);
}

void client_create(struct client *c, const struct client_target *t, const struct json *body,
                   client_done_fn *done, void *ctx)
{
    c->ops->create(c, t, body, done, ctx);
}

void client_update(struct client *c, const struct client_target *t, const struct json *body,
                   client_done_fn *done, void *ctx)
{
    c->ops->update(c, t, body, done, ctx);
}

void client_patch(struct client *c, const struct client_target *t, enum client_patch type,
                  const struct json *body, const struct client_patch_options *options,
                  client_done_fn *done, void *ctx)
{
    static const struct client_patch_options none = {0};

    c->ops->patch(c, t, type, body, options ? options : &none, done, ctx);
}

void client_delete(struct client *c, const struct client_target *t,
                   const struct client_delete_options *options, client_done_fn *done, void *ctx)
{
    static const struct client_delete_options none = {.grace_s = -1};

    c->ops->remove(c, t, options ? options : &none, done, ctx);
}

void client_list(struct client *c, const struct client_target *t,
                 const struct client_select *sel, client_list_fn *done, void *ctx)
{
    static const struct client_select all = {0};

    c->ops->list(c, t, sel ? sel : &all, done, ctx);
}

struct client_watch *client_watch(struct client *c, const struct client_target *t,
                                  const struct client_select *sel, uint64_t revision,
                                  client_watch_fn *event, void *ctx)
{
    static const struct client_select all = {0};
    struct client_watch *w = c->ops->watch(c, t, sel ? sel : &all, revision, event, ctx);

    w->client = c;
    return w;
}

struct client_load client_load(struct client *c)
{
    return c->ops->load ? c->ops->load(c) : (struct client_load){0};
}

void client_watch_stop(struct client_watch *w)
{
    if (w)
        w->client->ops->watch_stop(w);
}

void client_free(struct client *c)
{
    if (c)
        c->ops->free(c);
}
