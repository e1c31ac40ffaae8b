/* control.h - what every controller stands on: caches, work queues, the reconcile loop
 *
 *     watch ──▶ cache ──▶ subscribers ──▶ work queue ──▶ reconcile(step) ──▶ client
 *                 ▲                                           │ writes started
 *                 └──────────── answers (if newer) ◀──────────┘
 *
 * A reconcile looks, decides, starts writes and returns; it never waits. Its key stays busy
 * until all its writes are answered; events that come meanwhile are merged into one more run.
 * An error brings it back later, with back-off. The cache holds the newer of what the watch
 * told and what our own writes were answered.
 */
#pragma once

#include "base/base.h"
#include "client/client.h"
#include "json/json.h"

struct io;
struct kind;
struct object;

/* ---- one process's controllers ---- */

struct control;
/* `client` is borrowed. `component` is the source of Events and the default field manager. */
struct control *control_new(struct io *io, struct client *client, struct str component);
/* Frees caches and controllers too. No callback follows. */
void control_free(struct control *c);
struct io *control_io(const struct control *c);
struct client *control_client(const struct control *c);
/* Every cache that was asked for has its first list, and what is prepared from them is. */
bool control_is_ready(const struct control *c);
/* What must be made of all that is there before any controller runs: called once every cache is
 * ready, a part a turn, until it says that it is done. Before the caches are ready. */
typedef bool control_prepare_fn(void *ctx);
void control_prepare(struct control *c, control_prepare_fn *fn, void *ctx);

/* ---- caches ---- */

struct cache;

/* The cache of all objects of a kind; one for each kind, made at the first call. */
struct cache *control_cache(struct control *c, const struct kind *kind);
/* The same, but it holds only what the field selector selects, where this is the first call for
 * the kind: for agents that may not see, or need, the rest. */
struct cache *control_cache_of(struct control *c, const struct kind *kind, struct str fields);
bool cache_is_ready(const struct cache *c);
const struct kind *cache_kind(const struct cache *c);
size_t cache_len(const struct cache *c);
/* Borrowed until the loop next turns; NULL where there is none. */
struct object *cache_get(const struct cache *c, struct str ns, struct str name);
/* "ns/name", or "name" of a cluster-scoped object; in the arena. */
struct str cache_path(struct arena *a, struct str ns, struct str name);
/* The object of such a path. */
struct object *cache_find(const struct cache *c, struct str path);
/* An answer of our own write: taken where it is newer than all that the watch told. */
void cache_offer(struct cache *c, struct object *o);
/* Walks in the order in which the objects were first seen. */
#define cache_each(i, c)                                                                       \
    for (size_t i = cache_next((c), 0); i != SIZE_MAX; i = cache_next((c), i + 1))
size_t cache_next(const struct cache *c, size_t from);
struct object *cache_at(const struct cache *c, size_t i);

/* An index: the function adds each key under which the object shall be found. */
struct cache_keys {
    struct arena *arena; /* for keys it builds */
    VEC(struct str) keys;
};
typedef void cache_keys_fn(struct object *o, const struct json *tree, struct cache_keys *out);
struct cache_index;
/* One for each name; must be asked for before the cache is filled or afterwards alike. */
struct cache_index *cache_index(struct cache *c, const char *name, cache_keys_fn *fn);
/* Objects under the key; *out is borrowed until the cache next changes. */
size_t cache_indexed(const struct cache_index *x, struct str key, struct object *const **out);
/* The index "owner": by the uid of each owner reference; "namespace": by namespace. */
struct cache_index *cache_by_owner(struct cache *c);
struct cache_index *cache_by_namespace(struct cache *c);

/* One change. `old` is NULL for a new object, `now` for one that is gone; trees are memoized.
 */
struct cache_event {
    struct object *old, *now;
    struct arena *arena;
    const struct json *old_tree, *now_tree; /* by cache_event_old()/_now() */
};
const struct json *cache_event_old(struct cache_event *e); /* NULL where there is none */
const struct json *cache_event_now(struct cache_event *e);
/* The tree of now, else of old. */
const struct json *cache_event_any(struct cache_event *e);
typedef void cache_event_fn(void *ctx, struct cache_event *e);
/* Told of all that is there, then of every change. */
void cache_subscribe(struct cache *c, cache_event_fn *fn, void *ctx);

