/* event_told.h - which Events are written, and as which: upstream's rules
 *
 *     said ──▶ combined? ──▶ counted up ──▶ allowed about its object? ──▶ written, or withheld
 *
 * The three steps of the EventCorrelator of upstream's recorders, in its order and with its
 * numbers, which every controller there keeps: those of Kueue, the Job controllers and the
 * kubelet alike. (Its scheduler writes another kind of Event, which is counted up whatever its
 * note says: who waits for a node wants to read the newest one, so ours is as all others.)
 *
 *     key:   teller  uid  type  reason  note
 *            └──────────────┘                   what may be written about an object
 *            └──────────────────────┘           similar ones; the Event they are combined in
 *            └────────────────────────────┘     one Event
 *
 * A teller is a controller: what one says of an object takes nothing from the others, nor do
 * its warnings and its other Events take from each other. Nothing is written here, and the
 * moment is an argument: an uptime, which no clock that is set moves.
 */
#pragma once

#include "base/base.h"

#define TOLD_MAX 4096       /* of each kind of record; the one not used for longest goes */
#define TOLD_SIMILAR_MAX 10 /* different notes: from the last of them on they are combined, */
#define TOLD_SIMILAR_SPAN span_s(600)  /*   until there was none for longer than that */
#define TOLD_OBJECT_BURST 25           /* writes about an object at once, */
#define TOLD_OBJECT_REFILL span_s(300) /*   and one more each */
#define TOLD_COMBINED "(combined from similar events): "

struct said {
    struct str teller, uid, type, reason, note;
};

/* What a record is found by, and which was used last. */
struct remembered {
    struct str key; /* behind the record */
    struct list in_order;
};

/* One Event. */
struct told {
    struct remembered in_book; /* first */
    int refs;
    struct str type, reason, note;
    char *combined; /* the note of one that combines others; else NULL */
    int64_t count;
    /* of who writes it */
    char *name; /* NULL while nothing was written */
    struct instant first, last;
    bool stands;   /* it was written, as far as we know */
    bool is_ready; /* it will be written: what is said meanwhile goes with that */
};

struct told_book;
struct told_book *told_book_new(void);
void told_book_free(struct told_book *b);

/* The Event that this is one more of, counted up; borrowed until the next call. */
struct told *told_count(struct told_book *b, const struct said *s, struct span now);
/* May one more be written about the object? That is spent. */
bool told_spend(struct told_book *b, const struct said *s, struct span now);

struct told *told_ref(struct told *t);
void told_unref(struct told *t);
