/* run_as.h - as which account of this machine an object's work runs
 *
 * The annotation berth.dev/run-as, {"uid":1000,"gid":1000,"groups":[4,27]}: written by the
 * server only, copied by controllers from owner to dependent, obeyed by the node.
 */
#pragma once

#include "json/json.h"

#define RUN_AS_ANNOTATION "berth.dev/run-as"
#define RUN_AS_MAX_GROUPS 1024

struct run_as {
    uint32_t uid, gid;
    const uint32_t *groups; /* supplementary ones */
    size_t n_groups;
};

struct str run_as_text(struct arena *a, const struct run_as *r);
/* -1 with ERR_INVALID. */
int run_as_parse(struct arena *a, struct str text, struct run_as *out, struct err *err);
/* Of an object; 0 and *is_there false where it says nothing. */
int run_as_of(struct arena *a, const struct json *object, bool *is_there, struct run_as *out,
              struct err *err);
