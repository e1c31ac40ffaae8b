/* store_priv.h - what backends and the common part of store/ share */
#pragma once

#include "object/object.h"
#include "store/store.h"

#define CHUNK_CAP 512 /* objects in one piece of the index */

/* The index of a kind is a row of sorted pieces, so that an insert moves at most one piece. */
struct chunk {
    struct object **at;
    uint32_t len, cap;
};

/* All about one kind. */
struct rack {
    struct str name;          /* object_kind_name(), on the heap */
    uint32_t number;          /* SQLite: the id in table kind; 0: none yet */
    bool is_on_disk;          /* SQLite: it has its row there */
    const struct kind *kind;  /* NULL until adopted */
    VEC(struct chunk) chunks; /* none is empty */
    size_t count;
    /* Events in order of revision: a ring of capacity n_ring, a power of two; `first` and
     * `last` count events since the start. */
    struct past *ring;
    size_t n_ring;
    uint64_t first, last;
    size_t past_bytes; /* of versions that only the ring holds */
    uint64_t gone;     /* events up to this revision are no longer known */
    struct list watches;
    uint64_t needed, asked;     /* watches_needed(): what it said, and at which event */
    MAP(struct op *) in_flight; /* newest op of each path */
};

struct past {
    uint64_t revision;
    struct object *now, *before;
    struct instant when;
    bool is_removal;
};

/* A put or delete on its way. */
struct op {
    struct list link; /* in store->ops, in order of queueing */
    struct rack *rack;
    struct object *next;   /* our reference */
    struct object *before; /* the version it replaces, ours; NULL: none, or in flight itself */
    uint64_t row;
    bool is_delete;
    bool is_sent;  /* the backend has it; judged wrong ones never get there */
    bool is_ready; /* durable, or failed */
    struct err err;
    store_done_fn *done;
    void *ctx;
};

struct hook {
    const struct rack *rack;
    store_hook_fn *fn;
    void *ctx;
};

struct store_backend {
    /* Will set op->is_ready and, where it fails, op->err; and call store_ready() after that, on
     * a later turn. */
    void (*send)(struct store *s, struct op *op);
    void (*free)(struct store *s);
};

struct store {
    const struct store_backend *backend;
    struct io *io;
    VEC(struct rack *) racks;
    MAP(struct rack *) by_name;
    VEC(struct rack *) by_id; /* of built-in kinds, by kind number */
    struct list ops;
    size_t n_ops;
    uint64_t start;    /* newest revision when it was opened */
    uint64_t issued;   /* newest revision given to an op */
    uint64_t revision; /* newest visible one */
    uint64_t next_row;
    uint64_t commits;  /* of the log since the start */
    struct list woken; /* watches to be told */
    VEC(struct hook) hooks;
    store_tap_fn *tap;
    void *tap_ctx;
    bool is_kicked; /* store_ready() is to run on a later turn */
    /* values that are in memory and on disk */
    struct object_home *home;
    size_t warm_bytes, warm_limit, past_limit;
    VEC(struct object *) warm; /* those, oldest first from warm_first on; our references */
    size_t warm_first;
    size_t warm_sweep; /* its length at which replaced ones are taken out */
};

void store_init(struct store *s, struct io *io, const struct store_backend *backend);
void store_fini(struct store *s);
struct rack *store_rack(const struct store *s, const struct kind *kind);
struct rack *store_rack_named(struct store *s, struct str name);
/* Puts an object that is durable already into the index (at start). */
void store_load(struct store *s, struct rack *r, struct object *o);
/* Makes ops visible from the front, as far as they are ready. */
void store_ready(struct store *s);
/* The same on a later turn. */
void store_ready_later(struct store *s);
/* Ops that are not ready will fail: puts from now on are judged against what is visible. */
void store_forget_flights(struct store *s);
/* An object's value came to the cache: in memory, and at home. */
void store_warmed(struct store *s, struct object *o);
/* Gives back values until the cache is in its bounds. */
void store_cool(struct store *s);

/* ---- history.c, watch.c ---- */
/* Takes over the event's references. */
void history_add(struct store *s, struct rack *r, struct past event);
/* The first event after that revision. */
uint64_t history_after(const struct rack *r, uint64_t revision);
void history_fini(struct rack *r);
struct store_event event_of(const struct past *p);
void watches_wake(struct store *s, struct rack *r, struct str path);
/* The first event that some watch has yet to take; it may be one of 64 before that. */
uint64_t watches_needed(struct rack *r);
void watches_fini(struct store *s);

/* ---- index.c ---- */
int path_cmp(struct str a, struct str b);
/* The place of `path`, or where it would stand; true where it is there. */
bool index_find(const struct rack *r, struct str path, size_t *chunk, size_t *at);
struct object *index_get(const struct rack *r, struct str path);
/* Puts o in its place, returning the one that stood there (not unreferenced), or NULL. */
struct object *index_put(struct rack *r, struct object *o);
struct object *index_del(struct rack *r, struct str path);
void index_fini(struct rack *r);
