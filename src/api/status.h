/* status.h - every answer that is no object: metav1.Status, in the words clients know
 *
 * An api_error is made by what went wrong and written once, at the edge. Texts are borrowed or
 * live in the arena that made it.
 */
#pragma once

#include "api/access.h"
#include "value/value.h"

/* What a request was about. `resource` is the plural, `kind` the Kind; either may be "". */
struct status_subject {
    struct str group, resource, kind, name;
};

struct status_cause {
    struct str reason, message, field; /* each may be "" */
};

struct api_error {
    int code; /* of HTTP */
    struct str reason, message;
    bool has_details; /* `details: {}` at least */
    struct status_subject about;
    bool details_name_kind; /* details.kind is the Kind, not the resource */
    struct str uid;
    VEC(struct status_cause) causes; /* in the arena */
    int64_t retry_after_seconds;     /* 0: none; else also a Retry-After header */
    struct str continue_token;       /* in metadata, "" for none */
};

/* By err's code; its text becomes the part of the message that says why. */
struct api_error api_error_of(struct arena *a, const struct err *err,
                              struct status_subject about);

/* 422 `Job.batch "a" is invalid: spec.x: ...`; each error is a cause. */
struct api_error api_error_invalid(struct arena *a, struct status_subject about,
                                   const struct field_errors *errors);
/* 422 for options in a URL: `ListOptions.meta.k8s.io "" is invalid: ...`. */
struct api_error api_error_options(struct arena *a, const char *kind,
                                   const struct field_errors *errors);
struct api_error api_error_bad_request(struct str message);
struct api_error api_error_not_found(struct arena *a, struct status_subject about);
/* 404 for a path of a served version that leads nowhere. */
struct api_error api_error_no_resource(void);
struct api_error api_error_method(void);
struct api_error api_error_exists(struct arena *a, struct status_subject about);
/* 409 after generateName met a taken name each time. */
struct api_error api_error_name_taken(struct arena *a, struct status_subject about);
struct api_error api_error_conflict(struct arena *a, struct status_subject about,
                                    struct str why);
#define STATUS_MODIFIED                                                                        \
    "the object has been modified; please apply your changes to the latest version and try "   \
    "again"
/* 403 `jobs.batch "a" is forbidden: why`. */
struct api_error api_error_forbidden(struct arena *a, struct status_subject about,
                                     struct str why);
/* 403 of an authorizer: who may not do what, and its reason ("" for none). */
struct api_error api_error_denied(struct arena *a, const struct access *access,
                                  struct str reason);
struct api_error api_error_unauthorized(void);
/* 403 in a namespace that goes away. */
struct api_error api_error_terminating(struct arena *a, struct status_subject about,
                                       struct str ns);
/* 410; continue_token lets a client go on at the newest version ("" for none). */
struct api_error api_error_expired(struct str message, struct str continue_token);
/* 504 for a version that is not there yet. */
struct api_error api_error_too_large_version(struct arena *a, uint64_t wanted,
                                             uint64_t current);
struct api_error api_error_internal(struct arena *a, struct str why);
/* Adds a cause. */
void api_error_cause(struct arena *a, struct api_error *e, struct str reason,
                     struct str message, struct str field);

/* The body. */
struct json status_json(struct arena *a, const struct api_error *e);
/* {status: Success} with details, as a DELETE may answer. */
struct json status_success(struct arena *a, struct status_subject about, struct str uid);

/* "jobs.batch" or "pods"; "Job.batch" or "Pod". */
struct str group_resource(struct arena *a, struct str group, struct str resource);
