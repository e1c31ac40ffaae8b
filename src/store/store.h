/* store.h - every object's newest version, and the log that outlives us
 *
 * A write is on disk before anyone can see it. Revisions only rise and are never used twice.
 * Readers are handed references, not copies: an object never changes after store_put() accepted
 * it.
 *
 * Two backends: memory (for simulations and tests) and SQLite. Both keep, for each kind, the
 * newest objects in the order of their paths and the events of the last minutes. Past that
 * window reads at an old revision and watches from it are ERR_GONE.
 *
 * Cost: 8 bytes an object here, and the object (object/object.h); 24 bytes an event and the
 * version it replaced, for as long as the window holds it.
 */
#pragma once

#include "base/base.h"

struct io;
struct kind;
struct object;
struct store;

#define STORE_FORMAT 2                      /* of the file; newer ones are refused */
#define STORE_MAX_VALUE ((size_t)1572864)   /* bytes of one object at rest */
#define STORE_MAX_EVENTS 65536              /* of a kind, kept for watches */
#define STORE_MAX_PAST ((size_t)6 << 20)    /* bytes of replaced versions of a kind */
#define STORE_MAX_LAG ((size_t)48 << 20)    /* of them where a watch has yet to take them */
#define STORE_MAX_AGE span_s(300)           /* of an event, where the kind sees new ones */
#define STORE_WARM_BYTES ((size_t)64 << 20) /* of values in memory that are on disk too */
#define STORE_MAX_BATCH 512                 /* puts in one commit */

/* ---- opening ---- */

/* Nothing outlives the process; puts become visible on the next turn. Works on simulated io.
 * `commit`: how long a commit takes, one at a time, as on a disk; 0: no time. */
struct store *store_memory_new(struct io *io, struct span commit);

/* The kind whose object_kind_name() that is, or NULL: its objects wait for store_adopt(). */
typedef const struct kind *store_kind_fn(void *ctx, struct str name);
/* Opens or makes DIR/berth.db. NULL: ERR_EXISTS where another process has it open,
 * ERR_UNSUPPORTED where a newer berth wrote it, ERR_IO. */
struct store *store_sqlite_open(struct io *io, const char *dir, store_kind_fn *find, void *ctx,
                                struct err *err);
/* Puts not yet visible are written, and answered ERR_CANCELED. All watches must have been
 * stopped. Accepts NULL. */
void store_free(struct store *s);
/* Objects of a kind that the opener did not know get it now; also a newer table of one kind. */
void store_adopt(struct store *s, const struct kind *kind);

/* ---- writing ---- */

typedef void store_done_fn(void *ctx, uint64_t revision, const struct err *err);

/* Queues `next` to follow the version at `expect` (0: there must be none yet); a put on a key
 * whose put is still in flight is judged against that one. On a later turn of the loop, in the
 * order of queueing, the version becomes visible and done() is called with its revision; or
 * with 0 and err: ERR_CONFLICT if someone else wrote first, ERR_NOT_FOUND if the object is
 * gone, ERR_LIMIT if it is too large, ERR_IO if the log refused (then every put queued behind
 * it fails too; none was visible). Takes its own reference to `next`. */
void store_put(struct store *s, struct object *next, uint64_t expect, store_done_fn *done,
               void *ctx);
/* The same, and the key is gone then: `last` is the final state that watches see, with the
 * revision of its removal. */
void store_delete(struct store *s, struct object *last, uint64_t expect, store_done_fn *done,
                  void *ctx);
/* Puts that are not visible yet. */
size_t store_in_flight(const struct store *s);
/* Since it was opened: revisions that became visible, and commits of the log that carried them
 * (none in memory). */
struct store_counts {
    uint64_t writes, commits;
};
struct store_counts store_counts(const struct store *s);

/* ---- reading ---- */

/* The newest version, or NULL. Borrowed until the event loop next turns; object_ref() it to
 * keep it longer. `path` is "NS/NAME" or "NAME". */
