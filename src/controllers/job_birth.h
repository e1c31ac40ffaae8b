/* job_birth.h - what a Job's pod is made of (pure) */
#pragma once

#include "controllers/job_decide.h"
#include "json/json.h"

/* What the pods of one look share: it is made once. In the arena; borrows from the Job. */
struct job_mould {
    const struct job *job;
    const struct json *labels, *run_as; /* NULL: none */
    const struct json *spec;            /* without the host's name */
    struct json notes, owners, guards;
};
/* `tree` is the Job's. */
struct job_mould job_mould_of(struct arena *a, const struct job *job, const struct json *tree);
/* The pod to create. */
const struct json *job_birth_body(struct arena *a, const struct job_mould *m,
                                  const struct job_birth *b);
/* Its reference to the Job that controls it. */
struct json job_owner_reference(struct arena *a, const struct job *job);