/* ---- controllers ---- */

struct controller;

/* One run for one key. */
struct step {
    struct controller *controller;
    struct control *control;
    void *ctx;           /* the controller's own */
    struct arena *arena; /* of this run; lives until its writes are answered */
    struct str key;      /* "ns/name" as it was queued */
    struct str ns, name; /* its parts */
    struct instant now;
};
/* Takes the key one step towards what it asks for. Called again after every change, so it may
 * stop early and must be safe to repeat. -1 with err: it is run again after a back-off. */
typedef int reconcile_fn(struct step *s, struct err *err);

struct controller_config {
    const char *name;
    reconcile_fn *reconcile;
    void *ctx;
    size_t max_busy; /* keys at work at once; 0: 64 */
};

#define CONTROL_BACKOFF_FIRST span_ms(5)
#define CONTROL_BACKOFF_MOST span_s(60)
#define CONTROL_MAX_QUEUED 4000000 /* keys: past it the process says so and ends */

/* Runs nothing before control_is_ready(). Freed by control_free(). */
struct controller *controller_new(struct control *c, const struct controller_config *config);
void controller_queue(struct controller *c, struct str key);
void controller_queue_after(struct controller *c, struct str key, struct span after);
/* Queues the object's "ns/name". */
void controller_queue_object(struct controller *c, const struct object *o);
/* The usual wiring: a change of an object of `kind` queues it; a change of an object of `owned`
 * queues its controlling owner of `kind`. */
void controller_watch(struct controller *c, const struct kind *kind);
void controller_watch_owned(struct controller *c, const struct kind *owned,
                            const struct kind *kind);
/* Keeps the object until the run has ended; returns it. */
struct object *step_hold(struct step *s, struct object *o);
/* Comes back after a span although nothing changes. */
void step_again(struct step *s, struct span after);

/* ---- writes of a step; each is a client call whose answer the step awaits ---- */

/* Told of the answer before the step ends; may start more writes. May be NULL. */
typedef void step_done_fn(struct step *s, void *ctx, const struct client_answer *answer);

/* A live read: what the cache says may be old. A missing object is no failure of the step. */
void step_get(struct step *s, const struct client_target *t, step_done_fn *done, void *ctx);
void step_create(struct step *s, const struct client_target *t, const struct json *body,
                 step_done_fn *done, void *ctx);
/* A create below an object: a binding, an eviction. */
void step_post(struct step *s, const struct client_target *t, const struct json *body,
               step_done_fn *done, void *ctx);
void step_update(struct step *s, const struct kind *kind, struct str ns, struct str name,
                 struct str subresource, const struct json *body, step_done_fn *done,
                 void *ctx);
void step_patch(struct step *s, const struct client_target *t, enum client_patch type,
                const struct json *body, const struct client_patch_options *options,
                step_done_fn *done, void *ctx);
void step_delete(struct step *s, const struct client_target *t,
                 const struct client_delete_options *options, step_done_fn *done, void *ctx);
/* The last write's failure is no reason to come back (an answer that the callback took care
 * of). */
void step_ignore_error(struct step *s);

/* An Event about the object; equal ones are counted up in one Event. `type` is "Normal" or
 * "Warning"; the note is cut at 1024 bytes. Never fails the step. Of what a controller, or the
 * component, says of one object not all is written: similar ones are combined, twenty-five
 * writes stand open and one more each five minutes (event_told.h, after upstream's recorders).
 * Past a burst of a thousand about all objects they come at fifty a second. */
#define EVENT_NOTE_MAX 1024
void step_event(struct step *s, struct object *about, const char *type, const char *reason,
                const char *format, ...) like_printf(5, 6);
void control_event(struct control *c, struct object *about, const char *type,
                   const char *reason, const char *format, ...) like_printf(5, 6);
