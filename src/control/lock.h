/* lock.h - a Lease that one of several holds
 *
 * Who writes its name into the Lease first holds it, and renews it in time. The others look now
 * and then, and take it once they have seen no change for as long as the Lease says. Everybody
 * measures by a clock of its own that never goes back and compares no time that another wrote:
 * clocks may differ and jump. A holder that could not renew knows so before anybody may take
 * over, since its deadline is shorter than the Lease.
 *
 *     looking ──▶ held ──▶ renewed, renewed ... ──▶ lost: deadline passed, or another's name
 *        ▲                                            │
 *        └────────────────────────────────────────────┘
 */
#pragma once

#include "base/base.h"

struct client;
struct io;
struct lock;

#define LOCK_DURATION span_s(15) /* nobody takes over within it */
#define LOCK_DEADLINE span_s(10) /* to renew within; then it is lost */
#define LOCK_RETRY span_s(2)

struct lock_config {
    struct str ns, name;      /* of the Lease */
    struct str identity;      /* ours; nobody else's */
    struct span duration;     /* 0: LOCK_DURATION; whole seconds */
    struct span deadline;     /* 0: LOCK_DEADLINE; shorter than duration */
    struct span retry;        /* 0: LOCK_RETRY; five sixths of deadline at most */
    void (*taken)(void *ctx); /* may be NULL, as the next */
    void (*lost)(void *ctx);  /* from now on another may do what we did */
    void *ctx;
};

/* Begins to look for it on a later turn. The strs are copied; `client` is borrowed. */
struct lock *lock_new(struct io *io, struct client *client, const struct lock_config *config);
/* Right now, also where the process slept past the deadline and lost() is yet to be told. */
bool lock_is_held(const struct lock *l);
/* The name that was last seen in the Lease, "" where there is none. */
struct str lock_holder(const struct lock *l);
/* Gives it back, so that others need not wait; done(ctx) follows, also where that failed or it
 * was not held. Neither taken() nor lost() follows. */
void lock_release(struct lock *l, void (*done)(void *ctx), void *ctx);
/* No callback follows. The Lease stays as it is: others wait until it has run out. */
void lock_free(struct lock *l); /* accepts NULL */
