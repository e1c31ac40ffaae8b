/* job_claim.h - whose a pod is: adopted where the selector wants it, released where not
 *
 * A pod without a controller that the Job's selector selects becomes the Job's, with its
 * finalizer; one of ours that is no longer selected is let go, uncounted. Source: jobs
 * reference 1.9.
 */
#pragma once

#include "base/base.h"
#include "value/selector.h"

struct cache;
struct cache_index;
struct job;
struct job_known;
struct object;
struct step;

/* Where pods without a controller are found by a selector, and Jobs by a pod's labels. */
struct cache_index *job_claim_loose_pods(struct cache *pods);
struct cache_index *job_claim_jobs(struct cache *jobs);
/* Calls fn(ctx, job) for every Job that could adopt the pod; `pod` is its tree. */
typedef void job_claim_fn(void *ctx, struct object *job);
void job_claim_each_job(const struct cache_index *jobs, struct str ns, const struct json *pod,
                        job_claim_fn *fn, void *ctx);

struct job_claim {
    struct step *step;
    struct object *object; /* the Job, held by the step */
    const struct job *job;
    const struct selector *selector;
    struct job_known *known;
    const struct cache_index *loose;
    void (*done)(void *ctx); /* all is claimed */
    void *ctx;

    struct object **adopt; /* what follows is the claim's own */
    size_t n_adopt, n_pending;
    bool has_failed;
};
/* False where there is nothing to do. Else done() follows on a later turn; where a write failed
 * it does not, and the step comes back. `c` is in the step's arena. */
bool job_claim_start(struct job_claim *c);
