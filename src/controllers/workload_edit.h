/* workload_edit.h - changing a Workload's status, and the request that writes the change
 *
 *     struct workload_edit e = workload_edit(arena, wl, now);
 *     workload_finish_edit(&e, reason, message);
 *     struct workload_request r = workload_request(&e, options);   then client_patch()
 *
 * Pure. The request is what upstream's admission patch looks like on the wire: an apply of all
 * that the manager kueue-admission owns, or, with the gate WorkloadRequestUseMergePatch, a
 * merge patch of what changed. Source: Kueue reference 7.1 to 7.6.1.
 */
#pragma once

#include "api/kueue_v1beta2.h"
#include "client/client.h"

#define WORKLOAD_MANAGER "kueue-admission"
#define WORKLOAD_MESSAGE_MAX                                                                   \
    32768 /* bytes of a condition's message; longer ones end in " ..." */

struct workload_edit {
    struct arena *a;
    const struct kueue_workload *was;
    struct kueue_workload_status *status; /* the next one */
    struct instant now;
    bool has_changed;
    bool is_coarse; /* the gate UnadmittedWorkloadsObservability is off */
};

struct workload_edit workload_edit(struct arena *a, const struct kueue_workload *wl,
                                   struct instant now);

/* ---- what holds ---- */

const struct condition *workload_condition(const struct kueue_workload *wl, struct str type);
bool workload_is(const struct kueue_workload *wl, struct str type); /* the condition is True */
bool workload_is_active(const struct kueue_workload *wl); /* spec.active, absent: true */
const struct condition *workload_edit_condition(const struct workload_edit *e, struct str type);
bool workload_edit_is(const struct workload_edit *e, struct str type);

/* ---- changes ---- */

/* By the usual rule: the time moves only with the status. True where something changed. */
bool workload_set_condition(struct workload_edit *e, struct str type, bool is_true,
                            struct str reason, struct str message);
bool workload_drop_condition(struct workload_edit *e, struct str type);
/* Quota is reserved (7.1). */
void workload_reserve(struct workload_edit *e, const struct kueue_admission *admission);
void workload_unreserve(struct workload_edit *e, struct str reason, struct str message);
/* Admitted follows from reservation, checks and topology; true where that changed. */
bool workload_sync_admitted(struct workload_edit *e);
/* Evicted (7.3), quota stays held; `cause` may be "". */
void workload_evict_edit(struct workload_edit *e, struct str reason, struct str message,
                         struct str cause);
/* Preempted (6.9), and Evicted for it. */
void workload_preempt_edit(struct workload_edit *e, struct str reason, struct str message);
/* Requeued, for the reasons of 7.4: False until something happens, else True. */
void workload_requeue_edit(struct workload_edit *e, struct str reason, struct str message);
/* Finished; false where it is already, and then nothing is to be sent. */
bool workload_finish_edit(struct workload_edit *e, struct str reason, struct str message);

/* ---- the request ---- */

struct workload_request_options {
    bool use_merge_patch; /* the gate WorkloadRequestUseMergePatch */
    bool is_loose;        /* apply without the version seen */
};

struct workload_request {
    enum client_patch type; /* CLIENT_APPLY or CLIENT_PATCH_MERGE; on the status subresource */
    const struct json *body;
    struct client_patch_options options;
};
struct workload_request workload_request(const struct workload_edit *e,
                                         struct workload_request_options options);
/* A message as a condition may hold it. */
struct str workload_clip(struct arena *a, struct str message);
