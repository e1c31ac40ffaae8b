/* semver.h - versions by semver.org 2.0.0 */
#pragma once

#include "base/base.h"

/* All texts are borrowed from what was parsed. */
struct semver {
    uint64_t major, minor, patch;
    struct str pre;   /* "beta.1", without its dash */
    struct str build; /* without its plus */
};

/* Strict: three numbers, no leading zeros, no `v`. ERR_SYNTAX in the words of Go's semver/v4.
 */
int semver_parse(struct str text, struct semver *out, struct err *err);
/* The same after putting a spelling right: one leading `v` goes, leading zeros go, missing
 * minor and patch become 0 (not where a pre-release or build follows). */
int semver_parse_lax(struct arena *a, struct str text, struct semver *out, struct err *err);
/* Precedence; build metadata takes no part. */
int semver_cmp(const struct semver *x, const struct semver *y);
void semver_write(struct buf *out, const struct semver *v);
