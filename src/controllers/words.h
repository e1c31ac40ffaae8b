/* words.h - when a Workload that waits is told why
 *
 * Each cycle may find another sentence for the same Workload: numbers move whenever anybody
 * ends. What goes into its condition is the newest one, written WORDS_AFTER the first look, so
 * that who is served at once is told nothing; a new reason as soon; a new sentence with the
 * same reason not before WORDS_EVERY after the last. Where many wait both are later, so that
 * there are no more than one first sentence in FIRST_APART and one other in WORDS_APART.
 *
 * Pure but for its own memory; `now` is an argument. An entry lives from the first sentence
 * until that time after the last.
 */
#pragma once

#include "queue/queue.h"

#define WORDS_AFTER span_ms(100)
#define WORDS_EVERY span_s(5)
/* On average. */
#define FIRST_APART span_ms(4)
#define WORDS_APART span_ms(10)

struct words;

/* What is to be said: strs live until the next call. */
struct word {
    struct str key, message;
    enum queue_reason reason;
    bool is_gated;         /* a preemption gate is closed */
    bool has_other_reason; /* than the last one said, or is the first */
};

struct words *words_new(void);
void words_free(struct words *w); /* accepts NULL */
/* A cycle's sentence about `word->key`; strs are copied, has_other_reason is not looked at. */
void words_say(struct words *w, const struct word *word, struct instant now);
/* It waits no longer. */
void words_forget(struct words *w, struct str key);
/* Takes a sentence whose time has come; false where there is none now: then *next is when to
 * look again (0: when somebody said something). */
bool words_take(struct words *w, struct instant now, struct word *out, struct instant *next);
