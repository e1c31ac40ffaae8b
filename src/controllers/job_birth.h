/* job_birth.h - what a Job's pod is made of (pure) */
#pragma once

#include "controllers/job_decide.h"

struct json;

/* The pod to create; `tree` is the Job's. */
const struct json *job_birth_body(struct arena *a, const struct job *job,
                                  const struct json *tree, const struct job_birth *b);
/* Its reference to the Job that controls it. */
struct json job_owner_reference(struct arena *a, const struct job *job);
