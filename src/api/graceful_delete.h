/* graceful_delete.h - what a DELETE does to an object, decided from what it is
 *
 * Pure: the server reads the state off the object, asks, and writes the answer.
 */
#pragma once

#include "base/base.h"

/* The part of metadata that deletion is about. */
struct delete_state {
    bool is_deleting;         /* deletionTimestamp is set */
    struct instant timestamp; /* then: when it is over */
    bool has_grace;
    int64_t grace; /* deletionGracePeriodSeconds */
    int64_t generation;
    bool has_finalizers;
};

struct delete_request {
    bool has_grace;
    int64_t grace; /* gracePeriodSeconds */
};

struct delete_decision {
    bool is_graceful; /* it stays, with the new state */
    bool is_pending;  /* it was on its way out already: return it unchanged */
    struct delete_state state;
    int64_t request_grace; /* as it was understood */
};

/* `can_wait`: the kind deletes gracefully at all (Pods do), with `default_grace` seconds for
 * who names none. Neither graceful nor pending: remove at once, where no finalizer holds it. */
struct delete_decision delete_decide(struct delete_state s, struct delete_request r,
                                     bool can_wait, int64_t default_grace, struct instant now);
/* The state of an object whose finalizers hold it: deletion begins, with no grace. */
struct delete_state delete_begin(struct delete_state s, struct instant now);
/* The seconds a Pod is given: what is asked or its own spec says (`spec_grace`, 30 where
 * absent), and none where it never started or is over. */
int64_t delete_pod_grace(bool is_asked, int64_t asked, int64_t spec_grace, bool is_scheduled,
                         bool is_over);

/* ---- what happens to dependents ---- */

enum delete_policy { DELETE_DEFAULT, DELETE_BACKGROUND, DELETE_FOREGROUND, DELETE_ORPHAN };

struct str delete_policy_name(enum delete_policy p);
/* "Background", "Foreground", "Orphan"; "" is DELETE_DEFAULT. */
bool delete_policy_find(struct str name, enum delete_policy *out);

/* Which of the collector's finalizers the object shall have. The request's orphanDependents
 * (has_orphan) comes first, then its policy, then those it has, then the kind's default. */
struct delete_finalizers {
    bool orphan, foreground;
};
struct delete_finalizers delete_gc_finalizers(struct delete_finalizers now, bool has_orphan,
                                              bool orphan, enum delete_policy asked,
                                              enum delete_policy kind_default);
