/* control.c - one process's caches and controllers, and who starts when */
#include "control/cache_priv.h"
#include "control/controller_priv.h"

#include "io/io.h"

struct control {
    struct io *io;
    struct client *client;
    struct str component;
    VEC(struct cache *) caches;
    VEC(struct controller *) controllers;
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

void control_free(struct control *c)
{
    if (!c)
        return;
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

struct str control_component(const struct control *c)
{
    return c->component;
}

struct event_book *control_events(const struct control *c)
{
    return c->events;
}

bool control_is_ready(const struct control *c)
{
    vec_each (i, &c->caches)
        if (!cache_is_ready(c->caches.at[i]))
            return false;
    return true;
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

void control_cache_ready(struct control *c)
{
    if (!control_is_ready(c))
        return;
    vec_each (i, &c->controllers)
        controller_start(c->controllers.at[i]);
}

void control_add_controller(struct control *c, struct controller *controller)
{
    vec_push(&c->controllers, controller);
}
