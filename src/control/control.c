/* control.c - one process's caches and controllers, and who starts when */
#include "control/cache_priv.h"
#include "control/controller_priv.h"

#include "io/io.h"

#define PRESSED_BY 16 /* requests under way */

struct preparation {
    control_prepare_fn *fn;
    void *ctx;
};

struct control {
    struct io *io;
    struct client *client;
    struct str component;
    VEC(struct cache *) caches;
    VEC(struct controller *) controllers;
    VEC(struct preparation) preparations; /* those that are not over */
    struct event_book *events;
};

struct control *control_new(struct io *io, struct client *client, struct str component)
{
    struct control *c = mem_zero(1, sizeof(*c));
    char *name = mem_alloc(component.len + 1);

    if (component.len)
        memcpy(name, component.at, component.len);
    *c = (struct control){
        .io = io, .client = client, .component = {name, component.len}
    };
    c->events = event_book_new(c);
    return c;
}

static void prepare(void *ctx);

void control_free(struct control *c)
{
    if (!c)
        return;
    io_later_cancel(c->io, prepare, c);
    vec_fini(&c->preparations);
    vec_each (i, &c->controllers)
        controller_free(c->controllers.at[i]);
    vec_fini(&c->controllers);
    vec_each (i, &c->caches)
        cache_free(c->caches.at[i]);
    vec_fini(&c->caches);
    event_book_free(c->events);
    free((char *)(uintptr_t)c->component.at);
    free(c);
}

struct io *control_io(const struct control *c)
{
    return c->io;
}

struct client *control_client(const struct control *c)
{
    return c->client;
}

bool control_is_pressed(const struct control *c)
{
    return client_load(c->client).under_way >= PRESSED_BY;
}

struct str control_component(const struct control *c)
{
    return c->component;
}

struct event_book *control_events(const struct control *c)
{
    return c->events;
}

static bool are_caches_ready(const struct control *c)
{
    vec_each (i, &c->caches)
        if (!cache_is_ready(c->caches.at[i]))
            return false;
    return true;
}

bool control_is_ready(const struct control *c)
{
    return c->preparations.len == 0 && are_caches_ready(c);
}

struct cache *control_cache_if_any(struct control *c, const struct kind *kind)
{
    vec_each (i, &c->caches)
        if (cache_kind(c->caches.at[i]) == kind)
            return c->caches.at[i];
    return NULL;
}

struct cache *control_cache(struct control *c, const struct kind *kind)
{
    return control_cache_of(c, kind, (struct str){0});
}

struct cache *control_cache_of(struct control *c, const struct kind *kind, struct str fields)
{
    struct cache *cache = control_cache_if_any(c, kind);

    if (!cache) {
        cache = cache_new(c, kind, fields);
        vec_push(&c->caches, cache);
    }
    return cache;
}

static void prepare(void *ctx)
{
    struct control *c = ctx;
    struct preparation *last = &c->preparations.at[c->preparations.len - 1];

    if (last->fn(last->ctx))
        c->preparations.len--;
    control_cache_ready(c);
}

void control_cache_ready(struct control *c)
{
    if (!are_caches_ready(c))
        return;
    if (c->preparations.len) {
        io_later_cancel(c->io, prepare, c);
        io_later(c->io, prepare, c);
        return;
    }
    vec_each (i, &c->controllers)
        controller_start(c->controllers.at[i]);
}

void control_prepare(struct control *c, control_prepare_fn *fn, void *ctx)
{
    vec_push(&c->preparations, (struct preparation){fn, ctx});
}

void control_add_controller(struct control *c, struct controller *controller)
{
    vec_push(&c->controllers, controller);
}