struct object *store_get(const struct store *s, const struct kind *kind, struct str path);
/* Of the newest visible version of anything. */
uint64_t store_revision(const struct store *s);
/* 0 where the state of `kind` at `revision` is still known; ERR_GONE where it is too old,
 * ERR_TIMEOUT where it is still to come. */
int store_check(const struct store *s, const struct kind *kind, uint64_t revision,
                struct err *err);
/* Objects of a kind there are now. */
size_t store_count(const struct store *s, const struct kind *kind);

/* A walk in the order of paths: of one namespace ("" for all), behind the path `after` ("" from
 * the start), as of `revision` (0: now; store_check() comes first). Valid for one turn; the
 * arena holds what an old revision needs. */
struct store_walk {
    const struct store *store;
    const struct rack *rack;
    struct str ns;
    size_t chunk, at;          /* in the index */
    struct object **past;      /* as of an old revision: what stood in places that changed, */
    const struct str *changed; /*   in the order of paths; NULL for what was not there */
    size_t n_past, past_at;
};
struct store_walk store_walk(const struct store *s, struct arena *a, const struct kind *kind,
                             struct str ns, struct str after, uint64_t revision);
/* The next object, borrowed as from store_get(), or NULL at the end. */
struct object *store_next(struct store_walk *w);
/* How many are left; the walk is over then. As of now it costs a look at each piece of the
 * index, as of an old revision one at each object. */
size_t store_rest(struct store_walk *w);

/* ---- watching ---- */

enum store_verb { STORE_CREATED, STORE_CHANGED, STORE_REMOVED };
struct store_event {
    enum store_verb verb;
    uint64_t revision;
    struct object *now;    /* of STORE_REMOVED: the final state */
    struct object *before; /* NULL for STORE_CREATED; both borrowed for the turn */
};

struct store_watch;
typedef void store_wake_fn(void *ctx);
/* Events of a kind after `revision`, of one namespace ("" all) and name ("" all). wake(ctx) is
 * called on a later turn when there is something to take, and again only after
 * store_watch_next() said that there is nothing. */
struct store_watch *store_watch_new(struct store *s, const struct kind *kind, struct str ns,
                                    struct str name, uint64_t revision, store_wake_fn *wake,
                                    void *ctx);
/* Takes the next event: 1; 0 where there is none now; -1 with ERR_GONE where this watch fell
 * out of the window. */
int store_watch_next(struct store_watch *w, struct store_event *out, struct err *err);
/* Everything up to this revision was taken. */
uint64_t store_watch_revision(const struct store_watch *w);
void store_watch_free(struct store_watch *w); /* accepts NULL */

/* Sees every event of every kind in order, when it becomes visible (for a simulation's hash).
 */
typedef void store_tap_fn(void *ctx, const struct store_event *e);
void store_tap(struct store *s, store_tap_fn *tap, void *ctx);

/* Sees every event of one kind as it becomes visible, inside that turn: for an index that must
 * not lag behind. */
/* Does a watch wait for changes of the kind? */
bool store_is_watched(const struct store *s, const struct kind *kind);
typedef void store_hook_fn(void *ctx, const struct object *o, bool is_removed);
void store_hook(struct store *s, const struct kind *kind, store_hook_fn *hook, void *ctx);
void store_unhook(struct store *s, void *ctx); /* all with that ctx */

/* ---- the file, without a server ---- */

/* A consistent copy of DIR's store in FILE, which must not exist; a server may be
 * running. Only its owner may read it. */
int store_backup(const char *dir, const char *file, struct err *err);
/* Looks at everything; tells each problem as a sentence and returns their number, or -1 where
 * the file cannot be read at all. */
typedef void store_problem_fn(void *ctx, struct str sentence);
int store_fsck(const char *dir, store_problem_fn *problem, void *ctx, struct err *err);
